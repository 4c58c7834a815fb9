;;; todo-write-notify.el --- Say when a plan is done  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A global minor mode, off by default, that notifies you when a plan is done or
;; paused while no visible window shows it:
;;
;;     (todo-write-notify-mode 1)
;;
;; The desktop's notifications are used where there are any, else the echo area.

;;; Code:

(require 'todo-write)
(require 'todo-write-row)
(require 'todo-write-view)

(declare-function notifications-notify "notifications" (&rest params))

(defcustom todo-write-notify-function #'todo-write-notify-default
  "Function that tells the user something.
It is called with the key of a thread, a title and a text, both strings."
  :type 'function
  :group 'todo-write)

(defvar todo-write-notify--states (make-hash-table :test #'equal)
  "The state of each thread when it was last heard of.")

;;;###autoload
(define-minor-mode todo-write-notify-mode
  "Notify when a plan is done or paused and no window shows it."
  :global t
  :group 'todo-write
  (clrhash todo-write-notify--states)
  (todo-write-listen #'todo-write-notify--heard (not todo-write-notify-mode)))

(defun todo-write-notify--heard (thread what _data)
  "Notify if WHAT happened to THREAD has just made it done or paused, unseen."
  (let ((state (todo-write-state thread)))
    (when (and (memq what '(change state))
               (not (eq state (gethash thread todo-write-notify--states))))
      (puthash thread state todo-write-notify--states)
      (when (and (memq state '(done paused))
                 ;; Subagents do not notify.
                 (not (plist-get (todo-write-about thread) :parent))
                 (not (todo-write-notify--visible-p thread)))
        (todo-write-notify--tell thread (todo-write-summary thread))))))

(defun todo-write-notify--visible-p (thread)
  "Return non-nil if a window on a visible frame shows the plan of THREAD."
  (catch 'visible
    (walk-windows (lambda (window)
                    (when (equal thread (buffer-local-value 'todo-write-view-thread
                                                            (window-buffer window)))
                      (throw 'visible t)))
                  'no-minibuffer 'visible)
    nil))

(defun todo-write-notify--tell (thread summary)
  "Notify of the state of THREAD, of which SUMMARY is known."
  (let ((title (todo-write-row-plain (or (plist-get summary :title) "Plan")))
        (reason (plist-get summary :reason))
        (count (todo-write-row-count summary)))
    (funcall todo-write-notify-function thread title
             (if (eq (plist-get summary :state) 'done)
                 (format "Done, %s" count)
               (format "Paused at %s%s" count
                       (if reason (concat ": " (todo-write-row-plain reason)) ""))))))

(defun todo-write-notify-default (thread title text)
  "Tell TITLE and TEXT by the desktop; a click shows the plan of THREAD."
  (unless (and (featurep 'dbusbind)
               (require 'notifications nil t)
               (ignore-errors
                 (notifications-notify
                  :title (todo-write-notify--escape title)
                  :body (todo-write-notify--escape text)
                  :app-name "Emacs"
                  :actions '("default" "Show the plan")
                  :on-action (lambda (_id _action) (todo-write-show thread)))))
    (message "%s: %s" title text)))

(defun todo-write-notify--escape (text)
  "Return TEXT without what a desktop would take for markup."
  (replace-regexp-in-string
   "[&<>]" (lambda (match) (pcase match ("&" "&amp;") ("<" "&lt;") (_ "&gt;")))
   text t t))

(provide 'todo-write-notify)
;;; todo-write-notify.el ends here
