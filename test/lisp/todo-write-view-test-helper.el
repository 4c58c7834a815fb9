;;; todo-write-view-test-helper.el --- Shared functions of the tests of buffers  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A live buffer in the only window of a frame, and its text as a user sees it.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'transient)
(require 'todo-write-test-helper)
(require 'todo-write-view)

(defmacro todo-write-test-with-shapes (&rest body)
  "Run BODY with an empty store and a terminal that displays all shapes."
  (declare (indent 0) (debug t))
  `(let ((todo-write-flash-seconds 0)
         (coding (terminal-coding-system)))
     (todo-write-with-store
       (unwind-protect
           (save-window-excursion
             (set-terminal-coding-system 'utf-8)
             (todo-write-text-forget-shapes)
             ,@body)
         (set-terminal-coding-system coding)
         (todo-write-text-forget-shapes)
         (mapc #'kill-buffer (todo-write-view-draw-live-buffers))))))

(defmacro todo-write-test-with-view (&rest body)
  "Run BODY in a live buffer of the thread \"a\", in the only window."
  (declare (indent 0) (debug t))
  `(todo-write-test-with-shapes
     (switch-to-buffer (todo-write-show "a"))
     (delete-other-windows)
     ,@body))

(defun todo-write-test-text ()
  "Return the text of the current buffer as it is seen, without properties.
What changed is drawn first."
  (todo-write-redraw)
  (buffer-substring-no-properties (point-min) (point-max)))

(defun todo-write-test-seen ()
  "Return the lines of the current buffer as a user sees them, without the header.
Times are left out.  What changed is drawn first."
  (mapcar (lambda (line) (replace-regexp-in-string " +[0-9]+:[0-9:]+\\'" "" line))
          (cdr (split-string (todo-write-test-text) "\n" t))))

(defun todo-write-test-folded-p ()
  "Return non-nil if tasks are folded in the current buffer."
  (save-excursion
    (goto-char (point-min))
    (search-forward " done\n" nil t)))

(defun todo-write-test-open (content)
  "Open the row of the item of thread \"a\" with CONTENT, or close it."
  (todo-write-view-goto (todo-write-test-id "a" content))
  (todo-write-test-press "RET"))

(defun todo-write-test-press (keys)
  "Run the command of KEYS, as for `kbd', in this buffer; \"? KEY\" is in its menu."
  (call-interactively (if (string-prefix-p "? " keys)
                          (todo-write-test-menu-command major-mode (substring keys 2))
                        (key-binding (kbd keys)))))

(defun todo-write-test-menu-command (mode key)
  "Return the command of KEY in the transient of MODE."
  (let ((suffix (transient-get-suffix (todo-write-buffer--transient mode) key)))
    ;; Older versions of transient have a list (LEVEL CLASS PLIST).
    (plist-get (if (keywordp (cadr suffix)) (cdr suffix) (car (last suffix))) :command)))

(provide 'todo-write-view-test-helper)
;;; todo-write-view-test-helper.el ends here
