;;; todo-write-org.el --- Plans in Org, links and bookmarks  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `w' in a plan copies it as a check list in Org or Markdown;
;; `M-x todo-write-insert-org' inserts it, and `M-x todo-write-from-org' makes such
;; a list the plan of a thread.  For links such as [[todo-write:THREAD::t3]]:
;;
;;     (with-eval-after-load 'ol (todo-write-link-setup))
;;
;; Bookmarks name the thread and the task at point, a saved desktop the thread.

;;; Code:

(require 'todo-write)
(require 'todo-write-list)
(require 'todo-write-row)
(require 'todo-write-view)
(require 'url-util)

;; Org and bookmarks are loaded when they are used.
(declare-function bookmark-prop-get "bookmark" (bookmark-name-or-record prop))
(declare-function org-current-level "org" ())
(declare-function org-link-set-parameters "ol" (type &rest parameters))
(declare-function org-link-store-props "ol" (&rest plist))
(declare-function org-link-types "ol" ())

(defcustom todo-write-copy-format 'org
  "The default format of `todo-write-copy'."
  :type '(choice (const :tag "Org check list" org)
                 (const :tag "Markdown check list" markdown))
  :group 'todo-write)

(defun todo-write-org--thread ()
  "Return the thread of this buffer, or ask for one."
  (or todo-write-view-thread
      (todo-write-list-read "Plan of: ")))

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
cannot contain one: `todo-write-row-plain' shows it as an escape."
  (let ((active (todo-write-org--active)))
    (with-temp-buffer
      (insert (todo-write-row-plain text))
      (goto-char (point-min))
      (while (re-search-forward active nil t)
        ;; Another match may begin after the first character.
        (goto-char (1+ (match-beginning 0)))
        (insert "\u200b"))
      (buffer-string))))

(defun todo-write-check-list (thread &optional format)
  "Return the list of THREAD as a check list, a string.
FORMAT is `org', the default, or `markdown'.  The tasks that a task
waits for and its owner stand at its end, in parentheses."
  (let* ((markdown (eq format 'markdown))
         (plain (if markdown #'todo-write-row-plain #'todo-write-org-plain))
         (items (todo-write-items thread)))
    (mapconcat (lambda (item)
                 (let ((note (todo-write-row-note item items)))
                   (format "- [%s] %s%s\n"
                           (pcase (plist-get item :status)
                             ("completed" (if markdown "x" "X"))
                             ("in_progress" (if markdown " " "-"))
                             (_ " "))
                           (funcall plain (plist-get item :content))
                           ;; `todo-write-from-org' recognizes a note by the
                           ;; zero-width space, which no task contains.
                           (if note (format " \u200b(%s)" (funcall plain note)) ""))))
               items "")))

;;;###autoload
(defun todo-write-copy (thread &optional format)
  "Copy the plan of THREAD as a check list.
FORMAT is `org' or `markdown', by default `todo-write-copy-format'.
Interactively, a prefix argument selects the other format."
  (interactive
   (list (todo-write-org--thread)
         (if current-prefix-arg
             (if (eq todo-write-copy-format 'org) 'markdown 'org)
           todo-write-copy-format)))
  (let ((format (or format todo-write-copy-format))
        (total (length (todo-write-items thread))))
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
In an Org buffer, put it under a heading with the plan's title and a
statistics cookie."
  (interactive (list (todo-write-org--thread)))
  (barf-if-buffer-read-only)
  (let ((summary (todo-write-summary thread)))
    (unless (bolp) (insert "\n"))
    (when (derived-mode-p 'org-mode)
      (insert (make-string (1+ (or (org-current-level) 0)) ?*) " "
              (todo-write-org-plain (or (plist-get summary :title) "Plan"))
              (format " [%s]\n" (todo-write-row-count summary))))
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
region or at point, and ask for THREAD, which may be new.  Return the
outcome, as `todo-write' does; signal a `user-error' if there is no
check list or the store refuses it."
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

;;; Links

(defun todo-write-org--restore (key)
  "Load the thread KEY, or signal a `user-error' if it is gone."
  (unless (todo-write-restore key)
    (user-error "There is no longer a plan of %s" (todo-write-row-plain key))))

;;;###autoload
(defun todo-write-link-setup ()
  "Register the link type \"todo-write\" with Org."
  (require 'ol)
  (org-link-set-parameters "todo-write"
                           :follow #'todo-write-link-open
                           :store #'todo-write-link-store
                           :complete #'todo-write-link-complete
                           :export #'todo-write-link-export))

(defun todo-write-link--split (path)
  "Return the thread and the item in PATH, as (KEY . ID)."
  (let ((end (string-match "::t[0-9]+\\'" path)))
    (cons (decode-coding-string (url-unhex-string (substring path 0 end)) 'utf-8)
          (and end (substring path (+ 2 end))))))

;;;###autoload
(defun todo-write-link-open (path &optional _)
  "Show the plan of the thread in PATH, a link without its type."
  (pcase-let ((`(,key . ,id) (todo-write-link--split path)))
    (todo-write-org--restore key)
    (with-current-buffer (todo-write-show key t)
      (when id (todo-write-view-goto id)))))

(defun todo-write-link--path (key &optional id)
  "Return the path of a link to the item ID of the thread KEY.
KEY is encoded because brackets and blanks would end the link."
  (concat (url-hexify-string key) (and id (concat "::" id))))

(defun todo-write-link-store (&optional _interactive)
  "Store a link to this buffer's plan and the task at point."
  (when (derived-mode-p 'todo-write-view-mode)
    (let* ((key todo-write-view-thread)
           (id (get-text-property (point) 'todo-write-id))
           (item (and key id (todo-write-item key id))))
      (when key
        (org-link-store-props
         :type "todo-write"
         :link (concat "todo-write:" (todo-write-link--path key (and item id)))
         :description (todo-write-org-plain
                       (or (plist-get item :content)
                           (plist-get (todo-write-summary key) :title) key)))))))

(defun todo-write-link-complete (&optional _)
  "Read a thread and return a link to its plan."
  (concat "todo-write:" (todo-write-link--path (todo-write-list-read "Link to the plan of: "))))

(defun todo-write-link-export (path description _backend &optional _info)
  "Return DESCRIPTION, or else the key in PATH.
A plan has no address to which an exported link could lead."
  (or description (car (todo-write-link--split path))))

;;; Bookmarks

(defun todo-write-bookmark-record ()
  "Return a bookmark of the plan in this buffer.
Signal a `user-error' if the buffer shows no plan."
  (let ((key (or todo-write-view-thread (user-error "There is no plan here yet"))))
    `(,(todo-write-row-plain (or (plist-get (todo-write-summary key) :title) key))
      (thread . ,key)
      (item . ,(get-text-property (point) 'todo-write-id))
      (handler . todo-write-bookmark-jump))))

;;;###autoload
(defun todo-write-bookmark-jump (bookmark)
  "Show the plan of BOOKMARK, with point at its task."
  (let ((key (bookmark-prop-get bookmark 'thread)))
    (todo-write-org--restore key)
    (set-buffer (todo-write-show key))
    (todo-write-view-goto (bookmark-prop-get bookmark 'item))))
(put 'todo-write-bookmark-jump 'bookmark-handler-type "Plan")

(defun todo-write-bookmark-desktop (_folder)
  "Return the thread of this buffer, for a desktop file."
  todo-write-view-thread)

;;;###autoload (add-to-list 'desktop-buffer-mode-handlers '(todo-write-view-mode . todo-write-bookmark-restore))
;;;###autoload (autoload 'todo-write-view-mode "todo-write-view")

;;;###autoload
(defun todo-write-bookmark-restore (_file _name thread)
  "Restore the buffer that shows the plan of THREAD from a desktop."
  (when (and thread (todo-write-restore thread))
    (save-window-excursion (todo-write-show thread))))

(provide 'todo-write-org)
;;; todo-write-org.el ends here
