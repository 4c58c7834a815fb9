;;; todo-write-view-draw.el --- Draw a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Draws the buffer of a plan, and keeps point and windows at their places.  Lines that are
;; there already stay, with the overlays and markers of others.  Emacs 28 compares the values
;; of text properties by `eq': there, only rows of tasks stay.  What runs is drawn again after
;; a second.

;;; Code:

(require 'todo-write)
(require 'todo-write-events)
(require 'todo-write-buffer)
(require 'todo-write-view-position)
(require 'todo-write-row)
(require 'todo-write-story)
(require 'todo-write-turns)
(require 'todo-write-view-rows)

(defvar todo-write-flash-seconds 1.0
  "Minimum time in seconds that changed rows are highlighted; 0 for never.
The highlight ends when the times are updated next.")

(defcustom todo-write-view-follow t
  "Non-nil means that windows follow the current task until you move or scroll."
  :type 'boolean
  :group 'todo-write
  :package-version '(todo-write . "0.2.0"))

;;; Text

(defvar-local todo-write-view-draw--pieces nil
  "What the buffer shows, a list of (PART . TEXT), or nil for nothing.")

(defun todo-write-view-draw--pieces-of (text)
  "Return TEXT as a list of (PART . TEXT), by its property `todo-write-part'."
  (let ((start 0) pieces)
    (while (< start (length text))
      (let ((end (next-single-property-change start 'todo-write-part text (length text))))
        (push (cons (get-text-property start 'todo-write-part text) (substring text start end))
              pieces)
        (setq start end)))
    (nreverse pieces)))

(defun todo-write-view-draw--show (text)
  "Let the buffer show TEXT; the same lines stay where they are."
  (let* ((old todo-write-view-draw--pieces)
         (new (todo-write-view-draw--pieces-of text))
         (shown new))
    ;; If something signals, the whole text is drawn next time.
    (setq todo-write-view-draw--pieces nil)
    (unless old
      (erase-buffer))
    (goto-char (point-min))
    (while (or new old)
      (pcase-let ((`(,part . ,text) (car new))
                  (`(,old-part . ,old-text) (car old)))
        (cond ((and new old (equal part old-part))
               (if (todo-write-buffer-same-p old-text text)
                   (forward-char (length text))
                 (todo-write-view-draw--replace old-text text))
               (pop old)
               (pop new))
              ((and old (not (assoc old-part new)))
               (delete-char (length old-text))
               (pop old))
              (t (insert text)
                 (pop new)))))
    (setq todo-write-view-draw--pieces shown)))

(defun todo-write-view-draw--replace (old new)
  "Replace OLD, the text after point, by NEW, and move behind it.
The lines with which both begin or end stay."
  (let ((olds (split-string old "^" t))
        (news (split-string new "^" t))
        (behind 0))
    (cl-flet ((count-same ()
                (let ((count 0))
                  (while (and olds news (todo-write-buffer-same-p (car olds) (car news)))
                    (cl-incf count (length (pop olds)))
                    (pop news))
                  (setq olds (nreverse olds) news (nreverse news))
                  count)))
      (forward-char (count-same))
      (setq behind (count-same)))
    ;; In this order, markers at the end of the old text stay there.
    (apply #'insert news)
    (delete-char (apply #'+ (mapcar #'length olds)))
    (forward-char behind)))

;;; Flashes

(defvar-local todo-write-view-draw--flashes nil
  "The rows that flash, as (END . IDS): until END, in seconds since the epoch.")

(defun todo-write-view-draw--flash (before)
  "Highlight for a moment the rows that changed since the revision BEFORE, or nil."
  (let ((now (plist-get todo-write-view-rows-summary :revision)))
    (when (and before now (> now before 0) (> todo-write-flash-seconds 0))
      (setq todo-write-view-draw--flashes
            (cons (+ (float-time) todo-write-flash-seconds)
                  (seq-map (lambda (change) (plist-get change :itemId))
                           (plist-get (todo-write-changes-between todo-write-view-thread before now)
                                      :changes)))))
    (remove-overlays nil nil 'todo-write-flash t)
    (if (< (or (car todo-write-view-draw--flashes) 0) (float-time))
        (setq todo-write-view-draw--flashes nil)
      (dolist (id (cdr todo-write-view-draw--flashes))
        (when-let* ((start (todo-write-view-position-start id))
                    (overlay (make-overlay start (save-excursion (goto-char start)
                                                                 (line-beginning-position 2)))))
          (overlay-put overlay 'face 'todo-write-flash)
          (overlay-put overlay 'todo-write-flash t))))))

;;; The turn that runs

(defvar-local todo-write-view-draw-ran nil
  "The number of the turn that was drawn last as running, or nil.")

(defun todo-write-view-draw--running (windows)
  "Return the number of the turn in which the agent works, or nil.
Open one that begins, and close one that ended, unless the user reads it
in one of WINDOWS, or opened something in it."
  (let ((running (and todo-write-view-thread
                      (memq (car (todo-write-activity todo-write-view-thread)) '(working waiting))
                      (car (todo-write-turns-headings todo-write-view-thread 0))))
        (ran (and todo-write-view-draw-ran (cons 'turn todo-write-view-draw-ran))))
    (unless (eql running todo-write-view-draw-ran)
      (unless (or (seq-some (lambda (window)
                              (equal ran (get-text-property (window-point window)
                                                            'todo-write-part)))
                            windows)
                  (seq-some (lambda (open) (or (and (consp open) (equal ran (cdr open)))
                                               (todo-write-view-position-entry ran open)))
                            todo-write-view-rows-open))
        (setq todo-write-view-rows-open (remove ran todo-write-view-rows-open)))
      (when running
        (cl-pushnew (cons 'turn running) todo-write-view-rows-open :test #'equal))
      (setq todo-write-view-draw-ran running))
    running))

;;; Staying and following

(defvar todo-write-view-draw--drawing nil
  "The buffers that are being drawn.")

(defun todo-write-view-draw-all ()
  "Draw this buffer; keep point, mark and all windows in place.
Windows that follow the task in progress go to it."
  (if (memq (current-buffer) todo-write-view-draw--drawing)
      ;; A call of the module runs timers and filters while it waits for a file.
      (todo-write-later (current-buffer))
    (save-restriction
      ;; Rows outside a narrowed region change, too.
      (widen)
      (let* ((todo-write-view-draw--drawing
              (cons (current-buffer) todo-write-view-draw--drawing))
             (windows (get-buffer-window-list nil nil t))
             (following (and todo-write-view-follow
                             (seq-filter #'todo-write-view-position-following-p windows)))
             (todo-write-story-read (todo-write-view-position-entries windows))
             (todo-write-row-scale (todo-write-buffer-scale))
             (inhibit-read-only t)
             ;; A row that is half drawn cannot be redrawn.
             (inhibit-quit t)
             (inhibit-modification-hooks t))
        (todo-write-buffer-drawn)
        (todo-write-buffer-keep
         #'todo-write-view-position-at #'todo-write-view-position-of
         (lambda ()
           (let ((before (and todo-write-view-draw--pieces
                              (plist-get todo-write-view-rows-summary :revision))))
             (todo-write-view-draw--show
              (todo-write-view-rows-text windows (todo-write-view-draw--running windows)))
             (todo-write-view-draw--flash before))))
        (restore-buffer-modified-p nil)
        (dolist (window windows)
          (if (memq window following)
              (todo-write-view-position-follow window (todo-write-view-rows-current-id))
            ;; Drawing may move point to where it was noted.
            (todo-write-view-position-stay window)))))
    ;; Times run, and flashes end.
    (when (or todo-write-view-draw--flashes
              (and (todo-write-view-rows-current-id)
                   (not (eq 'paused (plist-get todo-write-view-rows-summary :state))))
              (and todo-write-view-thread (todo-write-activity todo-write-view-thread)))
      (todo-write-later (current-buffer) 1))))

(defun todo-write-view-draw-show-thread (thread)
  "Draw THREAD, a key or nil, in this buffer in place of another one."
  (setq todo-write-view-thread thread
        todo-write-view-rows-fold 'option
        todo-write-view-rows-open nil
        todo-write-view-draw-ran nil
        ;; Rows of another plan do not flash.
        todo-write-view-rows-summary nil
        todo-write-view-draw--flashes nil)
  (todo-write-view-draw-all))

(defun todo-write-view-draw-live-buffers ()
  "Return the buffers that show plans."
  (seq-filter (lambda (buffer)
                (eq #'todo-write-view-draw-all
                    (buffer-local-value 'todo-write-events-draw buffer)))
              (buffer-list)))

(provide 'todo-write-view-draw)
;;; todo-write-view-draw.el ends here
