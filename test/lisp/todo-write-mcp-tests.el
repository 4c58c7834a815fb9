;;; todo-write-mcp-tests.el --- Tests of the calls of MCP clients  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests connect to the socket as the program does.  The program itself is
;; tested in todo-write-mcp-e2e-tests.el.

;;; Code:

(require 'ert)
(require 'todo-write-follow)
(require 'todo-write-list)
(require 'todo-write-socket-helper)

(ert-deftest todo-write-mcp-a-list-gets-the-thread-of-its-session ()
  (todo-write-with-socket
    (pcase-dolist (`(,client ,session ,thread)
                   '(("claude-code" "5e55-10" "claude:5e55-10")
                     ("codex-mcp-client" "0199-a" "codex:0199-a")
                     ("copilot-cli" "77" "mcp:copilot-cli:77")
                     ("opencode" nil "mcp:opencode:4-17")
                     ("claude-code" nil "mcp:claude-code:4-17")
                     ("../e vil\n" "a/b" "mcp:..-e-vil-:a-b")))
      (let ((program (todo-write-socket-test-hello :client client :id thread :process 4)))
        (should (car (todo-write-socket-test-write program session "One" '("Two" "in_progress"))))
        (should (equal (todo-write-test-contents thread) '("One" "Two")))))))

(ert-deftest todo-write-mcp-no-id-of-a-program-makes-a-long-key ()
  ;; The last letter has no width.
  (dolist (letter '(?a #x4e2d #x1161))
    (should (>= 100 (length (todo-write-socket-key-part (make-string 5000 letter)))))))

(ert-deftest todo-write-mcp-a-thread-has-the-project ()
  (todo-write-with-socket
    (let ((folder (file-name-as-directory (make-temp-file "todo-write-mcp" t))))
      (todo-write-socket-test-write (todo-write-socket-test-hello :project folder) "a" "One")
      (should (equal (plist-get (todo-write-about "claude:a") :project) folder)))))

(ert-deftest todo-write-mcp-a-client-cannot-name-a-remote-project ()
  (todo-write-with-socket
    (let ((asked nil))
      (let ((file-name-handler-alist
             (list (cons "\\`/nowhere:" (lambda (&rest _) (setq asked t) nil)))))
        (todo-write-socket-test-write
         (todo-write-socket-test-hello :project "/nowhere:host:/~/x") "a" "One"))
      (should-not asked)
      (should (equal (plist-get (todo-write-about "claude:a") :project)
                     (expand-file-name "~/"))))))

(ert-deftest todo-write-mcp-a-call-that-is-sent-again-gets-the-same-answer ()
  (todo-write-with-socket
    (let* ((program (todo-write-socket-test-hello))
           (todos (todo-write-test-todos "One"))
           (call (list :session "a" :sent "random" :arguments todos))
           (copy (concat todo-write-directory "-copy"))
           answer)
      (todo-write-socket-test-write program "a" "One")
      (todo-write-edit "claude:a" 'add "Mine")
      (todo-write-plan-comment "claude:a" "Hello")
      (setq answer (todo-write-socket-test-call program call))
      (should (string-match-p "Mine.*\n.*Hello" (cdr answer)))
      (should (equal answer (todo-write-socket-test-call program call)))
      (ert-info ("Also after a restart")
        (unwind-protect
            (let ((journals todo-write-directory) (todo-write-directory copy))
              (copy-directory journals copy)
              (should (equal (cdr answer)
                             (todo-write-test-child
                              `(prin1 (plist-get (todo-write-plan-write "claude:a" ',todos nil nil
                                                                        '(:sent "random"))
                                                 :result))))))
          (delete-directory copy t)))
      (should-not (equal answer (todo-write-socket-test-write program "a" "One"))))))

;;; The end of a session

(defun todo-write-mcp-tests--bye (program)
  "Let PROGRAM, a connection, say goodbye, and wait until Emacs has heard it."
  (todo-write-socket-test-send program '(:type "bye"))
  (delete-process program)
  (todo-write-test-wait (lambda () (null (todo-write-socket-test-live)))))

(ert-deftest todo-write-mcp-a-session-that-ends-is-paused ()
  (todo-write-with-socket
    (let ((program (todo-write-socket-test-hello)))
      (todo-write-socket-test-write program "a" '("One" "in_progress"))
      (should (todo-write-activity "claude:a"))
      (todo-write-mcp-tests--bye program)
      (should-not (todo-write-activity "claude:a"))
      (should (eq (todo-write-state "claude:a") 'paused))
      (should (equal "session ended" (plist-get (todo-write-summary "claude:a") :reason)))
      (should-not todo-write-socket-programs)
      (todo-write-socket-test-write (todo-write-socket-test-hello) "a" '("One" "in_progress"))
      (should (eq (todo-write-state "claude:a") 'active)))))

(ert-deftest todo-write-mcp-the-end-of-an-older-program-does-not-pause ()
  (todo-write-with-socket
    (let ((older (todo-write-socket-test-hello))
          (program (todo-write-socket-test-hello :id "program-2")))
      (todo-write-socket-test-write older "a" '("One" "in_progress"))
      (todo-write-socket-test-write program "a" '("One" "in_progress"))
      (todo-write-socket-test-send older '(:type "bye"))
      (delete-process older)
      (todo-write-test-wait (lambda () (null (cdr (todo-write-socket-test-live)))))
      (should (eq (todo-write-state "claude:a") 'active)))))

(ert-deftest todo-write-mcp-what-a-program-says-after-its-goodbye-has-no-effect ()
  (todo-write-with-socket
    (let ((program (todo-write-socket-test-hello)) warnings)
      (cl-letf (((symbol-function 'display-warning) (lambda (&rest it) (push it warnings))))
        (dotimes (_ 3)
          (todo-write-socket-test-send program '(:type "bye"))
          (todo-write-socket-test-send program '(:type "activity" :session "a"
                                                 :activity "working")))
        (should (equal '(nil . "This program has said goodbye.")
                       (todo-write-socket-test-write program "a" "One"))))
      (should-not warnings)
      (should-not (todo-write-threads)))))

(ert-deftest todo-write-mcp-a-broken-connection-stops-the-clock-until-the-program-is-back ()
  (todo-write-with-socket
    (let ((program (todo-write-socket-test-hello)))
      (todo-write-socket-test-write program "a" '("One" "in_progress"))
      (should (plist-get (todo-write-times "claude:a" "t1") :running))
      (delete-process program)
      (todo-write-test-wait (lambda () (not (todo-write-activity "claude:a"))))
      (should (plist-get (todo-write-events-activity "claude:a") :inferred))
      (should-not (plist-get (todo-write-times "claude:a" "t1") :running))
      ;; The process lives.
      (todo-write-agents--check-programs)
      (should (eq (todo-write-state "claude:a") 'active))
      (todo-write-socket-test-write (todo-write-socket-test-hello) "a" '("One" "in_progress"))
      (should (plist-get (todo-write-times "claude:a" "t1") :running)))))

(ert-deftest todo-write-mcp-a-program-that-stays-away-may-still-live ()
  ;; Its process lives, or is that of another container.
  (dolist (fields '(nil (:pidDomain "pid:[1]")))
    (todo-write-with-socket
      (let ((program (apply #'todo-write-socket-test-hello fields)) (todo-write-agents-silence 0))
        (todo-write-socket-test-write program "a" '("One" "in_progress"))
        (delete-process program)
        (todo-write-test-wait (lambda () (eq (todo-write-state "claude:a") 'paused)))
        (should (equal "not connected for a minute"
                       (plist-get (todo-write-summary "claude:a") :reason)))
        (should-not (plist-get (todo-write-summary "claude:a") :ending))
        (todo-write-socket-test-write (apply #'todo-write-socket-test-hello fields)
                                      "a" '("One" "in_progress"))
        (should (eq (todo-write-state "claude:a") 'active))))))

(ert-deftest todo-write-mcp-a-killed-program-has-exited ()
  (todo-write-with-socket
    (let* ((process (start-process "mcp" nil "cat"))
           (program (todo-write-socket-test-hello :process (process-id process))))
      (todo-write-socket-test-write program "a" "One")
      (todo-write-agents--check-programs)
      (should (eq (todo-write-state "claude:a") 'active))
      (delete-process process)
      (delete-process program)
      (todo-write-test-wait (lambda () (eq (todo-write-state "claude:a") 'paused)))
      (should (equal '("agent exited" killed)
                     (mapcar (lambda (key) (plist-get (todo-write-summary "claude:a") key))
                             '(:reason :ending)))))))

;; The largest number of the protocol, one that overflows a signed one, and none of a process.
(ert-deftest todo-write-mcp-an-impossible-process-id-does-not-keep-others-from-ending ()
  (todo-write-with-socket
    (dolist (id '(4294967295 2147483648 0))
      (let ((program (todo-write-socket-test-hello :id (format "id-%d" id) :process id)))
        (should (car (todo-write-socket-test-write program (format "bad-%d" id) "One")))
        (delete-process program)))
    (let* ((process (start-process "mcp" nil "cat"))
           (program (todo-write-socket-test-hello :process (process-id process))))
      (todo-write-socket-test-write program "good" "One")
      (delete-process process)
      (delete-process program)
      (dolist (session '("good" "bad-4294967295" "bad-2147483648" "bad-0"))
        (todo-write-test-wait
         (lambda () (eq 'killed (plist-get (todo-write-summary (concat "claude:" session))
                                           :ending))))))))

(ert-deftest todo-write-mcp-what-an-agent-does-costs-the-same-with-a-thousand-plans ()
  (todo-write-with-socket
    (let* ((program (todo-write-socket-test-hello))
           ;; Work on each plan would make strings, if only their keys: 20,000 for the messages.
           ;; What is looked at once for all of them makes a few thousand.
           (strings (lambda ()
                      (let ((before (nth 6 (memory-use-counts))))
                        (dotimes (n 20)
                          (todo-write-socket-test-send
                           program (list :type "activity" :session (format "s%d" n)
                                         :activity "working")))
                        (todo-write-socket-test-call program '(:arguments "none"))
                        (- (nth 6 (memory-use-counts)) before))))
           (alone (funcall strings)))
      (dotimes (n 1000)
        (todo-write-test-write (format "old:%d" n) "One"))
      (should (<= 1000 (length (todo-write-threads))))
      (should (< (funcall strings) (+ 10000 (* 2 alone)))))))

(ert-deftest todo-write-mcp-it-is-unknown-what-a-quiet-agent-does ()
  (todo-write-with-socket
    (todo-write-socket-test-write (todo-write-socket-test-hello) "a" "One")
    (let ((last (assoc "claude:a" (todo-write-socket-program-sessions
                                   (todo-write-socket-serving "claude:a")))))
      (cl-decf (cdr last) (1+ todo-write-agents-silence))
      (todo-write-agents--check-programs)
      (todo-write-test-wait (lambda () (not (todo-write-activity "claude:a"))))
      (should (plist-get (todo-write-events-activity "claude:a") :inferred))
      (should (eq (todo-write-state "claude:a") 'active))
      (cl-decf (cdr last) todo-write-follow-quiet)
      (todo-write-agents--check-programs)
      (todo-write-test-wait (lambda () (eq (todo-write-state "claude:a") 'paused))))))

;;; Sessions that change, and subagents

(defun todo-write-mcp-tests--call (program session &rest call)
  "Write a list for SESSION, as its process file says, by PROGRAM; CALL has more fields.
Its last element is a list of entries."
  (should (car (todo-write-socket-test-call
                program (append (list :session session :source "process")
                                (butlast call)
                                (list :arguments (apply #'todo-write-test-todos
                                                        (car (last call)))))))))

(defun todo-write-mcp-tests--tell (program session activity &rest more)
  "Let PROGRAM tell the ACTIVITY of SESSION with MORE fields."
  (todo-write-socket-test-send
   program (append (list :type "activity" :session session :activity activity) more))
  ;; The answer comes after what was sent before.
  (todo-write-socket-test-call program (list :session session :arguments "none")))

(defun todo-write-mcp-tests--listed ()
  "Return the keys of the rows of the overview."
  (save-window-excursion
    (with-current-buffer (todo-write-list)
      (unwind-protect (progn (revert-buffer)
                             (mapcar #'car tabulated-list-entries))
        (kill-buffer)))))

(ert-deftest todo-write-mcp-another-session-of-the-process-ends-the-first ()
  (todo-write-with-socket
    (let ((program (todo-write-socket-test-hello)))
      (todo-write-mcp-tests--call program "a" '(("One" "in_progress")))
      (todo-write-mcp-tests--call program "b" '(("Two" "in_progress")))
      (should (equal '("One") (todo-write-test-contents "claude:a")))
      (should (eq 'paused (todo-write-state "claude:a")))
      (should (equal "session ended" (plist-get (todo-write-summary "claude:a") :reason)))
      (should-not (todo-write-activity "claude:a"))
      (should (equal '("Two") (todo-write-test-contents "claude:b")))
      (should (equal '("claude:b") (todo-write-mcp-tests--listed)))
      ;; As by /resume.
      (todo-write-mcp-tests--call program "a" '(("One" "completed") ("Three" "in_progress")))
      (should (equal '("One" "Three") (todo-write-test-contents "claude:a")))
      (should (eq 'active (todo-write-state "claude:a")))
      (should (eq 'paused (todo-write-state "claude:b")))
      (should (equal '("claude:a") (todo-write-mcp-tests--listed)))
      (should (equal '("t1" "t2") (mapcar (lambda (item) (plist-get item :id))
                                          (todo-write-items "claude:a")))))))

(ert-deftest todo-write-mcp-a-program-says-again-which-session-it-serves ()
  (todo-write-with-socket
    (let ((program (todo-write-socket-test-hello :client "codex-mcp-client")))
      (dolist (session '("a" "b"))
        (todo-write-socket-test-write program session "One")))
    ;; Another Emacs knows no more than the journals.
    (setq todo-write-socket-programs nil)
    (todo-write-socket-test-send (todo-write-socket-test-hello :client "codex-mcp-client" :id "again")
                                 '(:type "activity" :session "a" :activity "serving"))
    (todo-write-test-wait (lambda () (todo-write-socket-serving "codex:a")))
    (should-not (todo-write-socket-serving "codex:b"))
    (should (eq 'active (todo-write-state "codex:b")))))

(ert-deftest todo-write-mcp-a-subagents-list-is-below-the-task-it-works-for ()
  (todo-write-with-socket
    (let ((program (todo-write-socket-test-hello)))
      (todo-write-mcp-tests--call program "a" '(("Rake the leaves" "in_progress")
                                                ("Water the beds") ("Sow")))
      (todo-write-mcp-tests--call program "a" :subagent "f00" :task "Water the flower beds"
                                  '(("Find the can" "in_progress")))
      (todo-write-mcp-tests--call program "a" :subagent "f01" '(("Look around")))
      (should (equal '("Rake the leaves" "Water the beds" "Sow")
                     (todo-write-test-contents "claude:a")))
      (should (equal '("Find the can") (todo-write-test-contents "claude:a/f00")))
      (should (equal '("claude:a" . "t2") (todo-write-parent "claude:a/f00")))
      (should (equal '("claude:a" . "t1") (todo-write-parent "claude:a/f01")))
      (should (equal "Water the flower beds"
                     (plist-get (todo-write-summary "claude:a/f00") :title)))
      (todo-write-mcp-tests--tell program "a" "idle" :subagent "f00")
      (should (eq 'paused (todo-write-state "claude:a/f00")))
      (should (eq 'active (todo-write-state "claude:a")))
      ;; The main agent's items are still the same.
      (todo-write-mcp-tests--call program "a" '(("Rake the leaves" "completed")
                                                ("Water the beds" "in_progress") ("Sow")))
      (should (equal '("t1" "t2" "t3") (mapcar (lambda (item) (plist-get item :id))
                                               (todo-write-items "claude:a")))))))

(ert-deftest todo-write-mcp-the-process-tells-what-its-agent-does ()
  (todo-write-with-socket
    (let ((program (todo-write-socket-test-hello)))
      (todo-write-mcp-tests--call program "a" '(("One" "in_progress")))
      (pcase-dolist (`(,told ,activity ,state)
                     '(("waiting" (waiting . "permission prompt") active)
                       ("working" (working) active) ("idle" nil paused)
                       ("working" (working) active) ("suspended" nil paused)
                       ("working" (working) active)))
        (todo-write-socket-test-send
         program `( :type "activity" :session "a" :activity ,told
                    ,@(and (cdr activity) '(:reason "permission\nprompt"))))
        (todo-write-test-wait (lambda () (equal activity (todo-write-activity "claude:a"))))
        (should (eq state (todo-write-state "claude:a"))))
      ;; It needs no guess.
      (let ((todo-write-agents-silence -1) (todo-write-follow-quiet -1))
        (todo-write-agents--check-programs)
        (should (equal '(working) (todo-write-activity "claude:a")))))))

(ert-deftest todo-write-mcp-a-new-session-without-a-plan-ends-the-plan-of-the-old-one ()
  (todo-write-with-socket
    (let ((program (todo-write-socket-test-hello)))
      (todo-write-mcp-tests--call program "a" '(("One" "in_progress")))
      (todo-write-socket-test-send program '(:type "activity" :session "b" :activity "idle"))
      (todo-write-test-wait (lambda () (eq 'paused (todo-write-state "claude:a"))))
      (should (equal '("claude:a") (todo-write-threads)))
      (todo-write-socket-test-send program '(:type "activity" :session "a" :activity "working"))
      (todo-write-test-wait (lambda () (eq 'active (todo-write-state "claude:a")))))))

(ert-deftest todo-write-mcp-a-killed-agent-is-told-from-one-that-ended ()
  (todo-write-with-socket
    (let ((program (todo-write-socket-test-hello)))
      (todo-write-mcp-tests--call program "a" '(("One" "in_progress")))
      (todo-write-socket-test-send program '(:type "bye" :killed t))
      (todo-write-test-wait (lambda () (eq 'paused (todo-write-state "claude:a"))))
      (should (eq 'killed (plist-get (todo-write-summary "claude:a") :ending))))))

(provide 'todo-write-mcp-tests)
;;; todo-write-mcp-tests.el ends here
