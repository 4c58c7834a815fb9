;;; todo-write-screen-e2e-tests.el --- What a terminal shows of a session  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An Emacs in a terminal follows a session that grows line by line.  No key is
;; pressed; the test reads the text on the screen.

;;; Code:

(require 'ert)
(require 'todo-write-screen-helper)
(require 'todo-write-user-helper)

(defvar todo-write-screen-e2e--server nil
  "The name of the server of tmux, whose only pane is the terminal.")

(defun todo-write-screen-e2e--tmux (&rest arguments)
  "Return what tmux writes to standard output for ARGUMENTS."
  (with-temp-buffer
    (let ((coding-system-for-read 'utf-8))
      (apply #'call-process "tmux" nil '(t nil) nil "-u" "-L" todo-write-screen-e2e--server
             arguments))
    (buffer-string)))

(defun todo-write-screen-e2e--wait (regexp)
  "Wait until the terminal shows REGEXP."
  (let (screen)
    (todo-write-test-wait
     (lambda ()
       (setq screen (todo-write-screen-e2e--tmux "capture-pane" "-p"))
       (string-match-p regexp screen))
     (lambda () (format "%s is not in\n%s" regexp screen)))))

(ert-deftest todo-write-screen-e2e-a-terminal-shows-each-line-of-a-followed-session ()
  (skip-unless (executable-find "tmux"))
  (let* ((file (make-temp-file "session" nil ".jsonl"))
         (todo-write-screen-e2e--server (file-name-base file))
         (todo-write-user-prefix
          (list "env" "LC_ALL=C.UTF-8" "tmux" "-u" "-L" todo-write-screen-e2e--server
                "-f" "/dev/null" "new-session" "--")))
    (unwind-protect
        (todo-write-user-call
         40 100
         (lambda ()
           (todo-write-screen-append file 'prompt 'list 'listed)
           (todo-write-user-eval
            '(require 'todo-write-mode-line)
            '(require 'todo-write-follow)
            '(todo-write-mode-line-mode)
            `(progn (switch-to-buffer (todo-write-show (todo-write-follow ,file)))
                    (delete-other-windows)
                    t))
           (pcase-dolist (`(,line . ,shown) todo-write-screen-lines)
             (ert-info ((symbol-name line))
               (todo-write-screen-append file line)
               (mapc #'todo-write-screen-e2e--wait shown)))
           (todo-write-screen-e2e--wait "\\[.*0/2.*\\]")))
      (todo-write-screen-e2e--tmux "kill-server")
      (delete-file file))))

(ert-deftest todo-write-screen-e2e-the-demonstration-waits-for-a-key-after-a-long-build ()
  (todo-write-user-call
   24 80
   (lambda ()
     (todo-write-user-eval
      '(require 'efrit-do-replay) '(setenv "BUILT" "11")
      '(load (expand-file-name "demo" (file-name-directory (efrit-do-replay-demo))) nil t)
      '(advice-add 'efrit-do-replay--schedule :filter-args (lambda (args) (list (car args) 0)))
      '(run-at-time 0 nil #'efrit-do-demo-live) ''begun)
     (let ((shown (lambda (regexp)
                    (todo-write-user-eval
                     `(with-current-buffer "*efrit-todos*"
                        (string-match-p ,regexp (buffer-string)))))))
       (todo-write-test-wait
        (lambda ()
          (todo-write-user-eval
           '(string-match-p "Press a key" (or (current-message) "")))))
       (todo-write-test-wait (lambda () (funcall shown "● Reading the login")))
       (process-send-string todo-write-user-process " ")
       (todo-write-test-wait (lambda () (funcall shown "waits for you")))))))

(provide 'todo-write-screen-e2e-tests)
;;; todo-write-screen-e2e-tests.el ends here
