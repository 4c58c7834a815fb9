;;; todo-write-history.el --- Look back at a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `H' in a plan, or `M-x todo-write-history', shows one revision of the plan: its
;; author and time, the list, and what changed.

;;; Code:

(require 'todo-write)
(require 'todo-write-org)
(require 'todo-write-row)
(require 'todo-write-view)
(require 'todo-write-words)

(defface todo-write-previous-text '((t :inherit shadow :slant italic))
  "Face of the text that a task had before."
  :group 'todo-write-faces)

;;; Both buffers

(defun todo-write-history--thread (thread)
  "Return THREAD, by default that of this buffer or else the one shown first.
Signal a `user-error' if there is no plan."
  (or thread (todo-write-view--thread-here) (todo-write-view--default-thread)
      (user-error "There is no plan yet")))

(defun todo-write-history--pop-to (name mode thread &optional action)
  "Display the buffer NAME in MODE for THREAD; return it.
ACTION is passed to `pop-to-buffer'."
  (pop-to-buffer (get-buffer-create name) action)
  (unless (derived-mode-p mode)
    (funcall mode))
  (setq todo-write-view-thread thread)
  (current-buffer))

(defmacro todo-write-history--with-new-text (&rest body)
  "Replace the text of this buffer by what BODY inserts; keep point on its line."
  (declare (indent 0) (debug t))
  `(let ((line (line-number-at-pos))
         (inhibit-read-only t))
     (erase-buffer)
     ,@body
     (set-buffer-modified-p nil)
     (goto-char (point-min))
     (forward-line (1- line))))

;;; Revisions

(defvar-local todo-write-history--revision nil
  "Number of the revision shown.")

(define-derived-mode todo-write-history-mode special-mode "Plan history"
  "Major mode of the buffer that shows one revision of a plan."
  :interactive nil
  (todo-write-menu-begin-mode)
  (todo-write-view--set-up-page #'todo-write-history--draw))

(define-key todo-write-history-mode-map "[" #'todo-write-history-older)
(define-key todo-write-history-mode-map "]" #'todo-write-history-newer)

(todo-write-menu-define 'todo-write-history-mode todo-write-history-mode-map "History"
  `(("Revision"
     ("p" "Older" todo-write-history-older)
     ("n" "Newer" todo-write-history-newer)
     ("<" "Oldest" todo-write-history-oldest)
     (">" "Newest" todo-write-history-newest)
     ("g" "Refresh" revert-buffer))
    . ,todo-write-menu-common))

;;;###autoload
(defun todo-write-history (&optional thread)
  "Show the newest revision of THREAD and what it changed.
THREAD is a key, by default the one of this buffer or, if it has none,
the one written last.  Keys of the buffer show other revisions.  Return
the buffer."
  (interactive)
  (let ((thread (todo-write-history--thread thread)))
    (unless (todo-write-revisions thread)
      (user-error "This plan has no history yet"))
    (prog1 (todo-write-history--pop-to
            (format "%s history" todo-write-view-buffer-name) 'todo-write-history-mode thread
            '((display-buffer-reuse-window display-buffer-same-window)))
      (todo-write-history-newest))))

(defun todo-write-history-older (&optional count)
  "Show the revision before; with COUNT, that many back."
  (interactive "p" todo-write-history-mode)
  (todo-write-history-newer (- (or count 1))))

(defun todo-write-history-newer (&optional count)
  "Show the next revision; with COUNT, that many on."
  (interactive "p" todo-write-history-mode)
  (let* ((numbers (todo-write-history--numbers))
         (index (+ (or count 1) (or (seq-position numbers todo-write-history--revision)
                                    (length numbers)))))
    (cond ((< index 0) (user-error "This is the first revision"))
          ((>= index (length numbers)) (user-error "This is the newest revision"))
          (t (todo-write-history--show (nth index numbers))))))

(defun todo-write-history-oldest ()
  "Show the first revision."
  (interactive nil todo-write-history-mode)
  (todo-write-history--show (car (todo-write-history--numbers))))

(defun todo-write-history-newest ()
  "Show the last revision."
  (interactive nil todo-write-history-mode)
  (todo-write-history--show (car (last (todo-write-history--numbers)))))

(defun todo-write-history--numbers ()
  "Return the numbers of the revisions; a damaged journal leaves gaps."
  (mapcar (lambda (revision) (plist-get revision :revision))
          (todo-write-revisions todo-write-view-thread)))

(defun todo-write-history--show (number)
  "Show the revision NUMBER, with point at its first change."
  (setq todo-write-history--revision number)
  (todo-write-history--draw)
  (goto-char (or (text-property-any (point-min) (point-max) 'todo-write-changed t)
                 (point-min))))

(defun todo-write-history--draw (&rest _)
  "Draw the revision shown, or the newest if it is gone."
  (setq todo-write-view--width (todo-write-view--fitting-width))
  (let* ((thread todo-write-view-thread)
         (revisions (todo-write-revisions thread))
         (newest (car (last revisions)))
         (revision (seq-find (lambda (revision)
                               (eql (plist-get revision :revision) todo-write-history--revision))
                             revisions newest))
         (number (plist-get revision :revision))
         (items (todo-write-items thread number))
         (previous (or (plist-get (cadr (memq revision (reverse revisions))) :revision) 0))
         (changes (plist-get (todo-write-changes-between thread previous number) :changes))
         (by-id (seq-group-by (lambda (change) (plist-get change :itemId)) changes)))
    (setq todo-write-history--revision number)
    (todo-write-history--with-new-text
      (insert (todo-write-history--header revision (plist-get newest :revision) items) "\n")
      (when (seq-empty-p items)
        (insert (propertize "   The list is empty.\n" 'face 'todo-write-detail)))
      (seq-doseq (item items)
        (todo-write-history--insert-row item (cdr (assoc (plist-get item :id) by-id))
                                        (todo-write-row--note item items)))
      (seq-doseq (change changes)
        (when (equal (plist-get change :type) "removed")
          (todo-write-history--insert-row (plist-get change :previousItem) (list change)))))))

(defun todo-write-history--header (revision count items)
  "Return the header of REVISION, one of COUNT, whose list is ITEMS."
  (let* ((title (plist-get (todo-write-summary todo-write-view-thread) :title))
         (source (plist-get revision :source))
         (origin (list (if (equal (plist-get revision :author) "user") "you" "agent")
                       (plist-get revision :operation)
                       (and source (todo-write-row-plain source))
                       (todo-write-story--clock (plist-get revision :timestamp))))
         (completed (seq-count (lambda (item) (equal (plist-get item :status) "completed"))
                               items))
         (width todo-write-view--width)
         (bar (min 20 (/ width 4))))
    (concat
     (todo-write-row--fit
      (concat " " (propertize (todo-write-row-plain (or title "Plan"))
                              'face 'todo-write-title))
      (propertize (format "revision %d of %d" (plist-get revision :revision) count)
                  'face 'todo-write-count)
      width)
     "\n"
     (todo-write-row--fit
      (concat " " (propertize (string-join (delq nil origin)
                                           (format " %s " (todo-write-row--shape 'dot)))
                              'face 'todo-write-time))
      (concat (format "%d/%d" completed (length items))
              (when (>= bar 8)
                (concat "  " (todo-write-row--string
                               (todo-write-row--insert-bar completed (length items) bar)))))
      width)
     "\n")))

(defun todo-write-history--insert-row (item changes &optional note)
  "Insert the row of ITEM, with NOTE, a string or nil, at its end.
CHANGES are the plists of the changes that the revision made to it."
  (let* ((type (plist-get (car changes) :type))
         (kind (if (equal type "removed") 'removed (todo-write-row--kind item)))
         (face (todo-write-row--face kind))
         (previous (or (seq-some (lambda (change) (plist-get change :previousItem)) changes)
                       item))
         (text (todo-write-row-plain (plist-get item :content)))
         (was (todo-write-row-plain (plist-get previous :content)))
         (steps (unless (equal was text) (todo-write-words--diff was text)))
         (start (point)))
    (insert (todo-write-row--fit
             (concat " " (if type (todo-write-detail--mark type) " ") " "
                     (propertize (todo-write-row--shape (todo-write-row--kind item))
                                 'face (todo-write-row--shape-face kind))
                     " "
                     (if steps
                         (todo-write-words--string steps '(same added) face)
                       (propertize text 'face face)))
             (todo-write-history--notes item previous changes note)
             todo-write-view--width)
            "\n")
    (when steps
      (insert (todo-write-row--truncate
               (concat (propertize "     was: " 'face 'todo-write-previous-text)
                       (todo-write-words--string steps '(same removed)
                                                'todo-write-previous-text))
               todo-write-view--width)
              "\n"))
    (add-text-properties start (point) `(help-echo ,(todo-write-row--help text)))
    (when changes
      (put-text-property start (point) 'todo-write-changed t))))

(defun todo-write-history--notes (item previous changes note)
  "Return the text at the right of ITEM, which was PREVIOUS before CHANGES.
NOTE, a string or nil, is about dependencies and the owner."
  (let ((moved (seq-find (lambda (change) (equal (plist-get change :type) "reordered"))
                         changes))
        (priority (plist-get item :priority)))
    (string-join
     (delq nil
           (list (when moved
                   (propertize (format "%s from %d" (todo-write-row--shape 'moved)
                                       (1+ (plist-get moved :previousPosition)))
                               'face 'todo-write-moved))
                 (unless (equal (plist-get previous :priority) priority)
                   (propertize (format "priority %s" (or priority "none"))
                               'face 'todo-write-time))
                 (when note
                   (propertize note 'face 'todo-write-time))
                 (unless (equal (plist-get previous :status) (plist-get item :status))
                   (concat (todo-write-detail--shape previous)
                           (propertize (format " %s " (todo-write-row--shape 'arrow))
                                       'face 'todo-write-time)
                           (todo-write-detail--shape item)))))
     "  ")))

(provide 'todo-write-history)
;;; todo-write-history.el ends here
