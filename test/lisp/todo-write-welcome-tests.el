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

(ert-deftest todo-write-welcome-says-why-an-agent-sends-no-plan-and-what-helps ()
  (todo-write-test-with-view
    (todo-write-begin "a" :agent "claude")
    (todo-write-observe "a" "INTENT" "Rake the path")
    (todo-write-observe "a" "USAGE" '(:input 5 :output 5 :model "claude-opus-5-5"))
    (todo-write-view-refresh)
    (should (equal (seq-take (todo-write-test-seen) 2)
                   (list (concat " This agent sends no plan:"
                                 " this model has no plan tool in Claude Code")
                         "   Give it the tool todo_write · Copy the setting for its own")))
    (goto-char (point-min))
    (todo-write-test-press "n")
    (should (looking-at-p " +Give it the tool"))
    (todo-write-test-press "n")
    (should (looking-at-p "Copy the setting"))
    (let (kill-ring)
      (todo-write-test-press "RET")
      (should (equal (current-kill 0) "CLAUDE_CODE_ENABLE_TODO_TOOLS=1")))
    (todo-write-test-press "n")
    (should (looking-at-p " ▸ “Rake the path”"))
    ;; A session that is followed is known by its key.
    (todo-write-observe "codex:1" "INTENT" "Rake the path")
    (todo-write-show "codex:1")
    (should (string-search "newer versions of Codex have their plan tool off"
                           (todo-write-test-text)))))

(ert-deftest todo-write-welcome-offers-the-tool-to-no-agent-that-has-it ()
  (dolist (agent '("efrit-do" "gptel"))
    (todo-write-test-with-view
      (todo-write-begin "a" :agent agent)
      (todo-write-observe "a" "INTENT" "Rake the path")
      (todo-write-view-refresh)
      (should (equal " This agent has sent no plan." (car (todo-write-test-seen))))
      (should (string-prefix-p " ▸ “Rake the path”" (cadr (todo-write-test-seen)))))))

(ert-deftest todo-write-welcome-blames-no-model-that-has-a-plan-tool ()
  (pcase-dolist (`(,agent ,model ,known)
                 '(("claude" "claude-opus-4-7" nil) ("claude" "claude-opus-4-8" t)
                   ("claude" "claude-opus-5-5" t) ("claude" "claude-haiku-4-5-20251001" nil)
                   ("claude" "claude-opus-4-20250514" nil) ("claude" "claude-3-5-haiku-20241022" nil)
                   ("claude" "claude-new-1-0" t) ("claude" nil nil)
                   ("codex" "gpt-5.6" t) ("other" "gpt-5.6" nil) (nil nil nil)))
    (should (eq known (and (todo-write-core-call todo-write-dyn--planless
                               (or agent "") (and model (list model))) t)))))

(provide 'todo-write-welcome-tests)
;;; todo-write-welcome-tests.el ends here
