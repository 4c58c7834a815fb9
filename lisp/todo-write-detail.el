;;; todo-write-detail.el --- What an open row shows  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The properties of a task below its open row, and its changes.  What the agent did for it
;; is in todo-write-story.el.

;;; Code:

(require 'todo-write)
(require 'todo-write-row)
(require 'todo-write-text)

(defface todo-write-thought '((t :inherit (italic todo-write-detail)))
  "Face of the agent's thoughts."
  :group 'todo-write-faces)

(defface todo-write-modified '((t :inherit warning))
  "Face of the mark of tasks whose text changed."
  :group 'todo-write-faces)

(defface todo-write-moved '((t :inherit font-lock-function-name-face))
  "Face of the mark of tasks that moved or changed their status."
  :group 'todo-write-faces)

;;; Paragraphs

(defun todo-write-detail-string (thread item width)
  "Return the lines below the open row of ITEM of THREAD, filled to WIDTH.
These are its text, unless the row shows it, its priority, its owner and
its blockers."
  (let ((text (todo-write-text-of-item item (todo-write-row-kind item)))
        (content (todo-write-text-plain (plist-get item :content)))
        (priority (plist-get item :priority))
        (owner (plist-get item :owner))
        (blockers (todo-write-detail--blockers thread item)))
    (todo-write-row-string
      (dolist (paragraph
               (list (unless (and (equal content text)
                                  ;; The shape takes three columns; all else gives way to the text.
                                  (<= (todo-write-text-width text) (- width 3)))
                       (propertize content 'face 'default))
                     (and priority (format "Priority: %s" (todo-write-text-plain priority)))
                     (and owner (concat "Owner: " (todo-write-text-plain owner)))
                     (and blockers (concat "After: " blockers))))
        (when paragraph
          (todo-write-detail-insert-filled paragraph (max 15 width) 5 5)))
      ;; Appended faces do not override existing ones.
      (add-face-text-property (point-min) (point-max) 'todo-write-detail t))))

(defun todo-write-detail-insert-filled (line width column hang &optional as-it-is)
  "Insert LINE at COLUMN, broken into lines of WIDTH columns, and a newline.
HANG is the indentation of all lines but the first.  Non-nil AS-IT-IS
breaks them at any character, as is best for code."
  (let ((start (point))
        (fill-column width)
        (adaptive-fill-mode nil)
        (sentence-end-double-space nil)
        ;; Without room after it, lines would be broken forever.
        (fill-prefix (make-string (max 0 (min hang (- width 10))) ?\s)))
    (insert (make-string column ?\s) line "\n")
    (when (> (string-width line) (- width column))
      (save-restriction
        (narrow-to-region start (point))
        (unless as-it-is
          (fill-region-as-paragraph start (point) nil t))
        (goto-char start)
        (while (not (eobp))
          (if (<= (move-to-column width) width)
              (unless (eolp) (insert "\n" fill-prefix))
            (backward-char)
            (insert "\n" fill-prefix))
          (when (eolp) (forward-line)))))))

(defun todo-write-detail--blockers (thread item)
  "Return the contents of the items of THREAD that ITEM waits for, or nil."
  (when-let* ((blockers (delq nil (mapcar (lambda (id) (todo-write-item thread id))
                                          (plist-get item :blockedBy)))))
    (mapconcat (lambda (blocker) (todo-write-text-plain (plist-get blocker :content)))
               blockers "; ")))

;;; Its history

(defun todo-write-detail-changes (thread id)
  "Return the changes of the item ID of THREAD as a list of (TIME . TEXT).
That the agent added, began and completed it is left out up to the first
change that is out of order or the user's: the sums of its work say when."
  (let ((rank -1) (plain t))
    (cl-loop
     for (revision . changes) in (todo-write-item-changes thread id)
     for operation = (plist-get revision :operation)
     for who = (cond ((equal operation "undo") ", undone")
                     ((equal (plist-get revision :author) "user") ", by you"))
     do (setq plain (and plain (equal operation "write")))
     append
     (cl-loop
      for change in changes
      for new = (seq-position '("pending" "in_progress" "completed")
                              (plist-get (plist-get change :item) :status))
      for is-text = (not (member (plist-get change :type) '("added" "removed" "status_changed")))
      do (unless is-text
           (setq plain (and plain new (> new rank))
                 rank (if plain new rank)))
      when (or is-text (not plain))
      append (mapcar (lambda (text) (cons (plist-get revision :timestamp) (concat text who)))
                     (todo-write-detail--change thread change revision))))))

(defun todo-write-detail--removal (change revision)
  "Return how CHANGE of REVISION removed its item from the list, a participle.
Only what the agent left out unfinished, while its list went on, was
dropped."
  (cond ((equal (plist-get revision :operation) "undo") "removed")
        ((equal (plist-get revision :author) "user") "deleted")
        ((plist-get change :cancelled) "cancelled")
        ((plist-get revision :replaces) "replaced")
        ((equal (plist-get (plist-get change :previousItem) :status) "completed") "cleared")
        (t "dropped")))

(defun todo-write-detail-departure (thread id)
  "Return how ID left the list of THREAD; see `todo-write-detail--removal'."
  (pcase-let ((`(,revision . ,changes) (car (last (todo-write-item-changes thread id)))))
    (todo-write-detail--removal (car (last changes)) revision)))

(defun todo-write-detail--change (thread change revision)
  "Return strings that describe CHANGE, a plist, of an item of THREAD.
REVISION, a plist, made it."
  (let* ((type (plist-get change :type))
         (mark (concat (todo-write-detail-mark type) " "))
         (item (plist-get change :item))
         (previous (plist-get change :previousItem)))
    (pcase type
      ("added" (list (concat mark "added " (todo-write-detail-shape item t))))
      ("removed"
       (let ((how (todo-write-detail--removal change revision)))
         (list (concat (if (equal how "dropped") mark
                         (concat (todo-write-text-shape 'minus) " "))
                       how))))
      ("reordered" (list (format "%smoved from %d to %d" mark
                                 (1+ (plist-get change :previousPosition))
                                 (1+ (plist-get change :position)))))
      (_ (cl-loop for key in '(:content :activeForm :priority :owner :blockedBy :status)
                  for text = (unless (equal (plist-get previous key) (plist-get item key))
                               (todo-write-detail--field-change thread key previous item))
                  when text collect text)))))

(defun todo-write-detail--field-change (thread key previous item)
  "Return how the field KEY changed from PREVIOUS to ITEM of THREAD, or nil.
Most renames change the active form together with the content, so its
change is shown only if the content is unchanged."
  (let* ((mark (concat (todo-write-detail-mark "modified") " "))
         (new (plist-get item key))
         (renamed (format "%s %s %s"
                          (propertize (todo-write-text-plain (format "%s" (plist-get previous key)))
                                      'face 'todo-write-removed)
                          (todo-write-text-shape 'arrow)
                          (todo-write-text-plain (format "%s" new)))))
    (pcase key
      (:status (concat (todo-write-detail-shape previous) " " (todo-write-text-shape 'arrow)
                       " " (todo-write-detail-shape item t)))
      (:blockedBy (concat mark "after: " (or (todo-write-detail--blockers thread item) "none")))
      (:content (concat mark renamed))
      (:activeForm (when (equal (plist-get previous :content) (plist-get item :content))
                     (concat mark "active form: " renamed)))
      (_ (format "%s%s %s" mark (substring (symbol-name key) 1)
                 (todo-write-text-plain (or new "none")))))))

(defun todo-write-detail-mark (type)
  "Return the mark of a change of TYPE, a string with a shape."
  (pcase-let ((`(,shape ,face)
               (pcase type
                 ("added" '(added todo-write-lines-added))
                 ("modified" '(modified todo-write-modified))
                 ("status_changed" '(arrow todo-write-moved))
                 ("reordered" '(moved todo-write-moved))
                 ("removed" '(minus todo-write-removed-shape)))))
    (propertize (todo-write-text-shape shape) 'face face)))

(defun todo-write-detail-shape (item &optional status)
  "Return the shape of ITEM, with its status in words if STATUS is non-nil."
  (let ((kind (todo-write-row-kind item)))
    (concat (propertize (todo-write-text-shape kind) 'face (todo-write-row-shape-face kind))
            (and status (concat " " (string-replace "_" " " (plist-get item :status)))))))

(provide 'todo-write-detail)
;;; todo-write-detail.el ends here
