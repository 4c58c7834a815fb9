;;; todo-write-hostile-helper.el --- A hostile folder  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Makes a home folder and a project as an attacker would: directory variables
;; that evaluate code, pipes, devices and links in place of files, huge files, and
;; names that are not text.  Among them is a good session.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-test-helper)
(require 'todo-write-follow)

(defun todo-write-hostile--write (file text)
  "Write TEXT to FILE, in a new folder if need be."
  (make-directory (file-name-directory file) t)
  (let ((coding-system-for-write 'utf-8-unix))
    (write-region text nil file nil 'silent)))

(defun todo-write-hostile--pipe (file)
  "Make a pipe named FILE, in a new folder if need be."
  (make-directory (file-name-directory file) t)
  (call-process "mkfifo" nil nil nil file))

(defun todo-write-hostile--session (file folder content)
  "Append a prompt and a list of CONTENT of an agent in FOLDER to the transcript FILE."
  (apply #'todo-write-test-transcript file folder
         `(:type "user" :uuid "1" :message (:role "user" :content ,content))
         (todo-write-test-transcript-list "c" (list content "in_progress"))))

(defun todo-write-hostile-make-project (project mark)
  "Fill the folder PROJECT; code that is evaluated there creates the file MARK."
  (let ((code (format "((nil . ((eval . (write-region \"\" nil %S)))))" mark)))
    (todo-write-hostile--write (expand-file-name ".dir-locals.el" project) code)
    (todo-write-hostile--write (expand-file-name ".git/.dir-locals.el" project) code)
    (todo-write-hostile--write (expand-file-name ".git/config" project)
                               (format "[core]\n\tfsmonitor = \"touch %s\"\n" mark))
    (todo-write-hostile--pipe (expand-file-name ".git/HEAD" project))
    ;; The plan of an agent in this folder belongs to the project above it.
    (todo-write-hostile--write (expand-file-name "below/.dir-locals.el" project) code)
    (todo-write-hostile--pipe (expand-file-name "below/.git" project))))

(defun todo-write-hostile--fill-transcripts (folder project)
  "Fill FOLDER, in which Claude Code keeps the transcripts of PROJECT."
  (let ((file (lambda (name) (expand-file-name name folder))))
    (dolist (name '("pipe.jsonl" "agent-pipe.jsonl" "good/subagents/agent-pipe.jsonl"
                    "good/subagents/agent-a.meta.json" "good/custom-title.json"))
      (todo-write-hostile--pipe (funcall file name)))
    (todo-write-hostile--write (funcall file "good/subagents/agent-a.jsonl") "no transcript\n")
    (make-symbolic-link "/dev/zero" (funcall file "device.jsonl"))
    (make-symbolic-link "circle.jsonl" (funcall file "circle.jsonl"))
    (make-directory (funcall file "folder.jsonl"))
    (todo-write-hostile--write (concat (file-name-as-directory folder) "\xff.jsonl") "{}\n")
    (make-directory (concat folder "-\xfe"))
    ;; A line that never ends, after a good beginning, in a sparse file of 20 GB.
    (todo-write-hostile--session (funcall file "sparse.jsonl") project "Dig")
    (call-process "truncate" nil nil nil "-s" "20G" (funcall file "sparse.jsonl"))
    (todo-write-hostile--session (funcall file "good.jsonl") project "Sift")))

(defun todo-write-hostile-make-home (home project)
  "Fill HOME/.claude and HOME/.codex with the sessions of agents in PROJECT.
One session, whose id is \"good\", has the task \"Sift\"."
  (let ((file (lambda (name) (expand-file-name name home))))
    (todo-write-hostile--fill-transcripts
     (funcall file (concat ".claude/projects/"
                           (replace-regexp-in-string "[^a-zA-Z0-9]" "-"
                                                     (directory-file-name project))))
     project)
    (dolist (name '(".claude/tasks/good/1.json" ".claude/sessions/1.json"
                    ".codex/sessions/2026/11/22/rollout-2026-11-22T08-00-00-p.jsonl"
                    ".codex/sessions/2026/11/22/pipe.jsonl"))
      (todo-write-hostile--pipe (funcall file name)))
    ;; Claude Code's file of a live process, 300 MB long.
    (let ((huge (funcall file (format ".claude/sessions/%d.json" (emacs-pid)))))
      (todo-write-hostile--write huge "{\"sessionId\": \"")
      (call-process "truncate" nil nil nil "-s" "300M" huge))))

(defmacro todo-write-hostile-with (&rest body)
  "Evaluate BODY with a hostile `home', `project' and an empty store.
`folder' is the folder of the project's transcripts.  Code that is
evaluated there creates the file `mark'."
  (declare (indent 0) (debug t))
  `(let* ((root (file-name-as-directory (make-temp-file "hostile" t)))
          (home (expand-file-name "home" root))
          (project (file-name-as-directory (expand-file-name "project" root)))
          (mark (expand-file-name "evaluated" root))
          (todo-write-follow-agents `((claude . ,(expand-file-name ".claude" home))
                                      (codex . ,(expand-file-name ".codex" home))))
          folder
          (default-directory root)
          (todo-write-follow-interval 0.05))
     (skip-unless (executable-find "mkfifo"))
     (make-directory project t)
     (todo-write-hostile-make-project project mark)
     (todo-write-hostile-make-home home project)
     (setq folder (expand-file-name (todo-write-test-transcript-folder project)
                                    (expand-file-name ".claude/projects" home)))
     ;; Buffers that BODY makes must not keep the folder, which is deleted.
     (unwind-protect (with-temp-buffer
                       (setq default-directory project)
                       (todo-write-with-store ,@body))
       (todo-write-follow-stop)
       (dolist (buffer (buffer-list))
         (with-current-buffer buffer
           (when (string-prefix-p root default-directory)
             (setq default-directory temporary-file-directory))))
       (delete-directory root t))
     (should-not (file-exists-p mark))))

(defun todo-write-hostile-followed-p ()
  "Return non-nil if the good session is followed."
  (equal (todo-write-test-contents "claude:good") '("Sift")))

(provide 'todo-write-hostile-helper)
;;; todo-write-hostile-helper.el ends here
