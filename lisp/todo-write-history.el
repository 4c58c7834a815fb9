;;; todo-write-history.el --- Step through the revisions of a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `H' in a plan, or `M-x todo-write-history', shows one revision of the plan: its
;; author and time, the list, and what changed.

;;; Code:

(require 'todo-write)
(require 'todo-write-row)
(require 'todo-write-view)

(defface todo-write-previous-text '((t :inherit shadow :slant italic))
  "Face of the text that a task had before."
  :group 'todo-write-faces)

(defvar-local todo-write-history--revision nil
  "Number of the revision shown.")

(defvar todo-write-history-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "[" #'todo-write-history-older)
    (define-key map "]" #'todo-write-history-newer)
    map)
  "Keymap of `todo-write-history-mode'.")

(todo-write-menu-define 'todo-write-history-mode todo-write-history-mode-map "History"
  '(("Revision"
     ("p" "Older" todo-write-history-older)
     ("n" "Newer" todo-write-history-newer)
     ("<" "Oldest" todo-write-history-oldest)
     (">" "Newest" todo-write-history-newest)
     ("g" "Refresh" revert-buffer))))

(define-derived-mode todo-write-history-mode special-mode "Plan history"
  "Major mode of the buffer that shows one revision of a plan."
  :interactive nil
  (todo-write-view--set-up-page #'todo-write-history--redraw))

;;;###autoload
(defun todo-write-history (&optional thread)
  "Show the newest revision of THREAD and what it changed.
THREAD is a key, by default the one of this buffer or, if it has none,
the one written last.  Keys of the buffer show other revisions.  Return
the buffer."
  (interactive)
  (let* ((thread (or thread todo-write-view-thread (todo-write-view--default-thread)
                     (user-error "There is no plan yet")))
         (newest (car (last (todo-write-revisions thread))))
         (buffer (get-buffer-create
                  (format "%s history" todo-write-view-buffer-name))))
    (unless newest
      (user-error "This plan has no history yet"))
    (pop-to-buffer buffer '((display-buffer-reuse-window display-buffer-same-window)))
    (unless (derived-mode-p 'todo-write-history-mode)
      (todo-write-history-mode))
    (setq todo-write-view-thread thread)
    (todo-write-history--show (plist-get newest :revision))
    buffer))

;;; Stepping

(defun todo-write-history-older (&optional count)
  "Show the revision before; with COUNT, that many back."
  (interactive "p" todo-write-history-mode)
  (todo-write-history-newer (- (or count 1))))

(defun todo-write-history-newer (&optional count)
  "Show the next revision; with COUNT, that many on."
  (interactive "p" todo-write-history-mode)
  (let* ((revisions (todo-write-revisions todo-write-view-thread))
         (index (+ (or count 1) (todo-write-history--index revisions))))
    (cond ((< index 0) (user-error "This is the first revision"))
          ((>= index (length revisions)) (user-error "This is the newest revision"))
          (t (todo-write-history--show (plist-get (nth index revisions) :revision))))))

(defun todo-write-history-oldest ()
  "Show the first revision."
  (interactive nil todo-write-history-mode)
  (todo-write-history--show
   (plist-get (car (todo-write-revisions todo-write-view-thread)) :revision)))

(defun todo-write-history-newest ()
  "Show the last revision."
  (interactive nil todo-write-history-mode)
  (todo-write-history--show
   (plist-get (car (last (todo-write-revisions todo-write-view-thread))) :revision)))

(defun todo-write-history--index (revisions)
  "Return the index in REVISIONS of the revision shown."
  (or (cl-position todo-write-history--revision revisions
                   :key (lambda (revision) (plist-get revision :revision)))
      (1- (length revisions))))

;;; Drawing

(defun todo-write-history--show (revision)
  "Show REVISION, a number, with point at its first change."
  (setq todo-write-history--revision revision)
  (todo-write-history--draw)
  (goto-char (or (text-property-any (point-min) (point-max) 'todo-write-changed t)
                 (point-min)))
  (dolist (window (get-buffer-window-list nil nil t))
    (set-window-start window (point-min) t)
    (set-window-point window (point))))

(defun todo-write-history--redraw (&rest _)
  "Redraw the revision; keep point on its line."
  (let ((line (line-number-at-pos)))
    (todo-write-history--draw)
    (goto-char (point-min))
    (forward-line (1- line))))

(defun todo-write-history--draw ()
  "Draw the revision shown."
  (setq todo-write-view--width (todo-write-view--fitting-width))
  (let* ((thread todo-write-view-thread)
         (revisions (todo-write-revisions thread))
         (index (todo-write-history--index revisions))
         (revision (nth index revisions))
         (number (plist-get revision :revision))
         (items (todo-write-items thread number))
         (changes (plist-get (if (= index 0)
                                 (todo-write-diff nil items)
                               (todo-write-changes-between
                                thread (plist-get (nth (1- index) revisions) :revision)
                                number))
                             :changes))
         (by-id (seq-group-by (lambda (change) (plist-get change :itemId)) changes))
         (inhibit-read-only t))
    (setq todo-write-history--revision number)
    (erase-buffer)
    (insert (todo-write-history--header
             revision (plist-get (car (last revisions)) :revision) items) "\n")
    (when (= 0 (length items))
      (insert (propertize "   The list is empty.\n" 'face 'todo-write-detail)))
    (seq-doseq (item items)
      (todo-write-history--insert-row item (todo-write-row-kind item)
                                      (cdr (assoc (plist-get item :id) by-id))
                                      (todo-write-row-note item items)))
    (seq-doseq (change changes)
      (when (equal (plist-get change :type) "removed")
        (todo-write-history--insert-row (plist-get change :previousItem) 'removed
                                        (list change))))
    (set-buffer-modified-p nil)))

(defun todo-write-history--header (revision count items)
  "Return the header of REVISION, one of COUNT, whose list is ITEMS."
  (let* ((title (plist-get (todo-write-summary todo-write-view-thread) :title))
         (source (plist-get revision :source))
         (origin (list (if (equal (plist-get revision :author) "user") "you" "agent")
                       (plist-get revision :operation)
                       (and source (todo-write-row-plain source))
                       (todo-write-detail-clock (plist-get revision :timestamp))))
         (completed (seq-count (lambda (item) (equal (plist-get item :status) "completed"))
                               items))
         (width todo-write-view--width)
         (bar (min 20 (/ width 4))))
    (concat
     (todo-write-row-fit
      (concat " " (propertize (todo-write-row-plain (or title "Plan"))
                              'face 'todo-write-title))
      (propertize (format "revision %d of %d" (plist-get revision :revision) count)
                  'face 'todo-write-count)
      width)
     "\n"
     (todo-write-row-fit
      (concat " " (propertize (string-join (delq nil origin)
                                           (format " %s " (todo-write-row-shape 'dot)))
                              'face 'todo-write-time))
      (concat (format "%d/%d" completed (length items))
              (when (>= bar 8)
                (concat "  " (todo-write-row-string
                               (todo-write-row-insert-bar completed (length items) bar)))))
      width)
     "\n")))

(defun todo-write-history--insert-row (item kind changes &optional note)
  "Insert the row of ITEM of KIND, with NOTE, a string or nil, at its end.
CHANGES are the plists of the changes that the revision made to it."
  (let* ((previous (seq-some (lambda (change) (plist-get change :previousItem)) changes))
         (text (todo-write-row-plain (plist-get item :content)))
         (was (and previous (todo-write-row-plain (plist-get previous :content))))
         (steps (and was (not (equal was text)) (todo-write-words-diff was text)))
         (start (point)))
    (insert (todo-write-row-fit
             (concat " "
                     (if changes (todo-write-detail-mark (plist-get (car changes) :type)) " ")
                     " "
                     (propertize (todo-write-row-shape (todo-write-row-kind item))
                                 'face (todo-write-row-shape-face kind))
                     " "
                     (if steps
                         (todo-write-words-string steps '(same added) (todo-write-row-face kind))
                       (propertize text 'face (todo-write-row-face kind))))
             (todo-write-history--notes item kind changes note)
             todo-write-view--width)
            "\n")
    (when steps
      (insert (todo-write-row-truncate
               (concat (propertize "     was: " 'face 'todo-write-previous-text)
                       (todo-write-words-string steps '(same removed)
                                                'todo-write-previous-text))
               todo-write-view--width)
              "\n"))
    (add-text-properties start (point) `(help-echo ,text help-echo-inhibit-substitution t))
    (when changes
      (put-text-property start (point) 'todo-write-changed t))))

(defun todo-write-history--notes (item kind changes note)
  "Return the text at the right of ITEM, now of KIND.
It describes CHANGES, a list of change plists, and ends with NOTE, a
string or nil, about dependencies and the owner."
  (let* ((previous (and (not (eq kind 'removed))
                        (seq-some (lambda (change) (plist-get change :previousItem))
                                  changes)))
         (moved (seq-find (lambda (change) (equal (plist-get change :type) "reordered"))
                          changes))
         (priority (plist-get item :priority)))
    (string-join
     (delq nil
           (list (when moved
                   (propertize (format "%s from %d" (todo-write-row-shape 'moved)
                                       (1+ (plist-get moved :previousPosition)))
                               'face 'todo-write-moved))
                 (unless (or (null previous)
                             (equal (plist-get previous :priority) priority))
                   (propertize (format "priority %s" (or priority "none"))
                               'face 'todo-write-time))
                 (when note
                   (propertize note 'face 'todo-write-time))
                 (unless (or (null previous) (eq (todo-write-row-kind previous) kind))
                   (concat (todo-write-detail-shape previous)
                           (propertize (format " %s " (todo-write-row-shape 'arrow))
                                       'face 'todo-write-time)
                           (todo-write-detail-shape item)))))
     "  ")))

(provide 'todo-write-history)
;;; todo-write-history.el ends here
