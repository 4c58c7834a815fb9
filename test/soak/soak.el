;;; soak.el --- Work at random for a long time and watch the memory  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Runs the operations of soak-work.el and soak-checks.el on a terminal, for
;; MINUTES or for so many OPERATIONS (in the environment), with the seed SEED,
;; checks after each one what must hold, and samples how much memory Emacs
;; takes.  SOAK_OUTPUT is the folder for the samples, the table and the graph;
;; bin/soak runs all this.

;;; Code:

;; An Emacs that compiles what it loaded, one file after the other, takes more
;; memory with each: that would pass for a leak of the work.
(dolist (variable '(native-comp-jit-compilation native-comp-deferred-compilation))
  (when (boundp variable)
    (set variable nil)))

(require 'soak-checks)
(require 'soak-report)

(defvar soak--counts (make-hash-table :test #'eq)
  "How often each operation ran.")

(defvar soak--errors (make-hash-table :test #'eq)
  "How often each operation failed, or left something wrong.")

(defvar soak--pause 0.015
  "Seconds between operations, so that others can work on the machine too.")

(defconst soak--work-seconds 60
  "Seconds until everything is put away, and the memory looked at.
While work goes on, more is in use now and less then.")

(defun soak--pick ()
  "Return an operation at random, heavier ones more often."
  (let ((left (random (apply #'+ (mapcar #'cadr soak-operations)))))
    (seq-find (lambda (operation) (< (cl-decf left (cadr operation)) 0)) soak-operations)))

(defun soak--run-one (operation)
  "Run OPERATION and check what must hold after it; return non-nil if all is well."
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
  "Take MESSAGE, a warning of TYPE, for an error unless the soak made for it."
  (when (and (eq type 'todo-write)
             (not (string-match-p "[Ff]ailed on purpose\\|is removed after\\|left by a throw\\|cut off"
                                  message)))
    (cl-incf (gethash 'warning soak--errors 0))
    (soak-report-line "Warning: %s" message)))

(defun soak--begin ()
  "Set up a user with a plan and a mode line; return what ends that."
  (fset 'display-warning #'soak--warn)
  (setq todo-write-directory (expand-file-name "journals" (getenv "SOAK_WORK"))
        todo-write-view-fold-completed t)
  (todo-write-mode-line-mode 1)
  (soak-listen))

(defun soak--end (stop-listening)
  "Put everything away, with STOP-LISTENING too."
  (mapc #'kill-buffer (soak-views))
  (while soak--subscriptions
    (todo-write-unsubscribe (pop soak--subscriptions)))
  (mapc #'todo-write-forget (todo-write-threads))
  (todo-write-mode-line-mode -1)
  (funcall stop-listening))

(defun soak--left-behind ()
  "Return what should be gone when everything was put away, as strings."
  (let ((own (lambda (name) (string-prefix-p "todo-write" (format "%s" name)))))
    (append
     (mapcar (lambda (timer) (format "timer %S" (timer--function timer)))
             (seq-filter (lambda (timer) (funcall own (timer--function timer)))
                         (append timer-list timer-idle-list)))
     (mapcar (lambda (hook) (format "hook %s" hook))
             (seq-filter #'symbol-value
                         '(todo-write-change-functions todo-write--subscribers
                           todo-write-view--buffers)))
     (mapcar (lambda (function) (format "listener %S" function))
             (remq 'todo-write--run-change-functions todo-write--listeners))
     (mapcar (lambda (thread) (format "thread %s" thread)) (todo-write-threads-loaded))
     (and (> (hash-table-count todo-write--token-runs) 0) '("runs of tokens")))))

(defun soak--rest (stop-listening seconds operations)
  "Put everything away, with STOP-LISTENING too, and note what is there then.
That is after so many SECONDS and OPERATIONS."
  (soak--end stop-listening)
  (dolist (what (soak--left-behind))
    (cl-incf (gethash 'left-behind soak--errors 0))
    (soak-report-line "Left behind: %s" what))
  (soak-report-sample seconds operations))

(defun soak-run ()
  "Run the soak and leave Emacs, with status 0 if all went well."
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
