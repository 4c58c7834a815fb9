;;; todo-write-row-header.el --- How far a plan is, in one line  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The line above the tasks, the bar in it, and the count that the mode line and
;; lists of plans show, too.

;;; Code:

(require 'cl-lib)
(require 'todo-write-row)

;;; Count

(defvar todo-write-row--counted nil
  "The summary that was counted last, and its count.")

(defun todo-write-row-count (summary)
  "Return how many tasks of SUMMARY are completed, as in 2/4."
  ;; All places that show a plan get the same summary, and ask in turn.
  (unless (and summary (eq summary (car todo-write-row--counted)))
    (setq todo-write-row--counted
          (cons summary (format "%d/%d" (or (plist-get summary :completed) 0)
                                (or (plist-get summary :total) 0)))))
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

(defun todo-write-row--move-bar (start end total old new)
  "Let the bar from START to END, which showed OLD of TOTAL tasks, show NEW."
  (let* ((from (todo-write-row--filled old total (- end start)))
         (to (todo-write-row--filled new total (- end start)))
         (kinds (if (< from to) '(rest . full) '(full . rest)))
         (low (+ start (min from to)))
         (high (+ start (max from to))))
    (subst-char-in-region low high (aref (todo-write-row-shape (car kinds)) 0)
                          (aref (todo-write-row-shape (cdr kinds)) 0) t)
    (put-text-property low high 'face (if (< from to) 'todo-write-bar 'todo-write-bar-rest))))

(defun todo-write-row--overwrite (start end text)
  "Write TEXT, after blanks, over the text from START to END.
That differs by some digits."
  (let ((blanks (- end start (length text))))
    (dotimes (n (- end start))
      (let ((at (+ start n))
            (char (if (< n blanks) ?\s (aref text (- n blanks)))))
        (unless (eq (char-after at) char)
          (subst-char-in-region at (1+ at) (char-after at) char t))))))

;;; Line

(defun todo-write-row-insert-header (summary width)
  "Insert the header line of WIDTH columns for SUMMARY, without a newline.
SUMMARY is what `todo-write-summary' returns, or nil for no plan."
  (let* ((state (plist-get summary :state))
         (total (or (plist-get summary :total) 0))
         (progress (todo-write-row-progress summary))
         (blanks (todo-write-row--count-blanks summary))
         (bar (min 20 (/ width 4)))
         (bar (and (> total 0) (>= bar 8) bar))
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
  (let* ((begin (point))
         (end (progn (todo-write-row--to-line-end) (point)))
         (text (todo-write-row-progress summary))
         (face (todo-write-row-progress-face (plist-get summary :state)))
         (start (text-property-any begin end 'face face))
         (stop (and start (next-single-property-change start 'face nil end))))
    (if (not (and start (<= (length text) (- stop start))
                  ;; With another state, the face would be another.
                  (cl-loop for key in '(:title :total :reason)
                           always (equal (plist-get old key) (plist-get summary key)))))
        (progn (delete-region begin end)
               (todo-write-row-insert-header summary width))
      (todo-write-row--overwrite start stop text)
      (when (< stop end)
        (todo-write-row--move-bar (+ 2 stop) end (plist-get summary :total)
                                  (plist-get old :completed)
                                  (plist-get summary :completed))))))

(provide 'todo-write-row-header)
;;; todo-write-row-header.el ends here
