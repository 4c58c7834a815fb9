;;; bench-terminal.el --- Run an Emacs in a hidden terminal  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A batch Emacs has no display to redraw.  This runs the rest of the command
;; line as a program in a hidden terminal of 100 columns and 40 lines:
;;
;;     $EMACS --batch -l bench-terminal.el -f bench-terminal PROGRAM ARGUMENT...

;;; Code:

(defun bench-terminal ()
  "Run the rest of the command line as a program; exit with its status."
  (let* ((command (prog1 command-line-args-left (setq command-line-args-left nil)))
         (process-environment (cons "TERM=xterm-256color" process-environment))
         (process (make-process :name "bench" :command command :connection-type 'pty
                                :coding 'no-conversion :filter #'ignore :sentinel #'ignore)))
    (set-process-window-size process 40 100)
    (while (process-live-p process)
      (accept-process-output process 1))
    (kill-emacs (process-exit-status process))))

(provide 'bench-terminal)
;;; bench-terminal.el ends here
