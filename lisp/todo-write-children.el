;;; todo-write-children.el --- The lists of subagents below a task  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The list of a subagent appears below the task that it works on; see
;; `todo-write-begin'.  A completed list is reduced to one line unless the row is
;; open.

;;; Code:

(require 'todo-write)
(require 'todo-write-row)
(require 'todo-write-text)

(defconst todo-write-children--deepest 3
  "Maximum depth of subagents of subagents.")

(defun todo-write-children-by-item (thread)
  "Return the threads of THREAD's subagents, an alist of (ITEM-ID . KEYS).
ITEM-ID is nil for threads whose item is not in the list."
  (mapcar (pcase-lambda (`(,id . ,children)) (cons id (mapcar #'car children)))
          (seq-group-by (pcase-lambda (`(,_ . ,id)) (and id (todo-write-item thread id) id))
                        (todo-write-children thread))))

(defun todo-write-children-ancestors (thread)
  "Return the parents of THREAD, a list of (KEY . ITEM-ID), the nearest first."
  (cl-loop repeat todo-write-children--deepest
           for parent = (todo-write-parent thread)
           while parent
           collect parent
           do (setq thread (car parent))))

(defun todo-write-children-insert (keys width &optional open depth)
  "Insert the lists of the threads KEYS as lines of WIDTH columns.
Non-nil OPEN shows completed lists in full, too.  DEPTH is the level of
nesting, from 1."
  (let* ((start (point))
         (depth (or depth 1))
         (indent (* 4 depth)))
    (dolist (key keys)
      (let* ((summary (todo-write-summary key))
             (state (plist-get summary :state))
             (name (todo-write-text-plain (todo-write-plan-name key (plist-get summary :title)))))
        (insert (todo-write-row-button
                 (todo-write-row-line
                  (concat (make-string indent ?\s)
                          (propertize (todo-write-text-shape 'child) 'face 'todo-write-detail)
                          " ")
                  (propertize name 'face 'todo-write-child)
                  (propertize (todo-write-row-progress summary)
                              'face (todo-write-row-progress-face state))
                  (todo-write-row-near-width width))
                 'todo-write-child "RET, mouse-1: show this list" 'todo-write-child key)
                "\n")
        (when (or open (memq state '(active paused)))
          (let* ((items (todo-write-items key))
                 (shown (todo-write-row-excerpt items 10))
                 (hidden (- (length items) (length shown)))
                 (below (and (< depth todo-write-children--deepest)
                             (todo-write-children-by-item key))))
            (seq-doseq (item shown)
              (let ((id (plist-get item :id)))
                (todo-write-row-insert item (todo-write-row-kind item (eq state 'paused))
                                       (todo-write-core-call todo-write-dyn--spent key id)
                                       width indent)
                (todo-write-children-insert (cdr (assoc id below)) width open (1+ depth))))
            (when (> hidden 0)
              (insert (propertize (format "%s%d more\n" (make-string (+ indent 3) ?\s) hidden)
                                  'face 'todo-write-detail)))))))
    (put-text-property start (point) 'todo-write-subagent t)))

(provide 'todo-write-children)
;;; todo-write-children.el ends here
