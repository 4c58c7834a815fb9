;;; todo-write-buffer.el --- Read-only buffers as wide as their windows  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What our read-only buffers have in common.  One is drawn for the narrowest of its
;; windows, and again when these change; what is drawn is decided by
;; `todo-write-events-draw'.  A table is one whose rows are entries of
;; `tabulated-list-mode'.  Each says what RET, TAB, n and p do in it.  While a buffer of
;; ours is drawn, point and windows keep their lines, or what the buffer says instead.
;; What can be pressed in one is a button.

;;; Code:

(require 'easymenu)
(require 'tabulated-list)
(require 'todo-write)

(defcustom todo-write-view-max-width nil
  "Maximum number of columns of a row, or nil to use the width of the window."
  :type '(choice (const :tag "Width of the window" nil) natnum)
  :group 'todo-write
  :package-version '(todo-write . "0.2.0"))

;;; Windows

(defvar-local todo-write-buffer-width nil
  "Columns the rows were last drawn for.")

(defvar-local todo-write-buffer--sizes nil
  "The sizes of the windows that the buffer was last drawn for.")

(defun todo-write-buffer-scale ()
  "Return the width of a column of this buffer's font, in columns of the frame."
  (let ((window (and face-remapping-alist (get-buffer-window nil t))))
    (if (and window (display-graphic-p (window-frame window)))
        (/ (float (window-font-width window)) (frame-char-width (window-frame window)))
      1)))

(defun todo-write-buffer-drawn ()
  "Note that the current buffer is being drawn for its windows as they are."
  (todo-write-events-unmark (current-buffer))
  (setq todo-write-buffer--sizes (todo-write-buffer--current-sizes)
        todo-write-buffer-width (car todo-write-buffer--sizes)))

(defun todo-write-buffer--current-sizes ()
  "Return the width of rows and the heights of this buffer's windows, a list.
What a table shows does not depend on heights."
  (let* ((windows (get-buffer-window-list nil nil t))
         (most (or todo-write-view-max-width most-positive-fixnum))
         (widths (mapcar
                  (lambda (window)
                    (- (if (and face-remapping-alist (display-graphic-p (window-frame window)))
                           ;; The font may be scaled.
                           (floor (window-body-width window t) (window-font-width window))
                         (window-body-width window))
                       (if display-line-numbers
                           (with-selected-window window
                             (+ 2 (line-number-display-width)))
                         0)
                       1))
                  windows)))
    (cons (if widths (max 10 (apply #'min most widths))
            (or todo-write-buffer-width (min 80 most)))
          (unless (derived-mode-p 'tabulated-list-mode)
            (mapcar #'window-body-height windows)))))

(defun todo-write-buffer-fit (&optional window)
  "Draw the buffer of WINDOW if it does not fit its windows, or changed unseen.
By default, WINDOW is the selected one.  Any buffer may be current."
  (with-current-buffer (window-buffer window)
    (when (or (todo-write-events-marked-p (current-buffer))
              (not (equal todo-write-buffer--sizes (todo-write-buffer--current-sizes))))
      (if isearch-mode
          (todo-write-later (current-buffer))
        (funcall todo-write-events-draw)))))

(declare-function evil-initial-state "ext:evil-core" (mode &optional default &rest _))
(declare-function evil-set-initial-state "ext:evil-core" (mode state))

(defun todo-write-menu-begin-mode ()
  "Let Evil leave the keys of this major mode alone.
In most of its states, Evil's keys hide those of the mode.  A state that
the user has set for the mode stays."
  (when (and (fboundp 'evil-set-initial-state)
             (not (evil-initial-state major-mode)))
    (evil-set-initial-state major-mode 'emacs)))

(defvar-local todo-write-buffer--does nil
  "What the commands on rows call in this buffer, a plist of functions.")

(defun todo-write-buffer-set-up (draw &rest does)
  "Set up the current buffer as a read-only one, which DRAW draws.
DOES is a plist of functions: `:revert' is for `revert-buffer', by default
DRAW; RET calls `:visit', TAB `:toggle' with its prefix argument, and n and
p call `:step' with a number of rows; and `:press' gets a button of the type
`todo-write-button'."
  (todo-write-menu-begin-mode)
  (setq bidi-paragraph-direction 'left-to-right ; Or Hebrew tasks reverse their rows.
        show-trailing-whitespace nil
        truncate-lines t)
  (setq-local todo-write-buffer--does does
              todo-write-events-draw draw
              revert-buffer-function (lambda (&rest _)
                                       (funcall (or (plist-get does :revert) draw))))
  (buffer-disable-undo)
  (add-hook 'kill-buffer-hook (lambda () (todo-write-events-unmark (current-buffer))) nil t)
  (dolist (hook '(window-size-change-functions
                  window-buffer-change-functions
                  ;; Deleting the narrowest window changes the size of no other one.
                  window-configuration-change-hook))
    (add-hook hook #'todo-write-buffer-fit nil t)))

(defun todo-write-buffer-pop-to (name mode thread &optional action)
  "Display the buffer NAME in MODE for THREAD; return it.
ACTION is passed to `pop-to-buffer'."
  ;; It signals for what is no key, before a buffer has it.
  (when thread
    (todo-write-summary thread))
  (pop-to-buffer (get-buffer-create name) action)
  (unless (derived-mode-p mode)
    (funcall mode))
  (setq todo-write-view-thread thread)
  (current-buffer))

;;; The plan that a command is about

;; Commands work in a plan, in the overview, and in any other buffer: there they are about
;; the plan of the current project.

(defun todo-write-buffer-thread-here ()
  "Return the key of the thread at point in the overview or of this buffer, or nil."
  (or todo-write-view-thread
      (and (derived-mode-p 'todo-write-list-mode) (tabulated-list-get-id))))

(defun todo-write-buffer-own-thread ()
  "Return what `todo-write-buffer-thread-here' does; signal a `user-error' for nil."
  (or (todo-write-buffer-thread-here)
      (user-error (if (derived-mode-p 'todo-write-list-mode) "No agent here"
                    "There is no plan here yet"))))

(defun todo-write-buffer-thread ()
  "Return the key of the thread that a command is about.
That is the one at point in the overview or of this buffer, by default
the one that `todo-write-show' shows.  Signal a `user-error' if there is
no thread."
  (or (todo-write-buffer-thread-here) (todo-write-buffer-default-thread)
      (todo-write-buffer-signal-no-plan)))

(defun todo-write-buffer-signal-no-plan ()
  "Signal a `user-error' that says where plans come from."
  (user-error "There is no plan yet; an agent begins one with todo_write"))

(defun todo-write-buffer-default-thread ()
  "Return the newest thread of the current project, else the one written last.
The value is a key, or nil.  For a subagent's thread, return that of the
agent that it works for."
  (let* ((project (todo-write--project))
         (current (todo-write-current-thread project))
         (key (or (and current
                       (equal project (plist-get (todo-write-about current) :project))
                       current)
                  (todo-write-plan-newest-of-project)
                  current
                  (car (todo-write-threads)))))
    (or (caar (last (and key (todo-write-buffer-ancestors key)))) key)))

(defconst todo-write-buffer-deepest 3
  "Maximum depth of subagents of subagents.")

(defun todo-write-buffer-ancestors (thread)
  "Return the parents of THREAD, a list of (KEY . ITEM-ID), the nearest first."
  (cl-loop repeat todo-write-buffer-deepest
           for parent = (todo-write-parent thread)
           while parent
           collect parent
           do (setq thread (car parent))))

;;; Buttons

(define-button-type 'todo-write-button
  ;; Texts have faces of their own, and the keys of the mode press them.
  'face nil 'keymap nil 'help-echo nil
  'action (lambda (button) (todo-write-buffer--do :press button)))

(defun todo-write-buffer--do (what &rest arguments)
  "Call with ARGUMENTS what WHAT, a keyword, does in this buffer."
  (apply (or (plist-get todo-write-buffer--does what)
             (user-error "This works only in some buffers of todo-write"))
         arguments))

(defun todo-write-buffer-visit (&optional event)
  "Visit or open what is at point: a task, a file, an output, an agent, a revision.
EVENT may be a click, which does so where it was if something is there."
  (interactive (list last-command-event)
               todo-write-view-mode todo-write-list-mode todo-write-history-index-mode
               todo-write-timeline-mode todo-write-search-mode todo-write-log-mode)
  (let ((is-click (mouse-event-p event)))
    (when is-click
      (mouse-set-point event))
    (when (or (not is-click) (button-at (point)) (tabulated-list-get-id))
      (todo-write-buffer--do :visit))))

(defun todo-write-buffer-toggle (&optional all)
  "Open or fold what is at point: a task, an entry, a part of the last line.
On folded tasks, unfold them; on a subagent's list, show that.  With a
prefix argument ALL, open all, or close all if any is open.  In the
overview, show or hide the agents that have been idle for long."
  (interactive "P" todo-write-view-mode todo-write-list-mode)
  (todo-write-buffer--do :toggle all))

(defun todo-write-buffer-next (&optional count)
  "Move to the next row or older revision; with COUNT, that many on."
  (interactive "p" todo-write-view-mode todo-write-history-mode)
  (todo-write-buffer--do :step (or count 1)))

(defun todo-write-buffer-previous (&optional count)
  "Move to the previous row or newer revision; with COUNT, that many back."
  (interactive "p" todo-write-view-mode todo-write-history-mode)
  (todo-write-buffer-next (- (or count 1))))

(defun todo-write-buffer-in-region (function)
  "Call FUNCTION on each line of the region; return what it returns, without nil."
  (let ((end (region-end)) values)
    (save-excursion
      (goto-char (region-beginning))
      (forward-line 0)
      (while (and (< (point) end) (not (eobp)))
        (push (funcall function) values)
        (forward-line)))
    (delq nil (nreverse values))))

;;; Drawing

(defun todo-write-buffer-same-p (a b)
  "Return non-nil if A and B are equal, with the properties of strings in them.
Before Emacs 29, `equal-including-properties' compares these with `eq'."
  (cond ((eq a b))
        ((stringp a) (and (equal a b) (equal (object-intervals a) (object-intervals b))))
        ((consp a)
         (while (and (consp a) (consp b) (todo-write-buffer-same-p (car a) (car b)))
           (setq a (cdr a) b (cdr b)))
         (and (not (consp a)) (todo-write-buffer-same-p a b)))
        ((vectorp a) (and (vectorp b)
                          (todo-write-buffer-same-p (append a nil) (append b nil))))
        (t (equal a b))))

(defvar-local todo-write-buffer-made nil
  "Hash table of what `todo-write-buffer-make' returned last, by arguments.")

(defun todo-write-buffer-make (function lists)
  "Return what FUNCTION returns for each of LISTS of arguments.
What it returned for the same arguments when this buffer was drawn last is
used again."
  (let ((before (or todo-write-buffer-made (make-hash-table))))
    (setq todo-write-buffer-made (make-hash-table :test #'equal))
    (mapcar (lambda (args)
              (puthash args (or (gethash args before) (apply function args))
                       todo-write-buffer-made))
            lists)))

(defun todo-write-buffer-keep (place find draw)
  "Call DRAW; keep point, the mark and all windows in their places.
PLACE returns the place of a position, and FIND the position of a place in
the new text.  Where one of them returns nil, drawing decides.  PLACE is
called with a second argument, t, for the start of a window."
  (let* ((windows (get-buffer-window-list nil nil t))
         (at (point))
         (point (funcall place at))
         (mark (and (mark t) (funcall place (mark t))))
         (places (cl-loop for window in windows
                          collect (if (= at (window-point window)) point
                                    (funcall place (window-point window)))
                          collect (funcall place (window-start window) t))))
    (save-excursion
      (funcall draw))
    (cl-flet ((position (place) (and place (funcall find place))))
      (when-let* ((position (position point)))
        (goto-char position))
      (when-let* ((position (position mark)))
        (set-marker (mark-marker) position))
      (dolist (window windows)
        (when-let* ((position (position (pop places))))
          (set-window-point window position))
        (when-let* ((position (position (pop places))))
          (set-window-start window position t))))))

(defun todo-write-buffer-find (property value &optional start end)
  "Return the first position from START to END whose PROPERTY is VALUE, or nil.
By default, the whole buffer is searched."
  (let ((position (or start (point-min)))
        (end (or end (point-max))))
    (while (and (< position end) (not (equal value (get-text-property position property))))
      (setq position (next-single-property-change position property nil end)))
    (and (< position end) position)))

(defun todo-write-buffer--of-line (line)
  "Return the position of the beginning of LINE, a number."
  (save-excursion
    (goto-char (point-min))
    (forward-line (1- line))
    (point)))

(defmacro todo-write-buffer-with-new-text (&rest body)
  "Replace the text of this buffer by what BODY inserts; keep point on its line.
The windows that show it stay at their lines, too."
  (declare (indent 0) (debug t))
  `(let ((inhibit-read-only t))
     (todo-write-buffer-keep (lambda (position &optional _start) (line-number-at-pos position))
                           #'todo-write-buffer--of-line
                           (lambda () (erase-buffer) ,@body))
     (set-buffer-modified-p nil)))

;;; Tables

(defvar-local todo-write-buffer--more nil
  "The text below the rows of this table.")

(defun todo-write-buffer-set-up-table (read visit &rest does)
  "Set up the current buffer as a table of what READ returns.
That is a list (COLUMNS ENTRIES NOTE MORE): columns as in
`tabulated-list-format', in which a width of nil is that of the widest
cell; entries as in `tabulated-list-entries'; a construct for the mode
line; and text below the rows.  VISIT is called with the id of the row at
point; DOES is as in `todo-write-buffer-set-up'."
  (apply #'todo-write-buffer-set-up
         (lambda ()
           (todo-write-buffer-drawn)
           (apply #'todo-write-buffer--draw-table (funcall read)))
         :visit (lambda ()
                  (cond ((tabulated-list-get-id) (funcall visit (tabulated-list-get-id)))
                        ((button-at (point)) (push-button))
                        (t (user-error "No row here"))))
         does)
  (setq tabulated-list-padding 1))

(defun todo-write-buffer--draw-table (columns entries &optional note more)
  "Print a table of COLUMNS, ENTRIES, NOTE and MORE, unless it is there already."
  (let ((columns (cl-loop
                  for (name width . rest) in columns
                  for index from 0
                  for cells = (unless width
                                (mapcar (lambda (entry) (string-width (aref (cadr entry) index)))
                                        entries))
                  vconcat `[(,name ,(or width (apply #'max (length name) cells)) . ,rest)])))
    (setq mode-line-process note)
    (force-mode-line-update)
    (let ((old tabulated-list-entries)
          (same (todo-write-buffer-same-p (list tabulated-list-format todo-write-buffer--more)
                                          (list columns more)))
          (inhibit-read-only t))
      (unless (and same (todo-write-buffer-same-p old entries))
        (setq todo-write-buffer--more more
              tabulated-list-format columns
              tabulated-list-entries entries)
        (todo-write-buffer-keep
         #'todo-write-buffer--row #'todo-write-buffer--of-row
         (if (and same old tabulated-list-use-header-line)
             (lambda () (todo-write-buffer--replace-rows old entries (length more)))
           (lambda ()
             (tabulated-list-init-header)
             (tabulated-list-print)
             (when more
               (goto-char (point-max))
               (insert more)))))))))

(defun todo-write-buffer--replace-rows (old new end)
  "Print the entries NEW in place of OLD, before END characters below them.
Many rows are there, and few change or move at once."
  (let ((known (make-hash-table :test #'equal)))
    (dolist (entry old)
      (puthash (car entry) entry known))
    (goto-char (point-min))
    (dolist (entry new)
      (let* ((id (car entry))
             (before (gethash id known))
             (place (cond ((equal id (tabulated-list-get-id)) (point))
                          (before (todo-write-buffer-find 'tabulated-list-id id))))
             (next (and place (save-excursion (goto-char place) (line-beginning-position 2)))))
        (cond ((not (and place (todo-write-buffer-same-p before entry)))
               (when place (delete-region place next))
               (apply tabulated-list-printer entry))
              ((= place (point)) (goto-char next))
              (t (insert (delete-and-extract-region place next)))))))
  (delete-region (point) (- (point-max) end)))

(defun todo-write-buffer--row (position &optional start)
  "Return the place of POSITION in a table.
It is t at the end, else a list (ID COLUMN LINE): the row or, without one,
the line counts.  START is non-nil for the start of a window."
  (save-excursion
    (goto-char position)
    (or (eobp)
        (list (unless (and start (derived-mode-p 'todo-write-list-mode)) ; Its rows move.
                (tabulated-list-get-id))
              (current-column) (line-number-at-pos)))))

(defun todo-write-buffer--of-row (place)
  "Return the position of PLACE, a value of `todo-write-buffer--row'."
  (pcase place
    ('t (point-max))
    (`(,id ,column ,line)
     (save-excursion
       (goto-char (or (and id (todo-write-buffer-find 'tabulated-list-id id))
                      (todo-write-buffer--of-line line)))
       (move-to-column column)
       (point)))))

;;; Completion

(defun todo-write-buffer-read (prompt category choices cells &optional group)
  "Read one of CHOICES with PROMPT and completion of titles; return its key.
CHOICES are lists (TITLE KEY . DATA) of the kind CATEGORY, the best first;
where titles are alike, a number follows.  CELLS returns of DATA what stands
beside the title, strings, which are aligned in columns, and GROUP, if
non-nil, the title of its group."
  (let (table)
    (pcase-dolist (`(,title ,key . ,data) choices)
      (let ((unique title) (number 1))
        (while (assoc unique table)
          (setq unique (format "%s <%d>" title (cl-incf number))))
        (push `(,(propertize unique 'todo-write-key key) ,key . ,data) table)))
    (setq table (nreverse table))
    (cl-flet ((data (title) (cddr (assoc title table))))
      (let ((metadata
             `(metadata
               (category . ,category)
               (display-sort-function . identity)
               (cycle-sort-function . identity)
               (affixation-function
                . ,(lambda (titles)
                     (todo-write-buffer--affix
                      (mapcar (lambda (title) (cons title (funcall cells (data title)))) titles))))
               ,@(and group
                      `((group-function
                         . ,(lambda (title transform)
                              (if transform title (funcall group (data title))))))))))
        (nth 1 (assoc (completing-read prompt
                                       (lambda (string predicate action)
                                         (if (eq action 'metadata) metadata
                                           (complete-with-action action table string predicate)))
                                       nil t nil nil (caar table))
                      table))))))

(defun todo-write-buffer--affix (rows)
  "Return ROWS, lists of a title and cells, as for `affixation-function'.
Empty columns are left out, and a narrow frame cuts the cells."
  (cl-loop for (title . _) in rows
           for cells in (todo-write-text-columns rows)
           collect
           (list title ""
                 (propertize
                  (todo-write-text-truncate
                   (substring (string-trim-right (string-join cells "  ") " +") (length title))
                   (max 10 (- (frame-width) (todo-write-text-width (car cells)) 2)))
                  'face 'completions-annotations))))

;;; Keys and menus

;; Each mode has one table of its commands.  Its keys, its menu and the transient that `?'
;; shows are made from that.

(defconst todo-write-menu-common
  '(("Plans"
     ("s" "Another…" todo-write-switch)
     ("L" "All agents" todo-write-list menu)
     ("N" "Next waiting agent" todo-write-next-waiting))
    ("Look back"
     ("H" "History" todo-write-history menu)
     ("T" "Timeline" todo-write-timeline menu)
     ("F" "Find…" todo-write-search menu))
    ("More"
     ("w" "Copy" todo-write-copy)
     ("l" "Log" todo-write-log menu)))
  "The groups of commands that all buffers of a plan have.
They are about the plan at point or of the buffer.")

(defun todo-write-buffer-require (mode)
  "Signal a `user-error' unless the current buffer is in MODE, one of ours.
By its name, a command can be called in any buffer, which it would draw over."
  (unless (derived-mode-p mode)
    (user-error "This works only in a buffer of `%s'" mode)))

(defun todo-write-menu-define (mode map title groups)
  "Bind the keys of GROUPS in MAP, the keymap of MODE, and make its menus.
GROUPS is a list of (NAME ENTRY...), where an ENTRY is a list of a key,
as for `kbd', a label and a command; with a fourth element, the key works
only after `?'.  TITLE names the menu in the menu bar.  Everywhere, `a'
answers an agent and `?' shows the menu."
  (declare (indent 3))
  (pcase-dolist (`(,_ . ,entries) groups)
    (pcase-dolist (`(,key ,_ ,command . ,menu) entries)
      (unless menu
        (define-key map (kbd key) command))))
  (define-key map "?" #'todo-write-menu)
  (when (eq #'todo-write-buffer-visit (nth 2 (assoc "RET" (cdar groups))))
    (define-key map [mouse-1] #'todo-write-buffer-visit))
  (define-key map "a" #'todo-write-answer)
  (put mode 'todo-write-menu groups)
  (easy-menu-define nil map (format "Menu of `%s'." mode)
    `(,title
      ,@(seq-mapcat (pcase-lambda (`(,_ . ,entries))
                      `(,@(mapcar (pcase-lambda (`(,key ,label ,command . ,menu))
                                    ;; Emacs finds other keys, also those of the user.
                                    (vconcat (list label command)
                                             (and menu (list :keys (concat "? " key)))))
                                  entries)
                        "--"))
                    groups)
      ["Answer an agent" todo-write-answer]
      ["All keys" todo-write-menu]
      ["Quit" quit-window])))

(defun todo-write-menu ()
  "Show what can be done in this buffer."
  (interactive)
  (unless (get major-mode 'todo-write-menu)
    (user-error "This is no buffer of todo-write"))
  (call-interactively (todo-write-buffer--transient major-mode))
  ;; It is for the command that is chosen.
  (setq prefix-arg current-prefix-arg))

(defun todo-write-buffer--transient (mode)
  "Return the transient with the commands of MODE, a command."
  (let* ((prefix (intern (format "%s-transient" mode)))
         (groups (get mode 'todo-write-menu))
         (common (seq-intersection groups todo-write-menu-common))
         (column (pcase-lambda (`(,name . ,entries))
                   (vconcat (list name)
                            (mapcar (lambda (entry) (seq-take entry 3)) entries)))))
    (unless (fboundp prefix)
      ;; C-g would leave it half loaded for the rest of the session.
      (let ((inhibit-quit t))
        (require 'transient))
      ;; Transient has only macros to define one.  The table is a constant of ours.
      (eval `(transient-define-prefix ,prefix ()
               ,(format "Show what can be done in `%s'." mode)
               ;; Side by side, all groups are wider than most windows.  So arranged, they
               ;; fit a terminal of 80 columns and 24 lines.
               [,@(mapcar column (seq-difference groups common))]
               [,@(mapcar column common)
                ["Menu"
                 ("a" "Answer an agent" todo-write-answer)
                 ("q" "Close" transient-quit-one)]])
            t))
    prefix))

(provide 'todo-write-buffer)
;;; todo-write-buffer.el ends here
