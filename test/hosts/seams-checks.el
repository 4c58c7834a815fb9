;;; seams-checks.el --- Where sessions begin and end  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The genuine Claude Code is killed, suspended, denied a permission and started
;; twice.  At each of these seams, the state in this Emacs must be that of its
;; process, and no plan may replace or end another.  claude.sh runs this.

;;; Code:

(require 'claude-checks)
(require 'todo-write-list)

(defun seams-checks-ending (&optional thread)
  "Return the state, the ending and the reason of THREAD or the session."
  (when-let* ((thread (or thread (hosts-thread "claude")))
              (summary (todo-write-summary thread)))
    (list (plist-get summary :state) (plist-get summary :ending) (plist-get summary :reason))))

(defun seams-checks-ends (what ending)
  "Wait until `seams-checks-ending' is ENDING; WHAT names the moment."
  (claude-checks-wait (format "%s: %S" what ending)
                      (lambda () (equal (seams-checks-ending) ending))))

(defun seams-checks-row ()
  "Return the first row of the overview as one string."
  (save-window-excursion
    (with-current-buffer (todo-write-list)
      (goto-char (point-min))
      (buffer-substring-no-properties (point) (line-end-position)))))

(defconst seams-checks-one
  (list (list (claude-checks-create "Rake") (claude-checks-create "Water"))
        (list (claude-checks-update "1" "in_progress"))
        (list (claude-checks-gate "one"))
        "The garden is planned.")
  "Steps with a plan of two tasks and a gate.")

(defconst seams-checks-rows '(("Rake" . "in_progress") ("Water" . "pending"))
  "The list at the gate.")

(ert-deftest seams-checks-an-agent-killed-before-anyone-looked ()
  (claude-checks-run
   seams-checks-one
   (lambda ()
     (todo-write-agents-mode -1)
     (claude-checks-wait "the plan" (lambda () (= 2 (length (claude-checks-own-json "tasks")))))
     (claude-checks-wait "its work" (lambda () (equal "busy" (claude-checks-own :status))))
     (signal-process (claude-checks-own :pid) 'kill)
     (claude-checks-ends)
     (todo-write-agents-mode)
     (seams-checks-ends "its end" '(paused killed "killed"))
     (should-not (todo-write-activity (hosts-thread "claude")))
     (should (string-match-p "✗ stopped .* 0/2 (killed)" (seams-checks-row))))
   :prompt "Plan the garden"))

(ert-deftest seams-checks-an-agent-killed-or-told-to-stop-while-followed ()
  (pcase-dolist (`(,signal ,ending ,row)
                 '((kill (paused killed "killed") "✗ stopped .* 0/2 (killed)")
                   (term (paused session-ended "agent exited") "✗ stopped .* 0/2")))
    (claude-checks-run
     seams-checks-one
     (lambda ()
       (apply #'claude-checks-shows "the gate" '(active working) seams-checks-rows)
       (signal-process (claude-checks-own :pid) signal)
       (seams-checks-ends "its end" ending)
       (should (string-match-p row (seams-checks-row))))
     :prompt "Plan the garden")))

(defconst seams-checks-denied
  (list (list (claude-checks-create "Rake"))
        (list (claude-checks-update "1" "in_progress"))
        '(("Write" :file_path "water.txt" :content "Water\n"))
        "I may not write.")
  "Steps that need a permission.")

(ert-deftest seams-checks-a-denied-permission ()
  (claude-checks-run
   seams-checks-denied
   (lambda ()
     (claude-checks-wait-for "? for shortcuts")
     (claude-checks-type "Begin with the rake")
     (claude-checks-shows "permission" '(active waiting . "permission prompt")
                          '("Rake" . "in_progress"))
     (claude-checks-press "\e" "waiting")
     (seams-checks-ends "the denial" '(paused denied "permission denied"))
     (should (string-match-p "✗ stopped .* 0/1 (permission denied)" (seams-checks-row))))))

(ert-deftest seams-checks-a-permission-that-print-mode-denies ()
  (claude-checks-run
   seams-checks-denied
   (lambda ()
     (claude-checks-ends)
     (seams-checks-ends "the denial" '(paused denied "permission denied")))
   :prompt "Plan the garden"))

(ert-deftest seams-checks-a-process-that-is-stopped-and-goes-on ()
  (claude-checks-run
   seams-checks-one
   (lambda ()
     (let (pid)
       (apply #'claude-checks-shows "the gate" '(active working) seams-checks-rows)
       (setq pid (claude-checks-own :pid))
       (signal-process pid 'stop)
       (seams-checks-ends "its stop" '(paused nil "suspended"))
       (should (string-match-p "‖ suspended" (seams-checks-row)))
       (should-not (plist-get (cdar (todo-write-times (hosts-thread "claude"))) :running))
       (signal-process pid 'cont)
       (apply #'claude-checks-pass "one" '(active working) seams-checks-rows)
       (claude-checks-ends)
       (seams-checks-ends "its end" '(paused end-of-turn "end of turn"))))
   :prompt "Plan the garden"))

;;; Several sessions

(defun seams-checks-another (&rest arguments)
  "Start another Claude Code with ARGUMENTS beside the first; return the first."
  (prog1 claude-checks-process
    (setq claude-checks-process nil)
    (apply #'claude-checks-start arguments)))

(ert-deftest seams-checks-two-sessions-in-one-project ()
  (claude-checks-run
   seams-checks-one
   (lambda ()
     (let (hosts-earlier-threads first thread)
       (apply #'claude-checks-shows "the first's gate" '(active working) seams-checks-rows)
       (setq thread (hosts-thread "claude")
             first (seams-checks-another "-p" "Plan the pond"))
       (push thread hosts-earlier-threads)
       (unwind-protect
           (progn
             (claude-checks-wait "the second" (lambda () (equal (claude-checks-rows) seams-checks-rows)))
             (should (equal (claude-checks-state) '(active working)))
             (should (equal (seams-checks-ending thread) '(active nil nil)))
             (should (equal (todo-write-activity thread) '(working)))
             (apply #'claude-checks-pass "one" '(active working) seams-checks-rows)
             (claude-checks-wait
              "the ends" (lambda ()
                           (and (equal (seams-checks-ending thread)
                                       '(paused end-of-turn "end of turn"))
                                (equal (seams-checks-ending)
                                       '(paused end-of-turn "end of turn"))))))
         (delete-process first))))
   :prompt "Plan the garden"))

(defun seams-checks-begun-p ()
  "Return non-nil if a transcript in Claude Code's home has its first prompt."
  (let ((folder (expand-file-name ".claude/projects" claude-checks-home)))
    (seq-some (lambda (file)
                (with-temp-buffer
                  (insert-file-contents file)
                  (re-search-forward "\"type\":\"user\".*\n" nil t)))
              (and (file-directory-p folder)
                   (directory-files-recursively folder "\\.jsonl\\'")))))

(ert-deftest seams-checks-a-new-session-shows-without-a-regular-look ()
  (claude-checks-run
   seams-checks-one
   (lambda ()
     (let ((todo-write-follow-interval 1000) begun)
       (claude-checks-wait-for "? for shortcuts")
       (todo-write-agents-mode)
       (claude-checks-type "Plan the garden"
                           (lambda ()
                             (setq begun (and (seams-checks-begun-p) (float-time)))))
       (claude-checks-wait "the session" (lambda ()
                                           ;; This handles file notifications.
                                           (read-event nil nil 0.01)
                                           (hosts-thread "claude")))
       (message "Shown %.2f s after its first prompt" (- (float-time) begun))))))

(defun seams-checks-with-tool (steps socket function)
  "Run Claude Code by STEPS with the tool that reaches SOCKET; call FUNCTION."
  (claude-checks-run
   steps
   (lambda ()
     (let ((config (expand-file-name "mcp.json" claude-checks-home)))
       (write-region
        (json-serialize
         `(:mcpServers
           (:todo-write (:type "stdio" :args ["--socket" ,socket]
                         :command ,(expand-file-name "lisp/todo-write-mcp"
                                                     (getenv "TODO_WRITE_ROOT"))))))
        nil config nil 'silent)
       (claude-checks-start "-p" "Plan the garden" "--mcp-config" config
                            "--allowedTools" "mcp__todo-write__todo_write")
       (funcall function)))))

(defconst seams-checks-both
  (list (list (claude-checks-create "Old"))
        (list (claude-checks-todo-write '("Rake" "in_progress") "Water"))
        '(("TaskList" :none nil))
        (list (claude-checks-gate "mcp"))
        (list (claude-checks-update "1" "in_progress"))
        (list (claude-checks-gate "own"))
        "The garden is planned.")
  "Steps that use Claude Code's own tasks, todo_write, and its own tasks again.")

(defun seams-checks-see-both ()
  "Check that the plan is that of the tool used last."
  (claude-checks-wait "the newer list"
                      (lambda () (equal (claude-checks-rows) seams-checks-rows)))
  ;; The older list, which the agent has read since, must not come back.
  (dolist (session todo-write-follow--followed)
    (todo-write-follow (todo-write-follow--session-file session)))
  (should (equal (claude-checks-rows) seams-checks-rows))
  (claude-checks-open "mcp")
  (claude-checks-wait "its own tasks"
                      (lambda () (equal (claude-checks-rows) '(("Old" . "in_progress")))))
  (claude-checks-open "own")
  (claude-checks-ends))

(ert-deftest seams-checks-own-tasks-and-the-tool-without-an-emacs ()
  (seams-checks-with-tool seams-checks-both "/no/such/socket" #'seams-checks-see-both))

(ert-deftest seams-checks-own-tasks-and-the-tool-of-this-emacs ()
  (require 'todo-write-agents)
  (let* ((folder (make-temp-file "socket" t))
         (todo-write-socket (expand-file-name "socket" folder)))
    (set-file-modes folder #o700)
    (todo-write-agents-mode)
    (unwind-protect
        (seams-checks-with-tool
         seams-checks-both todo-write-socket
         (lambda ()
           (seams-checks-see-both)
           (should (equal "Plan the garden"
                          (plist-get (todo-write-summary (hosts-thread "claude")) :title)))))
      (todo-write-agents-mode -1))))

(provide 'seams-checks)
;;; seams-checks.el ends here
