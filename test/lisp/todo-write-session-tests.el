;;; todo-write-session-tests.el --- Goal, context and cost of a session  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What programs say of their sessions, and where it shows.  test/rust/transcript has
;; what transcripts tell.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-acp-work)
(require 'todo-write-list)
(require 'todo-write-test-helper)
(require 'todo-write-view-test-helper)

(defun todo-write-session-tests--goal (state &optional reason tries)
  "Report that the goal of the thread \"a\" is in STATE, for REASON, after TRIES."
  (todo-write-observe "a" "STATE_UPDATE" (list :text "Goal")
                      :goal `(:text "all tests\npass" :state ,state :tries ,(or tries 0)
                                    ,@(and reason (list :reason reason)))))

(defun todo-write-session-tests--now ()
  "Return the text of the thread \"a\" in the column Now of the overview."
  (let ((agent (todo-write-agent "a")))
    (substring-no-properties (todo-write-list--now agent))))

(ert-deftest todo-write-goal-is-what-the-program-said-last ()
  (todo-write-with-store
    (should-not (todo-write-goal "a"))
    (todo-write-session-tests--goal "active")
    (should (equal '(:text "all tests pass" :state active :tries 0) (todo-write-goal "a")))
    (todo-write-session-tests--goal "active" "2 tests fail" 3)
    (should (equal '(:text "all tests pass" :state active :reason "2 tests fail" :tries 3)
                   (todo-write-goal "a")))
    (todo-write-session-tests--goal "no state")
    (should (eq 'active (plist-get (todo-write-goal "a") :state)))
    (todo-write-session-tests--goal "cleared")
    (should-not (todo-write-goal "a"))))

(ert-deftest todo-write-view-shows-the-goal-below-the-header ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("One" "pending"))
    (todo-write-show "a")
    (todo-write-session-tests--goal "active" "2 tests fail" 3)
    (with-current-buffer "*efrit-todos*"
      (should (string-search "\n Goal: all tests pass · 3 tries · not met: 2 tests fail\n"
                             (todo-write-test-text)))
      (todo-write-session-tests--goal "met")
      (should (string-search "\n Goal: all tests pass · met\n" (todo-write-test-text)))
      ;; The count in the first line is drawn in place.
      (todo-write-test-write "a" '("One" "completed"))
      (should (string-search "1/1" (todo-write-test-text)))
      (todo-write-session-tests--goal "failed" "no garden" 1)
      (should (string-search "Goal: all tests pass · 1 try · given up: no garden"
                             (todo-write-test-text)))
      (todo-write-session-tests--goal "cleared")
      (should-not (string-search "Goal:" (todo-write-test-text))))))

(ert-deftest todo-write-agent-without-a-plan-are-named-by-their-goal ()
  (todo-write-with-store
    (todo-write-begin "a" :agent "claude")
    (todo-write-observe "a" "TITLE" "/goal all tests pass")
    (should (equal "/goal all tests pass" (plist-get (todo-write-agent "a") :title)))
    (todo-write-session-tests--goal "active")
    (should (equal "all tests pass" (plist-get (todo-write-agent "a") :title)))
    (todo-write-test-write "a" '("One" "pending"))
    (should (equal "/goal all tests pass" (plist-get (todo-write-agent "a") :title)))))

(ert-deftest todo-write-agent-say-how-full-their-context-is ()
  (todo-write-with-store
    (todo-write-begin "a" :agent "codex")
    (should-not (plist-get (todo-write-agent "a") :context))
    (cl-flet ((tell (&rest context)
                (todo-write-observe "a" "USAGE" '(:input 1 :output 1) :context context)
                (let ((agent (todo-write-agent "a")))
                  (list (plist-get agent :context) (plist-get agent :contextTokens)
                        (todo-write-session-tests--now)))))
      (should (equal '(nil 125000 "") (tell :tokens 125000)))
      (should (equal '(69 690 "") (tell :tokens 690 :limit 1000)))
      (should (equal '(70 700 "context 70 %") (tell :tokens 700 :limit 1000)))
      (should (equal '(100 5000 "context 100 %") (tell :tokens 5000 :limit 1000)))
      ;; No context.
      (should (equal '(100 5000 "context 100 %") (tell :tokens "many"))))))

(ert-deftest todo-write-view-says-how-full-the-context-is-and-what-a-session-cost ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("One" "pending"))
    (todo-write-show "a")
    (with-current-buffer "*efrit-todos*"
      (should (equal "Nothing is known of the tokens of this session"
                     (todo-write-view-information)))
      (todo-write-observe "a" "STATE_UPDATE" nil :context '(:tokens 125000))
      (should (string-search "\n context 125k\n" (todo-write-test-text)))
      (todo-write-observe "a" "STATE_UPDATE" nil :context '(:tokens 125000 :limit 250000))
      (should (string-search "\n context 50 %\n" (todo-write-test-text)))
      (todo-write-observe "a" "STATE_UPDATE" nil :cost '(:amount 1.5 :currency "USD"))
      (todo-write-observe "a" "STATE_UPDATE" nil :cost '(:amount -1 :currency "%s"))
      (todo-write-observe "a" "USAGE" '(:input 2000 :output 30 :model "opus"))
      (should (equal "opus · new 2.0k, out 30, re-read 0 · context 50 % · cost 1.50 USD, as the agent says"
                     (todo-write-view-information))))))

(ert-deftest todo-write-acp-records-the-context-when-it-changes-noticeably ()
  (todo-write-with-store
    (todo-write-test-write "a" '("One" "pending"))
    (cl-flet ((tell (text)
                (todo-write-acp-work-context
                 "a" (json-parse-string text :object-type 'alist :null-object nil)))
              (known ()
                (let ((summary (todo-write-summary "a")))
                  (list (plist-get summary :context) (plist-get summary :cost)
                        (length (todo-write-observations "a" :type "STATE_UPDATE"))))))
      (dolist (bad '("{\"sessionUpdate\": \"usage_update\"}"
                     "{\"sessionUpdate\": \"usage_update\", \"used\": \"1\", \"size\": 0}"
                     "{\"sessionUpdate\": \"usage_update\", \"used\": 1, \"size\": 0, \"cost\": 5}"
                     "{\"sessionUpdate\": \"usage_update\", \"used\": 1.5, \"size\": 1}"
                     "{\"sessionUpdate\": \"plan\", \"used\": 1, \"size\": 2}"))
        (tell bad)
        (should (equal '(nil nil 0) (known))))
      (tell "{\"sessionUpdate\": \"usage_update\", \"used\": 620000, \"size\": 1000000}")
      (should (equal '(62 nil 1) (known)))
      (tell "{\"sessionUpdate\": \"usage_update\", \"used\": 620001, \"size\": 1000000}")
      (should (equal '(62 nil 1) (known)))
      (dotimes (_ 2)
        (tell (concat "{\"sessionUpdate\": \"usage_update\", \"used\": 630001, \"size\": 1000000,"
                      " \"cost\": {\"amount\": 0.5, \"currency\": \"USD\"}}")))
      (should (equal '(63 "0.50 USD" 3) (known))))))

(provide 'todo-write-session-tests)
;;; todo-write-session-tests.el ends here
