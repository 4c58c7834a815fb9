;;; todo-write-list.el --- All agents and their plans  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `M-x todo-write-list', or `C-u s' in a plan, lists the agents of all projects:
;; first those that need you, then those that are done and unseen, working, idle, and
;; in an unknown state; see todo-write-attention.el.  Of threads of earlier sessions, no
;; journal is read.
;;
;; `s' in a plan asks for another one of these with completion.

;;; Code:

(require 'todo-write-view)

(defconst todo-write-list-hours 12
  "Hours for which `todo-write-list' shows an idle agent.
Older ones are folded to a count, which RET unfolds.")

;;; Agents

(defun todo-write-list--earlier ()
  "Return the agents of the plans that have a journal, in any order."
  (cl-loop for kept in (todo-write-threads-kept)
           for about = (plist-get kept :about)
           unless (plist-get about :parent)
           collect (todo-write-agent-plist
                    (plist-get kept :key) kept
                    :since (plist-get kept :modified)
                    :attention (if (plist-get about :unseen) 'unseen 'idle)
                    :requests 0
                    :refused (or (plist-get about :refused) 0)
                    :kept kept)))

(defun todo-write-list--known-agents (earlier)
  "Return all agents, sorted; EARLIER is from `todo-write-list--earlier'."
  (let* ((agents (todo-write-agents))
         (threads (mapcar (lambda (agent) (plist-get agent :thread)) agents)))
    (sort (append agents
                  (seq-remove (lambda (agent) (member (plist-get agent :thread) threads))
                              earlier))
          #'todo-write-agent-before-p)))

(defun todo-write-list--old-p (agent)
  "Return non-nil if AGENT, long idle or left by its user, is folded to a count."
  (or (plist-get agent :left)
      (and (memq (plist-get agent :attention) '(idle unknown))
           (< (/ (plist-get agent :since) 1000.0)
              (- (float-time) (* 3600 todo-write-list-hours))))))

;;; Cells

(defconst todo-write-list--states
  '((waiting "!" todo-write-attention)
    (failed removed todo-write-failed)
    (done completed todo-write-done)
    (ended ended todo-write-done "stopped")
    (stopped removed todo-write-failed)
    (suspended paused todo-write-paused)
    (working in_progress todo-write-in-progress-shape)
    (idle pending todo-write-time)
    (unknown "?" todo-write-time))
  "Alist of (STATE SHAPE FACE WORD).
SHAPE is a string or as for `todo-write-text-shape'; without WORD, STATE
is the word.  `ended' is a turn that left tasks open.")

(defun todo-write-list--state (agent)
  "Return the state of AGENT as a shape and a word."
  (pcase-let* ((state (todo-write-agent-state agent))
               ;; The turn is done, and the work is not.
               (state (if (and (eq state 'done)
                               (memq (plist-get (plist-get agent :plan) :state) '(active paused)))
                          'ended state))
               (`(,shape ,face ,word) (alist-get state todo-write-list--states)))
    (propertize (format "%s %s" (if (stringp shape) shape (todo-write-text-shape shape))
                        (or word state))
                'face (if (plist-get agent :dismissed) 'todo-write-time face))))

(defun todo-write-list--ending (agent)
  "Return how AGENT stopped, in parentheses, or nil."
  (pcase (todo-write-agent-stopped agent)
    ('killed "(killed)")
    ('denied "(permission denied)")
    ('error "(error)")))

(defun todo-write-list--age (agent)
  "Return for how long AGENT has been in its state."
  (propertize (todo-write-text-age (/ (plist-get agent :since) 1000.0))
              'face 'todo-write-time))

(defun todo-write-list--program (agent)
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

(defun todo-write-list--now (agent)
  "Return what needs you at AGENT, and why it waits or what it works on."
  (let* ((summary (plist-get agent :plan))
         (current (plist-get summary :current))
         (thread (plist-get agent :thread))
         (reason (todo-write-agent-reason agent))
         (files (plist-get agent :new))
         (refused (or (plist-get agent :refused) 0))
         ;; A narrow column has room for the first only.
         (urgent (and (memq (plist-get agent :activity) '(waiting failed)) reason)))
    (todo-write-text-dotted
     urgent
     (todo-write-agent-unsaved-note thread)
     (and files
          (propertize (concat (todo-write-text-count files "file") " to review")
                      'face 'todo-write-lines-new))
     (and (> refused 0) (format "%s%d refused" (todo-write-text-shape 'refused) refused))
     (and (<= 70 (or (plist-get agent :context) 0)) (todo-write-row-context agent))
     (or (and (not urgent) reason)
         (todo-write-list--ending agent)
         (and current (not urgent) (todo-write-text-of-item current 'in_progress))
         (and (memq (plist-get summary :state) '(nil empty))
              (plist-get agent :activity)
              (todo-write-story-heading-name
               (cadr (todo-write-story-headings thread 1)) 200))))))

;;; The overview

(defconst todo-write-list--buffer "*todo-write-list*"
  "Name of the overview's buffer.")

(defvar-local todo-write-list--known nil
  "A value of `todo-write-list--earlier' and when it was read, a cons, or nil.")

(defvar-local todo-write-list--agents nil
  "The agents that were drawn last, in the order of their rows.")

(defvar-local todo-write-list--unfolded nil
  "Non-nil shows older agents.")

(define-derived-mode todo-write-list-mode tabulated-list-mode "Agents"
  "Major mode of the list of all agents, one a row.

\\{todo-write-list-mode-map}"
  :interactive nil
  (todo-write-buffer-set-up-table
   (lambda ()
     ;; Rows keep their order while the user is there.
     (todo-write-list--read (eq (current-buffer) (window-buffer))))
   #'todo-write-switch
   :revert #'todo-write-list--print
   :toggle #'todo-write-list--toggle-older)
  (add-hook 'todo-write-agent-functions #'todo-write-list--on-change)
  (add-hook 'todo-write-events-functions #'todo-write-list--on-change)
  (dolist (hook '(kill-buffer-hook change-major-mode-hook))
    (add-hook hook #'todo-write-list--stop nil t)))

(todo-write-menu-define 'todo-write-list-mode todo-write-list-mode-map "Agents"
  `(("Agent"
     ("RET" "Show its plan" todo-write-buffer-visit)
     ("o" "Go to its buffer" todo-write-view-visit-agent)
     ("v" "Review what is new" todo-write-review)
     ("=" "Show its diff" todo-write-show-diff)
     ("S" "Tell the agent…" todo-write-tell)
     ("i" "Tokens, context, cost" todo-write-view-information)
     ("O" "Resume an ended session…" todo-write-resume-session)
     ("m" "Seen or unseen" todo-write-list-toggle-seen)
     ("d" "Dismiss" todo-write-list-dismiss)
     ("k" "Forget…" todo-write-forget))
    ("List"
     ("TAB" "Show or hide older ones" todo-write-buffer-toggle)
     ("g" "Refresh" revert-buffer))
    . ,todo-write-menu-common))

(defun todo-write-list--stop ()
  "Stop following agents."
  (remove-hook 'todo-write-agent-functions #'todo-write-list--on-change)
  (remove-hook 'todo-write-events-functions #'todo-write-list--on-change))

(defun todo-write-list--on-change (&optional _thread what &rest _)
  "Draw the overview soon, after the event WHAT; for two hooks."
  (if-let* ((buffer (get-buffer todo-write-list--buffer)))
      (progn
        (when (memq what '(kept forgotten))
          (setf (buffer-local-value 'todo-write-list--known buffer) nil))
        (todo-write-later buffer))
    ;; Buffers may be killed without running their hooks.
    (todo-write-list--stop)))

;;; Rows

(defun todo-write-list--columns (width)
  "Return the columns that fit WIDTH, as for `tabulated-list-format'.
The last one says why an agent waits, so a narrow WIDTH omits others."
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

(defun todo-write-list--entry (agent columns age now)
  "Return the entry of AGENT in COLUMNS; AGE and NOW are cells."
  (let ((summary (plist-get agent :plan)))
    (list (plist-get agent :thread)
          (vconcat
           (mapcar
            (pcase-lambda (`(,name ,width . ,_))
              (pcase name
                ("Project" (todo-write-text-helped (or (todo-write-agent-folder agent) "")
                                                   (todo-write-agent-path agent)))
                ("Plan" (propertize (todo-write-agent-label agent) 'face 'todo-write-title
                                    'mouse-face 'highlight
                                    'help-echo "RET, mouse-1: show this plan"))
                (_
                 ;; Without help, the tooltip is the cell, with keys replaced.
                 (todo-write-text-helped
                  (pcase name
                    ("State" (todo-write-list--state agent))
                    ("Since" age)
                    ("Agent" (todo-write-list--program agent))
                    ("Done" (if (memq (plist-get summary :state) '(nil empty)) ""
                              (plist-get summary :count)))
                    ("Now" (todo-write-text-truncate now width)))))))
            columns)))))

(defun todo-write-list--print ()
  "Print all rows, sorted."
  (setq todo-write-list--known nil
        todo-write-list--agents nil)
  (funcall todo-write-events-draw))

(defun todo-write-list--read (keep)
  "Return all rows; KEEP non-nil means that those there keep their order."
  ;; Ages run.
  (todo-write-later (current-buffer) 30)
  ;; Journals change by other Emacsen only, and there may be many.
  (unless (and todo-write-list--known (< (- (float-time) (cdr todo-write-list--known)) 30))
    (setq todo-write-list--known (cons (todo-write-list--earlier) (float-time))))
  (let* ((before (and keep (mapcar (lambda (agent) (plist-get agent :thread))
                                   todo-write-list--agents)))
         (known (todo-write-list--known-agents (car todo-write-list--known)))
         (sorted (seq-filter (lambda (agent)
                               (or todo-write-list--unfolded
                                   (not (todo-write-list--old-p agent))
                                   (member (plist-get agent :thread) before)))
                             known))
         (older (- (length known) (length sorted)))
         ;; Those that were there, in their order, at the places of any of them.
         (by-key (mapcar (lambda (agent) (cons (plist-get agent :thread) agent)) sorted))
         (there (delq nil (mapcar (lambda (key) (cdr (assoc key by-key))) before)))
         (agents (mapcar (lambda (agent)
                           (if (member (plist-get agent :thread) before) (pop there) agent))
                         sorted))
         (columns (todo-write-list--columns (1+ todo-write-buffer-width))))
    (setq todo-write-list--agents agents)
    (list columns
          (todo-write-buffer-make
           #'todo-write-list--entry
           (mapcar (lambda (agent)
                     (list agent columns (todo-write-list--age agent)
                           (todo-write-list--now agent)))
                   agents))
          (unless (equal agents sorted)
            '(:propertize " g sorts" face todo-write-paused))
          (when (> older 0)
            (todo-write-row-button
             (propertize (format " %d older; RET shows %s\n" older (if (> older 1) "them" "it"))
                         'face 'todo-write-time)
             "RET, mouse-1: show them"
             'action #'todo-write-list--toggle-older)))))

;;;###autoload
(defun todo-write-list ()
  "List all agents and what they do; return the buffer."
  (interactive)
  ;; Redisplay draws this buffer and could not get the module.
  (todo-write-core-configure)
  (let ((folder default-directory))
    (todo-write-buffer-pop-to todo-write-list--buffer 'todo-write-list-mode nil)
    (setq default-directory folder)
    (let ((is-new (zerop (buffer-size))))
      (todo-write-list--print)
      ;; An empty buffer has point at its end, where it would stay.
      (when is-new (goto-char (point-min))))
    (current-buffer)))

;;; Commands

(defun todo-write-list--toggle-older (_)
  "Show the agents that have been idle for `todo-write-list-hours', or hide them."
  (setq todo-write-list--unfolded (not todo-write-list--unfolded))
  (todo-write-list--print))

(defun todo-write-list--threads-here ()
  "Return the keys of the agents in the active region, else of that at point."
  (todo-write-buffer-require 'todo-write-list-mode)
  (if (use-region-p)
      (or (todo-write-buffer-in-region #'tabulated-list-get-id)
          (user-error "No agent in the region"))
    (list (or (tabulated-list-get-id) (user-error "No agent here")))))

(defun todo-write-list--agent-here ()
  "Return the agent at point, and load its thread."
  (todo-write-agent-restore (car (todo-write-list--threads-here))))

(defun todo-write-list-toggle-seen ()
  "Toggle whether the agent at point counts as seen."
  (interactive nil todo-write-list-mode)
  (let* ((agent (todo-write-list--agent-here))
         (unseen (not (eq 'unseen (plist-get agent :attention)))))
    (when (plist-get agent :activity)
      (user-error "Only an agent that is done is seen or unseen"))
    (todo-write-agent-see (plist-get agent :thread) unseen)
    (message "Marked as %s; m undoes" (if unseen "unseen" "seen"))))

(defun todo-write-list-dismiss ()
  "Toggle whether the agent at point counts as idle until its next transition."
  (interactive nil todo-write-list-mode)
  (let* ((agent (todo-write-list--agent-here))
         (dismissed (not (plist-get agent :dismissed))))
    (todo-write-agent-dismiss (plist-get agent :thread) dismissed)
    (message (if dismissed "Dismissed until the next activity; d undoes"
               "No longer dismissed"))))

(defun todo-write-list-to-forget ()
  "Return the thread at point, or those in the active region, after a question."
  (let ((threads (todo-write-list--threads-here)))
    (unless (yes-or-no-p (if (cdr threads)
                             (format "Forget the plans of %d agents and their histories? "
                                     (length threads))
                           (format "Forget the plan of %s and its history? "
                                   (todo-write-agent-label
                                    (seq-find (lambda (agent)
                                                (equal (car threads) (plist-get agent :thread)))
                                              todo-write-list--agents)))))
      (user-error "Nothing is forgotten"))
    threads))

;;; Completion

(defun todo-write-read-thread (prompt)
  "Read a thread with PROMPT and completion of titles; return its key.
They are grouped by state, with progress, agent, age and project beside
them.  Signal a `user-error' if there is no thread."
  (todo-write-buffer-read
   prompt 'todo-write-plan
   (mapcar (lambda (agent)
             `(,(todo-write-text-line
                 (or (plist-get agent :title) (todo-write-agent-label agent)) 60)
               ,(plist-get agent :thread) . ,agent))
           (or (todo-write-list--known-agents (todo-write-list--earlier))
               (todo-write-buffer-signal-no-plan)))
   (lambda (agent)
     (mapcar (lambda (cell) (todo-write-text-truncate cell 30))
             (list (or (plist-get (plist-get agent :plan) :count) "0/0")
                   (string-join (delq nil (list (todo-write-list--state agent)
                                                (todo-write-list--ending agent)))
                                " ")
                   (todo-write-list--program agent)
                   (todo-write-list--age agent)
                   (todo-write-text-line (or (todo-write-agent-folder agent) "")))))
   (lambda (agent) (symbol-name (todo-write-agent-state agent)))))

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

(provide 'todo-write-list)
;;; todo-write-list.el ends here
