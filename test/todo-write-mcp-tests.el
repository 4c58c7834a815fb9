;;; todo-write-mcp-tests.el --- Tests of the calls of MCP clients  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests call `todo-write-mcp-call' as the program does.  The program itself
;; is tested in todo-write-mcp-e2e-tests.el.

;;; Code:

(require 'ert)
(require 'todo-write-mcp)
(require 'todo-write-test-helper)

(defun todo-write-mcp-tests--send (&rest call)
  "Pass CALL, a plist, as the program does; return (OK . TEXT)."
  (let* ((call (append call (list :until (+ 5000 (floor (* 1000 (float-time)))))))
         (answer (json-parse-string
                  (decode-coding-string
                   (base64-decode-string
                    (todo-write-mcp-call
                     (base64-encode-string
                      (encode-coding-string (json-serialize call) 'utf-8) t)))
                   'utf-8)
                  :object-type 'plist :false-object nil)))
    (cons (not (plist-get answer :error)) (plist-get answer :text))))

(defun todo-write-mcp-tests--write (session &rest entries)
  "Write ENTRIES as the client of SESSION, a plist; return (OK . TEXT)."
  (apply #'todo-write-mcp-tests--send
         :arguments (json-serialize (apply #'todo-write-test-todos entries))
         session))

(defconst todo-write-mcp-tests--claude
  (list :client "claude-code" :session "5e55-10" :process (emacs-pid) :started 17
        :project temporary-file-directory))

(defmacro todo-write-mcp-tests--with-store (&rest body)
  "Evaluate BODY with an empty store and no sessions."
  (declare (indent 0) (debug t))
  `(let ((todo-write-mcp--sessions (make-hash-table :test #'equal))
         (todo-write-mcp--timer nil))
     (unwind-protect (todo-write-with-store ,@body)
       (maphash (lambda (thread _) (todo-write-set-activity thread nil))
                todo-write-mcp--sessions)
       (when todo-write-mcp--timer (cancel-timer todo-write-mcp--timer)))))

(ert-deftest todo-write-mcp-a-list-gets-the-thread-of-its-session ()
  (todo-write-mcp-tests--with-store
    (pcase-dolist (`(,client ,session ,thread)
                   '(("claude-code" "5e55-10" "claude:5e55-10")
                     ("codex-mcp-client" "0199-a" "codex:0199-a")
                     ("copilot-cli" "77" "mcp:copilot-cli:77")
                     ("opencode" :null "mcp:opencode:4-17")
                     ("claude-code" :null "mcp:claude-code:4-17")
                     ("../e vil\n" "a/b" "mcp:..-e-vil-:a-b")))
      (let ((answer (todo-write-mcp-tests--write
                     (list :client client :session session :process 4 :started 17
                           :project "/")
                     "One" '("Two" "in_progress"))))
        (should (car answer))
        (should (equal (todo-write-test-contents thread) '("One" "Two")))))))

(ert-deftest todo-write-mcp-a-thread-has-the-project-and-a-title ()
  (todo-write-mcp-tests--with-store
    (let* ((folder (file-name-as-directory (make-temp-file "todo-write-mcp" t)))
           (name (file-name-nondirectory (directory-file-name folder))))
      (todo-write-mcp-tests--write
       (append (list :project folder) todo-write-mcp-tests--claude) "One")
      (should (equal (plist-get (todo-write-about "claude:5e55-10") :project) folder))
      (should (equal (plist-get (todo-write-summary "claude:5e55-10") :title)
                     (concat "Claude Code in " name))))))

(ert-deftest todo-write-mcp-a-client-cannot-name-a-remote-project ()
  (todo-write-mcp-tests--with-store
    (let ((asked nil))
      (let ((file-name-handler-alist
             (list (cons "\\`/nowhere:" (lambda (&rest _) (setq asked t) nil)))))
        (todo-write-mcp-tests--write
         (append '(:project "/nowhere:host:/~/x") todo-write-mcp-tests--claude) "One"))
      (should-not asked)
      (should (equal (plist-get (todo-write-about "claude:5e55-10") :project)
                     (expand-file-name "~/"))))))

(ert-deftest todo-write-mcp-a-refused-list-is-an-error-with-its-problems ()
  (todo-write-mcp-tests--with-store
    (let ((answer (todo-write-mcp-tests--write todo-write-mcp-tests--claude
                                               '("One" "blocked"))))
      (should-not (car answer))
      (should (string-match-p "todos\\[0\\]\\.status" (cdr answer))))))

(ert-deftest todo-write-mcp-the-next-call-reports-the-users-edits ()
  (todo-write-mcp-tests--with-store
    (todo-write-mcp-tests--write todo-write-mcp-tests--claude "One")
    (todo-write-edit "claude:5e55-10" 'add "Mine")
    (should (string-match-p
             "Mine" (cdr (todo-write-mcp-tests--write todo-write-mcp-tests--claude "One"))))
    (should-not (string-match-p
                 "Mine"
                 (cdr (todo-write-mcp-tests--write todo-write-mcp-tests--claude
                                                   "One" "Mine"))))))

(ert-deftest todo-write-mcp-a-session-that-ends-is-paused ()
  (todo-write-mcp-tests--with-store
    (todo-write-mcp-tests--write todo-write-mcp-tests--claude '("One" "in_progress"))
    (should (todo-write-activity "claude:5e55-10"))
    (todo-write-mcp-tests--send :ended (vector todo-write-mcp-tests--claude))
    (should-not (todo-write-activity "claude:5e55-10"))
    (should (eq (todo-write-state "claude:5e55-10") 'paused))
    (todo-write-mcp-tests--write todo-write-mcp-tests--claude '("One" "in_progress"))
    (should (eq (todo-write-state "claude:5e55-10") 'active))))

(ert-deftest todo-write-mcp-a-finished-plan-stays-done-when-its-session-ends ()
  (todo-write-mcp-tests--with-store
    (todo-write-mcp-tests--write todo-write-mcp-tests--claude '("One" "completed"))
    (todo-write-mcp-tests--send :ended (vector todo-write-mcp-tests--claude))
    (should (eq (todo-write-state "claude:5e55-10") 'done))))

(ert-deftest todo-write-mcp-the-end-of-an-older-process-does-not-pause ()
  (todo-write-mcp-tests--with-store
    (todo-write-mcp-tests--write todo-write-mcp-tests--claude '("One" "in_progress"))
    (todo-write-mcp-tests--send
     :ended (vector (append '(:process 1) todo-write-mcp-tests--claude)))
    (should (eq (todo-write-state "claude:5e55-10") 'active))))

(ert-deftest todo-write-mcp-a-killed-session-is-paused ()
  (todo-write-mcp-tests--with-store
    (let ((process (start-process "mcp" nil "cat")))
      (todo-write-mcp-tests--write
       (append (list :process (process-id process)) todo-write-mcp-tests--claude) "One")
      (todo-write-mcp--check-sessions)
      (should (eq (todo-write-state "claude:5e55-10") 'active))
      (delete-process process)
      (todo-write-test-wait
       (lambda ()
         (todo-write-mcp--check-sessions)
         (eq (todo-write-state "claude:5e55-10") 'paused)))
      (should-not todo-write-mcp--timer))))

(ert-deftest todo-write-mcp-a-quiet-session-is-paused ()
  (todo-write-mcp-tests--with-store
    (todo-write-mcp-tests--write todo-write-mcp-tests--claude "One")
    (setcdr (gethash "claude:5e55-10" todo-write-mcp--sessions)
            (- (float-time) todo-write-mcp-quiet 1))
    (todo-write-mcp--check-sessions)
    (should (eq (todo-write-state "claude:5e55-10") 'paused))))

(ert-deftest todo-write-mcp-a-call-that-comes-too-late-is-dropped ()
  (todo-write-mcp-tests--with-store
    (should-not (car (todo-write-mcp-tests--write
                      (append (list :until (- (floor (* 1000 (float-time))) 1))
                              todo-write-mcp-tests--claude)
                      "One")))
    (should-not (todo-write-threads))))

(ert-deftest todo-write-mcp-an-invalid-call-gets-an-answer ()
  (dolist (call (list "" "?" (base64-encode-string "null") (base64-encode-string "[")
                      (base64-encode-string "{\"file\":\"/nowhere\"}")))
    (should (stringp (base64-decode-string (todo-write-mcp-call call))))))

(ert-deftest todo-write-mcp-the-program-has-the-tool-of-the-package ()
  (let ((ours (json-parse-string (json-serialize (todo-write-tool-schema))
                                 :object-type 'alist))
        (its (with-temp-buffer
               (insert-file-contents
                (expand-file-name "mcp/src/tool.json" (getenv "TODO_WRITE_ROOT")))
               (json-parse-buffer :object-type 'alist))))
    (pcase-dolist (`(,key . ,its-key) '((name . name) (description . description)
                                        (input_schema . inputSchema)))
      (should (equal (alist-get key ours) (alist-get its-key its))))))

(provide 'todo-write-mcp-tests)
;;; todo-write-mcp-tests.el ends here
