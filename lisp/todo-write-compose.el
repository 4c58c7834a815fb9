;;; todo-write-compose.el --- Write a text for an agent  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The buffer in which comments, messages and edited plans are written: C-c C-c sends
;; the text, C-c C-k cancels.  A text that was begun is not lost.

;;; Code:

(require 'todo-write-buffer)

(defvar-local todo-write-compose--about nil
  "What the text in this buffer is about, any value.")

(defvar-local todo-write-compose--send nil
  "The function that gets the text; see `todo-write-compose'.")

(define-derived-mode todo-write-compose-mode text-mode "Compose"
  "Major mode of a text for an agent.

\\{todo-write-compose-mode-map}"
  :interactive nil
  (todo-write-menu-begin-mode))

(define-key todo-write-compose-mode-map (kbd "C-c C-c") #'todo-write-compose-send)
(define-key todo-write-compose-mode-map (kbd "C-c C-k") #'todo-write-compose-cancel)

(defun todo-write-compose (name about what send &optional text)
  "Pop to a buffer called NAME to write a text ABOUT something, any value.
WHAT says in the header line what the text is.
\\<todo-write-compose-mode-map>\\[todo-write-compose-send] calls SEND with \
the text; SEND signals what is wrong
with it, or returns nil or a function, to be called when the window is
gone.  TEXT is what there is at first.  What was begun about the same goes
on, and about something else keeps its buffer."
  (let ((begun (get-buffer name)))
    (pop-to-buffer (if (and begun (buffer-modified-p begun)
                            (not (equal about (buffer-local-value 'todo-write-compose--about
                                                                  begun))))
                       (generate-new-buffer name)
                     (get-buffer-create name))
                   '(display-buffer-below-selected (window-height . 10))))
  (unless (and (buffer-modified-p) (equal about todo-write-compose--about))
    (erase-buffer)
    (insert (or text ""))
    (goto-char (point-min))
    (set-buffer-modified-p nil)
    (todo-write-compose-mode))
  (setq todo-write-compose--about about
        todo-write-compose--send send
        header-line-format (string-replace
                            "%" "%%" (format " %s · C-c C-c sends it, C-c C-k cancels" what))))

(defun todo-write-compose-lines ()
  "Return where the lines of the region, else that at point, begin and end, a cons.
The end is where the next line begins."
  (if (use-region-p)
      (cons (save-excursion (goto-char (region-beginning)) (line-beginning-position))
            (save-excursion (goto-char (region-end))
                            (if (bolp) (point) (line-beginning-position 2))))
    (cons (line-beginning-position) (line-beginning-position 2))))

(defun todo-write-compose-send ()
  "Send the text in this buffer."
  (interactive nil todo-write-compose-mode)
  (todo-write-buffer-require 'todo-write-compose-mode)
  (let ((buffer (current-buffer))
        (after (funcall todo-write-compose--send
                        (buffer-substring-no-properties (point-min) (point-max)))))
    (quit-window)
    (when after
      (funcall after))
    ;; Not before: a quit leaves the text where it was.
    (kill-buffer buffer)))

(defun todo-write-compose-cancel ()
  "Kill this buffer, and send nothing."
  (interactive nil todo-write-compose-mode)
  (todo-write-buffer-require 'todo-write-compose-mode)
  (quit-window t))

(provide 'todo-write-compose)
;;; todo-write-compose.el ends here
