;;; todo-write-hub.el --- What comes from outside  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Threads of the module, the hub, find, watch and read the sessions of agents, so that
;; Emacs never waits for a file of an agent, and serve the socket for agents' programs.
;; They write a byte to a pipe process when there is something to take; its filter takes
;; and dispatches that.

;;; Code:

(require 'todo-write-core)
(require 'todo-write-events)

(defvar todo-write-hub-process nil
  "The pipe process to which the hub writes, or nil.")

(defvar todo-write-hub--inside nil
  "Non-nil while messages of the hub are dispatched.")

(defvar todo-write-hub-functions nil
  "Abnormal hook, called with each message of the hub, a plist.
See `todo-write-dyn--hub-take'.")

(defvar todo-write-hub-call-functions nil
  "Abnormal hook, called with each message of the socket, a plist.
See `todo-write-dyn--door-take'.  While a message is handled, those of
other programs may come.")

(defvar todo-write-hub-begin-hook nil
  "Hook, run when a hub has begun; an earlier one has ended.")

(defconst todo-write-hub--slice 0.005
  "Seconds for which messages of the socket are handled at once.
The same holds for messages of what was read.")

(defvar todo-write-hub--untold nil
  "Messages that were taken and are not dispatched yet, oldest first.")

(defun todo-write-hub-live-p ()
  "Return non-nil if the hub runs."
  (and (process-live-p todo-write-hub-process)
       (todo-write-core-call todo-write-dyn--hub-live-p)))

(defun todo-write-hub-ensure ()
  "Start the hub unless it runs; signal `todo-write-error' if it cannot."
  (unless (todo-write-hub-live-p)
    (todo-write-hub-end)
    (add-hook 'kill-emacs-hook #'todo-write-hub-end)
    (let* (;; Otherwise, Emacs would wait for more after each byte.
           process-adaptive-read-buffering
           (process (make-pipe-process :name "todo-write-hub" :noquery t :coding 'binary
                                       :sentinel #'ignore :filter #'todo-write-hub--filter))
           (buffer (process-buffer process)))
      ;; To kill the buffer would close the pipe.
      (set-process-buffer process nil)
      (kill-buffer buffer)
      (condition-case err
          ;; Who follows sessions sets other times.
          (todo-write-core-call todo-write-dyn--hub-begin process 2 nil)
        (error (delete-process process)
               (signal (car err) (cdr err))))
      (setq todo-write-hub-process process))
    (run-hooks 'todo-write-hub-begin-hook)))

(defun todo-write-hub-end ()
  "End the hub.
Its threads stop writing first: in batch Emacs, writing to a closed pipe
would be fatal."
  (when todo-write-hub-process
    (setq todo-write-hub--untold nil)
    (todo-write-core-call todo-write-dyn--hub-end)
    (delete-process (cl-shiftf todo-write-hub-process nil))))

(defun todo-write-hub--filter (process _bytes)
  "Take and dispatch what the hub has for PROCESS, calls of programs first."
  (when (eq process todo-write-hub-process)
    (let ((inhibit-quit t))
      (if todo-write-hub--inside
          (todo-write-hub--take-calls nil)
        (unwind-protect
            (todo-write-events-drawing-once
              (todo-write-hub--take-calls t)
              (unless todo-write-hub--untold
                (setq todo-write-hub--untold (todo-write-core-call todo-write-dyn--hub-take)))
              (let ((todo-write-hub--inside t)
                    (end (+ (float-time) todo-write-hub--slice)))
                (while (and todo-write-hub--untold (< (float-time) end))
                  (todo-write-hub--dispatch 'todo-write-hub-functions
                                            (pop todo-write-hub--untold)))))
          (todo-write-core-call todo-write-dyn--hub-ring (and todo-write-hub--untold t)))))))

(defun todo-write-hub--take-calls (briefly)
  "Take and dispatch messages of sockets for a few milliseconds.
Unless BRIEFLY is non-nil, take all of this machine even so, since the hub
does not ring for them again."
  (let ((end (+ (float-time) todo-write-hub--slice))
        message)
    (while (setq message (if (< (float-time) end)
                             (todo-write-core-call todo-write-dyn--door-take nil)
                           (and (not briefly)
                                (todo-write-core-call todo-write-dyn--door-take t))))
      (todo-write-hub--dispatch 'todo-write-hub-call-functions message))))

(defun todo-write-hub--dispatch (hook message)
  "Call the functions of HOOK with MESSAGE, and show an error in one of them."
  (condition-case-unless-debug err
      (run-hook-with-args hook message)
    ;; `C-g' may end the wait for a file; what follows is dispatched all the same.
    ((error quit) (message "todo-write: %s" (todo-write-core-error-text err)))))

(defun todo-write-hub-wait (condition)
  "Wait until CONDITION, a function, returns non-nil; return that.
It is called again after each dispatch.  A quit ends the wait, not what
the hub does.  Signal `todo-write-error' if called during a dispatch."
  (let (value)
    (while (not (setq value (funcall condition)))
      (when todo-write-hub--inside
        (signal 'todo-write-error '("A function that is called with news cannot wait for more")))
      (unless (todo-write-hub-live-p)
        (signal 'todo-write-error '("The threads that follow sessions have ended")))
      (accept-process-output todo-write-hub-process 0.1))
    value))

(provide 'todo-write-hub)
;;; todo-write-hub.el ends here
