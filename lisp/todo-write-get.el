;;; todo-write-get.el --- Download or build the module and the program  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A missing module is downloaded or built with cargo, after a question to a
;; user who has called a command; see `todo-write-module-source'.  The program
;; `todo-write-mcp' is installed in the same way.  Most sessions never load this.
;;
;; The package of a release has the file todo-write-modules.sha256: a line
;; for each file that can be downloaded, with its SHA-256 and its address.

;;; Code:

(require 'seq)
(require 'todo-write-module)
(eval-when-compile (require 'subr-x))

(defvar compilation-environment)
(defvar compilation-scroll-output)

(defconst todo-write-get--products
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

;;; How

(defun todo-write-get--can-ask-p ()
  "Return non-nil if the user has called a command, and can answer a question."
  (and this-command
       (not (or noninteractive
                (todo-write-module-busy-p)
                (equal (terminal-name (frame-terminal)) "initial_terminal")))))

(defun todo-write-get--ways (name)
  "Return the ways to get NAME, (WAY . QUESTION); WAY is `download' or `build'."
  (append
   (when-let ((listed (todo-write-get--listed name)))
     `((download . ,(format "Download it from %s"
                            (nth 2 (split-string (car listed) "/"))))))
   (unless (todo-write-get--build-problem)
     '((build . "Build it now, with cargo")))))

(defun todo-write-get-file (name reason)
  "Download or build NAME, or signal an error that names the remedy.
Obey `todo-write-module-source'.  A question begins with REASON, a sentence
that says why NAME is needed.  Once the user has declined all ways, do not
ask again."
  (let ((ways (todo-write-get--ways name)))
    (pcase (cond ((todo-write-get--process name) 'build)
                 ((not (eq todo-write-module-source 'ask))
                  (car (assq todo-write-module-source ways)))
                 ((and ways (todo-write-get--can-ask-p) (not todo-write-module-declined))
                  (let ((todo-write-module-asking t))
                    (or (car (seq-find (lambda (way)
                                         (y-or-n-p (format "%s  %s? " reason (cdr way))))
                                       ways))
                        (ignore (setq todo-write-module-declined t))))))
      ('download (todo-write-get--download name))
      ('build (todo-write-get--build name))
      (_ (todo-write-module-error "%s  %s" reason (todo-write-get-remedy name))))))

(defun todo-write-get-remedy (name)
  "Return how the user can get NAME, a sentence without its period."
  (if-let* ((ways (todo-write-get--ways name)))
      (format "%s it with M-x todo-write-setup"
              (mapconcat (lambda (way) (capitalize (symbol-name (car way)))) ways " or "))
    (format-message
     "There is no download for %s, and it cannot be built here: %s.  Put a prebuilt %s into %s"
     (todo-write-get--machine) (todo-write-get--build-problem)
     (file-name-nondirectory (todo-write-get--installed name))
     (abbreviate-file-name (todo-write-module-folder)))))

(defun todo-write-get--installed (name)
  "Return the name of the installed file of NAME."
  (expand-file-name (concat name (nth 2 (assoc name todo-write-get--products)))
                    (todo-write-module-folder)))

(defun todo-write-get--install (name write)
  "Install NAME by calling WRITE with the name of the file to write.
Leave no file behind if WRITE signals an error."
  (let ((file (todo-write-get--installed name)) (new nil))
    (unwind-protect
        (condition-case err
            (progn
              (make-directory (file-name-directory file) t)
              (setq new (make-temp-name (concat file ".")))
              (funcall write new)
              ;; Overwriting a loaded module would crash Emacs.
              (rename-file new file t))
          (file-error
           (todo-write-module-error "%s cannot be installed: %s; set todo-write-module-directory"
                                     name (error-message-string err))))
      (when (and new (file-exists-p new)) (delete-file new)))))

;;; Downloading

(defun todo-write-get--machine ()
  "Return the name that a release's files have for this machine."
  (let ((cpu (car (split-string system-configuration "-"))))
    (format "%s-%s"
            ;; A module for GNU libc does not load with another libc.
            (if (string-suffix-p "-linux-gnu" system-configuration) "linux" system-type)
            (if (equal cpu "arm64") "aarch64" cpu))))

(defun todo-write-get--listed (name)
  "Return the listed (ADDRESS . SHA-256) of NAME for this machine, or nil."
  (let ((list (todo-write-module-beside "todo-write-modules.sha256"))
        (file (format "%s-%s%s" name (todo-write-get--machine)
                      (or (nth 2 (assoc name todo-write-get--products)) ""))))
    (when (file-readable-p list)
      (with-temp-buffer
        (insert-file-contents list)
        (when (re-search-forward
               (format "^\\([0-9a-f]\\{64\\}\\)  \\(http.*/%s\\)$" (regexp-quote file)) nil t)
          (cons (match-string 2) (match-string 1)))))))

(defun todo-write-get--download (name)
  "Download NAME and install it, or signal `todo-write-error'.
Its SHA-256 must be the one listed in the package."
  (pcase-let ((`(,address . ,sum)
               (or (todo-write-get--listed name)
                   (todo-write-module-error "This package lists no %s to download for %s"
                                             name (todo-write-get--machine)))))
    (message "Downloading %s" address)
    (with-temp-buffer
      (set-buffer-multibyte nil)
      (condition-case err
          (let ((coding-system-for-read 'no-conversion))
            (url-insert-file-contents address))
        (error (todo-write-module-error "%s cannot be downloaded: %s" address
                                         (error-message-string err))))
      (unless (equal sum (secure-hash 'sha256 (current-buffer)))
        (todo-write-module-error
         "%s is not the file that this package lists: its SHA-256 is wrong" address))
      (todo-write-get--install
       name (lambda (new)
              (let ((coding-system-for-write 'no-conversion))
                (write-region nil nil new nil 'silent))
              (set-file-modes new (default-file-modes)))))))

;;; Building

(defun todo-write-get--sources ()
  "Return the folder of the sources of the module, or nil.
A package has the Lisp files beside the sources, a checkout below them."
  (seq-find (lambda (folder)
              (and (file-exists-p (expand-file-name "Cargo.toml" folder))
                   (file-exists-p (expand-file-name "src/lib.rs" folder))))
            (list (todo-write-module-beside "./") (todo-write-module-beside "../"))))

(defun todo-write-get--target ()
  "Return cargo's target folder."
  (file-name-as-directory
   (expand-file-name (or (getenv "CARGO_TARGET_DIR") "target") (todo-write-get--sources))))

(defun todo-write-get--cargo ()
  "Return the file name of cargo, or nil.
Emacs started from a desktop may lack the folder of rustup in its path."
  (locate-file "cargo"
               (append exec-path
                       (list (expand-file-name "bin" (or (getenv "CARGO_HOME") "~/.cargo"))))
               exec-suffixes #'file-executable-p))

(defun todo-write-get--build-problem ()
  "Return why cargo cannot build here, part of a sentence, or nil.
Cargo itself says if Rust is too old."
  (cond
   ((not (todo-write-get--sources))
    "its Rust sources are not beside the Lisp files")
   ((not (todo-write-get--cargo))
    "cargo is missing; get Rust from https://rustup.rs")
   ((not (file-writable-p (todo-write-module-folder)))
    (format "%s cannot be written; set todo-write-module-directory"
            (abbreviate-file-name (todo-write-module-folder))))))

(defun todo-write-get--build (name)
  "Build NAME with cargo and install it, or signal `todo-write-error'."
  (let ((process (or (todo-write-get--process name) (todo-write-get--start name))))
    (with-local-quit
      (while (process-live-p process)
        (accept-process-output process 0.2)
        (let ((message-log-max nil))
          (message "Building %s; see %s" name (todo-write-get--buffer name)))
        (redisplay)))
    (when (process-live-p process)
      (todo-write-module-error "%s is still being built; try again later" name))
    (unless (eql 0 (process-exit-status process))
      (todo-write-module-error
       "%s could not be built (%s); see the buffer %s" name
       (with-current-buffer (process-buffer process)
         (save-excursion
           (goto-char (point-min))
           (if (re-search-forward "^error.*" nil t)
               (match-string-no-properties 0)
             (format "status %s" (process-exit-status process)))))
       (todo-write-get--buffer name)))
    (todo-write-get--install
     name (lambda (new)
            (copy-file (concat (todo-write-get--target) "release/"
                               (nth 3 (assoc name todo-write-get--products)))
                       new)))))

(defun todo-write-get--buffer (name)
  "Return the name of the buffer with the build of NAME."
  (format "*%s build*" name))

(defun todo-write-get--process (name)
  "Return the process that builds NAME, or nil."
  (let ((process (get-buffer-process (todo-write-get--buffer name))))
    (and (process-live-p process) process)))

(defun todo-write-get--start (name)
  "Start to build NAME; return the process."
  (let* ((cargo (todo-write-get--cargo))
         (default-directory (todo-write-get--sources))
         (compilation-scroll-output t)
         (compilation-environment
          (list "CARGO_TERM_COLOR=never" "CARGO_TERM_PROGRESS_WHEN=never"
                (concat "CARGO_TARGET_DIR=" (todo-write-get--target))
                ;; Cargo finds the rustc in its own folder.
                (concat "PATH=" (file-name-directory cargo)
                        path-separator (getenv "PATH")))))
    (get-buffer-process
     (compilation-start
      (concat (shell-quote-argument cargo) " build --release --locked --package "
              (nth 1 (assoc name todo-write-get--products)))
      nil (lambda (_mode) (todo-write-get--buffer name))))))

(provide 'todo-write-get)
;;; todo-write-get.el ends here
