;;; todo-write-list.el --- All agents and their plans  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `M-x todo-write-list', or `C-u s' in a plan, lists the agents of all projects:
;; first those that need you, then those that are done and unseen, working, idle, and
;; in an unknown state; see todo-write-attention.el.  Of threads of earlier sessions, no
;; journal is read.

;;; Code:

(require 'todo-write)
(require 'todo-write-agent)
(require 'todo-write-attention)
(require 'todo-write-commands)
(require 'todo-write-hands)
(require 'todo-write-list-cells)
(require 'todo-write-menu)
(require 'todo-write-page)
(require 'todo-write-resume)
(require 'todo-write-row)
(require 'todo-write-text)
(require 'todo-write-view-move)
(require 'todo-write-visit)

(defconst todo-write-list-hours 12
  "Hours for which `todo-write-list' shows an idle agent.
Older ones are folded to a count, which RET unfolds.")

;;; Agents

(defun todo-write-list--old-p (agent)
  "Return non-nil if AGENT is folded to the count of older ones.
It has been idle for `todo-write-list-hours', or its user left that
session for another one."
  (or (plist-get agent :left)
      (and (memq (plist-get agent :attention) '(idle unknown))
           (< (/ (plist-get agent :since) 1000.0)
              (- (float-time) (* 3600 todo-write-list-hours))))))

;;; The overview

(defconst todo-write-list--buffer "*todo-write-list*"
  "Name of the overview's buffer.")

(defvar-local todo-write-list--agents nil
  "The agents in the overview, an alist of their keys and plists.")

(defvar-local todo-write-list--unfolded nil
  "Non-nil shows older agents.")

(define-derived-mode todo-write-list-mode tabulated-list-mode "Agents"
  "Major mode of the list of all agents, one a row.

\\{todo-write-list-mode-map}"
  :interactive nil
  (todo-write-menu-begin-mode)
  (todo-write-page-set-up-table
   (lambda ()
     ;; Rows keep their order while the user is there.
     (todo-write-list--read (eq (current-buffer) (window-buffer))))
   (lambda ()
     (run-hooks 'todo-write-list-refresh-hook)
     (todo-write-list--print)))
  ;; Emacs 28 never forgets an `add-hook' with a depth.
  (setq-local context-menu-functions (list t #'todo-write-menu-context)
              todo-write-page-table-sorts t)
  (add-hook 'todo-write-agent-functions #'todo-write-list--on-change)
  (add-hook 'todo-write-events-functions #'todo-write-list--on-change)
  (todo-write-hands-watch 'list t)
  (dolist (hook '(kill-buffer-hook change-major-mode-hook))
    (add-hook hook #'todo-write-list--stop nil t)))

(todo-write-menu-define 'todo-write-list-mode todo-write-list-mode-map "Agents"
  `(("Agent"
     ("RET" "Show its plan" todo-write-list-show)
     ("o" "Go to its buffer" todo-write-view-visit-agent)
     ("v" "Review what is new" todo-write-review)
     ("=" "Show its diff" todo-write-show-diff)
     ("S" "Tell the agent…" todo-write-tell)
     ("i" "Tokens, context, cost" todo-write-view-information)
     ("O" "Resume an ended session…" todo-write-resume-session)
     ("m" "Seen or unseen" todo-write-list-toggle-seen)
     ("d" "Dismiss" todo-write-list-dismiss)
     ("k" "Forget…" todo-write-list-forget))
    ("List"
     ("TAB" "Show or hide older ones" todo-write-list-toggle-older)
     ("g" "Refresh" revert-buffer))
    . ,todo-write-menu-common))

(defun todo-write-list--stop ()
  "Stop following agents."
  (remove-hook 'todo-write-agent-functions #'todo-write-list--on-change)
  (remove-hook 'todo-write-events-functions #'todo-write-list--on-change)
  (todo-write-hands-watch 'list nil))

(defun todo-write-list--on-change (&optional _thread what &rest _)
  "Draw the overview soon, unless WHAT is an event that does not change it.
For `todo-write-agent-functions' and `todo-write-events-functions'."
  (unless (eq what 'spinner)
    (if-let* ((buffer (get-buffer todo-write-list--buffer)))
        (todo-write-later buffer)
      ;; Buffers may be killed without running their hooks.
      (todo-write-list--stop))))

;;; Rows

(defun todo-write-list--columns (width)
  "Return the columns that fit WIDTH, as for `tabulated-list-format'.
The last one gets half of the free space.  It says why an agent waits, so
a narrow WIDTH omits others."
  (let ((free (- width 39)) omitted)
    (pcase-dolist (`(,name . ,freed) '(("Agent" . 9) ("Since" . 7) ("Done" . 6) ("Project" . 1)))
      (when (< free 36)
        (cl-incf free freed)
        (push name omitted)))
    (let ((now (min 60 (max 18 (/ free 2))))
          (project (if (member "Project" omitted) 0 (max 8 (min 20 (/ free 6))))))
      (seq-remove (lambda (column) (member (car column) omitted))
                  `(("State" 11) ("Since" 6 nil :right-align t) ("Agent" 8)
                    ("Project" ,project) ("Plan" ,(max 8 (- free now project)))
                    ("Done" 5 nil :right-align t) ("Now" ,now))))))

(defun todo-write-list--entry (agent others columns)
  "Return the row of AGENT in COLUMNS.
If one of OTHERS has the same title and folder name, a short id precedes it."
  (let* ((thread (plist-get agent :thread))
         (summary (plist-get agent :plan))
         (id (and (todo-write-list-cells-alike agent others)
                  (concat (todo-write-text-line
                           (or (plist-get (todo-write-core-call todo-write-dyn--identity thread)
                                          :session)
                               thread)
                           7)
                          " "))))
    (list thread
          (vconcat
           (mapcar
            (pcase-lambda (`(,name ,width . ,_))
              (pcase name
                ("Project" (todo-write-text-helped (or (todo-write-agent-folder agent) "")
                                                   (todo-write-agent-path agent)))
                ("Plan" (list (concat id (todo-write-agent-label agent))
                              'face 'todo-write-title 'follow-link t
                              'help-echo "RET, mouse-1: show this plan"
                              'action #'todo-write-list-show))
                (_
                 ;; Without help, the tooltip is the cell, with keys replaced.
                 (todo-write-text-helped
                  (pcase name
                    ("State" (todo-write-list-cells-state agent))
                    ("Since" (todo-write-list-cells-age agent))
                    ("Agent" (todo-write-list-cells-program agent))
                    ("Done" (if (memq (plist-get summary :state) '(nil empty)) ""
                              (todo-write-row-count summary)))
                    ("Now" (todo-write-text-truncate (todo-write-list-cells-now agent summary)
                                                     width)))))))
            columns)))))

(defvar todo-write-list-refresh-hook nil
  "Hook, run before `g' lists the agents again, as to look for new ones.")

(defun todo-write-list--print ()
  "Print all rows, sorted."
  (setq todo-write-list--agents nil)
  (funcall todo-write-events-draw))

(defun todo-write-list--read (keep)
  "Return all rows, as for `todo-write-page-set-up-table'.
KEEP non-nil means that those that are there keep their order."
  ;; Ages run.
  (todo-write-later (current-buffer) 30)
  (let* ((before (and keep todo-write-list--agents))
         (agents (seq-group-by
                  (lambda (agent)
                    (not (or todo-write-list--unfolded
                             (not (todo-write-list--old-p agent))
                             (assoc (plist-get agent :thread) before))))
                  (todo-write-list-cells-known-agents)))
         (older (length (cdr (assq t agents))))
         (sorted (mapcar (lambda (agent) (cons (plist-get agent :thread) agent))
                         (cdr (assq nil agents))))
         (titles (seq-group-by (lambda (agent) (plist-get (cdr agent) :title)) sorted))
         (known (delq nil (mapcar (lambda (old) (assoc (car old) sorted)) before)))
         (shown (mapcar (lambda (agent) (if (assoc (car agent) before) (pop known) agent)) sorted))
         (window (get-buffer-window nil t))
         (columns (todo-write-list--columns (if window (window-body-width window) 100))))
    (setq todo-write-list--agents shown)
    (list columns
          (mapcar (pcase-lambda (`(,_ . ,agent))
                    (todo-write-list--entry
                     agent (mapcar #'cdr (cdr (assoc (plist-get agent :title) titles))) columns))
                  shown)
          (unless (equal shown sorted)
            '(:propertize " g sorts" face todo-write-paused))
          (when (> older 0)
            (todo-write-row-button
             (propertize (format " %d older; RET shows %s\n" older (if (> older 1) "them" "it"))
                         'face 'todo-write-time)
             'todo-write-button "RET, mouse-1: show them" 'todo-write-older t
             'action (lambda (_) (todo-write-list-toggle-older)))))))

;;;###autoload
(defun todo-write-list ()
  "List all agents and what they do; return the buffer."
  (interactive)
  ;; Redisplay draws this buffer and could not get the module.
  (todo-write-core-configure)
  (let ((folder default-directory))
    (todo-write-page-pop-to todo-write-list--buffer 'todo-write-list-mode nil)
    (setq default-directory folder)
    (let ((is-new (zerop (buffer-size))))
      (todo-write-list--print)
      ;; An empty buffer has point at its end, where it would stay.
      (when is-new (goto-char (point-min))))
    (current-buffer)))

;;; Commands

(defun todo-write-list--agent ()
  "Return the agent at point, or signal a `user-error'."
  (todo-write-menu-require 'todo-write-list-mode)
  (or (cdr (assoc (tabulated-list-get-id) todo-write-list--agents))
      (user-error "No agent here")))

(defun todo-write-list-show (&optional button)
  "Show the plan of the agent at point, or that of the row with BUTTON.
On the count, show older agents."
  (interactive nil todo-write-list-mode)
  ;; Clicking a button does not move point.
  (when button
    (goto-char (button-start button)))
  (if (get-text-property (point) 'todo-write-older)
      (todo-write-list-toggle-older)
    (todo-write-switch (plist-get (todo-write-list--agent) :thread))))

(defun todo-write-list-toggle-older ()
  "Show the agents that have been idle for long, or hide them.
Long is more than `todo-write-list-hours'."
  (interactive nil todo-write-list-mode)
  (todo-write-menu-require 'todo-write-list-mode)
  (setq todo-write-list--unfolded (not todo-write-list--unfolded))
  (todo-write-list--print))

(defun todo-write-list--threads-here ()
  "Return the keys of the agents in the active region, else of that at point."
  (if (not (use-region-p))
      (list (plist-get (todo-write-list--agent) :thread))
    (let ((end (region-end)) threads)
      (save-excursion
        (goto-char (region-beginning))
        (forward-line 0)
        (while (< (point) end)
          (when (stringp (tabulated-list-get-id))
            (push (tabulated-list-get-id) threads))
          (forward-line)))
      (or (nreverse threads) (user-error "No agent in the region")))))

(defun todo-write-list--agents-here ()
  "Return the agents in the active region or at point, and load their threads."
  (delq nil (mapcar #'todo-write-agent-restore (todo-write-list--threads-here))))

(defun todo-write-list-toggle-seen ()
  "Toggle whether the agent at point counts as seen.
If the region is active, all agents in it get the mark of the first one."
  (interactive nil todo-write-list-mode)
  (let* ((agents (or (seq-remove (lambda (agent) (plist-get agent :activity))
                                 (todo-write-list--agents-here))
                     (user-error "Only an agent that is done is seen or unseen")))
         (unseen (not (eq 'unseen (plist-get (car agents) :attention)))))
    (dolist (agent agents)
      (todo-write-agent-see (plist-get agent :thread) unseen))
    (message "Marked as %s; m undoes" (if unseen "unseen" "seen"))))

(defun todo-write-list-dismiss ()
  "Toggle whether the agent at point counts as idle until its next transition.
If the region is active, all agents in it are treated like the first one."
  (interactive nil todo-write-list-mode)
  (let* ((agents (todo-write-list--agents-here))
         (dismissed (not (plist-get (car agents) :dismissed))))
    (dolist (agent agents)
      (todo-write-agent-dismiss (plist-get agent :thread) dismissed))
    (message (if dismissed "Dismissed until the next activity; d undoes"
               "No longer dismissed"))))

(defun todo-write-list-forget ()
  "Forget the thread at point, or all in the active region, after a question.
That is its list, its history and its journal."
  (interactive nil todo-write-list-mode)
  (let ((threads (todo-write-list--threads-here)))
    (when (yes-or-no-p (if (cdr threads)
                           (format "Forget the plans of %d agents and their histories? "
                                   (length threads))
                         (format "Forget the plan of %s and its history? "
                                 (todo-write-agent-label (todo-write-list--agent)))))
      (todo-write-forget threads)
      (todo-write-list--print))))

(provide 'todo-write-list)
;;; todo-write-list.el ends here
