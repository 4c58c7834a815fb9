;;; todo-write-commands.el --- Where the commands are  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A file uses only files below it, as CONTRIBUTING.org draws them.  What a key, a button
;; or a menu there calls in a file above is here, by which it is loaded.
;; The commands at the end, `command-completion-default-include-p' offers in our buffers only.

;;; Code:

;; Commands.

(autoload 'todo-write-agents-mode "todo-write-agents" nil t)
(autoload 'todo-write-answer "todo-write-answer" nil t)
(autoload 'todo-write-comment "todo-write-review" nil '(todo-write-visit-diff-mode))
(autoload 'todo-write-connect "todo-write-connect" nil t)
(autoload 'todo-write-copy "todo-write-visit" nil t)
(autoload 'todo-write-efrit-mode "todo-write-efrit" nil t)
(autoload 'todo-write-follow "todo-write-follow" nil t)
(autoload 'todo-write-history "todo-write-history" nil t)
(autoload 'todo-write-list "todo-write-list" nil t)
(autoload 'todo-write-log "todo-write-history" nil t)
(autoload 'todo-write-next-waiting "todo-write-attention" nil t)
(autoload 'todo-write-review "todo-write-review" nil t)
(autoload 'todo-write-search "todo-write-search" nil t)
(autoload 'todo-write-setup "todo-write-mcp-setup" nil t)
(autoload 'todo-write-show "todo-write-view" nil t)
(autoload 'todo-write-switch "todo-write-list" nil t)
(autoload 'todo-write-tell "todo-write-tell" nil
  '(todo-write-view-mode todo-write-list-mode todo-write-review-mode))
(autoload 'todo-write-timeline "todo-write-history" nil t)

;; They get a missing module, read what a command is about, add the user's messages to a
;; result, and Emacs calls them when a hook gets a function.

(autoload 'todo-write-agent-watch "todo-write-agent")
(autoload 'todo-write-get-file "todo-write-get")
(autoload 'todo-write-get-remedy "todo-write-get")
(autoload 'todo-write-list-to-forget "todo-write-list")
(autoload 'todo-write-read-thread "todo-write-list")
(autoload 'todo-write-tell-result "todo-write-tell")

;; They are about the plan there, and have keys or are in the menus.
(dolist (command '( todo-write-copy todo-write-history todo-write-log todo-write-menu
                    todo-write-resume-session todo-write-show-diff todo-write-switch
                    todo-write-timeline))
  (put command 'completion-predicate
       (lambda (_command buffer)
         (and (get (buffer-local-value 'major-mode buffer) 'todo-write-menu) t))))

(provide 'todo-write-commands)
;;; todo-write-commands.el ends here
