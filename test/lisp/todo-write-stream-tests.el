;;; todo-write-stream-tests.el --- Tests of streams  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The events that subscribers receive for a stream, and the recorded thoughts.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'seq)
(require 'todo-write-test-helper)

(defun todo-write-stream-tests--event (event)
  "Return EVENT without its time."
  (should (natnump (plist-get event :timestamp)))
  (cl-loop for (key value) on event by #'cddr
           unless (eq key :timestamp) nconc (list key value)))

(defun todo-write-stream-tests--value (event &rest keys)
  "Return the values of KEYS in EVENT."
  (mapcar (lambda (key) (plist-get event key)) keys))

(defun todo-write-stream-tests--thoughts (&optional thread)
  "Return the blocks of thoughts recorded of THREAD, \"a\" by default."
  (mapcar (lambda (observation) (plist-get (plist-get observation :content) :text))
          (todo-write-observations (or thread "a") :type "THOUGHTS")))

(defun todo-write-stream-tests--think (text)
  "Stream TEXT as a thought of the thread \"a\"; return the event."
  (todo-write-stream "a" :type "TOKEN" :data text :thinking t))

(defmacro todo-write-stream-tests--hearing (heard filter &rest body)
  "Evaluate BODY with an empty store; push the events that pass FILTER to HEARD."
  (declare (indent 2) (debug t))
  `(todo-write-with-store
     (let ((,heard nil))
       (apply #'todo-write-subscribe (lambda (event) (push event ,heard)) ,filter)
       ,@body)))

;;; Events

(ert-deftest todo-write-a-token-heard-after-the-list-changed-is-of-the-new-step ()
  (todo-write-with-store
    (cl-flet ((think ()
                (let ((first (todo-write-stream-tests--think "a")))
                  (should (equal (todo-write-stream-tests--event first)
                                 (todo-write-stream-tests--event
                                  (todo-write-stream-tests--think "a"))))
                  (todo-write-stream-tests--value first :phase :stepId))))
      (should (equal (think) '("planning" nil)))
      (todo-write-test-write "a" '("Read" "in_progress") "Ship")
      (should (equal (think) '("execution" "t1")))
      (todo-write-edit "a" 'status "t1" "completed")
      (should (equal (think) '("execution" nil)))
      (todo-write-edit "a" 'status "t2" "completed")
      (should (equal (think) '("synthesis" nil)))
      (todo-write-undo "a")
      (should (equal (think) '("execution" nil))))))

(ert-deftest todo-write-streams-of-several-threads-do-not-mix ()
  (todo-write-stream-tests--hearing heard '(:thread "b")
    (dotimes (n 3)
      (dolist (thread '("a" "b"))
        (todo-write-stream thread :type "TOKEN" :data (format "%s%d" thread n) :thinking t)))
    (should (equal (mapcar (lambda (event) (plist-get event :data)) heard) '("b2" "b1" "b0")))
    (todo-write-stream "a" :type "END")
    (should (equal (todo-write-stream-tests--thoughts) '("a0a1a2")))
    (should-not (todo-write-stream-tests--thoughts "b"))))

;;; Calls

(ert-deftest todo-write-a-stream-event-is-read-the-same-however-it-is-written ()
  (todo-write-with-store
    (let* ((order nil)
           (note (lambda (value) (push value order) value))
           (event '(:type "TOKEN" :data "x" :thinking nil :trace-id "one" :session-id "s"))
           (expected (todo-write-stream-tests--event (apply #'todo-write-stream "a" event))))
      (dolist (told (list (todo-write-stream "a" :session-id (funcall note "s")
                                             :data (funcall note "x") :type "TOKEN"
                                             :trace-id (funcall note "one"))
                          (let ((key :data))
                            (todo-write-stream "a" :session-id "s" :trace-id "one"
                                               key "x" :type "TOKEN"))
                          (apply #'todo-write-stream "a" :type "TOKEN" event)))
        (should (equal (todo-write-stream-tests--event told) expected)))
      (should (equal order '("one" "x" "s"))))))

(ert-deftest todo-write-a-wrong-event-signals-and-ends-no-stream ()
  (todo-write-stream-tests--hearing heard '(:kind stream)
    (todo-write-stream-tests--think "One ")
    (dolist (wrong '((:type "TOKENS" :data "x") (:data "x") (:type 3 :data "x")
                     (:type "TOKEN" :data 3 :thinking t) (:type "TOKEN" :data nil :thinking t)
                     (:type "TOKEN" :data "\xff" :thinking t)
                     (:type "TOKEN" :data "x" :thinking t :step "t1")
                     (:type "TOKEN" :data "x" :step-id 3)
                     (:type "TOKEN" :data "x" :trace-id 3)))
      (ert-info ((format "%S" wrong))
        (should-error (apply #'todo-write-stream "a" wrong) :type 'todo-write-input-error)))
    (dolist (thread '(nil "" 3))
      (should-error (todo-write-stream thread :type "TOKEN" :data "x")
                    :type 'todo-write-input-error))
    (todo-write-stream-tests--think "thought")
    (todo-write-stream "a" :type "END")
    (should (= (length heard) 3))
    (should (equal (todo-write-stream-tests--thoughts) '("One thought")))))

;;; Thoughts

(ert-deftest todo-write-thoughts-are-recorded-where-they-end ()
  (dolist (end '((:type "TOKEN" :data "So:") (:type "END") (:type "ERROR" :data "Broken")
                 (:type "TOKEN" :data "" :thinking t :call-context "EXECUTION_THOUGHTS")))
    (ert-info ((format "%S" end) :prefix "End: ")
      (todo-write-stream-tests--hearing heard '(:type "THOUGHTS")
        (todo-write-test-listening (lambda (&rest args) (push args heard))
          (todo-write-stream-tests--think "One ")
          (todo-write-stream "a" :type "METADATA" :data '(:tokens 1))
          (dolist (text '("long " "thought")) (todo-write-stream-tests--think text))
          (should-not heard)
          (apply #'todo-write-stream "a" end)
          (should (equal (pop heard) '("a" change nil)))
          (should (equal (plist-get (pop heard) :content) '(:text "One long thought")))
          (should-not heard))))))

(ert-deftest todo-write-thoughts-without-end-are-recorded-in-parts ()
  (todo-write-stream-tests--hearing heard '(:type "THOUGHTS")
    (let ((token (make-string 1000 ?x)))
      (dotimes (_ 150) (todo-write-stream-tests--think token))
      (should (= (length heard) 2))
      (todo-write-stream "a" :type "END"))
    (let ((parts (todo-write-stream-tests--thoughts)))
      (should (= (length parts) 3))
      (should (= 150000 (apply #'+ (mapcar #'length parts))))
      (should (<= (apply #'max (mapcar #'length parts)) 65536)))))

(ert-deftest todo-write-a-stream-continues-in-a-forgotten-thread ()
  (todo-write-with-store
    (todo-write-stream-tests--think "Lost")
    (todo-write-forget "a")
    (todo-write-stream-tests--think "Kept")
    (todo-write-stream "a" :type "END")
    (should (equal (todo-write-stream-tests--thoughts) '("Kept")))))

(ert-deftest todo-write-a-stream-goes-to-the-folder-that-is-set ()
  (todo-write-with-store
    (let ((first todo-write-directory))
      (todo-write-stream-tests--think "Here")
      (todo-write-with-store
        (todo-write-stream-tests--think "There")
        (todo-write-stream "a" :type "END")
        (should (equal (todo-write-stream-tests--thoughts) '("There"))))
      (should (equal first todo-write-directory))
      (todo-write-stream "a" :type "END")
      (should (equal (todo-write-stream-tests--thoughts) '("Here"))))))

(ert-deftest todo-write-a-subscriber-may-stream-while-it-hears ()
  (todo-write-stream-tests--hearing heard '(:kind stream)
    (todo-write-subscribe
     (lambda (event)
       (when (equal (plist-get event :data) "Ask")
         (todo-write-stream "a" :type "TOKEN" :data "Answer" :trace-id "inside")))
     :kind 'stream)
    (dotimes (_ 3) (todo-write-stream-tests--think "Ask"))
    (todo-write-stream "a" :type "END")
    (should (equal (mapcar (lambda (event) (plist-get event :traceId))
                           (seq-filter (lambda (event) (equal (plist-get event :data) "Answer"))
                                       heard))
                   '("inside" "inside" "inside")))
    (should (equal (todo-write-stream-tests--thoughts) '("Ask" "Ask" "Ask")))))

(provide 'todo-write-stream-tests)
;;; todo-write-stream-tests.el ends here
