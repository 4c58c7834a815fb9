;;; todo-write-footer-tests.el --- Tests of what is below the rows of a plan  -*- lexical-binding: t; -*-

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
    (let ((lines (todo-write-footer-tests--last-lines 2)))
      (should (equal (nth 0 lines) " 1 dropped"))
      (should (string-match-p "\\` ▸ Before the first prompt +[0-9:]+\\(?:–[0-9:]+\\)?  2/3  \\+4 −2\\'"
                              (nth 1 lines))))))

(ert-deftest todo-write-footer-is-not-there-without-anything-to-count ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("One" "completed") "Two")
    (should (string-match-p "\\` ○ Two" (car (todo-write-footer-tests--last-lines 1))))))

(ert-deftest todo-write-footer-parts-are-stops-and-open-in-place ()
  (todo-write-footer-tests--with-session
    (goto-char (point-max))
    (todo-write-test-press "p")
    (should (looking-at-p " ▸ Before"))
    (todo-write-test-press "p")
    (should (looking-at-p " 1 dropped"))
    (todo-write-test-press "RET")
    (should (string-match-p "\\`     ✗ Drop me" (car (todo-write-footer-tests--last-lines 2))))
    (todo-write-test-press "TAB")
    (todo-write-test-press "n")
    (should (looking-at-p " ▸ Before"))
    (todo-write-test-press "RET")
    (should (looking-at-p " ▾ Before"))
    (should (string-match-p "Old one" (todo-write-test-text)))
    (todo-write-test-press "TAB")
    (should-not (string-match-p "Old one" (todo-write-test-text)))))

(ert-deftest todo-write-footer-opens-a-turn-with-its-work-and-tasks-in-time ()
  (todo-write-footer-tests--with-session
    (search-forward "▸ Before")
    (todo-write-test-press "RET")
    (let ((text (todo-write-test-text)))
      (dolist (line '("✎ before +\\+2 −1" "● Old one" "✎ f +\\+2 −1" "✓ Old one +\\+2 −1"
                      "● Old two" "✗ Old two +replaced" "● Fresh ideas" "✓ Fresh ideas"))
        (should (string-match-p (concat "^     [0-9:]+  " line "$") text)))
      ;; They stand in time.
      (should (string-match-p "● Old one\\(?:.*\n\\)+.*✓ Old one\\(?:.*\n\\)+.*✗ Old two" text)))
    (search-forward "✓ Old one")
    (should-error (todo-write-test-press "e") :type 'user-error)
    (todo-write-test-press "RET")
    (should (string-match-p "^     f  \\+2 −1$" (todo-write-test-text)))
    ;; In the turn, the same file is another place.
    (should-not (equal (get-text-property (re-search-forward "^     f ") 'todo-write-key)
                       (save-excursion
                         (get-text-property (re-search-backward "^     f " nil nil 2)
                                            'todo-write-key))))
    (todo-write-test-press "=")
    (with-current-buffer "*todo-write-diff*"
      (should (string-match-p "^\\+\\+\\+ b/f$" (buffer-string)))
      (should-not (string-match-p "b/before" (buffer-string))))))

(ert-deftest todo-write-footer-opens-a-turn-with-all-of-its-prompt-if-its-heading-has-less ()
  (todo-write-test-with-view
    (dolist (prompt (list "Go on" "Sort the shed.\nAll of it, please." (string-join (make-list 30 "again") " ")))
      (todo-write-observe "a" "INTENT" prompt)
      (todo-write-observe "a" "MESSAGE" "Very well.")
      (todo-write-end-turn "a"))
    (todo-write-view-refresh)
    (dolist (case '(("▸ “again" "^     [0-9:]+  “again again" "\\(^ \\{14\\}\\(again ?\\)+\n\\)\\{2,\\}")
                    ("▸ “Sort" "^     [0-9:]+  “Sort the shed" "^ \\{14\\}All of it, please\\.$")))
      (pcase-let ((`(,heading ,line ,whole) case))
        (goto-char (point-min))
        (search-forward heading)
        (todo-write-test-press "RET")
        (re-search-forward line)
        (todo-write-test-press "TAB")
        (should (string-match-p whole (todo-write-test-text)))))
    (goto-char (point-min))
    (search-forward "▸ “Go on")
    (todo-write-test-press "RET")
    (should-not (string-match-p "^     [0-9:]+  “Go on”" (todo-write-test-text)))))

(ert-deftest todo-write-footer-tab-on-a-file-closes-its-turn-and-goes-to-the-heading ()
  (todo-write-test-with-view
    (todo-write-begin "a" :project "/p/")
    (dolist (prompt '("First" "Second" "Third"))
      (todo-write-observe "a" "INTENT" prompt)
      (todo-write-footer-tests--edit "/p/f"))
    (todo-write-set-activity "a" 'working)
    (todo-write-view-refresh)
    ;; The turn that runs is open by itself.
    (dolist (heading '("“Third" "“First"))
      (goto-char (point-min))
      (search-forward heading)
      (unless (equal heading "“Third") (todo-write-test-press "RET"))
      (todo-write-test-press "n")
      (should (looking-at-p " *f  "))
      (todo-write-test-press "TAB")
      (should (looking-at-p (concat " ▸ " heading))))))

(ert-deftest todo-write-footer-says-nothing-of-a-task-that-only-moved ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("One" "in_progress") "Two" "Three")
    (todo-write-test-observe "a" "INTENT" "Go on")
    (todo-write-test-write "a" '("One" "completed") "Three" "Two")
    (should (member (list 'completed "One")
                    (mapcar (lambda (entry)
                              (list (intern (plist-get entry :shape))
                                    (todo-write-story-line entry nil)))
                            (todo-write-story-tasks "a" 2))))
    (should (= 1 (length (todo-write-story-tasks "a" 2))))))

(ert-deftest todo-write-footer-shows-the-prompts-newest-first ()
  (todo-write-test-with-view
    (todo-write-begin "a" :project "/p/")
    (todo-write-observe "a" "INTENT" "Sort the shed.\nAll of it, please.")
    (todo-write-test-write "a" '("Sort" "in_progress"))
    (todo-write-footer-tests--edit "/p/f")
    (todo-write-end-turn "a")
    (todo-write-observe "a" "INTENT" "Go on")
    (todo-write-observe "a" "MESSAGE" "Now the **roof**.")
    (todo-write-observe "a" "TOOL_EXECUTION" '(:name "Bash") :command t :outcome 'failed)
    (todo-write-set-activity "a" nil)
    (todo-write-view-refresh)
    (let ((lines (todo-write-footer-tests--last-lines 2)))
      (should (string-match-p "\\` ▸ “Go on” · Now the roof\\. +[0-9:]+\\(?:–[0-9:]+\\)?  0/1 +✗1\\'"
                              (nth 0 lines)))
      (should (string-match-p "\\` ▸ “Sort the shed\\.” +[0-9:]+\\(?:–[0-9:]+\\)?  0/1  \\+2 −1\\'"
                              (nth 1 lines))))))

(ert-deftest todo-write-footer-opens-the-turn-that-runs-until-it-is-shut ()
  (todo-write-test-with-view
    (todo-write-observe "a" "INTENT" "Rake")
    (todo-write-set-activity "a" 'working)
    (todo-write-observe "a" "MESSAGE" "Raking now.")
    (todo-write-test-wait (lambda () (string-search "  “Raking now" (todo-write-test-text))))
    (should (string-match-p "▾ “Rake” · Raking now\\. +since" (todo-write-test-text)))
    (goto-char (point-min))
    (search-forward "▾ “Rake”")
    (todo-write-test-press "RET")
    (should (string-match-p "▸ “Rake”" (todo-write-test-text)))
    (todo-write-test-press "RET")
    (should (string-match-p "▾ “Rake”" (todo-write-test-text)))
    (goto-char (point-min))
    (todo-write-end-turn "a")
    (should (string-match-p "▸ “Rake”" (todo-write-test-text)))))

(defun todo-write-footer-tests--marker (text)
  "Let the agent say TEXT, and wait until it is drawn."
  (todo-write-observe "a" "MESSAGE" text)
  (todo-write-test-wait (lambda () (string-search text (todo-write-test-text)))))

(defmacro todo-write-footer-tests--with-running-turn (&rest body)
  "Run BODY with a view of a plan whose agent works on the prompt \"Rake\"."
  (declare (indent 0) (debug t))
  `(todo-write-test-with-view
     (todo-write-begin "a" :project "/p/")
     (todo-write-test-write "a" '("Rake" "in_progress"))
     (todo-write-observe "a" "INTENT" "Rake")
     (todo-write-set-activity "a" 'working)
     (todo-write-footer-tests--edit "/p/f")
     (todo-write-footer-tests--marker "Raking now.")
     ,@body))

(defun todo-write-footer-tests--end-turns ()
  "End the turn, and begin two others, of which the second runs."
  (todo-write-end-turn "a")
  (dolist (prompt '("Mow" "Sweep"))
    (todo-write-observe "a" "INTENT" prompt)
    (todo-write-set-activity "a" 'working)
    (todo-write-footer-tests--marker (concat prompt "ing now."))))

(ert-deftest todo-write-footer-a-turn-that-ends-stays-open-while-point-is-in-it ()
  (dolist (text '("▾ “Rake”" "     f " "  “Raking now"))
    (todo-write-footer-tests--with-running-turn
      (goto-char (point-min))
      (search-forward text)
      (set-window-start nil (line-beginning-position))
      (todo-write-footer-tests--end-turns)
      (should (string-search text (buffer-substring (line-beginning-position) (point))))
      (should (= (window-start) (line-beginning-position)))
      (should (string-search "▸ “Mow”" (todo-write-test-text))))))

(ert-deftest todo-write-footer-a-turn-that-ends-stays-open-in-another-window ()
  (todo-write-footer-tests--with-running-turn
    (let ((other (split-window-below)))
      (set-window-buffer other (current-buffer))
      (goto-char (point-min))
      (set-window-point other (save-excursion (search-forward "  “Raking now")))
      (todo-write-footer-tests--end-turns)
      (goto-char (window-point other))
      (should (looking-back "  “Raking now" (line-beginning-position))))))

(ert-deftest todo-write-footer-a-turn-that-ends-stays-open-if-something-in-it-was-opened ()
  (todo-write-footer-tests--with-running-turn
    (goto-char (point-min))
    (search-forward "  “Raking now")
    (todo-write-test-press "TAB")
    (goto-char (point-min))
    (todo-write-footer-tests--end-turns)
    (should (string-search "▾ “Rake”" (todo-write-test-text)))
    (should (string-match-p "^ \\{14\\}Raking now" (todo-write-test-text)))
    (search-forward "▾ “Rake”")
    (todo-write-test-press "RET")
    (should (string-search "▸ “Rake”" (todo-write-test-text)))))

(ert-deftest todo-write-footer-a-turn-that-was-shut-stays-shut-when-it-ends ()
  (todo-write-footer-tests--with-running-turn
    (goto-char (point-min))
    (search-forward "▾ “Rake”")
    (todo-write-test-press "RET")
    (todo-write-footer-tests--end-turns)
    (should (looking-back "▸ “Rake”" (line-beginning-position)))
    (todo-write-test-press "RET")
    (should (string-search "▾ “Rake”" (todo-write-test-text)))))

(ert-deftest todo-write-footer-shows-earlier-prompts-on-demand ()
  (todo-write-test-with-view
    (dotimes (n (+ 3 todo-write-view-rows-most-turns))
      (todo-write-observe "a" "INTENT" (format "Prompt %d" n)))
    (todo-write-view-refresh)
    (should (equal (todo-write-footer-tests--last-lines 1) '(" 3 earlier prompts")))
    (should-not (string-search "Prompt 2”" (todo-write-test-text)))
    (goto-char (point-min))
    (search-forward "3 earlier")
    (todo-write-test-press "RET")
    (should (string-search "“Prompt 0”" (todo-write-test-text)))))

(ert-deftest todo-write-footer-shows-the-prompts-of-an-agent-without-a-plan ()
  (todo-write-test-with-view
    (todo-write-observe "a" "INTENT" "Rake the path")
    (todo-write-footer-tests--edit "/p/f")
    (todo-write-view-refresh)
    (should (string-search "This agent has sent no plan" (todo-write-test-text)))
    ;; The prompt names the session.
    (should (string-prefix-p " Rake the path " (todo-write-test-text)))
    (should (string-match-p "▸ “Rake the path” .*\\+2 −1" (todo-write-test-text)))))

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
    (should (string-match-p "▸ Before the first prompt .* 2/2  \\+2 −1\\'"
                            (car (todo-write-footer-tests--last-lines 1))))
    (setq todo-write-view-rows-open nil)
    (todo-write-buffer-toggle 'all)
    (should (string-match-p "✓ Measure.*\n\\(?:.*\n\\)*.*✓ Saw" (todo-write-test-text)))))

(ert-deftest todo-write-footer-shows-the-changes-of-a-turn ()
  (todo-write-test-with-view
    (todo-write-begin "a" :project "/p/")
    (todo-write-observe "a" "INTENT" "First")
    (todo-write-footer-tests--edit "/p/f")
    (todo-write-observe "a" "INTENT" "Second")
    (todo-write-footer-tests--edit "/p/g")
    (todo-write-view-refresh)
    (goto-char (point-min))
    (search-forward "“First”")
    (todo-write-test-press "=")
    (with-current-buffer "*todo-write-diff*"
      (should (string-match-p "^\\+\\+\\+ b/f$" (buffer-string)))
      (should-not (string-match-p "b/g$" (buffer-string))))))

(ert-deftest todo-write-footer-keeps-point-while-it-changes ()
  (todo-write-footer-tests--with-session
    (search-forward "Before the first")
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

(ert-deftest todo-write-footer-keeps-an-older-prompt-in-place-while-a-newer-one-grows ()
  (todo-write-footer-tests--with-running-turn
    (todo-write-footer-tests--end-turns)
    (dolist (text '(" ▸ “Rake”" " ▸ “Mow”"))
      (goto-char (point-min))
      (search-forward text)
      (set-window-start nil (line-beginning-position))
      (todo-write-footer-tests--edit (concat "/p/" text))
      (todo-write-footer-tests--marker (concat "Behind" text))
      (should (looking-back text (line-beginning-position)))
      (should (= (window-start) (line-beginning-position))))))

(ert-deftest todo-write-footer-fits-narrow-windows ()
  (todo-write-footer-tests--with-session
    (let ((todo-write-view-max-width 42))
      (todo-write-buffer-toggle 'all)
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
    (should (equal (todo-write-core-call todo-write-dyn--earlier-lists "a") '((1 . 2) (3 . 5))))))

(ert-deftest todo-write-footer-a-turn-with-hundreds-of-lists-is-drawn-in-part ()
  (todo-write-with-store
    (todo-write-observe "a" "INTENT" "Look after the garden")
    (cl-flet ((task (list n) (md5 (format "%d %d" list n)))) ; All are new.
      (dotimes (list 300)
        (apply #'todo-write-test-write "a" (list (task list 0) "completed")
               (cl-loop for n from 1 below 10 collect (task list n))))
      (with-temp-buffer
        (todo-write-story-insert "a" '(turn . 1) 80)
        (dolist (text (list "Earlier" (task 299 0) (task 298 9)))
          (should (string-search text (buffer-string)))))
      ;; In their order, although some have the same millisecond.
      (should (equal (cl-loop for list below 300 collect (task list 0))
                     (cl-loop for entry in (todo-write-story-tasks "a" 1)
                              when (equal "completed" (plist-get entry :shape))
                              collect (todo-write-story-line entry nil)))))))

(provide 'todo-write-footer-tests)
;;; todo-write-footer-tests.el ends here
