;;; todo-write-place.el --- Where a plan's tasks are in its buffer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The rows of a plan are found by the ids of their tasks.  A place is a position
;; relative to a row, a prompt or an entry, so that it survives drawing: point, the
;; mark and the scroll position of every window stay at what they show.
;;
;; A window follows the task in progress until the user moves point or scrolls in it, and
;; again after `.'.  What is drawn, and when, is decided in todo-write-view.el.

;;; Code:

(require 'todo-write-fold)
(require 'todo-write-story)

;;; Rows

(defvar-local todo-write-place-rows nil
  "Hash table from item id to the position of its row, ghosts included.")

(defvar-local todo-write-place-footer 1
  "The position after the rows.")

(defvar-local todo-write-place-header-length 0
  "Number of characters of the header, without the newline after it.")

(defun todo-write-place-start (id)
  "Return the position of the row of ID, or nil."
  (gethash id todo-write-place-rows))

;;; Staying

(defun todo-write-place-at (position &optional _start)
  "Return the place of POSITION, or nil if drawing may move it.
It is a list (PART OFFSET KEY KEY-OFFSET).  PART is the id of a row, or what
`todo-write-place--part' returns of a position in no row.  OFFSET is a
cons cell (LINES . CHARACTERS) from its start, and KEY-OFFSET from that of
the entry or the file KEY."
  (if (eq 'todo-write-welcome (get-text-property position 'type))
      (list 'button (- position (point-min)))
    (when-let* ((part (todo-write-place--part position))
                (start (todo-write-place--part-start part)))
      (let* ((key (todo-write-place--key position))
             (at (and key (todo-write-place-entry part key))))
        (list part (todo-write-place--offset start position)
              (and at key) (and at (todo-write-place--offset at position)))))))

(defun todo-write-place--part (position)
  "Return the part of the buffer that POSITION is in, or nil.
That is the id of a row, what has the property `todo-write-part', t below
the rows, `end', or `header'."
  (cond ((get-text-property position 'todo-write-id))
        ((get-text-property position 'todo-write-part))
        ((< position (+ (point-min) todo-write-place-header-length)) 'header)
        ((or (get-text-property position 'button)
             (and (> (hash-table-count todo-write-place-rows) 0)
                  (>= position todo-write-place-footer)))
         (if (= position (point-max)) 'end t))))

(defun todo-write-place--part-start (part)
  "Return where PART, a value of `todo-write-place--part', starts, or nil."
  (pcase part
    ('header (point-min))
    ('end (point-max))
    ('t todo-write-place-footer)
    (_ (or (and (stringp part) (todo-write-place-start part))
           (todo-write-place--find todo-write-place-footer (point-max) 'todo-write-part
                                   (lambda (position)
                                     (equal part (get-text-property position
                                                                    'todo-write-part))))))))

(defun todo-write-place--find (start end property matches)
  "Return the first position from START to END that MATCHES, a function, or nil.
Only START is asked and where PROPERTY changes."
  (while (and (< start end) (not (funcall matches start)))
    (setq start (next-single-property-change start property nil end)))
  (and (< start end) start))

(defun todo-write-place--key (position)
  "Return the key of the entry or the name of the file at POSITION, or nil."
  (if-let* ((entry (get-text-property position 'todo-write-entry)))
      (todo-write-story-entry-key entry)
    (get-text-property position 'todo-write-file)))

(defun todo-write-place-entry (part key)
  "Return the position of the entry KEY of PART, or nil.
PART is the id of a task, or (turn . N).  KEY may be the name of a file."
  (when-let* ((start (todo-write-place--part-start part)))
    (todo-write-place--find start (todo-write-place--part-end start) 'button
                            (lambda (position) (equal key (todo-write-place--key position))))))

(defun todo-write-place-entries (windows)
  "Return the entries at point and at the start of WINDOWS, as (PART . KEY)."
  (cl-loop for window in windows
           nconc (cl-loop for position in (list (window-start window) (window-point window))
                          for entry = (get-text-property position 'todo-write-entry)
                          when entry collect (cons (todo-write-place--part position)
                                                   (todo-write-story-entry-key entry)))))

(defun todo-write-place--part-end (start)
  "Return the end of the part that begins at START."
  (let* ((property (seq-find (lambda (property) (get-text-property start property))
                             '(todo-write-id todo-write-part)))
         (part (and property (get-text-property start property)))
         (end (if part start (point-max))))
    ;; A row and what is open below it may have different strings as its id.
    (while (and (< end (point-max)) (equal part (get-text-property end property)))
      (setq end (next-single-property-change end property nil (point-max))))
    end))

(defun todo-write-place--offset (start position)
  "Return how many lines and characters POSITION is after START, a cons cell."
  (save-excursion
    (goto-char position)
    (forward-line 0)
    (cons (count-lines start (point)) (- position (point)))))

(defun todo-write-place-position (place)
  "Return the position of PLACE, or nil if what it was in is gone.
A marker there is then at what followed."
  (pcase-let ((`(,part ,offset ,key ,key-offset) place))
    (if (eq part 'button)
        ;; Point must not stay below the first tasks.
        (let ((position (min (point-max) (+ (point-min) offset))))
          (if (eq 'todo-write-welcome (get-text-property position 'type)) position (point-min)))
      (when-let* ((start (todo-write-place--part-start part)))
        (let ((at (and key (todo-write-place-entry part key))))
          (pcase-let ((`(,lines . ,characters) (if at key-offset offset)))
            (save-excursion
              (goto-char (or at start))
              (forward-line lines)
              (min (+ (point) characters) (line-end-position)
                   (pcase part
                     ('header (+ (point-min) todo-write-place-header-length))
                     ((or 't 'end) (point-max))
                     (_ (1- (todo-write-place--part-end start))))))))))))

;;; Following

(defun todo-write-place-following-p (window)
  "Return non-nil if WINDOW is as following left it.
Then the user did not move point, scroll, or show another buffer."
  (equal (todo-write-place--state window) (window-parameter window 'todo-write-places)))

(defun todo-write-place--state (window &optional start)
  "Return the buffer, point and START of WINDOW, a list."
  (list (window-buffer window) (window-point window) (or start (window-start window))))

(defun todo-write-place-on-title-p (window id)
  "Return non-nil if point of WINDOW is on the title of the task ID."
  (when-let* ((start (todo-write-place-start id)))
    (save-excursion
      (goto-char start)
      (<= start (window-point window) (line-end-position)))))

(defun todo-write-place-follow (window current)
  "Let WINDOW show the task CURRENT, an id or nil, and note its new place.
In the selected window, point moves only to scroll."
  (when-let* ((position (todo-write-place-start current)))
    (let ((visible (todo-write-place--visible-p window position)))
      (unless (and visible (eq window (selected-window)))
        (set-window-point window position))
      (unless visible
        (set-window-start window (todo-write-place--start-for window position) t))))
  (todo-write-place-note window))

(defun todo-write-place-note (window &optional start)
  "Note point and START of WINDOW, to detect later whether the user moved.
START is the current one by default."
  (set-window-parameter window 'todo-write-places (todo-write-place--state window start)))

(defun todo-write-place-stay (window)
  "Let WINDOW no longer follow."
  (set-window-parameter window 'todo-write-places nil))

(defun todo-write-place-set-up ()
  "Let windows of the current buffer stop following when the user moves in them."
  (add-hook 'pre-redisplay-functions
            ;; Point may come back to where it was before the plan is drawn again.
            (lambda (window)
              (unless (todo-write-place-following-p window)
                (todo-write-place-stay window)))
            nil t)
  (add-hook 'window-scroll-functions
            ;; Redisplay scrolls to show point, for example when a window becomes lower.
            (lambda (window start)
              (when (window-parameter window 'todo-write-places)
                (todo-write-place-note window start)))
            nil t))

(defun todo-write-place--visible-p (window position)
  "Return non-nil if WINDOW shows the row at POSITION."
  (let* ((start (window-start window))
         (fold (todo-write-fold-at start))
         (start (if fold (overlay-start fold) start)))
    (and (>= position start)
         (save-excursion
           (goto-char position)
           (forward-line (- 1 (window-body-height window)
                            (todo-write-fold-unseen-lines start position)))
           (<= (point) start)))))

(defun todo-write-place--start-for (window position)
  "Return a start of WINDOW that shows the row at POSITION and some rows before."
  (save-excursion
    (goto-char position)
    (let ((rows (/ (window-body-height window) 3)))
      (while (and (> rows 0) (= 0 (forward-line -1)))
        (unless (invisible-p (point))
          (cl-decf rows))))
    (when-let* ((fold (todo-write-fold-at (point))))
      (goto-char (overlay-start fold)))
    ;; Near the top, show the header too.
    (if (<= (count-lines (point-min) (point)) 3) (point-min) (point))))

(provide 'todo-write-place)
;;; todo-write-place.el ends here
