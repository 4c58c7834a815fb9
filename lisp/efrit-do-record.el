;;; efrit-do-record.el --- A session as data -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What a session consists of, what is recorded of it in its thread, and its
;; result as text.  How it begins, goes on and ends is in efrit-do-session.el.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'efrit-do-breaker)
(require 'todo-write)

(cl-defstruct (efrit-do-session (:constructor efrit-do-session--make)
                                (:copier nil))
  "A command of the user and what an agent does for it."
  (id nil :documentation "A string, unique.")
  (command nil :documentation "What the user asked for.")
  (thread nil :documentation "Key of its list.")
  (directory nil :documentation "Where its tools run.")
  (origin nil :documentation "Buffer in which the command was given.")
  (backend nil :documentation "Symbol: `replay', `gptel', ….")
  (options nil :documentation "Plist for the backend.")
  (status 'running :documentation "One of the symbols `running', `done',
`stopped' (by the circuit breaker), `cancelled' and `failed'.")
  (reason nil :documentation "Why it ended so, if not done: a string.")
  (trace 1 :documentation "Counts how often it was set going.")
  (results nil :documentation "Outcomes of the tool calls, newest first.")
  (text nil :documentation "What the model said in this turn, a string.")
  (texts nil :documentation "What it said in earlier turns, newest first.")
  (message nil :documentation "What `session_complete' said.")
  (allowed nil :documentation "Tools that need not ask again.")
  (breaker (efrit-do-breaker-create))
  (calls nil :documentation "Calls that the model waits for, each a list
\(NAME INPUT THEN OUTCOME).  The first is running if BUSY.  OUTCOME is set where
the session ended meanwhile.")
  (busy nil :documentation "Non-nil while a tool runs.")
  (state nil :documentation "The backend's own."))

(defvar efrit-do-sessions nil
  "Sessions of this Emacs, newest first.")

(defconst efrit-do--sessions-kept 20
  "Number of sessions in `efrit-do-sessions' that are kept.")

;;; Recording

(defun efrit-do-session-running-p (session)
  "Return non-nil if SESSION is under way."
  (eq (efrit-do-session-status session) 'running))

(defun efrit-do-session-trace-id (session)
  "Return the trace of SESSION, new each time it is set going."
  (format "%s.%d" (efrit-do-session-id session)
          (efrit-do-session-trace session)))

(defun efrit-do-session-record (session type content &rest metadata)
  "Record CONTENT as an observation of TYPE in the thread of SESSION.
METADATA are keywords and values."
  (apply #'todo-write-observe (efrit-do-session-thread session) type content
         :trace-id (efrit-do-session-trace-id session)
         :sessionId (efrit-do-session-id session)
         metadata))

(defun efrit-do-session--stream (session type data &optional thinking)
  "Stream DATA as an event of TYPE of SESSION, of a thought if THINKING."
  (todo-write-stream (efrit-do-session-thread session)
                     :type type :data data :thinking thinking
                     :trace-id (efrit-do-session-trace-id session)
                     :session-id (efrit-do-session-id session)))

(defun efrit-do--title (command)
  "Return a title of one line for COMMAND."
  (truncate-string-to-width
   (string-trim (replace-regexp-in-string "[[:space:]]+" " " command))
   70 nil nil "…"))

;;; Result

(defun efrit-do-session-answer (session)
  "Return the answer of SESSION to the user, without tools' output, or nil.
That is the completion message and, unless it says the same, the last text."
  (let ((message (efrit-do-session-message session))
        (text (or (efrit-do-session-text session)
                  (car (efrit-do-session-texts session)))))
    (cond ((and message text (not (string-search (string-trim message) text)))
           (concat (string-trim text) "\n\n" message))
          (t (or text message)))))

(defun efrit-do-session-result (session)
  "Return all that came of SESSION as text: its answer and each tool's output."
  (let ((reason (efrit-do-session-reason session))
        (answer (efrit-do-session-answer session))
        (results (reverse (efrit-do-session-results session))))
    (string-join
     (delq nil
           (append
            (list (and reason (format "The session ended: %s." reason))
                  answer)
            (mapcar (lambda (result)
                      (format "[%s%s] %s" (plist-get result :name)
                              (if (plist-get result :is-error) ", failed" "")
                              (plist-get result :content)))
                    results)
            (unless (or reason answer results)
              (list "The agent said nothing and ran no tool."))))
     "\n\n")))

(defun efrit-do-session-outcome (session)
  "Return SESSION as a plist, the value of `efrit-do-run'."
  (list :status (efrit-do-session-status session)
        :result (efrit-do-session-result session)
        :tool-results (reverse (efrit-do-session-results session))
        :message (efrit-do-session-message session)
        :reason (efrit-do-session-reason session)
        :thread (efrit-do-session-thread session)))

(provide 'efrit-do-record)
;;; efrit-do-record.el ends here
