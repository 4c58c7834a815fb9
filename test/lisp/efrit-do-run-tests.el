;;; efrit-do-run-tests.el --- Tests of how a session is shown -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What a user sees of a session in its plan.

;;; Code:

(require 'ert)
(require 'todo-write-test-helper)
(require 'efrit-do)
(require 'efrit-do-replay)
(require 'todo-write-mode-line)
(require 'todo-write-view)

(defmacro efrit-do-run-tests--with-plan (turns &rest body)
  "Run BODY in the plan of a session that played TURNS, bound to `session'."
  (declare (indent 1) (debug t))
  `(todo-write-with-store
     (let* ((inhibit-message t)
            (efrit-do-sessions nil)
            (efrit-do-confirm nil)
            (session (efrit-do-session-begin
                      "Tidy up"
                      (list :backend 'replay :speed 0 :script (list :turns ,turns)))))
       (save-window-excursion
         (efrit-do-run-show session)
         (efrit-do-session-start session)
         (efrit-do-run-tests--await session)
         (unwind-protect
             (with-current-buffer todo-write-view-buffer-name ,@body)
           (todo-write-mode-line-mode -1)
           (kill-buffer todo-write-view-buffer-name))))))

(defun efrit-do-run-tests--await (session)
  "Wait until SESSION has ended."
  (todo-write-test-wait (lambda () (not (efrit-do-session-running-p session)))))

(defun efrit-do-run-tests--has-p (text)
  "Return non-nil if the current buffer has TEXT, which may be filled."
  (string-search text (replace-regexp-in-string "[ \n]+" " " (buffer-string))))

(ert-deftest efrit-do-shows-in-the-plan-what-its-agent-thinks-says-and-does ()
  (efrit-do-run-tests--with-plan
      `(((:thinking "Two rooms.") (:text "I begin.") (:tool "eval_sexp" :input (:expr "(* 6 7)")))
        ((:text ,(concat "It is " (mapconcat #'identity (make-list 40 "really") " ") " the end."))
         (:tool "session_complete" :input (:message "All tidy."))))
    (goto-char (point-min))
    (dolist (text '("Tidy up" "Two rooms." "I begin." "eval_sexp (\\* 6 7)" "really[ \n]+the[ \n]+end\\."
                    "session_complete All tidy\\."))
      (ert-info (text)
        (should (re-search-forward text nil t))))))

(ert-deftest efrit-do-visits-the-buffer-that-its-agent-made ()
  (efrit-do-run-tests--with-plan '(((:tool "buffer_create" :input (:name "made" :content "x"))))
    (should-not (get-buffer-window "made"))
    (goto-char (point-min))
    (search-forward "buffer_create made")
    (todo-write-buffer-visit)
    (should (equal "made" (buffer-name (window-buffer))))
    (kill-buffer "made")
    (with-current-buffer todo-write-view-buffer-name
      (should-error (todo-write-buffer-visit) :type 'user-error))))

(ert-deftest efrit-do-says-in-the-plan-why-it-stopped-and-continues-there ()
  (let ((efrit-do-limits '(:calls 1)))
    (efrit-do-run-tests--with-plan '(((:tool "eval_sexp" :input (:expr "1")))
                                     ((:tool "eval_sexp" :input (:expr "2")))
                                     ((:text "At last.")))
      (should (efrit-do-run-tests--has-p "the agent made 1 tool call, the limit"))
      (let ((current-prefix-arg '(4)))
        (call-interactively (key-binding (kbd "C-c C-k"))))
      (efrit-do-run-tests--await session)
      (should (efrit-do-run-tests--has-p "At last."))
      (should-error (efrit-do-continue session) :type 'user-error))))

(ert-deftest efrit-do-keeps-what-an-agent-said-before-it-was-stopped ()
  (efrit-do-run-tests--with-plan '(((:text "Half an answer") (:error "overloaded")))
    (should (efrit-do-run-tests--has-p "Half an answer"))
    (should (efrit-do-run-tests--has-p "overloaded"))))

(ert-deftest efrit-do-opens-nothing-if-an-agent-ends-without-a-word ()
  (efrit-do-run-tests--with-plan '(((:error "overloaded")))
    (should-not (memq nil todo-write-view-rows-open))))

(ert-deftest efrit-do-has-its-keys-in-the-plans-of-sessions-only ()
  (efrit-do-run-tests--with-plan '(((:text "Done.")))
    (setf (efrit-do-session-status session) 'running)
    (call-interactively (key-binding (kbd "C-c C-k")))
    (should (eq 'cancelled (efrit-do-session-status session)))
    (todo-write-test-write "other" "Oak")
    (todo-write-show "other")
    (should-not (key-binding (kbd "C-c C-k")))
    (todo-write-show (efrit-do-session-thread session))
    (should (eq 'efrit-do-cancel (key-binding (kbd "C-c C-k"))))))

(ert-deftest efrit-do-leaves-point-where-it-is-when-a-session-ends ()
  (efrit-do-run-tests--with-plan
      '(((:tool "todo_write" :input (:todos [(:content "One" :status "completed")])))
        ((:text "Done.") (:tool "session_complete" :input (:message "Bye."))))
    (should (string-match-p "One" (thing-at-point (quote line))))))

(ert-deftest efrit-do-plays-the-demonstration-out-of-the-box-and-says-so ()
  (todo-write-with-store
    (let ((inhibit-message t)
          (efrit-do-sessions nil))
      (unwind-protect
          (dolist (choice '(nil t))
            (let ((todo-write-mode-line--chosen choice))
              (save-window-excursion
                (let ((session (efrit-do "Do something")))
                  (should (efrit-do-session-running-p session))
                  (with-current-buffer (window-buffer (get-buffer-window "*efrit-todos*"))
                    (todo-write-view-draw-all)
                    (should (string-prefix-p " Demonstration: " (buffer-string)))
                    (should (efrit-do-run-tests--has-p "set `efrit-do-backend'")))
                  (efrit-do-cancel session)))
              ;; It shows the indicator unless the user has turned it off.
              (should (eq todo-write-mode-line-mode (not choice)))
              (todo-write-mode-line-mode -1)))
        (kill-buffer "*efrit-todos*")))))

(provide 'efrit-do-run-tests)
;;; efrit-do-run-tests.el ends here
