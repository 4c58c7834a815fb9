;;; run.el --- Run the ERT tests in batch  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Runs the given test files, or all test/lisp/*-tests.el:
;;
;;     emacs -Q --batch -l test/lisp/run.el [FILE...]
;;
;; The Lisp under test is the one on the load path (`-L DIR'), or else
;; lisp/ and efrit-do/.
;; Tests find the repository by the environment variable TODO_WRITE_ROOT.
;; MATCH in the environment is a regexp on the names of the tests to run, and
;; VERBOSE=1 prints the passing tests, too, and how long each took.  Tests with the tag
;; :thorough run only with THOROUGH=1, and only these: kills, floods and random sequences.
;;
;; Tests see no agent, socket, folder or process of the machine, only what they begin
;; themselves; see "Keep tests apart" below.
;;
;; The last line is "ERT: N passed, N failed, N skipped".

;;; Code:

(require 'backtrace)
(require 'cl-lib)
(require 'ert)
(require 'pp)
(require 'seq)
(require 'subr-x)

(defconst run-root
  (expand-file-name "../.." (file-name-directory load-file-name))
  "The repository.")

(defconst run-home (make-temp-file "todo-write-test-" t)
  "The home of the user, also of the Emacs directory and of all temporary files.
It is deleted at the end, with the files of tests and killed child processes.")

;;; Keep tests apart

;; Before any library is loaded: some look at the environment then.

(defconst run-variables
  (rx bos (or "ANTHROPIC_" "CLAUDE" "CODEX_" "COPILOT_" "DBUS_" "ECA_" "GEMINI_" "OPENAI_"
              "OPENCODE" "TMUX" "XDG_"))
  "Regexp on the variables of agents, and of others by which a user's programs are found.")

(setq process-environment
      (seq-remove (lambda (variable) (string-match-p run-variables variable))
                  process-environment))
(pcase-dolist (`(,variable . ,usual) '(("CARGO_HOME" . "~/.cargo") ("RUSTUP_HOME" . "~/.rustup")))
  (unless (getenv variable)
    (setenv variable (expand-file-name usual))))
(setenv "HOME" run-home)
;; It has the socket of tests, and only processes with it in their environment are seen.
(setenv "TODO_WRITE_SANDBOX" run-home)
(setenv "TMUX_TMPDIR" run-home)

(defun run-condition (condition)
  "Return CONDITION, signalled by a test, as readable text."
  (let ((print-escape-newlines t)
        (print-length 60)
        (print-level 12))
    (string-trim-right
     (truncate-string-to-width (pp-to-string condition) 4000 nil nil t))))

(defun run-frames (result)
  "Return the part of RESULT's backtrace within the test."
  (let* ((backtrace-line-length 160)
         (text (backtrace-to-string (ert-test-result-with-condition-backtrace result))))
    (string-trim-right
     (substring text 0 (string-match "^ *ert--run-test-internal" text)))))

(defun run-report-failure (test result)
  "Print that TEST failed with RESULT, and why."
  (message "\nFAILED %s" (ert-test-name test))
  (pcase-dolist (`(,prefix . ,info) (reverse (ert-test-result-with-condition-infos result)))
    (message "%s%s" prefix info))
  (let ((condition (ert-test-result-with-condition-condition result)))
    (message "%s" (run-condition condition))
    (unless (eq (car condition) 'ert-test-failed)
      (message "%s" (run-frames result)))))

(defun run-report-skip (test result)
  "Print that TEST was skipped with RESULT, and why."
  (let ((reason (cadr (ert-test-result-with-condition-condition result))))
    (message "skipped %s: %s" (ert-test-name test)
             (if (stringp reason) reason (format "%S" reason)))))

(defun run-slowest (stats)
  "Return the names of the ten slowest tests of STATS, with their seconds."
  (let ((times (cl-loop for test across (ert--stats-tests stats)
                        for result = (ert-test-most-recent-result test)
                        when result
                        collect (cons (ert-test-result-duration result) (ert-test-name test)))))
    (mapconcat (pcase-lambda (`(,seconds . ,name)) (format "%s %.1f" name seconds))
               (seq-take (sort times (lambda (a b) (> (car a) (car b)))) 10) ", ")))

(defun run-report (event &rest arguments)
  "Print EVENT of a run of tests, with its ARGUMENTS."
  (pcase (cons event arguments)
    (`(test-ended ,_ ,test ,result)
     ;; These forms hold all values that tests have seen, which makes each later
     ;; garbage collection ten times as long.
     (setf (ert-test-result-should-forms result) nil)
     (cond
      ((ert-test-skipped-p result) (run-report-skip test result))
      ((not (ert-test-result-expected-p test result))
       (if (ert-test-result-with-condition-p result)
           (run-report-failure test result)
         (message "\nFAILED %s: %S" (ert-test-name test) (type-of result))))
      ((getenv "VERBOSE") (message "passed  %s (%.2f s)" (ert-test-name test)
                                    (ert-test-result-duration result)))))
    (`(run-ended ,stats ,aborted)
     (let* ((skipped (ert-stats-skipped stats))
            (passed (ert-stats-completed-expected stats))
            (failed (- (ert-stats-total stats) passed skipped)))
       (message "\nSlowest: %s" (run-slowest stats))
       (message "\nERT: %d passed, %d failed, %d skipped" passed failed skipped)
       (kill-emacs (if (and (zerop failed) (not aborted)) 0 1))))))

;; Native compilation in the background slows down the tests, and a trampoline
;; for a mocked primitive takes seconds.
(dolist (variable '(native-comp-jit-compilation
                    native-comp-deferred-compilation
                    native-comp-enable-subr-trampolines
                    comp-enable-subr-trampolines))
  (when (boundp variable)
    (set variable nil)))

;; Natively compiled code calls primitives that a test has replaced.
(when (boundp 'native-comp-eln-load-path)
  (setq native-comp-eln-load-path (last native-comp-eln-load-path)))

;; Emacs abbreviates it to ~/..., which tests that set HOME would look for elsewhere.
(setq default-directory (expand-file-name default-directory))
(add-hook 'kill-emacs-hook (lambda () (delete-directory run-home t)))
(setenv "TODO_WRITE_ROOT" run-root)
;; All tests are in one heap, of which each collection marks all.
(setq gc-cons-threshold (* 32 1024 1024))
(set-language-environment "UTF-8")
(setq user-emacs-directory (file-name-as-directory run-home)
      temporary-file-directory (file-name-as-directory (expand-file-name "tmp" run-home)))
(make-directory temporary-file-directory)
(setenv "TMPDIR" temporary-file-directory)
(add-to-list 'load-path (expand-file-name "test/lisp" run-root))
(unless (locate-library "todo-write")
  (dolist (folder '("efrit-do" "lisp"))
    (add-to-list 'load-path (expand-file-name folder run-root)))
  ;; The compiled files may be older than the sources.
  (setq load-prefer-newer t))

(dolist (file (or (prog1 command-line-args-left
                    (setq command-line-args-left nil))
                  (directory-files (expand-file-name "test/lisp" run-root) t "-tests\\.el\\'")))
  (load (expand-file-name file) nil t))

(defun run-set-p (variable)
  "Return non-nil if VARIABLE of the environment is set, and not empty."
  (not (member (getenv variable) '(nil ""))))

(ert-run-tests `(and ,(if (run-set-p "MATCH") (getenv "MATCH") t)
                     ,(if (run-set-p "THOROUGH") '(tag :thorough) '(not (tag :thorough))))
               #'run-report)

;;; run.el ends here
