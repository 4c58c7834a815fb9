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

(defconst efrit-do-e2e--root
  (or (getenv "TODO_WRITE_ROOT")
      (expand-file-name "../.." (file-name-directory
                              (or load-file-name buffer-file-name))))
  "The repository.")

(defun efrit-do-e2e--fixtures (&optional name)
  "Return the file NAME in the folder of these tests' data."
  (expand-file-name (or name "") (expand-file-name "test/fixtures/efrit-do"
                                                   efrit-do-e2e--root)))

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
    (apply #'efrit-do-run command :directory (efrit-do-e2e--fixtures)
           :timeout 60 options)))

(defun efrit-do-e2e--of-type (thread type &rest filter)
  "Return the observations of TYPE in THREAD that FILTER lets through, a list."
  (append (apply #'todo-write-observations thread :type type filter) nil))

;;; A whole session

(defun efrit-do-e2e--check-session (provider)
  "Check a session with a plan, two steps and a summary as PROVIDER."
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
       (efrit-do-e2e--check-thoughts thread)))))

(defun efrit-do-e2e--check-thoughts (thread)
  "Check the thoughts of the session in THREAD: their phases and steps."
  (should
   (equal
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
      ("synthesis" nil nil)))))

(ert-deftest efrit-do-gptel-plays-a-whole-session-with-anthropic ()
  (efrit-do-e2e--check-session 'anthropic))

(ert-deftest efrit-do-gptel-plays-a-whole-session-with-openai ()
  (efrit-do-e2e--check-session 'openai))

(ert-deftest efrit-do-gptel-plays-a-whole-session-with-gemini ()
  (efrit-do-e2e--check-session 'gemini))

(ert-deftest efrit-do-gptel-plays-a-whole-session-without-streaming ()
  (let ((gptel-stream nil))
    (dolist (provider '(anthropic openai gemini))
      (efrit-do-e2e--check-session provider))))

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
                 (plist-get (efrit-do-run "x" :speed 0 :timeout 60) :result)))))))

;;; Faults
;;
;; Each fault comes after a first turn that made a plan.

(defvar efrit-do-gptel-retry-delay)

(defun efrit-do-e2e--fault (provider fault status reason requests)
  "Check that FAULT, as PROVIDER, ends in STATUS for REASON after REQUESTS.
REASON is a regexp, or nil for none.  Return the outcome, and with `:types' what was recorded."
  (let (outcome)
    (efrit-do-e2e--call-with-server
     "faults"
     (lambda (port)
       (require 'efrit-do-gptel)
       (let ((efrit-do-gptel-retry-delay 0.1))
         (setq outcome (efrit-do-e2e--run provider port fault))
         (should (eq (plist-get outcome :status) status))
         (if reason
             (should (string-match-p reason (plist-get outcome :reason)))
           (should-not (plist-get outcome :reason)))
         (should (= (efrit-do-e2e--requests port) requests))
         (should (memq (todo-write-state (plist-get outcome :thread))
                       '(paused empty)))
         (efrit-do-e2e--check-silence port)
         (setq outcome
               (append outcome
                       (list :types
                             (mapcar (lambda (each) (plist-get each :type))
                                     (todo-write-observations
                                      (plist-get outcome :thread)))))))))
    outcome))

(defun efrit-do-e2e--check-silence (port)
  "Check that the server on PORT gets no more requests and gptel has none open."
  (let ((requests (efrit-do-e2e--requests port)))
    (should-not (bound-and-true-p gptel--request-alist))
    (todo-write-test-run-timers)
    (should (= (efrit-do-e2e--requests port) requests))))

(ert-deftest efrit-do-gptel-retries-when-the-provider-is-busy ()
  (dolist (provider '(anthropic openai gemini))
    (let ((outcome (efrit-do-e2e--fault provider "busy once" 'done nil 3)))
      (should (equal (plist-get outcome :message) "Done after all."))
      (should (member "LLM_STREAM_ERROR" (plist-get outcome :types))))))

(ert-deftest efrit-do-gptel-gives-up-on-a-provider-that-stays-busy ()
  (dolist (provider '(anthropic openai gemini))
    (let ((outcome (efrit-do-e2e--fault provider "busy for an hour" 'failed
                                        "Too many requests (429" 3)))
      (dolist (type '("LLM_STREAM_ERROR" "ERROR" "AGENT_SUSPENDED"))
        (should (member type (plist-get outcome :types)))))))

(ert-deftest efrit-do-gptel-does-not-retry-permanent-errors ()
  (dolist (provider '(anthropic openai gemini))
    (efrit-do-e2e--fault provider "wrong key" 'failed "Invalid key (401" 2)
    (efrit-do-e2e--fault provider "broken server" 'failed "Something broke (500" 2)))

(ert-deftest efrit-do-gptel-retries-when-the-connection-is-cut ()
  (dolist (provider '(anthropic openai))
    (let ((outcome (efrit-do-e2e--fault provider "line cut once" 'done nil 3)))
      ;; The incomplete answer is not in the result.
      (should-not (string-search "goes dead" (plist-get outcome :result))))))

(ert-deftest efrit-do-gptel-gives-up-when-the-connection-is-cut-again ()
  (dolist (provider '(anthropic openai))
    (efrit-do-e2e--fault provider "line always cut" 'failed "cut" 3)))

(ert-deftest efrit-do-gptel-runs-no-tool-of-an-incomplete-answer ()
  (dolist (provider '(anthropic openai))
    (let ((outcome (efrit-do-e2e--fault provider "cut call" 'failed "cut" 3)))
      (should (= 1 (length (plist-get outcome :tool-results)))))))

(ert-deftest efrit-do-gptel-detects-an-answer-without-an-end ()
  (dolist (provider '(anthropic openai))
    (efrit-do-e2e--fault provider "short answer" 'failed "cut\\|broke off" 3)))

(ert-deftest efrit-do-gptel-tells-the-model-about-broken-arguments ()
  (dolist (provider '(anthropic openai gemini))
    (let* ((outcome (efrit-do-e2e--fault provider "bad arguments" 'done nil 2))
           (first (car (plist-get outcome :tool-results))))
      (should (plist-get first :is-error))
      (should (string-search "todos" (plist-get first :content))))))

;;; Ending

(ert-deftest efrit-do-gptel-sends-nothing-after-the-breaker-tripped ()
  (dolist (provider '(anthropic openai gemini))
    (let* ((efrit-do-limits '(:identical-calls 3))
           (outcome (efrit-do-e2e--fault provider "run in circles" 'stopped
                                         "3 times in a row" 4)))
      (should (= 3 (length (plist-get outcome :tool-results)))))))

(ert-deftest efrit-do-gptel-counts-calls-of-tools-that-do-not-exist ()
  (dolist (provider '(anthropic openai gemini))
    (efrit-do-e2e--fault provider "ask for nothing" 'stopped
                         "no_such_tool failed 3 times" 3)))

(ert-deftest efrit-do-gptel-cancel-aborts-the-request-and-continue-repeats-it ()
  (efrit-do-e2e--call-with-server
   "faults"
   (lambda (port)
     (let* ((gptel-backend (todo-write-mock-backend 'anthropic port))
            (gptel-model 'claude)
            (session (efrit-do-session-begin "slow answer" 'gptel nil))
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
            (session (efrit-do-session-begin "ask the weather" 'gptel nil))
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
