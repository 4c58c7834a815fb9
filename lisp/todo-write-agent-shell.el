;;; todo-write-agent-shell.el --- Plans in agent-shell  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The plans of the agents in agent-shell (https://github.com/xenodium/agent-shell), which
;; may be loaded before or after this, also with shells that are open.
;;
;; The order of agent-shell's hook and events differs between its versions, and its
;; events (`agent-shell-subscribe-to') do not pass on the client.  The requests of the
;; client do not differ: the mode connects it, see todo-write-acp, when it sends the
;; first request about a session.

;;; Code:

(require 'todo-write-acp)

(defvar agent-shell--state)
(defvar agent-shell-permission-responder-function)

(declare-function agent-shell-insert "ext:agent-shell")
(declare-function shell-maker-busy "ext:shell-maker")

;;;###autoload
(define-minor-mode todo-write-agent-shell-mode
  "Show the plans and the activity of the agents in agent-shell.
In a shell, \\[todo-write-show] shows its own plan."
  :global t
  :group 'todo-write
  (todo-write-host-switch "agent-shell" todo-write-agent-shell-mode))

(defun todo-write-agent-shell--switch-on ()
  "Connect the shells that are open, and those that are opened later.
Hear of permission requests before agent-shell shows its dialog."
  (add-hook 'todo-write-acp-send-functions #'todo-write-agent-shell--connect)
  (todo-write-acp-advise)
  ;; agent-shell may be loaded later; its `defvar' keeps this value.
  (unless (boundp 'agent-shell-permission-responder-function)
    (setq-default agent-shell-permission-responder-function nil))
  (add-function :around (default-value 'agent-shell-permission-responder-function)
                #'todo-write-agent-shell--permit)
  (dolist (shell (seq-filter #'todo-write-agent-shell--p (buffer-list)))
    ;; agent-shell keeps this for itself.  A shell whose state has another shape is connected
    ;; at its next request.
    (let* ((state (and (local-variable-p 'agent-shell--state shell)
                       (buffer-local-value 'agent-shell--state shell)))
           (client (todo-write-json-get state "client"))
           (session (todo-write-json-get state "session" "id")))
      (when (and client (stringp session))
        (todo-write-acp-connect client shell session)))))

(defun todo-write-agent-shell--switch-off ()
  "Take away what `todo-write-agent-shell--switch-on' added."
  (remove-hook 'todo-write-acp-send-functions #'todo-write-agent-shell--connect)
  (todo-write-acp-advise)
  (when (boundp 'agent-shell-permission-responder-function)
    (remove-function (default-value 'agent-shell-permission-responder-function)
                     #'todo-write-agent-shell--permit))
  (mapc #'todo-write-acp-disconnect
        (mapcan #'todo-write-acp-clients (seq-filter #'todo-write-agent-shell--p (buffer-list)))))

(todo-write-host-define "agent-shell"
  :mode 'todo-write-agent-shell-mode
  :switch-on #'todo-write-agent-shell--switch-on
  :switch-off #'todo-write-agent-shell--switch-off
  :installed (lambda () (locate-library "agent-shell"))
  :answer #'todo-write-agent-shell--answer
  :draft #'todo-write-agent-shell--draft)

(defvar-local todo-write-agent-shell--responders nil
  "Alist of ids of this shell's permission requests and functions that answer.
A function takes the id of an option.")

(defun todo-write-agent-shell--permit (own permission)
  "Keep the way to answer PERMISSION, and ask OWN, the user's function or nil.
This never answers by itself: agent-shell shows its dialog, and the answer
that comes first counts.  For `agent-shell-permission-responder-function'."
  (todo-write-core-for-host "agent-shell"
    (let ((id (todo-write-json-get permission "tool-call" "permission-request-id"))
          (respond (todo-write-json-get permission "respond")))
      (when (and id (functionp respond))
        (setf (alist-get id todo-write-agent-shell--responders nil nil #'equal) respond)
        ;; The dialog may have answered the older ones.
        (setq todo-write-agent-shell--responders
              (seq-take todo-write-agent-shell--responders 20)))))
  (when own
    (funcall own permission)))

(defun todo-write-agent-shell--answer (buffer id option)
  "Answer the permission request ID of BUFFER with OPTION, if that is a shell.
agent-shell must take away its dialog: signal `todo-write-error' if it has
given no way to answer."
  (when (todo-write-agent-shell--p buffer)
    (with-current-buffer buffer
      (let ((respond (cdr (assoc id todo-write-agent-shell--responders))))
        (unless respond
          (signal 'todo-write-error '("Answer this in the agent's own buffer")))
        (setf (alist-get id todo-write-agent-shell--responders nil t #'equal) nil)
        (funcall respond option)
        t))))

(defun todo-write-agent-shell--draft (thread text)
  "Make TEXT a draft in the shell of THREAD, or queue it while its agent works.
See `todo-write-host'.  A prompt that is queued is sent at the
end of the turn; `agent-shell-insert' would refuse it before."
  (when-let* ((shell (seq-find (lambda (shell)
                                 (equal thread (buffer-local-value 'todo-write-view-thread shell)))
                               (seq-filter #'todo-write-agent-shell--p (buffer-list)))))
    (with-current-buffer shell
      (if (not (shell-maker-busy))
          (prog1 shell
            (when text
              (agent-shell-insert :text text :no-focus t :shell-buffer shell)))
        ;; Its older name is that of version 0.48.
        (when-let* ((queue (seq-find #'fboundp '(agent-shell-prompt-queue
                                                 agent-shell-queue-request))))
          (when text
            (funcall queue text))
          (cons 'queued shell))))))

(defun todo-write-agent-shell--p (buffer)
  "Return non-nil if BUFFER is a live shell."
  (and (buffer-live-p buffer)
       (with-current-buffer buffer
         (derived-mode-p 'agent-shell-mode))))

(defun todo-write-agent-shell--connect (client request)
  "Connect CLIENT if it belongs to a shell and REQUEST is about a session.
By then, CLIENT has its own subscriptions.  For
`todo-write-acp-send-functions'."
  (let ((buffer (todo-write-json-get client "context-buffer")))
    (when (and (string-prefix-p "session/" (todo-write-json-get request "method"))
               (todo-write-agent-shell--p buffer)
               (not (memq client (todo-write-acp-clients buffer))))
      (todo-write-acp-connect client buffer))))

(provide 'todo-write-agent-shell)
;;; todo-write-agent-shell.el ends here
