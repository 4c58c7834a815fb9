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

;;; Sessions that are followed

(defun todo-write-panic--recorded (file)
  "Return how many lists of the session FILE are recorded."
  (or (plist-get (todo-write-summary (concat "claude:" (file-name-base file))) :revision) 0))

(defun todo-write-panic--follow (number)
  "Follow two sessions, and panic at place NUMBER of what that takes.
Return the number of the sessions that were given up, or nil if there was
no panic."
  (let* ((folder (make-temp-file "sessions" t))
         (files (cl-loop for n below 2
                         collect (expand-file-name (format "p%d-%d.jsonl" number n) folder)))
         (recorded-p (lambda (file) (= 3 (todo-write-panic--recorded file))))
         (left number))
    (dolist (file files)
      (apply #'todo-write-test-transcript file "/garden"
             (cl-loop for n below 3
                      nconc (todo-write-test-transcript-list (format "c%d" n)
                                                             (format "Bed %d" n)))))
    (mapc #'todo-write-follow--begin files)
    (while (and (< 0 left) (not (cl-every recorded-p files)))
      (todo-write-dyn--panic-at left)
      (accept-process-output nil 0.005)
      (setq left (todo-write-dyn--panic-at 0)))
    (todo-write-test-wait
     (lambda ()
       ;; The place may have been where the bell is rung.
       (todo-write-hub--feed)
       (cl-every (lambda (file)
                   (or (not (todo-write-follow--find file)) (funcall recorded-p file)))
                 files)))
    (prog1 (and (= 0 left) (cl-count-if-not #'todo-write-follow--find files))
      (todo-write-follow-stop)
      (dolist (file files)
        (todo-write-follow file)
        (unless (funcall recorded-p file)
          (error "After a panic at place %d, %d lists of 3 are recorded"
                 number (todo-write-panic--recorded file))))
      (todo-write-follow-stop)
      (todo-write-test-delete folder))))

(defun todo-write-panic-follow ()
  "Follow sessions and panic at every place; return how many each panic ended."
  (require 'todo-write-follow)
  (setq todo-write-follow-agents nil)
  ;; A batch Emacs ends by an error in a filter.
  (advice-add 'todo-write-hub--filter :around
              (lambda (function &rest arguments)
                (condition-case nil (apply function arguments) (todo-write-panic nil))))
  (let ((inhibit-message t))
    (cl-letf (((symbol-function 'display-warning) #'ignore))
      ;; How many places there are depends on what is taken together.
      (cl-loop with missed = 0
               for number from 1
               for ended = (todo-write-panic--follow number)
               if ended collect ended and do (setq missed 0)
               else do (cl-incf missed)
               until (= missed 20)))))

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
