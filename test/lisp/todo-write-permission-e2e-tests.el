;;; todo-write-permission-e2e-tests.el --- Claude Code's hook  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests run `todo-write-mcp permission' as Claude Code does, and a separate
;; Emacs in which the user answers; the keys are in todo-write-answer-e2e-tests.el.  What
;; each answer becomes for Claude Code is tested in agents/src/hooks/permission.rs.  This
;; Emacs has the place of Claude Code: it keeps the process file that the hook watches.

;;; Code:

(require 'ert)
(require 'todo-write-mcp-helper)

(defvar todo-write-permission-e2e--home nil "Folder of Claude Code's files.")

(defmacro todo-write-permission-e2e-with-emacs (emacs &rest body)
  "Evaluate BODY with EMACS bound to a separate Emacs with an empty store."
  (declare (indent 1) (debug (symbolp body)))
  `(let ((todo-write-directory (make-temp-file "todo-write-test" t))
         (todo-write-permission-e2e--home (make-temp-file "claude" t)))
     (todo-write-mcp-helper-program)
     (make-directory (expand-file-name "sessions" todo-write-permission-e2e--home))
     (todo-write-permission-e2e--say "waiting")
     (let ((,emacs (todo-write-mcp-emacs-start)))
       (unwind-protect (progn ,@body)
         (todo-write-mcp-emacs-stop ,emacs)
         (todo-write-test-delete todo-write-directory)
         (todo-write-test-delete todo-write-permission-e2e--home)))))

(defun todo-write-permission-e2e--say (status &rest fields)
  "Write to the process file that Claude Code, this process, is STATUS.
FIELDS are further ones of that file."
  (let ((file (expand-file-name (format "sessions/%d.json" (emacs-pid))
                                todo-write-permission-e2e--home)))
    (write-region (json-serialize `(:sessionId "s1" :status ,status ,@fields))
                  nil (concat file ".new") nil 'silent)
    (rename-file (concat file ".new") file t)))

(defun todo-write-permission-e2e--input (&rest fields)
  "Return the input of a hook, a plist whose FIELDS replace the usual ones."
  (append fields (list :hook_event_name "PermissionRequest" :session_id "s1"
                       :cwd temporary-file-directory :permission_mode "default"
                       :tool_name "Bash" :tool_input '(:command "npm test")
                       :permission_suggestions
                       [(:type "addRules" :rules [(:toolName "Bash" :ruleContent "npm test *")]
                         :behavior "allow" :destination "localSettings")])))

(cl-defun todo-write-permission-e2e--start (socket input &key environment)
  "Start the hook for SOCKET with INPUT, a plist or text; return the process.
ENVIRONMENT is a list of further variables."
  (let* ((process-environment
          (append environment
                  (list (concat "CLAUDE_CONFIG_DIR=" todo-write-permission-e2e--home)
                        "CLAUDE_CODE_ENTRYPOINT=cli")
                  process-environment))
         (hook (make-process :name "hook" :buffer (generate-new-buffer " *hook*") :noquery t
                             :connection-type 'pipe :coding 'binary :sentinel #'ignore
                             :command (list (todo-write-mcp-helper-program)
                                            "permission" "--socket" socket))))
    (ignore-errors
      (process-send-string hook (if (stringp input) input (json-serialize input)))
      (process-send-eof hook))
    hook))

(defun todo-write-permission-e2e--ask (emacs &rest fields)
  "Let a hook ask in EMACS, as `todo-write-permission-e2e--input' with FIELDS."
  (let ((count (length (todo-write-permission-e2e--titles emacs))) hook)
    (todo-write-test-wait
     (lambda ()
       ;; It gives up an Emacs that a busy machine lets answer after two seconds.
       (unless (process-live-p hook)
         (setq hook (todo-write-permission-e2e--start
                     (todo-write-mcp-emacs-socket emacs)
                     (apply #'todo-write-permission-e2e--input fields))))
       (< count (length (todo-write-permission-e2e--titles emacs)))))
    hook))

(defun todo-write-permission-e2e--titles (emacs)
  "Return the titles of the open requests in EMACS."
  (todo-write-mcp-emacs-eval
   emacs '(mapcar (lambda (request) (plist-get request :title)) (todo-write-requests))))

(defun todo-write-permission-e2e--answer (emacs value &optional text title)
  "Answer in EMACS the request TITLE, or the only one, by VALUE and TEXT."
  (should (todo-write-mcp-emacs-eval
           emacs `(let ((request (seq-find (lambda (request)
                                             (member ,title (list nil (plist-get request :title))))
                                           (todo-write-requests))))
                    (todo-write-answer-request (plist-get request :thread)
                                               (plist-get request :id) ',value ,text)))))

(defun todo-write-permission-e2e--end (hook)
  "Wait until HOOK exits; return what it printed.
It must exit with 0."
  (todo-write-test-wait (lambda () (not (process-live-p hook))))
  (while (accept-process-output hook 0))
  (should (equal '(exit 0) (list (process-status hook) (process-exit-status hook))))
  (with-current-buffer (process-buffer hook)
    (prog1 (buffer-string) (kill-buffer))))

(defun todo-write-permission-e2e--decision (hook)
  "Wait until HOOK exits; return the decision that it printed, as text."
  (let ((output (todo-write-permission-e2e--end hook)))
    (should (string-match "\\`{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\",\"decision\":\\(.*\\)}}\n\\'"
                          output))
    (decode-coding-string (string-to-unibyte (match-string 1 output)) 'utf-8)))

;;; Answers

(ert-deftest todo-write-permission-e2e-two-sessions-get-their-own-answers ()
  (todo-write-permission-e2e-with-emacs emacs
    (let ((one (todo-write-permission-e2e--ask emacs :tool_input '(:command "one")))
          (two (todo-write-permission-e2e--ask emacs :session_id "s2"
                                               :tool_input '(:command "two"))))
      (todo-write-permission-e2e--answer emacs '(:behavior "deny") "Not “two”" "Bash: two")
      (should (equal "{\"behavior\":\"deny\",\"message\":\"Not “two”\"}"
                     (todo-write-permission-e2e--decision two)))
      (should (process-live-p one))
      (todo-write-permission-e2e--answer emacs '(:behavior "allow"))
      (should (equal "{\"behavior\":\"allow\"}" (todo-write-permission-e2e--decision one))))))

;;; Answered elsewhere

(ert-deftest todo-write-permission-e2e-an-answer-in-the-terminal-withdraws-the-request ()
  (todo-write-permission-e2e-with-emacs emacs
    ;; The dialog stands a moment after the hook begins.
    (todo-write-permission-e2e--say "busy")
    (let ((hook (todo-write-permission-e2e--ask emacs)) (statuses '("waiting" "busy")))
      (nconc statuses statuses)
      (should (process-live-p hook))
      ;; The hook looks now and then: it may miss one of them.
      (todo-write-test-wait
       (lambda ()
         (todo-write-permission-e2e--say (pop statuses))
         (not (process-live-p hook))))
      (todo-write-test-wait (lambda () (not (todo-write-permission-e2e--titles emacs))))
      (should (equal "" (todo-write-permission-e2e--end hook))))))

(ert-deftest todo-write-permission-e2e-the-end-of-claude-code-withdraws-the-request ()
  (todo-write-permission-e2e-with-emacs emacs
    (let ((hook (todo-write-permission-e2e--ask emacs)))
      (delete-file (expand-file-name (format "sessions/%d.json" (emacs-pid))
                                     todo-write-permission-e2e--home))
      (should (equal "" (todo-write-permission-e2e--end hook)))
      (todo-write-test-wait (lambda () (not (todo-write-permission-e2e--titles emacs)))))))

(ert-deftest todo-write-permission-e2e-a-hook-that-is-stopped-withdraws-the-request ()
  (todo-write-permission-e2e-with-emacs emacs
    (dolist (signal '(SIGTERM SIGINT SIGHUP))
      (let ((hook (todo-write-permission-e2e--ask emacs)))
        (signal-process hook signal)
        (should (equal "" (todo-write-permission-e2e--end hook)))
        (todo-write-test-wait (lambda () (not (todo-write-permission-e2e--titles emacs))))))
    (let ((hook (todo-write-permission-e2e--ask emacs)))
      (signal-process hook 'SIGKILL)
      (todo-write-test-wait (lambda () (not (todo-write-permission-e2e--titles emacs)))))))

(ert-deftest todo-write-permission-e2e-a-hook-decides-nothing-once-emacs-has-gone ()
  (todo-write-permission-e2e-with-emacs emacs
    (let ((hook (todo-write-permission-e2e--ask emacs)))
      (todo-write-mcp-emacs-stop emacs)
      (should (equal "" (todo-write-permission-e2e--end hook)))
      (setq emacs (todo-write-mcp-emacs-start (todo-write-mcp-emacs-socket emacs)))
      (should-not (todo-write-permission-e2e--titles emacs))
      (delete-process (todo-write-permission-e2e--ask emacs)))))

;;; Without an answer

(ert-deftest todo-write-permission-e2e-without-an-emacs-the-dialog-is-alone ()
  (let* ((todo-write-permission-e2e--home (make-temp-file "claude" t))
         (socket (todo-write-mcp-helper-socket)))
    (should (equal "" (todo-write-permission-e2e--end
                       (todo-write-permission-e2e--start
                        socket (todo-write-permission-e2e--input)))))))

(ert-deftest todo-write-permission-e2e-a-subagent-waits-for-at-most-ten-seconds ()
  (todo-write-permission-e2e-with-emacs emacs
    (let ((start (float-time))
          (hook (todo-write-permission-e2e--start
                 (todo-write-mcp-emacs-socket emacs)
                 (todo-write-permission-e2e--input :agent_id "a1" :agent_type "helper"))))
      (todo-write-test-wait (lambda () (equal '("subagent helper: Bash: npm test")
                                              (todo-write-permission-e2e--titles emacs))))
      ;; The dialogs of the main agent are not the subagent's.
      (todo-write-permission-e2e--say "busy")
      (should (equal "" (todo-write-permission-e2e--end hook)))
      (should (< 9 (- (float-time) start)))
      (todo-write-test-wait (lambda () (not (todo-write-permission-e2e--titles emacs)))))))

(ert-deftest todo-write-permission-e2e-where-no-dialog-is-shown-nothing-is-asked ()
  (todo-write-permission-e2e-with-emacs emacs
    ;; Else a request would stay open, and the hook would wait.
    (dolist (start
             (list (lambda (socket)
                     (todo-write-permission-e2e--start
                      socket (todo-write-permission-e2e--input :permission_mode "dontAsk")))
                   (lambda (socket)
                     (todo-write-permission-e2e--start
                      socket (todo-write-permission-e2e--input)
                      :environment '("CLAUDE_CODE_ENTRYPOINT=sdk-cli")))
                   (lambda (socket)
                     (todo-write-permission-e2e--say "busy" :entrypoint "sdk-cli")
                     (todo-write-permission-e2e--start
                      socket (todo-write-permission-e2e--input)))))
      (should (equal "" (todo-write-permission-e2e--end
                         (funcall start (todo-write-mcp-emacs-socket emacs)))))
      (should-not (todo-write-permission-e2e--titles emacs)))))

(ert-deftest todo-write-permission-e2e-input-that-is-no-question-asks-nothing ()
  (todo-write-permission-e2e-with-emacs emacs
    (dolist (input (list "" "{" "[]" "null" "\xff" "{\"hook_event_name\":\"Stop\"}"
                         "{\"hook_event_name\":\"PermissionRequest\",\"tool_name\":\"\\ud800\"}"
                         (json-serialize (todo-write-permission-e2e--input
                                          :tool_input (list :command (make-string (ash 1 20) ?x))))))
      (should (equal "" (todo-write-permission-e2e--end
                         (todo-write-permission-e2e--start
                          (todo-write-mcp-emacs-socket emacs) input))))
      (should-not (todo-write-permission-e2e--titles emacs)))))

;;; An Emacs that answers nonsense

(defun todo-write-permission-e2e--fake (reply)
  "Return a server process that answers each call with REPLY, text."
  (make-network-process
   :name "fake" :server t :family 'local :noquery t :coding 'binary
   :service (todo-write-mcp-helper-socket) :sentinel #'ignore
   :filter (lambda (process chunk)
             (when (string-search "\"type\":\"hello\"" chunk)
               (process-send-string process "{\"type\":\"welcome\",\"protocol\":1}\n"))
             (when (string-search "\"type\":\"call\"" chunk)
               (process-send-string process (concat reply "\n"))
               (delete-process process)))))

(ert-deftest todo-write-permission-e2e-nothing-but-the-answer-to-this-call-allows-anything ()
  (let ((todo-write-permission-e2e--home (make-temp-file "claude" t)))
    (pcase-dolist
        (`(,allows . ,reply)
         '((t . "{\"type\":\"answer\",\"call\":1,\"ok\":true,\"decision\":{\"behavior\":\"allow\"}}")
           (nil . "{\"type\":\"answer\",\"call\":2,\"ok\":true,\"decision\":{\"behavior\":\"allow\"}}")
           (nil . "{\"type\":\"answer\",\"call\":1,\"ok\":false,\"decision\":{\"behavior\":\"allow\"}}")
           (nil . "{\"type\":\"answer\",\"call\":1,\"ok\":true,\"decision\":{\"behavior\":\"ask\"}}")
           (nil . "{\"type\":\"answer\",\"call\":1,\"ok\":true,\"decision\":\"allow\"}")
           (nil . "{\"type\":\"answer\",\"call\":1,\"ok\":true,\"text\":\"allow\"}")
           (nil . "{\"type\":\"answer\",\"call\":1,\"ok\":true,\"decision\":{\"behavior\":\"allow\",\"suggestion\":7}}")
           (nil . "allow")
           (nil . "{\"type\":\"refused\",\"text\":\"allow\"}")))
      (let ((fake (with-file-modes #o700 (todo-write-permission-e2e--fake reply))))
        (unwind-protect
            (should (equal (if allows "{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\",\"decision\":{\"behavior\":\"allow\"}}}\n" "")
                           (todo-write-permission-e2e--end
                            (todo-write-permission-e2e--start
                             (process-contact fake :service)
                             (todo-write-permission-e2e--input)))))
          (delete-process fake))))))

(provide 'todo-write-permission-e2e-tests)
;;; todo-write-permission-e2e-tests.el ends here
