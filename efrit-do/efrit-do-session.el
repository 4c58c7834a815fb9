;;; efrit-do-session.el --- Sessions of efrit-do -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A session is one command of the user and the agent's work on it.  This file
;; starts sessions, runs their tools one after the other, records everything in
;; their threads, and ends them.
;;
;; A backend, `replay' or `gptel', has methods for `efrit-do-session-backend-start' and
;; `-abort'.  It runs no tools, but reports what the model does:
;;
;;   (efrit-do-session-request SESSION)        before each request; nil: do not send it
;;   (efrit-do-session-token SESSION TEXT THINKING)
;;   (efrit-do-session-answered SESSION)       the model's turn has ended
;;   (efrit-do-session-call SESSION NAME INPUT THEN)
;;   (efrit-do-session-end SESSION 'done)      or 'failed, with the reason

;;; Code:

(require 'efrit-do-tools)

(defvar efrit-do-end-functions nil
  "Abnormal hook called with a session after it has ended in any way.")

;;; Sessions

(cl-defstruct (efrit-do-session (:include efrit-do-context)
                                (:constructor efrit-do-session--make) (:copier nil))
  "A command of the user and the agent's work on it."
  (id nil :documentation "A string, unique.")
  (command nil :documentation "The user's command.")
  (title nil :documentation "What its plan is called.")
  (backend nil :documentation "`replay' or `gptel'.")
  (options nil :documentation "Plist for the backend.")
  (notice nil :documentation "A line to show before its text, or nil.")
  (status 'running :documentation "One of the symbols `running', `done',
`stopped' (by the circuit breaker), `cancelled' and `failed'.")
  (reason nil :documentation "Why it ended unless it is done, a string.")
  (trace 1 :documentation "Number of times that it was started or continued.")
  (results nil :documentation "Outcomes of the tool calls, newest first.")
  (text nil :documentation "Text of the model in this turn.")
  (said nil :documentation "The id of the last text that was recorded, and this.")
  (message nil :documentation "Message of `session_complete'.")
  (requests 0 :documentation "Number of requests.")
  (called 0 :documentation "Number of calls since it was started or continued.")
  (same nil :documentation "A cons of the last call and how often it came in a row.")
  (failed nil :documentation "A cons of the last error and how often it came in a row.")
  (calls nil :documentation "Queue of unanswered calls, each a list
\(NAME INPUT THEN OUTCOME).  The first is running if BUSY.  OUTCOME is set if
the session ended before the call was answered.")
  (busy nil :documentation "Non-nil while a tool runs.")
  (state nil :documentation "State of the backend."))

(defvar efrit-do-sessions nil
  "The last 20 sessions of this Emacs, newest first.")

;;; Recording

(defun efrit-do-session-running-p (session)
  "Return non-nil if SESSION is running."
  (eq (efrit-do-session-status session) 'running))

(defun efrit-do-session-resumable-p (session)
  "Return non-nil if SESSION can be continued."
  (memq (efrit-do-session-status session) '(cancelled stopped failed)))

(defun efrit-do-session--hears-p (thread)
  "Return non-nil if the agent of THREAD may still call `todo_write'."
  (seq-some (lambda (session)
              (and (equal thread (efrit-do-session-thread session))
                   (not (eq 'done (efrit-do-session-status session)))))
            efrit-do-sessions))

(add-hook 'todo-write-tell-result-functions #'efrit-do-session--hears-p)

(defun efrit-do-session--trace-id (session)
  "Return the trace id of SESSION, which is new after each start."
  (format "%s.%d" (efrit-do-session-id session) (efrit-do-session-trace session)))

(defun efrit-do-session-record (session type content &rest metadata)
  "Record CONTENT as an observation of TYPE in the thread of SESSION.
METADATA are keywords and values."
  (apply #'todo-write-observe (efrit-do-session-thread session) type
         (if (stringp content) (todo-write-core-plain content) content)
         :trace-id (efrit-do-session--trace-id session)
         :sessionId (efrit-do-session-id session)
         metadata))

(defun efrit-do-session--stream (session type data &optional thinking)
  "Stream DATA as an event of TYPE of SESSION, of a thought if THINKING."
  (todo-write-stream (efrit-do-session-thread session)
                     :type type :data data :thinking thinking
                     :call-context (pcase (todo-write-state (efrit-do-session-thread session))
                                     ('empty "PLANNING_THOUGHTS")
                                     ('done "SYNTHESIS_THOUGHTS")
                                     (_ "EXECUTION_THOUGHTS"))
                     :trace-id (efrit-do-session--trace-id session)
                     :session-id (efrit-do-session-id session)))

;;; Result

(defun efrit-do-session-answer (session)
  "Return the answer of SESSION without the output of tools, or nil.
The answer is the last text, with the completion message unless the text
contains it."
  (let ((message (efrit-do-session-message session))
        (text (cdr (efrit-do-session-said session))))
    (if (and message text (not (string-search (string-trim message) text)))
        (concat (string-trim text) "\n\n" message)
      (or text message))))

(defun efrit-do-session-outcome (session)
  "Return SESSION as a plist, the value of `efrit-do-run'."
  (let ((reason (efrit-do-session-reason session))
        (answer (efrit-do-session-answer session))
        (results (reverse (efrit-do-session-results session))))
    (list
     :status (efrit-do-session-status session)
     :result (string-join
              (delq nil
                    `(,(efrit-do-session-notice session)
                      ,(and reason (format "The session ended: %s." reason))
                      ,answer
                      ,@(mapcar (lambda (result)
                                  (format "[%s%s] %s" (plist-get result :name)
                                          (if (plist-get result :is-error) ", failed" "")
                                          (plist-get result :content)))
                                results)
                      ,(unless (or reason answer results)
                         "The agent said nothing and ran no tool.")))
              "\n\n")
     :tool-results results
     :message (efrit-do-session-message session)
     :reason reason
     :thread (efrit-do-session-thread session))))

;;; Backends

(defcustom efrit-do-backend 'auto
  "The backend that runs the agent.
`gptel' uses gptel's model, and `replay' plays a demonstration.  `auto' means
`gptel' if gptel is loaded and has a backend and a model, otherwise `replay'."
  :type '(choice (const :tag "A model if gptel is set up, else the demonstration" auto)
                 (const :tag "The demonstration" replay)
                 (const :tag "A model, by gptel" gptel))
  :group 'efrit-do
  :package-version '(efrit-do . "0.2.0"))

(defvar gptel-backend)
(defvar gptel-model)

(defun efrit-do-session-choose-backend (&optional choice)
  "Return the backend that CHOICE, by default `efrit-do-backend', stands for."
  (pcase (or choice efrit-do-backend)
    ('auto (if (and (featurep 'gptel) gptel-backend gptel-model) 'gptel 'replay))
    (backend backend)))

(cl-defgeneric efrit-do-session-backend-prepare (_backend _session)
  "Set the title, the directory and the notice of SESSION, if BACKEND knows better."
  nil)

(cl-defgeneric efrit-do-session-backend-start (backend session)
  "Start SESSION with BACKEND, or go on with it after an interruption.
An unanswered tool call is answered instead, which lets BACKEND go on.")

(cl-defgeneric efrit-do-session-backend-abort (backend session)
  "Stop all work of BACKEND for SESSION, which has ended.")

;;; The circuit breaker

(defcustom efrit-do-limits
  '(:calls 200 :identical-calls 3 :same-errors 3)
  "Limits at which a session ends; one that is nil or missing does not apply.
`:calls' is the maximum number of tool calls.  `:identical-calls' is the
maximum number of calls in a row that have the same tool and the same
input, and `:same-errors' the number of identical errors in a row;
successful calls of other tools in between do not count.  After a limit
no call is run and no request is sent."
  :type '(plist :options ((:calls natnum) (:identical-calls natnum) (:same-errors natnum)))
  :group 'efrit-do
  :package-version '(efrit-do . "0.4.0"))

(defun efrit-do-session--again (key last)
  "Return a cons of KEY and how often it came in a row; LAST is the one before."
  (cons key (if (equal key (car last)) (1+ (cdr last)) 1)))

(defun efrit-do-session--call-limit (session name input)
  "Return the reason if SESSION must not call NAME with INPUT, or nil."
  (pcase-let (((map :calls :identical-calls) efrit-do-limits)
              (same (efrit-do-session--again (list name input) (efrit-do-session-same session))))
    (setf (efrit-do-session-same session) same)
    (cond
     ((and calls (>= (efrit-do-session-called session) calls))
      (format "the agent made %s, the limit of a session (`efrit-do-limits')"
              (todo-write-text-count calls "tool call")))
     ((and identical-calls (> (cdr same) identical-calls))
      (format "the agent called %s %d times in a row with the same input (`efrit-do-limits')"
              name identical-calls)))))

(defun efrit-do-session--count (session result)
  "Add RESULT to those of SESSION; return the reason if it must end now, or nil."
  (push result (efrit-do-session-results session))
  (cl-incf (efrit-do-session-called session))
  (pcase-let* (((map :name :content :is-error) result)
               (last (efrit-do-session-failed session))
               (again (and is-error (efrit-do-session--again (list name content) last)))
               (limit (plist-get efrit-do-limits :same-errors)))
    ;; Successes of other tools do not count.
    (when (or again (equal name (caar last)))
      (setf (efrit-do-session-failed session) again))
    (when (and again limit (>= (cdr again) limit))
      (format "%s failed %d times in a row with the same error: %s (`efrit-do-limits')"
              name (cdr again) (todo-write-text-line content 200)))))

;;; Reports of backends

(defun efrit-do-session-request (session)
  "Count a request of SESSION, and return non-nil if it may be sent.
Otherwise SESSION has ended: the model completed it, the circuit breaker
tripped, or the user stopped it."
  (cond
   ((not (efrit-do-session-running-p session)) nil)
   ((efrit-do-session-message session)
    (efrit-do-session-end session 'done))
   (t
    (cl-incf (efrit-do-session-requests session))
    (setf (efrit-do-session-text session) nil)
    (efrit-do-session-record
     session "LLM_STREAM_START"
     (list :request (efrit-do-session-requests session)
           :backend (symbol-name (efrit-do-session-backend session))))
    t)))

(defun efrit-do-session-token (session text &optional thinking)
  "Stream TEXT of the model of SESSION; non-nil THINKING means a thought."
  (when (and (efrit-do-session-running-p session)
             (not (string-empty-p text)))
    (unless thinking
      (setf (efrit-do-session-text session)
            (concat (efrit-do-session-text session) text)))
    (efrit-do-session--stream session "TOKEN" text thinking)))

(defun efrit-do-session--say (session)
  "Record the text of the model of SESSION in this turn, unless that is done."
  (let ((text (efrit-do-session-text session)))
    (unless (or (string-blank-p (or text "")) (eq text (cdr (efrit-do-session-said session))))
      (setf (efrit-do-session-said session)
            (cons (plist-get (efrit-do-session-record session "MESSAGE" text) :id) text)))))

(defun efrit-do-session-answered (session)
  "Record the end of the model's turn in SESSION."
  (when (efrit-do-session-running-p session)
    (efrit-do-session--stream session "END" nil)
    (efrit-do-session--say session)
    (efrit-do-session-record
     session "LLM_STREAM_END"
     (list :request (efrit-do-session-requests session)))))

(defun efrit-do-session-call (session name input then)
  "Queue a call of the tool NAME with INPUT in SESSION.
THEN is called with the outcome, a plist of `:content' and `:is-error', unless
SESSION ends first."
  (when (efrit-do-session-running-p session)
    (setf (efrit-do-session-calls session)
          (append (efrit-do-session-calls session) (list (list name input then nil))))
    ;; A backend may report calls from a process filter, where tools must not run.
    (run-at-time 0 nil #'efrit-do-session--run-next session)))

(defun efrit-do-session-refused (session name input text)
  "Count a call of NAME with INPUT in SESSION that its backend refused with TEXT.
It counts like a call that ran."
  (when-let* ((trip (or (efrit-do-session--call-limit session name input)
                        (efrit-do-session--count
                         session (list :id nil :name name :input input
                                       :content (format "%s" text) :is-error t)))))
    (efrit-do-session-end session 'stopped trip)))

(defun efrit-do-session-retry (session cause seconds)
  "Record that a request of SESSION failed by CAUSE and is retried in SECONDS."
  (efrit-do-session--stream session "ERROR" cause)
  (efrit-do-session-record session "LLM_STREAM_ERROR" cause :retryAfter seconds)
  ;; The model will repeat the text of the incomplete answer.
  (setf (efrit-do-session-text session) nil))

;;; The queue of tool calls

(defun efrit-do-session--run-next (session)
  "Run the first call in the queue of SESSION, unless one is running."
  (when-let* (((efrit-do-session-running-p session))
              ((not (efrit-do-session-busy session)))
              (call (car (efrit-do-session-calls session))))
    (pcase-let ((`(,name ,input . ,_) call))
      (if-let* ((trip (efrit-do-session--call-limit session name input)))
          (efrit-do-session-end session 'stopped trip)
        (setf (efrit-do-session-busy session) t)
        (condition-case problem
            (let ((id (format "c%d" (1+ (length (efrit-do-session-results session)))))
                  (efrit-do-context session)
                  (default-directory (efrit-do-session-directory session))
                  (text (cond ((null input) "{}")
                              ((ignore-errors (todo-write-to-json input)))
                              (t (prin1-to-string input))))
                  (start (float-time)))
              (efrit-do-session-record
               session "TOOL_CALL"
               ;; The changes of a long list are in the journal already.
               (list :id id :name name :input (todo-write-calls-clip text 2000))
               :call-id (concat (efrit-do-session--trace-id session) id))
              (todo-write-calls-watch (efrit-do-session-thread session) id input)
              (efrit-do-call-tool
               name input
               (lambda (outcome) (efrit-do-session--ran session call id outcome start))))
          (error
           (efrit-do-session-end session 'failed (todo-write-core-error-text problem))))))))

(defun efrit-do-session--ran (session call id outcome start)
  "Record OUTCOME of CALL, the first in the queue of SESSION, and answer it.
It is called ID in the records, and began at START.  It has left the queue if
SESSION was continued meanwhile."
  (when (eq call (car (efrit-do-session-calls session)))
    (pcase-let* ((`(,name ,input ,then . ,_) call)
                 ((map :content :is-error :refused :buffer :exit-code :complete :quit) outcome))
      (setf (efrit-do-session-busy session) nil
            (nth 3 call) outcome)
      (efrit-do-session-record
       session "TOOL_EXECUTION"
       `( :id ,id :name ,name :content ,content :isError ,(if is-error t :false)
          ,@(and buffer (list :buffer (todo-write-core-plain buffer))))
       :durationMs (round (* 1000 (- (float-time) start)))
       :call-id (concat (efrit-do-session--trace-id session) id)
       :outcome (cond ((not is-error) 'ok) (refused 'refused) (t 'failed))
       :files (todo-write-calls-changes (efrit-do-session-thread session) id)
       :exit-code exit-code)
      (let ((trip (efrit-do-session--count session (list :id id :name name :input input
                                                         :content content :is-error is-error))))
        (cond ((or quit (not (efrit-do-session-running-p session)))
               (efrit-do-session-cancel session))
              (trip (efrit-do-session-end session 'stopped trip))
              (t
               (when complete
                 (setf (efrit-do-session-message session) complete))
               (pop (efrit-do-session-calls session))
               (run-at-time 0 nil #'efrit-do-session--run-next session)
               (funcall then outcome)))))))

;;; Beginning and end

(defun efrit-do-session-begin (command options)
  "Make a session for COMMAND and return it.
OPTIONS is a plist, see `efrit-do-run'; some are for the backend."
  (when (string-blank-p command)
    (signal 'todo-write-input-error '("The command is empty")))
  (let* ((directory (file-name-as-directory
                     (expand-file-name (or (plist-get options :directory)
                                           (todo-write-core-project-root)))))
         (id (format "%s-%04x" (format-time-string "%Y%m%dT%H%M%S") (random #x10000)))
         (backend (efrit-do-session-choose-backend (plist-get options :backend)))
         (session (efrit-do-session--make
                   :id id :command (substring-no-properties command)
                   :directory directory :origin (current-buffer)
                   :thread (or (plist-get options :thread)
                               (format "%s#%s" (todo-write-core-plain directory) id))
                   :title (todo-write-text-line command 70)
                   :unattended (plist-get options :unattended)
                   :backend backend :options options)))
    (unless (memq backend '(replay gptel))
      (signal 'todo-write-error (list (format "There is no backend `%s'" backend))))
    (require (intern (format "efrit-do-%s" backend)))
    (setq efrit-do-sessions (seq-take (cons session efrit-do-sessions) 20))
    session))

(defun efrit-do-session-start (session)
  "Start SESSION, or continue it if it has ended, and return it.
An error or quit of the backend ends SESSION and is signaled again."
  (let ((thread (efrit-do-session-thread session))
        (backend (efrit-do-session-backend session)))
    (condition-case problem
        (if (not (efrit-do-session-running-p session))
            (efrit-do-session--go-on session)
          (efrit-do-session-backend-prepare backend session)
          (todo-write-begin thread :project (efrit-do-session-directory session)
                            :agent "efrit-do")
          (todo-write-set-activity thread 'working)
          (efrit-do-session-record session "INTENT" (efrit-do-session-command session))
          (efrit-do-session-record session "TITLE" (efrit-do-session-title session))
          (when-let* ((notice (efrit-do-session-notice session)))
            (efrit-do-session-record session "STATE_UPDATE" (list :text notice)))
          (efrit-do-session-backend-start backend session))
      ((error quit)
       (efrit-do-session-end session 'failed (todo-write-core-error-text problem))
       (signal (car problem) (cdr problem)))))
  session)

(defun efrit-do-session--go-on (session)
  "Continue SESSION, which has ended, with no call counted by the circuit breaker."
  (let ((reason (efrit-do-session-reason session))
        (calls (efrit-do-session-calls session)))
    (setf (efrit-do-session-status session) 'running
          (efrit-do-session-reason session) nil
          (efrit-do-session-calls session) nil
          (efrit-do-session-busy session) nil
          (efrit-do-session-called session) 0
          (efrit-do-session-same session) nil
          (efrit-do-session-failed session) nil)
    (cl-incf (efrit-do-session-trace session))
    (todo-write-set-activity (efrit-do-session-thread session) 'working)
    (efrit-do-session-record session "AGENT_RESUMED" reason)
    (if (null calls)
        (efrit-do-session-backend-start (efrit-do-session-backend session) session)
      ;; The model needs a result for each of its calls.
      (pcase-dolist (`(,_ ,_ ,then ,outcome) calls)
        (funcall then (or outcome
                          (list :content (format "Not run: %s.  The user has continued \
the session." reason)
                                :is-error t)))))))

(defun efrit-do-session-end (session status &optional reason)
  "End SESSION with STATUS for REASON, unless it has ended; return nil.
Abort its backend, so that no tool runs and nothing is sent after this, and
pause a list with open tasks."
  (when (efrit-do-session-running-p session)
    (setf (efrit-do-session-status session) status
          (efrit-do-session-reason session) reason)
    (todo-write-calls-drop (efrit-do-session-thread session))
    ;; The records must be made even if this fails.
    (with-demoted-errors "Ending a session: %S"
      (efrit-do-session-backend-abort (efrit-do-session-backend session) session))
    (with-demoted-errors "Ending a session: %S"
      (todo-write-end-turn (efrit-do-session-thread session)
                           (or reason "the agent ended its turn")
                           (eq status 'failed)
                           ;; It takes no message any more.
                           (and (eq status 'done) 'session-ended)))
    (with-demoted-errors "Ending a session: %S"
      (let ((failed (eq status 'failed))
            (text (efrit-do-session-text session)))
        (efrit-do-session--stream session (if failed "ERROR" "END") reason)
        (efrit-do-session--say session)
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
    (todo-write-events-run-functions 'efrit-do-end-functions session)
    nil))

(defun efrit-do-session-cancel (session)
  "End SESSION for the user, unless it has ended."
  (efrit-do-session-end session 'cancelled "cancelled by the user"))

(provide 'efrit-do-session)
;;; efrit-do-session.el ends here
