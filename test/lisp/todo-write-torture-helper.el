;;; todo-write-torture-helper.el --- One object of each kind  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Lisp objects that an agent or a caller may wrongly pass.

;;; Code:

(require 'todo-write-test-helper)


(defun todo-write-torture-circular ()
  "Return objects that contain themselves."
  (let ((list (list :todos 1))
        (tail (list 1 2 3))
        (vector (vector 1 2))
        (table (make-hash-table :test #'equal))
        (alist (list (cons "todos" nil)))
        (own-car (list 1)))
    (setcdr (cdr list) list)
    (setcdr (cddr tail) (cdr tail))
    (aset vector 1 vector)
    (puthash "todos" table table)
    (setcdr (car alist) alist)
    (setcar own-car own-car)
    (list list tail vector table alist own-car)))

(defun todo-write-torture-deep (depth)
  "Return a list, a vector and an object nested to DEPTH."
  (let (list (vector []) (object 1))
    (dotimes (_ depth)
      (setq list (list list)
            vector (vector vector)
            object (list :todos object)))
    (list list vector object)))

(defun todo-write-torture-dead ()
  "Return Emacs objects that are dead or unused."
  (let ((buffer (generate-new-buffer " *torture*" t)))
    (list (with-current-buffer buffer (point-marker))
          (let ((overlay (make-overlay 1 1 buffer))) (delete-overlay overlay) overlay)
          (progn (kill-buffer buffer) buffer)
          (make-marker)
          (let ((thread (make-thread #'ignore))) (thread-join thread) thread)
          (make-mutex)
          (with-temp-buffer
            (let ((process (make-pipe-process :name "torture" :noquery t
                                              :buffer (current-buffer))))
              (delete-process process)
              process)))))

(defun todo-write-torture-objects ()
  "Return one object of each kind."
  (let ((odd (make-hash-table)))
    (puthash 1.5 'x odd)
    (puthash '(1) nil odd)
    (append
     (list nil t 'symbol :keyword (make-symbol "uninterned") (intern "") (intern "nul\0")
           0 -1 1.5 0.0e+NaN -1.0e+INF most-positive-fixnum most-negative-fixnum (expt 2 70)
           "" " " "no such" "nul\0byte" "\xff\xfe" (string-to-multibyte "\xff\xfe")
           (string #x3fffff) (string #xd800) (propertize "face" 'face '(:box t)) (make-string 70000 ?x)
           '(1 . 2) '(1 2 . 3) '(:a) '(:a 1 :b) '((a . 1) b) '(nil) [] [nil] [[[]]] [:null]
           odd (make-hash-table) (make-bool-vector 9 t) (make-char-table 'torture)
           (lambda ()) #'car (symbol-function 'if) (selected-window) (selected-frame)
           (record 'torture 1) (current-buffer) (make-vector 1100 nil))
     (todo-write-torture-circular)
     (todo-write-torture-deep 400)
     (todo-write-torture-dead))))

(defun todo-write-torture-error (function arguments)
  "Call FUNCTION with ARGUMENTS; return the error that it signals, or nil.
A question signals an error."
  (condition-case err
      (let ((inhibit-interaction t) (inhibit-message t) (debug-on-error nil))
        (apply function arguments)
        nil)
    (error err)))

(provide 'todo-write-torture-helper)
;;; todo-write-torture-helper.el ends here
