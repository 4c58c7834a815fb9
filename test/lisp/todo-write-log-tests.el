;;; todo-write-log-tests.el --- Tests of the log of a thread -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What a user sees in the buffer of `todo-write-log'.

;;; Code:

(require 'ert)
(require 'todo-write-test-helper)
(require 'todo-write-history)

(defmacro todo-write-log-tests--with-log (&rest body)
  "Run BODY in the log of the thread \"a\", which has a plan and two thoughts."
  (declare (indent 0) (debug t))
  `(todo-write-with-store
     (todo-write-observe "a" "INTENT" "Tidy up")
     (todo-write-observe "a" "THOUGHTS" "Where to begin?")
     (todo-write-test-write "a" '("Sweep" "in_progress") "Dust")
     (todo-write-observe "a" "THOUGHTS" "A broom is needed")
     (save-window-excursion
       (unwind-protect
           (with-current-buffer (todo-write-log "a") ,@body)
         (kill-buffer "*todo-write-log*")))))

(defun todo-write-log-tests--rows ()
  "Return the rows of the current buffer as a list of (TYPE WHAT)."
  (mapcar (lambda (entry)
            (list (aref (cadr entry) 1) (car (last (append (cadr entry) nil)))))
          (let (rows)
            (save-excursion
              (goto-char (point-min))
              (while (not (eobp))
                (push (list nil (tabulated-list-get-entry)) rows)
                (forward-line)))
            (nreverse rows))))

(ert-deftest todo-write-log-lists-what-was-recorded-newest-last ()
  (todo-write-log-tests--with-log
    (should (equal (todo-write-log-tests--rows)
                   '(("INTENT" "Tidy up")
                     ("THOUGHTS" "Where to begin?")
                     ("PLAN_UPDATE" "revision: 1, todoList: 2")
                     ("THOUGHTS" "A broom is needed"))))))

(ert-deftest todo-write-log-stays-where-it-is-read-in-a-window-beside ()
  (todo-write-log-tests--with-log
    (dotimes (n 50)
      (todo-write-observe "a" "MESSAGE" (format "Message %d" n)))
    (revert-buffer)
    (let* ((window (get-buffer-window))
           (line (lambda (position)
                   (save-excursion (goto-char position)
                                   (aref (tabulated-list-get-entry) 2)))))
      (goto-char (point-min))
      (search-forward "Message 20")
      (set-window-point window (point))
      (set-window-start window (line-beginning-position -2))
      (select-window (split-window window))
      (switch-to-buffer "*scratch*")
      (todo-write-observe "a" "MESSAGE" "One more")
      (with-current-buffer (window-buffer window)
        (revert-buffer)
        (should (string-search "One more" (buffer-string)))
        (should (equal (funcall line (window-point window)) "Message 20"))
        (should (equal (funcall line (window-start window)) "Message 17"))))))

(ert-deftest todo-write-log-says-dates-and-shows-no-json ()
  (todo-write-log-tests--with-log
    (todo-write-observe "a" "USAGE" '(:input 3 :output 5 :cacheRead 7 :cacheWrite 11 :model "m"))
    (todo-write-observe "a" "STATE_UPDATE" '(:mode "plan" :step 3 :deep (:x 1)))
    (todo-write-test-write "a" '("Sweep" "completed") "Dust")
    (revert-buffer)
    (let ((text (buffer-substring-no-properties (point-min) (point-max))))
      (should (string-match-p "input: 3, output: 5, cacheRead: 7, cacheWrite: 11, model: m" text))
      (should (string-match-p "mode: plan, step: 3$" text))
      (should (string-match-p "item: Sweep, status: completed, previousStatus: in_progress$" text))
      (should-not (string-match-p "[{}]\\| t1 " text)))
    (goto-char (point-min))
    (should (looking-at-p " [0-9][0-9]:[0-9][0-9] "))))

(ert-deftest todo-write-log-shows-a-tool-call-as-a-line-and-its-input-whole ()
  (todo-write-log-tests--with-log
    (todo-write-observe "a" "TOOL_CALL"
                        '( :name "Bash"
                           :input "{\"description\":\"Test\",\"command\":\"make\\nmake lint\"}"))
    (revert-buffer)
    (should (equal (car (last (todo-write-log-tests--rows)))
                   '("TOOL_CALL" "Bash make ⏎ make lint")))
    (goto-char (point-max))
    (search-backward "Bash make")
    (todo-write-buffer-visit)
    (with-current-buffer "*todo-write-observation*"
      (should (string-match-p "\"description\": \"Test\"" (buffer-string)))
      (kill-buffer))))

(ert-deftest todo-write-log-says-so-when-there-is-no-thread ()
  (todo-write-with-store
    (cl-letf (((symbol-function 'todo-write-current-thread) #'ignore))
      (should-error (todo-write-log) :type 'user-error))))

(provide 'todo-write-log-tests)
;;; todo-write-log-tests.el ends here
