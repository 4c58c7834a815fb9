;;; todo-write-search.el --- Search a plan or all plans  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `M-x todo-write-search' lists the places in all plans that have some words, newest
;; first: tasks, and what agents and users said and ran.  `? F' in the buffers of a plan
;; searches that plan, closed rows and earlier lists included.  `RET' goes to a place.

;;; Code:

(require 'todo-write-history)

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
  "The places found.")

(define-derived-mode todo-write-search-mode tabulated-list-mode "Plan search"
  "Major mode of the list of places in plans that have some words.

\\{todo-write-search-mode-map}"
  :interactive nil
  (todo-write-buffer-set-up-table
   #'todo-write-search--table
   #'todo-write-search--goto
   :revert (lambda ()
             (setq todo-write-search--places
                   (todo-write-search--find todo-write-search--text todo-write-view-thread))
             (funcall todo-write-events-draw))))

(todo-write-menu-define 'todo-write-search-mode todo-write-search-mode-map "Search"
  `(("Place"
     ("RET" "Go to it" todo-write-buffer-visit)
     ("n" "Next" next-line)
     ("p" "Previous" previous-line)
     ("g" "Search again" revert-buffer))
    . ,todo-write-menu-common))

;;; Search

(defun todo-write-search--find (text &optional thread)
  "Return the places of THREAD, or of all plans, that have the words of TEXT."
  (pcase-let* ((todo-write-core-wait-words "Searching")
               (`(,places . ,unreadable)
                (todo-write-core-call todo-write-dyn--search
                  thread text todo-write-search--limit)))
    (dolist (problem unreadable)
      (message "%s" problem))
    (let ((kept (unless thread (todo-write-threads-kept))))
      (dolist (place places places)
        (let ((key (plist-get place :thread)))
          (plist-put place :title
                     (or thread
                         (plist-get place :title)
                         (todo-write-plan-name
                          key nil nil
                          (seq-find (lambda (one) (equal key (plist-get one :key)))
                                    kept)))))))))

;;;###autoload
(defun todo-write-search (text &optional thread)
  "List the places of THREAD that have the words of TEXT, newest first.
THREAD is a key, or nil for all plans.  All words must occur, in any order
and any case: in the text of a task, or in one thing that an agent or its
user said or ran.  Return the buffer.  Interactively, search the plan of
this buffer; with a prefix argument or in any other buffer, all plans.
Signal a `user-error' if TEXT is blank or nothing is found."
  (interactive (let ((thread (and (not current-prefix-arg)
                                  (get major-mode 'todo-write-menu)
                                  todo-write-view-thread)))
                 (list (read-string (if thread "Search this plan for: " "Search all plans for: ")
                                    nil 'todo-write-search--history (thing-at-point 'symbol t))
                       thread)))
  (unless (split-string text)
    (user-error "Say what to search for"))
  (let ((places (or (todo-write-search--find text thread)
                    (user-error (if thread "This plan has no \"%s\"" "No plan has \"%s\"")
                                text))))
    (todo-write-buffer-pop-to "*todo-write-search*" 'todo-write-search-mode thread)
    (setq todo-write-search--text text
          todo-write-search--places places)
    (funcall todo-write-events-draw)
    (goto-char (point-min))
    (current-buffer)))

;;; Display

(defun todo-write-search--table ()
  "Return the places, as for `todo-write-buffer-set-up-table'."
  (let* ((places todo-write-search--places)
         (case-fold-search t)
         (regexp (regexp-opt (split-string todo-write-search--text)))
         (titles (mapcar (lambda (place) (string-width (plist-get place :title))) places)))
    (list `(("Age" 6 ,(lambda (entry other)
                        (> (plist-get (car entry) :timestamp)
                           (plist-get (car other) :timestamp))))
            ,@(unless todo-write-view-thread
                `(("Plan" ,(min 30 (apply #'max 4 titles)) t)))
            ("What" 7 t) ("Text" 0))
          (mapcar
           (lambda (place)
             (let ((line (replace-regexp-in-string
                          regexp (lambda (match) (propertize match 'face 'match))
                          (todo-write-text-line (plist-get place :line)) t t))
                   (title (todo-write-text-line (plist-get place :title)))
                   (time (plist-get place :timestamp)))
               (list place
                     (vconcat
                      (list (propertize (todo-write-text-age (/ time 1000.0))
                                        'face 'todo-write-time))
                      (unless todo-write-view-thread
                        (list (todo-write-text-helped (propertize title 'face 'bold))))
                      (list (propertize (alist-get (plist-get place :type)
                                                   todo-write-search--words
                                                   "said" nil #'equal)
                                        'face 'todo-write-time)
                            (todo-write-text-helped
                             line (format "%s\n%s\nRET, mouse-1: go there"
                                          (todo-write-text-clock time) line)))))))
           places)
          (format ": %s%s" (todo-write-text-count (length places) "place")
                  (if (< (length places) todo-write-search--limit) "" ", the newest")))))

;;; Going there

(defun todo-write-search--goto (place)
  "Go to PLACE in its plan, in a window beside."
  (let ((thread (plist-get place :thread))
        (id (plist-get place :item)))
    (set-buffer (todo-write-show thread t '(nil (inhibit-same-window . t))))
    (let ((found (and id (todo-write-view-goto id))))
      (or (and (plist-get place :type) (todo-write-search--goto-entry place))
          found
          (and id (todo-write-history-open-of thread id))))))

(defun todo-write-search--goto-entry (place)
  "Move to PLACE in its story, else to the prompt of its time, else return nil."
  (let* ((time (plist-get place :timestamp))
         (turn (todo-write-story-turn-at todo-write-view-thread time))
         (asked (equal "INTENT" (plist-get place :type)))
         (part (or (and (not asked) (plist-get place :item)) (and turn (cons 'turn turn))))
         (entries (cond ((null part) nil)
                        (asked (list (todo-write-story-prompt todo-write-view-thread turn)))
                        (t (todo-write-story-entries todo-write-view-thread part))))
         (entry (seq-find (lambda (entry)
                            (memql time (list (plist-get entry :time) (plist-get entry :ended))))
                          entries)))
    (or (and entry (todo-write-view-goto-entry part (plist-get entry :key)))
        (and (consp part) (todo-write-view-goto-turn turn)))))

(provide 'todo-write-search)
;;; todo-write-search.el ends here
