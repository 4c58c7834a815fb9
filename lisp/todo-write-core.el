;;; todo-write-core.el --- Options of todo-write, and its module  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The user options, the errors, and telling the module the options.

;;; Code:

(require 'cl-lib)
(require 'project)
(require 'seq)
(require 'subr-x)
(require 'todo-write-module)

;;; Options

(defgroup todo-write nil
  "The task lists of coding agents."
  :group 'tools
  :prefix "todo-write-"
  :link '(info-link "(todo-write)"))

(defcustom todo-write-directory (locate-user-emacs-file "todo-write/")
  "Folder of the journals, or nil to keep lists in memory only.
Each thread has a file of its own there, readable by you alone."
  :type '(choice directory (const :tag "Memory only" nil)))

(defcustom todo-write-durability 'process
  "When a change counts as saved.
`process': handed to the system, which survives a crash of Emacs.
`disk': on the disk, which survives a power cut and takes longer."
  :type '(choice (const process) (const disk)))

(defcustom todo-write-max-items 1000
  "Most tasks a list may have; longer ones are refused."
  :type 'natnum)

(defcustom todo-write-max-length 2000
  "Most characters a task's text may have; longer ones are refused."
  :type 'natnum)

(defcustom todo-write-strict nil
  "Non-nil refuses what would otherwise be repaired with a notice."
  :type 'boolean)

(defcustom todo-write-several-in-progress nil
  "What to do with a list that has more than one task in progress.
nil accepts it with a notice, `allow' silently, `refuse' not at all."
  :type '(choice (const :tag "Accept with a notice" nil)
                 (const :tag "Accept silently" allow)
                 (const :tag "Refuse" refuse)))

(defcustom todo-write-keep-completed nil
  "Non-nil keeps completed tasks completed, whatever the agent sends."
  :type 'boolean)

(defcustom todo-write-history-limit 1000
  "Observations of a thread kept in memory; the journal keeps all."
  :type 'natnum)

(defcustom todo-write-journal-days 90
  "Days after which the journal of a thread is deleted, or nil for never."
  :type '(choice natnum (const :tag "Never" nil)))

(defcustom todo-write-journal-count 500
  "Journals kept at most, the newest ones, or nil for any number."
  :type '(choice natnum (const :tag "Any number" nil)))

(defvar todo-write-change-functions nil
  "Abnormal hook, run after each accepted write or edit that changed a list.
Each function is called with THREAD and OUTCOME; see `todo-write'.
A function that signals is reported and stops no other.  See
`todo-write-listen' for what else happens to a thread.")

;;; Errors

(define-error 'todo-write-error "Todo-write")
(define-error 'todo-write-input-error "Todo-write, wrong argument" 'todo-write-error)
(define-error 'todo-write-journal-error "Todo-write, journal" 'todo-write-error)
(define-error 'todo-write-panic "Todo-write, bug" 'todo-write-error)

(defun todo-write--wrong (what received expected)
  "Signal that the argument WHAT was RECEIVED and something EXPECTED.
RECEIVED may be any object, also one that holds itself."
  (let ((print-circle t) (print-level 4) (print-length 8))
    (signal 'todo-write-input-error
            (list (format "%s: received %s, expected %s" what
                          (truncate-string-to-width (format "%S" received) 200 nil nil t)
                          expected)))))

;;; Decoded JSON

;; Hosts decode JSON in different ways.  Their objects arrive as hash tables,
;; plists or alists, with strings, symbols or keywords as keys.

(defun todo-write--json-fields (object)
  "Return the fields of OBJECT, decoded JSON, as an alist (NAME . VALUE).
Names are strings, values as they were.  What is not an object has no
fields."
  (cl-flet ((name (key) (string-remove-prefix ":" (format "%s" key))))
    (cond ((hash-table-p object)
           (cl-loop for key being the hash-keys of object using (hash-values value)
                    collect (cons (name key) value)))
          ((not (proper-list-p object)) nil)
          ((consp (car object))
           (cl-loop for (key . value) in (seq-filter #'consp object)
                    collect (cons (name key) value)))
          (t (cl-loop for (key value) on object by #'cddr
                      collect (cons (name key) value))))))

(defun todo-write--json-get (object name)
  "Return the value of the field NAME of OBJECT, decoded JSON, or nil."
  (cdr (assoc name (todo-write--json-fields object))))

(defun todo-write--json-plist (value)
  "Return VALUE, decoded JSON with vectors as arrays, with plists as objects.
It shares no list and no vector with VALUE."
  (cond ((vectorp value) (vconcat (mapcar #'todo-write--json-plist value)))
        ((or (consp value) (hash-table-p value))
         (cl-loop for (name . field) in (todo-write--json-fields value)
                  append (list (intern (concat ":" name))
                               (todo-write--json-plist field))))
        (t value)))

;;; The module

(declare-function todo-write-dyn--configure "ext:todo-write-dyn")
(declare-function todo-write-dyn--prune "ext:todo-write-dyn")

(defun todo-write--hash-table-fields (table)
  "Return the pairs of TABLE as an alist; the module reads objects by it."
  (let (fields)
    (maphash (lambda (key value) (push (cons key value) fields)) table)
    (nreverse fields)))

(defvar todo-write--configured nil
  "Non-nil once the module was told the options; `stale' if they changed since.")
;; Files that are loaded again may be of another version than the module.
(setq todo-write--configured nil)

(defvar todo-write--token-runs (make-hash-table :test #'equal)
  "For each thread whose last stream event was a token, (EVENT . REST).
EVENT is what the host said of that token.  REST is the part of what
subscribers heard that the next token of the run has in common with it.")

(defconst todo-write--options
  '(todo-write-directory
    todo-write-durability todo-write-history-limit todo-write-max-items
    todo-write-max-length todo-write-strict todo-write-several-in-progress
    todo-write-keep-completed)
  "The options that the module is told, in the order of its arguments.")

(defun todo-write--options-changed (&rest _)
  "Have the next call tell the module the options; a variable watcher."
  (when todo-write--configured
    (setq todo-write--configured 'stale)))

(defun todo-write--configure ()
  "Tell the module the options, if they changed since the last call.
The first call loads it.  Values that are local to a buffer do not
count: agents call from whatever buffer is current."
  (unless (eq todo-write--configured t)
    (todo-write-module-load)
    (pcase-let ((`(,directory . ,others) (mapcar #'default-value todo-write--options)))
      (apply #'todo-write-dyn--configure
             (and directory (expand-file-name directory)) others))
    (unless todo-write--configured
      (dolist (option todo-write--options)
        (add-variable-watcher option #'todo-write--options-changed))
      ;; Once in a session, and before any journal is read.
      (todo-write-dyn--prune todo-write-journal-days todo-write-journal-count))
    ;; In another folder are other threads.
    (clrhash todo-write--token-runs)
    (setq todo-write--configured t)))

(defmacro todo-write--call (function &rest args)
  "Call FUNCTION of the module with ARGS, with the options told before.
FUNCTION is not quoted.  Where quitting is inhibited, call
`todo-write--configure' before that: it may build the module."
  (declare (indent 1) (debug (symbolp &rest form)))
  `(progn
     (declare-function ,function "ext:todo-write-dyn")
     (todo-write--configure)
     (,function ,@args)))

(defun todo-write--open (thread &optional about)
  "Load THREAD, or begin it; a new one is about the plist ABOUT.
See `todo-write-begin'."
  (todo-write--warn (todo-write--call todo-write-dyn--open thread about)))

(defun todo-write--warn (warnings)
  "Show the user WARNINGS, strings that the module returned."
  (dolist (warning warnings)
    (display-warning 'todo-write warning)))

(defun todo-write--project ()
  "Return the root of the current project, else the current folder.
A write must not fail because of the folder's name: bytes of it that are
not text become U+FFFD."
  (let* ((project (ignore-errors (project-current)))
         (folder (expand-file-name
                  (or (and project (ignore-errors (project-root project)))
                      default-directory "~/"))))
    (concat (mapcar (lambda (char) (if (> char #x3fff7f) #xfffd char))
                    (string-to-multibyte folder)))))

(provide 'todo-write-core)
;;; todo-write-core.el ends here
