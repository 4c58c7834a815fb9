;;; todo-write-events.el --- Observations and streams of agents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What happens in a thread, as events: observations, which are recorded,
;; and stream events, which are only passed on.  Subscribe to either with
;; `todo-write-subscribe'; look back with `todo-write-observations'.

;;; Code:

(require 'todo-write-core)
(require 'cl-lib)

(declare-function todo-write-dyn--loaded "ext:todo-write-dyn")
(declare-function todo-write-dyn--observations "ext:todo-write-dyn")
(declare-function todo-write-dyn--observe "ext:todo-write-dyn")
(declare-function todo-write-dyn--stream "ext:todo-write-dyn")
(declare-function todo-write-dyn--stream-next "ext:todo-write-dyn")
(declare-function todo-write-dyn--skip-observations "ext:todo-write-dyn")
(declare-function todo-write-dyn--take-observations "ext:todo-write-dyn")
(declare-function todo-write-dyn--token-context "ext:todo-write-dyn")

(defvar todo-write-observe-functions nil
  "Abnormal hook, run after something was recorded of a thread.
Each function is called with THREAD and TYPE, a string; see
`todo-write-observe'.  It costs less than a subscription, since no
observation is made for it.  Writes and edits have hooks of their own;
they do not run this one.")

;;; Telling

;; Agents call from timers and process filters, where Emacs inhibits quitting;
;; so it is done here wherever the call comes from, or C-g would leave half of
;; those concerned without news of what is saved.

;; What goes on below is in variables, since what an unwind form or a function
;; captures is made anew each time, and there are many writes and tokens.

(defvar todo-write--caller nil
  "The function that `todo-write--call-each' calls.")

(defvar todo-write--uncalled nil
  "What it is yet to be called with; the first is what it is called with now.")

(defvar todo-write--when-left nil
  "The function to call with what a throw left, or nil.")

(defun todo-write--call-each (function list &optional when-left)
  "Call FUNCTION with each element of LIST.
Where it is left by a throw, that goes on after the last call, and
WHEN-LEFT is called with the element."
  (let ((todo-write--caller function)
        (todo-write--uncalled list)
        (todo-write--when-left when-left))
    (todo-write--call-rest)))

(defun todo-write--call-rest ()
  "Make the calls that `todo-write--call-each' is yet to make."
  (unwind-protect
      (while todo-write--uncalled
        (funcall todo-write--caller (car todo-write--uncalled))
        (pop todo-write--uncalled))
    (when todo-write--uncalled
      (let ((left (pop todo-write--uncalled)))
        (when todo-write--when-left
          (funcall todo-write--when-left left)))
      (todo-write--call-rest))))

(defvar todo-write--hook nil
  "The hook that is being run.")

(defvar todo-write--hook-thread nil
  "The first argument of its functions.")

(defvar todo-write--hook-news nil
  "The second argument of its functions, or nil for none.")

(defun todo-write--run-hook (hook thread &optional news)
  "Call the functions on HOOK with THREAD and NEWS, each whatever the others do.
NEWS is nil for functions that have one argument only."
  (let ((todo-write--hook hook)
        (todo-write--hook-thread thread)
        (todo-write--hook-news news))
    (todo-write--call-each #'todo-write--call-hooked (todo-write--hooked hook))))

(defun todo-write--hooked (hook)
  "Return the functions on HOOK, a list."
  (let ((value (symbol-value hook)))
    ;; What puts functions on a hook, or takes them off, leaves the list as it is.
    (if (not (or (functionp value) (memq t value)))
        value
      (let (functions)
        (run-hook-wrapped hook (lambda (function) (push function functions) nil))
        (nreverse functions)))))

(defun todo-write--call-hooked (function)
  "Call FUNCTION, which is on the hook that is being run; say so if it fails."
  (condition-case-unless-debug err
      (if todo-write--hook-news
          (funcall function todo-write--hook-thread todo-write--hook-news)
        (funcall function todo-write--hook-thread))
    (quit (setq quit-flag t))
    (error
     (display-warning
      'todo-write
      (format-message "`%s' on `%s' failed: %s"
                      function todo-write--hook (error-message-string err))))))

;;; Observations

(cl-defstruct (todo-write--subscriber (:constructor todo-write--make-subscriber))
  "One who hears events.
KIND is `observation', `stream' or nil for both; FILTER an alist of event
keys and the strings they must have; FAILURES how often FUNCTION signalled
in a row."
  function kind filter (failures 0))

(defvar todo-write--subscribers nil
  "List of `todo-write--subscriber' structures.")

(defconst todo-write--most-failures 3
  "A subscriber that fails so many times in a row is removed.")

(defun todo-write-subscribe (function &rest filter)
  "Call FUNCTION with each event that FILTER lets through; return a handle.
An event is an observation or a stream event, a plist; see
`todo-write-observe' and `todo-write-stream'.  FILTER is a plist; what
it does not name lets everything through:
  :kind        `observation' or `stream'
  :thread      key of a thread
  :type        such as \"PLAN_UPDATE\" or \"TOKEN\"
  :phase       `planning', `execution' or `synthesis'
  :token-type  such as \"EXECUTION_LLM_THINKING\"
  :step        id of an item
Values are strings or symbols.  A FUNCTION that signals, or is left by a
throw, is reported; it is removed after three failures in a row, and
never stops the others.  Quitting is inhibited while it runs, as in
timers; see `with-local-quit'.
Signal `todo-write-input-error' if FUNCTION is none, and for an unknown
key."
  (unless (functionp function)
    (todo-write--wrong "subscriber" function "a function"))
  (let ((subscriber (todo-write--make-subscriber
                     :function function :kind (plist-get filter :kind)
                     :filter (todo-write--compile-filter filter))))
    ;; What was recorded while nobody listened is history.
    (when (and todo-write--configured (not todo-write--subscribers))
      (mapc #'todo-write-dyn--skip-observations (todo-write-dyn--loaded)))
    (setq todo-write--subscribers
          (append todo-write--subscribers (list subscriber)))
    subscriber))

(defun todo-write-unsubscribe (handle)
  "End the subscription HANDLE, which `todo-write-subscribe' returned."
  (setq todo-write--subscribers (remq handle todo-write--subscribers)))

(defun todo-write--compile-filter (filter)
  "Return FILTER, a plist, as an alist of keys and strings, without :kind."
  (cl-loop for (key value) on filter by #'cddr
           unless (memq key '(:kind :thread :type :phase :token-type :step))
           do (todo-write--wrong "filter" key "a key that is known")
           unless (or (stringp value) (symbolp value))
           do (todo-write--wrong "filter" value "a string or a symbol")
           when (and value (not (eq key :kind)))
           collect (cons key (format "%s" value))))

(defun todo-write--event-value (event key)
  "Return what EVENT has for the filter KEY."
  (let ((metadata (plist-get event :metadata)))
    (pcase key
      (:thread (plist-get event :threadId))
      (:type (plist-get event :type))
      (:phase (or (plist-get event :phase) (plist-get metadata :phase)))
      (:token-type (or (plist-get event :tokenType)
                       (plist-get metadata :tokenType)))
      (:step (or (plist-get event :stepId) (plist-get event :parentId))))))

(defun todo-write--admits-p (subscriber kind event)
  "Return non-nil if SUBSCRIBER wants EVENT, which is of KIND."
  (and (eq kind (or (todo-write--subscriber-kind subscriber) kind))
       (cl-loop for (key . value) in (todo-write--subscriber-filter subscriber)
                always (equal value (todo-write--event-value event key)))))

(defvar todo-write--event nil
  "The event that is being told.")

(defvar todo-write--event-kind nil
  "The kind of that event.")

(defun todo-write--emit (kind event)
  "Give EVENT, which is of KIND, to the subscribers that want it; return it."
  (let ((todo-write--event event)
        (todo-write--event-kind kind))
    (todo-write--call-each #'todo-write--give todo-write--subscribers
                           #'todo-write--count-throw))
  event)

(defun todo-write--give (subscriber)
  "Give the event at hand to SUBSCRIBER if it wants it."
  ;; An earlier one may have ended the subscription of a later one.
  (when (and (memq subscriber todo-write--subscribers)
             (todo-write--admits-p subscriber todo-write--event-kind todo-write--event))
    (condition-case-unless-debug err
        (progn (funcall (todo-write--subscriber-function subscriber) todo-write--event)
               (setf (todo-write--subscriber-failures subscriber) 0))
      (quit (setq quit-flag t))
      (error (todo-write--count-failure subscriber (error-message-string err))))))

(defun todo-write--count-throw (subscriber)
  "Count that SUBSCRIBER was left by a throw."
  (todo-write--count-failure subscriber "it was left by a throw"))

(defun todo-write--count-failure (subscriber why)
  "Count that SUBSCRIBER failed; say WHY once, remove it in the end."
  (let ((failures (cl-incf (todo-write--subscriber-failures subscriber)))
        (function (todo-write--subscriber-function subscriber)))
    (when (= failures 1)
      (display-warning 'todo-write
                       (format-message "Subscriber %S failed: %s"
                                       function why)))
    (when (>= failures todo-write--most-failures)
      (todo-write-unsubscribe subscriber)
      (display-warning 'todo-write
                       (format-message "Subscriber %S is removed after %d failures"
                                       function failures)))))

(defun todo-write--deliver (thread)
  "Give the new observations of THREAD to the subscribers."
  (when todo-write--subscribers
    (todo-write--call-each (lambda (observation)
                             (todo-write--emit 'observation observation))
                           (append (todo-write-dyn--take-observations thread) nil))))

(defun todo-write-observe (thread type content &rest metadata)
  "Record that something happened in THREAD, and return the observation.
TYPE is a string such as \"INTENT\" or \"TOOL_CALL\"; the manual lists
them.  CONTENT is a string, or any plist or vector of JSON values.
METADATA is a plist; :title, :trace-id, :parent-id (an item id) and
:phase have places of their own in the observation, the rest is kept as
metadata.  The phase and the item in progress follow from the list
where they are not given.

The value is a plist :id :type :threadId :traceId :parentId :timestamp
:title :content :metadata.  Signal `todo-write-input-error' for an
unknown TYPE or phase."
  (todo-write--open thread)
  (let ((inhibit-quit t))
    (prog1 (todo-write-dyn--observe thread type content metadata)
      (unwind-protect
          (todo-write--deliver thread)
        (todo-write--run-hook 'todo-write-observe-functions thread type)))))

(defun todo-write-observations (thread &rest filter)
  "Return recorded observations of THREAD as a vector, newest last.
FILTER is a plist with keys as in `todo-write-subscribe', of which
:kind and :thread mean nothing here, and :limit, the most to return.
Memory holds the newest `todo-write-history-limit' of a thread."
  (todo-write--configure)
  (let (wanted)
    (cl-loop for (key value) on filter by #'cddr
             unless (memq key '(:kind :thread))
             do (setq wanted (plist-put wanted key value)))
    (todo-write-dyn--observations thread wanted)))

;;; Streams

(defun todo-write-token-context (call-context thinking)
  "Return the phase and the type of tokens in CALL-CONTEXT, as a plist.
CALL-CONTEXT is \"PLANNING_THOUGHTS\", \"EXECUTION_THOUGHTS\" or
\"SYNTHESIS_THOUGHTS\"; anything else, nil and the older names
included, has no phase.  THINKING tells thoughts from response.

  :phase       `planning', `execution', `synthesis' or nil
  :token-type  such as \"PLANNING_LLM_THINKING\", or \"LLM_THINKING\""
  (todo-write--configure)
  (todo-write-dyn--token-context call-context thinking))

(cl-defstruct (todo-write--run
               (:type list)
               (:constructor todo-write--make-run
                             (rest thinking call-context trace-id session-id)))
  "Tokens of a thread, one after the other, that differ in data and time only.
REST is what their events end with, the other slots what the host says
of each."
  rest thinking call-context trace-id session-id)

(defun todo-write--stream-form (form thread &rest event)
  "Return FORM, a call with THREAD and EVENT, as one that makes no list of EVENT.
Where not all keys are to be seen, that is FORM itself."
  (let* ((place (make-symbol "thread"))
         (bindings (list (list place thread)))
         values)
    (while (and (keywordp (car event)) (cdr event))
      (let ((key (pop event))
            (value (make-symbol "value")))
        (push (list value (pop event)) bindings)
        (setq values (append values (list key value)))))
    (if event
        form
      `(let* ,(nreverse bindings)
         (todo-write--stream ,place
                             ,@(mapcar (lambda (key) (plist-get values key))
                                       '(:type :data :thinking :call-context
                                         :trace-id :session-id)))))))

(defun todo-write-stream (thread &rest event)
  "Pass on EVENT of a stream of THREAD; return it completed.
EVENT is a plist:
  :type          \"TOKEN\", \"METADATA\", \"ERROR\" or \"END\"
  :data          the text of a token; any data of the others
  :thinking      non-nil for thoughts
  :call-context  see `todo-write-token-context'; without it the phase
                 follows from the list
  :trace-id, :session-id  strings, if the host has them
The value is what subscribers get, a plist :type :data :timestamp (in
milliseconds) :tokenType :phase :stepId :stepDescription (in execution)
:threadId :traceId :sessionId, all strings but the time and the data.
Events may have parts in common: change none.

Thoughts are joined: where they end, one THOUGHTS observation is
recorded.  Signal `todo-write-input-error' for an unknown type, and for
a token that is no string."
  (declare (compiler-macro todo-write--stream-form))
  (todo-write--stream thread (plist-get event :type) (plist-get event :data)
                      (plist-get event :thinking) (plist-get event :call-context)
                      (plist-get event :trace-id) (plist-get event :session-id)))

(defun todo-write--stream (thread type data thinking call-context trace-id session-id)
  "Do what `todo-write-stream' does, with THREAD and the values of its keys.
These are TYPE, DATA, THINKING, CALL-CONTEXT, TRACE-ID and SESSION-ID."
  (todo-write--configure)
  (let* ((inhibit-quit t)
         (run (gethash thread todo-write--token-runs))
         (time (and run
                    (equal type "TOKEN")
                    (eq thinking (todo-write--run-thinking run))
                    (equal call-context (todo-write--run-call-context run))
                    (equal trace-id (todo-write--run-trace-id run))
                    (equal session-id (todo-write--run-session-id run))
                    (todo-write-dyn--stream-next thread data))))
    (if time
        (todo-write--emit
         'stream (cl-list* :data data :timestamp time (todo-write--run-rest run)))
      (todo-write--stream-anew
       thread type data thinking call-context trace-id session-id))))

(defun todo-write--stream-anew (thread type data &rest said)
  "Do what `todo-write--stream' does with an event unlike the one before.
THREAD, TYPE, DATA and SAID are the arguments of that."
  (todo-write--open thread)
  (remhash thread todo-write--token-runs)
  (pcase-let* ((`(,time ,recorded . ,rest)
                (apply #'todo-write-dyn--stream thread type data said))
               (event (cl-list* :data data :timestamp time rest)))
    (when (equal (plist-get event :type) "TOKEN")
      (puthash thread (apply #'todo-write--make-run rest said) todo-write--token-runs))
    (unwind-protect
        (when recorded (todo-write--tell-thoughts thread))
      (todo-write--emit 'stream event))
    event))

(defun todo-write--tell-thoughts (thread)
  "Tell of the thoughts of THREAD that were recorded."
  (unwind-protect
      (todo-write--deliver thread)
    (todo-write--run-hook 'todo-write-observe-functions thread "THOUGHTS")))

(provide 'todo-write-events)
;;; todo-write-events.el ends here
