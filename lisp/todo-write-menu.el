;;; todo-write-menu.el --- What can be done in a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `?' in a plan shows all keys in a transient; mouse-3, with
;; `context-menu-mode', those that concern the task clicked on.

;;; Code:

(require 'easymenu)
(require 'transient)
(require 'todo-write-view)

(autoload 'todo-write-copy-markdown "todo-write-org" nil t)
(autoload 'todo-write-insert-org "todo-write-org" nil t)
(autoload 'todo-write-list-show "todo-write-list" nil t)
(autoload 'todo-write-list-forget "todo-write-list" nil t)

;;;###autoload (autoload 'todo-write-menu "todo-write-menu" nil t)
(transient-define-prefix todo-write-menu ()
  "Show what can be done with the plan in this buffer."
  [["Task"
    ("RET" "open or close" todo-write-view-toggle-detail)
    ("e" "edit its text" todo-write-edit-text)
    ("+" "add one after it" todo-write-edit-add)
    ("k" "delete" todo-write-edit-delete)
    ("SPC" "next status" todo-write-edit-cycle-status)
    ("M-<up>" "move up" todo-write-edit-move-up)
    ("M-<down>" "move down" todo-write-edit-move-down)
    ("u" "undo" todo-write-edit-undo)]
   ["Look"
    ("." "at the task in progress" todo-write-view-to-current)
    ("d" "fold what is done" todo-write-view-toggle-fold)
    ("H" "history" todo-write-history)
    ("T" "timeline" todo-write-timeline)
    ("l" "log" todo-write-log)
    ("g" "refresh" revert-buffer)]
   ["Other plans"
    ("s" "switch" todo-write-switch)
    ("^" "parent" todo-write-view-to-parent)
    ("L" "all" todo-write-list)]
   ["Take along"
    ("w" "copy as check list" todo-write-copy)
    ("m" "copy as Markdown" todo-write-copy-markdown)
    ("x" "export timeline" todo-write-export-timeline)
    ("q" "close the menu" transient-quit-one)]])

(defun todo-write-menu-context (menu click)
  "Add to MENU what can be done with the task at CLICK, and return it.
For `context-menu-functions'."
  (save-excursion
    (mouse-set-point click)
    (let ((task (and (get-text-property (point) 'todo-write-id) t)))
      (define-key-after menu [todo-write-separator] menu-bar-separator)
      (pcase-dolist (`(,name ,command ,of-task)
                     '(("Open or Close" todo-write-view-toggle-detail t)
                       ("Edit Text" todo-write-edit-text t)
                       ("Delete Task" todo-write-edit-delete t)
                       ("Next Status" todo-write-edit-cycle-status t)
                       ("Add Task" todo-write-edit-add nil)
                       ("Undo" todo-write-edit-undo nil)
                       ("History" todo-write-history nil)
                       ("Timeline" todo-write-timeline nil)
                       ("Copy as Check List" todo-write-copy nil)
                       ("All Plans" todo-write-list nil)))
        (when (or task (not of-task))
          (define-key-after menu (vector command)
            `(menu-item ,name ,(todo-write-menu--at click command)))))))
  menu)

(defun todo-write-menu-list-context (menu click)
  "Add to MENU what can be done with the plan at CLICK, and return it.
For `context-menu-functions'."
  (define-key-after menu [todo-write-separator] menu-bar-separator)
  (pcase-dolist (`(,name ,command) '(("Show Plan" todo-write-list-show)
                                     ("Forget Plan…" todo-write-list-forget)))
    (define-key-after menu (vector command)
      `(menu-item ,name ,(todo-write-menu--at click command))))
  menu)

(defun todo-write-menu--at (click command)
  "Return a command that goes to CLICK and calls COMMAND."
  (lambda ()
    (interactive)
    (mouse-set-point click)
    (call-interactively command)))

(provide 'todo-write-menu)
;;; todo-write-menu.el ends here
