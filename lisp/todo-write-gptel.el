;;; todo-write-gptel.el --- Plans in gptel chats  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The tool `todo_write' for gptel (https://github.com/karthink/gptel):
;;
;;     (todo-write-gptel-mode)
;;
;; gptel may be loaded before or after this.  The work of each task is recorded: what tools
;; ran and how they ended, what files they changed, and the tokens that gptel reports.

;;; Code:

(require 'todo-write)
(require 'todo-write-calls)
(require 'todo-write-host)
(require 'todo-write-text)

(defvar gptel--known-tools)
(defvar gptel-confirm-tool-calls)
(defvar gptel-tools)
(declare-function gptel-fsm-handlers "ext:gptel-request")
(declare-function gptel-fsm-info "ext:gptel-request")
(declare-function gptel-fsm-state "ext:gptel-request")
(declare-function gptel-make-tool "ext:gptel-request")
(declare-function gptel-tool-async "ext:gptel-request")
(declare-function gptel-tool-category "ext:gptel-request")
(declare-function gptel-tool-confirm "ext:gptel-request")
(declare-function gptel-tool-name "ext:gptel-request")

(defcustom todo-write-gptel-agent t
  "What to do with the lists of gptel-agent's tool TodoWrite.
With `answer', results report your edits to its model, and gptel-agent
does not show the list in the chat."
  :type '(choice (const :tag "Nothing" nil)
                 (const :tag "Show them" t)
                 (const :tag "Answer the calls" answer))
  :group 'todo-write
  :package-version '(todo-write . "0.2.0"))

;;; On and off

(defvar-local todo-write-gptel-thread nil
  "Key of the thread of this chat, once its model has called todo_write.")

(defvar-local todo-write-gptel--request nil
  "The state machine of the last request from this chat, or nil.")

(defvar-local todo-write-gptel--calls nil
  "The calls of this chat that have begun, a list of (ID NAME ARGUMENTS).")

(defvar-local todo-write-gptel--prompt nil
  "The last prompt of this chat if it is not recorded yet, a string.")

(defvar-local todo-write-gptel--tokens nil
  "The tokens of the last response of this chat that were recorded.")

(defconst todo-write-gptel--hooks
  '((gptel-prompt-transform-functions . todo-write-gptel--request-begins)
    (gptel-pre-tool-call-functions . todo-write-gptel--call-begins)
    (gptel-post-tool-call-functions . todo-write-gptel--call-ended)
    (gptel-post-response-functions . todo-write-gptel--request-ended))
  "What tracks gptel's requests, an alist of hooks and functions.")

;;;###autoload
(define-minor-mode todo-write-gptel-mode
  "Let the models of all gptel chats call todo_write, and show their plans.
gptel may be loaded before or after."
  :global t
  :group 'todo-write
  (todo-write-host-switch "gptel" todo-write-gptel-mode))

;;;###autoload
(defun todo-write-gptel-register ()
  "Make the tool todo_write known to gptel, and return it.
No chat has it until a preset or gptel's menu adds it by its name.  If
gptel is not loaded yet, do this when it is, and return nil.  Turning off
`todo-write-gptel-mode' takes the tool away."
  (todo-write-host-switch "gptel" t))

;; A hook that has a value when gptel is loaded would not get its default one.
(todo-write-host-define "gptel"
  :mode 'todo-write-gptel-mode :feature 'gptel
  :switch-on #'todo-write-gptel--set-up :switch-off #'todo-write-gptel--take-away
  :installed (lambda () (locate-library "gptel")) :draft #'todo-write-gptel--draft)

(defun todo-write-gptel--set-up ()
  "Set gptel up; return the tool."
  (pcase-dolist (`(,hook . ,function) todo-write-gptel--hooks)
    (add-hook hook function))
  (let ((tool (gptel-make-tool
               :name "todo_write"
               :category "todo-write"
               :description (alist-get 'description (todo-write-tool-schema))
               :args (todo-write-tool-arguments)
               :function #'todo-write-gptel--write)))
    (when todo-write-gptel-mode
      (set-default 'gptel-tools
                   (append (todo-write-gptel--other-tools (default-value 'gptel-tools))
                           (list tool))))
    tool))

(defun todo-write-gptel--take-away ()
  "Take away what `todo-write-gptel--set-up' set up."
  (pcase-dolist (`(,hook . ,function) todo-write-gptel--hooks)
    (remove-hook hook function))
  (set-default 'gptel-tools (todo-write-gptel--other-tools (default-value 'gptel-tools)))
  (dolist (buffer (buffer-list))
    (when (local-variable-p 'gptel-tools buffer)
      (with-current-buffer buffer
        (setq gptel-tools (todo-write-gptel--other-tools gptel-tools)))))
  ;; gptel has no function that forgets a tool.
  (when (proper-list-p (bound-and-true-p gptel--known-tools))
    (setq gptel--known-tools (assoc-delete-all "todo-write" gptel--known-tools)))
  (dolist (chat (todo-write-gptel--chats))
    (with-current-buffer chat
      (remove-hook 'kill-buffer-hook #'todo-write-gptel--buffer-killed t)
      (setq todo-write-gptel--request nil)
      (todo-write-end-turn todo-write-gptel-thread "todo-write-gptel-mode was turned off"))))

;;; The tool

(defun todo-write-gptel--other-tools (tools)
  "Return TOOLS without ours."
  (seq-remove (lambda (tool) (equal (gptel-tool-name tool) "todo_write")) tools))

(defun todo-write-gptel--write (todos &optional unanswered)
  "Write TODOS, which the model of this chat sent, and return the result text.
The text of a refusal tells the model what is wrong.  UNANSWERED non-nil
means that the model does not get the text."
  (let ((thread (todo-write-gptel--ensure-thread)))
    ;; The first response came before the thread existed.
    (todo-write-gptel--record-prompt)
    (todo-write-gptel--note-tokens)
    (plist-get (todo-write thread (list :todos todos) "gptel" unanswered) :result)))

;;; The thread of a chat

(defun todo-write-gptel--ensure-thread ()
  "Return the key of the thread of this chat, which gets one if it has none.
A chat that visits a file has the same key in later sessions of Emacs."
  (unless todo-write-gptel-thread
    (setq todo-write-gptel-thread
          (concat "gptel:"
                  (if buffer-file-name
                      (or buffer-file-truename buffer-file-name)
                    (format "%s %s" (buffer-name)
                            (format-time-string "%Y-%m-%d %H:%M:%S.%3N")))))
    ;; `todo-write-show' shows the plan of the buffer it is called in.
    (setq-local todo-write-view-thread todo-write-gptel-thread)
    (add-hook 'kill-buffer-hook #'todo-write-gptel--buffer-killed nil t))
  todo-write-gptel-thread)

(defun todo-write-gptel--chats (&optional thread)
  "Return the buffers of the chats with a plan, or only those with THREAD."
  (seq-filter (lambda (buffer)
                (let ((its (buffer-local-value 'todo-write-gptel-thread buffer)))
                  (if thread (equal thread its) its)))
              (buffer-list)))

(defun todo-write-gptel--draft (thread text)
  "Insert TEXT, if any, at the end of the chat of THREAD; return that, or nil.
While the model answers, its answer stands there."
  (when-let* ((chat (car (todo-write-gptel--chats thread)))
              ((not (eq 'working (car (todo-write-activity thread))))))
    (when text
      (with-current-buffer chat
        (save-excursion
          (goto-char (point-max))
          (unless (bolp) (insert "\n"))
          (insert text "\n"))))
    chat))

(defun todo-write-gptel--request-begins (request)
  "Set the chat of REQUEST, gptel's state machine, to working.
The current buffer is a copy of the chat, which ends with the prompt."
  (todo-write-core-for-host "gptel"
    (let* ((info (gptel-fsm-info request))
           (end (point-max))
           ;; gptel marks all that the user did not write by a text property.
           (start (previous-single-property-change end 'gptel nil (point-min)))
           (prefix (string-trim (or (gptel-prompt-prefix-string) "")))
           (text (buffer-substring-no-properties start (min end (+ start 8000))))
           (text (todo-write-text-trim
                  (string-remove-prefix prefix (todo-write-text-trim text))))
           (prompt (unless (or (= end (point-min)) (get-text-property (1- end) 'gptel)
                               (string-empty-p text))
                     text))
           (buffer (plist-get info :buffer)))
      ;; Others, such as those of `gptel-rewrite', call no functions at their end.
      (when (and (buffer-live-p buffer) (not (plist-get info :dry-run))
                 (alist-get 'DONE (gptel-fsm-handlers request)))
        (with-current-buffer buffer
          (setq todo-write-gptel--request request
                todo-write-gptel--prompt prompt)
          (when todo-write-gptel-thread
            (todo-write-set-activity todo-write-gptel-thread 'working))
          (todo-write-gptel--record-prompt))))))

(declare-function gptel-prompt-prefix-string "ext:gptel")

(defun todo-write-gptel--record-prompt ()
  "Record the prompt of this chat, once it has a thread."
  (when (and todo-write-gptel-thread todo-write-gptel--prompt)
    (todo-write-observe todo-write-gptel-thread "INTENT"
                        (todo-write-core-plain (cl-shiftf todo-write-gptel--prompt nil)))))

(defun todo-write-gptel--request-ended (&rest _)
  "End the turn of this chat, whose request ended."
  (when todo-write-gptel-thread
    (todo-write-core-for-host "gptel"
      (todo-write-gptel--note-tokens)
      (let* ((request todo-write-gptel--request)
             (state (and request (gptel-fsm-state request)))
             (info (and request (gptel-fsm-info request)))
             (problem (plist-get info :error)))
        (when (memq state '(DONE ERRS ABRT))
          (setq todo-write-gptel--calls nil)
          (todo-write-calls-drop todo-write-gptel-thread))
        (todo-write-end-turn
         todo-write-gptel-thread
         (pcase state
           ('ERRS (todo-write-text-reason (format "%s" (or (and (stringp problem) problem)
                                                           (todo-write-json-get problem "message")
                                                           (plist-get info :status)
                                                           "error"))))
           ('ABRT "aborted"))
         (eq state 'ERRS))))))

(defun todo-write-gptel--wait (chat)
  "Set CHAT to waiting if gptel asks the user whether its calls may run.
gptel has no hook for that, and none for the user's answer: the chat waits
until the calls have ended, or the next request begins."
  (when (buffer-live-p chat)
    (with-current-buffer chat
      (todo-write-core-for-host "gptel"
        (when-let* ((thread todo-write-gptel-thread)
                    (request todo-write-gptel--request)
                    (info (gptel-fsm-info request))
                    ((eq 'TOOL (gptel-fsm-state request)))
                    (names (cl-loop
                            for call in (plist-get info :tool-use)
                            for name = (plist-get call :name)
                            for tool = (seq-find (lambda (tool) (equal name (gptel-tool-name tool)))
                                                 (plist-get info :tools))
                            when (and tool (not (plist-get call :result))
                                      ;; Other tools would have a result by now.
                                      (or (not (gptel-tool-async tool))
                                          (if (eq gptel-confirm-tool-calls 'auto)
                                              (gptel-tool-confirm tool)
                                            gptel-confirm-tool-calls)))
                            collect name)))
          (todo-write-set-activity
           thread 'waiting (todo-write-text-reason (string-join names ", ") "permission")))))))

(defun todo-write-gptel--buffer-killed ()
  "Pause the plan of the current buffer, which is being killed."
  (todo-write-core-for-host "gptel"
    (todo-write-calls-drop todo-write-gptel-thread)
    (todo-write-end-turn todo-write-gptel-thread "the chat was closed")))

;;; The work

(defun todo-write-gptel--note-tokens ()
  "Record the tokens of the last response of this chat's request, once."
  (when-let* ((request todo-write-gptel--request)
              (info (gptel-fsm-info request))
              (tokens (plist-get info :tokens)))
    (when (and todo-write-gptel-thread (not (eq tokens todo-write-gptel--tokens)))
      (setq todo-write-gptel--tokens tokens)
      (todo-write-observe todo-write-gptel-thread "USAGE"
                          (todo-write-calls-usage tokens (plist-get info :model))))))

(defun todo-write-gptel--call-begins (call)
  "Record that CALL, gptel's plist, begins in this chat.
For `gptel-pre-tool-call-functions', which may be called again for a call.
A value other than nil changes CALL: the list of gptel-agent is written
and may be answered here; see `todo-write-gptel-agent'."
  (todo-write-core-for-host "gptel"
    (let ((answer
           (when (and todo-write-gptel-agent
                      (equal "TodoWrite" (plist-get call :name))
                      (seq-some (lambda (tool)
                                  (and (equal "TodoWrite" (gptel-tool-name tool))
                                       (equal "gptel-agent" (gptel-tool-category tool))))
                                gptel-tools))
             (let* ((answers (eq todo-write-gptel-agent 'answer))
                    (result (todo-write-gptel--write (plist-get (plist-get call :args) :todos)
                                                     (not answers))))
               (and answers (list :result result))))))
      (when todo-write-gptel-thread
        (todo-write-gptel--note-tokens)
        (todo-write-gptel--call-id call)
        (run-at-time 0 nil #'todo-write-gptel--wait (current-buffer)))
      answer)))

(defun todo-write-gptel--call-id (call)
  "Return the id of CALL; record that it begins if it has none yet.
gptel passes on no ids of calls, but their own arguments."
  (let ((name (plist-get call :name))
        (arguments (plist-get call :args)))
    (or (car (seq-find (pcase-lambda (`(,_ ,its-name ,its-arguments))
                         (and (equal name its-name) (eq arguments its-arguments)))
                       todo-write-gptel--calls))
        (let ((id (format "%s.%s" (gensym "gptel-") (float-time))))
          (push (list id name arguments) todo-write-gptel--calls)
          (todo-write-calls-begin todo-write-gptel-thread id name arguments)
          id))))

(defun todo-write-gptel--call-ended (call)
  "Record that CALL, gptel's plist, ended in this chat, whose model answers next.
For `gptel-post-tool-call-functions', which is called when all calls of a
response have ended."
  (todo-write-core-for-host "gptel"
    (when todo-write-gptel-thread
      ;; If a hook has changed its arguments, it begins again.
      (let* ((id (todo-write-gptel--call-id call))
             (result (plist-get call :result))
             (text (if (stringp result) result (format "%s" result))))
        (setq todo-write-gptel--calls (assoc-delete-all id todo-write-gptel--calls))
        (pcase-let ((`(,outcome . ,code) (todo-write-gptel--outcome text)))
          (todo-write-calls-end todo-write-gptel-thread id (plist-get call :name)
                                text outcome code))
        (todo-write-set-activity todo-write-gptel-thread 'working))
      ;; A value other than nil would change the call.
      nil)))

(defun todo-write-gptel--outcome (result)
  "Return (OUTCOME . EXIT-CODE) of a call that returned RESULT, a string.
gptel passes on an error as its symbol and its data, separated by spaces.
The symbol `error' is also a word; the message that follows it begins
with a capital letter by convention."
  (let ((case-fold-search nil))
    (cond ((string-prefix-p "<tool_call_error>" result) '(refused))
          ((string-match "\\`Command failed with exit code \\([0-9]+\\):" result)
           (cons 'failed (string-to-number (match-string 1 result))))
          ((or (string-match-p "\\`Error: " result)
               (and (string-match "\\`\\([^ ]+\\)\\(?: \\|\\'\\)" result)
                    (memq 'error (get (intern-soft (match-string 1 result))
                                      'error-conditions))
                    (not (string-match-p "\\`error [[:lower:]]" result))))
           '(failed))
          (t '(ok)))))

(provide 'todo-write-gptel)
;;; todo-write-gptel.el ends here
