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

(defun todo-write-fuzz-socket-tests--run (kinds limit)
  "Run a round of the cases of KINDS, names in a string; return the report.
LIMIT is the number of milliseconds that a key may take longer."
  (let ((process-environment
         (append (list "SEED=5" (concat "KINDS=" kinds) (format "LIMIT=%d" limit)
                       (concat "EMACS=" (expand-file-name invocation-name invocation-directory))
                       (concat "LISP=" (file-name-directory (locate-library "todo-write"))))
                 process-environment)))
    (with-temp-buffer
      (unless (eq 0 (call-process (expand-file-name "bin/fuzz-socket" (getenv "TODO_WRITE_ROOT"))
                                  nil t nil "1"))
        (ert-fail (buffer-string)))
      (buffer-string))))

;; Each of these once took seconds; `make fuzz-socket' says which takes 200 ms on an idle machine.
(ert-deftest todo-write-large-valid-messages-do-not-freeze-emacs ()
  :tags '(:thorough)
  (should (string-match-p
           "keys were typed"
           (todo-write-fuzz-socket-tests--run
            "lists junk activity sessions hellos questions fields edits requests repeats unread pieces"
            60000))))

(ert-deftest todo-write-mutated-messages-do-not-end-emacs ()
  :tags '(:thorough)
  (should (string-match-p "^mutated " (todo-write-fuzz-socket-tests--run "mutated" 60000))))

(ert-deftest todo-write-a-hostile-machine-touches-nothing-of-others ()
  :tags '(:thorough)
  ;; A program that is not built skips the test.
  (todo-write-mcp-helper-program)
  (message "%s" (todo-write-fuzz-socket-tests--run
                 (concat "machine-floods machine-forges machine-sessions machine-calls "
                               "machine-plans machine-lines")
                 60000)))

(provide 'todo-write-fuzz-socket-e2e-tests)
;;; todo-write-fuzz-socket-e2e-tests.el ends here
