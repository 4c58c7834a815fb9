;;; todo-write-view-rows.el --- What stands in the buffer of a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The state of a plan's buffer, and its text: the header, and a row for each task with what
;; is open below it.  Below them, a line counts what they do not show: tasks that the agent
;; dropped, and completed ones that it took off the list.  Then come the session's prompts,
;; newest first, each with what came of it.  All of them open in place.

;;; Code:

(require 'todo-write-agent)
(require 'todo-write-buffer)
(require 'todo-write-story)

(defcustom todo-write-view-fold-completed 'auto
  "When successive completed tasks collapse to a count."
  :type '(choice (const :tag "If the list is longer than its window" auto)
                 (const :tag "Always" t)
                 (const :tag "Never" nil))
  :group 'todo-write
  :package-version '(todo-write . "0.2.0"))

;;; State

(defvar-local todo-write-view-rows-open nil
  "What is open in this buffer, a list as `todo-write-row-open'.")

(defvar-local todo-write-view-rows-fold 'option
  "Whether to fold in this buffer: t, nil, or `option' to use the option.")

(defvar-local todo-write-view-rows-summary nil
  "The `todo-write-summary' of the thread when the buffer was last drawn.")

(defun todo-write-view-rows-current-id ()
  "Return the id of the task that was in progress when last drawn, or nil."
  (plist-get (plist-get todo-write-view-rows-summary :current) :id))

;;; Rows

(defun todo-write-view-rows-text (windows running)
  "Return the text of this buffer for WINDOWS, as the store has the plan now.
RUNNING is the number of the turn in which the agent works, or nil.  Each
line has the property `todo-write-part'; see todo-write-view-draw.el."
  (let ((thread todo-write-view-thread)
        (todo-write-row-open todo-write-view-rows-open)
        (width todo-write-buffer-width)
        (beside-efrit (equal "*todo-write*" (buffer-name))))
    (cl-flet ((ask (function &rest args) (and thread (apply function thread args))))
      (let* ((summary (setq todo-write-view-rows-summary (ask #'todo-write-summary)))
             (state (and (< 0 (or (plist-get summary :revision) 0)) (plist-get summary :state)))
             (header (and thread (todo-write-core-call todo-write-dyn--header thread)))
             (children (ask #'todo-write-view-rows--children))
             (headings (ask #'todo-write-view-rows-headings))
             (tasks (ask #'todo-write-view-rows--tasks summary))
             (rows (todo-write-view-rows--rows tasks (plist-get header :items)))
             (fold (pcase (if (eq todo-write-view-rows-fold 'option)
                              todo-write-view-fold-completed
                            todo-write-view-rows-fold)
                     ('auto (seq-some (lambda (window)
                                        (> (+ 2 (length tasks)) (window-body-height window)))
                                      windows))
                     (choice choice))))
        (setq mode-line-process (and (not (memq (plist-get summary :state) '(nil empty)))
                                     (list " " (plist-get summary :count))))
        (todo-write-row-string
          (todo-write-view-rows--insert-header thread summary header width beside-efrit)
          (todo-write-view-rows--insert-tasks thread tasks rows children fold width)
          (pcase state
            ('nil (let ((start (point)))
                    (todo-write-view-rows--insert-welcome (and headings thread))
                    (put-text-property start (point) 'todo-write-part 'welcome)))
            ('empty (insert (propertize " The list is empty.\n" 'face 'todo-write-detail))))
          (todo-write-view-rows--insert-children (cdr (assoc nil children)) width)
          (when thread
            (todo-write-view-rows--insert-below thread (mapcar #'cdr tasks) width)
            (todo-write-view-rows--insert-turns thread headings running
                                                (plist-get header :turns) width))
          (font-lock-fillin-text-property (point-min) (point-max) 'todo-write-part 'footer))))))

(defvar-local todo-write-view-rows--removed nil
  "The changes of a revision that removed tasks, after (THREAD . REVISION).")

(defun todo-write-view-rows--tasks (thread summary)
  "Return the tasks of THREAD with SUMMARY, a list of (KIND . ITEM).
Until the next change, those dropped last are among them, where they were."
  (let* ((paused (eq (plist-get summary :state) 'paused))
         (tasks (mapcar (lambda (item) (cons (todo-write-row-kind item paused) item))
                        (todo-write-items thread)))
         (revision (or (plist-get summary :revision) 0))
         (gone 0))
    (when (> revision 1)
      ;; That may read a file.
      (unless (equal (cons thread revision) (car todo-write-view-rows--removed))
        (setq todo-write-view-rows--removed
              (cons (cons thread revision)
                    (seq-sort-by
                     (lambda (change) (plist-get change :previousPosition)) #'<
                     (append (plist-get (todo-write-changes-between
                                         thread (1- revision) revision)
                                        :removed)
                             nil)))))
      (dolist (change (cdr todo-write-view-rows--removed))
        (let ((item (plist-get change :previousItem)))
          (if (or (plist-get change :cancelled) (equal (plist-get item :status) "completed"))
              (cl-incf gone)
            (push (cons 'removed item)
                  (nthcdr (min (length tasks) (- (plist-get change :previousPosition) gone))
                          tasks))))))
    tasks))

(defun todo-write-view-rows--rows (tasks unseen)
  "Return the rows of TASKS, strings; UNSEEN are ids with changes not reviewed."
  (let* ((thread todo-write-view-thread)
         (work (and tasks (todo-write-core-call todo-write-dyn--row-work thread nil)))
         ;; A note names the positions of other tasks of the list.
         (items (cl-loop for (kind . item) in tasks
                         unless (eq kind 'removed) collect item)))
    (todo-write-buffer-make
     #'todo-write-view-rows--row
     (cl-loop for (kind . item) in tasks
              for id = (plist-get item :id)
              collect
              `(,item ,kind ,todo-write-buffer-width ,todo-write-row-scale
                      ,@(unless (eq kind 'removed)
                          (list (todo-write-core-call todo-write-dyn--spent thread id)
                                (or (and (equal id (todo-write-view-rows-current-id))
                                         (todo-write-agent-unsaved-note thread))
                                    (todo-write-row-note item items todo-write-view-rows-summary))
                                (cdr (assoc id work))
                                (and (member id unseen) t))))))))

(defun todo-write-view-rows--row (item kind width _scale &optional spent note work new)
  "Return the row of ITEM; NEW is non-nil if some of its lines were not reviewed.
KIND, WIDTH, SPENT, NOTE and WORK are as in `todo-write-row-insert'."
  (let ((id (plist-get item :id)))
    (todo-write-row-string
      (todo-write-row-insert item kind spent width nil note work)
      (when new
        (todo-write-row-mark-new (point-min)))
      (todo-write-row-make-button (point-min) (point-max)
                                  (todo-write-text-help
                                   (todo-write-text-plain (plist-get item :content)))
                                  'todo-write-id id 'todo-write-part id 'todo-write-toggle id
                                  'todo-write-dropped (and (eq kind 'removed) id)))))

(defconst todo-write-view-rows-fold-least 3
  "Minimum number of successive completed tasks to fold.")

(defun todo-write-view-rows--insert-tasks (thread tasks rows children fold width)
  "Insert ROWS, of TASKS of THREAD, and what is below them, also CHILDREN.
Non-nil FOLD counts successive completed tasks.  Lines have WIDTH columns."
  (while tasks
    (let* ((run (and fold
                     (seq-take-while (pcase-lambda (`(,kind . ,(map :id)))
                                       (and (eq kind 'completed)
                                            (not (member id todo-write-row-open))
                                            (not (assoc id children))))
                                     tasks)))
           ;; The last task of a run stays, so that none disappears when it is completed.
           (folded (if (length< run todo-write-view-rows-fold-least) 0 (1- (length run)))))
      (when (> folded 0)
        (insert (todo-write-row-button
                 (concat (propertize (concat " " (todo-write-text-shape 'completed))
                                     'face 'todo-write-completed-shape)
                         (propertize (format " +%d done\n" folded) 'face 'todo-write-aside))
                 "RET, mouse-1: show the completed tasks"
                 'todo-write-fold t
                 'todo-write-part (list 'fold (plist-get (cdar tasks) :id)))))
      (setq tasks (nthcdr folded tasks)
            rows (nthcdr folded rows)))
    (let* ((item (cdr (pop tasks)))
           (row (pop rows))
           ;; The same string stands in the text of before, if ROW stayed.
           (id (get-text-property 0 'todo-write-id row))
           (open (member id todo-write-row-open))
           (start (point)))
      (insert row)
      (when open
        (insert (todo-write-detail-string thread item width))
        (todo-write-story-insert thread id width))
      (todo-write-view-rows--insert-children (cdr (assoc id children)) width open)
      (add-text-properties start (point) (list 'todo-write-id id 'todo-write-part id)))))

;;; The lists of subagents

(defun todo-write-view-rows--children (thread)
  "Return THREAD's subagents, (ITEM-ID . KEYS); nil is an item not in the list."
  (mapcar (pcase-lambda (`(,id . ,children)) (cons id (mapcar #'car children)))
          (seq-group-by (pcase-lambda (`(,_ . ,id)) (and id (todo-write-item thread id) id))
                        (todo-write-children thread))))

(defun todo-write-view-rows--insert-children (keys width &optional open depth)
  "Insert the lists of the threads KEYS, WIDTH columns wide, at DEPTH from 1.
Non-nil OPEN shows completed lists in full, too."
  (let* ((start (point))
         (depth (or depth 1))
         (indent (* 4 depth)))
    (dolist (key keys)
      (let* ((summary (todo-write-summary key))
             (state (plist-get summary :state))
             (name (todo-write-text-plain (todo-write-plan-name key (plist-get summary :title)))))
        (insert (todo-write-row-button
                 (todo-write-row-line
                  (concat (make-string indent ?\s)
                          (propertize (todo-write-text-shape 'child) 'face 'todo-write-detail)
                          " ")
                  (propertize name 'face 'todo-write-aside)
                  (todo-write-row-progress summary)
                  (todo-write-row-near-width width))
                 "RET, mouse-1: show this list" 'todo-write-child key)
                "\n")
        (when (or open (memq state '(active paused)))
          (let ((below (and (< depth todo-write-buffer-deepest)
                            (todo-write-view-rows--children key))))
            (seq-doseq (item (todo-write-items key))
              (let ((id (plist-get item :id)))
                (todo-write-row-insert item (todo-write-row-kind item (eq state 'paused))
                                       (todo-write-core-call todo-write-dyn--spent key id)
                                       width indent)
                (todo-write-view-rows--insert-children (cdr (assoc id below)) width open
                                                       (1+ depth))))))))
    (put-text-property start (point) 'todo-write-subagent t)))

;;; Header

(defun todo-write-view-rows--insert-header (thread summary header width beside-efrit)
  "Insert the header of THREAD with SUMMARY and HEADER in lines of WIDTH columns.
BESIDE-EFRIT means that Efrit's plans are not shown."
  (cl-flet ((below (text face)
              (insert "\n" (todo-write-text-truncate
                            (concat " " (if face (propertize text 'face face) text)) width))))
    (when beside-efrit
      (insert (todo-write-view-rows--link " *efrit-todos* is Efrit's; show its plans here, too"
                                          'todo-write-efrit-mode)
              "\n"))
    (todo-write-row-insert-header
     summary width (list (plist-get header :added) (plist-get header :removed))
     ;; The line of a goal says what the prompt asks.
     (unless (or (null thread) (plist-get summary :title) (plist-get summary :goal))
       ;; A prompt may be long, and the sums should have room.
       (todo-write-text-truncate
        (todo-write-text-unmark (todo-write-plan-name thread nil "Plan")) 60)))
    (when-let* ((goal (plist-get summary :goal)))
      (below (todo-write-row-goal goal) 'todo-write-detail))
    (when-let* ((parts (and thread (todo-write-view-rows--agent
                                    thread summary (plist-get header :files)))))
      (below (string-join parts (propertize (format " %s " (todo-write-text-shape 'dot))
                                            'face 'todo-write-detail))
             nil))
    (when-let* ((refused (plist-get summary :refused)))
      (below (concat "the last list was refused: " (todo-write-text-line refused))
             'todo-write-paused))
    (insert "\n")
    (put-text-property (point-min) (point) 'todo-write-part 'header)))

(defun todo-write-view-rows--agent (thread summary new)
  "Return strings on the agent of THREAD, with SUMMARY and NEW files to review."
  (let* ((said (todo-write-observations thread :types '("MESSAGE" "FINAL_RESPONSE") :limit 1))
         (content (plist-get (car (append said nil)) :content))
         (text (if (consp content) (plist-get content :text) content))
         (context (todo-write-row-context summary))
         (host (todo-write-machines-host thread (plist-get (todo-write-about thread) :project)))
         (link (and host (todo-write-machines-link-to host))))
    (delq nil
          (list (and host
                     (concat (propertize (concat "on " (todo-write-text-line host))
                                         'face 'todo-write-detail)
                             (and link (eq 'lost (todo-write-machines-link-state link))
                                  (propertize (format-time-string
                                               " (not connected since %H:%M)"
                                               (todo-write-machines-link-since link))
                                              'face 'todo-write-paused))))
                (todo-write-view-rows--activity thread (plist-get summary :reason))
                (and new (propertize (concat (todo-write-text-count new "file") " new")
                                     'face 'todo-write-lines-new))
                (and context (propertize context 'face 'todo-write-detail))
                ;; What runs now stands in sight, however long the story is.
                (when-let* (((eq 'working (car (todo-write-activity thread))))
                            (call (todo-write-story-running thread)))
                  (todo-write-text-truncate (concat (todo-write-text-shape 'tool) " " call) 40))
                (when (todo-write-json-filled text)
                  (let ((text (todo-write-text-unmark (todo-write-text-line text 400))))
                    (propertize (concat (todo-write-text-shape 'quote) text
                                        (todo-write-text-shape 'unquote))
                                'help-echo (todo-write-text-help text))))))))

(defun todo-write-view-rows--activity (thread paused)
  "Return the activity of THREAD's agent and why, or why it is PAUSED, or nil."
  (pcase-let* ((percent (todo-write-events-reading thread))
               (`(,activity . ,reason) (todo-write-activity thread))
               (since (plist-get (todo-write-events-activity thread) :since))
               (age (and since (todo-write-text-age (/ since 1000))))
               (age (if (member age '(nil "now")) "" (concat " " age)))
               (reason (and reason (concat ": " (todo-write-text-line reason)))))
    (pcase activity
      ((guard percent) (propertize (format "reading, %d %%" percent) 'face 'todo-write-detail))
      ('working (propertize (concat "working" age) 'face 'todo-write-detail))
      ('waiting (propertize (concat "waits for you" age reason
                                    (and (todo-write-requests thread) "; a answers"))
                            'face 'todo-write-paused))
      ('failed (propertize (concat "failed" age reason) 'face 'todo-write-failed))
      (_ (and paused (propertize (todo-write-text-line paused) 'face 'todo-write-detail))))))

;;; Below the rows

(defconst todo-write-view-rows-most-turns 30
  "Number of prompts that a plan shows, the newest.
A line below them shows the earlier ones.")

(defun todo-write-view-rows-headings (thread)
  "Return the headings of turns that the plan of THREAD shows, newest first.
They are plists as from `todo-write-story-headings'.  The value is nil if
there is nothing to show."
  (pcase-let* ((most (if (memq 'turns todo-write-row-open) 2000 todo-write-view-rows-most-turns))
               (`(,_ . ,headings) (todo-write-story-headings thread most))
               (shown (seq-filter
                       (lambda (heading)
                         (or (plist-get heading :prompt) (plist-get heading :outside)
                             (plist-get heading :items)
                             (cl-loop for key in '(:added :removed :failed :refused)
                                      thereis (> (plist-get heading key) 0))))
                       headings)))
    (when (or (cdr headings)
              (plist-get (car shown) :prompt)
              (plist-get (car shown) :outside)
              ;; The only way to the tasks of earlier lists.
              (and headings (todo-write-core-call todo-write-dyn--earlier-lists thread)))
      shown)))

(defun todo-write-view-rows--insert-below (thread rows width)
  "Insert the tasks of THREAD that left its list, except ROWS, WIDTH columns wide."
  (let* ((ids (mapcar (lambda (item) (plist-get item :id)) rows))
         (dropped (seq-remove (lambda (item) (member (plist-get item :id) ids))
                              (todo-write-items-dropped thread)))
         (cleared (todo-write-core-call todo-write-dyn--items-cleared thread)))
    (cl-flet ((count (items key help)
                (when items
                  (todo-write-row-button
                   (propertize (format "%d %s" (length items) key) 'face 'todo-write-detail)
                   (concat "RET, mouse-1: show the " help)
                   'todo-write-toggle key))))
      (let ((line (todo-write-text-dotted
                   (count dropped 'dropped "tasks that the agent dropped")
                   (count cleared 'cleared "completed tasks that the agent took off the list"))))
        (unless (string-empty-p line)
          ;; Point stops at the beginning of the line.
          (insert (apply #'propertize " " (text-properties-at 0 line)) line "\n"))))
    (cl-loop
     for (key . items) in `((dropped . ,dropped) (cleared . ,cleared))
     when (memq key todo-write-row-open)
     do (dolist (item items)
          (let ((id (plist-get item :id))
                (start (point)))
            (todo-write-row-insert
             item (if (equal (plist-get item :status) "completed") 'completed 'removed)
             (todo-write-core-call todo-write-dyn--spent thread id) width 4 nil
             (cdar (todo-write-core-call todo-write-dyn--row-work thread id)))
            (todo-write-row-make-button start (point)
                                        (todo-write-text-help
                                         (todo-write-text-plain (plist-get item :content)))
                                        'todo-write-toggle id
                                        'todo-write-dropped (and (eq key 'dropped) id))
            (when (member id todo-write-row-open)
              (todo-write-story-insert thread id width))
            (put-text-property start (point) 'todo-write-part id))))))

;;; Turns

(defun todo-write-view-rows--insert-turns (thread headings running new width)
  "Insert HEADINGS of turns of THREAD, and what is open, in lines of WIDTH columns.
RUNNING is the number of the turn that runs, or nil; NEW are those to review."
  (let* ((figures (cl-loop for heading in headings
                           for above = nil then began
                           for began = (plist-get heading :began)
                           collect (todo-write-view-rows--figures
                                    heading (eql running (plist-get heading :turn)) above)))
         (near (todo-write-row-near-width width))
         (tails (todo-write-view-rows--tails figures near))
         (earlier (1- (or (plist-get (car (last headings)) :turn) 1))))
    (cl-loop for heading in headings
             for tail in tails
             for id = (cons 'turn (plist-get heading :turn))
             for is-open = (member id todo-write-row-open)
             for start = (point)
             do (todo-write-view-rows--insert-heading heading tail is-open near)
             when (memql (cdr id) new)
             do (todo-write-row-mark-new start)
             do (todo-write-row-make-button start (point)
                                            (todo-write-text-help
                                             (or (plist-get heading :prompt)
                                                 "What was done before the first prompt"))
                                            'todo-write-toggle id)
             when is-open do (todo-write-story-insert thread id width)
             do (put-text-property start (point) 'todo-write-part id))
    (when (and (> earlier 0) (not (memq 'turns todo-write-row-open)))
      (insert (todo-write-row-button
               (propertize (concat " " (todo-write-text-count earlier "earlier prompt"))
                           'face 'todo-write-detail)
               "RET, mouse-1: show the earlier prompts"
               'todo-write-toggle 'turns 'todo-write-part 'earlier)
              (propertize "\n" 'todo-write-part 'earlier)))))

(defun todo-write-view-rows--tails (figures width)
  "Return FIGURES, lists of strings, in columns that leave text room in WIDTH."
  (let ((rows (todo-write-text-columns figures t)))
    (while (> (todo-write-text-width (string-join (car rows) "  ")) (max 0 (- width 35)))
      (setq rows (mapcar #'cdr rows)))
    (mapcar (lambda (row) (string-join row "  ")) rows)))

(defun todo-write-view-rows--insert-heading (heading tail open width)
  "Insert HEADING of a turn, OPEN or not, with TAIL, as a line of WIDTH columns."
  (let* ((head (format " %s " (todo-write-text-shape (if open 'opened 'tool))))
         (prompt (todo-write-story-heading-name heading 1000))
         (said (plist-get heading :said))
         ;; After a short prompt, there is room for what followed.
         (text (if (null prompt) "Before the first prompt"
                 (todo-write-text-dotted
                  prompt (and said (todo-write-text-unmark (todo-write-text-line said)))))))
    ;; Blanks of a column leave the text more room.
    (insert (todo-write-row-line head (propertize text 'face 'todo-write-prompt)
                                 (todo-write-row-dim (string-trim tail)) width)
            "\n")))

(defun todo-write-view-rows--figures (heading running above)
  "Return the figures of HEADING, perhaps RUNNING, in the order of their columns.
ABOVE is when the turn above began; a date that both have is left out."
  (let ((began (plist-get heading :began))
        (tasks (length (plist-get heading :items))))
    (mapcar (lambda (figure) (or figure ""))
            (list (if running (concat "since " (todo-write-text-clock began above))
                    (todo-write-detail-clock-span began (plist-get heading :ended) above))
                  (and (> tasks 0) (format "%d/%d" (plist-get heading :completed) tasks))
                  (todo-write-row-lines (plist-get heading :added) (plist-get heading :removed))
                  (todo-write-row-failed (plist-get heading :failed) (plist-get heading :refused))
                  (pcase (plist-get heading :commits)
                    (0 nil)
                    (1 (concat "committed "
                               (todo-write-text-line (or (plist-get heading :commit) "") 12)))
                    (count (todo-write-text-count count "commit")))
                  (pcase (plist-get heading :ending)
                    ('denied "denied")
                    ('error "failed")
                    ('killed "killed"))))))

;;; Without a plan

(defun todo-write-view-rows--link (label command)
  "Return LABEL as a button that calls COMMAND interactively."
  (todo-write-row-button (propertize label 'face 'link)
                         (format "RET, mouse-1: M-x %s" command)
                         'action (lambda (_) (call-interactively command))))

(defun todo-write-view-rows--insert-welcome (thread)
  "Insert what fills a buffer without a plan; THREAD is of an agent without one."
  (insert (propertize (if thread " This agent has sent no plan.\n"
                        " No plan yet.  It appears here as soon as an agent writes one.\n")
                      'face 'todo-write-detail))
  (pcase-dolist (`(,label ,command)
                 (if thread
                     (let ((about (todo-write-about thread)))
                       (unless (string-match-p "\\`\\(?:efrit\\|gptel\\)"
                                               (or (plist-get about :agent)
                                                   (plist-get about :program) thread))
                         '(("Give it the tool todo_write" todo-write-setup))))
                   `(("Give an agent the tool" todo-write-setup)
                     ("Follow a session of Claude Code or Codex" todo-write-follow)
                     ,@(when (locate-library "efrit")
                         (if (bound-and-true-p todo-write-efrit-mode)
                             '(("Give Efrit a command" efrit-do))
                           '(("Show the plans of Efrit here" todo-write-efrit-mode))))
                     ,@(when (fboundp 'efrit-do-demo)
                         '(("See a demonstration" efrit-do-demo))))))
    (insert (todo-write-view-rows--link (format "   %s\n" label) command))))

(provide 'todo-write-view-rows)
;;; todo-write-view-rows.el ends here
