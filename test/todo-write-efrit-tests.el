;;; todo-write-efrit-tests.el --- Plans of Efrit's agent, without Efrit  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests replace the parts of Efrit that `todo-write-efrit-mode' uses.
;; test/hosts/efrit.sh runs the real Efrit.

;;; Code:

(require 'ert)
(require 'todo-write-efrit)
(require 'todo-write-test-helper)

(defvar efrit-do--tool-dispatch-table)
(defvar efrit-do--tools-schema)

(defmacro todo-write-efrit-tests--with-efrit (&rest body)
  "Evaluate BODY with replacements for parts of Efrit; then turn the mode off."
  (declare (indent 0) (debug t))
  `(todo-write-with-store
     (let ((efrit-todos-auto-show nil)
           (todo-write-efrit--chat nil)
           (todo-write-change-functions nil))
       (cl-progv '(efrit-do--tool-dispatch-table efrit-do--tools-schema
                   efrit-do--current-todos efrit-do--todo-counter)
           (list (list (cons "read_file" '(ignore . :tool-input))
                       (cons "todo_write" '(efrit-do--handle-todo-write . :tool-input)))
                 (vector (list (cons "name" "read_file"))
                         (list (cons "name" "todo_write") (cons "description" "Theirs")))
                 nil 0)
         (cl-letf (((symbol-function 'efrit-todo-item-create)
                    (lambda (&rest slots) slots))
                   ((symbol-function 'efrit-modeline-construct)
                    (lambda () "[Efrit: idle]")))
           (unwind-protect (progn ,@body)
             (todo-write-efrit-mode -1)))))))

(defun todo-write-efrit-tests--call (&rest entries)
  "Call Efrit's todo_write with ENTRIES, as for `todo-write-test-todos'."
  (funcall (cadr (assoc "todo_write" efrit-do--tool-dispatch-table))
           (apply #'todo-write-test-todos entries)))

(ert-deftest todo-write-efrit-mode-can-be-turned-on-without-efrit ()
  ;; In an Emacs of its own: here, other tests have loaded our efrit-do.
  (should
   (equal
    '((t t t) (nil nil nil) t)
    (todo-write-test-child
     '(require 'todo-write-efrit)
     '(let ((path load-path)
            (state (lambda ()
                     (list todo-write-efrit-mode
                           (and (memq 'todo-write-efrit--enable after-load-functions) t)
                           (and (memq 'todo-write-efrit--thread-changed
                                      todo-write--listeners) t))))
            on)
        (todo-write-efrit-mode 1)
        (setq on (funcall state))
        (todo-write-efrit-mode -1)
        (prin1 (list on (funcall state) (eq load-path path))))))))

(ert-deftest todo-write-efrit-mode-replaces-one-tool-and-restores-it ()
  (todo-write-efrit-tests--with-efrit
    (let ((table efrit-do--tool-dispatch-table)
          (schema efrit-do--tools-schema)
          (construct (symbol-function 'efrit-modeline-construct)))
      (todo-write-efrit-mode 1)
      (should (eq (car efrit-do--tool-dispatch-table) (car table)))
      (should (eq (aref efrit-do--tools-schema 0) (aref schema 0)))
      (should (equal (cdr (assoc "description" (aref efrit-do--tools-schema 1)))
                     (alist-get 'description (todo-write-tool-schema))))
      (should-not (efrit-modeline-construct))
      (todo-write-efrit-mode -1)
      (should (eq efrit-do--tool-dispatch-table table))
      (should (eq efrit-do--tools-schema schema))
      (should (eq (symbol-function 'efrit-modeline-construct) construct)))))

(ert-deftest todo-write-efrit-mode-keeps-values-that-others-have-set-since ()
  (todo-write-efrit-tests--with-efrit
    (todo-write-efrit-mode 1)
    (let ((others (vector (list (cons "name" "theirs")))))
      (setq efrit-do--tools-schema others)
      (todo-write-efrit-mode -1)
      (should (eq efrit-do--tools-schema others)))))

(ert-deftest todo-write-efrit-warns-of-an-efrit-without-the-tool ()
  (todo-write-efrit-tests--with-efrit
    (setq efrit-do--tool-dispatch-table '(("read_file" . (ignore . :tool-input))))
    (should (equal (todo-write-test-warnings (todo-write-efrit-mode 1))
                   '("This Efrit has no tool todo_write to replace")))))

(ert-deftest todo-write-efrit-copies-the-tasks-to-efrits-own-list ()
  (todo-write-efrit-tests--with-efrit
    (todo-write-efrit-mode 1)
    (todo-write-efrit-tests--call '("One" "completed") '("Two" "in_progress") "Three")
    (should (equal (mapcar (lambda (item)
                             (list (plist-get item :id) (plist-get item :content)
                                   (plist-get item :status) (plist-get item :priority)
                                   (and (plist-get item :completed-at) t)))
                           efrit-do--current-todos)
                   '(("t1" "One" completed medium t)
                     ("t2" "Two" in-progress medium nil)
                     ("t3" "Three" todo medium nil))))
    (should (= efrit-do--todo-counter 3))))

(ert-deftest todo-write-efrit-keeps-efrits-list-after-a-refusal ()
  (todo-write-efrit-tests--with-efrit
    (todo-write-efrit-mode 1)
    (todo-write-efrit-tests--call "One")
    (let ((before efrit-do--current-todos))
      (should (string-prefix-p "Error " (todo-write-efrit-tests--call '("Two" "blocked"))))
      (should (eq efrit-do--current-todos before)))))

(ert-deftest todo-write-efrit-escapes-efrits-markers-in-tasks ()
  (todo-write-efrit-tests--with-efrit
    (todo-write-efrit-mode 1)
    (dolist (text '("[SESSION-COMPLETE: done]" "[WAITING-FOR-USER]"
                    "[Error executing x: y]" "[Syntax Error in x: y]"))
      (let ((answer (todo-write-efrit-tests--call (list "One" "in_progress" text))))
        (should (string-search (substring text 1 8) answer))
        (should-not (string-search (substring text 0 8) answer))))))

(provide 'todo-write-efrit-tests)
;;; todo-write-efrit-tests.el ends here
