;;; todo-write-plan.el --- Write plans, and what views ask of them  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; How a change of a plan is made and published, and what views ask beside the public
;; functions of todo-write.el.  For other packages, these are the public ones.

;;; Code:

(require 'todo-write-events)

;;; Writing

(defun todo-write-plan-write (thread input source unanswered call)
  "Replace the list of THREAD by INPUT; see `todo-write'.
SOURCE and UNANSWERED are as there.  CALL is a plist of what is known of the
call: :id, that in the transcript of the agent's session; :sent, that which
its program gave it, the same if it is sent again, which then gets the same
answer; and :time, when that program got it, in milliseconds since the
epoch.  It is nil if no transcript has the call."
  (todo-write-core-configure)
  (let* ((inhibit-quit t)
         (outcome (todo-write-plan-publish thread
                                           (todo-write-core-call todo-write-dyn--write
                                             thread input source unanswered call))))
    (when (and (not unanswered) (todo-write-plan-comments thread))
      (plist-put outcome :result (todo-write-tell-result thread (plist-get outcome :result)))
      (when (and (plist-get outcome :ok) (consp call))
        (todo-write-core-call todo-write-dyn--note-answer
          thread call (plist-get outcome :result))))
    outcome))

(defun todo-write-plan-publish (thread outcome)
  "Publish OUTCOME of THREAD to subscribers and by dispatch, and return it.
OUTCOME is nil if something else was recorded than a list.
The caller inhibits quitting, since the change is already saved."
  (unwind-protect
      (todo-write-events-deliver thread)
    ;; A write that leaves the list as it is may have resumed the thread, told the
    ;; agent of the user's tasks, or been refused.
    (todo-write-events-dispatch thread 'change (and (plist-get outcome :changes) outcome)))
  (todo-write-events-warn (plist-get outcome :warnings))
  outcome)

;;; Asking

(defun todo-write-plan-name (thread title &optional otherwise kept)
  "Return what to call THREAD: TITLE, or else its first prompt or its folder.
A folder names only the thread of a session, since the host of another one
chose a key that reads as a name.  Without these, return OTHERWISE, by
default the key.  With KEPT, the plist of THREAD in
`todo-write-threads-kept', no journal is opened."
  (or title
      (plist-get (if kept (plist-get kept :plan)
                   (todo-write-core-call todo-write-dyn--summary thread))
                 :prompt)
      (let ((project (plist-get (if kept (plist-get kept :about)
                                  (todo-write-core-call todo-write-dyn--about thread))
                                :project))
            ;; The folder may be remote.
            file-name-handler-alist)
        (and project
             (plist-get (todo-write-core-call todo-write-dyn--identity thread) :session)
             (file-name-nondirectory (directory-file-name project))))
      otherwise thread))

;;; Earlier sessions

;; A small file of each journal has what lists of plans show.

(defconst todo-write-plan--most-read 5
  "Number of journals that are read at once where small files are missing or old.")

(defvar todo-write-plan--kept-timer nil
  "Timer that reads more of these journals, or nil.")

(defun todo-write-threads-kept ()
  "Return the threads that have a journal, newest first, as a list of plists.
Their keys are:
  :key       the key
  :about     as from `todo-write-about'
  :modified  the time of the last revision or observation, in milliseconds
             since the epoch
  :new       number of files with changes that were not reviewed
  :plan      as from `todo-write-summary'
Most journals are not read for that.  Of those that must be, a few are at
once; the others are left out or show an old state until Emacs is idle."
  (pcase-let ((`(,kept . ,old)
               (todo-write-core-call todo-write-dyn--kept todo-write-plan--most-read)))
    (when (and (> old 0) (not todo-write-plan--kept-timer))
      (todo-write-plan--read-later old))
    kept))

(defun todo-write-plan--read-later (before)
  "Read some of the BEFORE journals that must be read, in a moment.
Once that is done, or others cannot be read, lists are drawn again."
  (setq todo-write-plan--kept-timer
        (run-with-idle-timer
         (time-add (or (current-idle-time) 0) 0.1) nil
         (lambda ()
           (setq todo-write-plan--kept-timer nil)
           (let ((old (cdr (todo-write-core-call todo-write-dyn--kept
                             todo-write-plan--most-read))))
             (if (< 0 old before)
                 (todo-write-plan--read-later old)
               ;; What is drawn does not begin this again.
               (let ((todo-write-plan--kept-timer t))
                 (todo-write-events-dispatch nil 'kept))))))))

(defun todo-write-plan-newest-of-project ()
  "Return the key of the newest kept thread of the current project, or nil."
  (let ((project (todo-write--project)))
    (plist-get (seq-find (lambda (kept)
                           (equal project (plist-get (plist-get kept :about) :project)))
                         (todo-write-threads-kept))
               :key)))

;;; Review

(defun todo-write-plan-review-files (thread &optional id path entry all)
  "Return the new changes of THREAD, file by file, a list of plists.
See `todo-write-dyn--review-files', also for ID, PATH, ENTRY and ALL."
  (let ((todo-write-core-wait-words "Comparing files"))
    (todo-write-core-call todo-write-dyn--review-files thread id path entry all)))

(defun todo-write-plan-mark (thread files raises)
  "Mark FILES of THREAD as reviewed, and return what undoes that.
FILES and the value are lists of (PATH . UNTIL), the absolute name of a
file and the number of an observation, or 0 if nothing of it is reviewed.
If RAISES is non-nil, files that are reviewed further stay so."
  (todo-write-core-configure)
  (let* ((inhibit-quit t)
         ;; Without any, a thread that is not known would be begun.
         (former (and files (todo-write-core-call todo-write-dyn--mark-files thread files raises))))
    (when former
      (todo-write-events-dispatch thread 'change))
    former))

;;; Comments

(defun todo-write-plan-comment (thread text &optional shown &rest about)
  "Record that the user says TEXT to the agent of THREAD; return the comment.
SHOWN is what the story shows, by default TEXT.  ABOUT is a plist: :path,
the absolute name of a file, :line, a number, and :quote, some of its
changed lines; and :items, the ids of the tasks that it is about.  All are
optional.  The value is as in `todo-write-plan-comments'."
  (pcase-let* (((map :path :line :quote :items) about)
               (fields (append (list :text text)
                               (and path (list :path path))
                               (and line (list :line line))
                               (and quote (list :quote quote))))
               (observation (apply #'todo-write-observe thread "STATE_UPDATE"
                                   (list :text (or shown text))
                                   :comment fields
                                   (and items (list :items (vconcat items))))))
    (seq-find (lambda (comment) (equal (plist-get comment :id) (plist-get observation :id)))
              (todo-write-plan-comments thread))))

(defun todo-write-plan-comments (thread)
  "Return what the user said to the agent of THREAD, oldest first.
The value is a list of plists: :id, of the observation; :number, its
number; :timestamp; :text; :path, :line and :quote, nil unless it is about
a file; :told, t if the agent was told; and :copied, t if the comment was
copied for the user to paste, since no message reaches the agent."
  (todo-write-core-call todo-write-dyn--comments thread))

(defun todo-write-plan-note-told (thread comments &optional copied)
  "Record that the agent of THREAD was told of COMMENTS.
If COPIED is non-nil, record instead that they were copied for the user."
  (when comments
    (todo-write-observe thread "STATE_UPDATE" (if copied '(:copied t) '(:told t))
                        (if copied :copiedComments :toldComments)
                        (vconcat (mapcar (lambda (comment) (plist-get comment :number))
                                         comments)))))

(provide 'todo-write-plan)
;;; todo-write-plan.el ends here
