;;; todo-write-view-draw.el --- Draw a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Draws the buffer of a plan whole, and keeps point and windows at their places.  Pieces
;; that are there already stay, with the overlays and markers of others.  A timer draws the
;; times that run.

;;; Code:

(require 'todo-write)
(require 'todo-write-children)
(require 'todo-write-events)
(require 'todo-write-fold)
(require 'todo-write-page)
(require 'todo-write-place)
(require 'todo-write-row)
(require 'todo-write-story)
(require 'todo-write-view-rows)

(defvar todo-write-flash-seconds 1.0
  "Minimum time in seconds that changed rows are highlighted; 0 for never.
The highlight ends when the times are updated next.")

(defcustom todo-write-view-fold-completed 'auto
  "When successive completed tasks collapse to a count."
  :type '(choice (const :tag "If the list is longer than its window" auto)
                 (const :tag "Always" t)
                 (const :tag "Never" nil))
  :group 'todo-write-view
  :package-version '(todo-write . "0.2.0"))

(defcustom todo-write-view-follow t
  "Non-nil means that windows follow the current task until you move or scroll."
  :type 'boolean
  :group 'todo-write-view
  :package-version '(todo-write . "0.2.0"))

;;; The whole buffer

(defvar-local todo-write-view-draw--pieces nil
  "What the buffer shows, as from `todo-write-view-rows-read', or nil for nothing.")

(defvar-local todo-write-view-draw--flashes nil
  "The rows that flash, as (END . IDS): until END, in seconds since the epoch.")

(defun todo-write-view-draw--draw ()
  "Draw the whole buffer from the store."
  (todo-write-view-rows-set-scale)
  (todo-write-page-drawn)
  (let ((before (plist-get todo-write-view-rows-summary :revision))
        (old todo-write-view-draw--pieces)
        (new (todo-write-view-rows-read)))
    (setq todo-write-view-draw--pieces nil)
    (todo-write-view-draw--show new old)
    (setq todo-write-view-draw--pieces new)
    (todo-write-view-draw--flash (and old before))))

(defun todo-write-view-draw--show (new old)
  "Draw NEW in place of OLD, both pieces; the same text stays where it is."
  (unless old
    (erase-buffer))
  (goto-char (point-min))
  (clrhash todo-write-place-rows)
  (while (or new old)
    (pcase-let* ((start (point))
                 (`(,id . ,text) (car new))
                 (`(,old-id . ,old-text) (car old))
                 (again (equal id old-id)))
      (if (not (or again (null old) (assoc old-id new)))
          (progn (delete-char (length old-text))
                 (pop old))
        (if (and again (or (eq text old-text) (equal-including-properties text old-text)))
            (forward-char (length text))
          ;; In this order, markers at the end of the old text stay there.
          (insert text)
          (when again
            (delete-char (length old-text))))
        (pcase id
          ('header (setq todo-write-place-header-length (1- (length text))))
          ('footer (setq todo-write-place-footer start))
          ((pred stringp) (puthash id start todo-write-place-rows)))
        (pop new)
        (when again
          (pop old))))))

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
        (when-let* ((start (todo-write-place-start id))
                    (overlay (make-overlay start (save-excursion (goto-char start)
                                                                 (line-beginning-position 2)))))
          (overlay-put overlay 'face 'todo-write-flash)
          (overlay-put overlay 'todo-write-flash t))))))

;;; Folds

(defun todo-write-view-draw--update-folds (windows)
  "Update the folds for WINDOWS."
  (todo-write-fold-update
   (and todo-write-view-thread
        (todo-write-fold-wanted-p
         todo-write-view-fold-completed
         (+ 2 (or (plist-get todo-write-view-rows-summary :total) 0)) windows)
        (cl-loop with breaks =
                 ;; Open rows, rows with a subagent's list, and rows after a ghost.
                 (seq-filter #'stringp
                             (append todo-write-view-rows-open
                                     (mapcar #'car todo-write-view-rows-children)
                                     (cl-loop for (id next) on (hash-table-keys
                                                                todo-write-place-rows)
                                              when (member id todo-write-view-rows-ghosts)
                                              collect next)))
                 for (first last . count)
                 in (todo-write-plan-completed-runs todo-write-view-thread
                                                    todo-write-fold-least todo-write-fold-most
                                                    breaks)
                 for start = (todo-write-place-start first)
                 for end = (todo-write-place-start last)
                 ;; If an event function wrote meanwhile, the store is newer than the rows.
                 when (and start end (< start end))
                 collect `(,start ,end . ,(1- count))))))

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
                             (seq-filter #'todo-write-place-following-p windows)))
             (todo-write-story-read (todo-write-place-entries windows))
             (todo-write-view-rows-in-use (todo-write-view-draw--in-use-p windows))
             (inhibit-read-only t)
             ;; A row that is half drawn cannot be redrawn.
             (inhibit-quit t)
             (inhibit-modification-hooks t))
        (todo-write-page-keep #'todo-write-place-at #'todo-write-place-position
                              (lambda ()
                                (todo-write-view-draw--draw)
                                (todo-write-view-draw--update-folds windows)))
        (restore-buffer-modified-p nil)
        (dolist (window windows)
          (if (memq window following)
              (todo-write-place-follow window (todo-write-view-rows-current-id))
            ;; Drawing may move point to where it was noted.
            (todo-write-place-stay window)))))
    ;; Times run, and flashes end.
    (when (or todo-write-view-draw--flashes
              (and (todo-write-view-rows-current-id) (not (todo-write-view-rows-paused-p)))
              (and todo-write-view-thread (todo-write-activity todo-write-view-thread)))
      (todo-write-later (current-buffer) 1))))

(defun todo-write-view-draw--in-use-p (windows)
  "Return non-nil if the user reads the turn that ran in one of WINDOWS.
Then point is in it, or something in it was opened."
  (when-let* ((ran (and todo-write-view-rows-ran (cons 'turn todo-write-view-rows-ran))))
    (or (seq-some (lambda (window)
                    (equal ran (get-text-property (window-point window) 'todo-write-part)))
                  windows)
        (member ran todo-write-view-rows-earlier)
        (member (cons 'files ran) todo-write-view-rows-whole)
        (seq-some (lambda (key) (todo-write-place-entry ran key))
                  todo-write-view-rows-whole))))

;;; Buffers

(defun todo-write-view-draw-live-buffers ()
  "Return the buffers that show plans."
  (seq-filter (lambda (buffer) (buffer-local-value 'todo-write-place-rows buffer))
              (buffer-list)))

(provide 'todo-write-view-draw)
;;; todo-write-view-draw.el ends here
