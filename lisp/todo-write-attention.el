;;; todo-write-attention.el --- Which agent needs you  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Tracks the state of each agent, whether it needs you, and whether you have seen
;; its result; sorts agents; and finds their buffers.  The overview, the mode line
;; and notifications watch them.
;;
;; M-x todo-write-next-waiting goes to the agent that has waited longest.
;;
;; An agent counts as waiting only if its host says so, never by a guess.  An ended
;; turn does not need you: it is done, and unseen until the agent's buffer or plan
;; was visible in a focused frame.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'todo-write)
(require 'todo-write-remote)
(require 'todo-write-row)
(require 'todo-write-story)
(require 'todo-write-view)

(defface todo-write-attention
  '((((class color) (min-colors 16)) :weight bold :foreground "#ffffff" :background "#a40000")
    (((class color)) :weight bold :foreground "white" :background "red")
    (t :weight bold :inverse-video t))
  "Face of agents that wait for you.
It sets both colors, so that it can be read on any mode line."
  :group 'todo-write-faces)

(cl-defstruct (todo-write-agent (:constructor todo-write-agent--make) (:copier nil))
  "An agent.
KEY is the key of its thread.  PROJECT (a folder), PROGRAM (a name) and
TITLE may be nil.  ACTIVITY is `waiting', `failed', `working', `rest',
`suspended' or `unknown', REASON what its host says of it, and SINCE
the time of the transition in milliseconds since the epoch.  ENDING is
how it ended, as in `todo-write-summary', if it stopped before its tasks
were completed, else nil.  UNSEEN means that it came to rest while it was
not visible, DISMISSED that the user dismissed this state.  RESTED is the
time at which it came to rest last, as SINCE.  UNATTENDED means that no
user looks at it, as at one that prints its answer for a script.  LEFT
means that the user left its session for another one.  BUFFER
caches its own buffer until the next transition; `none' means that it has
none.
REPOSITORY is the name of the repository of which PROJECT is a
linked worktree, `none' if it is not, nil if that is unknown.  REFUSALS
is the number of its calls that had been refused when it was last seen."
  key project program title activity reason since ending unseen dismissed rested unattended
  left buffer repository (refusals 0))

;;; States and their order

(defun todo-write-attention--ending (ending plan)
  "Return ENDING if it left tasks undone, else nil; PLAN is the plan's state.
An agent without a plan may exit, but was stopped if it was killed."
  (pcase ending
    ((guard (eq plan 'done)) nil)
    ((or 'killed 'denied 'error) ending)
    ('session-ended (and (memq plan '(active paused)) ending))))

(defun todo-write-agent-attention (agent)
  "Return the attention that AGENT asks for, a symbol.
It is `needs-you', `unseen', `working', `idle' or `unknown'."
  (pcase (todo-write-agent-activity agent)
    ('unknown 'unknown)
    ((guard (todo-write-agent-dismissed agent)) 'idle)
    ((or 'waiting 'failed) 'needs-you)
    ('working 'working)
    ('suspended 'idle)
    (_ (if (todo-write-agent-unseen agent) 'unseen 'idle))))

(defun todo-write-agent-state (agent)
  "Return the state of AGENT as a symbol.
It is `waiting', `failed', `done', `stopped', `working', `suspended',
`idle' or `unknown'.  It is `stopped' if it ended before its tasks were
completed, which is not the end of a turn."
  (pcase (todo-write-agent-activity agent)
    ('rest (cond ((todo-write-agent-ending agent) 'stopped)
                 ((todo-write-agent-unseen agent) 'done)
                 (t 'idle)))
    (activity activity)))

(defun todo-write-agent-ending-words (agent)
  "Return how AGENT stopped, in words, or nil if nothing need be said."
  (pcase (todo-write-agent-ending agent)
    ('killed "killed")
    ('denied "permission denied")
    ('error "error")))

(defun todo-write-attention--rank (agent)
  "Return the sort key of AGENT's attention, a number; 0 is first."
  (pcase (todo-write-agent-attention agent)
    ('needs-you 0)
    ('unseen 1)
    ('working 2)
    ('idle 3)
    (_ 4)))

(defun todo-write-attention--needed-p (agent)
  "Return non-nil if AGENT needs the user."
  (= 0 (todo-write-attention--rank agent)))

(defun todo-write-attention--before-p (a b)
  "Return non-nil if agent A sorts before B.
Agents that need the user are sorted oldest first, others of the same
rank newest first, those that stopped after the others."
  (let ((rank (todo-write-attention--rank a))
        (stopped (eq 'stopped (todo-write-agent-state a))))
    (cond ((/= rank (todo-write-attention--rank b))
           (< rank (todo-write-attention--rank b)))
          ((not (eq stopped (eq 'stopped (todo-write-agent-state b)))) (not stopped))
          (t (funcall (if (= rank 0) #'< #'>)
                      (todo-write-agent-since a) (todo-write-agent-since b))))))

(defun todo-write-agent-folder (agent)
  "Return the base name of AGENT's project folder, or nil.
On another machine, it is HOST:FOLDER."
  (let* ((project (todo-write-agent-project agent))
         (host (todo-write-remote--host (todo-write-agent-key agent) project))
         ;; It may be remote, and a host may say anything.
         file-name-handler-alist)
    (and project
         (concat (and host (concat (todo-write-row-line host) ":"))
                 (todo-write-row-line
                  (file-name-nondirectory
                   (directory-file-name (todo-write-remote--local-name project))))))))

(defun todo-write-agent-place (agent)
  "Return the name of AGENT's project, or nil.
For a linked worktree, that is REPOSITORY/WORKTREE."
  (let ((folder (todo-write-agent-folder agent))
        (repository (todo-write-agent--repository agent)))
    (if (and folder repository)
        (concat (todo-write-row-line repository) "/" folder)
      folder)))

(defun todo-write-agent--repository (agent)
  "Return the name of the repository of AGENT's project, a linked worktree, or nil.
The agent keeps the answer, since it is displayed often."
  (let ((known (todo-write-agent-repository agent)))
    (unless known
      (setq known (or (todo-write-attention--worktree-of (todo-write-agent-project agent))
                      'none))
      (setf (todo-write-agent-repository agent) known))
    (and (stringp known) known)))

(defun todo-write-agent-host (agent)
  "Return the name of the machine of AGENT, or nil for this one."
  (todo-write-remote--host (todo-write-agent-key agent) (todo-write-agent-project agent)))

(defun todo-write-attention--worktree-of (project)
  "Return the name of the repository of the worktree PROJECT, or nil.
There, .git is a file that names REPOSITORY/.git/worktrees/NAME."
  (let (file-name-handler-alist)
    (when-let* (((stringp project))
                (bytes (todo-write--file-bytes (expand-file-name ".git" project) 4096))
                ((string-match "\\`gitdir: \\(.+\\)/\\.git/worktrees/[^/\n]+\n?\\'" bytes)))
      (decode-coding-string (file-name-nondirectory (match-string 1 bytes)) 'utf-8))))

(defun todo-write-agent-path (agent)
  "Return the folder of AGENT's project for display, or nil."
  (let ((project (todo-write-agent-project agent))
        file-name-handler-alist)
    (and project (todo-write-row-line (abbreviate-file-name project)))))

(defun todo-write-agent-name (agent)
  "Return a short name for AGENT: its project, else its title."
  (or (todo-write-agent-folder agent) (todo-write-agent-label agent)))

(defun todo-write-agent-label (agent)
  "Return the title of AGENT, else the key of its thread."
  (todo-write-row-line (or (todo-write-agent-title agent) (todo-write-agent-key agent))))

(defun todo-write-attention--line (agent)
  "Return the name of AGENT and what it needs, in one line."
  (let ((state (todo-write-agent-state agent)) (reason (todo-write-agent-reason agent)))
    (format "%s: %s" (todo-write-agent-name agent)
            (cond ((null reason) state)
                  ((eq state 'failed) (concat "failed: " (todo-write-row-line reason)))
                  (t (todo-write-row-line reason))))))

;;; Agents

(defvar todo-write-attention--agents nil
  "Alist of threads' keys and the agents of this session, oldest first.
A list, since counting runs after each write and must not allocate.")

(defvar todo-write-attention--watchers nil
  "Symbols of the features that need `todo-write-attention--agents' up to date.")

(defvar todo-write-attention--silent nil
  "Non-nil means to dispatch no events of agents.")

(defvar todo-write-attention--began 0
  "Time at which the first of the watchers began to watch.
In milliseconds since the epoch.")

(defun todo-write-attention--watch (watcher on)
  "Track agents while WATCHER, a symbol, needs it: from non-nil ON until nil.
`todo-write--event-functions' are called for their changes."
  (let ((before todo-write-attention--watchers))
    (setq todo-write-attention--watchers (remq watcher before))
    (when on
      (push watcher todo-write-attention--watchers))
    (unless (eq (null before) (null todo-write-attention--watchers))
      (todo-write-attention--track on))))

(defun todo-write-attention--track (on)
  "Track agents and which of them are visible if ON is non-nil, else stop."
  (when on
    (setq todo-write-attention--began (todo-write--now))
    (todo-write-attention--update-all))
  (pcase-dolist (`(,hook . ,function)
                 '((todo-write--event-functions . todo-write-attention--on-event)
                   (window-buffer-change-functions . todo-write-attention--look)
                   (window-selection-change-functions . todo-write-attention--look)))
    (funcall (if on #'add-hook #'remove-hook) hook function))
  (if on
      (add-function :after after-focus-change-function #'todo-write-attention--look)
    (remove-function after-focus-change-function #'todo-write-attention--look)))

(defun todo-write-attention--update-all ()
  "Update all agents; changes while nothing watched count as seen."
  (let ((keys (seq-union (todo-write-threads-loaded)
                         (and (featurep 'todo-write-dyn)
                              (todo-write--call todo-write-dyn--reported)))))
    (setq todo-write-attention--agents
          (seq-filter (lambda (entry) (member (car entry) keys)) todo-write-attention--agents))
    ;; No agent is new then.
    (let ((todo-write-attention--silent t)
          (todo-write-attention--began most-positive-fixnum))
      (mapc #'todo-write-attention--update keys))))

(defun todo-write-attention--sorted-agents ()
  "Return the agents of this session, sorted, without subagents."
  (unless todo-write-attention--watchers
    (todo-write-attention--update-all))
  (sort (mapcar #'cdr todo-write-attention--agents) #'todo-write-attention--before-p))

(defun todo-write-attention--count (&optional thread)
  "Count agents by state; return a list (FIRST NEEDED WORKING UNSEEN).
FIRST is the agent that has waited for the user longest, NEEDED the
number of those that wait.  WORKING and UNSEEN are numbers that leave out
the agent of THREAD, a key; UNSEEN leaves out those that stopped, too."
  (let ((needed 0) (working 0) (unseen 0) first)
    (pcase-dolist (`(,key . ,agent) todo-write-attention--agents)
      (pcase (todo-write-attention--rank agent)
        (0 (cl-incf needed)
           (when (or (null first) (todo-write-attention--before-p agent first))
             (setq first agent)))
        (1 (unless (or (equal key thread) (eq 'stopped (todo-write-agent-state agent)))
             (cl-incf unseen)))
        (2 (unless (equal key thread) (cl-incf working)))))
    (list first needed working unseen)))

(defun todo-write-attention--agent (thread)
  "Return the agent of THREAD, a key, or nil."
  (cdr (assoc thread todo-write-attention--agents)))

(defun todo-write-attention--add (thread)
  "Add an agent for THREAD, a key, and return it."
  (let ((agent (todo-write-agent--make :key thread :refusals (todo-write--refused thread))))
    (setq todo-write-attention--agents
          (nconc todo-write-attention--agents (list (cons thread agent))))
    agent))

(defun todo-write-attention--on-event (thread what data)
  "Update the agent of THREAD after the event WHAT with DATA.
For `todo-write--event-functions'."
  (pcase what
    ('forgotten
     (when-let* ((agent (todo-write-attention--agent thread)))
       (setq todo-write-attention--agents
             (assoc-delete-all thread todo-write-attention--agents))
       (todo-write-attention--dispatch agent 'agent-gone)))
    ('change
     (todo-write-attention--update thread (todo-write--summary-after thread data)))
    ('state
     ;; A session may move to another project.
     (when-let* ((agent (todo-write-attention--agent thread)))
       (setf (todo-write-agent-project agent) nil
             (todo-write-agent-repository agent) nil))
     (todo-write-attention--update thread))
    ((or 'activity (and 'observed (guard (equal data "TITLE"))))
     (todo-write-attention--update thread))))

(defun todo-write-attention--dispatch (agent what)
  "Report that WHAT happened to AGENT; see `todo-write--event-functions'."
  (unless todo-write-attention--silent
    (let ((inhibit-quit t))
      (todo-write--dispatch (todo-write-agent-key agent) what agent))))

(defun todo-write-attention--update (thread &optional summary)
  "Update the agent of THREAD and dispatch what changed.
SUMMARY is the `todo-write-summary' of THREAD if the caller has it."
  (when-let* ((agent (or (todo-write-attention--agent thread)
                         (unless (todo-write-parent thread)
                           (todo-write-attention--add thread))))
              (summary (or summary (todo-write-summary thread))))
    (setf (todo-write-agent-title agent) (plist-get summary :title))
    (when todo-write-attention--silent
      (setf (todo-write-agent-refusals agent) (todo-write--refused thread)))
    (unless (todo-write-agent-project agent)
      (let ((about (todo-write-about thread)))
        (setf (todo-write-agent-project agent) (plist-get about :project)
              (todo-write-agent-program agent) (plist-get about :agent)
              (todo-write-agent-unattended agent) (plist-get about :unattended))))
    (todo-write-attention--dispatch
     agent (if (todo-write-attention--note agent summary)
               'agent-transition 'agent-change))))

(defun todo-write-attention--note (agent summary)
  "Update the state of AGENT; return non-nil if it changed.
SUMMARY is that of its plan."
  (let* ((key (todo-write-agent-key agent))
         (plan (plist-get summary :state))
         (reported (todo-write-activity--get key))
         (since (plist-get reported :since))
         (activity (todo-write--call todo-write-dyn--agent-activity key))
         (reason (todo-write-attention--reason key activity (plist-get reported :reason)))
         (ending (todo-write-attention--ending (plist-get summary :ending) plan)))
    (setf (todo-write-agent-left agent) (plist-get reported :left))
    (unless (and (eq activity (todo-write-agent-activity agent))
                 (eq ending (todo-write-agent-ending agent))
                 (equal reason (todo-write-agent-reason agent)))
      (setf (todo-write-agent-activity agent) activity
            (todo-write-agent-ending agent) ending
            (todo-write-agent-reason agent) reason
            (todo-write-agent-buffer agent) nil
            (todo-write-agent-dismissed agent) nil
            (todo-write-agent-since agent)
            (or since
                (plist-get (car (last (todo-write-revisions key))) :timestamp)
                (todo-write--now))
            (todo-write-agent-unseen agent)
            (if (and (eq activity 'rest) (todo-write-attention--worked-p agent))
                (not (or (todo-write-agent-unattended agent)
                         (todo-write-attention--visible-p agent)))
              ;; A command that no model reads leaves what there was to see.
              (todo-write-agent-unseen agent)))
      (when (eq activity 'rest)
        (setf (todo-write-agent-rested agent) (todo-write-agent-since agent)))
      t)))

(defun todo-write-attention--reason (thread activity reason)
  "Return why the agent of THREAD has ACTIVITY, for which its host says REASON.
For a dialog of which the host tells no more, that has the call that it
is most likely about: the last one without a result."
  (or (when-let* (((eq activity 'waiting))
                  ((member reason '("permission prompt" "dialog open")))
                  ((not (todo-write-requests thread)))
                  (call (todo-write-attention--pending-call thread)))
        (concat reason ": " call))
      reason))

(defun todo-write-attention--pending-call (thread)
  "Return the newest call of THREAD that has no result yet, as a line, or nil."
  (let ((project (plist-get (todo-write-about thread) :project))
        (done (make-hash-table :test #'equal))
        found)
    (seq-doseq (observation (reverse (todo-write-observations
                                      thread :types '("TOOL_CALL" "TOOL_EXECUTION") :limit 20)))
      (let ((id (plist-get (plist-get observation :metadata) :callId))
            (fields (plist-get observation :content)))
        (cond ((equal "TOOL_EXECUTION" (plist-get observation :type)) (puthash id t done))
              ((or found (null id) (gethash id done) (not (consp fields))) nil)
              (t (setq found (todo-write-row--command
                              (todo-write-story--text fields project) 200))))))
    found))

(defun todo-write-attention--new-p (agent)
  "Return non-nil if AGENT changed its state after watching began.
A follower may find an agent that has been idle or waiting for hours."
  (>= (todo-write-agent-since agent) todo-write-attention--began))

(defun todo-write-attention--worked-p (agent)
  "Return non-nil if AGENT, which is at rest, worked since it rested last.
One that was resumed has not."
  (let ((rested (todo-write-agent-rested agent)))
    (and (todo-write-attention--new-p agent)
         (or (null rested) (> (todo-write-agent-since agent) rested)))))

;;; Seen and dismissed

(defun todo-write-attention--visible-p (agent)
  "Return non-nil if a focused frame shows the buffer or the plan of AGENT."
  (seq-some
   (lambda (frame)
     (and (todo-write-attention--focused-p frame)
          (seq-some (lambda (window)
                      (let ((buffer (window-buffer window)))
                        (or (equal (todo-write-agent-key agent)
                                   (buffer-local-value 'todo-write-view-thread buffer))
                            ;; Looking for a terminal takes a millisecond.
                            (and (get-buffer-process buffer)
                                 (eq buffer (todo-write-attention--buffer agent))))))
                    (window-list frame 'no-minibuffer))))
   (frame-list)))

(defun todo-write-attention--focused-p (frame)
  "Return non-nil if FRAME has the focus, as far as its terminal knows."
  (pcase (frame-focus-state frame)
    ('unknown (eq frame (selected-frame)))
    (focused focused)))

(defun todo-write-attention--look (&rest _)
  "Mark agents that are visible now as seen, and what they were refused."
  (pcase-dolist (`(,_ . ,agent) todo-write-attention--agents)
    (let ((refused (> (todo-write-attention--new-refusals agent) 0)))
      (when (and (or refused (todo-write-agent-unseen agent))
                 (todo-write-attention--visible-p agent))
        (setf (todo-write-agent-refusals agent)
              (todo-write--refused (todo-write-agent-key agent)))
        (if (todo-write-agent-unseen agent)
            (todo-write-attention--see agent)
          (todo-write-attention--dispatch agent 'agent-change))))))

(defun todo-write-attention--refusal-words (agent)
  "Return how many calls of AGENT were refused since the user saw it, or nil."
  (let ((number (todo-write-attention--new-refusals agent)))
    (when (> number 0)
      (format "%s%d refused" (todo-write-row--shape 'refused) number))))

(defun todo-write-attention--new-refusals (agent)
  "Return how many calls of AGENT were refused since the user saw it.
What there was before watching began is not new."
  (if (todo-write-attention--new-p agent)
      (max 0 (- (todo-write--refused (todo-write-agent-key agent))
                (todo-write-agent-refusals agent)))
    0))

(defun todo-write-attention--see (agent &optional unseen)
  "Mark AGENT as seen, or as unseen if UNSEEN is non-nil."
  (let ((unseen (and unseen t)))
    (unless (eq unseen (todo-write-agent-unseen agent))
      (setf (todo-write-agent-unseen agent) unseen)
      (todo-write-attention--dispatch agent 'agent-transition))))

(defun todo-write-attention--dismiss (agent flag)
  "Treat AGENT as idle until its next transition; FLAG nil undoes that."
  (setf (todo-write-agent-dismissed agent) flag)
  (todo-write-attention--dispatch agent 'agent-transition))

;;; Going there

(defun todo-write-attention--buffer (agent)
  "Return the buffer in which the user talks to AGENT, or nil."
  (let ((known (todo-write-agent-buffer agent)))
    (cond ((eq known 'none) nil)
          ((buffer-live-p known) known)
          (t (let* ((pid (todo-write-attention--pid agent))
                    (buffer (or (todo-write-attention--chat (todo-write-agent-key agent))
                                (and pid (todo-write-attention--terminal pid)))))
               (setf (todo-write-agent-buffer agent) (or buffer 'none))
               buffer)))))

(defun todo-write-attention--chat (thread)
  "Return the host's buffer for THREAD, or nil."
  (seq-find (lambda (buffer)
              (and (equal thread (buffer-local-value 'todo-write-view-thread buffer))
                   ;; Exclude the buffers that only show plans.
                   (not (string-prefix-p "todo-write-" (symbol-name (buffer-local-value
                                                                     'major-mode buffer))))))
            (buffer-list)))

(defun todo-write-attention--pid (agent)
  "Return the id of AGENT's process, or that of a program of it, or nil.
That is nil if it runs on another machine: the number is another process here."
  (plist-get (todo-write-activity--get (todo-write-agent-key agent)) :process))

(defun todo-write-attention--processes (pid)
  "Return the process PID and its ancestors as a list of (PID . ATTRIBUTES)."
  ;; In a remote folder `process-attributes' would ask the remote host.
  (let ((default-directory (expand-file-name "/")))
    (cl-loop repeat 64
             for attributes = (and pid (> pid 1) (process-attributes pid))
             while attributes
             collect (cons pid attributes)
             do (setq pid (alist-get 'ppid attributes)))))

(defun todo-write-attention--terminal (pid)
  "Return the terminal buffer of this Emacs in which process PID runs, or nil.
It is that of an ancestor, or of a process with the same terminal."
  (let* ((chain (todo-write-attention--processes pid))
         (tty (todo-write-attention--tty (alist-get 'ttname (cdar chain)))))
    (seq-some (lambda (process)
                (and (or (assq (process-id process) chain)
                         (and tty (equal tty (todo-write-attention--tty
                                              (process-tty-name process)))))
                     (process-buffer process)))
              (process-list))))

(defun todo-write-attention--tty (name)
  "Normalize the terminal NAME: /dev/pts0 and /dev/pts/0 are the same."
  (and (stringp name) (not (string-empty-p name)) (string-replace "pts/" "pts" name)))

(defun todo-write-attention--tmux-pane (pid)
  "Return the name of the tmux pane in which the process PID runs, or nil."
  (let ((default-directory (expand-file-name "/"))
        (chain (todo-write-attention--processes pid)))
    (seq-some (lambda (line)
                (pcase (split-string line " ")
                  (`(,pane ,name) (and (assq (string-to-number pane) chain) name))))
              ;; There is no tmux, or no server of it.
              (ignore-errors
                (process-lines "tmux" "list-panes" "-a" "-F"
                               "#{pane_pid} #{session_name}:#{window_index}.#{pane_index}")))))

(defun todo-write-attention--place (agent)
  "Return where AGENT runs, in words, or nil if that is unknown."
  (let* ((pid (todo-write-attention--pid agent))
         (pane (and pid (todo-write-attention--tmux-pane pid)))
         (tty (and pid (alist-get 'ttname (cdar (todo-write-attention--processes pid))))))
    (cond ((todo-write-attention--buffer agent)
           (format "the buffer %s" (buffer-name (todo-write-attention--buffer agent))))
          (pane (format "the tmux pane %s" (todo-write-row-line pane)))
          ((and (stringp tty) (not (string-empty-p tty))) (format "the terminal %s" tty))
          (pid (format "process %d" pid))
          ((todo-write-agent-host agent)
           (format "a terminal of %s" (todo-write-row-line (todo-write-agent-host agent)))))))

(defun todo-write-attention--visit (agent)
  "Go to the buffer of AGENT, else show its plan and say where it runs."
  (setf (todo-write-agent-buffer agent) nil)
  (if-let* ((buffer (todo-write-attention--buffer agent)))
      (pop-to-buffer buffer)
    (let* ((key (todo-write-agent-key agent))
           (pid (todo-write-attention--pid agent))
           (pane (and pid (todo-write-attention--tmux-pane pid)))
           (folder (todo-write-agent-path agent)))
      (todo-write-restore key)
      (todo-write-show key t)
      (message "%s"
               (concat (todo-write-agent-name agent) " has no buffer in this Emacs"
                       (and-let* ((host (todo-write-agent-host agent)))
                         (concat "; it is on " (todo-write-row-line host)))
                       (and pid (format "; process %d" pid))
                       (and pane (format ", tmux pane %s" (todo-write-row-line pane)))
                       (and folder (concat " in " folder))))))
  (todo-write-attention--see agent))

(defun todo-write-attention--visit-agent-of (thread)
  "Go to the buffer of the agent of THREAD; see `todo-write-attention--visit'."
  (todo-write-attention--visit
   (or (todo-write-attention--agent thread)
       (todo-write-agent--make :key thread
                               :project (plist-get (todo-write-about thread) :project)))))

(defun todo-write-attention--attend (agent)
  "Show what AGENT asks, to answer it; if it asks nothing, go to it."
  (if (todo-write-requests (todo-write-agent-key agent))
      (todo-write-answer (todo-write-agent-key agent))
    (todo-write-attention--visit agent)))

(defvar todo-write-attention--tour nil
  "The agents visited by `todo-write-next-waiting', or nil.
A list (CONFIGURATION BUFFER KEY...): the window configuration before the
first visit, the buffer of the last one, and the threads visited.")

;;;###autoload
(defun todo-write-next-waiting (&optional choose)
  "Go to the agent that has waited for you longest, in its own buffer.
Called again from there, go to the next; after the last, back to where
you were.  With a prefix argument CHOOSE, read any agent with completion."
  (interactive "P")
  (if choose
      (todo-write-attention--visit-agent-of (todo-write-list--read "Go to: "))
    (unless (eq (current-buffer) (nth 1 todo-write-attention--tour))
      (setq todo-write-attention--tour nil))
    (pcase-let* ((`(,before ,_ . ,visited) todo-write-attention--tour)
                 (next (seq-find (lambda (agent)
                                   (and (todo-write-attention--needed-p agent)
                                        (not (member (todo-write-agent-key agent) visited))))
                                 (todo-write-attention--sorted-agents))))
      (setq todo-write-attention--tour nil)
      (cond (next
             (let ((before (or before (current-window-configuration))))
               (todo-write-attention--visit next)
               (setq todo-write-attention--tour
                     `(,before ,(current-buffer) ,(todo-write-agent-key next) ,@visited))))
            (before
             (set-window-configuration before)
             (message "No other agent needs you; back to where you were"))
            (t (message "No agent needs you"))))))

(provide 'todo-write-attention)
;;; todo-write-attention.el ends here
