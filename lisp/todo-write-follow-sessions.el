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
(require 'todo-write-row)

(defcustom todo-write-follow-agents
  (list (cons 'claude (or (getenv "CLAUDE_CONFIG_DIR") "~/.claude"))
        (cons 'codex (or (getenv "CODEX_HOME") "~/.codex")))
  "Agents whose sessions are followed, as a list of (AGENT . FOLDER).
AGENT is `claude' for Claude Code or `codex' for Codex; FOLDER is its
folder of settings and sessions, which may be remote.  An agent may have
several folders."
  :type '(repeat (cons (choice (const :tag "Claude Code" claude) (const :tag "Codex" codex))
                       directory))
  :group 'todo-write)

;;; Transcripts

(defun todo-write-follow-sessions--subfolders (folder &optional match)
  "Return the folders in FOLDER whose names match the regexp MATCH.
By default, that leaves out hidden ones."
  (and (file-directory-p folder)
       (seq-filter #'file-directory-p (directory-files folder t (or match "\\`[^.]")))))

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

(defun todo-write-follow-sessions-folders (&optional project local)
  "Return the folders of transcripts, only those of PROJECT if non-nil.
Codex sorts sessions by day, not by project.  LOCAL non-nil leaves out
folders on other machines."
  (cl-loop for (agent . home) in todo-write-follow-agents
           unless (and local (file-remote-p home))
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

(defun todo-write-follow-sessions-files (folders)
  "Return the transcripts in FOLDERS as a list of (TIME . FILE), newest first."
  (sort (cl-loop
         for folder in (seq-filter #'file-directory-p folders)
         append (cl-loop
                 for (file . attributes)
                 in (directory-files-and-attributes folder t "\\.jsonl\\'" t)
                 unless (string-prefix-p "agent-" (file-name-nondirectory file))
                 collect (cons (float-time (file-attribute-modification-time attributes))
                               file)))
        (lambda (a b) (> (car a) (car b)))))

(defvar todo-write-follow-sessions--heads (make-hash-table :test #'equal)
  "Cache of the parts of descriptions that never change, by file name.")

(defun todo-write-follow-sessions--head (file)
  "Return the description of the transcript FILE, a plist, or nil.
See `todo-write-transcript-describe'."
  (let ((head (if (not (file-remote-p file))
                  (todo-write-transcript-describe file)
                (let ((copy (make-temp-file "todo-write-follow")))
                  (unwind-protect
                      (progn (todo-write-follow-sessions-fetch file copy 0 65536)
                             (todo-write-transcript-describe copy))
                    (delete-file copy))))))
    (when (plist-get head :folder)
      (puthash file (list :folder (plist-get head :folder) :agent (plist-get head :agent))
               todo-write-follow-sessions--heads))
    head))

(defun todo-write-follow-sessions-fetch (file copy start end)
  "Append the bytes of FILE, a remote transcript, from START to END to COPY.
END nil means the end of FILE."
  (let ((coding-system-for-write 'binary))
    (with-temp-buffer
      (set-buffer-multibyte nil)
      (insert-file-contents-literally file nil start end)
      (write-region nil nil copy t 'silent))))

(defun todo-write-follow-sessions-directory (file)
  "Return the working directory of the session in FILE.
Return nil if FILE has no complete line yet or is a subagent's."
  (let ((head (or (gethash file todo-write-follow-sessions--heads)
                  (todo-write-follow-sessions--head file))))
    (and (not (plist-get head :agent)) (plist-get head :folder))))

(defun todo-write-follow-sessions-of-project-p (file project)
  "Return non-nil if the session in FILE belongs to PROJECT.
A folder whose name only begins with that of PROJECT may belong to another
one: the name of /a-b begins with that of /a, as that of /a/b does."
  (or (member (file-name-nondirectory (directory-file-name (file-name-directory file)))
              (todo-write-follow-sessions--names project))
      (when-let* ((folder (todo-write-follow-sessions-directory file)))
        ;; A transcript may name any folder.
        (let (file-name-handler-alist)
          (file-in-directory-p folder project)))))

(defun todo-write-follow-sessions-modified (file)
  "Return the modification time of FILE as a float; now if there is no file."
  (float-time (file-attribute-modification-time (file-attributes file))))

;;; Processes

;; Claude Code keeps sessions/PID.json while it runs.  It does not rewrite the file
;; during a turn, so the file's age proves nothing.  The file counts while the
;; process that wrote it lives.

(defvar todo-write-follow-sessions--processes nil
  "Cache of process files, an alist of (FILE STAMP . PLIST).")

(defun todo-write-follow-sessions-process-folders ()
  "Return the folders of process files on this machine."
  (cl-loop for (agent . home) in todo-write-follow-agents
           when (and (eq agent 'claude) (not (file-remote-p home)))
           collect (expand-file-name "sessions" home)))

(defun todo-write-follow-sessions-read-processes ()
  "Read the process files that changed; return non-nil if there were any.
A half-written file is read again the next time."
  (let ((known todo-write-follow-sessions--processes))
    (setq todo-write-follow-sessions--processes
          (cl-loop
           for folder in (todo-write-follow-sessions-process-folders)
           when (file-directory-p folder)
           nconc (cl-loop
                  for (file . attributes)
                  in (directory-files-and-attributes folder t "\\`[0-9]\\{1,9\\}\\.json\\'" t)
                  for stamp = (list (file-attribute-modification-time attributes)
                                    (file-attribute-size attributes))
                  for old = (cdr (assoc file known))
                  ;; Reading a pipe or a device might block.
                  unless (file-attribute-type attributes)
                  collect (cons file (if (equal stamp (car old)) old
                                       (if-let* ((new (todo-write-follow-sessions--process file)))
                                           (cons stamp new)
                                         (cons nil (cdr old))))))))
    (not (equal known todo-write-follow-sessions--processes))))

(defun todo-write-follow-sessions--process (file)
  "Return the contents of the process file FILE, a plist, or nil if unreadable.
`:alive' is the process's id if that process wrote the file."
  (ignore-errors
    (let ((process (with-temp-buffer
                     (insert-file-contents file)
                     (json-parse-buffer :object-type 'plist :null-object nil)))
          (pid (string-to-number (file-name-base file))))
      (append (list :alive (and (todo-write-follow-sessions--started-p
                                 pid (plist-get process :procStart))
                                pid))
              process))))

(defun todo-write-follow-sessions--started-p (pid start)
  "Return non-nil if the process PID started at START, or if that is unknown.
On Linux, START is field 22 of the process's stat."
  (let ((stat (format "/proc/%d/stat" pid)))
    (or (not (stringp start))
        (not (file-directory-p "/proc/self"))
        (and (file-exists-p stat)
             (with-temp-buffer
               (insert-file-contents-literally stat)
               ;; The second field, a name in parentheses, may have any characters.
               (goto-char (point-max))
               (search-backward ")")
               (equal start (nth 20 (split-string (buffer-substring (point) (point-max))))))))))

(defun todo-write-follow-sessions--live (key value)
  "Return the plist of the live process whose KEY is VALUE, or nil."
  (cl-loop for (_ _ . process) in todo-write-follow-sessions--processes
           for pid = (plist-get process :alive)
           when (and pid (equal value (plist-get process key))
                     (eql 0 (signal-process pid 0)))
           return process))

(defun todo-write-follow-sessions--process-of (thread)
  "Return the plist of the live process of THREAD's session, or nil."
  (todo-write-follow-sessions--live :sessionId (string-remove-prefix "claude:" thread)))

(defun todo-write-follow-sessions-live-p (pid)
  "Return non-nil if the process PID lives, perhaps in another session.
Claude Code changes the session by its commands /clear and /resume."
  (and pid (todo-write-follow-sessions--live :alive pid)))

(defun todo-write-follow-sessions-pid (thread)
  "Return the id of the live process of THREAD's session, or nil."
  (plist-get (todo-write-follow-sessions--process-of thread) :alive))

(defun todo-write-follow-sessions-activity (thread)
  "Return the activity of the process of THREAD's session as (ACTIVITY . WHY).
ACTIVITY is `working', `waiting', `idle' or `unknown'.  Return nil if no
such process lives."
  (when-let* ((process (todo-write-follow-sessions--process-of thread)))
    (pcase (plist-get process :status)
      ((or "busy" "shell") '(working))
      ("waiting" (let ((why (plist-get process :waitingFor)))
                   (cons 'waiting (and (stringp why) (todo-write-row-line why)))))
      ("idle" '(idle))
      (_ '(unknown)))))

;;; Reading a session in the minibuffer

(defun todo-write-follow-sessions-describe (file &optional time)
  "Return a choice for the transcript FILE, or nil if it is no session.
A choice is a list (TITLE FILE TIME NOTE).  TIME is the modification time;
NOTE has the working directory, the agent and its activity."
  (when-let* ((head (todo-write-follow-sessions--head file)))
    (unless (plist-get head :agent)
      (let ((activity (todo-write-follow-sessions-activity (plist-get head :session)))
            (folder (plist-get head :folder)))
        (list (or (plist-get head :title) "(nothing asked yet)")
              file
              (or time (todo-write-follow-sessions-modified file))
              (string-join
               (delq nil (list (and folder (abbreviate-file-name folder))
                               (if (equal (plist-get head :host) "codex") "Codex" "Claude Code")
                               (and activity
                                    (concat (symbol-name (car activity))
                                            (and (cdr activity)
                                                 (concat ": " (cdr activity)))))))
               "  "))))))

(defun todo-write-follow-sessions-read ()
  "Read one of the newest 300 sessions in the minibuffer; return its transcript."
  (todo-write-follow-sessions-read-processes)
  (let* ((project (todo-write--project))
         (folders (todo-write-follow-sessions-folders))
         (files (seq-take (todo-write-follow-sessions-files folders) 300))
         (here (seq-filter (pcase-lambda (`(,_ . ,file))
                             (todo-write-follow-sessions-of-project-p file project))
                           files))
         (choices (delq nil
                        (mapcar (pcase-lambda (`(,time . ,file))
                                  (todo-write-follow-sessions-describe file time))
                                (append here (seq-difference files here #'eq))))))
    (unless choices
      (user-error "No session in %s"
                  (mapconcat (lambda (agent) (abbreviate-file-name (cdr agent)))
                             todo-write-follow-agents ", ")))
    (todo-write-follow-sessions-complete "Follow session: " choices)))

(defun todo-write-follow-sessions-complete (prompt choices)
  "Read one of CHOICES in the minibuffer with PROMPT; return its file.
CHOICES are as from `todo-write-follow-sessions-describe', the best first."
  (let (table)
    (pcase-dolist (`(,title ,file . ,more) (delq nil choices))
      (when (assoc title table)
        (setq title (format "%s <%s>" title (file-name-base file))))
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
          (propertize (format "%8s  " (todo-write-row-age time)) 'face 'completions-annotations)
          (propertize (concat "  " note) 'face 'completions-annotations))))

(provide 'todo-write-follow-sessions)
;;; todo-write-follow-sessions.el ends here
