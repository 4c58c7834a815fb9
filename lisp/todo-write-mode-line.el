;;; todo-write-mode-line.el --- The plan in mode lines  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;;     (todo-write-mode-line-mode 1)
;;
;; shows a plan in the mode line, as in [2/4 Converting callbacks…]: the one written
;; last in the project of the selected window, else the one written last anywhere.
;; Agents that have ended come last, and a plan that is selected is shown itself.
;; mouse-1 opens the plan, hovering shows its task in full.  +2 says that two other agents
;; work, ✓1 that another one is done and unseen.  An agent that needs you takes the
;; plan's place, as in [! login: permission to run npm test]; mouse-1 goes there.
;; The text is in `global-mode-string', which the tab bar can show, too; see
;; `tab-bar-format-global'.
;;
;; The texts are made when a plan changes or another buffer is selected;
;; redisplay only reads a variable.  A spinner precedes them while the agent works.

;;; Code:

(require 'todo-write-agent)

;; Few agents need the user, and few tooltips are read.
(autoload 'todo-write-attention-attend "todo-write-attention")
(autoload 'todo-write-attention-line "todo-write-attention")

(defcustom todo-write-mode-line-width 40
  "Maximum width of the plan in the mode line, in columns."
  :type 'natnum
  :group 'todo-write
  :package-version '(todo-write . "0.2.0"))

(defface todo-write-mode-line '((t :inherit mode-line-emphasis))
  "Face of the plan in the mode line."
  :group 'todo-write-faces)

(defvar todo-write-mode-line-string nil
  "What the mode line shows: a string, or nil for nothing.
A mode line shows the value of a variable literally, so a % in a task is
inert.")
;; Without this mark the mode line would drop the mouse and help properties.
(put 'todo-write-mode-line-string 'risky-local-variable t)

(defvar todo-write-mode-line--thread nil
  "Key of the thread that the mode line shows.")

(defvar todo-write-mode-line--map
  (let ((map (make-sparse-keymap)))
    (define-key map [mode-line mouse-1] #'todo-write-mode-line-show)
    map)
  "Keymap of the plan in mode lines.")

(defvar todo-write-mode-line--chosen nil
  "Non-nil once the user has turned the mode on or off.")

;;;###autoload
(define-minor-mode todo-write-mode-line-mode
  "Show in the mode line the agent that needs you, else the project's plan."
  :global t
  :group 'todo-write
  (setq todo-write-mode-line--chosen t)
  (when todo-write-mode-line-mode
    (todo-write-module-prepare))
  (let ((others (remq 'todo-write-mode-line-string (ensure-list global-mode-string))))
    (setq global-mode-string
          (if todo-write-mode-line-mode
              ;; A symbol at the beginning would be a condition.
              (append (or others '("")) '(todo-write-mode-line-string))
            others)))
  (pcase-dolist (`(,hook . ,function)
                 '((todo-write-events-functions . todo-write-mode-line--on-event)
                   (todo-write-agent-functions . todo-write-mode-line--on-event)
                   (todo-write-view-shown-hook . todo-write-mode-line--update)
                   (window-buffer-change-functions . todo-write-mode-line--update)
                   (window-selection-change-functions . todo-write-mode-line--update)))
    (funcall (if todo-write-mode-line-mode #'add-hook #'remove-hook) hook function))
  (setq todo-write-mode-line-string nil)
  (todo-write-mode-line--update)
  (force-mode-line-update t))

(defun todo-write-mode-line-by-default (on)
  "Turn the mode on if ON is non-nil, else off, unless the user has chosen."
  (unless (or todo-write-mode-line--chosen (eq on todo-write-mode-line-mode))
    (let ((todo-write-mode-line--chosen t))
      (todo-write-mode-line-mode (if on 1 -1)))))

(defun todo-write-mode-line--on-event (&rest _)
  "Update the text soon.
For `todo-write-events-functions' and `todo-write-agent-functions'."
  (todo-write-later #'todo-write-mode-line--update))

(defun todo-write-mode-line--needed (agents)
  "Return those of AGENTS, sorted, that need the user: the longest waiting first."
  (seq-filter (lambda (agent) (eq 'needs-you (plist-get agent :attention))) agents))

(defun todo-write-mode-line--choose ()
  "Return the key of the thread to show for the selected window, or nil.
That is the one of its buffer, else that of an agent of its project, else
of any agent.  Agents that have ended come last."
  (let ((thread (buffer-local-value 'todo-write-view-thread (window-buffer)))
        (folder (buffer-local-value 'default-directory (window-buffer))))
    ;; A host, or the user, may have set it to something else than a key.
    (if (stringp thread) thread
      (let ((here (todo-write-current-thread
                   ;; A remote folder must not open a connection.
                   (let (file-name-handler-alist)
                     (and folder (expand-file-name folder))))))
        (or (seq-find (lambda (thread)
                        (and thread (not (memq (plist-get (todo-write-summary thread) :ending)
                                               '(killed session-ended)))))
                      (list here (todo-write-current-thread)))
            here)))))

(defun todo-write-mode-line--update (&rest _)
  "Update the mode lines, and redraw them if the text changed."
  (setq todo-write-mode-line--thread (todo-write-mode-line--choose))
  (let ((text (todo-write-mode-line--text todo-write-mode-line--thread)))
    ;; Comparing the text suffices: the properties follow from it.
    (unless (equal text todo-write-mode-line-string)
      (setq todo-write-mode-line-string text)
      ;; Redisplay lays out each line of the current buffer, too, and the minibuffer
      ;; has only one.
      (with-current-buffer (window-buffer (minibuffer-window))
        (force-mode-line-update t)))))

(defun todo-write-mode-line--text (thread)
  "Return what the mode line shows for THREAD, in brackets, or nil for nothing.
If an agent needs the user, that is about the one that has waited longest.
Otherwise it is the plan of THREAD and the numbers of other agents that
work, or are done and unseen."
  (when todo-write-mode-line-mode
    (let* ((width (- todo-write-mode-line-width 2))
           (agents (todo-write-agents))
           (needed (todo-write-mode-line--needed agents))
           (first (car needed))
           (others (seq-remove (lambda (agent) (equal (plist-get agent :thread) thread)) agents))
           (working (seq-count (lambda (agent) (eq 'working (plist-get agent :attention))) others))
           (unseen (seq-count (lambda (agent) (and (eq 'unseen (plist-get agent :attention))
                                                   (not (todo-write-agent-stopped agent))))
                              others))
           (done (and (> unseen 0) (format "%s%d" (todo-write-text-shape 'completed) unseen)))
           (marks (concat (and (> working 0) (format " +%d" working))
                          (and done (concat " " done))))
           (words (todo-write-mode-line--words thread (- width (length marks))))
           (text (cond (first (todo-write-text-isolate
                               (todo-write-text-truncate
                                (format "!%s %s" (if (cdr needed) (length needed) "")
                                        (todo-write-attention-line first))
                                width)))
                       (words (concat words marks))
                       (t done))))
      (when text
        (propertize (concat "[" text "] ")
                    'mouse-face 'mode-line-highlight
                    'help-echo #'todo-write-mode-line--help
                    'local-map todo-write-mode-line--map
                    'face (if first 'todo-write-attention 'todo-write-mode-line))))))

(defun todo-write-mode-line--words (thread width)
  "Return the count and the current task of THREAD as text, or nil for no tasks.
The task is cut so that the text fits WIDTH columns.  A spinner precedes
it while the agent of THREAD works."
  (let* ((summary (and thread (todo-write-summary thread)))
         (state (plist-get summary :state))
         (current (plist-get summary :current)))
    (unless (memq state '(nil empty))
      (let* ((spinner (when (eq 'working (car (todo-write-activity thread)))
                        ;; It turns.
                        (todo-write-later #'todo-write-mode-line--update 0.25)
                        (let ((frames (if (char-displayable-p ?⠋) "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏" "|/-\\")))
                          (string (aref frames (mod (floor (float-time) 0.25)
                                                    (length frames)))))))
             (mark (pcase state
                     ('done (todo-write-text-shape 'completed))
                     ('paused (todo-write-text-shape 'paused))))
             (count (string-join (delq nil (list spinner (plist-get summary :count) mark)) " "))
             (task (and current (todo-write-text-of-item current 'in_progress)))
             (room (- width (todo-write-text-width count) 1)))
        (if (or (null task) (< room 3))
            count
          (concat count " "
                  (todo-write-text-isolate (todo-write-text-truncate task room))))))))

(defun todo-write-mode-line--help (&rest _)
  "Return the tooltip: the agents that need the user, else the current task."
  (propertize
   (if-let* ((needed (todo-write-mode-line--needed (todo-write-agents))))
       (concat (mapconcat #'todo-write-attention-line needed "\n")
               "\nmouse-1: show what it asks, or where it runs")
     (let ((task (and todo-write-mode-line--thread
                      (plist-get (todo-write-summary todo-write-mode-line--thread) :current))))
       (concat (and task (concat (todo-write-text-of-item task 'in_progress) "\n"))
               "mouse-1: show the plan")))
   'help-echo-inhibit-substitution t))

(defun todo-write-mode-line-show (event)
  "Go to the agent that needs you, else show the plan that EVENT clicked on."
  (declare (completion ignore))
  (interactive (list last-nonmenu-event))
  (let ((window (posn-window (event-start event))))
    (if-let* ((agent (car (todo-write-mode-line--needed (todo-write-agents)))))
        (todo-write-attention-attend agent)
      (with-selected-window window
        (todo-write-show todo-write-mode-line--thread)))))

(provide 'todo-write-mode-line)
;;; todo-write-mode-line.el ends here
