;;; todo-write-observation-tests.el --- Tests of observations  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The observations of a thread, the order in which subscribers hear of them, and
;; subscribers that fail.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'seq)
(require 'todo-write-test-helper)

(defvar todo-write-observation-tests--heard nil
  "The events that a test's subscribers received, newest first.")

(defmacro todo-write-observation-tests--with (&rest body)
  "Evaluate BODY with an empty store and no received events."
  (declare (indent 0) (debug t))
  `(let ((todo-write-observation-tests--heard nil))
     (todo-write-with-store ,@body)))

(defun todo-write-observation-tests--hear (event)
  "Remember EVENT."
  (push event todo-write-observation-tests--heard))

(defun todo-write-observation-tests--types (&optional events)
  "Return the types of EVENTS, or of the received events, in order."
  (mapcar (lambda (event) (plist-get event :type))
          (or events (reverse todo-write-observation-tests--heard))))

;;; Records

(ert-deftest todo-write-observe-returns-and-keeps-the-observation ()
  (todo-write-observation-tests--with
    (todo-write-test-write "a" '("One" "in_progress"))
    (let ((seen (todo-write-observe "a" 'TOOL_CALL '(:name "ls" :args ["-l"])
                                    :title "List files" :trace-id "r1" :cost 3)))
      (should (equal seen (aref (todo-write-observations "a" :limit 1) 0)))
      (should (equal (plist-get seen :type) "TOOL_CALL"))
      (should (equal (plist-get seen :threadId) "a"))
      (should (equal (plist-get seen :traceId) "r1"))
      (should (equal (plist-get seen :parentId) "t1"))
      (should (equal (plist-get seen :title) "List files"))
      (should (equal (plist-get seen :content) '(:name "ls" :args ["-l"])))
      (should (natnump (plist-get seen :timestamp)))
      (should (equal (plist-get (plist-get seen :metadata) :cost) 3)))))

(ert-deftest todo-write-observations-are-filtered-limited-and-newest-last ()
  (todo-write-observation-tests--with
    (todo-write-observe "a" "INTENT" "First")
    (todo-write-test-write "a" '("One" "in_progress"))
    (todo-write-observe "a" "THOUGHTS" "Second" :tokenType "EXECUTION_LLM_THINKING")
    (todo-write-observe "a" "TOOL_CALL" "Third")
    (todo-write-observe "other" "TOOL_CALL" "Elsewhere")
    (cl-flet ((contents (&rest filter)
                (mapcar (lambda (seen) (plist-get seen :content))
                        (cl-remove "PLAN_UPDATE" (apply #'todo-write-observations "a" filter)
                                   :key (lambda (seen) (plist-get seen :type))
                                   :test #'equal))))
      (should (equal (contents) '("First" "Second" "Third")))
      (should (equal (contents :type "TOOL_CALL") '("Third")))
      (should (equal (contents :phase 'planning) '("First")))
      (should (equal (contents :step "t1") '("Second" "Third")))
      (should (equal (contents :token-type "EXECUTION_LLM_THINKING") '("Second")))
      (should (equal (contents :limit 2) '("Second" "Third")))
      (should (equal (contents :limit 0) nil))
      (should (equal (contents :type "TOOL_CALL" :phase 'planning) nil)))))

;;; Subscribers

(ert-deftest todo-write-subscribers-hear-each-observation-once-in-order ()
  (todo-write-observation-tests--with
    (todo-write-subscribe #'todo-write-observation-tests--hear)
    (todo-write-test-write "a" "One")
    (todo-write-edit "a" 'status "t1" "completed")
    (todo-write-observe "a" "FINAL_RESPONSE" "Done")
    (should (equal (todo-write-observation-tests--types)
                   '("PLAN_UPDATE" "PLAN_UPDATE" "ITEM_STATUS_CHANGE" "FINAL_RESPONSE")))
    (should (equal (reverse todo-write-observation-tests--heard)
                   (append (todo-write-observations "a") nil)))))

(ert-deftest todo-write-a-subscriber-gets-no-earlier-observation ()
  (todo-write-observation-tests--with
    (todo-write-test-write "a" "One")
    (todo-write-subscribe #'todo-write-observation-tests--hear)
    (todo-write-observe "a" "INTENT" "Later")
    (should (equal (todo-write-observation-tests--types) '("INTENT")))))

(ert-deftest todo-write-a-filter-passes-matching-events-only ()
  (pcase-dolist (`(,filter . ,types)
                 '(((:kind observation) "INTENT" "PLAN_UPDATE" "PLAN_UPDATE"
                    "PLAN_UPDATE" "ITEM_STATUS_CHANGE" "FINAL_RESPONSE")
                   ((:kind stream))
                   ((:thread "a") "INTENT" "PLAN_UPDATE" "PLAN_UPDATE"
                    "ITEM_STATUS_CHANGE" "FINAL_RESPONSE")
                   ((:thread "nobody"))
                   ((:type "PLAN_UPDATE") "PLAN_UPDATE" "PLAN_UPDATE" "PLAN_UPDATE")
                   ((:type PLAN_UPDATE :thread "b") "PLAN_UPDATE")
                   ((:phase planning) "INTENT")
                   ((:phase "synthesis") "PLAN_UPDATE" "ITEM_STATUS_CHANGE"
                    "FINAL_RESPONSE")
                   ((:step "t1" :type ITEM_STATUS_CHANGE) "ITEM_STATUS_CHANGE")
                   ((:token-type "SYNTHESIS_LLM_RESPONSE") "FINAL_RESPONSE")
                   ((:type nil :phase nil :thread "b") "PLAN_UPDATE")))
    (ert-info ((format "%S" filter) :prefix "Filter: ")
      (todo-write-observation-tests--with
        (apply #'todo-write-subscribe #'todo-write-observation-tests--hear filter)
        (todo-write-observe "a" "INTENT" "Plan")
        (todo-write-test-write "a" "One")
        (todo-write-test-write "b" "Other")
        (todo-write-test-write "a" '("One" "completed"))
        (todo-write-observe "a" "FINAL_RESPONSE" "Done"
                            :tokenType "SYNTHESIS_LLM_RESPONSE")
        (should (equal (todo-write-observation-tests--types) types))))))

(ert-deftest todo-write-one-function-may-subscribe-twice-and-leave-once ()
  (todo-write-observation-tests--with
    (let ((first (todo-write-subscribe #'todo-write-observation-tests--hear)))
      (todo-write-subscribe #'todo-write-observation-tests--hear)
      (todo-write-observe "a" "INTENT" "Twice")
      (todo-write-unsubscribe first)
      (todo-write-unsubscribe first)
      (todo-write-observe "a" "INTENT" "Once")
      (should (= (length todo-write-observation-tests--heard) 3)))))

(ert-deftest todo-write-a-subscriber-may-unsubscribe-itself-and-others-while-it-hears ()
  (todo-write-observation-tests--with
    (let (itself other)
      (setq itself (todo-write-subscribe
                    (lambda (event)
                      (todo-write-unsubscribe itself)
                      (todo-write-unsubscribe other)
                      (todo-write-observation-tests--hear event))))
      (setq other (todo-write-subscribe (lambda (_) (ert-fail "It was unsubscribed"))))
      (todo-write-subscribe #'todo-write-observation-tests--hear)
      (todo-write-observe "a" "INTENT" "One")
      (todo-write-observe "a" "INTENT" "Two")
      (should (= (length todo-write-observation-tests--heard) 3)))))

(ert-deftest todo-write-a-subscriber-may-write-while-it-hears ()
  (todo-write-observation-tests--with
    (todo-write-subscribe
     (lambda (event)
       (todo-write-observation-tests--hear event)
       (when (equal (plist-get event :type) "INTENT")
         (todo-write-test-write "a" "From inside"))))
    (todo-write-observe "a" "INTENT" "Go")
    (should (equal (todo-write-test-contents "a") '("From inside")))
    (should (equal (todo-write-observation-tests--types) '("INTENT" "PLAN_UPDATE")))))

;;; Subscribers that fail

(ert-deftest todo-write-a-subscriber-that-signals-is-reported-once-then-removed ()
  (todo-write-observation-tests--with
    (let ((calls 0) warnings)
      (todo-write-subscribe (lambda (_) (setq calls (1+ calls)) (error "Broken ear")))
      (todo-write-subscribe #'todo-write-observation-tests--hear)
      (setq warnings (todo-write-test-warnings
                       (dotimes (_ 10) (todo-write-observe "a" "INTENT" "Hello"))))
      (should (= calls 3))
      (should (= (length todo-write-observation-tests--heard) 10))
      (should (= (length warnings) 2))
      (should (string-search "Broken ear" (car warnings)))
      (should (string-search "removed" (cadr warnings))))))

(ert-deftest todo-write-a-subscriber-that-fails-now-and-then-stays ()
  (todo-write-observation-tests--with
    (let ((calls 0))
      (todo-write-subscribe (lambda (_)
                              (setq calls (1+ calls))
                              (unless (zerop (% calls 3)) (error "Now and then"))))
      (should (todo-write-test-warnings
                (dotimes (_ 30) (todo-write-observe "a" "INTENT" "Hello"))))
      (should (= calls 30)))))

(ert-deftest todo-write-later-draws-once-what-was-marked-often ()
  (let* ((calls 0)
         (draw (lambda ()
                 (setq calls (1+ calls))
                 ;; What happens meanwhile is drawn later.
                 (when (= calls 1)
                   (todo-write-later 'todo-write-tests-draw)))))
    (cl-letf (((symbol-function 'todo-write-tests-draw) draw))
      (dotimes (_ 3)
        (todo-write-later 'todo-write-tests-draw))
      (should (= calls 0))
      (todo-write-test-wait (lambda () (= calls 2)))
      (should-not (todo-write-events-marked-p 'todo-write-tests-draw))
      ;; After a command of the user, what that changed is drawn at once, and nothing else:
      ;; many agents would make each key wait.
      (let ((this-command nil))
        (todo-write-later 'todo-write-tests-draw))
      (run-hooks 'post-command-hook)
      (should (= calls 2))
      (let ((this-command 'todo-write-edit))
        (todo-write-later 'todo-write-tests-draw))
      (run-hooks 'post-command-hook)
      (should (= calls 3))
      (should-not (memq #'todo-write-redraw post-command-hook)))))

(ert-deftest todo-write-later-takes-only-times-to-come ()
  (dolist (wrong '(-1 1.0e+INF 0.0e+NaN "1" t))
    (should-error (todo-write-later #'ignore wrong) :type 'todo-write-input-error))
  (should-not (todo-write-events-marked-p #'ignore)))

(ert-deftest todo-write-later-a-throw-in-one-drawing-keeps-the-marks-of-the-others ()
  (let (drawn)
    (cl-letf (((symbol-function 'todo-write-tests-throw) (lambda () (throw 'todo-write-tests nil)))
              ((symbol-function 'todo-write-tests-draw) (lambda () (push 'other drawn))))
      (mapc #'todo-write-later '(todo-write-tests-throw todo-write-tests-draw))
      (catch 'todo-write-tests (todo-write-redraw))
      (should (todo-write-events-marked-p 'todo-write-tests-draw))
      (todo-write-test-wait (lambda () drawn))
      (should (equal '(other) drawn)))))

(provide 'todo-write-observation-tests)
;;; todo-write-observation-tests.el ends here
