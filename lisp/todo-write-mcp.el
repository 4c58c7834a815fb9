;;; todo-write-mcp.el --- The tool todo_write for MCP clients  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Agents outside of Emacs (Claude Code, Codex, Gemini CLI, ...) get the tool
;; `todo_write' from the program `todo-write-mcp', an MCP server that passes each
;; call to this Emacs through `emacsclient'.  This file handles these calls.
;; `M-x todo-write-mcp-setup' tells how to add the server to an agent.
;;
;; A session has the same thread key as in `todo-write-follow', so that thoughts and
;; tool calls from its transcript are in the same plan.

;;; Code:

(require 'map)
(require 'subr-x)
(require 'todo-write)

(defconst todo-write-mcp-quiet 600
  "Seconds without a call after which a session is paused.
The protocol does not report the end of a turn.")

(defconst todo-write-mcp--clients
  '(("claude-code" "Claude Code" "claude")
    ("codex-mcp-client" "Codex" "codex")
    ("copilot-cli" "Copilot CLI")
    ("cursor-vscode" "Cursor")
    ("gemini-cli-mcp-client" "Gemini CLI")
    ("goose" "Goose")
    ("opencode" "opencode"))
  "MCP clients, a list of (NAME LABEL [PREFIX]).
NAME is what the client calls itself, and LABEL what users read.  PREFIX is
that of the thread keys, for clients whose transcripts can be followed.")

(defvar todo-write-mcp--sessions (make-hash-table :test #'equal)
  "Sessions that made a call and have not ended, by thread key.
A value is (PROCESS . TIME): the process id of the MCP server, and the time
of the last call.")

(defvar todo-write-mcp--timer nil
  "Timer that finds sessions whose server was killed, or nil.")

;;; The call

;;;###autoload
(defun todo-write-mcp-call (call)
  "Handle CALL from the program `todo-write-mcp', and return the answer.
Both are JSON objects in base64.  The answer has \"text\" for the agent,
and \"error\", which is true if its list was refused.  The program calls no
other function."
  (let ((answer (condition-case error
                    (todo-write-mcp--handle (todo-write-mcp--read call))
                  (error (cons nil (error-message-string error))))))
    (base64-encode-string
     (encode-coding-string
      (json-serialize (list :text (todo-write-mcp--unicode (cdr answer))
                            :error (if (car answer) :false t)))
      'utf-8)
     t)))

(defun todo-write-mcp--read (call)
  "Return CALL, JSON in base64, as a plist.
If CALL is large, it only has the name of a file with it."
  (let ((call (todo-write-mcp--parse (base64-decode-string call))))
    (if-let ((file (plist-get call :file)))
        (with-temp-buffer
          (set-buffer-multibyte nil)
          (let ((file-name-handler-alist nil))
            (insert-file-contents-literally file))
          (todo-write-mcp--parse (buffer-string)))
      call)))

(defun todo-write-mcp--parse (bytes)
  "Return the JSON in BYTES as a plist."
  (json-parse-string (decode-coding-string bytes 'utf-8)
                     :object-type 'plist :null-object nil))

(defun todo-write-mcp--unicode (text)
  "Return TEXT with characters replaced that JSON cannot represent."
  (replace-regexp-in-string "[^\0-\ud7ff\ue000-\U0010ffff]" "?" text))

(defun todo-write-mcp--handle (call)
  "Handle CALL, a plist; return (OK . TEXT), the answer."
  ;; The program has given up, and has told the agent to go on without the list.
  (when (< (plist-get call :until) (* 1000 (float-time)))
    (error "Too late"))
  (cond
   ((plist-get call :check)
    (cons t (format "Emacs %s, process %d, answers with todo-write %s."
                    emacs-version (emacs-pid) todo-write-version)))
   ((plist-member call :ended)
    (seq-doseq (session (plist-get call :ended))
      (todo-write-mcp--session-ended session))
    (cons t "Ended."))
   (t (todo-write-mcp--write call))))

(defun todo-write-mcp--write (call)
  "Write the list in CALL; return (OK . TEXT)."
  ;; The agent must not wait until the user answers a question about a download.
  (let* ((todo-write-module-source nil)
         (thread (todo-write-mcp--thread call)))
    (todo-write-mcp--begin thread call)
    (let ((outcome (todo-write thread (plist-get call :arguments)
                               (todo-write-mcp--client call))))
      (cons (plist-get outcome :ok) (plist-get outcome :result)))))

;;; The session

(defun todo-write-mcp--client (call)
  "Return the name of the client of CALL that users read."
  (let ((name (plist-get call :client)))
    (or (cadr (assoc name todo-write-mcp--clients))
        (todo-write-mcp--key-part name))))

(defun todo-write-mcp--key-part (text)
  "Return TEXT, which a client sent, as a part of a thread key."
  (truncate-string-to-width
   (replace-regexp-in-string "[^[:alnum:]._-]" "-" text) 100))

(defun todo-write-mcp--thread (call)
  "Return the key of the thread of CALL.
Each process of a client that does not name its session has its own thread."
  (let* ((client (plist-get call :client))
         (session (plist-get call :session))
         (prefix (nth 2 (assoc client todo-write-mcp--clients))))
    (cond
     ((and session prefix) (concat prefix ":" (todo-write-mcp--key-part session)))
     (session (format "mcp:%s:%s" (todo-write-mcp--key-part client)
                      (todo-write-mcp--key-part session)))
     (t (format "mcp:%s:%d-%d" (todo-write-mcp--key-part client)
                (plist-get call :process) (plist-get call :started))))))

(defun todo-write-mcp--begin (thread call)
  "Set the agent of THREAD, which made CALL, to working.
At its first call, set the project and the title of THREAD."
  (unless (gethash thread todo-write-mcp--sessions)
    (let ((project (todo-write-mcp--project call)))
      (todo-write-begin thread :project project)
      (unless (plist-get (todo-write-summary thread) :title)
        (todo-write-observe
         thread "TITLE"
         (format "%s in %s" (todo-write-mcp--client call)
                 (file-name-nondirectory (directory-file-name project)))))))
  (puthash thread (cons (plist-get call :process) (float-time))
           todo-write-mcp--sessions)
  (todo-write-set-activity thread 'working)
  (unless todo-write-mcp--timer
    (setq todo-write-mcp--timer (run-at-time 5 5 #'todo-write-mcp--check-sessions))))

(defun todo-write-mcp--project (call)
  "Return the root of the project in which the agent of CALL works.
The client sent the name, so it is never treated as a remote file."
  (let* ((file-name-handler-alist nil)
         (folder (plist-get call :project))
         (default-directory (if (and (file-name-absolute-p folder)
                                     (file-directory-p folder))
                                (file-name-as-directory folder)
                              (expand-file-name "~/"))))
    (todo-write--project)))

(defun todo-write-mcp--session-ended (session)
  "Pause the plan of SESSION, unless another process serves it now."
  (let* ((thread (todo-write-mcp--thread session))
         (known (gethash thread todo-write-mcp--sessions)))
    (when (or (not known) (eql (car known) (plist-get session :process)))
      (todo-write-mcp--end-session thread "session ended"))))

(defun todo-write-mcp-pid (thread)
  "Return the process id of the server for the agent of THREAD, or nil."
  (car (gethash thread todo-write-mcp--sessions)))

(defun todo-write-mcp--end-session (thread reason)
  "End the turn of THREAD for REASON, and forget its session."
  (remhash thread todo-write-mcp--sessions)
  ;; The thread may be from a previous Emacs.
  (when (todo-write-restore thread)
    (todo-write-end-turn thread reason)))

(defun todo-write-mcp--check-sessions ()
  "Pause the plans of sessions whose server was killed, or that are quiet."
  (pcase-dolist (`(,thread ,process . ,time) (map-pairs todo-write-mcp--sessions))
    (cond ((not (eql 0 (signal-process process 0)))
           (todo-write-mcp--end-session thread "agent exited"))
          ((> (- (float-time) time) todo-write-mcp-quiet)
           (todo-write-mcp--end-session thread "no call for a while"))))
  (when (and (hash-table-empty-p todo-write-mcp--sessions) todo-write-mcp--timer)
    (cancel-timer todo-write-mcp--timer)
    (setq todo-write-mcp--timer nil)))

(provide 'todo-write-mcp)
;;; todo-write-mcp.el ends here
