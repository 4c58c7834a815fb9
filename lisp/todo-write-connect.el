;;; todo-write-connect.el --- Agents on other machines  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; One connection a machine, opened from here, carries all of its agents: their
;; sessions are followed, and their calls and questions reach this Emacs.
;;
;; A connection is a process, by default of ssh, docker or podman, whose input and
;; output are those of `todo-write-mcp serve' there: the same threads that read the
;; sessions of this machine.  The hub runs it; Emacs waits for no machine.  It is
;; opened only by these commands and by `todo-write-follow' in a folder of the machine.

;;; Code:

(require 'todo-write-follow)
(require 'todo-write-tell)

(defcustom todo-write-machines-reconnect nil
  "Non-nil takes a connection to a machine up again if it is lost.
Emacs tries after 5 seconds, and then after pauses that double, up to 5
minutes.  It never asks for a password.  See `todo-write-connect'."
  :type 'boolean
  :group 'todo-write
  :package-version '(todo-write . "0.3.0"))

(defvar todo-write-connect-first-pause 5
  "Seconds before the first attempt to take up a lost connection.")

(defvar todo-write-connect-longest-pause 300
  "Maximum number of seconds between two attempts.")

(defconst todo-write-connect--script "\
PATH=$PATH:$HOME/.todo-write/bin:$HOME/.cargo/bin:$HOME/.local/bin; export PATH; \
p=$0; case $p in \"~/\"*) p=$HOME/${p#??};; esac; exec \"$p\" serve"
  "What a shell on a machine runs, with the program as its name.
Nothing of the user's is in it.")

;;; Machines

(defun todo-write-connect--name (machine)
  "Return the name of MACHINE, which is one or the name of a remote file.
If that machine has no name in `todo-write-machines', it is made of the
user and host.  Signal a `user-error' for anything else."
  (cond ((and (todo-write-machines-name-p machine) (todo-write-machines-prefix machine))
         machine)
        ((todo-write-machines-of machine))
        ((file-remote-p machine)
         (let* ((prefix (file-remote-p machine))
                (parts (delq nil (list (file-remote-p prefix 'user) (file-remote-p prefix 'host))))
                (method (file-remote-p prefix 'method))
                (name (replace-regexp-in-string
                       "[^A-Za-z0-9._]+" "-"
                       (string-join (if (todo-write-machines-ssh-p method) parts
                                      (cons method parts))
                                    "-"))))
           (when (or (not (todo-write-machines-name-p name))
                     (todo-write-machines-prefix name))
             (user-error "Give the machine of %s a name in `todo-write-machines'" prefix))
           (push (list name :prefix prefix) todo-write-machines-known)
           name))
        (t (user-error "%s is neither in `todo-write-machines' nor a remote folder" machine))))

(defun todo-write-connect--command (name)
  "Return the program and arguments that connect to the machine NAME.
The program is an absolute name."
  (let* ((command (or (todo-write-machines-get name :command)
                      (append (todo-write-machines-shell
                               (todo-write-machines-prefix name)
                               "-T" "-o" "BatchMode=yes" "-o" "ControlMaster=no"
                               "-o" "ConnectTimeout=15" "-o" "ServerAliveInterval=15"
                               "-o" "RemoteCommand=none")
                              ;; Any login shell understands this.
                              (list (format "exec sh -c '%s' %s" todo-write-connect--script
                                            (shell-quote-argument
                                             (or (todo-write-machines-get name :program)
                                                 "todo-write-mcp")))))))
         ;; That of a remote folder would be on that machine.
         (default-directory (expand-file-name "~/"))
         (program (executable-find (car command))))
    (unless program
      (user-error "There is no program %s here" (car command)))
    (cons (expand-file-name program) (cdr command))))

(defun todo-write-connect--send (name)
  "Connect to the machine NAME unless it is connected, and say what is wanted.
Signal a `user-error' if it cannot be begun."
  (let ((prefix (todo-write-machines-prefix name)))
    (todo-write-hub-tell
     nil
     `(connect
       (:machine (:name ,name :prefix ,prefix)
        :command ,(todo-write-connect--command name)
        ;; The variables that are text.
        :environment ,(cl-loop for variable in process-environment
                               for name = (car (split-string variable "="))
                               for value = (getenv name)
                               when (and value (not (string-match-p "[^\0-\x10ffff]"
                                                                    (concat name value))))
                               collect (cons name value))
        :id ,todo-write-core-emacs
        :name ,(format "%s@%s, process %d" (user-login-name) (system-name) (emacs-pid))
        ;; In place of the usual ones there.
        :homes ,(cl-loop for (agent . folder) in todo-write-follow-agents
                         when (and (stringp folder) (string-prefix-p prefix folder))
                         collect (let ((local (substring folder (length prefix))))
                                   (cons agent (if (string-match-p "\\`[/~]" local) local
                                                 (concat "~/" local)))))
        :door ,(and todo-write-socket-wanted
                    (list :welcome (todo-write-socket-welcome))))))))

(defun todo-write-connect-send-all ()
  "Tell all machines that are reached what is wanted of them now."
  (dolist (link todo-write-machines-links)
    (unless (eq 'lost (todo-write-machines-link-state link))
      ;; The others are told even if this one cannot be.
      (with-demoted-errors "todo-write: %S"
        (todo-write-connect--send (todo-write-machines-link-name link))))))

;;; Commands

;;;###autoload
(defun todo-write-connect (machine &optional end)
  "Connect to MACHINE, on which agents run; return its name.
All live sessions of Claude Code and Codex there are followed, and while
`todo-write-agents-mode' is on, calls and questions of agents there reach
this Emacs.  MACHINE is a name in `todo-write-machines', or the name of a
folder there, such as \"/ssh:build:\".  The program `todo-write-mcp' must
be there; if it is missing, a warning shows how to get it.  If the
connection was lost, take it up again.  Nothing asks for a password.
`todo-write-disconnect', or END, interactively a prefix argument, ends
the connection.  Interactively, use the machine of the current folder, or
else read one."
  (interactive
   (if current-prefix-arg
       (let ((names (mapcar #'todo-write-machines-link-name todo-write-machines-links)))
         (list (cond ((null names) (user-error "No machine is connected"))
                     ((cdr names) (completing-read "Disconnect from machine: " names nil t
                                                   nil nil (car names)))
                     (t (car names)))
               t))
     (list (or (file-remote-p default-directory)
               (let ((names (mapcar #'car (todo-write-machines-all))))
                 (completing-read "Connect to machine (name, or prefix as in /ssh:HOST:): "
                                  names nil nil nil nil (car names)))))))
  (if end
      (todo-write-disconnect machine)
    (let* ((name (todo-write-connect--name machine))
           (known (todo-write-machines-link-to name)))
      (when known
        (setf (todo-write-machines-link-pause known) nil))
      (todo-write-connect--begin name)
      (if (and known (eq 'connected (todo-write-machines-link-state known)))
          (progn
            (setf (todo-write-machines-link-follows known) t)
            (todo-write-hub-tell nil '(search))
            (message "%s is connected" name))
        (message "Connecting to %s..." name))
      name)))

(defun todo-write-connect--begin (name)
  "Begin a connection to the machine NAME unless there is one."
  (let ((link (or (todo-write-machines-link-to name) (todo-write-machines-make-link :name name))))
    (unless (memq (todo-write-machines-link-state link) '(connecting connected))
      (todo-write-module-prepare)
      (todo-write-follow-connect)
      (add-hook 'todo-write-hub-functions #'todo-write-connect--receive)
      (add-hook 'todo-write-hub-begin-hook #'todo-write-connect--begin-again)
      (todo-write-connect--send name)
      (setf (alist-get name todo-write-machines-known nil nil #'equal)
            (cdr (assoc name (todo-write-machines-all))))
      (when-let* ((timer (todo-write-machines-link-timer link)))
        (cancel-timer timer))
      (setf (todo-write-machines-link-state link) 'connecting
            (todo-write-machines-link-since link) (float-time))
      (cl-pushnew link todo-write-machines-links))))

(defun todo-write-connect--begin-again ()
  "Connect again to the machines of a hub that has ended."
  (dolist (link todo-write-machines-links)
    (unless (eq 'lost (todo-write-machines-link-state link))
      (setf (todo-write-machines-link-state link) 'connecting)))
  (todo-write-connect-send-all))

;;;###autoload
(defun todo-write-disconnect (machine)
  "End the connection to MACHINE, a name, and following its sessions.
Their plans stay, and what their agents do is unknown."
  (let ((link (todo-write-machines-link-to machine)))
    (unless link
      (user-error "%s is not connected" machine))
    (setq todo-write-machines-links (delq link todo-write-machines-links))
    (todo-write-follow-end-machine machine)
    (when (todo-write-hub-live-p)
      (todo-write-hub-tell nil `(disconnect ,machine)))
    (todo-write-socket-lose machine)
    (message "Disconnected from %s" machine)))

;;; News

(defun todo-write-connect--receive (message)
  "Handle MESSAGE of the hub if it is about a connection."
  (pcase message
    (`(connection ,machine ,lost)
     (when-let* ((link (todo-write-machines-link-to machine)))
       (if lost
           (todo-write-connect--lose link (todo-write-text-line (plist-get lost :reason) 400)
                                     (plist-get lost :is-missing))
         (setf (todo-write-machines-link-state link) 'connected
               (todo-write-machines-link-since link) (float-time)
               (todo-write-machines-link-before link) t
               (todo-write-machines-link-pause link) nil)
         (todo-write-tell-update-machine machine)
         (todo-write-connect--redraw machine)
         (message "Connected to %s%s" machine
                  (if todo-write-socket-wanted ""
                    "; calls of agents there reach this Emacs while `todo-write-agents-mode' is \
on")))))))

(defun todo-write-connect--lose (link reason missing)
  "Note that LINK was lost or not made, for REASON.
MISSING is non-nil if the program was not found there."
  (pcase-let* (((cl-struct todo-write-machines-link name before pause) link)
               (retry (and before todo-write-machines-reconnect)))
    (setf (todo-write-machines-link-state link) 'lost
          (todo-write-machines-link-reason link) reason)
    (unless pause
      (setf (todo-write-machines-link-since link) (float-time)))
    (todo-write-socket-lose name)
    (todo-write-connect--redraw name)
    (when retry
      (let ((next (if pause (min (* 2 pause) todo-write-connect-longest-pause)
                    todo-write-connect-first-pause)))
        (setf (todo-write-machines-link-pause link) next
              (todo-write-machines-link-timer link)
              (run-with-timer
               next nil
               (lambda ()
                 (when (and todo-write-machines-reconnect
                            (memq link todo-write-machines-links)
                            (eq 'lost (todo-write-machines-link-state link)))
                   (condition-case err
                       (todo-write-connect--begin name)
                     (error (todo-write-connect--lose link (error-message-string err) nil)))))))))
    ;; Each attempt is not worth a warning.
    (unless (and retry pause)
      (display-warning
       'todo-write
       (concat (if before
                   (format "%s: not connected since %s (%s)" name
                           (format-time-string "%H:%M" (todo-write-machines-link-since link))
                           reason)
                 (format "%s cannot be reached (%s)" name reason))
               (cond (retry "; Emacs will try again")
                     (before "; M-x todo-write-connect takes it up again")
                     ((and missing (todo-write-machines-get name :command))
                      ".  Check the :command of the machine in `todo-write-machines'.")
                     (missing (concat ".  " (todo-write-mcp-setup-missing
                                             (todo-write-machines-prefix name))))
                     (t "; M-x todo-write-connect tries again")))))))

(defun todo-write-connect--redraw (name)
  "Draw the headers of the plans of the machine NAME, which say if it is lost."
  (dolist (buffer (buffer-list))
    (when-let* ((thread (buffer-local-value 'todo-write-view-thread buffer)))
      (when (equal name (todo-write-machines-of-thread thread))
        (todo-write-events-dispatch thread 'change)))))

;;; For the doctor

(defun todo-write-connect-findings ()
  "Return the doctor's findings about the machines, none of which is asked."
  (mapcar
   (lambda (name)
     (pcase-let (((cl-struct todo-write-machines-link state since reason)
                  (or (todo-write-machines-link-to name) (todo-write-machines-make-link))))
       (pcase state
         ((and 'connected (guard todo-write-socket-wanted))
          (list 'ok (format "%s: connected" name)))
         ('connected
          (list 'note (format "%s: connected; calls of agents there do not reach this Emacs" name)
                "M-x todo-write-agents-mode"))
         ('connecting (list 'note (format "%s: has not answered yet" name)
                            "Wait, or end it with C-u M-x todo-write-connect"))
         ('lost (list 'problem (format "%s: not connected since %s (%s)" name
                                       (format-time-string "%H:%M" since) reason)
                      "M-x todo-write-connect"))
         (_ (list 'note (format "%s: not connected" name) "M-x todo-write-connect")))))
   (seq-uniq (append (mapcar #'car (todo-write-machines-all))
                     (mapcar #'todo-write-machines-link-name todo-write-machines-links)))))

(provide 'todo-write-connect)
;;; todo-write-connect.el ends here
