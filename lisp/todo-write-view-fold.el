;;; todo-write-view-fold.el --- Completed rows as a count  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; In a list that is longer than its window, completed tasks that follow each
;; other collapse to one line, as in "+7 done"; the last of them stays, so that
;; a task does not vanish at the moment it is completed.  RET or a click on the
;; line opens them, and `d' opens or closes them all:
;;
;;     (setq todo-write-view-fold-completed t)     ; whatever space there is
;;     (setq todo-write-view-fold-completed nil)   ; never
;;
;; The rows stay in the buffer, under overlays.  Where the runs are, the module
;; says: no row is looked at from Lisp.

;;; Code:

(require 'todo-write-view-rows)
(require 'todo-write-row)

(declare-function todo-write-view-mouse-unfold "todo-write-view")
(declare-function todo-write-dyn--completed-runs "ext:todo-write-dyn")

(defcustom todo-write-view-fold-completed 'auto
  "When completed tasks that follow each other collapse to a count."
  :type '(choice (const :tag "Where the list is longer than its window" auto)
                 (const :tag "Always" t)
                 (const :tag "Never" nil))
  :group 'todo-write)

(defface todo-write-fold '((t :inherit todo-write-completed :slant italic))
  "Face of the line that stands for completed tasks."
  :group 'todo-write-faces)

(defconst todo-write-view--least-fold 3
  "A run of fewer completed tasks is not folded.")

(defconst todo-write-view--most-folds 8
  "So many runs are folded, the longest.
Each has its price at every redraw, and a screen shows few.")

(defvar-local todo-write-view--fold 'option
  "What the user chose for this buffer: t, nil, or `option' for no choice.")

(defvar-local todo-write-view--folds nil
  "The overlays over what is folded.")

(defvar todo-write-view-fold-map
  (let ((map (make-sparse-keymap)))
    (define-key map [mouse-1] #'todo-write-view-mouse-unfold)
    (define-key map [mouse-2] #'todo-write-view-mouse-unfold)
    map)
  "Keymap of the line that stands for completed tasks.
RET and TAB are the keys of the buffer.")

(defun todo-write-view--short-p (windows)
  "Return non-nil if one of WINDOWS is too low for all rows."
  (let ((lines (+ 2 (or (plist-get todo-write-view--summary :total) 0))))
    (cl-loop for window in windows
             thereis (> lines (window-body-height window)))))

(defun todo-write-view--folding-p (windows)
  "Return non-nil if completed tasks are to be folded now in WINDOWS."
  (pcase (if (eq todo-write-view--fold 'option)
             todo-write-view-fold-completed
           todo-write-view--fold)
    ('auto (todo-write-view--short-p windows))
    (choice choice)))

(defun todo-write-view--breaks ()
  "Return the ids of tasks that must not be folded.
They are open, have a subagent's list below, or stand after the ghost of
a task that was dropped."
  (append (hash-table-keys todo-write-view--open)
          (delq nil (mapcar #'car todo-write-view--children))
          (cl-loop for id in todo-write-view--ghosts
                   for node = (gethash id todo-write-view--nodes)
                   for next = (and node (ewoc-next todo-write-view--ewoc node))
                   when next collect (todo-write-view--row-id (ewoc-data next)))))

(defun todo-write-view--update-folds (windows)
  "Fold what is to be folded in WINDOWS, and nothing else."
  (let ((runs (and todo-write-view-thread
                   (todo-write-view--folding-p windows)
                   (todo-write-dyn--completed-runs
                    todo-write-view-thread
                    todo-write-view--least-fold todo-write-view--most-folds
                    (todo-write-view--breaks))))
        (spare todo-write-view--folds))
    (setq todo-write-view--folds nil)
    (pcase-dolist (`(,first ,last . ,count) runs)
      (let ((start (todo-write-view--start first))
            (end (todo-write-view--start last)))
        ;; A subscriber may write while the buffer is on the way to catch up.
        (when (and start end (< start end))
          (push (todo-write-view--place-fold (pop spare) start end (1- count))
                todo-write-view--folds))))
    (mapc #'delete-overlay spare)))

(defun todo-write-view--place-fold (overlay start end count)
  "Fold COUNT rows from START to END by OVERLAY, or a new one if that is nil."
  (let ((overlay (or overlay (todo-write-view--make-fold))))
    (move-overlay overlay start end)
    (unless (eql count (overlay-get overlay 'todo-write-count))
      (overlay-put overlay 'todo-write-count count)
      (overlay-put overlay 'display (todo-write-view--fold-line count)))
    overlay))

(defun todo-write-view--make-fold ()
  "Return a new overlay for what is folded, to be used again and again."
  (let ((overlay (make-overlay (point-min) (point-min))))
    (overlay-put overlay 'mouse-face 'highlight)
    (overlay-put overlay 'keymap todo-write-view-fold-map)
    (overlay-put overlay 'help-echo "RET, mouse-1: show the completed tasks")
    overlay))

(defun todo-write-view--fold-line (count)
  "Return the line that stands for COUNT completed tasks."
  (let ((line (format " %s +%d done\n" (todo-write-row-shape 'completed) count)))
    (put-text-property 1 2 'face 'todo-write-completed-shape line)
    (put-text-property 3 (1- (length line)) 'face 'todo-write-fold line)
    line))

(defun todo-write-view--fold-at (position)
  "Return the overlay that folds the text at POSITION, or nil."
  (and todo-write-view--folds
       (cl-find-if (lambda (overlay) (overlay-get overlay 'todo-write-count))
                   (overlays-at position))))

(defun todo-write-view--unseen-lines (start end)
  "Return how many lines between START and END nobody sees: of a fold, all but one."
  (cl-loop for fold in todo-write-view--folds
           when (<= start (overlay-start fold) (overlay-end fold) end)
           sum (1- (overlay-get fold 'todo-write-count))))

(provide 'todo-write-view-fold)
;;; todo-write-view-fold.el ends here
