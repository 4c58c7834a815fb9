;;; todo-write-welcome.el --- What fills an empty plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The buttons in a buffer that has no plan yet.

;;; Code:

(require 'todo-write-commands)
(require 'todo-write-row)

(declare-function efrit-do-demo "ext:efrit-do")

(define-button-type 'todo-write-welcome :supertype 'todo-write-button)

(defun todo-write-welcome-string ()
  "Return the text of a buffer without a plan: what fills it, as buttons."
  (concat
   (propertize " No plan yet.  It appears here as soon as an agent writes one.\n"
               'face 'todo-write-detail)
   (todo-write-welcome--button "Give an agent the tool" #'todo-write-mcp-setup)
   (todo-write-welcome--button "Follow a session of Claude Code or Codex" #'todo-write-follow)
   (when (fboundp 'efrit-do-demo)
     (todo-write-welcome--button "See a demonstration" #'efrit-do-demo))))

(defun todo-write-welcome--button (label command)
  "Return a line with LABEL as a button that calls COMMAND interactively."
  (todo-write-row-button (concat (propertize (format "   %s" label) 'face 'link) "\n")
                         'todo-write-welcome (format "RET, mouse-1: M-x %s" command)
                         'action (lambda (_) (call-interactively command))))

(provide 'todo-write-welcome)
;;; todo-write-welcome.el ends here
