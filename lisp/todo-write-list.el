;;; todo-write-list.el --- All plans, and switching between them  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `M-x todo-write-list', or `L' in a plan, lists the plans of all threads, one
;; row each: those of the current project first, then the newest.  Threads of
;; earlier sessions are only looked at, not loaded, so that another Emacs that
;; works with them is not disturbed.
;;
;; `M-x todo-write-switch', or `s' in a plan, asks for one with completion.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'tabulated-list)
(require 'todo-write)
(require 'todo-write-menu)
(require 'todo-write-row)
(require 'todo-write-view)


(defcustom todo-write-list-limit 100
  "Threads that `todo-write-list' shows at most.
Each that is not loaded costs reading its journal."
  :type 'natnum
  :group 'todo-write)

;;; Threads

(defun todo-write-list-threads (&optional limit)
  "Return what there is to say of all threads, as a list of plists.
Each has :key, :about as from `todo-write-about', :time, milliseconds
since the epoch of the last change, and :summary as from
`todo-write-summary'.  Those of the current project come first, then the
newest.  LIMIT is the most to return."
  (let* ((project (todo-write--project))
         (kept (todo-write-threads-kept))
         (known (append kept
                        (cl-loop for key in (todo-write-threads-loaded)
                                 unless (cl-find key kept :test #'equal
                                                 :key (lambda (each) (plist-get each :key)))
                                 collect (todo-write-list--loaded key))))
         (ours (lambda (thread)
                 (equal project (plist-get (plist-get thread :about) :project))))
         (newest (sort known (lambda (a b)
                               (> (plist-get a :modified) (plist-get b :modified)))))
         (threads (append (seq-filter ours newest) (seq-remove ours newest))))
    (mapcar (lambda (thread)
              (list :key (plist-get thread :key) :about (plist-get thread :about)
                    :time (plist-get thread :modified)
                    :summary (todo-write-summary (plist-get thread :key) t)))
            (seq-take threads (or limit (length threads))))))

(defun todo-write-list--loaded (key)
  "Return :key, :about and :modified of the thread KEY that has no journal."
  (list :key key :about (todo-write-about key)
        :modified (or (plist-get (car (last (todo-write-revisions key))) :timestamp) 0)))

(defun todo-write-list--title (thread)
  "Return what THREAD, from `todo-write-list-threads', is called."
  (todo-write-row-plain (or (plist-get (plist-get thread :summary) :title)
                            (plist-get thread :key))))

(defun todo-write-list--state (summary)
  "Return the state of SUMMARY as a shape and a word."
  (pcase (plist-get summary :state)
    ('done (propertize (concat (todo-write-row-shape 'completed) " done")
                       'face 'todo-write-done))
    ('paused (propertize (concat (todo-write-row-shape 'paused) " paused")
                         'face 'todo-write-paused))
    ('empty (propertize "  empty" 'face 'todo-write-time))
    (_ (propertize (concat (todo-write-row-shape 'in_progress) " active")
                   'face 'todo-write-in-progress-shape))))

(defun todo-write-list--current (summary)
  "Return the text of the task in progress of SUMMARY."
  (let ((current (plist-get summary :current)))
    (if current (todo-write-row-text current 'in_progress) "")))

;;; Switching

(defun todo-write-list-read (prompt)
  "Read the key of a thread with PROMPT and completion.
Titles, progress and age stand beside the keys.  Signal a `user-error'
if there is no thread."
  (let* ((threads (or (todo-write-list-threads todo-write-list-limit)
                      (user-error "There is no plan yet; an agent begins one with todo_write")))
         (keys (mapcar (lambda (thread) (plist-get thread :key)) threads))
         (annotate (lambda (key)
                     (todo-write-list--annotation
                      (cl-find key threads :test #'equal
                               :key (lambda (thread) (plist-get thread :key)))))))
    (completing-read
     prompt
     (lambda (string predicate action)
       (if (eq action 'metadata)
           ;; They come in a good order.
           `(metadata (category . todo-write-thread)
                      (display-sort-function . identity)
                      (cycle-sort-function . identity)
                      (annotation-function . ,annotate))
         (complete-with-action action keys string predicate)))
     nil t nil nil (car keys))))

(defun todo-write-list--annotation (thread)
  "Return what stands beside the key of THREAD in completion."
  (let ((summary (plist-get thread :summary)))
    (concat (propertize " " 'display '(space :align-to 32))
            (todo-write-row-truncate
             (string-join (list (todo-write-row-count summary)
                                (todo-write-list--state summary)
                                (todo-write-row-age (/ (plist-get thread :time) 1000.0))
                                (todo-write-list--title thread))
                          "  ")
             60))))

;;;###autoload
(defun todo-write-switch (thread)
  "Show the plan of THREAD, a key that is read with completion."
  (interactive (list (todo-write-list-read "Show the plan of: ")))
  (todo-write-restore thread)
  (todo-write-show thread t))

;;; The overview

(defconst todo-write-list--buffer "*todo-write-list*"
  "Name of the overview's buffer.")

(defvar-local todo-write-list--timer nil
  "Timer of the next drawing, or nil.")

(defvar todo-write-list-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map [mouse-2] #'todo-write-list-mouse-show)
    (define-key map [follow-link] 'mouse-face)
    map)
  "Keymap of `todo-write-list-mode'.")

(todo-write-menu-define 'todo-write-list-mode todo-write-list-mode-map "Plans"
  '(("Plan"
     ("RET" "Show" todo-write-list-show)
     ("k" "Forget…" todo-write-list-forget))
    ("List"
     ("g" "Refresh" revert-buffer))))

(define-derived-mode todo-write-list-mode tabulated-list-mode "Plans"
  "Major mode of the list of all plans, one thread a row.

\\{todo-write-list-mode-map}"
  :interactive nil
  (setq tabulated-list-format
        (vector '("Plan" 28 t)
                '("Done" 7 todo-write-list--less-done :right-align t)
                '("State" 9 t)
                '("Age" 6 todo-write-list--younger :right-align t)
                '("Current task" 32 t)
                '("Project" 0 t))
        tabulated-list-padding 1
        tabulated-list-entries #'todo-write-list--entries
        bidi-paragraph-direction 'left-to-right
        show-trailing-whitespace nil)
  (tabulated-list-init-header)
  ;; Emacs 28 never forgets an `add-hook' with a depth.
  (setq-local context-menu-functions (list t #'todo-write-menu-context))
  (todo-write-listen #'todo-write-list--heard)
  (add-hook 'kill-buffer-hook #'todo-write-list--stop nil t)
  (add-hook 'change-major-mode-hook #'todo-write-list--stop nil t))

(defun todo-write-list--stop ()
  "Stop following the store."
  (when todo-write-list--timer
    (cancel-timer todo-write-list--timer))
  (todo-write-listen #'todo-write-list--heard 'stop))

(defun todo-write-list--heard (_thread what _data)
  "Redraw the overview soon if WHAT happened to a thread shows in it."
  (when-let* (((memq what '(change state forgotten)))
              (buffer (get-buffer todo-write-list--buffer)))
    (with-current-buffer buffer
      (unless todo-write-list--timer
        (setq todo-write-list--timer
              (run-at-time 0.2 nil #'todo-write-list--redraw buffer))))))

(defun todo-write-list--redraw (buffer)
  "Draw the overview in BUFFER; point stays with its thread in all windows."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (setq todo-write-list--timer nil)
      (let ((places (mapcar (lambda (window)
                              (cons window (tabulated-list-get-id (window-point window))))
                            (get-buffer-window-list nil nil t))))
        (tabulated-list-print t)
        (pcase-dolist (`(,window . ,key) places)
          (when-let* ((start (and key (todo-write-list--find key))))
            (set-window-point window start)))))))

(defun todo-write-list--find (key)
  "Return the position of the row of the thread KEY, or nil."
  (save-excursion
    (goto-char (point-min))
    (while (not (or (eobp) (equal key (tabulated-list-get-id))))
      (forward-line))
    (unless (eobp) (point))))

(defun todo-write-list--entries ()
  "Return the rows of the overview."
  (mapcar #'todo-write-list--entry (todo-write-list-threads todo-write-list-limit)))

(defun todo-write-list--entry (thread)
  "Return the row of THREAD, from `todo-write-list-threads'."
  (let* ((summary (plist-get thread :summary))
         (about (plist-get thread :about))
         (title (todo-write-list--title thread)))
    (list (plist-get thread :key)
          (vector (list (if (plist-get about :parent)
                            (concat (todo-write-row-shape 'child) " " title)
                          title)
                        'face 'todo-write-title 'follow-link t
                        'help-echo "RET, mouse-1: show this plan"
                        'action #'todo-write-list-show)
                  (propertize (todo-write-row-count summary)
                              'todo-write-value (plist-get summary :completed))
                  (todo-write-list--state summary)
                  (propertize (todo-write-row-age (/ (plist-get thread :time) 1000.0))
                              'todo-write-value (- (plist-get thread :time)))
                  (todo-write-list--current summary)
                  (todo-write-row-plain
                   (abbreviate-file-name (or (plist-get about :project) "")))))))

(defun todo-write-list--value (entry column)
  "Return the number by which ENTRY is sorted in COLUMN."
  (get-text-property 0 'todo-write-value (aref (cadr entry) column)))

(defun todo-write-list--less-done (a b)
  "Return non-nil if fewer tasks are completed in entry A than in B."
  (< (todo-write-list--value a 1) (todo-write-list--value b 1)))

(defun todo-write-list--younger (a b)
  "Return non-nil if entry A changed after B."
  (< (todo-write-list--value a 3) (todo-write-list--value b 3)))

;;;###autoload
(defun todo-write-list ()
  "List the plans of all threads, and follow them; return the buffer."
  (interactive)
  (let ((buffer (get-buffer-create todo-write-list--buffer))
        (folder default-directory))
    (with-current-buffer buffer
      (setq default-directory folder)
      (unless (derived-mode-p 'todo-write-list-mode)
        (todo-write-list-mode))
      (tabulated-list-print))
    (pop-to-buffer buffer)
    buffer))

(defun todo-write-list--key ()
  "Return the key of the thread at point, or signal a `user-error'."
  (or (tabulated-list-get-id) (user-error "No plan here")))

(defun todo-write-list-show (&rest _)
  "Show the plan at point."
  (interactive nil todo-write-list-mode)
  (todo-write-switch (todo-write-list--key)))

(defun todo-write-list-mouse-show (event)
  "Show the plan that EVENT clicked on."
  (interactive "e" todo-write-list-mode)
  (mouse-set-point event)
  (todo-write-list-show))

(defun todo-write-list-forget ()
  "Forget the thread at point: its list, its history and its journal."
  (interactive nil todo-write-list-mode)
  (let ((key (todo-write-list--key)))
    (when (yes-or-no-p (format "Forget the plan of %s and its history? "
                               (todo-write-row-plain key)))
      (todo-write-forget key)
      (todo-write-list--redraw (current-buffer)))))

(provide 'todo-write-list)
;;; todo-write-list.el ends here
