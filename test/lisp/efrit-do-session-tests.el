;;; efrit-do-session-tests.el --- Tests of a session, by scripts -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests run whole sessions of the scripted backend and check their
;; results, their records and their ends.

;;; Code:

(require 'ert)
(require 'todo-write-test-helper)
(require 'efrit-do)
(require 'efrit-do-replay)

(defmacro efrit-do-session-tests--with-sessions (&rest body)
  "Run BODY with an empty store, a tool that counts, and no questions asked.
The tool `count' returns how often it ran; `fail' fails with its argument."
  (declare (indent 0) (debug t))
  `(todo-write-with-store
     (let* ((inhibit-message t)
            (efrit-do-backend 'replay)
            (efrit-do-sessions nil)
            (efrit-do-tools efrit-do-tools)
            (efrit-do-confirm nil)
            (ran 0))
       (efrit-do-register-tool
        :name "count" :args '((:name "n" :type "integer" :optional t))
        :function (lambda (_n) (format "run %d" (cl-incf ran))))
       (efrit-do-register-tool
        :name "fail" :args '((:name "why" :type "string"))
        :function (lambda (why) (cl-incf ran) (error "%s" why)))
       ,@body)))

(defun efrit-do-session-tests--run (turns &rest options)
  "Run a session that plays TURNS with OPTIONS; return its outcome."
  (apply #'efrit-do-run "Tidy up" :speed 0 :script (list :turns turns) options))

(defun efrit-do-session-tests--status (turns)
  "Run a session that plays TURNS; return how it ended."
  (plist-get (efrit-do-session-tests--run turns) :status))

(defun efrit-do-session-tests--start (turns &optional speed)
  "Start a session that plays TURNS at SPEED, by default without pauses; return it."
  (efrit-do-session-start
   (efrit-do-session-begin "Tidy up" (list :speed (or speed 0) :script (list :turns turns)))))

(defun efrit-do-session-tests--await (session)
  "Wait until SESSION has ended and return it."
  (todo-write-test-wait (lambda () (not (efrit-do-session-running-p session))))
  session)

(defun efrit-do-session-tests--cancelled (&rest events)
  "Start a session that plans and would then play EVENTS; cancel it meanwhile.
Return it, as it would go on without pauses."
  (let ((session (efrit-do-session-tests--start
                  (list (list (efrit-do-session-tests--plan "in_progress"))
                        (cons '(:pause 60) events))
                  1)))
    (todo-write-test-wait
     (lambda () (eq 'active (todo-write-state (efrit-do-session-thread session)))))
    (efrit-do-cancel)
    (setf (efrit-do-replay--state-speed (efrit-do-session-state session)) 0)
    session))

(defun efrit-do-session-tests--plan (&rest statuses)
  "Return a call of todo_write for tasks with STATUSES."
  (let ((n 0))
    (list :tool "todo_write"
          :input (apply #'todo-write-test-todos
                        (mapcar (lambda (status)
                                  (list (format "Task %d" (cl-incf n)) status))
                                statuses)))))

(defun efrit-do-session-tests--types (thread)
  "Return the types of the observations of THREAD, in order."
  (mapcar (lambda (each) (plist-get each :type))
          (todo-write-observations thread)))

(defun efrit-do-session-tests--of-type (thread type)
  "Return the observations of TYPE in THREAD, a list."
  (append (todo-write-observations thread :type type) nil))

;;; Results

(ert-deftest efrit-do-tells-its-agent-what-the-user-says-with-its-next-list ()
  (efrit-do-session-tests--with-sessions
    (efrit-do-register-tool
     :name "hear" :args '((:name "n" :type "integer" :optional t))
     :function (lambda (_n)
                 (todo-write-tell (efrit-do-context-thread efrit-do-context) "Mind the cat"
                                  '(:path "/a" :line 2))
                 "Heard"))
    (let ((outcome (efrit-do-session-tests--run
                    (list (list (efrit-do-session-tests--plan "in_progress"))
                          '((:tool "hear" :input (:n 1)))
                          (list (efrit-do-session-tests--plan "completed"))
                          (list (efrit-do-session-tests--plan "completed" "completed"))
                          '((:tool "session_complete" :input (:message "Clean.")))))))
      (should (equal '(nil nil t nil nil)
                     (mapcar (lambda (result)
                               (and (string-search "The user comments on /a:2:\nMind the cat"
                                                   (plist-get result :content))
                                    t))
                             (plist-get outcome :tool-results))))
      (should (equal '(t) (mapcar (lambda (comment) (plist-get comment :told))
                                  (todo-write-plan-comments (plist-get outcome :thread)))))
      ;; It makes no further call.
      (should-not (todo-write-tell--channel (plist-get outcome :thread))))))

(ert-deftest efrit-do-runs-the-other-tools-of-the-turn-that-completes ()
  (efrit-do-session-tests--with-sessions
    (let ((outcome (efrit-do-session-tests--run
                    '(((:tool "session_complete" :input (:message "Bye."))
                       (:tool "count"))
                      ((:tool "count"))))))
      (should (eq (plist-get outcome :status) 'done))
      (should (= ran 1)))))

(ert-deftest efrit-do-pauses-the-list-of-an-agent-that-stops-early ()
  (efrit-do-session-tests--with-sessions
    (let ((outcome (efrit-do-session-tests--run
                    (list (list (efrit-do-session-tests--plan "in_progress"))
                          '((:text "Enough."))))))
      (should (eq (plist-get outcome :status) 'done))
      (should (eq (todo-write-state (plist-get outcome :thread)) 'paused)))))

(ert-deftest efrit-do-works-in-the-thread-and-directory-it-is-given ()
  (efrit-do-session-tests--with-sessions
    (let ((outcome (efrit-do-session-tests--run
                    (list (list (efrit-do-session-tests--plan "pending")
                                '(:tool "eval_sexp"
                                  :input (:expr "default-directory"))))
                    :thread "mine" :directory "/tmp")))
      (should (equal (plist-get outcome :thread) "mine"))
      (should (equal (todo-write-test-contents "mine") '("Task 1")))
      (should (equal (plist-get (cadr (plist-get outcome :tool-results))
                                :content)
                     "\"/tmp/\"")))))

(ert-deftest efrit-do-gives-each-session-a-thread-of-its-own-in-its-project ()
  (efrit-do-session-tests--with-sessions
    (let ((a (plist-get (efrit-do-session-tests--run nil :directory "/tmp") :thread))
          (b (plist-get (efrit-do-session-tests--run nil :directory "/tmp") :thread)))
      (should-not (equal a b))
      (should (string-prefix-p "/tmp/#" a)))))

(ert-deftest efrit-do-result-says-first-that-it-is-a-demonstration ()
  (efrit-do-session-tests--with-sessions
    (should (string-match-p
             "\\`Demonstration: a scripted agent; set `efrit-do-backend'"
             (plist-get (efrit-do-run "x" :backend 'auto :speed 0) :result)))
    ;; A user who names a script needs no such notice.
    (should (equal (plist-get (efrit-do-session-tests--run '(((:text "Mine."))))
                              :result)
                   "Mine."))))

;;; Records

(ert-deftest efrit-do-records-call-and-result-under-one-id ()
  (efrit-do-session-tests--with-sessions
    (let* ((thread (plist-get (efrit-do-session-tests--run
                               '(((:tool "count" :input (:n 4)))))
                              :thread))
           (call (plist-get (car (efrit-do-session-tests--of-type
                                  thread "TOOL_CALL"))
                            :content))
           (result (plist-get (car (efrit-do-session-tests--of-type
                                    thread "TOOL_EXECUTION"))
                              :content)))
      (should (equal (plist-get call :id) (plist-get result :id)))
      (should (equal (plist-get call :input) "{\"n\":4}"))
      (should (equal (plist-get result :content) "run 1")))))

(ert-deftest efrit-do-records-output-whose-bytes-are-not-text ()
  (efrit-do-session-tests--with-sessions
    (let ((thread (plist-get (efrit-do-session-tests--run
                              '(((:tool "shell_exec" :input (:command "printf 'a\\377b'")))))
                             :thread)))
      (should (equal (mapcar (lambda (result)
                               (plist-get (plist-get result :content) :content))
                             (efrit-do-session-tests--of-type thread "TOOL_EXECUTION"))
                     '("a\ufffdb"))))))

(ert-deftest efrit-do-records-a-long-input-in-part-and-runs-it-whole ()
  (efrit-do-session-tests--with-sessions
    (let* ((plan (apply #'efrit-do-session-tests--plan (make-list 200 "pending")))
           (thread (plist-get (efrit-do-session-tests--run (list (list plan)))
                              :thread))
           (call (plist-get (car (efrit-do-session-tests--of-type
                                  thread "TOOL_CALL"))
                            :content)))
      (should (= 200 (length (todo-write-items thread))))
      (should (string-search "left out" (plist-get call :input)))
      (should (< (length (plist-get call :input)) 2100)))))

(ert-deftest efrit-do-records-the-answer-once-and-not-the-outputs-again ()
  (efrit-do-session-tests--with-sessions
    (let* ((thread (plist-get (efrit-do-session-tests--run
                               '(((:thinking "All done.") (:text "The room is clean.")
                                  (:tool "count")
                                  (:tool "session_complete"
                                   :input (:message "Swept and dusted.")))))
                              :thread))
           (answers (efrit-do-session-tests--of-type thread "FINAL_RESPONSE")))
      (should (equal (mapcar (lambda (each) (plist-get each :content)) answers)
                     '("The room is clean.\n\nSwept and dusted."))))))

(ert-deftest efrit-do-gives-all-of-one-run-the-same-trace ()
  (efrit-do-session-tests--with-sessions
    (let ((thread (plist-get (efrit-do-session-tests--run
                              '(((:thinking "Hm.") (:tool "count"))))
                             :thread)))
      (should (= 1 (length (delete-dups
                            (mapcar (lambda (each) (plist-get each :traceId))
                                    (todo-write-observations thread)))))))))

;;; The circuit breaker

;; In another agent, fifteen more calls ran after the breaker had tripped.
(ert-deftest efrit-do-stops-at-each-limit ()
  (pcase-dolist (`((,calls ,identical ,errors) ,turn ,why ,times ,asked)
                 '(((6 nil 3) (:tool "count") "6 tool calls" 5 7)
                   ((50 2 3) (:tool "count" :input (:n 1)) "2 times in a row" 2 4)
                   ((50 nil 4) (:tool "fail" :input (:why "no luck")) "no luck" 4 5)))
    (ert-info (why :prefix "Stopped: ")
      (efrit-do-session-tests--with-sessions
        (let* ((efrit-do-limits (list :calls calls :identical-calls identical
                                      :same-errors errors))
               (outcome (efrit-do-session-tests--run
                         (cons (list (efrit-do-session-tests--plan "in_progress" "pending"))
                               (make-list 1000 (list turn)))))
               (thread (plist-get outcome :thread))
               (types (efrit-do-session-tests--types thread)))
          (should (eq (plist-get outcome :status) 'stopped))
          (should (string-search why (plist-get outcome :reason)))
          (should (string-search why (plist-get outcome :result)))
          (should (eq (todo-write-state thread) 'paused))
          (should (equal (plist-get (todo-write-summary thread) :reason)
                         (plist-get outcome :reason)))
          (should (= ran times))
          (should (= asked (cl-count "LLM_STREAM_START" types :test #'equal)))
          ;; Nothing ran and nothing was sent after that.
          (should-not (seq-intersection (member "ERROR" types)
                                        '("LLM_STREAM_START" "TOOL_CALL" "TOOL_EXECUTION")))
          (should (equal (car (last types)) "AGENT_SUSPENDED"))
          (todo-write-test-run-timers)
          (should (equal types (efrit-do-session-tests--types thread))))))))

(ert-deftest efrit-do-counts-identical-calls-and-equal-errors ()
  (pcase-dolist (`(,what ,identical ,errors ,status . ,calls)
                 '(("similar calls and different errors" 1 2 done
                    (:tool "count" :input (:n 1)) (:tool "count" :input (:n 2))
                    (:tool "fail" :input (:why "a")) (:tool "fail" :input (:why "b"))
                    (:tool "count" :input (:n 1)))
                   ("an error between successes of other tools" nil 2 stopped
                    (:tool "fail" :input (:why "a")) (:tool "count")
                    (:tool "fail" :input (:why "a")))
                   ("an error after a success of the same tool" nil 2 done
                    (:tool "eval_sexp" :input (:expr "(error \"a\")"))
                    (:tool "eval_sexp" :input (:expr "1"))
                    (:tool "eval_sexp" :input (:expr "(error \"a\")")))))
    (ert-info (what)
      (efrit-do-session-tests--with-sessions
        (let ((efrit-do-limits (list :identical-calls identical :same-errors errors)))
          (should (eq status (efrit-do-session-tests--status (mapcar #'list calls)))))))))

(ert-deftest efrit-do-counts-calls-that-the-backend-refuses ()
  (efrit-do-session-tests--with-sessions
    (pcase-dolist (`(,limits . ,names) '(((:calls 2) "a" "b" "c") ((:identical-calls 2) "a" "a" "a")))
      (let ((efrit-do-limits limits)
            (session (efrit-do-session-tests--start '(((:pause 60))))))
        (dolist (name names)
          (should (efrit-do-session-running-p session))
          (efrit-do-session-refused session name nil (concat "There is no tool " name)))
        (should (eq 'stopped (efrit-do-session-status session)))))))

(ert-deftest efrit-do-continues-if-there-are-no-limits ()
  (efrit-do-session-tests--with-sessions
    (let ((efrit-do-limits nil))
      ;; By default, a session has 200 calls, of which three in a row may be equal.
      (should (eq 'done (efrit-do-session-tests--status (list (make-list 201 '(:tool "count"))))))
      (should (= ran 201)))))

;;; Stopping and continuing

(ert-deftest efrit-do-cancel-stops-at-once-and-continue-resumes-there ()
  (efrit-do-session-tests--with-sessions
    (let* ((session (efrit-do-session-tests--cancelled '(:text "Later.") '(:tool "count")))
           (thread (efrit-do-session-thread session)))
      (should (eq (efrit-do-session-status session) 'cancelled))
      (should (eq (todo-write-state thread) 'paused))
      (should-not (todo-write-activity thread))
      (should (equal (car (last (efrit-do-session-tests--types thread))) "AGENT_SUSPENDED"))
      (should (zerop ran))
      (let ((current-prefix-arg '(4)))
        (call-interactively #'efrit-do))
      (should (eq (todo-write-state thread) 'active))
      (should (todo-write-activity thread))
      (efrit-do-session-tests--await session)
      (should-not (todo-write-activity thread))
      (should (eq (efrit-do-session-status session) 'done))
      (should (equal (efrit-do-session-text session) "Later."))
      (should (= ran 1))
      (should (member "AGENT_RESUMED" (efrit-do-session-tests--types thread))))))

(ert-deftest efrit-do-a-session-that-cannot-continue-ends-and-can-be-tried-again ()
  (efrit-do-session-tests--with-sessions
    (let ((session (efrit-do-session-tests--cancelled '(:text "Later."))))
      (dolist (problem '((error "No key") (quit)))
        (cl-letf (((symbol-function 'efrit-do-session-backend-start)
                   (lambda (&rest _) (signal (car problem) (cdr problem)))))
          (should (eq (car problem) (condition-case err (efrit-do-continue)
                                      ((error quit) (car err))))))
        (should (eq 'failed (efrit-do-session-status session)))
        (should (eq 'paused (todo-write-state (efrit-do-session-thread session)))))
      (efrit-do-session-tests--await (efrit-do-continue))
      (should (eq 'done (efrit-do-session-status session))))))

(ert-deftest efrit-do-quit-in-a-tool-cancels-and-tells-the-model-later ()
  (efrit-do-session-tests--with-sessions
    (let* ((outcome (efrit-do-session-tests--run
                     '(((:tool "eval_sexp" :input (:expr "(signal 'quit nil)"))
                        (:tool "count"))
                       ((:text "I see.")))))
           (session (car efrit-do-sessions)))
      (should (eq (plist-get outcome :status) 'cancelled))
      (should (zerop ran))
      (efrit-do-continue)
      (efrit-do-session-tests--await session)
      (should (eq (efrit-do-session-status session) 'done))
      ;; Both calls are answered without being run.
      (should (zerop ran))
      (should (equal (efrit-do-session-text session) "I see.")))))

(defmacro efrit-do-session-tests--asking (answer &rest body)
  "Run BODY with SESSION, in which the tool `count' waits for the user's consent.
ANSWER names a function that answers with its argument."
  (declare (indent 1) (debug t))
  `(efrit-do-session-tests--with-sessions
     (let* ((noninteractive nil)
            (efrit-do-confirm '("count"))
            (session (efrit-do-session-tests--start
                      '(((:tool "count")) ((:tool "count")) ((:text "All done.")))))
            (thread (efrit-do-session-thread session)))
       (cl-flet ((,answer (value)
                   (todo-write-answer-request
                    thread (plist-get (car (todo-write-requests thread)) :id) value)))
         (todo-write-test-wait #'todo-write-requests)
         ,@body))))

(ert-deftest efrit-do-waits-for-consent-without-blocking-and-then-goes-on ()
  (efrit-do-session-tests--asking answer
    (should (equal '(waiting . "count: ") (todo-write-activity thread)))
    (should (= 0 ran (recursion-depth)))
    (answer 'always)
    ;; The second call needs no further consent.
    (efrit-do-session-tests--await session)
    (should (eq 'done (efrit-do-session-status session)))
    (should (= 2 ran))))

(ert-deftest efrit-do-consent-can-stop-the-session ()
  (efrit-do-session-tests--asking answer
    (answer 'quit)
    (efrit-do-session-tests--await session)
    (should (eq 'cancelled (efrit-do-session-status session)))
    (should (= 0 ran))))

(ert-deftest efrit-do-continues-a-session-that-was-stopped-while-it-asked ()
  (efrit-do-session-tests--with-sessions
    (let* ((noninteractive nil)
           (efrit-do-confirm '("count"))
           (session (efrit-do-session-tests--start '(((:tool "count")) ((:text "I see."))))))
      (todo-write-test-wait #'todo-write-requests)
      (efrit-do-cancel session)
      (should-not (todo-write-requests))
      (should-not (todo-write-activity (efrit-do-session-thread session)))
      (efrit-do-session-tests--await (efrit-do-continue session))
      (should (eq 'done (efrit-do-session-status session)))
      (should (= 0 ran))
      (should (seq-some (lambda (event)
                          (string-search "did not allow"
                                         (plist-get (plist-get event :content) :content)))
                        (efrit-do-session-tests--of-type (efrit-do-session-thread session)
                                                         "TOOL_EXECUTION"))))))

(ert-deftest efrit-do-run-refuses-what-needs-consent-because-emacs-waits ()
  (efrit-do-session-tests--with-sessions
    (let* ((noninteractive nil)
           (efrit-do-confirm '("count"))
           (outcome (efrit-do-session-tests--run '(((:tool "count")) ((:text "I see."))))))
      (should (eq 'done (plist-get outcome :status)))
      (should (string-search "Emacs waits" (plist-get outcome :result)))
      (should (= 0 ran))
      (should-not (todo-write-requests)))))

(ert-deftest efrit-do-continue-lets-the-breaker-count-from-zero-and-numbers-calls-on ()
  (efrit-do-session-tests--with-sessions
    (let* ((efrit-do-limits '(:calls 2))
           (outcome (efrit-do-session-tests--run
                     (mapcar (lambda (n) `((:tool "count" :input (:n ,n)))) '(1 2 3 4)))))
      (should (eq 'stopped (plist-get outcome :status)))
      (should (eq 'done (efrit-do-session-status
                         (efrit-do-session-tests--await (efrit-do-continue)))))
      ;; The call that tripped the breaker is answered, not run.
      (should (= ran 3))
      (should (equal (mapcar (lambda (call) (plist-get (plist-get call :content) :id))
                             (efrit-do-session-tests--of-type (plist-get outcome :thread)
                                                              "TOOL_CALL"))
                     '("c1" "c2" "c3"))))))

(ert-deftest efrit-do-cancel-and-continue-say-when-there-is-nothing-to-do ()
  (efrit-do-session-tests--with-sessions
    (should-error (efrit-do-cancel) :type 'user-error)
    (should-error (efrit-do-continue) :type 'user-error)
    (efrit-do-session-tests--run '(((:text "Done."))))
    (should-error (efrit-do-cancel) :type 'user-error)
    (should-error (efrit-do-continue) :type 'user-error)))

(ert-deftest efrit-do-run-cancels-its-session-where-it-is-left ()
  (efrit-do-session-tests--with-sessions
    (with-timeout (0.1)
      (efrit-do-run "Tidy up" :script '(:turns (((:pause 60))))))
    (should (eq 'cancelled (efrit-do-session-status (car efrit-do-sessions))))))

(ert-deftest efrit-do-runs-two-sessions-side-by-side ()
  (efrit-do-session-tests--with-sessions
    (let ((a (efrit-do-session-tests--start
              (list (list (efrit-do-session-tests--plan "in_progress")
                          '(:tool "count")))))
          (b (efrit-do-session-tests--start
              (list (list (efrit-do-session-tests--plan "pending" "pending")
                          '(:tool "count"))))))
      (efrit-do-session-tests--await a)
      (efrit-do-session-tests--await b)
      (should (= ran 2))
      (should (equal (mapcar (lambda (session)
                               (length (todo-write-items
                                        (efrit-do-session-thread session))))
                             (list a b))
                     '(1 2))))))

(ert-deftest efrit-do-ends-even-if-a-hook-fails ()
  (efrit-do-session-tests--with-sessions
    (let ((debug-on-error nil)
          (efrit-do-end-functions (list (lambda (_session) (error "Oops")))))
      (should (eq 'done (plist-get (efrit-do-session-tests--run
                                    '(((:text "Done."))))
                                   :status))))))

;;; Activity

(ert-deftest efrit-do-is-working-until-the-session-ends ()
  (efrit-do-session-tests--with-sessions
    (let* ((said nil)
           (efrit-do-limits '(:calls 1))
           (listener (lambda (_thread what data)
                       (when (eq what 'activity) (push (car data) said)))))
      (pcase-dolist
          (`(,turns ,status ,activity)
           '((((:text "Done.")) done nil)
             (((:error "overloaded")) failed failed)
             (((:tool "count") (:tool "count")) stopped nil)
             (((:tool "eval_sexp" :input (:expr "(signal 'quit nil)"))) cancelled nil)))
        (setq said nil)
        (todo-write-test-listening listener
          (should (eq status (plist-get (efrit-do-session-tests--run (list turns) :thread "a")
                                        :status))))
        (should (equal (reverse said) (list 'working activity)))))))

(ert-deftest efrit-do-has-failed-if-it-cannot-start ()
  (efrit-do-session-tests--with-sessions
    (should-error (efrit-do-run "x" :thread "a" :script '(:turns 7)))
    (should (eq (car (todo-write-activity "a")) 'failed))))

;;; Scripts

(ert-deftest efrit-do-fails-at-an-error-in-the-script-and-continues-after-it ()
  (efrit-do-session-tests--with-sessions
    (let ((outcome (efrit-do-session-tests--run
                    '(((:text "Half") (:error "overloaded"))
                      ((:tool "count"))))))
      (should (eq (plist-get outcome :status) 'failed))
      (should (equal (plist-get outcome :reason) "overloaded"))
      (let ((types (efrit-do-session-tests--types (plist-get outcome :thread))))
        (should (member "LLM_STREAM_ERROR" types))
        (should (member "ERROR" types)))
      (efrit-do-session-tests--await (efrit-do-continue))
      (should (= ran 1)))))

(ert-deftest efrit-do-fails-at-an-event-that-no-script-has ()
  (efrit-do-session-tests--with-sessions
    (should (string-search ":tols \"count\""
                           (plist-get (efrit-do-session-tests--run '(((:tols "count"))))
                                      :reason)))))

(ert-deftest efrit-do-refuses-an-empty-command ()
  (efrit-do-session-tests--with-sessions
    (should-error (efrit-do-run "  ") :type 'todo-write-input-error)))

(ert-deftest efrit-do-demo-replans-edits-a-copy-and-ends-done-each-time ()
  (efrit-do-session-tests--with-sessions
    (dotimes (_ 2)
      (let* ((efrit-do-confirm 'tool)
             (outcome (efrit-do-run "x" :speed 0))
             (thread (plist-get outcome :thread))
             (kinds (mapcan (lambda (revision)
                              (let ((n (plist-get revision :revision)))
                                (todo-write-test-types
                                 (todo-write-changes-between thread (1- n) n))))
                            (cdr (todo-write-revisions thread)))))
        (should (eq (plist-get outcome :status) 'done))
        (should (eq (todo-write-state thread) 'done))
        (should (= 1 (cl-count "added" kinds :test #'equal)))
        (should (= 1 (cl-count "modified" kinds :test #'equal)))
        (should (= 5 (length (todo-write-items thread))))
        ;; Nobody can answer its question.
        (should (equal '("shell_exec")
                       (mapcar (lambda (result) (plist-get result :name))
                               (seq-filter (lambda (result) (plist-get result :is-error))
                                           (plist-get outcome :tool-results)))))
        (should (equal '("login.js" "cli.js")
                       (mapcar (lambda (file) (file-name-nondirectory (plist-get file :path)))
                               (plist-get (todo-write-new thread) :files))))))
    (let ((default-directory (efrit-do-session-directory (car efrit-do-sessions))))
      (should-error (efrit-do-replay-edit-file (efrit-do-replay-demo) "" "")
                    :type 'todo-write-error))))

(ert-deftest efrit-do-demo-takes-up-each-task-of-the-user-and-follows-a-comment ()
  (efrit-do-session-tests--with-sessions
    (let* ((changes 0)
           (file (lambda () (expand-file-name "login.js" (efrit-do-session-directory
                                                          (car efrit-do-sessions)))))
           (todo-write-change-functions
            (list (lambda (thread _)
                    (pcase (cl-incf changes)
                      (1 (todo-write-edit thread 'add "Weed")
                         (todo-write-edit thread 'add "Water"))
                      ;; The agent has added lines above it.
                      (7 (todo-write-tell thread "Say\nless"
                                          (list :path (funcall file) :line 5
                                                :quote "+  if (!user)")))))))
           (thread (plist-get (efrit-do-run "x" :speed 0) :thread)))
      (should (equal '(("Weed" "completed") ("Water" "completed")
                       ("Follow your comment on login.js:5" "completed"))
                     (mapcar #'butlast (last (todo-write-test-rows thread) 3))))
      (dolist (said '("You added “Weed”" "You added “Water”" "about login.js:5: “Say\nless”"))
        (should (seq-find (lambda (message) (string-search said (plist-get message :content)))
                          (efrit-do-session-tests--of-type thread "MESSAGE"))))
      (with-temp-buffer
        (insert-file-contents (funcall file))
        (should (search-forward "\n  // Say\n  // less\n  if (!user) throw new LoginError("))))))

(provide 'efrit-do-session-tests)
;;; efrit-do-session-tests.el ends here
