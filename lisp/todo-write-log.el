;;; todo-write-log.el --- List the observations of a thread -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `? l' in a plan lists its observations and follows new ones.

;;; Code:

(require 'cl-lib)
(require 'json)
(require 'tabulated-list)
(require 'todo-write)
(require 'todo-write-commands)
(require 'todo-write-detail)
(require 'todo-write-here)
(require 'todo-write-menu)
(require 'todo-write-page)
(require 'todo-write-row)
(require 'todo-write-story)
(require 'todo-write-text)

(defconst todo-write-log-delay 0.2
  "Seconds after which new observations appear in the log.
Those that arrive meanwhile are drawn together.")

(define-derived-mode todo-write-log-mode tabulated-list-mode "Log"
  "Major mode for the observations of a thread."
  :interactive nil
  (todo-write-menu-begin-mode)
  (todo-write-page-set-up-list (lambda (&rest _) (todo-write-log--draw)))
  (add-hook 'window-size-change-functions #'todo-write-log--fit nil t)
  (add-hook 'kill-buffer-hook #'todo-write-log--stop nil t)
  (add-hook 'change-major-mode-hook #'todo-write-log--stop nil t))

(define-key todo-write-log-mode-map [mouse-1] #'todo-write-page-click)

(todo-write-menu-define 'todo-write-log-mode todo-write-log-mode-map "Log"
  `(("Event"
     ("RET" "Show" todo-write-log-show))
    ("Show only"
     ("/ t" "A type…" todo-write-log-filter-type)
     ("/ p" "A phase…" todo-write-log-filter-phase)
     ("/ i" "A task…" todo-write-log-filter-item)
     ("/ /" "Everything again" todo-write-log-filter-none))
    ("Log"
     ("g" "Refresh" revert-buffer))
    . ,todo-write-menu-common))

(defvar-local todo-write-log--filter nil
  "Plist with `:type', `:phase' and `:step', as `todo-write-observations' takes.")

(defvar-local todo-write-log--marked nil
  "Non-nil if something was recorded while no window showed the buffer.")

(defvar-local todo-write-log--handle nil
  "Handle from `todo-write-subscribe'.")

;;; Rows

(defconst todo-write-log--least 20
  "Least columns of the last column, which says what happened.")

(defun todo-write-log--columns (width time)
  "Return the columns that fit WIDTH, as for `tabulated-list-format'.
TIME is the width of the first column.  A narrow WIDTH omits others, and
cuts the types, before it has too little room for what happened."
  (let ((fits (lambda (columns)
                (>= (- width 2 time (apply #'+ (mapcar (lambda (column) (1+ (cadr column)))
                                                       columns)))
                    todo-write-log--least))))
    (vconcat `(("Time" ,time todo-write-log--before-p))
             (seq-find fits '((("Type" 18 t) ("Phase" 9 t) ("Task" 20 t))
                              (("Type" 18 t) ("Task" 20 t))
                              (("Type" 18 t))
                              (("Type" 12 t))))
             '(("What" 0 nil)))))

(defun todo-write-log--row (observation project)
  "Return OBSERVATION as an element of `tabulated-list-entries'.
File names are relative to PROJECT."
  (let* ((metadata (plist-get observation :metadata))
         (content (plist-get observation :content))
         (name (and (consp content) (plist-get content :name)))
         (text (todo-write-story-text content project))
         (text (concat (and (stringp name) (concat name " "))
                       (when-let* ((refusal (todo-write-effect-refusal observation)))
                         (concat (todo-write-text-shape 'refused) " " refusal ": "))
                       text
                       (mapconcat (lambda (operation)
                                    (format " (%s)" (car operation)))
                                  (todo-write-effect-git observation) "")
                       (todo-write-story-excluded observation " (" ")")))
         (timestamp (plist-get observation :timestamp)))
    (list (plist-get observation :id)
          (cl-loop
           for (column width) across tabulated-list-format
           vconcat
           (list
            (pcase column
              ("Time" (propertize (string-pad (todo-write-text-clock timestamp) width nil t)
                                  'todo-write-timestamp timestamp))
              ("Type" (todo-write-log--type (plist-get observation :type)))
              ("Phase" (format "%s" (or (plist-get metadata :phase) "")))
              ("Task" (todo-write-text-helped
                       (todo-write-text-line
                        (or (plist-get metadata :stepDescription)
                            (todo-write-log--task (plist-get observation :parentId))
                            ""))))
              (_ (todo-write-text-helped
                  (if (todo-write-story-runs-commands-p (and (stringp name) name))
                      (todo-write-text-command text 300)
                    (todo-write-text-line text 300))))))))))

(defun todo-write-log--before-p (entry other)
  "Return non-nil if ENTRY, a row, was recorded before OTHER."
  (cl-flet ((time (entry) (get-text-property 0 'todo-write-timestamp (aref (cadr entry) 0))))
    (< (time entry) (time other))))

(defun todo-write-log--type (type)
  "Return TYPE, of an observation, in a face."
  (propertize type 'face (pcase type
                           ((or "ERROR" "LLM_STREAM_ERROR") 'todo-write-failed)
                           ("MESSAGE" 'todo-write-said)
                           ("THOUGHTS" 'todo-write-thought)
                           ((or "PLAN" "PLAN_UPDATE" "ITEM_STATUS_CHANGE") 'todo-write-moved)
                           (_ 'todo-write-detail))))

(defun todo-write-log--task (id)
  "Return the text of the item ID, also if it left the list, or nil."
  (when id
    (or (plist-get (todo-write-item todo-write-view-thread id) :content)
        (let ((change (car (last (cdar (last (todo-write-item-changes
                                              todo-write-view-thread id)))))))
          (plist-get (or (plist-get change :previousItem) (plist-get change :item)) :content)))))

(defun todo-write-log--observations ()
  "Return the observations that this buffer lists."
  (apply #'todo-write-observations todo-write-view-thread
         todo-write-log--filter))

(defun todo-write-log--set-up (window)
  "Set the columns of this buffer for WINDOW, or nil, and its entries."
  (let* ((observations (todo-write-log--observations))
         (project (plist-get (todo-write-about todo-write-view-thread) :project))
         ;; The times of today have no date.
         (time (apply #'max 5 (mapcar (lambda (observation)
                                        (length (todo-write-text-clock
                                                 (plist-get observation :timestamp))))
                                      observations))))
    (setq tabulated-list-format
          (todo-write-log--columns (if window (window-body-width window) 80) time)
          tabulated-list-entries
          (mapcar (lambda (observation) (todo-write-log--row observation project))
                  observations))
    (unless (assoc (car tabulated-list-sort-key) (append tabulated-list-format nil))
      (setq tabulated-list-sort-key nil))
    (tabulated-list-init-header)))

;;; Following

(defun todo-write-log--draw ()
  "Redraw this buffer; windows stay at its end, or else at their observations."
  (todo-write-menu-require 'todo-write-log-mode)
  (setq todo-write-log--marked nil)
  (todo-write-log--set-up (get-buffer-window nil t))
  (todo-write-page-keep #'todo-write-page-row #'todo-write-page-of-row
                        #'tabulated-list-print))

(defun todo-write-log--fit (window)
  "Redraw the log in WINDOW if it is out of date, or if other columns fit it now."
  (with-current-buffer (window-buffer window)
    (when (and (derived-mode-p 'todo-write-log-mode) todo-write-view-thread
               (or todo-write-log--marked
                   (not (equal tabulated-list-format
                               (todo-write-log--columns (window-body-width window)
                                                        (cadr (aref tabulated-list-format 0)))))))
      (todo-write-log--draw))))

(defun todo-write-log--follow (thread)
  "Redraw this buffer soon after each event of THREAD; return a handle.
Events within `todo-write-log-delay' are drawn together."
  (let ((buffer (current-buffer)))
    (todo-write-subscribe (lambda (_observation) (todo-write-log--draw-soon buffer))
                          :kind 'observation :thread thread)))

(defun todo-write-log--draw-soon (buffer)
  "Redraw BUFFER after `todo-write-log-delay', unless that is planned.
Wait while the minibuffer is active: leaving it restores the points of
windows, which a redraw in the meantime would reset."
  (todo-write-events-soon todo-write-log-delay #'todo-write-log--draw-now buffer))

(defun todo-write-log--draw-now (buffer)
  "Redraw BUFFER if it follows a thread and a window shows it.
Do so later while the minibuffer is active."
  ;; Temporary buffers are killed without running their hooks.
  (when (and (buffer-live-p buffer) (buffer-local-value 'todo-write-log--handle buffer))
    (with-current-buffer buffer
      (cond ((not (get-buffer-window buffer t)) (setq todo-write-log--marked t))
            ((active-minibuffer-window) (todo-write-log--draw-soon buffer))
            (t (todo-write-log--draw))))))

(defun todo-write-log--stop ()
  "Stop following new observations."
  (todo-write-unsubscribe todo-write-log--handle)
  (setq todo-write-log--handle nil))

(defun todo-write-log (&optional thread)
  "List the observations of THREAD and follow new ones; return the buffer.
THREAD is a key, by default the one at point or of this buffer, else that
of `todo-write-show'; interactively, a prefix argument asks for one.
Signal a `user-error' if there is no thread."
  (interactive (list (and current-prefix-arg
                          (todo-write-read-thread "Log of thread: "))))
  (let ((thread (or thread (todo-write-here-thread)))
        (buffer (get-buffer-create "*todo-write-log*")))
    (with-current-buffer buffer
      (todo-write-log-mode)
      ;; It signals for what is no key.
      (setq todo-write-log--handle (todo-write-log--follow thread)
            todo-write-view-thread thread)
      (pop-to-buffer buffer)
      (goto-char (point-max))
      (todo-write-log--draw))
    buffer))

;;; Commands

(defun todo-write-log--thread ()
  "Return the key of the thread of this log; signal a `user-error' elsewhere."
  (todo-write-menu-require 'todo-write-log-mode)
  todo-write-view-thread)

(defun todo-write-log--narrow (key value)
  "Show only observations with VALUE, a string, for KEY; all if it is empty or nil."
  (setq todo-write-log--filter
        (plist-put todo-write-log--filter key (unless (member value '(nil "")) value))
        mode-line-process
        (cl-loop for (_ given) on todo-write-log--filter by #'cddr
                 ;; Strings here are mode line constructs.
                 when given collect (concat " " (string-replace "%" "%%" given))))
  (todo-write-log--draw))

(defun todo-write-log-filter-type (type)
  "Show only observations of TYPE, a string; all types if it is empty."
  (interactive
   (list (completing-read
          "Only type (empty for all): "
          (seq-uniq (mapcar (lambda (observation) (plist-get observation :type))
                            (todo-write-observations (todo-write-log--thread))))
          nil t))
   todo-write-log-mode)
  (todo-write-log--narrow :type type))

(defun todo-write-log-filter-phase (phase)
  "Show only observations of PHASE, a string; all phases if it is empty."
  (interactive
   (list (progn (todo-write-log--thread)
                (completing-read "Only phase (empty for all): "
                                 '("planning" "execution" "synthesis") nil t)))
   todo-write-log-mode)
  (todo-write-log--narrow :phase phase))

(defun todo-write-log-filter-item (id)
  "Show only observations of the item ID; those of all items if it is nil."
  (interactive
   (let ((items (mapcar (lambda (item)
                          (cons (todo-write-text-line (plist-get item :content))
                                (plist-get item :id)))
                        (todo-write-items (todo-write-log--thread)))))
     (list (cdr (assoc (completing-read "Only task (empty for all): " items nil t) items))))
   todo-write-log-mode)
  (todo-write-log--narrow :step id))

(defun todo-write-log-filter-none ()
  "Show all observations again."
  (interactive nil todo-write-log-mode)
  (setq todo-write-log--filter nil)
  (todo-write-log--narrow :type nil))

(defun todo-write-log-show ()
  "Show the whole observation at point.  Signal a `user-error' if there is none."
  (interactive nil todo-write-log-mode)
  (let* ((id (or (tabulated-list-get-id) (user-error "No observation here")))
         (observation (seq-find (lambda (each) (equal (plist-get each :id) id))
                                (todo-write-log--observations)))
         (content (plist-get observation :content))
         (input (and (consp content) (plist-get content :input))))
    (unless observation
      (user-error "This observation is no longer kept"))
    (when input
      (plist-put content :input (todo-write-json-parsed input)))
    (with-current-buffer (get-buffer-create "*todo-write-observation*")
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert (todo-write-text-plain-lines
                 (if (stringp content) content
                   (todo-write-row-string
                     (insert (todo-write-to-json observation))
                     ;; This decodes escapes of invisible characters, too.
                     (json-pretty-print-buffer)))))
        (goto-char (point-min)))
      (special-mode)
      (setq header-line-format
            (string-replace
             "%" "%%" (format " %s  %s" (plist-get observation :type)
                              (todo-write-text-line
                               (plist-get observation :title)))))
      (display-buffer (current-buffer)))))

(provide 'todo-write-log)
;;; todo-write-log.el ends here
