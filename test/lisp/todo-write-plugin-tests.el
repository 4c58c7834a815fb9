;;; todo-write-plugin-tests.el --- The plugin for Claude Code  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; How the setup installs the plugin, and what the doctor finds, with the genuine
;; program.  mcp/tests/setup.rs checks its files and commands; test/hosts/answer.sh
;; installs the plugin in the genuine Claude Code.

;;; Code:

(require 'todo-write-doctor)
(require 'todo-write-plugin)
(require 'todo-write-setup-helper)

(defconst todo-write-plugin-tests--name "Claude Code, with answers: the plugin")

(defun todo-write-plugin-tests--install ()
  "Install the plugin by the button, and return the page."
  (todo-write-setup-test-write "bin/claude" todo-write-setup-test-claude #o755)
  (todo-write-setup-test-run todo-write-plugin-tests--name)
  (todo-write-setup-test-press "Install the plugin"))

(defun todo-write-plugin-tests--program ()
  "Return the file name of the plugin's program according to the settings, or nil."
  (plist-get (todo-write-plugin--state) :program))

(ert-deftest todo-write-plugin-is-installed-and-removed-if-its-button-is-pressed ()
  (todo-write-with-setup
    (should-not (todo-write-plugin-installed-p))
    (should-not (todo-write-plugin-tests--program))
    (let ((text (todo-write-plugin-tests--install)))
      (should (string-search "It is installed." text))
      (should (string-search "mcp__plugin_todo-write_todo-write__todo_write" text))
      (should (string-search "setup claude-plugin --run" (car kill-ring))))
    (should (todo-write-plugin-installed-p))
    (should (equal todo-write-version (todo-write-module-file-version (todo-write-plugin-tests--program))))
    (todo-write-setup-test-run todo-write-plugin-tests--name t)
    (let ((program (todo-write-plugin-tests--program)))
      (todo-write-setup-test-press "Remove the plugin")
      (should-not (file-exists-p program)))
    (should-not (todo-write-plugin-installed-p))))

;;; The doctor

(ert-deftest todo-write-plugin-the-doctor-asks-a-question-and-answers-it ()
  (todo-write-with-setup
    (let ((exec-path nil))
      (should-not (todo-write-plugin-finding)))
    (todo-write-setup-test-write "bin/claude" todo-write-setup-test-claude #o755)
    (should (eq 'note (car (todo-write-plugin-finding))))
    (should (string-search "not installed" (nth 1 (todo-write-plugin-finding))))
    (todo-write-plugin-tests--install)
    ;; A busy machine may answer later than the doctor waits.
    (todo-write-test-wait
     (lambda () (equal '(ok "Claude Code's plugin: a question was asked and answered")
                       (todo-write-plugin-finding))))
    (should-not (todo-write-requests))
    (should-not (todo-write-threads))
    (let ((todo-write-socket--roles (seq-remove (lambda (role) (equal "permission" (car role)))
                                                todo-write-socket--roles)))
      (should (equal "Claude Code's plugin: its question did not reach this Emacs"
                     (nth 1 (todo-write-plugin-finding)))))
    (todo-write-mcp-mode -1)
    (should (eq 'note (car (todo-write-plugin-finding))))
    (delete-file (todo-write-plugin-tests--program))
    (should (equal '(problem "Claude Code's plugin: its program is missing"
                             "M-x todo-write-mcp-setup")
                   (todo-write-plugin-finding)))))

(provide 'todo-write-plugin-tests)
;;; todo-write-plugin-tests.el ends here
