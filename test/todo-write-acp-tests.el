;;; todo-write-acp-tests.el --- Plans of ACP agents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'ert)
(require 'json)
(require 'todo-write-acp)
(require 'todo-write-test-helper)

(defconst todo-write-acp-tests-entries
  "[{\"content\": \"Read\", \"priority\": \"high\", \"status\": \"completed\"},
    {\"content\": \"Write\", \"priority\": \"medium\", \"status\": \"in_progress\"},
    {\"content\": \"Send\", \"priority\": \"low\", \"status\": \"pending\"}]"
  "Entries of a plan as JSON.")

(defun todo-write-acp-tests--v1 (&optional entries)
  "Return an update of the first version with ENTRIES, as JSON."
  (format "{\"sessionUpdate\": \"plan\", \"entries\": %s}"
          (or entries todo-write-acp-tests-entries)))

(defun todo-write-acp-tests--v2 (&optional entries plan)
  "Return an update of the second version with ENTRIES of PLAN, as JSON."
  (format "{\"sessionUpdate\": \"plan_update\",
 \"plan\": {\"type\": \"items\", \"planId\": \"%s\", \"entries\": %s}}"
          (or plan "plan-1") (or entries todo-write-acp-tests-entries)))

(defun todo-write-acp-tests--notification (update)
  "Return the notification of UPDATE, JSON as it is."
  (format "{\"jsonrpc\": \"2.0\", \"method\": \"session/update\",
 \"params\": {\"sessionId\": \"s\", \"update\": %s}}" update))

(defconst todo-write-acp-tests-decoders
  (list
   ;; As acp.el does it.
   (cons 'acp.el (lambda (text)
                   (json-parse-string text :object-type 'alist
                                      :null-object nil :false-object nil)))
   (cons 'hash-table #'json-parse-string)
   (cons 'plist (lambda (text) (json-parse-string text :object-type 'plist)))
   (cons 'plist-of-lists (lambda (text)
                           (json-parse-string text :object-type 'plist
                                              :array-type 'list)))
   (cons 'alist-of-lists (lambda (text)
                           (json-parse-string text :object-type 'alist
                                              :array-type 'list)))
   (cons 'strings (lambda (text)
                    (let ((json-object-type 'alist) (json-key-type 'string)
                          (json-array-type 'vector))
                      (json-read-from-string text)))))
  "Ways to decode JSON, by name.")

(defun todo-write-acp-tests--decode (text)
  "Decode the JSON TEXT as acp.el does."
  (funcall (alist-get 'acp.el todo-write-acp-tests-decoders) text))

(defun todo-write-acp-tests--rows (thread)
  "Return the list of THREAD with priorities."
  (mapcar (lambda (item)
            (mapcar (lambda (key) (plist-get item key))
                    '(:content :status :activeForm :priority)))
          (todo-write-items thread)))

(ert-deftest todo-write-acp-reads-both-versions-however-they-were-decoded ()
  (pcase-dolist (`(,name . ,decode) todo-write-acp-tests-decoders)
    (dolist (update (list (todo-write-acp-tests--v1) (todo-write-acp-tests--v2)))
      (dolist (text (list update (todo-write-acp-tests--notification update)))
        (ert-info ((format "%s: %s" name text))
          (todo-write-with-store
            (clrhash todo-write-acp--plans)
            (let* ((thread (format "acp-%s" (random)))
                   (outcome (todo-write-from-acp-plan thread (funcall decode text))))
              (should (plist-get outcome :ok))
              (should-not (plist-get outcome :notices))
              (should (equal (todo-write-acp-tests--rows thread)
                             '(("Read" "completed" "Read" "high")
                               ("Write" "in_progress" "Write" "medium")
                               ("Send" "pending" "Send" "low")))))))))))

(ert-deftest todo-write-acp-reads-a-plan-and-bare-entries ()
  (todo-write-with-store
    (dolist (update (list (json-parse-string todo-write-acp-tests-entries)
                          (list :entries (json-parse-string todo-write-acp-tests-entries))))
      (todo-write-from-acp-plan "acp-bare" [])
      (todo-write-from-acp-plan "acp-bare" update)
      (should (equal (todo-write-test-contents "acp-bare") '("Read" "Write" "Send"))))))

(ert-deftest todo-write-acp-lets-a-second-plan-have-a-thread-of-its-own ()
  (todo-write-with-store
    (let ((one "[{\"content\": \"One\", \"priority\": \"low\", \"status\": \"pending\"}]"))
      (dolist (update (list (todo-write-acp-tests--v2 nil "a")
                            (todo-write-acp-tests--v2 one "b")
                            (todo-write-acp-tests--v2 nil "a")))
        (todo-write-from-acp-plan "acp-two" (todo-write-acp-tests--decode update)))
      (should (equal (todo-write-test-contents "acp-two") '("Read" "Write" "Send")))
      (should (equal (todo-write-test-contents "acp-two/b") '("One")))
      (should (equal (mapcar #'car (todo-write-children "acp-two")) '("acp-two/b")))
      (should (= (length (todo-write-revisions "acp-two")) 1)))))

(ert-deftest todo-write-acp-clears-the-list-of-a-plan-that-is-removed ()
  (todo-write-with-store
    (todo-write-from-acp-plan
     "acp-gone" (todo-write-acp-tests--decode (todo-write-acp-tests--v2)))
    (todo-write-from-acp-plan
     "acp-gone" '((sessionUpdate . "plan_removed") (planId . "plan-1")))
    (should (eq (todo-write-state "acp-gone") 'empty))))

(ert-deftest todo-write-acp-ignores-what-is-no-list-of-entries ()
  (todo-write-with-store
    (dolist (update '(((sessionUpdate . "agent_message_chunk")
                       (content . ((type . "text") (text . "plan"))))
                      ((sessionUpdate . "tool_call") (entries . []))
                      ((sessionUpdate . "plan_update")
                       (plan . ((type . "markdown") (planId . "p") (content . "- One"))))
                      (:sessionUpdate "_mine" :plan "plan")
                      ((method . "session/update") (params . ((sessionId . "s"))))))
      (should-not (todo-write-from-acp-plan "acp-other" update)))
    (should (eq (todo-write-state "acp-other") 'empty))))

(ert-deftest todo-write-acp-refuses-bad-entries-and-leaves-the-list ()
  (todo-write-with-store
    (todo-write-from-acp-plan
     "acp-bad" (todo-write-acp-tests--decode (todo-write-acp-tests--v1)))
    (pcase-dolist (`(,entries ,path)
                   '(("[{\"content\": \"A\", \"status\": \"_blocked\"}]" "todos[0].status")
                     ("[{\"status\": \"pending\"}]" "todos[0].content")
                     ("[3]" "todos[0]")
                     ("\"A, B\"" "todos")
                     ("null" "todos")))
      (let ((outcome (todo-write-from-acp-plan
                      "acp-bad"
                      (todo-write-acp-tests--decode (todo-write-acp-tests--v1 entries)))))
        (ert-info (entries)
          (should outcome)
          (should-not (plist-get outcome :ok))
          (should (equal (plist-get (car (plist-get outcome :errors)) :path) path)))))
    (should (equal (todo-write-test-contents "acp-bad") '("Read" "Write" "Send")))))

(ert-deftest todo-write-acp-takes-cancelled-entries-off-the-list ()
  (todo-write-with-store
    (todo-write-from-acp-plan
     "acp-cancelled"
     '(:sessionUpdate "plan"
       :entries [(:content "Kept" :priority "low" :status "pending")
                 (:content "Given up" :priority "low" :status "cancelled")]))
    (should (equal (todo-write-test-contents "acp-cancelled") '("Kept")))))

(ert-deftest todo-write-acp-says-which-host-wrote ()
  (todo-write-with-store
    (todo-write-from-acp-plan "acp-source" [((content . "A") (status . "pending"))] "zed")
    (todo-write-from-acp-plan "acp-source" [])
    (should (equal (mapcar (lambda (revision) (plist-get revision :source))
                           (todo-write-revisions "acp-source"))
                   '("zed" "acp")))))

(ert-deftest todo-write-acp-signals-for-what-is-no-object ()
  (todo-write-with-store
    (dolist (update '(nil 3 "plan" t))
      (should-error (todo-write-from-acp-plan "acp-wrong" update)
                    :type 'todo-write-input-error))
    (should-error (todo-write-from-acp-plan 'acp [((content . "A") (status . "pending"))])
                  :type 'todo-write-input-error)))

;;; Connected to a client

(defun todo-write-acp-tests--connect ()
  "Connect a client; return the function to call with its notifications."
  (let (handler)
    (cl-letf (((symbol-function 'acp-subscribe-to-notifications)
               (lambda (&rest args) (setq handler (plist-get args :on-notification)))))
      (todo-write-acp-connect 'client))
    (lambda (text) (funcall handler (todo-write-acp-tests--decode text)))))

(ert-deftest todo-write-acp-connected-keeps-the-list-of-each-session ()
  (todo-write-with-store
    (let ((receive (todo-write-acp-tests--connect)))
      (funcall receive (todo-write-acp-tests--notification (todo-write-acp-tests--v1)))
      (funcall receive "{\"method\": \"fs/changed\", \"params\": {\"entries\": [1]}}")
      (should (equal (todo-write-test-contents "acp:s") '("Read" "Write" "Send"))))))

(ert-deftest todo-write-acp-connected-warns-of-a-plan-that-is-refused ()
  (todo-write-with-store
    (let ((receive (todo-write-acp-tests--connect)))
      (should (string-search
               "100%d"
               (car (todo-write-test-warnings
                      (funcall receive
                               (todo-write-acp-tests--notification
                                (todo-write-acp-tests--v1
                                 "[{\"content\": \"A\", \"status\": \"100%d\"}]"))))))))))

;;; Init files

(ert-deftest todo-write-acp-needs-a-hook-of-an-init-file-for-agent-shell ()
  ;; With stand-ins for what the hook calls of agent-shell and acp.el.
  (todo-write-with-store
    (should
     (equal
      (todo-write-test-child
       '(autoload 'todo-write-acp-connect "todo-write-acp")
       '(require 'map)
       '(defvar agent-shell--state '((:client . client)))
       '(defun agent-shell-subscribe-to (&rest args)
          (when (eq (plist-get args :event) 'init-client)
            (funcall (plist-get args :on-event) '((:event . init-client)))))
       '(defun acp-subscribe-to-notifications (&rest args)
          (with-current-buffer (plist-get args :buffer)
            (when (eq (plist-get args :client) 'client)
              (funcall (plist-get args :on-notification)
                       '((method . "session/update")
                         (params . ((sessionId . "s")
                                    (update . ((sessionUpdate . "plan")
                                               (entries . [((content . "One")
                                                            (priority . "low")
                                                            (status . "pending"))]))))))))))
       ;; What the user types.
       '(defun my-agent-shell-plan ()
          "Show the plan of this session's agent."
          (let ((buffer (current-buffer)))
            (agent-shell-subscribe-to
             :shell-buffer buffer
             :event 'init-client
             :on-event (lambda (_)
                         (with-current-buffer buffer
                           (todo-write-acp-connect
                            (map-elt agent-shell--state :client)))))))
       '(add-hook 'agent-shell-mode-hook #'my-agent-shell-plan)
       '(run-hooks 'agent-shell-mode-hook)
       '(prin1 (mapcar (lambda (item) (plist-get item :content))
                       (todo-write-items "acp:s"))))
      '("One")))))

(provide 'todo-write-acp-tests)
;;; todo-write-acp-tests.el ends here
