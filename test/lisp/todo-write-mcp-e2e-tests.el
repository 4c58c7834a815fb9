;;; todo-write-mcp-e2e-tests.el --- Agents' calls, by MCP  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests call the program `todo-write-mcp', which calls an Emacs through its
;; socket: with the client of the official SDK, and with lines that no client should send.  test/hosts/mcp.sh uses genuine agents.

;;; Code:

(require 'ert)
(require 'todo-write-doctor)
(require 'todo-write-mcp-helper)

(defmacro todo-write-mcp-e2e-with-emacs (emacs &rest body)
  "Evaluate BODY with EMACS bound to a separate Emacs with an empty store."
  (declare (indent 1) (debug (symbolp body)))
  `(let ((todo-write-directory (make-temp-file "todo-write-test" t)))
     (todo-write-mcp-helper-program)
     (let ((,emacs (todo-write-mcp-emacs-start)))
       (unwind-protect (progn ,@body)
         (todo-write-mcp-emacs-stop ,emacs)
         (todo-write-test-delete todo-write-directory)))))

(defun todo-write-mcp-e2e--initialize (client)
  "Begin the session of the bare CLIENT."
  (todo-write-mcp-ask client `(:jsonrpc "2.0" :id 0 :method "initialize"
                               :params (:protocolVersion "2025-11-25"
                                        :capabilities ,(make-hash-table)
                                        :clientInfo (:name "bare" :version "1"))))
  (todo-write-mcp-send client '(:jsonrpc "2.0" :method "notifications/initialized")))

(defun todo-write-mcp-e2e--line (id arguments)
  "Return a line that calls the tool with ID and ARGUMENTS, bytes of JSON."
  (format "{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"name\":\"todo_write\",\"arguments\":%s},\"id\":%d}"
          arguments id))

(defun todo-write-mcp-e2e--bare-thread (emacs)
  "Return the key of the thread of the bare client in EMACS."
  (seq-find (lambda (thread) (string-prefix-p "mcp:bare:" thread))
            (todo-write-mcp-emacs-threads emacs)))

;;; Options

(ert-deftest todo-write-mcp-e2e-options-that-cannot-be-meant-are-refused ()
  (pcase-dolist (`(,why . ,options)
                 '(("--socket FILE lacks its value" "--socket")
                   ("--socket FILE lacks its value" "permission" "--socket")))
    (with-temp-buffer
      ;; Status 2 of a hook would be Claude Code's "no".
      (should (eql 1 (apply #'call-process (todo-write-mcp-helper-program) nil t nil options)))
      (should (string-search why (buffer-string))))))

;;; The official client

(ert-deftest todo-write-mcp-e2e-a-client-keeps-its-list-in-emacs ()
  (todo-write-mcp-e2e-with-emacs emacs
    (let* ((folder (file-name-as-directory (make-temp-file "gärten 1" t)))
           (thread "claude:abc")
           (client (with-environment-variables (("CLAUDE_CODE_SESSION_ID" "abc"))
                     (todo-write-mcp-client-start
                      emacs :name "claude-code"
                      :root (concat "file://" (url-hexify-string (directory-file-name folder)
                                                                 url-path-allowed-chars))))))
      (should (equal ["todo_write"]
                     (vconcat (mapcar (lambda (tool) (plist-get tool :name))
                                      (plist-get (todo-write-mcp-ask client '(:method "tools/list"))
                                                 :tools)))))
      (should (car (todo-write-mcp-client-call
                    client (todo-write-test-todos '("Rake" "in_progress") "Wässern"))))
      (should (equal folder (todo-write-mcp-emacs-eval
                             emacs `(plist-get (todo-write-about ,thread) :project))))
      (should (equal (todo-write-mcp-emacs-rows emacs thread)
                     '(("Rake" . "in_progress") ("Wässern" . "pending"))))
      (todo-write-mcp-emacs-eval emacs `(progn (todo-write-edit ,thread 'add "Weed") t))
      (pcase-let ((`(,ok . ,text) (todo-write-mcp-client-call
                                   client (todo-write-test-todos '("Rake" "blocked")))))
        (should-not ok)
        (should (string-match-p "blocked" text)))
      (pcase-let ((`(,ok . ,text) (todo-write-mcp-client-call
                                   client (todo-write-test-todos '("Rake" "completed")
                                                                 '("Wässern" "in_progress")))))
        (should ok)
        (should (string-match-p "Weed" text)))
      (should (equal (mapcar #'car (todo-write-mcp-emacs-rows emacs thread))
                     '("Rake" "Wässern" "Weed")))
      (todo-write-mcp-end client)
      (todo-write-test-wait
       (lambda ()
         (eq 'paused (todo-write-mcp-emacs-eval emacs `(todo-write-state ,thread))))))))

(ert-deftest todo-write-mcp-e2e-a-turn-shorter-than-a-poll-ends ()
  (todo-write-mcp-e2e-with-emacs emacs
    (let ((home (make-temp-file "claude" t)))
      (make-directory (expand-file-name "sessions" home))
      (with-temp-file (expand-file-name (format "sessions/%d.json" (emacs-pid)) home)
        (insert "{\"sessionId\":\"s\",\"status\":\"idle\"}"))
      (let ((client (with-environment-variables (("CLAUDE_CONFIG_DIR" home))
                      (todo-write-mcp-client-start emacs :name "claude-code"))))
        ;; Each time, the process file says what it said before the call.
        (dolist (task '("Rake" "Water"))
          (todo-write-mcp-client-call client (todo-write-test-todos (list task "in_progress")))
          (todo-write-test-wait
           (lambda ()
             (eq 'paused (todo-write-mcp-emacs-eval emacs '(todo-write-state "claude:s"))))))
        (todo-write-mcp-end client)))))

(ert-deftest todo-write-mcp-e2e-a-restarted-emacs-gets-the-next-call ()
  (todo-write-mcp-e2e-with-emacs emacs
    (let ((client (with-environment-variables (("CLAUDE_CODE_SESSION_ID" "abc-1"))
                    (todo-write-mcp-client-start emacs :name "claude-code"))))
      (should (car (todo-write-mcp-client-call client (todo-write-test-todos "One"))))
      (todo-write-mcp-emacs-stop emacs)
      (should (equal (todo-write-mcp-client-call client (todo-write-test-todos "One") t)
                     '(nil . "Emacs does not answer; go on without the list, and tell the user to run M-x todo-write-agents-mode in Emacs. [todo-write:no-emacs]")))
      (setq emacs (todo-write-mcp-emacs-start (todo-write-mcp-emacs-socket emacs)))
      (should (equal (todo-write-mcp-client-call client (todo-write-test-todos "One" "Two"))
                     '(t . "0/2 tasks completed.")))
      (should (equal (todo-write-mcp-emacs-rows emacs "claude:abc-1")
                     '(("One" . "pending") ("Two" . "pending"))))
      (todo-write-mcp-end client))))

(ert-deftest todo-write-mcp-e2e-a-busy-emacs-does-not-block-the-agent ()
  (todo-write-mcp-e2e-with-emacs emacs
    (let ((client (todo-write-mcp-client-start emacs))
          (busy (make-temp-name (expand-file-name "busy" temporary-file-directory))))
      (todo-write-mcp-emacs-eval
       emacs `(progn (run-at-time 0 nil (lambda ()
                                          (write-region "" nil ,busy nil 'silent)
                                          (while (file-exists-p ,busy))))
                     t))
      (todo-write-test-wait (lambda () (file-exists-p busy)))
      (let ((start (float-time)))
        (should (equal (todo-write-mcp-client-call client (todo-write-test-todos "One") t)
                       '(nil . "Emacs does not answer; go on without the list. [todo-write:no-emacs]")))
        (should (< 4 (- (float-time) start)))
        ;; The program gives up a little before the time until which Emacs takes the call.
        (todo-write-test-wait (lambda () (< 6 (- (float-time) start)))))
      (delete-file busy)
      ;; This waits until Emacs has read the call above, too late.
      (should-not (todo-write-mcp-emacs-threads emacs))
      (should (car (todo-write-mcp-client-call client (todo-write-test-todos "Two"))))
      (todo-write-mcp-end client))))

(ert-deftest todo-write-mcp-e2e-a-call-of-almost-a-mebibyte-is-accepted-and-a-larger-one-refused ()
  (todo-write-mcp-e2e-with-emacs emacs
    (let ((client (todo-write-mcp-client-start emacs))
          ;; The tool ignores a field that it does not know.
          (call (lambda (size)
                  (append (todo-write-test-todos "One" "Two") (list :more (make-string size ?x))))))
      (should (car (todo-write-mcp-client-call client (funcall call 1040000))))
      (should (equal 2 (length (todo-write-mcp-emacs-rows
                                emacs (car (todo-write-mcp-emacs-threads emacs))))))
      (should (equal (todo-write-mcp-client-call client (funcall call 1050000))
                     '(nil . "The list is larger than 1 MiB; send a shorter one.")))
      (todo-write-mcp-end client))))

;;; Bare lines

(ert-deftest todo-write-mcp-e2e-every-call-with-an-id-is-answered ()
  (todo-write-mcp-e2e-with-emacs emacs
    (let ((client (todo-write-mcp-raw-start emacs))
          (id 0))
      (todo-write-mcp-e2e--initialize client)
      (dolist (arguments
               (list "[]" "\"todos\"" "7" "null" "{}" "{\"todos\":null}" "{\"todos\":{}}"
                     "[{\"content\":\"a\",\"status\":\"pending\",\"activeForm\":\"b\"}]"
                     "{\"todos\":[{\"content\":\"\\ud800\",\"status\":\"pending\",\"activeForm\":\"\\ude00\"}]}"
                     "{\"todos\":[{\"content\":\"a\\u0000b\",\"status\":\"pending\",\"activeForm\":\"b\"}]}"
                     "{\"todos\":[{\"content\":\"\377\376\",\"status\":\"pending\",\"activeForm\":\"b\"}]}"
                     (concat "{\"todos\":" (make-string 120 ?\[) (make-string 120 ?\]) "}")
                     (concat "{\"todos\":" (make-string 9000 ?\[) (make-string 9000 ?\]) "}")))
        (setq id (1+ id))
        (should (equal id (plist-get (todo-write-mcp-ask
                                      client (todo-write-mcp-e2e--line id arguments))
                                     :id))))
      (dolist (line '("{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"no/such\"}"
                      "{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":7}"
                      "{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"tools/call\"}"
                      "{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"tools/call\",\"params\":{\"name\":\"x\"}}"
                      "{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"tools/call\",\"params\":[]}"))
        (let ((answer (todo-write-mcp-ask client line)))
          (should (equal 99 (plist-get answer :id)))
          (should (plist-get answer :error))))
      (should (plist-get (todo-write-mcp-ask client "{nonsense") :error))
      (todo-write-mcp-send client "")
      (should (plist-member (todo-write-mcp-ask client '(:jsonrpc "2.0" :id 100 :method "ping"))
                            :result))
      (todo-write-mcp-end client))))

(ert-deftest todo-write-mcp-e2e-a-session-ends-by-signal-or-by-end-of-input ()
  (todo-write-mcp-e2e-with-emacs emacs
    (dolist (end '(SIGINT SIGTERM SIGHUP eof SIGKILL))
      (let ((client (todo-write-mcp-raw-start emacs)))
        (todo-write-mcp-e2e--initialize client)
        (todo-write-mcp-ask client (todo-write-mcp-e2e--line
                                    1 "{\"todos\":[{\"content\":\"a\",\"status\":\"pending\",\"activeForm\":\"b\"}]}"))
        (let ((thread (todo-write-mcp-e2e--bare-thread emacs)))
          (should (eq 'active (todo-write-mcp-emacs-eval emacs `(todo-write-state ,thread))))
          (if (eq end 'eof)
              (process-send-eof client)
            (signal-process client end))
          (todo-write-test-wait
           (lambda ()
             (eq 'paused (todo-write-mcp-emacs-eval emacs `(todo-write-state ,thread)))))
          (todo-write-mcp-emacs-eval emacs `(progn (todo-write-forget ,thread) t)))
        (todo-write-mcp-end client)))))

;;; The socket

(defun todo-write-mcp-e2e--bare-call (client &optional content)
  "Call the tool by the bare CLIENT with a task CONTENT; return (OK . TEXT)."
  (todo-write-mcp-answer
   (plist-get (todo-write-mcp-ask
               client (todo-write-mcp-e2e--line
                       1 (format "{\"todos\":[{\"content\":\"%s\",\"status\":\"pending\",\"activeForm\":\"b\"}]}"
                                 (or content "a"))))
              :result)))

(ert-deftest todo-write-mcp-e2e-a-second-emacs-takes-over-when-the-first-ends ()
  (todo-write-mcp-e2e-with-emacs emacs
    (let ((second (todo-write-mcp-emacs-start (todo-write-mcp-emacs-socket emacs)))
          (client (todo-write-mcp-raw-start emacs)))
      (unwind-protect
          (progn
            (should (eq 'client (todo-write-mcp-emacs-eval second '(todo-write-socket-state))))
            (todo-write-test-wait
             (lambda ()
               (string-search
                (format "The Emacs with process %d shows the plans of agents; this one takes over"
                        (process-id (todo-write-mcp-emacs-process emacs)))
                (todo-write-mcp-emacs-messages second))))
            (todo-write-mcp-e2e--initialize client)
            (should (car (todo-write-mcp-e2e--bare-call client "One")))
            (let ((thread (todo-write-mcp-e2e--bare-thread emacs)))
              (should-not (todo-write-mcp-emacs-eval second `(todo-write-activity ,thread)))
              (todo-write-mcp-emacs-stop emacs)
              (todo-write-test-wait
               (lambda () (eq 'open (todo-write-mcp-emacs-eval second '(todo-write-socket-state)))))
              (should (car (todo-write-mcp-e2e--bare-call client "Two")))
              (should (equal '(("Two" . "pending")) (todo-write-mcp-emacs-rows second thread))))
            (todo-write-mcp-end client))
        (todo-write-mcp-emacs-stop second)))))

(ert-deftest todo-write-mcp-e2e-the-program-uses-no-socket-that-others-can-use ()
  (todo-write-mcp-e2e-with-emacs emacs
    (let* ((socket (todo-write-mcp-emacs-socket emacs))
           (folder (directory-file-name (file-name-directory socket)))
           (refused (lambda ()
                      (let ((client (todo-write-mcp-raw-start emacs)))
                        (todo-write-mcp-e2e--initialize client)
                        (pcase-let ((`(,ok . ,text) (todo-write-mcp-e2e--bare-call client)))
                          (should-not ok)
                          (should (string-search "is not the user's alone" text)))
                        (todo-write-mcp-end client)))))
      (dolist (file (list socket folder))
        (set-file-modes file #o770)
        (funcall refused)
        (set-file-modes file #o700)
        (when (eql 0 (user-uid))
          (call-process "chown" nil nil nil "12345" file)
          (funcall refused)
          (call-process "chown" nil nil nil "0" file)))
      (should-not (todo-write-mcp-emacs-threads emacs)))))

(defun todo-write-mcp-e2e--files-with (text folder)
  "Return the files below FOLDER that have TEXT, but for journals."
  (with-temp-buffer
    ;; A file of Emacs or of the program that goes away under grep's eyes is no match.
    (call-process "grep" nil t nil "-rl" "--no-messages" "--devices=skip" "--exclude=*.jsonl" "-e" text folder)
    (split-string (buffer-string) "\n" t)))

(ert-deftest todo-write-mcp-e2e-no-text-of-a-call-is-on-a-command-line-or-in-a-file ()
  (unless (file-directory-p "/proc/self")
    (ert-skip "The command lines of processes are unknown here"))
  (todo-write-mcp-e2e-with-emacs emacs
    (let ((client (todo-write-mcp-raw-start emacs))
          (text (concat "confidential" (make-string 100000 ?x)))
          (busy (make-temp-name (expand-file-name "busy" temporary-file-directory))))
      (todo-write-mcp-e2e--initialize client)
      (should (car (todo-write-mcp-e2e--bare-call client)))
      (todo-write-mcp-emacs-eval
       emacs `(progn (run-at-time 0 nil (lambda ()
                                          (write-region "" nil ,busy nil 'silent)
                                          (while (file-exists-p ,busy))))
                     t))
      (todo-write-test-wait (lambda () (file-exists-p busy)))
      (todo-write-mcp-send client (todo-write-mcp-e2e--line
                                   2 (format "{\"todos\":[{\"content\":%S}]}" text)))
      ;; While Emacs is busy, the call is under way.
      (dotimes (_ 5)
        (should-not (seq-filter (lambda (pid)
                                  (string-search "confidential"
                                                 (or (alist-get 'args (process-attributes pid)) "")))
                                (list-system-processes)))
        (should-not (todo-write-mcp-e2e--files-with "confidential" temporary-file-directory)))
      (delete-file busy)
      (should (equal 2 (plist-get (todo-write-mcp-read client) :id)))
      (should-not (todo-write-mcp-e2e--files-with "confidential" temporary-file-directory))
      (todo-write-mcp-end client))))

(provide 'todo-write-mcp-e2e-tests)
;;; todo-write-mcp-e2e-tests.el ends here
