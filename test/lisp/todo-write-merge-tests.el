;;; todo-write-merge-tests.el --- Tests of edits against writes  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The user edits the list, and the agent writes without knowing the edits: a
;; whole session, then each combination of changes.

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

(ert-deftest todo-write-edits-are-reported-once-even-if-the-agent-repeats-itself ()
  (todo-write-with-store
    (todo-write-test-write "a" "One" "Two")
    (todo-write-edit "a" 'add "By the user")
    (should (string-search "By the user"
                           (plist-get (todo-write-test-write "a" "One" "Two") :result)))
    (let ((outcome (todo-write-test-write "a" "One" "Two"
                                          '("By the user" "pending" "By the user"))))
      (should-not (string-search "The user" (plist-get outcome :result)))
      (should-not (plist-get outcome :changes)))))

(ert-deftest todo-write-edits-are-reported-after-a-refused-write ()
  (todo-write-with-store
    (todo-write-test-write "a" "One")
    (todo-write-edit "a" 'add "By the user")
    (should-not (plist-get (todo-write "a" "{") :ok))
    (should (string-search "By the user"
                           (plist-get (todo-write-test-write "a" "One") :result)))))

(ert-deftest todo-write-a-reverted-edit-is-not-reported ()
  (todo-write-with-store
    (todo-write-test-write "a" "One")
    (todo-write-edit "a" 'add "Oops")
    (todo-write-undo "a")
    (let ((outcome (todo-write-test-write "a" "One" "Two")))
      (should-not (string-search "user" (plist-get outcome :result)))
      (should (equal (todo-write-test-contents "a") '("One" "Two"))))))

(ert-deftest todo-write-before-any-write-the-users-own-items-stay ()
  (todo-write-with-store
    (todo-write-edit "a" 'add "By the user")
    (let ((outcome (todo-write-test-write "a" "By the agent")))
      (should (equal (sort (todo-write-test-contents "a") #'string<)
                     '("By the agent" "By the user")))
      (should (string-search "By the user" (plist-get outcome :result))))))

;;; Combinations of changes

(defconst todo-write-merge-tests--cases
  '(;; (WHAT EDITS WRITTEN ROWS SAID), the list being A B C, pending.
    ("nobody anything" nil
     ("A" "B" "C") (("A" "pending") ("B" "pending") ("C" "pending")))
    ("only the agent a status" nil
     ("A" ("B" "completed") "C") (("A" "pending") ("B" "completed") ("C" "pending")))
    ("only the user a status" ((status "t2" "completed"))
     ("A" "B" "C") (("A" "pending") ("B" "completed") ("C" "pending"))
     "set \"B\" to completed")
    ("both the same status alike" ((status "t2" "completed"))
     ("A" ("B" "completed") "C") (("A" "pending") ("B" "completed") ("C" "pending")))
    ("both one status, differently" ((status "t2" "completed"))
     ("A" ("B" "in_progress") "C") (("A" "pending") ("B" "completed") ("C" "pending"))
     "the user's version stands")
    ("the user a text, the agent its status" ((rename "t2" "Bee"))
     ("A" ("B" "in_progress") "C") (("A" "pending") ("Bee" "in_progress") ("C" "pending"))
     "renamed \"B\" to \"Bee\"")
    ("the user a status, the agent another" ((status "t1" "completed"))
     ("A" ("B" "in_progress") "C") (("A" "completed") ("B" "in_progress") ("C" "pending"))
     "set \"A\" to completed")
    ("the user deleted, the agent repeats" ((delete "t2"))
     ("A" "B" "C") (("A" "pending") ("C" "pending"))
     "deleted \"B\"")
    ("the user deleted, the agent goes on with it" ((delete "t2"))
     ("A" ("B" "in_progress") "C") (("A" "pending") ("C" "pending"))
     "\"B\" stays deleted")
    ("both deleted" ((delete "t2"))
     ("A" "C") (("A" "pending") ("C" "pending")))
    ("only the agent deleted" nil
     ("A" "C") (("A" "pending") ("C" "pending")) "Dropped while unfinished: \"B\"")
    ("the user changed, the agent deleted" ((rename "t2" "Bee"))
     ("A" "C") (("A" "pending") ("Bee" "pending") ("C" "pending"))
     "\"Bee\" stays in the list")
    ("the user added, the agent too" ((add "U" 1))
     ("A" "B" "C" "D")
     (("A" "pending") ("U" "pending") ("B" "pending") ("C" "pending") ("D" "pending"))
     "added \"U\"")
    ("the user added what the agent takes up" ((add "U"))
     ("A" "B" "C" ("U" "in_progress"))
     (("A" "pending") ("B" "pending") ("C" "pending") ("U" "in_progress")))
    ("only the user moved" ((move "t3" 0))
     ("A" "B" "C") (("C" "pending") ("A" "pending") ("B" "pending")) "moved")
    ("only the agent moved" nil
     ("C" "A" "B") (("C" "pending") ("A" "pending") ("B" "pending")))
    ("both moved" ((move "t3" 0))
     ("B" "A" "C") (("C" "pending") ("A" "pending") ("B" "pending")) "moved")
    ("the user moved, the agent added" ((move "t3" 0))
     ("A" "B" "C" "D")
     (("C" "pending") ("D" "pending") ("A" "pending") ("B" "pending")) "moved"))
  "Lists of a user's edits, an agent's write, and the expected result.")

(ert-deftest todo-write-edits-and-writes-are-merged-field-by-field ()
  (pcase-dolist (`(,what ,edits ,written ,rows . ,said) todo-write-merge-tests--cases)
    (ert-info (what :prefix "Changed: ")
      (todo-write-with-store
        (todo-write-test-write "a" "A" "B" "C")
        (dolist (edit edits) (apply #'todo-write-edit "a" edit))
        (let ((result (plist-get (apply #'todo-write-test-write "a" written) :result)))
          (should (equal (mapcar #'butlast (todo-write-test-rows "a")) rows))
          (dolist (words said)
            (ert-info (result :prefix "Result: ")
              (should (string-search words result))))
          (unless (or edits said)
            (should-not (string-search "user" result))))))))

;;; Laws

(defun todo-write-merge-tests--random-write ()
  "Return random and distinct entries for `todo-write-test-todos'."
  (mapcar (lambda (n) (list (format "Task number %d" n)
                            (nth (random 3) '("pending" "in_progress" "completed"))))
          (delete-dups (cl-loop repeat (random 8) collect (random 12)))))

(defun todo-write-merge-tests--random-edit ()
  "Make a random edit of the thread \"a\"."
  (let* ((items (todo-write-items "a"))
         (id (and (> (length items) 0)
                  (plist-get (aref items (random (length items))) :id))))
    (pcase (if id (random 5) 0)
      (0 (todo-write-edit "a" 'add (format "User's own %d" (random 1000)) (random 5)))
      (1 (todo-write-edit "a" 'rename id (format "User's name %d" (random 1000))))
      (2 (todo-write-edit "a" 'status id (nth (random 3) '(pending in_progress completed))))
      (3 (todo-write-edit "a" 'move id (random 8)))
      (4 (todo-write-edit "a" 'delete id)))))

(ert-deftest todo-write-without-an-edit-the-write-stands-as-sent ()
  (todo-write-with-store
    (dotimes (_ 100)
      (let ((entries (todo-write-merge-tests--random-write)))
        (apply #'todo-write-test-write "a" entries)
        (should (equal (mapcar #'butlast (todo-write-test-rows "a")) entries))))))

(ert-deftest todo-write-a-repeated-write-keeps-the-users-list ()
  (todo-write-with-store
    (dotimes (_ 100)
      (let ((entries (todo-write-merge-tests--random-write)))
        (apply #'todo-write-test-write "a" entries)
        (dotimes (_ (random 5)) (todo-write-merge-tests--random-edit))
        (let ((items (todo-write-items "a")))
          (apply #'todo-write-test-write "a" entries)
          (should (equal (seq-map #'todo-write-merge-tests--as-told (todo-write-items "a"))
                         (seq-map #'todo-write-merge-tests--as-told items))))
        (todo-write-forget "a")))))

(defun todo-write-merge-tests--as-told (item)
  "Return ITEM as if the agent had been told of it, which is no change."
  (plist-put (copy-sequence item) :told t))

(ert-deftest todo-write-writing-back-the-merged-list-changes-nothing ()
  (todo-write-with-store
    (dotimes (_ 100)
      (apply #'todo-write-test-write "a" (todo-write-merge-tests--random-write))
      (dotimes (_ (random 5)) (todo-write-merge-tests--random-edit))
      (apply #'todo-write-test-write "a" (todo-write-merge-tests--random-write))
      (let* ((items (todo-write-items "a"))
             (outcome (todo-write "a" (list :todos items))))
        (should (plist-get outcome :ok))
        (should-not (plist-get outcome :changes))
        (should-not (string-search "The user" (plist-get outcome :result)))
        (should (equal (todo-write-items "a") items))))))

(provide 'todo-write-merge-tests)
;;; todo-write-merge-tests.el ends here
