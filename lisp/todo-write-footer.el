;;; todo-write-footer.el --- What the rows of a plan do not show  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Below the rows of a plan, a line counts what they do not show: tasks that the agent
;; dropped, and completed ones that it took off the list.  Then come the session's
;; prompts, newest first, each with what came of it.  All of them open in place.

;;; Code:

(require 'todo-write)
(require 'todo-write-row)
(require 'todo-write-story)
(require 'todo-write-detail)
(require 'todo-write-text)
(require 'todo-write-turns)

(defconst todo-write-footer-turns 30
  "Number of prompts that a plan shows, the newest.
A line below them shows the earlier ones.")

(defun todo-write-footer-headings (thread)
  "Return the headings of turns that the plan of THREAD shows, newest first.
They are plists as from `todo-write-turns-headings'.  The value is nil if
there is nothing to show."
  (pcase-let* ((most (if (memq 'turns todo-write-row-open) 2000 todo-write-footer-turns))
               (`(,_ . ,headings) (todo-write-turns-headings thread most))
               (shown (seq-filter
                       (lambda (heading)
                         (or (plist-get heading :prompt) (plist-get heading :outside)
                             (plist-get heading :items)
                             (cl-loop for key in '(:added :removed :failed :refused)
                                      thereis (> (plist-get heading key) 0))))
                       headings)))
    (when (or (cdr headings)
              (plist-get (car shown) :prompt)
              (plist-get (car shown) :outside)
              ;; The only way to the tasks of earlier lists.
              (and headings (todo-write-core-call todo-write-dyn--earlier-lists thread)))
      shown)))

(defun todo-write-footer-insert (thread headings rows running new width)
  "Insert what is below ROWS, the items of THREAD that have a row.
HEADINGS is as from `todo-write-footer-headings'.  RUNNING is the number of
the turn in which the agent works, or nil, and NEW are those of turns with
changes that were not reviewed.  Lines have WIDTH columns."
  (let* ((ids (mapcar (lambda (item) (plist-get item :id)) rows))
         (dropped (seq-remove (lambda (item) (member (plist-get item :id) ids))
                              (todo-write-items-dropped thread)))
         (cleared (todo-write-core-call todo-write-dyn--items-cleared thread)))
    (todo-write-row-insert-flow
     (delq nil (list (when dropped
                       (todo-write-footer--count dropped 'dropped
                                                 "show the tasks that the agent dropped"))
                     (when cleared
                       (todo-write-footer--count
                        cleared 'cleared
                        "show the completed tasks that the agent took off the list"))))
     nil 1 width)
    (when (memq 'dropped todo-write-row-open)
      (dolist (item dropped)
        (let ((start (point)))
          (todo-write-row-insert item 'removed nil width 2)
          (todo-write-row-make-button start (point) 'todo-write-dropped "R: bring it back"
                                      'todo-write-dropped (plist-get item :id)))))
    (when (memq 'cleared todo-write-row-open)
      (dolist (item cleared)
        (todo-write-footer--insert-cleared thread item width)))
    (todo-write-footer--insert-turns thread headings running new width)))

(defun todo-write-footer--count (items key help)
  "Return the number of ITEMS, which are KEY, as a part that opens KEY.
HELP says what RET does."
  (todo-write-row-button (propertize (format "%d %s" (length items) key) 'face 'todo-write-detail)
                         'todo-write-part (concat "RET, mouse-1: " help)
                         'todo-write-toggle key))

(defun todo-write-footer--insert-cleared (thread item width)
  "Insert ITEM, which left the list of THREAD, in lines of WIDTH columns."
  (let ((id (plist-get item :id))
        (start (point)))
    (todo-write-row-insert item (if (equal (plist-get item :status) "completed") 'completed
                                  'removed)
                           (todo-write-core-call todo-write-dyn--spent thread id) width 4 nil
                           (todo-write-plan-row-work thread id))
    (todo-write-row-make-button start (point) 'todo-write-part
                                (todo-write-text-help
                                 (todo-write-text-plain (plist-get item :content)))
                                'todo-write-toggle id)
    (when (member id todo-write-row-open)
      (todo-write-story-insert thread id width))
    (put-text-property start (point) 'todo-write-part id)))

;;; Turns

(defun todo-write-footer--insert-turns (thread headings running new width)
  "Insert HEADINGS of turns of THREAD, and what is open below them.
RUNNING, NEW and WIDTH are as in `todo-write-footer-insert'."
  (let* ((figures (cl-loop for heading in headings
                           for above = nil then began
                           for began = (plist-get heading :began)
                           collect (todo-write-footer--figures
                                    heading (eql running (plist-get heading :turn)) above)))
         (near (todo-write-row-near-width width))
         (columns (todo-write-footer--columns figures near))
         (earlier (1- (or (plist-get (car (last headings)) :turn) 1))))
    (cl-loop for heading in headings
             for parts in figures
             for id = (cons 'turn (plist-get heading :turn))
             for is-open = (member id todo-write-row-open)
             for start = (point)
             for cut = (todo-write-footer--insert-heading heading parts columns is-open near)
             when (memql (cdr id) new)
             do (todo-write-row-mark-new start)
             do (todo-write-row-make-button start (point) 'todo-write-part
                                            (todo-write-text-help
                                             (or (plist-get heading :prompt)
                                                 "What was done before the first prompt"))
                                            'todo-write-toggle id)
             when is-open do (todo-write-story-insert thread id width cut)
             do (put-text-property start (point) 'todo-write-part id))
    (when (and (> earlier 0) (not (memq 'turns todo-write-row-open)))
      (insert (todo-write-row-button
               (propertize (concat " " (todo-write-text-count earlier "earlier prompt"))
                           'face 'todo-write-detail)
               'todo-write-part "RET, mouse-1: show the earlier prompts"
               'todo-write-toggle 'turns 'todo-write-part 'earlier)
              (propertize "\n" 'todo-write-part 'earlier)))))

(defun todo-write-footer--columns (figures width)
  "Return the widths of the columns of FIGURES in lines of WIDTH columns.
FIGURES are lists of strings, of the same length.  As in rows, the first
ones are left out, as 0, before the text is cut below 30 columns."
  (let ((columns (and figures
                      (apply #'cl-mapcar
                             (lambda (&rest parts)
                               (let ((most (apply #'max (mapcar #'todo-write-text-width parts))))
                                 (if (= most 0) 0 (+ most 2))))
                             figures))))
    (cl-loop for rest on columns
             while (> (apply #'+ columns) (- width 33))
             do (setcar rest 0))
    columns))

(defun todo-write-footer--insert-heading (heading parts columns open width)
  "Insert HEADING of a turn, which may be OPEN, as a line of WIDTH columns.
PARTS are its figures, and COLUMNS as from `todo-write-footer--columns'.
Return non-nil if the line of the prompt was cut."
  (let* ((head (format " %s " (todo-write-text-shape (if open 'opened 'tool))))
         (prompt (todo-write-turns-name heading 1000))
         (said (plist-get heading :said))
         ;; After a short prompt, there is room for what followed.
         (text (cond ((null prompt) "Before the first prompt")
                     (said (format "%s %s %s" prompt (todo-write-text-shape 'dot)
                                   (todo-write-text-unmark (todo-write-text-line said))))
                     (t prompt)))
         (tail (apply #'concat (cl-mapcar (lambda (part column)
                                            (if (= column 0) ""
                                              (concat (make-string
                                                       (- column (todo-write-text-width part)) ?\s)
                                                      part)))
                                          parts columns)))
         ;; Blanks of a column leave the text more room.
         (line (todo-write-row-line head (propertize text 'face 'todo-write-prompt)
                                    (todo-write-row-dim (string-trim tail)) width)))
    (insert line "\n")
    (not (string-search (or prompt "") (todo-write-text-seen line)))))

(defun todo-write-footer--figures (heading running above)
  "Return the figures of HEADING, of a turn that may be RUNNING.
They are a list of strings, in the order of their columns.  ABOVE is when
the turn above began, or nil; a date that both have is left out."
  (let ((began (plist-get heading :began))
        (tasks (length (plist-get heading :items))))
    (mapcar (lambda (figure) (or figure ""))
            (list (if running (concat "since " (todo-write-text-clock began above))
                    (todo-write-detail-clock-span began (plist-get heading :ended) above))
                  (and (> tasks 0) (format "%d/%d" (plist-get heading :completed) tasks))
                  (todo-write-row-lines (plist-get heading :added) (plist-get heading :removed))
                  (todo-write-row-failed (plist-get heading :failed) (plist-get heading :refused))
                  (pcase (plist-get heading :commits)
                    (0 nil)
                    (1 (concat "committed "
                               (todo-write-text-line (or (plist-get heading :commit) "") 12)))
                    (count (todo-write-text-count count "commit")))
                  (pcase (plist-get heading :ending)
                    ('denied "denied")
                    ('error "failed")
                    ('killed "killed"))))))

(provide 'todo-write-footer)
;;; todo-write-footer.el ends here
