;;; todo-write-bookmark.el --- Bookmarks of plans  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Bookmarks name the thread and the task at point, a saved desktop the thread.

;;; Code:

(require 'todo-write)
(require 'todo-write-commands)
(require 'todo-write-text)
(require 'todo-write-view-move)

(declare-function bookmark-prop-get "bookmark" (bookmark-name-or-record prop))

(defun todo-write-bookmark-record ()
  "Return a bookmark of the plan in this buffer.
Signal a `user-error' if the buffer shows no plan."
  (let ((key (or todo-write-view-thread (user-error "There is no plan here yet"))))
    `(,(todo-write-text-plain (or (plist-get (todo-write-summary key) :title) key))
      (thread . ,key)
      (item . ,(get-text-property (point) 'todo-write-id))
      (handler . todo-write-bookmark-jump))))

;;;###autoload
(defun todo-write-bookmark-jump (bookmark)
  "Show the plan of BOOKMARK, with point at its task."
  (let ((key (bookmark-prop-get bookmark 'thread)))
    (unless (todo-write-restore key)
      (user-error "There is no longer a plan of %s" (todo-write-text-plain key)))
    ;; The caller displays the buffer.
    (set-buffer (save-window-excursion (todo-write-show key)))
    (todo-write-view-move-goto-any (bookmark-prop-get bookmark 'item))))
(put 'todo-write-bookmark-jump 'bookmark-handler-type "Plan")

;;;###autoload (add-to-list 'desktop-buffer-mode-handlers '(todo-write-view-mode . todo-write-bookmark-restore))
;;;###autoload (autoload 'todo-write-view-mode "todo-write-view")

;;;###autoload
(defun todo-write-bookmark-restore (_file _name thread)
  "Restore the buffer that shows the plan of THREAD from a desktop."
  (when (and thread (todo-write-restore thread))
    (save-window-excursion (todo-write-show thread))))

(provide 'todo-write-bookmark)
;;; todo-write-bookmark.el ends here
