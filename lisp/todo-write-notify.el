;;; todo-write-notify.el --- Say that an agent needs you  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A global minor mode, off by default, that notifies you when an agent waits for
;; you or failed, and no focused frame shows it:
;;
;;     (todo-write-notify-mode 1)
;;
;; It says so once, after that has held for some seconds, in one notification for
;; several agents, and withdraws it when you answered.  `alert' tells you where it
;; is loaded, else the desktop, else the echo area.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'todo-write)
(require 'todo-write-attention)

(declare-function alert "ext:alert" (message &rest settings))
(declare-function notifications-close-notification "notifications" (id &optional bus))
(declare-function notifications-get-capabilities "notifications" (&optional bus))
(declare-function notifications-notify "notifications" (&rest params))

(defcustom todo-write-notify-seconds 4
  "Seconds for which an agent must need you before you are told."
  :type 'number
  :group 'todo-write)

(defcustom todo-write-notify-done nil
  "Non-nil notifies of agents that are done and unseen, too."
  :type 'boolean
  :group 'todo-write)

(defcustom todo-write-notify-function #'todo-write-notify-default
  "Function that tells the user something.
It is called with the key of a thread, a title and a text, both strings.
It returns a function without arguments that withdraws what it told, or
nil."
  :type 'function
  :group 'todo-write)

(defvar todo-write-notify--due nil
  "Alist of the agents to tell of and when, in seconds since the epoch.")

(defvar todo-write-notify--timer nil
  "Timer of the next notification, or nil.")

(defvar todo-write-notify--told nil
  "List of (WITHDRAW AGENT...), the notifications that still hold.")

;;;###autoload
(define-minor-mode todo-write-notify-mode
  "Notify when an agent needs you and no focused frame shows it."
  :global t
  :group 'todo-write
  (todo-write-attention-listen #'todo-write-notify--heard todo-write-notify-mode)
  (when todo-write-notify--timer
    (cancel-timer todo-write-notify--timer))
  (setq todo-write-notify--timer nil
        todo-write-notify--due nil
        todo-write-notify--told nil))

(defun todo-write-notify--wanted-p (agent)
  "Return non-nil if the user wants to be told of AGENT's state."
  (or (todo-write-attention-needed-p agent)
      (and todo-write-notify-done (eq (todo-write-agent-state agent) 'done))))

(defun todo-write-notify--heard (agent what)
  "Tell of AGENT later, or no more, after WHAT happened to it."
  (unless (eq what 'change)
    (todo-write-notify--withdraw agent)
    (setf (alist-get agent todo-write-notify--due nil t)
          (and (eq what 'transition)
               (todo-write-attention-new-p agent)
               (todo-write-notify--wanted-p agent)
               (+ (float-time) todo-write-notify-seconds)))
    (todo-write-notify--set-timer)))

(defun todo-write-notify--set-timer ()
  "Let the timer run at the first time that is due."
  (when todo-write-notify--timer
    (cancel-timer todo-write-notify--timer))
  (setq todo-write-notify--timer
        (and todo-write-notify--due
             (run-at-time (max 0 (- (apply #'min (mapcar #'cdr todo-write-notify--due))
                                    (float-time)))
                          nil #'todo-write-notify--tell))))

(defun todo-write-notify--tell ()
  "Tell of the agents that are due, in one notification."
  (let* ((now (float-time))
         ;; Those that are nearly due come along.
         (due (seq-filter (lambda (entry) (<= (cdr entry) (+ now 1))) todo-write-notify--due))
         (agents (sort (seq-remove #'todo-write-attention-visible-p (mapcar #'car due))
                       #'todo-write-attention-before-p)))
    (setq todo-write-notify--due (seq-difference todo-write-notify--due due #'eq))
    (todo-write-notify--set-timer)
    (when agents
      (push (cons (funcall todo-write-notify-function (todo-write-agent-key (car agents))
                           (todo-write-notify--title agents)
                           (mapconcat #'todo-write-attention-line agents "\n"))
                  agents)
            todo-write-notify--told))))

(defun todo-write-notify--title (agents)
  "Return the title of a notification of AGENTS."
  (let ((verb (if (seq-some #'todo-write-attention-needed-p agents) "need" "finished")))
    (cond ((cdr agents) (format "%d agents %s%s" (length agents) verb
                                (if (equal verb "need") " you" "")))
          ((equal verb "need") (concat (todo-write-agent-name (car agents)) " needs you"))
          (t (concat (todo-write-agent-name (car agents)) " is done")))))

(defun todo-write-notify--withdraw (agent)
  "Withdraw the notification of AGENT, unless it is of others as well."
  (dolist (told todo-write-notify--told)
    (when (memq agent (cdr told))
      (setcdr told (remq agent (cdr told)))
      (unless (or (cdr told) (null (car told)))
        (funcall (car told)))))
  (setq todo-write-notify--told (seq-filter #'cdr todo-write-notify--told)))

(defun todo-write-notify-default (thread title text)
  "Tell TITLE and TEXT; a click goes to the agent of THREAD.
Return a function that withdraws that, or nil."
  (if (featurep 'alert)
      (let ((agent (todo-write-attention-agent thread)))
        (ignore (alert text :title title :category 'todo-write
                       :buffer (and agent (todo-write-attention-buffer agent)))))
    (if-let* (((featurep 'dbusbind))
              ((require 'notifications nil t))
              (id (ignore-errors
                    (notifications-notify
                     :title title :body (todo-write-notify--body text)
                     :app-name "Emacs" :timeout 0 :actions '("default" "Go there")
                     :on-action (lambda (&rest _) (todo-write-notify--visit thread))))))
        (lambda () (ignore-errors (notifications-close-notification id)))
      (ignore (message "%s: %s" title text)))))

(defun todo-write-notify--visit (thread)
  "Go to the agent of THREAD, if there still is one."
  (when-let* ((agent (todo-write-attention-agent thread)))
    (select-frame-set-input-focus (selected-frame))
    (todo-write-attention-visit agent)))

(defun todo-write-notify--body (text)
  "Return TEXT as the body of a notification.
A desktop that takes bodies for markup needs it escaped."
  (if (memq :body-markup (notifications-get-capabilities))
      (replace-regexp-in-string
       "[&<>]" (lambda (match) (pcase match ("&" "&amp;") ("<" "&lt;") (_ "&gt;")))
       text t t)
    text))

(provide 'todo-write-notify)
;;; todo-write-notify.el ends here
