;;; todo-write-project-tests.el --- Tests of finding projects  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Other people may have made the folder in which an agent works.

;;; Code:

(require 'ert)
(require 'todo-write-test-helper)
(require 'efrit-do)
(require 'todo-write-visit)

(defvar todo-write-project-tests--ran nil
  "Non-nil once a directory variable has been evaluated.")

(defun todo-write-project-tests--of (folder)
  "Return the project of a plan that an agent begins in FOLDER."
  (let ((default-directory (file-name-as-directory folder)))
    (todo-write "p" (todo-write-test-todos "One"))
    (prog1 (plist-get (todo-write-about "p") :project)
      (todo-write-forget "p"))))

(defmacro todo-write-project-tests--in (folder &rest body)
  "Evaluate BODY with FOLDER, a symbol, bound to a new folder."
  (declare (indent 1) (debug t))
  `(let ((,folder (file-name-as-directory (make-temp-file "project" t))))
     (unwind-protect (todo-write-with-store ,@body)
       (delete-directory ,folder t))))

(defun todo-write-project-tests--write-dir-locals (folder)
  "Write directory variables into FOLDER that evaluate code."
  (write-region "((nil . ((eval . (setq todo-write-project-tests--ran t)))))" nil
                (expand-file-name ".dir-locals.el" folder) nil 'silent))

(ert-deftest todo-write-a-project-is-the-nearest-folder-under-version-control ()
  (todo-write-project-tests--in folder
    (dolist (marker '(".git" ".jj" ".hg"))
      (let* ((root (file-name-as-directory (expand-file-name (concat "x" marker) folder)))
             (below (expand-file-name "src/deep" root)))
        (make-directory below t)
        (should (equal (todo-write-project-tests--of below) (file-name-as-directory below)))
        (make-directory (expand-file-name marker root))
        (should (equal (todo-write-project-tests--of below) root))))))

(ert-deftest todo-write-a-worktree-or-submodule-is-a-project-of-its-own ()
  (todo-write-project-tests--in folder
    (let ((below (file-name-as-directory (expand-file-name "module/src" folder))))
      (make-directory below t)
      (make-directory (expand-file-name ".git/modules/module" folder) t)
      (write-region "gitdir: ../.git/modules/module\n" nil
                    (expand-file-name "module/.git" folder) nil 'silent)
      (should (equal (todo-write-project-tests--of below)
                     (file-name-as-directory (expand-file-name "module" folder)))))))

(ert-deftest todo-write-a-project-is-the-same-with-and-without-a-slash-at-its-end ()
  (todo-write-project-tests--in folder
    (make-directory (expand-file-name ".git" folder))
    (todo-write-begin "a" :project (directory-file-name folder))
    (todo-write-test-write "a" '("One" "in_progress"))
    (let ((file (expand-file-name "main.c" folder)))
      (todo-write-observe "a" "TOOL_EXECUTION" '(:name "Edit" :content "ok") :outcome 'ok
                          :files `((:path ,file :oldText "x\n" :newText "y\n"))))
    (should (equal (todo-write-check-list "a") "- [ ] One\n  - `main.c` +1 −1\n"))
    (let ((default-directory folder))
      (todo-write-test-write "b" "Two")
      (todo-write-forget "b")
      (should (equal (todo-write-plan-newest-of-project) "a"))
      (should (equal (todo-write-buffer-default-thread) "a")))))

(ert-deftest todo-write-finding-a-project-evaluates-no-directory-variables ()
  (todo-write-project-tests--in folder
    (make-directory (expand-file-name ".git" folder))
    (todo-write-project-tests--write-dir-locals folder)
    (setq todo-write-project-tests--ran nil)
    (should (equal (todo-write-project-tests--of folder) folder))
    (should-not todo-write-project-tests--ran)))

(ert-deftest todo-write-finding-a-project-runs-no-program-and-reads-no-file ()
  (todo-write-project-tests--in folder
    (make-directory (expand-file-name ".git" folder))
    (write-region "[core]\n\tfsmonitor = touch ran\n" nil
                  (expand-file-name ".git/config" folder) nil 'silent)
    (let* ((called nil)
           (note (lambda (&rest arguments) (push arguments called)))
           (functions '(call-process process-file make-process insert-file-contents)))
      (dolist (function functions) (advice-add function :before note))
      (unwind-protect
          (let ((default-directory folder))
            (should (equal (todo-write--project) folder)))
        (dolist (function functions) (advice-remove function note)))
      (should-not called))))

(ert-deftest todo-write-a-pipe-in-place-of-git-is-no-project-and-does-not-block ()
  (skip-unless (executable-find "mkfifo"))
  (todo-write-project-tests--in folder
    (let ((below (expand-file-name "below" folder)))
      (make-directory below)
      (make-directory (expand-file-name ".git" folder))
      (call-process "mkfifo" nil nil nil (expand-file-name ".git" below))
      (should (equal (todo-write-project-tests--of below) folder)))))

(ert-deftest efrit-do-makes-a-buffer-without-the-variables-of-its-directory ()
  (todo-write-project-tests--in folder
    (todo-write-project-tests--write-dir-locals folder)
    (setq todo-write-project-tests--ran nil)
    (let ((default-directory folder))
      (efrit-do-execute-tool "buffer_create" '(:name "made" :content "x"))
      (should (get-buffer "made"))
      (kill-buffer "made"))
    (should-not todo-write-project-tests--ran)))

(provide 'todo-write-project-tests)
;;; todo-write-project-tests.el ends here
