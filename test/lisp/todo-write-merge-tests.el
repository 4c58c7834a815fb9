;;; todo-write-merge-tests.el --- Tests of edits against writes  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The user edits the list, and the agent writes without knowing the edits: a whole
;; session.  Each combination of changes is in test/rust.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-test-helper)

(defun todo-write-merge-tests--count (words text)
  "Return the number of occurrences of WORDS in TEXT."
  (let ((start 0) (count 0))
    (while (setq start (string-search words text start))
      (cl-incf count)
      (cl-incf start))
    count))

(ert-deftest todo-write-a-user-edits-while-the-agent-writes-and-both-are-kept ()
  (todo-write-with-store
    (todo-write-test-write "a" '("Read the parser" "in_progress") "Fix the parser"
                           "Write a changelog" "Release")
    (ert-info ("The user renames, adds, deletes and ticks off")
      (todo-write-edit "a" 'rename (todo-write-test-id "a" "Fix the parser")
                       "Fix the lexer instead")
      (todo-write-edit "a" 'add "Ask Ana for review" 2)
      (todo-write-edit "a" 'delete (todo-write-test-id "a" "Write a changelog"))
      (todo-write-edit "a" 'status (todo-write-test-id "a" "Release") 'completed))
    (ert-info ("The agent writes the list it knows")
      (let* ((outcome (todo-write-test-write
                       "a" '("Read the parser" "completed")
                       '("Fix the parser" "in_progress") "Write a changelog" "Release"
                       "Tidy up"))
             (result (plist-get outcome :result)))
        (should (equal (mapcar #'butlast (todo-write-test-rows "a"))
                       '(("Read the parser" "completed")
                         ("Fix the lexer instead" "in_progress")
                         ("Ask Ana for review" "pending")
                         ("Release" "completed")
                         ("Tidy up" "pending"))))
        (dolist (edit '("renamed \"Fix the parser\" to \"Fix the lexer instead\""
                        "added \"Ask Ana for review\""
                        "deleted \"Write a changelog\""
                        "set \"Release\" to completed"))
          (ert-info (result :prefix "Result: ")
            (should (= (todo-write-merge-tests--count edit result) 1))))))
    (ert-info ("The agent knows the edits and writes the whole list")
      (let ((outcome (todo-write-test-write
                      "a" '("Read the parser" "completed")
                      '("Fix the lexer instead" "completed" "Fix the lexer instead")
                      '("Ask Ana for review" "in_progress" "Ask Ana for review") '("Release" "completed")
                      "Tidy up")))
        (should-not (string-search "user" (plist-get outcome :result)))
        (should (equal (todo-write-test-types (plist-get outcome :changes))
                       '("status_changed" "status_changed")))))
    (should (equal (mapcar (lambda (revision) (plist-get revision :author))
                           (todo-write-revisions "a"))
                   '("agent" "user" "user" "user" "user" "agent" "agent")))))

(provide 'todo-write-merge-tests)
;;; todo-write-merge-tests.el ends here
