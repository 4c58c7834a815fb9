;;; todo-write-answer-refer.el --- Where an agent is answered that asks nothing here  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An agent may wait in its terminal without a request in this Emacs.  Then
;; `todo-write-answer' says where to answer it.

;;; Code:

(require 'todo-write)
(require 'todo-write-agents)
(require 'todo-write-attention)

(defun todo-write-answer-refer-waits-p (thread)
  "Return non-nil if the agent of THREAD is known to wait for the user."
  (and thread (eq 'waiting (car (todo-write-activity thread)))))

(defconst todo-write-answer-refer--silent
  '(("codex:" . "codex") ("mcp:gemini" . "gemini") ("mcp:opencode:[0-9]" . "opencode"))
  "Agents that may not tell of their questions, an alist of regexps and names.
The regexps are for the beginnings of their threads' keys.  The plugin
for opencode knows the sessions, whose ids are no numbers.")

(defun todo-write-answer-refer-to (thread)
  "Say that the agent of THREAD, or any other, asks nothing here.
If one waits elsewhere, say where.  THREAD may be nil."
  (let* ((agents (todo-write-agents))
         (own (seq-find (lambda (agent) (equal thread (plist-get agent :thread))) agents))
         (agent (if (or (todo-write-answer-refer-waits-p thread)
                        (not (eq 'waiting (and agents (todo-write-agent-state (car agents))))))
                    own
                  (car agents)))
         (silent (and thread (cdr (seq-find (lambda (entry)
                                              (string-match-p (concat "\\`" (car entry)) thread))
                                            todo-write-answer-refer--silent)))))
    (user-error
     "%s"
     (cond ((and agent (eq 'waiting (todo-write-agent-state agent)))
            (concat (todo-write-attention-line agent) "; answer it there"
                    (todo-write-answer-refer--place agent)))
           ((and silent own)
            (concat (todo-write-agents-label silent) " has told of no question; look there"
                    (todo-write-answer-refer--place own)))
           (t "No agent asks anything")))))

(defun todo-write-answer-refer--place (agent)
  "Return where AGENT can be answered, in words.
If that is a buffer of this Emacs, name the key that goes there, too."
  (concat
   (if-let* ((place (todo-write-attention-place agent))) (concat ", in " place) "")
   (substitute-command-keys
    (cond ((not (todo-write-attention-reachable-p (plist-get agent :thread))) "")
          ((derived-mode-p 'todo-write-list-mode 'todo-write-view-mode)
           "; \\<todo-write-view-mode-map>\\[todo-write-view-visit-agent] goes there")
          ((eq 'waiting (todo-write-agent-state agent))
           "; \\[todo-write-next-waiting] goes there")
          (t "")))))

(provide 'todo-write-answer-refer)
;;; todo-write-answer-refer.el ends here
