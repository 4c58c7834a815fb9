;;; screenshot-agent.el --- Scene of bin/screenshot-agent  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A genuine agent in a terminal beside its plan, which it writes by MCP.  The
;; user adds a task after the agent's first call.

;;; Code:

(require 'screenshot (expand-file-name "screenshot.el" (file-name-directory load-file-name)))
(require 'term)
(require 'todo-write-agents)

(defun screenshot-agent-edit (thread _outcome)
  "Add a task to the plan of THREAD for the user, once."
  (remove-hook 'todo-write-change-functions #'screenshot-agent-edit)
  (run-at-time 0 nil #'todo-write-edit thread 'add "Keep the old login for one release" 2))

(defun screenshot-agent-wait (text)
  "Wait until the terminal shows TEXT."
  (with-timeout (60 (princ (format "No %S in %s\n" text (buffer-string))
                           #'external-debugging-output)
                    (kill-emacs 1))
    (while (not (save-excursion (goto-char (point-min)) (search-forward text nil t)))
      (accept-process-output nil 0.1))))

(defun screenshot-agent-watch (seconds)
  "Let the terminal run for SECONDS."
  (let ((end (+ (float-time) seconds)))
    (while (< (float-time) end) (accept-process-output nil 0.1))))

(defun screenshot-agent-type (text)
  "Type TEXT and RET into the terminal."
  (term-send-raw-string text)
  ;; The agent treats text and RET in one read as a paste.
  (screenshot-agent-watch 1)
  (term-send-raw-string "\r"))

(defun screenshot-scene-agent ()
  "The agent at work beside its plan."
  (setq todo-write-socket (getenv "SCREENSHOT_SOCKET"))
  (todo-write-agents-mode)
  (add-hook 'todo-write-change-functions #'screenshot-agent-edit)
  (let ((default-directory (file-name-as-directory (getenv "SCREENSHOT_PROJECT"))))
    (split-window-right 70)
    (redisplay t)
    (switch-to-buffer (make-term "agent" (getenv "SCREENSHOT_AGENT")))
    (term-char-mode)
    (setq-local mode-line-format " Claude Code")
    (screenshot-agent-wait "❯")
    (screenshot-agent-type "Refactor the login function")
    (screenshot-agent-wait "one release, as you ask")
    (screenshot-agent-watch 2)
    (set-window-buffer (next-window) (todo-write-show (car (todo-write-threads))))))

(provide 'screenshot-agent)
;;; screenshot-agent.el ends here
