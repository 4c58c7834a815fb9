;;; todo-write-view-draw.el --- Draw a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Draws the buffer of a plan, and keeps point and windows at their places.  Lines that are
;; there already stay, with the overlays and markers of others.  What runs is drawn again
;; after a second.
;;
;; Each line of a plan has a property `todo-write-part', which says what it belongs to: the
;; id of a task, (turn . N), or `header', `footer' or `welcome'.  Within a part, an entry or
;; a file has a property `todo-write-key', and an entry has `todo-write-entry', too.  A place
;; is a position relative to these, so that it survives drawing: point, the mark and the
;; scroll position of every window stay at what they show.
;;
;; A window follows the task in progress until the user moves point or scrolls in it, and
;; again after `? .'.

;;; Code:

(require 'todo-write-view-rows)

(defvar todo-write-flash-seconds 1.0
  "Minimum time in seconds that changed rows are highlighted; 0 for never.
The highlight ends when the times are updated next.")

(defcustom todo-write-view-follow t
  "Non-nil means that windows follow the current task until you move or scroll."
  :type 'boolean
  :group 'todo-write
  :package-version '(todo-write . "0.2.0"))

;;; Positions

(defun todo-write-view-draw-row (id)
  "Return the position of the row of the task ID, or nil."
  (and id (todo-write-buffer-find 'todo-write-id id)))

(defun todo-write-view-draw-id-here ()
  "Return the id of the task at point.
Signal a `user-error' if there is none, if it was dropped or is folded, or
in the list of a subagent, whose lines have the id of the task above."
  (let ((id (get-text-property (point) 'todo-write-id)))
    (cond ((not (derived-mode-p 'todo-write-view-mode))
           (user-error "This works in the buffer that `todo-write-show' shows"))
          ((get-text-property (point) 'todo-write-fold)
           (user-error "RET unfolds these tasks first"))
          ((null id)
           (user-error (if (memq (plist-get todo-write-view-rows-summary :state) '(nil empty))
                           "The list is empty; + adds a task"
                         "No task here; n and p move between tasks")))
          ((get-text-property (point) 'todo-write-dropped)
           (user-error "This task was %s; R brings it back"
                       (todo-write-detail-departure todo-write-view-thread id)))
          ((get-text-property (point) 'todo-write-subagent)
           (user-error "This is a subagent's list; RET on its title shows it"))
          (t id))))

(defun todo-write-view-draw-on-row-p ()
  "Return non-nil if point is on the line of a task, not on what is below it."
  (eql (todo-write-view-draw-row (get-text-property (point) 'todo-write-id))
       (line-beginning-position)))

;;; Staying

(defun todo-write-view-draw-place (position &optional _start)
  "Return the place of POSITION, or nil before anything is drawn.
It is a list (CHARACTERS PART LINES KEY KEY-LINES): POSITION is so many
CHARACTERS after the beginning of its line, which is LINES after that of
PART, and KEY-LINES after that of the entry or the file KEY, if POSITION is
in one.  PART is `end' after the last line."
  (let* ((last (= position (point-max)))
         (part (get-text-property (max (point-min) (if last (1- position) position))
                                  'todo-write-part))
         (key (get-text-property position 'todo-write-key))
         (start (and key (todo-write-view-draw-entry part key)))
         ;; A task of a turn that is open twice has its files twice.
         (key (and start (< position (todo-write-view-draw--end start 'todo-write-key)) key))
         (line (save-excursion (goto-char position) (line-beginning-position))))
    (cond
     ((null part) nil)
     ((and last (not (eq part 'welcome))) '(0 end 0))
     (t (list (- position line)
              part (count-lines (todo-write-buffer-find 'todo-write-part part) line)
              key (and key (count-lines start line)))))))

(defun todo-write-view-draw-entry (part key)
  "Return the position of the entry or the file KEY of PART, or nil."
  (when-let* ((start (todo-write-buffer-find 'todo-write-part part)))
    (todo-write-buffer-find 'todo-write-key key start
                                   (todo-write-view-draw--end start 'todo-write-part))))

(defun todo-write-view-draw--end (start property)
  "Return the end of the text from START on whose PROPERTY has the same value."
  (let ((value (get-text-property start property))
        (end start))
    ;; Lines that stayed and new ones may have different strings as their id.
    (while (and (< end (point-max)) (equal value (get-text-property end property)))
      (setq end (next-single-property-change end property nil (point-max))))
    end))

(defun todo-write-view-draw-of-place (place)
  "Return the position of PLACE, or nil if what it was in is gone.
A marker there is then at what followed.  If only its line is gone, that
is the beginning of the last line of its entry or part."
  (pcase-let ((`(,characters ,part ,lines ,key ,key-lines) place))
    (if-let* ((start (todo-write-buffer-find 'todo-write-part part)))
        (let* ((at (and key (todo-write-view-draw-entry part key)))
               (end (if at (todo-write-view-draw--end at 'todo-write-key)
                      (todo-write-view-draw--end start 'todo-write-part))))
          (save-excursion
            (goto-char (or at start))
            (forward-line (if at key-lines lines))
            (if (< (point) end)
                (min (+ (point) characters) (line-end-position))
              (goto-char (1- end))
              (line-beginning-position))))
      (pcase part
        ('end (point-max))
        ;; Point must not stay below the first tasks.
        ('welcome (point-min))))))

;;; Following

(defun todo-write-view-draw--following-p (window)
  "Return non-nil if WINDOW is as following left it, not moved by the user."
  (equal (todo-write-view-draw--window-state window) (window-parameter window 'todo-write-places)))

(defun todo-write-view-draw--window-state (window &optional start)
  "Return the buffer, point and START of WINDOW, a list."
  (list (window-buffer window) (window-point window) (or start (window-start window))))

(defun todo-write-view-draw-on-title-p (window)
  "Return non-nil if point of WINDOW is on the title of the task in progress."
  (when-let* ((start (todo-write-view-draw-row (todo-write-view-rows-current-id))))
    (save-excursion
      (goto-char start)
      (<= start (window-point window) (line-end-position)))))

(defun todo-write-view-draw-follow (window)
  "Let WINDOW show the task in progress, if any, and note its new place.
In the selected window, point moves only to scroll."
  (when-let* ((position (todo-write-view-draw-row (todo-write-view-rows-current-id))))
    (let ((visible (todo-write-view-draw--visible-p window position)))
      (unless (and visible (eq window (selected-window)))
        (set-window-point window position))
      (unless visible
        (save-excursion
          (goto-char position)
          ;; Show some rows before it and, near the top, the header too.
          (forward-line (- (/ (window-body-height window) 3)))
          (set-window-start window (if (<= (count-lines (point-min) (point)) 3) (point-min) (point))
                            t)))))
  (todo-write-view-draw-note window))

(defun todo-write-view-draw-note (window &optional start)
  "Note point and START of WINDOW, to detect later whether the user moved.
START is the current one by default."
  (set-window-parameter window 'todo-write-places
                        (todo-write-view-draw--window-state window start)))

(defun todo-write-view-draw-set-up-following ()
  "Let windows of the current buffer stop following when the user moves in them."
  (add-hook 'pre-redisplay-functions
            ;; Point may come back to where it was before the plan is drawn again.
            (lambda (window)
              (unless (todo-write-view-draw--following-p window)
                (set-window-parameter window 'todo-write-places nil)))
            nil t)
  (add-hook 'window-scroll-functions
            ;; Redisplay scrolls to show point, for example when a window becomes lower.
            (lambda (window start)
              (when (window-parameter window 'todo-write-places)
                (todo-write-view-draw-note window start)))
            nil t))

(defun todo-write-view-draw--visible-p (window position)
  "Return non-nil if WINDOW shows the row at POSITION."
  (let ((start (window-start window)))
    (and (>= position start)
         (< (count-lines start position) (window-body-height window)))))

;;; Text

(defvar-local todo-write-view-draw--lines nil
  "The lines that the buffer shows, or nil for nothing.")

(defun todo-write-view-draw--show (text)
  "Let the buffer show TEXT; lines at its ends that are there already stay."
  (let* ((old todo-write-view-draw--lines)
         (lines (split-string text "^" t))
         (new lines))
    ;; If something signals, the whole text is drawn next time.
    (setq todo-write-view-draw--lines nil)
    (unless old
      (erase-buffer))
    (goto-char (point-min))
    (cl-flet ((count-same ()
                (let ((count 0))
                  (while (and old new (todo-write-buffer-same-p (car old) (car new)))
                    (cl-incf count (length (pop old)))
                    (pop new))
                  (setq old (reverse old) new (reverse new))
                  count)))
      (forward-char (count-same))
      (count-same))
    ;; In this order, markers at the end of the old text stay there.
    (apply #'insert new)
    (delete-char (apply #'+ (mapcar #'length old)))
    (setq todo-write-view-draw--lines lines)))

;;; Flashes

(defvar-local todo-write-view-draw-flashes nil
  "The rows that flash, as (END . IDS): until END, in seconds since the epoch.")

(defun todo-write-view-draw--flash (before)
  "Highlight for a moment the rows that changed since the revision BEFORE, or nil."
  (let ((now (plist-get todo-write-view-rows-summary :revision)))
    (when (and before now (> now before 0) (> todo-write-flash-seconds 0))
      (setq todo-write-view-draw-flashes
            (cons (+ (float-time) todo-write-flash-seconds)
                  (seq-map (lambda (change) (plist-get change :itemId))
                           (plist-get (todo-write-changes-between todo-write-view-thread before now)
                                      :changes)))))
    (remove-overlays nil nil 'todo-write-flash t)
    (if (< (or (car todo-write-view-draw-flashes) 0) (float-time))
        (setq todo-write-view-draw-flashes nil)
      (dolist (id (cdr todo-write-view-draw-flashes))
        (when-let* ((start (todo-write-view-draw-row id))
                    (overlay (make-overlay start (save-excursion (goto-char start)
                                                                 (line-beginning-position 2)))))
          (overlay-put overlay 'face 'todo-write-flash)
          (overlay-put overlay 'todo-write-flash t))))))

;;; The turn that runs

(defvar-local todo-write-view-draw-ran nil
  "The number of the turn that was drawn last as running, or nil.")

(defun todo-write-view-draw--running (windows)
  "Return the number of the turn in which the agent works, or nil.
Open one that begins, and close one that ended, unless the user reads it
in one of WINDOWS, or opened something in it."
  (let ((running (and todo-write-view-thread
                      (memq (car (todo-write-activity todo-write-view-thread)) '(working waiting))
                      (car (todo-write-story-headings todo-write-view-thread 0))))
        (ran (and todo-write-view-draw-ran (cons 'turn todo-write-view-draw-ran))))
    (unless (eql running todo-write-view-draw-ran)
      (unless (or (seq-some (lambda (window)
                              (equal ran (get-text-property (window-point window)
                                                            'todo-write-part)))
                            windows)
                  (seq-some (lambda (open) (or (and (consp open) (equal ran (cdr open)))
                                               (todo-write-view-draw-entry ran open)))
                            todo-write-view-rows-open))
        (setq todo-write-view-rows-open (remove ran todo-write-view-rows-open)))
      (when running
        (cl-pushnew (cons 'turn running) todo-write-view-rows-open :test #'equal))
      (setq todo-write-view-draw-ran running))
    running))

;;; Staying and following

(defun todo-write-view-draw-all ()
  "Draw this buffer, widened; keep point, mark and all windows in place.
Windows that follow the task in progress go to it."
  (widen)
  (let* ((windows (get-buffer-window-list nil nil t))
         (following (and todo-write-view-follow
                         (seq-filter #'todo-write-view-draw--following-p windows)))
         (todo-write-story-read
          (cl-loop for position in (append (mapcar #'window-start windows)
                                           (mapcar #'window-point windows))
                   when (get-text-property position 'todo-write-entry)
                   collect (cons (get-text-property position 'todo-write-part)
                                 (get-text-property position 'todo-write-key))))
         (todo-write-row-scale (todo-write-buffer-scale))
         (inhibit-read-only t)
         ;; A row that is half drawn cannot be redrawn.
         (inhibit-quit t)
         (inhibit-modification-hooks t))
    (todo-write-buffer-drawn)
    (todo-write-buffer-keep
     #'todo-write-view-draw-place #'todo-write-view-draw-of-place
     (lambda ()
       (let ((before (and todo-write-view-draw--lines
                          (plist-get todo-write-view-rows-summary :revision))))
         (todo-write-view-draw--show
          (todo-write-view-rows-text windows (todo-write-view-draw--running windows)))
         (todo-write-view-draw--flash before))))
    (restore-buffer-modified-p nil)
    (dolist (window windows)
      (if (memq window following)
          (todo-write-view-draw-follow window)
        ;; Drawing may move point to where it was noted.
        (set-window-parameter window 'todo-write-places nil))))
  ;; Times run, and flashes end.
  (when (or todo-write-view-draw-flashes
            (and (todo-write-view-rows-current-id)
                 (not (eq 'paused (plist-get todo-write-view-rows-summary :state))))
            (and todo-write-view-thread (todo-write-activity todo-write-view-thread)))
    (todo-write-later (current-buffer) 1)))

(defun todo-write-view-draw-live-buffers ()
  "Return the buffers that show plans."
  (seq-filter (lambda (buffer)
                (eq #'todo-write-view-draw-all
                    (buffer-local-value 'todo-write-events-draw buffer)))
              (buffer-list)))

(provide 'todo-write-view-draw)
;;; todo-write-view-draw.el ends here
