;;; todo-write-permission-tests.el --- Questions of Claude Code's hook  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What Emacs makes of a hook's question, and what it answers, by the socket.  The
;; program is tested in todo-write-permission-e2e-tests.el, and with the genuine Claude
;; Code by test/hosts/claude.sh.

;;; Code:

(require 'todo-write-answer)
(require 'todo-write-permission)
(require 'todo-write-socket-helper)

(defvar todo-write-permission-tests--folder nil "The project of the agent.")

(defmacro todo-write-permission-tests--with (&rest body)
  "Run BODY with the socket, an empty store and an empty project."
  (declare (indent 0) (debug t))
  `(let ((todo-write-permission-tests--folder
          (file-name-as-directory (file-truename (make-temp-file "garden" t)))))
     (make-directory (expand-file-name ".git" todo-write-permission-tests--folder))
     (unwind-protect
         (todo-write-with-socket
           (unwind-protect (progn ,@body)
             (dolist (request (todo-write-requests))
               (todo-write-withdraw (plist-get request :thread) (plist-get request :id)))))
       (delete-directory todo-write-permission-tests--folder t))))

(defun todo-write-permission-tests--ask (tool input &rest fields)
  "Let a hook ask for TOOL with INPUT, a plist; return its connection.
FIELDS are further ones of the hook's input, :subagent and :source."
  (let ((hook (todo-write-socket-test-hello
               :role "permission" :id (format "hook-%s" (random t))
               :project todo-write-permission-tests--folder))
        (before (todo-write-permission-tests--request)))
    (todo-write-socket-test-send
     hook (append `(:type "call" :call 1 :session "s1"
                    :source ,(or (plist-get fields :source) "process"))
                  (and (plist-get fields :subagent)
                       (list :subagent (plist-get fields :subagent)))
                  (list :arguments (append (list :tool_name tool :tool_input input) fields
                                           '(:hook_event_name "PermissionRequest")))))
    (todo-write-test-wait
     (lambda () (not (eq before (todo-write-permission-tests--request)))))
    hook))

(defun todo-write-permission-tests--request ()
  "Return the newest open request."
  (car (last (todo-write-requests))))

(defun todo-write-permission-tests--answer (hook value &optional text)
  "Answer the newest request by VALUE and TEXT; return the decision that HOOK gets."
  (let ((request (todo-write-permission-tests--request)))
    (should (todo-write-answer-request (plist-get request :thread) (plist-get request :id)
                                       value text))
    (let ((answer (todo-write-socket-test-read hook)))
      (should (plist-get answer :ok))
      (plist-get answer :decision))))

(defun todo-write-permission-tests--detail (tool &rest input)
  "Return the detail of the request for TOOL with INPUT."
  (todo-write-permission-tests--ask tool input)
  (todo-write-request-detail (todo-write-permission-tests--request)))

(defconst todo-write-permission-tests--suggestions
  [(:type "addRules" :rules [(:toolName "Bash" :ruleContent "npm test *")]
    :behavior "allow" :destination "localSettings")
   (:type "setMode" :mode "acceptEdits" :destination "session")]
  "What Claude Code suggests to allow always.")

(defun todo-write-permission-tests--labels ()
  "Return the labels of the newest request's options."
  (mapcar (lambda (option) (plist-get option :label))
          (plist-get (todo-write-permission-tests--request) :options)))

;;; Answers

(ert-deftest todo-write-permission-a-command-is-asked-and-allowed-once ()
  (todo-write-permission-tests--with
    (let* ((hook (todo-write-permission-tests--ask "Bash" '(:command "npm test")))
           (request (todo-write-permission-tests--request)))
      (should (equal "claude:s1" (plist-get request :thread)))
      (should (equal '(permission "Bash: npm test" "npm test" shell)
                     (list (plist-get request :kind) (plist-get request :title)
                           (todo-write-request-detail request) (plist-get request :format))))
      (should (equal '(waiting . "Bash: npm test") (todo-write-activity "claude:s1")))
      (should (equal '(:behavior "allow")
                     (todo-write-permission-tests--answer hook '(:behavior "allow"))))
      (should-not (todo-write-requests))
      (should-not todo-write-permission--calls))))

(ert-deftest todo-write-permission-always-says-what-it-allows-and-names-the-suggestion ()
  (todo-write-permission-tests--with
    (let ((hook (todo-write-permission-tests--ask
                 "Bash" '(:command "npm test")
                 :permission_suggestions todo-write-permission-tests--suggestions)))
      (should (equal (todo-write-permission-tests--labels)
                     (list "Yes" "Always allow ‘npm test *’ in this project"
                           "Accept all edits of files in the project in this session" "No")))
      (should (equal '(:behavior "allow" :suggestion 1)
                     (todo-write-permission-tests--answer
                      hook '(:behavior "allow" :suggestion 1)))))))

(ert-deftest todo-write-permission-a-suggestion-without-words-is-not-offered ()
  (todo-write-permission-tests--with
    (todo-write-permission-tests--ask
     "Bash" '(:command "npm test")
     :permission_suggestions
     [(:type "addRules" :rules [(:toolName "Bash")] :behavior "deny" :destination "session")
      (:type "addRules" :rules [] :behavior "allow" :destination "session")
      (:type "addRules" :rules [(:ruleContent "x")] :behavior "allow" :destination "session")
      (:type "addRules" :rules [(:toolName "Bash" :ruleContent 3)] :behavior "allow"
       :destination "session")
      (:type "addRules" :rules [(:toolName "Bash")] :behavior "allow" :destination "planet")
      (:type "setMode" :mode "yolo" :destination "session")
      (:type "other") "text" :null
      (:type "addRules" :rules [(:toolName "Read" :ruleContent "/p/**")] :behavior "allow"
       :destination "userSettings")])
    (should (equal '("Yes" "Always allow Read(/p/**) in all projects" "No")
                   (todo-write-permission-tests--labels)))
    (should (equal 9 (plist-get (plist-get (nth 1 (plist-get (todo-write-permission-tests--request)
                                                             :options))
                                           :value)
                                :suggestion)))))

(ert-deftest todo-write-permission-no-goes-with-a-message-or-without ()
  (todo-write-permission-tests--with
    (let ((hook (todo-write-permission-tests--ask "Bash" '(:command "npm test"))))
      (should (equal '(:behavior "deny" :message "Use make check")
                     (todo-write-permission-tests--answer hook '(:behavior "deny")
                                                          "Use make check"))))
    (let ((hook (todo-write-permission-tests--ask "Bash" '(:command "npm test"))))
      (should (equal '(:behavior "deny")
                     (todo-write-permission-tests--answer hook '(:behavior "deny")))))))

(ert-deftest todo-write-permission-questions-are-answered-by-their-texts ()
  (todo-write-permission-tests--with
    (let ((hook (todo-write-permission-tests--ask
                 "AskUserQuestion"
                 '(:questions [(:question "Which?" :header "Can" :multiSelect :false
                                :options [(:label "Red" :description "warm") (:label "Blue")])
                               (:question "Tools?" :multiSelect t
                                :options [(:label "Rake") (:label "Hoe")])]))))
      (pcase-let ((`(,which ,tools)
                   (plist-get (todo-write-permission-tests--request) :questions)))
        (should (equal '("Which?" "Can" nil)
                       (mapcar (lambda (key) (plist-get which key))
                               '(:question :header :multiple))))
        (should (equal '(:label "Red" :description "warm") (car (plist-get which :options))))
        (should (plist-get tools :multiple)))
      (should (equal '(:behavior "allow" :answers (:Tools? ["Rake" "Hoe"] :Which? ["Green"]))
                     (todo-write-permission-tests--answer
                      hook '(("Which?" . "Green") ("Tools?" "Rake" "Hoe"))))))))

(ert-deftest todo-write-permission-questions-that-cannot-be-told-apart-are-for-the-terminal ()
  (todo-write-permission-tests--with
    (dolist (questions '([] "text" [(:question "Same?") (:question "Same?")] [(:header "None")]))
      (todo-write-permission-tests--ask "AskUserQuestion" (list :questions questions))
      (should-not (plist-get (todo-write-permission-tests--request) :answer))
      (todo-write-withdraw "claude:s1" (plist-get (todo-write-permission-tests--request) :id)))))

(ert-deftest todo-write-permission-a-plan-is-shown-and-approved ()
  (todo-write-permission-tests--with
    (let* ((plan "# Plan\n1. Rake")
           (hook (todo-write-permission-tests--ask "ExitPlanMode" (list :plan plan)))
           (request (todo-write-permission-tests--request)))
      (should (equal (list 'plan plan 'markdown)
                     (list (plist-get request :kind) (todo-write-request-detail request)
                           (plist-get request :format))))
      (should (equal '("Approve the plan, and ask before each edit"
                       "Approve the plan, and accept all edits in this session"
                       "Approve the plan, and go on in auto mode, which asks seldom"
                       "Keep planning")
                     (todo-write-permission-tests--labels)))
      (should (equal '(:behavior "allow" :mode "acceptEdits")
                     (todo-write-permission-tests--answer
                      hook '(:behavior "allow" :mode "acceptEdits")))))))

(ert-deftest todo-write-permission-a-plan-is-approved-as-edited-in-each-mode ()
  (dolist (mode '("default" "acceptEdits" "auto"))
    (todo-write-permission-tests--with
      (let ((hook (todo-write-permission-tests--ask "ExitPlanMode" '(:plan "# Plan"))))
        (should (equal (list :behavior "allow" :mode mode :plan "# Mine")
                       (todo-write-permission-tests--answer
                        hook (list :behavior "allow" :mode mode) "# Mine")))))))

(ert-deftest todo-write-permission-shows-what-a-plan-asks-besides ()
  (todo-write-permission-tests--with
    (todo-write-permission-tests--ask "ExitPlanMode" '(:plan "# Plan" :planFilePath "/p"
                                                       :allowedPrompts [(:tool "Bash")]))
    (let ((request (todo-write-permission-tests--request)))
      (should (equal "# Plan\nallowedPrompts: [{\"tool\":\"Bash\"}]"
                     (todo-write-request-detail request)))
      ;; What the user edits is the plan alone.
      (should-not (seq-some (lambda (option) (eq 'edited (plist-get option :text)))
                            (plist-get request :options))))))

(ert-deftest todo-write-permission-a-plan-without-a-text-is-for-the-terminal ()
  (todo-write-permission-tests--with
    (todo-write-permission-tests--ask "ExitPlanMode" (make-hash-table))
    (should-not (plist-get (todo-write-permission-tests--request) :answer))))

;;; What is shown

(ert-deftest todo-write-permission-shows-each-field-of-a-call ()
  (todo-write-permission-tests--with
    (should (equal "ls\n# dangerouslyDisableSandbox: true\n# description: \"a\\n# b: true\""
                   (todo-write-permission-tests--detail
                    "Bash" :command "ls" :dangerouslyDisableSandbox t
                    :description "a\n# b: true")))
    (should (equal "url: http://x\nprompt: a\n    url: http://y\nlist: [1,\"a\"]"
                   (todo-write-permission-tests--detail
                    "WebFetch" :url "http://x" :prompt "a\nurl: http://y" :list [1 "a"])))))

(ert-deftest todo-write-permission-shows-an-edit-as-a-diff-against-the-file ()
  (todo-write-permission-tests--with
    (let ((file (expand-file-name "a.txt" todo-write-permission-tests--folder)))
      (write-region "one\ntwo\ntwo\n" nil file nil 'silent)
      (should (equal (format "--- %s\n+++ %s\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n two" file file)
                     (todo-write-permission-tests--detail
                      "Edit" :file_path file :old_string "two" :new_string "2")))
      (should (equal (format "--- %s\n+++ %s\n@@ -1,3 +1,3 @@\n one\n-two\n-two\n+2\n+2\nreplace_all: true"
                             file file)
                     (todo-write-permission-tests--detail
                      "Edit" :file_path file :old_string "two" :new_string "2" :replace_all t)))
      (should (equal (format "--- %s\n+++ %s\n@@ -1,3 +1 @@\n-one\n-two\n-two\n+new" file file)
                     (todo-write-permission-tests--detail "Write" :file_path file
                                                          :content "new\n"))))
    (dolist (name '("new.txt" "new/folder/new.txt"))
      (let ((file (expand-file-name name todo-write-permission-tests--folder)))
        (should (equal (format "--- %s\n+++ %s\n@@ -0,0 +1 @@\n+new\nThe file is new." file file)
                       (todo-write-permission-tests--detail "Write" :file_path file
                                                            :content "new\n")))))))

(ert-deftest todo-write-permission-no-field-hides-what-an-edit-changes ()
  (todo-write-permission-tests--with
    (let ((file (expand-file-name "a.txt" todo-write-permission-tests--folder)))
      (write-region "one\n" nil file nil 'silent)
      (dolist (extra '((:content "harmless") (:edits []) (:edits [1])))
        (let ((detail (apply #'todo-write-permission-tests--detail
                             "Edit" :file_path file :old_string "one" :new_string "evil" extra)))
          (should (string-search "\n+evil\n" detail))
          (should (string-search (substring (symbol-name (car extra)) 1) detail))))
      (dolist (given '(("Edit" :old_string 1 :new_string "evil")
                       ("Write" :content ["evil"])
                       ("MultiEdit" :edits "evil")
                       ("MultiEdit" :edits [(:old_string ["evil"] :new_string "x")])
                       ("MultiEdit" :edits [(:old_string "a" :new_string "b" :evil t)])))
        (should (string-search "evil" (apply #'todo-write-permission-tests--detail
                                             (car given) :file_path file (cdr given))))))))

(ert-deftest todo-write-permission-compares-with-no-file-outside-of-the-project ()
  (todo-write-permission-tests--with
    (let* ((secret (make-temp-file "secret" nil nil "hidden\n"))
           (link (expand-file-name "link" todo-write-permission-tests--folder))
           (pipe (expand-file-name "pipe" todo-write-permission-tests--folder))
           (huge (expand-file-name "huge" todo-write-permission-tests--folder))
           (binary (expand-file-name "binary" todo-write-permission-tests--folder))
           (dangling (expand-file-name "dangling" todo-write-permission-tests--folder)))
      (unwind-protect
          (progn
            (make-symbolic-link secret link)
            (make-symbolic-link "nowhere" dangling)
            (call-process "mkfifo" nil nil nil pipe)
            (write-region (make-string (ash 1 21) ?x) nil huge nil 'silent)
            (write-region "a\0b\n" nil binary nil 'silent)
            (dolist (file (list secret link pipe huge binary dangling "/ssh:nowhere:/a" "~/a"
                                (concat todo-write-permission-tests--folder "../x/a")))
              (should (string-suffix-p
                       "\n@@ -0,0 +1 @@\n+new\nThe whole new text; what it replaces is not shown."
                       (todo-write-permission-tests--detail "Write" :file_path file
                                                            :content "new\n")))
              (should (string-suffix-p
                       "\n-hid\n+shown\nThe old and the new text; the file was not compared."
                       (replace-regexp-in-string
                        "^\\\\ No.*\n" ""
                        (todo-write-permission-tests--detail
                         "Edit" :file_path file :old_string "hid" :new_string "shown"))))))
        (delete-file secret)))))

(ert-deftest todo-write-permission-a-file-name-is-one-line ()
  (todo-write-permission-tests--with
    (should (string-prefix-p
             "--- /a +++ /b\n+++ /a +++ /b\n"
             (todo-write-permission-tests--detail "Write" :file_path "/a\n+++ /b" :content "x")))))

(ert-deftest todo-write-permission-interns-nothing-of-a-question ()
  (todo-write-permission-tests--with
    (let* ((name (format "field-%s" (random t)))
           (input (make-hash-table :test #'equal)))
      (puthash name "x" input)
      (todo-write-permission-tests--ask "Other" input)
      (should (equal (concat name ": x")
                     (todo-write-request-detail (todo-write-permission-tests--request))))
      (should-not (intern-soft name))
      (should-not (intern-soft (concat ":" name))))))

;;; What is too large

(ert-deftest todo-write-permission-computes-a-change-when-it-is-shown ()
  (todo-write-permission-tests--with
    (let ((file (expand-file-name "a.txt" todo-write-permission-tests--folder)))
      (todo-write-permission-tests--ask
       "Edit" (list :file_path file :old_string "two" :new_string "2"))
      (write-region "one\ntwo\n" nil file nil 'silent)
      (should (string-search "@@ -1,2 +1,2 @@\n one\n-two\n+2"
                             (todo-write-request-detail
                              (todo-write-permission-tests--request)))))))

(ert-deftest todo-write-permission-a-large-change-shows-the-given-texts ()
  (todo-write-permission-tests--with
    (let ((file (expand-file-name "a.txt" todo-write-permission-tests--folder))
          (start (lambda (file) (format "--- %s\n+++ %s\n" file file))))
      (write-region (make-string 1000000 ?a) nil file nil 'silent)
      (let ((detail (todo-write-permission-tests--detail
                     "Edit" :file_path file :old_string "a" :replace_all t
                     :new_string (make-string 100 ?b))))
        (should (equal detail
                       (concat (funcall start file)
                               "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+"
                               (make-string 100 ?b) "\n\\ No newline at end of file\n"
                               "The old and the new text; the result is too large to be compared\
 with the file.\nreplace_all: true")))))))

(ert-deftest todo-write-permission-a-question-too-large-to-read-is-for-the-terminal ()
  (todo-write-permission-tests--with
    (cl-flet ((many (count &rest object)
                (vconcat (cl-loop for i below count
                                  collect (mapcar (lambda (value)
                                                    (if (equal value "%d") (format "%d" i) value))
                                                  object)))))
      (pcase-dolist
          (`(,most ,what ,ask)
           `((20 "questions" ,(lambda (n) `("AskUserQuestion" (:questions ,(many n :question "%d")))))
             (50 "options" ,(lambda (n) `("AskUserQuestion"
                                          (:questions [(:question "Which?"
                                                        :options ,(many n :label "%d"))]))))
             (50 "options" ,(lambda (n) `("Bash" (:command "ls") :permission_suggestions
                                          ,(many n :type "setMode" :mode "acceptEdits"
                                                 :destination "session"))))
             (200 "fields" ,(lambda (n) `("Other" ,(cl-loop for i below n
                                                            append (list (intern (format ":f%d" i))
                                                                         i)))))))
        (apply #'todo-write-permission-tests--ask (funcall ask most))
        (should (plist-get (todo-write-permission-tests--request) :answer))
        (apply #'todo-write-permission-tests--ask (funcall ask (+ 2 most)))
        (let ((request (todo-write-permission-tests--request)))
          (should-not (plist-get request :answer))
          (should (string-match-p (format "more than [0-9]+ %s" what)
                                  (todo-write-request-detail request))))))))

(ert-deftest todo-write-permission-does-not-offer-what-is-too-long-to-be-read ()
  (todo-write-permission-tests--with
    (dolist (count '(50 51))
      (todo-write-permission-tests--ask
       "Bash" '(:command "ls") :permission_suggestions
       (vector (list :type "addRules" :behavior "allow" :destination "session"
                     :rules (make-vector count '(:toolName "Bash" :ruleContent "ls")))))
      (should (= (if (= count 50) 3 2) (length (todo-write-permission-tests--labels)))))))

;;; Withdrawing

(ert-deftest todo-write-permission-a-process-id-of-another-container-is-none-of-this-machine ()
  (todo-write-permission-tests--with
    (pcase-dolist (`(,pid . ,fields) `((,(emacs-pid)) (nil :pidDomain "pid:[1]")))
      (let ((hook (apply #'todo-write-socket-test-hello
                         :role "permission" :id (format "hook-%s" pid) fields)))
        (todo-write-socket-test-send
         hook '(:type "call" :call 1 :session "s1" :source "process"
                :arguments (:hook_event_name "PermissionRequest" :tool_name "Bash"
                            :tool_input (:command "make"))))
        (todo-write-test-wait #'todo-write-requests)
        (should (equal pid (plist-get (todo-write-events-activity "claude:s1") :process)))
        (delete-process hook)
        (todo-write-test-wait (lambda () (not (todo-write-requests))))))))

(ert-deftest todo-write-permission-is-withdrawn-when-the-hook-leaves ()
  (todo-write-permission-tests--with
    (delete-process (todo-write-permission-tests--ask "Bash" '(:command "ls")))
    (todo-write-test-wait (lambda () (not (todo-write-requests))))
    (should-not todo-write-permission--calls)
    ;; Nothing else says what the agent does.
    (should-not (todo-write-activity "claude:s1"))))

(ert-deftest todo-write-permission-the-hook-of-a-withdrawn-request-gets-no-decision ()
  (todo-write-permission-tests--with
    (let ((hook (todo-write-permission-tests--ask "Bash" '(:command "ls"))))
      (todo-write-withdraw "claude:s1" (plist-get (todo-write-permission-tests--request) :id))
      (let ((answer (todo-write-socket-test-read hook)))
        (should (equal "answer" (plist-get answer :type)))
        (should-not (plist-get answer :ok))
        (should-not (plist-get answer :decision))))))

(ert-deftest todo-write-permission-the-next-dialog-replaces-that-of-the-same-agent ()
  (todo-write-permission-tests--with
    (let ((first (todo-write-permission-tests--ask "Bash" '(:command "one")))
          (sub (todo-write-permission-tests--ask "Bash" '(:command "sub") :subagent "a1"
                                                 :agent_id "a1" :agent_type "helper")))
      (should (equal '("Bash: one" "subagent helper: Bash: sub")
                     (mapcar (lambda (request) (plist-get request :title))
                             (todo-write-requests))))
      (todo-write-permission-tests--ask "Bash" '(:command "two"))
      (should-not (plist-get (todo-write-socket-test-read first) :ok))
      (todo-write-test-wait
       (lambda () (equal '("subagent helper: Bash: sub" "Bash: two")
                         (mapcar (lambda (request) (plist-get request :title))
                                 (todo-write-requests)))))
      (delete-process sub)
      (todo-write-test-wait (lambda () (= 1 (length (todo-write-requests))))))))

(ert-deftest todo-write-permission-a-hook-may-ask-again-on-its-connection ()
  (todo-write-permission-tests--with
    (let ((hook (todo-write-permission-tests--ask "Bash" '(:command "one"))))
      (should (equal '(:behavior "allow")
                     (todo-write-permission-tests--answer hook '(:behavior "allow"))))
      (todo-write-socket-test-send
       hook '(:type "call" :call 2 :session "s1" :source "process"
              :arguments (:hook_event_name "PermissionRequest" :tool_name "Bash"
                          :tool_input (:command "two"))))
      (todo-write-test-wait #'todo-write-requests)
      (should (equal '(:behavior "deny")
                     (todo-write-permission-tests--answer hook '(:behavior "deny")))))))

(ert-deftest todo-write-permission-one-subagent-waits-on-when-the-other-is-answered ()
  (todo-write-permission-tests--with
    (todo-write-permission-tests--ask "Bash" '(:command "ls") :subagent "1" :source "hook")
    (let ((first (todo-write-permission-tests--request)))
      (todo-write-permission-tests--ask "Bash" '(:command "id") :subagent "2" :source "hook")
      (should (= 2 (length (todo-write-requests))))
      (todo-write-withdraw "claude:s1" (plist-get first :id))
      (should (member "claude:s1" todo-write-tell-waiting)))
    (todo-write-withdraw "claude:s1" (plist-get (todo-write-permission-tests--request) :id))
    (should-not todo-write-tell-waiting)))

(ert-deftest todo-write-permission-only-what-a-dialog-asks-is-a-request ()
  (todo-write-permission-tests--with
    ;; The hooks of an older plugin.
    (dolist (event '("PermissionDenied" "PreToolUse"))
      (let ((hook (todo-write-socket-test-hello :role "permission" :id event)))
        (todo-write-socket-test-send
         hook `(:type "call" :call 1 :session "s1" :source "process"
                :arguments (:hook_event_name ,event :tool_name "Bash"
                            :tool_input (:command "npm test"))))
        (let ((answer (todo-write-socket-test-read hook)))
          (should-not (plist-get answer :ok))
          (should-not (plist-get answer :decision)))
        (should-not (todo-write-requests))))))

(ert-deftest todo-write-permission-a-question-that-cannot-be-read-gets-no-decision ()
  (todo-write-permission-tests--with
    (let ((hook (todo-write-socket-test-hello :role "permission" :id "h")))
      (todo-write-socket-test-send hook "{\"type\":\"call\",\"call\":1,\"session\":\"s\",\"arguments\":[1]}")
      (let ((answer (todo-write-socket-test-read hook)))
        (should (equal "answer" (plist-get answer :type)))
        (should-not (plist-get answer :decision)))
      (should-not (todo-write-requests)))))

;;; Codex

(defun todo-write-permission-tests--codex (tool input &rest fields)
  "Let a thread of the hub ask what Codex asks: TOOL with INPUT, a plist.
FIELDS are further ones of the question.  Return the connection."
  (apply #'todo-write-permission-tests--ask tool input
         :hook_event_name "CodexRequest" fields))

(ert-deftest todo-write-permission-a-command-of-codex-is-shown-with-all-that-a-yes-allows ()
  (todo-write-permission-tests--with
    (let* ((hook (todo-write-permission-tests--codex
                  "Command" '(:command "npm test" :reason "Run\nthe tests?"
                              :additionalPermissions (:network (:enabled t)))
                  :permission_suggestions [(:type "codexPrefix" :words ["npm" "run all"])]))
           (request (todo-write-permission-tests--request)))
      (should (equal "Command: npm test" (plist-get request :title)))
      (should (equal '(shell "npm test
# reason: \"Run\\nthe tests?\"
# additionalPermissions: {\"network\":{\"enabled\":true}}")
                     (list (plist-get request :format) (todo-write-request-detail request))))
      (should (equal (todo-write-permission-tests--labels)
                     (list "Yes"
                           "Always allow commands that begin with ‘npm \"run all\"’ in all projects"
                           "No" "No, and stop the turn")))
      (should (equal '(:behavior "allow" :suggestion 0)
                     (todo-write-permission-tests--answer
                      hook '(:behavior "allow" :suggestion 0)))))))

(ert-deftest todo-write-permission-a-no-to-codex-takes-no-message-and-may-stop-the-turn ()
  (todo-write-permission-tests--with
    (let ((hook (todo-write-permission-tests--codex "Command" '(:command "npm test"))))
      (should (equal '(:behavior "deny" :interrupt t)
                     (todo-write-permission-tests--answer
                      hook '(:behavior "deny" :interrupt t)))))
    (let ((hook (todo-write-permission-tests--codex "Command" '(:command "npm test"))))
      (should-error (todo-write-permission-tests--answer hook '(:behavior "deny") "Use make"))
      (should (equal '(:behavior "deny")
                     (todo-write-permission-tests--answer hook '(:behavior "deny")))))))

(ert-deftest todo-write-permission-a-change-of-codex-is-shown-as-a-diff ()
  (todo-write-permission-tests--with
    (todo-write-permission-tests--codex
     "Change" '(:file_path "/a, /b" :diff "--- /a\n+++ /a\n@@ -1 +1 @@\n-x\n+y\n" :grantRoot "/etc")
     :permission_suggestions [(:type "codexFiles" :files ["/a" "/b"])])
    (let ((request (todo-write-permission-tests--request)))
      (should (equal '("Change: /a, /b" diff "--- /a\n+++ /a\n@@ -1 +1 @@\n-x\n+y\n\ngrantRoot: /etc")
                     (list (plist-get request :title) (plist-get request :format)
                           (todo-write-request-detail request))))
      (should (equal "Allow all changes of /a, /b in this session"
                     (cadr (todo-write-permission-tests--labels)))))))

(ert-deftest todo-write-permission-several-requests-of-codex-stand-side-by-side ()
  (todo-write-permission-tests--with
    (todo-write-permission-tests--codex "Command" '(:command "one"))
    (todo-write-permission-tests--codex "Command" '(:command "two"))
    (should (equal '("Command: one" "Command: two")
                   (mapcar (lambda (request) (plist-get request :title)) (todo-write-requests))))))

(ert-deftest todo-write-permission-a-question-of-codex-is-answered-and-not-refused ()
  (todo-write-permission-tests--with
    (let ((hook (todo-write-permission-tests--codex
                 "AskUserQuestion" '(:questions [(:question "Which?" :options [(:label "Blue")])]))))
      (should-not (todo-write-permission-tests--labels))
      (should (equal '(:behavior "allow" :answers (:Which? ["Blue"]))
                     (todo-write-permission-tests--answer hook '(("Which?" . "Blue"))))))))

(ert-deftest todo-write-permission-what-emacs-cannot-read-of-codex-is-for-its-terminal ()
  (todo-write-permission-tests--with
    (todo-write-permission-tests--codex "Codex" '(:question "Codex asks something") :elsewhere t)
    (let ((request (todo-write-permission-tests--request)))
      (should (equal '("Codex asks something" nil nil)
                     (mapcar (lambda (key) (plist-get request key)) '(:title :answer :options)))))))

(ert-deftest todo-write-permission-a-suggestion-of-codex-without-words-is-not-offered ()
  (todo-write-permission-tests--with
    (todo-write-permission-tests--codex
     "Command" '(:command "one")
     :permission_suggestions
     `[(:type "codexPrefix") (:type "codexPrefix" :words []) (:type "codexPrefix" :words ["a" 1])
       (:type "codexPrefix" :words ,(make-vector 60 "a")) (:type "codexFiles" :files 7) (:type "x")])
    (should (equal '("Yes" "No" "No, and stop the turn") (todo-write-permission-tests--labels)))))

;;; Large ones

(provide 'todo-write-permission-tests)
;;; todo-write-permission-tests.el ends here
