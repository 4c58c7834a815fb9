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

(defvar-local todo-write-view-draw--look nil
  "The width and scale that the pieces were drawn for.")

(defun todo-write-view-draw--draw (outcome)
  "Draw the whole buffer from the store.
OUTCOME, if non-nil, is of the change that was made since the last time."
  (todo-write-view-rows-set-scale)
  (setq todo-write-page-width (todo-write-page-fitting-width))
  (let* ((look (list todo-write-page-width todo-write-row-scale))
         (old (and (equal look todo-write-view-draw--look) todo-write-view-rows-pieces))
         (before (plist-get todo-write-view-rows-summary :revision))
         (summary (and todo-write-view-thread (todo-write-summary todo-write-view-thread)))
         ;; Another function may have written meanwhile.
         (changes (and before outcome
                       (= (plist-get outcome :revision) (plist-get summary :revision) (1+ before))
                       (plist-get (plist-get outcome :changes) :changes)))
         (new (todo-write-view-rows-read summary changes)))
    (when changes
      ;; See `todo-write-view-draw--place-flashes'.
      (setq todo-write-view-rows-flash-ticks (1+ (ceiling todo-write-flash-seconds))
            todo-write-view-rows-flashing
            (and (> todo-write-flash-seconds 0) (get-buffer-window nil t) changes)))
    (setq todo-write-view-rows-pieces nil
          todo-write-view-draw--look look)
    (todo-write-view-draw--show new old)
    (setq todo-write-view-rows-pieces new)))

(defun todo-write-view-draw--show (new old)
  "Draw NEW in place of OLD, both pieces; the same text stays where it is."
  (unless old
    (erase-buffer))
  (goto-char (point-min))
  (clrhash todo-write-place-rows)
  (while (or new old)
    (let* ((start (point))
           (piece (car new))
           (was (car old))
           (again (equal (car was) (car piece))))
      (if (not (or again (null was) (assoc (car was) new)))
          (delete-char (nth 2 (pop old)))
        (if (and again (todo-write-view-draw--same-p (cadr was) (cadr piece)))
            (forward-char (nth 2 was))
          ;; In this order, markers at the end of the old text stay there.
          (apply (cadr piece))
          (when again
            (delete-char (nth 2 was))))
        (setcdr (cdr piece) (list (- (point) start)))
        (pcase (car piece)
          ('header (setq todo-write-place-header-length (- (point) start 1)))
          ('footer (setq todo-write-place-footer start))
          ((and (pred stringp) id) (puthash id start todo-write-place-rows)))
        (pop new)
        (when again
          (pop old))))))

(defun todo-write-view-draw--same-p (a b)
  "Return non-nil if the calls A and B insert the same text and properties."
  (and (equal a b)
       (or (not (eq (car a) #'insert)) (equal-including-properties (cadr a) (cadr b)))))

(defun todo-write-view-draw--place-flashes ()
  "Highlight the rows that flash, and no others."
  (let ((spare todo-write-view-rows-flashes))
    (cl-loop for change across (or todo-write-view-rows-flashing [])
             for start = (todo-write-place-start (plist-get change :itemId))
             when start
             do (goto-char start)
             (move-overlay (or (pop spare) (let ((overlay (make-overlay 1 1)))
                                             (overlay-put overlay 'face 'todo-write-flash)
                                             (push overlay todo-write-view-rows-flashes)
                                             overlay))
                           start (line-beginning-position 2)))
    (mapc #'delete-overlay spare)))

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

(defun todo-write-view-draw--keep-places (draw)
  "Call DRAW, a function; keep point, mark and all windows in place.
Windows that follow the task in progress go to it.  If the current buffer
is being drawn already, draw all of it again soon instead."
  (if (memq (current-buffer) todo-write-view-draw--drawing)
      ;; A call of the module runs timers and filters while it waits for a file.
      (todo-write-events-soon 0 #'todo-write-view-draw--again (current-buffer))
    (save-restriction
      ;; Rows outside a narrowed region change, too.
      (widen)
      (let* ((todo-write-view-draw--drawing
              (cons (current-buffer) todo-write-view-draw--drawing))
             (windows (get-buffer-window-list nil nil t))
             (following (and todo-write-view-follow
                             (seq-filter #'todo-write-place-following-p windows)))
             (todo-write-story-read (todo-write-place-entries windows))
             ;; Point of a window is in the turn that ran, or something in it was opened.
             (ran (and todo-write-view-rows-ran (cons 'turn todo-write-view-rows-ran)))
             (todo-write-view-rows-in-use
              (and ran
                   (or (seq-some (lambda (window)
                                   (equal ran (get-text-property (window-point window)
                                                                 'todo-write-part)))
                                 windows)
                       (member ran todo-write-view-rows-earlier)
                       (member (cons 'files ran) todo-write-view-rows-whole)
                       (seq-some (lambda (key) (todo-write-place-entry ran key))
                                 todo-write-view-rows-whole))))
             (inhibit-read-only t)
             ;; A row that is half drawn cannot be redrawn.
             (inhibit-quit t)
             (inhibit-modification-hooks t))
        (todo-write-page-keep #'todo-write-place-at #'todo-write-place-position
                              (lambda ()
                                (funcall draw)
                                (todo-write-view-draw--update-folds windows)
                                (todo-write-view-draw--place-flashes)))
        (restore-buffer-modified-p nil)
        (dolist (window windows)
          (if (memq window following)
              (todo-write-place-follow window (todo-write-view-rows-current-id))
            ;; Drawing may move point to where it was noted.
            (todo-write-place-stay window)))))))

(defun todo-write-view-draw--again (buffer)
  "Draw BUFFER, if it still shows a plan."
  (when (memq buffer (todo-write-view-draw-live-buffers))
    (with-current-buffer buffer
      (todo-write-view-draw-all))))

;;; Buffers and their timer

(defvar todo-write-view-draw-buffers nil
  "The buffers in `todo-write-view-mode'.")

(defun todo-write-view-draw-live-buffers ()
  "Return the buffers in `todo-write-view-mode'."
  ;; Temporary buffers are killed without running their hooks.
  (unless (cl-every #'buffer-live-p todo-write-view-draw-buffers)
    (setq todo-write-view-draw-buffers (seq-filter #'buffer-live-p todo-write-view-draw-buffers)))
  todo-write-view-draw-buffers)

(defmacro todo-write-view-draw-in-buffers (condition &rest body)
  "Run BODY in each buffer in which CONDITION, a form, returns non-nil."
  (declare (indent 1) (debug t))
  (let ((buffer (make-symbol "buffer")))
    ;; A closure would be garbage of each write.
    `(dolist (,buffer (todo-write-view-draw-live-buffers))
       (with-current-buffer ,buffer
         (when ,condition
           ,@body)))))

(defun todo-write-view-draw-all (&optional outcome)
  "Draw the whole buffer; OUTCOME is as in `todo-write-view-draw--draw'."
  (todo-write-view-draw--keep-places (lambda () (todo-write-view-draw--draw outcome)))
  (todo-write-view-draw-set-timer))

(defun todo-write-view-draw-fit ()
  "Fold for the heights of the windows."
  (todo-write-view-draw--keep-places #'ignore)
  (todo-write-view-draw-set-timer))

(defvar todo-write-view-draw--timer nil
  "Timer that updates times and ends flashes, or nil.")

(defun todo-write-view-draw--ticking-p (buffer)
  "Return non-nil while rows flash in BUFFER, or a time runs in a visible window."
  (with-current-buffer buffer
    (or todo-write-view-rows-flashing
        (and (or (and (todo-write-view-rows-current-id) (not (todo-write-view-rows-paused-p)))
                 (and todo-write-view-thread (todo-write-activity todo-write-view-thread)))
             (get-buffer-window nil 0)))))

(defun todo-write-view-draw-set-timer ()
  "Run the timer if a buffer needs it, else stop it."
  (if (cl-some #'todo-write-view-draw--ticking-p (todo-write-view-draw-live-buffers))
      (unless todo-write-view-draw--timer
        (setq todo-write-view-draw--timer (run-at-time 1 1 #'todo-write-view-draw--tick)))
    (when todo-write-view-draw--timer
      (cancel-timer todo-write-view-draw--timer)
      (setq todo-write-view-draw--timer nil))))

(defun todo-write-view-draw--tick ()
  "Draw the times that run, and end expired flashes."
  (todo-write-events-apply-each #'todo-write-view-draw--tick-in (todo-write-view-draw-live-buffers))
  (todo-write-view-draw-set-timer))

(defun todo-write-view-draw--tick-in (buffer)
  "Draw the times that run in BUFFER, and end its flashes if they expired."
  (when (todo-write-view-draw--ticking-p buffer)
    (with-current-buffer buffer
      (when (and todo-write-view-rows-flashing (= 0 (cl-decf todo-write-view-rows-flash-ticks)))
        (setq todo-write-view-rows-flashing nil))
      (todo-write-view-draw-all))))

(provide 'todo-write-view-draw)
;;; todo-write-view-draw.el ends here
