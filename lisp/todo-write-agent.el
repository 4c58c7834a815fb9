;;; todo-write-agent.el --- The agents, and what they do  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `todo-write-agents' lists the agents of this session, and the functions of
;; `todo-write-agent-functions' are told when one of them does something else.  The
;; overview, the mode line and notifications use nothing else.
;;
;; An agent is described by a plist.  What the user does to it is kept here, too:
;; whether its result was seen, and whether the user dismissed it.  Agents are tracked
;; only while the hook has functions; at other times they are looked up.
;;
;; An agent counts as waiting only if its host says so, never by a guess.  An ended
;; turn does not need you: it is done, and unseen until the agent's buffer or plan
;; was visible in a focused frame.

;;; Code:

(require 'todo-write)
(require 'todo-write-host)
(require 'todo-write-machines)
(require 'todo-write-request)
(require 'todo-write-terminal)

(cl-defstruct (todo-write-agent--record
               (:constructor todo-write-agent--make-record) (:copier nil))
  "What is kept of an agent.
PLIST is what `todo-write-agents' returns.  ACTIVITY is as from the
module, ENDING is how it stopped, REASON what its host says, SINCE the
time of the transition.  UNSEEN means that it came to rest while it was
not visible, DISMISSED that the user dismissed this state.  RESTED is the
time at which it came to rest last.  REFUSED is the number of its calls
that were refused and not seen: MISSED ones of an earlier session, and
those after SEEN, when the user saw it last.  KEPT is what its journal
has of that, (UNSEEN . REFUSED).  BUFFER caches its own buffer until the
next transition; `none' means that it has none."
  plist activity ending reason since unseen dismissed rested
  (refused 0) (missed 0) (seen 0) kept buffer)

;;; Names

(defun todo-write-agent-program-label (name)
  "Return what users read for the program NAME, or NAME if it is not known."
  (or (plist-get (todo-write-core-call todo-write-dyn--program name) :label) name))

;;; What a plist tells

(defun todo-write-agent-stopped (agent)
  "Return how AGENT stopped before its tasks were completed, or nil.
AGENT is a plist as from `todo-write-agents'.  An agent without a plan
may exit, but was stopped if it was killed."
  (unless (plist-get agent :activity)
    (todo-write-agent--stopped (plist-get agent :ending)
                                (plist-get (plist-get agent :plan) :state))))

(defun todo-write-agent--stopped (ending state)
  "Return ENDING if it left tasks undone in a plan of STATE, else nil."
  (pcase ending
    ((guard (eq state 'done)) nil)
    ((or 'killed 'denied 'error) ending)
    ('session-ended (and (memq state '(active paused)) ending))))

(defun todo-write-agent-state (agent)
  "Return the state of AGENT, a plist as from `todo-write-agents', as a symbol.
It is `waiting', `failed', `done', `stopped', `working', `suspended',
`idle' or `unknown'.  It is `stopped' if it ended before its tasks were
completed, which is not the end of a turn."
  (or (plist-get agent :activity)
      (cond ((todo-write-agent-stopped agent) 'stopped)
            ((eq 'unseen (plist-get agent :attention)) 'done)
            (t 'idle))))

(defun todo-write-agent-transition-p (old new)
  "Return non-nil if an agent made a transition from OLD to NEW.
They are plists as for `todo-write-agent-functions'.  It does not if only
other things changed, such as its plan."
  (not (cl-loop for key in '(:attention :activity :since :reason :ending)
                always (equal (plist-get old key) (plist-get new key)))))

(defun todo-write-agent--rank (agent)
  "Return the sort key of AGENT's attention, a number; 0 is first."
  (pcase (plist-get agent :attention)
    ('needs-you 0)
    ('unseen (if (plist-get agent :new) 1 2))
    ('working 3)
    ('idle 4)
    (_ 5)))

(defun todo-write-agent-before-p (a b)
  "Return non-nil if agent A sorts before B, plists as from `todo-write-agents'.
Agents that need the user are sorted oldest first, others of the same
rank newest first, those that stopped after the others."
  (let ((rank (todo-write-agent--rank a))
        (stopped (eq 'stopped (todo-write-agent-state a))))
    (cond ((/= rank (todo-write-agent--rank b))
           (< rank (todo-write-agent--rank b)))
          ((not (eq stopped (eq 'stopped (todo-write-agent-state b)))) (not stopped))
          (t (funcall (if (= rank 0) #'< #'>)
                      (plist-get a :since) (plist-get b :since))))))

;;; Tracking

(defvar todo-write-agent--records nil
  "Alist of threads' keys and `todo-write-agent--record's, oldest first.")

(defvar todo-write-agent--tracking nil
  "Non-nil while `todo-write-agent-functions' has functions.")

(defvar todo-write-agent--silent nil
  "Non-nil means to call no function of `todo-write-agent-functions'.")

(defvar todo-write-agent--began 0
  "Time at which tracking began, in milliseconds since the epoch.")

(defun todo-write-agents ()
  "Return the agents of this session as a list of plists.
Those that need the user come first; subagents are left out.  The keys are
  :thread     the key of the agent's thread
  :agent      the name of its program, or nil
  :project    the root of its project, or nil
  :machine    the name of its machine, or nil for this one
  :title      what it works on, or nil; its goal if it has no plan
  :activity   `working', `waiting' (for the user), `failed', `suspended',
              `unknown', or nil if it is idle
  :reason     what its host says of that, or nil
  :since      the time of its last transition
  :attention  `needs-you', `unseen' (it has stopped, and you have not seen
              it since), `working', `idle' or `unknown'
  :ending     how it ended, as in `todo-write-summary', or nil
  :requests   number of its open requests; see `todo-write-requests'
  :background number of commands and subagents in its background
  :refused    number of its calls that were refused since you saw it
  :new        number of files that you have not reviewed, or nil if none
  :context    how full its context is, in percent, or nil if unknown
  :contextTokens  the number of tokens in it, or nil if unknown
  :dismissed  t if you dismissed its state
  :left       t if you left its session for another one
  :plan       the `todo-write-summary' of its plan
Times are in milliseconds since the epoch.  Do not modify the plists."
  (unless todo-write-agent--tracking
    (todo-write-agent--update-all))
  (sort (mapcar (lambda (entry) (todo-write-agent--record-plist (cdr entry)))
                todo-write-agent--records)
        #'todo-write-agent-before-p))

(defun todo-write-agent (thread)
  "Return the agent of THREAD as a plist, or nil.
It is as in `todo-write-agents'."
  (unless todo-write-agent--tracking
    (todo-write-agent--update-silently (list thread)))
  (when-let* ((record (todo-write-agent--record thread)))
    (todo-write-agent--record-plist record)))

(defun todo-write-agent--record (thread)
  "Return the record of the agent of THREAD, a key, or nil."
  (cdr (assoc thread todo-write-agent--records)))

(defun todo-write-agent-watch (symbol value &optional operation where)
  "Track agents while SYMBOL, `todo-write-agent-functions', has functions.
It gets VALUE by OPERATION in the buffer WHERE.  A variable watcher."
  (let ((on (or value
                ;; A `let' and a buffer's own value only hide the functions of others.
                (and (or where (eq operation 'let)
                         (not (eq (default-value symbol) (default-toplevel-value symbol))))
                     (default-toplevel-value symbol)))))
    (unless (eq (null on) (null todo-write-agent--tracking))
      (setq todo-write-agent--tracking (and on t))
      (when todo-write-agent--tracking
        (setq todo-write-agent--began (todo-write-core-now))
        (todo-write-agent--update-all))
      (pcase-dolist (`(,hook . ,function)
                     '((todo-write-events-functions . todo-write-agent--on-event)
                       (window-buffer-change-functions . todo-write-agent--look)
                       (window-selection-change-functions . todo-write-agent--look)))
        (funcall (if todo-write-agent--tracking #'add-hook #'remove-hook) hook function))
      (if todo-write-agent--tracking
          (add-function :after after-focus-change-function #'todo-write-agent--look)
        (remove-function after-focus-change-function #'todo-write-agent--look)))))

(defun todo-write-agent--update-all ()
  "Update all agents; changes while nothing watched count as seen."
  (let ((keys (and (featurep 'todo-write-dyn)
                   (seq-union (todo-write-threads-loaded)
                              (todo-write-core-call todo-write-dyn--reported)))))
    (setq todo-write-agent--records
          (seq-filter (lambda (entry) (member (car entry) keys)) todo-write-agent--records))
    (todo-write-agent--update-silently keys)))

(defun todo-write-agent--update-silently (threads)
  "Update the agents of THREADS; none of them is new then."
  (let ((todo-write-agent--silent t)
        (todo-write-agent--began most-positive-fixnum))
    (mapc #'todo-write-agent--update threads)))

(defun todo-write-agent--on-event (thread what _data)
  "Update the agent of THREAD after the event WHAT.
For `todo-write-events-functions'."
  (pcase what
    ('forgotten (todo-write-agent--forget thread))
    ((or 'change 'request) (todo-write-agent--update thread))))

(defun todo-write-agent--update (thread)
  "Update the agent of THREAD, and tell what changed.
If there is no such agent any more, forget it."
  (cond ((not (or (todo-write-activity-get thread)
                  ;; A process may work for a moment in a session in which nothing was asked.
                  (plist-get (todo-write-about thread) :agent)
                  (not (eq 'empty (todo-write-state thread)))))
         (todo-write-agent--forget thread))
        ((not (todo-write-parent thread))
         (let* ((record (or (todo-write-agent--record thread)
                            (let ((record (todo-write-agent--recorded thread)))
                              (setq todo-write-agent--records
                                    (nconc todo-write-agent--records (list (cons thread record))))
                              record)))
                (summary (todo-write-summary thread)))
           (todo-write-agent--note record thread summary)
           (setf (todo-write-agent--record-refused record)
                 (+ (todo-write-agent--record-missed record)
                    ;; What there was before tracking began is not new.
                    (todo-write-plan-refused thread
                                             (max todo-write-agent--began
                                                  (todo-write-agent--record-seen record)))))
           (when (and (> (todo-write-agent--record-refused record) 0)
                      (todo-write-agent-visible-p thread))
             (todo-write-agent--see-refused record))
           (todo-write-agent--renew record thread summary)))))

(defun todo-write-agent--recorded (thread)
  "Return a new record of the agent of THREAD, with what its journal has."
  (let* ((about (todo-write-about thread))
         (unseen (plist-get about :unseen))
         (refused (or (plist-get about :refused) 0)))
    (todo-write-agent--make-record
     :unseen unseen :missed refused :kept (cons unseen refused)
     ;; Those that the journal counts are not counted again.
     :seen (if (> refused 0) (todo-write-core-now) 0))))

(defun todo-write-agent--see-refused (record)
  "Note in RECORD that the user sees the refused calls."
  (setf (todo-write-agent--record-seen record) (todo-write-core-now)
        (todo-write-agent--record-missed record) 0
        (todo-write-agent--record-refused record) 0))

(defun todo-write-agent--keep (record thread)
  "Let the journal of THREAD have what its user has not seen, by RECORD."
  (let ((kept (cons (and (todo-write-agent--record-unseen record)
                         (not (todo-write-agent--record-dismissed record)))
                    (todo-write-agent--record-refused record))))
    (unless (equal kept (todo-write-agent--record-kept record))
      (setf (todo-write-agent--record-kept record) kept)
      (todo-write-core-call todo-write-dyn--keep-unseen thread (car kept) (cdr kept)))))

(defun todo-write-agent--forget (thread)
  "Forget the agent of THREAD, and tell that it is gone."
  (when-let* ((record (todo-write-agent--record thread)))
    (setq todo-write-agent--records (assoc-delete-all thread todo-write-agent--records))
    (todo-write-agent--tell thread (todo-write-agent--record-plist record) nil)))

(defun todo-write-agent--renew (record thread summary)
  "Make the plist of RECORD again, and tell of the change if it is another.
RECORD is that of the agent of THREAD, SUMMARY is that of its plan, or nil
if that is the same."
  (todo-write-agent--keep record thread)
  (let* ((old (todo-write-agent--record-plist record))
         (summary (or summary (plist-get old :plan)))
         ;; A session may move to another project.
         (about (todo-write-about thread))
         (reported (todo-write-activity-get thread))
         (activity (todo-write-agent--record-activity record))
         (dismissed (todo-write-agent--record-dismissed record))
         (files (todo-write-plan-unseen-files thread))
         (new (todo-write-agent-plist
               thread about summary files
               :activity (unless (eq activity 'rest) activity)
               :reason (todo-write-agent--record-reason record)
               :since (todo-write-agent--record-since record)
               :attention (pcase activity
                            ('unknown 'unknown)
                            ((guard dismissed) 'idle)
                            ((or 'waiting 'failed) 'needs-you)
                            ('working 'working)
                            ('suspended 'idle)
                            (_ (if (todo-write-agent--record-unseen record) 'unseen 'idle)))
               :requests (length (todo-write-requests thread))
               :background (or (plist-get reported :background) 0)
               :refused (todo-write-agent--record-refused record)
               :dismissed dismissed
               :left (plist-get reported :left))))
    (unless (equal old new)
      (setf (todo-write-agent--record-plist record) new)
      (todo-write-agent--tell thread old new))))

(defun todo-write-agent-plist (thread about summary files &rest more)
  "Return the plist of the agent of THREAD with the keys MORE.
ABOUT is as from `todo-write-about', SUMMARY that of its plan, and FILES
the number of files that were not reviewed."
  (let ((project (plist-get about :project))
        (goal (and (eq 'empty (plist-get summary :state)) (plist-get summary :goal))))
    `( :plan ,summary
       :thread ,thread
       :agent ,(plist-get about :agent)
       :project ,project
       :machine ,(todo-write-machines-host thread project)
       :title ,(if goal (plist-get goal :text) (plist-get summary :title))
       :ending ,(plist-get summary :ending)
       :new ,(and (> files 0) files)
       :context ,(plist-get summary :context)
       :contextTokens ,(plist-get summary :contextTokens)
       ,@more)))

(defun todo-write-agent-restore (thread)
  "Load THREAD if it is of an earlier session; return its agent, or nil."
  (todo-write-restore thread)
  (unless (todo-write-agent--record thread)
    (todo-write-agent--update-silently (list thread)))
  (todo-write-agent thread))

(defun todo-write-agent--tell (thread old new)
  "Tell `todo-write-agent-functions' that the agent of THREAD was OLD and is NEW."
  (unless todo-write-agent--silent
    (let ((inhibit-quit t))
      (todo-write-events-run-functions 'todo-write-agent-functions (list thread old new)))))

(defun todo-write-agent--note (record thread summary)
  "Note in RECORD whether the agent of THREAD made a transition.
SUMMARY is that of its plan."
  (let* ((reported (todo-write-activity-get thread))
         (reason (plist-get reported :reason))
         (activity (todo-write-core-call todo-write-dyn--agent-activity thread))
         (ending (todo-write-agent--stopped (plist-get summary :ending)
                                             (plist-get summary :state))))
    (unless (and (eq activity (todo-write-agent--record-activity record))
                 (eq ending (todo-write-agent--record-ending record))
                 (equal reason (todo-write-agent--record-reason record)))
      (setf (todo-write-agent--record-activity record) activity
            (todo-write-agent--record-ending record) ending
            (todo-write-agent--record-reason record) reason
            (todo-write-agent--record-buffer record) nil
            (todo-write-agent--record-dismissed record) nil
            (todo-write-agent--record-since record)
            (or (plist-get reported :since)
                (plist-get (car (last (todo-write-revisions thread))) :timestamp)
                (todo-write-core-now))
            (todo-write-agent--record-unseen record)
            (if (and (eq activity 'rest)
                     ;; One that was resumed has not worked since it rested, nor one that was
                     ;; found at rest: a follower may find one that has been idle for hours.
                     (>= (todo-write-agent--record-since record) todo-write-agent--began)
                     (> (todo-write-agent--record-since record)
                        (or (todo-write-agent--record-rested record) -1)))
                (not (or (plist-get (todo-write-about thread) :unattended)
                         (todo-write-agent-visible-p thread)))
              ;; A command that no model reads leaves what there was to see.
              (todo-write-agent--record-unseen record)))
      (when (eq activity 'rest)
        (setf (todo-write-agent--record-rested record)
              (todo-write-agent--record-since record))))))

;;; Seen and dismissed

(defun todo-write-agent-visible-p (thread)
  "Return non-nil if a focused frame shows the buffer or the plan of THREAD."
  (seq-some
   (lambda (frame)
     (and (pcase (frame-focus-state frame)
            ('unknown (eq frame (selected-frame)))
            (focused focused))
          (seq-some (lambda (window)
                      (let ((buffer (window-buffer window)))
                        (or (equal thread (buffer-local-value 'todo-write-view-thread buffer))
                            ;; Looking for a terminal takes a millisecond.
                            (and (get-buffer-process buffer)
                                 (eq buffer (todo-write-agent-buffer thread))))))
                    (window-list frame 'no-minibuffer))))
   (frame-list)))

(defun todo-write-agent--look (&rest _)
  "Mark agents that are visible now as seen."
  (pcase-dolist (`(,thread . ,record) todo-write-agent--records)
    (when (and (or (todo-write-agent--record-unseen record)
                   (> (todo-write-agent--record-refused record) 0))
               (todo-write-agent-visible-p thread))
      (todo-write-agent-see thread))))

(defun todo-write-agent-see (thread &optional unseen)
  "Mark the agent of THREAD as seen, or as unseen if UNSEEN is non-nil."
  (when-let* ((record (todo-write-agent--record thread)))
    (setf (todo-write-agent--record-unseen record) (and unseen t))
    (if unseen
        (setf (todo-write-agent--record-dismissed record) nil)
      (todo-write-agent--see-refused record))
    (todo-write-agent--renew record thread nil)))

(defun todo-write-agent-dismiss (thread flag)
  "Treat the agent of THREAD as idle until its next transition if FLAG is non-nil."
  (when-let* ((record (todo-write-agent--record thread)))
    (setf (todo-write-agent--record-dismissed record) (and flag t))
    (todo-write-agent--renew record thread nil)))

;;; Its buffer

(defun todo-write-agent-buffer (thread &optional again)
  "Return the buffer in which the user talks to the agent of THREAD, or nil.
AGAIN non-nil means to look for it again before its next transition."
  (let* ((record (or (todo-write-agent--record thread) (todo-write-agent--make-record)))
         (known (and (not again) (todo-write-agent--record-buffer record))))
    (cond
     ((eq known 'none) nil)
     ((buffer-live-p known) known)
     (t (let* ((pid (todo-write-agent-pid thread))
               (buffer
                (or (seq-find (lambda (buffer)
                                (and (equal thread
                                            (buffer-local-value 'todo-write-view-thread buffer))
                                     ;; Exclude the buffers that only show plans.
                                     (not (string-prefix-p
                                           "todo-write-"
                                           (symbol-name
                                            (buffer-local-value 'major-mode buffer))))))
                              (buffer-list))
                    (todo-write-host-ask #'todo-write-host-visit thread)
                    (and pid (todo-write-terminal-buffer pid)))))
          (setf (todo-write-agent--record-buffer record) (or buffer 'none))
          buffer)))))

(defun todo-write-agent-pid (thread)
  "Return the process id of THREAD's agent, or that of a program of it, or nil.
That is nil if it runs on another machine: the number is another process here."
  (or (plist-get (todo-write-activity-get thread) :process)
      (todo-write-host-ask #'todo-write-host-pid thread)))

(provide 'todo-write-agent)
;;; todo-write-agent.el ends here
