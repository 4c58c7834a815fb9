;;; hosts-helper.el --- Genuine agents without a network  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Functions for the checks with genuine agents: the agents' environments and
;; settings, scripted models, and the thread of a session.  lib.sh sets AGENTS in the
;; environment to the folders with the agents' programs.

;;; Code:

(require 'cl-lib)
(require 'todo-write-mock-helper)

;; The first start of an agent in a new home takes a minute.
(setq todo-write-test-deadline 600)

(defconst hosts-bin (mapconcat (lambda (folder) (expand-file-name "node_modules/.bin" folder))
                               (split-string (getenv "AGENTS") ":") ":")
  "Folders of the agents' programs, as in PATH.")

(defun hosts-environment (home)
  "Return the whole environment of an agent in HOME.
No network can be reached with it."
  (list (concat "HOME=" home) (concat "PATH=" hosts-bin ":/usr/local/bin:/usr/bin:/bin")
        (concat "TMPDIR=" temporary-file-directory)
        (concat "TODO_WRITE_SANDBOX=" (getenv "TODO_WRITE_SANDBOX"))
        "TERM=xterm-256color" "LANG=C.UTF-8" "SHELL=/bin/bash" "DO_NOT_TRACK=1"
        "HTTP_PROXY=http://127.0.0.1:9" "HTTPS_PROXY=http://127.0.0.1:9"
        "NO_PROXY=127.0.0.1" "no_proxy=127.0.0.1"))

(defconst hosts-claude-model "claude-opus-5-5"
  "The model that Claude Code uses.")

(defun hosts-claude-environment (url)
  "Return further environment variables of Claude Code, whose model is at URL.
It has the plan tools that newer models lack by default."
  (list (concat "ANTHROPIC_BASE_URL=" url) "ANTHROPIC_API_KEY=test-key"
        "CLAUDE_CODE_ENABLE_TODO_TOOLS=1"
        "DISABLE_TELEMETRY=1" "DISABLE_ERROR_REPORTING=1" "DISABLE_AUTOUPDATER=1"
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"))

(defun hosts-codex-arguments (url model)
  "Return arguments by which Codex uses MODEL at URL."
  (list "--skip-git-repo-check" "--json"
        "-c" (format "model=%S" model) "-c" "model_provider=\"mock\""
        ;; It asks whether to use a newer model, unless that was answered.
        "-c" (format "notice.model_migrations={%S=\"gpt-6-sol\"}" model)
        "-c" "check_for_update_on_startup=false" "-c" "analytics.enabled=false"
        "-c" "feedback.enabled=false" "-c" "otel.exporter=\"none\""
        "-c" (format "model_providers.mock={name=\"mock\",base_url=\"%s/v1\",env_key=\"MOCK_KEY\",wire_api=\"responses\",supports_websockets=false}" url)))

(defun hosts-opencode-environment (url)
  "Return further environment variables of opencode, whose model is at URL."
  (list "OPENCODE_DISABLE_AUTOUPDATE=1"
        ;; It fetches a library beside each plugin, and tries for a minute by itself.
        "npm_config_fetch_retries=0"
        "OPENCODE_DISABLE_MODELS_FETCH=1"
        "OPENCODE_DISABLE_LSP_DOWNLOAD=1" "OPENCODE_DISABLE_DEFAULT_PLUGINS=1"
        (concat "OPENCODE_CONFIG_CONTENT="
                (json-serialize
                 `(:share "disabled" :model "mock/gpt-mock" :small_model "mock/gpt-mock"
                   :provider (:mock (:npm "@ai-sdk/openai-compatible" :name "Mock"
                                     :options (:baseURL ,(concat url "/v1") :apiKey "test-key")
                                     :models (:gpt-mock (:name "gpt-mock" :tool_call t
                                                         :limit (:context 100000 :output 8000))))))))))

(defun hosts-copilot-environment (url)
  "Return further environment variables of Copilot CLI, whose model is at URL."
  (list "COPILOT_OFFLINE=true" "COPILOT_AUTO_UPDATE=false"
        (concat "COPILOT_PROVIDER_BASE_URL=" url "/v1") "COPILOT_PROVIDER_TYPE=openai"
        "COPILOT_PROVIDER_API_KEY=test-key" "COPILOT_MODEL=gpt-4.1"))

(defun hosts-gemini-environment (url)
  "Return further environment variables of Gemini CLI, whose model is at URL."
  (list (concat "GOOGLE_GEMINI_BASE_URL=" url) "GEMINI_API_KEY=test-key"
        "GEMINI_CLI_TRUST_WORKSPACE=true"))

(defconst hosts-gemini-settings
  '(:general (:disableAutoUpdate t :enableAutoUpdate :false)
    :privacy (:usageStatisticsEnabled :false)
    :security (:auth (:selectedType "gemini-api-key") :folderTrust (:enabled :false)))
  "Settings of Gemini CLI, by which it uses a key without a question.")

(defun hosts-gate-command (name)
  "Return a command that exits when the file NAME.gate exists.
It also exits after five minutes, because killed agents leave it running."
  (format "for i in $(seq 3000); do test -e %s.gate && break; sleep 0.1; done; echo opened" name))

(defun hosts-with-responses (steps function)
  "Call FUNCTION with the URL of a model for Codex that follows STEPS.
See responses.mjs for the steps, which are plists here; a plist of two
lists, :main and :subagent, has those of subagents, too."
  (hosts--with-model "responses.mjs"
                     (if (plist-member steps :main)
                         (list :main (vconcat (plist-get steps :main))
                               :subagent (vconcat (plist-get steps :subagent)))
                       (vconcat steps))
                     function))

(defun hosts-with-messages (steps function)
  "Call FUNCTION with the URL of a model for Claude Code that follows STEPS.
See messages.mjs for the steps, which are plists here."
  (hosts--with-model "messages.mjs" (vconcat steps) function))

(defun hosts--with-model (program script function)
  "Call FUNCTION with the URL of PROGRAM, a file here, which follows SCRIPT."
  (let* ((port (todo-write-mock--free-port))
         (file (make-temp-file "script" nil ".json"))
         server)
    (write-region (json-serialize script) nil file nil 'silent)
    (setq server (start-process program nil "node"
                                (expand-file-name (concat "test/hosts/" program)
                                                  (getenv "TODO_WRITE_ROOT"))
                                (number-to-string port) file))
    (unwind-protect
        (progn
          (todo-write-test-wait (lambda () (todo-write-mock--get port "/health")))
          (funcall function (format "http://127.0.0.1:%d" port)))
      (delete-process server))))

;;; Threads

(defvar hosts-earlier-threads nil "Threads of earlier sessions.")

(defun hosts-thread (agent)
  "Return the thread of the session of AGENT, \"claude\" or \"codex\", or nil."
  (seq-find (lambda (thread)
              (and (string-match-p (format "\\`%s:[^/]+\\'" agent) thread)
                   (not (member thread hosts-earlier-threads))))
            (todo-write-threads)))

(defun hosts-answer (request kind &optional text)
  "Answer REQUEST, as from `todo-write-requests', by its first option of KIND, with TEXT."
  (should (todo-write-answer-request
           (plist-get request :thread) (plist-get request :id)
           (plist-get (seq-find (lambda (option) (eq kind (plist-get option :kind)))
                                (plist-get request :options))
                      :value)
           text)))

(defun hosts-print-latency (host rounds dialog heard)
  "Allow what HOST asks in each of ROUNDS, and print how long that takes.
Functions of a round return non-nil: DIALOG when the agent's own dialog
stands, HEARD when the agent has done what was allowed."
  (let (shown gone)
    (dolist (round rounds)
      (let (stood request start)
        (todo-write-test-wait
         (lambda ()
           (when (and (null stood) (funcall dialog round))
             (setq stood (* 1000 (float-time))))
           (setq request (car (todo-write-requests)))
           (and stood request)))
        (push (- (plist-get request :since) stood) shown)
        (setq start (* 1000 (float-time)))
        (hosts-answer request 'allow)
        (todo-write-test-wait (lambda () (funcall heard round)))
        (push (- (* 1000 (float-time)) start) gone)))
    (cl-flet ((figures (times)
                (format "%.0f ms (median; at most %.0f)"
                        (nth (/ (length times) 2) (sort (copy-sequence times) #'<))
                        (apply #'max times))))
      (message "%s, %d requests: shown here %s after its own dialog stood, done %s after the answer"
               host (length rounds) (figures shown) (figures gone)))))

(provide 'hosts-helper)
;;; hosts-helper.el ends here
