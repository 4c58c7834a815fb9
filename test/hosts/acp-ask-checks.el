;;; acp-ask-checks.el --- Forms and plans of a genuine ACP agent  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Claude's real ACP adapter asks questions and for the approval of a plan, and a client
;; of the real acp.el offers to answer forms.  acp-ask.sh runs this.

;;; Code:

(require 'ert)
(require 'hosts-helper)
(require 'acp)
(require 'todo-write-acp)

(defvar acp-ask-checks-folder nil "The project of the agent.")
(defvar acp-ask-checks-thread nil "The thread of its session.")
(defvar acp-ask-checks-client nil "The client.")

(defun acp-ask-checks--home () "Return the agent's home." (expand-file-name "home" acp-ask-checks-folder))

(defun acp-ask-checks--send (request)
  "Send REQUEST and return the result."
  (acp-send-request :client acp-ask-checks-client :request request :sync t))

(defun acp-ask-checks--call (steps mode function)
  "Call FUNCTION after a prompt to an agent in MODE whose model follows STEPS."
  (todo-write-with-store
    (let ((acp-ask-checks-folder (file-name-as-directory (make-temp-file "garden" t))))
      (make-directory (expand-file-name ".claude" (acp-ask-checks--home)) t)
      (write-region "{\"permissions\": {\"defaultMode\": \"default\"}}" nil
                    (expand-file-name ".claude/settings.json" (acp-ask-checks--home)) nil 'silent)
      (hosts-with-messages
       steps
       (lambda (url)
         (with-temp-buffer
           (let ((default-directory acp-ask-checks-folder)
                 (acp-ask-checks-client
                  (acp-make-client :context-buffer (current-buffer) :command "env"
                                   :command-params
                                   (append '("-i") (hosts-environment (acp-ask-checks--home))
                                           (hosts-claude-environment url)
                                           '("claude-agent-acp")))))
             (unwind-protect
                 (progn
                   (acp-ask-checks--send
                    (todo-write-acp-offer-forms acp-ask-checks-client
                                                (acp-make-initialize-request :protocol-version 1)))
                   (acp-ask-checks--prompt mode)
                   (funcall function))
               (todo-write-acp-disconnect acp-ask-checks-client)
               (acp-shutdown :client acp-ask-checks-client)))))))))

(defun acp-ask-checks--prompt (mode)
  "Begin a session in MODE, and send a prompt."
  (let ((session (alist-get 'sessionId
                            (acp-ask-checks--send
                             (acp-make-session-new-request :cwd acp-ask-checks-folder)))))
    (setq acp-ask-checks-thread (concat "claude:" session))
    (todo-write-acp-connect acp-ask-checks-client nil session)
    (when mode
      (acp-ask-checks--send (acp-make-session-set-mode-request :session-id session :mode-id mode)))
    (acp-send-request :client acp-ask-checks-client
                      :request (acp-make-session-prompt-request
                                :session-id session
                                :prompt '(((type . "text") (text . "Look after the garden")))))))

(defmacro acp-ask-checks-with (steps mode &rest body)
  "Run BODY after a prompt to an agent in MODE whose model follows STEPS."
  (declare (indent 2) (debug t))
  `(acp-ask-checks--call ,steps ,mode (lambda () ,@body)))

(defun acp-ask-checks--request (kind)
  "Wait until the agent asks something of KIND, and return the request."
  (let (request)
    (todo-write-test-wait
     (lambda () (setq request (seq-find (lambda (request) (eq kind (plist-get request :kind)))
                                        (todo-write-requests acp-ask-checks-thread)))))
    request))

(defun acp-ask-checks--answer (request value &optional text)
  "Answer REQUEST with VALUE and TEXT."
  (should (todo-write-answer-request acp-ask-checks-thread (plist-get request :id) value text)))

(defun acp-ask-checks--transcript ()
  "Return the text of the session's transcripts."
  (let ((folder (expand-file-name ".claude/projects" (acp-ask-checks--home))))
    (mapconcat (lambda (file) (with-temp-buffer (insert-file-contents file) (buffer-string)))
               (and (file-directory-p folder) (directory-files-recursively folder "\\.jsonl\\'"))
               "\n")))

(defun acp-ask-checks--says (text)
  "Wait until the session's transcripts have TEXT."
  (todo-write-test-wait (lambda () (string-search text (acp-ask-checks--transcript)))))

(defun acp-ask-checks--ended ()
  "Wait until the turn has ended."
  (todo-write-test-wait (lambda () (null (todo-write-activity acp-ask-checks-thread)))))

;;; Forms

(defconst acp-ask-checks--questions
  '(:name "AskUserQuestion"
    :input (:questions [(:question "Which can?" :header "Can" :multiSelect :false
                         :options [(:label "Green" :description "The green one")
                                   (:label "Blue" :description "The blue one")])
                        (:question "Which tools?" :header "Tools" :multiSelect t
                         :options [(:label "Rake" :description "A rake")
                                   (:label "Hoe" :description "A hoe")])]))
  "A call that asks two questions.")

(ert-deftest acp-ask-questions-come-as-a-request-and-are-answered ()
  (acp-ask-checks-with (list acp-ask-checks--questions '(:text "Thanks.")) nil
    (let ((request (acp-ask-checks--request 'question)))
      (should (equal '(("Which can?" nil ("Green" "Blue" "Leave this out"))
                       ("Which tools?" t ("Rake" "Hoe" "Leave this out")))
                     (mapcar (lambda (question)
                               (list (plist-get question :question) (plist-get question :multiple)
                                     (mapcar (lambda (option) (plist-get option :label))
                                             (plist-get question :options))))
                             (plist-get request :questions))))
      (should (eq 'waiting (car (todo-write-activity acp-ask-checks-thread))))
      (acp-ask-checks--answer request '(("Which can?" . "The old one") ("Which tools?" "Rake" "Hoe"))))
    (acp-ask-checks--says "\\\"Which can?\\\"=\\\"The old one\\\"")
    (acp-ask-checks--says "\\\"Which tools?\\\"=\\\"Rake, Hoe\\\"")
    (acp-ask-checks--ended)))

(ert-deftest acp-ask-a-question-without-an-answer ()
  (acp-ask-checks-with (list acp-ask-checks--questions '(:text "Thanks.")) nil
    (acp-ask-checks--answer (acp-ask-checks--request 'question) 'decline)
    (acp-ask-checks--says "did not answer the questions")
    (acp-ask-checks--ended)))

(ert-deftest acp-ask-a-question-is-withdrawn-when-the-turn-is-cancelled ()
  (acp-ask-checks-with (list acp-ask-checks--questions '(:text "Never said.")) nil
    (acp-ask-checks--request 'question)
    (acp-send-notification
     :client acp-ask-checks-client
     :notification (acp-make-session-cancel-notification
                    :session-id (string-remove-prefix "claude:" acp-ask-checks-thread)))
    (acp-ask-checks--ended)
    (should-not (todo-write-requests))
    (should-not (string-search "Never said." (acp-ask-checks--transcript)))))

;;; Plans

(defun acp-ask-checks--write-plan (text)
  "Answer the question of an agent that plans, when TEXT is its plan."
  (let ((request (acp-ask-checks--request 'question)) file)
    (todo-write-test-wait
     (lambda ()
       (let ((said (acp-ask-checks--transcript)))
         (and (string-match "\"planFilePath\":\"\\([^\"]+\\)\"" said)
              (setq file (match-string 1 said))))))
    (make-directory (file-name-directory file) t)
    (write-region text nil file nil 'silent)
    (acp-ask-checks--answer request '(("Which can?" . "Blue") ("Which tools?" "Rake")))))

(defun acp-ask-checks--plan-options (request)
  "Return the kinds, labels and values of the options of REQUEST."
  (mapcar (lambda (option) (list (plist-get option :kind) (plist-get option :label)
                                 (plist-get option :value)))
          (plist-get request :options)))

(ert-deftest acp-ask-an-approved-plan-is-shown-and-the-mode-is-the-one-of-its-label ()
  (pcase-dolist (`(,option ,mode) '(("exit-plan-default" "default") ("exit-plan-auto" "auto")))
    (ert-info (option)
      (acp-ask-checks-with (list acp-ask-checks--questions '(:name "ExitPlanMode" :input (:none nil))
                                 '(:text "Settled."))
          "plan"
        (let (modes)
          (acp-subscribe-to-notifications
           :client acp-ask-checks-client
           :on-notification (lambda (message)
                              (let-alist message
                                (when .params.update.currentModeId
                                  (push .params.update.currentModeId modes)))))
          (acp-ask-checks--write-plan "# Plan\n1. Rake\n")
          (let ((request (acp-ask-checks--request 'plan)))
            (message "%S" (acp-ask-checks--plan-options request))
            (should (string-prefix-p "# Plan\n1. Rake" (todo-write-request-detail request)))
            (acp-ask-checks--answer request option))
          (acp-ask-checks--ended)
          (should (equal mode (car modes)))
          (should (seq-find (lambda (observation)
                              (equal "The plan:\n\n# Plan\n1. Rake"
                                     (plist-get (plist-get observation :content) :text)))
                            (todo-write-observations acp-ask-checks-thread))))))))

(ert-deftest acp-ask-keep-planning-ends-the-turn-and-its-comments-are-the-next-prompt ()
  (let* (drafts
         (host (todo-write-host-define "drafts"
                 :draft (lambda (_thread text) (when text (push text drafts)) (current-buffer)))))
    (ignore host)
    (unwind-protect
        (acp-ask-checks-with (list acp-ask-checks--questions
                                   '(:name "ExitPlanMode" :input (:none nil)) '(:text "Never said."))
            "plan"
          (acp-ask-checks--write-plan "# Plan\n1. Rake\n")
          (let ((request (acp-ask-checks--request 'plan)))
            (acp-ask-checks--answer request "reject" "> 1. Rake\nTwice"))
          (acp-ask-checks--ended)
          (should (equal '("> 1. Rake\nTwice") drafts))
          (should-not (string-search "Never said." (acp-ask-checks--transcript))))
      (setq todo-write-host-all (delq (todo-write-host-named "drafts") todo-write-host-all)))))

(provide 'acp-ask-checks)
;;; acp-ask-checks.el ends here
