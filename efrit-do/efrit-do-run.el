;;; efrit-do-run.el --- Run, stop and continue an agent -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; All of this package but its command `efrit-do'.  Upstream Efrit has a library and a
;; command of that name, beside which this works, too.

;;; Code:

(require 'efrit-do-session)
(require 'todo-write-mode-line)
(require 'todo-write-view)

(defcustom efrit-do-system-prompt
  "You work inside the user's Emacs, with tools.  Do what is asked, nothing more.
Plan with todo_write when the work takes three or more steps, or when several
things are asked: send the whole list each time, keep one task in_progress, and
mark it completed as soon as it is done, not later.
Do not plan a single action, such as opening a file or answering a question:
just do it.
When all is done, call session_complete and say what you did and found."
  "System prompt for the model."
  :type 'string
  :group 'efrit-do
  :package-version '(efrit-do . "0.2.0"))

(defvar efrit-do-history nil
  "Commands given to `efrit-do'.")

;;;###autoload (autoload 'efrit-do-execute-tool "efrit-do-run")
;;;###autoload (autoload 'efrit-do-tool-names "efrit-do-run")
;;;###autoload (autoload 'efrit-do-register-tool "efrit-do-run")

(defun efrit-do-run-and-show (command)
  "Let an agent work on COMMAND in the background, and show its plan.
Return the session."
  (let ((session (efrit-do-session-begin command nil)))
    (efrit-do-run-show session)
    (prog1 (efrit-do-session-start session)
      (message (substitute-command-keys
                "\\<efrit-do-plan-mode-map>\\[efrit-do-cancel] stops it")))))

;;;###autoload
(defun efrit-do-demo ()
  "Watch a scripted agent at work, without a model; return its session.
It takes up each task that you add to its plan."
  (interactive)
  (let ((efrit-do-backend 'replay))
    (efrit-do-run-and-show "Refactor the login function")))

;;;###autoload
(defun efrit-do-run (command &rest options)
  "Let an agent work on COMMAND, wait for it, and return the outcome.
The outcome is a plist:
`:status'        `done', `stopped' (by the circuit breaker), `cancelled' or
                 `failed';
`:result'        the agent's answer and the output of each tool, as text;
`:tool-results'  a list of plists `:id' `:name' `:input' `:content' `:is-error';
`:message'       the agent's message in `session_complete', or nil;
`:reason'        why the session ended unless it is done, a string;
`:thread'        the key of its list.

OPTIONS are keywords and values: `:backend' (default `efrit-do-backend'),
`:thread' (key of the list, by default a new one), `:directory', and for the
backend `replay' `:script' and `:speed'.
Emacs waits, so that tools that need the user's consent are refused.  A quit or
`with-timeout' cancels the session.  Signal `todo-write-error' if it cannot
start."
  (let ((session (efrit-do-session-start
                  (efrit-do-session-begin command `(:unattended t . ,options)))))
    (unwind-protect
        (while (efrit-do-session-running-p session)
          (accept-process-output nil 0.005))
      (efrit-do-session-cancel session)
      ;; If it is continued, Emacs does not wait.
      (setf (efrit-do-session-unattended session) nil))
    (efrit-do-session-outcome session)))

;;; Showing

(define-minor-mode efrit-do-plan-mode
  "Minor mode of the buffer of a plan while it is that of a session here."
  :interactive nil
  :keymap (list (cons (kbd "C-c C-k") #'efrit-do-cancel)))

(defun efrit-do-run--on-shown ()
  "Switch `efrit-do-plan-mode' on in the plan of a session, else off."
  (efrit-do-plan-mode (if (seq-some #'efrit-do-run--here-p efrit-do-sessions) 1 -1)))

(defun efrit-do-run-show (session)
  "Show the plan of SESSION, also in mode lines."
  (todo-write-mode-line-by-default t)
  (add-hook 'todo-write-view-shown-hook #'efrit-do-run--on-shown)
  (add-hook 'efrit-do-end-functions #'efrit-do-run--on-end)
  (with-current-buffer (todo-write-show (efrit-do-session-thread session))
    (efrit-do-run--on-shown)))

(defun efrit-do-run--on-end (session)
  "Show the last text of SESSION in full if its plan is in the buffer of plans.
Say how to continue SESSION if it is not done."
  (when-let* ((thread (efrit-do-session-thread session))
              (buffer (get-buffer todo-write-view-buffer-name))
              ((equal thread (buffer-local-value 'todo-write-view-thread buffer))))
    (with-current-buffer buffer
      (todo-write-redraw)
      (todo-write-buffer-keep #'todo-write-view-draw-place #'todo-write-view-draw-of-place
                            (lambda ()
                              (let ((turn (car (todo-write-story-headings thread 0)))
                                    (said (car (efrit-do-session-said session))))
                                (if said (todo-write-view-goto-entry (cons 'turn turn) said)
                                  (todo-write-view-goto-turn turn))))))
    (when (efrit-do-session-resumable-p session)
      (message (substitute-command-keys
                "\\<efrit-do-plan-mode-map>Stopped: %s.  \
C-u \\[efrit-do-cancel] in the plan continues")
               (todo-write-text-line (efrit-do-session-reason session))))))

;;; Interrupting

(defun efrit-do-run--here-p (session)
  "Return non-nil if this buffer shows the plan of SESSION."
  (equal todo-write-view-thread (efrit-do-session-thread session)))

(defun efrit-do-run--session-with (predicate)
  "Return the session of this buffer or the newest one that satisfies PREDICATE."
  (let ((sessions (seq-filter predicate efrit-do-sessions)))
    (or (seq-find #'efrit-do-run--here-p sessions) (car sessions))))

(defun efrit-do-cancel (&optional session continue)
  "Stop SESSION, by default that of this buffer or the newest running one.
Abort its request, run no further tool, and pause its list.  With a prefix
argument CONTINUE, continue one that was stopped; see `efrit-do-continue'.
Signal a `user-error' if there is none."
  (interactive (list nil current-prefix-arg) efrit-do-plan-mode)
  (if continue
      (efrit-do-continue session)
    (efrit-do-session-cancel (or session
                                 (efrit-do-run--session-with #'efrit-do-session-running-p)
                                 (user-error "No agent is running")))
    (when (called-interactively-p 'interactive)
      (message (substitute-command-keys "Stopped; C-u \\[efrit-do-cancel] continues")))))

;;;###autoload
(defun efrit-do-continue (&optional session)
  "Continue SESSION, by default that of this buffer or the newest stopped one.
Reset the circuit breaker, and return the session.  Signal a `user-error' if
none can be continued."
  (let ((session (or session (efrit-do-run--session-with #'efrit-do-session-resumable-p))))
    (unless (and session (efrit-do-session-resumable-p session))
      (user-error "No stopped session to continue"))
    (efrit-do-session-start session)))

(provide 'efrit-do-run)
;;; efrit-do-run.el ends here
