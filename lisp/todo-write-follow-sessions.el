;;; todo-write-follow-sessions.el --- Sessions of agents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Finds the transcripts of Claude Code and Codex, reads what Claude Code's
;; processes do, and lets the user pick a session in the minibuffer.
;; todo-write-follow.el follows them.

;;; Code:

(require 'map)
(require 'todo-write-buffer)
(require 'todo-write-agent)
(require 'todo-write-machines)
(require 'todo-write-text)

(defcustom todo-write-follow-agents
  (list (cons 'claude (todo-write-core-agent-folder 'claude))
        (cons 'codex (todo-write-core-agent-folder 'codex)))
  "Agents whose sessions are followed, as a list of (AGENT . FOLDER).
AGENT is `claude' for Claude Code or `codex' for Codex; FOLDER is its
folder of settings and sessions.  An agent may have several folders.
A remote folder is that of an agent on another machine, in place of the
usual ones there; see `todo-write-connect'."
  :type '(repeat (cons (choice (const :tag "Claude Code" claude) (const :tag "Codex" codex))
                       directory))
  :group 'todo-write
  :package-version '(todo-write . "0.2.0"))

(defvar todo-write-follow-sessions--processes (make-hash-table :test #'equal)
  "The live processes, plists, by (MACHINE . SESSION).
MACHINE is nil for this one.")

(defun todo-write-follow-sessions-homes ()
  "Return the elements of `todo-write-follow-agents' on this machine."
  (cl-loop for (agent . folder) in todo-write-follow-agents
           unless (file-remote-p folder)
           when (or (not (string-match-p "[^\0-\x10ffff]" folder))
                    (todo-write-follow-sessions-skip folder "its name is not text"))
           collect (cons agent (expand-file-name folder))))

;;; Transcripts

(defvar todo-write-follow-sessions--skipped (make-hash-table :test #'equal)
  "The files that the user knows are skipped, and why.")

(defun todo-write-follow-sessions-skip (file reason)
  "Say that FILE is skipped for REASON, unless the user knows.  Return nil."
  (unless (equal reason (gethash file todo-write-follow-sessions--skipped))
    (when (= 1000 (hash-table-count todo-write-follow-sessions--skipped))
      (clrhash todo-write-follow-sessions--skipped))
    (puthash file reason todo-write-follow-sessions--skipped)
    (message "todo-write skips %s: %s"
             (todo-write-text-line (todo-write-follow-sessions-shown file))
             (todo-write-text-line reason))
    nil))

(defun todo-write-follow-sessions-shown (file)
  "Return FILE, abbreviated.  Nothing is asked of another machine."
  (let (file-name-handler-alist)
    (abbreviate-file-name file)))

;;; Processes

;; Claude Code keeps sessions/PID.json while it runs.  The hub reads these files.

(defun todo-write-follow-sessions-note-processes (live)
  "Note that LIVE, a list of plists, are the live processes."
  (clrhash todo-write-follow-sessions--processes)
  (dolist (process live)
    (puthash (cons (plist-get process :machine) (plist-get process :session)) process
             todo-write-follow-sessions--processes)))

(defun todo-write-follow-sessions-process-of (thread)
  "Return the plist of the live process of THREAD's session, or nil."
  (pcase-let (((map :machine :session :subagent)
               (todo-write-core-call todo-write-dyn--identity thread)))
    (unless subagent
      (gethash (cons machine session) todo-write-follow-sessions--processes))))

(defun todo-write-follow-sessions-process-in (file)
  "Return the plist of the live process of the session in FILE, or nil."
  (gethash (cons (todo-write-machines-of file)
                 ;; TRAMP is not asked, nor loaded.
                 (let (file-name-handler-alist) (file-name-base file)))
           todo-write-follow-sessions--processes))

;;; Reading a session in the minibuffer

(defun todo-write-follow-sessions--status (process)
  "Return in words what PROCESS, a plist or nil, says, or nil."
  (if (plist-get process :is-suspended) "suspended"
    (pcase (plist-get process :status)
      ("busy" "working")
      ("shell" "idle, 1 in background")
      ((and status (or "waiting" "idle"))
       (let ((reason (and (equal status "waiting")
                          (or (plist-get process :needs) (plist-get process :waiting-for)))))
         (if (stringp reason) (concat status ": " (todo-write-text-line reason)) status)))
      (_ (and process "unknown")))))

(defun todo-write-follow-sessions-choices (found)
  "Return the choices of the newest 300 sessions in FOUND, the project's first.
FOUND is a list of plists, as from the module.  A choice is a list (TITLE
FILE CELL...).  The cells are its age, its agent, what its process says,
its machine and its working directory."
  (mapcar
   (lambda (one)
     (pcase-let* (((map :path :modified :description) one)
                  ((map :title :folder :agent) description))
       (list (todo-write-text-line (or title "(nothing asked yet)") 100)
             path
             (todo-write-text-age (/ modified 1000.0))
             (todo-write-agent-program-label agent)
             (or (todo-write-follow-sessions--status (todo-write-follow-sessions-process-in path))
                 "")
             (or (todo-write-machines-of path) "")
             ;; It may be long, and a narrow frame cuts the last one.
             (if folder (todo-write-text-line (todo-write-follow-sessions-shown folder)) ""))))
   (seq-sort-by (lambda (one) (if (plist-get one :is-of-project) 0 1)) #'<
                (seq-take found 300))))

(defun todo-write-follow-sessions-complete (prompt choices)
  "Read one of CHOICES in the minibuffer with PROMPT; return its file.
CHOICES are as from `todo-write-follow-sessions-choices', the best first."
  (let (table)
    (pcase-dolist (`(,title ,file . ,cells) choices)
      (when (assoc title table)
        (setq title (format "%s <%s>" title (todo-write-text-line (file-name-base file)))))
      (push `(,title ,file . ,cells) table))
    (setq table (nreverse table))
    (nth 1 (assoc (completing-read
                   prompt
                   (todo-write-buffer-completion-table table 'todo-write-session #'cddr)
                   nil t nil nil (caar table))
                  table))))

(provide 'todo-write-follow-sessions)
;;; todo-write-follow-sessions.el ends here
