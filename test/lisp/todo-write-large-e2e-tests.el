;;; todo-write-large-e2e-tests.el --- Questions that are valid and very large  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Hooks ask questions of almost 1 MiB, which is what a line may have, and edits whose
;; result would be far larger, while the user types in an Emacs in a terminal.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'todo-write-socket-helper)
(require 'todo-write-user-helper)

(defvar todo-write-large-tests--folder nil "The project of the agent.")

(defmacro todo-write-large-tests--with (prefix &rest body)
  "Run BODY while the user's Emacs, run by the command PREFIX, has the socket."
  (declare (indent 1) (debug t))
  `(let* ((todo-write-large-tests--folder
           (file-name-as-directory (file-truename (make-temp-file "garden" t))))
          (todo-write-socket-test-at (todo-write-socket-test-file))
          (todo-write-user-prefix ,prefix))
     (unwind-protect
         (todo-write-user-call
          24 80
          (lambda ()
            (todo-write-user-eval
             '(require 'todo-write-answer) '(require 'todo-write-permission)
             '(todo-write-module-load)
             `(setq todo-write-socket ,todo-write-socket-test-at)
             '(todo-write-agents-mode))
            ,@body))
       (todo-write-socket-test-close-all)
       (delete-directory todo-write-large-tests--folder t))))

(defun todo-write-large-tests--file (size)
  "Make a file of SIZE times \"a\" in the project; return its name."
  (let ((file (expand-file-name "a.txt" todo-write-large-tests--folder)))
    (write-region (make-string size ?a) nil file nil 'silent)
    file))

(defun todo-write-large-tests--ask (tool input &optional fields then)
  "Let a hook ask for TOOL with INPUT and FIELDS while the user types.
Call the function THEN, if it is non-nil, while the request is open."
  (let ((hook (todo-write-socket-test-hello :role "permission" :id (format "hook-%s" (random t))
                                            :project todo-write-large-tests--folder))
        (line (json-serialize
               `(:type "call" :call 1 :session "s1" :source "process"
                       :arguments (:hook_event_name "PermissionRequest" :tool_name ,tool
                                   :tool_input ,input ,@fields)))))
    (should (< (length line) (ash 1 20)))
    (let ((next 0))
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
      (when then (funcall then))
      (delete-process hook)
      (todo-write-test-wait
       (lambda () (todo-write-user-eval '(null (todo-write-requests))))))))

(defun todo-write-large-tests--fields (n)
  "Return an object with N fields."
  (let ((object (make-hash-table :test #'equal)))
    (dotimes (i n object)
      (puthash (format "f%d" i) "x" object))))

(defun todo-write-large-tests--many (n &rest object)
  "Return a vector of N times OBJECT, in which %d is the number."
  (vconcat (cl-loop for i below n
                    collect (mapcar (lambda (value)
                                      (if (stringp value) (string-replace "%d" (format "%d" i) value)
                                        value))
                                    object))))

(ert-deftest todo-write-large-edits-leave-time-for-keys-when-they-are-asked ()
  (todo-write-large-tests--with nil
    (let ((file (todo-write-large-tests--file 1000000)))
      (dolist (size '(100 400))
        (todo-write-large-tests--ask
         "Edit" (list :file_path file :old_string "a" :replace_all t
                      :new_string (make-string size ?b)))))))

(ert-deftest todo-write-large-questions-leave-time-for-keys ()
  (todo-write-large-tests--with nil
    (dolist (count '(4000 20000))
      (todo-write-large-tests--ask
       "AskUserQuestion"
       (list :questions (todo-write-large-tests--many count :question "Q%d"))))
    (dolist (count '(10000 60000))
      (todo-write-large-tests--ask "Other" (todo-write-large-tests--fields count)))
    (todo-write-large-tests--ask
     "Bash" '(:command "ls")
     (list :permission_suggestions
           (todo-write-large-tests--many
            7500 :type "addRules" :behavior "allow" :destination "session"
            :rules [(:toolName "Bash" :ruleContent "ls")])))))

(defun todo-write-large-tests--look ()
  "Let the user look at the request; return the end of what is shown."
  (todo-write-user-eval
   '(progn (todo-write-answer)
           (redisplay t)
           (with-current-buffer "*todo-write-request*"
             (buffer-substring-no-properties (max 1 (- (point-max) 500)) (point-max))))))

(ert-deftest todo-write-a-large-change-is-shown ()
  (todo-write-large-tests--with nil
    (let ((file (expand-file-name "a.txt" todo-write-large-tests--folder))
          (lines (lambda (char) (mapconcat (lambda (i) (string (+ char (% (* i i) 7))))
                                           (number-sequence 1 250000) "\n"))))
      (write-region (funcall lines ?a) nil file nil 'silent)
      (todo-write-large-tests--ask
       "Write" (list :file_path file :content (funcall lines ?c)) nil
       (lambda ()
         (should (string-search "Yes  (once)" (todo-write-large-tests--look))))))))

(ert-deftest todo-write-a-large-edit-does-not-kill-an-emacs-with-little-memory ()
  (todo-write-large-tests--with '("sh" "-c" "ulimit -v 3500000; exec \"$@\"" "sh")
    (todo-write-large-tests--ask
     "Edit" (list :file_path (todo-write-large-tests--file 1000000)
                  :old_string "a" :replace_all t :new_string (make-string 900 ?b))
     nil (lambda ()
           (should (string-search "the result is too large to be compared"
                                  (todo-write-large-tests--look)))))
    (should (process-live-p todo-write-user-process))))

(provide 'todo-write-large-e2e-tests)
;;; todo-write-large-e2e-tests.el ends here
