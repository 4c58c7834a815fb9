;;; todo-write-edit.el --- The user's hand on the plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The editing keys of the buffer that `todo-write-show' shows.  Each key is
;; one edit, which the agent learns of with the result of its next write; the
;; buffer is redrawn by the hook that tells of edits, not from here.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'todo-write)
(require 'todo-write-view)

(defun todo-write-edit--do (function &rest args)
  "Call FUNCTION with ARGS, and return its outcome.
A refusal or an error of the store becomes a `user-error'."
  (let ((outcome (condition-case err
                     (apply function args)
                   (todo-write-error (user-error "%s" (error-message-string err))))))
    (unless (plist-get outcome :ok)
      (user-error "%s" (todo-write-edit--refusal outcome)))
    outcome))

(defun todo-write-edit--refusal (outcome)
  "Return in one line why OUTCOME is a refusal."
  (let ((problem (car (append (plist-get outcome :errors) nil))))
    (if problem
        (format "Not changed: %s is not %s"
                (plist-get problem :received) (plist-get problem :expected))
      "Not changed")))

(defun todo-write-edit--thread ()
  "Return the thread of this buffer, or signal a `user-error'."
  (or todo-write-view-thread (user-error "There is no plan here yet")))

(defun todo-write-edit--item ()
  "Return the item at point, or signal a `user-error'."
  (let ((id (todo-write-view-id-at-point)))
    (or (todo-write-item (todo-write-edit--thread) id)
        (user-error "This task is gone; g shows the list as it is"))))

(defun todo-write-edit--position (id)
  "Return the position of the task ID in the list, counted from 0."
  (cl-position id (todo-write-items todo-write-view-thread)
               :key (lambda (item) (plist-get item :id)) :test #'equal))

(defun todo-write-edit--read (prompt &optional initial)
  "Read a task's text with PROMPT and INITIAL text; not an empty one."
  (let ((text (string-trim (read-string prompt initial))))
    (when (string-empty-p text)
      (user-error "A task needs a text"))
    text))

(defun todo-write-edit-text ()
  "Edit the text of the task at point in the minibuffer."
  (interactive nil todo-write-view-mode)
  (let* ((item (todo-write-edit--item))
         (old (plist-get item :content))
         (new (todo-write-edit--read "Task: " old)))
    (unless (equal old new)
      (todo-write-edit--do #'todo-write-edit todo-write-view-thread
                           'rename (plist-get item :id) new))))

(defun todo-write-edit-add ()
  "Add a task after the one at point, and move there.
Outside the rows, add it at the end; above them, at the beginning."
  (interactive nil todo-write-view-mode)
  (let* ((thread (todo-write-edit--thread))
         (id (get-text-property (point) 'todo-write-id))
         (text (todo-write-edit--read "New task: "))
         ;; Asked after reading: the agent may write meanwhile.
         (after (and id (todo-write-edit--position id)))
         (position (cond (after (1+ after))
                         ((and (not id) (bobp)) 0)))
         (outcome (todo-write-edit--do #'todo-write-edit thread 'add text position)))
    (when-let* ((added (seq-find (lambda (change) (equal (plist-get change :type) "added"))
                                 (plist-get (plist-get outcome :changes) :changes))))
      (todo-write-view-goto (plist-get added :itemId)))))

(defun todo-write-edit-delete ()
  "Delete the task at point."
  (interactive nil todo-write-view-mode)
  (let ((item (todo-write-edit--item)))
    (todo-write-edit--do #'todo-write-edit todo-write-view-thread
                         'delete (plist-get item :id))
    (message "Deleted; %s brings it back"
             (substitute-command-keys "\\[todo-write-edit-undo]"))))

(defun todo-write-edit-cycle-status ()
  "Change the status of the task at point to the next one.
They follow as pending, in progress, completed, pending."
  (interactive nil todo-write-view-mode)
  (let ((item (todo-write-edit--item)))
    (todo-write-edit--do #'todo-write-edit todo-write-view-thread 'status
                         (plist-get item :id)
                         (pcase (plist-get item :status)
                           ("pending" "in_progress")
                           ("in_progress" "completed")
                           (_ "pending")))))

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
         (position (+ (todo-write-edit--position id) by))
         (total (plist-get (todo-write-summary todo-write-view-thread) :total)))
    (unless (< -1 position total)
      (user-error (if (< by 0) "This is the first task" "This is the last task")))
    (todo-write-edit--do #'todo-write-edit todo-write-view-thread 'move id position)))

(defun todo-write-edit-undo ()
  "Undo the last change of the list, whoever made it."
  (interactive nil todo-write-view-mode)
  (todo-write-edit--do #'todo-write-undo (todo-write-edit--thread)))

(provide 'todo-write-edit)
;;; todo-write-edit.el ends here
