;;; todo-write-places.el --- What Git knows of projects  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The overview names the repository of a linked worktree, and tells agents with equal
;; plans apart by their branches.  The hub reads that, since a file system may not
;; answer; `todo-write-places-functions' say that it has.

;;; Code:

(require 'todo-write)
(require 'todo-write-hub)

(defvar todo-write-places-functions nil
  "Abnormal hook, called with a project's folder when more is known of it.")

(defvar todo-write-places--known (make-hash-table :test #'equal)
  "What is known of projects, plists :repository :branch, by their folders.")

(defvar todo-write-places--asked nil
  "The folders that the hub was asked for and has not told of.")

(defconst todo-write-places--limit 1000
  "Maximum number of projects that are remembered.")

(defun todo-write-places-repository (project)
  "Return the name of the repository of which PROJECT, a folder, is a worktree.
Return nil if it is no worktree, and as long as that is not known."
  (plist-get (todo-write-places--get project) :repository))

(defun todo-write-places-branch (project)
  "Return the Git branch of PROJECT, a folder, as it was known last, or nil.
Let the hub look whether there is another one now."
  (prog1 (plist-get (todo-write-places--get project) :branch)
    (todo-write-places--ask project)))

(defun todo-write-places--get (project)
  "Return what is known of PROJECT, and have it found out if nothing is."
  (when project
    (or (gethash project todo-write-places--known)
        (ignore (todo-write-places--ask project)))))

(defun todo-write-places--ask (project)
  "Ask the hub for PROJECT, unless it was asked and has not answered."
  (unless (or (null project) (member project todo-write-places--asked)
              (>= (length todo-write-places--asked) todo-write-places--limit))
    ;; Some systems have no hub, and then this is unknown.
    (ignore-error todo-write-error
      (todo-write-hub-ensure)
      (add-hook 'todo-write-hub-functions #'todo-write-places--receive)
      (add-hook 'todo-write-hub-begin-hook #'todo-write-places--forget-questions)
      (todo-write-core-call todo-write-dyn--hub-look-up project)
      (push project todo-write-places--asked))))

(defun todo-write-places--forget-questions ()
  "Forget what was asked: another hub has begun, which knows nothing of it."
  (setq todo-write-places--asked nil))

(defun todo-write-places--receive (message)
  "Handle MESSAGE of the hub if it is about a project's folder."
  (when (eq 'place (plist-get message :kind))
    (let* ((project (plist-get message :folder))
           (place (list :repository (plist-get message :repository)
                        :branch (plist-get message :branch)))
           (known (gethash project todo-write-places--known)))
      (setq todo-write-places--asked (delete project todo-write-places--asked))
      (unless (equal place known)
        (when (>= (hash-table-count todo-write-places--known) todo-write-places--limit)
          (clrhash todo-write-places--known))
        (puthash project place todo-write-places--known)
        (when (or known (plist-get place :repository) (plist-get place :branch))
          (run-hook-with-args 'todo-write-places-functions project))))))

(provide 'todo-write-places)
;;; todo-write-places.el ends here
