;;; todo-write-eca.el --- Plans of ECA's agents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The plans of ECA's agents (https://github.com/editor-code-assistant/eca-emacs).  ECA may
;; be loaded before or after this.  It has a hook for the status of agents, but none for
;; their tasks: the mode advises the internal function that shows them.

;;; Code:

(require 'todo-write)
(require 'todo-write-host)

(defvar eca--sessions)
(defvar eca-chat--id)
(declare-function eca-chat-buffers "ext:eca-chat")
(declare-function eca-chat-status "ext:eca-chat")

(defvar-local todo-write-eca--thread nil
  "Key of the thread of this chat, once its agent has tasks.")

(defvar-local todo-write-eca--stopping nil
  "Non-nil if the user stopped the turn of this chat.")

;;;###autoload
(define-minor-mode todo-write-eca-mode
  "Show the plans and the activity of ECA's agents.
In a chat, \\[todo-write-show] shows its own plan."
  :global t
  :group 'todo-write
  (todo-write-host-switch "ECA" todo-write-eca-mode))

(defun todo-write-eca--switch-on ()
  "Advise ECA, which may be loaded later, and use its hooks."
  (advice-add 'eca-chat--update-task-state :after #'todo-write-eca--write-tasks)
  (add-hook 'eca-chat-session-status-changed-functions #'todo-write-eca--status-changed)
  (add-hook 'eca-sessions-updated-hook #'todo-write-eca--sessions-changed))

(defun todo-write-eca--switch-off ()
  "Take away what `todo-write-eca--switch-on' added, and leave all chats."
  (advice-remove 'eca-chat--update-task-state #'todo-write-eca--write-tasks)
  (remove-hook 'eca-chat-session-status-changed-functions #'todo-write-eca--status-changed)
  (remove-hook 'eca-sessions-updated-hook #'todo-write-eca--sessions-changed)
  (dolist (buffer (buffer-list))
    (when (buffer-local-value 'todo-write-eca--thread buffer)
      (with-current-buffer buffer
        (todo-write-eca--end-turn "disconnected")
        (remove-hook 'kill-buffer-hook #'todo-write-eca--end-turn t)
        (mapc #'kill-local-variable '(todo-write-eca--thread todo-write-view-thread))))))

(todo-write-host-define "ECA"
  :mode 'todo-write-eca-mode
  :switch-on #'todo-write-eca--switch-on :switch-off #'todo-write-eca--switch-off
  :installed (lambda () (locate-library "eca")))

(defun todo-write-eca--write-tasks (content)
  "Write the tasks in CONTENT, a call of ECA's tool, to the thread of this chat."
  (todo-write-core-for-host "ECA"
    (when-let* ((details (plist-get content :details)))
      (unless todo-write-eca--thread
        (add-hook 'kill-buffer-hook #'todo-write-eca--end-turn nil t)
        (setq todo-write-eca--thread (format "eca:%s" eca-chat--id))
        (setq-local todo-write-view-thread todo-write-eca--thread))
      (todo-write todo-write-eca--thread
                  (list :todos (cl-loop for task in (append (plist-get details :tasks) nil)
                                        for subject = (plist-get task :subject)
                                        vconcat (list (list :content subject
                                                            :status (pcase (plist-get task :status)
                                                                      ("done" "completed")
                                                                      ("in-progress" "in_progress")
                                                                      (status status))
                                                            :activeForm subject))))
                  "eca" t)
      (todo-write-eca--set-activity))))

(defun todo-write-eca--status-changed (session)
  "Set the activity of the agents in the chats of SESSION."
  (todo-write-core-for-host "ECA"
    (dolist (buffer (eca-chat-buffers session))
      (with-current-buffer buffer
        (when todo-write-eca--thread
          (todo-write-eca--set-activity))))))

(defun todo-write-eca--sessions-changed ()
  "Set the agents whose server has exited during a turn to failed."
  (todo-write-core-for-host "ECA"
    (let ((live (seq-mapcat (lambda (entry) (eca-chat-buffers (cdr entry))) eca--sessions)))
      (dolist (buffer (buffer-list))
        (let ((thread (buffer-local-value 'todo-write-eca--thread buffer)))
          (when (and thread (not (memq buffer live))
                     (memq (car (todo-write-activity thread)) '(working waiting)))
            (todo-write-end-turn thread "ECA exited" t)))))))

(defun todo-write-eca--set-activity ()
  "Set the activity of the agent of this chat according to ECA's status."
  (pcase (eca-chat-status (current-buffer))
    ('running (todo-write-set-activity todo-write-eca--thread 'working))
    ('waiting-approval
     (todo-write-set-activity todo-write-eca--thread 'waiting "permission"))
    ('waiting-answer
     (todo-write-set-activity todo-write-eca--thread 'waiting "question"))
    ('stopping (setq todo-write-eca--stopping t))
    ('idle
     (when (todo-write-activity todo-write-eca--thread)
       (todo-write-end-turn todo-write-eca--thread
                            (and todo-write-eca--stopping "interrupted")))
     (setq todo-write-eca--stopping nil))))

(defun todo-write-eca--end-turn (&optional reason)
  "Pause the plan of this chat for REASON; by default, the chat was closed."
  (todo-write-core-for-host "ECA"
    (todo-write-end-turn todo-write-eca--thread (or reason "the chat was closed"))))

(provide 'todo-write-eca)
;;; todo-write-eca.el ends here
