;;; efrit-do.el --- Give an agent a command and watch its plan -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; Author: The todo-write authors
;; Assisted-by: Claude
;; Version: 0.3.0
;; Package-Requires: ((emacs "28.1") (todo-write "0.3.0"))
;; Keywords: tools, convenience
;; URL: https://example.org/todo-write
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `M-x efrit-do' reads a command, starts an agent, and shows its plan and its work in
;; *efrit-todos*.  The agent is a model if gptel is loaded and configured, otherwise a
;; scripted demonstration.  From Lisp:
;;
;;   (efrit-do-run "Rename foo to bar in this project")

;;; Code:

(require 'efrit-do-run)

;; Upstream Efrit has a library and a command of the same name.
(when (and (or (featurep 'efrit-do)
               (and (fboundp 'efrit-do) (not (autoloadp (symbol-function 'efrit-do)))))
           (not (get 'efrit-do 'efrit-do-own)))
  (signal 'todo-write-error
          (list "The command `efrit-do' is Efrit's; `todo-write-efrit-mode' shows its plans, \
and `efrit-do-demo' and `efrit-do-run' work beside it")))

(if-let* ((theirs (locate-library "efrit-do-dispatch")))
    ;; This library was found first, but Efrit's is meant.
    (load (expand-file-name "efrit-do" (file-name-directory theirs)) nil t)
  (put 'efrit-do 'efrit-do-own t)
  (defun efrit-do (command)
    "Let an agent work on COMMAND, and show its work.
Return the session, which runs in the background.  Without a model, only
the demonstration is there, and the prompt says so.  With a prefix
argument, continue a session, as `efrit-do-continue' does."
    (interactive
     (list (cond (current-prefix-arg nil)
                 ((eq 'replay (efrit-do-session-choose-backend))
                  (read-string "Without gptel, only the demonstration is there; RET plays it: "
                               nil 'efrit-do-history "Refactor the login function"))
                 (t (read-string "Do: " nil 'efrit-do-history)))))
    (if command (efrit-do-run-and-show command) (efrit-do-continue))))

;;;###autoload (unless (locate-library "efrit") (autoload 'efrit-do "efrit-do" nil t))

(provide 'efrit-do)
;;; efrit-do.el ends here
