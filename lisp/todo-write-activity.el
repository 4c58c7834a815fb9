;;; todo-write-activity.el --- What agents do, as hosts report  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A host says with `todo-write-set-activity' whether its agent works, waits for
;; the user or failed, and ends a turn with `todo-write-end-turn'.  The module
;; decides what an agent does from this, its open requests, its process and its
;; transcript; it keeps that also of agents without a plan, and stops the time of
;; the item in progress accordingly.  This file asks it.
;;
;; While an agent works, a spinner turns in the mode line, the header line and
;; the tab bar if they show its plan.  There is no timer at other times.

;;; Code:

(require 'todo-write-core)
(require 'todo-write-events)

(defun todo-write-activity-get (thread)
  "Return what the agent of THREAD does as a plist, or nil if nothing was reported.
Its keys are :activity, which is `suspended', too, :reason, :inferred,
:since, :background (the number of commands and subagents there), :left and
:process; see `todo-write-dyn--activity'."
  (and (featurep 'todo-write-dyn)
       (todo-write-core-call todo-write-dyn--activity thread)))

(defun todo-write-activity (thread)
  "Return what the agent of THREAD does as (ACTIVITY . REASON), or nil.
ACTIVITY is `working', `waiting' or `failed'.  nil means that it is idle or
suspended, or that its host reported nothing; see `todo-write-set-activity'
and `todo-write-activity-get'."
  (let ((known (todo-write-activity-get thread)))
    (pcase (plist-get known :activity)
      ((and activity (or 'working 'waiting 'failed))
       (cons activity (plist-get known :reason))))))

(defun todo-write-activity-since (thread)
  "Return the time of THREAD's last transition of activity, or nil.
It is in milliseconds since the epoch."
  (plist-get (todo-write-activity-get thread) :since))

;;; Reading

(defvar todo-write-activity--reading (make-hash-table :test #'equal)
  "How much of a session is read, in percent, by the threads of those being read.")

(defun todo-write-activity-reading (thread)
  "Return how much of the session of THREAD is read, in percent.
Return nil unless it is being read for the first time."
  (gethash thread todo-write-activity--reading))

(defun todo-write-activity-note-reading (thread percent)
  "Note that PERCENT of the session of THREAD is read, and dispatch that.
PERCENT nil means that none is being read."
  (unless (eql percent (todo-write-activity-reading thread))
    (if percent (puthash thread percent todo-write-activity--reading)
      (remhash thread todo-write-activity--reading))
    (todo-write-events-dispatch thread 'change)))

;;; Spinner

(defvar todo-write-activity--frame 0
  "Which frame of the spinner is shown.")

(defvar todo-write-activity--shown nil
  "Non-nil if the spinner was shown since it turned.")

(defvar todo-write-activity--timer nil
  "Timer that turns the spinner, or nil.")

(defun todo-write-activity-spinner (thread)
  "Return the spinner's frame if the agent of THREAD works, else nil.
It turns as long as each frame is asked for; the event `spinner' of
`todo-write-events-functions' says when."
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
      (todo-write-events-dispatch nil 'spinner)))
  (unless todo-write-activity--shown
    (cancel-timer todo-write-activity--timer)
    (setq todo-write-activity--timer nil)))

;;; Reports

(defun todo-write-activity-publish (changed)
  "Dispatch what became of a report, CHANGED, as the module returned it.
It is a plist; see `todo-write-dyn--set-activity'."
  (let ((thread (plist-get changed :thread)))
    (todo-write-events-warn (plist-get changed :warnings))
    (when (plist-get changed :transition)
      (todo-write-events-dispatch thread 'activity (todo-write-activity thread)))
    (when (or (plist-get changed :changed) (plist-get changed :transition))
      (todo-write-events-dispatch thread 'change))))

(provide 'todo-write-activity)
;;; todo-write-activity.el ends here
