;;; todo-write-org.el --- Plans in Org and Markdown  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `w' in a plan copies it as a check list in Markdown, `C-u w' in Org.

;;; Code:

(require 'todo-write-buffer)
(require 'todo-write-detail)

(declare-function org-link-types "ol" ())

(defun todo-write-org-plain (text)
  "Return TEXT, an agent's, without active Org syntax.
That is links other than to the web, code, macros, snippets, LaTeX, notes,
targets, and dates: an agenda evaluates <%%(FORM)>.
A zero-width space, Org's escape character, breaks such syntax.  TEXT
cannot contain one: `todo-write-text-plain' shows it as an escape."
  (require 'ol)
  (let ((active (concat "\\[\\[\\|<[<0-9%]\\|{{{\\|@@\\|\\[fn:\\|\\[cite\\|\\\\[[:alpha:]([]"
                        "\\|\\<\\(?:src\\|call\\)_\\|\\<"
                        (regexp-opt (seq-difference (org-link-types) '("http" "https"))) ":")))
    (with-temp-buffer
      (insert (todo-write-text-plain text))
      (goto-char (point-min))
      (while (re-search-forward active nil t)
        ;; Another match may begin after the first character.
        (goto-char (1+ (match-beginning 0)))
        (insert "\u200b"))
      (buffer-string))))

(defun todo-write-check-list (thread &optional format)
  "Return the list of THREAD as a check list, a string.
FORMAT is `org'; `tasks', Markdown with the files and lines that each
task changed; or `markdown', the default: the same, and then the prompts
of the session, oldest first, each with what came of it.  The tasks that
a task waits for and its owner stand at its end, in parentheses."
  (let* ((org (eq format 'org))
         (plain (if org
                    #'todo-write-org-plain
                  (lambda (text) (todo-write-text-markdown (todo-write-text-plain text)))))
         (items (todo-write-items thread))
         (turns (unless (memq format '(org tasks)) (todo-write-turns thread)))
         (prompts (seq-some (lambda (turn) (plist-get turn :prompt)) turns)))
    (concat
     (mapconcat (lambda (item)
                  (let ((note (todo-write-row-note item items)))
                    (format "- [%s] %s%s\n%s"
                            (pcase (plist-get item :status)
                              ("completed" (if org "X" "x"))
                              ("in_progress" (if org "-" " "))
                              (_ " "))
                            (funcall plain (plist-get item :content))
                            (if note (format " (%s)" (funcall plain note)) "")
                            (if org ""
                              (todo-write-org--work
                               thread (todo-write-work thread (plist-get item :id)))))))
                items "")
     (when prompts
       (concat (if (seq-empty-p items) "" "\n")
               (string-join
                (mapcar (lambda (turn) (todo-write-org--turn thread turn)) turns)))))))

(defun todo-write-org--turn (thread turn)
  "Return TURN of THREAD as Markdown list items.
TURN is an element of `todo-write-turns'."
  (let ((prompt (plist-get turn :prompt))
        (commits (plist-get turn :commits))
        (items (length (plist-get turn :items))))
    (concat
     (format "- %s\n"
             (string-join
              (delq nil
                    (list (if prompt (concat "“" (todo-write-text-markdown
                                            (todo-write-text-line prompt 200))
                                       "”")
                            "Before the first prompt")
                          (format-time-string "%F %R" (/ (plist-get turn :began) 1000))
                          (and (> items 0) (todo-write-text-count items "task"))
                          (and commits
                               (concat "committed "
                                       (mapconcat
                                        (lambda (commit)
                                          (todo-write-text-line (plist-get commit :id) 12))
                                        commits ", ")))))
              ", "))
     (todo-write-org--work thread (plist-get turn :work)))))

(defun todo-write-org--work (thread work)
  "Return WORK of THREAD, as from `todo-write-work', as Markdown list items."
  (let* ((project (plist-get (todo-write-about thread) :project))
         (commands (plist-get work :commands))
         (failed (or (plist-get commands :failed) 0)))
    (concat
     (mapconcat (lambda (file)
                  (format "  - %s +%d −%d%s\n"
                          (todo-write-text-markdown-code
                           (todo-write-text-plain
                            (todo-write-detail-relative (plist-get file :path) project)))
                          (plist-get file :added) (plist-get file :removed)
                          (if (plist-get file :byCommand) ", by command" "")))
                (plist-get work :files) "")
     (if (plist-get work :moreFiles) "  - and more files\n" "")
     (if (> failed 0)
         (format "  - %d of %d commands failed\n" failed (plist-get commands :run))
       ""))))

(defvar-local todo-write-org-review nil
  "Function that returns the review in this buffer as Markdown.")

(defun todo-write-copy (thread &optional format)
  "Copy the plan of THREAD as a check list.
FORMAT is as in `todo-write-check-list': Markdown with files, lines and
prompts, or interactively with a prefix argument, Org.  In a review, copy
that as for a pull request: files, tasks or prompts, commits, commands
that failed, and your comments."
  (interactive (list (todo-write-buffer-thread)
                     (and current-prefix-arg 'org)))
  (let* ((review todo-write-org-review)
         (format (unless review format))
         (text (if review (funcall todo-write-org-review) (todo-write-check-list thread format))))
    (when (string-empty-p text)
      (user-error "The list is empty"))
    (kill-new text)
    (message "Copied %s as %s"
             (if review "the review"
               (todo-write-text-count (length (todo-write-items thread)) "task"))
             (if (eq format 'org) "Org" "Markdown"))))

(provide 'todo-write-org)
;;; todo-write-org.el ends here
