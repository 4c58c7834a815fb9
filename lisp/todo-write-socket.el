;;; todo-write-socket.el --- The socket for agents' programs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The only way for other programs to reach this package: a Unix socket that only
;; the user can open, and one JSON object a line each way, as doc/protocol.md
;; describes.  The hub serves it: it checks, parses and bounds what programs send, so
;; that nothing of that is evaluated, interned or taken as a file name, and Emacs waits
;; for no program.  This file passes whole messages to the functions of the programs'
;; roles, see `todo-write-socket--roles', and whole answers back.  It also says what the
;; agent of a program is called, which thread is that of a call, and in which project the
;; agent works.
;;
;; `todo-write-agents-mode' opens and closes the socket.

;;; Code:

(require 'todo-write-agent)
(require 'todo-write-hub)

(defcustom todo-write-socket nil
  "File name of the socket by which agents' programs reach this Emacs.
nil is todo-write/socket in /run/user/UID if you have such a folder, else
/tmp/todo-write-UID/socket.  The socket's folder must be yours alone, with
mode 0700, and is made if it is missing.  After a change, switch
`todo-write-agents-mode' off and on, and repeat `todo-write-setup', which
gives the programs the new name."
  :group 'todo-write
  :type '(choice (const :tag "The usual file" nil) file)
  :package-version '(todo-write . "0.2.0"))

(defcustom todo-write-follow-agents
  (list (cons 'claude (todo-write-core-agent-folder 'claude))
        (cons 'codex (todo-write-core-agent-folder 'codex)))
  "Agents whose sessions are followed, as a list of (AGENT . FOLDER).
AGENT is `claude' for Claude Code or `codex' for Codex; FOLDER is its
folder of settings and sessions.  An agent may have several folders.
You can answer Codex in Emacs, too: the daemon that it has started in such
a folder is asked, if only you can reach its socket, and none is started;
in the first four folders on each machine, and after a change once
`todo-write-agents-mode' was switched off and on.
A remote folder is that of an agent on another machine, in place of the
usual ones there; see `todo-write-connect'."
  :type '(repeat (cons (choice (const :tag "Claude Code" claude) (const :tag "Codex" codex))
                       directory))
  :group 'todo-write
  :package-version '(todo-write . "0.2.0"))

(defvar todo-write-socket--roles nil
  "Alist of the roles of programs, strings, and functions.
A function is called with a program of that role and a message, a plist
as in doc/protocol.md.  Its `:type' is \"hello\" when the connection
begins, and \"closed\" when it has ended.  Each `call' must
be answered, at once or later, by `todo-write-socket-answer'.")

(defun todo-write-socket-define-role (role function)
  "Let FUNCTION handle the messages of programs that have ROLE, a string."
  (setf (alist-get role todo-write-socket--roles nil nil #'equal) function))

(cl-defstruct (todo-write-socket-program
               (:constructor todo-write-socket--make-program) (:copier nil))
  "A program that serves an agent, by one connection.
ID is the number of that, HELLO its first message, and REMOTE the name of
the machine on which the program runs, or nil for this one.  ENDED is
non-nil once the connection has closed, or the program said goodbye: the
time of the former.  SESSIONS is an alist of the threads that it serves
and the times of their last calls.  REPORTS-ACTIVITY is non-nil if it
reports what its agent does.  If it connects again, the next one gets the
last two."
  id hello remote ended sessions reports-activity)

(defvar todo-write-socket-programs nil
  "The programs that are connected, and those that may come back.")

(defvar todo-write-socket-wanted nil
  "Non-nil while the socket is open, or is opened as soon as that is possible.")

(defvar todo-write-socket--shown nil
  "Sentences that the user was shown in this session.")

(defvar todo-write-socket-outdated-programs nil
  "Why programs that connected must be set up again, a list of phrases.")

;;; Opening and closing

(defun todo-write-socket-open ()
  "Accept connections, or become a client of the Emacs that does.
A message says which, or why the socket cannot be opened safely."
  (unless (todo-write-socket-state)
    (todo-write-hub-ensure)
    (todo-write-hub-tell
     nil `(door (:welcome ,(todo-write-socket-welcome)
                 :socket ,(and todo-write-socket (expand-file-name todo-write-socket))
                 :codex ,(cl-loop for (agent . folder) in todo-write-follow-agents
                                  when (and (eq agent 'codex) (not (file-remote-p folder)))
                                  vconcat (list (expand-file-name folder)))))))
  (setq todo-write-socket-wanted t)
  (add-hook 'todo-write-hub-functions #'todo-write-socket--receive)
  (add-hook 'todo-write-hub-begin-hook #'todo-write-socket--open-again))

(defun todo-write-socket-welcome ()
  "Return what programs are told of this Emacs, a plist."
  (list :version todo-write-version :process (emacs-pid)))

(defun todo-write-socket--open-again ()
  "Open the socket of a hub that has begun in place of an earlier one."
  (mapc #'todo-write-socket--close todo-write-socket-programs)
  ;; This is a hook: its other functions are called in any case.
  (with-demoted-errors "todo-write: %S"
    (todo-write-socket-open)))

(defun todo-write-socket-close ()
  "Close the socket and all connections."
  (setq todo-write-socket-wanted nil)
  (remove-hook 'todo-write-hub-begin-hook #'todo-write-socket--open-again)
  (remove-hook 'todo-write-hub-functions #'todo-write-socket--receive)
  (when (todo-write-hub-live-p)
    (todo-write-hub-tell nil '(door nil)))
  (mapc #'todo-write-socket--close todo-write-socket-programs))

(defun todo-write-socket-state ()
  "Return `open' if programs reach this Emacs, `client' if another, or nil."
  (pcase (todo-write-socket-door)
    ("open" 'open)
    (`(client . ,_) 'client)))

(defun todo-write-socket-reached-p (machine)
  "Return non-nil if programs on MACHINE, a name, reach this Emacs.
MACHINE is nil for this one."
  (if machine
      (and todo-write-socket-wanted
           (todo-write-machines-reached-p machine))
    (eq 'open (todo-write-socket-state))))

(defun todo-write-socket-door ()
  "Return the state of the socket as from `todo-write-dyn--door-state'."
  ;; That of an opening that was taken back may be told late.
  (and todo-write-socket-wanted (todo-write-hub-live-p)
       (todo-write-core-call todo-write-dyn--door-state)))

;;; Messages

(defun todo-write-socket--receive (news)
  "Handle NEWS as from `todo-write-dyn--feed' if it is of a socket."
  (pcase news
    (`(door ,event) (todo-write-socket--take nil event))
    ;; It may wait while the connection of its machine is lost.
    ((and `(door-there ,machine ,event) (guard (todo-write-socket-reached-p machine)))
     (todo-write-socket--take machine event))))

(defun todo-write-socket--take (machine event)
  "Handle EVENT at the socket of MACHINE, a name, or nil for this one."
  (pcase event
    ((and `(message ,id ,message) (guard (equal "hello" (plist-get message :type))))
     (push (todo-write-socket--make-program :id id :remote machine :hello message)
           todo-write-socket-programs)
     (todo-write-socket--pass (car todo-write-socket-programs) message))
    (`(state ,state) (todo-write-socket--show-state machine state))
    ("outdated"
     (let ((reason (concat (and machine (format "on %s " machine))
                           "is not of the same version as todo-write")))
       (cl-pushnew reason todo-write-socket-outdated-programs :test #'equal)
       (todo-write-socket-show-once
        "An agent's todo-write-mcp %s; run M-x todo-write-setup again" reason)))
    (`(,_ ,id . ,said)
     (when-let* ((program
                  (seq-find (lambda (program)
                              (and (eql id (todo-write-socket-program-id program))
                                   (equal machine (todo-write-socket-program-remote program))
                                   (todo-write-socket-live-p program)))
                            todo-write-socket-programs)))
       (if said (todo-write-socket--pass program (car said))
         (todo-write-socket--close program))))))

(defun todo-write-socket--close (program)
  "Note that the connection of PROGRAM has closed, and tell its roles.
It is forgotten unless it serves sessions."
  (when (todo-write-socket-live-p program)
    (setf (todo-write-socket-program-ended program) (float-time))
    (todo-write-socket--pass program '(:type "closed"))
    (unless (todo-write-socket-program-sessions program)
      (setq todo-write-socket-programs (delq program todo-write-socket-programs)))))

(defun todo-write-socket-lose (machine)
  "Close the connections from MACHINE, which is not connected any more."
  (dolist (program todo-write-socket-programs)
    (when (equal machine (todo-write-socket-program-remote program))
      (todo-write-socket--close program))))

(defun todo-write-socket--pass (program message)
  "Pass MESSAGE to the functions of PROGRAM's roles, a call to that of its role."
  (dolist (role (if-let* ((role (plist-get message :role))) (list role)
                  (plist-get (todo-write-socket-program-hello program) :roles)))
    (condition-case err
        (funcall (cdr (assoc role todo-write-socket--roles)) program message)
      ;; A wait for a file may be quit; nothing more is read before a call is answered.
      ((error quit)
       (if (equal (plist-get message :type) "call")
           (todo-write-socket-answer program message nil (error-message-string err))
         (display-warning 'todo-write (error-message-string err)))))))

(defun todo-write-socket-answer (program call ok text &optional decision)
  "Answer CALL, a message of PROGRAM, with TEXT.
OK is nil for an error.  DECISION is a decision of doc/protocol.md, a
plist, or nil.  Return nil if the connection has closed."
  (when (todo-write-socket-live-p program)
    (todo-write-hub-tell
     (todo-write-socket-program-remote program)
     `(answer ,(todo-write-socket-program-id program)
              (:call ,(plist-get call :call) :ok ,ok :text ,(todo-write-core-plain text)
               :decision ,decision)))
    t))

(defun todo-write-socket-live-p (program)
  "Return non-nil if the connection of PROGRAM is open, as far as that is known."
  (not (numberp (todo-write-socket-program-ended program))))

;;; Programs

(defun todo-write-socket-pid (program)
  "Return the process id of PROGRAM, or nil if it runs elsewhere.
That is on another machine, or in a container."
  (let ((hello (todo-write-socket-program-hello program)))
    (and (not (todo-write-socket-program-remote program))
         (not (plist-get hello :elsewhere))
         (plist-get hello :process))))

;;; Its agent

(defun todo-write-socket--known (program)
  "Return what is known of the agent of PROGRAM, as from the module, or nil."
  (todo-write-core-call todo-write-dyn--program
    (todo-write-socket--hello-string program :client)))

(defun todo-write-socket-client (program)
  "Return the name of the agent of PROGRAM that users read."
  (or (plist-get (todo-write-socket--known program) :label)
      (todo-write-socket-key-part (todo-write-socket--hello-string program :client))))

(defun todo-write-socket-in-agent-p (program)
  "Return non-nil if PROGRAM lives in its agent and reports all its sessions."
  (member "plan" (plist-get (todo-write-socket-program-hello program) :roles)))

(defun todo-write-socket--hello-string (program key)
  "Return the string KEY in the greeting of PROGRAM, or an empty one."
  (or (plist-get (todo-write-socket-program-hello program) key) ""))

(defun todo-write-socket-key-part (text)
  "Return TEXT, which a client sent, as a part of a thread key."
  (truncate-string-to-width
   ;; There are letters without any width.
   (replace-regexp-in-string "[^[:alnum:]._-]" "-" (substring text 0 (min 100 (length text))))
   100))

;;; Threads

(defun todo-write-socket-thread (program call)
  "Return the key of the thread of CALL of PROGRAM.
It begins with the machine that the program is on.  Each process of a
client that does not name its session has its own thread."
  (pcase-let* ((session (plist-get call :session))
               ((map :process :started) (todo-write-socket-program-hello program))
               ((map :name :resume) (todo-write-socket--known program))
               (remote (todo-write-socket-program-remote program)))
    (concat remote (and remote "/")
            (if (and session resume) name
              (concat "mcp:" (todo-write-socket-key-part
                              (todo-write-socket--hello-string program :client))))
            ":" (if session (todo-write-socket-key-part session)
                  (format "%s-%s" process started)))))

(defun todo-write-socket-serving (thread)
  "Return the program that serves THREAD, or nil."
  (seq-find (lambda (program) (assoc thread (todo-write-socket-program-sessions program)))
            todo-write-socket-programs))

;;; Projects

(defun todo-write-socket-project (program)
  "Return the root of the project in which the agent of PROGRAM works.
The program sent the name, so it is never treated as a remote file.  On
another machine, it is the folder that the program names there, to which
the hub gave the machine's prefix; no file is looked up."
  (let ((folder (todo-write-socket--hello-string program :project))
        (root (plist-get (todo-write-socket-program-hello program) :root))
        (remote (todo-write-socket-program-remote program))
        file-name-handler-alist)
    (cond ((null remote) (if root (file-name-as-directory root) (expand-file-name "~/")))
          ((string-empty-p folder) (concat (todo-write-machines-prefix remote) "/"))
          (t (concat (string-remove-suffix "/" folder) "/")))))

;;; What the user is told

(defun todo-write-socket-show-once (format &rest args)
  "Show the user the sentence of FORMAT and ARGS, once in a session.  Return nil."
  (let ((text (apply #'format-message format args)))
    (unless (member text todo-write-socket--shown)
      (setq todo-write-socket--shown (seq-take (cons text todo-write-socket--shown) 1000))
      (message "%s" text)
      nil)))

(defun todo-write-socket--show-state (machine state)
  "Show the user the new STATE of the socket of MACHINE, as from the module."
  (pcase state
    ("open" (when (or machine todo-write-socket--shown)
              (message "Agents%s write their plans in this Emacs now"
                       (if machine (concat " on " machine) ""))))
    ((and `(client . ,_) (guard machine))
     (todo-write-socket-show-once
      "Agents on %s write their plans in another Emacs; their sessions are followed" machine))
    (`(client ,process)
     (todo-write-socket-show-once
      "The Emacs with process %s shows the plans of agents; this one takes over when that ends"
      process))
    (`(failed ,text)
     (display-warning 'todo-write (concat machine (and machine ": ")
                                          (todo-write-text-line text 400))))))

(provide 'todo-write-socket)
;;; todo-write-socket.el ends here
