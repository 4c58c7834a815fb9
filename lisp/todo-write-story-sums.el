;;; todo-write-story-sums.el --- What was done, in sums  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The first lines below an open row: when, how many files, commands and tokens, and the
;; files that changed, one a line, those that changed most first.

;;; Code:

(require 'todo-write)
(require 'todo-write-machines)
(require 'todo-write-row)
(require 'todo-write-text)

(defconst todo-write-story-sums--most-files 10
  "Number of files that an open row shows.
A line below them opens the others.")

(defun todo-write-story-sums-relative (path project)
  "Return PATH relative to PROJECT if it is below that.
The agent chose the name, so no file name handler may see it."
  (string-remove-prefix (file-name-as-directory (todo-write-machines-local-name (or project "/")))
                        path))

(defun todo-write-story-sums-place (path line project)
  "Return PATH relative to PROJECT, and LINE, a number or nil, after it."
  (concat (todo-write-story-sums-relative path project) (and line (format ":%d" line))))

;;; Times

(defun todo-write-story-sums--span (times)
  "Return when a task with TIMES was in progress, or nil."
  (pcase-let ((`(,started ,completed ,created)
               (mapcar (lambda (key) (plist-get times key)) '(:started :completed :created))))
    (cond ((and started completed)
           (concat (todo-write-text-clock started) "–" (todo-write-text-clock completed started)))
          ((and created completed)
           (format "added %s, completed %s" (todo-write-text-clock created)
                   (todo-write-text-clock completed created)))
          (completed (concat "completed " (todo-write-text-clock completed)))
          (started (concat "since " (todo-write-text-clock started)))
          (created (concat "added " (todo-write-text-clock created))))))

(defun todo-write-story-sums-clock-span (from to &optional before)
  "Return the time from FROM to TO, milliseconds, with the date where it is needed.
The date of FROM is not needed if it is that of BEFORE, by default today,
that of TO not within a day.  Within a minute, return one time."
  (let* ((start (todo-write-text-clock from before))
         (end (if (< (- to from) 86400000) (format-time-string "%R" (/ to 1000))
                (todo-write-text-clock to from))))
    (if (and (< (- to from) 60000) (string-suffix-p end start))
        start
      (concat start "–" end))))

;;; Work

(defun todo-write-story-sums--work (work)
  "Return WORK, as from `todo-write-work', as a list of strings."
  (let* ((commands (plist-get work :commands))
         (run (or (plist-get commands :run) 0))
         (failed (or (plist-get commands :failed) 0))
         (refused (or (plist-get work :refused) 0))
         (files (length (plist-get work :files)))
         (responses (or (plist-get work :responses) 0))
         (tokens (plist-get work :tokens))
         (shown (todo-write-story-sums-tokens tokens)))
    (delq nil
          (list (when (> files 0) (todo-write-text-count files "file"))
                (cond ((> failed 0) (format "%d of %s failed" failed
                                            (todo-write-text-count run "command")))
                      ((> run 0) (todo-write-text-count run "command")))
                (when (> refused 0) (format "%d refused" refused))
                (when (> responses 0) (todo-write-text-count responses "response"))
                (when shown
                  (todo-write-text-helped
                   shown
                   (concat "Tokens: new ones that the model read, those that it wrote"
                           (if (plist-get tokens :atLeast) " at least" "")
                           ", and those that it read again from its cache")))
                (when (plist-get work :models)
                  (mapconcat (lambda (model)
                               ;; All such names have these parts.
                               (replace-regexp-in-string "\\`claude-\\|-20[0-9]\\{6\\}\\'" ""
                                                         (todo-write-text-line model 40)))
                             (plist-get work :models) ", "))
                (when-let* ((others (plist-get work :sharedWith)))
                  (todo-write-text-helped
                   (concat "shared with " (todo-write-text-count others "other task"))
                   "These were in progress, too, so that they have the same work"))))))

(defun todo-write-story-sums-tokens (tokens)
  "Return TOKENS, a plist as in `todo-write-work', as a string, or nil if none."
  (when (seq-some (lambda (key) (< 0 (or (plist-get tokens key) 0)))
                  '(:input :output :cacheRead :cacheWrite))
    (format "new %s, out %s%s, re-read %s"
            (todo-write-text-number (+ (plist-get tokens :input)
                                       (plist-get tokens :cacheWrite)))
            (if (plist-get tokens :atLeast) (todo-write-text-shape 'at-least) "")
            (todo-write-text-number (plist-get tokens :output))
            (todo-write-text-number (plist-get tokens :cacheRead)))))

;;; Lines

(defun todo-write-story-sums-insert (thread id width)
  "Insert what was done for item ID of THREAD in sums, filled to WIDTH.
Return the date that this shows, or nil if it shows no time."
  (let ((work (todo-write-work thread id))
        (times (and (stringp id) (todo-write-times thread id)))
        (project (plist-get (todo-write-about thread) :project)))
    (todo-write-row-insert-flow
     (mapcar (lambda (part) (propertize part 'face 'todo-write-detail))
             (append (ensure-list (todo-write-story-sums--span times))
                     (todo-write-story-sums--work work)))
     nil 5 width)
    (todo-write-story-sums--insert-files (plist-get work :files) project (cons 'files id) width)
    (when (plist-get work :moreFiles)
      (todo-write-row-insert-flow
       (list (propertize todo-write-row-more-files 'face 'todo-write-detail)) nil 5 width))
    (when-let* ((time (seq-some (lambda (key) (plist-get times key))
                                '(:started :created :completed))))
      (format-time-string "%F" (/ time 1000)))))

(defun todo-write-story-sums--insert-files (files project key width)
  "Insert FILES of PROJECT, a line each in columns, WIDTH columns wide.
KEY is what opens all of them."
  (let* ((sorted (seq-sort-by (lambda (file) (+ (plist-get file :added) (plist-get file :removed)))
                              #'> files))
         (rest (and (not (member key todo-write-row-open))
                    ;; A line would take as much room as the last file.
                    (nthcdr (1+ todo-write-story-sums--most-files) sorted)
                    (nthcdr todo-write-story-sums--most-files sorted)))
         (shown (if rest (seq-take sorted todo-write-story-sums--most-files) sorted))
         (paths (mapcar (lambda (file)
                          (todo-write-text-line
                           (todo-write-story-sums-relative (plist-get file :path) project)))
                        shown))
         (lines (cl-flet ((column (lines)
                            (let* ((texts (mapcar (lambda (line) (or line "")) lines))
                                   (width (apply #'max 0 (mapcar #'string-width texts))))
                              (mapcar (lambda (text) (string-pad text width nil t)) texts))))
                  (cl-mapcar
                   (lambda (added removed) (string-join (remove "" (list added removed)) " "))
                   (column (mapcar (lambda (file)
                                     (todo-write-row-lines (plist-get file :added) 0 t))
                                   shown))
                   (column (mapcar (lambda (file)
                                     (todo-write-row-lines 0 (plist-get file :removed) t))
                                   shown)))))
         (by-command (seq-some (lambda (file) (plist-get file :byCommand)) shown))
         (room (min (apply #'max 0 (mapcar #'todo-write-text-width paths))
                    (max 10 (- width 5 2 (if lines (todo-write-text-width (car lines)) 0)
                               (if by-command 12 0))))))
    (cl-loop for file in shown
             for path in paths
             for numbers in lines
             do (insert (todo-write-row-button
                         (string-trim-right
                          (todo-write-row-align
                           "     " (todo-write-text-truncate-start path room) (+ 7 room) numbers
                           (if (plist-get file :byCommand)
                               (propertize "  by command" 'face 'todo-write-detail)
                             "")))
                         'todo-write-file "RET, mouse-1: visit the file; =: show its changes"
                         'todo-write-file (plist-get file :path)
                         'todo-write-key (cons (cdr key) (plist-get file :path)))
                        "\n"))
    (when rest
      (insert (todo-write-row-button
               (propertize (format "     %s more" (todo-write-text-count (length rest) "file"))
                           'face 'todo-write-detail)
               'todo-write-part "RET, mouse-1: show them" 'todo-write-toggle key)
              "\n"))))

(provide 'todo-write-story-sums)
;;; todo-write-story-sums.el ends here
