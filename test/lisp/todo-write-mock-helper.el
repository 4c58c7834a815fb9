;;; todo-write-mock-helper.el --- A mock LLM server for tests  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A mock LLM server (aimock, in the npm package @copilotkit/aimock) on the
;; loopback interface, for tests that use HTTP.  bin/setup fetches it; without
;; it, these tests are skipped.

;;; Code:

(require 'ert)
(require 'todo-write-test-helper)
(require 'url)

(defvar url-http-end-of-headers)
(defvar url-http-response-status)

(defun todo-write-mock--program ()
  "Return the program of the mock server, or skip the test."
  (let ((local (expand-file-name ".deps/mock/node_modules/.bin/llmock"
                                 (getenv "TODO_WRITE_ROOT"))))
    (cond ((file-executable-p local) local)
          ((executable-find "llmock"))
          (t (ert-skip "aimock is not there; bin/setup test fetches it")))))

(defun todo-write-mock--free-port ()
  "Return an unused port of the loopback interface."
  (let ((server (make-network-process :name "port" :server t :host "127.0.0.1"
                                      :service t :family 'ipv4)))
    (unwind-protect (process-contact server :service)
      (delete-process server))))

(defun todo-write-mock--get (port path)
  "Return the JSON at PATH of the server on PORT, or nil."
  (let ((buffer (ignore-errors
                  (url-retrieve-synchronously
                   (format "http://127.0.0.1:%d%s" port path) t t
                   todo-write-test-deadline))))
    (when buffer
      (with-current-buffer buffer
        (unwind-protect
            (when (eq url-http-response-status 200)
              (goto-char url-http-end-of-headers)
              (json-parse-buffer :object-type 'plist))
          (kill-buffer))))))

(defun todo-write-mock-requests (port)
  "Return the requests to a model that the server on PORT received, oldest first.
Each is a plist; its :body has the :messages and :tools as OpenAI writes them."
  (append (todo-write-mock--get port "/__aimock/journal") nil))

(defun todo-write-mock-answers (port)
  "Return the tool results in the last request to the server on PORT."
  (let ((request (car (last (todo-write-mock-requests port)))))
    (cl-loop for message across (plist-get (plist-get request :body) :messages)
             when (equal (plist-get message :role) "tool")
             collect (plist-get message :content))))

(defun todo-write-mock-script (answers)
  "Write ANSWERS, a sequence of fixtures of aimock, to a file.
Return its name for `todo-write-with-mock'."
  (let ((file (make-temp-file "script" nil ".json")))
    (write-region (json-serialize (list :fixtures (vconcat answers))) nil file nil 'silent)
    (file-relative-name file (expand-file-name "test/fixtures" (getenv "TODO_WRITE_ROOT")))))

(defmacro todo-write-with-mock (port fixture &rest body)
  "Evaluate BODY with PORT bound to the port of a server with FIXTURE.
FIXTURE is the name of a file in test/fixtures."
  (declare (indent 2) (debug (symbolp form body)))
  `(todo-write-mock--call ,fixture (lambda (,port) ,@body)))

(defun todo-write-mock--call (fixture function)
  "Call FUNCTION with the port of a server with FIXTURE."
  (let* ((output (generate-new-buffer " *aimock*"))
         ;; A repeated request must not get a later turn's answer.
         (process-environment (cons "AIMOCK_STRICT_TURN_INDEX=1" process-environment))
         (server (make-process
                  :name "aimock" :buffer output :noquery t
                  ;; gptel loses the reasoning of a stream in one chunk.
                  :command (list (todo-write-mock--program) "-p" "0" "-l" "5" "-f"
                                 (expand-file-name
                                  (concat "test/fixtures/" fixture)
                                  (getenv "TODO_WRITE_ROOT"))))))
    (unwind-protect
        (funcall function
                 (todo-write-test-wait
                  (lambda ()
                    (with-current-buffer output
                      (unless (process-live-p server)
                        (ert-fail (buffer-string)))
                      (goto-char (point-min))
                      (when (re-search-forward "listening on http://[^ \n]*:\\([0-9]+\\)$" nil t)
                        (string-to-number (match-string 1)))))))
      (delete-process server)
      (kill-buffer output))))

;;; gptel

(declare-function gptel-make-anthropic "ext:gptel-anthropic")
(declare-function gptel-make-gemini "ext:gptel-gemini")
(declare-function gptel-make-openai "ext:gptel-openai")

(defun todo-write-mock-load-gptel ()
  "Load gptel, or skip the test."
  (dolist (folder (file-expand-wildcards
                   (expand-file-name ".deps/elpa/*" (getenv "TODO_WRITE_ROOT"))))
    (add-to-list 'load-path folder))
  (unless (require 'gptel nil t)
    (ert-skip "gptel is not there; bin/setup test fetches it"))
  (mapc #'require '(gptel-anthropic gptel-gemini gptel-openai)))

(defun todo-write-mock-backend (provider port)
  "Return a backend of gptel that uses the server on PORT as PROVIDER."
  (pcase-let ((`(,make ,model) (pcase provider
                                 ('anthropic '(gptel-make-anthropic claude))
                                 ('openai '(gptel-make-openai gpt))
                                 ('gemini '(gptel-make-gemini gemini-pro)))))
    (funcall make "mock" :host (format "127.0.0.1:%d" port) :protocol "http"
             :key "k" :stream t :models (list model))))

(provide 'todo-write-mock-helper)
;;; todo-write-mock-helper.el ends here
