;;; todo-write-view-position.el --- Where the tasks of a plan are  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Each line of a plan has a property `todo-write-part', which says what it belongs to: the
;; id of a task, (turn . N), or `header', `footer' or `welcome'.  Within a part, an entry or
;; a file has a property `todo-write-key', and an entry has `todo-write-entry', too.  A place
;; is a position relative to these, so that it survives drawing: point, the mark and the
;; scroll position of every window stay at what they show.
;;
;; A window follows the task in progress until the user moves point or scrolls in it, and
;; again after `? .'.  What is drawn, and when, is decided in todo-write-view-draw.el.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(defun todo-write-view-position-find (property value &optional start end)
  "Return the first position from START to END whose PROPERTY is VALUE, or nil.
By default, the whole buffer is searched, also if it is narrowed."
  (save-restriction
    (widen)
    (let ((position (or start (point-min)))
          (end (or end (point-max))))
      (while (and (< position end) (not (equal value (get-text-property position property))))
        (setq position (next-single-property-change position property nil end)))
      (and (< position end) position))))

(defun todo-write-view-position-start (id)
  "Return the position of the row of the task ID, or nil."
  (and id (todo-write-view-position-find 'todo-write-id id)))

;;; Staying

(defun todo-write-view-position-at (position &optional _start)
  "Return the place of POSITION, or nil before anything is drawn.
It is a list (PART OFFSET KEY KEY-OFFSET): OFFSET is a cons cell (LINES .
CHARACTERS) from the start of PART, and KEY-OFFSET from that of the entry
or the file KEY, if POSITION is in one.  PART is `end' after the last line."
  (let* ((last (= position (point-max)))
         (part (get-text-property (max (point-min) (if last (1- position) position))
                                  'todo-write-part))
         (key (get-text-property position 'todo-write-key))
         (start (and key (todo-write-view-position-entry part key)))
         ;; A task of a turn that is open twice has its files twice.
         (key (and start (< position (todo-write-view-position--end start 'todo-write-key)) key)))
    (cond
     ((null part) nil)
     ((and last (not (eq part 'welcome)))
      '(end (0 . 0)))
     (t
      (list part
            (todo-write-view-position--offset
             (todo-write-view-position-find 'todo-write-part part) position)
            key (and key (todo-write-view-position--offset start position)))))))

(defun todo-write-view-position-entry (part key)
  "Return the position of the entry or the file KEY of PART, or nil."
  (when-let* ((start (todo-write-view-position-find 'todo-write-part part)))
    (todo-write-view-position-find 'todo-write-key key start
                                   (todo-write-view-position--end start 'todo-write-part))))

(defun todo-write-view-position-entries (windows)
  "Return the entries at point and at the start of WINDOWS, as (PART . KEY)."
  (cl-loop for window in windows
           nconc (cl-loop for position in (list (window-start window) (window-point window))
                          for key = (get-text-property position 'todo-write-key)
                          when (get-text-property position 'todo-write-entry)
                          collect (cons (get-text-property position 'todo-write-part) key))))

(defun todo-write-view-position--end (start property)
  "Return the end of the text from START on whose PROPERTY has the same value."
  (let ((value (get-text-property start property))
        (end start))
    ;; Lines that stayed and new ones may have different strings as their id.
    (while (and (< end (point-max)) (equal value (get-text-property end property)))
      (setq end (next-single-property-change end property nil (point-max))))
    end))

(defun todo-write-view-position--offset (start position)
  "Return how many lines and characters POSITION is after START, a cons cell."
  (save-excursion
    (goto-char position)
    (forward-line 0)
    (cons (count-lines start (point)) (- position (point)))))

(defun todo-write-view-position-of (place)
  "Return the position of PLACE, or nil if what it was in is gone.
A marker there is then at what followed.  If only its line is gone, that
is the beginning of the last line of its entry or part."
  (pcase-let ((`(,part ,offset ,key ,key-offset) place))
    (if-let* ((start (todo-write-view-position-find 'todo-write-part part)))
        (pcase-let* ((at (and key (todo-write-view-position-entry part key)))
                     (end (if at (todo-write-view-position--end at 'todo-write-key)
                            (todo-write-view-position--end start 'todo-write-part)))
                     (`(,lines . ,characters) (if at key-offset offset)))
          (save-excursion
            (goto-char (or at start))
            (forward-line lines)
            (if (< (point) end)
                (min (+ (point) characters) (line-end-position))
              (goto-char (1- end))
              (line-beginning-position))))
      (pcase part
        ('end (point-max))
        ;; Point must not stay below the first tasks.
        ('welcome (point-min))))))

;;; Following

(defun todo-write-view-position-following-p (window)
  "Return non-nil if WINDOW is as following left it.
Then the user did not move point, scroll, or show another buffer."
  (equal (todo-write-view-position--state window) (window-parameter window 'todo-write-places)))

(defun todo-write-view-position--state (window &optional start)
  "Return the buffer, point and START of WINDOW, a list."
  (list (window-buffer window) (window-point window) (or start (window-start window))))

(defun todo-write-view-position-on-title-p (window id)
  "Return non-nil if point of WINDOW is on the title of the task ID."
  (when-let* ((start (todo-write-view-position-start id)))
    (save-excursion
      (goto-char start)
      (<= start (window-point window) (line-end-position)))))

(defun todo-write-view-position-follow (window current)
  "Let WINDOW show the task CURRENT, an id or nil, and note its new place.
In the selected window, point moves only to scroll."
  (when-let* ((position (todo-write-view-position-start current)))
    (let ((visible (todo-write-view-position--visible-p window position)))
      (unless (and visible (eq window (selected-window)))
        (set-window-point window position))
      (unless visible
        (save-excursion
          (goto-char position)
          ;; Show some rows before it and, near the top, the header too.
          (forward-line (- (/ (window-body-height window) 3)))
          (set-window-start window (if (<= (count-lines (point-min) (point)) 3) (point-min) (point))
                            t)))))
  (todo-write-view-position-note window))

(defun todo-write-view-position-note (window &optional start)
  "Note point and START of WINDOW, to detect later whether the user moved.
START is the current one by default."
  (set-window-parameter window 'todo-write-places (todo-write-view-position--state window start)))

(defun todo-write-view-position-stay (window)
  "Let WINDOW no longer follow."
  (set-window-parameter window 'todo-write-places nil))

(defun todo-write-view-position-set-up ()
  "Let windows of the current buffer stop following when the user moves in them."
  (add-hook 'pre-redisplay-functions
            ;; Point may come back to where it was before the plan is drawn again.
            (lambda (window)
              (unless (todo-write-view-position-following-p window)
                (todo-write-view-position-stay window)))
            nil t)
  (add-hook 'window-scroll-functions
            ;; Redisplay scrolls to show point, for example when a window becomes lower.
            (lambda (window start)
              (when (window-parameter window 'todo-write-places)
                (todo-write-view-position-note window start)))
            nil t))

(defun todo-write-view-position--visible-p (window position)
  "Return non-nil if WINDOW shows the row at POSITION."
  (let ((start (window-start window)))
    (and (>= position start)
         (< (count-lines start position) (window-body-height window)))))

(provide 'todo-write-view-position)
;;; todo-write-view-position.el ends here
