;;; todo-write-follow.el --- Follow sessions of Claude Code and Codex  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Claude Code and Codex write a transcript of each session, wherever they run.
;; The plan of a session that is followed is a thread like any other, with the
;; agent's thoughts and tool calls.
;;
;; The hub finds, watches and reads transcripts; see todo-write-hub.el.  This file
;; decides which to follow, and dispatches what it reports.

;;; Code:

(require 'todo-write)
(require 'todo-write-commands)
(require 'todo-write-follow-sessions)
(require 'todo-write-host)
(require 'todo-write-hub)
(require 'todo-write-machines)
(require 'todo-write-text)

(defvar todo-write-follow-interval 2
  "Seconds between looks at the transcripts that are followed.
Changes that the system reports show at once.  Some file systems report
none, such as those of other machines.")

(defcustom todo-write-follow-quiet 600
  "Seconds of silence after which a session is paused, or nil for never.
The time of its task in progress ends with its last line.  A session
whose process says that it works is not paused."
  :type '(choice natnum (const :tag "Never" nil))
  :group 'todo-write-hosts
  :package-version '(todo-write . "0.2.0"))

(defcustom todo-write-follow-all nil
  "Non-nil lets `todo-write-follow-mode' follow every live session.
A session of any project is live if its process lives or its transcript
grew within `todo-write-follow-quiet' seconds."
  :type 'boolean
  :group 'todo-write-hosts
  :package-version '(todo-write . "0.2.0"))

(cl-defstruct (todo-write-follow--session
               (:constructor todo-write-follow--make-session))
  "A session that is followed.
FILE is its transcript, ID the hub's number, or nil while its machine is
not known to the hub; THREAD is a key, once it is known.  GREW is when
the file last grew, BEGUN when reading began, both in seconds since the
epoch.  AUTOMATIC is t if the mode picked it, `machine' if it was picked
since all of its machine are followed.  PERCENT is how much of it is
read, or nil.
STATE is nil until all that FILE has was read, `ready' afterwards, `check'
while that is asked again.  FAILED is why it cannot be read, or nil."
  file id thread grew automatic begun percent state failed)

(defvar todo-write-follow--followed nil
  "The sessions that are followed, the newest first.")

(defvar todo-write-follow--files (make-hash-table :test #'equal)
  "The sessions of `todo-write-follow--followed' by their files.")

(defvar todo-write-follow--stopped nil
  "Transcripts that the mode no longer picks, because the user stopped them.")

;;; Commands

;;;###autoload
(defun todo-write-follow (&optional file show)
  "Follow the session of Claude Code or Codex whose transcript is FILE.
Its plan becomes a thread.  Return its key, or nil if it has not begun,
once all that FILE has now is in it; a quit ends the wait, and the session
is followed on.  Interactively, read the session in the minibuffer, the
newest of the current project first, and show its plan.  With a prefix
argument, or without FILE, switch `todo-write-follow-mode' on instead.
SHOW non-nil shows the plan.  Signal `todo-write-input-error' if FILE
cannot be read.

FILE may be on another machine, and in a remote folder, the sessions there
are read in the minibuffer.  Then the machine is connected first; see
`todo-write-connect'."
  (interactive (list (unless current-prefix-arg (todo-write-follow--read-session)) t))
  (when (and file (file-remote-p file))
    (todo-write-follow--reach file))
  (todo-write-follow--now file show))

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
         (choices (todo-write-follow-sessions-choices
                   (todo-write-follow--offered project machine))))
    (unless choices
      (user-error "No session %s"
                  (if machine (concat "on " machine)
                    (concat "in " (mapconcat (lambda (agent) (abbreviate-file-name (cdr agent)))
                                             (todo-write-follow-sessions-homes) ", ")))))
    (todo-write-follow-sessions-complete "Follow session: " choices)))

(defvar todo-write-follow--searched nil
  "Non-nil once the mode's folders were searched.")

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
          ;; Their processes are read, too.
          (todo-write-follow--send-homes t)
          (todo-write-core-call todo-write-dyn--hub-search))
        (setq todo-write-follow--round
              (list (if machine
                        (todo-write-core-call todo-write-dyn--hub-choose-there
                          machine (list (directory-file-name (file-local-name project))))
                      (todo-write-core-call todo-write-dyn--hub-choose
                        (todo-write-follow-sessions-searched
                         (todo-write-follow-sessions-homes) "project"
                         (todo-write-follow-sessions-names project))))))
        (todo-write-hub-wait (lambda () (cdr todo-write-follow--round)))
        (cadr todo-write-follow--round))
    (setq todo-write-follow--round nil)
    (todo-write-follow--send-homes)))

(defun todo-write-follow--now (file show)
  "Follow the transcript FILE, or else the newest session.
SHOW is as for `todo-write-follow'."
  (when file
    (setq todo-write-follow--stopped
          (delete (todo-write-follow--name file) todo-write-follow--stopped))
    (when-let* ((session (todo-write-follow--find file))
                (thread (todo-write-follow--session-thread session)))
      (unless (member thread (todo-write-threads-loaded))
        (todo-write-follow--remove session t))))
  (let ((session (if file (todo-write-follow--begin file)
                   (todo-write-follow-mode)
                   (todo-write-hub-wait (lambda () todo-write-follow--searched))
                   (car (todo-write-follow--automatic)))))
    (when session
      (when file
        (setf (todo-write-follow--session-automatic session) nil))
      (todo-write-follow--await session show)
      (let ((thread (todo-write-follow--session-thread session)))
        (when (and show thread)
          (todo-write-show thread t))
        thread))))

(defun todo-write-follow--await (session show)
  "Wait until all that the transcript of SESSION has is read.
If SHOW is non-nil, wait only until its plan can be shown.  Signal
`todo-write-input-error' if it cannot be read."
  (when (eq 'ready (todo-write-follow--session-state session))
    (setf (todo-write-follow--session-state session) 'check)
    (todo-write-core-call todo-write-dyn--hub-check (todo-write-follow--session-id session)))
  (let ((todo-write-core-wait-words "Reading the session")
        (begun (float-time)))
    (todo-write-hub-wait
     (lambda ()
       (or (eq 'ready (todo-write-follow--session-state session))
           (not (memq session todo-write-follow--followed))
           (when-let* ((thread (and show (todo-write-follow--session-thread session))))
             (> (length (todo-write-items thread)) 0))
           (ignore
            (when show
              (todo-write-core-say-wait (- (float-time) begun)
                                        (todo-write-follow--session-percent session)))))))
    ;; What was said is outdated.
    (when (string-prefix-p todo-write-core-wait-words (or (current-message) ""))
      (message nil)))
  (when-let* ((reason (todo-write-follow--session-failed session)))
    (todo-write-core-wrong "transcript" (todo-write-follow--session-file session)
                           (format "an existing file of yours (%s)" reason))))

(defvar todo-write-follow--project nil
  "Root of the project whose newest session is followed.")

(defvar todo-write-follow--names nil
  "The names of that root on this machine.")

(defvar todo-write-follow--known (make-hash-table :test #'equal)
  "Transcripts that existed at the last search for new ones.")

(defvar todo-write-follow--began 0
  "Time at which `todo-write-follow-mode' was switched on, as a float.")

;;;###autoload
(define-minor-mode todo-write-follow-mode
  "Follow the newest session of Claude Code or Codex in the current project.
It follows a new session as soon as that appears, and an older one that
is resumed while the current one is quiet.  Earlier ones are followed
until their agents have ended.  See `todo-write-follow-all' for the
sessions of all projects.  In a remote folder, it connects to that
machine; see `todo-write-connect'."
  :global t
  :group 'todo-write-hosts
  (let ((project (and todo-write-follow-mode (todo-write--project))))
    ;; The mode may have been on already, for this project or another one.
    (unless (and project (equal project todo-write-follow--project))
      (setq todo-write-follow--project project
            todo-write-follow--names (and project (todo-write-follow-sessions-names project))
            todo-write-follow--known (make-hash-table :test #'equal)
            todo-write-follow--began (float-time))))
  (setq todo-write-follow--stopped nil
        todo-write-follow--searched nil)
  (todo-write-host-switch "Claude Code and Codex" todo-write-follow-mode))

(defun todo-write-follow--switch-on ()
  "Follow what `todo-write-follow-mode' asks for."
  (todo-write-follow-connect)
  (todo-write-follow--send-homes)
  (add-hook 'todo-write-list-refresh-hook #'todo-write-follow--search-again)
  (add-hook 'todo-write-follow-sessions-homes-hook #'todo-write-follow--send-homes)
  (run-hooks 'todo-write-machines-wanted-hook)
  (when (file-remote-p todo-write-follow--project)
    (condition-case err
        (todo-write-connect todo-write-follow--project)
      (error (message "todo-write does not follow on %s: %s"
                      (file-remote-p todo-write-follow--project)
                      (error-message-string err)))))
  (todo-write-follow--search-again))

(defun todo-write-follow--switch-off ()
  "Stop following the sessions that `todo-write-follow-mode' picked."
  (todo-write-follow--each #'todo-write-follow--remove (todo-write-follow--automatic))
  (todo-write-follow--send-homes)
  (remove-hook 'todo-write-list-refresh-hook #'todo-write-follow--search-again)
  (remove-hook 'todo-write-follow-sessions-homes-hook #'todo-write-follow--send-homes)
  (run-hooks 'todo-write-machines-wanted-hook))

(todo-write-host-define "Claude Code and Codex"
  :mode 'todo-write-follow-mode :feature 'todo-write-dyn
  :switch-on #'todo-write-follow--switch-on :switch-off #'todo-write-follow--switch-off
  :installed (lambda ()
               (seq-some (lambda (agent) (file-directory-p (cdr agent)))
                         (todo-write-follow-sessions-given-homes)))
  :remedy (concat "To see their plans: M-x todo-write-follow-mode for the newest session, "
                  "or for all with todo-write-follow-all; M-x todo-write-follow for one"))

(defun todo-write-follow-stop (&optional file)
  "Stop following the session whose transcript is FILE; nil for all.
Its plan stays, paused.  Interactively, ask which one if there are
several; with a prefix argument, stop all.  Stopping all, or the one that
`todo-write-follow-mode' follows, switches the mode off; with
`todo-write-follow-all', only stopping all does.  A machine stays
connected; see `todo-write-disconnect'."
  (interactive
   (list (let ((files (mapcar #'todo-write-follow--session-file todo-write-follow--followed)))
           (cond ((null files) (user-error "No session is followed"))
                 (current-prefix-arg nil)
                 ((cdr files)
                  (todo-write-follow-sessions-complete
                   "Stop following: "
                   (cl-loop
                    for session in todo-write-follow--followed
                    for thread = (todo-write-follow--session-thread session)
                    collect
                    (todo-write-follow-sessions-describe
                     (todo-write-follow--session-file session)
                     (or (todo-write-follow--session-grew session) (float-time))
                     (and thread
                          (list :title (plist-get (todo-write-summary thread) :title)
                                :folder (plist-get (todo-write-about thread) :project)
                                :host (car (todo-write-agents-session thread))))))))
                 (todo-write-follow-all (car files))))))
  (let ((sessions (if file
                      (ensure-list (todo-write-follow--find file))
                    todo-write-follow--followed)))
    (cond ((and file (or todo-write-follow-all (todo-write-machines-of file)))
           (cl-pushnew (todo-write-follow--name file) todo-write-follow--stopped :test #'equal))
          ((not todo-write-follow-mode))
          ((or (null file) (seq-some #'todo-write-follow--session-automatic sessions))
           (todo-write-follow-mode -1)))
    (unless file
      (todo-write-machines-follow-none))
    (todo-write-follow--each #'todo-write-follow--remove sessions)
    (todo-write-follow--send-homes)))

;;; The hub

(defvar todo-write-follow--hub nil
  "The process of the hub that follows the sessions, or nil.")

(defun todo-write-follow-connect ()
  "Start the hub unless it runs; a new one follows the sessions again."
  (todo-write-hub-ensure)
  (unless (eq todo-write-follow--hub todo-write-hub-process)
    (setq todo-write-follow--hub todo-write-hub-process)
    (todo-write-core-call todo-write-dyn--hub-set todo-write-follow-interval todo-write-follow-quiet)
    (add-hook 'todo-write-hub-functions #'todo-write-follow--receive)
    (dolist (option '(todo-write-follow-interval todo-write-follow-quiet))
      (add-variable-watcher option #'todo-write-follow--set-option))
    (setq todo-write-follow--sent nil)
    (mapc #'todo-write-follow--register todo-write-follow--followed)))

(defun todo-write-follow--set-option (symbol value &rest _)
  "Tell the hub that the option SYMBOL has VALUE now."
  (when (todo-write-hub-live-p)
    (let ((is-interval (eq symbol 'todo-write-follow-interval)))
      (todo-write-core-call todo-write-dyn--hub-set
        (if is-interval value todo-write-follow-interval)
        (if is-interval todo-write-follow-quiet value)))))

(defun todo-write-follow--register (session)
  "Have the hub follow SESSION from its beginning."
  (let* ((file (todo-write-follow--session-file session))
         (machine (todo-write-machines-of file))
         (id (todo-write-core-call todo-write-dyn--hub-follow
               file (and machine (list machine (todo-write-machines-prefix machine))))))
    (setf (todo-write-follow--session-id session) id
          (todo-write-follow--session-begun session) (float-time)
          (todo-write-follow--session-state session) nil)))

(defun todo-write-follow--send-homes (&optional all)
  "Tell the hub which folders of agents it watches and searches.
There are none while nothing is followed, unless ALL is non-nil."
  (when (todo-write-hub-live-p)
    (let ((homes (and (or all todo-write-follow-mode todo-write-follow--followed)
                      (todo-write-follow-sessions-searched
                       (todo-write-follow-sessions-homes)
                       (and todo-write-follow-mode
                            (cond (todo-write-follow-all "all")
                                  (todo-write-follow--names "project")))
                       (and todo-write-follow-mode todo-write-follow--names)))))
      (unless (equal (list homes) todo-write-follow--sent)
        (todo-write-core-call todo-write-dyn--hub-set-homes homes)
        (setq todo-write-follow--sent (list homes))))))

(defvar todo-write-follow-patience 0.3
  "Seconds of reading a session after which it is said how much of it is read.")

(defun todo-write-follow--receive (message)
  "Handle MESSAGE of the hub, and dispatch what it changed of agents."
  (let ((inhibit-quit t)
        (root (plist-get message :root)))
    (pcase (plist-get message :kind)
      ('processes (todo-write-follow-sessions-note-processes (plist-get message :processes)))
      ('found (todo-write-follow--receive-found (plist-get message :files)
                                                (plist-get message :skipped)))
      ('choices (when (eql (plist-get message :round) (car todo-write-follow--round))
                  (setcdr todo-write-follow--round (list (plist-get message :choices)))))
      ('stuck
       (message (if (plist-get message :over)
                    "%s answers again: todo-write goes on with what is there"
                  "%s does not answer: todo-write waits for it, and goes on with all else")
                (todo-write-text-line (todo-write-follow-sessions-shown root))))
      ('broken
       (display-warning 'todo-write
                        (format "What reads the sessions of agents %sfailed; please report this"
                                (if (string-empty-p root) ""
                                  (format "in %s " (todo-write-follow-sessions-shown root))))))
      (kind
       (when-let* ((id (plist-get message :session))
                   (session (seq-find (lambda (session)
                                        (eql id (todo-write-follow--session-id session)))
                                      todo-write-follow--followed)))
         (pcase kind
           ('read (todo-write-follow--receive-read session message))
           ('progress
            ;; Tell those who show it after `todo-write-follow-patience'.
            (let ((thread (plist-get message :thread))
                  (percent (plist-get message :percent)))
              (setf (todo-write-follow--session-thread session) thread
                    (todo-write-follow--session-percent session) percent)
              (when (and thread (> (- (float-time) (todo-write-follow--session-begun session))
                                   todo-write-follow-patience))
                (todo-write-activity-note-reading thread percent))))
           ('ready (setf (todo-write-follow--session-state session) 'ready))
           ;; As after /cd.
           ('moved (todo-write-follow--remove session t)
                   (todo-write-follow--begin (plist-get message :file)
                                             (todo-write-follow--session-automatic session)))
           ('unreadable (todo-write-follow--lose-file session (plist-get message :reason)))
           ('failed (todo-write-follow--lose-file
                     session "its reader failed; please report this"))))))
    (mapc #'todo-write-activity-publish (plist-get message :changes))))

(defun todo-write-follow--lose-file (session reason)
  "End following SESSION, whose transcript cannot be read for REASON.
Say so, unless a caller waits for it and signals."
  (setf (todo-write-follow--session-failed session) reason)
  (todo-write-follow--remove session)
  (cond ((todo-write-follow--session-state session)
         (display-warning 'todo-write
                          (format "%s is no longer followed: %s"
                                  (todo-write-follow--session-file session) reason)))
        ((todo-write-follow--session-automatic session)
         (todo-write-follow-sessions-skip (todo-write-follow--session-file session) reason))))

;;; Following

(defun todo-write-follow--name (file)
  "Return the name under which the transcript FILE is known.
The hub's name of a file on another machine is taken as it is."
  (if (todo-write-machines-of file) file (expand-file-name file)))

(defun todo-write-follow--find (file)
  "Return the session whose transcript is FILE, or nil."
  (or (gethash file todo-write-follow--files)
      (gethash (todo-write-follow--name file) todo-write-follow--files)))

(defun todo-write-follow--remove (session &optional moved)
  "Stop following SESSION; the hub reads it no more.
Its plan is paused, unless something else tells of its agent.  MOVED
non-nil means that it is followed on from another file."
  (setq todo-write-follow--followed (delq session todo-write-follow--followed))
  (remhash (todo-write-follow--session-file session) todo-write-follow--files)
  (let ((inhibit-quit t))
    (todo-write-activity-note-reading (todo-write-follow--session-thread session) nil)
    (when-let* ((id (todo-write-follow--session-id session)))
      (mapc #'todo-write-activity-publish (todo-write-core-call todo-write-dyn--hub-stop id moved)))))

(defun todo-write-follow--automatic ()
  "Return the sessions that `todo-write-follow-mode' follows."
  (seq-filter (lambda (session) (eq t (todo-write-follow--session-automatic session)))
              todo-write-follow--followed))

(defun todo-write-follow--begin (file &optional automatic)
  "Follow the session whose transcript is FILE, and return it.
AUTOMATIC is that of `todo-write-follow--session'.  It is read later."
  (or (todo-write-follow--find file)
      (let* ((file (todo-write-follow--name file))
             (session (todo-write-follow--make-session :file file :automatic automatic)))
        (todo-write-follow-connect)
        (push session todo-write-follow--followed)
        (puthash file session todo-write-follow--files)
        ;; Processes are read in their homes, which the hub knows if it reads others.
        (unless (and (cdr todo-write-follow--followed) todo-write-follow--sent)
          (todo-write-follow--send-homes))
        (unwind-protect
            (todo-write-follow--register session)
          ;; The module does not take a name that is no text, or too many of a machine.
          (unless (todo-write-follow--session-id session)
            (todo-write-follow--remove session)))
        session)))

(cl-defun todo-write-follow--each (function &optional (sessions todo-write-follow--followed))
  "Call FUNCTION with each of SESSIONS, by default all that are followed.
An error with one of them is reported, and does not stop the others."
  (todo-write-events-drawing-once
    (dolist (session sessions)
      (condition-case-unless-debug err
          (funcall function session)
        (error (todo-write-follow-sessions-skip (todo-write-follow--session-file session)
                                                (todo-write-core-error-text err)))))))

(defun todo-write-follow--search-again ()
  "Search for sessions now."
  (when (todo-write-hub-live-p)
    (todo-write-core-call todo-write-dyn--hub-search)))

;;; Sessions of another machine

(defun todo-write-follow--sessions-on (machine)
  "Return the sessions on MACHINE, a name, that are followed."
  (seq-filter (lambda (session)
                (equal machine (todo-write-machines-of (todo-write-follow--session-file session))))
              todo-write-follow--followed))

(defun todo-write-follow-project-on (machine)
  "Return the folder of the mode's project on MACHINE, a name, in a list, or nil."
  (let ((prefix (todo-write-machines-prefix machine)))
    (and todo-write-follow-mode
         (string-prefix-p prefix todo-write-follow--project)
         (list (directory-file-name
                (substring todo-write-follow--project (length prefix)))))))

(defun todo-write-follow-machine (machine)
  "Follow all live sessions of MACHINE, a name, also those that were stopped."
  (setq todo-write-follow--stopped
        (seq-remove (lambda (file) (equal machine (todo-write-machines-of file)))
                    todo-write-follow--stopped))
  (todo-write-follow--search-again))

(defun todo-write-follow-reach-machine (machine)
  "Have the hub read the sessions of MACHINE, a name, which is connected now.
A new hub had not known it when they were begun."
  (dolist (session (todo-write-follow--sessions-on machine))
    (unless (todo-write-follow--session-id session)
      (todo-write-follow--register session))))

(defun todo-write-follow-end-machine (machine)
  "Stop following the sessions of MACHINE, a name."
  (todo-write-follow--each #'todo-write-follow--remove (todo-write-follow--sessions-on machine)))

;;; What the hub reads

(defun todo-write-follow--receive-read (session message)
  "Handle MESSAGE, that the transcript of SESSION was read to its end."
  (when (> (plist-get message :skipped) 0)
    (todo-write-follow-sessions-skip
     (todo-write-follow--session-file session)
     "a line over 16 MiB, or all but its last 512 MiB"))
  (todo-write-events-warn (plist-get message :warnings))
  (setf (todo-write-follow--session-thread session) (plist-get message :thread)
        (todo-write-follow--session-grew session) (plist-get message :grew))
  (todo-write-activity-note-reading (todo-write-follow--session-thread session) nil)
  (dolist (update (plist-get message :updates))
    (todo-write-plan-publish (plist-get update :thread) (plist-get update :outcome))))

;;; Newer sessions

(defvar todo-write-follow-most-new 50
  "Maximum number of sessions that begin at once.")

(defun todo-write-follow--receive-found (found skipped)
  "Follow the sessions in FOUND that are to be followed.
FOUND is a list of plists, the newest first; SKIPPED are the names of
files that are not text."
  (when skipped
    (todo-write-follow-sessions-skip
     (car skipped) (if (cdr skipped)
                       (format "its name and that of %d others is not text"
                               (length (cdr skipped)))
                     "its name is not text")))
  (let* ((groups (seq-group-by (lambda (one) (and (todo-write-machines-of (plist-get one :file)) t))
                               found))
         (here (alist-get nil groups))
         (there (alist-get t groups)))
    (when todo-write-follow-mode
      (if todo-write-follow-all
          (todo-write-follow--pick-live here)
        ;; A machine does not say what belongs to a project here.
        (let ((machine (todo-write-machines-of todo-write-follow--project)))
          (todo-write-follow--pick-newest
           (if machine
               (seq-filter (lambda (one)
                             (equal machine (todo-write-machines-of (plist-get one :file))))
                           there)
             here))))
      (todo-write-follow--pick-begun here)
      (unless todo-write-follow-all
        ;; Earlier sessions of the project whose agents have ended.
        (dolist (session (cdr (todo-write-follow--automatic)))
          (let ((thread (todo-write-follow--session-thread session)))
            (unless (or (null (todo-write-follow--session-state session))
                        (and thread
                             (or (todo-write-follow-sessions-process-of thread)
                                 ;; Codex keeps no files of processes; its turns tell.
                                 (and (equal "codex" (car (todo-write-agents-session thread)))
                                      (todo-write-activity thread)))))
              (todo-write-follow--remove session))))))
    (todo-write-follow--begin-all
     (seq-filter (lambda (one)
                   (and (todo-write-machines-follows-p
                         (todo-write-machines-of (plist-get one :file)))
                        (todo-write-follow--live-p one)))
                 there)
     'machine))
  (setq todo-write-follow--searched t))

(defun todo-write-follow--begin-all (found automatic)
  "Follow the sessions in FOUND that are not followed or stopped.
AUTOMATIC is that of `todo-write-follow--session'.  If there are many, the
next search finds the rest."
  (let ((left todo-write-follow-most-new))
    (while (and found (>= left 0))
      (let ((file (plist-get (pop found) :file)))
        (unless (or (gethash file todo-write-follow--files)
                    (member file todo-write-follow--stopped))
          (cond ((= left 0) (todo-write-follow--search-again))
                ;; No more of a machine are followed if it has too many.
                ((not (todo-write-follow--session-id (todo-write-follow--begin file automatic)))
                 (setq found nil)))
          (cl-decf left))))))

(defun todo-write-follow--pick-live (found)
  "Follow the live sessions in FOUND, and no others.
FOUND may leave out sessions that are not live.  Those that the user
picked or stopped stay as they are."
  (let* ((picked (seq-filter #'todo-write-follow--live-p found))
         (live (mapcar (lambda (one) (plist-get one :file)) picked)))
    (todo-write-follow--each
     #'todo-write-follow--remove
     (seq-remove (lambda (session) (member (todo-write-follow--session-file session) live))
                 (todo-write-follow--automatic)))
    (todo-write-follow--begin-all picked t)))

(defun todo-write-follow--live-p (one)
  "Return non-nil if the session ONE, a plist from the hub, is live."
  (let ((file (plist-get one :file)) (time (plist-get one :time)))
    (or (todo-write-follow-sessions-process-in file)
        (and (< (- (float-time) time) (or todo-write-follow-quiet 600))
             (or (todo-write-follow--find file)
                 ;; One that was over when the mode began is not live.
                 (> time todo-write-follow--began)
                 (not (plist-get one :hasProcesses)))))))

(defun todo-write-follow--pick-begun (found)
  "Follow the sessions in FOUND that processes began since the mode is on.
With `todo-write-follow-all', follow those of all live processes."
  (todo-write-follow--begin-all
   (seq-filter (lambda (one)
                 (when-let* ((begun (plist-get one :begun)))
                   (or todo-write-follow-all
                       (and (plist-get one :ofProject)
                            (<= todo-write-follow--began (/ begun 1000.0))))))
               found)
   t))

(defun todo-write-follow--pick-newest (found)
  "Follow the project's newest session in FOUND.
Unless the current session is quiet, only a new file replaces it."
  (let* ((current (car (todo-write-follow--automatic)))
         (grew (and current (todo-write-follow--session-grew current)))
         (may-go (or (null current)
                     (and grew todo-write-follow-quiet
                          (> (- (float-time) grew) todo-write-follow-quiet))))
         (newest (plist-get
                  (seq-find (lambda (one)
                              (and (plist-get one :ofProject)
                                   (or may-go (not (gethash (plist-get one :file)
                                                            todo-write-follow--known)))))
                            found)
                  :file)))
    (dolist (one found)
      (puthash (plist-get one :file) t todo-write-follow--known))
    (unless (or (null newest)
                (and current (equal newest (todo-write-follow--session-file current))))
      (if-let* ((session (todo-write-follow--find newest)))
          ;; The newest comes first.
          (setq todo-write-follow--followed
                (cons session (delq session todo-write-follow--followed)))
        (todo-write-follow--begin newest t)))))

(provide 'todo-write-follow)
;;; todo-write-follow.el ends here
