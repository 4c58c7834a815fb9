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
;; tells listeners.

;;; Code:

(require 'cl-lib)
(require 'filenotify)
(require 'seq)
(require 'subr-x)
(require 'todo-write)
(require 'todo-write-follow-sessions)
(require 'todo-write-view)

(defcustom todo-write-follow-interval 2
  "Seconds between polls of the transcripts that are followed.
Changes that the system reports show at once.  Some file systems report
none, such as those of other machines."
  :type 'number
  :group 'todo-write)

(defcustom todo-write-follow-quiet 600
  "Seconds of silence after which a session is paused, or nil for never.
The time of its task in progress ends with its last line.  A session
whose process says that it works is not paused."
  :type '(choice natnum (const :tag "Never" nil))
  :group 'todo-write)

(defcustom todo-write-follow-all nil
  "Non-nil lets `todo-write-follow-mode' follow every live session.
A session of any project is live if its process lives or its transcript
grew within `todo-write-follow-quiet' seconds."
  :type 'boolean
  :group 'todo-write)

(cl-defstruct (todo-write-follow--session
               (:constructor todo-write-follow--make-session))
  "A session that is followed.
FILE is its transcript, COPY that of a remote one on this machine, TAIL
the process that extends the copy, HANDLE the module's; THREAD a key,
once it is known; HEARD is when the file last grew; QUIET is non-nil if
that is long ago; PROCESS is the id of its process, ACTIVITY what that
process last said, as from `todo-write-follow-sessions-activity';
AUTOMATIC is non-nil if the mode picked it; BUSY is non-nil while it is
read."
  file copy tail handle thread heard quiet process activity automatic busy)

(defvar todo-write-follow--sessions nil
  "The sessions that are followed, the newest first.")

(defvar todo-write-follow--timer nil
  "The timer that polls transcripts, or nil.")

(defvar todo-write-follow--watches nil
  "Alist of watched files and folders and their descriptors.")

;;; Commands

;;;###autoload
(defun todo-write-follow (&optional file show)
  "Follow the session of Claude Code or Codex whose transcript is FILE.
Its plan becomes a thread; return its key, or nil if it has not begun.
Interactively, read the session in the minibuffer, the newest of the
current project first, and show its plan.  With a prefix argument, or
without FILE, switch `todo-write-follow-mode' on instead.  SHOW non-nil
shows the plan.  Signal `todo-write-input-error' if FILE cannot be read."
  (interactive (list (unless current-prefix-arg (todo-write-follow-sessions-read)) t))
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

(defvar todo-write-follow--known nil
  "Transcripts that existed at the last search for new ones.")

(defvar todo-write-follow--stopped nil
  "Transcripts that the mode no longer picks, because the user stopped them.")

(defvar todo-write-follow--searched nil
  "The last search for new sessions, a list (TIME (FOLDER . MODIFIED)...).
nil asks for a search at the next poll.")

;;;###autoload
(define-minor-mode todo-write-follow-mode
  "Follow the newest session of Claude Code or Codex in the current project.
It follows a new session as soon as that appears, and an older one that
is resumed while the current one is quiet.  See `todo-write-follow-all'
for the sessions of all projects."
  :global t
  :group 'todo-write
  (setq todo-write-follow--project (and todo-write-follow-mode (todo-write--project))
        todo-write-follow--known nil
        todo-write-follow--stopped nil
        todo-write-follow--searched nil)
  (mapc #'todo-write-follow--end (todo-write-follow--automatic))
  (todo-write-follow--poll-all t)
  (todo-write-follow--set-timer))

(defun todo-write-follow-stop (&optional file)
  "Stop following the session whose transcript is FILE; nil for all.
Its plan stays, paused.  Interactively, ask which one if there are
several; with a prefix argument, stop all.  Stopping the one that
`todo-write-follow-mode' follows switches the mode off, unless it follows
all by `todo-write-follow-all'."
  (interactive
   (list (unless (or current-prefix-arg (not (cdr todo-write-follow--sessions)))
           (todo-write-follow-sessions-complete
            "Stop following: "
            (mapcar (lambda (session)
                      (todo-write-follow-sessions-describe
                       (todo-write-follow--session-file session)))
                    todo-write-follow--sessions)))))
  (let ((sessions (if file
                      (ensure-list (todo-write-follow--find file))
                    todo-write-follow--sessions)))
    (when (and (called-interactively-p 'interactive) (null sessions))
      (user-error "No session is followed"))
    (cond ((not todo-write-follow-mode))
          ((and file todo-write-follow-all)
           (push (expand-file-name file) todo-write-follow--stopped))
          ((or (null file) (seq-some #'todo-write-follow--session-automatic sessions))
           (todo-write-follow-mode -1)))
    (mapc #'todo-write-follow--end sessions)))

;;; Following

(defun todo-write-follow--find (file)
  "Return the session whose transcript is FILE, or nil."
  (seq-find (lambda (session)
              (equal (todo-write-follow--session-file session)
                     (expand-file-name file)))
            todo-write-follow--sessions))

(defun todo-write-follow-thread-p (thread)
  "Return non-nil if the session of THREAD is followed."
  (seq-some (lambda (session) (equal thread (todo-write-follow--session-thread session)))
            todo-write-follow--sessions))

(defun todo-write-follow--automatic ()
  "Return the sessions that `todo-write-follow-mode' follows."
  (seq-filter #'todo-write-follow--session-automatic todo-write-follow--sessions))

(defun todo-write-follow--begin (file &optional automatic)
  "Follow the session whose transcript is FILE, and return it.
AUTOMATIC is non-nil if the mode picked it."
  (or (todo-write-follow--find file)
      (let* ((file (expand-file-name file))
             (copy (and (file-remote-p file)
                        (make-temp-file "todo-write-follow" nil ".jsonl")))
             (modified (todo-write-follow-sessions-modified file))
             ;; Its agent may have been idle or waiting for hours.
             (todo-write-activity-time (truncate (* 1000 modified)))
             (session (todo-write-follow--make-session :file file :copy copy :heard modified
                                                       :automatic automatic)))
        (unwind-protect
            (progn
              (when copy
                (todo-write-follow--fetch session))
              (setf (todo-write-follow--session-handle session)
                    (todo-write--call todo-write-dyn--transcript-open (or copy file)))
              (todo-write-follow--read session)
              (push session todo-write-follow--sessions))
          (unless (memq session todo-write-follow--sessions)
            (todo-write-follow--delete-copy session)))
        (todo-write-follow-sessions-read-processes)
        (todo-write-follow--tell-activity session)
        (todo-write-follow--pause-if-quiet session)
        (todo-write-follow--set-timer)
        session)))

(defun todo-write-follow--end (session)
  "Stop following SESSION."
  (setq todo-write-follow--sessions (delq session todo-write-follow--sessions))
  (todo-write-follow--pause session "no longer followed")
  (todo-write-follow--delete-copy session)
  (todo-write-follow--set-timer))

(defun todo-write-follow--delete-copy (session)
  "Delete the copy of SESSION's remote transcript, and its process."
  (when-let* ((copy (todo-write-follow--session-copy session)))
    (when (todo-write-follow--session-tail session)
      (delete-process (todo-write-follow--session-tail session)))
    (ignore-errors (delete-file copy))))

(defun todo-write-follow--watched ()
  "Return the files and folders to watch."
  (when todo-write-follow--timer
    (let ((files (seq-remove #'file-remote-p
                             (mapcar #'todo-write-follow--session-file
                                     todo-write-follow--sessions))))
      (seq-filter #'file-exists-p
                  (append files
                          (and todo-write-follow-mode (mapcar #'file-name-directory files))
                          (todo-write-follow-sessions-process-folders))))))

(defun todo-write-follow--watch ()
  "Watch the files and folders of `todo-write-follow--watched', and no others.
Files that the system cannot watch are polled by the timer anyway."
  (let ((wanted (todo-write-follow--watched)))
    (pcase-dolist (`(,file . ,watch) todo-write-follow--watches)
      (unless (and (member file wanted) (file-notify-valid-p watch))
        (setf (alist-get file todo-write-follow--watches nil t #'equal) nil)
        (file-notify-rm-watch watch)))
    (dolist (file wanted)
      (unless (assoc file todo-write-follow--watches)
        (ignore-error file-notify-error
          (push (cons file (file-notify-add-watch
                            file '(change)
                            (lambda (event) (todo-write-follow--changed file (nth 1 event)))))
                todo-write-follow--watches))))))

(defun todo-write-follow--changed (file action)
  "Handle a file notification, whose action is ACTION, for FILE."
  (let ((session (todo-write-follow--find file)))
    (cond ((eq action 'stopped))
          (session (todo-write-follow--poll session))
          ((member file (todo-write-follow-sessions-process-folders))
           (todo-write-follow--poll-processes))
          ((memq action '(created renamed))
           (todo-write-follow--find-newer)))))

(defun todo-write-follow--set-timer ()
  "Run the timer while there is something to poll."
  (when todo-write-follow--timer
    (cancel-timer todo-write-follow--timer))
  (setq todo-write-follow--timer
        (and (or todo-write-follow--sessions todo-write-follow-mode)
             (run-with-timer todo-write-follow-interval todo-write-follow-interval
                             #'todo-write-follow--poll-all)))
  (todo-write-follow--watch))

(defun todo-write-follow--poll-all (&optional remote)
  "Poll all sessions that are followed, and search for newer ones.
REMOTE is as for `todo-write-follow--find-newer'."
  (mapc #'todo-write-follow--poll todo-write-follow--sessions)
  (todo-write-follow--poll-processes)
  (mapc #'todo-write-follow--pause-if-quiet todo-write-follow--sessions)
  (todo-write-follow--find-newer remote)
  (todo-write-follow--watch))

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
                                (error-message-string err)))))))

(defun todo-write-follow--read (session)
  "Record what was appended to the transcript of SESSION, and tell listeners."
  (unwind-protect
      (let (result)
        ;; A listener may wait for input, during which the timer runs.
        (setf (todo-write-follow--session-busy session) t)
        (setq result (todo-write--call todo-write-dyn--transcript-read
                       (todo-write-follow--session-handle session)))
        (todo-write--warn (plist-get result :warnings))
        (setf (todo-write-follow--session-thread session)
              (plist-get result :thread))
        (when (and (> (plist-get result :bytes) 0)
                   (memq session todo-write-follow--sessions))
          (setf (todo-write-follow--session-heard session) (float-time)
                (todo-write-follow--session-quiet session) nil)
          ;; Lines may have paused or resumed the thread, so apply the activity
          ;; of the process again.
          (when-let* ((activity (todo-write-follow--session-activity session)))
            (setf (todo-write-follow--session-activity session)
                  (list (car activity) 'outdated))))
        (todo-write-follow--tell session (plist-get result :updates)))
    (setf (todo-write-follow--session-busy session) nil)))

(defun todo-write-follow--tell (session updates)
  "Tell listeners of UPDATES, which the module returned for SESSION.
The process of a session overrides the activity in its transcript."
  (dolist (update updates)
    (let ((thread (plist-get update :thread))
          (state (plist-get update :state)))
      (todo-write--tell thread (plist-get update :outcome))
      (when state
        (todo-write--dispatch thread 'state state))
      (pcase (plist-get update :activity)
        ((guard (todo-write-follow--acp-p thread)))
        ('failed (todo-write-end-turn thread (plist-get update :why) t))
        ((guard (and (equal thread (todo-write-follow--session-thread session))
                     (memq (car (todo-write-follow--session-activity session))
                           '(working waiting idle)))))
        ('idle (todo-write-end-turn thread))
        ('working (todo-write-set-activity thread 'working))))))

(defun todo-write-follow--acp-p (thread)
  "Return non-nil if an ACP client of this Emacs says what THREAD's agent does."
  (and (fboundp 'todo-write-acp--session-p) (todo-write-acp--session-p thread)))

(defun todo-write-follow--pause (session reason)
  "Pause the threads of SESSION for REASON, a string."
  (unless (todo-write-follow--acp-p (todo-write-follow--session-thread session))
    (let ((updates (todo-write--call todo-write-dyn--transcript-pause
                     (todo-write-follow--session-handle session) reason)))
      (todo-write-follow--tell session updates)
      (dolist (thread (cons (todo-write-follow--session-thread session)
                            (mapcar (lambda (update) (plist-get update :thread)) updates)))
        (when (and thread (todo-write-activity thread))
          (todo-write-end-turn thread reason))))))

(defun todo-write-follow--pause-if-quiet (session)
  "Pause SESSION if it has been silent for `todo-write-follow-quiet' seconds."
  (let ((heard (todo-write-follow--session-heard session)))
    (when (and todo-write-follow-quiet
               (not (todo-write-follow--session-quiet session))
               (> (- (float-time) heard) todo-write-follow-quiet)
               (not (memq (car (todo-write-follow--session-activity session))
                          '(working waiting))))
      (setf (todo-write-follow--session-quiet session) t)
      (todo-write-follow--pause
       session (format-time-string "quiet since %F %R" heard)))))

(defun todo-write-follow--poll-processes ()
  "Apply the activity of all sessions' processes.
Transcripts are read first, so that the process has the last word."
  (when (todo-write-follow-sessions-read-processes)
    (mapc #'todo-write-follow--poll todo-write-follow--sessions))
  (mapc #'todo-write-follow--tell-activity todo-write-follow--sessions))

(defun todo-write-follow--tell-activity (session)
  "Apply the activity of SESSION's process if it changed."
  (let* ((thread (todo-write-follow--session-thread session))
         (last (todo-write-follow--session-activity session))
         (activity (and thread (todo-write-follow-sessions-activity thread))))
    (setf (todo-write-follow--session-activity session) activity)
    (when activity
      (setf (todo-write-follow--session-process session)
            (todo-write-follow-sessions-pid thread)))
    (pcase activity
      ((guard (or (equal activity last) (todo-write-follow--acp-p thread))))
      ((and '(idle) (guard (eq (car (todo-write-activity thread)) 'failed))))
      ('(idle) (todo-write-end-turn thread))
      ('(unknown) (todo-write-set-activity thread nil nil t))
      ('nil
       (let ((why (if (todo-write-follow-sessions-live-p
                       (todo-write-follow--session-process session))
                      "another session began" "agent exited")))
         (todo-write-end-turn thread why)
         (todo-write-follow--pause session why)))
      (`(,what . ,why)
       (todo-write-set-activity thread what why)
       ;; The turn ended, but its command or subagent still runs in the background.
       (when (and (eq what 'working) (eq (todo-write-state thread) 'paused))
         (todo-write-resume thread))))))

;;; Remote transcripts

(defun todo-write-follow--fetch (session)
  "Copy SESSION's remote transcript, and append its new lines as they come.
They come from a process, since a timer must not use the connection."
  (let* ((file (todo-write-follow--session-file session))
         (copy (todo-write-follow--session-copy session))
         (default-directory (file-name-directory file)))
    (condition-case err
        (when (file-exists-p file)
          (todo-write-follow-sessions-fetch file copy 0 nil))
      (file-error
       (todo-write--wrong "transcript" file
                          (concat "a file of yours: " (error-message-string err)))))
    (setf (todo-write-follow--session-tail session)
          (make-process
           :name "todo-write-follow" :noquery t :file-handler t
           :connection-type 'pipe :coding 'binary
           ;; TRAMP would mix the messages of `tail' into the transcript.
           :command (list "sh" "-c" "exec tail -F -c \"$1\" -- \"$2\" 2>/dev/null" "sh"
                          (format "+%d" (1+ (file-attribute-size (file-attributes copy))))
                          (file-local-name file))
           :filter (lambda (_process bytes)
                     (let ((coding-system-for-write 'binary))
                       (write-region bytes nil copy t 'silent))
                     (todo-write-follow--poll session))
           :sentinel (lambda (_process event)
                       (todo-write-follow--lost session (string-trim event)))))))

(defun todo-write-follow--lost (session event)
  "Stop following the remote SESSION, whose `tail' ended with EVENT."
  (when (memq session todo-write-follow--sessions)
    (todo-write-follow--end session)
    (display-warning 'todo-write
                     (format "%s is no longer followed: tail %s"
                             (todo-write-follow--session-file session) event))))

;;; Newer sessions

(defun todo-write-follow--find-newer (&optional remote)
  "Follow newer sessions if `todo-write-follow-mode' is on.
List files when a folder changed, and every ten polls, since a resumed
session changes no folder.  Search remote folders only if REMOTE is
non-nil, since a timer must not open connections."
  (when (and todo-write-follow-mode
             (or (null todo-write-follow--searched)
                 (> (- (float-time) (car todo-write-follow--searched))
                    (* 10 todo-write-follow-interval))
                 (cl-loop for (folder . time) in (cdr todo-write-follow--searched)
                          thereis (not (equal time (todo-write-follow--folder-time folder))))))
    (let* ((folders (todo-write-follow-sessions-folders
                     (unless todo-write-follow-all todo-write-follow--project)
                     (not remote)))
           ;; Times come first, so that the next poll notices later changes.
           (times (mapcar (lambda (folder) (cons folder (todo-write-follow--folder-time folder)))
                          (seq-remove #'file-remote-p folders)))
           (files (todo-write-follow-sessions-files folders)))
      (setq todo-write-follow--searched (cons (float-time) times))
      (if todo-write-follow-all
          (todo-write-follow--pick-live files)
        (todo-write-follow--pick-newest (mapcar #'cdr files))))))

(defun todo-write-follow--folder-time (folder)
  "Return the modification time of FOLDER, or nil if it does not exist."
  (file-attribute-modification-time (file-attributes folder)))

(defun todo-write-follow--pick-live (files)
  "Follow the live sessions in FILES, a list of (TIME . FILE), and no others.
Sessions that the user picked or stopped stay as they are."
  (pcase-dolist (`(,time . ,file) files)
    (let ((session (todo-write-follow--find file))
          (live (or (< (- (float-time) time) (or todo-write-follow-quiet 600))
                    (todo-write-follow-sessions-activity (file-name-base file)))))
      (cond ((and live (not session)
                  (not (member file todo-write-follow--stopped))
                  (todo-write-follow-sessions-directory file))
             (todo-write-follow--begin file t))
            ((and session (not live) (todo-write-follow--session-automatic session))
             (todo-write-follow--end session))))))

(defun todo-write-follow--pick-newest (files)
  "Follow the project's newest session in FILES, a list, newest first.
Unless the current session is quiet, only a new file replaces it."
  (let* ((current (car (todo-write-follow--automatic)))
         (may-go (or (null current) (todo-write-follow--session-quiet current)))
         (newest (seq-find
                  (lambda (file)
                    (and (or may-go (not (member file todo-write-follow--known)))
                         (todo-write-follow-sessions-of-project-p
                          file todo-write-follow--project)))
                  files)))
    ;; A file without its first line stays new.
    (setq todo-write-follow--known
          (if may-go files
            (seq-filter (lambda (file)
                          (or (member file todo-write-follow--known)
                              (todo-write-follow-sessions-directory file)))
                        files)))
    (unless (or (null newest)
                (and current (equal newest (todo-write-follow--session-file current))))
      (when current (todo-write-follow--end current))
      (unless (todo-write-follow--find newest)
        (todo-write-follow--begin newest t)))))

(provide 'todo-write-follow)
;;; todo-write-follow.el ends here
