;;; work-checks.el --- The work of genuine agents' tasks  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Claude Code and Codex edit a file with tabs, fail a command, are refused one, and
;; Claude Code sends out a subagent.  Each response of the model has the same
;; tokens.  The figures of each task must be those of the model's steps, and the
;; patch must lead from the file before to the file after.  work.sh runs this.

;;; Code:

(require 'claude-checks)
(require 'codex-checks)

(defconst work-checks-before "Beds:\n\troses\n\t\tred\nEnd\n" "The file before the edit.")
(defconst work-checks-after "Beds:\n\troses\n\t\tred\n\t\twhite\nEnd\n" "The file after it.")

(defun work-checks--figures (thread id)
  "Return the figures of the work of the item ID of THREAD."
  (let* ((work (todo-write-work thread id))
         (commands (plist-get work :commands))
         (tokens (plist-get work :tokens)))
    (list :added (plist-get work :added) :removed (plist-get work :removed)
          :edits (plist-get work :edits)
          :files (mapcar (lambda (file) (file-name-nondirectory (plist-get file :path)))
                         (plist-get work :files))
          :run (plist-get commands :run) :failed (plist-get commands :failed)
          :refused (plist-get commands :refused)
          :responses (plist-get work :responses)
          :tokens (list (plist-get tokens :input) (plist-get tokens :output)))))

(defun work-checks--expected (responses &rest figures)
  "Return FIGURES of work with a number of RESPONSES; those left out are 0."
  (let ((expected (list :added 0 :removed 0 :edits 0 :files nil :run 0 :failed 0 :refused 0
                        :responses responses
                        :tokens (list (* 10 responses) (* 5 responses)))))
    (while figures
      (setq expected (plist-put expected (pop figures) (pop figures))))
    expected))

(defun work-checks--patches (thread id file)
  "Check that the patch of item ID of THREAD makes FILE of what it was before."
  (let ((patch (todo-write-patch thread id))
        (default-directory (file-name-as-directory (make-temp-file "before" t))))
    (should (equal work-checks-after (work-checks--contents file)))
    (write-region work-checks-before nil "garden.txt" nil 'silent)
    ;; The patch names the file by its place in the project, or by its absolute name.
    (setq patch (replace-regexp-in-string
                 "^\\(--- a\\|\\+\\+\\+ b\\)/.*garden\\.txt$" "\\1/garden.txt" patch))
    (with-temp-buffer
      (insert patch)
      (should (equal '(0 "")
                     (list (call-process-region nil nil "git" t t nil "apply" "-")
                           (buffer-string)))))
    (should (equal work-checks-after (work-checks--contents "garden.txt")))))

(defun work-checks--contents (file)
  "Return the text of FILE."
  (with-temp-buffer
    (insert-file-contents file)
    (buffer-string)))

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
       (write-region work-checks-before nil "garden.txt" nil 'silent)
       (claude-checks-start "-p" "Plan the garden" "--allowedTools" "Edit,Read"
                            "--disallowedTools" "Bash(rm:*)")
       (claude-checks-ends)
       (claude-checks-wait "its end" (lambda () (equal '(done) (claude-checks-state))))
       (let ((thread (hosts-thread "claude")))
         (should (equal (work-checks--expected 4 :added 1 :edits 1 :files '("garden.txt")
                                               :run 1 :failed 1)
                        (work-checks--figures thread "t1")))
         (should (equal (work-checks--expected 5 :run 1 :refused 1)
                        (work-checks--figures thread "t2")))
         (should (equal (work-checks--expected 3) (work-checks--figures thread 'outside)))
         (work-checks--patches thread "t1" (expand-file-name "garden.txt" folder))))
     :subagent '((("Bash" :command "echo here" :description "Say")) "I helped."))))

(ert-deftest work-checks-codex ()
  (let ((codex-checks-asks t)
        hosts-earlier-threads
        (codex-checks-settings '("-c" "sandbox_mode=\"danger-full-access\""))
        (update (lambda (&rest entries)
                  (apply #'codex-checks-call "update_plan"
                         (apply #'codex-checks-plan entries)))))
    (codex-checks-run
     "gpt-5.5"
     (list (funcall update '("Rake" . "in_progress") '("Water" . "pending"))
           (list :name "apply_patch"
                 :input (concat "*** Begin Patch\n*** Update File: garden.txt\n@@\n \t\tred\n"
                                "+\t\twhite\n End\n*** End Patch\n"))
           (codex-checks-call "exec_command" :cmd "exit 3" :yield_time_ms 30000)
           (funcall update '("Rake" . "completed") '("Water" . "in_progress"))
           (codex-checks-call "exec_command" :cmd "touch x" :justification "To rake"
                              :sandbox_permissions "require_escalated")
           (codex-checks-call "exec_command" :cmd "echo here" :yield_time_ms 30000)
           (funcall update '("Rake" . "completed") '("Water" . "completed"))
           (list :text "The garden is planned."))
     (lambda ()
       ;; This one began without the file.
       (codex-checks-stop)
       (todo-write-follow-mode -1)
       (setq hosts-earlier-threads (todo-write-threads))
       (delete-directory (expand-file-name ".codex/sessions" codex-checks-home) t)
       (write-region work-checks-before nil (expand-file-name "garden.txt" codex-checks-folder)
                     nil 'silent)
       (codex-checks-start "Plan the garden")
       (todo-write-follow-mode)
       (codex-checks-shows "the end" 'done nil '("Rake" . "completed") '("Water" . "completed"))
       (let ((thread (hosts-thread "codex")))
         (should (equal (work-checks--expected 3 :added 1 :edits 1 :files '("garden.txt")
                                               :run 1 :failed 1)
                        (work-checks--figures thread "t1")))
         (should (equal (work-checks--expected 3 :run 1 :refused 1)
                        (work-checks--figures thread "t2")))
         (should (equal (work-checks--expected 2) (work-checks--figures thread 'outside)))
         (work-checks--patches thread "t1"
                               (expand-file-name "garden.txt" codex-checks-folder)))))))

(provide 'work-checks)
;;; work-checks.el ends here
