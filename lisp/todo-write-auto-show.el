;;; todo-write-auto-show.el --- Plans that show themselves  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A global minor mode that displays a plan when an agent begins to write one:
;;
;;     (todo-write-auto-show-mode 1)
;;
;; `todo-write-auto-show-action' says where; `display-buffer-alist' has
;; precedence.  The selected window stays selected.  Each thread is shown once: a
;; window that you closed does not come back by itself.  The buffer switches to
;; another plan only when the one it shows is done.  The window of a plan that is
;; done can close after some time:
;;
;;     (setq todo-write-auto-show-seconds 60)

;;; Code:

(require 'todo-write)
(require 'todo-write-commands)
(require 'todo-write-here)
(require 'todo-write-view)

(defcustom todo-write-auto-show 'any
  "Plans that `todo-write-auto-show-mode' shows."
  :type '(choice (const :tag "All" any)
                 (const :tag "Those of the project of the selected buffer" project)
                 (function :tag "Those whose key satisfies a function"))
  :group 'todo-write-view
  :package-version '(todo-write . "0.2.0"))

(defcustom todo-write-auto-show-action
  '((display-buffer-reuse-window display-buffer-in-side-window)
    (side . bottom)
    (window-height . 0.25)
    (inhibit-same-window . t))
  "Action for `display-buffer' that shows a plan."
  :type display-buffer--action-custom-type
  :group 'todo-write-view
  :package-version '(todo-write . "0.2.0"))

(defcustom todo-write-auto-show-seconds nil
  "Seconds after which the window of a plan that is done is closed.
Only windows that the mode opened are closed.  nil means that the plan
stays until the next one."
  :type '(choice (const :tag "Until the next plan" nil) number)
  :group 'todo-write-view
  :package-version '(todo-write . "0.2.0"))

(defvar todo-write-auto-show--shown nil
  "Keys of the threads that the mode has shown.")

;;;###autoload
(define-minor-mode todo-write-auto-show-mode
  "Display a plan when an agent begins to write one."
  :global t
  :group 'todo-write-view
  (when todo-write-auto-show-mode
    (todo-write-module-prepare))
  (setq todo-write-auto-show--shown nil)
  (if todo-write-auto-show-mode
      (add-hook 'todo-write-events-functions #'todo-write-auto-show--on-event)
    (remove-hook 'todo-write-events-functions #'todo-write-auto-show--on-event)))

(defun todo-write-auto-show--on-event (thread what data)
  "Show or hide the plan of THREAD after the event WHAT with DATA.
For `todo-write-events-functions'."
  (pcase what
    ('change (todo-write-auto-show--changed thread data))
    ;; A new list under the same key shows itself again.
    ('forgotten (setq todo-write-auto-show--shown
                      (delete thread todo-write-auto-show--shown)))))

(defun todo-write-auto-show--changed (thread outcome)
  "Show the plan of THREAD if it is new; close it later if it is done.
OUTCOME is that of its last change."
  (pcase (plist-get outcome :state)
    ('active (when (and (not (member thread todo-write-auto-show--shown))
                        (todo-write-auto-show--wanted-p thread))
               (todo-write-auto-show--show thread)))
    ('done (when todo-write-auto-show-seconds
             (run-at-time todo-write-auto-show-seconds nil #'todo-write-auto-show--leave
                          thread (plist-get outcome :revision))))))

(defun todo-write-auto-show--buffer ()
  "Return the buffer of plans, or nil."
  (get-buffer todo-write-view-buffer-name))

(defun todo-write-auto-show--thread ()
  "Return the key of the thread whose plan the buffer shows, or nil."
  (let ((buffer (todo-write-auto-show--buffer)))
    (and buffer (buffer-local-value 'todo-write-view-thread buffer))))

(defun todo-write-auto-show--wanted-p (thread)
  "Return non-nil if the plan of THREAD may be shown now."
  (let ((showing (todo-write-auto-show--thread)))
    (and (not (plist-get (todo-write-about thread) :parent))
         (pcase todo-write-auto-show
           ('any t)
           ('project (todo-write-here-of-project-p thread))
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
        (set-window-parameter window 'todo-write-auto-show t)
        (when (window-parameter window 'window-side)
          (set-window-parameter window 'delete-other-windows
                                #'todo-write-auto-show--alone))))))

(defun todo-write-auto-show--alone (window)
  "Make the plan in WINDOW fill its frame, for `delete-other-windows'.
Emacs refuses to do that with a window at the side of a frame."
  (let ((buffer (window-buffer window))
        (main (if (window-parameter window 'window-side)
                  (car (seq-remove (lambda (other) (window-parameter other 'window-side))
                                   (window-list (window-frame window) 'no-minibuffer)))
                window))
        (ignore-window-parameters t))
    (when main
      (select-window main)
      (unless (eq main window)
        (delete-window window)
        (switch-to-buffer buffer))
      (delete-other-windows main))))

(defun todo-write-auto-show--leave (thread revision)
  "Close the windows that the mode opened if THREAD is still at REVISION.
The selected window stays open."
  (when (and todo-write-auto-show-mode
             (equal thread (todo-write-auto-show--thread))
             (eql revision (plist-get (todo-write-summary thread) :revision)))
    (dolist (window (get-buffer-window-list (todo-write-auto-show--buffer) nil t))
      (when (and (window-parameter window 'todo-write-auto-show)
                 (not (eq window (selected-window))))
        (quit-window nil window)))))

(provide 'todo-write-auto-show)
;;; todo-write-auto-show.el ends here
