;;; agent-shell-checks.el --- Checks with agent-shell  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These checks run `todo-write-agent-shell-mode' with the real agent-shell and
;; Claude's real ACP adapter.  agent-shell.sh runs them.

;;; Code:

(require 'agent-shell-helper)
(require 'todo-write-tell)
(require 'todo-write-review)

(defvar agent-shell-agent-configs)
(defvar agent-shell-header-style)
(defvar agent-shell-preferred-agent-config)

(defun agent-shell-checks-list (&rest statuses)
  "Return a call of TodoWrite with STATUSES of the tasks; nil leaves one out."
  (list :name "TodoWrite"
        :arguments
        (list :todos
              (vconcat
               (cl-loop for (content active) in '(("Rake the leaves" "Raking the leaves")
                                                  ("Water the beds" "Giving them water")
                                                  ("Weed the path" "Weeding"))
                        for status in statuses
                        when status
                        collect (list :content content :status status :activeForm active))))))

(defun agent-shell-checks-rake ()
  "Return turns of a model that asks for a permission."
  (list
   (list (agent-shell-checks-list "pending" "pending" "pending"))
   (list (agent-shell-checks-list "in_progress" "pending" "pending"))
   (list '(:name "Bash" :arguments (:command "echo raked > leaves.txt" :description "Rakes")))
   (list (agent-shell-checks-list "completed" "in_progress" nil))
   "Raked."))

(defun agent-shell-checks-edit ()
  "Return turns of a model that makes a file, and changes it after another prompt."
  (let ((file (expand-file-name "a.txt" agent-shell-helper-folder)))
    (list
     (list (list :name "Write" :arguments (list :file_path file :content "one\ntwo\n")))
     "Written."
     (list (list :name "Edit" :arguments (list :file_path file
                                               :old_string "one\ntwo" :new_string "1\n2")))
     "Edited.")))

(defvar agent-shell-checks-turns #'agent-shell-checks-rake "Function that returns a model's turns.")

(defun agent-shell-checks-model (function)
  "Call FUNCTION with the URL of a model that has `agent-shell-checks-turns'."
  (funcall (agent-shell-helper-aimock
            (apply #'agent-shell-helper-fixture (funcall agent-shell-checks-turns)))
           function))

(defmacro agent-shell-checks-with (name &rest body)
  "Run BODY with Claude's adapter as the agent, and record it as NAME."
  (declare (indent 1) (debug t))
  `(agent-shell-helper-with ,name #'agent-shell-checks-model
       (append (hosts-claude-environment agent-shell-helper-url)
               '("ENABLE_TOOL_SEARCH=false" "CLAUDE_CODE_ENABLE_TASKS=0" "claude-agent-acp"))
     ,@body))

(defun agent-shell-checks-asked ()
  "Start a shell, and return it when its agent asks for a permission."
  (let ((shell (agent-shell-helper-start)))
    (agent-shell-helper-prompt shell)
    (agent-shell-helper-wait shell 'waiting)
    shell))

(defun agent-shell-checks-allow (shell)
  "Press the key that allows what the agent of SHELL asks for."
  (with-current-buffer shell
    (agent-shell-jump-to-latest-permission-button-row)
    (call-interactively (key-binding "y"))))

(defconst agent-shell-checks-planned
  '(("Rake the leaves" "in_progress" "Raking the leaves")
    ("Water the beds" "pending" "Water the beds")
    ("Weed the path" "pending" "Weed the path"))
  "The plan while the agent asks.")

;;; Checks

(ert-deftest agent-shell-shows-the-plan-and-that-its-agent-waits ()
  (agent-shell-checks-with 'allowed
    (let* ((shell (agent-shell-checks-asked))
           (thread (agent-shell-helper-thread shell)))
      (should (equal (todo-write-test-rows thread) agent-shell-checks-planned))
      (should (equal (cdr (todo-write-activity thread))
                     "echo raked > leaves.txt"))
      (should (equal thread (with-current-buffer shell
                              (with-current-buffer (todo-write-show) todo-write-view-thread))))
      (agent-shell-checks-allow shell)
      (should (eq 'working (car (todo-write-activity thread))))
      (agent-shell-helper-wait shell nil)
      (should (equal (todo-write-test-rows thread)
                     '(("Rake the leaves" "completed" "Raking the leaves")
                       ("Water the beds" "in_progress" "Giving them water"))))
      (should (eq 'paused (todo-write-state thread)))
      (should (= 3 (length (todo-write-revisions thread)))))))

(defun agent-shell-checks-answer (thread kind)
  "Choose the option of KIND of the request of THREAD in this Emacs."
  (let ((request (car (todo-write-requests thread))))
    (should (string-prefix-p "echo raked > leaves.txt\n# " (todo-write-request-detail request)))
    (should (todo-write-answer-request
             thread (plist-get request :id)
             (plist-get (seq-find (lambda (option) (eq kind (plist-get option :kind)))
                                  (plist-get request :options))
                        :value)))
    (should-not (todo-write-requests thread))))

(defun agent-shell-checks-raked-p ()
  "Return non-nil if the agent's command ran."
  (file-exists-p (expand-file-name "leaves.txt" agent-shell-helper-folder)))

(ert-deftest agent-shell-is-answered-in-a-buffer-of-ours ()
  (pcase-dolist (`(,kind ,ran) '((allow t) (deny nil)))
    (agent-shell-checks-with nil
      (let* ((shell (agent-shell-checks-asked))
             (thread (agent-shell-helper-thread shell)))
        (agent-shell-checks-answer thread kind)
        (agent-shell-helper-wait shell nil)
        (should (eq ran (agent-shell-checks-raked-p)))
        ;; Its dialog is gone, too.
        (with-current-buffer shell
          (should-not (agent-shell-jump-to-latest-permission-button-row)))))))

(ert-deftest agent-shell-answered-there-is-no-question-here ()
  (agent-shell-checks-with nil
    (let* ((shell (agent-shell-checks-asked))
           (thread (agent-shell-helper-thread shell)))
      (should (= 1 (length (todo-write-requests thread))))
      (agent-shell-checks-allow shell)
      (should-not (todo-write-requests thread))
      (agent-shell-helper-wait shell nil)
      (should (agent-shell-checks-raked-p)))))

(ert-deftest agent-shell-asks-the-users-own-function-too ()
  (let ((agent-shell-permission-responder-function #'agent-shell-permission-allow-always))
    (agent-shell-checks-with nil
      (let ((shell (agent-shell-helper-start)))
        (agent-shell-helper-prompt shell)
        (agent-shell-helper-wait shell 'working)
        (agent-shell-helper-wait shell nil)
        (should (agent-shell-checks-raked-p))
        (should-not (todo-write-requests (agent-shell-helper-thread shell)))))))

(ert-deftest agent-shell-keeps-two-shells-of-a-project-apart ()
  (agent-shell-checks-with nil
    (let* ((one (agent-shell-checks-asked))
           (two (agent-shell-helper-start)))
      (should (equal "Garden" (substring (buffer-name two) 0 6)))
      (agent-shell-checks-allow one)
      (agent-shell-helper-wait one nil)
      (agent-shell-helper-prompt two)
      (agent-shell-helper-wait two 'waiting)
      (should (equal (todo-write-test-rows (agent-shell-helper-thread two))
                     agent-shell-checks-planned))
      (should (eq 'paused (todo-write-state (agent-shell-helper-thread one))))
      (dolist (shell (list one two))
        (should (equal (agent-shell-helper-thread shell)
                       (buffer-local-value 'todo-write-view-thread shell)))))))

(ert-deftest agent-shell-pauses-the-plan-of-an-interrupted-agent ()
  (agent-shell-checks-with 'interrupted
    (let* ((shell (agent-shell-checks-asked))
           (thread (agent-shell-helper-thread shell)))
      (with-current-buffer shell
        (agent-shell-interrupt t))
      (agent-shell-helper-wait shell nil)
      (should (eq 'paused (todo-write-state thread)))
      (should (equal "cancelled" (plist-get (todo-write-summary thread) :reason))))))

(ert-deftest agent-shell-queues-a-comment-while-its-agent-works ()
  (agent-shell-checks-with nil
    (let* ((shell (agent-shell-checks-asked))
           (thread (agent-shell-helper-thread shell)))
      (should (string-match-p "in the queue" (todo-write-tell thread "Why?" '(:path "/a" :line 2))))
      (agent-shell-checks-allow shell)
      (todo-write-test-wait
       (lambda ()
         (equal "The user comments on /a:2:\nWhy?"
                (plist-get (car (last (todo-write-turns thread))) :prompt)))))))

(defun agent-shell-checks-got-p (regexp)
  "Return non-nil if a transcript of Claude Code matches REGEXP."
  (seq-some (lambda (file)
              (with-temp-buffer
                (insert-file-contents file)
                (re-search-forward regexp nil t)))
            (directory-files-recursively (expand-file-name "home/.claude" agent-shell-helper-folder)
                                         "\\.jsonl\\'")))

(ert-deftest agent-shell-gets-a-comment-of-a-review ()
  (let ((agent-shell-checks-turns #'agent-shell-checks-edit))
    (agent-shell-checks-with nil
      (let* ((shell (agent-shell-checks-asked))
             (thread (agent-shell-helper-thread shell)))
        (agent-shell-checks-allow shell)
        (agent-shell-helper-wait shell nil)
        (todo-write-test-wait (lambda () (todo-write-new thread)))
        (todo-write-review thread)
        (goto-char (point-min))
        (search-forward "+two")
        (todo-write-comment)
        (insert "Keep it")
        (todo-write-compose-send)
        (with-current-buffer "*todo-write-review*"
          (goto-char (point-min))
          (todo-write-review-mark))
        (should-not (todo-write-new thread))
        ;; It is a draft, which the user sends.
        (with-current-buffer shell
          (goto-char (point-max))
          (call-interactively (key-binding (kbd "RET"))))
        (agent-shell-helper-wait shell 'waiting)
        (should (agent-shell-checks-got-p
                 "The user comments on [^\"]*a\\.txt:2:\\\\n> \\+two\\\\nKeep it"))
        (should (equal '(t) (mapcar (lambda (comment) (plist-get comment :told))
                                    (todo-write-plan-comments thread))))
        (agent-shell-checks-allow shell)
        (agent-shell-helper-wait shell nil)
        (todo-write-test-wait (lambda () (todo-write-new thread)))
        (pcase-dolist (`(,range ,lines) '((nil "\n-one\n-two\n+1\n+2\n")
                                          ((4) "\n-one\n-two\n+1\n+2\n")
                                          ((16) "@@ -0,0 +1,2 @@\n+1\n+2\n")))
          (todo-write-review thread nil nil range)
          (should (string-search lines (buffer-string))))))))

(ert-deftest agent-shell-reports-an-agent-that-crashed ()
  (agent-shell-checks-with 'crashed
    (let* ((shell (agent-shell-checks-asked))
           (thread (agent-shell-helper-thread shell)))
      (signal-process (agent-shell-helper-state shell :client :process) 'KILL)
      (agent-shell-helper-note 'exit)
      (agent-shell-helper-wait shell 'failed)
      (should (equal "agent exited (9)" (cdr (todo-write-activity thread))))
      (should (eq 'paused (todo-write-state thread))))))

(ert-deftest agent-shell-pauses-the-plan-of-a-shell-that-is-killed ()
  (agent-shell-checks-with nil
    (let* ((shell (agent-shell-checks-asked))
           (thread (agent-shell-helper-thread shell)))
      (agent-shell-helper-kill shell)
      (should-not (todo-write-activity thread))
      (should (equal "the session was closed"
                     (plist-get (todo-write-summary thread) :reason))))))

(ert-deftest agent-shell-can-be-open-before-the-mode-which-restores-it ()
  (agent-shell-checks-with nil
    (todo-write-agent-shell-mode -1)
    (let* ((shell (agent-shell-helper-start))
           (thread (agent-shell-helper-thread shell)))
      (todo-write-agent-shell-mode 1)
      (should (equal thread (buffer-local-value 'todo-write-view-thread shell)))
      (agent-shell-helper-prompt shell)
      (agent-shell-helper-wait shell 'waiting)
      (should (equal (todo-write-test-rows thread) agent-shell-checks-planned))
      (todo-write-agent-shell-mode -1)
      (should-not (todo-write-activity thread))
      (should-not (local-variable-p 'todo-write-view-thread shell))
      (agent-shell-checks-allow shell)
      (todo-write-test-wait
       (lambda () (not (agent-shell-helper-state shell :active-requests))))
      (should (equal (todo-write-test-rows thread) agent-shell-checks-planned)))))

(provide 'agent-shell-checks)
;;; agent-shell-checks.el ends here
