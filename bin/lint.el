;;; lint.el --- Check the package's Lisp in batch  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Each command checks the files on the command line, prints each finding as
;; FILE:LINE: TEXT, and exits with status 1 after a finding:
;;
;;     emacs -Q --batch -l bin/lint.el -f lint-checkdoc lisp/*.el
;;     emacs -Q --batch -L PACKAGE-LINT -L COMPAT -l bin/lint.el -f lint-package MAIN-FILE FILE...

;;; Code:

(require 'cl-lib)
(require 'checkdoc)
(require 'package)
(require 'subr-x)

(defvar package-lint-main-file)
(declare-function package-lint-batch-and-exit "package-lint")

(defun lint-false-alarm-p (finding)
  "Return non-nil if FINDING mistakes a word inside a sentence for its verb.
Checkdoc reports the third person, as in \"Returns\", by the final s: it
also reports the argument CHANGES and the noun \"writes\"."
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

(defun lint-archive (main directory)
  "Write an archive with the package of the file MAIN into DIRECTORY.
One of our packages depends on the other, and package-lint looks for
dependencies in archives."
  (let* ((package (with-temp-buffer
                    (insert-file-contents main)
                    (package-buffer-info)))
         (file (expand-file-name "archives/lint/archive-contents" directory)))
    (make-directory (file-name-directory file) t)
    (with-temp-file file
      (prin1 `(1 (,(package-desc-name package)
                  . [,(package-desc-version package) ,(package-desc-reqs package)
                     ,(package-desc-summary package) tar nil]))
             (current-buffer)))))

(defun lint-package ()
  "Check a package by the rules of package archives.
The first file on the command line is the package's main file."
  (require 'package-lint)
  (let* ((main (expand-file-name (car command-line-args-left)))
         (directory (make-temp-file "lint-" t)))
    (add-hook 'kill-emacs-hook (lambda () (delete-directory directory t)))
    (lint-archive (expand-file-name "../lisp/todo-write.el" (file-name-directory main)) directory)
    (setq package-lint-main-file main
          ;; Ignore the packages that the user has installed.
          package-user-dir directory
          package-directory-list nil
          package-archives '(("lint" . "")))
    (package-lint-batch-and-exit)))

;;; lint.el ends here
