;;; todo-write-mode-line-tests.el --- Tests of the mode line  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The text that `todo-write-mode-line-mode' adds to the mode line, and its complete
;; removal.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-test-helper)
(require 'todo-write-mode-line)
(require 'todo-write-view)

(defmacro todo-write-mode-line-tests--with (&rest body)
  "Run BODY with the mode on and an empty store."
  (declare (indent 0) (debug t))
  `(todo-write-with-store
     (let ((coding (terminal-coding-system)))
       (unwind-protect
           (progn
             (set-terminal-coding-system 'utf-8)
             (todo-write-text-forget-shapes)
             (todo-write-mode-line-mode 1)
             ,@body)
         (todo-write-mode-line-mode -1)
         (set-terminal-coding-system coding)
         (todo-write-text-forget-shapes)))))

(defun todo-write-mode-line-tests--text ()
  "Return what the mode line shows of the plan."
  (and todo-write-mode-line-string
       (string-remove-suffix " " (substring-no-properties todo-write-mode-line-string))))

(ert-deftest todo-write-mode-line-isolates-text-from-right-to-left ()
  (todo-write-mode-line-tests--with
    (todo-write "a" (todo-write-test-todos '("קריאה" "completed") '("המרה" "in_progress" "ממיר 2 קבצים")))
    (should (equal (todo-write-mode-line-tests--text) "[1/2 \u2068ממיר 2 קבצים\u2069]"))
    (todo-write-set-activity "a" 'waiting "להריץ?")
    (should (string-match-p "\\`\\[\u2068! .*: להריץ\\?\u2069\\]\\'"
                            (todo-write-mode-line-tests--text)))))

(ert-deftest todo-write-mode-line-shows-the-thread-written-last ()
  (todo-write-mode-line-tests--with
    (todo-write "a" (todo-write-test-todos "One"))
    (todo-write "b" (todo-write-test-todos "Two" "Three"))
    (should (equal (todo-write-mode-line-tests--text) "[0/2]"))))

(ert-deftest todo-write-mode-line-shows-a-plan-that-was-there-before ()
  (todo-write-with-store
    (todo-write "a" (todo-write-test-todos "One"))
    (unwind-protect
        (progn (todo-write-mode-line-mode 1)
               (should (equal (todo-write-mode-line-tests--text) "[0/1]")))
      (todo-write-mode-line-mode -1))))

(ert-deftest todo-write-mode-line-shows-the-effect-of-a-listener ()
  (todo-write-mode-line-tests--with
    (let ((pause (lambda (thread what _)
                   (when (eq what 'change)
                     (todo-write-pause thread)))))
      (todo-write-test-listening pause
        (todo-write-test-write "a" '("One" "in_progress" "Doing one")))
      (should (equal (todo-write-mode-line-tests--text) "[0/1 ‖ Doing one]")))))

(ert-deftest todo-write-mode-line-shows-the-effect-of-a-subscriber ()
  (todo-write-mode-line-tests--with
    (let* (handle
           (edit (lambda (_)
                   (todo-write-unsubscribe handle)
                   (todo-write-edit "a" 'add "Two"))))
      (setq handle (todo-write-subscribe edit :type "PLAN_UPDATE"))
      (todo-write-test-write "a" '("One" "in_progress" "Doing one"))
      (should (equal (todo-write-mode-line-tests--text) "[0/2 Doing one]")))))

(ert-deftest todo-write-mode-line-prefers-a-living-agent-of-the-project-then-one-elsewhere ()
  (todo-write-mode-line-tests--with
    (dolist (thread '("works" "dies"))
      (todo-write-begin thread :project "/p/"))
    (todo-write-begin "elsewhere" :project "/q/")
    (let ((text (lambda (folder)
                  (with-temp-buffer
                    (setq default-directory folder)
                    (save-window-excursion
                      (switch-to-buffer (current-buffer))
                      (run-hook-with-args 'window-buffer-change-functions (selected-frame))
                      (todo-write-mode-line-tests--text))))))
      (todo-write-test-write "elsewhere" "One" "Two" "Three")
      (todo-write-test-write "works" "One" "Two")
      (todo-write-test-write "dies" '("One" "in_progress" "Going"))
      (should (equal (funcall text "/p/") "[0/1 Going]"))
      (todo-write-end-turn "dies" "killed" nil 'killed)
      (should (equal (funcall text "/p/") "[0/2]"))
      (todo-write-end-turn "works" "agent exited" nil 'session-ended)
      (should (equal (funcall text "/p/") "[0/3]"))
      (todo-write-end-turn "elsewhere" "agent exited" nil 'session-ended)
      (should (string-prefix-p "[0/1 ‖ Going" (funcall text "/p/"))))))

(ert-deftest todo-write-mode-line-shows-the-plan-that-is-selected ()
  (todo-write-mode-line-tests--with
    (save-window-excursion
      (delete-other-windows)
      (todo-write-begin "a" :project "/p/")
      (todo-write-begin "b" :project "/q/")
      (todo-write-test-write "a" '("One" "completed") "Two")
      (todo-write-test-write "b" "Other" "Another" "A third")
      (let ((plan (todo-write-show "a"))
            (text (lambda (buffer)
                    (switch-to-buffer buffer)
                    (with-temp-buffer
                      (run-hook-with-args 'window-buffer-change-functions (selected-frame)))
                    (todo-write-mode-line-tests--text))))
        (with-temp-buffer
          (setq default-directory "/q/")
          (should (equal (funcall text (current-buffer)) "[0/3]"))
          (should (equal (funcall text plan) "[1/2]"))
          (todo-write-test-write "a" '("One" "completed") '("Two" "completed"))
          (should (equal (todo-write-mode-line-tests--text) "[2/2 ✓]"))
          (todo-write-show "b")
          (should (string-prefix-p "[0/3" (todo-write-mode-line-tests--text)))
          (todo-write-show "a")
          (should (equal (todo-write-mode-line-tests--text) "[2/2 ✓]"))
          ;; What needs the user is said everywhere.
          (todo-write-set-activity "b" 'waiting "permission")
          (should (string-prefix-p "[! q: permission" (funcall text plan))))
        (todo-write-mode-line-mode -1)
        (should-not (todo-write-mode-line-tests--text))
        (kill-buffer plan)))))

(ert-deftest todo-write-mode-line-tells-done-paused-and-empty-apart ()
  (todo-write-mode-line-tests--with
    (todo-write "a" (todo-write-test-todos '("One" "in_progress" "Going")))
    (todo-write-pause "a" "stopped")
    (should (equal (todo-write-mode-line-tests--text) "[0/1 ‖ Going]"))
    (todo-write-resume "a")
    (should (equal (todo-write-mode-line-tests--text) "[0/1 Going]"))
    (todo-write "a" (todo-write-test-todos '("One" "completed")))
    (should (equal (todo-write-mode-line-tests--text) "[1/1 ✓]"))
    (todo-write "a" (todo-write-test-todos))
    (should-not todo-write-mode-line-string)))

(ert-deftest todo-write-mode-line-is-cut-by-columns ()
  (todo-write-mode-line-tests--with
    (let ((todo-write-mode-line-width 20))
      (pcase-dolist (`(,text . ,shown)
                     `((,(make-string 14 ?x) . "[0/1 xxxxxxxxxxxxxx]")
                       (,(make-string 15 ?x) . "[0/1 xxxxxxxxxxxxx…]")
                       (,(make-string 7 ?長) . "[0/1 長長長長長長長]")
                       (,(make-string 50 ?長) . "[0/1 長長長長長長…]")
                       (,(concat "長" (make-string 50 ?x)) . "[0/1 長xxxxxxxxxxx…]")))
        (todo-write "a" (todo-write-test-todos (list text "in_progress" text)))
        (should (equal (todo-write-mode-line-tests--text) shown))))))

(ert-deftest todo-write-mode-line-without-room-for-a-task-shows-the-count ()
  (todo-write-mode-line-tests--with
    (dolist (case '((9 . "[0/1 Do…]") (8 . "[0/1]") (0 . "[0/1]")))
      (todo-write "a" (todo-write-test-todos))
      (let ((todo-write-mode-line-width (car case)))
        (todo-write "a" (todo-write-test-todos '("One" "in_progress")))
        (should (equal (todo-write-mode-line-tests--text) (cdr case)))))))

(ert-deftest todo-write-mode-line-is-not-computed-by-redisplay ()
  (todo-write-mode-line-tests--with
    (todo-write "a" (todo-write-test-todos "One"))
    (should (memq 'todo-write-mode-line-string global-mode-string))
    (should (get 'todo-write-mode-line-string 'risky-local-variable))
    (let ((string todo-write-mode-line-string))
      (format-mode-line mode-line-format)
      (should (eq string todo-write-mode-line-string)))))

(ert-deftest todo-write-mode-line-help-shows-the-whole-task ()
  (todo-write-mode-line-tests--with
    (todo-write-observe "a" "TITLE" "Login")
    (todo-write "a" (todo-write-test-todos '("One" "completed") '("Two" "in_progress") "Three"))
    (let* ((function (get-text-property 0 'help-echo todo-write-mode-line-string))
           (help (funcall function nil nil nil)))
      (should (string-prefix-p "Doing: Two\n" help))
      (should (get-text-property 0 'help-echo-inhibit-substitution help)))))

(ert-deftest todo-write-mode-line-mouse-1-shows-the-plan ()
  (todo-write-mode-line-tests--with
    (todo-write "a" (todo-write-test-todos "One"))
    (let ((command (lookup-key (get-text-property 0 'local-map todo-write-mode-line-string)
                               [mode-line mouse-1])))
      (save-window-excursion
        (unwind-protect
            (progn
              (funcall command `(mouse-1 (,(selected-window) mode-line (0 . 0) 0)))
              (should (get-buffer-window todo-write-view-buffer-name))
              (with-current-buffer todo-write-view-buffer-name
                (should (equal todo-write-view-thread "a"))))
          (mapc #'kill-buffer (todo-write-view-draw-live-buffers)))))))

(ert-deftest todo-write-mode-line-off-leaves-nothing-behind ()
  (pcase-dolist (`(,before ,on ,after) '((nil ("" todo-write-mode-line-string) (""))
                                         ("mine" ("mine" todo-write-mode-line-string) ("mine"))
                                         (("" mine) ("" mine todo-write-mode-line-string)
                                          ("" mine))))
    (let ((global-mode-string before))
      (todo-write-mode-line-tests--with
        (todo-write-mode-line-mode 1)
        (should (equal global-mode-string on)))
      (should (equal global-mode-string after))
      (should-not todo-write-mode-line-string)
      (should-not (memq #'todo-write-mode-line--on-event todo-write-events-functions)))))

(ert-deftest todo-write-mode-line-takes-what-is-no-key-for-no-plan ()
  (todo-write-mode-line-tests--with
    (with-temp-buffer
      (setq-local todo-write-view-thread 7)
      (save-window-excursion
        (set-window-buffer nil (current-buffer))
        (todo-write "a" (todo-write-test-todos "One"))
        (should (equal (todo-write-mode-line-tests--text) "[0/1]"))))))

(provide 'todo-write-mode-line-tests)
;;; todo-write-mode-line-tests.el ends here
