;;; todo-write-acp-work-tests.el --- What ACP agents do  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The updates have the form and the order of those that claude-agent-acp 0.100.0 and
;; codex-acp 2.6.0 send.

;;; Code:

(require 'ert)
(require 'todo-write-acp-work)
(require 'todo-write-test-helper)

(defun todo-write-acp-work-tests--send (thread &rest updates)
  "Report UPDATES, lists of a call's id and the fields of an update, in THREAD."
  (let ((calls (make-hash-table :test #'equal)))
    (pcase-dolist (`(,id . ,fields) updates)
      (todo-write-acp-work-update
       calls thread
       (json-parse-string (json-serialize
                           (append `(:sessionUpdate "tool_call_update" :toolCallId ,id) fields))
                          :object-type 'alist :null-object nil :false-object nil)))))

(defmacro todo-write-acp-work-tests--with-task (&rest body)
  "Evaluate BODY with a store in which the task of the thread \"a\" is in progress."
  (declare (indent 0) (debug t))
  `(todo-write-with-store
     (todo-write-begin "a" :project "/p/")
     (todo-write-test-write "a" '("One" "in_progress"))
     ,@body))

(ert-deftest todo-write-acp-takes-the-exact-text-of-an-edit-from-claudes-answer ()
  (todo-write-acp-work-tests--with-task
    (todo-write-acp-work-tests--send
     "a"
     '("c" :sessionUpdate "tool_call" :kind "edit" :status "pending" :title "Edit"
       :rawInput nil :content [])
     '("c" :rawInput (:file_path "/p/f" :old_string "\ttwo\n" :new_string "\t2\n\t2b\n")
       :content [(:type "diff" :path "/p/f" :oldText "\ttwo\n" :newText "\t2\n\t2b\n")])
     '("c" :content [(:type "diff" :path "/p/f" :oldText "  one\n  two" :newText "  one\n  2\n  2b")]
       :_meta (:claudeCode (:toolName "Edit" :toolResponse
                            (:filePath "/p/f" :oldString "\ttwo\n" :newString "\t2\n\t2b\n"
                             :originalFile "\tone\n\ttwo\n" :replaceAll :false))))
     '("c" :status "completed" :rawOutput "The file was updated.")
     '("c" :status "completed" :rawOutput "The file was updated."))
    (should (equal (plist-get (todo-write-work "a" "t1") :files)
                   '((:path "/p/f" :added 2 :removed 1 :edits 1 :created nil :deleted nil))))
    (should (equal (todo-write-patch "a" "t1") "\
diff --git a/f b/f
--- a/f
+++ b/f
@@ -1,2 +1,3 @@
 \tone
-\ttwo
+\t2
+\t2b
"))))

(ert-deftest todo-write-acp-reads-what-claude-writes ()
  (todo-write-acp-work-tests--with-task
    (cl-flet ((send (id &rest response)
                (todo-write-acp-work-tests--send
                 "a"
                 `(,id :kind "edit" :_meta (:claudeCode (:toolName "Write"
                                                         :toolResponse ,response)))
                 `(,id :status "completed"))))
      (send "c" :type "create" :filePath "/p/new" :content "x\ny\n" :originalFile nil)
      (send "d" :type "update" :filePath "/p/new" :content "x\n" :originalFile "x\ny\n")
      (should (equal (plist-get (todo-write-work "a" "t1") :files)
                     '((:path "/p/new" :added 2 :removed 1 :edits 2 :created t :deleted nil)))))))

(ert-deftest todo-write-acp-adds-up-the-diffs-of-a-call ()
  (todo-write-acp-work-tests--with-task
    (todo-write-acp-work-tests--send
     "a"
     '("c" :kind "edit" :status "completed"
       :content [(:type "diff" :path "/p/f" :oldText "a\n" :newText "b\n")
                 (:type "diff" :path "/p/f" :oldText "x\n" :newText "x\ny\n")
                 (:type "diff" :path "/p/gone" :oldText "1\n2\n" :newText ""
                  :_meta (:kind "delete"))
                 (:type "diff" :path "/p/new" :oldText nil :newText "1\n")]))
    (should (equal (plist-get (todo-write-work "a" "t1") :files)
                   '((:path "/p/f" :added 2 :removed 1 :edits 1 :created nil :deleted nil)
                     (:path "/p/gone" :added 0 :removed 2 :edits 1 :created nil :deleted t)
                     (:path "/p/new" :added 1 :removed 0 :edits 1 :created t :deleted nil))))
    (should (string-prefix-p "# Inexact" (todo-write-patch "a" "t1" "/p/f")))))

(ert-deftest todo-write-acp-tells-how-commands-ended ()
  (todo-write-acp-work-tests--with-task
    (cl-flet ((send (id &rest fields)
                (todo-write-acp-work-tests--send "a" `(,id :kind "execute" ,@fields))))
      (send "a" :status "completed" :rawOutput "fine")
      (send "b" :status "failed" :rawOutput "Exit code 3\nno")
      (send "c" :status "completed" :rawOutput '(:exit_code 2))
      (send "d" :status "failed" :rawOutput "The user doesn't want to proceed with this tool use.")
      (send "e" :status "completed"
            :_meta '(:claudeCode (:toolName "Bash" :toolResponse (:backgroundTaskId "b1"))))
      (send "f" :status "in_progress"))
    (should (equal (plist-get (todo-write-work "a" "t1") :commands)
                   '(:run 4 :failed 2 :refused 1 :background 1 :unknown 0)))
    (should (equal (mapcar (lambda (one) (plist-get (plist-get one :metadata) :exitCode))
                           (todo-write-observations "a" :type "TOOL_EXECUTION"))
                   '(nil 3 2 nil nil)))))

(ert-deftest todo-write-acp-what-a-call-returns-is-not-taken-for-a-refusal ()
  (todo-write-acp-work-tests--with-task
    (dolist (text '("permissions:\n  contents: read\n" "Permission is a word.\n"))
      (todo-write-acp-work-tests--send
       "a" `(,text :kind "execute" :status "completed" :rawOutput ,text)))
    (todo-write-acp-work-tests--send
     "a" '("c" :kind "execute" :status "failed" :rawOutput "permission denied: x"))
    (should (equal (plist-get (todo-write-work "a" "t1") :commands)
                   '(:run 3 :failed 1 :refused 0 :background 0 :unknown 0)))))

(ert-deftest todo-write-acp-records-no-call-of-a-plan-as-work ()
  (todo-write-with-store
    (todo-write-test-write "b" '("One" "in_progress"))
    (todo-write-acp-work-tests--send
     "b" '("d" :kind "think" :status "completed" :_meta (:claudeCode (:toolName "TaskUpdate"))))
    (should-not (seq-find (lambda (one) (equal (plist-get one :type) "TOOL_EXECUTION"))
                          (todo-write-observations "b")))))

(ert-deftest todo-write-acp-counts-tokens-for-the-session-only ()
  (todo-write-acp-work-tests--with-task
    (todo-write-acp-work-turn-ended
     "a" '((stopReason . "end_turn")
           (usage (inputTokens . 3) (outputTokens . 5) (cachedReadTokens . 7)
                  (cachedWriteTokens . 11))))
    (should (equal (plist-get (todo-write-work "a") :tokens)
                   '(:input 3 :output 5 :cacheRead 7 :cacheWrite 11 :atLeast nil)))
    (should (equal (plist-get (todo-write-work "a") :responses) 0))
    (should-not (plist-get (todo-write-work "a" "t1") :tokens))
    (should-not (plist-get (todo-write-work "a" 'outside) :tokens))))

(provide 'todo-write-acp-work-tests)
;;; todo-write-acp-work-tests.el ends here
