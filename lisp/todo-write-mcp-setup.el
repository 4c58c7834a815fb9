;;; todo-write-mcp-setup.el --- Give agents the tool todo_write  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; M-x todo-write-setup shows which agents are here, and what each would get, with
;; buttons that give it and take it back.  The program `todo-write-mcp' knows the agents
;; and runs their own commands; this file gets the program, and shows what it says.  It
;; also switches `todo-write-agents-mode' on, and offers to keep that on.

;;; Code:

(require 'button)
(require 'todo-write-buffer)
(require 'todo-write-socket)

(defvar todo-write-agents-mode)

;;; The program

(defun todo-write-mcp-setup--command (program &rest arguments)
  "Return PROGRAM, its role as setup, ARGUMENTS and its options, a list.
The package's folder has another name after each upgrade, so agents start
a copy of the program.  One that the user has named is not copied."
  `(,program "setup" ,@arguments
    ,@(unless todo-write-mcp-program
        (list "--folder" (expand-file-name (locate-user-emacs-file "todo-write-bin"))))
    ,@(and todo-write-socket (list "--socket" (expand-file-name todo-write-socket)))))

(defun todo-write-mcp-setup--environment ()
  "Return the program's environment, variable `exec-path' in PATH."
  (cons (concat "PATH=" (string-join (cons (or (getenv "PATH") "") (remq nil exec-path))
                                     path-separator))
        process-environment))

(defun todo-write-mcp-setup--ways ()
  "Return the ways to give agents the tool that the program prints.
Each is a plist of :id, :agent, :here, :installed, :gives and :by; see
agents/src/setup.rs.  Return nil if the program is older than this package,
or missing."
  (when-let* ((program (todo-write-module-find-program)))
    (with-temp-buffer
      (let ((coding-system-for-read 'utf-8)
            (default-directory (expand-file-name "~/"))
            (process-environment (todo-write-mcp-setup--environment)))
        (apply #'call-process program nil '(t nil) nil
               (cdr (todo-write-mcp-setup--command program "--json"))))
      (goto-char (point-min))
      (ignore-error json-error
        (json-parse-buffer :object-type 'plist :array-type 'list
                           :null-object nil :false-object nil)))))

(defun todo-write-mcp-setup-plugin-p ()
  "Return non-nil if Claude Code has the plugin."
  (seq-some (lambda (way) (and (equal "claude" (plist-get way :id)) (plist-get way :installed)))
            (todo-write-mcp-setup--ways)))

(defun todo-write-mcp-setup-missing (prefix)
  "Return what to do where PREFIX leads, since the program is missing there."
  (concat "The program todo-write-mcp is missing there.\n\n"
          (when-let* ((program (todo-write-module-find-program))
                      (there "~/.todo-write/bin/todo-write-mcp"))
            (format "If it is a machine of this kind, this line in a shell copies it there:
\n  %s 'umask 077; mkdir -p ~/.todo-write/bin && cat >%s && chmod 700 %s' <%s\n\n"
                    (mapconcat #'shell-quote-argument (todo-write-machines-shell prefix) " ")
                    there there (shell-quote-argument program)))
          "Otherwise, put the program for that machine from the release, or one built there by\n"
          "cargo, to ~/.todo-write/bin/todo-write-mcp there.\n\n"
          "In a shell there, ~/.todo-write/bin/todo-write-mcp setup gives it to agents.\n"))

;;; The page

(defvar-local todo-write-mcp-setup--process nil
  "Process that sets an agent up.")

(defvar-local todo-write-mcp-setup--said nil
  "What the program said last, (ID . TEXT).")

;;;###autoload
(defun todo-write-setup (&optional again)
  "Show which agents are here, and give them the tool todo_write.
If the module or the program `todo-write-mcp' is missing, offer to download
or build it first, and with a prefix argument AGAIN also if it is there.
Switch `todo-write-agents-mode' on if it is off."
  (interactive "P")
  (todo-write-module-renew again)
  (when again
    (todo-write-get-file "todo-write-mcp" "The program todo-write-mcp is to be replaced."))
  ;; It signals if the program is missing, and cannot be got.
  (todo-write-module-program)
  (unless (todo-write-socket-state)
    (todo-write-agents-mode)
    (todo-write-hub-wait #'todo-write-socket-door)
    (unless (todo-write-socket-state)
      (user-error "Nothing was set up, since no agent could reach this Emacs; see *Warnings*")))
  (todo-write-buffer-pop-to "*todo-write MCP*" 'special-mode nil)
  (todo-write-mcp-setup--check-idle)
  (use-local-map (make-composed-keymap button-buffer-map special-mode-map))
  (setq-local truncate-lines nil word-wrap t
              default-directory (expand-file-name "~/")
              revert-buffer-function (lambda (&rest _) (todo-write-mcp-setup--draw)))
  (todo-write-mcp-setup--draw)
  (current-buffer))

(defun todo-write-mcp-setup--check-idle ()
  "Signal a `user-error' while the program works for this buffer."
  (when (process-live-p todo-write-mcp-setup--process)
    (user-error "The setup is still at work")))

(defun todo-write-mcp-setup--run (id &rest options)
  "Set the agent ID up with OPTIONS, and draw what the program says."
  (todo-write-mcp-setup--check-idle)
  (let ((buffer (current-buffer))
        (process-environment (todo-write-mcp-setup--environment))
        (output ""))
    (setq todo-write-mcp-setup--process
          (make-process
           :name "todo-write-mcp setup" :noquery t :connection-type 'pipe
           :command (apply #'todo-write-mcp-setup--command (todo-write-module-program) id options)
           :filter (lambda (_ text) (setq output (concat output text)))
           :sentinel
           (lambda (process _event)
             (when (and (not (process-live-p process)) (buffer-live-p buffer))
               (while (accept-process-output process 0))
               (with-current-buffer buffer
                 (setq mode-line-process nil
                       todo-write-mcp-setup--said (cons id output))
                 (todo-write-mcp-setup--draw))))))
    (setq mode-line-process ":working")
    (ignore-errors (process-send-eof todo-write-mcp-setup--process))))

(defun todo-write-mcp-setup--draw ()
  "Draw the page."
  (todo-write-buffer-with-new-text
    (let ((ways (todo-write-mcp-setup--ways)))
      (unless ways
        (insert (format "%s is older than this package.\n" (todo-write-module-program))))
      (pcase-dolist (`(,agent . ,ways) (seq-group-by (lambda (way) (plist-get way :agent)) ways))
        (let ((here (plist-get (car ways) :here)))
          (insert (propertize (todo-write-text-plain agent) 'face 'bold)
                  (if here "\n" ": not installed here\n\n"))
          (when here (mapc #'todo-write-mcp-setup--insert-way ways)))))
    (insert (propertize "This Emacs" 'face 'bold)
            "\nAgents reach it while `todo-write-agents-mode' is on; "
            "M-x todo-write-doctor checks it.\n"
            "\nFor later sessions, put (todo-write-agents-mode) into your init file.\n")))

(defun todo-write-mcp-setup--insert-way (way)
  "Insert WAY, its state, and buttons that do it."
  (let ((id (plist-get way :id)) (by (plist-get way :by)) (installed (plist-get way :installed)))
    (insert (todo-write-text-plain-lines (plist-get way :gives)) "\n\n")
    (cond (installed (insert "It has this.\n\n"))
          (by (dolist (line by) (insert "  " (todo-write-text-plain line) "\n"))
              (insert "\n")))
    (todo-write-mcp-setup--button
     (cond (installed "Set it up again") (by "Set it up") (t "Show the text"))
     #'todo-write-mcp-setup--run id)
    (when installed
      (insert " ")
      (todo-write-mcp-setup--button "Take it away" #'todo-write-mcp-setup--run id "--remove"))
    (insert "\n\n")
    (when (equal id (car todo-write-mcp-setup--said))
      (insert (todo-write-text-plain-lines (string-trim (cdr todo-write-mcp-setup--said)))
              "\n\n"))))

(defun todo-write-mcp-setup--button (label function &rest arguments)
  "Insert a button LABEL that calls FUNCTION with ARGUMENTS."
  (insert-text-button (format "[%s]" label) 'follow-link t 'help-echo nil
                      'action (lambda (_) (apply function arguments))))

;;; For the doctor

(defun todo-write-mcp-setup-finding ()
  "Return the doctor's finding about calls from agents to this Emacs."
  (cond
   ((not (todo-write-module-find-program))
    '(note "Missing, so that no agent outside of Emacs is followed or can call todo_write"
           "M-x todo-write-setup gets it and connects your agent"))
   ((not (todo-write-socket-state))
    '(note "Off, so that no agent reaches this Emacs"
           "M-x todo-write-setup connects your agent and switches it on; if it is connected, \
M-x todo-write-agents-mode"))
   ((eq (todo-write-socket-state) 'client)
    (list 'note (format "Another Emacs, process %s, serves and follows agents; \
this one takes over when that ends" (or (cadr (todo-write-socket-door)) "unknown"))
          "Quit the other Emacs, or switch its todo-write-agents-mode off"))
   (todo-write-socket-outdated-programs
    (list 'problem (concat "An agent's todo-write-mcp "
                           (string-join todo-write-socket-outdated-programs ", and "))
          "M-x todo-write-setup"))
   (t '(ok "Agents reach this Emacs"))))

(defun todo-write-mcp-setup-findings ()
  "Return the doctor's findings about the agents that are here, a list."
  (cl-loop
   for (agent . ways) in (seq-group-by
                          (lambda (way) (plist-get way :agent))
                          (seq-filter (lambda (way)
                                        (and (plist-get way :here) (plist-get way :by)))
                                      (todo-write-mcp-setup--ways)))
   for program = (seq-some (lambda (way) (plist-get way :installed)) ways)
   for version = (and program (file-regular-p program) (todo-write-module-file-version program))
   collect (if (equal version todo-write-version) (list 'ok (format "%s: is set up" agent))
             (list (if program 'problem 'note)
                   (concat agent (cond ((not program) ": not set up")
                                       (version (concat ": its todo-write-mcp is version " version))
                                       (t ": its todo-write-mcp is missing")))
                   "M-x todo-write-setup"))))

(provide 'todo-write-mcp-setup)
;;; todo-write-mcp-setup.el ends here
