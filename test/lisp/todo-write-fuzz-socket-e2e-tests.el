;;; todo-write-fuzz-socket-e2e-tests.el --- Type while programs send much  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Some rounds of `make fuzz-socket', which types into an Emacs in a terminal.  Its report
;; names the case of each finding; KINDS=name SEED=n bin/fuzz-socket 1 repeats it.  How long
;; a hostile machine blocks Emacs is printed, not judged, since test machines are busy.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-mcp-helper)
(require 'todo-write-test-helper)

(defun todo-write-fuzz-socket-tests--run (times seconds kinds &rest environment)
  "Run the cases of KINDS, names in a string, for SECONDS; return the report.
ENVIRONMENT are further variables.  Fail if there is a finding TIMES times."
  (let ((process-environment
         (append environment
                 (list "SEED=5" (concat "KINDS=" kinds)
                       (concat "EMACS=" (expand-file-name invocation-name invocation-directory))
                       (concat "LISP=" (file-name-directory (locate-library "todo-write"))))
                 process-environment)))
    (with-temp-buffer
      (unless (cl-loop repeat times thereis
                       (progn (erase-buffer)
                              (eq 0 (call-process (expand-file-name "bin/fuzz-socket"
                                                                    (getenv "TODO_WRITE_ROOT"))
                                                  nil t nil seconds))))
        (ert-fail (buffer-string)))
      (buffer-string))))

(ert-deftest todo-write-large-valid-messages-block-emacs-for-less-than-200-ms ()
  (should (string-match-p
           "keys were typed"
           ;; What is wrong takes too long each time; what others do on the machine does not.
           (todo-write-fuzz-socket-tests--run
            3 "10" "lists junk activity sessions hellos questions fields edits requests repeats unread pieces"))))

(ert-deftest todo-write-mutated-messages-do-not-end-emacs ()
  (should (string-match-p "^mutated " (todo-write-fuzz-socket-tests--run 1 "1" "mutated" "LIMIT=60000"))))

(ert-deftest todo-write-a-hostile-machine-touches-nothing-of-others ()
  ;; A program that is not built skips the test.
  (todo-write-mcp-helper-program)
  (message "%s" (todo-write-fuzz-socket-tests--run
                 1 "1" (concat "machine-floods machine-forges machine-sessions machine-calls "
                               "machine-plans machine-lines")
                 "LIMIT=60000")))

(provide 'todo-write-fuzz-socket-e2e-tests)
;;; todo-write-fuzz-socket-e2e-tests.el ends here
