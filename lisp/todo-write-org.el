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
  "What `todo-write-copy' makes of a plan unless asked for the other."
  :type '(choice (const :tag "Org check list" org)
                 (const :tag "Markdown check list" markdown))
  :group 'todo-write)

(defun todo-write-org--thread ()
  "Return the thread of this buffer, or ask for one."
  (or todo-write-view-thread
      (todo-write-list-read "Plan of: ")))

(defvar todo-write-org--live nil
  "The types of links in Org, and what `todo-write-org--live' made of them.")

(defun todo-write-org--live ()
  "Return a regexp of what would do something in Org.
That is links other than to the web, code, macros, snippets, LaTeX, notes,
targets, and dates: an agenda evaluates <%%(FORM)>."
  (require 'ol)
  (let ((types (seq-difference (org-link-types) '("http" "https"))))
    ;; Cached, since it is needed for each task.
    (unless (equal types (car todo-write-org--live))
      (setq todo-write-org--live
            (cons types
                  (concat "\\[\\[\\|<[<0-9%]\\|{{{\\|@@\\|\\[fn:\\|\\[cite\\|\\\\[[:alpha:]([]"
                          "\\|\\<\\(?:src\\|call\\)_\\|\\<" (regexp-opt types) ":"))))
    (cdr todo-write-org--live)))

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
FORMAT is `org', the default, or `markdown'.  A task that waits for
others or has an owner ends with that, in parentheses."
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
                           ;; The zero-width space, which no task has, tells
                           ;; `todo-write-from-org' that this is a note.
                           (if note (format " \u200b(%s)" (funcall plain note)) ""))))
               items "")))

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
In an Org buffer it stands under a heading of its title, with a cookie
that Org keeps up to date."
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
                (let ((content (string-replace
                                "\u200b" ""
                                (replace-regexp-in-string " \u200b(.*\\'" ""
                                                          (plist-get item :content)))))
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

;;; Ways back

(defun todo-write-org--restore (key)
  "Load the thread KEY, or signal a `user-error' if it is gone."
  (unless (todo-write-restore key)
    (user-error "There is no plan of %s any more" (todo-write-row-plain key))))

;;;###autoload
(defun todo-write-link-setup ()
  "Teach Org the links of type \"todo-write\"."
  (require 'ol)
  (org-link-set-parameters "todo-write"
                           :follow #'todo-write-link-open
                           :store #'todo-write-link-store
                           :complete #'todo-write-link-complete
                           :export #'todo-write-link-export))

(defun todo-write-link--split (path)
  "Return the thread and the item that PATH names, as (KEY . ID)."
  (let ((end (string-match "::t[0-9]+\\'" path)))
    (cons (decode-coding-string (url-unhex-string (substring path 0 end)) 'utf-8)
          (and end (substring path (+ 2 end))))))

;;;###autoload
(defun todo-write-link-open (path &optional _)
  "Show the plan of the thread that PATH, the rest of a link, names."
  (pcase-let ((`(,key . ,id) (todo-write-link--split path)))
    (todo-write-org--restore key)
    (with-current-buffer (todo-write-show key t)
      (when id (todo-write-view-goto id)))))

(defun todo-write-link--path (key &optional id)
  "Return the rest of a link to the item ID of the thread KEY.
Brackets and blanks of a key would end the link early."
  (concat (url-hexify-string key) (and id (concat "::" id))))

(defun todo-write-link-store (&optional _interactive)
  "Store a link to the plan of this buffer, and its task at point."
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
  "Return DESCRIPTION, or the key in PATH: a plan is no page to link to."
  (or description (car (todo-write-link--split path))))

;;; Bookmarks

(defun todo-write-bookmark-record ()
  "Return a bookmark of the plan in this buffer.
Signal a `user-error' if there is none."
  (let ((key (or todo-write-view-thread (user-error "There is no plan here yet"))))
    `(,(todo-write-row-plain (or (plist-get (todo-write-summary key) :title) key))
      (thread . ,key)
      (item . ,(get-text-property (point) 'todo-write-id))
      (handler . todo-write-bookmark-jump))))

;;;###autoload
(defun todo-write-bookmark-jump (bookmark)
  "Show the plan that BOOKMARK is of, with point at its task."
  (let ((key (bookmark-prop-get bookmark 'thread)))
    (todo-write-org--restore key)
    (set-buffer (todo-write-show key))
    (todo-write-view-goto (bookmark-prop-get bookmark 'item))))
(put 'todo-write-bookmark-jump 'bookmark-handler-type "Plan")

(defun todo-write-bookmark-desktop (_folder)
  "Return what a desktop must know of this buffer: its thread."
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
