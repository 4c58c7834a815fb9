;;; todo-write-auto-show.el --- Plans that show themselves  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A global minor mode that displays a plan when an agent begins to write one.  The
;; selected window stays selected.  Each thread is shown once: a window that you closed
;; does not come back by itself.  The buffer switches to another plan only when the one it
;; shows is done.

;;; Code:

(require 'todo-write-view)

(defcustom todo-write-auto-show-action
  '((display-buffer-reuse-window display-buffer-at-bottom)
    (window-height . 0.25)
    (reusable-frames . visible)
    (inhibit-same-window . t))
  "Action for `display-buffer' that shows a plan."
  :type display-buffer--action-custom-type
  :group 'todo-write
  :package-version '(todo-write . "0.2.0"))

(defvar todo-write-auto-show--shown nil
  "Keys of the threads that the mode has shown.")

;;;###autoload
(define-minor-mode todo-write-auto-show-mode
  "Display a plan when an agent begins to write one."
  :global t
  :group 'todo-write
  (when todo-write-auto-show-mode
    (todo-write-module-prepare))
  (setq todo-write-auto-show--shown nil)
  (funcall (if todo-write-auto-show-mode #'add-hook #'remove-hook)
           'todo-write-events-functions #'todo-write-auto-show--on-event))

(defun todo-write-auto-show--on-event (thread what data)
  "Show the plan of THREAD if WHAT is its first change, with the outcome DATA.
For `todo-write-events-functions'."
  (let* ((buffer (get-buffer todo-write-view-buffer-name))
         (showing (and buffer (buffer-local-value 'todo-write-view-thread buffer)))
         (visible (and buffer (get-buffer-window buffer 'visible))))
    (pcase what
      ('change (when (and (eq 'active (plist-get data :state))
                          (not (member thread todo-write-auto-show--shown))
                          (not (plist-get (todo-write-about thread) :parent))
                          ;; A visible plan stays until it is done.
                          (or (null showing) (equal showing thread) (not visible)
                              (memq (todo-write-state showing) '(done empty))))
                 (push thread todo-write-auto-show--shown)
                 ;; The action never takes the selected window, which may be the one that
                 ;; shows the buffer already.
                 (todo-write-show thread nil
                                  (if visible
                                      '(display-buffer-reuse-window (reusable-frames . visible))
                                    todo-write-auto-show-action))))
      ;; A new list under the same key shows itself again.
      ('forgotten (setq todo-write-auto-show--shown
                        (delete thread todo-write-auto-show--shown))))))

(provide 'todo-write-auto-show)
;;; todo-write-auto-show.el ends here
