;;; efrit-do-gptel-e2e-tests.el --- Sessions over HTTP, through gptel -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Whole sessions through the real gptel and curl against a mock LLM server
;; written by others (aimock, of the npm package @copilotkit/aimock), which
;; speaks the wire formats of three providers on the loopback interface.
;; bin/setup fetches both; where they are absent these tests skip.

;;; Code:

(require 'ert)
(require 'todo-write-test-helper)
(require 'efrit-do)
(require 'url)

(defvar url-http-end-of-headers)
(defvar url-http-response-status)

(defconst efrit-do-e2e--root
  (or (getenv "TODO_WRITE_ROOT")
      (expand-file-name ".." (file-name-directory
                              (or load-file-name buffer-file-name))))
  "The repository.")

(defun efrit-do-e2e--fixtures (&optional name)
  "Return the file NAME in the folder of these tests' data."
  (expand-file-name (or name "") (expand-file-name "test/fixtures/efrit-do"
                                                   efrit-do-e2e--root)))

;;; Setting up

(defun efrit-do-e2e--load-gptel ()
  "Load gptel, or skip the test."
  (dolist (folder (file-expand-wildcards
                   (expand-file-name ".deps/elpa/*" efrit-do-e2e--root)))
    (add-to-list 'load-path folder))
  (unless (require 'gptel nil t)
    (ert-skip "gptel is not there; bin/setup test fetches it"))
  (require 'gptel-anthropic)
  (require 'gptel-openai)
  (require 'gptel-gemini))

(defun efrit-do-e2e--program ()
  "Return the mock server's program, or skip the test."
  (let ((local (expand-file-name ".deps/mock/node_modules/.bin/llmock"
                                 efrit-do-e2e--root)))
    (cond ((file-executable-p local) local)
          ((executable-find "llmock"))
          (t (ert-skip "aimock is not there; bin/setup test fetches it")))))

(defun efrit-do-e2e--free-port ()
  "Return a port of the loopback interface that nobody uses."
  (let ((server (make-network-process :name "port" :server t :host "127.0.0.1"
                                      :service t :family 'ipv4)))
    (unwind-protect (process-contact server :service)
      (delete-process server))))

(defun efrit-do-e2e--get (port path)
  "Return the JSON that the server on PORT gives for PATH, or nil."
  (let ((buffer (ignore-errors
                  (url-retrieve-synchronously
                   (format "http://127.0.0.1:%d%s" port path) t t 5))))
    (when buffer
      (with-current-buffer buffer
        (unwind-protect
            (when (eq url-http-response-status 200)
              (goto-char url-http-end-of-headers)
              (json-parse-buffer :object-type 'plist))
          (kill-buffer))))))

(defun efrit-do-e2e--requests (port)
  "Return the number of requests to a model that the server on PORT had."
  (length (efrit-do-e2e--get port "/__aimock/journal")))

(defun efrit-do-e2e--backend (provider port)
  "Let gptel talk to the server on PORT as to PROVIDER."
  (let ((host (format "127.0.0.1:%d" port)))
    (pcase provider
      ('anthropic (gptel-make-anthropic "mock" :host host :protocol "http"
                                        :key "k" :stream t :models '(claude)))
      ('openai (gptel-make-openai "mock" :host host :protocol "http"
                                  :key "k" :stream t :models '(gpt)))
      ('gemini (gptel-make-gemini "mock" :host host :protocol "http"
                                  :key "k" :stream t :models '(gemini-pro))))))

(defun efrit-do-e2e--call-with-server (fixture function)
  "Call FUNCTION with the port of a server that answers by FIXTURE."
  (efrit-do-e2e--load-gptel)
  (let* ((port (efrit-do-e2e--free-port))
         (output (generate-new-buffer " *aimock*"))
         (server (make-process
                  :name "aimock" :buffer output :noquery t
                  ;; In one piece a stream would lose its reasoning in gptel.
                  :command (list (efrit-do-e2e--program) "-p"
                                 (number-to-string port) "-l" "5" "-f"
                                 (efrit-do-e2e--fixtures
                                  (concat "aimock/" fixture ".json"))))))
    (unwind-protect
        (progn
          (todo-write-test-wait
           (lambda ()
             (unless (process-live-p server)
               (ert-fail (with-current-buffer output (buffer-string))))
             (efrit-do-e2e--get port "/__aimock/health"))
           20)
          (todo-write-with-store
            (let ((inhibit-message t)
                  (efrit-do-backend 'gptel)
                  (efrit-do-sessions nil))
              (funcall function port))))
      (delete-process server)
      (kill-buffer output))))

(defun efrit-do-e2e--run (provider port command &rest options)
  "Run COMMAND as PROVIDER on PORT with OPTIONS; return the outcome."
  (let* ((gptel-backend (efrit-do-e2e--backend provider port))
         (gptel-model (car (gptel-backend-models gptel-backend))))
    (apply #'efrit-do-run command :directory (efrit-do-e2e--fixtures)
           :timeout 60 options)))

(defun efrit-do-e2e--of-type (thread type &rest filter)
  "Return the observations of TYPE in THREAD that FILTER lets through, a list."
  (append (apply #'todo-write-observations thread :type type filter) nil))

;;; A whole session

(defun efrit-do-e2e--check-session (provider)
  "Check a session of plan, two steps and sum-up as PROVIDER."
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

(provide 'efrit-do-gptel-e2e-tests)
;;; efrit-do-gptel-e2e-tests.el ends here
