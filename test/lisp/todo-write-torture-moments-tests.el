;;; todo-write-torture-moments-tests.el --- Interruptions at any moment  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Garbage collections in all parts of a call run hooks that quit or call the
;; module; Emacs threads take turns; timers write.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-test-helper)
(require 'todo-write-view)

(defvar todo-write-torture-moments-tests--collections 0
  "The number of garbage collections that called a test's function.")

(defun todo-write-torture-moments-tests--collecting (function body)
  "Run BODY with many garbage collections, each of which calls FUNCTION."
  (let* ((todo-write-torture-moments-tests--collections 0)
         ;; Emacs uses at least about 80,000 bytes.
         (gc-cons-threshold 1) (gc-cons-percentage 0.0)
         (post-gc-hook (list (lambda ()
                               (cl-incf todo-write-torture-moments-tests--collections)
                               (funcall function)))))
    (funcall body)
    (should (> todo-write-torture-moments-tests--collections 10))))

(defun todo-write-torture-moments-tests--list (n)
  "Return list N of 60 tasks, which differs from the one before."
  (apply #'todo-write-test-todos
         (mapcar (lambda (k) (list (format "Task %d" (+ k (/ n 5)))
                                   (if (zerop (% (+ k n) 3)) "completed" "pending")))
                 (number-sequence 1 60))))

(defun todo-write-torture-moments-tests--check (thread n)
  "Fail unless THREAD has list N."
  (should (equal (mapcar (lambda (item) (list (plist-get item :content) (plist-get item :status)))
                         (todo-write-items thread))
                 (mapcar (lambda (item) (list (plist-get item :content) (plist-get item :status)))
                         (plist-get (todo-write-torture-moments-tests--list n) :todos)))))

(defun todo-write-torture-moments-tests--call (function)
  "Call FUNCTION with a C-g at each garbage collection; return nil after a quit."
  (let ((debug-on-quit nil) (quit-flag nil))
    (condition-case nil
        (let ((post-gc-hook (list (lambda ()
                                    (cl-incf todo-write-torture-moments-tests--collections)
                                    (setq quit-flag t)))))
          (funcall function)
          t)
      (quit nil))))

(ert-deftest todo-write-torture-the-module-may-be-called-while-it-answers ()
  (todo-write-with-store
    (todo-write-test-write "b" '("Other" "in_progress"))
    (let ((writes 0) broken)
      (todo-write-torture-moments-tests--collecting
       (lambda ()
         (cl-incf writes)
         (todo-write-test-write "b" '("Other" "in_progress") (format "Number %d" writes))
         (unless (equal (1+ writes) (plist-get (todo-write-summary "b") :revision))
           (setq broken t)))
       (lambda ()
         (dotimes (n 12)
           (todo-write "a" (todo-write-torture-moments-tests--list n))
           (should (= 60 (plist-get (todo-write-summary "a") :total)))
           (todo-write-torture-moments-tests--check "a" n)
           (should (= (1+ n) (length (todo-write-revisions "a")))))))
      (should-not broken)
      (should (= (1+ writes) (plist-get (todo-write-summary "b") :revision))))))

(ert-deftest todo-write-torture-a-quit-during-a-write-waits-for-all-listeners ()
  (todo-write-with-store
    (let* ((heard 0) (quits 0)
           (todo-write-change-functions (list (lambda (&rest _) (cl-incf heard)))))
      (todo-write-subscribe (lambda (_) (cl-incf heard)) :type "PLAN_UPDATE")
      (todo-write-torture-moments-tests--collecting
       #'ignore
       (lambda ()
         (dotimes (n 24)
           (let ((input (todo-write-torture-moments-tests--list n)))
             (unless (todo-write-torture-moments-tests--call
                      (lambda () (todo-write "a" input)))
               (cl-incf quits))))))
      (should (> quits 10))
      (should (= heard (* 2 (length (todo-write-revisions "a"))))))))

;;; Taking turns

(defun todo-write-torture-moments-tests--thread (function)
  "Start an Emacs thread for FUNCTION with the store and hooks of this one.
The bindings of `let' apply to one thread only."
  (let ((folder todo-write-directory)
        (subscribers todo-write-events--subscribers)
        (functions todo-write-change-functions))
    (make-thread (lambda ()
                   (let ((todo-write-directory folder)
                         (todo-write-events--subscribers subscribers)
                         (todo-write-change-functions functions))
                     (funcall function))))))

(ert-deftest todo-write-torture-emacs-threads-read-whole-lists-while-others-write ()
  (todo-write-with-store
    (todo-write-subscribe (lambda (_) (thread-yield)))
    (let* ((todo-write-change-functions (list (lambda (&rest _) (thread-yield))))
           (writers 0) (reads 0) torn
           (done 0)
           (writer (lambda (key)
                     (lambda ()
                       (cl-incf writers)
                       (dotimes (n 60)
                         (todo-write key (apply #'todo-write-test-todos
                                                (make-list (1+ (% n 7)) (format "%s %d" key n))))
                         ;; Until another thread has read.
                         (let ((before reads))
                           (while (= reads before) (thread-yield))))
                       (cl-incf done))))
           (reader (lambda ()
                     (while (< done 3)
                       (dolist (key '("a" "b" "c"))
                         (let ((contents (todo-write-test-contents key)))
                           (cl-incf reads)
                           (when (cdr (delete-dups contents)) (push contents torn))))
                       (thread-yield))))
           (threads (append (mapcar (lambda (key) (todo-write-torture-moments-tests--thread (funcall writer key)))
                                    '("a" "b" "c"))
                            (list (todo-write-torture-moments-tests--thread reader)))))
      (mapc #'thread-join threads)
      (should (= writers 3))
      (should (>= reads 60))
      (should-not torn)
      (dolist (key '("a" "b" "c"))
        (should (= 60 (length (todo-write-revisions key))))
        (should (equal (delete-dups (todo-write-test-contents key))
                       (list (format "%s 59" key))))))))

(ert-deftest todo-write-torture-timers-write-while-a-view-is-waited-for ()
  (todo-write-with-store
    (save-window-excursion
      (letrec ((ticks 0)
               ;; One that is due again before it ends would leave no time for anything else.
               (tick (lambda ()
                       (cl-incf ticks)
                       (todo-write-edit "a" 'add (format "Tick %d" ticks))
                       (setq timer (run-with-timer 0.001 nil tick))))
               (timer (run-with-timer 0 nil tick)))
        (unwind-protect
            (progn
              (todo-write-show "a")
              (todo-write-test-wait (lambda ()
                                      (todo-write-edit "a" 'add "Tock")
                                      (> ticks 20)))
              (cancel-timer timer)
              (let ((contents (todo-write-test-contents "a")))
                (should (= (cl-count "Tock" contents :test-not #'equal) ticks))
                (with-current-buffer todo-write-view-buffer-name
                  (todo-write-view-refresh)
                  (should (string-search (format "Tick %d" ticks) (buffer-string))))))
          (cancel-timer timer)
          (mapc #'kill-buffer (todo-write-view-draw-live-buffers)))))))

(provide 'todo-write-torture-moments-tests)
;;; todo-write-torture-moments-tests.el ends here
