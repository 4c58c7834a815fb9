;;; todo-write-tell-tests.el --- Agents hear what the user did  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What Emacs says to the hook `todo-write-mcp note', and when the hook asks.  The
;; program is tested in todo-write-tell-e2e-tests.el, and with the genuine Claude Code
;; by test/hosts/claude.sh.

;;; Code:

(require 'todo-write-tell)
(require 'todo-write-permission)
(require 'todo-write-socket-helper)

(defmacro todo-write-tell-tests--with (&rest body)
  "Run BODY with the socket, and a plan of a session that is followed."
  (declare (indent 0) (debug t))
  `(let ((todo-write-tell-waiting nil)
         (todo-write-permission--calls nil))
     (todo-write-with-socket
       ;; As from a transcript: no result reaches the agent.
       (todo-write "claude:s1" (todo-write-test-todos "Rake" "Water") "claude" t)
       ,@body)))

(defun todo-write-tell-tests--hook (event &rest fields)
  "Ask as the hook for EVENT of the session s1 with FIELDS; return the text or nil."
  (let* ((hook (todo-write-socket-test-hello :role "note" :id (format "note-%s" (random t))))
         (answer (todo-write-socket-test-call
                  hook (list :session "s1" :arguments (append fields (list :event event))))))
    (should (car answer))
    (unless (equal "" (cdr answer)) (cdr answer))))

(defun todo-write-tell-tests--told (event)
  "Ask as the hook for EVENT of the session s1 until there is something to say; return that."
  (todo-write-test-wait (lambda () (todo-write-tell-tests--hook event))))

(ert-deftest todo-write-tell-tells-edits-of-a-followed-plan-once ()
  (todo-write-tell-tests--with
    (should-not (todo-write-tell-tests--hook "PostToolUse"))
    (todo-write-edit "claude:s1" 'add "Weed")
    (todo-write-edit "claude:s1" 'delete (todo-write-test-id "claude:s1" "Rake"))
    (should (equal (todo-write-tell-tests--told "PostToolUse")
                   "The user edited your task list; change your tasks accordingly.
The user added \"Weed\" (pending).
The user deleted \"Rake\"."))
    (should-not (todo-write-tell-tests--hook "PostToolUse"))
    ;; The agent goes on with its own list.
    (todo-write "claude:s1" (todo-write-test-todos '("Rake" "in_progress") "Water") "claude" t)
    (should-not (plist-get (seq-find (lambda (item) (equal "Weed" (plist-get item :content)))
                                     (todo-write-items "claude:s1"))
                           :untold))
    (todo-write-edit "claude:s1" 'rename (todo-write-test-id "claude:s1" "Water") "Water all")
    (should (string-suffix-p "\nThe user renamed \"Water\" to \"Water all\"."
                             (todo-write-tell-tests--told "PostToolUse")))))

(ert-deftest todo-write-tell-rows-say-at-once-that-a-task-was-told ()
  (todo-write-tell-tests--with
    (todo-write-edit "claude:s1" 'add "Weed")
    (let* ((events nil)
           (todo-write-events-functions
            (cons (lambda (thread what _) (push (cons thread what) events))
                  todo-write-events-functions)))
      (should (todo-write-tell-tests--told "PostToolUse"))
      (should (member '("claude:s1" . change) events))
      (should-not (plist-get (todo-write-item "claude:s1" (todo-write-test-id "claude:s1" "Weed"))
                             :untold)))))

(ert-deftest todo-write-tell-a-forgotten-plan-leaves-nothing-told ()
  (todo-write-tell-tests--with
    (dotimes (_ 2)
      (todo-write-edit "claude:s1" 'add "Weed")
      (should (todo-write-tell-tests--told "PostToolUse"))
      (todo-write-plan-comment "claude:s1" "Hello")
      (todo-write-forget "claude:s1")
      (should-not (todo-write-plan-comments "claude:s1"))
      ;; The session goes on with the same list.
      (todo-write "claude:s1" (todo-write-test-todos "Rake" "Water") "claude" t))))

(ert-deftest todo-write-tell-tells-nothing-that-todo-write-tells ()
  (todo-write-tell-tests--with
    (todo-write "claude:s1" (todo-write-test-todos "Rake" "Water") "Claude Code")
    (todo-write-edit "claude:s1" 'add "Weed")
    (should-not (todo-write-tell--deliver "claude:s1" #'identity))))

(ert-deftest todo-write-tell-tells-it-again-if-the-hook-has-left ()
  (todo-write-tell-tests--with
    (todo-write-edit "claude:s1" 'add "Weed")
    (should-not (todo-write-tell--deliver "claude:s1" #'ignore))
    (should (todo-write-tell-tests--told "PostToolUse"))
    (should-not (todo-write-tell-tests--hook "PostToolUse"))))

(ert-deftest todo-write-tell-says-once-that-there-is-something-to-say ()
  (todo-write-tell-tests--with
    (let* (told
           (note (lambda (_ command) (push command told))))
      (advice-add 'todo-write-hub-tell :before note)
      (unwind-protect
          (progn
            (todo-write-tell-update "claude:s1")
            (should-not told)
            (todo-write-edit "claude:s1" 'add "Weed")
            (dotimes (_ 2) (todo-write-tell-update "claude:s1"))
            (should (equal '((tell "s1" t)) told))
            ;; A program that has begun again knows nothing.
            (todo-write-tell-update-machine nil)
            (should (equal '((tell "s1" t) (tell "s1" t)) told)))
        (advice-remove 'todo-write-hub-tell note)))))

(ert-deftest todo-write-tell-only-main-agents-of-claude-code-have-a-hook ()
  (should (equal "s1" (todo-write-tell--session "claude:s1")))
  (should-not (todo-write-tell--session "claude:s1/agent"))
  (should-not (todo-write-tell--session "codex:s1")))

;;; Messages

(ert-deftest todo-write-tell-comes-with-the-next-result ()
  (todo-write-tell-tests--with
    (let ((program (todo-write-socket-test-hello)))
      (todo-write-socket-test-write program "s1" "Rake")
      (should (string-match-p "next result of todo_write"
                              (todo-write-tell "claude:s1" " Use\nmake check ")))
      (should (string-suffix-p "\nThe user says: Use make check"
                               (cdr (todo-write-socket-test-write program "s1" "Rake"))))
      (should-not (string-search "Use make check"
                                 (cdr (todo-write-socket-test-write program "s1" "Rake")))))))

(ert-deftest todo-write-tell-comes-by-the-plugin ()
  (todo-write-tell-tests--with
    (cl-letf (((symbol-function 'todo-write-mcp-setup-plugin-p) (lambda () t)))
      (should (string-match-p "after its next tool call.*; it is not working now"
                              (todo-write-tell "claude:s1" "Use make check")))
      (should (equal "The user says: Use make check"
                     (todo-write-tell-tests--told "PostToolUse"))))))

(ert-deftest todo-write-tell-names-the-agent-and-takes-none-for-another ()
  (todo-write-with-store
    (save-window-excursion
      (dolist (name '("a" "b"))
        (todo-write name `(:title ,name :todos [(:content "One" :status "pending")]))
        (todo-write-observe name "TITLE" (concat "Garden " name)))
      (let (asked)
        (cl-letf (((symbol-function 'completing-read)
                   (lambda (_prompt table &rest _)
                     (setq asked t)
                     (seq-find (lambda (title) (string-search "Garden a" title))
                               (all-completions "" table)))))
          ;; "b" wrote last.
          (with-temp-buffer
            (call-interactively #'todo-write-tell)))
        (should asked))
      (with-current-buffer "*todo-write-message*"
        (should (string-search "“Garden a”" header-line-format))
        (insert "Mind the cat")
        (todo-write-compose-send))
      (should (equal '(1 0) (mapcar (lambda (name) (length (todo-write-plan-comments name)))
                                    '("a" "b")))))))

(ert-deftest todo-write-tell-says-that-it-cannot ()
  (todo-write-tell-tests--with
    (cl-letf (((symbol-function 'todo-write-mcp-setup-plugin-p) #'ignore))
      (should-error (todo-write-tell "claude:s1" "Hello") :type 'user-error)
      (should-error (todo-write-tell "codex:s1" "Hello") :type 'user-error)
      (should-not (todo-write-tell--deliver "claude:s1" #'identity)))))

(ert-deftest todo-write-tell-a-host-in-lisp-passes-messages-on-with-its-next-result ()
  (todo-write-with-store
    (should-error (todo-write-tell "a" "Hello") :type 'user-error)
    (todo-write-test-write "a" "Rake")
    (todo-write-tell "a" "Mind the cat")
    (todo-write-tell "a" "And the dog" '(:path "/a" :line 2))
    (let ((result (plist-get (todo-write "a" "{}") :result)))
      (ert-info ("A refused list tells it, too")
        (should (string-suffix-p
                 "\nThe user says: Mind the cat\nThe user comments on /a:2:\nAnd the dog" result))))
    (should-not (string-search "user" (plist-get (todo-write-test-write "a" "Rake") :result)))
    (ert-info ("No result reaches others, nor one that has ended")
      (todo-write "b" (todo-write-test-todos "Rake") nil t)
      (should-error (todo-write-tell "b" "Hello") :type 'user-error)
      (todo-write-end-turn "a" nil nil 'session-ended)
      (should-error (todo-write-tell "a" "Hello") :type 'user-error))))

(ert-deftest todo-write-tell-comments-are-kept-until-they-are-told-once-as-one-message ()
  (todo-write-tell-tests--with
    (cl-letf (((symbol-function 'todo-write-mcp-setup-plugin-p) (lambda () t)))
      (let ((about '(:path "/src/a.js" :line 12 :quote "-old\n+new")))
        (todo-write-tell "claude:s1" "Keep \"old\".\nIt is public." about)
        (todo-write-tell "claude:s1" "And test it" '(:path "/src/b.js")))
      (ert-info ("The journal has them")
        (should (equal '(nil nil)
                       (todo-write-test-child
                        '(prin1 (mapcar (lambda (comment) (plist-get comment :told))
                                        (todo-write-plan-comments "claude:s1")))))))
      (should (equal "The user comments on /src/a.js:12:
> -old
> +new
Keep \"old\".
It is public.
The user comments on /src/b.js:
And test it"
                     (todo-write-tell-tests--told "PostToolUse")))
      (should (equal '(t t) (mapcar (lambda (comment) (plist-get comment :told))
                                    (todo-write-plan-comments "claude:s1"))))
      (should-not (todo-write-tell-tests--hook "PostToolUse")))))

(ert-deftest todo-write-tell-comments-of-an-earlier-emacs-are-told-when-the-agent-goes-on ()
  (todo-write-tell-tests--with
    (let (todo-write-events-functions)
      (todo-write-plan-comment "claude:s1" "Why?"))
    (todo-write-set-activity "claude:s1" 'working)
    (should (equal "The user says: Why?" (todo-write-tell-tests--told "PostToolUse")))))

(ert-deftest todo-write-tell-comments-are-copied-if-no-message-reaches-the-agent ()
  (todo-write-tell-tests--with
    (cl-letf (((symbol-function 'todo-write-mcp-setup-plugin-p) #'ignore))
      (todo-write-tell "claude:s1" "One" '(:path "/a"))
      (should (equal "The user comments on /a:\nOne" (current-kill 0)))
      (todo-write-tell "claude:s1" "Two" '(:path "/b"))
      (should (equal "The user comments on /b:\nTwo" (current-kill 0)))
      (should (equal '((nil t) (nil t))
                     (mapcar (lambda (comment)
                               (list (plist-get comment :told) (plist-get comment :copied)))
                             (todo-write-plan-comments "claude:s1")))))
    (ert-info ("They are not told as well if a message reaches the agent later")
      (should-not (todo-write-tell--deliver "claude:s1" #'identity)))))

;;; A hook that does not see the terminal

(defun todo-write-tell-tests--ask (command)
  "Let a hook without a process file ask whether to run COMMAND."
  (let ((hook (todo-write-socket-test-hello :role "permission" :id command)))
    (todo-write-socket-test-send
     hook (list :type "call" :call 1 :session "s1" :source "environment"
                :arguments (list :hook_event_name "PermissionRequest" :tool_name "Bash"
                                 :tool_input (list :command command))))
    (todo-write-test-wait (lambda () (todo-write-requests "claude:s1")))
    hook))

(ert-deftest todo-write-permission-without-a-process-file-the-next-hooks-withdraw-it ()
  (todo-write-tell-tests--with
    (let* (heard
           (todo-write-tell-said-functions
            (cons (lambda (_thread input) (push (gethash "event" input) heard))
                  todo-write-tell-said-functions))
           (says (lambda (&rest said)
                   ;; The socket answers until it knows that this Emacs listens.
                   (setq heard nil)
                   (todo-write-test-wait
                    (lambda () (apply #'todo-write-tell-tests--hook said) heard)))))
      (todo-write-tell-tests--ask "npm test")
      (funcall says "PostToolUse" :tool_name "Bash" :tool_input '(:command "ls"))
      (should (todo-write-requests "claude:s1"))
      (funcall says "PostToolUse" :tool_name "Bash" :tool_input '(:command "npm test"))
      (should-not (todo-write-requests "claude:s1"))
      (todo-write-tell-tests--ask "npm run")
      (funcall says "Stop")
      (should-not (todo-write-requests "claude:s1")))))

(provide 'todo-write-tell-tests)
;;; todo-write-tell-tests.el ends here
