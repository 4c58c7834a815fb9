;;; todo-write-view-draw.el --- Drawing a plan row by row  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The text of a buffer in `todo-write-view-mode': an ewoc with a node for each
;; task, found by the id of the task.  After a write or an edit only the rows
;; that changed are drawn.  todo-write-view-window.el keeps windows in place;
;; todo-write-view.el decides when the buffer is drawn.

;;; Code:

(require 'cl-lib)
(require 'ewoc)
(require 'seq)
(require 'subr-x)
(require 'todo-write)
(require 'todo-write-row)
(require 'todo-write-detail)

(defcustom todo-write-view-max-width 100
  "Maximum number of columns of a row."
  :type 'natnum
  :group 'todo-write)

(defcustom todo-write-flash-seconds 1.0
  "Minimum time in seconds that changed rows are highlighted; 0 for never.
The highlight ends when the times are updated next."
  :type 'number
  :group 'todo-write)

;;; State

(defvar-local todo-write-view-thread nil
  "Key of the thread that this buffer shows, or nil.")

(defvar-local todo-write-view--ewoc nil
  "The ewoc of the rows.")

(defvar-local todo-write-view--nodes nil
  "Hash table from item id to ewoc node, ghosts included.")

(defvar-local todo-write-view--running nil
  "Ids of the tasks in progress.")

(defvar-local todo-write-view--open nil
  "Ids of the rows that show their detail.")

(defvar-local todo-write-view--ghosts nil
  "Ids of dropped tasks, whose rows the next change removes.")

(defvar-local todo-write-view--flashing nil
  "Ids of the rows that flash.")

(defvar-local todo-write-view--flashes nil
  "The overlays on rows that flash, and deleted ones for later use.")

(defvar-local todo-write-view--flash-ticks nil
  "Number of ticks of the timer until the flash ends.")

(defvar-local todo-write-view--waiting nil
  "Ids of the rows that name other tasks.")

(defvar-local todo-write-view--children nil
  "Alist of item ids and the keys of their subagents' threads.
The id nil has the threads without a row in this buffer.")

(defvar-local todo-write-view--summary nil
  "The `todo-write-summary' of the thread when the buffer was last drawn.")

(defvar-local todo-write-view--drawn nil
  "Number of the revision that the rows show, or nil while they are drawn.")

(defvar todo-write-view--times nil
  "While the whole buffer is drawn, a hash table from item id to times.
See `todo-write-times'.  If another Emacs holds the journal, each call of
the module looks at the file.")

(defvar-local todo-write-view--width nil
  "Columns the rows were last drawn for.")

(cl-defstruct (todo-write-view--row
               (:constructor todo-write-view--row
                             (item &optional ghost
                                   &aux (id (plist-get item :id))
                                   (category (todo-write-view--category id))))
               (:copier nil))
  "A row of the buffer: a task, or the ghost of one that was dropped.
CATEGORY is a symbol with the text properties of its line."
  id item ghost category)

(defun todo-write-view--category (id)
  "Return a new symbol with the text properties of the line of the task ID."
  (let ((category (make-symbol "todo-write-row")))
    (setplist category
              ;; Emacs highlights adjacent lines together if they share the list.
              (list 'todo-write-id id 'mouse-face (list 'highlight)
                    'help-echo #'todo-write-view--help))
    category))

(defun todo-write-view--help (_window buffer position)
  "Return the full text of the row at POSITION of BUFFER."
  (with-current-buffer buffer
    (when-let* ((node (todo-write-view--node-at position))
                (item (todo-write-view--row-item (ewoc-data node))))
      (propertize (todo-write-row-text item (todo-write-row-kind item))
                  'help-echo-inhibit-substitution t))))

(defun todo-write-view--paused-p ()
  "Return non-nil if the thread was paused when last drawn."
  (eq (plist-get todo-write-view--summary :state) 'paused))

(defun todo-write-view--current-id ()
  "Return the id of the task that was in progress when last drawn, or nil."
  (plist-get (plist-get todo-write-view--summary :current) :id))

(defun todo-write-view--node-at (position)
  "Return the ewoc node of the row at POSITION, or nil."
  (gethash (get-text-property position 'todo-write-id) todo-write-view--nodes))

(defun todo-write-view--start (id)
  "Return the position of the row of ID, or nil."
  (when-let* ((node (and id (gethash id todo-write-view--nodes))))
    (marker-position (ewoc-location node))))

(defun todo-write-view--fitting-width ()
  "Return the number of columns that fits every window of the current buffer."
  (let ((windows (get-buffer-window-list nil nil t)))
    (if windows
        (max 10 (1- (apply #'min (1+ todo-write-view-max-width)
                           (mapcar #'window-body-width windows))))
      (or todo-write-view--width (min 80 todo-write-view-max-width)))))

(defun todo-write-view--set-up-page (draw &optional fit)
  "Set up the current buffer as a read-only page as wide as its windows.
DRAW draws it.  FIT is called with a window that has changed its size; by
default, it calls DRAW if the width differs."
  (setq truncate-lines t
        ;; Hebrew and Arabic tasks must not reverse their rows.
        bidi-paragraph-direction 'left-to-right
        show-trailing-whitespace nil)
  (setq-local revert-buffer-function draw)
  (buffer-disable-undo)
  (add-hook 'window-size-change-functions
            (or fit
                (lambda (window)
                  (with-current-buffer (window-buffer window)
                    (unless (eql todo-write-view--width (todo-write-view--fitting-width))
                      (funcall draw)))))
            nil t))

;;; Text

(defun todo-write-view--print (row)
  "Insert ROW; the printer of the ewoc."
  (let* ((id (todo-write-view--row-id row))
         (item (todo-write-view--row-item row))
         (ghost (todo-write-view--row-ghost row))
         (kind (if ghost 'removed (todo-write-row-kind item (todo-write-view--paused-p))))
         (start (point)))
    (todo-write-row-insert item kind (unless ghost (todo-write-view--spent id))
                           todo-write-view--width nil
                           (unless ghost (todo-write-view--note id item)))
    (put-text-property start (point) 'category (todo-write-view--row-category row))
    (todo-write-view--insert-below id item)
    (if (memq kind '(in_progress paused))
        (cl-pushnew id todo-write-view--running :test #'equal)
      (setq todo-write-view--running (delete id todo-write-view--running)))))

(defun todo-write-view--spent (id)
  "Return how long the task ID was in progress, in milliseconds, or nil."
  (if todo-write-view--times
      (plist-get (gethash id todo-write-view--times) :spent)
    (todo-write--spent todo-write-view-thread id)))

(defun todo-write-view--note (id item)
  "Return the note of the row of ITEM, whose id is ID, or nil."
  (let ((blocked (plist-get item :blockedBy)))
    (if blocked
        (cl-pushnew id todo-write-view--waiting :test #'equal)
      (setq todo-write-view--waiting (delete id todo-write-view--waiting)))
    (todo-write-row-note
     item (and blocked
               (mapcar #'todo-write-view--row-item
                       (ewoc-collect todo-write-view--ewoc
                                     (lambda (row) (not (todo-write-view--row-ghost row)))))))))

(defun todo-write-view--insert-below (id item)
  "Insert the lines below the row of ITEM, whose id is ID."
  (let ((open (member id todo-write-view--open))
        (children (cdr (assoc id todo-write-view--children)))
        (start (point)))
    (when open
      (insert (todo-write-detail-string todo-write-view-thread item
                                        todo-write-view--width)))
    (todo-write-children-insert children todo-write-view--width open)
    (put-text-property start (point) 'todo-write-id id)))

(defun todo-write-view--insert-header ()
  "Insert the header, without a newline, and show the count in the mode line."
  (todo-write-row-insert-header todo-write-view--summary todo-write-view--width
                                (and todo-write-view-thread (todo-write-view--doing)))
  (setq mode-line-process
        (unless (memq (plist-get todo-write-view--summary :state) '(nil empty))
          (list " " (todo-write-row-count todo-write-view--summary)))))

(defun todo-write-view--doing ()
  "Return the activity of the agent and its reason, a string, or nil if idle."
  (pcase (todo-write-activity todo-write-view-thread)
    (`(working . ,_)
     (format-time-string "working since %R"
                         (/ (todo-write-activity-since todo-write-view-thread) 1000)))
    (`(waiting . ,why) (concat "waits for you" (and why ": ") why))
    (`(failed . ,why) (concat "failed" (and why ": ") why))))

(defun todo-write-view--footer ()
  "Return the text below the rows.
It has a note if there are no tasks, and the lists of subagents that
belong to no row."
  (concat
   (pcase (and (< 0 (or (plist-get todo-write-view--summary :revision) 0))
               (plist-get todo-write-view--summary :state))
     ('nil (propertize " No plan yet.  It appears here as soon as an agent writes one.\n"
                       'face 'todo-write-detail))
     ('empty (propertize " The list is empty.\n" 'face 'todo-write-detail)))
   (when-let* ((children (cdr (assoc nil todo-write-view--children)))
               (width todo-write-view--width))
     (todo-write-row-string (todo-write-children-insert children width)))))

;;; The whole buffer

(defun todo-write-view--draw-all ()
  "Draw the whole buffer from the store."
  (let ((thread todo-write-view-thread))
    (setq todo-write-view--width (todo-write-view--fitting-width)
          todo-write-view--summary (and thread (todo-write-summary thread))
          todo-write-view--children (and thread (todo-write-children-by-item thread))
          todo-write-view--ghosts nil
          todo-write-view--running nil
          todo-write-view--waiting nil)
    (todo-write-view--release-markers)
    (erase-buffer)
    (clrhash todo-write-view--nodes)
    (todo-write-view--insert-header)
    (insert "\n")
    (setq todo-write-view--ewoc (ewoc-create #'todo-write-view--print
                                             "" (todo-write-view--footer) t))
    (when thread
      ;; Thousands of rows would otherwise cause many garbage collections.
      (let ((gc-cons-threshold (max gc-cons-threshold (* 64 1024 1024)))
            (todo-write-view--times (make-hash-table :test #'equal)))
        (pcase-dolist (`(,id . ,times) (todo-write-times thread))
          (puthash id times todo-write-view--times))
        (seq-doseq (item (todo-write-items thread))
          (todo-write-view--enter (todo-write-view--row item)))
        (todo-write-view--enter-ghosts (todo-write-view--last-removed))
        ;; A task can wait for tasks below it.
        (todo-write-view--draw-rows todo-write-view--waiting)))))

(defun todo-write-view--release-markers ()
  "Release the markers of all rows, which would slow down every insertion."
  (let (markers)
    (maphash (lambda (_ node) (push (ewoc-location node) markers)) todo-write-view--nodes)
    ;; The buffer finds the newest first.
    (dolist (marker markers)
      (set-marker marker nil))))

(defun todo-write-view--last-removed ()
  "Return the `removed' changes of the last revision."
  (let ((revision (plist-get todo-write-view--summary :revision)))
    (when (> revision 1)
      (seq-filter (lambda (change) (equal (plist-get change :type) "removed"))
                  (plist-get (todo-write-changes-between todo-write-view-thread
                                                         (1- revision) revision)
                             :changes)))))

;;; Rows that come and go

(defun todo-write-view--enter (row &optional node)
  "Enter ROW before NODE, or last if that is nil."
  (puthash (todo-write-view--row-id row)
           (if node
               (ewoc-enter-before todo-write-view--ewoc node row)
             (ewoc-enter-last todo-write-view--ewoc row))
           todo-write-view--nodes))

(defun todo-write-view--enter-in-list (row)
  "Enter ROW at the position of its task in the current list.
All rows before it must be in place already."
  (let* ((previous (todo-write--previous-id todo-write-view-thread
                                            (todo-write-view--row-id row)))
         (node (and previous (gethash previous todo-write-view--nodes))))
    (todo-write-view--enter row (if node
                                    (ewoc-next todo-write-view--ewoc node)
                                  (ewoc-nth todo-write-view--ewoc 0)))))

(defun todo-write-view--enter-ghosts (removed)
  "Enter a ghost for each unfinished task of REMOVED, where its task was.
REMOVED is a sequence of `removed' changes.  Tasks that were completed or
that the agent cancelled get no ghost."
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
          (todo-write-view--enter (todo-write-view--row item t) node)
          (cl-incf index))))))

(defun todo-write-view--take-out (id)
  "Delete the row of ID, if it exists, and return it."
  (when-let* ((node (gethash id todo-write-view--nodes)))
    (remhash id todo-write-view--nodes)
    (setq todo-write-view--running (delete id todo-write-view--running)
          todo-write-view--waiting (delete id todo-write-view--waiting))
    (prog1 (ewoc-data node)
      (ewoc-delete todo-write-view--ewoc node))))

;;; What changed

(defun todo-write-view--draw-rows (ids &optional around)
  "Draw the rows of IDS that exist; if AROUND, also the header and the footer."
  (let (nodes)
    (dolist (id ids)
      (when-let* ((node (gethash id todo-write-view--nodes)))
        (cl-pushnew node nodes)))
    (apply #'ewoc-invalidate todo-write-view--ewoc nodes))
  (when around
    (todo-write-view--draw-around)))

(defun todo-write-view--draw-around ()
  "Draw the header and the footer."
  (goto-char (point-min))
  (delete-region (point) (line-end-position))
  (todo-write-view--insert-header)
  (let ((footer (todo-write-view--footer)))
    ;; Comparing the text suffices: the faces follow from it.
    (unless (equal footer (cdr (ewoc-get-hf todo-write-view--ewoc)))
      (ewoc-set-hf todo-write-view--ewoc "" footer))))

(defun todo-write-view--draw-changes (changes summary)
  "Draw the rows that CHANGES, a vector, made out of date, and SUMMARY."
  (let ((paused (todo-write-view--paused-p)))
    (setq todo-write-view--summary summary)
    (todo-write-view--flash changes)
    ;; A removed or restored task moves the list of its subagent.
    (when todo-write-view--children
      (setq todo-write-view--children (todo-write-children-by-item todo-write-view-thread)))
    (mapc #'todo-write-view--take-out todo-write-view--ghosts)
    (setq todo-write-view--ghosts nil)
    (todo-write-view--draw-rows
     (append (unless (eq paused (todo-write-view--paused-p))
               todo-write-view--running)
             (todo-write-view--apply changes)
             todo-write-view--waiting)
     t)))

(defun todo-write-view--apply (changes)
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
          ("added" (push (todo-write-view--row item) entering))
          ("removed" (todo-write-view--take-out id) (push change removed))
          ("reordered"
           ;; If the item changed too, that change comes just before.
           (when (equal id (car stale))
             (pop stale))
           (push (todo-write-view--take-out id) entering))
          (_ (setf (todo-write-view--row-item (ewoc-data (gethash id todo-write-view--nodes)))
                   item)
             (push id stale))))
    (mapc #'todo-write-view--enter-in-list (nreverse entering))
    (when removed
      (todo-write-view--enter-ghosts removed))
    stale))

(defun todo-write-view--flash (changes)
  "Let exactly the rows of CHANGES, a vector, flash if a window shows the buffer.
See `todo-write-view--place-flashes'."
  (setq todo-write-view--flash-ticks (1+ (ceiling todo-write-flash-seconds))
        todo-write-view--flashing
        (when (and (> todo-write-flash-seconds 0) (get-buffer-window nil t))
          (mapcar (lambda (change) (plist-get change :itemId)) changes))))

(defun todo-write-view--place-flashes ()
  "Highlight the rows that flash, and no others."
  (let ((spare todo-write-view--flashes))
    (dolist (id todo-write-view--flashing)
      (when-let* ((start (todo-write-view--start id))
                  (overlay (or (pop spare) (todo-write-view--make-flash))))
        (goto-char start)
        (move-overlay overlay start (line-beginning-position 2))))
    (mapc #'delete-overlay spare)))

(defun todo-write-view--make-flash ()
  "Return a new overlay for a row that flashes."
  (let ((overlay (make-overlay 1 1)))
    (overlay-put overlay 'face 'todo-write-flash)
    (push overlay todo-write-view--flashes)
    overlay))

(provide 'todo-write-view-draw)
;;; todo-write-view-draw.el ends here
