;;; todo-write-fold.el --- Completed tasks collapse to a count  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; In a list that is longer than its window, successive completed tasks collapse
;; to one line such as "+7 done".  The last one stays visible, so that a task
;; does not disappear when it is completed.
;;
;; The rows stay in the buffer, under overlays.  The module finds the runs, so
;; that Lisp does not look at every row.  todo-write-view.el says which rows must
;; stay visible.

;;; Code:

(require 'cl-lib)
(require 'todo-write-row)
(require 'todo-write-text)

(defface todo-write-fold '((t :inherit todo-write-completed :slant italic))
  "Face of the line that replaces folded tasks."
  :group 'todo-write-faces)

(defconst todo-write-fold-least 3
  "Minimum number of successive completed tasks to fold.")

(defconst todo-write-fold-most 8
  "Maximum number of folds, of the longest runs.
Each costs time whenever a row is drawn, and a screen shows few.")

(defvar-local todo-write-fold-choice 'option
  "Whether to fold in this buffer: t, nil, or `option' to use the option.")

(defvar-local todo-write-fold-overlays nil
  "The overlays over the folded rows.")

(defun todo-write-fold-wanted-p (option lines windows)
  "Return non-nil if completed tasks should be folded in WINDOWS.
OPTION is as for `todo-write-view-fold-completed'.  LINES is the number
of lines of the buffer without folds."
  (pcase (if (eq todo-write-fold-choice 'option) option todo-write-fold-choice)
    ('auto (cl-loop for window in windows
                    thereis (> lines (window-body-height window))))
    (choice choice)))

(defun todo-write-fold-update (runs)
  "Fold RUNS, a list of (START END . COUNT), and no other rows.
COUNT is the number of rows from START to END, both positions."
  (todo-write-fold-clear)
  (pcase-dolist (`(,start ,end . ,count) runs)
    (let ((line (format " %s +%d done\n" (todo-write-text-shape 'completed) count)))
      (put-text-property 0 2 'face 'todo-write-completed-shape line)
      (put-text-property 2 (length line) 'face 'todo-write-fold line)
      (push (make-button start end 'type 'todo-write-fold 'todo-write-count count
                         'display line 'help-echo "RET, mouse-1: show the completed tasks")
            todo-write-fold-overlays))))

(defun todo-write-fold-clear ()
  "Delete all folds."
  (mapc #'delete-overlay todo-write-fold-overlays)
  (setq todo-write-fold-overlays nil))

(defun todo-write-fold-at (position)
  "Return the overlay that folds the text at POSITION, or nil."
  (and todo-write-fold-overlays
       (cl-find-if (lambda (overlay) (overlay-get overlay 'todo-write-count))
                   (overlays-at position))))

(defun todo-write-fold-unseen-lines (start end)
  "Return the number of lines between START and END that folds hide.
Each fold displays one line."
  (cl-loop for fold in todo-write-fold-overlays
           when (<= start (overlay-start fold) (overlay-end fold) end)
           sum (1- (overlay-get fold 'todo-write-count))))

(provide 'todo-write-fold)
;;; todo-write-fold.el ends here
