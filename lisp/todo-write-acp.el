;;; todo-write-acp.el --- Plans of ACP agents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Agents that speak the Agent Client Protocol report their plan in `session/update'
;; notifications: the update `plan' has its entries
;; (https://agentclientprotocol.com/protocol/v1/agent-plan).  For opencode, which sends no
;; plan, the arguments of its tool `todowrite' are used.

;;; Code:

(require 'todo-write-acp-work)
(require 'todo-write-host)
(require 'todo-write-request)

(declare-function acp-make-session-request-permission-response "ext:acp")
(declare-function acp-send-response "ext:acp")
(declare-function acp-subscribe-to-notifications "ext:acp")
(declare-function acp-subscribe-to-requests "ext:acp")

;;; Plans

(defun todo-write-acp--write (thread update)
  "Write the plan in UPDATE of the session of THREAD.
Return (KEY . OUTCOME), where KEY is the thread written to, or nil if
UPDATE has no plan.  The list of a subagent is that of a child thread,
whose key is THREAD, a slash and the id of the tool call that started it."
  (let* ((kind (todo-write-json-get update "sessionUpdate"))
         (entries (cond ((equal kind "plan") (todo-write-json-get update "entries"))
                        ((and (equal kind "tool_call_update")
                              (equal (todo-write-json-get update "title") "todowrite"))
                         (todo-write-json-get update "rawInput" "todos"))))
         (call (todo-write-json-get update "_meta" "claudeCode" "parentToolUseId")))
    (when (or entries (equal kind "plan"))
      (let ((key (if (stringp call) (todo-write-acp--subagent-thread thread call entries)
                   thread)))
        ;; Copilot sends an empty plan whatever its list is.
        (unless (and (equal entries [])
                     (not (seq-some (lambda (revision) (equal "acp" (plist-get revision :source)))
                                    (todo-write-revisions key))))
          (cons key (todo-write key (list :todos (todo-write-acp--todos key entries))
                                "acp" t)))))))

(defun todo-write-acp--subagent-thread (thread call entries)
  "Return the key of the thread for ENTRIES of the subagent that CALL started.
Each agent has its own list with Claude's TodoWrite.  With its Task tools,
all agents of a session share the list of THREAD: ENTRIES contain at least
half of that."
  (let* ((key (format "%s/%s" thread call))
         (items (todo-write-items thread))
         (texts (seq-map (lambda (entry) (todo-write-json-get entry "content"))
                         (and (vectorp entries) entries)))
         (common (seq-count (lambda (item) (or (member (plist-get item :content) texts)
                                               (member (plist-get item :activeForm) texts)))
                            items)))
    (cond ((todo-write-revisions key) key)
          ((<= 1 (length items) (* 2 common)) thread)
          (t (todo-write-begin
              key :parent thread
              :parent-item (plist-get (plist-get (todo-write-summary thread) :current)
                                      :id))))))

(defun todo-write-acp--todos (key entries)
  "Return ENTRIES of a plan as todos for the thread KEY.
An entry has only one text, which is used as the active form, too.  Claude's
adapter sends the active form while the task is in progress, and the
content otherwise, so the other one is that of the known task.
Anything but a list of objects is returned unchanged: the store refuses it."
  (if (not (and (vectorp entries) (seq-every-p #'consp entries)))
      entries
    (let* ((todos
            (cl-loop for entry across entries
                     for content = (todo-write-json-get entry "content")
                     for status = (todo-write-json-get entry "status")
                     for priority = (todo-write-json-get entry "priority")
                     unless (equal status "cancelled")
                     collect `( :content ,content :status ,status :activeForm ,content
                                ,@(and priority (list :priority priority)))))
           (items (todo-write-items key))
           ;; A new text belongs to the item that the store matches with it.  If every other
           ;; new text stands in the place of a missing item, these are matched by places.
           (diff (ignore-error todo-write-input-error (todo-write-diff items (vconcat todos))))
           (modified (plist-get diff :modified))
           (added (plist-get diff :added))
           (removed (plist-get diff :removed))
           (in-place (and (equal (seq-map (lambda (change) (plist-get change :position)) added)
                                 (seq-map (lambda (change) (plist-get change :previousPosition))
                                          removed))
                          (cl-mapcar #'todo-write-acp--changed-text removed added)))
           (known (append (cl-loop for item across items
                                   collect (list (plist-get item :content)
                                                 :activeForm (plist-get item :activeForm)))
                          (delq nil (cl-mapcar #'todo-write-acp--changed-text modified modified))
                          (unless (memq nil in-place) in-place))))
      (vconcat (mapcar (lambda (todo)
                         (append (cdr (assoc (plist-get todo :content) known)) todo))
                       todos)))))

(defun todo-write-acp--changed-text (before after)
  "Return (TEXT PROPERTY VALUE) if an item has its other text after a change.
BEFORE is the change that has its previous state, and AFTER that with its
new one.  PROPERTY with VALUE completes the todo that has TEXT."
  (let* ((previous (plist-get before :previousItem))
         (item (plist-get after :item))
         (text (plist-get item :content)))
    (unless (equal text (plist-get previous :content))
      (pcase (list (plist-get previous :status) (plist-get item :status))
        (`(,(or "pending" "in_progress") "in_progress")
         (list text :content (plist-get previous :content)))
        ('("in_progress" "completed")
         (list text :activeForm (plist-get previous :activeForm)))))))

;;; Clients of acp.el

(cl-defstruct (todo-write-acp--link (:copier nil))
  "State of a connected client."
  (agent nil :documentation "Name of its agent.")
  (buffer nil :documentation "Buffer of its session, or nil after disconnecting.")
  (turns nil :documentation "Thread keys of the running turns, one for each prompt.")
  (name (symbol-name (gensym "acp-")) :documentation "Beginning of the ids of its requests.")
  (asked nil :documentation "Alist of its permission requests that were seen, ids and threads.")
  (answered nil :documentation "Ids of requests that were answered before they were seen.")
  (work (make-hash-table :test #'equal)
        :documentation "What is known of the tool calls of turns, by thread and by id."))

(defvar todo-write-acp--links (make-hash-table :test #'eq :weakness 'key)
  "Links, by client.
They are kept after disconnecting, because acp.el cannot unsubscribe.")

;;;###autoload
(defun todo-write-acp-connect (client &optional buffer session)
  "Show the plans and the activity of the agent of CLIENT, an acp.el client.
BUFFER is the buffer of its session; the default is the current one.
SESSION is the id of its session if it has one already.
The key of a session's thread is \"claude:SESSION\" or \"codex:SESSION\" for the
adapters of Claude Code and Codex, as for `todo-write-follow', otherwise
\"acp:SESSION\".  `todo-write-show' in BUFFER shows that thread.

Each plan that CLIENT receives is written to the thread.  The agent works
from a prompt to its response, and waits while a permission request is
open.  Call this after CLIENT has its own subscriptions.
`todo-write-acp-disconnect' undoes it."
  (todo-write-module-prepare)
  (let ((buffer (or buffer (current-buffer)))
        (link (gethash client todo-write-acp--links)))
    (unless link
      (let* ((command (todo-write-json-get client "command"))
             (words (cons command (append (todo-write-json-get client "command-params") nil)))
             (agent (seq-some
                     (lambda (word)
                       (and (stringp word)
                            ;; For example, claude-agent-acp and @zed-industries/codex-acp.
                            (string-match "\\(?:\\`\\|/\\)\\([a-z]+\\)\\(?:-[a-z]+\\)?-acp\\b" word)
                            (match-string 1 word)))
                     words)))
        (setq link (make-todo-write-acp--link
                    :agent (or agent (and (stringp command) (file-name-base command)))))
        (puthash client link todo-write-acp--links))
      (acp-subscribe-to-notifications
       :client client :buffer buffer
       :on-notification (lambda (message)
                          (todo-write-core-for-host "ACP"
                            (todo-write-acp--handle-notification link message))))
      (acp-subscribe-to-requests
       :client client :buffer buffer
       :on-request (lambda (message)
                     (todo-write-core-for-host "ACP"
                       (todo-write-acp--handle-request client link message)))))
    (setf (todo-write-acp--link-buffer link) buffer)
    (with-current-buffer buffer
      (add-hook 'kill-buffer-hook #'todo-write-acp--buffer-killed nil t))
    (when session
      (todo-write-acp--attach link (todo-write-acp--key link session)))
    (todo-write-acp-advise)))

(defun todo-write-acp-disconnect (client &optional reason)
  "Disconnect CLIENT, which `todo-write-acp-connect' connected.
Its plans stay and are paused for REASON, a string."
  (when-let* ((link (todo-write-acp--link client)))
    (todo-write-acp--end-turns link (or reason "disconnected"))
    (pcase-dolist (`(,id . ,thread) (todo-write-acp--link-asked link))
      (todo-write-withdraw thread (todo-write-acp--request-id link id)))
    (when-let* ((process (todo-write-json-get client "process")))
      (remove-function (process-sentinel process) 'todo-write-acp))
    (when (buffer-live-p (todo-write-acp--link-buffer link))
      (with-current-buffer (todo-write-acp--link-buffer link)
        (remove-hook 'kill-buffer-hook #'todo-write-acp--buffer-killed t)
        (kill-local-variable 'todo-write-view-thread)))
    (setf (todo-write-acp--link-buffer link) nil)
    (todo-write-acp-advise)))

(todo-write-host-define "ACP"
  :findings (lambda ()
              (and (locate-library "acp")
                   '((ok "ACP: acp.el is installed; todo-write-acp-connect connects a client")))))

(defvar todo-write-acp-send-functions nil
  "Functions called with a client and a request that it is about to send.
A host whose clients are its own connects them here.")

(defun todo-write-acp-advise ()
  "Advise acp.el, which has no hooks, while this package needs to hear of it."
  (if (or todo-write-acp-send-functions (todo-write-acp-clients))
      (progn
        (advice-add 'acp-send-request :around #'todo-write-acp--send-request)
        (advice-add 'acp-send-response :after #'todo-write-acp--response-sent))
    (advice-remove 'acp-send-request #'todo-write-acp--send-request)
    (advice-remove 'acp-send-response #'todo-write-acp--response-sent)))

(defun todo-write-acp-clients (&optional buffer)
  "Return the connected clients, or only those of BUFFER."
  (cl-loop for client being the hash-keys of todo-write-acp--links using (hash-values link)
           for its = (todo-write-acp--link-buffer link)
           when (if buffer (eq its buffer) (buffer-live-p its))
           collect client))

(defun todo-write-acp--link (client)
  "Return the link of CLIENT, or nil if it is not connected."
  (let ((link (gethash client todo-write-acp--links)))
    (and link (todo-write-acp--link-buffer link) link)))

(defun todo-write-acp--key (link session)
  "Return the key of the thread of LINK's SESSION, an id.
The adapters of Claude Code and Codex use the ids of their transcripts.  If
SESSION is nil, the buffer's name stands for it."
  (let ((agent (todo-write-acp--link-agent link)))
    (format "%s:%s"
            (if (and agent (plist-get (todo-write-core-call todo-write-dyn--program agent) :resume))
                agent "acp")
            (or session (buffer-name (todo-write-acp--link-buffer link))))))

(defun todo-write-acp--attach (link thread)
  "Make THREAD the thread that `todo-write-show' shows in the buffer of LINK."
  (with-current-buffer (todo-write-acp--link-buffer link)
    (unless (equal thread todo-write-view-thread)
      (todo-write-begin thread :agent (todo-write-acp--link-agent link)))
    (setq-local todo-write-view-thread thread)))

(defun todo-write-acp--buffer-killed ()
  "Disconnect the clients of the current buffer, which is being killed."
  (dolist (client (todo-write-acp-clients (current-buffer)))
    (todo-write-acp-disconnect client "the session was closed")))

;;;; Turns

(defun todo-write-acp--send-request (send &rest args)
  "Call SEND, `acp-send-request', with ARGS; track the turn if it is a prompt."
  (todo-write-core-for-host "ACP"
    (run-hook-with-args 'todo-write-acp-send-functions
                        (plist-get args :client) (plist-get args :request)))
  (let ((link (todo-write-acp--link (plist-get args :client)))
        (request (plist-get args :request)))
    (if (and link (not (plist-get args :sync))
             (equal (todo-write-json-get request "method") "session/prompt"))
        (apply #'todo-write-acp--send-prompt link
               (todo-write-acp--key link (todo-write-json-get request "params" "sessionId"))
               send args)
      (apply send args))))

(cl-defun todo-write-acp--send-prompt (link thread send &rest args
                                       &key client request on-success on-failure
                                       &allow-other-keys)
  "Begin a turn of THREAD and call SEND with ARGS; the response ends the turn.
LINK is that of CLIENT, and REQUEST the prompt.  ON-SUCCESS and ON-FAILURE
are its callbacks."
  (todo-write-core-for-host "ACP"
    (todo-write-acp--attach link thread)
    (push thread (todo-write-acp--link-turns link))
    (todo-write-set-activity thread 'working)
    ;; A transcript that is followed tells more.
    (unless (todo-write-core-call todo-write-dyn--hub-follows-p thread)
      (let* ((blocks (todo-write-json-get request "params" "prompt"))
             (texts (mapcar (lambda (block) (todo-write-json-get block "text"))
                            (and (not (stringp blocks)) (sequencep blocks) blocks)))
             (text (todo-write-text-trim (string-join (seq-filter #'stringp texts) "\n"))))
        (unless (string-empty-p text)
          (todo-write-observe thread "INTENT"
                              (todo-write-core-plain (truncate-string-to-width text 8000))))))
    ;; acp.el before version 0.13 does not call back when the agent exits.
    (when-let* ((process (todo-write-json-get client "process")))
      (add-function
       :before (process-sentinel process)
       (lambda (process _event)
         (unless (process-live-p process)
           (todo-write-acp--end-turns
            link (format "agent exited (%s)" (process-exit-status process)) t)))
       '((name . todo-write-acp)))))
  (condition-case problem
      (apply send
             :on-success
             (lambda (response)
               ;; The host's own callback must not wait for the drawing of a plan.
               (unwind-protect
                   (when on-success (funcall on-success response))
                 (todo-write-core-for-host "ACP"
                   (unless (todo-write-core-call todo-write-dyn--hub-follows-p thread)
                     (todo-write-acp-work-turn-ended thread response)))
                 (let ((reason (todo-write-json-get response "stopReason")))
                   (todo-write-acp--end-turn
                    link thread (and (stringp reason) (not (equal reason "end_turn"))
                                     (todo-write-text-reason (string-replace "_" " " reason)))))))
             ;; acp.el checks the arity of this function.
             :on-failure
             (lambda (problem message)
               (unwind-protect
                   (when on-failure
                     (if (eql 1 (cdr (func-arity on-failure)))
                         (funcall on-failure problem)
                       (funcall on-failure problem message)))
                 (todo-write-acp--end-turn
                  link thread (todo-write-text-reason (todo-write-json-get problem "message")) t)))
             args)
    (error
     (todo-write-acp--end-turn link thread (error-message-string problem) t)
     (signal (car problem) (cdr problem)))))

(defun todo-write-acp--end-turns (link reason &optional failed)
  "End all turns of LINK for REASON.
Non-nil FAILED means that REASON is an error."
  (while (todo-write-acp--link-turns link)
    (todo-write-acp--end-turn link (car (todo-write-acp--link-turns link)) reason failed)))

(defun todo-write-acp--end-turn (link thread reason &optional failed)
  "End a turn of THREAD, of LINK, for REASON.
Non-nil FAILED means that REASON is an error.  Several turns may run, because
a prompt can be sent before the response to the previous one."
  (when (member thread (todo-write-acp--link-turns link))
    (setf (todo-write-acp--link-turns link)
          (cl-delete thread (todo-write-acp--link-turns link) :test #'equal :count 1))
    (unless (member thread (todo-write-acp--link-turns link))
      (remhash thread (todo-write-acp--link-work link))
      (todo-write-core-for-host "ACP"
        (pcase-dolist (`(,child . ,_) (todo-write-children thread))
          (todo-write-end-turn child reason))
        (todo-write-end-turn thread reason failed)))))

;;;; Messages

(defun todo-write-acp--options (options draft)
  "Return OPTIONS of a permission request as those of a request.
Non-nil DRAFT means that a message with a no can be the next prompt."
  (cl-loop for option across (and (vectorp options) options)
           for label = (todo-write-json-get option "name")
           for value = (todo-write-json-get option "optionId")
           for kind = (pcase (todo-write-json-get option "kind")
                        ("allow_once" 'allow)
                        ("allow_always" 'always)
                        ("reject_once" 'deny)
                        (_ 'other))
           when (and (stringp label) (stringp value))
           collect (list :label label :value value :kind kind
                         :text (and draft (eq kind 'deny)))))

(defun todo-write-acp--handle-request (client link request)
  "Let the user answer REQUEST, a message to LINK of CLIENT.
Requests for other things than a permission are ignored."
  (when (and (todo-write-acp--link-buffer link)
             (equal "session/request_permission" (todo-write-json-get request "method")))
    (let* ((id (todo-write-json-get request "id"))
           (params (todo-write-json-get request "params"))
           (thread (todo-write-acp--key link (todo-write-json-get params "sessionId")))
           (buffer (todo-write-acp--link-buffer link)))
      ;; The client's own handler may have answered it already.
      (unless (when (member id (todo-write-acp--link-answered link))
                (cl-callf2 delete id (todo-write-acp--link-answered link))
                t)
        (let* ((call (todo-write-json-get params "toolCall"))
               (known (gethash (todo-write-json-get call "toolCallId")
                               (todo-write-acp--work link thread)))
               ;; The agent need not repeat what it has told of the call.
               (call (if (consp known) (todo-write-acp-work-merge known call) call))
               (about (todo-write-core-call todo-write-dyn--request-of call nil))
               ;; The protocol has no message with a no.  The answer ends the turn.
               (draft (and (eq 'plan (plist-get about :kind))
                           (todo-write-host-ask #'todo-write-host-draft thread nil))))
          (push (cons id thread) (todo-write-acp--link-asked link))
          (todo-write-request
           thread
           :id (todo-write-acp--request-id link id)
           :kind (plist-get about :kind)
           :title (or (todo-write-json-filled call "title") "permission")
           :format (plist-get about :format)
           :detail (lambda () (todo-write-core-call todo-write-dyn--request-detail call nil))
           :visit (lambda () (pop-to-buffer buffer))
           :options (todo-write-acp--options (todo-write-json-get params "options") draft)
           :answer
           (and (plist-get about :answerable)
                (lambda (option text)
                  (unless (buffer-live-p buffer)
                    (signal 'todo-write-error '("Answer this in the agent's own buffer")))
                  ;; A host that shows a dialog of its own answers.
                  (or (todo-write-host-ask #'todo-write-host-answer buffer id option)
                      (acp-send-response
                       :client client
                       :response (acp-make-session-request-permission-response
                                  :request-id id :option-id option)))
                  (when text
                    (todo-write-host-ask #'todo-write-host-draft thread text))))))))))

(defun todo-write-acp--request-id (link id)
  "Return ID of a message to LINK as the id of a request.
Clients count from the same number, and may have the same thread."
  (format "%s.%s" (todo-write-acp--link-name link) id))

(cl-defun todo-write-acp--response-sent (&key client response &allow-other-keys)
  "Withdraw the request that RESPONSE of CLIENT answers."
  (when-let* ((link (todo-write-acp--link client))
              (id (todo-write-json-get response "request-id")))
    (if-let* ((asked (assoc id (todo-write-acp--link-asked link))))
        (todo-write-core-for-host "ACP"
          (cl-callf2 delq asked (todo-write-acp--link-asked link))
          (todo-write-withdraw (cdr asked) (todo-write-acp--request-id link id)))
      (setf (todo-write-acp--link-answered link)
            (seq-take (cons id (todo-write-acp--link-answered link)) 20)))))

(defun todo-write-acp--handle-notification (link notification)
  "Handle NOTIFICATION, a message to LINK.
It is ignored if the transcript of the session is followed: there, a task
has both texts."
  (when (and (todo-write-acp--link-buffer link)
             (equal (todo-write-json-get notification "method") "session/update"))
    (let* ((params (todo-write-json-get notification "params"))
           (update (todo-write-json-get params "update"))
           (thread (todo-write-acp--key link (todo-write-json-get params "sessionId"))))
      (unless (todo-write-core-call todo-write-dyn--hub-follows-p thread)
        (if (equal (todo-write-json-get update "sessionUpdate") "session_info_update")
            (todo-write-acp--set-title thread (todo-write-json-get update "title"))
          (todo-write-acp--update link thread update))))))

(defun todo-write-acp--set-title (thread title)
  "Make TITLE the title of THREAD, unless it has that title."
  (when-let* ((title (todo-write-text-reason title)))
    (unless (member title (list "" (plist-get (todo-write-summary thread) :title)))
      (todo-write-observe thread "TITLE" title))))

(defun todo-write-acp--update (link thread update)
  "Write the plan in UPDATE to THREAD of LINK; warn if it is refused.
The protocol has no way to report that to the agent."
  (pcase (todo-write-acp--write thread update)
    ;; A session that is loaded repeats its calls before the first prompt.
    ('nil (when (or (member thread (todo-write-acp--link-turns link))
                    (todo-write-revisions thread))
            (let ((id (todo-write-json-get update "toolCallId")))
              (when (and (stringp id)
                         (member (todo-write-json-get update "status") '("completed" "failed")))
                (let ((child (format "%s/%s" thread id)))
                  (when (assoc child (todo-write-children thread))
                    (todo-write-end-turn child)))))
            (todo-write-acp-work-context thread update)
            (todo-write-acp-work-update (todo-write-acp--work link thread) thread update)))
    ((and `(,key . ,outcome) (guard (plist-get outcome :ok)))
     (todo-write-acp--attach link thread)
     (unless (equal key thread)
       (let ((call (gethash (substring key (1+ (length thread)))
                            (todo-write-acp--work link thread))))
         (todo-write-acp--set-title key (and (consp call) (cdr (assoc "title" call)))))
       (when (member thread (todo-write-acp--link-turns link))
         (todo-write-set-activity key 'working))))
    (`(,_ . ,outcome)
     (display-warning 'todo-write
                      (concat "The agent's plan: " (plist-get outcome :result))))))

(defun todo-write-acp--work (link thread)
  "Return what is known of the tool calls of THREAD's turn, a hash table by id.
LINK is that of THREAD."
  (let ((work (todo-write-acp--link-work link)))
    (or (gethash thread work)
        (puthash thread (make-hash-table :test #'equal) work))))

(provide 'todo-write-acp)
;;; todo-write-acp.el ends here
