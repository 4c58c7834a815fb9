;;; todo-write-mcp.el --- The tool todo_write for MCP clients  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Agents outside of Emacs (Claude Code, Codex, Gemini CLI, ...) get the tool
;; `todo_write' from the program `todo-write-mcp', an MCP server that hands each
;; call to this Emacs through `emacsclient'.  This file takes the call and
;; answers it.  `M-x todo-write-mcp-setup' tells an agent of the program.
;;
;; A session's thread is the one that `todo-write-follow' would give it, so
;; that what its transcript adds stands in the same plan.

;;; Code:

(require 'subr-x)
(require 'todo-write)

(defconst todo-write-mcp-quiet 600
  "Seconds without a call after which a session is taken for paused.
The protocol does not tell of the end of a turn.")

(defconst todo-write-mcp--clients
  '(("claude-code" "Claude Code" "claude")
    ("codex-mcp-client" "Codex" "codex")
    ("copilot-cli" "Copilot CLI")
    ("cursor-vscode" "Cursor")
    ("gemini-cli-mcp-client" "Gemini CLI")
    ("goose" "Goose")
    ("opencode" "opencode"))
  "MCP clients: the name they tell, the one to show, and the prefix of thread keys.
The prefix is there for clients whose transcripts can be followed.")

(defvar todo-write-mcp--sessions (make-hash-table :test #'equal)
  "Sessions that made a call and have not ended, by the key of their thread.
A value is (PROCESS . TIME), the id of the process of the MCP server,
and when the last call came.")

(defvar todo-write-mcp--timer nil
  "The timer that looks for sessions that ended without saying so, or nil.")

;;; The call

;;;###autoload
(defun todo-write-mcp-call (call)
  "Take CALL from the program `todo-write-mcp', and return the answer.
CALL is an object as base64 of JSON, and so is the answer: \"text\" for
the agent, and \"error\", true if its list was not taken.  This is the
only function which that program calls."
  (let ((answer (condition-case error
                    (todo-write-mcp--take (todo-write-mcp--read call))
                  (error (cons nil (error-message-string error))))))
    (base64-encode-string
     (encode-coding-string
      (json-serialize (list :text (todo-write-mcp--unicode (cdr answer))
                            :error (if (car answer) :false t)))
      'utf-8)
     t)))

(defun todo-write-mcp--read (call)
  "Return CALL, base64 of JSON, as a plist.
A large call is in a file, whose name CALL has in its place."
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
  "Return TEXT without what JSON cannot have."
  (replace-regexp-in-string "[^\0-\ud7ff\ue000-\U0010ffff]" "?" text))

(defun todo-write-mcp--take (call)
  "Take CALL, a plist; return (OK . TEXT), the answer."
  ;; Its sender waits no longer, and has told the agent to go on without.
  (when (< (plist-get call :until) (* 1000 (float-time)))
    (error "Too late"))
  (cond
   ((plist-get call :check)
    (cons t (format "Emacs %s, process %d, answers with todo-write %s."
                    emacs-version (emacs-pid) todo-write-version)))
   ((plist-member call :ended)
    (seq-doseq (session (plist-get call :ended))
      (todo-write-mcp--ended session))
    (cons t "Ended."))
   (t (todo-write-mcp--write call))))

(defun todo-write-mcp--write (call)
  "Write the list in CALL; return (OK . TEXT)."
  ;; A question would keep the agent waiting, where there is none to answer it.
  (let* ((todo-write-module-source nil)
         (thread (todo-write-mcp--thread call)))
    (todo-write-mcp--begin thread call)
    (let ((outcome (todo-write thread (plist-get call :arguments)
                               (todo-write-mcp--client call))))
      (cons (plist-get outcome :ok) (plist-get outcome :result)))))

;;; The session

(defun todo-write-mcp--client (call)
  "Return the name of the client of CALL, as shown to the user."
  (let ((name (plist-get call :client)))
    (or (cadr (assoc name todo-write-mcp--clients))
        (todo-write-mcp--word name))))

(defun todo-write-mcp--word (text)
  "Return TEXT, told by a client, as a part of a thread's key."
  (truncate-string-to-width
   (replace-regexp-in-string "[^[:alnum:]._-]" "-" text) 100))

(defun todo-write-mcp--thread (call)
  "Return the key of the thread of CALL.
A client that does not name its session has one in each of its processes."
  (let* ((client (plist-get call :client))
         (session (plist-get call :session))
         (prefix (nth 2 (assoc client todo-write-mcp--clients))))
    (cond
     ((and session prefix) (concat prefix ":" (todo-write-mcp--word session)))
     (session (format "mcp:%s:%s" (todo-write-mcp--word client)
                      (todo-write-mcp--word session)))
     (t (format "mcp:%s:%d-%d" (todo-write-mcp--word client)
                (plist-get call :process) (plist-get call :started))))))

(defun todo-write-mcp--begin (thread call)
  "Say that the agent of THREAD, which made CALL, is at work.
Before its first call, say what the thread is about."
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
    (setq todo-write-mcp--timer (run-at-time 5 5 #'todo-write-mcp--look))))

(defun todo-write-mcp--project (call)
  "Return the root of the project in which the agent of CALL works.
The name is a client's, so no handler of remote files gets it."
  (let* ((file-name-handler-alist nil)
         (folder (plist-get call :project))
         (default-directory (if (and (file-name-absolute-p folder)
                                     (file-directory-p folder))
                                (file-name-as-directory folder)
                              (expand-file-name "~/"))))
    (todo-write--project)))

(defun todo-write-mcp--ended (session)
  "Pause the plan of SESSION, unless another process serves it by now."
  (let* ((thread (todo-write-mcp--thread session))
         (known (gethash thread todo-write-mcp--sessions)))
    (when (or (not known) (eql (car known) (plist-get session :process)))
      (todo-write-mcp--rest thread "session ended"))))

(defun todo-write-mcp-pid (thread)
  "Return the process of the server that serves the agent of THREAD, or nil."
  (car (gethash thread todo-write-mcp--sessions)))

(defun todo-write-mcp--rest (thread reason)
  "Say that the agent of THREAD works no more, for REASON."
  (remhash thread todo-write-mcp--sessions)
  ;; The thread may be one of an Emacs before this one.
  (when (todo-write-restore thread)
    (todo-write-end-turn thread reason)))

(defun todo-write-mcp--look ()
  "Look for sessions whose process was killed, or that have long been quiet."
  (let ((now (float-time)) gone)
    (maphash (lambda (thread session)
               (cond
                ((not (eql 0 (signal-process (car session) 0)))
                 (push (cons thread "agent exited") gone))
                ((> (- now (cdr session)) todo-write-mcp-quiet)
                 (push (cons thread "no call for a while") gone))))
             todo-write-mcp--sessions)
    (pcase-dolist (`(,thread . ,reason) gone)
      (todo-write-mcp--rest thread reason)))
  (when (and (hash-table-empty-p todo-write-mcp--sessions) todo-write-mcp--timer)
    (cancel-timer todo-write-mcp--timer)
    (setq todo-write-mcp--timer nil)))

(provide 'todo-write-mcp)
;;; todo-write-mcp.el ends here
