;;; today-checks.el --- What agents do by commands  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The genuine Claude Code edits a repository by shell only, commits, pushes, opens a
;; pull request and is refused a command; Codex changes files from scripts.  What is
;; counted must be what Git itself counts, command by command.  Claude Code works in auto
;; mode and in the background, and Codex sends out subagents.  claude.sh runs this.

;;; Code:

(require 'answer-checks)
(require 'claude-checks)
(require 'codex-checks)
(require 'work-helper)

(defun today-checks--git (&rest arguments)
  "Run git with ARGUMENTS in the current folder."
  (unless (zerop (apply #'call-process "git" nil nil nil
                        "-c" "user.name=x" "-c" "user.email=x@example.org" arguments))
    (error "git %S failed" arguments)))

(defun today-checks--repository (&rest files)
  "Make a repository of FILES, conses (NAME . TEXT), in the current folder."
  (today-checks--git "init" "-q" "-b" "main" ".")
  (today-checks--git "config" "user.name" "x")
  (today-checks--git "config" "user.email" "x@example.org")
  (pcase-dolist (`(,name . ,text) files)
    (write-region text nil name nil 'silent))
  (today-checks--git "add" "-A")
  (today-checks--git "commit" "-q" "--allow-empty" "-m" "First"))

(defun today-checks--bash (command)
  "Return a step of the model that runs COMMAND."
  `(("Bash" :command ,command :description "Work")))

(defun today-checks--run (steps prepare function &rest arguments)
  "Run Claude Code by STEPS in the repository that PREPARE makes.
Then call FUNCTION with the thread.  ARGUMENTS are further ones of the
program."
  (claude-checks-run
   steps
   (lambda ()
     (funcall prepare)
     (apply #'claude-checks-start "-p" "Plan the garden" arguments)
     (todo-write-test-wait (lambda () (not (process-live-p claude-checks-process)))
                           #'claude-checks-written)
     (claude-checks-ends)
     (todo-write-test-wait
      (lambda ()
        (let ((thread (hosts-thread "claude")))
          (and thread (seq-some (lambda (said) (equal "All is done." (plist-get (plist-get said :content) :text)))
                                (todo-write-observations thread :types '("MESSAGE"))))))
      #'claude-checks-written)
     (funcall function (hosts-thread "claude")))
   :settings '(:bashEditDiffEnabled t)))

(defun today-checks--calls (thread)
  "Return the results of commands of THREAD, oldest first."
  (seq-filter (lambda (result) (equal "Bash" (plist-get (plist-get result :content) :name)))
              (append (todo-write-observations thread :types '("TOOL_EXECUTION")) nil)))

(defun today-checks--refusal (thread)
  "Return who refused the newest command of THREAD, as the story says it."
  (todo-write-detail-refusal
   (plist-get (plist-get (car (last (today-checks--calls thread))) :metadata) :refusal)))

(defun today-checks--said (thread id)
  "Return what was done in Git during ID of THREAD, as the story says it.
ID is that of an item, or (turn . N)."
  (cl-loop for entry in (todo-write-story-entries thread id)
           when (eq 'git (plist-get entry :kind)) collect (todo-write-story-line entry nil)))

;;; One session, all of it

(ert-deftest today-checks-claude-code-tells-what-its-commands-did ()
  (let* ((outside (file-name-as-directory (make-temp-file "outside" t)))
         (remote (expand-file-name "remote.git" outside)))
    (write-region "#!/bin/sh\necho https://github.com/o/r/pull/42\n" nil
                  (expand-file-name "gh" outside) nil 'silent)
    (set-file-modes (expand-file-name "gh" outside) #o755)
    (today-checks--run
     `((,(claude-checks-create "Rake"))
       (,(claude-checks-update "1" "in_progress"))
       ,(today-checks--bash
         "sed -i 's/two/TWO/' a.txt && printf 'new\\nfile\\n' > b.txt && rm c.txt")
       ,(today-checks--bash "cat a.txt")
       ,(today-checks--bash "git add -A && git commit -m 'Second thing'")
       ,(today-checks--bash "exit 3")
       (,(claude-checks-update "1" "completed"))
       ,(today-checks--bash (concat "git remote add origin " remote
                                    " && git push origin main"))
       ,(today-checks--bash (concat "PATH=" outside ":$PATH; gh pr create --title x --body y"))
       ,(today-checks--bash "git commit --allow-empty -m Third")
       ,(today-checks--bash "for n in 1 2 3 4 5 6 7; do echo $n > f$n; done")
       ;; A malformed call never runs; no one refused it.
       (("Bash" :description "Work"))
       ,(today-checks--bash "shred a.txt")
       "All is done.")
     (lambda ()
       (today-checks--repository '("a.txt" . "one\ntwo\n\tthree\n") '("c.txt" . "gone\n"))
       (today-checks--git "init" "-q" "--bare" remote))
     (lambda (thread)
       (let ((work (todo-write-work thread "t1"))
             (after (todo-write-work thread 'outside)))
         (should (equal '(("a.txt" 1 1 nil nil t) ("b.txt" 2 0 t nil t) ("c.txt" 0 1 nil t t))
                        (mapcar (lambda (file)
                                  (cons (file-name-nondirectory (plist-get file :path))
                                        (mapcar (lambda (key) (plist-get file key))
                                                '(:added :removed :created :deleted :byCommand))))
                                (plist-get work :files))))
         (should (equal '(:run 4 :failed 1 :refused 0 :background 0 :unknown 0)
                        (plist-get work :commands)))
         (should-not (plist-get work :moreFiles))
         (should (string-search "\n one\n-two\n+TWO\n \tthree\n" (todo-write-patch thread "t1")))
         (let ((said (today-checks--said thread "t1")))
           (should (= 1 (length said)))
           (should (string-match-p "\\`committed [0-9a-f]+ Second thing\\'" (car said))))
         (pcase-let ((`(,_ ,push ,request ,commit) (today-checks--said thread '(turn . 1))))
           (should (equal "pushed to main" push))
           (should (equal "pull request #42 created" request))
           (should (string-match-p "\\`committed [0-9a-f]+ Third\\'" commit)))
         ;; It shows five files of a command.
         (should (eq t (plist-get after :moreFiles)))
         (should (equal 2 (plist-get after :refused)))
         (should (equal "a rule refused it" (today-checks--refusal thread)))))
     "--disallowedTools" "Bash(shred:*)")
    (delete-directory outside t)))

;;; Goals

(ert-deftest today-checks-claude-code-works-until-its-goal-is-met ()
  (claude-checks-run
   '("The beds are raked.")
   (lambda ()
     (todo-write-test-wait (lambda () (not (process-live-p claude-checks-process)))
                           #'claude-checks-written)
     (claude-checks-ends)
     ;; It has no list, and no user looks at it: it is shown once the user asks for it.
     (todo-write-follow (car (directory-files-recursively
                              (expand-file-name ".claude/projects" claude-checks-home) "jsonl\\'")))
     (todo-write-test-wait
      (lambda ()
        (when-let* ((thread (hosts-thread "claude")))
          (and (eq 'met (plist-get (todo-write-goal thread) :state))
               (null (todo-write-activity thread)))))
      #'claude-checks-written)
     (let* ((thread (hosts-thread "claude"))
            (agent (todo-write-agent thread)))
       (should (equal "all beds are raked" (plist-get (todo-write-goal thread) :reason)))
       (should (equal "Rake the garden" (plist-get agent :title)))
       (should (equal '("Goal: Rake the garden" "Goal met: all beds are raked")
                      (seq-take (mapcar (lambda (said) (plist-get (plist-get said :content) :text))
                                        (todo-write-observations thread :types '("STATE_UPDATE")))
                                2)))))
   :prompt "/goal Rake the garden"))

;;; Codex

(ert-deftest today-checks-codex-tells-what-its-scripts-changed ()
  (let ((codex-checks-settings '("-c" "sandbox_mode=\"danger-full-access\""))
        (patch (lambda (&rest lines) (string-join `("*** Begin Patch" ,@lines "*** End Patch\n") "\n")))
        hosts-earlier-threads)
    (codex-checks-run
     "gpt-6.1-sol"
     (list (list :name "exec"
                 :input (format "text(JSON.stringify(await tools.apply_patch(%s)));"
                                (json-serialize
                                 (funcall patch "*** Update File: a.txt" "@@" " one" "-two" "+TWO"
                                          "*** Add File: new.txt" "+hello"))))
           (list :name "exec"
                 :input (format "text(JSON.stringify(await tools.exec_command({cmd: %s})));"
                                (json-serialize
                                 (concat "apply_patch <<'EOF'\n"
                                         (funcall patch "*** Update File: a.txt" "@@" "-one" "+ONE")
                                         "EOF\n"))))
           (list :name "exec"
                 :input (concat "text(JSON.stringify(await tools.exec_command({cmd: \"git add -A"
                                " && git commit -m 'Second thing'\"})));"))
           (list :text "All is done."))
     (lambda ()
       ;; This one began without the repository.
       (codex-checks-stop)
       (todo-write-agents-mode -1)
       (setq hosts-earlier-threads (todo-write-threads))
       (delete-directory (expand-file-name ".codex/sessions" codex-checks-home) t)
       (let ((default-directory codex-checks-folder))
         (today-checks--repository '("a.txt" . "one\ntwo\n\tthree\n")))
       (codex-checks-start "Plan the garden")
       (todo-write-agents-mode)
       (todo-write-test-wait (lambda () (hosts-thread "codex")))
       (codex-checks-says "All is done")
       ;; The commit is the last of what Codex does.
       (todo-write-test-wait (lambda () (today-checks--said (hosts-thread "codex") '(turn . 1))))
       (let* ((thread (hosts-thread "codex"))
              (work (todo-write-work thread '(turn . 1))))
         (should (equal '(("a.txt" 2 2 2 t) ("new.txt" 1 0 1 t))
                        (sort (mapcar (lambda (file)
                                        (cons (file-name-nondirectory (plist-get file :path))
                                              (mapcar (lambda (key) (plist-get file key))
                                                      '(:added :removed :edits :byCommand))))
                                      (plist-get work :files))
                              (lambda (a b) (string< (car a) (car b))))))
         (should (string-match-p "\\`committed [0-9a-f]+ Second thing\\'"
                                 (car (today-checks--said thread '(turn . 1))))))))))

;;; Auto mode

(defun today-checks--safe (command &rest verdict)
  "Return a step of the model that runs COMMAND; VERDICT is as in messages.mjs."
  `(:name "Bash" :input (:command ,command :description "Work") ,@verdict))

(defun today-checks--auto (steps function)
  "Run Claude Code in auto mode by STEPS, with the hook, and call FUNCTION."
  (let ((claude-checks-mode "auto"))
    (hosts-with-messages
     steps
     (lambda (url)
       (answer-checks--call
        '("Never said.")
        (lambda ()
          (claude-checks-follow)
          (funcall function))
        :environment (list (concat "ANTHROPIC_BASE_URL=" url)))))))

(ert-deftest today-checks-auto-mode-allows-and-refuses ()
  (today-checks--auto
   (list (today-checks--safe "touch one")
         (today-checks--safe "touch two" :verdict "Outside the task.")
         '(:text "All is done."))
   (lambda ()
     (claude-checks-wait-for "All is done.")
     (claude-checks-turn-ends)
     (claude-checks-wait
      "the refusal"
      (lambda ()
        (when-let* ((thread (hosts-thread "claude")))
          (equal 1 (plist-get (todo-write-work thread) :refused)))))
     (let ((thread (hosts-thread "claude")))
       (should (equal "auto mode refused it: Outside the task." (today-checks--refusal thread)))
       (should (= 1 (plist-get (plist-get (todo-write-work thread) :commands) :run))))
     (answer-checks--exists "one")
     (should-not (file-exists-p (answer-checks--file "two")))
     (should-not answer-checks--asked))))

(ert-deftest today-checks-auto-mode-asks-after-three-refusals-in-a-row ()
  (today-checks--auto
   (list (today-checks--safe "touch one" :verdict "Outside the task.")
         (today-checks--safe "touch two" :verdict "Outside the task.")
         (today-checks--safe "touch three" :verdict "Outside the task.")
         '(:text "All is done."))
   (lambda ()
     (hosts-answer (answer-checks--request "Bash: touch three") 'allow)
     (claude-checks-wait-for "All is done.")
     (answer-checks--exists "three")
     (should (equal '("Bash: touch three") answer-checks--asked)))))

(ert-deftest today-checks-auto-mode-that-cannot-check-needs-you-for-a-command ()
  (today-checks--auto
   ;; Few commands need no check.
   (list (today-checks--safe "npm test" :verdict :null) '(:text "All is done."))
   (lambda ()
     (todo-write-test-wait
      (lambda ()
        (when-let* ((thread (hosts-thread "claude"))
                    (agent (todo-write-agent thread)))
          (and (eq 'needs-you (plist-get agent :attention))
               (member (todo-write-agent-reason agent)
                       '("dialog open: npm test" "permission prompt: npm test")))))
      (lambda ()
        (format "%S %s" (mapcar #'todo-write-agent-reason (todo-write-agents))
                (claude-checks-written))))
     (should-not answer-checks--asked))))

;;; Subagents of Codex

(defun today-checks--subagent (model main subagent)
  "Run Codex with MODEL by the steps MAIN, and a subagent by the steps SUBAGENT.
It must stand below the task that sent it out."
  (let (hosts-earlier-threads)
    (codex-checks-run
     model (list :main main :subagent subagent)
     (lambda ()
       (codex-checks-shows "the end" 'paused nil '("Count" . "in_progress") '("Sell" . "pending"))
       (let* ((thread (hosts-thread "codex"))
              (child (lambda () (seq-find (lambda (key) (string-prefix-p (concat thread "/") key))
                                          (todo-write-threads)))))
         (todo-write-test-wait child)
         (let ((child (funcall child)))
           (should (equal (cons thread "t1") (todo-write-parent child)))
           (todo-write-test-wait
            (lambda () (equal '("completed" "completed")
                              (mapcar (lambda (item) (plist-get item :status))
                                      (todo-write-items child)))))
           (should (equal '("Look" "Add up") (todo-write-test-contents child)))
           (should-not (todo-write-agent child))
           (should (= 1 (plist-get (plist-get (todo-write-work thread "t1") :commands) :run)))
           (should (= 1 (plist-get (plist-get (todo-write-work child) :commands) :run)))
           (should (= 1 (length (todo-write-turns thread))))))))))

(ert-deftest today-checks-codex-sends-out-a-subagent-by-the-older-tool ()
  (today-checks--subagent
   "gpt-5.2-codex"
   (list (codex-checks-update '("Count" . "in_progress") '("Sell" . "pending"))
         '(:name "spawn_agent" :namespace "multi_agent_v1"
           :arguments (:message "SUBAGENT: count the books"))
         '(:name "wait_agent" :namespace "multi_agent_v1"
           :find "agent_id[^0-9a-f]+([-0-9a-f]{36})"
           :arguments (:targets ["FOUND"] :timeout_ms 60000))
         '(:text "It came back."))
   (list (codex-checks-update '("Look" . "completed") '("Add up" . "in_progress"))
         (codex-checks-call "exec_command" :cmd "true")
         (codex-checks-update '("Look" . "completed") '("Add up" . "completed"))
         '(:text "Three books."))))

;;; In the background

(defun today-checks--job (key)
  "Return KEY in the file of the process that has a session in the background."
  (plist-get (seq-find (lambda (own) (and (equal "bg" (plist-get own :kind)) (plist-get own :jobId)))
                       (claude-checks-own-json "sessions"))
             key))

(ert-deftest today-checks-claude-code-respawned-in-the-background-goes-on-in-its-plan ()
  (claude-checks-run
   `((,(claude-checks-create "Rake"))
     (,(claude-checks-update "1" "in_progress"))
     "Half is done."
     (,(claude-checks-update "1" "completed"))
     (,(claude-checks-create "Sow"))
     "All is done.")
   (lambda ()
     (claude-checks-start "--bg" "Rake the garden")
     (unwind-protect
         (cl-flet ((shows (&rest rows)
                     (todo-write-test-wait
                      (lambda () (and (equal rows (claude-checks-rows))
                                      (null (todo-write-activity (hosts-thread "claude")))))
                      #'claude-checks-written)))
           (shows '("Rake" . "in_progress"))
           (let ((pid (today-checks--job :pid))
                 (job (today-checks--job :jobId)))
             (claude-checks-start-program "respawn" job)
             (todo-write-test-wait
              (lambda () (let ((now (today-checks--job :pid))) (and now (/= pid now))))
              #'claude-checks-written)
             (claude-checks-start-program "attach" job))
           (claude-checks-wait-for "Half is done.")
           (process-send-string claude-checks-process "Go on")
           (claude-checks-press "\r" nil (lambda () (equal 2 (length (claude-checks-rows)))))
           (shows '("Rake" . "completed") '("Sow" . "pending"))
           (should (equal 1 (length (todo-write-threads)))))
       (answer-checks--end-daemon (today-checks--job :pid))))))

(ert-deftest today-checks-claude-code-in-the-background-says-what-it-needs ()
  (let ((claude-checks-allowed ["TaskCreate" "TaskUpdate"]))
    (claude-checks-run
     `((,(claude-checks-create "Rake"))
       (,(claude-checks-update "1" "in_progress"))
       ,(today-checks--bash "touch raked.txt")
       "All is done.")
     (lambda ()
       (claude-checks-start "--bg" "--name" "Spring work" "Rake the garden")
       (unwind-protect
           (progn
             ;; The service in the background begins first.
             (todo-write-test-wait
              (lambda ()
                (when-let* ((thread (hosts-thread "claude"))
                            (agent (todo-write-agent thread)))
                  (equal '(waiting "approve Bash: touch raked.txt" "Spring work")
                         (list (plist-get agent :activity) (plist-get agent :reason)
                               (plist-get agent :title)))))
              #'claude-checks-written)
             (should (equal '(("Rake" . "in_progress")) (claude-checks-rows))))
         (answer-checks--end-daemon (claude-checks-own :pid)))))))

(ert-deftest today-checks-what-runs-in-the-background-is-counted ()
  (claude-checks-run
   (list `(,(append (claude-checks-gate "command") '(:run_in_background t))
           ("Agent" :description "Water" :prompt "Water the beds"
            :subagent_type "general-purpose" :run_in_background t))
         "Both run."
         "One came back."
         "All came back.")
   (lambda ()
     (claude-checks-wait-for "? for shortcuts")
     (claude-checks-type "Rake in the background")
     (cl-flet ((left (count)
                 (claude-checks-wait
                  (format "%d in the background" count)
                  (lambda ()
                    (when-let* ((thread (hosts-thread "claude"))
                                (agent (todo-write-agent thread)))
                      (and (null (plist-get agent :activity))
                           (= count (plist-get agent :background))))))))
       (left 2)
       (claude-checks-open "subagent")
       (left 1)
       (claude-checks-open "command")
       (left 0)))
   :subagent (list (list (claude-checks-gate "subagent")) "Watered.")))

;;; An independent count

(defun today-checks--random-edit ()
  "Return a random command that changes files, and cannot fail."
  (let ((a (format "f%d.txt" (random 6)))
        (b (format "f%d.txt" (random 6)))
        (n (1+ (random 9))))
    (pcase (random 9)
      (0 (format "test ! -e %s || sed -i '%ds/$/ more/;%dd' %s; true" a n (+ 2 n) a))
      (1 (format "cat > %s <<'EOF'\n%sEOF" a
                 (mapconcat (lambda (_) (format "\tline %d\n" (random 5)))
                            (number-sequence 1 (+ 1 n)) "")))
      (2 (format "printf 'x\\n\\ty %d\\n' >> %s" n a))
      (3 (format "test ! -e %s || test %s = %s || mv %s %s; true" a a b a b))
      (4 (format "rm -f %s" a))
      (5 (format "git checkout -q HEAD~%d -- %s 2>/dev/null; true" n a))
      ;; A formatter.
      (6 (format "test ! -e %s || { expand %s | sort > ../sorted; cp ../sorted %s; }; true" a a a))
      (7 (format "for f in %s %s; do printf '%d' >> $f; done" a b n))
      (8 (format "mkdir -p sub && printf '%d\\n' > sub/%s && sed -i 's/line/LINE/' *.txt 2>/dev/null; true"
                 n a)))))

(defun today-checks--counted (file folder)
  "Return what Git counted in FILE, of the repository FOLDER, a list for each command.
An element has the sorted files of a command, (PATH ADDED REMOVED)."
  (with-temp-buffer
    (insert-file-contents file)
    (mapcar (lambda (part)
              (sort (mapcar (lambda (line)
                              (pcase-let ((`(,added ,removed ,path) (split-string line "\t")))
                                (list (expand-file-name path folder)
                                      (string-to-number added) (string-to-number removed))))
                            (split-string part "\n" t))
                    (lambda (a b) (string< (car a) (car b)))))
            (cdr (split-string (buffer-string) "==\n")))))

(ert-deftest today-checks-fifty-random-edits-have-the-lines-that-git-counts ()
  (let* ((outside (file-name-as-directory (make-temp-file "outside" t)))
         (count-file (expand-file-name "count" outside))
         ;; Each command counts and commits what the one before has changed.
         (commit (format (concat "git add -A && echo == >> %s && "
                                 "git diff --cached --no-renames --numstat >> %s && "
                                 "git commit -q --allow-empty -m x; ")
                         count-file count-file))
         (seed (format "%s" (random t)))
         (edits (progn (random seed)
                       (mapcar (lambda (_) (today-checks--random-edit)) (number-sequence 1 50)))))
    (today-checks--run
     ;; A session of `claude -p' is followed once it has a list.
     `((,(claude-checks-create "Rake"))
       ,@(mapcar (lambda (edit) (today-checks--bash (concat commit edit))) edits)
       ,(today-checks--bash commit)
       "All is done.")
     (lambda () (today-checks--repository '("f0.txt" . "line 1\n\tline 2\n")))
     (lambda (thread)
       (let ((counted (cdr (today-checks--counted count-file claude-checks-folder)))
             (calls (seq-take (today-checks--calls thread) 50))
             (told 0) (added 0) (removed 0))
         (should (= 50 (length counted)))
         (should (= 50 (length calls)))
         (cl-mapc
          (lambda (call expected edit)
            (let* ((metadata (plist-get call :metadata))
                   (files (sort (mapcar (lambda (file)
                                          (list (plist-get file :path) (plist-get file :added)
                                                (plist-get file :removed)))
                                        (plist-get metadata :files))
                                (lambda (a b) (string< (car a) (car b))))))
              (ert-info ((format "seed %s: %s" seed edit))
                (cl-incf added (apply #'+ (mapcar #'cadr files)))
                (cl-incf removed (apply #'+ (mapcar (lambda (file) (nth 2 file)) files)))
                ;; On a machine that is too slow, the program gives up, and says so.
                (unless (plist-get metadata :moreFiles)
                  (cl-incf told)
                  (should (equal expected files))))))
          calls counted edits)
         (should (> told 0))
         (let ((work (todo-write-work thread)))
           (should (equal (list added removed)
                          (list (plist-get work :added) (plist-get work :removed))))
           (message "%d of 50 commands were told whole: +%d -%d" told added removed)))))
    (delete-directory outside t)))

(provide 'today-checks)
;;; today-checks.el ends here
