;;; todo-write-edit.el --- Edit a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The commands of `todo-write-view-mode' that edit.  Each makes one edit, which the
;; agent learns of from the result of its next write.

;;; Code:

(require 'seq)
(require 'subr-x)
(require 'todo-write)
(require 'todo-write-row)
(require 'todo-write-view)

(defun todo-write-edit--do (function &rest args)
  "Call FUNCTION with ARGS; turn an error of the store into a `user-error'."
  (condition-case err
      (apply function args)
    (todo-write-error (user-error "%s" (todo-write--error-text err)))))

(defun todo-write-edit--say (format &rest args)
  "Say what an edit changed, with FORMAT and ARGS, and how to undo it."
  (message "%s; u undoes" (apply #'format format args)))

(defun todo-write-edit--thread ()
  "Return the thread of this buffer, or signal a `user-error'."
  (or todo-write-view-thread (user-error "There is no plan here yet")))

(defun todo-write-edit--item ()
  "Return the item at point, or signal a `user-error'."
  (let ((id (todo-write-view--id-at-point)))
    (or (todo-write-item (todo-write-edit--thread) id)
        (user-error "This task is gone; g refreshes the list"))))

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
  (let* ((item (todo-write-edit--item))
         ;; The buffer can show another plan by the time the text is read.
         (thread todo-write-view-thread)
         (old (plist-get item :content))
         (new (todo-write-edit--read "Task: " (todo-write-row--editable old))))
    (unless (equal old new)
      (todo-write-edit--do #'todo-write-edit thread 'rename (plist-get item :id) new)
      (todo-write-edit--say "Renamed"))))

(defun todo-write-edit-add ()
  "Add a task after the one at point, and move there.
Above all rows, add it at the beginning; elsewhere outside, at the end."
  (interactive nil todo-write-view-mode)
  (let* ((thread (todo-write-edit--thread))
         (id (get-text-property (point) 'todo-write-id))
         (text (todo-write-edit--read "New task: "))
         ;; The agent can write while the text is read.
         (after (and id (todo-write-edit--position thread id)))
         (position (cond (after (1+ after))
                         ((and (not id) (bobp)) 0)))
         (outcome (todo-write-edit--do #'todo-write-edit thread 'add text position)))
    (when-let* ((added (seq-find (lambda (change) (equal (plist-get change :type) "added"))
                                 (plist-get (plist-get outcome :changes) :changes))))
      (when (equal thread todo-write-view-thread)
        (todo-write-view--goto (plist-get added :itemId)))
      (todo-write-edit--say "Added"))))

(defun todo-write-edit-delete ()
  "Delete the task at point."
  (interactive nil todo-write-view-mode)
  (let ((item (todo-write-edit--item)))
    (todo-write-edit--do #'todo-write-edit todo-write-view-thread
                         'delete (plist-get item :id))
    (todo-write-edit--say "Deleted")))

(defun todo-write-edit-cycle-status (&optional choose)
  "Change the status of the task at point to the next one.
The order is pending, in progress, completed, pending.  With a prefix
argument CHOOSE, read the status."
  (interactive "P" todo-write-view-mode)
  (let* ((item (todo-write-edit--item))
         (thread todo-write-view-thread)
         (status (if choose
                     (completing-read "Status: " '("pending" "in progress" "completed") nil t)
                   (pcase (plist-get item :status)
                     ("pending" "in progress")
                     ("in_progress" "completed")
                     (_ "pending")))))
    (unless (string-empty-p status)
      (todo-write-edit--do #'todo-write-edit thread 'status
                           (plist-get item :id) (string-replace " " "_" status))
      (todo-write-edit--say "Now %s" status))))

(defun todo-write-edit-move-up ()
  "Move the task at point before the one above."
  (interactive nil todo-write-view-mode)
  (todo-write-edit--move -1))

(defun todo-write-edit-move-down ()
  "Move the task at point after the one below."
  (interactive nil todo-write-view-mode)
  (todo-write-edit--move 1))

(defun todo-write-edit--move (by)
  "Move the task at point BY places."
  (let* ((id (plist-get (todo-write-edit--item) :id))
         (position (+ (todo-write-edit--position todo-write-view-thread id) by))
         (total (length (todo-write-items todo-write-view-thread))))
    (unless (< -1 position total)
      (user-error (if (< by 0) "This is the first task" "This is the last task")))
    (todo-write-edit--do #'todo-write-edit todo-write-view-thread 'move id position)
    (todo-write-edit--say "Moved to %d" (1+ position))))

(defun todo-write-edit-restore ()
  "Bring back the dropped task at point.
It is yours then: it stays until you delete it, or the agent completes or
cancels it."
  (interactive nil todo-write-view-mode)
  (let* ((thread (todo-write-edit--thread))
         (id (get-text-property (point) 'todo-write-id))
         (dropped (get-text-property (point) 'todo-write-dropped)))
    (cond (dropped (setq id dropped))
          ((eq 'dropped (get-text-property (point) 'todo-write-toggle))
           (user-error "RET shows the dropped tasks; R restores the one at point"))
          ((not (member id todo-write-view--ghosts))
           (user-error "No dropped task here")))
    (todo-write-edit--do #'todo-write-edit thread 'restore id)
    (todo-write-view--goto id)
    (todo-write-edit--say "Restored; it is yours now")))

(defvar todo-write-edit--may-undo-writes nil
  "The command that last undid a write of the agent, or nil.
Repeated at once, it does not ask again.")

(defun todo-write-edit-undo ()
  "Undo the last change of the list, by the agent or by you; say what it was.
Before the first write of the agent, ask."
  (interactive nil todo-write-view-mode)
  (let* ((thread (todo-write-edit--thread))
         (revision (todo-write-edit--undoable thread))
         (what (and revision (todo-write-edit--description thread revision))))
    (when (or (not (equal (plist-get revision :author) "agent"))
              (and todo-write-edit--may-undo-writes
                   (eq todo-write-edit--may-undo-writes last-command))
              (y-or-n-p (format "Undo %s? " what)))
      (unless (equal revision (todo-write-edit--undoable thread))
        (user-error "The list has changed since; undo again to undo that"))
      (setq todo-write-edit--may-undo-writes
            (and (equal (plist-get revision :author) "agent") this-command))
      (todo-write-edit--do #'todo-write-undo thread)
      (message "Undid: %s" what))))

(defun todo-write-edit--undoable (thread)
  "Return the revision of THREAD that `todo-write-undo' would undo, or nil."
  (let* ((revisions (todo-write-revisions thread))
         (last (car (last revisions)))
         (number (or (plist-get last :restores) (plist-get last :revision))))
    (seq-find (lambda (revision) (eql (plist-get revision :revision) number)) revisions)))

(defun todo-write-edit--description (thread revision)
  "Return what REVISION of THREAD, a plist, changed, in a few words."
  (let* ((number (plist-get revision :revision))
         (changes (append (plist-get (todo-write-changes-between thread (1- number) number)
                                     :changes)
                          nil))
         (item (and changes (or (plist-get (car changes) :item)
                                (plist-get (car changes) :previousItem)
                                (todo-write-item thread (plist-get (car changes) :itemId)))))
         (name (todo-write-row-line (or (plist-get item :content) "") 40)))
    (pcase (plist-get revision :operation)
      ("add" (format "adding “%s”" name))
      ("rename" (format "renaming to “%s”" name))
      ("status" (format "“%s” %s" name (todo-write-row-line (plist-get item :status))))
      ("move" (format "moving “%s”" name))
      ("delete" (format "deleting “%s”" name))
      ("undo" "an undo")
      ("restore" (format "restoring “%s”" name))
      (_ (format "the agent's write (%s)" (todo-write-edit--counts changes))))))

(defun todo-write-edit--counts (changes)
  "Return the numbers of CHANGES, a list, by their kind, as a string."
  (let ((names '(("added" . "added") ("removed" . "dropped") ("modified" . "changed")
                 ("status_changed" . "with another status") ("reordered" . "moved"))))
    (string-join
     (cl-loop for (type . name) in names
              for count = (seq-count (lambda (change) (equal (plist-get change :type) type))
                                     changes)
              when (> count 0) collect (format "%d %s" count name))
     ", ")))

(provide 'todo-write-edit)
;;; todo-write-edit.el ends here
