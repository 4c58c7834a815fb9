;;; todo-write-words.el --- Which words of a text changed  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The module compares two texts of a task; this file marks what changed.

;;; Code:

(require 'todo-write-core)
(require 'todo-write-row)

(defun todo-write-words-diff (old new)
  "Return the difference between OLD and NEW, both strings.
The value is a list of (KIND . TEXT), where KIND is `same', `removed' or
`added'; removed text comes before the text that replaces it."
  (todo-write-core-call todo-write-dyn--word-diff old new))

(defun todo-write-words-string (steps kinds &optional face)
  "Return the text of STEPS, from `todo-write-words-diff', with changes marked.
KINDS are the kinds to show.  FACE is the face of the whole text, below
the faces of changed words.  If both kinds are shown and the terminal
cannot strike through, removed words are in [-…-], added ones in {+…+}."
  (let ((bare (and (memq 'removed kinds) (memq 'added kinds)
                   (not (display-supports-face-attributes-p '(:strike-through t))))))
    (mapconcat
     (pcase-lambda (`(,kind . ,text))
       (let ((text (if face (propertize text 'face face) (copy-sequence text))))
         (pcase (and (memq kind kinds) kind)
           ('nil "")
           ('same text)
           ('removed (todo-write-words--mark (if bare (concat "[-" text "-]") text)
                                             'todo-write-word-removed))
           ('added (todo-write-words--mark (if bare (concat "{+" text "+}") text)
                                           'todo-write-word-added)))))
     steps "")))

(defun todo-write-words--mark (text face)
  "Add FACE to TEXT but not to the blanks around it; return TEXT."
  (let ((start (or (string-match "[^[:space:]]" text) 0))
        (end (string-match "[[:space:]]*\\'" text)))
    (add-face-text-property start end face nil text)
    text))

(provide 'todo-write-words)
;;; todo-write-words.el ends here
