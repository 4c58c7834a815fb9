;;; run.el --- Run the ERT tests in batch  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Runs the given test files, or all test/*-tests.el:
;;
;;     emacs -Q --batch -l test/run.el [FILE...]
;;
;; The Lisp under test is the one on the load path (`-L DIR'), or else lisp/.
;; The variable MATCH of the environment is a regexp on the names of tests.
;; Tests find the repository by the variable TODO_WRITE_ROOT.
;;
;; The last line is "ERT: N passed, N failed, N skipped".

;;; Code:

(require 'cl-lib)
(require 'ert)

(defconst run-root
  (expand-file-name ".." (file-name-directory load-file-name))
  "The repository.")

;; A native compiler that starts behind the tests' backs makes them slow, and
;; with trampolines a mocked primitive costs seconds.
(dolist (variable '(native-comp-jit-compilation
                    native-comp-deferred-compilation
                    native-comp-enable-subr-trampolines
                    comp-enable-subr-trampolines))
  (when (boundp variable)
    (set variable nil)))

(defvar run-home (make-temp-file "todo-write-test-" t)
  "Stands in for the user's own Emacs directory.")

(defun run-stats-line (stats)
  "Return the closing line for STATS."
  (let ((skipped (ert-stats-skipped stats))
        (passed (ert-stats-completed-expected stats)))
    (format "ERT: %d passed, %d failed, %d skipped"
            passed (- (ert-stats-total stats) passed skipped) skipped)))

(defun run-report-skipped ()
  "Print each skipped test with the reason that it gave."
  (dolist (test (ert-select-tests t t))
    (let ((result (ert-test-most-recent-result test)))
      (when (and result (ert-test-skipped-p result))
        (message "skipped %s: %s" (ert-test-name test)
                 (let ((reason (ert-test-result-with-condition-condition result)))
                   (if (stringp (cadr reason)) (cadr reason) (format "%S" (cdr reason)))))))))

(defun run-tests (files)
  "Load FILES, run their tests, and leave Emacs."
  (dolist (file files)
    (load (expand-file-name file) nil t))
  (let* ((match (getenv "MATCH"))
         (stats (ert-run-tests-batch (if (member match '(nil "")) t match))))
    (run-report-skipped)
    (message "%s" (run-stats-line stats))
    (kill-emacs (if (zerop (ert-stats-completed-unexpected stats)) 0 1))))

(add-hook 'kill-emacs-hook (lambda () (delete-directory run-home t)))
(setenv "TODO_WRITE_ROOT" run-root)
(set-language-environment "UTF-8")
(setq user-emacs-directory (file-name-as-directory run-home)
      ert-quiet t
      ert-batch-backtrace-right-margin 160)
(add-to-list 'load-path (expand-file-name "test" run-root))
(unless (locate-library "todo-write")
  (add-to-list 'load-path (expand-file-name "lisp" run-root))
  ;; What was compiled there may be older than what is being worked on.
  (setq load-prefer-newer t))

(run-tests (or (prog1 command-line-args-left
                 (setq command-line-args-left nil))
               (directory-files (expand-file-name "test" run-root) t "-tests\\.el\\'")))

;;; run.el ends here
