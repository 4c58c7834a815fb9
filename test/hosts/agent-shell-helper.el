;;; agent-shell-helper.el --- Shells with genuine agents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Functions for agent-shell.sh, which runs the real agent-shell with real
;; ACP agents and scripted models.
;;
;; If RECORD is in the environment, all messages between agent-shell, acp.el and an
;; agent are written to that file, for the tests that replay them.

;;; Code:

(require 'ert)
(require 'map)
(require 'pp)
(require 'hosts-helper)
(require 'agent-shell)
(require 'todo-write-agent-shell)

(defvar agent-shell-session-strategy)
(defvar agent-shell-show-welcome-message)

(setq agent-shell-session-strategy 'new
      agent-shell-show-welcome-message nil)

;;; A scripted model

(defun agent-shell-helper-fixture (&rest turns)
  "Return the name of a file with a script for aimock that has TURNS.
A turn of the model is a list of calls, or its final text.  If a list begins
with the start of a prompt, the turn applies to that prompt only."
  (let ((counts nil))
    (todo-write-mock-script
     (mapcar
      (lambda (turn)
        (let* ((prompt (and (consp turn) (stringp (car turn)) (pop turn)))
               (index (cl-incf (alist-get prompt counts -1 nil #'equal))))
          (list :match (append (list :turnIndex index)
                               (and prompt (list :userMessage prompt)))
                :response (pcase turn
                            ((or (and (pred stringp) text) `(,(and (pred stringp) text)))
                             (list :content text))
                            (_ (list :toolCalls (vconcat turn)))))))
      turns))))

;;; Shells

(defvar agent-shell-helper-folder nil "The project of the shells.")
(defvar agent-shell-helper-url nil "URL of the model.")

(defvar agent-shell-helper-agent nil
  "Command of the agent: environment variables, the program and its arguments.")

(defun agent-shell-helper-client (buffer)
  "Return a client for BUFFER whose agent inherits no environment."
  (let ((home (expand-file-name "home" agent-shell-helper-folder)))
    (make-directory (expand-file-name ".claude" home) t)
    ;; By itself, Claude Code begins in auto mode, which aimock does not support.
    (write-region "{\"permissions\": {\"defaultMode\": \"default\"}}" nil
                  (expand-file-name ".claude/settings.json" home) nil 'silent)
    (acp-make-client
     :context-buffer buffer
     :command "env"
     :command-params
     (append '("-i") (hosts-environment home) agent-shell-helper-agent))))

(defun agent-shell-helper-config ()
  "Return the configuration of the agent."
  (agent-shell-make-agent-config
   :identifier 'garden :mode-line-name "Garden" :buffer-name "Garden"
   :shell-prompt "Garden> " :shell-prompt-regexp "Garden> "
   :client-maker #'agent-shell-helper-client))

(defun agent-shell-helper-start (&optional start)
  "Start a shell, by the function START if there is one.
Return its buffer when it has a session."
  (let* ((default-directory agent-shell-helper-folder)
         (before (buffer-list)))
    (if start
        (funcall start)
      (agent-shell-start :config (agent-shell-helper-config)))
    (let ((shell (seq-find (lambda (buffer)
                             (and (not (memq buffer before))
                                  (eq 'agent-shell-mode (buffer-local-value 'major-mode buffer))))
                           (buffer-list))))
      (todo-write-test-wait (lambda () (agent-shell-helper-state shell :session :id)))
      shell)))

(defun agent-shell-helper-state (shell &rest keys)
  "Return the value at the path KEYS in the state of SHELL."
  (map-nested-elt (buffer-local-value 'agent-shell--state shell) keys))

(defun agent-shell-helper-thread (shell)
  "Return the key of the thread of SHELL."
  (concat (pcase (car (last agent-shell-helper-agent))
            ("claude-agent-acp" "claude:")
            ("codex-acp" "codex:")
            (_ "acp:"))
          (agent-shell-helper-state shell :session :id)))

(defun agent-shell-helper-prompt (shell)
  "Send a prompt to the agent of SHELL."
  (agent-shell-insert :text "Look after the garden" :submit t :no-focus t :shell-buffer shell))

(defun agent-shell-helper-wait (shell activity)
  "Wait until the agent of SHELL has the activity ACTIVITY."
  (todo-write-test-wait
   (lambda () (eq activity (car (todo-write-activity (agent-shell-helper-thread shell)))))))

(defun agent-shell-helper-kill (shell)
  "Kill SHELL."
  (let ((kill-buffer-query-functions nil))
    (kill-buffer shell)))

(defmacro agent-shell-helper-with (name model agent &rest body)
  "Run BODY with the mode on, and record it as NAME unless that is nil.
MODEL is a function that calls another one with the URL of a model.
AGENT is a form for `agent-shell-helper-agent'."
  (declare (indent 3) (debug t))
  `(todo-write-with-store
     (let* ((agent-shell-helper-folder (file-name-as-directory (make-temp-file "garden" t)))
            (before (buffer-list)))
       (call-process "git" nil nil nil "init" "--quiet" agent-shell-helper-folder)
       (funcall ,model
                (lambda (url)
                  (let* ((agent-shell-helper-url url)
                         (agent-shell-helper-agent ,agent)
                         (agent-shell-helper--record (list ,name)))
                    (unwind-protect
                        (progn (todo-write-agent-shell-mode 1)
                               ,@body
                               (agent-shell-helper--keep))
                      (todo-write-agent-shell-mode -1)
                      (dolist (buffer (buffer-list))
                        (unless (memq buffer before)
                          (agent-shell-helper-kill buffer))))))))))

(defun agent-shell-helper-aimock (fixture)
  "Return a function that calls its argument with the URL of aimock with FIXTURE."
  (lambda (function)
    (todo-write-with-mock port fixture
      (funcall function (format "http://127.0.0.1:%d" port)))))

;;; Records

(defvar agent-shell-helper--record nil
  "The name of a record and its events, newest first.")

(defvar agent-shell-helper--records nil
  "The records so far, newest first.")

(defun agent-shell-helper-note (&rest what)
  "Add the event WHAT to the record."
  (when agent-shell-helper--record
    (push what (cdr agent-shell-helper--record))))

(defun agent-shell-helper--keep ()
  "Write all records to the file that RECORD in the environment names."
  (when-let* ((file (getenv "RECORD"))
              (record agent-shell-helper--record)
              ((car record)))
    (push (cons (car record) (reverse (cdr record))) agent-shell-helper--records)
    (with-temp-file file
      (insert (format ";; Recorded on %s with %s.\n" (format-time-string "%F")
                      (getenv "RECORD_OF")))
      (let (print-length print-level indent-tabs-mode)
        (pp (reverse agent-shell-helper--records) (current-buffer))))))

(defun agent-shell-helper--received (&rest args)
  "Record the message in ARGS of `acp--route-incoming-message'."
  (let-alist (map-elt (plist-get args :message) :object)
    (cond ((and .method .id)
           (agent-shell-helper-note 'request .id .method .params.sessionId
                                    .params.toolCall.title))
          ((member .params.update.sessionUpdate
                 '("plan" "session_info_update" "tool_call" "tool_call_update"))
           (agent-shell-helper-note
            'notification .params.sessionId
            (append
             (seq-filter (lambda (field)
                           (memq (car field)
                                 '(sessionUpdate entries toolCallId title status)))
                         .params.update)
             (and .params.update.rawInput.todos
                  `((rawInput . ((todos . ,.params.update.rawInput.todos)))))
             (let ((claude (seq-filter (lambda (field)
                                         (memq (car field) '(toolName parentToolUseId)))
                                       .params.update._meta.claudeCode)))
               (and claude `((_meta . ((claudeCode . ,claude)))))))))
          (.error (agent-shell-helper-note 'failure .id .error.message))
          (.id (agent-shell-helper-note 'response .id .result.stopReason)))))

(defun agent-shell-helper--record-calls ()
  "Record all messages between agent-shell, acp.el and an agent from now on."
  (dolist (kind '(notifications requests errors))
    (advice-add (intern (format "acp-subscribe-to-%s" kind)) :before
                (lambda (&rest _) (agent-shell-helper-note 'subscribe kind))))
  (advice-add 'acp-send-request :after
              (lambda (&rest args)
                (agent-shell-helper-note
                 'send (map-elt (plist-get args :client) :request-id)
                 (map-elt (plist-get args :request) :method)
                 (map-nested-elt (plist-get args :request) '(:params sessionId)))))
  (advice-add 'acp-send-response :before
              (lambda (&rest args)
                (agent-shell-helper-note
                 'answer (map-elt (plist-get args :response) :request-id))))
  (advice-add 'acp-send-notification :before
              (lambda (&rest args)
                (agent-shell-helper-note
                 'notify (map-elt (plist-get args :notification) :method))))
  (advice-add 'acp--route-incoming-message :before #'agent-shell-helper--received)
  (advice-add 'agent-shell--emit-event :before
              (lambda (&rest args)
                (agent-shell-helper-note 'event (plist-get args :event))))
  (add-hook 'agent-shell-mode-hook (lambda () (agent-shell-helper-note 'hook))))

(when (getenv "RECORD")
  (agent-shell-helper--record-calls))

(provide 'agent-shell-helper)
;;; agent-shell-helper.el ends here
