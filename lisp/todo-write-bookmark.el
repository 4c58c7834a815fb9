;;; todo-write-bookmark.el --- Finding back to a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Bookmarks of plans (`C-x r m'), and plans in a saved desktop
;; (`desktop-save-mode').  Both name the thread, and a bookmark the task at
;; point; the journal has the rest.

;;; Code:

(require 'todo-write)
(require 'todo-write-row)
(require 'todo-write-view)

(declare-function bookmark-make-record-default "bookmark")
(declare-function bookmark-prop-get "bookmark" (bookmark-name-or-record prop))

(defun todo-write-bookmark-record ()
  "Return a bookmark of the plan in this buffer.
Signal a `user-error' if there is none."
  (let ((key (or todo-write-view-thread (user-error "There is no plan here yet"))))
    `(,(todo-write-row-plain (or (plist-get (todo-write-summary key) :title) key))
      (thread . ,key)
      (item . ,(get-text-property (point) 'todo-write-id))
      (handler . todo-write-bookmark-jump))))

;;;###autoload
(defun todo-write-bookmark-jump (bookmark)
  "Show the plan that BOOKMARK is of, with point at its task."
  (let ((key (bookmark-prop-get bookmark 'thread)))
    (unless (todo-write-restore key)
      (user-error "There is no plan of %s any more" (todo-write-row-plain key)))
    (set-buffer (todo-write-show key))
    (todo-write-view-goto (bookmark-prop-get bookmark 'item))))
(put 'todo-write-bookmark-jump 'bookmark-handler-type "Plan")

(defun todo-write-bookmark-desktop (_folder)
  "Return what a desktop must know of this buffer: its thread."
  todo-write-view-thread)

;;;###autoload (add-to-list 'desktop-buffer-mode-handlers '(todo-write-view-mode . todo-write-bookmark-restore))
;;;###autoload (autoload 'todo-write-view-mode "todo-write-view")

;;;###autoload
(defun todo-write-bookmark-restore (_file _name thread)
  "Restore the buffer that shows the plan of THREAD from a desktop."
  (when (and thread (todo-write-restore thread))
    (save-window-excursion (todo-write-show thread))))

(provide 'todo-write-bookmark)
;;; todo-write-bookmark.el ends here
