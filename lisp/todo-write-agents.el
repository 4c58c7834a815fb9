;;; todo-write-agents.el --- Follow and serve agents outside of Emacs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `todo-write-agents-mode' is all that agents outside of Emacs need: it starts the
;; program `todo-write-mcp', opens the socket by which agents call `todo_write', and
;; follows the live sessions of Claude Code and Codex on this machine.
;;
;; One Emacs leads: the one whose program has the socket.  Another one waits until that
;; ends, follows nothing meanwhile, and reads the plans that it shows again from their
;; journals.

;;; Code:

(require 'todo-write)
(require 'todo-write-follow)
(require 'todo-write-host)
(require 'todo-write-hub)
(require 'todo-write-mcp)
(require 'todo-write-mcp-setup)
(require 'todo-write-tell)
(require 'todo-write-socket)

;;;###autoload
(define-minor-mode todo-write-agents-mode
  "Show the plans of agents outside of Emacs, and let them write these here.
All live sessions of Claude Code and Codex on this machine are followed:
those whose process runs, and those whose transcript was written within
ten minutes; `todo-write-follow' with a prefix argument leaves one out.
Agents that have the tool todo_write call this Emacs; `todo-write-setup'
gives it to them.

If another Emacs does this already, this one takes over when that ends."
  :global t
  :group 'todo-write
  (todo-write-host-switch "Claude Code and Codex" todo-write-agents-mode)
  (when (and todo-write-agents-mode (called-interactively-p 'any))
    (message "On for this session; for later ones, put %s into your init file"
             "(todo-write-agents-mode)")))

(defun todo-write-agents--switch-on ()
  "Open the socket, follow sessions, and watch for what agents must be told."
  ;; It signals if the program is missing; nothing is on then.
  (todo-write-socket-open)
  ;; What the program says is read after this.
  (todo-write-tell-watch t)
  (todo-write-follow-watch t)
  (add-hook 'todo-write-hub-check-hook #'todo-write-agents--read-again)
  (run-hooks 'todo-write-machines-wanted-hook))

(defun todo-write-agents--switch-off ()
  "Close the socket, and follow only the sessions that the user asked for."
  (remove-hook 'todo-write-hub-check-hook #'todo-write-agents--read-again)
  (todo-write-follow-watch nil)
  (todo-write-tell-watch nil)
  (todo-write-socket-close)
  (run-hooks 'todo-write-machines-wanted-hook))

(defun todo-write-agents--read-again ()
  "Take what another Emacs that has the socket wrote about the plans in memory."
  (when (eq 'client (todo-write-socket-state))
    (let ((inhibit-quit t))
      (dolist (thread (todo-write-threads-loaded))
        (todo-write-core-call todo-write-dyn--refresh thread)
        (todo-write-events-dispatch thread 'change)))))

(defun todo-write-agents-unload-function ()
  "Switch the mode off; let `unload-feature' go on."
  (ignore (todo-write-agents-mode -1)))

(todo-write-host-define "Claude Code and Codex"
  :mode 'todo-write-agents-mode :feature 'todo-write-dyn
  :switch-on #'todo-write-agents--switch-on :switch-off #'todo-write-agents--switch-off
  :installed (lambda ()
               (seq-some (lambda (agent) (file-directory-p (cdr agent)))
                         (todo-write-follow-homes)))
  :remedy (concat "To see the plans of all live sessions: M-x todo-write-agents-mode; "
                  "of one: M-x todo-write-follow")
  :findings #'todo-write-mcp-setup-findings)

(provide 'todo-write-agents)
;;; todo-write-agents.el ends here
