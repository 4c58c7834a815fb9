;;; claude-checks.el --- Following the genuine Claude Code  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Claude Code works against a scripted model.  A gate is a command that waits for
;; a file.  At each gate, the plan in this Emacs must be the list in Claude Code's
;; own task files, and the activity must be Claude Code's at that moment.
;; claude.sh runs this.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'hosts-helper)
(require 'todo-write-agent)
(require 'todo-write-attention)
(require 'todo-write-follow)

(defvar claude-checks-home nil "Home of Claude Code.")
(defvar claude-checks-folder nil "The project in which it runs.")
(defvar claude-checks-environment nil "The environment of Claude Code.")
(defvar claude-checks-process nil "The process of Claude Code.")
(defvar claude-checks-usage nil "Tokens of each response, (:usage PLIST), or nil.")
(defvar claude-checks-servers nil "Its MCP servers, a plist of settings, or nil.")
(defvar claude-checks-mode "default" "The mode in which it begins; by itself, that is auto.")
(defvar claude-checks-allowed
  ["Bash" "TaskCreate" "TaskUpdate" "TaskList" "TodoWrite" "Agent" "mcp__todo-write"]
  "The rules by which it does not ask.")

;;; The model

(defun claude-checks-gate (name)
  "Return a call that ends when the gate NAME is open, or after five minutes."
  `("Bash" :command ,(hosts-gate-command name)
    :description ,(concat "Wait for " name)))

(defun claude-checks-create (subject)
  "Return a call that creates the task SUBJECT."
  `("TaskCreate" :subject ,subject :description ,subject
    :activeForm ,(concat "Working: " subject)))

(defun claude-checks-update (id status)
  "Return a call that gives the task ID the STATUS."
  `("TaskUpdate" :taskId ,id :status ,status))

(defun claude-checks-todo (&rest entries)
  "Return a call of TodoWrite with ENTRIES, see `todo-write-test-todos'."
  `("TodoWrite" ,@(apply #'todo-write-test-todos entries)))

(defun claude-checks-todo-write (&rest entries)
  "Return a call of todo_write over MCP with ENTRIES."
  `("mcp__todo-write__todo_write" ,@(apply #'todo-write-test-todos entries)))

(defun claude-checks-answers (steps &rest match)
  "Return STEPS as answers of aimock to the requests that MATCH, a plist."
  (seq-map-indexed
   (lambda (step turn)
     (list :match `(:turnIndex ,turn ,@match)
           :response
           (pcase step
             ((pred stringp) `(:content ,step ,@claude-checks-usage))
             (`(error ,text)
              `(:status 400 :error (:type "invalid_request_error" :message ,text)))
             (_ `(:toolCalls ,(vconcat (mapcar (lambda (call)
                                                 (list :name (car call) :arguments (cdr call)))
                                               step))
                  ,@claude-checks-usage)))))
   steps))

(defun claude-checks-script (steps subagent)
  "Write STEPS as a script for aimock and return the file's name.
A step is a text of the model, a list of calls (NAME . ARGUMENTS), or, for
a request that fails, (error TEXT).  SUBAGENT is a list of the steps of a
subagent."
  (todo-write-mock-script
   (append
    (list '(:match (:systemMessage "title") :response (:content "Garden"))
          ;; Whether a goal is met is asked of a model, too.
          '(:match (:userMessage "has the following stopping condition been satisfied")
                   :response (:content "{\"ok\": true, \"reason\": \"all beds are raked\"}")))
    (claude-checks-answers subagent :systemMessage "You are an agent for Claude Code")
    (claude-checks-answers steps))))

;;; The agent

(defun claude-checks-start (&rest arguments)
  "Start a session of Claude Code with ARGUMENTS, in place of an earlier one."
  (apply #'claude-checks-start-program "--model" hosts-claude-model arguments))

(defun claude-checks-start-program (&rest arguments)
  "Start Claude Code with only ARGUMENTS on a terminal, in place of an earlier one."
  (claude-checks-stop)
  (let ((default-directory claude-checks-folder)
        (process-environment claude-checks-environment))
    (setq claude-checks-process
          (make-process :name "claude" :buffer (generate-new-buffer "*claude*") :noquery t
                        :connection-type 'pty :coding 'utf-8
                        :command `("sh" "-c" "stty rows 40 columns 110; exec \"$@\"" "sh"
                                   "claude" ,@arguments)))))

(defun claude-checks-stop ()
  "Kill Claude Code and its terminal, if there is one."
  (when claude-checks-process
    (delete-process claude-checks-process)
    (kill-buffer (process-buffer claude-checks-process))))

(defun claude-checks-seed (settings)
  "Answer Claude Code's first questions beforehand; give it SETTINGS, a plist."
  (write-region
   (json-serialize
    `(:hasCompletedOnboarding t :hasSeenAutoDefaultNudge t :theme "dark" :numStartups 5 :autoUpdates :false
      :customApiKeyResponses (:approved ["test-key"] :rejected [])
      ,@(and claude-checks-servers (list :mcpServers claude-checks-servers))
      :projects (,(intern (concat ":" (directory-file-name claude-checks-folder)))
                 (:hasTrustDialogAccepted t :hasCompletedProjectOnboarding t))))
   nil (expand-file-name ".claude.json" claude-checks-home) nil 'silent)
  (make-directory (expand-file-name ".claude" claude-checks-home))
  (write-region
   (json-serialize
    `(:permissions (:allow ,claude-checks-allowed :defaultMode ,claude-checks-mode) ,@settings))
   nil (expand-file-name ".claude/settings.json" claude-checks-home) nil 'silent))

(defun claude-checks-trust (folder)
  "Let Claude Code trust FOLDER, too."
  (let* ((file (expand-file-name ".claude.json" claude-checks-home))
         (settings (with-temp-buffer
                     (insert-file-contents file)
                     (json-parse-buffer :false-object :false))))
    (puthash (directory-file-name folder)
             (gethash (directory-file-name claude-checks-folder) (gethash "projects" settings))
             (gethash "projects" settings))
    (write-region (json-serialize settings) nil file nil 'silent)))

(defun claude-checks-serve ()
  "Serve agents, and follow no sessions."
  (todo-write-agents-mode -1)
  (setq todo-write-follow-agents nil)
  (todo-write-agents-mode))

(defun claude-checks-follow ()
  "Follow the sessions of Claude Code."
  (setq todo-write-follow-agents `((claude . ,(expand-file-name ".claude" claude-checks-home))))
  (todo-write-agents-mode))

(cl-defun claude-checks-run (steps function &key prompt environment settings subagent)
  "Run Claude Code by STEPS, and call FUNCTION meanwhile.
With PROMPT it works on that in print mode, else it runs in a terminal.
ENVIRONMENT and SETTINGS, a plist, add to the usual ones.  SUBAGENT is a
list of the steps of a subagent."
  (let* ((claude-checks-home (make-temp-file "home" t))
         (claude-checks-folder (file-name-as-directory
                                (file-truename (make-temp-file "garden" t))))
         (default-directory claude-checks-folder)
         (todo-write-follow-agents `((claude . ,(expand-file-name ".claude" claude-checks-home)))))
    (claude-checks-seed settings)
    (todo-write-with-store
      (todo-write-with-mock port (claude-checks-script steps subagent)
        (let ((claude-checks-environment
               (append environment
                       (hosts-claude-environment (format "http://127.0.0.1:%d" port))
                       (hosts-environment claude-checks-home)))
              claude-checks-process)
          (unwind-protect
              (progn (apply #'claude-checks-start (and prompt (list "-p" prompt)))
                     (todo-write-agents-mode)
                     (funcall function))
            (todo-write-agents-mode -1)
            (claude-checks-stop)))))))

(defun claude-checks-written ()
  "Return the words that Claude Code wrote to its terminal since a text was typed.
Spaces replace the escape sequences between words."
  (with-current-buffer (process-buffer claude-checks-process)
    (replace-regexp-in-string "\\(?:\e\\[[?>=]?[0-9;]*[a-zA-Z]\\|\e.\\|[[:space:]]\\)+" " "
                              (buffer-string))))

(defun claude-checks-wait (what condition)
  "Wait until CONDITION, a function, returns non-nil; WHAT describes it."
  (todo-write-test-wait
   condition
   (lambda ()
     (format "%s; shown %S %S; its own %S\n%s" what (claude-checks-rows)
             (claude-checks-state) (claude-checks-own-rows) (claude-checks-written)))))

(defun claude-checks-wait-for (text)
  "Wait until Claude Code has written TEXT to its terminal."
  (claude-checks-wait text (lambda () (string-search text (claude-checks-written)))))

(defun claude-checks-type (text &optional until)
  "Type TEXT and, when the terminal shows it, RET.
Repeat RET until UNTIL returns non-nil or, without UNTIL, until Claude Code
is no longer idle."
  (with-current-buffer (process-buffer claude-checks-process) (erase-buffer))
  (process-send-string claude-checks-process text)
  (claude-checks-wait-for text)
  (claude-checks-press "\r" "idle" until))

(defun claude-checks-press (key status &optional until)
  "Press KEY each second until Claude Code's own status is no longer STATUS.
If UNTIL is non-nil, press it until that function returns non-nil.  Claude
Code ignores keys before it has drawn a dialog, and treats RET soon
after other keys as pasted."
  (let ((next 0))
    (claude-checks-wait
     (format "the effect of %S" key)
     (lambda ()
       (when (> (float-time) next)
         (process-send-string claude-checks-process key)
         (setq next (+ 1 (float-time))))
       (if until (funcall until) (not (equal (claude-checks-own :status) status)))))))

;;; Displayed plans

(defun claude-checks-session ()
  "Return the id of the session, or nil."
  (when-let* ((thread (hosts-thread "claude")))
    (string-remove-prefix "claude:" thread)))

(defun claude-checks-rows (&optional thread)
  "Return the displayed list of THREAD as a list of (CONTENT . STATUS).
THREAD defaults to that of the session."
  (let ((thread (or thread (hosts-thread "claude"))))
    (mapcar (lambda (item) (cons (plist-get item :content) (plist-get item :status)))
            (and thread (todo-write-items thread)))))

(defun claude-checks-state ()
  "Return the displayed state and activity, as (STATE ACTIVITY . WHY)."
  (when-let* ((thread (hosts-thread "claude")))
    (cons (todo-write-state thread) (todo-write-activity thread))))

(defun claude-checks-own-json (folder)
  "Return the numbered JSON files below Claude Code's FOLDER as plists."
  (let ((folder (expand-file-name (concat ".claude/" folder) claude-checks-home)))
    (mapcar (lambda (file)
              (with-temp-buffer
                (insert-file-contents file)
                (ignore-errors (json-parse-buffer :object-type 'plist))))
            (and (file-directory-p folder)
                 (directory-files-recursively folder "\\`[0-9]+\\.json\\'")))))

(defun claude-checks-own (key)
  "Return KEY, such as `:status', in the file of Claude Code's process, or nil."
  (plist-get (car (claude-checks-own-json "sessions")) key))

(defun claude-checks-own-rows ()
  "Return the list in Claude Code's task files, like `claude-checks-rows'."
  (mapcar (lambda (task) (cons (plist-get task :subject) (plist-get task :status)))
          (sort (and (hosts-thread "claude")
                     (claude-checks-own-json (concat "tasks/" (claude-checks-session))))
                (lambda (a b) (< (string-to-number (plist-get a :id))
                                 (string-to-number (plist-get b :id)))))))

(defun claude-checks-shows (what state &rest rows)
  "Wait until STATE and ROWS are shown; WHAT names the moment.
Fail if Claude Code's own list differs from ROWS.  Claude Code writes no
file for lists of TodoWrite."
  (claude-checks-wait
   (format "%s: %S %S" what state rows)
   (lambda () (and (equal (claude-checks-rows) rows) (equal (claude-checks-state) state))))
  (when (claude-checks-own-rows)
    (should (equal (claude-checks-own-rows) rows))))

(defun claude-checks-open (gate)
  "Open GATE."
  (write-region "" nil (expand-file-name (concat gate ".gate") claude-checks-folder) nil 'silent))

(defun claude-checks-pass (gate state &rest rows)
  "Wait until STATE and ROWS are shown, and open GATE."
  (apply #'claude-checks-shows gate state rows)
  (claude-checks-open gate))

(defun claude-checks-turn-ends ()
  "Wait until Claude Code's turn has ended."
  (claude-checks-wait "the end of the turn" (lambda () (equal "idle" (claude-checks-own :status)))))

(defun claude-checks-ends ()
  "Wait until Claude Code has ended."
  (claude-checks-wait "its end" (lambda () (not (process-live-p claude-checks-process)))))

;;; Print mode

(ert-deftest claude-checks-print-mode ()
  (claude-checks-run
   (list (list (claude-checks-create "Rake") (claude-checks-create "Water"))
         (list (claude-checks-update "1" "in_progress"))
         (list (claude-checks-gate "one"))
         (list (claude-checks-update "1" "completed") (claude-checks-update "99" "completed"))
         (list (claude-checks-update "2" "in_progress") '("TaskList" :none nil))
         (list (claude-checks-gate "two"))
         (list (claude-checks-update "2" "completed"))
         ;; Print mode never clears the list.
         (list (claude-checks-create "Sweep"))
         (list (claude-checks-gate "three"))
         "The garden is planned.")
   (lambda ()
     (claude-checks-pass "one" '(active working) '("Rake" . "in_progress") '("Water" . "pending"))
     (claude-checks-pass "two" '(active working) '("Rake" . "completed") '("Water" . "in_progress"))
     (claude-checks-pass "three" '(active working)
                         '("Rake" . "completed") '("Water" . "completed") '("Sweep" . "pending"))
     (claude-checks-ends)
     (claude-checks-shows "end" '(paused)
                          '("Rake" . "completed") '("Water" . "completed") '("Sweep" . "pending"))
     ;; No user looks at it.
     (should (plist-get (todo-write-about (hosts-thread "claude")) :unattended)))
   :prompt "Plan the garden"))

(ert-deftest claude-checks-todo-write ()
  (claude-checks-run
   (list (list (claude-checks-todo '("Rake" "in_progress") "Water"))
         (list (claude-checks-gate "one"))
         (list (claude-checks-todo '("Rake" "blocked") "Water"))
         (list (claude-checks-todo '("Rake" "completed") '("Water" "in_progress") "Sweep"))
         (list (claude-checks-gate "two"))
         (list (claude-checks-todo '("Rake" "completed") '("Water" "completed") '("Sweep" "completed")))
         "The garden is planned.")
   (lambda ()
     (claude-checks-pass "one" '(active working) '("Rake" . "in_progress") '("Water" . "pending"))
     (claude-checks-pass "two" '(active working)
                         '("Rake" . "completed") '("Water" . "in_progress") '("Sweep" . "pending"))
     (claude-checks-ends)
     (claude-checks-shows "end" '(done) '("Rake" . "completed") '("Water" . "completed")
                          '("Sweep" . "completed")))
   :prompt "Plan the garden" :environment '("CLAUDE_CODE_ENABLE_TASKS=0")))

(ert-deftest claude-checks-hooks-that-refuse ()
  (let ((hook (expand-file-name "hook.sh" (make-temp-file "hooks" t))))
    (write-region
     "case $(cat) in
*'\"hook_event_name\":\"TaskCompleted\"'*'\"task_subject\":\"Rake\"'*) echo 'Rake again' >&2; exit 2;;
*'\"hook_event_name\":\"TaskCreated\"'*'\"task_subject\":\"Burn\"'*) echo 'No fire' >&2; exit 2;;
*'\"hook_event_name\":\"PreToolUse\"'*'\"subject\":\"Mow\"'*) echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\",\"updatedInput\":{\"subject\":\"Mow with care\",\"description\":\"x\"}}}';;
esac
" nil hook nil 'silent)
    (claude-checks-run
     (list (list (claude-checks-create "Rake") (claude-checks-create "Burn")
                 (claude-checks-create "Mow"))
           (list (claude-checks-update "1" "completed") (claude-checks-update "2" "in_progress"))
           (list (claude-checks-gate "one"))
           "The garden is planned.")
     (lambda ()
       (claude-checks-wait "the gate" (lambda () (equal (claude-checks-state) '(active working))))
       (claude-checks-wait
        "its own list" (lambda () (and (cdr (claude-checks-own-rows))
                                       (equal (claude-checks-rows) (claude-checks-own-rows)))))
       (apply #'claude-checks-pass "one" '(active working) (claude-checks-own-rows))
       (should (equal (claude-checks-rows)
                      '(("Rake" . "pending") ("Mow with care" . "pending"))))
       (claude-checks-ends))
     :prompt "Plan the garden"
     :settings (let ((run `[(:hooks [(:type "command" :command ,(concat "bash " hook))])]))
                 `(:hooks (:TaskCompleted ,run :TaskCreated ,run :PreToolUse ,run))))))

(ert-deftest claude-checks-a-session-resumed-and-forked ()
  (let (hosts-earlier-threads)
    (claude-checks-run
     (list (list (claude-checks-create "Rake") (claude-checks-create "Water"))
           (list (claude-checks-update "1" "in_progress"))
           "The garden is planned."
           ;; Resumed.
           (list (claude-checks-update "1" "completed"))
           (list (claude-checks-gate "resumed"))
           "The leaves are raked."
           ;; Forked.
           (list (claude-checks-create "Sweep"))
           (list (claude-checks-gate "forked"))
           "The path is swept.")
     (lambda ()
       (let ((rows '(("Rake" . "completed") ("Water" . "pending"))) session)
         (claude-checks-ends)
         (claude-checks-shows "the first end" '(paused)
                              '("Rake" . "in_progress") '("Water" . "pending"))
         (setq session (claude-checks-session))
         (claude-checks-start "-p" "Rake the leaves" "--resume" session)
         (apply #'claude-checks-pass "resumed" '(active working) rows)
         (claude-checks-ends)
         (apply #'claude-checks-shows "the second end" '(paused) rows)
         (should (equal (claude-checks-session) session))
         ;; A fork repeats the lines of its session, and has a list of its own.
         (push (hosts-thread "claude") hosts-earlier-threads)
         (claude-checks-start "-p" "Sweep the path" "--resume" session "--fork-session")
         (claude-checks-pass "forked" '(active working) '("Sweep" . "pending"))
         (claude-checks-ends)
         (claude-checks-shows "the end" '(paused) '("Sweep" . "pending"))
         (should (equal (claude-checks-rows (car hosts-earlier-threads)) rows))))
     :prompt "Plan the garden")))

(ert-deftest claude-checks-a-subagent-in-the-background ()
  (claude-checks-run
   (list (list (claude-checks-todo '("Water" "in_progress") "Rake"))
         '(("Agent" :description "Water" :prompt "Water the beds"
            :subagent_type "general-purpose" :run_in_background t))
         (list (claude-checks-gate "main"))
         "It was sent out."
         "It came back.")
   (lambda ()
     (let (child)
       (claude-checks-wait
        "the subagent's list"
        (lambda () (setq child (seq-find (lambda (thread) (string-search "/" thread))
                                         (todo-write-threads)))))
       (claude-checks-shows "both at work" '(active working)
                            '("Water" . "in_progress") '("Rake" . "pending"))
       (should (equal (claude-checks-rows child)
                      '(("Find the can" . "completed") ("Pour" . "in_progress"))))
       (should (equal (todo-write-parent child)
                      (cons (hosts-thread "claude")
                            (plist-get (aref (todo-write-items (hosts-thread "claude")) 0) :id))))
       (should (eq (todo-write-state child) 'active))
       (claude-checks-pass "main" '(active working)
                           '("Water" . "in_progress") '("Rake" . "pending"))
       (claude-checks-pass "subagent" '(active working)
                           '("Water" . "in_progress") '("Rake" . "pending"))
       (claude-checks-wait "the subagent's end"
                           (lambda () (eq (todo-write-state child) 'paused)))
       (claude-checks-ends)
       (claude-checks-shows "the end" '(paused)
                            '("Water" . "in_progress") '("Rake" . "pending"))))
   :prompt "Plan the garden" :environment '("CLAUDE_CODE_ENABLE_TASKS=0")
   :subagent (list (list (claude-checks-todo '("Find the can" "completed")
                                             '("Pour" "in_progress")))
                   (list (claude-checks-gate "subagent"))
                   "The can is empty.")))

;;; In a terminal

(ert-deftest claude-checks-terminal ()
  (claude-checks-run
   (list
    ;; A round that is done.
    (list (claude-checks-create "Rake"))
    (list (claude-checks-update "1" "in_progress"))
    (list (claude-checks-gate "one"))
    (list (claude-checks-update "1" "completed"))
    "Round one is over."
    ;; The next one, with a permission.
    (list (claude-checks-create "Water"))
    (list (claude-checks-update "2" "in_progress"))
    (list (list "Write" :file_path "water.txt" :content "Water\n"))
    (list (claude-checks-gate "two"))
    "Round two is over."
    ;; An interruption.
    (list (claude-checks-gate "never"))
    ;; It goes on.
    (list (claude-checks-update "2" "completed"))
    "Round four is over.")
   (lambda ()
     (claude-checks-wait-for "? for shortcuts")
     (claude-checks-type "Begin with the rake")
     (claude-checks-pass "one" '(active working) '("Rake" . "in_progress"))
     (claude-checks-wait-for "Round one is over")
     (claude-checks-wait "the end of round one"
                         (lambda () (equal (claude-checks-state) '(done))))
     (claude-checks-wait "an empty list of its own" (lambda () (null (claude-checks-own-rows))))
     (claude-checks-type "Now the water")
     (claude-checks-shows "permission" '(active waiting . "permission prompt")
                          '("Water" . "in_progress"))
     (claude-checks-press "\r" "waiting")
     (claude-checks-pass "two" '(active working) '("Water" . "in_progress"))
     (claude-checks-wait-for "Round two is over")
     (claude-checks-shows "the end of round two" '(paused) '("Water" . "in_progress"))
     (claude-checks-type "Wait for me")
     (claude-checks-shows "the gate" '(active working) '("Water" . "in_progress"))
     ;; Before the model answers, Esc would only take the prompt back.
     (claude-checks-wait-for "Wait for never")
     (claude-checks-press "\e" "busy")
     (claude-checks-shows "interruption" '(paused) '("Water" . "in_progress"))
     (claude-checks-type "Finish it")
     (claude-checks-wait-for "Round four is over")
     (claude-checks-shows "the end" '(done) '("Water" . "completed"))
     (claude-checks-type "/exit")
     (claude-checks-ends)
     (claude-checks-wait "its exit" (lambda () (equal (claude-checks-state) '(done)))))))

(ert-deftest claude-checks-a-command-in-the-background-and-a-new-session ()
  (claude-checks-run
   (list (list (claude-checks-create "Rake"))
         (list (claude-checks-update "1" "in_progress"))
         (list (append (claude-checks-gate "command") '(:run_in_background t)))
         "The command runs."
         "The command is over.")
   (lambda ()
     (claude-checks-wait-for "? for shortcuts")
     (claude-checks-type "Rake in the background")
     (claude-checks-wait-for "The command runs")
     (claude-checks-wait "the background"
                         (lambda () (equal (claude-checks-own :status) "shell")))
     (claude-checks-pass "command" '(paused) '("Rake" . "in_progress"))
     (claude-checks-wait-for "The command is over")
     (claude-checks-shows "the end of the turn" '(paused) '("Rake" . "in_progress"))
     (let ((thread (hosts-thread "claude")) (session (claude-checks-session)))
       (claude-checks-type "/clear" (lambda () (not (equal (claude-checks-own :sessionId) session))))
       (claude-checks-wait "the new session" (lambda () (null (todo-write-agent-pid thread))))
       (should (equal (plist-get (todo-write-summary thread) :reason) "end of turn"))
       (should (equal (claude-checks-rows thread) '(("Rake" . "in_progress"))))))))

(defun claude-checks--agent (session)
  "Return (STATE . PROJECT) of the agent of SESSION in the overview, or nil."
  (when-let* ((agent (todo-write-agent (concat "claude:" session))))
    (cons (todo-write-agent-state agent) (plist-get agent :project))))

(ert-deftest claude-checks-commands-that-no-model-reads ()
  (let ((pond (file-name-as-directory (file-truename (make-temp-file "pond" t))))
        session)
    (cl-flet ((shows (what &rest agent)
                (claude-checks-wait
                 (format "%s: %S" what agent)
                 (lambda () (equal (car agent) (claude-checks--agent session))))))
      (claude-checks-run
       (list "Hello.")
       (lambda ()
         (add-hook 'todo-write-agent-functions #'ignore)
         (unwind-protect
             (progn
               (claude-checks-trust pond)
               (claude-checks-wait-for "? for shortcuts")
               (claude-checks-type "Say hello")
               (claude-checks-wait "its session" #'claude-checks-session)
               (setq session (claude-checks-session))
               (shows "an answer" (cons 'done claude-checks-folder))
               (claude-checks-type "/model" (lambda () (equal "waiting" (claude-checks-own :status))))
               (should (equal "dialog open" (claude-checks-own :waitingFor)))
               (todo-write-hub-tell nil '(search))
               (shows "its own dialog" (cons 'done claude-checks-folder))
               (claude-checks-press "\e" "waiting")
               (claude-checks-type (concat "/cd " pond)
                                   (lambda () (equal pond (file-name-as-directory
                                                           (claude-checks-own :cwd)))))
               (shows "another project" (cons 'done pond))
               (todo-write-agent-see (concat "claude:" session))
               (claude-checks-type "/clear" (lambda ()
                                              (not (equal session (claude-checks-own :sessionId)))))
               (let ((cleared (claude-checks-own :sessionId)))
                 (claude-checks-type (concat "/resume " session)
                                     (lambda () (equal session (claude-checks-own :sessionId))))
                 (todo-write-hub-tell nil '(search))
                 ;; Threads search, and tell of it later.
                 (claude-checks-wait "the cleared one is gone"
                                     (lambda () (null (claude-checks--agent cleared)))))
               (shows "what was seen" (cons 'idle pond)))
           (remove-hook 'todo-write-agent-functions #'ignore)))))))

(ert-deftest claude-checks-a-request-that-fails ()
  (claude-checks-run
   (list (list (claude-checks-create "Rake"))
         (list (claude-checks-update "1" "in_progress"))
         '(error "The garden is closed"))
   (lambda ()
     (claude-checks-wait-for "? for shortcuts")
     (claude-checks-type "Begin with the rake")
     (claude-checks-shows "failure" '(paused failed . "API Error: 400 The garden is closed")
                          '("Rake" . "in_progress")))))

(provide 'claude-checks)
;;; claude-checks.el ends here
