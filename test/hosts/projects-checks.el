;;; projects-checks.el --- Projects, folders and titles of sessions  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The genuine Claude Code works in worktrees and in folders below a project's
;; root, and with folders of settings that the user's Emacs does not know.  Its
;; plans must have the right project, both when it is followed and when they
;; come by todo_write, and the right title if it is followed.  claude.sh runs this.

;;; Code:

(require 'mcp-seams-checks)
(require 'seams-checks)

(defun projects-checks--repository ()
  "Make the project a repository with a linked worktree; return that folder."
  (let ((worktree (concat (directory-file-name claude-checks-folder) "-pond")))
    (pcase-dolist (arguments `(("init" "--quiet")
                               ("-c" "user.name=U" "-c" "user.email=u@example.org"
                                "commit" "--quiet" "--allow-empty" "-m" "Begin")
                               ("worktree" "add" "--quiet" ,worktree)))
      (with-temp-buffer
        (let ((status (apply #'call-process "git" nil t nil "-C" claude-checks-folder arguments)))
          (should (equal '(0 . "") (cons status (buffer-string)))))))
    (file-name-as-directory worktree)))

(defun projects-checks--project (&optional thread)
  "Return the project of THREAD or of the session, or nil."
  (when-let* ((thread (or thread (hosts-thread "claude"))))
    (plist-get (todo-write-about thread) :project)))

(defun projects-checks--title (thread)
  "Return the title of THREAD."
  (plist-get (todo-write-summary thread) :title))

(ert-deftest projects-checks-a-worktree-is-a-project-of-its-own ()
  (claude-checks-run
   seams-checks-one
   (lambda ()
     (let ((worktree (projects-checks--repository)))
       (let ((claude-checks-folder worktree))
         (claude-checks-start "-p" "Dig the pond"))
       (apply #'claude-checks-shows "the worktree's plan" '(active working) seams-checks-rows)
       (should (equal worktree (projects-checks--project)))))))

(ert-deftest projects-checks-a-session-in-a-subfolder-belongs-to-the-root ()
  (claude-checks-run
   seams-checks-one
   (lambda ()
     (projects-checks--repository)
     (todo-write-agents-mode)
     (let ((beds (expand-file-name "beds/" claude-checks-folder)))
       (make-directory beds)
       (let ((claude-checks-folder beds))
         (claude-checks-start "-p" "Plan the beds")))
     (apply #'claude-checks-shows "the subfolder's plan" '(active working) seams-checks-rows)
     (should (equal claude-checks-folder (projects-checks--project))))))

(ert-deftest projects-checks-by-todo-write-in-a-subfolder ()
  (mcp-seams-with-claude
      (list (list (claude-checks-todo-write '("Rake" "in_progress")))
            (list (claude-checks-gate "beds/one"))
            (list (claude-checks-todo-write '("Rake" "completed")))
            (list (claude-checks-gate "beds/two"))
            "Done.")
      ()
    (projects-checks--repository)
    (let ((beds (expand-file-name "beds/" claude-checks-folder)))
      (make-directory beds)
      (make-directory (expand-file-name "beds" beds))
      (let ((claude-checks-folder beds))
        (claude-checks-start "-p" "Plan the beds"))
      (claude-checks-wait "its plan" (lambda () (equal claude-checks-folder
                                                       (projects-checks--project))))
      (let ((thread (hosts-thread "claude"))
            (open (lambda (gate) (write-region "" nil (expand-file-name (concat gate ".gate") beds)
                                               nil 'silent))))
        (todo-write-forget thread)
        (should-not (hosts-thread "claude"))
        (funcall open "beds/one")
        (claude-checks-wait "its next call" (lambda () (hosts-thread "claude")))
        (should (equal claude-checks-folder (projects-checks--project thread)))
        (funcall open "beds/two")
        (claude-checks-ends)))))

(ert-deftest projects-checks-a-thread-that-was-forgotten-keeps-its-title-when-followed ()
  (claude-checks-run
   (append (butlast seams-checks-one)
           (list (list (claude-checks-update "1" "completed"))
                 (list (claude-checks-gate "two"))
                 "Done."))
   (lambda ()
     (apply #'claude-checks-shows "the first gate" '(active working) seams-checks-rows)
     (let ((thread (hosts-thread "claude")))
       (should (equal "Plan the garden" (projects-checks--title thread)))
       (todo-write-forget thread)
       (claude-checks-open "one")
       (claude-checks-wait "its going on" (lambda () (hosts-thread "claude")))
       (claude-checks-wait "its title"
                           (lambda () (equal "Plan the garden" (projects-checks--title thread))))))
   :prompt "Plan the garden"))

;;; Folders of settings that Emacs does not know

(ert-deftest projects-checks-a-program-tells-its-agents-folder ()
  (mcp-seams-with-claude
      (list (list (claude-checks-todo-write '("Rake" "in_progress")))
            (list (claude-checks-gate "one"))
            "Done.")
      ()
    (let* ((folder (expand-file-name "elsewhere" claude-checks-home))
           (claude-checks-environment
            (cons (concat "CLAUDE_CONFIG_DIR=" folder) claude-checks-environment)))
      (copy-directory (expand-file-name ".claude" claude-checks-home) folder)
      (copy-file (expand-file-name ".claude.json" claude-checks-home) (concat folder "/"))
      (todo-write-agents-mode)
      (claude-checks-start "-p" "Plan the garden")
      (claude-checks-wait
       "thoughts and calls of its transcript"
       (lambda () (and (hosts-thread "claude")
                       (todo-write-observations (hosts-thread "claude") :type "TOOL_CALL")))))))

(provide 'projects-checks)
;;; projects-checks.el ends here
