;;; todo-write-fuzz-socket-e2e-tests.el --- Type while programs send much  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Some rounds of `make fuzz-socket', which types into an Emacs in a terminal.  Its report
;; names the case of each finding; KINDS=name SEED=n bin/fuzz-socket 1 repeats it.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-test-helper)

(ert-deftest todo-write-large-valid-messages-block-emacs-for-less-than-200-ms ()
  (let ((process-environment
         (append (list "SEED=5" "KINDS="
                       (concat "EMACS=" (expand-file-name invocation-name invocation-directory))
                       (concat "LISP=" (file-name-directory (locate-library "todo-write"))))
                 process-environment)))
    (with-temp-buffer
      ;; What is wrong takes too long each time; what others do on the machine does not.
      (unless (cl-loop repeat 3 thereis
                       (progn (erase-buffer)
                              (eq 0 (call-process (expand-file-name "bin/fuzz-socket"
                                                                    (getenv "TODO_WRITE_ROOT"))
                                                  nil t nil "10"))))
        (ert-fail (buffer-string)))
      (should (string-match-p "keys were typed" (buffer-string))))))

(provide 'todo-write-fuzz-socket-e2e-tests)
;;; todo-write-fuzz-socket-e2e-tests.el ends here
