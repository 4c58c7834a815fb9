;;; bench-held.el --- Showing a plan that another Emacs writes  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `todo-write-show' on a thread whose journal another Emacs has open, against a
;; thread of this Emacs with the same list and history.

;;; Code:

(require 'bench)
(require 'bench-ways)

(defconst bench-held--size 200
  "Number of tasks in the plan, and of revisions in its history.")

(defun bench-held--start-writer ()
  "Start and return an Emacs that writes the thread \"held\" and keeps it open.
It exits when its input ends."
  (let* ((said "")
         (form `(progn (require 'bench-ways)
                       (setq todo-write-directory ,bench-folder)
                       (bench-write-history "held" ,bench-held--size)
                       (princ "written")
                       (ignore-errors (read-from-minibuffer ""))))
         (writer (make-process
                  :name "writer" :connection-type 'pipe :noquery t
                  :command (list (expand-file-name invocation-name invocation-directory)
                                 "-Q" "--batch" "-L"
                                 (file-name-directory (locate-library "bench-ways"))
                                 "--eval" (prin1-to-string form))
                  :filter (lambda (_ text) (setq said (concat said text))))))
    (with-timeout (60 (error "The other Emacs said: %s" said))
      (while (not (string-search "written" said))
        (accept-process-output writer 1)))
    writer))

(defun bench-held--way (thread &optional before)
  "Return the way that shows THREAD; do not measure the call of BEFORE first."
  (make-bench-way :begin #'ignore
                  :call (lambda (_) (todo-write-show thread))
                  :settle (lambda ()
                            (mapc #'kill-buffer todo-write-view-draw-buffers)
                            (when before (funcall before)))))

(defun bench-held--journal ()
  "Return the journal of the thread \"held\"."
  (car (directory-files bench-folder t "\\`held-.*\\.jsonl\\'")))

(setq todo-write-directory bench-folder)
(bench-write-history "free" bench-held--size)
(let ((writer (bench-held--start-writer)))
  (unwind-protect
      (let* ((touch (lambda () (set-file-times (bench-held--journal))))
             (samples (bench-compare
                       `((free . ,(bench-held--way "free"))
                         (held . ,(bench-held--way "held"))
                         (changed . ,(bench-held--way "held" touch)))
                       [nil] 5 bench-rounds))
             (work (format "show a plan of %d rows and revisions" bench-held--size)))
        (unless (and (equal (todo-write-items "held") (todo-write-items "free"))
                     (not (member "held" (todo-write-threads-loaded))))
          (error "The other Emacs does not hold the plan"))
        (bench-row (concat work " that another Emacs writes") (alist-get 'held samples)
                   "its own plan" (alist-get 'free samples) :budget 2)
        (bench-row (concat work " that another Emacs changed") (alist-get 'changed samples)
                   "its own plan" (alist-get 'free samples)))
    (delete-process writer)))

(provide 'bench-held)
;;; bench-held.el ends here
