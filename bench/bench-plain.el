;;; bench-plain.el --- A plan in plain Lisp, as a yardstick  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A typical todo tool without a store: it reads the hash tables, keeps the list,
;; erases the buffer and redraws it, and sets a string for the mode line.  It
;; shows the same text as todo-write except for the times.  It has no identity,
;; diff, history or journal, and its rows have faces but no help or mouse.

;;; Code:

(require 'cl-lib)

(cl-defstruct (bench-plain-item (:constructor bench-plain-item (content status active-form))
                                (:copier nil))
  content status active-form)

(defvar bench-plain-items nil
  "The list.")

(defvar bench-plain-mode-line nil
  "The text in the mode line.")

(defconst bench-plain-buffer "*efrit-todos*"
  "Name of the buffer.")

(define-derived-mode bench-plain-mode special-mode "Plan"
  "Mode of the buffer."
  (setq truncate-lines t)
  (buffer-disable-undo))

(defun bench-plain--read (todo)
  "Return TODO, a hash table, as an item."
  (let ((content (gethash "content" todo))
        (status (pcase (gethash "status" todo)
                  ("pending" 'pending)
                  ("in_progress" 'in-progress)
                  ("completed" 'completed)
                  (status (error "Unknown status: %S" status)))))
    (unless (stringp content)
      (error "No content"))
    (bench-plain-item content status (or (gethash "activeForm" todo) content))))

(defun bench-plain-write (input)
  "Replace the list by INPUT, a hash table or JSON; return text for the model."
  (let* ((input (if (stringp input) (json-parse-string input) input))
         (todos (gethash "todos" input)))
    (unless (vectorp todos)
      (error "No todos"))
    (setq bench-plain-items (mapcar #'bench-plain--read todos))
    (bench-plain-show-changes)))

(defun bench-plain-show-changes ()
  "Draw the list if it is visible; return text for the model."
  (let* ((total (length bench-plain-items))
         (completed (cl-count 'completed bench-plain-items :key #'bench-plain-item-status))
         (current (cl-find 'in-progress bench-plain-items :key #'bench-plain-item-status))
         (buffer (get-buffer bench-plain-buffer)))
    (when (and buffer (get-buffer-window buffer))
      (with-current-buffer buffer
        (bench-plain-draw completed total)))
    (setq bench-plain-mode-line
          (propertize (format "[%d/%d%s]" completed total
                              (if current
                                  (concat " " (truncate-string-to-width
                                               (bench-plain-item-active-form current) 24 nil nil "…"))
                                ""))
                      'face 'mode-line-emphasis))
    (force-mode-line-update t)
    (format "%d tasks, %d completed%s" total completed
            (if current (concat "; now: " (bench-plain-item-content current)) ""))))

(defun bench-plain-draw (completed total)
  "Erase the current buffer and draw the list of TOTAL tasks, COMPLETED done."
  (let ((inhibit-read-only t)
        (line (line-number-at-pos)))
    (erase-buffer)
    (bench-plain--insert-header completed total)
    (dolist (item bench-plain-items)
      (insert (pcase (bench-plain-item-status item)
                ('completed (concat (propertize " ✓ " 'face 'success)
                                    (propertize (bench-plain-item-content item) 'face 'shadow)))
                ('in-progress (concat (propertize " ● " 'face 'bold)
                                      (propertize (bench-plain-item-active-form item) 'face 'bold)))
                (_ (concat " ○ " (bench-plain-item-content item))))
              "\n"))
    (goto-char (point-min))
    (forward-line (1- line))))

(defun bench-plain--insert-header (completed total)
  "Insert the title and a bar for COMPLETED of TOTAL tasks."
  (let* ((count (format "%d/%d  " completed total))
         (width (min 100 (1- (window-body-width (get-buffer-window)))))
         (bar (min 20 (/ width 4)))
         (filled (/ (* completed bar) total)))
    (insert (propertize " Plan" 'face 'bold)
            (make-string (- width 5 (length count) bar) ?\s)
            (propertize count 'face 'bold)
            (propertize (make-string filled ?━) 'face 'success)
            (propertize (make-string (- bar filled) ?─) 'face 'shadow)
            "\n")))

(provide 'bench-plain)
;;; bench-plain.el ends here
