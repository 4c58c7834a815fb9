;;; attention-checks.el --- Two genuine agents at once  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Claude Code and Codex run in terminal buffers of an Emacs, whose user types
;; into them.  Claude Code asks for permissions and answers while Codex works.
;; Emacs must report that Claude Code needs the user exactly while it does, and
;; must give no other alarm.  claude.sh runs this.
;;
;; Claude Code 2.1.332 writes this to sessions/PID.json, as observed here:
;;
;;     at                            status     waitingFor
;;     a permission for a tool       waiting    permission prompt
;;     the approval of a plan        waiting    permission prompt
;;     a question with choices       waiting    input needed
;;     after Esc                     idle       none

;;; Code:

(require 'claude-checks)
(require 'codex-checks)
(require 'todo-write-user-helper)

;;; The user's Emacs

(defun attention-checks--begin (agents)
  "Let the user's Emacs follow AGENTS, and record alarms and notifications.
`test-alarms' has the alarms of the mode line, `test-quiet' the time at
which the last one ended, and `test-notes' the notifications."
  (todo-write-user-eval
   '(progn (require 'term) (require 'todo-write-agent) (require 'todo-write-follow)
           (require 'todo-write-mode-line) (require 'todo-write-notify))
   `(setq test-alarms nil test-quiet nil test-notes nil test-withdrawn nil
          todo-write-follow-agents ',agents
          todo-write-notify-seconds 0.5
          todo-write-notify-function #'test-note)
   '(defun test-note (_thread title text)
      (push (list title text) test-notes)
      (apply-partially (lambda (title) (push title test-withdrawn)) title))
   '(defun test-alarm (text)
      (and (string-match "\\`\\[![^:]*: [^]:]*" text) (match-string 0 text)))
   '(defun test-watch (_symbol new &rest _)
      (cond ((string-prefix-p "[!" (or new ""))
             ;; The call that it is about follows when that is known.
             (when (and test-alarms (not test-quiet)
                        (equal (test-alarm new) (test-alarm (car test-alarms))))
               (pop test-alarms))
             (setq test-quiet nil)
             (push (substring-no-properties new) test-alarms))
            ((not test-quiet) (setq test-quiet (float-time)))))
   '(defun test-states ()
      (mapcar (lambda (agent)
                (cons (intern (car (split-string (plist-get agent :thread) ":")))
                      (todo-write-agent-state agent)))
              (todo-write-agents)))
   '(add-variable-watcher 'todo-write-mode-line-string #'test-watch)
   '(progn (todo-write-agents-mode) (todo-write-mode-line-mode) (todo-write-notify-mode))
   t))

(defun attention-checks--terminal (name folder environment &rest command)
  "Run COMMAND in a terminal buffer NAME in FOLDER with ENVIRONMENT."
  (todo-write-user-eval
   `(let ((default-directory ,folder)
          (process-environment ',environment)
          (exec-path ',(split-string hosts-bin ":")))
      (switch-to-buffer (term-ansi-make-term ,(format "*%s*" name) ,(car command) nil ,@(cdr command)))
      (term-mode)
      (term-char-mode)
      ;; As `ansi-term' does.
      (term-set-escape-char ?\C-x)
      (set-process-query-on-exit-flag (get-buffer-process (current-buffer)) nil)
      (switch-to-buffer "*scratch*")
      t)))

(defun attention-checks--text (buffer)
  "Return the text in BUFFER of the user's Emacs."
  (todo-write-user-eval
   `(with-current-buffer ,buffer (buffer-substring-no-properties (point-min) (point-max)))))

(defun attention-checks--wait (what condition)
  "Wait until CONDITION, a function, returns non-nil; WHAT describes it."
  (todo-write-test-wait
   condition
   (lambda ()
     (format "%s; %S, mode line %S\n%s\n%s" what
             (todo-write-user-eval '(test-states))
             (todo-write-user-eval 'todo-write-mode-line-string)
             (attention-checks--text "*claude*") (attention-checks--text "*codex*")))))

(defun attention-checks--shows (what &rest states)
  "Wait until the agents, in order, are STATES; WHAT names the moment.
Each of STATES is (PROGRAM . STATE)."
  (attention-checks--wait (format "%s: %S" what states)
                          (lambda () (equal (todo-write-user-eval '(test-states)) states))))

(defun attention-checks--alarm ()
  "Return the mode line's text about an agent that needs the user, or nil."
  (todo-write-user-eval '(and (not test-quiet) (car test-alarms))))

(defun attention-checks--alarms (regexp)
  "Wait until the text of `attention-checks--alarm' matches REGEXP."
  (attention-checks--wait (concat "an alarm " regexp)
                          (lambda () (string-match-p regexp (or (attention-checks--alarm) "")))))

(defun attention-checks--notes (count)
  "Wait until COUNT notifications were given, and return them, newest first."
  (attention-checks--wait (format "%d notifications" count)
                          (lambda () (= count (todo-write-user-eval '(length test-notes)))))
  (todo-write-user-eval 'test-notes))

(defun attention-checks--waiting-for ()
  "Return (STATUS . WAITING-FOR) from the file of Claude Code's process."
  (let ((process (car (claude-checks-own-json "sessions"))))
    (cons (plist-get process :status) (plist-get process :waitingFor))))

;;; Actions of the user

(defun attention-checks--select (buffer)
  "Select BUFFER, as the user does."
  (todo-write-user-type (format "\C-xb%s\r" buffer))
  (should (equal buffer (todo-write-user-eval '(buffer-name (window-buffer))))))

(defun attention-checks--press (function status)
  "Call FUNCTION every 2 seconds until Claude Code's own status is not STATUS.
Claude Code ignores keys before it has drawn a dialog.  Return the time of the
last call."
  (let ((last 0))
    (attention-checks--wait
     (format "another status than %s" status)
     (lambda ()
       (when (> (float-time) (+ 2 last))
         (setq last (float-time))
         (funcall function))
       (not (equal (car (attention-checks--waiting-for)) status))))
    last))

(defun attention-checks--ask (text)
  "Type the prompt TEXT into Claude Code's buffer."
  (attention-checks--wait "Claude Code's prompt"
                          (lambda ()
                            (and (equal (car (attention-checks--waiting-for)) "idle")
                                 (string-search "❯" (attention-checks--text "*claude*")))))
  (attention-checks--select "*claude*")
  (todo-write-user-type text)
  ;; term.el shows some of Claude Code's escape sequences between words.
  (let ((word (car (last (split-string text)))))
    (attention-checks--wait
     text (lambda () (string-search word (attention-checks--text "*claude*")))))
  ;; Claude Code treats RET soon after other keys as pasted.
  (attention-checks--press (lambda () (todo-write-user-type "\r")) "idle")
  (attention-checks--select "*scratch*"))

(defun attention-checks--answer (function)
  "Answer Claude Code by FUNCTION; print the seconds until the mode line is quiet."
  (let ((start (attention-checks--press function "waiting")))
    (attention-checks--wait "a quiet mode line" (lambda () (not (attention-checks--alarm))))
    (message "The mode line was quiet %.2f s after the answer"
             (- (todo-write-user-eval 'test-quiet) start))))

;;; Checks

(defun attention-checks--run (steps arguments codex-steps function)
  "Run Claude Code with ARGUMENTS by STEPS, and Codex by CODEX-STEPS.
Call FUNCTION meanwhile."
  (let* ((claude-checks-home (make-temp-file "home" t))
         (codex-home (make-temp-file "home" t))
         (claude-checks-folder (file-name-as-directory
                                (file-truename (make-temp-file "garden" t)))))
    (claude-checks-seed nil)
    (todo-write-with-mock port (claude-checks-script steps nil)
      (hosts-with-responses
       codex-steps
       (lambda (url)
         (todo-write-user-call
          40 110
          (lambda ()
            (attention-checks--begin
             `((claude . ,(expand-file-name ".claude" claude-checks-home))
               (codex . ,(expand-file-name ".codex" codex-home))))
            (apply #'attention-checks--terminal "claude" claude-checks-folder
                   (append (hosts-claude-environment (format "http://127.0.0.1:%d" port))
                           (hosts-environment claude-checks-home))
                   "claude" "--model" hosts-claude-model arguments)
            (apply #'attention-checks--terminal "codex" claude-checks-folder
                   (cons "MOCK_KEY=test-key" (hosts-environment codex-home))
                   "codex"
                   ;; The first two are for `codex exec'.
                   `(,@(nthcdr 2 (hosts-codex-arguments url "gpt-5.5"))
                     "-c" "tools.update_plan.enabled=true"
                     "-c" ,(format "projects={%S={trust_level=\"trusted\"}}"
                                   (directory-file-name claude-checks-folder))
                     "--dangerously-bypass-approvals-and-sandbox" "Plan the pond"))
            (unwind-protect (funcall function)
              ;; If left running, they would still write to their homes.
              (todo-write-user-eval '(mapc #'delete-process '("*claude*" "*codex*")))))))))))

(ert-deftest attention-checks-two-agents-in-terminal-buffers ()
  (attention-checks--run
   (list (list (claude-checks-create "Water"))
         (list (claude-checks-update "1" "in_progress"))
         '(("Write" :file_path "water.txt" :content "Water\n"))
         (list (claude-checks-gate "claude"))
         '(("AskUserQuestion"
            :questions [(:question "Which can?" :header "Can" :multiSelect :false
                         :options [(:label "Green" :description "The green one")
                                   (:label "Blue" :description "The blue one")])]))
         (list (claude-checks-gate "end"))
         "The garden is watered.")
   nil
   (list (codex-checks-update '("Dig" . "in_progress"))
         (codex-checks-call "exec_command" :cmd (hosts-gate-command "codex") :yield_time_ms 60000)
         (list :text "The pond is dug."))
   (lambda ()
     (let ((ret (lambda () (todo-write-user-type "\r")))
           permission question)
       (attention-checks--ask "Water the garden")
       (attention-checks--shows "permission" '(claude . waiting) '(codex . working))
       (should (equal '("waiting" . "permission prompt") (attention-checks--waiting-for)))
       (setq permission "\\`\\[! .*: permission prompt[]:]")
       (attention-checks--alarms permission)
       (attention-checks--notes 1)
       (todo-write-user-type "\extodo-write-next-waiting\r")
       (should (equal "*claude*" (todo-write-user-eval '(buffer-name (window-buffer)))))
       (attention-checks--answer ret)
       (attention-checks--shows "work" '(claude . working) '(codex . working))
       (should (= 1 (todo-write-user-eval '(length test-withdrawn))))
       (attention-checks--select "*scratch*")
       (claude-checks-open "claude")
       (attention-checks--shows "question" '(claude . waiting) '(codex . working))
       (should (equal '("waiting" . "input needed") (attention-checks--waiting-for)))
       (setq question ": input needed[]:]")
       (attention-checks--alarms question)
       (attention-checks--notes 2)
       (todo-write-user-type "\extodo-write-next-waiting\r")
       (should (equal "*claude*" (todo-write-user-eval '(buffer-name (window-buffer)))))
       (attention-checks--answer ret)
       (attention-checks--select "*scratch*")
       (claude-checks-open "end")
       (attention-checks--shows "the end of Claude's turn" '(claude . done) '(codex . working))
       (claude-checks-open "codex")
       ;; The one with something to review is shown first.
       (attention-checks--shows "the end" '(claude . done) '(codex . done))
       (should (cl-every #'string-match-p (list question permission)
                         (todo-write-user-eval 'test-alarms)))
       (should (= 2 (todo-write-user-eval '(length test-alarms))))
       (should (= 2 (length (attention-checks--notes 2))
                  (todo-write-user-eval '(length test-withdrawn))))))))

(ert-deftest attention-checks-a-plan-and-esc ()
  (attention-checks--run
   (list (list (claude-checks-create "Water"))
         '(("ExitPlanMode" :plan "1. Water the garden"))
         (list (claude-checks-gate "never"))
         "Never said.")
   '("--permission-mode" "plan")
   (list (list :text "Nothing to dig."))
   (lambda ()
     ;; The one that ended last is shown first.
     (attention-checks--wait "Codex's end"
                             (lambda () (member '(codex . done) (todo-write-user-eval '(test-states)))))
     (attention-checks--ask "Water the garden")
     (attention-checks--wait "the plan's approval" #'attention-checks--alarm)
     (should (equal '("waiting" . "permission prompt") (attention-checks--waiting-for)))
     (should (string-match-p ": permission prompt[]:]" (attention-checks--alarm)))
     (attention-checks--answer
      (lambda ()
        (todo-write-user-eval '(with-current-buffer "*claude*"
                                 (term-send-raw-string "\e")))))
     (should (equal '("idle") (attention-checks--waiting-for)))
     (should-not (cdr (todo-write-user-eval 'test-alarms)))
     ;; The transcript says that the plan was refused, which is no success.
     (attention-checks--shows "Esc" '(codex . done) '(claude . stopped)))))

(provide 'attention-checks)
;;; attention-checks.el ends here
