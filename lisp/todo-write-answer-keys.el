;;; todo-write-answer-keys.el --- Which keys may answer a request  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A key counts only if it follows a pause: 0.7 s after the request was first displayed,
;; later half a second after the last key of any kind.  Keys that were typed ahead, or
;; while Emacs was busy, do not count.

;;; Code:

(defconst todo-write-answer-keys--first-pause 0.7
  "Seconds without a key after a request was first displayed.")

(defconst todo-write-answer-keys--pause 0.5
  "Seconds without a key before a key counts.")

(defvar todo-write-answer-keys--due todo-write-answer-keys--pause
  "The pause that is due: the first or a later one.")

(defvar todo-write-answer-keys--armed nil
  "Non-nil if the next key counts.")

(defvar todo-write-answer-keys-counts nil
  "Non-nil if the key of the current command counts.")

(defvar todo-write-answer-keys--pressed nil
  "Non-nil if the key of the last command was the press of a mouse button.")

(defvar todo-write-answer-keys--timer nil
  "Timer that makes the next key count, or nil.")

(defvar todo-write-answer-keys--asked nil
  "The buffer that shows the request, and a function, as (BUFFER . FUNCTION).
FUNCTION is called there before each command, when the text is on the
screen as it was displayed last.")

(defun todo-write-answer-keys-begin (function)
  "Display the request in this buffer, and let keys count after the first pause.
Keys that were typed before it was on the screen are not for it.  FUNCTION
is called in this buffer before each command."
  (setq todo-write-answer-keys--asked (cons (current-buffer) function)
        todo-write-answer-keys-counts nil
        todo-write-answer-keys--pressed nil)
  (add-hook 'pre-command-hook #'todo-write-answer-keys--note)
  (redisplay t)
  ;; It would end the definition of a macro.
  (unless defining-kbd-macro
    (discard-input))
  (todo-write-answer-keys--await todo-write-answer-keys--first-pause))

(defun todo-write-answer-keys-end ()
  "Stop what runs only while a request is shown."
  (remove-hook 'pre-command-hook #'todo-write-answer-keys--note)
  (setq todo-write-answer-keys--asked nil)
  (when todo-write-answer-keys--timer
    (cancel-timer todo-write-answer-keys--timer)
    (setq todo-write-answer-keys--timer nil)))

(defun todo-write-answer-keys--await (&optional seconds)
  "Let no key count until SECONDS pass without one, by default those due."
  (setq todo-write-answer-keys--armed nil
        todo-write-answer-keys--due (or seconds todo-write-answer-keys--due))
  (when todo-write-answer-keys--timer
    (cancel-timer todo-write-answer-keys--timer))
  (setq todo-write-answer-keys--timer
        (run-at-time todo-write-answer-keys--due nil
                     (lambda (events)
                       (setq todo-write-answer-keys--timer nil)
                       ;; Keys that wait to be read were typed while Emacs was busy.
                       (if (or (input-pending-p) (/= events num-nonmacro-input-events))
                           (todo-write-answer-keys--await)
                         (setq todo-write-answer-keys--armed t
                               todo-write-answer-keys--due todo-write-answer-keys--pause)))
                     num-nonmacro-input-events)))

(defun todo-write-answer-keys--note ()
  "Note that a key was typed; for `pre-command-hook'.
The press of a mouse button and its release are one key."
  (let ((buffer (car todo-write-answer-keys--asked))
        (kind (and (consp last-command-event) (event-modifiers last-command-event))))
    (cond ((not (buffer-live-p buffer))
           (todo-write-answer-keys-end))
          ((eq 'mouse-movement (car-safe last-command-event)))
          (t
           (let ((counts (if (and todo-write-answer-keys--pressed (memq 'click kind))
                             todo-write-answer-keys-counts
                           (and todo-write-answer-keys--armed (not executing-kbd-macro)))))
             (setq todo-write-answer-keys-counts nil
                   todo-write-answer-keys--pressed (memq 'down kind))
             (todo-write-answer-keys--await)
             ;; If it signals, this key does not count.  Emacs would remove the hook.
             (condition-case err
                 (progn (with-current-buffer buffer
                          (funcall (cdr todo-write-answer-keys--asked)))
                        (setq todo-write-answer-keys-counts counts))
               (error (message "%s" (error-message-string err)))))))))

(provide 'todo-write-answer-keys)
;;; todo-write-answer-keys.el ends here
