;;; todo-write-resume-tests.el --- Tests of taking up a session  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-view-test-helper)
(require 'todo-write-follow)
(require 'todo-write-attention)

(defconst todo-write-resume-tests--id "1af7fc5e-0000-4000-8000-00000000000a")

(defun todo-write-resume-tests--run (thread &optional project answer)
  "Press O in the plan of THREAD in PROJECT, and give ANSWER to its question.
Return what would be run, (FOLDER PROGRAM . ARGUMENTS), or the error."
  (let (run)
    (when project
      (todo-write-begin thread :project project))
    (switch-to-buffer (todo-write-show thread))
    (let ((todo-write-terminal-function
           (lambda (_ program arguments)
             (setq run `(,default-directory ,program . ,arguments)))))
      (cl-letf (((symbol-function 'y-or-n-p) (lambda (_) answer)))
        (condition-case error
            (progn (todo-write-test-press "? O") run)
          (user-error (cadr error)))))))

(ert-deftest todo-write-resume-runs-the-program-in-the-folder-after-a-question ()
  (todo-write-test-with-shapes
    (let* ((folder temporary-file-directory)
           (claude (concat "claude:" todo-write-resume-tests--id))
           (codex (concat "codex:" todo-write-resume-tests--id)))
      (should (equal (todo-write-resume-tests--run claude folder t)
                     (list folder "claude" "--resume" todo-write-resume-tests--id)))
      (should (equal (todo-write-resume-tests--run codex folder t)
                     (list folder "codex" "resume" todo-write-resume-tests--id)))
      (should-not (todo-write-resume-tests--run claude nil nil))
      (todo-write-set-activity claude 'working)
      (should (string-search "still runs" (todo-write-resume-tests--run claude nil t))))))

(ert-deftest todo-write-resume-runs-claude-where-its-session-began ()
  (todo-write-test-with-shapes
    (let* ((home (file-name-as-directory (make-temp-file "home" t)))
           (below (expand-file-name "src/" home))
           (todo-write-follow-agents (list (cons 'claude home)))
           (transcript (expand-file-name
                        (format "projects/-x-src/%s.jsonl" todo-write-resume-tests--id) home)))
      (unwind-protect
          (progn
            (dolist (folder (list below (concat home ".git") (file-name-directory transcript)))
              (make-directory folder t))
            (with-temp-file transcript
              (insert (json-encode
                       `((type . "user") (cwd . ,(directory-file-name below))
                         (sessionId . ,todo-write-resume-tests--id)
                         (timestamp . "2026-11-27T10:00:00.000Z") (uuid . "u")
                         (message . ((role . "user") (content . "Go")))))
                      "\n"))
            (let ((thread (todo-write-follow transcript)))
              (should (equal home (plist-get (todo-write-about thread) :project)))
              (should (equal below (car (todo-write-resume-tests--run thread nil t))))))
        (todo-write-follow-stop)
        (delete-directory home t)))))

(ert-deftest todo-write-resume-runs-nothing-that-is-no-session-of-a-local-folder ()
  (todo-write-test-with-shapes
    (let ((folder temporary-file-directory))
      (dolist (thread (list "claude:--help" "claude:$(reboot)" "chat-1"
                            (concat "gemini:" todo-write-resume-tests--id)
                            (concat "claude:" todo-write-resume-tests--id "/x")
                            (concat "claude:" todo-write-resume-tests--id "\n")))
        (should (equal (todo-write-resume-tests--run thread folder t)
                       "Only sessions of Claude Code and Codex can be resumed")))
      (should (equal (todo-write-resume-tests--run
                      (concat "claude:" todo-write-resume-tests--id) "/nowhere/at/all/" t)
                     "The folder of this session does not exist any more")))))

(ert-deftest todo-write-resume-begins-no-terminal-in-that-of-another-session ()
  (save-window-excursion
    (dolist (name '("*claude*" "*claude*<2>"))
      (todo-write-terminal-run "claude" "cat" '("-"))
      (should (equal name (buffer-name)))
      (should (equal '("cat" "-") (last (process-command (get-buffer-process (current-buffer))) 2)))
      (set-process-query-on-exit-flag (get-buffer-process (current-buffer)) nil)))
  (mapc #'kill-buffer '("*claude*" "*claude*<2>")))

(ert-deftest todo-write-resume-connects-to-no-host-that-a-folder-climbs-to ()
  (todo-write-test-with-shapes
    (should (equal (todo-write-resume-tests--run
                    (concat "claude:" todo-write-resume-tests--id) "/tmp/../ssh:evil.example:/x/" t)
                   "This session is of another machine; resume it there"))))

(provide 'todo-write-resume-tests)
;;; todo-write-resume-tests.el ends here
