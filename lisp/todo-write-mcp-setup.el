;;; todo-write-mcp-setup.el --- Give agents the tool todo_write  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; M-x todo-write-mcp-setup shows how to give an agent the tool `todo_write': the
;; command to run or the settings to add, how to switch off the agent's own plan
;; tool, and two lines for its instructions.  It downloads or builds the program
;; `todo-write-mcp' if that is missing, and switches `todo-write-mcp-mode' on.

;;; Code:

(require 'format-spec)
(require 'cl-lib)
(require 'json)
(require 'seq)
(require 'subr-x)
(require 'todo-write-core)
(require 'todo-write-mcp)
(require 'todo-write-socket)

(autoload 'todo-write-plugin--setup "todo-write-plugin")
(autoload 'todo-write-remote-setup--run "todo-write-remote-setup")

(defcustom todo-write-mcp-program nil
  "File name of the program `todo-write-mcp'.
If nil, it is searched beside the Lisp files and in variable `exec-path'."
  :group 'todo-write-hosts
  :type '(choice (const :tag "Look for it" nil) file)
  :package-version '(todo-write . "0.2.0"))

;;; Agents

(defconst todo-write-mcp-setup--agents
  '(("Claude Code"
     :home claude
     :remove ("claude" "mcp" "remove" "--scope" "user" "todo-write")
     :command ("claude" "mcp" "add" "--scope" "user" "todo-write" "--")
     :allow "Claude Code asks before the first call.  The settings below allow all calls."
     :plan "Its newest models have no plan tool of their own.  The settings below switch off
that of older ones."
     :merge ("%h/settings.json" . "{
  \"permissions\": {
    \"allow\": [\"mcp__todo-write__todo_write\"],
    \"deny\": [\"TodoWrite\", \"TaskCreate\", \"TaskUpdate\", \"TaskGet\", \"TaskList\"]
  }
}")
     :instructions "CLAUDE.md")
    ("Codex"
     :home codex
     :remove ("codex" "mcp" "remove" "todo-write")
     :command ("codex" "mcp" "add" "todo-write" "--")
     :allow "Codex asks before each call.  To allow all calls, put this into
%h/config.toml, below [mcp_servers.todo-write]:

  default_tools_approval_mode = \"approve\""
     :plan "Its own plan tool is off, unless %h/config.toml has
[tools.update_plan] with enabled = true.")
    ("Gemini CLI"
     :remove ("gemini" "mcp" "remove" "--scope" "user" "todo-write")
     :command ("gemini" "mcp" "add" "--scope" "user" "--trust" "todo-write")
     :plan "The settings below switch it off."
     :merge ("~/.gemini/settings.json" . "{
  \"useWriteTodos\": false
}")
     :instructions "GEMINI.md")
    ("opencode"
     :file "~/.config/opencode/opencode.json"
     :settings "{
  \"mcp\": {
    \"todo-write\": { \"type\": \"local\", \"command\": %l, \"enabled\": true }
  },
  \"tools\": { \"todowrite\": false }
}"
     :plan "The settings above switch it off.")
    ("Copilot CLI"
     :remove ("copilot" "mcp" "remove" "todo-write")
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
  :home          the agent as in `todo-write--agent-folder', whose folder
                 is %h in :merge's FILE, :allow and :plan
  :command       command to run, followed by that of the MCP server, and
  :remove        command that removes an earlier entry; or
  :file          the file to change, and
  :settings      the text to add, by default a member `mcpServers', in
                 which %p is the program, %a its arguments, and %l both,
                 as JSON
  :merge         further settings, (FILE . TEXT), a complete JSON object
  :allow         how to allow calls without a question
  :plan          how to switch off the agent's own plan tool
  :instructions  the agent's file of instructions; AGENTS.md by default")

(defconst todo-write-mcp-setup--plugin "Claude Code, with answers: the plugin"
  "How users name the plugin for Claude Code.")

(defconst todo-write-mcp-setup--instructions
  "Plan work of three or more steps with the tool todo_write, and update its list as you finish tasks.
The user can edit that list: follow the edits that the tool's result reports.\n"
  "Text for an agent's file of instructions.")

(defun todo-write-mcp-setup--get (agent key)
  "Return the value of KEY for AGENT in `todo-write-mcp-setup--agents'."
  (plist-get (cdr (assoc agent todo-write-mcp-setup--agents)) key))

(defun todo-write-mcp-setup--in-home (agent text)
  "Return TEXT about AGENT with the name of its folder for %h."
  (if-let* ((home (todo-write-mcp-setup--get agent :home)))
      (string-replace "%h" (directory-file-name (todo-write--agent-folder home)) text)
    text))

(defun todo-write-mcp-setup--command (agent server)
  "Return the command, a list, that gives AGENT the MCP server, or nil.
SERVER is the command of the MCP server, a list."
  (when-let ((command (todo-write-mcp-setup--get agent :command)))
    (append command server)))

(defun todo-write-mcp-setup--settings (agent server)
  "Return the text of the settings that give AGENT the MCP server, or nil.
SERVER is the command of the MCP server, a list."
  (when (todo-write-mcp-setup--get agent :file)
    (format-spec (or (todo-write-mcp-setup--get agent :settings) "{
  \"mcpServers\": {
    \"todo-write\": { \"command\": %p, \"args\": %a }
  }
}")
                 `((?p . ,(todo-write-json--text (car server)))
                   (?a . ,(todo-write-json--text (vconcat (cdr server))))
                   (?l . ,(todo-write-json--text (vconcat server)))))))

;;; The program

(defun todo-write-mcp-setup--program ()
  "Return the file name of the program `todo-write-mcp', or nil."
  (if todo-write-mcp-program
      (let ((file (expand-file-name todo-write-mcp-program)))
        (and (file-executable-p file) file))
    (locate-file "todo-write-mcp"
                 (append (list (todo-write-module--folder) todo-write-module--lisp) exec-path)
                 exec-suffixes 'file-executable-p)))

(defun todo-write-mcp-setup--stable ()
  "Return the file name of the copy of the program that agents start.
The package's folder has another name after each upgrade."
  (expand-file-name (concat "todo-write-mcp" (car exec-suffixes))
                    (locate-user-emacs-file "todo-write-bin/")))

(defun todo-write-mcp-setup--keep-program ()
  "Copy the program to its stable folder unless the same version is there."
  (let ((stable (todo-write-mcp-setup--stable)))
    (unless (or todo-write-mcp-program
                (and (file-exists-p stable)
                     (equal (todo-write-module--file-version stable)
                            (todo-write-module--file-version (todo-write-mcp-setup--program)))))
      (make-directory (file-name-directory stable) t)
      (todo-write-mcp-setup--copy-program stable))))

(defun todo-write-mcp-setup--copy-program (file)
  "Make FILE a copy of the program.
A running program cannot be overwritten, but replaced."
  (let ((new (make-temp-name (concat file "."))))
    (copy-file (todo-write-mcp-setup--program) new)
    (rename-file new file t)))

(defun todo-write-mcp-setup--server ()
  "Return the command of the MCP server for this Emacs, a list.
It names the socket only if that is not the usual one."
  (cons (let ((stable (todo-write-mcp-setup--stable)))
          (if (and (not todo-write-mcp-program) (file-executable-p stable))
              stable
            (todo-write-mcp-setup--program)))
        (and todo-write-socket (list "--socket" (todo-write-socket--file)))))

;;; The command

;;;###autoload
(defun todo-write-mcp-setup (agent &optional remove)
  "Show how to give AGENT the tool todo_write, and offer to do it.
AGENT is a name in `todo-write-mcp-setup--agents', or the plugin for Claude
Code, which also lets you answer its dialogs in Emacs.  The commands or
settings are copied to the kill ring.  If the program `todo-write-mcp' is
missing, offer to download or build it first.  Switch `todo-write-mcp-mode'
on if it is off.  With a prefix argument REMOVE, offer to take the tool or
the plugin away again.  In a folder of another machine, show what that
machine needs."
  (interactive
   (list (completing-read (if current-prefix-arg "Remove from agent: " "Agent: ")
                          (cons todo-write-mcp-setup--plugin
                                (mapcar #'car todo-write-mcp-setup--agents))
                          nil t)
         current-prefix-arg))
  (cond ((file-remote-p default-directory)
         (if remove
             (user-error "Remove the tool there, by the agent's own command")
           (todo-write-remote-setup--run agent)))
        ((not remove)
         (todo-write-mcp-setup--prepare)
         (if (equal agent todo-write-mcp-setup--plugin)
             (todo-write-plugin--setup)
           (todo-write-mcp-setup--show agent (todo-write-mcp-setup--server))))
        ((equal agent todo-write-mcp-setup--plugin) (todo-write-plugin--setup t))
        (t (todo-write-mcp-setup--remove agent))))

(defun todo-write-mcp-setup--remove (agent)
  "Offer to take the tool away from AGENT."
  (let ((command (or (todo-write-mcp-setup--get agent :remove)
                     (user-error "Remove todo-write from %s"
                                 (todo-write-mcp-setup--get agent :file)))))
    (kill-new (mapconcat #'shell-quote-argument command " "))
    (if (and (executable-find (car command))
             (y-or-n-p (format "Run `%s' now? " (car kill-ring))))
        (let ((default-directory (expand-file-name "~/")))
          (message (if (eql 0 (apply #'call-process (car command) nil nil nil (cdr command)))
                       "Removed from %s" "It failed: %s has no such tool")
                   agent))
      (message "Run `%s' (copied)" (car kill-ring)))))

(defun todo-write-mcp-setup--prepare ()
  "Get the program, and switch `todo-write-mcp-mode' on."
  (unless (todo-write-mcp-setup--program)
    (when todo-write-mcp-program
      (user-error "`todo-write-mcp-program' is %s, which cannot be run" todo-write-mcp-program))
    (let ((todo-write-module--declined nil))
      (todo-write-module--get "todo-write-mcp" "The program todo-write-mcp is missing.")))
  (todo-write-mcp-setup--switch-on)
  (todo-write-mcp-setup--keep-program))

(defun todo-write-mcp-setup--switch-on ()
  "Switch `todo-write-mcp-mode' on; signal a `user-error' if it stays off."
  (unless (todo-write-socket--state)
    (todo-write-mcp-mode)
    (unless todo-write-mcp-mode
      (user-error "Nothing was set up, since no agent could reach this Emacs; see *Warnings*"))))

(defun todo-write-mcp-setup--begin-page ()
  "Show the buffer of the setup, empty, and make it current."
  (pop-to-buffer (get-buffer-create "*todo-write MCP*"))
  (special-mode)
  (setq-local truncate-lines nil word-wrap t)
  (let ((inhibit-read-only t))
    (erase-buffer)))

(defun todo-write-mcp-setup--show (agent server)
  "Show how to give AGENT the MCP server whose command is SERVER."
  (let* ((command (todo-write-mcp-setup--command agent server))
         (remove (todo-write-mcp-setup--get agent :remove))
         (text (if command
                   (concat (mapconcat #'shell-quote-argument remove " ") "\n"
                           (mapconcat #'shell-quote-argument command " "))
                 (todo-write-mcp-setup--settings agent server))))
    (kill-new text)
    (todo-write-mcp-setup--begin-page)
    (let ((inhibit-read-only t))
      (todo-write-mcp-setup--insert agent text)
      (goto-char (point-min))
      (when (and command (executable-find (car command))
                 (y-or-n-p (format "Run `%s' now? " (string-join (seq-take command 3) " "))))
        (todo-write-mcp-setup--run remove command))
      (goto-char (point-max))
      (todo-write-mcp-setup--offer-settings agent server)
      (todo-write-mcp-setup--offer-later))))

(defun todo-write-mcp-setup--insert (agent text)
  "Insert instructions to give AGENT the tool by TEXT, a command or settings."
  (let* ((part (lambda (title &rest lines)
                 (insert (propertize title 'face 'bold) "\n\n")
                 (dolist (line lines) (insert line "\n"))
                 (insert "\n")))
         (file (todo-write-mcp-setup--get agent :file)))
    (funcall part (format "Give %s the tool todo_write" agent)
             (if file (format "Put this into %s (copied to the kill ring):\n" file)
               "Run this in a shell (copied to the kill ring); the first line may fail:\n")
             text)
    (when-let ((allow (todo-write-mcp-setup--get agent :allow)))
      (funcall part "Let it call the tool" (todo-write-mcp-setup--in-home agent allow)))
    (funcall part "Switch off its own plan tool"
             (todo-write-mcp-setup--in-home agent (todo-write-mcp-setup--get agent :plan)))
    (funcall part (format "Tell it to plan, in %s"
                          (or (todo-write-mcp-setup--get agent :instructions) "AGENTS.md"))
             todo-write-mcp-setup--instructions)
    (insert "Agents reach this Emacs while `todo-write-mcp-mode' is on.  For later sessions, put this
into your init file:

  (todo-write-mcp-mode)

M-x todo-write-doctor checks the way from the program to this Emacs.\n")))

(defun todo-write-mcp-setup--run (remove command)
  "Run COMMAND, a list, and insert its output at the end of the buffer.
First run REMOVE, since some agents refuse to add what they have."
  (goto-char (point-max))
  (let ((default-directory (expand-file-name "~/")))
    (apply #'call-process (car remove) nil nil nil (cdr remove))
    (insert (propertize (format "\n%s\n\n" (string-join (seq-take command 3) " ")) 'face 'bold))
    (let ((status (apply #'call-process (car command) nil t t (cdr command))))
      (insert (if (eql status 0) "\nDone.  Start the agent again to have the tool.\n"
                (format "\nIt failed with status %s.\n" status))))))

;;; Settings

(defun todo-write-mcp-setup--merge (old new)
  "Return OLD with the members of NEW, decoded JSON objects as alists.
Arrays get the elements that they lack."
  (pcase-dolist (`(,key . ,value) new)
    (let* ((member (assq key old)) (before (cdr member)))
      (cond ((null member) (setq old (append old (list (cons key value)))))
            ((and (consp before) (consp value))
             (setcdr member (todo-write-mcp-setup--merge before value)))
            ((and (vectorp before) (vectorp value))
             (setcdr member (vconcat before (seq-difference value before))))
            (t (setcdr member value)))))
  old)

(defun todo-write-mcp-setup--merged (old new)
  "Return the JSON text OLD, which may be empty, with the settings in NEW.
Signal a `json-error' if OLD is not JSON, for example because of comments."
  (cl-flet ((decode (text) (json-parse-string text :object-type 'alist :null-object :null
                                              :false-object :false)))
    (let ((settings (todo-write-mcp-setup--merge
                     (and (not (string-blank-p old)) (decode old)) (decode new))))
      (with-temp-buffer
        (insert (todo-write-json--text settings))
        (json-pretty-print-buffer)
        (goto-char (point-max))
        (insert "\n")
        (buffer-string)))))

(defun todo-write-mcp-setup--offer-settings (agent server &optional settings)
  "Show what AGENT's settings lack as a diff, and write them after a yes.
SERVER is the command of the MCP server.  SETTINGS, (FILE . TEXT), are
used in place of AGENT's."
  (pcase-let ((`(,file . ,new)
               (or settings
                   (todo-write-mcp-setup--get agent :merge)
                   (let ((file (todo-write-mcp-setup--get agent :file)))
                     (and file (string-suffix-p ".json" file)
                          (cons file (todo-write-mcp-setup--settings agent server)))))))
    (when file
      (setq file (todo-write-mcp-setup--in-home agent file))
      (insert "\n" (propertize (format "Settings in %s" file) 'face 'bold) "\n\n")
      (let* ((old (if (file-regular-p file)
                      (with-temp-buffer (insert-file-contents file) (buffer-string))
                    ""))
             (merged (ignore-errors (todo-write-mcp-setup--merged old new))))
        (cond
         ((null merged)
          (insert new "\n\nAdd this yourself: the file is not plain JSON.\n"))
         ((equal merged (ignore-errors (todo-write-mcp-setup--merged old "{}")))
          (insert new "\n\nThe file has these already.\n"))
         (t
          (insert new "\n\nMerged with what is there:\n\n"
                  (todo-write-mcp-setup--diff file old merged))
          (when (y-or-n-p (format "Write these settings into %s? " file))
            (todo-write-mcp-setup--write file merged))))))))

(defun todo-write-mcp-setup--diff (file old new)
  "Return the difference from OLD to NEW, texts of FILE, or NEW without `diff'."
  (let ((temporary (make-temp-file "todo-write" nil nil new)))
    (unwind-protect
        (with-temp-buffer
          (insert old)
          (if (ignore-errors
                (call-process-region nil nil "diff" t t nil "-u"
                                     "--label" file "--label" "merged" "-" temporary))
              (buffer-string)
            new))
      (delete-file temporary))))

(defun todo-write-mcp-setup--write (file text)
  "Write TEXT to FILE, and say where the backup of the old text is.
If that fails, FILE stays as it was.  The backup is that which Emacs makes
when it saves a file."
  (let* ((file (file-truename file))
         (backup (and (file-exists-p file) (car (find-backup-file-name file))))
         (modes (or (file-modes file) (logand #o666 (default-file-modes))))
         (coding-system-for-write 'utf-8)
         (write-region-inhibit-fsync nil))
    (make-directory (file-name-directory file) t)
    (let ((new (make-temp-file (concat file "."))))
      (unwind-protect
          (progn
            (write-region text nil new nil 'silent)
            (set-file-modes new modes)
            (when backup
              (copy-file file backup t t))
            (rename-file new file t))
        (delete-file new)))
    (insert (format "\nWritten.%s\n" (if backup (format "  The old file is %s" backup) "")))))

(defun todo-write-mcp-setup--kept-p ()
  "Return non-nil if later sessions of Emacs switch `todo-write-mcp-mode' on."
  (or (get 'todo-write-mcp-mode 'saved-value)
      (and user-init-file
           (file-regular-p user-init-file)
           (with-temp-buffer
             (insert-file-contents user-init-file)
             (re-search-forward "(todo-write-mcp-mode\\_>" nil t)))))

(defun todo-write-mcp-setup--offer-later ()
  "Offer to keep `todo-write-mcp-mode' on in later sessions."
  (when (and user-init-file (not (todo-write-mcp-setup--kept-p))
             (y-or-n-p "Keep todo-write-mcp-mode on in later sessions of Emacs? "))
    (customize-save-variable 'todo-write-mcp-mode t)
    (insert "\ntodo-write-mcp-mode stays on in later sessions.\n")))

;;; For the doctor

(defun todo-write-mcp-setup--check (server &optional folder)
  "Call this Emacs through SERVER, the command of the MCP server.
It runs on the machine of FOLDER, by default this one.  Return the line
that the program prints."
  (with-temp-buffer
    (let* ((default-directory (or folder (expand-file-name "~/")))
           (process (make-process :name "todo-write-mcp" :buffer (current-buffer) :noquery t
                                  :sentinel #'ignore :connection-type 'pipe :file-handler t
                                  :command (append server '("--check")))))
      ;; This Emacs must answer meanwhile.  The program waits for at most 5 s.
      (with-timeout (10 (delete-process process))
        (while (process-live-p process)
          (accept-process-output nil 0.05)))
      (while (accept-process-output process 0))
      (string-trim (buffer-string)))))

(defun todo-write-mcp-setup--finding ()
  "Return the doctor's finding about calls from agents to this Emacs."
  (let ((program (todo-write-mcp-setup--program))
        (remedy "M-x todo-write-mcp-setup"))
    (cond
     ((not program) (list 'note "MCP: todo-write-mcp is missing" remedy))
     ((not (todo-write-socket--state))
      (list 'note "MCP: off, so that no agent reaches this Emacs" "M-x todo-write-mcp-mode"))
     ((eq (todo-write-socket--state) 'client)
      (list 'note (format "MCP: agents reach another Emacs%s; this one takes over when that ends"
                          (if-let* ((pid (todo-write-socket--first-pid)))
                              (format ", process %d" pid) ""))
            "Quit the other Emacs, or switch its todo-write-mcp-mode off"))
     (todo-write-socket--outdated-programs
      (list 'problem (format "MCP: an agent's todo-write-mcp %s"
                             (string-join todo-write-socket--outdated-programs ", and "))
            remedy))
     (t (todo-write-mcp-setup--finding-of-call (car (todo-write-mcp-setup--server)))))))

(defun todo-write-mcp-setup--finding-of-call (program)
  "Return the doctor's finding about a call through PROGRAM to this Emacs."
  (let ((answer (todo-write-mcp-setup--check (todo-write-mcp-setup--server)))
        (program (abbreviate-file-name program)))
    (if (string-match-p (format ", process %d," (emacs-pid)) answer)
        (if (or noninteractive (todo-write-mcp-setup--kept-p))
            (list 'ok (format "MCP: a call through %s reached this Emacs" program))
          (list 'note (format "MCP: a call through %s reached this Emacs; on for this session only"
                              program)
                "Put (todo-write-mcp-mode) into your init file, or M-x todo-write-mcp-setup"))
      (list 'problem (format "MCP: a call through %s did not reach this Emacs: %s"
                             program answer)
            "M-x todo-write-mcp-setup"))))

(provide 'todo-write-mcp-setup)
;;; todo-write-mcp-setup.el ends here
