;;; todo-write-menu.el --- Keys and menus of our buffers  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Each mode has one table of its commands.  Its keys, its menu, the transient that
;; `?' shows and the context menu are made from that.

;;; Code:

(require 'easymenu)
(require 'todo-write-buffer)

(defconst todo-write-menu-common
  '(("Plans"
     ("s" "Another…" todo-write-switch)
     ("L" "All agents" todo-write-list menu)
     ("N" "Next waiting agent" todo-write-next-waiting))
    ("Look back"
     ("H" "History" todo-write-history menu)
     ("T" "Timeline" todo-write-timeline menu)
     ("F" "Find…" todo-write-search menu))
    ("More"
     ("w" "Copy" todo-write-copy)
     ("l" "Log" todo-write-log menu)))
  "The groups of commands that all buffers of a plan have.
They are about the plan at point or of the buffer.")

(defun todo-write-menu-require (mode)
  "Signal a `user-error' unless the current buffer is in MODE, one of ours.
By its name, a command can be called in any buffer, which it would draw over."
  (unless (derived-mode-p mode)
    (user-error "This works only in a buffer of `%s'" mode)))

(defun todo-write-menu-define (mode map title groups)
  "Bind the keys of GROUPS in MAP, the keymap of MODE, and make its menus.
GROUPS is a list of (NAME ENTRY...), where an ENTRY is a list of a key,
as for `kbd', a label and a command; with a fourth element, the key works
only after `?'.  The commands of the first group are about the task or
plan at point.  TITLE names the menu in the menu bar.  Everywhere, `a'
answers an agent and `?' shows the menu."
  (declare (indent 3))
  (pcase-dolist (`(,_ . ,entries) groups)
    (pcase-dolist (`(,key ,_ ,command . ,menu) entries)
      (unless menu
        (define-key map (kbd key) command))))
  (define-key map "?" #'todo-write-menu)
  (when (eq #'todo-write-buffer-visit (nth 2 (assoc "RET" (cdar groups))))
    (define-key map [mouse-1] #'todo-write-buffer-visit))
  (define-key map "a" #'todo-write-answer)
  (put mode 'todo-write-menu groups)
  (let ((commands (seq-mapcat (lambda (group) (mapcar #'caddr (cdr group))) groups)))
    (easy-menu-define nil map (format "Menu of `%s'." mode)
      `(,title
        ,@(mapcan (pcase-lambda (`(,_ . ,entries))
                    (append (mapcar (pcase-lambda (`(,key ,label ,command . ,menu))
                                      (apply #'vector label command
                                             ;; Emacs finds the only key, also one of the user.
                                             (when (or menu (memq command
                                                                  (cdr (memq command commands))))
                                               (list :keys (concat (and menu "? ") key)))))
                                    entries)
                            (list "--")))
                  groups)
        ["Answer an agent" todo-write-answer]
        ["All keys" todo-write-menu]
        ["Quit" quit-window]))))

(defun todo-write-menu ()
  "Show what can be done in this buffer."
  (interactive)
  (unless (get major-mode 'todo-write-menu)
    (user-error "This is no buffer of todo-write"))
  (call-interactively (todo-write-menu--transient major-mode))
  ;; It is for the command that is chosen.
  (setq prefix-arg current-prefix-arg))

(defun todo-write-menu--column (group)
  "Return GROUP of a mode's table as a group of a transient."
  (vconcat (list (car group)) (mapcar (lambda (entry) (seq-take entry 3)) (cdr group))))

(defun todo-write-menu--transient (mode)
  "Return the transient with the commands of MODE, a command."
  (let* ((prefix (intern (format "%s-transient" mode)))
         (groups (get mode 'todo-write-menu))
         (common (seq-intersection groups todo-write-menu-common)))
    (unless (fboundp prefix)
      ;; C-g would leave it half loaded for the rest of the session.
      (let ((inhibit-quit t))
        (require 'transient))
      ;; Transient has only macros to define one.  The table is a constant of ours.
      (eval `(transient-define-prefix ,prefix ()
               ,(format "Show what can be done in `%s'." mode)
               ;; Side by side, all groups are wider than most windows.  So arranged, they
               ;; fit a terminal of 80 columns and 24 lines.
               [,@(mapcar #'todo-write-menu--column (seq-difference groups common))]
               [,@(mapcar #'todo-write-menu--column common)
                ["Menu"
                 ("a" "Answer an agent" todo-write-answer)
                 ("q" "Close" transient-quit-one)]])
            t))
    prefix))

(defun todo-write-menu-context (menu click)
  "Add to MENU what can be done with the task or plan at CLICK, and return it.
For `context-menu-functions'."
  (save-excursion
    (mouse-set-point click)
    (when (or (get-text-property (point) 'todo-write-id)
              (get-text-property (point) 'tabulated-list-id))
      (define-key-after menu [todo-write-separator] menu-bar-separator)
      (pcase-dolist (`(,_ ,label ,command . ,_) (cdar (get major-mode 'todo-write-menu)))
        (define-key-after menu (vector command)
          `(menu-item ,label ,(lambda ()
                                (interactive)
                                (mouse-set-point click)
                                (call-interactively command)))))))
  menu)

(provide 'todo-write-menu)
;;; todo-write-menu.el ends here
