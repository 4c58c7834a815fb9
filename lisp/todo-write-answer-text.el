;;; todo-write-answer-text.el --- Show a text so that nothing is hidden  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The user decides by what is on the screen, and the text comes from an agent.  So
;; invisible characters are escaped, runs of blanks, of empty lines and of the same
;; invisible character are counted, and long lines are broken with a mark.  Marks have
;; a face that the text cannot have, and each line of the text has a bar before it.
;; Words that are written from right to left do not change the order of a command.

;;; Code:

(require 'todo-write-text)

(defface todo-write-answer-mark '((t :inherit (escape-glyph warning)))
  "Face of what is inserted into a text to show what it hides."
  :group 'todo-write-faces)

(defconst todo-write-answer-text--unseen
  (string-replace "\u0000-\u001f" "\u0000-\b\v-\u001f" todo-write-text-unseen)
  "Regexp of invisible characters but line feeds and tabs.")

(defconst todo-write-answer-text--hiding
  (format "[ \t]\\{41\\}\\|\u3000\\|%s\\|%s" todo-write-text-kept todo-write-answer-text--unseen)
  "Regexp of long runs of blanks and of invisible characters.
It also matches what keeps these, and only the beginning of a run.")

(defun todo-write-answer-text (text format &optional face)
  "Return TEXT for display in FORMAT, a string with properties.
FORMAT is as in `todo-write-request', or `prose' for what people say.
Nothing in TEXT is hidden.  FACE, if non-nil, is that of all but marks."
  (with-temp-buffer
    (let ((case-fold-search nil)
          (inhibit-modification-hooks t))
      (insert (todo-write-text-trim-end (substring-no-properties text) '(?\n)))
      (todo-write-answer-text--print-if-dense)
      (todo-write-answer-text--count-empty-lines)
      (todo-write-answer-text--escape)
      ;; Emacs displays long lines slowly.
      (goto-char (point-min))
      (while (re-search-forward "^[^\n]\\{2000\\}" nil t)
        (unless (eolp)
          (todo-write-answer-text--mark (point) (point) "[the line goes on]\n")))
      (unless (memq format '(prose markdown))
        (todo-write-answer-text--keep-order))
      (todo-write-answer-text--color format)
      (when face
        (put-text-property (point-min) (point-max) 'face face))
      ;; Marks have their face, and no other text has it.
      (let ((position (point-min)))
        (while (setq position (text-property-any position (point-max) 'todo-write-mark t))
          (let ((end (next-single-property-change position 'todo-write-mark nil (point-max))))
            (put-text-property position end 'face 'todo-write-answer-mark)
            (setq position end))))
      (let ((bar (if (char-displayable-p ?│) " │ " " | ")))
        (add-text-properties (point-min) (point-max)
                             `(line-prefix ,bar wrap-prefix ,bar)))
      (buffer-string))))

(defun todo-write-answer-text--keep-order ()
  "Let each word be written in its direction, and all words from left to right.
The order of the words of a command is part of its meaning.  Emacs
displays a string as one sign of the text around it."
  (when (> (position-bytes (point-max)) (point-max))
    (goto-char (point-min))
    ;; Letters, and the digits that follow their direction.
    (let* ((letter (concat "[\u0600-\u0605\u0660-\u0669\u066b\u066c\u06dd\u08e2"
                           "\U00010d30-\U00010d39\U00010e60-\U00010e7e]\\|\\cR"))
           (word (format "\\(?:%s\\)\\(?:%s\\|\\c^\\|[\u200c\u200d]\\)*" letter letter)))
      (while (re-search-forward word nil t)
        (put-text-property (match-beginning 0) (match-end 0) 'display (match-string 0))))))

(defun todo-write-answer-text--mark (start end mark)
  "Replace the text from START to END by MARK, a string, and go after it."
  (goto-char end)
  (insert (propertize mark 'todo-write-mark t))
  (delete-region start end))

(defun todo-write-answer-text--print-if-dense ()
  "Print the text as a Lisp string if it has very many invisible characters.
Escaping each of a million takes too long, and no person reads that."
  (goto-char (point-min))
  (let ((regexp (concat todo-write-answer-text--unseen "+")) (count 0))
    (while (and (<= count 5000) (re-search-forward regexp nil t))
      (cl-incf count))
    (when (> count 5000)
      (let ((text (buffer-string))
            (print-escape-multibyte t)
            (print-escape-nonascii t)
            (print-escape-control-characters t)
            print-escape-newlines)
        (erase-buffer)
        (todo-write-answer-text--mark (point) (point) "[printed as a Lisp string]\n")
        (prin1 text (current-buffer))))))

(defun todo-write-answer-text--count-empty-lines ()
  "Replace runs of empty lines by their number."
  ;; No regexp for a whole run: the matcher's stack is too small for a million lines.
  (goto-char (point-min))
  (while (re-search-forward "^[ \t\r]*\n" nil t)
    (let ((start (match-beginning 0)) (count 1))
      (while (looking-at "[ \t\r]*\n")
        (cl-incf count)
        (goto-char (match-end 0)))
      (when (> count 3)
        (todo-write-answer-text--mark start (point) (format "[%d empty lines]\n" count))))))

(defun todo-write-answer-text--escape ()
  "Escape or count invisible characters, and count runs of blanks."
  (goto-char (point-min))
  (while (re-search-forward todo-write-answer-text--hiding nil t)
    (let ((start (match-beginning 0)) (char (char-after (match-beginning 0))))
      (cond ((memq char '(?\s ?\t))
             ;; The matcher's stack is too small for a million blanks.
             (skip-chars-forward " \t")
             (todo-write-answer-text--mark start (point)
                                           (format "[%d blanks]" (- (point) start))))
            ;; Kept characters have others around them.
            ((= (point) (1+ start))
             (while (eq char (char-after)) (forward-char))
             (let ((escape (todo-write-text-escape char))
                   (count (- (point) start)))
               (todo-write-answer-text--mark
                start (point) (if (> count 8)
                                  (format "[%d × %s]" count escape)
                                (apply #'concat (make-list count escape))))))))))

;;; Colors

(defun todo-write-answer-text--color (format)
  "Color the current buffer as FORMAT, unless it is too long."
  (pcase (and (<= (buffer-size) 300000) format)
    ('diff (todo-write-answer-text--color-diff))
    ('markdown (pcase-dolist (`(,regexp . ,face)
                              '(("^#+ .*" . bold)
                                ("^ *\\(?:[-*+]\\|[0-9]+[.)]\\) " . font-lock-builtin-face)
                                ("`[^`\n]+`" . font-lock-constant-face)
                                ("\\*\\*[^*\n]+\\*\\*" . bold)))
                 (goto-char (point-min))
                 (while (re-search-forward regexp nil t)
                   (unless (get-text-property (match-beginning 0) 'face)
                     (put-text-property (match-beginning 0) (match-end 0) 'face face)))))))

(defun todo-write-answer-text--color-diff ()
  "Color the current buffer as a diff.
The lines of a hunk are as many as its header says: none of them is a
header of another file, whatever it looks like."
  (require 'diff-mode)
  (goto-char (point-min))
  (let ((old 0) (new 0) face)
    (while (not (eobp))
      (let ((in-hunk (or (> old 0) (> new 0))))
        (cond
         ;; The rest of a long line.
         ((and (not (bobp)) (get-text-property (1- (point)) 'todo-write-mark)
               (looking-back "\\[the line goes on\\]\n" (line-beginning-position 0))))
         ((and (get-text-property (point) 'todo-write-mark)
               (looking-at "\\[\\([0-9]+\\) empty lines\\]$"))
          (let ((count (string-to-number (match-string 1))))
            (setq old (- old count) new (- new count) face nil)))
         (t
          (setq face (pcase (char-after)
                       ((guard (and (not in-hunk)
                                    (looking-at "diff \\|index \\|--- \\|\\+\\+\\+ ")))
                        'diff-header)
                       ((and ?@ (guard (not in-hunk))) (and (looking-at "@@") 'diff-hunk-header))
                       (?+ (setq new (1- new)) 'diff-added)
                       (?- (setq old (1- old)) 'diff-removed)
                       (?\\ nil)
                       (_ (setq old (1- old) new (1- new)) nil)))
          (when (and (eq face 'diff-hunk-header)
                     (looking-at (concat "@@ -[0-9]+\\(?:,\\([0-9]+\\)\\)?"
                                         " \\+[0-9]+\\(?:,\\([0-9]+\\)\\)? @@")))
            (setq old (string-to-number (or (match-string 1) "1"))
                  new (string-to-number (or (match-string 2) "1")))))))
      (when face
        (put-text-property (point) (line-end-position) 'face face))
      (forward-line 1))))

(provide 'todo-write-answer-text)
;;; todo-write-answer-text.el ends here
