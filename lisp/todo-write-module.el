;;; todo-write-module.el --- Find and load the module  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The store is a module in Rust, `todo-write-dyn'.  Modes load it when they
;; are switched on, commands and other calls when they need it, so the Lisp
;; files compile and load without it.  Redisplay, timers and process filters
;; never load it.  A missing module is got by todo-write-get.el.

;;; Code:

(require 'todo-write-commands)
(eval-when-compile (require 'subr-x))

(defconst todo-write-version "0.3.0"
  "Version of this package, which must also be the module's.")

(defvar todo-write-module-directory nil
  "Folder of the module `todo-write-dyn', or nil for that of the Lisp files.
Emacs looks for a prebuilt module there and puts a new one there.")

(defcustom todo-write-module-source 'ask
  "How to get the module, or the program todo-write-mcp, when it is missing.
`ask': offer the ways that are possible on this machine.
`download': download it from the release; its SHA-256 must be the one
listed in the package.
`build': build it with cargo.
nil: signal an error that names the remedy."
  :group 'todo-write
  :type '(choice (const :tag "Ask" ask)
                 (const :tag "Download it" download)
                 (const :tag "Build it" build)
                 (const :tag "Signal an error" nil))
  :package-version '(todo-write . "0.2.0"))

(defvar todo-write-mcp-program nil
  "File name of the program `todo-write-mcp'.
If nil, it is searched beside the Lisp files and in variable `exec-path'.")

(defconst todo-write-module-lisp
  (file-name-directory (or (macroexp-file-name) default-directory))
  "Folder of the Lisp files.")

(defvar todo-write-module--loaded-version nil
  "Version of the module in this Emacs, which the module sets, or nil.")

(defvar todo-write-module-declined nil
  "Non-nil once the user has declined to get the module in this session.")

(defvar todo-write-module-asking nil
  "Non-nil while the user is asked how to get the module.")

(defun todo-write-module-error (format &rest args)
  "Signal `todo-write-error' with a message from FORMAT and ARGS."
  (signal 'todo-write-error (list (apply #'format-message format args))))

;;; Finding

(defun todo-write-module-beside (name)
  "Return the file NAME beside the Lisp files.
Some package managers install links to the Lisp files of a checkout."
  (expand-file-name name (file-name-directory
                          (file-truename (expand-file-name "todo-write-module.el"
                                                           todo-write-module-lisp)))))

(defun todo-write-module-folder ()
  "Return the folder for a new module."
  (file-name-as-directory
   (expand-file-name (or todo-write-module-directory (todo-write-module-beside "./")))))

(defun todo-write-module-find ()
  "Return the file name of the module, or nil if it is missing."
  (locate-file "todo-write-dyn"
               (append (list (todo-write-module-folder) todo-write-module-lisp)
                       load-path)
               (list module-file-suffix)))

(defun todo-write-module-find-program ()
  "Return the file name of the program `todo-write-mcp', or nil."
  (if todo-write-mcp-program
      (let ((file (expand-file-name todo-write-mcp-program)))
        (and (file-executable-p file) file))
    (locate-file "todo-write-mcp"
                 (append (list (todo-write-module-folder) todo-write-module-lisp) exec-path)
                 exec-suffixes 'file-executable-p)))

(defun todo-write-module-program ()
  "Return the file name of `todo-write-mcp', after getting it if it is missing.
One that an earlier version left is replaced.  Signal `todo-write-error' if
that fails."
  (let* ((file (todo-write-module-find-program))
         (unfit (unless (and file todo-write-mcp-program)
                  (todo-write-module--unfit file "program todo-write-mcp"))))
    (cond ((not unfit) file)
          (todo-write-mcp-program
           (todo-write-module-error "`todo-write-mcp-program' is %s, which cannot be run"
                                     todo-write-mcp-program))
          (t (let ((todo-write-module-declined nil))
               (todo-write-get-file "todo-write-mcp" unfit))
             (todo-write-module-find-program)))))

(defun todo-write-module-file-version (file)
  "Return the version of FILE, a module or todo-write-mcp, or nil.
FILE is read, not loaded, because Emacs cannot unload a module."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally file)
    (and (re-search-forward
          "todo-write-\\(?:dyn\\|mcp\\) version \\([0-9][-+.0-9A-Za-z]*\\);" nil t)
         (match-string 1))))

(defun todo-write-module--unfit (file what)
  "Return why FILE, which is WHAT, cannot be used, a sentence, or nil."
  (cond
   ((not file) (format "The %s is missing." what))
   ;; Only one that is older than the Lisp files is read.
   ((file-newer-than-file-p (todo-write-module-beside "todo-write-module.el") file)
    (let ((version (todo-write-module-file-version file)))
      (unless (equal version todo-write-version)
        (format "The %s is version %s, the Lisp files are %s."
                what (or version "unknown") todo-write-version))))))

;;; Loading

(defun todo-write-module-busy-p ()
  "Return non-nil during redisplay, in a timer, and in a process filter.
Loading or asking there would block Emacs, or recur."
  ;; Redisplay sets the first while it calls Lisp, or the second; timers and
  ;; filters set the second.
  (or inhibit-redisplay inhibit-quit todo-write-module-asking))

(defun todo-write-module-load ()
  "Load the module if it is not loaded, after downloading or building it.
Signal a `todo-write-error' that names the remedy if that fails.  During
redisplay, in a timer and in a process filter, do not load it: signal
that error, and show the user a message with a button."
  (unless (featurep 'todo-write-dyn)
    (when (todo-write-module-busy-p)
      (todo-write-module--warn-missing "The module of todo-write is not loaded.")
      (todo-write-module-error
       "The module is not loaded.  The user gets it with M-x todo-write-setup"))
    (todo-write-module--load))
  (unless (equal todo-write-module--loaded-version todo-write-version)
    (todo-write-module-error
     "The loaded module is version %s, the Lisp files are %s; %srestart Emacs"
     (or todo-write-module--loaded-version "unknown") todo-write-version
     (if-let* ((file (todo-write-module-find))
               ((equal todo-write-version (todo-write-module-file-version file))))
         ""
       (concat (todo-write-get-remedy "todo-write-dyn") " and ")))))

(defun todo-write-module-renew (again)
  "Get and load the module, since the user asks for it.
If it is loaded and of another version than the Lisp files, or if AGAIN is
non-nil, replace its file, which counts from the next session on."
  (setq todo-write-module-declined nil)
  (when (or again (and (featurep 'todo-write-dyn)
                       (todo-write-module--unfit (todo-write-module-find) "module")))
    (todo-write-get-file "todo-write-dyn" "The module of todo-write is to be replaced.")
    (when (featurep 'todo-write-dyn)
      (message "The module is installed; restart Emacs to use it")))
  (todo-write-module-load))

(defun todo-write-module--load ()
  "Load the module, after getting it if it is missing."
  (unless module-file-suffix
    (todo-write-module-error "This Emacs is built without support for modules"))
  (when-let* ((unfit (todo-write-module--unfit (todo-write-module-find) "module of todo-write")))
    (todo-write-get-file "todo-write-dyn" unfit))
  (require 'todo-write-dyn (todo-write-module-find)))

(defun todo-write-module-prepare ()
  "Load the module for a mode that is switched on, and signal no error.
If it is missing, ask how to get it if the user has called a command;
otherwise, as in the init file, show a message with a button."
  (unless (featurep 'todo-write-dyn)
    (condition-case err
        ;; A mode may be switched on in an idle timer.
        (todo-write-module--load)
      (todo-write-error (todo-write-module--warn-missing (cadr err))))))

(defvar todo-write-module--warned nil
  "Non-nil once the user was warned that the module is missing.")

(defun todo-write-module--warn-missing (reason)
  "Warn once that the module is missing, with REASON and a button that gets it."
  (unless todo-write-module--warned
    (setq todo-write-module--warned t)
    ;; A window cannot be shown during redisplay.
    (run-at-time 0 nil #'display-warning 'todo-write
                 (concat reason "\n"
                         (make-text-button
                          (copy-sequence "[Get the module]") nil
                          'action (lambda (_) (todo-write-module-renew nil)))))))

(provide 'todo-write-module)
;;; todo-write-module.el ends here
