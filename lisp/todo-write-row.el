;;; todo-write-row.el --- How a task looks in one line  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The shapes, faces, times and lines that the live buffer, its history, the
;; mode line and the chats share: a task, and the header with count and bar.
;; Nothing here knows about windows or threads.
;; Lines are inserted at point, since strings with properties allocate far more;
;; `todo-write-row--string' makes one where it is needed.
;;
;; Every state has its own shape, so that a plan reads well without colors, and
;; every shape has an ASCII fallback for terminals that cannot display it.  Text
;; from agents passes through `todo-write-row-plain' before it is shown.

;;; Code:

(require 'cl-lib)
(require 'todo-write)
(require 'subr-x)

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
  "Face of tasks that left the list before they were completed.")

(defface todo-write-removed-shape '((t :inherit error))
  "Face of the shape before tasks that left the list uncompleted.")

(defface todo-write-time '((t :inherit shadow))
  "Face of times.")

(defface todo-write-flash '((t :inherit highlight :extend t))
  "Face of rows that have just changed.")

(defface todo-write-lines-added '((t :inherit success))
  "Face of the number of lines added.")

(defface todo-write-lines-removed '((t :inherit error))
  "Face of the number of lines removed.")

(defface todo-write-failed '((t :inherit error))
  "Face of errors.")

(defface todo-write-detail '((t :inherit shadow))
  "Face of the details below an open row.")

(defface todo-write-child '((t :inherit (italic todo-write-detail)))
  "Face of the title of a subagent's list.")

(defface todo-write-word-removed '((t :inherit error :strike-through t))
  "Face of words that are no longer in a text.")

(defface todo-write-word-added '((t :inherit success :underline t))
  "Face of words that are new in a text.")

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
    (opened ?▾ "v")
    (edge ?┄ "-")
    (edit ?✎ "*")
    (quote ?“ "\"")
    (unquote ?” "\"")
    (refused ?⊘ "!")
    (git ?◆ "*")
    (ended ?■ "#")
    (resumed ?▶ ">")
    (at-least ?≥ ">=")
    (newline ?⏎ "\\n"))
  "Alist of (KIND CHARACTER ASCII-STRING).")

(defun todo-write-row--forget-shapes ()
  "Forget which shapes each terminal can display."
  (dolist (terminal (terminal-list))
    (set-terminal-parameter terminal 'todo-write-shapes nil)))

(defun todo-write-row--shape (kind)
  "Return the shape of KIND, a string that the terminal can display.
KIND is completed, in_progress, pending, paused, removed, added,
modified, moved, minus, arrow, full, rest, ellipsis, dot, child, thought,
tool or another one of `todo-write-row--shapes'."
  ;; On a graphical display, `char-displayable-p' is slower than drawing a row.
  (let ((known (terminal-parameter nil 'todo-write-shapes)))
    (or (plist-get known kind)
        (pcase-let* ((`(,char ,ascii) (alist-get kind todo-write-row--shapes))
                     (shape (if (char-displayable-p char) (char-to-string char) ascii)))
          (set-terminal-parameter nil 'todo-write-shapes `(,kind ,shape ,@known))
          shape))))

(defun todo-write-row--kind (item &optional paused)
  "Return the kind of ITEM, a symbol: its status, or paused.
Non-nil PAUSED means that the agent is stopped."
  (pcase (plist-get item :status)
    ("completed" 'completed)
    ("in_progress" (if paused 'paused 'in_progress))
    (_ 'pending)))

(defun todo-write-row--face (kind)
  "Return the face of the text of a task of KIND."
  (pcase kind
    ('completed 'todo-write-completed)
    ('in_progress 'todo-write-in-progress)
    ('paused 'todo-write-paused)
    ('removed 'todo-write-removed)
    (_ 'todo-write-pending)))

(defun todo-write-row--shape-face (kind)
  "Return the face of the shape of a task of KIND."
  (pcase kind
    ('completed 'todo-write-completed-shape)
    ('in_progress 'todo-write-in-progress-shape)
    ('removed 'todo-write-removed-shape)
    (_ (todo-write-row--face kind))))

;;; Text

(defconst todo-write-row--unseen
  (concat "[\u0000-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5"
          "\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u2d7f\u3164\ufdd0-\ufdef"
          "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001107f\U00013430-\U00013442"
          "\U00016fe4\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
          (mapconcat (lambda (plane) (let ((end (+ #xffff (* plane #x10000))))
                                       (string (1- end) end)))
                     (number-sequence 1 16) "")
          "]")
  "Characters that are invisible, look like a blank, affect others, or break lines.
They could make a text look different from what it is.  These are the
control and format characters of Unicode, its white space, what it says
to ignore by default, what is no character, and those whose form is
blank, or that only join two others: the blanks of Braille and of
hieroglyphs, a note without a head, fillers and joiners.  Not among them
are U+3000, which Chinese and Japanese texts use, and the format
characters that are drawn, such as the Arabic sign of a number.")

(defconst todo-write-row--kept
  (let ((emoji (concat "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u27bf"
                       "\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"))
        (letter (concat "[\u0620-\u065f\u066e-\u06d3\u0700-\u0dff\u1000-\u109f\u1780-\u17b3"
                        "\u17b6-\u17ff\u1820-\u18af\ua840-\ua87f\ufb50-\ufdcf\ufe70-\ufefc]")))
    (concat emoji "\ufe0f?\\(?:\u200d" emoji "\ufe0f?\\)+\\|"
            emoji "\ufe0f\\|[#*0-9]\ufe0f\u20e3\\|"
            letter "\\(?:[\u200c\u200d]" letter "\\)+"))
  "Regexp of unseen characters where they belong, with what is around them.
An emoji may have a variation selector, and joiners make one of several;
a joiner or non-joiner shapes the letters on both sides of it in scripts
whose letters join, as Arabic and those of India.")

(defconst todo-write-row--plain (concat todo-write-row--kept "\\|" todo-write-row--unseen)
  "Regexp that matches what `todo-write-row-plain' may have to escape.
That is an unseen character, or a longer text that stays.")

(defun todo-write-row--escape (char)
  "Return CHAR as an escape: U+202E is \\u202e."
  (format (if (> char #xffff) "\\U%08x" "\\u%04x") char))

(defun todo-write-row-plain (string)
  "Return STRING without properties and with escapes for unseen characters.
These are control characters, bidirectional overrides, zero-width
characters, other blanks and the like; U+202E becomes \\u202e."
  ;; Case-sensitive matching is faster.
  (let ((case-fold-search nil)
        (string (if (or (text-properties-at 0 string) (next-property-change 0 string))
                    (substring-no-properties string)
                  string)))
    (if (not (string-match-p todo-write-row--unseen string))
        string
      (replace-regexp-in-string
       todo-write-row--plain
       (lambda (match)
         (if (> (length match) 1) match (todo-write-row--escape (aref match 0))))
       string t t))))

(defun todo-write-row--editable (string)
  "Return STRING to be edited: its unseen characters are displayed as escapes.
They stay in the text, and other properties do not."
  (let ((text (substring-no-properties string)) (case-fold-search nil) (start 0))
    (while (string-match todo-write-row--plain text start)
      (setq start (match-end 0))
      (when (= start (1+ (match-beginning 0)))
        (put-text-property (1- start) start
                           'display (todo-write-row--escape (aref text (1- start))) text)))
    text))

(defun todo-write-row-plain-lines (string)
  "Return STRING as `todo-write-row-plain' does, but keep newlines and tabs."
  (replace-regexp-in-string "[^\n\t]+" #'todo-write-row-plain
                            (substring-no-properties string) t t))

(defun todo-write-row--start (string width)
  "Return STRING, or the beginning of it that surely fills WIDTH columns.
WIDTH nil means all of it.  A text may be huge, and its line is short."
  (if (or (null width) (<= (length string) (* 8 width)))
      string
    (concat (substring string 0 (* 8 width)) (todo-write-row--shape 'ellipsis))))

(defun todo-write-row-line (string &optional width)
  "Return STRING as `todo-write-row-plain' does, with single spaces.
Non-nil WIDTH truncates it to that number of columns."
  (let ((line (todo-write-row-plain
               (string-trim (replace-regexp-in-string "[ \t\n\r\f]+" " "
                                                      (todo-write-row--start string width))))))
    (if width (todo-write-row--truncate line width) line)))

(defun todo-write-row--command (command &optional width)
  "Return COMMAND as `todo-write-row-line' does, with its line breaks marked.
COMMAND may be a script, whose lines are commands of their own.  WIDTH is
as there."
  (todo-write-row-line
   (replace-regexp-in-string "[ \t\r\f]*\n[ \t\n\r\f]*"
                             (concat " " (todo-write-row--shape 'newline) " ")
                             (string-trim (todo-write-row--start command width)) t t)
   width))

(defun todo-write-row--help (text)
  "Return TEXT as a tooltip that Emacs shows literally.
Emacs would replace key descriptions in it, as in documentation."
  (propertize (substring-no-properties text) 'help-echo-inhibit-substitution t))

(defun todo-write-row--helped (text &optional help)
  "Return TEXT with the tooltip HELP, by default TEXT itself, shown literally."
  (propertize text 'help-echo (todo-write-row--help (or help text))))

(defun todo-write-row--reason (text &optional label)
  "Return TEXT as a short line after LABEL, for `todo-write-set-activity'.
If TEXT is not a string, return LABEL."
  (if (stringp text)
      (todo-write-row-line (if label (concat label ": " text) text) 60)
    label))

(defun todo-write-row--text (item kind)
  "Return the text of ITEM in a row of KIND, the active form if in progress."
  (let ((active (plist-get item :activeForm)))
    (todo-write-row-plain (if (and active (memq kind '(in_progress paused)))
                              active
                            (plist-get item :content)))))

(defsubst todo-write-row--width (string)
  "Return the width of STRING, which has no control character, in columns."
  ;; `string-width' is slow on a graphical display.
  (if (= (length string) (string-bytes string)) (length string) (string-width string)))

(defun todo-write-row--truncate (string width)
  "Return STRING truncated to WIDTH columns, ending in an ellipsis if cut."
  (if (<= (todo-write-row--width string) width)
      string
    (let ((ellipsis (todo-write-row--shape 'ellipsis)))
      (if (< width (string-width ellipsis))
          ""
        (truncate-string-to-width string width 0 nil ellipsis)))))

(defun todo-write-row--truncate-start (string width)
  "Return STRING truncated to WIDTH columns, beginning with an ellipsis if cut.
The end of a file's name tells more than its beginning."
  (let ((ellipsis (todo-write-row--shape 'ellipsis))
        (whole (todo-write-row--width string)))
    (cond ((<= whole width) string)
          ((< width (string-width ellipsis)) "")
          (t (concat ellipsis (truncate-string-to-width
                               string whole (- (+ whole (string-width ellipsis)) width)))))))

(defun todo-write-row--with-rest (string shown &optional at-start)
  "Return STRING, of which SHOWN is a truncation, so that it looks like that.
The rest stays in the text, where Isearch finds it: the ellipsis is
displayed in its place.  AT-START means that the beginning was truncated."
  (let ((kept (- (length shown) (length (todo-write-row--shape 'ellipsis))))
        (length (length string)))
    (if (or (eq string shown) (< kept 0))
        shown
      (let ((text (substring string 0))
            (from (if at-start 0 kept))
            (to (if at-start (- length kept) length)))
        (add-text-properties from to `( todo-write-ellipsis t
                                        display ,(todo-write-row--shape 'ellipsis))
                             text)
        text))))

(defun todo-write-row--seen (string)
  "Return STRING with ellipses in place of what they stand for."
  (let ((start 0) parts)
    (while (< start (length string))
      (let ((end (next-single-property-change start 'todo-write-ellipsis string (length string))))
        (push (if (get-text-property start 'todo-write-ellipsis string)
                  (get-text-property start 'display string)
                (substring string start end))
              parts)
        (setq start end)))
    (apply #'concat (nreverse parts))))

(defun todo-write-row--make-button (start end type help &rest properties)
  "Make the text from START to END a button of TYPE with HELP and PROPERTIES.
The buffer that shows the text says by TYPE what pressing it does; see
`define-button-type'."
  (apply #'make-text-button start end 'type type 'help-echo help
         ;; Emacs highlights adjacent lines together if they share the list.
         'mouse-face (list 'highlight) properties))

(defun todo-write-row--button (text type help &rest properties)
  "Return TEXT as a button, as `todo-write-row--make-button' makes it."
  (apply #'todo-write-row--make-button (copy-sequence text) nil type help properties))

(defvar todo-write-row--scale 1
  "The width of a column of the buffer's font, as a multiple of the frame's.")

(defmacro todo-write-row--string (&rest body)
  "Return what BODY inserts, as a string."
  (declare (indent 0) (debug t))
  (let ((scale (make-symbol "scale")))
    `(let ((,scale todo-write-row--scale))
       (with-temp-buffer
         (unless (eql ,scale 1)
           (setq-local todo-write-row--scale ,scale))
         ,@body
         (buffer-string)))))

(defvar todo-write-row--stops nil
  "Alist of columns and the display properties of gaps that end there.
Rows that are drawn the same have identical properties.")

(defun todo-write-row--insert-line (head text tail width &optional end)
  "Insert a line of WIDTH columns: HEAD, TEXT truncated to fit, and TAIL.
TAIL, unless empty, ends at the last column; END, a string or nil, follows.
Return the position after TEXT."
  (let* ((used (todo-write-row--width head))
         (column (max 0 (- width (todo-write-row--width tail) 1)))
         (alone (string-empty-p tail))
         (shown (todo-write-row--truncate text (max 0 (- (if alone width (1- column)) used))))
         (text (todo-write-row--with-rest text shown))
         (middle (+ (point) (length head) (length text))))
    ;; One insertion: each moves the markers of all rows, and makes an interval.
    (insert (concat head text (unless alone " ") tail end))
    (unless alone
      (let ((rest (- (point) middle))
            (stop (if (eql todo-write-row--scale 1) column
                    (* column todo-write-row--scale))))
        ;; The gap ends before the last blank, which stays in wider fonts.
        (goto-char middle)
        (insert-char ?\s (max 1 (- column used (todo-write-row--width shown))))
        ;; This aligns fonts in which some characters do not have their nominal
        ;; width, and keeps right-to-left text from moving the digits.
        (put-text-property middle (point) 'display
                           (or (alist-get stop todo-write-row--stops nil nil #'eql)
                               (setf (alist-get stop todo-write-row--stops nil nil #'eql)
                                     `(space :align-to ,stop))))
        (forward-char rest)))
    middle))

(defun todo-write-row--fit (left right width)
  "Return LEFT and RIGHT as one line of WIDTH columns, LEFT truncated to fit.
RIGHT ends at the last column; if it is empty, the line ends after LEFT."
  (todo-write-row--seen
   (todo-write-row--string (todo-write-row--insert-line "" left right width))))

(defun todo-write-row--time (milliseconds)
  "Return MILLISECONDS as m:ss, or h:mm:ss from an hour on."
  (let ((seconds (/ milliseconds 1000)))
    (cond ((= seconds 0) "0:00") ; Each task begins with it.
          ((< seconds 3600) (format "%d:%02d" (/ seconds 60) (% seconds 60)))
          (t (format "%d:%02d:%02d"
                     (/ seconds 3600) (% (/ seconds 60) 60) (% seconds 60))))))

(defun todo-write-row--clock (milliseconds &optional before)
  "Return MILLISECONDS since the epoch as time of day.
The date precedes it unless BEFORE, by default now, is on the same day."
  (let ((time (/ milliseconds 1000)))
    (format-time-string (if (equal (format-time-string "%F" time)
                                   (format-time-string "%F" (and before (/ before 1000))))
                            "%R" "%F %R")
                        time)))

(defun todo-write-row--age (time)
  "Return the age of TIME, in seconds since the epoch, as a short string."
  (let ((minutes (max 0 (floor (- (float-time) time) 60))))
    (cond ((< minutes 1) "now")
          ((< minutes 60) (format "%d min" minutes))
          ((< minutes 1440) (format "%d h" (/ minutes 60)))
          (t (format "%d d" (/ minutes 1440))))))

;;; Tasks

(defun todo-write-row--note (item items &optional summary)
  "Return the note at the end of the row of ITEM, a string, or nil.
It names the positions in ITEMS, a sequence, of the open tasks that ITEM
waits for, and its owner.  With SUMMARY, the `todo-write-summary' of its
thread, it also says if the task is the user's.  A completed task has no
note."
  (unless (equal (plist-get item :status) "completed")
    (let* ((places (and (plist-get item :blockedBy) (todo-write-row--blockers item items)))
           (owner (plist-get item :owner))
           (yours (and summary (todo-write-row--yours item summary))))
      (when (or places owner yours)
        (string-join (delq nil (list (and places
                                          (concat "after "
                                                  (mapconcat #'number-to-string places ", ")))
                                     (and owner (concat "@" (todo-write-row-line owner 20)))
                                     yours))
                     "  ")))))

(defun todo-write-row--yours (item summary)
  "Return the note that ITEM is the user's, or nil.
SUMMARY is that of its thread."
  (when (equal (plist-get item :addedBy) "user")
    (if (and (plist-get item :untold) (not (memql (plist-get summary :yours) '(nil 0))))
        "yours, not told"
      "yours")))

(defun todo-write-row--blockers (item items)
  "Return the positions in ITEMS, from 1, of the open tasks that block ITEM."
  (let ((ids (plist-get item :blockedBy)) (place 0) places)
    (seq-doseq (other items)
      (cl-incf place)
      (when (and (member (plist-get other :id) ids)
                 (not (equal (plist-get other :status) "completed")))
        (push place places)))
    (nreverse places)))

(defun todo-write-row--insert (item kind spent width &optional indent note work category)
  "Insert the line for ITEM of KIND, WIDTH columns.
SPENT is the time it has been in progress, in milliseconds; nil or less
than a second shows nothing unless the task is in progress.  INDENT is
the number of columns to leave free at the left.  NOTE, a string, and
WORK, as from `todo-write--row-work', stand before the time; see
`todo-write-row--note'.  Parts that do not fit are left out, the note
first, before the text is cut.  CATEGORY, a symbol, has the properties of
the line; it gets the face of the text."
  (let* ((head (todo-write-row--head kind indent))
         (text (todo-write-row--text item kind))
         (time (and spent (or (>= spent 1000) (memq kind '(in_progress paused)))
                    (todo-write-row--time spent)))
         (tail (todo-write-row--tail
                note work time
                (- width (todo-write-row--width head) (todo-write-row--width text) 2)))
         (start (point))
         (middle (+ start (length head)))
         (end (todo-write-row--insert-line head text tail width "\n")))
    (put-text-property start middle 'face (todo-write-row--shape-face kind))
    (unless (string-empty-p tail)
      (put-text-property end (point) 'face 'todo-write-time))
    (if category
        (progn
          (put category 'face (todo-write-row--face kind))
          (put-text-property start (point) 'category category))
      (put-text-property middle (if (string-empty-p tail) (point) end)
                         'face (todo-write-row--face kind)))
    (when work
      (todo-write-row--mark-work end))
    (when (eq kind 'removed)
      ;; A struck newline would show as a stroke behind the text.
      (put-text-property (1- (point)) (point) 'face 'todo-write-pending))))

(defvar todo-write-row--heads nil
  "Alist of shapes and the texts before a task with that shape.")

(defun todo-write-row--head (kind indent)
  "Return the text before a task of KIND, after INDENT columns or nil."
  (let* ((shape (todo-write-row--shape kind))
         (head (or (alist-get shape todo-write-row--heads nil nil #'equal)
                   (setf (alist-get shape todo-write-row--heads nil nil #'equal)
                         (concat " " shape " ")))))
    (if indent (concat (make-string indent ?\s) head) head)))

(defconst todo-write-row--more-files "and more files"
  "What is said where commands changed files in a way that is not told.")

(defun todo-write-row--tail (note work time room)
  "Return what stands at the end of a row, a string of at most ROOM columns.
It has NOTE, WORK and TIME, or as many of them as fit, the last ones, in
columns if there is room for these.  Each may be nil."
  (if (not (or note work))
      (if (and time (<= (length time) room)) time "")
    (let* ((lines (todo-write-row--lines (car work) (cadr work)))
           (more (and (eql 1 (nth 3 work))
                      (if lines (concat lines " " todo-write-row--more-files)
                        todo-write-row--more-files)))
           (parts (list note (or more lines)
                        (todo-write-row--failed (nth 2 work) (nth 4 work)) (or time "")))
           tail)
      (while (and parts (not tail))
        (setq tail (seq-find (lambda (tail) (<= (todo-write-row--width tail) room))
                             (list (todo-write-row--in-columns parts)
                                   (string-join (seq-remove (lambda (part) (member part '(nil "")))
                                                            parts)
                                                "  "))))
        (if more
            (setq more nil parts `(,note ,lines . ,(cddr parts)))
          (pop parts)))
      (or tail ""))))

(defun todo-write-row--in-columns (parts)
  "Return the last of a row's PARTS in columns: note, lines, failures and time."
  (pcase-let* ((`(,time ,failed ,lines ,note) (reverse parts)))
    (concat note (and note (or lines failed (not (equal time ""))) "  ")
            (and lines (string-pad lines (if failed (max 11 (1+ (length lines))) 11)))
            (and (or lines failed) (string-pad (or failed "") 5))
            (if (or lines failed) (format "%7s" time) time))))

(defun todo-write-row--lines (added removed)
  "Return the numbers of lines ADDED and REMOVED, as in +80 −109, or nil if none."
  (when (or (> (or added 0) 0) (> (or removed 0) 0))
    (format "+%d %s%d" added (todo-write-row--shape 'minus) removed)))

(defun todo-write-row--failed (failed refused)
  "Return how many commands FAILED and calls were REFUSED, as in ✗2 ⊘1, or nil."
  (let ((failed (and (> (or failed 0) 0)
                     (format "%s%d" (todo-write-row--shape 'removed) failed)))
        (refused (and (> (or refused 0) 0)
                      (format "%s%d" (todo-write-row--shape 'refused) refused))))
    (if (and failed refused) (concat failed " " refused) (or failed refused))))

(defun todo-write-row--mark-work (start)
  "Put faces on the lines changed and failed commands between START and point."
  (let ((minus (regexp-quote (todo-write-row--shape 'minus)))
        (end (point)))
    (save-excursion
      (goto-char start)
      (when (re-search-forward (concat " \\(\\+[0-9]+\\) \\(" minus "[0-9]+\\)") end t)
        (put-text-property (match-beginning 1) (match-end 1) 'face 'todo-write-lines-added)
        (put-text-property (match-beginning 2) (match-end 2) 'face 'todo-write-lines-removed))
      (when (re-search-forward (let ((failed (regexp-quote (todo-write-row--shape 'removed)))
                                     (refused (regexp-quote (todo-write-row--shape 'refused))))
                                 (format " \\(\\(?:%s\\|%s\\)[0-9]+\\(?: %s[0-9]+\\)?\\)[ \n]"
                                         failed refused refused))
                               end t)
        (put-text-property (match-beginning 1) (match-end 1) 'face 'todo-write-failed)))))

(defun todo-write-row--excerpt (items limit)
  "Return at most LIMIT of ITEMS, a vector, starting before the first open one."
  (let* ((count (min limit (length items)))
         (open (or (cl-position-if-not (lambda (item)
                                         (equal (plist-get item :status) "completed"))
                                       items)
                   0))
         (start (max 0 (min (1- open) (- (length items) count)))))
    (cl-subseq items start (+ start count))))

;;; Header

(defun todo-write-row--count (summary)
  "Return the number of completed and of all tasks of SUMMARY, as in 2/4.
Tasks of the user that the agent cannot be told of are counted apart:
5/5 + 1 yours."
  (or (plist-get summary :count) "0/0"))

(defun todo-write-row--progress (summary)
  "Return the state and the count of SUMMARY as a short string."
  (let ((count (todo-write-row--count summary)))
    (pcase (plist-get summary :state)
      ((or 'nil 'empty) "no tasks")
      ('done (concat (todo-write-row--shape 'completed) " done " count))
      ('paused (concat (todo-write-row--shape 'paused) " paused " count))
      (_ count))))

(defun todo-write-row--progress-face (state)
  "Return the face of the `todo-write-row--progress' of a plan in STATE."
  (pcase state
    ((or 'nil 'empty) 'todo-write-time)
    ('done 'todo-write-done)
    ('paused 'todo-write-paused)
    (_ 'todo-write-count)))

(defun todo-write-row--insert-bar (completed total width)
  "Insert a bar of WIDTH columns for COMPLETED of TOTAL tasks."
  (let* ((full (todo-write-row--shape 'full))
         (cells (/ width (string-width full)))
         (filled (if (> total 0) (/ (* completed cells) total) 0))
         (start (point)))
    (insert-char (aref full 0) filled)
    (put-text-property start (point) 'face 'todo-write-bar)
    (setq start (point))
    (insert-char (aref (todo-write-row--shape 'rest) 0) (- cells filled))
    (put-text-property start (point) 'face 'todo-write-bar-rest)))

(defun todo-write-row--insert-header (summary width &optional note work)
  "Insert the header line of WIDTH columns for SUMMARY, without a newline.
SUMMARY is the value of `todo-write-summary', or nil for no plan.  NOTE,
a string or nil, follows the title.  WORK is a list (ADDED REMOVED) of
numbers of lines, or nil.  The numbers and the bar are left out before
the title is cut."
  (let* ((total (or (plist-get summary :total) 0))
         (progress (todo-write-row--progress summary))
         (note (if (plist-get summary :unsaved)
                   (concat "not saved" (and note "; ") note)
                 note))
         (note (if note (format "(%s)" (todo-write-row-line note 60)) ""))
         (title (todo-write-row-plain (or (plist-get summary :title) "Plan")))
         (room (- width (todo-write-row--width progress) 3))
         (free (- room (todo-write-row--width title)
                  (if (equal note "") 0 (+ 2 (todo-write-row--width note)))))
         (bar (min 20 (/ width 4)))
         (bar (if (and (> total 0) (>= bar 8) (>= free (+ 2 bar))) (+ 2 bar) 0))
         (lines (and work (todo-write-row--lines (car work) (cadr work))))
         (lines (if (and lines (>= (- free bar) (+ 3 (todo-write-row--width lines))))
                    (concat "   " lines)
                  ""))
         (right (+ bar (todo-write-row--width lines)))
         (text (todo-write-row--title-and-note title note (max 0 (- room right))))
         (start (point))
         (end (todo-write-row--insert-line
               " " text progress (- width right) (and (> bar 0) "  "))))
    (put-text-property start end 'face 'todo-write-title)
    (put-text-property end (point) 'face
                       (todo-write-row--progress-face (plist-get summary :state)))
    (when (> bar 0)
      (todo-write-row--insert-bar (plist-get summary :completed) total (- bar 2)))
    (unless (string-empty-p lines)
      (setq start (point))
      (insert lines)
      (todo-write-row--mark-work start))))

(defun todo-write-row--update-header (summary drawn)
  "Turn the header line of the buffer, drawn for DRAWN, into one for SUMMARY.
Only digits and the bar can be changed in place: that is what most writes
need, and a new line is much garbage.  Return nil for any other change."
  (let ((before (or (plist-get drawn :count) ""))
        (count (or (plist-get summary :count) "")))
    (and (cl-loop for key in '(:title :state :total :yours :unsaved :refused)
                  always (equal (plist-get summary key) (plist-get drawn key)))
         (= (length before) (length count))
         (= (string-bytes (todo-write-row--shape 'full))
            (string-bytes (todo-write-row--shape 'rest)))
         (or (equal before count)
             (progn
               (goto-char (point-min))
               (end-of-line)
               ;; Nothing that follows the count looks like one.
               (when (search-backward before (point-min) t)
                 (dotimes (n (length count))
                   (subst-char-in-region (+ (point) n) (+ (point) n 1)
                                         (aref before n) (aref count n) t))
                 (forward-char (+ (length count) 2))
                 (todo-write-row--move-bar (plist-get drawn :completed)
                                           (plist-get summary :completed)
                                           (plist-get summary :total))
                 t))))))

(defun todo-write-row--move-bar (before completed total)
  "Make the bar at point, drawn for BEFORE of TOTAL tasks, one for COMPLETED."
  (let ((full (aref (todo-write-row--shape 'full) 0))
        (rest (aref (todo-write-row--shape 'rest) 0))
        (start (point)))
    (while (or (eq (char-after) full) (eq (char-after) rest))
      (forward-char))
    (let* ((cells (- (point) start))
           (was (+ start (/ (* before cells) total)))
           (end (+ start (/ (* completed cells) total))))
      (subst-char-in-region was (max was end) rest full t)
      (subst-char-in-region end (max was end) full rest t)
      (put-text-property was (max was end) 'face 'todo-write-bar)
      (put-text-property end (max was end) 'face 'todo-write-bar-rest))))

(defun todo-write-row--title-and-note (title note room)
  "Return TITLE and NOTE, both strings, in ROOM columns.
TITLE is truncated first, and dropped if it has less than 8 columns left."
  (let ((left (- room (todo-write-row--width note) 2)))
    (cond ((equal note "") (todo-write-row--truncate title room))
          ((>= left (min 8 (todo-write-row--width title)))
           (concat (todo-write-row--truncate title left) "  " note))
          (t (todo-write-row--truncate note room)))))

(provide 'todo-write-row)
;;; todo-write-row.el ends here
