;;; todo-write-view.el --- The live buffer of a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `M-x todo-write-show' shows the plan of an agent in `*efrit-todos*' and
;; keeps it up to date:
;;
;;     (global-set-key (kbd "C-c t") #'todo-write-show)
;;
;; `?' shows the commands.  Those that edit are in todo-write-edit.el.

;;; Code:

(require 'todo-write-edit)

(defvar todo-write-view-buffer-name "*efrit-todos*"
  "Name of the buffer that shows a plan live.
It is *todo-write* where *efrit-todos* is Efrit's; see `todo-write-view-rename'.")

(defun todo-write-view-rename (&rest _)
  "Leave the name *efrit-todos* to Efrit where that is loaded and our mode is off."
  (let ((old todo-write-view-buffer-name)
        (new (if (and (or (featurep 'efrit) (fboundp 'efrit-todos-mode))
                      (not (bound-and-true-p todo-write-efrit-mode)))
                 "*todo-write*"
               "*efrit-todos*")))
    (when (and (member old '("*todo-write*" "*efrit-todos*")) (not (equal old new)))
      (setq todo-write-view-buffer-name new)
      (when-let* ((ours (get-buffer old))
                  ((memq ours (todo-write-view-draw-live-buffers))))
        (when (get-buffer new) (kill-buffer new))
        (with-current-buffer ours
          (rename-buffer new)
          (todo-write-view-draw-all))))))

;;; The mode

(defvar todo-write-view-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "n" #'todo-write-buffer-next)
    (define-key map "p" #'todo-write-buffer-previous)
    (define-key map [remap undo] #'todo-write-edit-undo)
    map)
  "Keymap of `todo-write-view-mode'.")

(todo-write-menu-define 'todo-write-view-mode todo-write-view-mode-map "Plan"
  `(("Task"
     ("RET" "Visit or open" todo-write-buffer-visit)
     ("TAB" "Open or fold" todo-write-buffer-toggle)
     ("=" "Diff" todo-write-show-diff)
     ("v" "Review what is new" todo-write-review)
     ("t" "Next status" todo-write-edit-cycle-status)
     ("e" "Edit text" todo-write-edit-text)
     ("+" "Add one after it" todo-write-edit-add)
     ("k" "Delete" todo-write-edit-delete)
     ("R" "Restore a dropped one" todo-write-edit-restore)
     ("M-<up>" "Move up" todo-write-edit-move-up)
     ("M-<down>" "Move down" todo-write-edit-move-down)
     ("u" "Undo" todo-write-edit-undo))
    ("Look"
     ("." "Go to the task in progress" todo-write-view-to-current menu)
     ("d" "Fold or unfold completed" todo-write-view-toggle-fold menu)
     ("^" "Parent" todo-write-view-to-parent menu)
     ("o" "The agent's own buffer" todo-write-view-visit-agent)
     ("S" "Tell the agent…" todo-write-tell)
     ("O" "Resume an ended session…" todo-write-resume-session menu)
     ("i" "Tokens, context, cost" todo-write-view-information menu)
     ("g" "Refresh" revert-buffer))
    . ,todo-write-menu-common))

(define-derived-mode todo-write-view-mode special-mode "Plan"
  "Major mode of the buffer that shows an agent's plan live.

Each task is a row: \\=✓ completed, \\=● in progress, \\=○ pending, \\=‖ paused
and \\=✗ gone before it was completed.  Below the tasks are your prompts,
newest first, each with what came of it.  \\[todo-write-buffer-visit] opens what is at point,
and \\[todo-write-menu] shows all keys.

\\{todo-write-view-mode-map}"
  :interactive nil
  (todo-write-buffer-set-up #'todo-write-view-draw-all
                          :revert #'todo-write-view-refresh
                          :visit #'todo-write-view-move-visit
                          :toggle (lambda (all)
                                    (if all (todo-write-view-move-toggle-all)
                                      (todo-write-view-move-visit 'toggle)))
                          :step (lambda (count)
                                  (unless (todo-write-buffer-move count)
                                    (user-error (if (> count 0) "No further task"
                                                  "No task before this one")))))
  (todo-write-view-draw-set-up-following)
  ;; Lines are short: finding their ends is faster than a cache of them.
  (setq-local cache-long-scans nil
              bookmark-make-record-function #'todo-write-view--make-bookmark
              desktop-save-buffer (lambda (_folder) todo-write-view-thread)
              ;; Emacs 28 never forgets an `add-hook' with a depth.
              context-menu-functions (list t #'todo-write-menu-context))
  (add-function :filter-return (local 'filter-buffer-substring-function)
                ;; Without ellipses and aligned gaps.
                (lambda (text)
                  (remove-text-properties 0 (length text) '(display nil) text)
                  text))
  (add-hook 'todo-write-events-functions #'todo-write-view--on-event)
  (add-hook 'after-load-functions #'todo-write-view-rename)
  (dolist (hook '(text-scale-mode-hook display-line-numbers-mode-hook buffer-face-mode-hook))
    (add-hook hook (lambda () (todo-write-later (current-buffer))) nil t))
  (add-hook 'isearch-mode-end-hook #'todo-write-view-move-open-found nil t)
  (dolist (hook '(kill-buffer-hook change-major-mode-hook))
    (add-hook hook #'todo-write-view--stop nil t)))

(defun todo-write-view--stop ()
  "Follow no plans if no other buffer shows one."
  (unless (remq (current-buffer) (todo-write-view-draw-live-buffers))
    (remove-hook 'todo-write-events-functions #'todo-write-view--on-event)
    (remove-hook 'after-load-functions #'todo-write-view-rename)))

;; A clone would have the rows of this buffer, not its own.
(put 'todo-write-view-mode 'no-clone t)

(put 'todo-write-view-mode 'no-clone-indirect t)

(defun todo-write-view--on-event (thread what data)
  "Draw what the event WHAT of THREAD with DATA affects.
For `todo-write-events-functions'."
  ;; The spinner is of no thread.
  (let ((parents (and thread (todo-write-buffer-ancestors thread))))
    (dolist (buffer (and thread (todo-write-view-draw-live-buffers)))
      (with-current-buffer buffer
        ;; A buffer without a thread adopts one that has a list, unless that is a subagent's.
        (unless (or todo-write-view-thread (null data) (not (eq what 'change)) parents)
          (setq todo-write-view-thread thread))
        (cond ((not (eq what 'forgotten))
               (when (or (equal todo-write-view-thread thread)
                         (assoc todo-write-view-thread parents))
                 (todo-write-later buffer)))
              ((equal todo-write-view-thread thread)
               ;; Without a thread, the buffer adopts the next plan.
               (todo-write-view--show-thread nil))
              (t (todo-write-later buffer)))))))

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
  (todo-write-core-configure)
  (todo-write-view-rename)
  (let* ((thread (or thread todo-write-view-thread (todo-write-buffer-default-thread)))
         ;; It signals for what is no key, before a buffer has it.
         (_ (and thread (todo-write-summary thread)))
         ;; A plan whose buffer was renamed keeps that.
         (buffer (or (and thread
                          (seq-find (lambda (buffer)
                                      (equal thread
                                             (buffer-local-value 'todo-write-view-thread buffer)))
                                    (todo-write-view-draw-live-buffers)))
                     (get-buffer-create todo-write-view-buffer-name)))
         (shown (get-buffer-window-list buffer nil t))
         ;; Display it first, so that it is drawn once, for the width of its window.
         (window (display-buffer buffer action)))
    (with-current-buffer buffer
      (unless (derived-mode-p 'todo-write-view-mode)
        (todo-write-view-mode))
      (cond ((not (and todo-write-buffer-width (equal thread todo-write-view-thread)))
             (todo-write-view--show-thread thread))
            (window
             (todo-write-buffer-fit window)
             (when (and (not (memq window shown))
                        (todo-write-view-draw-on-title-p
                         window (todo-write-view-rows-current-id)))
               (todo-write-view-draw-note window)))))
    (when (and select window)
      (select-window window))
    buffer))

(defvar todo-write-view-shown-hook nil
  "Hook run in the buffer of a plan after it shows another one, or none.")

(defun todo-write-view--show-thread (thread)
  "Show THREAD in the current buffer, with point at its first task."
  (todo-write-view-draw-show-thread thread)
  (todo-write-view--to-first-row)
  (run-hooks 'todo-write-view-shown-hook))

(defun todo-write-view--to-first-row ()
  "Move point to the first row, also in the windows that show the buffer."
  (goto-char (point-min))
  ;; There may be no row.
  (ignore-error user-error
    (todo-write-buffer-next))
  (dolist (window (get-buffer-window-list nil nil t))
    (set-window-start window (point-min))
    (set-window-point window (point))
    (if todo-write-view-follow
        (todo-write-view-draw-follow window (todo-write-view-rows-current-id))
      (todo-write-view-draw-note window))))

(defun todo-write-view-refresh ()
  "Draw the whole buffer again, with what another Emacs changed.
It is for `revert-buffer'."
  (when todo-write-view-thread
    (todo-write-core-call todo-write-dyn--refresh todo-write-view-thread))
  (todo-write-text-forget-shapes)
  (setq todo-write-view-rows-texts nil)
  (todo-write-view-draw-all))

;;; Bookmarks and desktops

;; Both name the thread, and a bookmark the task at point, too.

(declare-function bookmark-prop-get "bookmark" (bookmark-name-or-record prop))

(defun todo-write-view--make-bookmark ()
  "Return a bookmark of the plan in this buffer.
Signal a `user-error' if the buffer shows no plan."
  (let ((key (or todo-write-view-thread (user-error "There is no plan here yet"))))
    `(,(todo-write-text-plain (or (plist-get (todo-write-summary key) :title) key))
      (thread . ,key)
      (item . ,(get-text-property (point) 'todo-write-id))
      (handler . todo-write-bookmark-jump))))

;;;###autoload
(defun todo-write-bookmark-jump (bookmark)
  "Show the plan of BOOKMARK, with point at its task."
  (let ((key (bookmark-prop-get bookmark 'thread)))
    (unless (todo-write-restore key)
      (user-error "There is no longer a plan of %s" (todo-write-text-plain key)))
    ;; The caller displays the buffer.
    (set-buffer (save-window-excursion (todo-write-show key)))
    (todo-write-view-move-goto-any (bookmark-prop-get bookmark 'item))))
(put 'todo-write-bookmark-jump 'bookmark-handler-type "Plan")

;;;###autoload (add-to-list 'desktop-buffer-mode-handlers '(todo-write-view-mode . todo-write-bookmark-restore))
;;;###autoload (autoload 'todo-write-view-mode "todo-write-view")

;;;###autoload
(defun todo-write-bookmark-restore (_file _name thread)
  "Restore the buffer that shows the plan of THREAD from a desktop."
  (when (and thread (todo-write-restore thread))
    (save-window-excursion (todo-write-show thread))))

(provide 'todo-write-view)
;;; todo-write-view.el ends here
