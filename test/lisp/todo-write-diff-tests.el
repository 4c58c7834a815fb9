;;; todo-write-diff-tests.el --- Tests of diff and apply  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `todo-write-diff' and `todo-write-apply-changes' on any two lists.  The first
;; part follows the tests and edge cases of the change tracking design, except
;; that a status change and a move have kinds of their own.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-test-helper)

(defun todo-write-diff-tests--item (id text &rest more)
  "Return an item with ID and TEXT, pending, and MORE, a plist."
  (append (list :id id :description text)
          more
          (unless (plist-member more :status) '(:status "pending"))))

(defun todo-write-diff-tests--counts (previous current)
  "Return the numbers of changes by kind from PREVIOUS to CURRENT.
The kinds are added, modified, removed, status changed, reordered."
  (let ((changes (todo-write-diff previous current)))
    (mapcar (lambda (key) (length (plist-get changes key)))
            '(:added :modified :removed :statusChanged :reordered))))

(defun todo-write-diff-tests--only (previous current)
  "Return the only change from PREVIOUS to CURRENT; fail if there are more."
  (let ((changes (plist-get (todo-write-diff previous current) :changes)))
    (should (= (length changes) 1))
    (aref changes 0)))

(defun todo-write-diff-tests--normal (value)
  "Return VALUE with the fields of each object sorted, lists as vectors."
  (cond ((and (consp value) (keywordp (car value)))
         (cons 'object
               (sort (cl-loop for (key field) on value by #'cddr
                              unless (memq field '(nil :null))
                              collect (cons key (todo-write-diff-tests--normal field)))
                     (lambda (a b) (string< (car a) (car b))))))
        ((vectorp value) (mapcar #'todo-write-diff-tests--normal value))
        ((consp value) (mapcar #'todo-write-diff-tests--normal value))
        (t value)))

(defun todo-write-diff-tests--should-apply (previous current)
  "Fail unless the diff of PREVIOUS and CURRENT turns one into the other."
  (let ((result (todo-write-apply-changes previous (todo-write-diff previous current))))
    (unless (equal (todo-write-diff-tests--normal result)
                   (todo-write-diff-tests--normal current))
      (ert-fail (format "From %S to %S came %S" previous current result)))))

;;; The design's own tests

(ert-deftest todo-write-diff-detects-added-items ()
  (should (equal (todo-write-diff-tests--counts
                  [] (vector (todo-write-diff-tests--item "1" "Task 1")
                             (todo-write-diff-tests--item "2" "Task 2")))
                 '(2 0 0 0 0))))

(ert-deftest todo-write-diff-detects-removed-items ()
  (should (equal (todo-write-diff-tests--counts
                  (vector (todo-write-diff-tests--item "1" "Task 1")
                          (todo-write-diff-tests--item "2" "Task 2"))
                  [])
                 '(0 0 2 0 0))))

(ert-deftest todo-write-diff-detects-a-modified-item-with-both-its-states ()
  (let ((change (todo-write-diff-tests--only
                 (vector (todo-write-diff-tests--item "1" "Task 1"))
                 (vector (todo-write-diff-tests--item "1" "Task 1 Updated")))))
    (should (equal (plist-get change :type) "modified"))
    (should (equal (plist-get change :itemId) "1"))
    (should (equal (plist-get (plist-get change :previousItem) :description) "Task 1"))
    (should (equal (plist-get (plist-get change :item) :description) "Task 1 Updated"))
    (should (equal (plist-get change :fields) ["description"]))))

(ert-deftest todo-write-diff-handles-mixed-changes ()
  (should (equal (todo-write-diff-tests--counts
                  (vector (todo-write-diff-tests--item "1" "Task 1")
                          (todo-write-diff-tests--item "2" "Task 2")
                          (todo-write-diff-tests--item "3" "Task 3"))
                  (vector (todo-write-diff-tests--item "1" "Task 1")
                          (todo-write-diff-tests--item "2" "Task 2 Updated")
                          (todo-write-diff-tests--item "4" "Task 4")))
                 '(1 1 1 0 0))))

(ert-deftest todo-write-diff-does-not-count-a-new-status-as-a-modification ()
  (let ((change (todo-write-diff-tests--only
                 (vector (todo-write-diff-tests--item "1" "Task 1"))
                 (vector (todo-write-diff-tests--item "1" "Task 1" :status "in_progress")))))
    (should (equal (plist-get change :type) "status_changed"))
    (should (equal (plist-get (plist-get change :previousItem) :status) "pending"))
    (should (equal (plist-get (plist-get change :item) :status) "in_progress"))))

(ert-deftest todo-write-diff-treats-nil-as-an-empty-list ()
  (let ((list (vector (todo-write-diff-tests--item "1" "Task 1"))))
    (should (equal (todo-write-diff-tests--counts nil []) '(0 0 0 0 0)))
    (should (equal (todo-write-diff-tests--counts [] nil) '(0 0 0 0 0)))
    (should (equal (todo-write-diff-tests--counts nil nil) '(0 0 0 0 0)))
    (should (equal (todo-write-diff-tests--counts nil list) '(1 0 0 0 0)))
    (should (equal (todo-write-diff-tests--counts list nil) '(0 0 1 0 0)))))

(ert-deftest todo-write-diff-finds-the-two-changes-in-a-large-list ()
  (let* ((count (if (todo-write-test-module-assertions-p) 200 1000))
         (previous (cl-loop for n below count
                            vconcat (list (todo-write-diff-tests--item
                                           (format "id-%d" n) (format "Task %d" n)))))
         (current (vconcat previous
                           (list (todo-write-diff-tests--item (format "id-%d" count) "New task")))))
    (aset current 100 (todo-write-diff-tests--item "id-100" "Modified task"))
    (should (equal (todo-write-diff-tests--counts previous current) '(1 1 0 0 0)))
    (todo-write-diff-tests--should-apply previous current)))

;;; The design's edge cases

(ert-deftest todo-write-diff-pairs-a-reused-id-and-the-store-never-reuses-one ()
  (should (equal (todo-write-diff-tests--counts
                  (vector (todo-write-diff-tests--item "1" "Old task"))
                  (vector (todo-write-diff-tests--item "1" "Quite another")))
                 '(0 1 0 0 0)))
  (todo-write-with-store
    (todo-write-test-write "a" "Old task")
    (todo-write-test-write "a")
    (todo-write-test-write "a" "Old task")
    (should (equal (todo-write-test-id "a" "Old task") "t2"))
    (should (equal (todo-write-test-types (todo-write-changes-between "a" 1 3))
                   '("added" "removed")))))

(ert-deftest todo-write-diff-signals-duplicate-ids-before-anything-is-computed ()
  (let ((good (vector (todo-write-diff-tests--item "1" "A")))
        (bad (vector (todo-write-diff-tests--item "x" "A")
                     (todo-write-diff-tests--item "y" "B")
                     (todo-write-diff-tests--item "x" "C"))))
    (dolist (lists (list (list bad good) (list good bad) (list bad bad)
                         (list bad nil) (list nil bad)))
      (let ((err (should-error (apply #'todo-write-diff lists)
                               :type 'todo-write-input-error)))
        (should (string-search "id \"x\" comes twice" (cadr err)))))))

(ert-deftest todo-write-diff-reports-the-fewest-moves-as-reordered ()
  (let* ((list (cl-loop for n from 1 to 9
                        collect (todo-write-diff-tests--item n (format "Task %d" n))))
         (change (todo-write-diff-tests--only
                  list (append (last list) (butlast list)))))
    (should (equal (plist-get change :type) "reordered"))
    (should (equal (plist-get change :itemId) "9"))
    (should (equal (plist-get change :position) 0))
    (should (equal (plist-get change :previousPosition) 8))
    (should-not (plist-member change :item))
    (should (equal (todo-write-diff-tests--counts list (reverse list)) '(0 0 0 0 8)))))

(ert-deftest todo-write-diff-reports-one-item-as-moved-and-changed ()
  (should (equal (todo-write-test-types
                  (todo-write-diff
                   (vector (todo-write-diff-tests--item "1" "A")
                           (todo-write-diff-tests--item "2" "B")
                           (todo-write-diff-tests--item "3" "C"))
                   (vector (todo-write-diff-tests--item "3" "C2")
                           (todo-write-diff-tests--item "1" "A")
                           (todo-write-diff-tests--item "2" "B"))))
                 '("modified" "reordered"))))

(ert-deftest todo-write-diff-leaves-its-arguments-alone ()
  (let* ((previous (vector (todo-write-diff-tests--item "1" "A")))
         (current (vector (todo-write-diff-tests--item "1" "B")))
         (copies (copy-tree (list previous current) t)))
    (todo-write-apply-changes previous (todo-write-diff previous current))
    (should (equal (list previous current) copies))))

;;; Order, fields, positions

(ert-deftest todo-write-diff-lists-changes-in-list-order-with-removals-last ()
  (let ((changes (plist-get
                  (todo-write-diff
                   (vector (todo-write-diff-tests--item "gone" "G")
                           (todo-write-diff-tests--item "a" "A")
                           (todo-write-diff-tests--item "b" "B"))
                   (vector (todo-write-diff-tests--item "new" "N")
                           (todo-write-diff-tests--item "a" "A" :status "completed")
                           (todo-write-diff-tests--item "b" "B2")))
                  :changes)))
    (should (equal (mapcar (lambda (change)
                             (list (plist-get change :type) (plist-get change :itemId)
                                   (plist-get change :position)
                                   (plist-get change :previousPosition)))
                           changes)
                   '(("added" "new" 0 nil) ("status_changed" "a" 1 nil)
                     ("modified" "b" 2 nil) ("removed" "gone" nil 0))))))

(ert-deftest todo-write-diff-gives-the-accessors-the-same-objects-and-one-time ()
  (let ((changes (todo-write-diff (vector (todo-write-diff-tests--item "1" "A"))
                                  (vector (todo-write-diff-tests--item "2" "B")))))
    (should (eq (aref (plist-get changes :added) 0) (aref (plist-get changes :changes) 0)))
    (should (eq (aref (plist-get changes :removed) 0) (aref (plist-get changes :changes) 1)))
    (should (> (plist-get changes :timestamp) 1600000000000))
    (seq-doseq (change (plist-get changes :changes))
      (should (= (plist-get change :timestamp) (plist-get changes :timestamp))))))

(ert-deftest todo-write-diff-compares-any-field-deeply-and-names-it ()
  (cl-flet ((fields (more-before more-after)
              (append
               (plist-get (todo-write-diff-tests--only
                           (vector (apply #'todo-write-diff-tests--item "1" "A" more-before))
                           (vector (apply #'todo-write-diff-tests--item "1" "A" more-after)))
                          :fields)
               nil)))
    (should (equal (fields '(:dependencies ["a"]) '(:dependencies ["a" "b"]))
                   '("dependencies")))
    (should (equal (fields '(:toolCalls [(:name "ls" :args (:all t))])
                           '(:toolCalls [(:name "ls" :args (:all :false))]))
                   '("toolCalls")))
    (should (equal (fields nil '(:result "42")) '("result")))
    (should (equal (sort (fields '(:status "pending" :result 1)
                                 '(:status "completed" :result 2))
                         #'string<)
                   '("result" "status")))))

(ert-deftest todo-write-diff-leaves-timestamps-out ()
  (should (equal (todo-write-diff-tests--counts
                  (vector (todo-write-diff-tests--item
                           "1" "A" :createdTimestamp 1 :updatedTimestamp 1 :timestamp 1))
                  (vector (todo-write-diff-tests--item
                           "1" "A" :createdTimestamp 2 :updatedTimestamp 9 :timestamp 3)))
                 '(0 0 0 0 0))))

(ert-deftest todo-write-diff-ignores-the-form-and-the-order-of-fields ()
  (let ((text "[{\"id\": \"1\", \"content\": \"A\", \"deps\": [1, 2], \"more\": {\"a\": 1, \"b\": null}}]"))
    (let ((forms (list (json-parse-string text)
                       (json-parse-string text :object-type 'alist)
                       (json-parse-string text :object-type 'plist)
                       (json-parse-string text :object-type 'plist :array-type 'list)
                       '((:more (:b :null :a 1) :deps (1 2) :content "A" :id "1")))))
      (dolist (one forms)
        (dolist (other forms)
          (should (equal (todo-write-diff-tests--counts one other) '(0 0 0 0 0))))))))

(ert-deftest todo-write-diff-and-apply-return-nil-values-as-nil ()
  (let ((items [(:id "t1" :content "A" :priority nil) (:id "t2" :content "B" :priority nil)]))
    (should (equal (todo-write-apply-changes items nil) items))
    (should (equal (plist-get (todo-write-diff-tests--only nil (vector (aref items 0))) :item)
                   (aref items 0)))))

;;; Without ids

(ert-deftest todo-write-diff-recognizes-items-without-ids-by-their-text ()
  (should (equal (todo-write-test-types
                  (todo-write-diff
                   [(:content "Read the code" :status "in_progress")
                    (:content "Fix the parser" :status "pending")
                    (:content "Write release notes" :status "pending")]
                   [(:content "Read the code" :status "completed")
                    (:content "Fix the parser and its tests" :status "in_progress")
                    (:content "Deploy to staging" :status "pending")]))
                 '("status_changed" "modified" "added" "removed"))))

(ert-deftest todo-write-diff-pairs-equal-texts-in-order ()
  (should (equal (todo-write-diff-tests--counts
                  [(:content "Same") (:content "Same") (:content "Same")]
                  [(:content "Same") (:content "Same")])
                 '(0 0 1 0 0))))

(ert-deftest todo-write-diff-compares-texts-if-one-list-has-no-ids ()
  (let ((change (todo-write-diff-tests--only
                 [(:id "x" :content "A" :status "pending") (:id "y" :content "B" :status "pending")]
                 [(:content "B" :status "pending") (:content "A" :status "pending")])))
    (should (equal (plist-get change :type) "reordered"))
    (should (member (plist-get change :itemId) '("x" "y")))))

;;; Laws

(defun todo-write-diff-tests--random-list (ids)
  "Return a random list of items, as a vector; with ids if IDS is non-nil."
  (let ((numbers (cl-loop repeat (random 13) collect (random 20))))
    (when ids (setq numbers (delete-dups numbers)))
    (cl-loop for n in numbers
             vconcat (list `(,@(and ids (list :id (format "i%d" n)))
                             :content ,(format "Task %d %s" n
                                               (nth (random 3) '("" "again" "in other words")))
                             :status ,(nth (random 3) '("pending" "in_progress" "completed"))
                             ,@(and (zerop (random 3)) (list :deps (vector (random 3)))))))))

(ert-deftest todo-write-apply-turns-one-random-list-into-the-other ()
  (dolist (ids '(t nil))
    (dotimes (_ 300)
      (todo-write-diff-tests--should-apply (todo-write-diff-tests--random-list ids)
                                           (todo-write-diff-tests--random-list ids)))))

(ert-deftest todo-write-diff-of-a-list-with-itself-is-empty ()
  (dolist (ids '(t nil))
    (dotimes (_ 100)
      (let ((list (todo-write-diff-tests--random-list ids)))
        (should (equal (plist-get (todo-write-diff list (copy-tree list t)) :changes) []))))))

(ert-deftest todo-write-apply-accepts-changes-decoded-from-json ()
  (let* ((previous (todo-write-diff-tests--random-list t))
         (current (todo-write-diff-tests--random-list t))
         (wire (todo-write-to-json (todo-write-diff previous current))))
    (should (equal (todo-write-diff-tests--normal
                    (todo-write-apply-changes previous
                                              (json-parse-string wire :object-type 'plist)))
                   (todo-write-diff-tests--normal current)))))

(ert-deftest todo-write-apply-turns-each-revision-into-the-next ()
  (todo-write-with-store
    (todo-write-test-write "a" "One" "Two" "Three")
    (todo-write-test-write "a" "Three" '("One" "completed") "Four")
    (todo-write-edit "a" 'rename "t1" "Uno")
    (dotimes (n 3)
      (should (equal (todo-write-diff-tests--normal
                      (todo-write-apply-changes
                       (todo-write-items "a" n)
                       (todo-write-changes-between "a" n (1+ n))))
                     (todo-write-diff-tests--normal (todo-write-items "a" (1+ n))))))))

(provide 'todo-write-diff-tests)
;;; todo-write-diff-tests.el ends here
