;;; todo-write-efrit.el --- Plans of Efrit's agent  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `todo-write-efrit-mode' replaces the tool todo_write of the agent of Efrit
;; (https://github.com/steveyegge/efrit) by ours, with a thread for each session, in which it
;; records what you ask and what the agent says and does.  *efrit-todos* and the indicator in
;; the mode line are then ours.

;;; Code:

(require 'todo-write-mode-line)
(require 'todo-write-view)

(defvar efrit-repl-loop--tool-session)
(declare-function efrit-do--handle-todo-write "ext:efrit-do-handlers")
(declare-function efrit-repl-session-get "ext:efrit-repl-session")
(declare-function efrit-session-active "ext:efrit-session-core")

(defconst todo-write-efrit--advice
  '((efrit-do-dispatch (efrit-do--dispatch-tool :around todo-write-efrit--dispatch))
    (efrit-do-schema (efrit-do--get-current-tools-schema :filter-return todo-write-efrit--schema))
    ;; *efrit-todos* has one owner.
    (efrit-ui-todos (efrit-todos--after-todo-write-advice :override ignore)
                    (efrit-todos--render :override ignore)
                    (efrit-todos-show :override todo-write-show)
                    (efrit-modeline-construct :override ignore))
    (efrit-loop (efrit-loop-handle-response :before todo-write-efrit--on-response))
    (efrit-executor (efrit-executor--process-content :before todo-write-efrit--on-content)
                    (efrit-executor--process-sync-content :before todo-write-efrit--on-content)
                    (efrit-executor--execute-tool :filter-return todo-write-efrit--signal)
                    (efrit-execute :around todo-write-efrit--in-foreground))
    (efrit-session-core (efrit-session-set-active :before todo-write-efrit--set-active)
                        (efrit-session-complete :after todo-write-efrit--ended)
                        (efrit-session-cancel :after todo-write-efrit--ended))
    (efrit-session-worklog (efrit-session-set-pending-question :after todo-write-efrit--asked)
                           (efrit-session-respond-to-question :after todo-write-efrit--prompted))
    (efrit-repl-session (efrit-repl-session-add-user-message :after todo-write-efrit--prompted))
    (efrit-repl-loop (efrit-repl-loop--end-turn :after todo-write-efrit--ended))
    (efrit-tool-confirm-action (efrit-tool-confirm-action :around todo-write-efrit--confirming)))
  "Advice, a list of (LIBRARY (FUNCTION HOW ADVICE)...), where Efrit has no hooks.
LIBRARY is the feature of Efrit that defines the functions.")

;;;###autoload
(define-minor-mode todo-write-efrit-mode
  "Keep and show the plans of Efrit's agent.
Efrit may be loaded before or after this.  Signal a `user-error' if the
library `efrit-do' of todo-write is loaded in place of Efrit's."
  :global t
  :group 'todo-write
  ;; Only Efrit's has this variable.
  (when (and todo-write-efrit-mode (featurep 'efrit-do) (not (boundp 'efrit-do--current-todos)))
    (setq todo-write-efrit-mode nil)
    (user-error "The `efrit-do' of todo-write is loaded; restart Emacs to use Efrit's"))
  (todo-write-host-switch "Efrit" todo-write-efrit-mode)
  (todo-write-mode-line-by-default todo-write-efrit-mode)
  (todo-write-view-rename))

(defun todo-write-efrit--switch-on ()
  "Advise what is loaded of Efrit, and what is loaded of it later."
  (add-hook 'after-load-functions #'todo-write-efrit--enable)
  (todo-write-efrit--enable))

(defun todo-write-efrit--switch-off ()
  "Remove all advice."
  (remove-hook 'after-load-functions #'todo-write-efrit--enable)
  (pcase-dolist (`(,function ,_ ,advice) (seq-mapcat #'cdr todo-write-efrit--advice))
    (advice-remove function advice)))

(defun todo-write-efrit--loaded ()
  "Return the advice of functions whose libraries are loaded."
  (seq-mapcat #'cdr (seq-filter (lambda (entry) (featurep (car entry)))
                                todo-write-efrit--advice)))

(defun todo-write-efrit--enable (&rest _)
  "Advise what is loaded of Efrit.  Calling this again is harmless."
  (pcase-dolist (`(,function ,how ,advice) (todo-write-efrit--loaded))
    ;; Advice of a missing function would hide that it is missing.
    (when (fboundp function)
      (advice-add function how advice))))

(defun todo-write-efrit--findings ()
  "Return the doctor's findings about Efrit, a list."
  (when-let* ((missing (and todo-write-efrit-mode
                            (seq-remove #'fboundp (mapcar #'car (todo-write-efrit--loaded))))))
    (list (list 'problem (format "Efrit lacks %s." (mapconcat #'symbol-name missing ", "))
                "It was tried with Efrit 0.4.1 of 2026-07-04 (a4d9001)."))))

(defun todo-write-efrit--buffer (thread)
  "Return the buffer of Efrit's conversation that has THREAD, or nil."
  (when-let* (((fboundp 'efrit-repl-session-get))
              (identity (todo-write-core-call todo-write-dyn--identity thread))
              ((equal "efrit" (plist-get identity :program)))
              (session (efrit-repl-session-get (plist-get identity :session)))
              (buffer (todo-write-efrit--slot session 'buffer))
              ((buffer-live-p buffer)))
    buffer))

(todo-write-host-define "Efrit"
  :mode 'todo-write-efrit-mode :installed (lambda () (locate-library "efrit"))
  :switch-on #'todo-write-efrit--switch-on :switch-off #'todo-write-efrit--switch-off
  :findings #'todo-write-efrit--findings :visit #'todo-write-efrit--buffer)

;;; Sessions and their calls

(defvar todo-write-efrit--chat (format-time-string "efrit:chat-%Y%m%d%H%M%S")
  "Key of the thread for calls outside of sessions.")

(defun todo-write-efrit--slot (session slot)
  "Return SLOT of SESSION, which is a conversation or that of a command."
  (todo-write-core-for-host "Efrit"
    (cl-struct-slot-value (type-of session) slot session)))

(defun todo-write-efrit--thread (&optional session)
  "Return the key of the thread of SESSION, by default the one that runs."
  (if-let* ((session (or session (bound-and-true-p efrit-repl-loop--tool-session)
                         (and (fboundp 'efrit-session-active) (efrit-session-active)))))
      (concat "efrit:" (todo-write-efrit--slot session 'id))
    todo-write-efrit--chat))

(defun todo-write-efrit--prompted (session text)
  "Record that the user asked TEXT in SESSION, whose agent works then."
  (todo-write-core-for-host "Efrit"
    (let ((thread (todo-write-efrit--thread session)))
      (todo-write-set-activity thread 'working)
      (todo-write-observe thread "INTENT" (todo-write-core-plain text)))))

(defun todo-write-efrit--on-response (session _adapter response)
  "Record what the model says in RESPONSE to SESSION."
  (todo-write-efrit--on-content (gethash "content" response) session))

(defun todo-write-efrit--on-content (content session)
  "Record the texts and thoughts among CONTENT, blocks of a response to SESSION."
  (todo-write-core-for-host "Efrit"
    (seq-doseq (block content)
      (pcase-dolist (`(,key . ,type) '(("text" . "MESSAGE") ("thinking" . "THOUGHTS")))
        (when-let* ((text (todo-write-json-filled block key)))
          (todo-write-observe (todo-write-efrit--thread session) type
                              (list :text (todo-write-core-plain text))))))))

(defun todo-write-efrit--dispatch (dispatch name input &rest more)
  "Write INPUT if NAME is todo_write, else call DISPATCH with NAME, INPUT and MORE.
Record the other calls in the session's thread."
  (if (equal name "todo_write")
      (todo-write-efrit--write input)
    (let ((thread (todo-write-efrit--thread))
          (id (format-time-string "efrit-%s%N"))
          result)
      (todo-write-core-for-host "Efrit"
        (when (equal name "session_complete")
          (todo-write-observe thread "FINAL_RESPONSE"
                              (todo-write-core-plain (or (gethash "message" input) "Done"))))
        (todo-write-calls-begin thread id name input))
      (unwind-protect (setq result (apply dispatch name input more))
        (todo-write-core-for-host "Efrit"
          (todo-write-calls-end thread id name (if (stringp result) result "")
                                (todo-write-efrit--outcome name result)))))))

(defun todo-write-efrit--outcome (name result)
  "Return the outcome of a call of the tool NAME that returned RESULT.
RESULT is nil if it signalled.  Efrit does not report exit codes."
  (cond ((not (stringp result)) 'failed)
        ((string-match-p "\\`\n*\\[\\(?:SECURITY\\|Unknown tool\\)" result) 'refused)
        ((string-match-p "\\`\n*\\(?:\\[\\(?:[A-Z][a-z ]* \\)?[Ee]rror\\|\\[Shell command killed\\|\
{\"success\":false\\)" result)
         'failed)
        (t (if (equal name "shell_exec") 'unknown 'ok))))

(defun todo-write-efrit--schema (schema)
  "Return SCHEMA, Efrit's vector of tools, with our todo_write."
  (or (todo-write-core-for-host "Efrit"
        (vconcat (seq-remove (lambda (tool) (equal (cdr (assoc "name" tool)) "todo_write")) schema)
                 (list (todo-write-tool-schema))))
      schema))

(defun todo-write-efrit--write (input)
  "Write INPUT, which Efrit's agent sent, and return the result text."
  (let* ((thread (todo-write-efrit--thread))
         (outcome (todo-write-core-for-host "Efrit" (todo-write thread input "efrit")))
         ;; Efrit looks for these markers in results.
         (answer (replace-regexp-in-string
                  "\\[\\(SESSION-COMPLETE\\|WAITING-FOR-USER\\|\\(?:Syntax \\)?Error\\|Efrit\\)"
                  "(\\1" (or (plist-get outcome :result) "Emacs could not write the list.") t)))
    (if (not (plist-get outcome :ok))
        ;; Efrit's loops look at the first line, and its circuit breaker at the second.
        (format "Error in the call of todo_write\n[Error executing todo_write: %s]"
                (string-replace "\n" " " answer))
      (todo-write-core-for-host "Efrit"
        (when (and (eql 1 (plist-get outcome :revision))
                   (if (boundp 'efrit-todos-auto-show) (symbol-value 'efrit-todos-auto-show) t))
          (todo-write-show thread)))
      ;; Efrit's own list, which its agent buffer shows.  What we repair may be an error there.
      (ignore-errors (efrit-do--handle-todo-write input))
      answer)))

(defun todo-write-efrit--signal (result)
  "Signal RESULT if it refuses a list, as Efrit's executor expects; else return it."
  (if (string-prefix-p "Error in the call of todo_write" result) (error "%s" result) result))

;;; Activity

(defun todo-write-efrit--asked (session question &rest _)
  "Set the agent of SESSION to waiting for the answer to QUESTION."
  (todo-write-core-for-host "Efrit"
    (todo-write-set-activity (todo-write-efrit--thread session) 'waiting
                             (todo-write-text-reason question "question"))))

(defun todo-write-efrit--set-active (session)
  "Begin SESSION with its command; for nil, set the active one to failed."
  (if session
      (todo-write-efrit--prompted session (todo-write-efrit--slot session 'command))
    (todo-write-core-for-host "Efrit"
      (when-let* ((active (efrit-session-active))
                  (reason (todo-write-text-reason (todo-write-efrit--slot active 'last-error))))
        (todo-write-end-turn (todo-write-efrit--thread active) reason t)))))

(defun todo-write-efrit--confirming (function args)
  "Call FUNCTION with ARGS, with the agent waiting for a confirmation."
  (let* ((thread (todo-write-efrit--thread))
         (before (car (todo-write-activity thread))))
    (todo-write-core-for-host "Efrit"
      (todo-write-set-activity thread 'waiting
                               (todo-write-text-reason (alist-get 'action args) "permission")))
    (unwind-protect (funcall function args)
      (todo-write-core-for-host "Efrit" (todo-write-set-activity thread before)))))

(defun todo-write-efrit--ended (session &optional reason)
  "End the turn of SESSION for REASON, which may be an answer; nil if cancelled."
  (if (equal reason "waiting-for-user")
      (todo-write-efrit--asked session (car (todo-write-efrit--slot session 'pending-question)))
    (todo-write-core-for-host "Efrit"
      (let ((failed (member reason '("api-error" "elisp-error" "iteration-limit"
                                     "iteration-limit-exceeded" "session-timeout"))))
        (todo-write-end-turn (todo-write-efrit--thread session)
                             (cond ((null reason) "cancelled")
                                   ((or failed (member reason '("interrupted" "paused")))
                                    (string-replace "-" " " reason)))
                             (and failed t))))))

(defun todo-write-efrit--in-foreground (function &rest args)
  "Call FUNCTION with ARGS, and end the turn if that was interrupted."
  (unwind-protect (apply function args)
    (todo-write-core-for-host "Efrit"
      (when (eq 'working (car (todo-write-activity (todo-write-efrit--thread))))
        (todo-write-end-turn (todo-write-efrit--thread) "interrupted")))))

(provide 'todo-write-efrit)
;;; todo-write-efrit.el ends here
