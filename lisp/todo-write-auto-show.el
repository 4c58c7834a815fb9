;;; todo-write-auto-show.el --- Plans that show themselves  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A global minor mode that displays a plan when an agent begins to write one:
;;
;;     (todo-write-auto-show-mode 1)
;;
;; `todo-write-auto-show-action' says where; `display-buffer-alist' has
;; precedence.  No window is selected.  A thread shows itself once: after you
;; close its window it stays away until you ask for it.  The buffer changes to
;; another plan only when the one it shows is done.  A plan that is done can
;; close its window:
;;
;;     (setq todo-write-auto-show-seconds 60)

;;; Code:

(require 'todo-write)
(require 'todo-write-view)

(defcustom todo-write-auto-show 'any
  "Which plans show themselves in `todo-write-auto-show-mode'."
  :type '(choice (const :tag "All" any)
                 (const :tag "Those of the project of the selected buffer" project)
                 (function :tag "Those for whose key a function returns non-nil"))
  :group 'todo-write)

(defcustom todo-write-auto-show-action
  '((display-buffer-reuse-window display-buffer-in-side-window)
    (side . bottom)
    (window-height . 0.25)
    (inhibit-same-window . t))
  "Where plans show themselves: an action for `display-buffer'."
  :type display-buffer--action-custom-type
  :group 'todo-write)

(defcustom todo-write-auto-show-seconds nil
  "Seconds after which a plan that is done leaves its window.
Only a window in which it showed itself is left; nil means that it stays
until the next plan."
  :type '(choice (const :tag "Until the next plan" nil) number)
  :group 'todo-write)

(defvar todo-write-auto-show--shown nil
  "Keys of the threads that have shown themselves.")

(defvar todo-write-auto-show--timer nil
  "Timer that will close the window of a plan that is done, or nil.")

;;;###autoload
(define-minor-mode todo-write-auto-show-mode
  "Display a plan when an agent begins to write one."
  :global t
  :group 'todo-write
  (setq todo-write-auto-show--shown nil)
  (todo-write-listen #'todo-write-auto-show--heard (not todo-write-auto-show-mode)))

(defun todo-write-auto-show--heard (thread what _data)
  "Show or hide the plan of THREAD after WHAT happened to it."
  (pcase what
    ('change (todo-write-auto-show--changed thread))
    ;; A new list under the same key shows itself again.
    ('forgotten (setq todo-write-auto-show--shown
                      (delete thread todo-write-auto-show--shown)))))

(defun todo-write-auto-show--changed (thread)
  "Show the plan of THREAD when it begins, or let it leave when it is done."
  (let ((state (todo-write-state thread)))
    (when (and (eq state 'active)
               (not (member thread todo-write-auto-show--shown))
               (todo-write-auto-show--wanted-p thread))
      (todo-write-auto-show--show thread))
    (when (equal thread (todo-write-auto-show--thread))
      (todo-write-auto-show--set-timer (eq state 'done)))))

(defun todo-write-auto-show--buffer ()
  "Return the buffer of plans, or nil."
  (get-buffer todo-write-view-buffer-name))

(defun todo-write-auto-show--thread ()
  "Return the key of the thread whose plan the buffer shows, or nil."
  (let ((buffer (todo-write-auto-show--buffer)))
    (and buffer (buffer-local-value 'todo-write-view-thread buffer))))

(defun todo-write-auto-show--wanted-p (thread)
  "Return non-nil if THREAD may show itself now."
  (let ((showing (todo-write-auto-show--thread)))
    (and (not (plist-get (todo-write-about thread) :parent))
         (pcase todo-write-auto-show
           ('any t)
           ('project (todo-write-view--of-project-p thread))
           (function (funcall function thread)))
         ;; A visible plan stays until it is done.
         (or (null showing) (equal showing thread)
             (not (get-buffer-window (todo-write-auto-show--buffer) 'visible))
             (memq (todo-write-state showing) '(done empty))))))

(defun todo-write-auto-show--show (thread)
  "Show the plan of THREAD, in a window of its own unless the buffer is visible."
  (push thread todo-write-auto-show--shown)
  (let ((before (window-list-1 nil 'no-minibuffer 'visible)))
    (todo-write-show thread nil
                     ;; The action never takes the selected window, which may
                     ;; be the one that shows the buffer already.
                     (if (get-buffer-window todo-write-view-buffer-name 'visible)
                         '(display-buffer-reuse-window (reusable-frames . visible))
                       todo-write-auto-show-action))
    (dolist (window (get-buffer-window-list (todo-write-auto-show--buffer) nil 'visible))
      (unless (memq window before)
        (set-window-parameter window 'todo-write-auto-show t)))))

(defun todo-write-auto-show--set-timer (done)
  "Close the window some time after the plan is DONE; if nil, leave it open."
  (when todo-write-auto-show--timer
    (cancel-timer todo-write-auto-show--timer)
    (setq todo-write-auto-show--timer nil))
  (when (and done todo-write-auto-show-seconds)
    (setq todo-write-auto-show--timer
          (run-at-time todo-write-auto-show-seconds nil #'todo-write-auto-show--leave))))

(defun todo-write-auto-show--leave ()
  "Close the windows in which a plan showed itself, unless one is selected."
  (setq todo-write-auto-show--timer nil)
  (dolist (window (and (todo-write-auto-show--buffer)
                       (get-buffer-window-list (todo-write-auto-show--buffer) nil t)))
    (when (and (window-parameter window 'todo-write-auto-show)
               (not (eq window (selected-window))))
      (quit-window nil window))))

(provide 'todo-write-auto-show)
;;; todo-write-auto-show.el ends here
