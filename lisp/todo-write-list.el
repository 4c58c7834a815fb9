;;; todo-write-list.el --- All agents and their plans  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `M-x todo-write-list', or `L' in a plan, lists the agents of all projects: first
;; those that need you, then those that are done and unseen, working, idle, and in
;; an unknown state; see todo-write-attention.el.  Threads of earlier sessions are
;; read without loading them, because another Emacs may be using them.
;;
;; `M-x todo-write-switch', or `s' in a plan, asks for one with completion.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'tabulated-list)
(require 'todo-write)
(require 'todo-write-attention)
(require 'todo-write-menu)
(require 'todo-write-page)
(require 'todo-write-row)
(require 'todo-write-view)

(defcustom todo-write-list-hours 12
  "Hours for which `todo-write-list' shows an idle agent.
Older ones are folded to a count, which RET unfolds."
  :type 'number
  :group 'todo-write-attention
  :package-version '(todo-write . "0.2.0"))

;;; Agents

(defun todo-write-list--known-agents ()
  "Return the sorted agents, those of earlier sessions last."
  (append (todo-write-attention--sorted-agents)
          (cl-loop for kept in (todo-write-threads-kept)
                   for about = (plist-get kept :about)
                   unless (or (todo-write-attention--agent (plist-get kept :key))
                              (plist-get about :parent))
                   collect (todo-write-agent--make
                            :key (plist-get kept :key) :activity 'rest
                            :project (plist-get about :project)
                            :program (plist-get about :agent)
                            :since (plist-get kept :modified)))))

(defun todo-write-list--old-p (agent)
  "Return non-nil if AGENT is folded to the count of older ones.
It has been idle for `todo-write-list-hours', or its user left that
session for another one."
  (or (todo-write-agent-left agent)
      (and (> (todo-write-attention--rank agent) 2)
           (< (/ (todo-write-agent-since agent) 1000.0)
              (- (float-time) (* 3600 todo-write-list-hours))))))

(defconst todo-write-list--states
  '((waiting "!" todo-write-attention)
    (failed removed todo-write-removed-shape)
    (done completed todo-write-done)
    (stopped removed todo-write-removed-shape)
    (suspended paused todo-write-paused)
    (working in_progress todo-write-in-progress-shape)
    (idle pending todo-write-time)
    (unknown "?" todo-write-time))
  "Alist of (STATE SHAPE FACE).
SHAPE is a string or as for `todo-write-row--shape'.")

(defun todo-write-list--state (agent)
  "Return the state of AGENT as a shape and a word."
  (pcase-let* ((state (todo-write-agent-state agent))
               (`(,shape ,face) (alist-get state todo-write-list--states)))
    (propertize (format "%s %s" (if (stringp shape) shape (todo-write-row--shape shape)) state)
                'face (if (todo-write-agent-dismissed agent) 'todo-write-time face))))

(defun todo-write-list--ending (agent)
  "Return how AGENT stopped, in parentheses, or nil."
  (when-let* ((words (todo-write-agent-ending-words agent)))
    (format "(%s)" words)))

(defun todo-write-list--age (agent)
  "Return for how long AGENT has been in its state."
  (propertize (todo-write-row--age (/ (todo-write-agent-since agent) 1000.0))
              'face 'todo-write-time))

(defun todo-write-list--program (agent)
  "Return the name of AGENT's program, or an empty string if it is unknown."
  (let ((name (or (todo-write-agent-program agent)
                  (pcase (split-string (todo-write-agent-key agent) ":")
                    ((or `("mcp" ,name . ,_) `(,name ,_ . ,_)) name)
                    (_ "")))))
    (pcase name
      ("claude" "Claude")
      ("codex" "Codex")
      (_ (todo-write-row-line name)))))

(defun todo-write-list--title (agent others)
  "Return the title of AGENT.
If one of OTHERS has the same title and folder name, the branch precedes
it, or a short id if the branches are equal or unknown."
  (let* ((alike (todo-write-list--alike agent others))
         (project (todo-write-agent-project agent))
         ;; The branch of a project that two agents share tells them apart no better.
         (branch (and alike
                      (not (seq-some (lambda (other)
                                       (equal (todo-write-agent-project other) project))
                                     alike))
                      (todo-write-list--branch agent)))
         (mark (cond ((null alike) "")
                     ((or (null branch)
                          (member branch (mapcar #'todo-write-list--branch alike)))
                      (todo-write-row-line
                       (car (last (split-string (todo-write-agent-key agent) ":"))) 7))
                     (t (todo-write-row-line branch 16)))))
    (concat mark (and alike " ") (todo-write-agent-label agent))))

(defun todo-write-list--alike (agent others)
  "Return those of OTHERS with the title and the folder name of AGENT."
  (when-let* ((title (todo-write-agent-title agent)))
    (let ((project (todo-write-agent-project agent)) folder)
      (seq-filter (lambda (other)
                    (and (not (eq other agent))
                         (equal (todo-write-agent-title other) title)
                         (or (equal (todo-write-agent-project other) project)
                             (equal (todo-write-agent-folder other)
                                    (or folder
                                        (setq folder (todo-write-agent-folder agent)))))))
                  others))))

(defun todo-write-list--branch (agent)
  "Return the Git branch that is checked out in AGENT's project, or nil."
  (let* (file-name-handler-alist
         (project (or (todo-write-agent-project agent) "/"))
         ;; In a linked worktree, a file names the folder.
         (folder (or (todo-write-list--line-after "gitdir: " (expand-file-name ".git" project))
                     ".git")))
    (todo-write-list--line-after "ref: refs/heads/"
                                 (expand-file-name (concat folder "/HEAD") project))))

(defun todo-write-list--line-after (prefix file)
  "Return the rest of the first line of FILE if that begins with PREFIX."
  (when-let* ((bytes (todo-write--file-bytes file 4096))
              (line (car (split-string (decode-coding-string bytes 'utf-8) "\n"))))
    (and (string-prefix-p prefix line)
         (substring line (length prefix)))))

(defun todo-write-list--now (agent summary)
  "Return why AGENT waits, failed or stopped, else the task in progress.
SUMMARY is that of its plan."
  (let ((reason (todo-write-agent-reason agent))
        (ending (todo-write-list--ending agent))
        (current (plist-get summary :current)))
    (string-join
     (delq nil
           (list (and (todo-write-attention--agent (todo-write-agent-key agent))
                      (todo-write-attention--refusal-words agent))
                 (cond (reason (todo-write-row-line reason))
                       (ending)
                       (current (todo-write-row--text current 'in_progress)))))
     " ")))

;;; Switching

(defun todo-write-list--read (prompt &optional new)
  "Read a thread with PROMPT and completion of titles; return its key.
They are grouped by state, with progress, agent, age and project beside
them.  The text property `todo-write-key' of a candidate is its key.
If NEW, a string, is non-nil, other input is the key of a new thread, by
default NEW; otherwise signal a `user-error' if there is no thread."
  (let* ((agents (todo-write-list--titled
                  (or (todo-write-list--known-agents)
                      (unless new (todo-write-list--signal-none)))))
         (input (progn
                  (todo-write-list--offer-actions)
                  (completing-read
                   prompt
                   (todo-write--completion-table
                    agents 'todo-write-plan
                    `(group-function
                      . ,(lambda (title transform)
                           (if transform title
                             (symbol-name (todo-write-agent-state (cdr (assoc title agents)))))))
                    `(affixation-function
                      . ,(lambda (titles)
                           (todo-write-list--affix
                            (mapcar (lambda (title) (assoc title agents)) titles)))))
                   nil (not new) nil nil (or new (caar agents)))))
         (agent (cdr (assoc input agents))))
    (if agent (todo-write-agent-key agent) input)))

(defun todo-write-list--thread-here ()
  "Return the key of the thread at point in the overview or of this buffer, or nil."
  (or todo-write-view-thread
      (and (derived-mode-p 'todo-write-list-mode) (tabulated-list-get-id))))

(defun todo-write-list--thread ()
  "Return the key of the thread that a command is about.
That is the one at point in the overview or of this buffer, by default
the one that `todo-write-show' shows.  Signal a `user-error' if there is
no thread."
  (or (todo-write-list--thread-here) (todo-write-view--default-thread)
      (todo-write-list--signal-none)))

(defun todo-write-list--signal-none ()
  "Signal a `user-error' that says where plans come from."
  (user-error "There is no plan yet; an agent begins one with todo_write"))

(defun todo-write-list--titled (agents)
  "Return AGENTS as an alist of (TITLE . AGENT), with different titles.
A title is plain text; where two are alike, the key or a number follows."
  (let (titled)
    (dolist (agent agents)
      (let* ((key (todo-write-agent-key agent))
             (title (todo-write-row-line
                     (or (todo-write-agent-title agent)
                         (plist-get (todo-write-summary key) :title)
                         key)
                     60))
             (unique title) (number 1))
        (while (assoc unique titled)
          (setq unique (format "%s <%s>" title
                               (if (= number 1) (todo-write-row-line key 60) number))
                number (1+ number)))
        (push (cons (propertize unique 'todo-write-key key) agent) titled)))
    (nreverse titled)))

(defun todo-write-list--affix (agents)
  "Return AGENTS, an alist of (TITLE . AGENT), with annotations in columns.
The value is as for `affixation-function'."
  (let* ((rows (mapcar (lambda (agent) (todo-write-list--cells (cdr agent))) agents))
         (title (apply #'max 0 (mapcar (lambda (agent) (todo-write-row--width (car agent)))
                                       agents)))
         (widths (apply #'cl-mapcar
                        (lambda (&rest cells) (apply #'max (mapcar #'todo-write-row--width cells)))
                        (or rows '(nil)))))
    (cl-mapcar
     (lambda (agent row)
       (list (car agent) ""
             (propertize
              (concat (make-string (- (+ 2 title) (todo-write-row--width (car agent))) ?\s)
                      (string-trim-right
                       (mapconcat #'identity
                                  (cl-mapcar (lambda (cell width)
                                               (concat cell (make-string
                                                             (- width (todo-write-row--width cell))
                                                             ?\s)))
                                             row widths)
                                  "  ")))
              'face 'completions-annotations)))
     agents rows)))

(defun todo-write-list--cells (agent)
  "Return what stands beside the title of AGENT in completion, a list of strings."
  (let ((summary (todo-write-summary (todo-write-agent-key agent))))
    (mapcar (lambda (cell) (todo-write-row--truncate cell 30))
            (list (todo-write-row--count summary)
                  (concat (todo-write-list--state agent)
                          (when-let* ((ending (todo-write-list--ending agent)))
                            (concat " " ending)))
                  (todo-write-list--program agent)
                  (todo-write-list--age agent)
                  (todo-write-row-line (or (todo-write-agent-place agent) ""))))))

;;; Embark

(defun todo-write-list--candidate-key (title)
  "Return the key of the plan with TITLE, a candidate of `todo-write-list--read'."
  (or (get-text-property 0 'todo-write-key title)
      (when-let* ((agent (cdr (assoc title (todo-write-list--titled
                                            (todo-write-list--known-agents))))))
        (todo-write-agent-key agent))
      (user-error "There is no such plan any more")))

(defun todo-write-list-visit-plan (title)
  "Go to the buffer of the agent whose plan has TITLE, a completion candidate."
  (todo-write-attention--visit-agent-of (todo-write-list--candidate-key title)))

(defun todo-write-list-forget-plan (title)
  "Forget the plan with TITLE, a completion candidate, after a question."
  (let ((key (todo-write-list--candidate-key title)))
    (when (yes-or-no-p (format "Forget the plan %s and its history? " title))
      (todo-write-forget key))))

(defvar todo-write-list-plan-map
  (let ((map (make-sparse-keymap)))
    (define-key map "o" #'todo-write-list-visit-plan)
    (define-key map "k" #'todo-write-list-forget-plan)
    map)
  "Keymap of Embark for plans in completion.")

(defvar embark-keymap-alist)

(defun todo-write-list--offer-actions ()
  "Give Embark, if it is loaded, the keymap of plans in completion."
  (when (boundp 'embark-keymap-alist)
    (add-to-list 'embark-keymap-alist '(todo-write-plan . todo-write-list-plan-map))))

;;;###autoload
(defun todo-write-switch (thread)
  "Show the plan of THREAD, a key that is read with completion."
  (interactive (list (todo-write-list--read "Show the plan of: ")))
  (todo-write-restore thread)
  (todo-write-show thread t))

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

(defvar todo-write-list-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map [mouse-1] #'todo-write-page-click)
    map)
  "Keymap of `todo-write-list-mode'.")

(todo-write-menu-define 'todo-write-list-mode todo-write-list-mode-map "Agents"
  `(("Agent"
     ("RET" "Show its plan" todo-write-list-show)
     ("o" "Go to its buffer" todo-write-list-visit)
     ("C-o" "Look, stay here" todo-write-list-look)
     ("m" "Seen or unseen" todo-write-list-toggle-seen)
     ("d" "Dismiss" todo-write-list-dismiss)
     ("k" "Forget…" todo-write-list-forget))
    ("List"
     ("TAB" "Show or hide older ones" todo-write-list-toggle-older)
     ("g" "Refresh" revert-buffer))
    . ,todo-write-menu-common))

(define-derived-mode todo-write-list-mode tabulated-list-mode "Agents"
  "Major mode of the list of all agents, one a row.

\\{todo-write-list-mode-map}"
  :interactive nil
  (todo-write-menu-begin-mode)
  (setq tabulated-list-padding 1
        todo-write-list--agents (make-hash-table :test #'equal)
        bidi-paragraph-direction 'left-to-right
        show-trailing-whitespace nil)
  (setq-local revert-buffer-function #'todo-write-list--revert
              ;; Emacs 28 never forgets an `add-hook' with a depth.
              context-menu-functions (list t #'todo-write-menu--context))
  (todo-write-attention--watch 'list t)
  (add-hook 'todo-write--event-functions #'todo-write-list--on-event)
  (unless todo-write-list--timer
    (setq todo-write-list--timer (run-at-time 30 30 #'todo-write-list--tick)))
  (add-hook 'window-size-change-functions #'todo-write-list--fit nil t)
  (add-hook 'kill-buffer-hook #'todo-write-list--stop nil t)
  (add-hook 'change-major-mode-hook #'todo-write-list--stop nil t))

(defun todo-write-list--stop ()
  "Stop following agents."
  (when todo-write-list--timer
    (cancel-timer todo-write-list--timer)
    (setq todo-write-list--timer nil))
  (todo-write-attention--watch 'list nil)
  (remove-hook 'todo-write--event-functions #'todo-write-list--on-event))

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
  "Return the row of AGENT; its title distinguishes it from OTHERS."
  (let* ((key (todo-write-agent-key agent))
         (summary (todo-write-summary key)))
    (list key
          (vconcat
           (mapcar (pcase-lambda (`(,name ,width . ,_))
                     (let ((cell (todo-write-list--cell name width agent summary others)))
                       ;; Otherwise the tooltip is the cell, with keys replaced.
                       (if (or (consp cell) (get-text-property 0 'help-echo cell))
                           cell
                         (todo-write-row--helped cell))))
                   tabulated-list-format)))))

(defun todo-write-list--cell (name width agent summary others)
  "Return the text of AGENT in the column NAME, which has WIDTH.
SUMMARY is that of its plan; its title distinguishes it from OTHERS."
  (pcase name
    ("State" (todo-write-list--state agent))
    ("Since" (todo-write-list--age agent))
    ("Agent" (todo-write-list--program agent))
    ("Project" (todo-write-row--helped (or (todo-write-agent-place agent) "")
                                      (todo-write-agent-path agent)))
    ("Plan" (list (todo-write-list--title agent others)
                  'face 'todo-write-title 'follow-link t
                  'help-echo "RET, mouse-1: show this plan"
                  'action #'todo-write-list-show))
    ("Done" (if (memq (plist-get summary :state) '(nil empty)) ""
              (todo-write-row--count summary)))
    ("Now" (todo-write-row--truncate (todo-write-list--now agent summary) width))))

(defun todo-write-list--place (position &optional start)
  "Return the place of POSITION for `todo-write-page--keep'.
Points stay at their agents; the START of a window stays at its line."
  (if start (list nil 0 (line-number-at-pos position))
    (todo-write-page--row position)))

(defun todo-write-list--keep (draw)
  "Call DRAW, which edits the buffer; keep windows at their agents' rows."
  (let ((inhibit-read-only t))
    (todo-write-page--keep #'todo-write-list--place #'todo-write-page--of-row draw)))

(declare-function todo-write-follow--search-again "todo-write-follow")

(defun todo-write-list--revert (&rest _)
  "Print all rows, after a search for sessions if the user follows them."
  (when (bound-and-true-p todo-write-follow-mode)
    (todo-write-follow--search-again))
  (todo-write-list--print))

(defun todo-write-list--print (&rest _)
  "Print all rows, sorted; windows stay where they are, at their agents' rows."
  (let* ((window (get-buffer-window nil t))
         (agents (seq-group-by (lambda (agent) (and (todo-write-list--folded-p agent) t))
                               (todo-write-list--known-agents)))
         (shown (cdr (assq nil agents))))
    (setq todo-write-list--older (mapcar #'todo-write-agent-key (cdr (assq t agents)))
          tabulated-list-format
          (todo-write-list--columns (if window (window-body-width window) 100)))
    (tabulated-list-init-header)
    (clrhash todo-write-list--agents)
    (dolist (agent shown)
      (puthash (todo-write-agent-key agent) agent todo-write-list--agents)
      (todo-write-list--complete agent))
    (let ((titles (seq-group-by #'todo-write-agent-title shown)))
      (setq todo-write-list--unsorted nil
            tabulated-list-entries
            (mapcar (lambda (agent)
                      (todo-write-list--entry
                       agent (cdr (assoc (todo-write-agent-title agent) titles))))
                    shown)))
    (todo-write-list--keep (lambda ()
                             (tabulated-list-print)
                             (todo-write-list--count-older)))))

(defun todo-write-list--folded-p (agent)
  "Return non-nil if AGENT is only counted among the older ones."
  (and (not todo-write-list--unfolded) (todo-write-list--old-p agent)))

(defun todo-write-list--count-older ()
  "Show at the end how many agents are folded, if any."
  (goto-char (point-max))
  (when (get-text-property (max (point-min) (1- (point))) 'todo-write-older)
    (delete-region (line-beginning-position 0) (point)))
  (when todo-write-list--older
    (insert (propertize (format " %d older; RET shows them\n" (length todo-write-list--older))
                        'face 'todo-write-time 'todo-write-older t))))

(defun todo-write-list--complete (agent)
  "Set the title and the ending of AGENT from its plan if it has no title."
  (unless (todo-write-agent-title agent)
    (let ((summary (todo-write-summary (todo-write-agent-key agent))))
      (setf (todo-write-agent-title agent) (plist-get summary :title)
            (todo-write-agent-ending agent)
            (todo-write-attention--ending (plist-get summary :ending)
                                         (plist-get summary :state))))))

(defvar todo-write-list--undrawn nil
  "Agents whose rows are out of date, and the event to draw, as an alist.")

(defun todo-write-list--on-event (_thread what data)
  "Update the overview if WHAT is an event of an agent, DATA.
For `todo-write--event-functions'."
  (when (memq what '(agent-transition agent-change agent-gone))
    (cond ((null (get-buffer todo-write-list--buffer))
           ;; Buffers may be killed without running their hooks.
           (todo-write-list--stop))
          ((todo-write--draw-later #'todo-write-list--draw)
           (let ((before (alist-get data todo-write-list--undrawn)))
             (setf (alist-get data todo-write-list--undrawn)
                   (if (eq what 'agent-change) (or before what) what))))
          (t (with-current-buffer todo-write-list--buffer
               (todo-write-list--update-row data what))))))

(defconst todo-write-list--most-drawn 10
  "Maximum number of rows that are drawn at once.")

(defun todo-write-list--draw ()
  "Draw rows that are out of date; if those are many, the others a little later.
A thousand sessions may begin at once."
  (let ((undrawn (reverse todo-write-list--undrawn)))
    (setq todo-write-list--undrawn (reverse (nthcdr todo-write-list--most-drawn undrawn)))
    (when-let* ((buffer (get-buffer todo-write-list--buffer)))
      (when todo-write-list--undrawn
        (run-with-timer 0.01 nil #'todo-write-list--draw))
      (with-current-buffer buffer
        (pcase-dolist (`(,agent . ,what) (seq-take undrawn todo-write-list--most-drawn))
          (todo-write-list--update-row agent what))))))

(defun todo-write-list--update-row (agent what)
  "Update the row of AGENT after the event WHAT, unless it is folded.
It keeps its place while the selected window shows the overview."
  (let* ((key (todo-write-agent-key agent))
         (shown (gethash key todo-write-list--agents))
         (start (and shown (todo-write-page--find-row (todo-write-agent-key shown))))
         (place (pcase what
                  ('agent-change start)
                  ((and 'agent-transition (guard (and start (eq (current-buffer) (window-buffer)))))
                   (setq todo-write-list--unsorted t)
                   start)))
         (folded (and (not start) (not (eq what 'agent-gone)) (todo-write-list--folded-p agent))))
    (todo-write-list--note-folded key folded)
    (cond (folded)
          ((and todo-write-list--unsorted (not place))
           (todo-write-list--print))
          (t (todo-write-list--replace-row agent start place (eq what 'agent-gone))))))

(defun todo-write-list--note-folded (key folded)
  "Update the count of older agents if it is new that the agent KEY is FOLDED."
  (unless (eq (not folded) (not (member key todo-write-list--older)))
    (setq todo-write-list--older (if folded (cons key todo-write-list--older)
                                   (remove key todo-write-list--older)))
    (let ((inhibit-read-only t))
      (save-excursion
        (todo-write-list--count-older)))))

(defun todo-write-list--replace-row (agent start place gone)
  "Replace the row of AGENT at START, if it has one, by a new one at PLACE.
PLACE nil stands for where AGENT sorts now; GONE non-nil means no new row."
  (if gone
      (remhash (todo-write-agent-key agent) todo-write-list--agents)
    (puthash (todo-write-agent-key agent) agent todo-write-list--agents))
  (todo-write-list--keep
   (lambda ()
     (when start
       (goto-char start)
       (delete-region start (line-beginning-position 2)))
     (unless gone
       (goto-char (or place (todo-write-list--sorted-position agent)))
       (apply #'tabulated-list-print-entry
              (todo-write-list--entry
               agent (hash-table-values todo-write-list--agents)))))))

(defun todo-write-list--sorted-position (agent)
  "Return the position of the first row that sorts after AGENT."
  (goto-char (point-max))
  (while (not (or (bobp) (tabulated-list-get-id)))
    (forward-line -1))
  ;; The row is between START and END, which begin lines.
  (let ((start (point-min))
        (end (if (tabulated-list-get-id) (line-beginning-position 2) (point-min))))
    (while (< start end)
      (goto-char (/ (+ start end) 2))
      (beginning-of-line)
      (if (todo-write-attention--before-p
           agent (gethash (tabulated-list-get-id) todo-write-list--agents))
          (setq end (point))
        (setq start (line-beginning-position 2))))
    (goto-char start)
    (point)))

(defun todo-write-list--tick ()
  "Update the ages in the overview if a window shows it."
  (let ((buffer (get-buffer todo-write-list--buffer)))
    (cond ((null buffer) (todo-write-list--stop))
          ((get-buffer-window buffer 0)
           (with-current-buffer buffer
             (todo-write-list--update-ages))))))

(defun todo-write-list--update-ages ()
  "Update the ages in the current buffer, if it has their column."
  (when (seq-find (lambda (column) (equal "Since" (car column))) tabulated-list-format)
    (save-excursion
      (goto-char (point-min))
      (while (tabulated-list-get-id)
        (tabulated-list-set-col "Since" (todo-write-list--age (todo-write-list--agent)))
        (forward-line)))))

(defun todo-write-list--fit (window)
  "Print the rows again if the width of WINDOW changed."
  (with-current-buffer (window-buffer window)
    (unless (equal (todo-write-list--columns (window-body-width window)) tabulated-list-format)
      (todo-write-list--print))))

;;;###autoload
(defun todo-write-list ()
  "List all agents and what they do; return the buffer."
  (interactive)
  ;; Redisplay draws this buffer and could not get the module.
  (todo-write--configure)
  (let ((buffer (get-buffer-create todo-write-list--buffer))
        (folder default-directory))
    (pop-to-buffer buffer)
    (setq default-directory folder)
    (unless (derived-mode-p 'todo-write-list-mode)
      (todo-write-list-mode))
    (todo-write-list--print)
    buffer))

;;; Commands

(defun todo-write-list--agent ()
  "Return the agent at point, or signal a `user-error'."
  (todo-write-menu--require 'todo-write-list-mode)
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
    (todo-write-switch (todo-write-agent-key (todo-write-list--agent)))))

(defun todo-write-list-toggle-older ()
  "Show the agents that have been idle for `todo-write-list-hours', or hide them."
  (interactive nil todo-write-list-mode)
  (todo-write-menu--require 'todo-write-list-mode)
  (setq todo-write-list--unfolded (not todo-write-list--unfolded))
  (todo-write-list--print))

(defun todo-write-list-visit ()
  "Go to the buffer of the agent at point."
  (interactive nil todo-write-list-mode)
  (todo-write-attention--visit (todo-write-list--agent)))

(defun todo-write-list-look ()
  "Display the buffer of the agent at point, else its plan; stay here."
  (interactive nil todo-write-list-mode)
  (let ((agent (todo-write-list--agent)))
    (if-let* ((buffer (todo-write-attention--buffer agent)))
        (display-buffer buffer '(nil (inhibit-same-window . t)))
      (todo-write-restore (todo-write-agent-key agent))
      (todo-write-show (todo-write-agent-key agent)))
    (todo-write-attention--see agent)))

(defun todo-write-list-toggle-seen ()
  "Toggle whether the agent at point counts as seen."
  (interactive nil todo-write-list-mode)
  (let ((agent (todo-write-list--agent)))
    (unless (eq (todo-write-agent-activity agent) 'rest)
      (user-error "Only an agent that is done is seen or unseen"))
    (todo-write-attention--see agent (not (todo-write-agent-unseen agent)))
    (message "Marked as %s; m undoes" (if (todo-write-agent-unseen agent) "unseen" "seen"))))

(defun todo-write-list-dismiss ()
  "Toggle whether the agent at point counts as idle until its next transition."
  (interactive nil todo-write-list-mode)
  (let ((agent (todo-write-list--agent)))
    (todo-write-attention--dismiss agent (not (todo-write-agent-dismissed agent)))
    (message (if (todo-write-agent-dismissed agent)
                 "Dismissed until its next activity; d undoes"
               "No longer dismissed"))))

(defun todo-write-list-forget ()
  "Forget the thread at point: its list, its history and its journal."
  (interactive nil todo-write-list-mode)
  (let ((agent (todo-write-list--agent)))
    (when (yes-or-no-p (format "Forget the plan of %s and its history? "
                               (todo-write-agent-label agent)))
      (todo-write-forget (todo-write-agent-key agent))
      (todo-write-list--print))))

(provide 'todo-write-list)
;;; todo-write-list.el ends here
