;;; todo-write-tell-e2e-tests.el --- The hook that tells agents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests run `todo-write-mcp note' as Claude Code does after each tool call and
;; at the end of a turn, with a separate Emacs.

;;; Code:

(require 'todo-write-mcp-helper)

(defmacro todo-write-tell-e2e-with-emacs (emacs &rest body)
  "Evaluate BODY with EMACS bound to a separate Emacs.
It follows a session, s1, and its user has just added a task."
  (declare (indent 1) (debug (symbolp body)))
  `(let ((todo-write-directory (make-temp-file "todo-write-test" t)))
     (todo-write-mcp-helper-program)
     (let ((,emacs (todo-write-mcp-emacs-start)))
       (unwind-protect
           (progn
             (todo-write-mcp-emacs-eval
              ,emacs '(progn (todo-write "claude:s1" '(:todos [(:content "Rake" :status "pending")])
                                         "claude" t)
                             t))
             (todo-write-tell-e2e--add ,emacs "Weed")
             ,@body)
         (todo-write-mcp-emacs-stop ,emacs)
         (todo-write-test-delete todo-write-directory)))))

(defun todo-write-tell-e2e--add (emacs task)
  "Add TASK in EMACS as the user."
  (todo-write-mcp-emacs-eval emacs `(progn (todo-write-edit "claude:s1" 'add ,task) t)))

(defun todo-write-tell-e2e--hook (emacs event &rest fields)
  "Run the hook for EVENT with FIELDS for EMACS; return its output, a plist, or nil."
  (let ((hook (make-process
               :name "hook" :buffer (generate-new-buffer " *hook*" t) :noquery t
               :connection-type 'pipe :coding 'utf-8 :sentinel #'ignore
               :command (list (todo-write-mcp-helper-program) "note"
                              "--socket" (todo-write-mcp-emacs-socket emacs)))))
    (process-send-string hook (json-serialize
                               (append fields (list :hook_event_name event :session_id "s1"
                                                    :cwd temporary-file-directory))))
    (process-send-eof hook)
    (todo-write-test-wait (lambda () (not (process-live-p hook))))
    (while (accept-process-output hook 0))
    (should (equal 0 (process-exit-status hook)))
    (with-current-buffer (process-buffer hook)
      (prog1 (unless (= (point-min) (point-max))
               (goto-char (point-min))
               (json-parse-buffer :object-type 'plist))
        (kill-buffer)))))

(defun todo-write-tell-e2e--told (emacs event)
  "Return the output of the hook for EVENT, run until EMACS answers in time."
  (todo-write-test-wait (lambda () (todo-write-tell-e2e--hook emacs event))))

(ert-deftest todo-write-tell-e2e-the-agent-hears-after-a-tool-call-once ()
  (todo-write-tell-e2e-with-emacs emacs
    ;; A subagent is not told.
    (should-not (todo-write-tell-e2e--hook emacs "PostToolUse" :agent_id "a1"))
    (should (equal (todo-write-tell-e2e--told emacs "PostToolUse")
                   '(:hookSpecificOutput
                     (:hookEventName "PostToolUse" :additionalContext
                      "The user edited your task list; change your tasks accordingly.
The user added \"Weed\" (pending)."))))
    (should-not (todo-write-tell-e2e--hook emacs "PostToolUse"))))

(ert-deftest todo-write-tell-e2e-an-agent-that-stops-goes-on-once ()
  (todo-write-tell-e2e-with-emacs emacs
    (should-not (todo-write-tell-e2e--hook emacs "Stop" :stop_hook_active t))
    (let ((output (todo-write-tell-e2e--told emacs "Stop")))
      (should (equal "block" (plist-get output :decision)))
      (should (string-search "The user added \"Weed\"" (plist-get output :reason))))
    (should-not (todo-write-tell-e2e--hook emacs "Stop"))))

(ert-deftest todo-write-tell-e2e-a-busy-or-missing-emacs-does-not-hold-the-agent ()
  (todo-write-tell-e2e-with-emacs emacs
    (todo-write-mcp-emacs-suspend emacs)
    (should-not (todo-write-tell-e2e--hook emacs "PostToolUse"))
    (signal-process (todo-write-mcp-emacs-process emacs) 'SIGCONT)
    ;; It is told the next time.
    (should (todo-write-tell-e2e--told emacs "PostToolUse"))
    (todo-write-mcp-emacs-stop emacs)
    (should-not (todo-write-tell-e2e--hook emacs "PostToolUse"))))

(provide 'todo-write-tell-e2e-tests)
;;; todo-write-tell-e2e-tests.el ends here
