;;; todo-write-list.el --- All agents and their plans  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `M-x todo-write-list', or `C-u s' in a plan, lists the agents of all projects:
;; first those that need you, then those that are done and unseen, working, idle, and
;; in an unknown state; see todo-write-attention.el.  Of threads of earlier sessions, no
;; journal is read.

;;; Code:

(require 'tabulated-list)
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
  "Hash table from the keys in the overview to their agents.")

(defvar-local todo-write-list--unfolded nil
  "Non-nil shows older agents.")

(defvar-local todo-write-list--stale nil
  "Non-nil if agents changed while no window showed them.")

(defvar-local todo-write-list--printed nil
  "What the overview shows, a list (COLUMNS ENTRIES OLDER).")

(defvar todo-write-list--cost 0
  "Seconds that it took to draw the overview last.")

(defvar todo-write-list--timer nil
  "Timer that updates ages, or nil.")

(define-derived-mode todo-write-list-mode tabulated-list-mode "Agents"
  "Major mode of the list of all agents, one a row.

\\{todo-write-list-mode-map}"
  :interactive nil
  (todo-write-menu-begin-mode)
  (todo-write-page-set-up-list (lambda (&rest _)
                                 (run-hooks 'todo-write-list-refresh-hook)
                                 (todo-write-list--print)))
  (setq todo-write-list--agents (make-hash-table :test #'equal))
  ;; Emacs 28 never forgets an `add-hook' with a depth.
  (setq-local context-menu-functions (list t #'todo-write-menu-context))
  (add-hook 'todo-write-agent-functions #'todo-write-list--on-agent)
  (add-hook 'todo-write-events-functions #'todo-write-list--on-event)
  (todo-write-hands-watch 'list t)
  (unless todo-write-list--timer
    (setq todo-write-list--timer (run-at-time 30 30 #'todo-write-list--on-agent)))
  (dolist (hook '(window-size-change-functions window-buffer-change-functions))
    (add-hook hook #'todo-write-list--fit nil t))
  (add-hook 'kill-buffer-hook #'todo-write-list--stop nil t)
  (add-hook 'change-major-mode-hook #'todo-write-list--stop nil t))

(define-key todo-write-list-mode-map [mouse-1] #'todo-write-page-click)

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
  (when todo-write-list--timer
    (cancel-timer todo-write-list--timer)
    (setq todo-write-list--timer nil))
  (remove-hook 'todo-write-agent-functions #'todo-write-list--on-agent)
  (remove-hook 'todo-write-events-functions #'todo-write-list--on-event)
  (todo-write-hands-watch 'list nil))

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
      (vconcat (seq-remove (lambda (column) (member (car column) omitted))
                           `(("State" 11) ("Since" 6 nil :right-align t) ("Agent" 8)
                             ("Project" ,project) ("Plan" ,(max 8 (- free now project)))
                             ("Done" 5 nil :right-align t) ("Now" ,now)))))))

(defun todo-write-list--entry (agent others)
  "Return the row of AGENT.
If one of OTHERS has the same title and folder name, a short id precedes it."
  (let ((thread (plist-get agent :thread))
        (summary (plist-get agent :plan)))
    (cl-flet ((cell (name width)
                (pcase name
                  ("State" (todo-write-list-cells-state agent))
                  ("Since" (todo-write-list-cells-age agent))
                  ("Agent" (todo-write-list-cells-program agent))
                  ("Project" (todo-write-text-helped (or (todo-write-agent-folder agent) "")
                                                     (todo-write-agent-path agent)))
                  ("Plan" (list (concat (and (todo-write-list-cells-alike agent others)
                                             (concat (todo-write-text-line
                                                      (or (plist-get
                                                           (todo-write-core-call
                                                               todo-write-dyn--identity thread)
                                                           :session)
                                                          thread)
                                                      7)
                                                     " "))
                                        (todo-write-agent-label agent))
                                'face 'todo-write-title 'follow-link t
                                'help-echo "RET, mouse-1: show this plan"
                                'action #'todo-write-list-show))
                  ("Done" (if (memq (plist-get summary :state) '(nil empty)) ""
                            (todo-write-row-count summary)))
                  ("Now" (todo-write-text-truncate (todo-write-list-cells-now agent summary)
                                                   width)))))
      (list thread
            (vconcat
             (mapcar (pcase-lambda (`(,name ,width . ,_))
                       (let ((cell (cell name width)))
                         ;; Otherwise the tooltip is the cell, with keys replaced.
                         (if (or (consp cell) (get-text-property 0 'help-echo cell))
                             cell
                           (todo-write-text-helped cell))))
                     tabulated-list-format))))))

(defvar todo-write-list-refresh-hook nil
  "Hook, run before `g' lists the agents again, as to look for new ones.")

(defun todo-write-list--print (&optional keep)
  "Print all rows, sorted; windows stay where they are, at their agents' rows.
KEEP non-nil means that those that are there keep their order."
  (let* ((window (get-buffer-window nil t))
         (before (and keep todo-write-list--agents))
         (agents (seq-group-by
                  (lambda (agent)
                    (not (or todo-write-list--unfolded
                             (not (todo-write-list--old-p agent))
                             (and before (gethash (plist-get agent :thread) before)))))
                  (todo-write-list-cells-known-agents)))
         (older (length (cdr (assq t agents))))
         (sorted (cdr (assq nil agents)))
         (titles (seq-group-by (lambda (agent) (plist-get agent :title)) sorted))
         (shown sorted)
         (inhibit-read-only t)
         printed)
    (setq todo-write-list--stale nil
          todo-write-list--agents (make-hash-table :test #'equal))
    (dolist (agent sorted)
      (puthash (plist-get agent :thread) agent todo-write-list--agents))
    (when before
      (let ((known (cl-loop for (id) in tabulated-list-entries
                            for agent = (gethash id todo-write-list--agents)
                            when agent collect agent)))
        (setq shown (mapcar (lambda (agent)
                              (if (gethash (plist-get agent :thread) before) (pop known) agent))
                            sorted))))
    (setq tabulated-list-format
          (todo-write-list--columns (if window (window-body-width window) 100))
          mode-line-process (unless (equal shown sorted)
                              '(:propertize " g sorts" face todo-write-paused))
          tabulated-list-entries
          (mapcar (lambda (agent)
                    (todo-write-list--entry
                     agent (cdr (assoc (plist-get agent :title) titles))))
                  shown))
    (force-mode-line-update)
    ;; Most changes of agents show nowhere.
    (unless (equal-including-properties
             todo-write-list--printed
             (setq printed (list tabulated-list-format tabulated-list-entries older)))
      (tabulated-list-init-header)
      ;; The beginnings of windows stay at their lines.
      (todo-write-page-keep (lambda (position &optional start)
                              (if start (list nil 0 (line-number-at-pos position))
                                (todo-write-page-row position)))
                            #'todo-write-page-of-row
                            (lambda ()
                              (tabulated-list-print)
                              (todo-write-list--count older)))
      (setq todo-write-list--printed printed))))

(defun todo-write-list--count (older)
  "Show at the end that OLDER agents are folded, if any."
  (when (> older 0)
    (goto-char (point-max))
    (insert (todo-write-row-button
             (propertize (format " %d older; RET shows %s\n" older (if (> older 1) "them" "it"))
                         'face 'todo-write-time)
             'todo-write-button "RET, mouse-1: show them" 'todo-write-older t
             'action (lambda (_) (todo-write-list-toggle-older))))))

(defun todo-write-list--on-agent (&rest _)
  "Draw the overview soon, also since ages run.  For `todo-write-agent-functions'."
  (if (get-buffer todo-write-list--buffer)
      ;; A thousand sessions may begin at once.
      (todo-write-events-soon (max 0.1 (* 5 todo-write-list--cost)) #'todo-write-list--draw)
    ;; Buffers may be killed without running their hooks.
    (todo-write-list--stop)))

(defun todo-write-list--on-event (_thread what _data)
  "Draw the overview soon if WHAT shows there.  For `todo-write-events-functions'."
  (when (memq what '(kept hands))
    (todo-write-list--on-agent)))

(defun todo-write-list--draw ()
  "Draw the overview, now or when a window shows it.
Its rows keep their order while its window is selected."
  (if-let* ((buffer (get-buffer todo-write-list--buffer)))
      (with-current-buffer buffer
        (if (get-buffer-window buffer 0)
            (let ((start (float-time)))
              (todo-write-list--print (eq buffer (window-buffer)))
              (setq todo-write-list--cost (- (float-time) start)))
          (setq todo-write-list--stale t)))
    (todo-write-list--stop)))

(defun todo-write-list--fit (window)
  "Draw the overview in WINDOW if it does not fit or is stale."
  (with-current-buffer (window-buffer window)
    (unless (and (not todo-write-list--stale)
                 (equal (todo-write-list--columns (window-body-width window))
                        tabulated-list-format))
      (todo-write-list--print))))

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
  (or (gethash (tabulated-list-get-id) todo-write-list--agents)
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
