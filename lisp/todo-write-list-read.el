;;; todo-write-list-read.el --- Read a plan in the minibuffer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `s' in a plan asks for another one with completion.  Plans are shown by their titles,
;; grouped by state.

;;; Code:

(require 'todo-write)
(require 'todo-write-agent)
(require 'todo-write-attention)
(require 'todo-write-commands)
(require 'todo-write-here)
(require 'todo-write-list-cells)
(require 'todo-write-row)
(require 'todo-write-text)

(defun todo-write-read-thread (prompt &optional new)
  "Read a thread with PROMPT and completion of titles; return its key.
They are grouped by state, with progress, agent, age and project beside
them.  If NEW, a string, is non-nil, other input is the key of a new thread, by
default NEW; otherwise signal a `user-error' if there is no thread."
  (let* ((agents (todo-write-list-read--titled
                  (or (todo-write-list-cells-known-agents)
                      (unless new (todo-write-here-signal-none)))))
         (input (completing-read
                 prompt
                 (todo-write-text-completion-table
                  agents 'todo-write-plan
                  `(group-function
                    . ,(lambda (title transform)
                         (if transform title
                           (symbol-name (todo-write-agent-state (cdr (assoc title agents)))))))
                  `(affixation-function
                    . ,(lambda (titles)
                         (todo-write-list-read--affix
                          (mapcar (lambda (title) (assoc title agents)) titles)))))
                 nil (not new) nil nil (or new (caar agents))))
         (agent (cdr (assoc input agents))))
    (if agent (plist-get agent :thread) input)))

(defun todo-write-list-read--titled (agents)
  "Return AGENTS as an alist of (TITLE . AGENT), with different titles.
A title is plain text; where two are alike, the key or a number follows."
  (let (titled)
    (dolist (agent agents)
      (let* ((key (plist-get agent :thread))
             (title (todo-write-text-line
                     (or (plist-get agent :title) (todo-write-agent-label agent)) 60))
             (unique title) (number 1))
        (while (assoc unique titled)
          (setq unique (format "%s <%s>" title
                               (if (= number 1) (todo-write-text-line key 60) number))
                number (1+ number)))
        (push (cons (propertize unique 'todo-write-key key) agent) titled)))
    (nreverse titled)))

(defun todo-write-list-read--affix (agents)
  "Return AGENTS, an alist of (TITLE . AGENT), with annotations in columns.
The value is as for `affixation-function'.  A narrow frame cuts them."
  (let* ((rows (mapcar #'todo-write-list-read--cells agents))
         (widths (apply #'cl-mapcar
                        (lambda (&rest cells) (apply #'max (mapcar #'todo-write-text-width cells)))
                        (or rows '(nil)))))
    (mapcar (lambda (cells)
              (list (car cells) ""
                    (propertize
                     (todo-write-text-truncate
                      (substring (todo-write-row-columns cells widths) (length (car cells)))
                      (max 10 (- (frame-width) (car widths) 2)))
                     'face 'completions-annotations)))
            rows)))

(defun todo-write-list-read--cells (agent)
  "Return the title of AGENT, a cons (TITLE . AGENT), and its annotations, strings."
  (pcase-let ((`(,title . ,agent) agent))
    (cons title
          (mapcar (lambda (cell) (todo-write-text-truncate cell 30))
                  (list (todo-write-row-count (plist-get agent :plan))
                        (string-join (delq nil (list (todo-write-list-cells-state agent)
                                                     (todo-write-list-cells-ending agent)))
                                     " ")
                        (todo-write-list-cells-program agent)
                        (todo-write-list-cells-age agent)
                        (todo-write-text-line (or (todo-write-agent-folder agent) "")))))))

(defun todo-write-switch (thread)
  "Show the plan of THREAD, a key that is read with completion.
Interactively, a prefix argument shows all agents in `todo-write-list'."
  (interactive (list (unless current-prefix-arg
                       (todo-write-read-thread "Show the plan of: "))))
  (if (null thread)
      (todo-write-list)
    (todo-write-agent-restore thread)
    (todo-write-show thread t)
    (todo-write-agent-see thread)))

(provide 'todo-write-list-read)
;;; todo-write-list-read.el ends here
