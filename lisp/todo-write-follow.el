;;; todo-write-follow.el --- The plans of Claude Code, live  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Claude Code keeps a transcript of each session, wherever it runs.  Follow
;; one, and its plan is a thread like any other, with what the agent thought
;; and did:
;;
;;     M-x todo-write-follow            pick a session
;;     C-u M-x todo-write-follow        the newest one of this project, always;
;;                                      the same as `todo-write-follow-mode'
;;     M-x todo-write-follow-stop
;;
;; Transcripts are only read, and only what was appended to them.  Reading is
;; the module's work; this file knows when to look, and what to tell whom.

;;; Code:

(require 'cl-lib)
(require 'filenotify)
(require 'seq)
(require 'subr-x)
(require 'todo-write)
(require 'todo-write-follow-sessions)
(require 'todo-write-view)


(defcustom todo-write-follow-interval 2
  "Seconds between looks at the transcripts that are followed.
Where the system tells of changes, they show at once; looking as well is
for file systems that tell of none, such as those of other machines."
  :type 'number
  :group 'todo-write)

(defcustom todo-write-follow-quiet 600
  "Seconds after which a session that says nothing more is taken for paused.
The time of its task in progress ends where it was last heard.  nil for
never."
  :type '(choice natnum (const :tag "Never" nil))
  :group 'todo-write)

(cl-defstruct (todo-write-follow--session
               (:constructor todo-write-follow--make-session))
  "A session that is followed.
FILE is its transcript, COPY that of a remote one on this machine, HANDLE
the module's; THREAD a key, once it is known; WATCH tells of changes;
HEARD is when the session last said something; QUIET non-nil if that is
long ago; AUTOMATIC non-nil if nobody picked it; BUSY while it is read."
  file copy handle thread watch heard quiet automatic busy)

(defvar todo-write-follow--sessions nil
  "The sessions that are followed, the newest first.")

(defvar todo-write-follow--timer nil
  "The timer that looks at transcripts, or nil.")

;;; Commands

;;;###autoload
(defun todo-write-follow (&optional file show)
  "Follow the session of Claude Code whose transcript is FILE.
Its plan becomes a thread; return its key, or nil if it has not begun.
Interactively, read the session in the minibuffer, the newest of the
current project first, and show its plan.  With a prefix argument, or
without FILE, switch `todo-write-follow-mode' on instead.  SHOW non-nil
shows the plan.  Signal `todo-write-input-error' if FILE cannot be read."
  (interactive (list (unless current-prefix-arg (todo-write-follow-sessions-read)) t))
  (let ((session (if file
                     (todo-write-follow--begin file)
                   (todo-write-follow-mode)
                   (todo-write-follow--automatic))))
    (when session
      (setf (todo-write-follow--session-automatic session) (not file)))
    (let ((thread (and session (todo-write-follow--session-thread session))))
      (when (and show thread)
        (todo-write-show thread t))
      thread)))

(defvar todo-write-follow--project nil
  "Root of the project whose newest session is followed.")

(defvar todo-write-follow--known nil
  "Transcripts of the project that were there when last looked.")

(defvar todo-write-follow--stamps nil
  "Alist of the folders last looked into and when they were modified.")

;;;###autoload
(define-minor-mode todo-write-follow-mode
  "Follow the newest session of Claude Code in the current project.
A session that begins later is followed as soon as it appears, and so is
an older one that is taken up again while the one followed is quiet."
  :global t
  :group 'todo-write
  (if todo-write-follow-mode
      (setq todo-write-follow--project (todo-write--project)
            todo-write-follow--known nil
            todo-write-follow--stamps nil)
    (setq todo-write-follow--project nil))
  (when-let* ((session (todo-write-follow--automatic)))
    (todo-write-follow--end session))
  (when todo-write-follow-mode
    (todo-write-follow--look-for-newer))
  (todo-write-follow--set-timer))

(defun todo-write-follow-stop (&optional file)
  "Stop following the session whose transcript is FILE; nil for all.
Its plan stays, paused.  Interactively, ask which one if there are
several; with a prefix argument, stop all.  Stopping the one that
`todo-write-follow-mode' follows switches the mode off."
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
    (when (and todo-write-follow-mode
               (or (null file)
                   (seq-some #'todo-write-follow--session-automatic sessions)))
      (todo-write-follow-mode -1))
    (mapc #'todo-write-follow--end sessions)))

;;; Following

(defun todo-write-follow--find (file)
  "Return the session whose transcript is FILE, or nil."
  (seq-find (lambda (session)
              (equal (todo-write-follow--session-file session)
                     (expand-file-name file)))
            todo-write-follow--sessions))

(defun todo-write-follow--automatic ()
  "Return the session that `todo-write-follow-mode' follows, or nil."
  (seq-find #'todo-write-follow--session-automatic todo-write-follow--sessions))

(defun todo-write-follow--begin (file)
  "Follow the session whose transcript is FILE, and return it."
  (or (todo-write-follow--find file)
      (let* ((file (expand-file-name file))
             (copy (and (file-remote-p file)
                        (make-temp-file "todo-write-follow" nil ".jsonl")))
             (session (todo-write-follow--make-session :file file :copy copy)))
        (setf (todo-write-follow--session-handle session)
              (todo-write--call todo-write-dyn--transcript-open (or copy file))
              (todo-write-follow--session-heard session)
              (todo-write-follow-sessions-modified file))
        (todo-write-follow--read session)
        (push session todo-write-follow--sessions)
        (todo-write-follow--rest session)
        (todo-write-follow--watch session)
        (todo-write-follow--set-timer)
        session)))

(defun todo-write-follow--end (session)
  "Stop following SESSION."
  (setq todo-write-follow--sessions (delq session todo-write-follow--sessions))
  (when-let* ((watch (todo-write-follow--session-watch session)))
    (setf (todo-write-follow--session-watch session) nil)
    (file-notify-rm-watch watch))
  (todo-write-follow--pause session "no longer followed")
  (when-let* ((copy (todo-write-follow--session-copy session)))
    (ignore-errors (delete-file copy)))
  (todo-write-follow--set-timer))

(defun todo-write-follow--watch (session)
  "Let the system tell of changes of SESSION, if it can and does not yet."
  (let ((watch (todo-write-follow--session-watch session))
        (file (todo-write-follow--session-file session)))
    (unless (or (and watch (file-notify-valid-p watch))
                (file-remote-p file)
                (not (file-exists-p file)))
      (setf (todo-write-follow--session-watch session)
            (condition-case nil
                (file-notify-add-watch
                 file '(change)
                 (lambda (event)
                   (unless (eq (nth 1 event) 'stopped)
                     (todo-write-follow--look session))))
              ;; The timer does it alone then.
              (file-notify-error nil))))))

(defun todo-write-follow--set-timer ()
  "Run the timer while there is something to look at."
  (when todo-write-follow--timer
    (cancel-timer todo-write-follow--timer))
  (setq todo-write-follow--timer
        (and (or todo-write-follow--sessions todo-write-follow-mode)
             (run-with-timer todo-write-follow-interval todo-write-follow-interval
                             #'todo-write-follow--look-at-all))))

(defun todo-write-follow--look-at-all ()
  "Look at all that is followed, and for a newer session."
  (dolist (session todo-write-follow--sessions)
    (todo-write-follow--look session)
    (todo-write-follow--rest session)
    (todo-write-follow--watch session))
  (when todo-write-follow-mode
    (todo-write-follow--look-for-newer)))

(defun todo-write-follow--look (session)
  "Read what SESSION has to say; if that cannot be done, stop following it."
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
  "Take in what was appended to the transcript of SESSION."
  (unwind-protect
      (let (news)
        ;; Whoever hears of it may wait for input, and the timer runs again.
        (setf (todo-write-follow--session-busy session) t)
        (when (todo-write-follow--session-copy session)
          (todo-write-follow--fetch session))
        (setq news (todo-write--call todo-write-dyn--transcript-read
                     (todo-write-follow--session-handle session)))
        (todo-write--warn (plist-get news :warnings))
        (setf (todo-write-follow--session-thread session)
              (plist-get news :thread))
        (when (and (> (plist-get news :bytes) 0)
                   (memq session todo-write-follow--sessions))
          (setf (todo-write-follow--session-heard session) (float-time)
                (todo-write-follow--session-quiet session) nil))
        (todo-write-follow--tell (plist-get news :told)))
    (setf (todo-write-follow--session-busy session) nil)))

(defun todo-write-follow--tell (told)
  "Tell hooks and subscribers of TOLD, as the module gives it."
  (dolist (one told)
    (let ((thread (plist-get one :thread))
          (state (plist-get one :state)))
      (todo-write--tell thread (plist-get one :outcome))
      (when state
        (todo-write--dispatch thread 'state state)))))

(defun todo-write-follow--pause (session reason)
  "Pause the threads of SESSION for REASON, a string."
  (todo-write-follow--tell
   (todo-write--call todo-write-dyn--transcript-pause
     (todo-write-follow--session-handle session) reason)))

(defun todo-write-follow--rest (session)
  "Take SESSION for paused if it has been quiet for long."
  (let ((heard (todo-write-follow--session-heard session)))
    (when (and todo-write-follow-quiet
               (not (todo-write-follow--session-quiet session))
               (> (- (float-time) heard) todo-write-follow-quiet))
      (setf (todo-write-follow--session-quiet session) t)
      (todo-write-follow--pause
       session (format-time-string "quiet since %F %R" heard)))))

;;; Remote transcripts

(defun todo-write-follow--fetch (session)
  "Append to the copy of SESSION's transcript what the remote file has more.
A connection that is lost is no error: the copy stays as it is."
  (let* ((file (todo-write-follow--session-file session))
         (copy (todo-write-follow--session-copy session))
         (have (file-attribute-size (file-attributes copy)))
         (size (ignore-errors
                 (let ((remote-file-name-inhibit-cache t))
                   (file-attribute-size (file-attributes file)))))
         (coding-system-for-write 'binary))
    (when (and size (< size have))
      (write-region "" nil copy nil 'silent)
      (setq have 0))
    (when (and size (> size have))
      (with-temp-buffer
        (set-buffer-multibyte nil)
        (when (ignore-errors
                (insert-file-contents-literally file nil have size))
          (write-region nil nil copy t 'silent))))))

;;; The newest session of a project

(defun todo-write-follow--look-for-newer ()
  "Follow a newer session of the project, if there is one.
As long as the one followed speaks, only a file that was not there
before can be one."
  (let ((current (todo-write-follow--automatic)))
    (unless (and current
                 (not (todo-write-follow--session-quiet current))
                 todo-write-follow--stamps
                 (cl-loop for (folder . time) in todo-write-follow--stamps
                          always (equal time (todo-write-follow-sessions-modified
                                              folder))))
      (todo-write-follow--pick-newest current))))

(defun todo-write-follow--pick-newest (current)
  "Follow a newer session than CURRENT, which may be nil, if there is one."
  (let* ((project todo-write-follow--project)
         (folders (todo-write-follow-sessions-folders project))
         ;; Stamps first: what changes from here on is seen the next time.
         (stamps (mapcar (lambda (folder)
                           (cons folder (todo-write-follow-sessions-modified folder)))
                         (cons todo-write-follow-directory folders)))
         (files (mapcar #'cdr (todo-write-follow-sessions-files folders)))
         (may-go (or (null current) (todo-write-follow--session-quiet current)))
         (newest (seq-find
                  (lambda (file)
                    (and (or may-go (not (member file todo-write-follow--known)))
                         (todo-write-follow-sessions-of-project-p file project)))
                  files)))
    (setq todo-write-follow--stamps stamps
          todo-write-follow--known files)
    (unless (or (null newest)
                (and current
                     (equal newest (todo-write-follow--session-file current))))
      (when current (todo-write-follow--end current))
      (unless (todo-write-follow--find newest)
        (setf (todo-write-follow--session-automatic
               (todo-write-follow--begin newest))
              t)))))

(provide 'todo-write-follow)
;;; todo-write-follow.el ends here
