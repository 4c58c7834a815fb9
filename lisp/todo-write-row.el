;;; todo-write-row.el --- How a task looks in one line  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Strings only: the shapes, faces, times and bars that the live buffer, its
;; history and the mode line have in common.  Nothing here knows of buffers,
;; windows or threads.
;;
;; Every state has a shape of its own, so that a plan reads well without
;; colours, and every shape has an ASCII stand-in for terminals that cannot
;; display it.  Text from agents passes through `todo-write-row-plain' before
;; it is shown anywhere.

;;; Code:

(require 'cl-lib)
(require 'todo-write)
(eval-when-compile (require 'subr-x))

(defgroup todo-write-faces nil
  "Faces of plans."
  :group 'todo-write
  :group 'faces)

(defface todo-write-title '((t :inherit bold))
  "Face of a plan's title.")

(defface todo-write-count '((t :inherit bold))
  "Face of the number of completed tasks.")

(defface todo-write-bar '((t :inherit success))
  "Face of the completed part of the progress bar.")

(defface todo-write-bar-rest '((t :inherit shadow))
  "Face of the open part of the progress bar.")

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
  "Face of tasks that were dropped before they were completed.")

(defface todo-write-removed-shape '((t :inherit error))
  "Face of the shape before dropped tasks.")

(defface todo-write-time '((t :inherit shadow))
  "Face of times.")

(defface todo-write-detail '((t :inherit shadow))
  "Face of the details below an open row.")

(defface todo-write-child '((t :inherit (italic todo-write-detail)))
  "Face of the title of a subagent's list.")

;;; Shapes

(defconst todo-write-row--shapes
  '((completed ?✓ "x")
    (in_progress ?● ">")
    (pending ?○ "o")
    (paused ?‖ "=")
    (removed ?✗ "-")
    (added ?+ "+")
    (modified ?~ "~")
    (moved ?↕ "^")
    (minus ?− "-")
    (arrow ?→ "->")
    (full ?━ "#")
    (rest ?─ "-")
    (ellipsis ?… "...")
    (dot ?· "-")
    (child ?↳ ">")
    (thought ?∴ "~")
    (tool ?▸ ">")
    (result ?↳ ">"))
  "Alist of (KIND CHARACTER ASCII-STRING).")

(defvar todo-write-row--displayable (make-hash-table :test #'equal)
  "Which shapes a terminal can display; key (TERMINAL . KIND).
Asking a graphical display is far slower than printing a row.")

(defun todo-write-row-forget-shapes ()
  "Ask the terminals anew which shapes they can display."
  (clrhash todo-write-row--displayable))

(defun todo-write-row-shape (kind)
  "Return the string that stands for KIND, which the terminal can display.
KIND is completed, in_progress, pending, paused, removed, added,
modified, moved, minus, arrow, full, rest, ellipsis, dot, child, thought,
tool or result."
  (let ((key (cons (frame-terminal) kind)))
    (or (gethash key todo-write-row--displayable)
        (pcase-let ((`(,char ,ascii) (alist-get kind todo-write-row--shapes)))
          (puthash key (if (char-displayable-p char) (char-to-string char) ascii)
                   todo-write-row--displayable)))))

(defun todo-write-row-kind (item &optional paused)
  "Return the kind of ITEM, a symbol: its status, or paused.
PAUSED non-nil means that the agent is stopped."
  (pcase (plist-get item :status)
    ("completed" 'completed)
    ("in_progress" (if paused 'paused 'in_progress))
    (_ 'pending)))

(defun todo-write-row-face (kind)
  "Return the face of the text of a task of KIND."
  (pcase kind
    ('completed 'todo-write-completed)
    ('in_progress 'todo-write-in-progress)
    ('paused 'todo-write-paused)
    ('removed 'todo-write-removed)
    (_ 'todo-write-pending)))

(defun todo-write-row-shape-face (kind)
  "Return the face of the shape of a task of KIND."
  (pcase kind
    ('completed 'todo-write-completed-shape)
    ('in_progress 'todo-write-in-progress-shape)
    ('removed 'todo-write-removed-shape)
    (_ (todo-write-row-face kind))))

;;; Text

(defconst todo-write-row--unseen
  (concat "[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e"
          "\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]")
  "Characters that have no width, act on others, or break lines.
A plan that says one thing and shows another must not exist.")

(defun todo-write-row-plain (string)
  "Return STRING without properties, unseen characters shown as escapes.
These are control characters, bidirectional overrides, zero-width
characters and the like; U+202E reads \\u202e."
  (if (string-match-p todo-write-row--unseen string)
      (replace-regexp-in-string
       todo-write-row--unseen
       (lambda (match)
         (let ((char (aref match 0)))
           (format (if (> char #xffff) "\\U%08x" "\\u%04x") char)))
       (substring-no-properties string) t t)
    (substring-no-properties string)))

(defun todo-write-row-text (item kind)
  "Return the text for ITEM in a row of KIND.
The task in progress shows what is being done, not what is to do."
  (let ((active (plist-get item :activeForm)))
    (todo-write-row-plain (if (and active (memq kind '(in_progress paused)))
                              active
                            (plist-get item :content)))))

(defun todo-write-row-truncate (string width)
  "Return STRING cut to WIDTH columns, with an ellipsis if anything is cut."
  (if (<= (string-width string) width)
      string
    (truncate-string-to-width string width 0 nil (todo-write-row-shape 'ellipsis))))

(defun todo-write-row-fit (left right width)
  "Return LEFT and RIGHT as one line of WIDTH columns, LEFT cut as needed.
RIGHT ends at the last column; without it the line ends after LEFT."
  (if (string-empty-p right)
      (todo-write-row-truncate left width)
    (let* ((column (max 0 (- width (string-width right))))
           (left (todo-write-row-truncate left (max 0 (- column 2))))
           (gap (make-string (max 1 (- column (string-width left))) ?\s)))
      ;; The spaces are right where all characters have their nominal width;
      ;; the display property is right also where fonts are wider, and keeps
      ;; right-to-left text from pulling the digits to its side.
      (put-text-property (min 1 (1- (length gap))) (length gap)
                         'display `(space :align-to ,column) gap)
      (concat left gap right))))

(defun todo-write-row-time (milliseconds)
  "Return MILLISECONDS as m:ss, or h:mm:ss from an hour on."
  (let ((seconds (/ milliseconds 1000)))
    (if (< seconds 3600)
        (format "%d:%02d" (/ seconds 60) (% seconds 60))
      (format "%d:%02d:%02d" (/ seconds 3600) (% (/ seconds 60) 60) (% seconds 60)))))

(defun todo-write-row-bar (completed total width)
  "Return a bar of WIDTH columns for COMPLETED of TOTAL tasks."
  (let ((filled (if (> total 0) (/ (* completed width) total) 0)))
    (concat (propertize (todo-write-row--repeat 'full filled) 'face 'todo-write-bar)
            (propertize (todo-write-row--repeat 'rest (- width filled))
                        'face 'todo-write-bar-rest))))

(defun todo-write-row--repeat (kind count)
  "Return the shape of KIND as often as fits COUNT columns."
  (let ((shape (todo-write-row-shape kind)))
    (mapconcat #'identity (make-list (/ count (string-width shape)) shape) "")))

;;; Lines

(defun todo-write-row-line (item kind spent width &optional indent)
  "Return the line for ITEM of KIND, WIDTH columns, without a newline.
SPENT is the time it has been in progress, in milliseconds; nil or less
than a second shows nothing unless the task is in progress.  INDENT is
the number of columns to leave free at the left."
  (let* ((text (todo-write-row-text item kind))
         (time (if (and spent (or (>= spent 1000) (memq kind '(in_progress paused))))
                   (propertize (todo-write-row-time spent) 'face 'todo-write-time)
                 ""))
         (line (todo-write-row-fit
                (concat (make-string (+ (or indent 0) (if (eq kind 'pending) 3 1)) ?\s)
                        (propertize (todo-write-row-shape kind)
                                    'face (todo-write-row-shape-face kind))
                        " "
                        (propertize text 'face (todo-write-row-face kind)))
                time width)))
    (add-text-properties 0 (length line)
                         `(help-echo ,text help-echo-inhibit-substitution t)
                         line)
    line))

(defun todo-write-row-header (summary width)
  "Return the header line of WIDTH columns for SUMMARY, without a newline.
SUMMARY is what `todo-write-summary' returns, or nil for no plan."
  (let* ((state (or (plist-get summary :state) 'empty))
         (title (todo-write-row-plain (or (plist-get summary :title) "Plan")))
         (reason (and (eq state 'paused) (plist-get summary :reason)))
         (total (or (plist-get summary :total) 0))
         (completed (or (plist-get summary :completed) 0))
         (bar (min 20 (/ width 4))))
    (todo-write-row-fit
     (concat " " (propertize title 'face 'todo-write-title)
             (and reason (propertize (format "  (%s)" (todo-write-row-plain reason))
                                     'face 'todo-write-paused)))
     (concat (if summary (todo-write-row-progress summary) (todo-write-row--state state))
             (and (> total 0) (>= bar 8)
                  (concat "  " (todo-write-row-bar completed total bar))))
     width)))

(defun todo-write-row-progress (summary)
  "Return the state and the count of SUMMARY in a few columns."
  (let ((state (plist-get summary :state)))
    (concat (todo-write-row--state state)
            (unless (eq state 'empty)
              (propertize (format "%d/%d" (plist-get summary :completed)
                                  (plist-get summary :total))
                          'face (if (eq state 'done) 'todo-write-done 'todo-write-count))))))

(defun todo-write-row-excerpt (items limit)
  "Return at most LIMIT of ITEMS, a vector, from the last completed on."
  (let* ((count (min limit (length items)))
         (open (or (cl-position-if-not (lambda (item)
                                         (equal (plist-get item :status) "completed"))
                                       items)
                   0))
         (start (max 0 (min (1- open) (- (length items) count)))))
    (cl-subseq items start (+ start count))))

(defun todo-write-row--state (state)
  "Return the words for STATE that stand before the count."
  (pcase state
    ('done (propertize (concat (todo-write-row-shape 'completed) " done ")
                       'face 'todo-write-done))
    ('paused (propertize (concat (todo-write-row-shape 'paused) " paused ")
                         'face 'todo-write-paused))
    ('empty (propertize "no tasks" 'face 'todo-write-time))
    (_ "")))

(provide 'todo-write-row)
;;; todo-write-row.el ends here
