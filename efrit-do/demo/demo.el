;;; demo.el --- Play an agent and show its plan live -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; bin/demo runs this.  In a terminal it shows *efrit-todos*; elsewhere it prints the
;; plan after each change.  The environment selects the script; see bin/demo.

;;; Code:

(require 'efrit-do)
(require 'efrit-do-replay)
(require 'todo-write-view)
(require 'todo-write-mode-line)

(defun efrit-do-demo--variable (name)
  "Return the value of the environment variable NAME, or nil if it is empty."
  (let ((value (getenv name)))
    (and value (not (string-empty-p value)) value)))

(defun efrit-do-demo--begin (&optional speed)
  "Return a session that is ready to play the script SCRIPT, or the package's own.
Its speed is SPEED or, if that is set, that of the environment."
  (let* ((file (efrit-do-demo--variable "SCRIPT"))
         (script (condition-case problem
                     (efrit-do-replay-read (if file (expand-file-name file)
                                             (efrit-do-replay-demo)))
                   (efrit-do-script-error
                    (princ (format "demo: %s\n" (todo-write-core-error-text problem))
                           #'external-debugging-output)
                    (kill-emacs 1))))
         (given (efrit-do-demo--variable "SPEED")))
    (efrit-do-session-begin
     (or (efrit-do-replay--state-command script) "Play the script")
     'replay
     (list :script script :speed (if given (string-to-number given) speed)))))

;;; In a terminal

(defun efrit-do-demo--begun (&rest _)
  "Say what the user can do; after a long build, wait for the user first."
  (remove-hook 'todo-write-change-functions #'efrit-do-demo--begun)
  (when (> (string-to-number (or (efrit-do-demo--variable "BUILT") "")) 10)
    (read-event "This is the plan of a scripted agent.  Press a key, and it goes on"))
  (message "Press + to add a task, which the agent takes up; ? shows all keys"))

(defun efrit-do-demo-live ()
  "Play in this frame."
  (setq todo-write-directory (efrit-do-replay-folder)
        inhibit-startup-screen t)
  (todo-write-mode-line-mode 1)
  (let ((session (efrit-do-demo--begin)))
    (efrit-do-run-show session)
    (pop-to-buffer "*efrit-todos*")
    (delete-other-windows)
    (add-hook 'efrit-do-end-functions
              (lambda (_session)
                (message
                 "RET opens a row, ? all keys; M-x efrit-do-demo plays it again; C-x C-c quits")))
    (add-hook 'todo-write-change-functions #'efrit-do-demo--begun)
    (efrit-do-session-start session)))

;;; Without a terminal

(defun efrit-do-demo--print (thread _outcome)
  "Print the buffer of THREAD as text."
  (todo-write-show thread)
  (with-current-buffer "*efrit-todos*"
    (princ (concat (string-trim-right (buffer-string)) "\n\n"))))

(defun efrit-do-demo-batch ()
  "Play without pauses and print every state of the plan."
  (setq todo-write-directory (efrit-do-replay-folder))
  (let ((session (efrit-do-demo--begin 0)))
    (add-hook 'todo-write-change-functions #'efrit-do-demo--print)
    (efrit-do-session-start session)
    (while (efrit-do-session-running-p session)
      (accept-process-output nil 0.01))
    (princ (format "%s\n" (or (efrit-do-session-reason session)
                              (efrit-do-session-answer session))))
    (unless (eq (efrit-do-session-status session) 'done)
      (kill-emacs 1))))

(provide 'demo)
;;; demo.el ends here
