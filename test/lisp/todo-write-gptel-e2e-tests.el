;;; todo-write-gptel-e2e-tests.el --- Plans in gptel chats over HTTP  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests run the real gptel in chats against a mock LLM server.  bin/setup
;; fetches both.  If one is missing, the tests are skipped.

;;; Code:

(require 'ert)
(require 'todo-write-gptel)
(require 'todo-write-mock-helper)

(defvar gptel-backend)
(defvar gptel-confirm-tool-calls)
(defvar gptel-model)
(defvar gptel-post-response-functions)
(declare-function gptel-abort "ext:gptel-request")
(declare-function gptel-backend-models "ext:gptel-request")
(declare-function gptel-make-preset "ext:gptel")
(declare-function gptel-make-tool "ext:gptel-request")
(declare-function gptel-mode "ext:gptel")
(declare-function gptel-send "ext:gptel")
(declare-function gptel--apply-preset "ext:gptel")
(defvar gptel--known-presets)
(defvar gptel--known-tools)
(defvar gptel-tools)

(defvar todo-write-gptel-e2e--script "hosts/gptel.json" "What the mock server plays.")

(defmacro todo-write-gptel-e2e--with-chat (port &rest body)
  "Evaluate BODY in a new chat with the mock server on PORT; then restore gptel."
  (declare (indent 1) (debug t))
  `(progn
     (todo-write-mock-load-gptel)
     (todo-write-with-store
       (todo-write-with-mock ,port todo-write-gptel-e2e--script
         (let ((tools (default-value 'gptel-tools))
               (gptel--known-tools nil)
               (inhibit-message t)
               (chat (generate-new-buffer "*Chat*")))
           (unwind-protect
               (with-current-buffer chat
                 (text-mode)
                 (gptel-mode)
                 ,@body)
             ;; The server goes, and a request under way would fail.
             (while (gptel-abort chat))
             (todo-write-gptel-mode -1)
             (set-default 'gptel-tools tools)
             (kill-buffer chat)))))))

(defun todo-write-gptel-e2e--say (prompt)
  "Send PROMPT in the current chat."
  (goto-char (point-max))
  (insert prompt)
  (gptel-send))

(defun todo-write-gptel-e2e--use (provider port)
  "Let the current chat use the server on PORT as PROVIDER."
  (setq-local gptel-backend (todo-write-mock-backend provider port)
              gptel-model (car (gptel-backend-models gptel-backend))))

(defun todo-write-gptel-e2e--wait-for (text)
  "Wait until the current chat contains TEXT."
  (todo-write-test-wait (lambda () (string-search text (buffer-string)))))

(defun todo-write-gptel-e2e--chat (port prompt &optional text)
  "Switch the mode on, and say PROMPT to OpenAI on PORT; wait for TEXT, if non-nil."
  (todo-write-gptel-mode)
  (todo-write-gptel-e2e--use 'openai port)
  (todo-write-gptel-e2e--say prompt)
  (when text (todo-write-gptel-e2e--wait-for text)))

(defun todo-write-gptel-e2e--press (keys)
  "Press KEYS where gptel asks for a permission in the current chat."
  (let ((overlay (seq-find (lambda (overlay) (overlay-get overlay 'gptel-tool))
                           (overlays-in (point-min) (point-max)))))
    (goto-char (overlay-start overlay))
    (call-interactively (key-binding (kbd keys)))))

;;; A chat

(defun todo-write-gptel-e2e--check-chat (provider)
  "Check a chat in which a model of PROVIDER writes its plan twice."
  (todo-write-gptel-e2e--with-chat port
    (let (progress)
      (todo-write-gptel-mode)
      (todo-write-gptel-e2e--use provider port)
      (let ((todo-write-change-functions
             (list (lambda (thread _)
                     (let ((summary (todo-write-summary thread)))
                       (push (list (plist-get summary :completed) (plist-get summary :total))
                             progress))))))
        (todo-write-gptel-e2e--say "Bake a cake")
        (todo-write-gptel-e2e--wait-for "warm enough"))
      (should (equal (todo-write-test-rows todo-write-gptel-thread)
                     '(("Mix the dough" "completed" "Mixing 100% of the dough")
                       ("Heat the oven" "in_progress" "Heating the oven"))))
      (should (= (length (todo-write-revisions todo-write-gptel-thread)) 2))
      (should (equal (reverse progress) '((0 2) (1 2))))
      (todo-write-test-wait (lambda () (eq 'paused (todo-write-state todo-write-gptel-thread))))
      (should (equal (mapcar (lambda (turn)
                               (list (plist-get turn :prompt) (plist-get turn :ending)
                                     (length (plist-get turn :items))))
                             (todo-write-turns todo-write-gptel-thread))
                     '(("Bake a cake" end-of-turn 2))))
      (should (equal (todo-write-mock-answers port)
                     '("0/2 tasks completed. Current: Mixing 100% of the dough."
                       "1/2 tasks completed. Current: Heating the oven."))))))

(ert-deftest todo-write-gptel-keeps-the-plan-of-a-chat-with-any-provider ()
  (mapc #'todo-write-gptel-e2e--check-chat '(openai anthropic)))

(ert-deftest todo-write-gptel-sends-our-schema ()
  (todo-write-gptel-e2e--with-chat port
    (todo-write-gptel-e2e--chat port "Bake a cake" "warm enough")
    (let* ((body (plist-get (car (todo-write-mock-requests port)) :body))
           (tool (plist-get (aref (plist-get body :tools) 0) :function))
           (schema (todo-write-tool-schema))
           (sent (plist-get (plist-get tool :parameters) :properties)))
      (should (equal (plist-get tool :name) "todo_write"))
      (should (equal (plist-get tool :description) (alist-get 'description schema)))
      (should (equal (plist-get (plist-get tool :parameters) :required) ["todos"]))
      (should (equal (json-serialize sent)
                     (json-serialize
                      (alist-get 'properties (alist-get 'input_schema schema))))))))

(ert-deftest todo-write-gptel-sends-a-refusal-to-the-model ()
  (todo-write-gptel-e2e--with-chat port
    (todo-write-gptel-e2e--chat port "Boil an egg" "should not have")
    (should (string-search "todos[0].status: received \"blocked\""
                           (car (todo-write-mock-answers port))))
    (should (eq (todo-write-state todo-write-gptel-thread) 'empty))))

(ert-deftest todo-write-gptel-waits-while-gptel-asks-for-a-permission ()
  (todo-write-gptel-e2e--with-chat port
    (todo-write-gptel-mode)
    (todo-write-gptel-e2e--use 'openai port)
    (let* ((gptel-confirm-tool-calls t)
           (thread (todo-write-gptel--ensure-thread))
           (waits (lambda () (eq 'waiting (car (todo-write-activity thread)))))
           doing)
      (todo-write-test-listening
          (lambda (thread what _data)
            (when (eq what 'activity)
              (push (todo-write-activity thread) doing)))
        (todo-write-gptel-e2e--say "Bake a cake")
        (todo-write-test-wait waits)
        (todo-write-gptel-e2e--press "C-c C-c")
        (todo-write-test-wait waits)
        (should (equal (todo-write-test-contents thread) '("Mix the dough" "Heat the oven")))
        ;; gptel does not tell that the user cancels a call.
        (todo-write-gptel-e2e--press "C-c C-k"))
      (should (equal (reverse doing)
                     '((working) (waiting . "permission: todo_write")
                       (working) (waiting . "permission: todo_write")))))))

(ert-deftest todo-write-gptel-reports-a-failed-request ()
  (todo-write-gptel-e2e--with-chat port
    (todo-write-gptel-e2e--chat port "Fry fish")
    (todo-write-test-wait
     (lambda () (and todo-write-gptel-thread
                     (eq 'failed (car (todo-write-activity todo-write-gptel-thread))))))
    (should (string-search "The pan is on fire"
                           (cdr (todo-write-activity todo-write-gptel-thread))))
    (should (eq 'paused (todo-write-state todo-write-gptel-thread)))))

(ert-deftest todo-write-gptel-pauses-the-plan-of-an-aborted-request ()
  (todo-write-gptel-e2e--with-chat port
    (todo-write-gptel-e2e--chat port "Peel potatoes")
    (todo-write-test-wait (lambda () todo-write-gptel-thread))
    (should (eq (todo-write-state todo-write-gptel-thread) 'active))
    (todo-write-test-wait (lambda () (todo-write-activity todo-write-gptel-thread)))
    (gptel-abort (current-buffer))
    (should-not (todo-write-activity todo-write-gptel-thread))
    (should (eq (todo-write-state todo-write-gptel-thread) 'paused))))

(ert-deftest todo-write-gptel-gives-presets-the-tool-by-its-name ()
  (todo-write-gptel-e2e--with-chat port
    (let ((gptel--known-presets nil))
      (todo-write-gptel-register)
      (should-not (default-value 'gptel-tools))
      (gptel-make-preset 'planner :tools '(:append ("todo_write")))
      (gptel--apply-preset 'planner (lambda (variable value)
                                      (set (make-local-variable variable) value)))
      (todo-write-gptel-e2e--use 'openai port)
      (todo-write-gptel-e2e--say "Bake a cake")
      (todo-write-gptel-e2e--wait-for "warm enough")
      (should (= (length (todo-write-items todo-write-gptel-thread)) 2)))))

(ert-deftest todo-write-gptel-replaces-the-tool-of-gptel-agent ()
  (todo-write-gptel-e2e--with-chat port
    (defalias 'gptel-agent--write-todo (lambda (_todos) "theirs"))
    (setq-local gptel-tools
                (list (gptel-make-tool :name "TodoWrite" :category "gptel-agent"
                                       :description "Theirs"
                                       :function 'gptel-agent--write-todo
                                       :args '((:name "todos" :type "array")))))
    (let ((todo-write-gptel-agent 'answer))
      (todo-write-gptel-mode)
      (setq-local gptel-tools (remq (gptel-get-tool "todo_write") gptel-tools))
      (todo-write-gptel-e2e--use 'openai port)
      (todo-write-gptel-e2e--say "Knead bread")
      (todo-write-gptel-e2e--wait-for "It rises"))
    (should (= (length (todo-write-items todo-write-gptel-thread)) 3))
    (should (string-prefix-p "0/3" (car (todo-write-mock-answers port))))
    (todo-write-gptel-mode -1)
    (should (equal "theirs" (funcall 'gptel-agent--write-todo [])))))

;;; The work

(defun todo-write-gptel-e2e--work-script ()
  "Return the name of a file with a script whose model plans, edits twice and fails."
  (cl-flet ((turn (index &rest calls)
              (list :match (list :turnIndex index)
                    :response (list :toolCalls
                                    (vconcat (mapcar (lambda (call)
                                                       (list :name (car call)
                                                             :arguments (cdr call)))
                                                     calls))))))
    (todo-write-mock-script
     (list (turn 0 (cons "todo_write" (todo-write-test-todos '("Edit" "in_progress"))))
           (turn 1 '("put" :path "f" :text "one\n") '("put" :path "nowhere/f" :text ""))
           (turn 2 '("put" :path "f" :text "two\nthree\n"))
           (turn 3 (cons "todo_write" (todo-write-test-todos '("Edit" "completed"))))
           '(:match (:turnIndex 4) :response (:content "All is done."))))))

(ert-deftest todo-write-gptel-records-what-the-tools-of-a-chat-did ()
  (let ((default-directory (file-name-as-directory (make-temp-file "chat" t)))
        (todo-write-gptel-e2e--script (todo-write-gptel-e2e--work-script)))
    (unwind-protect
        (todo-write-gptel-e2e--with-chat port
          (set-default 'gptel-tools
                       (cons (gptel-make-tool
                              :name "put" :description "Write a file."
                              :args '((:name "path" :type string :description "File")
                                      (:name "text" :type string :description "Text"))
                              :function (lambda (path text)
                                          (write-region text nil path nil 'silent)
                                          "Written"))
                             (default-value 'gptel-tools)))
          (todo-write-gptel-e2e--chat port "Write the file" "All is done")
          (let ((thread todo-write-gptel-thread))
            (todo-write-test-wait (lambda () (null (todo-write-activity thread))))
            (should (equal (mapcar (lambda (file)
                                     (list (file-name-nondirectory (plist-get file :path))
                                           (plist-get file :added) (plist-get file :removed)
                                           (plist-get file :edits) (plist-get file :created)))
                                   (plist-get (todo-write-work thread "t1") :files))
                           '(("f" 3 1 2 t))))
            ;; gptel runs the calls of one response in any order.
            (should (equal (sort (mapcar (lambda (one)
                                           (plist-get (plist-get one :metadata) :outcome))
                                         (todo-write-observations thread :type "TOOL_EXECUTION"))
                                 #'string<)
                           '("failed" "ok" "ok")))
            ;; The first response came before the task, the last one after it.
            (should (equal (mapcar (lambda (part)
                                     (plist-get (todo-write-work thread part) :responses))
                                   '("t1" outside nil))
                           '(3 2 5)))))
      (todo-write-test-delete default-directory))))

(provide 'todo-write-gptel-e2e-tests)
;;; todo-write-gptel-e2e-tests.el ends here
