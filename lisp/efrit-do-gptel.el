;;; efrit-do-gptel.el --- Let a model work, by gptel -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The backend `gptel': any model that gptel knows, with streaming and with
;; the model's reasoning.  Set gptel up as for its chats, then
;;
;;   (setq efrit-do-backend 'gptel)
;;
;; Tools that you made with `gptel-make-tool' are added by name:
;;
;;   (setq efrit-do-gptel-tools '("search_web"))
;;
;; gptel sends the request, reads the stream, calls the tools and sends the
;; next request.  Its tools here are asynchronous ones that queue the call in
;; the session; a session that has ended never answers, so that no further
;; request can follow.  Faults of the network are told from the model's end
;; here, and sent again: that is in efrit-do-gptel-fault.el.

;;; Code:

(require 'efrit-do)
(require 'efrit-do-gptel-fault)

(defvar gptel-backend)
(defvar gptel-confirm-tool-calls)
(defvar gptel-include-reasoning)
(defvar gptel-model)
(defvar gptel-stream)
(defvar gptel-tools)
(defvar gptel-use-context)
(defvar gptel-use-tools)
(defvar gptel--known-tools)
(declare-function gptel-abort "ext:gptel-request")
(declare-function gptel-fsm-info "ext:gptel-request")
(declare-function gptel-get-tool "ext:gptel-request")
(declare-function gptel-make-tool "ext:gptel-request")
(declare-function gptel-request "ext:gptel-request")
(declare-function gptel-tool-args "ext:gptel-request")
(declare-function gptel-tool-async "ext:gptel-request")
(declare-function gptel-tool-confirm "ext:gptel-request")
(declare-function gptel-tool-description "ext:gptel-request")
(declare-function gptel-tool-function "ext:gptel-request")
(declare-function gptel-tool-name "ext:gptel-request")

(defcustom efrit-do-gptel-tools nil
  "Names of tools made with `gptel-make-tool' that the agent may call too.
They ask for consent as in gptel.  The tools of efrit-do keep their names."
  :type '(repeat string)
  :group 'efrit-do)

;;; Tools

(defun efrit-do-gptel--adopt (name)
  "Offer the gptel tool NAME to agents, unless efrit-do has one of that name.
Signals `error' if gptel has none."
  (unless (efrit-do-get-tool name)
    (let ((tool (gptel-get-tool name)))
      (efrit-do-register-tool
       :name name
       :description (gptel-tool-description tool)
       :args (gptel-tool-args tool)
       :function (gptel-tool-function tool)
       :async (gptel-tool-async tool)
       :confirm (lambda (&rest values)
                  (let ((confirm (gptel-tool-confirm tool)))
                    (pcase gptel-confirm-tool-calls
                      ('auto (if (functionp confirm) (apply confirm values)
                               confirm))
                      (always always))))))))

(defun efrit-do-gptel--input (tool values)
  "Return VALUES, the arguments of TOOL in order, as a plist."
  (cl-loop for spec in (efrit-do-tool-arguments tool)
           for value in values
           when value
           append (list (efrit-do--keyword (plist-get spec :name)) value)))

(defun efrit-do-gptel--tool (session tool)
  "Return a gptel tool that calls TOOL in SESSION."
  ;; Bound, so that gptel's menu does not list it: it belongs to SESSION.
  (let ((gptel--known-tools nil)
        (name (efrit-do-tool-name tool)))
    (gptel-make-tool
     :name name
     :description (efrit-do-tool-description tool)
     ;; gptel changes what it is given in place.
     :args (copy-tree (efrit-do-tool-arguments tool) t)
     :async t
     :function
     (lambda (answer &rest values)
       (efrit-do-gptel--turn-over session)
       (efrit-do-session-call
        session name (efrit-do-gptel--input tool values)
        (lambda (outcome)
          (funcall answer (plist-get outcome :content))))))))

;;; Sending

(defun efrit-do-gptel--prompt (session)
  "Return the command of SESSION, and the plan that it finds unfinished, if any."
  (let ((items (todo-write-items (efrit-do-session-thread session))))
    (concat (efrit-do-session-command session)
            (unless (seq-empty-p items)
              (concat "\n\nAn earlier session left this plan; go on with it if \
the command is about it:\n"
                      (mapconcat (lambda (item)
                                   (format "- %s (%s)" (plist-get item :content)
                                           (plist-get item :status)))
                                 items "\n"))))))

(cl-defmethod efrit-do-backend-start ((_backend (eql 'gptel)) session)
  "Send the command of SESSION to the model."
  (unless (require 'gptel nil t)
    (signal 'todo-write-error
            (list "gptel is not installed; `efrit-do-backend' needs it")))
  (mapc #'efrit-do-gptel--adopt efrit-do-gptel-tools)
  (let ((state (efrit-do-gptel-state-create
                :buffer (efrit-do-gptel--buffer session))))
    (setf (efrit-do-session-state session) state)
    (when (efrit-do-session-request session)
      (with-current-buffer (efrit-do-gptel-state-buffer state)
        (setf (efrit-do-gptel-state-fsm state)
              (gptel-request (efrit-do-gptel--prompt session)
                :callback (lambda (response info)
                            (efrit-do-gptel--heard session response info))
                :system (efrit-do-gptel--system session)
                :stream gptel-stream))
        (efrit-do-gptel--sent session)))))

(defun efrit-do-gptel--system (session)
  "Return the system prompt of SESSION."
  (format "%s\nYour tools work in the directory %s"
          efrit-do-system-prompt (efrit-do-session-directory session)))

(defun efrit-do-gptel--buffer (session)
  "Return a new buffer with the settings for the requests of SESSION.
Model and backend are those of the buffer where the command was given."
  (let* ((origin (if (buffer-live-p (efrit-do-session-origin session))
                     (efrit-do-session-origin session)
                   (current-buffer)))
         (backend (buffer-local-value 'gptel-backend origin))
         (model (buffer-local-value 'gptel-model origin)))
    (with-current-buffer (generate-new-buffer " *efrit-do gptel*")
      (setq default-directory (efrit-do-session-directory session))
      (setq-local gptel-backend backend
                  gptel-model model
                  gptel-use-tools t
                  gptel-use-context nil
                  gptel-include-reasoning t
                  ;; The session asks, in its own queue.
                  gptel-confirm-tool-calls nil
                  gptel-tools (mapcar (lambda (tool)
                                        (efrit-do-gptel--tool session tool))
                                      efrit-do-tools))
      (add-hook 'gptel-post-request-hook
                (lambda () (efrit-do-gptel--guard session)) nil t)
      (current-buffer))))

(defun efrit-do-gptel--sent (session)
  "Note that a request of SESSION is on its way."
  (let* ((state (efrit-do-session-state session))
         (info (gptel-fsm-info (efrit-do-gptel-state-fsm state))))
    (setf (efrit-do-gptel-state-flying state) t
          (efrit-do-gptel-state-open state) t
          (efrit-do-gptel-state-error state) nil
          (efrit-do-gptel-state-thought state) nil
          (efrit-do-gptel-state-data state)
          (copy-sequence (plist-get info :data)))
    ;; gptel leaves these as the turn before had them, so that a second turn
    ;; would stream no reasoning.
    (plist-put info :reasoning-block nil)
    (plist-put info :stop-reason nil)
    (plist-put info :post
               (list (lambda (info) (efrit-do-gptel--rested session info))))
    (efrit-do-gptel--watch session)))

;;; What comes back

(defun efrit-do-gptel--heard (session response info)
  "Take RESPONSE with INFO, as gptel calls back with them, for SESSION."
  (let ((state (efrit-do-session-state session)))
    (setf (efrit-do-gptel-state-heard state) (float-time))
    (pcase response
      ((pred stringp) (efrit-do-session-token session response))
      (`(reasoning . ,(and (pred stringp) text))
       (setf (efrit-do-gptel-state-thought state) t)
       (efrit-do-session-token session text t))
      (`(tool-result . ,_) (efrit-do-gptel--answered-all session info))
      ('t (efrit-do-gptel--streamed session info))
      ('nil (efrit-do-gptel--note-fault session info)))))

(defun efrit-do-gptel--streamed (session info)
  "Take the end of a stream of SESSION, described by INFO."
  (if (efrit-do-gptel--complete-p (efrit-do-session-state session) info)
      (efrit-do-gptel--turn-over session)
    (plist-put info :error "The answer broke off before its end")
    (efrit-do-gptel--note-fault session info)))

(defun efrit-do-gptel--turn-over (session)
  "Note, once a turn, that the model of SESSION has said all of it."
  (let ((state (efrit-do-session-state session)))
    (when (efrit-do-gptel-state-open state)
      (setf (efrit-do-gptel-state-open state) nil
            (efrit-do-gptel-state-flying state) nil)
      (let ((info (gptel-fsm-info (efrit-do-gptel-state-fsm state))))
        (efrit-do-gptel--take-thought session info)
        (efrit-do-session-answered
         session
         (append (list :model (format "%s" (plist-get info :model)))
                 (and (stringp (plist-get info :stop-reason))
                      (list :stopReason (plist-get info :stop-reason)))))))))

(defun efrit-do-gptel--take-thought (session info)
  "Take the reasoning in INFO that SESSION was not called back with.
Without streaming, gptel calls back only where there is text beside it."
  (let ((state (efrit-do-session-state session))
        (reasoning (plist-get info :reasoning)))
    (when (and (stringp reasoning)
               (not (plist-get info :stream))
               (not (efrit-do-gptel-state-thought state)))
      (efrit-do-session-token session reasoning t))))

(defun efrit-do-gptel--answered-all (session info)
  "Take that all calls of a turn of SESSION are answered, as INFO has it.
The next request follows from this, unless an error is put into INFO."
  (let ((state (efrit-do-session-state session)))
    (cond
     ((efrit-do-gptel-state-error state))
     ((efrit-do-gptel--failed-process-p state)
      (plist-put info :error "The connection was cut")
      (efrit-do-gptel--note-fault session info))
     ((and (efrit-do-gptel--count-unknown session info)
           (efrit-do-session-request session))
      (setf (efrit-do-gptel-state-tries state) 0)
      (efrit-do-gptel--sent session))
     (t (plist-put info :error "The session has ended")))))

(defun efrit-do-gptel--count-unknown (session info)
  "Let the breaker of SESSION count the calls of unknown tools in INFO.
gptel answers those itself.  Return nil if that ends SESSION."
  (dolist (call (plist-get info :tool-use))
    (let ((name (plist-get call :name)))
      (unless (efrit-do-get-tool name)
        (efrit-do-session-refused session name (plist-get call :args)
                                  (plist-get call :result)))))
  (efrit-do-session-running-p session))

(defun efrit-do-gptel--rested (session _info)
  "Take that gptel has nothing left to do for SESSION, once its sentinel is done.
A fault may be reported after this: it counts then."
  (run-at-time
   0 nil
   (lambda ()
     (let ((state (efrit-do-session-state session)))
       (unless (or (efrit-do-gptel-state-error state)
                   (efrit-do-session-calls session))
         (efrit-do-gptel--turn-over session)
         (efrit-do-session-finish session))))))

;;; Stopping and going on

(cl-defmethod efrit-do-backend-abort ((_backend (eql 'gptel)) session)
  "Abort the request of SESSION that is on its way, if any."
  (let ((state (efrit-do-session-state session)))
    (when state
      (efrit-do-gptel--unwatch state)
      (when (and (efrit-do-gptel-state-flying state)
                 (buffer-live-p (efrit-do-gptel-state-buffer state)))
        (setf (efrit-do-gptel-state-flying state) nil)
        (gptel-abort (efrit-do-gptel-state-buffer state)))
      (when (eq (efrit-do-session-status session) 'done)
        ;; The sentinel that called us may still need it.
        (run-at-time 0 nil #'kill-buffer (efrit-do-gptel-state-buffer state))))))

(cl-defmethod efrit-do-backend-continue ((_backend (eql 'gptel)) session)
  "Send the last request of SESSION again, or the first one."
  (let ((state (efrit-do-session-state session)))
    (if (and state (efrit-do-gptel-state-fsm state))
        (progn (setf (efrit-do-gptel-state-tries state) 0)
               (efrit-do-gptel--retry session))
      (efrit-do-backend-start 'gptel session))))

(provide 'efrit-do-gptel)
;;; efrit-do-gptel.el ends here
