;;; todo-write-search.el --- Search all plans  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `M-x todo-write-search', or `F' in our buffers, lists the places that have some
;; words, newest first: tasks of all plans, and what agents and users said and ran.
;; `n' and `p' show the plan of each beside the list; `RET' goes there.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'todo-write)
(require 'todo-write-history)
(require 'todo-write-menu)
(require 'todo-write-page)
(require 'todo-write-row)
(require 'todo-write-story)
(require 'todo-write-view)

(defconst todo-write-search--limit 500
  "The greatest number of places found.")

(defconst todo-write-search--words
  '((nil . "task") ("INTENT" . "asked") ("TITLE" . "title") ("PLAN" . "plan")
    ("THOUGHTS" . "thought") ("TOOL_CALL" . "ran") ("TOOL_EXECUTION" . "result")
    ("ERROR" . "error"))
  "Alist of (TYPE . WORD): what a place is; all other types are \"said\".")

(defvar todo-write-search--history nil
  "What was searched for.")

(defvar-local todo-write-search--text nil
  "The words of this search.")

(defvar-local todo-write-search--places nil
  "The places found, newest first; see `todo-write-search--find'.")

(define-derived-mode todo-write-search-mode special-mode "Plan search"
  "Major mode of the list of places in plans that have some words.

\\{todo-write-search-mode-map}"
  :interactive nil
  (todo-write-menu-begin-mode)
  (todo-write-page--set-up #'todo-write-search--draw)
  (setq-local revert-buffer-function #'todo-write-search--revert))

(define-key todo-write-search-mode-map [mouse-1] #'todo-write-search-mouse-goto)

(todo-write-menu-define 'todo-write-search-mode todo-write-search-mode-map "Search"
  `(("Place"
     ("RET" "Go to it" todo-write-search-goto)
     ("n" "Next, with its plan" todo-write-search-next)
     ("p" "Previous, with its plan" todo-write-search-previous)
     ("g" "Search again" revert-buffer))
    . ,todo-write-menu-common))

;;; Search

(defun todo-write-search--find (text)
  "Return the places of all plans that have the words of TEXT, newest first.
They are values of `todo-write-matches' with :thread and :title.  Say which
journals cannot be read.  `C-g' quits."
  (pcase-let* ((todo-write--wait-words "Searching all plans")
               (`(,places . ,unreadable)
                (todo-write--call todo-write-dyn--search-all text todo-write-search--limit)))
    (dolist (problem unreadable)
      (message "%s" problem))
    (dolist (place places places)
      (unless (plist-get place :title)
        (plist-put place :title (plist-get place :thread))))))

;;;###autoload
(defun todo-write-search (text)
  "List the places of all plans that have the words of TEXT, newest first.
All words must occur, in any order and any case: in the text of a task,
or in one thing that an agent or its user said or ran.  Return the
buffer.  Signal a `user-error' if TEXT is blank or nothing is found."
  (interactive (list (read-string "Search all plans for: " nil 'todo-write-search--history
                                  (thing-at-point 'symbol t))))
  (unless (split-string text)
    (user-error "Say what to search for"))
  (let ((places (or (todo-write-search--find text)
                    (user-error "No plan has \"%s\"" text))))
    (pop-to-buffer (get-buffer-create "*todo-write-search*"))
    (unless (derived-mode-p 'todo-write-search-mode)
      (todo-write-search-mode))
    (setq todo-write-search--text text
          todo-write-search--places places)
    (todo-write-search--draw)
    (goto-char (point-min))
    (forward-line 2)
    (current-buffer)))

(defun todo-write-search--revert (&rest _)
  "Search again."
  (setq todo-write-search--places (todo-write-search--find todo-write-search--text))
  (todo-write-search--draw))

;;; Display

(defun todo-write-search--draw ()
  "Draw the places found."
  (setq todo-write-page--width (todo-write-page--fitting-width))
  (let* ((width todo-write-page--width)
         (plan (max 12 (min 30 (/ width 4))))
         (regexp (regexp-opt (split-string todo-write-search--text))))
    (todo-write-page--with-new-text
      (insert (propertize
               (todo-write-row--truncate
                (format " %s: %s"
                        (let ((count (length todo-write-search--places)))
                          (if (< count todo-write-search--limit)
                              (todo-write-story--count count "place")
                            (format "the newest %d places" count)))
                        (todo-write-row-line todo-write-search--text))
                width)
               'face 'todo-write-title)
              "\n\n")
      (dolist (place todo-write-search--places)
        (todo-write-search--insert place plan regexp width)))))

(defun todo-write-search--insert (place plan regexp width)
  "Insert PLACE as a line of WIDTH columns, PLAN of which name its plan.
What REGEXP matches is highlighted."
  (let* ((case-fold-search t)
         (start (point))
         (line (todo-write-row-line (plist-get place :line)))
         (from 0))
    (while (string-match regexp line from)
      (add-face-text-property (match-beginning 0) (match-end 0) 'match nil line)
      (setq from (match-end 0)))
    (insert (todo-write-row--truncate
             (concat " "
                     (propertize (string-pad (todo-write-row--age
                                              (/ (plist-get place :timestamp) 1000.0))
                                             7)
                                 'face 'todo-write-time)
                     (todo-write-row--fit
                      (propertize (todo-write-row-line (plist-get place :title)) 'face 'bold)
                      " " plan)
                     " "
                     (propertize (string-pad (alist-get (plist-get place :type)
                                                        todo-write-search--words
                                                        "said" nil #'equal)
                                             8)
                                 'face 'todo-write-time)
                     line)
             width)
            "\n")
    (add-text-properties
     start (point)
     `( todo-write-search--place ,place
        mouse-face highlight
        help-echo ,(todo-write-row--help
                    (format "%s\n%s\n%s\nRET, mouse-1: go there"
                            (todo-write-row-line (plist-get place :title))
                            (todo-write-row--clock (plist-get place :timestamp))
                            line))))))

;;; Going there

(defun todo-write-search--show (place select)
  "Show PLACE in its plan, in a window beside; select that if SELECT is non-nil."
  (let* ((thread (plist-get place :thread))
         (id (plist-get place :item))
         (buffer (todo-write-show thread nil '(nil (inhibit-same-window . t))))
         (window (get-buffer-window buffer)))
    (when (and select window)
      (select-window window))
    (when id
      (with-current-buffer buffer
        (cond ((not (todo-write-view--goto-any id))
               (when select
                 (todo-write-history--open-of thread id)))
              (window (set-window-point window (point))))))))

(defun todo-write-search--place ()
  "Return the place at point, or signal a `user-error'."
  (or (get-text-property (point) 'todo-write-search--place)
      (user-error "No place here")))

(defun todo-write-search-goto ()
  "Go to the task of the place at point, in its plan."
  (interactive nil todo-write-search-mode)
  (todo-write-search--show (todo-write-search--place) t))

(defun todo-write-search-mouse-goto (event)
  "Go to the place that EVENT clicked on."
  (interactive "e" todo-write-search-mode)
  (mouse-set-point event)
  (when (get-text-property (point) 'todo-write-search--place)
    (todo-write-search-goto)))

(defun todo-write-search-next (&optional count)
  "Move COUNT places on, by default one, and show its plan beside."
  (interactive "p" todo-write-search-mode)
  (let ((start (point)))
    (forward-line (or count 1))
    (unless (get-text-property (point) 'todo-write-search--place)
      (goto-char start)
      (user-error "No more places")))
  (todo-write-search--show (todo-write-search--place) nil))

(defun todo-write-search-previous (&optional count)
  "Move COUNT places back, by default one, and show its plan beside."
  (interactive "p" todo-write-search-mode)
  (todo-write-search-next (- (or count 1))))

(provide 'todo-write-search)
;;; todo-write-search.el ends here
