;;; todo-write-mcp-setup.el --- Give agents the tool todo_write  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; M-x todo-write-mcp-setup shows how to give an agent the tool `todo_write': the
;; command to run or the settings to add, how to switch off the agent's own plan
;; tool, and two lines for its instructions.  It downloads or builds the program
;; `todo-write-mcp' if that is missing, and starts the server of this Emacs.  Calls of
;; agents are handled in todo-write-mcp.el.

;;; Code:

(require 'format-spec)
(require 'seq)
(require 'server)
(require 'subr-x)
(require 'todo-write-core)

(defcustom todo-write-mcp-program nil
  "File name of the program `todo-write-mcp'.
If nil, it is searched beside the Lisp files and in variable `exec-path'."
  :group 'todo-write
  :type '(choice (const :tag "Look for it" nil) file))

;;; Agents

(defconst todo-write-mcp-setup-agents
  '(("Claude Code"
     :command ("claude" "mcp" "add" "--scope" "user" "todo-write" "--")
     :allow "Claude Code asks before the first call.  To allow all calls, put this
into ~/.claude/settings.json:

  \"permissions\": { \"allow\": [\"mcp__todo-write__todo_write\"] }"
     :plan "Its newest models have no plan tool of their own.  For older ones, put this
into ~/.claude/settings.json:

  \"permissions\": { \"deny\": [\"TodoWrite\", \"TaskCreate\", \"TaskUpdate\",
                             \"TaskGet\", \"TaskList\"] }"
     :instructions "CLAUDE.md")
    ("Codex"
     :command ("codex" "mcp" "add" "todo-write" "--")
     :allow "Codex asks before each call.  To allow all calls, put this into
~/.codex/config.toml, below [mcp_servers.todo-write]:

  default_tools_approval_mode = \"approve\""
     :plan "Its own plan tool is off, unless ~/.codex/config.toml has
[tools.update_plan] with enabled = true.")
    ("Gemini CLI"
     :command ("gemini" "mcp" "add" "--scope" "user" "--trust" "todo-write")
     :plan "To switch off its own plan tool, put this into ~/.gemini/settings.json:

  \"useWriteTodos\": false"
     :instructions "GEMINI.md")
    ("opencode"
     :file "~/.config/opencode/opencode.json"
     :settings "{
  \"mcp\": {
    \"todo-write\": { \"type\": \"local\", \"command\": %l, \"enabled\": true }
  }
}"
     :plan "To switch off its own plan tool, put this into the same file:

  \"tools\": { \"todowrite\": false }")
    ("Copilot CLI"
     :command ("copilot" "mcp" "add" "todo-write" "--")
     :allow "Copilot asks before the first call.  To allow all calls, start it with
--allow-tool=todo-write."
     :plan "It has no plan tool that could be switched off.")
    ("Cursor"
     :file "~/.cursor/mcp.json"
     :plan "Its own plan tool cannot be switched off.  Use the lines below.")
    ("Goose"
     :file "~/.config/goose/config.yaml"
     :settings "extensions:
  todo-write:
    enabled: true
    type: stdio
    name: todo-write
    cmd: %p
    args: %a
    timeout: 60"
     :plan "To switch off its own plan tool, disable the extension `todo' with
`goose configure'.")
    ("other"
     :file "the settings of the agent"
     :plan "If the agent has a plan tool of its own, switch it off."))
  "Alist of agents, by name, and plists that say how to give them the tool.
The keys of a plist:
  :command       command to run, followed by that of the MCP server; or
  :file          the file to change, and
  :settings      the text to add, by default a member `mcpServers', in
                 which %p is the program, %a its arguments, and %l both,
                 as JSON
  :allow         how to allow calls without a question
  :plan          how to switch off the agent's own plan tool
  :instructions  the agent's file of instructions; AGENTS.md by default")

(defconst todo-write-mcp-setup-instructions
  "Plan work of three or more steps with the tool todo_write, and update its list as you finish tasks.
The user can edit that list: follow the edits that the tool's result reports.\n"
  "Text for an agent's file of instructions.")

(defun todo-write-mcp-setup--get (agent key)
  "Return the value of KEY for AGENT in `todo-write-mcp-setup-agents'."
  (plist-get (cdr (assoc agent todo-write-mcp-setup-agents)) key))

(defun todo-write-mcp-setup-command (agent server)
  "Return the command, a list, that gives AGENT the MCP server, or nil.
SERVER is the command of the MCP server, a list."
  (when-let ((command (todo-write-mcp-setup--get agent :command)))
    (append command server)))

(defun todo-write-mcp-setup-settings (agent server)
  "Return the text of the settings that give AGENT the MCP server, or nil.
SERVER is the command of the MCP server, a list."
  (when (todo-write-mcp-setup--get agent :file)
    (let ((json (lambda (value) (decode-coding-string (json-serialize value) 'utf-8))))
      (format-spec (or (todo-write-mcp-setup--get agent :settings) "{
  \"mcpServers\": {
    \"todo-write\": { \"command\": %p, \"args\": %a }
  }
}")
                   `((?p . ,(funcall json (car server)))
                     (?a . ,(funcall json (vconcat (cdr server))))
                     (?l . ,(funcall json (vconcat server))))))))

;;; The program

(defun todo-write-mcp-setup--program ()
  "Return the file name of the program `todo-write-mcp', or nil."
  (if todo-write-mcp-program
      (let ((file (expand-file-name todo-write-mcp-program)))
        (and (file-executable-p file) file))
    (locate-file "todo-write-mcp"
                 (append (list (todo-write-module-folder) todo-write-module--lisp) exec-path)
                 exec-suffixes 'file-executable-p)))

(defun todo-write-mcp-setup--server ()
  "Return the command of the MCP server for this Emacs, a list.
It has the full name of the server's file, because agents may remove the
environment variables by which emacsclient would find it."
  (append
   (list (todo-write-mcp-setup--program))
   (unless (executable-find "emacsclient")
     (list "--emacsclient" (expand-file-name "emacsclient" invocation-directory)))
   (if server-use-tcp
       (list "--server-file" (expand-file-name server-name server-auth-dir))
     (list "--socket-name" (expand-file-name server-name server-socket-dir)))))

(defun todo-write-mcp-setup--start-server ()
  "Start the server of this Emacs, unless it is running."
  (unless (process-live-p server-process)
    (when (server-running-p)
      (user-error "Another Emacs has the server %S; set `server-name' first" server-name))
    (server-start)))

;;; The command

;;;###autoload
(defun todo-write-mcp-setup (agent)
  "Show how to give AGENT the tool todo_write, and offer to do it.
AGENT is a name in `todo-write-mcp-setup-agents'.  The command or the
settings are copied to the kill ring.  If the program `todo-write-mcp' is
missing, offer to download or build it first.  Start the server of this
Emacs if it is not running."
  (interactive (list (completing-read "Agent: " todo-write-mcp-setup-agents nil t)))
  (unless (todo-write-mcp-setup--program)
    (when todo-write-mcp-program
      (user-error "`todo-write-mcp-program' is %s, which cannot be run" todo-write-mcp-program))
    (let ((todo-write-module--declined nil))
      (todo-write-module-get "todo-write-mcp" "The program todo-write-mcp is missing.")))
  (todo-write-mcp-setup--start-server)
  (todo-write-mcp-setup--show agent (todo-write-mcp-setup--server)))

(defun todo-write-mcp-setup--show (agent server)
  "Show how to give AGENT the MCP server whose command is SERVER."
  (let* ((command (todo-write-mcp-setup-command agent server))
         (text (if command (mapconcat #'shell-quote-argument command " ")
                 (todo-write-mcp-setup-settings agent server))))
    (kill-new text)
    (pop-to-buffer (get-buffer-create "*todo-write MCP*"))
    (special-mode)
    (setq-local truncate-lines nil word-wrap t)
    (let ((inhibit-read-only t))
      (erase-buffer)
      (todo-write-mcp-setup--insert agent text)
      (goto-char (point-min))
      (when (and command (executable-find (car command))
                 (y-or-n-p (format "Run `%s' now? " (string-join (seq-take command 3) " "))))
        (todo-write-mcp-setup--run command)))))

(defun todo-write-mcp-setup--insert (agent text)
  "Insert instructions to give AGENT the tool by TEXT, a command or settings."
  (let* ((part (lambda (title &rest lines)
                 (insert (propertize title 'face 'bold) "\n\n")
                 (dolist (line lines) (insert line "\n"))
                 (insert "\n")))
         (file (todo-write-mcp-setup--get agent :file)))
    (funcall part (format "Give %s the tool todo_write" agent)
             (if file (format "Put this into %s (copied to the kill ring):\n" file)
               "Run this in a shell (copied to the kill ring):\n")
             text)
    (when-let ((allow (todo-write-mcp-setup--get agent :allow)))
      (funcall part "Let it call the tool" allow))
    (funcall part "Switch off its own plan tool" (todo-write-mcp-setup--get agent :plan))
    (funcall part (format "Tell it to plan, in %s"
                          (or (todo-write-mcp-setup--get agent :instructions) "AGENTS.md"))
             todo-write-mcp-setup-instructions)
    (insert "M-x todo-write-doctor checks the way from the program to this Emacs.\n")))

(defun todo-write-mcp-setup--run (command)
  "Run COMMAND, a list, and insert its output at the end of the buffer."
  (goto-char (point-max))
  (insert (propertize (format "\n%s\n\n" (string-join (seq-take command 3) " ")) 'face 'bold))
  (let* ((default-directory (expand-file-name "~/"))
         (status (apply #'call-process (car command) nil t t (cdr command))))
    (insert (if (eql status 0) "\nDone.  Start the agent again to have the tool.\n"
              (format "\nIt failed with status %s.\n" status)))))

;;; For the doctor

(defun todo-write-mcp-setup--check (server)
  "Call this Emacs through SERVER, the command of the MCP server.
Return the line that the program prints."
  (with-temp-buffer
    (let* ((default-directory (expand-file-name "~/"))
           (process (make-process :name "todo-write-mcp" :buffer (current-buffer) :noquery t
                                  :sentinel #'ignore :connection-type 'pipe
                                  :command (append server '("--check")))))
      ;; This Emacs must answer meanwhile.  The program waits for at most 5 s.
      (with-timeout (10 (delete-process process))
        (while (process-live-p process)
          (accept-process-output nil 0.05)))
      (while (accept-process-output process 0))
      (string-trim (buffer-string)))))

(defun todo-write-mcp-setup-finding ()
  "Return the doctor's finding about calls from agents to this Emacs."
  (let ((program (todo-write-mcp-setup--program))
        (remedy "M-x todo-write-mcp-setup"))
    (cond
     ((not program) (list 'note "MCP: todo-write-mcp is missing" remedy))
     ((not (process-live-p server-process))
      (list 'note "MCP: this Emacs has no server that agents could reach" remedy))
     (t
      (let ((answer (todo-write-mcp-setup--check (todo-write-mcp-setup--server)))
            (program (abbreviate-file-name program)))
        (if (string-match-p (format ", process %d," (emacs-pid)) answer)
            (list 'ok (format "MCP: a call through %s reached this Emacs" program))
          (list 'problem (format "MCP: a call through %s did not reach this Emacs: %s"
                                 program answer)
                "Set `server-name' to a name that no other Emacs has, and M-x todo-write-mcp-setup")))))))

(provide 'todo-write-mcp-setup)
;;; todo-write-mcp-setup.el ends here
