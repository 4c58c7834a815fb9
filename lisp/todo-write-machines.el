;;; todo-write-machines.el --- The names of other machines  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The machines on which agents run beside this one: hosts reached by SSH, and
;; containers.  A machine's name and the prefix of its files are set in Emacs; no
;; program there can choose them.  Which of them are connected is kept here, too;
;; todo-write-connect.el connects them.
;;
;; The key of a thread on a machine is "NAME/KEY", where KEY is what it would be here.

;;; Code:

(require 'todo-write-core)

(eval-when-compile (require 'tramp))
(declare-function tramp-dissect-file-name "tramp")

(defcustom todo-write-machines nil
  "Other machines with agents, for `todo-write-connect'.
A list of (NAME . PLIST).  NAME is what users read: ASCII letters, digits,
`.', `_' and `-'.  The keys of PLIST:
  :prefix   of the machine's files in Emacs, by default \"/ssh:NAME:\"
  :program  the file of `todo-write-mcp' there; \"~/\" is the home folder
            there.  By default it is searched in the PATH there, and in
            ~/.todo-write/bin, ~/.cargo/bin and ~/.local/bin.
  :command  a list, a program here and its arguments, that connects to
            `todo-write-mcp serve' there.  By default it is made of the
            prefix."
  :group 'todo-write
  :type '(alist :key-type (string :tag "Name")
                :value-type (plist :options ((:prefix string)
                                             (:program string)
                                             (:command (repeat string)))))
  :package-version '(todo-write . "0.3.0"))

(defvar todo-write-machines-known nil
  "Machines to which the user has connected, in the form of `todo-write-machines'.
They stay known if that changes, and may be known by the prefix of their
files alone.")

(defun todo-write-machines-all ()
  "Return the machines that are known, an alist like `todo-write-machines'."
  (append todo-write-machines todo-write-machines-known))

(defun todo-write-machines-get (name key)
  "Return the value of KEY for the machine NAME, or nil."
  (plist-get (cdr (assoc name (todo-write-machines-all))) key))

(defun todo-write-machines-name-p (name)
  "Return non-nil if NAME can name a machine."
  (and (stringp name) (< (length name) 60)
       (let (case-fold-search)
         (string-match-p "\\`[A-Za-z0-9][A-Za-z0-9._-]*\\'" name))))

;;; Files

(defun todo-write-machines--prefix-p (prefix)
  "Return non-nil if PREFIX is that of remote files, such as \"/ssh:build:\"."
  (and (stringp prefix) (string-match-p "\\`/[^/:|]+:[^/]+:\\'" prefix)))

(defun todo-write-machines-prefix (name)
  "Return the prefix of the files of the machine NAME, or nil."
  (and (assoc name (todo-write-machines-all))
       (or (todo-write-machines-get name :prefix) (format "/ssh:%s:" name))))

(defun todo-write-machines-of (file)
  "Return the name of the machine whose prefix FILE has, or nil."
  (and (stringp file)
       (string-prefix-p "/" file)
       (cl-loop for (name) in (todo-write-machines-all)
                for prefix = (todo-write-machines-prefix name)
                when (and (todo-write-machines-name-p name)
                          (todo-write-machines--prefix-p prefix)
                          (string-prefix-p prefix file))
                return name)))

;;; How TRAMP reaches a machine

(defun todo-write-machines-ssh-p (method)
  "Return non-nil if TRAMP's METHOD reaches its host by ssh."
  (member method '("ssh" "sshx" "scp" "scpx" "rsync")))

(defun todo-write-machines-shell (prefix &rest options)
  "Return the command that runs a line for a shell where PREFIX leads.
It is a list of words, which the line follows as one more.  OPTIONS are
for ssh.  Signal a `user-error' if PREFIX is none of remote files, or if
only TRAMP can get there."
  (unless (todo-write-machines--prefix-p prefix)
    (user-error "%s is no prefix of remote files" prefix))
  (require 'tramp)
  (pcase-let* (((cl-struct tramp-file-name method user host port hop)
                (tramp-dissect-file-name prefix))
               (container (cdr (assoc method '(("docker" . "docker") ("dockercp" . "docker")
                                               ("podman" . "podman") ("podmancp" . "podman"))))))
    (cond (hop
           (user-error "%s leads over another machine: set its :command in `todo-write-machines'"
                       prefix))
          ((todo-write-machines-ssh-p method)
           `("ssh" ,@options ,@(and user (list "-l" user))
             ,@(and port (list "-p" (format "%s" port))) "--" ,host))
          (container
           `(,container "exec" "-i" ,@(and user (list "-u" user)) ,host "sh" "-c"))
          (t (user-error "Only ssh, docker and podman are known: set the :command of %s in %s"
                         prefix "`todo-write-machines'")))))

;;; Threads

(defun todo-write-machines-of-thread (thread)
  "Return the name of the machine of THREAD, or nil for this one."
  (plist-get (todo-write-core-call todo-write-dyn--identity thread) :machine))

(defun todo-write-machines-host (thread project)
  "Return the name of the machine of THREAD, in PROJECT, or nil for this one."
  (or (todo-write-machines-of-thread thread) (todo-write-machines-of project)))

(defun todo-write-machines-local-name (file)
  "Return FILE without the prefix of its machine, if that is known."
  (if-let* ((name (todo-write-machines-of file)))
      (string-remove-prefix "/:" (string-remove-prefix (todo-write-machines-prefix name) file))
    file))

;;; Connections

(cl-defstruct (todo-write-machines-link
               (:constructor todo-write-machines-make-link) (:copier nil))
  "The connection to a machine.
NAME is the machine's.  STATE is `connecting', `connected' or `lost', SINCE
a time, as a float, and REASON why it was lost.  FOLLOWS is non-nil if all
live sessions there are followed.  BEFORE is non-nil once it was connected.
PAUSE is the number of seconds before the last attempt to take it up
again, TIMER that of the next one, or nil."
  name state (since 0) reason (follows t) before pause timer)

(defvar todo-write-machines-links nil
  "The connections to machines, also those that were lost.")

(defun todo-write-machines-link-to (name)
  "Return the connection to the machine NAME, or nil."
  (seq-find (lambda (link) (equal name (todo-write-machines-link-name link)))
            todo-write-machines-links))

(defun todo-write-machines-reached-p (name)
  "Return non-nil if messages of the machine NAME are expected."
  (when-let* ((link (todo-write-machines-link-to name)))
    (not (eq 'lost (todo-write-machines-link-state link)))))

(defconst todo-write-machines-longest-name 4096
  "Length of a file name above which no system opens it.")

(defun todo-write-machines-remote-part (name)
  "Return the last part of NAME, from a slash on, that is a remote name, or nil.
With \".\" or \"..\" before it, NAME can expand to that.  What is too long
for a name counts as remote."
  (let ((part (and (> (length name) todo-write-machines-longest-name) name)))
    (dotimes (start (if part 0 (length name)))
      (when (and (eq ?/ (aref name start))
                 (file-remote-p (substring name start)))
        (setq part (substring name start))))
    part))

(provide 'todo-write-machines)
;;; todo-write-machines.el ends here
