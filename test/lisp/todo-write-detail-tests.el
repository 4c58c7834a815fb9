;;; todo-write-detail-tests.el --- Tests of open rows and subagents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The details of an open row, the changed words of a text, and the lists of
;; subagents below their tasks.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-view-test-helper)
(require 'todo-write-row)

(ert-deftest todo-write-detail-says-once-when-a-task-was-begun-and-completed ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One" '("Two" "in_progress"))
    (todo-write-test-write "a" '("One" "in_progress") '("Two" "completed"))
    (todo-write-test-write "a" '("One" "completed") '("Two" "in_progress"))
    (todo-write-test-open "One")
    (should (string-match-p "✓ One.*\n     [0-9:]+\\(?:–[0-9:]+\\)?\n ● " (todo-write-test-text)))
    ;; What is out of order stays.
    (todo-write-test-open "Two")
    (should (string-match-p "^     [0-9:]+  ✓ → ● in progress$" (todo-write-test-text)))))

(ert-deftest todo-write-detail-tells-a-rename-by-both-texts-and-who-did-it ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "Write the old tests")
    (todo-write-edit "a" 'rename (todo-write-test-id "a" "Write the old tests")
                     "Write the new tests")
    (todo-write-test-open "Write the new tests")
    (should (string-search "~ Write the old tests → Write the new tests, by you"
                           (todo-write-test-text)))))

(ert-deftest todo-write-detail-repeats-the-text-only-of-a-row-that-is-cut ()
  (todo-write-test-with-view
    (let ((long (string-join (make-list 30 "words") " ")))
      (todo-write-test-write "a" "Short" long)
      (todo-write-test-open "Short")
      (should-not (string-match-p "^     Short$" (todo-write-test-text)))
      (todo-write-test-open long)
      (should (string-match-p "^ ○ words words [^\n]*…" (todo-write-test-text)))
      (should (string-match-p "^     words words " (todo-write-test-text))))))

(ert-deftest todo-write-detail-tells-moves-drops-and-undo ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One" "Two")
    (todo-write-edit "a" 'move (todo-write-test-id "a" "Two") 0)
    (todo-write-edit "a" 'delete (todo-write-test-id "a" "Two"))
    (todo-write-undo "a")
    (todo-write-test-open "Two")
    (let ((text (todo-write-test-text)))
      (should (string-match-p "↕ moved from 2 to 1, by you" text))
      (should (string-match-p "− deleted, by you" text))
      (should (string-match-p "added ○ pending, undone" text)))))

(ert-deftest todo-write-detail-says-how-a-task-left-its-list ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("Tidy" "completed") "Drop" "Delete" '("Keep" "completed"))
    (todo-write-edit "a" 'delete (todo-write-test-id "a" "Delete"))
    (todo-write-undo "a")
    (todo-write-test-open "Delete")
    (should (string-match-p "− deleted, by you$" (todo-write-test-text)))
    (todo-write-test-open "Delete")
    (todo-write-test-write "a" "Delete" '("Keep" "completed"))
    (todo-write-edit "a" 'restore "t2")
    (todo-write-test-open "Drop")
    (should (string-match-p "− dropped$" (todo-write-test-text)))
    (todo-write-test-open "Drop")
    (goto-char (point-min))
    (search-forward "1 clea")
    (todo-write-test-press "RET")
    (search-forward "✓ Tidy")
    (todo-write-test-press "RET")
    (should (string-match-p "− cleared$" (todo-write-test-text)))
    (todo-write-edit "a" 'delete "t2")
    (todo-write-test-write "a" "A new list")
    (todo-write-view-refresh)
    (goto-char (point-min))
    (search-forward "▸ ")
    (todo-write-test-press "RET")
    (let ((text (buffer-substring-no-properties (point) (point-max))))
      (should (string-match-p "✗ Delete + replaced$" text))
      (should-not (string-match-p "dropped" text)))))

(ert-deftest todo-write-detail-shows-what-the-agent-thought-and-did-during-the-task ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("One" "in_progress") "Two")
    (todo-write-stream "a" :type "TOKEN" :data "First " :thinking t)
    (todo-write-stream "a" :type "TOKEN" :data "look." :thinking t)
    (todo-write-stream "a" :type "END")
    (todo-write-observe "a" "TOOL_CALL" '(:id "c" :name "shell" :input "make test"))
    (todo-write-observe "a" "TOOL_EXECUTION"
                        '(:id "c" :name "shell" :content "2 failed" :isError t)
                        :durationMs 1500)
    (todo-write-test-write "a" '("One" "completed") '("Two" "in_progress"))
    (todo-write-observe "a" "TOOL_CALL" '(:id "d" :name "later" :input ""))
    (todo-write-test-open "One")
    (let ((text (todo-write-test-text)))
      (should (string-match-p
               "∴ First look\\.\n.*✗ make test +1 s   2 failed\n" text))
      (should-not (string-match-p "later" text)))))

(ert-deftest todo-write-detail-of-an-open-row-is-live ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("One" "in_progress"))
    (todo-write-test-open "One")
    (todo-write-observe "a" "TOOL_CALL" '(:id "c" :name "grep" :input "callers"))
    (todo-write-test-wait
     (lambda () (string-match-p "▸ grep callers" (todo-write-test-text))))))

(ert-deftest todo-write-detail-breaks-text-without-spaces-at-the-width ()
  (todo-write-test-with-view
    (let ((todo-write-view-max-width 40)
          (long (make-string 300 ?x)))
      (todo-write-test-write "a" (list long "pending" long))
      (todo-write-view-refresh)
      (todo-write-test-open long)
      (dolist (line (split-string (todo-write-test-text) "\n"))
        (should (<= (string-width line) 40)))
      (should (= 300 (cl-count ?x (replace-regexp-in-string
                                   "\\`.*\n.*\n" "" (todo-write-test-text))))))))

(ert-deftest todo-write-detail-fills-text-whose-indentation-is-wider-than-the-window ()
  (let ((move (symbol-function 'move-to-column)) (moves 0))
    (cl-letf (((symbol-function 'move-to-column)
               (lambda (&rest args)
                 (should (< (cl-incf moves) 100))
                 (apply move args))))
      (with-temp-buffer
        (todo-write-detail-insert-filled "Some words of an agent" 15 35)
        (should (equal (split-string (buffer-string))
                       '("Some" "words" "of" "an" "agent")))))))

(ert-deftest todo-write-view-is-whole-again-after-a-row-could-not-be-drawn ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One" "Two")
    (todo-write-test-warnings
      (cl-letf (((symbol-function 'todo-write-row-insert) (lambda (&rest _) (error "Oops"))))
        (todo-write-test-write "a" '("One" "completed") "Two" "Three")))
    (todo-write-test-write "a" '("One" "completed") '("Two" "completed") "Three")
    (should (equal (todo-write-test-seen) '(" ✓ One" " ✓ Two" " ○ Three")))))

(ert-deftest todo-write-view-folds-of-rows-survive-updates-in-two-windows ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One" "Two" "Three")
    (todo-write-test-open "Two")
    (let ((other (split-window-below)))
      (set-window-buffer other (current-buffer))
      (set-window-point other (save-excursion (goto-char (point-min))
                                              (search-forward "Thr")
                                              (point)))
      (todo-write-test-write "a" "New" "One" '("Two" "completed") "Three")
      (should (member (todo-write-test-id "a" "Two") todo-write-view-rows-open))
      (should (string-match-p "✓ Two *\n     added [0-9:]+, completed" (todo-write-test-text)))
      (should (looking-at-p " ✓ Two"))
      (should (save-excursion (goto-char (window-point other)) (looking-at-p "ee"))))))

;;; Subagents

(defun todo-write-detail-tests--child ()
  "Let an agent \"sub\" work for the first task of \"a\"."
  (todo-write-begin "sub" :parent "a" :parent-item (todo-write-test-id "a" "One"))
  (todo-write-observe "sub" "TITLE" "Search")
  (todo-write-test-write "sub" '("Grep" "in_progress" "Grepping") "Read"))

(ert-deftest todo-write-view-shows-a-subagents-list-below-its-task-live ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("One" "in_progress") "Two")
    (todo-write-detail-tests--child)
    (should (equal (mapcar #'string-trim-right (todo-write-test-seen))
                   '(" ● Doing: One"
                     "    ↳ Search                                                                0/2"
                     "     ● Grepping" "     ○ Read" " ○ Two")))
    (todo-write-test-write "sub" '("Grep" "completed") '("Read" "in_progress"))
    (should (string-match-p "     ✓ Grep.*\n     ● Doing: Read" (todo-write-test-text)))
    (todo-write-pause "sub" "stopped")
    (should (string-match-p "↳ Search +‖ paused 1/2\n" (todo-write-test-text)))))

(ert-deftest todo-write-view-leaves-a-line-of-a-subagent-that-is-done ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("One" "in_progress"))
    (todo-write-detail-tests--child)
    (todo-write-test-write "sub" '("Grep" "completed"))
    (should (string-match-p "↳ Search +✓ done 1/1\n\\'" (todo-write-test-text)))
    (todo-write-test-open "One")
    (should (string-match-p "✓ Grep" (todo-write-test-text)))))

(ert-deftest todo-write-view-keeps-a-subagents-list-when-its-task-goes-and-comes-back ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("One" "in_progress") "Two")
    (todo-write-detail-tests--child)
    (todo-write-edit "a" 'delete (todo-write-test-id "a" "One"))
    (should (string-match-p "○ Two\n    ↳ Search" (todo-write-test-text)))
    (todo-write-undo "a")
    (should (string-match-p "● Doing: One.*\n    ↳ Search" (todo-write-test-text)))))

(ert-deftest todo-write-view-shows-subagents-of-subagents ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("One" "in_progress"))
    (todo-write-detail-tests--child)
    (todo-write-begin "deep" :parent "sub" :parent-item (todo-write-test-id "sub" "Grep"))
    (todo-write-test-write "deep" '("Dig" "in_progress" "Digging"))
    (should (string-match-p "● Grepping.*\n        ↳ deep.*\n         ● Digging"
                            (todo-write-test-text)))
    (todo-write-test-write "deep" '("Dig" "completed"))
    (should (string-match-p "↳ deep +✓ done 1/1" (todo-write-test-text)))))

(ert-deftest todo-write-view-ret-on-a-subagents-line-shows-its-plan-and-^-goes-back ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("One" "in_progress") "Two")
    (todo-write-detail-tests--child)
    (todo-write-redraw)
    (goto-char (point-min))
    (search-forward "Search")
    (todo-write-test-press "RET")
    (should (equal todo-write-view-thread "sub"))
    (todo-write-test-press "? ^")
    (should (equal todo-write-view-thread "a"))
    (should (looking-at-p " ● Doing: One"))
    (should-error (todo-write-test-press "? ^") :type 'user-error)))

(ert-deftest todo-write-view-^-without-a-plan-says-that-there-is-no-parent ()
  (todo-write-test-with-shapes
    (with-current-buffer (todo-write-show)
      (should-error (todo-write-test-press "? ^") :type 'user-error))))

(ert-deftest todo-write-view-^-goes-to-the-task-of-the-parent-from-a-renamed-buffer ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "Zero" '("One" "in_progress") "Two")
    (todo-write-detail-tests--child)
    (todo-write-view--show-thread "sub")
    (rename-buffer "sub's plan")
    (unwind-protect
        (progn (todo-write-test-press "? ^")
               (should (equal (buffer-name (window-buffer)) todo-write-view-buffer-name))
               (with-current-buffer (window-buffer)
                 (should (looking-at-p " ● Doing: One"))))
      (kill-buffer "sub's plan"))))

(ert-deftest todo-write-view-shows-a-subagent-without-a-task-below-the-rows ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One")
    (todo-write-begin "sub" :parent "a")
    (todo-write-test-write "sub" "Grep")
    (should (string-match-p "○ One\n    ↳ sub +0/1\n     ○ Grep\n\\'"
                            (todo-write-test-text)))
    (todo-write-forget "sub")
    (should-not (string-match-p "sub" (todo-write-test-text)))))

(provide 'todo-write-detail-tests)
;;; todo-write-detail-tests.el ends here
