;;; todo-write-view-move.el --- Move in a plan, and open what is in it  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The commands that move between the rows of a plan and open, fold and visit them.

;;; Code:

(require 'text-property-search)
(require 'todo-write-attention)
(require 'todo-write-view-draw)
(require 'todo-write-visit)

;;; Moving and opening

(define-obsolete-function-alias 'todo-write-view-next #'todo-write-buffer-next "0.4.0")

(define-obsolete-function-alias 'todo-write-view-previous #'todo-write-buffer-previous "0.4.0")

(define-obsolete-function-alias 'todo-write-view-visit #'todo-write-buffer-visit "0.4.0")

(define-obsolete-function-alias 'todo-write-view-toggle #'todo-write-buffer-toggle "0.4.0")

(defun todo-write-view-move-id-at-point ()
  "Return the id of the task at point.
Signal a `user-error' if there is none, if it was dropped or is folded, or
in the list of a subagent, whose lines have the id of the task above."
  (let ((id (get-text-property (point) 'todo-write-id)))
    (cond ((not (derived-mode-p 'todo-write-view-mode))
           (user-error "This works in the buffer that `todo-write-show' shows"))
          ((todo-write-view-move-on-fold-p)
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

(defun todo-write-view-move-on-fold-p ()
  "Return non-nil if point is on the line of folded tasks."
  (eq 'fold (car-safe (get-text-property (point) 'todo-write-part))))

(defun todo-write-view-move-on-row-p (position)
  "Return non-nil if POSITION is on the line of a task, not on what is below it."
  (eql (todo-write-view-draw-row (get-text-property position 'todo-write-id))
       (save-excursion
         (goto-char position)
         (line-beginning-position))))

(defun todo-write-view-move-goto (id)
  "Move point to the row of the task ID; return nil if there is none."
  (when-let* ((start (todo-write-view-draw-row id)))
    (goto-char start)))

(defun todo-write-view-move-goto-any (id)
  "Move point to the task ID, which may be folded or have left the list.
Open what it is in, and widen if it is outside the narrowed region.  Return
nil if the plan does not show it."
  (when-let* ((id id)
              (position (save-restriction
                          (widen)
                          (or (todo-write-view-draw-row id)
                              (todo-write-view-move--former id)))))
    (unless (and (<= (point-min) position) (< position (point-max)))
      (widen))
    (goto-char position)))

(defun todo-write-view-move--former (id)
  "Show the task ID, which has no row, and return the position of its line.
Return nil if there is no such task."
  (let* ((thread todo-write-view-thread)
         (is-its (lambda (item) (equal id (plist-get item :id))))
         turn)
    (cond ((todo-write-item thread id)
           (setq todo-write-view-rows-fold nil)
           (todo-write-view-draw-all)
           (todo-write-view-draw-row id))
          ((seq-some is-its (todo-write-items-dropped thread))
           (todo-write-view-move--open 'dropped)
           (todo-write-view-draw-find 'todo-write-dropped id))
          ((seq-some is-its (todo-write-core-call todo-write-dyn--items-cleared thread))
           (todo-write-view-move--open 'cleared)
           (todo-write-view-draw-find 'todo-write-part id))
          ((setq turn (cl-loop
                       for (revision . _) in (reverse (todo-write-item-changes thread id))
                       for turn = (todo-write-turns-at thread (plist-get revision :timestamp))
                       thereis (and turn
                                    (seq-some (lambda (event) (funcall is-its (car event)))
                                              (todo-write-turns-events thread turn))
                                    turn)))
           (todo-write-view-move--open (cons 'turn turn))
           (save-excursion
             ;; How it ended comes last.
             (goto-char (point-max))
             (when-let* ((match (text-property-search-backward
                                 'todo-write-entry id
                                 (lambda (id entry)
                                   (and entry
                                        (equal id (car (todo-write-story-entry-part entry))))))))
               (prop-match-beginning match)))))))

(defun todo-write-view-move--open (&rest parts)
  "Show what is in PARTS, elements of `todo-write-view-rows-open'."
  (dolist (part parts)
    (cl-pushnew part todo-write-view-rows-open :test #'equal)
    (when (and (eq 'turn (car-safe part))
               (<= (cdr part) (- (car (todo-write-turns-headings todo-write-view-thread 0))
                                 todo-write-view-rows-most-turns)))
      (cl-pushnew 'turns todo-write-view-rows-open)))
  (todo-write-view-draw-all))

(defun todo-write-view-move-goto-entry (part key)
  "Show the entry KEY of the story of PART in full, and move point to it.
PART is the id of a task, or (turn . N).  Return nil if it is not shown."
  (todo-write-view-move--open part (cons 'earlier part) key)
  (when-let* ((start (todo-write-view-draw-entry part key)))
    (goto-char start)))

(defun todo-write-view-move-goto-turn (number)
  "Open the turn NUMBER and move point to its heading; return nil if it has none."
  (let ((turn (cons 'turn number)))
    (todo-write-view-move--open turn)
    (when-let* ((start (todo-write-view-draw-find 'todo-write-part turn)))
      (goto-char start))))

(defun todo-write-view-to-current ()
  "Move to the task in progress and follow it from now on."
  (interactive nil todo-write-view-mode)
  (unless (todo-write-view-move-goto-any (todo-write-view-rows-current-id))
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
                        (todo-write-view-move-goto-any id)))
    (_ (user-error "This plan's agent works for no other"))))

(defun todo-write-view-visit-agent ()
  "Go to the buffer in which you talk to the agent of this plan or at point.
Else show its tmux pane, or say where the agent runs."
  (interactive nil todo-write-view-mode todo-write-list-mode)
  (todo-write-attention-visit-agent-of (todo-write-view-move--thread)))

(defun todo-write-view-move--thread ()
  "Return the key of this plan, or of the agent at point in the overview.
Signal a `user-error' if there is none."
  (or (todo-write-buffer-thread-here)
      (user-error (if (derived-mode-p 'todo-write-list-mode) "No agent here"
                    "There is no plan here yet"))))

(defun todo-write-view-information ()
  "Say what is known of the session of this plan, or of the agent at point.
That is its models, tokens, how full its context is, and what its program
says that it cost."
  (interactive nil todo-write-view-mode todo-write-list-mode)
  (let* ((thread (todo-write-view-move--thread))
         (summary (todo-write-summary thread))
         (work (todo-write-work thread))
         (parts (delq nil (list (and (plist-get work :models)
                                     (mapconcat #'todo-write-text-line
                                                (plist-get work :models) ", "))
                                (todo-write-detail-tokens (plist-get work :tokens))
                                (todo-write-row-context summary)
                                (and (plist-get summary :cost)
                                     (concat "cost " (plist-get summary :cost)
                                             ", as the agent says"))))))
    (if parts
        (message "%s" (string-join parts (format " %s " (todo-write-text-shape 'dot))))
      (message "Nothing is known of the tokens of this session"))))

;; What is at point is a button.  Its `action' is for RET and clicks.  TAB opens or closes
;; what it has as `todo-write-toggle', an element of `todo-write-view-rows-open'.

(define-button-type 'todo-write-part :supertype 'todo-write-button
  'action #'todo-write-view-move--toggle)

(define-button-type 'todo-write-fold :supertype 'todo-write-button
  'action (lambda (_) (todo-write-view-toggle-fold)))

(define-button-type 'todo-write-child :supertype 'todo-write-button
  'action (lambda (button) (todo-write-show (button-get button 'todo-write-child))))

(define-button-type 'todo-write-file :supertype 'todo-write-button
  'action (lambda (button)
            (todo-write-visit-open-file todo-write-view-thread
                                        (button-get button 'todo-write-file))))

(define-button-type 'todo-write-entry :supertype 'todo-write-button
  'action (lambda (button)
            (let ((entry (button-get button 'todo-write-entry)))
              (if (memq (todo-write-story-entry-kind entry) '(command edit call git))
                  (todo-write-visit-entry todo-write-view-thread entry)
                (todo-write-view-move--toggle button)))))

(define-button-type 'todo-write-dropped :supertype 'todo-write-button
  'action (lambda (_) (user-error "R brings this task back")))

(defun todo-write-view-move-visit (&optional toggle)
  "Visit what is at point: a file, the output of a command, another plan.
On a task, open or close its story; on folded tasks, unfold them.
TOGGLE non-nil opens or closes whatever can be opened."
  (let ((button (or (button-at (point))
                    (todo-write-view-draw-row (get-text-property (point) 'todo-write-id)))))
    (cond ((null button) (todo-write-view-move-id-at-point))
          ((and toggle (or (button-get button 'todo-write-toggle)
                           (button-get button 'todo-write-file)))
           (todo-write-view-move--toggle button))
          (t (funcall (button-get button 'action) button)))))

(defun todo-write-view-move--toggle (button)
  "Open or close what BUTTON stands for, and draw the plan.
On a file, close the story that it is in, and move to its heading."
  (let ((element (or (button-get button 'todo-write-toggle)
                     (button-get button 'todo-write-part))))
    (when (button-get button 'todo-write-file)
      (goto-char (todo-write-view-draw-find 'todo-write-part element)))
    (setq todo-write-view-rows-open (if (member element todo-write-view-rows-open)
                                        (remove element todo-write-view-rows-open)
                                      (cons element todo-write-view-rows-open))))
  ;; The user reads there now.
  (unless (todo-write-view-draw-on-title-p (selected-window) (todo-write-view-rows-current-id))
    (todo-write-view-draw-stay (selected-window)))
  (todo-write-view-draw-all))

(defun todo-write-view-move-toggle-all ()
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
  (todo-write-menu-require 'todo-write-view-mode)
  (cl-flet ((folded-p () (text-property-any (point-min) (point-max) 'category
                                            (button-category-symbol 'todo-write-fold))))
    (setq todo-write-view-rows-fold (not (folded-p)))
    (todo-write-view-draw-all)
    (when (and todo-write-view-rows-fold (not (folded-p)))
      (message "No %d successive tasks are completed" todo-write-view-rows-fold-least))))

(defun todo-write-view-move-open-found ()
  "If Isearch ends at a match in text that was cut, open what shows all of it."
  (when-let* ((other (and (not isearch-mode-end-hook-quit) isearch-other-end))
              (cut (text-property-any (min (point) other) (max (point) other)
                                      'todo-write-ellipsis t))
              (button (button-at cut))
              (element (button-get button 'todo-write-toggle))
              ((not (member element todo-write-view-rows-open))))
    (todo-write-view-move--toggle button)))

(provide 'todo-write-view-move)
;;; todo-write-view-move.el ends here
