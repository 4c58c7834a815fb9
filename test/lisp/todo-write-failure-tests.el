;;; todo-write-failure-tests.el --- Tests of telling lines  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The fixtures are what compilers and test runners printed for small projects.

;;; Code:

(require 'ert)
(require 'todo-write-detail)

(defconst todo-write-failure-tests--folder
  (expand-file-name "../fixtures/failures/"
                    (file-name-directory (or load-file-name buffer-file-name)))
  "The folder of the outputs.")

(defconst todo-write-failure-tests--lines
  '(("byte-compile" "a.el:2:27: Error: reference to free variable ‘b’")
    ("cargo-build"
     "error[E0599]: no method named `length` found for reference `&[&str]` in the current scope")
    ("cargo-nextest" "assertion `left == right` failed: one book")
    ("cargo-test" "assertion `left == right` failed: one book")
    ("clippy" "error: unneeded `return` statement")
    ("command-not-found" "bash: line 1: frobnicate: command not found")
    ("emacs-error" "Debugger entered--Lisp error: (wrong-type-argument listp 1)")
    ("ert" "FAILED  1/3  shelf-counts-one-book (0.000292 sec) at shelf-tests.el:3")
    ("eslint" "1:7   error    'unused' is assigned a value but never used  no-unused-vars")
    ("gcc" "a.c:2:38: error: ‘x’ undeclared (first use in this function)")
    ("git-checkout" "error: pathspec 'nowhere' did not match any file(s) known to git")
    ("git-merge" "CONFLICT (add/add): Merge conflict in f")
    ("git-push" "fatal: No configured push destination.")
    ("go-build" "broken/b.go:3:23: undefined: undefinedName")
    ("go-panic" "panic: assignment to entry in nil map [recovered]")
    ("go-test" "shelf_test.go:7: Count: expected 1 book, got 2")
    ("go-vet" "broken/b.go:3:23: undeclared name: undefinedName")
    ("javac" "j/A.java:1: error: incompatible types: String cannot be converted to int")
    ("jest" "✕ counts one book (7 ms)")
    ("ld" "l.c:(.text+0x5): undefined reference to `f'")
    ("make-rule" "make: *** No rule to make target 'missing.h', needed by 'all'.  Stop.")
    ("make" "a.c:2:38: error: ‘x’ undeclared (first use in this function)")
    ("mocha" "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: 2 !== 1")
    ("mypy"
     "typed.py:2: error: Incompatible return value type (got \"int\", expected \"str\")  [return-value]")
    ("no-such-file" "cat: /nowhere/a: No such file or directory")
    ("node-error" "TypeError: Cannot read properties of undefined (reading 'b')")
    ("node-test" "not ok 1 - counts one book")
    ("npm-script" "npm error Missing script: \"missing\"")
    ("npm-test" "Error: no test specified")
    ("prettier"
     "[warn] Code style issues found in the above file. Run Prettier with --write to fix.")
    ("prove" "#   Failed test 'counts one book'")
    ("pytest-collection" "ModuleNotFoundError: No module named 'nowhere_to_be_found'")
    ("pytest-quiet" "FAILED test_shelf.py::test_count - AssertionError: one book")
    ("pytest" "FAILED test_shelf.py::test_count - AssertionError: one book")
    ("python-syntax" "SyntaxError: invalid syntax")
    ("python-traceback"
     "json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)")
    ("ruff-concise" "lint.py:1:8: F401 [*] `os` imported but unused")
    ("ruff" "F401 [*] `os` imported but unused")
    ("rustfmt" "Diff in /home/u/rs/src/lib.rs:1: -pub fn f( )  {}")
    ("shellcheck" "SC2154 (warning): a is referenced but not assigned.")
    ("timeout" "Command timed out after 2m 0.0s")
    ("tsc" "a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.")
    ("unittest" "AssertionError: 2 != 1")
    ("vitest" "AssertionError: expected 2 to be 1 // Object.is equality"))
  "Alist of outputs in the folder and their telling lines.")

(ert-deftest todo-write-failure-finds-the-telling-line-of-each-runner ()
  (pcase-dolist (`(,name ,line) todo-write-failure-tests--lines)
    (ert-info (name)
      (with-temp-buffer
        (insert-file-contents (concat todo-write-failure-tests--folder name ".txt"))
        (should (equal line (todo-write-detail-failure (buffer-string))))))))

(ert-deftest todo-write-failure-knows-each-recorded-output ()
  (should (equal (sort (mapcar #'car todo-write-failure-tests--lines) #'string<)
                 (sort (mapcar #'file-name-base
                               (directory-files todo-write-failure-tests--folder
                                                nil "\\.txt\\'"))
                       #'string<))))

(ert-deftest todo-write-failure-takes-the-last-line-of-an-unknown-output ()
  (should (equal (todo-write-detail-failure "one\n  two  \n\n") "two")))

(ert-deftest todo-write-failure-ignores-the-exit-code-and-escape-sequences ()
  (should (equal (todo-write-detail-failure "Exit code 3\n\e[31mbroken\e[0m\n") "broken")))

(ert-deftest todo-write-failure-shows-no-tag-around-an-error ()
  (should (equal (todo-write-detail-failure
                  "<tool_use_error>String to replace not found in file.\nString: // x</tool_use_error>")
                 "String to replace not found in file."))
  (should (equal (todo-write-detail-failure "<tool_use_error>No such tool</tool_use_error>")
                 "No such tool")))

(ert-deftest todo-write-failure-finds-nothing-in-a-blank-output ()
  (should-not (todo-write-detail-failure "Exit code 1\n \n")))

(ert-deftest todo-write-failure-searches-the-end-of-a-long-output ()
  (should (equal (todo-write-detail-failure
                  (concat (make-string 200000 ?x) "\nerror: too many books\n"))
                 "error: too many books")))

(ert-deftest todo-write-failure-no-output-takes-the-square-of-the-time ()
  (dolist (line (list (concat (make-string 30000 ?\s) "x")
                      (mapconcat #'identity (make-list 3000 "thread '' panicked at x") " ")))
    ;; Each call took more than ten seconds.
    (dotimes (_ 300)
      (should (equal "b" (todo-write-detail-failure (concat "a\n" line "\nb")))))))

(provide 'todo-write-failure-tests)
;;; todo-write-failure-tests.el ends here
