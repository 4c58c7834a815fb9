;;; todo-write-mcp.el --- The tool todo_write for MCP clients  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Agents outside of Emacs (Claude Code, Codex, Gemini CLI, ...) get the tool
;; `todo_write' from the program `todo-write-mcp', an MCP server that passes each
;; call to this Emacs through a socket; see todo-write-socket.el.  This file handles
;; these calls.  `todo-write-agents-mode' opens the socket, and
;; `M-x todo-write-setup' shows how to add the server to an agent.
;;
;; A session has the same thread key as in `todo-write-follow', so that thoughts and
;; tool calls from its transcript are in the same plan.

;;; Code:

(require 'map)
(require 'todo-write)
(require 'todo-write-follow)
(require 'todo-write-commands)
(require 'todo-write-permission)         ; For its role.
(require 'todo-write-hub)
(require 'todo-write-socket)
(require 'todo-write-text)

(defvar todo-write-mcp-quiet 600
  "Seconds without a call after which a session is paused.
The protocol does not report the end of a turn.")

(defvar todo-write-mcp-silence 60
  "Seconds without a call after which it is unknown what an agent does.
Also the seconds that a program whose connection broke has to come back.")

;;;###autoload
(define-obsolete-variable-alias 'todo-write-mcp-mode 'todo-write-agents-mode "0.4.0")
;;;###autoload
(define-obsolete-function-alias 'todo-write-mcp-mode #'todo-write-agents-mode "0.4.0")

;;; Messages

(defun todo-write-mcp--receive (program message)
  "Handle MESSAGE of PROGRAM; see `todo-write-socket--roles'."
  (pcase (plist-get message :type)
    ("hello" (todo-write-mcp--greet program message))
    ("call" (pcase-let ((`(,ok . ,text)
                         (if (todo-write-socket-program-ended program)
                             '(nil . "This program has said goodbye.")
                           (todo-write-mcp--write program message))))
              (todo-write-socket-answer program message ok text)))
    ("activity" (unless (todo-write-socket-program-ended program)
                  (todo-write-mcp--note-activity program message)))
    ("bye" (setf (todo-write-socket-program-ended program) 'bye)
     (if (plist-get message :killed)
         (todo-write-mcp--end-program program "ended" "killed" 'killed)
       (todo-write-mcp--end-program program "ended" "session ended" 'session-ended)))
    ("closed" (when (todo-write-socket-program-sessions program)
                (todo-write-mcp--break program)))))

(defun todo-write-mcp--greet (program hello)
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
          (todo-write-socket-program-sessions program) (todo-write-mcp--forget-program before))))

(defun todo-write-mcp--threads (program message)
  "Return (SESSION . THREAD) of MESSAGE of PROGRAM, keys.
THREAD is that of the subagent, if MESSAGE is of one, else SESSION."
  (let ((session (todo-write-socket-thread program message))
        (subagent (plist-get message :subagent)))
    ;; `todo-write-follow' has the same key.
    (cons session (if subagent (concat session "/" (todo-write-socket-key-part subagent))
                    session))))

(defun todo-write-mcp--write (program call)
  "Write the list in CALL of PROGRAM; return (OK . TEXT)."
  (pcase-let ((own (equal "plan" (plist-get call :role)))
              (`(,session . ,thread) (todo-write-mcp--threads program call)))
    (when (equal (plist-get call :source) "process")
      (todo-write-mcp--leave-others program session))
    (todo-write-mcp--begin program session)
    (unless (equal thread session)
      (todo-write-mcp--begin-subagent program thread session (plist-get call :task)))
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

(defun todo-write-mcp--leave-others (program session)
  "End the sessions of PROGRAM other than the thread SESSION.
Its agent has one at a time: the user called /clear or /resume."
  (let ((left (cl-flet ((id (thread)
                          (plist-get (todo-write-core-call todo-write-dyn--identity thread)
                                     :session)))
                ;; Subagents have the id of their session.
                (seq-remove (lambda (thread) (equal (id thread) (id session)))
                            (mapcar #'car (todo-write-socket-program-sessions program))))))
    (todo-write-mcp--end-sessions program left "left" "session ended")))

(defun todo-write-mcp--forget-session (program thread)
  "Let PROGRAM no longer serve THREAD."
  (setf (alist-get thread (todo-write-socket-program-sessions program) nil t #'equal) nil))

(defun todo-write-mcp--begin (program thread)
  "Set the agent of THREAD, for which PROGRAM makes a call, to working.
At its first call, or if the user forgot THREAD, set its project and title."
  (let* ((before (todo-write-socket-serving thread))
         (first (not (and (eq before program)
                          (todo-write-core-call todo-write-dyn--loaded-p thread)
                          (plist-get (todo-write-summary thread) :title)))))
    (when first
      (unless (memq before (list nil program))
        (todo-write-mcp--forget-session before thread))
      (todo-write-begin thread :project (todo-write-socket-project program)))
    (todo-write-mcp--serve program thread)
    (todo-write-mcp--report thread "call")
    (when first
      (todo-write-socket-set-title thread nil))))

(defun todo-write-mcp--report (thread word &optional reason ending)
  "Report that the program that serves THREAD says WORD of its agent.
See `todo-write-dyn--report-program', also for REASON and ENDING."
  (todo-write-core-configure)
  (let ((inhibit-quit t))
    (todo-write-activity-publish
     (todo-write-core-call todo-write-dyn--report-program
       thread word reason ending (todo-write-mcp--pid thread)))))

(defun todo-write-mcp--pid (thread)
  "Return the process id of the program for the agent of THREAD, or nil."
  (when-let* ((program (todo-write-socket-serving thread)))
    (todo-write-socket-pid program)))

(defun todo-write-mcp--serve (program thread)
  "Let PROGRAM serve THREAD from now on."
  (setf (alist-get thread (todo-write-socket-program-sessions program) nil nil #'equal)
        (float-time))
  ;; For more, the one without a call for the longest time ends.
  (when (length> (todo-write-socket-program-sessions program) 64)
    (todo-write-mcp--end-sessions
     program (list (caar (seq-sort-by #'cdr #'< (todo-write-socket-program-sessions program))))
     "lost" "no call for a while"))
  (add-hook 'todo-write-hub-check-hook #'todo-write-mcp--check-programs))

(defun todo-write-mcp--begin-subagent (program thread session task)
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
  (todo-write-mcp--serve program thread)
  (todo-write-mcp--report thread "call"))

;;; Activity

(defun todo-write-mcp--note-activity (program message)
  "Note the activity of the agent of PROGRAM, which MESSAGE reports."
  (pcase-let ((`(,session . ,thread) (todo-write-mcp--threads program message)))
    (cond
     ((not (equal thread session))
      (when (assoc thread (todo-write-socket-program-sessions program))
        (todo-write-mcp--end-sessions program (list thread)
                                      "ended" "the subagent returned" 'end-of-turn)))
     ;; After a restart of this Emacs, its next call may be far away.
     ((equal (plist-get message :activity) "serving")
      (todo-write-mcp--take-up program thread))
     (t
      (cond ((not (todo-write-socket-in-agent-p program))
             (todo-write-mcp--leave-others program session))
            ((member (plist-get message :activity) '("working" "waiting"))
             (todo-write-mcp--begin program thread)))
      (setf (todo-write-socket-program-reports-activity program)
            (not (equal (plist-get message :activity) "unknown")))
      ;; The user may have resumed an old session, or it has no plan.
      (when (or (assoc thread (todo-write-socket-program-sessions program))
                (todo-write-mcp--take-up program thread))
        (let ((reason (plist-get message :reason)))
          (pcase (plist-get message :activity)
            ((and word (or "suspended" "idle")) (todo-write-mcp--report thread word))
            ((and word (or "working" "waiting" "failed"))
             (todo-write-mcp--report thread word (and reason (todo-write-text-line reason 200))))
            (_ (todo-write-mcp--report thread "unknown"))))
        (when-let* ((title (plist-get message :title)))
          (todo-write-socket-set-title thread (todo-write-text-line title 200))))))))

(defun todo-write-mcp--take-up (program thread)
  "Let PROGRAM serve THREAD if there is a plan of that key."
  (when (and (not (todo-write-socket-serving thread))
             (todo-write-restore thread))
    (todo-write-mcp--serve program thread)
    t))

;;; Ends of programs and sessions

(defun todo-write-mcp--break (program)
  "Note that the connection of PROGRAM closed without a goodbye.
What its agents do is unknown, and their time stops."
  (todo-write-events-apply-each (lambda (thread) (todo-write-mcp--report thread "lost"))
                                (mapcar #'car (todo-write-socket-program-sessions program)))
  (let ((broken (seq-remove #'todo-write-socket-live-p todo-write-socket-programs)))
    (when (length> broken 64)
      (todo-write-mcp--lose-program
       (car (seq-sort-by #'todo-write-socket-program-ended #'< broken)))))
  ;; A killed process closes its files before its id is free.
  (run-with-timer 0.2 nil #'todo-write-mcp--check-programs))

(defun todo-write-mcp--forget-program (program)
  "Let PROGRAM serve no sessions; return what it had.
Forget it unless it is connected."
  (unless (todo-write-socket-live-p program)
    (setq todo-write-socket-programs (delq program todo-write-socket-programs)))
  (cl-shiftf (todo-write-socket-program-sessions program) nil))

(defun todo-write-mcp--end-program (program word reason &optional ending)
  "End the sessions of PROGRAM by WORD for REASON, and forget it.
See `todo-write-mcp--end-sessions', also for ENDING."
  (todo-write-mcp--end-sessions program (mapcar #'car (todo-write-mcp--forget-program program))
                                word reason ending))

(defun todo-write-mcp--lose-program (program)
  "Pause the plans of PROGRAM, which has had no connection for a while.
Its agents may work on; they go on with their plans when it is back."
  (let ((machine (todo-write-socket-program-remote program)))
    (todo-write-mcp--end-program program "lost"
                                 (if machine (format "no connection to %s" machine)
                                   "not connected for a minute"))))

(defun todo-write-mcp--end-sessions (program threads word reason &optional ending)
  "Let PROGRAM no longer serve THREADS; report WORD, REASON and ENDING of them.
See `todo-write-dyn--report-program'.  Of those that another program serves
now, nothing is reported."
  (dolist (thread threads)
    (todo-write-mcp--forget-session program thread))
  (todo-write-events-apply-each
   (lambda (thread)
     (unless (or (todo-write-socket-serving thread)
                 ;; The user may have deleted it.
                 (not (todo-write-restore thread)))
       (todo-write-mcp--report thread word reason ending)))
   threads))

(defun todo-write-mcp--check-programs ()
  "Find programs that were killed, and agents that are quiet.
Stop looking if no program serves a session."
  (if-let* ((programs (seq-filter #'todo-write-socket-program-sessions
                                  todo-write-socket-programs)))
      (todo-write-events-apply-each #'todo-write-mcp--check-program programs)
    (remove-hook 'todo-write-hub-check-hook #'todo-write-mcp--check-programs)))

(defun todo-write-mcp--check-program (program)
  "End the sessions of PROGRAM if it is dead, and note those that are quiet."
  (let ((ended (todo-write-socket-program-ended program)))
    (cond
     ;; A program that reports what its agent does needs no guess.
     ((and (null ended) (todo-write-socket-program-reports-activity program)))
     ((null ended)
      (pcase-dolist (`(,thread . ,time)
                     (copy-sequence (todo-write-socket-program-sessions program)))
        (let ((quiet (- (float-time) time)))
          (cond
           ((> quiet todo-write-mcp-quiet)
            (todo-write-mcp--end-sessions program (list thread) "lost" "no call for a while"))
           ((> quiet todo-write-mcp-silence)
            ;; Its time goes on: nothing says that it stopped.
            (todo-write-mcp--report thread "unknown"))))))
     ((when-let* ((process (todo-write-socket-pid program)))
        (eq 'dead (todo-write-core-call todo-write-dyn--process-state process nil)))
      (todo-write-mcp--end-program program "ended" "agent exited" 'killed))
     ;; A tunnel may have been cut, or `todo-write-agents-mode' switched off.
     ((> (- (float-time) ended) todo-write-mcp-silence)
      (todo-write-mcp--lose-program program)))))

(todo-write-socket-define-role "tool" #'todo-write-mcp--receive)
(todo-write-socket-define-role "plan" #'todo-write-mcp--receive)

(provide 'todo-write-mcp)
;;; todo-write-mcp.el ends here
