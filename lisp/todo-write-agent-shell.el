;;; todo-write-agent-shell.el --- Plans in agent-shell  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The plans of the agents in agent-shell (https://github.com/xenodium/agent-shell):
;;
;;     (todo-write-agent-shell-mode 1)
;;
;; It does not matter whether agent-shell is loaded yet, or shells are open.
;; `M-x todo-write-show' in a shell shows its plan, and so does
;; `todo-write-header-line-mode'.
;;
;; agent-shell runs its mode hook before or after its state is there, and has
;; more or fewer events, according to its version.  What its client sends is the
;; same in all of them: the mode connects to a client, by todo-write-acp, as soon
;; as it sends a request about a session.

;;; Code:

(require 'todo-write-acp)
(require 'todo-write-mode-line)

(defvar agent-shell--state)
(declare-function agent-shell--update-header-and-mode-line "ext:agent-shell")

;;;###autoload
(define-minor-mode todo-write-agent-shell-mode
  "Show the plans of the agents in agent-shell, and what they do.
A shell's own plan is what \\[todo-write-show] shows there, and the
header line, if `todo-write-header-line-mode' is on in the shell."
  :global t
  :group 'todo-write
  (let ((shells (seq-filter #'todo-write-agent-shell--p (buffer-list))))
    (if todo-write-agent-shell-mode
        (progn
          (advice-add 'acp-send-request :before #'todo-write-agent-shell--sending)
          (advice-add 'agent-shell--update-header-and-mode-line :after
                      #'todo-write-agent-shell--add-plan)
          (add-hook 'agent-shell-mode-hook #'todo-write-agent-shell--begin -90)
          (mapc #'todo-write-agent-shell--connect-open shells))
      (advice-remove 'acp-send-request #'todo-write-agent-shell--sending)
      (advice-remove 'agent-shell--update-header-and-mode-line
                     #'todo-write-agent-shell--add-plan)
      (remove-hook 'agent-shell-mode-hook #'todo-write-agent-shell--begin)
      (mapc #'todo-write-agent-shell--end shells))))

(defun todo-write-agent-shell--p (buffer)
  "Return non-nil if BUFFER is a live shell."
  (and (buffer-live-p buffer)
       (with-current-buffer buffer
         (derived-mode-p 'agent-shell-mode))))

(cl-defun todo-write-agent-shell--sending (&key client request &allow-other-keys)
  "Connect to CLIENT if it is a shell's and REQUEST is about a session.
It has its own subscriptions then."
  (let ((buffer (todo-write--json-get client "context-buffer")))
    (when (and (string-prefix-p "session/" (todo-write--json-get request "method"))
               (todo-write-agent-shell--p buffer)
               (not (memq client (todo-write-acp-clients buffer))))
      (todo-write-acp-connect client buffer))))

(defun todo-write-agent-shell--connect-open (shell)
  "Connect to the client of SHELL, which is open, if it has a session."
  (with-current-buffer shell
    (todo-write-agent-shell--begin)
    (let ((client (todo-write--json-get agent-shell--state "client"))
          (session (todo-write-acp--get agent-shell--state "session" "id")))
      (when (and client session)
        (todo-write-acp-connect client shell session)))))

(defun todo-write-agent-shell--end (shell)
  "Show nothing more of SHELL."
  (mapc #'todo-write-acp-disconnect (todo-write-acp-clients shell))
  (with-current-buffer shell
    (kill-local-variable 'todo-write-header-line-host)
    (agent-shell--update-header-and-mode-line)))

;;; Header line

(defun todo-write-agent-shell--begin ()
  "Let the header line of this shell have the plan in it."
  (setq todo-write-header-line-host #'agent-shell--update-header-and-mode-line))

(defun todo-write-agent-shell--add-plan (&rest _)
  "Put the plan before what agent-shell shows in the header line.
agent-shell sets all of it, again and again."
  (when todo-write-header-line-mode
    (setq header-line-format
          (list "" 'todo-write-header-line--string " " header-line-format))))

(provide 'todo-write-agent-shell)
;;; todo-write-agent-shell.el ends here
