;;; todo-write-large-e2e-tests.el --- Questions that are valid and very large  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Hooks ask about edits of almost 1 MiB, which is what a line may have, and about edits whose
;; result would be far larger, while the user types in an Emacs in a terminal that has little
;; memory.  todo-write-fuzz-socket-e2e-tests.el asks large questions of other kinds.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-socket-helper)
(require 'todo-write-user-helper)

(defun todo-write-large-tests--ask (project tool input)
  "Let a hook of PROJECT ask for TOOL with INPUT while the user types; return it."
  (let ((hook (todo-write-socket-test-hello :role "permission" :id tool :project project))
        (line (json-serialize
               `(:type "call" :call 1 :session "s1" :source "process"
                       :arguments (:hook_event_name "PermissionRequest" :tool_name ,tool
                                   :tool_input ,input))))
        (next 0))
    (should (< (length line) (ash 1 20)))
    (todo-write-user-type-until
     (lambda ()
       ;; A part at a time, so that this Emacs can type meanwhile.
       (when (< next (length line))
         (let ((end (min (length line) (+ next 32768))))
           (process-send-string hook (substring line next end))
           (when (= (setq next end) (length line))
             (process-send-string hook "\n"))))
       (and (= next (length line))
            (todo-write-user-eval '(and (todo-write-requests) t)))))
    hook))

(ert-deftest todo-write-large-changes-are-shown-by-an-emacs-with-little-memory ()
  (let* ((project (file-name-as-directory (file-truename (make-temp-file "garden" t))))
         (file (expand-file-name "a.txt" project))
         (todo-write-socket-test-at (todo-write-socket-test-file))
         (todo-write-user-prefix '("sh" "-c" "ulimit -v 3500000; exec \"$@\"" "sh"))
         (lines (lambda (char) (mapconcat (lambda (i) (string (+ char (% (* i i) 7))))
                                          (number-sequence 1 250000) "\n"))))
    (unwind-protect
        (todo-write-user-call
         24 80
         (lambda ()
           (todo-write-user-eval
            '(require 'todo-write-answer) '(require 'todo-write-permission)
            '(todo-write-module-load)
            `(setq todo-write-socket ,todo-write-socket-test-at)
            '(todo-write-agents-mode))
           (pcase-dolist (`(,old ,tool ,shown . ,input)
                          `((,(funcall lines ?a) "Write" "Yes  (once)" :content ,(funcall lines ?c))
                            (,(make-string 1000000 ?a) "Edit" "the result is too large to be compared"
                             :old_string "a" :replace_all t :new_string ,(make-string 900 ?b))))
             (write-region old nil file nil 'silent)
             (let ((hook (todo-write-large-tests--ask project tool `(:file_path ,file ,@input))))
               (should (string-search
                        shown
                        (todo-write-user-eval
                         '(todo-write-answer)
                         '(redisplay t)
                         '(with-current-buffer "*todo-write-request*"
                            (buffer-substring-no-properties (max 1 (- (point-max) 500)) (point-max))))))
               (delete-process hook)
               (todo-write-test-wait
                (lambda () (todo-write-user-eval '(null (todo-write-requests)))))))
           (should (process-live-p todo-write-user-process))))
      (todo-write-socket-test-close-all)
      (delete-directory project t))))

(provide 'todo-write-large-e2e-tests)
;;; todo-write-large-e2e-tests.el ends here
