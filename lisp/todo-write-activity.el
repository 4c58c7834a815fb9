;;; todo-write-activity.el --- What agents do, as their hosts say  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A host says with `todo-write-set-activity' whether its agent works, waits for
;; the user or failed, and ends a turn with `todo-write-end-turn'.  The module
;; stops the time of the item in progress accordingly; who said what since when
;; is kept here, also for agents that have no plan.
;;
;; While an agent works, a spinner turns in the mode line, the header line and
;; the tab bar, where these show its plan.  There is no timer at other times.

;;; Code:

(require 'cl-lib)
(require 'todo-write-core)
(require 'todo-write-events)

(defvar todo-write-activity--table (make-hash-table :test #'equal)
  "For each thread whose host spoke, a list (ACTIVITY WHY INFERRED SINCE).
SINCE is in milliseconds since the epoch.")

(defvar todo-write-activity-time nil
  "Time of the transitions that are reported, or nil for the current time.
In milliseconds since the epoch; for hosts that learn of them later.")

(defun todo-write-activity (thread)
  "Return what the agent of THREAD does as (ACTIVITY . WHY), or nil.
nil means that it is idle, or that its host said nothing; see
`todo-write-set-activity'."
  (pcase (gethash thread todo-write-activity--table)
    (`(,(and activity (guard activity)) ,why . ,_) (cons activity why))))

(defun todo-write-activity-since (thread)
  "Return the time of THREAD's last transition of activity, or nil.
It is in milliseconds since the epoch."
  (nth 3 (gethash thread todo-write-activity--table)))

(defun todo-write-activity-inferred-p (thread)
  "Return non-nil if the host of THREAD guessed its activity."
  (nth 2 (gethash thread todo-write-activity--table)))

(defun todo-write-activity--said-p (thread activity why inferred)
  "Return non-nil if ACTIVITY, WHY and INFERRED were said of THREAD last."
  (pcase (gethash thread todo-write-activity--table)
    (`(,last . ,more) (and (eq last activity) (equal (car more) why)
                           (eq (cadr more) (and inferred t))))))

(defun todo-write-activity--put (thread activity why inferred)
  "Remember ACTIVITY, WHY and INFERRED of THREAD; tell listeners of a transition."
  (unless (todo-write-activity--said-p thread activity why inferred)
    (puthash thread (list activity why (and inferred t)
                          (or todo-write-activity-time (truncate (* 1000 (float-time)))))
             todo-write-activity--table)
    (todo-write-activity--set-timer)
    (todo-write--dispatch thread 'activity (todo-write-activity thread))))

(defun todo-write-activity--wrote (thread)
  "Note that the agent of THREAD wrote its list: a failure is over."
  (when (eq (car (todo-write-activity thread)) 'failed)
    (todo-write-activity--put thread nil nil nil)))

(defun todo-write-activity--forget (thread)
  "Forget what was said of THREAD."
  (remhash thread todo-write-activity--table)
  (todo-write-activity--set-timer))

;;; Spinner

(defvar todo-write-activity--spinner-functions nil
  "Functions to call, without arguments, when the spinner has turned.")

(defvar todo-write-activity--frame 0
  "Which frame of the spinner is shown.")

(defvar todo-write-activity--timer nil
  "Timer that turns the spinner, or nil.")

(defun todo-write-activity-listen (function flag)
  "Call FUNCTION, without arguments, whenever the spinner turns.
FLAG nil ends that.  `todo-write-listen' tells when it begins or ends."
  (if flag
      (add-hook 'todo-write-activity--spinner-functions function)
    (remove-hook 'todo-write-activity--spinner-functions function))
  (todo-write-activity--set-timer))

(defun todo-write-activity-spinner (thread)
  "Return the spinner's frame if the agent of THREAD works, else nil."
  (when (and thread (eq (car (todo-write-activity thread)) 'working))
    (let ((frames (if (char-displayable-p ?⠋) "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏" "|/-\\")))
      (string (aref frames (mod todo-write-activity--frame (length frames)))))))

(defun todo-write-activity--set-timer ()
  "Turn the spinner while an agent works and something shows it."
  (if (and todo-write-activity--spinner-functions
           (cl-loop for said being the hash-values of todo-write-activity--table
                    thereis (eq (car said) 'working)))
      (unless todo-write-activity--timer
        (setq todo-write-activity--timer
              (run-at-time 0.25 0.25 #'todo-write-activity--turn)))
    (when todo-write-activity--timer
      (cancel-timer todo-write-activity--timer)
      (setq todo-write-activity--timer nil))))

(defun todo-write-activity--turn ()
  "Turn the spinner by one frame."
  (cl-incf todo-write-activity--frame)
  (run-hooks 'todo-write-activity--spinner-functions))

(provide 'todo-write-activity)
;;; todo-write-activity.el ends here
