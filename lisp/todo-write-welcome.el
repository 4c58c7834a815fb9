;;; todo-write-welcome.el --- What fills an empty plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The buttons in a buffer that has no plan yet.

;;; Code:

(require 'todo-write)

(declare-function efrit-do-demo "ext:efrit-do")
(declare-function todo-write-follow "todo-write-follow")
(declare-function todo-write-mcp-setup "todo-write-mcp-setup")

(defun todo-write-welcome--string ()
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
  (let* ((map (make-sparse-keymap))
         (call (lambda (&optional event)
                 (interactive (list last-input-event))
                 (when (mouse-event-p event) (mouse-set-point event))
                 (call-interactively command))))
    (define-key map (kbd "RET") call)
    (define-key map [mouse-1] call)
    (concat (propertize (format "   %s" label)
                        'face 'link 'keymap map 'todo-write-stop 'button 'mouse-face 'highlight
                        'help-echo (format "RET, mouse-1: M-x %s" command))
            "\n")))

(provide 'todo-write-welcome)
;;; todo-write-welcome.el ends here
