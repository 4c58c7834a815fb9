;;; todo-write-row.el --- How a task looks in one line  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The faces and lines that the live buffer, its history, the mode line and the
;; chats share: a task, and the header with count and bar.  Nothing here knows
;; about windows or threads.  `todo-write-row-align' lays out a line of which
;; parts stand at columns.
;;
;; Every state has its own shape, see todo-write-text.el, so that a plan reads
;; well without colors.

;;; Code:

(require 'font-lock)
(require 'todo-write)

(defgroup todo-write-faces nil
  "Faces of plans."
  :group 'todo-write
  :group 'faces)

(defface todo-write-title '((t :inherit bold))
  "Face of a plan's title.")

(defface todo-write-done '((t :inherit success :weight bold))
  "Face of the header of a plan whose tasks are all completed.")

(defface todo-write-pending '((t :inherit default))
  "Face of tasks that have not begun.")

(defface todo-write-in-progress '((t :inherit bold))
  "Face of the task being worked on.")

(defface todo-write-in-progress-shape '((t :inherit font-lock-function-name-face :weight bold))
  "Face of the shape before the task being worked on.")

(defface todo-write-paused '((t :inherit warning))
  "Face of the task in progress while the agent is stopped.")

(defface todo-write-completed '((t :inherit shadow))
  "Face of completed tasks.")

(defface todo-write-completed-shape '((t :inherit success))
  "Face of the shape before completed tasks.")

(defface todo-write-removed '((t :inherit shadow :strike-through t))
  "Face of tasks that left the list before they were completed.")

(defface todo-write-time '((t :inherit shadow))
  "Face of times.")

(defface todo-write-flash '((t :inherit highlight :extend t))
  "Face of rows that have just changed.")

(defface todo-write-lines-added '((t :inherit success))
  "Face of the number of lines added.")

(defface todo-write-lines-removed '((t :inherit error))
  "Face of the number of lines removed.")

(defface todo-write-lines-new '((t :inherit bold :underline t))
  "Face of numbers of lines, and of a count, of which some are not reviewed.")

(defface todo-write-failed '((t :inherit error))
  "Face of errors, and of the shape before tasks that left the list uncompleted.")

(defface todo-write-detail '((t :inherit shadow))
  "Face of the details below an open row.")

(defface todo-write-aside '((t :inherit (italic todo-write-detail)))
  "Face of thoughts, subagents, folded tasks, and texts of before.")

;;; Shapes

(defun todo-write-row-kind (item &optional paused)
  "Return the kind of ITEM, a symbol: its status, or paused.
Non-nil PAUSED means that the agent is stopped."
  (pcase (plist-get item :status)
    ("completed" 'completed)
    ("in_progress" (if paused 'paused 'in_progress))
    (_ 'pending)))

(defun todo-write-row-face (kind &optional shape)
  "Return the face of the text of a task of KIND, or with SHAPE that of its shape."
  (nth (if shape 1 0)
       (pcase kind
         ('completed '(todo-write-completed todo-write-completed-shape))
         ('in_progress '(todo-write-in-progress todo-write-in-progress-shape))
         ('paused '(todo-write-paused todo-write-paused))
         ('removed '(todo-write-removed todo-write-failed))
         ('pending '(todo-write-pending todo-write-pending)))))

;;; Text

(defun todo-write-row-make-button (start end help &rest properties)
  "Make the text from START to END a button with HELP and PROPERTIES.
Without an `action', the buffer that shows the text says what pressing it
does; see `todo-write-buffer-set-up'."
  (apply #'make-text-button start end 'type 'todo-write-button 'help-echo help
         ;; Emacs highlights adjacent lines together if they share the list.
         'mouse-face (list 'highlight) properties))

(defun todo-write-row-button (text help &rest properties)
  "Return TEXT as a button with HELP and PROPERTIES.
See `todo-write-row-make-button'."
  (apply #'todo-write-row-make-button (copy-sequence text) nil help properties))

(defvar todo-write-row-scale 1
  "The width of a column of the font that is drawn, as a multiple of the frame's.")

(defvar todo-write-row-open nil
  "What is open in the plan that is being drawn, a list.
It has ids of tasks, (turn . N), keys of entries; (earlier . ID)
and (files . ID) where all entries and files of ID are shown; and
`dropped', `cleared' and `turns' for what is below the rows.")

(defmacro todo-write-row-string (&rest body)
  "Return what BODY inserts, as a string."
  (declare (indent 0) (debug t))
  `(with-temp-buffer
     ,@body
     (buffer-string)))

;;; Lines

(defun todo-write-row-align (&rest parts)
  "Return PARTS side by side in one line.
They are strings, and numbers: the columns at which the next ones begin, at
least one column after the previous ones."
  (let ((line ""))
    (dolist (part parts line)
      (setq line
            (concat
             line
             (if (stringp part)
                 part
               (let ((count (- part (todo-write-text-width line))))
                 ;; This aligns fonts in which some characters do not have their nominal
                 ;; width, and keeps right-to-left text from moving the digits.  The gap ends
                 ;; before the last blank, which stays in wider fonts.
                 (concat (when (> count 1)
                           (propertize (make-string (1- count) ?\s)
                                       'display `(space :align-to ,(* (1- part)
                                                                      todo-write-row-scale))))
                         " "))))))))

(defun todo-write-row-line (head text right width)
  "Return HEAD, TEXT truncated to fit, and RIGHT as a line of WIDTH columns.
RIGHT ends at the last column, unless it is empty."
  (let* ((column (- width (todo-write-text-width right)))
         (room (- (if (string-empty-p right) width (- column 2)) (todo-write-text-width head)))
         (text (todo-write-text-truncate text (max 0 room))))
    (if (string-empty-p right)
        (concat head text)
      (todo-write-row-align head text column right))))

(defun todo-write-row-dim (string)
  "Return STRING; what has no face in it gets that of times."
  (let ((string (copy-sequence string)))
    (font-lock-fillin-text-property 0 (length string) 'face 'todo-write-time string)
    string))

;;; Tasks

(defconst todo-write-row--most 120
  "Column at which the figures of a row end if that leaves room for its text.
Further to the right, the eye does not find the text that they belong to.")

(defun todo-write-row-near-width (width &optional used)
  "Return at which of WIDTH columns a row ends whose text ends at column USED.
Without USED, return it for rows of which all have figures."
  (if (<= (or used 0) (- todo-write-row--most 30)) (min width todo-write-row--most) width))

(defun todo-write-row-note (item items &optional summary)
  "Return the note at the end of the row of ITEM, a string, or nil.
It names the positions in ITEMS, a sequence, of the open tasks that ITEM
waits for, and its owner.  With SUMMARY, the `todo-write-summary' of its
thread, it also says if the task is the user's.  A completed task has no
note."
  (unless (equal (plist-get item :status) "completed")
    (let* ((ids (plist-get item :blockedBy))
           (places (and ids (cl-loop for other in (append items nil)
                                     for place from 1
                                     when (and (member (plist-get other :id) ids)
                                               (not (equal (plist-get other :status) "completed")))
                                     collect (number-to-string place))))
           (owner (plist-get item :owner))
           (parts (list (and places (concat "after " (string-join places ", ")))
                        (and owner (concat "@" (todo-write-text-line owner 20)))
                        (and summary (equal (plist-get item :addedBy) "user")
                             (if (and (plist-get item :untold)
                                      (not (memql (plist-get summary :yours) '(nil 0))))
                                 "yours, not told"
                               "yours")))))
      (when (remq nil parts)
        (string-join (remq nil parts) "  ")))))

(defun todo-write-row-insert (item kind spent width &optional indent note work)
  "Insert the line for ITEM of KIND, WIDTH columns.
SPENT is the time it has been in progress, in milliseconds; nil or less
than a second shows nothing unless the task is in progress.  INDENT is
the number of columns to leave free at the left.  NOTE, a string, and
WORK, as from `todo-write-dyn--row-work', stand before the time; see
`todo-write-row-note'.  Parts that do not fit are left out, the note
first, before the text is cut."
  (let* ((head (propertize (concat (make-string (1+ (or indent 0)) ?\s)
                                   (todo-write-text-shape kind) " ")
                           'face (todo-write-row-face kind t)))
         (face (todo-write-row-face kind))
         (text (propertize (todo-write-text-of-item item kind) 'face face))
         (used (+ (todo-write-text-width head) (todo-write-text-width text)))
         (sharers (or (nth 5 work) 0))
         (note (if (= sharers 0) note
                 (string-join (delq nil (list note (format "shared with %d" sharers))) "  ")))
         (time (and spent (or (>= spent 1000) (memq kind '(in_progress paused)))
                    (todo-write-text-time spent)))
         (width (todo-write-row-near-width width used)))
    (insert (todo-write-row-line
             head text (todo-write-row-dim (todo-write-row--tail note work time (- width used 2)))
             width)
            ;; A struck newline would show as a stroke behind the text.
            (propertize "\n" 'face (if (eq kind 'removed) 'todo-write-pending face)))))

(defconst todo-write-row-more-files "and more files"
  "What is said where commands changed files in a way that is not told.")

(defun todo-write-row--tail (note work time room)
  "Return what stands at the end of a row, a string of at most ROOM columns.
It has as many of NOTE, WORK and TIME as fit, the last ones; each may be nil."
  (if (not (or note work))
      (if (and time (<= (length time) room)) time "")
    (let* ((lines (todo-write-row-lines (car work) (cadr work)))
           (others `(,(todo-write-row-failed (nth 2 work) (nth 4 work)) ,(or time "")))
           (more (and (eql 1 (nth 3 work))
                      (string-join (remq nil (list lines todo-write-row-more-files)) " "))))
      (or (cl-loop for parts in `(,@(and more `((,note ,more ,@others)))
                                  . ,(cl-maplist #'identity `(,note ,lines ,@others)))
                   thereis (seq-find (lambda (tail) (<= (todo-write-text-width tail) room))
                                     (list (todo-write-row--in-columns parts)
                                           (string-join (seq-difference parts '(nil "")) "  "))))
          ""))))

(defun todo-write-row--in-columns (parts)
  "Return the last of a row's PARTS in columns: note, lines, failures and time."
  (pcase-let* ((`(,time ,failed ,lines ,note) (reverse parts)))
    (concat note (and note (or lines failed (not (equal time ""))) "  ")
            (and lines (string-pad lines (if failed (max 11 (1+ (length lines))) 11)))
            (and (or lines failed) (string-pad (or failed "") 5))
            (if (or lines failed) (format "%7s" time) time))))

(defun todo-write-row-lines (added removed &optional short)
  "Return the numbers of lines ADDED and REMOVED, as in +80 −109, or nil if none.
Each has its face.  Non-nil SHORT leaves a number out that is 0."
  (when (or (> (or added 0) 0) (> (or removed 0) 0))
    (string-join
     (delq nil
           (list (unless (and short (= added 0))
                   (propertize (format "+%d" added) 'face 'todo-write-lines-added))
                 (unless (and short (= removed 0))
                   (propertize (format "%s%d" (todo-write-text-shape 'minus) removed)
                               'face 'todo-write-lines-removed))))
     " ")))

(defun todo-write-row-failed (failed refused)
  "Return how many commands FAILED and calls were REFUSED, as in ✗2 ⊘1, or nil."
  (let ((counts (cl-loop for (shape . count) in `((removed . ,failed) (refused . ,refused))
                         when (> (or count 0) 0)
                         collect (format "%s%d" (todo-write-text-shape shape) count))))
    (when counts
      (propertize (string-join counts " ") 'face 'todo-write-failed))))

(defun todo-write-row-mark-new (start)
  "Let the numbers of lines between START and point stand out as not reviewed."
  (while (< start (point))
    (let ((face (get-text-property start 'face))
          (end (next-single-property-change start 'face nil (point))))
      (when (memq face '(todo-write-lines-added todo-write-lines-removed))
        (put-text-property start end 'face (list 'todo-write-lines-new face)))
      (setq start end))))

;;; Header

(defun todo-write-row-progress (summary)
  "Return the state and the count of SUMMARY as a short string in its face."
  (pcase-let* ((count (plist-get summary :count))
               (`(,face ,shape ,word)
                (pcase (plist-get summary :state)
                  ((or 'nil 'empty) '(todo-write-time))
                  ('done '(todo-write-done completed "done"))
                  ((and 'paused (guard (eq 'end-of-turn (plist-get summary :ending))))
                   '(todo-write-paused ended "stopped"))
                  ('paused '(todo-write-paused paused "paused"))
                  (_ '(todo-write-title)))))
    (propertize (cond (shape (format "%s %s %s" (todo-write-text-shape shape) word count))
                      ((eq face 'todo-write-time) "no tasks")
                      (t count))
                'face face)))

(defun todo-write-row--bar (completed total width)
  "Return a bar of WIDTH columns for COMPLETED of TOTAL tasks."
  (let* ((full (todo-write-text-shape 'full))
         (cells (/ width (string-width full)))
         (filled (/ (* completed cells) total)))
    (concat (propertize (make-string filled (aref full 0)) 'face 'todo-write-completed-shape)
            (propertize (make-string (- cells filled) (aref (todo-write-text-shape 'rest) 0))
                        'face 'todo-write-time))))

(defun todo-write-row-insert-header (summary width &optional work title)
  "Insert the header line of WIDTH columns for SUMMARY, without a newline.
SUMMARY is the value of `todo-write-summary', or nil for no plan.  WORK is
a list (ADDED REMOVED) of numbers of lines, or nil.  TITLE is for a session
without one.  The numbers and the bar are left out before it is cut."
  (let* ((total (or (plist-get summary :total) 0))
         (title (todo-write-text-plain (or (plist-get summary :title) title "Plan")))
         (used (+ 3 (todo-write-text-width title)))
         (width (todo-write-row-near-width width used))
         (size (min 20 (/ width 4)))
         (progress (concat (and (plist-get summary :unsaved)
                                (propertize "not saved  " 'face 'todo-write-title))
                           (todo-write-row-progress summary)))
         (bar (and (> total 0) (>= size 8)
                   (todo-write-row--bar (plist-get summary :completed) total size)))
         (lines (and work (todo-write-row-lines (car work) (cadr work))))
         (lines (and lines (concat " " lines)))
         (right (seq-find (lambda (right) (<= (+ used (todo-write-text-width right)) width))
                          (mapcar (lambda (parts) (string-join (delq nil parts) "  "))
                                  `((,progress ,bar ,lines) (,progress ,bar) (,progress ,lines)))
                          progress)))
    (insert (todo-write-row-line " " (propertize title 'face 'todo-write-title) right width))))

(defun todo-write-row-goal (goal)
  "Return GOAL, a value of `todo-write-goal', as a line."
  (let ((tries (plist-get goal :tries))
        (reason (plist-get goal :reason))
        (state (plist-get goal :state)))
    (todo-write-text-line
     (todo-write-text-dotted
      (concat "Goal: " (plist-get goal :text))
      (and (> tries 0) (todo-write-text-count tries "try" "tries"))
      (unless (and (eq state 'active) (null reason))
        (concat (pcase state
                  ('active "not met")
                  ('failed "given up")
                  (_ (symbol-name state)))
                (and reason (concat ": " reason))))))))

(defun todo-write-row-context (plist)
  "Return how full the context of an agent is, or nil if that is unknown.
PLIST has :context and :contextTokens; see `todo-write-agents'."
  (let ((percent (plist-get plist :context))
        (tokens (plist-get plist :contextTokens)))
    (cond (percent (format "context %d %%" percent))
          (tokens (concat "context " (todo-write-text-number tokens))))))

(provide 'todo-write-row)
;;; todo-write-row.el ends here
