;;; todo-write-welcome-tests.el --- Tests of the empty plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-view-test-helper)
(require 'todo-write-welcome)

(ert-deftest todo-write-welcome-keys-step-through-the-buttons-and-push-them ()
  (todo-write-test-with-shapes
    (let ((todo-write-follow-agents nil) pushed)
      (switch-to-buffer (todo-write-show "none"))
      (should (looking-at-p "   Give an agent the tool"))
      (todo-write-test-press "n")
      (should (looking-at-p "   Follow a session"))
      (todo-write-test-press "p")
      (should (looking-at-p "   Give an agent the tool"))
      (should-error (todo-write-test-press "p") :type 'user-error)
      (todo-write-test-press ">")
      (cl-letf (((symbol-function (if (fboundp 'efrit-do-demo) 'efrit-do-demo 'todo-write-follow))
                 (lambda () (interactive) (setq pushed t))))
        (todo-write-test-press "RET"))
      (should pushed))))

(ert-deftest todo-write-welcome-gives-way-to-the-first-write ()
  (todo-write-test-with-shapes
    (let ((todo-write-follow-agents nil))
      (switch-to-buffer (todo-write-show "none"))
      (todo-write-test-press "n")
      (todo-write "none" (todo-write-test-todos "One"))
      (should (equal '(" ○ One") (todo-write-test-seen)))
      (should (bobp))
      (todo-write-test-press "n")
      (should (looking-at-p " ○ One")))))

(provide 'todo-write-welcome-tests)
;;; todo-write-welcome-tests.el ends here
