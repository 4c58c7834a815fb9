;;; bench-ways.el --- The ways of showing a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The agents' calls, and three ways to handle and show them in the only window
;; of a frame: todo-write, plain Lisp and, if it is on the load path, upstream
;; Efrit.

;;; Code:

(require 'bench)
(require 'bench-plain)
(require 'todo-write-view)
(require 'todo-write-mode-line)

;;; Calls

(defconst bench-verbs ["Parse" "Render" "Check" "Send" "Store" "Sort" "Count" "Merge"]
  "The first words of tasks.")

(defun bench-todo (n current)
  "Return task N as a host decodes it, while task CURRENT is in progress."
  (let ((todo (make-hash-table :test #'equal :size 3))
        (content (format "%s the records of customer %d in region %d"
                         (aref bench-verbs (% n 8)) (* n 7919) (% n 97))))
    (puthash "content" content todo)
    (puthash "status" (cond ((< n current) "completed")
                            ((= n current) "in_progress")
                            (t "pending"))
             todo)
    (puthash "activeForm" (concat "At it: " content) todo)
    todo))

(defun bench-inputs (size)
  "Return a vector of calls with SIZE tasks and two changes between each.
From call to call, the next task is in progress.  Equal tasks are one
object, which saves memory and speeds up none of the ways."
  (let* ((steps (min (1- size) 10))
         (first (/ (- size steps) 2))
         (todos (vconcat (mapcar (lambda (n) (bench-todo n first)) (number-sequence 0 (1- size))))))
    (vconcat
     (mapcar (lambda (step)
               (let ((input (make-hash-table :test #'equal :size 1))
                     (list (copy-sequence todos)))
                 (dotimes (n (1+ step))
                   (aset list (+ first n) (bench-todo (+ first n) (+ first step))))
                 (puthash "todos" list input)
                 input))
             (number-sequence 0 (1- steps))))))

(defun bench-texts (inputs)
  "Return INPUTS as JSON texts."
  (vconcat (mapcar #'json-serialize inputs)))

;;; Buffers

(defun bench--show (buffer)
  "Show BUFFER in the only window."
  (switch-to-buffer buffer)
  ;; Emacs 28 in a terminal can crash if garbage is collected before and after a
  ;; window is deleted that was created since the last redisplay: the glyphs then
  ;; taken from the screen refer to freed strings.
  (redisplay t)
  (delete-other-windows))

(defun bench--close ()
  "Kill the buffer of the plan if it exists."
  (when-let* ((buffer (get-buffer bench-plain-buffer)))
    (kill-buffer buffer)))

(defvar efrit-todos-auto-show)

(defun bench-closed (way)
  "Return WAY after the user has closed the plan's buffer."
  (let ((closed (copy-bench-way way)))
    (setf (bench-way-begin closed)
          (lambda ()
            (funcall (bench-way-begin way))
            (bench--close)
            (setq efrit-todos-auto-show nil))
          (bench-way-end closed)
          (lambda ()
            (setq efrit-todos-auto-show t)
            (funcall (bench-way-end way))))
    closed))

;;; todo-write

(defconst bench-thread "bench"
  "Key of the thread.")

(defconst bench-folder (expand-file-name "journal/" (getenv "HOME"))
  "Folder of the journals.")

(setq todo-write-max-items 100000)

;; Beside Efrit, ours has its name and no line about that as with this mode, which would
;; replace Efrit's way to draw.
(defvar todo-write-efrit-mode t)

(defun bench--ours-begin (folder first)
  "Show FIRST, a call, in a new thread with its journal in FOLDER, or none."
  (setq todo-write-directory folder)
  (unless (plist-get (todo-write bench-thread first) :ok)
    (error "Refused"))
  (todo-write-mode-line-mode 1)
  (bench--show (todo-write-show bench-thread)))

(defun bench-write-history (thread size)
  "Give THREAD a list of SIZE tasks and as many revisions."
  (let ((inputs (bench-inputs size)))
    (dotimes (n size)
      (unless (plist-get (todo-write thread (bench--input inputs n)) :ok)
        (error "Refused")))))

(defun bench-ours-settle ()
  "End the flash of rows, as the timer would."
  (dolist (buffer (todo-write-view-draw-live-buffers))
    (with-current-buffer buffer
      (setq todo-write-view-draw-flashes nil)
      (todo-write-view-draw-all))))

(defun bench-ours-end ()
  "Forget the thread."
  (mapc #'kill-buffer (todo-write-view-draw-live-buffers))
  (todo-write-mode-line-mode -1)
  (todo-write-forget bench-thread))

(defun bench-ours (folder first)
  "Return the way of todo-write, with a journal in FOLDER unless that is nil.
FIRST is the call before the measured ones."
  (make-bench-way :begin (lambda () (bench--ours-begin folder first))
                  :call (lambda (input)
                          (todo-write bench-thread input)
                          (todo-write-redraw))
                  :settle #'bench-ours-settle
                  :end #'bench-ours-end))

;;; Plain Lisp

(defun bench--plain-begin (first)
  "Show FIRST, a call."
  (bench--show (get-buffer-create bench-plain-buffer))
  (bench-plain-mode)
  (bench-plain-write first))

(defun bench-plain-end ()
  "Forget the list."
  (bench--close)
  (setq bench-plain-items nil))

(defun bench-plain (first)
  "Return the way of plain Lisp; FIRST is the call before the measured ones."
  (make-bench-way :begin (lambda () (bench--plain-begin first))
                  :call #'bench-plain-write
                  :end #'bench-plain-end))

;;; Upstream Efrit

(defvar efrit-do--current-todos)
(defvar efrit-data-directory)
(declare-function efrit-do--handle-todo-write "ext:efrit-do-handlers")

(defvar bench-efrit-p
  (and (locate-library "efrit-do-handlers")
       ;; First, so that its advice applies to the handler from the start.
       (require 'efrit-ui-todos)
       (require 'efrit-do)
       t)
  "Non-nil if upstream Efrit is installed.")

(defun bench--efrit-write (input)
  "Pass INPUT to Efrit's handler, whose advice draws and sets the mode line."
  (efrit-do--handle-todo-write
   (if (stringp input) (json-parse-string input) input)))

(defun bench--efrit-begin (first)
  "Show FIRST, a call."
  (bench--efrit-write first)
  (bench--show "*efrit-todos*"))

(defun bench-efrit-end ()
  "Forget the list."
  (bench--close)
  (setq efrit-do--current-todos nil))

(defun bench-efrit (first)
  "Return the way of Efrit; FIRST is the call before the measured ones."
  (make-bench-way :begin (lambda () (bench--efrit-begin first))
                  :call #'bench--efrit-write
                  :end #'bench-efrit-end))

;;; Checks

(defun bench-check-drawn (way inputs)
  "Signal an error unless a call of WAY shows the last of INPUTS."
  (funcall (bench-way-begin way))
  (let ((last (aref inputs (1- (length inputs)))))
    (funcall (bench-way-call way) last)
    (with-current-buffer "*efrit-todos*"
      (seq-doseq (todo (gethash "todos" last))
        (goto-char (point-min))
        (unless (search-forward (gethash (if (and (equal (gethash "status" todo) "in_progress")
                                                  (derived-mode-p 'todo-write-view-mode))
                                             "activeForm"
                                           "content")
                                         todo)
                                nil t)
          (error "Not shown: %S" todo)))))
  (funcall (bench-way-end way)))

(defun bench--visible (way)
  "Return the lines that WAY shows, without times."
  (funcall (bench-way-begin way))
  (prog1 (mapcar (lambda (line) (replace-regexp-in-string " +\\([0-9]+:[0-9:]+\\)?\\'" "" line))
                 (split-string (buffer-substring-no-properties (point-min) (point-max)) "\n"))
    (funcall (bench-way-end way))))

(defun bench-check-same-text (a b)
  "Signal an error unless the ways A and B show the same text."
  (let ((a (bench--visible a))
        (b (bench--visible b)))
    (unless (equal a b)
      (error "Not the same text: %S" (cl-find-if-not (lambda (pair) (equal (car pair) (cdr pair)))
                                                     (cl-mapcar #'cons a b))))))

(provide 'bench-ways)
;;; bench-ways.el ends here
