;;; todo-write-activity.el --- What agents do, as hosts report  -*- lexical-binding: t; -*-

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
  "Last reported activities by thread, as lists (ACTIVITY REASON INFERRED SINCE).
SINCE is in milliseconds since the epoch.")

(defvar todo-write-activity--time nil
  "Time of reported transitions in milliseconds since the epoch.
nil is the current time.  A host that learns of a transition afterwards
binds it to the last time at which the agent is known to have worked.")

(defun todo-write-activity (thread)
  "Return what the agent of THREAD does as (ACTIVITY . REASON), or nil.
nil means that it is idle, or that its host reported nothing; see
`todo-write-set-activity'."
  (pcase (gethash thread todo-write-activity--table)
    (`(,(and activity (or 'working 'waiting 'failed)) ,reason . ,_) (cons activity reason))))

(defun todo-write-activity--suspended-p (thread)
  "Return non-nil if the process of THREAD's agent is stopped, as by SIGSTOP."
  (eq 'suspended (car (gethash thread todo-write-activity--table))))

(defun todo-write-activity-since (thread)
  "Return the time of THREAD's last transition of activity, or nil.
It is in milliseconds since the epoch."
  (nth 3 (gethash thread todo-write-activity--table)))

(defun todo-write-activity-inferred-p (thread)
  "Return non-nil if the host of THREAD guessed its activity."
  (nth 2 (gethash thread todo-write-activity--table)))

(defun todo-write-activity--last-p (thread activity reason inferred)
  "Return non-nil if ACTIVITY, REASON and INFERRED were the last ones of THREAD."
  (equal (butlast (gethash thread todo-write-activity--table))
         (list activity reason (and inferred t))))

(defun todo-write-activity--put (thread activity reason inferred)
  "Store ACTIVITY, REASON and INFERRED of THREAD; dispatch a transition."
  (unless (todo-write-activity--last-p thread activity reason inferred)
    (puthash thread (list activity reason (and inferred t)
                          (or todo-write-activity--time (todo-write--now)))
             todo-write-activity--table)
    (todo-write--dispatch thread 'activity (todo-write-activity thread))))

(defvar todo-write-activity--held (make-hash-table :test #'equal)
  "What agents with an open request do afterwards, by thread.
Lists (ACTIVITY REASON INFERRED), as in `todo-write-activity--table'; see
`todo-write-request'.")

(defun todo-write-activity--hold (thread activity reason inferred)
  "Keep ACTIVITY, REASON and INFERRED for later if a request of THREAD is open.
Return non-nil if they are kept.  An agent that is idle or has failed has
no open request."
  (when (and (gethash thread todo-write-activity--held)
             (or inferred (memq activity '(working waiting suspended))))
    (puthash thread (list activity reason inferred) todo-write-activity--held)))

(defun todo-write-activity--in-turn (thread)
  "Return what the agent of THREAD does in its turn, (ACTIVITY REASON INFERRED).
That is `working' if its host reported no turn."
  (let ((last (butlast (gethash thread todo-write-activity--table))))
    (if (memq (car last) '(working waiting suspended)) last (list 'working nil nil))))

(defun todo-write-activity--forget (thread)
  "Delete the activity of THREAD."
  (remhash thread todo-write-activity--table)
  (remhash thread todo-write-activity--held))

;;; Spinner

(defvar todo-write-activity--frame 0
  "Which frame of the spinner is shown.")

(defvar todo-write-activity--shown nil
  "Non-nil if the spinner was shown since it turned.")

(defvar todo-write-activity--timer nil
  "Timer that turns the spinner, or nil.")

(defun todo-write-activity--spinner (thread)
  "Return the spinner's frame if the agent of THREAD works, else nil.
It turns as long as each frame is asked for; the event `spinner' of
`todo-write--event-functions' says when."
  (when (and thread (eq (car (todo-write-activity thread)) 'working))
    (setq todo-write-activity--shown t)
    (unless todo-write-activity--timer
      (setq todo-write-activity--timer
            (run-at-time 0.25 0.25 #'todo-write-activity--turn)))
    (let ((frames (if (char-displayable-p ?⠋) "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏" "|/-\\")))
      (string (aref frames (mod todo-write-activity--frame (length frames)))))))

(defun todo-write-activity--turn ()
  "Turn the spinner by one frame, or stop it if nothing shows it."
  (when todo-write-activity--shown
    (setq todo-write-activity--shown nil)
    (cl-incf todo-write-activity--frame)
    (let ((inhibit-quit t))
      (todo-write--dispatch nil 'spinner)))
  (unless todo-write-activity--shown
    (cancel-timer todo-write-activity--timer)
    (setq todo-write-activity--timer nil)))

(provide 'todo-write-activity)
;;; todo-write-activity.el ends here
