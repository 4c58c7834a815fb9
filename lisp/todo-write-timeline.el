;;; todo-write-timeline.el --- When tasks were in progress  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `? T' in a plan shows a row for each task that has started, those of earlier lists
;; too, with a bar for each interval in which it was in progress.  Long waits are left out.

;;; Code:

(require 'todo-write-history)

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
      for running = (plist-get times :running)
      for intervals = (append (plist-get times :intervals)
                              (and running (list (cons running now))))
      for kind = (todo-write-row-kind item (not running))
      when intervals
      collect (list :item item :intervals intervals :spent (plist-get times :spent)
                    :kind (if (or (eq kind 'completed) (todo-write-item thread id)) kind
                            'removed))))))

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
  "Return ROWS with their intervals moved together over WAITS."
  (let ((fold (lambda (time)
                (- time (cl-loop for (from . to) in waits
                                 when (>= time to) sum (- to from 60000))))))
    (mapcar (lambda (row)
              `( :intervals ,(mapcar (pcase-lambda (`(,from . ,to))
                                       (cons (funcall fold from) (funcall fold to)))
                                     (plist-get row :intervals))
                 ,@row))
            rows)))

(defun todo-write-timeline--bar (row span width)
  "Return the bar of ROW as WIDTH columns of text.
SPAN is the time span of all rows."
  (let ((bar (make-vector width (propertize (todo-write-text-shape 'dot) 'face 'todo-write-time)))
        (full (propertize (todo-write-text-shape 'full)
                          'face (todo-write-row-shape-face (plist-get row :kind))))
        (from (car span))
        (scale (/ (float width) (- (cdr span) (car span)))))
    (pcase-dolist (`(,start . ,end) (plist-get row :intervals))
      (let ((first (min (1- width) (floor (* scale (- start from)))))
            (last (min (1- width) (floor (* scale (- end from 1))))))
        (cl-loop for cell from first to (max first last)
                 do (aset bar cell full))))
    (mapconcat #'identity bar "")))

(defun todo-write-timeline--scale (span waits columns)
  "Return when SPAN begins and ends, and its WAITS, in COLUMNS columns."
  (let* ((left (todo-write-text-clock (car span)))
         (right (todo-write-text-clock (cdr span) (car span)))
         (left-out (apply #'+ (mapcar (lambda (wait) (- (cdr wait) (car wait))) waits)))
         (note (if waits
                   (format "  %s of %s left out" (todo-write-text-count (length waits) "pause")
                           (todo-write-text-time left-out))
                 "")))
    ;; The gap is aligned for a line that begins at the first column.
    (substring-no-properties
     (todo-write-row-fit (concat left note) right
                         (max columns (+ 1 (length left) (length right)))))))

(define-derived-mode todo-write-timeline-mode tabulated-list-mode "Plan timeline"
  "Major mode of the buffer that shows which task was in progress when."
  :interactive nil
  (todo-write-buffer-set-up-table
   #'todo-write-timeline--table
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

(defun todo-write-timeline--table ()
  "Return the timeline, as for `todo-write-buffer-set-up-table'."
  (let* ((rows (todo-write-timeline--rows todo-write-view-thread))
         (waits (todo-write-timeline--waits rows))
         (folded (todo-write-timeline--folded rows waits))
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
              (,(todo-write-timeline--scale (todo-write-timeline--span rows) waits columns)
               ,columns)
              ("Time" 8 nil :right-align t))
            (cl-loop with span = (todo-write-timeline--span folded)
                     for row in folded
                     for text in texts
                     for kind = (plist-get row :kind)
                     collect
                     (list (plist-get (plist-get row :item) :id)
                           (vconcat
                            (mapcar (lambda (cell) (todo-write-text-helped cell text))
                                    (list (concat
                                           (propertize (todo-write-text-shape kind)
                                                       'face (todo-write-row-shape-face kind))
                                           " "
                                           (propertize (todo-write-text-truncate text (- label 2))
                                                       'face (todo-write-row-face kind)))
                                          (todo-write-timeline--bar row span columns)
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

(provide 'todo-write-timeline)
;;; todo-write-timeline.el ends here
