;;; todo-write-events.el --- What agents say and do  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Users are told of changed lists by `todo-write-change-functions', of what agents do
;; by `todo-write-agent-functions', and of observations and streams by
;; `todo-write-subscribe'.  Our own buffers and hosts are told of everything that
;; happens to threads by `todo-write-events-functions'.

;;; Code:

(require 'todo-write-core)
(require 'todo-write-text)

;;; Dispatch

;; Agents call from timers and process filters, where Emacs inhibits quitting.
;; Every caller here inhibits it too, so that C-g cannot keep the remaining
;; functions from being called after a change that is already saved.

(defun todo-write-events--call-each (call list)
  "Call CALL with each element of LIST, even if a call throws.
The throw continues after the last call."
  (when list
    (unwind-protect
        (while list
          (funcall call (pop list)))
      (todo-write-events--call-each call list))))

(defun todo-write-events--failure (function args)
  "Apply FUNCTION to ARGS, a list; return what it signals as a string, or nil."
  (condition-case-unless-debug err
      (ignore (apply function args))
    (quit (ignore (setq quit-flag t)))
    (error (error-message-string err))))

(defun todo-write-events--call-function (function args)
  "Apply FUNCTION to ARGS, a list, and report it if it signals."
  (when-let* ((failure (todo-write-events--failure function args)))
    (display-warning 'todo-write
                     (format-message "Function `%s' failed: %s" function failure))))

(defun todo-write-events-apply-each (function list)
  "Call FUNCTION with each element of LIST.
If a call signals, report it; the others are still made."
  (todo-write-events--call-each
   (lambda (element) (todo-write-events--call-function function (list element)))
   list))

(defun todo-write-events-run-functions (hook &rest args)
  "Apply each function of HOOK, a symbol, to ARGS.
If one signals, report it; all others are still called."
  (let (functions)
    (run-hook-wrapped hook (lambda (function) (push function functions) nil))
    (todo-write-events--call-each
     (lambda (function) (todo-write-events--call-function function args))
     (nreverse functions))))

(defvar todo-write-events-functions nil
  "Abnormal hook of our own buffers and hosts, run whenever something happens.
Each function is called with THREAD, WHAT and DATA, where WHAT is one of:
  `change'    anything of THREAD may differ: its list, what was recorded, what
              its agent does, or what is shown beside them; DATA is the
              outcome if the list changed, see `todo-write', else nil
  `activity'  its agent does something else, before that is a `change', too;
              DATA is the value of `todo-write-activity'
  `request'   its agent asks the user, or a question was answered or
              withdrawn; DATA is its id, see `todo-write-requests'
  `forgotten' THREAD was forgotten; DATA is nil
  `kept'      `todo-write-threads-kept' has read more; THREAD and DATA are nil
`todo-write-agent-functions' are told of agents.

If one signals, the error is reported and the others are still called.")

(defun todo-write-events-dispatch (thread what &optional data)
  "Report that WHAT happened to THREAD, with DATA.
See `todo-write-events-functions'; the users' own functions come last.
The caller inhibits quitting."
  (unwind-protect
      (todo-write-events-run-functions 'todo-write-events-functions thread what data)
    (when (and data (eq what 'change))
      (todo-write-events-run-functions 'todo-write-change-functions thread data))))

;;; Drawing

;; What changed is marked as often as it changes, and drawn together: after a moment, or at
;; once after a key of the user.

(defvar-local todo-write-events-draw #'ignore
  "Function that draws the current buffer, called without arguments.")

(defvar todo-write-events--marked nil
  "Alist of what is to be drawn, buffers and functions, and when.
Times are in seconds since the epoch, 0 for what has changed.")

(defvar todo-write-events--timer nil "Timer that draws what is marked, or nil.")

(defvar todo-write-events--wakes 0 "When that timer runs, in seconds since the epoch.")

(defun todo-write-later (what &optional seconds)
  "Draw WHAT soon; with SECONDS, when these have passed unless it is drawn before.
WHAT is a buffer, for which `todo-write-events-draw' is called, or a
function without arguments.  A buffer that no window shows is drawn when
one does.  Signal `todo-write-input-error' if WHAT or SECONDS is wrong."
  (unless (or (buffer-live-p what) (functionp what))
    (todo-write-core-wrong "what" what "a live buffer or a function"))
  (unless (or (null seconds) (and (numberp seconds) (<= 0 seconds most-positive-fixnum)))
    (todo-write-core-wrong "seconds" seconds "a number from 0 to `most-positive-fixnum'"))
  (let* ((now (float-time))
         (due (if seconds (+ now seconds) 0))
         (entry (assq what todo-write-events--marked)))
    (cond ((null entry) (push (cons what due) todo-write-events--marked))
          ((< due (cdr entry)) (setcdr entry due)))
    ;; What a command of the user changed is drawn at its end.
    (when (and this-command (null seconds))
      (add-hook 'post-command-hook #'todo-write-redraw))
    (todo-write-events--wake (max due (+ now 0.2)))))

(defun todo-write-events--wake (time)
  "Draw what is marked at TIME or before."
  (unless (and todo-write-events--timer (<= todo-write-events--wakes time))
    (when todo-write-events--timer
      (cancel-timer todo-write-events--timer))
    (setq todo-write-events--wakes time
          todo-write-events--timer
          (run-at-time (max 0 (- time (float-time))) nil
                       (lambda ()
                         (setq todo-write-events--timer nil)
                         (if (or executing-kbd-macro
                                 ;; The user drags the mouse.  Some modes set this to t in
                                 ;; their buffers, for tooltips.
                                 (and track-mouse (not (and (eq track-mouse t)
                                                            (local-variable-p 'track-mouse)))))
                             (todo-write-events--wake (+ (float-time) 0.1))
                           (todo-write-redraw)))))))

(defun todo-write-events-unmark (what)
  "Note that WHAT, as in `todo-write-later', is being drawn."
  (setq todo-write-events--marked (assq-delete-all what todo-write-events--marked)))

(defun todo-write-events-marked-p (what)
  "Return non-nil if WHAT, as in `todo-write-later', is due to be drawn."
  (<= (alist-get what todo-write-events--marked most-positive-fixnum) (float-time)))

(defun todo-write-redraw ()
  "Draw now what changed and is shown."
  (remove-hook 'post-command-hook #'todo-write-redraw)
  (let ((inhibit-quit t))
    (unwind-protect
        (pcase-dolist (`(,what . ,due) (reverse todo-write-events--marked))
          (when (and (<= due (float-time)) (or (not (bufferp what)) (get-buffer-window what t))
                     ;; A search goes on in the text in which it began.
                     (not (and (bufferp what) (buffer-local-value 'isearch-mode what))))
            (todo-write-events-unmark what)
            (if (bufferp what)
                (with-current-buffer what
                  (todo-write-events--call-function todo-write-events-draw nil))
              (todo-write-events--call-function what nil))))
      ;; Also after a throw, as from the debugger.
      (setq todo-write-events--marked
            (seq-remove (lambda (entry)
                          (and (bufferp (car entry)) (not (buffer-live-p (car entry)))))
                        todo-write-events--marked))
      ;; What is due and hidden is drawn once a window shows it.
      (when-let* ((now (float-time))
                  (times (cl-loop for (what . due) in todo-write-events--marked
                                  when (or (> due now) (not (bufferp what))
                                           (get-buffer-window what t))
                                  collect due)))
        (todo-write-events--wake (max (apply #'min times) (+ now 0.1)))))))

;;; Observations

(cl-defstruct (todo-write-events--subscriber (:constructor todo-write-events--make-subscriber))
  "A subscription to events.
FILTER is an alist of filter keys and the strings that an event must
have for them.  FAILURES is the number of successive calls of FUNCTION
that signaled or threw."
  function filter (failures 0))

(defvar todo-write-events--subscribers nil
  "List of `todo-write-events--subscriber' structures.")

(defun todo-write-subscribe (function &rest filter)
  "Call FUNCTION with each event that matches FILTER; return a handle.
An event is an observation or a stream event, a plist; see
`todo-write-observe' and `todo-write-stream'.  FILTER is a plist; a key
that is missing or nil matches everything:
  :kind        `observation' or `stream'
  :thread      key of a thread
  :type        such as \"PLAN_UPDATE\" or \"TOKEN\"
  :phase       `planning', `execution' or `synthesis'
  :token-type  such as \"EXECUTION_LLM_THINKING\"
  :step        id of an item
Values are strings or symbols.  A FUNCTION that signals or throws is
reported, and removed after three failures in a row; the other
subscribers are still called.  Quitting is inhibited while it runs, as
in timers; see `with-local-quit'.  Signal `todo-write-input-error' if
FUNCTION is not a function, and for an unknown key."
  (unless (functionp function)
    (todo-write-core-wrong "subscriber" function "a function"))
  (let ((subscriber (todo-write-events--make-subscriber
                     :function function
                     :filter
                     (cl-loop for (key value) on filter by #'cddr
                              unless (memq key '(:kind :thread :type :phase :token-type :step))
                              do (todo-write-core-wrong "filter" key "a known key")
                              unless (or (stringp value) (symbolp value))
                              do (todo-write-core-wrong "filter" value "a string or a symbol")
                              when value
                              collect (cons key (format "%s" value))))))
    ;; The module keeps observations until a subscriber takes them.
    (when (and todo-write-core-configured (not todo-write-events--subscribers))
      (dolist (thread (todo-write-core-call todo-write-dyn--loaded))
        (todo-write-core-call todo-write-dyn--take-observations thread)))
    (setq todo-write-events--subscribers
          (append todo-write-events--subscribers (list subscriber)))
    subscriber))

(defun todo-write-unsubscribe (handle)
  "End the subscription HANDLE, which `todo-write-subscribe' returned."
  (setq todo-write-events--subscribers (remq handle todo-write-events--subscribers)))

(defun todo-write-events--event-value (event key)
  "Return the value of EVENT that the filter KEY is compared with."
  (let ((metadata (plist-get event :metadata)))
    (pcase key
      ;; Only observations are numbered.
      (:kind (if (plist-get event :id) "observation" "stream"))
      (:thread (plist-get event :threadId))
      (:type (plist-get event :type))
      (:phase (or (plist-get event :phase) (plist-get metadata :phase)))
      (:token-type (or (plist-get event :tokenType)
                       (plist-get metadata :tokenType)))
      (:step (or (plist-get event :stepId) (plist-get event :parentId))))))

(defun todo-write-events--emit (event)
  "Give EVENT to the subscribers whose filter it matches, and return it."
  (todo-write-events--call-each
   (lambda (subscriber)
     ;; An earlier subscriber may have ended the subscription of a later one.
     (when (and (memq subscriber todo-write-events--subscribers)
                (cl-loop for (key . value) in (todo-write-events--subscriber-filter subscriber)
                         always (equal value (todo-write-events--event-value event key))))
       (let ((function (todo-write-events--subscriber-function subscriber))
             (failure "it was left by a throw"))
         (unwind-protect
             (setq failure (todo-write-events--failure function (list event)))
           (pcase (setf (todo-write-events--subscriber-failures subscriber)
                        (if failure (1+ (todo-write-events--subscriber-failures subscriber)) 0))
             (1 (display-warning 'todo-write
                                 (format-message "Subscriber %S failed: %s" function failure)))
             (3 (todo-write-unsubscribe subscriber)
                (display-warning 'todo-write
                                 (format-message "Subscriber %S is removed after 3 failures"
                                                 function))))))))
   todo-write-events--subscribers)
  event)

(defun todo-write-events-deliver (thread)
  "Give the new observations of THREAD to the subscribers."
  (when todo-write-events--subscribers
    (todo-write-events--call-each
     #'todo-write-events--emit
     (append (todo-write-core-call todo-write-dyn--take-observations thread) nil))))

(defun todo-write-observe (thread type content &rest metadata)
  "Record that something happened in THREAD, and return the observation.
TYPE is a string such as \"INTENT\" or \"TOOL_CALL\"; the manual lists
them.  CONTENT is a string, or any plist or vector of JSON values, at most
32 levels deep.
METADATA is a plist; :title, :trace-id, :parent-id (an item id) and
:phase are fields of the observation, the rest is kept as metadata.  By
default, the phase and the parent item are those of the list.

METADATA of a \"TOOL_CALL\" and its \"TOOL_EXECUTION\" may have :call-id, a
string that joins them.  That of a \"TOOL_EXECUTION\" tells what was done;
`todo-write-work' sums it up for the tasks in progress:
  :outcome    `ok', `failed', `refused' (it never ran), `background' (it
              goes on) or `unknown'
  :exit-code  the exit code of a command, a number
  :command    t if the tool runs commands, :false if not; by default, the
              name of the tool and an exit code decide
  :files      the files that it changed, a list of plists: :path, and
              either :oldText and :newText, strings (the first one nil for
              a new file, the second one for a deleted file), or :added
              and :removed, numbers, with :created, :deleted and :patch if
              known
The content of a \"USAGE\" is a plist :input :output :cacheRead :cacheWrite,
numbers of tokens, :model and :atLeast (t if :output is a lower bound).

The value is a plist :id :type :threadId :traceId :parentId :timestamp
:title :content :metadata.  Signal `todo-write-input-error' for an
unknown TYPE or phase, and for a value without a JSON form, such as a
buffer or a string with bytes that are not text."
  (todo-write-events-open thread)
  (let ((inhibit-quit t))
    (prog1 (todo-write-core-call todo-write-dyn--observe thread type content metadata)
      (unwind-protect
          (todo-write-events-deliver thread)
        (todo-write-events-dispatch thread 'change)))))

(defun todo-write-observations (thread &rest filter)
  "Return recorded observations of THREAD as a vector, newest last.
FILTER is a plist with the keys of `todo-write-subscribe', of which :kind
and :thread are ignored; :types, a list of types; :outside, non-nil for
those that belong to no item; :turn, the number of one of
`todo-write-turns'; and :limit, the maximum number to return.
Signal `todo-write-input-error' for any other key or a wrong value.
Memory holds the newest `todo-write-history-limit' of a thread."
  (let (wanted)
    (cl-loop for (key value) on filter by #'cddr
             unless (memq key '(:kind :thread))
             do (setq wanted (plist-put wanted key value)))
    (todo-write-core-call todo-write-dyn--observations thread wanted)))

;;; Streams

(defun todo-write-token-context (call-context thinking)
  "Return the phase and the type of tokens in CALL-CONTEXT, as a plist.
CALL-CONTEXT is \"PLANNING_THOUGHTS\", \"EXECUTION_THOUGHTS\" or
\"SYNTHESIS_THOUGHTS\"; anything else has no phase.  THINKING is non-nil
for thoughts, nil for the response.

  :phase       `planning', `execution', `synthesis' or nil
  :token-type  such as \"PLANNING_LLM_THINKING\", or \"LLM_THINKING\""
  (todo-write-core-call todo-write-dyn--token-context call-context thinking))

(defconst todo-write-events--stream-keys
  '(:type :thinking :call-context :step-id :step-description :trace-id :session-id)
  "The keys of a stream event but its data.")

(defun todo-write-stream (thread &rest event)
  "Give the stream event EVENT of THREAD to subscribers; return it completed.
EVENT is a plist:
  :type          \"TOKEN\", \"METADATA\", \"ERROR\" or \"END\"
  :data          the text of a token; any data of the others
  :thinking      non-nil for thoughts
  :call-context  decides the phase and the type of tokens, see
                 `todo-write-token-context'; by default, the phase follows
                 from the list, and the type is \"LLM_THINKING\" or
                 \"LLM_RESPONSE\"
  :step-id, :step-description  the step in execution, by default the item
                 in progress; the content of an item describes it
  :trace-id, :session-id  strings, if the host has them
The value is a plist :type :data :timestamp (in milliseconds) :tokenType
:phase :stepId :stepDescription (in execution) :threadId :traceId
:sessionId, all strings but the time and the data.  Events can share
structure, so do not modify them.

Successive thoughts are recorded as one THOUGHTS observation when they
end.  Signal `todo-write-input-error' for an unknown key or type, and for
a token that is not a string."
  (cl-loop for (key) on event by #'cddr
           unless (or (eq key :data) (memq key todo-write-events--stream-keys))
           do (todo-write-core-wrong "stream event" key "a known key"))
  (todo-write-core-configure)
  (let* ((inhibit-quit t)
         (data (plist-get event :data))
         (run (gethash thread todo-write-core-token-runs))
         (time (and run (cl-loop for key in todo-write-events--stream-keys
                                 always (equal (plist-get event key) (plist-get (car run) key)))
                    (todo-write-core-call todo-write-dyn--stream-next thread data))))
    (if time
        (todo-write-events--emit `(:data ,data :timestamp ,time . ,(cdr run)))
      (todo-write-events-open thread)
      (remhash thread todo-write-core-token-runs)
      (pcase-let* ((`(,time ,recorded . ,rest)
                    (todo-write-core-call todo-write-dyn--stream thread event data))
                   (emitted `(:data ,data :timestamp ,time . ,rest)))
        (when (equal (plist-get emitted :type) "TOKEN")
          (puthash thread (cons event rest) todo-write-core-token-runs))
        (unwind-protect
            (when recorded
              (unwind-protect
                  (todo-write-events-deliver thread)
                (todo-write-events-dispatch thread 'change)))
          (todo-write-events--emit emitted))
        emitted))))

;;; Activity

;; A host says with `todo-write-set-activity' whether its agent works, waits for
;; the user or failed, and ends a turn with `todo-write-end-turn'.  The module
;; decides what an agent does from this, its open requests, its process and its
;; transcript; it keeps that also of agents without a plan, and stops the time of
;; the item in progress accordingly.  It is asked here.

(defun todo-write-events-activity (thread)
  "Return what the agent of THREAD does as a plist, or nil if nothing was reported.
Its keys are :activity, which is `suspended', too, :reason, :inferred,
:since, :background (the number of commands and subagents there), :left and
:process; see `todo-write-dyn--activity'."
  (and (featurep 'todo-write-dyn)
       (todo-write-core-call todo-write-dyn--activity thread)))

(defun todo-write-activity (thread)
  "Return what the agent of THREAD does as (ACTIVITY . REASON), or nil.
ACTIVITY is `working', `waiting' or `failed'.  nil means that it is idle or
suspended, or that its host reported nothing; see `todo-write-set-activity'
and `todo-write-events-activity'."
  (let ((known (todo-write-events-activity thread)))
    (pcase (plist-get known :activity)
      ((and activity (or 'working 'waiting 'failed))
       (cons activity (plist-get known :reason))))))

(defvar todo-write-events--reading (make-hash-table :test #'equal)
  "How much of a session is read, in percent, by the threads of those being read.")

(defun todo-write-events-reading (thread)
  "Return how much of the session of THREAD is read, in percent.
Return nil unless it is being read for the first time."
  (gethash thread todo-write-events--reading))

(defun todo-write-events-note-reading (thread percent)
  "Note that PERCENT of the session of THREAD is read, and dispatch that.
PERCENT nil means that none is being read."
  (unless (eql percent (todo-write-events-reading thread))
    (if percent (puthash thread percent todo-write-events--reading)
      (remhash thread todo-write-events--reading))
    (todo-write-events-dispatch thread 'change)))

(defun todo-write-events-publish-activity (changed)
  "Dispatch what became of a report, CHANGED, as the module returned it.
It is a plist; see `todo-write-dyn--set-activity'."
  (let ((thread (plist-get changed :thread)))
    (todo-write-events-warn (plist-get changed :warnings))
    (when (plist-get changed :transition)
      (todo-write-events-dispatch thread 'activity (todo-write-activity thread)))
    (when (or (plist-get changed :changed) (plist-get changed :transition))
      (todo-write-events-dispatch thread 'change))))

;;; Plans that cannot be saved

(defun todo-write-events-open (thread &optional about)
  "Load THREAD, or begin it with the plist ABOUT; see `todo-write-begin'."
  (todo-write-events-warn (todo-write-core-call todo-write-dyn--open thread about)))

(defvar todo-write-events--save-timer nil
  "Timer that tries to save the plans that could not be saved, or nil.")

(defun todo-write-events-warn (warnings)
  "Show WARNINGS, strings from the module."
  (dolist (warning warnings)
    (display-warning 'todo-write warning))
  (when (and warnings (not todo-write-events--save-timer))
    (todo-write-events--save-again)))

(defun todo-write-events--save-again ()
  "Try to save the plans that could not be saved; return those that still are not.
While there are any, do so every ten minutes, and before Emacs exits.  The
value is a list of keys."
  (pcase-let ((`(,saved . ,unsaved) (todo-write-core-call todo-write-dyn--save-again)))
    (cond ((and unsaved (not todo-write-events--save-timer))
           (setq todo-write-events--save-timer
                 (run-at-time
                  600 600
                  (lambda ()
                    (when-let* ((unsaved (todo-write-events--save-again)))
                      (display-warning
                       'todo-write
                       (concat (todo-write-text-count (length unsaved) "plan")
                               " not saved: the disk cannot be written"))))))
           (add-hook 'kill-emacs-query-functions #'todo-write-events--leave-p)
           ;; A signal ends Emacs without a question.
           (add-hook 'kill-emacs-hook #'todo-write-events--save-again))
          ((and todo-write-events--save-timer (not unsaved))
           (cancel-timer todo-write-events--save-timer)
           (setq todo-write-events--save-timer nil)
           (remove-hook 'kill-emacs-query-functions #'todo-write-events--leave-p)
           (remove-hook 'kill-emacs-hook #'todo-write-events--save-again)))
    (dolist (thread saved)
      (todo-write-events-dispatch thread 'change))
    unsaved))

(defun todo-write-events--leave-p ()
  "Try to save the unsaved plans; return non-nil if Emacs may exit.
If some cannot be saved, ask."
  (let ((unsaved (todo-write-events--save-again)))
    (or (null unsaved)
        ;; Users replace this primitive, and native code would call it all the same.
        (funcall (symbol-function 'yes-or-no-p)
                 (concat (todo-write-text-count (length unsaved)
                                                "plan of an agent" "plans of agents")
                         " cannot be saved; exit anyway? ")))))

(provide 'todo-write-events)
;;; todo-write-events.el ends here
