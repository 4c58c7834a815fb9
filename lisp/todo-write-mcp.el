;;; todo-write-mcp.el --- The tool todo_write for MCP clients  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Agents outside of Emacs (Claude Code, Codex, Gemini CLI, ...) get the tool
;; `todo_write' from the program `todo-write-mcp', an MCP server that passes each
;; call to this Emacs through a socket; see todo-write-socket.el.  This file handles
;; these calls.  `todo-write-mcp-mode' opens the socket, and
;; `M-x todo-write-mcp-setup' shows how to add the server to an agent.
;;
;; A session has the same thread key as in `todo-write-follow', so that thoughts and
;; tool calls from its transcript are in the same plan.

;;; Code:

(require 'todo-write)
(require 'todo-write-follow-sessions)
(require 'todo-write-host)
(require 'todo-write-mcp-setup)
(require 'todo-write-note)
(require 'todo-write-opencode)           ; For its questions.
(require 'todo-write-permission)         ; For its role.
(require 'todo-write-program)
(require 'todo-write-machines)
(require 'todo-write-socket)
(require 'todo-write-text)

(defvar todo-write-mcp-quiet 600
  "Seconds without a call after which a session is paused.
The protocol does not report the end of a turn.")

(defvar todo-write-mcp-silence 60
  "Seconds without a call after which it is unknown what an agent does.
Also the seconds that a program whose connection broke has to come back.")

(defvar todo-write-mcp--timer nil
  "Timer that finds programs that were killed, and agents that are quiet, or nil.")

(defvar todo-write-mcp--lost nil
  "Times at which programs first failed to reach this Emacs, not yet reported.")

;;; The mode

;;;###autoload
(define-minor-mode todo-write-mcp-mode
  "Let agents outside of Emacs write their plans by the tool todo_write.
This opens the socket through which the program `todo-write-mcp' calls
this Emacs; see `todo-write-socket'.  `todo-write-mcp-setup' gives an
agent the tool.  If another Emacs has the socket, this one takes over when
that ends."
  :global t
  :group 'todo-write-hosts
  (todo-write-host-switch "MCP" todo-write-mcp-mode)
  (when (and todo-write-mcp-mode (todo-write-socket-state) (called-interactively-p 'any)
             (not (todo-write-mcp-setup-kept-p)))
    (message "On for this session; for later ones, put %s into your init file"
             "(todo-write-mcp-mode)")))

(defun todo-write-mcp--switch-on ()
  "Open the socket, and watch for what agents must be told."
  (todo-write-note-watch t)
  (condition-case err
      (todo-write-socket-open)
    (todo-write-error
     (todo-write-note-watch nil)
     (setq todo-write-mcp-mode nil)
     (display-warning 'todo-write (cadr err))))
  (run-hooks 'todo-write-machines-wanted-hook))

(defun todo-write-mcp--switch-off ()
  "Close the socket."
  (todo-write-note-watch nil)
  (todo-write-socket-close)
  (run-hooks 'todo-write-machines-wanted-hook))

(todo-write-host-define "MCP"
  :mode 'todo-write-mcp-mode :feature 'todo-write-dyn
  :switch-on #'todo-write-mcp--switch-on :switch-off #'todo-write-mcp--switch-off
  :findings #'todo-write-mcp-setup-findings)

;;; Messages

(defun todo-write-mcp--receive (connection message)
  "Handle MESSAGE of the program of CONNECTION.
See `todo-write-socket--roles'."
  (let* ((hello (todo-write-socket-connection-hello connection))
         (key (cons (todo-write-socket-connection-remote connection) (plist-get hello :id)))
         (type (plist-get message :type))
         (program (or (gethash key todo-write-program-all)
                      (when (eq type 'hello)
                        (puthash key (todo-write-program-make)
                                 todo-write-program-all)))))
    (pcase type
      ('hello (setf (todo-write-program-hello program) hello
                    (todo-write-program-connection program) connection
                    (todo-write-program-broken program) nil)
              (unless (todo-write-program-remote program)
                (todo-write-follow-sessions-add-home 'claude (plist-get hello :claudeFolder))
                (todo-write-follow-sessions-add-home 'codex (plist-get hello :codexFolder))
                (run-hooks 'todo-write-follow-sessions-homes-hook))
              (when-let* ((lost (plist-get hello :lost)))
                (push lost todo-write-mcp--lost)
                (todo-write-events-soon 2 #'todo-write-mcp--report-lost)))
      ((guard (null program))
       (when (eq type 'call)
         (todo-write-socket-answer connection message nil "This program has said goodbye.")))
      ('call (pcase-let ((`(,ok . ,text)
                          (if (equal "plan" (plist-get message :role))
                              (todo-write-mcp--take-list program message)
                            (apply #'todo-write-mcp--write
                                   (todo-write-mcp--own-session program message)))))
               (todo-write-socket-answer connection message ok text)))
      ('activity (todo-write-mcp--note-activity program message))
      ('bye (if (plist-get message :killed)
                (todo-write-mcp--end-program program "killed" 'killed)
              (todo-write-mcp--end-program program "session ended" 'session-ended)))
      ('closed (when (eq connection (todo-write-program-connection program))
                 (todo-write-mcp--break program))))))

(defun todo-write-mcp--report-lost ()
  "Report to the user how many agents could not reach this Emacs."
  (when-let* ((lost todo-write-mcp--lost))
    (setq todo-write-mcp--lost nil)
    (message "%s could not reach this Emacs since %s"
             (todo-write-text-count (length lost) "agent")
             (format-time-string "%H:%M" (/ (apply #'min lost) 1000)))))

(defun todo-write-mcp--threads (program message)
  "Return (SESSION . THREAD) of MESSAGE of PROGRAM, keys.
THREAD is that of the subagent, if MESSAGE is of one, else SESSION."
  (let ((session (todo-write-program-thread program message))
        (subagent (plist-get message :subagent)))
    ;; `todo-write-follow' has the same key.
    (cons session (if subagent (concat session "/" (todo-write-program-key-part subagent))
                    session))))

(defun todo-write-mcp--begin-all (program call)
  "Begin the threads of the session and the subagent of CALL of PROGRAM.
Return (SESSION . THREAD) as `todo-write-mcp--threads' does."
  (pcase-let ((`(,session . ,thread) (todo-write-mcp--threads program call)))
    (todo-write-mcp--begin program session)
    (unless (equal thread session)
      (todo-write-mcp--begin-subagent program thread session (plist-get call :task)))
    (cons session thread)))

(defun todo-write-mcp--write (program call)
  "Write the list in CALL of PROGRAM; return (OK . TEXT)."
  (when (equal (plist-get call :source) "process")
    (todo-write-mcp--leave-others program (todo-write-program-thread program call)))
  (let ((thread (cdr (todo-write-mcp--begin-all program call))))
    (let ((outcome (todo-write-plan-write thread (or (plist-get call :arguments) "null")
                                          (todo-write-program-client program) nil
                                          (list :id (plist-get call :id)
                                                :sent (plist-get call :sent)
                                                :time (plist-get call :time)))))
      (cons (plist-get outcome :ok) (plist-get outcome :result)))))

(defun todo-write-mcp--take-list (program call)
  "Take the list in CALL of PROGRAM, which lives in the agent; return (OK . TEXT).
It is that of a tool of the agent's own, which passes no result on.  A
call without a list announces a call of todo_write in the same session."
  (let ((list (plist-get call :arguments)))
    (if (null list)
        (progn (todo-write-mcp--announce program call)
               (cons t ""))
      (let ((outcome (todo-write-plan-write (cdr (todo-write-mcp--begin-all program call)) list
                                            (todo-write-program-client program) t nil)))
        (cons (plist-get outcome :ok)
              (if (plist-get outcome :ok) "" (plist-get outcome :result)))))))

(defvar todo-write-mcp-together-seconds 2
  "Within so many seconds, calls come in the order of their announcements.
A call that comes later has waited for the user, or never comes.")

(defun todo-write-mcp--announce (program call)
  "Note that a call of todo_write in the session of CALL of PROGRAM comes next."
  (let ((now (float-time)))
    (setf (todo-write-program-announced program)
          (last (append
                 ;; A session whose call did not come makes another one.
                 (seq-remove (lambda (announced)
                               (and (todo-write-mcp--same-session-p (cdr announced) call)
                                    (< (car announced) (- now todo-write-mcp-together-seconds))))
                             (todo-write-program-announced program))
                 (list (cons now call)))
                64))))

(defun todo-write-mcp--same-session-p (call other)
  "Return non-nil if CALL and OTHER, messages, are of the same session or subagent."
  (and (equal (plist-get call :session) (plist-get other :session))
       (equal (plist-get call :subagent) (plist-get other :subagent))))

(defun todo-write-mcp--own-session (program call)
  "Return (PROGRAM CALL) with the session of CALL of PROGRAM.
If an agent starts PROGRAM without telling its session, but another
program lives in that agent and has announced a call, the value has that
program and the session of that call.  CALL is noted to be the announced
one, which no other call can be then."
  (pcase (todo-write-mcp--claim program call)
    (`(,other . ,announced)
     (list other
           (append (cl-loop for key in '(:session :subagent :task)
                            append (list key (plist-get announced key)))
                   call)))
    (_ (list program call))))

(defun todo-write-mcp--claim (program call)
  "Return (OTHER . ANNOUNCED) for CALL of PROGRAM, or nil.
ANNOUNCED is the call that OTHER, which lives in the agent of PROGRAM, has
announced, and is no longer announced then.  It is the oldest one of those
that were announced together just now, else the latest."
  (when-let* ((parent (plist-get (todo-write-program-hello program) :parent))
              ((null (plist-get call :session)))
              ((todo-write-program-pid program))
              (all (cl-loop for other being the hash-values of todo-write-program-all
                            when (and (todo-write-program-in-agent-p other)
                                      (eql parent (todo-write-program-pid other)))
                            append (mapcar (lambda (announced) (cons other announced))
                                           (todo-write-program-announced other))))
              (all (seq-sort-by #'cadr #'< all))
              (since (- (float-time) todo-write-mcp-together-seconds))
              (found (or (seq-find (lambda (one) (> (cadr one) since)) all)
                         (car (last all)))))
    (setf (todo-write-program-announced (car found))
          (delq (cdr found) (todo-write-program-announced (car found))))
    (cons (car found) (cddr found))))

;;; The session

(defun todo-write-mcp--leave-others (program session)
  "End the sessions of PROGRAM other than the thread SESSION.
Its agent has one at a time: the user called /clear or /resume."
  (let ((left (seq-remove (lambda (thread)
                            (or (equal thread session)
                                (string-prefix-p (concat session "/") thread)))
                          (mapcar #'car (todo-write-program-sessions program)))))
    (dolist (thread left)
      (todo-write-mcp--forget-session program thread))
    (todo-write-mcp--end-sessions left "left" "session ended")))

(defun todo-write-mcp--forget-session (program thread)
  "Let PROGRAM no longer serve THREAD."
  (setf (alist-get thread (todo-write-program-sessions program) nil t #'equal) nil))

(defun todo-write-mcp--begin (program thread)
  "Set the agent of THREAD, for which PROGRAM makes a call, to working.
At its first call, or if the user forgot THREAD, set its project and title."
  (let* ((before (todo-write-program-serving thread))
         (first (not (and (eq before program)
                          (todo-write-core-call todo-write-dyn--loaded-p thread)
                          (plist-get (todo-write-summary thread) :title)))))
    (when first
      (unless (memq before (list nil program))
        (todo-write-mcp--forget-session before thread))
      (todo-write-begin thread :project (todo-write-program-project program)))
    (todo-write-mcp--serve program thread)
    (todo-write-mcp--report thread "call")
    (when first
      (todo-write-program-set-title thread nil))))

(defun todo-write-mcp--report (thread word &optional reason ending)
  "Report that the program that serves THREAD says WORD of its agent.
See `todo-write-dyn--report-program', also for REASON and ENDING."
  (todo-write-core-configure)
  (let ((inhibit-quit t))
    (todo-write-activity-publish
     (todo-write-core-call todo-write-dyn--report-program
       thread word reason ending (todo-write-mcp--pid thread)))))

(defun todo-write-mcp--serve (program thread)
  "Let PROGRAM serve THREAD from now on."
  (setf (alist-get thread (todo-write-program-sessions program) nil nil #'equal)
        (float-time))
  ;; For more, the one without a call for the longest time ends.
  (when (length> (todo-write-program-sessions program) 64)
    (let ((oldest (car (car (seq-sort-by #'cdr #'< (todo-write-program-sessions program))))))
      (todo-write-mcp--forget-session program oldest)
      (todo-write-mcp--report oldest "lost" "no call for a while")))
  (unless todo-write-mcp--timer
    (setq todo-write-mcp--timer (run-at-time 5 5 #'todo-write-mcp--check-programs))))

(defun todo-write-mcp--begin-subagent (program thread session task)
  "Begin THREAD, of a subagent that works for the thread SESSION of PROGRAM.
TASK describes its work, a string or nil.  Its list is shown below the item
that resembles TASK, else below the item in progress."
  (unless (assoc thread (todo-write-program-sessions program))
    (todo-write-begin
     thread :project (todo-write-program-project program) :parent session
     :parent-item (or (and task (todo-write-core-call todo-write-dyn--item-like session task))
                      (plist-get (plist-get (todo-write-summary session) :current) :id)))
    (when (and task (not (plist-get (todo-write-summary thread) :title)))
      (todo-write-observe thread "TITLE" task)))
  (todo-write-mcp--serve program thread)
  (todo-write-mcp--report thread "call"))

(defun todo-write-mcp--pid (thread)
  "Return the process id of the program for the agent of THREAD, or nil."
  (when-let* ((program (todo-write-program-serving thread)))
    (todo-write-program-pid program)))

;;; Activity

(defun todo-write-mcp--note-activity (program message)
  "Note the activity of the agent of PROGRAM, which MESSAGE reports."
  (pcase-let ((`(,session . ,thread) (todo-write-mcp--threads program message)))
    ;; What it announced before does not come any more.
    (unless (member (plist-get message :activity) '("working" "waiting" "serving"))
      (setf (todo-write-program-announced program)
            (seq-remove (lambda (announced)
                          (todo-write-mcp--same-session-p (cdr announced) message))
                        (todo-write-program-announced program))))
    (cond
     ((not (equal thread session))
      (when (assoc thread (todo-write-program-sessions program))
        (todo-write-mcp--forget-session program thread)
        (todo-write-mcp--end-session thread "ended" "the subagent returned" 'end-of-turn)))
     ;; After a restart of this Emacs, its next call may be far away.
     ((equal (plist-get message :activity) "serving")
      (todo-write-mcp--take-up program thread))
     (t
      (cond ((not (todo-write-program-in-agent-p program))
             (todo-write-mcp--leave-others program session))
            ((member (plist-get message :activity) '("working" "waiting"))
             (todo-write-mcp--begin program thread)))
      (setf (todo-write-program-reports-activity program)
            (not (equal (plist-get message :activity) "unknown")))
      ;; The user may have resumed an old session, or it has no plan.
      (when (or (assoc thread (todo-write-program-sessions program))
                (todo-write-mcp--take-up program thread))
        (let ((word (plist-get message :activity))
              (reason (plist-get message :reason)))
          (pcase word
            ((or "suspended" "idle") (todo-write-mcp--report thread word))
            ((or "working" "waiting" "failed")
             (todo-write-mcp--report thread word (and reason (todo-write-text-line reason 200))))
            (_ (todo-write-mcp--report thread "unknown"))))
        (when-let* ((title (plist-get message :title)))
          (todo-write-program-set-title thread (todo-write-text-line title 200))))))))

(defun todo-write-mcp--take-up (program thread)
  "Let PROGRAM serve THREAD if there is a plan of that key."
  (when (and (not (todo-write-program-serving thread))
             (todo-write-restore thread))
    (todo-write-mcp--serve program thread)
    t))

;;; Ends of programs and sessions

(defun todo-write-mcp--break (program)
  "Note that the connection of PROGRAM closed without a goodbye.
What its agents do is unknown, and their time stops."
  (setf (todo-write-program-broken program) (float-time))
  (if (null (todo-write-program-sessions program))
      (todo-write-mcp--end-program program nil nil)
    (todo-write-socket-each (lambda (thread)
                              ;; It may be back.
                              (when (todo-write-program-broken program)
                                (todo-write-mcp--report thread "lost")))
                            (mapcar #'car (todo-write-program-sessions program)))
    (let ((broken (seq-filter #'todo-write-program-broken
                              (hash-table-values todo-write-program-all))))
      (when (length> broken 64)
        (todo-write-mcp--lose-program
         (car (seq-sort-by #'todo-write-program-broken #'< broken)))))
    ;; A killed process closes its files before its id is free.
    (run-with-timer 0.2 nil #'todo-write-mcp--check-programs)))

(defun todo-write-mcp--forget-program (program)
  "Forget PROGRAM; return the keys of its threads."
  (remhash (cons (todo-write-program-remote program)
                 (plist-get (todo-write-program-hello program) :id))
           todo-write-program-all)
  (prog1 (mapcar #'car (todo-write-program-sessions program))
    (setf (todo-write-program-sessions program) nil)))

(defun todo-write-mcp--end-program (program reason ending)
  "End the sessions of PROGRAM for REASON, and forget it.
ENDING is as for `todo-write-end-turn'."
  (todo-write-mcp--end-sessions (todo-write-mcp--forget-program program) "ended" reason ending))

(defun todo-write-mcp--lose-program (program)
  "Pause the plans of PROGRAM, which has had no connection for a while.
Its agents may work on; they go on with their plans when it is back."
  (let ((reason (if (todo-write-program-remote program)
                    (format "no connection to %s" (todo-write-program-remote program))
                  "not connected for a minute")))
    (todo-write-socket-each
     (lambda (thread)
       (when (and (not (todo-write-program-serving thread))
                  (todo-write-restore thread))
         (todo-write-mcp--report thread "lost" reason)))
     (todo-write-mcp--forget-program program))))

(defun todo-write-mcp--end-sessions (threads word reason &optional ending)
  "Report of THREADS, which no program serves, WORD, REASON and ENDING.
See `todo-write-dyn--report-program'."
  (todo-write-socket-each
   (lambda (thread)
     ;; Another program may have begun to.
     (unless (todo-write-program-serving thread)
       (todo-write-mcp--end-session thread word reason ending)))
   threads))

(defun todo-write-mcp--end-session (thread word reason ending)
  "Report of THREAD, which no program serves, WORD, REASON and ENDING."
  ;; The user may have deleted it.
  (when (todo-write-restore thread)
    (todo-write-mcp--report thread word reason ending)))

(defun todo-write-mcp--check-programs ()
  "Check all programs; stop the timer if none serves a session."
  (let ((programs (hash-table-values todo-write-program-all)))
    (if (seq-some #'todo-write-program-sessions programs)
        (todo-write-socket-each #'todo-write-mcp--check-program programs)
      (when todo-write-mcp--timer
        (cancel-timer todo-write-mcp--timer)
        (setq todo-write-mcp--timer nil)))))

(defun todo-write-mcp--check-program (program)
  "End the sessions of PROGRAM if it is dead, and note those that are quiet."
  (let ((broken (todo-write-program-broken program)))
    (cond
     ;; A program that reports what its agent does needs no guess.
     ((and (null broken) (todo-write-program-reports-activity program)))
     ((null broken)
      (pcase-dolist (`(,thread . ,time) (copy-sequence (todo-write-program-sessions program)))
        (let ((quiet (- (float-time) time)))
          (cond
           ((> quiet todo-write-mcp-quiet)
            (todo-write-mcp--forget-session program thread)
            (todo-write-mcp--report thread "lost" "no call for a while"))
           ((> quiet todo-write-mcp-silence)
            ;; Its time goes on: nothing says that it stopped.
            (todo-write-mcp--report thread "unknown"))))))
     ((when-let* ((process (todo-write-program-pid program)))
        (eq 'dead (todo-write-core-call todo-write-dyn--process-state process nil)))
      (todo-write-mcp--end-program program "agent exited" 'killed))
     ;; A tunnel may have been cut, or `todo-write-mcp-mode' switched off.
     ((> (- (float-time) broken) todo-write-mcp-silence)
      (todo-write-mcp--lose-program program)))))

(todo-write-socket-define-role "tool" #'todo-write-mcp--receive)
(todo-write-socket-define-role "plan" #'todo-write-mcp--receive)

(provide 'todo-write-mcp)
;;; todo-write-mcp.el ends here
