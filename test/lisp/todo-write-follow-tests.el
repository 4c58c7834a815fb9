;;; todo-write-follow-tests.el --- Following sessions of Claude Code  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A thread shows the list that its session wrote into the transcript, whenever
;; following begins.  The sessions are invented, in the format of real ones; the
;; program's own tests read recorded ones.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-test-helper)
(require 'todo-write-agents)
(require 'todo-write-notify)
(require 'todo-write-history)
(require 'todo-write-list)
(require 'todo-write-visit)
(require 'todo-write-request)

(defmacro todo-write-follow-tests--with (&rest body)
  "Evaluate BODY with an empty store and an empty folder of transcripts.
`project' is the root of a project, `folder' its folder of transcripts;
`home' has the folders of both agents.  (session NAME PROMPT CONTENTS...)
writes a session with the id NAME to `folder', and returns its file."
  (declare (indent 0) (debug t))
  `(todo-write-with-store
     (let* ((project (file-name-as-directory (make-temp-file "bakery" t)))
            (home (make-temp-file "home" t))
            (todo-write-follow-agents (list (cons 'claude (expand-file-name ".claude" home))
                                            (cons 'codex (expand-file-name ".codex" home))))
            (projects (expand-file-name ".claude/projects/" home))
            (folder (expand-file-name (todo-write-test-transcript-folder project)
                                      projects))
            (default-directory project)
            (todo-write-follow-interval 0.05)
            (todo-write-follow-quiet nil)
            (todo-write-follow--stopped nil)
            (todo-write-socket (expand-file-name "socket" (make-temp-file "socket" t))))
       (make-directory folder t)
       (cl-flet ((session (name prompt &rest contents)
                   (apply #'todo-write-follow-tests--session
                          (expand-file-name (concat name ".jsonl") folder) name prompt contents)))
         (unwind-protect (progn ,@body)
           (todo-write-follow-stop)
           (delete-directory project t)
           (delete-directory home t))))))

(defun todo-write-follow-tests--start-mode ()
  "Switch the mode on, and wait until all homes are searched, and what it follows is read."
  (let* (searched
         (note (lambda (message)
                 ;; The program of an earlier test may still have the socket.
                 (when (and (eq 'found (car message)) (todo-write-follow--leads-p))
                   (cl-pushnew (plist-get (cdr message) :home) searched :test #'equal)))))
    (add-hook 'todo-write-hub-functions note 90)
    (unwind-protect
        (progn
          (todo-write-agents-mode)
          ;; If it was on, nothing else would search again.
          (todo-write-hub-tell nil '(search))
          (todo-write-test-wait
           (lambda ()
             (and searched
                  (cl-every (lambda (home) (member (directory-file-name (cdr home)) searched))
                            (car todo-write-follow--sent))
                  (cl-every (lambda (session) (eq 'ready (todo-write-follow--session-state session)))
                            todo-write-follow--followed)))))
      (remove-hook 'todo-write-hub-functions note))))

(defun todo-write-follow-tests--append (file &rest lines)
  "Append LINES to FILE: strings as they are, other objects as lines of JSON."
  (let ((coding-system-for-write 'utf-8-unix))
    (write-region (mapconcat (lambda (line)
                               (if (stringp line) line
                                 (concat (json-serialize line) "\n")))
                             lines "")
                  nil file t 'silent)))

(defun todo-write-follow-tests--session (file session prompt &rest contents)
  "Write a session with the id SESSION, which begins with PROMPT, to FILE.
Its agent has a list of CONTENTS.  Return FILE."
  (todo-write-follow-tests--append
   file
   `(:type "user" :uuid ,(concat session "-1") :sessionId ,session :cwd ,default-directory
           :isSidechain :false :message (:role "user" :content ,prompt)))
  (when contents
    (apply #'todo-write-follow-tests--write file session "w1" contents))
  file)

(defun todo-write-follow-tests--write (file session id &rest contents)
  "Let the agent of SESSION in FILE write a list of CONTENTS by the call ID."
  (apply #'todo-write-follow-tests--append
         file (mapcar (lambda (line) (append line `(:sessionId ,session :isSidechain :false)))
                      (apply #'todo-write-test-transcript-list id contents))))

;;; A session

(ert-deftest todo-write-follow-tests-an-old-session-is-as-old-as-its-last-line-after-a-restart-too ()
  (todo-write-follow-tests--with
    (let* ((file (session "a" "Bake" '("Mix" "completed")))
           (todo-write-list-hours 1000000)
           (now (floor (float-time)))
           (since (lambda ()
                    (todo-write-list)
                    (prog1 (progn (goto-char (point-min))
                                  (buffer-substring-no-properties (point-min) (point-max)))
                      (kill-buffer)))))
      ;; The file is new, its lines are not.
      (todo-write-follow-tests--append
       file
       `(:type "assistant" :uuid "end" :sessionId "a" :isSidechain :false
               :timestamp ,(format-time-string "%FT%T.000Z" (- now (* 200 86400)) t)
               :message (:id "end" :stop_reason "end_turn"
                         :content [(:type "text" :text "Done")])))
      (todo-write-follow file)
      (should (string-match-p "idle +200 d" (funcall since)))
      (todo-write-follow-stop)
      (should (string-match-p "idle +200 d" (funcall since)))
      (should (string-match-p
               "idle +200 d"
               (todo-write-test-child
                '(require 'todo-write-list)
                `(let ((todo-write-list-hours ,todo-write-list-hours))
                   (todo-write-list)
                   (prin1 (buffer-substring-no-properties (point-min) (point-max))))))))))

;;; Growing

(ert-deftest todo-write-follow-tests-looks-suffice-without-file-notifications ()
  (todo-write-follow-tests--with
    ;; The folder that is watched does not change.
    (let* ((file (todo-write-follow-tests--session
                  (expand-file-name "a.jsonl" project) "a" "Bake" "Mix"))
           (link (expand-file-name "a.jsonl" folder))
           thread)
      (make-symbolic-link file link)
      (setq thread (todo-write-follow link))
      (todo-write-follow-tests--write file "a" "w2" "Rest")
      (todo-write-test-wait
       (lambda () (equal (todo-write-test-contents thread) '("Rest")))))))

(ert-deftest todo-write-follow-tests-a-quiet-session-is-paused-until-its-next-line ()
  (todo-write-follow-tests--with
    (let* ((todo-write-follow-quiet 600)
           (file (session "a" "Bake" '("Mix" "in_progress")))
           thread states)
      (set-file-times file (time-subtract nil 3600))
      (setq thread (todo-write-follow file))
      (should (eq (todo-write-state thread) 'paused))
      (should (equal "quiet for long" (plist-get (todo-write-summary thread) :reason)))
      (todo-write-test-listening
          (lambda (thread what _)
            (when (eq what 'change)
              (cl-pushnew (todo-write-state thread) states)))
        (todo-write-follow-tests--write file "a" "w2" '("Mix" "in_progress") "Rest")
        (todo-write-test-wait (lambda () (eq (todo-write-state thread) 'active)))
        (should (equal states '(active)))
        (todo-write-follow-stop file)
        (should (equal states '(paused active)))
        (should (equal (plist-get (todo-write-summary thread) :reason)
                       "no longer followed"))))))

(ert-deftest todo-write-follow-tests-a-subscriber-may-wait-for-input ()
  (todo-write-follow-tests--with
    (let* ((file (session "a" "Bake" "Mix"))
           (thread (todo-write-follow file))
           (depth 0) (deepest 0) (rings 0) (begun nil)
           (ring (lambda (&rest _) (cl-incf rings)))
           (todo-write-change-functions
            (list (lambda (&rest _)
                    (setq depth (1+ depth) deepest (max depth deepest))
                    (unless begun
                      (setq begun rings)
                      (todo-write-follow-tests--write file "a" "w3" "Third")
                      ;; What comes meanwhile rings.
                      (todo-write-test-wait (lambda () (< begun rings))))
                    (setq depth (1- depth))))))
      (advice-add 'todo-write-hub--filter :before ring)
      (unwind-protect
          (progn
            (todo-write-follow-tests--write file "a" "w2" "Second")
            (todo-write-test-wait (lambda () (equal (todo-write-test-contents thread) '("Third"))))
            (should (= deepest 1)))
        (advice-remove 'todo-write-hub--filter ring)))))

;;; Activity

(defun todo-write-follow-tests--process (home text &rest arguments)
  "Write the file of this process as TEXT, formatted with ARGUMENTS, below HOME.
Return its name."
  (let ((file (expand-file-name (format ".claude/sessions/%d.json" (emacs-pid)) home)))
    (make-directory (file-name-directory file) t)
    (write-region (apply #'format text arguments) nil file nil 'silent)
    file))

(defun todo-write-follow-tests--start ()
  "Return the start of this process in clock ticks of Linux, or skip the test."
  (unless (file-exists-p "/proc/self/stat") (ert-skip "This is not Linux"))
  (with-temp-buffer
    (insert-file-contents-literally (format "/proc/%d/stat" (emacs-pid)))
    (nth 21 (split-string (replace-regexp-in-string "(.*)" "name" (buffer-string))))))

(defun todo-write-follow-tests--await-processes (home folder)
  "Wait until all files of processes below HOME are read as they are now.
Those of a further session, whose transcript is in FOLDER, are the last."
  (dolist (name '("m" "n"))
    (let ((thread (todo-write-follow (todo-write-follow-tests--session
                                      (expand-file-name (concat name ".jsonl") folder)
                                      name "Mark"))))
      (todo-write-follow-tests--process
       home "{\"sessionId\":%S,\"procStart\":%S,\"status\":\"waiting\",\"waitingFor\":\"me\"}"
       name (todo-write-follow-tests--start))
      (todo-write-test-wait (lambda () (eq 'waiting (car (todo-write-activity thread))))))))

(defmacro todo-write-follow-tests--with-process (&rest body)
  "Evaluate BODY with a followed session, whose process reports its status.
`thread' is its key.  (says STATUS MORE) lets its process report STATUS and
MORE, JSON text; (shows STATE ACTIVITY WHY) waits until these are shown."
  (declare (indent 0) (debug t))
  `(todo-write-follow-tests--with
     (let* ((start (todo-write-follow-tests--start))
            (file (session "a" "Bake" '("Mix" "in_progress")))
            (thread (todo-write-follow file)))
       (cl-flet ((says (status &optional more)
                   (todo-write-follow-tests--process
                    home "{\"sessionId\":\"a\",\"procStart\":%S,\"status\":%S%s}"
                    start status (or more "")))
                 (shows (state &rest activity)
                   (todo-write-test-wait
                    (lambda ()
                      (equal (list state activity)
                             (list (todo-write-state thread)
                                   (pcase (todo-write-activity thread)
                                     (`(,what . ,why) (if why (list what why) (list what))))))))))
         ,@body))))

(ert-deftest todo-write-follow-tests-a-process-says-what-its-agent-does ()
  (todo-write-follow-tests--with-process
    (says "busy")
    (shows 'active 'working)
    (todo-write-test-wait
     (lambda () (equal (plist-get (todo-write-events-activity thread) :process) (emacs-pid))))
    (says "waiting" ",\"waitingFor\":\"permission\\nprompt\"")
    (shows 'active 'waiting "permission prompt")
    (says "busy")
    (shows 'active 'working)
    (says "idle")
    (shows 'paused)
    (should (equal (plist-get (todo-write-summary thread) :reason) "end of turn"))
    (says "busy")
    (shows 'active 'working)
    (delete-file (says "busy"))
    (shows 'paused)
    (should-not (plist-get (todo-write-events-activity thread) :process))
    (should (equal (plist-get (todo-write-summary thread) :reason) "agent exited"))))

(ert-deftest todo-write-follow-tests-a-job-in-the-background-says-what-it-needs ()
  (todo-write-follow-tests--with-process
    (let ((job (expand-file-name ".claude/jobs/j1/state.json" home)))
      (make-directory (file-name-directory job) t)
      (write-region "{\"tempo\":\"blocked\",\"needs\":\"approve Bash: bake\"}" nil job nil 'silent)
      (says "waiting" ",\"waitingFor\":\"permission prompt\",\"jobId\":\"j1\"")
      (shows 'active 'waiting "approve Bash: bake")
      ;; What it needed before.
      (write-region "{\"tempo\":\"active\",\"needs\":\"approve Bash: bake\"}" nil job nil 'silent)
      (says "waiting" ",\"waitingFor\":\"dialog\",\"jobId\":\"j1\"")
      (shows 'active 'waiting "dialog")
      (write-region "{\"tempo\":\"blocked\",\"needs\":\"approve Bash: bake\"}" nil job nil 'silent)
      (says "waiting" ",\"waitingFor\":\"plan\",\"jobId\":\"../jobs/j1\"")
      (shows 'active 'waiting "plan"))))

;; The turn ended without a line, and Emacs looks minutes later.
(ert-deftest todo-write-follow-tests-an-idle-process-adds-no-time-after-the-last-line ()
  (todo-write-follow-tests--with
    (let* ((start (todo-write-follow-tests--start))
           (file (expand-file-name "a.jsonl" folder))
           (now (current-time))
           (ago (lambda (seconds)
                  (format-time-string "%FT%T.000Z" (time-subtract now seconds) t)))
           (line (lambda (uuid type time &rest content)
                   (todo-write-follow-tests--append
                    file `(:type ,type :uuid ,uuid :sessionId "a" :cwd ,default-directory
                           :isSidechain :false :timestamp ,time
                           :message (:id ,uuid :content [,content]))))))
      (funcall line "1" "assistant" (funcall ago 400) :type "tool_use" :id "c" :name "TodoWrite"
               :input (todo-write-test-todos '("Mix" "in_progress")))
      (funcall line "2" "user" (funcall ago 400)
               :type "tool_result" :tool_use_id "c" :content "ok")
      (funcall line "3" "assistant" (funcall ago 300) :type "text" :text "Mixing")
      (todo-write-follow-tests--process
       home "{\"sessionId\":\"a\",\"procStart\":%S,\"status\":\"busy\"}" start)
      (todo-write-follow file)
      (should (eq 'working (car (todo-write-activity "claude:a"))))
      (should (plist-get (todo-write-times "claude:a" "t1") :running))
      (todo-write-follow-tests--process
       home "{\"sessionId\":\"a\",\"procStart\":%S,\"status\":\"idle\"}" start)
      (todo-write-test-wait (lambda () (eq 'paused (todo-write-state "claude:a"))))
      (should (= 100000 (plist-get (todo-write-times "claude:a" "t1") :spent)))
      (should (<= 299 (- (float-time) (/ (plist-get (todo-write-events-activity "claude:a") :since) 1000.0)))))))

(ert-deftest todo-write-follow-tests-a-process-may-go-on-to-another-session ()
  (todo-write-follow-tests--with-process
    (says "idle")
    (shows 'paused)
    (says "busy")
    (shows 'active 'working)
    ;; As Claude Code does by /clear.
    (todo-write-follow-tests--process
     home "{\"sessionId\":\"b\",\"procStart\":%S,\"status\":\"idle\"}" start)
    (shows 'paused)
    (should (equal (plist-get (todo-write-summary thread) :reason) "another session began"))
    ;; It is of no use among the agents.
    (should (todo-write-list--old-p
             (seq-find (lambda (agent) (equal thread (plist-get agent :thread)))
                       (todo-write-agents))))))

(ert-deftest todo-write-follow-tests-a-silent-session-is-not-paused-while-its-process-works ()
  (todo-write-follow-tests--with-process
    (says "busy")
    (shows 'active 'working)
    (let ((todo-write-follow-quiet 0))
      (todo-write-follow file)
      (shows 'active 'working))))

;;; Endings

(defmacro todo-write-follow-tests--with-child (&rest body)
  "Evaluate BODY with a session whose process, `child', says that it works.
`file' is the transcript, of which nothing is followed yet; (ended) returns
its state, ending and reason."
  (declare (indent 0) (debug t))
  `(todo-write-follow-tests--with
     (let* ((child (start-process "child" nil "sleep" "1000000"))
            (pid (process-id child))
            (file (expand-file-name "a.jsonl" folder))
            (own (expand-file-name (format ".claude/sessions/%d.json" pid) home)))
       (set-process-query-on-exit-flag child nil)
       (todo-write-follow-tests--append
        file `(:type "mode" :sessionId "a" :cwd ,default-directory :entrypoint "cli"))
       (todo-write-follow-tests--session file "a" "Bake" '("Mix" "in_progress"))
       (make-directory (file-name-directory own) t)
       (write-region (format "{\"sessionId\":\"a\",\"status\":\"busy\"}") nil own nil 'silent)
       (cl-flet ((ended ()
                   (let ((summary (todo-write-summary "claude:a")))
                     (list (plist-get summary :state) (plist-get summary :ending)
                           (plist-get summary :reason)))))
         (ignore own)
         (unwind-protect (progn ,@body)
           (delete-process child))))))

(defun todo-write-follow-tests--kill (child)
  "Kill the process CHILD, and wait until it is gone."
  (signal-process child 'kill)
  (todo-write-test-wait (lambda () (not (process-live-p child)))))

(ert-deftest todo-write-follow-tests-an-agent-that-was-gone-before-does-not-work ()
  (dolist (ending '((paused killed "killed") (paused session-ended "agent exited")))
    (todo-write-follow-tests--with-child
      (if (eq 'killed (nth 1 ending))
          (todo-write-follow-tests--kill child)
        (delete-file own))
      (todo-write-follow file)
      (should (equal (ended) ending))
      (should-not (todo-write-activity "claude:a")))))

(ert-deftest todo-write-follow-tests-lines-that-are-read-after-the-end-of-their-process-run-no-turn ()
  (dolist (was-seen '(nil t))
    (todo-write-follow-tests--with
      (let ((file (expand-file-name "a.jsonl" folder))
            (own (todo-write-follow-tests--process home "{\"sessionId\":\"a\",\"status\":\"idle\"}")))
        (unless was-seen (delete-file own))
        (todo-write-follow-tests--append
         file `(:type "mode" :sessionId "a" :cwd ,default-directory :entrypoint "cli"))
        (todo-write-follow file)
        (when was-seen (delete-file own))
        (todo-write-follow-tests--append
         file '(:type "user" :uuid "late" :sessionId "a" :isSidechain :false
                :message (:role "user" :content "Knead")))
        (todo-write-test-wait (lambda () (todo-write-core-call todo-write-dyn--loaded-p "claude:a")))
        (todo-write-test-wait (lambda () (null (todo-write-activity "claude:a"))))))))

(ert-deftest todo-write-follow-tests-a-file-whose-name-is-no-text-is-not-followed ()
  (todo-write-follow-tests--with
    (let ((file (expand-file-name "\377.jsonl" folder)))
      (should-error (todo-write-follow file) :type 'todo-write-error)
      (should-not (todo-write-follow--find file))
      (todo-write-follow-stop))))

(ert-deftest todo-write-follow-tests-a-suspended-process-stops-the-clock ()
  (todo-write-follow-tests--with-child
    (todo-write-follow file)
    (let ((attention (lambda () (mapcar #'todo-write-agent-state (todo-write-agents)))))
      (should (equal '(working) (funcall attention)))
      (signal-process child 'stop)
      (todo-write-test-wait (lambda () (equal (ended) '(paused nil "suspended"))))
      (should (equal '(suspended) (funcall attention)))
      (should-not (todo-write-activity "claude:a"))
      (should-not (plist-get (todo-write-times "claude:a" "t1") :running))
      (signal-process child 'cont)
      (todo-write-test-wait (lambda () (equal (ended) '(active nil nil))))
      (should (equal '(working) (funcall attention))))))

(ert-deftest todo-write-follow-tests-to-stop-following-does-not-pause-a-live-agent ()
  (todo-write-follow-tests--with-child
    (todo-write-follow file)
    (todo-write-follow-stop file)
    (should (equal (ended) '(active nil nil)))
    (should (equal '(unknown) (mapcar #'todo-write-agent-state (todo-write-agents))))
    (should-not (plist-get (todo-write-times "claude:a" "t1") :running))))

;;; Several sessions at once

(ert-deftest todo-write-follow-tests-a-session-is-followed-until-its-agent-has-ended ()
  (todo-write-follow-tests--with-child
    (let ((todo-write-follow-quiet 0))
      (todo-write-follow-tests--start-mode)
      (todo-write-test-wait (lambda () (equal (ended) '(active nil nil))))
      (todo-write-follow-tests--write file "a" "w2" '("Mix" "completed") "Knead")
      (todo-write-test-wait
       (lambda () (equal (todo-write-test-contents "claude:a") '("Mix" "Knead"))))
      (delete-file own)
      (todo-write-test-wait (lambda () (not (todo-write-follow--find file))))
      (should (equal (todo-write-test-contents "claude:a") '("Mix" "Knead")))
      (should (equal (ended) '(paused session-ended "agent exited"))))))

(ert-deftest todo-write-follow-tests-a-session-that-the-user-asked-for-is-followed-on ()
  (todo-write-follow-tests--with-child
    (let ((todo-write-follow-quiet 0))
      (todo-write-follow file)
      (todo-write-follow-tests--start-mode)
      (delete-file own)
      (todo-write-test-wait (lambda () (equal (ended) '(paused session-ended "agent exited"))))
      (todo-write-follow-tests--start-mode)
      (should (todo-write-follow--find file))
      (todo-write-agents-mode -1)
      (should (todo-write-follow--find file)))))

(ert-deftest todo-write-follow-tests-a-session-that-is-resumed-is-followed-at-once ()
  (todo-write-follow-tests--with-child
    (delete-file own)
    (set-file-times file (time-subtract nil 3600))
    (session "b" "Mill" "Grind")
    (todo-write-follow-tests--start-mode)
    (should-not (todo-write-follow--find file))
    (write-region (format "{\"sessionId\":\"a\",\"status\":\"busy\",\"cwd\":%S,\"startedAt\":%d}"
                          (directory-file-name project) (1+ (truncate (* 1000 (float-time)))))
                  nil own nil 'silent)
    (todo-write-test-wait (lambda () (equal (ended) '(active nil nil))))))

;;; Folders

(ert-deftest todo-write-follow-tests-the-search-for-agents-asks-no-other-machine ()
  (let* (asked
         (todo-write-follow-agents '((claude . "/elsewhere:~/.claude")))
         (file-name-handler-alist
          (cons (cons "\\`/elsewhere:" (lambda (operation &rest _)
                                         (if (eq operation 'file-remote-p) "/elsewhere:"
                                           (push operation asked) "/")))
                file-name-handler-alist)))
    (todo-write-follow-homes)
    (should-not asked)))

(ert-deftest todo-write-follow-tests-without-a-folder-none-is-searched ()
  (let (told)
    (cl-letf (((symbol-function 'todo-write-hub-live-p) #'always)
              ((symbol-function 'todo-write-follow--leads-p) #'always)
              ((symbol-function 'todo-write-hub-tell) (lambda (_ command) (push command told))))
      (dolist (todo-write-follow-agents '(nil ((claude . "/ssh:build:~/.claude"))))
        (let ((todo-write-follow--followed nil)
              todo-write-follow--sent)
          (todo-write-follow-send-homes))))
    ;; nil would be the usual ones.
    (should (equal '((homes [] t) (homes [] t)) told))))

(ert-deftest todo-write-follow-tests-a-folder-that-cannot-be-read-is-skipped ()
  (todo-write-follow-tests--with
    (let ((file (expand-file-name "a.jsonl" folder)))
      (make-directory (expand-file-name ".codex" home) t)
      (make-symbolic-link "sessions" (expand-file-name ".codex/sessions" home))
      (todo-write-follow-tests--session file "a" "Bake" "Mix")
      (todo-write-follow-tests--start-mode)
      (should (todo-write-follow--find file)))))

(defun todo-write-follow-tests--of-project (root)
  "Return the ids of the sessions of the project ROOT, sorted."
  (sort (cl-loop for one in (todo-write-follow--offered root nil)
                 when (plist-get one :is-of-project)
                 collect (file-name-base (plist-get one :path)))
        #'string<))

(ert-deftest todo-write-follow-tests-a-worktree-is-a-project-of-its-own ()
  (todo-write-follow-tests--with
    (let ((worktree (expand-file-name ".claude/worktrees/oven/" project))
          (sub (expand-file-name "src/" project)))
      (make-directory (expand-file-name ".git" project))
      (make-directory worktree t)
      (make-directory sub)
      (write-region (format "gitdir: %s.git/worktrees/oven\n" project)
                    nil (expand-file-name ".git" worktree) nil 'silent)
      (cl-flet ((session (name folder)
                  (let ((default-directory folder)
                        (file (expand-file-name
                               (format "%s/%s.jsonl"
                                       (todo-write-test-transcript-folder folder) name)
                               projects)))
                    (make-directory (file-name-directory file) t)
                    (todo-write-follow-tests--session file name "Bake" "Mix"))))
        (let ((in-worktree (session "w" worktree)) (in-sub (session "s" sub)))
          (should (equal '("s") (todo-write-follow-tests--of-project project)))
          (should (equal '("w") (todo-write-follow-tests--of-project worktree)))
          (dolist (file (list in-worktree in-sub)) (todo-write-follow file))
          (should (equal project (plist-get (todo-write-about "claude:s") :project)))
          (should (equal worktree (plist-get (todo-write-about "claude:w") :project))))))))

(ert-deftest todo-write-follow-tests-a-forgotten-session-is-shown-whole-again ()
  (todo-write-follow-tests--with
    (let* ((file (session "a" "Bake" "Mix" "Knead"))
           (thread (todo-write-follow file)))
      (todo-write-forget thread)
      (should (equal thread (todo-write-follow file)))
      (should (equal (todo-write-test-contents thread) '("Mix" "Knead")))
      (todo-write-forget thread)
      (todo-write-follow-tests--write file "a" "w2" "Mix" "Bake")
      (todo-write-test-wait
       (lambda () (equal (todo-write-test-contents thread) '("Mix" "Bake")))))))

;;; Codex

(defun todo-write-follow-tests--rollout (home name folder &rest payloads)
  "Write a rollout of Codex, NAME, that began in FOLDER; return its file.
HOME has the folders of agents; PAYLOADS are lists (TYPE . PAYLOAD)."
  (let ((file (expand-file-name (format ".codex/sessions/2026/11/22/rollout-2026-11-22T08-00-00-%s.jsonl" name)
                                home)))
    (make-directory (file-name-directory file) t)
    (apply #'todo-write-follow-tests--append file
           (mapcar (pcase-lambda (`(,type . ,payload))
                     (list :timestamp (format-time-string "%FT%T.%3NZ" nil t)
                           :type type :payload payload))
                   (cons `("session_meta" :id ,name :cwd ,folder :originator "codex_cli"
                           :cli_version "0.169.0")
                         payloads)))
    file))

(defconst todo-write-follow-tests--codex-prompt
  '(("event_msg" :type "task_started")
    ("event_msg" :type "user_message" :message "Bake with Codex"))
  "The payloads with which a turn of Codex begins.")

(ert-deftest todo-write-follow-tests-the-mode-follows-codex-and-its-turns ()
  (todo-write-follow-tests--with
    (session "a" "Bake" "A")
    (todo-write-follow-tests--start-mode)
    (should (todo-write-test-contents "claude:a"))
    (let ((file (apply #'todo-write-follow-tests--rollout home "c" (directory-file-name project)
                       `(,@todo-write-follow-tests--codex-prompt
                         ("response_item" :type "function_call" :name "update_plan" :call_id "1"
                          :arguments ,(json-serialize
                                       '(:plan [(:step "Mix" :status "in_progress")])))
                         ("response_item" :type "function_call_output" :call_id "1"
                          :output "Plan updated")))))
      (todo-write-test-wait (lambda () (equal (todo-write-test-contents "codex:c") '("Mix"))))
      (should (equal (todo-write-activity "codex:c") '(working)))
      (todo-write-follow-tests--append
       file (list :timestamp (format-time-string "%FT%T.%3NZ" nil t)
                  :type "event_msg" :payload '(:type "task_complete")))
      (todo-write-test-wait (lambda () (eq (todo-write-state "codex:c") 'paused)))
      (should-not (todo-write-activity "codex:c")))))

(ert-deftest todo-write-follow-tests-a-hostile-title-is-offered-literally ()
  (todo-write-follow-tests--with
    (let* ((default-directory "/tmp/a\u202eb\e[31m/")
           (file (session "a" "Bake \u202e\u200b \e[31m it\nnow")))
      (pcase-let ((`((,title ,name . ,cells)) (todo-write-follow--choices
                                               (todo-write-follow--offered project nil))))
        (should (equal name file))
        (should (string-prefix-p "Bake" title))
        (should (member "Claude Code" cells))
        (dolist (text (cons title cells))
          (should-not (string-match-p "[\u202e\u200b\e\n]" text)))))))

(ert-deftest todo-write-follow-tests-sessions-of-both-agents-are-offered ()
  (todo-write-follow-tests--with
    (session "a" "Bake")
    (set-file-times (apply #'todo-write-follow-tests--rollout home "c" project
                           todo-write-follow-tests--codex-prompt)
                    (time-subtract nil 100))
    ;; A reviewer's session is not one of the user's.
    (todo-write-follow-tests--append
     (expand-file-name ".codex/sessions/2026/11/22/rollout-2026-11-22T09-00-00-r.jsonl" home)
     `(:timestamp "2026-11-22T09:00:00.000Z" :type "session_meta"
       :payload (:id "r" :cwd ,project :parent_thread_id "c")))
    (cl-letf (((symbol-function 'frame-width) (lambda (&rest _) 200))
              ((symbol-function 'completing-read)
               (lambda (_prompt table &rest _)
                 (let ((titles (all-completions "" table)))
                   (should (equal titles '("Bake" "Bake with Codex")))
                   (should (equal
                            (mapcar (lambda (affixed)
                                      (substring-no-properties (nth 2 affixed)))
                                    (funcall (alist-get 'affixation-function
                                                        (cdr (completion-metadata "" table nil)))
                                             titles))
                            (list (concat "             now    Claude Code  " project)
                                  (concat "  1 min  Codex        " project))))
                   (car titles)))))
      (todo-write-follow--read-session))))

;;; The mode

(ert-deftest todo-write-follow-tests-the-mode-waits-for-a-first-session ()
  (todo-write-follow-tests--with
    (delete-directory folder)
    (todo-write-follow-tests--start-mode)
    (make-directory folder)
    (session "a" "Bake" "A")
    (todo-write-test-wait (lambda () (equal (todo-write-test-contents "claude:a") '("A"))))))

(ert-deftest todo-write-follow-tests-the-mode-follows-all-live-sessions-of-all-projects ()
  (todo-write-follow-tests--with
    (let* ((todo-write-follow-quiet 600)
           (start (todo-write-follow-tests--start))
           (session (lambda (name age)
                      (let ((file (expand-file-name (concat "-" name "/" name ".jsonl") projects))
                            (default-directory (concat "/" name "/")))
                        (make-directory (file-name-directory file) t)
                        (set-file-times
                         (todo-write-follow-tests--session file name "Work" (upcase name))
                         (time-subtract nil age))
                        file)))
           (contents (lambda () (mapcar #'todo-write-test-contents
                                        '("claude:a" "claude:b" "claude:c" "claude:d")))))
      (funcall session "a" 10)
      (funcall session "b" 7200)
      (funcall session "c" 7200)
      (todo-write-follow-tests--process
       home "{\"sessionId\":\"b\",\"procStart\":%S,\"status\":\"idle\"}" start)
      ;; Files of subagents do not count.
      (todo-write-follow-tests--session (expand-file-name "agent-1.jsonl" folder) "x" "Agent" "X")
      (todo-write-follow-tests--start-mode)
      (todo-write-test-wait (lambda () (equal (funcall contents) '(("A") ("B") nil nil))))
      (funcall session "d" 0)
      (todo-write-test-wait (lambda () (equal (funcall contents) '(("A") ("B") nil ("D")))))
      (should-not (todo-write-test-contents "claude:x")))))

(ert-deftest todo-write-follow-tests-a-stopped-session-stays-stopped-until-it-is-asked-for ()
  (todo-write-follow-tests--with
    (let ((file (session "a" "Bake" "Mix"))
          (other (expand-file-name "b.jsonl" folder)))
      (todo-write-follow-tests--start-mode)
      (should (todo-write-follow--find file))
      (let ((current-prefix-arg '(4)))
        (call-interactively #'todo-write-follow))
      (should todo-write-agents-mode)
      (should (equal "no longer followed" (plist-get (todo-write-summary "claude:a") :reason)))
      (todo-write-agents-mode -1)
      (todo-write-follow-tests--start-mode)
      (todo-write-follow-tests--write file "a" "w2" "Mix" "Knead")
      ;; The others are followed.
      (todo-write-follow-tests--session other "b" "Mill" "Grind")
      (todo-write-test-wait (lambda () (equal '("Grind") (todo-write-test-contents "claude:b"))))
      (should-not (todo-write-follow--find file))
      (should (equal '("Mix") (todo-write-test-contents "claude:a")))
      (should (equal "claude:a" (todo-write-follow (abbreviate-file-name file))))
      (should (equal '("Mix" "Knead") (todo-write-test-contents "claude:a")))
      (should-not todo-write-follow--stopped)
      (let ((current-prefix-arg '(16)))
        (call-interactively #'todo-write-follow))
      (should-not todo-write-agents-mode)
      (should-not todo-write-follow--followed))))

(ert-deftest todo-write-follow-tests-without-a-file-the-mode-is-switched-on ()
  (todo-write-follow-tests--with
    (let ((file (session "a" "Bake" "Mix")))
      (should-not (todo-write-follow))
      (should todo-write-agents-mode)
      (todo-write-test-wait (lambda () (todo-write-follow--find file))))))

(ert-deftest todo-write-follow-tests-the-modes-of-earlier-versions-are-the-mode ()
  (todo-write-follow-tests--with
    (require 'todo-write-mcp)
    (dolist (mode '(todo-write-follow-mode todo-write-mcp-mode))
      (should (eq 'todo-write-agents-mode (indirect-variable mode)))
      (funcall mode)
      (should todo-write-agents-mode)
      (should (symbol-value mode))
      (funcall mode -1)
      (should-not todo-write-agents-mode))))

(ert-deftest todo-write-follow-tests-the-mode-that-is-on-already-ends-nothing ()
  (todo-write-follow-tests--with
    (let ((file (session "a" "Bake" "Mix")))
      (todo-write-follow-tests--start-mode)
      (let ((session (todo-write-follow--find file))
            (revision (plist-get (todo-write-summary "claude:a") :revision)))
        (should session)
        (todo-write-follow-tests--start-mode)
        (should (eq session (todo-write-follow--find file)))
        (should-not (equal "no longer followed" (plist-get (todo-write-summary "claude:a") :reason)))
        (should (equal revision (plist-get (todo-write-summary "claude:a") :revision)))
        (should (equal (list session) todo-write-follow--followed)))
      (todo-write-agents-mode -1)
      (should-not todo-write-follow--followed))))

(ert-deftest todo-write-follow-tests-unloading-the-mode-switches-it-off ()
  (should (equal '(t nil nil)
                 (todo-write-test-child
                  '(require 'todo-write-agents)
                  '(setq todo-write-follow-agents nil)
                  '(todo-write-agents-mode)
                  '(prin1 (list todo-write-agents-mode
                                (progn (unload-feature 'todo-write-agents t)
                                       todo-write-socket-wanted)
                                (memq 'todo-write-socket--receive
                                      todo-write-hub-functions)))))))

;;; One leader, and a program that dies

(ert-deftest todo-write-follow-tests-a-second-emacs-follows-nothing-until-it-takes-over ()
  (todo-write-follow-tests--with
    (let* ((file (session "a" "Bake" "Mix"))
           (first (todo-write-test-start
                   '(require 'todo-write-agents)
                   `(setq todo-write-socket ,todo-write-socket
                          todo-write-follow-agents ',todo-write-follow-agents
                          todo-write-directory ,todo-write-directory
                          todo-write-follow-interval 0.05)
                   '(todo-write-agents-mode)
                   '(while t (accept-process-output nil 1)))))
      (unwind-protect
          (progn
            ;; The first has the socket, and follows the session.
            (todo-write-test-wait (lambda () (equal '("Mix") (todo-write-test-contents "claude:a"))))
            (todo-write-agents-mode)
            (todo-write-test-wait (lambda () (eq 'client (todo-write-socket-state))))
            (todo-write-hub-tell nil '(search))
            (todo-write-restore "claude:a")
            (todo-write-follow-tests--write file "a" "w2" "Mix" "Knead")
            ;; What the first read is shown here.
            (todo-write-test-wait
             (lambda ()
               (todo-write-hub--check)
               (equal '("Mix" "Knead") (todo-write-test-contents "claude:a"))))
            (should-not todo-write-follow--followed)
            (delete-process first)
            (todo-write-test-wait (lambda () (todo-write-follow--find file)))
            (should (eq 'open (todo-write-socket-state)))
            (todo-write-follow-tests--write file "a" "w3" "Bake")
            (todo-write-test-wait (lambda () (equal '("Bake") (todo-write-test-contents "claude:a")))))
        (delete-process first)))))

(ert-deftest todo-write-follow-tests-an-emacs-that-was-suspended-does-not-kill-its-program ()
  (todo-write-follow-tests--with
    (todo-write-follow-tests--start-mode)
    (let ((program todo-write-hub-process))
      (dolist (passed '(3600 0 0 -3600 0))
        (cl-decf todo-write-hub--checked passed)
        (todo-write-hub--check))
      (should (and (eq program todo-write-hub-process) (process-live-p program))))))

(ert-deftest todo-write-follow-tests-a-program-that-is-killed-is-started-again-and-loses-nothing ()
  (todo-write-follow-tests--with
    (let ((file (session "a" "Bake" "Mix"))
          (todo-write-hub--deaths nil))
      (todo-write-follow-tests--start-mode)
      (should (todo-write-follow--find file))
      (let ((revisions (length (todo-write-revisions "claude:a")))
            (program todo-write-hub-process))
        (signal-process program 'SIGKILL)
        (todo-write-follow-tests--write file "a" "w2" "Mix" "Knead")
        (todo-write-test-wait
         (lambda () (equal '("Mix" "Knead") (todo-write-test-contents "claude:a"))))
        (should-not (eq program todo-write-hub-process))
        (should (= (1+ revisions) (length (todo-write-revisions "claude:a"))))
        ;; New sessions are followed, too.
        (session "b" "Mill" "Grind")
        (todo-write-test-wait
         (lambda () (equal '("Grind") (todo-write-test-contents "claude:b"))))))))

(ert-deftest todo-write-follow-tests-a-program-of-another-version-is-refused-once ()
  (todo-write-follow-tests--with
    (let* ((socket (expand-file-name "program" home))
           (todo-write-mcp-program (expand-file-name "todo-write-mcp" home))
           (todo-write-hub--deaths nil)
           warnings
           (server (make-network-process
                    :name "program" :server t :family 'local :service socket
                    :log (lambda (_server client _)
                           (process-send-string client "{\"welcome\":{\"version\":\"0.0.1\"}}\nlater\n")
                           ;; It rings.
                           (process-send-string todo-write-hub-process "!")))))
      (write-region (format "#!/bin/sh\necho %s; exec cat" socket) nil todo-write-mcp-program)
      (set-file-modes todo-write-mcp-program #o700)
      (todo-write-hub-end)
      (unwind-protect
          (cl-letf (((symbol-function 'display-warning)
                     (lambda (_ text &rest _) (push text warnings))))
            (let ((err (should-error (todo-write-follow (expand-file-name "a.jsonl" home)))))
              (should (string-search "has ended" (error-message-string err))))
            (should-not todo-write-hub-process)
            (should (= 1 (length warnings)))
            (should (string-search "It is version 0.0.1, and Emacs has todo-write" (car warnings))))
        (delete-process server)))))

(ert-deftest todo-write-follow-tests-it-is-unknown-what-agents-do-while-the-program-is-down ()
  (todo-write-follow-tests--with
    (let* ((now (float-time))
           ;; It is not started again.
           (todo-write-hub--deaths (list now now))
           (start (todo-write-follow-tests--start)))
      (cl-flet ((state () (todo-write-agent-state (todo-write-agent "claude:a"))))
        (todo-write-follow-tests--start-mode)
        (session "a" "Bake" '("Mix" "in_progress"))
        (todo-write-follow-tests--process
         home "{\"sessionId\":\"a\",\"procStart\":%S,\"status\":\"busy\"}" start)
        (todo-write-test-wait (lambda () (eq 'working (state))))
        (cl-letf (((symbol-function 'display-warning) #'ignore))
          (signal-process todo-write-hub-process 'SIGKILL)
          (todo-write-test-wait (lambda () (not (todo-write-hub-live-p)))))
        (should (eq 'working (state)))
        (todo-write-hub--tell-lost)
        (should (eq 'unknown (state)))
        (todo-write-hub--start-again)
        (todo-write-hub--tell-lost)
        (todo-write-test-wait (lambda () (eq 'working (state))))))))

(ert-deftest todo-write-follow-tests-earlier-waits-and-ends-do-not-notify ()
  (todo-write-follow-tests--with
    (let* ((start (todo-write-follow-tests--start))
           (todo-write-notify-seconds 0)
           (told nil)
           (todo-write-notify-function (lambda (&rest note) (push (cadr note) told) nil))
           (old (- (float-time) 7200))
           (follow (lambda (name time)
                     (let ((file (expand-file-name (concat name ".jsonl") folder)))
                       (todo-write-follow-tests--session file name "Bake" '("Mix" "in_progress"))
                       (set-file-times file time)
                       (todo-write-follow file))))
           (says (lambda (name status)
                   (todo-write-follow-tests--process
                    home "{\"sessionId\":%S,\"procStart\":%S,\"status\":%S}"
                    name start status))))
      (unwind-protect
          (progn
            (todo-write-notify-mode)
            ;; An old status of a live process is still valid.
            (set-file-times (funcall says "a" "waiting") old)
            (let ((a (todo-write-agent (funcall follow "a" old))))
              (should (eq 'needs-you (plist-get a :attention)))
              (should (= (plist-get a :since) (truncate (* 1000 old)))))
            (should-not todo-write-notify--due)
            (funcall says "b" "idle")
            (should (eq 'idle (todo-write-agent-state
                               (todo-write-agent (funcall follow "b" old)))))
            ;; Its name is known once its transcript was read.
            (funcall follow "c" (time-add nil 1))
            (funcall says "c" "waiting")
            (todo-write-test-wait (lambda () told))
            (should (equal told (list (concat (file-name-nondirectory (directory-file-name project))
                                              " needs you")))))
        (todo-write-notify-mode -1)))))

;;; Choosing a session

(ert-deftest todo-write-follow-tests-sessions-of-the-project-come-first ()
  (todo-write-follow-tests--with
    (let ((other (expand-file-name "-elsewhere" projects)) shown)
      (make-directory other)
      (let ((default-directory "/elsewhere/"))
        (todo-write-follow-tests--session (expand-file-name "o.jsonl" other) "o" "Elsewhere"))
      (set-file-times (session "a" "Older, here") (time-subtract nil 7200))
      (dolist (name '("b" "c"))
        (set-file-times (todo-write-follow-tests--session
                         (expand-file-name (concat name ".jsonl") folder) name "Twice")
                        (time-subtract nil (if (equal name "b") 60 3600))))
      (cl-letf (((symbol-function 'completing-read)
                 (lambda (_prompt table &rest arguments)
                   (setq shown (cons (all-completions "" table)
                                     (completion-metadata "" table nil)))
                   (nth 4 arguments))))
        (should (equal (todo-write-follow--read-session)
                       (expand-file-name "b.jsonl" folder))))
      (should (equal (car shown) '("Twice" "Twice <2>" "Older, here" "Elsewhere")))
      (let ((affixed (funcall (alist-get 'affixation-function (cdr shown))
                              '("Older, here" "Elsewhere"))))
        (should (equal (mapcar #'substring-no-properties (car affixed))
                       (list "Older, here" ""
                             (concat "  2 h  Claude Code  " (abbreviate-file-name project)))))
        (should (string-suffix-p "  Claude Code  /elsewhere/"
                                 (substring-no-properties (nth 2 (cadr affixed)))))))))

(defun todo-write-follow-tests--task (file id name input)
  "Let the agent of FILE make the call ID of NAME with INPUT."
  (apply #'todo-write-test-transcript file default-directory
         (todo-write-test-transcript-call id name input)))

(ert-deftest todo-write-follow-tests-a-row-ends-with-the-blockers-and-owner-of-its-task ()
  (todo-write-follow-tests--with
    (let* ((file (expand-file-name "s.jsonl" folder))
           (text (lambda (line)           ; without its shape
                   (string-join (cdr (split-string line)) " ")))
           (rows (lambda ()
                   (mapcar text (last (split-string (buffer-substring-no-properties
                                                     (point-min) (todo-write-buffer-find
                                                                  'todo-write-part '(turn . 1)))
                                                    "\n" t)
                                      3)))))
      (todo-write-follow-tests--session file "s" "Bake")
      (seq-do-indexed (lambda (subject index)
                        (todo-write-follow-tests--task file (format "c%d" index) "TaskCreate"
                                                       (list :subject subject)))
                      '("Bake" "Sift" "Knead"))
      (todo-write-follow-tests--task file "u1" "TaskUpdate"
                                     '(:taskId "1" :addBlockedBy ["2" "3"] :owner "baker\u202e"))
      (todo-write-follow file)
      (with-current-buffer (todo-write-show "claude:s")
        (should (equal (funcall rows) '("Bake after 2, 3 @baker\\u202e" "Sift" "Knead")))
        (todo-write-follow-tests--task file "u2" "TaskUpdate"
                                       '(:taskId "2" :status "completed"))
        (todo-write-test-wait
         (lambda () (equal (car (funcall rows)) "Bake after 3 @baker\\u202e")))
        (todo-write-follow-tests--task file "u3" "TaskUpdate"
                                       '(:taskId "1" :status "completed"))
        (todo-write-test-wait (lambda () (equal (car (funcall rows)) "Bake")))))))

(ert-deftest todo-write-follow-tests-copies-history-and-open-rows-show-blockers ()
  (todo-write-follow-tests--with
    (let ((file (expand-file-name "s.jsonl" folder)))
      (todo-write-follow-tests--session file "s" "Bake")
      (seq-do-indexed (lambda (subject index)
                        (todo-write-follow-tests--task file (format "c%d" index) "TaskCreate"
                                                       (list :subject subject)))
                      '("Bake (after 9)" "Sift"))
      (todo-write-follow-tests--task file "u1" "TaskUpdate"
                                     '(:taskId "1" :addBlockedBy ["2"] :owner "@@baker"))
      (todo-write-follow file)
      (should (equal (todo-write-check-list "claude:s" 'tasks)
                     "- [ ] Bake (after 9) (after 2  @@@baker)\n- [ ] Sift\n"))
      (let* ((item (aref (todo-write-items "claude:s") 0))
             (lines (concat (todo-write-detail-string "claude:s" item 80)
                            (todo-write-row-string
                              (todo-write-story-insert "claude:s" (plist-get item :id) 80)))))
        (should (string-search "Owner: @@baker\n" lines))
        (should (string-search "After: Sift\n" lines))
        (should (string-search "owner @@baker\n" lines))
        (should (string-search "after: Sift\n" lines)))
      (save-window-excursion
        (with-current-buffer (todo-write-history "claude:s")
          (todo-write-buffer-visit)
          (goto-char (point-min))
          (should (re-search-forward "Bake (after 9) .*after 2  @@@baker$" nil t))
          (kill-buffer))))))

(ert-deftest todo-write-follow-of-a-folder-signals ()
  (todo-write-follow-tests--with
    (should-error (todo-write-follow folder) :type 'todo-write-input-error)))

(ert-deftest todo-write-follow-of-a-missing-file-signals ()
  (todo-write-with-store
    (let ((problem (should-error (todo-write-follow "/nowhere/session.jsonl")
                                 :type 'todo-write-input-error)))
      (should (string-search "an existing file" (cadr problem)))
      (should-not (string-search "\"transcript" (todo-write-core-error-text problem)))
      (should-not todo-write-follow--followed))))

(ert-deftest todo-write-follow-goes-on-in-the-background-after-a-quit ()
  (todo-write-follow-tests--with
    (let* ((file (session "a" "Bake" "Mix"))
           (inhibited 'unknown)
           (todo-write-change-functions (list (lambda (&rest _) (setq inhibited inhibit-quit)))))
      (cl-letf (((symbol-function 'accept-process-output)
                 (lambda (&rest _) (signal 'quit nil))))
        (should (eq 'quit (condition-case nil (todo-write-follow file) (quit 'quit)))))
      (todo-write-follow-tests--write file "a" "w2" "Mix" "Knead")
      (todo-write-test-wait
       (lambda () (equal (todo-write-test-contents "claude:a") '("Mix" "Knead"))))
      ;; What was read is dispatched whole.
      (should (eq t inhibited)))))

(ert-deftest todo-write-follow-signals-where-it-cannot-wait ()
  (todo-write-follow-tests--with
    (let* ((file (session "a" "Bake" "Mix"))
           (other (session "b" "Mill" "Grind"))
           (result 'none)
           (todo-write-change-functions
            (list (lambda (&rest _)
                    (when (eq result 'none)
                      (setq result (condition-case err (todo-write-follow other)
                                     (todo-write-error err))))))))
      (todo-write-follow file)
      (should (eq 'todo-write-error (car result)))
      ;; It is followed all the same.
      (todo-write-test-wait (lambda () (todo-write-test-contents "claude:b"))))))

(ert-deftest todo-write-follow-an-error-with-one-message-does-not-keep-the-others ()
  (todo-write-follow-tests--with
    (let ((debug-on-error nil)
          (fails (lambda (_message) (error "No"))))
      (unwind-protect
          (progn
            ;; Before the one that takes it.
            (add-hook 'todo-write-hub-functions fails -90)
            (todo-write-follow (session "a" "Bake" "Mix"))
            (should (todo-write-test-contents "claude:a")))
        (remove-hook 'todo-write-hub-functions fails)))))

(ert-deftest todo-write-follow-an-error-with-one-session-does-not-keep-the-others ()
  (todo-write-follow-tests--with
    (let ((stop (symbol-function 'todo-write-dyn--hub-stop))
          (debug-on-error nil) failed)
      (dolist (name '("a" "b" "c"))
        (todo-write-follow (todo-write-follow-tests--session
                            (expand-file-name (concat name ".jsonl") folder) name "Bake" "Mix")))
      (cl-letf (((symbol-function 'todo-write-dyn--hub-stop)
                 (lambda (&rest args)
                   (if failed (apply stop args)
                     (setq failed t)
                     (error "No")))))
        (todo-write-follow-stop))
      (should failed)
      (should-not todo-write-follow--followed)
      (should (= 2 (seq-count (lambda (thread) (eq 'paused (todo-write-state thread)))
                              '("claude:a" "claude:b" "claude:c")))))))

;;; States that Claude Code 2.1.331 and Codex 0.169 were seen in

(defmacro todo-write-follow-tests--with-agent (&rest body)
  "Evaluate BODY with a followed session of a live process, while agents are watched.
As `todo-write-follow-tests--with-child'; (state) is the state of the agent,
\(says STATUS MORE) lets its process report STATUS and MORE, JSON text, and
\(adds LINE...) appends lines to its transcript."
  (declare (indent 0) (debug t))
  `(todo-write-follow-tests--with-child
     (add-hook 'todo-write-agent-functions #'ignore)
     (todo-write-follow file)
     (unwind-protect
         (cl-flet ((state () (todo-write-agent-state (todo-write-agent "claude:a")))
                   (says (status &optional more)
                     (write-region (format "{\"sessionId\":\"a\",\"cwd\":%S,\"status\":%S%s}"
                                           (directory-file-name project) status (or more ""))
                                   nil own nil 'silent))
                   (adds (&rest lines)
                     (apply #'todo-write-follow-tests--append file lines)))
           ,@body)
       (remove-hook 'todo-write-agent-functions #'ignore))))

(defun todo-write-follow-tests--turn (uuid prompt &optional end)
  "Return lines of a turn that begins with PROMPT, and ends if END is non-nil.
UUID begins the names of the lines."
  (let ((time (format-time-string "%FT%T.%3NZ" nil t)))
    `((:type "user" :uuid ,uuid :sessionId "a" :isSidechain :false :timestamp ,time
       :message (:role "user" :content ,prompt))
      ,@(and end `((:type "system" :subtype "turn_duration" :uuid ,(concat uuid "e")
                    :sessionId "a" :isSidechain :false :timestamp ,time))))))

(ert-deftest todo-write-follow-tests-a-dialog-that-the-user-opened-between-turns-is-no-alarm ()
  (todo-write-follow-tests--with-agent
    (apply #'adds (todo-write-follow-tests--turn "1" "Bake on" t))
    (says "idle")
    (todo-write-test-wait (lambda () (eq 'done (state))))
    (says "waiting" ",\"waitingFor\":\"dialog open\"")
    (todo-write-follow-tests--await-processes home folder)
    (todo-write-follow file)
    (should (eq 'done (state)))
    ;; Within a turn, Claude Code opened it.
    (apply #'adds (todo-write-follow-tests--turn "2" "Bake more"))
    (todo-write-test-wait (lambda () (eq 'waiting (state))))))

(ert-deftest todo-write-follow-tests-a-session-in-which-nothing-was-asked-is-no-result ()
  (todo-write-follow-tests--with-agent
    (let ((cleared (expand-file-name "b.jsonl" folder)))
      (todo-write-follow-tests--append
       cleared
       `(:type "user" :uuid "1" :sessionId "b" :isSidechain :false :isMeta t :cwd ,project
         :message (:role "user" :content "<local-command-caveat>Not a request</local-command-caveat>"))
       `(:type "user" :uuid "2" :sessionId "b" :isSidechain :false :cwd ,project
         :message (:role "user" :content "<command-name>/clear</command-name>\n<command-args></command-args>")))
      (write-region "{\"sessionId\":\"b\",\"status\":\"idle\"}" nil own nil 'silent)
      (should (equal "claude:b" (todo-write-follow cleared)))
      (todo-write-follow-tests--await-processes home folder)
      (todo-write-follow cleared)
      (should-not (todo-write-agent "claude:b"))
      ;; By /resume, the process is busy for a moment, and goes back to the first session.
      (write-region "{\"sessionId\":\"b\",\"status\":\"busy\"}" nil own nil 'silent)
      (todo-write-test-wait (lambda () (todo-write-agent "claude:b")))
      (says "idle")
      (todo-write-follow-tests--await-processes home folder)
      (todo-write-follow cleared)
      (should-not (todo-write-agent "claude:b")))))

(ert-deftest todo-write-follow-tests-a-result-stays-unseen-or-seen-after-a-command ()
  (todo-write-follow-tests--with-agent
    (cl-flet ((command ()
                ;; By /cd or /resume, the process is busy for a moment, and no line begins a turn.
                (says "busy")
                (todo-write-test-wait (lambda () (eq 'working (state))))
                (says "idle")
                (todo-write-test-wait (lambda () (not (eq 'working (state)))))
                (state)))
      (apply #'adds (todo-write-follow-tests--turn "1" "Bake on" t))
      (says "idle")
      (todo-write-test-wait (lambda () (eq 'done (state))))
      (should (eq 'done (command)))
      (todo-write-agent-see "claude:a")
      (should (eq 'idle (command)))
      (says "busy")
      (todo-write-test-wait (lambda () (eq 'working (state))))
      (apply #'adds (todo-write-follow-tests--turn "2" "Bake more" t))
      (says "idle")
      (todo-write-test-wait (lambda () (eq 'done (state)))))))

(ert-deftest todo-write-follow-tests-a-script-that-prints-an-answer-leaves-nothing-to-see ()
  (dolist (entrypoint '("cli" "sdk-cli"))
    (todo-write-follow-tests--with
      (let ((file (expand-file-name "a.jsonl" folder)))
        (add-hook 'todo-write-agent-functions #'ignore)
        (unwind-protect
            (progn
              (apply #'todo-write-follow-tests--append
                     file (mapcar (lambda (line) `(,@line :entrypoint ,entrypoint :cwd ,project))
                                  (todo-write-follow-tests--turn "1" "Bake" t)))
              (set-file-times file (time-add nil 1))
              (todo-write-follow file)
              (should (eq (if (equal entrypoint "cli") 'done 'idle)
                          (todo-write-agent-state (todo-write-agent "claude:a")))))
          (remove-hook 'todo-write-agent-functions #'ignore))))))

(ert-deftest todo-write-follow-tests-a-session-that-moves-is-followed-to-its-new-project ()
  (todo-write-follow-tests--with-agent
    (let* ((mill (file-name-as-directory (make-temp-file "mill" t)))
           (moved (expand-file-name (concat (todo-write-test-transcript-folder mill) "/a.jsonl")
                                    projects)))
      (should (equal project (plist-get (todo-write-about "claude:a") :project)))
      ;; As Claude Code does by /cd.
      (make-directory (file-name-directory moved))
      (rename-file file moved)
      (todo-write-follow-tests--append
       moved `(:type "relocated" :sessionId "a" :relocatedCwd ,(directory-file-name mill)))
      (write-region (format "{\"sessionId\":\"a\",\"cwd\":%S,\"status\":\"busy\"}"
                            (directory-file-name mill))
                    nil own nil 'silent)
      (todo-write-test-wait
       (lambda () (equal mill (plist-get (todo-write-about "claude:a") :project))))
      (should (equal mill (plist-get (todo-write-agent "claude:a") :project)))
      (setq file moved)
      (todo-write-follow-tests--write moved "a" "w2" '("Grind" "in_progress"))
      (todo-write-test-wait (lambda () (equal '("Grind") (todo-write-test-contents "claude:a"))))
      (delete-directory mill t))))

(ert-deftest todo-write-follow-tells-how-much-of-a-long-session-is-read ()
  (todo-write-follow-tests--with
    (require 'todo-write-view)
    (let* ((file (session "s" "Bake" "Knead"))
           (line (concat (json-serialize `(:type "assistant" :sessionId "s"
                                           :message (:role "assistant" :id "m"
                                                     :content [(:type "text" :text "So")])))
                         "\n"))
           told headers
           (note (lambda (thread what _)
                   (when (and (eq what 'change) (equal thread "claude:s")
                              (not (eql (car told) (todo-write-events-reading thread))))
                     (push (todo-write-events-reading thread) told)
                     (push (todo-write-view-rows--activity thread nil) headers)))))
      (todo-write-follow-tests--append file (mapconcat #'identity (make-list 3000 line) ""))
      (add-hook 'todo-write-events-functions note)
      (unwind-protect
          (progn
            (todo-write-follow file)
            (should (equal nil (car told)))
            (should (apply #'<= (reverse (cdr told))))
            (should (cl-every (lambda (percent) (<= 0 percent 99)) (cdr told)))
            (should (< 1 (length told)))
            (should (equal (format "reading, %d %%" (cadr told)) (cadr headers)))
            (should-not (string-search "reading" (or (car headers) "")))
            ;; Later lines are told at once.
            (setq told nil)
            (todo-write-follow-tests--append file line)
            (todo-write-follow file)
            (should-not told))
        (remove-hook 'todo-write-events-functions note)))))

(provide 'todo-write-follow-tests)
;;; todo-write-follow-tests.el ends here
