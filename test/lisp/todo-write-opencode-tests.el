;;; todo-write-opencode-tests.el --- The questions of opencode's plugin  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What Emacs makes of what the plugin for opencode sends, and what it answers, by the
;; socket.  The plugin is tested in todo-write-opencode-e2e-tests.el, and with the genuine
;; opencode by test/hosts/opencode.sh.

;;; Code:

(require 'todo-write-agent)
(require 'todo-write-answer)
(require 'todo-write-tell)
(require 'todo-write-socket-helper)

(defun todo-write-opencode-tests--hello (&rest fields)
  "Connect as the plugin, whose hello has FIELDS; return the connection."
  (let ((process (todo-write-socket-test-connect)))
    (todo-write-socket-test-send
     process (append '(:type "hello") fields
                     (list :protocol 2 :roles ["plan" "permission" "note"] :id "plugin-1"
                           :version todo-write-version :client "opencode" :process (emacs-pid)
                           :started 17 :project temporary-file-directory)))
    (should (equal "welcome" (plist-get (todo-write-socket-test-read process) :type)))
    (todo-write-test-wait (lambda () todo-write-socket-programs))
    process))

(defun todo-write-opencode-tests--list (plugin session &rest entries)
  "Tell by PLUGIN the list ENTRIES of SESSION, and return the answer."
  (todo-write-socket-test-call
   plugin (list :role "plan" :session session :source "event"
                :arguments (apply #'todo-write-test-todos entries))))

(defun todo-write-opencode-tests--ask (plugin number &rest input)
  "Let PLUGIN ask by the call NUMBER for INPUT; return the request."
  (let ((count (length (todo-write-requests))))
    (todo-write-socket-test-send
     plugin `(:type "call" :call ,number :role "permission" :session "ses_1" :source "event"
              :arguments ,input))
    (todo-write-test-wait (lambda () (< count (length (todo-write-requests)))))
    (car (last (todo-write-requests)))))

(defun todo-write-opencode-tests--answer (plugin request value &optional text)
  "Answer REQUEST by VALUE and TEXT; return the decision that PLUGIN gets."
  (should (todo-write-answer-request (plist-get request :thread) (plist-get request :id)
                                     value text))
  (let ((answer (todo-write-socket-test-read plugin)))
    (should (plist-get answer :ok))
    (plist-get answer :decision)))

(defmacro todo-write-opencode-tests--with (plugin &rest body)
  "Evaluate BODY with PLUGIN bound to the connection of a plugin."
  (declare (indent 1) (debug t))
  `(todo-write-with-socket
     (let ((,plugin (todo-write-opencode-tests--hello)))
       ,@body)))

;;; Permissions

(ert-deftest todo-write-opencode-a-command-is-shown-with-what-the-tool-is-called-with ()
  (todo-write-opencode-tests--with plugin
    (let ((request (todo-write-opencode-tests--ask
                    plugin 1 :hook_event_name "permission.asked" :id "per_1" :permission "bash"
                    :patterns ["npm test"] :always ["npm *"] :metadata '(:none :null) :tool "bash"
                    :input '(:command "npm test && ls" :workdir "/tmp"))))
      (should (equal "mcp:opencode:ses_1" (plist-get request :thread)))
      (should (equal '(permission "bash: npm test && ls" shell "npm test && ls\n# workdir: \"/tmp\"")
                     (list (plist-get request :kind) (plist-get request :title)
                           (plist-get request :format) (todo-write-request-detail request))))
      (should (equal '("Yes" "Always allow bash, until opencode ends: npm *" "No")
                     (mapcar (lambda (option)
                               (replace-regexp-in-string "[‘’`']" "" (plist-get option :label)))
                             (plist-get request :options))))
      (should (equal '(waiting . "bash: npm test && ls")
                     (todo-write-activity "mcp:opencode:ses_1")))
      (should (equal '(:behavior "allow" :suggestion 0)
                     (todo-write-opencode-tests--answer
                      plugin request '(:behavior "allow" :suggestion 0)))))))

(ert-deftest todo-write-opencode-no-goes-with-a-message ()
  (todo-write-opencode-tests--with plugin
    (let ((request (todo-write-opencode-tests--ask
                    plugin 1 :hook_event_name "permission.asked" :permission "edit"
                    :patterns ["a.txt"] :always []
                    :metadata '(:filepath "/x/a.txt" :diff "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-a\n+b\n"))))
      (should (equal '(diff "edit: /x/a.txt") (list (plist-get request :format)
                                                    (plist-get request :title))))
      (should (string-prefix-p "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-a\n+b\nfilepath: "
                               (todo-write-request-detail request)))
      (should (equal '("Yes" "No") (mapcar (lambda (option) (plist-get option :label))
                                           (plist-get request :options))))
      (should (equal '(:behavior "deny" :message "Not that")
                     (todo-write-opencode-tests--answer plugin request '(:behavior "deny") "Not that"))))))

(ert-deftest todo-write-opencode-several-questions-are-open-and-each-is-cancelled-by-itself ()
  (todo-write-opencode-tests--with plugin
    (let* ((ask (lambda (number)
                  (todo-write-opencode-tests--ask
                   plugin number :hook_event_name "permission.asked" :permission "bash"
                   :patterns (vector (format "touch %d" number)))))
           (one (funcall ask 1)) (two (funcall ask 2)) (three (funcall ask 3)))
      (todo-write-socket-test-send plugin '(:type "cancel" :call 2))
      (todo-write-test-wait (lambda () (not (todo-write-request-open-p two))))
      (should (equal (list one three) (todo-write-requests)))
      (should (equal '(:behavior "allow")
                     (todo-write-opencode-tests--answer plugin three '(:behavior "allow"))))
      (should (equal (list one) (todo-write-requests)))
      (delete-process plugin)
      (todo-write-test-wait (lambda () (null (todo-write-requests)))))))

(ert-deftest todo-write-opencode-an-answer-goes-to-the-program-that-asked-alone ()
  (todo-write-opencode-tests--with plugin
    (let* ((input '(:hook_event_name "permission.asked" :id "per_1" :permission "bash"
                    :patterns ["ls"]))
           (one (apply #'todo-write-opencode-tests--ask plugin 1 input))
           (other (todo-write-opencode-tests--hello :id "plugin-2")))
      ;; It says the same as the first, and takes that back, of which it asked nothing.
      (todo-write-socket-test-send other '(:type "cancel" :call 1))
      (let ((two (apply #'todo-write-opencode-tests--ask other 1 input)))
        (should (equal (list one two) (todo-write-requests)))
        (should (equal '(:behavior "allow")
                       (todo-write-opencode-tests--answer plugin one '(:behavior "allow"))))
        (should (equal (list two) (todo-write-requests)))
        (should (equal '(:behavior "deny")
                       (todo-write-opencode-tests--answer other two '(:behavior "deny"))))
        (should (equal 0 (buffer-size (process-buffer plugin))))))))

(ert-deftest todo-write-opencode-what-it-cannot-show-is-for-the-terminal ()
  (todo-write-opencode-tests--with plugin
    (let ((fields (make-hash-table :test #'equal)))
      (dotimes (n 300) (puthash (format "f%d" n) "x" fields))
      (seq-do-indexed
       (lambda (input number)
         (let ((request (apply #'todo-write-opencode-tests--ask plugin number
                               :hook_event_name "permission.asked" :permission "bash" input)))
           (should-not (plist-get request :answer))
           (should (string-match-p "too \\(large\\|many\\)\\|not known"
                                   (todo-write-request-detail request)))))
       (list '(:isTooLarge t)
             (list :input fields)
             (list :patterns (make-vector 60 "a"))
             (list :patterns ["a"] :always (make-vector 60 "a"))
             '(:patterns ["a" (:secret "b")])
             '(:patterns "a")
             '(:patterns ["a"] :always ["a" 3]))))))

(ert-deftest todo-write-opencode-what-another-version-asks-is-for-the-terminal-or-shown-whole ()
  (todo-write-opencode-tests--with plugin
    (let ((number 0))
      (cl-flet ((ask (&rest input)
                  (apply #'todo-write-opencode-tests--ask plugin (cl-incf number)
                         :hook_event_name "permission.asked" input)))
        (dolist (input '((:type "bash" :pattern "touch evil" :title "touch evil")
                         (:permission (:name "bash") :patterns ["ls"])
                         (:permission "bash" :patterns [])
                         (:permission "bash" :resources ["ls"])
                         (:permission "bash" :patterns ["ls"] :metadata "touch evil")))
          (let ((request (apply #'ask input)))
            (should-not (plist-get request :answer))
            (should (string-search "form that is not known" (todo-write-request-detail request)))))
        (dolist (input '((:permission "bash" :patterns ["ls"] :input (:command "ls"))
                         (:permission "edit" :patterns ["a"] :metadata (:diff "@@ -1 +1 @@\n-a\n+b\n"))
                         (:permission "read" :patterns ["a"])))
          (let ((request (apply #'ask :alsoRuns ["touch evil"] input)))
            (should (plist-get request :answer))
            (should (string-match-p "^\\(# \\)?alsoRuns: \\[\"touch evil\"\\]"
                                    (todo-write-request-detail request)))))))))

(ert-deftest todo-write-opencode-a-diff-hides-nothing-of-another-call-than-an-edit ()
  (todo-write-opencode-tests--with plugin
    (let ((number 0))
      (pcase-dolist (`(,permission . ,more) '(("edit") ("deploy" . "to: there")))
        (let ((detail (todo-write-request-detail
                       (todo-write-opencode-tests--ask
                        plugin (cl-incf number) :hook_event_name "permission.asked"
                        :permission permission :patterns ["a.txt"]
                        :metadata '(:diff "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-a\n+b\n")
                        :input '(:to "there")))))
          (should (string-prefix-p "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-a\n+b" detail))
          (should (eq (and more t) (and (string-search "\nto: there" detail) t))))))))

(ert-deftest todo-write-opencode-questions-of-any-shape-do-no-harm ()
  (todo-write-opencode-tests--with plugin
    (let ((number 0))
      (dolist (event '("permission.asked" "question.asked"))
        (dolist (odd (list '(:permission 7) '(:permission "x" :patterns "y" :always 3 :metadata [])
                           '(:permission "bash" :input "text") '(:questions "x")
                           '(:questions [7 (:question 3) (:question "?" :options [1 (:label 2)])])
                           '(:permission "%s \\[undo]" :patterns ["%n`x'" 4 :null])))
          (let ((request (apply #'todo-write-opencode-tests--ask plugin (cl-incf number)
                                :hook_event_name event odd)))
            (should (stringp (plist-get request :title)))
            (todo-write-request-detail request)
            (todo-write-withdraw (plist-get request :thread) (plist-get request :id))
            (should-not (plist-get (todo-write-socket-test-read plugin) :ok))))))))

(ert-deftest todo-write-opencode-each-chosen-answer-is-passed-back-by-itself ()
  (todo-write-opencode-tests--with plugin
    (let ((request (todo-write-opencode-tests--ask
                    plugin 1 :hook_event_name "question.asked"
                    :questions [(:question "Which?" :header "Can" :options [(:label "Red")])
                                (:question "Tools?" :multiple t
                                 :options [(:label "Rake") (:label "Hoe")])])))
      (should (equal '(question "Which?") (list (plist-get request :kind) (plist-get request :title))))
      (should (equal '(nil t) (mapcar (lambda (question) (plist-get question :multiple))
                                      (plist-get request :questions))))
      ;; opencode takes no message with that.
      (should-not (plist-get (car (plist-get request :options)) :text))
      (should (equal '(:Tools? ["Rake" "Hoe"] :Which? ["Green"])
                     (plist-get (todo-write-opencode-tests--answer
                                 plugin request '(("Which?" . "Green") ("Tools?" "Rake" "Hoe")))
                                :answers))))))

;;; Sessions and lists

(ert-deftest todo-write-opencode-a-plugin-reports-several-sessions ()
  (todo-write-opencode-tests--with plugin
    (cl-flet ((report (session activity &rest fields)
                (todo-write-socket-test-send
                 plugin (append (list :type "activity" :session session :activity activity) fields)))
              (is (session activity)
                (todo-write-test-wait
                 (lambda ()
                   (and (member (concat "mcp:opencode:" session) (todo-write-threads-loaded))
                        (equal activity (todo-write-activity (concat "mcp:opencode:" session))))))))
      (report "ses_1" "working" :title "The garden")
      (is "ses_1" '(working))
      (should (equal "The garden" (plist-get (todo-write-summary "mcp:opencode:ses_1") :title)))
      (report "ses_2" "working" :reason "attempt 2: busy")
      (is "ses_2" '(working . "attempt 2: busy"))
      (is "ses_1" '(working))
      (report "ses_2" "failed" :reason "No credit")
      (is "ses_2" '(failed . "No credit"))
      (report "ses_1" "idle")
      (is "ses_1" nil)
      ;; One that does nothing is no news.
      (report "ses_3" "idle")
      (report "ses_1" "working")
      (is "ses_1" '(working))
      (should-not (member "mcp:opencode:ses_3" (todo-write-threads-loaded)))
      (todo-write-socket-test-send plugin '(:type "bye"))
      (is "ses_1" nil)
      (should (eq 'session-ended (plist-get (todo-write-summary "mcp:opencode:ses_1") :ending))))))

(ert-deftest todo-write-opencode-edits-are-told-by-the-plugin-not-by-its-answer ()
  (todo-write-opencode-tests--with plugin
    (should (car (todo-write-opencode-tests--list plugin "ses_1" '("Rake" "in_progress"))))
    (todo-write-edit "mcp:opencode:ses_1" 'add "Weed")
    (let ((told (todo-write-socket-test-read plugin)))
      (should (equal '("tell" "ses_1") (list (plist-get told :type) (plist-get told :session)))))
    (should-not (string-search "Weed" (cdr (todo-write-opencode-tests--list
                                            plugin "ses_1" '("Rake" "completed")))))
    (should (equal '("Rake" "Weed") (mapcar (lambda (item) (plist-get item :content))
                                            (todo-write-items "mcp:opencode:ses_1"))))
    (let ((ask (lambda ()
                 (todo-write-socket-test-send
                  plugin '(:type "call" :call 7 :role "note" :session "ses_1"
                           :arguments (:event "Tell")))
                 (let (answer)
                   ;; It may ring again meanwhile.
                   (while (not (equal "answer" (plist-get answer :type)))
                     (setq answer (todo-write-socket-test-read plugin)))
                   (plist-get answer :text)))))
      (should (string-search "Weed" (funcall ask)))
      (should (equal "" (funcall ask)))
      (todo-write-tell "mcp:opencode:ses_1" "Mind the bees")
      (should (equal "The user says: Mind the bees" (funcall ask))))))

(provide 'todo-write-opencode-tests)
;;; todo-write-opencode-tests.el ends here
