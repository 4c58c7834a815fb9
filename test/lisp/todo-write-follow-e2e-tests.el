;;; todo-write-follow-e2e-tests.el --- Sessions of Claude Code and Codex  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Follows invented transcripts, and recorded ones if they are available, while
;; another process writes them in pieces, which split lines and characters.  Which
;; lists a transcript ends in is tested in test/rust/transcript.rs.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-test-helper)
(require 'todo-write-follow)

(defun todo-write-follow-e2e--files ()
  "Return the names of our transcripts and of all available recorded ones."
  (append (mapcar #'todo-write-test-file '("test/fixtures/transcripts/todo-write.jsonl"
                                           "test/fixtures/transcripts/tasks.jsonl"))
          (cl-loop for name in '("claude-code-*.jsonl" "claude/*.jsonl" "codex/*.jsonl")
                   append (todo-write-test-corpus (concat "transcripts/" name)))))

(defmacro todo-write-follow-e2e--with (&rest body)
  "Evaluate BODY with an empty store, then stop following sessions."
  (declare (indent 0) (debug t))
  `(todo-write-with-store
     (let ((todo-write-follow-interval 0.1)
           (todo-write-follow-quiet nil))
       (unwind-protect (progn ,@body)
         (todo-write-follow-stop)))))

(ert-deftest todo-write-follow-e2e-subagents-are-under-tasks-of-their-session ()
  (pcase-dolist (`(,file ,count)
                 `((,(todo-write-test-file
                      "test/fixtures/transcripts/5e55a000-0000-4000-8000-000000000003.jsonl")
                    1)
                   (,(car (todo-write-test-corpus "transcripts/claude-code-long.jsonl")) 3)))
    (when file
      (todo-write-follow-e2e--with
        (let* ((thread (todo-write-follow file))
               (children (todo-write-children thread)))
          (should (= count (length children)))
          (pcase-dolist (`(,child . ,item) children)
            (should (todo-write-item thread item))
            (should (> (length (todo-write-items child)) 2))))))))

(defconst todo-write-follow-e2e--writer
  '(let ((coding-system-for-write 'no-conversion) (place 1) end)
     (random "pieces")
     (set-buffer-multibyte nil)
     (insert-file-contents-literally from)
     (while (< place (point-max))
       ;; Mostly parts of a line, sometimes a burst of many.
       (setq end (min (point-max)
                      (+ place 1 (random (if (= 0 (random 4)) 60000 2000)))))
       (write-region place end to t 'silent)
       (setq place end)
       (when (= 0 (random 3)) (sleep-for 0.002))))
  "Form that appends the bytes of the file `from' to the file `to' in pieces.")

(defun todo-write-follow-e2e--lists ()
  "Return the lists of all threads, an alist of (THREAD . ROWS) in order."
  (mapcar (lambda (thread) (cons thread (todo-write-test-rows thread)))
          (sort (todo-write-threads) #'string<)))

(ert-deftest todo-write-follow-e2e-a-writer-in-random-pieces-ends-in-the-same-list ()
  :tags '(:thorough)
  (dolist (from (todo-write-follow-e2e--files))
    (let ((to (make-temp-file "session" nil ".jsonl"))
          (program (expand-file-name invocation-name invocation-directory))
          whole)
      (unwind-protect
          (progn
            (todo-write-follow-e2e--with
              (copy-file from to t)
              (todo-write-follow to)
              (setq whole (todo-write-follow-e2e--lists))
              (should whole))
            (write-region "" nil to nil 'silent)
            (todo-write-follow-e2e--with
              (todo-write-follow to)
              (let ((writer (start-process
                             "writer" nil program "-Q" "--batch" "--eval"
                             (prin1-to-string `(let ((from ,from) (to ,to))
                                                 ,todo-write-follow-e2e--writer)))))
                (todo-write-test-wait (lambda () (not (process-live-p writer))))
                (should (= 0 (process-exit-status writer))))
              (todo-write-test-wait
               (lambda () (equal whole (todo-write-follow-e2e--lists))))))
        (delete-file to)))))

(provide 'todo-write-follow-e2e-tests)
;;; todo-write-follow-e2e-tests.el ends here
