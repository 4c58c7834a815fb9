;;; todo-write-follow.el --- Follow sessions of Claude Code and Codex  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Claude Code and Codex write a transcript of each session, wherever they run.
;; The plan of a session that is followed is a thread like any other, with the
;; agent's thoughts and tool calls.
;;
;; The hub finds, watches and reads transcripts; see todo-write-hub.el.  This file
;; decides which to follow, and dispatches what it reports: those that the user asks for,
;; all live ones while `todo-write-agents-mode' is on and no other Emacs has the socket,
;; and those of connected machines.

;;; Code:

(require 'todo-write-buffer)
(require 'todo-write-socket)

(defvar todo-write-follow-interval 2
  "Seconds between looks at the transcripts that are followed.
Changes that the system reports show at once.  Some file systems report
none, such as those of other machines.  After a change, switch
`todo-write-agents-mode' on again.")

(defvar todo-write-follow-quiet 600
  "Seconds of silence after which a session is paused, and no longer live.
The time of its task in progress ends with its last line.  A session
whose process says that it works is not paused, and one whose process runs
is live.  After a change, switch `todo-write-agents-mode' on again.")

(cl-defstruct (todo-write-follow--session
               (:constructor todo-write-follow--make-session))
  "A session that is followed.
FILE is its transcript, ID the hub's number, THREAD a key, once it is
known.  ASKED is non-nil if the user asked for it; others are followed while they
are live.  STATE is nil until all that FILE has was read, `ready'
afterwards, `check' while that is asked again.  FAILED is why it cannot
be read, or nil."
  file id thread asked state failed)

(defvar todo-write-follow--followed nil
  "The sessions that are followed, the newest first.")

(defvar todo-write-follow--stopped nil
  "Transcripts that are not followed until the user asks for them.")

(defun todo-write-follow--skip (file reason)
  "Say that FILE is skipped for REASON, unless the user knows.  Return nil."
  (todo-write-socket-show-once "todo-write skips %s: %s"
                               (todo-write-text-line (todo-write-follow--shown file))
                               (todo-write-text-line reason)))

(defun todo-write-follow--shown (file)
  "Return FILE, abbreviated.  Nothing is asked of another machine."
  (let (file-name-handler-alist)
    (abbreviate-file-name file)))

;;; Commands

;;;###autoload
(defun todo-write-follow (&optional file show)
  "Follow the session of Claude Code or Codex whose transcript is FILE.
Its plan becomes a thread.  Return its key, or nil if it has not begun,
once all that FILE has now is in it; a quit ends the wait, and the session
is followed on.  Interactively, read the session in the minibuffer, the
newest of the current project first, and show its plan.  With a prefix
argument, stop following that of the plan here, and with two, all; see
`todo-write-follow-stop'.  Without FILE, switch `todo-write-agents-mode'
on, which follows all live sessions, and return nil.  SHOW non-nil shows
the plan, and waits no longer than for that; `stop' stops.  Signal
`todo-write-input-error' if FILE cannot be read.

FILE may be on another machine, and in a remote folder, the sessions there
are read in the minibuffer.  Then the machine is connected first; see
`todo-write-connect'."
  (interactive (cond ((null current-prefix-arg) (list (todo-write-follow--read-session) t))
                     ((equal '(16) current-prefix-arg) '(nil stop))
                     (t (list (todo-write-follow--file-here) 'stop))))
  (cond
   ((eq show 'stop) (todo-write-follow-stop file))
   ((null file) (ignore (todo-write-agents-mode)))
   (t
    (todo-write-follow-connect)
    (when (file-remote-p file)
      (todo-write-follow--reach file))
    (setq todo-write-follow--stopped
          (delete (todo-write-follow--name file) todo-write-follow--stopped))
    (when-let* ((session (todo-write-follow--find file)))
      ;; It may be silent because the user had not asked for it.
      (unless (member (todo-write-follow--session-thread session) (todo-write-threads-loaded))
        (todo-write-follow--remove session t)))
    (let ((session (todo-write-follow--begin file t)))
      (todo-write-follow--await session show)
      (let ((thread (todo-write-follow--session-thread session)))
        (when (and show thread)
          (todo-write-show thread t))
        thread)))))

(defun todo-write-follow--file-here ()
  "Return the transcript of the session of the plan here, or signal a `user-error'."
  (let ((thread (todo-write-buffer-thread)))
    (todo-write-follow--session-file
     (or (seq-find (lambda (session)
                     (equal thread (todo-write-follow--session-thread session)))
                   todo-write-follow--followed)
         (user-error "The session of this plan is not followed")))))

(defun todo-write-follow--reach (file)
  "Connect to the machine of FILE, a remote name; return that machine's name.
Wait until it is connected; a quit ends the wait.  Signal a `user-error'
if it cannot be reached."
  (let* ((known (todo-write-machines-of file))
         (name (if (and known (todo-write-machines-reached-p known)) known
                 (todo-write-connect file)))
         (link (todo-write-machines-link-to name)))
    (todo-write-hub-wait
     (lambda () (not (eq 'connecting (todo-write-machines-link-state link)))))
    (when (eq 'lost (todo-write-machines-link-state link))
      (user-error "%s cannot be reached: %s" name (todo-write-machines-link-reason link)))
    name))

(defun todo-write-follow--read-session ()
  "Read a session in the minibuffer; return its transcript."
  (let* ((machine (and (file-remote-p default-directory)
                       (todo-write-follow--reach default-directory)))
         (project (todo-write--project))
         (choices (todo-write-follow--choices
                   (todo-write-follow--offered project machine))))
    (unless choices
      (user-error "No session %s"
                  (if machine (concat "on " machine)
                    (concat "in " (mapconcat (lambda (agent) (abbreviate-file-name (cdr agent)))
                                             (todo-write-follow-homes) ", ")))))
    (todo-write-buffer-read "Follow session: " 'todo-write-session choices #'identity)))

(defvar todo-write-follow--sent nil
  "The homes that the hub knows, in a list, or nil if it was told of none.")

(defvar todo-write-follow--round nil
  "The answer that is awaited, a list (ROUND FOUND), or nil.")

(defun todo-write-follow--offered (project machine)
  "Return what the hub says of the newest sessions, a list of plists.
PROJECT is the root of the current project.  MACHINE is the name of the
machine to ask, which is connected, or nil for this one."
  (todo-write-follow-connect)
  (unwind-protect
      (progn
        (unless machine
          (todo-write-follow-send-homes t))
        (setq todo-write-follow--round (list (random (ash 1 32))))
        (todo-write-hub-tell
         machine
         `(choose ,(car todo-write-follow--round)
                  ,(mapcar #'directory-file-name
                           (cond (machine (list (file-local-name project)))
                                 ((not (file-remote-p project))
                                  (list (expand-file-name project) (file-truename project)))))))
        (todo-write-hub-wait (lambda () (or (cdr todo-write-follow--round)
                                            (and machine
                                                 (not (todo-write-machines-reached-p machine))))))
        (cadr todo-write-follow--round))
    (setq todo-write-follow--round nil)
    (todo-write-follow-send-homes)))

(defun todo-write-follow--await (session show)
  "Wait until all that the transcript of SESSION has is read.
If SHOW is non-nil, wait only until its thread is known: its plan says how
much is read.  Signal `todo-write-input-error' if it cannot be read."
  (when (eq 'ready (todo-write-follow--session-state session))
    (setf (todo-write-follow--session-state session) 'check)
    (todo-write-hub-tell (todo-write-machines-of (todo-write-follow--session-file session))
                         `(check ,(todo-write-follow--session-id session))))
  (todo-write-hub-wait
   (lambda ()
     (or (eq 'ready (todo-write-follow--session-state session))
         (not (memq session todo-write-follow--followed))
         (and show (todo-write-follow--session-thread session)))))
  (when-let* ((reason (todo-write-follow--session-failed session)))
    (todo-write-core-wrong "transcript" (todo-write-follow--session-file session)
                           (format "an existing file of yours (%s)" reason))))

(defun todo-write-follow-stop (&optional file)
  "Stop following the session whose transcript is FILE; nil for all.
Its plan stays, paused, and it is not followed again until you ask for it
by `todo-write-follow'.  To stop all switches `todo-write-agents-mode' off,
and sessions are followed again once it is on.  A machine stays connected;
see `todo-write-disconnect'."
  (let ((sessions (if file (ensure-list (todo-write-follow--find file))
                    todo-write-follow--followed)))
    (if file
        (cl-pushnew (todo-write-follow--name file) todo-write-follow--stopped :test #'equal)
      (when (bound-and-true-p todo-write-agents-mode)
        (todo-write-agents-mode -1))
      (dolist (link todo-write-machines-links)
        (setf (todo-write-machines-link-follows link) nil)))
    (todo-write-events-apply-each #'todo-write-follow--remove sessions)
    (todo-write-follow-send-homes)))

;;; All live sessions

(defun todo-write-follow-watch (on)
  "Follow all live sessions while ON is non-nil and this Emacs has the socket.
Those that the user asked for are followed on."
  (if on
      (todo-write-follow-connect)
    (todo-write-follow--remove-those #'todo-write-follow--unasked-p))
  (todo-write-follow-send-homes)
  (when (todo-write-follow--leads-p)
    (todo-write-hub-tell nil '(search))))

(defun todo-write-follow--leads-p ()
  "Return non-nil if this Emacs follows the live sessions of this machine.
Another Emacs does if that has the socket."
  (and (bound-and-true-p todo-write-agents-mode)
       (not (memq (car (ensure-list (todo-write-socket-door))) '(nil client)))))

(defun todo-write-follow--unasked-p (session)
  "Return non-nil if SESSION is of this machine, and the user did not ask for it."
  (not (or (todo-write-follow--session-asked session)
           (todo-write-machines-of (todo-write-follow--session-file session)))))

;;; The hub

(defun todo-write-follow-connect ()
  "Start the hub unless it runs; a new one follows the sessions again."
  (todo-write-hub-ensure)
  (todo-write-core-call todo-write-dyn--hub-set todo-write-follow-interval todo-write-follow-quiet)
  (unless (process-get todo-write-hub-process 'todo-write-follow)
    (process-put todo-write-hub-process 'todo-write-follow t)
    (add-hook 'todo-write-hub-functions #'todo-write-follow--receive)
    (add-hook 'todo-write-hub-begin-hook #'todo-write-follow-connect)
    (setq todo-write-follow--sent nil)
    (todo-write-follow-send-homes)
    (mapc #'todo-write-follow--register todo-write-follow--followed)))

(defun todo-write-follow--register (session)
  "Have the hub follow SESSION from its beginning."
  (let* ((file (todo-write-follow--session-file session))
         (machine (todo-write-machines-of file)))
    (setf (todo-write-follow--session-id session)
          (todo-write-core-call todo-write-dyn--hub-follow
            file (and machine (list :name machine :prefix (todo-write-machines-prefix machine)))
            (todo-write-follow--session-asked session))
          (todo-write-follow--session-state session) nil)))

(defun todo-write-follow-send-homes (&optional all)
  "Tell the hub which folders of agents it watches and searches.
There are none while nothing is followed, unless ALL is non-nil."
  (when (todo-write-hub-live-p)
    (let* ((leads (todo-write-follow--leads-p))
           (homes (and (or all leads todo-write-follow--followed)
                       (todo-write-follow-homes)))
           (wanted (list homes leads)))
      (unless (equal wanted todo-write-follow--sent)
        (todo-write-hub-tell nil `(homes ,(vconcat homes) ,leads))
        (setq todo-write-follow--sent wanted)))))

(defun todo-write-follow--receive (message)
  "Handle MESSAGE of the hub, and dispatch what it changed of agents."
  (let ((inhibit-quit t))
    (pcase message
      (`(changed ,changes) (mapc #'todo-write-events-publish-activity changes))
      (`(found . ,(map :home :sessions))
       (todo-write-follow--receive-found home sessions))
      (`(door (state . ,_))
       (unless (todo-write-follow--leads-p)
         ;; The Emacs that has the socket follows them on.
         (todo-write-follow--remove-those #'todo-write-follow--unasked-p t))
       (todo-write-follow-send-homes))
      (`(choices ,round ,choices)
       (when (eql round (car todo-write-follow--round))
         (setcdr todo-write-follow--round (list choices))))
      (`(stuck ,root ,is-stuck)
       (message (if is-stuck
                    "%s does not answer: todo-write waits for it, and goes on with all else"
                  "%s answers again: todo-write goes on with what is there")
                (todo-write-text-line (todo-write-follow--shown root))))
      (`(broken ,root)
       (display-warning 'todo-write
                        (format "What reads the sessions of agents %sfailed; please report this"
                                (if (string-empty-p root) ""
                                  (format "in %s " (todo-write-follow--shown root))))))
      ((or `(,_ :session ,id . ,_) `(,_ ,id . ,_))
       (when-let* ((session (seq-find (lambda (session)
                                        (eql id (todo-write-follow--session-id session)))
                                      todo-write-follow--followed)))
         (pcase message
           (`(read . ,(map :thread :skipped :warnings :updates))
            (when (> skipped 0)
              (todo-write-follow--skip (todo-write-follow--session-file session)
                                       "a line over 8 MiB"))
            (todo-write-events-warn warnings)
            (setf (todo-write-follow--session-thread session) thread)
            (todo-write-events-note-reading thread nil)
            (pcase-dolist ((map :thread :outcome) updates)
              (todo-write-plan-publish thread outcome)))
           (`(progress ,_ ,thread ,percent)
            (setf (todo-write-follow--session-thread session) thread)
            (when thread
              (todo-write-events-note-reading thread percent)))
           (`(ready . ,_) (setf (todo-write-follow--session-state session) 'ready))
           ;; As after /cd.
           (`(moved ,_ ,file)
            (todo-write-follow--remove session t)
            (todo-write-follow--begin file (todo-write-follow--session-asked session)))
           (`(unreadable ,_ ,reason)
            (setf (todo-write-follow--session-failed session) reason)
            (todo-write-follow--remove session)
            (cond ((todo-write-follow--session-state session)
                   (display-warning 'todo-write
                                    (format "%s is no longer followed: %s"
                                            (todo-write-follow--session-file session) reason)))
                  ;; Who asked for it waits, and signals.
                  ((not (todo-write-follow--session-asked session))
                   (todo-write-follow--skip (todo-write-follow--session-file session)
                                            reason))))))))))

;;; Following

(defun todo-write-follow-homes ()
  "Return the elements of `todo-write-follow-agents' on this machine."
  (cl-loop for (agent . folder) in todo-write-follow-agents
           unless (file-remote-p folder)
           when (or (not (string-match-p "[^\0-\x10ffff]" folder))
                    (todo-write-follow--skip folder "its name is not text"))
           collect (cons agent (expand-file-name folder))))

(defun todo-write-follow--name (file)
  "Return the name under which the transcript FILE is known.
The hub's name of a file on another machine is taken as it is."
  (if (todo-write-machines-of file) file (expand-file-name file)))

(defun todo-write-follow--find (file)
  "Return the session whose transcript is FILE, or nil."
  (let ((name (todo-write-follow--name file)))
    (seq-find (lambda (session) (equal name (todo-write-follow--session-file session)))
              todo-write-follow--followed)))

(defun todo-write-follow--remove (session &optional moved)
  "Stop following SESSION; the hub reads it no more.
Its plan is paused, unless something else tells of its agent.  MOVED
non-nil means that it is followed on from another file."
  (setq todo-write-follow--followed (delq session todo-write-follow--followed))
  (let ((inhibit-quit t))
    (todo-write-events-note-reading (todo-write-follow--session-thread session) nil)
    (mapc #'todo-write-events-publish-activity
          (todo-write-core-call todo-write-dyn--hub-stop
            (todo-write-follow--session-id session) moved))))

(defun todo-write-follow--remove-those (predicate &optional moved)
  "Stop following the sessions that satisfy PREDICATE; MOVED is as above."
  (todo-write-events-apply-each (lambda (session) (todo-write-follow--remove session moved))
                                (seq-filter predicate todo-write-follow--followed)))

(defun todo-write-follow--begin (file &optional asked)
  "Follow the session whose transcript is FILE, and return it.
ASKED non-nil means that the user asked for it.  It is read later."
  (unless (todo-write-hub-live-p)
    (todo-write-follow-connect))
  (let ((session (todo-write-follow--find file)))
    (unless session
      (setq session (todo-write-follow--make-session :file (todo-write-follow--name file)
                                                     :asked asked))
      ;; Processes are read in their homes, which come first.
      (todo-write-follow-send-homes t)
      ;; This signals for a name that is no text.
      (todo-write-follow--register session)
      (push session todo-write-follow--followed))
    (when asked
      (setf (todo-write-follow--session-asked session) t))
    session))

(defun todo-write-follow-end-machine (machine)
  "Stop following the sessions of MACHINE, a name."
  (todo-write-follow--remove-those
   (lambda (session)
     (equal machine (todo-write-machines-of (todo-write-follow--session-file session))))))

;;; What is live

(defun todo-write-follow--receive-found (home found)
  "Follow the live sessions FOUND in HOME, and no more those that have ended.
FOUND is a list of transcripts, the newest first."
  (let* ((machine (todo-write-machines-of home))
         (link (todo-write-machines-link-to machine)))
    (when (if machine (and link (todo-write-machines-link-follows link))
            (todo-write-follow--leads-p))
      (dolist (file found)
        (unless (or (member file todo-write-follow--stopped) (todo-write-follow--find file))
          (todo-write-follow--begin file)))))
  (todo-write-follow--remove-those
   (lambda (session)
     (pcase-let (((cl-struct todo-write-follow--session file asked state) session))
       ;; TRAMP is not asked.
       (and (string-prefix-p (concat home "/") file) (not (member file found))
            (not asked) (eq 'ready state))))))

;;; Reading a session in the minibuffer

(defun todo-write-follow--choices (found)
  "Return the choices of the newest 300 sessions in FOUND, the project's first.
FOUND is a list of plists, as from the module.  A choice is a list (TITLE
FILE CELL...).  The cells are its age, its agent, its machine and its
working directory."
  (mapcar
   (lambda (one)
     (pcase-let* (((map :path :modified :description) one)
                  ((map :title :folder :agent) description))
       (list (todo-write-text-line (or title "(nothing asked yet)") 100)
             path
             (todo-write-text-age (/ modified 1000.0))
             (todo-write-agent-program-label agent)
             (or (todo-write-machines-of path) "")
             ;; It may be long, and a narrow frame cuts the last one.
             (if folder (todo-write-text-line (todo-write-follow--shown folder)) ""))))
   (seq-sort-by (lambda (one) (if (plist-get one :is-of-project) 0 1)) #'<
                (seq-take found 300))))

(provide 'todo-write-follow)
;;; todo-write-follow.el ends here
