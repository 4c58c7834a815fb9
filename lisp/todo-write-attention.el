;;; todo-write-attention.el --- Which agent needs you  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The words for an agent that needs you, and the ways to it; todo-write-agent.el says
;; which agents there are, and what they do.
;;
;; M-x todo-write-next-waiting goes to the agent that has waited longest.  `? O' in a plan or
;; `O' in the overview runs the program of an agent again, in the session that the plan is of.

;;; Code:

(require 'todo-write-agent)

;; Few agents wait for an answer that is given elsewhere, and most have no terminal.
(autoload 'todo-write-buffer-thread "todo-write-buffer")
(autoload 'todo-write-story-running "todo-write-story")
(autoload 'todo-write-terminal-name "todo-write-terminal")
(autoload 'todo-write-terminal-select-pane "todo-write-terminal")
(autoload 'todo-write-terminal-tmux-pane "todo-write-terminal")

(defface todo-write-attention
  '((((class color) (min-colors 16)) :weight bold :foreground "#ffffff" :background "#a40000")
    (((class color)) :weight bold :foreground "white" :background "red")
    (t :weight bold :inverse-video t))
  "Face of agents that wait for you.
It sets both colors, so that it can be read on any mode line."
  :group 'todo-write-faces)

;;; Words

;; An agent is a plist as from `todo-write-agents'.

(defun todo-write-agent-folder (agent)
  "Return the base name of AGENT's project folder, or nil.
On another machine, it is HOST:FOLDER."
  (let ((project (plist-get agent :project))
        (host (plist-get agent :machine))
        ;; It may be remote, and a host may say anything.
        file-name-handler-alist)
    (and project
         (concat (and host (concat (todo-write-text-line host) ":"))
                 (todo-write-text-line
                  (file-name-nondirectory
                   (directory-file-name (todo-write-machines-local-name project))))))))

(defun todo-write-agent-path (agent)
  "Return the folder of AGENT's project for display, or nil."
  (let ((project (plist-get agent :project))
        file-name-handler-alist)
    (and project (todo-write-text-line (abbreviate-file-name project)))))

(defun todo-write-agent-name (agent)
  "Return a short name for AGENT: its project, else its title."
  (or (todo-write-agent-folder agent) (todo-write-agent-label agent)))

(defun todo-write-agent-label (agent)
  "Return the title of AGENT, else its first prompt, its folder, program or key.
A key that the host chose says more than its program."
  (todo-write-text-line (todo-write-plan-name
                         (plist-get agent :thread) (plist-get agent :title)
                         (and (plist-get (todo-write-core-call todo-write-dyn--identity
                                           (plist-get agent :thread))
                                         :session)
                              (plist-get agent :agent))
                         (plist-get agent :kept))))

(defun todo-write-agent-reason (agent)
  "Return why AGENT does what it does, as a line, or nil if its host does not say.
For a dialog of which the host tells no more, the call that it is most
likely about follows: the last one without a result."
  (when-let* ((reason (plist-get agent :reason)))
    (let ((call (and (eq 'waiting (plist-get agent :activity))
                     (member reason '("permission prompt" "dialog open"))
                     (= 0 (plist-get agent :requests))
                     (todo-write-story-running (plist-get agent :thread)))))
      (todo-write-text-line (if call (concat reason ": " call) reason)))))

(defun todo-write-attention-line (agent)
  "Return the name of AGENT and what it needs, in one line."
  (format "%s: %s" (todo-write-agent-name agent) (todo-write-attention-need agent)))

(defun todo-write-attention-need (agent)
  "Return what AGENT needs, in one line."
  (let ((reason (todo-write-agent-reason agent)))
    (pcase (todo-write-agent-state agent)
      ((and state (guard (null reason))) (symbol-name state))
      ('failed (concat "failed: " reason))
      (_ reason))))

;;; Going there

(defun todo-write-attention-place (agent)
  "Return where AGENT runs, in words, or nil if that is unknown."
  (let* ((thread (plist-get agent :thread))
         (buffer (todo-write-agent-buffer thread))
         (pid (todo-write-agent-pid thread))
         ;; To ask tmux takes a while.
         (pane (and pid (not buffer) (todo-write-terminal-tmux-pane pid)))
         (terminal (and pid (todo-write-terminal-name pid)))
         (machine (plist-get agent :machine)))
    (cond (buffer (format "the buffer %s" (buffer-name buffer)))
          (pid (concat (format "process %d" pid)
                       (cond (pane (concat ", tmux pane " (todo-write-text-line pane)))
                             (terminal (concat ", terminal " terminal)))))
          (machine (format "a terminal of %s" (todo-write-text-line machine))))))

(defun todo-write-attention-visit-agent-of (thread)
  "Go to the buffer or the tmux pane of the agent of THREAD.
If it has none, show its plan and say where it runs."
  (let* ((agent (todo-write-attention-agent-of thread))
         (pid (todo-write-agent-pid thread))
         (buffer (todo-write-agent-buffer thread))
         (shown (and pid (not buffer) (todo-write-terminal-select-pane pid))))
    (cond
     (buffer (pop-to-buffer buffer))
     (shown (message "%s is in the tmux pane %s, which its terminal shows now"
                     (todo-write-agent-name agent) (todo-write-text-line shown)))
     (t
      (let ((place (todo-write-attention-place agent))
            (folder (todo-write-agent-path agent)))
        (todo-write-agent-restore thread)
        (todo-write-show thread t)
        (message "%s has no buffer in this Emacs%s%s" (todo-write-agent-name agent)
                 (if place (concat "; it runs in " place) "")
                 (if folder (concat "; its folder is " folder) "")))))
    (todo-write-agent-see thread)))

(defun todo-write-attention-agent-of (thread)
  "Return the agent of THREAD, a plist, also if that is not in memory."
  (or (todo-write-agent thread)
      (todo-write-agent-plist thread (list :about (todo-write-about thread)))))

(defun todo-write-attention-attend (agent)
  "Show what AGENT asks, to answer it; if it asks nothing, go to it."
  (funcall (if (> (plist-get agent :requests) 0) #'todo-write-answer
             #'todo-write-attention-visit-agent-of)
           (plist-get agent :thread)))

(defvar todo-write-attention--visited nil
  "The thread whose agent `todo-write-next-waiting' visited last.")

;;;###autoload
(defun todo-write-next-waiting ()
  "Go to the agent that has waited for you longest: show what it asks.
If it asks nothing that Emacs knows, go to its own buffer.  Called again
from there, go to the next; after the last, to the first again."
  (interactive)
  (let* ((waiting (seq-filter (lambda (agent) (eq 'needs-you (plist-get agent :attention)))
                              (todo-write-agents)))
         ;; A terminal elsewhere is no buffer here, any agent's request is in one, and the
         ;; plan of an agent need not be where this command went.
         (here (if (or (eq last-command 'todo-write-next-waiting)
                       (derived-mode-p 'todo-write-answer-mode)
                       (and (derived-mode-p 'todo-write-view-mode)
                            (equal todo-write-view-thread todo-write-attention--visited)))
                   todo-write-attention--visited
                 (unless (derived-mode-p 'todo-write-view-mode)
                   todo-write-view-thread)))
         (next (or (cadr (seq-drop-while
                          (lambda (agent) (not (equal here (plist-get agent :thread))))
                          waiting))
                   (car waiting))))
    (if (null next)
        (message "No agent needs you")
      (setq todo-write-attention--visited (plist-get next :thread))
      (todo-write-attention-attend next))))

;;; Taking up a session that has ended

(defvar todo-write-terminal-function)

(defun todo-write-attention--resumption (thread)
  "Return the program that resumes the session of THREAD and its arguments, or nil."
  (pcase-let (((map :program (:session id) :subagent :resume)
               (todo-write-core-call todo-write-dyn--identity thread)))
    ;; A program gets no other ids.
    (and id resume (not subagent)
         (string-match-p (rx bos (= 8 hex) (= 3 "-" (= 4 hex)) "-" (= 12 hex) eos) id)
         (list program resume id))))

(defun todo-write-attention--folder (thread)
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
That runs Claude Code in the folder in which the session began, or Codex
in that of the project, in the terminal of `todo-write-terminal-function'.
Interactively, THREAD is that at point in the overview, else that of this
buffer or of the current project."
  (interactive (list (todo-write-buffer-thread)))
  (require 'todo-write-terminal)
  (let* ((command (or (todo-write-attention--resumption thread)
                      (user-error "Only sessions of Claude Code and Codex can be resumed")))
         (default-directory (todo-write-attention--folder thread)))
    (when (or (todo-write-agent-pid thread)
              (memq (car (todo-write-activity thread)) '(working waiting))
              (todo-write-agent-buffer thread))
      (user-error "This session still runs; o goes there"))
    (when (y-or-n-p (format "Run %s in %s? " (string-join command " ")
                            (todo-write-text-line (abbreviate-file-name default-directory))))
      (funcall todo-write-terminal-function (car command) (car command) (cdr command)))))

(provide 'todo-write-attention)
;;; todo-write-attention.el ends here
