;;; todo-write-comment.el --- Comment on lines that an agent changed  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `c' in a review or a diff asks for a comment on the line, the hunk or the region.  It
;; is recorded in the plan, and kept until the agent was told; see todo-write-note.el.

;;; Code:

(require 'diff-mode)
(require 'todo-write)
(require 'todo-write-commands)
(require 'todo-write-compose)
(require 'todo-write-menu)
(require 'todo-write-sums)
(require 'todo-write-visit)

;;; Where

(defun todo-write-comment--range ()
  "Return the lines that a comment here is about, as (START . END).
They are those of the region, of the hunk on its header, else the line at
point, or the last one after that."
  (cond ((use-region-p)
         (todo-write-compose-lines))
        ((save-excursion (forward-line 0) (looking-at "@@"))
         (save-excursion
           (forward-line 1)
           (cons (point) (progn (while (looking-at "[-+ \\]") (forward-line 1)) (point)))))
        ((and (eobp) (bolp))
         (cons (line-beginning-position 0) (point)))
        (t (todo-write-compose-lines))))

(defun todo-write-comment--line (position)
  "Return the number of the line at POSITION in the new file, or nil."
  (save-excursion
    (goto-char position)
    (forward-line 0)
    (let ((end (point)))
      (end-of-line)
      ;; Before the first hunk of a file, that of the file before is not meant.
      (when (and (re-search-backward "^\\(?:@@ -[0-9,]+ \\+\\([0-9]+\\)\\|diff \\|# \\)" nil t)
                 (match-beginning 1))
        (let ((line (string-to-number (match-string 1))))
          (forward-line 1)
          (while (< (point) end)
            (unless (memq (char-after) '(?- ?\\)) (setq line (1+ line)))
            (forward-line 1))
          (max 1 line))))))

(defun todo-write-comment--about ()
  "Return what a comment here is about, a list of a thread and a plist.
They are for `todo-write-tell'."
  (pcase-let* ((`(,start . ,end) (todo-write-comment--range))
               (`(,thread ,path) (or (get-text-property (min start (max 1 (1- (point-max))))
                                                        'todo-write-visit-file)
                                     (user-error "No changed line here")))
               (line (todo-write-comment--line start))
               (text (buffer-substring-no-properties start (min end (point-max) (+ start 20000)))))
    (list thread
          (list :path path
                :line line
                ;; The header of a file says no more than its name.
                :quote (and (or line (use-region-p))
                            ;; A line may be as long as a file.
                            (mapconcat (lambda (line) (substring line 0 (min (length line) 200)))
                                       (seq-take (split-string text "\n" t) 40)
                                       "\n"))
                :items (get-text-property start 'todo-write-comment-items)))))

;;; Commands

(defun todo-write-comment ()
  "Write a comment for the agent on the changed lines at point.
Those are the lines of the region, on the header of a hunk all of it, else
the line.  This works in a review and in the diff of a plan.  The agent
gets the name of the file, the number of the line, and the lines, too; see
`todo-write-tell'."
  (interactive nil todo-write-visit-diff-mode)
  (todo-write-menu-require 'todo-write-visit-diff-mode)
  (pcase-let ((`(,thread ,about) (todo-write-comment--about)))
    (deactivate-mark)
    (todo-write-compose
     "*todo-write-comment*" (list thread about)
     (concat "Comment on "
             (todo-write-text-line
              (todo-write-sums-place (plist-get about :path) (plist-get about :line)
                                     (plist-get (todo-write-about thread) :project))))
     (lambda (text)
       ;; It signals for an empty text.
       (todo-write-tell thread text about)
       nil))))

(provide 'todo-write-comment)
;;; todo-write-comment.el ends here
