;;; todo-write-view.el --- The live buffer of a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `M-x todo-write-show' shows the plan of an agent in `*efrit-todos*' and
;; keeps it up to date:
;;
;;     (global-set-key (kbd "C-c t") #'todo-write-show)
;;
;; `?' shows the commands.  This file has the mode, decides when buffers are
;; drawn, and has the commands.  todo-write-view-draw.el draws, and
;; todo-write-view-window.el keeps windows in place.  Each editing command is one
;; edit, which the agent learns of from the result of its next write.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'todo-write)
(require 'todo-write-menu)
(require 'todo-write-view-window)

(autoload 'todo-write-history "todo-write-history" nil t)
(autoload 'todo-write-timeline "todo-write-history" nil t)
(autoload 'todo-write-export-timeline "todo-write-history" nil t)
(autoload 'todo-write-list "todo-write-list" nil t)
(autoload 'todo-write-switch "todo-write-list" nil t)
(autoload 'todo-write-copy "todo-write-org" nil t)
(autoload 'todo-write-copy-markdown "todo-write-org" nil t)
(autoload 'todo-write-log "todo-write-log" nil t)
(autoload 'todo-write-bookmark-record "todo-write-org")
(autoload 'todo-write-bookmark-desktop "todo-write-org")

(defcustom todo-write-view-buffer-name "*efrit-todos*"
  "Name of the buffer that shows a plan live."
  :type 'string
  :group 'todo-write)

(defvar todo-write-view--buffers nil
  "The buffers in `todo-write-view-mode'.")

(defvar todo-write-view-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "n" #'todo-write-view-next)
    (define-key map "p" #'todo-write-view-previous)
    (define-key map (kbd "TAB") #'todo-write-view-toggle-detail)
    (define-key map [mouse-1] #'todo-write-view-mouse-toggle-detail)
    (define-key map [remap undo] #'todo-write-edit-undo)
    map)
  "Keymap of `todo-write-view-mode'.")

(todo-write-menu-define 'todo-write-view-mode todo-write-view-mode-map "Plan"
  '(("Task"
     ("RET" "Open or close" todo-write-view-toggle-detail)
     ("e" "Edit text" todo-write-edit-text)
     ("+" "Add one after it" todo-write-edit-add)
     ("k" "Delete" todo-write-edit-delete)
     ("SPC" "Next status" todo-write-edit-cycle-status)
     ("M-<up>" "Move up" todo-write-edit-move-up)
     ("M-<down>" "Move down" todo-write-edit-move-down)
     ("u" "Undo" todo-write-edit-undo))
    ("Look"
     ("." "Go to the task in progress" todo-write-view-to-current)
     ("d" "Fold or unfold completed" todo-write-view-toggle-fold)
     ("H" "History" todo-write-history)
     ("T" "Timeline" todo-write-timeline)
     ("l" "Log" todo-write-log)
     ("g" "Refresh" revert-buffer))
    ("Other plans"
     ("s" "Switch…" todo-write-switch)
     ("^" "Parent" todo-write-view-to-parent)
     ("L" "All" todo-write-list))
    ("Take along"
     ("w" "Copy as check list" todo-write-copy)
     ("m" "Copy as Markdown" todo-write-copy-markdown)
     ("x" "Export timeline…" todo-write-export-timeline))))

(define-derived-mode todo-write-view-mode special-mode "Plan"
  "Major mode of the buffer that shows an agent's plan live.

Each task is a row: \\=✓ completed, \\=● in progress, \\=○ pending, \\=‖ paused
and \\=✗ dropped before it was completed.

\\{todo-write-view-mode-map}"
  :interactive nil
  (todo-write-view--set-up-page #'todo-write-view-refresh #'todo-write-view--fit)
  ;; Lines are short: finding their ends is faster than a cache of them.
  (setq-local cache-long-scans nil
              todo-write-view--nodes (make-hash-table :test #'equal)
              imenu-create-index-function #'todo-write-view--imenu-index
              bookmark-make-record-function #'todo-write-bookmark-record
              desktop-save-buffer #'todo-write-bookmark-desktop
              ;; Emacs 28 never forgets an `add-hook' with a depth.
              context-menu-functions (list t #'todo-write-menu-context))
  (cl-pushnew (current-buffer) todo-write-view--buffers)
  (todo-write-listen #'todo-write-view--heard)
  ;; Deleting the narrowest window changes the size of no other one.
  (add-hook 'window-configuration-change-hook #'todo-write-view--fit nil t)
  (add-hook 'kill-buffer-hook #'todo-write-view--stop-following nil t)
  (add-hook 'change-major-mode-hook #'todo-write-view--stop-following nil t))

;;; Following the store

(defvar todo-write-view--timer nil
  "Timer that updates times and ends flashes, or nil.")

(defvar todo-write-view--event-timer nil
  "Timer that redraws open rows, or nil.")

(defun todo-write-view--stop-following ()
  "Stop following the store with the current buffer."
  (setq todo-write-view--buffers (delq (current-buffer) todo-write-view--buffers))
  (mapc #'delete-overlay todo-write-view--flashes)
  (unless (todo-write-view--live-buffers)
    (todo-write-listen #'todo-write-view--heard 'stop)
    (when todo-write-view--event-timer
      (cancel-timer todo-write-view--event-timer)
      (setq todo-write-view--event-timer nil)))
  (todo-write-view--set-timer))

(defun todo-write-view--live-buffers ()
  "Return the buffers in `todo-write-view-mode'."
  ;; Temporary buffers are killed without running their hooks.
  (setq todo-write-view--buffers (cl-delete-if-not #'buffer-live-p todo-write-view--buffers)))

(defmacro todo-write-view--in-buffers (condition &rest body)
  "Run BODY in each buffer in which CONDITION, a form, returns non-nil."
  (declare (indent 1) (debug t))
  `(dolist (buffer (todo-write-view--live-buffers))
     (with-current-buffer buffer
       (when ,condition
         ,@body))))

(defun todo-write-view--draw (&optional changes summary)
  "Draw the rows that CHANGES made out of date, or without it the whole buffer.
CHANGES is a vector of change plists that led to SUMMARY."
  ;; If this fails half way, the next change draws the whole buffer.
  (setq todo-write-view--drawn nil)
  (if changes
      (todo-write-view--keep-places #'todo-write-view--draw-changes changes summary)
    (todo-write-view--keep-places #'todo-write-view--draw-all))
  (setq todo-write-view--drawn (plist-get todo-write-view--summary :revision))
  (todo-write-view--set-timer))

(defun todo-write-view--redraw (ids &optional around)
  "Draw the rows of IDS; if AROUND is non-nil, also the header and the footer."
  (todo-write-view--keep-places #'todo-write-view--draw-rows ids around)
  (todo-write-view--set-timer))

(defun todo-write-view--for-p (thread)
  "Return non-nil if the current buffer shows THREAD.
A buffer without a thread adopts THREAD, unless that is a subagent's."
  (equal thread (or todo-write-view-thread
                    (unless (todo-write-parent thread)
                      (setq todo-write-view-thread thread)))))

(defun todo-write-view--heard (thread what data)
  "Draw what is affected by WHAT happened to THREAD, with DATA.
See `todo-write-listen'."
  (pcase what
    ('change (todo-write-view--on-change thread data))
    ((or 'state 'activity (and 'observed (guard (equal data "TITLE"))))
     (todo-write-view--on-state thread))
    ('observed (todo-write-view--on-observe data))
    ('forgotten (todo-write-view--on-forget thread))))

(defun todo-write-view--on-change (thread outcome)
  "Draw what OUTCOME of THREAD changed in its buffers."
  (todo-write-view--redraw-for-child thread)
  (todo-write-view--in-buffers (todo-write-view--for-p thread)
    (let* ((drawn (or todo-write-view--drawn 0))
           (told (plist-get outcome :revision))
           (changes (plist-get (plist-get outcome :changes) :changes))
           (summary (todo-write--summary-after thread outcome))
           (current (plist-get summary :revision)))
      (cond ((and todo-write-view--ewoc (= told current (1+ drawn))
                  ;; Drawing the whole buffer is faster for many changes.
                  (<= (* 3 (length changes)) (max 200 (plist-get summary :total))))
             (todo-write-view--draw changes summary))
            ;; Another listener wrote meanwhile, and that is drawn already.
            ((and (< told current) (= drawn current)))
            ;; Revisions were missed, or the thread was forgotten and begun again.
            (t (todo-write-view--draw))))))

(defun todo-write-view--on-state (thread)
  "Draw the header and the running rows of THREAD in its buffers."
  (todo-write-view--redraw-for-child thread)
  (todo-write-view--in-buffers (and todo-write-view--ewoc
                                    (equal todo-write-view-thread thread))
    (setq todo-write-view--summary (todo-write-summary thread))
    (todo-write-view--redraw todo-write-view--running t)))

(defun todo-write-view--on-forget (thread)
  "Draw the buffers that showed THREAD, which was forgotten."
  (todo-write-view--in-buffers (or (equal todo-write-view-thread thread)
                                   (seq-some (lambda (entry) (member thread (cdr entry)))
                                             todo-write-view--children))
    (todo-write-view--draw)))

(defun todo-write-view--on-observe (type)
  "Show an event of TYPE in open rows soon."
  (when (and (member type todo-write-detail-events)
             (not todo-write-view--event-timer)
             (seq-some (lambda (buffer) (buffer-local-value 'todo-write-view--open buffer))
                       (todo-write-view--live-buffers)))
    ;; An agent can record a hundred events a second.
    (setq todo-write-view--event-timer
          (run-at-time 0.1 nil #'todo-write-view--redraw-open))))

(defun todo-write-view--redraw-open ()
  "Draw the open rows."
  (setq todo-write-view--event-timer nil)
  (todo-write-view--in-buffers todo-write-view--open
    (todo-write-view--redraw todo-write-view--open)))

(defun todo-write-view--redraw-for-child (thread)
  "Draw the rows below which THREAD, a subagent's, is shown."
  (todo-write-view--in-buffers (and todo-write-view--ewoc todo-write-view-thread
                                    (not (equal todo-write-view-thread thread)))
    (when-let* ((ancestor (assoc todo-write-view-thread
                                 (todo-write-children-ancestors thread))))
      (setq todo-write-view--children (todo-write-children-by-item todo-write-view-thread))
      (todo-write-view--redraw (list (cdr ancestor)) t))))

;;; Time and width

(defun todo-write-view--ticking-p (buffer)
  "Return non-nil while rows flash in BUFFER, or a time runs in a visible window."
  (with-current-buffer buffer
    (or todo-write-view--flashing
        (and todo-write-view--running
             (not (todo-write-view--paused-p))
             (get-buffer-window nil 0)))))

(defun todo-write-view--set-timer ()
  "Run the timer if a buffer needs it, else stop it."
  (if (cl-some #'todo-write-view--ticking-p (todo-write-view--live-buffers))
      (unless todo-write-view--timer
        (setq todo-write-view--timer (run-at-time 1 1 #'todo-write-view--tick)))
    (when todo-write-view--timer
      (cancel-timer todo-write-view--timer)
      (setq todo-write-view--timer nil))))

(defun todo-write-view--tick ()
  "Draw the rows whose time runs, and end expired flashes."
  (todo-write-view--in-buffers (todo-write-view--ticking-p (current-buffer))
    (when (and todo-write-view--flashing (= 0 (cl-decf todo-write-view--flash-ticks)))
      (setq todo-write-view--flashing nil))
    (todo-write-view--redraw todo-write-view--running))
  (todo-write-view--set-timer))

(defun todo-write-view--fit (&optional window)
  "Draw the buffer of WINDOW, by default the selected one, if it does not fit.
This runs with any buffer current when a window begins to show the buffer
or changes its size."
  (with-current-buffer (window-buffer window)
    (if (eql todo-write-view--width (todo-write-view--fitting-width))
        ;; Folds depend on the height.
        (todo-write-view--redraw nil)
      (todo-write-view--draw))))

;;; Showing

;;;###autoload
(defun todo-write-show (&optional thread select action)
  "Show the plan of THREAD and keep it up to date; return its buffer.
THREAD is a key, a string, by default that of the current buffer, else the
newest of the current project, else the one written last.  With a prefix
argument, read it in the minibuffer.

SELECT non-nil, as in interactive use, selects the window.  ACTION is
passed to `display-buffer'."
  (interactive (list (and current-prefix-arg (todo-write-read-thread "Show the plan of: "))
                     t))
  (let* ((thread (or thread todo-write-view-thread (todo-write-view--default-thread)))
         (buffer (get-buffer-create todo-write-view-buffer-name))
         ;; Display it first, so that it is drawn once, for the width of its window.
         (window (display-buffer buffer action)))
    (with-current-buffer buffer
      (unless (derived-mode-p 'todo-write-view-mode)
        (todo-write-view-mode))
      (cond ((not (and todo-write-view--ewoc (equal thread todo-write-view-thread)))
             (todo-write-view--show-thread thread))
            (window
             (todo-write-view--fit window))))
    (when (and select window)
      (select-window window))
    buffer))

(defun todo-write-view--show-thread (thread)
  "Show THREAD in the current buffer, with point at its first task."
  (setq todo-write-view-thread thread
        todo-write-view--fold 'option
        todo-write-view--open nil)
  (todo-write-view--draw)
  (todo-write-view--to-first-row))

(defun todo-write-view--to-first-row ()
  "Move point to the first row, also in the windows that show the buffer."
  (goto-char (point-min))
  (ignore-errors (todo-write-view-next))
  (dolist (window (get-buffer-window-list nil nil t))
    (set-window-start window (point-min))
    (set-window-point window (point))
    (if todo-write-view-follow
        (todo-write-view--follow window)
      (todo-write-view--note-places window))))

(defun todo-write-view--default-thread ()
  "Return the newest thread of the current project, else the one written last.
The value is a key, or nil.  For a subagent's thread, return that of the
agent that it works for."
  (let* ((current (todo-write-current-thread (todo-write--project)))
         (key (or (and current (todo-write-view--of-project-p current) current)
                  (todo-write--newest-of-project)
                  current
                  (car (todo-write-threads)))))
    (or (caar (last (and key (todo-write-children-ancestors key)))) key)))

(defun todo-write-view--of-project-p (thread)
  "Return non-nil if THREAD belongs to the current project."
  (equal (plist-get (todo-write-about thread) :project) (todo-write--project)))

(defun todo-write-view-refresh (&rest _)
  "Draw the whole buffer again."
  (interactive nil todo-write-view-mode)
  (todo-write-row-forget-shapes)
  ;; Folds contain shapes, too.
  (mapc #'delete-overlay todo-write-view--folds)
  (setq todo-write-view--folds nil)
  (todo-write-view--draw))

;;; Moving and opening

(defun todo-write-view-next (&optional count)
  "Move to the next row; with COUNT, that many rows forward."
  (interactive "p" todo-write-view-mode)
  (todo-write-view--move (or count 1)))

(defun todo-write-view-previous (&optional count)
  "Move to the previous row; with COUNT, that many rows back."
  (interactive "p" todo-write-view-mode)
  (todo-write-view--move (- (or count 1))))

(defun todo-write-view--move (count)
  "Move point COUNT rows forward, to the start of the row.
A row starts with a blank, so that the cursor does not hide the shape."
  (dotimes (_ (abs count))
    (goto-char (or (todo-write-view--neighbor (> count 0))
                   (user-error (if (> count 0) "No further task" "No task before this one"))))))

(defun todo-write-view--neighbor (forward)
  "Return the start of the next row if FORWARD, else of the previous one, or nil.
Folded rows count as one."
  (let* ((fold (todo-write-view--fold-at (point)))
         (here (cond ((not fold) (point))
                     (forward (1- (overlay-end fold)))
                     (t (overlay-start fold))))
         (node (todo-write-view--node-at here))
         (next (cond (node (funcall (if forward #'ewoc-next #'ewoc-prev)
                                    todo-write-view--ewoc node))
                     ;; Outside the rows, point is above or below them all.
                     ((eq forward (= 1 (line-number-at-pos)))
                      (ewoc-nth todo-write-view--ewoc (if forward 0 -1)))))
         (start (and next (marker-position (ewoc-location next))))
         (fold (and start (todo-write-view--fold-at start))))
    (if fold (overlay-start fold) start)))

(defun todo-write-view-id-at-point ()
  "Return the id of the task at point.
Signal a `user-error' if there is none, or if it was dropped."
  (let ((id (get-text-property (point) 'todo-write-id)))
    (cond ((not (derived-mode-p 'todo-write-view-mode))
           (user-error "This works in the buffer that `todo-write-show' shows"))
          ((null id)
           (user-error (if (> (hash-table-count todo-write-view--nodes) 0)
                           "No task here; n and p move between tasks"
                         "The list is empty; + adds a task")))
          ((member id todo-write-view--ghosts)
           (user-error "This task was dropped; undo brings it back"))
          (t id))))

(defun todo-write-view-goto (id)
  "Move point to the row of the task ID; return nil if there is none."
  (when-let* ((start (todo-write-view--start id)))
    (goto-char start)))

(defun todo-write-view-to-current ()
  "Move to the task in progress and follow it from now on."
  (interactive nil todo-write-view-mode)
  (unless (todo-write-view-goto (todo-write-view--current-id))
    (user-error "No task is in progress"))
  (when (eq (current-buffer) (window-buffer))
    (set-window-point nil (point))
    (todo-write-view--note-places (selected-window))))

(defun todo-write-view-to-parent ()
  "Show the plan of the agent that this subagent works for."
  (interactive nil todo-write-view-mode)
  (pcase (car (todo-write-children-ancestors (or todo-write-view-thread "")))
    (`(,parent . ,id) (todo-write-show parent)
                      (todo-write-view-goto id))
    (_ (user-error "This plan's agent works for no other"))))

(defun todo-write-view-toggle-detail ()
  "Open or close the details of the row at point.
They come from `todo-write-detail-functions'.  On folded tasks, unfold
them; on a subagent's list, show that."
  (interactive nil todo-write-view-mode)
  (if-let* ((child (get-text-property (point) 'todo-write-child)))
      (todo-write-show child)
    (if (todo-write-view--fold-at (point))
        (todo-write-view-toggle-fold)
      (todo-write-view--toggle
       (or (get-text-property (point) 'todo-write-id) (todo-write-view-id-at-point))))))

(defun todo-write-view--toggle (id)
  "Open or close the details of the row of ID."
  (setq todo-write-view--open (if (member id todo-write-view--open)
                                  (remove id todo-write-view--open)
                                (cons id todo-write-view--open)))
  (todo-write-view--redraw (list id)))

(defun todo-write-view-toggle-fold ()
  "Fold or unfold the completed tasks of this buffer.
See `todo-write-view-fold-completed'."
  (interactive nil todo-write-view-mode)
  (setq todo-write-view--fold (not todo-write-view--folds))
  (todo-write-view--redraw nil)
  (unless (or todo-write-view--folds (not todo-write-view--fold))
    (message "No %d successive tasks are completed" todo-write-view--least-fold)))

(defun todo-write-view-mouse-toggle-detail (event)
  "Open or close the row, or unfold the tasks, that EVENT clicked on."
  (interactive "e" todo-write-view-mode)
  (mouse-set-point event)
  (when (or (get-text-property (point) 'todo-write-id)
            (get-text-property (point) 'todo-write-child))
    (todo-write-view-toggle-detail)))

(defun todo-write-view--imenu-index ()
  "Return the tasks and their positions, for imenu."
  (seq-map (lambda (item)
             (cons (todo-write-row-plain (plist-get item :content))
                   (todo-write-view--start (plist-get item :id))))
           (todo-write-items todo-write-view-thread)))

;;; Editing

(defun todo-write-edit--do (function &rest args)
  "Call FUNCTION with ARGS; turn an error of the store into a `user-error'."
  (condition-case err
      (apply function args)
    (todo-write-error (user-error "%s" (error-message-string err)))))

(defun todo-write-edit--thread ()
  "Return the thread of this buffer, or signal a `user-error'."
  (or todo-write-view-thread (user-error "There is no plan here yet")))

(defun todo-write-edit--item ()
  "Return the item at point, or signal a `user-error'."
  (let ((id (todo-write-view-id-at-point)))
    (or (todo-write-item (todo-write-edit--thread) id)
        (user-error "This task is gone; g refreshes the list"))))

(defun todo-write-edit--position (id)
  "Return the position of the task ID in the list, from 0."
  (cl-position id (todo-write-items todo-write-view-thread)
               :key (lambda (item) (plist-get item :id)) :test #'equal))

(defun todo-write-edit--read (prompt &optional initial)
  "Read a task's text with PROMPT and INITIAL text; reject an empty one."
  (let ((text (string-trim (read-string prompt initial))))
    (when (string-empty-p text)
      (user-error "A task needs a text"))
    text))

(defun todo-write-edit-text ()
  "Edit the text of the task at point in the minibuffer."
  (interactive nil todo-write-view-mode)
  (let* ((item (todo-write-edit--item))
         (old (plist-get item :content))
         (new (todo-write-edit--read "Task: " old)))
    (unless (equal old new)
      (todo-write-edit--do #'todo-write-edit todo-write-view-thread
                           'rename (plist-get item :id) new))))

(defun todo-write-edit-add ()
  "Add a task after the one at point, and move there.
Above all rows, add it at the beginning; elsewhere outside, at the end."
  (interactive nil todo-write-view-mode)
  (let* ((thread (todo-write-edit--thread))
         (id (get-text-property (point) 'todo-write-id))
         (text (todo-write-edit--read "New task: "))
         ;; The agent can write while the text is read.
         (after (and id (todo-write-edit--position id)))
         (position (cond (after (1+ after))
                         ((and (not id) (bobp)) 0)))
         (outcome (todo-write-edit--do #'todo-write-edit thread 'add text position)))
    (when-let* ((added (seq-find (lambda (change) (equal (plist-get change :type) "added"))
                                 (plist-get (plist-get outcome :changes) :changes))))
      (todo-write-view-goto (plist-get added :itemId)))))

(defun todo-write-edit-delete ()
  "Delete the task at point."
  (interactive nil todo-write-view-mode)
  (let ((item (todo-write-edit--item)))
    (todo-write-edit--do #'todo-write-edit todo-write-view-thread
                         'delete (plist-get item :id))
    (message "Deleted; %s brings it back"
             (substitute-command-keys "\\[todo-write-edit-undo]"))))

(defun todo-write-edit-cycle-status ()
  "Change the status of the task at point to the next one.
The order is pending, in progress, completed, pending."
  (interactive nil todo-write-view-mode)
  (let ((item (todo-write-edit--item)))
    (todo-write-edit--do #'todo-write-edit todo-write-view-thread 'status
                         (plist-get item :id)
                         (pcase (plist-get item :status)
                           ("pending" "in_progress")
                           ("in_progress" "completed")
                           (_ "pending")))))

(defun todo-write-edit-move-up ()
  "Move the task at point before the one above."
  (interactive nil todo-write-view-mode)
  (todo-write-edit--move -1))

(defun todo-write-edit-move-down ()
  "Move the task at point after the one below."
  (interactive nil todo-write-view-mode)
  (todo-write-edit--move 1))

(defun todo-write-edit--move (by)
  "Move the task at point BY places."
  (let* ((id (plist-get (todo-write-edit--item) :id))
         (position (+ (todo-write-edit--position id) by))
         (total (plist-get (todo-write-summary todo-write-view-thread) :total)))
    (unless (< -1 position total)
      (user-error (if (< by 0) "This is the first task" "This is the last task")))
    (todo-write-edit--do #'todo-write-edit todo-write-view-thread 'move id position)))

(defun todo-write-edit-undo ()
  "Undo the last change of the list, by the agent or by you."
  (interactive nil todo-write-view-mode)
  (todo-write-edit--do #'todo-write-undo (todo-write-edit--thread)))

(provide 'todo-write-view)
;;; todo-write-view.el ends here
