;;; remote-helper.el --- A second account, by a genuine sshd  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A host "build" for the checks of agents on other machines: the account
;; REMOTE_ACCOUNT of this machine, which remote.sh makes, behind an sshd on a port of
;; the loopback interface.  `ssh build' goes there without questions, for TRAMP, too:
;; a script `ssh' in PATH names a file of settings of its own.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'hosts-helper)
(require 'todo-write-mock-helper)
(require 'todo-write-connect)
(require 'todo-write-socket-helper)
(require 'tramp)

(defconst remote-account (getenv "REMOTE_ACCOUNT") "The second account.")

(defconst remote-home (expand-file-name (concat "~" remote-account)) "Its home.")

(defvar remote-folder nil "The folder with the keys and settings of the host.")

(defvar remote-port nil "The port of its sshd.")

(defvar remote-sshd nil "The process of its sshd.")

(defun remote-file (name)
  "Return the name of the file NAME in the home of the account."
  (expand-file-name name remote-home))

(defun remote-write (name text &optional modes)
  "Write TEXT to the account's file NAME, which has MODES, by default 0600."
  (let ((file (remote-file name)))
    (make-directory (file-name-directory file) t)
    (write-region text nil file nil 'silent)
    (set-file-modes file (or modes #o600)))
  (remote-own))

(defun remote-own ()
  "Give all files in the account's home to it."
  (should (eql 0 (call-process "chown" nil nil nil "-R" (concat remote-account ":")
                               remote-home))))

(defun remote--keygen (file)
  "Make the key FILE."
  (should (eql 0 (call-process "ssh-keygen" nil nil nil "-q" "-t" "ed25519" "-N" "" "-f" file))))

(defun remote-start-sshd (&rest settings)
  "Start the host's sshd with further SETTINGS, lines; wait until it listens."
  (let ((config (expand-file-name "sshd_config" remote-folder)))
    (write-region
     (string-join
      (append settings
              (list (format "Port %d" remote-port) "ListenAddress 127.0.0.1" "UsePAM no"
                    "PasswordAuthentication no" "PidFile none"
                    (concat "HostKey " (expand-file-name "host" remote-folder)) ""))
      "\n")
     nil config nil 'silent)
    (setq remote-sshd
          (make-process :name "sshd" :buffer (generate-new-buffer " *sshd*") :noquery t
                        :connection-type 'pipe
                        :command (list (or (executable-find "sshd") "/usr/sbin/sshd")
                                       "-D" "-e" "-f" config)))
    (todo-write-test-wait
     (lambda ()
       (unless (process-live-p remote-sshd)
         (ert-fail (with-current-buffer (process-buffer remote-sshd) (buffer-string))))
       (ignore-errors
         (delete-process (make-network-process :name "try" :family 'ipv4 :host "127.0.0.1"
                                               :service remote-port))
         t)))))

(defun remote-stop-sshd ()
  "Stop the host's sshd and all connections to it."
  (when (process-live-p remote-sshd)
    ;; SIGHUP, which `delete-process' sends, only restarts it.
    (kill-process remote-sshd)
    (todo-write-test-wait (lambda () (not (process-live-p remote-sshd)))))
  (call-process "pkill" nil nil nil "-KILL" "-u" remote-account))

(defun remote--prepare ()
  "Make the keys and settings of the host, and empty the account's home."
  (dolist (file (directory-files remote-home t directory-files-no-dot-files-regexp))
    (if (file-directory-p file) (delete-directory file t) (delete-file file)))
  (dolist (name '("host" "user"))
    (remote--keygen (expand-file-name name remote-folder)))
  (remote-write ".ssh/authorized_keys"
                (with-temp-buffer
                  (insert-file-contents (expand-file-name "user.pub" remote-folder))
                  (buffer-string)))
  (set-file-modes (remote-file ".ssh") #o700)
  (write-region
   (string-join
    (list "Host build" "  HostName 127.0.0.1" (format "  Port %d" remote-port)
          (concat "  User " remote-account)
          (concat "  IdentityFile " (expand-file-name "user" remote-folder))
          "  IdentitiesOnly yes" "  StrictHostKeyChecking accept-new" "  LogLevel ERROR"
          (concat "  UserKnownHostsFile " (expand-file-name "known" remote-folder)) "")
    "\n")
   nil (expand-file-name "config" remote-folder) nil 'silent)
  (let ((script (expand-file-name "bin/ssh" remote-folder)))
    (make-directory (file-name-directory script) t)
    (write-region (format "#!/bin/sh\nexec %s -F %s \"$@\"\n" (executable-find "ssh")
                          (expand-file-name "config" remote-folder))
                  nil script nil 'silent)
    (set-file-modes script #o700)))

(defmacro remote-with-host (&rest body)
  "Evaluate BODY while the host \"build\" can be reached and is in the option.
Its account has the program in ~/.todo-write/bin, and a project, ~/garden.
The PATH there has no ~/.todo-write/bin, and its login shell is talkative."
  (declare (indent 0) (debug t))
  `(remote--call (lambda () ,@body)))

(defun remote--call (function)
  "Call FUNCTION as `remote-with-host' says."
  (let* ((remote-folder (make-temp-file "remote" t))
         (remote-port (todo-write-mock--free-port))
         (remote-sshd nil)
         (exec-path (cons (expand-file-name "bin" remote-folder) exec-path))
         (process-environment
          (append (list (concat "PATH=" (expand-file-name "bin" remote-folder) ":"
                                (getenv "PATH")))
                  process-environment))
         (tramp-persistency-file-name nil)
         (todo-write-machines '(("build")))
         (todo-write-machines-known nil)
         (todo-write-follow-agents nil))
    (unwind-protect
        (progn
          (remote--prepare)
          (make-directory (remote-file ".todo-write/bin") t)
          (copy-file (expand-file-name "lisp/todo-write-mcp" (getenv "TODO_WRITE_ROOT"))
                     (remote-file ".todo-write/bin/todo-write-mcp"))
          (set-file-modes (remote-file ".todo-write") #o700)
          (make-directory (remote-file "garden"))
          (dolist (file '(".bashrc" ".profile"))
            (remote-write file "echo Welcome to build; echo No mail. >&2\n"))
          (remote-own)
          (remote-start-sshd)
          (todo-write-with-socket
            (unwind-protect (funcall function)
              (remote-disconnect))))
      (tramp-cleanup-all-connections)
      (remote-stop-sshd)
      (delete-directory remote-folder t))))

;;; Agents

(defun remote--environment (&rest variables)
  "Return words for a shell that begin a program with VARIABLES and few others."
  (concat "env -i "
          (mapconcat #'shell-quote-argument
                     (append variables
                             (seq-remove (lambda (variable)
                                           (string-match-p "\\`\\(TMPDIR\\|TODO_WRITE_SANDBOX\\)="
                                                           variable))
                                         (hosts-environment remote-home)))
                     " ")))

(defun remote-start-codex (url &rest arguments)
  "Start Codex with ARGUMENTS in the folder garden on the host; return the process.
Its model is at URL.  It has the tool by the program there."
  (let* ((server (format "mcp_servers.todo-write={command=%S,default_tools_approval_mode=\"approve\"}"
                         (remote-file ".todo-write/bin/todo-write-mcp")))
         (words (append (hosts-codex-arguments url "gpt-5.5")
                        (list "-c" server "--dangerously-bypass-approvals-and-sandbox")
                        arguments))
         (command (format "cd garden && exec %s codex exec %s"
                          (remote--environment "MOCK_KEY=test-key")
                          (mapconcat #'shell-quote-argument words " ")))
         (process (make-process :name "codex" :buffer (generate-new-buffer "*codex*") :noquery t
                                :connection-type 'pipe :command (list "ssh" "-T" "build" command))))
    (process-send-eof process)
    process))

(defun remote-start-claude (port arguments &rest environment)
  "Start Claude Code in the folder garden on the host; return the process.
Its model is at PORT.  ARGUMENTS are words for the shell, ENVIRONMENT are
further variables."
  (make-process
   :name "claude" :buffer (generate-new-buffer "*claude*") :noquery t
   :connection-type 'pty :coding 'utf-8
   :command
   (list "ssh" "-tt" "build"
         (format "cd garden && stty rows 40 columns 110; exec %s claude --model %s %s"
                 (apply #'remote--environment
                        (append (hosts-claude-environment (format "http://127.0.0.1:%d" port))
                                environment))
                 hosts-claude-model arguments))))

;;; Connections

(defun remote-connected-p (name)
  "Return non-nil if the machine NAME is connected."
  (when-let* ((link (todo-write-machines-link-to name)))
    (eq 'connected (todo-write-machines-link-state link))))

(defun remote-connect (name)
  "Connect to the machine NAME and wait for that."
  (todo-write-connect name)
  (todo-write-test-wait (lambda () (remote-connected-p name))
                        (lambda () (prin1-to-string (todo-write-machines-link-to name)))))

(defun remote-disconnect ()
  "Disconnect from all machines."
  (dolist (link todo-write-machines-links)
    (todo-write-disconnect (todo-write-machines-link-name link)))
  (todo-write-follow-stop))

(defun remote-server ()
  "Return the id of the process that serves on the host, or nil."
  (seq-find (lambda (pid)
              (let ((attributes (process-attributes pid)))
                (and (equal remote-account (alist-get 'user attributes))
                     (string-match-p "todo-write-mcp serve\\'" (or (alist-get 'args attributes) "")))))
            (list-system-processes)))

(defun remote-sshd-of (pid)
  "Return the id of the sshd above the process PID."
  (while (not (string-match-p "\\`sshd" (alist-get 'comm (process-attributes pid))))
    (setq pid (alist-get 'ppid (process-attributes pid))))
  pid)

(defun remote-ssh ()
  "Return the id of the process of ssh that the program has for the host."
  (seq-find (lambda (pid)
              (let ((attributes (process-attributes pid)))
                (and (eql (process-id todo-write-hub-process) (alist-get 'ppid attributes))
                     (string-match-p "\\`[^ ]*ssh .*BatchMode" (or (alist-get 'args attributes) "")))))
            (list-system-processes)))

(provide 'remote-helper)
;;; remote-helper.el ends here
