;;; mcp-checks.el --- Checks with genuine agents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Each agent gets the tool according to `todo-write-setup' and runs one prompt
;; against a scripted model.  The model calls todo_write three times: with a list,
;; with a bad status, and with the corrected list.  After the first, the user adds a
;; task, and Emacs drops all connections.
;; test/hosts/mcp.sh runs these checks.  AGENTS in the environment is the folder of
;; the agents' programs.

;;; Code:

(require 'ert)
(require 'hosts-helper)
(require 'todo-write-mcp-helper)
(require 'todo-write-mock-helper)

(defconst mcp-checks-lists
  '((("Rake" "in_progress" "Raking") ("Water" "pending" "Watering"))
    (("Rake" "blocked" "Raking") ("Water" "pending" "Watering"))
    (("Rake" "completed" "Raking") ("Water" "in_progress" "Watering")))
  "The lists that the model sends.")

(defconst mcp-checks-said "I see that Weed is on the list."
  "The model's last text if the results of its calls are right.")

(defvar mcp-checks-refusal "blocked"
  "Text that the model must get for its second list.")

(defun mcp-checks-steps (call)
  "Return the steps of the model as a list of (NEEDED . STEP).
NEEDED is text that the last tool result must contain.  CALL makes a step
from the arguments of a call."
  (append
   (cl-mapcar (lambda (needed entries)
                (cons needed (funcall call (apply #'todo-write-test-todos entries))))
              (list "" "" mcp-checks-refusal) mcp-checks-lists)
   (list (cons "Weed" nil))))

(defun mcp-checks-fixture (tool)
  "Return the name of a file with a script for aimock that calls TOOL."
  (todo-write-mock-script
   (cons '(:match (:systemMessage "title generator") :response (:content "Garden"))
         (seq-map-indexed
          (pcase-lambda (`(,needed . ,call) turn)
            (list :match (append (list :turnIndex turn)
                                 (unless (equal needed "")
                                   (list :toolResultContains needed)))
                  :response (if call (list :toolCalls (vector call))
                              (list :content mcp-checks-said))))
          (mcp-checks-steps
           (lambda (arguments) (list :name tool :arguments arguments)))))))

(cl-defun mcp-checks-agent (home folder &key command environment)
  "Run COMMAND of an agent in FOLDER; return its status and output.
HOME is its home, ENVIRONMENT a list of its further variables."
  (with-temp-buffer
    (let* ((default-directory folder)
           (process-environment (append environment (hosts-environment home)))
           (status (apply #'call-process "timeout" nil t nil "--kill-after=5" "150" command)))
      (list status (buffer-string)))))

(defun mcp-checks-setup (agent home folder server &rest options)
  "Set AGENT up in HOME for SERVER, by the program's setup with OPTIONS.
FOLDER is the project.  Return the output."
  (let ((result (mcp-checks-agent home folder
                                  :command `(,(car server) "setup" ,agent ,@(cdr server) ,@options))))
    (should (equal (cons 0 (cdr result)) result))
    (cadr result)))

(ert-deftest mcp-checks-the-setup-is-repeated-changed-and-taken-back ()
  (dolist (agent '("claude" "claude-tool" "codex" "gemini" "copilot"))
    (let* ((home (make-temp-file "home" t))
           (folder (file-name-as-directory (make-temp-file "garden" t)))
           (setup (lambda (socket &rest options)
                    (apply #'mcp-checks-setup agent home folder
                           (list (todo-write-mcp-helper-program) "--socket" socket) options))))
      (unwind-protect
          (ert-info (agent)
            (dolist (socket '("/run/a" "/run/a" "/run/b"))
              (should (string-search "has the tool todo_write." (funcall setup socket))))
            (should (string-search "no longer has it." (funcall setup "/run/b" "--remove"))))
        (delete-directory home t)
        (delete-directory folder t)))))

(cl-defun mcp-checks (agent tool &key thread prepare command environment
                            (model #'mcp-checks-aimock) (before #'mcp-checks-edit-after-first-list)
                            (check #'mcp-checks-plan))
  "Check that AGENT, which calls the tool TOOL, keeps its plan in Emacs.
THREAD is a regexp on the key of its thread.  PREPARE is called with its
home and project after the tool was added.  COMMAND and ENVIRONMENT run
one prompt; both are functions of the home and the URL of the model.
MODEL is a function of the tool and of a function that takes that URL.
BEFORE is called with the Emacs before the agent runs, CHECK with the
Emacs, THREAD and the project after it."
  (let* ((todo-write-directory (make-temp-file "todo-write-test" t))
         (home (make-temp-file "home" t))
         (folder (file-name-as-directory (make-temp-file "garden" t)))
         (emacs (todo-write-mcp-emacs-start))
         (output nil))
    (unwind-protect
        (progn
          (call-process "git" nil nil nil "init" "--quiet" folder)
          (mcp-checks-setup agent home folder
                            (list (todo-write-mcp-helper-program) "--socket"
                                  (todo-write-mcp-emacs-socket emacs)))
          (when prepare (funcall prepare home folder))
          (funcall before emacs)
          (funcall model tool
                   (lambda (url)
                     (setq output (mcp-checks-agent
                                   home folder
                                   :command (funcall command home url)
                                   :environment (funcall environment home url)))))
          (ert-info ((format "%S" output) :prefix "Output: ")
            (funcall check emacs thread folder)
            (should (string-search mcp-checks-said (cadr output)))))
      (todo-write-mcp-emacs-stop emacs)
      (dolist (folder (list todo-write-directory home folder))
        (delete-directory folder t)))))

(defun mcp-checks-edit-after-first-list (emacs)
  "Let the user of EMACS add a task as soon as the agent has written a list.
Then EMACS forgets its connections, and opens the socket again, as after a
restart."
  (todo-write-mcp-emacs-eval
   emacs '(progn
            (defvar mcp-checks-edited nil)
            (add-hook 'todo-write-change-functions
                      (lambda (thread _outcome)
                        (unless mcp-checks-edited
                          (setq mcp-checks-edited t)
                          (run-at-time 0 nil
                                       (lambda ()
                                         (todo-write-edit thread 'add "Weed")
                                         (todo-write-agents-mode -1)
                                         (setq todo-write-socket-programs nil)
                                         (todo-write-agents-mode))))))
            t)))

(defun mcp-checks-plan (emacs thread folder)
  "Check that EMACS has one paused plan in FOLDER, whose key matches THREAD."
  (let ((threads (todo-write-mcp-emacs-threads emacs)))
    (should (equal 1 (length threads)))
    (should (string-match-p thread (car threads)))
    (should (equal (todo-write-mcp-emacs-rows emacs (car threads))
                   '(("Rake" . "completed") ("Water" . "in_progress") ("Weed" . "pending"))))
    (should (equal folder (todo-write-mcp-emacs-eval
                           emacs `(plist-get (todo-write-about ,(car threads)) :project))))
    (todo-write-test-wait
     (lambda ()
       (eq 'paused (todo-write-mcp-emacs-eval emacs `(todo-write-state ,(car threads))))))))

;;; Models

(defun mcp-checks-aimock (tool function)
  "Call FUNCTION with the URL of aimock, which calls TOOL."
  (todo-write-with-mock port (mcp-checks-fixture tool)
    (funcall function (format "http://127.0.0.1:%d" port))))

(defun mcp-checks-responses (tool function)
  "Call FUNCTION with the URL of a model for Codex that calls TOOL, (NAME . NAMESPACE)."
  (hosts-with-responses
   (mapcar (pcase-lambda (`(,needed . ,call))
             (append (list :needs needed) (or call (list :text mcp-checks-said))))
           (mcp-checks-steps
            (lambda (arguments)
              (list :name (car tool) :namespace (cdr tool) :arguments arguments))))
   function))

;;; Agents

(ert-deftest mcp-checks-claude-code ()
  (mcp-checks
   "claude-tool" "mcp__todo-write__todo_write" :thread "\\`claude:[-0-9a-f]\\{36\\}\\'"
   :command (lambda (_ _) `("claude" "-p" "Plan the garden" "--model" ,hosts-claude-model
                            "--permission-mode" "default"
                            "--allowedTools" "mcp__todo-write__todo_write"))
   :environment (lambda (_ url) (hosts-claude-environment url))))

(ert-deftest mcp-checks-codex ()
  (mcp-checks
   "codex" '("todo_write" . "mcp__todo_write") :thread "\\`codex:[-0-9a-f]\\{36\\}\\'"
   :model #'mcp-checks-responses
   :prepare #'mcp-checks-codex-approves
   :command (lambda (_ url)
              `("codex" "exec" ,@(hosts-codex-arguments url "gpt-5.5") "Plan the garden"))
   :environment (lambda (_ _) '("MOCK_KEY=test-key"))))

(defun mcp-checks-codex-approves (home _folder)
  "Let Codex in HOME call the tool without a question, and start subagents."
  (write-region "default_tools_approval_mode = \"approve\"\n[features]\nmulti_agent = true\n" nil
                (expand-file-name ".codex/config.toml" home) t 'silent))

(ert-deftest mcp-checks-codex-subagents ()
  (mcp-checks
   "codex" nil :thread "\\`codex:[-0-9a-f]\\{36\\}\\'"
   :prepare #'mcp-checks-codex-approves
   :before #'ignore
   :model
   (lambda (_ function)
     (cl-flet ((plan (content status)
                 (list :name "todo_write" :namespace "mcp__todo_write"
                       :arguments (todo-write-test-todos (list content status)))))
       (hosts-with-responses
        (list :main (list (plan "Water" "in_progress")
                          '(:name "spawn_agent" :namespace "multi_agent_v1"
                            :arguments (:message "SUBAGENT: water the beds"))
                          '(:name "wait_agent" :namespace "multi_agent_v1"
                            :find "agent_id[^0-9a-f]+([-0-9a-f]{36})"
                            :arguments (:targets ["FOUND"] :timeout_ms 30000))
                          (list :text mcp-checks-said))
              :subagent (list (plan "Find the can" "completed") '(:text "Watered.")))
        function)))
   :command (lambda (_ url)
              `("codex" "exec" ,@(hosts-codex-arguments url "gpt-5.5") "Plan the garden"))
   :environment (lambda (_ _) '("MOCK_KEY=test-key"))
   :check
   (lambda (emacs thread _)
     (let* ((threads (todo-write-mcp-emacs-threads emacs))
            (main (seq-find (lambda (key) (string-match-p thread key)) threads))
            (subagent (car (remove main threads))))
       (should (equal 2 (length threads)))
       (should (string-prefix-p (concat main "/") subagent))
       (should (equal (todo-write-mcp-emacs-rows emacs main) '(("Water" . "in_progress"))))
       (should (equal (todo-write-mcp-emacs-rows emacs subagent) '(("Find the can" . "completed"))))
       (should (equal (cons main "t1")
                      (todo-write-mcp-emacs-eval emacs `(todo-write-parent ,subagent))))))))

(defun mcp-checks-gemini-settings (home _folder)
  "Let Gemini in HOME use a key without a question."
  (let* ((file (expand-file-name ".gemini/settings.json" home))
         (settings (with-temp-buffer
                     (insert-file-contents file)
                     (json-parse-buffer :object-type 'plist))))
    (write-region (json-serialize (append hosts-gemini-settings settings))
                  nil file nil 'silent)))

(ert-deftest mcp-checks-gemini-cli ()
  ;; This agent validates arguments itself and does not send the bad list.
  (let ((mcp-checks-refusal "must be equal to one of the allowed values"))
    (mcp-checks
     "gemini" "mcp_todo-write_todo_write" :thread "\\`mcp:gemini-cli-mcp-client:"
     :prepare #'mcp-checks-gemini-settings
     :command (lambda (_ _) '("gemini" "-m" "gemini-2.5-pro" "-p" "Plan the garden"))
     :environment (lambda (_ url) (hosts-gemini-environment url)))))

(ert-deftest mcp-checks-copilot-cli ()
  (mcp-checks
   "copilot" "todo-write-todo_write" :thread "\\`mcp:copilot-cli:[-0-9a-f]\\{36\\}\\'"
   :command (lambda (_ _)
              '("copilot" "--disable-client-telemetry" "--no-auto-update" "--no-remote"
                "--no-remote-export" "--allow-tool=todo-write" "-p" "Plan the garden"))
   :environment (lambda (_ url) (hosts-copilot-environment url))))

(provide 'mcp-checks)
;;; mcp-checks.el ends here
