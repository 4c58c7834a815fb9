;;; todo-write-diff-tests.el --- Tests of diff and apply  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The Lisp objects that `todo-write-diff' and `todo-write-apply-changes' take and
;; return.  What counts as which change is in test/rust.

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

(ert-deftest todo-write-diff-treats-nil-as-an-empty-list ()
  (let ((list (vector (todo-write-diff-tests--item "1" "Task 1"))))
    (should (equal (todo-write-diff-tests--counts nil []) '(0 0 0 0 0)))
    (should (equal (todo-write-diff-tests--counts [] nil) '(0 0 0 0 0)))
    (should (equal (todo-write-diff-tests--counts nil nil) '(0 0 0 0 0)))
    (should (equal (todo-write-diff-tests--counts nil list) '(1 0 0 0 0)))
    (should (equal (todo-write-diff-tests--counts list nil) '(0 0 1 0 0)))))

(ert-deftest todo-write-diff-signals-a-repeated-id ()
  (let ((bad (vector (todo-write-diff-tests--item "x" "A") (todo-write-diff-tests--item "x" "C"))))
    (dolist (lists (list (list bad nil) (list nil bad)))
      (let ((err (should-error (apply #'todo-write-diff lists) :type 'todo-write-input-error)))
        (should (string-search "id \"x\" comes twice" (cadr err)))))))

(ert-deftest todo-write-diff-leaves-its-arguments-alone ()
  (let* ((previous (vector (todo-write-diff-tests--item "1" "A")))
         (current (vector (todo-write-diff-tests--item "1" "B")))
         (copies (copy-tree (list previous current) t)))
    (todo-write-apply-changes previous (todo-write-diff previous current))
    (should (equal (list previous current) copies))))

(ert-deftest todo-write-diff-gives-changes-with-places-items-and-fields ()
  (let* ((previous (vector (todo-write-diff-tests--item "gone" "G")
                           (todo-write-diff-tests--item "a" "A")
                           (todo-write-diff-tests--item "b" "B")))
         (current (vector (todo-write-diff-tests--item "new" "N")
                          (todo-write-diff-tests--item "a" "A" :status "completed")
                          (todo-write-diff-tests--item "b" "B2")))
         (changes (plist-get (todo-write-diff previous current) :changes))
         (text (lambda (item) (plist-get item :description))))
    (should (equal (mapcar (lambda (change)
                             (list (plist-get change :type) (plist-get change :itemId)
                                   (plist-get change :position)
                                   (plist-get change :previousPosition)
                                   (funcall text (plist-get change :previousItem))
                                   (funcall text (plist-get change :item))
                                   (append (plist-get change :fields) nil)))
                           changes)
                   '(("added" "new" 0 nil nil "N" nil)
                     ("status_changed" "a" 1 nil "A" "A" nil)
                     ("modified" "b" 2 nil "B" "B2" ("description"))
                     ("removed" "gone" nil 0 "G" nil nil))))
    (should (equal (todo-write-diff-tests--counts previous current) '(1 1 1 1 0)))))

(ert-deftest todo-write-diff-gives-the-accessors-the-same-objects-and-one-time ()
  (let ((changes (todo-write-diff (vector (todo-write-diff-tests--item "1" "A"))
                                  (vector (todo-write-diff-tests--item "2" "B")))))
    (should (eq (aref (plist-get changes :added) 0) (aref (plist-get changes :changes) 0)))
    (should (eq (aref (plist-get changes :removed) 0) (aref (plist-get changes :changes) 1)))
    (should (> (plist-get changes :timestamp) 1600000000000))
    (seq-doseq (change (plist-get changes :changes))
      (should (= (plist-get change :timestamp) (plist-get changes :timestamp))))))

(ert-deftest todo-write-diff-warns-of-dependencies-on-an-item-that-is-gone ()
  (let ((kept (todo-write-diff-tests--item "b" "B" :dependencies ["a"])))
    (should (equal '("\"b\" depends on \"a\", which is gone")
                   (plist-get (todo-write-diff (vector (todo-write-diff-tests--item "a" "A") kept)
                                               (vector kept))
                              :warnings)))
    (should-not (plist-get (todo-write-diff (vector kept) (vector kept)) :warnings))))

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
