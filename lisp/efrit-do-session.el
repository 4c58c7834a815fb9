;;; efrit-do-session.el --- One command worked on by an agent -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A session is one command of the user and all that an agent does for it.  This
;; file begins it, runs its tools one after the other, records everything in its
;; thread, and ends it.
;;
;; A backend is a symbol with methods for `efrit-do-backend-start', `-continue'
;; and `-abort'.  It never runs a tool itself, but reports what the model does:
;;
;;   (efrit-do-session-request SESSION)        before each request: nil = stop
;;   (efrit-do-session-token SESSION TEXT THINKING)
;;   (efrit-do-session-answered SESSION)       the model's turn is over
;;   (efrit-do-session-call SESSION NAME INPUT THEN)
;;   (efrit-do-session-finish SESSION)         it has nothing left to do
;;   (efrit-do-session-fail SESSION TEXT)

;;; Code:

(require 'efrit-do-builtin)

(defcustom efrit-do-end-functions nil
  "Abnormal hook called with a session when it has ended, whichever way."
  :type 'hook
  :group 'efrit-do)

;;; The circuit breaker: counters with limits

(defcustom efrit-do-max-calls 200
  "Number of tool calls that one session may make.
The next one is not run and ends the session.  Nil means no limit."
  :type '(choice natnum (const :tag "No limit" nil))
  :group 'efrit-do)

(defcustom efrit-do-max-requests 100
  "Number of requests that one session may send to the model.
The next one is not sent and ends the session.  Nil means no limit."
  :type '(choice natnum (const :tag "No limit" nil))
  :group 'efrit-do)

(defcustom efrit-do-max-identical-calls 3
  "Number of identical tool calls in a row that are run.
Identical means the same tool with the same input.  The next one is not run
and ends the session.  Nil means no limit."
  :type '(choice natnum (const :tag "No limit" nil))
  :group 'efrit-do)

(defcustom efrit-do-max-same-errors 3
  "Number of times in a row that the same error may come back.
The last of them ends the session; the model is not asked again.  Successes of
other tools in between do not count.  Nil means no limit."
  :type '(choice natnum (const :tag "No limit" nil))
  :group 'efrit-do)

(cl-defstruct (efrit-do-breaker (:constructor efrit-do-breaker-create) (:copier nil))
  "What the circuit breaker of a session has counted.
LAST-CALL came IDENTICAL times in a row, and LAST-ERROR, a cons (TOOL . TEXT),
ERRORS times."
  (requests 0) (calls 0) last-call (identical 0) last-error (errors 0))

(defun efrit-do--normal (value)
  "Return VALUE, JSON decoded to alists, with the keys of objects in order."
  (cond ((vectorp value) (mapcar #'efrit-do--normal value))
        ((consp value)
         (sort (mapcar (lambda (pair)
                         (cons (car pair) (efrit-do--normal (cdr pair))))
                       value)
               (lambda (a b) (string< (car a) (car b)))))
        (t value)))

(defun efrit-do-breaker-request (breaker)
  "Count a request in BREAKER; return the reason if it may not be sent."
  (if (and efrit-do-max-requests
           (>= (efrit-do-breaker-requests breaker) efrit-do-max-requests))
      (format "the agent sent %d requests, the limit of a session \
(`efrit-do-max-requests')" efrit-do-max-requests)
    (cl-incf (efrit-do-breaker-requests breaker))
    nil))

(defun efrit-do-breaker-call (breaker name input)
  "Count a call of NAME with INPUT in BREAKER; return why it may not run."
  (let* ((text (efrit-do-input-text input))
         (call (cons name (condition-case nil
                              (efrit-do--normal
                               (json-parse-string text :object-type 'alist))
                            (error text))))
         (identical (if (equal call (efrit-do-breaker-last-call breaker))
                        (1+ (efrit-do-breaker-identical breaker))
                      1)))
    (cond
     ((and efrit-do-max-calls
           (>= (efrit-do-breaker-calls breaker) efrit-do-max-calls))
      (format "the agent made %d tool calls, the limit of a session \
(`efrit-do-max-calls')" efrit-do-max-calls))
     ((and efrit-do-max-identical-calls
           (> identical efrit-do-max-identical-calls))
      (format "the agent called %s %d times in a row with the same input \
(`efrit-do-max-identical-calls')" name efrit-do-max-identical-calls))
     (t (cl-incf (efrit-do-breaker-calls breaker))
        (setf (efrit-do-breaker-last-call breaker) call
              (efrit-do-breaker-identical breaker) identical)
        nil))))

(defun efrit-do-breaker-outcome (breaker name outcome)
  "Tell BREAKER the OUTCOME of a call of NAME; return the reason to stop now."
  (let ((last (efrit-do-breaker-last-error breaker))
        ;; The same object prints another address each time.
        (text (replace-regexp-in-string "0x[[:xdigit:]]+" "0x"
                                        (plist-get outcome :content))))
    (cond
     ((plist-get outcome :is-error)
      (unless (equal last (cons name text))
        (setf (efrit-do-breaker-last-error breaker) (cons name text)
              (efrit-do-breaker-errors breaker) 0))
      (when (>= (cl-incf (efrit-do-breaker-errors breaker))
                (or efrit-do-max-same-errors most-positive-fixnum))
        (format "%s failed %d times in a row with the same error: %s \
(`efrit-do-max-same-errors')" name (efrit-do-breaker-errors breaker)
                (todo-write-row-line text 200))))
     ((equal name (car last))
      (setf (efrit-do-breaker-last-error breaker) nil)))))

;;; A session as data

(cl-defstruct (efrit-do-session (:constructor efrit-do-session--make) (:copier nil))
  "A command of the user and what an agent does for it."
  (id nil :documentation "A string, unique.")
  (command nil :documentation "What the user asked for.")
  (thread nil :documentation "Key of its list.")
  (directory nil :documentation "Where its tools run.")
  (origin nil :documentation "Buffer in which the command was given.")
  (backend nil :documentation "Symbol: `replay', `gptel', ….")
  (options nil :documentation "Plist for the backend.")
  (status 'running :documentation "One of the symbols `running', `done',
`stopped' (by the circuit breaker), `cancelled' and `failed'.")
  (reason nil :documentation "Why it ended so, if not done: a string.")
  (trace 1 :documentation "Number of times that it was started.")
  (results nil :documentation "Outcomes of the tool calls, newest first.")
  (text nil :documentation "What the model said in this turn, a string.")
  (earlier nil :documentation "What it said last before this turn.")
  (message nil :documentation "What `session_complete' said.")
  (allowed nil :documentation "Tools that need not ask again.")
  (breaker (efrit-do-breaker-create))
  (calls nil :documentation "Calls that the model waits for, each a list
\(NAME INPUT THEN OUTCOME).  The first is running if BUSY.  OUTCOME is set where
the session ended meanwhile.")
  (busy nil :documentation "Non-nil while a tool runs.")
  (state nil :documentation "The backend's own."))

(defvar efrit-do-sessions nil
  "The last 20 sessions of this Emacs, newest first.")

;;; Recording

(defun efrit-do-session-running-p (session)
  "Return non-nil if SESSION is under way."
  (eq (efrit-do-session-status session) 'running))

(defun efrit-do-session-trace-id (session)
  "Return the trace of SESSION, a new one each time it is started."
  (format "%s.%d" (efrit-do-session-id session) (efrit-do-session-trace session)))

(defun efrit-do-session-record (session type content &rest metadata)
  "Record CONTENT as an observation of TYPE in the thread of SESSION.
METADATA are keywords and values."
  (apply #'todo-write-observe (efrit-do-session-thread session) type content
         :trace-id (efrit-do-session-trace-id session)
         :sessionId (efrit-do-session-id session)
         metadata))

(defun efrit-do-session--stream (session type data &optional thinking)
  "Stream DATA as an event of TYPE of SESSION, of a thought if THINKING."
  (todo-write-stream (efrit-do-session-thread session)
                     :type type :data data :thinking thinking
                     :trace-id (efrit-do-session-trace-id session)
                     :session-id (efrit-do-session-id session)))

;;; Result

(defun efrit-do-session-answer (session)
  "Return the answer of SESSION to the user, without tools' output, or nil.
That is the completion message and, unless it says the same, the last text."
  (let ((message (efrit-do-session-message session))
        (text (or (efrit-do-session-text session)
                  (efrit-do-session-earlier session))))
    (cond ((and message text (not (string-search (string-trim message) text)))
           (concat (string-trim text) "\n\n" message))
          (t (or text message)))))

(defun efrit-do-session-outcome (session)
  "Return SESSION as a plist, the value of `efrit-do-run'."
  (let ((reason (efrit-do-session-reason session))
        (answer (efrit-do-session-answer session))
        (results (reverse (efrit-do-session-results session))))
    (list
     :status (efrit-do-session-status session)
     :result (string-join
              `(,@(delq nil (list (efrit-do-session-notice session)
                                  (and reason (format "The session ended: %s." reason))
                                  answer))
                ,@(mapcar (lambda (result)
                            (format "[%s%s] %s" (plist-get result :name)
                                    (if (plist-get result :is-error) ", failed" "")
                                    (plist-get result :content)))
                          results)
                ,@(unless (or reason answer results)
                    '("The agent said nothing and ran no tool.")))
              "\n\n")
     :tool-results results
     :message (efrit-do-session-message session)
     :reason reason
     :thread (efrit-do-session-thread session))))

;;; Backends

(cl-defgeneric efrit-do-backend-start (backend session)
  "Let BACKEND begin to work on SESSION.
Signals `todo-write-error' if it cannot."
  (ignore session)
  (signal 'todo-write-error (list (format "There is no backend `%s'" backend))))

(cl-defgeneric efrit-do-backend-continue (backend session)
  "Let BACKEND go on with SESSION where it was interrupted.
This is not called if a tool call waits for its answer, since BACKEND goes on
when it gets that.")

(cl-defgeneric efrit-do-backend-abort (backend session)
  "Stop all that BACKEND does for SESSION, at once: it has ended."
  (ignore backend session))

(cl-defgeneric efrit-do-backend-title (backend session)
  "Return a title for SESSION if BACKEND knows one."
  (ignore backend session)
  nil)

(cl-defgeneric efrit-do-backend-notice (backend session)
  "Return a line that the user must read before the words of SESSION, or nil.
BACKEND has one if what it says is no answer to the command."
  (ignore backend session)
  nil)

(defun efrit-do-session-notice (session)
  "Return what the user must know about the agent of SESSION, or nil."
  (efrit-do-backend-notice (efrit-do-session-backend session) session))

;;; What a backend reports

(defun efrit-do-session-request (session)
  "Return non-nil if SESSION may send a request now, and count it.
If not, SESSION has ended: it said that it is complete, or the circuit breaker
tripped, or the user stopped it."
  (let ((breaker (efrit-do-session-breaker session)) trip)
    (cond
     ((not (efrit-do-session-running-p session)) nil)
     ((efrit-do-session-message session)
      (efrit-do-session--end session 'done nil))
     ((setq trip (efrit-do-breaker-request breaker))
      (efrit-do-session--end session 'stopped trip))
     (t
      (when (efrit-do-session-text session)
        (setf (efrit-do-session-earlier session) (efrit-do-session-text session)
              (efrit-do-session-text session) nil))
      (efrit-do-session-record
       session "LLM_STREAM_START"
       (list :request (efrit-do-breaker-requests breaker)
             :backend (symbol-name (efrit-do-session-backend session))))
      t))))

(defun efrit-do-session-token (session text &optional thinking)
  "Stream TEXT, which the model of SESSION thought (THINKING non-nil) or said."
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
     (list :request (efrit-do-breaker-requests (efrit-do-session-breaker session))))))

(defun efrit-do-session-call (session name input then)
  "Run the tool NAME with INPUT in SESSION, after those already waiting.
THEN is called with the outcome, a plist `:content' `:is-error', unless SESSION
ends before."
  (when (efrit-do-session-running-p session)
    (setf (efrit-do-session-calls session)
          (append (efrit-do-session-calls session) (list (list name input then nil))))
    (efrit-do-session--schedule session)))

(defun efrit-do-session-finish (session)
  "End SESSION: its model has nothing left to do."
  (efrit-do-session--end session 'done nil))

(defun efrit-do-session-refused (session name input text)
  "Count a call of NAME with INPUT that the backend answered by the error TEXT.
It counts as a call that ran in SESSION."
  (when (efrit-do-session-running-p session)
    (let* ((breaker (efrit-do-session-breaker session))
           (outcome (list :content (format "%s" text) :is-error t))
           (trip (efrit-do-breaker-call breaker name input)))
      (unless trip
        (push `(:id nil :name ,name :input ,input ,@outcome)
              (efrit-do-session-results session))
        (setq trip (efrit-do-breaker-outcome breaker name outcome)))
      (when trip
        (efrit-do-session--end session 'stopped trip)))))

(defun efrit-do-session-retry (session cause seconds)
  "Record that a request of SESSION failed by CAUSE; SECONDS until the next try."
  (efrit-do-session--stream session "ERROR" cause)
  (efrit-do-session-record session "LLM_STREAM_ERROR" cause :retryAfter seconds)
  ;; The model will say again what it said in the incomplete answer.
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

(defun efrit-do-session--run (session name input)
  "Run the tool NAME with INPUT for SESSION and record both ends of it."
  (let* ((id (format "c%d" (efrit-do-breaker-calls (efrit-do-session-breaker session))))
         (efrit-do-thread (efrit-do-session-thread session))
         (efrit-do-origin (efrit-do-session-origin session))
         (efrit-do-allowed-tools (efrit-do-session-allowed session))
         (default-directory (efrit-do-session-directory session))
         (start (float-time)))
    (efrit-do-session-record
     session "TOOL_CALL"
     (list :id id :name name
           ;; A long list is in the journal already, as what changed in it.
           :input (let ((efrit-do-output-limit 2000))
                    (efrit-do-clip (efrit-do-input-text input)))))
    (unwind-protect
        (efrit-do-call-tool
         name input
         (lambda (outcome)
           (efrit-do-session--ran session id name input outcome (- (float-time) start))))
      (setf (efrit-do-session-allowed session) efrit-do-allowed-tools))))

(defun efrit-do-session--ran (session id name input outcome seconds)
  "Record the OUTCOME of call ID of SESSION and answer the call.
Its tool NAME ran with INPUT for SECONDS."
  (let ((content (plist-get outcome :content))
        (failed (plist-get outcome :is-error)))
    (setf (efrit-do-session-busy session) nil)
    (push (list :id id :name name :input input :content content :is-error failed)
          (efrit-do-session-results session))
    (efrit-do-session-record
     session "TOOL_EXECUTION"
     (list :id id :name name :content content :isError (if failed t :false))
     :durationMs (round (* 1000 seconds)))
    (if (efrit-do-session-running-p session)
        (efrit-do-session--answer session name outcome)
      (setf (nth 3 (car (efrit-do-session-calls session))) outcome))))

(defun efrit-do-session--answer (session name outcome)
  "Answer the first call of SESSION, which ran NAME, with OUTCOME."
  (when (plist-get outcome :complete)
    (setf (efrit-do-session-message session) (plist-get outcome :complete)))
  (if-let* ((trip (efrit-do-breaker-outcome
                   (efrit-do-session-breaker session) name outcome)))
      (progn
        (setf (nth 3 (car (efrit-do-session-calls session))) outcome)
        (efrit-do-session--end session 'stopped trip))
    (let ((then (nth 2 (pop (efrit-do-session-calls session)))))
      (efrit-do-session--schedule session)
      (funcall then outcome))))

;;; Beginning and end

(defun efrit-do-session-begin (command backend options)
  "Begin a session for COMMAND with BACKEND and return it.
OPTIONS is a plist: `:thread' and `:directory' name the list and the place to
work in, the others are the backend's."
  (when (string-blank-p command)
    (signal 'todo-write-input-error '("The command is empty")))
  (let* ((directory (file-name-as-directory
                     (expand-file-name (or (plist-get options :directory)
                                           (efrit-do-project-root)))))
         (id (format "%s-%04x" (format-time-string "%Y%m%dT%H%M%S") (random #x10000)))
         (session (efrit-do-session--make
                   :id id :command (substring-no-properties command)
                   :directory directory :origin (current-buffer)
                   :thread (or (plist-get options :thread)
                               (format "%s#%s" directory id))
                   :backend backend :options options)))
    (setq efrit-do-sessions (seq-take (cons session efrit-do-sessions) 20))
    (add-hook 'kill-emacs-hook #'efrit-do--cancel-all)
    session))

(defun efrit-do-session-start (session)
  "Let the backend of SESSION begin, and return SESSION.
An error or quit of the backend ends the session and is signaled again."
  (let ((backend (efrit-do-session-backend session))
        (command (efrit-do-session-command session)))
    (condition-case problem
        (let ((title (or (efrit-do-backend-title backend session)
                         (todo-write-row-line command 70))))
          (todo-write-set-activity (efrit-do-session-thread session) 'working)
          (efrit-do-session-record session "INTENT" command)
          (efrit-do-session-record session "TITLE" title)
          (efrit-do-backend-start backend session))
      ((error quit)
       (efrit-do-session--end session 'failed (efrit-do-error-text problem))
       (signal (car problem) (cdr problem))))
    session))

(defun efrit-do-session--end (session status reason)
  "End SESSION with STATUS for REASON; return nil.
Its backend is aborted: nothing runs and nothing is sent after this.  A list
with open tasks is paused."
  (when (efrit-do-session-running-p session)
    (setf (efrit-do-session-status session) status
          (efrit-do-session-reason session) reason)
    ;; Each step must run even if another fails.
    (with-demoted-errors "Ending a session: %S"
      (todo-write-end-turn (efrit-do-session-thread session)
                           (or reason "the agent ended its turn")
                           (eq status 'failed)))
    (with-demoted-errors "Ending a session: %S"
      (efrit-do-backend-abort (efrit-do-session-backend session) session))
    (with-demoted-errors "Ending a session: %S"
      (efrit-do-session--record-end session status reason))
    (with-demoted-errors "Ending a session: %S"
      (run-hook-with-args 'efrit-do-end-functions session))
    nil))

(defun efrit-do-session--record-end (session status reason)
  "Record that SESSION ended with STATUS for REASON.
The outputs of its tools are recorded already."
  (let ((failed (eq status 'failed))
        (text (efrit-do-session-text session)))
    (efrit-do-session--stream session (if failed "ERROR" "END") reason)
    (when failed
      (efrit-do-session-record session "LLM_STREAM_ERROR" reason))
    (when (memq status '(failed stopped))
      (efrit-do-session-record session "ERROR" reason))
    (if (not (eq status 'done))
        (efrit-do-session-record session "AGENT_SUSPENDED" reason
                                 :status (symbol-name status))
      (when text
        (efrit-do-session-record session "SYNTHESIS" text))
      (efrit-do-session-record session "FINAL_RESPONSE"
                               (or (efrit-do-session-answer session)
                                   "The agent gave no answer.")))))

(defun efrit-do--cancel-all ()
  "Stop every session, because Emacs ends."
  (dolist (session efrit-do-sessions)
    (when (efrit-do-session-running-p session)
      (efrit-do-session--end session 'cancelled "Emacs was closed"))))

(provide 'efrit-do-session)
;;; efrit-do-session.el ends here
