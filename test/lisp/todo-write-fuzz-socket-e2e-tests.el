;;; todo-write-fuzz-socket-e2e-tests.el --- Type while programs send much  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Some rounds of soak/fuzz-socket.el, which types into an Emacs in a terminal.  Its report
;; names the case of each finding, and its commentary how to repeat one.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-test-helper)

(defun todo-write-fuzz-socket-tests--run (kinds limit)
  "Run a round of the cases of KINDS, names in a string; return the report.
LIMIT is the number of milliseconds that a key may take longer."
  (let ((process-environment
         (append (list "SEED=5" "SECONDS=1" (concat "KINDS=" kinds) (format "LIMIT=%d" limit)
                       (concat "LISP=" (file-name-directory (locate-library "todo-write"))))
                 process-environment))
        (default-directory (expand-file-name "test/lisp" (getenv "TODO_WRITE_ROOT"))))
    (with-temp-buffer
      (unless (eq 0 (call-process (expand-file-name invocation-name invocation-directory) nil t nil
                                  "-Q" "--batch" "-L" "." "-L" "soak" "-l" "fuzz-socket"
                                  "-f" "fuzz-socket-run"))
        (ert-fail (buffer-string)))
      (buffer-string))))

;; Each of these once took seconds.
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

(provide 'todo-write-fuzz-socket-e2e-tests)
;;; todo-write-fuzz-socket-e2e-tests.el ends here
