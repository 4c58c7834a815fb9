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
(require 'todo-write-sums)
(require 'todo-write-text)
(require 'todo-write-turns)

(defconst todo-write-footer-turns 30
  "Number of prompts that a plan shows, the newest.
A line below them shows the earlier ones.")

(cl-defstruct (todo-write-footer--parts (:constructor todo-write-footer-make) (:copier nil))
  "What stands below the rows of a plan.
DROPPED and CLEARED are items.  TURNS is as from `todo-write-footer-headings';
RUNNING is the number of the turn in which the agent works, or nil, and NEW
are those of turns with changes that were not reviewed.  OPEN is a list of
what is open: `dropped', `cleared', `turns' for the earlier prompts, ids of
items, and (turn . N); (shut . N) is there if the turn that runs is not
open.  WHOLE and EARLIER are as the arguments OPEN and EARLIER of
`todo-write-story-insert', EARLIER a list of ids."
  dropped cleared turns running new open whole earlier)

(defun todo-write-footer-headings (thread open)
  "Return the headings of turns that the plan of THREAD shows, and their number.
OPEN is a list of what is open.  The value is as from
`todo-write-turns-headings', or nil if there is nothing to show."
  (pcase-let* ((most (if (memq 'turns open) 2000 todo-write-footer-turns))
               (`(,count . ,headings) (todo-write-turns-headings thread most))
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
              (and headings (todo-write-plan-earlier-lists thread)))
      (cons count shown))))

(defun todo-write-footer-insert (footer thread width)
  "Insert the lines of FOOTER of THREAD, WIDTH columns wide."
  (let* ((dropped (todo-write-footer--parts-dropped footer))
         (cleared (todo-write-footer--parts-cleared footer))
         (open (todo-write-footer--parts-open footer))
         (parts (delq nil
                      (list (when dropped
                              (todo-write-footer--part
                               'dropped (format "%d dropped" (length dropped))
                               "show the tasks that the agent dropped"))
                            (when cleared
                              (todo-write-footer--part
                               'cleared (format "%d cleared" (length cleared))
                               "show the completed tasks that the agent took off the list"))))))
    (when parts
      (todo-write-row-insert-flow parts nil 1 width)
      (when (memq 'dropped open)
        (dolist (item dropped)
          (let ((start (point)))
            (todo-write-row-insert item 'removed nil width 2)
            (todo-write-row-make-button start (point) 'todo-write-dropped "R: bring it back"
                                        'todo-write-dropped (plist-get item :id)))))
      (when (memq 'cleared open)
        (dolist (item cleared)
          (let* ((id (plist-get item :id))
                 (start (point))
                 (kind (if (equal (plist-get item :status) "completed") 'completed 'removed)))
            (todo-write-row-insert item kind (todo-write-plan-spent thread id) width 4 nil
                                   (todo-write-plan-row-work thread id))
            (todo-write-row-make-button start (point) 'todo-write-part
                                        (todo-write-text-help
                                         (todo-write-text-plain (plist-get item :content)))
                                        'todo-write-toggle id 'todo-write-part id)
            (when (member id open)
              (todo-write-footer--insert-story id footer thread width))))))
    (todo-write-footer--insert-turns footer thread width)))

(defun todo-write-footer--part (key text help)
  "Return TEXT as a part that opens KEY; HELP says what RET does."
  (todo-write-row-button (propertize text 'face 'todo-write-detail) 'todo-write-part
                         (concat "RET, mouse-1: " help) 'todo-write-toggle key))

(defun todo-write-footer--insert-story (id footer thread width &optional cut)
  "Insert the story of ID of THREAD, which is open in FOOTER.
ID is that of an item, or (turn . N); WIDTH is the number of columns.  CUT
is as in `todo-write-story-insert'."
  (let ((start (point)))
    (todo-write-story-insert thread id width (todo-write-footer--parts-whole footer)
                             (member id (todo-write-footer--parts-earlier footer)) cut)
    (add-text-properties start (point) (list 'todo-write-part id))))

;;; Turns

(defun todo-write-footer--insert-turns (footer thread width)
  "Insert the turns of FOOTER of THREAD, WIDTH columns wide."
  (let* ((headings (cdr (todo-write-footer--parts-turns footer)))
         (open (todo-write-footer--parts-open footer))
         (running (todo-write-footer--parts-running footer))
         (figures (cl-loop for heading in headings
                           for above = nil then began
                           for began = (plist-get heading :began)
                           collect (todo-write-footer--figures
                                    heading (eql running (plist-get heading :turn)) above)))
         (near (todo-write-row-near-width width))
         (columns (todo-write-footer--columns figures near)))
    (cl-loop for heading in headings
             for parts in figures
             for number = (plist-get heading :turn)
             for id = (cons 'turn number)
             for shut = (and (eql number running) (cons 'shut number))
             for is-open = (if shut (not (member shut open)) (member id open))
             for start = (point)
             for cut = (todo-write-footer--insert-heading heading parts columns is-open near)
             when (memql number (todo-write-footer--parts-new footer))
             do (todo-write-row-mark-new start)
             do (todo-write-row-make-button start (point) 'todo-write-part
                                         (todo-write-text-help
                                          (or (plist-get heading :prompt)
                                              "What was done before the first prompt"))
                                         'todo-write-toggle (or shut id) 'todo-write-part id)
             when is-open do (todo-write-footer--insert-story id footer thread width cut))
    (let ((earlier (1- (or (plist-get (car (last headings)) :turn) 1))))
      (when (and (> earlier 0) (not (memq 'turns open)))
        (insert (todo-write-row-button
                 (propertize (concat " " (todo-write-text-count earlier "earlier prompt"))
                             'face 'todo-write-detail)
                 'todo-write-part "RET, mouse-1: show the earlier prompts"
                 'todo-write-toggle 'turns)
                "\n")))))

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
         (start (point))
         ;; Blanks of a column leave the text more room.
         (end (todo-write-row-insert-line head text (string-trim tail) width "\n")))
    (put-text-property start end 'face 'todo-write-prompt)
    (font-lock-fillin-text-property end (point) 'face 'todo-write-time)
    (not (string-search (or prompt "") (todo-write-text-seen (buffer-substring start end))))))

(defun todo-write-footer--figures (heading running above)
  "Return the figures of HEADING, of a turn that may be RUNNING.
They are a list of strings, in the order of their columns.  ABOVE is when
the turn above began, or nil; a date that both have is left out."
  (let ((began (plist-get heading :began))
        (tasks (length (plist-get heading :items))))
    (mapcar (lambda (figure) (or figure ""))
            (list (if running (concat "since " (todo-write-text-clock began above))
                    (todo-write-sums-clock-span began (plist-get heading :ended) above))
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
