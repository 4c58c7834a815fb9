;;; todo-write-host.el --- The programs whose agents have plans  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A host is a package or a protocol by which agents and their plans become known.  Each
;; describes itself by `todo-write-host-define', and its mode calls
;; `todo-write-host-switch'.  What is asked of all hosts is asked here, so that no file
;; names the hosts above it.

;;; Code:

(require 'todo-write-core)

(cl-defstruct (todo-write-host (:constructor todo-write-host--make) (:copier nil))
  "A host.
NAME is what users read.  MODE is the minor mode that switches it on, or
nil.  FEATURE is what must be loaded before that is possible, or nil.
SWITCH-ON and SWITCH-OFF are functions without arguments; the first may be
called again while the host is on.  STATE is `on', `waiting' (for FEATURE)
or nil.

These are functions, or nil.  INSTALLED returns non-nil if the program is
there.  FINDINGS returns further findings for the doctor.  VISIT returns the
buffer in which the user talks to the agent of a thread, for hosts that do
not set `todo-write-view-thread' there; nil for threads of others.  ANSWER
takes a buffer, the id of a permission request of an agent there and that
of an option, and returns nil if that buffer is not its own.  DRAFT takes the key of a thread and a
text, puts it where the user writes to that agent, without sending it, and
returns that buffer, or (queued . BUFFER) if it goes along by itself; nil if
the thread is not its own, or takes none now.  For no text, it only returns
the buffer."
  name mode feature switch-on switch-off state
  installed findings visit answer draft)

(defvar todo-write-host-all nil
  "The hosts whose files are loaded, sorted by name.")

(defun todo-write-host-define (name &rest slots)
  "Define the host NAME, a string, with SLOTS, a plist; see `todo-write-host'.
If its file is loaded again, the host stays on."
  (declare (indent 1))
  (let ((host (apply #'todo-write-host--make :name name slots))
        (known (todo-write-host-named name)))
    (when known
      (setf (todo-write-host-state host) (todo-write-host-state known)))
    (setq todo-write-host-all
          (seq-sort-by (lambda (host) (downcase (todo-write-host-name host))) #'string<
                       (cons host (delq known todo-write-host-all))))))

(defun todo-write-host-named (name)
  "Return the host NAME, or nil."
  (seq-find (lambda (host) (equal name (todo-write-host-name host))) todo-write-host-all))

;;; On and off

(defun todo-write-host-switch (name on)
  "Switch the host NAME on if ON is non-nil, else off.
Load the module first.  Return what the host returns, or nil if it waits
for its feature."
  (let ((host (todo-write-host-named name)))
    (when on
      (todo-write-module-prepare))
    (prog1 (cond (on (setf (todo-write-host-state host)
                           (or (todo-write-host-state host) 'waiting))
                     (todo-write-host--try host))
                 ((eq 'on (cl-shiftf (todo-write-host-state host) nil))
                  (funcall (todo-write-host-switch-off host))))
      (todo-write-host--watch))))

(defun todo-write-host--try (host)
  "Switch HOST on if that is wanted and its feature is loaded."
  (let ((feature (todo-write-host-feature host)))
    (when (and (todo-write-host-state host) (or (null feature) (featurep feature)))
      ;; An init file, and the file of another package that is being loaded, go on.
      (condition-case-unless-debug err
          (progn
            ;; It waits no more, also while it asks the user.
            (setf (todo-write-host-state host) 'on)
            (funcall (todo-write-host-switch-on host)))
        (error
         (setf (todo-write-host-state host) nil)
         (when (todo-write-host-mode host)
           (set (todo-write-host-mode host) nil))
         (display-warning 'todo-write
                          (format-message "%s cannot be switched on: %s"
                                          (todo-write-host-name host)
                                          (todo-write-core-error-text err))))))))

(defun todo-write-host--waiting ()
  "Return the hosts that wait for a feature."
  (seq-filter (lambda (host) (eq 'waiting (todo-write-host-state host))) todo-write-host-all))

(defun todo-write-host--watch ()
  "Watch which files are loaded while a host waits for a feature."
  (funcall (if (todo-write-host--waiting) #'add-hook #'remove-hook)
           'after-load-functions #'todo-write-host--loaded))

(defun todo-write-host--loaded (_file)
  "Switch on the hosts that waited for a feature that is loaded now."
  (dolist (host (todo-write-host--waiting))
    (if (eq 'todo-write-dyn (todo-write-host-feature host))
        ;; A call has loaded the module, and goes on first.
        (run-with-timer 0 nil #'todo-write-host--try host)
      (todo-write-host--try host)))
  (todo-write-host--watch))

;;; What is asked of all hosts

(defun todo-write-host-ask (accessor &rest args)
  "Return the first value other than nil of hosts' functions called with ARGS.
ACCESSOR is that of the slot of the functions; see `todo-write-host'."
  (seq-some (lambda (host)
              (when-let* ((function (funcall accessor host)))
                (apply function args)))
            todo-write-host-all))

(provide 'todo-write-host)
;;; todo-write-host.el ends here
