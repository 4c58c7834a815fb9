;;; copilot-checks.el --- Hearing that the genuine Copilot CLI waits  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Copilot CLI runs in a terminal with the tool todo_write, whose program reads the
;; session's file of events.  Emacs must say that it waits as long as its dialog stands.
;; copilot.sh runs this.

;;; Code:

(require 'ert)
(require 'hosts-helper)
(require 'todo-write-agents)
(require 'todo-write-answer)
(require 'todo-write-mcp-helper)
(require 'todo-write-socket-helper)

(defvar copilot-checks-folder nil "The project.")
(defvar copilot-checks-process nil "The terminal of Copilot CLI.")

(defun copilot-checks--set-up (home)
  "Write the settings of Copilot CLI in HOME."
  (let ((folder (expand-file-name ".copilot" home)))
    (make-directory folder t)
    (pcase-dolist (`(,file . ,settings)
                   `(("config.json" :trusted_folders [,(directory-file-name copilot-checks-folder)]
                      :banner "never")
                     ("mcp-config.json"
                      :mcpServers (:todo-write (:type "local" :tools ["*"]
                                                :command ,(todo-write-mcp-helper-program)
                                                :args ["--socket" ,todo-write-socket])))))
      (write-region (json-serialize settings) nil (expand-file-name file folder) nil 'silent))))

(defun copilot-checks--call (command function)
  "Call FUNCTION with the thread of an agent that plans, and then runs COMMAND."
  (todo-write-with-socket
    (let* ((copilot-checks-folder (file-name-as-directory (make-temp-file "garden" t)))
           (home (expand-file-name "home" copilot-checks-folder)))
      (copilot-checks--set-up home)
      (todo-write-with-mock
          port (todo-write-mock-script
                (seq-map-indexed
                 (lambda (response index) (list :match (list :turnIndex index) :response response))
                 (list (list :toolCalls
                             (vector (list :name "todo-write-todo_write"
                                           :arguments (todo-write-test-todos '("Rake" "in_progress")))))
                       (list :toolCalls
                             (vector (list :name "bash"
                                           :arguments (list :command command :description "Work"))))
                       (list :content "Done all."))))
        (let* ((default-directory copilot-checks-folder)
               (process-environment
                (append (hosts-environment home)
                        (hosts-copilot-environment (format "http://127.0.0.1:%d" port))))
               (copilot-checks-process
                (make-process :name "copilot" :buffer (generate-new-buffer "*copilot*") :noquery t
                              :connection-type 'pty :coding 'utf-8
                              :command '("sh" "-c" "stty rows 40 columns 110; exec \"$@\"" "sh"
                                         "copilot" "--disable-client-telemetry" "--no-auto-update"
                                         "--no-remote" "--no-remote-export"
                                         "--allow-tool=todo-write" "-i" "Rake"))))
          (unwind-protect
              (progn
                (todo-write-test-wait (lambda () (todo-write-threads)))
                (funcall function (car (todo-write-threads))))
            (delete-process copilot-checks-process)
            (kill-buffer (process-buffer copilot-checks-process))))))))

(defun copilot-checks--wait (thread activity)
  "Wait until the agent of THREAD has ACTIVITY; return how long that took, in seconds."
  (let ((start (float-time)))
    (todo-write-test-wait (lambda () (equal activity (car (todo-write-activity thread)))))
    (- (float-time) start)))

(defun copilot-checks--dialog (thread)
  "Wait until the agent of THREAD waits, and its dialog stands in the terminal."
  (copilot-checks--wait thread 'waiting)
  (todo-write-test-wait
   (lambda () (with-current-buffer (process-buffer copilot-checks-process)
                (goto-char (point-min))
                (search-forward "Do you want to run" nil t)))))

(ert-deftest copilot-waits-until-its-dialog-is-answered-there ()
  (copilot-checks--call
   (hosts-gate-command "one")
   (lambda (thread)
     (copilot-checks--dialog thread)
     (should (string-prefix-p "for i in" (cdr (todo-write-activity thread))))
     (should (string-match-p "; answer it there"
                             (cadr (should-error (todo-write-answer thread) :type 'user-error))))
     (should (equal '("Rake") (todo-write-test-contents thread)))
     (process-send-string copilot-checks-process "\r")
     ;; Its command still runs.
     (message "Working %.1f s after Yes" (copilot-checks--wait thread 'working))
     (write-region "" nil (expand-file-name "one.gate" copilot-checks-folder) nil 'silent)
     (copilot-checks--wait thread nil)
     (should (equal (list thread) (todo-write-threads))))))

(ert-deftest copilot-that-is-refused-is-idle ()
  (copilot-checks--call
   "touch one"
   (lambda (thread)
     (copilot-checks--dialog thread)
     (process-send-string copilot-checks-process "\e")
     (message "Idle %.1f s after Esc" (copilot-checks--wait thread nil))
     (should-not (file-exists-p (expand-file-name "one" copilot-checks-folder))))))

(provide 'copilot-checks)
;;; copilot-checks.el ends here
