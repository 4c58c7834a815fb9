;;; todo-write-connect-tests.el --- Agents on other machines  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A program named ssh stands for the genuine one: it runs the command with the home
;; folder of the host that it is given, by the login shell of that host.  So
;; `todo-write-mcp serve' really runs.  test/hosts/remote.sh tries a genuine sshd.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-test-helper)
(require 'todo-write-mcp-helper)
(require 'todo-write-socket-helper)
(require 'todo-write-attention)
(require 'todo-write-connect)
(require 'todo-write-doctor)
(require 'todo-write-list)
(require 'todo-write-mcp-setup)
(require 'todo-write-permission)

(defconst todo-write-connect-tests--ssh "\
#!/bin/sh
while [ \"$1\" != -- ]; do shift; done
HOME=$HOSTS/$2 TODO_WRITE_SANDBOX=$HOSTS/$2/run CLAUDE_CONFIG_DIR= CODEX_HOME=
export HOME TODO_WRITE_SANDBOX
[ -d \"$HOME\" ] || { echo \"ssh: Could not resolve hostname $2\" >&2; exit 255; }
cd \"$HOME\"
echo $$ > pid
echo 'Welcome to a talkative machine'
exec sh -c \"$3\"
"
  "The program that stands for ssh.")

(defmacro todo-write-connect-tests--with (&rest body)
  "Evaluate BODY with an empty store, the socket and no connection.
`hosts' is a folder with the home folders of the hosts one and two, and
`warnings' are the warnings, the newest first."
  (declare (indent 0) (debug t))
  `(let* ((hosts (file-name-as-directory (make-temp-file "hosts" t)))
          (bin (expand-file-name "bin" hosts))
          (program (todo-write-mcp-helper-program))
          (todo-write-mcp-program program)
          (process-environment (append (list (concat "HOSTS=" (directory-file-name hosts))
                                             (concat "PATH=" bin ":/usr/bin:/bin"))
                                       process-environment))
          (exec-path (cons bin exec-path))
          (todo-write-machines nil)
          (todo-write-machines-known nil)
          (todo-write-machines-reconnect nil)
          (todo-write-follow-agents nil)
          (todo-write-follow-quiet 600)
          (todo-write-follow-interval 0.2)
          (todo-write-permission--calls nil)
          (todo-write-tell--hook-machines nil)
          (default-directory hosts)
          warnings)
     (make-directory bin)
     (dolist (host '("one" "two"))
       (make-directory (expand-file-name (concat host "/.claude/projects") hosts) t)
       (make-directory (expand-file-name (concat host "/.claude/sessions") hosts) t)
       (make-directory (expand-file-name (concat host "/.todo-write/bin") hosts) t)
       (make-symbolic-link program (expand-file-name
                                    (concat host "/.todo-write/bin/todo-write-mcp") hosts)))
     (write-region todo-write-connect-tests--ssh nil (expand-file-name "ssh" bin) nil 'silent)
     (set-file-modes (expand-file-name "ssh" bin) #o755)
     (cl-letf (((symbol-function 'display-warning)
                (lambda (_type text &rest _) (push text warnings))))
       (todo-write-with-socket
         (unwind-protect (progn ,@body)
           (todo-write-agents-mode -1)
           (todo-write-follow-stop)
           (dolist (link todo-write-machines-links)
             (todo-write-disconnect (todo-write-machines-link-name link)))
           (todo-write-test-delete hosts))))))

(defun todo-write-connect-tests--append (file &rest lines)
  "Append LINES, plists, to FILE, a transcript of a session of the bakery."
  (apply #'todo-write-test-transcript file "/home/user/bakery" lines))

(defun todo-write-connect-tests--write (file id &rest contents)
  "Have the agent of FILE write a list of CONTENTS by the call ID."
  (apply #'todo-write-connect-tests--append file
         (mapcar (lambda (line)
                   (append line (list :timestamp (format-time-string "%FT%T.%3NZ" nil t))))
                 (apply #'todo-write-test-transcript-list id contents))))

(defun todo-write-connect-tests--process (hosts host status &optional more)
  "Write the process file of this Emacs, with STATUS, on HOST below HOSTS.
MORE are further fields."
  (let ((file (expand-file-name (format "%s/.claude/sessions/%d.json" host (emacs-pid)) hosts)))
    (write-region (json-serialize `(:sessionId "s" :cwd "/home/user/bakery" :status ,status
                                               ,@more))
                  nil (concat file "~") nil 'silent)
    (rename-file (concat file "~") file t)))

(defun todo-write-connect-tests--session (host)
  "Return the name below the hosts' folder of the transcript of session s on HOST."
  (concat host "/.claude/projects/-home-user-bakery/s.jsonl"))

(defmacro todo-write-connect-tests--wait (form)
  "Wait until FORM returns non-nil."
  `(todo-write-test-wait
    (lambda () ,form)
    (lambda () (format "%S; %S" ',form todo-write-machines-links))))

(defun todo-write-connect-tests--connect (machine)
  "Connect to MACHINE and wait until it is connected; return its name."
  (let ((name (todo-write-connect machine)))
    (todo-write-connect-tests--wait (todo-write-connect-tests--connected-p name))
    name))

(defun todo-write-connect-tests--connected-p (name)
  "Return non-nil if the machine NAME is connected."
  (when-let* ((link (todo-write-machines-link-to name)))
    (eq 'connected (todo-write-machines-link-state link))))

(defun todo-write-connect-tests--pid (hosts host)
  "Return the id of the process that serves on HOST below HOSTS."
  (string-to-number (with-temp-buffer
                      (insert-file-contents (expand-file-name (concat host "/pid") hosts))
                      (buffer-string))))

(defmacro todo-write-connect-tests--on (host &rest body)
  "Evaluate BODY, whose programs are on HOST."
  (declare (indent 1) (debug t))
  `(let ((todo-write-socket-test-at (expand-file-name (concat ,host "/run/socket") hosts)))
     (todo-write-connect-tests--wait (file-exists-p todo-write-socket-test-at))
     ,@body))

;;; What is seen

(ert-deftest todo-write-connect-shows-list-activity-subagents-title-and-files ()
  (todo-write-connect-tests--with
    (let* ((file (expand-file-name (todo-write-connect-tests--session "one") hosts))
           (beside (expand-file-name "one/.claude/projects/-home-user-bakery/s/" hosts))
           (thread "one/claude:s"))
      (todo-write-connect-tests--write file "c1" "Bake")
      (todo-write-connect-tests--process hosts "one" "busy")
      (todo-write-connect "/ssh:one:")
      (todo-write-connect-tests--wait (equal (todo-write-activity thread) '(working)))
      (todo-write-connect-tests--write file "c2" "Bake" "Eat")
      (todo-write-connect-tests--wait
       (equal (todo-write-test-contents thread) '("Bake" "Eat")))
      (todo-write-connect-tests--process hosts "one" "waiting"
                                               '(:waitingFor "permission prompt"))
      (todo-write-connect-tests--wait
       (equal (todo-write-activity thread) '(waiting . "permission prompt")))
      (todo-write-connect-tests--append (concat beside "custom-title.json")
                                              '(:customTitle "Bread for two"))
      (apply #'todo-write-connect-tests--append
             (concat beside "subagents/agent-a1.jsonl")
             (mapcar (lambda (line) (append '(:agentId "a1" :sessionId "s" :isSidechain t) line))
                     (todo-write-test-transcript-list "c3" "Knead")))
      (todo-write-connect-tests--append file '(:type "progress"))
      (todo-write-connect-tests--wait
       (equal (plist-get (todo-write-summary thread) :title) "Bread for two"))
      (todo-write-connect-tests--wait
       (equal (todo-write-test-contents "one/claude:s/a1") '("Knead")))
      (should (equal (car (todo-write-parent "one/claude:s/a1")) thread))
      ;; It exits.
      (delete-file (expand-file-name (format "one/.claude/sessions/%d.json" (emacs-pid)) hosts))
      (todo-write-connect-tests--wait
       (eq 'session-ended (plist-get (todo-write-summary thread) :ending))))))

(ert-deftest todo-write-connect-an-agent-goes-on-that-is-reached-by-another-prefix ()
  (todo-write-connect-tests--with
    (let ((thread "one/claude:s"))
      (todo-write-connect-tests--write
       (expand-file-name (todo-write-connect-tests--session "one") hosts) "c1" "Bake")
      (todo-write-connect-tests--process hosts "one" "busy")
      (todo-write-connect-tests--connect "/ssh:one:")
      (todo-write-connect-tests--wait (equal (todo-write-activity thread) '(working)))
      (setq todo-write-machines '(("one" :prefix "/ssh:me@one:")))
      (todo-write-connect-send-all)
      (todo-write-connect-tests--wait warnings)
      (should (string-search "reached in another way" (car warnings)))
      (todo-write-connect-tests--wait (todo-write-connect-tests--connected-p "one"))
      (todo-write-connect-tests--wait (equal (todo-write-activity thread) '(working)))
      (should-not (plist-get (todo-write-summary thread) :ending))
      ;; What the first connection told of its process hides no end.
      (delete-file (expand-file-name (format "one/.claude/sessions/%d.json" (emacs-pid)) hosts))
      (todo-write-connect-tests--wait
       (eq 'session-ended (plist-get (todo-write-summary thread) :ending))))))

(ert-deftest todo-write-connect-a-session-is-picked-by-its-first-prompt ()
  (todo-write-connect-tests--with
    (let ((file (expand-file-name (todo-write-connect-tests--session "one") hosts)) titles)
      (todo-write-connect-tests--append
       file '(:type "user" :uuid "u" :message (:role "user" :content "Bake rye bread")))
      (todo-write-connect-tests--write file "c1" "Bake")
      (set-file-times file (time-subtract nil 1000000))
      (let ((default-directory "/ssh:one:/home/user/bakery/"))
        (cl-letf (((symbol-function 'completing-read)
                   (lambda (_prompt table &rest _)
                     (car (setq titles (all-completions "" table))))))
          (call-interactively #'todo-write-follow)))
      (should (equal titles '("Bake rye bread")))
      (todo-write-connect-tests--wait
       (equal (todo-write-test-contents "one/claude:s") '("Bake"))))))

(ert-deftest todo-write-connect-a-file-there-is-followed-by-its-remote-name ()
  (todo-write-connect-tests--with
    (let ((file (expand-file-name (todo-write-connect-tests--session "one") hosts)))
      (todo-write-connect-tests--write file "c1" "Bake")
      (set-file-times file (time-subtract nil 1000000))
      (should (equal "one/claude:s" (todo-write-follow (concat "/ssh:one:" file))))
      (should (equal (todo-write-test-contents "one/claude:s") '("Bake")))
      (should-error (todo-write-follow (concat "/ssh:one:" file "x")) :type 'todo-write-input-error)
      (should-error (todo-write-follow "/ssh:nowhere:/x") :type 'user-error))))

(ert-deftest todo-write-connect-a-session-that-the-user-stops-stays-stopped ()
  (todo-write-connect-tests--with
    (let ((file (expand-file-name (todo-write-connect-tests--session "one") hosts))
          (other (expand-file-name "one/.claude/projects/-home-user-bakery/t.jsonl" hosts)))
      (todo-write-connect-tests--write file "c1" "Bake")
      (todo-write-connect-tests--connect "/ssh:one:")
      (todo-write-connect-tests--wait (todo-write-core-call todo-write-dyn--hub-follows-p "one/claude:s"))
      (todo-write-follow-stop (concat "/ssh:one:" file))
      (todo-write-connect-tests--append
       other '(:type "user" :uuid "u" :message (:role "user" :content "Eat")))
      (todo-write-hub-tell nil '(search))
      (todo-write-connect-tests--wait (todo-write-core-call todo-write-dyn--hub-follows-p "one/claude:t"))
      (should-not (todo-write-core-call todo-write-dyn--hub-follows-p "one/claude:s"))
      (todo-write-follow-stop)
      (should-not todo-write-follow--followed)
      (should (todo-write-connect-tests--connected-p "one"))
      ;; The command follows all again, but that.
      (todo-write-connect "one")
      (todo-write-connect-tests--wait (todo-write-core-call todo-write-dyn--hub-follows-p "one/claude:t"))
      (should-not (todo-write-core-call todo-write-dyn--hub-follows-p "one/claude:s"))
      (should (equal "one/claude:s" (todo-write-follow (concat "/ssh:one:" file)))))))

;;; Connections

(ert-deftest todo-write-connect-a-lost-connection-is-said-and-taken-up-again ()
  (todo-write-connect-tests--with
    (let ((file (expand-file-name (todo-write-connect-tests--session "one") hosts))
          (thread "one/claude:s"))
      (todo-write-connect-tests--write file "c1" "Bake")
      (todo-write-connect-tests--process hosts "one" "busy")
      (todo-write-connect-tests--connect "/ssh:one:")
      (todo-write-connect-tests--wait (equal (todo-write-activity thread) '(working)))
      (signal-process (todo-write-connect-tests--pid hosts "one") 'KILL)
      (todo-write-connect-tests--wait warnings)
      (should (string-match-p
               "one: not connected since [0-9:]+ (.*); M-x todo-write-connect takes it up again"
               (car warnings)))
      (should-not (todo-write-activity thread))
      (should-not (plist-get (todo-write-summary thread) :ending))
      (with-current-buffer (todo-write-show thread)
        (should (string-match-p "^ on one (not connected since [0-9:]+)" (buffer-string))))
      (todo-write-connect-tests--write file "c2" "Bake" "Eat")
      (let ((revisions (length (todo-write-revisions thread))))
        (todo-write-connect-tests--connect "one")
        (todo-write-connect-tests--wait
         (equal (todo-write-test-contents thread) '("Bake" "Eat")))
        (should (= (1+ revisions) (length (todo-write-revisions thread)))))
      (todo-write-connect-tests--wait (equal (todo-write-activity thread) '(working)))
      (with-current-buffer (todo-write-show thread)
        ;; It may be drawn a moment later, since the one before was drawn just now.
        (todo-write-connect-tests--wait
         (string-match-p "^ on one . working" (buffer-string)))))))

(ert-deftest todo-write-connect-takes-it-up-by-itself-if-the-user-wants-that ()
  (todo-write-connect-tests--with
    (let ((todo-write-machines-reconnect t)
          (todo-write-connect-first-pause 0.05) (todo-write-connect-longest-pause 0.1))
      (todo-write-connect-tests--connect "/ssh:one:")
      (let ((link (todo-write-machines-link-to "one"))
            (pid (todo-write-connect-tests--pid hosts "one")))
        (rename-file (expand-file-name "one" hosts) (expand-file-name "gone" hosts))
        (signal-process pid 'KILL)
        (todo-write-connect-tests--wait (eql 0.1 (todo-write-machines-link-pause link)))
        ;; Only the loss is said, not each attempt.
        (should (equal 1 (length warnings)))
        (should (string-suffix-p "; Emacs will try again" (car warnings)))
        (rename-file (expand-file-name "gone" hosts) (expand-file-name "one" hosts))
        (todo-write-connect-tests--wait (todo-write-connect-tests--connected-p "one"))
        (should-not (todo-write-machines-link-pause link))
        (should-not (equal pid (todo-write-connect-tests--pid hosts "one")))))))

(ert-deftest todo-write-connect-says-why-a-machine-cannot-be-reached ()
  (todo-write-connect-tests--with
    (todo-write-connect "/ssh:nowhere:")
    (todo-write-connect-tests--wait warnings)
    (should (string-match-p "nowhere cannot be reached (.*Could not resolve hostname nowhere"
                            (car warnings)))
    (should (string-suffix-p "; M-x todo-write-connect tries again" (car warnings)))
    (should-error (todo-write-follow--reach "/ssh:nowhere:") :type 'user-error)))

(ert-deftest todo-write-connect-says-how-a-missing-program-gets-there ()
  (todo-write-connect-tests--with
    (delete-file (expand-file-name "one/.todo-write/bin/todo-write-mcp" hosts))
    (todo-write-connect "/ssh:one:")
    (todo-write-connect-tests--wait warnings)
    (should (string-search "The program todo-write-mcp is missing there." (car warnings)))
    (should (string-match "^  \\(ssh -- one .*\\)$" (car warnings)))
    ;; The line does what it says.
    (should (eql 0 (call-process-shell-command (match-string 1 (car warnings)))))
    (todo-write-connect-tests--connect "one")))

(ert-deftest todo-write-connect-the-program-may-be-anywhere-there ()
  (todo-write-connect-tests--with
    (let ((todo-write-machines '(("build" :prefix "/ssh:one:" :program "~/my tools/it's me"))))
      (make-directory (expand-file-name "one/my tools" hosts))
      (rename-file (expand-file-name "one/.todo-write/bin/todo-write-mcp" hosts)
                   (expand-file-name "one/my tools/it's me" hosts))
      (todo-write-connect-tests--connect "build"))))

(ert-deftest todo-write-connect-without-ssh-nothing-is-left ()
  (todo-write-connect-tests--with
    (let ((exec-path nil))
      (should-error (todo-write-connect "/ssh:one:") :type 'user-error)
      (should-not todo-write-machines-links))))

(ert-deftest todo-write-connect-disconnecting-ends-the-process-and-keeps-the-plans ()
  (todo-write-connect-tests--with
    (let ((file (expand-file-name (todo-write-connect-tests--session "one") hosts))
          (noninteractive nil) pid)
      (todo-write-connect-tests--write file "c1" "Bake")
      (todo-write-connect-tests--process hosts "one" "busy")
      (todo-write-connect-tests--connect "/ssh:one:")
      (todo-write-connect-tests--wait (equal (todo-write-activity "one/claude:s") '(working)))
      (setq pid (todo-write-connect-tests--pid hosts "one"))
      (should (eql 0 (signal-process pid 0)))
      (let ((current-prefix-arg '(4)))
        (call-interactively #'todo-write-connect))
      (todo-write-connect-tests--wait (not (eql 0 (signal-process pid 0))))
      (should-not todo-write-follow--followed)
      (should-not (todo-write-activity "one/claude:s"))
      (should (equal (todo-write-test-contents "one/claude:s") '("Bake")))
      (should-not warnings)
      (let ((current-prefix-arg '(4)))
        (should-error (call-interactively #'todo-write-connect) :type 'user-error)))))

(ert-deftest todo-write-connect-a-hub-that-ended-is-followed-by-a-new-connection ()
  (todo-write-connect-tests--with
    (let ((file (expand-file-name (todo-write-connect-tests--session "one") hosts)))
      (todo-write-connect-tests--write file "c1" "Bake")
      (todo-write-connect-tests--connect "/ssh:one:")
      (todo-write-connect-tests--wait (todo-write-core-call todo-write-dyn--hub-follows-p "one/claude:s"))
      (todo-write-hub-end)
      (todo-write-follow-connect)
      (todo-write-connect-tests--wait (todo-write-connect-tests--connected-p "one"))
      (todo-write-connect-tests--write file "c2" "Eat")
      (todo-write-connect-tests--wait
       (equal (todo-write-test-contents "one/claude:s") '("Eat"))))))

;;; Calls

(ert-deftest todo-write-connect-calls-of-two-machines-and-this-one-are-three-plans ()
  (todo-write-connect-tests--with
    (dolist (host '("one" "two"))
      (todo-write-connect-tests--connect (format "/ssh:%s:" host))
      (todo-write-connect-tests--on host
        (should (car (todo-write-socket-test-write
                      (todo-write-socket-test-hello :project "/ssh:two:/etc")
                      "a" (list (concat "Bake on " host) "in_progress"))))))
    (should (car (todo-write-socket-test-write (todo-write-socket-test-hello)
                                               "a" '("Bake here" "in_progress"))))
    (pcase-dolist (`(,thread ,content)
                   '(("one/claude:a" "Bake on one") ("two/claude:a" "Bake on two")
                     ("claude:a" "Bake here")))
      (should (equal (list content) (todo-write-test-contents thread)))
      (should (equal '(working) (todo-write-activity thread))))
    ;; A folder that it names is one of that machine.
    (should (equal "/ssh:one:/:/ssh:two:/etc/"
                   (plist-get (todo-write-about "one/claude:a") :project)))
    (should-not (todo-write-socket-pid (todo-write-socket-serving "one/claude:a")))))

(ert-deftest todo-write-connect-calls-come-while-the-mode-is-on ()
  (todo-write-connect-tests--with
    (todo-write-agents-mode -1)
    (todo-write-connect-tests--connect "/ssh:one:")
    (should (assoc 'note (seq-filter (lambda (finding) (string-prefix-p "one:" (cadr finding)))
                                     (todo-write-connect-findings))))
    (let ((socket (expand-file-name "one/run/socket" hosts)))
      (should-not (file-exists-p socket))
      (todo-write-agents-mode)
      (todo-write-connect-tests--on "one"
        (let ((program (todo-write-socket-test-hello)))
          (should (car (todo-write-socket-test-write program "a" "Bake")))
          (todo-write-agents-mode -1)
          (todo-write-connect-tests--wait (not (process-live-p program)))
          (should-not (todo-write-socket-test-live))))
      (todo-write-connect-tests--wait (not (file-exists-p socket))))
    (should (todo-write-connect-tests--connected-p "one"))))

(ert-deftest todo-write-connect-questions-get-only-their-own-answers ()
  (todo-write-connect-tests--with
    (let ((hooks (mapcar
                  (lambda (host)
                    (todo-write-connect-tests--connect (format "/ssh:%s:" host))
                    (todo-write-connect-tests--on host
                      (let ((hook (todo-write-socket-test-hello :role "permission" :id "hook-1")))
                        (todo-write-socket-test-send
                         hook `(:type "call" :call 1 :session "s1" :source "process"
                                :arguments (:hook_event_name "PermissionRequest" :tool_name "Bash"
                                            :tool_input (:command ,(format "echo %s" host)))))
                        hook)))
                  '("one" "two"))))
      (todo-write-connect-tests--wait (= 2 (length (todo-write-requests))))
      (should (equal '("one/claude:s1" "two/claude:s1")
                     (sort (mapcar (lambda (request) (plist-get request :thread))
                                   (todo-write-requests))
                           #'string<)))
      (should (todo-write-answer-request
               "two/claude:s1" (plist-get (car (todo-write-requests "two/claude:s1")) :id)
               '(:behavior "allow")))
      (should (plist-get (todo-write-socket-test-read (nth 1 hooks)) :decision))
      ;; A loss withdraws the questions of that machine only.
      (signal-process (todo-write-connect-tests--pid hosts "one") 'KILL)
      (todo-write-connect-tests--wait (not (todo-write-requests)))
      (should (todo-write-connect-tests--connected-p "two")))))

(ert-deftest todo-write-connect-a-loss-is-not-the-end-of-the-agent ()
  (todo-write-connect-tests--with
    (todo-write-connect-tests--connect "/ssh:one:")
    (let ((key "one/claude:a") program)
      (todo-write-connect-tests--on "one"
        (should (car (todo-write-socket-test-write (todo-write-socket-test-hello)
                                                   "a" '("Bake" "in_progress")))))
      (signal-process (todo-write-connect-tests--pid hosts "one") 'KILL)
      (todo-write-connect-tests--wait (null (todo-write-activity key)))
      (should-not (plist-get (todo-write-times key "t1") :running))
      (should (eq 'active (todo-write-state key)))
      (todo-write-connect-tests--connect "one")
      (todo-write-connect-tests--on "one"
        (setq program (todo-write-socket-test-hello))
        (should (car (todo-write-socket-test-write program "a" '("Bake" "in_progress")))))
      (should (plist-get (todo-write-times key "t1") :running))
      (should (= 1 (length (todo-write-items key))))
      (todo-write-socket-test-send program '(:type "bye"))
      (todo-write-connect-tests--wait (eq 'paused (todo-write-state key)))
      (should (equal "session ended" (plist-get (todo-write-summary key) :reason))))))

(ert-deftest todo-write-connect-the-hook-there-tells-an-edit ()
  (todo-write-connect-tests--with
    (todo-write-connect-tests--connect "/ssh:one:")
    (todo-write-connect-tests--connect "/ssh:two:")
    (let ((key "one/claude:s1"))
      (todo-write key '(:todos [(:content "Rake" :status "pending")]) "claude" t)
      (todo-write-edit key 'add "Weed")
      (cl-flet ((told ()
                  (cdr (todo-write-socket-test-call
                        (todo-write-socket-test-hello :role "note" :id "hook")
                        '(:session "s1" :arguments (:event "Stop"))))))
        (todo-write-connect-tests--on "one"
          (todo-write-connect-tests--wait (string-search "Weed" (told))))
        (todo-write-connect-tests--on "two"
          (should (equal "" (told)))))
      (should (eq 'hook (todo-write-tell--channel key))))))

(ert-deftest todo-write-connect-a-program-in-an-agent-there-hears-of-an-edit ()
  (todo-write-connect-tests--with
    (todo-write-connect-tests--connect "/ssh:one:")
    (todo-write-connect-tests--on "one"
      (let ((plugin (todo-write-socket-test-hello :roles ["plan" "note"] :id "plugin"
                                                  :client "opencode")))
        (should (car (todo-write-socket-test-call
                      plugin (list :role "plan" :session "ses_1" :source "event"
                                   :arguments (todo-write-test-todos "Rake")))))
        (todo-write-edit "one/mcp:opencode:ses_1" 'add "Weed")
        (let ((told (todo-write-socket-test-read plugin)))
          (should (equal '("tell" "ses_1")
                         (list (plist-get told :type) (plist-get told :session)))))))))

(ert-deftest todo-write-connect-codex-there-is-no-hook-of-claude-code ()
  (todo-write-connect-tests--with
    (todo-write-connect-tests--connect "/ssh:one:")
    (todo-write-connect-tests--on "one"
      (todo-write-socket-test-call
       (todo-write-socket-test-hello :role "note" :id "codex-s2" :client "codex-mcp-client")
       '(:session "s2" :arguments (:event "Idle"))))
    (should-not (todo-write-tell--channel "one/claude:s1"))))

(ert-deftest todo-write-connect-rows-and-headers-name-the-machine ()
  (todo-write-connect-tests--with
    (let ((todo-write-machines '(("build" :prefix "/ssh:one:"))) (key "build/claude:rows") said)
      (todo-write-connect-tests--connect "build")
      (todo-write-connect-tests--on "one"
        (should (car (todo-write-socket-test-write
                      (todo-write-socket-test-hello :project "/home/me/garden")
                      "rows" '("Rake" "in_progress")))))
      (with-current-buffer (todo-write-show key)
        (should (string-match-p "^ on build . working" (buffer-string))))
      (todo-write-list)
      (with-current-buffer "*todo-write-list*"
        (should (string-search "build:garden" (buffer-string))))
      (cl-letf (((symbol-function 'tramp-maybe-open-connection)
                 (lambda (&rest _) (error "A connection was opened")))
                ((symbol-function 'message)
                 (lambda (format &rest args) (setq said (apply #'format format args)))))
        (todo-write-attention-visit-agent-of key))
      (should (string-search "it runs in a terminal of build; its folder is /ssh:one:/home/me/garden" said)))))

;;; Names and options

(ert-deftest todo-write-connect-names-of-machines-are-distinct ()
  (let ((todo-write-machines '(("build" :prefix "/ssh:bob@one:") ("near")))
        (todo-write-machines-known nil))
    (should (equal "build" (todo-write-connect--name "/ssh:bob@one:")))
    (should (equal "build" (todo-write-connect--name "build")))
    (should (equal "near" (todo-write-connect--name "/ssh:near:/x")))
    (should (equal "one" (todo-write-connect--name "/ssh:one:/home/me")))
    (should (equal "one" (todo-write-connect--name "one")))
    (should (equal "bob-two" (todo-write-connect--name "/ssh:bob@two:")))
    (dolist (wrong '("/ssh:build:" "nobody" "/home/me" ""))
      (should-error (todo-write-connect--name wrong) :type 'user-error))))

(ert-deftest todo-write-connect-each-method-has-its-command ()
  (require 'tramp)
  (let ((tramp-methods (append '(("docker" (tramp-login-program "docker"))
                                 ("sudo" (tramp-login-program "sudo")))
                               tramp-methods))
        (options '("-T" "-o" "BatchMode=yes" "-o" "ControlMaster=no" "-o" "ConnectTimeout=15"
                   "-o" "ServerAliveInterval=15" "-o" "RemoteCommand=none"))
        (words (format "exec sh -c '%s' todo-write-mcp" todo-write-connect--script)))
    (pcase-dolist (`(,prefix . ,command)
                   `(("/ssh:one:" "ssh" ,@options "--" "one" ,words)
                     ("/scp:bob@one#22:" "ssh" ,@options "-l" "bob" "-p" "22" "--" "one" ,words)
                     ("/docker:root@web:" "docker" "exec" "-i" "-u" "root" "web" "sh" "-c" ,words)))
      (should (equal command (append (apply #'todo-write-machines-shell prefix options)
                                     (list words)))))
    (dolist (prefix '("/ssh:one|sudo:two:" "/ssh:gate|docker:dev:" "/sudo:one:" "one"))
      (should-error (todo-write-machines-shell prefix) :type 'user-error))))

(ert-deftest todo-write-connect-the-doctor-asks-no-machine ()
  (let ((todo-write-machines '(("build" :prefix "/ssh:build.invalid:") ("bad" :prefix "x")))
        (todo-write-machines-known nil)
        (todo-write-machines-links
         (list (todo-write-machines-make-link :name "far" :state 'lost :since 0 :reason "it ended"))))
    (should (equal '(note note problem) (mapcar #'car (todo-write-connect-findings))))
    (should (assoc "Machines" (todo-write-doctor--findings)))))

(provide 'todo-write-connect-tests)
;;; todo-write-connect-tests.el ends here
