;;; todo-write-view-move.el --- Move in a plan, and open what is in it  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The commands that move between the rows of a plan and open, fold and visit them.

;;; Code:

(require 'text-property-search)
(require 'todo-write)
(require 'todo-write-attention)
(require 'todo-write-children)
(require 'todo-write-commands)
(require 'todo-write-detail)
(require 'todo-write-fold)
(require 'todo-write-footer)
(require 'todo-write-here)
(require 'todo-write-page)
(require 'todo-write-place)
(require 'todo-write-row)
(require 'todo-write-story)
(require 'todo-write-sums)
(require 'todo-write-text)
(require 'todo-write-turns)
(require 'todo-write-view-draw)
(require 'todo-write-view-rows)
(require 'todo-write-visit)

;;; Moving and opening

(defun todo-write-view-next (&optional count)
  "Move to the next row; with COUNT, that many rows forward."
  (interactive "p" todo-write-view-mode)
  (unless (todo-write-page-move (or count 1))
    (user-error (if (> (or count 1) 0) "No further task" "No task before this one"))))

(defun todo-write-view-previous (&optional count)
  "Move to the previous row; with COUNT, that many rows back."
  (interactive "p" todo-write-view-mode)
  (todo-write-view-next (- (or count 1))))

(defun todo-write-view-move-id-at-point ()
  "Return the id of the task at point.
Signal a `user-error' if there is none, if it was dropped or is folded, or
in the list of a subagent, whose lines have the id of the task above."
  (let ((id (get-text-property (point) 'todo-write-id)))
    (cond ((not (derived-mode-p 'todo-write-view-mode))
           (user-error "This works in the buffer that `todo-write-show' shows"))
          ((null id)
           (user-error (if (> (hash-table-count todo-write-place-rows) 0)
                           "No task here; n and p move between tasks"
                         "The list is empty; + adds a task")))
          ((member id todo-write-view-rows-ghosts)
           (user-error "This task was %s; R brings it back"
                       (todo-write-detail-departure todo-write-view-thread id)))
          ((todo-write-fold-at (point))
           (user-error "RET unfolds these tasks first"))
          ((get-text-property (point) 'todo-write-subagent)
           (user-error "This is a subagent's list; RET on its title shows it"))
          (t id))))

(defun todo-write-view-move-on-row-p (position)
  "Return non-nil if POSITION is on the line of a task, not on what is below it."
  (eql (todo-write-place-start (get-text-property position 'todo-write-id))
       (save-excursion
         (goto-char position)
         (line-beginning-position))))

(defun todo-write-view-move-goto (id)
  "Move point to the row of the task ID; return nil if there is none."
  (when-let* ((start (todo-write-place-start id)))
    (goto-char start)))

(defun todo-write-view-move-goto-any (id)
  "Move point to the task ID, which may have left the list.
Unfold it, and widen if it is outside the narrowed region.  Return nil if
the plan does not show it."
  (when-let* ((id id)
              (position (save-restriction
                          (widen)
                          (or (todo-write-view-move-goto id) (todo-write-view-move--goto-former id)))))
    (unless (and (<= (point-min) position) (< position (point-max)))
      (widen))
    (goto-char position)
    (todo-write-view-move-unfold-here)
    position))

(defun todo-write-view-move--goto-former (id)
  "Move point to the line of the task ID, which left the list.
Open what it is in.  Return nil if there is no such task."
  (let* ((is-its (lambda (item) (equal id (plist-get item :id))))
         (dropped (seq-some is-its (todo-write-view-rows-dropped-before)))
         (listed (or dropped (seq-some is-its todo-write-view-rows-cleared)))
         (turn (unless listed (todo-write-view-move--turn-of id))))
    (when (or listed turn)
      (todo-write-view-move--open (cond (turn (cons 'turn turn)) (dropped 'dropped) (t 'cleared)))
      (todo-write-view-draw-all)
      ;; In a turn, how it ended comes last.
      (goto-char (point-max))
      (when-let* ((match (if turn
                             (text-property-search-backward
                              'todo-write-entry id
                              (lambda (id entry)
                                (and entry (equal id (car (todo-write-story-entry-part entry))))))
                           (text-property-search-backward
                            (if dropped 'todo-write-dropped 'todo-write-toggle) id #'equal))))
        (goto-char (prop-match-beginning match))))))

(defun todo-write-view-move--turn-of (id)
  "Return the number of the newest turn that shows the task ID, or nil."
  (seq-some (pcase-lambda (`(,revision . ,_))
              (when-let* ((turn (todo-write-turns-at todo-write-view-thread
                                                     (plist-get revision :timestamp)))
                          ((seq-some (lambda (event)
                                       (equal id (plist-get (todo-write-turns-event-item event) :id)))
                                     (todo-write-turns-events todo-write-view-thread turn))))
                turn))
            (reverse (todo-write-item-changes todo-write-view-thread id))))

(defun todo-write-view-move--open (part)
  "Show what is in PART, an id or a symbol as in `todo-write-view-rows-open'."
  (cl-pushnew part todo-write-view-rows-open :test #'equal)
  (when (eq 'turn (car-safe part))
    (setq todo-write-view-rows-open (remove (cons 'shut (cdr part)) todo-write-view-rows-open))
    (when (<= (cdr part) (- (or (car todo-write-view-rows-turns) 0) todo-write-footer-turns))
      (cl-pushnew 'turns todo-write-view-rows-open))))

(defun todo-write-view-move-goto-entry (part key)
  "Show the entry KEY of the story of PART in full, and move point to it.
PART is the id of a task, or (turn . N).  Return nil if it is not shown."
  (todo-write-view-move--open part)
  (cl-pushnew part todo-write-view-rows-earlier :test #'equal)
  (cl-pushnew key todo-write-view-rows-whole :test #'equal)
  (todo-write-view-draw-all)
  (when-let* ((start (todo-write-place-entry part key)))
    (goto-char start)))

(defun todo-write-view-move-goto-turn (number)
  "Open the turn NUMBER and move point to its heading; return nil if it has none."
  (todo-write-view-move--open (cons 'turn number))
  (todo-write-view-draw-all)
  (goto-char (point-max))
  (when-let* ((match (text-property-search-backward 'todo-write-part (cons 'turn number)
                                                    #'equal)))
    (goto-char (prop-match-beginning match))
    (forward-line 0)
    (point)))

(defun todo-write-view-to-current ()
  "Move to the task in progress and follow it from now on."
  (interactive nil todo-write-view-mode)
  (unless (todo-write-view-move-goto-any (todo-write-view-rows-current-id))
    (user-error "No task is in progress"))
  (when (eq (current-buffer) (window-buffer))
    (set-window-point nil (point))
    (todo-write-place-note (selected-window))))

(defun todo-write-view-to-parent ()
  "Show the plan of the agent that this subagent works for."
  (interactive nil todo-write-view-mode)
  (pcase (and todo-write-view-thread
              (car (todo-write-children-ancestors todo-write-view-thread)))
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
  (or (todo-write-here-thread-here)
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
                                (todo-write-sums-tokens (plist-get work :tokens))
                                (todo-write-row-context summary)
                                (and (plist-get summary :cost)
                                     (concat "cost " (plist-get summary :cost)
                                             ", as the agent says"))))))
    (if parts
        (message "%s" (string-join parts (format " %s " (todo-write-text-shape 'dot))))
      (message "Nothing is known of the tokens of this session"))))

;; What the buttons in the text of a plan do: `action' is for RET and clicks,
;; `todo-write-fold' for TAB.

(define-button-type 'todo-write-task :supertype 'todo-write-button
  'action #'todo-write-view-move--toggle-row)

(define-button-type 'todo-write-fold :supertype 'todo-write-button
  'mouse-face 'highlight 'action (lambda (_) (todo-write-view-toggle-fold)))

(define-button-type 'todo-write-child :supertype 'todo-write-button
  'action (lambda (button) (todo-write-show (button-get button 'todo-write-child))))

(define-button-type 'todo-write-file :supertype 'todo-write-button
  'action (lambda (button)
            (todo-write-visit-open-file todo-write-view-thread
                                        (button-get button 'todo-write-file)))
  'todo-write-fold #'todo-write-view-move--toggle-row)

(define-button-type 'todo-write-entry :supertype 'todo-write-button
  'action (lambda (button)
            (let ((entry (button-get button 'todo-write-entry)))
              (if (memq (todo-write-story-entry-kind entry) '(command edit call git))
                  (todo-write-visit-entry todo-write-view-thread entry)
                (todo-write-view-move--toggle-entry button))))
  'todo-write-fold #'todo-write-view-move--toggle-entry)

(define-button-type 'todo-write-earlier :supertype 'todo-write-button
  'action (lambda (button)
            (todo-write-view-move--toggle-in 'todo-write-view-rows-earlier
                                             (button-get button 'todo-write-earlier))))

(define-button-type 'todo-write-more-files :supertype 'todo-write-button
  'action (lambda (button)
            (todo-write-view-move--toggle-in 'todo-write-view-rows-whole
                                             (button-get button 'todo-write-more-files))))

(define-button-type 'todo-write-part :supertype 'todo-write-button
  'action (lambda (button)
            (todo-write-view-move--toggle-in 'todo-write-view-rows-open
                                             (button-get button 'todo-write-toggle))))

(define-button-type 'todo-write-dropped :supertype 'todo-write-button
  'action (lambda (_) (user-error "R brings this task back")))

(defun todo-write-view-visit ()
  "Visit what is at point: a file, the output of a command, another plan.
On a task, open or close its story; on folded tasks, unfold them."
  (interactive nil todo-write-view-mode)
  (todo-write-view-move--press nil))

(defun todo-write-view-toggle (&optional all)
  "Open or fold what is at point: a task, an entry, a part of the last line.
On folded tasks, unfold them; on a subagent's list, show that.  With a
prefix argument ALL, open all, or close all if any is open."
  (interactive "P" todo-write-view-mode)
  (if all
      (todo-write-view-move--toggle-all)
    (todo-write-view-move--press 'todo-write-fold)))

(defun todo-write-view-move--press (property)
  "Press the button at point, or that of the task above.
PROPERTY has what that does if the button has it."
  (todo-write-menu-require 'todo-write-view-mode)
  (if-let* ((button (or (button-at (point))
                        (todo-write-place-start (get-text-property (point) 'todo-write-id)))))
      (funcall (or (button-get button property) (button-get button 'action)) button)
    (todo-write-view-move-id-at-point)))

(defun todo-write-view-move--toggle-row (button)
  "Open or close the story of the task of BUTTON.
Below the rows, move to the heading of the story, and close that."
  (if-let* ((id (button-get button 'todo-write-id)))
      (todo-write-view-move--toggle-in 'todo-write-view-rows-open id)
    (goto-char (previous-single-property-change (1+ (button-start button)) 'todo-write-part
                                                nil (point-min)))
    (push-button (point))))

(defun todo-write-view-move--toggle-entry (button)
  "Show the entry of BUTTON in full, or as a line."
  (todo-write-view-move--toggle-in 'todo-write-view-rows-whole
                                   (todo-write-story-entry-key (button-get button 'todo-write-entry))))

(defun todo-write-view-move--toggle-in (variable element)
  "Add ELEMENT to the list in VARIABLE, or remove it, and draw the plan."
  (set variable (if (member element (symbol-value variable))
                    (remove element (symbol-value variable))
                  (cons element (symbol-value variable))))
  ;; The user reads there now.
  (unless (todo-write-place-on-title-p (selected-window) (todo-write-view-rows-current-id))
    (todo-write-place-stay (selected-window)))
  (todo-write-view-draw-all))

(defun todo-write-view-move--toggle-all ()
  "Open the details of all rows and all below them, or close all if any is open."
  (todo-write-menu-require 'todo-write-view-mode)
  (setq todo-write-view-rows-open
        (unless todo-write-view-rows-open
          (append (hash-table-keys todo-write-place-rows)
                  (and (todo-write-view-rows-dropped-before) '(dropped))
                  (and todo-write-view-rows-cleared '(cleared))
                  (mapcar (lambda (heading) (cons 'turn (plist-get heading :turn)))
                          (cdr todo-write-view-rows-turns))))
        todo-write-view-rows-whole nil)
  (todo-write-view-draw-all))

(defun todo-write-view-toggle-fold ()
  "Fold or unfold the completed tasks of this buffer.
See `todo-write-view-fold-completed'."
  (interactive nil todo-write-view-mode)
  (todo-write-menu-require 'todo-write-view-mode)
  (setq todo-write-fold-choice (not todo-write-fold-overlays))
  (todo-write-view-draw-all)
  (unless (or todo-write-fold-overlays (not todo-write-fold-choice))
    (message "No %d successive tasks are completed" todo-write-fold-least)))

(defun todo-write-view-move-unfold-here ()
  "Show the completed tasks if point is on a folded one."
  (when (todo-write-fold-at (point))
    (setq todo-write-fold-choice nil)
    (todo-write-fold-clear)))

(defun todo-write-view-move-open-found ()
  "If Isearch ends at a match in text that was cut, open what shows all of it."
  (when-let* ((other (and (not isearch-mode-end-hook-quit) isearch-other-end))
              (cut (text-property-any (min (point) other) (max (point) other) 'todo-write-ellipsis t))
              (button (button-at cut)))
    (pcase (button-type button)
      ('todo-write-entry
       (unless (member (todo-write-story-entry-key (button-get button 'todo-write-entry))
                       todo-write-view-rows-whole)
         (todo-write-view-move--toggle-entry button)))
      ((or 'todo-write-task 'todo-write-part)
       (unless (member (or (button-get button 'todo-write-id)
                           (button-get button 'todo-write-toggle))
                       todo-write-view-rows-open)
         (funcall (button-get button 'action) button))))))

(defun todo-write-view-move-imenu-index ()
  "Return the tasks for imenu."
  (when todo-write-view-thread
    (seq-map (lambda (item)
               (cons (todo-write-text-plain (plist-get item :content))
                     (todo-write-place-start (plist-get item :id))))
             (todo-write-items todo-write-view-thread))))

(provide 'todo-write-view-move)
;;; todo-write-view-move.el ends here
