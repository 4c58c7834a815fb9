;;; todo-write-acp-work.el --- What ACP agents do  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The tool calls in `session/update' notifications of the Agent Client Protocol, and
;; the tokens in the answer to a prompt.  The updates of one call are gathered until
;; it has ended, because agents send its input, its diffs and its outcome one by one.

;;; Code:

(require 'todo-write)
(require 'todo-write-calls)

(defun todo-write-acp-work-turn-ended (thread response)
  "Record the tokens in RESPONSE to a prompt of THREAD, if it has any.
They are those of the whole turn, so they belong to no task."
  (when-let* ((usage (todo-write-json-get response "usage")))
    (cl-flet ((number (name) (let ((value (todo-write-json-get usage name)))
                               (if (natnump value) value 0))))
      (todo-write-observe thread "USAGE"
                          (list :input (number "inputTokens")
                                :output (number "outputTokens")
                                :cacheRead (number "cachedReadTokens")
                                :cacheWrite (number "cachedWriteTokens"))
                          :ofSession t))))

(defun todo-write-acp-work-context (thread update)
  "Record how full the context of THREAD is if UPDATE tells it, and the cost.
Agents tell it at each step, so only what a user would notice is recorded."
  (when (equal (todo-write-json-get update "sessionUpdate") "usage_update")
    (let* ((used (todo-write-json-get update "used"))
           (size (todo-write-json-get update "size"))
           (amount (todo-write-json-get update "cost" "amount"))
           (currency (todo-write-json-get update "cost" "currency"))
           (summary (todo-write-summary thread))
           (percent (and (fixnump used) (fixnump size) (>= used 0) (> size 0)
                         (/ (* 100 used) size))))
      (when (and percent (not (eql (min 100 percent) (plist-get summary :context))))
        (todo-write-observe thread "STATE_UPDATE" nil :context (list :tokens used :limit size)))
      (when (and (numberp amount) (>= amount 0) (stringp currency)
                 (not (string-prefix-p (format "%.2f" amount) (or (plist-get summary :cost) ""))))
        (todo-write-observe thread "STATE_UPDATE" nil
                            :cost (list :amount (float amount) :currency currency))))))

(defun todo-write-acp-work-update (calls thread update)
  "Record the tool call that UPDATE reports in THREAD when it has ended.
CALLS is a hash table from ids of calls to what is known of them, an
alist of names and values."
  (let ((id (todo-write-json-get update "toolCallId")))
    (when (and (stringp id)
               (member (todo-write-json-get update "sessionUpdate")
                       '("tool_call" "tool_call_update"))
               ;; A repeated report of an ended call says nothing new.
               (not (eq 'recorded (gethash id calls))))
      (let* ((call (todo-write-acp-work-merge (gethash id calls) update))
             (ended (member (todo-write-json-get call "status") '("completed" "failed"))))
        (puthash id (if ended 'recorded call) calls)
        (when ended
          (todo-write-acp-work--record thread id call))))))

(defun todo-write-acp-work-merge (call update)
  "Return CALL, an alist, with what UPDATE says of it.
What the agent's tool itself answered comes in an update of its own."
  (let ((found (cl-loop for (name . path)
                        in '(("toolResponse" "_meta" "claudeCode" "toolResponse")
                             ("toolName" "_meta" "claudeCode" "toolName")
                             ("nonExecutionKind" "_meta" "claudeCode" "nonExecutionKind")
                             ("terminal_exit" "_meta" "terminal_exit")
                             ("title" "title") ("kind" "kind") ("status" "status")
                             ("name" "name") ("content" "content") ("rawInput" "rawInput")
                             ("rawOutput" "rawOutput"))
                        for value = (apply #'todo-write-json-get update path)
                        unless (memq value '(nil :null))
                        collect (cons name value))))
    (append found (seq-remove (lambda (field) (assoc (car field) found)) call))))

(defun todo-write-acp-work--record (thread id call)
  "Record CALL with ID, which has ended, in THREAD."
  (let* ((name (seq-find #'stringp (list (todo-write-json-get call "toolName")
                                         (todo-write-json-get call "name")
                                         (todo-write-json-get call "kind")
                                         "tool")))
         (input (todo-write-json-get call "rawInput"))
         (command (equal (todo-write-json-get call "kind") "execute"))
         (output (todo-write-acp-work--output call))
         (code (seq-find #'integerp
                         (list (todo-write-json-get call "terminal_exit" "exit_code")
                               (todo-write-json-get call "rawOutput" "exit_code")
                               (todo-write-json-get call "rawOutput" "exitCode")
                               (todo-write-json-get call "rawOutput" "metadata" "exit")
                               (and (string-match
                                     "\\`[` \n]*\\(?:console\n\\)?Exit code \\([0-9]+\\)" output)
                                    (string-to-number (match-string 1 output))))))
         (outcome (todo-write-acp-work--outcome call code output)))
    (unless (todo-write-core-call todo-write-dyn--plan-tool-p name)
      (todo-write-calls-observe-begin
       thread id name
       (if (todo-write-json-fields input)
           (todo-write-json-plist input)
         (list :title (todo-write-json-string call "title"))))
      (todo-write-calls-observe-end
       thread id name output outcome
       :command (if command t :false)
       :exit-code (and command (natnump code) code)
       :files (and (eq outcome 'ok) (todo-write-acp-work--files call))))))

(defun todo-write-acp-work--outcome (call code output)
  "Return the outcome of CALL with the exit CODE and OUTPUT, a symbol."
  (let ((failed (equal (todo-write-json-get call "status") "failed"))
        (case-fold-search nil))
    (cond ((or (member (todo-write-json-get call "nonExecutionKind")
                       '("user-rejected" "permission-denied" "cancelled"))
               ;; Any file may begin like that.
               (and failed
                    (string-match-p "\\`[` \n]*\\(?:The user doesn't want to\\|Permission\\)"
                                    output)))
           'refused)
          ((or failed (and (integerp code) (/= code 0))) 'failed)
          ((todo-write-json-get call "toolResponse" "backgroundTaskId") 'background)
          (t 'ok))))

(defun todo-write-acp-work--output (call)
  "Return the text that CALL returned, a string."
  (let ((raw (todo-write-json-get call "rawOutput")))
    (or (seq-find #'stringp
                  (list raw
                        (todo-write-json-get raw "formatted_output")
                        (todo-write-json-get raw "output")
                        (todo-write-json-get raw "stdout")))
        (string-join (delq nil (mapcar (lambda (part)
                                         (todo-write-json-filled part "content" "text"))
                                       (append (todo-write-json-get call "content") nil)))
                     "\n"))))

(defun todo-write-acp-work--files (call)
  "Return the files that CALL changed, a list for `todo-write-observe'.
Claude's own answer has the whole text before the edit.  The diffs of the
protocol are parts of files, which the agent may show with other tabs."
  (or (todo-write-acp-work--claude-file (todo-write-json-get call "toolResponse"))
      (cl-loop
       with diffs = (seq-filter (lambda (part) (equal "diff" (todo-write-json-get part "type")))
                                (todo-write-json-get call "content"))
       for path in (seq-uniq (mapcar (lambda (part) (todo-write-json-get part "path")) diffs))
       for parts = (seq-filter (lambda (part) (equal path (todo-write-json-get part "path"))) diffs)
       for old = (seq-filter #'stringp (mapcar (lambda (part) (todo-write-json-get part "oldText"))
                                               parts))
       for new = (cl-loop for part in parts
                          for text = (todo-write-json-get part "newText")
                          for kind = (todo-write-json-get part "_meta" "kind")
                          when (and (stringp text) (not (equal "delete" kind)))
                          collect text)
       when (stringp path)
       collect (append (list :path path)
                       (and old (list :oldText (string-join old)))
                       (and new (list :newText (string-join new)))
                       (and old new (list :inexact t))))))

(defun todo-write-acp-work--claude-file (response)
  "Return the file in RESPONSE, the answer of Claude's own tool, as a list, or nil."
  (let ((path (todo-write-json-get response "filePath"))
        (old (todo-write-json-get response "originalFile"))
        (content (todo-write-json-get response "content"))
        (from (todo-write-json-get response "oldString"))
        (to (todo-write-json-get response "newString"))
        (all (eq t (todo-write-json-get response "replaceAll"))))
    (when (stringp path)
      (cond ((and (stringp content) (equal "create" (todo-write-json-get response "type")))
             (list (list :path path :newText content)))
            ((and (stringp content) (stringp old))
             (list (list :path path :oldText old :newText content)))
            ((and (stringp old) (stringp from) (stringp to) (not (string-empty-p from)))
             (if-let* ((new (todo-write-core-call todo-write-dyn--text-edited
                              (todo-write-core-plain old) (todo-write-core-plain from)
                              (todo-write-core-plain to) all)))
                 (list (list :path path :oldText old :newText new))
               (list (list :path path :oldText from :newText to :inexact t))))))))

(provide 'todo-write-acp-work)
;;; todo-write-acp-work.el ends here
