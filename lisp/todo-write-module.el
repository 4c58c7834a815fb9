;;; todo-write-module.el --- Find, load and build the module  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The work is done by a module in Rust, `todo-write-dyn'.  It is loaded
;; when it is first needed, not before: so the Lisp files can be compiled
;; and loaded where it is not built yet.  If it is missing then, cargo
;; builds it from the sources that came with the Lisp files, after a
;; question; see `todo-write-module-auto-build'.

;;; Code:

(require 'seq)
(eval-when-compile (require 'subr-x))

(defconst todo-write-version "0.1.0"
  "Version of this package.  The module must have the same.")

(defcustom todo-write-module-directory nil
  "Folder of the module `todo-write-dyn', or nil for that of the Lisp files.
A prebuilt module is looked for there, and a new one is put there."
  :group 'todo-write
  :type '(choice (const :tag "Beside the Lisp files" nil) directory))

(defcustom todo-write-module-auto-build 'ask
  "What to do when the module is needed and not built for this version.
`ask': ask whether to build it, where there is somebody to answer.
t: build it without a question.
nil: signal an error that says how to build it."
  :group 'todo-write
  :type '(choice (const :tag "Ask" ask)
                 (const :tag "Build it" t)
                 (const :tag "Say how to build it" nil)))

(defconst todo-write-module--lisp
  (file-name-directory (or (macroexp-file-name) default-directory))
  "Folder of the Lisp files.")

(defconst todo-write-module-buffer "*todo-write module*"
  "Name of the buffer that shows how the module is built.")

(defvar todo-write-dyn--version)
(defvar compilation-environment)
(defvar compilation-scroll-output)

(defun todo-write-module--error (format &rest args)
  "Signal `todo-write-error' with the text that FORMAT makes of ARGS."
  (signal 'todo-write-error (list (apply #'format-message format args))))

;;; Finding

(defun todo-write-module-supported-p ()
  "Return non-nil if this Emacs can load modules."
  (and (fboundp 'module-load) (bound-and-true-p module-file-suffix) t))

(defun todo-write-module--lisp-file ()
  "Return the true name of this file.
Some package managers link to the files of a checkout."
  (file-truename (expand-file-name "todo-write-module.el" todo-write-module--lisp)))

(defun todo-write-module-folder ()
  "Return the folder where a new module is put."
  (file-name-as-directory
   (expand-file-name (or todo-write-module-directory
                         (file-name-directory (todo-write-module--lisp-file))))))

(defun todo-write-module-file ()
  "Return the file name of the module, or nil if there is none."
  (locate-file "todo-write-dyn"
               (append (list (todo-write-module-folder) todo-write-module--lisp)
                       load-path)
               (list module-file-suffix)))

(defun todo-write-module-file-version (file)
  "Return the version of the module FILE, without loading it, or nil.
An Emacs cannot unload a module, so it is known before it is loaded."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally file)
    (and (re-search-forward "todo-write-dyn version \\([0-9][-+.0-9A-Za-z]*\\);" nil t)
         (match-string 1))))

(defun todo-write-module-sources ()
  "Return the folder of the sources of the module, or nil.
The Lisp files are beside them in a package, and below them in a checkout."
  (let ((here (file-name-directory (todo-write-module--lisp-file))))
    (seq-find (lambda (folder)
                (and (file-exists-p (expand-file-name "Cargo.toml" folder))
                     (file-exists-p (expand-file-name "src/lib.rs" folder))))
              (list here (expand-file-name "../" here)))))

(defun todo-write-module--target (sources)
  "Return the folder where cargo keeps what it makes of SOURCES."
  (file-name-as-directory
   (expand-file-name (or (getenv "CARGO_TARGET_DIR") "target") sources)))

(defun todo-write-module--outdated-p (file)
  "Return non-nil if FILE was built here and its sources are newer."
  (when-let* ((sources (todo-write-module-sources))
              ((file-directory-p (todo-write-module--target sources))))
    (seq-some (lambda (source) (file-newer-than-file-p source file))
              (cons (expand-file-name "Cargo.toml" sources)
                    (directory-files-recursively
                     (expand-file-name "src" sources) "\\.rs\\'")))))

(defun todo-write-module--unfit (file)
  "Return what is wrong with the module FILE, a sentence, or nil."
  (cond
   ((not file) "The module of todo-write is not built yet.")
   ((and (file-newer-than-file-p (todo-write-module--lisp-file) file)
         (not (equal todo-write-version (todo-write-module-file-version file))))
    (format "The module of todo-write is version %s, the Lisp files are %s."
            (or (todo-write-module-file-version file) "unknown")
            todo-write-version))))

;;; Loading

(defvar todo-write-module--declined nil
  "Non-nil once the user does not want the module built in this session.")

(defun todo-write-module-load ()
  "Load the module if it is not loaded; build it first if need be.
Signal `todo-write-error' saying what to do if that cannot be."
  (unless (featurep 'todo-write-dyn)
    (unless (todo-write-module-supported-p)
      (todo-write-module--error "This Emacs is built without support for modules"))
    (let* ((file (todo-write-module-file))
           (unfit (todo-write-module--unfit file)))
      (cond
       (unfit (todo-write-module--offer unfit))
       ((and (todo-write-module--can-ask-p) (todo-write-module--outdated-p file)
             (todo-write-module--wanted-p
              "The sources of todo-write's module are newer than it."))
        (todo-write-module--make)))
      (require 'todo-write-dyn (todo-write-module-file))))
  (todo-write-module--check-loaded))

(defun todo-write-module-loaded-version ()
  "Return the version of the module that this Emacs has loaded, or nil."
  (bound-and-true-p todo-write-dyn--version))

(defun todo-write-module--check-loaded ()
  "Signal `todo-write-error' if the loaded module is of another version."
  (let ((version (todo-write-module-loaded-version)))
    (unless (equal version todo-write-version)
      (todo-write-module--error
       "The loaded module is version %s, the Lisp files are %s; %s"
       (or version "unknown") todo-write-version
       (if (equal todo-write-version
                  (when-let ((file (todo-write-module-file)))
                    (todo-write-module-file-version file)))
           "restart Emacs"
         "build it by `M-x todo-write-module-build' and restart Emacs")))))

(defun todo-write-module--can-ask-p ()
  "Return non-nil if there is somebody who could answer a question."
  (not (or noninteractive
           (equal (terminal-name (frame-terminal)) "initial_terminal"))))

(defun todo-write-module--wanted-p (reason)
  "Return non-nil if the module is to be built now for REASON, a sentence.
Ask if `todo-write-module-auto-build' says so, but once only."
  (pcase (or (and (todo-write-module--process) t) todo-write-module-auto-build)
    ('ask (and (todo-write-module--can-ask-p)
               (not todo-write-module--declined)
               (or (y-or-n-p (concat reason "  Build it now, with cargo? "))
                   (ignore (setq todo-write-module--declined t)))))
    (wanted wanted)))

(defun todo-write-module--offer (unfit)
  "Build the module, which is UNFIT, a sentence, or signal what to do."
  (let ((problem (todo-write-module-build-problem)))
    (cond
     (problem
      (todo-write-module--error
       "%s  It cannot be built here: %s.  Or put a prebuilt todo-write-dyn%s into %s"
       unfit problem module-file-suffix
       (abbreviate-file-name (todo-write-module-folder))))
     ((todo-write-module--wanted-p unfit) (todo-write-module--make))
     (t (todo-write-module--error
         "%s  Build it by `M-x todo-write-module-build'" unfit)))))

;;; Building

(defun todo-write-module-cargo ()
  "Return the file name of cargo, or nil.
Emacs started from a desktop may lack the folder of rustup in its path."
  (or (executable-find "cargo")
      (let ((cargo (expand-file-name
                    "bin/cargo" (or (getenv "CARGO_HOME") "~/.cargo"))))
        (and (file-executable-p cargo) cargo))))

(defun todo-write-module-cargo-version (cargo)
  "Return the version of CARGO, a file name, or else what it says of itself."
  (with-temp-buffer
    (let ((default-directory temporary-file-directory))
      (call-process cargo nil t nil "--version"))
    (goto-char (point-min))
    (if (looking-at "cargo \\([0-9]+\\.[0-9]+\\(?:\\.[0-9]+\\)?\\)")
        (match-string 1)
      (buffer-substring (point) (line-end-position)))))

(defun todo-write-module-rust-needed (sources)
  "Return the oldest version of Rust that SOURCES, a folder, can do with."
  (with-temp-buffer
    (insert-file-contents (expand-file-name "Cargo.toml" sources))
    (re-search-forward "^rust-version = \"\\([0-9.]+\\)\"")
    (match-string 1)))

(defun todo-write-module-build-problem ()
  "Return why the module cannot be built here, part of a sentence, or nil."
  (let* ((sources (todo-write-module-sources))
         (cargo (and sources (todo-write-module-cargo)))
         (needed (and cargo (todo-write-module-rust-needed sources)))
         (version (and cargo (todo-write-module-cargo-version cargo))))
    (cond
     ((not sources)
      "its Rust sources are not beside the Lisp files")
     ((not cargo)
      "cargo is missing; get Rust from https://rustup.rs")
     ((not (string-match-p "\\`[0-9]" version))
      (format "%s says %S" (abbreviate-file-name cargo) version))
     ((version< version needed)
      (format "Rust is %s and must be %s or later; see https://rustup.rs"
              version needed))
     ((not (file-writable-p (todo-write-module-folder)))
      (format "%s cannot be written; set todo-write-module-directory"
              (abbreviate-file-name (todo-write-module-folder)))))))

;;;###autoload
(defun todo-write-module-build ()
  "Build the module with cargo, and load it.
\\<global-map>\\[keyboard-quit] ends the waiting, not the building."
  (interactive)
  (when-let ((problem (todo-write-module-build-problem)))
    (todo-write-module--error "The module cannot be built: %s" problem))
  (let ((loaded (featurep 'todo-write-dyn)))
    (todo-write-module--make)
    (if loaded
        (message "The module is built; restart Emacs to use it")
      (todo-write-module-load)
      (message "The module is built and loaded"))))

(defun todo-write-module--make ()
  "Build the module and put it into its folder, or signal `todo-write-error'."
  (let ((process (or (todo-write-module--process) (todo-write-module--start))))
    (todo-write-module--wait process)
    (when (process-live-p process)
      (todo-write-module--error "The module is still being built; try again later"))
    (unless (eql 0 (process-exit-status process))
      (todo-write-module--error
       "The module could not be built (%s); see the buffer %s"
       (todo-write-module--first-error process) todo-write-module-buffer))
    (todo-write-module--install)))

(defun todo-write-module--process ()
  "Return the process that builds the module, or nil."
  (when-let* ((buffer (get-buffer todo-write-module-buffer))
              (process (get-buffer-process buffer)))
    (and (process-live-p process) process)))

(defun todo-write-module--start ()
  "Start to build the module; return the process that does it."
  (let* ((cargo (todo-write-module-cargo))
         (default-directory (todo-write-module-sources))
         (compilation-scroll-output t)
         (compilation-environment
          (list "CARGO_TERM_COLOR=never" "CARGO_TERM_PROGRESS_WHEN=never"
                (concat "CARGO_TARGET_DIR="
                        (todo-write-module--target default-directory))
                ;; Cargo finds the rustc that is beside it.
                (concat "PATH=" (file-name-directory cargo)
                        path-separator (getenv "PATH")))))
    (get-buffer-process
     (compilation-start
      (concat (shell-quote-argument cargo) " build --release --locked --lib")
      nil (lambda (_mode) todo-write-module-buffer)))))

(defun todo-write-module--wait (process)
  "Wait until PROCESS, which builds the module, has ended.
Meanwhile the last line that it said is shown."
  (with-local-quit
    (while (process-live-p process)
      (accept-process-output process 0.2)
      (let ((message-log-max nil))
        (message "Building the module of todo-write: %s"
                 (with-current-buffer (process-buffer process)
                   (save-excursion
                     (goto-char (point-max))
                     (skip-chars-backward "\n")
                     (string-trim (buffer-substring-no-properties
                                   (line-beginning-position) (point)))))))
      (redisplay))
    (message "Building the module of todo-write: ended")))

(defun todo-write-module--first-error (process)
  "Return the first line with an error that PROCESS said, or how it ended."
  (with-current-buffer (process-buffer process)
    (save-excursion
      (goto-char (point-min))
      (if (re-search-forward "^error.*" nil t)
          (match-string-no-properties 0)
        (format "status %s" (process-exit-status process))))))

(defun todo-write-module--install ()
  "Put the module that cargo built into its folder."
  (let* ((built (expand-file-name
                 (concat "release/"
                         (pcase system-type
                           ((or 'windows-nt 'cygwin) "todo_write.dll")
                           ('darwin "libtodo_write.dylib")
                           (_ "libtodo_write.so")))
                 (todo-write-module--target (todo-write-module-sources))))
         (file (expand-file-name (concat "todo-write-dyn" module-file-suffix)
                                 (todo-write-module-folder)))
         (new (make-temp-name (concat file "."))))
    (make-directory (file-name-directory file) t)
    ;; An Emacs may have the old one loaded: it is replaced, not overwritten.
    (copy-file built new t)
    (rename-file new file t)))

(provide 'todo-write-module)
;;; todo-write-module.el ends here
