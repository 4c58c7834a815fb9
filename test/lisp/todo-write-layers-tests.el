;;; todo-write-layers-tests.el --- The files of Lisp use only those below them  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests compare the drawing of the layers in CONTRIBUTING.org with the sources.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'seq)
(require 'subr-x)

(defconst todo-write-layers-tests--root (getenv "TODO_WRITE_ROOT")
  "The folder of the repository.")

(defconst todo-write-layers-tests--drawn
  (with-temp-buffer
    (insert-file-contents (expand-file-name "CONTRIBUTING.org" todo-write-layers-tests--root))
    (goto-char (point-min))
    (re-search-forward "^\\* Layers of Lisp$")
    (re-search-forward "^#\\+begin_example\n")
    (let ((start (point)))
      (re-search-forward "^#\\+end_example")
      (cl-loop for line in (split-string (buffer-substring start (match-beginning 0)) "\n" t)
               unless (string-prefix-p "--" line)
               collect (mapcar (lambda (name)
                                 (if (equal name "todo-write") name (concat "todo-write-" name)))
                               (split-string line)))))
  "The lines of the drawing, the highest first: lists of names of files.")

(defun todo-write-layers-tests--forms (library)
  "Return the forms in the file of LIBRARY."
  (with-temp-buffer
    (insert-file-contents (expand-file-name (format "lisp/%s.el" library)
                                            todo-write-layers-tests--root))
    (let (forms)
      (ignore-error end-of-file
        (while t (push (read (current-buffer)) forms)))
      (nreverse forms))))

(defconst todo-write-layers-tests--libraries
  (cl-loop for file in (directory-files (expand-file-name "lisp" todo-write-layers-tests--root)
                                        nil "\\.el\\'")
           for library = (file-name-base file)
           unless (string-suffix-p "-autoloads" library)
           collect (cons library (todo-write-layers-tests--forms library)))
  "Alist of the names of files in lisp/ and their forms.")

(defun todo-write-layers-tests--defined (form)
  "Return the names that FORM, at top level, defines for other files."
  (pcase form
    (`(,(or 'progn 'eval-and-compile) . ,body) (mapcan #'todo-write-layers-tests--defined body))
    (`(cl-defstruct ,head . ,slots)
     (let* ((name (if (consp head) (car head) head)))
       (append (list name (intern (format "%s-p" name)))
               (cl-loop for option in (cdr-safe head)
                        when (eq :constructor (car-safe option)) collect (cadr option))
               (cl-loop for slot in slots
                        unless (stringp slot)
                        collect (intern (format "%s-%s" name (if (consp slot) (car slot) slot)))))))
    (`(,(or 'define-minor-mode 'define-derived-mode) ,name . ,_)
     (list name (intern (format "%s-map" name)) (intern (format "%s-hook" name))))
    (`(,(or 'defvar 'defvar-local) ,_) nil)
    (`(,(or 'defun 'defmacro 'defsubst 'cl-defun 'defvar 'defvar-local 'defcustom 'defconst
            'defface 'cl-defgeneric)
       ,name . ,_)
     (list name))))

(defconst todo-write-layers-tests--definitions
  (let ((table (make-hash-table)))
    (pcase-dolist (`(,library . ,forms) todo-write-layers-tests--libraries)
      (dolist (form forms)
        (dolist (name (todo-write-layers-tests--defined form))
          (puthash name library table))))
    table)
  "Hash table of the names that the files define, and these.")

(defun todo-write-layers-tests--used (form use)
  "Call USE with each symbol that FORM uses, and whether it is called.
Leave out declarations, features, groups, versions and documentation."
  (pcase form
    (`(,(or 'declare-function 'require 'provide 'featurep 'put 'define-error 'defgroup) . ,_))
    (`(,(or 'defvar 'defvar-local) ,_))
    ;; To ask whether a buffer is in a mode needs no definition of it.
    (`(,(or 'derived-mode-p 'todo-write-buffer-require) . ,_))
    (`(interactive ,spec . ,_) (todo-write-layers-tests--used spec use))
    (`',value
     (todo-write-layers-tests--used (vector value) (lambda (name _) (funcall use name nil))))
    ((pred consp)
     (if (symbolp (car form))
         (funcall use (car form) t)
       (todo-write-layers-tests--used (car form) use))
     (let ((rest (cdr form)))
       (while (consp rest)
         (cond ((memq (car rest) '(:group :package-version :category))
                (setq rest (cdr rest)))
               ((eq (car-safe (car rest)) 'function)
                (when (symbolp (cadr (car rest)))
                  (funcall use (cadr (car rest)) t))
                (todo-write-layers-tests--used (cdr (car rest)) use))
               ((symbolp (car rest)) (funcall use (car rest) nil))
               (t (todo-write-layers-tests--used (car rest) use)))
         (setq rest (cdr-safe rest)))))
    ((pred vectorp) (seq-doseq (part form)
                      (if (symbolp part) (funcall use part nil)
                        (todo-write-layers-tests--used part use))))))

(defun todo-write-layers-tests--uses ()
  "Return what files use of others, as a list of (USER NAME USED)."
  (let ((uses (make-hash-table :test #'equal)))
    (pcase-dolist (`(,library . ,forms) (assoc-delete-all
                                         "todo-write-commands"
                                         (copy-sequence todo-write-layers-tests--libraries)))
      (todo-write-layers-tests--used
       forms
       (lambda (name called)
         (let ((used (gethash name todo-write-layers-tests--definitions)))
           (when (and used (not (equal used library))
                      ;; It is also a feature, a group and a kind of warnings.
                      (or called (not (eq name 'todo-write))))
             (puthash (list library name used) t uses))))))
    (hash-table-keys uses)))

(defun todo-write-layers-tests--required ()
  "Return which files require others, as a list of (USER USED)."
  (let (required)
    (pcase-dolist (`(,library . ,forms) todo-write-layers-tests--libraries)
      (named-let walk ((form forms))
        (pcase form
          (`(require ',feature . ,_)
           (when (assoc (symbol-name feature) todo-write-layers-tests--libraries)
             (push (list library (symbol-name feature)) required))))
        (while (consp form)
          (walk (pop form)))))
    required))

(defun todo-write-layers-tests--loaded (are-commands)
  "Return what files may call above themselves, as one file says.
They are commands if ARE-COMMANDS is non-nil, else other functions."
  (cl-loop for form in (cdr (assoc "todo-write-commands" todo-write-layers-tests--libraries))
           when (and (eq 'autoload (car-safe form))
                     (eq (null are-commands) (null (nth 4 form))))
           collect (cadr (nth 1 form))))

(defun todo-write-layers-tests--upward ()
  "Return the commands that files may call above themselves."
  (todo-write-layers-tests--loaded t))

(defun todo-write-layers-tests--called ()
  "Return the other functions that files may call above themselves."
  (todo-write-layers-tests--loaded nil))

(defconst todo-write-layers-tests--levels
  (let ((table (make-hash-table :test #'equal)))
    (cl-loop for line in todo-write-layers-tests--drawn
             for level downfrom 0
             do (dolist (library line)
                  (puthash library level table)))
    table)
  "The heights of the files in the drawing.")

(defun todo-write-layers-tests--above-p (user used)
  "Return non-nil if the file USER is drawn above USED."
  (let ((one (gethash user todo-write-layers-tests--levels))
        (other (gethash used todo-write-layers-tests--levels)))
    (and one other (> one other))))

(ert-deftest todo-write-layers-draw-each-file-once ()
  (should (equal (sort (apply #'append todo-write-layers-tests--drawn) #'string<)
                 (sort (mapcar #'car todo-write-layers-tests--libraries) #'string<))))

(ert-deftest todo-write-layers-a-file-requires-only-files-below-it ()
  (should-not
   (seq-remove (pcase-lambda (`(,user ,used))
                 (todo-write-layers-tests--above-p user used))
               (todo-write-layers-tests--required))))

(ert-deftest todo-write-layers-a-file-uses-only-files-below-it-and-commands-of-the-table ()
  (let ((upward (append (todo-write-layers-tests--upward) (todo-write-layers-tests--called))))
    (should upward)
    (should-not
     (seq-remove (pcase-lambda (`(,user ,name ,used))
                   (or (todo-write-layers-tests--above-p user used) (memq name upward)))
                 (todo-write-layers-tests--uses)))))

(defconst todo-write-layers-tests--all
  (append todo-write-layers-tests--libraries
          (cl-loop for file in (directory-files
                                (expand-file-name "efrit-do" todo-write-layers-tests--root)
                                nil "\\.el\\'")
                   unless (string-suffix-p "-autoloads.el" file)
                   collect (cons (file-name-base file)
                                 (todo-write-layers-tests--forms
                                  (concat "../efrit-do/" (file-name-base file))))))
  "Alist of the names of files in lisp/ and efrit-do/ and their forms.")

(defconst todo-write-layers-tests--called-by-module
  (let ((folder (expand-file-name "src/lisp" todo-write-layers-tests--root)) names)
    (dolist (file (directory-files folder t "\\.rs\\'"))
      (with-temp-buffer
        (insert-file-contents file)
        (while (re-search-forward "\"\\(todo-write-[a-z-]*-[a-z-]+\\)\"" nil t)
          (push (intern (match-string 1)) names))))
    names)
  "Names of this package's Lisp that the module calls or sets.")

(defun todo-write-layers-tests--own-names ()
  "Return a hash table of the names with two dashes and the files that define them.
Leave out those that the module uses, too."
  (let ((table (make-hash-table)))
    (pcase-dolist (`(,library . ,forms) todo-write-layers-tests--all)
      (dolist (name (mapcan #'todo-write-layers-tests--defined (copy-sequence forms)))
        (when (and (string-match-p "--" (symbol-name name))
                   (not (memq name todo-write-layers-tests--called-by-module)))
          (puthash name library table))))
    table))

(ert-deftest todo-write-layers-two-dashes-mean-of-this-file ()
  (let ((own (todo-write-layers-tests--own-names)) elsewhere)
    (should (> (hash-table-count own) 500))
    (pcase-dolist (`(,library . ,forms) todo-write-layers-tests--all)
      (todo-write-layers-tests--used
       forms (lambda (name _)
               (unless (member (gethash name own) (list nil library))
                 (cl-pushnew (list library name) elsewhere :test #'equal)))))
    (should-not elsewhere)))

(ert-deftest todo-write-layers-names-with-two-dashes-begin-with-that-of-their-file ()
  (let (others)
    (maphash (lambda (name library)
               (unless (string-prefix-p (concat library "--") (symbol-name name))
                 (push (list library name) others)))
             (todo-write-layers-tests--own-names))
    (should-not others)))

(ert-deftest todo-write-layers-the-table-has-only-commands-that-are-called-from-below ()
  (let ((uses (todo-write-layers-tests--uses)))
    (dolist (command (todo-write-layers-tests--upward))
      (ert-info ((symbol-name command))
        (should (seq-find (pcase-lambda (`(,user ,name ,used))
                            (and (eq name command)
                                 (not (todo-write-layers-tests--above-p user used))))
                          uses))
        (let ((library (gethash command todo-write-layers-tests--definitions)))
          (require (intern library))
          (should (commandp command)))))))

(provide 'todo-write-layers-tests)
;;; todo-write-layers-tests.el ends here
