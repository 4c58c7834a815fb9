;;; todo-write-turns.el --- The turns of an agent, as a plan shows them  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What the headings of turns say, and which tasks began and ended in a turn.

;;; Code:

(require 'todo-write)
(require 'todo-write-row)
(require 'todo-write-text)

(cl-defstruct (todo-write-turns-event (:constructor todo-write-turns--make-event) (:copier nil))
  "What happened to a task in a turn.
ITEM is the task, a plist, after it.  KIND is `in_progress', `completed' or
`removed', and REVISION that which did it, as from `todo-write-revisions'."
  item kind revision)

(defun todo-write-turns-headings (thread most)
  "Return the newest MOST turns of THREAD, as (COUNT . HEADINGS).
COUNT is the number of all turns, and HEADINGS a list of plists, newest
first:
  :turn      the number of the turn, from 1 on
  :prompt :said  one line of each, as in `todo-write-turns'
  :began :ended :ending :items  as there
  :completed  the number of items completed in it
  :added :removed :failed :refused  numbers of lines, failed commands
             and refused calls
  :commits   the number of commits, and :commit, the id of the last
  :outside   t if files were changed or commands run outside any item"
  (todo-write-core-call todo-write-dyn--turn-headings thread most))

(defun todo-write-turns-all (thread)
  "Return the headings of all turns of THREAD, oldest first."
  (reverse (cdr (todo-write-turns-headings thread most-positive-fixnum))))

(defun todo-write-turns-heading-at (headings time)
  "Return that of HEADINGS whose turn was at TIME, in milliseconds.
HEADINGS is as from `todo-write-turns-all'.  Before the first turn, that
is the first one.  Return nil if there are no headings."
  (or (car (last (seq-take-while (lambda (heading) (<= (plist-get heading :began) time))
                                 headings)))
      (car headings)))

(defun todo-write-turns-at (thread time)
  "Return the number of the turn of THREAD at TIME, in milliseconds, or nil.
Before the first turn, that is the first one."
  (plist-get (todo-write-turns-heading-at (todo-write-turns-all thread) time) :turn))

(defun todo-write-turns-name (heading &optional width)
  "Return the prompt of HEADING in quotes, a line, or nil if it has none.
It has at most WIDTH columns, by default 60."
  (when-let* ((prompt (plist-get heading :prompt)))
    (concat (todo-write-text-shape 'quote) (todo-write-text-line prompt (or width 60))
            (todo-write-text-shape 'unquote))))

(defun todo-write-turns-events (thread number &optional newest)
  "Return what happened to the tasks of THREAD in its turn NUMBER, oldest first.
The value is a list of `todo-write-turns-event' objects.  A task that left
the list unfinished counts as removed, also if it never began.  NEWEST
non-nil means only those of the newest so many tasks and lists."
  (let* ((count (car (todo-write-turns-headings thread 0)))
         ;; That turn comes last, after the one that followed it.
         (headings (reverse (cdr (todo-write-turns-headings thread (max 0 (- count number -1))))))
         (turn (car headings))
         (next (cadr headings))
         (within (lambda (time)
                   (and (or (= number 1) (<= (plist-get turn :began) time))
                        (or (null next) (< time (plist-get next :began))))))
         (ids (plist-get turn :items)))
    ;; A millisecond may have several lists.
    (cl-sort (append (cl-loop
                      for id in (if newest (last ids newest) ids)
                      nconc (cl-loop
                             for (revision . changes) in (todo-write-item-changes thread id)
                             when (funcall within (plist-get revision :timestamp))
                             nconc (cl-loop for change in (append changes nil)
                                            for event = (todo-write-turns--event change revision)
                                            when event collect event)))
                     (todo-write-turns--replaced thread ids within newest))
             #'< :key (lambda (event)
                        (plist-get (todo-write-turns-event-revision event) :revision)))))

(defun todo-write-turns--event (change revision)
  "Return what CHANGE of REVISION did to a task, or nil if nothing to show."
  (let* ((item (plist-get change :item))
         (previous (plist-get change :previousItem))
         (status (plist-get item :status)))
    (cond ((and previous (null item) (not (equal (plist-get previous :status) "completed")))
           (todo-write-turns--make-event :item previous :kind 'removed :revision revision))
          ((and item (not (equal status (plist-get previous :status)))
                (not (equal status "pending")))
           (todo-write-turns--make-event :item item :kind (intern status) :revision revision)))))

(defun todo-write-turns--replaced (thread ids within newest)
  "Return events for unfinished tasks whose list another one replaced.
IDS are those of THREAD that have events of their own.  WITHIN says which
times count.  NEWEST is as in `todo-write-turns-events'."
  (when-let* ((lists (todo-write-plan-earlier-lists thread)))
    (let ((revisions (todo-write-revisions thread))
          replaced)
      (dolist (list lists)
        (while (and revisions (<= (plist-get (car revisions) :revision) (cdr list)))
          (setq revisions (cdr revisions)))
        (when (and revisions (funcall within (plist-get (car revisions) :timestamp)))
          (push (cons (car revisions) list) replaced)))
      (cl-loop
       for (revision . list) in (nreverse (if newest (seq-take replaced newest) replaced))
       append (cl-loop for item in (append (todo-write-plan-earlier-items thread list) nil)
                       unless (or (equal (plist-get item :status) "completed")
                                  (member (plist-get item :id) ids))
                       collect (todo-write-turns--make-event :item item :kind 'removed
                                                             :revision revision))))))

(provide 'todo-write-turns)
;;; todo-write-turns.el ends here
