;;; todo-write-org-tests.el --- Tests of check lists and timelines  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Plans as Org and Markdown, and timelines.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-view-test-helper)
(require 'todo-write-history)
(require 'todo-write-visit)

(defmacro todo-write-org-tests--with-plan (&rest body)
  "Run BODY in a live buffer of a plan of three tasks."
  (declare (indent 0) (debug t))
  `(todo-write-test-with-view
     (todo-write-observe "a" "TITLE" "Login")
     (todo-write-test-write "a" '("Read" "completed") '("Change | it" "in_progress") "Test")
     ,@body))

(ert-deftest todo-write-copy-makes-a-check-list-in-markdown-and-with-a-prefix-in-org ()
  (todo-write-org-tests--with-plan
    (todo-write-test-press "w")
    (should (equal (current-kill 0) "- [x] Read\n- [ ] Change | it\n- [ ] Test\n"))
    (let ((current-prefix-arg '(4)))
      (todo-write-test-press "w"))
    (should (equal (current-kill 0) "- [X] Read\n- [-] Change | it\n- [ ] Test\n"))))

(ert-deftest todo-write-copy-counts-one-task-as-one ()
  (todo-write-with-store
    (let (said (kill-ring nil) (interprogram-cut-function nil))
      (cl-letf (((symbol-function 'message)
                 (lambda (format &rest args) (setq said (apply #'format format args)))))
        (todo-write-test-write "a" "One")
        (todo-write-copy "a" 'org)
        (should (equal said "Copied 1 task as Org"))
        (todo-write-test-write "a" "One" "Two")
        (todo-write-copy "a" 'markdown)
        (should (equal said "Copied 2 tasks as Markdown"))))))

(ert-deftest todo-write-copy-shows-invisible-characters-as-escapes ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "x\u202ey")
    (should (equal (todo-write-check-list "a" 'markdown) "- [ ] x\\u202ey\n"))))

(defconst todo-write-org-tests--marked
  '(("Return Promise<T> to <b>" . "Return Promise&lt;T> to &lt;b>")
    ("Use <Navigate to=\"/\" />" . "Use &lt;Navigate to=\"/\" />")
    ("Run `make` **now**, snake_case" . "Run \\`make\\` \\*\\*now\\*\\*, snake\\_case")
    ("Drop &amp; and ~~x~~, [a](b), a < b && c"
     . "Drop &amp;amp; and \\~\\~x\\~\\~, \\[a\\](b), a < b && c")
    ("Match C:\\new and \\*\\" . "Match C:\\new and \\\\\\*\\\\")
    ("See https://a.example/x_y_z?a=1&lt=2" . "See https://a.example/x_y_z?a=1&lt=2"))
  "Tasks, and how they are written in Markdown.")

(ert-deftest todo-write-copy-writes-tasks-so-that-markdown-shows-their-characters ()
  (todo-write-with-store
    (apply #'todo-write-test-write "a" (mapcar #'car todo-write-org-tests--marked))
    (should (equal (split-string (todo-write-check-list "a" 'markdown) "\n" t)
                   (mapcar (lambda (pair) (concat "- [ ] " (cdr pair)))
                           todo-write-org-tests--marked)))))

(ert-deftest todo-write-code-in-markdown-keeps-backquotes ()
  (pcase-dolist (`(,text . ,code) '(("a" . "`a`") ("`a`" . "`` `a` ``") ("a``b" . "``` a``b ```")))
    (should (equal code (todo-write-text-markdown-code text)))))

(ert-deftest todo-write-copy-loads-org-only-when-asked ()
  (should (equal "nil" (todo-write-test-child
                        '(progn (require 'todo-write-view)
                                (require 'todo-write-visit)
                                (prin1 (format "%s" (featurep 'ol))))))))

;;; Timelines

(defmacro todo-write-org-tests--with-times (&rest body)
  "Run BODY in a live buffer whose tasks were in progress at known times."
  (declare (indent 0) (debug t))
  `(cl-letf (((symbol-function 'todo-write-times)
              (lambda (_thread &optional id)
                (and id
                     (pcase id
                       ("t1" '(:spent 40000 :running nil :intervals ((0 . 20000) (60000 . 80000))))
                       ("t2" '(:spent 20000 :running nil :intervals ((20000 . 40000))))
                       (_ '(:spent 0 :running nil :intervals nil)))))))
     (todo-write-org-tests--with-plan ,@body)))

(ert-deftest todo-write-timeline-shows-each-interval-as-text-in-a-terminal ()
  (todo-write-org-tests--with-times
    (let* ((rows (todo-write-history--rows "a"))
           (span (todo-write-history--span rows)))
      (should (equal span '(0 . 80000)))
      (should (equal (mapcar (lambda (row)
                               (substring-no-properties (todo-write-history--bar row span 8)))
                             rows)
                     '("━━····━━" "··━━····")))
      (with-current-buffer (todo-write-timeline "a")
        (should (string-match-p "✓ Read +[━·]+ +0:40$" (todo-write-test-text)))
        (should-not (string-match-p "Test" (todo-write-test-text)))
        (goto-char (point-min))
        (search-forward "Change")
        (todo-write-test-press "RET")
        (with-current-buffer (window-buffer)
          (should (equal todo-write-view-thread "a"))
          (should (looking-at-p " . Doing: Change")))
        (kill-buffer "*todo-write-timeline*")))))

(defun todo-write-org-tests--shapes ()
  "Return the shape and the first word of each row of the timeline of \"a\"."
  (mapcar (lambda (row)
            (list (plist-get row :kind)
                  (car (split-string (plist-get (plist-get row :item) :content)))))
          (todo-write-history--rows "a")))

(defun todo-write-org-tests--wait-a-moment ()
  "Wait until the clock of the store has advanced."
  (let ((start (floor (* 1000 (float-time)))))
    (todo-write-test-wait (lambda () (< (1+ start) (floor (* 1000 (float-time))))))))

(ert-deftest todo-write-timeline-shows-tasks-that-left-the-list ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("Dropped later" "in_progress") "Never begun" "Kept on")
    (todo-write-org-tests--wait-a-moment)
    (todo-write-test-write "a" '("Dropped later" "pending") '("Done and cleared" "in_progress")
                           "Never begun" "Kept on")
    (todo-write-org-tests--wait-a-moment)
    (todo-write-test-write "a" '("Dropped later" "pending") '("Done and cleared" "completed")
                           '("Kept on" "in_progress"))
    (todo-write-org-tests--wait-a-moment)
    (todo-write-test-write "a" '("Kept on" "in_progress"))
    (should (equal (todo-write-org-tests--shapes)
                   '((removed "Dropped") (completed "Done") (in_progress "Kept"))))
    (with-current-buffer (todo-write-timeline "a")
      (should (string-match-p "^ ✗ Dropped later +[━·]+ +[0-9:]+$" (todo-write-test-text)))
      (kill-buffer))
    ;; A restored task is in the list again, and shown once.
    (todo-write-undo "a")
    (should (equal (todo-write-org-tests--shapes)
                   '((pending "Dropped") (completed "Done") (in_progress "Kept"))))))

(ert-deftest todo-write-timeline-says-the-day ()
  (let* ((day 1779450000000)
         (rows (list (list :intervals `((,day . ,(+ day 1200000))))
                     (list :intervals `((,(+ day 30000000) . ,(+ day 31200000)))))))
    (dolist (columns '(20 40 60 120))
      (let ((scale (todo-write-history--scale (todo-write-history--span rows) columns)))
        (should (string-match-p "\\`2026-05-22 .* [0-9:]+\\'" scale))
        (should (equal-including-properties scale (substring-no-properties scale)))
        (when (>= columns 40)
          (should (= (string-width scale) columns)))))))

(ert-deftest todo-write-timeline-leads-to-tasks-that-left-the-list ()
  (todo-write-test-with-view
    (todo-write "a" (todo-write-test-todos '("Old" "in_progress") '("Gone" "in_progress")))
    (todo-write-org-tests--wait-a-moment)
    (todo-write "a" (todo-write-test-todos '("Old" "completed")))
    (todo-write "a" (todo-write-test-todos '("New" "in_progress") '("Drop" "in_progress")))
    (todo-write-org-tests--wait-a-moment)
    (todo-write "a" (todo-write-test-todos '("New" "in_progress")))
    (todo-write "a" (todo-write-test-todos '("New" "completed") "Next"))
    (save-window-excursion
      (pcase-dolist (`(,task ,mode ,shown)
                     '(("New" todo-write-view-mode " . New")
                       ("Drop" todo-write-view-mode "     . Drop")
                       ("Old" todo-write-history-mode ".*New")
                       ("Gone" todo-write-history-mode ".*✓ Old")))
        (ert-info (task :prefix "Task: ")
          (with-current-buffer (todo-write-timeline "a")
            (goto-char (point-min))
            (search-forward task)
            (todo-write-buffer-visit))
          (set-buffer (window-buffer))
          (should (eq major-mode mode))
          (should (string-match-p
                   (concat "^" shown)
                   (buffer-substring (point) (line-end-position)))))))))

(ert-deftest todo-write-timeline-without-a-started-task-says-so ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One")
    (with-current-buffer (todo-write-timeline "a")
      (should (string-match-p "No task has started yet" (todo-write-test-text)))
      (kill-buffer))))

(provide 'todo-write-org-tests)
;;; todo-write-org-tests.el ends here
