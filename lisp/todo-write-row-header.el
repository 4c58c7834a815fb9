;;; todo-write-row-header.el --- How far a plan is, in one line  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The line above the tasks, the bar in it, and the count that the mode line and
;; lists of plans show, too.

;;; Code:

(require 'todo-write-row)

;;; Count

(defvar todo-write-row--counted (list nil)
  "The summary that was counted last, and its count.")

(defun todo-write-row-count (summary)
  "Return how many tasks of SUMMARY are completed, as in 2/4."
  ;; All places that show a plan get the same summary, and ask in turn.
  (unless (and summary (eq summary (car todo-write-row--counted)))
    (setcar todo-write-row--counted summary)
    (setcdr todo-write-row--counted
            (format "%d/%d" (or (plist-get summary :completed) 0)
                    (or (plist-get summary :total) 0))))
  (cdr todo-write-row--counted))

(defun todo-write-row--count-blanks (summary)
  "Return how many digits the count of SUMMARY is going to have more."
  (- (length (number-to-string (or (plist-get summary :total) 0)))
     (length (number-to-string (or (plist-get summary :completed) 0)))))

(defun todo-write-row-progress (summary)
  "Return the state and the count of SUMMARY in a few columns."
  (let ((count (todo-write-row-count summary)))
    (pcase (plist-get summary :state)
      ((or 'nil 'empty) "no tasks")
      ('done (concat (todo-write-row-shape 'completed) " done " count))
      ('paused (concat (todo-write-row-shape 'paused) " paused " count))
      (_ count))))

(defun todo-write-row-progress-face (state)
  "Return the face of what `todo-write-row-progress' says of STATE."
  (pcase state
    ((or 'nil 'empty) 'todo-write-time)
    ('done 'todo-write-done)
    ('paused 'todo-write-paused)
    (_ 'todo-write-count)))

;;; Bar

(defun todo-write-row-insert-bar (completed total width)
  "Insert a bar of WIDTH columns for COMPLETED of TOTAL tasks."
  (let* ((cells (/ width (char-width (aref (todo-write-row-shape 'full) 0))))
         (filled (todo-write-row--filled completed total cells)))
    (todo-write-row--insert-cells 'full 'todo-write-bar filled)
    (todo-write-row--insert-cells 'rest 'todo-write-bar-rest (- cells filled))))

(defun todo-write-row--filled (completed total cells)
  "Return how many of CELLS are filled when COMPLETED of TOTAL tasks are."
  (if (> total 0) (/ (* completed cells) total) 0))

(defun todo-write-row--insert-cells (kind face count)
  "Insert the shape of KIND, one character, in FACE, COUNT times."
  (let ((start (point)))
    (insert-char (aref (todo-write-row-shape kind) 0) count)
    (put-text-property start (point) 'face face)))

;; What is written over character by character moves no marker and no text,
;; and there may be thousands of rows below.

(defun todo-write-row--move-bar (start old new)
  "Let the bar at START have NEW characters filled, where it had OLD."
  (unless (= old new)
    (let ((kinds (if (< old new) '(rest . full) '(full . rest)))
          (low (+ start (min old new)))
          (high (+ start (max old new))))
      ;; Drawn on a terminal with other shapes, it keeps those.
      (subst-char-in-region low high (aref (todo-write-row-shape (car kinds)) 0)
                            (aref (todo-write-row-shape (cdr kinds)) 0) t)
      (put-text-property low high 'face
                         (if (< old new) 'todo-write-bar 'todo-write-bar-rest)))))

(defun todo-write-row--overwrite (end old new)
  "Write the number NEW over OLD, which ends at END and has blanks before it."
  (let ((zero ?0))
    (while (/= old new)
      (setq end (1- end))
      (let ((char (if (= new 0) zero (+ ?0 (% new 10)))))
        (unless (eq (char-after end) char)
          (subst-char-in-region end (1+ end) (char-after end) char t)))
      (setq zero ?\s
            old (/ old 10)
            new (/ new 10)))))

;;; Line

(defun todo-write-row--bar-width (total width)
  "Return the columns of the bar in a line of WIDTH, or nil for no bar.
A line that is narrow has none, nor has a plan of TOTAL no tasks."
  (let ((bar (min 20 (/ width 4))))
    (and (> total 0) (>= bar 8) bar)))

(defun todo-write-row-insert-header (summary width)
  "Insert the header line of WIDTH columns for SUMMARY, without a newline.
SUMMARY is what `todo-write-summary' returns, or nil for no plan."
  (let* ((state (plist-get summary :state))
         (total (or (plist-get summary :total) 0))
         (progress (todo-write-row-progress summary))
         (blanks (todo-write-row--count-blanks summary))
         (bar (todo-write-row--bar-width total width))
         (end (- width blanks (todo-write-row-width progress) (if bar (+ 2 bar) 0) 1))
         (reason (and (eq state 'paused) (plist-get summary :reason)))
         (title (todo-write-row-plain (or (plist-get summary :title) "Plan")))
         (title (todo-write-row-truncate
                 (if reason (format "%s  (%s)" title (todo-write-row-plain reason)) title)
                 (max 0 (- end 2)))))
    (insert " ")
    (todo-write-row--insert title 'todo-write-title)
    (todo-write-row--insert-stop (1+ (todo-write-row-width title)) end)
    (insert " ")
    (todo-write-row--insert (concat (make-string blanks ?\s) progress)
                            (todo-write-row-progress-face state))
    (when bar
      (insert "  ")
      (todo-write-row-insert-bar (plist-get summary :completed) total bar))))

(defun todo-write-row-replace-header (old summary width)
  "Make the header line at point, which shows OLD, show SUMMARY.
Both are as in `todo-write-row-insert-header', and WIDTH is the same."
  (let ((start (point)))
    (todo-write-row--to-line-end)
    (if (todo-write-row--alike-p old summary)
        (todo-write-row--recount (plist-get old :completed) (plist-get summary :completed)
                                 (plist-get summary :total) width)
      (delete-region start (point))
      (todo-write-row-insert-header summary width))))

(defun todo-write-row--alike-p (old new)
  "Return non-nil if the header lines for OLD and NEW differ by the count only."
  (and (eq (plist-get old :state) 'active)
       (eq (plist-get new :state) 'active)
       (eql (plist-get old :total) (plist-get new :total))
       (equal (plist-get old :title) (plist-get new :title))))

(defun todo-write-row--recount (old new total width)
  "Let the header line that ends at point show NEW of TOTAL tasks instead of OLD.
The line has WIDTH columns; all that changes stands at its end."
  (let ((bar (todo-write-row--bar-width total width))
        (end (point)))
    (when bar
      (let ((cells (/ bar (char-width (char-before)))))
        (todo-write-row--move-bar (- end cells)
                                  (todo-write-row--filled old total cells)
                                  (todo-write-row--filled new total cells))
        (setq end (- end cells 2))))
    (while (/= (char-before end) ?/)
      (setq end (1- end)))
    (todo-write-row--overwrite (1- end) old new)))

(provide 'todo-write-row-header)
;;; todo-write-row-header.el ends here
