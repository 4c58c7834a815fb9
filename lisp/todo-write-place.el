;;; todo-write-place.el --- Where a plan's tasks are in its buffer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The rows of a plan are nodes of an ewoc, found by the ids of their tasks.  A place
;; is a position relative to a row or an entry, so that it survives drawing: point,
;; the mark and the scroll position of every window stay at their tasks.
;;
;; A window follows the task in progress until the user moves in it, and again when
;; point is back on that task, as after `.'.  What is drawn, and when, is decided in
;; todo-write-view.el.

;;; Code:

(require 'cl-lib)
(require 'ewoc)
(require 'subr-x)
(require 'todo-write-fold)
(require 'todo-write-story)

;;; Rows

(defvar-local todo-write-place--ewoc nil
  "The ewoc of the rows.")

(defvar-local todo-write-place--nodes nil
  "Hash table from item id to ewoc node, ghosts included.")

(defvar-local todo-write-place--header-length 0
  "Number of characters of the header, without the newline after it.")

(defun todo-write-place--start (id)
  "Return the position of the row of ID, or nil."
  (when-let* ((node (and id (gethash id todo-write-place--nodes))))
    (marker-position (ewoc-location node))))

;;; Staying

(defun todo-write-place--at (position)
  "Return the place of POSITION, or nil in the header.
It is a list (ID OFFSET KEY COLUMN): the offset from the start of its row
and, within an entry, that of the line from the start of the entry.
Below the rows, ID is t, and on a button of an empty plan it is `button'."
  (let* ((id (or (get-text-property position 'todo-write-id)
                 (get-text-property position 'todo-write-stop)
                 (get-text-property position 'todo-write-entry)))
         (id (cond ((or (stringp id) (eq id 'button)) id)
                   ((or id (todo-write-place--below-rows-p position)) t)))
         (start (pcase id
                  ('t (todo-write-place--footer-start))
                  ('button (point-min))
                  (_ (todo-write-place--start id))))
         (entry (get-text-property position 'todo-write-entry)))
    (and start
         (cons id (cons (- position start)
                        (when entry
                          (let ((key (todo-write-story--entry-key entry)))
                            (list key (- position
                                         (todo-write-place--entry-start start key))))))))))

(defun todo-write-place--below-rows-p (position)
  "Return non-nil if there are rows and POSITION is below them."
  (and todo-write-place--ewoc
       (ewoc-nth todo-write-place--ewoc -1)
       (>= position (todo-write-place--footer-start))))

(defun todo-write-place--footer-start ()
  "Return the position after the rows."
  (if-let* ((last (and todo-write-place--ewoc (ewoc-nth todo-write-place--ewoc -1))))
      (next-single-property-change (ewoc-location last) 'todo-write-id nil (point-max))
    (+ (point-min) todo-write-place--header-length 1)))

(defun todo-write-place--entry-start (start key)
  "Return the position of the entry KEY below the row at START, or nil."
  (let ((end (next-single-property-change start 'todo-write-id nil (point-max)))
        found)
    (while (and start (not found) (< start end))
      (let ((entry (get-text-property start 'todo-write-entry)))
        (if (and entry (equal key (todo-write-story--entry-key entry)))
            (setq found start)
          (setq start (next-single-property-change start 'todo-write-entry nil end)))))
    found))

(defun todo-write-place--position (place)
  "Return the position of PLACE, or nil if its row is gone.
A marker there is then at the row that followed."
  (pcase-let ((`(,id ,offset ,key ,column) place))
    (if (eq id 'button)
        ;; Point must not stay below the first tasks.
        (let ((position (min (point-max) (+ (point-min) offset))))
          (if (eq 'button (get-text-property position 'todo-write-stop)) position (point-min)))
      (when-let* ((start (if (eq id t) (todo-write-place--footer-start)
                           (todo-write-place--start id))))
        (if-let* ((entry (and key (todo-write-place--entry-start start key))))
            (+ entry column)
          (min (+ start offset)
               (if (eq id t) (point-max)
                 (1- (next-single-property-change start 'todo-write-id nil
                                                  (point-max))))))))))

(defun todo-write-place--keep (windows function &optional first second)
  "Keep point, the mark and WINDOWS in their places while FUNCTION draws.
It is called with WINDOWS, which are all that show the buffer, FIRST and
SECOND."
  (let ((point (todo-write-place--at (point)))
        (mark (and (mark t) (todo-write-place--at (mark t))))
        (places (cl-loop for window in windows
                         collect (todo-write-place--at (window-point window))
                         collect (todo-write-place--at (window-start window)))))
    (save-excursion
      (funcall function windows first second))
    (when-let* ((position (todo-write-place--position point)))
      (goto-char position))
    (when-let* ((position (todo-write-place--position mark)))
      (set-marker (mark-marker) position))
    (dolist (window windows)
      (when-let* ((position (todo-write-place--position (pop places))))
        (set-window-point window position))
      (when-let* ((position (todo-write-place--position (pop places))))
        (set-window-start window position t)))))

;;; Following

(defun todo-write-place--following-p (window current)
  "Return non-nil if WINDOW follows CURRENT, the id of a task or nil.
It does while point is where it was placed last, or on that task."
  (let ((point (window-point window)))
    (or (and current (equal current (get-text-property point 'todo-write-id)))
        (pcase-let ((`(,buffer ,noted ,start)
                     (window-parameter window 'todo-write-places)))
          (and (eq buffer (current-buffer)) (= noted point)
               ;; The wheel can scroll without moving point.
               (or (= start (window-start window))
                   (let ((position (todo-write-place--start current)))
                     (or (null position)
                         (todo-write-place--visible-p window position)))))))))

(defun todo-write-place--follow (window current)
  "Let WINDOW show the task CURRENT, an id or nil, and note its new place.
In the selected window, point moves only to scroll."
  (when-let* ((position (todo-write-place--start current)))
    (let ((visible (todo-write-place--visible-p window position)))
      (unless (and visible (eq window (selected-window)))
        (set-window-point window position))
      (unless visible
        (set-window-start window (todo-write-place--start-for window position) t))))
  (todo-write-place--note window))

(defun todo-write-place--note (window)
  "Note point and start of WINDOW, to detect later whether the user moved."
  (set-window-parameter window 'todo-write-places
                        (list (current-buffer) (window-point window) (window-start window))))

(defun todo-write-place--visible-p (window position)
  "Return non-nil if WINDOW shows the row at POSITION."
  (let* ((start (window-start window))
         (fold (todo-write-fold--at start))
         (start (if fold (overlay-start fold) start)))
    (and (>= position start)
         (save-excursion
           (goto-char position)
           (forward-line (- 1 (window-body-height window)
                            (todo-write-fold--unseen-lines start position)
                            (todo-write-place--hidden-lines start position)))
           (<= (point) start)))))

(defun todo-write-place--hidden-lines (start end)
  "Return the number of lines between START and END that were drawn for Occur."
  (cl-loop for overlay in (overlays-in start end)
           when (overlay-get overlay 'todo-write-hidden)
           sum (how-many "\n" (overlay-start overlay) (overlay-end overlay))))

(defun todo-write-place--start-for (window position)
  "Return a start of WINDOW that shows the row at POSITION and some rows before."
  (save-excursion
    (goto-char position)
    (let ((rows (/ (window-body-height window) 3)))
      (while (and (> rows 0) (= 0 (forward-line -1)))
        (unless (invisible-p (point))
          (cl-decf rows))))
    (when-let* ((fold (todo-write-fold--at (point))))
      (goto-char (overlay-start fold)))
    ;; Near the top, show the header too.
    (if (<= (count-lines (point-min) (point)) 3) (point-min) (point))))

(provide 'todo-write-place)
;;; todo-write-place.el ends here
