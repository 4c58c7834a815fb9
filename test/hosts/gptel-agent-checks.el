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

(defun gptel-agent-checks-call (name arguments)
  "Return a response of the model that calls NAME with ARGUMENTS."
  (list :toolCalls (vector (list :name name :arguments arguments))))

(defun gptel-agent-checks-plan (&rest entries)
  "Return a response of the model that plans ENTRIES."
  (gptel-agent-checks-call "TodoWrite" (apply #'todo-write-test-todos entries)))

(defun gptel-agent-checks-chat (responses function &optional prompt subagent)
  "Call FUNCTION in a chat after its model gave RESPONSES and a last text.
It is called with the port of the model, which has gptel-agent's own tools.
A subagent that it gives PROMPT gets the response SUBAGENT."
  (todo-write-with-store
    (todo-write-with-mock port
        (todo-write-mock-script
         (append
          (and prompt (list (list :match (list :userMessage prompt) :response subagent)))
          (seq-map-indexed (lambda (response turn)
                             (list :match (list :turnIndex turn) :response response))
                           (append responses '((:content "The beds are wet."))))))
      (with-current-buffer (generate-new-buffer "*Chat*")
        (text-mode)
        (gptel-mode)
        (setq-local gptel-tools (mapcar (lambda (name) (gptel-get-tool (list "gptel-agent" name)))
                                        '("TodoWrite" "Write" "Edit" "Bash" "Agent"))
                    gptel-confirm-tool-calls nil
                    gptel-backend (todo-write-mock-backend 'openai port)
                    gptel-model 'gpt)
        (insert "Look after the garden")
        (let ((ended nil))
          ;; gptel still needs the buffer when it has all of the answer.
          (add-hook 'gptel-post-response-functions (lambda (&rest _) (setq ended t)) 90 t)
          (gptel-send)
          (todo-write-test-wait (lambda () ended)))
        (should (string-search "The beds are wet" (buffer-string)))
        (funcall function port)
        (kill-buffer)))))

(defmacro gptel-agent-checks-with (&rest body)
  "Run BODY in a chat after its model planned with gptel-agent's own tool."
  (declare (indent 0) (debug t))
  `(gptel-agent-checks-chat
    (list (gptel-agent-checks-plan '("Rake" "in_progress" "Raking") "Water")
          (gptel-agent-checks-plan '("Rake" "completed" "Raking")
                                   '("Water" "in_progress" "Watering")))
    (lambda (port) (ignore port) ,@body)))

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
    (gptel-agent-checks-chat
     (list (gptel-agent-checks-plan '("Rake" "in_progress"))
           (gptel-agent-checks-call "Write" `(:path ,default-directory :filename "f"
                                              :content "one\ntwo\n"))
           (gptel-agent-checks-call "Edit" `(:path ,(expand-file-name "f")
                                             :old_str "two" :new_str "2"))
           (gptel-agent-checks-call "Bash" '(:command "exit 3"))
           (gptel-agent-checks-call "Edit" `(:path ,(expand-file-name "f")
                                             :old_str "no" :new_str "2")))
     (lambda (_port)
       (let ((work (todo-write-work todo-write-gptel-thread "t1")))
         (should (equal (list (plist-get work :added) (plist-get work :removed)
                              (plist-get work :edits))
                        '(3 1 2)))
         (should (equal (plist-get work :commands)
                        '(:run 1 :failed 1 :refused 0 :background 0 :unknown 0))))
       (should (equal (mapcar (lambda (one) (plist-get (plist-get one :metadata) :outcome))
                              (todo-write-observations todo-write-gptel-thread
                                                       :type "TOOL_EXECUTION"))
                      '("ok" "ok" "failed" "failed")))))
    (delete-directory default-directory t)))

(defvar gptel-agent--agents)

(ert-deftest gptel-agent-5-tells-of-a-subagent-only-that-it-was-sent-out ()
  (let ((todo-write-gptel-agent t)
        (gptel-agent--agents '(("executor" :system "Do it." :tools nil))))
    (todo-write-gptel-register)
    (gptel-agent-checks-chat
     (list (gptel-agent-checks-plan '("Rake" "in_progress"))
           (gptel-agent-checks-call "Agent" '(:subagent_type "executor" :description "Count"
                                              :prompt "Count the beds")))
     (lambda (port)
       (should (seq-some (lambda (answer) (string-search "Three beds" answer))
                         (todo-write-mock-answers port)))
       (should (equal (todo-write-test-contents todo-write-gptel-thread) '("Rake")))
       (should (equal (mapcar (lambda (one) (list (plist-get (plist-get one :content) :name)
                                                  (plist-get (plist-get one :metadata) :outcome)))
                              (todo-write-observations todo-write-gptel-thread
                                                       :type "TOOL_EXECUTION"))
                      '(("Agent" "ok")))))
     ;; Its requests lack the states in which gptel runs hooks, and answers calls.
     "Count the beds" '(:content "Three beds."))))

(provide 'gptel-agent-checks)
;;; gptel-agent-checks.el ends here
