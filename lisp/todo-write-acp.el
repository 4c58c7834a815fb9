;;; todo-write-acp.el --- Plans of ACP agents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Agents that speak the Agent Client Protocol report their plan in
;; `session/update' notifications.  `todo-write-from-acp-plan' makes such an
;; update a write; `todo-write-acp-connect' does that for all updates that a
;; client of acp.el receives.  The manual has what agent-shell needs.
;;
;; Both versions of the protocol are read: the update `plan' with its entries
;; (https://agentclientprotocol.com/protocol/v1/agent-plan) and `plan_update'
;; with plans that have ids (https://agentclientprotocol.com/protocol/v2/agent-plan).

;;; Code:

(require 'seq)
(require 'todo-write)

(declare-function acp-subscribe-to-notifications "ext:acp")

(defvar todo-write-acp--plans (make-hash-table :test #'equal)
  "Id of the plan that each thread holds itself, by key.
Further plans of the same agent have threads of their own.")

;;;###autoload
(defun todo-write-from-acp-plan (thread update &optional source)
  "Make UPDATE, an ACP plan update, the list of THREAD.
THREAD is the key of the agent's session, a string.  UPDATE is a
`session/update' notification, its params, the update in them, the plan
in that, or a vector of entries; each object in it is a hash table, a
plist or an alist, with strings, symbols or keywords as keys.  SOURCE
names the host and is \"acp\" by default.

The value is an outcome, see `todo-write', or nil if UPDATE is no plan
update.  Entries that were cancelled leave the list.  A second plan of
the same session gets a thread of its own, a child of THREAD, with the
plan's id after a slash.

Signal `todo-write-input-error' if THREAD is no string or UPDATE is
none of these."
  (unless (or (consp update) (hash-table-p update) (vectorp update))
    (todo-write--wrong "update" update "an ACP session update"))
  (let ((plan (todo-write-acp--plan update)))
    (when plan
      (let ((key (todo-write-acp--thread thread (todo-write--json-get plan "planId"))))
        (todo-write key (todo-write-acp--input plan) (or source "acp"))))))

(defun todo-write-acp--plan (update)
  "Return the object in UPDATE that has the entries, or nil.
A removed plan is one without entries."
  (let ((kind (todo-write--json-get update "sessionUpdate"))
        (inner (or (todo-write--json-get update "params")
                   (todo-write--json-get update "update"))))
    (cond ((vectorp update) (list :entries update))
          (inner (todo-write-acp--plan inner))
          ((equal kind "plan_removed")
           (list :planId (todo-write--json-get update "planId") :entries []))
          ((equal kind "plan_update")
           (let ((plan (todo-write--json-get update "plan")))
             (and plan (todo-write-acp--plan plan))))
          ((equal kind "plan") update)
          (kind nil)
          ((member (todo-write--json-get update "type") '(nil "items"))
           (and (todo-write--json-get update "entries") update)))))

(defun todo-write-acp--thread (thread plan)
  "Return the key for PLAN, an id or nil, of the session of THREAD."
  (let ((own (and (stringp plan) (gethash thread todo-write-acp--plans))))
    (cond ((not (stringp plan)) thread)
          ((not own) (puthash thread plan todo-write-acp--plans) thread)
          ((equal own plan) thread)
          (t (todo-write-begin (format "%s/%s" thread plan) :parent thread)))))

(defun todo-write-acp--input (plan)
  "Return PLAN's entries as input for `todo-write'.
What is no list of entries is left as it is, for the store to refuse."
  (let ((entries (todo-write--json-get plan "entries")))
    (list :todos
          (if (or (vectorp entries) (and (consp entries) (proper-list-p entries)))
              (vconcat (mapcar #'todo-write-acp--todo
                               (seq-remove #'todo-write-acp--cancelled-p entries)))
            entries))))

(defun todo-write-acp--cancelled-p (entry)
  "Return non-nil if ENTRY is there only to say that it was given up."
  (equal (todo-write--json-get entry "status") "cancelled"))

(defun todo-write-acp--todo (entry)
  "Return ENTRY as a task for `todo-write'.
The protocol has one text for a task, whether it is in progress or not."
  (if (or (consp entry) (hash-table-p entry))
      (let ((content (or (todo-write--json-get entry "content")
                         ;; So Codex has it.
                         (todo-write--json-get entry "step")))
            (priority (todo-write--json-get entry "priority")))
        (append (list :content content
                      :status (todo-write--json-get entry "status")
                      :activeForm content)
                (and priority (list :priority priority))))
    entry))

;;;###autoload
(defun todo-write-acp-connect (client &optional buffer)
  "Make each plan update that CLIENT receives a write.
CLIENT is a client of acp.el, and BUFFER its session's buffer, the
current one by default.  The thread is that of the session that the
agent names in its updates.  Updates end to come with CLIENT."
  (let ((buffer (or buffer (current-buffer))))
    (acp-subscribe-to-notifications
     :client client
     :buffer buffer
     :on-notification #'todo-write-acp--notified)))

(defun todo-write-acp--notified (notification)
  "Write the plan in NOTIFICATION, if there is one; say why if it is refused.
The protocol has no answer to it that would reach the agent."
  (when (equal (todo-write--json-get notification "method") "session/update")
    (let* ((session (todo-write--json-get (todo-write--json-get notification "params")
                                         "sessionId"))
           (outcome (todo-write-from-acp-plan
                     (format "acp:%s" (or session (buffer-name))) notification)))
      (when (and outcome (not (plist-get outcome :ok)))
        (display-warning 'todo-write
                         (concat "The agent's plan: " (plist-get outcome :result)))))))

(provide 'todo-write-acp)
;;; todo-write-acp.el ends here
