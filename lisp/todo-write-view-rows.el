;;; todo-write-view-rows.el --- What stands in the buffer of a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The state of a plan's buffer, and the pieces of its text: the header, a row for each task,
;; what is below a row, and what is below the rows.

;;; Code:

(require 'todo-write)
(require 'todo-write-children)
(require 'todo-write-detail)
(require 'todo-write-footer)
(require 'todo-write-hands)
(require 'todo-write-json)
(require 'todo-write-page)
(require 'todo-write-place)
(require 'todo-write-machines)
(require 'todo-write-row)
(require 'todo-write-story)
(require 'todo-write-text)
(require 'todo-write-turns)
(require 'todo-write-welcome)

;;; State

(defvar-local todo-write-view-rows-open nil
  "Ids of the rows that show their detail, and what is open below the rows.
See `todo-write-footer'.")

(defvar-local todo-write-view-rows-whole nil
  "Keys of the entries that are shown in full.")

(defvar-local todo-write-view-rows-earlier nil
  "Ids of the rows that show their earlier entries, too.")

(defvar-local todo-write-view-rows-ran nil
  "The number of the turn that was drawn last as running, or nil.")

(defvar todo-write-view-rows-in-use nil
  "While a plan is drawn, non-nil if the user reads the turn that ran.")

(defvar-local todo-write-view-rows-ghosts nil
  "Ids of dropped tasks, whose rows the next change removes.")

(defvar-local todo-write-view-rows--removed nil
  "The changes of a revision that removed tasks, after (THREAD . REVISION).")

(defvar-local todo-write-view-rows-dropped nil
  "The tasks that the agent dropped; see `todo-write-items-dropped'.")

(defvar-local todo-write-view-rows-cleared nil
  "The completed tasks that left the list; see `todo-write-plan-items-cleared'.")

(defvar-local todo-write-view-rows-turns nil
  "The turns that the plan shows; see `todo-write-footer-headings'.")

(defvar-local todo-write-view-rows--work nil
  "What the header shows of the work; see `todo-write-plan-header-work'.")

(defvar-local todo-write-view-rows-unseen nil
  "What was not reviewed; see `todo-write-plan-unseen'.")

(defvar-local todo-write-view-rows--row-work nil
  "What the rows show of the work of their tasks.
It is a list like that of `todo-write-plan-row-work', and then of (ID) for
what was not reviewed.")

(defvar-local todo-write-view-rows--message nil
  "The newest thing that the agent said, a string, or nil.")

(defvar-local todo-write-view-rows-host nil
  "Text that names the machine of the agent, or nil for this one.")

(defvar-local todo-write-view-rows-children nil
  "Alist of item ids and the keys of their subagents' threads.
The id nil has the threads without a row in this buffer.")

(defvar-local todo-write-view-rows-summary nil
  "The `todo-write-summary' of the thread when the buffer was last drawn.")

(defun todo-write-view-rows-paused-p ()
  "Return non-nil if the thread was paused when last drawn."
  (eq (plist-get todo-write-view-rows-summary :state) 'paused))

(defun todo-write-view-rows-current-id ()
  "Return the id of the task that was in progress when last drawn, or nil."
  (plist-get (plist-get todo-write-view-rows-summary :current) :id))

(defun todo-write-view-rows-set-scale ()
  "Set `todo-write-row-scale' for the font of the buffer."
  (let ((window (and face-remapping-alist (get-buffer-window nil t))))
    (setq-local todo-write-row-scale
                (if (and window (display-graphic-p (window-frame window)))
                    (/ (float (window-font-width window))
                       (frame-char-width (window-frame window)))
                  1))))

;;; Pieces

(defvar-local todo-write-view-rows--texts nil
  "Hash table of the texts of rows and what they were made of.")

(defun todo-write-view-rows-forget-texts ()
  "Make all texts of rows again, as when shapes may look different."
  (setq todo-write-view-rows--texts nil))

(defun todo-write-view-rows-read ()
  "Read from the store what the buffer shows, and return it as pieces.
They are a list of (ID . TEXT), where ID is that of a task for its row, a
list of it for what is below the row, `header' or `footer'."
  (let* ((thread todo-write-view-thread)
         (summary (and thread (todo-write-summary thread))))
    (setq todo-write-view-rows-summary summary
          todo-write-view-rows-children (and thread (todo-write-children-by-item thread)))
    (todo-write-view-rows--read-work)
    (todo-write-view-rows--read-lists)
    (let* ((items (and thread (todo-write-items thread)))
           (texts (make-hash-table :test #'equal))
           (rows (mapcan (lambda (item) (todo-write-view-rows--row item items texts))
                         (todo-write-view-rows--with-ghosts items))))
      (setq todo-write-view-rows--texts texts)
      `((header . ,(todo-write-view-rows--header))
        ,@rows
        (footer . ,(todo-write-view-rows--footer))))))

(defun todo-write-view-rows--with-ghosts (items)
  "Return ITEMS and, where they were, the unfinished tasks that were dropped last.
Tasks that were completed or that the agent cancelled leave no ghost."
  (let ((rows (append items nil))
        (gone 0))
    (setq todo-write-view-rows-ghosts nil)
    (dolist (change (todo-write-view-rows--removed))
      (let ((item (plist-get change :previousItem)))
        (if (or (plist-get change :cancelled) (equal (plist-get item :status) "completed"))
            (cl-incf gone)
          (push (plist-get item :id) todo-write-view-rows-ghosts)
          (push item (nthcdr (min (length rows) (- (plist-get change :previousPosition) gone))
                             rows)))))
    rows))

(defun todo-write-view-rows--removed ()
  "Return the changes of the newest revision that removed tasks, in list order."
  (let* ((thread todo-write-view-thread)
         (revision (or (plist-get todo-write-view-rows-summary :revision) 0))
         (key (cons thread revision)))
    (when (> revision 1)
      ;; That may read a file.
      (unless (equal key (car todo-write-view-rows--removed))
        (setq todo-write-view-rows--removed
              (cons key
                    (seq-sort-by
                     (lambda (change) (plist-get change :previousPosition)) #'<
                     (seq-filter (lambda (change) (equal (plist-get change :type) "removed"))
                                 (plist-get (todo-write-changes-between
                                             thread (1- revision) revision)
                                            :changes))))))
      (cdr todo-write-view-rows--removed))))

(defun todo-write-view-rows--row (item items texts)
  "Return the pieces of ITEM, one of ITEMS or a ghost: its row, and what is below.
The text of the row is also kept in TEXTS."
  (let* ((id (plist-get item :id))
         (ghost (member id todo-write-view-rows-ghosts))
         (made-of `(,item ,(if ghost 'removed (todo-write-row-kind item (todo-write-view-rows-paused-p)))
                    ,todo-write-page-width ,todo-write-row-scale
                    ,@(unless ghost
                        (list (todo-write-plan-spent todo-write-view-thread id)
                              (or (and (equal id (todo-write-view-rows-current-id))
                                       (todo-write-hands-note todo-write-view-thread))
                                  (todo-write-row-note item items todo-write-view-rows-summary))
                              (cdr (assoc id todo-write-view-rows--row-work))
                              (member (list id) todo-write-view-rows--row-work)))))
         (text (or (and todo-write-view-rows--texts (gethash made-of todo-write-view-rows--texts))
                   (apply #'todo-write-view-rows--row-text made-of)))
         (below (todo-write-view-rows--below id item)))
    (puthash made-of text texts)
    `((,id . ,text) ,@(and below `(((,id) . ,below))))))

(defun todo-write-view-rows--row-text (item kind width _scale &optional spent note work new)
  "Return the row of ITEM; NEW is non-nil if some of its lines were not reviewed.
KIND, WIDTH, SPENT, NOTE and WORK are as in `todo-write-row-insert'."
  (todo-write-row-string
    (todo-write-row-insert item kind spent width nil note work)
    (when new
      (todo-write-row-mark-new (point-min)))
    (todo-write-row-make-button (point-min) (point-max) 'todo-write-task
                                (todo-write-text-help
                                 (todo-write-text-plain (plist-get item :content)))
                                'todo-write-id (plist-get item :id))))

(defun todo-write-view-rows--below (id item)
  "Return the lines below the row of ITEM, whose id is ID, or nil."
  (let ((open (member id todo-write-view-rows-open))
        (children (cdr (assoc id todo-write-view-rows-children)))
        (width todo-write-page-width)
        (whole todo-write-view-rows-whole)
        (earlier (member id todo-write-view-rows-earlier))
        (thread todo-write-view-thread))
    (when (or open children)
      (propertize (todo-write-row-string
                    (when open
                      (insert (todo-write-detail-string thread item width))
                      (todo-write-story-insert thread id width whole earlier))
                    (todo-write-children-insert children width open))
                  'todo-write-id id))))

(defun todo-write-view-rows--header ()
  "Return the text of the header, and show the count in the mode line."
  (let* ((summary todo-write-view-rows-summary)
         (thread todo-write-view-thread)
         (width todo-write-page-width)
         (work todo-write-view-rows--work)
         (agent (and thread (todo-write-view-rows--agent-line)))
         (buffer (current-buffer))
         (count (and (not (memq (plist-get summary :state) '(nil empty)))
                     (todo-write-row-count summary))))
    (unless (equal count (cadr mode-line-process))
      (setq mode-line-process (and count (list " " count))))
    (cl-flet ((below (text face)
                (insert "\n" (todo-write-text-truncate
                              (concat " " (if face (propertize text 'face face) text)) width))))
      (todo-write-row-string
        (when (equal "*todo-write*" (buffer-name buffer))
          (insert (todo-write-welcome-efrit) "\n"))
        (todo-write-row-insert-header
         summary width nil work
         (and thread (null (plist-get summary :title)) (todo-write-plan-title thread)))
        (when-let* ((goal (plist-get summary :goal)))
          (below (todo-write-row-goal goal) 'todo-write-detail))
        (when agent
          (below agent nil))
        (when-let* ((refused (plist-get summary :refused)))
          (below (concat "the last list was refused: " (todo-write-text-line refused))
                 'todo-write-paused))
        (insert "\n")))))

(defun todo-write-view-rows--agent-line ()
  "Return what the agent does, since when, and what it said last, or nil."
  (let ((activity (todo-write-view-rows--activity))
        (context (todo-write-row-context todo-write-view-rows-summary))
        (new (when todo-write-view-rows-unseen
               (propertize (concat (todo-write-text-count
                                    (plist-get todo-write-view-rows-unseen :files) "file")
                                   " new")
                           'face 'todo-write-lines-new))))
    ;; Each write asks, and most plans have no such line.
    (when (or todo-write-view-rows-host activity new context todo-write-view-rows--message)
      (string-join (delq nil (list todo-write-view-rows-host activity new
                                   (and context (propertize context 'face 'todo-write-detail))
                                   (when-let* ((text todo-write-view-rows--message))
                                     (propertize (concat (todo-write-text-shape 'quote) text
                                                         (todo-write-text-shape 'unquote))
                                                 'face 'todo-write-said
                                                 'help-echo (todo-write-text-help text)))))
                   (propertize (format " %s " (todo-write-text-shape 'dot))
                               'face 'todo-write-detail)))))

(defun todo-write-view-rows--activity ()
  "Return the activity of the agent, since when and why, or nil if idle.
For a plan that is paused, return the reason.  While its session is being
read, return how much of it is."
  (pcase-let* ((percent (todo-write-activity-reading todo-write-view-thread))
               (`(,activity . ,reason) (todo-write-activity todo-write-view-thread))
               (since (todo-write-activity-since todo-write-view-thread))
               (age (and since (todo-write-text-age (/ since 1000))))
               (age (if (member age '(nil "now")) "" (concat " " age)))
               (reason (and reason (concat ": " (todo-write-text-line reason)))))
    (pcase activity
      ((guard percent) (propertize (format "reading, %d %%" percent) 'face 'todo-write-detail))
      ('working (propertize (concat "working" age) 'face 'todo-write-detail))
      ('waiting (propertize (concat "waits for you" age reason
                                    (and (todo-write-requests todo-write-view-thread)
                                         "; a answers"))
                            'face 'todo-write-paused))
      ('failed (propertize (concat "failed" age reason) 'face 'todo-write-failed))
      (_ (when-let* ((reason (plist-get todo-write-view-rows-summary :reason)))
           (propertize (todo-write-text-line reason) 'face 'todo-write-detail))))))

(defun todo-write-view-rows--read-work ()
  "Read what the agent said and did, and what of it was not reviewed."
  (let* ((thread todo-write-view-thread)
         (said (and thread (todo-write-observations
                            thread :types '("MESSAGE" "FINAL_RESPONSE") :limit 1)))
         (content (plist-get (car (append said nil)) :content))
         (text (if (consp content) (plist-get content :text) content)))
    (setq todo-write-view-rows-unseen (and thread (todo-write-plan-unseen thread))
          todo-write-view-rows--message
          (and (todo-write-json-filled text)
               (todo-write-text-unmark (todo-write-text-line text 400)))
          todo-write-view-rows-host
          (when-let* ((host (and thread (todo-write-machines-host
                                         thread (plist-get (todo-write-about thread) :project)))))
            (let ((lost (todo-write-machines-lost-since host)))
              (concat (propertize (concat "on " (todo-write-text-line host))
                                  'face 'todo-write-detail)
                      (and lost (propertize
                                 (format-time-string " (not connected since %H:%M)" lost)
                                 'face 'todo-write-paused)))))
          todo-write-view-rows--work (and thread (todo-write-plan-header-work thread))
          todo-write-view-rows--row-work
          (append (and thread (todo-write-plan-row-work thread))
                  (mapcar #'list (plist-get todo-write-view-rows-unseen :items))))))

(defun todo-write-view-rows--read-lists ()
  "Read the tasks that left the list, the earlier lists, and the turns."
  (let ((thread todo-write-view-thread))
    (setq todo-write-view-rows-turns
          (and thread (todo-write-footer-headings thread todo-write-view-rows-open))
          todo-write-view-rows-dropped (and thread (todo-write-items-dropped thread))
          todo-write-view-rows-cleared (and thread (todo-write-plan-items-cleared thread)))))

(defun todo-write-view-rows--end-turn ()
  "If another turn runs now, or none, settle what the one that ran shows.
It stays open if the user reads it, or opened something in it."
  (let ((running (and todo-write-view-rows-turns
                      (memq (car (todo-write-activity todo-write-view-thread)) '(working waiting))
                      ;; The headings may be read later.
                      (car (todo-write-turns-headings todo-write-view-thread 0))))
        (id (cons 'turn todo-write-view-rows-ran))
        (shut (cons 'shut todo-write-view-rows-ran)))
    (unless (eql running todo-write-view-rows-ran)
      (cond ((member shut todo-write-view-rows-open)
             (setq todo-write-view-rows-open
                   (remove id (remove shut todo-write-view-rows-open))))
            (todo-write-view-rows-in-use
             (cl-pushnew id todo-write-view-rows-open :test #'equal)))
      (setq todo-write-view-rows-ran running))))

(defun todo-write-view-rows--footer ()
  "Return the text below the rows.
It has a note if there are no tasks, the lists of subagents that belong
to no row, and what the rows do not show; see `todo-write-footer'."
  (todo-write-view-rows--end-turn)
  (concat
   (pcase (and (< 0 (or (plist-get todo-write-view-rows-summary :revision) 0))
               (plist-get todo-write-view-rows-summary :state))
     ('nil (if todo-write-view-rows-turns
               (let* ((about (todo-write-about todo-write-view-thread))
                      (agent (or (plist-get about :agent) (plist-get about :program)
                                 todo-write-view-thread))
                      (models (nthcdr 2 todo-write-view-rows--work))
                      (width todo-write-page-width))
                 (todo-write-row-string (todo-write-welcome-insert-planless agent models width)))
             (todo-write-welcome-string)))
     ('empty (propertize " The list is empty.\n" 'face 'todo-write-detail)))
   (when-let* ((children (cdr (assoc nil todo-write-view-rows-children)))
               (width todo-write-page-width))
     (todo-write-row-string (todo-write-children-insert children width)))
   (let ((dropped (todo-write-view-rows-dropped-before)))
     (when (or dropped todo-write-view-rows-cleared todo-write-view-rows-turns)
       (let ((footer (todo-write-footer-make
                      :dropped dropped
                      :cleared todo-write-view-rows-cleared
                      :turns todo-write-view-rows-turns
                      :running todo-write-view-rows-ran
                      :new (plist-get todo-write-view-rows-unseen :turns)
                      :open todo-write-view-rows-open
                      :whole todo-write-view-rows-whole
                      :earlier todo-write-view-rows-earlier))
             (thread todo-write-view-thread)
             (width todo-write-page-width))
         (todo-write-row-string (todo-write-footer-insert footer thread width)))))))

(defun todo-write-view-rows-dropped-before ()
  "Return the dropped tasks that have no row any more."
  (and todo-write-view-rows-dropped
       (seq-remove (lambda (item) (member (plist-get item :id) todo-write-view-rows-ghosts))
                   todo-write-view-rows-dropped)))

(provide 'todo-write-view-rows)
;;; todo-write-view-rows.el ends here
