;;; todo-write-failure.el --- The telling line of a failed command  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A failed command prints many lines, and one of them says what is wrong.
;; `todo-write-failure-line' finds it by what compilers and test runners print.

;;; Code:

(require 'seq)
(require 'subr-x)

(defconst todo-write-failure--patterns
  `(;; Tools of Claude Code.
    "\\`<tool_use_error>\\(.+?\\)\\(?:</tool_use_error>\\|$\\)"
    ;; Summaries of tests that name both the test and its reason: pytest.
    "^\\(FAILED [^ \n]+ - .+\\)"
    ;; The reason of a failed test or a crash: Rust, pytest, Go.
    "^ *thread '.*' \\(?:([0-9]+) \\)?panicked at .*:\n *\\(.+\\)"
    "^E   ?\\([^ \n].*\\)"
    "^[ \t]*\\(panic: .+\\)"
    ;; Errors of compilers, linkers and linters.
    ,(concat "^\\([^ \n]*[^ \n:]\\(?::[0-9]+\\)\\{1,2\\}:? \\(?:fatal \\)?[Ee]rror: .+"
             "\\|[^ \n]+([0-9]+,[0-9]+): error .+"
             "\\|error\\(?:\\[[A-Z0-9]+\\]\\)?: .+\\)")
    "^ *\\([0-9]+:[0-9]+ +error  .+\\)"
    "^\\(.*undefined reference to .+\\)"
    ;; Exceptions.  Python prints the one that matters last.
    (last "^ *\\(\\(?:[[:alnum:]_]+[.]\\)*[[:alpha:]][[:alnum:]_]*\\(?:Error\\|Exception\\|Exit\\|Interrupt\\)\\(?: \\[[A-Z_]+\\]\\)?: .+\\)")
    "^\\(Debugger entered--Lisp error: .+\\)"
    ;; A place in a file with a message: Go, ruff.
    "^ *\\(?:vet: \\)?\\([^ \n:]+:[0-9]+\\(?::[0-9]+\\)?: .+\\)"
    "^\\([A-Z]+[0-9]+ .+\\)\n +--> "
    ;; Programs that give a reason of their own.
    "^\\(fatal: .+\\|CONFLICT .+\\|npm \\(?:error\\|ERR!\\) .+\\|Error: .+\\)"
    "^\\([^ \n]+: \\*\\*\\* .+\\)"
    ;; Names of failed tests: Go, TAP, Jest, Vitest, unittest, ERT, prove.
    "^ *\\(--- FAIL: .+\\|not ok [0-9]+ .+\\|[●✕×✗] .+\\|#   Failed test .+\\)"
    "^ *\\(FAIL\\(?:ED\\)?:? +[^ \n].*\\|Diff in .+\\)"
    ;; Anything that mentions an error.
    "^[ \t]*\\(.*\\(?:^\\|[^[:alpha:]]\\)[Ee]rror\\(?:[^[:alpha:]].*\\)?\\)$"
    "^[ \t^-]*\\(.*(warning): .+\\)")
  "Regexps whose first group is the telling line, the most telling first.
An element (last REGEXP) takes the last match instead of the first.")

(defun todo-write-failure-line (output)
  "Return the line of OUTPUT that says why a command failed, or nil.
OUTPUT is what the command printed, a string; its end is searched if it is
long.  If no pattern matches, return the last line that is not blank."
  (with-temp-buffer
    (insert (substring output (max 0 (- (length output) 65536))))
    (todo-write-failure--clean)
    (let ((case-fold-search nil))
      (or (seq-some #'todo-write-failure--match todo-write-failure--patterns)
          (progn
            (goto-char (point-max))
            (when (re-search-backward "^[ \t]*\\([^ \t\n].*\\)" nil t)
              (string-trim (match-string 1))))))))

(defun todo-write-failure--clean ()
  "Delete escape sequences, and the line with the exit code, from the buffer.
Cut long lines and runs of blanks."
  (pcase-dolist (`(,noise . ,rest) '(("\e\\[[0-9;?]*[ -/]*[@-~]\\|\e[()][A-Z0-9]\\|\r" . "")
                                     ("\\`Exit code [0-9]+\n?" . "")
                                     ("[ \t]\\{9,\\}" . "        ")))
    (goto-char (point-min))
    (while (re-search-forward noise nil t)
      (replace-match rest t t)))
  (goto-char (point-min))
  (while (not (eobp))
    (let ((end (line-end-position)))
      ;; For some patterns, the time is the square of a line's length.
      (delete-region (min end (+ (point) 400)) end))
    (forward-line 1)))

(defun todo-write-failure--match (pattern)
  "Return the text that PATTERN finds in the buffer, without blanks around it.
PATTERN is an element of `todo-write-failure--patterns'.  A text that ends in
a colon is followed by the next line that is not blank."
  (let ((last (consp pattern)))
    (goto-char (if last (point-max) (point-min)))
    (when (if last
              (re-search-backward (cadr pattern) nil t)
            (re-search-forward pattern nil t))
      (let ((line (string-trim (match-string 1))))
        (goto-char (match-end 1))
        (if (and (string-suffix-p ":" line) (re-search-forward "[ \t\n]*\\(.+\\)" nil t))
            (concat line " " (string-trim (match-string 1)))
          line)))))

(provide 'todo-write-failure)
;;; todo-write-failure.el ends here
