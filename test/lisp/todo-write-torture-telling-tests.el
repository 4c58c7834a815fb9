;;; todo-write-torture-telling-tests.el --- Listeners that misbehave  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; All listeners hear of every saved change, even if one of them signals, throws,
;; quits, writes, collects garbage or kills buffers.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-test-helper)
(require 'todo-write-view)

(defvar todo-write-torture-telling-tests--heard nil
  "What listeners heard, newest first.")

(defmacro todo-write-torture-telling-tests--with (function &rest body)
  "Run BODY with FUNCTION as the first subscriber and the first hook.
A second subscriber and a second hook add what they hear to
`todo-write-torture-telling-tests--heard'."
  (declare (indent 1) (debug t))
  `(let* ((todo-write-torture-telling-tests--heard nil)
          (first ,function)
          (hooked (lambda (_thread outcome)
                    (push (plist-get outcome :revision) todo-write-torture-telling-tests--heard)))
          (todo-write-change-functions (list first hooked)))
     (todo-write-with-store
       (todo-write-subscribe first :type "PLAN_UPDATE")
       (todo-write-subscribe (lambda (event)
                               (push (plist-get event :type)
                                     todo-write-torture-telling-tests--heard)))
       ,@body)))

(defun todo-write-torture-telling-tests--left-by (function)
  "Return how a call of FUNCTION ends: thrown, quit, or returned."
  (let ((debug-on-quit nil))
    (catch 'returned
      (catch 'todo-write-out
        (condition-case nil
            (progn (funcall function)
                   (throw 'returned 'returned))
          (quit (throw 'returned 'quit))))
      'thrown)))

(defconst todo-write-torture-telling-tests--exits
  '((signal . ((lambda (&rest _) (error "On purpose")) returned))
    (throw . ((lambda (&rest _) (throw 'todo-write-out t)) thrown))
    (quit . ((lambda (&rest _) (signal 'quit nil)) quit))
    (key . ((lambda (&rest _) (setq quit-flag t) (while-no-input nil)) quit)))
  "The exits of a listener, and how the call that ran it ends then.")

(ert-deftest todo-write-torture-all-functions-run-before-a-nonlocal-exit-of-one ()
  (pcase-dolist (`(,name ,exit ,left) todo-write-torture-telling-tests--exits)
    (ert-info ((symbol-name name) :prefix "Exit: ")
      (todo-write-test-warnings
        (todo-write-torture-telling-tests--with (eval exit t)
          (should (eq left (todo-write-torture-telling-tests--left-by
                            (lambda () (todo-write-test-write "a" "One")))))
          (should (equal todo-write-torture-telling-tests--heard '(1 "PLAN_UPDATE")))
          (should (equal (todo-write-test-contents "a") '("One"))))))))

(ert-deftest todo-write-torture-a-listener-that-throws-is-removed-like-one-that-signals ()
  (todo-write-with-store
    (let ((handle (todo-write-subscribe (lambda (_) (throw 'todo-write-out t)) :kind 'stream)))
      (let ((warnings (todo-write-test-warnings
                        (dotimes (_ 5)
                          (catch 'todo-write-out
                            (todo-write-stream "a" :type "TOKEN" :data "x"))))))
        (should (= (length warnings) 2))
        (should (string-search "left by a throw" (car warnings)))
        (should (string-search "removed after 3" (cadr warnings)))
        (should-not (memq handle todo-write-events--subscribers))))))

(ert-deftest todo-write-torture-streams-observations-and-pauses-reach-all-listeners-too ()
  (let ((calls `((todo-write-observe "a" "INTENT" "Text")
                 (todo-write-stream "a" :type "TOKEN" :data "x")
                 (todo-write-stream "a" :type "END"))))
    (dolist (exit '(throw quit))
      (todo-write-test-warnings
        (todo-write-with-store
          (todo-write-test-write "a" "One")
          (let* ((heard 0)
                 (form (cadr (assq exit todo-write-torture-telling-tests--exits)))
                 (leave (eval form t))
                 (count (lambda (&rest _) (cl-incf heard)))
                 (todo-write-events-functions (list leave)))
            (todo-write-subscribe leave)
            (todo-write-subscribe count)
            (dolist (call calls)
              (ert-info ((format "%S, %s" call exit))
                (setq heard 0)
                (todo-write-torture-telling-tests--left-by (lambda () (eval call t)))
                (should (> heard 0))))
            (setq todo-write-events-functions (list leave count))
            (dolist (call '((todo-write-pause "a") (todo-write-resume "a")
                            (todo-write-forget "a")))
              (setq heard 0)
              (should-not (eq 'returned (todo-write-torture-telling-tests--left-by
                                         (lambda () (eval call t)))))
              (should (= heard 1)))))))))

(ert-deftest todo-write-torture-a-pending-quit-neither-loses-nor-halves-a-write ()
  (todo-write-torture-telling-tests--with #'ignore
    (should (eq 'quit (todo-write-torture-telling-tests--left-by
                       (lambda ()
                         (let ((inhibit-quit t))
                           (setq quit-flag t)
                           (todo-write-test-write "a" "One"))
                         ;; The quit happens when it is allowed again.
                         (while t)))))
    (should (equal todo-write-torture-telling-tests--heard '(1 "PLAN_UPDATE")))))

;;; Hooks

(ert-deftest todo-write-torture-a-hook-runs-with-its-value-at-the-change ()
  (todo-write-with-store
    (let* (heard
           todo-write-change-functions
           (late (lambda (&rest _) (push 'late heard)))
           (second (lambda (&rest _) (push 'second heard)))
           (first (lambda (&rest _)
                    (push 'first heard)
                    (remove-hook 'todo-write-change-functions second)
                    (add-hook 'todo-write-change-functions late t))))
      (add-hook 'todo-write-change-functions second)
      (add-hook 'todo-write-change-functions first)
      (todo-write-test-write "a" "One")
      (should (equal heard '(second first)))
      (setq heard nil)
      (with-temp-buffer
        (add-hook 'todo-write-change-functions (lambda (&rest _) (push 'local heard)) nil t)
        (todo-write-test-write "a" "Two"))
      (should (equal heard '(late first local)))
      (setq heard nil
            todo-write-change-functions late)
      (todo-write-test-write "a" "Three")
      (should (equal heard '(late))))))

;;; Hooks that change the thread

(ert-deftest todo-write-torture-a-hook-may-write-its-own-thread ()
  (todo-write-torture-telling-tests--with
      (lambda (&rest _)
        (let ((count (length (todo-write-items "a"))))
          (when (< count 20)
            (todo-write-edit "a" 'add (format "Added %d" count)))))
    (todo-write-test-write "a" "One")
    (should (= 20 (length (todo-write-items "a"))))
    (should (= 20 (apply #'max (seq-filter #'numberp todo-write-torture-telling-tests--heard))))
    (should (= 20 (cl-count "PLAN_UPDATE" todo-write-torture-telling-tests--heard
                            :test #'equal)))))

(ert-deftest todo-write-torture-a-hook-may-forget-its-own-thread ()
  (todo-write-torture-telling-tests--with (lambda (&rest _) (todo-write-forget "a"))
    (todo-write-test-write "a" "One")
    (should (equal [] (todo-write-items "a")))
    (should (equal 1 (plist-get (todo-write-test-write "a" "Two") :revision)))))

(ert-deftest todo-write-torture-a-hook-that-recurses-endlessly-ends ()
  (let ((todo-write-change-functions
         (list (lambda (&rest _)
                 (todo-write-edit "a" 'add "More")))))
    (todo-write-with-store
      (todo-write-test-warnings
        (should (todo-write-test-write "a" "One")))
      (should (< 2 (length (todo-write-items "a"))))
      (setq todo-write-change-functions nil)
      (should (plist-get (todo-write-edit "a" 'add "Last") :ok)))))

(ert-deftest todo-write-torture-hooks-may-kill-the-view-and-collect-garbage ()
  (dolist (hook (list (lambda (&rest _) (ignore-errors (kill-buffer "*efrit-todos*")))
                      (lambda (&rest _) (garbage-collect))))
    (todo-write-torture-telling-tests--with hook
      (save-window-excursion
        (todo-write-show "a")
        (unwind-protect
            (let ((gc-cons-threshold 1) (gc-cons-percentage 0.0))
              (todo-write-test-write "a" "One")
              (todo-write-edit "a" 'add "Two")
              (should (equal (todo-write-test-contents "a") '("One" "Two"))))
          (mapc #'kill-buffer (todo-write-view-draw-live-buffers)))))))

;;; State during a call

(ert-deftest todo-write-torture-listeners-hear-of-an-unchanged-write-that-resumes ()
  (todo-write-with-store
    (let* ((states nil)
           (todo-write-events-functions
            (list (lambda (thread what _)
                    (let ((state (todo-write-state thread)))
                      (when (and (eq what 'change) (not (eq state (car states))))
                        (push state states)))))))
      (todo-write-test-write "a" '("One" "in_progress"))
      (todo-write-test-write "a" '("One" "in_progress"))
      (todo-write-pause "a")
      (todo-write-test-write "a" '("One" "in_progress"))
      (should (equal states '(active paused active)))
      (todo-write-pause "a")
      (todo-write-test-write "a" '("One" "completed"))
      (should (equal states '(done paused active paused active))))))

(ert-deftest todo-write-torture-forgetting-a-thread-frees-its-stream ()
  (todo-write-with-store
    (todo-write-stream "a" :type "TOKEN" :data "x")
    (todo-write-forget "a")
    (should (zerop (hash-table-count todo-write-core-token-runs)))
    (todo-write-stream "a" :type "TOKEN" :data "x")
    (should (plist-get (todo-write-about "a") :project))))

(provide 'todo-write-torture-telling-tests)
;;; todo-write-torture-telling-tests.el ends here
