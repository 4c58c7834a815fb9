;;; efrit-do-session.el --- One command worked on by an agent -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A session is one command of the user and all that an agent does for it.
;; Here it begins, its tools run one after the other, and it ends: done,
;; stopped by the circuit breaker (efrit-do-breaker.el), cancelled or failed.
;; What a session consists of, and what comes of it, is in efrit-do-record.el.
;;
;; Where the agent's words come from is a backend.  A backend is a symbol with
;; methods for `efrit-do-backend-start', `-continue' and `-abort'; it reports
;; what the model does with
;;
;;   (efrit-do-session-request SESSION)        before each request: nil = stop
;;   (efrit-do-session-token SESSION TEXT THINKING)
;;   (efrit-do-session-answered SESSION)       the model's turn is over
;;   (efrit-do-session-call SESSION NAME INPUT THEN)
;;   (efrit-do-session-finish SESSION)         it has nothing left to do
;;   (efrit-do-session-fail SESSION TEXT)
;;
;; and never runs a tool itself.  All that happens is recorded in the
;; session's thread; whoever shows a session subscribes to that.

;;; Code:

(require 'efrit-do-breaker)
(require 'efrit-do-builtin)
(require 'efrit-do-record)
(require 'todo-write-busy)

(defcustom efrit-do-end-functions nil
  "Abnormal hook called with a session when it has ended, whichever way."
  :type 'hook
  :group 'efrit-do)

;;; Backends

(cl-defgeneric efrit-do-backend-start (backend session)
  "Let BACKEND begin to work on SESSION.
Signals `todo-write-error' if it cannot."
  (ignore session)
  (signal 'todo-write-error (list (format "There is no backend `%s'" backend))))

(cl-defgeneric efrit-do-backend-continue (backend session)
  "Let BACKEND go on with SESSION where it was interrupted.
This is not called where a tool call waits for its answer: that is given, and
the backend goes on from there.")

(cl-defgeneric efrit-do-backend-abort (backend session)
  "Stop all that BACKEND does for SESSION, at once: it has ended."
  (ignore backend session))

(cl-defgeneric efrit-do-backend-title (backend session)
  "Return a title for SESSION if BACKEND knows one."
  (ignore backend session)
  nil)

;;; What a backend reports

(defun efrit-do-session-request (session)
  "Return non-nil if SESSION may send a request now, and count it.
If not, SESSION has ended: it said that it is complete, or the circuit breaker
tripped, or the user stopped it."
  (when (efrit-do-session-running-p session)
    (if (efrit-do-session-message session)
        (efrit-do-session--end session 'done nil)
      (let ((trip (efrit-do-breaker-request (efrit-do-session-breaker session))))
        (if trip
            (efrit-do-session--end session 'stopped trip)
          (efrit-do-session--begin-turn session)
          t)))))

(defun efrit-do-session--begin-turn (session)
  "Note that SESSION sends a request."
  (when (efrit-do-session-text session)
    (push (efrit-do-session-text session) (efrit-do-session-texts session))
    (setf (efrit-do-session-text session) nil))
  (efrit-do-session-record
   session "LLM_STREAM_START"
   (list :request (efrit-do-breaker-requests (efrit-do-session-breaker session))
         :backend (symbol-name (efrit-do-session-backend session)))))

(defun efrit-do-session-token (session text &optional thinking)
  "Take TEXT, thought (THINKING non-nil) or said by the model of SESSION."
  (when (and (efrit-do-session-running-p session)
             (not (string-empty-p text)))
    (unless thinking
      (setf (efrit-do-session-text session)
            (concat (efrit-do-session-text session) text)))
    (efrit-do-session--stream session "TOKEN" text thinking)))

(defun efrit-do-session-answered (session &optional metadata)
  "Note that the model's turn in SESSION is over.
METADATA is a plist about the turn, such as `:model', recorded with it."
  (when (efrit-do-session-running-p session)
    (efrit-do-session--stream session "END" nil)
    (when metadata
      (efrit-do-session-record session "LLM_STREAM_METADATA" metadata))
    (efrit-do-session-record
     session "LLM_STREAM_END"
     (list :request (efrit-do-breaker-requests
                     (efrit-do-session-breaker session))))))

(defun efrit-do-session-call (session name input then)
  "Run the tool NAME with INPUT in SESSION, after those already waiting.
THEN is called with the outcome, a plist `:content' `:is-error', unless SESSION
ends before."
  (when (efrit-do-session-running-p session)
    (setf (efrit-do-session-calls session)
          (append (efrit-do-session-calls session)
                  (list (list name input then nil))))
    (efrit-do-session--schedule session)))

(defun efrit-do-session-finish (session)
  "End SESSION: its model has nothing left to do."
  (efrit-do-session--end session 'done nil))

(defun efrit-do-session-refused (session name input text)
  "Take that the backend answered a call of NAME with INPUT by the error TEXT.
The call counts as one that ran in SESSION."
  (when (efrit-do-session-running-p session)
    (let* ((breaker (efrit-do-session-breaker session))
           (outcome (list :content (format "%s" text) :is-error t))
           (trip (efrit-do-breaker-call breaker name input)))
      (unless trip
        (push (list :id nil :name name :input input
                    :content (format "%s" text) :is-error t)
              (efrit-do-session-results session))
        (setq trip (efrit-do-breaker-outcome breaker name outcome)))
      (when trip
        (efrit-do-session--end session 'stopped trip)))))

(defun efrit-do-session-retry (session cause seconds)
  "Record that a request of SESSION failed by CAUSE; SECONDS until the next try."
  (efrit-do-session--stream session "ERROR" cause)
  (efrit-do-session-record session "LLM_STREAM_ERROR" cause
                           :retryAfter seconds)
  ;; What the model said in half an answer, it says again.
  (setf (efrit-do-session-text session) nil))

(defun efrit-do-session-fail (session text)
  "End SESSION, which cannot go on for the reason TEXT."
  (efrit-do-session--end session 'failed text))

;;; Tools, one after the other

(defun efrit-do-session--schedule (session)
  "Run the next call of SESSION as soon as Emacs is idle in its command loop.
Not at once: a backend may report calls from a process filter."
  (run-at-time 0 nil #'efrit-do-session--run-next session))

(defun efrit-do-session--run-next (session)
  "Run the call of SESSION that waits longest, unless one is running."
  (when (and (efrit-do-session-running-p session)
             (efrit-do-session-calls session)
             (not (efrit-do-session-busy session)))
    (pcase-let* ((`(,name ,input . ,_) (car (efrit-do-session-calls session)))
                 (trip (efrit-do-breaker-call
                        (efrit-do-session-breaker session) name input)))
      (if trip
          (efrit-do-session--end session 'stopped trip)
        (setf (efrit-do-session-busy session) t)
        (condition-case problem
            (let ((inhibit-quit nil))
              (efrit-do-session--run session name input))
          (quit
           (setf (efrit-do-session-busy session) nil)
           (efrit-do-session--end session 'cancelled "cancelled by the user"))
          (error
           (setf (efrit-do-session-busy session) nil)
           (efrit-do-session-fail session (efrit-do-error-text problem))))))))

(defconst efrit-do--input-kept 2000
  "Characters of a call's input that are recorded.
A long list is in the journal already, as what changed in it.")

(defun efrit-do-session--run (session name input)
  "Run the tool NAME with INPUT for SESSION and record both ends of it."
  (let* ((id (format "c%d" (efrit-do-breaker-calls
                            (efrit-do-session-breaker session))))
         (efrit-do-thread (efrit-do-session-thread session))
         (efrit-do-origin (efrit-do-session-origin session))
         (efrit-do-allowed-tools (efrit-do-session-allowed session))
         (default-directory (efrit-do-session-directory session))
         (start (float-time)))
    (efrit-do-session-record
     session "TOOL_CALL"
     (list :id id :name name
           :input (let ((efrit-do-output-limit efrit-do--input-kept))
                    (efrit-do-clip (efrit-do-input-text input)))))
    (unwind-protect
        (efrit-do-call-tool
         name input
         (lambda (outcome)
           (efrit-do-session--ran session id name input outcome
                                  (- (float-time) start))))
      (setf (efrit-do-session-allowed session) efrit-do-allowed-tools))))

(defun efrit-do-session--ran (session id name input outcome seconds)
  "Take the OUTCOME of call ID of SESSION: tool NAME with INPUT, took SECONDS."
  (setf (efrit-do-session-busy session) nil)
  (push (list :id id :name name :input input
              :content (plist-get outcome :content)
              :is-error (plist-get outcome :is-error))
        (efrit-do-session-results session))
  (efrit-do-session-record session "TOOL_EXECUTION"
                           (list :id id :name name
                                 :content (plist-get outcome :content)
                                 :isError (if (plist-get outcome :is-error) t
                                            :false))
                           :durationMs (round (* 1000 seconds)))
  (if (efrit-do-session-running-p session)
      (efrit-do-session--answer session name outcome)
    (setf (nth 3 (car (efrit-do-session-calls session))) outcome)))

(defun efrit-do-session--answer (session name outcome)
  "Answer the first call of SESSION, which ran NAME, with OUTCOME."
  (when (plist-get outcome :complete)
    (setf (efrit-do-session-message session) (plist-get outcome :complete)))
  (let ((trip (efrit-do-breaker-outcome (efrit-do-session-breaker session)
                                        name outcome)))
    (if trip
        (progn
          (setf (nth 3 (car (efrit-do-session-calls session))) outcome)
          (efrit-do-session--end session 'stopped trip))
      (let ((then (nth 2 (pop (efrit-do-session-calls session)))))
        (efrit-do-session--schedule session)
        (funcall then outcome)))))

;;; Beginning and end

(defun efrit-do-session--id ()
  "Return a new session id: the time and some random digits."
  (format "%s-%04x" (format-time-string "%Y%m%dT%H%M%S") (random #x10000)))

(defun efrit-do-session-begin (command backend options)
  "Begin a session for COMMAND with BACKEND and return it.
OPTIONS is a plist: `:thread' and `:directory' name the list and the place to
work in, the others are the backend's."
  (when (string-blank-p command)
    (signal 'todo-write-input-error '("The command is empty")))
  (let* ((directory (file-name-as-directory
                     (expand-file-name (or (plist-get options :directory)
                                           (efrit-do-project-root)))))
         (id (efrit-do-session--id))
         (session (efrit-do-session--make
                   :id id :command (substring-no-properties command)
                   :directory directory :origin (current-buffer)
                   :thread (or (plist-get options :thread)
                               (format "%s#%s" directory id))
                   :backend backend :options options)))
    (setq efrit-do-sessions
          (seq-take (cons session efrit-do-sessions) efrit-do--sessions-kept))
    (add-hook 'kill-emacs-hook #'efrit-do--cancel-all)
    session))

(defun efrit-do-session-start (session)
  "Let the backend of SESSION begin, and return SESSION.
Whatever the backend signals ends the session and passes through."
  (let ((backend (efrit-do-session-backend session))
        (command (efrit-do-session-command session)))
    (condition-case problem
        (let ((title (or (efrit-do-backend-title backend session)
                         (efrit-do--title command))))
          (todo-write-set-busy (efrit-do-session-thread session) t)
          (efrit-do-session-record session "INTENT" command)
          (efrit-do-session-record session "TITLE" title)
          (efrit-do-backend-start backend session))
      ((error quit)
       (efrit-do-session--end session 'failed (efrit-do-error-text problem))
       (signal (car problem) (cdr problem))))
    session))

(defun efrit-do-session--end (session status reason)
  "End SESSION with STATUS for REASON; return nil.
Whatever its backend still does is aborted first: nothing runs and nothing is
sent after this.  A list with open tasks is paused."
  (when (efrit-do-session-running-p session)
    (setf (efrit-do-session-status session) status
          (efrit-do-session-reason session) reason)
    ;; It has ended, whatever goes wrong from here on.
    (with-demoted-errors "Ending a session: %S"
      (todo-write-set-busy (efrit-do-session-thread session) nil))
    (with-demoted-errors "Ending a session: %S"
      (efrit-do-backend-abort (efrit-do-session-backend session) session))
    (with-demoted-errors "Ending a session: %S"
      (efrit-do-session--record-end session status reason))
    (with-demoted-errors "Ending a session: %S"
      (run-hook-with-args 'efrit-do-end-functions session))
    nil))

(defun efrit-do-session--record-end (session status reason)
  "Record that SESSION ended with STATUS for REASON, and pause its list."
  (let ((thread (efrit-do-session-thread session))
        (failed (eq status 'failed)))
    (efrit-do-session--stream session (if failed "ERROR" "END") reason)
    (when failed
      (efrit-do-session-record session "LLM_STREAM_ERROR" reason))
    (todo-write-pause-active thread (or reason "the agent ended its turn"))
    (if (eq status 'done)
        (efrit-do-session--record-answer session)
      (when (memq status '(failed stopped))
        (efrit-do-session-record session "ERROR" reason))
      (efrit-do-session-record session "AGENT_SUSPENDED" reason
                               :status (symbol-name status)))))

(defun efrit-do-session--record-answer (session)
  "Record what SESSION ended with.
The outputs of its tools are recorded already."
  (when (efrit-do-session-text session)
    (efrit-do-session-record session "SYNTHESIS"
                             (efrit-do-session-text session)))
  (efrit-do-session-record session "FINAL_RESPONSE"
                           (or (efrit-do-session-answer session)
                               "The agent gave no answer.")))

(defun efrit-do--cancel-all ()
  "Stop every session, because Emacs ends."
  (dolist (session efrit-do-sessions)
    (when (efrit-do-session-running-p session)
      (efrit-do-session--end session 'cancelled "Emacs was closed"))))

(provide 'efrit-do-session)
;;; efrit-do-session.el ends here
