;;; todo-write-view.el --- The live buffer of a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `M-x todo-write-show' shows the plan of an agent in `*efrit-todos*' and
;; keeps it up to date:
;;
;;     (global-set-key (kbd "C-c t") #'todo-write-show)
;;
;; `?' shows the commands.  The text is an ewoc with a node for each task, found by
;; the id of the task: after a write or an edit only the rows that changed are
;; drawn.  The commands that edit are in todo-write-edit.el.

;;; Code:

(require 'cl-lib)
(require 'ewoc)
(require 'seq)
(require 'subr-x)
(require 'text-property-search)
(require 'todo-write)
(require 'todo-write-children)
(require 'todo-write-detail)
(require 'todo-write-fold)
(require 'todo-write-footer)
(require 'todo-write-menu)
(require 'todo-write-page)
(require 'todo-write-place)
(require 'todo-write-row)
(require 'todo-write-story)

(autoload 'todo-write-edit-text "todo-write-edit" nil t)
(autoload 'todo-write-edit-add "todo-write-edit" nil t)
(autoload 'todo-write-edit-delete "todo-write-edit" nil t)
(autoload 'todo-write-edit-cycle-status "todo-write-edit" nil t)
(autoload 'todo-write-edit-move-up "todo-write-edit" nil t)
(autoload 'todo-write-edit-move-down "todo-write-edit" nil t)
(autoload 'todo-write-edit-restore "todo-write-edit" nil t)
(autoload 'todo-write-edit-undo "todo-write-edit" nil t)
(autoload 'todo-write-show-diff "todo-write-visit" nil t)
(autoload 'todo-write-tell "todo-write-note" nil t)
(autoload 'todo-write-visit--entry "todo-write-visit")
(autoload 'todo-write-visit--open-file "todo-write-visit")
(autoload 'todo-write-isearch--begin "todo-write-isearch")
(autoload 'todo-write-isearch--hide "todo-write-isearch")
(autoload 'todo-write-isearch--show-occurrence "todo-write-isearch")
(autoload 'todo-write-isearch-occur "todo-write-isearch" nil t)
(autoload 'todo-write-attention--visit-agent-of "todo-write-attention")
(autoload 'todo-write-bookmark--record "todo-write-bookmark")
(autoload 'todo-write-bookmark--desktop "todo-write-bookmark")
(declare-function todo-write-welcome--string "todo-write-welcome")

(defcustom todo-write-view-buffer-name "*efrit-todos*"
  "Name of the buffer that shows a plan live."
  :type 'string
  :group 'todo-write-view
  :package-version '(todo-write . "0.2.0"))

(defcustom todo-write-flash-seconds 1.0
  "Minimum time in seconds that changed rows are highlighted; 0 for never.
The highlight ends when the times are updated next."
  :type 'number
  :group 'todo-write-view
  :package-version '(todo-write . "0.2.0"))

(defcustom todo-write-view-follow t
  "Non-nil means that windows follow the task in progress until you move there."
  :type 'boolean
  :group 'todo-write-view
  :package-version '(todo-write . "0.2.0"))

(defcustom todo-write-view-fold-completed 'auto
  "When successive completed tasks collapse to a count."
  :type '(choice (const :tag "If the list is longer than its window" auto)
                 (const :tag "Always" t)
                 (const :tag "Never" nil))
  :group 'todo-write-view
  :package-version '(todo-write . "0.2.0"))

;;; State

(defvar-local todo-write-view--running nil
  "Ids of the tasks in progress.")

(defvar-local todo-write-view--open nil
  "Ids of the rows that show their detail, and what is open below the rows.
See `todo-write-footer'.")

(defvar-local todo-write-view--whole nil
  "Keys of the entries that are shown in full.")

(defvar-local todo-write-view--earlier nil
  "Ids of the rows that show their earlier entries, too.")

(defvar-local todo-write-view--searching nil
  "Non-nil while Isearch searches this buffer, closed and cut text included.")

(defvar-local todo-write-view--ghosts nil
  "Ids of dropped tasks, whose rows the next change removes.")

(defvar-local todo-write-view--dropped nil
  "The tasks that the agent dropped; see `todo-write-items-dropped'.")

(defvar-local todo-write-view--cleared nil
  "The completed tasks that left the list; see `todo-write--items-cleared'.")

(defvar-local todo-write-view--lists nil
  "The earlier lists; see `todo-write--earlier-lists'.")

(defvar-local todo-write-view--outside nil
  "Description of the work outside any task; see `todo-write-footer--outside'.")

(defvar-local todo-write-view--work nil
  "The numbers of lines that the agent added and removed, a list, or nil.")

(defvar-local todo-write-view--message nil
  "The newest thing that the agent said, a string, or nil.")

(defvar-local todo-write-view--header nil
  "What the header shows, (SUMMARY WIDTH WORK AGENT), or nil before it is drawn.")

(defvar-local todo-write-view--host nil
  "Text that names the machine of the agent, or nil for this one.")

(defvar-local todo-write-view--flashing nil
  "The changes whose rows flash, a vector, or nil.")

(defvar-local todo-write-view--flashes nil
  "The overlays on rows that flash, and deleted ones for later use.")

(defvar-local todo-write-view--flash-ticks nil
  "Number of ticks of the timer until the flash ends.")

(defvar-local todo-write-view--blocked nil
  "Ids of the rows of tasks that wait for other tasks.")

(defvar-local todo-write-view--children nil
  "Alist of item ids and the keys of their subagents' threads.
The id nil has the threads without a row in this buffer.")

(defvar-local todo-write-view--summary nil
  "The `todo-write-summary' of the thread when the buffer was last drawn.")

(defvar-local todo-write-view--drawn nil
  "Number of the revision that the rows show, or nil while they are drawn.")

(defvar todo-write-view--times nil
  "While the whole buffer is drawn, a hash table from item id to times.
It also has the figures of items with work, by (ID).
See `todo-write-times' and `todo-write--row-work'.  If another Emacs
holds the journal, each call of the module looks at the file.")

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
              (list 'todo-write-id id 'todo-write-stop t 'mouse-face (list 'highlight)
                    'help-echo #'todo-write-view--help))
    category))

(defun todo-write-view--help (_window buffer position)
  "Return the full text of the row at POSITION of BUFFER."
  (with-current-buffer buffer
    (when-let* ((node (todo-write-view--node-at position))
                (item (todo-write-view--row-item (ewoc-data node))))
      (todo-write-row--help (todo-write-row--text item (todo-write-row--kind item))))))

(defun todo-write-view--paused-p ()
  "Return non-nil if the thread was paused when last drawn."
  (eq (plist-get todo-write-view--summary :state) 'paused))

(defun todo-write-view--current-id ()
  "Return the id of the task that was in progress when last drawn, or nil."
  (plist-get (plist-get todo-write-view--summary :current) :id))

(defun todo-write-view--node-at (position)
  "Return the ewoc node of the row at POSITION, or nil."
  (gethash (get-text-property position 'todo-write-id) todo-write-place--nodes))

(defun todo-write-view--set-scale ()
  "Set `todo-write-row--scale' for the font of the buffer."
  (let ((window (and face-remapping-alist (get-buffer-window nil t))))
    (setq-local todo-write-row--scale
                (if (and window (display-graphic-p (window-frame window)))
                    (/ (float (window-font-width window))
                       (frame-char-width (window-frame window)))
                  1))))

;;; Text

(defun todo-write-view--print (row)
  "Insert ROW; the printer of the ewoc."
  (let* ((id (todo-write-view--row-id row))
         (item (todo-write-view--row-item row))
         (ghost (todo-write-view--row-ghost row))
         (kind (if ghost 'removed (todo-write-row--kind item (todo-write-view--paused-p)))))
    (todo-write-row--insert item kind (unless ghost (todo-write-view--spent id))
                           todo-write-page--width nil
                           (unless ghost (todo-write-view--note id item))
                           (unless ghost (todo-write-view--row-work id))
                           (todo-write-view--row-category row))
    (todo-write-view--insert-below id item)
    (if (memq kind '(in_progress paused))
        (cl-pushnew id todo-write-view--running :test #'equal)
      (setq todo-write-view--running (delete id todo-write-view--running)))))

(defun todo-write-view--spent (id)
  "Return how long the task ID was in progress, in milliseconds, or nil."
  (if todo-write-view--times
      (plist-get (gethash id todo-write-view--times) :spent)
    (todo-write--spent todo-write-view-thread id)))

(defun todo-write-view--row-work (id)
  "Return the figures of the work of the row of ID, or nil."
  (if todo-write-view--times
      (gethash (list id) todo-write-view--times)
    (todo-write--row-work todo-write-view-thread id)))

(defun todo-write-view--note (id item)
  "Return the note of the row of ITEM, whose id is ID, or nil."
  (let ((blocked (plist-get item :blockedBy)))
    (if blocked
        (cl-pushnew id todo-write-view--blocked :test #'equal)
      (setq todo-write-view--blocked (delete id todo-write-view--blocked)))
    (todo-write-row--note
     item (and blocked
               (mapcar #'todo-write-view--row-item
                       (ewoc-collect todo-write-place--ewoc
                                     (lambda (row) (not (todo-write-view--row-ghost row))))))
     todo-write-view--summary)))

(defun todo-write-view--insert-below (id item)
  "Insert the lines below the row of ITEM, whose id is ID."
  (let ((open (member id todo-write-view--open))
        (children (cdr (assoc id todo-write-view--children)))
        (start (point)))
    (todo-write-row--if-open open (cons 'open id)
      (insert (todo-write-detail--string todo-write-view-thread item
                                        todo-write-page--width))
      (todo-write-story--insert todo-write-view-thread id todo-write-page--width
                               todo-write-view--whole (member id todo-write-view--earlier)))
    (todo-write-children--insert children todo-write-page--width open)
    (put-text-property start (point) 'todo-write-id id)))

(defun todo-write-view--draw-header ()
  "Draw the header if it changed, and show the count in the mode line."
  (let* ((summary todo-write-view--summary)
         (width todo-write-page--width)
         (work todo-write-view--work)
         (agent (and todo-write-view-thread (todo-write-view--agent-line)))
         (drawn todo-write-view--header))
    ;; Every write comes here, so this makes no list to compare.
    (if (and drawn (equal width (nth 1 drawn)) (equal work (nth 2 drawn))
             (equal agent (nth 3 drawn))
             (todo-write-row--update-header summary (car drawn)))
        (setcar drawn summary)
      ;; The newline after it stays, since the rows begin there.
      (goto-char (point-min))
      (delete-region (point) (+ (point) todo-write-place--header-length))
      (todo-write-row--insert-header summary width nil work)
      (when agent
        (insert "\n" (todo-write-row--truncate (concat " " agent) width)))
      (when-let* ((refused (plist-get summary :refused)))
        (insert "\n" (todo-write-row--truncate
                      (propertize (concat " the last list was refused: "
                                          (todo-write-row-line refused))
                                  'face 'todo-write-paused)
                      width)))
      (setq todo-write-view--header (list summary width work agent)
            todo-write-place--header-length (- (point) (point-min))))
    (cond ((memq (plist-get summary :state) '(nil empty))
           (setq mode-line-process nil))
          (mode-line-process
           (setcar (cdr mode-line-process) (todo-write-row--count summary)))
          (t (setq mode-line-process (list " " (todo-write-row--count summary)))))))

(defun todo-write-view--agent-line ()
  "Return what the agent does, since when, and what it said last, or nil."
  (let ((activity (todo-write-view--activity)))
    ;; Each write asks, and most plans have no such line.
    (when (or todo-write-view--host activity todo-write-view--message)
      (string-join (delq nil (list todo-write-view--host activity
                                   (todo-write-view--quote todo-write-view--message)))
                   (propertize (format " %s " (todo-write-row--shape 'dot))
                               'face 'todo-write-detail)))))

(defun todo-write-view--read-host (thread)
  "Return text that names the machine of THREAD's agent, or nil for this one."
  (when-let* ((host (todo-write-remote--host
                     thread (plist-get (todo-write-about thread) :project))))
    (propertize (concat "on " (todo-write-row-line host)) 'face 'todo-write-detail)))

(defun todo-write-view--activity ()
  "Return the activity of the agent, since when and why, or nil if idle.
For a plan that is paused, return the reason."
  (pcase-let* ((`(,activity . ,reason) (todo-write-activity todo-write-view-thread))
               (since (todo-write-activity-since todo-write-view-thread))
               (age (and since (todo-write-row--age (/ since 1000))))
               (age (if (member age '(nil "now")) "" (concat " " age)))
               (reason (and reason (concat ": " (todo-write-row-line reason)))))
    (pcase activity
      ('working (propertize (concat "working" age) 'face 'todo-write-detail))
      ('waiting (propertize (concat "waits for you" age reason) 'face 'todo-write-paused))
      ('failed (propertize (concat "failed" age reason) 'face 'todo-write-failed))
      (_ (when-let* ((reason (plist-get todo-write-view--summary :reason)))
           (propertize (todo-write-row-line reason) 'face 'todo-write-detail))))))

(defun todo-write-view--quote (text)
  "Return TEXT, what the agent said, or nil, in quotes as a line."
  (when text
    (propertize (concat (todo-write-row--shape 'quote) text (todo-write-row--shape 'unquote))
                'face 'todo-write-said 'help-echo (todo-write-row--help text))))

(defun todo-write-view--newest-message (thread)
  "Return what the agent of THREAD said last as a line, or nil."
  (let* ((found (todo-write-observations thread :type "MESSAGE" :limit 1))
         (content (and (> (length found) 0) (plist-get (aref found 0) :content)))
         (text (if (consp content) (plist-get content :text) content)))
    (when (and (stringp text) (not (string-blank-p text)))
      (todo-write-story--unmark (todo-write-row-line text 400)))))

(defun todo-write-view--read-work ()
  "Read what the agent said and did, for the header and the last line."
  (let ((thread todo-write-view-thread))
    (setq todo-write-view--message (and thread (todo-write-view--newest-message thread))
          todo-write-view--host (and thread (todo-write-view--read-host thread))
          todo-write-view--work (and thread (todo-write-view--lines thread))
          todo-write-view--outside (and thread (todo-write-footer--outside thread)))))

(defun todo-write-view--lines (thread)
  "Return the numbers of lines added and removed by the agent of THREAD, or nil."
  (when-let* ((work (todo-write-work thread)))
    (list (plist-get work :added) (plist-get work :removed))))

(defun todo-write-view--read-lists ()
  "Read the tasks that left the list, and the earlier lists."
  (let ((thread todo-write-view-thread))
    (setq todo-write-view--dropped (and thread (todo-write-items-dropped thread))
          todo-write-view--cleared (and thread (todo-write--items-cleared thread))
          todo-write-view--lists (and thread (todo-write--earlier-lists thread)))))

(defun todo-write-view--footer ()
  "Return the text below the rows.
It has a note if there are no tasks, the lists of subagents that belong
to no row, and what the rows do not show; see `todo-write-footer'."
  (concat
   (pcase (and (< 0 (or (plist-get todo-write-view--summary :revision) 0))
               (plist-get todo-write-view--summary :state))
     ('nil (require 'todo-write-welcome)
          (todo-write-welcome--string))
     ('empty (propertize " The list is empty.\n" 'face 'todo-write-detail)))
   (when-let* ((children (cdr (assoc nil todo-write-view--children)))
               (width todo-write-page--width))
     (todo-write-row--string (todo-write-children--insert children width)))
   (let ((dropped (todo-write-view--dropped-before)))
     (when (or dropped todo-write-view--cleared todo-write-view--lists
               todo-write-view--outside)
       (let ((footer (todo-write-footer--make
                      :dropped dropped
                      :cleared todo-write-view--cleared
                      :lists todo-write-view--lists
                      :outside todo-write-view--outside
                      :open todo-write-view--open
                      :whole todo-write-view--whole
                      :earlier todo-write-view--earlier))
             (thread todo-write-view-thread)
             (width todo-write-page--width))
         (todo-write-row--string (todo-write-footer--insert footer thread width)))))))

(defun todo-write-view--dropped-before ()
  "Return the dropped tasks that have no row any more."
  (and todo-write-view--dropped
       (seq-remove (lambda (item) (member (plist-get item :id) todo-write-view--ghosts))
                   todo-write-view--dropped)))

;;; The whole buffer

(defun todo-write-view--draw-all ()
  "Draw the whole buffer from the store."
  (let ((thread todo-write-view-thread))
    (todo-write-view--set-scale)
    (setq todo-write-page--width (todo-write-page--fitting-width)
          todo-write-view--summary (and thread (todo-write-summary thread))
          todo-write-view--children (and thread (todo-write-children--by-item thread))
          todo-write-view--ghosts nil
          todo-write-view--header nil
          todo-write-place--header-length 0
          todo-write-view--running nil
          todo-write-view--blocked nil)
    (todo-write-view--read-work)
    (todo-write-view--read-lists)
    (todo-write-view--release-markers)
    (erase-buffer)
    (clrhash todo-write-place--nodes)
    (insert "\n")
    (todo-write-view--draw-header)
    (goto-char (point-max))
    (setq todo-write-place--ewoc (ewoc-create #'todo-write-view--print
                                              "" (todo-write-view--footer) t))
    (when thread
      ;; Thousands of rows would otherwise cause many garbage collections.
      (let ((gc-cons-threshold (max gc-cons-threshold (* 64 1024 1024)))
            (todo-write-view--times (make-hash-table :test #'equal)))
        (pcase-dolist (`(,id . ,times) (todo-write-times thread))
          (puthash id times todo-write-view--times))
        (pcase-dolist (`(,id . ,figures) (todo-write--row-work thread))
          (puthash (list id) figures todo-write-view--times))
        (seq-doseq (item (todo-write-items thread))
          (todo-write-view--enter (todo-write-view--row item)))
        (when (todo-write-view--enter-ghosts (todo-write-view--last-removed))
          (ewoc-set-hf todo-write-place--ewoc "" (todo-write-view--footer)))
        ;; A task can wait for tasks below it.
        (todo-write-view--draw-rows todo-write-view--blocked)))))

(defun todo-write-view--release-markers ()
  "Release the markers of all rows, which would slow down every insertion."
  (let (markers)
    (maphash (lambda (_ node) (push (ewoc-location node) markers)) todo-write-place--nodes)
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
               (ewoc-enter-before todo-write-place--ewoc node row)
             (ewoc-enter-last todo-write-place--ewoc row))
           todo-write-place--nodes))

(defun todo-write-view--enter-in-list (row)
  "Enter ROW at the position of its task in the current list.
All rows before it must be in place already."
  (let* ((previous (todo-write--previous-id todo-write-view-thread
                                            (todo-write-view--row-id row)))
         (node (and previous (gethash previous todo-write-place--nodes))))
    (todo-write-view--enter row (if node
                                    (ewoc-next todo-write-place--ewoc node)
                                  (ewoc-nth todo-write-place--ewoc 0)))))

(defun todo-write-view--enter-ghosts (removed)
  "Enter a ghost for each unfinished task of REMOVED, where its task was.
REMOVED is a sequence of `removed' changes.  Tasks that were completed or
that the agent cancelled get no ghost.  Return the ids of the ghosts."
  (let ((node (ewoc-nth todo-write-place--ewoc 0))
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
            (setq node (ewoc-next todo-write-place--ewoc node))
            (cl-incf index))
          (push (plist-get item :id) todo-write-view--ghosts)
          (todo-write-view--enter (todo-write-view--row item t) node)
          (cl-incf index)))))
  todo-write-view--ghosts)

(defun todo-write-view--take-out (id)
  "Delete the row of ID, if it exists, and return it."
  (when-let* ((node (gethash id todo-write-place--nodes)))
    (remhash id todo-write-place--nodes)
    (setq todo-write-view--running (delete id todo-write-view--running)
          todo-write-view--blocked (delete id todo-write-view--blocked))
    (prog1 (ewoc-data node)
      (ewoc-delete todo-write-place--ewoc node))))

;;; What changed

(defun todo-write-view--draw-rows (ids &optional around)
  "Draw the rows of IDS that exist; if AROUND, also the header and the footer."
  (let (nodes)
    (dolist (id ids)
      (when-let* ((node (gethash id todo-write-place--nodes)))
        (cl-pushnew node nodes)))
    (apply #'ewoc-invalidate todo-write-place--ewoc nodes))
  (when around
    (todo-write-view--draw-around)))

(defun todo-write-view--draw-around ()
  "Draw the header and the footer."
  (todo-write-view--draw-header)
  (let ((footer (todo-write-view--footer)))
    ;; Comparing the text suffices: the faces follow from it.
    (unless (equal footer (cdr (ewoc-get-hf todo-write-place--ewoc)))
      (ewoc-set-hf todo-write-place--ewoc "" footer))))

(defun todo-write-view--draw-changes (changes summary)
  "Draw the rows that CHANGES, a vector, made out of date, and SUMMARY."
  (let ((paused (todo-write-view--paused-p))
        (yours (plist-get todo-write-view--summary :yours)))
    (setq todo-write-view--summary summary)
    ;; Most writes add and drop nothing.
    (when (cl-loop for change across changes
                   thereis (member (plist-get change :type) '("added" "removed")))
      (todo-write-view--read-lists))
    (todo-write-view--flash changes)
    ;; A removed or restored task moves the list of its subagent.
    (when todo-write-view--children
      (setq todo-write-view--children (todo-write-children--by-item todo-write-view-thread)))
    (mapc #'todo-write-view--take-out todo-write-view--ghosts)
    (setq todo-write-view--ghosts nil)
    (todo-write-view--draw-rows
     (append (unless (eq paused (todo-write-view--paused-p))
               todo-write-view--running)
             (todo-write-view--apply changes)
             (unless (eql yours (plist-get summary :yours))
               (todo-write-view--update-yours))
             todo-write-view--blocked)
     t)))

(defun todo-write-view--update-yours ()
  "Update the items of the user's rows, and return their ids.
Whether the agent was told of a task is no change of the task."
  (let (ids)
    (maphash (lambda (id node)
               (let ((row (ewoc-data node)))
                 (when-let* (((equal (plist-get (todo-write-view--row-item row) :addedBy) "user"))
                             (item (todo-write-item todo-write-view-thread id)))
                   (setf (todo-write-view--row-item row) item)
                   (push id ids))))
             todo-write-place--nodes)
    ids))

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
          (_ (setf (todo-write-view--row-item (ewoc-data (gethash id todo-write-place--nodes)))
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
        (and (> todo-write-flash-seconds 0) (get-buffer-window nil t) changes)))

(defun todo-write-view--place-flashes ()
  "Highlight the rows that flash, and no others."
  (let ((spare todo-write-view--flashes))
    (cl-loop for change across (or todo-write-view--flashing [])
             for start = (todo-write-place--start (plist-get change :itemId))
             when start
             do (goto-char start)
             (move-overlay (or (pop spare) (todo-write-view--make-flash))
                           start (line-beginning-position 2)))
    (mapc #'delete-overlay spare)))

(defun todo-write-view--make-flash ()
  "Return a new overlay for a row that flashes."
  (let ((overlay (make-overlay 1 1)))
    (overlay-put overlay 'face 'todo-write-flash)
    (push overlay todo-write-view--flashes)
    overlay))

;;; Folds

(defun todo-write-view--update-folds (windows)
  "Update the folds for WINDOWS."
  (todo-write-fold--update
   (and todo-write-view-thread
        (todo-write-fold--wanted-p
         todo-write-view-fold-completed
         (+ 2 (or (plist-get todo-write-view--summary :total) 0)) windows)
        (cl-loop for (first last . count)
                 in (todo-write--completed-runs todo-write-view-thread
                                                todo-write-fold--least todo-write-fold--most
                                                (todo-write-view--breaks))
                 for start = (todo-write-place--start first)
                 for end = (todo-write-place--start last)
                 ;; If an event function wrote meanwhile, the store is newer than the rows.
                 when (and start end (< start end))
                 collect `(,start ,end . ,(1- count))))))

(defun todo-write-view--breaks ()
  "Return the ids of tasks that must not be folded.
Those are open rows, rows with a subagent's list, and rows after a ghost."
  (append (seq-filter #'stringp todo-write-view--open)
          (delq nil (mapcar #'car todo-write-view--children))
          (cl-loop for id in todo-write-view--ghosts
                   for node = (gethash id todo-write-place--nodes)
                   for next = (and node (ewoc-next todo-write-place--ewoc node))
                   when next collect (todo-write-view--row-id (ewoc-data next)))))

;;; Staying and following

(defun todo-write-view--keep-places (draw &rest args)
  "Call DRAW, a function, with ARGS; keep point, mark and all windows in place.
Windows that follow the task in progress go to it."
  (save-restriction
    ;; Rows outside a narrowed region change, too.
    (widen)
    (let* ((windows (get-buffer-window-list nil nil t))
           (current (todo-write-view--current-id))
           (following (and todo-write-view-follow
                           (cl-loop for window in windows
                                    when (todo-write-place--following-p window current)
                                    collect window)))
           (inhibit-read-only t)
           ;; A row that is half drawn cannot be redrawn.
           (inhibit-quit t)
           (inhibit-modification-hooks t)
           (todo-write-row--searching todo-write-view--searching))
      (todo-write-place--keep windows #'todo-write-view--draw-parts draw args)
      (restore-buffer-modified-p nil)
      ;; Hidden lines have no place in a window.
      (unless todo-write-row--searching
        (dolist (window following)
          (todo-write-place--follow window (todo-write-view--current-id)))))))

(defun todo-write-view--draw-parts (windows draw args)
  "Call DRAW with ARGS, and draw what depends on the rows in WINDOWS."
  (apply draw args)
  (when todo-write-row--searching
    (todo-write-isearch--hide))
  (todo-write-view--update-folds windows)
  (todo-write-view--place-flashes))

;;; The mode

(defvar todo-write-view--buffers nil
  "The buffers in `todo-write-view-mode'.")

(defvar todo-write-view-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "n" #'todo-write-view-next)
    (define-key map "p" #'todo-write-view-previous)
    (define-key map [mouse-1] #'todo-write-view-mouse-visit)
    (define-key map [remap undo] #'todo-write-edit-undo)
    (define-key map [remap occur] #'todo-write-isearch-occur)
    map)
  "Keymap of `todo-write-view-mode'.")

(todo-write-menu-define 'todo-write-view-mode todo-write-view-mode-map "Plan"
  `(("Task"
     ("RET" "Visit or open" todo-write-view-visit)
     ("TAB" "Open or fold" todo-write-view-toggle)
     ("=" "Diff" todo-write-show-diff)
     ("t" "Next status" todo-write-edit-cycle-status)
     ("e" "Edit text" todo-write-edit-text)
     ("+" "Add one after it" todo-write-edit-add)
     ("k" "Delete" todo-write-edit-delete)
     ("R" "Restore a dropped one" todo-write-edit-restore)
     ("M-<up>" "Move up" todo-write-edit-move-up)
     ("M-<down>" "Move down" todo-write-edit-move-down)
     ("u" "Undo" todo-write-edit-undo))
    ("Look"
     ("." "Go to the task in progress" todo-write-view-to-current)
     ("<" "First" todo-write-view-first)
     (">" "Last" todo-write-view-last)
     ("<backtab>" "Open or close all" todo-write-view-toggle-all)
     ("d" "Fold or unfold completed" todo-write-view-toggle-fold)
     ("^" "Parent" todo-write-view-to-parent)
     ("o" "The agent's own buffer" todo-write-view-visit-agent)
     ("S" "Tell the agent…" todo-write-tell)
     ("g" "Refresh" revert-buffer))
    . ,todo-write-menu-common))

(define-derived-mode todo-write-view-mode special-mode "Plan"
  "Major mode of the buffer that shows an agent's plan live.

Each task is a row: \\=✓ completed, \\=● in progress, \\=○ pending, \\=‖ paused
and \\=✗ gone before it was completed.

\\{todo-write-view-mode-map}"
  :interactive nil
  (todo-write-menu-begin-mode)
  (todo-write-page--set-up #'todo-write-view-refresh #'todo-write-view--fit)
  ;; Lines are short: finding their ends is faster than a cache of them.
  (setq-local cache-long-scans nil
              todo-write-place--nodes (make-hash-table :test #'equal)
              imenu-create-index-function #'todo-write-view--imenu-index
              outline-regexp " [^ \t\n] "
              outline-level (lambda () 1)
              bookmark-make-record-function #'todo-write-bookmark--record
              desktop-save-buffer #'todo-write-bookmark--desktop
              ;; Emacs 28 never forgets an `add-hook' with a depth.
              context-menu-functions (list t #'todo-write-menu--context))
  ;; The lines of Occur lead to hidden text, which stays.
  (add-function :filter-return (local 'filter-buffer-substring-function)
                #'todo-write-row--without-hidden)
  (cl-pushnew (current-buffer) todo-write-view--buffers)
  (add-hook 'todo-write--event-functions #'todo-write-view--on-event)
  ;; Deleting the narrowest window changes the size of no other one.
  (add-hook 'window-configuration-change-hook #'todo-write-view--fit nil t)
  (dolist (hook '(text-scale-mode-hook display-line-numbers-mode-hook buffer-face-mode-hook))
    (add-hook hook #'todo-write-view--fit-shown nil t))
  (add-hook 'isearch-mode-hook #'todo-write-isearch--begin nil t)
  (add-hook 'isearch-update-post-hook #'todo-write-view--unfold-found nil t)
  (add-hook 'occur-mode-find-occurrence-hook #'todo-write-isearch--show-occurrence nil t)
  (add-hook 'imenu-after-jump-hook #'todo-write-view--unfold-here nil t)
  (add-hook 'kill-buffer-hook #'todo-write-view--stop-following nil t)
  (add-hook 'change-major-mode-hook #'todo-write-view--stop-following nil t))

;; A clone would have the rows of this buffer, not its own.
(put 'todo-write-view-mode 'no-clone t)
(put 'todo-write-view-mode 'no-clone-indirect t)

;;; Following the store

(defvar todo-write-view--timer nil
  "Timer that updates times and ends flashes, or nil.")

(defvar todo-write-view--event-timer nil
  "Timer that redraws open rows, or nil.")

(defun todo-write-view--stop-following ()
  "Stop following the store with the current buffer."
  (setq todo-write-view--buffers (delq (current-buffer) todo-write-view--buffers))
  (mapc #'delete-overlay todo-write-view--flashes)
  (unless (todo-write-view--live-buffers)
    (remove-hook 'todo-write--event-functions #'todo-write-view--on-event)
    (when todo-write-view--event-timer
      (cancel-timer todo-write-view--event-timer)
      (setq todo-write-view--event-timer nil)))
  (todo-write-view--set-timer))

(defun todo-write-view--live-buffers ()
  "Return the buffers in `todo-write-view-mode'."
  ;; Temporary buffers are killed without running their hooks.
  (unless (cl-every #'buffer-live-p todo-write-view--buffers)
    (setq todo-write-view--buffers (seq-filter #'buffer-live-p todo-write-view--buffers)))
  todo-write-view--buffers)

(defmacro todo-write-view--in-buffers (condition &rest body)
  "Run BODY in each buffer in which CONDITION, a form, returns non-nil."
  (declare (indent 1) (debug t))
  `(dolist (buffer (todo-write-view--live-buffers))
     (with-current-buffer buffer
       (when ,condition
         ,@body))))

(defun todo-write-view--draw (&optional changes summary)
  "Draw the rows that CHANGES made out of date, or without it the whole buffer.
CHANGES is a vector of change plists that led to SUMMARY."
  ;; If this fails half way, the next change draws the whole buffer.
  (setq todo-write-view--drawn nil)
  (if changes
      (todo-write-view--keep-places #'todo-write-view--draw-changes changes summary)
    (todo-write-view--keep-places #'todo-write-view--draw-all))
  (setq todo-write-view--drawn (plist-get todo-write-view--summary :revision))
  (todo-write-view--set-timer))

(defun todo-write-view--redraw (ids &optional around)
  "Draw the rows of IDS; if AROUND is non-nil, also the header and the footer."
  (todo-write-view--keep-places #'todo-write-view--draw-rows ids around)
  (todo-write-view--set-timer))

(defun todo-write-view--for-p (thread)
  "Return non-nil if the current buffer shows THREAD.
A buffer without a thread adopts THREAD, unless that is a subagent's."
  (equal thread (or todo-write-view-thread
                    (unless (todo-write-parent thread)
                      (setq todo-write-view-thread thread)))))

(defun todo-write-view--on-event (thread what data)
  "Draw what the event WHAT of THREAD with DATA affects.
For `todo-write--event-functions'."
  (pcase what
    ('change (todo-write-view--on-change thread data))
    ((or 'state 'activity (and 'observed (guard (member data '("TITLE" "STATE_UPDATE")))))
     (todo-write-view--on-state thread)
     (when (equal data "STATE_UPDATE")
       (todo-write-view--on-observe thread data)))
    ('observed (todo-write-view--on-observe thread data))
    ('forgotten (todo-write-view--on-forget thread))))

(defun todo-write-view--on-change (thread outcome)
  "Draw what OUTCOME of THREAD changed in its buffers."
  (todo-write-view--redraw-for-child thread)
  (todo-write-view--in-buffers (todo-write-view--for-p thread)
    (let* ((drawn todo-write-view--drawn)
           (revision (plist-get outcome :revision))
           (changes (plist-get (plist-get outcome :changes) :changes))
           (summary (todo-write--summary-after thread outcome))
           (current (plist-get summary :revision)))
      (cond ((and drawn (= revision current (1+ drawn))
                  ;; Drawing the whole buffer is faster for many changes.
                  (<= (* 3 (length changes)) (max 200 (plist-get summary :total))))
             (todo-write-view--draw changes summary))
            ;; Another function wrote meanwhile, and that is drawn already.
            ((and (< revision current) (eql drawn current)))
            ;; The buffer has just got its thread, or revisions were missed.
            (t (todo-write-view--draw))))))

(defun todo-write-view--on-state (thread)
  "Draw the header and the running rows of THREAD in its buffers."
  (todo-write-view--redraw-for-child thread)
  (todo-write-view--in-buffers (and todo-write-place--ewoc
                                    (equal todo-write-view-thread thread))
    (let ((yours (plist-get todo-write-view--summary :yours)))
      (setq todo-write-view--summary (todo-write-summary thread))
      (todo-write-view--redraw
       (append todo-write-view--running
               (unless (eql yours (plist-get todo-write-view--summary :yours))
                 (todo-write-view--update-yours)))
       t))))

(defun todo-write-view--on-forget (thread)
  "Draw the buffers that showed THREAD, which was forgotten."
  (todo-write-view--in-buffers (or (equal todo-write-view-thread thread)
                                   (seq-some (lambda (entry) (member thread (cdr entry)))
                                             todo-write-view--children))
    (if (equal todo-write-view-thread thread)
        ;; Without a thread, the buffer adopts the next plan.
        (todo-write-view--show-thread nil)
      (todo-write-view--draw))))

(defun todo-write-view--on-observe (thread type)
  "Show an event of THREAD of TYPE in its buffers soon."
  (when (and (not todo-write-view--event-timer)
             (seq-some (lambda (buffer)
                         (and (equal thread (buffer-local-value 'todo-write-view-thread buffer))
                              (member type (if (buffer-local-value 'todo-write-view--open buffer)
                                               todo-write-story--events
                                             ;; What the header and the rows show.
                                             '("MESSAGE" "TOOL_EXECUTION")))))
                       (todo-write-view--live-buffers)))
    ;; An agent can record a hundred events a second.
    (setq todo-write-view--event-timer
          (run-at-time 0.1 nil #'todo-write-view--show-events))))

(defun todo-write-view--show-events ()
  "Draw what the events of the agents have changed."
  (setq todo-write-view--event-timer nil)
  (todo-write-view--in-buffers todo-write-place--ewoc
    (todo-write-view--read-work)
    (todo-write-view--redraw
     (seq-uniq (append (seq-filter #'stringp todo-write-view--open) todo-write-view--running))
     t)))

(defun todo-write-view--redraw-for-child (thread)
  "Draw the rows below which THREAD, a subagent's, is shown."
  (todo-write-view--in-buffers (and todo-write-place--ewoc todo-write-view-thread
                                    (not (equal todo-write-view-thread thread)))
    (when-let* ((ancestor (assoc todo-write-view-thread
                                 (todo-write-children--ancestors thread))))
      (setq todo-write-view--children (todo-write-children--by-item todo-write-view-thread))
      (todo-write-view--redraw (list (cdr ancestor)) t))))

;;; Time and width

(defun todo-write-view--ticking-p (buffer)
  "Return non-nil while rows flash in BUFFER, or a time runs in a visible window."
  (with-current-buffer buffer
    (or todo-write-view--flashing
        (and (or (and todo-write-view--running (not (todo-write-view--paused-p)))
                 (and todo-write-view-thread (todo-write-activity todo-write-view-thread)))
             (get-buffer-window nil 0)))))

(defun todo-write-view--set-timer ()
  "Run the timer if a buffer needs it, else stop it."
  (if (cl-some #'todo-write-view--ticking-p (todo-write-view--live-buffers))
      (unless todo-write-view--timer
        (setq todo-write-view--timer (run-at-time 1 1 #'todo-write-view--tick)))
    (when todo-write-view--timer
      (cancel-timer todo-write-view--timer)
      (setq todo-write-view--timer nil))))

(defun todo-write-view--tick ()
  "Draw the rows whose time runs, and end expired flashes."
  (todo-write-view--in-buffers (todo-write-view--ticking-p (current-buffer))
    (when (and todo-write-view--flashing (= 0 (cl-decf todo-write-view--flash-ticks)))
      (setq todo-write-view--flashing nil))
    (todo-write-view--keep-places
     (lambda ()
       (todo-write-view--draw-rows todo-write-view--running)
       (todo-write-view--draw-header))))
  (todo-write-view--set-timer))

(defun todo-write-view--fit (&optional window)
  "Draw the buffer of WINDOW, by default the selected one, if it does not fit.
This runs with any buffer current when a window begins to show the buffer
or changes its size."
  (with-current-buffer (window-buffer window)
    (if (eql todo-write-page--width (todo-write-page--fitting-width))
        ;; Folds depend on the height.
        (todo-write-view--redraw nil)
      (todo-write-view--draw))))

(defun todo-write-view--fit-shown ()
  "Draw the current buffer again if its font or its line numbers changed."
  (when (get-buffer-window nil t)
    (todo-write-view--draw)))

;;; Showing

;;;###autoload
(defun todo-write-show (&optional thread select action)
  "Show the plan of THREAD and keep it up to date; return its buffer.
THREAD is a key, a string, by default that of the current buffer, else the
newest of the current project, else the one written last.  With a prefix
argument, read it in the minibuffer.

SELECT non-nil, as in interactive use, selects the window.  ACTION is
passed to `display-buffer'."
  (interactive (list (and current-prefix-arg (todo-write-read-thread "Show the plan of: "))
                     t))
  (todo-write--configure)
  (let* ((thread (or thread todo-write-view-thread (todo-write-view--default-thread)))
         ;; It signals for what is no key, before a buffer has it.
         (_ (and thread (todo-write-summary thread)))
         (buffer (get-buffer-create todo-write-view-buffer-name))
         ;; Display it first, so that it is drawn once, for the width of its window.
         (window (display-buffer buffer action)))
    (with-current-buffer buffer
      (unless (derived-mode-p 'todo-write-view-mode)
        (todo-write-view-mode))
      (cond ((not (and todo-write-place--ewoc (equal thread todo-write-view-thread)))
             (todo-write-view--show-thread thread))
            (window
             (todo-write-view--fit window))))
    (when (and select window)
      (select-window window))
    buffer))

(defvar todo-write-view--shown-hook nil
  "Hook run in the buffer of a plan after it shows another one, or none.")

(defun todo-write-view--show-thread (thread)
  "Show THREAD in the current buffer, with point at its first task."
  (setq todo-write-view-thread thread
        todo-write-fold--choice 'option
        todo-write-view--open nil
        todo-write-view--whole nil
        todo-write-view--earlier nil)
  (todo-write-view--draw)
  (todo-write-view--to-first-row)
  (run-hooks 'todo-write-view--shown-hook))

(defun todo-write-view--to-first-row ()
  "Move point to the first row, also in the windows that show the buffer."
  (goto-char (point-min))
  (ignore-errors (todo-write-view-next)) ; There may be no row.
  (dolist (window (get-buffer-window-list nil nil t))
    (set-window-start window (point-min))
    (set-window-point window (point))
    (if todo-write-view-follow
        (todo-write-place--follow window (todo-write-view--current-id))
      (todo-write-place--note window))))

(defun todo-write-view--default-thread ()
  "Return the newest thread of the current project, else the one written last.
The value is a key, or nil.  For a subagent's thread, return that of the
agent that it works for."
  (let* ((current (todo-write-current-thread (todo-write--project)))
         (key (or (and current (todo-write-view--of-project-p current) current)
                  (todo-write--newest-of-project)
                  current
                  (car (todo-write-threads)))))
    (or (caar (last (and key (todo-write-children--ancestors key)))) key)))

(defun todo-write-view--of-project-p (thread)
  "Return non-nil if THREAD belongs to the current project."
  (equal (plist-get (todo-write-about thread) :project) (todo-write--project)))

(defun todo-write-view-refresh (&rest _)
  "Draw the whole buffer again."
  (interactive nil todo-write-view-mode)
  (todo-write-menu--require 'todo-write-view-mode)
  (todo-write-row--forget-shapes)
  ;; Folds contain shapes, too.
  (todo-write-fold--clear)
  (todo-write-view--draw))

;;; Moving and opening

(defun todo-write-view-next (&optional count)
  "Move to the next row; with COUNT, that many rows forward."
  (interactive "p" todo-write-view-mode)
  (todo-write-view--move (or count 1)))

(defun todo-write-view-previous (&optional count)
  "Move to the previous row; with COUNT, that many rows back."
  (interactive "p" todo-write-view-mode)
  (todo-write-view--move (- (or count 1))))

(defun todo-write-view-first ()
  "Move to the first row."
  (interactive nil todo-write-view-mode)
  (goto-char (point-min))
  (todo-write-view--move 1))

(defun todo-write-view-last ()
  "Move to the last row."
  (interactive nil todo-write-view-mode)
  (goto-char (point-max))
  (todo-write-view--move -1))

(defun todo-write-view--move (count)
  "Move point COUNT rows forward, to the start of the row.
A row starts with a blank, so that the cursor does not hide the shape."
  (dotimes (_ (abs count))
    (goto-char (or (todo-write-view--neighbor (> count 0))
                   (user-error (if (> count 0) "No further task" "No task before this one"))))))

(defun todo-write-view--neighbor (forward)
  "Return the next position to stop at, or nil.
If FORWARD is nil, return the previous one.  Stops are the rows and what
can be visited or opened below them.  Folded rows count as one."
  (save-excursion
    (let* ((fold (todo-write-fold--at (point)))
           (from (cond ((not fold) (point))
                       (forward (1- (overlay-end fold)))
                       (t (overlay-start fold))))
           (beyond (lambda (stop) (if forward (> stop from) (< stop from))))
           stop)
      (goto-char from)
      (while (and (not (setq stop (seq-find beyond (todo-write-view--stops forward))))
                  (= 0 (forward-line (if forward 1 -1)))
                  (not (eobp))))
      (let ((fold (and stop (todo-write-fold--at stop))))
        (if fold (overlay-start fold) stop)))))

(defun todo-write-view--stops (forward)
  "Return the positions in this line to stop at; the last first unless FORWARD."
  (let ((position (line-beginning-position)) stops)
    (while (< position (line-end-position))
      (when (and (get-text-property position 'todo-write-stop) (not (invisible-p position)))
        (push position stops))
      (setq position (next-single-property-change position 'todo-write-stop nil
                                                  (line-end-position))))
    (if forward (nreverse stops) stops)))

(defun todo-write-view--id-at-point ()
  "Return the id of the task at point.
Signal a `user-error' if there is none, if it was dropped or is folded, or
in the list of a subagent, whose lines have the id of the task above."
  (let ((id (get-text-property (point) 'todo-write-id)))
    (cond ((not (derived-mode-p 'todo-write-view-mode))
           (user-error "This works in the buffer that `todo-write-show' shows"))
          ((null id)
           (user-error (if (> (hash-table-count todo-write-place--nodes) 0)
                           "No task here; n and p move between tasks"
                         "The list is empty; + adds a task")))
          ((member id todo-write-view--ghosts)
           (user-error "This task was %s; R brings it back"
                       (todo-write-detail--departure todo-write-view-thread id)))
          ((todo-write-fold--at (point))
           (user-error "RET unfolds these tasks first"))
          ((get-text-property (point) 'todo-write-subagent)
           (user-error "This is a subagent's list; RET on its title shows it"))
          (t id))))

(defun todo-write-view--on-row-p (position)
  "Return non-nil if POSITION is on the line of a task, not on what is below it."
  (when-let* ((node (todo-write-view--node-at position)))
    (eq (get-text-property position 'category)
        (todo-write-view--row-category (ewoc-data node)))))

(defun todo-write-view--goto (id)
  "Move point to the row of the task ID; return nil if there is none."
  (when-let* ((start (todo-write-place--start id)))
    (goto-char start)))

(defun todo-write-view--goto-any (id)
  "Move point to the task ID, which may have left the list.
Unfold it, and widen if it is outside the narrowed region.  Return nil if
the plan does not show it."
  (when-let* ((position (save-restriction
                          (widen)
                          (or (todo-write-view--goto id) (todo-write-view--goto-former id)))))
    (unless (and (<= (point-min) position) (< position (point-max)))
      (widen))
    (goto-char position)
    (todo-write-view--unfold-here)
    position))

(defun todo-write-view--goto-former (id)
  "Move point to the line of the task ID, which left the list.
Open what it is in.  Return nil if there is no such task."
  (let ((list (seq-find (lambda (list)
                          (todo-write-view--has-p
                           (todo-write--earlier-items todo-write-view-thread list) id))
                        todo-write-view--lists))
        (dropped (todo-write-view--has-p (todo-write-view--dropped-before) id)))
    (when (or list dropped (todo-write-view--has-p todo-write-view--cleared id))
      (setq todo-write-view--open
            (seq-union todo-write-view--open
                       (cond (list (list 'lists (car list)))
                             (dropped '(dropped))
                             (t '(cleared)))))
      (todo-write-view--redraw nil t)
      (goto-char (todo-write-place--footer-start))
      (when-let* ((match (text-property-search-forward
                          (if dropped 'todo-write-dropped 'todo-write-toggle) id #'equal)))
        (goto-char (prop-match-beginning match))))))

(defun todo-write-view--has-p (items id)
  "Return non-nil if one of ITEMS, a list of plists, has ID."
  (seq-some (lambda (item) (equal id (plist-get item :id))) items))

(defun todo-write-view-to-current ()
  "Move to the task in progress and follow it from now on."
  (interactive nil todo-write-view-mode)
  (unless (todo-write-view--goto-any (todo-write-view--current-id))
    (user-error "No task is in progress"))
  (when (eq (current-buffer) (window-buffer))
    (set-window-point nil (point))
    (todo-write-place--note (selected-window))))

(defun todo-write-view-to-parent ()
  "Show the plan of the agent that this subagent works for."
  (interactive nil todo-write-view-mode)
  (pcase (and todo-write-view-thread
              (car (todo-write-children--ancestors todo-write-view-thread)))
    (`(,parent . ,id) (with-current-buffer (todo-write-show parent t)
                        (todo-write-view--goto-any id)))
    (_ (user-error "This plan's agent works for no other"))))

(defun todo-write-view-visit-agent ()
  "Go to the buffer in which you talk to the agent of this plan.
If it has no buffer, say where the agent runs."
  (interactive nil todo-write-view-mode)
  (todo-write-attention--visit-agent-of
   (or todo-write-view-thread (user-error "There is no plan here yet"))))

(defun todo-write-view-visit ()
  "Visit what is at point: a file, the output of a command, another plan.
On a task, open or close its story; on folded tasks, unfold them."
  (interactive nil todo-write-view-mode)
  (let ((entry (get-text-property (point) 'todo-write-entry))
        (file (get-text-property (point) 'todo-write-file)))
    (cond (file (todo-write-visit--open-file todo-write-view-thread file))
          ((and entry (todo-write-story--call-p entry))
           (todo-write-visit--entry todo-write-view-thread entry))
          (t (todo-write-view-toggle)))))

(defun todo-write-view-toggle ()
  "Open or fold what is at point: a task, an entry, a part of the last line.
On folded tasks, unfold them; on a subagent's list, show that."
  (interactive nil todo-write-view-mode)
  (let ((id (get-text-property (point) 'todo-write-id))
        (entry (get-text-property (point) 'todo-write-entry))
        (child (get-text-property (point) 'todo-write-child))
        (earlier (get-text-property (point) 'todo-write-earlier))
        (part (get-text-property (point) 'todo-write-toggle)))
    (cond (child (todo-write-show child))
          (entry (todo-write-view--toggle-in 'todo-write-view--whole
                                             (todo-write-story--entry-key entry) id))
          (earlier (todo-write-view--toggle-in 'todo-write-view--earlier earlier id))
          (part (todo-write-view--toggle-in 'todo-write-view--open part id))
          ((todo-write-fold--at (point)) (todo-write-view-toggle-fold))
          (t (todo-write-view--toggle (or id (todo-write-view--id-at-point)))))))

(defun todo-write-view--toggle-in (variable element id)
  "Add ELEMENT to the list in VARIABLE, or remove it, and draw the row of ID.
Without ID, draw what is below the rows."
  (set variable (if (member element (symbol-value variable))
                    (remove element (symbol-value variable))
                  (cons element (symbol-value variable))))
  (todo-write-view--redraw (and id (list id)) (not id)))

(defun todo-write-view--toggle (id)
  "Open or close the story of the row of ID."
  (todo-write-view--toggle-in 'todo-write-view--open id id))

(defun todo-write-view-toggle-all ()
  "Open the details of all rows and all below them, or close all if any is open."
  (interactive nil todo-write-view-mode)
  (todo-write-menu--require 'todo-write-view-mode)
  (let ((ids (hash-table-keys todo-write-place--nodes)))
    (setq todo-write-view--open
          (unless todo-write-view--open
            (append ids
                    (and (todo-write-view--dropped-before) '(dropped))
                    (and todo-write-view--cleared '(cleared))
                    (and todo-write-view--outside '(outside))
                    (and todo-write-view--lists
                         (cons 'lists (mapcar #'car todo-write-view--lists)))))
          todo-write-view--whole nil)
    (todo-write-view--redraw ids t)))

(defun todo-write-view-toggle-fold ()
  "Fold or unfold the completed tasks of this buffer.
See `todo-write-view-fold-completed'."
  (interactive nil todo-write-view-mode)
  (todo-write-menu--require 'todo-write-view-mode)
  (setq todo-write-fold--choice (not todo-write-fold--overlays))
  (todo-write-view--redraw nil)
  (unless (or todo-write-fold--overlays (not todo-write-fold--choice))
    (message "No %d successive tasks are completed" todo-write-fold--least)))

(defun todo-write-view--unfold-here ()
  "Show the completed tasks if point is on a folded one."
  (when (todo-write-fold--at (point))
    (setq todo-write-fold--choice nil)
    (todo-write-fold--clear)))

(defun todo-write-view--unfold-found ()
  "Show the completed tasks if Isearch found a folded one.
At the start of the fold, point may be where the search began."
  (when-let* ((fold (todo-write-fold--at (point)))
              ((< (overlay-start fold) (point))))
    (todo-write-view--unfold-here)))

(defun todo-write-view-mouse-visit (event)
  "Visit or open what EVENT clicked on, as `todo-write-view-visit' does."
  (interactive "e" todo-write-view-mode)
  (mouse-set-point event)
  (when (seq-some (lambda (property) (get-text-property (point) property))
                  '(todo-write-id todo-write-child todo-write-toggle todo-write-entry
                    todo-write-earlier todo-write-file))
    (todo-write-view-visit)))

(defun todo-write-view--imenu-index ()
  "Return the tasks, and those of earlier lists, for imenu."
  (append
   (when todo-write-view-thread
     (seq-map (lambda (item)
                (cons (todo-write-row-plain (plist-get item :content))
                      (todo-write-place--start (plist-get item :id))))
              (todo-write-items todo-write-view-thread)))
   (when todo-write-view--lists
     (list (cons "Earlier lists"
                 (seq-mapcat
                  (lambda (list)
                    (mapcar (lambda (item)
                              (list (todo-write-row-plain (plist-get item :content))
                                    (todo-write-place--footer-start)
                                    #'todo-write-view--imenu-former (plist-get item :id)))
                            (todo-write--earlier-items todo-write-view-thread list)))
                  todo-write-view--lists))))))

(defun todo-write-view--imenu-former (_name _position id)
  "Move to the task ID of an earlier list, for imenu."
  (todo-write-view--goto-former id))

(provide 'todo-write-view)
;;; todo-write-view.el ends here
