;;; todo-write-edit.el --- Edit a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The commands of `todo-write-view-mode' that edit.  They act on the row at point or
;; on all rows in the region, but not on what is below a row.  Each makes one edit of
;; each task, which the agent learns of from the result of its next write.

;;; Code:

(require 'todo-write-view-draw)

(defun todo-write-edit--do (function &rest args)
  "Call FUNCTION with ARGS and draw; an error of the store is a `user-error'."
  (prog1 (condition-case err
             (apply function args)
           (todo-write-error (user-error "%s" (todo-write-core-error-text err))))
    (todo-write-redraw)))

(defun todo-write-edit--each (thread items one many operation &rest args)
  "Make the edit OPERATION with ARGS of each of ITEMS of THREAD; say what changed.
ONE is what to say of one item, MANY a format for the number of several."
  (dolist (item items)
    (apply #'todo-write-edit--do #'todo-write-edit thread operation (plist-get item :id) args))
  (deactivate-mark)
  (todo-write-edit--say items one many))

(defun todo-write-edit--say (items one many)
  "Say what edits of ITEMS changed; ONE and MANY are as in `todo-write-edit--each'."
  (if (cdr items)
      (message "%s; u undoes them one by one" (format many (length items)))
    (message "%s; u undoes" one)))

(defun todo-write-edit--items ()
  "Return the items to edit: those with rows in the region, else the one at point."
  (if (not (use-region-p))
      (list (let* ((id (todo-write-view-draw-id-here))
                   (item (or (todo-write-item (todo-write-buffer-own-thread) id)
                             (user-error "This task is gone; g refreshes the list"))))
              (unless (todo-write-view-draw-on-row-p)
                (user-error "This is part of “%s”; the keys that edit work on its own row"
                            (todo-write-text-line (plist-get item :content) 40)))
              item))
    (or (delq nil (mapcar (lambda (id) (todo-write-item (todo-write-buffer-own-thread) id))
                          (todo-write-edit--in-region 'todo-write-id)))
        (user-error "No task in the region"))))

(defun todo-write-edit--in-region (property)
  "Return the ids of tasks that are PROPERTY of their lines in the region."
  (todo-write-buffer-in-region
   (lambda ()
     (when (get-text-property (point) 'todo-write-fold)
       (user-error "RET unfolds these tasks first"))
     (and (or (eq property 'todo-write-dropped) (todo-write-view-draw-on-row-p))
          (get-text-property (point) property)))))

(defun todo-write-edit--position (thread id)
  "Return the position of the task ID in the list of THREAD, from 0, or nil."
  (cl-position id (todo-write-items thread)
               :key (lambda (item) (plist-get item :id)) :test #'equal))

(defun todo-write-edit--read (prompt &optional initial)
  "Read a task's text with PROMPT and INITIAL text; reject an empty one."
  (let ((text (string-trim (read-string prompt initial))))
    (when (string-empty-p text)
      (user-error "A task needs a text"))
    text))

(defun todo-write-edit-text ()
  "Edit the text of the task at point in the minibuffer."
  (interactive nil todo-write-view-mode)
  (let* ((items (todo-write-edit--items))
         (item (if (cdr items) (user-error "Edit one task at a time") (car items)))
         ;; The buffer can show another plan by the time the text is read.
         (thread todo-write-view-thread)
         (old (plist-get item :content))
         (new (todo-write-edit--read "Task: " (todo-write-text-editable old))))
    (unless (equal old new)
      (todo-write-edit--each thread items "Renamed" nil 'rename new))))

(defun todo-write-edit-add ()
  "Add a task after the one at point, else at the end, and move there."
  (interactive nil todo-write-view-mode)
  (let* ((thread (todo-write-buffer-own-thread))
         (id (get-text-property (point) 'todo-write-id))
         (text (todo-write-edit--read "New task: "))
         ;; The agent can write while the text is read.
         (after (and id (todo-write-edit--position thread id)))
         (outcome (todo-write-edit--do #'todo-write-edit thread 'add text
                                       (and after (1+ after)))))
    (when-let* ((added (seq-find (lambda (change) (equal (plist-get change :type) "added"))
                                 (plist-get (plist-get outcome :changes) :changes))))
      (when (equal thread todo-write-view-thread)
        (goto-char (or (todo-write-view-draw-row (plist-get added :itemId)) (point))))
      (todo-write-edit--say nil "Added" nil))))

(defun todo-write-edit-delete ()
  "Delete the task at point, or all tasks in the region."
  (interactive nil todo-write-view-mode)
  (let ((items (todo-write-edit--items)))
    (todo-write-edit--each todo-write-view-thread items
                           (format "Deleted “%s”"
                                   (todo-write-text-line (plist-get (car items) :content) 40))
                           "Deleted %d tasks" 'delete)))

(defun todo-write-edit-cycle-status (&optional choose)
  "Change the status of the task at point to the next one.
The order is pending, in progress, completed, pending.  With a prefix
argument CHOOSE, read the status.  In the region, all tasks get the status
that follows that of the first."
  (interactive "P" todo-write-view-mode)
  (let* ((items (todo-write-edit--items))
         (thread todo-write-view-thread)
         (status (if choose
                     (completing-read "Status: " '("pending" "in progress" "completed") nil t)
                   (pcase (plist-get (car items) :status)
                     ("pending" "in progress")
                     ("in_progress" "completed")
                     (_ "pending"))))
         (value (string-replace " " "_" status)))
    (unless (string-empty-p status)
      (todo-write-edit--each thread items (concat "Now " status) (concat "%d tasks are now " status)
                             'status value))))

(defun todo-write-edit-move-up ()
  "Move the task at point, or those in the region, before the one above."
  (interactive nil todo-write-view-mode)
  (todo-write-edit--move -1))

(defun todo-write-edit-move-down ()
  "Move the task at point, or those in the region, after the one below."
  (interactive nil todo-write-view-mode)
  (todo-write-edit--move 1))

(defun todo-write-edit--move (by)
  "Move the task at point, or those in the region, BY places."
  (let* ((items (todo-write-edit--items))
         ;; The first one moves where none of the others is.
         (ordered (if (> by 0) (reverse items) items))
         (thread todo-write-view-thread)
         (total (length (todo-write-items thread))))
    (dolist (item ordered)
      (let* ((id (plist-get item :id))
             (position (+ (todo-write-edit--position thread id) by)))
        (unless (< -1 position total)
          (user-error (if (< by 0) "This is the first task" "This is the last task")))
        (todo-write-edit--do #'todo-write-edit thread 'move id position)))
    ;; The region can be moved on.
    (setq deactivate-mark nil)
    (todo-write-edit--say
     items
     (format "Moved to %d" (1+ (todo-write-edit--position thread (plist-get (car items) :id))))
     "Moved %d tasks")))

(defun todo-write-edit-restore ()
  "Bring back the dropped task at point, or all in the region.
It is yours then: it stays until you delete it, or the agent completes or
cancels it."
  (interactive nil todo-write-view-mode)
  (let* ((thread (todo-write-buffer-own-thread))
         (ids (if (use-region-p) (todo-write-edit--in-region 'todo-write-dropped)
                (ensure-list (get-text-property (point) 'todo-write-dropped))))
         (items (mapcar (lambda (id) (list :id id)) ids)))
    (cond (ids)
          ((eq 'dropped (get-text-property (point) 'todo-write-toggle))
           (user-error "RET shows the dropped tasks; R restores the one at point"))
          (t (user-error "No dropped task here")))
    (todo-write-edit--each thread items "Restored; it is yours now"
                           "Restored %d tasks, which are yours now" 'restore)
    (goto-char (or (todo-write-view-draw-row (car ids)) (point)))))

(defvar todo-write-edit--may-undo-writes nil
  "The command that undid a write of the agent; repeated, it does not ask again.")

(defun todo-write-edit-undo (&optional mine)
  "Undo the last change of the list, by the agent or by you; say what it was.
Before the first write of the agent, ask.  With a prefix argument MINE,
take back your own last edit, also if the agent has written since."
  (interactive "P" todo-write-view-mode)
  (let* ((thread (todo-write-buffer-own-thread))
         (revision (if mine
                       (seq-find (lambda (revision)
                                   (and (equal (plist-get revision :author) "user")
                                        (not (equal (plist-get revision :operation) "undo"))))
                                 (reverse (todo-write-revisions thread)))
                     (todo-write-edit--undoable thread)))
         (what (and revision (todo-write-edit--description thread revision))))
    (cond (mine
           (apply #'todo-write-edit--do #'todo-write-edit thread
                  (or (and revision (todo-write-edit--inverse thread revision))
                      (user-error "Your last edit no longer stands")))
           (message "Took back %s" what))
          ((or (not (equal (plist-get revision :author) "agent"))
               (and todo-write-edit--may-undo-writes
                    (eq todo-write-edit--may-undo-writes last-command))
               (y-or-n-p (format "Undo %s? " what)))
           (unless (equal revision (todo-write-edit--undoable thread))
             (user-error "The list has changed since; undo again to undo that"))
           (setq todo-write-edit--may-undo-writes
                 (and (equal (plist-get revision :author) "agent") this-command))
           (todo-write-edit--do #'todo-write-undo thread)
           (message "Undid %s" what)))))

(defun todo-write-edit--inverse (thread revision)
  "Return arguments of `todo-write-edit' that take back REVISION of THREAD, or nil."
  (let* ((change (car (append (todo-write-edit--changes thread revision) nil)))
         (id (plist-get change :itemId))
         (previous (plist-get change :previousItem))
         (item (todo-write-item thread id)))
    (cl-flet ((stands-p (key) (equal (plist-get item key)
                                     (plist-get (plist-get change :item) key))))
      (pcase (plist-get change :type)
        ("removed" (unless item (list 'restore id)))
        ((guard (null item)) nil)
        ("added" (list 'delete id))
        ("reordered" (list 'move id (plist-get change :previousPosition)))
        ((and "modified" (guard (stands-p :content)))
         (list 'rename id (plist-get previous :content)))
        ((and "status_changed" (guard (stands-p :status)))
         (list 'status id (plist-get previous :status)))))))

(defun todo-write-edit--changes (thread revision)
  "Return the changes that REVISION of THREAD, a plist, made, a vector."
  (let ((number (plist-get revision :revision)))
    (plist-get (todo-write-changes-between thread (1- number) number) :changes)))

(defun todo-write-edit--undoable (thread)
  "Return the revision of THREAD that `todo-write-undo' would undo, or nil."
  (let* ((revisions (todo-write-revisions thread))
         (last (car (last revisions)))
         (number (or (plist-get last :restores) (plist-get last :revision))))
    (seq-find (lambda (revision) (eql (plist-get revision :revision) number)) revisions)))

(defun todo-write-edit--description (thread revision)
  "Return what REVISION of THREAD, a plist, changed, in a line."
  (format "%s: %s"
          (if (equal (plist-get revision :author) "agent") "the agent's write"
            (concat "your " (plist-get revision :operation)))
          (todo-write-text-line
           (todo-write-detail-changes-line thread (todo-write-edit--changes thread revision)) 60)))

(provide 'todo-write-edit)
;;; todo-write-edit.el ends here
