;;; todo-write-view-places.el --- Where point and windows are  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A redraw leaves point, the mark and the scroll position of every window with
;; their tasks.  A window in which the user has not moved follows the task in
;; progress; one in which point was moved stays, until point is on the task in
;; progress again, as after `.'.  No window is ever selected here.

;;; Code:

(require 'cl-lib)
(require 'todo-write-view-rows)
(require 'todo-write-view-fold)

(defcustom todo-write-view-follow t
  "Non-nil lets windows follow the task in progress unless you moved there."
  :type 'boolean
  :group 'todo-write)

;;; Staying

(defun todo-write-view--place (position)
  "Return what POSITION is to be found by after a redraw.
A list (ID OFFSET MARKER), ID nil outside the rows."
  (let* ((id (get-text-property position 'todo-write-id))
         (start (todo-write-view--start id)))
    (list (and start id)
          (if start (- position start) 0)
          (copy-marker position))))

(defun todo-write-view--place-in-line (position)
  "Return the place of POSITION, or nil where it stays by itself.
Lines that are written over keep their first character."
  (unless (memq (char-before position) '(nil ?\n))
    (todo-write-view--place position)))

(defun todo-write-view--position (place)
  "Return the position of PLACE, and release it.
A row that is gone leaves its place to the one that followed it."
  (pcase-let* ((`(,id ,offset ,marker) place)
               (start (todo-write-view--start id))
               (position (marker-position marker)))
    (set-marker marker nil)
    (if start
        (min (+ start offset) (1- (todo-write-view--end start)))
      position)))

(defun todo-write-view--places (windows place)
  "Return where point, mark and WINDOWS are, each by the function PLACE.
A list (POINT MARK WINDOW...), or nil where all stays by itself; see
`todo-write-view--window-place'."
  (let ((point (funcall place (point)))
        (mark (and (mark t) (funcall place (mark t))))
        places)
    (dolist (window windows)
      (when-let* ((entry (todo-write-view--window-place window place)))
        (push entry places)))
    (and (or point mark places)
         `(,point ,mark ,@places))))

(defun todo-write-view--window-place (window place)
  "Return what WINDOW is to be put back by, or nil if it stays by itself.
A list (WINDOW START POINT), with places by the function PLACE."
  (let ((start (funcall place (window-start window)))
        (point (funcall place (window-point window))))
    (and (or start point)
         (list window start point))))

(defun todo-write-view--put-back (places)
  "Put point, mark and windows back to PLACES."
  (pcase-let ((`(,point ,mark . ,windows) places))
    (when point
      (goto-char (todo-write-view--position point)))
    (when mark
      (set-marker (mark-marker) (todo-write-view--position mark)))
    (mapc #'todo-write-view--put-window-back windows)))

(defun todo-write-view--put-window-back (entry)
  "Bring a window back to its place.
ENTRY is from `todo-write-view--window-place'."
  (pcase-let* ((`(,window ,start ,point) entry)
               (start (and start (todo-write-view--position start)))
               (point (and point (todo-write-view--position point))))
    (unless (eql (or point (window-point window)) (window-point window))
      (set-window-point window point))
    (unless (eql (or start (window-start window)) (window-start window))
      (set-window-start window start t))))

(defvar todo-write-view--windows nil
  "While a buffer is redrawn, the windows that show it.")

(defmacro todo-write-view--keeping-places (in-line &rest body)
  "Run BODY, which redraws; keep point, mark and all windows in place.
IN-LINE non-nil says that it does so by `todo-write-row-replace' and the
like only."
  (declare (indent 1) (debug t))
  (let ((following (make-symbol "following"))
        (places (make-symbol "places")))
    `(let* ((todo-write-view--windows (get-buffer-window-list nil nil t))
            (,following (todo-write-view--following todo-write-view--windows))
            (,places (todo-write-view--places todo-write-view--windows
                                              (if ,in-line
                                                  #'todo-write-view--place-in-line
                                                #'todo-write-view--place)))
            (inhibit-read-only t)
            ;; A row that is half drawn could not be redrawn by itself.
            (inhibit-quit t)
            ;; Rows are put together from pieces; nobody wants to hear of each.
            (inhibit-modification-hooks t))
       (save-excursion
         ,@body
         (todo-write-view--update-folds todo-write-view--windows))
       (restore-buffer-modified-p nil)
       (when ,places
         (todo-write-view--put-back ,places))
       (mapc #'todo-write-view--follow ,following))))

;;; Following

(defun todo-write-view--following-p (window)
  "Return non-nil if WINDOW follows the task in progress.
It does while point is where it was put last, or on that task."
  (and todo-write-view-follow
       (let ((point (window-point window))
             (current (todo-write-view--current-id)))
         (or (and current (equal current (get-text-property point 'todo-write-id)))
             (pcase-let ((`(,buffer ,noted ,start)
                          (window-parameter window 'todo-write-places)))
               (and (eq buffer (current-buffer)) (= noted point)
                    ;; The wheel can scroll without moving point.
                    (or (= start (window-start window))
                        (let ((position (todo-write-view--start current)))
                          (or (null position)
                              (todo-write-view--visible-p window position))))))))))

(defun todo-write-view--following (windows)
  "Return those of WINDOWS that follow the task in progress."
  (cl-loop for window in windows
           when (todo-write-view--following-p window) collect window))

(defun todo-write-view--follow (window)
  "Let WINDOW show the task in progress, and note that nobody moved there.
Point moves in windows that are not selected, and where it must."
  (when-let* ((position (todo-write-view--start (todo-write-view--current-id))))
    (let ((visible (todo-write-view--visible-p window position)))
      (unless (and visible (eq window (selected-window)))
        (set-window-point window position))
      (unless visible
        (set-window-start window (todo-write-view--start-for window position) t))))
  (todo-write-view--note-places window))

(defun todo-write-view--note-places (window)
  "Note where WINDOW stands, to see later whether the user moved."
  (pcase-let ((`(,buffer ,point ,start) (window-parameter window 'todo-write-places)))
    (unless (and (eq buffer (current-buffer))
                 (eql point (window-point window))
                 (eql start (window-start window)))
      (set-window-parameter window 'todo-write-places
                            (list (current-buffer) (window-point window)
                                  (window-start window))))))

(defun todo-write-view--visible-p (window position)
  "Return non-nil if the row at POSITION lies within WINDOW."
  (let* ((start (window-start window))
         (fold (todo-write-view--fold-at start))
         (start (if fold (overlay-start fold) start))
         (here (point)))
    (and (>= position start)
         ;; Nothing changes meanwhile, so that point needs no marker.
         (progn
           (goto-char position)
           (forward-line (- 1 (window-body-height window)
                            (todo-write-view--unseen-lines start position)))
           (prog1 (<= (point) start)
             (goto-char here))))))

(defun todo-write-view--start-for (window position)
  "Return a start of WINDOW that shows the row at POSITION and some before it."
  (save-excursion
    (goto-char position)
    (forward-line (- (/ (window-body-height window) 3)))
    (when-let* ((fold (todo-write-view--fold-at (point))))
      (goto-char (overlay-start fold)))
    ;; Rather than the first row, show the header too.
    (if (<= (count-lines (point-min) (point)) 2) (point-min) (point))))

(provide 'todo-write-view-places)
;;; todo-write-view-places.el ends here
