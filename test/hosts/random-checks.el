;;; random-checks.el --- Random acts on genuine agents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Three slots run the genuine Claude Code in terminals of one project.  Random acts
;; start, prompt, clear, resume, fork, stop, continue, exit and kill them, send out
;; a subagent, and restart the user's Emacs.  After each act, and when all agents
;; have come to rest, the plan shown must be the list in Claude Code's own files, and
;; the state shown that of its process.  random.sh runs this for SECONDS with SEED.
;;
;; The user's Emacs is this one.  To restart it, the mode is switched off and on, and
;; in between, a new store begins that has only the journals, as after a crash.

;;; Code:

(require 'claude-checks)

(cl-defstruct (random-checks-agent (:copier nil))
  "A slot: PROCESS of a terminal, the id of the SESSION that it last had, its
PID, and its FATE: nil while it runs, else `killed' or `exited'."
  process session pid fate)

(defvar random-checks-agents nil "The slots.")
(defvar random-checks-sessions nil "Ids of all sessions that ended, and are not open.")
(defvar random-checks-fates nil "Alist of sessions and how they ended.")
(defvar random-checks-acts nil "The acts so far, newest first.")
(defvar random-checks-points 0 "Number of quiet points at which all was right.")

(defconst random-checks-answers
  (append
   (list '(:match (:systemMessage "title") :response (:content "Garden")))
   (list '(:match (:systemMessage "You are an agent for Claude Code")
           :response (:content "The helper is back.")))
   ;; Each prompt names what the model does; a result is answered with a text.
   (mapcar
    (lambda (entry)
      (list :match (list :userMessage (car entry) :hasToolResult :false)
            :response (list :toolCalls
                            (vconcat (mapcar (lambda (call)
                                               (list :name (car call) :arguments (cdr call)))
                                             (cdr entry))))))
    (list (list "add-tasks" (claude-checks-create "Rake") (claude-checks-create "Water"))
          (list "begin-task" (claude-checks-update "1" "in_progress"))
          (list "end-task" (claude-checks-update "1" "completed"))
          (list "long-task" (claude-checks-update "2" "in_progress")
                '("Bash" :command "sleep 4" :description "Wait"))
          (list "send-helper" '("Agent" :description "Help" :prompt "Help me"
                                :subagent_type "general-purpose"
                                :run_in_background :false)))))
  "Fixtures of aimock, but for the last answer.")

;;; Processes

(defun random-checks-own (agent)
  "Return the file of AGENT's process as a plist, or nil."
  (seq-find (lambda (own) (eql (plist-get own :pid) (random-checks-agent-pid agent)))
            (claude-checks-own-json "sessions")))

(defun random-checks-running ()
  "Return the slots whose processes run."
  (seq-filter (lambda (agent)
                (and (random-checks-agent-process agent)
                     (process-live-p (random-checks-agent-process agent))))
              random-checks-agents))

(defun random-checks-free ()
  "Return a slot without a process, or nil."
  (seq-find (lambda (agent) (not (memq agent (random-checks-running)))) random-checks-agents))

(defun random-checks-start (&rest arguments)
  "Start Claude Code with ARGUMENTS in a free slot; wait for its prompt."
  (let ((agent (random-checks-free)) claude-checks-process)
    (apply #'claude-checks-start arguments)
    (setf (random-checks-agent-process agent) claude-checks-process
          (random-checks-agent-fate agent) nil
          ;; sh replaced itself by Claude Code.
          (random-checks-agent-pid agent) (process-id claude-checks-process))
    (claude-checks-wait "a start"
                        (lambda () (equal "idle" (plist-get (random-checks-own agent) :status))))
    (setf (random-checks-agent-session agent) (plist-get (random-checks-own agent) :sessionId))
    (setq random-checks-fates
          (assoc-delete-all (random-checks-agent-session agent) random-checks-fates)
          random-checks-sessions
          (delete (random-checks-agent-session agent) random-checks-sessions))))

(defun random-checks-status-p (agent &rest statuses)
  "Return non-nil if the status of AGENT's process is one of STATUSES."
  (member (plist-get (random-checks-own agent) :status) statuses))

(defun random-checks-type (agent text until)
  "Type TEXT into AGENT's terminal when it is idle, until UNTIL returns non-nil.
Claude Code ignores keys before it has drawn its prompt, and treats RET
soon after other keys as pasted, so both are repeated."
  (let ((process (random-checks-agent-process agent)) (turn 0) (next 0))
    (todo-write-test-wait (lambda () (random-checks-status-p agent "idle")))
    (claude-checks-wait
     (format "the effect of %S" text)
     (lambda ()
       (when (> (float-time) next)
         (process-send-string process (if (= 0 (mod turn 4)) (concat "\C-u" text) "\r"))
         (setq next (+ 0.8 (float-time)) turn (1+ turn)))
       (funcall until)))))

(defun random-checks-prompt (agent text)
  "Give AGENT the prompt TEXT."
  (random-checks-type agent text (lambda () (random-checks-status-p agent "busy" "shell"))))

(defun random-checks-ended (agent fate)
  "Note that AGENT's process ends by FATE, and wait until it has."
  (let ((claude-checks-process (random-checks-agent-process agent))
        (session (random-checks-agent-session agent)))
    (claude-checks-ends)
    (setf (random-checks-agent-fate agent) fate)
    (push (cons session fate) random-checks-fates)
    (push session random-checks-sessions)))

;;; Acts

(defun random-checks-act-prompt (agent)
  "Give AGENT a random prompt."
  (random-checks-prompt agent (seq-random-elt '("add-tasks" "begin-task" "end-task" "long-task"
                                                "send-helper"))))

(defun random-checks-act-clear (agent)
  "Let AGENT begin another session by /clear."
  (let ((session (random-checks-agent-session agent)))
    (random-checks-type
     agent "/clear"
     (lambda () (not (equal session (plist-get (random-checks-own agent) :sessionId)))))
    (push (cons session 'cleared) random-checks-fates)
    (push session random-checks-sessions)
    (setf (random-checks-agent-session agent) (plist-get (random-checks-own agent) :sessionId))))

(defun random-checks-act-kill (agent)
  "Kill AGENT's process."
  (signal-process (random-checks-agent-pid agent) 'kill)
  (random-checks-ended agent 'killed))

(defun random-checks-act-term (agent)
  "Tell AGENT's process to stop."
  (signal-process (random-checks-agent-pid agent) 'term)
  (random-checks-ended agent 'exited))

(defun random-checks-act-suspend (agent)
  "Stop AGENT's process for a while; check that it shows."
  (let ((pid (random-checks-agent-pid agent))
        (thread (random-checks-thread (random-checks-agent-session agent))))
    (when thread
      (signal-process pid 'stop)
      (unwind-protect
          (claude-checks-wait "suspension" (lambda () (eq 'suspended (plist-get (todo-write-events-activity thread) :activity))))
        (signal-process pid 'cont))
      (claude-checks-wait "its going on"
                          (lambda () (not (eq 'suspended (plist-get (todo-write-events-activity thread) :activity))))))))

(defun random-checks-resumable ()
  "Return a session that ended and has an answer, or nil.
Claude Code does not resume one that was killed before it had any."
  (when-let* ((sessions (seq-filter
                         (lambda (session)
                           (when-let* ((file (random-checks-transcript session)))
                             (with-temp-buffer
                               (insert-file-contents file)
                               (search-forward "\"type\":\"assistant\"" nil t))))
                         random-checks-sessions)))
    (seq-random-elt sessions)))

(defun random-checks-transcript (session)
  "Return the transcript of SESSION, or nil if it has none."
  (car (file-expand-wildcards
        (expand-file-name (format ".claude/projects/*/%s.jsonl" session) claude-checks-home))))

(defun random-checks-act-start (_agent)
  "Start an agent: a new one, or a session resumed or forked."
  (when (random-checks-free)
    (let ((session (and (< (random 3) 2) (random-checks-resumable))))
      (apply #'random-checks-start
             (cond ((null session) nil)
                   ((= 0 (random 2)) (list "--resume" session))
                   (t (list "--resume" session "--fork-session")))))))

(defun random-checks-act-restart-emacs (_agent)
  "Restart the user's Emacs."
  (todo-write-agents-mode -1)
  ;; This process still holds the journals, so the new store has copies.
  (let ((folder (make-temp-file "todo-write-test" t)))
    (copy-directory todo-write-directory (file-name-as-directory folder) nil nil t)
    (setq todo-write-directory folder))
  (todo-write-agents-mode))

(defconst random-checks--acts
  '((random-checks-act-prompt . 8) (random-checks-act-clear . 2) (random-checks-act-kill . 1)
    (random-checks-act-term . 1) (random-checks-act-suspend . 1) (random-checks-act-start . 5)
    (random-checks-act-restart-emacs . 1))
  "Alist of acts, functions of a running agent, and their weights.")

(defun random-checks-act ()
  "Do one random act."
  (let* ((running (random-checks-running))
         (agent (and running (seq-random-elt running)))
         (act (if (null agent) #'random-checks-act-start
                (seq-random-elt (mapcan (lambda (entry) (make-list (cdr entry) (car entry)))
                                        random-checks--acts)))))
    (push (list act (and agent (random-checks-agent-session agent))) random-checks-acts)
    (funcall act agent)))

;;; Quiet points

(defun random-checks-thread (session)
  "Return the thread of SESSION if it is in memory, else nil."
  (car (member (concat "claude:" session) (todo-write-threads-loaded))))

(defun random-checks-plan (session)
  "Return the thread of SESSION if there is a plan of it, else nil.
Of many sessions, some that are at rest have left memory."
  (or (random-checks-thread session)
      (car (member (concat "claude:" session) (todo-write-threads)))))

(defun random-checks-own-rows (session)
  "Return the list in Claude Code's task files of SESSION."
  (mapcar (lambda (task) (cons (plist-get task :subject) (plist-get task :status)))
          (sort (claude-checks-own-json (concat "tasks/" session))
                (lambda (a b) (< (string-to-number (plist-get a :id))
                                 (string-to-number (plist-get b :id)))))))

(defun random-checks-wrong ()
  "Return what is shown wrongly, a list, or nil."
  (let (wrong)
    (dolist (agent (random-checks-running))
      (let* ((session (random-checks-agent-session agent))
             (thread (random-checks-plan session))
             (own (random-checks-own-rows session))
             (rows (and thread (claude-checks-rows thread))))
        (when (and thread (not (equal rows own))
                   ;; Claude Code clears a list that is done.
                   (not (and (null own) (eq 'done (todo-write-state thread)))))
          (push (list 'rows session rows own) wrong))
        (when (and (null thread) own)
          (push (list 'missing session own) wrong))
        (when (and thread (random-checks-status-p agent "idle")
                   (todo-write-activity thread))
          (push (list 'activity session (todo-write-activity thread)) wrong))))
    (pcase-dolist (`(,session . ,fate) random-checks-fates)
      (when-let* ((thread (random-checks-thread session))
                  (summary (todo-write-summary thread)))
        (when (or (eq 'active (plist-get summary :state))
                  (todo-write-activity thread)
                  (and (not (eq fate 'killed)) (eq 'killed (plist-get summary :ending))))
          (push (list 'ended session fate summary (todo-write-activity thread)) wrong))))
    wrong))

(defun random-checks-quiet ()
  "Wait until all agents have come to rest; all must be shown rightly then."
  (condition-case nil
      (progn
        (todo-write-test-wait
         (lambda () (seq-every-p (lambda (agent) (random-checks-status-p agent "idle"))
                                 (random-checks-running))))
        (todo-write-test-wait (lambda () (not (random-checks-wrong)))))
    (ert-test-failed
     (ert-fail (format "Wrong: %S\nActs: %S\nStatuses: %S" (random-checks-wrong)
                       (seq-take random-checks-acts 12)
                       (mapcar #'random-checks-own (random-checks-running))))))
  (cl-incf random-checks-points))

(ert-deftest random-checks-acts-of-a-user ()
  (let* ((seed (or (getenv "SEED") (number-to-string (random 100000))))
         (end (+ (float-time) (string-to-number (or (getenv "SECONDS_TO_RUN") "60"))))
         (claude-checks-home (make-temp-file "home" t))
         (claude-checks-folder (file-name-as-directory
                                (file-truename (make-temp-file "garden" t))))
         (default-directory claude-checks-folder)
         (todo-write-follow-agents `((claude . ,(expand-file-name ".claude" claude-checks-home))))
         (script (todo-write-mock-script
                  (append random-checks-answers
                          '((:match (:hasToolResult t) :response (:content "That is done."))
                            (:match (:userMessage "") :response (:content "Very well.")))))))
    (random seed)
    (message "SEED=%s" seed)
    (claude-checks-seed nil)
    (setq random-checks-agents (list (make-random-checks-agent) (make-random-checks-agent)
                                     (make-random-checks-agent))
          random-checks-sessions nil random-checks-fates nil
          random-checks-acts nil random-checks-points 0)
    (todo-write-with-store
      (todo-write-with-mock port script
        (let ((claude-checks-environment
               (append (hosts-claude-environment (format "http://127.0.0.1:%d" port))
                       (hosts-environment claude-checks-home)))
              claude-checks-process)
          (unwind-protect
              (progn
                (todo-write-agents-mode)
                (while (< (float-time) end)
                  (random-checks-act)
                  (when (= 0 (random 2)) (random-checks-quiet)))
                (random-checks-quiet))
            (message "%d acts, %d quiet points" (length random-checks-acts)
                     random-checks-points)
            (todo-write-agents-mode -1)
            (dolist (agent (random-checks-running))
              (delete-process (random-checks-agent-process agent)))))))))

(provide 'random-checks)
;;; random-checks.el ends here
