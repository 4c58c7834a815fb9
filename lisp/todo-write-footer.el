;;; todo-write-footer.el --- What the rows of a plan do not show  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The last line of a plan counts what its rows do not show: tasks that the agent
;; dropped, completed ones that it took off the list, earlier lists of the session,
;; and work outside any task.  Each part of
;; it opens below the line.  An earlier list opens as its rows, with their times and
;; their work, and each of these as its story.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'todo-write)
(require 'todo-write-row)
(require 'todo-write-story)
(require 'todo-write-text)

(cl-defstruct (todo-write-footer--parts (:constructor todo-write-footer-make) (:copier nil))
  "What the last line of a plan is about.
DROPPED and CLEARED are items; LISTS is a value of
`todo-write-plan-earlier-lists'; OUTSIDE says what was done outside any task,
a string, or nil.  OPEN is a list of what is open: `dropped', `cleared',
`lists', `outside', numbers of revisions that began a list, and ids of
items.  WHOLE and EARLIER are as the arguments OPEN and EARLIER of
`todo-write-story-insert', EARLIER a list of ids."
  dropped cleared lists outside open whole earlier)

(defun todo-write-footer-outside (thread)
  "Return what the agent of THREAD did outside any task in a few words, or nil."
  (let* ((work (todo-write-work thread 'outside))
         (commands (plist-get work :commands))
         (files (length (plist-get work :files)))
         (run (or (plist-get commands :run) 0)))
    (unless (and (= files 0) (= run 0))
      (concat "outside any task: "
              (string-join
               (delq nil
                     (list (when (> files 0)
                             (let ((lines (todo-write-row-lines (plist-get work :added)
                                                                (plist-get work :removed) t)))
                               (concat (todo-write-text-count files "file")
                                       (and (plist-get work :moreFiles) " and more")
                                       (and lines " ") lines)))
                           (when (> run 0) (todo-write-text-count run "command"))
                           (when (> (plist-get commands :failed) 0)
                             (format "%d failed" (plist-get commands :failed)))))
               ", ")))))

(defun todo-write-footer-insert (footer thread width)
  "Insert the lines of FOOTER of THREAD, WIDTH columns wide."
  (let* ((dropped (todo-write-footer--parts-dropped footer))
         (cleared (todo-write-footer--parts-cleared footer))
         (lists (todo-write-footer--parts-lists footer))
         (outside (todo-write-footer--parts-outside footer))
         (open (todo-write-footer--parts-open footer))
         (parts (delq nil
                      (list (when dropped
                              (todo-write-footer--part
                               'dropped (format "%d dropped" (length dropped))
                               "show the tasks that the agent dropped"))
                            (when cleared
                              (todo-write-footer--part
                               'cleared (format "%d cleared" (length cleared))
                               "show the completed tasks that the agent took off the list"))
                            (when lists
                              (todo-write-footer--part
                               'lists (todo-write-text-count (length lists) "earlier list")
                               "show the lists that this one replaced"))
                            (when outside
                              (todo-write-footer--part
                               'outside outside
                               "show what was done while no task was in progress"))))))
    (when parts
      (todo-write-row-insert-flow parts nil 1 width)
      (when (memq 'dropped open)
        (todo-write-footer--insert-dropped dropped width))
      (when (memq 'cleared open)
        (dolist (item cleared)
          (todo-write-footer--insert-item item footer thread width)))
      (when (memq 'lists open)
        (dolist (list lists)
          (todo-write-footer--insert-list list footer thread width)))
      (when (and outside (memq 'outside open))
        (todo-write-footer--insert-story 'outside footer thread width)))))

(defun todo-write-footer--part (key text help)
  "Return TEXT as a part that opens KEY; HELP says what RET does."
  (let ((text (copy-sequence text)))
    (add-face-text-property 0 (length text) 'todo-write-detail t text)
    (todo-write-row-button text 'todo-write-part (concat "RET, mouse-1: " help)
                           'todo-write-toggle key
                           'todo-write-part (and (eq key 'outside) key))))

(defun todo-write-footer--insert-dropped (items width)
  "Insert the rows of ITEMS, which were dropped, as lines of WIDTH columns."
  (dolist (item items)
    (let ((start (point)))
      (todo-write-row-insert item 'removed nil width 2)
      (todo-write-row-make-button start (point) 'todo-write-dropped "R: bring it back"
                                  'todo-write-dropped (plist-get item :id)))))

(defun todo-write-footer--insert-list (list footer thread width)
  "Insert LIST, an element of the lists of FOOTER, of THREAD.
WIDTH is the number of columns."
  (let* ((items (todo-write-plan-earlier-items thread list))
         (open (memql (car list) (todo-write-footer--parts-open footer)))
         (start (point)))
    (todo-write-footer--insert-heading items open thread width)
    (todo-write-row-make-button start (point) 'todo-write-part
                                "RET, mouse-1: show or hide its tasks"
                                'todo-write-toggle (car list))
    (when open
      (seq-doseq (item items)
        (todo-write-footer--insert-item item footer thread width)))))

(defun todo-write-footer--insert-heading (items open thread width)
  "Insert the line of an earlier list of ITEMS of THREAD, which may be OPEN.
WIDTH is the number of columns."
  (let* ((completed (seq-count (lambda (item) (equal (plist-get item :status) "completed"))
                               items))
         (work (todo-write-plan-lines-of thread (seq-map (lambda (item) (plist-get item :id)) items)))
         (lines (todo-write-row-lines (car work) (cadr work)))
         (head (format "   %s " (todo-write-text-shape (if open 'opened 'tool))))
         (text (todo-write-row-plain (plist-get (elt items 0) :content)))
         (parts (delq nil (list lines (todo-write-footer--span items thread)
                                (format "%d/%d" completed (length items)))))
         (room (- width (todo-write-text-width head) (todo-write-text-width text) 2))
         (start (point))
         (end nil))
    ;; As in rows, figures are left out before the text is cut.
    (while (and (cdr parts) (> (todo-write-text-width (string-join parts "  ")) room))
      (pop parts))
    (setq end (todo-write-row-insert-line head text (string-join parts "  ") width "\n"))
    (put-text-property start end 'face 'todo-write-child)
    (put-text-property end (point) 'face 'todo-write-time)
    (when lines
      (todo-write-row-mark-work end))))

(defun todo-write-footer--span (items thread)
  "Return when ITEMS of THREAD were worked on, as in 17:29–18:01, or nil."
  (let* ((times (seq-map (lambda (item) (todo-write-times thread (plist-get item :id))) items))
         (all (seq-mapcat (lambda (times)
                            (delq nil (mapcar (lambda (key) (plist-get times key))
                                              '(:created :started :completed))))
                          times))
         (ends (seq-mapcat (lambda (times) (mapcar #'cdr (plist-get times :intervals))) times)))
    (when all
      (todo-write-story-clock-span (apply #'min all) (apply #'max (append all ends))))))

(defun todo-write-footer--insert-item (item footer thread width)
  "Insert the row of ITEM, which left the list of THREAD, WIDTH columns wide.
If it is open in FOOTER, its story follows."
  (let ((id (plist-get item :id))
        (start (point)))
    (todo-write-row-insert item
                           (if (equal (plist-get item :status) "completed") 'completed 'removed)
                           (todo-write-plan-spent thread id) width 4 nil
                           (todo-write-plan-row-work thread id))
    (todo-write-row-make-button start (point) 'todo-write-part
                                 (todo-write-text-help
                                  (todo-write-row-plain (plist-get item :content)))
                                 'todo-write-toggle id 'todo-write-part id)
    (when (member id (todo-write-footer--parts-open footer))
      (todo-write-footer--insert-story id footer thread width))))

(defun todo-write-footer--insert-story (id footer thread width)
  "Insert the story of ID of THREAD, which is open in FOOTER.
ID is that of an item, or `outside'; WIDTH is the number of columns."
  (let ((start (point)))
    (todo-write-story-insert thread id width (todo-write-footer--parts-whole footer)
                             (member id (todo-write-footer--parts-earlier footer)))
    (put-text-property start (point) 'todo-write-part id)))

(provide 'todo-write-footer)
;;; todo-write-footer.el ends here
