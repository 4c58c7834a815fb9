;;; todo-write-plugin-tests.el --- The plugin for Claude Code  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What the setup writes and runs, and what the doctor finds, with the genuine
;; program.  test/hosts/answer.sh installs the plugin in the genuine Claude Code.

;;; Code:

(require 'todo-write-doctor)
(require 'todo-write-mcp-helper)
(require 'todo-write-plugin)
(require 'todo-write-socket-helper)

(defmacro todo-write-plugin-tests--with (answers &rest body)
  "Evaluate BODY with the socket and a user who gives ANSWERS to questions.
Claude Code seems to be there; `ran' has the commands that were run, newest
first.  They succeed if `succeed' is non-nil."
  (declare (indent 1) (debug t))
  `(let* ((user-emacs-directory (file-name-as-directory (make-temp-file "emacs d" t)))
          (home (make-temp-file "claude" t))
          (process-environment (cons (concat "CLAUDE_CONFIG_DIR=" home) process-environment))
          (todo-write-mcp-program (todo-write-mcp-helper-program))
          (kill-ring nil) (interprogram-cut-function nil) (user-init-file nil)
          (answers ,answers) (ran nil) (succeed t)
          (call (symbol-function 'call-process)))
     (ignore ran succeed)
     (unwind-protect
         (todo-write-with-socket
           (cl-letf (((symbol-function 'executable-find) (lambda (name &rest _) name))
                     ((symbol-function 'y-or-n-p) (lambda (_) (pop answers)))
                     ((symbol-function 'call-process)
                      (lambda (program &rest arguments)
                        (if (not (equal program "claude"))
                            (apply call program arguments)
                          (push (cons program (cdddr arguments)) ran)
                          (if succeed 0 1)))))
             ,@body))
       (when (get-buffer "*todo-write MCP*") (kill-buffer "*todo-write MCP*"))
       (delete-directory user-emacs-directory t)
       (delete-directory home t))))

(defun todo-write-plugin-tests--json (file)
  "Return the JSON in FILE of the plugin that Claude Code reads."
  (with-temp-buffer
    (insert-file-contents (expand-file-name file (todo-write-plugin--folder)))
    (json-parse-buffer :object-type 'alist)))

(defun todo-write-plugin-tests--commands ()
  "Return the commands of the hooks of the plugin that Claude Code reads."
  (mapcar (lambda (hook)
            (let-alist (aref (alist-get 'hooks (aref (cdr hook) 0)) 0)
              .command))
          (alist-get 'hooks (todo-write-plugin-tests--json "todo-write/hooks/hooks.json"))))

(ert-deftest todo-write-plugin-its-files-name-the-program-and-a-changed-socket ()
  (todo-write-plugin-tests--with nil
    (todo-write-plugin--write)
    (should (file-executable-p (todo-write-plugin--program)))
    (let ((option (concat " --socket " (shell-quote-argument todo-write-socket))))
      (should (equal (todo-write-plugin-tests--commands)
                     (mapcar (lambda (name)
                               (concat "\"${CLAUDE_PLUGIN_ROOT}/todo-write-mcp\" " name option))
                             '("permission" "note" "note")))))
    (let-alist (todo-write-plugin-tests--json "todo-write/.mcp.json")
      (should (equal .mcpServers.todo-write.args (vector "--socket" todo-write-socket))))
    (let ((todo-write-socket nil))
      (todo-write-plugin--write))
    (should (equal "\"${CLAUDE_PLUGIN_ROOT}/todo-write-mcp\" permission"
                   (car (todo-write-plugin-tests--commands))))))

(ert-deftest todo-write-plugin-has-the-version-of-the-package ()
  (todo-write-plugin-tests--with nil
    (todo-write-plugin--write)
    (should (equal todo-write-version
                   (alist-get 'version (todo-write-plugin-tests--json
                                        "todo-write/.claude-plugin/plugin.json"))))
    (should (equal todo-write-version
                   (todo-write-module--file-version (todo-write-plugin--program))))))

(ert-deftest todo-write-plugin-is-installed-by-claude-codes-own-commands-after-a-yes ()
  (todo-write-plugin-tests--with '(t)
    (todo-write-mcp-setup todo-write-mcp-setup--plugin)
    (let ((folder (directory-file-name (todo-write-plugin--folder))))
      (should (equal (reverse ran)
                     `(("claude" "mcp" "remove" "--scope" "user" "todo-write")
                       ("claude" "plugin" "marketplace" "add" ,folder)
                       ("claude" "plugin" "install" "todo-write@todo-write"))))
      (should (string-search (shell-quote-argument folder) (car kill-ring))))
    (with-current-buffer "*todo-write MCP*"
      (should (string-search "\nDone." (buffer-string)))
      (should (string-search "mcp__plugin_todo-write_todo-write__todo_write" (buffer-string)))))
  (todo-write-plugin-tests--with nil
    (todo-write-mcp-setup todo-write-mcp-setup--plugin)
    (should-not ran))
  (todo-write-plugin-tests--with '(t)
    (setq succeed nil)
    (todo-write-mcp-setup todo-write-mcp-setup--plugin)
    (with-current-buffer "*todo-write MCP*"
      (should (string-search "It failed" (buffer-string))))))

(ert-deftest todo-write-plugin-the-same-is-shown-as-settings-to-paste ()
  (todo-write-plugin-tests--with nil
    (todo-write-mcp-setup todo-write-mcp-setup--plugin)
    (with-current-buffer "*todo-write MCP*"
      (goto-char (point-min))
      (search-forward "settings of your own")
      (search-forward "{")
      (backward-char)
      (let-alist (json-parse-buffer :object-type 'alist)
        (should (equal (list .hooks.PermissionRequest .hooks.PostToolUse .hooks.Stop)
                       (mapcar (lambda (hook)
                                 (vector
                                  `((hooks . ,(vector
                                               `((type . "command") (timeout . ,(cdr hook))
                                                 (command . ,(format "%s %s --socket %s"
                                                                     todo-write-mcp-program
                                                                     (car hook)
                                                                     todo-write-socket))))))))
                               '(("permission" . 570) ("note" . 5) ("note" . 5)))))))))

(ert-deftest todo-write-plugin-is-removed-after-a-yes ()
  (todo-write-plugin-tests--with '(t)
    (todo-write-plugin--write)
    (todo-write-mcp-setup todo-write-mcp-setup--plugin t)
    (should (equal (reverse ran) '(("claude" "plugin" "uninstall" "todo-write@todo-write")
                                   ("claude" "plugin" "marketplace" "remove" "todo-write"))))
    (should-not (file-exists-p (todo-write-plugin--folder)))))

(ert-deftest todo-write-plugin-the-tool-is-removed-from-an-agent-after-a-yes ()
  (todo-write-plugin-tests--with '(t)
    (todo-write-mcp-setup "Claude Code" t)
    (should (equal ran '(("claude" "mcp" "remove" "--scope" "user" "todo-write"))))
    (should-error (todo-write-mcp-setup "Cursor" t) :type 'user-error)))

;;; The doctor

(defun todo-write-plugin-tests--enable (home)
  "Write settings in HOME that enable the plugin."
  (write-region "{\"enabledPlugins\": {\"todo-write@todo-write\": true}}" nil
                (expand-file-name "settings.json" home) nil 'silent))

(ert-deftest todo-write-plugin-the-doctor-asks-a-question-and-answers-it ()
  (todo-write-plugin-tests--with nil
    (should (eq 'note (car (todo-write-plugin--finding))))
    (should (string-search "not installed" (nth 1 (todo-write-plugin--finding))))
    (todo-write-plugin-tests--enable home)
    (should (equal '(problem "Claude Code's plugin: its program is missing"
                             "M-x todo-write-mcp-setup")
                   (todo-write-plugin--finding)))
    (todo-write-plugin--write)
    (should (equal '(ok "Claude Code's plugin: a question was asked and answered")
                   (todo-write-plugin--finding)))
    (should-not (todo-write-requests))
    (should-not (todo-write-threads))
    (let ((todo-write-socket--roles (seq-remove (lambda (role) (equal "permission" (car role)))
                                                todo-write-socket--roles)))
      (should (equal "Claude Code's plugin: its question did not reach this Emacs"
                     (nth 1 (todo-write-plugin--finding)))))
    (todo-write-mcp-mode -1)
    (should (eq 'note (car (todo-write-plugin--finding))))))

(provide 'todo-write-plugin-tests)
;;; todo-write-plugin-tests.el ends here
