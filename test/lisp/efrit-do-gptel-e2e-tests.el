;;; efrit-do-gptel-e2e-tests.el --- Sessions over HTTP, through gptel -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests run whole sessions with the real gptel and curl against a mock LLM
;; server, aimock of the npm package @copilotkit/aimock, which has the protocols
;; of three providers.  bin/setup fetches both.  If one is missing, the tests are
;; skipped.

;;; Code:

(require 'ert)
(require 'todo-write-test-helper)
(require 'todo-write-mock-helper)
(require 'efrit-do)

(defvar gptel-backend)
(defvar gptel-confirm-tool-calls)
(defvar gptel-model)
(defvar gptel-stream)
(defvar gptel--known-tools)
(defvar gptel--request-alist)
(defvar efrit-do-gptel-tools)
(declare-function gptel-backend-models "ext:gptel-request")
(declare-function gptel-make-tool "ext:gptel-request")

;;; Setting up

(defun efrit-do-e2e--requests (port)
  "Return the number of requests to a model on the server on PORT."
  (length (todo-write-mock-requests port)))

(defun efrit-do-e2e--call-with-server (fixture function)
  "Call FUNCTION with the port of a server that answers by FIXTURE."
  (todo-write-mock-load-gptel)
  (todo-write-with-mock port (concat "efrit-do/aimock/" fixture ".json")
    (todo-write-with-store
      (let ((inhibit-message t)
            (efrit-do-backend 'auto)
            (efrit-do-sessions nil)
            ;; gptel's parser for Gemini signals an error for a chunk of a stream
            ;; without JSON, and continues with the next one.  ERT would take it for
            ;; one of the test, and in batch it would end Emacs.
            (debug-on-error nil)
            (command-error-function
             (lambda (problem context _caller)
               (message "%s%s" context (error-message-string problem)))))
        (funcall function port)))))

(defun efrit-do-e2e--continue (session)
  "Continue SESSION, the newest one, and wait until it ends."
  (efrit-do-continue)
  (todo-write-test-wait (lambda () (not (efrit-do-session-running-p session)))))

(defun efrit-do-e2e--run (provider port command &rest options)
  "Run COMMAND as PROVIDER on PORT with OPTIONS; return the outcome."
  (let* ((gptel-backend (todo-write-mock-backend provider port))
         (gptel-model (car (gptel-backend-models gptel-backend))))
    (apply #'efrit-do-run command :directory (todo-write-test-file "test/fixtures/efrit-do/")
           options)))

(defun efrit-do-e2e--of-type (thread type &rest filter)
  "Return the observations of TYPE in THREAD that FILTER lets through, a list."
  (append (apply #'todo-write-observations thread :type type filter) nil))

;;; A whole session

(ert-deftest efrit-do-gptel-plays-a-whole-session-with-each-provider ()
  (dolist (gptel-stream '(t nil))
    (dolist (provider '(anthropic openai gemini))
      (efrit-do-e2e--call-with-server
       "plan"
       (lambda (port)
         (let* ((outcome (efrit-do-e2e--run provider port "Sort the shelf"))
                (thread (plist-get outcome :thread)))
           (should-not (plist-get outcome :reason))
           (should (eq (plist-get outcome :status) 'done))
           (should (equal (plist-get outcome :message) "The shelf is sorted."))
           (should (string-search "Dubliners" (plist-get outcome :result)))
           (should (equal (mapcar (lambda (result) (plist-get result :name))
                                  (plist-get outcome :tool-results))
                          '("todo_write" "read_file" "todo_write" "todo_write"
                            "session_complete")))
           (should (eq (todo-write-state thread) 'done))
           (should (= (efrit-do-e2e--requests port) 5))
           (should (equal
                    (mapcar (lambda (thought)
                              (let ((metadata (plist-get thought :metadata)))
                                (list (plist-get metadata :phase)
                                      (plist-get metadata :stepDescription)
                                      (and (plist-get thought :parentId) t))))
                            (efrit-do-e2e--of-type thread "THOUGHTS"))
                    '(("planning" nil nil)
                      ("execution" "Count the books" t)
                      ("execution" "Count the books" t)
                      ("execution" "Put them in order" t)
                      ("synthesis" nil nil))))))))))

;;; The backend `auto'

(ert-deftest efrit-do-plays-the-demonstration-if-gptel-has-no-model ()
  (todo-write-mock-load-gptel)
  (todo-write-with-store
    (let ((inhibit-message t)
          (efrit-do-backend 'auto)
          (efrit-do-sessions nil))
      (pcase-dolist (`(,gptel-backend ,gptel-model) '((nil nil) (nil gpt)))
        (should (string-prefix-p
                 "Demonstration: "
                 (plist-get (efrit-do-run "x" :speed 0) :result)))))))

;;; Faults
;;
;; Each fault comes after a first turn that made a plan.

(defvar efrit-do-gptel-retry-delay)

(defun efrit-do-e2e--check-silence (port)
  "Check that the server on PORT gets no more requests and gptel has none open."
  (let ((requests (efrit-do-e2e--requests port)))
    (should-not (bound-and-true-p gptel--request-alist))
    (todo-write-test-run-timers)
    (should (= (efrit-do-e2e--requests port) requests))))

(defconst efrit-do-e2e--faults
  '(("busy once" done nil 3 2 "LLM_STREAM_ERROR")
    ("busy for an hour" failed "Too many requests (429" 3 1
     "LLM_STREAM_ERROR" "ERROR" "AGENT_SUSPENDED")
    ("wrong key" failed "Invalid key (401" 2 1)
    ("broken server" failed "Something broke (500" 2 1)
    ("line cut once" done nil 3 2)
    ("line always cut" failed "cut" 3 1)
    ("cut call" failed "cut" 3 1)
    ("short answer" failed "cut\\|broke off" 3 1)
    ("bad arguments" done nil 2 2)
    ("run in circles" stopped "3 times in a row" 4 3)
    ("ask for nothing" stopped "no_such_tool failed 3 times" 3 3))
  "Faults as (COMMAND STATUS REASON REQUESTS RESULTS TYPE...).
Of each come the status and reason, a regexp, and the numbers of requests to
the model and of results of tools, and observations of each TYPE.")

(ert-deftest efrit-do-gptel-outlasts-or-reports-each-fault-of-each-provider ()
  (dolist (provider '(anthropic openai gemini))
    (efrit-do-e2e--call-with-server
     "faults"
     (lambda (port)
       (require 'efrit-do-gptel)
       (pcase-dolist (`(,fault ,status ,reason ,requests ,results . ,types) efrit-do-e2e--faults)
         ;; gptel cannot tell an answer of Gemini that was cut.
         (unless (and (eq provider 'gemini) (string-match-p "cut\\|short" fault))
           (ert-info ((format "%s: %s" provider fault))
             (let* ((efrit-do-gptel-retry-delay 0.1)
                    (before (efrit-do-e2e--requests port))
                    (outcome (efrit-do-e2e--run provider port fault))
                    (thread (plist-get outcome :thread))
                    (told (plist-get outcome :tool-results)))
               (should (eq status (plist-get outcome :status)))
               (if reason
                   (should (string-match-p reason (plist-get outcome :reason)))
                 (should-not (plist-get outcome :reason))
                 (should (equal "Done after all." (plist-get outcome :message)))
                 ;; No part of an incomplete answer is in the result.
                 (should-not (string-search "goes dead" (plist-get outcome :result))))
               (should (= requests (- (efrit-do-e2e--requests port) before)))
               (should (= results (length told)))
               (when (equal fault "bad arguments")
                 (should (plist-get (car told) :is-error))
                 (should (string-search "todos" (plist-get (car told) :content))))
               (dolist (type types)
                 (should (efrit-do-e2e--of-type thread type)))
               (should (memq (todo-write-state thread) '(paused empty)))
               (efrit-do-e2e--check-silence port)))))))))

;;; Ending

(ert-deftest efrit-do-gptel-cancel-aborts-the-request-and-continue-repeats-it ()
  (efrit-do-e2e--call-with-server
   "faults"
   (lambda (port)
     (let* ((gptel-backend (todo-write-mock-backend 'anthropic port))
            (gptel-model 'claude)
            (session (efrit-do-session-begin "slow answer" '(:backend gptel)))
            (thread (efrit-do-session-thread session)))
       (require 'efrit-do-gptel)
       (efrit-do-session-start session)
       (todo-write-test-wait
        (lambda ()
          (string-prefix-p "A long" (or (efrit-do-session-text session) ""))))
       (efrit-do-cancel)
       (should (eq (efrit-do-session-status session) 'cancelled))
       (efrit-do-e2e--check-silence port)
       (should (eq (todo-write-state thread) 'paused))
       (should-not (efrit-do-e2e--of-type thread "FINAL_RESPONSE"))
       (efrit-do-e2e--continue session)
       (should (eq (efrit-do-session-status session) 'done))
       (should (string-suffix-p "nothing more comes of it."
                                (efrit-do-session-answer session)))))))

(ert-deftest efrit-do-gptel-answers-the-pending-call-when-it-continues-after-the-breaker ()
  (dolist (provider '(anthropic openai gemini))
    (efrit-do-e2e--call-with-server
     "faults"
     (lambda (port)
       (let* ((efrit-do-limits '(:identical-calls 2))
              (outcome (efrit-do-e2e--run provider port "run in circles"))
              (session (car efrit-do-sessions)))
         (should (eq (plist-get outcome :status) 'stopped))
         (should (= (efrit-do-e2e--requests port) 3))
         (efrit-do-e2e--continue session)
         ;; The model got the result, called the tool again, and was stopped again.
         (should (eq (efrit-do-session-status session) 'stopped))
         (should (= (efrit-do-e2e--requests port) 6)))))))

(ert-deftest efrit-do-gptel-offers-the-tools-that-the-user-made-for-gptel ()
  (efrit-do-e2e--call-with-server
   "faults"
   (lambda (port)
     (let ((gptel--known-tools nil)
           (efrit-do-tools efrit-do-tools)
           (efrit-do-gptel-tools '("weather")))
       (ignore gptel--known-tools)
       (gptel-make-tool :name "weather" :description "The weather."
                        :args '((:name "place" :type string :description "x"))
                        :function (lambda (place) (format "rain in %s" place)))
       (let ((outcome (efrit-do-e2e--run 'anthropic port "ask the weather")))
         (should (eq (plist-get outcome :status) 'done))
         (should (equal (plist-get (car (plist-get outcome :tool-results))
                                   :content)
                        "rain in Oslo"))
         ;; The user's tools do not include those of the session.
         (should (equal (mapcar #'car gptel--known-tools) '("misc"))))))))

(ert-deftest efrit-do-gptel-waits-while-a-tool-of-gptel-needs-consent ()
  (efrit-do-e2e--call-with-server
   "faults"
   (lambda (port)
     (let* ((noninteractive nil)
            (gptel--known-tools nil)
            (gptel-confirm-tool-calls 'auto)
            (efrit-do-tools efrit-do-tools)
            (efrit-do-gptel-tools '("weather"))
            (gptel-backend (todo-write-mock-backend 'anthropic port))
            (gptel-model (car (gptel-backend-models gptel-backend)))
            (session (efrit-do-session-begin "ask the weather" '(:backend gptel)))
            (thread (efrit-do-session-thread session)))
       (require 'efrit-do-gptel)
       (gptel-make-tool :name "weather" :description "The weather." :confirm t
                        :args '((:name "place" :type string :description "x"))
                        :function (lambda (place) (format "rain in %s" place)))
       (efrit-do-session-start session)
       (todo-write-test-wait #'todo-write-requests)
       (should (equal '(waiting . "weather: Oslo") (todo-write-activity thread)))
       (todo-write-answer-request thread (plist-get (car (todo-write-requests)) :id) 'yes)
       (todo-write-test-wait (lambda () (not (efrit-do-session-running-p session))))
       (should (eq 'done (efrit-do-session-status session)))
       (should (equal "rain in Oslo"
                      (plist-get (car (last (efrit-do-session-results session))) :content)))
       (should-not (todo-write-activity thread))))))

(provide 'efrit-do-gptel-e2e-tests)
;;; efrit-do-gptel-e2e-tests.el ends here
