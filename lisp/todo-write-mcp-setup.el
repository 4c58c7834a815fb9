;;; todo-write-mcp-setup.el --- Give agents the tool todo_write  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; M-x todo-write-mcp-setup gives an agent the tool `todo_write'.  The program
;; `todo-write-mcp' knows how: this file gets the program, runs its subcommand `setup',
;; and shows the page that it prints, with a button for each thing that it can do.  It
;; also switches `todo-write-mcp-mode' on, and offers to keep that on.
;;
;; In a folder of another machine, the program there does this, once it is there: the
;; program here prints the lines for a shell that bring it there.  Of that machine, only
;; `uname' is asked.

;;; Code:

(require 'button)
(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'text-property-search)
(require 'todo-write-commands)
(require 'todo-write-core)
(require 'todo-write-machines)
(require 'todo-write-module)
(require 'todo-write-page)
(require 'todo-write-socket)
(require 'todo-write-text)

(defvar todo-write-mcp-mode)

(defcustom todo-write-mcp-program nil
  "File name of the program `todo-write-mcp'.
If nil, it is searched beside the Lisp files and in variable `exec-path'."
  :group 'todo-write-hosts
  :type '(choice (const :tag "Look for it" nil) file)
  :package-version '(todo-write . "0.2.0"))

;;; The program

(defun todo-write-mcp-setup--program ()
  "Return the file name of the program `todo-write-mcp', or nil."
  (if todo-write-mcp-program
      (let ((file (expand-file-name todo-write-mcp-program)))
        (and (file-executable-p file) file))
    (locate-file "todo-write-mcp"
                 (append (list (todo-write-module-folder) todo-write-module-lisp) exec-path)
                 exec-suffixes 'file-executable-p)))

(defun todo-write-mcp-setup--folder ()
  "Return the folder of the copy of the program that agents start, or nil.
The package's folder has another name after each upgrade.  A program that
the user has named is not copied."
  (unless todo-write-mcp-program
    (expand-file-name (locate-user-emacs-file "todo-write-bin"))))

(defun todo-write-mcp-setup--socket ()
  "Return the options that name the socket if it is not the usual one."
  (and todo-write-socket (list "--socket" (todo-write-socket-file))))

(defun todo-write-mcp-setup-server ()
  "Return the command of the MCP server that agents start, a list."
  (let* ((folder (todo-write-mcp-setup--folder))
         (copy (and folder (expand-file-name "todo-write-mcp" folder))))
    (cons (if (and copy (file-executable-p copy)) copy (todo-write-mcp-setup--program))
          (todo-write-mcp-setup--socket))))

(defun todo-write-mcp-setup--get ()
  "Return the file name of the program, after getting it if it is missing."
  (or (todo-write-mcp-setup--program)
      (if todo-write-mcp-program
          (user-error "`todo-write-mcp-program' is %s, which cannot be run" todo-write-mcp-program)
        (let ((todo-write-module-declined nil))
          (todo-write-module-get "todo-write-mcp" "The program todo-write-mcp is missing."))
        (todo-write-mcp-setup--program))))

(defun todo-write-mcp-setup-ask (&rest arguments)
  "Return the JSON object that `todo-write-mcp setup' prints for ARGUMENTS.
It is a plist.  Return nil if there is no program, or an older one that
does not know ARGUMENTS."
  (when-let* ((program (or (todo-write-mcp-setup--program) (car (todo-write-mcp-setup-server)))))
    (with-temp-buffer
      (let ((default-directory (expand-file-name "~/"))
            (coding-system-for-read 'utf-8))
        (apply #'call-process program nil '(t nil) nil "setup" arguments)
        (todo-write-mcp-setup--parse (buffer-string))))))

(defun todo-write-mcp-setup--ask-later (function &rest arguments)
  "Call FUNCTION with the value of `todo-write-mcp-setup-ask' for ARGUMENTS.
The program runs meanwhile."
  (if-let* ((program (or (todo-write-mcp-setup--program) (car (todo-write-mcp-setup-server)))))
      (let* ((default-directory (expand-file-name "~/"))
             (process (make-process
                       :name "todo-write-mcp setup" :noquery t :connection-type 'pipe
                       :coding 'utf-8 :buffer (generate-new-buffer " *todo-write MCP*" t)
                       :command `(,program "setup" ,@arguments)
                       :sentinel (lambda (process _event)
                                   (unless (process-live-p process)
                                     (funcall function
                                              (todo-write-mcp-setup--parse
                                               (todo-write-mcp-setup--output process))))))))
        ;; A program that is older than this package would wait for calls; this one may have ended.
        (ignore-errors (process-send-eof process)))
    (funcall function nil)))

(defun todo-write-mcp-setup--output (process)
  "Return what PROCESS, which has ended, has printed, and kill its buffer."
  (while (accept-process-output process 0))
  (prog1 (with-current-buffer (process-buffer process) (buffer-string))
    (kill-buffer (process-buffer process))))

(defun todo-write-mcp-setup--parse (output)
  "Return the JSON object in OUTPUT of the program as a plist, or nil."
  (condition-case nil
      (and (string-match "^{.*}$" output)
           (json-parse-string (match-string 0 output) :object-type 'plist
                              :array-type 'list :null-object nil :false-object nil))
    (json-error nil)))

(defun todo-write-mcp-setup--list (program)
  "Return the agents that PROGRAM knows, lists (COMMAND NAME)."
  (with-temp-buffer
    (call-process program nil t nil "setup" "--list")
    (seq-filter #'cdr (mapcar (lambda (line) (split-string line "\t"))
                              (split-string (buffer-string) "\n" t)))))

(defun todo-write-mcp-setup--agents ()
  "Return the names of the agents that the program knows, a list."
  (or (mapcar #'cadr (todo-write-mcp-setup--list (todo-write-mcp-setup--get)))
      (user-error "%s is older than this package" (todo-write-mcp-setup--program))))

;;; The command

;;;###autoload
(defun todo-write-mcp-setup (agent &optional remove)
  "Show how to give AGENT the tool todo_write, and offer to do it.
AGENT is a name that the program `todo-write-mcp' knows: an agent, or the
plugin for Claude Code, which also lets you answer its dialogs in Emacs.
The commands or settings are copied to the kill ring.  If the program is
missing, offer to download or build it first.  Switch `todo-write-mcp-mode'
on if it is off.  With a prefix argument REMOVE, show how to take the tool
or the plugin away again.  In a folder of another machine, show what that
machine needs."
  (interactive
   (list (completing-read (if current-prefix-arg "Remove from agent: " "Agent: ")
                          (todo-write-mcp-setup--agents) nil t)
         current-prefix-arg))
  (if (file-remote-p default-directory)
      (todo-write-mcp-setup--show-there agent remove)
    (let ((program (todo-write-mcp-setup--get))
          (folder (todo-write-mcp-setup--folder)))
      (unless remove
        (todo-write-mcp-setup--switch-on))
      (todo-write-mcp-setup--show
       `(,program "setup" ,agent ,@(and remove '("--remove"))
                  ,@(and folder (list "--folder" folder))
                  ,@(todo-write-mcp-setup--socket))))))

(defun todo-write-mcp-setup--switch-on ()
  "Switch `todo-write-mcp-mode' on; signal a `user-error' if it stays off."
  (unless (todo-write-socket-state)
    (todo-write-mcp-mode)
    (unless todo-write-mcp-mode
      (user-error "Nothing was set up, since no agent could reach this Emacs; see *Warnings*"))))

;;; Another machine

(defun todo-write-mcp-setup--show-there (agent remove)
  "Show how AGENT gets the tool on the machine of the current folder.
AGENT and REMOVE are as in `todo-write-mcp-setup'."
  (let* ((prefix (file-remote-p default-directory))
         (file (expand-file-name (concat prefix "~/.todo-write/bin/todo-write-mcp"))))
    (todo-write-mcp-setup--show
     (and (file-executable-p file)
          `(,(file-local-name file) "setup" ,agent ,@(and remove '("--remove"))))
     (unless remove (todo-write-mcp-setup--sections-there prefix)))))

(defun todo-write-mcp-setup--sections-there (prefix)
  "Return what to show about the machine where PREFIX leads, lists (TITLE TEXT)."
  (let* ((name (todo-write-machines-of prefix))
         (system (with-temp-buffer
                   (if (eql 0 (process-file "uname" nil '(t nil) nil "-sm"))
                       (string-trim (buffer-string))
                     "unknown")))
         (lines (apply #'todo-write-mcp-setup-ask
                       (todo-write-mcp-setup--lines prefix system))))
    `((,(format "Agents on %s" (or name prefix))
       ,(format "Their calls reach this Emacs while it is connected: M-x todo-write-connect, or in your
init file\n\n  (todo-write-connect %S)" (or name prefix)))
      ("The program: run these here, in a shell, then M-x todo-write-mcp-setup again"
       ,(string-join (list (plist-get lines :lines) (plist-get lines :note)) "\n\n")))))

(defun todo-write-mcp-setup--lines (prefix &optional system)
  "Return arguments for how the program gets to the machine where PREFIX leads.
For these, the program prints `:lines', which are for a shell here, and
`:note', what to say of them.  SYSTEM is what `uname -sm' prints there, by
default what it prints here."
  `("--json" "--machine"
    ,@(and system (list "--system" system))
    ,@(when-let* ((sources (todo-write-module-sources)))
        (list "--sources" (directory-file-name (expand-file-name sources))))
    "--" ,@(todo-write-machines-shell prefix)))

(defun todo-write-mcp-setup-copy-line (prefix function)
  "Call FUNCTION with the line that copies the program to where PREFIX leads.
The line is for a shell; that must be a machine of this kind.  It is nil
if there is no program here."
  (apply #'todo-write-mcp-setup--ask-later
         (lambda (found) (funcall function (plist-get found :lines)))
         (todo-write-mcp-setup--lines prefix)))

;;; The page

(defvar-local todo-write-mcp-setup--command nil
  "Command that prints the page, a list, or nil if there is none.")

(defvar-local todo-write-mcp-setup--sections nil
  "Sections before those that the program prints, lists (TITLE TEXT).")

(defvar-local todo-write-mcp-setup--process nil
  "Process that prints the page.")

(defvar-local todo-write-mcp-setup--copied nil
  "Non-nil once the commands or settings of this page were copied.")

(defun todo-write-mcp-setup--show (command &optional sections)
  "Show the page that COMMAND prints, a list, with SECTIONS before it.
COMMAND runs on the machine of `default-directory'.  If it is nil, show
only SECTIONS, lists (TITLE TEXT)."
  (let ((folder (if (file-remote-p default-directory) default-directory
                  (expand-file-name "~/"))))
    (with-current-buffer (get-buffer-create "*todo-write MCP*")
      (todo-write-mcp-setup--check-idle)
      (special-mode)
      (use-local-map (make-composed-keymap button-buffer-map special-mode-map))
      (setq-local truncate-lines nil word-wrap t
                  default-directory folder
                  todo-write-mcp-setup--command command
                  todo-write-mcp-setup--sections sections
                  revert-buffer-function (lambda (&rest _) (todo-write-mcp-setup--start)))
      (todo-write-mcp-setup--draw nil "Reading the agent's settings…")
      (goto-char (point-min))
      (todo-write-mcp-setup--start)
      (pop-to-buffer (current-buffer)))))

(defun todo-write-mcp-setup--check-idle ()
  "Signal a `user-error' while the program works for this buffer."
  (when (process-live-p todo-write-mcp-setup--process)
    (user-error "The setup is still at work")))

(defun todo-write-mcp-setup--start (&rest options)
  "Run the program with OPTIONS, such as \"--write\", and draw what it prints."
  (todo-write-mcp-setup--check-idle)
  (if (null todo-write-mcp-setup--command)
      (todo-write-mcp-setup--draw nil "")
    (let ((buffer (current-buffer))
          (process-environment
           ;; An agent's command may be in `exec-path' only.
           (if (file-remote-p default-directory) process-environment
             (cons (concat "PATH=" (string-join (cons (or (getenv "PATH") "") (remq nil exec-path))
                                                path-separator))
                   process-environment))))
      (setq mode-line-process ":working"
            todo-write-mcp-setup--process
            (make-process
             :name "todo-write-mcp setup" :noquery t :connection-type 'pipe :file-handler t
             :buffer (generate-new-buffer " *todo-write MCP*" t)
             :command (append todo-write-mcp-setup--command '("--json") options)
             :sentinel (lambda (process _event)
                         (unless (process-live-p process)
                           (todo-write-mcp-setup--take process buffer)))))
      ;; A program that is older than this package would wait for calls; this one may have ended.
      (ignore-errors (process-send-eof todo-write-mcp-setup--process)))))

(defun todo-write-mcp-setup--take (process buffer)
  "Draw the page that PROCESS has printed in BUFFER."
  (let* ((output (todo-write-mcp-setup--output process))
         (page (todo-write-mcp-setup--parse output)))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (setq mode-line-process nil)
        (todo-write-mcp-setup--draw
         page (if (string-blank-p output)
                  (format "%s printed nothing.  It may be older than this package."
                          (car todo-write-mcp-setup--command))
                output))
        (when-let* ((copy (plist-get page :copy)) ((not todo-write-mcp-setup--copied)))
          (kill-new copy)
          (setq todo-write-mcp-setup--copied t)
          (message "Copied to the kill ring: %s" (car (split-string copy "\n"))))))))

(defun todo-write-mcp-setup--draw (page text)
  "Draw PAGE, the program's, or TEXT if PAGE is nil.
Point and windows stay in their sections."
  (let ((inhibit-read-only t))
    (todo-write-page-keep #'todo-write-mcp-setup--section-at #'todo-write-mcp-setup--section-start
                          (lambda ()
                            (erase-buffer)
                            (pcase-dolist (`(,title ,text) todo-write-mcp-setup--sections)
                              (todo-write-mcp-setup--insert title text))
                            (if page (todo-write-mcp-setup--insert-page page)
                              (insert (todo-write-text-plain-lines text) "\n"))))))

(defun todo-write-mcp-setup--section-at (position &optional _start)
  "Return the title of the section at POSITION, or nil."
  (get-text-property position 'todo-write-mcp-setup))

(defun todo-write-mcp-setup--section-start (title)
  "Return the start of the section TITLE, or nil if there is none now."
  (save-excursion
    (goto-char (point-min))
    (when-let* ((found (text-property-search-forward 'todo-write-mcp-setup title t)))
      (prop-match-beginning found))))

(defun todo-write-mcp-setup--insert-page (page)
  "Insert the sections of PAGE, what concerns this Emacs, and what is not done."
  (let* ((is-here (not (or (file-remote-p default-directory)
                           (member "--remove" todo-write-mcp-setup--command))))
         (open (append (plist-get page :open)
                       (and is-here user-init-file (not (todo-write-mcp-setup-kept-p))
                            '("keep `todo-write-mcp-mode' on in later sessions")))))
    (dolist (section (plist-get page :sections))
      (todo-write-mcp-setup--insert
       (plist-get section :title) (plist-get section :text)
       (mapcar (lambda (offer)
                 (let ((option (plist-get offer :option)))
                   (cons (plist-get offer :label)
                         (lambda () (todo-write-mcp-setup--start option)))))
               (seq-filter (lambda (offer)
                             (member (plist-get offer :option)
                                     '("--run" "--write" "--edits" "--no-edits")))
                           (plist-get section :offers)))))
    (when is-here
      (todo-write-mcp-setup--insert-later))
    (if open
        (todo-write-mcp-setup--insert
         "Not done yet" (mapconcat (lambda (clause) (concat "- " clause)) open "\n"))
      (todo-write-mcp-setup--insert "Done" (plist-get page :closing)))))

(defun todo-write-mcp-setup--insert (title text &optional buttons)
  "Insert the section TITLE with TEXT and BUTTONS, an alist (LABEL . FUNCTION)."
  (let ((start (point)))
    (insert (propertize (todo-write-text-plain title) 'face 'bold) "\n\n")
    (unless (string-empty-p text)
      (insert (todo-write-text-plain-lines text) "\n\n"))
    (pcase-dolist (`(,label . ,press) buttons)
      (insert-text-button (format "[%s]" (todo-write-text-plain label))
                          'follow-link t 'help-echo nil
                          'action (lambda (_) (funcall press)))
      (insert "\n\n"))
    (put-text-property start (point) 'todo-write-mcp-setup title)))

;;; Later sessions

(defun todo-write-mcp-setup-kept-p ()
  "Return non-nil if later sessions of Emacs switch `todo-write-mcp-mode' on."
  (or (get 'todo-write-mcp-mode 'saved-value)
      (and user-init-file
           (file-regular-p user-init-file)
           (with-temp-buffer
             (insert-file-contents user-init-file)
             (with-syntax-table emacs-lisp-mode-syntax-table
               (cl-loop while (re-search-forward
                               ;; An argument that switches it off does not count.
                               "(todo-write-mcp-mode\\_>[ \t\n]*[^-0 \t\n]" nil t)
                        thereis (not (nth 8 (syntax-ppss)))))))))

(defun todo-write-mcp-setup--insert-later ()
  "Insert the section about this Emacs and its later sessions."
  (let ((kept (todo-write-mcp-setup-kept-p)))
    (todo-write-mcp-setup--insert
     "This Emacs"
     (concat "Agents reach this Emacs while `todo-write-mcp-mode' is on"
             (if kept ", as in later sessions.\n"
               ".
For later sessions, put this into your init file:\n\n  (todo-write-mcp-mode)\n\n")
             "M-x todo-write-doctor checks the way from the program to this Emacs.")
     (and user-init-file (not kept)
          `(("Keep it on in later sessions"
             . ,(lambda ()
                  (customize-save-variable 'todo-write-mcp-mode t)
                  (todo-write-mcp-setup--start))))))))

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

(defun todo-write-mcp-setup-finding ()
  "Return the doctor's finding about calls from agents to this Emacs."
  (let ((program (todo-write-mcp-setup--program))
        (remedy "M-x todo-write-mcp-setup"))
    (cond
     ((not program)
      (list 'note "MCP: no agent can call todo_write, since todo-write-mcp is missing"
            (concat remedy " gets it and connects your agent")))
     ((not (todo-write-socket-state))
      (list 'note "MCP: off, so that no agent reaches this Emacs"
            (concat remedy " connects your agent and switches it on; if your agent is connected, "
                    "M-x todo-write-mcp-mode")))
     ((eq (todo-write-socket-state) 'client)
      (list 'note (format "MCP: agents reach another Emacs%s; this one takes over when that ends"
                          (if-let* ((pid (todo-write-socket-first-pid)))
                              (format ", process %d" pid) ""))
            "Quit the other Emacs, or switch its todo-write-mcp-mode off"))
     (todo-write-socket-outdated-programs
      (list 'problem (format "MCP: an agent's todo-write-mcp %s"
                             (string-join todo-write-socket-outdated-programs ", and "))
            remedy))
     (t (todo-write-mcp-setup--finding-of-call (car (todo-write-mcp-setup-server)))))))

(defun todo-write-mcp-setup--finding-of-call (program)
  "Return the doctor's finding about a call through PROGRAM to this Emacs."
  (let ((answer (todo-write-mcp-setup--check (todo-write-mcp-setup-server)))
        (program (abbreviate-file-name program)))
    (if (string-match-p (format ", process %d," (emacs-pid)) answer)
        (if (or noninteractive (todo-write-mcp-setup-kept-p))
            (list 'ok (format "MCP: a call through %s reached this Emacs" program))
          (list 'note (format "MCP: a call through %s reached this Emacs; on for this session only"
                              program)
                "Put (todo-write-mcp-mode) into your init file, or M-x todo-write-mcp-setup"))
      (list 'problem (format "MCP: a call through %s did not reach this Emacs: %s"
                             program answer)
            "M-x todo-write-mcp-setup"))))

(defun todo-write-mcp-setup-agent-findings ()
  "Return the doctor's findings about installed agents that can have the tool."
  (when-let* ((program (todo-write-mcp-setup--program)))
    (mapcar (pcase-lambda (`(,command ,name))
              (todo-write-mcp-setup--finding-of-agent command name))
            (seq-filter (lambda (agent)
                          (and (not (member (car agent) '("claude-plugin" "other")))
                               (executable-find (car agent))))
                        (todo-write-mcp-setup--list program)))))

(defun todo-write-mcp-setup--finding-of-agent (command name)
  "Return the doctor's finding about the agent NAME, which COMMAND starts."
  (let* ((states (mapcar (lambda (agent) (todo-write-mcp-setup-ask agent "--state"))
                         `(,command ,@(and (equal command "claude") '("claude-plugin")))))
         (remedy (format "M-x todo-write-mcp-setup RET %s" name)))
    (cond
     ((seq-some (lambda (state) (plist-get state :installed)) states)
      (list 'ok (format "%s: has the tool todo_write" name)))
     ((car states)
      (list 'note (format "%s: installed, but without the tool todo_write" name) remedy))
     (t (list 'note (format "%s: installed; look whether it has the tool todo_write" name)
              remedy)))))

(provide 'todo-write-mcp-setup)
;;; todo-write-mcp-setup.el ends here
