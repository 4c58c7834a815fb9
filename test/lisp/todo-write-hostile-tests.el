;;; todo-write-hostile-tests.el --- Following beside hostile files  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Files that others place below the folders of agents stop neither Emacs nor the
;; sessions beside them.

;;; Code:

(require 'ert)
(require 'todo-write-test-helper)
(require 'todo-write-hostile-helper)
(require 'todo-write-socket-helper)
(require 'todo-write-follow)
(require 'todo-write-list)
(require 'efrit-do)

(ert-deftest todo-write-hostile-files-do-not-stop-following-all-sessions ()
  (todo-write-hostile-with
    (set-file-times (expand-file-name "sparse.jsonl" folder) 1000)
    (let ((later (expand-file-name "later.jsonl" folder)))
      (todo-write-agents-mode)
      (todo-write-test-wait #'todo-write-hostile-followed-p)
      (todo-write-hostile--write later (todo-write-hostile--lines "later" project "Knead"))
      (todo-write-test-wait
       (lambda () (equal (todo-write-test-contents "claude:later") '("Knead")))))))

(ert-deftest todo-write-a-followed-file-that-becomes-a-pipe-is-given-up ()
  (todo-write-hostile-with
    (let ((file (expand-file-name "good.jsonl" folder)))
      (todo-write-follow file)
      (should (todo-write-hostile-followed-p))
      (delete-file file)
      (todo-write-hostile--pipe file)
      (should (todo-write-test-warnings
                (todo-write-test-wait (lambda () (not (todo-write-follow--find file))))))
      (should (equal (todo-write-test-contents "claude:good") '("Sift"))))))

(ert-deftest todo-write-the-chooser-offers-sessions-among-hostile-files ()
  (todo-write-hostile-with
    (cl-letf (((symbol-function 'completing-read)
               (lambda (_prompt table &rest _) (car (all-completions "" table)))))
      (should (member (file-name-nondirectory (todo-write-follow--read-session))
                      '("good.jsonl" "sparse.jsonl"))))))

(ert-deftest todo-write-many-sessions-among-hostile-files-are-followed ()
  (todo-write-hostile-with
    (dotimes (n 250)
      (let ((name (format "many%d" n)))
        (todo-write-hostile--write (expand-file-name (concat name ".jsonl") folder)
                                   (todo-write-hostile--lines name project name))))
    (todo-write-agents-mode)
    (todo-write-test-wait
     (lambda () (cl-loop for n below 250
                         always (todo-write-core-call todo-write-dyn--hub-follows-p
                                  (format "claude:many%d" n)))))))

(ert-deftest todo-write-an-agent-in-a-hostile-project-may-write-a-plan ()
  (todo-write-hostile-with
    (todo-write-with-socket
      (should (car (todo-write-socket-test-write
                    (todo-write-socket-test-hello :project (expand-file-name "below" project))
                    "mcp" "One"))))))

(ert-deftest todo-write-the-overview-shows-a-plan-in-a-hostile-project ()
  (todo-write-hostile-with
    (todo-write-follow (expand-file-name "good.jsonl" folder))
    (with-current-buffer (todo-write-list)
      (unwind-protect
          (should (string-search "Sift" (buffer-string)))
        (kill-buffer)))))

(ert-deftest efrit-do-read-file-does-not-wait-for-a-pipe-in-place-of-a-file ()
  (todo-write-hostile-with
    (cl-letf (((symbol-function 'file-regular-p) #'always))
      (should (plist-get (efrit-do-execute-tool
                          "read_file" (list :path (expand-file-name "below/.git" project)))
                         :is-error)))))

(provide 'todo-write-hostile-tests)
;;; todo-write-hostile-tests.el ends here
