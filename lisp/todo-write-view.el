;;; todo-write-view.el --- The live buffer of a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `M-x todo-write-show' shows the plan of an agent in `*efrit-todos*' and
;; keeps it up to date:
;;
;;     (global-set-key (kbd "C-c t") #'todo-write-show)
;;
;; This file has the mode, its keys and commands.  How the buffer is drawn is
;; in todo-write-view-draw.el, what a row looks like in todo-write-row.el and
;; todo-write-detail.el, what the editing keys do in todo-write-edit.el.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'todo-write)
(require 'todo-write-view-draw)

(autoload 'todo-write-edit-text "todo-write-edit" nil t)
(autoload 'todo-write-edit-add "todo-write-edit" nil t)
(autoload 'todo-write-edit-delete "todo-write-edit" nil t)
(autoload 'todo-write-edit-cycle-status "todo-write-edit" nil t)
(autoload 'todo-write-edit-move-up "todo-write-edit" nil t)
(autoload 'todo-write-edit-move-down "todo-write-edit" nil t)
(autoload 'todo-write-edit-undo "todo-write-edit" nil t)
(autoload 'todo-write-history "todo-write-history" nil t)

(defvar todo-write-view-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "n" #'todo-write-view-next)
    (define-key map "p" #'todo-write-view-previous)
    (define-key map (kbd "RET") #'todo-write-view-toggle-detail)
    (define-key map (kbd "TAB") #'todo-write-view-toggle-detail)
    (define-key map [mouse-1] #'todo-write-view-mouse-toggle-detail)
    (define-key map "e" #'todo-write-edit-text)
    (define-key map "+" #'todo-write-edit-add)
    (define-key map "k" #'todo-write-edit-delete)
    (define-key map (kbd "SPC") #'todo-write-edit-cycle-status)
    (define-key map (kbd "M-<up>") #'todo-write-edit-move-up)
    (define-key map (kbd "M-<down>") #'todo-write-edit-move-down)
    (define-key map "u" #'todo-write-edit-undo)
    (define-key map [remap undo] #'todo-write-edit-undo)
    (define-key map "H" #'todo-write-history)
    map)
  "Keymap of `todo-write-view-mode'.")

(easy-menu-define todo-write-view-mode-menu todo-write-view-mode-map
  "Menu of `todo-write-view-mode'."
  '("Plan"
    ["Show Detail" todo-write-view-toggle-detail]
    "--"
    ["Edit Text" todo-write-edit-text]
    ["Add Task" todo-write-edit-add]
    ["Delete Task" todo-write-edit-delete]
    ["Next Status" todo-write-edit-cycle-status]
    ["Move Up" todo-write-edit-move-up]
    ["Move Down" todo-write-edit-move-down]
    ["Undo" todo-write-edit-undo]
    "--"
    ["History" todo-write-history]
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
        show-trailing-whitespace nil
        todo-write-view--nodes (make-hash-table :test #'equal)
        todo-write-view--running (make-hash-table :test #'equal)
        todo-write-view--open (make-hash-table :test #'equal))
  (setq-local revert-buffer-function #'todo-write-view-refresh)
  (buffer-disable-undo)
  (cl-pushnew (current-buffer) todo-write-view--buffers)
  (add-hook 'todo-write-change-functions #'todo-write-view--on-change)
  (add-hook 'todo-write-state-functions #'todo-write-view--on-state)
  (add-hook 'window-size-change-functions #'todo-write-view--fit nil t)
  (add-hook 'kill-buffer-hook #'todo-write-view--stop nil t)
  (add-hook 'change-major-mode-hook #'todo-write-view--stop nil t))

(defun todo-write-view--stop ()
  "Stop following the store with the current buffer."
  (setq todo-write-view--buffers (delq (current-buffer) todo-write-view--buffers))
  (unless todo-write-view--buffers
    (remove-hook 'todo-write-change-functions #'todo-write-view--on-change)
    (remove-hook 'todo-write-state-functions #'todo-write-view--on-state))
  (todo-write-view--set-timer))

;;; Showing

;;;###autoload
(defun todo-write-show (&optional thread select)
  "Show the plan of THREAD and keep it up to date; return its buffer.
THREAD is a key, a string; nil stands for the thread at hand, which is
the one of the current buffer, else the one written last.  With a prefix
argument, read it in the minibuffer.

SELECT non-nil, as in interactive use, selects the window; otherwise the
selected window stays selected."
  (interactive (list (and current-prefix-arg (todo-write-read-thread "Show the plan of: "))
                     t))
  (let* ((thread (or thread todo-write-view-thread (todo-write-view--default-thread)))
         (buffer (get-buffer-create todo-write-view-buffer-name))
         ;; Shown first, so that it is drawn once, for its window's width.
         (window (display-buffer buffer)))
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
  (setq todo-write-view-thread thread)
  (clrhash todo-write-view--open)
  (todo-write-view--draw)
  (todo-write-view--to-first-row))

(defun todo-write-view--to-first-row ()
  "Move point to the first row, also in the windows that show the buffer."
  (goto-char (point-min))
  (ignore-errors (todo-write-view-next))
  (dolist (window (get-buffer-window-list nil nil t))
    (set-window-start window (point-min))
    (set-window-point window (point))))

(defun todo-write-view--default-thread ()
  "Return the key of the thread written last, or nil."
  (or (todo-write-current-thread) (car (todo-write-threads))))

(defun todo-write-view-refresh (&rest _)
  "Draw the buffer anew."
  (interactive nil todo-write-view-mode)
  (todo-write-row-forget-shapes)
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
  "Return the start of the next row if FORWARD, else of the one before, or nil."
  (save-excursion
    (if forward
        (let ((next (next-single-property-change (point) 'todo-write-id)))
          (and next (get-text-property next 'todo-write-id) next))
      (let ((start (todo-write-view--row-start)))
        (and start (> start (point-min))
             (get-text-property (1- start) 'todo-write-id)
             (goto-char (1- start))
             (todo-write-view--row-start))))))

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
  "Move point to the row of the task ID, if there is one."
  (when-let* ((node (gethash id todo-write-view--nodes)))
    (goto-char (ewoc-location node))))

(defun todo-write-view-toggle-detail ()
  "Open or close the details of the row at point.
`todo-write-detail-functions' says what they are."
  (interactive nil todo-write-view-mode)
  (let* ((id (or (get-text-property (point) 'todo-write-id) (todo-write-view-id-at-point)))
         (node (gethash id todo-write-view--nodes)))
    (if (gethash id todo-write-view--open)
        (remhash id todo-write-view--open)
      (puthash id t todo-write-view--open))
    (todo-write-view--keeping-places
      (ewoc-invalidate todo-write-view--ewoc node))))

(defun todo-write-view-mouse-toggle-detail (event)
  "Open or close the details of the row that EVENT clicked on."
  (interactive "e" todo-write-view-mode)
  (mouse-set-point event)
  (when (get-text-property (point) 'todo-write-id)
    (todo-write-view-toggle-detail)))

(provide 'todo-write-view)
;;; todo-write-view.el ends here
