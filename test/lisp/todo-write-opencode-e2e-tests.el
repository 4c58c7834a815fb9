;;; todo-write-opencode-e2e-tests.el --- The plugin for opencode, without opencode  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The plugin runs in Node, called as opencode calls it, with the socket of this Emacs or
;; one that misbehaves.  opencode itself is in test/hosts/opencode.sh.

;;; Code:

(require 'todo-write-mcp-helper)
(require 'todo-write-socket-helper)

(defun todo-write-opencode-e2e--plugin (socket)
  "Write the plugin for SOCKET to a new file, and return its name."
  (let ((file (make-temp-file "plugin" nil ".mjs")))
    (with-temp-file file
      (insert-file-contents (todo-write-mcp-helper-file "agents/plugin/opencode/todo-write.js"))
      (while (re-search-forward "@\\(SOCKET\\|VERSION\\)@" nil t)
        (replace-match (if (equal "SOCKET" (match-string 1)) socket todo-write-version) t t)))
    file))

(defun todo-write-opencode-e2e--start (socket)
  "Run the plugin for SOCKET in Node; return the process."
  (unless (executable-find "node")
    (ert-skip "node is not there; see bin/setup test"))
  (let ((host (make-process
               :name "opencode-host" :buffer (generate-new-buffer " *opencode-host*" t)
               :noquery t :connection-type 'pipe :coding 'utf-8 :sentinel #'ignore
               :command (list (executable-find "node")
                              (todo-write-mcp-helper-file "test/hosts/opencode-host.mjs")
                              (todo-write-opencode-e2e--plugin socket)))))
    (todo-write-opencode-e2e--said host :exports)
    host))

(defun todo-write-opencode-e2e--lines (host)
  "Return what HOST has said, a list of plists."
  (with-current-buffer (process-buffer host)
    (mapcar (lambda (line) (json-parse-string line :object-type 'plist :null-object nil
                                              :false-object nil))
            (seq-filter (lambda (line) (string-suffix-p "}" line))
                        (split-string (buffer-string) "\n" t)))))

(defun todo-write-opencode-e2e--said (host key &optional value)
  "Wait until HOST says a line with KEY, and VALUE if that is non-nil; return it."
  (let (said)
    (todo-write-test-wait
     (lambda ()
       (setq said (seq-find (lambda (line) (and (plist-member line key)
                                                (or (null value)
                                                    (equal value (plist-get line key)))))
                            (todo-write-opencode-e2e--lines host)))))
    said))

(defun todo-write-opencode-e2e--send (host &rest line)
  "Send LINE, a plist, to HOST."
  (process-send-string host (concat (json-serialize line :false-object :false) "\n")))

(defun todo-write-opencode-e2e--event (host type &rest properties)
  "Let opencode in HOST tell the event TYPE with PROPERTIES."
  (todo-write-opencode-e2e--send
   host :hook "event" :arguments `[(:event (:type ,type :properties ,properties))]))

(defun todo-write-opencode-e2e--asks (host id)
  "Let opencode in HOST ask for the permission ID; return the request."
  (todo-write-opencode-e2e--event host "permission.asked" :id id :sessionID "ses_1"
                                  :permission "bash" :patterns ["ls"] :always ["ls *"]
                                  :metadata '(:none 1) :tool '(:callID "call_1"))
  (todo-write-test-wait #'todo-write-requests)
  (car (last (todo-write-requests))))

(defun todo-write-opencode-e2e--ends (host)
  "Check that HOST ends by itself after its input, and that nothing was thrown."
  (process-send-eof host)
  (todo-write-test-wait (lambda () (not (process-live-p host))))
  (should (eql 0 (process-exit-status host)))
  (should-not (seq-filter (lambda (line) (plist-member line :escaped))
                          (todo-write-opencode-e2e--lines host))))

(defmacro todo-write-opencode-e2e--with (host &rest body)
  "Evaluate BODY with HOST bound to a plugin that is connected to this Emacs."
  (declare (indent 1) (debug t))
  `(todo-write-with-socket
     (let ((,host (todo-write-opencode-e2e--start todo-write-socket)))
       (unwind-protect
           (progn (todo-write-test-wait #'todo-write-socket-test-live)
                  ,@body
                  (todo-write-opencode-e2e--ends ,host))
         (delete-process ,host)))))

;;; Answers

(ert-deftest todo-write-opencode-e2e-each-answer-is-what-its-label-says ()
  (todo-write-opencode-e2e--with host
    (pcase-dolist (`(,id ,kind ,text ,body)
                   '(("per_1" allow nil (:reply "once")) ("per_2" always nil (:reply "always"))
                     ("per_3" deny nil (:reply "reject"))
                     ("per_4" deny "Use make" (:reply "reject" :message "Use make"))))
      (let* ((request (todo-write-opencode-e2e--asks host id))
             (option (seq-find (lambda (option) (eq kind (plist-get option :kind)))
                               (plist-get request :options))))
        (should (todo-write-answer-request (plist-get request :thread) (plist-get request :id)
                                           (plist-get option :value) text))
        (todo-write-test-wait
         (lambda ()
           (seq-find (lambda (line)
                       (equal (plist-get line :given)
                              (list :url (format "/permission/%s/reply" id) :body body
                                    :headers '(:content-type "application/json"))))
                     (todo-write-opencode-e2e--lines host))))
        (todo-write-opencode-e2e--event host "permission.replied" :sessionID "ses_1"
                                        :requestID id)))))

(ert-deftest todo-write-opencode-e2e-a-withdrawn-request-answers-nothing ()
  (todo-write-opencode-e2e--with host
    (let ((request (todo-write-opencode-e2e--asks host "per_1")))
      (todo-write-withdraw (plist-get request :thread) (plist-get request :id))
      (todo-write-opencode-e2e--event host "session.status" :sessionID "ses_1"
                                      :status '(:type "busy"))
      (todo-write-opencode-e2e--said host :hook "event"))
    (should-not (seq-find (lambda (line) (equal "post" (plist-get line :asked)))
                          (todo-write-opencode-e2e--lines host)))))

(ert-deftest todo-write-opencode-e2e-a-question-that-waits-keeps-what-it-is-about ()
  (todo-write-opencode-e2e--with host
    (cl-flet ((before (id) (todo-write-opencode-e2e--send
                            host :hook "tool.execute.before"
                            :arguments (vector (list :tool "bash" :sessionID "ses_1" :callID id)
                                               (list :args (list :command (concat "run " id)))))))
      (dotimes (n 9)
        (before (format "call_%d" n))
        (todo-write-opencode-e2e--event host "permission.asked" :id (format "per_%d" n)
                                        :sessionID "ses_1" :permission "bash" :patterns ["ls"]
                                        :tool (list :callID (format "call_%d" n))))
      (todo-write-test-wait (lambda () (= 8 (length (todo-write-requests)))))
      ;; More than the plugin keeps.
      (dotimes (n 70) (before (format "other_%d" n)))
      (before "last")
      (todo-write-test-wait
       (lambda () (<= 80 (seq-count (lambda (line)
                                      (equal "tool.execute.before" (plist-get line :hook)))
                                    (todo-write-opencode-e2e--lines host))))))
    (todo-write-opencode-e2e--event host "permission.replied" :sessionID "ses_1"
                                    :requestID "per_0" :reply "once")
    (todo-write-test-wait
     (lambda () (member "bash: run call_8" (mapcar (lambda (request) (plist-get request :title))
                                                   (todo-write-requests)))))))

(ert-deftest todo-write-opencode-e2e-a-subagent-asks-in-the-plan-of-its-session ()
  (todo-write-opencode-e2e--with host
    (todo-write-opencode-e2e--event host "session.created" :sessionID "ses_2"
                                    :info '(:id "ses_2" :parentID "ses_1" :title "Count books"))
    (todo-write-opencode-e2e--event host "permission.asked" :id "per_1" :sessionID "ses_2"
                                    :permission "bash" :patterns ["ls"])
    (todo-write-test-wait #'todo-write-requests)
    (let ((request (car (todo-write-requests))))
      (should (equal '("mcp:opencode:ses_1" "subagent Count books: bash: ls")
                     (list (plist-get request :thread) (plist-get request :title))))
      (should-not (string-search "agent_" (todo-write-request-detail request)))
      (todo-write-answer-request (plist-get request :thread) (plist-get request :id)
                                 '(:behavior "allow")))
    (todo-write-test-wait
     (lambda ()
       (seq-find (lambda (line) (equal "/permission/per_1/reply"
                                       (plist-get (plist-get line :given) :url)))
                 (todo-write-opencode-e2e--lines host))))))

(ert-deftest todo-write-opencode-e2e-another-version-of-opencode-is-not-disturbed ()
  (todo-write-opencode-e2e--with host
    (todo-write-opencode-e2e--send host :client :false :answer :null)
    (dolist (properties (list nil '(:sessionID 7) '(:sessionID "ses_1") '(:id 3 :sessionID "ses_1")
                              '(:id "x" :sessionID "ses_1" :questions 7 :todos "no" :status 3
                                :error 7 :requestID [] :tool "x")
                              '(:info (:id "ses_2" :parentID "ses_2" :title 3))))
      (dolist (type '("permission.asked" "permission.replied" "question.asked" "todo.updated"
                      "session.status" "session.error" "session.updated" "session.deleted" "other"))
        (apply #'todo-write-opencode-e2e--event host type properties)))
    (todo-write-opencode-e2e--send host :hook "chat.message" :arguments [(:sessionID "ses_1") (:message 3)])
    (todo-write-opencode-e2e--send host :hook "tool.execute.before"
                                   :arguments [(:tool "x" :callID "c") (:args 3)])
    ;; What it cannot answer stays for the terminal.
    (dolist (request (todo-write-requests))
      (when (plist-get request :answer)
        (ignore-errors
          (todo-write-answer-request (plist-get request :thread) (plist-get request :id)
                                     '(:behavior "deny")))))
    (dolist (request (todo-write-requests))
      (todo-write-withdraw (plist-get request :thread) (plist-get request :id)))
    (should-not (seq-find (lambda (line) (equal "post" (plist-get line :asked)))
                          (todo-write-opencode-e2e--lines host)))))

;;; What is not lost

(defun todo-write-opencode-e2e--prompts (host)
  "Return the texts that the plugin in HOST passed to opencode, oldest first."
  (cl-loop for line in (todo-write-opencode-e2e--lines host)
           when (equal "prompt" (plist-get line :asked))
           collect (plist-get (aref (plist-get (plist-get (plist-get line :given) :body) :parts) 0)
                              :text)))

(ert-deftest todo-write-opencode-e2e-what-opencode-does-not-take-is-told-again ()
  (todo-write-opencode-e2e--with host
    (todo-write-opencode-e2e--send
     host :hook "chat.message"
     :arguments [(:sessionID "ses_1")
                 (:message (:agent "build" :model (:providerID "p" :modelID "m")))])
    (todo-write-opencode-e2e--said host :hook "chat.message")
    (todo-write-opencode-e2e--event host "todo.updated" :sessionID "ses_1"
                                    :todos [(:content "Rake" :status "pending" :priority "low")])
    (todo-write-test-wait (lambda () (length= (todo-write-items "mcp:opencode:ses_1") 1)))
    (cl-flet ((prompt-with (text)
                (todo-write-test-wait
                 (lambda ()
                   (seq-find (lambda (prompt) (string-search text prompt))
                             (todo-write-opencode-e2e--prompts host))))))
      (pcase-dolist (`(,answer ,text) '(((:error (:name "Busy")) "One") (:null "Two")))
        (todo-write-opencode-e2e--send host :answer answer)
        (todo-write-tell "mcp:opencode:ses_1" text)
        (prompt-with text))
      (todo-write-opencode-e2e--send host :answer '(:data t))
      (todo-write-tell "mcp:opencode:ses_1" "Three")
      (should (string-match-p "One\\(?:.\\|\n\\)*Two\\(?:.\\|\n\\)*Three" (prompt-with "Three")))
      (todo-write-tell "mcp:opencode:ses_1" "Four")
      (should-not (string-search "Three" (prompt-with "Four"))))))

(ert-deftest todo-write-opencode-e2e-the-ninth-question-is-asked-when-another-has-ended ()
  (todo-write-opencode-e2e--with host
    (dotimes (n 11)
      (todo-write-opencode-e2e--event host "permission.asked" :id (format "per_%d" n)
                                      :sessionID (if (< n 10) "ses_1" "ses_2")
                                      :permission "bash" :patterns (vector (format "touch %d" n))))
    (cl-flet ((shown ()
                (mapcar (lambda (request)
                          (string-to-number (string-remove-prefix
                                             "bash: touch " (plist-get request :title))))
                        (todo-write-requests)))
              (replied (n)
                (todo-write-opencode-e2e--event host "permission.replied" :sessionID "ses_1"
                                                :requestID (format "per_%d" n) :reply "once")))
      (todo-write-test-wait (lambda () (length= (todo-write-requests) 8)))
      (replied 3)
      (todo-write-test-wait (lambda () (equal '(0 1 2 4 5 6 7 8) (shown))))
      ;; One that is withdrawn here has no answer, and makes room as well.
      (let ((request (car (todo-write-requests))))
        (todo-write-withdraw (plist-get request :thread) (plist-get request :id)))
      (todo-write-test-wait (lambda () (equal '(1 2 4 5 6 7 8 9) (shown))))
      ;; The end of a session ends its questions.
      (todo-write-opencode-e2e--event host "session.deleted" :info '(:id "ses_1"))
      (todo-write-test-wait (lambda () (equal '(10) (shown))))
      (should (equal "mcp:opencode:ses_2" (plist-get (car (todo-write-requests)) :thread)))
      (todo-write-opencode-e2e--event host "session.deleted" :info '(:id "ses_2"))
      (todo-write-test-wait (lambda () (null (todo-write-requests)))))))

(ert-deftest todo-write-opencode-e2e-nothing-is-lost-while-emacs-is-busy ()
  (let* ((socket (todo-write-socket-test-file))
         (text "")
         (server (make-network-process
                  :name "test-server" :server t :family 'local :service socket :noquery t
                  :sentinel #'ignore
                  :filter (lambda (client piece)
                            (setq text (concat text piece))
                            (when (string-search "\"hello\"" piece)
                              (process-send-string
                               client "{\"type\":\"welcome\",\"protocol\":2}\n")))))
         host)
    (unwind-protect
        (progn
          (set-file-modes socket #o700)
          (setq host (todo-write-opencode-e2e--start socket))
          (todo-write-test-wait (lambda () (string-search "hello" text)))
          (todo-write-opencode-e2e--event host "todo.updated" :sessionID "ses_1"
                                          :todos [(:content "Rake" :status "pending")])
          (todo-write-opencode-e2e--send
           host :hook "chat.message"
           :arguments [(:sessionID "ses_1")
                       (:message (:agent "build" :model (:providerID "p" :modelID "m")))])
          (todo-write-test-wait (lambda () (and (string-search "Rake" text)
                                                (string-search "\"Tell\"" text))))
          ;; Emacs drops a call that has an end when that is over, and the plugin its answer.
          (should-not (string-search "\"until\"" text))
          (todo-write-opencode-e2e--ends host))
      (delete-process server))))

;;; The socket

(ert-deftest todo-write-opencode-e2e-without-an-emacs-nothing-happens ()
  (let* ((socket (todo-write-socket-test-file))
         (host (todo-write-opencode-e2e--start socket)))
    (todo-write-opencode-e2e--event host "permission.asked" :id "per_1" :sessionID "ses_1"
                                    :permission "bash")
    (todo-write-opencode-e2e--send host :hook "tool.execute.before"
                                   :arguments [(:tool "todo-write_todo_write" :sessionID "ses_1"
                                                :callID "c")
                                               (:args (:x 1))])
    (let ((said (todo-write-opencode-e2e--said host :hook "tool.execute.before")))
      (should (equal '(:args (:x 1)) (aref (plist-get said :given) 1))))
    (todo-write-opencode-e2e--ends host)))

(ert-deftest todo-write-opencode-e2e-the-plugin-uses-no-socket-that-others-can-use ()
  (dolist (case '(folder socket link))
    (let* ((socket (todo-write-socket-test-file))
           (used (if (eq case 'link) (expand-file-name "socket" (make-temp-file "link" t)) socket))
           (connected 0)
           (server (make-network-process :name "test-server" :server t :family 'local
                                         :service socket :noquery t
                                         :log (lambda (&rest _) (cl-incf connected))))
           host)
      (unwind-protect
          (progn
            (set-file-modes socket (if (eq case 'socket) #o777 #o700))
            (when (eq case 'folder) (set-file-modes (file-name-directory socket) #o755))
            (when (eq case 'link) (make-symbolic-link socket used))
            (setq host (todo-write-opencode-e2e--start used))
            (todo-write-opencode-e2e--event host "session.status" :sessionID "ses_1"
                                            :status '(:type "busy"))
            (todo-write-opencode-e2e--said host :hook "event")
            (todo-write-opencode-e2e--ends host)
            ;; A connection after that of opencode would have come before this one.
            (delete-process (make-network-process :name "test-client" :family 'local
                                                  :service socket :noquery t))
            (todo-write-test-wait (lambda () (< 0 connected)))
            (should (= 1 connected)))
        (delete-process server)))))

(ert-deftest todo-write-opencode-e2e-whatever-listens-cannot-disturb-opencode ()
  (dolist (sent (list "" "no JSON\n" "7\n" "null\n" "[]\n"
                      "{\"type\":\"welcome\",\"protocol\":9}\n"
                      "{\"type\":\"refused\",\"text\":7}\n"
                      "{\"type\":\"welcome\",\"protocol\":2}\n{\"type\":\"tell\",\"session\":{}}\n"
                      (concat "{\"type\":\"welcome\",\"protocol\":2}\n"
                              "{\"type\":\"answer\",\"call\":1,\"ok\":true,\"decision\":7}\n"
                              "{\"type\":\"answer\",\"call\":{},\"ok\":true}\n"
                              "{\"type\":\"tell\",\"session\":\"ses_1\"}\n")
                      ;; No more: a batch Emacs ends if it writes to what has closed.
                      (make-string (1+ (ash 1 20)) ?x)))
    (let* ((socket (todo-write-socket-test-file))
           (server (make-network-process
                    :name "test-server" :server t :family 'local :service socket :noquery t
                    :sentinel #'ignore
                    :log (lambda (_ client _)
                           (ignore-errors (process-send-string client sent)))))
           host)
      (unwind-protect
          (progn
            (set-file-modes socket #o700)
            (setq host (todo-write-opencode-e2e--start socket))
            (todo-write-opencode-e2e--event host "permission.asked" :id "per_1" :sessionID "ses_1"
                                            :permission "bash")
            (todo-write-opencode-e2e--send host :hook "tool.execute.before"
                                           :arguments [(:tool "todo-write_todo_write"
                                                        :sessionID "ses_1" :callID "c")
                                                       (:args (:x 1))])
            (should (todo-write-opencode-e2e--said host :hook "tool.execute.before"))
            (todo-write-opencode-e2e--ends host)
            (should-not (seq-find (lambda (line) (equal "post" (plist-get line :asked)))
                                  (todo-write-opencode-e2e--lines host))))
        (delete-process server)))))

(ert-deftest todo-write-opencode-e2e-emacs-is-back ()
  (todo-write-opencode-e2e--with host
    (todo-write-opencode-e2e--asks host "per_1")
    (todo-write-agents-mode -1)
    (todo-write-test-wait (lambda () (null (todo-write-requests))))
    (todo-write-agents-mode)
    (todo-write-test-wait #'todo-write-requests)
    (should (equal "mcp:opencode:ses_1" (plist-get (car (todo-write-requests)) :thread)))
    (dolist (request (todo-write-requests))
      (todo-write-withdraw (plist-get request :thread) (plist-get request :id)))))

(provide 'todo-write-opencode-e2e-tests)
;;; todo-write-opencode-e2e-tests.el ends here
