;;; todo-write-text.el --- Make texts of agents fit to be shown  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Text from agents passes through `todo-write-text-plain' before it is shown: nothing in
;; it is invisible, or changes how other text looks.  Here are also the shapes, which have
;; an ASCII fallback for terminals that cannot display them, widths, times and ages.
;; Nothing here knows about plans.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

;;; Shapes

(defconst todo-write-text--shapes
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
    (at-least ?≥ ">=")
    (newline ?⏎ "\\n"))
  "Alist of (KIND CHARACTER ASCII-STRING).")

(defun todo-write-text-forget-shapes ()
  "Forget which shapes each terminal can display."
  (dolist (terminal (terminal-list))
    (set-terminal-parameter terminal 'todo-write-shapes nil)))

(defun todo-write-text-shape (kind)
  "Return the shape of KIND, a string that the terminal can display.
KIND is one of `todo-write-text--shapes'."
  ;; On a graphical display, `char-displayable-p' is slower than drawing a row.
  (let ((known (terminal-parameter nil 'todo-write-shapes)))
    (or (plist-get known kind)
        (pcase-let* ((`(,char ,ascii) (alist-get kind todo-write-text--shapes))
                     (shape (if (char-displayable-p char) (char-to-string char) ascii)))
          (set-terminal-parameter nil 'todo-write-shapes `(,kind ,shape ,@known))
          shape))))

;;; Text

(defconst todo-write-text-unseen
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

(defconst todo-write-text-kept
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

(defconst todo-write-text--plain (concat todo-write-text-kept "\\|" todo-write-text-unseen)
  "Regexp of what `todo-write-text-plain' escapes, or of a longer text that stays.")

(defun todo-write-text-escape (char)
  "Return CHAR as an escape: U+202E is \\u202e."
  (format (if (> char #xffff) "\\U%08x" "\\u%04x") char))

(defun todo-write-text-plain (string)
  "Return STRING without properties and with escapes for unseen characters.
These are control characters, bidirectional overrides, zero-width
characters, other blanks and the like; U+202E becomes \\u202e."
  ;; Case-sensitive matching is faster.
  (let ((case-fold-search nil)
        (string (substring-no-properties string)))
    (if (not (string-match-p todo-write-text-unseen string))
        string
      (replace-regexp-in-string
       todo-write-text--plain
       (lambda (match)
         (if (> (length match) 1) match (todo-write-text-escape (aref match 0))))
       string t t))))

(defun todo-write-text-editable (string)
  "Return STRING to be edited: its unseen characters are displayed as escapes.
They stay in the text, and other properties do not."
  (let ((text (substring-no-properties string)) (case-fold-search nil) (start 0))
    (while (string-match todo-write-text--plain text start)
      (setq start (match-end 0))
      (when (= start (1+ (match-beginning 0)))
        (put-text-property (1- start) start
                           'display (todo-write-text-escape (aref text (1- start))) text)))
    text))

(defun todo-write-text-of-item (item kind)
  "Return the text of ITEM in a row of KIND, the active form if in progress."
  (let ((active (plist-get item :activeForm)))
    (todo-write-text-plain (if (and active (memq kind '(in_progress paused)))
                               active
                             (plist-get item :content)))))

(defun todo-write-text-plain-lines (string)
  "Return STRING as `todo-write-text-plain' does, but keep newlines and tabs."
  (replace-regexp-in-string "[^\n\t]+" #'todo-write-text-plain
                            (substring-no-properties string) t t))

(defun todo-write-text-trim-end (string &optional characters)
  "Return STRING without CHARACTERS, a list, at its end; by default blanks.
`string-trim-right' takes the square of the time for a run within STRING."
  (let ((characters (or characters '(?\s ?\t ?\n ?\r)))
        (end (length string)))
    (while (and (> end 0) (memq (aref string (1- end)) characters))
      (setq end (1- end)))
    (substring string 0 end)))

(defun todo-write-text-trim (string)
  "Return STRING without blanks at its ends, as fast as it is long."
  (string-trim-left (todo-write-text-trim-end string)))

(defun todo-write-text--start (string width)
  "Return STRING, or the beginning of it that surely fills WIDTH columns.
WIDTH nil means all of it.  A text may be huge, and its line is short."
  (if (or (null width) (<= (length string) (* 8 width)))
      string
    (concat (substring string 0 (* 8 width)) (todo-write-text-shape 'ellipsis))))

(defun todo-write-text-line (string &optional width)
  "Return STRING as `todo-write-text-plain' does, with single spaces.
Non-nil WIDTH truncates it to that number of columns."
  (let ((line (todo-write-text-plain
               (string-trim (replace-regexp-in-string "[ \t\n\r\f]+" " "
                                                      (todo-write-text--start string width))))))
    (if width (todo-write-text-truncate line width) line)))

(defun todo-write-text-command (command &optional width)
  "Return COMMAND as `todo-write-text-line' does, with its line breaks marked.
COMMAND may be a script, whose lines are commands of their own.  WIDTH is
as there."
  (todo-write-text-line
   (replace-regexp-in-string " ?\n[ \n]*"
                             (concat " " (todo-write-text-shape 'newline) " ")
                             ;; A run of blanks is one for the next search.
                             (replace-regexp-in-string
                              "[ \t\r\f]+" " "
                              (todo-write-text-trim (todo-write-text--start command width)) t t)
                             t t)
   width))

(defun todo-write-text-help (text)
  "Return TEXT as a tooltip that Emacs shows literally.
Emacs would replace key descriptions in it, as in documentation."
  (propertize (substring-no-properties text) 'help-echo-inhibit-substitution t))

(defun todo-write-text-helped (text &optional help)
  "Return TEXT with the tooltip HELP, by default TEXT itself, shown literally."
  (propertize text 'help-echo (todo-write-text-help (or help text))))

(defun todo-write-text-reason (text &optional label)
  "Return TEXT as a short line after LABEL, for `todo-write-set-activity'.
If TEXT is not a string, return LABEL."
  (if (stringp text)
      (todo-write-text-line (if label (concat label ": " text) text) 60)
    label))

(defsubst todo-write-text-width (string)
  "Return the width of STRING, which has no control character, in columns."
  ;; `string-width' is slow on a graphical display.
  (if (= (length string) (string-bytes string)) (length string) (string-width string)))

(defun todo-write-text-truncate (string width &optional start)
  "Return STRING truncated to WIDTH columns, ending in an ellipsis if cut.
START non-nil means to cut the beginning instead: the end of a file's name
tells more than that."
  (let ((ellipsis (todo-write-text-shape 'ellipsis))
        (whole (todo-write-text-width string)))
    (cond ((<= whole width) string)
          ((< width (string-width ellipsis)) "")
          (start (concat ellipsis (truncate-string-to-width
                                   string whole (- (+ whole (string-width ellipsis)) width))))
          (t (truncate-string-to-width
              string width 0 nil
              (apply #'propertize ellipsis (text-properties-at (1- (length string)) string)))))))

(defun todo-write-text-unmark (line)
  "Return LINE without Markdown's marks of bold text and links."
  (replace-regexp-in-string "\\*\\*\\([^*\n]+\\)\\*\\*\\|\\[\\([^][\n]+\\)](https?://[^()\n ]+)"
                            (lambda (match) (or (match-string 1 match) (match-string 2 match)))
                            line t t))

(defun todo-write-text-duration (milliseconds)
  "Return MILLISECONDS as seconds, or as `todo-write-text-time' from a minute on."
  (if (< milliseconds 60000)
      (format "%d s" (/ milliseconds 1000))
    (todo-write-text-time milliseconds)))

;;; Markdown

(defun todo-write-text-markdown (text)
  "Return TEXT, one plain line, so that Markdown shows its characters.
Addresses of the web stay as they are."
  (replace-regexp-in-string
   ;; A backslash matters only before punctuation and at the end.
   (concat "\\<https?://[^][ <>`\\]+\\|\\\\+\\(?:[!-/:-@[-`{-~]\\|\\'\\)\\|[][`*_~$]"
           "\\|<[[:alpha:]/!?]\\|&[#[:alnum:]]+;")
   (lambda (match)
     (if (string-prefix-p "http" match)
         match
       (mapconcat (lambda (char)
                    (pcase char
                      ;; Not every program that shows Markdown lets one escape these.
                      (?< "&lt;") (?& "&amp;")
                      ((or ?\\ ?\[ ?\] ?` ?* ?_ ?~ ?$) (string ?\\ char))
                      (_ (string char))))
                  match "")))
   text t t))

(defun todo-write-text-markdown-code (text)
  "Return TEXT, one plain line, as code in Markdown.
The fence is longer than any run of backquotes in TEXT."
  (let ((fence "`"))
    (while (string-search fence text)
      (setq fence (concat fence "`")))
    (if (string-search "`" text)
        (concat fence " " text " " fence)
      (concat fence text fence))))

;;; Times

(defun todo-write-text-time (milliseconds)
  "Return MILLISECONDS as m:ss, or h:mm:ss from an hour on."
  (let ((seconds (/ milliseconds 1000)))
    (cond ((= seconds 0) "0:00") ; Each task begins with it.
          ((< seconds 3600) (format "%d:%02d" (/ seconds 60) (% seconds 60)))
          (t (format "%d:%02d:%02d"
                     (/ seconds 3600) (% (/ seconds 60) 60) (% seconds 60))))))

(defun todo-write-text-clock (milliseconds &optional before)
  "Return MILLISECONDS since the epoch as time of day.
The date precedes it unless BEFORE, by default now, is on the same day."
  (let ((time (/ milliseconds 1000)))
    (format-time-string (if (equal (format-time-string "%F" time)
                                   (format-time-string "%F" (and before (/ before 1000))))
                            "%R" "%F %R")
                        time)))

(defun todo-write-text-age (time)
  "Return the age of TIME, in seconds since the epoch, as a short string."
  (let ((minutes (max 0 (floor (- (float-time) time) 60))))
    (cond ((< minutes 1) "now")
          ((< minutes 60) (format "%d min" minutes))
          ((< minutes 1440) (format "%d h" (/ minutes 60)))
          (t (format "%d d" (/ minutes 1440))))))

(defun todo-write-text-isolate (text)
  "Return TEXT so that it does not reorder what is beside it on the screen.
A text with letters from right to left would take in the numbers."
  (if (string-match-p "\\cR" text)
      ;; First strong isolate, and pop directional isolate.
      (concat "\u2068" text "\u2069")
    text))

;;; Lines

(defun todo-write-text-dotted (&rest parts)
  "Return PARTS, strings or nil, as one text with dots between them."
  (string-join (delq nil parts) (format " %s " (todo-write-text-shape 'dot))))

(defun todo-write-text-columns (rows &optional right)
  "Return ROWS, lists of strings, with blanks that make columns of their cells.
Columns without a text are left out.  RIGHT non-nil aligns texts at the right."
  (let ((widths (apply #'cl-mapcar
                       (lambda (&rest cells) (apply #'max (mapcar #'todo-write-text-width cells)))
                       (or rows '(nil)))))
    (mapcar (lambda (row)
              (cl-loop for cell in row
                       for width in widths
                       for blanks = (make-string (- width (todo-write-text-width cell)) ?\s)
                       when (> width 0)
                       collect (if right (concat blanks cell) (concat cell blanks))))
            rows)))

;;; Numbers

(defun todo-write-text-count (number noun &optional plural)
  "Return NUMBER and NOUN, unless it is one in the plural.
PLURAL is that if it is not NOUN with an s."
  (format "%d %s" number (cond ((= number 1) noun) (plural) (t (concat noun "s")))))

(defun todo-write-text-number (number)
  "Return NUMBER in at most four characters, such as 345k."
  (cond ((< number 1000) (format "%d" number))
        ((< number 9950) (format "%.1fk" (/ number 1000.0)))
        ((< number 999500) (format "%dk" (round number 1000)))
        ((< number 9950000) (format "%.1fM" (/ number 1000000.0)))
        (t (format "%dM" (round number 1000000)))))

(provide 'todo-write-text)
;;; todo-write-text.el ends here
