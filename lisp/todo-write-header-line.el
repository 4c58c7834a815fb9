;;; todo-write-header-line.el --- The plan above a chat  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Two further places for what the mode line shows.  In a buffer in which you
;; talk to an agent, `todo-write-header-line-mode' shows its plan at the top:
;;
;;     (add-hook 'gptel-mode-hook #'todo-write-header-line-mode)
;;
;; It shows the thread that `todo-write-header-line-thread' names or, if that is
;; nil, the one written last while the buffer was current, else the one written
;; last.  `todo-write-tab-bar-mode' shows the plan written last in the tab bar.

;;; Code:

(require 'seq)
(require 'subr-x)
(require 'todo-write)
(require 'todo-write-busy)
(require 'todo-write-row)
(require 'todo-write-mode-line)

(defvar tab-bar-format)

(defvar-local todo-write-header-line-thread nil
  "Key of the thread whose plan the header line shows, or nil.
nil stands for the thread whose key is the buffer's name, if there is
one, else for the one written last.")

(defvar-local todo-write-header-line--string nil
  "What the header line shows, made when the plan changes.")
(put 'todo-write-header-line--string 'risky-local-variable t)

(defconst todo-write-header-line--format '("" todo-write-header-line--string)
  "The header line.
It shows the value of a variable as it is, so a % in a task stands for
itself.")

(defconst todo-write-header-line--hooks
  '(todo-write-change-functions todo-write-state-functions
    todo-write-forget-functions)
  "Hooks that tell when the text is out of date.")

(defvar todo-write-header-line-map
  (let ((map (make-sparse-keymap)))
    (define-key map [header-line mouse-1] #'todo-write-header-line-show)
    map)
  "Keymap of the header line.")

;;;###autoload
(define-minor-mode todo-write-header-line-mode
  "Show the plan of this buffer's agent in the header line."
  :lighter nil
  :group 'todo-write
  (if todo-write-header-line-mode
      (progn
        (unless (or (null header-line-format)
                    (equal header-line-format todo-write-header-line--format))
          (setq todo-write-header-line-mode nil)
          (user-error "This buffer has a header line already"))
        (setq header-line-format todo-write-header-line--format)
        (todo-write-header-line--listen #'todo-write-header-line--update t)
        (todo-write-header-line--make)
        (todo-write-mode-line-redraw))
    (when (equal header-line-format todo-write-header-line--format)
      (setq header-line-format nil))
    (setq todo-write-header-line--string nil)
    (unless (todo-write-header-line--buffers)
      (todo-write-header-line--listen #'todo-write-header-line--update nil))))

(defun todo-write-header-line--listen (function flag)
  "Call FUNCTION whenever a text is out of date if FLAG; else no longer."
  (dolist (hook todo-write-header-line--hooks)
    (if flag (add-hook hook function) (remove-hook hook function)))
  (todo-write-busy-listen function flag))

(defun todo-write-header-line--buffers ()
  "Return the buffers that show a plan in their header line."
  (seq-filter (lambda (buffer)
                (buffer-local-value 'todo-write-header-line-mode buffer))
              (buffer-list)))

(defun todo-write-header-line--thread ()
  "Return the key of the thread that the current buffer is about, or nil."
  (or todo-write-header-line-thread
      (car (member (buffer-name) (todo-write-threads-loaded)))
      (todo-write-current-thread)))

(defun todo-write-header-line--update (&rest _)
  "Make the header lines anew."
  (let ((buffers (todo-write-header-line--buffers)))
    (dolist (buffer buffers)
      (with-current-buffer buffer
        (todo-write-header-line--make)))
    (if buffers
        (todo-write-mode-line-redraw)
      (todo-write-header-line--listen #'todo-write-header-line--update nil))))

(defun todo-write-header-line--make ()
  "Make the header line of the current buffer."
  (let ((words (todo-write-mode-line-words (todo-write-header-line--thread))))
    (setq todo-write-header-line--string
          (and words
               (propertize
                (concat " " words)
                'mouse-face 'highlight
                'help-echo "mouse-1: show the plan"
                'local-map todo-write-header-line-map)))))

(defun todo-write-header-line-show (event)
  "Show the plan of the buffer on whose header line EVENT clicked."
  (interactive "e")
  (with-selected-window (posn-window (event-start event))
    (todo-write-show (todo-write-header-line--thread))))

;;; Tab bar

(defvar todo-write-header-line--tab nil
  "What the tab bar shows, or nil.")

;;;###autoload
(define-minor-mode todo-write-tab-bar-mode
  "Show the plan written last in the tab bar."
  :global t
  :group 'todo-write
  (require 'tab-bar)
  (setq tab-bar-format (remq 'todo-write-tab-bar tab-bar-format))
  (todo-write-header-line--listen #'todo-write-header-line--update-tab
                                  todo-write-tab-bar-mode)
  (when todo-write-tab-bar-mode
    (setq tab-bar-format (append tab-bar-format '(todo-write-tab-bar))))
  (todo-write-header-line--update-tab))

(defun todo-write-header-line--update-tab (&rest _)
  "Make the text of the tab bar."
  (let ((words (and todo-write-tab-bar-mode
                    (todo-write-mode-line-words (todo-write-current-thread)))))
    (setq todo-write-header-line--tab
          (and words (concat " [" (todo-write-row-truncate words 40) "] ")))
    (todo-write-mode-line-redraw)))

(defun todo-write-tab-bar ()
  "Return the plan's item of the tab bar, for `tab-bar-format'."
  (when todo-write-header-line--tab
    `((todo-write menu-item ,todo-write-header-line--tab todo-write-show
                  :help "Show the plan"))))

(provide 'todo-write-header-line)
;;; todo-write-header-line.el ends here
