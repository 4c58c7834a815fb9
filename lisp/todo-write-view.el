;;; todo-write-view.el --- The live buffer of a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `M-x todo-write-show' shows the plan of an agent in `*efrit-todos*' and
;; keeps it up to date:
;;
;;     (global-set-key (kbd "C-c t") #'todo-write-show)
;;
;; `?' shows what can be done there.  This file has the mode, its keys and its
;; commands.  What a row looks like is in todo-write-row.el, -detail.el and
;; -children.el; how the buffer is drawn and kept up to date in
;; todo-write-view-*.el; what the editing keys do in todo-write-edit.el.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'todo-write)
(require 'todo-write-view-live)

(autoload 'todo-write-edit-text "todo-write-edit" nil t)
(autoload 'todo-write-edit-add "todo-write-edit" nil t)
(autoload 'todo-write-edit-delete "todo-write-edit" nil t)
(autoload 'todo-write-edit-cycle-status "todo-write-edit" nil t)
(autoload 'todo-write-edit-move-up "todo-write-edit" nil t)
(autoload 'todo-write-edit-move-down "todo-write-edit" nil t)
(autoload 'todo-write-edit-undo "todo-write-edit" nil t)
(autoload 'todo-write-history "todo-write-history" nil t)
(autoload 'todo-write-timeline "todo-write-timeline" nil t)
(autoload 'todo-write-export-timeline "todo-write-timeline" nil t)
(autoload 'todo-write-list "todo-write-list" nil t)
(autoload 'todo-write-switch "todo-write-list" nil t)
(autoload 'todo-write-copy "todo-write-org" nil t)
(autoload 'todo-write-log "todo-write-log" nil t)
(autoload 'todo-write-menu "todo-write-menu" nil t)
(autoload 'todo-write-menu-context "todo-write-menu")
(autoload 'todo-write-bookmark-record "todo-write-org")
(autoload 'todo-write-bookmark-desktop "todo-write-org")

(defcustom todo-write-view-buffer-name "*efrit-todos*"
  "Name of the buffer that shows a plan live."
  :type 'string
  :group 'todo-write)

(defvar todo-write-view-mode-map
  (let ((map (make-sparse-keymap)))
    (pcase-dolist
        (`(,key . ,command)
         '(("n" . todo-write-view-next) ("p" . todo-write-view-previous)
           ("RET" . todo-write-view-toggle-detail)
           ("TAB" . todo-write-view-toggle-detail)
           ("." . todo-write-view-to-current) ("d" . todo-write-view-toggle-fold)
           ("e" . todo-write-edit-text) ("+" . todo-write-edit-add)
           ("k" . todo-write-edit-delete) ("SPC" . todo-write-edit-cycle-status)
           ("M-<up>" . todo-write-edit-move-up)
           ("M-<down>" . todo-write-edit-move-down)
           ("u" . todo-write-edit-undo)
           ("s" . todo-write-switch) ("^" . todo-write-view-to-parent)
           ("L" . todo-write-list) ("l" . todo-write-log)
           ("H" . todo-write-history) ("T" . todo-write-timeline)
           ("x" . todo-write-export-timeline) ("w" . todo-write-copy)
           ("?" . todo-write-menu)))
      (define-key map (kbd key) command))
    (define-key map [mouse-1] #'todo-write-view-mouse-toggle-detail)
    (define-key map [remap undo] #'todo-write-edit-undo)
    map)
  "Keymap of `todo-write-view-mode'.")

(easy-menu-define todo-write-view-mode-menu todo-write-view-mode-map
  "Menu of `todo-write-view-mode'."
  '("Plan"
    ["Show Detail" todo-write-view-toggle-detail]
    ["Go to Task in Progress" todo-write-view-to-current]
    ["Fold or Unfold Completed" todo-write-view-toggle-fold]
    "--"
    ["Edit Text" todo-write-edit-text]
    ["Add Task" todo-write-edit-add]
    ["Delete Task" todo-write-edit-delete]
    ["Next Status" todo-write-edit-cycle-status]
    ["Move Up" todo-write-edit-move-up]
    ["Move Down" todo-write-edit-move-down]
    ["Undo" todo-write-edit-undo]
    "--"
    ["Switch Plan…" todo-write-switch]
    ["Plan of the Parent" todo-write-view-to-parent]
    ["All Plans" todo-write-list]
    ["History" todo-write-history]
    ["Timeline" todo-write-timeline]
    ["Export Timeline…" todo-write-export-timeline]
    ["Log" todo-write-log]
    ["Copy as Check List" todo-write-copy]
    ["Copy as Markdown" todo-write-copy-markdown]
    "--"
    ["All Keys" todo-write-menu]
    ["Refresh" revert-buffer]
    ["Quit" quit-window]))

(define-derived-mode todo-write-view-mode special-mode "Plan"
  "Major mode of the buffer that shows an agent's plan live.

Each task is a row: \\=✓ completed, \\=● in progress, \\=○ pending, \\=‖ paused
and \\=✗ dropped before it was completed.

\\{todo-write-view-mode-map}"
  :interactive nil
  (setq truncate-lines t
        ;; A task in Hebrew or Arabic must not turn its row around.
        bidi-paragraph-direction 'left-to-right
        show-trailing-whitespace nil)
  ;; Lines are short: to find their ends costs less than to remember them.
  (setq-local cache-long-scans nil
              mode-line-process '(todo-write-view--count (" " todo-write-view--count)))
  (todo-write-view--make-tables)
  (setq-local revert-buffer-function #'todo-write-view-refresh
              imenu-create-index-function #'todo-write-view--imenu-index
              bookmark-make-record-function #'todo-write-bookmark-record
              desktop-save-buffer #'todo-write-bookmark-desktop
              ;; Emacs 28 keeps a note of each `add-hook' with a depth for ever.
              context-menu-functions (list t #'todo-write-menu-context))
  (buffer-disable-undo)
  (todo-write-view--start-following)
  (add-hook 'window-size-change-functions #'todo-write-view--fit nil t)
  (add-hook 'window-configuration-change-hook #'todo-write-view--widen nil t)
  (add-hook 'kill-buffer-hook #'todo-write-view--stop-following nil t)
  (add-hook 'change-major-mode-hook #'todo-write-view--stop-following nil t))

;;; Showing

;;;###autoload
(defun todo-write-show (&optional thread select action)
  "Show the plan of THREAD and keep it up to date; return its buffer.
THREAD is a key, a string; nil stands for the thread at hand, which is
the one of the current buffer, else the newest of the current project,
else the one written last.  With a prefix argument, read it in the
minibuffer.

SELECT non-nil, as in interactive use, selects the window; otherwise the
selected window stays selected.  ACTION is one for `display-buffer'."
  (interactive (list (and current-prefix-arg (todo-write-read-thread "Show the plan of: "))
                     t))
  (let* ((thread (or thread todo-write-view-thread (todo-write-view--default-thread)))
         (buffer (get-buffer-create todo-write-view-buffer-name))
         ;; Shown first, so that it is drawn once, for its window's width.
         (window (display-buffer buffer action)))
    (with-current-buffer buffer
      (cond ((not (derived-mode-p 'todo-write-view-mode))
             (todo-write-view-mode)
             (todo-write-view--show-thread thread))
            ((not (equal thread todo-write-view-thread))
             (todo-write-view--show-thread thread))
            (window
             (todo-write-view--fit window))))
    (when (and select window)
      (select-window window))
    buffer))

(defun todo-write-view--show-thread (thread)
  "Show THREAD in the current buffer, point at its first task."
  (setq todo-write-view-thread thread
        todo-write-view--fold 'option)
  (clrhash todo-write-view--open)
  (todo-write-view--draw)
  (todo-write-view--set-timer)
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
  "Return the key of the thread to show, or nil.
That is the newest of the current project, or else the one written last."
  (let* ((current (todo-write-current-thread))
         (key (if (and current (todo-write-view--of-project-p current))
                  current
                (or (seq-find #'todo-write-view--of-project-p (todo-write-threads-loaded))
                    (todo-write--newest-of-project)
                    current
                    (car (todo-write-threads))))))
    ;; A subagent's list stands below the task that it works on.
    (or (caar (last (and key (todo-write-children-ancestors key)))) key)))

(defun todo-write-view--of-project-p (thread)
  "Return non-nil if THREAD is one of the current project."
  (equal (plist-get (todo-write-about thread) :project) (todo-write--project)))

(defun todo-write-view-refresh (&rest _)
  "Draw the buffer anew."
  (interactive nil todo-write-view-mode)
  (todo-write-row-forget-shapes)
  ;; Folds are remade, for they show shapes too.
  (mapc #'delete-overlay todo-write-view--folds)
  (setq todo-write-view--folds nil)
  (todo-write-view--draw)
  (todo-write-view--set-timer))

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
  "Move point COUNT rows on, to the start of the row.
There is a blank there, so that the cursor hides no shape."
  (let ((here (point)))
    (dotimes (_ (abs count))
      (let ((next (todo-write-view--neighbour (> count 0))))
        (unless next
          (goto-char here)
          (user-error (if (> count 0) "No further task" "No task before this one")))
        (goto-char next)
        (setq here next)))))

(defun todo-write-view--neighbour (forward)
  "Return the start of the next row if FORWARD, else of the one before, or nil.
What is folded counts as one row."
  (let* ((fold (todo-write-view--fold-at (point)))
         (next (save-excursion
                 (when fold
                   (goto-char (if forward (1- (overlay-end fold)) (overlay-start fold))))
                 (if forward
                     (let ((next (next-single-property-change (point) 'todo-write-id)))
                       (and next (get-text-property next 'todo-write-id) next))
                   (let ((start (todo-write-view--row-start)))
                     (and start (> start (point-min))
                          (get-text-property (1- start) 'todo-write-id)
                          (goto-char (1- start))
                          (todo-write-view--row-start))))))
         (fold (and next (todo-write-view--fold-at next))))
    (if fold (overlay-start fold) next)))

(defun todo-write-view--row-start ()
  "Return the start of the row at point; outside the rows, point."
  (if (get-text-property (point) 'todo-write-id)
      (previous-single-property-change (1+ (point)) 'todo-write-id nil (point-min))
    (point)))

(defun todo-write-view-id-at-point ()
  "Return the id of the task at point.
Signal a `user-error' where there is none, or only a dropped one."
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
  "Move point to the row of the task ID, if there is one.
Return non-nil if there is."
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
  "Show the plan of the agent that this plan's agent works for."
  (interactive nil todo-write-view-mode)
  (pcase (car (todo-write-children-ancestors (or todo-write-view-thread "")))
    (`(,parent . ,id) (todo-write-show parent)
                      (todo-write-view-goto id))
    (_ (user-error "This plan's agent works for no other"))))

(defun todo-write-view-toggle-detail ()
  "Open or close the details of the row at point.
`todo-write-detail-functions' says what they are.  Where completed
tasks are folded, unfold them; on a subagent's list, show that."
  (interactive nil todo-write-view-mode)
  (if-let* ((child (get-text-property (point) 'todo-write-child)))
      (todo-write-show child)
    (if (todo-write-view--fold-at (point))
        (todo-write-view-toggle-fold)
      (todo-write-view--toggle
       (or (get-text-property (point) 'todo-write-id) (todo-write-view-id-at-point))))))

(defun todo-write-view--toggle (id)
  "Open or close the details of the row of ID."
  (if (gethash id todo-write-view--open)
      (remhash id todo-write-view--open)
    (puthash id t todo-write-view--open))
  (todo-write-view--keeping-places nil
    (todo-write-view--redraw-row id)))

(defun todo-write-view-toggle-fold ()
  "Show completed tasks as a count, or each of them, in this buffer.
See `todo-write-view-fold-completed'."
  (interactive nil todo-write-view-mode)
  (setq todo-write-view--fold (not todo-write-view--folds))
  (todo-write-view--keeping-places nil)
  (unless (or todo-write-view--folds (not todo-write-view--fold))
    (message "No %d completed tasks follow each other" todo-write-view--least-fold)))

(defun todo-write-view-mouse-toggle-detail (event)
  "Open or close the details of the row that EVENT clicked on."
  (interactive "e" todo-write-view-mode)
  (mouse-set-point event)
  (when (or (get-text-property (point) 'todo-write-id)
            (get-text-property (point) 'todo-write-child))
    (todo-write-view-toggle-detail)))

(defun todo-write-view-mouse-unfold (event)
  "Show the completed tasks whose count EVENT clicked on."
  (interactive "e" todo-write-view-mode)
  (with-current-buffer (window-buffer (posn-window (event-start event)))
    (todo-write-view-toggle-fold)))

(defun todo-write-view--imenu-index ()
  "Return the tasks and where they are, for imenu."
  (seq-map (lambda (item)
             (cons (todo-write-row-plain (plist-get item :content))
                   (todo-write-view--start (plist-get item :id))))
           (todo-write-items todo-write-view-thread)))

(provide 'todo-write-view)
;;; todo-write-view.el ends here
