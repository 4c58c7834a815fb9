;;; todo-write-log.el --- List the observations of a thread -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `? l' in a plan lists its observations, the newest last, for debugging.

;;; Code:

(require 'json)
(require 'todo-write-menu)
(require 'todo-write-story)

(define-derived-mode todo-write-log-mode tabulated-list-mode "Log"
  "Major mode for the observations of a thread."
  :interactive nil
  (todo-write-buffer-set-up-table #'todo-write-log--table #'todo-write-log--show))

(todo-write-menu-define 'todo-write-log-mode todo-write-log-mode-map "Log"
  `(("Event"
     ("RET" "Show" todo-write-buffer-visit))
    ("Log"
     ("g" "Refresh" revert-buffer))
    . ,todo-write-menu-common))

(defun todo-write-log--table ()
  "Return the observations, as for `todo-write-buffer-set-up-table'."
  (let ((project (plist-get (todo-write-about todo-write-view-thread) :project)))
    (list '(("Time" nil) ("Type" 18) ("What" 0))
          (mapcar (lambda (observation)
                    (list (plist-get observation :id)
                          (vector (todo-write-text-clock (plist-get observation :timestamp))
                                  (plist-get observation :type)
                                  (todo-write-text-helped
                                   (todo-write-log--text observation project)))))
                  (todo-write-observations todo-write-view-thread)))))

(defun todo-write-log--text (observation project)
  "Return OBSERVATION as a line; file names are relative to PROJECT."
  (let* ((content (plist-get observation :content))
         (name (and (consp content) (plist-get content :name)))
         (name (and (stringp name) name))
         (refusal (todo-write-detail-refusal observation))
         (text (concat (and name (concat name " "))
                       (and refusal (concat (todo-write-text-shape 'refused) " " refusal ": "))
                       (todo-write-story-text content project)
                       (todo-write-story-excluded observation " (" ")"))))
    (if (todo-write-story-runs-commands-p name)
        (todo-write-text-command text 300)
      (todo-write-text-line text 300))))

(defun todo-write-log (&optional thread)
  "List the observations of THREAD; return the buffer.
THREAD is a key, by default the one at point or of this buffer, else that
of `todo-write-show'; interactively, a prefix argument asks for one.
Signal a `user-error' if there is no thread."
  (interactive (list (and current-prefix-arg
                          (todo-write-read-thread "Log of thread: "))))
  (prog1 (todo-write-buffer-pop-to "*todo-write-log*" 'todo-write-log-mode
                                 (or thread (todo-write-buffer-thread)))
    (funcall todo-write-events-draw)
    (goto-char (point-max))))

(defun todo-write-log--show (id)
  "Show the whole observation ID."
  (let* ((observation (seq-find (lambda (each) (equal (plist-get each :id) id))
                                (todo-write-observations todo-write-view-thread)))
         (content (plist-get observation :content))
         (input (and (consp content) (plist-get content :input))))
    (unless observation
      (user-error "This observation is no longer kept"))
    (when input
      (plist-put content :input (todo-write-json-parsed input)))
    (with-current-buffer (get-buffer-create "*todo-write-observation*")
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert (todo-write-text-plain-lines
                 (if (stringp content) content
                   (todo-write-row-string
                     (insert (todo-write-to-json observation))
                     ;; This decodes escapes of invisible characters, too.
                     (json-pretty-print-buffer)))))
        (goto-char (point-min)))
      (special-mode)
      (setq header-line-format
            (string-replace
             "%" "%%" (format " %s  %s" (plist-get observation :type)
                              (todo-write-text-line
                               (plist-get observation :title)))))
      (display-buffer (current-buffer)))))

(provide 'todo-write-log)
;;; todo-write-log.el ends here
