;;; todo-write-efrit.el --- Plans of Efrit's agent  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The plans of Efrit (https://github.com/steveyegge/efrit):
;;
;;     (todo-write-efrit-mode 1)
;;
;; While the mode is on, the tool todo_write of Efrit's agent is ours, with one
;; thread a session.  Efrit's own list stays in step, so that its agent buffer
;; still shows it; its todo buffer and mode line are replaced.

;;; Code:

(require 'todo-write)
(require 'todo-write-view)

(defvar efrit-do--current-todos)
(defvar efrit-do--todo-counter)
(defvar efrit-repl-loop--tool-session)
(defvar efrit-todos-auto-show)
(declare-function efrit-agent--on-todo-update "ext:efrit-agent-integration")
(declare-function efrit-repl-session-id "ext:efrit-repl-session")
(declare-function efrit-repl-session-p "ext:efrit-repl-session")
(declare-function efrit-repl-session-pending-question "ext:efrit-repl-session")
(declare-function efrit-repl-session-title "ext:efrit-repl-session")
(declare-function efrit-session-active "ext:efrit-session-core")
(declare-function efrit-session-command "ext:efrit-session-core")
(declare-function efrit-session-id "ext:efrit-session-core")
(declare-function efrit-session-last-error "ext:efrit-session-core")
(declare-function efrit-todo-item-create "ext:efrit-todo")

;;; The mode

(defconst todo-write-efrit--advice
  '((efrit-do--handle-todo-write :override todo-write-efrit--handle-directly
                                 ;; Innermost: what follows the tool goes on.
                                 ((depth . 100)))
    (efrit-todos--after-todo-write-advice :override todo-write-efrit--mute)
    (efrit-todos--render :override todo-write-efrit--mute)
    (efrit-todos-show :override todo-write-efrit--show-current)
    (efrit-todos-clear-completed :override todo-write-efrit--clear-completed)
    (efrit-modeline--after-todo-write-advice :override todo-write-efrit--mute)
    (efrit-modeline-construct :override todo-write-efrit--mute)
    (efrit-do-clear-todos :after todo-write-efrit--clear)
    (efrit-executor--execute-tool :around todo-write-efrit--in-executor)
    (efrit-execute :around todo-write-efrit--in-foreground)
    (efrit-session-set-active :before todo-write-efrit--set-active)
    (efrit-session-complete :after todo-write-efrit--ended)
    (efrit-session-cancel :after todo-write-efrit--cancelled)
    (efrit-session-set-pending-question :after todo-write-efrit--asked)
    (efrit-session-respond-to-question :after todo-write-efrit--answered)
    (efrit-repl-session-set-status :after todo-write-efrit--set-status)
    (efrit-repl-loop--end-turn :after todo-write-efrit--ended)
    (efrit-tool-confirm-action :around todo-write-efrit--confirming))
  "What the mode advises, as (FUNCTION HOW ADVICE [PROPERTIES]).
The functions by which Efrit's displays follow its own tool are muted one
by one, so that the advice of that tool keeps its order.")

(defconst todo-write-efrit--variables
  '((efrit-do--tool-dispatch-table . todo-write-efrit--dispatch-table)
    (efrit-do--tools-schema . todo-write-efrit--schema))
  "What the mode replaces, as (VARIABLE . FUNCTION).
FUNCTION makes the new value from the old one.")

(defvar todo-write-efrit--replaced nil
  "What stood in replaced variables: a list of (VARIABLE OLD NEW).")

(defvar todo-write-efrit--advised nil
  "How advised functions were defined before: a list of (FUNCTION . DEFINITION).")

(defvar todo-write-efrit--folder nil
  "The folder of Efrit that the mode put first on the load path, or nil.")

(defvar todo-write-efrit--current nil
  "Key of the thread that Efrit wrote last, or nil.")

;;;###autoload
(define-minor-mode todo-write-efrit-mode
  "Keep and show the plans of Efrit's agent.
Efrit may be loaded before or after this.  Signals a `user-error' if the
command `efrit-do' of todo-write is loaded, since Efrit needs the name."
  :global t
  :group 'todo-write
  (cond ((not todo-write-efrit-mode) (todo-write-efrit--disable))
        ;; Efrit's own has this variable.
        ((and (featurep 'efrit-do) (not (boundp 'efrit-do--current-todos)))
         (setq todo-write-efrit-mode nil)
         (user-error "The `efrit-do' of todo-write is loaded, and Efrit's has \
the same name; restart Emacs to use Efrit"))
        (t (add-hook 'after-load-functions #'todo-write-efrit--enable)
           (todo-write-listen #'todo-write-efrit--heard)
           (todo-write-efrit--enable))))

(defun todo-write-efrit--enable (&optional file)
  "Replace what is loaded of Efrit, after FILE was loaded if that is its.
Doing it again does no harm."
  (when (or (not file) (string-prefix-p "efrit" (file-name-nondirectory file)))
    (todo-write-efrit--put-folder-first)
    (pcase-dolist (`(,variable . ,function) todo-write-efrit--variables)
      (when (boundp variable)
        (todo-write-efrit--replace variable function)))
    (pcase-dolist (`(,function ,how ,advice . ,properties) todo-write-efrit--advice)
      (when (and (fboundp function)
                 (not (autoloadp (symbol-function function)))
                 (not (advice-member-p advice function)))
        (setf (alist-get function todo-write-efrit--advised)
              (symbol-function function))
        (apply #'advice-add function how advice properties)))))

(defun todo-write-efrit--disable ()
  "Put back all that was replaced."
  (remove-hook 'after-load-functions #'todo-write-efrit--enable)
  (todo-write-listen #'todo-write-efrit--heard 'stop)
  (pcase-dolist (`(,function ,_ ,advice . ,_) todo-write-efrit--advice)
    (advice-remove function advice)
    (let ((before (alist-get function todo-write-efrit--advised)))
      ;; Under advice of Efrit's own the definition has been built anew.
      (when (and before (equal before (symbol-function function)))
        (fset function before))))
  (pcase-dolist (`(,variable ,old ,new) todo-write-efrit--replaced)
    (when (eq (symbol-value variable) new)
      (set variable old)))
  (when todo-write-efrit--folder
    ;; By identity: an equal entry may be someone else's.
    (setq load-path (delq todo-write-efrit--folder load-path)))
  (setq todo-write-efrit--folder nil
        todo-write-efrit--advised nil
        todo-write-efrit--replaced nil
        todo-write-efrit--current nil))

(defun todo-write-efrit--replace (variable function)
  "Set VARIABLE to what FUNCTION makes of its value, unless that is done.
Efrit sets it anew when it is loaded again."
  (let ((entry (assq variable todo-write-efrit--replaced))
        (value (symbol-value variable)))
    (unless (and entry (eq value (nth 2 entry)))
      (let ((new (funcall function value)))
        (setq todo-write-efrit--replaced
              (cons (list variable value new)
                    (delq entry todo-write-efrit--replaced)))
        (set variable new)))))

(defun todo-write-efrit--put-folder-first ()
  "Let `efrit-do' mean the file of Efrit, wherever todo-write is installed.
Efrit loads it by that name, and todo-write has a file of the same name."
  (let* ((dispatch (and (not (featurep 'efrit-do))
                        (locate-library "efrit-do-dispatch")))
         (folder (and dispatch (file-name-directory dispatch)))
         (found (and folder (locate-library "efrit-do"))))
    (when (and found (not (file-equal-p folder (file-name-directory found))))
      (push (setq todo-write-efrit--folder (directory-file-name folder))
            load-path))))

;;; What Efrit sends and calls

(defun todo-write-efrit--dispatch-table (table)
  "Return TABLE, Efrit's list of tools, with todo_write as ours."
  (unless (assoc "todo_write" table)
    (display-warning 'todo-write "This Efrit has no tool todo_write to replace"))
  (mapcar (lambda (entry)
            (if (equal (car entry) "todo_write")
                (cons (car entry) '(todo-write-efrit--handle . :tool-input))
              entry))
          table))

(defun todo-write-efrit--schema (schema)
  "Return SCHEMA, Efrit's vector of tools, with todo_write as ours."
  (vconcat (mapcar (lambda (tool)
                     (if (equal (cdr (assoc "name" tool)) "todo_write")
                         (todo-write-efrit--named-by-strings
                          (todo-write-tool-schema))
                       tool))
                   schema)))

(defun todo-write-efrit--named-by-strings (value)
  "Return VALUE, as in `todo-write-tool-schema', with strings as keys."
  (if (consp value)
      (mapcar (pcase-lambda (`(,name . ,field))
                (cons name (todo-write-efrit--named-by-strings field)))
              (todo-write--json-fields value))
    value))

;;; A call

(defvar todo-write-efrit--chat nil
  "Key of the thread for calls outside of sessions, once there was one.")

(defvar todo-write-efrit--writing nil
  "Non-nil while a call of Efrit's agent is being written.")

(defvar todo-write-efrit--signalling nil
  "Non-nil where Efrit takes a tool for failed only if it signals.")

(defun todo-write-efrit--handle (input)
  "Write INPUT, as Efrit's agent sent it, and return the answer as text.
A refusal is an answer that Efrit takes for an error."
  (pcase-let* ((`(,thread . ,title) (todo-write-efrit--session))
               (outcome (let ((todo-write-efrit--writing t))
                          (todo-write thread input "efrit")))
               (answer (todo-write-efrit--inert (plist-get outcome :result))))
    (cond ((plist-get outcome :ok)
           (todo-write-efrit--show thread title)
           (todo-write-efrit--sync thread)
           answer)
          (todo-write-efrit--signalling (error "%s" answer))
          ;; The loops know an error by the first line, the breaker that stops
          ;; the same error from coming again and again by the second.
          (t (format "Error in the call of todo_write\n[Error executing todo_write: %s]"
                     (string-replace "\n" " " answer))))))

(defun todo-write-efrit--handle-directly (input)
  "Write INPUT for a caller in Lisp; return the answer with a line before it.
Lisp that calls Efrit's tool looks for the numbers and the words in that
line.  The model is spared it: it comes by way of the dispatcher."
  (let* ((answer (todo-write-efrit--handle input))
         (summary (todo-write-summary (car (todo-write-efrit--session))))
         (current (plist-get (plist-get summary :current) :content)))
    (if (string-prefix-p "Error " answer)
        answer
      (format "\n[%d total%s]\n%s" (plist-get summary :total)
              (if current
                  (concat ".  Current task: " (todo-write-efrit--inert current))
                "")
              answer))))

(defun todo-write-efrit--inert (answer)
  "Return ANSWER so that no task in it reads as a signal to Efrit.
Efrit looks for these in all that tools return."
  (replace-regexp-in-string
   "\\[\\(SESSION-COMPLETE\\|WAITING-FOR-USER\\|\\(?:Syntax \\)?Error\\|Efrit\\)"
   "(\\1" answer t))

(defun todo-write-efrit--session ()
  "Return (THREAD . TITLE) of the session at work.
THREAD is the key of its thread; TITLE, what it works on, may be nil."
  (let ((repl (bound-and-true-p efrit-repl-loop--tool-session))
        (session (and (fboundp 'efrit-session-active) (efrit-session-active))))
    (cond (repl (cons (todo-write-efrit--thread repl) (efrit-repl-session-title repl)))
          (session (cons (todo-write-efrit--thread session) (efrit-session-command session)))
          (t (list (or todo-write-efrit--chat
                       (setq todo-write-efrit--chat
                             (format-time-string "efrit:chat-%Y%m%d%H%M%S"))))))))

(defun todo-write-efrit--thread (session)
  "Return the key of the thread of SESSION, a conversation or a command."
  (format "efrit:%s" (if (and (fboundp 'efrit-repl-session-p) (efrit-repl-session-p session))
                         (efrit-repl-session-id session)
                       (efrit-session-id session))))

(defun todo-write-efrit--in-executor (&rest call)
  "Apply CALL: Efrit's executor calls a tool."
  (let ((todo-write-efrit--signalling t))
    (apply #'funcall call)))

(defun todo-write-efrit--mute (&rest _)
  "Do nothing, as `ignore' does, without making a command of what it mutes."
  nil)

;;; Showing

(defun todo-write-efrit--show (thread title)
  "Begin to show THREAD, which works on TITLE, if it is another than so far."
  (unless (equal thread todo-write-efrit--current)
    (setq todo-write-efrit--current thread)
    (when (and (stringp title) (not (plist-get (todo-write-summary thread) :title)))
      (todo-write-observe thread "TITLE" title))
    (when (or (not (boundp 'efrit-todos-auto-show)) efrit-todos-auto-show)
      (todo-write-efrit--show-current))))

(defun todo-write-efrit--show-current ()
  "Show the plan that Efrit's agent wrote last."
  (interactive)
  (todo-write-show todo-write-efrit--current))

(defun todo-write-efrit--heard (thread what _data)
  "Let Efrit know if WHAT happened to THREAD is an edit by the user."
  (when (and (eq what 'change)
             (equal thread todo-write-efrit--current)
             (not todo-write-efrit--writing))
    (todo-write-efrit--sync thread)))

(defun todo-write-efrit--sync (thread)
  "Make Efrit's own list equal to that of THREAD, and let its agent buffer follow."
  (when (and (boundp 'efrit-do--current-todos) (fboundp 'efrit-todo-item-create))
    (setq efrit-do--current-todos
          (mapcar (lambda (item) (todo-write-efrit--item thread item))
                  (todo-write-items thread))
          efrit-do--todo-counter (length efrit-do--current-todos))
    (when (advice-member-p 'efrit-agent--on-todo-update 'efrit-do--handle-todo-write)
      (with-demoted-errors "Efrit's agent buffer: %S"
        (efrit-agent--on-todo-update)))))

(defun todo-write-efrit--item (thread item)
  "Return ITEM of THREAD as one of Efrit's own."
  (let* ((times (todo-write-times thread (plist-get item :id)))
         (time (lambda (key)
                 (let ((milliseconds (plist-get times key)))
                   (and milliseconds
                        (time-convert (cons milliseconds 1000) 'list))))))
    (efrit-todo-item-create
     :id (plist-get item :id)
     :content (plist-get item :content)
     :status (pcase (plist-get item :status)
               ("completed" 'completed)
               ("in_progress" 'in-progress)
               (_ 'todo))
     ;; Efrit's list has no tasks without one.
     :priority (pcase (plist-get item :priority)
                 ("high" 'high)
                 ("low" 'low)
                 (_ 'medium))
     :created-at (funcall time :created)
     :completed-at (funcall time :completed))))

;;; The user's commands

(defun todo-write-efrit--clear (&rest _)
  "Delete all tasks of the list that Efrit's agent wrote last."
  (todo-write-efrit--clear-completed t))

(defun todo-write-efrit--clear-completed (&optional all)
  "Delete the completed tasks of the list that Efrit's agent wrote last.
ALL non-nil deletes the others, too.  These are edits by the user."
  (interactive)
  (when-let* ((thread todo-write-efrit--current))
    (seq-doseq (item (todo-write-items thread))
      (when (or all (equal (plist-get item :status) "completed"))
        (todo-write-edit thread 'delete (plist-get item :id))))))

;;; What the agent does

(defconst todo-write-efrit--failures
  '("api-error" "elisp-error" "iteration-limit" "iteration-limit-exceeded" "session-timeout")
  "Efrit's names of the errors with which a turn ends.")

(defun todo-write-efrit--line (text &optional label)
  "Return TEXT as a short line after LABEL, or nil if it is no string."
  (and (stringp text) (todo-write-row-line (concat label text) 60)))

(defun todo-write-efrit--set-active (session)
  "Say that the agent of SESSION works, or that the active one failed for nil."
  (if session
      (todo-write-set-activity (todo-write-efrit--thread session) 'working)
    (when-let* ((active (efrit-session-active))
                (why (todo-write-efrit--line (efrit-session-last-error active))))
      (todo-write-end-turn (todo-write-efrit--thread active) why t))))

(defun todo-write-efrit--set-status (session status)
  "Say what the agent of SESSION, a conversation, does if STATUS tells."
  (pcase status
    ('working (todo-write-set-activity (todo-write-efrit--thread session) 'working))
    ('waiting (todo-write-efrit--asked session
                                       (car (efrit-repl-session-pending-question session))))))

(defun todo-write-efrit--asked (session question &rest _)
  "Say that the agent of SESSION waits for the answer to QUESTION."
  (when session
    (todo-write-set-activity (todo-write-efrit--thread session) 'waiting
                             (or (todo-write-efrit--line question "question: ")
                                 "question"))))

(defun todo-write-efrit--answered (session &rest _)
  "Say that the agent of SESSION works again after an answer."
  (when session
    (todo-write-set-activity (todo-write-efrit--thread session) 'working)))

(defun todo-write-efrit--confirming (function args)
  "Call FUNCTION with ARGS; the agent waits for a confirmation meanwhile."
  (let* ((thread (car (todo-write-efrit--session)))
         (before (car (todo-write-activity thread))))
    (todo-write-set-activity
     thread 'waiting
     (or (todo-write-efrit--line (alist-get 'action args) "permission: ") "permission"))
    (unwind-protect (funcall function args)
      (todo-write-set-activity thread before))))

(defun todo-write-efrit--ended (session &optional reason)
  "End the turn of SESSION for REASON, Efrit's name of it or an answer."
  (when (and session (not (equal reason "waiting-for-user")))
    (let ((failed (and (member reason todo-write-efrit--failures) t)))
      (todo-write-end-turn (todo-write-efrit--thread session)
                           (and (or failed (member reason '("cancelled" "interrupted" "paused")))
                                (string-replace "-" " " reason))
                           failed))))

(defun todo-write-efrit--cancelled (session)
  "End the turn of SESSION, which the user cancelled."
  (todo-write-efrit--ended session "cancelled"))

(defun todo-write-efrit--in-foreground (function &rest args)
  "Call FUNCTION with ARGS; its agent no longer works when it returns."
  (let (why)
    (unwind-protect
        (condition-case nil
            (apply function args)
          (quit (setq why "interrupted")
                (signal 'quit nil)))
      (let ((thread (car (todo-write-efrit--session))))
        (when (or why (eq 'working (car (todo-write-activity thread))))
          (todo-write-end-turn thread why))))))

(provide 'todo-write-efrit)
;;; todo-write-efrit.el ends here
