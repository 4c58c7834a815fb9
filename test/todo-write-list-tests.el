;;; todo-write-list-tests.el --- Tests of the overview and of switching  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; All plans in a list, completion of threads, and which plan is shown first.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-view-test-helper)
(require 'todo-write-list)

(defmacro todo-write-list-tests--with (&rest body)
  "Run BODY with an empty store and no overview."
  (declare (indent 0) (debug t))
  `(todo-write-test-with-shapes
     (unwind-protect (progn ,@body)
       (when (get-buffer "*todo-write-list*")
         (kill-buffer "*todo-write-list*")))))

(defun todo-write-list-tests--rows ()
  "Return the rows of the overview as lists of strings, without ages and projects."
  (mapcar (lambda (entry)
            (let ((cells (mapcar (lambda (cell) (substring-no-properties
                                                 (if (consp cell) (car cell) cell)))
                                 (append (cadr entry) nil))))
              (list (nth 0 cells) (nth 1 cells) (nth 2 cells) (nth 4 cells))))
          (todo-write-list--entries)))

(ert-deftest todo-write-list-shows-progress-state-and-current-task-of-all-threads ()
  (todo-write-list-tests--with
    (todo-write-observe "a" "TITLE" "Login")
    (todo-write-test-write "a" '("One" "completed") '("Two" "in_progress" "Doing two"))
    (todo-write-test-write "b" '("One" "completed"))
    (todo-write-test-write "c" '("One" "in_progress" "Doing one"))
    (todo-write-pause "c")
    (should (equal (sort (todo-write-list-tests--rows)
                         (lambda (a b) (string< (car a) (car b))))
                   '(("Login" "1/2" "● active" "Doing two")
                     ("b" "1/1" "✓ done" "")
                     ("c" "0/1" "‖ paused" "Doing one"))))
    (with-current-buffer (todo-write-list)
      (should (derived-mode-p 'tabulated-list-mode))
      (goto-char (point-min))
      (should (search-forward "Doing two")))))

(ert-deftest todo-write-list-puts-the-project-at-hand-first ()
  (todo-write-list-tests--with
    (let ((ours (make-temp-file "ours" t)) (theirs (make-temp-file "theirs" t)))
      (unwind-protect
          (progn
            (todo-write-begin "x" :project (todo-write-list-tests--root ours))
            (todo-write-test-write "x" "One")
            (todo-write-begin "y" :project (todo-write-list-tests--root theirs))
            (todo-write-test-write "y" "One")
            (let ((default-directory (file-name-as-directory ours)))
              (should (equal "x" (plist-get (car (todo-write-list-threads)) :key)))
              (should (equal "x" (todo-write-view--default-thread))))
            (let ((default-directory (file-name-as-directory theirs)))
              (should (equal "y" (plist-get (car (todo-write-list-threads)) :key)))))
        (delete-directory ours t)
        (delete-directory theirs t)))))

(defun todo-write-list-tests--root (folder)
  "Return the project of FOLDER as the store keeps it."
  (let ((default-directory (file-name-as-directory folder)))
    (todo-write--project)))

(ert-deftest todo-write-list-only-looks-at-threads-of-earlier-sessions ()
  (todo-write-list-tests--with
    (should (equal 2 (todo-write-test-child
                      '(todo-write "old" '(:todos [(:content "One" :status "completed"
                                                    :activeForm "x")
                                                   (:content "Two" :status "pending"
                                                    :activeForm "x")]))
                      '(prin1 (length (todo-write-items "old"))))))
    (should (equal (todo-write-list-tests--rows) '(("old" "1/2" "‖ paused" ""))))
    (should-not (todo-write-threads-loaded))
    (todo-write-switch "old")
    (should (equal (todo-write-threads-loaded) '("old")))
    (should (string-match-p "✓ One" (with-current-buffer todo-write-view-buffer-name
                                      (todo-write-test-text))))))

(ert-deftest todo-write-list-is-live-and-keeps-point-with-its-thread ()
  (todo-write-list-tests--with
    (todo-write-test-write "a" "One")
    (todo-write-list)
    (goto-char (todo-write-list--find "a"))
    (todo-write-test-write "b" "One" "Two")
    (todo-write-test-wait
     (lambda () (string-match-p "0/2" (todo-write-test-text))))
    (should (equal "a" (tabulated-list-get-id)))))

(ert-deftest todo-write-list-ret-shows-and-k-forgets-the-plan-at-point ()
  (todo-write-list-tests--with
    (todo-write-test-write "a" "One")
    (todo-write-test-write "b" "Two")
    (todo-write-list)
    (goto-char (todo-write-list--find "a"))
    (save-window-excursion
      (todo-write-test-press "RET")
      (should (equal "a" (buffer-local-value 'todo-write-view-thread (window-buffer)))))
    (goto-char (todo-write-list--find "b"))
    (cl-letf (((symbol-function 'yes-or-no-p) #'always))
      (todo-write-test-press "k"))
    (should (equal (todo-write-threads) '("a")))
    (should-not (todo-write-list--find "b"))))

(ert-deftest todo-write-list-shows-agent-text-as-it-is ()
  (todo-write-list-tests--with
    (todo-write-observe "a" "TITLE" (propertize "x\u202ey" 'display "evil"))
    (todo-write-test-write "a" '("One" "in_progress" "z\u200b %s"))
    (should (equal (todo-write-list-tests--rows)
                   '(("x\\u202ey" "0/1" "● active" "z\\u200b %s"))))))

(ert-deftest todo-write-switch-completes-with-progress-and-title ()
  (todo-write-list-tests--with
    (todo-write-observe "key-1" "TITLE" "Login")
    (todo-write-test-write "key-1" '("One" "completed") "Two")
    (let (annotation)
      (cl-letf (((symbol-function 'completing-read)
                 (lambda (_prompt collection &rest _)
                   (setq annotation
                         (funcall (completion-metadata-get
                                   (completion-metadata "" collection nil)
                                   'annotation-function)
                                  "key-1"))
                   (car (all-completions "" collection)))))
        (call-interactively #'todo-write-switch))
      (should (string-match-p "1/2  ● active  now  Login" annotation))
      (should (equal "key-1" (buffer-local-value 'todo-write-view-thread
                                                 (get-buffer todo-write-view-buffer-name)))))))

(ert-deftest todo-write-show-begins-with-the-parent-of-a-subagent ()
  (todo-write-list-tests--with
    (todo-write-test-write "main" "One")
    (todo-write-begin "sub" :parent "main" :parent-item "t1")
    (todo-write-test-write "sub" "Two")
    (should (equal "main" (todo-write-view--default-thread)))))

(ert-deftest todo-write-view-shows-that-its-thread-was-forgotten ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One")
    (todo-write-forget "a")
    (should (string-match-p "No plan yet" (todo-write-test-text)))))

(ert-deftest todo-write-view-shows-a-title-that-comes-late-at-once ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One" "Two")
    (let ((drawn 0)
          (line (symbol-function 'todo-write-row-text)))
      (cl-letf (((symbol-function 'todo-write-row-text)
                 (lambda (&rest args) (cl-incf drawn) (apply line args))))
        (todo-write-observe "a" "TITLE" "Late title"))
      (should (string-prefix-p " Late title" (todo-write-test-text)))
      (should (= drawn 0)))))

(provide 'todo-write-list-tests)
;;; todo-write-list-tests.el ends here
