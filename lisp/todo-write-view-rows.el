;;; todo-write-view-rows.el --- What a buffer of a plan consists of  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The state of a buffer in `todo-write-view-mode': its thread, the ewoc node of
;; each row, found by the id of its task, and which rows are open.  Drawing,
;; folding and following build on this.

;;; Code:

(require 'ewoc)
(require 'subr-x)
(require 'cl-lib)
(require 'todo-write)
(require 'todo-write-row)

(defvar-local todo-write-view-thread nil
  "Key of the thread that this buffer shows, or nil.")

(defvar-local todo-write-view--ewoc nil
  "The ewoc of the rows.")

(defvar-local todo-write-view--nodes nil
  "Hash table from item id to ewoc node, ghosts included.")

(cl-defstruct (todo-write-view--row
               (:constructor todo-write-view--row
                             (id item &optional ghost
                                 &aux (category (todo-write-view--category id))))
               (:copier nil))
  "A row of the buffer: a task, or the ghost of one that was dropped.
CATEGORY is the symbol whose properties all its characters have; BELOW
says that there are lines below its own."
  id item ghost category below)

(defun todo-write-view--category (id)
  "Return a new symbol with the properties of the characters of the row of ID.
Given to each stretch of a row one by one, they would be copied for each."
  (let ((category (make-symbol "todo-write-row")))
    (setplist category
              ;; A list of its own, so that the mouse highlights one row only.
              (list 'todo-write-id id 'mouse-face (list 'highlight)
                    'help-echo #'todo-write-view--help))
    category))

(defun todo-write-view--help (_window buffer position)
  "Return the full text of the row at POSITION of BUFFER."
  (with-current-buffer buffer
    (when-let* ((node (gethash (get-text-property position 'todo-write-id)
                               todo-write-view--nodes))
                (item (todo-write-view--row-item (ewoc-data node))))
      (propertize (todo-write-row-text item (todo-write-row-kind item))
                  'help-echo-inhibit-substitution t))))

(defvar-local todo-write-view--running nil
  "Hash table whose keys are the ids of the tasks in progress.")

(defvar-local todo-write-view--open nil
  "Hash table whose keys are the ids of the rows that show their detail.")

(defvar-local todo-write-view--ghosts nil
  "Ids of the rows that go with the next revision.")

(defvar-local todo-write-view--children nil
  "Alist of item ids and the keys of the threads that work for them.
The id nil stands for threads that work for no row of this buffer.")

(defvar-local todo-write-view--summary nil
  "What `todo-write-summary' said when the buffer was last drawn.")

(defvar-local todo-write-view--drawn nil
  "Number of the revision that the rows show, or nil while they are redrawn.")

(defvar-local todo-write-view--header nil
  "The summary that the header shows.")

(defvar-local todo-write-view--count nil
  "The count of tasks in this buffer's mode line, which never scrolls away.")

(defvar-local todo-write-view--width nil
  "Columns the rows were last drawn for.")

(defun todo-write-view--make-tables ()
  "Give the current buffer its empty tables of rows."
  (setq todo-write-view--nodes (make-hash-table :test #'equal)
        todo-write-view--running (make-hash-table :test #'equal)
        todo-write-view--open (make-hash-table :test #'equal)))

(defvar todo-write-view--buffers nil
  "The buffers in `todo-write-view-mode'.")

(defun todo-write-view--live-buffers ()
  "Return the buffers in `todo-write-view-mode'.
One that runs no hooks, as temporary ones do, goes without a word."
  (if (cl-loop for buffer in todo-write-view--buffers always (buffer-live-p buffer))
      todo-write-view--buffers
    (setq todo-write-view--buffers
          (cl-remove-if-not #'buffer-live-p todo-write-view--buffers))))

(defsubst todo-write-view--paused-p ()
  "Return non-nil if the thread was paused when last drawn."
  (eq (plist-get todo-write-view--summary :state) 'paused))

(defun todo-write-view--current-id ()
  "Return the id of the task that was in progress when last drawn, or nil."
  (plist-get (plist-get todo-write-view--summary :current) :id))

(defun todo-write-view--start (id)
  "Return the position of the row of ID, or nil."
  (when-let* ((node (and id (gethash id todo-write-view--nodes))))
    (marker-position (ewoc-location node))))

(defun todo-write-view--end (start)
  "Return the position after the text of the row at START."
  (next-single-property-change start 'todo-write-id nil (point-max)))

(provide 'todo-write-view-rows)
;;; todo-write-view-rows.el ends here
