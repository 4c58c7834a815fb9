;;; todo-write-program.el --- The programs that serve agents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A program outside of Emacs serves an agent, and says hello when it connects; see
;; todo-write-socket.el.  This file says what its agent is called, which thread is that
;; of a call, how that is titled, and in which project the agent works.

;;; Code:

(require 'todo-write)
(require 'todo-write-agents)
(require 'todo-write-follow-sessions)
(require 'todo-write-hub)
(require 'todo-write-machines)
(require 'todo-write-socket)

(cl-defstruct (todo-write-program (:constructor todo-write-program-make)
                                  (:copier nil))
  "A program that serves an agent.
HELLO is its last greeting, CONNECTION its connection, and BROKEN the time
when that closed without a goodbye, or nil.  SESSIONS is an alist of the
threads that it serves and the times of their last calls.  REPORTS-ACTIVITY
is non-nil if it reports what its agent does.  ANNOUNCED are the calls of
todo_write that a program that lives in its agent has announced, oldest
first, as (TIME . CALL); see `todo-write-mcp--announce'."
  hello connection broken sessions reports-activity announced)

(defun todo-write-program-of (connection)
  "Return the program of CONNECTION, which serves no session."
  (todo-write-program-make :hello (todo-write-socket-connection-hello connection)
                           :connection connection))

(defvar todo-write-program-all (make-hash-table :test #'equal)
  "The programs that serve agents, by (MACHINE . ID); ID is random.")

;;; Its machine and process

(defun todo-write-program-remote (program)
  "Return the name of the machine of PROGRAM, or nil for this one."
  (todo-write-socket-connection-remote (todo-write-program-connection program)))

(defun todo-write-program-pid (program)
  "Return the process id of PROGRAM, or nil if it runs elsewhere.
That is on another machine, or in a container."
  (let ((hello (todo-write-program-hello program)))
    (and (not (todo-write-program-remote program))
         (not (plist-get hello :elsewhere))
         (plist-get hello :process))))

;;; Its agent

(defun todo-write-program-client (program)
  "Return the name of the agent of PROGRAM that users read."
  (let ((name (todo-write-program-hello-string program :client)))
    (or (cadr (todo-write-agents-of-client name))
        (todo-write-program-key-part name))))

(defun todo-write-program-prefix (program)
  "Return the prefix of the keys of PROGRAM's threads, or nil.
Only an agent whose transcripts can be followed has one."
  (let ((name (car (todo-write-agents-of-client
                    (todo-write-program-hello-string program :client)))))
    (and (todo-write-agents-resume name) name)))

(defun todo-write-program-in-agent-p (program)
  "Return non-nil if PROGRAM lives in its agent and reports all its sessions."
  (member "plan" (plist-get (todo-write-program-hello program) :roles)))

(defun todo-write-program-hello-string (program key)
  "Return the string KEY in the greeting of PROGRAM, or an empty one."
  (or (plist-get (todo-write-program-hello program) key) ""))

(defun todo-write-program-key-part (text)
  "Return TEXT, which a client sent, as a part of a thread key."
  (truncate-string-to-width
   ;; There are letters without any width.
   (replace-regexp-in-string "[^[:alnum:]._-]" "-" (substring text 0 (min 100 (length text))))
   100))

;;; Threads

(defun todo-write-program-thread (program call)
  "Return the key of the thread of CALL of PROGRAM.
It begins with the machine that the program is on.  Each process of a
client that does not name its session has its own thread."
  (let* ((client (todo-write-program-key-part (todo-write-program-hello-string program :client)))
         (session (plist-get call :session))
         (session (and session (todo-write-program-key-part session)))
         (hello (todo-write-program-hello program))
         (prefix (todo-write-program-prefix program)))
    (todo-write-machines-key
     (todo-write-program-remote program)
     (cond
      ((and session prefix) (concat prefix ":" session))
      (session (format "mcp:%s:%s" client session))
      (t (format "mcp:%s:%s-%s" client (plist-get hello :process) (plist-get hello :started)))))))

(defun todo-write-program-serving (thread)
  "Return the program that serves THREAD, or nil."
  (cl-loop for program being the hash-values of todo-write-program-all
           when (assoc thread (todo-write-program-sessions program))
           return program))

;;; Titles

(defun todo-write-program-set-title (thread found)
  "Give THREAD the title FOUND, unless it has one.
If FOUND is nil, name the agent and the project until its host tells one."
  (when (member thread (todo-write-threads-loaded))
    (let* ((title (plist-get (todo-write-summary thread) :title))
           (program (todo-write-program-serving thread))
           (name (and program
                      (format "%s in %s" (todo-write-program-client program)
                              (let (file-name-handler-alist)
                                (file-name-nondirectory
                                 (directory-file-name (todo-write-program-project program))))))))
      (when (or (and found (member title (list nil name)))
                (and name (null title)))
        (todo-write-observe thread "TITLE" (or found name))))))

;;; Projects

(defun todo-write-program-project (program)
  "Return the root of the project in which the agent of PROGRAM works.
The program sent the name, so it is never treated as a remote file.  On
another machine, it is the folder that the program names there, to which
the hub gave the machine's prefix; no file is looked up."
  (let ((folder (todo-write-program-hello-string program :project))
        (root (plist-get (todo-write-program-hello program) :root))
        (remote (todo-write-program-remote program))
        file-name-handler-alist)
    (cond ((null remote) (if root (file-name-as-directory root) (expand-file-name "~/")))
          ((string-empty-p folder) (concat (todo-write-machines-prefix remote) "/"))
          (t (concat (string-remove-suffix "/" folder) "/")))))

(provide 'todo-write-program)
;;; todo-write-program.el ends here
