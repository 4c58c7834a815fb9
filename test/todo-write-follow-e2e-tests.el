;;; todo-write-follow-e2e-tests.el --- Sessions of Claude Code  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Transcripts, ours and the recorded ones where they are there, are followed:
;; whole, and while another process writes them, in pieces that heed neither
;; lines nor characters.  What is expected is worked out from the JSON here, by
;; other code.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'seq)
(require 'todo-write-test-helper)
(require 'todo-write-follow)

;;; What a transcript comes to

(defun todo-write-follow-e2e--lines (file)
  "Return the lines of FILE as a list of alists."
  (with-temp-buffer
    (let ((coding-system-for-read 'utf-8-unix))
      (insert-file-contents file))
    (cl-loop until (eobp)
             collect (json-parse-buffer :object-type 'alist :null-object nil
                                        :false-object nil)
             do (skip-chars-forward "\n"))))

(defun todo-write-follow-e2e--blocks (line type)
  "Return the blocks of LINE that are of TYPE."
  (let ((content (let-alist line .message.content)))
    (and (vectorp content)
         (seq-filter (lambda (block) (equal (alist-get 'type block) type)) content))))

(defun todo-write-follow-e2e--answers (lines)
  "Return a table of the answers in LINES to calls that were not refused."
  (let ((answers (make-hash-table :test #'equal)))
    (dolist (line lines answers)
      (dolist (block (todo-write-follow-e2e--blocks line "tool_result"))
        (unless (alist-get 'is_error block)
          (puthash (alist-get 'tool_use_id block) (or (alist-get 'content block) "")
                   answers))))))

(defun todo-write-follow-e2e--fold (tasks name input answer)
  "Return TASKS, a list of (NUMBER CONTENT STATUS), after a call.
NAME and INPUT are those of the call, and ANSWER is what it came to."
  (let-alist input
    (if (equal name "TaskCreate")
        (append tasks (list (list (progn (string-match "#\\([0-9]+\\)" answer)
                                         (match-string 1 answer))
                                  .subject "pending")))
      (cl-loop for (number content status) in tasks
               if (not (equal number .taskId)) collect (list number content status)
               else unless (equal .status "deleted")
               collect (list number (or .subject content) (or .status status))))))

(defun todo-write-follow-e2e--expected (file)
  "Return the last lists in FILE, an alist of (THREAD . ROWS).
Rows are lists (CONTENT STATUS).  Lines of subagents are left out."
  (let* ((lines (todo-write-follow-e2e--lines file))
         (answers (todo-write-follow-e2e--answers lines))
         tasks lists)
    (dolist (line lines lists)
      (let ((thread (concat "claude:" (alist-get 'sessionId line))))
        (dolist (block (unless (alist-get 'isSidechain line)
                         (todo-write-follow-e2e--blocks line "tool_use")))
          (let-alist block
            (when (gethash .id answers)
              (pcase .name
                ("TodoWrite"
                 (setf (alist-get thread lists nil nil #'equal)
                       (mapcar (lambda (entry)
                                 (list (alist-get 'content entry)
                                       (alist-get 'status entry)))
                               .input.todos)))
                ((or "TaskCreate" "TaskUpdate")
                 (setf (alist-get thread tasks nil nil #'equal)
                       (todo-write-follow-e2e--fold
                        (alist-get thread tasks nil nil #'equal)
                        .name .input (gethash .id answers))
                       (alist-get thread lists nil nil #'equal)
                       (mapcar #'cdr (alist-get thread tasks nil nil #'equal))))))))))))

(defun todo-write-follow-e2e--shown (thread)
  "Return the list of THREAD as in `todo-write-follow-e2e--expected'."
  (mapcar #'butlast (todo-write-test-rows thread)))

;;; Following

(defun todo-write-follow-e2e--files ()
  "Return the names of our transcripts, and of the recorded ones that are there."
  (let ((default-directory (file-name-as-directory (getenv "TODO_WRITE_ROOT"))))
    (append (mapcar #'expand-file-name '("test/fixtures/transcripts/todo-write.jsonl"
                                         "test/fixtures/transcripts/tasks.jsonl"))
            (file-expand-wildcards
             (expand-file-name "../shared/transcripts/claude-code-*.jsonl")))))

(defmacro todo-write-follow-e2e--with (&rest body)
  "Evaluate BODY with a store of its own, and follow nothing afterwards."
  (declare (indent 0) (debug t))
  `(todo-write-with-store
     (let ((todo-write-follow-interval 0.1)
           (todo-write-follow-quiet nil)
           (todo-write-follow--sessions nil))
       (unwind-protect (progn ,@body)
         (todo-write-follow-stop)))))

(ert-deftest todo-write-follow-e2e-sessions-end-in-the-lists-of-their-files ()
  (dolist (file (todo-write-follow-e2e--files))
    (todo-write-follow-e2e--with
      (todo-write-follow file)
      (pcase-dolist (`(,thread . ,rows) (todo-write-follow-e2e--expected file))
        (should rows)
        (should (equal (cons file (todo-write-follow-e2e--shown thread))
                       (cons file rows)))))))

(ert-deftest todo-write-follow-e2e-subagents-are-under-tasks-of-their-session ()
  (pcase-dolist (`(,name ,count)
                 '(("test/fixtures/transcripts/5e55a000-0000-4000-8000-000000000003.jsonl" 1)
                   ("../shared/transcripts/claude-code-long.jsonl" 3)))
    (let ((file (expand-file-name name (getenv "TODO_WRITE_ROOT"))))
      (when (file-exists-p file)
        (todo-write-follow-e2e--with
          (let* ((thread (todo-write-follow file))
                 (children (todo-write-children thread)))
            (should (= count (length children)))
            (pcase-dolist (`(,child . ,item) children)
              (should (todo-write-item thread item))
              (should (> (length (todo-write-items child)) 2)))))))))

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
  "What the writing process does, with the files FROM and TO.")

(ert-deftest todo-write-follow-e2e-a-writer-in-random-pieces-ends-in-the-same-list ()
  (dolist (from (todo-write-follow-e2e--files))
    (let* ((to (make-temp-file "session" nil ".jsonl"))
           (expected (todo-write-follow-e2e--expected from))
           (program (expand-file-name invocation-name invocation-directory)))
      (unwind-protect
          (todo-write-follow-e2e--with
            (todo-write-follow to)
            (let ((writer (start-process
                           "writer" nil program "-Q" "--batch" "--eval"
                           (prin1-to-string `(let ((from ,from) (to ,to))
                                               ,todo-write-follow-e2e--writer)))))
              (todo-write-test-wait (lambda () (not (process-live-p writer))) 60)
              (should (= 0 (process-exit-status writer))))
            (todo-write-test-wait
             (lambda ()
               (cl-loop for (thread . rows) in expected
                        always (equal rows (todo-write-follow-e2e--shown thread))))))
        (delete-file to)))))

(provide 'todo-write-follow-e2e-tests)
;;; todo-write-follow-e2e-tests.el ends here
