;;; todo-write-activity-tests.el --- Tests of activities of agents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The activities that hosts report, and their effects on plans.

;;; Code:

(require 'todo-write-test-helper)

(defmacro todo-write-activity-tests--heard (&rest body)
  "Evaluate BODY; return what listeners heard of activities and states.
That is a list of (THREAD WHAT DATA)."
  (declare (indent 0) (debug t))
  `(let* ((heard nil)
          (listener (lambda (thread what data)
                      (when (eq what 'activity)
                        (push (list thread what data) heard)))))
     (todo-write-test-listening listener ,@body)
     (nreverse heard)))

(defun todo-write-activity-tests--running-p (thread)
  "Return non-nil if the time of the first item of THREAD runs."
  (plist-get (todo-write-times thread "t1") :running))

(defun todo-write-activity-tests--plan (thread)
  "Give THREAD a plan with an item in progress."
  (todo-write-test-write thread '("One" "in_progress") "Two"))

(ert-deftest todo-write-activity-is-the-last-one-that-the-host-reported ()
  (todo-write-with-store
    (should-not (todo-write-activity "a"))
    (should-not (plist-get (todo-write-events-activity "a") :since))
    (pcase-dolist (`(,said ,activity)
                   '(((working) (working))
                     ((waiting "May I run make?") (waiting . "May I run make?"))
                     ((failed "overloaded") (failed . "overloaded"))
                     ((nil) nil)))
      (apply #'todo-write-set-activity "a" said)
      (should (equal (todo-write-activity "a") activity))
      (should (natnump (plist-get (todo-write-events-activity "a") :since))))
    (ert-info ("No list was begun")
      (should-not (todo-write-threads)))))

(ert-deftest todo-write-activity-refuses-other-words ()
  (todo-write-with-store
    (dolist (wrong '((busy) (t) ("working") (waiting for-you) (failed 529)))
      (should-error (apply #'todo-write-set-activity "a" wrong) :type 'todo-write-input-error))
    (should-error (todo-write-set-activity 'a 'working) :type 'todo-write-input-error)
    (should-not (todo-write-activity "a"))))

(ert-deftest todo-write-activity-tells-listeners-of-transitions-only ()
  (todo-write-with-store
    (should (equal (todo-write-activity-tests--heard
                     (dotimes (_ 2) (todo-write-set-activity "a" 'working))
                     (dotimes (_ 2) (todo-write-set-activity "a" 'waiting "One?"))
                     (todo-write-set-activity "a" 'waiting "Two?")
                     (dotimes (_ 2) (todo-write-set-activity "a" nil)))
                   '(("a" activity (working))
                     ("a" activity (waiting . "One?"))
                     ("a" activity (waiting . "Two?"))
                     ("a" activity nil))))))

(ert-deftest todo-write-activity-that-is-inferred-is-marked-and-keeps-the-time ()
  (todo-write-with-store
    (todo-write-activity-tests--plan "a")
    (todo-write-set-activity "a" 'waiting "perhaps" 'inferred)
    (should (plist-get (todo-write-events-activity "a") :inferred))
    (should (equal (todo-write-activity "a") '(waiting . "perhaps")))
    (should (todo-write-activity-tests--running-p "a"))
    (todo-write-set-activity "a" 'waiting "perhaps")
    (should-not (plist-get (todo-write-events-activity "a") :inferred))
    (should-not (todo-write-activity-tests--running-p "a"))))

(ert-deftest todo-write-end-turn-pauses-an-open-plan-until-the-next-turn-or-write ()
  (todo-write-with-store
    (dolist (resume (list (lambda () (todo-write-set-activity "a" 'working))
                          (lambda () (todo-write-activity-tests--plan "a"))))
      (todo-write-activity-tests--plan "a")
      (todo-write-set-activity "a" 'working)
      (should (equal (todo-write-activity-tests--heard (todo-write-end-turn "a"))
                     '(("a" activity nil))))
      (should (eq 'paused (todo-write-state "a")))
      (should (equal (plist-get (todo-write-summary "a") :reason) "end of turn"))
      (should-not (todo-write-activity-tests--running-p "a"))
      (funcall resume)
      (should (eq 'active (todo-write-state "a")))
      (should (todo-write-activity-tests--running-p "a")))))

(ert-deftest todo-write-end-turn-that-failed-says-why-until-the-agent-goes-on ()
  (todo-write-with-store
    (todo-write-activity-tests--plan "a")
    (todo-write-end-turn "a" "agent exited (1)" t)
    (should (equal (todo-write-activity "a") '(failed . "agent exited (1)")))
    (should (equal (plist-get (todo-write-summary "a") :reason) "agent exited (1)"))
    (todo-write-activity-tests--plan "a")
    (should-not (todo-write-activity "a"))
    (should (todo-write-activity-tests--running-p "a"))))

(ert-deftest todo-write-activity-of-a-user-s-pause-lasts-while-the-host-repeats-itself ()
  (todo-write-with-store
    (todo-write-activity-tests--plan "a")
    (todo-write-set-activity "a" 'working)
    (todo-write-pause "a" "lunch")
    (todo-write-set-activity "a" 'working)
    (should (eq (todo-write-state "a") 'paused))))

(ert-deftest todo-write-activity-is-forgotten-with-its-thread ()
  (todo-write-with-store
    (todo-write-activity-tests--plan "a")
    (todo-write-set-activity "a" 'working)
    (todo-write-forget "a")
    (should-not (todo-write-activity "a"))
    (should-not (plist-get (todo-write-events-activity "a") :since))))

(provide 'todo-write-activity-tests)
;;; todo-write-activity-tests.el ends here
