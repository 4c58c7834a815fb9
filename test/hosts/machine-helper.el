;;; machine-helper.el --- A machine that is another home  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A machine "build" for checks of agents: `todo-write-mcp serve' in another home of this
;; one, with a socket of its own.  remote-helper.el has one that is reached by ssh.

;;; Code:

(require 'hosts-helper)
(require 'todo-write-connect)
(require 'todo-write-follow)
(require 'todo-write-agents)
(require 'todo-write-mcp-helper)

(defvar machine-helper-name nil "The machine of the agent, \"build\", or nil for this one.")

(defvar machine-helper-run nil "The folder of the machine's socket.")

(defmacro machine-helper-here-and-there (name &rest body)
  "Define the check NAME with BODY, and the same of an agent on the machine."
  (declare (indent 1) (debug t))
  `(progn
     (ert-deftest ,name () ,@body)
     (ert-deftest ,(intern (format "%s-there" name)) ()
       (let ((machine-helper-name "build")) ,@body))))

(defun machine-helper-socket ()
  "Return the name of the machine's socket."
  (expand-file-name "socket" machine-helper-run))

(defun machine-helper-connect ()
  "Connect to the machine and wait until its socket is there."
  (todo-write-connect "build")
  (todo-write-test-wait (lambda () (and (machine-helper--is 'connected)
                                        (file-exists-p (machine-helper-socket))))
                        (lambda () (prin1-to-string (todo-write-machines-link-to "build")))))

(defun machine-helper--is (state)
  "Return non-nil if the connection to the machine is in STATE."
  (when-let* ((link (todo-write-machines-link-to "build")))
    (eq state (todo-write-machines-link-state link))))

(defun machine-helper-kill ()
  "Kill the program that serves there, and wait until that is noticed here."
  (signal-process
   (seq-find (lambda (process)
               (let-alist (process-attributes process)
                 (and (eql (process-id todo-write-hub-process) .ppid)
                      (string-match-p "todo-write-mcp serve" (or .args "")))))
             (list-system-processes))
   'KILL)
  (todo-write-test-wait (lambda () (machine-helper--is 'lost))))

(defun machine-helper-call (home function)
  "Call FUNCTION, which may connect to the machine, whose home is HOME.
Agents in that home are agents there: this Emacs reads none of its folders."
  (let* ((machine-helper-run (make-temp-file "run" t))
         (todo-write-machines
          `(("build" :prefix "/ssh:build:"
             :command ("env" "-i" ,@(machine-helper-environment home)
                       ,(todo-write-mcp-helper-program) "serve"))))
         (todo-write-machines-known nil)
         (todo-write-machines-reconnect nil)
         (todo-write-follow-agents nil))
    (unwind-protect (funcall function)
      (dolist (link todo-write-machines-links)
        (todo-write-disconnect (todo-write-machines-link-name link)))
      (todo-write-follow-stop)
      (delete-directory machine-helper-run t))))

(defun machine-helper-environment (home)
  "Return the whole environment of a program on the machine, whose home is HOME."
  (cons (concat "TODO_WRITE_SANDBOX=" machine-helper-run)
        (seq-remove (lambda (variable) (string-prefix-p "TODO_WRITE_SANDBOX=" variable))
                    (hosts-environment home))))

(provide 'machine-helper)
;;; machine-helper.el ends here
