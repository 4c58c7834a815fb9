;;; todo-write-view-draw.el --- Redrawing a plan row by row  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The machinery under `todo-write-view-mode': an ewoc with a node for each
;; task.  A write or an edit redraws the rows that changed and no other.  When
;; that happens is in todo-write-view-live.el.

;;; Code:

(require 'ewoc)
(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'todo-write)
(require 'todo-write-row)
(require 'todo-write-row-header)
(require 'todo-write-detail)
(require 'todo-write-children)
(require 'todo-write-view-rows)
(require 'todo-write-view-places)

(defcustom todo-write-view-max-width 100
  "Columns that rows use at most, however wide the window is."
  :type 'natnum
  :group 'todo-write)

(defcustom todo-write-flash-seconds 1.0
  "How long rows that changed are highlighted at least; 0 for not at all.
The clock that keeps times going ends it, with its next tick."
  :type 'number
  :group 'todo-write)

(defvar-local todo-write-view--flashing nil
  "The changes whose rows flash, a vector, or nil.")

(defvar-local todo-write-view--flash-ticks nil
  "With so many ticks of the clock, the flash ends.")

;;; Printing

(declare-function todo-write-dyn--spent "ext:todo-write-dyn")

(defun todo-write-view--print (row)
  "Insert the text of ROW; the printer of the ewoc."
  (let ((start (point)))
    (todo-write-view--print-line row #'todo-write-row-insert)
    (insert-and-inherit "\n")
    (when (todo-write-view--row-ghost row)
      ;; A struck newline shows as a stroke behind the text.
      (let ((todo-write-row-flashing (todo-write-view--flashing-p row)))
        (todo-write-row-put-face (1- (point)) (point) 'todo-write-pending)))
    (put-text-property start (point) 'category (todo-write-view--row-category row)))
  (setf (todo-write-view--row-below row)
        (todo-write-view--insert-below (todo-write-view--row-id row)
                                       (todo-write-view--row-item row))))

(defun todo-write-view--print-line (row function)
  "Call FUNCTION, which inserts or replaces a line at point, for that of ROW."
  (let ((item (todo-write-view--row-item row))
        (todo-write-row-flashing (todo-write-view--flashing-p row)))
    (if (todo-write-view--row-ghost row)
        (funcall function item 'removed nil todo-write-view--width)
      (funcall function item (todo-write-row-kind item (todo-write-view--paused-p))
               (todo-write-dyn--spent todo-write-view-thread (todo-write-view--row-id row))
               todo-write-view--width))))

(defun todo-write-view--redraw (node)
  "Redraw the row of NODE."
  (let* ((row (ewoc-data node))
         (id (todo-write-view--row-id row)))
    (if (or (todo-write-view--row-below row)
            (gethash id todo-write-view--open)
            (assoc id todo-write-view--children))
        (ewoc-invalidate todo-write-view--ewoc node)
      ;; With nothing below it, the line is all there is.
      (goto-char (ewoc-location node))
      (todo-write-view--print-line row #'todo-write-row-replace))))

(defun todo-write-view--insert-below (id item)
  "Insert the lines below the row of ITEM, whose id is ID.
Return non-nil if there are any."
  (let ((open (gethash id todo-write-view--open))
        (children (cdr (assoc id todo-write-view--children)))
        (start (point)))
    (when open
      (insert (todo-write-detail-string todo-write-view-thread item
                                        todo-write-view--width)))
    (todo-write-children-insert children todo-write-view--width open)
    (put-text-property start (point) 'todo-write-id id)
    (< start (point))))

(defun todo-write-view--footer ()
  "Return the text below the rows.
Words where there is no row, and the lists of subagents that work for no
row here."
  (let ((children (cdr (assoc nil todo-write-view--children))))
    (concat
     (pcase (and (< 0 (or (plist-get todo-write-view--summary :revision) 0))
                 (plist-get todo-write-view--summary :state))
       ('nil (propertize " No plan yet.  It appears here as soon as an agent writes one.\n"
                         'face 'todo-write-detail))
       ('empty (propertize " The list is empty.\n" 'face 'todo-write-detail)))
     (and children
          (let ((width todo-write-view--width))
            (todo-write-row-string (todo-write-children-insert children width)))))))

;;; Drawing

(defun todo-write-view--draw (&rest _)
  "Draw the whole buffer."
  (todo-write-view--keeping-places nil
    (todo-write-view--look)
    (when todo-write-view--ewoc
      (todo-write-view--release-markers))
    (erase-buffer)
    (todo-write-row-insert-header todo-write-view--summary todo-write-view--width)
    (insert "\n")
    (setq todo-write-view--header todo-write-view--summary)
    (clrhash todo-write-view--nodes)
    (clrhash todo-write-view--running)
    (setq todo-write-view--ghosts nil
          todo-write-view--ewoc (ewoc-create #'todo-write-view--print
                                             "" (todo-write-view--footer) t))
    (when todo-write-view-thread
      (todo-write-view--enter-all))
    (todo-write-view--note-count))
  (setq todo-write-view--drawn (plist-get todo-write-view--summary :revision)))

(defun todo-write-view--look ()
  "Take from the store what is to be drawn besides the rows."
  (let ((thread todo-write-view-thread))
    (setq todo-write-view--width (todo-write-view--fitting-width)
          todo-write-view--summary (and thread (todo-write-summary thread))
          todo-write-view--children (and thread (todo-write-children-by-item thread)))))

(defun todo-write-view--fitting-width ()
  "Return the columns that fit every window showing the current buffer."
  (let ((windows (get-buffer-window-list nil nil t)))
    (if windows
        (max 10 (1- (apply #'min (1+ todo-write-view-max-width)
                           (mapcar #'window-body-width windows))))
      (or todo-write-view--width (min 80 todo-write-view-max-width)))))

(defun todo-write-view--enter-all ()
  "Enter a row for each item of the thread, and the ghosts."
  ;; Thousands of rows would otherwise set off a collection every few rows.
  (let ((gc-cons-threshold (max gc-cons-threshold (* 64 1024 1024))))
    (seq-doseq (item (todo-write-items todo-write-view-thread))
      (todo-write-view--enter (todo-write-view--row (plist-get item :id) item)))
    (todo-write-view--enter-ghosts (todo-write-view--last-removed))))

(defun todo-write-view--release-markers ()
  "Let go of the markers of all rows, which slow down every insertion.
Last first: that is the order in which the buffer finds them at once."
  (let ((node (ewoc-nth todo-write-view--ewoc -1)))
    (while node
      (set-marker (prog1 (ewoc-location node)
                    (setq node (ewoc-prev todo-write-view--ewoc node)))
                  nil))))

(defun todo-write-view--last-removed ()
  "Return a `removed' change for each task the last revision dropped."
  (let ((revision (plist-get todo-write-view--summary :revision)))
    (when (> revision 1)
      (seq-filter (lambda (change) (equal (plist-get change :type) "removed"))
                  (plist-get (todo-write-changes-between todo-write-view-thread
                                                         (1- revision) revision)
                             :changes)))))

(defun todo-write-view--enter (row &optional node)
  "Enter ROW before NODE, or last if that is nil."
  (todo-write-view--note row)
  (puthash (todo-write-view--row-id row)
           (if node
               (ewoc-enter-before todo-write-view--ewoc node row)
             (ewoc-enter-last todo-write-view--ewoc row))
           todo-write-view--nodes))

(defun todo-write-view--enter-in-list (row)
  "Enter ROW where its task stands in the current list.
All rows before it must be in their places already."
  (let* ((previous (todo-write-previous-id todo-write-view-thread
                                           (todo-write-view--row-id row)))
         (node (and previous (gethash previous todo-write-view--nodes))))
    (todo-write-view--enter row (if node
                                    (ewoc-next todo-write-view--ewoc node)
                                  (ewoc-nth todo-write-view--ewoc 0)))))

(defun todo-write-view--note (row)
  "Note whether the task of ROW is in progress."
  (if (and (equal (plist-get (todo-write-view--row-item row) :status) "in_progress")
           (not (todo-write-view--row-ghost row)))
      (puthash (todo-write-view--row-id row) t todo-write-view--running)
    (remhash (todo-write-view--row-id row) todo-write-view--running)))

(defun todo-write-view--note-count ()
  "Show the count in the mode line, if there are tasks."
  (setq todo-write-view--count
        (unless (memq (plist-get todo-write-view--summary :state) '(nil empty))
          (todo-write-row-count todo-write-view--summary))))

(defun todo-write-view--take-out (id)
  "Delete the row of ID, if any, and return it."
  (when-let* ((node (gethash id todo-write-view--nodes)))
    (remhash id todo-write-view--nodes)
    (remhash id todo-write-view--running)
    (prog1 (ewoc-data node)
      (ewoc-delete todo-write-view--ewoc node))))

(defun todo-write-view--enter-ghosts (removed)
  "Enter a row for each unfinished task of REMOVED.
That is a sequence of `removed' changes.  Each ghost stands where its
task stood in the list before.  Completed tasks and those that the agent
cancelled leave no ghost."
  (let ((node (ewoc-nth todo-write-view--ewoc 0))
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
            (setq node (ewoc-next todo-write-view--ewoc node))
            (cl-incf index))
          (push (plist-get item :id) todo-write-view--ghosts)
          (todo-write-view--enter (todo-write-view--row (plist-get item :id) item t) node)
          (cl-incf index))))))

;;; Bringing up to date

(defun todo-write-view--update (changes summary)
  "Redraw the rows that are out of date.
CHANGES is a vector of change plists, after which the thread is as
SUMMARY says."
  (if (> (* 3 (length changes)) (max 200 (plist-get summary :total)))
      (todo-write-view--draw)
    ;; If this fails half way, the next change draws the whole buffer.
    (setq todo-write-view--drawn nil)
    (let ((in-line (todo-write-view--in-line-p changes)))
      (todo-write-view--keeping-places in-line
        (todo-write-view--flash changes)
        (todo-write-view--redraw-changed changes summary in-line)))
    (setq todo-write-view--drawn (plist-get summary :revision))))

(defun todo-write-view--redraw-changed (changes summary in-line)
  "Redraw what CHANGES put out of date, and show SUMMARY.
IN-LINE is what `todo-write-view--in-line-p' says of CHANGES."
  (let ((paused (todo-write-view--paused-p)))
    (setq todo-write-view--summary summary)
    (if in-line
        (cl-loop for change across changes
                 do (todo-write-view--set-item (plist-get change :itemId)
                                               (plist-get change :item)))
      ;; A list below a task that goes, or comes back, moves.
      (when todo-write-view--children
        (setq todo-write-view--children
              (todo-write-children-by-item todo-write-view-thread)))
      (mapc #'todo-write-view--take-out todo-write-view--ghosts)
      (setq todo-write-view--ghosts nil)
      (todo-write-view--apply changes)
      (todo-write-view--redraw-footer))
    (unless (eq paused (todo-write-view--paused-p))
      (todo-write-view--redraw-running))
    (todo-write-view--redraw-header)))

(defun todo-write-view--in-line-p (changes)
  "Return non-nil if rows stay in their places, and single lines, by CHANGES.
That is a vector of change plists."
  (and (null todo-write-view--ghosts)
       (null todo-write-view--children)
       (= 0 (hash-table-count todo-write-view--open))
       (cl-loop for change across changes
                always (member (plist-get change :type) '("status_changed" "modified")))))

(defun todo-write-view--apply (changes)
  "Bring the rows and their order up to date.
CHANGES is a vector of change plists.  Rows that move are all taken out
before any row is put in, so that each finds its predecessor in place."
  (let (moving removed)
    (cl-loop for change across changes
             for id = (plist-get change :itemId) do
             (pcase (plist-get change :type)
               ("removed" (todo-write-view--take-out id) (push change removed))
               ("reordered"
                (setq moving (or moving (make-hash-table :test #'equal)))
                (puthash id (todo-write-view--take-out id) moving))))
    (cl-loop for change across changes
             for id = (plist-get change :itemId)
             for item = (plist-get change :item)
             for moved = (and moving (gethash id moving)) do
             (pcase (plist-get change :type)
               ("added" (todo-write-view--enter-in-list (todo-write-view--row id item)))
               ("reordered" (todo-write-view--enter-in-list moved))
               ((or "modified" "status_changed")
                (todo-write-view--set-item id item moved))))
    (when removed
      (todo-write-view--enter-ghosts removed))))

(defun todo-write-view--set-item (id item &optional moving)
  "Show ITEM in the row of ID, which is MOVING if it is not entered now."
  (let* ((node (gethash id todo-write-view--nodes))
         (row (or moving (ewoc-data node))))
    (setf (todo-write-view--row-item row) item)
    (todo-write-view--note row)
    (when node
      (todo-write-view--redraw node))))

(defun todo-write-view--redraw-running ()
  "Redraw the rows of the tasks in progress."
  (mapc #'todo-write-view--redraw-row (hash-table-keys todo-write-view--running)))

(defun todo-write-view--redraw-header ()
  "Redraw what stands above the rows."
  (goto-char (point-min))
  (todo-write-row-replace-header todo-write-view--header todo-write-view--summary
                                 todo-write-view--width)
  (setq todo-write-view--header todo-write-view--summary)
  (todo-write-view--note-count))

(defun todo-write-view--redraw-footer ()
  "Redraw what stands below the rows."
  (let ((footer (todo-write-view--footer)))
    ;; Where faces differ, so do words.
    (unless (equal footer (cdr (ewoc-get-hf todo-write-view--ewoc)))
      (ewoc-set-hf todo-write-view--ewoc "" footer))))

(defun todo-write-view--redraw-row (id)
  "Redraw the row of ID, if there is one."
  (when-let* ((node (gethash id todo-write-view--nodes)))
    (todo-write-view--redraw node)))

(defun todo-write-view--flash (changes)
  "Let the rows of CHANGES flash as they are redrawn, if somebody sees them.
CHANGES is a vector of change plists.  No other row flashes any more."
  (mapc #'todo-write-view--redraw-row (todo-write-view--flashed))
  (when (and todo-write-view--windows (> todo-write-flash-seconds 0))
    (setq todo-write-view--flash-ticks (1+ (ceiling todo-write-flash-seconds))
          todo-write-view--flashing changes)))

(defun todo-write-view--flashed ()
  "Let no row flash any more; return the ids of those that did."
  (cl-loop for change across (prog1 todo-write-view--flashing
                               (setq todo-write-view--flashing nil))
           collect (plist-get change :itemId)))

(defun todo-write-view--flashing-p (row)
  "Return non-nil while ROW flashes."
  (and todo-write-view--flashing
       (cl-loop with id = (todo-write-view--row-id row)
                for change across todo-write-view--flashing
                thereis (equal id (plist-get change :itemId)))))

(provide 'todo-write-view-draw)
;;; todo-write-view-draw.el ends here
