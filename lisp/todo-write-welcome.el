;;; todo-write-welcome.el --- What fills an empty plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The buttons in a buffer that has no plan yet, and why an agent sends none.

;;; Code:

(require 'map)
(require 'todo-write-commands)
(require 'todo-write-core)
(require 'todo-write-page)
(require 'todo-write-row)

(define-button-type 'todo-write-welcome :supertype 'todo-write-button)

(defun todo-write-welcome-string ()
  "Return the text of a buffer without a plan: what fills it, as buttons."
  (concat
   (propertize " No plan yet.  It appears here as soon as an agent writes one.\n"
               'face 'todo-write-detail)
   (mapconcat
    (pcase-lambda (`(,label ,command))
      (todo-write-welcome--link (format "   %s\n" label) command))
    `(("Give an agent the tool" todo-write-setup)
      ("Follow a session of Claude Code or Codex" todo-write-follow)
      ,@(when (locate-library "efrit")
          (if (bound-and-true-p todo-write-efrit-mode)
              '(("Give Efrit a command" efrit-do))
            '(("Show the plans of Efrit here" todo-write-efrit-mode))))
      ,@(when (fboundp 'efrit-do-demo)
          '(("See a demonstration" efrit-do-demo))))
    "")))

(defun todo-write-welcome-efrit ()
  "Return the first line of a plan beside Efrit's own: how to join them."
  (todo-write-welcome--link " *efrit-todos* is Efrit's; show its plans here, too"
                            'todo-write-efrit-mode))

;;; Agents without a plan

(defun todo-write-welcome-insert-planless (agent models width)
  "Insert in lines of WIDTH columns that AGENT sends no plan, and what helps.
AGENT is the name of its program or nil, and MODELS are those it used."
  (pcase-let (((map :why :setting :place)
               (todo-write-core-call todo-write-dyn--planless (or agent "") models)))
    (todo-write-row-insert-flow
     (mapcar (lambda (text) (propertize text 'face 'todo-write-detail))
             (if why (list "This agent sends no plan:" why) '("This agent has sent no plan.")))
     " " 1 width)
    (unless (string-match-p "\\`\\(?:efrit\\|gptel\\)" (or agent ""))
      (todo-write-row-insert-flow
       (delq nil
             (list (todo-write-welcome--link "Give it the tool todo_write" 'todo-write-setup)
                   (when setting
                     (todo-write-welcome--link
                      "Copy the setting for its own" nil
                      (concat "copy " (todo-write-text-line setting))
                      (lambda (_)
                        (kill-new setting)
                        (message "Copied %s; it belongs into %s"
                                 (todo-write-text-line setting) place))))))
       nil 3 width))))

(defun todo-write-welcome--link (label command &optional help action)
  "Return LABEL as a button that calls COMMAND interactively.
HELP and ACTION, a function of the button, take the place of COMMAND."
  (todo-write-row-button (propertize label 'face 'link) 'todo-write-welcome
                         (concat "RET, mouse-1: " (or help (format "M-x %s" command)))
                         'action (or action (lambda (_) (call-interactively command)))))

(provide 'todo-write-welcome)
;;; todo-write-welcome.el ends here
