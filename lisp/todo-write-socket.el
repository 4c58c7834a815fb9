;;; todo-write-socket.el --- The socket for agents' programs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The only way for other programs to reach this package: a Unix socket that only
;; the user can open, and one JSON object a line each way, as doc/protocol.md
;; describes.  The hub serves it: it checks, parses and bounds what programs send, so
;; that nothing of that is evaluated, interned or taken as a file name, and Emacs waits
;; for no program.  This file passes whole messages to the functions of the programs'
;; roles, see `todo-write-socket--roles', and whole answers back.
;;
;; `todo-write-mcp-mode' opens and closes the socket.

;;; Code:

(require 'todo-write-core)
(require 'todo-write-hub)
(require 'todo-write-module)
(require 'todo-write-machines)
(require 'todo-write-text)

(defcustom todo-write-socket nil
  "File name of the socket by which agents' programs reach this Emacs.
nil is todo-write/socket in /run/user/UID if you have such a folder, else
/tmp/todo-write-UID/socket.  The socket's folder must be yours alone, with
mode 0700, and is made if it is missing.  After a change, switch
`todo-write-mcp-mode' off and on, and repeat `todo-write-mcp-setup', which
gives the programs the new name."
  :group 'todo-write-hosts
  :type '(choice (const :tag "The usual file" nil) file)
  :package-version '(todo-write . "0.2.0"))

(defcustom todo-write-socket-codex-folders (list (todo-write-core-agent-folder 'codex))
  "Folders of Codex whose questions you can answer in Emacs.
Emacs connects to the daemon that Codex has started in such a folder, if
only you can reach the socket of that, and starts none.  On a connected
machine, the folders there are used.  Only the first four folders
count on each machine.  nil answers Codex in its terminal
only, everywhere.  After a change, switch `todo-write-mcp-mode'
off and on."
  :group 'todo-write-hosts
  :type '(repeat directory)
  :package-version '(todo-write . "0.3.0"))

(defvar todo-write-socket--roles
  '(("check" . todo-write-socket--receive-check))
  "Alist of the roles of programs, strings, and functions.
A function is called with a connection of that role and a message, a
plist as from `todo-write-dyn--door-take'.  Its `:type' is `hello' when
the connection begins, and `closed' when it has ended.  Each `call' must
be answered, at once or later, by `todo-write-socket-answer'.")

(defun todo-write-socket-define-role (role function)
  "Let FUNCTION handle the messages of programs that have ROLE, a string."
  (setf (alist-get role todo-write-socket--roles nil nil #'equal) function))

(cl-defstruct (todo-write-socket-connection
               (:constructor todo-write-socket--make-connection) (:copier nil))
  "A connection of a program.
ID is its number, HELLO the program's first message, and REMOTE the name
of the machine on which that runs, or nil for this one."
  id hello remote)

(defvar todo-write-socket--connections nil
  "List of the connections.")

(defvar todo-write-socket-wanted nil
  "Non-nil while the socket is open, or is opened as soon as that is possible.")

(defvar todo-write-socket--shown nil
  "Sentences that the user was shown in this session.")

(defvar todo-write-socket-outdated-programs nil
  "Why programs that connected must be set up again, a list of phrases.")

;;; Opening and closing

(defun todo-write-socket-file ()
  "Return the name of the socket's file."
  (let ((file-name-handler-alist nil)
        (run (format "/run/user/%d" (user-uid))))
    (cond (todo-write-socket (expand-file-name todo-write-socket))
          ;; Tests are kept apart from this machine.
          ((getenv "TODO_WRITE_SANDBOX") (concat (getenv "TODO_WRITE_SANDBOX") "/socket"))
          ((let ((attributes (file-attributes run 'integer)))
             (and (eq t (file-attribute-type attributes))
                  (eql (file-attribute-user-id attributes) (user-uid))
                  (zerop (logand (file-modes run 'nofollow) #o077))))
           (concat run "/todo-write/socket"))
          (t (format "/tmp/todo-write-%d/socket" (user-uid))))))

(defun todo-write-socket-open ()
  "Accept connections, or become a client of the Emacs that does.
Signal `todo-write-error' if the socket cannot be opened safely."
  (unless (todo-write-socket-state)
    (todo-write-hub-ensure)
    (todo-write-core-call todo-write-dyn--door-open
      (todo-write-socket-file) emacs-version (emacs-pid)
      (mapcar #'expand-file-name
              (seq-remove #'file-remote-p todo-write-socket-codex-folders))))
  (setq todo-write-socket-wanted t)
  (add-hook 'todo-write-hub-call-functions #'todo-write-socket--receive)
  (add-hook 'todo-write-hub-begin-hook #'todo-write-socket--open-again))

(defun todo-write-socket--open-again ()
  "Open the socket of a hub that has begun in place of an earlier one."
  (when todo-write-socket-wanted
    (mapc #'todo-write-socket--closed todo-write-socket--connections)
    ;; This is a hook: its other functions are called in any case.
    (with-demoted-errors "todo-write: %S"
      (todo-write-socket-open))))

(defun todo-write-socket-close ()
  "Close the socket and all connections."
  (setq todo-write-socket-wanted nil)
  (remove-hook 'todo-write-hub-begin-hook #'todo-write-socket--open-again)
  (remove-hook 'todo-write-hub-call-functions #'todo-write-socket--receive)
  (when (todo-write-hub-live-p)
    (todo-write-core-call todo-write-dyn--door-close))
  (mapc #'todo-write-socket--closed todo-write-socket--connections))

(defun todo-write-socket-state ()
  "Return `open' if programs reach this Emacs, `client' if another, or nil."
  (let ((state (plist-get (todo-write-socket--door) :state)))
    (and (memq state '(open client)) state)))

(defun todo-write-socket-reached-p (machine)
  "Return non-nil if programs on MACHINE, a name, reach this Emacs.
MACHINE is nil for this one."
  (if machine
      (and todo-write-socket-wanted
           (todo-write-machines-reached-p machine))
    (eq 'open (todo-write-socket-state))))

(defun todo-write-socket-first-pid ()
  "Return the process id of the Emacs that has the socket, if known."
  (plist-get (todo-write-socket--door) :process))

(defun todo-write-socket--door ()
  "Return the state of the socket as from `todo-write-dyn--door-state'."
  (and (todo-write-hub-live-p)
       (todo-write-core-call todo-write-dyn--door-state)))

;;; Messages

(defun todo-write-socket--receive (message)
  "Handle MESSAGE, a plist as from `todo-write-dyn--door-take'."
  (let ((id (plist-get message :connection))
        (machine (plist-get message :machine)))
    (pcase (plist-get message :type)
      ;; A message of a machine may wait while its connection is lost.
      ((guard (not (or (null machine) (todo-write-socket-reached-p machine)))))
      ('hello (let ((connection (todo-write-socket--make-connection
                                 :id id :remote machine :hello message)))
                (push connection todo-write-socket--connections)
                (todo-write-socket--pass connection message)))
      ('state (todo-write-socket--show-state message))
      ('outdated
       (let ((reason (concat (and machine (format "on %s " machine))
                             "is not of the same version as todo-write")))
         (cl-pushnew reason todo-write-socket-outdated-programs :test #'equal)
         (todo-write-socket--show-once
          "An agent's todo-write-mcp %s; run M-x todo-write-mcp-setup again" reason)))
      (type
       (when-let* ((connection
                    (seq-find (lambda (connection)
                                (and (eql id (todo-write-socket-connection-id connection))
                                     (equal machine
                                            (todo-write-socket-connection-remote connection))))
                              todo-write-socket--connections)))
         (if (eq type 'closed)
             (todo-write-socket--closed connection)
           (todo-write-socket--pass connection message)))))))

(defun todo-write-socket--closed (connection)
  "Forget CONNECTION, which was closed, and tell the functions of its roles."
  (setq todo-write-socket--connections (delq connection todo-write-socket--connections))
  (todo-write-socket--pass connection '(:type closed)))

(defun todo-write-socket-lose (machine)
  "Forget the connections from MACHINE, which is not connected any more."
  (dolist (connection todo-write-socket--connections)
    (when (equal machine (todo-write-socket-connection-remote connection))
      (todo-write-socket--closed connection))))

(defun todo-write-socket--pass (connection message)
  "Pass MESSAGE to the functions of CONNECTION's roles, a call to that of its role."
  (dolist (role (if-let* ((role (plist-get message :role))) (list role)
                  (plist-get (todo-write-socket-connection-hello connection) :roles)))
    (condition-case err
        (funcall (cdr (assoc role todo-write-socket--roles)) connection message)
      ;; A wait for a file may be quit; nothing more is read before a call is answered.
      ((error quit)
       (if (eq (plist-get message :type) 'call)
           (todo-write-socket-answer connection message nil (error-message-string err))
         (display-warning 'todo-write (error-message-string err)))))))

(defun todo-write-socket-answer (connection call ok text &optional decision)
  "Answer CALL, a message of CONNECTION, with TEXT.
OK is nil for an error.  DECISION is a plist as for `json-serialize', or
nil.  Return nil if the program has closed CONNECTION."
  (todo-write-core-call todo-write-dyn--door-answer
    (todo-write-socket-connection-remote connection) (todo-write-socket-connection-id connection)
    (plist-get call :call) ok
    (todo-write-socket-unicode text) (and decision (json-serialize decision))))

(defun todo-write-socket-live-p (connection)
  "Return non-nil if CONNECTION is open, as far as that is known."
  (if (todo-write-socket-connection-remote connection)
      (memq connection todo-write-socket--connections)
    (todo-write-core-call todo-write-dyn--door-live-p (todo-write-socket-connection-id connection))))

(defun todo-write-socket-unicode (text)
  "Return TEXT with characters replaced that JSON cannot represent."
  (if (= (length text) (string-bytes text))
      text
    ;; Folding the case of so many characters takes milliseconds.
    (let (case-fold-search)
      (replace-regexp-in-string "[^\0-\ud7ff\ue000-\U0010ffff]" "?" text))))

(defun todo-write-socket--receive-check (connection message)
  "Answer MESSAGE of CONNECTION, whose program only checks the connection."
  (when (eq (plist-get message :type) 'call)
    (todo-write-socket-answer
     connection message t (format "Emacs %s, process %d, answers with todo-write %s."
                                  emacs-version (emacs-pid) todo-write-version))))

(defun todo-write-socket-each (function list)
  "Call FUNCTION with each element of LIST, in slices of 8 ms.
Between these, Emacs reads keys.  An error with one of them does not stop
the others."
  (let ((end (+ (float-time) 0.008)))
    (while (and list (< (float-time) end))
      (condition-case-unless-debug err
          (funcall function (pop list))
        (error (display-warning 'todo-write (todo-write-core-error-text err)))))
    (when list
      (run-at-time 0.002 nil #'todo-write-socket-each function list))))

;;; What the user is told

(defun todo-write-socket--show-once (format &rest args)
  "Show the user the sentence of FORMAT and ARGS, once in a session."
  (let ((text (apply #'format-message format args)))
    (unless (member text todo-write-socket--shown)
      (push text todo-write-socket--shown)
      (message "%s" text))))

(defun todo-write-socket--show-state (message)
  "Show the user the new state of the socket in MESSAGE."
  (let ((machine (plist-get message :machine)))
    (pcase (plist-get message :state)
      ('open (message "Agents%s write their plans in this Emacs now"
                      (if machine (concat " on " machine) "")))
      ('client
       (if machine
           (todo-write-socket--show-once
            "Agents on %s write their plans in another Emacs; their sessions are followed" machine)
         (todo-write-socket--show-once
          "Agents write their plans in the Emacs with process %s; this one takes over when that ends"
          (plist-get message :process))))
      ('failed (display-warning 'todo-write
                                (concat (and machine (concat machine ": "))
                                        (todo-write-text-line (plist-get message :text) 400)))))))

(provide 'todo-write-socket)
;;; todo-write-socket.el ends here
