;;; efrit-do-gptel.el --- The backend gptel of efrit-do -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The backend `gptel' uses any model of gptel.  `efrit-do' uses it if gptel is
;; loaded and has a backend and a model.  To use it always:
;;
;;   (setq efrit-do-backend 'gptel)
;;
;; gptel sends the requests.  Its tools queue their calls in the session.  A session
;; that has ended does not answer them, so gptel sends no further request.

;;; Code:

(require 'efrit-do-run)

(defvar gptel-backend)
(defvar gptel-confirm-tool-calls)
(defvar gptel-include-reasoning)
(defvar gptel-model)
(defvar gptel-request--handlers)
(defvar gptel-stream)
(defvar gptel-tools)
(defvar gptel-use-context)
(defvar gptel-use-tools)
(defvar gptel--known-tools)
(declare-function gptel--fsm-transition "ext:gptel-request")
(declare-function gptel-abort "ext:gptel-request")
(declare-function gptel-fsm-info "ext:gptel-request")
(declare-function gptel-get-tool "ext:gptel-request")
(declare-function gptel-make-fsm "ext:gptel-request")
(declare-function gptel-make-tool "ext:gptel-request")
(declare-function gptel-request "ext:gptel-request")
(declare-function gptel-tool-args "ext:gptel-request")
(declare-function gptel-tool-async "ext:gptel-request")
(declare-function gptel-tool-confirm "ext:gptel-request")
(declare-function gptel-tool-description "ext:gptel-request")
(declare-function gptel-tool-function "ext:gptel-request")

(defvar efrit-do-gptel-retry-delay 5
  "Seconds until a failed request is sent again, once.
Requests are retried if the provider is busy (HTTP status 429, 503 or 529)
or the connection is lost.")

(defcustom efrit-do-gptel-tools nil
  "Names of tools made with `gptel-make-tool' that the agent may call too.
They ask for consent as in gptel.  A tool of efrit-do with the same name
takes precedence."
  :type '(repeat string)
  :group 'efrit-do
  :package-version '(efrit-do . "0.2.0"))

;;; Tools

(defun efrit-do-gptel--ours (name)
  "Return the gptel tool NAME as one of ours; signal an error if gptel has none."
  (let ((tool (gptel-get-tool name)))
    (efrit-do-make-tool
     :name name
     :description (gptel-tool-description tool)
     :args (gptel-tool-args tool)
     :function (gptel-tool-function tool)
     :async (gptel-tool-async tool)
     :confirm (lambda (&rest values)
                (let ((confirm (gptel-tool-confirm tool)))
                  (pcase gptel-confirm-tool-calls
                    ('auto (if (functionp confirm) (apply confirm values) confirm))
                    (always always)))))))

(defun efrit-do-gptel--tool (session tool)
  "Return a gptel tool that calls TOOL in SESSION."
  ;; Bound to keep the tool out of gptel's menu: it belongs to SESSION.
  (let* ((gptel--known-tools nil)
         (name (efrit-do-tool-name tool))
         (args (efrit-do-tool-args tool))
         (args (if (functionp args) (funcall args) args)))
    (gptel-make-tool
     :name name
     :description (efrit-do-tool-description tool)
     ;; gptel modifies its arguments.
     :args (copy-tree args t)
     :async t
     :function
     (lambda (answer &rest values)
       (efrit-do-session-call
        session name
        (cl-loop for spec in args
                 for value in values
                 when value
                 collect (cons (plist-get spec :name) value))
        (lambda (outcome)
          (funcall answer (plist-get outcome :content))))))))

;;; Sending

(cl-defstruct (efrit-do-gptel--state (:constructor efrit-do-gptel--state-create)
                                     (:copier nil))
  "State of the backend `gptel' in a session.
BUFFER is the buffer of its requests, and INFO a copy of the info of gptel's
state machine from before the last request.  RETRY is the timer that sends, or
has sent, that again, or nil."
  buffer info retry)

(defun efrit-do-gptel--buffer (session)
  "Return a new buffer with the settings for the requests of SESSION.
It has the model and backend of the buffer in which the command was given."
  (let* ((origin (if (buffer-live-p (efrit-do-session-origin session))
                     (efrit-do-session-origin session)
                   (current-buffer)))
         (backend (buffer-local-value 'gptel-backend origin))
         (model (buffer-local-value 'gptel-model origin)))
    (setf (efrit-do-session-tools session)
          (mapcar #'efrit-do-gptel--ours
                  (seq-remove #'efrit-do-get-tool efrit-do-gptel-tools)))
    (with-current-buffer (generate-new-buffer " *efrit-do gptel*")
      (setq default-directory (efrit-do-session-directory session))
      (setq-local gptel-backend backend
                  gptel-model model
                  gptel-use-tools t
                  gptel-use-context nil
                  gptel-include-reasoning t
                  ;; The session asks, in its own queue.
                  gptel-confirm-tool-calls nil
                  gptel-tools (mapcar (lambda (tool) (efrit-do-gptel--tool session tool))
                                      (append efrit-do-tools (efrit-do-session-tools session))))
      (current-buffer))))

(defun efrit-do-gptel--make-fsm (session &optional info)
  "Return a new state machine for gptel that also reports to SESSION.
INFO is the plist of the previous machine if its request is sent again.

If a connection is lost, gptel first enters the state that follows a complete
answer, and then reports the failure.  So the handlers of these states run
after gptel has returned, and only if the request has not failed."
  (cl-flet ((later (state function)
              (list state
                    (lambda (machine)
                      (run-at-time
                       0 nil
                       (lambda ()
                         (unless (plist-get (gptel-fsm-info machine) :error)
                           (funcall function session machine)
                           (dolist (handler (alist-get state gptel-request--handlers))
                             (funcall handler machine)))))))))
    (gptel-make-fsm
     :info info
     :handlers `((WAIT ,(lambda (machine)
                          (let ((info (gptel-fsm-info machine)))
                            ;; gptel does not reset this, and would stream no reasoning in the
                            ;; next turn.
                            (plist-put info :reasoning-block nil)
                            ;; A request modifies its info.
                            (setf (efrit-do-gptel--state-info (efrit-do-session-state session))
                                  (plist-put (copy-sequence info) :data
                                             (copy-sequence (plist-get info :data))))))
                       ,@(alist-get 'WAIT gptel-request--handlers))
                 ,(later 'TOOL #'efrit-do-gptel--turn-over)
                 ,(later 'TRET #'ignore)
                 ;; The model called no tool.
                 ,(later 'DONE (lambda (session machine)
                                 (efrit-do-gptel--turn-over session machine)
                                 (efrit-do-session-end session 'done)))
                 ,@gptel-request--handlers))))

(cl-defmethod efrit-do-session-backend-start ((_backend (eql 'gptel)) session)
  "Send the command of SESSION to the model, or the last request again."
  (unless (require 'gptel nil t)
    (signal 'todo-write-error
            (list "gptel is not installed; `efrit-do-backend' needs it")))
  (if-let* ((state (efrit-do-session-state session))
            ((efrit-do-gptel--state-info state)))
      (progn (setf (efrit-do-gptel--state-retry state) nil)
             (efrit-do-gptel--send-again session))
    (when (efrit-do-session-request session)
      (let ((buffer (efrit-do-gptel--buffer session)))
        (setf (efrit-do-session-state session)
              (efrit-do-gptel--state-create :buffer buffer))
        (with-current-buffer buffer
          (gptel-request (efrit-do-session-command session)
            :callback (lambda (response info)
                        (pcase response
                          ((pred stringp) (efrit-do-session-token session response))
                          (`(reasoning . ,(and (pred stringp) text))
                           (efrit-do-session-token session text t))
                          (`(tool-result . ,_) (efrit-do-gptel--tools-answered session info))
                          ('nil (efrit-do-gptel--failed session info))))
            :system (format "%s\nYour tools work in the directory %s"
                            efrit-do-system-prompt
                            (efrit-do-session-directory session))
            :stream gptel-stream
            :fsm (efrit-do-gptel--make-fsm session)))))))

(defun efrit-do-gptel--send-again (session)
  "Send the last request of SESSION again, unless the breaker trips."
  (when (efrit-do-session-request session)
    (gptel--fsm-transition
     (efrit-do-gptel--make-fsm session (efrit-do-gptel--state-info
                                        (efrit-do-session-state session)))
     'WAIT)))

;;; Responses

(defun efrit-do-gptel--turn-over (session machine)
  "Record that the answer to SESSION from MACHINE is complete."
  (pcase-let (((map :tokens :model) (gptel-fsm-info machine)))
    (when tokens
      (efrit-do-session-record session "USAGE" (todo-write-calls-usage tokens model)))
    (efrit-do-session-answered session)))

(defun efrit-do-gptel--tools-answered (session info)
  "Count the next request of SESSION, whose tool calls are all answered.
gptel sends it after this, unless INFO has an error.  Calls of unknown tools,
which gptel has answered itself, count too."
  (let ((efrit-do-context session))
    (pcase-dolist ((map :name :args :result) (plist-get info :tool-use))
      (unless (efrit-do-get-tool name)
        (efrit-do-session-refused session name args result))))
  (if (efrit-do-session-request session)
      (setf (efrit-do-gptel--state-retry (efrit-do-session-state session)) nil)
    (plist-put info :error "The session has ended")))

;;; Failures

(defun efrit-do-gptel--failed (session info)
  "Retry the last request of SESSION, or end SESSION with the error in INFO.
Both are done later, because gptel is still handling the failure."
  (let* ((state (efrit-do-session-state session))
         (problem (plist-get info :error))
         (text (cond ((stringp problem) problem)
                     ((plist-get problem :message))
                     (problem (format "%S" problem))
                     (t "No answer")))
         (cut (string-match-p
               "\\`Curl failed with exit code \\(?:18\\|5[256]\\)\\>" text))
         (status (plist-get info :http-status))
         (busy (member status '("429" "503" "529")))
         (cause (cond (cut (concat "The connection was cut: " text))
                      (status (format "%s (%s)" text status))
                      (t text)))
         (delay efrit-do-gptel-retry-delay))
    ;; Without an error, the machine's next state would be DONE.
    (unless problem
      (plist-put info :error text))
    (run-at-time
     0 nil
     (lambda ()
       (if (not (and (or cut busy) (efrit-do-session-running-p session)
                     (not (efrit-do-gptel--state-retry state))))
           (efrit-do-session-end session 'failed cause)
         (setf (efrit-do-gptel--state-retry state)
               (run-at-time delay nil #'efrit-do-gptel--send-again session))
         (efrit-do-session-retry session cause delay))))))

;;; Abort

(cl-defmethod efrit-do-session-backend-abort ((_backend (eql 'gptel)) session)
  "Abort the request of SESSION that is running, if any."
  (when-let* ((state (efrit-do-session-state session))
              (buffer (efrit-do-gptel--state-buffer state)))
    (when (efrit-do-gptel--state-retry state)
      (cancel-timer (efrit-do-gptel--state-retry state)))
    (gptel-abort buffer)
    (when (eq (efrit-do-session-status session) 'done)
      ;; The callers may still need the buffer.
      (run-at-time 0 nil #'kill-buffer buffer))))

(provide 'efrit-do-gptel)
;;; efrit-do-gptel.el ends here
