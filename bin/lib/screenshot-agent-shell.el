;;; screenshot-agent-shell.el --- Scene of bin/screenshot-agent-shell  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The genuine agent-shell, whose agent asks for permission, beside the plan.

;;; Code:

(require 'screenshot (expand-file-name "screenshot.el" (file-name-directory load-file-name)))
(require 'agent-shell-checks)

(defun screenshot-scene-agent-shell ()
  "A shell whose agent asks for permission, and its plan."
  (setq agent-shell-header-style 'text)
  (let ((left (selected-window))
        (right (split-window-right 72))
        (shell (agent-shell-checks-asked)))
    (set-window-buffer left shell)
    (with-current-buffer shell
      (setq-local mode-line-format " agent-shell")
      (set-window-buffer right (todo-write-show)))
    (select-window left)
    (goto-char (point-max))
    (recenter -1)))

(defun screenshot-agent-shell (file)
  "Save a screenshot of the existing frame as FILE and exit Emacs."
  (agent-shell-checks-with nil
    (screenshot "agent-shell" file "modus-operandi" 1180 400)))

(provide 'screenshot-agent-shell)
;;; screenshot-agent-shell.el ends here
