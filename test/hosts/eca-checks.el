;;; eca-checks.el --- Checks with ECA  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These checks run `todo-write-eca-mode' with the genuine eca-emacs.  ECA's server
;; does not run here: its messages are written by hand according to the source of
;; eca-emacs and passed to the function that handles them.  eca.sh runs these checks.

;;; Code:

(require 'ert)
(require 'eca)
(require 'todo-write-eca)
(require 'todo-write-test-helper)

(defvar eca-checks-session nil "The session.")
(defvar eca-checks-chat nil "Its chat.")

(defmacro eca-checks-with (&rest body)
  "Run BODY in a chat with the mode on."
  (declare (indent 0) (debug t))
  `(todo-write-with-store
     (let* ((process (make-process :name "eca" :command '("cat") :noquery t))
            (eca-checks-session (make-eca--session :id 1 :status 'started :process process
                                                   :workspace-folders (list temporary-file-directory)))
            (eca--sessions (list (cons 1 eca-checks-session)))
            (eca-checks-chat nil))
       (unwind-protect
           (progn
             (todo-write-eca-mode 1)
             (save-window-excursion (eca-chat-open eca-checks-session))
             (setq eca-checks-chat (car (eca-chat-buffers eca-checks-session)))
             ,@body)
         (todo-write-eca-mode -1)
         (when (buffer-live-p eca-checks-chat)
           (let (kill-buffer-query-functions) (kill-buffer eca-checks-chat)))
         (delete-process process)))))

(defun eca-checks-thread ()
  "Return the key of the thread of the chat."
  (concat "eca:" (buffer-local-value 'eca-chat--id eca-checks-chat)))

(defun eca-checks-send (&rest content)
  "Pass CONTENT to eca-emacs like a message of the server."
  (eca-chat-content-received
   eca-checks-session
   (list :chatId (buffer-local-value 'eca-chat--id eca-checks-chat)
         :role "assistant" :content content)))

(defun eca-checks-tasks (&rest tasks)
  "Pass a call of the tool with TASKS, each (SUBJECT STATUS), to eca-emacs."
  (eca-checks-send :type "toolCalled" :id "call" :server "eca" :name "task" :arguments nil
                   :outputs [] :error nil
                   :details (list :type "task"
                                  :tasks (vconcat (seq-map-indexed
                                                   (lambda (task index)
                                                     (list :id (1+ index) :subject (car task)
                                                           :status (cadr task)))
                                                   tasks)))))

(defun eca-checks-loading (state)
  "Set the turn of the chat to STATE, see `eca-chat--set-chat-loading'."
  (with-current-buffer eca-checks-chat
    (eca-chat--set-chat-loading eca-checks-session state)))

(ert-deftest eca-shows-the-tasks-and-that-the-agent-works ()
  (eca-checks-with
    (eca-checks-loading t)
    (eca-checks-tasks '("Rake" "done") '("Water" "in-progress") '("Weed" "pending"))
    (let ((thread (eca-checks-thread)))
      (should (equal (todo-write-test-rows thread)
                     '(("Rake" "completed" "Rake") ("Water" "in_progress" "Water")
                       ("Weed" "pending" "Weed"))))
      (should (equal '(working) (todo-write-activity thread)))
      (should (equal thread (buffer-local-value 'todo-write-view-thread eca-checks-chat)))
      (eca-checks-send :type "progress" :state "finished")
      (should-not (todo-write-activity thread))
      (should (equal "end of turn" (plist-get (todo-write-summary thread) :reason)))
      (eca-checks-tasks)
      (should (eq 'empty (todo-write-state thread))))))

(ert-deftest eca-waits-while-a-tool-call-needs-approval ()
  (eca-checks-with
    (eca-checks-loading t)
    (eca-checks-tasks '("Rake" "in-progress"))
    (eca-checks-send :type "toolCallPrepare" :id "rm" :server "eca" :name "shell" :argumentsText "{}")
    (eca-checks-send :type "toolCallRun" :id "rm" :server "eca" :name "shell" :arguments nil
                     :manualApproval t)
    (should (equal '(waiting . "permission") (todo-write-activity (eca-checks-thread))))))

(ert-deftest eca-pauses-the-plan-of-a-turn-that-is-stopped ()
  (eca-checks-with
    (eca-checks-loading t)
    (eca-checks-tasks '("Rake" "in-progress"))
    (eca-checks-loading 'stopping)
    (eca-checks-send :type "progress" :state "finished")
    (should (equal "interrupted"
                   (plist-get (todo-write-summary (eca-checks-thread)) :reason)))))

(ert-deftest eca-reports-that-the-server-exited ()
  (eca-checks-with
    (eca-checks-loading t)
    (eca-checks-tasks '("Rake" "in-progress"))
    (eca-delete-session eca-checks-session)
    (should (equal '(failed . "ECA exited") (todo-write-activity (eca-checks-thread))))
    (should (eq 'paused (todo-write-state (eca-checks-thread))))))

(ert-deftest eca-mode-restores-chats-when-turned-off ()
  (eca-checks-with
    (eca-checks-tasks '("Rake" "pending"))
    (todo-write-eca-mode -1)
    (should-not (local-variable-p 'todo-write-view-thread eca-checks-chat))
    (eca-checks-tasks '("Weed" "pending"))
    (should (equal (todo-write-test-contents (eca-checks-thread)) '("Rake")))))

(provide 'eca-checks)
;;; eca-checks.el ends here
