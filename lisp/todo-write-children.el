;;; todo-write-children.el --- Lists of subagents below a row  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The list of a subagent shows below the task it works on; see
;; `todo-write-begin'.  Once it is completed, one line remains unless the row is
;; open.

;;; Code:

(require 'todo-write)
(require 'todo-write-row)

(defcustom todo-write-children-rows 10
  "Tasks of a subagent shown at most below the task that it works on."
  :type 'natnum
  :group 'todo-write)

(defconst todo-write-children--deepest 3
  "Subagents of subagents are shown to this depth.")

(defconst todo-write-children--indent 4
  "Columns by which a list stands to the right of its task.")

(defun todo-write-children-by-item (thread)
  "Return the threads that work for THREAD, as an alist by item.
Each element is (ITEM-ID . KEYS).  Threads whose item is not in the list
stand under nil."
  (let (by-item)
    (pcase-dolist (`(,key . ,id) (todo-write-children thread))
      (push key (alist-get (and id (todo-write-item thread id) id) by-item
                           nil nil #'equal)))
    (dolist (entry by-item by-item)
      (setcdr entry (nreverse (cdr entry))))))

(defun todo-write-children-ancestors (thread)
  "Return whom THREAD works for: a list of (KEY . ITEM-ID), the nearest first."
  (cl-loop repeat todo-write-children--deepest
           for parent = (todo-write-parent thread)
           while parent
           collect parent
           do (setq thread (car parent))))

(defun todo-write-children-insert (keys width &optional open depth)
  "Insert the lists of the threads KEYS as lines of WIDTH columns.
OPEN non-nil shows all of those that are done, too.  DEPTH is how far
down the lists stand, from 1."
  (dolist (key keys)
    (let* ((summary (todo-write-summary key))
           (state (plist-get summary :state))
           (depth (or depth 1)))
      (todo-write-children--insert-header key summary width depth)
      (when (or open (memq state '(active paused)))
        (todo-write-children--insert-rows key (eq state 'paused) width open depth)))))

(defun todo-write-children--insert-header (key summary width depth)
  "Insert the line above the list of the thread KEY, whose summary is SUMMARY.
WIDTH and DEPTH are as in `todo-write-children-insert'."
  (let ((start (point)))
    (insert (todo-write-row-fit
             (concat (make-string (* depth todo-write-children--indent) ?\s)
                     (propertize (todo-write-row-shape 'child) 'face 'todo-write-detail)
                     " "
                     (propertize (todo-write-row-plain (or (plist-get summary :title) key))
                                 'face 'todo-write-child))
             (propertize (todo-write-row-progress summary)
                         'face (todo-write-row-progress-face (plist-get summary :state)))
             width))
    (add-text-properties start (point)
                         '(mouse-face highlight help-echo "RET, mouse-1: show this list"))
    (put-text-property start (point) 'todo-write-child key)
    (insert "\n")))

(defun todo-write-children--insert-rows (key paused width open depth)
  "Insert the lines of the items of the thread KEY, which may be PAUSED.
WIDTH, OPEN and DEPTH are as in `todo-write-children-insert'."
  (let* ((items (todo-write-items key))
         (shown (todo-write-row-excerpt items todo-write-children-rows))
         (hidden (- (length items) (length shown)))
         (indent (* depth todo-write-children--indent))
         (below (and (< depth todo-write-children--deepest)
                     (todo-write-children-by-item key))))
    (seq-doseq (item shown)
      (let ((id (plist-get item :id)))
        (todo-write-row-insert item (todo-write-row-kind item paused)
                               (todo-write-spent key id) width indent)
        (todo-write-children-insert (cdr (assoc id below)) width open (1+ depth))))
    (when (> hidden 0)
      (insert (propertize (format "%s%d more\n" (make-string (+ indent 3) ?\s) hidden)
                          'face 'todo-write-detail)))))

(provide 'todo-write-children)
;;; todo-write-children.el ends here
