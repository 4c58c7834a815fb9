;;; soak-checks.el --- The invariants of the soak  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The plan's buffer is as if it were drawn again.  Subscribers and hooks hear of every
;; revision.  The journals return every acknowledged list, also after a quit in the
;; middle of a write.

;;; Code:

(require 'soak-work)

(declare-function todo-write-dyn--loaded "ext:todo-write-dyn")

(defun soak--must (holds &rest words)
  "Signal an error with WORDS, arguments of `format', unless HOLDS."
  (unless holds
    (error "%s" (apply #'format words))))

;;; Notification

(defvar soak--told (make-hash-table :test #'equal)
  "The newest revision of each thread that subscribers heard of.")

(defvar soak--hooked (make-hash-table :test #'equal)
  "The newest revision of each thread that the hook heard of.")

(defun soak--note-event (event)
  "Note the revision of EVENT, a PLAN_UPDATE."
  (puthash (plist-get event :threadId) (plist-get (plist-get event :content) :revision)
           soak--told))

(defun soak--note-change (thread outcome)
  "Note the revision of THREAD in OUTCOME."
  (puthash thread (max (plist-get outcome :revision) (gethash thread soak--hooked 0))
           soak--hooked))

(defun soak--note-forgotten (thread what _data)
  "Remove the notes about THREAD if WHAT is `forgotten'."
  (when (eq what 'forgotten)
    (remhash thread soak--told)
    (remhash thread soak--hooked)))

(defun soak-listen ()
  "Start to note revisions; return a function that stops it."
  (let ((handle (todo-write-subscribe #'soak--note-event :type "PLAN_UPDATE")))
    (add-hook 'todo-write-change-functions #'soak--note-change)
    (add-hook 'todo-write-events-functions #'soak--note-forgotten)
    (lambda ()
      (todo-write-unsubscribe handle)
      (remove-hook 'todo-write-change-functions #'soak--note-change)
      (remove-hook 'todo-write-events-functions #'soak--note-forgotten))))

(defun soak--check-told ()
  "Check that the hook and the subscribers heard of every revision."
  (dolist (thread (todo-write-threads-loaded))
    (let ((revision (plist-get (todo-write-summary thread) :revision)))
      (dolist (told (list soak--told soak--hooked))
        (soak--must (equal (gethash thread told 0) revision) "%s is at revision %d, heard of was %S"
                    thread revision (gethash thread told))))))

;;; Display

(defun soak--drawn ()
  "Return the text of the plan's buffer without details and times."
  (let ((open todo-write-view-rows-open))
    (setq todo-write-view-rows-open nil)
    (todo-write-view-draw-all)
    (prog1 (replace-regexp-in-string
            "[ 0-9:]+" " " (buffer-substring-no-properties (point-min) (point-max)))
      (setq todo-write-view-rows-open open))))

(defun soak--check-redraw ()
  "Check that redrawing the plan's buffer does not change it."
  (when-let* ((buffer (get-buffer todo-write-view-buffer-name)))
    ;; A redisplay fits it to its windows.
    (redisplay t)
    (with-current-buffer buffer
      (let ((before (soak--drawn)))
        (todo-write-view-refresh)
        (let ((after (soak--drawn)))
          (soak--must (equal before after) "Redrawn, %s became %s" before after))
        (todo-write-view-refresh)))))

(defun soak--check-mode-line ()
  "Check that the mode line of the current buffer agrees with the list of its thread."
  (when-let* ((thread todo-write-mode-line--thread)
              (items (todo-write-items thread)))
    (let ((completed (seq-count (lambda (item) (equal (plist-get item :status) "completed"))
                                items)))
      (soak--must (if (zerop (length items))
                      ;; It counts done plans that the user has not seen.
                      (string-match-p "\\`\\(?:\\[✓[0-9]+\\] \\)?\\'"
                                      (or todo-write-mode-line-string ""))
                    (string-prefix-p (format "[%d/%d" completed (length items))
                                     todo-write-mode-line-string))
                  "The mode line says %S of %d items" todo-write-mode-line-string (length items)))))

(defun soak-check ()
  "Check the invariants that hold after each operation."
  (soak--check-told)
  (todo-write-redraw)
  (soak--check-mode-line))

;;; Journals

(defmacro soak--with-copy (&rest body)
  "Run BODY with a copy of all journals, as a new Emacs would read them."
  (declare (indent 0))
  `(let ((todo-write-directory (make-temp-name (concat (directory-file-name todo-write-directory)
                                                       "-copy")))
         (from todo-write-directory)
         (todo-write-events-functions nil))
     ;; Nothing may have been written yet.
     (with-file-modes #o700 (make-directory from t))
     (copy-directory from todo-write-directory nil nil t)
     (unwind-protect (progn ,@body)
       (mapc #'todo-write-forget (todo-write-threads-loaded))
       (delete-directory todo-write-directory t)
       ;; Make the module use the usual folder again, for the times of rows.
       (let ((todo-write-directory from))
         (todo-write-threads-loaded)))))

(defun soak--kept (thread)
  "Return what the journal must keep of THREAD."
  (list (todo-write-items thread) (todo-write-revisions thread) (todo-write-about thread)
        (mapcar (lambda (item) (plist-get (todo-write-times thread (plist-get item :id)) :created))
                (todo-write-items thread))))

(soak-define replay 1
  "All journals are read again."
  (let* ((threads (seq-filter #'todo-write-revisions (todo-write-threads-loaded)))
         (kept (mapcar #'soak--kept threads)))
    (soak--with-copy
      (cl-mapc (lambda (thread kept)
                 (soak--must (equal kept (soak--kept thread))
                             "%s was %S, its journal says %S" thread kept (soak--kept thread)))
               threads kept)))
  (soak--check-redraw))

;;; Quit

(soak-define quit 2
  "The user presses C-g at a random moment while an agent writes."
  (let ((thread (soak--thread))
        (deadline (+ (float-time) 60))
        (killer nil))
    (soak--must
     (eq 'quit (condition-case nil
                   (progn
                     (setq killer (make-process
                                   :name "soak-quit" :noquery t :connection-type 'pipe
                                   :command (list "sh" "-c" (format "sleep 0.%03d; kill -INT %d"
                                                                    (random 40) (emacs-pid)))))
                     (while (< (float-time) deadline)
                       (todo-write thread (soak--input (soak--next-rows thread)))))
                 (quit 'quit)))
     "No quit came")
    (while (and killer (process-live-p killer))
      (soak--must (< (float-time) deadline) "Still waiting after a minute")
      (accept-process-output nil 0.02))))

(provide 'soak-checks)
;;; soak-checks.el ends here
