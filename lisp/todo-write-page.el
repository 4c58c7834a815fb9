;;; todo-write-page.el --- Read-only buffers as wide as their windows  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The plan, its history and timeline, and the places that a search found are pages:
;; read-only buffers that are drawn for the narrowest of their windows, and again when
;; that changes.  Point and windows keep their line numbers; a page whose lines shift
;; says what they keep instead.

;;; Code:

(require 'cl-lib)
(require 'todo-write)

(defcustom todo-write-view-max-width nil
  "Maximum number of columns of a row, or nil to use the width of the window."
  :type '(choice (const :tag "Width of the window" nil) natnum)
  :group 'todo-write-view
  :package-version '(todo-write . "0.2.0"))

(defvar-local todo-write-page--width nil
  "Columns the rows were last drawn for.")

(defun todo-write-page--fitting-width ()
  "Return the number of columns that fits every window of the current buffer."
  (let ((windows (get-buffer-window-list nil nil t))
        (most (or todo-write-view-max-width most-positive-fixnum)))
    (if windows
        (max 10 (apply #'min most (mapcar #'todo-write-page--columns windows)))
      (or todo-write-page--width (min 80 most)))))

(defun todo-write-page--columns (window)
  "Return the number of columns that a row has in WINDOW.
The font may be scaled, and line numbers take some."
  (- (if (and face-remapping-alist (display-graphic-p (window-frame window)))
         (floor (window-body-width window t) (window-font-width window))
       (window-body-width window))
     (if display-line-numbers
         (with-selected-window window
           (+ 2 (line-number-display-width)))
       0)
     1))

(defun todo-write-page--set-up (draw &optional fit)
  "Set up the current buffer as a read-only page as wide as its windows.
DRAW draws it, also for `revert-buffer'.  FIT is called with a window that
has changed its size; by default, it calls DRAW if the width differs."
  (setq truncate-lines t
        ;; Hebrew and Arabic tasks must not reverse their rows.
        bidi-paragraph-direction 'left-to-right
        show-trailing-whitespace nil)
  (setq-local revert-buffer-function draw)
  (buffer-disable-undo)
  (add-hook 'window-size-change-functions
            (or fit
                (lambda (window)
                  (with-current-buffer (window-buffer window)
                    (unless (eql todo-write-page--width (todo-write-page--fitting-width))
                      (funcall draw)))))
            nil t))

(defmacro todo-write-page--with-new-text (&rest body)
  "Replace the text of this buffer by what BODY inserts; keep point on its line.
The windows that show it stay at their lines, too."
  (declare (indent 0) (debug t))
  `(todo-write-page--replace-text (lambda () ,@body)))

(defun todo-write-page--replace-text (insert &optional place find)
  "Replace the text of this buffer by what INSERT, a function, inserts.
Point, the points of all windows and their starts stay on their lines.
If PLACE and FIND are non-nil, they stay at their places: PLACE returns
that of a position, and FIND the position of a place in the new text.
Where one of them returns nil, the line counts."
  (let* ((inhibit-read-only t)
         (windows (get-buffer-window-list nil nil t))
         (note (lambda (position)
                 (cons (line-number-at-pos position) (and place (funcall place position)))))
         (here (funcall note (point)))
         (notes (mapcar (lambda (window)
                          (cons (funcall note (window-point window))
                                (funcall note (window-start window))))
                        windows)))
    (erase-buffer)
    (funcall insert)
    (set-buffer-modified-p nil)
    (cl-flet ((go (note)
                (goto-char (point-min))
                (forward-line (1- (car note)))
                (when-let* ((position (and (cdr note) (funcall find (cdr note)))))
                  (goto-char position))
                (point)))
      (cl-loop for window in windows
               for (point . start) in notes
               do (set-window-start window (go start) t)
                  (set-window-point window (go point)))
      (go here))))

(defun todo-write-page--pop-to (name mode thread &optional action)
  "Display the buffer NAME in MODE for THREAD; return it.
ACTION is passed to `pop-to-buffer'."
  ;; It signals for what is no key, before a buffer has it.
  (when thread
    (todo-write-summary thread))
  (pop-to-buffer (get-buffer-create name) action)
  (unless (derived-mode-p mode)
    (funcall mode))
  (setq todo-write-view-thread thread)
  (current-buffer))

(provide 'todo-write-page)
;;; todo-write-page.el ends here
