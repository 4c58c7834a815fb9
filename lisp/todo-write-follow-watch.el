;;; todo-write-follow-watch.el --- Watch transcripts and their folders  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; One watch a file, and no more notifications than needed.  The library filenotify
;; watches the folder of a file: each line that is appended anywhere in it would be
;; reported once for each file that is watched there.  Inotify can watch the file
;; itself, and a folder for new names only, so it is used where it exists.
;; todo-write-follow.el decides what to watch.

;;; Code:

(require 'filenotify)
(require 'subr-x)

(declare-function inotify-add-watch "inotify.c" (filename aspect callback))
(declare-function inotify-rm-watch "inotify.c" (watch-descriptor))
(declare-function inotify-valid-p "inotify.c" (watch-descriptor))

(defvar todo-write-follow-watch--table (make-hash-table :test #'equal)
  "The watched files and folders and their descriptors.")

(defconst todo-write-follow-watch--aspects
  '((file modify attrib delete-self move-self)
    (folder create moved-to)
    (contents create moved-to moved-from delete modify))
  "What inotify reports of each kind of file.
A `folder' is watched for new names, `contents' is a folder whose files
are small and change seldom.")

(defun todo-write-follow-watch--add (file kind function)
  "Call FUNCTION with FILE and KIND whenever FILE changes.
KIND is one of `todo-write-follow-watch--aspects'.  Return the descriptor.
Signal `file-notify-error' if the system cannot watch FILE."
  (if (fboundp 'inotify-add-watch)
      (inotify-add-watch file (cdr (assq kind todo-write-follow-watch--aspects))
                         (lambda (event)
                           (when (or (not (eq kind 'folder))
                                     (todo-write-follow-watch--new-p (nth 2 event)))
                             (funcall function file kind))))
    (file-notify-add-watch
     file '(change)
     (lambda (event)
       (when (or (memq kind '(file contents)) (memq (nth 1 event) '(created renamed)))
         (unless (eq 'stopped (nth 1 event))
           (funcall function file kind)))))))

(defun todo-write-follow-watch--begin (file kind function)
  "Watch FILE from now on; return nil if the system cannot.
KIND and FUNCTION are as for `todo-write-follow-watch--add'."
  (ignore-error file-notify-error
    (puthash file (todo-write-follow-watch--add file kind function)
             todo-write-follow-watch--table)))

(defun todo-write-follow-watch--new-p (name)
  "Return non-nil if the new file NAME may be a transcript or a folder of them."
  (or (not (stringp name)) (string-suffix-p ".jsonl" name) (not (string-search "." name))))

(defun todo-write-follow-watch--valid-p (watch)
  "Return non-nil if the descriptor WATCH still reports."
  (if (fboundp 'inotify-valid-p) (inotify-valid-p watch) (file-notify-valid-p watch)))

(defun todo-write-follow-watch--remove (file)
  "Watch FILE no longer."
  (when-let* ((watch (gethash file todo-write-follow-watch--table)))
    (remhash file todo-write-follow-watch--table)
    (ignore-errors
      (if (fboundp 'inotify-rm-watch) (inotify-rm-watch watch) (file-notify-rm-watch watch)))))

(defun todo-write-follow-watch--set (wanted function end)
  "Watch the files of WANTED, a hash table of files and their kinds, and no others.
FUNCTION is called with a file and its kind when it changes.  Return a
cons (LEFT . NEW): LEFT is non-nil if files were left at END, a time; NEW
are the files that are watched from now on.  Those that the system cannot
watch are left to polls."
  (let (gone left new)
    (maphash (lambda (file watch)
               (unless (and (gethash file wanted) (todo-write-follow-watch--valid-p watch))
                 (push file gone)))
             todo-write-follow-watch--table)
    (mapc #'todo-write-follow-watch--remove gone)
    (maphash (lambda (file kind)
               (unless (or (gethash file todo-write-follow-watch--table)
                           ;; If the system watches no more, nothing is left.
                           (setq left (or left (and new (> (float-time) end)))))
                 (when (todo-write-follow-watch--begin file kind function)
                   (push file new))))
             wanted)
    (cons left new)))

(provide 'todo-write-follow-watch)
;;; todo-write-follow-watch.el ends here
