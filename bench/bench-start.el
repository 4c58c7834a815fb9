;;; bench-start.el --- Starting, with the module and without  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The time of `require' in a new Emacs, against the same Lisp with a stub in
;; place of the module; and the time of the first write.  Each sample starts an
;; Emacs.

;;; Code:

(require 'bench)
(require 'todo-write)

(defconst bench-start--folder (file-name-directory load-file-name)
  "Folder of the compiled Lisp and the module.")

(defun bench-start--seconds (form &optional stub)
  "Return the seconds that FORM takes in a new Emacs, which prints them.
With STUB, the module is an empty feature."
  (with-temp-buffer
    (let ((status
           (call-process
            (expand-file-name invocation-name invocation-directory) nil t nil "-Q" "--batch"
            "-L" bench-start--folder "--eval"
            (format "(progn (setq todo-write-directory (expand-file-name \"start/\" \"%s\"))
                       %s (let ((start (current-time))) %S
                       (princ (float-time (time-subtract nil start)))))"
                    (getenv "HOME")
                    (if stub
                        (format "(setq todo-write-module--loaded-version %S) (provide 'todo-write-dyn)"
                                todo-write-version)
                      "")
                    form))))
      (unless (eql status 0)
        (error "Emacs said: %s" (buffer-string)))
      (string-to-number (buffer-string)))))

(defun bench-start--row (work form yardstick theirs stub budget)
  "Write the row that compares FORM, named WORK, with THEIRS, named YARDSTICK.
STUB applies to THEIRS; BUDGET is as in `bench-row'."
  (let (ours other)
    (dotimes (_ bench-rounds)
      (push (bench-start--seconds form) ours)
      (push (bench-start--seconds theirs stub) other))
    (bench-row work ours yardstick other :measure #'identity :budget budget)))

(bench-start--row "require todo-write"
                  '(progn (require 'todo-write) (todo-write-module-load))
                  "without the module" '(require 'todo-write) t 2)
(bench-start--row "require all that shows a plan"
                  '(progn (require 'todo-write-view) (require 'todo-write-mode-line)
                          (todo-write-module-load))
                  "without the module"
                  '(progn (require 'todo-write-view) (require 'todo-write-mode-line)) t 2)
(bench-start--row "require and the first write, journal on"
                  '(progn (require 'todo-write)
                          (todo-write "first" "{\"todos\":[{\"content\":\"A task\",\
\"status\":\"pending\",\"activeForm\":\"At it\"}]}"))
                  "require" '(require 'todo-write) nil nil)

(provide 'bench-start)
;;; bench-start.el ends here
