;;; todo-write-choose.el --- The plan that a command is about  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Commands work in a plan, in the overview, and in any other buffer: there they are about
;; the plan of the current project.

;;; Code:

(require 'tabulated-list)
(require 'todo-write)
(require 'todo-write-children)

(defun todo-write-choose-at-point ()
  "Return the key of the thread at point in the overview or of this buffer, or nil."
  (or todo-write-view-thread
      (and (derived-mode-p 'todo-write-list-mode) (tabulated-list-get-id))))

(defun todo-write-choose-thread ()
  "Return the key of the thread that a command is about.
That is the one at point in the overview or of this buffer, by default
the one that `todo-write-show' shows.  Signal a `user-error' if there is
no thread."
  (or (todo-write-choose-at-point) (todo-write-choose-default)
      (todo-write-choose-signal-none)))

(defun todo-write-choose-signal-none ()
  "Signal a `user-error' that says where plans come from."
  (user-error "There is no plan yet; an agent begins one with todo_write"))

(defun todo-write-choose-default ()
  "Return the newest thread of the current project, else the one written last.
The value is a key, or nil.  For a subagent's thread, return that of the
agent that it works for."
  (let* ((project (todo-write--project))
         (current (todo-write-current-thread project))
         (key (or (and current
                       (equal project (plist-get (todo-write-about current) :project))
                       current)
                  (todo-write-kept-newest-of-project)
                  current
                  (car (todo-write-threads)))))
    (or (caar (last (and key (todo-write-children-ancestors key)))) key)))

(provide 'todo-write-choose)
;;; todo-write-choose.el ends here
