;;; gemini-checks.el --- Hearing that the genuine Gemini CLI waits  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Gemini CLI runs in a terminal with a hook that tells when it asks.  It asks for permissions; Emacs must say so as long as its dialog stands, and
;; no longer.  gemini.sh runs this.

;;; Code:

(require 'ert)
(require 'hosts-helper)
(require 'todo-write-mcp-helper)
(require 'todo-write-permission)
(require 'todo-write-socket-helper)

(defvar gemini-checks-folder nil "The project.")
(defvar gemini-checks-process nil "The terminal of Gemini CLI.")

(defun gemini-checks--set-up (home tool)
  "Write the settings in HOME with the hook; with TOOL, add the MCP server."
  (let ((file (expand-file-name ".gemini/settings.json" home)))
    (make-directory (file-name-directory file) t)
    (write-region
     (json-serialize
      (append hosts-gemini-settings
              `(:hooks (:Notification
                        [(:matcher "ToolPermission"
                          :hooks [(:type "command" :name "todo-write" :timeout 5000
                                   :command ,(format "%s waiting --socket %s"
                                                     (todo-write-mcp-helper-program)
                                                     todo-write-socket))])]))
              (and tool
                   `(:mcpServers (:todo-write (:command ,(todo-write-mcp-helper-program)
                                               :args ["--socket" ,todo-write-socket]
                                               :trust t))))))
     nil file nil 'silent)))

(defun gemini-checks--call (turns tool function)
  "Call FUNCTION while Gemini CLI works by TURNS, with the MCP server if TOOL is non-nil."
  (todo-write-with-socket
    (let* ((gemini-checks-folder (file-name-as-directory (make-temp-file "garden" t)))
           (home (expand-file-name "home" gemini-checks-folder)))
      (gemini-checks--set-up home tool)
      (todo-write-with-mock
          port (todo-write-mock-script
                (seq-map-indexed
                 (lambda (turn index)
                   (list :match (list :turnIndex index)
                         :response (if (stringp turn) (list :content turn)
                                     (list :toolCalls (vconcat turn)))))
                 turns))
        (let* ((default-directory gemini-checks-folder)
               (process-environment
                (append (hosts-environment home)
                        (hosts-gemini-environment (format "http://127.0.0.1:%d" port))))
               (gemini-checks-process
                (make-process :name "gemini" :buffer (generate-new-buffer "*gemini*") :noquery t
                              :connection-type 'pty :coding 'utf-8
                              :command '("sh" "-c" "stty rows 40 columns 110; exec \"$@\"" "sh"
                                         "gemini" "-m" "gemini-2.5-pro" "-i" "Rake"))))
          (unwind-protect (funcall function)
            (delete-process gemini-checks-process)
            (kill-buffer (process-buffer gemini-checks-process))))))))

(defmacro gemini-checks-with (turns tool &rest body)
  "Run BODY while Gemini CLI works by TURNS; with TOOL, it has todo_write."
  (declare (indent 2) (debug t))
  `(gemini-checks--call ,turns ,tool (lambda () ,@body)))

(defun gemini-checks--shell (command)
  "Return a call that runs COMMAND."
  (list :name "run_shell_command" :arguments (list :command command :description "Work")))

(defun gemini-checks--request ()
  "Wait until Emacs says that the agent asks, and the dialog stands; return the request."
  (todo-write-test-wait (lambda () (todo-write-requests)))
  (gemini-checks--written "Allow once")
  (car (todo-write-requests)))

(defun gemini-checks--written (regexp)
  "Wait until the terminal has a match for REGEXP."
  (todo-write-test-wait
   (lambda () (with-current-buffer (process-buffer gemini-checks-process)
                (goto-char (point-min))
                (re-search-forward regexp nil t)))))

(defun gemini-checks--gone ()
  "Wait until nothing is asked, and return how long that took, in seconds."
  (let ((start (float-time)))
    (todo-write-test-wait (lambda () (null (todo-write-requests))))
    (- (float-time) start)))

(ert-deftest gemini-asks-until-its-command-runs ()
  (gemini-checks-with (list (list (gemini-checks--shell (hosts-gate-command "one"))) "Done all.") nil
    (let* ((request (gemini-checks--request))
           (thread (plist-get request :thread)))
      (should (string-prefix-p "Shell: for i in" (plist-get request :title)))
      (should (string-prefix-p "mcp:gemini-cli-mcp-client:" thread))
      (should-not (plist-get request :answer))
      (should (eq 'waiting (car (todo-write-activity thread))))
      (should (process-live-p gemini-checks-process))
      ;; It goes on asking as long as the dialog stands.
      (let ((end (+ (float-time) 3)))
        (todo-write-test-wait (lambda () (> (float-time) end))))
      (should (todo-write-requests))
      (process-send-string gemini-checks-process "\r")
      ;; The command still runs.
      (message "Gone %.1f s after Yes" (gemini-checks--gone))
      (write-region "" nil (expand-file-name "one.gate" gemini-checks-folder) nil 'silent)
      (gemini-checks--written "Done all"))))

(ert-deftest gemini-asks-until-it-is-refused-or-ends ()
  (pcase-dolist (`(,how ,end)
                 (list (list "Esc" (lambda () (process-send-string gemini-checks-process "\e")))
                       (list "A closed terminal" (lambda () (delete-process gemini-checks-process)))))
    (ert-info (how)
      (gemini-checks-with (list (list (gemini-checks--shell "touch one")) "Done all.") nil
        (gemini-checks--request)
        (funcall end)
        (message "Gone %.1f s after %s" (gemini-checks--gone) how)
        (should-not (file-exists-p (expand-file-name "one" gemini-checks-folder)))))))

(ert-deftest gemini-asks-for-its-plan ()
  (gemini-checks-with (list (list (list :name "mcp_todo-write_todo_write"
                                        :arguments (todo-write-test-todos '("Rake" "in_progress"))))
                            (list (gemini-checks--shell "touch one"))
                            "Done all.")
      t
    (let ((thread (plist-get (gemini-checks--request) :thread)))
      (should (equal '("Rake") (todo-write-test-contents thread)))
      (should (equal (list thread) (todo-write-threads))))))

(ert-deftest gemini-shows-its-dialog-without-emacs ()
  (gemini-checks-with (list (list (gemini-checks--shell "touch one")) "Done all.") nil
    (todo-write-mcp-mode -1)
    (gemini-checks--written "Allow once")
    (process-send-string gemini-checks-process "\r")
    (gemini-checks--written "Done all")
    (should (file-exists-p (expand-file-name "one" gemini-checks-folder)))))

(provide 'gemini-checks)
;;; gemini-checks.el ends here
