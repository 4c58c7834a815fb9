;;; todo-write-mcp-helper.el --- An Emacs server and MCP clients  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An Emacs with the socket, like a user's, and clients of the program
;; `todo-write-mcp': that of the npm package @modelcontextprotocol/sdk, and a bare
;; one for lines that the other never sends.  `make agents' builds the program, and
;; bin/setup fetches the client.  If one is missing, the tests are skipped.

;;; Code:

(require 'ert)
(require 'todo-write-test-helper)

(defun todo-write-mcp-helper-file (file)
  "Return the name of FILE in the repository, or skip the test if it is absent."
  (let ((file (expand-file-name file (getenv "TODO_WRITE_ROOT"))))
    (unless (file-exists-p file)
      (ert-skip (format "%s is not there; see bin/setup test and make agents" file)))
    file))

(defun todo-write-mcp-helper-program ()
  "Return the name of the program, or skip the test."
  (or (todo-write-module-find-program)
      (ert-skip "The program is not built; see make agents")))

;;; The Emacs

(cl-defstruct (todo-write-mcp-emacs (:constructor todo-write-mcp-emacs--make))
  "A user's Emacs: its PROCESS, and the SOCKET that programs connect to.
SERVER is the socket by which tests evaluate forms."
  process socket server)

(defun todo-write-mcp-helper-socket ()
  "Return the name of a socket in a new folder."
  (expand-file-name "socket" (make-temp-file "mcp" t)))

(cl-defun todo-write-mcp-emacs-start (&optional socket &key (mode t))
  "Start an Emacs with SOCKET, a new file by default; return it.
MODE nil leaves `todo-write-agents-mode' off."
  (let* ((socket (or socket (todo-write-mcp-helper-socket)))
         (server (expand-file-name "server" (make-temp-file "server" t))))
    (with-environment-variables (("TERM" "dumb"))
      (let* ((command (todo-write-test-emacs))
             (process
              (make-process
               :name "emacs-server" :buffer (generate-new-buffer " *emacs server*")
               :noquery t
               :command (append (list (car command) "-Q" (concat "--fg-daemon=" server))
                                (cddr (seq-difference command '("-Q" "--batch")))
                                (list "--eval" "(require 'todo-write-agents)"
                                      "--eval" (format "(setq todo-write-socket %S)" socket))
                                (and mode '("--eval" "(todo-write-agents-mode)")))))
             (emacs (todo-write-mcp-emacs--make :process process :socket socket :server server)))
        (todo-write-test-wait
         (lambda ()
           (unless (process-live-p process)
             (ert-fail (with-current-buffer (process-buffer process) (buffer-string))))
           (ignore-errors
             (todo-write-mcp-emacs-eval emacs (if mode '(todo-write-socket-state) t)))))
        emacs))))

(defun todo-write-mcp-emacs-stop (emacs)
  "Kill EMACS, as in a crash."
  (let ((process (todo-write-mcp-emacs-process emacs)))
    (when (process-live-p process)
      (kill-process process)
      (todo-write-test-wait (lambda () (not (process-live-p process)))))
    (kill-buffer (process-buffer process))))

(defun todo-write-mcp-emacs-suspend (emacs)
  "Stop EMACS by SIGSTOP, all of its threads; SIGCONT lets it go on."
  (let ((pid (process-id (todo-write-mcp-emacs-process emacs))))
    (signal-process pid 'SIGSTOP)
    (todo-write-test-wait
     (lambda () (equal "T" (alist-get 'state (process-attributes pid)))))))

(defun todo-write-mcp-emacs-eval (emacs form)
  "Return the value of FORM in EMACS."
  (with-temp-buffer
    (unless (eql 0 (call-process "emacsclient" nil t nil "--socket-name"
                                 (todo-write-mcp-emacs-server emacs)
                                 "--eval" (let ((print-escape-newlines t))
                                            (prin1-to-string form))))
      (error "%s" (buffer-string)))
    (goto-char (point-min))
    (read (current-buffer))))

(defun todo-write-mcp-emacs-messages (emacs)
  "Return the text of the buffer *Messages* of EMACS."
  (todo-write-mcp-emacs-eval
   emacs '(with-current-buffer (messages-buffer)
            (buffer-substring-no-properties (point-min) (point-max)))))

(defun todo-write-mcp-emacs-rows (emacs thread)
  "Return THREAD's list in EMACS as a list of (CONTENT . STATUS)."
  (todo-write-mcp-emacs-eval
   emacs `(mapcar (lambda (item) (cons (plist-get item :content) (plist-get item :status)))
                  (todo-write-items ,thread))))

(defun todo-write-mcp-emacs-threads (emacs)
  "Return the keys of the threads of EMACS."
  (todo-write-mcp-emacs-eval emacs '(todo-write-threads)))

;;; Clients

(defun todo-write-mcp-client--start (command)
  "Start COMMAND, which reads and writes lines; return the process."
  (make-process :name "mcp" :buffer (generate-new-buffer " *mcp*") :noquery t
                :stderr (get-buffer-create " *mcp errors*")
                :connection-type 'pipe :coding 'binary :command command))

(cl-defun todo-write-mcp-client-start
    (emacs &key (name "test-client") (root "") (version "1.2"))
  "Start the SDK's client with a server for EMACS; return the process.
NAME and VERSION are its own, ROOT is the URI of its root, or empty."
  (let ((client (todo-write-mcp-client--start
                 (list (executable-find "node")
                       (todo-write-mcp-helper-file "test/hosts/mcp-client.mjs")
                       (todo-write-mcp-helper-file
                        ".deps/mcp/node_modules/@modelcontextprotocol/sdk")
                       name version root (todo-write-mcp-helper-program)
                       "--socket" (todo-write-mcp-emacs-socket emacs)))))
    (should (equal "todo-write"
                   (plist-get (plist-get (todo-write-mcp-read client) :server) :name)))
    client))

(defun todo-write-mcp-raw-start (emacs &rest options)
  "Start the program with OPTIONS without a client, for EMACS; return the process."
  (todo-write-mcp-client--start
   (append (list (todo-write-mcp-helper-program)
                 "--socket" (todo-write-mcp-emacs-socket emacs))
           options)))

(defun todo-write-mcp-send (client line)
  "Send LINE, bytes or a plist, to CLIENT."
  (process-send-string
   client (concat (if (stringp line) line (encode-coding-string (json-serialize line) 'utf-8))
                  "\n")))

(defun todo-write-mcp-read (client)
  "Return the next line of JSON from CLIENT as a plist."
  (with-current-buffer (process-buffer client)
    (todo-write-test-wait
     (lambda ()
       (unless (process-live-p client)
         (accept-process-output client 0.1)
         (unless (progn (goto-char (point-min)) (search-forward "\n" nil t))
           (ert-fail (format "It ended: %s" (buffer-string)))))
       (goto-char (point-min))
       (search-forward "\n" nil t)))
    (prog1 (json-parse-string
            (decode-coding-string (buffer-substring (point-min) (point)) 'utf-8)
            :object-type 'plist :false-object nil :null-object nil)
      (delete-region (point-min) (point)))))

(defun todo-write-mcp-ask (client line)
  "Send LINE to CLIENT and return its answer."
  (todo-write-mcp-send client line)
  (todo-write-mcp-read client))

(defun todo-write-mcp-client-call (client arguments &optional once)
  "Call todo_write by the SDK's CLIENT; return (OK . TEXT), or an error's text.
ARGUMENTS is a plist.  Unless ONCE is non-nil, call again if Emacs did not
answer in time: a busy machine may take longer than the program waits."
  (let (answer)
    (todo-write-test-wait
     (lambda ()
       (setq answer (todo-write-mcp-answer
                     (todo-write-mcp-ask
                      client (list :method "tools/call"
                                   :params (list :name "todo_write" :arguments arguments)))))
       (or once (not (and (consp answer) (string-search "no-emacs]" (cdr answer)))))))
    answer))

(defun todo-write-mcp-answer (result)
  "Return RESULT, a plist, as (OK . TEXT), or as the text of an error."
  (or (plist-get result :error)
      (cons (not (plist-get result :isError))
            (plist-get (aref (plist-get result :content) 0) :text))))

(defun todo-write-mcp-end (process)
  "Close the input of PROCESS, and wait until it exits."
  (when (process-live-p process)
    (process-send-eof process)
    (todo-write-test-wait (lambda () (not (process-live-p process)))))
  (kill-buffer (process-buffer process)))

(provide 'todo-write-mcp-helper)
;;; todo-write-mcp-helper.el ends here
