;;; todo-write-install-helper.el --- Install the package in an empty home  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Tries ways to install the package, each in an empty home: an Emacs in a
;; terminal, with a user's init file, asks whether to download or to build the
;; module.  The answer is y, and the module answers a call of `todo_write'.  A
;; second Emacs must not ask again.
;;
;; Packages with the module, and those of a release, need no Rust.  Without Rust,
;; the other ways must say what is missing.

;;; Code:

(require 'todo-write-get)
(require 'todo-write-tls-helper)
(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'todo-write-module)

(defconst todo-write-install-root
  (expand-file-name "../.." (file-name-directory (or load-file-name buffer-file-name)))
  "The repository.")

(defconst todo-write-install-release-file
  (format "todo-write-dyn-%s%s" (todo-write-get--machine) module-file-suffix)
  "Name of the module in a release.")

(cl-defstruct (todo-write-install-way
               (:constructor todo-write-install-way
                             (name &key elsewhere shell once init built)))
  "A way to install the package.
NAME is a title, SHELL a list of shell commands, ONCE a form for the
first session, INIT the text of the init file.  BUILT is non-nil if the
module exists before the first session.  In all of them, ~ is an empty
home.
ELSEWHERE is a list of shell commands for a machine that has Rust; if it
is non-nil, the rest of the way is tried without Rust."
  name elsewhere shell once init built)

(defconst todo-write-install-ways
  (list
   (todo-write-install-way
    "A checkout" :built t
    :shell '("git clone --quiet https://example.org/todo-write ~/src/todo-write"
             "make --no-print-directory -C ~/src/todo-write build")
    :init "(load \"~/src/todo-write/lisp/todo-write-autoloads\" nil t)
(load \"~/src/todo-write/efrit-do/efrit-do-autoloads\" nil t)")
   (todo-write-install-way
    "A checkout, without make"
    :shell '("git clone --quiet https://example.org/todo-write ~/src/todo-write")
    :init "(add-to-list 'load-path \"~/src/todo-write/lisp\")
(require 'todo-write-view)")
   (todo-write-install-way
    "make install" :built t
    :shell '("git clone --quiet https://example.org/todo-write ~/src/todo-write"
             "make --no-print-directory -C ~/src/todo-write install")
    :init "(load \"~/.emacs.d/site-lisp/todo-write/todo-write-autoloads\" nil t)
(load \"~/.emacs.d/site-lisp/efrit-do/efrit-do-autoloads\" nil t)")
   (todo-write-install-way
    "package-install-file"
    :shell '("git clone --quiet https://example.org/todo-write ~/src/todo-write"
             "DIST=~ ~/src/todo-write/bin/package")
    :once '(progn (package-install-file "~/todo-write-0.3.0.tar")
                  (package-install-file "~/efrit-do-0.3.0.tar"))
    :init "")
   (todo-write-install-way
    "A package with the module" :built t
    :elsewhere '("git clone --quiet https://example.org/todo-write ~/src/todo-write"
                 "make --no-print-directory -C ~/src/todo-write package MODULE=1 DIST=$HOME"
                 "rm -r ~/src")
    :once '(progn (mapc #'package-install-file (file-expand-wildcards "~/todo-write-0.3.0-*.tar"))
                  (package-install-file "~/efrit-do-0.3.0.tar"))
    :init "")
   (todo-write-install-way
    "The package of a release"
    :elsewhere (list "git clone --quiet https://example.org/todo-write ~/src/todo-write"
                     "make --no-print-directory -C ~/src/todo-write build"
                     (concat "mkdir -p $SERVED && cp ~/src/todo-write/lisp/todo-write-dyn.* $SERVED/"
                             todo-write-install-release-file)
                     "make --no-print-directory -C ~/src/todo-write package RELEASE=$SERVED ADDRESS=$SERVER DIST=$HOME"
                     "rm -r ~/src")
    :once '(progn (package-install-file "~/todo-write-0.3.0.tar")
                  (package-install-file "~/efrit-do-0.3.0.tar"))
    :init "")
   (todo-write-install-way
    "package-vc-install"
    :once '(progn (package-vc-install
                   '(todo-write :url "https://example.org/todo-write" :lisp-dir "lisp"))
                  (package-vc-install
                   '(efrit-do :url "https://example.org/todo-write" :lisp-dir "efrit-do")))
    :init "")
   (todo-write-install-way
    "use-package :vc"
    :init "(use-package todo-write
  :vc (:url \"https://example.org/todo-write\" :lisp-dir \"lisp\" :rev :newest))"))
  "The ways to install the package.")

(defun todo-write-install-way-named (name)
  "Return the way NAME to install the package."
  (seq-find (lambda (way) (equal name (todo-write-install-way-name way)))
            todo-write-install-ways))

;;; The machine

(defvar todo-write-install-emacs (expand-file-name invocation-name invocation-directory)
  "The Emacs to try.")

(defvar todo-write-install-server nil
  "Address of the server of a release's files, or nil.")

(defvar todo-write-install-authority nil
  "File of the certificate of the server's authority, or nil.")

(defvar todo-write-install-rust t
  "Non-nil if the commands and sessions can find Rust.")

(defun todo-write-install--without-rust (home)
  "Return environment variables that hide Rust, for processes with the home HOME."
  (let ((rust (lambda (folder) (file-exists-p (expand-file-name "cargo" folder)))))
    (dolist (folder (seq-filter rust (exec-path)))
      (let ((links (expand-file-name (concat "path/" folder) home)))
        (unless (file-exists-p links)
          (make-directory links t)
          (dolist (program (directory-files folder t "\\`[^.]"))
            (unless (string-match-p "\\`\\(?:cargo\\|rust\\)" (file-name-nondirectory program))
              (make-symbolic-link program (file-name-as-directory links)))))))
    (list (concat "CARGO_HOME=" home "/path")
          (concat "PATH="
                  (mapconcat (lambda (folder)
                               (if (funcall rust folder) (concat home "/path/" folder) folder))
                             (parse-colon-path (getenv "PATH")) path-separator)))))

(defun todo-write-install--environment (home)
  "Return the environment of processes with the home folder HOME.
Cargo uses its existing downloads and builds, and does not optimize."
  (let ((kept (lambda (variable folder)
                (concat variable "=" (or (getenv variable) (expand-file-name folder))))))
    (append (unless todo-write-install-rust (todo-write-install--without-rust home))
            (list (concat "HOME=" home)
                  (funcall kept "CARGO_HOME" "~/.cargo")
                  (funcall kept "RUSTUP_HOME" "~/.rustup")
                  ;; The same for all homes and versions of Emacs: the crates are built once.
                  (concat "CARGO_TARGET_DIR="
                          (expand-file-name "target/install" todo-write-install-root))
                  "CARGO_PROFILE_RELEASE_LTO=off" "CARGO_PROFILE_RELEASE_OPT_LEVEL=0"
                  "CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16" "CARGO_INCREMENTAL=1"
                  (concat "EMACS=" todo-write-install-emacs)
                  (concat "SERVER=" todo-write-install-server)
                  (format "SERVED=%s/releases/download/v0.3.0" (expand-file-name "served" home))
                  "GIT_CONFIG_NOSYSTEM=1" "TERM=xterm" "XDG_CONFIG_HOME")
            process-environment)))

(defun todo-write-install--shell (home command)
  "Run the shell COMMAND in HOME; return its output, or signal an error."
  (with-temp-buffer
    (let* ((process-environment (todo-write-install--environment home))
           (default-directory (file-name-as-directory home))
           (status (call-process "sh" nil t nil "-c" command)))
      (unless (eql status 0)
        (error "%s ended with %s: %s" command status (buffer-string)))
      (string-trim-right (buffer-string)))))

;;; The home

(defun todo-write-install--home ()
  "Make an empty home for a way; return its name.
It is always the same, because rustc builds incrementally only in one folder."
  (let ((home (expand-file-name "todo-write-home" (file-truename temporary-file-directory))))
    (make-directory home)
    home))

(defun todo-write-install--repository (home)
  "Make a repository of the current files that replaces the one on GitHub in HOME."
  (make-directory (expand-file-name ".emacs.d" home))
  (with-temp-file (expand-file-name ".emacs.d/early-init.el" home)
    (insert "(setq native-comp-jit-compilation nil native-comp-deferred-compilation nil\n      package-archives nil)\n"))
  ;; Without it, package.el makes ~/.emacs, which Emacs reads in its place.
  (write-region "" nil (expand-file-name ".emacs.d/init.el" home) nil 'silent)
  (with-temp-file (expand-file-name ".gitconfig" home)
    ;; In a container the files may be another user's.
    (insert "[safe]\n\tdirectory = *\n")
    ;; The init files are those of users, and need no network.
    (insert (format "[url %S]\n\tinsteadOf = %S\n" (concat "file://" home "/github/todo-write")
                    "https://example.org/todo-write")))
  (let ((tree (shell-quote-argument todo-write-install-root)))
    (todo-write-install--shell
     home
     (format "mkdir work && (cd %s && git ls-files -z --cached --others --exclude-standard |
xargs -0 sh -c 'for f; do test -e \"$f\" && printf \"%%s\\n\" \"$f\"; done' sh |
tar cf - -T -) | tar xf - -C work && cd work && git init --quiet && git add --all &&
git -c user.name=A -c user.email=a@example.org commit --quiet --message Now &&
mkdir ../github && git clone --quiet --bare . ../github/todo-write &&
ln -s todo-write ../github/todo-write.git && cd .. && rm -rf work" tree))))

;;; Sessions

(defconst todo-write-install--call
  '(progn
     (require 'todo-write)
     (let ((outcome (todo-write "trial" "{\"todos\": [
{\"content\": \"Read the code\", \"status\": \"completed\", \"activeForm\": \"Reading\"},
{\"content\": \"Change it\", \"status\": \"in_progress\", \"activeForm\": \"Changing it\"}]}")))
       (todo-write-show "trial")
       (list :result (plist-get outcome :result)
             :commands (seq-filter #'commandp '(todo-write-gptel-mode efrit-do))
             :plan (with-current-buffer "*efrit-todos*"
                     (buffer-substring-no-properties (point-min) (point-max)))
             :module (todo-write-module-find)
             :cargo (and (get-buffer "*todo-write-dyn build*")
                         (with-current-buffer "*todo-write-dyn build*"
                           (buffer-substring-no-properties (point-min) (point-max)))))))
  "Form that makes a call of `todo_write' and returns its effects.")

(defun todo-write-install--driver (home form)
  "Write a file that makes an Emacs in HOME evaluate FORM; return its name.
The value, or the error, goes to the file ~/value."
  (let ((file (expand-file-name "driver.el" home)))
    (with-temp-file file
      (prin1 `(add-hook
               'emacs-startup-hook
               (lambda ()
                 (run-at-time
                  0 nil
                  (lambda ()
                    (let* (;; As in a command: a timer neither asks nor gets the module.
                           (inhibit-quit nil) (this-command 'todo-write-show)
                           (value (condition-case err ,form
                                    (error (list :error (error-message-string err)))))
                           (print-escape-newlines t))
                      (write-region
                       (prin1-to-string
                        (append value
                                (list :messages (with-current-buffer "*Messages*"
                                                  (buffer-substring-no-properties
                                                   (point-min) (point-max))))))
                       nil "~/value")
                      (let ((confirm-kill-processes nil)) (kill-emacs))))))
               t)
             (current-buffer)))
    file))

(defconst todo-write-install--y-or-n
  (let ((colors "\\(?:\e\\[[0-9;]*m\\)*"))
    (concat "(" colors "y" colors " or " colors "n" colors ")"))
  "Regexp for the end of a question on a terminal.")

(defun todo-write-install--session (home form)
  "Evaluate FORM in an Emacs in a terminal with the home HOME; return the value.
The answer to each of its questions is y."
  (ignore-errors (delete-file (expand-file-name "value" home)))
  (let* ((process-environment (todo-write-install--environment home))
         (answered 0) (seen "")
         (process
          (make-process
           :name "try" :connection-type 'pty :noquery t :coding 'utf-8
           :command (list todo-write-install-emacs "-nw" "--no-site-file" "--load"
                          (todo-write-install--driver home form))
           :filter (lambda (process text)
                     (setq seen (concat seen text))
                     (while (string-match todo-write-install--y-or-n seen answered)
                       (setq answered (match-end 0))
                       (process-send-string process "y")))
           :sentinel #'ignore))
         (deadline (+ (float-time) (string-to-number (or (getenv "DEADLINE") "540")))))
    (set-process-window-size process 40 110)
    (unwind-protect
        (while (process-live-p process)
          (accept-process-output process 0.1)
          (when (> (float-time) deadline)
            (error "Emacs hangs: %s" (substring seen (max 0 (- (length seen) 3000))))))
      (delete-process process))
    (with-temp-buffer
      (condition-case nil
          (insert-file-contents (expand-file-name "value" home))
        (error (error "Emacs ended with %s: %s" (process-exit-status process)
                      (substring seen (max 0 (- (length seen) 3000))))))
      (goto-char (point-min))
      (read (current-buffer)))))

;;; Trying a way

(defun todo-write-install--write-init (way home)
  "Append the init file of WAY to that in HOME, which shell commands may have made."
  (let ((file (expand-file-name ".emacs.d/init.el" home)))
    (make-directory (file-name-directory file) t)
    (append-to-file (concat (format "(setq gnutls-trustfiles '(%S))\n" todo-write-install-authority)
                            (todo-write-install-way-init way) "\n")
                    nil file)))

(defun todo-write-install-try (way &optional without-rust)
  "Install the package by WAY in an empty home; return the results.
WITHOUT-RUST non-nil hides Rust.  The value is a plist: :elsewhere and
:shell, lists of (COMMAND . OUTPUT); :once, :first and :second, the
values of the sessions; :home."
  (let* ((home (todo-write-install--home))
         (served (expand-file-name "served/" home))
         (serving (progn (make-directory served) (todo-write-tls-serve served "-WWW")))
         (todo-write-install-server (format "https://127.0.0.1:%d" (nth 1 serving)))
         (todo-write-install-authority (nth 2 serving))
         (run (lambda (command)
                (cons command (todo-write-install--shell home command)))))
    (unwind-protect
        (progn
          (todo-write-install--repository home)
          (let* ((elsewhere (mapcar run (todo-write-install-way-elsewhere way)))
                 (todo-write-install-rust (not (or without-rust elsewhere)))
                 (shell (mapcar run (todo-write-install-way-shell way)))
                 (once (when-let ((form (todo-write-install-way-once way)))
                         (todo-write-install--session home `(progn ,form nil)))))
            (todo-write-install--write-init way home)
            (list :home home :elsewhere elsewhere :shell shell :once once
                  :first (todo-write-install--session home todo-write-install--call)
                  :second (todo-write-install--session home todo-write-install--call))))
      (delete-process (car serving))
      (delete-directory home t))))

(defun todo-write-install-without-rust (way)
  "Return the error of WAY, which needs Rust, on a machine without it, or nil."
  (condition-case err
      (plist-get (plist-get (todo-write-install-try way t) :first) :error)
    (error (error-message-string err))))

(defun todo-write-install-question (session)
  "Return the question that SESSION asked about the module, or nil."
  (let ((messages (or (plist-get session :messages) "")))
    (and (string-match "^The module of todo-write.*(y or n) y$" messages)
         (match-string 0 messages))))

(provide 'todo-write-install-helper)
;;; todo-write-install-helper.el ends here
