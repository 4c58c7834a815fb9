;;; todo-write-mcp-setup-tests.el --- Tests of giving agents the tool  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests check what `todo-write-mcp-setup' shows, copies and runs for each
;; agent, and what the doctor reports of it.  test/hosts/mcp.sh uses the commands
;; and settings with genuine agents.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-mcp-setup)
(require 'todo-write-doctor)
(require 'todo-write-test-helper)

(defconst todo-write-mcp-setup-tests--server
  '("/opt/to do/todo-write-mcp" "--socket-name" "/run/\"s\""))

(defmacro todo-write-mcp-setup-tests--with (answers &rest body)
  "Evaluate BODY with the program /bin/true and a user who gives ANSWERS.
All agents seem to be installed, but their commands are not run."
  (declare (indent 1) (debug t))
  `(let* ((todo-write-mcp-program (executable-find "true"))
          (server-socket-dir "/run/emacs") (server-name "server") (server-use-tcp nil)
          (kill-ring nil) (interprogram-cut-function nil)
          (answers ,answers) (asked nil) (ran nil)
          (call (symbol-function 'call-process)))
     (ignore asked ran)
     (cl-letf (((symbol-function 'todo-write-mcp-setup--start-server) #'ignore)
               ((symbol-function 'executable-find) (lambda (name &rest _) name))
               ((symbol-function 'y-or-n-p) (lambda (question) (push question asked) (pop answers)))
               ((symbol-function 'call-process)
                (lambda (program &rest arguments)
                  (push (cons program (cdddr arguments)) ran)
                  (funcall call "echo" nil t nil "Added."))))
       (unwind-protect (progn ,@body)
         (when (get-buffer "*todo-write MCP*") (kill-buffer "*todo-write MCP*"))))))

(ert-deftest todo-write-mcp-setup-each-agent-has-a-command-or-settings ()
  (dolist (agent (mapcar #'car todo-write-mcp-setup-agents))
    (let ((command (todo-write-mcp-setup-command agent todo-write-mcp-setup-tests--server))
          (settings (todo-write-mcp-setup-settings agent todo-write-mcp-setup-tests--server)))
      (should (xor command settings))
      (if command
          (should (equal (last command 3) todo-write-mcp-setup-tests--server))
        (should (string-search "/opt/to do/todo-write-mcp" settings))
        (should (string-search "/run/\\\"s\\\"" settings))
        (unless (equal agent "Goose")
          (should (json-parse-string settings)))))))

(ert-deftest todo-write-mcp-setup-shows-and-copies-the-instructions ()
  (dolist (agent (mapcar #'car todo-write-mcp-setup-agents))
    (todo-write-mcp-setup-tests--with nil
      (todo-write-mcp-setup agent)
      (let ((text (with-current-buffer "*todo-write MCP*" (buffer-string))))
        (should (string-search (car kill-ring) text))
        (should (string-search "/run/emacs/server" (car kill-ring)))
        (should (string-match-p "plan tool" text))
        (should (string-search todo-write-mcp-setup-instructions text)))
      (should-not ran))))

(ert-deftest todo-write-mcp-setup-runs-the-agents-own-command-after-a-yes ()
  (todo-write-mcp-setup-tests--with '(t)
    (todo-write-mcp-setup "Codex")
    (should (equal ran `(("codex" "mcp" "add" "todo-write" "--" ,todo-write-mcp-program
                          "--socket-name" "/run/emacs/server"))))
    (with-current-buffer "*todo-write MCP*"
      (should (string-match-p "Added\\.\n\nDone" (buffer-string))))))

(ert-deftest todo-write-mcp-setup-asks-before-it-gets-the-program ()
  (todo-write-mcp-setup-tests--with '(nil)
    (let ((todo-write-mcp-program nil) (exec-path nil) (todo-write-module-directory "/nowhere/")
          (todo-write-module--lisp "/nowhere/"))
      (cl-letf (((symbol-function 'todo-write-module--can-ask-p) #'always)
                ((symbol-function 'todo-write-module--ways)
                 (lambda (_name) '((build . "Build it now, with cargo")))))
        (should-error (todo-write-mcp-setup "Codex") :type 'todo-write-error)
        (should (equal asked '("The program todo-write-mcp is missing.  Build it now, with cargo? ")))))))

(ert-deftest todo-write-mcp-setup-names-a-program-that-cannot-be-run ()
  (let ((todo-write-mcp-program "/nowhere/todo-write-mcp"))
    (should-error (todo-write-mcp-setup "Codex") :type 'user-error)))

(ert-deftest todo-write-mcp-setup-the-doctor-names-what-is-missing ()
  (let ((todo-write-mcp-program "/nowhere/todo-write-mcp"))
    (should (string-match-p "todo-write-mcp is missing\n.*todo-write-mcp-setup"
                            (todo-write-doctor-text))))
  (let ((todo-write-mcp-program (executable-find "true")) (server-process nil))
    (should (string-match-p "this Emacs has no server" (todo-write-doctor-text)))))

(provide 'todo-write-mcp-setup-tests)
;;; todo-write-mcp-setup-tests.el ends here
