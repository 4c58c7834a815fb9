;;; todo-write-gptel-tests.el --- Plans in gptel chats, without gptel  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'ert)
(require 'todo-write-gptel)
(require 'todo-write-test-helper)

(defvar gptel-tools)

(defmacro todo-write-gptel-tests--in-chat (&rest body)
  "Evaluate BODY in a new buffer with a store of its own."
  (declare (indent 0) (debug t))
  `(todo-write-with-store (with-temp-buffer ,@body)))

(defun todo-write-gptel-tests--todos (&rest entries)
  "Return ENTRIES, as for `todo-write-test-todos', as gptel passes them."
  (plist-get (apply #'todo-write-test-todos entries) :todos))

(ert-deftest todo-write-gptel-gives-each-chat-one-thread ()
  (todo-write-gptel-tests--in-chat
    (let ((first (current-buffer)))
      (todo-write-gptel--write (todo-write-gptel-tests--todos "One"))
      (with-temp-buffer
        (todo-write-gptel--write (todo-write-gptel-tests--todos "Other"))
        (should-not (equal todo-write-gptel-thread
                           (buffer-local-value 'todo-write-gptel-thread first))))
      (let ((thread todo-write-gptel-thread))
        (rename-buffer (generate-new-buffer-name "renamed"))
        (todo-write-gptel--write (todo-write-gptel-tests--todos "One" "Two"))
        (should (equal todo-write-gptel-thread thread))
        (should (equal (todo-write-test-contents thread) '("One" "Two")))))))

(ert-deftest todo-write-gptel-restores-the-list-of-a-chat-in-a-file ()
  (todo-write-with-store
    (let ((file (make-temp-file "chat" nil ".md")) threads)
      (unwind-protect
          (dotimes (_ 2)
            (with-current-buffer (find-file-noselect file)
              (todo-write-gptel--write (todo-write-gptel-tests--todos "One"))
              (push todo-write-gptel-thread threads)
              (kill-buffer)))
        (delete-file file))
      (should (equal (car threads) (cadr threads)))
      (should (= (length (todo-write-revisions (car threads))) 1)))))

(ert-deftest todo-write-gptel-answers-a-bad-call-with-its-problems ()
  (todo-write-gptel-tests--in-chat
    (should (string-search "received null" (todo-write-gptel--write nil)))
    (should (string-search "todos[0].status"
                           (todo-write-gptel--write [(:content "A" :status "high")])))))

(ert-deftest todo-write-gptel-pauses-the-plan-of-a-chat-that-is-closed ()
  (todo-write-gptel-tests--in-chat
    (let (thread)
      ;; Temporary buffers run no hooks.
      (with-current-buffer (generate-new-buffer "chat")
        (todo-write-gptel--write (todo-write-gptel-tests--todos '("One" "in_progress")))
        (setq thread todo-write-gptel-thread)
        (kill-buffer))
      (should (eq (todo-write-state thread) 'paused)))))

(ert-deftest todo-write-gptel-lets-todo-write-show-find-the-plan-of-the-chat ()
  (todo-write-gptel-tests--in-chat
    (todo-write-gptel--write (todo-write-gptel-tests--todos "Of this chat"))
    (let ((thread todo-write-gptel-thread))
      (todo-write-test-write "another" "Of another")
      (require 'todo-write-view)
      (let ((buffer (todo-write-show)))
        (unwind-protect
            (should (equal (buffer-local-value 'todo-write-view-thread buffer) thread))
          (kill-buffer buffer))))))

(ert-deftest todo-write-gptel-a-message-to-the-agent-is-a-draft-in-its-chat ()
  (todo-write-gptel-tests--in-chat
    (require 'todo-write-tell)
    (insert "*** Hello")
    (todo-write-gptel--write (todo-write-gptel-tests--todos "One"))
    (let ((thread todo-write-gptel-thread))
      (should (string-match-p "is a draft in" (todo-write-tell thread "Why?" '(:path "/a" :line 2))))
      (should (string-suffix-p "*** Hello\nThe user comments on /a:2:\nWhy?\n"
                               (substring-no-properties (buffer-string))))
      (should (equal '(t) (mapcar (lambda (comment) (plist-get comment :told))
                                  (todo-write-plan-comments thread))))
      (ert-info ("The model writes there while it answers, and hears it with its next result")
        (todo-write-set-activity thread 'working)
        (todo-write-tell thread "And?" '(:path "/a"))
        (should-not (string-search "And?" (buffer-string)))
        (should (string-suffix-p "The user comments on /a:\nAnd?"
                                 (todo-write-gptel--write (todo-write-gptel-tests--todos "One"))))))))

(ert-deftest todo-write-gptel-an-edit-counts-as-told-only-if-gptel-agents-model-was-told ()
  (cl-letf (((symbol-function 'gptel-tool-name) (lambda (_) "TodoWrite"))
            ((symbol-function 'gptel-tool-category) (lambda (_) "gptel-agent")))
    (pcase-dolist (`(,todo-write-gptel-agent ,tells) '((t nil) (answer t)))
      (ert-info ((format "%s" todo-write-gptel-agent))
        (todo-write-gptel-tests--in-chat
          (let* ((gptel-tools '(theirs))
                 (call (lambda (&rest texts)
                         (plist-get (todo-write-gptel--call-begins
                                     (list :name "TodoWrite"
                                           :args (apply #'todo-write-test-todos texts)))
                                    :result))))
            (funcall call "Rake" "Water")
            (todo-write-edit todo-write-gptel-thread 'rename "t1" "Rake the leaves")
            (todo-write-plan-comment todo-write-gptel-thread "Mind the bees" "you: Mind the bees")
            (let ((result (funcall call "Rake" "Water")))
              (should (eq tells (stringp result)))
              (should (or (not tells) (string-search "Rake the leaves" result))))
            ;; The model that was told, and sends the old text, wants that.
            (funcall call "Rake" "Water the roses")
            (should (equal (list (if tells "Rake" "Rake the leaves") "Water the roses")
                           (todo-write-test-contents todo-write-gptel-thread)))
            (should (eq tells (plist-get (car (todo-write-plan-comments todo-write-gptel-thread))
                                         :told)))))))))

;;; Init files

(defconst todo-write-gptel-tests--tool-names
  '(mapcar #'gptel-tool-name (default-value 'gptel-tools))
  "Form for the names of the tools that all chats have.")

(defun todo-write-gptel-tests--child (&rest forms)
  "Return what FORMS print in an Emacs that has gptel, or skip the test."
  (let ((folders (file-expand-wildcards
                  (expand-file-name ".deps/elpa/*" (getenv "TODO_WRITE_ROOT")))))
    (unless (seq-find (lambda (folder) (string-suffix-p "/gptel" folder)) folders)
      (ert-skip "gptel is not there; bin/setup test fetches it"))
    (todo-write-with-store
      (apply #'todo-write-test-child `(setq load-path (append ',folders load-path)) forms))))

(ert-deftest todo-write-gptel-can-be-turned-on-before-gptel-is-loaded ()
  (should (equal (todo-write-gptel-tests--child
                  '(autoload 'todo-write-gptel-mode "todo-write-gptel")
                  `(let ((before after-load-functions))
                     (todo-write-gptel-mode)
                     (let ((waits (not (equal before after-load-functions))))
                       (require 'gptel)
                       (prin1 (list ,todo-write-gptel-tests--tool-names
                                    waits
                                    (equal before after-load-functions))))))
                 '(("todo_write") t t))))

(ert-deftest todo-write-gptel-is-on-for-the-doctor-as-soon-as-it-is-turned-on ()
  (should (equal (todo-write-test-child
                  '(require 'todo-write-gptel)
                  '(require 'todo-write-doctor)
                  '(let ((on (lambda () (string-search "gptel: on" (todo-write-doctor--text))))
                         before)
                     (setq before (funcall on))
                     (todo-write-gptel-mode)
                     (prin1 (list before (and (funcall on) t)))))
                 '(nil t))))

(ert-deftest todo-write-gptel-can-be-turned-on-after-gptel-is-loaded ()
  (should (equal (todo-write-gptel-tests--child
                  '(require 'gptel)
                  '(require 'todo-write-gptel)
                  '(todo-write-gptel-mode)
                  ;; Again does no harm.
                  '(todo-write-gptel-mode)
                  `(prin1 ,todo-write-gptel-tests--tool-names))
                 '("todo_write"))))

(ert-deftest todo-write-gptel-registers-a-tool-that-no-chat-has-yet ()
  (should (equal (todo-write-gptel-tests--child
                  '(require 'gptel)
                  '(require 'todo-write-gptel)
                  `(prin1 (list (gptel-tool-name (todo-write-gptel-register))
                                (gptel-tool-name (gptel-get-tool "todo_write"))
                                ,todo-write-gptel-tests--tool-names)))
                 '("todo_write" "todo_write" nil))))

(ert-deftest todo-write-gptel-takes-only-what-gptel-says-of-an-error-for-one ()
  (pcase-dolist (`(,result ,outcome . ,code)
                 '(("Error: Tool 'x' is not available. Available tools: y" failed)
                   ("error Error: File /x is not readable" failed)
                   ("file-missing Opening input file No such file or directory /x" failed)
                   ("wrong-type-argument stringp 3" failed)
                   ("arith-error" failed)
                   ("Command failed with exit code 3:\nno" failed . 3)
                   ("<tool_call_error>\nTool x blocked by user\n</tool_call_error>" refused)
                   ("error handling was improved" ok)
                   ("Error handling was improved" ok)
                   ("File-missing is a symbol" ok)
                   ("command failed with exit code 3: it says" ok)
                   ("arith-error\nuser-error" ok)
                   ("Written" ok)
                   ("" ok)))
    (ert-info (result)
      (should (equal (cons outcome code) (todo-write-gptel--outcome result))))))

(ert-deftest todo-write-gptel-mode-takes-away-all-that-it-brought ()
  (should
   (equal (todo-write-gptel-tests--child
           '(require 'gptel)
           '(require 'todo-write-gptel)
           '(set-buffer (generate-new-buffer "chat"))
           '(setq gptel-mode t)
           '(let* ((state (lambda ()
                            (list (copy-sequence gptel--known-tools) gptel-tools
                                  gptel-prompt-transform-functions
                                  gptel-pre-tool-call-functions
                                  gptel-post-tool-call-functions
                                  gptel-post-response-functions
                                  after-load-functions
                                  (mapcar (lambda (function)
                                            (and (fboundp function)
                                                 (advice--p (symbol-function function))))
                                          '(gptel--display-tool-calls
                                            gptel--accept-tool-calls
                                            gptel--reject-tool-calls
                                            gptel-agent--write-todo))
                                  kill-buffer-hook)))
                   (before (funcall state))
                   on)
              (todo-write-gptel-mode)
              (todo-write-gptel--write [(:content "A" :status "in_progress")])
              (setq on (funcall state))
              (todo-write-gptel-mode -1)
              (prin1 (list (cl-mapcar #'equal before on)
                           (equal before (funcall state))
                           (todo-write-state todo-write-gptel-thread)))))
          '((nil nil nil nil nil nil t t nil) t paused))))

(provide 'todo-write-gptel-tests)
;;; todo-write-gptel-tests.el ends here
