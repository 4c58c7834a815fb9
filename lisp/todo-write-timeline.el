;;; todo-write-timeline.el --- When tasks were in progress  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `T' in a plan, or `M-x todo-write-timeline', shows a row for each task that has
;; started, with a bar for each interval in which it was in progress, below the
;; prompt for which it began; `? X' saves it as SVG or Org.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'svg)
(require 'todo-write)
(require 'todo-write-commands)
(require 'todo-write-detail)
(require 'todo-write-here)
(require 'todo-write-history)
(require 'todo-write-menu)
(require 'todo-write-org)
(require 'todo-write-page)
(require 'todo-write-row)
(require 'todo-write-text)
(require 'todo-write-turns)
(require 'todo-write-view-move)

(defface todo-write-timeline-bar '((t :inherit success))
  "Face of the time in which a completed task was in progress."
  :group 'todo-write-faces)

(defface todo-write-timeline-open '((t :inherit font-lock-function-name-face))
  "Face of the time in which an open task was in progress."
  :group 'todo-write-faces)

;;; Times

(defun todo-write-timeline--rows (thread)
  "Return the tasks of THREAD that have started, in the order of their start.
Tasks that have left the list are included.  The value is a list of
plists: `:item', `:kind' as for `todo-write-text-shape', `:spent' in
milliseconds, and `:intervals', a list of (FROM . TO) in milliseconds
since the epoch."
  (let ((now (todo-write-core-now)))
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
                    :kind (if (or (eq kind 'completed) (todo-write-item thread id)) kind
                            'removed))))))

(defun todo-write-timeline--intervals (times now)
  "Return the intervals of TIMES, including one that lasts until NOW."
  (append (plist-get times :intervals)
          (when-let* ((since (plist-get times :running)))
            (list (cons since now)))))

(defun todo-write-timeline--span (rows)
  "Return the time span of ROWS, as (FROM . TO) in milliseconds.
The first of ROWS is the one that started first."
  (let ((from (caar (plist-get (car rows) :intervals))))
    (cons from
          ;; The scale divides by the length of the span.
          (apply #'max (1+ from)
                 (mapcar (lambda (row) (cdar (last (plist-get row :intervals)))) rows)))))

(defun todo-write-timeline--waits (rows)
  "Return the long times during which no task of ROWS was in progress.
The value is a list of (FROM . TO), oldest first.  A wait is long if it
takes more than a tenth of the time in which tasks were in progress, and
more than five minutes."
  (let ((intervals (sort (mapcan (lambda (row) (copy-sequence (plist-get row :intervals))) rows)
                         (lambda (a b) (< (car a) (car b)))))
        (busy 0) end waits)
    (pcase-dolist (`(,from . ,to) intervals)
      (when (and end (> from end))
        (push (cons end from) waits))
      (cl-incf busy (max 0 (- to (max from (or end from)))))
      (setq end (max to (or end to))))
    (let ((least (max 300000 (/ busy 10))))
      (nreverse (seq-filter (lambda (wait) (> (- (cdr wait) (car wait)) least)) waits)))))

(defun todo-write-timeline--folded (rows waits)
  "Return ROWS with their intervals moved together over WAITS.
The original ones are then under :times."
  (let ((fold (lambda (time)
                (- time (cl-loop for (from . to) in waits
                                 when (>= time to) sum (- to from 60000))))))
    (mapcar (lambda (row)
              (let ((intervals (plist-get row :intervals)))
                `( :times ,intervals
                   :intervals ,(mapcar (pcase-lambda (`(,from . ,to))
                                         (cons (funcall fold from) (funcall fold to)))
                                       intervals)
                   ,@row)))
            rows)))

(defun todo-write-timeline--face (row)
  "Return the face of the bars of ROW."
  (if (eq (plist-get row :kind) 'completed)
      'todo-write-timeline-bar
    'todo-write-timeline-open))

(defun todo-write-timeline-bar (row span width)
  "Return the bar of ROW as WIDTH columns of text.
SPAN is the time span of all rows."
  (let* ((bar (make-vector width (propertize (todo-write-text-shape 'dot)
                                             'face 'todo-write-bar-rest)))
         (full (propertize (todo-write-text-shape 'full)
                           'face (todo-write-timeline--face row)))
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
         (text (todo-write-text-plain (plist-get item :content)))
         (bar (todo-write-timeline-bar row span columns))
         (start (point)))
    (when (and (display-graphic-p) (image-type-available-p 'svg))
      (put-text-property 0 (length bar) 'display
                         (todo-write-timeline--svg-bar row span columns) bar))
    (insert (todo-write-row-fit
             (concat (todo-write-row-fit
                      (concat " "
                              (propertize (todo-write-text-shape kind)
                                          'face (todo-write-row-shape-face kind))
                              " " (propertize text 'face (todo-write-row-face kind)))
                      " " label)
                     " " bar)
             (propertize (todo-write-text-time (plist-get row :spent)) 'face 'todo-write-time)
             (+ label columns 12))
            "\n")
    (todo-write-row-make-button
     start (point) 'todo-write-button
     (todo-write-text-help
      (concat text
              (mapconcat (pcase-lambda (`(,from . ,to))
                           (format "\n%s – %s" (todo-write-text-clock from)
                                   (todo-write-text-clock to from)))
                         (or (plist-get row :times) (plist-get row :intervals)) "")
              "\nRET, mouse-1: go to the task"))
     'todo-write-id (plist-get item :id))))

(defun todo-write-timeline--svg-bar (row span columns)
  "Return the bars of ROW as an image COLUMNS wide.
SPAN is the time span of all rows."
  (let* ((width (* columns (frame-char-width)))
         (height (frame-char-height))
         (svg (svg-create width height))
         (color (face-foreground (todo-write-timeline--face row) nil t)))
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
  (todo-write-menu-begin-mode)
  (todo-write-page-set-up #'todo-write-timeline--draw))

(define-key todo-write-timeline-mode-map [mouse-1] #'todo-write-page-click)
(define-key todo-write-timeline-mode-map "n" #'next-line)
(define-key todo-write-timeline-mode-map "p" #'previous-line)

(todo-write-menu-define 'todo-write-timeline-mode todo-write-timeline-mode-map "Timeline"
  `(("Task"
     ("RET" "Go to it in the plan" todo-write-timeline-goto))
    ("Timeline"
     ("g" "Refresh" revert-buffer))
    . ,todo-write-menu-common))

(defun todo-write-timeline--draw (&rest _)
  "Draw the timeline."
  (setq todo-write-page-width (todo-write-page-fitting-width))
  (let* ((thread todo-write-view-thread)
         (rows (todo-write-timeline--rows thread))
         (waits (todo-write-timeline--waits rows))
         (width (max 40 todo-write-page-width))
         (longest (apply #'max 0 (mapcar (lambda (row)
                                           (todo-write-text-width
                                            (todo-write-text-plain
                                             (plist-get (plist-get row :item) :content))))
                                         rows)))
         (label (max 12 (min (/ width 3) (+ 4 longest))))
         (columns (max 10 (- width label 12))))
    (todo-write-page-with-new-text
      (let ((summary (todo-write-summary thread)))
        (todo-write-row-insert-header summary todo-write-page-width
                                      (plist-get summary :reason)))
      (insert "\n")
      (if (null rows)
          (insert (propertize " No task has started yet.\n" 'face 'todo-write-detail))
        (let* ((whole (todo-write-timeline--span rows))
               (rows (todo-write-timeline--folded rows waits))
               (span (todo-write-timeline--span rows)))
          (todo-write-timeline--insert-scale whole waits label columns)
          (cl-loop
           with turns = (todo-write-turns-all thread)
           with last = nil
           for row in rows
           for turn = (todo-write-turns-heading-at
                       turns (caar (or (plist-get row :times) (plist-get row :intervals))))
           do (unless (eq turn last)
                (setq last turn)
                (todo-write-timeline--insert-turn turn))
           (todo-write-timeline--insert-row row span label columns)))))))

(defun todo-write-timeline--insert-turn (turn)
  "Insert the prompt of TURN, a heading, as a button, if it has one."
  (when-let* ((name (todo-write-turns-name turn))
              (start (point)))
    (insert (todo-write-row-fit
             (concat " " (propertize name 'face 'todo-write-prompt)) "" todo-write-page-width)
            "\n")
    (todo-write-row-make-button
     start (point) 'todo-write-button
     (todo-write-text-help (concat (todo-write-text-line (plist-get turn :prompt))
                                   "\nRET, mouse-1: go to the prompt"))
     'todo-write-turn (plist-get turn :turn))))

(defun todo-write-timeline--insert-scale (span waits label columns)
  "Insert the line above the bars: when SPAN begins and ends, and its WAITS.
LABEL and COLUMNS are the columns before and of the bars."
  (let* ((left (todo-write-text-clock (car span)))
         (right (todo-write-text-clock (cdr span) (car span)))
         (folded (apply #'+ (mapcar (lambda (wait) (- (cdr wait) (car wait))) waits)))
         (note (if waits
                   (format "  %s folded, %s" (todo-write-text-count (length waits) "wait")
                           (todo-write-text-time folded))
                 ""))
         (room (- columns (length left) (length right) 1)))
    (insert (propertize
             (concat (make-string (1+ label) ?\s) left
                     (string-pad (todo-write-text-truncate note (max 0 room)) (max 1 (1+ room)))
                     right "\n")
             'face 'todo-write-time))))

;;;###autoload
(defun todo-write-timeline (&optional thread)
  "Show which task of THREAD was in progress when; return the buffer.
THREAD is a key, by default the one at point or of this buffer, else that
of `todo-write-show'.  Tasks that left the list uncompleted are marked as
such.  Signal a `user-error' if there is no thread."
  (interactive)
  (prog1 (todo-write-page-pop-to "*todo-write-timeline*" 'todo-write-timeline-mode
                                 (or thread (todo-write-here-thread)))
    (todo-write-timeline--draw)
    (goto-char (point-min))
    (forward-line 2)))

(defun todo-write-timeline-goto ()
  "Go to the task or the prompt at point in its plan."
  (interactive nil todo-write-timeline-mode)
  (let* ((turn (get-text-property (point) 'todo-write-turn))
         (id (or turn (get-text-property (point) 'todo-write-id) (user-error "No task here"))))
    (with-current-buffer (todo-write-show todo-write-view-thread t)
      (cond (turn (todo-write-view-move-goto-turn turn))
            ((todo-write-view-move-goto-any id))
            (t (todo-write-history-open-of todo-write-view-thread id))))))

;;; Times as files

(defun todo-write-timeline--svg (thread)
  "Return the timeline of THREAD as SVG text, on a white background.
Signal a `user-error' if no task has started."
  (let* ((rows (todo-write-timeline--rows-or-error thread))
         (span (todo-write-timeline--span rows))
         (svg (svg-create 900 (+ 60 (* 24 (length rows)))
                          :font-family "sans-serif" :font-size 13))
         (write (lambda (text x y color &rest args)
                  (apply #'svg-text svg text :x x :y y :fill color args)))
         (title (or (plist-get (todo-write-summary thread) :title) "Plan"))
         (black "#222222")
         (gray "#888888")
         (y 50))
    (svg-rectangle svg 0 0 "100%" "100%" :fill "white")
    (funcall write (todo-write-text-plain title) 10 22 black
             :font-weight "bold" :font-size 15)
    (funcall write (todo-write-text-clock (car span)) 300 40 gray)
    (funcall write (todo-write-text-clock (cdr span) (car span)) 830 40 gray :text-anchor "end")
    (dolist (row rows)
      (let* ((item (plist-get row :item))
             (lines (nth 1 (todo-write-timeline--work thread item))))
        (svg-line svg 300 (+ y 9) 830 (+ y 9) :stroke "#dddddd")
        (funcall write (todo-write-text-truncate
                        (todo-write-text-plain (plist-get item :content))
                        (if (equal lines "") 40 28))
                 10 (+ y 13) black)
        (funcall write lines 290 (+ y 13) gray :text-anchor "end")
        (todo-write-timeline--bars
         svg row span 300 (+ y 2) 530 14
         (if (eq (plist-get row :kind) 'completed) "#2e7d32" "#1565c0"))
        (funcall write (todo-write-text-time (plist-get row :spent)) 890 (+ y 13) gray
                 :text-anchor "end")
        (setq y (+ y 24))))
    (with-temp-buffer
      (svg-print svg)
      (buffer-string))))

(defun todo-write-timeline--org (thread)
  "Return the timeline of THREAD as an Org table, a line for each interval.
Signal a `user-error' if no task has started."
  (concat
   (format "#+title: %s\n\n"
           (todo-write-org-plain
            (or (plist-get (todo-write-summary thread) :title) "Plan")))
   "| Task | Status | From | To | In progress | Files | Lines | Failed |\n|-\n"
   (mapconcat
    (lambda (row)
      (let* ((item (plist-get row :item))
             (work (todo-write-timeline--work thread item)))
        (mapconcat (pcase-lambda (`(,from . ,to))
                     (format "| %s | %s | %s | %s | %s | %s |\n"
                             ;; A vertical bar would end the cell.
                             (string-replace "|" "\\vert{}"
                                             (todo-write-org-plain
                                              (plist-get item :content)))
                             (if (eq (plist-get row :kind) 'removed)
                                 (todo-write-detail-departure thread (plist-get item :id))
                               (plist-get item :status))
                             (format-time-string "%F %T" (/ from 1000))
                             (format-time-string "%F %T" (/ to 1000))
                             (todo-write-text-time (- to from))
                             ;; The work of a task is known as a whole only.
                             (string-join (or (prog1 work (setq work nil)) '("" "" ""))
                                          " | ")))
                   (plist-get row :intervals) "")))
    (todo-write-timeline--rows-or-error thread) "")))

(defun todo-write-timeline--work (thread item)
  "Return the files, lines and failed commands of ITEM of THREAD, three strings."
  (let* ((work (todo-write-work thread (plist-get item :id)))
         (files (length (plist-get work :files)))
         (failed (or (plist-get (plist-get work :commands) :failed) 0)))
    (list (if (> files 0)
              (concat (number-to-string files) (and (plist-get work :moreFiles) " and more"))
            "")
          (if (> files 0)
              (format "+%d −%d" (plist-get work :added) (plist-get work :removed))
            "")
          (if (> failed 0) (number-to-string failed) ""))))

(defun todo-write-timeline--rows-or-error (thread)
  "Return the rows of THREAD's timeline, or signal a `user-error'."
  (or (todo-write-timeline--rows thread) (user-error "No task has started yet")))

(defun todo-write-export-timeline (thread file)
  "Save the timeline of THREAD as FILE.
FILE ends in .svg for an image or in .org for a table; signal a
`user-error' for any other name."
  (interactive
   (list (todo-write-here-thread)
         (read-file-name "Save timeline as (.svg or .org): " nil nil nil "timeline.svg")))
  (let ((text (pcase (file-name-extension file)
                ("svg" (todo-write-timeline--svg thread))
                ("org" (todo-write-timeline--org thread))
                (_ (user-error "The name must end in .svg or .org")))))
    (let ((coding-system-for-write 'utf-8))
      (write-region text nil file nil 'quiet nil (called-interactively-p 'any)))
    (message "Saved %s" (abbreviate-file-name file))))

(provide 'todo-write-timeline)
;;; todo-write-timeline.el ends here
