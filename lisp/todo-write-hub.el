;;; todo-write-hub.el --- What comes from outside  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The program `todo-write-mcp serve' finds, watches and reads the sessions of agents,
;; listens on the socket for agents' programs and keeps the connections to other
;; machines.  It is a child process: it may hang, crash or be killed, and is started
;; again; Emacs goes on meanwhile.
;;
;; The module reads what the program says from a private socket, since a process
;; filter would make strings of all of it.  Standard output only rings: then the
;; filter has the module feed on what there is, and dispatches the news.

;;; Code:

(require 'todo-write-events)

(defvar todo-write-hub-process nil
  "The process of the program, or nil.")

(defvar todo-write-hub-functions nil
  "Abnormal hook, called with each message of the program, a list.
See `todo-write-dyn--feed'.")

(defvar todo-write-hub-begin-hook nil
  "Hook, run when a program has begun; an earlier one has ended.")

(defvar todo-write-hub-check-hook nil
  "Hook, run every five seconds while the program runs.")

(defvar todo-write-hub--inside nil
  "Non-nil while messages of the program are dispatched.")

(defvar todo-write-hub--silence 0
  "Seconds for which the program has said nothing while Emacs could hear it.")

(defvar todo-write-hub--checked 0
  "Time of the last check.")

(defvar todo-write-hub--timer nil
  "The timer that looks whether the program lives, or nil.")

(defvar todo-write-hub--flush-timer nil
  "The timer that sends the program what it did not take at once, or nil.")

(defvar todo-write-hub--deaths nil
  "When programs died by themselves, floats, the last one first.")

(defun todo-write-hub-live-p ()
  "Return non-nil if the program runs."
  (process-live-p todo-write-hub-process))

;;; Its life

(defun todo-write-hub-ensure ()
  "Start the program unless it runs; signal `todo-write-error' if it cannot.
What it is told before it has connected is kept for it."
  (unless (todo-write-hub-live-p)
    (todo-write-hub-end)
    (let ((program (todo-write-module-program))
          ;; Otherwise, Emacs would wait for more after each ring.
          process-adaptive-read-buffering
          ;; A folder that is deleted could not be entered, and a remote one would be asked.
          (default-directory "/"))
      (todo-write-core-call todo-write-dyn--channel-begin)
      (setq todo-write-hub-process
            (make-process :name "todo-write-mcp" :command (list program "serve" "--child")
                          :connection-type 'pipe :coding 'no-conversion :noquery t :buffer nil
                          :stderr
                          ;; It keeps the end of what the program says of errors.
                          (make-pipe-process
                           :name "todo-write-mcp errors" :noquery t :sentinel #'ignore
                           :buffer (get-buffer-create " *todo-write-mcp errors*")
                           :filter (lambda (process text)
                                     (with-current-buffer (process-buffer process)
                                       (goto-char (point-max))
                                       (insert text)
                                       (delete-region (point-min)
                                                      (max (point-min) (- (point) 4000))))))
                          :filter #'todo-write-hub--connect
                          :sentinel #'todo-write-hub--ended)))
    (add-hook 'kill-emacs-hook #'todo-write-hub-end)
    (setq todo-write-hub--silence 0
          todo-write-hub--checked (float-time)
          todo-write-hub--timer (run-with-timer 5 5 #'todo-write-hub--check))
    (run-hooks 'todo-write-hub-begin-hook)))

(defun todo-write-hub-end ()
  "End the program."
  (when todo-write-hub--timer
    (cancel-timer (cl-shiftf todo-write-hub--timer nil)))
  (when todo-write-hub-process
    (todo-write-core-call todo-write-dyn--channel-end)
    ;; A live one ends with its standard input.
    (let ((process (cl-shiftf todo-write-hub-process nil)))
      (set-process-sentinel process #'ignore)
      (delete-process process))))

(defun todo-write-hub--connect (process text)
  "Connect to PROCESS once TEXT, its output, is the name of its socket."
  (let ((name (concat (process-get process 'socket) text)))
    (process-put process 'socket name)
    (when-let* ((end (string-search "\n" name)))
      (set-process-filter process #'todo-write-hub--filter)
      (condition-case err
          (todo-write-core-call todo-write-dyn--channel-connect (substring name 0 end))
        (error (message "todo-write: %s" (todo-write-core-error-text err))
               (delete-process process)))
      ;; It may have rung already.
      (todo-write-hub--filter process ""))))

(defun todo-write-hub--ended (process _event)
  "Start the program again if PROCESS has ended by itself.
What it had written is read first.  It is started at once, and after a
second death within a minute ten seconds later; after a third, or if it was
refused, the user is told.  If it does not run ten seconds later, it is
unknown what agents do."
  (unless (process-live-p process)
    (when (eq process todo-write-hub-process)
      (todo-write-hub--feed)
      (todo-write-hub-end)
      (let* ((now (float-time))
             (refused (process-get process 'refused))
             (recent (if refused (list now now)
                       (seq-take-while (lambda (time) (> time (- now 60)))
                                       todo-write-hub--deaths))))
        (setq todo-write-hub--deaths (cons now recent))
        (if (length< recent 2)
            (run-with-timer (if recent 10 1) nil #'todo-write-hub--start-again)
          (display-warning
           'todo-write
           (concat (if refused (format "%s cannot be used" (car (process-command process)))
                     "The program todo-write-mcp has ended three times")
                   ", so that no agents are followed.  "
                   (if refused (concat refused "  ") (todo-write-hub--last-error))
                   (make-text-button (copy-sequence "[Start it again]") nil
                                     'action (lambda (_) (todo-write-hub--start-again))))))
        ;; It comes after a start at that time, and ten seconds after the last death.
        (cancel-function-timers #'todo-write-hub--tell-lost)
        (run-with-timer 10 nil #'todo-write-hub--tell-lost)))))

(defun todo-write-hub--tell-lost ()
  "Tell that it is unknown what agents do, unless the program runs again."
  (unless (todo-write-hub-live-p)
    (run-hook-with-args 'todo-write-hub-functions
                        (list 'changed (todo-write-core-call todo-write-dyn--channel-lost)))))

(defun todo-write-hub--last-error ()
  "Return a sentence with the last error that the program printed, or \"\"."
  (with-current-buffer (get-buffer-create " *todo-write-mcp errors*")
    (goto-char (point-max))
    (skip-chars-backward " \n")
    (if (bobp) ""
      (format "It said: %s.  " (buffer-substring (line-beginning-position) (point))))))

(defun todo-write-hub--start-again ()
  "Start the program that has ended, unless it runs."
  (condition-case err
      (todo-write-hub-ensure)
    (error (message "todo-write: %s" (todo-write-core-error-text err)))))

(defun todo-write-hub--check ()
  "Kill the program if nothing was heard of it for long."
  (when (todo-write-hub-live-p)
    (let ((passed (- (float-time) (cl-shiftf todo-write-hub--checked (float-time)))))
      ;; If more has passed, Emacs was busy or suspended, and maybe the program, too.
      (cl-incf todo-write-hub--silence (max 0 (min 5 passed))))
    (if (> todo-write-hub--silence 20)
        (delete-process todo-write-hub-process)
      (run-hooks 'todo-write-hub-check-hook))))

;;; What it says

(defun todo-write-hub--filter (process _rings)
  "Take and dispatch what PROCESS says, which has rung."
  (when (eq process todo-write-hub-process)
    (setq todo-write-hub--silence 0)
    (todo-write-hub--feed)))

(defun todo-write-hub--feed ()
  "Take and dispatch what the program says.
A function that is called with news may wait for something else, and come
here again: then the outermost call goes on."
  (if todo-write-hub--inside
      (setq todo-write-hub--inside 'again)
    (let ((inhibit-quit t)
          (todo-write-hub--inside 'again))
      (while (eq todo-write-hub--inside 'again)
        (setq todo-write-hub--inside t)
        (dolist (news (todo-write-core-call todo-write-dyn--feed))
          (setq todo-write-hub--silence 0)
          (when (eq 'refused (car news))
            (process-put todo-write-hub-process 'refused (cadr news))
            (delete-process todo-write-hub-process))
          (todo-write-events-run-functions 'todo-write-hub-functions news))))))

(defun todo-write-hub-tell (machine command)
  "Tell the program COMMAND, or that of MACHINE, a name, if that is non-nil.
COMMAND is one of doc/protocol.md, a list of its name and its fields."
  (todo-write-core-call todo-write-dyn--tell machine command))

(defun todo-write-hub--flush-soon ()
  "Send the program soon what it has not taken yet; the module calls this."
  (unless todo-write-hub--flush-timer
    (setq todo-write-hub--flush-timer
          (run-with-timer 0.05 nil
                          (lambda ()
                            (setq todo-write-hub--flush-timer nil)
                            (when (and (todo-write-hub-live-p)
                                       (todo-write-core-call todo-write-dyn--channel-flush))
                              (todo-write-hub--flush-soon)))))))

(defun todo-write-hub-wait (condition)
  "Wait until CONDITION, a function, returns non-nil; return that.
It is called again after each dispatch.  A quit ends the wait, not what
the program does.  Signal `todo-write-error' if called during a dispatch,
or after the program has died twice."
  (let ((begun (float-time))
        value deaths)
    (while (not (setq value (funcall condition)))
      (setq deaths (seq-filter (lambda (time) (> time begun)) todo-write-hub--deaths))
      (when todo-write-hub--inside
        (signal 'todo-write-error '("A function that is called with news cannot wait for more")))
      (when (or (length> deaths 1)
                (not (or todo-write-hub-process deaths)))
        (signal 'todo-write-error '("The program that follows sessions has ended")))
      (accept-process-output todo-write-hub-process 0.1))
    value))

(provide 'todo-write-hub)
;;; todo-write-hub.el ends here
