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

(require 'todo-write-attention)
(require 'todo-write-edit)
(require 'todo-write-visit)

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
                          :visit #'todo-write-view--visit
                          :press #'todo-write-view--press
                          :toggle (lambda (all)
                                    (if all (todo-write-view--toggle-all)
                                      (todo-write-view--visit 'toggle)))
                          :step (lambda (count)
                                  (unless (forward-button count nil nil t)
                                    (user-error (if (> count 0) "No further task"
                                                  "No task before this one")))))
  (todo-write-view-draw-set-up-following)
  ;; Lines are short: finding their ends is faster than a cache of them.
  (setq-local cache-long-scans nil
              bookmark-make-record-function #'todo-write-view--make-bookmark
              desktop-save-buffer (lambda (_folder) todo-write-view-thread))
  (add-function :filter-return (local 'filter-buffer-substring-function)
                ;; Without aligned gaps.
                (lambda (text)
                  (remove-text-properties 0 (length text) '(display nil) text)
                  text))
  (add-hook 'todo-write-events-functions #'todo-write-view--on-event)
  (add-hook 'after-load-functions #'todo-write-view-rename)
  (dolist (hook '(text-scale-mode-hook display-line-numbers-mode-hook buffer-face-mode-hook))
    (add-hook hook (lambda () (todo-write-later (current-buffer))) nil t))
  (dolist (hook '(kill-buffer-hook change-major-mode-hook))
    (add-hook hook (lambda ()
                     (unless (remq (current-buffer) (todo-write-view-draw-live-buffers))
                       (remove-hook 'todo-write-events-functions #'todo-write-view--on-event)
                       (remove-hook 'after-load-functions #'todo-write-view-rename)))
              nil t)))

(define-key todo-write-view-mode-map "n" #'todo-write-buffer-next)
(define-key todo-write-view-mode-map "p" #'todo-write-buffer-previous)
(define-key todo-write-view-mode-map [remap undo] #'todo-write-edit-undo)

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

;; A clone would have the rows of this buffer, not its own.
(put 'todo-write-view-mode 'no-clone t)
(put 'todo-write-view-mode 'no-clone-indirect t)

(defun todo-write-view--on-event (thread what data)
  "Draw what the event WHAT of THREAD with DATA affects."
  ;; That more journals were read is of no thread.
  (let ((parents (and thread (todo-write-buffer-ancestors thread))))
    (dolist (buffer (and thread (todo-write-view-draw-live-buffers)))
      (with-current-buffer buffer
        ;; A buffer without a thread adopts one that has a list, unless that is a subagent's.
        (unless (or todo-write-view-thread (null data) (not (eq what 'change)) parents)
          (setq todo-write-view-thread thread))
        (cond ((and (eq what 'forgotten) (equal todo-write-view-thread thread))
               ;; Without a thread, the buffer adopts the next plan.
               (todo-write-view--show-thread nil))
              ((or (eq what 'forgotten) (equal todo-write-view-thread thread)
                   (assoc todo-write-view-thread parents))
               (todo-write-later buffer)))))))

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
             (when (and (not (memq window shown)) (todo-write-view-draw-on-title-p window))
               (todo-write-view-draw-note window)))))
    (when (and select window)
      (select-window window))
    buffer))

(defvar todo-write-view-shown-hook nil
  "Hook run in the buffer of a plan after it shows another one, or none.")

(defun todo-write-view--show-thread (thread)
  "Show THREAD, a key or nil, in the current buffer, with point at its first task."
  (setq todo-write-view-thread thread
        todo-write-view-rows-fold 'option
        todo-write-view-rows-open nil
        todo-write-view-draw-ran nil
        ;; Rows of another plan do not flash.
        todo-write-view-rows-summary nil
        todo-write-view-draw-flashes nil)
  (todo-write-view-draw-all)
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
        (todo-write-view-draw-follow window)
      (todo-write-view-draw-note window))))

(defun todo-write-view-refresh ()
  "Draw the whole buffer again, with what another Emacs changed.
It is for `revert-buffer'."
  (when todo-write-view-thread
    (todo-write-core-call todo-write-dyn--refresh todo-write-view-thread))
  (todo-write-text-forget-shapes)
  (setq todo-write-buffer-made nil)
  (todo-write-view-draw-all))

;;; Plans that show themselves

;; The selected window stays selected.  Each thread is shown once: a window that you closed
;; does not come back by itself.  The buffer switches to another plan only when the one it
;; shows is done.

(defcustom todo-write-auto-show-action
  '((display-buffer-reuse-window display-buffer-at-bottom)
    (window-height . 0.25)
    (reusable-frames . visible)
    (inhibit-same-window . t))
  "Action for `display-buffer' that shows a plan."
  :type display-buffer--action-custom-type
  :group 'todo-write
  :package-version '(todo-write . "0.2.0"))

(defvar todo-write-view--auto-shown nil
  "Keys of the threads that the mode has shown.")

;;;###autoload
(define-minor-mode todo-write-auto-show-mode
  "Display a plan when an agent begins to write one."
  :global t
  :group 'todo-write
  (when todo-write-auto-show-mode
    (todo-write-module-prepare))
  (setq todo-write-view--auto-shown nil)
  (funcall (if todo-write-auto-show-mode #'add-hook #'remove-hook)
           'todo-write-events-functions #'todo-write-view--auto-show))

(defun todo-write-view--auto-show (thread what data)
  "Show the plan of THREAD if WHAT is its first change, with the outcome DATA."
  (let* ((buffer (get-buffer todo-write-view-buffer-name))
         (showing (and buffer (buffer-local-value 'todo-write-view-thread buffer)))
         (visible (and buffer (get-buffer-window buffer 'visible))))
    (pcase what
      ('change (when (and (eq 'active (plist-get data :state))
                          (not (member thread todo-write-view--auto-shown))
                          (not (plist-get (todo-write-about thread) :parent))
                          ;; A visible plan stays until it is done.
                          (or (null showing) (equal showing thread) (not visible)
                              (memq (todo-write-state showing) '(done empty))))
                 (push thread todo-write-view--auto-shown)
                 ;; The action never takes the selected window, which may be the one that
                 ;; shows the buffer already.
                 (todo-write-show thread nil
                                  (if visible
                                      '(display-buffer-reuse-window (reusable-frames . visible))
                                    todo-write-auto-show-action))))
      ;; A new list under the same key shows itself again.
      ('forgotten (setq todo-write-view--auto-shown
                        (delete thread todo-write-view--auto-shown))))))

;;; Moving and opening

(defun todo-write-view-goto (id)
  "Move point to the task ID, which may be folded or have left the list.
Open what it is in, and widen.  Return nil if the plan does not show it."
  (widen)
  (when-let* ((position (and id (or (todo-write-view-draw-row id)
                                    (todo-write-view--former id)))))
    (goto-char position)))

(defun todo-write-view--former (id)
  "Show the task ID, which has no row; return the position of its line, or nil."
  (let* ((thread todo-write-view-thread)
         (is-its (lambda (item) (equal id (plist-get item :id)))))
    (cond ((todo-write-item thread id)
           (setq todo-write-view-rows-fold nil)
           (todo-write-view-draw-all)
           (todo-write-view-draw-row id))
          ((seq-some is-its (todo-write-items-dropped thread))
           (todo-write-view--open 'dropped)
           (todo-write-buffer-find 'todo-write-dropped id))
          ((seq-some is-its (todo-write-core-call todo-write-dyn--items-cleared thread))
           (todo-write-view--open 'cleared)
           (todo-write-buffer-find 'todo-write-part id)))))

(defun todo-write-view--open (&rest parts)
  "Show what is in PARTS, elements of `todo-write-view-rows-open'."
  (dolist (part parts)
    (cl-pushnew part todo-write-view-rows-open :test #'equal)
    (when (and (eq 'turn (car-safe part))
               (<= (cdr part) (- (car (todo-write-story-headings todo-write-view-thread 0))
                                 todo-write-view-rows-most-turns)))
      (cl-pushnew 'turns todo-write-view-rows-open)))
  (todo-write-view-draw-all))

(defun todo-write-view-goto-entry (part key)
  "Show the entry KEY of the story of PART in full, and move point to it.
PART is the id of a task, or (turn . N).  Return nil if it is not shown."
  (todo-write-view--open part (cons 'earlier part) key)
  (when-let* ((start (todo-write-view-draw-entry part key)))
    (goto-char start)))

(defun todo-write-view-goto-turn (number)
  "Open the turn NUMBER and move point to its heading; return nil if it has none."
  (let ((turn (cons 'turn number)))
    (todo-write-view--open turn)
    (when-let* ((start (todo-write-buffer-find 'todo-write-part turn)))
      (goto-char start))))

(defun todo-write-view-to-current ()
  "Move to the task in progress and follow it from now on."
  (interactive nil todo-write-view-mode)
  (unless (todo-write-view-goto (todo-write-view-rows-current-id))
    (user-error "No task is in progress"))
  (when (eq (current-buffer) (window-buffer))
    (set-window-point nil (point))
    (todo-write-view-draw-note (selected-window))))

(defun todo-write-view-to-parent ()
  "Show the plan of the agent that this subagent works for."
  (interactive nil todo-write-view-mode)
  (pcase (and todo-write-view-thread
              (car (todo-write-buffer-ancestors todo-write-view-thread)))
    (`(,parent . ,id) (with-current-buffer (todo-write-show parent t)
                        (todo-write-view-goto id)))
    (_ (user-error "This plan's agent works for no other"))))

(defun todo-write-view-visit-agent ()
  "Go to the buffer in which you talk to the agent of this plan or at point.
Else show its tmux pane, or say where the agent runs."
  (interactive nil todo-write-view-mode todo-write-list-mode)
  (todo-write-attention-visit-agent-of (todo-write-buffer-own-thread)))

(defun todo-write-view-information ()
  "Say what is known of the session of this plan, or of the agent at point.
That is its models, tokens, how full its context is, and what its program
says that it cost."
  (interactive nil todo-write-view-mode todo-write-list-mode)
  (let* ((thread (todo-write-buffer-own-thread))
         (summary (todo-write-summary thread))
         (work (todo-write-work thread))
         (text (todo-write-text-dotted
                (and (plist-get work :models)
                     (mapconcat #'todo-write-text-line (plist-get work :models) ", "))
                (todo-write-detail-tokens (plist-get work :tokens))
                (todo-write-row-context summary)
                (and (plist-get summary :cost)
                     (concat "cost " (plist-get summary :cost) ", as the agent says")))))
    (message "%s" (if (string-empty-p text) "Nothing is known of the tokens of this session"
                    text))))

(defun todo-write-view--press (button)
  "Visit or open what BUTTON stands for."
  (let ((child (button-get button 'todo-write-child))
        (file (button-get button 'todo-write-file))
        (entry (button-get button 'todo-write-entry)))
    (cond (child (todo-write-show child))
          (file (todo-write-visit-open-file todo-write-view-thread file))
          ((and entry (memq (plist-get entry :kind) '(command edit call git)))
           (todo-write-visit-entry todo-write-view-thread entry))
          ((button-get button 'todo-write-fold) (todo-write-view-toggle-fold))
          (t (todo-write-view--toggle button)))))

(defun todo-write-view--visit (&optional toggle)
  "Visit or open what is at point; non-nil TOGGLE opens or closes anything there."
  (let ((button (or (button-at (point))
                    (todo-write-view-draw-row (get-text-property (point) 'todo-write-id)))))
    (cond ((null button) (todo-write-view-draw-id-here))
          ((and toggle (or (button-get button 'todo-write-toggle)
                           (button-get button 'todo-write-file)))
           (todo-write-view--toggle button))
          (t (push-button button)))))

(defun todo-write-view--toggle (button)
  "Open or close what BUTTON stands for, of a file the story that it is in."
  (let ((element (or (button-get button 'todo-write-toggle)
                     (button-get button 'todo-write-part))))
    (when (button-get button 'todo-write-file)
      (goto-char (todo-write-buffer-find 'todo-write-part element)))
    (setq todo-write-view-rows-open (if (member element todo-write-view-rows-open)
                                        (remove element todo-write-view-rows-open)
                                      (cons element todo-write-view-rows-open))))
  ;; The user reads there now.
  (unless (todo-write-view-draw-on-title-p (selected-window))
    (set-window-parameter nil 'todo-write-places nil))
  (todo-write-view-draw-all))

(defun todo-write-view--toggle-all ()
  "Open the details of all rows and all below them, or close all if any is open.
The turn that runs is open by itself."
  (let ((thread todo-write-view-thread))
    (setq todo-write-view-rows-open
          (unless (seq-difference todo-write-view-rows-open
                                  (list (cons 'turn todo-write-view-draw-ran)))
            (append (mapcar (lambda (item) (plist-get item :id)) (todo-write-items thread))
                    (and (todo-write-items-dropped thread) '(dropped))
                    (and (todo-write-core-call todo-write-dyn--items-cleared thread) '(cleared))
                    (mapcar (lambda (heading) (cons 'turn (plist-get heading :turn)))
                            (todo-write-view-rows-headings thread))))))
  (todo-write-view-draw-all))

(defun todo-write-view-toggle-fold ()
  "Fold or unfold the completed tasks of this buffer.
See `todo-write-view-fold-completed'."
  (interactive nil todo-write-view-mode)
  (todo-write-buffer-require 'todo-write-view-mode)
  (cl-flet ((folded-p () (text-property-any (point-min) (point-max) 'todo-write-fold t)))
    (setq todo-write-view-rows-fold (not (folded-p)))
    (todo-write-view-draw-all)
    (when (and todo-write-view-rows-fold (not (folded-p)))
      (message "No %d successive tasks are completed" todo-write-view-rows-fold-least))))

;;; Bookmarks and desktops

;; Both name the thread, and a bookmark the task at point, too.

(declare-function bookmark-prop-get "bookmark" (bookmark-name-or-record prop))

(defun todo-write-view--make-bookmark ()
  "Return a bookmark of the plan in this buffer."
  (let ((key (todo-write-buffer-own-thread)))
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
    (todo-write-view-goto (bookmark-prop-get bookmark 'item))))
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
