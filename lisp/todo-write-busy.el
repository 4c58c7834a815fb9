;;; todo-write-busy.el --- Whose agents are at work  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A host says with `todo-write-set-busy' that an agent is at work, and when it
;; no longer is.  As long as that holds a spinner turns in the mode line, the
;; header line and the tab bar, where these show the plan, and at no other time:
;; there is no timer while no host is busy, nor while nothing shows a spinner.

;;; Code:

(require 'cl-lib)

(defvar todo-write-busy--threads nil
  "Keys of the threads whose hosts said that they are busy.")

(defvar todo-write-busy-functions nil
  "Functions to call, without arguments, when the spinner has turned.
`todo-write-busy-listen' adds one.")

(defvar todo-write-busy--frame 0
  "Which frame of the spinner is shown.")

(defvar todo-write-busy--timer nil
  "Timer that turns the spinner, or nil.")

;;;###autoload
(defun todo-write-set-busy (thread flag)
  "Say that the agent of THREAD is at work if FLAG, else that it is not.
THREAD is a key.  Whoever says the one says the other, too, however the
work ends."
  (unless (eq (and flag t) (todo-write-busy-p thread))
    (setq todo-write-busy--threads (delete thread todo-write-busy--threads))
    (when flag
      (push thread todo-write-busy--threads))
    (todo-write-busy--set-timer)
    (run-hooks 'todo-write-busy-functions)))

(defun todo-write-busy-p (thread)
  "Return t if the host of THREAD said that it is busy, else nil."
  (and (member thread todo-write-busy--threads) t))

(defun todo-write-busy-listen (function flag)
  "Call FUNCTION whenever the spinner turns if FLAG; else no longer."
  (if flag
      (add-hook 'todo-write-busy-functions function)
    (remove-hook 'todo-write-busy-functions function))
  (todo-write-busy--set-timer))

(defun todo-write-busy--set-timer ()
  "Turn the spinner as long as there is one to be seen."
  (if (and todo-write-busy--threads todo-write-busy-functions)
      (unless todo-write-busy--timer
        (setq todo-write-busy--timer (run-at-time 0.25 0.25 #'todo-write-busy--turn)))
    (when todo-write-busy--timer
      (cancel-timer todo-write-busy--timer)
      (setq todo-write-busy--timer nil))))

(defun todo-write-busy--turn ()
  "Turn the spinner by one frame."
  (cl-incf todo-write-busy--frame)
  (run-hooks 'todo-write-busy-functions))

(defun todo-write-busy-spinner (thread)
  "Return the spinner's frame if the host of THREAD is busy, else nil."
  (when (and thread (todo-write-busy-p thread))
    (let ((frames (if (char-displayable-p ?⠋) "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏" "|/-\\")))
      (string (aref frames (mod todo-write-busy--frame (length frames)))))))

(provide 'todo-write-busy)
;;; todo-write-busy.el ends here
