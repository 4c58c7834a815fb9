;;; todo-write-header-line.el --- The plan in the header line  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;;     (add-hook 'vterm-mode-hook #'todo-write-header-line-mode)
;;
;; shows in a buffer in which you talk to an agent the plan of that agent, in its
;; header line: the thread that `todo-write-header-line-thread' names, else the
;; one whose key is the buffer's name, else the one written last.  The words are
;; those of the mode line; see todo-write-mode-line.el.

;;; Code:

(require 'seq)
(require 'todo-write)
(require 'todo-write-commands)
(require 'todo-write-mode-line)

(defvar-local todo-write-header-line-thread nil
  "Key of the thread whose plan the header line shows, or nil.
If it is nil, the header line shows the plan of this buffer, else the
thread whose key is the buffer's name, else the one written last.")

(defvar-local todo-write-header-line-host nil
  "Function that draws the header line of this buffer's host, or nil.
It is called without arguments when `todo-write-header-line-mode' is
turned on or off.  While that is on, it includes the value of
`todo-write-header-line-string'.")

(defvar-local todo-write-header-line-string nil
  "What the header line shows: a string, or nil for nothing.")
(put 'todo-write-header-line-string 'risky-local-variable t)

(defconst todo-write-header-line--format '("" todo-write-header-line-string)
  "The header line; like a mode line, it shows the variable's value literally.")

;;;###autoload
(define-minor-mode todo-write-header-line-mode
  "Show the plan of this buffer's agent in the header line."
  :lighter nil
  :group 'todo-write-attention
  (if todo-write-header-line-mode
      (progn
        (unless (or (null header-line-format)
                    todo-write-header-line-host
                    (equal header-line-format todo-write-header-line--format))
          (setq todo-write-header-line-mode nil)
          (user-error "This buffer has a header line already"))
        (todo-write-module-prepare)
        (unless todo-write-header-line-host
          (setq header-line-format todo-write-header-line--format))
        (add-hook 'todo-write-events-functions #'todo-write-header-line--on-event)
        (todo-write-header-line--make)
        (todo-write-mode-line-redraw))
    (when (equal header-line-format todo-write-header-line--format)
      (setq header-line-format nil))
    (setq todo-write-header-line-string nil)
    (unless (todo-write-header-line--buffers)
      (remove-hook 'todo-write-events-functions #'todo-write-header-line--on-event)))
  (when todo-write-header-line-host
    (funcall todo-write-header-line-host)))

(defvar todo-write-header-line-map
  (let ((map (make-sparse-keymap)))
    (define-key map [header-line mouse-1] #'todo-write-header-line-show)
    map)
  "Keymap of the plan in header lines.")

(defun todo-write-header-line-show (event)
  "Show the plan of the buffer whose header line EVENT clicked on."
  (declare (completion ignore))
  (interactive (list last-nonmenu-event))
  (with-selected-window (posn-window (event-start event))
    (todo-write-show (todo-write-header-line--thread))))

(defun todo-write-header-line--buffers ()
  "Return the buffers that show a plan in their header line."
  (seq-filter (lambda (buffer)
                (buffer-local-value 'todo-write-header-line-mode buffer))
              (buffer-list)))

(defun todo-write-header-line--thread ()
  "Return the key of the thread that the header line shows, or nil."
  (or todo-write-header-line-thread
      todo-write-view-thread
      (car (member (buffer-name) (todo-write-threads-loaded)))
      (todo-write-current-thread)))

(defun todo-write-header-line--on-event (_thread what _data)
  "Update all header lines after the event WHAT.
For `todo-write-events-functions'."
  (when (memq what '(change state redraw activity forgotten spinner))
    (let ((buffers (todo-write-header-line--buffers)))
      (dolist (buffer buffers)
        (with-current-buffer buffer
          (todo-write-header-line--make)))
      (if buffers
          (todo-write-mode-line-redraw)
        ;; Buffers may be killed without running their hooks.
        (remove-hook 'todo-write-events-functions #'todo-write-header-line--on-event)))))

(defun todo-write-header-line--make ()
  "Update the header line of the current buffer."
  (let ((words (todo-write-mode-line-words (todo-write-header-line--thread))))
    (setq todo-write-header-line-string
          (and words
               (propertize
                (concat " " words)
                'mouse-face 'highlight
                'help-echo "mouse-1: show the plan"
                'local-map todo-write-header-line-map)))))

(provide 'todo-write-header-line)
;;; todo-write-header-line.el ends here
