;;; todo-write-module-tests.el --- Tests of loading the module  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Loading of the module, and the messages if it fails.  Each test starts an
;; Emacs with a copy of the Lisp files, which it may damage.
;; todo-write-install-e2e-tests.el tests the build.

;;; Code:

(require 'ert)
(require 'todo-write-copy-helper)
(require 'todo-write-test-helper)
(require 'todo-write-user-helper)

(ert-deftest todo-write-module-is-loaded-by-the-first-call ()
  (should (equal (todo-write-test-child
                  '(prin1 (list (featurep 'todo-write-dyn)
                                (progn (todo-write-current-thread)
                                       (featurep 'todo-write-dyn))
                                (todo-write-state "a")
                                (featurep 'todo-write-dyn))))
                 '(nil nil empty t))))

(defmacro todo-write-module-tests--as-user (&rest body)
  "Evaluate BODY while a user's Emacs with a copy of the package runs.
It records the depth of the deepest minibuffer."
  (declare (indent 0) (debug t))
  `(todo-write-copy-with
     (todo-write-copy-put-sources)
     (let ((load-path (cons todo-write-copy-folder load-path)))
       (todo-write-user-call
        24 80
        (lambda ()
          (todo-write-user-eval
           '(progn (require 'todo-write-list)
                   (require 'todo-write-mode-line)
                   (defvar deepest 0)
                   (add-hook 'minibuffer-setup-hook
                             (lambda () (setq deepest (max deepest (minibuffer-depth)))))))
          ,@body)))))

(defun todo-write-module-tests--wait-for-prompt (regexp)
  "Wait until the user's Emacs asks a question that matches REGEXP."
  (todo-write-test-wait
   (lambda ()
     (string-match-p regexp (todo-write-user-eval
                             '(or (and (active-minibuffer-window)
                                       (with-current-buffer (window-buffer (minibuffer-window))
                                         (buffer-string)))
                                  ""))))))

(ert-deftest todo-write-module-missing-makes-a-command-ask-once ()
  (todo-write-module-tests--as-user
    (dolist (command '("todo-write-list" "todo-write-show"))
      (todo-write-user-eval '(setq todo-write-module-declined nil deepest 0))
      (todo-write-user-type (format "\ex%s\r" command))
      (todo-write-module-tests--wait-for-prompt "Build it now")
      (should (equal 1 (todo-write-user-eval 'deepest)))
      (todo-write-user-type "n")
      (todo-write-test-wait
       (lambda () (todo-write-user-eval '(not (active-minibuffer-window)))))
      (should (equal '(1 nil nil)
                     (todo-write-user-eval
                      '(progn (redisplay t)
                              (list deepest (get-buffer "*todo-write-list*")
                                    (get-buffer "*efrit-todos*")))))))))

(ert-deftest todo-write-module-missing-shows-one-message-with-a-button ()
  (todo-write-module-tests--as-user
    ;; As in the init file, no command runs.
    (todo-write-user-eval '(progn (require 'todo-write-notify)
                                  (todo-write-mode-line-mode) (todo-write-notify-mode) nil))
    (todo-write-test-wait
     (lambda () (todo-write-user-eval '(and (get-buffer-window "*Warnings*") t))))
    (todo-write-user-eval
     '(progn (defvar heard nil)
             (run-at-time 0 nil (lambda ()
                                  (condition-case err (todo-write "a" "{\"todos\":[]}")
                                    (todo-write-error (setq heard (cadr err))))))))
    (todo-write-test-wait (lambda () (todo-write-user-eval 'heard)))
    (should (string-match-p "\\`The module is not loaded.*M-x todo-write-setup\\'"
                            (todo-write-user-eval 'heard)))
    (should (equal '(0 1)
                   (todo-write-user-eval
                    '(with-current-buffer "*Warnings*"
                       (list deepest (how-many "Get the module" (point-min) (point-max)))))))
    (todo-write-user-eval
     '(progn (select-window (get-buffer-window "*Warnings*"))
             (goto-char (point-min))
             (search-forward "[Get")
             nil))
    (todo-write-user-type "\r")
    (todo-write-module-tests--wait-for-prompt "Build it now")))

(ert-deftest todo-write-module-missing-lets-the-follower-wait-for-it ()
  (todo-write-module-tests--as-user
    (todo-write-user-eval
     '(require 'todo-write-follow)
     '(defvar ticks 0)
     '(setq todo-write-follow-interval 0.05)
     '(run-at-time 0.05 0.05 (lambda () (setq ticks (1+ ticks))))
     '(todo-write-agents-mode)
     nil)
    (todo-write-test-wait (lambda () (todo-write-user-eval '(> ticks 20))))
    (should (equal '(t nil)
                   (todo-write-user-eval
                    '(with-current-buffer (messages-buffer)
                       (goto-char (point-min))
                       (list todo-write-agents-mode
                             (and (re-search-forward "^Error.*" nil t) (match-string 0)))))))
    (todo-write-copy-put-module todo-write-copy-folder)
    (todo-write-user-type "\extodo-write-list\r")
    (todo-write-test-wait
     (lambda () (todo-write-user-eval '(and (bound-and-true-p todo-write-hub-process) t))))))

(ert-deftest todo-write-module-is-not-loaded-in-timers-filters-and-redisplay ()
  (todo-write-module-tests--as-user
    (todo-write-copy-put-module todo-write-copy-folder)
    (todo-write-user-eval
     '(defun call ()
        (setq heard (condition-case err (symbol-name (todo-write-state "a"))
                      (todo-write-error (cadr err))))
        "")
     nil)
    (pcase-dolist (`(,place ,form)
                   '((timer (run-at-time 0 nil #'call))
                     (filter (make-process :name "a" :command '("echo" "a")
                                           :filter (lambda (&rest _) (call))))
                     (redisplay (progn (setq-default mode-line-format '(:eval (call)))
                                       (redisplay t)))))
      (ert-info ((symbol-name place))
        (todo-write-user-eval '(defvar heard) '(setq heard nil) form nil)
        (todo-write-test-wait (lambda () (todo-write-user-eval 'heard)))
        (should (equal '("The module is not loaded." nil 0)
                       (todo-write-user-eval
                        '(list (car (split-string heard "  ")) (featurep 'todo-write-dyn)
                               deepest))))))))

(defun todo-write-module-tests--wanting (forms)
  "Return what each of FORMS did in another Emacs, in which the module cannot be loaded.
That is `wanted', if it tried to, or `done', or the error of a function
that is not defined."
  (todo-write-test-child
   '(require 'todo-write-core)
   '(defvar wanted nil)
   '(setq todo-write-directory nil)
   '(fset 'todo-write-module--load (lambda () (setq wanted 'wanted) (error "Wanted")))
   `(prin1 (mapcar (lambda (form)
                     (setq wanted 'done)
                     (let ((noninteractive nil) (inhibit-interaction t) (inhibit-message t))
                       (condition-case err (eval form t)
                         (void-function (setq wanted err))
                         (error (when (equal "Wanted" (cadr err)) (setq wanted 'wanted)))))
                     wanted)
                   ',forms))))

(ert-deftest todo-write-module-every-first-call-and-each-mode-loads-it ()
  (let ((forms '((todo-write "a" "{\"todos\":[]}") (todo-write-items "a")
                 (todo-write-diff nil nil) (todo-write-apply-changes nil nil)
                 (todo-write-token-context nil nil) (todo-write-threads)
                 (todo-write-to-json (list :ok t)) (todo-write-undo "a")
                 (todo-write-observations "a") (todo-write-prune)
                 (todo-write-stream "a" :type "TOKEN" :data "b")
                 (todo-write-mode-line-mode) (todo-write-notify-mode) (todo-write-auto-show-mode)
                 (todo-write-agents-mode) (todo-write-agent-shell-mode) (todo-write-eca-mode)
                 (todo-write-efrit-mode) (todo-write-gptel-register))))
    (should-not
     (seq-remove (lambda (done) (eq 'wanted (cdr done)))
                 (cl-mapcar #'cons forms
                            (cdr (todo-write-module-tests--wanting
                                  (cons '(mapc #'require
                                               '(todo-write-mode-line todo-write-notify
                                                 todo-write-view todo-write-agents
                                                 todo-write-agent-shell todo-write-eca
                                                 todo-write-efrit todo-write-gptel))
                                        forms))))))))

(defun todo-write-module-tests--commands ()
  "Return (COMMAND . LIBRARY) of each command of todo-write that is autoloaded."
  (let (commands)
    (dolist (file (directory-files (file-name-directory (locate-library "todo-write")) t
                                   "\\`todo-write.*\\.el\\'"))
      (with-temp-buffer
        (insert-file-contents file)
        (while (re-search-forward "^;;;###autoload\n(\\(?:defun\\|define-minor-mode\\) \\([^ ]+\\)" nil t)
          (push (cons (intern (match-string 1)) (intern (file-name-base file))) commands))))
    commands))

(ert-deftest todo-write-module-no-command-needs-another-call-before-it ()
  (let ((commands (todo-write-module-tests--commands)))
    (should (assq 'todo-write-show commands))
    (should-not
     (seq-difference
      (todo-write-module-tests--wanting
       (mapcar (pcase-lambda (`(,command . ,library))
                 `(progn (require ',library)
                         (when (commandp ',command) (call-interactively ',command))))
               ;; It waits.
               (assq-delete-all 'todo-write-follow commands)))
      '(wanted done)))))

(ert-deftest todo-write-module-missing-says-how-to-get-it ()
  (todo-write-copy-with
    (let ((text (todo-write-copy-emacs '(todo-write-state "a"))))
      (should (string-match-p
               "is missing.*its Rust sources are not beside the Lisp files.*\\.  Put a prebuilt" text))
      (should-not (string-match-p "\\bOr\\b" text)))
    (todo-write-copy-put-sources)
    (should (string-match-p
             "is missing.  Build it with M-x todo-write-setup"
             (todo-write-copy-emacs '(todo-write-state "a"))))))

(ert-deftest todo-write-module-without-cargo-says-what-to-get ()
  (todo-write-copy-with
    (todo-write-copy-put-sources)
    (should (string-match-p
             "cargo is missing; get Rust from https://rustup.rs"
             (todo-write-copy-emacs
              '(setenv "CARGO_HOME" "/nowhere")
              '(setq exec-path nil)
              '(todo-write-state "a"))))))

(ert-deftest todo-write-module-of-another-version-is-not-loaded ()
  (todo-write-copy-with
    (let ((file (todo-write-copy-put-module todo-write-copy-folder "9.9.9")))
      ;; It is older than the Lisp files, as after an upgrade.
      (set-file-times file 0)
      (should (equal (todo-write-module-file-version file) "9.9.9"))
      (pcase-let ((`(,text ,loaded)
                   (todo-write-copy-emacs
                    '(list (condition-case err (todo-write-state "a")
                             (error (error-message-string err)))
                           (featurep 'todo-write-dyn)))))
        (should (string-match-p "is version 9.9.9, the Lisp files are" text))
        (should-not loaded)))))

(ert-deftest todo-write-module-loaded-before-an-upgrade-needs-a-restart ()
  (todo-write-copy-with
    (todo-write-copy-put-module todo-write-copy-folder)
    (delete-file (concat todo-write-copy-folder "todo-write-module.elc"))
    (let ((lisp (concat todo-write-copy-folder "todo-write-module.el")))
      (pcase-let ((`(,before ,after)
                   (todo-write-copy-emacs
                    '(list (todo-write-state "a")
                           (progn
                             (with-temp-file (locate-library "todo-write-module.el")
                               (insert-file-contents (locate-library "todo-write-module.el"))
                               (re-search-forward "defconst todo-write-version \"\\([^\"]+\\)")
                               (replace-match "9.9.9" t t nil 1))
                             (load "todo-write-module" nil t)
                             (load "todo-write-core" nil t)
                             (condition-case err (todo-write-state "a")
                               (error (error-message-string err))))))))
        (should (eq before 'empty))
        (should (file-exists-p lisp))
        (should (string-match-p "the Lisp files are 9.9.9; .*restart Emacs" after))))))

(ert-deftest todo-write-module-directory-may-hold-a-prebuilt-one ()
  (todo-write-copy-with
    (todo-write-copy-put-module (concat todo-write-copy-folder "prebuilt"))
    (should (eq 'empty
                (todo-write-copy-emacs
                 `(setq todo-write-module-directory
                        ,(concat todo-write-copy-folder "prebuilt"))
                 '(todo-write-state "a"))))))

(ert-deftest todo-write-module-sources-are-found-through-links ()
  (todo-write-copy-with
    (todo-write-copy-put-sources)
    (let ((links (make-temp-file "todo-write-links" t)))
      (unwind-protect
          (progn
            (dolist (file (directory-files todo-write-copy-folder t "\\.el\\'"))
              (make-symbolic-link
               file (expand-file-name (file-name-nondirectory file) links)))
            (should (equal (todo-write-copy-emacs
                            `(push ,links load-path)
                            '(load "todo-write-module" nil t)
                            '(require 'todo-write-get)
                            '(list (todo-write-get--sources)
                                   (todo-write-module-folder)
                                   todo-write-module-lisp))
                           (list (file-truename todo-write-copy-folder)
                                 (file-truename todo-write-copy-folder)
                                 (file-name-as-directory links)))))
        (delete-directory links t)))))

(ert-deftest todo-write-module-and-all-files-have-one-version ()
  (let ((root (getenv "TODO_WRITE_ROOT")))
    (pcase-dolist (`(,file ,regexp)
                   '(("Cargo.toml" "^version = \"\\([^\"]+\\)\"")
                     ("Cargo.lock" "^name = \"todo-write\"\nversion = \"\\([^\"]+\\)\"")
                     ("lisp/todo-write.el" "^;; Version: \\(.+\\)$")
                     ("CHANGELOG.org" "^\\* \\([0-9.]+\\)")))
      (with-temp-buffer
        (insert-file-contents (expand-file-name file root))
        (should (re-search-forward regexp nil t))
        (should (equal (cons file (match-string 1))
                       (cons file todo-write-version))))))
  (should (equal (todo-write-module-file-version (todo-write-copy-module))
                 todo-write-version))
  (should (equal todo-write-module--loaded-version todo-write-version)))

(ert-deftest todo-write-module-a-program-of-an-earlier-version-is-replaced ()
  (let* ((folder (make-temp-file "module" t))
         (todo-write-module-directory folder)
         (todo-write-mcp-program nil)
         (file (expand-file-name "todo-write-mcp" folder))
         reasons)
    (unwind-protect
        (cl-letf (((symbol-function 'todo-write-get-file)
                   (lambda (_ reason) (push reason reasons))))
          (dolist (version (list todo-write-version "0.0.1"))
            (write-region (format "todo-write-mcp version %s;" version) nil file)
            (set-file-modes file #o700)
            (set-file-times file 0)
            (should (equal file (todo-write-module-program))))
          (should (equal reasons (list (concat "The program todo-write-mcp is version 0.0.1, "
                                               "the Lisp files are " todo-write-version ".")))))
      (delete-directory folder t))))

(provide 'todo-write-module-tests)
;;; todo-write-module-tests.el ends here
