;;; todo-write-edit-tests.el --- Tests of the editing keys  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Each test presses keys in the live buffer and checks the list and point.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-test-helper)
(require 'todo-write-view)
(require 'todo-write-view)

(defmacro todo-write-edit-tests--with (entries &rest body)
  "Run BODY in a live buffer of the thread \"a\", whose list is ENTRIES."
  (declare (indent 1) (debug t))
  `(todo-write-with-store
     (let ((todo-write-flash-seconds 0)
           (todo-write-view-buffer-name (generate-new-buffer-name "*plan*")))
       (apply #'todo-write "a" (list (apply #'todo-write-test-todos ,entries)))
       (save-window-excursion
         (switch-to-buffer (todo-write-show "a"))
         (delete-other-windows)
         (unwind-protect (progn ,@body)
           (kill-buffer todo-write-view-buffer-name))))))

(defun todo-write-edit-tests--press (keys &optional text)
  "Run the command bound to KEYS, with TEXT as its minibuffer input."
  (cl-letf (((symbol-function 'read-string) (lambda (&rest _) text)))
    (let ((command (key-binding (kbd keys)))
          (inhibit-message t))
      (should (commandp command))
      (call-interactively command))))

(defun todo-write-edit-tests--to (content)
  "Move point into the row of CONTENT."
  (goto-char (point-min))
  (search-forward content)
  (backward-char))

(defun todo-write-edit-tests--at ()
  "Return the content of the item at point."
  (plist-get (todo-write-item "a" (todo-write-view-id-at-point)) :content))

(defun todo-write-edit-tests--status (content)
  "Return the status of the item with CONTENT."
  (plist-get (seq-find (lambda (item) (equal (plist-get item :content) content))
                       (todo-write-items "a"))
             :status))

(ert-deftest todo-write-edit-e-changes-the-text-and-offers-the-old-one ()
  (todo-write-edit-tests--with '("One" "Two")
    (todo-write-edit-tests--to "Two")
    (let (offered)
      (cl-letf (((symbol-function 'read-string)
                 (lambda (_prompt initial &rest _) (setq offered initial) "  Second ")))
        (call-interactively (key-binding "e")))
      (should (equal offered "Two")))
    (should (equal (todo-write-test-contents "a") '("One" "Second")))
    (should (equal (todo-write-edit-tests--at) "Second"))))

(ert-deftest todo-write-edit-e-without-a-change-makes-no-revision ()
  (todo-write-edit-tests--with '("One")
    (todo-write-edit-tests--to "One")
    (todo-write-edit-tests--press "e" "One")
    (should (= 1 (length (todo-write-revisions "a"))))))

(ert-deftest todo-write-edit-plus-adds-after-the-task-at-point-and-goes-there ()
  (todo-write-edit-tests--with '("One" "Two")
    (todo-write-edit-tests--to "One")
    (todo-write-edit-tests--press "+" "One and a half")
    (should (equal (todo-write-test-contents "a") '("One" "One and a half" "Two")))
    (should (equal (todo-write-edit-tests--at) "One and a half"))))

(ert-deftest todo-write-edit-plus-above-the-tasks-adds-at-the-beginning ()
  (todo-write-edit-tests--with '("One")
    (goto-char (point-min))
    (todo-write-edit-tests--press "+" "Zero")
    (should (equal (todo-write-test-contents "a") '("Zero" "One")))))

(ert-deftest todo-write-edit-plus-below-the-tasks-adds-at-the-end ()
  (todo-write-edit-tests--with '("One")
    (goto-char (point-max))
    (todo-write-edit-tests--press "+" "Two")
    (should (equal (todo-write-test-contents "a") '("One" "Two")))))

(ert-deftest todo-write-edit-plus-fills-an-empty-list ()
  (todo-write-edit-tests--with '("One")
    (todo-write "a" (todo-write-test-todos))
    (goto-char (point-max))
    (todo-write-edit-tests--press "+" "New")
    (should (equal (todo-write-test-contents "a") '("New")))))

(ert-deftest todo-write-edit-k-deletes-and-undo-brings-back ()
  (todo-write-edit-tests--with '("One" "Two" "Three")
    (todo-write-edit-tests--to "Two")
    (todo-write-edit-tests--press "k")
    (should (equal (todo-write-test-contents "a") '("One" "Three")))
    (should-error (todo-write-edit-tests--press "k") :type 'user-error)
    (todo-write-edit-tests--press "C-/")
    (should (equal (todo-write-test-contents "a") '("One" "Two" "Three")))
    (should (equal (todo-write-edit-tests--at) "Two"))))

(ert-deftest todo-write-edit-undo-is-on-all-usual-keys ()
  (dolist (keys '("C-/" "C-_" "C-x u" "u"))
    (todo-write-edit-tests--with '("One")
      (todo-write-edit-tests--to "One")
      (todo-write-edit-tests--press "e" "Other")
      (todo-write-edit-tests--press keys)
      (should (equal (todo-write-test-contents "a") '("One"))))))

(ert-deftest todo-write-edit-space-cycles-the-status ()
  (todo-write-edit-tests--with '("One" "Two")
    (todo-write-edit-tests--to "Two")
    (dolist (status '("in_progress" "completed" "pending"))
      (todo-write-edit-tests--press "SPC")
      (should (equal (todo-write-edit-tests--status "Two") status))
      (should (equal (todo-write-edit-tests--at) "Two")))))

(ert-deftest todo-write-edit-m-up-and-m-down-move-the-task-and-point-with-it ()
  (todo-write-edit-tests--with '("One" "Two" "Three")
    (todo-write-edit-tests--to "Three")
    (todo-write-edit-tests--press "M-<up>")
    (should (equal (todo-write-test-contents "a") '("One" "Three" "Two")))
    (should (equal (todo-write-edit-tests--at) "Three"))
    (todo-write-edit-tests--press "M-<up>")
    (should (equal (todo-write-test-contents "a") '("Three" "One" "Two")))
    (should-error (todo-write-edit-tests--press "M-<up>") :type 'user-error)
    (todo-write-edit-tests--press "M-<down>")
    (should (equal (todo-write-test-contents "a") '("One" "Three" "Two")))
    (todo-write-edit-tests--press "M-<down>")
    (should-error (todo-write-edit-tests--press "M-<down>") :type 'user-error)
    (should (equal (todo-write-edit-tests--at) "Three"))))

(ert-deftest todo-write-edit-refuses-an-empty-text-and-keeps-the-list ()
  (todo-write-edit-tests--with '("One")
    (todo-write-edit-tests--to "One")
    (should-error (todo-write-edit-tests--press "e" "  ") :type 'user-error)
    (should-error (todo-write-edit-tests--press "+" "") :type 'user-error)
    (should-error (todo-write-edit-tests--press "e" (make-string 5000 ?x)) :type 'user-error)
    (should (equal (todo-write-test-contents "a") '("One")))))

(ert-deftest todo-write-edit-keys-outside-the-rows-say-so ()
  (todo-write-edit-tests--with '("One")
    (goto-char (point-min))
    (dolist (keys '("e" "k" "SPC" "M-<up>" "M-<down>" "RET"))
      (should-error (todo-write-edit-tests--press keys "x") :type 'user-error))
    (should (equal (todo-write-test-contents "a") '("One")))))

(ert-deftest todo-write-edit-keys-on-a-dropped-task-say-so ()
  (todo-write-edit-tests--with '("One" "Two")
    (todo-write "a" (todo-write-test-todos "One"))
    (todo-write-edit-tests--to "Two")
    (dolist (keys '("e" "k" "SPC"))
      (should (string-match-p
               "dropped"
               (cadr (should-error (todo-write-edit-tests--press keys "x")
                                   :type 'user-error)))))))

(ert-deftest todo-write-edit-undo-with-nothing-to-undo-says-so ()
  (todo-write-edit-tests--with '("One")
    (ignore-errors (dotimes (_ 5) (todo-write-edit-tests--press "u")))
    (should-error (todo-write-edit-tests--press "u") :type 'user-error)))

(ert-deftest todo-write-edit-survives-a-write-while-the-user-types ()
  (todo-write-edit-tests--with '("One" "Two")
    (todo-write-edit-tests--to "Two")
    (cl-letf (((symbol-function 'read-string)
               (lambda (&rest _)
                 (todo-write "a" (todo-write-test-todos "Zero" "One" "Two"))
                 "After two")))
      (call-interactively (key-binding "+")))
    (should (equal (todo-write-test-contents "a") '("Zero" "One" "Two" "After two")))))

(ert-deftest todo-write-edit-merges-with-the-agents-next-write ()
  (todo-write-edit-tests--with '("One" "Two")
    (todo-write-edit-tests--to "Two")
    (todo-write-edit-tests--press "+" "Mine")
    (let ((outcome (todo-write "a" (todo-write-test-todos '("One" "completed") "Two"))))
      (should (equal (todo-write-test-contents "a") '("One" "Two" "Mine")))
      (should (string-match-p "Mine" (plist-get outcome :result))))
    (should (string-match-p "✓ One\\|x One" (buffer-string)))
    (should (equal (todo-write-edit-tests--at) "Mine"))))

(provide 'todo-write-edit-tests)
;;; todo-write-edit-tests.el ends here
