;;; todo-write-acp-tests.el --- Plans of ACP agents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'ert)
(require 'todo-write-agent-shell)
(require 'todo-write-follow)
(require 'todo-write-test-helper)

(defvar agent-shell-permission-responder-function)

(defconst todo-write-acp-tests-entries
  "[{\"content\": \"Read\", \"priority\": \"high\", \"status\": \"completed\"},
    {\"content\": \"Write\", \"priority\": \"medium\", \"status\": \"in_progress\"},
    {\"content\": \"Send\", \"priority\": \"low\", \"status\": \"pending\"}]"
  "Entries of a plan as JSON.")

(defun todo-write-acp-tests--write (thread entries)
  "Write a plan of ENTRIES, JSON text, to THREAD; return the outcome or nil."
  (cdr (todo-write-acp--write
        thread (json-parse-string
                (format "{\"sessionUpdate\": \"plan\", \"entries\": %s}" entries)
                ;; As acp.el does it.
                :object-type 'alist :null-object nil :false-object nil))))

(defun todo-write-acp-tests--rows (thread)
  "Return the list of THREAD with priorities."
  (mapcar (lambda (item)
            (mapcar (lambda (key) (plist-get item key))
                    '(:content :status :activeForm :priority)))
          (todo-write-items thread)))

(ert-deftest todo-write-acp-connects-without-the-view ()
  (let ((script
         '(progn
            (require 'todo-write-acp)
            (setq todo-write-directory nil)
            (dolist (name '(acp-subscribe-to-notifications acp-subscribe-to-requests
                            acp-send-request acp-send-response))
              (fset name #'ignore))
            (todo-write-acp-connect (list 'client) nil "s")
            (princ (list (featurep 'todo-write-view) todo-write-view-thread)))))
    (with-temp-buffer
      (call-process (expand-file-name invocation-name invocation-directory) nil t nil
                    "-Q" "--batch" "-L" (file-name-directory (locate-library "todo-write"))
                    "--eval" (prin1-to-string script))
      (should (string-suffix-p "(nil acp:s)" (buffer-string))))))

(ert-deftest todo-write-acp-reads-a-plan ()
  (todo-write-with-store
    (let ((outcome (todo-write-acp-tests--write "acp" todo-write-acp-tests-entries)))
      (should (plist-get outcome :ok))
      (should-not (plist-get outcome :notices))
      (should (equal (todo-write-acp-tests--rows "acp")
                     '(("Read" "completed" "Read" "high")
                       ("Write" "in_progress" "Write" "medium")
                       ("Send" "pending" "Send" "low")))))))

(ert-deftest todo-write-acp-ignores-an-empty-plan-of-a-host-that-wrote-none ()
  (todo-write-with-store
    (todo-write-test-write "acp-empty" "Mine")
    (should-not (todo-write-acp-tests--write "acp-empty" "[]"))
    (should (equal (todo-write-test-contents "acp-empty") '("Mine")))
    (todo-write-acp-tests--write "acp-empty" "[{\"content\": \"Theirs\", \"status\": \"pending\"}]")
    (should (plist-get (todo-write-acp-tests--write "acp-empty" "[]") :ok))
    (should-not (todo-write-test-contents "acp-empty"))))

(ert-deftest todo-write-acp-ignores-updates-without-entries ()
  (todo-write-with-store
    (dolist (update '(((sessionUpdate . "agent_message_chunk")
                       (content . ((type . "text") (text . "plan"))))
                      ((sessionUpdate . "tool_call") (entries . []))
                      ((sessionUpdate . "plan_update")
                       (plan . ((type . "markdown") (planId . "p") (content . "- One"))))
                      ((sessionUpdate . "_mine") (plan . "plan"))))
      (should-not (todo-write-acp--write "acp-other" update)))
    (should (eq (todo-write-state "acp-other") 'empty))))

(ert-deftest todo-write-acp-refuses-bad-entries-and-leaves-the-list ()
  (todo-write-with-store
    (todo-write-acp-tests--write "acp-bad" todo-write-acp-tests-entries)
    (pcase-dolist (`(,entries ,path)
                   '(("[{\"content\": \"A\", \"status\": \"_blocked\"}]" "todos[0].status")
                     ("[{\"status\": \"pending\"}]" "todos[0].content")
                     ("[3]" "todos[0]")
                     ("\"A, B\"" "todos")
                     ("null" "todos")))
      (let ((outcome (todo-write-acp-tests--write "acp-bad" entries)))
        (ert-info (entries)
          (should outcome)
          (should-not (plist-get outcome :ok))
          (should (equal (plist-get (car (plist-get outcome :errors)) :path) path)))))
    (should (equal (todo-write-test-contents "acp-bad") '("Read" "Write" "Send")))))

;;; Texts

(defun todo-write-acp-tests--send (thread &rest entries)
  "Send a plan of ENTRIES, each (CONTENT STATUS), to THREAD; return its rows."
  (todo-write-acp--write
   thread (list :sessionUpdate "plan"
                :entries (vconcat (mapcar (pcase-lambda (`(,content ,status))
                                            (list :content content :status status))
                                          entries))))
  (todo-write-test-rows thread))

(ert-deftest todo-write-acp-uses-the-text-of-a-known-task-in-progress-as-its-active-form ()
  (todo-write-with-store
    (todo-write-acp-tests--send "t" '("Write the test" "pending") '("Read the code" "pending")
                                '("Send it" "pending"))
    ;; Recognized by the text, and by the place.
    (should (equal (todo-write-acp-tests--send
                    "t" '("Writing the test" "in_progress") '("Read the code" "pending")
                    '("Send it" "pending"))
                   '(("Write the test" "in_progress" "Writing the test")
                     ("Read the code" "pending" "Read the code")
                     ("Send it" "pending" "Send it"))))
    (should (equal (todo-write-acp-tests--send
                    "t" '("Write the test" "completed") '("Looking around" "in_progress")
                    '("Send it" "pending"))
                   '(("Write the test" "completed" "Writing the test")
                     ("Read the code" "in_progress" "Looking around")
                     ("Send it" "pending" "Send it"))))))

(ert-deftest todo-write-acp-uses-the-text-of-a-new-task-in-progress-as-its-content ()
  (todo-write-with-store
    (todo-write-acp-tests--send "t" '("Write the test" "completed") '("Send it" "pending"))
    (should (equal (todo-write-acp-tests--send
                    "t" '("Paint the fence" "in_progress") '("Send it" "pending"))
                   '(("Paint the fence" "in_progress" "Paint the fence")
                     ("Send it" "pending" "Send it"))))
    (should (equal (todo-write-acp-tests--send
                    "t" '("Clearing" "in_progress") '("Boil water" "pending"))
                   '(("Clearing" "in_progress" "Clearing")
                     ("Boil water" "pending" "Boil water"))))))

(ert-deftest todo-write-acp-uses-the-first-text-of-a-task-in-progress-as-its-active-form ()
  (todo-write-with-store
    (todo-write-acp-tests--send "t" '("Clearing" "in_progress") '("Water the beds" "pending"))
    (should (equal (todo-write-acp-tests--send
                    "t" '("Rake the leaves" "completed") '("Giving water" "in_progress"))
                   '(("Rake the leaves" "completed" "Clearing")
                     ("Water the beds" "in_progress" "Giving water"))))
    (should (equal (todo-write-acp-tests--send
                    "t" '("Rake the leaves" "completed") '("Water the beds" "completed"))
                   '(("Rake the leaves" "completed" "Clearing")
                     ("Water the beds" "completed" "Giving water"))))
    (should (= 2 (plist-get (todo-write-summary "t") :total)))))

;;; Recorded sessions

(defun todo-write-acp-tests--record (file name)
  "Return the record NAME in FILE of test/fixtures/hosts."
  (with-temp-buffer
    (insert-file-contents (expand-file-name (concat "test/fixtures/hosts/" file)
                                            (getenv "TODO_WRITE_ROOT")))
    (alist-get name (read (current-buffer)))))

(defvar todo-write-acp-tests--handlers nil "Functions that the client calls, by kind.")
(defvar todo-write-acp-tests--callbacks nil "Callbacks of requests, by id.")
(defvar todo-write-acp-tests--id nil "Id of the request that is sent next.")

(defun todo-write-acp-tests--subscribe (&rest args)
  "Keep the handler in ARGS, as acp.el does."
  (pcase-dolist (`(,kind ,key) '((notification :on-notification) (request :on-request)))
    (when (plist-get args key)
      (push (plist-get args key) (alist-get kind todo-write-acp-tests--handlers)))))

(defmacro todo-write-acp-tests--with-client (client &rest body)
  "Run BODY in a buffer of agent-shell with CLIENT bound to its client.
What acp.el would do is done by replaying a record."
  (declare (indent 1) (debug t))
  `(todo-write-with-store
     (let* ((todo-write-acp-tests--handlers nil)
            (todo-write-acp-tests--callbacks nil)
            (process (make-process :name "agent" :command '("cat") :noquery t))
            (agent-shell-mode-hook nil))
       (unwind-protect
           (with-temp-buffer
             (setq major-mode 'agent-shell-mode)
             (setq-local agent-shell--state nil)
             (cl-letf (((symbol-function 'acp-subscribe-to-notifications)
                        #'todo-write-acp-tests--subscribe)
                       ((symbol-function 'acp-subscribe-to-requests)
                        #'todo-write-acp-tests--subscribe)
                       ((symbol-function 'acp-send-response) #'ignore)
                       ((symbol-function 'acp-send-request)
                        (lambda (&rest args)
                          (push (list todo-write-acp-tests--id (plist-get args :on-success)
                                      (plist-get args :on-failure))
                                todo-write-acp-tests--callbacks)))
                       ((symbol-function 'shell-maker-busy) (lambda () t)))
               (let ((,client (list (cons :context-buffer (current-buffer))
                                    (cons :process process))))
                 (unwind-protect (progn ,@body)
                   (todo-write-agent-shell-mode -1)
                   (mapc #'todo-write-acp-disconnect (todo-write-acp-clients))))))
         (delete-process process)))))

(ert-deftest todo-write-agent-shell-drafts-a-message-and-queues-it-while-the-agent-works ()
  (todo-write-acp-tests--with-client client
    (require 'todo-write-tell)
    (todo-write-acp-connect client nil "s")
    ;; No result reaches the agent.
    (todo-write "acp:s" (todo-write-test-todos "One") nil t)
    (let (busy queued)
      (cl-letf (((symbol-function 'shell-maker-busy) (lambda () busy))
                ((symbol-function 'agent-shell-insert)
                 (lambda (&rest arguments)
                   (when busy (user-error "Busy, try later"))
                   (insert (plist-get arguments :text))))
                ((symbol-function 'agent-shell-queue-request) (lambda (text) (push text queued))))
        (should (string-match-p "is a draft in" (todo-write-tell "acp:s" "Why?" '(:path "/a" :line 2))))
        (should (equal "The user comments on /a:2:\nWhy?" (buffer-string)))
        (setq busy t)
        (should (string-match-p "is in the queue of" (todo-write-tell "acp:s" "And?" '(:path "/a"))))
        (should (equal '("The user comments on /a:\nAnd?") queued))
        (should (equal '(t t) (mapcar (lambda (comment) (plist-get comment :told))
                                      (todo-write-plan-comments "acp:s"))))
        (ert-info ("An agent-shell without a queue")
          (fmakunbound 'agent-shell-queue-request)
          (todo-write-tell "acp:s" "Now?" '(:path "/a"))
          (should (equal "The user comments on /a:\nNow?" (current-kill 0)))
          (should-not (plist-get (nth 2 (todo-write-plan-comments "acp:s")) :told)))))))

(ert-deftest todo-write-acp-names-the-agent-by-its-command ()
  (pcase-dolist (`(,name ,thread ,command . ,arguments)
                 '(("claude" "claude:s" "/usr/bin/claude-agent-acp")
                   ("claude" "claude:s" "npx" "-y" "@zed-industries/claude-code-acp@0.16.2")
                   ("codex" "codex:s" "env" "-i" "HOME=/home/me" "/opt/codex-acp")
                   ("gemini" "acp:s" "gemini" "--experimental-acp")
                   ("opencode" "acp:s" "opencode" "acp")
                   (nil "acp:s" nil)))
    (todo-write-acp-tests--with-client client
      (todo-write-acp-connect `((:command . ,command) (:command-params . ,arguments) ,@client)
                              nil "s")
      (should (equal thread todo-write-view-thread))
      (should (equal name (plist-get (todo-write-about thread) :agent))))))

(ert-deftest todo-write-acp-lets-the-host-handle-a-response-first ()
  (dolist (failed '(nil t))
    (todo-write-acp-tests--with-client client
      (todo-write-acp-connect client nil "s")
      (let* ((heard nil)
             (call (lambda (&rest _) (push (todo-write-activity "acp:s") heard) (error "Its own"))))
        (acp-send-request :client client :buffer (current-buffer)
                          :request '((:method . "session/prompt") (:params (sessionId . "s")))
                          :on-success call :on-failure call)
        (should-error
         (let ((callbacks (cdar todo-write-acp-tests--callbacks)))
           (if failed (funcall (nth 1 callbacks) '((message . "No")) nil)
             (funcall (nth 0 callbacks) '((stopReason . "end_turn"))))))
        (should (equal heard '((working))))
        (should (equal (todo-write-activity "acp:s") (and failed '(failed . "No"))))))))

(defun todo-write-acp-tests--replay (client event)
  "Replay EVENT of a record on CLIENT."
  (cl-flet ((tell (kind message)
              (dolist (handler (alist-get kind todo-write-acp-tests--handlers))
                (funcall handler message)))
            (callback (id which) (nth which (assoc id todo-write-acp-tests--callbacks))))
    (pcase event
      ('(hook) (run-hooks 'agent-shell-mode-hook))
      (`(send ,id ,method ,session)
       (let ((todo-write-acp-tests--id id))
         (acp-send-request :client client :buffer (current-buffer)
                           :request `((:method . ,method) (:params (sessionId . ,session)))
                           :on-success #'ignore :on-failure #'ignore)))
      (`(answer ,id)
       (acp-send-response :client client :response `((:request-id . ,id) (:result . nil))))
      (`(notification ,session ,update)
       (tell 'notification `((method . "session/update")
                             (params (sessionId . ,session) (update . ,update)))))
      (`(request ,id ,method ,session ,title)
       (tell 'request `((method . ,method) (id . ,id)
                        (params (sessionId . ,session) (toolCall (title . ,title))))))
      (`(response ,id ,reason)
       (funcall (callback id 1) `((stopReason . ,reason))))
      (`(failure ,id ,why)
       (funcall (callback id 2) `((message . ,why)) nil))
      ('(exit)
       (signal-process (alist-get :process client) 'KILL)
       (todo-write-test-wait
        (lambda () (eq 'failed (car (todo-write-activity todo-write-view-thread)))))))))

(defun todo-write-acp-tests--transitions (client record)
  "Replay RECORD on CLIENT; return its agent's activities, in order."
  (let (said)
    (todo-write-test-listening
        (lambda (_thread what _data)
          (when (eq what 'activity)
            (push (todo-write-activity (car (todo-write-acp-tests--threads))) said)))
      (dolist (event record)
        (todo-write-acp-tests--replay client event)))
    (nreverse said)))

(defun todo-write-acp-tests--threads ()
  "Return the keys of the threads of sessions."
  (seq-remove (lambda (key) (string-search "/" key))
              (todo-write-dyn--agent-keys)))

(ert-deftest todo-write-agent-shell-follows-the-turns-of-recorded-sessions ()
  (dolist (version '("0.48.1" "0.74.3"))
    (pcase-dolist (`(,name ,transitions ,reason)
                   '((allowed ((working) (waiting . "echo raked > leaves.txt")
                               (working) nil)
                              "end of turn")
                     (interrupted ((working) (waiting . "echo raked > leaves.txt")
                                   (working) nil)
                                  "cancelled")
                     (crashed ((working) (waiting . "echo raked > leaves.txt")
                               (failed . "agent exited (9)"))
                              "agent exited (9)")))
      (ert-info ((format "%s %s" version name))
        (todo-write-acp-tests--with-client client
          (todo-write-agent-shell-mode 1)
          (should (equal (todo-write-acp-tests--transitions
                          client (todo-write-acp-tests--record
                                  (format "agent-shell-%s.eld" version) name))
                         transitions))
          (let ((thread (car (todo-write-acp-tests--threads))))
            (should (equal thread todo-write-view-thread))
            (should (eq 'paused (todo-write-state thread)))
            (should (equal reason (plist-get (todo-write-summary thread) :reason)))
            (should (equal (car (todo-write-test-rows thread))
                           `("Rake the leaves"
                             ,(if (eq name 'allowed) "completed" "in_progress")
                             "Raking the leaves")))))))))

;;; Permission requests

(defun todo-write-acp-tests--ask (&rest call)
  "Let the agent of session s ask for a permission to run CALL, a tool call."
  (dolist (handler (alist-get 'request todo-write-acp-tests--handlers))
    (funcall handler
             `((method . "session/request_permission") (id . 7)
               (params (sessionId . "s")
                       (toolCall (title . "Run it") ,@call)
                       (options . [((kind . "allow_once") (name . "Yes") (optionId . "y"))
                                   ((kind . "allow_always") (name . "Always") (optionId . "a"))
                                   ((kind . "reject_once") (name . "No") (optionId . "n"))]))))))

(defmacro todo-write-acp-tests--asking (client call &rest body)
  "Run BODY while the agent of CLIENT asks to run CALL, a list."
  (declare (indent 2) (debug t))
  `(todo-write-acp-tests--with-client ,client
     (todo-write-acp-connect ,client nil "s")
     (apply #'todo-write-acp-tests--ask ,call)
     ,@body))

(ert-deftest todo-write-acp-comments-on-a-plan-become-the-next-prompt ()
  (let (queued)
    (cl-letf (((symbol-function 'agent-shell-queue-request) (lambda (text) (push text queued))))
      (todo-write-acp-tests--asking client '((rawInput (plan . "# Plan")))
        (let ((request (car (todo-write-requests "acp:s"))))
          (should (equal '(nil nil t) (mapcar (lambda (option) (plist-get option :text))
                                              (plist-get request :options))))
          (setq todo-write-agent-shell--responders
                (list (cons 7 (lambda (option) (push option queued)))))
          (todo-write-answer-request "acp:s" (plist-get request :id) "n" "> # Plan\nShorter")
          (should (equal '("> # Plan\nShorter" "n") queued)))))))

(ert-deftest todo-write-acp-shows-what-a-permission-is-about ()
  (pcase-dolist (`(,call ,kind ,format ,detail)
                 '((((rawInput (command . "npm test"))) permission shell "npm test")
                   (((rawInput (plan . "# Plan"))) plan markdown "# Plan")
                   (((rawInput (plan . "# Plan"))
                     (content . [((type . "diff") (path . "/a") (newText . "y\n"))]))
                    permission diff "--- /a\n+++ /a\n@@ -0,0 +1 @@\n+y\nplan: # Plan")
                   (((content . [((type . "diff") (path . "/a") (oldText . "1\nx\n3\n")
                                  (newText . "1\ny\n3\n"))]))
                    permission diff "--- /a\n+++ /a\n@@ -1,3 +1,3 @@\n 1\n-x\n+y\n 3")
                   (((content . [((type . "diff") (path . "/a\n+z\n") (newText . "y\n"))]))
                    permission diff "--- /a +z\n+++ /a +z\n@@ -0,0 +1 @@\n+y")
                   ;; Only what the diff shows is left out.
                   (((content . [((type . "diff") (path . "/a") (oldText . "x\n")
                                  (newText . "y\n"))])
                     (rawInput (file_path . "/a") (old_string . "x\n") (new_string . "y\n")
                               (replace_all . t) (more . "z")))
                    permission diff
                    "--- /a\n+++ /a\n@@ -1 +1 @@\n-x\n+y\nreplace_all: true\nmore: z")
                   (((rawInput (url . "http://x") (depth . 2))) permission text
                    "url: http://x\ndepth: 2")
                   ;; Nothing beside a command or a plan is hidden, and no text is a field.
                   (((rawInput (command . "make") (sandbox . :false) (cwd . "/a\nb")
                               (more (k . [1 :null]))))
                    permission shell
                    "make\n# sandbox: false\n# cwd: \"/a\\nb\"\n# more: {\"k\":[1,null]}")
                   (((rawInput (plan . "# Plan") (path . "/etc"))) plan markdown
                    "# Plan\npath: /etc")
                   (((rawInput (url . "x\ndepth: 2"))) permission text "url: x\n    depth: 2")
                   (((rawInput . "rm -r ~")) permission text "\"rm -r ~\"")
                   (((rawInput . ["rm" "~"])) permission text "[\"rm\",\"~\"]")
                   (((rawInput (command . "make") (description . "Build"))
                     (content . [((type . "content") (content (type . "text") (text . "Build")))
                                 ((type . "content")
                                  (content (type . "text") (text . "As root\ntwice")))]))
                    permission shell
                    "make\n# description: \"Build\"\n# text: \"As root\\ntwice\"")
                   (((content . [((type . "diff") (path . "/a") (newText . "y\n"))
                                 ((type . "content")
                                  (content (type . "text") (text . "all\n+z")))]))
                    permission diff "--- /a\n+++ /a\n@@ -0,0 +1 @@\n+y\ntext: all\n    +z")))
    (todo-write-acp-tests--asking client call
      (let ((request (car (todo-write-requests "acp:s"))))
        (should (equal (list kind format detail)
                       (list (plist-get request :kind) (plist-get request :format)
                             (todo-write-request-detail request))))
        (should (equal '(allow always deny)
                       (mapcar (lambda (option) (plist-get option :kind))
                               (plist-get request :options))))))))

(ert-deftest todo-write-acp-a-permission-is-shown-with-what-was-told-of-its-call-before ()
  ;; The protocol lets the agent leave out what has not changed.
  (todo-write-acp-tests--with-client client
    (todo-write-acp-connect client nil "s")
    (acp-send-request :client client
                      :request '((:method . "session/prompt") (:params (sessionId . "s"))))
    (dolist (handler (alist-get 'notification todo-write-acp-tests--handlers))
      (funcall handler '((method . "session/update")
                         (params (sessionId . "s")
                                 (update (sessionUpdate . "tool_call") (toolCallId . "c1")
                                         (status . "pending") (title . "Run")
                                         (rawInput (command . "rm -r /srv")))))))
    (todo-write-acp-tests--ask '(toolCallId . "c1"))
    (let ((request (car (todo-write-requests "acp:s"))))
      (should (equal '("Run it" shell "rm -r /srv")
                     (list (plist-get request :title) (plist-get request :format)
                           (todo-write-request-detail request)))))))

(ert-deftest todo-write-acp-a-call-of-too-many-parts-is-for-its-own-dialog ()
  (pcase-dolist (`(,count . ,answerable) '((200 . t) (201 . nil)))
    (dolist (call (list `((content . ,(make-vector count '((type . "diff") (path . "/a")
                                                           (oldText . "x\n") (newText . "y\n")))))
                        `((rawInput ,@(cl-loop for i below count
                                               collect (cons (intern (format "f%d" i)) i))))))
      (todo-write-acp-tests--asking client call
        (let ((request (car (todo-write-requests "acp:s"))))
          (should (eq answerable (and (plist-get request :answer) t)))
          (should (eq (not answerable)
                      (and (string-search "more than 200 fields" (todo-write-request-detail request))
                           t)))
          (when (and answerable (assq 'content call))
            (should (string-search "Too much to be compared" (todo-write-request-detail request)))
            (should (= count (cl-count ?y (todo-write-request-detail request))))))))))

(defun todo-write-acp-tests--answer (option)
  "Answer the only request by OPTION, as `todo-write-answer-request' does."
  (pcase (todo-write-requests "acp:s")
    (`(,request) (todo-write-answer-request "acp:s" (plist-get request :id) option))))

(ert-deftest todo-write-acp-answers-a-client-that-has-no-dialog-of-agent-shell ()
  (todo-write-acp-tests--asking client nil
    (setq major-mode 'fundamental-mode)
    (let (sent)
      (cl-letf (((symbol-function 'acp-make-session-request-permission-response)
                 (lambda (&rest args) args))
                ((symbol-function 'acp-send-response) (lambda (&rest args) (push args sent))))
        (should (todo-write-acp-tests--answer "n")))
      (should (equal sent `((:client ,client :response (:request-id 7 :option-id "n"))))))))

(ert-deftest todo-write-acp-withdraws-what-was-answered-there ()
  (todo-write-acp-tests--asking client nil
    (should (todo-write-requests "acp:s"))
    (acp-send-response :client client :response '((:request-id . 7)))
    (should-not (todo-write-requests "acp:s"))))

(ert-deftest todo-write-acp-does-not-ask-what-the-users-function-has-answered ()
  (todo-write-acp-tests--with-client client
    (todo-write-acp-connect client nil "s")
    (acp-send-response :client client :response '((:request-id . 7)))
    (todo-write-acp-tests--ask)
    (should-not (todo-write-requests "acp:s"))))

(ert-deftest todo-write-agent-shell-answers-by-the-responder-and-keeps-the-users-own ()
  (let* ((seen nil) (responded nil)
         (user (lambda (permission) (push permission seen) nil))
         (agent-shell-permission-responder-function user))
    (todo-write-acp-tests--with-client client
      (todo-write-agent-shell-mode 1)
      (todo-write-acp-connect client nil "s")
      (todo-write-acp-tests--ask)
      ;; Without the responder, only the dialog there can answer.
      (should-error (todo-write-acp-tests--answer "y") :type 'todo-write-error)
      (todo-write-acp-tests--ask)
      (should-not (funcall agent-shell-permission-responder-function
                           `((:tool-call (:permission-request-id . 7))
                             (:respond . ,(lambda (option) (push option responded))))))
      (should (= 1 (length seen)))
      (should (todo-write-acp-tests--answer "y"))
      (should (equal responded '("y")))
      ;; agent-shell sends the answer.
      (acp-send-response :client client :response '((:request-id . 7)))
      (should-not todo-write-agent-shell--responders)
      (todo-write-agent-shell-mode -1)
      (should (eq user agent-shell-permission-responder-function)))))

(ert-deftest todo-write-agent-shell-mode-restores-shells-when-turned-off ()
  (todo-write-acp-tests--with-client client
    (let ((record (todo-write-acp-tests--record "agent-shell-0.74.3.eld" 'allowed)))
      (todo-write-agent-shell-mode 1)
      (mapc (lambda (event) (todo-write-acp-tests--replay client event))
            (seq-take-while (lambda (event) (not (eq 'request (car event)))) record))
      (let ((thread todo-write-view-thread))
        (should (eq 'working (car (todo-write-activity thread))))
        (todo-write-agent-shell-mode -1)
        (should-not (local-variable-p 'todo-write-view-thread))
        (should-not (advice-function-member-p
                     'todo-write-acp (process-sentinel (alist-get :process client))))
        (should-not (todo-write-activity thread))
        (should (equal "disconnected" (plist-get (todo-write-summary thread) :reason)))
        (let ((revisions (length (todo-write-revisions thread))))
          (mapc (lambda (event) (todo-write-acp-tests--replay client event))
                (seq-drop-while (lambda (event) (not (eq 'request (car event)))) record))
          (should-not (todo-write-activity thread))
          (should (= revisions (length (todo-write-revisions thread)))))))))

(defmacro todo-write-acp-tests--with-record (name &rest body)
  "Replay the record NAME of an agent, and run BODY with its `thread'."
  (declare (indent 1) (debug t))
  `(todo-write-acp-tests--with-client client
     (todo-write-acp-connect client)
     (mapc (lambda (event) (todo-write-acp-tests--replay client event))
           (todo-write-acp-tests--record "acp-agents.eld" ,name))
     (let ((thread (car (todo-write-acp-tests--threads))))
       ,@body)))

(ert-deftest todo-write-acp-has-a-thread-for-the-list-of-claudes-subagent ()
  (todo-write-acp-tests--with-record 'claude-todo-write
    (let ((child (caar (todo-write-children thread))))
      (should (equal (todo-write-test-rows thread)
                     '(("Rake the leaves" "completed" "Clearing")
                       ("Water the beds" "in_progress" "Giving water"))))
      (should (equal (todo-write-test-contents child) '("Finding it" "Rake")))
      (should (equal "Look after the garden" (plist-get (todo-write-summary thread) :title)))
      (should (equal "Rake" (plist-get (todo-write-summary child) :title)))
      (should (equal (cdar (todo-write-children thread))
                     (todo-write-test-id thread "Rake the leaves")))
      (should (eq 'paused (todo-write-state child))))))

(ert-deftest todo-write-acp-has-one-thread-for-the-list-that-claude-shares ()
  (todo-write-acp-tests--with-record 'claude-tasks
    (should (equal (todo-write-test-contents thread)
                   '("Rake the leaves" "Water the beds" "Find the rake")))
    (should-not (todo-write-children thread))
    (should (= 5 (length (todo-write-revisions thread))))))

(ert-deftest todo-write-acp-reads-the-plans-of-codex-and-opencode ()
  (pcase-dolist (`(,name . ,rows)
                 '((codex ("Rake the leaves" "completed" "Rake the leaves")
                          ("Water the beds" "in_progress" "Water the beds"))
                   (opencode ("Rake the leaves" "completed" "Rake the leaves")
                             ("Water" "in_progress" "Water"))))
    (todo-write-acp-tests--with-record name
      (should (equal (todo-write-test-rows thread) rows))
      (should (= 2 (length (todo-write-revisions thread)))))))

;;; Turns

(ert-deftest todo-write-acp-records-prompts-and-what-came-of-them-without-a-plan ()
  (todo-write-acp-tests--with-client client
    (todo-write-acp-connect client)
    (cl-flet* ((run (id)
                (todo-write-acp-tests--replay
                 client `(notification "s" ((sessionUpdate . "tool_call") (toolCallId . ,id)
                                            (kind . "execute") (status . "completed")))))
              (ask (id &rest texts)
                (acp-send-request
                 :client client :buffer (current-buffer)
                 :request `((:method . "session/prompt")
                            (:params (sessionId . "s")
                                     (prompt . ,(vconcat
                                                 (mapcar (lambda (text)
                                                           `((type . "text") (text . ,text)))
                                                         texts)))))
                 :on-success #'ignore :on-failure #'ignore)
                (run id)))
      (run "replayed")
      (should-not (todo-write-turns "acp:s"))
      (ask "1" "Bake bread" "of rye")
      (funcall (car (cdar todo-write-acp-tests--callbacks)) '((stopReason . "end_turn")))
      (ask "2" "Go on")
      (should (equal (mapcar (lambda (turn)
                               (list (plist-get turn :prompt) (plist-get turn :ending)
                                     (plist-get (plist-get (plist-get turn :work) :commands) :run)))
                             (todo-write-turns "acp:s"))
                     '(("Bake bread\nof rye" end-of-turn 1) ("Go on" nil 1)))))))

;;; Transcripts

(ert-deftest todo-write-acp-shares-the-thread-of-a-transcript-that-is-followed ()
  (todo-write-acp-tests--with-client client
    (setcdr (last client) '((:command . "npx") (:command-params "claude-agent-acp")))
    (todo-write-acp-connect client)
    (let* ((session "5e55a000-0000-4000-8000-000000000001")
           (thread (concat "claude:" session))
           (plan (lambda (text)
                   (todo-write-acp-tests--replay
                    client `(notification ,session
                                          ((sessionUpdate . "plan")
                                           (entries . [((content . ,text)
                                                        (status . "in_progress"))])))))))
      (todo-write-acp-tests--replay client `(send 1 "session/prompt" ,session))
      (funcall plan "Bake")
      (should (equal (todo-write-test-contents thread) '("Bake")))
      (unwind-protect
          (let ((todo-write-follow-quiet nil) contents)
            (should (equal thread (todo-write-follow
                                   (expand-file-name "test/fixtures/transcripts/todo-write.jsonl"
                                                     (getenv "TODO_WRITE_ROOT")))))
            (setq contents (todo-write-test-contents thread))
            (should-not (member "Bake" contents))
            (funcall plan "Cool")
            (should (equal contents (todo-write-test-contents thread))))
        (todo-write-follow-stop))
      (should (equal '(working) (todo-write-activity thread)))
      (funcall plan "Eat")
      (should (equal '("Eat") (todo-write-test-contents thread))))))

(ert-deftest todo-write-acp-the-end-of-a-turn-forgets-no-call-of-another-session ()
  (todo-write-acp-tests--with-client client
    (todo-write-acp-connect client)
    (cl-flet ((update (kind &rest fields)
                (todo-write-acp-tests--replay
                 client `(notification "r" ((sessionUpdate . ,kind) ,@fields))))
              (plan (text)
                `(entries . [((content . ,text) (status . "in_progress"))])))
      (todo-write-acp-tests--replay client '(send 1 "session/prompt" "s"))
      (todo-write-acp-tests--replay client '(send 2 "session/prompt" "r"))
      (update "plan" (plan "Bake"))
      (update "tool_call" '(toolCallId . "c") '(kind . "execute")
              '(rawInput (command . "make")))
      (update "tool_call" '(toolCallId . "a") '(title . "Look around")
              '(_meta (claudeCode (toolName . "Task"))))
      (todo-write-acp-tests--replay client '(response 1 "end_turn"))
      (update "tool_call_update" '(toolCallId . "c") '(status . "completed"))
      (update "plan" (plan "Look") '(_meta (claudeCode (parentToolUseId . "a")))))
    (let ((call (seq-first (todo-write-observations "acp:r" :type "TOOL_CALL"))))
      (should (equal '(:command "make") (plist-get (plist-get call :content) :input))))
    (should (equal "Look around" (plist-get (todo-write-summary "acp:r/a") :title)))
    (todo-write-acp-tests--replay client '(response 2 "end_turn"))
    (should (= 0 (hash-table-count (todo-write-acp--link-work (todo-write-acp--link client)))))))

(ert-deftest todo-write-acp-warns-of-a-refused-plan ()
  (todo-write-acp-tests--with-client client
    (todo-write-acp-connect client)
    (should (string-search
             "100%d"
             (car (todo-write-test-warnings
                    (todo-write-acp-tests--replay
                     client '(notification "s" ((sessionUpdate . "plan")
                                                (entries . [((content . "A")
                                                             (status . "100%d"))]))))))))))

(ert-deftest todo-write-acp-fails-if-the-agent-cannot-be-started ()
  (todo-write-acp-tests--with-client client
    (todo-write-acp-connect client)
    (cl-letf (((symbol-function 'acp-send-request) (lambda (&rest _) (error "No such program"))))
      (advice-add 'acp-send-request :around #'todo-write-acp--send-request)
      (should-error (todo-write-acp-tests--replay client '(send 1 "session/prompt" "s"))))
    (should (equal (todo-write-activity "acp:s") '(failed . "No such program")))))

(ert-deftest todo-write-acp-counts-what-fails-and-lets-the-client-go-on ()
  (let ((todo-write-core-host-failures nil) (debug-on-error nil) (warning-minimum-log-level :error))
    (todo-write-acp-tests--with-client client
      (todo-write-acp-connect client nil "s")
      (cl-letf (((symbol-function 'todo-write-acp--update)
                 (lambda (&rest _) (error "The protocol changed")))
                ((symbol-function 'todo-write-acp--options)
                 (lambda (&rest _) (error "The protocol changed"))))
        (dolist (handler (alist-get 'notification todo-write-acp-tests--handlers))
          (funcall handler '((method . "session/update")
                             (params (sessionId . "s") (update (sessionUpdate . "plan"))))))
        (todo-write-acp-tests--ask))
      (should (equal '("ACP" 2 . error) (car todo-write-core-host-failures))))))

(provide 'todo-write-acp-tests)
;;; todo-write-acp-tests.el ends here
