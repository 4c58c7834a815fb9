;;; todo-write-view-draw.el --- Draw what changed in a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Draws the whole buffer, or the rows that a change made out of date, and keeps point and
;; windows at their places.  A timer draws the times that run.

;;; Code:

(require 'ewoc)
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

(defun todo-write-view-draw--draw-all ()
  "Draw the whole buffer from the store."
  (let ((thread todo-write-view-thread))
    (todo-write-view-rows-set-scale)
    (setq todo-write-page-width (todo-write-page-fitting-width)
          todo-write-view-rows-summary (and thread (todo-write-summary thread))
          todo-write-view-rows-children (and thread (todo-write-children-by-item thread))
          todo-write-view-rows-ghosts nil
          todo-write-view-rows-header nil
          todo-write-place-header-length 0
          todo-write-view-rows-running nil
          todo-write-view-rows-blocked nil)
    (todo-write-view-rows-read-work)
    (todo-write-view-rows-read-lists)
    (erase-buffer)
    (clrhash todo-write-place-nodes)
    (insert "\n")
    (todo-write-view-rows-draw-header)
    (goto-char (point-max))
    (setq todo-write-place-ewoc (ewoc-create #'todo-write-view-rows-print
                                             "" (todo-write-view-rows-footer) t))
    (when thread
      (seq-doseq (item (todo-write-items thread))
        (todo-write-view-draw--enter (todo-write-view-rows-row item)))
      (when (todo-write-view-draw--enter-ghosts
             (let ((revision (plist-get todo-write-view-rows-summary :revision)))
               (when (> revision 1)
                 (seq-filter (lambda (change) (equal (plist-get change :type) "removed"))
                             (plist-get (todo-write-changes-between thread (1- revision) revision)
                                        :changes)))))
        (ewoc-set-hf todo-write-place-ewoc "" (todo-write-view-rows-footer)))
      ;; A task can wait for tasks below it.
      (todo-write-view-draw--draw-rows todo-write-view-rows-blocked))))

;;; Rows that come and go

(defun todo-write-view-draw--enter (row &optional node)
  "Enter ROW before NODE, or last if that is nil."
  (puthash (todo-write-view-rows-row-id row)
           (if node
               (ewoc-enter-before todo-write-place-ewoc node row)
             (ewoc-enter-last todo-write-place-ewoc row))
           todo-write-place-nodes))

(defun todo-write-view-draw--enter-ghosts (removed)
  "Enter a ghost for each unfinished task of REMOVED, where its task was.
REMOVED is a sequence of `removed' changes.  Tasks that were completed or
that the agent cancelled get no ghost.  Return the ids of the ghosts."
  (let ((node (ewoc-nth todo-write-place-ewoc 0))
        (index 0)
        (gone 0))
    (seq-doseq (change (seq-sort-by (lambda (change) (plist-get change :previousPosition))
                                    #'< removed))
      (let ((item (plist-get change :previousItem))
            (at (- (plist-get change :previousPosition) gone)))
        (if (or (plist-get change :cancelled)
                (equal (plist-get item :status) "completed"))
            (cl-incf gone)
          (while (and node (< index at))
            (setq node (ewoc-next todo-write-place-ewoc node))
            (cl-incf index))
          (push (plist-get item :id) todo-write-view-rows-ghosts)
          (todo-write-view-draw--enter (todo-write-view-rows-row item t) node)
          (cl-incf index)))))
  todo-write-view-rows-ghosts)

(defun todo-write-view-draw--take-out (id)
  "Delete the row of ID, if it exists, and return it."
  (when-let* ((node (gethash id todo-write-place-nodes)))
    (remhash id todo-write-place-nodes)
    (setq todo-write-view-rows-running (delete id todo-write-view-rows-running)
          todo-write-view-rows-blocked (delete id todo-write-view-rows-blocked))
    (prog1 (ewoc-data node)
      (ewoc-delete todo-write-place-ewoc node))))

;;; What changed

(defun todo-write-view-draw--draw-rows (ids)
  "Draw the rows of IDS that exist."
  (apply #'ewoc-invalidate todo-write-place-ewoc
         (delq nil (mapcar (lambda (id) (gethash id todo-write-place-nodes)) (seq-uniq ids)))))

(defun todo-write-view-draw--draw-around ()
  "Draw the header and the footer."
  (todo-write-view-rows-draw-header)
  (ewoc-set-hf todo-write-place-ewoc "" (todo-write-view-rows-footer)))

(defun todo-write-view-draw--draw-changes (changes summary)
  "Draw the rows that CHANGES, a vector, made out of date, and SUMMARY.
Draw also what the agent has said and done since."
  (let ((yours (plist-get todo-write-view-rows-summary :yours))
        (stale (append todo-write-view-rows-running (seq-filter #'stringp todo-write-view-rows-open)
                       (mapcar #'car todo-write-view-rows-children))))
    (setq todo-write-view-rows-summary summary
          ;; A removed or restored task moves the list of its subagent.
          todo-write-view-rows-children (todo-write-children-by-item todo-write-view-thread))
    (todo-write-view-rows-read-lists)
    (unless (equal changes [])
      ;; See `todo-write-view-draw--place-flashes'.
      (setq todo-write-view-rows-flash-ticks (1+ (ceiling todo-write-flash-seconds))
            todo-write-view-rows-flashing
            (and (> todo-write-flash-seconds 0) (get-buffer-window nil t) changes))
      (mapc #'todo-write-view-draw--take-out todo-write-view-rows-ghosts)
      (setq todo-write-view-rows-ghosts nil))
    (todo-write-view-draw--draw-rows
     (append (todo-write-view-rows-read-work)
             stale
             (mapcar #'car todo-write-view-rows-children)
             (todo-write-view-draw--apply changes)
             ;; Whether the agent was told of a task is no change of the task.
             (unless (eql yours (plist-get summary :yours))
               (cl-loop for id being the hash-keys of todo-write-place-nodes
                        using (hash-values node)
                        for row = (ewoc-data node)
                        for old = (todo-write-view-rows-row-item row)
                        for item = (and (equal (plist-get old :addedBy) "user")
                                        (todo-write-item todo-write-view-thread id))
                        when item
                        do (setf (todo-write-view-rows-row-item row) item)
                        and collect id))
             todo-write-view-rows-blocked))
    (todo-write-view-draw--draw-around)))

(defun todo-write-view-draw--apply (changes)
  "Update the items of the rows and their order with CHANGES.
Return the ids of the rows to draw, which changed in place.  All moving
rows are deleted before any is entered, so that each finds its
predecessor in place."
  (let (stale entering removed)
    (cl-loop
     for change across changes
     for id = (plist-get change :itemId)
     for item = (plist-get change :item)
     do (pcase (plist-get change :type)
          ("added" (push (todo-write-view-rows-row item) entering))
          ("removed" (todo-write-view-draw--take-out id) (push change removed))
          ("reordered"
           ;; If the item changed too, that change comes just before.
           (when (equal id (car stale))
             (pop stale))
           (push (todo-write-view-draw--take-out id) entering))
          (_ (setf (todo-write-view-rows-row-item (ewoc-data (gethash id todo-write-place-nodes)))
                   item)
             (push id stale))))
    (dolist (row (nreverse entering))
      (let* ((previous (todo-write-plan-previous-id todo-write-view-thread
                                                    (todo-write-view-rows-row-id row)))
             (node (and previous (gethash previous todo-write-place-nodes))))
        (todo-write-view-draw--enter row (if node
                                             (ewoc-next todo-write-place-ewoc node)
                                           (ewoc-nth todo-write-place-ewoc 0)))))
    (when removed
      (todo-write-view-draw--enter-ghosts removed))
    stale))

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
                 (append (seq-filter #'stringp todo-write-view-rows-open)
                         (delq nil (mapcar #'car todo-write-view-rows-children))
                         (cl-loop for id in todo-write-view-rows-ghosts
                                  for node = (gethash id todo-write-place-nodes)
                                  for next = (and node (ewoc-next todo-write-place-ewoc node))
                                  when next
                                  collect (todo-write-view-rows-row-id (ewoc-data next))))
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

(defun todo-write-view-draw-all (&optional changes summary)
  "Draw the rows that CHANGES made out of date, or without it the whole buffer.
CHANGES is a vector of change plists that led to SUMMARY."
  ;; If this fails half way, the next change draws the whole buffer.
  (setq todo-write-view-rows-drawn nil)
  (todo-write-view-draw--keep-places
   (if changes (lambda () (todo-write-view-draw--draw-changes changes summary))
     #'todo-write-view-draw--draw-all))
  (setq todo-write-view-rows-drawn (plist-get todo-write-view-rows-summary :revision))
  (todo-write-view-draw-set-timer))

(defun todo-write-view-draw-redraw (ids &optional around)
  "Draw the rows of IDS; if AROUND is non-nil, also the header and the footer."
  (todo-write-view-draw--keep-places
   (lambda ()
     (todo-write-view-draw--draw-rows ids)
     (when around
       (todo-write-view-draw--draw-around))))
  (todo-write-view-draw-set-timer))

(defvar todo-write-view-draw--timer nil
  "Timer that updates times and ends flashes, or nil.")

(defun todo-write-view-draw--ticking-p (buffer)
  "Return non-nil while rows flash in BUFFER, or a time runs in a visible window."
  (with-current-buffer buffer
    (or todo-write-view-rows-flashing
        (and (or (and todo-write-view-rows-running (not (todo-write-view-rows-paused-p)))
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
  "Draw the rows whose time runs, and end expired flashes."
  (todo-write-events-apply-each #'todo-write-view-draw--tick-in (todo-write-view-draw-live-buffers))
  (todo-write-view-draw-set-timer))

(defun todo-write-view-draw--tick-in (buffer)
  "Draw the rows of BUFFER whose time runs, and end its flashes if they expired."
  (when (todo-write-view-draw--ticking-p buffer)
    (with-current-buffer buffer
      (when (and todo-write-view-rows-flashing (= 0 (cl-decf todo-write-view-rows-flash-ticks)))
        (setq todo-write-view-rows-flashing nil))
      (todo-write-view-draw--keep-places
       (lambda ()
         (todo-write-view-draw--draw-rows todo-write-view-rows-running)
         (todo-write-view-rows-draw-header))))))

(provide 'todo-write-view-draw)
;;; todo-write-view-draw.el ends here
