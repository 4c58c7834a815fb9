;;; remote-checks.el --- Agents on another machine  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The genuine Claude Code and Codex work on a host that is reached by a genuine sshd, by
;; `todo-write-connect': their plans, what they do, their questions and the user's edits.
;; The connection is cut, killed and stopped.  A namespace without a network
;; stands for a container.  How long Emacs was blocked is printed.  remote.sh runs this.

;;; Code:

(require 'claude-checks)
(require 'remote-helper)
(require 'todo-write-attention)
(require 'todo-write-mcp-helper)
(require 'todo-write-permission)
(require 'todo-write-visit)

;;; Blocks of Emacs

(defconst remote-checks--idle
  "(let ((last (float-time)) (longest 0))
     (run-with-timer 0 0.005
                     (lambda ()
                       (let ((now (float-time)))
                         (when (> (- now last) longest)
                           (message \"%d\" (* 1000 (setq longest (- now last)))))
                         (setq last now))))
     (while t (accept-process-output nil 1)))"
  "What an Emacs does that measures how long this machine stops it.")

(defmacro remote-checks--unblocked (what &rest body)
  "Evaluate BODY, print how long Emacs was blocked at most, and fail if it hung.
WHAT says in words what happens in it.  Collections of garbage are
subtracted; an idle Emacs beside it shows what is due to the load of this
machine."
  (declare (indent 1) (debug t))
  `(let* ((idle (make-process :name "idle" :buffer (generate-new-buffer " *idle*") :noquery t
                              :connection-type 'pipe
                              :command (list (getenv "EMACS") "-Q" "--batch" "--eval"
                                             remote-checks--idle)))
          (longest 0) (last (float-time)) (collected gc-elapsed)
          (timer (run-with-timer 0 0.005
                                 (lambda ()
                                   (let ((now (float-time)))
                                     (setq longest (max longest (- now last
                                                                   (- gc-elapsed collected)))
                                           last now
                                           collected gc-elapsed))))))
     (unwind-protect
         (prog1 (progn ,@body)
           (message "%s: Emacs was blocked for at most %.0f ms, an idle Emacs beside it %s ms"
                    ,what (* 1000 longest)
                    (with-current-buffer (process-buffer idle)
                      (or (car (last (split-string (buffer-string)))) "?")))
           (should (< longest 2)))
       (cancel-timer timer)
       (delete-process idle)
       (kill-buffer (process-buffer idle)))))

(defun remote-checks--lag (what there here)
  "Wait until THERE and then HERE return non-nil; print the time between.
WHAT says in words what both tell."
  (claude-checks-wait (concat what " there") there)
  (let ((start (float-time)))
    (claude-checks-wait (concat what " here") here)
    (message "%s: seen here after %.1f s" what (- (float-time) start))))

;;; The host

(defun remote-checks--hooks ()
  "Return settings of Claude Code with the hooks of the plugin."
  (cl-flet ((hook (role seconds)
              `[(:hooks [(:type "command" :timeout ,seconds
                          :command ,(concat (remote-file ".todo-write/bin/todo-write-mcp")
                                            " " role))])]))
    (list :hooks (list :PermissionRequest (hook "permission" 570)
                       :PostToolUse (hook "note" 5)
                       :Stop (hook "note" 5)))))

(defun remote-checks--with-claude (steps subagent function)
  "Call FUNCTION while Claude Code works by STEPS on the host, in a terminal.
SUBAGENT is a list of the steps of a subagent."
  (remote-with-host
    (let ((claude-checks-home remote-home)
          (claude-checks-folder (file-name-as-directory (remote-file "garden")))
          (claude-checks-servers
           `(:todo-write (:command ,(remote-file ".todo-write/bin/todo-write-mcp") :args [])))
          claude-checks-process)
      (claude-checks-seed (remote-checks--hooks))
      (remote-own)
      (remote-connect "build")
      (todo-write-with-mock port (claude-checks-script steps subagent)
        (unwind-protect
            (progn
              (setq claude-checks-process
                    (remote-start-claude port "'Go on'" "CLAUDE_CODE_ENABLE_TASKS=0"))
              (funcall function))
          (claude-checks-stop))))))

(defun remote-checks--key ()
  "Return the key of the session here, or nil."
  (and (claude-checks-own :sessionId) (concat "build/claude:" (claude-checks-own :sessionId))))

(defun remote-checks--rows ()
  "Return the list of the session as (CONTENT . STATUS)."
  (claude-checks-rows (remote-checks--key)))

(defun remote-checks--list (content status)
  "Return a call of the tool with the task CONTENT of STATUS."
  (cons "mcp__todo-write__todo_write" (todo-write-test-todos (list content status))))

(defun remote-checks--request (title)
  "Wait until an agent asks for TITLE, and return the request."
  (let (request)
    (claude-checks-wait (format "the request %s of %S" title (todo-write-requests))
                        (lambda ()
                          (setq request (seq-find (lambda (request)
                                                    (equal title (plist-get request :title)))
                                                  (todo-write-requests)))))
    request))

(defun remote-checks--gate (name)
  "Return a call that ends when the gate NAME is open on the host."
  `("Bash" :command ,(hosts-gate-command (remote-file name))
    :description ,(concat "Wait for " name)))

(defun remote-checks--open (name)
  "Open the gate NAME on the host."
  (write-region "" nil (remote-file (concat name ".gate")) nil 'silent))

;;; The genuine Claude Code

(ert-deftest remote-checks-claude-code-has-the-tool-there-and-is-answered-here ()
  (let ((claude-checks-allowed ["mcp__todo-write"]))
    (remote-checks--with-claude
     (list (list (remote-checks--list "Rake" "in_progress"))
           (list '("Bash" :command "touch one" :description "Make it"))
           (list (remote-checks--list "Rake" "in_progress"))
           (list '("Bash" :command "touch two" :description "Make it"))
           (list (remote-checks--list "Rake" "completed"))
           "Done.")
     nil
     (lambda ()
       (remote-checks--unblocked "A session by ssh"
         (let (key)
           (remote-checks--lag
            "Its activity" (lambda () (member (claude-checks-own :status) '("busy" "waiting")))
            (lambda () (and (remote-checks--key) (todo-write-activity (remote-checks--key)))))
           (setq key (remote-checks--key))
           (let ((request (remote-checks--request "Bash: touch one")))
             (should (equal key (plist-get request :thread)))
             (should (equal (format "/ssh:build:%s/garden/" remote-home)
                            (plist-get (todo-write-about key) :project)))
             (should (plist-get (todo-write-summary key) :title))
             ;; The user adds a task and answers.
             (todo-write-edit key 'add "Weed")
             (should (todo-write-answer-request key (plist-get request :id) '(:behavior "allow"))))
           (claude-checks-wait "the file" (lambda () (file-exists-p (remote-file "garden/one"))))
           (let ((request (remote-checks--request "Bash: touch two")))
             (should (equal '(("Rake" . "in_progress") ("Weed" . "pending")) (remote-checks--rows)))
             (should-not (todo-write-core-call todo-write-dyn--untold-edits key))
             ;; The dialog stays in the terminal if the connection is lost.
             (signal-process (remote-ssh) 'KILL)
             (claude-checks-wait "the loss" (lambda () (null (todo-write-requests))))
             (should request)
             (remote-connect "build")
             (claude-checks-press "\r" "waiting"))
           (claude-checks-wait "the file" (lambda () (file-exists-p (remote-file "garden/two"))))
           (claude-checks-wait
            "the end" (lambda () (equal '(("Rake" . "completed") ("Weed" . "pending"))
                                        (remote-checks--rows))))
           (should (equal 1 (length (todo-write-threads))))
           (should-not (todo-write-socket-pid (todo-write-socket-serving key)))
           (save-window-excursion
             (todo-write-visit-open-file key (remote-file "garden/two"))
             (should (equal (concat "/ssh:build:" (remote-file "garden/two")) buffer-file-name))
             (kill-buffer))))))))

(defun remote-checks--lost-by (what cut)
  "Check that a connection that CUT breaks is said, and taken up again.
WHAT says in words what CUT, a function without arguments, does."
  (let ((claude-checks-allowed ["Bash" "TodoWrite"]) warnings)
    (remote-checks--with-claude
     (list (list (claude-checks-todo '("Rake" "in_progress") "Weed"))
           (list (remote-checks--gate "one"))
           (list '("Bash" :command "echo leaves > heap; echo done" :description "Pile up"))
           (list (claude-checks-todo '("Rake" "completed") '("Weed" "in_progress")))
           (list (remote-checks--gate "two"))
           "Done.")
     nil
     (lambda ()
       (cl-letf (((symbol-function 'display-warning)
                  (lambda (_type message &rest _) (push message warnings))))
         (claude-checks-wait "the list"
                             (lambda () (equal '(("Rake" . "in_progress") ("Weed" . "pending"))
                                               (remote-checks--rows))))
         (let* ((key (remote-checks--key))
                (revisions (length (todo-write-revisions key))))
           (remote-checks--unblocked what
             (funcall cut)
             (claude-checks-wait "the warning" (lambda () warnings)))
           (should (string-match-p "build: not connected since" (car warnings)))
           (should-not (todo-write-activity key))
           ;; An sshd that was killed took Claude Code with it.
           (when (process-live-p claude-checks-process)
             (remote-checks--open "one")
             (claude-checks-wait "the file" (lambda () (file-exists-p (remote-file "garden/heap"))))
             (remote-checks--unblocked "Taking it up again"
               (remote-connect "build")
               (claude-checks-wait
                "the list of meanwhile"
                (lambda () (equal '(("Rake" . "completed") ("Weed" . "in_progress"))
                                  (remote-checks--rows)))))
             (should (= (1+ revisions) (length (todo-write-revisions key))))
             (claude-checks-wait "its activity"
                                 (lambda () (equal '(working) (todo-write-activity key)))))))))))

(ert-deftest remote-checks-a-connection-that-is-cut-is-taken-up-again ()
  (remote-checks--lost-by "The connection is cut"
                          (lambda () (signal-process (remote-ssh) 'KILL))))

(ert-deftest remote-checks-the-server-of-the-connection-is-killed ()
  (remote-checks--lost-by
   "The connection's sshd is killed"
   (lambda () (signal-process (remote-sshd-of (remote-server)) 'KILL))))

(ert-deftest remote-checks-a-server-that-hangs-does-not-block-emacs ()
  (let (server)
    (remote-checks--lost-by
     "The connection's sshd is stopped"
     (lambda ()
       (setq server (remote-sshd-of (remote-server)))
       (signal-process server 'STOP)))
    (signal-process server 'KILL)))

(ert-deftest remote-checks-the-whole-sshd-is-killed ()
  (remote-checks--lost-by
   "All of sshd is killed"
   (lambda ()
     (remote-stop-sshd)
     (todo-write-test-wait (lambda () (not (process-live-p claude-checks-process)))))))

;;; The genuine Codex

(defun remote-checks--codex-key ()
  "Return the key of the plan of Codex on the host, or nil."
  (seq-find (lambda (thread) (string-match-p "\\`build/codex:[^/]+\\'" thread))
            (todo-write-threads)))

(defun remote-checks--codex (process)
  "Check what is seen here of the Codex of PROCESS, and let it end.
Its list is that of `remote-checks--codex-steps'."
  (cl-flet ((wait (what condition)
              (todo-write-test-wait
               condition
               (lambda ()
                 (format "%s; %s" what
                         (with-current-buffer (process-buffer process) (buffer-string)))))))
    (wait "the plan" #'remote-checks--codex-key)
    (let ((key (remote-checks--codex-key)))
      (wait "its list" (lambda () (equal '(("Rake" . "in_progress")) (claude-checks-rows key))))
      (wait "its activity" (lambda () (equal '(working) (todo-write-activity key))))
      (should (equal (format "/ssh:build:%s/garden/" remote-home)
                     (plist-get (todo-write-about key) :project)))
      ;; The next call hears what the user adds.
      (todo-write-edit key 'add "Weed")
      (remote-checks--open "garden/one")
      (wait "the end" (lambda () (equal '(("Rake" . "completed") ("Weed" . "pending"))
                                        (claude-checks-rows key))))
      (wait "its calls" (lambda ()
                          (seq-find (lambda (call)
                                      (string-search "echo leaves" (prin1-to-string call)))
                                    (todo-write-observations key :type "TOOL_CALL"))))
      (should (equal (list key) (todo-write-threads))))))

(defun remote-checks--codex-steps ()
  "Return what the model of Codex says: two lists, between which it waits and works."
  (cl-flet ((write-list (status)
              (list :name "todo_write" :namespace "mcp__todo_write"
                    :arguments (todo-write-test-todos (list "Rake" status)))))
    (list (write-list "in_progress")
          (list :name "exec_command"
                :arguments `(:cmd ,(hosts-gate-command "one") :yield_time_ms 30000))
          (list :name "exec_command" :arguments '(:cmd "echo leaves > heap"))
          (write-list "completed")
          (list :text "The garden is raked."))))

(ert-deftest remote-checks-codex-has-the-tool-there-and-is-followed ()
  (remote-with-host
    (remote-connect "build")
    (hosts-with-responses
     (remote-checks--codex-steps)
     (lambda (url)
       (let ((process (remote-start-codex url "Rake the garden")))
         (unwind-protect
             (remote-checks--unblocked "A session of Codex by ssh"
               (remote-checks--codex process))
           (delete-process process)))))))

;;; Other hosts and Emacs processes

(defun remote-checks--client (command)
  "Start the program by COMMAND, a list, as Claude Code in a session."
  (let ((client (todo-write-mcp-client--start command)))
    (todo-write-mcp-ask
     client `(:jsonrpc "2.0" :id 0 :method "initialize"
              :params (:protocolVersion "2025-11-25" :capabilities ,(make-hash-table)
                       :clientInfo (:name "claude-code" :version "2"))))
    (todo-write-mcp-send client '(:jsonrpc "2.0" :method "notifications/initialized"))
    client))

(defun remote-checks--write (client content)
  "Write the task CONTENT by CLIENT; return (OK . TEXT)."
  (todo-write-mcp-answer
   (plist-get
    (todo-write-mcp-ask
     client (list :jsonrpc "2.0" :id 1 :method "tools/call"
                  :params (list :name "todo_write"
                                :arguments (todo-write-test-todos (list content "in_progress")))))
    :result)))

(ert-deftest remote-checks-a-namespace-without-a-network-is-a-machine-of-its-own ()
  (remote-with-host
    (let* ((home (make-temp-file "home" t))
           (run (expand-file-name "run" home))
           (program (todo-write-mcp-helper-program))
           (inside (list "unshare" "--net" "--mount" "--pid" "--fork" "env" (concat "HOME=" home)
                         (concat "TODO_WRITE_SANDBOX=" run) "CLAUDE_CODE_SESSION_ID=s1"))
           (todo-write-machines `(("build")
                                  ("dev" :prefix "/docker:dev:"
                                   :command (,@inside ,program "serve")))))
      (remote-connect "build")
      (remote-connect "dev")
      (todo-write-test-wait (lambda () (file-exists-p (expand-file-name "socket" run))))
      (let ((there (remote-checks--client (append inside (list program))))
            (host (remote-checks--client
                   ;; A session of ssh would begin with what the login shell prints.
                   (list "setpriv" (concat "--reuid=" remote-account) (concat "--regid=" remote-account)
                         "--clear-groups" "env" "-i" (concat "HOME=" remote-home)
                         "PATH=/usr/bin:/bin" "CLAUDE_CODE_SESSION_ID=s1"
                         (remote-file ".todo-write/bin/todo-write-mcp")))))
        ;; The same session on both machines.
        (should (car (remote-checks--write there "One")))
        (should (car (remote-checks--write host "Two")))
        (should (equal '("One") (todo-write-test-contents "dev/claude:s1")))
        (should (equal '("Two") (todo-write-test-contents "build/claude:s1")))
        ;; So is the folder.
        (let ((in-dev (plist-get (todo-write-about "dev/claude:s1") :project))
              (on-host (plist-get (todo-write-about "build/claude:s1") :project)))
          (should (string-prefix-p "/docker:dev:/" in-dev))
          (should (equal (concat "/ssh:build:" (string-remove-prefix "/docker:dev:" in-dev))
                         on-host)))
        (todo-write-mcp-end there)
        (todo-write-mcp-end host)))))

(ert-deftest remote-checks-a-second-emacs-is-told-who-has-the-machine ()
  (remote-with-host
    (remote-connect "build")
    (let ((answer (with-temp-buffer
                    (let ((process (make-process
                                    :name "other" :buffer (current-buffer) :connection-type 'pipe
                                    :noquery t :sentinel #'ignore
                                    :command '("ssh" "build" "~/.todo-write/bin/todo-write-mcp serve"))))
                      (process-send-string
                       process "{\"hello\":{\"id\":\"other\",\"name\":\"ann@desk\"}}\n")
                      (todo-write-test-wait (lambda () (not (process-live-p process))))
                      (while (accept-process-output process 0))
                      (buffer-string)))))
      (should (string-search (format "process %d" (emacs-pid)) answer))
      (should (string-search "refused" answer)))
    (should (remote-connected-p "build"))))

(ert-deftest remote-checks-a-missing-program-and-the-line-that-copies-it ()
  (remote-with-host
    (delete-directory (remote-file ".todo-write") t)
    (let ((todo-write-mcp-program (todo-write-mcp-helper-program)) warnings)
      (cl-letf (((symbol-function 'display-warning)
                 (lambda (_type message &rest _) (push message warnings))))
        (todo-write-connect "build")
        (todo-write-test-wait (lambda () warnings)))
      (should (string-match "^  \\(ssh -- build .*\\)$" (car warnings)))
      (should (eql 0 (call-process-shell-command (match-string 1 (car warnings)))))
      (remote-connect "build"))))

(ert-deftest remote-checks-sessions-of-30-mb-do-not-block-emacs ()
  (remote-with-host
    (let ((file (remote-file ".claude/projects/-garden/big.jsonl"))
          (text (make-string 3000 ?x)))
      (make-directory (file-name-directory file) t)
      (with-temp-file file
        (dotimes (n 10000)
          (insert (json-serialize
                   `(:type "assistant" :uuid ,(format "u%d" n) :sessionId "big" :cwd "/garden"
                     :isSidechain :false
                     :message (:role "assistant" :id ,(format "m%d" n)
                               :content [(:type "text" :text ,(format "%d %s" n text))])))
                  "\n"))
        (insert (json-serialize
                 `(:type "assistant" :uuid "last" :sessionId "big" :cwd "/garden" :isSidechain :false
                   :message (:role "assistant" :id "last"
                             :content [(:type "tool_use" :id "c" :name "TodoWrite"
                                        :input ,(todo-write-test-todos "Rake"))])))
                "\n"
                (json-serialize
                 `(:type "user" :uuid "result" :sessionId "big" :cwd "/garden" :isSidechain :false
                   :message (:role "user"
                             :content [(:type "tool_result" :tool_use_id "c" :content "ok")])))
                "\n"))
      (remote-own)
      (should (> (file-attribute-size (file-attributes file)) 30000000))
      (let ((start (float-time)))
        (remote-checks--unblocked "A session of 30 MB"
          (remote-connect "build")
          (todo-write-test-wait
           (lambda () (equal '("Rake") (todo-write-test-contents "build/claude:big")))))
        (message "It was complete after %.1f s" (- (float-time) start))))))

(ert-deftest remote-checks-the-process-there-ends-with-the-connection ()
  (remote-with-host
    (remote-connect "build")
    (let ((server (remote-server)))
      (should server)
      (signal-process (remote-ssh) 'KILL)
      (todo-write-test-wait (lambda () (not (process-attributes server))))
      (should-not (remote-server)))))

(provide 'remote-checks)
;;; remote-checks.el ends here
