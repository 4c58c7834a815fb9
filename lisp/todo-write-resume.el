;;; todo-write-resume.el --- Take up a session that has ended  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `? O' in a plan or `O' in the overview runs the program of an agent again, in the session
;; that the plan is of, in a terminal of this Emacs.

;;; Code:

(require 'map)
(require 'todo-write)
(require 'todo-write-agent)
(require 'todo-write-buffer)
(require 'todo-write-host)
(require 'todo-write-machines)
(require 'todo-write-terminal)
(require 'todo-write-text)

(defun todo-write-resume--way (thread)
  "Return how THREAD can be resumed, (WHAT FUNCTION . ARGUMENTS), or nil.
WHAT says to the user what FUNCTION does."
  (pcase-let ((host (todo-write-host-named (plist-get (todo-write-about thread) :host)))
              ((map :program (:session id) :subagent :resume)
               (todo-write-core-call todo-write-dyn--identity thread)))
    (cond ((or (null id) subagent) nil)
          ((and host (todo-write-host-resume host) (todo-write-host-state host))
           (and (string-match-p (rx bos (+ (any alnum "_-")) eos) id)
                (list (format "Resume %s in %s" id (todo-write-host-name host))
                      (todo-write-host-resume host) id)))
          ;; A program gets no other ids.
          ((and resume
                (string-match-p (rx bos (= 8 hex) (= 3 "-" (= 4 hex)) "-" (= 12 hex) eos) id))
           (list (format "Run %s %s %s" program resume id)
                 todo-write-terminal-function program program (list resume id))))))

(defun todo-write-resume--folder (thread)
  "Return the folder in which THREAD is resumed, or signal a `user-error'.
Claude Code knows a session only in the folder in which it began, which
may be below the project's."
  (let* ((about (todo-write-about thread))
         (folder (or (plist-get about :folder) (plist-get about :project))))
    (when (or (todo-write-machines-of-thread thread)
              ;; With ".." in it, a name can expand to a remote one.
              (and folder (todo-write-machines-remote-part folder)))
      (user-error "This session is of another machine; resume it there"))
    (unless (and folder (file-name-absolute-p folder) (file-directory-p folder))
      (user-error "The folder of this session does not exist any more"))
    (file-name-as-directory folder)))

(defun todo-write-resume-session (thread)
  "Resume the session of THREAD, which has ended, after a question.
That takes it up in agent-shell if it began there.  Otherwise it runs
Claude Code in the folder in which the session began, or Codex in that of
the project, in the terminal of `todo-write-terminal-function'.
Interactively, THREAD is that at point in the overview, else that of this
buffer or of the current project."
  (interactive (list (todo-write-buffer-thread)))
  (let* ((way (or (todo-write-resume--way thread)
                  (user-error
                   "Only sessions of Claude Code, Codex and agent-shell can be resumed")))
         (default-directory (todo-write-resume--folder thread)))
    (when (or (todo-write-agent-pid thread)
              (memq (car (todo-write-activity thread)) '(working waiting))
              (todo-write-agent-buffer thread))
      (user-error "This session still runs; o goes there"))
    (when (y-or-n-p (format "%s in %s? " (car way)
                            (todo-write-text-line (abbreviate-file-name default-directory))))
      (apply (cdr way)))))

(provide 'todo-write-resume)
;;; todo-write-resume.el ends here
