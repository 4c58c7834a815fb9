;;; work-checks.el --- The work of genuine agents' tasks  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Claude Code and Codex edit a file with tabs, fail a command, are refused one, and
;; Claude Code sends out a subagent.  Each response of the model has the same
;; tokens.  The figures of each task must be those of the model's steps, and the
;; patch must lead from the file before to the file after.  claude.sh runs this.

;;; Code:

(require 'claude-checks)
(require 'codex-checks)
(require 'work-helper)

(ert-deftest work-checks-claude-code ()
  (let ((claude-checks-usage '(:usage (:input_tokens 10 :output_tokens 5)))
        (edit (list :old_string "\t\tred\n" :new_string "\t\tred\n\t\twhite\n"))
        (folder nil))
    (claude-checks-run
     ;; The model learns of the folder only below, so it works in the current one.
     `((,(claude-checks-create "Rake") ,(claude-checks-create "Water"))
       (,(claude-checks-update "1" "in_progress"))
       (("Read" :file_path "garden.txt"))
       (("Edit" :file_path "garden.txt" ,@edit))
       (("Bash" :command "exit 3" :description "Fail"))
       (,(claude-checks-update "1" "completed") ,(claude-checks-update "2" "in_progress"))
       (("Bash" :command "rm garden.txt" :description "Remove"))
       (("Agent" :description "Help" :prompt "Help me" :subagent_type "general-purpose"
         :run_in_background :false))
       (,(claude-checks-update "2" "completed"))
       "The garden is planned.")
     (lambda ()
       (setq folder claude-checks-folder)
       (write-region work-helper-before nil "garden.txt" nil 'silent)
       (claude-checks-start "-p" "Plan the garden" "--allowedTools" "Edit,Read"
                            "--disallowedTools" "Bash(rm:*)")
       (claude-checks-ends)
       (claude-checks-wait "its end" (lambda () (equal '(done) (claude-checks-state))))
       (let ((thread (hosts-thread "claude")))
         (should (equal (work-helper-expected 4 :added 1 :edits 1 :files '("garden.txt")
                                               :run 1 :failed 1)
                        (work-helper-figures thread "t1")))
         (should (equal (work-helper-expected 5 :run 1 :refused 1)
                        (work-helper-figures thread "t2")))
         (should (equal (work-helper-expected 3) (work-helper-figures thread 'outside)))
         (work-helper-patches thread "t1" (expand-file-name "garden.txt" folder))))
     :subagent '((("Bash" :command "echo here" :description "Say")) "I helped."))))

(ert-deftest work-checks-codex ()
  (let ((codex-checks-asks t)
        hosts-earlier-threads
        (codex-checks-settings '("-c" "sandbox_mode=\"danger-full-access\"")))
    (codex-checks-run
     "gpt-5.5"
     (list (codex-checks-update '("Rake" . "in_progress") '("Water" . "pending"))
           (list :name "apply_patch"
                 :input (concat "*** Begin Patch\n*** Update File: garden.txt\n@@\n \t\tred\n"
                                "+\t\twhite\n End\n*** End Patch\n"))
           (codex-checks-call "exec_command" :cmd "exit 3" :yield_time_ms 30000)
           (codex-checks-update '("Rake" . "completed") '("Water" . "in_progress"))
           (codex-checks-call "exec_command" :cmd "touch x" :justification "To rake"
                              :sandbox_permissions "require_escalated")
           (codex-checks-call "exec_command" :cmd "echo here" :yield_time_ms 30000)
           (codex-checks-update '("Rake" . "completed") '("Water" . "completed"))
           (list :text "The garden is planned."))
     (lambda ()
       ;; This one began without the file.
       (codex-checks-stop)
       (todo-write-agents-mode -1)
       (setq hosts-earlier-threads (todo-write-threads))
       (delete-directory (expand-file-name ".codex/sessions" codex-checks-home) t)
       (write-region work-helper-before nil (expand-file-name "garden.txt" codex-checks-folder)
                     nil 'silent)
       (codex-checks-start "Plan the garden")
       (todo-write-agents-mode)
       (codex-checks-shows "the end" 'done nil '("Rake" . "completed") '("Water" . "completed"))
       (let ((thread (hosts-thread "codex")))
         (should (equal (work-helper-expected 3 :added 1 :edits 1 :files '("garden.txt")
                                               :run 1 :failed 1)
                        (work-helper-figures thread "t1")))
         (should (equal (work-helper-expected 3 :run 1 :refused 1)
                        (work-helper-figures thread "t2")))
         (should (equal (work-helper-expected 2) (work-helper-figures thread 'outside)))
         (work-helper-patches thread "t1"
                               (expand-file-name "garden.txt" codex-checks-folder)))))))

(provide 'work-checks)
;;; work-checks.el ends here
