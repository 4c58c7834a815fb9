;;; todo-write-org.el --- Plans as check lists  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `w' in a plan copies it as a check list in Org or Markdown:
;;
;;     - [X] Read the login function
;;     - [-] Convert callbacks
;;     - [ ] Run the tests
;;
;; `M-x todo-write-insert-org' inserts it at point, under a heading in an Org
;; buffer; `M-x todo-write-from-org' makes such a list the plan of a thread.
;; Markdown has no sign for a task in progress: it reads as open there.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'todo-write)
(require 'todo-write-row)

(declare-function todo-write-list-read "todo-write-list" (prompt))
(autoload 'todo-write-list-read "todo-write-list")
(defvar todo-write-view-thread)

(defcustom todo-write-copy-format 'org
  "What `todo-write-copy' makes of a plan unless asked for the other."
  :type '(choice (const :tag "Org check list" org)
                 (const :tag "Markdown check list" markdown))
  :group 'todo-write)

(defun todo-write-org--thread ()
  "Return the thread of this buffer, or ask for one."
  (or (bound-and-true-p todo-write-view-thread)
      (todo-write-list-read "Plan of: ")))

(declare-function org-link-types "ol")

(defvar todo-write-org--live nil
  "The types of links in Org, and what `todo-write-org--live' made of them.")

(defun todo-write-org--live ()
  "Return a regexp of what would do something in Org.
Those are links but to the web, code, macros, snippets, LaTeX, notes,
targets, and dates: an agenda evaluates <%%(FORM)>."
  (require 'ol)
  (let ((types (seq-difference (org-link-types) '("http" "https"))))
    ;; It is made once, not for each task.
    (unless (equal types (car todo-write-org--live))
      (setq todo-write-org--live (cons types (todo-write-org--live-regexp types))))
    (cdr todo-write-org--live)))

(defun todo-write-org--live-regexp (types)
  "Return the regexp of `todo-write-org--live', with TYPES of links."
  (concat "\\[\\[\\|<[<0-9%]\\|{{{\\|@@\\|\\[fn:\\|\\[cite\\|\\\\[[:alpha:]([]"
          "\\|\\<\\(?:src\\|call\\)_\\|\\<"
          (regexp-opt types)
          ":"))

(defun todo-write-org-plain (text)
  "Return TEXT, an agent's, as text that does nothing in Org.
Org's escape character is the zero-width space, of which TEXT itself has
none once `todo-write-row-plain' has shown it as an escape."
  (let ((live (todo-write-org--live)))
    (with-temp-buffer
      (insert (todo-write-row-plain text))
      (goto-char (point-min))
      (while (re-search-forward live nil t)
        ;; What follows the first character may be the beginning of another.
        (goto-char (1+ (match-beginning 0)))
        (insert "\u200b"))
      (buffer-string))))

(defun todo-write-check-list (thread &optional format)
  "Return the list of THREAD as a check list, a string.
FORMAT is `org', the default, or `markdown'."
  (mapconcat (lambda (item)
               (format "- [%s] %s\n"
                       (pcase (plist-get item :status)
                         ("completed" (if (eq format 'markdown) "x" "X"))
                         ("in_progress" (if (eq format 'markdown) " " "-"))
                         (_ " "))
                       (funcall (if (eq format 'markdown) #'todo-write-row-plain
                                  #'todo-write-org-plain)
                                (plist-get item :content))))
             (todo-write-items thread) ""))

;;;###autoload
(defun todo-write-copy (thread &optional format)
  "Copy the plan of THREAD as a check list.
FORMAT is `org' or `markdown'; interactively it is
`todo-write-copy-format', or with a prefix argument the other."
  (interactive
   (list (todo-write-org--thread)
         (if current-prefix-arg
             (if (eq todo-write-copy-format 'org) 'markdown 'org)
           todo-write-copy-format)))
  (let ((format (or format todo-write-copy-format))
        (total (plist-get (todo-write-summary thread) :total)))
    (when (= total 0)
      (user-error "The list is empty"))
    (kill-new (todo-write-check-list thread format))
    (message "Copied %d tasks as %s" total (if (eq format 'org) "Org" "Markdown"))))

(defun todo-write-copy-markdown (thread)
  "Copy the plan of THREAD as a Markdown check list."
  (interactive (list (todo-write-org--thread)))
  (todo-write-copy thread 'markdown))

;;;###autoload
(defun todo-write-insert-org (thread)
  "Insert the plan of THREAD at point as an Org check list.
In an Org buffer it stands under a heading of its title, with a cookie
that Org keeps up to date."
  (interactive (list (todo-write-org--thread)))
  (barf-if-buffer-read-only)
  (let ((summary (todo-write-summary thread)))
    (unless (bolp) (insert "\n"))
    (when (derived-mode-p 'org-mode)
      (insert (make-string (1+ (or (org-current-level) 0)) ?*) " "
              (todo-write-org-plain (or (plist-get summary :title) "Plan"))
              (format " [%d/%d]\n" (plist-get summary :completed)
                      (plist-get summary :total))))
    (insert (todo-write-check-list thread))))

(declare-function org-current-level "org")

;;; Reading

(defconst todo-write-org--item
  "^\\([ \t]*\\)\\(?:[-+*]\\|[0-9]+[.)]\\)[ \t]+\\[\\([ xX-]\\)\\][ \t]+\\(.*?\\)[ \t]*$"
  "Regexp of a check list's item in Org and in Markdown.")

(defun todo-write-org--read (start end)
  "Return the items of the check list from START to END, a list of plists.
Lines that continue an item belong to it; items below others stand after
them."
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
                (let ((content (string-replace "\u200b" "" (plist-get item :content))))
                  (plist-put (plist-put item :content content) :activeForm content)))
              (nreverse items)))))

(defun todo-write-org--bounds ()
  "Return the region, or the lines around point up to blank ones or headings."
  (if (use-region-p)
      (cons (save-excursion (goto-char (region-beginning)) (line-beginning-position))
            (region-end))
    (let ((edge "^[ \t]*$\\|^[*#]+ "))
      (save-excursion
        (forward-line 0)
        (let ((here (point)))
          (while (and (not (bobp)) (not (looking-at edge))) (forward-line -1))
          (when (looking-at edge) (forward-line))
          (cons (prog1 (min here (point)) (goto-char here))
                (progn (while (not (or (eobp) (looking-at edge))) (forward-line))
                       (point))))))))

;;;###autoload
(defun todo-write-from-org (thread start end)
  "Make the check list from START to END the plan of THREAD.
Org and Markdown are both read.  Interactively, that is the list at
point, or in the region, and THREAD is read; it may be a new one.
Return the outcome, as from `todo-write'; signal a `user-error' if there
is no check list, or if it is refused."
  (interactive
   (let ((bounds (todo-write-org--bounds)))
     (list (completing-read "Make this the plan of thread: " (todo-write-threads)
                            nil nil nil nil (buffer-name))
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
