;;; todo-write-eca-tests.el --- Plans of ECA's agents, without ECA  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; ECA is replaced by functions that repeat its calls, as read from the source of
;; eca-emacs of 2026-08-21 (98ac99a).  test/hosts/eca.sh runs eca-emacs itself.

;;; Code:

(require 'ert)
(require 'todo-write-eca)
(require 'todo-write-test-helper)

(defvar todo-write-eca-tests-status 'idle
  "What `eca-chat-status' returns.")

(defmacro todo-write-eca-tests--in-chat (&rest body)
  "Run BODY in a chat with the mode on."
  (declare (indent 0) (debug t))
  `(todo-write-with-store
     (let ((todo-write-eca-tests-status 'idle))
       (with-temp-buffer
         (setq-local eca-chat--id "c")
         (cl-letf* ((chat (current-buffer))
                    ((symbol-function 'eca-chat--update-task-state) #'ignore)
                    ((symbol-function 'eca-chat-buffers) (lambda (_session) (list chat)))
                    ((symbol-function 'eca-chat-status)
                     (lambda (_chat) todo-write-eca-tests-status)))
           (unwind-protect
               (progn (todo-write-eca-mode 1)
                      ,@body)
             (todo-write-eca-mode -1)))))))

(defun todo-write-eca-tests--say (status)
  "Set the chat to STATUS, and run ECA's hook."
  (setq todo-write-eca-tests-status status)
  (run-hook-with-args 'eca-chat-session-status-changed-functions 'session))

(defun todo-write-eca-tests--tasks (&rest tasks)
  "Call ECA's function that shows TASKS, each (SUBJECT STATUS)."
  (eca-chat--update-task-state
   (list :type "toolCalled" :name "task"
         :details (list :type "task"
                        :tasks (vconcat (mapcar (pcase-lambda (`(,subject ,status))
                                                  (list :id 1 :subject subject :status status))
                                                tasks))))))

(ert-deftest todo-write-eca-shows-tasks-and-activity ()
  (todo-write-eca-tests--in-chat
    (todo-write-eca-tests--say 'running)
    (todo-write-eca-tests--tasks '("Rake" "done") '("Water" "in-progress") '("Weed" "pending"))
    (should (equal (mapcar #'butlast (todo-write-test-rows "eca:c"))
                   '(("Rake" "completed") ("Water" "in_progress") ("Weed" "pending"))))
    (should (equal "eca:c" todo-write-view-thread))
    (should (equal '(working) (todo-write-activity "eca:c")))
    (pcase-dolist (`(,status ,activity ,reason)
                   '((waiting-approval (waiting . "permission"))
                     (running (working))
                     (waiting-answer (waiting . "question"))
                     (idle nil "end of turn")
                     (running (working))
                     (stopping (working))
                     (idle nil "interrupted")))
      (todo-write-eca-tests--say status)
      (should (equal activity (todo-write-activity "eca:c")))
      (should (equal reason (plist-get (todo-write-summary "eca:c") :reason))))))

(ert-deftest todo-write-eca-mode-restores-chats-when-turned-off ()
  (todo-write-eca-tests--in-chat
    (todo-write-eca-tests--say 'running)
    (todo-write-eca-tests--tasks '("Rake" "pending"))
    (todo-write-eca-mode -1)
    (should-not (todo-write-activity "eca:c"))
    (should-not (local-variable-p 'todo-write-view-thread))
    (todo-write-eca-tests--tasks '("Weed" "pending"))
    (todo-write-eca-tests--say 'running)
    (should (equal (todo-write-test-contents "eca:c") '("Rake")))
    (should-not (todo-write-activity "eca:c"))))

(provide 'todo-write-eca-tests)
;;; todo-write-eca-tests.el ends here
