;;; todo-write-row.el --- How a task looks in one line  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The shapes, faces, times and lines that the live buffer, its history and the
;; mode line have in common.  Nothing here knows of windows or threads.  Lines
;; are inserted at point piece by piece, since strings with properties would be
;; garbage as soon as they were; `todo-write-row-string' is for who needs one.
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

(defface todo-write-flash '((t :inherit highlight :extend t))
  "Face of rows that have just changed.")

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

(defun todo-write-row-forget-shapes ()
  "Ask the terminals anew which shapes they can display."
  (dolist (terminal (terminal-list))
    (set-terminal-parameter terminal 'todo-write-shapes nil)
    (set-terminal-parameter terminal 'todo-write-leads nil)))

(defun todo-write-row-shape (kind)
  "Return the string that stands for KIND, which the terminal can display.
KIND is completed, in_progress, pending, paused, removed, added,
modified, moved, minus, arrow, full, rest, ellipsis, dot, child, thought,
tool or result."
  ;; Asking a graphical display is far slower than printing a row.
  (let ((known (terminal-parameter nil 'todo-write-shapes)))
    (or (plist-get known kind)
        (pcase-let* ((`(,char ,ascii) (alist-get kind todo-write-row--shapes))
                     (shape (if (char-displayable-p char) (char-to-string char) ascii)))
          (set-terminal-parameter nil 'todo-write-shapes `(,kind ,shape ,@known))
          shape))))

(defun todo-write-row--lead (kind)
  "Return what stands from the margin to the text of a task of KIND."
  (let ((known (terminal-parameter nil 'todo-write-leads)))
    (or (plist-get known kind)
        (let ((lead (concat (and (eq kind 'pending) "  ") (todo-write-row-shape kind) " ")))
          (set-terminal-parameter nil 'todo-write-leads `(,kind ,lead ,@known))
          lead))))

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
  (concat "[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e"
          "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
          "\ufffe\uffff\U000e0000-\U000e007f]")
  "Characters that show nothing, act on others, or break lines.
U+FFFE and U+FFFF must not be in an SVG file, either.
A plan that says one thing and shows another must not exist.")

(defun todo-write-row-plain (string)
  "Return STRING without properties, unseen characters shown as escapes.
These are control characters, bidirectional overrides, zero-width
characters and the like; U+202E reads \\u202e."
  (todo-write-row--escape
   (if (or (text-properties-at 0 string) (next-property-change 0 string))
       (substring-no-properties string)
     string)))

(defun todo-write-row--escape (string)
  "Return STRING, which has no properties, as `todo-write-row-plain' does."
  ;; Told apart by case, characters need no translation, which takes as long again.
  (let ((case-fold-search nil))
    (if (not (string-match-p todo-write-row--unseen string))
        string
      (replace-regexp-in-string
       todo-write-row--unseen
       (lambda (match)
         (let ((char (aref match 0)))
           (format (if (> char #xffff) "\\U%08x" "\\u%04x") char)))
       string t t))))

(defun todo-write-row-plain-lines (string)
  "Return STRING as `todo-write-row-plain' does, but with its newlines and tabs."
  (replace-regexp-in-string "[^\n\t]+" #'todo-write-row-plain
                            (substring-no-properties string) t t))

(defun todo-write-row-line (string &optional width)
  "Return STRING as `todo-write-row-plain' does, in one line.
White space becomes single spaces.  The line is cut to WIDTH columns, if
that is given."
  (let ((line (todo-write-row-plain
               (string-trim (replace-regexp-in-string "[ \t\n\r\f]+" " " string)))))
    (if width (todo-write-row-truncate line width) line)))

(defun todo-write-row-text (item kind)
  "Return the text for ITEM in a row of KIND.
The task in progress shows what is being done, not what is to do."
  (let ((active (plist-get item :activeForm)))
    ;; The store's strings have no properties.
    (todo-write-row--escape (if (and active (memq kind '(in_progress paused)))
                                active
                              (plist-get item :content)))))

(defsubst todo-write-row--ascii-p (string)
  "Return non-nil if STRING is all ASCII, as most texts are."
  (= (length string) (string-bytes string)))

(defsubst todo-write-row-width (string)
  "Return the columns of STRING, which has no control character."
  ;; `string-width' takes longer than printing the string.
  (if (todo-write-row--ascii-p string) (length string) (string-width string)))

(defun todo-write-row-truncate (string width)
  "Return STRING cut to WIDTH columns, with an ellipsis if anything is cut."
  (if (<= (todo-write-row-width string) width)
      string
    (let* ((ellipsis (todo-write-row-shape 'ellipsis))
           (rest (- width (string-width ellipsis))))
      (cond ((< rest 0) "")
            ((todo-write-row--ascii-p string)
             (concat (substring string 0 rest) ellipsis))
            (t (truncate-string-to-width string width 0 nil ellipsis))))))

(defmacro todo-write-row-string (&rest body)
  "Return what BODY inserts, as a string."
  (declare (indent 0) (debug t))
  `(with-temp-buffer ,@body (buffer-string)))

(defvar todo-write-row--stops nil
  "Alist of columns and the display properties of blanks that end there.")

(defun todo-write-row--insert-stop (used column)
  "Insert blanks up to COLUMN of a line of which USED columns are filled."
  (let ((start (point)))
    (insert-char ?\s (max 1 (- column used)))
    (todo-write-row--align start (point) column)))

(defun todo-write-row--align (start end column)
  "Let the blanks from START to END end at COLUMN.
They are right where all characters have their nominal width; this is
right also where fonts are wider, and keeps right-to-left text from
pulling the digits to its side."
  (put-text-property start end 'display
                     (or (alist-get column todo-write-row--stops)
                         (setf (alist-get column todo-write-row--stops)
                               `(space :align-to ,column)))))

(defun todo-write-row--insert (string face)
  "Insert STRING in FACE."
  (let ((start (point)))
    (insert string)
    (put-text-property start (point) 'face face)))

(defvar todo-write-row-flashing nil
  "Non-nil while a line is inserted or replaced that has just changed.")

(defsubst todo-write-row-put-face (start end face)
  "Put FACE on the text from START to END, part of a line that may flash."
  (put-text-property start end 'face
                     (if todo-write-row-flashing
                         ;; One list for all text, or each stretch would stand alone.
                         (or (get face 'todo-write-flash)
                             (put face 'todo-write-flash `(todo-write-flash ,face)))
                       face)))

(defun todo-write-row-fit (left right width)
  "Return LEFT and RIGHT as one line of WIDTH columns, LEFT cut as needed.
RIGHT ends at the last column; without it the line ends after LEFT."
  (if (string-empty-p right)
      (todo-write-row-truncate left width)
    (let* ((column (max 0 (- width (string-width right) 1)))
           (left (todo-write-row-truncate left (max 0 (1- column)))))
      (todo-write-row-string
        (insert left)
        (todo-write-row--insert-stop (string-width left) column)
        ;; A font that is wider than its columns must not close the gap.
        (insert " " right)))))

(defun todo-write-row-time (milliseconds)
  "Return MILLISECONDS as m:ss, or h:mm:ss from an hour on."
  (let ((seconds (/ milliseconds 1000)))
    (cond ((= seconds 0) "0:00")        ; which every task begins with
          ((< seconds 3600) (format "%d:%02d" (/ seconds 60) (% seconds 60)))
          (t (format "%d:%02d:%02d"
                     (/ seconds 3600) (% (/ seconds 60) 60) (% seconds 60))))))

(defun todo-write-row-age (time)
  "Return how long ago TIME, in seconds since the epoch, was, in a few columns."
  (let ((minutes (max 0 (floor (- (float-time) time) 60))))
    (cond ((< minutes 1) "now")
          ((< minutes 60) (format "%d min" minutes))
          ((< minutes 1440) (format "%d h" (/ minutes 60)))
          (t (format "%d d" (/ minutes 1440))))))

;;; Lines

;; Emacs copies the properties of text wherever it cuts a stretch in two, and
;; makes a list of those on both sides where text is inserted between two
;; stretches.  So a line's newline belongs to the stretch before it, and what
;; goes before the newline goes into that.

(defsubst todo-write-row--to-line-end ()
  "Move to the newline of this line, where fields mean nothing."
  (forward-line)
  (backward-char))

(defun todo-write-row-insert (item kind spent width &optional indent)
  "Insert the line for ITEM of KIND, WIDTH columns, without a newline.
SPENT is the time it has been in progress, in milliseconds; nil or less
than a second shows nothing unless the task is in progress.  INDENT is
the number of columns to leave free at the left."
  (let* ((start (point))
         (margin (1+ (or indent 0)))
         (lead (todo-write-row--lead kind))
         (left (+ margin (string-width lead)))
         (time (todo-write-row--shown-time kind spent))
         (text (todo-write-row--cut-text item kind left time width)))
    (insert-char ?\s margin)
    (insert-and-inherit lead text)
    (let ((middle (- (point) (length text))))
      (todo-write-row-put-face middle (point) (todo-write-row-face kind))
      (todo-write-row-put-face start middle (todo-write-row-shape-face kind)))
    (when time
      (todo-write-row--insert-time time (+ left (todo-write-row-width text)) width 0))))

(defun todo-write-row-replace (item kind spent width)
  "Make the line at point one for ITEM of KIND.
The line is one that `todo-write-row-insert' has inserted, without an
indent; SPENT and WIDTH are as there.  Its first character and its
newline stay, and with them what points to the start of this line or the
next."
  (let* ((start (point))
         (lead (todo-write-row--lead kind))
         (middle (+ start 1 (length lead)))
         (left (1+ (string-width lead)))
         (time (todo-write-row--shown-time kind spent))
         (text (todo-write-row--cut-text item kind left time width)))
    ;; Each part goes into the stretch of its kind, what was there goes at once.
    (forward-char)
    (unless (todo-write-row--overwrite-lead lead)
      (insert-and-inherit lead))
    (todo-write-row--to-line-end)
    (insert-and-inherit text)
    (delete-region middle (- (point) (length text)))
    (todo-write-row-put-face start middle (todo-write-row-shape-face kind))
    ;; A face may extend to the edge of the window, so the newline has it too.
    (todo-write-row-put-face middle (1+ (point)) (todo-write-row-face kind))
    (when time
      (todo-write-row--insert-time time (+ left (todo-write-row-width text)) width 1))))

(defun todo-write-row--overwrite-lead (lead)
  "Write LEAD over what is at point, and return non-nil, if it has the same size.
An insertion moves the markers of all rows."
  (let ((old (char-after))
        (new (aref lead 0)))
    (cond ((eq old new))
          ((or (eq old ?\s) (eq new ?\s)) nil)
          ((= (- (position-bytes (1+ (point))) (position-bytes (point)))
              (1- (string-bytes lead)))
           (subst-char-in-region (point) (1+ (point)) old new t)
           t))))

(defun todo-write-row--shown-time (kind spent)
  "Return the time SPENT as a task of KIND shows it, or nil."
  (and spent (or (>= spent 1000) (memq kind '(in_progress paused)))
       (todo-write-row-time spent)))

(defun todo-write-row--cut-text (item kind left time width)
  "Return the text of ITEM of KIND, cut to what is free of WIDTH columns.
LEFT columns stand before it, and TIME after it unless that is nil."
  (todo-write-row-truncate (todo-write-row-text item kind)
                           (max 0 (- width left (if time (+ (length time) 2) 0)))))

(defun todo-write-row--insert-time (time used width after)
  "Insert TIME at the end of a line of WIDTH columns, of which USED are filled.
AFTER characters behind point get its face, too."
  (let* ((start (point))
         (column (- width (length time) 1))
         (blanks (max 0 (- column used))))
    (insert-char ?\s (1+ blanks) t)
    (insert-and-inherit time)
    (todo-write-row-put-face start (+ (point) after) 'todo-write-time)
    (todo-write-row--align start (+ start blanks) column)))

(defun todo-write-row-excerpt (items limit)
  "Return at most LIMIT of ITEMS, a vector, from the last completed on."
  (let* ((count (min limit (length items)))
         (open (or (cl-position-if-not (lambda (item)
                                         (equal (plist-get item :status) "completed"))
                                       items)
                   0))
         (start (max 0 (min (1- open) (- (length items) count)))))
    (cl-subseq items start (+ start count))))

(provide 'todo-write-row)
;;; todo-write-row.el ends here
