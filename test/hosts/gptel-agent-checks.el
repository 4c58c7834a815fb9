;;; gptel-agent-checks.el --- Checks with gptel-agent  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These checks run chats in which the model has gptel-agent's real tool TodoWrite.
;; gptel-agent.sh runs them.

;;; Code:

(require 'ert)
(require 'gptel)
(require 'gptel-openai)
(require 'todo-write-gptel)
(require 'todo-write-mock-helper)

(defun gptel-agent-checks-fixture ()
  "Return the name of a file with a script for aimock."
  (cl-flet ((call (turn &rest entries)
              (list :match (list :turnIndex turn)
                    :response (list :toolCalls
                                    (vector (list :name "TodoWrite"
                                                  :arguments (apply #'todo-write-test-todos
                                                                    entries)))))))
    (todo-write-mock-script
     (list (call 0 '("Rake" "in_progress" "Raking") "Water")
           (call 1 '("Rake" "completed" "Raking") '("Water" "in_progress" "Watering"))
           '(:match (:turnIndex 2) :response (:content "The beds are wet."))))))

(defmacro gptel-agent-checks-with (&rest body)
  "Run BODY in a chat after its model planned with gptel-agent's own tool."
  (declare (indent 0) (debug t))
  `(todo-write-with-store
     (todo-write-with-mock port (gptel-agent-checks-fixture)
       (with-current-buffer (generate-new-buffer "*Chat*")
         (text-mode)
         (gptel-mode)
         (setq-local gptel-tools (list (gptel-get-tool '("gptel-agent" "TodoWrite")))
                     gptel-backend (todo-write-mock-backend 'openai port)
                     gptel-model 'gpt)
         (insert "Look after the garden")
         (gptel-send)
         (todo-write-test-wait (lambda () (string-search "The beds are wet" (buffer-string))))
         ,@body
         (kill-buffer)))))

(defun gptel-agent-checks-theirs ()
  "Return the plan that gptel-agent shows in this chat."
  (seq-some (lambda (overlay)
              (and (overlay-get overlay 'gptel-agent--todos)
                   (substring-no-properties (overlay-get overlay 'after-string))))
            (overlays-in (point-min) (point-max))))

;; The order matters, because gptel-agent stays loaded.

(ert-deftest gptel-agent-1-is-loaded-after-the-plans-were-asked-for ()
  (todo-write-gptel-register)
  (should-not (featurep 'gptel-agent-tools))
  (require 'gptel-agent)
  (gptel-agent-checks-with
    (let ((thread todo-write-gptel-thread))
      (should (equal (todo-write-test-rows thread)
                     '(("Rake" "completed" "Raking") ("Water" "in_progress" "Watering"))))
      (todo-write-test-wait (lambda () (eq 'paused (todo-write-state thread))))
      (should-not (todo-write-activity thread))
      (should (equal thread (with-current-buffer (todo-write-show) todo-write-view-thread)))
      ;; The model got gptel-agent's own answer, and gptel-agent shows its list.
      (should-not (seq-some (lambda (answer) (string-search "tasks" answer))
                            (todo-write-mock-answers port)))
      (should (string-search "✓ Rake\n● Watering" (gptel-agent-checks-theirs))))))

(ert-deftest gptel-agent-2-hears-of-edits-where-our-tool-stands-in ()
  (let ((todo-write-gptel-agent 'answer))
    (todo-write-gptel-register))
  (let* ((edited nil)
         (todo-write-change-functions
          (list (lambda (thread _outcome)
                  (unless edited
                    (setq edited t)
                    (todo-write-edit thread 'add "Weed"))))))
    (gptel-agent-checks-with
      (should (equal (todo-write-test-contents todo-write-gptel-thread)
                     '("Rake" "Water" "Weed")))
      (let ((answer (cadr (todo-write-mock-answers port))))
        (should (string-search "1/3 tasks completed" answer))
        (should (string-search "Weed" answer)))
      ;; Their tool did not run.
      (should-not (gptel-agent-checks-theirs)))))

(ert-deftest gptel-agent-3-is-left-alone-by-an-option ()
  (let ((todo-write-gptel-agent nil))
    (todo-write-gptel-register)
    (gptel-agent-checks-with
      (should-not todo-write-gptel-thread)
      (should (string-search "● Watering" (gptel-agent-checks-theirs))))))

(ert-deftest gptel-agent-4-tells-what-its-tools-did ()
  (let ((todo-write-gptel-agent t)
        (default-directory (file-name-as-directory (make-temp-file "agent" t))))
    (todo-write-gptel-register)
    (cl-flet ((turn (index name &rest arguments)
                (list :match (list :turnIndex index)
                      :response (list :toolCalls (vector (list :name name :arguments arguments))))))
      (let ((script (todo-write-mock-script
                     (list (list :match '(:turnIndex 0)
                                 :response
                                 (list :toolCalls
                                       (vector (list :name "TodoWrite"
                                                     :arguments (todo-write-test-todos
                                                                 '("Rake" "in_progress"))))))
                           (turn 1 "Write" :path default-directory :filename "f"
                                 :content "one\ntwo\n")
                           (turn 2 "Edit" :path (expand-file-name "f") :old_str "two" :new_str "2")
                           (turn 3 "Bash" :command "exit 3")
                           (turn 4 "Edit" :path (expand-file-name "f") :old_str "no" :new_str "2")
                           '(:match (:turnIndex 5) :response (:content "The beds are wet."))))))
        (todo-write-with-store
          (todo-write-with-mock port script
            (with-current-buffer (generate-new-buffer "*Chat*")
              (text-mode)
              (gptel-mode)
              (setq-local gptel-tools (mapcar (lambda (name)
                                                (gptel-get-tool (list "gptel-agent" name)))
                                              '("TodoWrite" "Write" "Edit" "Bash"))
                          gptel-confirm-tool-calls nil
                          gptel-backend (todo-write-mock-backend 'openai port)
                          gptel-model 'gpt)
              (insert "Look after the garden")
              (gptel-send)
              (todo-write-test-wait (lambda () (string-search "The beds are wet" (buffer-string))))
              (let ((work (todo-write-work todo-write-gptel-thread "t1")))
                (should (equal (list (plist-get work :added) (plist-get work :removed)
                                     (plist-get work :edits))
                               '(3 1 2)))
                (should (equal (plist-get work :commands)
                               '(:run 1 :failed 1 :refused 0 :background 0 :unknown 0))))
              (should (equal (mapcar (lambda (one) (plist-get (plist-get one :metadata) :outcome))
                                     (todo-write-observations todo-write-gptel-thread
                                                              :type "TOOL_EXECUTION"))
                             '("ok" "ok" "failed" "failed")))
              (kill-buffer))))))
    (delete-directory default-directory t)))

(provide 'gptel-agent-checks)
;;; gptel-agent-checks.el ends here
