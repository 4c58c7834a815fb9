;;; todo-write-activity.el --- What agents do, as their hosts say  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A host says with `todo-write-set-activity' whether its agent works, waits for
;; the user or failed, and ends a turn with `todo-write-end-turn'.  The module
;; stops the time of the item in progress accordingly.  This file keeps the last
;; activity of each agent, also of those without a plan.
;;
;; While an agent works, a spinner turns in the mode line, the header line and
;; the tab bar if they show its plan.  There is no timer at other times.

;;; Code:

(require 'cl-lib)
(require 'todo-write-core)
(require 'todo-write-events)

(defvar todo-write-activity--table (make-hash-table :test #'equal)
  "Last reported activities by thread, as lists (ACTIVITY WHY INFERRED SINCE).
SINCE is in milliseconds since the epoch.")

(defvar todo-write-activity-time nil
  "Time of reported transitions in milliseconds since the epoch.
nil is the current time.  Hosts that learn of transitions later bind it.")

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
  "Return non-nil if ACTIVITY, WHY and INFERRED were the last ones of THREAD."
  (equal (butlast (gethash thread todo-write-activity--table))
         (list activity why (and inferred t))))

(defun todo-write-activity--put (thread activity why inferred)
  "Store ACTIVITY, WHY and INFERRED of THREAD; call listeners if they differ."
  (unless (todo-write-activity--said-p thread activity why inferred)
    (puthash thread (list activity why (and inferred t)
                          (or todo-write-activity-time (truncate (* 1000 (float-time)))))
             todo-write-activity--table)
    (todo-write-activity--set-timer)
    (todo-write--dispatch thread 'activity (todo-write-activity thread))))

(defun todo-write-activity--forget (thread)
  "Delete the activity of THREAD."
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
