;;; todo-write-history-tests.el --- Tests of the history buffer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The buffer in which the user steps through a plan's revisions.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-view-test-helper)
(require 'todo-write-history)

(defmacro todo-write-history-tests--with (lists &rest body)
  "Run BODY in the history of the thread \"a\" after writing LISTS."
  (declare (indent 1) (debug t))
  `(todo-write-test-with-shapes
     (dolist (entries ,lists)
       (todo-write "a" (apply #'todo-write-test-todos entries)))
     (unwind-protect
         (with-current-buffer (todo-write-history "a")
           (todo-write-buffer-visit)
           ,@body)
       (kill-buffer "*todo-write-history*")
       (kill-buffer (format "%s history" todo-write-view-buffer-name)))))

(defmacro todo-write-history-tests--with-index (lists &rest body)
  "Run BODY in the index of the revisions of \"a\" after writing LISTS."
  (declare (indent 1) (debug t))
  `(todo-write-history-tests--with ,lists
     (switch-to-buffer (todo-write-history "a"))
     ,@body))

(ert-deftest todo-write-history-is-an-index-with-headings-at-new-lists ()
  (todo-write-history-tests--with-index
      '(("One" "Two") (("One" "completed") "Two") ("Bread" "Milk" "Eggs" "Salt"))
    (todo-write-edit "a" 'rename (todo-write-test-id "a" "Salt") "Pepper")
    (todo-write-test-press "g")
    (let ((clock "[0-9]+:[0-9]+"))
      (should (seq-every-p
               #'identity
               (cl-mapcar #'string-match-p
                          (list (concat "\\` " clock " you 4 ~ Pepper\\'")
                                (concat "\\` " clock " agent 3 \\+ 4 tasks − One − Two\\'")
                                "\\` . a new list began, with 4 tasks\\'"
                                (concat "\\` " clock " agent 2 ✓ One\\'")
                                (concat "\\` " clock " agent 1 \\+ One \\+ Two\\'")
                                "\\` . the plan began\\'")
                          (todo-write-history-tests--lines)))))
    (should (= 6 (length (todo-write-history-tests--lines))))))

(ert-deftest todo-write-search-leads-to-prompts ()
  (todo-write-test-with-view
    (todo-write-observe "a" "INTENT" "Rake the path")
    (todo-write-test-write "a" '("Rake" "in_progress"))
    ;; The second prompt comes later than the first task.
    (todo-write-test-tick)
    (todo-write-observe "a" "INTENT" "Weed the bed")
    (todo-write-test-write "a" '("Rake" "completed") '("Weed" "in_progress"))
    (todo-write-test-observe "a" "MESSAGE" "Pulling thistles")
    (let ((shown-p (lambda (prompt)
                     (with-current-buffer (window-buffer)
                       (and (eq major-mode 'todo-write-view-mode)
                            (string-search prompt (buffer-substring (point)
                                                                    (line-end-position))))))))
      (save-window-excursion
        (with-current-buffer (todo-write-search "path" "a")
          (todo-write-buffer-visit))
        (should (funcall shown-p "Rake the path"))
        (kill-buffer "*todo-write-search*")))))

(ert-deftest todo-write-history-index-shows-a-revision-and-n-and-p-go-on ()
  (todo-write-history-tests--with-index '(("One") ("One" "Two") ("One" "Two" "Three"))
    (todo-write-test-press "n")
    (todo-write-test-press "RET")
    (should (string-suffix-p "revision 2 of 3" (nth 0 (todo-write-history-tests--lines))))
    (todo-write-test-press "n")
    (should (string-suffix-p "revision 1 of 3" (nth 0 (todo-write-history-tests--lines))))
    (should-error (todo-write-test-press "n") :type 'user-error)
    (todo-write-test-press "p")
    (should (string-suffix-p "revision 2 of 3" (nth 0 (todo-write-history-tests--lines))))
    (todo-write-test-press "q")
    (should (eq major-mode 'todo-write-history-index-mode))))

(defun todo-write-history-tests--lines ()
  "Return the lines of the current buffer, runs of spaces as one."
  (mapcar (lambda (line) (replace-regexp-in-string " +" " " line))
          (split-string (todo-write-test-text) "\n" t)))

(defun todo-write-history-tests--rows ()
  "Return the lines below the header."
  (cddr (todo-write-history-tests--lines)))

(ert-deftest todo-write-history-index-stays-where-it-is-in-its-windows ()
  (todo-write-history-tests--with-index
      (mapcar (lambda (number) (list "One" (format "Task %d" number))) (number-sequence 1 60))
    (goto-char (point-min))
    (forward-line 30)
    (set-window-start nil (point))
    (forward-line 4)
    (let ((window (selected-window)) (start (window-start)) (point (point)))
      (todo-write-test-press "g")
      (should (= start (window-start)))
      (should (= point (point)))
      (select-window (split-window))
      (switch-to-buffer "*scratch*")
      (with-current-buffer (window-buffer window)
        (set-window-point window point)
        (revert-buffer)
        (should (= start (window-start window)))
        (should (= point (window-point window)))))))

(ert-deftest todo-write-history-index-stays-at-its-revisions-when-there-are-new-ones ()
  (todo-write-history-tests--with-index
      (mapcar (lambda (number) (list "One" (format "Task %d" number))) (number-sequence 1 60))
    (cl-flet ((at (position) (tabulated-list-get-id position)))
      (goto-char (todo-write-buffer-find 'tabulated-list-id 30))
      (let ((window (selected-window)))
        (set-window-start nil (save-excursion (forward-line -4) (point)))
        (todo-write-test-write "a" "New")
        (todo-write-test-write "a" "Newer")
        (todo-write-test-press "g")
        (should (= 30 (at (point))))
        (should (= 34 (at (window-start))))
        (select-window (split-window))
        (switch-to-buffer "*scratch*")
        (with-current-buffer (window-buffer window)
          (set-window-point window (point))
          (goto-char (point-min))
          (todo-write-test-write "a" "Newest")
          (revert-buffer)
          (should (= 62 (at (point))))
          (should (= 34 (at (window-start window))))
          (should (= 30 (at (window-point window)))))))))

(ert-deftest todo-write-history-of-a-forgotten-plan-says-so ()
  (todo-write-history-tests--with '(("One") ("Two"))
    (todo-write-forget "a")
    (todo-write-test-press "g")
    (should (equal (todo-write-test-text) " This plan was forgotten.\n"))
    (should-error (todo-write-test-press "p") :type 'user-error)))

(ert-deftest todo-write-history-begins-with-the-newest-revision ()
  (todo-write-history-tests--with '(("One") ("One" "Two"))
    (should (string-suffix-p "revision 2 of 2" (nth 0 (todo-write-history-tests--lines))))
    (should (string-match-p "\\` agent · write · .*0/2\\'"
                            (nth 1 (todo-write-history-tests--lines))))
    (should (equal (todo-write-history-tests--rows) '(" ○ One" " ○ Two + added ○ pending")))))

(ert-deftest todo-write-history-steps-both-ways-and-stops-at-the-ends ()
  (todo-write-history-tests--with '(("One") ("One" "Two") ("One" "Two" "Three"))
    (dolist (step '(("n" . 2) ("n" . 1) ("p" . 2) ("p" . 3)))
      (todo-write-test-press (car step))
      (should (string-suffix-p (format "revision %d of 3" (cdr step))
                               (nth 0 (todo-write-history-tests--lines)))))
    (should-error (todo-write-test-press "p") :type 'user-error)
    (todo-write-test-press "n")
    (todo-write-test-press "n")
    (should-error (todo-write-test-press "n") :type 'user-error)
    (should (equal (todo-write-history-tests--rows) '(" ○ One + added ○ pending")))))

(ert-deftest todo-write-history-marks-what-changed-with-what-it-was ()
  (pcase-dolist (`(,before ,after . ,rows)
                 '((("One" "Two") (("One" "in_progress") "Two") " ● Doing: One ○ → ● in progress" " ○ Two")
                   (("One" "Two" "Three") ("Three" "One" "Two")
                    " ○ Three ↕ moved from 3 to 1" " ○ One" " ○ Two")
                   (("One") () " The list is empty." " ✗ One − dropped")))
    (todo-write-history-tests--with (list before after)
      (should (equal (todo-write-history-tests--rows) rows)))))

(ert-deftest todo-write-history-marks-a-new-text-with-the-old-one ()
  (todo-write-history-tests--with '(("Write the first test" "Two"))
    (todo-write-edit "a" 'rename (plist-get (aref (todo-write-items "a") 0) :id)
                     "Write the second test")
    (todo-write-test-press "p")
    (should (string-match-p "\\` you · rename · " (nth 1 (todo-write-history-tests--lines))))
    (should (equal (todo-write-history-tests--rows)
                   '(" ○ Write the second test"
                     " ~ Write the first test → Write the second test" " ○ Two")))))

(ert-deftest todo-write-history-shows-what-was-removed ()
  (todo-write-history-tests--with '(("One" ("Two" "completed")) ("One"))
    (should (equal (todo-write-history-tests--rows) '(" ○ One" " ✗ Two − cleared")))
    (goto-char (point-max))
    (search-backward "Two")
    (should (eq (get-text-property (point) 'face) 'todo-write-removed))))

(ert-deftest todo-write-history-puts-point-on-the-first-change ()
  (todo-write-history-tests--with '(("One" "Two") ("One" ("Two" "completed")))
    (should (string-match-p "✓ Two .* → ✓" (thing-at-point 'line)))))

(ert-deftest todo-write-history-opens-from-the-live-buffer-and-leads-back ()
  (todo-write-with-store
    (todo-write "a" (todo-write-test-todos "One"))
    (save-window-excursion
      (let ((live (todo-write-show "a")))
        (unwind-protect
            (progn
              (switch-to-buffer live)
              (execute-kbd-macro (kbd "? H"))
              (should (derived-mode-p 'todo-write-history-index-mode))
              (should (equal todo-write-view-thread "a"))
              (todo-write-test-press "q")
              (should (eq (window-buffer) live)))
          (kill-buffer live)
          (kill-buffer "*todo-write-history*"))))))

(ert-deftest todo-write-history-without-a-plan-says-so ()
  (todo-write-with-store
    (should-error (todo-write-history) :type 'user-error)
    (should-error (todo-write-history "nobody") :type 'user-error)))

(provide 'todo-write-history-tests)
;;; todo-write-history-tests.el ends here
