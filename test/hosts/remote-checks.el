;;; remote-checks.el --- The tool on another machine  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The genuine Claude Code, and the bare program, on a host that is reached by a
;; genuine sshd: the tool and the dialogs come by a forwarded socket or port.  The
;; tunnel is cut and restored.  A namespace without a network has the socket mounted,
;; as a container has.  remote.sh runs this.

;;; Code:

(require 'claude-checks)
(require 'remote-helper)
(require 'todo-write-doctor)
(require 'todo-write-mcp-helper)
(require 'todo-write-permission)
(require 'todo-write-remote-setup)
(require 'todo-write-visit)

(defun remote-checks--socket (name)
  "Return the name of the forwarded socket NAME on the host."
  (remote-file (format ".todo-write/%s.socket" name)))

(defun remote-checks--open-tunnel (name &optional machine)
  "Forward the host's socket NAME to that of MACHINE, by default build."
  (remote-tunnel (remote-checks--socket name)
                 (todo-write-remote-socket--file (or machine "build"))))

(defconst remote-checks--program "~/.todo-write/bin/todo-write-mcp"
  "The program on the host.")

(defun remote-checks--client (&rest options)
  "Start the program on the host with OPTIONS, as Claude Code in session s1."
  (let ((client (todo-write-mcp-client--start
                 (list "ssh" "build"
                       (format "cd garden && CLAUDE_CODE_SESSION_ID=s1 %s %s"
                               remote-checks--program (string-join options " "))))))
    (remote-checks--initialize client)
    client))

(defun remote-checks--initialize (client)
  "Begin the session of CLIENT."
  (todo-write-mcp-ask
   client `(:jsonrpc "2.0" :id 0 :method "initialize"
            :params (:protocolVersion "2025-11-25" :capabilities ,(make-hash-table)
                     :clientInfo (:name "claude-code" :version "2"))))
  (todo-write-mcp-send client '(:jsonrpc "2.0" :method "notifications/initialized")))

(defun remote-checks--write (client content)
  "Write the task CONTENT by CLIENT; return (OK . TEXT)."
  (todo-write-mcp-answer
   (plist-get
    (todo-write-mcp-ask
     client (list :jsonrpc "2.0" :id 1 :method "tools/call"
                  :params (list :name "todo_write"
                                :arguments (todo-write-test-todos (list content "in_progress")))))
    :result)))

(defun remote-checks--contents (thread)
  "Return the contents of the tasks of THREAD."
  (mapcar (lambda (item) (plist-get item :content)) (todo-write-items thread)))

(defun remote-checks--answers-p (answer)
  "Return non-nil if ANSWER of a check is that of this Emacs."
  (string-match-p (format ", process %d," (emacs-pid)) (cdr answer)))

;;; The server's sshd

(ert-deftest remote-checks-sshd-keeps-sockets-and-each-connection-needs-another-name ()
  (remote-with-host
    (let ((tunnel (remote-checks--open-tunnel "a")))
      (should (remote-checks--answers-p (remote-run "%s --check" remote-checks--program)))
      ;; At its ordinary end, too.
      (signal-process tunnel 'TERM)
      (todo-write-test-wait (lambda () (not (process-live-p tunnel))))
      (should (file-exists-p (remote-checks--socket "a"))))
    (let ((again (remote-checks--open-tunnel "a")))
      (todo-write-test-wait (lambda () (not (process-live-p again)))))
    (should-not (remote-checks--answers-p (remote-run "%s --check" remote-checks--program)))
    (let ((other (remote-checks--open-tunnel "b")))
      (should (remote-checks--answers-p (remote-run "%s --check" remote-checks--program)))
      (remote-cut other))
    ;; Dead ones are deleted once they are no longer new.
    (dolist (name '("a" "b"))
      (set-file-times (remote-checks--socket name) (time-subtract nil 60)))
    (should-not (remote-checks--answers-p (remote-run "%s --check" remote-checks--program)))
    (dolist (name '("a" "b"))
      (should-not (file-exists-p (remote-checks--socket name))))))

(ert-deftest remote-checks-only-the-server-can-let-a-name-be-used-again ()
  (remote-with-host
    (remote-stop-sshd)
    (remote-start-sshd "StreamLocalBindUnlink yes")
    (remote-cut (remote-checks--open-tunnel "a"))
    (should (file-exists-p (remote-checks--socket "a")))
    (set-file-times (remote-checks--socket "a") (time-subtract nil 60))
    (let ((tunnel (remote-tunnel (remote-checks--socket "a")
                                 (todo-write-remote-socket--file "build"))))
      (todo-write-test-wait
       (lambda ()
         (or (not (process-live-p tunnel))
             (remote-checks--answers-p (remote-run "%s --check" remote-checks--program)))))
      (should (process-live-p tunnel))
      (remote-cut tunnel))))

;;; Two machines

(ert-deftest remote-checks-two-machines-with-one-session-are-two-plans ()
  (remote-with-host
    (setq todo-write-remotes (append todo-write-remotes '(("other" :prefix "/ssh:other:"))))
    (todo-write-mcp-mode -1)
    (todo-write-mcp-mode)
    (let* ((tunnels (list (remote-checks--open-tunnel "a") (remote-checks--open-tunnel "b" "other")))
           (clients (mapcar (lambda (name)
                              (remote-checks--client "--socket" (remote-checks--socket name)))
                            '("a" "b"))))
      (should (car (remote-checks--write (car clients) "One")))
      (should (car (remote-checks--write (cadr clients) "Two")))
      (should (equal '("One") (remote-checks--contents "build/claude:s1")))
      (should (equal '("Two") (remote-checks--contents "other/claude:s1")))
      (should (equal (format "/ssh:build:%s/garden/" remote-home)
                     (plist-get (todo-write-about "build/claude:s1") :project)))
      (should (equal (format "/ssh:other:%s/garden/" remote-home)
                     (plist-get (todo-write-about "other/claude:s1") :project)))
      (mapc #'todo-write-mcp-end clients)
      (mapc #'remote-cut tunnels))))

;;; The ends of tunnels and agents

(ert-deftest remote-checks-a-tunnel-that-was-cut-is-taken-up-again ()
  (remote-with-host
    (let ((tunnel (remote-checks--open-tunnel "a"))
          (client (remote-checks--client))
          (key "build/claude:s1"))
      (should (car (remote-checks--write client "One")))
      (remote-cut tunnel)
      (todo-write-test-wait (lambda () (null (todo-write-activity key))))
      (should (eq 'active (todo-write-state key)))
      (should-not (car (remote-checks--write client "Lost")))
      (setq tunnel (remote-checks--open-tunnel "b"))
      (should (car (remote-checks--write client "Two")))
      (should (equal '("Two") (remote-checks--contents key)))
      (should (equal 1 (length (todo-write-threads))))
      ;; This is the agent's end.
      (todo-write-mcp-end client)
      (todo-write-test-wait (lambda () (eq 'paused (todo-write-state key))))
      (should (equal "session ended" (plist-get (todo-write-summary key) :reason)))
      (remote-cut tunnel))))

(ert-deftest remote-checks-a-killed-sshd-stops-the-clock-only ()
  (remote-with-host
    (remote-checks--open-tunnel "a")
    (let ((client (remote-checks--client)))
      (should (car (remote-checks--write client "One")))
      (remote-stop-sshd)
      (todo-write-test-wait (lambda () (null (todo-write-activity "build/claude:s1"))))
      (should (eq 'active (todo-write-state "build/claude:s1")))
      (should-not (plist-get (todo-write-times "build/claude:s1" "t1") :running)))))

;;; A port

(ert-deftest remote-checks-a-port-needs-the-token ()
  (remote-with-host
    (let ((port (todo-write-mock--free-port)) tunnel)
      (setq todo-write-remotes `(("build" :prefix "/ssh:build:" :port ,port)))
      (todo-write-mcp-mode -1)
      (todo-write-mcp-mode)
      ;; The host is this machine, so the port there has another number.
      (let* ((there (todo-write-mock--free-port))
             (token (with-temp-buffer
                      (insert-file-contents (todo-write-remote-socket--token-file "build"))
                      (buffer-string)))
             (name (format ".todo-write/%d.token" there)))
        (setq tunnel (remote-tunnel (format "127.0.0.1:%d" there) (format "127.0.0.1:%d" port)))
        (should-not (remote-checks--answers-p (remote-run "%s --check" remote-checks--program)))
        (remote-write name (concat (make-string 64 ?0) "\n"))
        (should-not (remote-checks--answers-p (remote-run "%s --check" remote-checks--program)))
        (remote-write name token)
        (should (remote-checks--answers-p (remote-run "%s --check" remote-checks--program)))
        (remote-write "token" token)
        (should (remote-checks--answers-p
                 (remote-run "%s --check --tcp %d --token token" remote-checks--program there)))
        ;; Who listens there in place of Emacs gets no token and no call.
        (remote-cut tunnel)
        (let* ((heard "")
               ;; The server keeps the port for a moment.
               (impostor
                (todo-write-test-wait
                 (lambda ()
                   (ignore-errors
                     (make-network-process
                      :name "test-program" :server t :family 'ipv4 :host "127.0.0.1"
                      :service there :noquery t
                      :filter (lambda (process text)
                                (setq heard (concat heard text))
                                (process-send-string process "{\"type\":\"welcome\"}\n"))
                      :log (lambda (_server process _message)
                             (process-send-string
                              process "{\"type\":\"challenge\",\"nonce\":\"n\"}\n")))))))
               (client (remote-checks--client)))
          (should (string-search "not the user's Emacs" (cdr (remote-checks--write client "Secret"))))
          (should (string-search "hello" heard))
          (should-not (string-search (string-trim token) heard))
          (should-not (string-search "Secret" heard))
          (todo-write-mcp-end client)
          (delete-process impostor))))))

;;; A container

(ert-deftest remote-checks-a-namespace-without-a-network-reaches-a-mounted-socket ()
  (let ((todo-write-remotes '(("dev" :prefix "/docker:dev:"))))
    (todo-write-with-socket
      (let* ((folder (file-name-directory (todo-write-remote-socket--file "dev")))
             (mount (make-temp-file "mount" t))
             (client (todo-write-mcp-client--start
                      (list "unshare" "--net" "--mount" "--pid" "--fork" "sh" "-c"
                            "mount --bind \"$1\" \"$2\" && CLAUDE_CODE_SESSION_ID=s1 exec \"$3\" --socket \"$2/socket\""
                            "sh" folder mount (todo-write-mcp-helper-program)))))
        (remote-checks--initialize client)
        (should (car (remote-checks--write client "One")))
        (should (equal '("One") (remote-checks--contents "dev/claude:s1")))
        (should (string-prefix-p "/docker:dev:/" (plist-get (todo-write-about "dev/claude:s1")
                                                            :project)))
        ;; After a restart of Emacs, the folder has its new socket.
        (todo-write-mcp-mode -1)
        (todo-write-mcp-mode)
        (should (car (remote-checks--write client "Two")))
        (should (equal '("Two") (remote-checks--contents "dev/claude:s1")))
        (todo-write-mcp-end client)))))

;;; The setup

(ert-deftest remote-checks-the-lines-of-the-setup-work-as-they-are ()
  (remote-with-host
    (delete-directory (remote-file ".todo-write") t)
    (let ((default-directory (format "/ssh:build:%s/garden/" remote-home))
          (kill-ring nil) (interprogram-cut-function nil)
          (todo-write-mcp-program (todo-write-mcp-helper-program)))
      (todo-write-mcp-setup "Codex")
      (let* ((text (with-current-buffer "*todo-write MCP*" (buffer-string)))
             (lines (split-string text "\n"))
             (program (seq-filter (lambda (line) (string-search "bin" line))
                                  (seq-filter (lambda (line) (string-prefix-p "ssh build '" line))
                                              lines)))
             (line (seq-find (lambda (line) (string-prefix-p "ssh build -R" line)) lines)))
        (should (= 2 (length program)))
        (let ((default-directory "/"))
          (dolist (line program)
            (should (eql 0 (call-process "sh" nil nil nil "-c" line)))))
        (should (file-executable-p (remote-file ".todo-write/bin/todo-write-mcp")))
        ;; The program is there now, and says what the agent needs there.
        (todo-write-mcp-setup "Codex")
        (with-current-buffer "*todo-write MCP*"
          (todo-write-test-wait (lambda () (null mode-line-process)))
          (should (string-search "\n  codex mcp add" (buffer-string)))
          (kill-buffer))
        (let ((default-directory "/"))
          (should (equal (format "codex mcp add todo-write -- %s/.todo-write/bin/todo-write-mcp"
                                 remote-home)
                         (car kill-ring)))
          ;; The doctor asks that host, since a folder there is open.
          (should (eq 'problem (car (todo-write-remote-setup--finding "build"))))
          (let ((tunnel (start-process "tunnel" nil "sh" "-c" (concat "exec " line " -N"))))
            (todo-write-test-wait
             (lambda () (directory-files (remote-file ".todo-write") nil "\\.socket\\'")))
            (should (equal '(ok "build: a call from there reached this Emacs")
                           (todo-write-remote-setup--finding "build")))
            (remote-cut tunnel)))))))

;;; The genuine Claude Code

(defun remote-checks--hooks ()
  "Return the settings of Claude Code that the setup shows."
  (with-temp-buffer
    (call-process (remote-file ".todo-write/bin/todo-write-mcp") nil t nil "setup" "claude-plugin")
    (goto-char (point-min))
    (re-search-forward "^Without the plugin")
    (re-search-forward "^{")
    (backward-char)
    (json-parse-buffer :object-type 'plist)))

(defun remote-checks--with-claude (steps function)
  "Call FUNCTION while Claude Code works by STEPS on the host, in a terminal."
  (remote-with-host
    (let ((claude-checks-home remote-home)
          (claude-checks-folder (file-name-as-directory (remote-file "garden")))
          (claude-checks-allowed ["mcp__todo-write"])
          (claude-checks-servers
           `(:todo-write (:command ,(remote-file ".todo-write/bin/todo-write-mcp") :args [])))
          claude-checks-process)
      (claude-checks-seed (remote-checks--hooks))
      (remote-own)
      (todo-write-with-mock port (claude-checks-script steps nil)
        (unwind-protect
            (progn
              (setq claude-checks-process (remote-start-claude port "'Go on'"))
              (funcall function))
          (claude-checks-stop))))))

(ert-deftest remote-checks-claude-code-has-the-tool-there-and-is-answered-here ()
  (let ((list (lambda (content status)
                (cons "mcp__todo-write__todo_write"
                      (todo-write-test-todos (list content status))))))
    (remote-checks--with-claude
     (list (list (funcall list "Rake" "in_progress"))
           (list '("Bash" :command "touch one" :description "Make it"))
           (list (funcall list "Rake" "in_progress"))
           (list '("Bash" :command "touch two" :description "Make it"))
           (list (funcall list "Rake" "completed"))
           "Done.")
     (lambda ()
       (let ((tunnel (remote-checks--open-tunnel "a")) key start)
         (claude-checks-wait "the plan" (lambda () (setq key (car (todo-write-threads)))))
         (should (equal (concat "build/claude:" (claude-checks-own :sessionId)) key))
         (should (equal (format "/ssh:build:%s/garden/" remote-home)
                        (plist-get (todo-write-about key) :project)))
         (should (equal key (plist-get (remote-checks--request "Bash: touch one") :thread)))
         ;; The user adds a task, and the tunnel is cut: the dialog stays in the terminal.
         (todo-write-edit key 'add "Weed")
         (remote-cut tunnel)
         (claude-checks-wait "the end of the tunnel"
                             (lambda () (and (null (todo-write-requests))
                                             (null (todo-write-activity key)))))
         (should (eq 'active (todo-write-state key)))
         (claude-checks-wait "its dialog" (lambda () (equal "waiting" (claude-checks-own :status))))
         (setq tunnel (remote-checks--open-tunnel "b")
               start (float-time))
         (claude-checks-wait "its activity" (lambda () (todo-write-activity key)))
         (message "Its activity was known %.1f s after the tunnel was back" (- (float-time) start))
         (claude-checks-press "\r" "waiting")
         ;; The next dialog is answered here.
         (let ((request (remote-checks--request "Bash: touch two")))
           (should (equal '("Rake" "Weed") (remote-checks--contents key)))
           (should (file-exists-p (remote-file "garden/one")))
           (should-not (file-exists-p (remote-file "garden/two")))
           (should (todo-write-answer-request key (plist-get request :id) '(:behavior "allow"))))
         (claude-checks-wait "the file" (lambda () (file-exists-p (remote-file "garden/two"))))
         (todo-write-visit--open-file key (remote-file "garden/two"))
         (should (equal (concat "/ssh:build:" (remote-file "garden/two")) buffer-file-name))
         (kill-buffer)
         (claude-checks-wait
          "the end" (lambda ()
                      (equal '("completed" "pending")
                             (mapcar (lambda (item) (plist-get item :status))
                                     (todo-write-items key)))))
         (should (equal 1 (length (todo-write-threads))))
         (remote-cut tunnel))))))

(defun remote-checks--request (title)
  "Wait until an agent asks for TITLE, and return the request."
  (let (request)
    (claude-checks-wait (concat "the request " title)
                        (lambda ()
                          (setq request (seq-find (lambda (request)
                                                    (equal title (plist-get request :title)))
                                                  (todo-write-requests)))))
    request))

(provide 'remote-checks)
;;; remote-checks.el ends here
