;;; todo-write-tell.el --- Tell running agents what the user did  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The result of `todo_write' reports the user's edits to the agent.  If Claude Code
;; uses task tools of its own, its hook `todo-write-mcp note' reports them once, after
;; its next tool call or at the end of its turn.
;;
;; `todo-write-tell' gives a working agent a message in the same ways, and so do the
;; comments of a review.  The plan keeps them until the agent was told.
;;
;; The hook runs after each tool call, so the program that serves the socket answers it
;; by itself unless this Emacs has said that there is something to say to its session.

;;; Code:

(require 'todo-write-compose)
(require 'todo-write-list)
(require 'todo-write-mcp-setup)

(defvar todo-write-tell-waiting nil
  "Threads whose hook must ask for another reason, a list.
What their hooks say then is passed to `todo-write-tell-said-functions'.")

(defvar todo-write-tell-said-functions nil
  "Abnormal hook, called with a thread and what its agent's hook says it did.
Its key is in `todo-write-tell-waiting'.")

(defvar todo-write-tell-result-functions nil
  "Abnormal hook, called with a thread until a function returns non-nil.
That means that its agent gets `todo-write-tell-result' from its calls.")

(defvar todo-write-tell--hook-machines nil
  "Other machines whose hooks have asked, a list of names.")

(defvar todo-write-tell--asked (make-hash-table :test #'equal)
  "The threads whose hooks were told to ask, with the value t.")

;;; What is to be delivered

(defun todo-write-tell--untold (thread)
  "Return the comments of THREAD that are to be told to its agent.
It was not told of them, nor were they copied for the user, who can tell it."
  (seq-remove (lambda (comment) (or (plist-get comment :told) (plist-get comment :copied)))
              (todo-write-plan-comments thread)))

(defun todo-write-tell--place (about project)
  "Return which line ABOUT, a plist, names in a file of PROJECT, or nil if none."
  (pcase-let (((map :path :line) about))
    (and path (todo-write-detail-place path line project))))

(defun todo-write-tell--words (comment project)
  "Return COMMENT, of an agent in PROJECT, as the agent gets it."
  (pcase-let (((map :text :path :quote) comment))
    (if (null path)
        (concat "The user says: " text)
      (string-join (append (list (format "The user comments on %s:"
                                         (todo-write-tell--clean
                                          (todo-write-tell--place comment project) nil)))
                           (mapcar (lambda (line) (concat "> " (todo-write-tell--clean line t)))
                                   (and quote (split-string quote "\n")))
                           (list text))
                   "\n"))))

(defun todo-write-tell--text (thread edits comments)
  "Return the text for the agent of THREAD about EDITS and COMMENTS, or nil."
  (when (or edits comments)
    (let ((project (plist-get (todo-write-about thread) :project)))
      (string-join
       (append (and edits
                    (cons "The user edited your task list; change your tasks accordingly." edits))
               (mapcar (lambda (comment) (todo-write-tell--words comment project)) comments))
       "\n"))))

(defun todo-write-tell--deliver (thread function)
  "Call FUNCTION with the undelivered text for the agent of THREAD, or nil.
If it returns non-nil, the text counts as delivered."
  (let* ((edits (todo-write-core-call todo-write-dyn--untold-edits thread))
         (comments (todo-write-tell--untold thread))
         (delivered (funcall function (todo-write-tell--text thread edits comments))))
    (when delivered
      (todo-write-plan-note-told thread comments)
      (when (and edits (todo-write-core-call todo-write-dyn--take-untold thread))
        ;; Rows say of the user's tasks whether the agent knows them.
        (let ((inhibit-quit t))
          (todo-write-events-dispatch thread 'change))))
    delivered))

(defun todo-write-tell-result (thread result)
  "Return RESULT, of a call of THREAD's agent, with what the user said to it.
That counts as delivered."
  (string-join (delq nil (list result (todo-write-tell--deliver thread #'identity))) "\n"))

;;; The file for the hook

(defun todo-write-tell--session (thread)
  "Return the id of the session of THREAD if a program can ask for it, or nil.
The hook of Claude Code can, and a program that lives in the agent, for the
main agents."
  (pcase-let (((map :program :session :subagent :resume)
               (todo-write-core-call todo-write-dyn--identity thread)))
    (and (not subagent)
         (or (and resume (equal program "claude")) (todo-write-tell--in-agent-p thread))
         session)))

(defun todo-write-tell--in-agent-p (thread)
  "Return non-nil if a program that lives in the agent serves THREAD."
  (when-let* ((program (todo-write-socket-serving thread)))
    (todo-write-socket-in-agent-p program)))

(defun todo-write-tell-update (thread)
  "Let the hook of THREAD's agent ask this Emacs while there is something to say."
  (let ((on (and (or (member thread todo-write-tell-waiting)
                     (todo-write-tell--untold thread)
                     (todo-write-core-call todo-write-dyn--untold-edits thread))
                 t))
        (asks (gethash thread todo-write-tell--asked)))
    (when (or on asks)
      (let ((machine (todo-write-machines-of-thread thread)))
        (when-let* (((todo-write-socket-reached-p machine))
                    (session (todo-write-tell--session thread)))
          (cond ((todo-write-tell--in-agent-p thread)
                 (when on
                   (todo-write-hub-tell machine `(ring ,session))))
                ((not (eq on asks))
                 (puthash thread on todo-write-tell--asked)
                 (todo-write-hub-tell machine `(tell ,session ,on)))))))))

(defun todo-write-tell--on-event (thread what _data)
  "Let the hook of THREAD's agent ask or not if WHAT is a change of it.
A session that goes on after a restart may have comments of which its
agent was not told.  One that is not in memory has nothing new: its
journal is not read.  For `todo-write-events-functions'."
  (when (and (eq what 'change) (todo-write-core-call todo-write-dyn--loaded-p thread))
    (todo-write-tell-update thread)))

(defun todo-write-tell-update-machine (machine)
  "Let the hooks on MACHINE, nil for this one, ask this Emacs.
Its program, which has just opened a socket, was told nothing so far."
  (cl-flet ((of-machine-p (thread) (equal machine (todo-write-machines-of-thread thread))))
    (dolist (thread (hash-table-keys todo-write-tell--asked))
      (when (of-machine-p thread)
        (remhash thread todo-write-tell--asked)))
    (dolist (thread (seq-uniq (append todo-write-tell-waiting (todo-write-threads-loaded))))
      (when (of-machine-p thread)
        (todo-write-tell-update thread)))))

(defun todo-write-tell--on-message (message)
  "Say for which sessions there is news if MESSAGE says that a socket is open."
  (pcase message
    (`(door (state "open")) (todo-write-tell-update-machine nil))
    (`(door-there ,machine (state "open")) (todo-write-tell-update-machine machine))))

;;; The hook

(defun todo-write-tell--receive (program message)
  "Answer MESSAGE of PROGRAM, a hook, with the text for its agent.
See `todo-write-socket--roles'."
  (when (equal "call" (plist-get message :type))
    (let* ((thread (todo-write-socket-thread program message))
           (input (json-parse-string (or (plist-get message :arguments) "{}")
                                     :null-object nil :false-object nil)))
      (when-let* ((remote (todo-write-socket-program-remote program))
                  ;; Others have no hook.
                  ((equal "claude" (plist-get (todo-write-about thread) :program))))
        (cl-pushnew remote todo-write-tell--hook-machines :test #'equal))
      (when (member thread todo-write-tell-waiting)
        (run-hook-with-args 'todo-write-tell-said-functions thread input))
      (todo-write-tell--deliver
       thread (lambda (text)
                ;; If the hook has exited before, the text is delivered the next time.
                (todo-write-socket-answer program message t (or text ""))))
      (todo-write-tell-update thread))))

;;; The user's command

(defun todo-write-tell--channel (thread)
  "Return how a message reaches the agent of THREAD, or nil.
The value is `step', `result', `hook' or `draft'."
  (cond ((todo-write-tell--in-agent-p thread) 'step)
        ((or (todo-write-socket-serving thread)
             (run-hook-with-args-until-success 'todo-write-tell-result-functions thread))
         'result)
        ((and (todo-write-socket-reached-p (todo-write-machines-of-thread thread))
              (if-let* ((machine (todo-write-machines-of-thread thread)))
                  (member machine todo-write-tell--hook-machines)
                (and (todo-write-tell--session thread) (todo-write-mcp-setup-plugin-p))))
         'hook)
        ((todo-write-host-ask #'todo-write-host-draft thread nil) 'draft)
        ;; A host in Lisp.
        ((and (todo-write-core-call todo-write-dyn--answered-p thread)
              (not (memq (plist-get (todo-write-summary thread) :ending) '(session-ended killed))))
         'result)))

(defconst todo-write-tell--most 4000
  "Maximum number of characters of a message.")

(defun todo-write-tell (thread message &optional about)
  "Give the agent of THREAD the MESSAGE, or let the user write one if it is nil.
It arrives with the next result of `todo_write', or by the plugin for
Claude Code after its next tool call or at the end of its turn; several
arrive as one.  opencode with its plugin gets it before its next step, or
with your next prompt.  In a chat of gptel or a shell of agent-shell, it
becomes a draft at the end; while the agent works, gptel's gets it with the
next result, and agent-shell queues it.  The plan keeps it until then, also
across sessions of Emacs.

ABOUT is nil or a plist that says which changed lines MESSAGE is about:
:path :line :quote :items, as `todo-write-comment' tells them.  If no
message reaches the agent, such a comment is copied instead."
  (interactive
   ;; Elsewhere, one could be taken for another.
   (let ((thread (or (todo-write-buffer-thread-here)
                     (todo-write-read-thread "Tell the agent of: "))))
     (todo-write-tell--check thread)
     (list thread nil))
   todo-write-view-mode todo-write-list-mode todo-write-review-mode)
  (if (null message)
      (todo-write-compose "*todo-write-message*" thread
                          (concat "Message to the agent of “"
                                  (todo-write-agent-label (todo-write-attention-agent-of thread))
                                  "”")
                          (lambda (text) (todo-write-tell thread text) nil))
    (todo-write-tell--send thread message about)))

(defun todo-write-tell--send (thread message about)
  "Give the agent of THREAD the MESSAGE ABOUT something; see `todo-write-tell'."
  (let ((channel (if about (todo-write-tell--channel thread) (todo-write-tell--check thread)))
        (message (string-trim (todo-write-tell--clean message (and about t)))))
    (when (string-empty-p message)
      (user-error "The message is empty"))
    (when (> (length message) todo-write-tell--most)
      (user-error "The message is longer than %d characters" todo-write-tell--most))
    (let ((place (todo-write-tell--place about (plist-get (todo-write-about thread) :project))))
      (apply #'todo-write-plan-comment thread message
             (concat "you" (and place (concat " on " place)) ": " message)
             about))
    (todo-write-tell-update thread)
    (pcase channel
      ('step (message "The agent gets the message at its next step, or with your next prompt"))
      ((or 'result 'hook)
       (message "The agent gets the message %s%s"
                (if (eq channel 'result) "with the next result of todo_write"
                  "after its next tool call, or at the end of its turn")
                (if (eq 'working (car (todo-write-activity thread))) ""
                  "; it is not working now")))
      ('draft
       (todo-write-tell--deliver
        thread (lambda (text)
                 (pcase (todo-write-host-ask #'todo-write-host-draft thread text)
                   (`(queued . ,buffer)
                    (message "The message is in the queue of %s, and is sent when this turn ends"
                             buffer))
                   ((and buffer (guard buffer))
                    (message "The message is a draft in %s; send it there" buffer))))))
      (_ (let ((comments (last (todo-write-plan-comments thread))))
           (kill-new (todo-write-tell--text thread nil comments))
           (todo-write-plan-note-told thread comments t)
           (message "No message reaches this agent; copied, so that you can paste it there"))))))

(defun todo-write-tell--clean (text lines)
  "Return TEXT without control characters; keep line breaks if LINES is non-nil.
It may be pasted in a terminal."
  (replace-regexp-in-string (if lines "[\0-\x8\xb-\x1f\x7f-\x9f]+" "[\0-\x1f\x7f-\x9f]+")
                            " " text))

(defun todo-write-tell--check (thread)
  "Return how a message reaches the agent of THREAD; signal a `user-error' if none."
  (or (todo-write-tell--channel thread)
      (user-error "No message reaches this agent: it neither called todo_write here nor has \
the plugin")))

(add-hook 'todo-write-events-functions #'todo-write-tell--on-event)
(add-hook 'todo-write-hub-functions #'todo-write-tell--on-message)
(todo-write-socket-define-role "note" #'todo-write-tell--receive)

(provide 'todo-write-tell)
;;; todo-write-tell.el ends here
