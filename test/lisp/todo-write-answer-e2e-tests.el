;;; todo-write-answer-e2e-tests.el --- A user answers agents by keys  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The user types in an Emacs in a terminal while agents ask.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'todo-write-socket-helper)
(require 'todo-write-user-helper)

;;; The user's Emacs

(defmacro todo-write-answer-user (&rest body)
  "Run BODY while the user's Emacs runs in a terminal, in a folder of its own."
  (declare (indent 0) (debug t))
  `(let ((default-directory (file-name-as-directory (make-temp-file "answer" t))))
     (unwind-protect
         (todo-write-user-call 24 80 (lambda () (todo-write-answer-user--load) ,@body))
       (todo-write-test-delete default-directory))))

(defun todo-write-answer-user--load ()
  "Load what the user's Emacs needs."
  (todo-write-user-eval
   '(require 'efrit-do)
   '(require 'todo-write-answer)
   '(todo-write-module-load)
   ;; The pauses end when a test says so.
   '(setq todo-write-answer-keys--first-pause 3600 todo-write-answer-keys--pause 3600)
   '(setq confirm-kill-emacs nil)
   '(defvar test-answers nil "Answers that agents got, newest first.")
   '(defvar test-result nil "Result of the tool that ran last.")
   '(defun test-ask (thread id &rest request)
      (apply #'todo-write-request thread
             :id id :kind 'permission
             :answer (lambda (value text) (push (list id value text) test-answers))
             (append request
                     (list :title "Run a command" :detail "npm test" :format 'shell
                           :options '((:label "Run it" :value yes :kind allow)
                                      (:label "Run every npm test of this project"
                                       :value ever :kind always)
                                      (:label "Do not run it" :value no :kind deny :text t)
                                      (:label "Run it elsewhere" :value there :kind other))))))
   ;; As an agent does: from a timer.
   '(defun test-tool (name input)
      (setq test-result nil)
      (run-at-time 0 nil
                   (lambda ()
                     (efrit-do-call-tool name input
                                         (lambda (outcome) (setq test-result outcome))))))))

(defun todo-write-answer-user--tool (name &rest input)
  "Let an agent call the tool NAME with INPUT, and show the user what it asks."
  (todo-write-user-eval `(test-tool ,name ',input))
  (todo-write-answer-user--wait-for-question))

(defun todo-write-answer-user--wait-for-question ()
  "Wait until an agent asks the user, and show the question."
  (todo-write-test-wait (lambda () (todo-write-user-eval '(and (todo-write-requests) t))))
  (should (= 0 (todo-write-user-eval '(recursion-depth))))
  (todo-write-user-eval '(todo-write-answer)))

(defun todo-write-answer-user--pause ()
  "Let the pause pass after which a key counts, once all that was typed is read."
  (todo-write-test-wait
   (lambda ()
     (todo-write-user-eval '(progn (when todo-write-answer-keys--timer
                                     (timer-event-handler todo-write-answer-keys--timer))
                                   todo-write-answer-keys--armed)))))

(defun todo-write-answer-user--press (keys)
  "Press each of KEYS, a string, after a pause."
  (seq-doseq (key keys)
    (todo-write-answer-user--pause)
    (todo-write-user-type (string key))))

(defun todo-write-answer-user--result ()
  "Wait until the tool of the agent has returned, and return its outcome."
  (todo-write-test-wait (lambda () (todo-write-user-eval 'test-result))))

(defun todo-write-answer-user--on-screen ()
  "Return the text that the window of the question shows."
  (todo-write-user-eval
   '(let ((window (get-buffer-window "*todo-write-request*")))
      (redisplay t)
      (with-current-buffer (window-buffer window)
        (buffer-substring-no-properties (window-start window) (window-end window t))))))

(defun todo-write-answer-user--message ()
  "Return what the echo area shows, or an empty string."
  (or (todo-write-user-eval '(current-message)) ""))

;;; Nothing by accident

(ert-deftest todo-write-answer-keys-typed-before-the-question-are-not-for-it ()
  (todo-write-answer-user
    (todo-write-user-eval
     '(run-at-time 0 nil
                   (lambda ()
                     (write-region "" nil "busy" nil 'silent)
                     (while (not (file-exists-p "go on")))
                     (test-tool "shell_exec" '(:command "touch evil")))))
    (todo-write-test-wait (lambda () (file-exists-p "busy")))
    (process-send-string todo-write-user-process "yyyy")
    (write-region "" nil "go on" nil 'silent)
    (todo-write-answer-user--wait-for-question)
    (should-not (todo-write-user-eval 'test-result))
    (todo-write-answer-user--press "y")
    (should-not (plist-get (todo-write-answer-user--result) :is-error))))

(ert-deftest todo-write-answer-keys-typed-while-emacs-is-busy-do-not-count ()
  (todo-write-answer-user
    (todo-write-answer-user--tool "shell_exec" :command "touch evil")
    (todo-write-answer-user--pause)
    ;; The first key after a pause counts.
    (todo-write-user-type " ")
    (todo-write-user-eval
     '(run-at-time 0 nil
                   (lambda ()
                     (write-region "" nil "busy" nil 'silent)
                     (while (not (file-exists-p "go on")))
                     ;; The pause that a key needs passes meanwhile.
                     (timer-set-time todo-write-answer-keys--timer (current-time)))))
    (todo-write-test-wait (lambda () (file-exists-p "busy")))
    (process-send-string todo-write-user-process "yy")
    (write-region "" nil "go on" nil 'silent)
    (todo-write-test-wait
     (lambda () (string-search "Wait" (todo-write-answer-user--message))))
    (should-not (todo-write-user-eval 'test-result))
    (should-not (file-exists-p "evil"))))

(ert-deftest todo-write-answer-two-thousand-random-keys-answer-nothing ()
  :tags '(:thorough)
  (todo-write-answer-user
    (todo-write-user-eval
     '(defun test-appear ()
        (dolist (request (todo-write-requests))
          (todo-write-withdraw (plist-get request :thread) (plist-get request :id)))
        (dotimes (i 3)
          (test-ask (format "agent%d" i) (format "%d" (random 1000000))))
        (run-at-time 0 nil #'todo-write-answer)))
    ;; No pause is long enough for a key to count.
    (let ((keys "yAnN123t \rqoaybcdefgijklmnprsuvz"))
      (dotimes (i 2000)
        (when (= 0 (% i 40))
          (todo-write-user-eval '(test-appear)))
        (process-send-string todo-write-user-process
                             (string (aref keys (random (length keys)))))
        (accept-process-output nil (/ (random 20) 1000.0))))
    (should-not (todo-write-user-eval 'test-answers))))

;;; The same for each agent that asks by the socket

(defun todo-write-answer-user--hosts (command)
  "Return how agents ask by the socket whether COMMAND may run, an alist.
A value is (HELLO CALL), fields of both messages.  The requests have an
answer that allows always."
  `(("Claude Code" (:roles ["permission"])
     (:arguments (:hook_event_name "PermissionRequest" :tool_name "Bash"
                  :tool_input (:command ,command)
                  :permission_suggestions
                  [(:type "addRules" :rules [(:toolName "Bash" :ruleContent "touch:*")]
                    :behavior "allow" :destination "localSettings")])))
    ("Codex" (:roles ["permission"] :client "codex-mcp-client")
     (:arguments (:hook_event_name "CodexRequest" :tool_name "Command" :elsewhere :false
                  :tool_input (:command ,command :reason "May I?")
                  :permission_suggestions [(:type "codexPrefix" :words ["touch"])])))
    ("opencode" (:roles ["plan" "permission" "note"] :client "opencode")
     (:role "permission" :source "event"
      :arguments (:hook_event_name "permission.asked" :id "per_1" :permission "bash"
                  :patterns [,command] :always ["touch *"] :tool "bash"
                  :input (:command ,command))))))

(defun todo-write-answer-user--listen ()
  "Let the user's Emacs open a socket; return its file."
  (let ((file (todo-write-socket-test-file)))
    (todo-write-user-eval
     `(setq todo-write-socket ,file
            todo-write-follow-agents nil)
     '(todo-write-agents-mode))
    (todo-write-test-wait (lambda () (file-exists-p file)))
    file))

(defun todo-write-answer-user--ask (host)
  "Let HOST, of `todo-write-answer-user--hosts', ask; return the connection."
  (pcase-let* ((`(,name ,hello ,call) host)
               (process (apply #'todo-write-socket-test-hello
                               :id (format "%s-%s" name (random t)) :role "permission" hello)))
    (todo-write-socket-test-send
     process (append call (list :type "call" :call 1 :session "s1" :source "process")))
    process))

(defun todo-write-answer-user--heard (process)
  "Return what the agent of PROCESS was answered, as text."
  (accept-process-output process 0)
  (with-current-buffer (process-buffer process) (buffer-string)))

(ert-deftest todo-write-answer-each-host-is-answered-after-the-end-was-seen-and-always-is-asked-again ()
  (todo-write-answer-user
    (let ((todo-write-socket-test-at (todo-write-answer-user--listen)))
      (dolist (host (todo-write-answer-user--hosts
                     (concat (mapconcat (lambda (i) (format ": line %d" i)) (number-sequence 1 60) "\n")
                             "\ntouch evil")))
        (ert-info ((car host))
          (let ((process (todo-write-answer-user--ask host)))
            (cl-flet ((silent () (should-not (string-search
                                              "decision" (todo-write-answer-user--heard process)))))
              (todo-write-answer-user--wait-for-question)
              ;; Before the pause has passed, and before the end.
              (process-send-string todo-write-user-process "yA1")
              (todo-write-answer-user--pause)
              (silent)
              (todo-write-answer-user--press "yA1")
              (should (string-search "Read to the end" (todo-write-answer-user--message)))
              (silent)
              (todo-write-test-wait
               (lambda ()
                 (todo-write-user-type " ")
                 (string-search "touch evil" (todo-write-answer-user--on-screen))))
              (todo-write-user-type " ")
              (todo-write-answer-user--press "A")
              (silent)
              (should (string-search "From now on" (todo-write-answer-user--on-screen)))
              ;; At once, it does not count.
              (process-send-string todo-write-user-process "A")
              (todo-write-answer-user--pause)
              (silent)
              (todo-write-answer-user--press "A")
              (should (equal '(:behavior "allow" :suggestion 0)
                             (plist-get (todo-write-socket-test-read process) :decision)))
              (delete-process process))
            (todo-write-test-wait
             (lambda () (todo-write-user-eval '(null (todo-write-requests)))))))))))

(ert-deftest todo-write-answer-takes-no-key-of-a-keyboard-macro ()
  (todo-write-answer-user
    (todo-write-user-eval '(test-ask "a" "1") '(todo-write-answer))
    (todo-write-answer-user--pause)
    (todo-write-user-eval '(ignore-errors (execute-kbd-macro "y")))
    (should-not (todo-write-user-eval 'test-answers))
    (todo-write-answer-user--press "y")
    (should (equal '(("1" yes nil)) (todo-write-user-eval 'test-answers)))))

(ert-deftest todo-write-answer-n-and-q-go-back-from-the-confirmation-of-always ()
  (todo-write-answer-user
    (todo-write-user-eval '(test-ask "a" "1") '(todo-write-answer))
    (dolist (back '("n" "q"))
      (todo-write-answer-user--press "A")
      (should (string-search "From now on" (todo-write-answer-user--on-screen)))
      ;; Nothing else is answered there.
      (dolist (key '("y" "N" "1"))
        (todo-write-answer-user--press key)
        (should (string-search "n goes back" (todo-write-answer-user--message))))
      (should (string-search "From now on" (todo-write-answer-user--on-screen)))
      (todo-write-answer-user--press back)
      (should-not (string-search "From now on" (todo-write-answer-user--on-screen)))
      (should-not (todo-write-user-eval 'test-answers))
      (should (todo-write-user-eval '(mapcar #'car (todo-write-requests)))))
    (todo-write-answer-user--press "n")
    (should (equal '(("1" no nil)) (todo-write-user-eval 'test-answers)))))

;;; Clicks

(defun todo-write-answer-user--click (text)
  "Press and release the mouse on the key before TEXT in the question."
  (pcase-let ((`(,column . ,row)
               (todo-write-user-eval
                `(let ((window (get-buffer-window "*todo-write-request*")))
                   (with-current-buffer "*todo-write-request*"
                     (save-excursion
                       (goto-char (point-min))
                       (search-forward ,text)
                       (goto-char (line-beginning-position))
                       (skip-chars-forward " ")
                       (pcase-let ((`(,left ,top . ,_) (window-inside-edges window)))
                         (cons (+ left (current-column) 1)
                               (+ top (count-screen-lines (window-start window)
                                                          (line-beginning-position) nil window)
                                  1)))))))))
    (process-send-string todo-write-user-process
                         (format "\e[<0;%d;%dM\e[<0;%d;%dm" column row column row))))

(ert-deftest todo-write-answer-takes-a-click-on-a-key-after-the-same-pause ()
  (todo-write-answer-user
    ;; The clicks are two, and not a double one.
    (todo-write-user-eval '(setq double-click-time 0) '(xterm-mouse-mode) '(test-ask "a" "1")
                          '(todo-write-answer))
    (todo-write-answer-user--click "Run it  ")
    (todo-write-test-wait
     (lambda () (string-search "Wait" (todo-write-answer-user--message))))
    (should-not (todo-write-user-eval 'test-answers))
    (todo-write-answer-user--pause)
    (todo-write-answer-user--click "Run it  ")
    (todo-write-test-wait (lambda () (todo-write-user-eval 'test-answers)))
    (should (equal '(("1" yes nil)) (todo-write-user-eval 'test-answers)))))

;;; Leaving

(ert-deftest todo-write-answer-is-left-by-one-key-while-requests-come-and-go ()
  (todo-write-answer-user
    (todo-write-user-eval
     '(defvar test-asked 0)
     '(test-ask "a" "1") '(todo-write-answer)
     '(defun test-go-on ()
        (cl-incf test-asked)
        (test-ask "a" "1" :title (format "Run %d" test-asked))
        ;; After that, however long it took.
        (run-at-time 0.01 nil #'test-go-on))
     '(run-at-time 0 nil #'test-go-on))
    (todo-write-test-wait (lambda () (< 20 (todo-write-user-eval 'test-asked))))
    (process-send-string todo-write-user-process "q")
    (let ((asked (todo-write-user-eval 'test-asked)))
      (todo-write-test-wait (lambda () (< (+ 20 asked) (todo-write-user-eval 'test-asked)))))
    (should-not (todo-write-user-eval '(and (get-buffer-window "*todo-write-request*") t)))
    (should (todo-write-user-eval '(and (todo-write-requests) t)))))

(ert-deftest todo-write-answer-quits-what-takes-long-to-show-and-leaves-it-open ()
  (todo-write-answer-user
    (todo-write-user-eval
     '(defun test-work ()
        (unwind-protect (progn (write-region "" nil "busy" nil 'silent)
                               (while (not (file-exists-p "never"))))
          (write-region "" nil "ended" nil 'silent)))
     '(test-ask "a" "1" :detail #'test-work))
    (cl-flet ((quit ()
                (todo-write-test-wait (lambda () (file-exists-p "busy")))
                (delete-file "busy")
                (process-send-string todo-write-user-process "\C-g")
                ;; It would quit a question to that Emacs, too.
                (todo-write-test-wait (lambda () (file-exists-p "ended")))
                (delete-file "ended")
                (todo-write-test-wait
                 (lambda () (not (todo-write-user-eval
                                  '(and (get-buffer-window "*todo-write-request*") t)))))
                (should (equal '("1") (todo-write-user-eval
                                       '(mapcar (lambda (request) (plist-get request :id))
                                                (todo-write-requests)))))))
      (process-send-string todo-write-user-process "\extodo-write-answer\r")
      (quit)
      ;; The one that follows an answer is shown by a timer.
      (todo-write-user-eval '(test-ask "b" "2") '(todo-write-answer "b"))
      (todo-write-answer-user--pause)
      (process-send-string todo-write-user-process "y")
      (quit)
      (should (equal '(("2" yes nil)) (todo-write-user-eval 'test-answers))))))

;;; Nothing hidden

(ert-deftest todo-write-answer-takes-no-yes-before-the-end-was-on-the-screen ()
  (todo-write-answer-user
    (todo-write-answer-user--tool
     "shell_exec"
     :command (concat (mapconcat (lambda (i) (format ": line %d" i)) (number-sequence 1 500) "\n")
                      "\n: line 501\ntouch evil"))
    (todo-write-answer-user--press "yA1")
    (should (string-search "Read to the end" (todo-write-answer-user--message)))
    (let ((seen (todo-write-answer-user--on-screen)) (screens 1))
      (while (and (< screens 100) (not (string-search "touch evil" seen)))
        (todo-write-user-type " ")
        (cl-incf screens)
        (setq seen (concat seen (todo-write-answer-user--on-screen))))
      (dotimes (i 501)
        (should (string-search (format ": line %d\n" (1+ i)) seen))))
    (todo-write-user-type " ")
    (should-not (file-exists-p "evil"))
    (todo-write-answer-user--press "y")
    (should-not (plist-get (todo-write-answer-user--result) :is-error))
    (should (file-exists-p "evil"))))

;;; What an agent makes

;;; Answers

(ert-deftest efrit-do-c-g-leaves-the-question-open-and-stopping-withdraws-it ()
  (todo-write-answer-user
    (todo-write-answer-user--tool "shell_exec" :command "touch evil")
    (todo-write-test-wait
     (lambda ()
       ;; A C-g that comes while the server answers this Emacs ends only that.
       (process-send-string todo-write-user-process "\C-g")
       (equal '(nil) (ignore-errors
                       (list (todo-write-user-eval
                              '(and (get-buffer-window "*todo-write-request*") t)))))))
    (should (todo-write-user-eval '(and (todo-write-requests) (not test-result))))
    (todo-write-user-eval '(let ((request (car (todo-write-requests))))
                             (todo-write-withdraw (plist-get request :thread)
                                                  (plist-get request :id))))
    (should (string-search "did not allow"
                           (plist-get (todo-write-answer-user--result) :content)))
    (should-not (file-exists-p "evil"))))

(ert-deftest efrit-do-restores-the-window-that-was-selected-before-it-asked ()
  (todo-write-answer-user
    (todo-write-user-eval '(progn (split-window-right) (switch-to-buffer "mine") nil))
    (let ((before (todo-write-user-eval '(mapcar #'buffer-name
                                                 (mapcar #'window-buffer (window-list))))))
      (todo-write-answer-user--tool "shell_exec" :command "true")
      (todo-write-answer-user--press "y")
      (todo-write-answer-user--result)
      (should (equal before (todo-write-user-eval
                             '(mapcar #'buffer-name (mapcar #'window-buffer (window-list)))))))))

(ert-deftest todo-write-answer-shows-the-next-request-after-an-answer ()
  (todo-write-answer-user
    (todo-write-user-eval '(test-ask "a" "1") '(test-ask "b" "2" :title "Second")
                          '(todo-write-answer))
    (todo-write-answer-user--press "y")
    (todo-write-test-wait
     (lambda () (string-search "Second" (todo-write-answer-user--on-screen))))
    (todo-write-answer-user--press "4")
    (should (string-search "No answer has this number" (todo-write-answer-user--message)))
    (todo-write-answer-user--press "1")
    (should (equal '(("2" there nil) ("1" yes nil)) (todo-write-user-eval 'test-answers)))
    (todo-write-test-wait
     (lambda () (not (todo-write-user-eval '(get-buffer "*todo-write-request*")))))))

(ert-deftest todo-write-answer-never-takes-the-focus-for-a-new-request ()
  (todo-write-answer-user
    (todo-write-user-eval '(test-ask "a" "1"))
    (todo-write-user-type "xyz")
    (should (equal "*scratch*" (todo-write-user-eval
                                '(buffer-name (window-buffer (selected-window))))))
    (should (equal "xyz" (todo-write-user-eval
                          '(with-current-buffer "*scratch*"
                             (buffer-substring (max 1 (- (point-max) 3)) (point-max))))))))

(ert-deftest todo-write-answer-reads-the-answers-to-questions ()
  (todo-write-answer-user
    (todo-write-user-eval
     '(test-ask "a" "1" :kind 'question :title "Two things" :detail nil :options nil
                :questions '((:question "Which colour?"
                              :options ((:label "Red") (:label "Blue" :description "Cold")))
                             (:question "Which files?" :multiple t
                              :options ((:label "a.c") (:label "b.c") (:label "c.c")))
                             (:question "Why?")))
     '(todo-write-answer))
    (todo-write-answer-user--press "2")
    (todo-write-answer-user--press "131")
    (todo-write-answer-user--press "2\r")
    (todo-write-answer-user--press "t")
    (process-send-string todo-write-user-process "So it is\r")
    (todo-write-test-wait (lambda () (todo-write-user-eval 'test-answers)))
    (should (equal '(("1" (("Which colour?" . "Blue") ("Which files?" "c.c" "b.c")
                           ("Why?" . "So it is"))
                      nil))
                   (todo-write-user-eval 'test-answers)))))

;;; Plans

(provide 'todo-write-answer-e2e-tests)
;;; todo-write-answer-e2e-tests.el ends here
