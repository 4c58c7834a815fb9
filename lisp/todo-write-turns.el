;;; todo-write-turns.el --- The turns of an agent, as a plan shows them  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What the headings of turns say, and which tasks began and ended in a turn.

;;; Code:

(require 'todo-write)

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
The value is a list of (ITEM KIND REVISION): the task, a plist, after it;
`in_progress', `completed' or `removed'; and what did it, as from
`todo-write-revisions'.  A task that left the list unfinished counts as
removed, also if it never began.  NEWEST non-nil means only those of the
newest so many tasks and lists."
  (let* ((count (car (todo-write-turns-headings thread 0)))
         ;; That turn comes last, after the one that followed it.
         (headings (reverse (cdr (todo-write-turns-headings thread (max 0 (- count number -1))))))
         (turn (car headings))
         (next (cadr headings))
         (ids (plist-get turn :items))
         events)
    (cl-flet ((within-p (revision)
                (let ((time (plist-get revision :timestamp)))
                  (and (or (= number 1) (<= (plist-get turn :began) time))
                       (or (null next) (< time (plist-get next :began))))))
              (add (&rest event) (push event events)))
      (dolist (id (if newest (last ids newest) ids))
        (pcase-dolist (`(,revision . ,changes) (todo-write-item-changes thread id))
          (when (within-p revision)
            (seq-doseq (change changes)
              (let* ((item (plist-get change :item))
                     (previous (plist-get change :previousItem))
                     (status (plist-get item :status)))
                (cond ((and previous (null item)
                            (not (equal (plist-get previous :status) "completed")))
                       (add previous 'removed revision))
                      ((and item (not (equal status (plist-get previous :status)))
                            (not (equal status "pending")))
                       (add item (intern status) revision))))))))
      ;; Unfinished tasks without an event of their own, whose list another one replaced.
      (let* ((lists (todo-write-core-call todo-write-dyn--earlier-lists thread))
             (revisions (and lists (todo-write-revisions thread)))
             (replaced
              (cl-loop for revision in revisions
                       for list = (and (within-p revision)
                                       (rassq (1- (plist-get revision :revision)) lists))
                       when list collect (cons revision list))))
        (pcase-dolist (`(,revision . ,list) (if newest (last replaced newest) replaced))
          (dolist (item (append (todo-write-core-call todo-write-dyn--earlier-items
                                  thread (car list) (cdr list))
                                nil))
            (unless (or (equal (plist-get item :status) "completed")
                        (member (plist-get item :id) ids))
              (add item 'removed revision))))))
    ;; A millisecond may have several lists.
    (seq-sort-by (lambda (event) (plist-get (nth 2 event) :revision)) #'< (nreverse events))))

(provide 'todo-write-turns)
;;; todo-write-turns.el ends here
