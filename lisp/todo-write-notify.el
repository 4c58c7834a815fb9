;;; todo-write-notify.el --- Notify when an agent needs you  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A global minor mode, off by default, that notifies you when an agent waits for
;; you or failed, and no focused frame shows it:
;;
;;     (todo-write-notify-mode 1)
;;
;; It notifies once for each transition, after the state has lasted some seconds;
;; several agents share a notification, which is withdrawn when you answer.  It uses
;; `alert' if that is loaded, else D-Bus, else the echo area.

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
  "Seconds for which an agent must need you before you are notified."
  :type 'number
  :group 'todo-write)

(defcustom todo-write-notify-done nil
  "Non-nil notifies also when an agent is done and unseen."
  :type 'boolean
  :group 'todo-write)

(defcustom todo-write-notify-function #'todo-write-notify-default
  "Function that notifies the user.
It is called with the key of a thread, a title and a text, all strings.
It returns a function without arguments that withdraws the notification,
or nil."
  :type 'function
  :group 'todo-write)

(defvar todo-write-notify--due nil
  "Alist of agents and the times of their notifications.
In seconds since the epoch.")

(defvar todo-write-notify--timer nil
  "Timer of the next notification, or nil.")

(defvar todo-write-notify--open nil
  "Open notifications, a list of (WITHDRAW AGENT...).")

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
        todo-write-notify--open nil))

(defun todo-write-notify--wanted-p (agent)
  "Return non-nil if the user wants a notification of AGENT's state."
  (or (todo-write-attention-needed-p agent)
      (and todo-write-notify-done (eq (todo-write-agent-state agent) 'done))))

(defun todo-write-notify--heard (agent what)
  "Schedule or withdraw the notification of AGENT after the event WHAT."
  (unless (eq what 'change)
    (todo-write-notify--withdraw agent)
    (setf (alist-get agent todo-write-notify--due nil t)
          (and (eq what 'transition)
               (todo-write-attention-new-p agent)
               (todo-write-notify--wanted-p agent)
               (+ (float-time) todo-write-notify-seconds)))
    (todo-write-notify--set-timer)))

(defun todo-write-notify--set-timer ()
  "Set the timer for the first notification that is due."
  (when todo-write-notify--timer
    (cancel-timer todo-write-notify--timer))
  (setq todo-write-notify--timer
        (and todo-write-notify--due
             (run-at-time (max 0 (- (apply #'min (mapcar #'cdr todo-write-notify--due))
                                    (float-time)))
                          nil #'todo-write-notify--notify))))

(defun todo-write-notify--notify ()
  "Notify of all agents that are due, at once."
  (let* ((now (float-time))
         ;; Include those that are due within a second.
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
            todo-write-notify--open))))

(defun todo-write-notify--title (agents)
  "Return the title of a notification of AGENTS."
  (let ((verb (if (seq-some #'todo-write-attention-needed-p agents) "need" "finished")))
    (cond ((cdr agents) (format "%d agents %s%s" (length agents) verb
                                (if (equal verb "need") " you" "")))
          ((equal verb "need") (concat (todo-write-agent-name (car agents)) " needs you"))
          (t (concat (todo-write-agent-name (car agents)) " is done")))))

(defun todo-write-notify--withdraw (agent)
  "Withdraw the notification of AGENT unless it is about other agents too."
  (dolist (note todo-write-notify--open)
    (when (memq agent (cdr note))
      (setcdr note (remq agent (cdr note)))
      (unless (or (cdr note) (null (car note)))
        (funcall (car note)))))
  (setq todo-write-notify--open (seq-filter #'cdr todo-write-notify--open)))

(defun todo-write-notify-default (thread title text)
  "Notify with TITLE and TEXT; a click goes to the agent of THREAD.
Return a function that withdraws the notification, or nil."
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
  "Go to the agent of THREAD if it still exists."
  (when-let* ((agent (todo-write-attention-agent thread)))
    (select-frame-set-input-focus (selected-frame))
    (todo-write-attention-visit agent)))

(defun todo-write-notify--body (text)
  "Return TEXT as the body of a notification.
Escape it if the notification server interprets markup."
  (if (memq :body-markup (notifications-get-capabilities))
      (replace-regexp-in-string
       "[&<>]" (lambda (match) (pcase match ("&" "&amp;") ("<" "&lt;") (_ "&gt;")))
       text t t)
    text))

(provide 'todo-write-notify)
;;; todo-write-notify.el ends here
