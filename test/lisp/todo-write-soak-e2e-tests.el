;;; todo-write-soak-e2e-tests.el --- A short soak  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Some hundred random operations in a terminal, checked as by `make soak'.
;; They are the same in each run, so that this fails for a reason; `make soak' tries others, and
;; SEED=n OPERATIONS=400 bin/soak repeats a failure, whose message has the seed.

;;; Code:

(require 'ert)
(require 'todo-write-test-helper)

(ert-deftest todo-write-soak-random-operations-cause-no-error-and-leave-nothing-behind ()
  :tags '(:thorough)
  (let* ((output (make-temp-file "todo-write-soak" t))
         (process-environment
          (append (list (concat "OUTPUT=" output) "OPERATIONS=400" "SEED=1"
                        (concat "EMACS=" (expand-file-name invocation-name invocation-directory))
                        (concat "LISP=" (file-name-directory (locate-library "todo-write"))))
                  process-environment)))
    (unwind-protect
        (with-temp-buffer
          (unless (eq 0 (call-process (expand-file-name "bin/soak" (getenv "TODO_WRITE_ROOT"))
                                      nil t))
            (ert-fail (buffer-string)))
          (should (string-search "no error" (buffer-string))))
      (todo-write-test-delete output))))

(provide 'todo-write-soak-e2e-tests)
;;; todo-write-soak-e2e-tests.el ends here
