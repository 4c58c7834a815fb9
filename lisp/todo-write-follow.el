;;; todo-write-follow.el --- Follow sessions of Claude Code and Codex  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Claude Code and Codex write a transcript of each session, wherever they run.
;; The plan of a session that is followed is a thread like any other, with the
;; agent's thoughts and tool calls:
;;
;;     M-x todo-write-follow            pick a session
;;     C-u M-x todo-write-follow        always the newest one of this project,
;;                                      like `todo-write-follow-mode'
;;     M-x todo-write-follow-stop
;;
;; The module reads what was appended to transcripts; this file decides when, and
;; dispatches them.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'todo-write)
(require 'todo-write-follow-sessions)
(require 'todo-write-follow-watch)
(require 'todo-write-view)

(defcustom todo-write-follow-interval 2
  "Seconds between polls of the transcripts that are followed.
Changes that the system reports show at once.  Some file systems report
none, such as those of other machines."
  :type 'number
  :group 'todo-write-hosts
  :package-version '(todo-write . "0.2.0"))

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
FILE is its transcript, or the copy of one on another machine, HANDLE the
module's; THREAD is a key, once it is known.  GREW is when the file last
grew, LAST the time of its last event in milliseconds, QUIET non-nil if
that is long ago.  PROCESS is the id of its process, ACTIVITY what that
last said, as from `todo-write-follow-sessions--activity'.  END is
\(REASON . ENDING) if its last lines ended a turn, else nil.  AUTOMATIC
is t if the mode picked it, `machine' if it was picked since all of its
machine are followed, `moved' while its transcript moves.  BUSY is non-nil while it is read, REST if a part
of FILE is yet to be read.  BYTES is the number of those read so far.
HOT is non-nil while FILE grows, when it is looked at by
`todo-write-follow--tick' instead of watched: the time when it last grew.
APPLIED is non-nil if ACTIVITY was applied since FILE grew or processes
changed."
  file handle thread grew last quiet process activity end automatic busy rest (bytes 0) hot
  applied)

(defvar todo-write-follow--sessions nil
  "The sessions that are followed, the newest first.")

(defvar todo-write-follow--files (make-hash-table :test #'equal)
  "The sessions of `todo-write-follow--sessions' by their files.")

(defvar todo-write-follow--stopped nil
  "Transcripts that the mode no longer picks, because the user stopped them.")

(defvar todo-write-follow--timer nil
  "The timer that polls transcripts, or nil.")

(autoload 'todo-write-follow-remote--pick "todo-write-follow-remote")
(autoload 'todo-write-follow-remote--await "todo-write-follow-remote")
(autoload 'todo-write-follow-remote--begin-mode "todo-write-follow-remote")
(declare-function todo-write-follow-link--link-process "todo-write-follow-link")
(declare-function todo-write-follow-remote--end-unused "todo-write-follow-remote")

;;; Commands

;;;###autoload
(defun todo-write-follow (&optional file show)
  "Follow the session of Claude Code or Codex whose transcript is FILE.
Its plan becomes a thread; return its key, or nil if it has not begun.
Interactively, read the session in the minibuffer, the newest of the
current project first, and show its plan.  With a prefix argument, or
without FILE, switch `todo-write-follow-mode' on instead.  SHOW non-nil
shows the plan.  Signal `todo-write-input-error' if FILE cannot be read.

FILE may be on another machine, and in a remote folder, sessions there
are read in the minibuffer, too.  Such a session is followed once its
transcript was fetched; see `todo-write-follow-remote'."
  (interactive (list (unless current-prefix-arg (todo-write-follow--read-session)) t))
  (if (and file (or (file-remote-p file) (todo-write-follow-sessions--copy-of file)))
      (todo-write-follow-remote--pick file show)
    (when (and file (not (file-exists-p file)))
      (todo-write--wrong "transcript" file "an existing file"))
    (todo-write-follow--now file show)))

(defun todo-write-follow--read-session ()
  "Read a session in the minibuffer; return its transcript."
  (when (file-remote-p default-directory)
    (todo-write-follow-remote--await default-directory))
  (todo-write-follow-sessions--read))

(defun todo-write-follow--now (file show)
  "Follow the local transcript FILE, or else the newest session.
SHOW is as for `todo-write-follow'."
  (when file
    (setq todo-write-follow--stopped
          (delete (expand-file-name file) todo-write-follow--stopped))
    (todo-write-follow--drop-forgotten file))
  (let* ((session (if file
                      (todo-write-follow--begin file)
                    (todo-write-follow-mode)
                    (car (todo-write-follow--automatic))))
         (thread (and session (todo-write-follow--session-thread session))))
    (when file
      (setf (todo-write-follow--session-automatic session) nil))
    (when (and show thread)
      (todo-write-show thread t))
    thread))

(defvar todo-write-follow--project nil
  "Root of the project whose newest session is followed.")

(defvar todo-write-follow--known (make-hash-table :test #'equal)
  "Transcripts that existed at the last search for new ones.")

(defvar todo-write-follow--unnamed nil
  "Recent transcripts without the name of their folder at the last search.
Their first lines were missing or incomplete.  Each is watched, since its
folder changes no more.")

(defvar todo-write-follow--beginner nil
  "The timer that begins the sessions of the queue, or nil.")

(defvar todo-write-follow--drawn 0
  "When beginning sessions were drawn last, as a float.")

(defvar todo-write-follow--queue nil
  "Sessions that are to begin, as (FILE . AUTOMATIC).
AUTOMATIC is as for `todo-write-follow--try-to-begin'.")

(defvar todo-write-follow--began 0
  "Time at which `todo-write-follow-mode' was switched on, as a float.")

(defvar todo-write-follow--searched nil
  "The last search for new sessions, a list (TIME FOLDERS TIMES).
TIMES are those of `todo-write-follow--times'.  nil asks for a search at
the next poll.")

;;;###autoload
(define-minor-mode todo-write-follow-mode
  "Follow the newest session of Claude Code or Codex in the current project.
It follows a new session as soon as that appears, and an older one that
is resumed while the current one is quiet.  Earlier ones are followed
until their agents have ended.  See `todo-write-follow-all' for the
sessions of all projects.  In a remote folder, or if
`todo-write-follow-agents' has one, it begins the process that tells of
the sessions on that machine; see `todo-write-follow-remote'."
  :global t
  :group 'todo-write-hosts
  (setq todo-write-follow--project (and todo-write-follow-mode
                                        (todo-write-follow-sessions--project))
        todo-write-follow--known (make-hash-table :test #'equal)
        todo-write-follow--stopped nil
        todo-write-follow--unnamed nil
        todo-write-follow--queue nil
        todo-write-follow--began (float-time)
        todo-write-follow--searched nil)
  (when todo-write-follow-mode
    (todo-write-module--prepare))
  (cond ((featurep 'todo-write-dyn)
         (todo-write-follow--begin-mode))
        (todo-write-follow-mode
         ;; The user was told how to get the module.
         (add-hook 'todo-write-module--loaded-hook
                   #'todo-write-follow--begin-mode-soon))))

(defun todo-write-follow--begin-mode-soon ()
  "Begin to follow after the call that has loaded the module."
  (run-with-timer 0 nil #'todo-write-follow--begin-mode))

(defun todo-write-follow--begin-mode ()
  "Follow what `todo-write-follow-mode' asks for; the module is loaded."
  (todo-write-follow--end-all (todo-write-follow--automatic))
  (when todo-write-follow-mode
    ;; This looks at all processes, so it has a slice of its own.
    (run-with-timer 0 nil #'todo-write-follow--search-homes)
    (when (seq-some #'file-remote-p (cons default-directory
                                          (mapcar #'cdr todo-write-follow-agents)))
      (todo-write-follow-remote--begin-mode)))
  (todo-write-follow--poll-all)
  (todo-write-follow--set-timer)
  (when (featurep 'todo-write-follow-remote)
    (todo-write-follow-remote--end-unused)))

(defun todo-write-follow-stop (&optional file)
  "Stop following the session whose transcript is FILE; nil for all.
Its plan stays, paused.  Interactively, ask which one if there are
several; with a prefix argument, stop all.  Stopping all, or the one that
`todo-write-follow-mode' follows, switches the mode off; with
`todo-write-follow-all', only stopping all does."
  (interactive
   (list (let ((files (mapcar #'todo-write-follow--session-file todo-write-follow--sessions))
               ;; A machine may have no session now.
               (machines (seq-some #'todo-write-follow-link--link-process
                                   (bound-and-true-p todo-write-follow-remote--links))))
           (cond ((not (or files machines))
                  (user-error "No session is followed"))
                 (current-prefix-arg nil)
                 ((cdr files)
                  (todo-write-follow-sessions--complete
                   "Stop following: " (mapcar #'todo-write-follow-sessions--describe files)))
                 ((and todo-write-follow-all (not machines))
                  (car files))))))
  (let ((sessions (if file
                      (ensure-list (todo-write-follow--find file))
                    todo-write-follow--sessions)))
    (cond ((and file (or todo-write-follow-all
                         (todo-write-follow-sessions--copy-of (expand-file-name file))))
           (cl-pushnew (expand-file-name file) todo-write-follow--stopped :test #'equal))
          ((not todo-write-follow-mode))
          ((or (null file) (seq-some #'todo-write-follow--session-automatic sessions))
           (todo-write-follow-mode -1)))
    (todo-write-follow--end-all sessions)
    (when (featurep 'todo-write-follow-remote)
      (todo-write-follow-remote--end-unused (null file)))))

;;; Following

(defun todo-write-follow--find (file)
  "Return the session whose transcript is FILE, or nil."
  (or (gethash file todo-write-follow--files)
      (gethash (expand-file-name file) todo-write-follow--files)))

(defun todo-write-follow--remove (session)
  "Remove SESSION from those that are followed."
  (setq todo-write-follow--sessions (delq session todo-write-follow--sessions))
  (remhash (todo-write-follow--session-file session) todo-write-follow--files))

(defun todo-write-follow--thread-p (thread)
  "Return non-nil if the session of THREAD is followed."
  (seq-some (lambda (session) (equal thread (todo-write-follow--session-thread session)))
            todo-write-follow--sessions))

(defun todo-write-follow--automatic ()
  "Return the sessions that `todo-write-follow-mode' follows."
  (seq-filter (lambda (session) (eq t (todo-write-follow--session-automatic session)))
              todo-write-follow--sessions))

(defvar todo-write-follow--batch nil
  "Non-nil while many sessions begin or end; files are watched afterwards.")

(defun todo-write-follow--drop-forgotten (file)
  "Stop following FILE if its thread was forgotten, so as to read all of it again."
  (when-let* ((session (todo-write-follow--find file))
              (thread (todo-write-follow--session-thread session)))
    (unless (member thread (todo-write-threads-loaded))
      (todo-write-follow--remove session))))

(defun todo-write-follow--begin (file &optional automatic)
  "Follow the session whose transcript is FILE, and return it.
AUTOMATIC is that of `todo-write-follow--session'."
  (or (todo-write-follow--find file)
      (let* ((file (expand-file-name file))
             (copy (todo-write-follow-sessions--copy-of file))
             (modified (todo-write-follow-sessions--modified file))
             ;; Its agent may have been idle or waiting for hours.
             (todo-write-activity--time (truncate (* 1000 modified)))
             (session (todo-write-follow--make-session :file file :grew modified
                                                       :automatic automatic)))
        (setf (todo-write-follow--session-handle session)
              (todo-write--call todo-write-dyn--transcript-open
                file (unless copy (todo-write-follow--root file))
                (and copy (list (todo-write-follow-sessions--copy-machine copy)
                                (todo-write-follow-sessions--copy-prefix copy)))))
        (todo-write-follow--read session (unless automatic 50))
        (setq todo-write-activity--time (todo-write-follow--last-known session))
        (push session todo-write-follow--sessions)
        (puthash file session todo-write-follow--files)
        (unwind-protect
            (progn
              ;; The user waits for the plan, but not for each slice of the file.
              (while (and (not automatic) (todo-write-follow--session-rest session)
                          (memq session todo-write-follow--sessions))
                (message "%s" (todo-write-follow--progress session))
                (accept-process-output nil 0.001)
                (todo-write-follow--read session 50))
              (unless todo-write-follow--batch
                (todo-write-follow-sessions--read-processes))
              (todo-write-follow--apply-known-activity session)
              (todo-write-follow--pause-if-ended session)
              (todo-write-follow--pause-if-quiet session))
          ;; After C-g, a timer reads the rest.
          (todo-write-follow--set-timer))
        session)))

(defun todo-write-follow--try-to-begin (file &optional automatic)
  "Follow the session whose transcript is FILE, which the user did not pick.
AUTOMATIC is `machine', or nil if the mode picked it.  An error is
reported, and does not stop the others."
  (condition-case-unless-debug err
      (todo-write-follow--begin file (or automatic t))
    (error (todo-write-follow-sessions--skip file (todo-write--error-text err)))))

(defun todo-write-follow--root (file)
  "Return the root of the project of the local transcript FILE, or nil."
  (when-let* ((folder (todo-write-follow-sessions--directory file)))
    ;; A transcript may name any folder.
    (let* (file-name-handler-alist (default-directory (file-name-as-directory folder)))
      (and (file-name-absolute-p folder) (file-directory-p folder) (todo-write--project)))))

(defun todo-write-follow--end (session)
  "Stop following SESSION.
Its plan is paused, unless another host or a live process drives it."
  (todo-write-follow--remove session)
  (let ((thread (todo-write-follow--session-thread session)))
    (cond ((todo-write-follow--other-host-p thread))
          ((and (todo-write-follow--asked-p thread)
                (todo-write-follow-sessions--activity thread))
           (todo-write--lose-activity thread))
          (t (todo-write-follow--pause session "no longer followed"))))
  (todo-write-follow--set-timer))

;;; Watching

(defun todo-write-follow--watched ()
  "Return the files and folders to watch, a hash table of their kinds.
See `todo-write-follow-watch--aspects'."
  (let ((wanted (make-hash-table :test #'equal :size (* 3 (length todo-write-follow--sessions)))))
    (when todo-write-follow--timer
      (dolist (session todo-write-follow--sessions)
        (let ((file (todo-write-follow--session-file session)))
          ;; The process of another machine tells when its copies changed.
          (unless (todo-write-follow-sessions--copy-of file)
            (unless (todo-write-follow--session-hot session)
              (puthash file 'file wanted))
            (when todo-write-follow-mode
              (puthash (directory-file-name (file-name-directory file)) 'folder wanted)))))
      (when todo-write-follow-mode
        (todo-write-follow--add-watched-folders wanted))
      (dolist (folder (todo-write-follow-sessions--process-folders))
        (puthash folder 'contents wanted)))
    (maphash (lambda (file _kind)
               (unless (or (gethash file todo-write-follow-watch--table)
                           (file-exists-p file))
                 (remhash file wanted)))
             wanted)
    wanted))

(defun todo-write-follow--add-watched-folders (wanted)
  "Add to WANTED what to watch for new sessions, beside the folders of known ones."
  (dolist (file todo-write-follow--unnamed)
    (puthash file 'file wanted))
  (dolist (folder (todo-write-follow-sessions--watched
                   (unless todo-write-follow-all todo-write-follow--project)))
    (puthash (directory-file-name folder) 'folder wanted))
  ;; A process begins before its transcript does.
  (dolist (file (todo-write-follow-sessions--begun 0))
    (unless (or (gethash file todo-write-follow--files)
                (todo-write-follow-sessions--copy-of file))
      (puthash (directory-file-name (file-name-directory file)) 'folder wanted))))

(defvar todo-write-follow--processes-due nil
  "Non-nil if process files changed since the last tick.")

(defvar todo-write-follow--search-due nil
  "Non-nil if folders of transcripts changed since the last tick.")

(defvar todo-write-follow--watch-due nil
  "Non-nil if what is to be watched has changed.")

(defconst todo-write-follow--slice 0.01
  "Seconds of work after which Emacs looks for input.")

(defvar todo-write-follow--watch-new nil
  "Non-nil if watches were set since the last search.")

(defun todo-write-follow--watch ()
  "Watch what `todo-write-follow--watched' returns, for the length of a slice.
Return the new files.  If some are left, a tick goes on."
  (pcase-let ((`(,left . ,new) (todo-write-follow-watch--set
                                (todo-write-follow--watched) #'todo-write-follow--changed
                                (+ (float-time) todo-write-follow--slice))))
    (when (setq todo-write-follow--watch-due left)
      (todo-write-follow--tick-soon 0.001))
    new))

(defun todo-write-follow--watch-if-due ()
  "Watch what is to be watched, unless sessions are yet to begin.
What was written before a watch began is read again, since no
notification tells of it."
  (when (and todo-write-follow--watch-due (null todo-write-follow--queue))
    (dolist (file (todo-write-follow--watch))
      (setq todo-write-follow--watch-new t)
      (when-let* ((session (gethash file todo-write-follow--files)))
        (todo-write-follow--poll session)))
    (when (and todo-write-follow--watch-new (not todo-write-follow--watch-due))
      (setq todo-write-follow--watch-new nil
            todo-write-follow--searched nil)
      (todo-write-follow--find-newer)
      (todo-write-follow--watch))))

(defun todo-write-follow--changed (file kind)
  "Handle a notification that FILE of KIND changed, with all others, in a tick."
  (let ((session (gethash file todo-write-follow--files)))
    (cond (session
           (todo-write-follow-watch--remove file)
           (setf (todo-write-follow--session-hot session) (float-time)))
          ((eq kind 'contents)
           (setq todo-write-follow--processes-due t))
          ;; The folder's time may be that of the last search.
          (t (setq todo-write-follow--search-due t)))
    (todo-write-follow--tick-soon 0.01)))

;;; Ticks

(defconst todo-write-follow--hot-interval 0.2
  "Seconds between looks at transcripts that grow.")

(defconst todo-write-follow--hot-seconds 2
  "Seconds after which a transcript that grew no more is watched again.")

(defvar todo-write-follow--ticker nil
  "The timer of the next tick, or nil.")

(defun todo-write-follow--tick-soon (seconds)
  "Let a tick run in SECONDS, unless one will."
  (unless (memq todo-write-follow--ticker timer-list)
    (setq todo-write-follow--ticker (run-with-timer seconds nil #'todo-write-follow--tick))))

(defun todo-write-follow--tick ()
  "Do what notifications asked for, for the length of a slice.
What is left is done in the next tick, which begins with it."
  (setq todo-write-follow--ticker nil)
  (let* ((end (+ (float-time) todo-write-follow--slice)) left)
    (unwind-protect
        (todo-write--drawing-once
          (setq left (todo-write-follow--poll-hot end))
          (unless left
            (when (or todo-write-follow--processes-due todo-write-follow--search-due)
              (when (cl-shiftf todo-write-follow--processes-due nil)
                (todo-write-follow--poll-processes))
              (when (cl-shiftf todo-write-follow--search-due nil)
                (setq todo-write-follow--searched nil))
              (todo-write-follow--find-newer))
            (todo-write-follow--watch-if-due)))
      ;; What grows is not watched, so an error must not end the ticks.
      (cond (left (todo-write-follow--tick-soon 0.005))
            ((seq-some #'todo-write-follow--session-hot todo-write-follow--sessions)
             (todo-write-follow--tick-soon todo-write-follow--hot-interval))))))

(defvar todo-write-follow--hot-left nil
  "The sessions that were left when the last slice ended.")

(defun todo-write-follow--poll-hot (end)
  "Read the sessions that grow until END, a time, those that are visible first.
Return non-nil if some are left."
  (let ((sessions (or todo-write-follow--hot-left
                      (seq-filter #'todo-write-follow--session-hot
                                  todo-write-follow--sessions))))
    (while (and sessions (< (float-time) end))
      (todo-write-follow--poll-hot-one (pop sessions)))
    (setq todo-write-follow--hot-left
          (and sessions (todo-write-follow--visible-first sessions)))))

(defun todo-write-follow--visible-first (sessions)
  "Return SESSIONS with those whose plans are visible first."
  (let ((shown (mapcar (lambda (window)
                         (buffer-local-value 'todo-write-view-thread (window-buffer window)))
                       (window-list-1 nil 'no-minibuffer 'visible)))
        first rest)
    (dolist (session sessions)
      (if (member (todo-write-follow--session-thread session) shown)
          (push session first)
        (push session rest)))
    (nconc (nreverse first) (nreverse rest))))

(defun todo-write-follow--poll-hot-one (session)
  "Read SESSION, which grew; watch it again if it does so no more."
  (when (memq session todo-write-follow--sessions)
    (let ((bytes (todo-write-follow--session-bytes session)))
      (todo-write-follow--poll session)
      (cond ((/= bytes (todo-write-follow--session-bytes session))
             (setf (todo-write-follow--session-hot session) (float-time)))
            ((> (- (float-time) (todo-write-follow--session-hot session))
                todo-write-follow--hot-seconds)
             (setf (todo-write-follow--session-hot session) nil)
             (todo-write-follow--watch-again session))))))

(defun todo-write-follow--watch-again (session)
  "Watch the transcript of SESSION, and read what was written before."
  (let ((file (todo-write-follow--session-file session)))
    (todo-write-follow-watch--begin file 'file #'todo-write-follow--changed)
    (todo-write-follow--poll session)))

(defun todo-write-follow--set-timer ()
  "Run the timer while there is something to poll, and watch files soon."
  (setq todo-write-follow--watch-due t)
  (let ((needed (and (or todo-write-follow--sessions todo-write-follow-mode) t)))
    (unless (and todo-write-follow--timer needed
                 (eql todo-write-follow-interval
                      (timer--repeat-delay todo-write-follow--timer)))
      (when todo-write-follow--timer
        (cancel-timer todo-write-follow--timer))
      (setq todo-write-follow--timer
            (and needed
                 (run-with-timer todo-write-follow-interval todo-write-follow-interval
                                 #'todo-write-follow--poll-all)))))
  (unless todo-write-follow--batch
    (todo-write-follow--watch-if-due)))

(cl-defun todo-write-follow--each (function &optional (sessions todo-write-follow--sessions))
  "Call FUNCTION with each of SESSIONS, by default all that are followed.
An error with one of them is reported, and does not stop the others."
  (dolist (session sessions)
    (condition-case-unless-debug err
        (funcall function session)
      (error (todo-write-follow-sessions--skip (todo-write-follow--session-file session)
                                               (todo-write--error-text err))))))

(defun todo-write-follow--poll-all ()
  "Poll all sessions that are followed, and search for newer ones."
  (todo-write--drawing-once
    (todo-write-follow--each #'todo-write-follow--poll)
    (todo-write-follow--poll-processes)
    (todo-write-follow--each #'todo-write-follow--pause-if-quiet)
    (todo-write-follow--each #'todo-write-follow--doubt-if-silent)
    (todo-write-follow--find-newer)
    (todo-write-follow--end-automatic)
    (todo-write-follow--watch-if-due)))

(defun todo-write-follow--search-again ()
  "Search for running agents and their sessions now."
  (todo-write-follow-sessions--find-homes)
  (setq todo-write-follow--searched nil)
  (todo-write-follow--poll-all))

(defun todo-write-follow--search-homes ()
  "Search for running agents, and for sessions if they have other folders."
  (when (and todo-write-follow-mode
             (not (equal todo-write-follow-sessions--found
                         (todo-write-follow-sessions--find-homes))))
    (todo-write-follow--search-again)))

(defun todo-write-follow--poll (session)
  "Read the transcript of SESSION; stop following it if that fails."
  (when (and (memq session todo-write-follow--sessions)
             (not (todo-write-follow--session-busy session)))
    (condition-case-unless-debug err
        (todo-write-follow--read session)
      (todo-write-error
       (todo-write-follow--end session)
       (display-warning 'todo-write
                        (format "%s is no longer followed: %s"
                                (todo-write-follow--session-file session)
                                (todo-write--error-text err)))))))

(defvar todo-write-follow--reader nil
  "The timer that reads what is left of transcripts, or nil.")

(defun todo-write-follow--read-on ()
  "Read a slice of what is left of a transcript, the newest session's first."
  (setq todo-write-follow--reader nil)
  (when-let* ((session (seq-find #'todo-write-follow--session-rest
                                 todo-write-follow--sessions)))
    (todo-write-follow--poll session)
    (todo-write-follow--read-later)))

(defun todo-write-follow--progress (session)
  "Return how much of the transcript of SESSION is read, in words."
  (let ((size (or (file-attribute-size
                   (file-attributes (todo-write-follow--session-file session)))
                  0)))
    (format "Reading the session… %d %%"
            ;; The transcripts of subagents are read, too.
            (min 99 (/ (* 100 (todo-write-follow--session-bytes session)) (max 1 size))))))

(defun todo-write-follow--read-later ()
  "Have a timer read what is left of transcripts."
  (unless todo-write-follow--reader
    (setq todo-write-follow--reader
          (run-with-timer 0.02 nil #'todo-write-follow--read-on))))

(defun todo-write-follow--read (session &optional milliseconds)
  "Record what was appended to the transcript of SESSION, and dispatch it.
Read for about MILLISECONDS, by default 10; a timer reads the rest."
  (unwind-protect
      (let ((continued (todo-write-follow--session-rest session))
            (inhibit-quit t)
            result)
        ;; A listener may wait for input, during which the timer runs.
        (setf (todo-write-follow--session-busy session) t)
        (setq result (todo-write--call todo-write-dyn--transcript-read
                       (todo-write-follow--session-handle session) (or milliseconds 10)))
        (setf (todo-write-follow--session-rest session) (plist-get result :more))
        (when result
          (todo-write-follow--note-read session result continued)
          (todo-write-follow--dispatch-updates session (plist-get result :updates))))
    (setf (todo-write-follow--session-busy session) nil)))

(defun todo-write-follow--note-read (session result continued)
  "Note what was read of the transcript of SESSION.
RESULT is what the module returned; CONTINUED is non-nil if it is the rest
of what was found earlier."
  (when (plist-get result :more)
    (todo-write-follow--read-later))
  (when (> (plist-get result :skipped) 0)
    (todo-write-follow-sessions--skip
     (todo-write-follow--session-file session)
     "a line over 16 MiB, or all but its last 512 MiB"))
  (todo-write--warn (plist-get result :warnings))
  (setf (todo-write-follow--session-thread session) (plist-get result :thread)
        (todo-write-follow--session-last session) (plist-get result :last))
  (cl-incf (todo-write-follow--session-bytes session) (plist-get result :bytes))
  (when (and (> (plist-get result :bytes) 0)
             (memq session todo-write-follow--sessions))
    (unless continued
      (setf (todo-write-follow--session-grew session) (float-time)
            (todo-write-follow--session-quiet session) nil))
    (setf (todo-write-follow--session-applied session) nil
          (todo-write-follow--session-end session)
          (todo-write-follow--end-of-turn (plist-get result :thread)))
    ;; Lines may have paused or resumed the thread, so apply the activity of the
    ;; process again.
    (when-let* ((activity (todo-write-follow--session-activity session)))
      (setf (todo-write-follow--session-activity session)
            (list (car activity) 'outdated)))))

(defun todo-write-follow--end-of-turn (thread)
  "Return (REASON . ENDING) of the last turn of THREAD, or nil if it goes on."
  (let ((summary (and thread (todo-write-summary thread))))
    (when (plist-get summary :ending)
      (cons (plist-get summary :reason) (plist-get summary :ending)))))

(defun todo-write-follow--dispatch-updates (session updates)
  "Dispatch UPDATES, which the module returned for SESSION.
The process of a session overrides the activity in its transcript."
  (dolist (update updates)
    (let ((thread (plist-get update :thread))
          (state (plist-get update :state))
          (todo-write-activity--time (todo-write-follow--last-known session)))
      (todo-write--publish thread (plist-get update :outcome))
      (when state
        (todo-write--dispatch thread 'state state))
      (pcase (plist-get update :activity)
        ((guard (todo-write-follow--acp-p thread)))
        ('failed (todo-write-end-turn thread (plist-get update :reason) t))
        ((guard (and (equal thread (todo-write-follow--session-thread session))
                     (memq (car (todo-write-follow--session-activity session))
                           '(working waiting idle)))))
        ('idle (todo-write-end-turn thread))
        ('working (todo-write-set-activity thread 'working))))))

(defun todo-write-follow--asked-p (thread)
  "Return non-nil if something was asked of THREAD's agent, unlike after /clear."
  (and thread (member thread (todo-write-threads-loaded))))

(defun todo-write-follow--acp-p (thread)
  "Return non-nil if an ACP client of this Emacs says what THREAD's agent does."
  (and (fboundp 'todo-write-acp--session-p) (todo-write-acp--session-p thread)))

(defun todo-write-follow--other-host-p (thread)
  "Return non-nil if another host of this Emacs says what THREAD's agent does."
  (or (todo-write-follow--acp-p thread)
      (and thread (fboundp 'todo-write-mcp--serving) (todo-write-mcp--serving thread))))

(defun todo-write-follow--pause (session reason &optional ending)
  "Pause the threads of SESSION for REASON, a string.
ENDING is how its agent ended, as in `todo-write-summary', if that is known."
  (unless (todo-write-follow--acp-p (todo-write-follow--session-thread session))
    (let* ((inhibit-quit t)
           (updates (todo-write--call todo-write-dyn--transcript-pause
                      (todo-write-follow--session-handle session) reason ending)))
      (todo-write-follow--dispatch-updates session updates)
      (dolist (thread (cons (todo-write-follow--session-thread session)
                            (mapcar (lambda (update) (plist-get update :thread)) updates)))
        (when (and (todo-write-follow--asked-p thread)
                   (or ending (todo-write-activity thread)
                       (todo-write-activity--suspended-p thread)))
          (todo-write-end-turn thread reason nil ending))))))

(defun todo-write-follow--pause-if-quiet (session)
  "Pause SESSION if it has been silent for `todo-write-follow-quiet' seconds."
  (let ((grew (todo-write-follow--session-grew session)))
    (when (and todo-write-follow-quiet
               (not (todo-write-follow-sessions--silent-p
                     (todo-write-follow--session-file session)))
               (not (todo-write-follow--session-quiet session))
               (not (todo-write-follow--session-rest session))
               (> (- (float-time) grew) todo-write-follow-quiet)
               (not (memq (car (todo-write-follow--session-activity session))
                          '(working waiting))))
      (setf (todo-write-follow--session-quiet session) t)
      (todo-write-follow--pause
       session (format-time-string "quiet since %F %R" grew)))))

(defconst todo-write-follow--codex-silence 120
  "Seconds of silence after which it is unknown whether Codex still works.")

(defun todo-write-follow--doubt-if-silent (session)
  "Let the activity of SESSION be unknown if it is Codex's and long silent.
No process of Codex tells what it does.  Its lines show no question, and
its daemon keeps an open one after the terminal was killed."
  (let ((thread (todo-write-follow--session-thread session)))
    (when (and thread
               (string-prefix-p "codex:" (todo-write-remote--bare-key thread))
               (eq 'working (car (todo-write-activity thread)))
               (not (todo-write-follow--session-rest session))
               (not (todo-write-follow--other-host-p thread))
               (> (- (float-time) (todo-write-follow--session-grew session))
                  todo-write-follow--codex-silence))
      (todo-write-set-activity thread nil nil t))))

(defun todo-write-follow--poll-processes ()
  "Apply the activity of all sessions' processes.
Transcripts are read first, so that the process has the last word."
  (when (todo-write-follow-sessions--read-processes)
    (dolist (session todo-write-follow--sessions)
      (setf (todo-write-follow--session-applied session) nil))
    (todo-write-follow--each #'todo-write-follow--go-along)
    (todo-write-follow--each #'todo-write-follow--poll)
    (todo-write-follow--pick-begun))
  (todo-write-follow--each (lambda (session)
                             (unless (todo-write-follow--session-applied session)
                               (todo-write-follow--apply-known-activity session)))))

(defun todo-write-follow--go-along (session)
  "Follow the transcript of SESSION to another folder, as after /cd."
  (let ((file (todo-write-follow--session-file session)))
    (unless (file-exists-p file)
      (when-let* ((moved (seq-find (lambda (other)
                                     (and (equal (file-name-base other) (file-name-base file))
                                          (file-exists-p other)))
                                   (todo-write-follow-sessions--begun 0))))
        (todo-write-follow--remove session)
        (setf (todo-write-follow--session-automatic (todo-write-follow--begin moved 'moved))
              (todo-write-follow--session-automatic session))))))

(defun todo-write-follow--apply-known-activity (session)
  "Apply the activity of SESSION's process if it changed.
That of one on a machine whose connection is lost is unknown."
  (setf (todo-write-follow--session-applied session) t)
  (unless (todo-write-follow-sessions--silent-p (todo-write-follow--session-file session))
    (todo-write-follow--apply-activity session)))

(defun todo-write-follow--apply-activity (session)
  "Apply the activity of SESSION's process if it changed."
  (let* ((thread (todo-write-follow--session-thread session))
         (last (todo-write-follow--session-activity session))
         (activity (and thread (todo-write-follow-sessions--activity thread))))
    (setf (todo-write-follow--session-activity session) activity)
    (when activity
      (setf (todo-write-follow--session-process session)
            (todo-write-follow-sessions--pid thread)))
    (pcase activity
      ((guard (or (equal activity last) (todo-write-follow--acp-p thread))))
      ('(suspended) (todo-write--suspend thread))
      ((and '(idle) (guard (eq (car (todo-write-activity thread)) 'failed))))
      ((and (or '(idle) 'nil) (guard (not (todo-write-follow--asked-p thread)))))
      ('(idle)
       ;; The process goes on, or another one resumed the session.
       (when (or (eq (car last) 'suspended)
                 (memq (plist-get (todo-write-summary thread) :ending)
                       '(killed session-ended)))
         (todo-write-resume thread))
       ;; The transcript has the reason, and is often ahead of the process.  The turn
       ;; may have ended long before Emacs looks: after the last line, nothing is known.
       (let ((end (todo-write-follow--session-end session))
             (todo-write-activity--time (todo-write-follow--last-known session)))
         (todo-write-end-turn thread (car end) nil (cdr end))))
      ('(unknown) (todo-write-set-activity thread nil nil t))
      ('nil (todo-write-follow--pause-ended session))
      (`(,what . ,reason)
       (todo-write-set-activity thread what reason)
       ;; The turn ended, but its command or subagent still runs in the background.
       (when (and (eq what 'working) (eq (todo-write-state thread) 'paused))
         (todo-write-resume thread))))))

(defun todo-write-follow--last-known (session)
  "Return the time at which the agent of SESSION is known to have worked last.
That is the time of its last line, or of its file if that is earlier: a
copied file is younger than its lines, and some lines have no time.  nil
means now."
  (let ((times (delq nil (list (todo-write-follow--session-last session)
                               todo-write-activity--time))))
    (and times (apply #'min times))))

(defun todo-write-follow--pause-ended (session)
  "Pause SESSION, which no process names any more, for how its agent ended."
  (pcase-let ((`(,reason . ,ending)
               (cond ((todo-write-follow-sessions--live-p
                       (todo-write-follow--session-thread session)
                       (todo-write-follow--session-process session))
                      '("another session began" . session-ended))
                     ((todo-write-follow-sessions--killed-p
                       (todo-write-follow--session-thread session)
                       (todo-write-follow--session-process session))
                      '("killed" . killed))
                     (t '("agent exited" . session-ended)))))
    (todo-write-follow--pause session reason ending)))

(defun todo-write-follow--pause-if-ended (session)
  "Pause SESSION if its agent ended during a turn.
A file of its process that was left behind proves no more: the session may
have been resumed since, and have ended well."
  (let ((thread (todo-write-follow--session-thread session)))
    (when (and thread
               (not (plist-get (todo-write-summary thread) :ending))
               (not (todo-write-follow--other-host-p thread))
               (not (todo-write-follow-sessions--silent-p
                     (todo-write-follow--session-file session)))
               (todo-write-follow-sessions--ended-p
                thread (todo-write-follow--session-file session)))
      (todo-write-follow--pause-ended session))))

;;; Other machines

(defun todo-write-follow--read-copies (machine files processes &optional first)
  "Read what changed in the copies of MACHINE's files.
FILES are the transcripts that changed or have a file beside them that
did.  PROCESSES is non-nil if the process files changed.  FIRST is
non-nil if MACHINE was silent before; agents may have ended meanwhile."
  (dolist (session todo-write-follow--sessions)
    (when (member (todo-write-follow--session-file session) files)
      (todo-write-follow--poll session)))
  (when processes
    (todo-write-follow--poll-processes))
  (when first
    (todo-write-follow--each
     (lambda (session)
       (when (equal machine (todo-write-follow-sessions--machine-of
                             (todo-write-follow--session-file session)))
         (todo-write-follow--pause-if-ended session)))))
  (when (and todo-write-follow-mode (or files processes))
    (setq todo-write-follow--searched nil)
    (todo-write-follow--find-newer)
    (todo-write-follow--end-automatic)))

(defun todo-write-follow--lose (machine)
  "Note that MACHINE is silent: what its agents do is unknown."
  (todo-write-follow--each
   (lambda (session)
     (when (equal machine (todo-write-follow-sessions--machine-of
                           (todo-write-follow--session-file session)))
       (setf (todo-write-follow--session-activity session) nil
             (todo-write-follow--session-applied session) nil)
       (let ((thread (todo-write-follow--session-thread session)))
         (when (and thread (not (todo-write-follow--other-host-p thread)))
           (todo-write--lose-activity thread))))))
  (todo-write-follow-sessions--read-processes))

;;; Newer sessions

(defun todo-write-follow--find-newer ()
  "Follow newer sessions if `todo-write-follow-mode' is on.
List files when a folder changed, and every ten polls, since a resumed
session changes no folder."
  (when (and todo-write-follow-mode
             (featurep 'todo-write-dyn)
             (or (null todo-write-follow--searched)
                 todo-write-follow--unnamed
                 ;; The clock may have been set back.
                 (> (abs (- (float-time) (car todo-write-follow--searched)))
                    (* 10 todo-write-follow-interval))
                 (not (equal (nth 2 todo-write-follow--searched)
                             (todo-write-follow--times (nth 1 todo-write-follow--searched))))))
    (let* ((folders (todo-write-follow-sessions--folders
                     (unless todo-write-follow-all todo-write-follow--project)))
           ;; Times come first, so that the next poll notices later changes.
           (times (todo-write-follow--times folders))
           (files (if todo-write-follow-all
                      (todo-write-follow-sessions--files
                       folders (- (float-time) (or todo-write-follow-quiet 600))
                       (todo-write-follow-sessions--live-ids) nil t)
                    (todo-write-follow-sessions--files folders nil nil 300 t))))
      (setq todo-write-follow--watch-due t
            todo-write-follow--searched (list (float-time) folders times))
      (if todo-write-follow-all
          (todo-write-follow--pick-live files)
        (todo-write-follow--pick-newest (mapcar #'cdr files)))
      (todo-write-follow--note-unnamed files))))

(defun todo-write-follow--note-unnamed (files)
  "Note which of FILES, a list of (TIME . FILE), name no folder yet.
While sessions are yet to begin, the next poll searches again."
  (setq todo-write-follow--unnamed
        (unless todo-write-follow--queue
          (cl-loop for (time . file) in files
                   while (< (- (float-time) time) 60)
                   unless (or (todo-write-follow-sessions--copy-of file)
                              (plist-get (todo-write-follow-sessions--kept-head file) :folder))
                   collect file)))
  (when todo-write-follow--queue
    (setq todo-write-follow--searched nil)))

(defun todo-write-follow--times (folders)
  "Return the modification times of FOLDERS, a list."
  (todo-write--call todo-write-dyn--modification-times
    (seq-filter #'todo-write-follow-sessions--text-p folders)))

(defun todo-write-follow--pick-live (files)
  "Follow the live sessions in FILES, a list of (TIME . FILE), and no others.
FILES may leave out files that are not live.  Sessions that the user
picked or stopped stay as they are."
  (let ((live (make-hash-table :test #'equal :size (length files))) new)
    (pcase-dolist (`(,time . ,file) files)
      (when (todo-write-follow--live-p file time)
        (puthash file t live)
        (unless (gethash file todo-write-follow--files)
          (push file new))))
    (todo-write-follow--end-all
     (seq-remove (lambda (session) (gethash (todo-write-follow--session-file session) live))
                 (todo-write-follow--automatic)))
    (todo-write-follow--begin-all (nreverse new))))

(defun todo-write-follow--live-p (file time)
  "Return non-nil if the session in FILE, modified at TIME, is live."
  (or (todo-write-follow-sessions--activity-in file)
      (and (< (- (float-time) time) (or todo-write-follow-quiet 600))
           (or (todo-write-follow--find file)
               ;; One that was over when the mode began is not live.
               (> time todo-write-follow--began)
               (not (todo-write-follow-sessions--has-processes-p file))))))

(defun todo-write-follow--end-all (sessions)
  "Stop following SESSIONS, and watch files once after all."
  (let ((todo-write-follow--batch t))
    (todo-write-follow--each #'todo-write-follow--end sessions))
  (todo-write-follow--watch-if-due))

(defconst todo-write-follow--few 8
  "Number of sessions that begin at once.")

(defun todo-write-follow--begin-all (files &optional automatic)
  "Follow the sessions in FILES, the first one first, in slices of a timer.
AUTOMATIC is as for `todo-write-follow--try-to-begin'."
  (let ((queued (make-hash-table :test #'equal)))
    (dolist (entry todo-write-follow--queue)
      (puthash (car entry) t queued))
    (setq todo-write-follow--queue
          (nconc todo-write-follow--queue
                 (cl-loop for file in files
                          unless (or (gethash file queued)
                                     (gethash file todo-write-follow--files)
                                     (member file todo-write-follow--stopped))
                          collect (cons file automatic))))
    (unless (memq todo-write-follow--beginner timer-list)
      (if (length> todo-write-follow--queue todo-write-follow--few)
          ;; Finding so many has taken a slice.
          (todo-write-follow--begin-soon)
        (todo-write-follow--begin-some)))))

(defun todo-write-follow--begin-soon ()
  "Have a timer begin sessions of the queue."
  (setq todo-write-follow--beginner
        (run-with-timer 0.001 nil #'todo-write-follow--begin-some)))

(defun todo-write-follow--begin-some ()
  "Begin sessions of the queue for the length of a slice."
  (setq todo-write-follow--beginner nil)
  (let ((end (+ (float-time) todo-write-follow--slice)))
    (unwind-protect
        (let ((todo-write-follow--batch t) (todo-write--together t))
          (while (and todo-write-follow--queue (< (float-time) end))
            (pcase-let ((`(,file . ,automatic) (pop todo-write-follow--queue)))
              (when (and (or todo-write-follow-mode automatic)
                         (not (gethash file todo-write-follow--files))
                         (not (member file todo-write-follow--stopped))
                         (todo-write-follow-sessions--directory file))
                (todo-write-follow--try-to-begin file automatic)))))
      (when todo-write-follow--queue
        (todo-write-follow--begin-soon))
      ;; Each time, all rows may be drawn.
      (when (or (null todo-write-follow--queue)
                (> (float-time) (+ todo-write-follow--drawn 0.25)))
        (setq todo-write-follow--drawn (float-time))
        (unless todo-write--together
          (todo-write--draw-now)))))
  (todo-write-follow--watch-if-due))

(defun todo-write-follow--pick-begun ()
  "Follow the sessions that processes began or resumed since the mode is on.
With `todo-write-follow-all', follow those of all live processes."
  (when todo-write-follow-mode
    (todo-write-follow--begin-all
     (seq-filter (lambda (file)
                   (and (not (gethash file todo-write-follow--files))
                        (or todo-write-follow-all
                            (todo-write-follow-sessions--of-project-p
                             file todo-write-follow--project))))
                 (todo-write-follow-sessions--begun
                  (if todo-write-follow-all 0 todo-write-follow--began))))))

(defun todo-write-follow--pick-newest (files)
  "Follow the project's newest session in FILES, a list, newest first.
Unless the current session is quiet, only a new file replaces it."
  (let* ((current (car (todo-write-follow--automatic)))
         (may-go (or (null current) (todo-write-follow--session-quiet current)))
         (newest (seq-find
                  (lambda (file)
                    (and (or may-go (not (gethash file todo-write-follow--known)))
                         (todo-write-follow-sessions--of-project-p
                          file todo-write-follow--project)))
                  files)))
    ;; A file without its first line stays new.
    (dolist (file files)
      (unless (gethash file todo-write-follow--known)
        (when (or may-go (todo-write-follow-sessions--directory file))
          (puthash file t todo-write-follow--known))))
    (unless (or (null newest)
                (and current (equal newest (todo-write-follow--session-file current))))
      (if-let* ((session (todo-write-follow--find newest)))
          ;; The newest comes first.
          (setq todo-write-follow--sessions
                (cons session (delq session todo-write-follow--sessions)))
        (todo-write-follow--try-to-begin newest))
      (todo-write-follow--end-automatic))))

(defun todo-write-follow--end-automatic ()
  "Stop following earlier sessions of the project whose agents have ended."
  (unless todo-write-follow-all
    (dolist (session (cdr (todo-write-follow--automatic)))
      (let ((thread (todo-write-follow--session-thread session)))
        (unless (and thread
                     (or (todo-write-follow-sessions--activity thread)
                         ;; Codex keeps no files of processes; its turns tell.
                         (and (string-prefix-p "codex:" (todo-write-remote--bare-key thread))
                              (todo-write-activity thread))))
          (todo-write-follow--end session))))))

(provide 'todo-write-follow)
;;; todo-write-follow.el ends here
