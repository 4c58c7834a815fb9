;;; todo-write-page.el --- Read-only buffers as wide as their windows  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The plan, a revision and the timeline are pages: read-only buffers that are drawn for
;; the narrowest of their windows, and again when that changes.  While a buffer of ours
;; is drawn, point and windows keep their lines, or what the buffer says instead.  What
;; can be pressed in one is a button.

;;; Code:

(require 'tabulated-list)
(require 'todo-write)

(defcustom todo-write-view-max-width nil
  "Maximum number of columns of a row, or nil to use the width of the window."
  :type '(choice (const :tag "Width of the window" nil) natnum)
  :group 'todo-write-view
  :package-version '(todo-write . "0.2.0"))

(defvar-local todo-write-page-width nil
  "Columns the rows were last drawn for.")

(defun todo-write-page-fitting-width ()
  "Return the number of columns that fits every window of the current buffer."
  (let ((windows (get-buffer-window-list nil nil t))
        (most (or todo-write-view-max-width most-positive-fixnum)))
    (if windows
        (max 10 (apply #'min most (mapcar #'todo-write-page--columns windows)))
      (or todo-write-page-width (min 80 most)))))

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

(defun todo-write-page-fit (window)
  "Fit WINDOW to its buffer, up to two thirds of its frame."
  (let ((most (max 10 (/ (* 2 (frame-height)) 3))))
    (with-current-buffer (window-buffer window)
      (save-excursion
        (save-restriction
          ;; Emacs would lay out all lines of a long text.
          (goto-char (point-min))
          (forward-line most)
          (narrow-to-region (point-min) (point))
          (fit-window-to-buffer window most))))))

(defun todo-write-page-reset-window ()
  "Let the selected window show the beginning of its buffer, all of each line."
  (goto-char (point-min))
  (set-window-start nil (point-min))
  (set-window-hscroll nil 0))

(defun todo-write-page-show-all ()
  "Let nothing in the current buffer be cut or hidden by the user's options."
  (setq-local truncate-lines nil
              truncate-partial-width-windows nil
              word-wrap nil
              line-spacing nil
              tab-width 8
              selective-display nil
              buffer-invisibility-spec nil
              buffer-display-table nil
              bidi-paragraph-direction 'left-to-right))

(defun todo-write-page-set-up (draw &optional fit)
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
                    (unless (eql todo-write-page-width (todo-write-page-fitting-width))
                      (funcall draw)))))
            nil t))

;;; Buttons

(define-button-type 'todo-write-button
  ;; Texts have faces of their own, and the keys of the mode press them.
  'face nil 'keymap nil 'help-echo nil)

(defun todo-write-page-set-up-list (draw)
  "Set up the current buffer as a tabulated list, which DRAW prints again.
DRAW is also for `revert-buffer'."
  (setq tabulated-list-padding 1
        bidi-paragraph-direction 'left-to-right
        show-trailing-whitespace nil)
  (setq-local revert-buffer-function draw))

(defun todo-write-page-click (event)
  "Do what RET does where EVENT, a click, was, if something can be pressed there."
  (declare (completion ignore))
  (interactive "e")
  (mouse-set-point event)
  (when (or (button-at (point)) (get-text-property (point) 'tabulated-list-id))
    (call-interactively (key-binding (kbd "RET")))))

(defun todo-write-page-move (count)
  "Move to the COUNT-th next button that is shown, or back if COUNT is negative.
Folded rows are one.  If there are fewer, stay at the last one, and return
nil; otherwise return non-nil."
  (let ((step (if (> count 0) #'next-button #'previous-button))
        (position (point)))
    (cl-loop
     repeat (abs count) while position
     do (while (and position
                    (setq position (when-let* ((button (funcall step position)))
                                     (button-start button)))
                    (invisible-p position)))
     (when position
       (goto-char position)))
    position))

;;; Drawing

(defun todo-write-page-keep (place find draw)
  "Call DRAW; keep point, the mark and all windows in their places.
PLACE returns the place of a position, and FIND the position of a place in
the new text.  Where one of them returns nil, drawing decides.  PLACE is
called with a second argument, t, for the start of a window."
  (let* ((windows (get-buffer-window-list nil nil t))
         (at (point))
         (point (funcall place at))
         (mark (and (mark t) (funcall place (mark t))))
         (places (cl-loop for window in windows
                          collect (if (= at (window-point window)) point
                                    (funcall place (window-point window)))
                          collect (funcall place (window-start window) t))))
    (save-excursion
      (funcall draw))
    (cl-flet ((position (place) (and place (funcall find place))))
      (when-let* ((position (position point)))
        (goto-char position))
      (when-let* ((position (position mark)))
        (set-marker (mark-marker) position))
      (dolist (window windows)
        (when-let* ((position (position (pop places))))
          (set-window-point window position))
        (when-let* ((position (position (pop places))))
          (set-window-start window position t))))))

(defun todo-write-page--line (position &optional _start)
  "Return the number of the line at POSITION, a place for `todo-write-page-keep'."
  (line-number-at-pos position))

(defun todo-write-page--of-line (line)
  "Return the position of LINE, a value of `todo-write-page--line'."
  (save-excursion
    (goto-char (point-min))
    (forward-line (1- line))
    (point)))

;; Places in a tabulated list.

(defun todo-write-page-row (position &optional _start)
  "Return the place of POSITION in a tabulated list.
It is t at the end, else a list (ID COLUMN LINE): the row or, without one,
the line counts."
  (save-excursion
    (goto-char position)
    (or (eobp)
        (list (tabulated-list-get-id) (current-column) (line-number-at-pos)))))

(defun todo-write-page-of-row (place)
  "Return the position of PLACE, a value of `todo-write-page-row'."
  (pcase place
    ('t (point-max))
    (`(,id ,column ,line)
     (save-excursion
       (goto-char (or (and id (todo-write-page-find-row id)) (todo-write-page--of-line line)))
       (move-to-column column)
       (point)))))

(defun todo-write-page-find-row (id)
  "Return the position of the row of ID in a tabulated list, or nil."
  ;; Most rows have the very object, for which Emacs looks much faster.
  (or (text-property-any (point-min) (point-max) 'tabulated-list-id id)
      (save-excursion
        (goto-char (point-min))
        (while (not (or (eobp) (equal id (tabulated-list-get-id))))
          (forward-line))
        (unless (eobp) (point)))))

(defun todo-write-page-column-width (name entries index)
  "Return the width of the column NAME, number INDEX in ENTRIES of a list."
  (apply #'max (length name)
         (mapcar (lambda (entry) (string-width (aref (cadr entry) index))) entries)))

(defmacro todo-write-page-with-new-text (&rest body)
  "Replace the text of this buffer by what BODY inserts; keep point on its line.
The windows that show it stay at their lines, too."
  (declare (indent 0) (debug t))
  `(let ((inhibit-read-only t))
     (todo-write-page-keep #'todo-write-page--line #'todo-write-page--of-line
                           (lambda () (erase-buffer) ,@body))
     (set-buffer-modified-p nil)))

(defun todo-write-page-pop-to (name mode thread &optional action)
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
