;;; todo-write-org.el --- Plans in Org and Markdown  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `w' in a plan copies it as a check list in Org or Markdown;
;; `M-x todo-write-insert-org' inserts it, and `M-x todo-write-from-org' makes such
;; a list the plan of a thread.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'todo-write)
(require 'todo-write-here)
(require 'todo-write-list-read)
(require 'todo-write-row)
(require 'todo-write-effect)
(require 'todo-write-story)
(require 'todo-write-sums)
(require 'todo-write-text)

(declare-function org-current-level "org" ())
(declare-function org-link-types "ol" ())
(defcustom todo-write-copy-format 'org
  "The default format of `todo-write-copy'."
  :type '(choice (const :tag "Org check list" org)
                 (const :tag "Markdown check list" markdown))
  :group 'todo-write-view
  :package-version '(todo-write . "0.2.0"))

(defun todo-write-org--active ()
  "Return a regexp that matches active Org syntax.
It matches links other than to the web, code, macros, snippets, LaTeX,
notes, targets, and dates: an agenda evaluates <%%(FORM)>."
  (require 'ol)
  (concat "\\[\\[\\|<[<0-9%]\\|{{{\\|@@\\|\\[fn:\\|\\[cite\\|\\\\[[:alpha:]([]"
          "\\|\\<\\(?:src\\|call\\)_\\|\\<"
          (regexp-opt (seq-difference (org-link-types) '("http" "https"))) ":"))

(defun todo-write-org-plain (text)
  "Return TEXT, an agent's, without active Org syntax.
A zero-width space, Org's escape character, breaks such syntax.  TEXT
cannot contain one: `todo-write-text-plain' shows it as an escape."
  (let ((active (todo-write-org--active)))
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
FORMAT is `org', the default, `markdown', or `work': Markdown with the
files and lines that each task changed, and the prompts of the session,
oldest first, each with what came of it; or `tasks', the same without the
prompts.  The tasks that a task waits for and its owner stand at its end,
in parentheses."
  (let* ((markdown (memq format '(markdown work tasks)))
         (plain (if markdown #'todo-write-text-plain #'todo-write-org-plain))
         (items (todo-write-items thread))
         (turns (and (eq format 'work) (todo-write-turns thread))))
    (concat
     (mapconcat (lambda (item)
                  (let ((note (todo-write-row-note item items)))
                    (format "- [%s] %s%s\n%s"
                            (pcase (plist-get item :status)
                              ("completed" (if markdown "x" "X"))
                              ("in_progress" (if markdown " " "-"))
                              (_ " "))
                            (funcall plain (plist-get item :content))
                            ;; `todo-write-from-org' recognizes a note by the
                            ;; zero-width space, which no task contains.
                            (if note (format " \u200b(%s)" (funcall plain note)) "")
                            (if (memq format '(work tasks))
                                (todo-write-org--work thread (plist-get item :id))
                              ""))))
                items "")
     (when turns
       (concat (if (seq-empty-p items) "" "\n")
               (string-join
                (cl-loop for turn in turns
                         for number from 1
                         collect (todo-write-org--turn thread turn number))))))))

(defun todo-write-org--turn (thread turn number)
  "Return TURN of THREAD with NUMBER, from 1 on, as Markdown list items.
TURN is an element of `todo-write-turns'."
  (let ((prompt (plist-get turn :prompt))
        (commits (plist-get turn :commits))
        (items (length (plist-get turn :items))))
    (concat
     (format "- %s\n"
             (string-join
              (delq nil
                    (list (if prompt (concat "“" (todo-write-text-line prompt 200) "”")
                            "Before the first prompt")
                          (format-time-string "%F %R" (/ (plist-get turn :began) 1000))
                          (and (> items 0) (todo-write-text-count items "task"))
                          (and commits
                               (concat "committed "
                                       (mapconcat (lambda (commit)
                                                    (todo-write-text-line (plist-get commit :id) 12))
                                                  commits ", ")))))
              ", "))
     (todo-write-org--work thread (cons 'turn number)))))

(defun todo-write-org--work (thread id)
  "Return what task ID of THREAD changed and ran, as Markdown list items.
ID is as in `todo-write-work'."
  (let* ((work (todo-write-work thread id))
         (project (plist-get (todo-write-about thread) :project))
         (commands (plist-get work :commands))
         (failed (or (plist-get commands :failed) 0)))
    (concat
     (mapconcat (lambda (file)
                  (format "  - `%s` +%d −%d%s\n"
                          (string-replace "`" "'" (todo-write-text-plain
                                                   (todo-write-sums-relative
                                                    (plist-get file :path) project)))
                          (plist-get file :added) (plist-get file :removed)
                          (if (plist-get file :byCommand) ", by command" "")))
                (plist-get work :files) "")
     (if (plist-get work :moreFiles) "  - and more files\n" "")
     (if (> failed 0)
         (format "  - %d of %d commands failed\n" failed (plist-get commands :run))
       ""))))

;;;###autoload
(defun todo-write-copy (thread &optional format)
  "Copy the plan of THREAD as a check list.
FORMAT is `org', `markdown', or `work' for Markdown with files and lines,
and the prompts of the session, by default `todo-write-copy-format'.
Interactively, a prefix argument asks for it.  On the entry of a refused
call, copy the rule that would allow it instead, in the form
of the agent's settings."
  (interactive
   (list (todo-write-here-thread)
         (if current-prefix-arg (todo-write-org--read-format) todo-write-copy-format)))
  (let ((format (or format todo-write-copy-format))
        (total (length (todo-write-items thread)))
        (refused (and (called-interactively-p 'any) (todo-write-org--refused))))
    (cond (refused
           (let ((rule (todo-write-effect-rule todo-write-view-thread
                                               (todo-write-story-entry-call refused))))
             (kill-new rule)
             (message "Copied the rule that allows it, unless another one forbids it: %s"
                      (todo-write-text-line rule))))
          ((and (= total 0) (or (not (eq format 'work)) (null (todo-write-turns thread))))
           (user-error "The list is empty"))
          (t
           (kill-new (todo-write-check-list thread format))
           (message "Copied %s as %s" (todo-write-text-count total "task")
                    (if (eq format 'org) "Org" "Markdown"))))))

(defun todo-write-org--refused ()
  "Return the entry of a refused call at point in a plan, or nil."
  (let ((entry (and (derived-mode-p 'todo-write-view-mode)
                    (get-text-property (point) 'todo-write-entry))))
    (and (todo-write-story-entry-p entry)
         (eq 'refused (todo-write-story-outcome entry))
         entry)))

(defun todo-write-org--read-format ()
  "Read the format of a copy with completion."
  (pcase (completing-read "Copy as: " '("Markdown" "Markdown with files and lines" "Org")
                          nil t nil nil "Markdown")
    ("Org" 'org)
    ("Markdown with files and lines" 'work)
    (_ 'markdown)))

(defun todo-write-org--in-text-p (_command buffer)
  "Return non-nil if BUFFER has text, as Org or Markdown.  For `M-x'."
  (with-current-buffer buffer (derived-mode-p 'text-mode)))

;;;###autoload
(defun todo-write-insert-org (thread)
  "Insert the plan of THREAD at point as an Org check list.
In an Org buffer, put it under a heading with the plan's title and a
statistics cookie.  Interactively, a prefix argument asks for THREAD."
  (declare (completion todo-write-org--in-text-p))
  (interactive (list (if current-prefix-arg (todo-write-read-thread "Insert the plan of: ")
                       (todo-write-here-thread))))
  (barf-if-buffer-read-only)
  (let ((summary (todo-write-summary thread)))
    (unless (bolp) (insert "\n"))
    (when (derived-mode-p 'org-mode)
      (insert (make-string (1+ (or (org-current-level) 0)) ?*) " "
              (todo-write-org-plain (or (plist-get summary :title) "Plan"))
              (format " [%d/%d]\n" (plist-get summary :completed)
                      (+ (plist-get summary :total) (plist-get summary :yours)))))
    (insert (todo-write-check-list thread))))

;;; Reading

(defconst todo-write-org--item
  "^\\([ \t]*\\)\\(?:[-+*]\\|[0-9]+[.)]\\)[ \t]+\\[\\([ xX-]\\)\\][ \t]+\\(.*?\\)[ \t]*$"
  "Regexp that matches an item of a check list in Org or Markdown.")

(defun todo-write-org--read (start end)
  "Return the items of the check list from START to END, a list of plists.
A continuation line belongs to its item.  Nested items follow their
parent."
  (save-excursion
    (goto-char start)
    (let (items indent)
      (while (and (< (point) end) (not (eobp)))
        (cond ((looking-at todo-write-org--item)
               (setq indent (length (match-string-no-properties 1)))
               (push (list :content (match-string-no-properties 3)
                           :status (pcase (match-string 2)
                                     ("-" "in_progress") (" " "pending")
                                     (_ "completed")))
                     items))
              ((and items (looking-at "\\([ \t]+\\)\\(\\S-.*?\\)[ \t]*$")
                    (> (length (match-string 1)) indent))
               (setf (plist-get (car items) :content)
                     (concat (plist-get (car items) :content) " "
                             (match-string-no-properties 2)))))
        (forward-line))
      (mapcar (lambda (item)
                (let ((content (string-replace
                                "\u200b" ""
                                (replace-regexp-in-string " \u200b(.*\\'" ""
                                                          (plist-get item :content)))))
                  (plist-put (plist-put item :content content) :activeForm content)))
              (nreverse items)))))

(defun todo-write-org--bounds ()
  "Return the bounds of the region, or else of the list around point.
A blank line or a heading ends the list."
  (if (use-region-p)
      (cons (save-excursion (goto-char (region-beginning)) (line-beginning-position))
            (region-end))
    (let* ((paragraph-separate "[ \t]*$\\|[*#]+ ")
           (paragraph-start paragraph-separate))
      (or (bounds-of-thing-at-point 'paragraph) (cons (point) (point))))))

;;;###autoload
(defun todo-write-from-org (thread start end)
  "Make the check list from START to END the plan of THREAD.
The list may be in Org or Markdown.  Interactively, use the list in the
region or at point, and ask for the title of a plan; any other name is
the key of a new thread, by default that of the buffer.  Return the
outcome, as `todo-write' does; signal a `user-error' if there is no
check list or the store refuses it."
  (declare (completion todo-write-org--in-text-p))
  (interactive
   (let ((bounds (todo-write-org--bounds)))
     (list (todo-write-read-thread "Make this the plan of: " (buffer-name))
           (car bounds) (cdr bounds))))
  (let* ((items (or (todo-write-org--read start end)
                    (user-error "No check list here")))
         (outcome (todo-write thread (list :todos (vconcat items)) "org")))
    (unless (plist-get outcome :ok)
      (user-error "%s" (plist-get outcome :result)))
    (message "%s" (plist-get outcome :result))
    outcome))

(provide 'todo-write-org)
;;; todo-write-org.el ends here
