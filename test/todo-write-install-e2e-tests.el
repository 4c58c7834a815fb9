;;; todo-write-install-e2e-tests.el --- Install it in an empty home  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Each way to install the package that needs no more than cargo and git, tried
;; as todo-write-install-helper.el tells.

;;; Code:

(require 'ert)
(require 'todo-write-install-helper)

(defun todo-write-install-tests--try (name)
  "Try the way NAME; fail unless a module built on the way answers."
  (let ((way (todo-write-install-way-named name)))
    (dolist (program '("git" "make" "cargo"))
      (unless (executable-find program)
        (ert-skip (format "no %s" program))))
    (let* ((tried (todo-write-install-try way))
           (home (plist-get tried :home)))
      (dolist (session (list (plist-get tried :first) (plist-get tried :second)))
        (should-not (plist-get session :error))
        (should (equal (plist-get session :result)
                       "1/2 tasks completed. Current: Changing it."))
        (should (string-search "● Changing it" (plist-get session :plan)))
        ;; What else the init file may call is there where autoloads are.
        (should (= (length (plist-get session :commands))
                   (if (equal name "A checkout, without make") 0 2)))
        (should (string-prefix-p home (plist-get session :module))))
      (should (eq (not (todo-write-install-way-built way))
                  (and (todo-write-install-question (plist-get tried :first)) t)))
      (should-not (todo-write-install-question (plist-get tried :second)))
      tried)))

(ert-deftest todo-write-installs-from-a-checkout ()
  (todo-write-install-tests--try "A checkout"))

(ert-deftest todo-write-installs-from-a-checkout-without-make ()
  (let ((tried (todo-write-install-tests--try "A checkout, without make")))
    (should (string-match-p "Compiling todo-write v.*\n +Finished"
                            (plist-get (plist-get tried :first) :cargo)))))

(ert-deftest todo-write-installs-by-make ()
  (todo-write-install-tests--try "make install"))

(ert-deftest todo-write-installs-from-a-package-file ()
  (todo-write-install-tests--try "package-install-file"))

;; Older ones have no such way, or want more for it.
(unless (version< emacs-version "30.1")
  (ert-deftest todo-write-installs-by-package-vc ()
    (todo-write-install-tests--try "package-vc-install"))

  (ert-deftest todo-write-installs-by-use-package ()
    (todo-write-install-tests--try "use-package :vc")))

(provide 'todo-write-install-e2e-tests)
;;; todo-write-install-e2e-tests.el ends here
