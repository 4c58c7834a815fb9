;;; answer-checks.el --- Answering the genuine Claude Code in Emacs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Claude Code runs in a terminal with the hook `todo-write-mcp permission', and its
;; model calls tools that need a permission.  The user answers in this Emacs or in the
;; terminal; Emacs, Claude Code and the hook come and go.  Nothing may run that the
;; user did not allow, and whenever Emacs does not answer, the terminal must.
;; claude.sh runs this.

;;; Code:

(require 'claude-checks)
(require 'review-helper)
(require 'todo-write-mcp-helper)
(require 'todo-write-permission)
(require 'todo-write-mcp-setup)
(require 'todo-write-review)
(require 'todo-write-terminal)
(require 'todo-write-socket-helper)

(defvar answer-checks--asked nil "Titles of all requests of the current check, newest first.")

(defun answer-checks--hooks (program)
  "Return settings of Claude Code whose hook is PROGRAM, a command."
  (cl-flet ((hook (timeout name)
              `[(:hooks [(:type "command" :timeout ,timeout
                          :command ,(format "%s %s --socket %s" program name
                                            todo-write-socket))])]))
    `(:hooks (:PermissionRequest ,(hook 570 "permission")))))

(defun answer-checks--setup (&rest options)
  "Run the program's setup of the plugin with OPTIONS, and return its page."
  (let ((process-environment claude-checks-environment)
        (program (todo-write-mcp-helper-program)))
    (with-temp-buffer
      (unless (eql 0 (apply #'call-process program nil t nil "setup" "claude"
                            "--socket" todo-write-socket
                            "--folder" (expand-file-name "bin" claude-checks-home) options))
        (ert-fail (buffer-string)))
      (buffer-string))))

(defun answer-checks--install ()
  "Install the plugin in Claude Code as `todo-write-setup' does."
  (claude-checks-stop)
  (setenv "CLAUDE_CONFIG_DIR" (expand-file-name ".claude" claude-checks-home))
  (should (string-search "Claude Code has the tool todo_write." (answer-checks--setup)))
  (should (todo-write-mcp-setup-plugin-p)))

(defun answer-checks--note (_thread what id)
  "Note the title of the request ID if WHAT says that it is new."
  (when (eq what 'request)
    (dolist (request (todo-write-requests))
      (when (equal id (plist-get request :id))
        (push (plist-get request :title) answer-checks--asked)))))

(defmacro answer-checks-with-claude (steps options &rest body)
  "Evaluate BODY while Claude Code works by STEPS, with the hook.
OPTIONS is a plist: :emacs is nil if this Emacs has no socket, :program
the hook's program, :plugin t if the plugin brings the hooks and the tool,
:allowed the rules of what needs no permission,
:prompt a prompt for print mode, :arguments those of Claude Code, :subagent
the steps of a subagent, :environment further variables, and :repository t
if the folder is a repository, in which Claude Code tells what commands
change."
  (declare (indent 2) (debug t))
  `(answer-checks--call ,steps (lambda () ,@body) ,@options))

(cl-defun answer-checks--call (steps function &key (emacs t) program (allowed [])
                                     prompt (arguments '("Go on")) subagent environment plugin
                                     repository)
  "Call FUNCTION while Claude Code works by STEPS.
The keywords are as in `answer-checks-with-claude'."
  (let* ((todo-write-socket (todo-write-socket-test-file))
         (todo-write-permission--calls nil)
         (answer-checks--asked nil)
         (claude-checks-allowed allowed)
         (process-environment (copy-sequence process-environment))
         (user-emacs-directory (file-name-as-directory (make-temp-file "emacs d" t))))
    (add-hook 'todo-write-events-functions #'answer-checks--note)
    (unwind-protect
        (progn
          (when emacs (todo-write-agents-mode))
          (claude-checks-run
           steps
           (lambda ()
             (if emacs (claude-checks-serve) (todo-write-agents-mode -1))
             (when plugin (answer-checks--install))
             (when repository (answer-checks--make-repository))
             (unless prompt (apply #'claude-checks-start arguments))
             (funcall function))
           :prompt prompt :subagent subagent
           :environment environment
           :settings (if plugin (and repository '(:bashEditDiffEnabled t))
                       (answer-checks--hooks (or program (todo-write-mcp-helper-program))))))
      (remove-hook 'todo-write-events-functions #'answer-checks--note)
      (todo-write-agents-mode -1))))

(defun answer-checks--make-repository ()
  "Make the folder of Claude Code a repository with a commit."
  (let ((default-directory claude-checks-folder))
    (dolist (arguments '(("init" "-q" ".")
                         ("-c" "user.name=x" "-c" "user.email=x@example.org"
                          "commit" "-q" "--allow-empty" "-m" "First")))
      (should (zerop (apply #'call-process "git" nil nil nil arguments))))))

(defun answer-checks--command (command)
  "Return a call that runs COMMAND."
  `("Bash" :command ,command :description "Work"))

(defun answer-checks--file (name)
  "Return the name of the file NAME in the project."
  (expand-file-name name claude-checks-folder))

(defun answer-checks--request (title)
  "Wait until an agent asks for TITLE, and return the request."
  (let (request)
    (claude-checks-wait
     (format "the request %s; %S" title answer-checks--asked)
     (lambda ()
       (setq request (seq-find (lambda (request) (string-match-p title (plist-get request :title)))
                               (todo-write-requests)))))
    request))

(defun answer-checks--dialog ()
  "Wait until the dialog stands in the terminal."
  (claude-checks-wait "its dialog" (lambda () (equal "waiting" (claude-checks-own :status)))))

(defun answer-checks--gone ()
  "Wait until no request is open, and return how long that took, in seconds."
  (let ((start (float-time)))
    (claude-checks-wait "the end of the request" (lambda () (null (todo-write-requests))))
    (- (float-time) start)))

(defun answer-checks--transcript ()
  "Return the text of the session's transcripts."
  (let ((folder (expand-file-name ".claude/projects" claude-checks-home)))
    (mapconcat (lambda (file)
                 (with-temp-buffer (insert-file-contents file) (buffer-string)))
               (and (file-directory-p folder)
                    (directory-files-recursively folder "\\.jsonl\\'"))
               "\n")))

(defun answer-checks--says (regexp)
  "Wait until the session's transcripts match REGEXP."
  (claude-checks-wait (format "%s in its transcript" regexp)
                      (lambda () (string-match-p regexp (answer-checks--transcript)))))

(defun answer-checks--yes-in-the-terminal ()
  "Say Yes in the terminal."
  (answer-checks--dialog)
  (claude-checks-press "\r" "waiting"))

(defun answer-checks--exists (name)
  "Wait until the file NAME is in the project."
  (claude-checks-wait name (lambda () (file-exists-p (answer-checks--file name)))))

;;; Answered in Emacs

(ert-deftest answer-checks-allow-once ()
  (answer-checks-with-claude (list (list (answer-checks--command "touch one"))
                                   (list (answer-checks--command "touch two"))
                                   "Done.")
      ()
    (let ((request (answer-checks--request "\\`Bash: touch one\\'")) start)
      (answer-checks--dialog)
      (should (equal (concat "claude:" (claude-checks-own :sessionId)) (plist-get request :thread)))
      (should (string-prefix-p "touch one\n# " (todo-write-request-detail request)))
      (should-not (file-exists-p (answer-checks--file "one")))
      (message "Shown %d ms after the dialog" (- (plist-get request :since)
                                                 (claude-checks-own :statusUpdatedAt)))
      (setq start (* 1000 (float-time)))
      (hosts-answer request 'allow)
      (answer-checks--exists "one")
      (message "The dialog had gone %d ms after the answer"
               (- (claude-checks-own :statusUpdatedAt) start)))
    ;; Once is not always.
    (hosts-answer (answer-checks--request "\\`Bash: touch two\\'") 'allow)
    (answer-checks--exists "two")
    (claude-checks-turn-ends)))

(ert-deftest answer-checks-always ()
  (answer-checks-with-claude (list (list (answer-checks--command "npm run one"))
                                   (list (answer-checks--command "npm run two"))
                                   "Done.")
      ()
    (let* ((request (answer-checks--request "\\`Bash: npm run one\\'"))
           (always (seq-find (lambda (option) (eq 'always (plist-get option :kind)))
                             (plist-get request :options))))
      (should (equal (format-message "Always allow `npm run *' in this project")
                     (plist-get always :label)))
      (hosts-answer request 'always))
    (claude-checks-turn-ends)
    (should (equal '("Bash: npm run one") answer-checks--asked))
    (answer-checks--says "npm run two")))

(ert-deftest answer-checks-deny-with-a-message ()
  (answer-checks-with-claude (list (list (answer-checks--command "touch one")) "Done as you say.") ()
    (hosts-answer (answer-checks--request "touch one") 'deny "Use make check")
    (claude-checks-wait-for "Done as you say.")
    (answer-checks--says "\"tool_result\"[^\n]*Use make check\\|Use make check[^\n]*\"tool_result\"")
    (claude-checks-turn-ends)
    (should-not (file-exists-p (answer-checks--file "one")))))

(ert-deftest answer-checks-a-plain-no-stops-the-turn ()
  (answer-checks-with-claude (list (list (answer-checks--command "touch one")) "Never said.") ()
    (hosts-answer (answer-checks--request "touch one") 'deny)
    (claude-checks-turn-ends)
    (should-not (string-search "Never said." (claude-checks-written)))
    (should-not (file-exists-p (answer-checks--file "one")))))

(ert-deftest answer-checks-questions ()
  (answer-checks-with-claude
      (list '(("AskUserQuestion"
               :questions [(:question "Which can?" :header "Can" :multiSelect :false
                            :options [(:label "Green" :description "The green one")
                                      (:label "Blue" :description "The blue one")])
                           (:question "Which tools?" :header "Tools" :multiSelect t
                            :options [(:label "Rake" :description "A rake")
                                      (:label "Hoe" :description "A hoe")
                                      (:label "Fork" :description "A fork")])]))
            "Thanks.")
      ()
    (let ((request (answer-checks--request "Which can")))
      (should (equal 'question (plist-get request :kind)))
      (should (todo-write-answer-request
               (plist-get request :thread) (plist-get request :id)
               '(("Which can?" . "The old one") ("Which tools?" "Rake" "Fork")))))
    (claude-checks-wait-for "Thanks.")
    (answer-checks--says (regexp-quote "\\\"Which can?\\\"=\\\"The old one\\\""))
    (answer-checks--says (regexp-quote "\\\"Which tools?\\\"=\\\"Rake, Fork\\\""))))

(defconst answer-checks--question
  '("AskUserQuestion" :questions [(:question "Plan it now?" :header "Plan" :multiSelect :false
                                   :options [(:label "Yes" :description "Now")
                                             (:label "No" :description "Later")])])
  "A call that waits for the user.
In plan mode, auto mode checks commands, which the scripted model does not
support; it does not check questions.")

(defun answer-checks--write-plan (text)
  "Write TEXT to the file of the plan that Claude Code names to its model.
Then answer `answer-checks--question'."
  (let ((request (answer-checks--request "\\`Plan it now"))
        file)
    (claude-checks-wait
     "the name of the plan's file"
     (lambda ()
       (let ((said (answer-checks--transcript)))
         (and (string-match "\"planFilePath\":\"\\([^\"]+\\)\"" said)
              (setq file (match-string 1 said))))))
    (make-directory (file-name-directory file) t)
    (write-region text nil file nil 'silent)
    (should (todo-write-answer-request (plist-get request :thread) (plist-get request :id)
                                       '(("Plan it now?" . "Yes"))))))

(ert-deftest answer-checks-a-plan-approved ()
  (answer-checks-with-claude (list (list answer-checks--question)
                                   '(("ExitPlanMode" :plan ""))
                                   '(("Write" :file_path "rake.txt" :content "Raked\n"))
                                   "Never said.")
      (:arguments '("--permission-mode" "plan" "Plan it"))
    (answer-checks--write-plan "# Plan\n1. Rake\n")
    (let ((request (answer-checks--request "Approve the plan")))
      (should (equal '(plan markdown "# Plan\n1. Rake\n")
                     (list (plist-get request :kind) (plist-get request :format)
                           (todo-write-request-detail request))))
      (hosts-answer request 'allow))
    ;; Edits are still asked for.
    (hosts-answer (answer-checks--request "\\`Write: .*rake.txt") 'deny)
    (claude-checks-turn-ends)
    (should-not (file-exists-p (answer-checks--file "rake.txt")))))

(ert-deftest answer-checks-a-plan-sent-back-and-approved-with-its-edits ()
  (answer-checks-with-claude (list (list answer-checks--question)
                                   '(("ExitPlanMode" :plan ""))
                                   '(("ExitPlanMode" :plan ""))
                                   '(("Write" :file_path "rake.txt" :content "Raked\n"))
                                   "All done.")
      (:arguments '("--permission-mode" "plan" "Plan it"))
    (answer-checks--write-plan "# Plan\n1. Rake\n")
    (hosts-answer (answer-checks--request "Approve the plan") 'deny "Water first")
    (answer-checks--says "Water first")
    (hosts-answer (answer-checks--request "Approve the plan") 'always)
    (answer-checks--exists "rake.txt")
    (claude-checks-turn-ends)
    (should (equal '("Plan it now?" "Approve the plan?" "Approve the plan?")
                   (reverse answer-checks--asked)))))

;; The user's part is done by the commands of the buffer that shows the plan.
(defun answer-checks--in-the-plan (function)
  "Show the plan that an agent asks for, and call FUNCTION in that buffer.
All keys count, and its end was read."
  (let ((request (answer-checks--request "Approve the plan")))
    (save-window-excursion
      (todo-write-answer (plist-get request :thread))
      (with-current-buffer todo-write-answer-buffer
        (setq-local todo-write-answer--end-seen t)
        (let ((todo-write-answer-keys-counts t))
          (funcall function))))))

(defun answer-checks--plan-steps (&rest steps)
  "Return STEPS after those of a model that plans, and asks twice for approval."
  (append (list (list answer-checks--question)
                '(("ExitPlanMode" :plan ""))
                '(("ExitPlanMode" :plan "")))
          steps))

(ert-deftest answer-checks-a-plan-commented-and-approved-as-edited ()
  (answer-checks-with-claude (answer-checks--plan-steps
                              '(("Write" :file_path "rake.txt" :content "Raked\n"))
                              "Never said.")
      (:arguments '("--permission-mode" "plan" "Plan it"))
    (answer-checks--write-plan "# Plan\n1. Rake\n2. Water\n")
    (answer-checks--in-the-plan
     (lambda ()
       (goto-char (point-min))
       (search-forward "2. Water")
       (cl-letf (((symbol-function 'read-string) (lambda (&rest _) "With the can")))
         (todo-write-answer-comment))
       (todo-write-answer-choose "n")))
    (answer-checks--says (regexp-quote "> 2. Water\\nWith the can"))
    (answer-checks--in-the-plan
     (lambda ()
       (todo-write-answer-edit)
       (goto-char (point-max))
       (insert "3. Sweep by hand\n")
       (todo-write-compose-send)
       (setq-local todo-write-answer--end-seen t)
       (setq todo-write-answer-keys-counts t)
       (todo-write-answer-choose "y")))
    (answer-checks--says "Approved Plan (edited by user)[^\n]*3\\. Sweep by hand")
    (answer-checks--says "\"planWasEdited\":true")
    ;; Edits are still asked for.
    (hosts-answer (answer-checks--request "\\`Write: .*rake.txt") 'deny)
    (claude-checks-turn-ends)
    (should-not (file-exists-p (answer-checks--file "rake.txt")))))

(ert-deftest answer-checks-the-mode-after-a-plan-is-the-one-that-its-label-says ()
  (pcase-dolist (`(,label ,shown) '(("ask before each edit" nil)
                                    ("accept all edits" "accept edits on")
                                    ("auto mode" "auto mode on")))
    (ert-info (label)
      (answer-checks-with-claude (list (list answer-checks--question)
                                       '(("ExitPlanMode" :plan ""))
                                       (list answer-checks--question)
                                       "Done.")
          (:arguments '("--permission-mode" "plan" "Plan it"))
        (answer-checks--write-plan "# Plan\n1. Rake\n")
        (let ((request (answer-checks--request "Approve the plan")))
          (should (todo-write-answer-request
                   (plist-get request :thread) (plist-get request :id)
                   (plist-get (seq-find (lambda (option)
                                          (string-match-p label (plist-get option :label)))
                                        (plist-get request :options))
                              :value))))
        (answer-checks--request "Plan it now")
        (if shown
            (claude-checks-wait-for shown)
          (should-not (string-match-p "\\(?:accept edits\\|auto mode\\) on" (claude-checks-written))))))))

(ert-deftest answer-checks-an-edit-shows-its-diff ()
  (answer-checks-with-claude (list '(("Read" :file_path "a.txt"))
                                   '(("Edit" :file_path "a.txt" :old_string "two" :new_string "2"))
                                   "Edited.")
      (:arguments nil)
    (let ((file (answer-checks--file "a.txt")))
      (make-directory (answer-checks--file ".git"))
      (write-region "one\ntwo\n" nil file nil 'silent)
      (claude-checks-wait-for "? for shortcuts")
      (claude-checks-type "Edit")
      (let ((request (answer-checks--request "\\`Edit: ")))
        (should (eq 'diff (plist-get request :format)))
        (should (string-search "@@ -1,2 +1,2 @@\n one\n-two\n+2" (todo-write-request-detail request)))
        (hosts-answer request 'allow))
      (claude-checks-wait "the edit" (lambda ()
                                       (equal "one\n2\n" (with-temp-buffer
                                                           (insert-file-contents file)
                                                           (buffer-string)))))
      (claude-checks-turn-ends))))

(ert-deftest answer-checks-two-requests-at-once ()
  (answer-checks-with-claude (list (list (answer-checks--command "touch one")
                                         (answer-checks--command "touch two"))
                                   "Done.")
      ()
    (hosts-answer (answer-checks--request "touch one") 'deny "Not one")
    (hosts-answer (answer-checks--request "touch two") 'allow)
    (answer-checks--exists "two")
    (claude-checks-turn-ends)
    (should-not (file-exists-p (answer-checks--file "one")))
    (should-not (todo-write-requests))))

(ert-deftest answer-checks-two-sessions ()
  (answer-checks-with-claude (list (list (answer-checks--command "touch one")) "Done.") ()
    (let ((first (answer-checks--request "touch one"))
          (one claude-checks-process))
      (let ((claude-checks-process nil))
        (unwind-protect
            (progn
              (claude-checks-start "Go on")
              (claude-checks-wait "two requests" (lambda () (= 2 (length (todo-write-requests)))))
              (let ((second (seq-find (lambda (request) (not (eq request first)))
                                      (todo-write-requests))))
                (should-not (equal (plist-get first :thread) (plist-get second :thread)))
                (hosts-answer second 'deny "Not you")
                (claude-checks-wait-for "Done.")
                (should (memq first (todo-write-requests)))
                (should-not (file-exists-p (answer-checks--file "one")))))
          (claude-checks-stop)))
      (should (process-live-p one))
      (hosts-answer first 'allow)
      (answer-checks--exists "one"))))

;;; Answered in the terminal, or not at all

(ert-deftest answer-checks-yes-in-the-terminal-first ()
  (answer-checks-with-claude (list (list (claude-checks-gate "one")) "Done.") ()
    (answer-checks--request "Bash: for")
    (answer-checks--yes-in-the-terminal)
    (message "Gone %.2f s after Claude Code went on" (answer-checks--gone))
    ;; Its command still runs.
    (should-not (equal "idle" (claude-checks-own :status)))
    (should-not (string-search "\"stdout\":\"opened\"" (answer-checks--transcript)))
    (claude-checks-open "one")
    (claude-checks-turn-ends)
    (answer-checks--says "\"stdout\":\"opened\"")))

(ert-deftest answer-checks-a-dialog-that-ends-without-an-answer ()
  (pcase-dolist (`(,how ,end)
                 (list (list "Esc" (lambda ()
                                     (claude-checks-press "\e" "waiting")
                                     (claude-checks-turn-ends)))
                       (list "A closed terminal" (lambda () (delete-process claude-checks-process)))
                       (list "A kill" (lambda () (signal-process (claude-checks-own :pid) 'kill)))))
    (ert-info (how)
      (answer-checks-with-claude (list (list (answer-checks--command "touch one")) "Never said.") ()
        (answer-checks--request "touch one")
        (answer-checks--dialog)
        (funcall end)
        (answer-checks--gone)
        (should-not (file-exists-p (answer-checks--file "one")))))))

;;; Without an Emacs that answers

(ert-deftest answer-checks-without-an-emacs-or-the-program-the-terminal-asks ()
  (dolist (lacking '((:emacs nil) (:program "/nowhere/todo-write-mcp")))
    (ert-info ((format "%S" lacking))
      (apply #'answer-checks--call (list (list (answer-checks--command "touch one")) "Done.")
             (lambda ()
               (answer-checks--yes-in-the-terminal)
               (answer-checks--exists "one")
               (should-not answer-checks--asked))
             lacking))))

(defun answer-checks--other-titles (emacs)
  "Return the titles of the requests that are open in EMACS."
  (todo-write-mcp-emacs-eval
   emacs '(mapcar (lambda (request) (plist-get request :title)) (todo-write-requests))))

(ert-deftest answer-checks-emacs-killed-and-restarted ()
  (answer-checks-with-claude (list (list (answer-checks--command "touch one"))
                                   (list (answer-checks--command "touch two"))
                                   "Done.")
      (:emacs nil :arguments nil)
    (let ((emacs (todo-write-mcp-emacs-start todo-write-socket)))
      (unwind-protect
          (progn
            (claude-checks-wait-for "? for shortcuts")
            (claude-checks-type "Go on")
            (claude-checks-wait "the request" (lambda () (answer-checks--other-titles emacs)))
            (answer-checks--dialog)
            (todo-write-mcp-emacs-stop emacs)
            (should (equal "waiting" (claude-checks-own :status)))
            (setq emacs (todo-write-mcp-emacs-start todo-write-socket))
            (should-not (answer-checks--other-titles emacs))
            (answer-checks--yes-in-the-terminal)
            (answer-checks--exists "one")
            ;; The next question reaches the new Emacs.
            (claude-checks-wait "the next request"
                                (lambda () (equal '("Bash: touch two")
                                                  (answer-checks--other-titles emacs))))
            (todo-write-mcp-emacs-eval
             emacs '(let ((request (car (todo-write-requests))))
                      (todo-write-answer-request (plist-get request :thread)
                                                 (plist-get request :id) '(:behavior "allow"))))
            (answer-checks--exists "two"))
        (todo-write-mcp-emacs-stop emacs)))))

(ert-deftest answer-checks-a-busy-emacs ()
  (answer-checks-with-claude (list (list (answer-checks--command "touch one")) "Done.")
      (:emacs nil :arguments nil)
    (let ((emacs (todo-write-mcp-emacs-start todo-write-socket)))
      (unwind-protect
          (progn
            (claude-checks-wait-for "? for shortcuts")
            (signal-process (todo-write-mcp-emacs-process emacs) 'SIGSTOP)
            (claude-checks-type "Go on")
            (answer-checks--yes-in-the-terminal)
            (answer-checks--exists "one")
            (signal-process (todo-write-mcp-emacs-process emacs) 'SIGCONT)
            ;; The hook may find only now that the terminal has answered.
            (claude-checks-wait "no request"
                                (lambda () (not (answer-checks--other-titles emacs)))))
        (todo-write-mcp-emacs-stop emacs)))))

;;; Where no dialog stands beside the hook

(defun answer-checks--delegate ()
  "Return a call that sends out a subagent in the background."
  '("Agent" :description "Help" :prompt "Touch the file" :subagent_type "general-purpose"))

(ert-deftest answer-checks-a-background-subagent-waits-ten-seconds ()
  (answer-checks-with-claude (list (list (answer-checks--delegate)) "Delegated." "It is done.")
      (:allowed ["Agent"]
       :subagent (list (list (answer-checks--command "touch one")) "Touched."))
    (let ((start (progn (answer-checks--request "\\`subagent general-purpose: Bash: touch one")
                        (float-time))))
      (answer-checks--gone)
      (should (< 8 (- (float-time) start)))
      (should-not (file-exists-p (answer-checks--file "one")))
      (answer-checks--yes-in-the-terminal)
      (answer-checks--exists "one"))))

(ert-deftest answer-checks-a-background-subagent-answered-in-emacs ()
  (answer-checks-with-claude (list (list (answer-checks--delegate)) "Delegated." "It is done.")
      (:allowed ["Agent"]
       :subagent (list (list (answer-checks--command "touch one")) "Touched."))
    (hosts-answer (answer-checks--request "subagent general-purpose") 'allow)
    (answer-checks--exists "one")))

(defun answer-checks--end-daemon (pid)
  "Kill the daemon of Claude Code that began the process PID, and all that it began.
It would begin PID again."
  (when-let* ((daemon (car (seq-find (lambda (process)
                                       (string-search " daemon run "
                                                      (or (alist-get 'args (cdr process)) "")))
                                     (todo-write-terminal--processes pid)))))
    (dolist (process (sort (list-system-processes) #'<))
      (when (assq daemon (todo-write-terminal--processes process))
        (signal-process process 'kill)))))

(ert-deftest answer-checks-a-session-in-the-background-asks-here ()
  (answer-checks-with-claude (list (list (answer-checks--command "touch raked.txt")) "Done.")
      (:arguments '("--bg" "Go on"))
    (unwind-protect
        (progn
          (hosts-answer (answer-checks--request "Bash: touch") 'allow)
          (answer-checks--exists "raked.txt")
          (should (equal "bg" (claude-checks-own :kind))))
      (answer-checks--end-daemon (claude-checks-own :pid)))))

(ert-deftest answer-checks-print-mode ()
  (answer-checks-with-claude (list (list (answer-checks--command "touch one")) "Done.")
      (:prompt "Go on")
    (claude-checks-ends)
    (should-not answer-checks--asked)
    (should-not (file-exists-p (answer-checks--file "one")))))

(ert-deftest answer-checks-do-not-ask ()
  (answer-checks-with-claude (list (list (answer-checks--command "touch one")) "Done.")
      (:arguments '("--permission-mode" "dontAsk" "Go on"))
    (claude-checks-wait-for "Done.")
    (should-not answer-checks--asked)
    (should-not (file-exists-p (answer-checks--file "one")))))

(ert-deftest answer-checks-bypass-permissions ()
  (answer-checks-with-claude (list (list (answer-checks--command "touch one"))
                                   '(("AskUserQuestion"
                                      :questions [(:question "Which can?" :header "Can"
                                                   :multiSelect :false
                                                   :options [(:label "Green" :description "x")
                                                             (:label "Blue" :description "y")])]))
                                   "Thanks.")
      (:arguments '("--permission-mode" "bypassPermissions" "Go on")
       :environment '("IS_SANDBOX=1"))
    (claude-checks-wait-for "Yes, I accept")
    (claude-checks-press "\e[B" nil (lambda () (string-match-p "❯ Yes, I accept"
                                                               (claude-checks-written))))
    (claude-checks-press "\r" nil (lambda () (claude-checks-own :status)))
    (answer-checks--exists "one")
    ;; Questions are asked in this mode, too.
    (let ((request (answer-checks--request "Which can")))
      (should (equal '("Which can?") answer-checks--asked))
      (todo-write-answer-request (plist-get request :thread) (plist-get request :id)
                                 '(("Which can?" . "Blue"))))
    (claude-checks-wait-for "Thanks.")))

;;; The plugin

(defconst answer-checks--tool "mcp__plugin_todo-write_todo-write__todo_write"
  "The name of the plugin's tool.")

(ert-deftest answer-checks-the-plugin ()
  (answer-checks-with-claude (list (list (cons answer-checks--tool
                                               (todo-write-test-todos '("Rake" "in_progress"))))
                                   (list (answer-checks--command "touch one"))
                                   (list (cons answer-checks--tool
                                               (todo-write-test-todos '("Rake" "completed"))))
                                   "Done.")
      (:plugin t :allowed (vector answer-checks--tool))
    (let* ((request (answer-checks--request "\\`Bash: touch one"))
           (thread (plist-get request :thread)))
      (should (equal '(("Rake" . "in_progress")) (claude-checks-rows thread)))
      (should (equal (list thread) (todo-write-threads)))
      (should (string-match-p "next result" (todo-write-tell thread "Well done")))
      (hosts-answer request 'allow)
      (answer-checks--exists "one")
      (answer-checks--says "The user says: Well done")
      (claude-checks-turn-ends)
      (should (equal '(("Rake" . "completed")) (claude-checks-rows thread))))))

(defun answer-checks--told-p (thread)
  "Return non-nil if there is something to tell the agent of THREAD."
  (or (todo-write-tell--untold thread) (todo-write-core-call todo-write-dyn--untold-edits thread)))

(ert-deftest answer-checks-the-agent-hears-of-edits-of-its-own-tasks ()
  (answer-checks-with-claude (list (list (claude-checks-create "Rake"))
                                   (list (claude-checks-gate "one"))
                                   (list (claude-checks-gate "two"))
                                   "Done.")
      (:plugin t :allowed ["Bash" "TaskCreate"])
    (claude-checks-follow)
    (claude-checks-wait "its list" (lambda () (equal '(("Rake" . "pending")) (claude-checks-rows))))
    (let ((thread (hosts-thread "claude")))
      (todo-write-edit thread 'add "Weed")
      (claude-checks-wait "the file" (lambda () (answer-checks--told-p thread)))
      (claude-checks-open "one")
      (answer-checks--says "The user added \\\\\"Weed\\\\\" (pending)")
      (should-not (answer-checks--told-p thread))
      (should (string-match-p "after its next tool call" (todo-write-tell thread "Hurry")))
      (claude-checks-open "two")
      (answer-checks--says "The user says: Hurry")
      (claude-checks-turn-ends)
      ;; The plan's item is told, once.
      (should-not (plist-get (seq-find (lambda (item) (equal "Weed" (plist-get item :content)))
                                       (todo-write-items thread))
                             :untold)))))

(ert-deftest answer-checks-a-comment-in-a-review-reaches-the-agent-over-restarts-of-emacs ()
  (answer-checks-with-claude (list '(("Write" :file_path "a.txt" :content "one\ntwo\n"))
                                   (list (claude-checks-gate "one"))
                                   '(("Edit" :file_path "a.txt" :old_string "two" :new_string "2"))
                                   (list (answer-checks--command "sed -i s/one/1/ a.txt"))
                                   (list (claude-checks-gate "two"))
                                   "Done.")
      (:emacs nil :plugin t :repository t :allowed ["Bash" "Write" "Edit"])
    (review-helper-check
     "claude"
     :ready (lambda (thread)
              (claude-checks-wait "the file" (lambda () (answer-checks--told-p thread))))
     :open #'claude-checks-open
     :gets #'answer-checks--says)
    (claude-checks-turn-ends)))

(ert-deftest answer-checks-the-plugin-is-removed ()
  (answer-checks-with-claude (list (list (answer-checks--command "touch one")) "Done.")
      (:plugin t)
    (hosts-answer (answer-checks--request "touch one") 'deny)
    (claude-checks-turn-ends)
    (should (string-search "Claude Code no longer has it." (answer-checks--setup "--remove")))
    (should-not (todo-write-mcp-setup-plugin-p))))

(provide 'answer-checks)
;;; answer-checks.el ends here
