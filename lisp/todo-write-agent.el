;;; todo-write-agent.el --- The agents, and what they do  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `todo-write-agents' lists the agents of this session, and the functions of
;; `todo-write-agent-functions' are told when one of them does something else.  The
;; overview, the mode line and notifications use nothing else.
;;
;; The module says what an agent does, as a plist.  This file keeps what the user saw of it
;; and dismissed, and tells the functions when either changes.  Agents are tracked only
;; while the hook has functions; at other times they are looked up.
;;
;; An agent counts as waiting only if its host says so, never by a guess.  An ended
;; turn does not need you: it is done, and unseen until the agent's buffer or plan
;; was visible in a focused frame.

;;; Code:

(require 'todo-write)
(require 'todo-write-host)

;; Most sessions have no requests, and no agents outside of Emacs.
(autoload 'todo-write-terminal-buffer "todo-write-terminal")

(cl-defstruct (todo-write-agent--entry
               (:constructor todo-write-agent--make-entry) (:copier nil))
  "An agent, and what the user has seen of it.
AGENT is its plist as told last.  UNSEEN means that it came to rest while it
was not visible, DISMISSED that the user dismissed its state.  RESTED is the
time at which it came to rest last.  SEEN is when the user saw its refused
calls last, MISSED the number of those of an earlier session."
  agent unseen dismissed (rested -1) (seen 0) (missed 0))

;;; Names

(defun todo-write-agent-program-label (name)
  "Return what users read for the program NAME, or NAME if it is not known."
  (or (plist-get (todo-write-core-call todo-write-dyn--program name) :label) name))

;;; What a plist tells

(defun todo-write-agent-stopped (agent)
  "Return how AGENT stopped before its tasks were completed, or nil.
AGENT is a plist as from `todo-write-agents'.  An agent without a plan
may exit, but was stopped if it was killed."
  (let ((ending (plist-get agent :ending))
        (state (plist-get (plist-get agent :plan) :state)))
    (pcase ending
      ((guard (or (plist-get agent :activity) (eq state 'done))) nil)
      ((or 'killed 'denied 'error) ending)
      ('session-ended (and (memq state '(active paused)) ending)))))

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
  "Return the sort key of what AGENT does, a number; 0 is first."
  (+ (pcase (plist-get agent :attention)
       ('needs-you 0)
       ('unseen (if (plist-get agent :new) 1 2))
       ('working 3)
       ('idle 4)
       (_ 5))
     (if (todo-write-agent-stopped agent) 0.5 0)))

(defun todo-write-agent-before-p (a b)
  "Return non-nil if agent A sorts before B, plists as from `todo-write-agents'.
Agents that need the user are sorted oldest first, others of the same
rank newest first, those that stopped after the others."
  (let ((rank (todo-write-agent--rank a)) (other (todo-write-agent--rank b))
        (since (plist-get a :since)) (later (plist-get b :since)))
    (cond ((/= rank other) (< rank other))
          ;; A millisecond may have several, whose order must not change by chance.
          ((= since later) (string< (plist-get a :thread) (plist-get b :thread)))
          (t (funcall (if (= rank 0) #'< #'>) since later)))))

;;; Tracking

(defvar todo-write-agent--entries (make-hash-table :test #'equal)
  "The `todo-write-agent--entry's of agents, by the keys of their threads.")

(defvar todo-write-agent--began nil
  "Time at which tracking began, in milliseconds since the epoch, or nil.
Agents are tracked while `todo-write-agent-functions' has functions.")

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
  (unless todo-write-agent--began
    (todo-write-agent--update-all))
  (sort (cl-loop for entry being the hash-values of todo-write-agent--entries
                 collect (todo-write-agent--entry-agent entry))
        #'todo-write-agent-before-p))

(defun todo-write-agent (thread)
  "Return the agent of THREAD as a plist, or nil.
It is as in `todo-write-agents'."
  (unless todo-write-agent--began
    (todo-write-agent--update thread t))
  (when-let* ((entry (gethash thread todo-write-agent--entries)))
    (todo-write-agent--entry-agent entry)))

(defun todo-write-agent-watch (symbol value &optional operation where)
  "Track agents while SYMBOL, `todo-write-agent-functions', has functions.
It gets VALUE by OPERATION in the buffer WHERE.  A variable watcher."
  (let ((on (or value
                ;; A `let' and a buffer's own value only hide the functions of others.
                (and (or where (eq operation 'let)
                         (not (eq (default-value symbol) (default-toplevel-value symbol))))
                     (default-toplevel-value symbol)))))
    (unless (eq (null on) (null todo-write-agent--began))
      (setq todo-write-agent--began (and on (todo-write-core-now)))
      (pcase-dolist (`(,hook . ,function)
                     '((todo-write-events-functions . todo-write-agent--on-event)
                       (window-buffer-change-functions . todo-write-agent--look)
                       (window-selection-change-functions . todo-write-agent--look)))
        (funcall (if on #'add-hook #'remove-hook) hook function))
      (if (not on)
          (remove-function after-focus-change-function #'todo-write-agent--look)
        (add-function :after after-focus-change-function #'todo-write-agent--look)
        (todo-write-agent--update-all)))))

(defun todo-write-agent--update-all ()
  "Update all agents; changes while nothing watched count as seen."
  (let ((keys (and (featurep 'todo-write-dyn)
                   (todo-write-core-call todo-write-dyn--agent-keys))))
    (maphash (lambda (key _) (unless (member key keys) (remhash key todo-write-agent--entries)))
             todo-write-agent--entries)
    (dolist (key keys)
      (todo-write-agent--update key t))))

(defun todo-write-agent--on-event (thread what _data)
  "Update the agent of THREAD after the event WHAT.
For `todo-write-events-functions'."
  ;; It may have been switched off by another function of the same event.
  (when (and todo-write-agent--began (memq what '(change request forgotten)))
    (let ((entry (gethash thread todo-write-agent--entries)))
      (when (or (todo-write-core-call todo-write-dyn--agent-changed-p
                  thread (todo-write-agent--seen entry todo-write-agent--began))
                (null entry)
                (not (eq what 'change)))
        (todo-write-agent--update thread)))))

(defun todo-write-agent--seen (entry began)
  "Return when the refused calls of ENTRY, or nil, were seen last, or else BEGAN."
  (max began (if entry (todo-write-agent--entry-seen entry) 0)))

(defun todo-write-agent--update (thread &optional silently)
  "Update the agent of THREAD, and tell what changed.
If SILENTLY is non-nil, nothing is told, and what it did counts as seen."
  (let* ((began (or (and (not silently) todo-write-agent--began) most-positive-fixnum))
         (entry (gethash thread todo-write-agent--entries))
         (old (and entry (todo-write-agent--entry-agent entry)))
         (known (todo-write-core-call todo-write-dyn--agent
                  thread (todo-write-agent--seen entry began)))
         new)
    (if (null known)
        (remhash thread todo-write-agent--entries)
      (unless entry
        (let ((missed (or (plist-get (plist-get known :about) :refused) 0)))
          (setq entry (todo-write-agent--make-entry
                       :unseen (plist-get (plist-get known :about) :unseen)
                       :missed missed
                       ;; Those that the journal counts are not counted again.
                       :seen (if (> missed 0) (todo-write-core-now) 0)))
          (puthash thread entry todo-write-agent--entries)))
      (setq new (todo-write-agent--of thread known entry began))
      (setf (todo-write-agent--entry-agent entry) new))
    (unless (or silently (equal old new))
      (let ((inhibit-quit t))
        (todo-write-events-run-functions 'todo-write-agent-functions thread old new)))))

(defun todo-write-agent--of (thread known entry began)
  "Return the agent of THREAD, a plist, and note in ENTRY what it did.
KNOWN is what the module knows of it.  What it did before BEGAN counts as
seen."
  (let* ((old (todo-write-agent--entry-agent entry))
         (about (plist-get known :about))
         (does (plist-get known :does))
         (activity (plist-get does :activity))
         (refused (+ (todo-write-agent--entry-missed entry) (plist-get known :refused)))
         (new (todo-write-agent-plist
               thread known
               :activity activity
               :reason (plist-get does :reason)
               :requests (if (featurep 'todo-write-request)
                             (length (todo-write-requests thread))
                           0)
               :background (plist-get does :background)
               :left (plist-get does :left)))
         (goes-on (and old (cl-loop for part in '(:activity :reason)
                                    always (equal (plist-get old part) (plist-get new part)))
                       (eq (todo-write-agent-stopped old) (todo-write-agent-stopped new))))
         (since (plist-get (if goes-on old does) :since)))
    (unless goes-on
      (setf (todo-write-agent--entry-dismissed entry) nil)
      (unless activity
        ;; One that was resumed has not worked since it rested, nor one that was found at
        ;; rest: a follower may find one that has been idle for hours.  After a command that
        ;; no model reads, there is to see what there was before.
        (when (and (>= since began) (> since (todo-write-agent--entry-rested entry)))
          (setf (todo-write-agent--entry-unseen entry)
                (not (or (plist-get about :unattended) (todo-write-agent-visible-p thread)))))
        (setf (todo-write-agent--entry-rested entry) since)))
    (when (and (> refused 0) (todo-write-agent-visible-p thread))
      (todo-write-agent--see-refused entry)
      (setq refused 0))
    (let* ((dismissed (todo-write-agent--entry-dismissed entry))
           (unseen (and (todo-write-agent--entry-unseen entry) (not dismissed))))
      (unless (and (eq unseen (plist-get about :unseen))
                   (= refused (or (plist-get about :refused) 0)))
        (todo-write-core-call todo-write-dyn--keep-unseen thread unseen refused))
      `( :since ,since :refused ,refused :dismissed ,dismissed
         :attention ,(pcase activity
                       ('unknown 'unknown)
                       ((guard dismissed) 'idle)
                       ((or 'waiting 'failed) 'needs-you)
                       ('working 'working)
                       ('suspended 'idle)
                       (_ (if unseen 'unseen 'idle)))
         ,@new))))

(defun todo-write-agent--see-refused (entry)
  "Note in ENTRY that the user sees the refused calls."
  (setf (todo-write-agent--entry-seen entry) (todo-write-core-now)
        (todo-write-agent--entry-missed entry) 0))

(defun todo-write-agent-plist (thread known &rest more)
  "Return the plist of the agent of THREAD with the keys MORE.
KNOWN is a plist: :about, as from `todo-write-about'; :plan, the summary of
its plan; and :new, the number of files that were not reviewed."
  (pcase-let* (((map :about :plan :new) known)
               ((map :agent :project) about)
               (goal (and (eq 'empty (plist-get plan :state)) (plist-get plan :goal))))
    `( :plan ,plan
       :thread ,thread
       :agent ,agent
       :project ,project
       :machine ,(todo-write-machines-host thread project)
       :title ,(plist-get (or goal plan) (if goal :text :title))
       :ending ,(plist-get plan :ending)
       :new ,(and new (> new 0) new)
       :context ,(plist-get plan :context)
       :contextTokens ,(plist-get plan :contextTokens)
       ,@more)))

(defun todo-write-agent-restore (thread)
  "Load THREAD if it is of an earlier session; return its agent, or nil."
  (todo-write-restore thread)
  (unless (gethash thread todo-write-agent--entries)
    (todo-write-agent--update thread t))
  (todo-write-agent thread))

;;; Seen and dismissed

(defun todo-write-agent-visible-p (thread)
  "Return non-nil if a focused frame shows the buffer or the plan of THREAD."
  (let ((buffers (cl-loop for frame in (frame-list)
                          when (pcase (frame-focus-state frame)
                                 ('unknown (eq frame (selected-frame)))
                                 (focused focused))
                          append (mapcar #'window-buffer (window-list frame 'no-minibuffer)))))
    (or (seq-some (lambda (buffer)
                    (equal thread (buffer-local-value 'todo-write-view-thread buffer)))
                  buffers)
        ;; Looking for a terminal takes time.
        (and (seq-some #'get-buffer-process buffers)
             (memq (todo-write-agent-buffer thread) buffers)))))

(defun todo-write-agent--look (&rest _)
  "Mark agents that are visible now as seen."
  (mapc #'todo-write-agent-see
        (cl-loop for thread being the hash-keys of todo-write-agent--entries
                 using (hash-values entry)
                 when (and (or (todo-write-agent--entry-unseen entry)
                               (> (plist-get (todo-write-agent--entry-agent entry) :refused) 0))
                           (todo-write-agent-visible-p thread))
                 collect thread)))

(defun todo-write-agent-see (thread &optional unseen)
  "Mark the agent of THREAD as seen, or as unseen if UNSEEN is non-nil."
  (when-let* ((entry (gethash thread todo-write-agent--entries)))
    (setf (todo-write-agent--entry-unseen entry) (and unseen t))
    (if unseen
        (setf (todo-write-agent--entry-dismissed entry) nil)
      (todo-write-agent--see-refused entry))
    (todo-write-agent--update thread)))

(defun todo-write-agent-dismiss (thread flag)
  "Treat the agent of THREAD as idle until its next transition if FLAG is non-nil."
  (when-let* ((entry (gethash thread todo-write-agent--entries)))
    (setf (todo-write-agent--entry-dismissed entry) (and flag t))
    (todo-write-agent--update thread)))

;;; Its buffer

(defun todo-write-agent-buffer (thread)
  "Return the buffer in which the user talks to the agent of THREAD, or nil."
  (or (seq-find (lambda (buffer)
                  (and (equal thread (buffer-local-value 'todo-write-view-thread buffer))
                       ;; Exclude the buffers that only show plans.
                       (not (string-prefix-p
                             "todo-write-"
                             (symbol-name (buffer-local-value 'major-mode buffer))))))
                (buffer-list))
      (todo-write-host-ask #'todo-write-host-visit thread)
      (when-let* ((pid (todo-write-agent-pid thread)))
        (todo-write-terminal-buffer pid))))

(defun todo-write-agent-pid (thread)
  "Return the process id of THREAD's agent, or that of a program of it, or nil.
That is nil if it runs on another machine: the number is another process here."
  (plist-get (todo-write-events-activity thread) :process))

;;; Agents in files that you are editing

;; When an agent changes a file that a buffer of yours visits with unsaved edits, this
;; is said once.  Only Emacs can know it.  Buffers are found by their names: nothing
;; touches the disk.

(defvar todo-write-agent--looked (make-hash-table :test #'equal)
  "The times of the newest changes that were looked at, by threads.")

(defvar todo-write-agent--unedited 0
  "When no buffer had unsaved edits, in milliseconds since the epoch.")

(defvar todo-write-agent--clashes nil
  "What was said and may still hold, a list of (THREAD PATH . BUFFER).
The newest is first.")

(defun todo-write-agent--edited-p (buffer)
  "Return non-nil if BUFFER visits a file and has unsaved edits."
  (and (buffer-live-p buffer) (buffer-file-name buffer) (buffer-modified-p buffer)))

(defun todo-write-agent-edited-buffer (thread path)
  "Return the buffer with unsaved edits that visits PATH of THREAD's agent, or nil."
  (let ((name (concat (todo-write-machines-prefix (todo-write-machines-of-thread thread)) path))
        file-name-handler-alist)
    (seq-find (lambda (buffer)
                (and (todo-write-agent--edited-p buffer)
                     (or (equal name (buffer-file-name buffer))
                         ;; The true name, as it was when the file was visited.
                         (when-let* ((true (buffer-local-value 'buffer-file-truename buffer)))
                           (equal name (expand-file-name true))))))
              (buffer-list))))

(defun todo-write-agent--on-edit-event (thread what _data)
  "Look soon at what agents changed, after the event WHAT of THREAD.
For `todo-write-events-functions'."
  (pcase what
    ('change
     (todo-write-later #'todo-write-agent--look-for-clashes))
    ('forgotten
     (remhash thread todo-write-agent--looked)
     (setq todo-write-agent--clashes (assoc-delete-all thread todo-write-agent--clashes)))))

(add-hook 'todo-write-events-functions #'todo-write-agent--on-edit-event)

(defun todo-write-agent--look-for-clashes ()
  "Look at what agents changed since the last time, if the user edits any file."
  (setq todo-write-agent--clashes
        (seq-filter (lambda (clash) (todo-write-agent--edited-p (cddr clash)))
                    todo-write-agent--clashes))
  (if (not (seq-some #'todo-write-agent--edited-p (buffer-list)))
      (setq todo-write-agent--unedited (todo-write-core-now))
    (todo-write-events-apply-each
     #'todo-write-agent--look-at-changes
     (seq-remove #'todo-write-events-reading (todo-write-threads-loaded)))))

(defun todo-write-agent--look-at-changes (thread)
  "Say which files that you edit the agent of THREAD changed since the last time."
  (let* (;; What is older is no news, as while an old session is read.
         (seen (max (gethash thread todo-write-agent--looked (- (todo-write-core-now) 60000))
                    ;; The clock of another machine may be behind.
                    (if (todo-write-machines-of-thread thread) 0 todo-write-agent--unedited)))
         (new-p (lambda (call) (> (plist-get call :timestamp) seen)))
         ;; Most changes do not come from a call, and few from several.
         (calls (cl-loop for count in '(1 4 32)
                         for calls = (todo-write-observations thread :type "TOOL_EXECUTION"
                                                              :limit count)
                         while (and (= count (length calls)) (funcall new-p (aref calls 0)))
                         finally return calls)))
    (seq-doseq (call (seq-filter new-p calls))
      (puthash thread (plist-get call :timestamp) todo-write-agent--looked)
      (seq-doseq (file (plist-get (plist-get call :metadata) :files))
        (when-let* ((path (plist-get file :path))
                    (buffer (todo-write-agent-edited-buffer thread path)))
          (todo-write-agent--say-clash thread path buffer))))))

(defun todo-write-agent--say-clash (thread path buffer)
  "Say that the agent of THREAD changed PATH, which BUFFER visits.
This is said once until the edits there are saved or given up."
  (unless (member `(,thread ,path . ,buffer) todo-write-agent--clashes)
    (push `(,thread ,path . ,buffer) todo-write-agent--clashes)
    (with-current-buffer buffer
      (dolist (hook '(after-save-hook after-revert-hook))
        (add-hook hook #'todo-write-agent--tell-clashes nil t)))
    (let ((title (plist-get (todo-write-summary thread) :title))
          (agent (plist-get (todo-write-about thread) :agent)))
      (message "%s%s %s"
               (if agent
                   (todo-write-text-line (todo-write-agent-program-label agent) 20)
                 "The agent")
               (if title (format " (%s)" (todo-write-text-line title 30)) "")
               (todo-write-agent-unsaved-note thread)))
    (todo-write-agent--tell-clashes)))

(defun todo-write-agent--tell-clashes ()
  "Tell that the notes of all threads with clashes may have changed."
  (let ((inhibit-quit t))
    (dolist (thread (seq-uniq (mapcar #'car todo-write-agent--clashes)))
      (todo-write-events-dispatch thread 'change))))

(defun todo-write-agent-unsaved-note (thread)
  "Return which file THREAD's agent changed while you are editing it, or nil."
  (pcase (seq-find (pcase-lambda (`(,key ,_ . ,buffer))
                     (and (equal thread key) (todo-write-agent--edited-p buffer)))
                   todo-write-agent--clashes)
    (`(,_ ,path . ,_)
     (format "changed %s, which you are editing"
             ;; The agent chose the name, so no file name handler may see it.
             (todo-write-text-line (let (file-name-handler-alist) (file-name-nondirectory path))
                                   40)))))

(provide 'todo-write-agent)
;;; todo-write-agent.el ends here
