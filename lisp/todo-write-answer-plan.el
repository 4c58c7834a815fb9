;;; todo-write-answer-plan.el --- Comment on a plan, and edit it  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An agent asks whether its plan is approved, and *todo-write-request* shows the plan; see
;; todo-write-answer.el.  There, `c' adds a comment on the lines of the region or at point,
;; which goes along with "keep planning", and `e' edits the plan's text, which is approved
;; as edited.  Neither answers anything.

;;; Code:

(require 'todo-write-answer)
(require 'todo-write-compose)

(defconst todo-write-answer-plan--most-bytes 500000
  "Maximum size of an edited plan, which must fit into a message.")

;;; Comments

(defun todo-write-answer-comment ()
  "Comment on the line of the plan at point, or on those of the region.
The comment goes along with \"keep planning\", with the lines it is about."
  (interactive nil todo-write-answer-mode)
  (todo-write-answer-shown)
  (unless (todo-write-answer-comment-p)
    (user-error "No comment can go along with an answer to this"))
  (let ((quote (or (todo-write-answer-plan--lines)
                   (user-error "Go to a line of the plan first"))))
    (when (length> (todo-write-answer-reply-comments todo-write-answer-reply) 49)
      (user-error "These are enough comments"))
    (let ((text (todo-write-answer-read "Comment: ")))
      (deactivate-mark)
      (push (cons quote text) (todo-write-answer-reply-comments todo-write-answer-reply))
      (todo-write-answer-redraw))))

(defun todo-write-answer-plan--lines ()
  "Return the lines of the region, else that at point, or nil outside of the plan."
  (pcase-let* ((`(,start . ,next) (todo-write-compose-lines))
               (end (1- next)))
    (when (and (get-text-property start 'todo-write-answer-detail)
               (not (text-property-not-all start end 'todo-write-answer-detail t)))
      (let ((text (buffer-substring-no-properties start (min end (+ start 4000)))))
        (and (not (string-blank-p text)) text)))))

;;; Editing

(defun todo-write-answer-edit ()
  "Edit the text of the plan.
It is approved as edited, after it was shown once more: this answers
nothing."
  (interactive nil todo-write-answer-mode)
  (let ((request (todo-write-answer-shown))
        (text (or (todo-write-answer-editable)
                  (user-error "This cannot be edited here"))))
    ;; Emacs displays longer lines slowly, and the request shows them broken.
    (when (seq-some (lambda (line) (length> line 10000)) (split-string text "\n"))
      (user-error "A line of this is too long to be edited"))
    (todo-write-compose "*todo-write-plan*" request "A yes then approves this text"
                        (apply-partially #'todo-write-answer-plan--take request)
                        (substring-no-properties text))))

(defun todo-write-answer-plan--take (request text)
  "Return a function that shows REQUEST again with TEXT as its plan.
Signal a `user-error' if it cannot be approved."
  (let ((buffer (get-buffer todo-write-answer-buffer)))
    (when (string-blank-p text)
      (user-error "The plan is empty"))
    (when (> (string-bytes text) todo-write-answer-plan--most-bytes)
      (user-error "The plan is larger than %d bytes" todo-write-answer-plan--most-bytes))
    (unless (and buffer (eq request (with-current-buffer buffer (todo-write-answer-shown))))
      (user-error "This plan is not shown now; M-x todo-write-answer shows what is asked"))
    (lambda ()
      (pop-to-buffer buffer)
      (todo-write-answer-edit-to text))))

(provide 'todo-write-answer-plan)
;;; todo-write-answer-plan.el ends here
