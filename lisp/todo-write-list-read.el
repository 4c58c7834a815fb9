;;; todo-write-list-read.el --- Read a plan in the minibuffer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `s' in a plan asks for another one with completion.  Plans are shown by their titles,
;; grouped by state; with Embark, they can be acted on.

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
them.  The text property `todo-write-key' of a candidate is its key.
If NEW, a string, is non-nil, other input is the key of a new thread, by
default NEW; otherwise signal a `user-error' if there is no thread."
  (let* ((agents (todo-write-list-read--titled
                  (or (todo-write-list-cells-known-agents)
                      (unless new (todo-write-here-signal-none)))))
         (input (progn
                  (when (boundp 'embark-keymap-alist)
                    (add-to-list 'embark-keymap-alist
                                 '(todo-write-plan . todo-write-list-plan-map)))
                  (completing-read
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
                   nil (not new) nil nil (or new (caar agents)))))
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
  (let* ((rows
          (cl-loop for (_ . agent) in agents
                   for ending = (todo-write-list-cells-ending agent)
                   collect (mapcar (lambda (cell) (todo-write-text-truncate cell 30))
                                   (list (todo-write-row-count (plist-get agent :plan))
                                         (concat (todo-write-list-cells-state agent)
                                                 (and ending (concat " " ending)))
                                         (todo-write-list-cells-program agent)
                                         (todo-write-list-cells-age agent)
                                         (todo-write-text-line
                                          (or (todo-write-agent-folder agent) ""))))))
         (title (apply #'max 0 (mapcar (lambda (agent) (todo-write-text-width (car agent)))
                                       agents)))
         (widths (apply #'cl-mapcar
                        (lambda (&rest cells) (apply #'max (mapcar #'todo-write-text-width cells)))
                        (or rows '(nil)))))
    (cl-mapcar
     (lambda (agent row)
       (list (car agent) ""
             (propertize
              (concat (make-string (- (+ 2 title) (todo-write-text-width (car agent))) ?\s)
                      (todo-write-text-truncate
                       (string-trim-right
                        (mapconcat #'identity
                                   (cl-mapcar (lambda (cell width)
                                                (concat cell (make-string
                                                              (- width (todo-write-text-width cell))
                                                              ?\s)))
                                              row widths)
                                   "  "))
                       (max 10 (- (frame-width) title 4))))
              'face 'completions-annotations)))
     agents rows)))

;;; Embark

(defun todo-write-list-read--candidate-key (title)
  "Return the key of the plan with TITLE, a candidate of `todo-write-read-thread'."
  (or (get-text-property 0 'todo-write-key title)
      (when-let* ((agent (cdr (assoc title (todo-write-list-read--titled
                                            (todo-write-list-cells-known-agents))))))
        (plist-get agent :thread))
      (user-error "There is no such plan any more")))

(defun todo-write-list-visit-plan (title)
  "Go to the buffer of the agent whose plan has TITLE, a completion candidate."
  (todo-write-attention-visit-agent-of (todo-write-list-read--candidate-key title)))

(defun todo-write-list-forget-plan (title)
  "Forget the plan with TITLE, a completion candidate, after a question."
  (let ((key (todo-write-list-read--candidate-key title)))
    (when (yes-or-no-p (format "Forget the plan %s and its history? " title))
      (todo-write-forget key))))

(defvar todo-write-list-plan-map
  (let ((map (make-sparse-keymap)))
    (define-key map "o" #'todo-write-list-visit-plan)
    (define-key map "k" #'todo-write-list-forget-plan)
    map)
  "Keymap of Embark for plans in completion.")

(defvar embark-keymap-alist)

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
