;;; lint.el --- Check the package's Lisp in batch  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Each command checks the files left on the command line, prints what it
;; finds as FILE:LINE: TEXT, and leaves Emacs with status 1 if that is anything:
;;
;;     emacs -Q --batch -l bin/lint.el -f lint-checkdoc lisp/*.el
;;     emacs -Q --batch -L PACKAGE-LINT -L COMPAT -l bin/lint.el -f lint-package lisp/*.el

;;; Code:

(require 'cl-lib)
(require 'checkdoc)
(require 'subr-x)

(defvar package-lint-main-file)
(defvar package-lint--allowed-prefix-mappings)
(declare-function package-lint-batch-and-exit "package-lint")

(defun lint-false-alarm-p (finding)
  "Return non-nil if FINDING takes a word inside a sentence for its verb.
Checkdoc means the third person, as in \"Returns\", but guesses by the
letters: it finds the argument CHANGES and the noun \"writes\", too."
  (let ((case-fold-search nil))
    (string-match-p "Probably [\"“]\\(?:[a-z]\\|[A-Z][A-Z]\\)" finding)))

(defun lint-checkdoc ()
  "Check the style of docstrings and comments."
  (let ((findings 0))
    (cl-letf (((symbol-function 'warn)
               (lambda (text &rest _)
                 (unless (lint-false-alarm-p text)
                   (cl-incf findings)
                   (message "%s" (string-trim text))))))
      (mapc #'checkdoc-file command-line-args-left))
    (kill-emacs (min findings 1))))

(defun lint-package ()
  "Check what package archives ask of a package.
Its main file is todo-write.el, beside the files to check."
  (require 'package-lint)
  (setq package-lint-main-file
        (expand-file-name "todo-write.el" (file-name-directory (car command-line-args-left)))
        ;; Packages of the user's are no concern of ours: a folder that is not there.
        package-user-dir (make-temp-name (expand-file-name "lint-" temporary-file-directory))
        package-directory-list nil)
  ;; The package brings a second command with a prefix of its own.
  (push '("todo-write" . ("efrit-do")) package-lint--allowed-prefix-mappings)
  (package-lint-batch-and-exit))

;;; lint.el ends here
