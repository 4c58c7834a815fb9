;;; bench-diff.el --- Differences of two lists of any items  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `todo-write-diff' as a user calls it, on two lists of 1,000 plists with ids, of which
;; one was changed and one is new: of 2, 3, 4 and 16 fields.  The yardstick is the work
;; that nobody can spare, in compiled Lisp: a hash table of the ids, and `equal'.

;;; Code:

(require 'bench)
(require 'todo-write)

(defun bench-diff--list (size fields)
  "Return a vector of SIZE items with FIELDS fields, as Lisp has them."
  (vconcat
   (cl-loop for n below size
            collect `( :id ,(format "id-%d" n) :content ,(format "Count the apples in box %d" n)
                       ,@(and (> fields 2) '(:status "pending"))
                       ,@(cl-loop for field from 3 below fields
                                  nconc (list (intern (format ":field%d" field))
                                              (format "value %d of %d" field n)))))))

(defun bench-diff--by-table (previous current)
  "Return the items of CURRENT that PREVIOUS lacks or has otherwise."
  (let ((known (make-hash-table :test #'equal :size (length previous))))
    (seq-doseq (item previous)
      (puthash (plist-get item :id) item known))
    (seq-remove (lambda (item) (equal item (gethash (plist-get item :id) known))) current)))

(pcase-dolist (`(,fields . ,budget) '((2 . 0.010) (3 . 0.010) (4 . 0.010) (16 . 0.040)))
  (let* ((previous (bench-diff--list 1000 fields))
         (current (bench-diff--list 1001 fields))
         (way (lambda (function)
                (make-bench-way :begin #'ignore
                                :call (lambda (_) (funcall function previous current)))))
         (work (format "`todo-write-diff' of 1000 items with %d fields" fields)))
    (setf (plist-get (aref current 500) :content) "Count the pears")
    (cl-assert (equal '(1 1) (let ((diff (todo-write-diff previous current)))
                               (list (length (plist-get diff :modified))
                                     (length (plist-get diff :added))))))
    (cl-assert (= 2 (length (bench-diff--by-table previous current))))
    (let ((samples (bench-compare `((ours . ,(funcall way #'todo-write-diff))
                                    (table . ,(funcall way #'bench-diff--by-table)))
                                  [nil] 10 bench-rounds)))
      (bench-row work (alist-get 'ours samples) (format "%d ms" (* 1000 budget)) budget :budget 1)
      (bench-row work (alist-get 'ours samples)
                 "a hash table in Lisp" (alist-get 'table samples)))))

(provide 'bench-diff)
;;; bench-diff.el ends here
