;;; todo-write-mode-line.el --- The plan in the mode line  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A global minor mode that shows the plan written last in the mode line, as
;; in [2/4 Converting callbacks…]:
;;
;;     (todo-write-mode-line-mode 1)
;;
;; mouse-1 opens the plan, hovering shows its tasks.  The text is made when
;; the plan changes; redisplay only reads a variable.
;;
;; A spinner turns before it while the agent is at work, as far as its host says
;; so; see todo-write-busy.el.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'todo-write)
(require 'todo-write-busy)
(require 'todo-write-row)
(require 'todo-write-row-header)

(declare-function todo-write-show "todo-write-view" (&optional thread select))
(autoload 'todo-write-show "todo-write-view" nil t)

(defcustom todo-write-mode-line-width 32
  "Columns that the plan takes in the mode line at most."
  :type 'natnum
  :group 'todo-write)

(defcustom todo-write-mode-line-help-lines 20
  "Tasks that hovering over the plan in the mode line shows at most."
  :type 'natnum
  :group 'todo-write)

(defface todo-write-mode-line '((t :inherit mode-line-emphasis))
  "Face of the plan in the mode line."
  :group 'todo-write-faces)

(defvar todo-write-mode-line-string nil
  "What the mode line shows: a string, or nil for nothing.
A mode line shows the value of a variable as it is, so a % in a task
stands for itself.")
;; Without this mark the mode line would drop the mouse and help properties.
(put 'todo-write-mode-line-string 'risky-local-variable t)

(defvar todo-write-mode-line--thread nil
  "Key of the thread that the mode line shows.")

(defconst todo-write-mode-line--hooks
  '(todo-write-change-functions todo-write-state-functions)
  "Hooks that tell when the text is out of date.")

(defconst todo-write-mode-line--entry
  '(todo-write-mode-line-mode ("" todo-write-mode-line-string))
  "What the mode adds to `mode-line-misc-info'.")

(defvar todo-write-mode-line-map
  (let ((map (make-sparse-keymap)))
    (define-key map [mode-line mouse-1] #'todo-write-mode-line-show)
    map)
  "Keymap of the plan in the mode line.")

;; One property instead of four, which would be copied into each new text.
(setplist 'todo-write-mode-line--category
          `(face todo-write-mode-line mouse-face mode-line-highlight
            help-echo todo-write-mode-line--help local-map ,todo-write-mode-line-map))

;;;###autoload
(define-minor-mode todo-write-mode-line-mode
  "Show the plan written last in the mode line."
  :global t
  :group 'todo-write
  (setq-default mode-line-misc-info
                (append (remove todo-write-mode-line--entry
                                (default-value 'mode-line-misc-info))
                        (and todo-write-mode-line-mode
                             (list todo-write-mode-line--entry))))
  (todo-write-busy-listen #'todo-write-mode-line--turn todo-write-mode-line-mode)
  (if todo-write-mode-line-mode
      (progn
        (dolist (hook todo-write-mode-line--hooks)
          (add-hook hook #'todo-write-mode-line--update))
        (add-hook 'todo-write-forget-functions #'todo-write-mode-line--forget)
        (todo-write-mode-line--update (todo-write-current-thread)))
    (dolist (hook todo-write-mode-line--hooks)
      (remove-hook hook #'todo-write-mode-line--update))
    (remove-hook 'todo-write-forget-functions #'todo-write-mode-line--forget)
    (setq todo-write-mode-line-string nil
          todo-write-mode-line--thread nil)
    (todo-write-mode-line-redraw)))

(defun todo-write-mode-line-redraw ()
  "Have all mode lines, header lines and tab bars shown anew."
  ;; Redisplay then lays out each line of the buffer that is current, too.
  (with-current-buffer (window-buffer (minibuffer-window))
    (force-mode-line-update t)))

(defun todo-write-mode-line--update (thread &optional _)
  "Show THREAD, which has just changed."
  (setq todo-write-mode-line--thread thread)
  (let ((string (and thread (todo-write-mode-line--string (todo-write-summary thread)))))
    ;; Where the words are the same, so is all else.
    (unless (equal string todo-write-mode-line-string)
      (setq todo-write-mode-line-string string)
      (todo-write-mode-line-redraw))))

(defun todo-write-mode-line--forget (thread)
  "Show the thread written last if THREAD, now forgotten, was shown."
  (when (equal thread todo-write-mode-line--thread)
    (todo-write-mode-line--update (todo-write-current-thread))))

(defun todo-write-mode-line--turn ()
  "Make the text anew after the spinner turned."
  (todo-write-mode-line--update todo-write-mode-line--thread))

(defun todo-write-mode-line--string (summary)
  "Return the text for SUMMARY with its mouse properties, or nil for no tasks."
  (unless (eq (plist-get summary :state) 'empty)
    (let* ((count (todo-write-mode-line--count summary todo-write-mode-line--thread))
           (task (todo-write-mode-line--task summary))
           (room (- todo-write-mode-line-width (todo-write-row-width count) 3))
           (string (cond ((or (null task) (< room 3)) (concat "[" count "] "))
                         ((<= (todo-write-row-width task) room) (concat "[" count " " task "] "))
                         (t (todo-write-mode-line--cut count task room)))))
      (add-text-properties 0 (length string) '(category todo-write-mode-line--category) string)
      string)))

(defvar todo-write-mode-line--formats nil
  "Alist of columns and the formats that cut a task to them.")

(defun todo-write-mode-line--cut (count task columns)
  "Return COUNT and TASK, cut to COLUMNS, in brackets.
That is one object where the pieces would be several."
  (let* ((ellipsis (todo-write-row-shape 'ellipsis))
         (rest (- columns (todo-write-row-width ellipsis))))
    (format (or (alist-get rest todo-write-mode-line--formats)
                (setf (alist-get rest todo-write-mode-line--formats)
                      (format "[%%s %%.%ds%%s] " rest)))
            count task ellipsis)))

(defun todo-write-mode-line--task (summary)
  "Return what the task in progress of SUMMARY says, or nil if there is none."
  (let ((current (plist-get summary :current)))
    (and current (todo-write-row-text current 'in_progress))))

(defun todo-write-mode-line--count (summary thread)
  "Return the count and the state of SUMMARY.
A spinner stands before them while the host of THREAD is busy."
  (let ((spinner (todo-write-busy-spinner thread))
        (count (todo-write-row-count summary))
        (shape (pcase (plist-get summary :state)
                 ('done (todo-write-row-shape 'completed))
                 ('paused (todo-write-row-shape 'paused)))))
    (if (or spinner shape)
        (concat spinner (and spinner " ") count (and shape " ") shape)
      count)))

(defun todo-write-mode-line--help (&rest _)
  "Return the tasks of the plan, a line each.
Made only when the mouse rests on the plan."
  (let* ((thread todo-write-mode-line--thread)
         (summary (todo-write-summary thread))
         (paused (eq (plist-get summary :state) 'paused))
         (items (todo-write-items thread))
         (shown (todo-write-row-excerpt items todo-write-mode-line-help-lines)))
    (propertize
     (todo-write-row-string
       (insert (todo-write-row-plain (or (plist-get summary :title) "Plan")) "\n")
       (seq-doseq (item shown)
         (todo-write-row-insert item (todo-write-row-kind item paused) nil 72)
         (insert "\n"))
       (when (> (length items) (length shown))
         (insert (format "   %d more\n" (- (length items) (length shown)))))
       (insert "mouse-1: show the plan"))
     'help-echo-inhibit-substitution t)))

;;; For other places

(defun todo-write-mode-line-words (thread)
  "Return what the mode line says of THREAD, as plain text, or nil for no tasks."
  (let ((summary (and thread (todo-write-summary thread))))
    (unless (memq (plist-get summary :state) '(nil empty))
      (let ((task (todo-write-mode-line--task summary)))
        (concat (todo-write-mode-line--count summary thread) (and task " ") task)))))

(defun todo-write-mode-line-show (event)
  "Show the plan on whose mode line text EVENT clicked."
  (interactive "e")
  (with-selected-window (posn-window (event-start event))
    (todo-write-show todo-write-mode-line--thread)))

(provide 'todo-write-mode-line)
;;; todo-write-mode-line.el ends here
