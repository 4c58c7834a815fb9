;;; todo-write-hosts-tests.el --- Tests of the runner of the checks with hosts  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests run bin/hosts, which runs the checks with genuine programs, on scripts
;; that only print figures.

;;; Code:

(require 'ert)
(require 'cl-lib)

(defun todo-write-hosts-tests--run (&rest scripts)
  "Run bin/hosts on SCRIPTS, bodies of shell scripts; return (STATUS . OUTPUT)."
  (let ((folder (make-temp-file "todo-write-hosts" t)))
    (unwind-protect
        (with-temp-buffer
          (cons (apply #'call-process (expand-file-name "bin/hosts" (getenv "TODO_WRITE_ROOT"))
                       nil t nil
                       (cl-loop for script in scripts
                                for number from 1
                                for file = (expand-file-name (format "%d.sh" number) folder)
                                do (write-region (concat "#!/bin/sh\n" script "\n") nil file nil 'silent)
                                do (set-file-modes file #o700)
                                collect file))
                (buffer-string)))
      (delete-directory folder t))))

(ert-deftest todo-write-hosts-names-each-script-and-adds-up ()
  (pcase-let ((`(,status . ,output) (todo-write-hosts-tests--run "echo '3 passed, 0 failed'"
                                                                 "echo '2 passed, 0 failed, 1 skipped'")))
    (should (= status 0))
    (should (string-match-p "^== .*/1\\.sh$" output))
    (should (string-match-p "^== .*/2\\.sh$" output))
    (should (string-suffix-p "\n2 scripts: 5 passed, 0 failed, 1 skipped\n" output))))

(ert-deftest todo-write-hosts-fails-if-a-check-failed-or-a-script-ended-early ()
  (dolist (script '("echo '3 passed, 1 failed'; exit 1" "exit 3"))
    (pcase-let ((`(,status . ,output)
                 (todo-write-hosts-tests--run script "echo '1 passed, 0 failed'")))
      (should (= status 1))
      (should (string-match-p "^2 scripts: [0-9] passed, 1 failed" output)))))

(ert-deftest todo-write-hosts-fails-if-a-script-could-check-nothing ()
  (pcase-let ((`(,status . ,output) (todo-write-hosts-tests--run "echo '0 passed, 0 failed, 1 skipped'"
                                                                 "echo '4 passed, 0 failed'")))
    (should (= status 1))
    (should (string-match-p "^Nothing could be checked by .*/1\\.sh$" output))))

(provide 'todo-write-hosts-tests)
;;; todo-write-hosts-tests.el ends here
