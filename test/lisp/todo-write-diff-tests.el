;;; todo-write-diff-tests.el --- Tests of diff and apply  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The Lisp objects that `todo-write-diff' and `todo-write-apply-changes' take and
;; return.  What counts as which change is in todo-write-seeds-tests.el and test/rust.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-test-helper)

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

(ert-deftest todo-write-diff-ignores-the-form-and-the-order-of-fields ()
  (let ((text "[{\"id\": \"1\", \"content\": \"A\", \"deps\": [1, 2], \"more\": {\"a\": 1, \"b\": null}}]"))
    (let ((forms (list (json-parse-string text)
                       (json-parse-string text :object-type 'alist)
                       (json-parse-string text :object-type 'plist)
                       (json-parse-string text :object-type 'plist :array-type 'list)
                       '((:more (:b :null :a 1) :deps (1 2) :content "A" :id "1")))))
      (dolist (one forms)
        (dolist (other forms)
          (should (equal (plist-get (todo-write-diff one other) :changes) [])))))))

(ert-deftest todo-write-diff-and-apply-return-nil-values-as-nil ()
  (let ((items [(:id "t1" :content "A" :priority nil) (:id "t2" :content "B" :priority nil)]))
    (should (equal (todo-write-apply-changes items nil) items))
    (should (equal (plist-get (aref (plist-get (todo-write-diff nil items) :changes) 0) :item)
                   (aref items 0)))))

;;; Applying

(ert-deftest todo-write-apply-accepts-changes-decoded-from-json ()
  (let* ((previous [(:id "a" :content "A" :deps [1]) (:id "b" :content "B") (:id "c" :content "C")])
         (current [(:id "c" :content "C2") (:id "d" :content "D" :deps [2]) (:id "a" :content "A")])
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
