;;; todo-write-footer-tests.el --- Tests of the last line of a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'ert)
(require 'todo-write-view-test-helper)

(defun todo-write-footer-tests--edit (path)
  "Report that the agent of the thread \"a\" changed PATH."
  (todo-write-observe "a" "TOOL_EXECUTION" '(:name "Edit") :outcome 'ok
                      :files `((:path ,path :oldText "a\n" :newText "b\nc\n"))))

(defun todo-write-footer-tests--last-lines (count)
  "Return the last COUNT lines of the buffer."
  (last (split-string (todo-write-test-text) "\n" t) count))

(defmacro todo-write-footer-tests--with-session (&rest body)
  "Run BODY with a view of a session that had two lists, dropped a task, and worked."
  (declare (indent 0) (debug t))
  `(todo-write-test-with-view
     (todo-write-begin "a" :project "/p/")
     (todo-write-footer-tests--edit "/p/before")
     (todo-write-test-write "a" '("Old one" "in_progress") "Old two")
     (todo-write-footer-tests--edit "/p/f")
     (todo-write-test-write "a" '("Old one" "completed") '("Old two" "in_progress"))
     (todo-write-test-write "a" '("Fresh ideas" "in_progress") "Drop me" "Last")
     (todo-write-test-write "a" '("Fresh ideas" "in_progress") "Last")
     (todo-write-test-write "a" '("Fresh ideas" "completed") "Last")
     (todo-write-view-refresh)
     (set-window-point nil (point))
     ,@body))

(ert-deftest todo-write-footer-counts-what-the-rows-do-not-show ()
  (todo-write-footer-tests--with-session
    (should (equal (todo-write-footer-tests--last-lines 1)
                   '(" 1 dropped · 1 earlier list · outside any task: 1 file +2 −1")))))

(ert-deftest todo-write-footer-is-not-there-without-anything-to-count ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("One" "completed") "Two")
    (should (string-match-p "\\` ○ Two" (car (todo-write-footer-tests--last-lines 1))))))

(ert-deftest todo-write-footer-parts-are-stops-and-open-in-place ()
  (todo-write-footer-tests--with-session
    (todo-write-test-press ">")
    (should (looking-at-p "outside any task"))
    (todo-write-test-press "p")
    (should (looking-at-p "1 earlier list"))
    (todo-write-test-press "p")
    (should (looking-at-p " 1 dropped"))
    (todo-write-test-press "RET")
    (should (string-match-p "\\`   ✗ Drop me" (car (todo-write-footer-tests--last-lines 1))))
    (todo-write-test-press "TAB")
    (todo-write-test-press "n")
    (todo-write-test-press "RET")
    (should (string-match-p "\\`   ▸ Old one +\\+2 −1  [0-9:]+–[0-9:]+  1/2\\'"
                            (car (todo-write-footer-tests--last-lines 1))))
    (should (looking-at-p "1 earlier list"))))

(ert-deftest todo-write-footer-opens-an-earlier-list-with-its-times-and-work ()
  (todo-write-footer-tests--with-session
    (search-forward "1 earlier")
    (todo-write-test-press "RET")
    (search-forward "▸ Old one")
    (todo-write-test-press "TAB")
    (let ((lines (todo-write-footer-tests--last-lines 3)))
      (should (string-match-p "▾ Old one" (nth 0 lines)))
      (should (string-match-p "\\`     ✓ Old one +\\+2 −1" (nth 1 lines)))
      (should (string-match-p "\\`     ✗ Old two" (nth 2 lines))))
    (todo-write-test-press "n")
    (todo-write-test-press "RET")
    (should (string-match-p "^     f  \\+2 −1$" (todo-write-test-text)))
    (should (looking-at-p "     ✓ Old one"))
    (should-error (todo-write-test-press "e") :type 'user-error)
    (todo-write-test-press "=")
    (with-current-buffer "*todo-write-diff*"
      (should (string-match-p "^\\+\\+\\+ b/f$" (buffer-string)))
      (should-not (string-match-p "b/before" (buffer-string))))))

(ert-deftest todo-write-footer-keeps-completed-tasks-that-the-agent-takes-off-the-list ()
  (todo-write-test-with-view
    (todo-write-begin "a" :project "/p/")
    (todo-write-test-write "a" '("Measure" "in_progress") "Saw" "Lint")
    (todo-write-footer-tests--edit "/p/f")
    (todo-write-test-write "a" '("Measure" "completed") '("Saw" "completed") "Lint")
    (todo-write-test-write "a" '("Saw" "completed") "Lint")
    (todo-write-test-write "a")
    (todo-write-view-refresh)
    (should (equal (todo-write-footer-tests--last-lines 2)
                   '(" The list is empty." " 2 cleared")))
    (should (string-match-p "✗ Lint" (todo-write-test-text)))
    (search-forward "2 clea")
    (todo-write-test-press "RET")
    (let ((lines (todo-write-footer-tests--last-lines 2)))
      (should (string-match-p "\\`     ✓ Measure +\\+2 −1" (nth 0 lines)))
      (should (string-match-p "\\`     ✓ Saw" (nth 1 lines))))
    (search-forward "✓ Measure")
    (todo-write-test-press "RET")
    (should (string-match-p "^     f  \\+2 −1$" (todo-write-test-text)))
    ;; They stay with their list when the next one comes.
    (todo-write-test-write "a" "Varnish")
    (todo-write-view-refresh)
    (should (equal (todo-write-footer-tests--last-lines 1) '(" 1 earlier list")))
    (goto-char (point-min))
    (search-forward "1 earlier")
    (todo-write-test-press "RET")
    (should (string-match-p "\\`   ▸ Measure +\\+2 −1  .* 2/3\\'"
                            (car (todo-write-footer-tests--last-lines 1))))
    (todo-write-view-toggle-all)
    (todo-write-view-toggle-all)
    (should (string-match-p "✓ Measure.*\n\\(?:.*\n\\)*.*✓ Saw" (todo-write-test-text)))))

(ert-deftest todo-write-footer-adds-up-the-lines-of-a-list-whose-tasks-overlapped ()
  (todo-write-test-with-view
    (todo-write-begin "a" :project "/p/")
    (todo-write-test-write "a" '("Alone" "in_progress") "Left" "Right")
    (todo-write-footer-tests--edit "/p/f")
    (todo-write-test-write "a" '("Alone" "completed") '("Left" "in_progress")
                           '("Right" "in_progress"))
    (todo-write-footer-tests--edit "/p/g")
    (todo-write-test-write "a" '("Next" "in_progress"))
    (todo-write-footer-tests--edit "/p/h")
    (todo-write-view-refresh)
    (goto-char (point-min))
    (search-forward "1 earlier")
    (todo-write-test-press "RET")
    (should (string-match-p "\\`   ▸ Alone +\\+4 −2  "
                            (car (todo-write-footer-tests--last-lines 1))))))

(ert-deftest todo-write-footer-opens-the-story-outside-any-task ()
  (todo-write-footer-tests--with-session
    (search-forward "outside any")
    (todo-write-test-press "RET")
    (should (string-match-p "^     before  \\+2 −1$" (todo-write-test-text)))
    (todo-write-test-press "=")
    (with-current-buffer "*todo-write-diff*"
      (should (string-match-p "^\\+\\+\\+ b/before$" (buffer-string)))
      (should-not (string-match-p "b/f$" (buffer-string))))))

(ert-deftest todo-write-footer-pairs-calls-outside-any-task-with-their-results ()
  (todo-write-test-with-view
    (todo-write-observe "a" "TOOL_CALL" '(:id "c" :name "Bash" :input (:command "make"))
                        :call-id "c")
    (todo-write-observe "a" "TOOL_EXECUTION" '(:id "c" :name "Bash" :content "fine")
                        :call-id "c" :outcome 'ok :exit-code 0)
    (todo-write-test-write "a" "One")
    (todo-write-test-wait (lambda () (string-search "outside any" (todo-write-test-text))))
    (search-forward "outside any")
    (todo-write-test-press "RET")
    (should (string-match-p "✓ make$" (todo-write-test-text)))))

(ert-deftest todo-write-footer-keeps-point-while-it-changes ()
  (todo-write-footer-tests--with-session
    (search-forward "outside any")
    (todo-write-test-press "RET")
    (todo-write-observe "a" "MESSAGE" "Said outside.")
    (todo-write-test-wait (lambda () (string-search "  “Said" (todo-write-test-text))))
    (goto-char (point-max))
    (search-backward "“Said")
    (dotimes (n 3)
      (todo-write-observe "a" "MESSAGE" (format "More %d." n)))
    (todo-write-test-write "a" "Before" '("Fresh ideas" "completed") "Last")
    (todo-write-test-wait (lambda () (string-search "  “More 2" (todo-write-test-text))))
    (should (looking-at-p "“Said outside"))))

(ert-deftest todo-write-footer-fits-narrow-windows ()
  (todo-write-footer-tests--with-session
    (let ((todo-write-view-max-width 42))
      (todo-write-view-toggle-all)
      (todo-write-view-refresh)
      (dolist (line (split-string (todo-write-test-text) "\n"))
        (should (<= (string-width line) 42)))
      (should (string-search "Fresh ideas" (todo-write-test-text))))))

(ert-deftest todo-write-revisions-say-where-a-new-list-begins ()
  (todo-write-footer-tests--with-session
    (should (equal (mapcar (lambda (revision) (plist-get revision :replaces))
                           (todo-write-revisions "a"))
                   '(nil nil t nil nil)))
    (todo-write-test-write "a")
    (todo-write-test-write "a" "Third list")
    (should (equal (todo-write-plan-earlier-lists "a") '((1 . 2) (3 . 5))))))

(provide 'todo-write-footer-tests)
;;; todo-write-footer-tests.el ends here
