;;; todo-write-setup-helper.el --- A user who sets agents up  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A user with a home of their own calls `todo-write-setup', with the genuine
;; program, and presses buttons.  The agents' commands are stand-ins that write what
;; the genuine ones were seen to write.

;;; Code:

(require 'button)
(require 'cl-lib)
(require 'todo-write-mcp-helper)
(require 'todo-write-mcp-setup)
(require 'todo-write-socket-helper)

(defconst todo-write-setup-test-claude "#!/bin/sh
echo \"claude $*\" >>\"$HOME/log\"
case \"$1 $2\" in
\"mcp add\")
  printf '{\"mcpServers\": {\"todo-write\": {\"command\": \"%s\", \"args\": [\"%s\", \"%s\"]}}}' \
    \"$7\" \"$8\" \"$9\" >\"$HOME/.claude.json\" ;;
\"mcp remove\") rm -f \"$HOME/.claude.json\" ;;
\"plugin marketplace\") test \"$3\" = add && echo \"$4\" >\"$HOME/marketplace\" ;;
\"plugin install\")
  printf '{\"enabledPlugins\": {\"%s\": true}, \"extraKnownMarketplaces\": {\"todo-write\": {\"source\": {\"path\": \"%s\"}}}}' \
    \"$3\" \"$(cat \"$HOME/marketplace\")\" >\"$HOME/.claude/settings.json\" ;;
\"plugin uninstall\") echo '{}' >\"$HOME/.claude/settings.json\" ;;
esac
echo Done it.
" "Stand-in for Claude Code's commands.")

(defmacro todo-write-with-setup (&rest body)
  "Evaluate BODY with a new HOME, the socket and the genuine program."
  (declare (indent 0) (debug t))
  `(let* ((home (file-name-as-directory (make-temp-file "home" t)))
          (user-emacs-directory (concat home "emacs d/"))
          (process-environment (append (list (concat "HOME=" home) "CLAUDE_CONFIG_DIR" "CODEX_HOME"
                                             "XDG_DATA_HOME" "XDG_CONFIG_HOME" "PATH=/usr/bin:/bin")
                                       process-environment))
          (exec-path (list (concat home "bin")))
          (todo-write-mcp-program (todo-write-mcp-helper-program))
          (kill-ring nil) (interprogram-cut-function nil) (user-init-file nil))
     (make-directory (concat home ".claude") t)
     (unwind-protect (todo-write-with-socket ,@body)
       (when (get-buffer "*todo-write MCP*")
         (kill-buffer "*todo-write MCP*"))
       (delete-directory home t))))

(defun todo-write-setup-test-write (name text &optional modes)
  "Write TEXT to the file NAME in the user's home, with MODES if non-nil."
  (let ((file (expand-file-name name "~/")))
    (make-directory (file-name-directory file) t)
    (write-region text nil file nil 'silent)
    (when modes (set-file-modes file modes))))

(defun todo-write-setup-test-read (name)
  "Return the text of the file NAME in the user's home, \"\" if it is missing."
  (with-temp-buffer
    (ignore-errors                      ; Most files are missing at first.
      (insert-file-contents (expand-file-name name "~/")))
    (buffer-string)))

(defun todo-write-setup-test-page ()
  "Return the page of the setup when it is drawn."
  (with-current-buffer "*todo-write MCP*"
    (todo-write-test-wait (lambda () (null mode-line-process)))
    (buffer-string)))

(defun todo-write-setup-test-run ()
  "Show the page of the setup, and return it."
  (todo-write-setup)
  (todo-write-setup-test-page))

(defun todo-write-setup-test-press (agent label)
  "Press the button LABEL of the first entry of AGENT, and return the page."
  (with-current-buffer "*todo-write MCP*"
    (goto-char (point-min))
    (re-search-forward (concat "^" agent))
    (search-forward (format "[%s]" label))
    (push-button (match-beginning 0)))
  (todo-write-setup-test-page))

(defun todo-write-setup-test-buttons ()
  "Return the labels of the page's buttons."
  (with-current-buffer "*todo-write MCP*"
    (save-excursion
      (goto-char (point-min))
      (cl-loop while (re-search-forward "\\[\\([^]\n]*\\)\\]" nil t)
               when (button-at (match-beginning 0)) collect (match-string 1)))))

(provide 'todo-write-setup-helper)
;;; todo-write-setup-helper.el ends here
