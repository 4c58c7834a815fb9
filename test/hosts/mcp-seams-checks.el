;;; mcp-seams-checks.el --- Where sessions with todo_write begin and end  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The genuine Claude Code writes its plans by todo_write, with nothing followed.
;; The user clears the conversation, resumes another, denies and allows, kills it,
;; and restarts Emacs; subagents write plans of their own.  At each of these seams,
;; the plans must be those of the sessions.  claude.sh runs this.

;;; Code:

(require 'claude-checks)
(require 'todo-write-list)
(require 'todo-write-mcp-helper)
(require 'todo-write-socket-helper)
(require 'work-helper)

(defmacro mcp-seams-with-claude (steps options &rest body)
  "Evaluate BODY while Claude Code works by STEPS and writes plans by MCP.
OPTIONS is a list of arguments for `claude-checks-run'."
  (declare (indent 2) (debug t))
  `(let ((todo-write-socket (todo-write-socket-test-file)))
     (let ((claude-checks-servers
            `(:todo-write (:type "stdio" :command ,(todo-write-mcp-helper-program)
                           :args ["--socket" ,todo-write-socket]))))
       (unwind-protect
           (progn
             (todo-write-agents-mode)
             (claude-checks-run ,steps (lambda ()
                                         (claude-checks-serve)
                                         ,@body)
                                ,@options))
         (todo-write-agents-mode -1)))))

(defun mcp-seams-thread ()
  "Return the thread of Claude Code's current session, as its process file says."
  (concat "claude:" (claude-checks-own :sessionId)))

(defun mcp-seams-shows (what thread state activity &rest rows)
  "Wait until THREAD has STATE, ACTIVITY and ROWS; WHAT names the moment."
  (claude-checks-wait
   (format "%s: %S %S %S" what state activity rows)
   (lambda () (and (equal (claude-checks-rows thread) rows)
                   (eq (todo-write-state thread) state)
                   (equal (todo-write-activity thread) activity)))))

(defun mcp-seams-listed ()
  "Return the keys of the rows of the overview."
  (save-window-excursion
    (with-current-buffer (todo-write-list)
      (revert-buffer)
      (mapcar #'car tabulated-list-entries))))

(defun mcp-seams-says (text)
  "Type TEXT as the user, and wait for the end of the turn."
  (claude-checks-type text)
  (claude-checks-turn-ends))

(ert-deftest mcp-seams-checks-clear-and-resume ()
  (mcp-seams-with-claude
      (list (list (claude-checks-todo-write '("Rake" "in_progress") "Water")) "Planned."
            (list (claude-checks-todo-write '("Rake" "completed") '("Water" "in_progress"))) "Raked.")
      ()
    (claude-checks-wait-for "? for shortcuts")
    (mcp-seams-says "Plan the garden")
    (let ((first (mcp-seams-thread)))
      (mcp-seams-shows "first session" first 'paused nil '("Rake" . "in_progress") '("Water" . "pending"))
      (claude-checks-type "/clear" (lambda () (not (equal first (mcp-seams-thread)))))
      (claude-checks-wait "its end" (lambda () (not (todo-write-socket-serving first))))
      (mcp-seams-says "Plan the meadow")
      (let ((second (mcp-seams-thread)))
        (mcp-seams-shows "second session" second 'paused nil
                         '("Rake" . "in_progress") '("Water" . "pending"))
        (should (equal 1 (length (todo-write-revisions first))))
        (should (equal (list second) (mcp-seams-listed)))
        (claude-checks-type (concat "/resume " (string-remove-prefix "claude:" first))
                            (lambda () (equal first (mcp-seams-thread))))
        (mcp-seams-says "Go on")
        (mcp-seams-shows "resumed" first 'paused nil '("Rake" . "completed") '("Water" . "in_progress"))
        (should (equal '("t1" "t2") (mapcar (lambda (item) (plist-get item :id))
                                            (todo-write-items first))))
        (should (equal 1 (length (todo-write-revisions second))))
        (should (equal (list first) (mcp-seams-listed)))))))

(ert-deftest mcp-seams-checks-subagents ()
  (mcp-seams-with-claude
      (list (list (claude-checks-todo-write '("Rake the leaves" "in_progress") "Water the beds"))
            '(("Agent" :description "Water the beds" :prompt "Water them"
               :subagent_type "general-purpose" :run_in_background :false))
            (list (claude-checks-todo-write '("Rake the leaves" "completed") '("Water the beds" "in_progress")))
            (list (claude-checks-gate "end"))
            "Done.")
      (:prompt "Plan the garden"
       :subagent (list (list (claude-checks-todo-write '("Find the can" "in_progress") "Pour"))
                       (list (claude-checks-gate "can"))
                       "Watered."))
    (claude-checks-wait "a subagent's plan"
                        (lambda () (seq-some (lambda (thread) (string-match-p "/" thread))
                                             (todo-write-threads-loaded))))
    (let* ((session (mcp-seams-thread))
           (subagent (seq-find (lambda (thread) (string-match-p "/" thread))
                               (todo-write-threads-loaded))))
      (should (string-prefix-p (concat session "/") subagent))
      (mcp-seams-shows "subagent" subagent 'active '(working)
                       '("Find the can" . "in_progress") '("Pour" . "pending"))
      (should (equal (cons session (todo-write-test-id session "Water the beds"))
                     (todo-write-parent subagent)))
      (claude-checks-open "can")
      (claude-checks-wait "its return" (lambda () (eq 'paused (todo-write-state subagent))))
      (mcp-seams-shows "main agent" session 'active '(working)
                       '("Rake the leaves" . "completed") '("Water the beds" . "in_progress"))
      (should (equal '("t1" "t2") (mapcar (lambda (item) (plist-get item :id))
                                          (todo-write-items session))))
      (claude-checks-open "end")
      (claude-checks-ends)
      (mcp-seams-shows "its end" session 'paused nil
                       '("Rake the leaves" . "completed") '("Water the beds" . "in_progress")))))

(ert-deftest mcp-seams-checks-work-by-place ()
  (let ((claude-checks-usage '(:usage (:input_tokens 10 :output_tokens 5)))
        (command (lambda (command) `(("Bash" :command ,command :description "Work")))))
    (mcp-seams-with-claude
        (list (list (claude-checks-todo-write '("Rake" "in_progress") "Water"))
              (funcall command "echo raked")
              (list (claude-checks-todo-write '("Rake" "completed") '("Water" "in_progress")))
              (funcall command "echo watered")
              (funcall command "exit 3")
              (list (claude-checks-todo-write '("Rake" "completed") '("Water" "completed")))
              "Done.")
        ()
      (claude-checks-wait-for "? for shortcuts")
      (claude-checks-type "Plan the garden")
      (let ((thread (mcp-seams-thread)))
        (dolist (rows '((("Rake" . "in_progress") ("Water" . "pending"))
                        (("Rake" . "completed") ("Water" . "in_progress"))
                        (("Rake" . "completed") ("Water" . "completed"))))
          (claude-checks-wait (format "%S" rows)
                              (lambda () (equal rows (claude-checks-rows thread)))))
        (claude-checks-turn-ends)
        (mcp-seams-shows "all calls" thread 'done nil '("Rake" . "completed") '("Water" . "completed"))
        (should-not (todo-write-work thread))
        ;; All calls came before the first line is read.
        (todo-write-follow
         (car (directory-files-recursively
               (expand-file-name ".claude/projects" claude-checks-home)
               (regexp-quote (concat (string-remove-prefix "claude:" thread) ".jsonl")))))
        ;; The line of the last response may come after its turn's end is shown.
        (claude-checks-wait "the last response"
                            (lambda () (equal (work-helper-expected 2)
                                              (work-helper-figures thread 'outside))))
        (should (equal (work-helper-expected 2 :run 1) (work-helper-figures thread "t1")))
        (should (equal (work-helper-expected 3 :run 2 :failed 1) (work-helper-figures thread "t2")))
        (should (equal 3 (length (todo-write-revisions thread))))))))

(ert-deftest mcp-seams-checks-waiting-working-and-ended ()
  (mcp-seams-with-claude
      (list (list (claude-checks-todo-write '("Rake" "in_progress")))
            '(("Write" :file_path "water.txt" :content "Water\n"))
            (list (claude-checks-gate "one"))
            "Done.")
      ()
    (claude-checks-wait-for "? for shortcuts")
    (claude-checks-type "Plan the garden")
    (let ((thread (mcp-seams-thread)))
      (mcp-seams-shows "permission" thread 'active '(waiting . "permission prompt") '("Rake" . "in_progress"))
      (should-not (plist-get (cdar (todo-write-times thread)) :running))
      (claude-checks-press "\r" "waiting")
      (mcp-seams-shows "at work" thread 'active '(working) '("Rake" . "in_progress"))
      (claude-checks-open "one")
      (mcp-seams-shows "end of turn" thread 'paused nil '("Rake" . "in_progress"))
      (should (equal "end of turn" (plist-get (todo-write-summary thread) :reason))))))

(ert-deftest mcp-seams-checks-a-killed-agent ()
  (mcp-seams-with-claude
      (list (list (claude-checks-todo-write '("Rake" "in_progress"))) (list (claude-checks-gate "one")) "Done.")
      ()
    (claude-checks-wait-for "? for shortcuts")
    (claude-checks-type "Plan the garden")
    (let ((thread (mcp-seams-thread)))
      (mcp-seams-shows "at work" thread 'active '(working) '("Rake" . "in_progress"))
      (signal-process (claude-checks-own :pid) 'kill)
      (claude-checks-wait
       "its death" (lambda () (eq 'killed (plist-get (todo-write-summary thread) :ending)))))))

(ert-deftest mcp-seams-checks-a-restart-of-emacs ()
  (mcp-seams-with-claude
      (list (list (claude-checks-todo-write '("Rake" "in_progress")))
            (list (claude-checks-gate "one"))
            (list (claude-checks-todo-write '("Rake" "completed") '("Water" "in_progress")))
            (list (claude-checks-gate "two"))
            "Done.")
      (:prompt "Plan the garden")
    (claude-checks-wait "its plan" (lambda () (hosts-thread "claude")))
    (let ((thread (mcp-seams-thread)))
      (mcp-seams-shows "at work" thread 'active '(working) '("Rake" . "in_progress"))
      ;; Another Emacs forgets what this one knew, but for the journal.
      (todo-write-agents-mode -1)
      (setq todo-write-socket-programs nil)
      (todo-write-agents-mode)
      (claude-checks-open "one")
      (mcp-seams-shows "after it" thread 'active '(working)
                       '("Rake" . "completed") '("Water" . "in_progress"))
      (should (equal "t1" (todo-write-test-id thread "Rake")))
      (claude-checks-open "two")
      (claude-checks-ends))))

(provide 'mcp-seams-checks)
;;; mcp-seams-checks.el ends here
