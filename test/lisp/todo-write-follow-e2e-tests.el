;;; todo-write-follow-e2e-tests.el --- Sessions of Claude Code and Codex  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Follows invented transcripts, and recorded ones if they are available: complete
;; files, and files that another process writes in pieces, which split lines and
;; characters.  The expected lists are computed here from the JSON, without the
;; code under test.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'seq)
(require 'todo-write-test-helper)
(require 'todo-write-follow)

;;; Expected lists

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
  "Return a table of the answers in LINES to calls that were not refused.
An answer is a list (TEXT FIELDS LINE).  \"Task not found\" counts too: it
says that the list does not have the task."
  (let ((answers (make-hash-table :test #'equal)))
    (dolist (line lines answers)
      (dolist (block (todo-write-follow-e2e--blocks line "tool_result"))
        (let* ((fields (alist-get 'toolUseResult line))
               (fields (and (consp fields) fields))
               (success (assq 'success fields)))
          (when (or (equal (alist-get 'content block) "Task not found")
                    (not (or (alist-get 'is_error block)
                             (and success (null (cdr success))))))
            (puthash (alist-get 'tool_use_id block)
                     (list (or (alist-get 'content block) "") fields line)
                     answers)))))))

(defun todo-write-follow-e2e--fold (tasks name input answer)
  "Return TASKS, a list of (NUMBER CONTENT STATUS), after a call.
NAME and INPUT are those of the call, and ANSWER is its answer."
  (let-alist input
    (pcase name
      ("TaskCreate"
       (sort (cons (list (progn (string-match "#\\([0-9]+\\)" (car answer))
                                (match-string 1 (car answer)))
                         .subject "pending")
                   (copy-sequence tasks))
             (lambda (a b) (< (string-to-number (car a)) (string-to-number (car b))))))
      ("TaskList"
       (if (assq 'tasks (nth 1 answer))
           (mapcar (lambda (task) (let-alist task (list .id .subject .status)))
                   (alist-get 'tasks (nth 1 answer)))
         tasks))
      (_ (cl-loop for (number content status) in tasks
                  if (not (equal number .taskId)) collect (list number content status)
                  else unless (or (equal .status "deleted")
                                  (equal (car answer) "Task not found"))
                  collect (list number (or .subject content) (or .status status)))))))

(defun todo-write-follow-e2e--time (line)
  "Return the time of LINE in seconds."
  (pcase-let ((`(,seconds ,fraction) (split-string (alist-get 'timestamp line) "[.Z]")))
    (+ (float-time (date-to-time (concat seconds "Z")))
       (string-to-number (concat "0." fraction)))))

(defun todo-write-follow-e2e--cleared-p (since line)
  "Return non-nil if a list that was done SINCE is cleared at LINE.
In a terminal it is cleared after five seconds.  SINCE is nil if the list
is not done."
  (and since
       (member (alist-get 'entrypoint line) '(nil "cli"))
       (>= (- (todo-write-follow-e2e--time line) since) 5)))

(defun todo-write-follow-e2e--expected (file)
  "Return the last lists in FILE, an alist of (THREAD . ROWS).
Rows are lists (CONTENT STATUS).  Lines of subagents are left out."
  (let ((lines (todo-write-follow-e2e--lines file)))
    (if (equal (alist-get 'type (car lines)) "session_meta")
        (todo-write-follow-e2e--expected-plan lines)
      (todo-write-follow-e2e--expected-lists lines))))

(defun todo-write-follow-e2e--expected-lists (lines)
  "Return the last lists in LINES of Claude Code."
  (let ((answers (todo-write-follow-e2e--answers lines))
        tasks done lists)
    (dolist (line lines lists)
      (let ((thread (concat "claude:" (alist-get 'sessionId line))))
        (dolist (block (unless (alist-get 'isSidechain line)
                         (todo-write-follow-e2e--blocks line "tool_use")))
          (when-let* ((answer (gethash (alist-get 'id block) answers)))
            (let-alist block
              (pcase .name
                ("TodoWrite"
                 (setf (alist-get thread lists nil nil #'equal)
                       (mapcar (lambda (entry)
                                 (list (alist-get 'content entry)
                                       (alist-get 'status entry)))
                               .input.todos)))
                ((or "TaskCreate" "TaskUpdate" "TaskList")
                 (when (and (equal .name "TaskCreate")
                            (todo-write-follow-e2e--cleared-p
                             (alist-get thread done nil nil #'equal) (nth 2 answer)))
                   (setf (alist-get thread tasks nil nil #'equal) nil))
                 (let ((new (todo-write-follow-e2e--fold
                             (alist-get thread tasks nil nil #'equal)
                             .name .input answer)))
                   (setf (alist-get thread tasks nil nil #'equal) new
                         (alist-get thread lists nil nil #'equal) (mapcar #'cdr new))
                   (setf (alist-get thread done nil nil #'equal)
                         (and new
                              (seq-every-p (lambda (task) (equal (nth 2 task) "completed")) new)
                              (or (alist-get thread done nil nil #'equal)
                                  (todo-write-follow-e2e--time (nth 2 answer)))))))))))))))

(defun todo-write-follow-e2e--expected-plan (lines)
  "Return the last plan in LINES of Codex that was passed as a function."
  (let ((accepted (make-hash-table :test #'equal))
        (thread (concat "codex:" (let-alist (car lines) .payload.id)))
        plan)
    (dolist (line lines)
      (let-alist (alist-get 'payload line)
        (puthash .call_id (or (equal .output "Plan updated") (gethash .call_id accepted))
                 accepted)))
    (dolist (line lines)
      (let-alist (alist-get 'payload line)
        (when (and (equal .name "update_plan") (gethash .call_id accepted))
          (setq plan (alist-get 'plan (json-parse-string .arguments :object-type 'alist))))))
    (and plan
         `((,thread . ,(mapcar (lambda (step) (let-alist step (list .step .status))) plan))))))

(defun todo-write-follow-e2e--shown (thread)
  "Return the list of THREAD as in `todo-write-follow-e2e--expected'."
  (mapcar #'butlast (todo-write-test-rows thread)))

;;; Following

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

(ert-deftest todo-write-follow-e2e-sessions-end-in-the-lists-of-their-files ()
  (dolist (file (todo-write-follow-e2e--files))
    (todo-write-follow-e2e--with
      (todo-write-follow file)
      (pcase-dolist (`(,thread . ,rows) (todo-write-follow-e2e--expected file))
        (should (equal (cons file (todo-write-follow-e2e--shown thread))
                       (cons file rows)))))))

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
