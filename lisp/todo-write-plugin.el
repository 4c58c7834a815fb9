;;; todo-write-plugin.el --- The plugin for Claude Code  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; One plugin gives Claude Code the tool `todo_write', the hook by which its dialogs
;; can be answered in Emacs, and the hook that reports your edits to the agent.
;; `M-x todo-write-mcp-setup' installs and removes it.  This file finds out whether it
;; is there and works.

;;; Code:

(require 'seq)
(require 'subr-x)
(require 'todo-write)
(require 'todo-write-mcp-setup)
(require 'todo-write-request)
(require 'todo-write-socket)

(defun todo-write-plugin--state ()
  "Return what `todo-write-mcp' says of the plugin, a plist, or nil.
`:installed' is t if the user's settings of Claude Code enable it, and
`:program' the file name of its program that they name, or nil."
  (todo-write-mcp-setup-ask "claude-plugin" "--state"))

(defun todo-write-plugin-installed-p ()
  "Return non-nil if the user's settings of Claude Code enable the plugin."
  (plist-get (todo-write-plugin--state) :installed))

;;; For the doctor

(defun todo-write-plugin--check (program)
  "Ask a question by PROGRAM, the plugin's, and answer it with no.
Return a sentence about what went wrong, or nil."
  (let* ((session (format "doctor-%d-%d" (emacs-pid) (random 1000000)))
         (thread (concat "claude:" session))
         (process-environment
          (append '("CLAUDE_CODE_ENTRYPOINT" "CLAUDE_CODE_SESSION_ATTENDED") process-environment))
         (output (generate-new-buffer " *todo-write doctor*" t))
         (hook (make-process
                :name "todo-write-mcp" :buffer output :noquery t :sentinel #'ignore
                :connection-type 'pipe
                :command `(,program "permission"
                           ,@(cdr (todo-write-mcp-setup-server))))))
    (unwind-protect
        (progn
          (process-send-string
           hook (json-serialize
                 `(:hook_event_name "PermissionRequest" :session_id ,session
                   :cwd ,(expand-file-name "~/") :permission_mode "default"
                   :tool_name "todo-write-doctor" :tool_input (:check "the plugin"))))
          (process-send-eof hook)
          (let ((asked (todo-write-plugin--wait
                        hook (lambda () (car (todo-write-requests thread))))))
            (if (not asked)
                "its question did not reach this Emacs"
              (todo-write-answer-request thread (plist-get asked :id) '(:behavior "deny")
                                         "No, says the doctor.")
              (todo-write-plugin--wait hook (lambda () (not (process-live-p hook))))
              (while (accept-process-output hook 0))
              (unless (with-current-buffer output
                        (goto-char (point-min))
                        (search-forward "No, says the doctor." nil t))
                "the answer did not reach it"))))
      (delete-process hook)
      (kill-buffer output)
      ;; There is no such thread if the question did not come.
      (ignore-error todo-write-error (todo-write-forget thread)))))

(defun todo-write-plugin--wait (hook condition)
  "Wait until CONDITION, a function, returns non-nil, and return its value.
Return nil after 5 seconds, or if HOOK exits before."
  (let ((end (+ 5 (float-time))) value)
    (while (and (not (setq value (funcall condition)))
                (process-live-p hook)
                (< (float-time) end))
      (accept-process-output nil 0.02))
    (or value (funcall condition))))

(defun todo-write-plugin-finding ()
  "Return the doctor's finding about the plugin, or nil without Claude Code."
  (let* ((state (todo-write-plugin--state))
         (program (plist-get state :program))
         (version (and program (file-exists-p program)
                       (todo-write-module-file-version program)))
         (remedy "M-x todo-write-mcp-setup"))
    (cond
     ((not (plist-get state :installed))
      (and (executable-find "claude")
           (list 'note "Claude Code's plugin, to answer its dialogs in Emacs: not installed" remedy)))
     ((not (equal version todo-write-version))
      (list 'problem (format "Claude Code's plugin: its program is %s"
                             (if version (concat "version " version) "missing"))
            remedy))
     ((not (eq 'open (todo-write-socket-state)))
      (list 'note "Claude Code's plugin: no question reaches this Emacs"
            "M-x todo-write-mcp-mode"))
     (t (let ((problem (todo-write-plugin--check program)))
          (if problem
              (list 'problem (concat "Claude Code's plugin: " problem) remedy)
            (list 'ok "Claude Code's plugin: a question was asked and answered")))))))

(provide 'todo-write-plugin)
;;; todo-write-plugin.el ends here
