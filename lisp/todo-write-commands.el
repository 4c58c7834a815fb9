;;; todo-write-commands.el --- Where the commands are  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A file uses only files below it, as CONTRIBUTING.org draws them.  What a key, a button
;; or a menu there calls in a file above is in this table, from which it is loaded.
;; The commands at the end, `command-completion-default-include-p' offers in our buffers only.

;;; Code:

(defconst todo-write-commands--files
  '((todo-write-agents todo-write-agents-mode)
    (todo-write-answer todo-write-answer)
    (todo-write-connect todo-write-connect)
    (todo-write-efrit todo-write-efrit-mode)
    (todo-write-follow todo-write-follow)
    (todo-write-history todo-write-history todo-write-log todo-write-timeline)
    (todo-write-list todo-write-list todo-write-switch)
    (todo-write-mcp-setup todo-write-setup)
    (todo-write-attention todo-write-next-waiting)
    (todo-write-tell (todo-write-tell todo-write-view-mode todo-write-list-mode
                                      todo-write-review-mode))
    (todo-write-visit todo-write-copy)
    (todo-write-review (todo-write-comment todo-write-visit-diff-mode) todo-write-review)
    (todo-write-search todo-write-search)
    (todo-write-view todo-write-show))
  "The files of commands that are called from below, lists (FILE COMMAND...).
A COMMAND that is only for buffers of some modes is a list (COMMAND MODE...).")

(defconst todo-write-commands--functions
  '((todo-write-agent . todo-write-agent-watch)
    (todo-write-get . todo-write-get-file)
    (todo-write-get . todo-write-get-remedy)
    (todo-write-list . todo-write-read-thread)
    (todo-write-list . todo-write-list-to-forget)
    (todo-write-tell . todo-write-tell-result))
  "The files of other functions that are called from below, (FILE . FUNCTION).
They get a missing module, read what a command is about, add the user's
messages to a result, and Emacs calls them when a hook gets a function.")

;; They are about the plan there, and have keys or are in the menus.
(dolist (command '( todo-write-copy todo-write-history todo-write-log todo-write-menu
                    todo-write-resume-session todo-write-show-diff todo-write-switch
                    todo-write-timeline))
  (put command 'completion-predicate
       (lambda (_command buffer)
         (and (get (buffer-local-value 'major-mode buffer) 'todo-write-menu) t))))

(pcase-dolist (`(,file . ,commands) todo-write-commands--files)
  (pcase-dolist (`(,command . ,modes) (mapcar #'ensure-list commands))
    (autoload command (symbol-name file) nil (or modes t))))

(pcase-dolist (`(,file . ,function) todo-write-commands--functions)
  (autoload function (symbol-name file)))

(provide 'todo-write-commands)
;;; todo-write-commands.el ends here
