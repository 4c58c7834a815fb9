;;; todo-write-fuzz-socket-e2e-tests.el --- Type while programs send much  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The user types into an Emacs in a terminal, and waits for the echo of each key, while
;; another process sends the messages of fuzz/fuzz-socket-cases.el.  A filter or a timer
;; cannot hide a block from that.  TODO_WRITE_SEED, a number, makes other messages.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-socket-helper)
(require 'todo-write-test-helper)
(require 'todo-write-user-helper)

(defun todo-write-fuzz-socket-tests--sender (socket project)
  "Start the process that sends cases of agents in PROJECT to SOCKET; return it."
  (make-process
   :name "sender" :connection-type 'pipe :noquery t :buffer (generate-new-buffer " *sender*" t)
   ;; A batch Emacs would be killed by a connection that is closed.
   :command `("sh" "-c" "trap '' PIPE; exec \"$0\" \"$@\""
              ,(expand-file-name invocation-name invocation-directory) "-Q" "--batch"
              "-l" ,(todo-write-test-file "test/lisp/fuzz/fuzz-socket-cases.el")
              "-f" "fuzz-socket-cases-run" ,socket ,project)))

(defun todo-write-fuzz-socket-tests--run (&rest kinds)
  "Let a process send the cases of KINDS while the user types."
  (let* ((todo-write-test-deadline 120)
         (socket (todo-write-socket-test-file))
         (project (make-temp-file "project" t))
         (sender (todo-write-fuzz-socket-tests--sender socket project))
         (seed (or (getenv "TODO_WRITE_SEED") "5")))
    (unwind-protect
        (todo-write-user-call
         40 100
         (lambda ()
           (todo-write-user-eval
            '(require 'todo-write-agents) '(require 'todo-write-mode-line)
            `(setq todo-write-socket ,socket)
            '(todo-write "claude:lists" '(:todos [(:content "Rake" :status "in_progress")]))
            '(todo-write-agents-mode) '(todo-write-mode-line-mode)
            '(save-selected-window (todo-write-show "claude:lists"))
            '(fundamental-mode))
           (todo-write-test-wait (lambda () (file-exists-p socket)))
           (dolist (kind kinds)
             (ert-info ((format "%s, TODO_WRITE_SEED=%s" kind seed))
               (with-current-buffer (process-buffer sender) (erase-buffer))
               (process-send-string sender (format "%s %s\n" kind seed))
               (todo-write-user-type-until
                (lambda ()
                  (with-current-buffer (process-buffer sender)
                    (goto-char (point-min))
                    (re-search-forward "^done [1-9]" nil t))))))
           (should (process-live-p todo-write-user-process))))
      (delete-process sender)
      (todo-write-test-delete project))))

;; Each of these once took seconds.
(ert-deftest todo-write-large-valid-messages-do-not-freeze-emacs ()
  :tags '(:thorough)
  (todo-write-fuzz-socket-tests--run "lists" "junk" "activity" "sessions" "questions" "fields"
                                     "edits" "requests" "repeats"))

(ert-deftest todo-write-mutated-messages-do-not-end-emacs ()
  :tags '(:thorough)
  (todo-write-fuzz-socket-tests--run "mutated"))

(provide 'todo-write-fuzz-socket-e2e-tests)
;;; todo-write-fuzz-socket-e2e-tests.el ends here
