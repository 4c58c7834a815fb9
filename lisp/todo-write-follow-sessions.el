;;; todo-write-follow-sessions.el --- Sessions of agents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Finds the transcripts of Claude Code and Codex, reads what Claude Code's
;; processes do, and lets the user pick a session in the minibuffer.
;; todo-write-follow.el follows them.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'todo-write)
(require 'todo-write-remote)
(require 'todo-write-row)

(defcustom todo-write-follow-agents
  (list (cons 'claude (todo-write--agent-folder 'claude))
        (cons 'codex (todo-write--agent-folder 'codex)))
  "Agents whose sessions are followed, as a list of (AGENT . FOLDER).
AGENT is `claude' for Claude Code or `codex' for Codex; FOLDER is its
folder of settings and sessions.  An agent may have several folders.
A remote folder is that of an agent on another machine, in place of the
usual ones there; see `todo-write-follow-remote'."
  :type '(repeat (cons (choice (const :tag "Claude Code" claude) (const :tag "Codex" codex))
                       directory))
  :group 'todo-write-hosts
  :package-version '(todo-write . "0.2.0"))

(defvar todo-write-follow-sessions--processes (make-hash-table :test #'equal)
  "The live processes, plists.
The keys are (MACHINE . PID) and (MACHINE . SESSION); MACHINE is nil for
this one.")

(cl-defstruct (todo-write-follow-sessions--copy
               (:constructor todo-write-follow-sessions--make-copy) (:copier nil))
  "The copy of an agent's folder on another machine.
FOLDER is the local one, with a slash at the end; AGENT is as in
`todo-write-follow-agents'; MACHINE is the name of the machine, PREFIX
that of its files.  LIVE has a line \"PID STATE START\" for each live
process, or is nil while the machine does not tell."
  folder agent machine prefix live)

(defvar todo-write-follow-sessions--copies nil
  "The copies of agents' folders on other machines.")

(defun todo-write-follow-sessions--copy-of (file)
  "Return the copy of another machine's folder in which FILE is, or nil."
  (and todo-write-follow-sessions--copies
       (seq-find (lambda (copy)
                   (string-prefix-p (todo-write-follow-sessions--copy-folder copy) file))
                 todo-write-follow-sessions--copies)))

(defun todo-write-follow-sessions--machine-of (file)
  "Return the name of the machine on which FILE was written, nil for this one."
  (when-let* ((copy (todo-write-follow-sessions--copy-of file)))
    (todo-write-follow-sessions--copy-machine copy)))

(defun todo-write-follow-sessions--silent-p (file)
  "Return non-nil if FILE is of a machine whose connection is lost."
  (when-let* ((copy (todo-write-follow-sessions--copy-of file)))
    (null (todo-write-follow-sessions--copy-live copy))))

(defvar todo-write-follow-sessions--found nil
  "Folders that running agents use beside `todo-write-follow-agents'.
A list of (AGENT . FOLDER).")

(defun todo-write-follow-sessions--find-homes ()
  "Find the folders that this user's running agents were told to use.
Only CLAUDE_CONFIG_DIR and CODEX_HOME of their environments are read."
  (let ((known (mapcar (lambda (home) (directory-file-name (expand-file-name (cdr home))))
                       (todo-write-follow-sessions--given-homes))))
    (setq todo-write-follow-sessions--found
          (cl-loop for (name . folder) in (todo-write--call todo-write-dyn--folders-named-by
                                            '("CLAUDE_CONFIG_DIR" "CODEX_HOME")
                                            (todo-write--sandbox))
                   unless (member (directory-file-name folder) known)
                   collect (cons (if (equal name "CODEX_HOME") 'codex 'claude) folder)))))

(defun todo-write-follow-sessions--add-home (agent folder)
  "Note that a running AGENT, a symbol, says that it uses FOLDER."
  (let (file-name-handler-alist)
    (when (and (stringp folder) (file-name-absolute-p folder) (file-directory-p folder)
               (not (member (directory-file-name folder)
                            (mapcar (lambda (home)
                                      (directory-file-name (expand-file-name (cdr home))))
                                    (todo-write-follow-sessions--homes)))))
      (push (cons agent folder) todo-write-follow-sessions--found))))

(defun todo-write-follow-sessions--given-homes ()
  "Return the elements of `todo-write-follow-agents' on this machine."
  (seq-remove (lambda (home) (file-remote-p (cdr home))) todo-write-follow-agents))

(defun todo-write-follow-sessions--local-homes ()
  "Return the agents and their folders on this machine as (AGENT . FOLDER)."
  (append (todo-write-follow-sessions--given-homes) todo-write-follow-sessions--found))

(defun todo-write-follow-sessions--homes ()
  "Return the agents and their folders, given, found and copied.
A list of (AGENT . FOLDER); all folders are local."
  (append (todo-write-follow-sessions--local-homes)
          (mapcar (lambda (copy) (cons (todo-write-follow-sessions--copy-agent copy)
                                       (todo-write-follow-sessions--copy-folder copy)))
                  todo-write-follow-sessions--copies)))

(defun todo-write-follow-sessions--excerpts ()
  "Return folders like those of `todo-write-follow-sessions--homes'.
In them are the beginnings and ends of transcripts that were not copied."
  (mapcar (lambda (copy) (cons (todo-write-follow-sessions--copy-agent copy)
                               (concat (todo-write-follow-sessions--copy-folder copy) "excerpts/")))
          todo-write-follow-sessions--copies))

;;; Transcripts

(defun todo-write-follow-sessions--subfolders (folder &optional match)
  "Return the folders in FOLDER whose names match the regexp MATCH.
By default, that leaves out hidden ones.  Say if FOLDER cannot be read."
  (and (file-directory-p folder)
       (condition-case err
           (seq-filter #'file-directory-p (directory-files folder t (or match "\\`[^.]")))
         (file-error (todo-write-follow-sessions--skip folder (error-message-string err))))))

(defun todo-write-follow-sessions--escape (directory)
  "Return the name that Claude Code gives the folder of DIRECTORY."
  (replace-regexp-in-string "[^a-zA-Z0-9]" "-"
                            (directory-file-name (file-local-name directory))))

(defun todo-write-follow-sessions--names (project)
  "Return the names that Claude Code may give the folder of PROJECT."
  (delete-dups (mapcar #'todo-write-follow-sessions--escape
                       ;; Timers call this, which must not open a connection.
                       (list project (let (file-name-handler-alist)
                                       (file-truename project))))))

(defun todo-write-follow-sessions--folders (&optional project)
  "Return the folders of transcripts, only those of PROJECT if non-nil.
Codex sorts sessions by day, not by project."
  (todo-write-follow-sessions--folders-of (todo-write-follow-sessions--homes) project))

(defun todo-write-follow-sessions--folders-of (homes &optional project)
  "Return the folders of transcripts in HOMES, a list of (AGENT . FOLDER).
PROJECT is as for `todo-write-follow-sessions--folders'."
  (cl-loop for (agent . home) in homes
           append (if (eq agent 'claude)
                      (todo-write-follow-sessions--claude-folders
                       (expand-file-name "projects" home) project)
                    (todo-write-follow-sessions--codex-folders
                     (expand-file-name "sessions" home)))))

(defun todo-write-follow-sessions--claude-folders (root project)
  "Return ROOT and the folders of PROJECT in it, or all if that is nil.
Claude Code may have been started in a folder below the project's root."
  (cons root
        (todo-write-follow-sessions--subfolders
         root (and project
                   (concat "\\`" (regexp-opt (todo-write-follow-sessions--names project))
                           "\\(?:-\\|\\'\\)")))))

(defun todo-write-follow-sessions--codex-folders (root)
  "Return ROOT, its newest year and month, and the folders of its newest 30 days."
  (let* ((years (todo-write-follow-sessions--subfolders root))
         (months (mapcan #'todo-write-follow-sessions--subfolders (last years 2)))
         (days (mapcan #'todo-write-follow-sessions--subfolders (last months 12))))
    (append (list root) (last years) (last months)
            (last days 30))))

(defun todo-write-follow-sessions--watched (project)
  "Return the local folders in which new sessions show, of PROJECT if non-nil.
Without it, the folders of running agents are missing here."
  (cl-loop for (agent . home) in (todo-write-follow-sessions--local-homes)
           append (if (eq agent 'codex)
                      (let ((folders (todo-write-follow-sessions--codex-folders
                                      (expand-file-name "sessions" home))))
                        ;; The root, year and month, and the last day.
                        (append (seq-take folders 3) (last folders)))
                    (let ((root (expand-file-name "projects" home)))
                      (cond ((not (file-directory-p root)) (list home))
                            (project
                             (todo-write-follow-sessions--claude-folders root project))
                            (t (list root)))))))

(defun todo-write-follow-sessions--begun (since)
  "Return the names of the transcripts of processes that began SINCE, a time.
That is in seconds since the epoch.  Only live processes count; they may
not have written their transcripts yet."
  (cl-loop for process being the hash-values of todo-write-follow-sessions--processes
           using (hash-keys key)
           for session = (plist-get process :sessionId)
           for folder = (plist-get process :cwd)
           when (and (integerp (cdr key)) session folder
                     (not (string-search "/" session))
                     (<= since (/ (or (plist-get process :startedAt) 0) 1000.0)))
           collect (expand-file-name
                    (format "projects/%s/%s.jsonl"
                            (let (file-name-handler-alist)
                              (todo-write-follow-sessions--escape folder))
                            session)
                    (expand-file-name "../.." (plist-get process :file)))))

(defun todo-write-follow-sessions--files (folders &optional since sessions limit again)
  "Return the transcripts in FOLDERS as a list of (TIME . FILE), newest first.
SINCE, in seconds since the epoch, leaves out files that were not modified
since then, unless their session is one of SESSIONS, a list of ids.  LIMIT
is the maximum number of files.  AGAIN non-nil looks only at what is new,
and at some of the other files in turn."
  (let ((listing (funcall (if again #'todo-write-follow-sessions--list-again
                            #'todo-write-follow-sessions--list)
                   (seq-filter #'todo-write-follow-sessions--text-p folders)
                   (and since (max 0 (floor since))) sessions limit)))
    (when-let* ((skipped (plist-get listing :skipped)))
      (todo-write-follow-sessions--skip
       (car skipped) (if (cdr skipped)
                         (format "its name and that of %d others is not text"
                                 (length (cdr skipped)))
                       "its name is not text")))
    (plist-get listing :files)))

(defun todo-write-follow-sessions--list (folders since sessions limit)
  "List FOLDERS; SINCE, SESSIONS and LIMIT are as for the module's function."
  (todo-write--call todo-write-dyn--transcripts-in folders since sessions limit))

(defun todo-write-follow-sessions--list-again (folders since sessions limit)
  "List FOLDERS again; SINCE, SESSIONS and LIMIT are as for the module's function."
  (todo-write--call todo-write-dyn--transcripts-again folders since sessions limit))

(defun todo-write-follow-sessions--text-p (folder)
  "Return non-nil if the module can name FOLDER."
  (or (not (string-match-p "[^\0-\x10ffff]" folder))
      (todo-write-follow-sessions--skip folder "its name is not text")))

(defvar todo-write-follow-sessions--skipped (make-hash-table :test #'equal)
  "The files that the user knows are skipped, and why.")

(defun todo-write-follow-sessions--skip (file reason)
  "Say that FILE is skipped for REASON, unless the user knows.  Return nil."
  (unless (equal reason (gethash file todo-write-follow-sessions--skipped))
    (when (> (hash-table-count todo-write-follow-sessions--skipped) 1000)
      (clrhash todo-write-follow-sessions--skipped))
    (puthash file reason todo-write-follow-sessions--skipped)
    (message "todo-write skips %s: %s"
             (todo-write-row-line (abbreviate-file-name file)) (todo-write-row-line reason))
    nil))

(defvar todo-write-follow-sessions--heads (make-hash-table :test #'equal)
  "Cache of the parts of descriptions that never change, by file name.
For a file that names no session yet, a list (nil . STAMP).")

(defun todo-write-follow-sessions--head (file)
  "Return the description of the transcript FILE, a plist, or nil.
See `todo-write-transcript-describe'."
  (let* ((stamp (todo-write-follow-sessions--stamp file))
         (head (todo-write-transcript-describe file)))
    (puthash file (if (plist-get head :folder)
                      (list :folder (plist-get head :folder) :agent (plist-get head :agent)
                            :processes (plist-get head :processes))
                    (cons nil stamp))
             todo-write-follow-sessions--heads)
    head))

(defun todo-write-follow-sessions--stamp (file)
  "Return the modification time and size of FILE as a list."
  (let ((attributes (file-attributes file)))
    (list (file-attribute-modification-time attributes) (file-attribute-size attributes))))

(defun todo-write-follow-sessions--kept-head (file)
  "Return the parts of the description of FILE that never change, or nil."
  (let ((head (gethash file todo-write-follow-sessions--heads)))
    (unless (or (car head)
                (and head (equal (cdr head) (todo-write-follow-sessions--stamp file))))
      (setq head (todo-write-follow-sessions--head file)))
    (and (car head) head)))

(defun todo-write-follow-sessions--directory (file)
  "Return the working directory of the session in FILE.
Return nil if FILE has no complete line yet or is a subagent's."
  (let ((head (todo-write-follow-sessions--kept-head file)))
    (and (not (plist-get head :agent)) (plist-get head :folder))))

(defun todo-write-follow-sessions--of-project-p (file project)
  "Return non-nil if the session in FILE belongs to PROJECT.
A folder whose name only begins with that of PROJECT may belong to another
one: the name of /a-b begins with that of /a, as that of /a/b does."
  (let* ((copy (todo-write-follow-sessions--copy-of file))
         (prefix (and copy (todo-write-follow-sessions--copy-prefix copy))))
    (and (equal prefix (file-remote-p project))
         (or (member (file-name-nondirectory (directory-file-name (file-name-directory file)))
                     (todo-write-follow-sessions--names project))
             (when-let* ((folder (todo-write-follow-sessions--directory file)))
               (todo-write-follow-sessions--inside-p folder (file-local-name project)
                                                     (null copy)))))))

(defun todo-write-follow-sessions--inside-p (folder project here)
  "Return non-nil if FOLDER is in PROJECT, both named as on their machine.
HERE is non-nil if that is this one, whose files are examined."
  ;; A transcript may name any folder, so only the names are compared.
  (let* (file-name-handler-alist
         (folder (file-name-as-directory (expand-file-name folder "/"))))
    (seq-some (lambda (root)
                (let ((root (file-name-as-directory (expand-file-name root "/"))))
                  (and (string-prefix-p root folder)
                       (or (not here)
                           (todo-write-follow-sessions--in-root-p folder root)))))
              (cons project (and here (list (file-truename project)))))))

(defun todo-write-follow-sessions--project ()
  "Return the root of the current project.
In a remote folder, return that: TRAMP is not asked, since it would wait
for the machine."
  (if (file-remote-p default-directory) default-directory (todo-write--project)))

(defun todo-write-follow-sessions--in-root-p (folder root)
  "Return non-nil if FOLDER, below the project's ROOT, is no project of its own.
A worktree or another repository is one."
  (let* ((default-directory folder)
         (found (todo-write--project-root)))
    (or (string-prefix-p found root)
        (not (todo-write--project-root-p found)))))

(defun todo-write-follow-sessions--modified (file)
  "Return the modification time of FILE as a float; now if there is no file."
  (float-time (file-attribute-modification-time (file-attributes file))))

;;; Processes

;; Claude Code keeps sessions/PID.json while it runs.  The module reads these files.

(defun todo-write-follow-sessions--process-folders ()
  "Return the folders of process files on this machine."
  (cl-loop for (agent . home) in (todo-write-follow-sessions--local-homes)
           when (and (eq agent 'claude) (todo-write-follow-sessions--text-p home))
           collect (expand-file-name "sessions" home)))

(defun todo-write-follow-sessions--copied-process-folders ()
  "Return the copied folders of process files as lists (FOLDER MACHINE LINES)."
  (cl-loop for copy in todo-write-follow-sessions--copies
           when (and (eq 'claude (todo-write-follow-sessions--copy-agent copy))
                     (todo-write-follow-sessions--copy-live copy))
           collect (list (expand-file-name "sessions" (todo-write-follow-sessions--copy-folder copy))
                         (todo-write-follow-sessions--copy-machine copy)
                         (todo-write-follow-sessions--copy-live copy))))

(defun todo-write-follow-sessions--read-processes ()
  "Read the process files that changed; return non-nil if there were any.
A half-written file is read again the next time."
  (let ((live (todo-write--call todo-write-dyn--processes
                (append (todo-write-follow-sessions--process-folders)
                        (todo-write-follow-sessions--copied-process-folders)))))
    (unless (eq live t)
      (clrhash todo-write-follow-sessions--processes)
      (dolist (process live t)
        (dolist (key '(:pid :sessionId))
          (puthash (cons (plist-get process :machine) (plist-get process key)) process
                   todo-write-follow-sessions--processes)))
      t)))

(defun todo-write-follow-sessions--live-ids ()
  "Return the ids of the sessions whose processes live."
  (seq-filter #'stringp (mapcar #'cdr (hash-table-keys todo-write-follow-sessions--processes))))

(defun todo-write-follow-sessions--live (machine id)
  "Return the plist of the live process ID on MACHINE, or nil.
ID is a number, or the id of its session.
Its `:state' is `alive' or `suspended'."
  (when-let* ((process (gethash (cons machine id) todo-write-follow-sessions--processes))
              (pid (plist-get process :pid))
              (state (cond (machine (plist-get process :state))
                           ((todo-write--call todo-write-dyn--process-state
                              pid (plist-get process :procStart)))
                           ((eql 0 (signal-process pid 0)) 'alive))))
    (and (memq state '(alive suspended))
         `(:state ,state ,@process))))

(defun todo-write-follow-sessions--session (thread)
  "Return the id of THREAD's session of Claude Code."
  (string-remove-prefix "claude:" (todo-write-remote--bare-key thread)))

(defun todo-write-follow-sessions--killed-p (thread &optional pid)
  "Return non-nil if a process of THREAD's session left its file behind.
If PID is non-nil, its last process is the one of that number.
Claude Code deletes its file when it exits, unless it is killed."
  (and (not (todo-write-follow-sessions--process-of thread))
       (todo-write--call todo-write-dyn--process-killed-p
         (todo-write-remote--of-thread thread)
         (todo-write-follow-sessions--session thread) pid)))

(defun todo-write-follow-sessions--process-of (thread)
  "Return the plist of the live process of THREAD's session, or nil."
  (todo-write-follow-sessions--live (todo-write-remote--of-thread thread)
                                    (todo-write-follow-sessions--session thread)))

(defun todo-write-follow-sessions--live-p (thread pid)
  "Return non-nil if THREAD's process PID lives, perhaps in another session.
Claude Code changes the session by its commands /clear and /resume."
  (and pid (todo-write-follow-sessions--live (todo-write-remote--of-thread thread) pid)))

(defun todo-write-follow-sessions--pid (thread)
  "Return the id of the live process of THREAD's session, or nil."
  (plist-get (todo-write-follow-sessions--process-of thread) :pid))

(defun todo-write-follow-sessions--ended-p (thread file)
  "Return non-nil if the session of THREAD has no process any more.
FILE is its transcript.  Old versions of Claude Code and Codex do not
tell."
  (and (not (todo-write-follow-sessions--process-of thread))
       (or (todo-write-follow-sessions--killed-p thread)
           (todo-write-follow-sessions--has-processes-p file))))

(defun todo-write-follow-sessions--has-processes-p (file)
  "Return non-nil if a process that writes the transcript FILE keeps a file here."
  (and (plist-get (todo-write-follow-sessions--kept-head file) :processes)
       (file-directory-p (expand-file-name "../../sessions" (file-name-directory file)))))

(defun todo-write-follow-sessions--activity-in (file)
  "Return the activity of the process of the session in FILE, a transcript.
See `todo-write-follow-sessions--activity'."
  (todo-write-follow-sessions--activity
   (todo-write-remote--key (todo-write-follow-sessions--machine-of file)
                           (concat "claude:" (file-name-base file)))))

(defun todo-write-follow-sessions--activity (thread)
  "Return the activity of the process of THREAD's session as (ACTIVITY . REASON).
ACTIVITY is `working', `waiting', `idle', `suspended' (as by SIGSTOP) or
`unknown'.  Return nil if no such process lives."
  (when-let* ((process (todo-write-follow-sessions--process-of thread)))
    (pcase (plist-get process :status)
      ((guard (eq 'suspended (plist-get process :state))) '(suspended))
      ((or "busy" "shell") '(working))
      ("waiting" (let ((reason (plist-get process :waitingFor)))
                   (if (todo-write--own-dialog-p thread reason)
                       '(idle)
                     (cons 'waiting (and (stringp reason) (todo-write-row-line reason))))))
      ("idle" '(idle))
      (_ '(unknown)))))

;;; Reading a session in the minibuffer

(defun todo-write-follow-sessions--title (thread folder)
  "Return the title in the transcript of THREAD, or nil.
Its agent runs in FOLDER.  Nothing remote is asked."
  (save-match-data
    (when (string-match "\\`\\(claude\\|codex\\):\\([[:alnum:]-]+\\)\\'" thread)
      (let* ((agent (intern (match-string 1 thread)))
             (session (match-string 2 thread))
             file-name-handler-alist
             (file (cl-loop
                    for (each . home) in (todo-write-follow-sessions--homes)
                    thereis (and (eq each agent)
                                 (if (eq agent 'codex)
                                     (todo-write-follow-sessions--rollout home session)
                                   (todo-write-follow-sessions--claude-file
                                    home folder session))))))
        (plist-get (and file (todo-write-follow-sessions--head file)) :title)))))

(defun todo-write-follow-sessions--claude-file (home folder session)
  "Return the transcript of SESSION in Claude Code's folder HOME, or nil.
The agent runs in FOLDER."
  (cl-loop for name in (todo-write-follow-sessions--names folder)
           for file = (expand-file-name (format "projects/%s/%s.jsonl" name session) home)
           thereis (and (file-exists-p file) file)))

(defun todo-write-follow-sessions--rollout (home session)
  "Return the transcript of SESSION in Codex's folder HOME, or nil."
  (cl-loop for folder in (reverse (todo-write-follow-sessions--codex-folders
                                   (expand-file-name "sessions" home)))
           thereis (and (file-directory-p folder)
                        (car (directory-files folder t (concat "-" session "\\.jsonl\\'"))))))

(defun todo-write-follow-sessions--describe (file &optional time)
  "Return a choice for the transcript FILE, or nil if it is no session.
A choice is a list (TITLE FILE TIME NOTE).  TIME is the modification time;
NOTE has the working directory, the agent and its activity."
  (when-let* ((head (todo-write-follow-sessions--head file)))
    (unless (plist-get head :agent)
      (let ((activity (todo-write-follow-sessions--activity-in file))
            (machine (todo-write-follow-sessions--machine-of file))
            (folder (plist-get head :folder)))
        (list (todo-write-row-line (or (plist-get head :title) "(nothing asked yet)") 100)
              file
              (or time (todo-write-follow-sessions--modified file))
              (string-join
               (delq nil (list machine
                               (and folder
                                    ;; A remote name must not open a connection.
                                    (let (file-name-handler-alist)
                                      (todo-write-row-line (abbreviate-file-name folder))))
                               (if (equal (plist-get head :host) "codex") "Codex" "Claude Code")
                               (and activity
                                    (concat (symbol-name (car activity))
                                            (and (cdr activity)
                                                 (concat ": " (todo-write-row-line
                                                               (cdr activity))))))))
               "  "))))))

(defun todo-write-follow-sessions--read ()
  "Read one of the newest 300 sessions in the minibuffer; return its transcript."
  (todo-write-follow-sessions--find-homes)
  (todo-write-follow-sessions--read-processes)
  (let* ((project (todo-write-follow-sessions--project))
         (folders (append (todo-write-follow-sessions--folders)
                          (todo-write-follow-sessions--folders-of
                           (todo-write-follow-sessions--excerpts))))
         (files (seq-take (todo-write-follow-sessions--files folders nil nil 300) 300))
         (here (delq nil
                     (todo-write-follow-sessions--map
                      (lambda (timed)
                        (and (todo-write-follow-sessions--of-project-p (cdr timed) project)
                             timed))
                      files)))
         (choices (delq nil
                        (todo-write-follow-sessions--map
                         (pcase-lambda (`(,time . ,file))
                           (todo-write-follow-sessions--describe file time))
                         (append here (seq-difference files here #'eq))))))
    (unless choices
      (user-error "No session in %s"
                  (mapconcat (lambda (agent) (abbreviate-file-name (cdr agent)))
                             (todo-write-follow-sessions--homes) ", ")))
    (todo-write-follow-sessions--complete "Follow session: " choices)))

(defun todo-write-follow-sessions--map (function list)
  "Apply FUNCTION to each element of LIST, and return the values.
The user waits for them: timers run after each slice of 50 ms."
  (let ((end (+ (float-time) 0.05)))
    (mapcar (lambda (element)
              (when (> (float-time) end)
                (accept-process-output nil 0.001)
                (setq end (+ (float-time) 0.05)))
              (funcall function element))
            list)))

(defun todo-write-follow-sessions--complete (prompt choices)
  "Read one of CHOICES in the minibuffer with PROMPT; return its file.
CHOICES are as from `todo-write-follow-sessions--describe', the best first."
  (let (table)
    (pcase-dolist (`(,title ,file . ,more) (delq nil choices))
      (when (assoc title table)
        (setq title (format "%s <%s>" title (todo-write-row-line (file-name-base file)))))
      (push `(,title ,file . ,more) table))
    (setq table (nreverse table))
    (nth 1 (assoc (completing-read
                   prompt
                   (todo-write--completion-table
                    table 'todo-write-session
                    `(affixation-function
                      . ,(lambda (titles)
                           (mapcar (lambda (title)
                                     (todo-write-follow-sessions--affix
                                      title (cdr (assoc title table))))
                                   titles))))
                   nil t nil nil (caar table))
                  table))))

(defun todo-write-follow-sessions--affix (title choice)
  "Return TITLE with the age of CHOICE as prefix and its note as suffix."
  (pcase-let ((`(,_ ,time ,note) choice))
    (list title
          (propertize (format "%8s  " (todo-write-row--age time)) 'face 'completions-annotations)
          (propertize (concat "  " note) 'face 'completions-annotations))))

(provide 'todo-write-follow-sessions)
;;; todo-write-follow-sessions.el ends here
