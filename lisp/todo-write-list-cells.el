;;; todo-write-list-cells.el --- How an agent looks in the overview and in completion  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The cells of an agent's row: its state, age, program, project, title and what it does now.

;;; Code:

(require 'todo-write)
(require 'todo-write-agent)
(require 'todo-write-attention)
(require 'todo-write-hands)
(require 'todo-write-machines)
(require 'todo-write-row)
(require 'todo-write-text)
(require 'todo-write-turns)

(defun todo-write-list-cells-known-agents ()
  "Return the sorted agents, also those of earlier sessions."
  (let* ((agents (todo-write-agents))
         (threads (mapcar (lambda (agent) (plist-get agent :thread)) agents)))
    (sort (append agents
                  (cl-loop for kept in (todo-write-threads-kept)
                           unless (or (member (plist-get kept :key) threads)
                                      (plist-get (plist-get kept :about) :parent))
                           collect (todo-write-list-cells--kept kept)))
          #'todo-write-agent-before-p)))

(defun todo-write-list-cells--kept (kept)
  "Return the agent of KEPT, an element of `todo-write-threads-kept'.
It is as in `todo-write-agents', with KEPT as :kept."
  (let ((about (plist-get kept :about)))
    (todo-write-agent-plist
     (plist-get kept :key) about (plist-get kept :plan) (plist-get kept :new)
     :since (plist-get kept :modified)
     :attention (if (plist-get about :unseen) 'unseen 'idle)
     :requests 0
     :refused (or (plist-get about :refused) 0)
     :kept kept)))

(defconst todo-write-list-cells--states
  '((waiting "!" todo-write-attention)
    (failed removed todo-write-removed-shape)
    (done completed todo-write-done)
    (ended ended todo-write-done "stopped")
    (stopped removed todo-write-removed-shape)
    (suspended paused todo-write-paused)
    (working in_progress todo-write-in-progress-shape)
    (idle pending todo-write-time)
    (unknown "?" todo-write-time))
  "Alist of (STATE SHAPE FACE WORD).
SHAPE is a string or as for `todo-write-text-shape'; without WORD, STATE
is the word.  `ended' is a turn that left tasks open.")

(defun todo-write-list-cells-state (agent)
  "Return the state of AGENT as a shape and a word."
  (pcase-let* ((state (todo-write-agent-state agent))
               ;; The turn is done, and the work is not.
               (state (if (and (eq state 'done)
                               (memq (plist-get (plist-get agent :plan) :state) '(active paused)))
                          'ended state))
               (`(,shape ,face ,word) (alist-get state todo-write-list-cells--states)))
    (propertize (format "%s %s" (if (stringp shape) shape (todo-write-text-shape shape))
                        (or word state))
                'face (if (plist-get agent :dismissed) 'todo-write-time face))))

(defun todo-write-list-cells-ending (agent)
  "Return how AGENT stopped, in parentheses, or nil."
  (when-let* ((words (todo-write-agent-ending-words agent)))
    (format "(%s)" words)))

(defun todo-write-list-cells-age (agent)
  "Return for how long AGENT has been in its state."
  (propertize (todo-write-text-age (/ (plist-get agent :since) 1000.0))
              'face 'todo-write-time))

(defun todo-write-list-cells-program (agent)
  "Return the name of AGENT's program, or an empty string if it is unknown."
  (let ((name (or (plist-get agent :agent)
                  (plist-get (todo-write-core-call todo-write-dyn--identity
                               (plist-get agent :thread))
                             :program)
                  "")))
    ;; The column has room for the first word of "Claude Code".
    (if-let* ((known (todo-write-core-call todo-write-dyn--program name)))
        (car (split-string (plist-get known :label)))
      (todo-write-text-line name))))

(defun todo-write-list-cells-alike (agent others)
  "Return those of OTHERS with the title and the folder name of AGENT."
  (when-let* ((title (plist-get agent :title)))
    (seq-filter (lambda (other)
                  (and (not (eq other agent))
                       (equal (plist-get other :title) title)
                       (or (equal (plist-get other :project) (plist-get agent :project))
                           (equal (todo-write-agent-folder other)
                                  (todo-write-agent-folder agent)))))
                others)))

(defun todo-write-list-cells-now (agent summary)
  "Return why AGENT waits, failed or stopped, else the task in progress.
Before that come a file that you edit, too, the number of files to review,
that of its refused calls that are new, and how full its context is from
70 % on.  One that sends no plan shows its newest prompt.  SUMMARY is that
of its plan."
  (let* ((current (plist-get summary :current))
         (thread (plist-get agent :thread))
         (reason (todo-write-agent-reason agent))
         (files (plist-get agent :new))
         (refused (or (plist-get agent :refused) 0))
         ;; A narrow column has room for the first only.
         (urgent (and (memq (plist-get agent :activity) '(waiting failed)) reason)))
    (cl-flet ((join (separator &rest parts)
                (string-join (seq-remove #'string-empty-p (delq nil parts)) separator)))
      (join (format " %s " (todo-write-text-shape 'dot))
            urgent
            (todo-write-hands-note thread)
            (and files
                 (propertize (concat (todo-write-text-count files "file") " to review")
                             'face 'todo-write-lines-new))
            (join " "
                  (and (> refused 0)
                       (format "%s%d refused" (todo-write-text-shape 'refused) refused))
                  (and (<= 70 (or (plist-get agent :context) 0))
                       (todo-write-row-context agent))
                  (or (and (not urgent) reason)
                      (todo-write-list-cells-ending agent)
                      (and current (not urgent) (todo-write-row-text current 'in_progress))
                      (and (memq (plist-get summary :state) '(nil empty))
                           (plist-get agent :activity)
                           (todo-write-turns-name (cadr (todo-write-turns-headings thread 1))
                                                  200))))))))

(provide 'todo-write-list-cells)
;;; todo-write-list-cells.el ends here
