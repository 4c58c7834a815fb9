;;; todo-write-kept.el --- Plans that have a journal  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The plans of earlier sessions, without opening their journals: a small file of each
;; has what lists of plans show.

;;; Code:

(require 'todo-write-events)

(defconst todo-write-kept--most 5
  "Number of journals that are read at once where small files are missing or old.")

(defvar todo-write-kept--timer nil
  "Timer that reads more of these journals, or nil.")

(defun todo-write-threads-kept ()
  "Return the threads that have a journal, newest first, as a list of plists.
Their keys are:
  :key       the key
  :about     as from `todo-write-about'
  :modified  the time of the last revision or observation, in milliseconds
             since the epoch
  :name      the first line of the first prompt, or nil
  :new       number of files with changes that were not reviewed
  :plan      as from `todo-write-summary'
Most journals are not read for that.  Of those that must be, a few are at
once; the others are left out or show an old state until Emacs is idle."
  (pcase-let ((`(,kept . ,old) (todo-write-core-call todo-write-dyn--kept todo-write-kept--most)))
    (when (and (> old 0) (not todo-write-kept--timer))
      (todo-write-kept--read-later old))
    kept))

(defun todo-write-kept--read-later (old)
  "Read some of the OLD journals that must be read, in a moment."
  (setq todo-write-kept--timer
        (run-with-idle-timer (time-add (or (current-idle-time) 0) 0.1) nil
                             #'todo-write-kept--read old)))

(defun todo-write-kept--read (before)
  "Read some of the BEFORE journals that must be read.
Once that is done, or others cannot be read, lists are drawn again."
  (setq todo-write-kept--timer nil)
  (let ((old (cdr (todo-write-core-call todo-write-dyn--kept todo-write-kept--most))))
    (if (< 0 old before)
        (todo-write-kept--read-later old)
      ;; What is drawn does not begin this again.
      (let ((todo-write-kept--timer t))
        (todo-write-events-dispatch nil 'kept)))))

(defun todo-write-kept-newest-of-project ()
  "Return the key of the newest kept thread of the current project, or nil."
  (let ((project (todo-write--project)))
    (plist-get (seq-find (lambda (kept)
                           (equal project (plist-get (plist-get kept :about) :project)))
                         (todo-write-threads-kept))
               :key)))

(provide 'todo-write-kept)
;;; todo-write-kept.el ends here
