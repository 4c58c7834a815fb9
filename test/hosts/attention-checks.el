;;; attention-checks.el --- Two genuine agents at once  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Claude Code, on a terminal of this Emacs, asks for permissions and answers
;; while Codex works.  Claude Code is the one that is said to need the user, as
;; long as it does, and no other alarm is given.  attention.sh runs this.

;;; Code:

(require 'claude-checks)
(require 'codex-checks)
(require 'todo-write-attention)
(require 'todo-write-mode-line)
(require 'todo-write-notify)

(defvar attention-checks-notes nil "The notifications, newest first.")
(defvar attention-checks-withdrawn nil "Those that were withdrawn.")

(defun attention-checks--note (&rest note)
  "Take NOTE for the desktop."
  (push note attention-checks-notes)
  (lambda () (push note attention-checks-withdrawn)))

(defun attention-checks--codex (url)
  "Start Codex, whose model is at URL; return its process."
  (let* ((home (make-temp-file "home" t))
         (process-environment (cons "MOCK_KEY=test-key" (hosts-environment home)))
         (process (make-process
                   :name "codex" :buffer (generate-new-buffer "*codex*") :noquery t
                   :connection-type 'pipe
                   :command `(,(expand-file-name "codex" hosts-bin) "exec"
                              ,@(hosts-codex-arguments url "gpt-5.5")
                              "-c" "tools.update_plan.enabled=true"
                              "--dangerously-bypass-approvals-and-sandbox" "Plan the pond"))))
    (process-send-eof process)
    (push `(codex . ,(expand-file-name ".codex" home)) todo-write-follow-agents)
    process))

(defun attention-checks--run (steps codex-steps function)
  "Let Claude Code go by STEPS and Codex by CODEX-STEPS; call FUNCTION meanwhile."
  (let ((todo-write-follow-all t)
        (todo-write-notify-seconds 0.5)
        (todo-write-notify-function #'attention-checks--note)
        (todo-write-attention--agents (make-hash-table :test #'equal))
        attention-checks-notes attention-checks-withdrawn)
    (claude-checks-run
     steps
     (lambda ()
       (hosts-with-responses
        codex-steps
        (lambda (url)
          (let ((codex-checks-process (attention-checks--codex url))
                (codex-checks-folder claude-checks-folder))
            (unwind-protect
                (progn
                  (todo-write-follow-mode -1)
                  (todo-write-follow-mode 1)
                  (todo-write-mode-line-mode 1)
                  (todo-write-notify-mode 1)
                  (funcall function))
              (todo-write-notify-mode -1)
              (todo-write-mode-line-mode -1)
              (delete-process codex-checks-process)
              (kill-buffer (process-buffer codex-checks-process))))))))))

(defun attention-checks--states ()
  "Return the agents in order, as a list of (PROGRAM . STATE)."
  (mapcar (lambda (agent)
            (cons (intern (car (split-string (todo-write-agent-key agent) ":")))
                  (todo-write-agent-state agent)))
          (todo-write-attention-agents)))

(defun attention-checks--shows (what &rest states)
  "Wait until the agents in order have STATES; WHAT names the moment."
  (claude-checks-wait (format "%s: %S, not %S" what states (attention-checks--states))
                      (lambda () (equal (attention-checks--states) states))))

(defun attention-checks--alarm ()
  "Return what the mode line says of an agent that needs the user, or nil."
  (and todo-write-mode-line-string
       (string-prefix-p "[!" todo-write-mode-line-string)
       (substring-no-properties todo-write-mode-line-string)))

(defun attention-checks--answer (key)
  "Answer Claude Code by KEY; return the seconds until the mode line is quiet.
They count from when it has taken the answer."
  (claude-checks-press key "waiting")
  (let ((start (float-time)))
    (claude-checks-wait "a quiet mode line"
                        (lambda ()
                          ;; File notifications are input; waiting for processes reads none.
                          (read-event nil nil 0.01)
                          (not (attention-checks--alarm))))
    (- (float-time) start)))

(ert-deftest attention-checks-two-agents-at-once ()
  (attention-checks--run
   (list (list (claude-checks-create "Water"))
         (list (claude-checks-update "1" "in_progress"))
         '(("Write" :file_path "water.txt" :content "Water\n"))
         (list (claude-checks-gate "claude"))
         '(("AskUserQuestion"
            :questions [(:question "Which can?" :header "Can" :multiSelect :false
                         :options [(:label "Green" :description "The green one")
                                   (:label "Blue" :description "The blue one")])]))
         "The garden is watered.")
   (list (apply #'codex-checks-call "update_plan" (codex-checks-plan '("Dig" . "in_progress")))
         (codex-checks-call "exec_command" :cmd (codex-checks-gate-command "codex")
                            :yield_time_ms 60000)
         (list :text "The pond is dug."))
   (lambda ()
     (claude-checks-wait-for "? for shortcuts")
     (claude-checks-type "Water the garden")
     (attention-checks--shows "permission" '(claude . waiting) '(codex . working))
     (should (string-match-p "\\`\\[! .*: permission prompt\\] \\'" (attention-checks--alarm)))
     (save-window-excursion
       (todo-write-next-waiting)
       (should (eq (current-buffer) (process-buffer claude-checks-process))))
     (claude-checks-wait "the notification" (lambda () attention-checks-notes))
     (should (< (attention-checks--answer "\r") 2))
     (attention-checks--shows "work" '(claude . working) '(codex . working))
     (write-region "" nil (expand-file-name "claude.gate" claude-checks-folder) nil 'silent)
     (attention-checks--shows "question" '(claude . waiting) '(codex . working))
     (should (string-suffix-p ": input needed] " (attention-checks--alarm)))
     (claude-checks-wait "its notification" (lambda () (cdr attention-checks-notes)))
     (should (< (attention-checks--answer "\r") 2))
     (claude-checks-wait-for "The garden is watered")
     (attention-checks--shows "the end of Claude's turn" '(claude . done) '(codex . working))
     (write-region "" nil (expand-file-name "codex.gate" claude-checks-folder) nil 'silent)
     (attention-checks--shows "the end" '(codex . done) '(claude . done))
     (should-not (attention-checks--alarm))
     (should (= 2 (length attention-checks-notes) (length attention-checks-withdrawn))))))

(ert-deftest attention-checks-a-plan-and-esc ()
  (attention-checks--run
   (list (list (claude-checks-create "Water"))
         '(("ExitPlanMode" :plan "1. Water the garden"))
         (list (claude-checks-gate "never"))
         "Never said.")
   (list (list :text "Nothing to dig."))
   (lambda ()
     (claude-checks-wait-for "? for shortcuts")
     (process-send-string claude-checks-process "\e[Z")
     (claude-checks-wait-for "accept edits on")
     (process-send-string claude-checks-process "\e[Z")
     (claude-checks-wait-for "plan mode on")
     (claude-checks-type "Water the garden")
     (claude-checks-wait "the plan's approval" #'attention-checks--alarm)
     (should (string-suffix-p ": permission prompt] " (attention-checks--alarm)))
     (should (< (attention-checks--answer "\e") 2))
     (should (member '(claude . done) (attention-checks--states))))))

(provide 'attention-checks)
;;; attention-checks.el ends here
