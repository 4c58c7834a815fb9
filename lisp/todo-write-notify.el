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
;; D-Bus, else the echo area.

;;; Code:

(require 'todo-write-attention)

(declare-function notifications-close-notification "notifications" (id &optional bus))
(declare-function notifications-get-capabilities "notifications" (&optional bus))
(declare-function xml-escape-string "xml" (string &optional noerror))
(declare-function notifications-notify "notifications" (&rest params))

(defcustom todo-write-notify-seconds 4
  "Seconds for which an agent must need you before you are notified."
  :type 'number
  :group 'todo-write
  :package-version '(todo-write . "0.2.0"))

(defcustom todo-write-notify-done nil
  "Non-nil notifies also when an agent is done and unseen."
  :type 'boolean
  :group 'todo-write
  :package-version '(todo-write . "0.2.0"))

(defcustom todo-write-notify-function #'todo-write-notify-default
  "Function that notifies the user.
It is called with the key of a thread, a title and a text, all strings.
It returns a function without arguments that withdraws the notification,
or nil."
  :type 'function
  :group 'todo-write
  :package-version '(todo-write . "0.2.0"))

(defvar todo-write-notify--due nil
  "Alist of threads and the times of their notifications.
In seconds since the epoch.")

(defvar todo-write-notify--open nil
  "Open notifications, a list of (WITHDRAW THREAD...).")

(defvar todo-write-notify--began 0
  "Time at which the mode was switched on, in milliseconds since the epoch.")

;;;###autoload
(define-minor-mode todo-write-notify-mode
  "Notify when an agent needs you and no focused frame shows it."
  :global t
  :group 'todo-write
  (when todo-write-notify-mode
    (todo-write-module-prepare))
  (funcall (if todo-write-notify-mode #'add-hook #'remove-hook)
           'todo-write-agent-functions #'todo-write-notify--on-agent)
  (setq todo-write-notify--due nil
        todo-write-notify--began (todo-write-core-now))
  ;; Those of a desktop stay until they are withdrawn.
  (dolist (thread (seq-mapcat #'cdr todo-write-notify--open))
    (todo-write-notify--withdraw thread)))

(defun todo-write-notify--on-agent (thread old new)
  "Schedule or withdraw a notification of the agent of THREAD.
OLD and NEW are as for `todo-write-agent-functions'."
  (when (todo-write-agent-transition-p old new)
    (todo-write-notify--withdraw thread)
    (let ((wanted (and new
                       ;; A follower may find an agent that has waited for hours.
                       (>= (plist-get new :since) todo-write-notify--began)
                       (or (eq 'needs-you (plist-get new :attention))
                           (and todo-write-notify-done
                                (eq 'done (todo-write-agent-state new)))))))
      (setf (alist-get thread todo-write-notify--due nil t #'equal)
            (and wanted (+ (float-time) todo-write-notify-seconds)))
      (when wanted
        ;; The timer finds nothing due if the user answers before.
        (run-at-time todo-write-notify-seconds nil #'todo-write-notify--notify)))))

(defun todo-write-notify--notify ()
  "Notify of all agents that are due, at once."
  (let* ((now (float-time))
         ;; Include those that are due within a second.
         (due (seq-filter (lambda (entry) (<= (cdr entry) (+ now 1))) todo-write-notify--due))
         (agents (seq-filter (lambda (agent)
                               (let ((thread (plist-get agent :thread)))
                                 (and (assoc thread due)
                                      (not (todo-write-agent-visible-p thread)))))
                             (todo-write-agents))))
    (setq todo-write-notify--due (seq-difference todo-write-notify--due due #'eq))
    (when agents
      (let ((threads (mapcar (lambda (agent) (plist-get agent :thread)) agents))
            (needed (eq 'needs-you (plist-get (car agents) :attention))))
        (push (cons (apply todo-write-notify-function (car threads)
                           (if (cdr agents)
                               (list (format "%d agents %s" (length agents)
                                             (if needed "need you" "finished"))
                                     (mapconcat #'todo-write-attention-line agents "\n"))
                             (list (concat (todo-write-agent-name (car agents))
                                           (if needed " needs you" " is done"))
                                   ;; The title has the name.
                                   (todo-write-attention-need (car agents)))))
                    threads)
              todo-write-notify--open)))))

(defun todo-write-notify--withdraw (thread)
  "Withdraw the notification of THREAD's agent unless it is about others too."
  (when-let* ((note (seq-find (lambda (note) (member thread (cdr note)))
                              todo-write-notify--open)))
    (unless (cdr (delete thread note))
      (setq todo-write-notify--open (delq note todo-write-notify--open))
      (when (car note)
        (funcall (car note))))))

(defun todo-write-notify-default (thread title text)
  "Notify with TITLE and TEXT; a click goes to the agent of THREAD.
Return a function that withdraws the notification, or nil."
  (if-let* (((featurep 'dbusbind))
            ((require 'notifications nil t))
            ((require 'xml))
            ;; The session has no bus, or nothing on it that shows notifications:
            ;; `notifications-notify' would put its error into *Messages*.
            ((notifications-get-capabilities))
            (id (ignore-errors
                  (notifications-notify
                   :title title
                   :body (if (memq :body-markup (notifications-get-capabilities))
                             (xml-escape-string text)
                           text)
                   :app-name "Emacs" :timeout 0 :actions '("default" "Show")
                   :on-action (lambda (&rest _) (todo-write-notify--visit thread))))))
      ;; The user may have closed it.
      (lambda () (ignore-errors (notifications-close-notification id)))
    (ignore (message "%s: %s" title text))))

(defun todo-write-notify--visit (thread)
  "Go to the agent of THREAD if it still exists."
  (when-let* ((agent (todo-write-agent thread)))
    (select-frame-set-input-focus (selected-frame))
    (todo-write-attention-attend agent)))

(provide 'todo-write-notify)
;;; todo-write-notify.el ends here
