;;; codex-answer-checks.el --- Answering the genuine Codex in Emacs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Codex runs in a terminal, and its model calls tools that need a permission.  The
;; user answers in this Emacs or in the terminal.  Nothing may run that the user did not
;; allow, and whenever Emacs does not answer, the terminal must.  codex.sh runs
;; this.

;;; Code:

(require 'codex-checks)
(require 'machine-helper)
(require 'term)
(require 'todo-write-agents)
(require 'todo-write-permission)

(defvar codex-answer--model "gpt-5.5" "The model that Codex uses.")

(defun codex-answer--configure (url)
  "Write the settings of Codex, whose model is at URL."
  (make-directory (expand-file-name ".codex" codex-checks-home) t)
  (write-region
   (concat (format "model = %S\n" codex-answer--model) "model_provider = \"mock\"\ncheck_for_update_on_startup = false\n"
           "approval_policy = \"on-request\"\nsandbox_mode = \"read-only\"\n"
           "[analytics]\nenabled = false\n[feedback]\nenabled = false\n"
           "[otel]\nexporter = \"none\"\nmetrics_exporter = \"none\"\n"
           "[tools.update_plan]\nenabled = true\n[tui]\nscreen_reader_detection_done = true\n"
           "[notice.model_migrations]\n\"gpt-5.5\" = \"gpt-6-sol\"\n"
           (format "[projects.%S]\ntrust_level = \"trusted\"\n"
                   (directory-file-name codex-checks-folder))
           (format "[model_providers.mock]\nname = \"mock\"\nbase_url = \"%s/v1\"\n" url)
           "env_key = \"MOCK_KEY\"\nwire_api = \"responses\"\nsupports_websockets = false\n")
   nil (expand-file-name ".codex/config.toml" codex-checks-home) nil 'silent))

(defvar codex-answer--arguments '("Go on") "Arguments of Codex.")

(defun codex-answer--start ()
  "Start Codex in a terminal."
  (let ((process-environment (cons "MOCK_KEY=test-key"
                                   (if machine-helper-name
                                       (machine-helper-environment codex-checks-home)
                                     (hosts-environment codex-checks-home))))
        (buffer (generate-new-buffer "*codex terminal*")))
    (with-current-buffer buffer
      (term-mode)
      (setq term-width 110 term-height 40
            default-directory codex-checks-folder)
      (term-exec buffer "codex" (expand-file-name "codex" hosts-bin) nil
                 codex-answer--arguments)
      (setq codex-checks-process (get-buffer-process buffer))
      (set-process-query-on-exit-flag codex-checks-process nil))))

(defun codex-answer--stop-daemon ()
  "End the daemon and its updater that Codex has started in the home of the check."
  (dolist (file (directory-files-recursively (expand-file-name ".codex" codex-checks-home)
                                             "\\`daemon.*\\.pid\\'"))
    (let (pid)
      (todo-write-test-wait
       (lambda ()
         (with-temp-buffer
           (insert-file-contents file)
           (when (re-search-forward "\"pid\":\\([1-9][0-9]*\\)" nil t)
             (setq pid (string-to-number (match-string 1)))))))
      (signal-process pid 'kill))))

(defun codex-answer--wait (what condition)
  "Wait until CONDITION holds; WHAT names it."
  (todo-write-test-wait condition
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
         (todo-write-follow-agents
          `((codex . ,(expand-file-name ".codex" codex-checks-home)))))
    (todo-write-with-store
      (hosts-with-responses
       steps
       (lambda (url)
         (codex-answer--configure url)
         (unwind-protect
             (if machine-helper-name
                 (machine-helper-call codex-checks-home
                                      (lambda () (codex-answer--work function)))
               (codex-answer--work function))
           (todo-write-agents-mode -1)
           (codex-checks-stop)
           (codex-answer--stop-daemon)))))))

(defun codex-answer--work (function)
  "Start Codex, perhaps on the machine, and call FUNCTION."
  (todo-write-agents-mode)
  (when machine-helper-name (machine-helper-connect))
  (codex-answer--start)
  (funcall function))

(defun codex-answer--request (title)
  "Wait until Codex asks for TITLE, and return the request."
  (let (request)
    (codex-answer--wait
     title (lambda ()
             (setq request (seq-find (lambda (request)
                                       (string-match-p title (plist-get request :title)))
                                     (todo-write-requests)))))
    request))

(defun codex-answer--gone ()
  "Wait until no request is open."
  (codex-answer--wait "the end of the request" (lambda () (null (todo-write-requests)))))

(defun codex-answer--shows-p (regexp)
  "Return non-nil if the terminal shows REGEXP."
  (with-current-buffer (process-buffer codex-checks-process)
    (save-excursion
      (goto-char (point-min))
      (re-search-forward regexp nil t))))

(defun codex-answer--says (regexp)
  "Wait until the terminal shows REGEXP."
  (codex-answer--wait regexp (lambda () (codex-answer--shows-p regexp))))

(defun codex-answer--press (keys)
  "Send KEYS to the terminal."
  (process-send-string codex-checks-process keys))

(defun codex-answer--accept (what condition)
  "Press y in the terminal until CONDITION returns non-nil, which is WHAT.
On a busy machine, Codex misses a key right after it has drawn its dialog."
  (let ((next 0))
    (codex-answer--wait what (lambda ()
                               (when (> (float-time) next)
                                 (codex-answer--press "y")
                                 (setq next (+ 2 (float-time))))
                               (funcall condition)))))

(defun codex-answer--exists-p (name)
  "Return non-nil if the file NAME is in the project."
  (file-exists-p (expand-file-name name codex-checks-folder)))

(defun codex-answer--command (command)
  "Return a call that runs COMMAND outside of the sandbox."
  (codex-checks-call "exec_command" :cmd command :sandbox_permissions "require_escalated"
                     :justification "May I?" :prefix_rule ["touch"]))

;;; Checks

(machine-helper-here-and-there codex-answer-allow-once
  (codex-answer-with (list (codex-answer--command "touch one") (codex-answer--command "touch two")
                           (list :text "All done."))
    (let ((request (codex-answer--request "\\`Command: .*touch one")))
      (should (string-prefix-p (if machine-helper-name "build/codex:" "codex:")
                               (plist-get request :thread)))
      (should (string-search "# reason: \"May I?\"" (todo-write-request-detail request)))
      (should-not (codex-answer--exists-p "one"))
      (hosts-answer request 'allow)
      (codex-answer--wait "one" (lambda () (codex-answer--exists-p "one"))))
    ;; Once is not always.
    (hosts-answer (codex-answer--request "\\`Command: .*touch two") 'allow)
    (codex-answer--wait "two" (lambda () (codex-answer--exists-p "two")))
    (codex-answer--says "All done\\.")))

(ert-deftest codex-answer-deny ()
  (codex-answer-with (list (codex-answer--command "touch one") (list :text "I may not."))
    (hosts-answer (codex-answer--request "\\`Command: .*touch one") 'deny)
    (codex-answer--says "I may not\\.")
    (should-not (codex-answer--exists-p "one"))
    (codex-answer--gone)))

;; What the answer says, it does.

(ert-deftest codex-answer-always ()
  (codex-answer-with (list (codex-answer--command "touch one") (codex-answer--command "touch two")
                           (list :text "All done."))
    (let ((request (codex-answer--request "\\`Command: .*touch one")))
      (should (member (format-message "Always allow commands that begin with `touch' in all projects")
                      (mapcar (lambda (option) (plist-get option :label))
                              (plist-get request :options))))
      (hosts-answer request 'always))
    (codex-answer--says "All done\\.")
    (should (and (codex-answer--exists-p "one") (codex-answer--exists-p "two")))
    (should (string-search "prefix_rule(pattern=[\"touch\"], decision=\"allow\")"
                           (with-temp-buffer
                             (insert-file-contents
                              (expand-file-name ".codex/rules/default.rules" codex-checks-home))
                             (buffer-string))))))

(ert-deftest codex-answer-stop-the-turn ()
  (codex-answer-with (list (codex-answer--command "touch one") (list :text "Never said."))
    (hosts-answer (codex-answer--request "\\`Command: .*touch one") 'other)
    (codex-checks-says "turn_aborted")
    (codex-answer--gone)
    (should-not (codex-answer--exists-p "one"))))

(ert-deftest codex-answer-a-change-of-files ()
  (codex-answer-with (list (codex-checks-patch "*** Add File: new.txt" "+hello")
                           (list :text "All done."))
    (let ((request (codex-answer--request "\\`Change: .*/new\\.txt\\'")))
      (should (eq 'diff (plist-get request :format)))
      (should (string-search "new.txt\n@@ -0,0 +1 @@\n+hello\n" (todo-write-request-detail request)))
      (should-not (codex-answer--exists-p "new.txt"))
      (hosts-answer request 'allow))
    (codex-answer--says "All done\\.")
    (should (codex-answer--exists-p "new.txt"))))

(machine-helper-here-and-there codex-answer-a-question
  (let ((codex-answer--arguments nil))
    (codex-answer-with
        (list (codex-checks-call
               "request_user_input"
               :questions [(:id "colour" :header "Colour" :question "Which colour?"
                            :options [(:label "Red" :description "warm")
                                      (:label "Blue" :description "cold")])])
              (list :text "Thanks."))
      (codex-answer--says "for shortcuts")
      ;; In plan mode, it may ask.  Keys are lost while it starts.
      (let ((pressed 0))
        (codex-answer--wait
         "plan mode" (lambda ()
                       (or (codex-answer--shows-p "Plan mode")
                           (when (< 3 (- (float-time) pressed))
                             (setq pressed (float-time))
                             (codex-answer--press "\e[Z")
                             nil)))))
      (codex-answer--press "Go on")
      (codex-answer--says "Go on")
      (codex-answer--press "\r")
      (let ((request (codex-answer--request "\\`Which colour\\?\\'")))
        (should (todo-write-answer-request (plist-get request :thread) (plist-get request :id)
                                           '(("Which colour?" . "Blue")))))
      (codex-checks-says "answers[^ ]*colour[^ ]*answers[^ ]*Blue")
      (codex-answer--says "Thanks\\."))))

(ert-deftest codex-answer-a-change-always-for-these-files-in-this-session ()
  (codex-answer-with (list (codex-checks-patch "*** Add File: new.txt" "+hello")
                           (codex-checks-patch "*** Update File: new.txt" "@@" "-hello" "+goodbye")
                           (list :text "All done."))
    (let ((request (codex-answer--request "\\`Change: .*/new\\.txt\\'")))
      (should (string-match-p
               "\\`Allow all changes of /.*/new\\.txt in this session\\'"
               (plist-get (seq-find (lambda (option) (eq 'always (plist-get option :kind)))
                                    (plist-get request :options))
                          :label)))
      (hosts-answer request 'always))
    ;; It would wait if it asked again.
    (codex-answer--says "All done\\.")
    (should (equal "goodbye\n" (with-temp-buffer
                                 (insert-file-contents
                                  (expand-file-name "new.txt" codex-checks-folder))
                                 (buffer-string))))))

(machine-helper-here-and-there codex-answer-soon
  (let ((names '("one" "two" "three" "four" "five")))
    (codex-answer-with (append (mapcar (lambda (name) (codex-answer--command (concat "touch " name)))
                                       names)
                               (list (list :text "All done.")))
      (hosts-print-latency
       (if machine-helper-name "Codex on another machine" "Codex") names
       (lambda (name)
         (codex-answer--shows-p (format "touch %s\\(?:.\\|\n\\)*Yes, proceed" name)))
       #'codex-answer--exists-p))))

;; The first answer counts, and the request goes with what it is about.

(ert-deftest codex-answer-the-terminal-first ()
  (codex-answer-with (list (codex-answer--command "touch one") (list :text "All done."))
    (codex-answer--request "\\`Command: .*touch one")
    (codex-answer--says "Yes, proceed")
    (codex-answer--accept "the end of the request" (lambda () (null (todo-write-requests))))
    (codex-answer--says "All done\\.")
    (should (codex-answer--exists-p "one"))))

(ert-deftest codex-answer-without-an-answer-the-terminal-answers ()
  (codex-answer-with (list (codex-answer--command "touch one") (list :text "All done."))
    (codex-answer--request "\\`Command: .*touch one")
    (todo-write-agents-mode -1)
    (should-not (todo-write-requests))
    (codex-answer--says "Yes, proceed")
    (should-not (codex-answer--exists-p "one"))
    (codex-answer--accept "All done" (lambda () (codex-answer--shows-p "All done\\.")))
    (should (codex-answer--exists-p "one"))))

(ert-deftest codex-answer-emacs-comes-back ()
  (codex-answer-with (list (codex-answer--command "touch one") (list :text "All done."))
    (codex-answer--request "\\`Command: .*touch one")
    (todo-write-agents-mode -1)
    (should-not (todo-write-requests))
    (todo-write-agents-mode)
    (hosts-answer (codex-answer--request "\\`Command: .*touch one") 'allow)
    (codex-answer--says "All done\\.")
    (should (codex-answer--exists-p "one"))))

(ert-deftest codex-answer-the-hub-there-is-killed-and-comes-back ()
  (let ((machine-helper-name "build"))
    (codex-answer-with (list (codex-answer--command "touch one") (codex-answer--command "touch two")
                             (list :text "All done."))
      (codex-answer--request "\\`Command: .*touch one")
      (machine-helper-kill)
      (codex-answer--gone)
      ;; The terminal answers meanwhile.
      (codex-answer--says "Yes, proceed")
      (codex-answer--accept "one" (lambda () (codex-answer--exists-p "one")))
      (machine-helper-connect)
      (hosts-answer (codex-answer--request "\\`Command: .*touch two") 'allow)
      (codex-answer--says "All done\\.")
      (should (codex-answer--exists-p "two")))))

(ert-deftest codex-answer-the-daemon-is-killed ()
  (codex-answer-with (list (codex-answer--command "touch one") (list :text "Never said."))
    (codex-answer--request "\\`Command: .*touch one")
    (codex-answer--stop-daemon)
    (codex-answer--gone)
    (should-not (codex-answer--exists-p "one"))))

(ert-deftest codex-answer-the-terminal-is-killed ()
  (codex-answer-with (list (codex-answer--command "touch one") (list :text "All done."))
    (let ((request (codex-answer--request "\\`Command: .*touch one")))
      (delete-process codex-checks-process)
      ;; Its daemon goes on, and still asks.
      (hosts-answer request 'allow)
      (codex-answer--wait "one" (lambda () (codex-answer--exists-p "one")))
      (codex-answer--gone))))

(ert-deftest codex-answer-two-sessions-get-their-own-answers ()
  (codex-answer-with (list (codex-answer--command "touch one") (list :text "All done."))
    (let ((first (codex-answer--request "touch one"))
          (terminal codex-checks-process))
      (unwind-protect
          (progn
            (codex-answer--start)
            (codex-answer--wait "both" (lambda () (= 2 (length (todo-write-requests)))))
            (let ((second (car (remq first (todo-write-requests)))))
              (should-not (equal (plist-get first :thread) (plist-get second :thread)))
              (hosts-answer second 'deny)
              (codex-answer--says "All done\\."))
            (should-not (codex-answer--exists-p "one"))
            (should (equal (list first) (todo-write-requests)))
            (hosts-answer first 'allow)
            (codex-answer--wait "one" (lambda () (codex-answer--exists-p "one"))))
        (delete-process terminal)
        (kill-buffer (process-buffer terminal))))))

(ert-deftest codex-answer-a-subagent ()
  (let ((codex-answer--model "gpt-5.2-codex"))
    (codex-answer-with
        (list :main (list '(:name "spawn_agent" :namespace "multi_agent_v1"
                            :arguments (:message "SUBAGENT: count the books"))
                          '(:name "wait_agent" :namespace "multi_agent_v1"
                            :find "agent_id[^0-9a-f]+([-0-9a-f]{36})"
                            :arguments (:targets ["FOUND"] :timeout_ms 60000))
                          '(:text "It came back."))
              :subagent (list (codex-answer--command "touch one")
                              '(:text "Three books.")))
      (let ((request (codex-answer--request "\\`subagent .*: Command: .*touch one")))
        (codex-checks-says (concat "\"session_id\":\""
                                   (string-remove-prefix "codex:" (plist-get request :thread))
                                   "\",.*\"parent_thread_id\""))
        (hosts-answer request 'allow))
      (codex-answer--says "It came back\\.")
      (should (codex-answer--exists-p "one")))))

(provide 'codex-answer-checks)
;;; codex-answer-checks.el ends here
