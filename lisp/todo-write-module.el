;;; todo-write-module.el --- Find, load and get the module  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The store is a module in Rust, `todo-write-dyn'.  Modes load it when they
;; are switched on, commands and other calls when they need it, so the Lisp
;; files compile and load without it.  Redisplay, timers and process filters
;; never load it.  A missing module is downloaded or built with cargo, after a
;; question to a user who has called a command; see
;; `todo-write-module-source'.  The program `todo-write-mcp' is installed in
;; the same way.
;;
;; The package of a release has the file todo-write-modules.sha256: a line
;; for each file that can be downloaded, with its SHA-256 and its address.

;;; Code:

(require 'seq)
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

(defconst todo-write-module--products
  `(("todo-write-dyn" "todo-write" ,module-file-suffix
     ,(pcase system-type
        ((or 'windows-nt 'cygwin) "todo_write.dll")
        ('darwin "libtodo_write.dylib")
        (_ "libtodo_write.so")))
    ("todo-write-mcp" "todo-write-mcp" ,(car exec-suffixes)
     ,(concat "todo-write-mcp" (car exec-suffixes))))
  "The files to download or build: lists (NAME CRATE SUFFIX BUILT).
CRATE is the name of the crate, SUFFIX the suffix of the installed file,
and BUILT the name of cargo's file.")

(defvar todo-write-module--loaded-version nil
  "Version of the module in this Emacs, which the module sets, or nil.")

(defvar todo-write-module-declined nil
  "Non-nil once the user has declined to get the module in this session.")

(defvar todo-write-module--asking nil
  "Non-nil while the user is asked how to get the module.")

(defvar compilation-environment)
(defvar compilation-scroll-output)

(defun todo-write-module--error (format &rest args)
  "Signal `todo-write-error' with a message from FORMAT and ARGS."
  (signal 'todo-write-error (list (apply #'format-message format args))))

;;; Finding

(defun todo-write-module--file (name)
  "Return the file NAME beside the Lisp files.
Some package managers install links to the Lisp files of a checkout."
  (expand-file-name name (file-name-directory
                          (file-truename (expand-file-name "todo-write-module.el"
                                                           todo-write-module-lisp)))))

(defun todo-write-module-folder ()
  "Return the folder for a new module."
  (file-name-as-directory
   (expand-file-name (or todo-write-module-directory (todo-write-module--file "./")))))

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
         (version (and file (not todo-write-mcp-program) (todo-write-module--older-p file)
                       (todo-write-module-file-version file)))
         (unfit (cond ((not file) "The program todo-write-mcp is missing.")
                      ((not (member version (list nil todo-write-version)))
                       (format "The program todo-write-mcp is version %s, the Lisp files are %s."
                               version todo-write-version)))))
    (cond ((not unfit) file)
          (todo-write-mcp-program
           (todo-write-module--error "`todo-write-mcp-program' is %s, which cannot be run"
                                     todo-write-mcp-program))
          (t (let ((todo-write-module-declined nil))
               (todo-write-module-get "todo-write-mcp" unfit))
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

(defun todo-write-module-sources ()
  "Return the folder of the sources of the module, or nil.
A package has the Lisp files beside the sources, a checkout below them."
  (seq-find (lambda (folder)
              (and (file-exists-p (expand-file-name "Cargo.toml" folder))
                   (file-exists-p (expand-file-name "src/lib.rs" folder))))
            (list (todo-write-module--file "./") (todo-write-module--file "../"))))

(defun todo-write-module--target ()
  "Return cargo's target folder."
  (file-name-as-directory
   (expand-file-name (or (getenv "CARGO_TARGET_DIR") "target") (todo-write-module-sources))))

(defun todo-write-module--older-p (file)
  "Return non-nil if the Lisp files are newer than FILE."
  (file-newer-than-file-p (todo-write-module--file "todo-write-module.el") file))

(defun todo-write-module--unfit (file)
  "Return why the module FILE cannot be used, a sentence, or nil."
  (cond
   ((not file) "The module of todo-write is missing.")
   ((and (todo-write-module--older-p file)
         (not (equal todo-write-version (todo-write-module-file-version file))))
    (format "The module of todo-write is version %s, the Lisp files are %s."
            (or (todo-write-module-file-version file) "unknown")
            todo-write-version))))

;;; Loading

(defun todo-write-module--busy-p ()
  "Return non-nil during redisplay, in a timer, and in a process filter.
Loading or asking there would block Emacs, or recur."
  ;; Redisplay sets the first while it calls Lisp, or the second; timers and
  ;; filters set the second.
  (or inhibit-redisplay inhibit-quit todo-write-module--asking))

(defun todo-write-module-load ()
  "Load the module if it is not loaded, after downloading or building it.
Signal a `todo-write-error' that names the remedy if that fails.  During
redisplay, in a timer and in a process filter, do not load it: signal
that error, and show the user a message with a button."
  (unless (featurep 'todo-write-dyn)
    (when (todo-write-module--busy-p)
      (todo-write-module--warn-missing "The module of todo-write is not loaded.")
      (todo-write-module--error
       "The module is not loaded.  The user gets it with M-x todo-write-setup"))
    (todo-write-module--load))
  (unless (equal todo-write-module--loaded-version todo-write-version)
    (todo-write-module--error
     "The loaded module is version %s, the Lisp files are %s; %srestart Emacs"
     (or todo-write-module--loaded-version "unknown") todo-write-version
     (if-let* ((file (todo-write-module-find))
               ((equal todo-write-version (todo-write-module-file-version file))))
         ""
       (concat (todo-write-module-remedy "todo-write-dyn") " and ")))))

(defun todo-write-module-renew (again)
  "Get and load the module, since the user asks for it.
If it is loaded and of another version than the Lisp files, or if AGAIN is
non-nil, replace its file, which counts from the next session on."
  (setq todo-write-module-declined nil)
  (when (or again (and (featurep 'todo-write-dyn)
                       (todo-write-module--unfit (todo-write-module-find))))
    (todo-write-module-get "todo-write-dyn" "The module of todo-write is to be replaced.")
    (when (featurep 'todo-write-dyn)
      (message "The module is installed; restart Emacs to use it")))
  (todo-write-module-load))

(defun todo-write-module--load ()
  "Load the module, after getting it if it is missing."
  (unless module-file-suffix
    (todo-write-module--error "This Emacs is built without support for modules"))
  (let* ((file (todo-write-module-find))
         (unfit (todo-write-module--unfit file)))
    (when unfit
      (todo-write-module-get "todo-write-dyn" unfit))
    (require 'todo-write-dyn (todo-write-module-find))))

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

;;; Getting

(defun todo-write-module--can-ask-p ()
  "Return non-nil if the user has called a command, and can answer a question."
  (and this-command
       (not (or noninteractive
                (todo-write-module--busy-p)
                (equal (terminal-name (frame-terminal)) "initial_terminal")))))

(defun todo-write-module--ways (name)
  "Return the ways to get NAME on this machine, an alist (WAY . QUESTION).
WAY is `download' or `build'."
  (append
   (when-let ((listed (todo-write-module--listed name)))
     `((download . ,(format "Download it from %s"
                            (nth 2 (split-string (car listed) "/"))))))
   (unless (todo-write-module--build-problem)
     '((build . "Build it now, with cargo")))))

(defun todo-write-module--choose (reason ways)
  "Return the way to use, a symbol in WAYS, or nil.
Obey `todo-write-module-source'.  A question begins with REASON.  Once
the user has declined all ways, do not ask again."
  (if (eq todo-write-module-source 'ask)
      (and ways (todo-write-module--can-ask-p) (not todo-write-module-declined)
           (let ((todo-write-module--asking t))
             (or (car (seq-find (lambda (way) (y-or-n-p (format "%s  %s? " reason (cdr way))))
                                ways))
                 (ignore (setq todo-write-module-declined t)))))
    (car (assq todo-write-module-source ways))))

(defun todo-write-module-get (name reason)
  "Download or build NAME, or signal an error that names the remedy.
REASON is a sentence that says why it is needed."
  (pcase (if (todo-write-module--process name) 'build
           (todo-write-module--choose reason (todo-write-module--ways name)))
    ('download (todo-write-module--download name))
    ('build (todo-write-module--build name))
    (_ (todo-write-module--error "%s  %s" reason (todo-write-module-remedy name)))))

(defun todo-write-module-remedy (name)
  "Return how the user can get NAME, a sentence without its period."
  (let ((ways (todo-write-module--ways name)))
    (cond
     ((not ways)
      (format-message
       "There is no download for %s, and it cannot be built here: %s.  Put a prebuilt %s into %s"
       (todo-write-module--machine) (todo-write-module--build-problem)
       (file-name-nondirectory (todo-write-module--installed name))
       (abbreviate-file-name (todo-write-module-folder))))
     (t (format "%s it with M-x todo-write-setup"
                (mapconcat (lambda (way) (capitalize (symbol-name (car way)))) ways " or "))))))

(defun todo-write-module--installed (name)
  "Return the name of the installed file of NAME."
  (expand-file-name (concat name (nth 2 (assoc name todo-write-module--products)))
                    (todo-write-module-folder)))

(defun todo-write-module--install (name write)
  "Install NAME by calling WRITE with the name of the file to write.
Leave no file behind if WRITE signals an error."
  (let ((file (todo-write-module--installed name)) (new nil))
    (unwind-protect
        (condition-case err
            (progn
              (make-directory (file-name-directory file) t)
              (setq new (make-temp-name (concat file ".")))
              (funcall write new)
              ;; Overwriting a loaded module would crash Emacs.
              (rename-file new file t))
          (file-error
           (todo-write-module--error "%s cannot be installed: %s; set todo-write-module-directory"
                                     name (error-message-string err))))
      (when (and new (file-exists-p new)) (delete-file new)))))

;;; Downloading

(defun todo-write-module--machine ()
  "Return the name that a release's files have for this machine."
  (let ((cpu (car (split-string system-configuration "-"))))
    (format "%s-%s"
            ;; A module for GNU libc does not load with another libc.
            (if (string-suffix-p "-linux-gnu" system-configuration) "linux" system-type)
            (if (equal cpu "arm64") "aarch64" cpu))))

(defun todo-write-module--listed (name)
  "Return the listed (ADDRESS . SHA-256) of NAME for this machine, or nil."
  (let ((list (todo-write-module--file "todo-write-modules.sha256"))
        (file (format "%s-%s%s" name (todo-write-module--machine)
                      (or (nth 2 (assoc name todo-write-module--products)) ""))))
    (when (file-readable-p list)
      (with-temp-buffer
        (insert-file-contents list)
        (when (re-search-forward
               (format "^\\([0-9a-f]\\{64\\}\\)  \\(http.*/%s\\)$" (regexp-quote file)) nil t)
          (cons (match-string 2) (match-string 1)))))))

(defun todo-write-module--download (name)
  "Download NAME and install it, or signal `todo-write-error'.
Its SHA-256 must be the one listed in the package."
  (pcase-let ((`(,address . ,sum)
               (or (todo-write-module--listed name)
                   (todo-write-module--error "This package lists no %s to download for %s"
                                             name (todo-write-module--machine)))))
    (message "Downloading %s" address)
    (with-temp-buffer
      (set-buffer-multibyte nil)
      (condition-case err
          (let ((coding-system-for-read 'no-conversion))
            (url-insert-file-contents address))
        (error (todo-write-module--error "%s cannot be downloaded: %s" address
                                         (error-message-string err))))
      (unless (equal sum (secure-hash 'sha256 (current-buffer)))
        (todo-write-module--error
         "%s is not the file that this package lists: its SHA-256 is wrong" address))
      (todo-write-module--install
       name (lambda (new)
              (let ((coding-system-for-write 'no-conversion))
                (write-region nil nil new nil 'silent))
              (set-file-modes new (default-file-modes)))))))

;;; Building

(defun todo-write-module--cargo ()
  "Return the file name of cargo, or nil.
Emacs started from a desktop may lack the folder of rustup in its path."
  (locate-file "cargo"
               (append exec-path
                       (list (expand-file-name "bin" (or (getenv "CARGO_HOME") "~/.cargo"))))
               exec-suffixes #'file-executable-p))

(defun todo-write-module--build-problem ()
  "Return why cargo cannot build here, part of a sentence, or nil.
Cargo itself says if Rust is too old."
  (cond
   ((not (todo-write-module-sources))
    "its Rust sources are not beside the Lisp files")
   ((not (todo-write-module--cargo))
    "cargo is missing; get Rust from https://rustup.rs")
   ((not (file-writable-p (todo-write-module-folder)))
    (format "%s cannot be written; set todo-write-module-directory"
            (abbreviate-file-name (todo-write-module-folder))))))

(defun todo-write-module--build (name)
  "Build NAME with cargo and install it, or signal `todo-write-error'."
  (when-let ((problem (todo-write-module--build-problem)))
    (todo-write-module--error "%s cannot be built: %s" name problem))
  (let ((process (or (todo-write-module--process name) (todo-write-module--start name))))
    (with-local-quit
      (while (process-live-p process)
        (accept-process-output process 0.2)
        (let ((message-log-max nil))
          (message "Building %s; see %s" name (todo-write-module--buffer name)))
        (redisplay)))
    (when (process-live-p process)
      (todo-write-module--error "%s is still being built; try again later" name))
    (unless (eql 0 (process-exit-status process))
      (todo-write-module--error
       "%s could not be built (%s); see the buffer %s" name
       (with-current-buffer (process-buffer process)
         (save-excursion
           (goto-char (point-min))
           (if (re-search-forward "^error.*" nil t)
               (match-string-no-properties 0)
             (format "status %s" (process-exit-status process)))))
       (todo-write-module--buffer name)))
    (todo-write-module--install
     name (lambda (new)
            (copy-file (concat (todo-write-module--target) "release/"
                               (nth 3 (assoc name todo-write-module--products)))
                       new)))))

(defun todo-write-module--buffer (name)
  "Return the name of the buffer with the build of NAME."
  (format "*%s build*" name))

(defun todo-write-module--process (name)
  "Return the process that builds NAME, or nil."
  (let ((process (get-buffer-process (todo-write-module--buffer name))))
    (and (process-live-p process) process)))

(defun todo-write-module--start (name)
  "Start to build NAME; return the process."
  (let* ((cargo (todo-write-module--cargo))
         (default-directory (todo-write-module-sources))
         (compilation-scroll-output t)
         (compilation-environment
          (list "CARGO_TERM_COLOR=never" "CARGO_TERM_PROGRESS_WHEN=never"
                (concat "CARGO_TARGET_DIR=" (todo-write-module--target))
                ;; Cargo finds the rustc in its own folder.
                (concat "PATH=" (file-name-directory cargo)
                        path-separator (getenv "PATH")))))
    (get-buffer-process
     (compilation-start
      (concat (shell-quote-argument cargo) " build --release --locked --package "
              (nth 1 (assoc name todo-write-module--products)))
      nil (lambda (_mode) (todo-write-module--buffer name))))))

(provide 'todo-write-module)
;;; todo-write-module.el ends here
