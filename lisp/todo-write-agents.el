;;; todo-write-agents.el --- Follow and serve agents outside of Emacs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `todo-write-agents-mode' is all that agents outside of Emacs need: it starts the
;; program `todo-write-mcp', opens the socket by which agents call `todo_write', and
;; follows the live sessions of Claude Code and Codex on this machine.
;;
;; Agents have `todo_write' from the program `todo-write-mcp', an MCP server that passes
;; each call to this Emacs through the socket; see todo-write-socket.el.  A session has the
;; same thread key as in `todo-write-follow', so that thoughts and tool calls from its
;; transcript are in the same plan.
;;
;; One Emacs leads: the one whose program has the socket.  Another one waits until that
;; ends, follows nothing meanwhile, and reads the plans that it shows again from their
;; journals.

;;; Code:

(require 'todo-write-connect)
(require 'todo-write-permission)         ; For its role.

(defvar todo-write-agents-silence 60
  "Seconds without a call after which it is unknown what an agent does.
Also the seconds that a program whose connection broke has to come back.")

;;;###autoload
(define-minor-mode todo-write-agents-mode
  "Show the plans of agents outside of Emacs, and let them write these here.
All live sessions of Claude Code and Codex on this machine are followed:
those whose process runs, and those whose transcript was written within
ten minutes; `todo-write-follow' with a prefix argument leaves one out.
Agents that have the tool todo_write call this Emacs; `todo-write-setup'
gives it to them.

If another Emacs does this already, this one takes over when that ends."
  :global t
  :group 'todo-write
  (todo-write-host-switch "Claude Code and Codex" todo-write-agents-mode)
  (when (and todo-write-agents-mode (called-interactively-p 'any))
    (message "On for this session; for later ones, put %s into your init file"
             "(todo-write-agents-mode)")))

(defun todo-write-agents--switch-on ()
  "Open the socket, and follow sessions."
  ;; It signals if the program is missing; nothing is on then.
  (todo-write-socket-open)
  (todo-write-follow-watch t)
  (add-hook 'todo-write-hub-check-hook #'todo-write-agents--read-again)
  (todo-write-connect-send-all))

(defun todo-write-agents--switch-off ()
  "Close the socket, and follow only the sessions that the user asked for."
  (remove-hook 'todo-write-hub-check-hook #'todo-write-agents--read-again)
  (todo-write-follow-watch nil)
  (todo-write-socket-close)
  (todo-write-connect-send-all))

(defun todo-write-agents--read-again ()
  "Take what another Emacs that has the socket wrote about the plans in memory."
  (when (eq 'client (todo-write-socket-state))
    (let ((inhibit-quit t))
      (dolist (thread (todo-write-threads-loaded))
        (todo-write-core-call todo-write-dyn--refresh thread)
        (todo-write-events-dispatch thread 'change)))))

(defun todo-write-agents-unload-function ()
  "Switch the mode off; let `unload-feature' go on."
  (ignore (todo-write-agents-mode -1)))

(todo-write-host-define "Claude Code and Codex"
  :mode 'todo-write-agents-mode :feature 'todo-write-dyn
  :switch-on #'todo-write-agents--switch-on :switch-off #'todo-write-agents--switch-off
  :installed (lambda ()
               (seq-some (lambda (agent) (file-directory-p (cdr agent)))
                         (todo-write-follow-homes)))
  :findings #'todo-write-mcp-setup-findings)

;;; Messages

(defun todo-write-agents--receive (program message)
  "Handle MESSAGE of PROGRAM; see `todo-write-socket--roles'."
  (pcase (plist-get message :type)
    ("hello" (todo-write-agents--greet program message))
    ("call" (pcase-let ((`(,ok . ,text)
                         (if (todo-write-socket-program-ended program)
                             '(nil . "This program has said goodbye.")
                           (todo-write-agents--write program message))))
              (todo-write-socket-answer program message ok text)))
    ("activity" (unless (todo-write-socket-program-ended program)
                  (todo-write-agents--note-activity program message)))
    ("bye" (setf (todo-write-socket-program-ended program) 'bye)
     (if (plist-get message :killed)
         (todo-write-agents--end-program program "ended" "killed" 'killed)
       (todo-write-agents--end-program program "ended" "session ended" 'session-ended)))
    ("closed" (when (todo-write-socket-program-sessions program)
                (todo-write-agents--break program)))))

(defun todo-write-agents--greet (program hello)
  "Take up the sessions of PROGRAM if it was here before; it says HELLO."
  (when-let* ((before (seq-find
                       (lambda (other)
                         (and (not (eq other program))
                              (equal (plist-get hello :id)
                                     (plist-get (todo-write-socket-program-hello other) :id))
                              (equal (todo-write-socket-program-remote program)
                                     (todo-write-socket-program-remote other))))
                       todo-write-socket-programs)))
    (setf (todo-write-socket-program-reports-activity program)
          (todo-write-socket-program-reports-activity before)
          (todo-write-socket-program-sessions program) (todo-write-agents--forget-program before))))

(defun todo-write-agents--threads (program message)
  "Return (SESSION . THREAD) of MESSAGE of PROGRAM, keys.
THREAD is that of the subagent, if MESSAGE is of one, else SESSION."
  (let ((session (todo-write-socket-thread program message))
        (subagent (plist-get message :subagent)))
    ;; `todo-write-follow' has the same key.
    (cons session (if subagent (concat session "/" (todo-write-socket-key-part subagent))
                    session))))

(defun todo-write-agents--write (program call)
  "Write the list in CALL of PROGRAM; return (OK . TEXT)."
  (pcase-let ((own (equal "plan" (plist-get call :role)))
              (`(,session . ,thread) (todo-write-agents--threads program call)))
    (when (equal (plist-get call :source) "process")
      (todo-write-agents--leave-others program session))
    (todo-write-agents--begin program session)
    (unless (equal thread session)
      (todo-write-agents--begin-subagent program thread session (plist-get call :task)))
    (pcase-let (((map :ok :result)
                 (todo-write-plan-write thread (or (plist-get call :arguments) "null")
                                        (todo-write-socket-client program) own
                                        (unless own
                                          (list :id (plist-get call :id)
                                                :sent (plist-get call :sent)
                                                :time (plist-get call :time))))))
      ;; A tool of the agent's own passes no result on.
      (cons ok (if (and own ok) "" result)))))

;;; The session

(defun todo-write-agents--leave-others (program session)
  "End the sessions of PROGRAM other than the thread SESSION.
Its agent has one at a time: the user called /clear or /resume."
  (let ((left (cl-flet ((id (thread)
                            (plist-get (todo-write-core-call todo-write-dyn--identity thread)
                                       :session)))
                ;; Subagents have the id of their session.
                (seq-remove (lambda (thread) (equal (id thread) (id session)))
                            (mapcar #'car (todo-write-socket-program-sessions program))))))
    (todo-write-agents--end-sessions program left "left" "session ended")))

(defun todo-write-agents--begin (program thread)
  "Set the agent of THREAD, for which PROGRAM makes a call, to working.
At its first call, or if the user forgot THREAD, set its project."
  (let ((before (todo-write-socket-serving thread)))
    (unless (and (eq before program)
                 (todo-write-core-call todo-write-dyn--loaded-p thread))
      (unless (memq before (list nil program))
        (setf (alist-get thread (todo-write-socket-program-sessions before) nil t #'equal) nil))
      (todo-write-begin thread :project (todo-write-socket-project program)))
    (todo-write-agents--serve program thread)
    (todo-write-agents--report thread "call")))

(defun todo-write-agents--report (thread word &optional reason ending)
  "Report that the program that serves THREAD says WORD of its agent.
See `todo-write-dyn--report-program', also for REASON and ENDING."
  (todo-write-core-configure)
  (let ((inhibit-quit t))
    (todo-write-events-publish-activity
     (todo-write-core-call todo-write-dyn--report-program
       thread word reason ending
       (when-let* ((program (todo-write-socket-serving thread)))
         (todo-write-socket-pid program))))))

(defun todo-write-agents--serve (program thread)
  "Let PROGRAM serve THREAD from now on."
  (setf (alist-get thread (todo-write-socket-program-sessions program) nil nil #'equal)
        (float-time)))

(defun todo-write-agents--begin-subagent (program thread session task)
  "Begin THREAD, of a subagent that works for the thread SESSION of PROGRAM.
TASK describes its work, a string or nil.  Its list is shown below the item
that resembles TASK, else below the item in progress."
  (unless (assoc thread (todo-write-socket-program-sessions program))
    (todo-write-begin
     thread :project (todo-write-socket-project program) :parent session
     :parent-item (or (and task (todo-write-core-call todo-write-dyn--item-like session task))
                      (plist-get (plist-get (todo-write-summary session) :current) :id)))
    (when (and task (not (plist-get (todo-write-summary thread) :title)))
      (todo-write-observe thread "TITLE" task)))
  (todo-write-agents--serve program thread)
  (todo-write-agents--report thread "call"))

;;; Activity

(defun todo-write-agents--note-activity (program message)
  "Note the activity of the agent of PROGRAM, which MESSAGE reports."
  (pcase-let ((`(,session . ,thread) (todo-write-agents--threads program message))
              ((map :activity :reason :title) message))
    (cond
     ((not (equal thread session))
      (when (assoc thread (todo-write-socket-program-sessions program))
        (todo-write-agents--end-sessions program (list thread)
                                         "ended" "the subagent returned" 'end-of-turn)))
     ;; After a restart of this Emacs, its next call may be far away.
     ((equal activity "serving")
      (todo-write-agents--take-up program thread))
     (t
      (cond ((not (todo-write-socket-in-agent-p program))
             (todo-write-agents--leave-others program session))
            ((member activity '("working" "waiting"))
             (todo-write-agents--begin program thread)))
      (setf (todo-write-socket-program-reports-activity program)
            (not (equal activity "unknown")))
      ;; The user may have resumed an old session, or it has no plan.
      (when (or (assoc thread (todo-write-socket-program-sessions program))
                (todo-write-agents--take-up program thread))
        (todo-write-agents--report
         thread
         (or (car (member activity '("suspended" "idle" "working" "waiting" "failed"))) "unknown")
         (and reason (todo-write-text-line reason 200)))
        (unless (or (null title) (plist-get (todo-write-summary thread) :title))
          (todo-write-observe thread "TITLE" (todo-write-text-line title 200))))))))

(defun todo-write-agents--take-up (program thread)
  "Let PROGRAM serve THREAD if there is a plan of that key."
  (when (and (not (todo-write-socket-serving thread))
             (todo-write-restore thread))
    (todo-write-agents--serve program thread)
    t))

;;; Ends of programs and sessions

(defun todo-write-agents--break (program)
  "Note that the connection of PROGRAM closed without a goodbye.
What its agents do is unknown, and their time stops."
  (todo-write-events-apply-each (lambda (thread) (todo-write-agents--report thread "lost"))
                                (mapcar #'car (todo-write-socket-program-sessions program)))
  ;; A killed process closes its files before its id is free.
  (run-with-timer 0.2 nil #'todo-write-agents--check-programs))

(defun todo-write-agents--forget-program (program)
  "Let PROGRAM serve no sessions; return what it had.
Forget it unless it is connected."
  (unless (todo-write-socket-live-p program)
    (setq todo-write-socket-programs (delq program todo-write-socket-programs)))
  (cl-shiftf (todo-write-socket-program-sessions program) nil))

(defun todo-write-agents--end-program (program word reason &optional ending)
  "End the sessions of PROGRAM by WORD for REASON, and forget it.
See `todo-write-agents--end-sessions', also for ENDING."
  (todo-write-agents--end-sessions
   program (mapcar #'car (todo-write-agents--forget-program program)) word reason ending))

(defun todo-write-agents--end-sessions (program threads word reason &optional ending)
  "Let PROGRAM no longer serve THREADS; report WORD, REASON and ENDING of them.
See `todo-write-dyn--report-program'.  Of those that another program serves
now, nothing is reported."
  (dolist (thread threads)
    (setf (alist-get thread (todo-write-socket-program-sessions program) nil t #'equal) nil))
  (todo-write-events-apply-each
   (lambda (thread)
     (unless (or (todo-write-socket-serving thread)
                 ;; The user may have deleted it.
                 (not (todo-write-restore thread)))
       (todo-write-agents--report thread word reason ending)))
   threads))

(defun todo-write-agents--check-programs ()
  "Find programs that were killed, and agents that are quiet."
  (todo-write-events-apply-each
   (lambda (program)
     (let ((ended (todo-write-socket-program-ended program))
           (process (todo-write-socket-pid program)))
       (cond
        ;; A program that reports what its agent does needs no guess.
        ((and (null ended) (todo-write-socket-program-reports-activity program)))
        ((null ended)
         (pcase-dolist (`(,thread . ,time)
                        (copy-sequence (todo-write-socket-program-sessions program)))
           (let ((quiet (- (float-time) time)))
             (cond
              ((> quiet todo-write-follow-quiet)
               (todo-write-agents--end-sessions program (list thread) "lost" "no call for a while"))
              ((> quiet todo-write-agents-silence)
               ;; Its time goes on: nothing says that it stopped.
               (todo-write-agents--report thread "unknown"))))))
        ((and process (eq 'dead (todo-write-core-call todo-write-dyn--process-state process nil)))
         (todo-write-agents--end-program program "ended" "agent exited" 'killed))
        ;; A tunnel may have been cut, or `todo-write-agents-mode' switched off.  Its agents may
        ;; work on; they go on with their plans when it is back.
        ((> (- (float-time) ended) todo-write-agents-silence)
         (let ((machine (todo-write-socket-program-remote program)))
           (todo-write-agents--end-program program "lost"
                                           (if machine (format "no connection to %s" machine)
                                             "not connected for a minute")))))))
   (seq-filter #'todo-write-socket-program-sessions todo-write-socket-programs)))

(add-hook 'todo-write-hub-check-hook #'todo-write-agents--check-programs)
(todo-write-socket-define-role "tool" #'todo-write-agents--receive)
(todo-write-socket-define-role "plan" #'todo-write-agents--receive)

(provide 'todo-write-agents)
;;; todo-write-agents.el ends here
