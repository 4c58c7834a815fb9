;;; todo-write-torture-tests.el --- Anything at every argument  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Each function of the module and each public function of the package, found by
;; name and in the manual, is called with each kind of Lisp object as each argument.  None may crash
;; Emacs, loop, panic, or damage the store.  It may only signal errors about
;; wrong arguments, not internal errors.

;;; Code:

(require 'bookmark)
(require 'cl-lib)
(require 'ert)
(require 'help)
(require 'seq)
(require 'todo-write-test-helper)
(require 'todo-write-torture-helper)
(require 'todo-write-view)
(dolist (library '(history list mode-line visit notify acp follow))
  (require (intern (format "todo-write-%s" library))))

;;; Functions

(defconst todo-write-torture-tests--left-out
  "\\`todo-write-\\(?:module\\|menu\\|doctor\\|gptel\\|efrit\\|acp-connect\\)"
  "Names of functions that build the package, need another one, run a program, or quit.")

(defconst todo-write-torture-tests--manual
  (with-temp-buffer
    (insert-file-contents (expand-file-name "doc/todo-write.org" (getenv "TODO_WRITE_ROOT")))
    (buffer-string))
  "The text of the manual.")

(defun todo-write-torture-tests--ours-p (symbol)
  "Return non-nil if SYMBOL is a public function of the loaded package.
The manual has all of these; other files of the package use more."
  (let ((name (symbol-name symbol)))
    (and (string-match-p "\\`todo-write\\(?:-\\|\\'\\)" name)
         (not (string-search "--" name))
         (not (string-match-p todo-write-torture-tests--left-out name))
         (not (autoloadp (symbol-function symbol)))
         (let ((case-fold-search nil))
           (string-match-p (concat "[~(]" (regexp-quote name) "[ )~]")
                           todo-write-torture-tests--manual))
         ;; Tests and their helpers have similar names.  Searching the load history is slow.
         (let ((file (symbol-file symbol 'defun)))
           (and file
                (equal (file-name-directory (expand-file-name file))
                       (file-name-directory (locate-library "todo-write"))))))))

(defun todo-write-torture-tests--functions (primitive)
  "Return the functions of the module if PRIMITIVE, else the public ones."
  (let (functions)
    (mapatoms
     (lambda (symbol)
       (when (and (fboundp symbol) (not (macrop symbol))
                  (if primitive
                      (string-prefix-p "todo-write-dyn--" (symbol-name symbol))
                    (todo-write-torture-tests--ours-p symbol)))
         (push symbol functions))))
    (sort functions #'string<)))

(defconst todo-write-torture-tests--plausible
  '((thread . "a") (id . "t1") (input . (:todos [])) (operation . add) (args . "Text") (content . "Text")
    (arguments . ("Text")) (a . 0) (b . 1) (revision . 1) (kind . "TOKEN") (type . "INTENT")
    (data . "x") (function . ignore) (file . "no such") (width . 40) (limit . 3) (days . 9999)
    (least . 1) (most . 1) (prompt . "") (string . "x") (text . "x"))
  "Alist of plausible values of arguments, by name.")

(defun todo-write-torture-tests--arguments (function)
  "Return the names of the arguments of FUNCTION, with a `&rest' one twice."
  (let ((names (if (string-prefix-p "todo-write-dyn--" (symbol-name function))
                   (mapcar (lambda (name) (intern (downcase (symbol-name name))))
                           (cdr (read (car (help-split-fundoc (documentation function t)
                                                              function)))))
                 (help-function-arglist function t))))
    (if (memq '&rest names)
        (let ((fixed (seq-take-while (lambda (name) (not (eq name '&rest))) names))
              (rest (car (last names))))
          (append (remq '&optional fixed) (list rest rest)))
      (remq '&optional names))))

;;; Calls

(defconst todo-write-torture-tests--own-errors
  '(todo-write-panic void-function void-variable invalid-function no-catch cl-assertion-failed
    cl-no-applicable-method excessive-lisp-nesting)
  "Errors that show a mistake of the package, not of its caller.")

(defun todo-write-torture-tests--documented-p (function)
  "Return non-nil if FUNCTION may only signal errors that it documents.
Where it is defined is searched for in the load history, which is slow."
  (or (string-prefix-p "todo-write-dyn--" (symbol-name function))
      (member (file-name-base (or (symbol-file function) ""))
              '("todo-write" "todo-write-events"))))

(defun todo-write-torture-tests--check-error (err function arguments documented)
  "Fail if ERR, signalled by FUNCTION with ARGUMENTS, is an internal error.
If DOCUMENTED, it may only be an error that the function documents."
  (let ((conditions (get (car err) 'error-conditions)))
    (when (or (and (cl-intersection conditions todo-write-torture-tests--own-errors)
                   ;; Its argument has functions for `display-buffer'.
                   (not (eq function 'todo-write-show)))
              (and documented
                   (not (cl-intersection conditions
                                         '(todo-write-error wrong-type-argument user-error
                                           inhibited-interaction)))
                   ;; `cl-defun' checks the keywords.
                   (not (eq function 'todo-write-begin))))
      (let ((print-circle t) (print-length 9) (print-level 4))
        (ert-fail (format "%S %s: %S" function
                          (truncate-string-to-width (format "%S" arguments) 300)
                          err))))))

(defun todo-write-torture-tests--check-store (function)
  "Fail if FUNCTION has damaged the store."
  (ert-info ((symbol-name function) :prefix "After: ")
    (should-not (todo-write-test-warnings (todo-write-items "a")))
    (todo-write-forget "a")
    (todo-write-test-write "a" '("One" "in_progress") "Two" "Three")
    (should (equal (todo-write-test-contents "a") '("One" "Two" "Three")))
    (should (eq (todo-write-state "a") 'active))))

(defun todo-write-torture-tests--torture (function)
  "Call FUNCTION with each object as each argument, and as all of them.
Return the number of calls."
  (let* ((names (todo-write-torture-tests--arguments function))
         (usual (mapcar (lambda (name) (alist-get name todo-write-torture-tests--plausible))
                        names))
         (objects (todo-write-torture-objects))
         (documented (todo-write-torture-tests--documented-p function))
         (calls 0))
    ;; So many columns would exhaust the memory, and only our own code passes a width.
    (when (memq 'width names) (setq objects (delq most-positive-fixnum objects)))
    ;; Assertions are about values that reach the module, whose functions get all objects.
    (when (and (todo-write-test-module-assertions-p)
               (not (string-prefix-p "todo-write-dyn--" (symbol-name function))))
      (setq objects (cl-loop for (object) on objects by #'cdddr collect object)))
    (dolist (object objects)
      (dolist (arguments (cons (make-list (length names) object)
                               (cl-loop for place below (length names)
                                        collect (append (seq-take usual place) (list object)
                                                        (nthcdr (1+ place) usual)))))
        (cl-incf calls)
        (when-let* ((err (todo-write-torture-error function arguments)))
          (todo-write-torture-tests--check-error err function arguments documented))))
    (todo-write-torture-tests--check-store function)
    calls))

(defmacro todo-write-torture-tests--with-room (&rest body)
  "Run BODY in a new folder and new windows, and close what it opens."
  (declare (indent 0) (debug t))
  `(let ((buffers (buffer-list)))
     (save-window-excursion
       (todo-write-with-store
         (unwind-protect
             (let ((default-directory (file-name-as-directory todo-write-directory))
                   (todo-write-events-functions todo-write-events-functions))
               (todo-write-test-warnings ,@body))
           (todo-write-follow-stop)
           (dolist (mode minor-mode-list)
             (when (and (string-prefix-p "todo-write-" (symbol-name mode))
                        (boundp mode) (symbol-value mode))
               (funcall mode -1)))
           (let (kill-buffer-query-functions)
             (mapc #'kill-buffer (seq-difference (buffer-list) buffers))))))))

(defun todo-write-torture-tests--torture-all (functions)
  "Torture FUNCTIONS and print the number of calls."
  (todo-write-torture-tests--with-room
    (let ((calls 0))
      (dolist (function functions)
        (with-temp-buffer
          (cl-incf calls (todo-write-torture-tests--torture function))))
      (message "%d functions, %d calls" (length functions) calls))))

(ert-deftest todo-write-torture-no-object-breaks-a-function-of-the-module ()
  (todo-write-threads)
  (let ((functions (todo-write-torture-tests--functions t))
        (configure 'todo-write-dyn--configure))
    (should (memq configure functions))
    (todo-write-torture-tests--torture-all (remq configure functions))
    ;; It cannot damage the store: the next call sets all options again.
    (dolist (object (todo-write-torture-objects))
      (dolist (options (cons object (mapcar (lambda (option) (list option object))
                                            todo-write-core--options)))
        (when-let* ((err (todo-write-torture-error configure (list options))))
          (todo-write-torture-tests--check-error err configure (list options) t))))
    (setq todo-write-core-configured (list nil))))

(ert-deftest todo-write-torture-no-object-breaks-a-public-function ()
  (let ((functions (todo-write-torture-tests--functions nil)))
    (should (cl-subsetp '(todo-write todo-write-subscribe todo-write-show) functions))
    (todo-write-torture-tests--torture-all functions)))

(provide 'todo-write-torture-tests)
;;; todo-write-torture-tests.el ends here
