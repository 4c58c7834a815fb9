;;; todo-write-follow-remote-tests.el --- Following on other machines  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A program named ssh stands for the genuine one: it runs the command with the home
;; folder of the host that it is given, by the login shell of that host.  So the script
;; that runs on other machines really runs.  test/hosts/remote.sh tries a genuine sshd.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-test-helper)
(require 'todo-write-follow-remote)
(require 'todo-write-attention)

(defconst todo-write-follow-remote-tests--ssh "\
#!/bin/sh
while [ \"$1\" != -- ]; do shift; done
HOME=$HOSTS/$2 CLAUDE_CONFIG_DIR= CODEX_HOME=
export HOME
[ -d \"$HOME\" ] || { echo \"ssh: Could not resolve hostname $2\" >&2; exit 255; }
cd \"$HOME\"
echo $$ > pid
echo 'Welcome to a talkative machine'
exec sh -c \"$3\"
"
  "The program that stands for ssh.")

(defmacro todo-write-follow-remote-tests--with (&rest body)
  "Evaluate BODY with an empty store and no connection.
`hosts' is a folder with the home folders of the hosts one and two."
  (declare (indent 0) (debug t))
  `(todo-write-with-store
     (let* ((hosts (file-name-as-directory (make-temp-file "hosts" t)))
            (bin (expand-file-name "bin" hosts))
            (process-environment (append (list (concat "HOSTS=" hosts)
                                               (concat "PATH=" bin ":" (getenv "PATH")))
                                         process-environment))
            (exec-path (cons bin exec-path))
            (todo-write-follow-agents nil)
            (todo-write-follow-sessions--found nil)
            (todo-write-follow-quiet 600)
            (todo-write-follow-interval 30)
            (warning-minimum-log-level :emergency)
            (default-directory hosts))
       (make-directory bin)
       (dolist (host '("one" "two"))
         (make-directory (expand-file-name (concat host "/.claude/projects") hosts) t)
         (make-directory (expand-file-name (concat host "/.claude/sessions") hosts) t))
       (write-region todo-write-follow-remote-tests--ssh nil (expand-file-name "ssh" bin)
                     nil 'silent)
       (set-file-modes (expand-file-name "ssh" bin) #o755)
       (unwind-protect (progn ,@body)
         (todo-write-follow-mode -1)
         (todo-write-follow-stop)
         (todo-write-follow-remote--clean)
         (delete-directory hosts t)))))

(defun todo-write-follow-remote-tests--append (file &rest lines)
  "Append LINES, objects, to FILE as lines of JSON."
  (let ((coding-system-for-write 'utf-8-unix))
    (make-directory (file-name-directory file) t)
    (write-region (mapconcat (lambda (line) (concat (json-serialize line) "\n")) lines "")
                  nil file t 'silent)))

(defun todo-write-follow-remote-tests--list (id &rest contents)
  "Return the line by which the agent of session s writes CONTENTS by the call ID."
  `(:type "assistant" :uuid ,id :sessionId "s" :cwd "/home/user/bakery" :isSidechain :false
          :timestamp ,(format-time-string "%FT%T.%3NZ" nil t)
          :message (:id ,id :content
                    [(:type "tool_use" :id ,id :name "TodoWrite"
                      :input ,(apply #'todo-write-test-todos contents))])))

(defun todo-write-follow-remote-tests--result (id)
  "Return the line that accepts the call ID."
  `(:type "user" :uuid ,(concat id "r") :sessionId "s" :cwd "/home/user/bakery"
          :isSidechain :false
          :message (:content [(:type "tool_result" :tool_use_id ,id :content "ok")])))

(defun todo-write-follow-remote-tests--write (file id &rest contents)
  "Have the agent of session s in FILE write a list of CONTENTS by the call ID."
  (todo-write-follow-remote-tests--append
   file (apply #'todo-write-follow-remote-tests--list id contents)
   (todo-write-follow-remote-tests--result id)))

(defun todo-write-follow-remote-tests--process (hosts host status &optional more)
  "Write the process file of this Emacs, with STATUS, on HOST below HOSTS.
MORE are further fields."
  (let ((file (expand-file-name (format "%s/.claude/sessions/%d.json" host (emacs-pid)) hosts)))
    (write-region (json-serialize `(:sessionId "s" :cwd "/home/user/bakery" :status ,status
                                               ,@more))
                  nil (concat file "~") nil 'silent)
    (rename-file (concat file "~") file t)))

(defun todo-write-follow-remote-tests--session (host)
  "Return the name below the hosts' folder of the transcript of session s on HOST."
  (concat host "/.claude/projects/-home-user-bakery/s.jsonl"))

(defmacro todo-write-follow-remote-tests--wait (form)
  "Wait until FORM returns non-nil."
  `(todo-write-test-wait (lambda () ,form) 20 (lambda () (prin1-to-string ',form))))

(defun todo-write-follow-remote-tests--link (name)
  "Return the connection to NAME, which has answered."
  (let ((link (todo-write-follow-remote--link name)))
    (todo-write-follow-remote-tests--wait (eq t (todo-write-follow-link--link-listed link)))
    link))

;;; What is seen

(ert-deftest todo-write-follow-remote-two-machines-have-two-plans ()
  (todo-write-follow-remote-tests--with
    (dolist (host '("one" "two"))
      (todo-write-follow-remote-tests--write
       (expand-file-name (todo-write-follow-remote-tests--session host) hosts)
       "c1" (concat "Bake on " host))
      (todo-write-follow-remote (format "/ssh:%s:" host)))
    (dolist (host '("one" "two"))
      (let ((thread (concat host "/claude:s")))
        (todo-write-follow-remote-tests--wait
         (equal (todo-write-test-contents thread) (list (concat "Bake on " host))))
        (should (equal (plist-get (todo-write-about thread) :project)
                       (format "/ssh:%s:/home/user/bakery/" host)))))
    (should-not (member "claude:s" (todo-write-threads)))
    (should (= #o700 (file-modes todo-write-follow-remote--folder)))))

(ert-deftest todo-write-follow-remote-shows-list-activity-subagents-title-and-files ()
  (todo-write-follow-remote-tests--with
    (let* ((file (expand-file-name (todo-write-follow-remote-tests--session "one") hosts))
           (beside (expand-file-name "one/.claude/projects/-home-user-bakery/s/" hosts))
           (thread "one/claude:s"))
      (todo-write-follow-remote-tests--write file "c1" "Bake")
      (todo-write-follow-remote-tests--process hosts "one" "busy")
      (todo-write-follow-remote "/ssh:one:")
      (todo-write-follow-remote-tests--wait (equal (todo-write-activity thread) '(working)))
      (todo-write-follow-remote-tests--write file "c2" "Bake" "Eat")
      (todo-write-follow-remote-tests--wait
       (equal (todo-write-test-contents thread) '("Bake" "Eat")))
      (todo-write-follow-remote-tests--process hosts "one" "waiting"
                                               '(:waitingFor "permission prompt"))
      (todo-write-follow-remote-tests--wait
       (equal (todo-write-activity thread) '(waiting . "permission prompt")))
      (todo-write-follow-remote-tests--append (concat beside "custom-title.json")
                                              '(:customTitle "Bread for two"))
      (todo-write-follow-remote-tests--append
       (concat beside "subagents/agent-a1.jsonl")
       (append '(:agentId "a1")
               (plist-put (todo-write-follow-remote-tests--list "c3" "Knead") :isSidechain t))
       (append '(:agentId "a1")
               (plist-put (todo-write-follow-remote-tests--result "c3") :isSidechain t)))
      (todo-write-follow-remote-tests--append file '(:type "progress" :sessionId "s"))
      (todo-write-follow-remote-tests--wait
       (equal (plist-get (todo-write-summary thread) :title) "Bread for two"))
      (todo-write-follow-remote-tests--wait
       (equal (todo-write-test-contents "one/claude:s/a1") '("Knead")))
      (should (equal (car (todo-write-parent "one/claude:s/a1")) thread))
      ;; It exits.
      (delete-file (expand-file-name (format "one/.claude/sessions/%d.json" (emacs-pid)) hosts))
      (todo-write-follow-remote-tests--wait
       (eq 'session-ended (plist-get (todo-write-summary thread) :ending))))))

(ert-deftest todo-write-follow-remote-tells-a-killed-agent ()
  (todo-write-follow-remote-tests--with
    (let ((agent (start-process "agent" nil "sleep" "60"))
          (file (expand-file-name (todo-write-follow-remote-tests--session "one") hosts)))
      (set-process-query-on-exit-flag agent nil)
      (todo-write-follow-remote-tests--write file "c1" "Bake")
      (write-region (format "{\"sessionId\":\"s\",\n\"status\":\"busy\",\"cwd\":\"/home/user/bakery\"}")
                    nil (expand-file-name (format "one/.claude/sessions/%d.json"
                                                  (process-id agent))
                                          hosts)
                    nil 'silent)
      (todo-write-follow-remote "/ssh:one:")
      (todo-write-follow-remote-tests--wait
       (equal (todo-write-activity "one/claude:s") '(working)))
      (signal-process agent 'STOP)
      (todo-write-follow-remote-tests--wait
       (todo-write-activity--suspended-p "one/claude:s"))
      (delete-process agent)
      (todo-write-follow-remote-tests--wait
       (eq 'killed (plist-get (todo-write-summary "one/claude:s") :ending))))))

(ert-deftest todo-write-follow-remote-the-mode-follows-the-newest-session-of-a-remote-folder ()
  (todo-write-follow-remote-tests--with
    (let ((project (expand-file-name "one/bakery/" hosts)))
      (make-directory (expand-file-name ".git" project) t)
      (make-directory (expand-file-name "oven" project))
      (cl-flet ((session (folder id)
                  (let ((file (format "%sone/.claude/projects/%s/%s.jsonl" hosts
                                      (todo-write-follow-sessions--escape folder) id)))
                    (todo-write-follow-remote-tests--append
                     file `(:type "user" :uuid ,id :sessionId ,id :cwd ,folder
                                  :isSidechain :false :message (:role "user" :content "Bake")))
                    file)))
        (set-file-times (session project "old") (time-subtract nil 100000))
        (session "/elsewhere" "other")
        (let ((default-directory (concat "/ssh:one:" project "oven/")))
          (todo-write-follow-mode))
        (todo-write-follow-remote-tests--wait
         (todo-write-follow--thread-p "one/claude:old"))
        (should (equal todo-write-follow--project (concat "/ssh:one:" project)))
        (session project "new")
        (todo-write-follow-remote-tests--wait
         (todo-write-follow--thread-p "one/claude:new"))
        (should-not (todo-write-follow--thread-p "one/claude:other"))
        (todo-write-follow-mode -1)
        (should-not (todo-write-follow-link--link-process
                     (todo-write-follow-remote--link "one")))))))

(ert-deftest todo-write-follow-remote-a-session-is-picked-by-its-first-prompt ()
  (todo-write-follow-remote-tests--with
    (let ((file (expand-file-name (todo-write-follow-remote-tests--session "one") hosts)) titles)
      (todo-write-follow-remote-tests--append
       file '(:type "user" :uuid "u" :sessionId "s" :cwd "/home/user/bakery" :isSidechain :false
                    :message (:role "user" :content "Bake rye bread")))
      (todo-write-follow-remote-tests--write file "c1" "Bake")
      (set-file-times file (time-subtract nil 1000000))
      (let ((default-directory "/ssh:one:/home/user/bakery/"))
        (cl-letf (((symbol-function 'completing-read)
                   (lambda (_prompt table &rest _)
                     (car (setq titles (all-completions "" table))))))
          (call-interactively #'todo-write-follow)))
      (should (equal titles '("Bake rye bread")))
      (todo-write-follow-remote-tests--wait
       (equal (todo-write-test-contents "one/claude:s") '("Bake"))))))

;;; Connections

(ert-deftest todo-write-follow-remote-a-lost-connection-is-said-and-taken-up-again ()
  (todo-write-follow-remote-tests--with
    (let* ((file (expand-file-name (todo-write-follow-remote-tests--session "one") hosts))
           (thread "one/claude:s") (warnings nil) link)
      (todo-write-follow-remote-tests--write file "c1" "Bake")
      (todo-write-follow-remote-tests--process hosts "one" "busy")
      (cl-letf (((symbol-function 'display-warning)
                 (lambda (_type message &rest _) (push message warnings))))
        (setq link (todo-write-follow-remote "/ssh:one:"))
        (todo-write-follow-remote-tests--wait (equal (todo-write-activity thread) '(working)))
        (signal-process (string-to-number
                         (with-temp-buffer
                           (insert-file-contents (expand-file-name "one/pid" hosts))
                           (buffer-string)))
                        'KILL)
        (todo-write-follow-remote-tests--wait warnings)
        (should (string-match-p "The connection to one was lost.*M-x todo-write-follow-remote"
                                (car warnings)))
        (should-not (todo-write-activity thread))
        (should-not (plist-get (todo-write-summary thread) :ending))
        (should-not (todo-write-follow-link--link-process link)))
      (todo-write-follow-remote-tests--write file "c2" "Bake" "Eat")
      (let ((revisions (length (todo-write-revisions thread))))
        (todo-write-follow-remote "/ssh:one:")
        (todo-write-follow-remote-tests--wait
         (equal (todo-write-test-contents thread) '("Bake" "Eat")))
        (should (= (1+ revisions) (length (todo-write-revisions thread)))))
      (should (equal (todo-write-activity thread) '(working))))))

(ert-deftest todo-write-follow-remote-says-why-a-machine-cannot-be-reached ()
  (todo-write-follow-remote-tests--with
    (let (warnings)
      (cl-letf (((symbol-function 'display-warning)
                 (lambda (_type message &rest _) (push message warnings))))
        (todo-write-follow-remote "/ssh:nowhere:")
        (todo-write-follow-remote-tests--wait warnings)
        (should (string-match-p "nowhere cannot be reached (ssh: Could not resolve hostname"
                                (car warnings)))))))

(ert-deftest todo-write-follow-remote-without-ssh-nothing-is-left ()
  (todo-write-follow-remote-tests--with
    (let ((exec-path nil) (processes (process-list)) (buffers (buffer-list)))
      (should-error (todo-write-follow-remote "/ssh:one:") :type 'file-error)
      (should-not (seq-difference (process-list) processes))
      (should-not (seq-difference (buffer-list) buffers)))))

(ert-deftest todo-write-follow-remote-the-process-there-ends-with-its-input ()
  (todo-write-follow-remote-tests--with
    (todo-write-follow-remote "/ssh:one:")
    (todo-write-follow-remote-tests--link "one")
    (let ((pid (string-to-number (with-temp-buffer
                                   (insert-file-contents (expand-file-name "one/pid" hosts))
                                   (buffer-string)))))
      (should (eql 0 (signal-process pid 0)))
      (todo-write-follow-stop)
      (todo-write-follow-remote-tests--wait (not (eql 0 (signal-process pid 0)))))))

(ert-deftest todo-write-follow-remote-a-machine-without-sessions-is-stopped-too ()
  (todo-write-follow-remote-tests--with
    (let ((link (todo-write-follow-remote "/ssh:one:")) (noninteractive nil))
      (todo-write-follow-remote-tests--link "one")
      (call-interactively #'todo-write-follow-stop)
      (should-not (todo-write-follow-link--link-process link))
      (should-error (call-interactively #'todo-write-follow-stop) :type 'user-error))))

(ert-deftest todo-write-follow-remote-a-machine-that-hangs-is-given-up ()
  (todo-write-follow-remote-tests--with
    (let ((link (todo-write-follow-remote "/ssh:one:")) (warnings nil))
      (todo-write-follow-remote-tests--link "one")
      (signal-process (todo-write-follow-link--link-process link) 'STOP)
      (todo-write-follow-remote-tests--wait (todo-write-follow-link--link-asked link))
      (cl-letf (((symbol-function 'display-warning)
                 (lambda (_type message &rest _) (push message warnings))))
        (setf (todo-write-follow-link--link-silent-since link) 0)
        (todo-write-follow-remote-tests--wait warnings)
        (should (string-match-p "lost (no answer for 20 seconds)" (car warnings)))))))

(ert-deftest todo-write-follow-remote-follows-by-tramp-where-only-that-can ()
  (todo-write-follow-remote-tests--with
    (require 'tramp)
    (let* ((tramp-methods
            (cons '("mock" (tramp-login-program "sh") (tramp-login-args (("-i")))
                    (tramp-remote-shell "/bin/sh") (tramp-remote-shell-args ("-c"))
                    (tramp-connection-timeout 10))
                  tramp-methods))
           (tramp-verbose 0)
           (prefix (concat "/mock:" (system-name) ":"))
           (file (expand-file-name (todo-write-follow-remote-tests--session "one") hosts))
           (thread (concat "mock-" (system-name) "/claude:s"))
           (todo-write-follow-agents
            (list (cons 'claude (concat prefix hosts "one/.claude")))))
      (skip-unless (ignore-errors (file-exists-p (concat prefix hosts))))
      (todo-write-follow-remote-tests--write file "c1" "Mix — für später")
      (should-not (todo-write-follow (concat prefix file)))
      (todo-write-follow-remote-tests--wait
       (equal (todo-write-test-contents thread) '("Mix — für später")))
      (todo-write-follow-remote-tests--write file "c2" "Rest")
      (todo-write-follow-remote-tests--wait (equal (todo-write-test-contents thread) '("Rest")))
      (write-region "" nil file nil 'silent)
      (todo-write-follow-remote-tests--write file "c3" "Cut")
      (todo-write-follow-remote-tests--wait (equal (todo-write-test-contents thread) '("Cut"))))))

;;; Hostile machines

(defun todo-write-follow-remote-tests--hear (link text)
  "Have LINK read TEXT as if its process had printed it."
  (todo-write-follow-remote--filter link (todo-write-follow-link--link-process link) text))

(ert-deftest todo-write-follow-remote-no-path-leads-out-of-the-copies ()
  (todo-write-follow-remote-tests--with
    (let ((link (todo-write-follow-remote "/ssh:one:")))
      (todo-write-follow-remote-tests--link "one")
      (dolist (path '("../../x" "projects/../../../x.jsonl" "/etc/passwd" "projects/a/../b.jsonl"
                      "projects/a/b/subagents/agent-../x.jsonl" "tasks/../1.json"
                      "projects//x.jsonl" "excerpts/projects/a/b.jsonl" "sessions/1.json"
                      "projects/a/b.jsonl.part" "projects/a.jsonl/b.jsonl" "projects/a/.jsonl"
                      "projects/~/a.jsonl" "projects/ssh:h:/a.jsonl" "projects/a/b c.jsonl"
                      "projects/a/b.jsonl\r" "sessions/2026/11/23/rollout-x.jsonl"))
        (todo-write-follow-remote-tests--hear link (format "+f 0 1 10 1 %s\n" path)))
      (dolist (line '("+f 9 1 10 1 projects/a/b.jsonl" "+f x" "+a 0 12 S - {}x" "-a 7 1 S - x"
                      "+a 0 ../1 S - {}" "h /x" "r /etc" "todo-write 1 1" "=" ""))
        (todo-write-follow-remote-tests--hear link (concat line "\n")))
      (should (= 0 (hash-table-count (todo-write-follow-link--link-files link))))
      (should (todo-write-follow-link--link-process link)))))

(ert-deftest todo-write-follow-remote-what-was-not-asked-for-ends-the-connection ()
  (dolist (text (list "d 0 0 5 projects/a/b.jsonl\nabcde" (make-string 600000 ?x)))
    (todo-write-follow-remote-tests--with
      (let ((link (todo-write-follow-remote "/ssh:one:")))
        (todo-write-follow-remote-tests--link "one")
        (todo-write-follow-remote-tests--hear link text)
        (should-not (todo-write-follow-link--link-process link))
        (should-not (directory-files-recursively todo-write-follow-remote--folder "."))))))

(ert-deftest todo-write-follow-remote-no-machine-names-the-project-of-another ()
  (todo-write-follow-remote-tests--with
    (let ((todo-write-follow-all t) (link (todo-write-follow-remote "/ssh:one:")))
      (todo-write-follow-remote-tests--link "one")
      (todo-write-follow-mode)
      (dolist (project (list hosts "/ssh:two:/srv/"))
        (setq todo-write-follow--project project)
        (todo-write-follow-remote-tests--hear link "r /etc\n")
        (should (equal project todo-write-follow--project))))))

(ert-deftest todo-write-follow-remote-no-process-file-is-longer-than-what-is-asked-for ()
  (todo-write-follow-remote-tests--with
    (let ((link (todo-write-follow-remote "/ssh:one:")))
      (todo-write-follow-remote-tests--link "one")
      (pcase-dolist (`(,length . ,known) '((16384 . 1) (16385 . 0)))
        (todo-write-follow-remote-tests--hear
         link (format "+a 0 12 S - %s\n" (make-string length ?x)))
        (should (= known (hash-table-count (todo-write-follow-link--link-alive link))))))))

(ert-deftest todo-write-follow-remote-an-answer-counts-once ()
  (todo-write-follow-remote-tests--with
    (let ((link (todo-write-follow-remote "/ssh:one:")) (handled 0))
      (todo-write-follow-remote-tests--link "one")
      (todo-write-follow-remote-tests--wait (not (todo-write-follow-link--link-asked link)))
      (cl-letf (((symbol-function 'todo-write-follow-remote--answered)
                 (lambda (&rest _) (cl-incf handled))))
        (todo-write-follow-remote-tests--hear link (string-join (make-list 1000 ".\n")))
        (setf (todo-write-follow-link--link-asked link) t)
        (todo-write-follow-remote-tests--hear link (string-join (make-list 1000 ".\n")))
        (accept-process-output nil 0.05))
      (should (= 1 handled)))))

(ert-deftest todo-write-follow-remote-a-home-folder-may-have-any-letters ()
  (todo-write-follow-remote-tests--with
    (let* ((link (todo-write-follow-remote "/ssh:one:"))
           (homes (todo-write-follow-link--link-homes (todo-write-follow-remote-tests--link "one"))))
      (setf (nth 2 (car homes)) nil)
      (todo-write-follow-remote-tests--hear
       link (encode-coding-string "h /home/jörg/.claude\n" 'utf-8))
      (todo-write-follow-remote--copy-name
       link "/ssh:one:/home/jörg/.claude/projects/p/s.jsonl")
      (should (length= (todo-write-follow-link--link-homes link) (length homes))))))

(ert-deftest todo-write-follow-remote-a-file-that-is-no-transcript-adds-no-folder ()
  (todo-write-follow-remote-tests--with
    (let ((link (todo-write-follow-remote "/ssh:one:")))
      (todo-write-follow-remote-tests--link "one")
      (should-error (todo-write-follow "/ssh:one:/srv/projects/oven/README.md") :type 'user-error)
      (should (length= (todo-write-follow-link--link-homes link) 2)))))

(ert-deftest todo-write-follow-remote-only-regular-files-of-the-agent-are-sent ()
  (todo-write-follow-remote-tests--with
    (let ((projects (expand-file-name "one/.claude/projects/" hosts))
          (secret (expand-file-name "one/secret.jsonl" hosts)))
      (todo-write-follow-remote-tests--append secret '(:type "user" :sessionId "s"))
      (make-directory (concat projects "p"))
      (make-symbolic-link secret (concat projects "p/link.jsonl"))
      (make-symbolic-link (file-name-directory secret) (concat projects "q"))
      (call-process "mkfifo" nil nil nil (concat projects "p/pipe.jsonl"))
      (make-directory (concat projects "p/folder.jsonl"))
      (write-region "" nil (concat projects "p/two\nlines.jsonl") nil 'silent)
      (let ((link (todo-write-follow-remote "/ssh:one:")))
        (todo-write-follow-remote-tests--link "one")
        (should (= 0 (hash-table-count (todo-write-follow-link--link-files link))))))))

(ert-deftest todo-write-follow-remote-names-of-machines-are-distinct ()
  (todo-write-follow-remote-tests--with
    (let ((todo-write-remotes '(("build" :prefix "/ssh:bob@one:"))))
      (should (equal "build" (todo-write-follow-remote--name "/ssh:bob@one:")))
      (should (equal "one" (todo-write-follow-remote--name "/ssh:one:")))
      (should (equal "bob-two" (todo-write-follow-remote--name "/ssh:bob@two:")))
      (should-error (todo-write-follow-remote--name "/ssh:build:") :type 'user-error))))

(ert-deftest todo-write-follow-remote-runs-outside-tramp-where-that-is-possible ()
  (require 'tramp)
  (let ((tramp-methods (append '(("docker" (tramp-login-program "docker")))
                               tramp-methods)))
    (pcase-dolist (`(,prefix . ,program)
                   '(("/ssh:one:" "ssh" "-T" "-o" "BatchMode=yes" "-o" "ConnectTimeout=15" "--" "one")
                     ("/scp:bob@one#22:" "ssh" "-T" "-o" "BatchMode=yes" "-o" "ConnectTimeout=15"
                      "-l" "bob" "-p" "22" "--" "one")
                     ("/docker:root@web:" "docker" "exec" "-i" "-u" "root" "web")
                     ("/ssh:one|sudo:two:") ("/sudo:one:")))
      (should (equal program (todo-write-follow-remote--program prefix))))))

(provide 'todo-write-follow-remote-tests)
;;; todo-write-follow-remote-tests.el ends here
