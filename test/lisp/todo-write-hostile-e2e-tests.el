;;; todo-write-hostile-e2e-tests.el --- How long a hostile folder blocks  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A timer ticks while the hostile folder is used by an MCP client, followed,
;; listed and offered.  Other load on the machine delays ticks too, so that the
;; best of several attempts counts, without its garbage collections.

;;; Code:

(require 'ert)
(require 'todo-write-hostile-helper)
(require 'todo-write-socket-helper)
(require 'todo-write-list)

(defun todo-write-hostile-e2e-tests--longest-block (function)
  "Call FUNCTION; return the longest time without a tick, in milliseconds."
  (let* ((last (float-time)) (collected gc-elapsed) (longest 0)
         (tick (lambda ()
                 (let ((now (float-time)))
                   (setq longest (max longest (- now last (- gc-elapsed collected)))
                         last now
                         collected gc-elapsed))))
         (timer (run-with-timer 0 0.002 tick)))
    (unwind-protect
        (progn
          (sit-for 0.01)
          (funcall function)
          (funcall tick)
          ;; What the function has left to timers blocks, too.
          (let ((end (+ (float-time) 0.5)))
            (while (< (float-time) end) (accept-process-output nil 0.01))))
      (cancel-timer timer))
    (* 1000 longest)))

(defun todo-write-hostile-e2e-tests--check (name function undo)
  "Fail if FUNCTION, called NAME, blocks for 100 ms in each attempt.
UNDO is called after each of them."
  (let ((blocks nil))
    (while (and (length< blocks 6) (not (and blocks (< (car blocks) 100))))
      (push (todo-write-hostile-e2e-tests--longest-block function) blocks)
      (funcall undo))
    (message "%s blocks for %.0f ms at most" name (car blocks))
    (ert-info ((format "%s: %S" name blocks))
      (should (< (car blocks) 100)))))

(defun todo-write-hostile-e2e-tests--follow-mode ()
  "Follow by the mode until the good session is there."
  (todo-write-follow-mode)
  (todo-write-test-wait #'todo-write-hostile-followed-p))

(defun todo-write-hostile-e2e-tests--stop ()
  "Stop all following, and forget the plans."
  (todo-write-follow-mode -1)
  (todo-write-follow-stop)
  (mapc #'todo-write-forget (todo-write-threads)))

(ert-deftest todo-write-a-hostile-folder-never-blocks-for-100-ms ()
  (todo-write-hostile-with
    (let ((good (expand-file-name "good.jsonl" folder))
          (sparse (expand-file-name "sparse.jsonl" folder)))
      (set-file-times sparse 1000)
      (pcase-dolist
          (`(,name ,function ,undo)
           `(("An MCP call"
              ,(lambda ()
                 (todo-write-with-socket
                   (todo-write-socket-test-write
                    (todo-write-socket-test-hello
                     :project (expand-file-name "below" project))
                    "mcp" "One")))
              ignore)
             ("Following a session" ,(lambda () (todo-write-follow good))
              todo-write-hostile-e2e-tests--stop)
             ("Following 20 GB" ,(lambda () (todo-write-follow sparse))
              todo-write-hostile-e2e-tests--stop)
             ("Following the project" todo-write-hostile-e2e-tests--follow-mode
              todo-write-hostile-e2e-tests--stop)
             ("Following all"
              ,(lambda ()
                 (setq todo-write-follow-all t)
                 (todo-write-hostile-e2e-tests--follow-mode))
              ,(lambda ()
                 (setq todo-write-follow-all nil)
                 (todo-write-hostile-e2e-tests--stop)))
             ("The chooser"
              ,(lambda ()
                 (cl-letf (((symbol-function 'completing-read)
                            (lambda (_ table &rest _) (car (all-completions "" table)))))
                   (todo-write-follow--read-session)))
              ignore)
             ("The overview" ,(lambda () (todo-write-follow good) (todo-write-list))
              todo-write-hostile-e2e-tests--stop)))
        (todo-write-hostile-e2e-tests--check name function undo)))))

(provide 'todo-write-hostile-e2e-tests)
;;; todo-write-hostile-e2e-tests.el ends here
