;;; todo-write-words.el --- Which words of a text changed  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Two texts of a task are compared word by word, or character by character in
;; Chinese and Japanese, which have no spaces.

;;; Code:

(require 'cl-lib)
(require 'todo-write-row)

(defconst todo-write-words--most 300
  "Texts with more words between their common ends are not compared.")

(defun todo-write-words--split (text)
  "Return the words of TEXT and the white space between them, a list."
  (split-string (replace-regexp-in-string "\\c|\\|[[:space:]]+" "\0\\&\0" text)
                "\0" t))

(defun todo-write-words--diff (old new)
  "Return the difference between OLD and NEW, both strings.
The value is a list of (KIND . TEXT), where KIND is `same', `removed' or
`added'; removed text comes before the text that replaces it."
  (let* ((a (todo-write-words--split old))
         (b (todo-write-words--split new))
         (head (cl-loop while (and a b (equal (car a) (car b)))
                        collect (cons 'same (pop a)) do (pop b)))
         (ra (reverse a))
         (rb (reverse b))
         tail)
    (while (and ra rb (equal (car ra) (car rb)))
      (push (cons 'same (pop ra)) tail)
      (pop rb))
    (todo-write-words--join
     (append head
             (todo-write-words--middle (vconcat (nreverse ra)) (vconcat (nreverse rb)))
             tail))))

(defun todo-write-words--middle (a b)
  "Return the difference between A and B, vectors, as in `todo-write-words--diff'."
  (if (> (max (length a) (length b)) todo-write-words--most)
      (append (mapcar (lambda (word) (cons 'removed word)) a)
              (mapcar (lambda (word) (cons 'added word)) b))
    ;; At J is (LENGTH . STEPS) for the words of A looked at and those of B from J:
    ;; the length of the longest common subsequence, and the difference.
    (let ((row (make-vector (1+ (length b)) '(0))))
      (cl-loop
       for i downfrom (length a) to 0
       for diagonal = nil do
       (cl-loop
        for j downfrom (length b) to 0
        for word = (and (< i (length a)) (aref a i))
        for below = (and word (aref row j))
        for right = (and (< j (length b)) (aref row (1+ j)))
        do (aset row j
                 (cond ((and below right (equal word (aref b j)))
                        `(,(1+ (car diagonal)) (same . ,word) ,@(cdr diagonal)))
                       ((and below (or (null right) (>= (car below) (car right))))
                        `(,(car below) (removed . ,word) ,@(cdr below)))
                       (right `(,(car right) (added . ,(aref b j)) ,@(cdr right)))
                       (t '(0))))
        (setq diagonal below)))
      (cdr (aref row 0)))))

(defun todo-write-words--join (steps)
  "Return STEPS with neighbors of one kind joined."
  (let (joined)
    (pcase-dolist (`(,kind . ,text) steps)
      (if (eq kind (caar joined))
          (setcdr (car joined) (concat (cdar joined) text))
        (push (cons kind text) joined)))
    (nreverse joined)))

(defun todo-write-words--string (steps kinds &optional face)
  "Return the text of STEPS, from `todo-write-words--diff', with changes marked.
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
