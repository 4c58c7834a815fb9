;;; todo-write-history.el --- Look back at a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `H' in a plan, or `M-x todo-write-history', shows one revision of the plan: its
;; author and time, the list, and what changed.  `T', or `M-x todo-write-timeline',
;; shows a row for each task that has started, with a bar for each interval in
;; which it was in progress; `x' saves that as SVG or Org.

;;; Code:

(require 'svg)
(require 'todo-write)
(require 'todo-write-org)
(require 'todo-write-row)
(require 'todo-write-view)

(defface todo-write-previous-text '((t :inherit shadow :slant italic))
  "Face of the text that a task had before."
  :group 'todo-write-faces)

(defface todo-write-timeline-bar '((t :inherit success))
  "Face of the time in which a completed task was in progress."
  :group 'todo-write-faces)

(defface todo-write-timeline-open '((t :inherit font-lock-function-name-face))
  "Face of the time in which an open task was in progress."
  :group 'todo-write-faces)

;;; Both buffers

(defun todo-write-history--thread (thread)
  "Return THREAD, by default that of this buffer or else the one shown first.
Signal a `user-error' if there is none."
  (or thread todo-write-view-thread (todo-write-view--default-thread)
      (user-error "There is no plan yet")))

(defun todo-write-history--pop-to (name mode thread &optional action)
  "Display the buffer NAME in MODE for THREAD; return it.
ACTION is passed to `pop-to-buffer'."
  (pop-to-buffer (get-buffer-create name) action)
  (unless (derived-mode-p mode)
    (funcall mode))
  (setq todo-write-view-thread thread)
  (current-buffer))

(defmacro todo-write-history--with-new-text (&rest body)
  "Replace the text of this buffer by what BODY inserts; keep point on its line."
  (declare (indent 0) (debug t))
  `(let ((line (line-number-at-pos))
         (inhibit-read-only t))
     (erase-buffer)
     ,@body
     (set-buffer-modified-p nil)
     (goto-char (point-min))
     (forward-line (1- line))))

;;; Revisions

(defvar-local todo-write-history--revision nil
  "Number of the revision shown.")

(define-derived-mode todo-write-history-mode special-mode "Plan history"
  "Major mode of the buffer that shows one revision of a plan."
  :interactive nil
  (todo-write-view--set-up-page #'todo-write-history--draw))

(define-key todo-write-history-mode-map "[" #'todo-write-history-older)
(define-key todo-write-history-mode-map "]" #'todo-write-history-newer)

(todo-write-menu-define 'todo-write-history-mode todo-write-history-mode-map "History"
  '(("Revision"
     ("p" "Older" todo-write-history-older)
     ("n" "Newer" todo-write-history-newer)
     ("<" "Oldest" todo-write-history-oldest)
     (">" "Newest" todo-write-history-newest)
     ("g" "Refresh" revert-buffer))))

;;;###autoload
(defun todo-write-history (&optional thread)
  "Show the newest revision of THREAD and what it changed.
THREAD is a key, by default the one of this buffer or, if it has none,
the one written last.  Keys of the buffer show other revisions.  Return
the buffer."
  (interactive)
  (let ((thread (todo-write-history--thread thread)))
    (unless (todo-write-revisions thread)
      (user-error "This plan has no history yet"))
    (prog1 (todo-write-history--pop-to
            (format "%s history" todo-write-view-buffer-name) 'todo-write-history-mode thread
            '((display-buffer-reuse-window display-buffer-same-window)))
      (todo-write-history-newest))))

(defun todo-write-history-older (&optional count)
  "Show the revision before; with COUNT, that many back."
  (interactive "p" todo-write-history-mode)
  (todo-write-history-newer (- (or count 1))))

(defun todo-write-history-newer (&optional count)
  "Show the next revision; with COUNT, that many on."
  (interactive "p" todo-write-history-mode)
  (let* ((numbers (todo-write-history--numbers))
         (index (+ (or count 1) (or (seq-position numbers todo-write-history--revision)
                                    (length numbers)))))
    (cond ((< index 0) (user-error "This is the first revision"))
          ((>= index (length numbers)) (user-error "This is the newest revision"))
          (t (todo-write-history--show (nth index numbers))))))

(defun todo-write-history-oldest ()
  "Show the first revision."
  (interactive nil todo-write-history-mode)
  (todo-write-history--show (car (todo-write-history--numbers))))

(defun todo-write-history-newest ()
  "Show the last revision."
  (interactive nil todo-write-history-mode)
  (todo-write-history--show (car (last (todo-write-history--numbers)))))

(defun todo-write-history--numbers ()
  "Return the numbers of the revisions; a damaged journal leaves gaps."
  (mapcar (lambda (revision) (plist-get revision :revision))
          (todo-write-revisions todo-write-view-thread)))

(defun todo-write-history--show (number)
  "Show the revision NUMBER, with point at its first change."
  (setq todo-write-history--revision number)
  (todo-write-history--draw)
  (goto-char (or (text-property-any (point-min) (point-max) 'todo-write-changed t)
                 (point-min))))

(defun todo-write-history--draw (&rest _)
  "Draw the revision shown, or the newest if it is gone."
  (setq todo-write-view--width (todo-write-view--fitting-width))
  (let* ((thread todo-write-view-thread)
         (revisions (todo-write-revisions thread))
         (newest (car (last revisions)))
         (revision (seq-find (lambda (revision)
                               (eql (plist-get revision :revision) todo-write-history--revision))
                             revisions newest))
         (number (plist-get revision :revision))
         (items (todo-write-items thread number))
         (previous (or (plist-get (cadr (memq revision (reverse revisions))) :revision) 0))
         (changes (plist-get (todo-write-changes-between thread previous number) :changes))
         (by-id (seq-group-by (lambda (change) (plist-get change :itemId)) changes)))
    (setq todo-write-history--revision number)
    (todo-write-history--with-new-text
      (insert (todo-write-history--header revision (plist-get newest :revision) items) "\n")
      (when (seq-empty-p items)
        (insert (propertize "   The list is empty.\n" 'face 'todo-write-detail)))
      (seq-doseq (item items)
        (todo-write-history--insert-row item (cdr (assoc (plist-get item :id) by-id))
                                        (todo-write-row-note item items)))
      (seq-doseq (change changes)
        (when (equal (plist-get change :type) "removed")
          (todo-write-history--insert-row (plist-get change :previousItem) (list change)))))))

(defun todo-write-history--header (revision count items)
  "Return the header of REVISION, one of COUNT, whose list is ITEMS."
  (let* ((title (plist-get (todo-write-summary todo-write-view-thread) :title))
         (source (plist-get revision :source))
         (origin (list (if (equal (plist-get revision :author) "user") "you" "agent")
                       (plist-get revision :operation)
                       (and source (todo-write-row-plain source))
                       (todo-write-detail-clock (plist-get revision :timestamp))))
         (completed (seq-count (lambda (item) (equal (plist-get item :status) "completed"))
                               items))
         (width todo-write-view--width)
         (bar (min 20 (/ width 4))))
    (concat
     (todo-write-row-fit
      (concat " " (propertize (todo-write-row-plain (or title "Plan"))
                              'face 'todo-write-title))
      (propertize (format "revision %d of %d" (plist-get revision :revision) count)
                  'face 'todo-write-count)
      width)
     "\n"
     (todo-write-row-fit
      (concat " " (propertize (string-join (delq nil origin)
                                           (format " %s " (todo-write-row-shape 'dot)))
                              'face 'todo-write-time))
      (concat (format "%d/%d" completed (length items))
              (when (>= bar 8)
                (concat "  " (todo-write-row-string
                               (todo-write-row-insert-bar completed (length items) bar)))))
      width)
     "\n")))

(defun todo-write-history--insert-row (item changes &optional note)
  "Insert the row of ITEM, with NOTE, a string or nil, at its end.
CHANGES are the plists of the changes that the revision made to it."
  (let* ((type (plist-get (car changes) :type))
         (kind (if (equal type "removed") 'removed (todo-write-row-kind item)))
         (face (todo-write-row-face kind))
         (previous (or (seq-some (lambda (change) (plist-get change :previousItem)) changes)
                       item))
         (text (todo-write-row-plain (plist-get item :content)))
         (was (todo-write-row-plain (plist-get previous :content)))
         (steps (unless (equal was text) (todo-write-words-diff was text)))
         (start (point)))
    (insert (todo-write-row-fit
             (concat " " (if type (todo-write-detail-mark type) " ") " "
                     (propertize (todo-write-row-shape (todo-write-row-kind item))
                                 'face (todo-write-row-shape-face kind))
                     " "
                     (if steps
                         (todo-write-words-string steps '(same added) face)
                       (propertize text 'face face)))
             (todo-write-history--notes item previous changes note)
             todo-write-view--width)
            "\n")
    (when steps
      (insert (todo-write-row-truncate
               (concat (propertize "     was: " 'face 'todo-write-previous-text)
                       (todo-write-words-string steps '(same removed)
                                                'todo-write-previous-text))
               todo-write-view--width)
              "\n"))
    (add-text-properties start (point) `(help-echo ,text help-echo-inhibit-substitution t))
    (when changes
      (put-text-property start (point) 'todo-write-changed t))))

(defun todo-write-history--notes (item previous changes note)
  "Return the text at the right of ITEM, which was PREVIOUS before CHANGES.
NOTE, a string or nil, is about dependencies and the owner."
  (let ((moved (seq-find (lambda (change) (equal (plist-get change :type) "reordered"))
                         changes))
        (priority (plist-get item :priority)))
    (string-join
     (delq nil
           (list (when moved
                   (propertize (format "%s from %d" (todo-write-row-shape 'moved)
                                       (1+ (plist-get moved :previousPosition)))
                               'face 'todo-write-moved))
                 (unless (equal (plist-get previous :priority) priority)
                   (propertize (format "priority %s" (or priority "none"))
                               'face 'todo-write-time))
                 (when note
                   (propertize note 'face 'todo-write-time))
                 (unless (equal (plist-get previous :status) (plist-get item :status))
                   (concat (todo-write-detail-shape previous)
                           (propertize (format " %s " (todo-write-row-shape 'arrow))
                                       'face 'todo-write-time)
                           (todo-write-detail-shape item)))))
     "  ")))

;;; Times

(defun todo-write-timeline-rows (thread)
  "Return the tasks of THREAD that have started, in the order of their start.
Tasks that have left the list are included.  The value is a list of
plists: `:item', `:kind' as for `todo-write-row-shape', `:spent' in
milliseconds, and `:intervals', a list of (FROM . TO) in milliseconds
since the epoch."
  (let ((now (floor (* 1000 (float-time)))))
    (seq-sort-by
     (lambda (row) (caar (plist-get row :intervals))) #'<
     (cl-loop
      for item in (append (todo-write-items thread) (todo-write-items-removed thread))
      for id = (plist-get item :id)
      for times = (todo-write-times thread id)
      for intervals = (todo-write-timeline--intervals times now)
      for kind = (todo-write-row-kind item (not (plist-get times :running)))
      when intervals
      collect (list :item item :intervals intervals :spent (plist-get times :spent)
                    ;; A task that left the list uncompleted was dropped.
                    :kind (if (or (eq kind 'completed) (todo-write-item thread id)) kind
                            'removed))))))

(defun todo-write-timeline--intervals (times now)
  "Return the intervals of TIMES, including one that lasts until NOW.
The running interval is the time spent minus the finished intervals."
  (let* ((finished (plist-get times :intervals))
         (open (- (or (plist-get times :spent) 0)
                  (cl-loop for (from . to) in finished sum (- to from)))))
    (if (plist-get times :running)
        (append finished (list (cons (- now open) now)))
      finished)))

(defun todo-write-timeline-span (rows)
  "Return the time span of ROWS, as (FROM . TO) in milliseconds.
The first of ROWS is the one that started first."
  (let ((from (caar (plist-get (car rows) :intervals))))
    (cons from
          ;; The scale divides by the length of the span.
          (apply #'max (1+ from)
                 (mapcar (lambda (row) (cdar (last (plist-get row :intervals)))) rows)))))

(defun todo-write-timeline-face (row)
  "Return the face of the bars of ROW."
  (if (eq (plist-get row :kind) 'completed)
      'todo-write-timeline-bar
    'todo-write-timeline-open))

(defun todo-write-timeline-bar (row span width)
  "Return the bar of ROW as WIDTH columns of text.
SPAN is the time span of all rows."
  (let* ((bar (make-vector width (propertize (todo-write-row-shape 'dot)
                                             'face 'todo-write-bar-rest)))
         (full (propertize (todo-write-row-shape 'full)
                           'face (todo-write-timeline-face row)))
         (from (car span))
         (scale (/ (float width) (- (cdr span) from))))
    (pcase-dolist (`(,start . ,end) (plist-get row :intervals))
      (let ((first (min (1- width) (floor (* scale (- start from)))))
            (last (min (1- width) (floor (* scale (- end from 1))))))
        (cl-loop for cell from first to (max first last)
                 do (aset bar cell full))))
    (mapconcat #'identity bar "")))

(defun todo-write-timeline--insert-row (row span label columns)
  "Insert ROW with its text in LABEL and its bar in COLUMNS columns.
SPAN is the time span of all rows."
  (let* ((item (plist-get row :item))
         (kind (plist-get row :kind))
         (text (todo-write-row-plain (plist-get item :content)))
         (bar (todo-write-timeline-bar row span columns))
         (start (point)))
    (when (and (display-graphic-p) (image-type-available-p 'svg))
      (put-text-property 0 (length bar) 'display
                         (todo-write-timeline-svg-bar row span columns) bar))
    (insert (todo-write-row-fit
             (concat (todo-write-row-fit
                      (concat " "
                              (propertize (todo-write-row-shape kind)
                                          'face (todo-write-row-shape-face kind))
                              " " (propertize text 'face (todo-write-row-face kind)))
                      " " label)
                     " " bar)
             (propertize (todo-write-row-time (plist-get row :spent)) 'face 'todo-write-time)
             (+ label columns 12))
            "\n")
    (add-text-properties
     start (point)
     `(todo-write-id ,(plist-get item :id) mouse-face highlight
       help-echo ,(concat text
                          (mapconcat (pcase-lambda (`(,from . ,to))
                                       (format "\n%s – %s" (todo-write-timeline-clock from)
                                               (todo-write-timeline-clock to)))
                                     (plist-get row :intervals) "")
                          "\nRET, mouse-1: go to the task")
       help-echo-inhibit-substitution t))))

(defun todo-write-timeline-clock (milliseconds)
  "Return the time of day of MILLISECONDS since the epoch."
  (format-time-string "%T" (/ milliseconds 1000)))

(defun todo-write-timeline-svg-bar (row span columns)
  "Return the bars of ROW as an image COLUMNS wide.
SPAN is the time span of all rows."
  (let* ((width (* columns (frame-char-width)))
         (height (frame-char-height))
         (svg (svg-create width height))
         (color (face-foreground (todo-write-timeline-face row) nil t)))
    (svg-line svg 0 (/ height 2) width (/ height 2)
              :stroke (face-foreground 'todo-write-bar-rest nil t) :stroke-opacity 0.4)
    (todo-write-timeline--bars svg row span 0 (round (* 0.2 height))
                                      width (round (* 0.6 height)) color)
    (svg-image svg :ascent 'center :scale 1)))

(defun todo-write-timeline--bars (svg row span x y width height color)
  "Draw the intervals of ROW into SVG, in COLOR.
SPAN, the time span of all rows, takes WIDTH pixels from X; the bars
begin at Y and are HEIGHT high."
  (let ((scale (/ (float width) (- (cdr span) (car span)))))
    (pcase-dolist (`(,from . ,to) (plist-get row :intervals))
      (svg-rectangle svg (+ x (* scale (- from (car span)))) y
                     ;; Keep the shortest interval visible.
                     (max 2 (* scale (- to from))) height
                     :rx 2 :fill color))))

(define-derived-mode todo-write-timeline-mode special-mode "Plan timeline"
  "Major mode of the buffer that shows which task was in progress when."
  :interactive nil
  (todo-write-view--set-up-page #'todo-write-timeline--draw))

(define-key todo-write-timeline-mode-map [mouse-1] #'todo-write-timeline-mouse-goto)
(define-key todo-write-timeline-mode-map "n" #'next-line)
(define-key todo-write-timeline-mode-map "p" #'previous-line)

(todo-write-menu-define 'todo-write-timeline-mode todo-write-timeline-mode-map "Timeline"
  '(("Task"
     ("RET" "Go to it in the plan" todo-write-timeline-goto))
    ("Timeline"
     ("x" "Export…" todo-write-export-timeline)
     ("g" "Refresh" revert-buffer))))

(defun todo-write-timeline--draw (&rest _)
  "Draw the timeline."
  (setq todo-write-view--width (todo-write-view--fitting-width))
  (let* ((thread todo-write-view-thread)
         (rows (todo-write-timeline-rows thread))
         (width (max 40 todo-write-view--width))
         (label (max 12 (/ width 3)))
         (columns (max 10 (- width label 12))))
    (todo-write-history--with-new-text
      (todo-write-row-insert-header (todo-write-summary thread) todo-write-view--width)
      (insert "\n")
      (if (null rows)
          (insert (propertize " No task has started yet.\n" 'face 'todo-write-detail))
        (let ((span (todo-write-timeline-span rows)))
          (insert (propertize (concat (make-string (1+ label) ?\s)
                                      (todo-write-timeline-clock (car span))
                                      (make-string (max 1 (- columns 16)) ?\s)
                                      (todo-write-timeline-clock (cdr span)))
                              'face 'todo-write-time)
                  "\n")
          (dolist (row rows)
            (todo-write-timeline--insert-row row span label columns)))))))

;;;###autoload
(defun todo-write-timeline (&optional thread)
  "Show which task of THREAD was in progress when; return the buffer.
THREAD is a key, by default the one of this buffer or, if it has none,
the one to be shown first.  Tasks that left the list uncompleted are
shown as dropped.  Signal a `user-error' if there is no thread."
  (interactive)
  (prog1 (todo-write-history--pop-to "*todo-write-timeline*" 'todo-write-timeline-mode
                                     (todo-write-history--thread thread))
    (todo-write-timeline--draw)
    (goto-char (point-min))
    (forward-line 2)))

(defun todo-write-timeline-goto ()
  "Go to the task at point in its plan."
  (interactive nil todo-write-timeline-mode)
  (let ((id (or (get-text-property (point) 'todo-write-id) (user-error "No task here"))))
    (with-current-buffer (todo-write-show todo-write-view-thread t)
      (unless (todo-write-view-goto id)
        (user-error "This task is no longer in the list")))))

(defun todo-write-timeline-mouse-goto (event)
  "Go to the task that EVENT clicked on, in its plan."
  (interactive "e" todo-write-timeline-mode)
  (mouse-set-point event)
  (when (get-text-property (point) 'todo-write-id)
    (todo-write-timeline-goto)))

;;; Times as files

(defun todo-write-timeline-svg (thread)
  "Return the timeline of THREAD as SVG text, on a white background.
Signal a `user-error' if no task has started."
  (let* ((rows (todo-write-timeline--rows-or-error thread))
         (span (todo-write-timeline-span rows))
         (svg (svg-create 900 (+ 60 (* 24 (length rows)))
                          :font-family "sans-serif" :font-size 13))
         (write (lambda (text x y color &rest args)
                  (apply #'svg-text svg text :x x :y y :fill color args)))
         (title (or (plist-get (todo-write-summary thread) :title) "Plan"))
         (black "#222222")
         (gray "#888888")
         (y 50))
    (svg-rectangle svg 0 0 "100%" "100%" :fill "white")
    (funcall write (todo-write-row-plain title) 10 22 black
             :font-weight "bold" :font-size 15)
    (funcall write (todo-write-timeline-clock (car span)) 300 40 gray)
    (funcall write (todo-write-timeline-clock (cdr span)) 830 40 gray :text-anchor "end")
    (dolist (row rows)
      (let ((item (plist-get row :item)))
        (svg-line svg 300 (+ y 9) 830 (+ y 9) :stroke "#dddddd")
        (funcall write (todo-write-row-truncate
                        (todo-write-row-plain (plist-get item :content)) 40)
                 10 (+ y 13) black)
        (todo-write-timeline--bars
         svg row span 300 (+ y 2) 530 14
         (if (eq (plist-get row :kind) 'completed) "#2e7d32" "#1565c0"))
        (funcall write (todo-write-row-time (plist-get row :spent)) 890 (+ y 13) gray
                 :text-anchor "end")
        (setq y (+ y 24))))
    (with-temp-buffer
      (svg-print svg)
      (buffer-string))))

(defun todo-write-timeline-org (thread)
  "Return the timeline of THREAD as an Org table, a line for each interval.
Signal a `user-error' if no task has started."
  (concat
   (format "#+title: %s\n\n"
           (todo-write-org-plain
            (or (plist-get (todo-write-summary thread) :title) "Plan")))
   "| Task | Status | From | To | In progress |\n|-\n"
   (mapconcat
    (lambda (row)
      (let ((item (plist-get row :item)))
        (mapconcat (pcase-lambda (`(,from . ,to))
                     (format "| %s | %s | %s | %s | %s |\n"
                             ;; A vertical bar would end the cell.
                             (string-replace "|" "\\vert{}"
                                             (todo-write-org-plain
                                              (plist-get item :content)))
                             (if (eq (plist-get row :kind) 'removed) "dropped"
                               (plist-get item :status))
                             (format-time-string "%F %T" (/ from 1000))
                             (format-time-string "%F %T" (/ to 1000))
                             (todo-write-row-time (- to from))))
                   (plist-get row :intervals) "")))
    (todo-write-timeline--rows-or-error thread) "")))

(defun todo-write-timeline--rows-or-error (thread)
  "Return the rows of THREAD's timeline, or signal a `user-error'."
  (or (todo-write-timeline-rows thread) (user-error "No task has started yet")))

;;;###autoload
(defun todo-write-export-timeline (thread file)
  "Save the timeline of THREAD as FILE.
FILE ends in .svg for an image or in .org for a table; signal a
`user-error' for any other name."
  (interactive
   (list (or todo-write-view-thread (user-error "There is no plan here"))
         (read-file-name "Save timeline as (.svg or .org): " nil nil nil "timeline.svg")))
  (let ((text (pcase (file-name-extension file)
                ("svg" (todo-write-timeline-svg thread))
                ("org" (todo-write-timeline-org thread))
                (_ (user-error "The name must end in .svg or .org")))))
    (let ((coding-system-for-write 'utf-8))
      (write-region text nil file nil 'quiet nil (called-interactively-p 'any)))
    (message "Saved %s" (abbreviate-file-name file))))

(provide 'todo-write-history)
;;; todo-write-history.el ends here
