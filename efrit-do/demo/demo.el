;;; demo.el --- Play an agent and show its plan live -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; bin/demo runs this.  In a terminal it shows *efrit-todos*; elsewhere it prints the
;; plan after each change.

;;; Code:

(require 'efrit-do-run)
(require 'efrit-do-replay)

(setq todo-write-directory (efrit-do-replay-folder))

(defun efrit-do-demo--begun (&rest _)
  "Say what the user can do; after a long build, wait for the user first."
  (remove-hook 'todo-write-change-functions #'efrit-do-demo--begun)
  ;; bin/aloud says how many seconds it took.
  (when (> (string-to-number (or (getenv "BUILT") "")) 10)
    (read-event "This is the plan of a scripted agent.  Press a key, and it goes on"))
  (message "Press + to add a task, which the agent takes up; ? shows all keys"))

(defun efrit-do-demo-live ()
  "Play in this frame."
  (setq inhibit-startup-screen t)
  (add-hook 'todo-write-change-functions #'efrit-do-demo--begun)
  (add-hook 'efrit-do-end-functions
            (lambda (_session)
              (message
               "RET opens a row, ? all keys; M-x efrit-do-demo plays it again; C-x C-c quits")))
  (efrit-do-demo)
  (pop-to-buffer "*efrit-todos*")
  (delete-other-windows))

(defun efrit-do-demo-batch ()
  "Play without pauses and print every state of the plan."
  (add-hook 'todo-write-change-functions
            (lambda (thread _outcome)
              (with-current-buffer (todo-write-show thread)
                (princ (concat (string-trim-right (buffer-string)) "\n\n")))))
  (let ((outcome (efrit-do-run "Refactor the login function" :backend 'replay :speed 0)))
    (princ (format "%s\n" (or (plist-get outcome :reason) (plist-get outcome :message))))
    (unless (eq (plist-get outcome :status) 'done)
      (kill-emacs 1))))

(provide 'demo)
;;; demo.el ends here
