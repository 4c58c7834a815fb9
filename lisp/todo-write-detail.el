;;; todo-write-detail.el --- What an open row shows  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The lines below a row that RET has opened.  They come from the functions in
;; `todo-write-detail-functions'; to show more, add one:
;;
;;     (add-hook 'todo-write-detail-functions
;;               (lambda (thread item)
;;                 (list (format "%s of %s" (plist-get item :id) thread)))
;;               t)

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'todo-write)
(require 'todo-write-row)

(defcustom todo-write-detail-functions '(todo-write-detail-item)
  "Functions that give the lines below an open row, in this order.
Each is called with THREAD and ITEM (a plist) and returns a list of
strings, one a paragraph, or nil."
  :type 'hook
  :group 'todo-write)

(defun todo-write-detail-string (thread item width)
  "Return the lines below the open row of ITEM of THREAD, filled to WIDTH."
  (let ((paragraphs (cl-loop for function in todo-write-detail-functions
                             append (funcall function thread item))))
    (with-temp-buffer
      (let ((fill-column (max 20 width))
            (left-margin 5))
        (dolist (paragraph paragraphs)
          (let ((start (point)))
            (insert paragraph "\n")
            (fill-region-as-paragraph start (point)))))
      (propertize (buffer-string) 'face 'todo-write-detail))))

(defun todo-write-detail-item (thread item)
  "Return what there is to say about ITEM of THREAD, a list of strings.
Its full text, what it is called while in progress, priority and times."
  (let ((times (todo-write-times thread (plist-get item :id)))
        (content (todo-write-row-plain (plist-get item :content)))
        (active (todo-write-row-plain (or (plist-get item :activeForm) "")))
        (priority (plist-get item :priority)))
    (delq nil
          (list content
                (unless (member active (list "" content)) (concat "While at it: " active))
                (when priority (format "Priority: %s" (todo-write-row-plain priority)))
                (todo-write-detail--dates times)))))

(defun todo-write-detail--dates (times)
  "Return TIMES, as `todo-write-times' gives them, in words."
  (let ((words (cl-loop
                for (key word) in '((:created "Added") (:started "begun") (:completed "done"))
                for time = (plist-get times key)
                when time collect
                (format "%s %s" word (format-time-string "%T" (/ time 1000)))))
        (spent (plist-get times :spent)))
    (when words
      (concat (string-join words ", ")
              (when (and spent (>= spent 1000))
                (format ", %s in progress" (todo-write-row-time spent)))))))

(provide 'todo-write-detail)
;;; todo-write-detail.el ends here
