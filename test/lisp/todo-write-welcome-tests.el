;;; todo-write-welcome-tests.el --- Tests of the empty plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-view-test-helper)
(require 'todo-write-view)

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
      (ignore-error user-error (while t (todo-write-test-press "n")))
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

(ert-deftest todo-write-welcome-says-that-an-agent-has-sent-no-plan-and-what-helps ()
  (todo-write-test-with-view
    (todo-write-begin "a" :agent "claude")
    (todo-write-observe "a" "INTENT" "Rake the path")
    (todo-write-view-refresh)
    (should (equal (seq-take (todo-write-test-seen) 2)
                   '(" This agent has sent no plan." "   Give it the tool todo_write")))
    (goto-char (point-min))
    (todo-write-test-press "n")
    (should (looking-at-p " +Give it the tool"))
    (todo-write-test-press "n")
    (should (looking-at-p " ▸ “Rake the path”"))))

(ert-deftest todo-write-welcome-offers-the-tool-to-no-agent-that-has-it ()
  (dolist (agent '("efrit-do" "gptel"))
    (todo-write-test-with-view
      (todo-write-begin "a" :agent agent)
      (todo-write-observe "a" "INTENT" "Rake the path")
      (todo-write-view-refresh)
      (should (equal " This agent has sent no plan." (car (todo-write-test-seen))))
      (should (string-prefix-p " ▸ “Rake the path”" (cadr (todo-write-test-seen)))))))

(provide 'todo-write-welcome-tests)
;;; todo-write-welcome-tests.el ends here
