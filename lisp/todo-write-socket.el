;;; todo-write-socket.el --- The socket for agents' programs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The only way for other programs to reach this package: a Unix socket that only
;; the user can open, and one JSON object a line each way, as doc/protocol.md
;; describes.  The module parses the lines, so that nothing in them is evaluated,
;; interned or taken as a file name.  This file keeps the connections; what a
;; message means depends on the role of the program, see `todo-write-socket--roles'.
;;
;; Programs may send at any rate.  So nothing more of a connection is read until what was
;; read is answered, and all of this is done in slices, between which Emacs reads keys.
;;
;; `todo-write-mcp-mode' opens and closes the socket.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'todo-write-core)
(require 'todo-write-events)

(autoload 'todo-write-mcp--receive "todo-write-mcp")
(autoload 'todo-write-note--receive "todo-write-note")
(autoload 'todo-write-permission--receive "todo-write-permission")
(autoload 'todo-write-remote-socket--open "todo-write-remote-socket")
(declare-function todo-write-remote-socket--close "todo-write-remote-socket")
(declare-function todo-write-remote-socket--challenge "todo-write-remote-socket")
(declare-function todo-write-remote-socket--proof "todo-write-remote-socket")
(defvar todo-write-remotes)

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

(defconst todo-write-socket--protocol 1
  "The version of the protocol.")

(defconst todo-write-socket--line-limit (ash 1 20)
  "Maximum size of a line in bytes.")

(defconst todo-write-socket--incomplete-limit (ash 1 24)
  "Maximum size of all incomplete lines in bytes.
Small ones of less than a hundredth of it do not count.")

(defconst todo-write-socket--connection-limit 200
  "Maximum number of connections from a machine; more are refused.")

(defconst todo-write-socket--full "Too many programs are connected to this Emacs."
  "What a program hears beyond that number.")

(defconst todo-write-socket--unproven-limit 20
  "Maximum number of connections to a port without a proof.
For more, the oldest ones are closed.")

(defconst todo-write-socket--timeout 10
  "Seconds that a connection has for its first line.")

(defconst todo-write-socket--slice 0.008
  "Seconds for which messages are handled before Emacs reads keys again.")

(defconst todo-write-socket--send-limit 0.05
  "Seconds after which a program that does not read is disconnected.")

(defvar todo-write-socket--roles
  '(("tool" . todo-write-mcp--receive)
    ("permission" . todo-write-permission--receive)
    ("note" . todo-write-note--receive)
    ("check" . todo-write-socket--receive-check))
  "Alist of the roles of programs, strings, and functions.
A function is called with a connection of that role and a message, a
plist as from `todo-write-dyn--socket-parse'.  Its `:type' is `hello' when
the connection begins, and `closed' when it has ended.  Each `call' must
be answered, at once or later, by `todo-write-socket--answer'.")

(cl-defstruct (todo-write-socket--connection
               (:constructor todo-write-socket--make-connection) (:copier nil))
  "A connection of a program.
PROCESS is the network process, and HELLO the program's first message.
REMOTE is the name of the machine on whose listener it came in, or nil for
this one, and NONCE the challenge to a program on a TCP port.  SKEW is
how many milliseconds its clock is behind this one's.  CHUNKS are the
pieces of an incomplete line, the last one first, and SIZE is their size.
TEXT was read after them, and is handled up to START.  BUSY is non-nil
until no line of it is left.  TIMER closes a connection without a hello."
  process remote nonce hello (skew 0) chunks (size 0) (text "") (start 0) busy timer)

(defvar todo-write-socket--listener nil
  "The process that accepts connections, or nil.")

(defvar todo-write-socket--first nil
  "The connection to the Emacs that has the socket, or nil.
When it closes, this Emacs takes over.")

(defvar todo-write-socket--connections nil
  "List of the connections.")

(defvar todo-write-socket--shown nil
  "Sentences that the user was shown in this session.")

;;; The file

(defun todo-write-socket--file ()
  "Return the name of the socket's file."
  (let ((file-name-handler-alist nil)
        (run (format "/run/user/%d" (user-uid))))
    (cond (todo-write-socket (expand-file-name todo-write-socket))
          ((todo-write--sandbox) (concat (todo-write--sandbox) "/socket"))
          ((todo-write-socket--ours-p run) (concat run "/todo-write/socket"))
          (t (format "/tmp/todo-write-%d/socket" (user-uid))))))

(defun todo-write-socket--ours-p (file &optional socket)
  "Return non-nil if FILE is a folder that only this user can use.
With SOCKET non-nil, it must be a socket.  Links are not followed."
  (let ((attributes (file-attributes file 'integer)))
    (and attributes
         (equal (substring (file-attribute-modes attributes) 0 1) (if socket "s" "d"))
         (eql (file-attribute-user-id attributes) (user-uid))
         (zerop (logand (file-modes file 'nofollow) #o077)))))

(defun todo-write-socket--folder-p (file)
  "Return non-nil if FILE is a folder and not a link to one."
  (eq t (file-attribute-type (file-attributes file))))

(defun todo-write-socket--prepare (file)
  "Make the folder of the socket FILE; signal `todo-write-error' if it is unsafe."
  (let ((folder (directory-file-name (file-name-directory file))))
    (unless (featurep 'make-network-process '(:family local))
      (todo-write-module--error "This system has no Unix sockets"))
    (when (>= (string-bytes file) 100)
      (todo-write-module--error "The socket's name %s is 100 bytes or longer; set todo-write-socket"
                                file))
    (unless (file-attributes folder)
      (condition-case err
          (with-file-modes #o700 (make-directory folder t))
        (file-error (todo-write-module--error "%s" (error-message-string err)))))
    (unless (todo-write-socket--ours-p folder)
      (todo-write-module--error "The folder %s must be yours alone, with mode 0700" folder))
    (when (and (file-attributes file) (not (todo-write-socket--ours-p file t)))
      (todo-write-module--error "%s is not a socket of yours alone" file))))

(defun todo-write-socket--connect (file)
  "Return a process connected to the socket FILE, or nil if nothing listens."
  (when (file-attributes file)
    (ignore-error file-error
      (make-network-process :name "todo-write-first" :family 'local :service file
                            :coding 'binary :noquery t
                            :filter #'todo-write-socket--read-first
                            :sentinel #'todo-write-socket--first-changed))))

(defun todo-write-socket--delete-stale (file)
  "Delete the socket FILE, to which nothing listens."
  (when (file-attributes file)
    (let ((aside (format "%s.%d" file (emacs-pid))))
      (rename-file file aside t)
      ;; Another Emacs may have replaced the file since.
      (if-let* ((process (todo-write-socket--connect aside)))
          (progn (set-process-sentinel process #'ignore)
                 (delete-process process)
                 (rename-file aside file))
        (delete-file aside)))))

;;; Opening and closing

(defun todo-write-socket--open ()
  "Accept connections, or become a client of the Emacs that does.
Signal `todo-write-error' if the socket cannot be opened safely."
  (cond
   ((todo-write-socket--state))
   ((and (not (featurep 'make-network-process '(:family local)))
         (seq-some (lambda (remote) (plist-get (cdr remote) :port))
                   (bound-and-true-p todo-write-remotes)))
    (todo-write-remote-socket--open))
   (t
    (let ((file (todo-write-socket--file))
          (file-name-handler-alist nil))
      (todo-write-socket--prepare file)
      (if-let* ((first (todo-write-socket--connect file)))
          (todo-write-socket--greet first)
        (todo-write-socket--delete-stale file)
        (condition-case err
            (progn (setq todo-write-socket--listener (todo-write-socket--listen file))
                   (todo-write-socket--set-told file t)
                   (add-hook 'kill-emacs-hook #'todo-write-socket--close)
                   (when (bound-and-true-p todo-write-remotes)
                     (todo-write-remote-socket--open)))
          (file-error (todo-write-module--error "%s" (error-message-string err)))))))))

(defun todo-write-socket--listen (file &rest arguments)
  "Return a process that accepts connections to the new socket FILE.
FILE may be a port if ARGUMENTS, further ones of `make-network-process',
say so."
  (with-file-modes #o700
    (apply #'make-network-process
           :name "todo-write-socket" :server 64 :coding 'binary :noquery t
           :filter #'todo-write-socket--receive :sentinel #'todo-write-socket--changed
           (append arguments (list :family 'local :service file)))))

(defun todo-write-socket--close ()
  "Close the socket and all connections."
  (let ((listener todo-write-socket--listener))
    (setq todo-write-socket--listener nil)
    (remove-hook 'kill-emacs-hook #'todo-write-socket--close)
    (cancel-function-timers #'todo-write-socket--take-over)
    (when todo-write-socket--first
      (set-process-sentinel todo-write-socket--first #'ignore)
      (delete-process todo-write-socket--first)
      (setq todo-write-socket--first nil))
    (when (featurep 'todo-write-remote-socket)
      (todo-write-remote-socket--close))
    (when (process-live-p listener)
      (todo-write-socket--set-told (process-contact listener :service) nil)
      (todo-write-socket--end-listener listener))
    (dolist (connection todo-write-socket--connections)
      (delete-process (todo-write-socket--connection-process connection)))))

(defun todo-write-socket--end-listener (listener)
  "Delete the process LISTENER, and its socket."
  (let ((file (process-contact listener :service))
        (file-name-handler-alist nil))
    (delete-process listener)
    (when (stringp file)
      (ignore-errors (delete-file file)))))

(defun todo-write-socket--set-told (socket on)
  "Make the folder \"told\" beside SOCKET if ON is non-nil, else delete it.
It has the files of todo-write-note.el for the hooks of this machine.
Without it, they ask this Emacs each time.  Those of other machines always
do, since they could put links into a folder that this Emacs changes."
  (when (featurep 'todo-write-dyn)
    (todo-write--call todo-write-dyn--told-folder (file-name-directory socket) on)))

(defun todo-write-socket--state ()
  "Return `open' if programs reach this Emacs, `client' if another, or nil."
  (cond ((or (process-live-p todo-write-socket--listener)
             (bound-and-true-p todo-write-remote-socket--listeners))
         'open)
        ((process-live-p todo-write-socket--first) 'client)))

;;; A second Emacs

(defun todo-write-socket--first-pid ()
  "Return the process id of the Emacs that has the socket, if known."
  (and todo-write-socket--first (process-get todo-write-socket--first 'todo-write-pid)))

(defun todo-write-socket--greet (first)
  "Say hello to FIRST, the Emacs that has the socket."
  (setq todo-write-socket--first first)
  (ignore-errors
    (process-send-string
     first (todo-write-socket--line
            `(:type "hello" :role "check" :protocol ,todo-write-socket--protocol
              :id ,(format "emacs-%d" (emacs-pid))
              :version ,todo-write-version :process ,(emacs-pid))))))

(defun todo-write-socket--read-first (process chunk)
  "Read CHUNK, the greeting of the Emacs of PROCESS, and show the user its id."
  (when (string-match "\"process\":\\([0-9]+\\)" chunk)
    (process-put process 'todo-write-pid (string-to-number (match-string 1 chunk)))
    (todo-write-socket--show-once
     "Agents write their plans in the Emacs with process %s; this one takes over when that ends"
     (match-string 1 chunk))))

(defun todo-write-socket--first-changed (process _event)
  "Take over the socket if PROCESS, the connection to the first Emacs, closed.
An Emacs that refused this one still has the socket: try again later."
  (unless (process-live-p process)
    (setq todo-write-socket--first nil)
    (run-with-timer (if (process-get process 'todo-write-pid)
                        ;; Other Emacsen may take over, too.
                        (/ (random 200) 1000.0)
                      todo-write-socket--timeout)
                    nil #'todo-write-socket--take-over)))

(defun todo-write-socket--take-over ()
  "Open the socket after the Emacs that had it ended."
  (with-demoted-errors "todo-write: %S"
    (todo-write-socket--open)
    (when todo-write-socket--listener
      (message "Agents write their plans in this Emacs now"))))

;;; Slices

(defvar todo-write-socket--work nil
  "Functions that are called next, the first one first.")

(defvar todo-write-socket--slice-end nil
  "The end of the current slice, in seconds since the epoch.")

(defvar todo-write-socket--slice-timer nil
  "Timer that begins the next slice, or nil if the next work begins one.")

(defvar todo-write-socket--working nil
  "Non-nil while work is done.")

(defvar todo-write-socket--sending nil
  "Non-nil while a message is sent.")

(defun todo-write-socket--later (function)
  "Call FUNCTION after all other work."
  (setq todo-write-socket--work (nconc todo-write-socket--work (list function)))
  (todo-write-socket--begin-slice))

(defun todo-write-socket--do (function)
  "Call FUNCTION after all other work, now if the slice has time for it."
  (todo-write-socket--later function)
  (todo-write-socket--work-on))

(defun todo-write-socket--each (function list)
  "Call FUNCTION with each element of LIST, now as far as the slice has time.
An error with one of them does not stop the others."
  (when list
    (todo-write-socket--do (lambda ()
                             (todo-write-socket--each function (cdr list))
                             (funcall function (car list))))))

(defun todo-write-socket--begin-slice ()
  "Begin a slice unless there is one."
  (unless todo-write-socket--slice-timer
    (setq todo-write-socket--slice-end (+ (float-time) todo-write-socket--slice))
    (todo-write-socket--end-slice-soon)))

(defun todo-write-socket--end-slice-soon ()
  "Let the next slice begin after Emacs had time to read keys."
  (when todo-write-socket--slice-timer
    (cancel-timer todo-write-socket--slice-timer))
  (setq todo-write-socket--slice-timer
        (run-at-time (if todo-write-socket--sending 0.01 0.002) nil
                     #'todo-write-socket--next-slice)))

(defun todo-write-socket--next-slice ()
  "End the slice, and begin the next one if work is left."
  (setq todo-write-socket--slice-timer nil)
  (when todo-write-socket--work
    (todo-write-socket--begin-slice)
    ;; A timer runs while the work of the earlier slice waits for input, too.
    (let (todo-write-socket--working)
      (todo-write-socket--work-on))))

(defun todo-write-socket--work-on ()
  "Do the work that is left until the slice is over."
  (unless (or todo-write-socket--working todo-write-socket--sending)
    (let ((todo-write-socket--working t))
      ;; Answers are sent before anything is drawn.
      (todo-write--drawing-once
        (while (and todo-write-socket--work (< (float-time) todo-write-socket--slice-end))
          (condition-case err
              (funcall (pop todo-write-socket--work))
            (error (display-warning 'todo-write (error-message-string err)))))))
    (when todo-write-socket--work
      (todo-write-socket--end-slice-soon))))

;;; Connections

(defun todo-write-socket--show-once (format &rest args)
  "Show the user the sentence of FORMAT and ARGS, once in a session."
  (let ((text (apply #'format-message format args)))
    (unless (member text todo-write-socket--shown)
      (push text todo-write-socket--shown)
      (message "%s" text))))

(defun todo-write-socket--changed (process event)
  "Handle EVENT, a change of PROCESS's connection."
  (let ((connection (process-get process 'todo-write-connection)))
    (cond ((string-prefix-p "open" event) (todo-write-socket--accept process))
          ((and connection (not (process-live-p process)))
           (todo-write-socket--closed connection)))))

(defun todo-write-socket--accept (process)
  "Begin the connection of PROCESS."
  (let* ((remote (process-get process 'todo-write-remote))
         (connection (todo-write-socket--make-connection :process process :remote remote)))
    (set-process-query-on-exit-flag process nil)
    (process-put process 'todo-write-connection connection)
    (push connection todo-write-socket--connections)
    (setf (todo-write-socket--connection-timer connection)
          (run-with-timer todo-write-socket--timeout nil #'todo-write-socket--refuse
                          connection "The connection began without a hello."))
    (if (process-get process 'todo-write-token)
        (progn
          (todo-write-remote-socket--challenge connection)
          (when-let* ((older (nthcdr todo-write-socket--unproven-limit
                                     (todo-write-socket--connections-from remote t))))
            (todo-write-socket--refuse (car older) "Too many programs have not proven themselves.")))
      (when (length> (todo-write-socket--connections-from remote)
                     todo-write-socket--connection-limit)
        (todo-write-socket--refuse connection todo-write-socket--full)))))

(defun todo-write-socket--connections-from (remote &optional unproven)
  "Return the connections from the machine REMOTE, the newest first.
If UNPROVEN is non-nil, they are those on a port whose programs have not
proven themselves, else all others.  Any user of this machine can make
those, and must not use up the number of the others."
  (seq-filter (lambda (connection)
                (and (equal remote (todo-write-socket--connection-remote connection))
                     (eq (and unproven t)
                         (and (todo-write-socket--connection-nonce connection)
                              (not (todo-write-socket--connection-hello connection))))))
              todo-write-socket--connections))

(defun todo-write-socket--closed (connection)
  "Forget CONNECTION, which was closed, and call the function of its role."
  (when (memq connection todo-write-socket--connections)
    (setq todo-write-socket--connections (delq connection todo-write-socket--connections))
    (todo-write-socket--cancel-timer connection)
    (when (todo-write-socket--connection-hello connection)
      (todo-write-socket--do
       (lambda () (todo-write-socket--dispatch connection '(:type closed))))))
  nil)

(defun todo-write-socket--cancel-timer (connection)
  "Let CONNECTION live without a time limit."
  (when-let* ((timer (todo-write-socket--connection-timer connection)))
    (cancel-timer timer)
    (setf (todo-write-socket--connection-timer connection) nil)))

(defun todo-write-socket--live-p (connection)
  "Return non-nil if CONNECTION is open."
  (process-live-p (todo-write-socket--connection-process connection)))

(defun todo-write-socket--line (message)
  "Return MESSAGE, a plist, as a line of bytes."
  (concat (encode-coding-string (json-serialize message) 'utf-8) "\n"))

(defun todo-write-socket--send (connection message)
  "Send MESSAGE, a plist, by CONNECTION.
Close a connection whose program does not read: Emacs waits for it, and
meanwhile reads from other programs, but handles nothing."
  (let ((process (todo-write-socket--connection-process connection))
        (todo-write-socket--sending t))
    (condition-case nil
        (with-timeout (todo-write-socket--send-limit (delete-process process))
          (process-send-string process (todo-write-socket--line message)))
      (error (delete-process process)))))

(defun todo-write-socket--refuse (connection text)
  "Close CONNECTION after sending TEXT, a sentence with the reason; return nil."
  (when (todo-write-socket--live-p connection)
    (todo-write-socket--send connection (list :type "refused" :text text))
    (delete-process (todo-write-socket--connection-process connection)))
  (todo-write-socket--closed connection))

(defun todo-write-socket--answer (connection call ok text &rest fields)
  "Answer CALL, a message of CONNECTION, with TEXT.
OK is nil for an error.  FIELDS is a plist of further fields of the
answer, as for `json-serialize'."
  (when (todo-write-socket--live-p connection)
    (todo-write-socket--send
     connection `(:type "answer" :call ,(plist-get call :call) :ok ,(if ok t :false)
                  :text ,(todo-write-socket--unicode text) ,@fields))))

(defun todo-write-socket--unicode (text)
  "Return TEXT with characters replaced that JSON cannot represent."
  (if (= (length text) (string-bytes text))
      text
    ;; Folding the case of so many characters takes milliseconds.
    (let (case-fold-search)
      (replace-regexp-in-string "[^\0-\ud7ff\ue000-\U0010ffff]" "?" text))))

;;; Messages

(defun todo-write-socket--receive (process chunk)
  "Handle the lines that CHUNK, from PROCESS, completes."
  (when-let* ((connection (process-get process 'todo-write-connection)))
    (setf (todo-write-socket--connection-text connection)
          (concat (substring (todo-write-socket--connection-text connection)
                             (todo-write-socket--connection-start connection))
                  chunk)
          (todo-write-socket--connection-start connection) 0)
    (unless (todo-write-socket--connection-busy connection)
      (setf (todo-write-socket--connection-busy connection) t)
      ;; Nothing more is read.
      (set-process-filter process t)
      (todo-write-socket--do (lambda () (todo-write-socket--handle-next connection))))))

(defun todo-write-socket--handle-next (connection)
  "Handle the next line of CONNECTION; those after it come in turn with other work."
  (let ((line (and (todo-write-socket--live-p connection)
                   (todo-write-socket--next-line connection))))
    (unwind-protect
        (when line
          (todo-write-socket--handle connection line))
      (if (and line (todo-write-socket--live-p connection))
          (todo-write-socket--later (lambda () (todo-write-socket--handle-next connection)))
        (setf (todo-write-socket--connection-busy connection) nil)
        (when (todo-write-socket--live-p connection)
          (set-process-filter (todo-write-socket--connection-process connection)
                              #'todo-write-socket--receive))))))

(defun todo-write-socket--next-line (connection)
  "Return the next complete line that was read from CONNECTION, or nil.
Close a connection whose line is too long."
  (let* ((text (todo-write-socket--connection-text connection))
         (start (todo-write-socket--connection-start connection))
         (end (string-search "\n" text start))
         (piece (substring text start end)))
    (push piece (todo-write-socket--connection-chunks connection))
    (setf (todo-write-socket--connection-start connection) (if end (1+ end) (length text)))
    (cond
     ((> (cl-incf (todo-write-socket--connection-size connection) (length piece))
         todo-write-socket--line-limit)
      (todo-write-socket--refuse connection "The line is longer than 1 MiB."))
     ((and (null end) (todo-write-socket--overfull-p connection))
      (todo-write-socket--refuse connection "Too much is sent to this Emacs at once."))
     (end
      (prog1 (apply #'concat (nreverse (todo-write-socket--connection-chunks connection)))
        (setf (todo-write-socket--connection-chunks connection) nil
              (todo-write-socket--connection-size connection) 0))))))

(defun todo-write-socket--overfull-p (connection)
  "Return non-nil if CONNECTION has a large part of too many incomplete lines."
  (and (> (todo-write-socket--connection-size connection)
          (/ todo-write-socket--incomplete-limit 100))
       (> (apply #'+ (mapcar #'todo-write-socket--connection-size todo-write-socket--connections))
          todo-write-socket--incomplete-limit)))

(defun todo-write-socket--handle (connection line)
  "Handle LINE, bytes, of CONNECTION."
  (if (not (featurep 'todo-write-dyn))
      (todo-write-socket--refuse connection (todo-write-socket--no-module))
    (condition-case err
        (let* ((message (todo-write--call todo-write-dyn--socket-parse line))
               (type (plist-get message :type)))
          (cond ((todo-write-socket--connection-hello connection)
                 (unless (or (memq type '(hello unknown))
                             (and (eq type 'call)
                                  (todo-write-socket--late-p connection message)))
                   (todo-write-socket--dispatch connection message)))
                ((eq type 'hello) (todo-write-socket--welcome connection message))
                (t (todo-write-socket--refuse connection "The first line must be a hello."))))
      (error (todo-write-socket--refuse connection (error-message-string err))))))

(defun todo-write-socket--no-module ()
  "Tell the user that the module is missing; return a sentence for an agent."
  (todo-write-module--warn-missing "An agent cannot write its plan: the module is not loaded.")
  "This Emacs lacks the module of todo-write; go on without the list, and tell the user to run \
M-x todo-write-module-load in Emacs.")

(defun todo-write-socket--welcome (connection hello)
  "Begin to serve CONNECTION, whose first message is HELLO."
  (todo-write-socket--cancel-timer connection)
  (let ((version (plist-get hello :version))
        (proof (and (todo-write-socket--connection-nonce connection)
                    (todo-write-remote-socket--proof connection hello))))
    (cond
     ((and (todo-write-socket--connection-nonce connection) (not proof))
      (todo-write-socket--refuse connection "This program does not have the token of the port."))
     ((/= (plist-get hello :protocol) todo-write-socket--protocol)
      (todo-write-socket--refuse
       connection (todo-write-socket--outdated "is not of the same version as todo-write")))
     ((not (assoc (plist-get hello :role) todo-write-socket--roles))
      (todo-write-socket--refuse connection "This Emacs does not know that role."))
     ;; The proofs say who begins the connection, not who passes on what comes later.
     ((and proof (equal "permission" (plist-get hello :role)))
      (todo-write-socket--refuse connection "No question is answered through a port."))
     ((and proof (not (length< (todo-write-socket--connections-from
                                (todo-write-socket--connection-remote connection))
                               todo-write-socket--connection-limit)))
      (todo-write-socket--refuse connection todo-write-socket--full))
     (t
      (unless (equal version todo-write-version)
        (todo-write-socket--outdated "is not of the same version as todo-write"))
      (when (plist-get hello :outdated)
        (todo-write-socket--outdated "was set up by an earlier version"))
      (setf (todo-write-socket--connection-hello connection) hello
            (todo-write-socket--connection-skew connection)
            (if-let* ((now (plist-get hello :now))) (- (todo-write--now) now) 0))
      (todo-write-socket--send connection `(:type "welcome" :protocol ,todo-write-socket--protocol
                                           :version ,todo-write-version
                                           :emacs ,emacs-version :process ,(emacs-pid)
                                           ,@(and proof (list :proof proof))))
      (todo-write-socket--dispatch connection hello)))))

(defvar todo-write-socket--outdated-programs nil
  "Why programs that connected must be set up again, a list of phrases.")

(defun todo-write-socket--outdated (reason)
  "Tell the user, once, that a program must be set up again; return a sentence.
REASON is a phrase about the program."
  (cl-pushnew reason todo-write-socket--outdated-programs :test #'equal)
  (todo-write-socket--show-once
   "An agent's todo-write-mcp %s; run M-x todo-write-mcp-setup again" reason)
  (format "This todo-write-mcp %s; tell the user to run M-x todo-write-mcp-setup in Emacs again."
          reason))

(defun todo-write-socket--late-p (connection call)
  "Return non-nil if the program of CONNECTION no longer waits for CALL."
  (when-let* ((until (plist-get call :until)))
    (< (+ until (todo-write-socket--connection-skew connection)) (todo-write--now))))

(defun todo-write-socket--dispatch (connection message)
  "Pass MESSAGE to the function of CONNECTION's role."
  (let ((function (cdr (assoc (plist-get (todo-write-socket--connection-hello connection) :role)
                              todo-write-socket--roles))))
    (condition-case err
        (funcall function connection message)
      (error
       (if (eq (plist-get message :type) 'call)
           (todo-write-socket--answer connection message nil (error-message-string err))
         (display-warning 'todo-write (error-message-string err)))))))

(defun todo-write-socket--receive-check (connection message)
  "Answer MESSAGE of CONNECTION, whose program only checks the connection."
  (when (eq (plist-get message :type) 'call)
    (todo-write-socket--answer
     connection message t (format "Emacs %s, process %d, answers with todo-write %s."
                                  emacs-version (emacs-pid) todo-write-version))))

(provide 'todo-write-socket)
;;; todo-write-socket.el ends here
