;;; todo-write-plugin.el --- The plugin for Claude Code  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; One plugin gives Claude Code the tool `todo_write', the hook by which its dialogs
;; can be answered in Emacs, and the hook that reports your edits to the agent.  Its
;; files are in mcp/plugin.  `M-x todo-write-mcp-setup' copies them and the program
;; to a folder that upgrades of this package do not rename, and installs, updates or
;; removes the plugin by Claude Code's own commands.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'todo-write-core)
(require 'todo-write-mcp-setup)
(require 'todo-write-request)
(require 'todo-write-socket)

(defconst todo-write-plugin--id "todo-write@todo-write"
  "The plugin's name and marketplace, as Claude Code writes them.")

(defconst todo-write-plugin--rule "{
  \"permissions\": {
    \"allow\": [\"mcp__plugin_todo-write_todo-write__todo_write\"],
    \"deny\": [\"TodoWrite\", \"TaskCreate\", \"TaskUpdate\", \"TaskGet\", \"TaskList\"]
  }
}"
  "Settings with which Claude Code does not ask for the plugin's tool.")

;;; Files

(defun todo-write-plugin--source ()
  "Return the folder of the plugin's files in this package, or nil."
  (seq-find #'file-directory-p
            (list (todo-write-module--file "mcp/plugin")
                  (todo-write-module--file "../mcp/plugin"))))

(defun todo-write-plugin--folder ()
  "Return the folder of the plugin that Claude Code reads, a marketplace."
  (locate-user-emacs-file "todo-write-bin/claude/"))

(defun todo-write-plugin--program ()
  "Return the file name of the plugin's program."
  (expand-file-name "todo-write/todo-write-mcp" (todo-write-plugin--folder)))

(defun todo-write-plugin--write ()
  "Write the plugin's files and program to the folder that Claude Code reads."
  (let ((source (or (todo-write-plugin--source)
                    (user-error "This package lacks the plugin's files, mcp/plugin")))
        (folder (todo-write-plugin--folder))
        (program (todo-write-plugin--program)))
    (dolist (file (directory-files-recursively source "\\.json\\'"))
      (let ((to (expand-file-name (file-relative-name file source) folder)))
        (make-directory (file-name-directory to) t)
        (write-region (todo-write-plugin--text file) nil to nil 'silent)))
    (todo-write-mcp-setup--copy-program program)))

(defun todo-write-plugin--text (file)
  "Return the text of the plugin's FILE, whose commands name the socket if needed."
  (let ((text (with-temp-buffer
                (let ((coding-system-for-read 'utf-8))
                  (insert-file-contents file))
                (buffer-string))))
    (if (not todo-write-socket)
        text
      (let* ((socket (todo-write-socket--file))
             (option (todo-write-json--text (concat " --socket " (shell-quote-argument socket)))))
        (replace-regexp-in-string
         "\\(\\\\\" \\(?:permission\\|note\\)\\)\""
         (lambda (found) (concat (substring found 0 -1) (substring option 1)))
         (string-replace "\"args\": []"
                         (concat "\"args\": " (todo-write-json--text (vector "--socket" socket)))
                         text)
         t t)))))

;;; Claude Code's commands

(defun todo-write-plugin--install-commands ()
  "Return the commands that install the plugin."
  `(("claude" "plugin" "marketplace" "add" ,(directory-file-name (expand-file-name
                                                                   (todo-write-plugin--folder))))
    ("claude" "plugin" "install" ,todo-write-plugin--id)))

(defun todo-write-plugin--remove-commands ()
  "Return the commands that remove the plugin."
  `(("claude" "plugin" "uninstall" ,todo-write-plugin--id)
    ("claude" "plugin" "marketplace" "remove" "todo-write")))

(defun todo-write-plugin--run (commands)
  "Run COMMANDS, and insert what they print; return non-nil if all succeed."
  (let ((default-directory (expand-file-name "~/")) (all t))
    (dolist (command commands all)
      (insert (propertize (string-join (seq-take command 3) " ") 'face 'bold) "\n")
      (unless (eql 0 (apply #'call-process (car command) nil t nil (cdr command)))
        (setq all nil)))))

(defun todo-write-plugin--settings-file ()
  "Return the name of the user's settings of Claude Code."
  (expand-file-name "settings.json" (todo-write--agent-folder 'claude)))

(defun todo-write-plugin--installed-p ()
  "Return non-nil if the user's settings of Claude Code enable the plugin."
  (let ((file (todo-write-plugin--settings-file)))
    (and (file-regular-p file)
         (ignore-errors
           (with-temp-buffer
             (insert-file-contents file)
             (eq t (gethash todo-write-plugin--id
                            (gethash "enabledPlugins" (json-parse-buffer)))))))))

;;; The setup

(defun todo-write-plugin--lines (commands)
  "Return COMMANDS as lines for a shell."
  (mapconcat (lambda (command) (mapconcat #'shell-quote-argument command " ")) commands "\n"))

(defun todo-write-plugin--hooks (server &optional no-questions)
  "Return settings with hooks that run the program of SERVER, a command.
They are for users who have no plugin.  Non-nil NO-QUESTIONS leaves out
the hook by which dialogs are answered here."
  (pcase-let ((`(,program . ,options) server))
    (cl-flet ((hook (name timeout)
                `[(:hooks [(:type "command" :timeout ,timeout
                            :command ,(mapconcat #'shell-quote-argument
                                                 `(,program ,name ,@options) " "))])]))
      (with-temp-buffer
        (insert (todo-write-json--text
                 `(:hooks (,@(unless no-questions
                               (list :PermissionRequest (hook "permission" 570)))
                           :PostToolUse ,(hook "note" 5)
                           :Stop ,(hook "note" 5)))))
        (json-pretty-print-buffer)
        (buffer-string)))))

(defun todo-write-plugin--setup (&optional remove)
  "Show what the plugin for Claude Code does, and offer to install it.
Non-nil REMOVE offers to remove it."
  (todo-write-mcp-setup--begin-page)
  (let ((inhibit-read-only t))
    (if remove
        (todo-write-plugin--remove)
      (todo-write-plugin--write)
      (todo-write-plugin--install))))

(defun todo-write-plugin--install ()
  "Explain the plugin in the current buffer, and offer to install it."
  (kill-new (todo-write-plugin--lines (todo-write-plugin--install-commands)))
  (insert (propertize "The plugin for Claude Code" 'face 'bold) "\n\n"
          "It gives Claude Code the tool todo_write, whose list you see and edit here.
It lets you answer Claude Code's dialogs here, while they stand in its terminal.
It tells the agent of your edits if it keeps its tasks with a tool of its own.

"
          (propertize "Install it" 'face 'bold) " (copied to the kill ring)\n\n"
          (car kill-ring) "\n\n"
          (propertize "Remove it" 'face 'bold) " (or C-u M-x todo-write-mcp-setup)\n\n"
          (todo-write-plugin--lines (todo-write-plugin--remove-commands)) "\n\n"
          (propertize "Without the plugin" 'face 'bold)
          ", the same by settings of your own in " (todo-write-plugin--settings-file) "\n\n"
          (todo-write-plugin--hooks (todo-write-mcp-setup--server))
          "\n\nand the tool, as M-x todo-write-mcp-setup for \"Claude Code\" shows.\n\n")
  (when (and (executable-find "claude") (y-or-n-p "Install the plugin now? "))
    ;; The tool must not be there twice, and an earlier plugin is replaced.
    (todo-write-plugin--run '(("claude" "mcp" "remove" "--scope" "user" "todo-write")))
    (when (todo-write-plugin--installed-p)
      (todo-write-plugin--run (todo-write-plugin--remove-commands)))
    (insert (if (todo-write-plugin--run (todo-write-plugin--install-commands))
                "\nDone.  Start Claude Code again to have it.\n"
              "\nIt failed; see above.\n")))
  (insert "\nClaude Code asks before the first call of the tool.  A plugin cannot allow that; your
settings can, and switch off the plan tools of older models.\n")
  (todo-write-mcp-setup--offer-settings nil nil (cons (todo-write-plugin--settings-file)
                                                      todo-write-plugin--rule))
  (todo-write-mcp-setup--offer-later))

(defun todo-write-plugin--remove ()
  "Offer to remove the plugin, and say in the current buffer what happened."
  (insert (propertize "Remove the plugin for Claude Code" 'face 'bold) "\n\n"
          (todo-write-plugin--lines (todo-write-plugin--remove-commands)) "\n\n")
  (when (and (executable-find "claude") (y-or-n-p "Remove the plugin now? "))
    (if (not (todo-write-plugin--run (todo-write-plugin--remove-commands)))
        (insert "\nIt failed; see above.\n")
      (delete-directory (todo-write-plugin--folder) t)
      (insert "\nDone.  Rules in your settings are yours to remove.\n"))))

;;; For the doctor

(defun todo-write-plugin--check ()
  "Ask a question by the plugin's program, and answer it with no.
Return a sentence about what went wrong, or nil."
  (let* ((session (format "doctor-%d-%d" (emacs-pid) (random 1000000)))
         (thread (concat "claude:" session))
         (process-environment
          (append '("CLAUDE_CODE_ENTRYPOINT" "CLAUDE_CODE_SESSION_ATTENDED") process-environment))
         (output (generate-new-buffer " *todo-write doctor*" t))
         (hook (make-process
                :name "todo-write-mcp" :buffer output :noquery t :sentinel #'ignore
                :connection-type 'pipe
                :command `(,(todo-write-plugin--program) "permission"
                           ,@(cdr (todo-write-mcp-setup--server))))))
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
      (ignore-errors (todo-write-forget thread)))))

(defun todo-write-plugin--wait (hook condition)
  "Wait until CONDITION, a function, returns non-nil, and return its value.
Return nil after 5 seconds, or if HOOK exits before."
  (let ((end (+ 5 (float-time))) value)
    (while (and (not (setq value (funcall condition)))
                (process-live-p hook)
                (< (float-time) end))
      (accept-process-output nil 0.02))
    (or value (funcall condition))))

(defun todo-write-plugin--finding ()
  "Return the doctor's finding about the plugin."
  (let* ((program (todo-write-plugin--program))
         (version (and (file-exists-p program) (todo-write-module--file-version program)))
         (remedy "M-x todo-write-mcp-setup"))
    (cond
     ((not (todo-write-plugin--installed-p))
      (list 'note "Claude Code's plugin: not installed" remedy))
     ((not (equal version todo-write-version))
      (list 'problem (format "Claude Code's plugin: its program is %s"
                             (if version (concat "version " version) "missing"))
            remedy))
     ((not (eq 'open (todo-write-socket--state)))
      (list 'note "Claude Code's plugin: no question reaches this Emacs"
            "M-x todo-write-mcp-mode"))
     (t (let ((problem (todo-write-plugin--check)))
          (if problem
              (list 'problem (concat "Claude Code's plugin: " problem) remedy)
            (list 'ok "Claude Code's plugin: a question was asked and answered")))))))

(provide 'todo-write-plugin)
;;; todo-write-plugin.el ends here
