;;; todo-write-efrit.el --- Plans of Efrit's agent  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The plans of Efrit (https://github.com/steveyegge/efrit):
;;
;;     (todo-write-efrit-mode 1)
;;
;; The mode replaces the tool todo_write of Efrit's agent by ours, with one thread
;; for each session.  It keeps Efrit's own list equal, because Efrit's agent buffer
;; shows that, and replaces Efrit's todo buffer and mode line.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'todo-write)
(require 'todo-write-calls)
(require 'todo-write-commands)
(require 'todo-write-host)
(require 'todo-write-text)

(defvar efrit-do--current-todos)
(defvar efrit-do--todo-counter)
(defvar efrit-repl-loop--tool-session)
(defvar efrit-todos-auto-show)
(declare-function efrit-agent--on-todo-update "ext:efrit-agent-integration")
(declare-function efrit-repl-session-buffer "ext:efrit-repl-session")
(declare-function efrit-repl-session-get "ext:efrit-repl-session")
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

(defconst todo-write-efrit--tried "0.4.1 of 2026-07-04 (a4d9001)"
  "Version of Efrit with which `todo-write-efrit--advice' was tried.")

(defconst todo-write-efrit--advice
  '((efrit-do--dispatch-tool :around todo-write-efrit--dispatch)
    (efrit-do--get-current-tools-schema :filter-return todo-write-efrit--schema)
    (efrit-do--handle-todo-write :override todo-write-efrit--write-for-lisp
                                 ;; Innermost: Efrit's advice still runs.
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
    (efrit-session-respond-to-question :after todo-write-efrit--works)
    (efrit-repl-session-set-status :after todo-write-efrit--set-status)
    (efrit-repl-loop--end-turn :after todo-write-efrit--ended)
    (efrit-tool-confirm-action :around todo-write-efrit--confirming))
  "Advice of the mode, a list of (FUNCTION HOW ADVICE [PROPERTIES]).
Efrit has no hooks for any of this.  Its displays follow its own tool by
advice.  That advice is muted, not removed, so that it keeps its order.")

(defvar todo-write-efrit--folder nil
  "The folder of Efrit that the mode put first on the load path, or nil.")

(defvar todo-write-efrit--current nil
  "Key of the thread that Efrit wrote most recently, or nil.")

;;;###autoload
(define-minor-mode todo-write-efrit-mode
  "Keep and show the plans of Efrit's agent.
Efrit may be loaded before or after this.  Signal a `user-error' if the
command `efrit-do' of todo-write is loaded, because Efrit has a command
of that name."
  :global t
  :group 'todo-write-hosts
  ;; Only Efrit's has this variable.
  (when (and todo-write-efrit-mode
             (featurep 'efrit-do) (not (boundp 'efrit-do--current-todos)))
    (setq todo-write-efrit-mode nil)
    (user-error "The `efrit-do' of todo-write is loaded, and Efrit's has \
the same name; restart Emacs to use Efrit"))
  (todo-write-host-switch "Efrit" todo-write-efrit-mode))

(defun todo-write-efrit--switch-on ()
  "Advise what is loaded of Efrit, and what is loaded of it later."
  (add-hook 'after-load-functions #'todo-write-efrit--enable)
  (add-hook 'todo-write-events-functions #'todo-write-efrit--on-event)
  (todo-write-efrit--enable))

(defun todo-write-efrit--enable (&optional file)
  "Advise what is loaded of Efrit, after FILE was loaded.
Ignore files of others.  Calling this again is harmless.  Advice of a
function that is not loaded would hide that it is missing, and would keep
its autoload from being defined."
  (when (or (not file) (string-prefix-p "efrit" (file-name-nondirectory file)))
    (todo-write-core-for-host "Efrit"
      (todo-write-efrit--put-folder-first)
      (pcase-dolist (`(,function ,how ,advice . ,properties) todo-write-efrit--advice)
        (when (and (fboundp function)
                   (not (autoloadp (symbol-function function))))
          (apply #'advice-add function how advice properties))))))

(defun todo-write-efrit--findings ()
  "Return the doctor's finding about functions that Efrit lacks, in a list, or nil."
  (when-let* ((missing (and todo-write-efrit-mode (featurep 'efrit)
                            (seq-remove #'fboundp (mapcar #'car todo-write-efrit--advice)))))
    (list (list 'problem
                (format "Efrit lacks %s, which the mode advises."
                        (mapconcat #'symbol-name missing ", "))
                (format "It was tried with Efrit %s." todo-write-efrit--tried)))))

(defun todo-write-efrit--buffer (thread)
  "Return the buffer of Efrit's conversation that has THREAD, or nil."
  (when-let* (((string-prefix-p "efrit:" thread))
              ((fboundp 'efrit-repl-session-get))
              (session (efrit-repl-session-get (string-remove-prefix "efrit:" thread)))
              (buffer (efrit-repl-session-buffer session)))
    (and (buffer-live-p buffer) buffer)))

(todo-write-host-define "Efrit"
  :mode 'todo-write-efrit-mode
  :switch-on #'todo-write-efrit--switch-on :switch-off #'todo-write-efrit--switch-off
  :installed (lambda () (locate-library "efrit-do-schema"))
  :findings #'todo-write-efrit--findings
  :visit #'todo-write-efrit--buffer)

(defun todo-write-efrit--switch-off ()
  "Remove all advice, and restore the load path."
  (remove-hook 'after-load-functions #'todo-write-efrit--enable)
  (remove-hook 'todo-write-events-functions #'todo-write-efrit--on-event)
  (pcase-dolist (`(,function ,_ ,advice . ,_) todo-write-efrit--advice)
    (advice-remove function advice))
  (when todo-write-efrit--folder
    ;; By identity: the user may have added an equal entry.
    (setq load-path (delq todo-write-efrit--folder load-path)))
  (setq todo-write-efrit--folder nil
        todo-write-efrit--current nil))

(defun todo-write-efrit--put-folder-first ()
  "Put Efrit's folder before ours in `load-path'.
Efrit requires `efrit-do', and todo-write has a file of that name, too."
  (let* ((dispatch (and (not (featurep 'efrit-do))
                        (locate-library "efrit-do-dispatch")))
         (folder (and dispatch (file-name-directory dispatch)))
         (found (and folder (locate-library "efrit-do"))))
    (when (and found (not (file-equal-p folder (file-name-directory found))))
      (push (setq todo-write-efrit--folder (directory-file-name folder))
            load-path))))

;;; Tools

(defvar todo-write-efrit--calls (truncate (float-time))
  "Number of the last call; no call of an earlier Emacs has it.")

(defun todo-write-efrit--dispatch (dispatch name input &rest more)
  "Write INPUT if NAME is todo_write, else call DISPATCH with NAME, INPUT and MORE.
Record the other calls in the session's thread once it has a plan."
  (if (equal name "todo_write")
      (todo-write-efrit--write input)
    (let (thread id result)
      (todo-write-core-for-host "Efrit"
        (setq thread (car (todo-write-efrit--session)))
        (when (todo-write-revisions thread)
          (setq id (format "efrit-%s" (cl-incf todo-write-efrit--calls)))
          (todo-write-calls-begin thread id name input)))
      (unwind-protect
          (setq result (apply dispatch name input more))
        (when id
          (todo-write-core-for-host "Efrit"
            (todo-write-calls-end thread id name (if (stringp result) result "")
                                  (todo-write-efrit--outcome name result))))))))

(defun todo-write-efrit--outcome (name result)
  "Return the outcome of a call of the tool NAME that returned RESULT.
RESULT is nil if it signalled.  Efrit does not report exit codes."
  (cond ((not (stringp result)) 'failed)
        ((string-match-p "\\`\n*\\[\\(?:SECURITY\\|Unknown tool\\)" result) 'refused)
        ((string-match-p (concat "\\`\n*\\(?:\\[\\(?:\\(?:Syntax \\|Internal \\|Efrit internal \\)?[Ee]rror"
                                 "\\|Shell command killed\\)\\|{\"success\":false\\)")
                         result)
         'failed)
        ((equal name "shell_exec") 'unknown)
        (t 'ok)))

(defun todo-write-efrit--schema (schema)
  "Return SCHEMA, Efrit's vector of tool definitions, with our todo_write."
  (or (todo-write-core-for-host "Efrit"
        (vconcat (seq-remove (lambda (tool) (equal (cdr (assoc "name" tool)) "todo_write"))
                             schema)
                 (list (todo-write-tool-schema))))
      schema))

;;; Calls

(defvar todo-write-efrit--chat nil
  "Key of the thread for calls outside of sessions, or nil before the first one.")

(defvar todo-write-efrit--writing nil
  "Non-nil while a call of Efrit's agent is written.")

(defvar todo-write-efrit--signalling nil
  "Non-nil where Efrit regards a tool call as failed only if it signals.")

(defun todo-write-efrit--write (input)
  "Write INPUT, which Efrit's agent sent, and return the result text.
Efrit recognizes the text of a refusal as an error."
  (let* ((outcome (todo-write-core-for-host "Efrit"
                    (pcase-let* ((`(,thread . ,title) (todo-write-efrit--session))
                                 (outcome (let ((todo-write-efrit--writing t))
                                            (todo-write thread input "efrit"))))
                      (when (plist-get outcome :ok)
                        (todo-write-efrit--show thread title)
                        (todo-write-efrit--copy-list thread))
                      outcome)))
         (answer (todo-write-efrit--escape
                  (or (plist-get outcome :result) "Emacs could not write the list."))))
    (cond ((plist-get outcome :ok) answer)
          (todo-write-efrit--signalling (error "%s" answer))
          ;; Efrit's loops recognize an error by the first line, and its circuit
          ;; breaker recognizes it by the second.
          (t (format "Error in the call of todo_write\n[Error executing todo_write: %s]"
                     (string-replace "\n" " " answer))))))

(defun todo-write-efrit--write-for-lisp (input)
  "Write INPUT for a caller in Lisp; return the result after a summary line.
Lisp code that calls Efrit's tool reads that line.  Calls of the model come
through `todo-write-efrit--dispatch' and get the result alone."
  (let* ((answer (todo-write-efrit--write input))
         (summary (todo-write-summary (car (todo-write-efrit--session))))
         (current (plist-get (plist-get summary :current) :content)))
    (if (string-prefix-p "Error " answer)
        answer
      (format "\n[%d total%s]\n%s" (plist-get summary :total)
              (if current
                  (concat ".  Current task: " (todo-write-efrit--escape current))
                "")
              answer))))

(defun todo-write-efrit--escape (answer)
  "Return ANSWER with the markers escaped that Efrit looks for in results."
  (replace-regexp-in-string
   "\\[\\(SESSION-COMPLETE\\|WAITING-FOR-USER\\|\\(?:Syntax \\)?Error\\|Efrit\\)"
   "(\\1" answer t))

(defun todo-write-efrit--session ()
  "Return (THREAD . TITLE) of the session that is running.
THREAD is the key of its thread.  TITLE may be nil."
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
  "Apply CALL, a tool call of Efrit's executor."
  (let ((todo-write-efrit--signalling t))
    (apply #'funcall call)))

(defun todo-write-efrit--mute (&rest _)
  "Do nothing.  Unlike `ignore', this does not turn a function into a command."
  nil)

;;; Showing

(defun todo-write-efrit--show (thread title)
  "Make THREAD with TITLE the current one, and show it, unless it is."
  (unless (equal thread todo-write-efrit--current)
    (setq todo-write-efrit--current thread)
    (when (and (stringp title) (not (plist-get (todo-write-summary thread) :title)))
      (todo-write-observe thread "TITLE" title))
    (when (or (not (boundp 'efrit-todos-auto-show)) efrit-todos-auto-show)
      (todo-write-efrit--show-current))))

(defun todo-write-efrit--show-current ()
  "Show the plan that Efrit's agent wrote most recently."
  (declare (completion ignore))
  (interactive)
  (todo-write-show todo-write-efrit--current))

(defun todo-write-efrit--on-event (thread what outcome)
  "Copy THREAD to Efrit's list if WHAT with OUTCOME is a change by the user.
For `todo-write-events-functions'."
  (when (and (eq what 'change) outcome
             (equal thread todo-write-efrit--current)
             (not todo-write-efrit--writing))
    (todo-write-core-for-host "Efrit"
      (todo-write-efrit--copy-list thread))))

(defun todo-write-efrit--copy-list (thread)
  "Copy the list of THREAD to Efrit's own, and update Efrit's agent buffer."
  (when (and (boundp 'efrit-do--current-todos) (fboundp 'efrit-todo-item-create))
    (setq efrit-do--current-todos
          (mapcar (lambda (item) (todo-write-efrit--item thread item))
                  (todo-write-items thread))
          efrit-do--todo-counter (length efrit-do--current-todos))
    (when (advice-member-p 'efrit-agent--on-todo-update 'efrit-do--handle-todo-write)
      (todo-write-core-for-host "Efrit"
        (efrit-agent--on-todo-update)))))

(defun todo-write-efrit--item (thread item)
  "Return ITEM of THREAD as an item of Efrit."
  (let* ((times (todo-write-times thread (plist-get item :id)))
         (time (lambda (key)
                 (when-let* ((milliseconds (plist-get times key)))
                   (time-convert (cons milliseconds 1000) 'list)))))
    (efrit-todo-item-create
     :id (plist-get item :id)
     :content (plist-get item :content)
     :status (pcase (plist-get item :status)
               ("completed" 'completed)
               ("in_progress" 'in-progress)
               (_ 'todo))
     ;; Every item of Efrit has one.
     :priority (pcase (plist-get item :priority)
                 ("high" 'high)
                 ("low" 'low)
                 (_ 'medium))
     :created-at (funcall time :created)
     :completed-at (funcall time :completed))))

;;; The user's commands

(defun todo-write-efrit--clear (&rest _)
  "Delete all tasks of the list that Efrit's agent wrote most recently."
  (todo-write-core-for-host "Efrit"
    (todo-write-efrit--clear-completed t)))

(defun todo-write-efrit--clear-completed (&optional all)
  "Delete the completed tasks of the list that Efrit's agent wrote most recently.
Non-nil ALL deletes the other tasks, too.  These are edits by the user."
  (declare (completion ignore))
  (interactive)
  (when-let* ((thread todo-write-efrit--current))
    (seq-doseq (item (todo-write-items thread))
      (when (or all (equal (plist-get item :status) "completed"))
        (todo-write-edit thread 'delete (plist-get item :id))))))

;;; Activity

(defconst todo-write-efrit--failures
  '("api-error" "elisp-error" "iteration-limit" "iteration-limit-exceeded" "session-timeout")
  "Efrit's names of the errors with which a turn ends.")

(defun todo-write-efrit--works (session &rest _)
  "Set the agent of SESSION to working."
  (todo-write-core-for-host "Efrit"
    (when session
      (todo-write-set-activity (todo-write-efrit--thread session) 'working))))

(defun todo-write-efrit--asked (session question &rest _)
  "Set the agent of SESSION to waiting for the answer to QUESTION."
  (todo-write-core-for-host "Efrit"
    (when session
      (todo-write-set-activity (todo-write-efrit--thread session) 'waiting
                               (todo-write-text-reason question "question")))))

(defun todo-write-efrit--set-active (session)
  "Set the agent of SESSION to working; for nil, set the active one to failed."
  (todo-write-core-for-host "Efrit"
    (if session
        (todo-write-efrit--works session)
      (when-let* ((active (efrit-session-active))
                  (reason (todo-write-text-reason (efrit-session-last-error active))))
        (todo-write-end-turn (todo-write-efrit--thread active) reason t)))))

(defun todo-write-efrit--set-status (session status)
  "Set the activity of SESSION, a conversation, according to STATUS."
  (todo-write-core-for-host "Efrit"
    (pcase status
      ('working (todo-write-efrit--works session))
      ('waiting (todo-write-efrit--asked
                 session (car (efrit-repl-session-pending-question session)))))))

(defun todo-write-efrit--confirming (function args)
  "Call FUNCTION with ARGS, with the agent waiting for a confirmation."
  (let ((thread nil) (before nil))
    (todo-write-core-for-host "Efrit"
      (setq thread (car (todo-write-efrit--session))
            before (car (todo-write-activity thread)))
      (todo-write-set-activity thread 'waiting
                               (todo-write-text-reason (alist-get 'action args) "permission")))
    (unwind-protect (funcall function args)
      (todo-write-core-for-host "Efrit"
        (todo-write-set-activity thread before)))))

(defun todo-write-efrit--ended (session &optional reason)
  "End the turn of SESSION for REASON, which Efrit gives, or may be an answer."
  (todo-write-core-for-host "Efrit"
    (when (and session (not (equal reason "waiting-for-user")))
      (let ((failed (and (member reason todo-write-efrit--failures) t)))
        (todo-write-end-turn
         (todo-write-efrit--thread session)
         (and (or failed (member reason '("cancelled" "interrupted" "paused")))
              (string-replace "-" " " reason))
         failed)))))

(defun todo-write-efrit--cancelled (session)
  "End the turn of SESSION, which the user cancelled."
  (todo-write-efrit--ended session "cancelled"))

(defun todo-write-efrit--in-foreground (function &rest args)
  "Call FUNCTION with ARGS, and end the turn if it is still running after that."
  (let (reason)
    (unwind-protect
        (condition-case nil
            (apply function args)
          (quit (setq reason "interrupted")
                (signal 'quit nil)))
      (todo-write-core-for-host "Efrit"
        (let ((thread (car (todo-write-efrit--session))))
          (when (or reason (eq 'working (car (todo-write-activity thread))))
            (todo-write-end-turn thread reason)))))))

(provide 'todo-write-efrit)
;;; todo-write-efrit.el ends here
