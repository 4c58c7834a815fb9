;;; todo-write-permission.el --- Answer dialogs of agents by the socket  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; While a dialog of an agent stands in its terminal, a program passes the question to this
;; Emacs through the socket: the hook `todo-write-mcp permission' of Claude Code, the
;; plugin for opencode, or the thread of the hub that asks Codex' daemon.  The module reads
;; what each of them asks; this file makes a request of it, which `M-x todo-write-answer'
;; shows, and passes the user's answer back.
;;
;; The first answer counts.  The program closes its connection, or takes the call back, when
;; the terminal has answered or the session has ended, and the request is withdrawn.  A
;; request that is withdrawn here ends the call without an answer, and the dialog stays.

;;; Code:

(require 'todo-write-tell)
(require 'todo-write-request)

(cl-defstruct (todo-write-permission--call (:constructor todo-write-permission--make-call)
                                           (:copier nil))
  "A hook that waits for an answer.
PROGRAM is that, MESSAGE its call.  THREAD and ID are those of the request.
BLIND is non-nil if the hook cannot detect an answer in the terminal."
  program message thread id blind)

(defvar todo-write-permission--calls nil
  "The hooks that wait for an answer.")

;;; Messages

(defun todo-write-permission--receive (program message)
  "Handle MESSAGE of PROGRAM, a hook.
See `todo-write-socket--roles'."
  (pcase (plist-get message :type)
    ("call"
     (let* ((question (or (plist-get message :arguments) "null"))
            (project (todo-write-socket-project program))
            (here (and (null (todo-write-socket-program-remote program))
                       (expand-file-name project)))
            (request (todo-write-core-call todo-write-dyn--request-of question here)))
       (if (null request)
           (todo-write-socket-answer program message nil "The user is not asked.")
         (todo-write-permission--ask
          program message
          (plist-put request :detail
                     (lambda ()
                       (todo-write-core-call todo-write-dyn--request-detail question here)))))))
    ((or "closed" "bye" "cancel")
     (dolist (call todo-write-permission--calls)
       (when (and (eq program (todo-write-permission--call-program call))
                  (or (not (equal "cancel" (plist-get message :type)))
                      (eql (plist-get message :call)
                           (plist-get (todo-write-permission--call-message call) :call))))
         (todo-write-permission--forget call)
         (todo-write-withdraw (todo-write-permission--call-thread call)
                              (todo-write-permission--call-id call)))))))

(defun todo-write-permission--ask (program message request)
  "Ask REQUEST, a plist as from the module, for MESSAGE of PROGRAM."
  (let* ((thread (todo-write-socket-thread program message))
         (claude (equal "claude" (plist-get request :program)))
         (about (plist-get request :about))
         (subagent (plist-get request :subagent))
         (call (todo-write-permission--make-call
                :program program :message message :thread thread
                ;; A hook may call again on the same connection.
                :id (symbol-name (gensym "permission-"))
                ;; Only the hook `note' can tell that the terminal has answered.
                :blind (and claude (not (equal "process" (plist-get message :source)))))))
    (unless (plist-get (todo-write-about thread) :project)
      (todo-write-begin thread :project (todo-write-socket-project program)))
    ;; Dialogs of Claude Code come one after the other: the terminal has answered others.
    (when (and claude (not (plist-get message :subagent)))
      (dolist (other todo-write-permission--calls)
        (when (and (equal thread (todo-write-permission--call-thread other))
                   (not (plist-get (todo-write-permission--call-message other) :subagent)))
          (todo-write-withdraw thread (todo-write-permission--call-id other)))))
    (push call todo-write-permission--calls)
    (when (todo-write-permission--call-blind call)
      (todo-write-permission--watch thread))
    (todo-write-request
     thread
     :id (todo-write-permission--call-id call)
     :process (todo-write-socket-pid program)
     :kind (plist-get request :kind)
     :title (concat
             (and subagent (format "subagent %s: " (todo-write-text-line subagent 200)))
             (plist-get request :title)
             (and about
                  (concat ": " (funcall (if (eq 'shell (plist-get request :format))
                                            #'todo-write-text-command #'todo-write-text-line)
                                        about 200))))
     :detail (plist-get request :detail)
     :format (plist-get request :format)
     :options (plist-get request :options)
     :questions (plist-get request :questions)
     :answer (and (plist-get request :answerable)
                  (lambda (value text)
                    (todo-write-permission--answer call value text)))
     :withdrawn (lambda ()
                  (when (memq call todo-write-permission--calls)
                    (todo-write-permission--forget call)
                    (todo-write-socket-answer program (todo-write-permission--call-message call)
                                              nil "Withdrawn."))))))

(defun todo-write-permission--forget (call)
  "Let CALL no longer wait."
  (setq todo-write-permission--calls (delq call todo-write-permission--calls))
  (when (todo-write-permission--call-blind call)
    (todo-write-permission--watch (todo-write-permission--call-thread call))))

(defun todo-write-permission--watch (thread)
  "Have the hooks of THREAD's agent report its calls as long as that is needed."
  ;; Another subagent of the same thread may still wait.
  (setq todo-write-tell-waiting
        (mapcar #'todo-write-permission--call-thread
                (seq-filter #'todo-write-permission--call-blind todo-write-permission--calls)))
  (todo-write-tell-update thread))

(defun todo-write-permission--withdraw-answered (thread event)
  "Withdraw the requests of THREAD that its agent no longer waits for.
EVENT is from the hook `note'.  The end of a turn answers all requests,
a tool call its own.  For `todo-write-tell-said-functions'."
  (dolist (call todo-write-permission--calls)
    (when (and (equal thread (todo-write-permission--call-thread call))
               (or (equal "Stop" (todo-write-json-get event "event"))
                   (when-let* (((todo-write-permission--call-blind call))
                               (arguments (plist-get (todo-write-permission--call-message call)
                                                     :arguments))
                               (input (json-parse-string arguments :null-object nil
                                                         :false-object nil)))
                     (cl-flet ((text (object name)
                                 (json-serialize (vector (todo-write-json-get object name)))))
                       (seq-every-p (lambda (name) (equal (text input name) (text event name)))
                                    '("tool_name" "tool_input"))))))
      (todo-write-withdraw thread (todo-write-permission--call-id call)))))

(defun todo-write-permission--answer (call value text)
  "Answer CALL by VALUE, a plist for the hook or an alist of answers, and TEXT.
TEXT is a message with a no, or the edited plan that a yes approves."
  (let ((program (todo-write-permission--call-program call)))
    (todo-write-permission--forget call)
    (unless (todo-write-socket-live-p program)
      (signal 'todo-write-error '("The agent no longer waits for this")))
    (todo-write-socket-answer
     program (todo-write-permission--call-message call) t "Answered."
     (cond ((consp (car value))
            (let ((answers (make-hash-table :test #'equal)))
              (pcase-dolist (`(,question . ,answer) value)
                (puthash question
                         (vconcat (mapcar #'todo-write-core-plain (ensure-list answer))) answers))
              (list :behavior "allow" :answers answers)))
           (text (append value (list (if (equal "allow" (plist-get value :behavior)) :plan :message)
                                     (todo-write-core-plain text))))
           (t value)))))

(add-hook 'todo-write-tell-said-functions #'todo-write-permission--withdraw-answered)
(todo-write-socket-define-role "permission" #'todo-write-permission--receive)

(provide 'todo-write-permission)
;;; todo-write-permission.el ends here
