;;; todo-write-view-draw.el --- Redrawing a plan row by row  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The machinery under `todo-write-view-mode': an ewoc with a node for each
;; task, found by its id.  A write or an edit redraws the rows that changed
;; and no other; point, the mark and the scroll position of every window stay
;; with their tasks.  Modes, keys and commands are in todo-write-view.el.

;;; Code:

(require 'ewoc)
(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'todo-write)
(require 'todo-write-row)
(require 'todo-write-detail)

(defcustom todo-write-view-buffer-name "*efrit-todos*"
  "Name of the buffer that shows a plan live."
  :type 'string
  :group 'todo-write)

(defcustom todo-write-view-max-width 100
  "Columns that rows use at most, however wide the window is."
  :type 'natnum
  :group 'todo-write)

(defcustom todo-write-flash-seconds 1.0
  "How long rows that changed are highlighted; 0 for not at all."
  :type 'number
  :group 'todo-write)

(defface todo-write-flash '((t :inherit highlight :extend t))
  "Face of rows that have just changed."
  :group 'todo-write-faces)

(defvar-local todo-write-view-thread nil
  "Key of the thread that this buffer shows, or nil.")

(cl-defstruct (todo-write-view--row (:constructor todo-write-view--row (id item &optional ghost))
                                    (:copier nil))
  "A row of the buffer: a task, or the ghost of one that was dropped."
  id item ghost)

(defvar-local todo-write-view--ewoc nil
  "The ewoc of the rows.")

(defvar-local todo-write-view--nodes nil
  "Hash table from item id to ewoc node, ghosts included.")

(defvar-local todo-write-view--running nil
  "Hash table whose keys are the ids of the tasks in progress.")

(defvar-local todo-write-view--open nil
  "Hash table whose keys are the ids of the rows that show their detail.")

(defvar-local todo-write-view--ghosts nil
  "Ids of the rows that go with the next revision.")

(defvar-local todo-write-view--summary nil
  "What `todo-write-summary' said when the buffer was last drawn.")

(defvar-local todo-write-view--width nil
  "Columns the rows were last drawn for.")

(defvar todo-write-view--buffers nil
  "The buffers in `todo-write-view-mode'.")

(defvar todo-write-view--timer nil
  "Timer that keeps the times of running tasks going, or nil.")

;;; Printing

(defun todo-write-view--paused-p ()
  "Return non-nil if the thread was paused when last drawn."
  (eq (plist-get todo-write-view--summary :state) 'paused))

(defun todo-write-view--print (row)
  "Insert the text of ROW; the printer of the ewoc."
  (let* ((id (todo-write-view--row-id row))
         (item (todo-write-view--row-item row))
         (ghost (todo-write-view--row-ghost row))
         (times (unless ghost (todo-write-times todo-write-view-thread id)))
         (line (todo-write-row-line
                item
                (if ghost 'removed (todo-write-row-kind item (todo-write-view--paused-p)))
                (plist-get times :spent) todo-write-view--width)))
    (add-text-properties 0 (length line) '(mouse-face highlight) line)
    (insert (propertize (concat line "\n"
                                (when (gethash id todo-write-view--open)
                                  (todo-write-detail-string
                                   todo-write-view-thread item todo-write-view--width)))
                        'todo-write-id id))))

(defun todo-write-view--footer ()
  "Return the text below the rows: words where there is no row."
  (if (or (null todo-write-view--summary)
          (= 0 (plist-get todo-write-view--summary :revision)))
      (propertize " No plan yet.  It appears here as soon as an agent writes one.\n"
                  'face 'todo-write-detail)
    (if (eq (plist-get todo-write-view--summary :state) 'empty)
        (propertize " The list is empty.\n" 'face 'todo-write-detail)
      "")))

(defun todo-write-view--header ()
  "Return the text above the rows."
  (concat (todo-write-row-header todo-write-view--summary todo-write-view--width) "\n"))

;;; Places

(defun todo-write-view--place (position)
  "Return what POSITION is to be found by after a redraw.
A list (ID OFFSET MARKER), ID nil outside the rows."
  (let* ((id (get-text-property position 'todo-write-id))
         (node (and id (gethash id todo-write-view--nodes))))
    (list (and node id)
          (if node (- position (ewoc-location node)) 0)
          (copy-marker position))))

(defun todo-write-view--position (place)
  "Return the position of PLACE, and release it.
A row that is gone leaves its place to the one that followed it."
  (pcase-let* ((`(,id ,offset ,marker) place)
               (node (and id (gethash id todo-write-view--nodes)))
               (position (marker-position marker)))
    (set-marker marker nil)
    (if node
        (min (+ (ewoc-location node) offset) (1- (todo-write-view--end node)))
      position)))

(defun todo-write-view--end (node)
  "Return the position after the text of NODE."
  (next-single-property-change (ewoc-location node) 'todo-write-id nil (point-max)))

(defun todo-write-view--call-keeping-places (function)
  "Call FUNCTION, which redraws; keep point, mark and all windows in place."
  (let* ((place #'todo-write-view--place)
         (point (funcall place (point)))
         (mark (and (mark t) (funcall place (mark t))))
         (windows (mapcar (lambda (window)
                            (list window
                                  (funcall place (window-start window))
                                  (funcall place (window-point window))))
                          (get-buffer-window-list nil nil t)))
         (inhibit-read-only t))
    (funcall function)
    (restore-buffer-modified-p nil)
    (goto-char (todo-write-view--position point))
    (when mark
      (set-marker (mark-marker) (todo-write-view--position mark)))
    (pcase-dolist (`(,window ,start ,point) windows)
      (let ((start (todo-write-view--position start))
            (point (todo-write-view--position point)))
        (unless (= point (window-point window))
          (set-window-point window point))
        (unless (= start (window-start window))
          (set-window-start window start t))))))

(defmacro todo-write-view--keeping-places (&rest body)
  "Run BODY, which redraws; keep point, mark and all windows in place."
  (declare (indent 0) (debug t))
  `(todo-write-view--call-keeping-places (lambda () ,@body)))

;;; Drawing

(defun todo-write-view--draw (&rest _)
  "Draw the whole buffer."
  (setq todo-write-view--width (todo-write-view--fitting-width)
        todo-write-view--summary (and todo-write-view-thread
                                      (todo-write-summary todo-write-view-thread)))
  (todo-write-view--keeping-places
    (when todo-write-view--ewoc
      (todo-write-view--release-markers))
    (erase-buffer)
    (clrhash todo-write-view--nodes)
    (clrhash todo-write-view--running)
    (setq todo-write-view--ghosts nil
          todo-write-view--ewoc (ewoc-create #'todo-write-view--print
                                             (todo-write-view--header)
                                             (todo-write-view--footer) t))
    (when todo-write-view-thread
      (todo-write-view--enter-all)))
  (todo-write-view--note-count)
  (todo-write-view--set-timer))

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
  "Put the count into this buffer's mode line, which never scrolls away."
  (setq mode-line-process
        (unless (memq (plist-get todo-write-view--summary :state) '(nil empty))
          (format " %d/%d" (plist-get todo-write-view--summary :completed)
                  (plist-get todo-write-view--summary :total)))))

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
task stood in the list before; completed tasks leave no ghost."
  (let ((node (ewoc-nth todo-write-view--ewoc 0))
        (index 0)
        (gone 0))
    (seq-doseq (change (seq-sort-by (lambda (change) (plist-get change :previousPosition))
                                    #'< removed))
      (let ((item (plist-get change :previousItem))
            (at (- (plist-get change :previousPosition) gone)))
        (if (equal (plist-get item :status) "completed")
            (cl-incf gone)
          (while (and node (< index at))
            (setq node (ewoc-next todo-write-view--ewoc node))
            (cl-incf index))
          (push (plist-get item :id) todo-write-view--ghosts)
          (todo-write-view--enter (todo-write-view--row (plist-get item :id) item t) node)
          (cl-incf index))))))

;;; Following the store

(defmacro todo-write-view--in-buffers-of (thread &rest body)
  "Run BODY in each buffer that is there for THREAD.
A buffer that has shown nothing so far shows THREAD from now on."
  (declare (indent 1) (debug t))
  `(dolist (buffer todo-write-view--buffers)
     (with-current-buffer buffer
       (when (equal (or todo-write-view-thread (setq todo-write-view-thread ,thread))
                    ,thread)
         ,@body))))

(defun todo-write-view--on-change (thread outcome)
  "Redraw what OUTCOME of THREAD changed, if a buffer is for it."
  (todo-write-view--in-buffers-of thread
    (let ((drawn (or (plist-get todo-write-view--summary :revision) 0))
          (told (plist-get outcome :revision))
          (current (plist-get (todo-write-summary thread) :revision)))
      (cond ((and todo-write-view--ewoc (= told current (1+ drawn)))
             (todo-write-view--update (plist-get (plist-get outcome :changes) :changes)))
            ;; Another subscriber wrote meanwhile, and was drawn already.
            ((and (< told current) (= drawn current)))
            ;; Revisions were missed, or the thread was forgotten and begun anew.
            (t (todo-write-view--draw))))))

(defun todo-write-view--on-state (thread _state)
  "Redraw what a pause of THREAD, or its end, concerns."
  (todo-write-view--in-buffers-of thread
    (setq todo-write-view--summary (todo-write-summary thread))
    (todo-write-view--keeping-places
      (todo-write-view--redraw-running)
      (todo-write-view--redraw-header))
    (todo-write-view--set-timer)))

(defun todo-write-view--update (changes)
  "Redraw the rows that are out of date.
CHANGES is a vector of change plists."
  (let ((paused (todo-write-view--paused-p)))
    (setq todo-write-view--summary (todo-write-summary todo-write-view-thread))
    (if (> (* 3 (length changes)) (max 200 (plist-get todo-write-view--summary :total)))
        (todo-write-view--draw)
      (todo-write-view--keeping-places
        (mapc #'todo-write-view--take-out todo-write-view--ghosts)
        (setq todo-write-view--ghosts nil)
        (todo-write-view--apply changes)
        (unless (eq paused (todo-write-view--paused-p))
          (todo-write-view--redraw-running))
        (todo-write-view--redraw-header))
      (todo-write-view--flash changes)
      (todo-write-view--set-timer))))

(defun todo-write-view--apply (changes)
  "Bring the rows and their order up to date.
CHANGES is a vector of change plists.  Rows that move are all taken out
before any row is put in, so that each finds its predecessor in place."
  (let ((moving (make-hash-table :test #'equal))
        removed)
    (seq-doseq (change changes)
      (let ((id (plist-get change :itemId)))
        (pcase (plist-get change :type)
          ("removed" (todo-write-view--take-out id) (push change removed))
          ("reordered" (puthash id (todo-write-view--take-out id) moving)))))
    (seq-doseq (change changes)
      (let ((id (plist-get change :itemId))
            (item (plist-get change :item)))
        (pcase (plist-get change :type)
          ("added" (todo-write-view--enter-in-list (todo-write-view--row id item)))
          ("reordered" (todo-write-view--enter-in-list (gethash id moving)))
          ((or "modified" "status_changed")
           (todo-write-view--set-item id item (gethash id moving))))))
    (when removed
      (todo-write-view--enter-ghosts removed))))

(defun todo-write-view--set-item (id item moving)
  "Show ITEM in the row of ID, which is MOVING if it is not entered now."
  (let* ((node (gethash id todo-write-view--nodes))
         (row (or moving (ewoc-data node))))
    (setf (todo-write-view--row-item row) item)
    (todo-write-view--note row)
    (when node
      (ewoc-invalidate todo-write-view--ewoc node))))

(defun todo-write-view--redraw-running (&optional except)
  "Redraw the rows of the tasks in progress.
Leave out those for whose node the function EXCEPT returns non-nil."
  (dolist (id (hash-table-keys todo-write-view--running))
    (let ((node (gethash id todo-write-view--nodes)))
      (unless (and except (funcall except node))
        (ewoc-invalidate todo-write-view--ewoc node)))))

(defun todo-write-view--redraw-header ()
  "Redraw what stands above and below the rows, if it has changed.
Where faces differ, so do words."
  (let ((old (ewoc-get-hf todo-write-view--ewoc))
        (header (todo-write-view--header))
        (footer (todo-write-view--footer)))
    (unless (and (equal (car old) header) (equal (cdr old) footer))
      (ewoc-set-hf todo-write-view--ewoc header footer)
      (todo-write-view--note-count))))

(defun todo-write-view--flash (changes)
  "Highlight the rows that were just redrawn, for a moment.
CHANGES is a vector of change plists."
  (when (> todo-write-flash-seconds 0)
    (let ((overlays
           (cl-loop for change across changes
                    for node = (gethash (plist-get change :itemId) todo-write-view--nodes)
                    when node collect (make-overlay (ewoc-location node)
                                                    (todo-write-view--end node)))))
      (dolist (overlay overlays)
        (overlay-put overlay 'face 'todo-write-flash)
        (overlay-put overlay 'todo-write-flash t)
        (overlay-put overlay 'evaporate t))
      (when overlays
        (run-at-time todo-write-flash-seconds nil #'mapc #'delete-overlay overlays)))))

(defun todo-write-view--flashing-p (node)
  "Return non-nil while NODE is highlighted, which a redraw would end."
  (seq-some (lambda (overlay) (overlay-get overlay 'todo-write-flash))
            (overlays-at (ewoc-location node))))

;;; Time and width

(defun todo-write-view--ticking-p ()
  "Return non-nil while somebody can see a running time."
  (and (> (hash-table-count todo-write-view--running) 0)
       (not (todo-write-view--paused-p))
       (get-buffer-window nil 0)))

(defun todo-write-view--set-timer ()
  "Keep the times going as long as somebody can see one run."
  (if (seq-some (lambda (buffer)
                  (with-current-buffer buffer (todo-write-view--ticking-p)))
                todo-write-view--buffers)
      (unless todo-write-view--timer
        (setq todo-write-view--timer (run-at-time 1 1 #'todo-write-view--tick)))
    (when todo-write-view--timer
      (cancel-timer todo-write-view--timer)
      (setq todo-write-view--timer nil))))

(defun todo-write-view--tick ()
  "Redraw the rows whose time somebody can see run."
  (dolist (buffer todo-write-view--buffers)
    (with-current-buffer buffer
      (when (todo-write-view--ticking-p)
        (todo-write-view--keeping-places
          (todo-write-view--redraw-running #'todo-write-view--flashing-p)))))
  (todo-write-view--set-timer))

(defun todo-write-view--fitting-width ()
  "Return the columns that fit every window showing the current buffer."
  (let ((windows (get-buffer-window-list nil nil t)))
    (if windows
        (max 10 (1- (apply #'min (1+ todo-write-view-max-width)
                           (mapcar #'window-body-width windows))))
      (or todo-write-view--width (min 80 todo-write-view-max-width)))))

(defun todo-write-view--fit (window)
  "Draw the buffer of WINDOW anew if it does not fit, and keep times going.
Called when a window begins to show the buffer or changes its size, with
any buffer current."
  (with-current-buffer (window-buffer window)
    (if (eql todo-write-view--width (todo-write-view--fitting-width))
        (todo-write-view--set-timer)
      (todo-write-view--draw))))

(provide 'todo-write-view-draw)
;;; todo-write-view-draw.el ends here
