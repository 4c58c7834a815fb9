;;; soak.el --- Run random operations and watch the memory  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; bin/soak runs this in a terminal.  It runs random operations of soak-work.el
;; and soak-checks.el, checks the invariants after each one, and samples the
;; memory of Emacs.  The environment variables MINUTES or OPERATIONS limit the
;; run, SEED is its seed, and SOAK_OUTPUT the folder for samples and table.

;;; Code:

;; Native compilation in the background would look like a leak.
(dolist (variable '(native-comp-jit-compilation native-comp-deferred-compilation))
  (when (boundp variable)
    (set variable nil)))

(require 'soak-checks)
(require 'soak-report)

(defvar soak--counts (make-hash-table :test #'eq)
  "The number of runs of each operation.")

(defvar soak--errors (make-hash-table :test #'eq)
  "The number of failures of each operation.")

(defvar soak--pause 0.015
  "Seconds between operations, to leave time to other processes.")

(defconst soak--work-seconds 60
  "Seconds between samples, each after everything was closed.
During work, the memory in use goes up and down.")

(defun soak--pick ()
  "Return a random operation, in proportion to the weights."
  (let ((left (random (apply #'+ (mapcar #'cadr soak-operations)))))
    (seq-find (lambda (operation) (< (cl-decf left (cadr operation)) 0)) soak-operations)))

(defun soak--run-one (operation)
  "Run OPERATION and check the invariants; return non-nil if all hold."
  (pcase-let ((`(,name ,_ ,function) operation))
    (cl-incf (gethash name soak--counts 0))
    (condition-case err
        (progn (funcall function)
               (soak-check)
               t)
      ((error quit)
       (when (< (cl-incf (gethash name soak--errors 0)) 10)
         (soak-report-line "%s failed: %S" name err))
       nil))))

(defun soak--warn (type message &rest _)
  "Count MESSAGE, a warning of TYPE, as an error unless the soak caused it."
  (when (and (eq type 'todo-write)
             (not (string-match-p "[Ff]ailed on purpose\\|is removed after\\|left by a throw\\|cut off"
                                  message)))
    (cl-incf (gethash 'warning soak--errors 0))
    (soak-report-line "Warning: %s" message)))

(defun soak--begin ()
  "Set up journals and the mode line; return a function that ends it."
  (fset 'display-warning #'soak--warn)
  (setq todo-write-directory (expand-file-name "journals" (getenv "SOAK_WORK"))
        todo-write-view-fold-completed t)
  (todo-write-mode-line-mode 1)
  (soak-listen))

(defun soak--end (stop-listening)
  "Close and forget everything; call STOP-LISTENING too."
  (mapc #'kill-buffer (soak-views))
  (while soak--subscriptions
    (todo-write-unsubscribe (pop soak--subscriptions)))
  (mapc #'todo-write-forget (todo-write-threads))
  (todo-write-mode-line-mode -1)
  (funcall stop-listening))

(defun soak--timers ()
  "Return the timers of todo-write."
  (seq-filter (lambda (timer)
                (string-prefix-p "todo-write" (format "%s" (timer--function timer))))
              (append timer-list timer-idle-list)))

(defun soak--settle ()
  "Let what was planned once happen, for five seconds at most."
  (let ((end (+ (float-time) 5)))
    (while (and (< (float-time) end)
                (seq-remove #'timer--repeat-delay (soak--timers)))
      (accept-process-output nil 0.01))))

(defconst soak--event-functions todo-write-events-functions
  "The functions that stay, since the package itself adds them.")

(defun soak--left-behind ()
  "Return what is left although everything was closed, as strings."
  (append
   (mapcar (lambda (timer) (format "timer %S" (timer--function timer))) (soak--timers))
   (mapcar (lambda (hook) (format "hook %s" hook))
           (seq-filter #'symbol-value
                       '(todo-write-change-functions todo-write-events--subscribers)))
   (mapcar #'buffer-name (todo-write-view-draw-live-buffers))
   (mapcar (lambda (function) (format "event function %S" function))
           (seq-difference todo-write-events-functions soak--event-functions))
   (mapcar (lambda (thread) (format "thread %s" thread)) (todo-write-threads-loaded))
   (and (> (hash-table-count todo-write-core-token-runs) 0) '("runs of tokens"))))

(defun soak--rest (stop-listening seconds operations)
  "Close everything, also by STOP-LISTENING, and sample what is left.
SECONDS and OPERATIONS are those of the sample."
  (soak--end stop-listening)
  (soak--settle)
  (dolist (what (soak--left-behind))
    (cl-incf (gethash 'left-behind soak--errors 0))
    (soak-report-line "Left behind: %s" what))
  (soak-report-sample seconds operations))

(defun soak-run ()
  "Run the soak and exit Emacs, with status 0 if all went well."
  (random (format "%s" (getenv "SEED")))
  (let* ((minutes (getenv "MINUTES"))
         (most (string-to-number (or (getenv "OPERATIONS") "0")))
         (start (float-time))
         (end (and minutes (+ start (* 60 (string-to-number minutes)))))
         (done 0))
    (while (if end (< (float-time) end) (< done most))
      (let ((stop-listening (soak--begin))
            (until (+ (float-time) soak--work-seconds)))
        (while (and (< (float-time) until) (or end (< done most)))
          (soak--run-one (soak--pick))
          (cl-incf done)
          (sit-for (if end soak--pause 0)))
        (soak--rest stop-listening (- (float-time) start) done)))
    (kill-emacs (if (soak-report soak-operations soak--counts soak--errors) 0 1))))

(provide 'soak)
;;; soak.el ends here
