;;; todo-write-history-tests.el --- Tests of the history buffer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The buffer in which the user steps through a plan's revisions.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-test-helper)
(require 'todo-write-history)

(defmacro todo-write-history-tests--with (lists &rest body)
  "Run BODY in the history of the thread \"a\" after writing LISTS."
  (declare (indent 1) (debug t))
  `(todo-write-with-store
     (let ((coding (terminal-coding-system)))
       (dolist (entries ,lists)
         (todo-write "a" (apply #'todo-write-test-todos entries)))
       (set-terminal-coding-system 'utf-8)
       (todo-write-row--forget-shapes)
       (save-window-excursion
         (unwind-protect
             (with-current-buffer (todo-write-history "a") ,@body)
           (set-terminal-coding-system coding)
           (todo-write-row--forget-shapes)
           (kill-buffer (format "%s history" todo-write-view-buffer-name)))))))

(defun todo-write-history-tests--press (keys)
  "Run the command bound to KEYS."
  (call-interactively (key-binding (kbd keys))))

(defun todo-write-history-tests--lines ()
  "Return the lines of the current buffer, runs of spaces as one."
  (mapcar (lambda (line) (replace-regexp-in-string " +" " " line))
          (split-string (buffer-substring-no-properties (point-min) (point-max))
                        "\n" t)))

(defun todo-write-history-tests--rows ()
  "Return the lines below the header."
  (cddr (todo-write-history-tests--lines)))

(ert-deftest todo-write-history-begins-with-the-newest-revision ()
  (todo-write-history-tests--with '(("One") ("One" "Two"))
    (should (string-suffix-p "revision 2 of 2" (nth 0 (todo-write-history-tests--lines))))
    (should (string-match-p "\\` agent · write · .*0/2 ─+\\'"
                            (nth 1 (todo-write-history-tests--lines))))
    (should (equal (todo-write-history-tests--rows) '(" ○ One" " + ○ Two")))))

(ert-deftest todo-write-history-steps-both-ways-and-stops-at-the-ends ()
  (todo-write-history-tests--with '(("One") ("One" "Two") ("One" "Two" "Three"))
    (dolist (step '(("p" . 2) ("[" . 1) ("n" . 2) ("]" . 3) ("<" . 1) (">" . 3)))
      (todo-write-history-tests--press (car step))
      (should (string-suffix-p (format "revision %d of 3" (cdr step))
                               (nth 0 (todo-write-history-tests--lines)))))
    (should-error (todo-write-history-tests--press "n") :type 'user-error)
    (todo-write-history-tests--press "<")
    (should-error (todo-write-history-tests--press "p") :type 'user-error)
    (should (equal (todo-write-history-tests--rows) '(" + ○ One")))))

(ert-deftest todo-write-history-marks-a-new-status-with-the-old-one ()
  (todo-write-history-tests--with '(("One" "Two") (("One" "in_progress") "Two"))
    (should (equal (todo-write-history-tests--rows) '(" → ● One ○ → ●" " ○ Two")))))

(ert-deftest todo-write-history-marks-a-new-text-with-the-old-one ()
  (todo-write-history-tests--with '(("Write the first test" "Two"))
    (todo-write-edit "a" 'rename (plist-get (aref (todo-write-items "a") 0) :id)
                     "Write the second test")
    (todo-write-history-tests--press ">")
    (should (string-match-p "\\` you · rename · " (nth 1 (todo-write-history-tests--lines))))
    (should (equal (todo-write-history-tests--rows)
                   '(" ~ ○ Write the second test" " was: Write the first test" " ○ Two")))))

(ert-deftest todo-write-history-marks-moves-with-the-old-position ()
  (todo-write-history-tests--with '(("One" "Two" "Three") ("Three" "One" "Two"))
    (should (equal (todo-write-history-tests--rows)
                   '(" ↕ ○ Three ↕ from 3" " ○ One" " ○ Two")))))

(ert-deftest todo-write-history-shows-what-was-removed ()
  (todo-write-history-tests--with '(("One" ("Two" "completed")) ("One"))
    (should (equal (todo-write-history-tests--rows) '(" ○ One" " − ✓ Two")))
    (goto-char (point-max))
    (search-backward "Two")
    (should (eq (get-text-property (point) 'face) 'todo-write-removed))))

(ert-deftest todo-write-history-of-a-cleared-list-says-so ()
  (todo-write-history-tests--with '(("One") ())
    (should (equal (todo-write-history-tests--rows)
                   '(" The list is empty." " − ○ One")))))

(ert-deftest todo-write-history-puts-point-on-the-first-change ()
  (todo-write-history-tests--with '(("One" "Two") ("One" ("Two" "completed")))
    (should (string-match-p "→ ✓ Two" (thing-at-point 'line)))))

(ert-deftest todo-write-history-shows-agent-text-as-it-is ()
  (todo-write-history-tests--with '(("100 %s \u202e"))
    (should (equal (todo-write-history-tests--rows) '(" + ○ 100 %s \\u202e")))))

(ert-deftest todo-write-history-opens-from-the-live-buffer-and-leads-back ()
  (todo-write-with-store
    (todo-write "a" (todo-write-test-todos "One"))
    (save-window-excursion
      (let ((live (todo-write-show "a")))
        (unwind-protect
            (progn
              (switch-to-buffer live)
              (todo-write-history-tests--press "H")
              (should (derived-mode-p 'todo-write-history-mode))
              (should (equal todo-write-view-thread "a"))
              (todo-write-history-tests--press "q")
              (should (eq (window-buffer) live)))
          (kill-buffer live)
          (kill-buffer (format "%s history" todo-write-view-buffer-name)))))))

(ert-deftest todo-write-history-without-a-plan-says-so ()
  (todo-write-with-store
    (should-error (todo-write-history) :type 'user-error)
    (should-error (todo-write-history "nobody") :type 'user-error)))

(provide 'todo-write-history-tests)
;;; todo-write-history-tests.el ends here
