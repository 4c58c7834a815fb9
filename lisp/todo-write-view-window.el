;;; todo-write-view-window.el --- Keep the windows of a plan in place  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Drawing keeps point, the mark and the scroll position of every window at
;; their tasks.  A window follows the task in progress until the user moves in
;; it, and again when point is back on that task, as after `.'.  Nothing here
;; selects a window.
;;
;; In a list that is longer than its window, successive completed tasks collapse
;; to one line such as "+7 done".  The last one stays visible, so that a task
;; does not disappear when it is completed.  RET or a click on the line unfolds
;; them, and `d' folds or unfolds all of them:
;;
;;     (setq todo-write-view-fold-completed t)     ; always
;;     (setq todo-write-view-fold-completed nil)   ; never
;;
;; The rows stay in the buffer, under overlays.  The module finds the runs, so
;; that Lisp does not look at every row.

;;; Code:

(require 'cl-lib)
(require 'todo-write-view-draw)

(defcustom todo-write-view-follow t
  "Non-nil means that windows follow the task in progress until you move there."
  :type 'boolean
  :group 'todo-write)

(defcustom todo-write-view-fold-completed 'auto
  "When successive completed tasks collapse to a count."
  :type '(choice (const :tag "If the list is longer than its window" auto)
                 (const :tag "Always" t)
                 (const :tag "Never" nil))
  :group 'todo-write)

(defface todo-write-fold '((t :inherit todo-write-completed :slant italic))
  "Face of the line that replaces folded tasks."
  :group 'todo-write-faces)

;;; Folds

(defconst todo-write-view--least-fold 3
  "Minimum number of successive completed tasks to fold.")

(defconst todo-write-view--most-folds 8
  "Maximum number of folds, of the longest runs.
Each costs time whenever a row is drawn, and a screen shows few.")

(defvar-local todo-write-view--fold 'option
  "Whether to fold in this buffer: t, nil, or `option' to use the option.")

(defvar-local todo-write-view--folds nil
  "The overlays over the folded rows.")

(defun todo-write-view--folding-p (windows)
  "Return non-nil if completed tasks should be folded in WINDOWS."
  (pcase (if (eq todo-write-view--fold 'option)
             todo-write-view-fold-completed
           todo-write-view--fold)
    ('auto (let ((lines (+ 2 (or (plist-get todo-write-view--summary :total) 0))))
             (cl-loop for window in windows
                      thereis (> lines (window-body-height window)))))
    (choice choice)))

(defun todo-write-view--breaks ()
  "Return the ids of tasks that must not be folded.
Those are open rows, rows with a subagent's list, and rows after a ghost."
  (append todo-write-view--open
          (delq nil (mapcar #'car todo-write-view--children))
          (cl-loop for id in todo-write-view--ghosts
                   for node = (gethash id todo-write-view--nodes)
                   for next = (and node (ewoc-next todo-write-view--ewoc node))
                   when next collect (todo-write-view--row-id (ewoc-data next)))))

(defun todo-write-view--update-folds (windows)
  "Update the folds for WINDOWS."
  (let ((runs (and todo-write-view-thread
                   (todo-write-view--folding-p windows)
                   (todo-write--completed-runs
                    todo-write-view-thread
                    todo-write-view--least-fold todo-write-view--most-folds
                    (todo-write-view--breaks))))
        (spare todo-write-view--folds))
    (setq todo-write-view--folds nil)
    (pcase-dolist (`(,first ,last . ,count) runs)
      (let ((start (todo-write-view--start first))
            (end (todo-write-view--start last)))
        ;; If a listener wrote meanwhile, the store is newer than the rows.
        (when (and start end (< start end))
          (push (todo-write-view--place-fold (pop spare) start end (1- count))
                todo-write-view--folds))))
    (mapc #'delete-overlay spare)))

(defun todo-write-view--place-fold (overlay start end count)
  "Fold COUNT rows from START to END with OVERLAY, or a new one; return it."
  (let ((overlay (or overlay (make-overlay start end))))
    (move-overlay overlay start end)
    (unless (eql count (overlay-get overlay 'todo-write-count))
      (overlay-put overlay 'todo-write-count count)
      (overlay-put overlay 'display (todo-write-view--fold-line count))
      (overlay-put overlay 'mouse-face 'highlight)
      (overlay-put overlay 'help-echo "RET, mouse-1: show the completed tasks"))
    overlay))

(defun todo-write-view--fold-line (count)
  "Return the line that replaces COUNT completed tasks."
  (let ((line (format " %s +%d done\n" (todo-write-row-shape 'completed) count)))
    (put-text-property 0 2 'face 'todo-write-completed-shape line)
    (put-text-property 2 (length line) 'face 'todo-write-fold line)
    line))

(defun todo-write-view--fold-at (position)
  "Return the overlay that folds the text at POSITION, or nil."
  (and todo-write-view--folds
       (cl-find-if (lambda (overlay) (overlay-get overlay 'todo-write-count))
                   (overlays-at position))))

(defun todo-write-view--unseen-lines (start end)
  "Return the number of lines between START and END that folds hide.
Each fold displays one line."
  (cl-loop for fold in todo-write-view--folds
           when (<= start (overlay-start fold) (overlay-end fold) end)
           sum (1- (overlay-get fold 'todo-write-count))))

;;; Staying

(defun todo-write-view--place (position)
  "Return POSITION as (ID . OFFSET) relative to its row, or nil outside the rows."
  (let* ((id (get-text-property position 'todo-write-id))
         (start (todo-write-view--start id)))
    (and start (cons id (- position start)))))

(defun todo-write-view--position (place)
  "Return the position of PLACE, or nil if its row is gone.
A marker there is then at the row that followed."
  (when-let* ((start (todo-write-view--start (car place))))
    (min (+ start (cdr place))
         (1- (next-single-property-change start 'todo-write-id nil (point-max))))))

(defun todo-write-view--keep-places (draw &rest args)
  "Call DRAW, a function, with ARGS; keep point, mark and all windows in place."
  (let* ((windows (get-buffer-window-list nil nil t))
         (following (cl-loop for window in windows
                             when (todo-write-view--following-p window) collect window))
         (point (todo-write-view--place (point)))
         (mark (and (mark t) (todo-write-view--place (mark t))))
         (places (cl-loop for window in windows
                          collect (todo-write-view--place (window-point window))
                          collect (todo-write-view--place (window-start window))))
         (inhibit-read-only t)
         ;; A row that is half drawn cannot be redrawn.
         (inhibit-quit t)
         (inhibit-modification-hooks t))
    (save-excursion
      (apply draw args)
      (todo-write-view--update-folds windows)
      (todo-write-view--place-flashes))
    (restore-buffer-modified-p nil)
    (when-let* ((position (todo-write-view--position point)))
      (goto-char position))
    (when-let* ((position (todo-write-view--position mark)))
      (set-marker (mark-marker) position))
    (dolist (window windows)
      (when-let* ((position (todo-write-view--position (pop places))))
        (set-window-point window position))
      (when-let* ((position (todo-write-view--position (pop places))))
        (set-window-start window position t)))
    (mapc #'todo-write-view--follow following)))

;;; Following

(defun todo-write-view--following-p (window)
  "Return non-nil if WINDOW follows the task in progress.
It does while point is where it was placed last, or on that task."
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

(defun todo-write-view--follow (window)
  "Let WINDOW show the task in progress, and note its new place.
In the selected window, point moves only to scroll."
  (when-let* ((position (todo-write-view--start (todo-write-view--current-id))))
    (let ((visible (todo-write-view--visible-p window position)))
      (unless (and visible (eq window (selected-window)))
        (set-window-point window position))
      (unless visible
        (set-window-start window (todo-write-view--start-for window position) t))))
  (todo-write-view--note-places window))

(defun todo-write-view--note-places (window)
  "Note point and start of WINDOW, to detect later whether the user moved."
  (set-window-parameter window 'todo-write-places
                        (list (current-buffer) (window-point window) (window-start window))))

(defun todo-write-view--visible-p (window position)
  "Return non-nil if WINDOW shows the row at POSITION."
  (let* ((start (window-start window))
         (fold (todo-write-view--fold-at start))
         (start (if fold (overlay-start fold) start)))
    (and (>= position start)
         (save-excursion
           (goto-char position)
           (forward-line (- 1 (window-body-height window)
                            (todo-write-view--unseen-lines start position)))
           (<= (point) start)))))

(defun todo-write-view--start-for (window position)
  "Return a start of WINDOW that shows the row at POSITION and some rows before."
  (save-excursion
    (goto-char position)
    (forward-line (- (/ (window-body-height window) 3)))
    (when-let* ((fold (todo-write-view--fold-at (point))))
      (goto-char (overlay-start fold)))
    ;; Near the top, show the header too.
    (if (<= (count-lines (point-min) (point)) 2) (point-min) (point))))

(provide 'todo-write-view-window)
;;; todo-write-view-window.el ends here
