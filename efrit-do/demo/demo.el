;;; demo.el --- Play an agent and show its plan live -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; bin/demo runs this.  In a terminal it shows *efrit-todos*; elsewhere it prints the
;; plan after each change.

;;; Code:

(require 'efrit-do)
(require 'efrit-do-replay)

(defun efrit-do-demo--begin (&optional speed)
  "Return a session that is ready to play at SPEED, by default that of the script."
  (setq todo-write-directory (efrit-do-replay-folder))
  (efrit-do-session-begin "Refactor login to async/await, with an error of its own" 'replay
                          (list :script (efrit-do-replay-demo) :speed speed)))

(defun efrit-do-demo--begun (&rest _)
  "Say what the user can do; after a long build, wait for the user first."
  (remove-hook 'todo-write-change-functions #'efrit-do-demo--begun)
  ;; bin/aloud says how many seconds it took.
  (when (> (string-to-number (or (getenv "BUILT") "")) 10)
    (read-event "This is the plan of a scripted agent.  Press a key, and it goes on"))
  (message "Press + to add a task, which the agent takes up; ? shows all keys"))

(defun efrit-do-demo-live (&optional speed)
  "Play in this frame at SPEED."
  (setq inhibit-startup-screen t)
  (let ((session (efrit-do-demo--begin speed)))
    (efrit-do-run-show session)
    (pop-to-buffer "*efrit-todos*")
    (delete-other-windows)
    (add-hook 'efrit-do-end-functions
              (lambda (_session)
                (message
                 "RET opens a row, ? all keys; M-x efrit-do-demo plays it again; C-x C-c quits")))
    (add-hook 'todo-write-change-functions #'efrit-do-demo--begun)
    (efrit-do-session-start session)))

(defun efrit-do-demo-batch ()
  "Play without pauses and print every state of the plan."
  (let ((session (efrit-do-demo--begin 0)))
    (add-hook 'todo-write-change-functions
              (lambda (thread _outcome)
                (with-current-buffer (todo-write-show thread)
                  (princ (concat (string-trim-right (buffer-string)) "\n\n")))))
    (efrit-do-session-start session)
    (while (efrit-do-session-running-p session)
      (accept-process-output nil 0.01))
    (princ (format "%s\n" (or (efrit-do-session-reason session)
                              (efrit-do-session-answer session))))
    (unless (eq (efrit-do-session-status session) 'done)
      (kill-emacs 1))))

(provide 'demo)
;;; demo.el ends here
