;;; codex-answer-checks.el --- Answering the genuine Codex in Emacs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Codex runs in a terminal, and its model calls tools that need a permission.  The
;; user answers in this Emacs or in the terminal.  Nothing may run that the user did not
;; allow, and whenever Emacs does not answer, the terminal must.  codex-answer.sh runs
;; this.

;;; Code:

(require 'codex-checks)
(require 'term)
(require 'todo-write-mcp)
(require 'todo-write-permission)

(defun codex-answer--configure (url)
  "Write the settings of Codex, whose model is at URL."
  (make-directory (expand-file-name ".codex" codex-checks-home) t)
  (write-region
   (concat "model = \"gpt-5.5\"\nmodel_provider = \"mock\"\ncheck_for_update_on_startup = false\n"
           "approval_policy = \"on-request\"\nsandbox_mode = \"read-only\"\n"
           "[analytics]\nenabled = false\n[feedback]\nenabled = false\n"
           "[otel]\nexporter = \"none\"\nmetrics_exporter = \"none\"\n"
           "[tui]\nscreen_reader_detection_done = true\n"
           "[notice.model_migrations]\n\"gpt-5.5\" = \"gpt-6-sol\"\n"
           (format "[projects.%S]\ntrust_level = \"trusted\"\n"
                   (directory-file-name codex-checks-folder))
           (format "[model_providers.mock]\nname = \"mock\"\nbase_url = \"%s/v1\"\n" url)
           "env_key = \"MOCK_KEY\"\nwire_api = \"responses\"\nsupports_websockets = false\n")
   nil (expand-file-name ".codex/config.toml" codex-checks-home) nil 'silent))

(defun codex-answer--start ()
  "Start Codex in a terminal."
  (let ((process-environment (append '("MOCK_KEY=test-key") (hosts-environment codex-checks-home)))
        (buffer (generate-new-buffer "*codex terminal*")))
    (with-current-buffer buffer
      (term-mode)
      (setq term-width 110 term-height 40
            default-directory codex-checks-folder)
      (term-exec buffer "codex" (expand-file-name "codex" hosts-bin) nil '("Go on"))
      (setq codex-checks-process (get-buffer-process buffer))
      (set-process-query-on-exit-flag codex-checks-process nil))))

(defun codex-answer--stop-daemon ()
  "End the daemon and its updater that Codex has started in the home of the check."
  (dolist (file (directory-files-recursively (expand-file-name ".codex" codex-checks-home)
                                             "\\`daemon.*\\.pid\\'"))
    (let ((pid (with-temp-buffer
                 (insert-file-contents file)
                 (plist-get (json-parse-buffer :object-type 'plist) :pid))))
      (when (and (integerp pid) (< 1 pid))
        (signal-process pid 'kill)))))

(defun codex-answer--wait (what condition)
  "Wait until CONDITION holds; WHAT names it."
  (todo-write-test-wait condition 60
                        (lambda ()
                          (format "%s; %S\n%s" what (todo-write-requests)
                                  (with-current-buffer (process-buffer codex-checks-process)
                                    (buffer-substring-no-properties (point-min) (point-max)))))))

(defmacro codex-answer-with (steps &rest body)
  "Evaluate BODY while Codex works in a terminal by STEPS."
  (declare (indent 1) (debug t))
  `(codex-answer--call ,steps (lambda () ,@body)))

(defun codex-answer--call (steps function)
  "Call FUNCTION while Codex works by STEPS."
  (let* ((codex-checks-home (make-temp-file "home" t))
         (codex-checks-folder (file-name-as-directory
                               (file-truename (make-temp-file "garden" t))))
         (codex-checks-process nil)
         (todo-write-socket (todo-write-socket-test-file))
         (todo-write-socket-codex-folders (list (expand-file-name ".codex" codex-checks-home))))
    (todo-write-with-store
      (hosts-with-responses
       steps
       (lambda (url)
         (codex-answer--configure url)
         (unwind-protect
             (progn
               (todo-write-mcp-mode)
               (codex-answer--start)
               (funcall function))
           (todo-write-mcp-mode -1)
           (codex-checks-stop)
           (codex-answer--stop-daemon)))))))

(defun codex-answer--request (title)
  "Wait until Codex asks for TITLE, and return the request."
  (let (request)
    (codex-answer--wait
     title (lambda ()
             (setq request (seq-find (lambda (request)
                                       (string-match-p title (plist-get request :title)))
                                     (todo-write-requests)))))
    request))

(defun codex-answer--answer (request kind &optional text)
  "Answer REQUEST by its first option of KIND, with TEXT."
  (should (todo-write-answer-request
           (plist-get request :thread) (plist-get request :id)
           (plist-get (seq-find (lambda (option) (eq kind (plist-get option :kind)))
                                (plist-get request :options))
                      :value)
           text)))

(defun codex-answer--gone ()
  "Wait until no request is open."
  (codex-answer--wait "the end of the request" (lambda () (null (todo-write-requests)))))

(defun codex-answer--says (regexp)
  "Wait until the terminal shows REGEXP."
  (codex-answer--wait regexp
                      (lambda () (with-current-buffer (process-buffer codex-checks-process)
                                   (save-excursion
                                     (goto-char (point-min))
                                     (re-search-forward regexp nil t))))))

(defun codex-answer--exists-p (name)
  "Return non-nil if the file NAME is in the project."
  (file-exists-p (expand-file-name name codex-checks-folder)))

(defun codex-answer--command (command)
  "Return a call that runs COMMAND outside of the sandbox."
  (codex-checks-call "exec_command" :cmd command :sandbox_permissions "require_escalated"
                     :justification "May I?" :prefix_rule ["touch"]))

;;; Checks

(ert-deftest codex-answer-allow-once ()
  (codex-answer-with (list (codex-answer--command "touch one") (codex-answer--command "touch two")
                           (list :text "All done."))
    (let ((request (codex-answer--request "\\`Command: .*touch one")))
      (should (string-prefix-p "codex:" (plist-get request :thread)))
      (should (string-search "# reason: \"May I?\"" (todo-write-request-detail request)))
      (should-not (codex-answer--exists-p "one"))
      (codex-answer--answer request 'allow)
      (codex-answer--wait "one" (lambda () (codex-answer--exists-p "one"))))
    ;; Once is not always.
    (codex-answer--answer (codex-answer--request "\\`Command: .*touch two") 'allow)
    (codex-answer--wait "two" (lambda () (codex-answer--exists-p "two")))
    (codex-answer--says "All done\\.")))

(ert-deftest codex-answer-deny ()
  (codex-answer-with (list (codex-answer--command "touch one") (list :text "I may not."))
    (codex-answer--answer (codex-answer--request "\\`Command: .*touch one") 'deny)
    (codex-answer--says "I may not\\.")
    (should-not (codex-answer--exists-p "one"))
    (codex-answer--gone)))

(provide 'codex-answer-checks)
;;; codex-answer-checks.el ends here
