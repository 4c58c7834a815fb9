;;; todo-write-core.el --- Options of todo-write, and its module  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The user options, the errors, and calls of the module.

;;; Code:

;; The files that require this one get these from it.
(require 'cl-lib)
(require 'map)
(require 'seq)
(require 'subr-x)
(require 'todo-write-json)
(require 'todo-write-module)

;;; Options

(defgroup todo-write nil
  "The task lists of coding agents."
  :group 'tools
  :prefix "todo-write-"
  :link '(info-link "(todo-write)"))

;; Customize loads these files before it shows a group.
;;;###autoload
(progn
  (put 'todo-write 'custom-loads
       '( todo-write-core todo-write-module todo-write-agent-shell todo-write-agents
          todo-write-connect todo-write-eca todo-write-efrit todo-write-follow
          todo-write-gptel todo-write-machines todo-write-mode-line todo-write-notify
          todo-write-buffer todo-write-row todo-write-socket todo-write-terminal
          todo-write-view))
  (put 'todo-write-faces 'custom-loads
       '( todo-write-answer todo-write-answer-text todo-write-attention todo-write-detail
          todo-write-mode-line todo-write-row todo-write-story)))

(defcustom todo-write-directory (locate-user-emacs-file "todo-write/")
  "Folder of the journals, or nil to keep lists in memory only.
Each thread has a folder of its own there, readable by you alone."
  :type '(choice directory (const :tag "Memory only" nil))
  :package-version '(todo-write . "0.2.0"))

(defcustom todo-write-durability 'process
  "When a change counts as saved.
`process': handed to the system; survives a crash of Emacs.
`disk': written to the disk; survives a power failure, but is slower."
  :type '(choice (const process) (const disk))
  :package-version '(todo-write . "0.2.0"))

(defcustom todo-write-max-items 1000
  "Maximum number of tasks in a list; longer lists are refused."
  :type 'natnum
  :package-version '(todo-write . "0.2.0"))

(defcustom todo-write-max-length 2000
  "Maximum number of characters in a task's text; longer texts are refused."
  :type 'natnum
  :package-version '(todo-write . "0.2.0"))

(defcustom todo-write-strict nil
  "Non-nil means refuse input instead of repairing it with a notice."
  :type 'boolean
  :package-version '(todo-write . "0.2.0"))

(defcustom todo-write-several-in-progress nil
  "What to do with a list that has more than one task in progress.
nil accepts it with a notice, `allow' accepts it silently, and `refuse'
refuses it."
  :type '(choice (const :tag "Accept with a notice" nil)
                 (const :tag "Accept silently" allow)
                 (const :tag "Refuse" refuse))
  :package-version '(todo-write . "0.2.0"))

(defcustom todo-write-keep-completed nil
  "Non-nil means that agents cannot reopen completed tasks."
  :type 'boolean
  :package-version '(todo-write . "0.2.0"))

(defvar todo-write-history-limit 1000
  "Number of observations of a thread kept in memory; the journal keeps all.")

(defcustom todo-write-record-patches t
  "Non-nil means to record the patches of agents, nil only how many lines.
Calls, results and messages are recorded in any case, so that the journal
may hold code.  See also `todo-write-record-excluded'."
  :type 'boolean
  :package-version '(todo-write . "0.2.0"))

(defcustom todo-write-record-excluded
  '(".env" ".env.*" "*.env" ".envrc" ".netrc" ".authinfo*" ".pgpass" ".npmrc" ".pypirc"
    "*.pem" "*.key" "*.p12" "*.gpg" "*.asc" "id_rsa*" "id_ed25519*" "id_ecdsa*"
    "credentials" "credentials.json" "secrets.*" ".ssh" ".gnupg" ".aws")
  "Files and projects whose contents are not recorded, as a list of globs.
A glob with a slash matches the name of a file or of a folder above it:
absolute, relative to the project, or with \"~\".  Another one matches the
name of the file or of such a folder.  `*' and `?' match no slash, `**'
does.

Of a command that names such a file, the output is not recorded; of
another call that names one, only the tool, the outcome and the numbers of
lines are.  Names are looked for in arguments that are paths, and in the
words of commands that have a slash or a period.  What a command writes to
such a file, and the output of one that does not name it, is recorded."
  :type '(repeat string)
  :package-version '(todo-write . "0.2.0"))

(defcustom todo-write-journal-days 90
  "Days after which the journal of a thread is deleted, or nil for never."
  :type '(choice natnum (const :tag "Never" nil))
  :package-version '(todo-write . "0.2.0"))

(defvar todo-write-change-functions nil
  "Abnormal hook, run after each accepted write or edit that changed a list.
Each function is called with THREAD and OUTCOME; see `todo-write'.  If
one signals, the error is reported and the others are still called.  For
observations and streams, see `todo-write-subscribe'.")

(defvar todo-write-agent-functions nil
  "Abnormal hook, run after an agent began, changed what it does, or is gone.
Each function is called with THREAD, OLD and NEW: the key of its thread,
and what it was and is, plists as in `todo-write-agents'.  OLD is nil for
a new agent, NEW for one whose thread was forgotten.  Something in the
plists differs, which may be the plan; for what needs you, compare their
:attention.  Subagents are left out.  If one signals, the error is
reported and the others are still called.")

;;; Errors

(define-error 'todo-write-error "Todo-write")
(define-error 'todo-write-input-error "Todo-write, wrong argument" 'todo-write-error)
(define-error 'todo-write-journal-error "Todo-write, journal" 'todo-write-error)
(define-error 'todo-write-panic "Todo-write, bug" 'todo-write-error)

(defun todo-write-core-wrong (what received expected)
  "Signal that RECEIVED was passed as argument WHAT instead of EXPECTED.
RECEIVED may be any object, even a circular one."
  (let ((print-circle t) (print-level 4) (print-length 8))
    (signal 'todo-write-input-error
            (list (format "%s: received %s, expected %s" what
                          (truncate-string-to-width (format "%S" received) 200 nil nil t)
                          expected)))))

(defun todo-write-core-error-text (problem)
  "Return the words of PROBLEM, an error caught by `condition-case'.
Unlike `error-message-string', leave out the quotes of a Lisp string."
  (if (and (stringp (cadr problem))
           (memq 'todo-write-error (get (car problem) 'error-conditions)))
      (cadr problem)
    (error-message-string problem)))

(defun todo-write-core-plain (string)
  "Return STRING with U+FFFD for each byte or half of a character.
The module and JSON take neither, but files and programs have them."
  (let ((text (string-to-multibyte string))
        ;; Folding the case of so many characters takes milliseconds.
        case-fold-search)
    (if (string-match-p "[\ud800-\udfff\x3fff80-\x3fffff]" text)
        (concat (mapcar (lambda (char)
                          (if (or (<= #xd800 char #xdfff) (> char #x3fff7f)) #xfffd char))
                        text))
      text)))

(defun todo-write-core-now ()
  "Return the time in milliseconds since the epoch."
  (truncate (* 1000 (float-time))))

;;; The names of Emacsen

(defvar todo-write-core-emacs nil
  "The name of this Emacs among all, a string, once the module is loaded.
It has its process id, the second in which it started, 0 if the system
does not tell, and the name space of process ids on Linux.")

(defun todo-write--emacs-lives-p (name)
  "Return t if the Emacs with NAME, as `todo-write-core-emacs', may live.
The module calls this."
  (pcase-let ((`(,_ ,own ,here) (split-string todo-write-core-emacs " "))
              (`(,process ,start ,there) (split-string name " ")))
    (or (equal own "0")
        (and there (not (equal here there)))
        ;; A journal may have any name.
        (ignore-errors
          (let ((began (alist-get 'start (process-attributes (string-to-number process)))))
            ;; The start is computed at each call, and differs a little.
            (and began (<= (abs (- (float-time began) (string-to-number start))) 2)))))))

;;; The module

(declare-function todo-write-dyn--configure "ext:todo-write-dyn")
(declare-function todo-write-dyn--prune "ext:todo-write-dyn")
(declare-function todo-write-dyn--summarize "ext:todo-write-dyn")

(defun todo-write--hash-table-fields (table)
  "Return the keys and values of TABLE as a plist; the module calls this."
  (cl-loop for key being the hash-keys of table using (hash-values value)
           collect key collect value))

(defvar todo-write-core-configured nil
  "Non-nil if the module has the options, `stale' if they changed since.")
;; A file that is loaded again may be of another version than the module.
(setq todo-write-core-configured nil)

(defvar todo-write-core-token-runs (make-hash-table :test #'equal)
  "For each thread whose last stream event was a token, (EVENT . REST).
EVENT is the plist from the host.  REST is the tail of the completed
event, which the next tokens of the run share.")

(defconst todo-write-core--options
  '(todo-write-directory
    todo-write-durability todo-write-history-limit todo-write-max-items
    todo-write-max-length todo-write-strict todo-write-several-in-progress
    todo-write-keep-completed todo-write-record-patches todo-write-record-excluded)
  "The options for the module.")

(defun todo-write-core--options-changed (&rest _)
  "Have the next call pass the options to the module; a variable watcher."
  (when todo-write-core-configured
    (setq todo-write-core-configured 'stale)))

(defun todo-write-core-configure ()
  "Pass the options to the module if they changed since the last call.
The first call loads it.  Buffer-local values are ignored, since agents
call from any buffer."
  (unless (eq todo-write-core-configured t)
    (todo-write-module-load)
    (unless todo-write-core-emacs
      (setq todo-write-core-emacs
            (format "%d %d %s" (emacs-pid)
                    (float-time (alist-get 'start (process-attributes (emacs-pid)) 0))
                    (or (file-symlink-p "/proc/self/ns/pid") ""))))
    (todo-write-dyn--configure
     (cl-loop for option in (cons 'todo-write-core-emacs todo-write-core--options)
              for value = (default-value option)
              append (list option (if (and (stringp value) (eq option 'todo-write-directory))
                                      (expand-file-name value)
                                    value))))
    (unless todo-write-core-configured
      (dolist (option todo-write-core--options)
        (add-variable-watcher option #'todo-write-core--options-changed))
      (add-hook 'kill-emacs-hook #'todo-write-dyn--summarize)
      ;; Once in a session.  A file that cannot be deleted is an error of `todo-write-prune'.
      (ignore-error todo-write-journal-error
        (todo-write-dyn--prune todo-write-journal-days)))
    ;; Another folder has other threads.
    (clrhash todo-write-core-token-runs)
    (setq todo-write-core-configured t)))

(defmacro todo-write-core-call (function &rest args)
  "Call FUNCTION of the module, an unquoted symbol, with ARGS.
To inhibit quitting, call `todo-write-core-configure' first, since that may
build the module."
  (declare (indent 1) (debug (symbolp &rest form)))
  `(progn
     (declare-function ,function "ext:todo-write-dyn")
     (todo-write-core-configure)
     (,function ,@args)))

;;; Waiting for files

(defvar todo-write-core-wait-words "Reading files"
  "What Emacs does while it waits for the module, a string.")

(defun todo-write-core-say-wait (seconds percent)
  "Say `todo-write-core-wait-words' if the wait has taken SECONDS, more than 0.3.
PERCENT is how much is done.  The module calls this between files, where
`C-g' ends the work."
  (when (and (> seconds 0.3) (not noninteractive))
    (let ((text (format "%s...%d%%" todo-write-core-wait-words percent))
          message-log-max)
      (unless (equal text (current-message))
        (message "%s" text)))))

(defun todo-write-core-file-bytes (file limit)
  "Return the first LIMIT bytes of the local FILE as a unibyte string, or nil.
Return nil if FILE is no regular file, which is never waited for."
  (let ((bytes (ignore-error todo-write-input-error
                 (todo-write-core-call todo-write-dyn--file-bytes file limit))))
    (and bytes (encode-coding-string bytes 'latin-1))))

(defun todo-write-core-project-root ()
  "Return the root of the current project, else the current folder.
A remote folder is its own root: its host might not answer.  Only the
names of files are examined: other people may have made the folder, where
`project-current' evaluates directory variables (Emacs 28) and waits for a
pipe named .git."
  ;; Emacs 28 leaves its buffer for printing current after an error, without a folder.
  (let ((default-directory (or default-directory (expand-file-name "~/"))))
    (if (file-remote-p default-directory)
        default-directory
      (let (file-name-handler-alist)
        (expand-file-name
         (or (locate-dominating-file
              default-directory
              (lambda (folder)
                ;; A linked worktree and a submodule, where .git is a file, are projects of
                ;; their own.
                (seq-some (lambda (marker)
                            (let ((file (expand-file-name marker folder)))
                              (and (file-exists-p file)
                                   (string-match-p "\\`[-dl]" (file-attribute-modes
                                                               (file-attributes file))))))
                          '(".git" ".jj" ".hg" ".sl" ".svn" ".bzr" "_darcs" ".pijul"
                            ".fslckout"))))
             default-directory))))))

(defun todo-write--project ()
  "Return `todo-write-core-project-root' as text.
A write must not fail because of the folder's name."
  (todo-write-core-plain (todo-write-core-project-root)))

(defun todo-write-core-agent-folder (agent)
  "Return the folder of settings and sessions of AGENT, `claude' or `codex'.
The environment of this Emacs may name another one than the usual."
  (pcase-let* ((`(,variable . ,usual) (pcase-exhaustive agent
                                        ('claude '("CLAUDE_CONFIG_DIR" . "~/.claude"))
                                        ('codex '("CODEX_HOME" . "~/.codex"))))
               (folder (getenv variable)))
    (if (member folder '(nil "")) usual folder)))

;;; Calls by other packages

(defvar todo-write-core-host-failures nil
  "Alist of hosts and (COUNT . ERROR): our functions that failed in their calls.")

(defmacro todo-write-core-for-host (host &rest body)
  "Evaluate BODY, which the package HOST, a string, calls by a hook or an advice.
An error in it must not end the work of that package: it is counted for
the doctor, the first one is shown, and the value is nil."
  (declare (indent 1) (debug t))
  `(condition-case-unless-debug problem
       (progn ,@body)
     (error (todo-write-core--count-host-failure ,host problem))))

(defun todo-write-core--count-host-failure (host problem)
  "Count PROBLEM, an error, for HOST, and return nil."
  (let ((known (assoc host todo-write-core-host-failures)))
    (if known
        (setcdr known (cons (1+ (cadr known)) (car problem)))
      (push (cons host (cons 1 (car problem))) todo-write-core-host-failures)
      (display-warning 'todo-write
                       (format-message "What %s reports cannot be used: %s" host
                                       (error-message-string problem)))))
  nil)

(provide 'todo-write-core)
;;; todo-write-core.el ends here
