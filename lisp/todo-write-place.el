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

(defvar-local todo-write-place-ewoc nil
  "The ewoc of the rows.")

(defvar-local todo-write-place-nodes nil
  "Hash table from item id to ewoc node, ghosts included.")

(defvar-local todo-write-place-header-length 0
  "Number of characters of the header, without the newline after it.")

(defun todo-write-place-start (id)
  "Return the position of the row of ID, or nil."
  (when-let* ((node (and id (gethash id todo-write-place-nodes))))
    (marker-position (ewoc-location node))))

;;; Staying

(defun todo-write-place-at (position &optional _start)
  "Return the place of POSITION, or nil in the header.
It is a list (ID OFFSET KEY COLUMN): OFFSET is from the start of the row
of ID and, within the entry KEY, COLUMN is from the start of the entry.
Below the rows, ID is t, and on a button of an empty plan it is `button'."
  (let* ((id (cond ((get-text-property position 'todo-write-id))
                   ((todo-write-place--welcome-p position) 'button)
                   ((or (get-text-property position 'button)
                        (todo-write-place--below-rows-p position))
                    t)))
         (start (pcase id
                  ('t (todo-write-place-footer-start))
                  ('button (point-min))
                  (_ (todo-write-place-start id))))
         (entry (get-text-property position 'todo-write-entry)))
    (and start
         (cons id (cons (- position start)
                        (when entry
                          (let ((key (todo-write-story-entry-key entry)))
                            (list key (- position
                                         (todo-write-place-entry-start start key))))))))))

(defun todo-write-place--welcome-p (position)
  "Return non-nil if POSITION is on a button of an empty plan."
  (eq 'todo-write-welcome (get-text-property position 'type)))

(defun todo-write-place--below-rows-p (position)
  "Return non-nil if there are rows and POSITION is below them."
  (and todo-write-place-ewoc
       (ewoc-nth todo-write-place-ewoc -1)
       (>= position (todo-write-place-footer-start))))

(defun todo-write-place-footer-start ()
  "Return the position after the rows."
  (if-let* ((last (and todo-write-place-ewoc (ewoc-nth todo-write-place-ewoc -1))))
      (next-single-property-change (ewoc-location last) 'todo-write-id nil (point-max))
    (+ (point-min) todo-write-place-header-length 1)))

(defun todo-write-place-entry-start (start key)
  "Return the position of the entry KEY below the row at START, or nil."
  (let ((end (next-single-property-change start 'todo-write-id nil (point-max)))
        found)
    (while (and start (not found) (< start end))
      (let ((entry (get-text-property start 'todo-write-entry)))
        (if (and entry (equal key (todo-write-story-entry-key entry)))
            (setq found start)
          (setq start (next-single-property-change start 'todo-write-entry nil end)))))
    found))

(defun todo-write-place-position (place)
  "Return the position of PLACE, or nil if its row is gone.
A marker there is then at the row that followed."
  (pcase-let ((`(,id ,offset ,key ,column) place))
    (if (eq id 'button)
        ;; Point must not stay below the first tasks.
        (let ((position (min (point-max) (+ (point-min) offset))))
          (if (todo-write-place--welcome-p position) position (point-min)))
      (when-let* ((start (if (eq id t) (todo-write-place-footer-start)
                           (todo-write-place-start id))))
        (if-let* ((entry (and key (todo-write-place-entry-start start key))))
            (+ entry column)
          (min (+ start offset)
               (if (eq id t) (point-max)
                 (1- (next-single-property-change start 'todo-write-id nil
                                                  (point-max))))))))))

;;; Following

(defun todo-write-place-following-p (window current)
  "Return non-nil if WINDOW follows CURRENT, the id of a task or nil.
It does while point is where it was placed last, or on that task."
  (let ((point (window-point window)))
    (or (and current (equal current (get-text-property point 'todo-write-id)))
        (pcase-let ((`(,buffer ,noted ,start)
                     (window-parameter window 'todo-write-places)))
          (and (eq buffer (current-buffer)) (= noted point)
               ;; The wheel can scroll without moving point.
               (or (= start (window-start window))
                   (let ((position (todo-write-place-start current)))
                     (or (null position)
                         (todo-write-place--visible-p window position)))))))))

(defun todo-write-place-follow (window current)
  "Let WINDOW show the task CURRENT, an id or nil, and note its new place.
In the selected window, point moves only to scroll."
  (when-let* ((position (todo-write-place-start current)))
    (let ((visible (todo-write-place--visible-p window position)))
      (unless (and visible (eq window (selected-window)))
        (set-window-point window position))
      (unless visible
        (set-window-start window (todo-write-place--start-for window position) t))))
  (todo-write-place-note window))

(defun todo-write-place-note (window)
  "Note point and start of WINDOW, to detect later whether the user moved."
  (set-window-parameter window 'todo-write-places
                        (list (current-buffer) (window-point window) (window-start window))))

(defun todo-write-place--visible-p (window position)
  "Return non-nil if WINDOW shows the row at POSITION."
  (let* ((start (window-start window))
         (fold (todo-write-fold-at start))
         (start (if fold (overlay-start fold) start)))
    (and (>= position start)
         (save-excursion
           (goto-char position)
           (forward-line (- 1 (window-body-height window)
                            (todo-write-fold-unseen-lines start position)))
           (<= (point) start)))))

(defun todo-write-place--start-for (window position)
  "Return a start of WINDOW that shows the row at POSITION and some rows before."
  (save-excursion
    (goto-char position)
    (let ((rows (/ (window-body-height window) 3)))
      (while (and (> rows 0) (= 0 (forward-line -1)))
        (unless (invisible-p (point))
          (cl-decf rows))))
    (when-let* ((fold (todo-write-fold-at (point))))
      (goto-char (overlay-start fold)))
    ;; Near the top, show the header too.
    (if (<= (count-lines (point-min) (point)) 3) (point-min) (point))))

(provide 'todo-write-place)
;;; todo-write-place.el ends here
