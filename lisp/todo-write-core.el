;;; todo-write-core.el --- Options of todo-write, and its module  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The user options, the errors, decoded JSON, and calls of the module.

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
`process': handed to the system; survives a crash of Emacs.
`disk': written to the disk; survives a power failure, but is slower."
  :type '(choice (const process) (const disk)))

(defcustom todo-write-max-items 1000
  "Maximum number of tasks in a list; longer lists are refused."
  :type 'natnum)

(defcustom todo-write-max-length 2000
  "Maximum number of characters in a task's text; longer texts are refused."
  :type 'natnum)

(defcustom todo-write-strict nil
  "Non-nil means refuse input instead of repairing it with a notice."
  :type 'boolean)

(defcustom todo-write-several-in-progress nil
  "What to do with a list that has more than one task in progress.
nil accepts it with a notice, `allow' accepts it silently, and `refuse'
refuses it."
  :type '(choice (const :tag "Accept with a notice" nil)
                 (const :tag "Accept silently" allow)
                 (const :tag "Refuse" refuse)))

(defcustom todo-write-keep-completed nil
  "Non-nil means that agents cannot reopen completed tasks."
  :type 'boolean)

(defcustom todo-write-history-limit 1000
  "Number of observations of a thread kept in memory; the journal keeps all."
  :type 'natnum)

(defcustom todo-write-journal-days 90
  "Days after which the journal of a thread is deleted, or nil for never."
  :type '(choice natnum (const :tag "Never" nil)))

(defcustom todo-write-journal-count 500
  "Maximum number of journals, the newest ones, or nil for any number."
  :type '(choice natnum (const :tag "Any number" nil)))

(defvar todo-write-change-functions nil
  "Abnormal hook, run after each accepted write or edit that changed a list.
Each function is called with THREAD and OUTCOME; see `todo-write'.  If
one signals, the error is reported and the others are still called.  For
other events of a thread, see `todo-write-listen'.")

;;; Errors

(define-error 'todo-write-error "Todo-write")
(define-error 'todo-write-input-error "Todo-write, wrong argument" 'todo-write-error)
(define-error 'todo-write-journal-error "Todo-write, journal" 'todo-write-error)
(define-error 'todo-write-panic "Todo-write, bug" 'todo-write-error)

(defun todo-write--wrong (what received expected)
  "Signal that RECEIVED was passed as argument WHAT instead of EXPECTED.
RECEIVED may be any object, even a circular one."
  (let ((print-circle t) (print-level 4) (print-length 8))
    (signal 'todo-write-input-error
            (list (format "%s: received %s, expected %s" what
                          (truncate-string-to-width (format "%S" received) 200 nil nil t)
                          expected)))))

(defun todo-write--plain (string)
  "Return STRING with U+FFFD for each byte that is not part of a character.
The module and JSON take no such bytes, but files and programs have them."
  (if (string-match-p "\\`[[:ascii:]]*\\'" string)
      string
    (concat (mapcar (lambda (char) (if (> char #x3fff7f) #xfffd char))
                    (string-to-multibyte string)))))

;;; Decoded JSON

;; Hosts decode JSON objects as hash tables, plists or alists, with strings,
;; symbols or keywords as keys.

(defun todo-write--json-fields (object)
  "Return the fields of OBJECT, decoded JSON, as an alist (NAME . VALUE).
Names are strings, values are unchanged.  Other values have no fields."
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

(defun todo-write--json-get (object &rest names)
  "Return the value at the path NAMES in OBJECT, decoded JSON, or nil."
  (dolist (name names object)
    (setq object (cdr (assoc name (todo-write--json-fields object))))))

(defun todo-write--json-plist (value)
  "Return a deep copy of VALUE, decoded JSON, with plists as objects.
Arrays must be vectors."
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
  "Return the pairs of TABLE as an alist; the module calls this."
  (cl-loop for key being the hash-keys of table using (hash-values value)
           collect (cons key value)))

(defvar todo-write--configured nil
  "Non-nil if the module has the options, `stale' if they changed since.")
;; A file that is loaded again may be of another version than the module.
(setq todo-write--configured nil)

(defvar todo-write--token-runs (make-hash-table :test #'equal)
  "For each thread whose last stream event was a token, (EVENT . REST).
EVENT is the plist from the host.  REST is the tail of the completed
event, which the next tokens of the run share.")

(defconst todo-write--options
  '(todo-write-directory
    todo-write-durability todo-write-history-limit todo-write-max-items
    todo-write-max-length todo-write-strict todo-write-several-in-progress
    todo-write-keep-completed)
  "The options for the module, in the order of its arguments.")

(defun todo-write--options-changed (&rest _)
  "Have the next call pass the options to the module; a variable watcher."
  (when todo-write--configured
    (setq todo-write--configured 'stale)))

(defun todo-write--configure ()
  "Pass the options to the module if they changed since the last call.
The first call loads it.  Buffer-local values are ignored, since agents
call from any buffer."
  (unless (eq todo-write--configured t)
    (todo-write-module-load)
    (pcase-let ((`(,directory . ,others) (mapcar #'default-value todo-write--options)))
      (apply #'todo-write-dyn--configure
             (if (stringp directory) (expand-file-name directory) directory)
             others))
    (unless todo-write--configured
      (dolist (option todo-write--options)
        (add-variable-watcher option #'todo-write--options-changed))
      ;; Once in a session, before any journal is read.
      (todo-write-dyn--prune todo-write-journal-days todo-write-journal-count))
    ;; Another folder has other threads.
    (clrhash todo-write--token-runs)
    (setq todo-write--configured t)))

(defmacro todo-write--call (function &rest args)
  "Call FUNCTION of the module, an unquoted symbol, with ARGS.
To inhibit quitting, call `todo-write--configure' first, since that may
build the module."
  (declare (indent 1) (debug (symbolp &rest form)))
  `(progn
     (declare-function ,function "ext:todo-write-dyn")
     (todo-write--configure)
     (,function ,@args)))

(defun todo-write--open (thread &optional about)
  "Load THREAD, or begin it with the plist ABOUT; see `todo-write-begin'."
  (todo-write--warn (todo-write--call todo-write-dyn--open thread about)))

(defun todo-write--warn (warnings)
  "Show WARNINGS, strings from the module."
  (dolist (warning warnings)
    (display-warning 'todo-write warning)))

(defun todo-write--project-root ()
  "Return the root of the current project, else the current folder."
  (let ((project (ignore-errors (project-current))))
    (expand-file-name (or (and project (ignore-errors (project-root project)))
                          default-directory "~/"))))

(defun todo-write--project ()
  "Return `todo-write--project-root' as text.
A write must not fail because of the folder's name."
  (todo-write--plain (todo-write--project-root)))

(provide 'todo-write-core)
;;; todo-write-core.el ends here
