;;; todo-write-words.el --- Which words of a text changed  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Compares two texts of a task word by word, for history and open rows.
;; Chinese and Japanese, which have no spaces, are compared by characters.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'todo-write-row)

(defface todo-write-word-removed '((t :inherit error :strike-through t))
  "Face of words that are no longer in a text."
  :group 'todo-write-faces)

(defface todo-write-word-added '((t :inherit success :underline t))
  "Face of words that are new in a text."
  :group 'todo-write-faces)

(defconst todo-write-words--most 300
  "Texts with more words than this count as changed in between their common ends.")

(defun todo-write-words-split (text)
  "Return the words of TEXT and what is between them, a list of strings."
  (split-string (replace-regexp-in-string "\\c|\\|[[:space:]]+" "\0\\&\0" text)
                "\0" t))

(defun todo-write-words-diff (old new)
  "Return how to get from OLD to NEW, both strings.
The value is a list of (KIND . TEXT), where KIND is `same', `removed' or
`added'; what was removed stands before what came in its place."
  (let* ((a (todo-write-words-split old))
         (b (todo-write-words-split new))
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
  "Return how to get from A to B, vectors of words, as in `todo-write-words-diff'."
  (let ((n (length a)) (m (length b)))
    (if (> (max n m) todo-write-words--most)
        (append (mapcar (lambda (word) (cons 'removed word)) a)
                (mapcar (lambda (word) (cons 'added word)) b))
      (let ((lengths (todo-write-words--lengths a b)) (i 0) (j 0) steps)
        (while (or (< i n) (< j m))
          (let ((here (+ (* i (1+ m)) j)))
            (cond ((and (< i n) (< j m) (equal (aref a i) (aref b j)))
                   (push (cons 'same (aref a i)) steps)
                   (cl-incf i) (cl-incf j))
                  ((and (< i n)
                        (or (= j m) (>= (aref lengths (+ here m 1)) (aref lengths (1+ here)))))
                   (push (cons 'removed (aref a i)) steps)
                   (cl-incf i))
                  (t (push (cons 'added (aref b j)) steps)
                     (cl-incf j)))))
        (nreverse steps)))))

(defun todo-write-words--lengths (a b)
  "Return the lengths of the longest common parts of the ends of A and B.
A vector of rows; the number for A from I and B from J is at
I * (length B + 1) + J."
  (let* ((n (length a)) (m (length b)) (row (1+ m))
         (lengths (make-vector (* (1+ n) row) 0)))
    (cl-loop for i from (1- n) downto 0 do
             (cl-loop for j from (1- m) downto 0
                      for here = (+ (* i row) j) do
                      (aset lengths here
                            (if (equal (aref a i) (aref b j))
                                (1+ (aref lengths (+ here row 1)))
                              (max (aref lengths (+ here row))
                                   (aref lengths (1+ here)))))))
    lengths))

(defun todo-write-words--join (steps)
  "Return STEPS with neighbours of one kind joined.
A space alone between changed words changes with them, which reads
better than single words do."
  (let (joined)
    (while steps
      (pcase-let ((`(,kind . ,text) (pop steps)))
        (cond ((eq kind (caar joined))
               (setcdr (car joined) (concat (cdar joined) text)))
              (t (push (cons kind text) joined)))))
    (nreverse joined)))

(defun todo-write-words-mark (steps &rest kinds)
  "Return the text of STEPS, from `todo-write-words-diff', with changes marked.
KINDS are the kinds to show.  Where the terminal cannot strike through,
removed words are in [-…-] and added ones in {+…+}."
  (let ((bare (not (display-supports-face-attributes-p '(:strike-through t)))))
    (mapconcat
     (pcase-lambda (`(,kind . ,text))
       (pcase (and (memq kind kinds) kind)
         ('nil "")
         ('same text)
         ('removed (todo-write-words--propertize
                    (if bare (concat "[-" text "-]") (concat text)) 'todo-write-word-removed))
         ('added (todo-write-words--propertize
                  (if bare (concat "{+" text "+}") (concat text)) 'todo-write-word-added))))
     steps "")))

(defun todo-write-words--propertize (text face)
  "Return TEXT in FACE, but for blanks around it, which a line would show."
  (let ((start (or (string-match "[^[:space:]]" text) 0))
        (end (string-match "[[:space:]]*\\'" text)))
    (add-face-text-property start end face nil text)
    text))

(defun todo-write-words-faced (steps kind face)
  "Return the text of STEPS that is the same or of KIND, in FACE.
Words of KIND, `removed' or `added', have its face on top."
  (mapconcat
   (pcase-lambda (`(,this . ,text))
     (cond ((eq this 'same) (propertize text 'face face))
           ((eq this kind)
            (todo-write-words--propertize
             (propertize text 'face face)
             (if (eq kind 'added) 'todo-write-word-added 'todo-write-word-removed)))
           (t "")))
   steps ""))

(provide 'todo-write-words)
;;; todo-write-words.el ends here
