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
(require 'todo-write-agents)
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

(defvar-local todo-write-list--older nil
  "Keys of the agents that are folded to a count.")

(defvar-local todo-write-list--unfolded nil
  "Non-nil shows older agents.")

(defvar-local todo-write-list--unsorted nil
  "Non-nil if rows kept their places when their states changed.")

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
  (add-hook 'todo-write-hands-functions #'todo-write-list--on-hands)
  (unless todo-write-list--timer
    (setq todo-write-list--timer (run-at-time 30 30 #'todo-write-list--tick)))
  (add-hook 'window-size-change-functions
            (lambda (window)
              (with-current-buffer (window-buffer window)
                (unless (equal (todo-write-list--columns (window-body-width window))
                               tabulated-list-format)
                  (todo-write-list--print))))
            nil t)
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
  (todo-write-hands-watch 'list nil)
  (remove-hook 'todo-write-hands-functions #'todo-write-list--on-hands))

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
                                                      (car (last (split-string thread ":"))) 7)
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

(defun todo-write-list--keep (draw)
  "Call DRAW, which edits the buffer; keep windows at their agents' rows.
Their beginnings stay at their lines."
  (let ((inhibit-read-only t))
    (todo-write-page-keep (lambda (position &optional start)
                            (if start (list nil 0 (line-number-at-pos position))
                              (todo-write-page-row position)))
                          #'todo-write-page-of-row draw)))

(defvar todo-write-list-refresh-hook nil
  "Hook, run before `g' lists the agents again, as to look for new ones.")

(defun todo-write-list--print (&rest _)
  "Print all rows, sorted; windows stay where they are, at their agents' rows."
  (let* ((window (get-buffer-window nil t))
         (agents (seq-group-by (lambda (agent) (and (todo-write-list--folded-p agent) t))
                               (todo-write-list-cells-known-agents)))
         (shown (cdr (assq nil agents)))
         (titles (seq-group-by (lambda (agent) (plist-get agent :title)) shown)))
    (setq todo-write-list--older (mapcar (lambda (agent) (plist-get agent :thread))
                                         (cdr (assq t agents)))
          tabulated-list-format
          (todo-write-list--columns (if window (window-body-width window) 100)))
    (tabulated-list-init-header)
    (clrhash todo-write-list--agents)
    (dolist (agent shown)
      (puthash (plist-get agent :thread) agent todo-write-list--agents))
    (todo-write-list--set-unsorted nil)
    (setq tabulated-list-entries
          (mapcar (lambda (agent)
                    (todo-write-list--entry
                     agent (cdr (assoc (plist-get agent :title) titles))))
                  shown))
    (todo-write-list--keep (lambda ()
                             (tabulated-list-print)
                             (todo-write-list--count-older)))))

(defun todo-write-list--set-unsorted (unsorted)
  "Note whether the rows are UNSORTED, and say so in the mode line."
  (setq todo-write-list--unsorted unsorted
        mode-line-process (and unsorted '(:propertize " g sorts" face todo-write-paused)))
  (force-mode-line-update))

(defun todo-write-list--folded-p (agent)
  "Return non-nil if AGENT is only counted among the older ones."
  (and (not todo-write-list--unfolded) (todo-write-list--old-p agent)))

(defun todo-write-list--count-older ()
  "Show at the end how many agents are folded, if any."
  (goto-char (point-max))
  (when (get-text-property (max (point-min) (1- (point))) 'todo-write-older)
    (delete-region (line-beginning-position 0) (point)))
  (when todo-write-list--older
    (insert (todo-write-row-button
             (propertize (format " %d older; RET shows %s\n" (length todo-write-list--older)
                                 (if (cdr todo-write-list--older) "them" "it"))
                         'face 'todo-write-time)
             'todo-write-button "RET, mouse-1: show them" 'todo-write-older t
             'action (lambda (_) (todo-write-list-toggle-older))))))

(defvar todo-write-list--undrawn nil
  "Agents whose rows are out of date, an alist of threads and (AGENT . WHAT).
These are as for `todo-write-list--update-row'.")

(defun todo-write-list--on-agent (thread old new)
  "Update the row of the agent of THREAD, which was OLD and is NEW.
For `todo-write-agent-functions'."
  (let ((what (cond ((null new) 'gone)
                    ((or (todo-write-agent-transition-p old new)
                         ;; It sorts elsewhere once its files are reviewed.
                         (and (eq 'unseen (plist-get new :attention))
                              (not (eq (null (plist-get old :new)) (null (plist-get new :new))))))
                     'transition)
                    (t 'change))))
    (cond ((null (get-buffer todo-write-list--buffer))
           ;; Buffers may be killed without running their hooks.
           (todo-write-list--stop))
          ((todo-write-events-draw-later #'todo-write-list--draw)
           (let ((before (cdr (alist-get thread todo-write-list--undrawn nil nil #'equal))))
             (setf (alist-get thread todo-write-list--undrawn nil nil #'equal)
                   (cons (or new old) (if (eq what 'change) (or before what) what)))))
          (t (with-current-buffer todo-write-list--buffer
               (todo-write-list--update-row (or new old) what))))))

(defun todo-write-list--on-event (_thread what _data)
  "Draw all rows if WHAT is that more was read of earlier sessions.
For `todo-write-events-functions'."
  (when-let* (((eq what 'kept))
              (buffer (get-buffer todo-write-list--buffer)))
    (with-current-buffer buffer
      (todo-write-list--print))))

(defun todo-write-list--on-hands (thread)
  "Draw the row of the agent of THREAD: its note changed."
  (when-let* ((agent (todo-write-agent thread)))
    (todo-write-list--on-agent thread agent agent)))

(defconst todo-write-list--most-drawn 10
  "Maximum number of rows that are drawn at once for themselves.
One more may get a mark that tells it from one of them.")

(defun todo-write-list--draw ()
  "Draw rows that are out of date; if those are many, the others a little later.
A thousand sessions may begin at once."
  (let ((undrawn (reverse todo-write-list--undrawn)))
    (setq todo-write-list--undrawn (reverse (nthcdr todo-write-list--most-drawn undrawn)))
    (when-let* ((buffer (get-buffer todo-write-list--buffer)))
      (when todo-write-list--undrawn
        (todo-write-events-soon 0.01 #'todo-write-list--draw))
      (with-current-buffer buffer
        (pcase-dolist (`(,_ ,agent . ,what) (seq-take undrawn todo-write-list--most-drawn))
          (todo-write-list--update-row agent what))))))

(defun todo-write-list--update-row (agent what)
  "Update the row of AGENT after WHAT happened, unless it is folded.
WHAT is `transition', `gone' or, if only something else differs, `change'.
The row keeps its place while the selected window shows the overview."
  (let* ((key (plist-get agent :thread))
         (shown (gethash key todo-write-list--agents))
         (start (and shown (todo-write-page-find-row (plist-get shown :thread))))
         (place (pcase what
                  ('change start)
                  ((and 'transition (guard (and start (eq (current-buffer) (window-buffer)))))
                   (todo-write-list--set-unsorted t)
                   start)))
         (folded (and (not start) (not (eq what 'gone)) (todo-write-list--folded-p agent))))
    (unless (eq (not folded) (not (member key todo-write-list--older)))
      (setq todo-write-list--older (if folded (cons key todo-write-list--older)
                                     (remove key todo-write-list--older)))
      (let ((inhibit-read-only t))
        (save-excursion
          (todo-write-list--count-older))))
    (cond (folded)
          ((and todo-write-list--unsorted (not place))
           (todo-write-list--print))
          (t (todo-write-list--replace-row agent start place (eq what 'gone))))))

(defun todo-write-list--replace-row (agent start place gone)
  "Replace the row of AGENT at START, if it has one, by a new one at PLACE.
PLACE nil stands for where AGENT sorts now; GONE non-nil means no new row."
  (let* ((key (plist-get agent :thread))
         (old (gethash key todo-write-list--agents)))
    (if gone
        (remhash key todo-write-list--agents)
      (puthash key agent todo-write-list--agents))
    (todo-write-list--keep
     (lambda ()
       (when start
         (goto-char start)
         (delete-region start (line-beginning-position 2)))
       (unless gone
         (goto-char (or place (point-min)))
         (unless place
           ;; The first row that sorts after it.
           (while (and (tabulated-list-get-id)
                       (not (todo-write-agents-before-p
                             agent (gethash (tabulated-list-get-id) todo-write-list--agents))))
             (forward-line)))
         (apply #'tabulated-list-print-entry
                (todo-write-list--entry
                 agent (hash-table-values todo-write-list--agents))))))
    (unless (and old (not gone)
                 (cl-loop for name in '(:title :project)
                          always (equal (plist-get old name) (plist-get agent name))))
      ;; If only one other agent has its title, that begins or ceases to need a mark that
      ;; tells it from this one.  Of several, each has a mark already.
      (dolist (one (delq nil (list old (unless gone agent))))
        (pcase (seq-remove (lambda (other) (equal key (plist-get other :thread)))
                           (todo-write-list-cells-alike
                            one (hash-table-values todo-write-list--agents)))
          (`(,other) (todo-write-list--on-agent (plist-get other :thread) other other)))))))

(defun todo-write-list--tick ()
  "Update the ages in the overview if it has their column and a window shows it."
  (let ((buffer (get-buffer todo-write-list--buffer)))
    (cond ((null buffer) (todo-write-list--stop))
          ((get-buffer-window buffer 0)
           (with-current-buffer buffer
             (when (seq-find (lambda (column) (equal "Since" (car column)))
                             tabulated-list-format)
               (save-excursion
                 (goto-char (point-min))
                 (while (tabulated-list-get-id)
                   (tabulated-list-set-col
                    "Since" (todo-write-list-cells-age (todo-write-list--agent)))
                   (forward-line)))))))))

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
  (delq nil (mapcar #'todo-write-agents-restore (todo-write-list--threads-here))))

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
