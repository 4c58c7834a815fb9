;;; todo-write-panic-helper.el --- Let the module panic everywhere  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Runs in an Emacs whose module panics on request.  A call is repeated, each
;; time on a new thread, and each time the module panics one place later, until
;; the call succeeds.  After each panic the list must be the one before or after
;; the call, and the next write must lead to the same list as without the panic.

;;; Code:

(require 'cl-lib)
(require 'todo-write-test-helper)

(declare-function todo-write-dyn--panic-at "ext:todo-write-dyn")

(defun todo-write-panic--prepare (thread)
  "Give THREAD a list and an edit that the agent does not know."
  (todo-write-test-write thread "One" '("Two" "in_progress") "Three" "Four")
  (todo-write-edit thread 'rename "t1" "Number one"))

(defun todo-write-panic--prepare-paused (thread)
  "Give THREAD a list, and pause it."
  (todo-write-panic--prepare thread)
  (todo-write-pause thread "lunch"))

(defconst todo-write-panic--calls
  `(("first write" ignore
     ,(lambda (thread) (todo-write-test-write thread "Six" '("Seven" "in_progress"))))
    ("long write" ignore
     ,(lambda (thread)
        (apply #'todo-write-test-write thread
               (mapcar (lambda (n) (format "%d %s" n (make-string 500 ?x)))
                       (number-sequence 1 60)))))
    ("write" todo-write-panic--prepare
     ,(lambda (thread)
        (todo-write-test-write thread "One" '("Two" "completed") "Five" "Three")))
    ("write after a pause" todo-write-panic--prepare-paused
     ,(lambda (thread)
        (todo-write-test-write thread "One" '("Two" "completed") '("Three" "in_progress"))))
    ("add" todo-write-panic--prepare
     ,(lambda (thread) (todo-write-edit thread 'add "Five" 1)))
    ("delete" todo-write-panic--prepare
     ,(lambda (thread) (todo-write-edit thread 'delete "t2")))
    ("undo" todo-write-panic--prepare todo-write-undo)
    ("pause" todo-write-panic--prepare todo-write-pause)
    ("resume" todo-write-panic--prepare-paused todo-write-resume)
    ("waiting" todo-write-panic--prepare
     ,(lambda (thread) (todo-write-set-activity thread 'waiting "lunch")))
    ("end of turn" todo-write-panic--prepare todo-write-end-turn)
    ("observe" todo-write-panic--prepare
     ,(lambda (thread) (todo-write-observe thread "THOUGHTS" "Hm")))
    ("stream" todo-write-panic--prepare
     ,(lambda (thread)
        (todo-write-stream thread :type "TOKEN" :data "Hm" :thinking t)
        (todo-write-stream thread :type "END")))
    ("look" todo-write-panic--prepare todo-write-items)
    ("compare" todo-write-panic--prepare
     ,(lambda (thread) (todo-write-changes-between thread 0 2))))
  "Calls, with names and functions that prepare their threads.")

(defun todo-write-panic--list (thread)
  "Return the list of THREAD."
  (append (todo-write-items thread) nil))

(defun todo-write-panic--go-on (thread)
  "Make the next write to THREAD; return the resulting list."
  (todo-write-test-write thread '("Three" "completed") "One" "Eight")
  (todo-write-panic--list thread))

(defun todo-write-panic--without (name prepare call)
  "Return the lists before and after CALL on a thread that PREPARE prepared.
The value has two conses (LIST . NEXT), where NEXT is the list after the
next write.  NAME is part of the threads' keys."
  (mapcar (lambda (calls)
            (let ((thread (format "%s, %s" name calls)))
              (funcall prepare thread)
              (when (eq calls 'called) (funcall call thread))
              (let ((list (todo-write-panic--list thread)))
                (cons list (todo-write-panic--go-on thread)))))
          '(prepared called)))

(defun todo-write-panic--once (name prepare call number)
  "Make CALL on a thread that PREPARE prepared, and panic at place NUMBER.
NAME is part of the thread's key.  Return the error, or nil if the call
passes fewer places."
  (let ((thread (format "%s %d" name number))
        (expected (todo-write-panic--without (format "%s %d" name number) prepare call))
        condition)
    (funcall prepare thread)
    (todo-write-dyn--panic-at number)
    (setq condition (condition-case err (ignore (funcall call thread))
                      (todo-write-panic err)))
    (unless (eq (zerop (todo-write-dyn--panic-at 0)) (and condition t))
      (error "%s: a panic was no error" thread))
    (let* ((list (todo-write-panic--list thread))
           (next (assoc list expected)))
      (unless next
        (error "%s: %S left the list as %S" thread condition list))
      (let ((led-to (todo-write-panic--go-on thread)))
        (unless (equal led-to (cdr next))
          (error "%s: after %S the next write led to %S" thread condition led-to))))
    condition))

(defun todo-write-panic-everywhere ()
  "Make all calls panic at every place; return the errors."
  (cl-loop for (name prepare call) in todo-write-panic--calls
           append (cl-loop for number from 1
                           for condition = (todo-write-panic--once name prepare call number)
                           while condition collect condition)))

(defun todo-write-panic-history ()
  "Return the state of all threads: lists, revisions, observations."
  (mapcar (lambda (thread)
            (list thread
                  (mapcar (lambda (revision)
                            (append (list :list (todo-write-panic--list-at thread revision))
                                    revision))
                          (todo-write-revisions thread))
                  (todo-write-observations thread)))
          (sort (todo-write-threads) #'string<)))

(defun todo-write-panic--list-at (thread revision)
  "Return the list of THREAD at REVISION, a plist."
  (append (todo-write-items thread (plist-get revision :revision)) nil))

(provide 'todo-write-panic-helper)
;;; todo-write-panic-helper.el ends here
