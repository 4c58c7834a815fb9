;;; todo-write-history.el --- Look back at a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `? H' in a plan shows an index of its revisions, the newest first, with a heading
;; where a new list begins.  RET shows one: its author and time, the list, and what
;; changed; `n' and `p' go on, as in the index.

;;; Code:

(require 'json)
(require 'todo-write-view)

;;; Revisions

(defvar-local todo-write-history--revision nil
  "Number of the revision shown.")

(define-derived-mode todo-write-history-mode special-mode "Plan history"
  "Major mode of the buffer that shows one revision of a plan."
  :interactive nil
  (todo-write-buffer-set-up #'todo-write-history--draw :step #'todo-write-history--older))

(todo-write-menu-define 'todo-write-history-mode todo-write-history-mode-map "History"
  `(("Revision"
     ("n" "Older" todo-write-buffer-next)
     ("p" "Newer" todo-write-buffer-previous)
     ("g" "Refresh" revert-buffer))
    . ,todo-write-menu-common))

(defun todo-write-history--open (thread number)
  "Show the revision NUMBER of THREAD, and what it changed; return the buffer."
  (prog1 (todo-write-buffer-pop-to
          (format "%s history" todo-write-view-buffer-name) 'todo-write-history-mode thread
          '((display-buffer-reuse-window display-buffer-same-window)))
    (todo-write-history--show number)))

(defun todo-write-history-open-of (thread id)
  "Show the revision of THREAD that removed the task ID before its list ended."
  (todo-write-history--open
   thread (plist-get (caar (last (todo-write-item-changes thread id))) :revision)))

(defun todo-write-history--older (count)
  "Show the revision that came COUNT before the one shown."
  ;; A damaged journal leaves gaps.
  (let* ((numbers (mapcar (lambda (revision) (plist-get revision :revision))
                          (todo-write-revisions todo-write-view-thread)))
         (index (- (or (seq-position numbers todo-write-history--revision) (length numbers))
                   count)))
    (cond ((< index 0) (user-error "This is the first revision"))
          ((>= index (length numbers)) (user-error "This is the newest revision"))
          (t (todo-write-history--show (nth index numbers))))))

(defun todo-write-history--show (number)
  "Show the revision NUMBER, with point at its first change."
  (setq todo-write-history--revision number)
  (todo-write-history--draw)
  (goto-char (or (text-property-any (point-min) (point-max) 'todo-write-changed t)
                 (point-min))))

(defun todo-write-history--draw ()
  "Draw the revision shown, or the newest if it is gone."
  (todo-write-buffer-drawn)
  (let* ((thread todo-write-view-thread)
         (revisions (todo-write-revisions thread))
         (newest (car (last revisions)))
         (revision (seq-find (lambda (revision)
                               (eql (plist-get revision :revision) todo-write-history--revision))
                             revisions newest))
         (number (plist-get revision :revision))
         (items (and number (todo-write-items thread number)))
         (previous (or (plist-get (cadr (memq revision (reverse revisions))) :revision) 0))
         (changes (and number (plist-get (todo-write-changes-between thread previous number)
                                         :changes)))
         (by-id (seq-group-by (lambda (change) (plist-get change :itemId)) changes)))
    (setq todo-write-history--revision number)
    (todo-write-buffer-with-new-text
      (when revision
        (todo-write-history--insert-header revision (plist-get newest :revision) items))
      (when (seq-empty-p items)
        (insert (propertize (if revision "   The list is empty.\n" " This plan was forgotten.\n")
                            'face 'todo-write-detail)))
      (seq-doseq (item items)
        (todo-write-history--insert-row item (cdr (assoc (plist-get item :id) by-id)) revision
                                        (todo-write-row-note item items)))
      (seq-doseq (change changes)
        (when (equal (plist-get change :type) "removed")
          (todo-write-history--insert-row (plist-get change :previousItem) (list change)
                                          revision))))))

(defun todo-write-history--insert-header (revision count items)
  "Insert the header of REVISION, one of COUNT, whose list is ITEMS."
  (let ((title (plist-get (todo-write-summary todo-write-view-thread) :title))
        (source (plist-get revision :source))
        (completed (seq-count (lambda (item) (equal (plist-get item :status) "completed")) items)))
    (insert (propertize
             (todo-write-row-line
              " " (todo-write-text-plain (or title "Plan"))
              (format "revision %d of %d" (plist-get revision :revision) count)
              todo-write-buffer-width)
             'face 'todo-write-title)
            "\n"
            (todo-write-row-line
             " " (propertize (todo-write-text-dotted
                              (if (equal (plist-get revision :author) "user") "you" "agent")
                              (plist-get revision :operation)
                              (and source (todo-write-text-plain source))
                              (todo-write-text-clock (plist-get revision :timestamp)))
                             'face 'todo-write-time)
             (format "%d/%d" completed (length items)) todo-write-buffer-width)
            "\n\n")))

(defun todo-write-history--insert-row (item changes revision &optional note)
  "Insert the row of ITEM with NOTE, and the CHANGES that REVISION made to it."
  (let* ((start (point))
         (kind (if (equal (plist-get (car changes) :type) "removed") 'removed
                 (todo-write-row-kind item)))
         (changed (mapcan (lambda (change)
                            (todo-write-detail-change todo-write-view-thread change revision))
                          changes))
         (beside (string-join (append changed (ensure-list note)) "  "))
         (used (+ 12 (todo-write-text-width (todo-write-text-of-item item kind))))
         (fits (< (+ used (todo-write-text-width beside))
                  (todo-write-row-near-width todo-write-buffer-width (- used 9)))))
    (todo-write-row-insert item kind nil todo-write-buffer-width nil (if fits beside note))
    (unless fits
      (dolist (change changed)
        (todo-write-detail-insert-filled change todo-write-buffer-width 5)))
    (add-text-properties
     start (point) `( help-echo ,(todo-write-text-help
                                  (todo-write-text-plain (plist-get item :content)))
                      todo-write-changed ,(and changes t)))))

;;; The index

(define-derived-mode todo-write-history-index-mode tabulated-list-mode "Plan index"
  "Major mode of the buffer that lists the revisions of a plan."
  :interactive nil
  (todo-write-buffer-set-up-table
   #'todo-write-history--index
   (lambda (number) (todo-write-history--open todo-write-view-thread number))))

(todo-write-menu-define
 'todo-write-history-index-mode todo-write-history-index-mode-map "Index"
 `(("Revision"
    ("RET" "Show it" todo-write-buffer-visit)
    ("n" "Next" next-line)
    ("p" "Previous" previous-line)
    ("g" "Refresh" revert-buffer))
   . ,todo-write-menu-common))

(defun todo-write-history (&optional thread)
  "Show the revisions of THREAD as an index, the newest first; return the buffer.
THREAD is a key, by default the one at point or of this buffer, else that
of `todo-write-show'."
  (interactive)
  (let ((thread (or thread (todo-write-buffer-thread))))
    (unless (todo-write-revisions thread)
      (user-error "This plan has no history yet"))
    (prog1 (todo-write-buffer-pop-to
            "*todo-write-history*" 'todo-write-history-index-mode thread
            '((display-buffer-reuse-window display-buffer-same-window)))
      (funcall todo-write-events-draw)
      (goto-char (point-min)))))

(defun todo-write-history--index ()
  "Return the index, as for `todo-write-buffer-set-up-table'."
  (let* ((title (plist-get (todo-write-summary todo-write-view-thread) :title))
         (revisions (reverse (todo-write-revisions todo-write-view-thread))))
    (list '(("Time" nil) ("Who" 5) ("Rev" 4 nil :right-align t) ("What changed" 0))
          (cl-loop
           for (revision previous) on revisions
           for number = (plist-get revision :revision)
           for text = (todo-write-detail-changes-line
                       todo-write-view-thread
                       (plist-get (todo-write-changes-between
                                   todo-write-view-thread
                                   (or (plist-get previous :revision) 0) number)
                                  :changes))
           collect
           (list number
                 (vconcat
                  (mapcar (lambda (cell) (propertize cell 'face 'todo-write-time))
                          (list (todo-write-text-clock (plist-get revision :timestamp))
                                (if (equal (plist-get revision :author) "user") "you" "agent")
                                (number-to-string number)))
                  (list (todo-write-text-helped
                         text (concat text "\nRET, mouse-1: show this revision")))))
           when (or (plist-get revision :replaces) (= 1 number))
           collect (list nil (vector "" "" "" (todo-write-history--heading revision))))
          (list " " (string-replace "%" "%%" (todo-write-text-line (or title "") 40))))))

(defun todo-write-history--heading (revision)
  "Return the heading of the list that began with REVISION."
  (let ((items (todo-write-items todo-write-view-thread (plist-get revision :revision))))
    (propertize (concat (todo-write-text-shape 'edge) " "
                        (if (plist-get revision :replaces)
                            (concat "a new list began, with "
                                    (todo-write-text-count (length items) "task"))
                          "the plan began"))
                'face 'todo-write-title)))

;;; The timeline

;; `? T' in a plan shows a row for each task that has started, those of earlier lists
;; too, with a bar for each interval in which it was in progress.

(defun todo-write-history--rows (thread)
  "Return the tasks of THREAD that have started, plists by their start."
  (let ((now (todo-write-core-now)))
    (seq-sort-by
     (lambda (row) (caar (plist-get row :intervals))) #'<
     (cl-loop
      for item in (append (todo-write-items thread) (todo-write-items-removed thread))
      for id = (plist-get item :id)
      for times = (todo-write-times thread id)
      for running = (plist-get times :running)
      for intervals = (append (plist-get times :intervals)
                              (and running (list (cons running now))))
      for kind = (todo-write-row-kind item (not running))
      when intervals
      collect (list :item item :intervals intervals :spent (plist-get times :spent)
                    :kind (if (or (eq kind 'completed) (todo-write-item thread id)) kind
                            'removed))))))

(defun todo-write-history--span (rows)
  "Return the time span of ROWS, as (FROM . TO); the first of them started first."
  (let ((from (caar (plist-get (car rows) :intervals))))
    (cons from
          ;; The scale divides by the length of the span.
          (apply #'max (1+ from)
                 (mapcar (lambda (row) (cdar (last (plist-get row :intervals)))) rows)))))

(defun todo-write-history--bar (row span width)
  "Return the bar of ROW in the time SPAN of all rows, WIDTH columns of text."
  (let ((bar (make-vector width (propertize (todo-write-text-shape 'dot) 'face 'todo-write-time)))
        (full (propertize (todo-write-text-shape 'full)
                          'face (todo-write-row-face (plist-get row :kind) t)))
        (from (car span))
        (scale (/ (float width) (- (cdr span) (car span)))))
    (pcase-dolist (`(,start . ,end) (plist-get row :intervals))
      (let ((first (min (1- width) (floor (* scale (- start from)))))
            (last (min (1- width) (floor (* scale (- end from 1))))))
        (cl-loop for cell from first to (max first last)
                 do (aset bar cell full))))
    (mapconcat #'identity bar "")))

(defun todo-write-history--scale (span columns)
  "Return when SPAN begins and ends, in COLUMNS columns."
  (let ((left (todo-write-text-clock (car span)))
        (right (todo-write-text-clock (cdr span) (car span))))
    ;; The gap is aligned for a line that begins at the first column.
    (substring-no-properties
     (todo-write-row-line "" left right (max columns (+ 1 (length left) (length right)))))))

(define-derived-mode todo-write-timeline-mode tabulated-list-mode "Plan timeline"
  "Major mode of the buffer that shows which task was in progress when."
  :interactive nil
  (todo-write-buffer-set-up-table
   #'todo-write-history--timeline
   (lambda (id)
     (with-current-buffer (todo-write-show todo-write-view-thread t)
       (or (todo-write-view-goto id)
           (todo-write-history-open-of todo-write-view-thread id))))))

(todo-write-menu-define 'todo-write-timeline-mode todo-write-timeline-mode-map "Timeline"
  `(("Task"
     ("RET" "Go to it in the plan" todo-write-buffer-visit))
    ("Timeline"
     ("g" "Refresh" revert-buffer))
    . ,todo-write-menu-common))

(defun todo-write-history--timeline ()
  "Return the timeline, as for `todo-write-buffer-set-up-table'."
  (let* ((rows (todo-write-history--rows todo-write-view-thread))
         (texts (mapcar (lambda (row)
                          (todo-write-text-plain (plist-get (plist-get row :item) :content)))
                        rows))
         (width (max 40 todo-write-buffer-width))
         (label (max 12 (min (/ width 3)
                             (+ 2 (apply #'max 0 (mapcar #'todo-write-text-width texts))))))
         (columns (max 10 (- width label 12))))
    (if (null rows)
        (list '(("Task" 0)) nil nil
              (propertize " No task has started yet.\n" 'face 'todo-write-detail))
      (list `(("Task" ,label)
              (,(todo-write-history--scale (todo-write-history--span rows) columns) ,columns)
              ("Time" 8 nil :right-align t))
            (cl-loop with span = (todo-write-history--span rows)
                     for row in rows
                     for text in texts
                     for kind = (plist-get row :kind)
                     collect
                     (list (plist-get (plist-get row :item) :id)
                           (vconcat
                            (mapcar (lambda (cell) (todo-write-text-helped cell text))
                                    (list (concat
                                           (propertize (todo-write-text-shape kind)
                                                       'face (todo-write-row-face kind t))
                                           " "
                                           (propertize (todo-write-text-truncate text (- label 2))
                                                       'face (todo-write-row-face kind)))
                                          (todo-write-history--bar row span columns)
                                          (propertize (todo-write-text-time
                                                       (plist-get row :spent))
                                                      'face 'todo-write-time))))))))))

(defun todo-write-timeline (&optional thread)
  "Show which task of THREAD was in progress when; return the buffer.
THREAD is a key, by default the one at point or of this buffer, else that
of `todo-write-show'.  Tasks that left the list uncompleted are marked as
such.  Signal a `user-error' if there is no thread."
  (interactive)
  (prog1 (todo-write-buffer-pop-to "*todo-write-timeline*" 'todo-write-timeline-mode
                                 (or thread (todo-write-buffer-thread)))
    (funcall todo-write-events-draw)
    (goto-char (point-min))))

;;; The log

;; `? l' in a plan lists its observations, the newest last, for debugging.

(define-derived-mode todo-write-log-mode tabulated-list-mode "Log"
  "Major mode for the observations of a thread."
  :interactive nil
  (todo-write-buffer-set-up-table #'todo-write-history--log-table #'todo-write-history--log-show))

(todo-write-menu-define 'todo-write-log-mode todo-write-log-mode-map "Log"
  `(("Event"
     ("RET" "Show" todo-write-buffer-visit))
    ("Log"
     ("g" "Refresh" revert-buffer))
    . ,todo-write-menu-common))

(defun todo-write-history--log-table ()
  "Return the observations, as for `todo-write-buffer-set-up-table'."
  (list '(("Time" nil) ("Type" 18) ("What" 0))
        (mapcar (lambda (observation)
                  (list (plist-get observation :id)
                        (vector (todo-write-text-clock (plist-get observation :timestamp))
                                (plist-get observation :type)
                                (todo-write-text-helped
                                 (todo-write-history--log-text observation)))))
                (todo-write-observations todo-write-view-thread))))

(defun todo-write-history--log-text (observation)
  "Return OBSERVATION as a line."
  (let* ((content (plist-get observation :content))
         (name (and (consp content) (plist-get content :name))))
    (funcall
     (if (stringp name) #'todo-write-text-command #'todo-write-text-line)
     (concat (and (stringp name) (concat name " "))
             (todo-write-core-call todo-write-dyn--story-text content)
             (todo-write-story-excluded (plist-get observation :metadata) " (" ")"))
     300)))

(defun todo-write-log (&optional thread)
  "List the observations of THREAD; return the buffer.
THREAD is a key, by default the one at point or of this buffer, else that
of `todo-write-show'; interactively, a prefix argument asks for one.
Signal a `user-error' if there is no thread."
  (interactive (list (and current-prefix-arg
                          (todo-write-read-thread "Log of thread: "))))
  (prog1 (todo-write-buffer-pop-to "*todo-write-log*" 'todo-write-log-mode
                                 (or thread (todo-write-buffer-thread)))
    (funcall todo-write-events-draw)
    (goto-char (point-max))))

(defun todo-write-history--log-show (id)
  "Show the whole observation ID."
  (let* ((observation (or (seq-find (lambda (each) (equal (plist-get each :id) id))
                                    (todo-write-observations todo-write-view-thread))
                          (user-error "This observation is no longer kept")))
         (content (plist-get observation :content)))
    (when-let* ((input (and (consp content) (plist-get content :input))))
      (plist-put content :input (todo-write-json-parsed input)))
    (with-current-buffer-window "*todo-write-observation*" nil nil
      (insert (todo-write-text-plain-lines
               (if (stringp content) content
                 (todo-write-row-string
                   (insert (todo-write-to-json observation))
                   ;; This decodes escapes of invisible characters, too.
                   (json-pretty-print-buffer)))))
      (special-mode))))

(provide 'todo-write-history)
;;; todo-write-history.el ends here
