;;; acp-checks.el --- Checks with ACP agents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These checks show the plans that genuine agents send to the real agent-shell.
;; agent-shell.sh runs them.

;;; Code:

(require 'agent-shell-helper)
(require 'todo-write-follow)
(require 'work-helper)

(defun acp-checks-run (&optional shell)
  "Let an agent work with all permissions; return its shell after the turn.
Use SHELL if it is non-nil, otherwise start a shell."
  (let ((agent-shell-permission-responder-function #'agent-shell-permission-allow-always)
        (shell (or shell (agent-shell-helper-start))))
    (agent-shell-helper-prompt shell)
    (agent-shell-helper-wait shell 'working)
    (agent-shell-helper-wait shell nil)
    shell))

(defun acp-checks-todos (tool &rest entries)
  "Return a call of TOOL with the tasks ENTRIES, as for `todo-write-test-todos'."
  (list :name tool :arguments (apply #'todo-write-test-todos entries)))

;;; Claude

(defun acp-checks-claude (&rest environment)
  "Return Claude's adapter as an agent with plan tools and ENVIRONMENT."
  (append (hosts-claude-environment agent-shell-helper-url)
          '("ENABLE_TOOL_SEARCH=false")
          environment '("claude-agent-acp")))

(defun acp-checks-wait-for-title (thread)
  "Wait until THREAD has the title that the adapter sends after the turn."
  (todo-write-test-wait
   (lambda () (equal "Look after the garden" (plist-get (todo-write-summary thread) :title)))))

(defun acp-checks-follow (shell pattern)
  "Follow the transcript of SHELL's agent; return the thread.
PATTERN is a wildcard that matches it in the agent's home."
  (let ((files (file-expand-wildcards
                (expand-file-name (concat "home/" pattern) agent-shell-helper-folder))))
    (should (= 1 (length files)))
    (should (string-search (agent-shell-helper-state shell :session :id) (car files)))
    (todo-write-follow (car files))))

(defconst acp-checks-subagent
  '((:name "Agent" :arguments (:description "Rake" :prompt "SUBTASK: rake"
                               :subagent_type "general-purpose" :run_in_background :false)))
  "A call that starts a subagent.")

(ert-deftest acp-claude-has-a-list-for-each-subagent-by-TodoWrite ()
  (agent-shell-helper-with 'claude-todo-write
      (agent-shell-helper-aimock
       (agent-shell-helper-fixture
        (list "SUBTASK" (acp-checks-todos "TodoWrite" '("Find the rake" "in_progress" "Finding it") "Rake"))
        '("SUBTASK" "Raked.")
        (list (acp-checks-todos "TodoWrite" "Rake the leaves" "Water the beds"))
        (list (acp-checks-todos "TodoWrite" '("Rake the leaves" "in_progress" "Clearing")
                                "Water the beds"))
        acp-checks-subagent
        (list (acp-checks-todos "TodoWrite" '("Rake the leaves" "completed" "Clearing")
                                '("Water the beds" "in_progress" "Giving water")))
        "Done."))
      (acp-checks-claude "CLAUDE_CODE_ENABLE_TASKS=0")
    (let* ((thread (agent-shell-helper-thread (acp-checks-run)))
           (child (caar (todo-write-children thread))))
      (should (equal (todo-write-test-rows thread)
                     '(("Rake the leaves" "completed" "Clearing")
                       ("Water the beds" "in_progress" "Giving water"))))
      (should (= 3 (length (todo-write-revisions thread))))
      (should (equal (todo-write-test-rows child)
                     '(("Finding it" "in_progress" "Finding it") ("Rake" "pending" "Rake"))))
      (should (equal "Rake" (plist-get (todo-write-summary child) :title)))
      (acp-checks-wait-for-title thread)
      (should (equal (todo-write-children thread)
                     (list (cons child (todo-write-test-id thread "Rake the leaves")))))
      (should (equal '(paused paused) (mapcar #'todo-write-state (list thread child)))))))

(ert-deftest acp-claude-shares-one-list-with-its-subagents-by-TaskCreate ()
  (agent-shell-helper-with 'claude-tasks
      (agent-shell-helper-aimock
       (agent-shell-helper-fixture
        '("SUBTASK" (:name "TaskCreate" :arguments (:subject "Find the rake" :description "It is lost"
                                                    :activeForm "Finding it")))
        '("SUBTASK" "Raked.")
        '((:name "TaskCreate" :arguments (:subject "Rake the leaves" :description "All"
                                          :activeForm "Clearing"))
          (:name "TaskCreate" :arguments (:subject "Water the beds" :description "All"
                                          :activeForm "Giving water")))
        '((:name "TaskUpdate" :arguments (:taskId "1" :status "in_progress")))
        acp-checks-subagent
        '((:name "TaskUpdate" :arguments (:taskId "1" :status "completed")))
        "Done."))
      (acp-checks-claude)
    (let ((thread (agent-shell-helper-thread (acp-checks-run))))
      (should (equal (mapcar #'butlast (todo-write-test-rows thread))
                     '(("Rake the leaves" "completed") ("Water the beds" "pending")
                       ("Find the rake" "pending"))))
      (should-not (todo-write-children thread))
      ;; The agent creates two tasks, starts one, creates one and completes one.  Most
      ;; updates are sent twice.
      (should (= 5 (length (todo-write-revisions thread)))))))

(ert-deftest acp-claude-has-one-plan-with-its-transcript ()
  (agent-shell-helper-with nil
      (agent-shell-helper-aimock
       (agent-shell-helper-fixture
        (list (acp-checks-todos "TodoWrite" '("Rake the leaves" "in_progress" "Clearing") "Weed"))
        "Half of it is done."
        (list (acp-checks-todos "TodoWrite" '("Rake the leaves" "completed" "Clearing")
                                '("Weed" "in_progress" "Pulling")))
        "Done."))
      (acp-checks-claude "CLAUDE_CODE_ENABLE_TASKS=0")
    (let* ((shell (acp-checks-run))
           (thread (agent-shell-helper-thread shell)))
      (should (equal (todo-write-test-contents thread) '("Clearing" "Weed")))
      (acp-checks-wait-for-title thread)
      (unwind-protect
          (progn
            (should (equal thread (acp-checks-follow shell ".claude/projects/*/*.jsonl")))
            (should (equal (todo-write-test-rows thread)
                           '(("Rake the leaves" "in_progress" "Clearing") ("Weed" "pending" "Doing: Weed"))))
            (acp-checks-run shell)
            (todo-write-test-wait
             (lambda () (equal '("Rake the leaves" "completed" "Clearing")
                               (car (todo-write-test-rows thread)))))
            (should (equal (list thread) (todo-write-threads)))
            (should (= 3 (length (todo-write-revisions thread))))
            (should (eq 'paused (todo-write-state thread))))
        (todo-write-follow-stop)))))

(defun acp-checks-work (thread)
  "Check the figures of THREAD's two tasks, of which the first edits the file."
  (should (equal (work-helper-expected 0 :added 1 :edits 1 :files '("garden.txt")
                                       :run 1 :failed 1)
                 (work-helper-figures thread "t1")))
  (should (equal (work-helper-expected 0 :run 1) (work-helper-figures thread "t2"))))

(defun acp-checks-garden ()
  "Write the file that the agent edits."
  (write-region work-helper-before nil (expand-file-name "garden.txt" agent-shell-helper-folder)
                nil 'silent))

(ert-deftest acp-claude-tells-the-work-of-each-task ()
  (agent-shell-helper-with nil
      (agent-shell-helper-aimock
       (agent-shell-helper-fixture
        (list "Look after" (acp-checks-todos "TodoWrite" '("Rake" "in_progress") "Water"))
        '("Look after" (:name "Read" :arguments (:file_path "garden.txt")))
        '("Look after" (:name "Edit" :arguments (:file_path "garden.txt" :old_string "\t\tred\n"
                                                 :new_string "\t\tred\n\t\twhite\n")))
        '("Look after" (:name "Bash" :arguments (:command "exit 3" :description "Fail")))
        (list "Look after" (acp-checks-todos "TodoWrite" '("Rake" "completed")
                                             '("Water" "in_progress")))
        '("Look after" (:name "Bash" :arguments (:command "echo here" :description "Say")))
        '("Look after" "Done.")))
      (acp-checks-claude "CLAUDE_CODE_ENABLE_TASKS=0")
    (acp-checks-garden)
    (let ((thread (agent-shell-helper-thread (acp-checks-run))))
      (acp-checks-work thread)
      (work-helper-patches thread "t1" (expand-file-name "garden.txt" agent-shell-helper-folder)))))

;;; Other agents

(defun acp-checks-codex-plan (&rest steps)
  "Return a call of `update_plan' with STEPS, lists (STEP STATUS)."
  (list :name "update_plan"
        :arguments (list :explanation "Go on"
                         :plan (vconcat (cl-loop for (step status) in steps
                                                 collect (list :step step :status status))))))

(defun acp-checks-codex-model (function)
  "Call FUNCTION with the URL of a model that calls `update_plan'."
  (hosts-with-responses
   (list (acp-checks-codex-plan '("Rake the leaves" "in_progress") '("Water the beds" "pending"))
         (acp-checks-codex-plan '("Rake the leaves" "completed")
                                '("Water the beds" "in_progress"))
         '(:text "Done."))
   function))

(defun acp-checks-codex ()
  "Return Codex's adapter as an agent, with its settings in its home."
  (let ((folder (expand-file-name "home/.codex/" agent-shell-helper-folder)))
    (make-directory folder t)
    (write-region
     (format "model = \"gpt-5.5\"
model_provider = \"mock\"
check_for_update_on_startup = false
approval_policy = \"never\"
sandbox_mode = \"danger-full-access\"
[model_providers.mock]
name = \"Mock\"
base_url = \"%s/v1\"
env_key = \"MOCK_KEY\"
wire_api = \"responses\"
supports_websockets = false
[analytics]
enabled = false
[tools.update_plan]
enabled = true
" agent-shell-helper-url)
     nil (expand-file-name "config.toml" folder) nil 'silent)
    '("MOCK_KEY=test-key" "OPENAI_API_KEY=test-key" "NO_BROWSER=1" "codex-acp")))

(ert-deftest acp-codex-sends-its-plan ()
  (agent-shell-helper-with 'codex #'acp-checks-codex-model (acp-checks-codex)
    (let* ((shell (acp-checks-run))
           (thread (agent-shell-helper-thread shell))
           (rows '(("Rake the leaves" "completed" "Rake the leaves")
                   ("Water the beds" "in_progress" "Water the beds"))))
      (should (equal (todo-write-test-rows thread) rows))
      (unwind-protect
          (progn
            (should (equal thread (acp-checks-follow shell ".codex/sessions/*/*/*/*.jsonl")))
            (should (equal (list thread) (todo-write-threads)))
            (should (equal (todo-write-test-rows thread) rows))
            ;; The third list lacks the priorities, which the adapter invents.
            (should (= 3 (length (todo-write-revisions thread)))))
        (todo-write-follow-stop)))))

(ert-deftest acp-codex-tells-the-work-of-each-task ()
  (agent-shell-helper-with nil
      (lambda (function)
        (hosts-with-responses
         (list (acp-checks-codex-plan '("Rake" "in_progress") '("Water" "pending"))
               (list :name "apply_patch"
                     :input (concat "*** Begin Patch\n*** Update File: garden.txt\n@@\n \t\tred\n"
                                    "+\t\twhite\n End\n*** End Patch\n"))
               '(:name "exec_command" :arguments (:cmd "exit 3" :yield_time_ms 30000))
               (acp-checks-codex-plan '("Rake" "completed") '("Water" "in_progress"))
               '(:name "exec_command" :arguments (:cmd "echo here" :yield_time_ms 30000))
               '(:text "Done."))
         function))
      (acp-checks-codex)
    (acp-checks-garden)
    (let ((thread (agent-shell-helper-thread (acp-checks-run))))
      (acp-checks-work thread)
      ;; Its adapter tells only a part of the file, and not which.
      (should (string-match-p "\\`# Inexact.*\n\\(?:.*\n\\)+ \t\tred\n\\+\t\twhite\n End\n\\'"
                              (todo-write-patch thread "t1"))))))

(ert-deftest acp-opencode-sends-the-arguments-of-its-tool ()
  (agent-shell-helper-with 'opencode
      (agent-shell-helper-aimock
       (agent-shell-helper-fixture
        (list "Look after" (acp-checks-todos "todowrite" '("Rake the leaves" "in_progress") "Weed" "Water"))
        (list "Look after" (acp-checks-todos "todowrite" '("Rake the leaves" "completed")
                                             '("Weed" "cancelled") '("Water" "in_progress")))
        '("Look after" "Done.")
        "Garden"))
      (append (hosts-opencode-environment agent-shell-helper-url) '("opencode" "acp"))
    (let ((thread (agent-shell-helper-thread (acp-checks-run))))
      (should (equal (mapcar #'butlast (todo-write-test-rows thread))
                     '(("Rake the leaves" "completed") ("Water" "in_progress"))))
      (should (= 2 (length (todo-write-revisions thread)))))))

(ert-deftest acp-copilot-keeps-its-list-after-its-empty-plan ()
  (agent-shell-helper-with 'copilot
      (agent-shell-helper-aimock
       (agent-shell-helper-fixture
        '((:name "sql" :arguments (:description "Insert todos"
                                   :query "INSERT INTO todos (id, title, description, status) VALUES ('rake', 'Rake the leaves', 'All', 'in_progress')")))
        "Done."))
      (append (hosts-copilot-environment agent-shell-helper-url)
              '("copilot" "--acp" "--disable-client-telemetry" "--no-auto-update" "--no-remote"))
    (let* ((shell (agent-shell-helper-start))
           (thread (agent-shell-helper-thread shell))
           (plans nil))
      (todo-write thread (todo-write-test-todos "Mine") "mcp")
      (acp-subscribe-to-notifications
       :client (agent-shell-helper-state shell :client)
       :on-notification (lambda (message)
                          (let-alist (map-nested-elt message '(params update))
                            (when (equal .sessionUpdate "plan")
                              (push .entries plans)))))
      (acp-checks-run shell)
      (should (equal plans '([])))
      (should (equal (todo-write-test-contents thread) '("Mine"))))))

(ert-deftest acp-gemini-sends-no-plan ()
  (agent-shell-helper-with 'gemini
      (agent-shell-helper-aimock
       (agent-shell-helper-fixture
        '((:name "write_todos" :arguments (:todos [(:description "Rake the leaves" :status "in_progress")])))
        "Done."))
      (progn
        (let ((folder (expand-file-name "home/.gemini/" agent-shell-helper-folder)))
          (make-directory folder t)
          (write-region (json-serialize hosts-gemini-settings)
                        nil (expand-file-name "settings.json" folder) nil 'silent))
        (append (hosts-gemini-environment agent-shell-helper-url)
                '("gemini" "--acp" "-m" "gemini-2.5-pro")))
    (let ((thread (agent-shell-helper-thread (acp-checks-run))))
      (should (eq 'empty (todo-write-state thread))))))

(provide 'acp-checks)
;;; acp-checks.el ends here
