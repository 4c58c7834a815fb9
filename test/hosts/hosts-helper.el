;;; hosts-helper.el --- Genuine agents without a network  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What the checks with genuine agents share: the environment in which agents
;; run, and scripted models for them.  AGENTS in the environment are the folders
;; with the agents' programs; lib.sh sets it.

;;; Code:

(require 'todo-write-mock-helper)

(defconst hosts-bin (mapconcat (lambda (folder) (expand-file-name "node_modules/.bin" folder))
                               (split-string (getenv "AGENTS") ":") ":")
  "Folders of the agents' programs, as in PATH.")

(defun hosts-environment (home)
  "Return all that an agent in HOME has in its environment.
No network can be reached with it."
  (list (concat "HOME=" home) (concat "PATH=" hosts-bin ":/usr/local/bin:/usr/bin:/bin")
        (concat "TMPDIR=" temporary-file-directory)
        "TERM=xterm-256color" "LANG=C.UTF-8" "SHELL=/bin/bash" "DO_NOT_TRACK=1"
        "HTTP_PROXY=http://127.0.0.1:9" "HTTPS_PROXY=http://127.0.0.1:9"
        "NO_PROXY=127.0.0.1" "no_proxy=127.0.0.1"))

(defun hosts-claude-environment (url)
  "Return what Claude Code has in its environment beside: the model is at URL."
  (list (concat "ANTHROPIC_BASE_URL=" url) "ANTHROPIC_API_KEY=test-key"
        "DISABLE_TELEMETRY=1" "DISABLE_ERROR_REPORTING=1" "DISABLE_AUTOUPDATER=1"
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"))

(defun hosts-codex-arguments (url model)
  "Return arguments for Codex, with which it asks MODEL at URL."
  (list "--skip-git-repo-check" "--json"
        "-c" (format "model=%S" model) "-c" "model_provider=\"mock\""
        "-c" "check_for_update_on_startup=false" "-c" "analytics.enabled=false"
        "-c" "feedback.enabled=false" "-c" "otel.exporter=\"none\""
        "-c" (format "model_providers.mock={name=\"mock\",base_url=\"%s/v1\",env_key=\"MOCK_KEY\",wire_api=\"responses\",supports_websockets=false}" url)))

(defun hosts-gate-command (name)
  "Return a command that ends when there is a file NAME.gate.
It ends after a minute, too: agents that are killed leave it behind."
  (format "for i in $(seq 600); do test -e %s.gate && break; sleep 0.1; done; echo opened" name))

(defun hosts-with-responses (steps function)
  "Call FUNCTION with the URL of a model for Codex that goes by STEPS.
See responses.mjs for the steps, which are plists here."
  (let* ((port (todo-write-mock--free-port))
         (script (make-temp-file "script" nil ".json"))
         server)
    (write-region (json-serialize (vconcat steps)) nil script nil 'silent)
    (setq server (start-process "responses" nil "node"
                                (expand-file-name "test/hosts/responses.mjs"
                                                  (getenv "TODO_WRITE_ROOT"))
                                (number-to-string port) script))
    (unwind-protect
        (progn
          (todo-write-test-wait (lambda () (todo-write-mock--get port "/health")))
          (funcall function (format "http://127.0.0.1:%d" port)))
      (delete-process server))))

(provide 'hosts-helper)
;;; hosts-helper.el ends here
