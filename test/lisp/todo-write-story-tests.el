;;; todo-write-story-tests.el --- Tests of the story of a task  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'ert)
(require 'todo-write-history)
(require 'todo-write-request)
(require 'todo-write-story)
(require 'todo-write-visit)
(require 'todo-write-view-test-helper)

(defun todo-write-story-tests--call (id name input &optional output &rest metadata)
  "Record a call ID of NAME with INPUT, and its OUTPUT with METADATA, unless nil."
  (todo-write-observe "a" "TOOL_CALL" (list :id id :name name :input input) :call-id id)
  (when output
    (apply #'todo-write-observe "a" "TOOL_EXECUTION"
           (list :id id :name name :content output) :call-id id metadata)))

(defun todo-write-story-tests--lines (width)
  "Return the story of the first task as a list of lines of WIDTH columns."
  (split-string (todo-write-row-string (todo-write-story-insert "a" "t1" width)) "\n" t))

(defmacro todo-write-story-tests--with-task (&rest body)
  "Run BODY with a view of the plan \"a\", whose only task is in progress."
  (declare (indent 0) (debug t))
  `(todo-write-test-with-view
     (todo-write-begin "a" :project "/home/user/shop/")
     (todo-write-test-write "a" '("One" "in_progress"))
     ,@body))

(ert-deftest todo-write-story-shows-a-call-by-its-most-telling-argument ()
  (todo-write-story-tests--with-task
    (pcase-dolist
        (`(,name ,input ,shown)
         `(("Read" "{\"file_path\":\"/home/user/shop/till/auth.go\",\"limit\":160}"
            "Read till/auth.go")
           ("Read" "{\"file_path\":\"/etc/hosts\",\"offset\":20,\"limit\":5}"
            "Read /etc/hosts")
           ("Bash" "{\"description\":\"Test\",\"command\":\"go test\\n./...\"}" "go test ⏎ ./...")
           ("Bash" "{\"command\":\"tail -5 \\n\\n  git add -A\\n\"}" "tail -5 ⏎ git add -A")
           ("shell" "{\"command\":[\"ls\",\"-l\"]}" "ls -l")
           ("Grep" "{\"glob\":\"*.go\",\"pattern\":\"till\"}" "Grep till")
           ("WebFetch" "{\"prompt\":\"Sum up\",\"url\":\"https://example.org\"}"
            "WebFetch https://example.org")
           ("Other" "{\"long\":3,\"first\":\"this\",\"second\":\"that\"}" "Other this")
           ("Count" "{\"n\":4}" "Count n: 4")
           ("write_stdin" "{\"session_id\":7,\"chars\":\"\"}" "write_stdin session_id: 7")
           ("exec" "{\"input\":\"const a = 1;\"}" "const a = 1;")
           ("Cut" "{\"command\":\"go te" "Cut {\"command\":\"go te")
           ("Decoded" (:file_path "/home/user/shop/a") "Decoded a")))
      (todo-write-story-tests--call "c" name input)
      (should (string-suffix-p (concat "▸ " shown)
                               (car (last (todo-write-story-tests--lines 100))))))))

(ert-deftest todo-write-what-is-not-recorded-is-said-in-row-log-output-and-search ()
  (let ((todo-write-record-excluded '(".env")))
    (todo-write-story-tests--with-task
      (todo-write-story-tests--call "c1" "Bash" '(:command "cat .env") "KEY=1" :outcome 'ok)
      (todo-write-story-tests--call "c2" "Read" '(:file_path "/home/user/shop/d/.env") "KEY=1"
                                    :outcome 'ok)
      (let ((lines (last (todo-write-story-tests--lines 100) 2)))
        (should (string-suffix-p "✓ cat .env (not recorded: names .env)" (car lines)))
        (should (string-suffix-p "✓ Read (not recorded: names d/.env)" (cadr lines))))
      (should (equal (save-window-excursion
                       (with-current-buffer (todo-write-log "a")
                         (prog1 (mapcar (lambda (row)
                                          (substring-no-properties
                                           (car (last (append (cadr row) nil)))))
                                        (last tabulated-list-entries 4))
                           (kill-buffer))))
                     '("Bash cat .env (not recorded: names .env)"
                       "Bash (not recorded: names .env)"
                       "Read (not recorded: names d/.env)"
                       "Read (not recorded: names d/.env)")))
      (should (equal (mapcar (lambda (match) (plist-get match :line))
                             (todo-write-matches "a" "not recorded" 9))
                     '("not recorded: names d/.env" "not recorded: names d/.env"
                       "not recorded: names .env" "not recorded: names .env")))
      (todo-write-test-open "One")
      (search-forward "cat .env")
      (todo-write-test-press "RET")
      (with-current-buffer "*todo-write-output*"
        (should (string-search "cat .env\n\nnot recorded: names .env" (buffer-string))))
      (should-not (string-search "KEY" (format "%S" (todo-write-observations "a")))))))

(ert-deftest todo-write-story-shows-a-script-of-any-length-and-with-any-text ()
  (todo-write-story-tests--with-task
    (dolist (command (list (make-string 1000000 ?x) "\\x41" "ls \\"))
      (todo-write-story-tests--call
       "c" "exec" (format "tools.exec_command({\"cmd\":\"%s\"})" command))
      (should (string-match-p "▸ tools\\.exec_command("
                              (car (last (todo-write-story-tests--lines 100))))))))

(ert-deftest todo-write-story-shows-observations-of-any-form ()
  (todo-write-story-tests--with-task
    (dolist (content '((:previousStatus "pending" :status 3) (:todoList 3) (:todoList nil)
                       (:cacheRead "x" :model "m") (:cacheRead 5 :input :null) [1 2]
                       (:request "x") (:name 3 :input 3)))
      (dolist (type '("MESSAGE" "THOUGHTS" "TOOL_CALL" "TOOL_EXECUTION" "ERROR" "STATE_UPDATE"))
        (todo-write-observe "a" type content)))
    (let ((lines (string-join (todo-write-story-tests--lines 80) "\n")))
      (should (string-search "cacheRead: x, model: m" lines))
      (should (string-search "todoList: 3" lines)))))

(ert-deftest todo-write-story-shows-thoughts-that-continue-each-other-once ()
  (todo-write-story-tests--with-task
    (dolist (thought '("**Read**" "**Read**" "**Read**\n\n**Write *all***" "**Test**"))
      (todo-write-observe "a" "THOUGHTS" thought))
    (todo-write-observe "a" "MESSAGE" "Tested")
    (should (equal '("∴ Read **Write *all***" "∴ Test" "“Tested”")
                   (mapcar (lambda (line) (substring line 12))
                           (last (todo-write-story-tests--lines 100) 3))))))

(ert-deftest todo-write-story-pairs-a-call-with-its-result-by-id ()
  (todo-write-story-tests--with-task
    (todo-write-story-tests--call "c1" "Bash" '(:command "make"))
    (todo-write-story-tests--call "c2" "Bash" '(:command "make test") "fine" :outcome 'ok)
    (todo-write-observe "a" "TOOL_EXECUTION"
                        '(:id "c1" :name "Bash" :content "make: *** Error 1") :call-id "c1"
                        :outcome 'failed :durationMs 65000)
    (let ((lines (last (todo-write-story-tests--lines 100) 2)))
      (should (string-match-p "✗ make +1:05   make: \\*\\*\\* Error 1\\'" (car lines)))
      (should (string-match-p "✓ make test\\'" (cadr lines))))))

(ert-deftest todo-write-story-tells-outcomes-apart-by-shape ()
  (todo-write-story-tests--with-task
    (pcase-dolist (`(,outcome ,shape) '((ok "✓") (failed "✗") (refused "⊘") (background "▸")
                                        (unknown "▸")))
      (todo-write-story-tests--call (symbol-name outcome) "Bash" '(:command "ls") "text"
                                    :outcome outcome)
      (should (string-match-p (concat "  " shape " ls")
                              (car (last (todo-write-story-tests--lines 100))))))))

(ert-deftest todo-write-story-shows-a-changed-file-with-its-lines ()
  (todo-write-story-tests--with-task
    (todo-write-story-tests--call
     "c" "Edit" '(:file_path "/home/user/shop/till/a.go") "done" :outcome 'ok
     :files '((:path "/home/user/shop/till/a.go" :oldText "a\n" :newText "b\nc\n")))
    (let ((lines (todo-write-story-tests--lines 100)))
      (should (string-match-p "✎ till/a\\.go +\\+2 −1\\'" (car (last lines))))
      (should (member "     till/a.go  +2 −1" lines))
      (should (string-match-p "· 1 file\\'" (car lines))))))

(ert-deftest todo-write-story-says-what-a-command-changed-and-that-it-was-a-command ()
  (todo-write-story-tests--with-task
    (todo-write-story-tests--call
     "c" "Bash" '(:command "sed -i s/a/b/ a.go && make") "made" :outcome 'ok :moreFiles t
     :files '((:path "/home/user/shop/a.go" :oldText "a\n" :newText "b\nc\n" :byCommand t)))
    (let ((lines (todo-write-story-tests--lines 100)))
      (should (string-match-p "✓ sed -i s/a/b/ a\\.go && make +\\+2 −1\\'" (car (last lines))))
      (should (member "     a.go  +2 −1  by command" lines))
      (should (member "     and more files" lines)))
    (todo-write-test-open "One")
    (should (string-match-p "One.* \\+2 −1 and more files +0:[0-9][0-9]$" (todo-write-test-text)))
    (search-forward "✓ sed")
    (beginning-of-line)
    (should (string-match-p "files changed by command, and more files"
                            (get-text-property (point) 'help-echo)))
    (todo-write-test-press "TAB")
    (let ((text (todo-write-test-text)))
      (should (string-match-p "\n +-a\n +\\+b\n +\\+c\n" text))
      (should (string-match-p "\n +files changed by command, and more files\n +made\n" text)))
    ;; A command leads to its output, its changes to the file.
    (todo-write-test-press "RET")
    (with-current-buffer "*todo-write-output*"
      (should (string-suffix-p "made\n" (buffer-string))))))

(ert-deftest todo-write-story-says-what-was-done-in-git ()
  (todo-write-story-tests--with-task
    (todo-write-story-tests--call
     "c" "Bash" '(:command "git commit && gh pr create") "[main 699336a] Second" :outcome 'ok
     :git '[(:kind "commit" :id "699336a" :title "Second" :branch "main")
            (:kind "commit" :action "amended" :id "799336a" :title "Third")
            (:kind "push" :branch "main")
            (:kind "pullRequest" :number 42 :action "created"
             :url "https://github.com/o/r/pull/42")
            (:kind "pullRequest" :number 43 :action "merged" :url "https://a/1;x")])
    (should (equal '("◆ committed 699336a Second" "◆ amended commit 799336a Third"
                     "◆ pushed to main" "◆ pull request #42 created"
                     "◆ pull request #43 merged")
                   (mapcar (lambda (line) (replace-regexp-in-string "\\` +[0-9:]+ +" "" line))
                           (last (todo-write-story-tests--lines 100) 5))))
    (todo-write-test-open "One")
    (search-forward "◆ pull request #42")
    (let (visited)
      (cl-letf (((symbol-function 'browse-url) (lambda (url &rest _) (setq visited url))))
        (todo-write-test-press "RET")
        (should (equal "https://github.com/o/r/pull/42" visited))
        (setq visited nil)
        (search-forward "◆ pull request #43")
        (todo-write-test-press "RET")
        (should-not visited)))))

(ert-deftest todo-write-a-refused-call-says-who-refused-it ()
  (todo-write-test-with-view
    (let ((thread "claude:s"))
      (todo-write-begin thread :project "/home/user/shop/")
      (todo-write-test-write thread '("One" "in_progress"))
      (pcase-dolist (`(,id ,name ,input ,refusal)
                     '(("1" "Bash" (:command "npm test") (:by "auto" :reason "It deletes."))
                       ("2" "Write" (:file_path "/home/user/shop/a") (:by "rule"))
                       ("3" "WebFetch" (:url "https://example.org/x") (:by "user"))
                       ("4" "Bash" (:command "a\nb") (:by "noAnswer"))))
        (todo-write-observe thread "TOOL_CALL" (list :id id :name name :input input) :call-id id)
        (todo-write-observe thread "TOOL_EXECUTION" (list :id id :name name :content "No")
                            :call-id id :outcome 'refused :refusal refusal))
      (should (equal 4 (plist-get (todo-write-work thread "t1") :refused)))
      (todo-write-show thread)
      (should (string-match-p "One.* ⊘4 +[0-9:]+$" (todo-write-test-text)))
      (todo-write-test-open "One")
      (dolist (shown '("⊘ npm test +auto mode refused it" "⊘ .* +a rule refused it"
                       "⊘ WebFetch .* +you refused it"))
        (should (re-search-forward shown nil t)))
      (should (string-search "auto mode refused it: It deletes."
                             (todo-write-row-string
                               (todo-write-story-insert thread "t1" 120))))
      (should (re-search-forward "⊘ a ⏎ b +auto mode could" nil t)))))

(ert-deftest todo-write-row-says-that-more-files-changed-if-there-is-room ()
  (pcase-dolist (`(,room . ,tail) '((60 . "+2 −1 and more files ✗1      1:05")
                                    (31 . "+2 −1 and more files  ✗1  1:05")
                                    (20 . "+2 −1  ✗1  1:05") (6 . "1:05") (2 . "")))
    (should (equal tail (todo-write-row--tail nil '(2 1 1 1 0) "1:05" room))))
  (should (equal "✗1 ⊘2   1:05" (todo-write-row--tail nil '(0 0 1 0 2) "1:05" 60)))
  (should (equal "and more files" (string-trim (todo-write-row--tail nil '(0 0 0 1) nil 60)))))

(ert-deftest todo-write-story-leaves-out-tokens-that-are-none ()
  (should-not (todo-write-detail-tokens '(:input 0 :output 0 :cacheRead 0 :cacheWrite 0)))
  (should (equal "new 0, out 0, re-read 7"
                 (todo-write-detail-tokens '(:input 0 :output 0 :cacheRead 7 :cacheWrite 0))))
  (todo-write-story-tests--with-task
    (todo-write-observe "a" "USAGE" '(:input 0 :output 0 :cacheRead 0 :cacheWrite 0 :model "m"))
    (todo-write-observe "a" "MESSAGE" "Hello")
    (let ((text (string-join (todo-write-story-tests--lines 100) "\n")))
      (should-not (string-match-p "re-read" text)))))

(ert-deftest todo-write-story-names-the-waits-for-the-user ()
  (todo-write-story-tests--with-task
    (pcase-dolist (`(,id ,value ,text ,shown)
                   '(("1" yes nil "‖ waited [0-9]+ s, you allowed it: git config --get-all")
                     ("2" no "Use make" "‖ waited [0-9]+ s, you denied it (Use make): git config")
                     ("3" nil nil "‖ waited [0-9]+ s, answered elsewhere or withdrawn: git")))
      (todo-write-request
       "a" :id id :kind 'permission :title "git config --get-all" :detail "git config --get-all"
       :options '((:label "Yes" :value yes :kind allow) (:label "No" :value no :kind deny :text t))
       :answer #'ignore)
      (if value
          (todo-write-answer-request "a" id value text)
        (todo-write-withdraw "a" id))
      (should (string-match-p shown (car (last (todo-write-story-tests--lines 100))))))
    (todo-write-observe "a" "STATE_UPDATE" '(:state "other"))
    (should (string-match-p "answered elsewhere" (car (last (todo-write-story-tests--lines 100)))))
    (todo-write-observe "a" "STATE_UPDATE" '(:request (:since 0 :title "git")))
    (should (string-match-p "waited [0-9]+:[0-9:]+, .*: git"
                            (string-join (todo-write-story-tests--lines 100) "\n")))))

(ert-deftest todo-write-story-keeps-silent-on-the-tools-of-the-plan ()
  (todo-write-story-tests--with-task
    (let ((before (length (todo-write-story-tests--lines 100))))
      (dolist (name '("todo_write" "TodoWrite" "TaskUpdate" "update_plan"
                      "mcp__todo-write__todo_write"
                      "mcp__plugin_todo-write_todo-write__todo_write"))
        (todo-write-story-tests--call name name '(:id "1") "Updated"))
      (should (= before (length (todo-write-story-tests--lines 100)))))))

(ert-deftest todo-write-story-fits-its-lines-to-any-width ()
  (todo-write-story-tests--with-task
    (todo-write-observe "a" "MESSAGE" (make-string 300 ?m))
    (todo-write-story-tests--call "c" "Bash" (list :command (make-string 200 ?x))
                                  "error: no" :outcome 'failed :durationMs 3000)
    (todo-write-story-tests--call
     "d" "Edit" '(:file_path "/a") "done" :outcome 'ok
     :files (list (list :path (concat "/home/user/shop/" (make-string 150 ?f) "/till.go")
                        :added 5 :removed 100)))
    (dolist (width '(42 80 160))
      (let ((lines (todo-write-story-tests--lines width)))
        (dolist (line lines)
          (should (<= (string-width line) width)))
        ;; The end of a file's name tells it from others.
        (should (seq-find (lambda (line) (string-match-p "\\` +…f+/till\\.go  \\+5 −100" line)) lines))
        (should (string-match-p "✎ …f+/till\\.go +\\+5 −100\\'" (car (last lines))))))))

(ert-deftest todo-write-story-shows-the-newest-entries-and-counts-the-others ()
  (todo-write-story-tests--with-task
    (dotimes (n 50)
      (todo-write-observe "a" "MESSAGE" (format "message %d." n)))
    (todo-write-test-open "One")
    (should-not (string-match-p "message 9\\." (todo-write-test-text)))
    (should (string-match-p "message 10\\." (todo-write-test-text)))
    (goto-char (point-min))
    (search-forward "10 earlier")
    (beginning-of-line)
    (todo-write-test-press "RET")
    (should (string-match-p "message 0\\." (todo-write-test-text)))))

(ert-deftest todo-write-story-tab-shows-all-of-an-entry-with-its-line-breaks ()
  (todo-write-story-tests--with-task
    (todo-write-story-tests--call "c" "Bash" '(:command "make\nmake test") "one\ntwo" :outcome 'ok)
    (todo-write-test-open "One")
    (search-forward "make ⏎ make test")
    (beginning-of-line)
    (todo-write-test-press "TAB")
    (should (string-match-p "\n +make\n +make test\n +one\n +two\n" (todo-write-test-text)))
    ;; There it closes the entry; point goes to the start of a line if its own goes.
    (re-search-forward "^ +tw")
    (todo-write-test-press "TAB")
    (should (looking-at-p " +[0-9]+:[0-9]+ +✓ make"))
    (should-not (string-match-p "\n +two\n" (todo-write-test-text)))))

(ert-deftest todo-write-story-breaks-what-is-wider-than-the-window ()
  (todo-write-story-tests--with-task
    (todo-write-observe "a" "MESSAGE" (concat "All " (string-join (make-list 40 "oaks") " ") " stand."))
    (todo-write-story-tests--call "c" "Bash" `(:command ,(make-string 300 ?x)) "one" :outcome 'ok)
    (todo-write-test-open "One")
    (dolist (text '("“All oaks" "✓ xxx"))
      ;; The header quotes it, too.
      (todo-write-view-goto (todo-write-test-id "a" "One"))
      (search-forward text)
      (beginning-of-line)
      (todo-write-test-press "TAB"))
    (let ((lines (split-string (todo-write-test-text) "\n")))
      (dolist (line lines)
        (should (<= (string-width line) todo-write-buffer-width)))
      (should (seq-some (lambda (line) (string-match-p "\\` \\{14\\}.*oaks stand\\.\\'" line)) lines))
      (should (= 300 (apply #'+ (mapcar (lambda (line)
                                          (if (string-match "\\` \\{14\\}\\(x+\\)\\'" line)
                                              (length (match-string 1 line))
                                            0))
                                        lines)))))))

(ert-deftest todo-write-story-n-and-p-go-through-entries ()
  (todo-write-story-tests--with-task
    (todo-write-test-write "a" '("One" "in_progress") "Two")
    (todo-write-observe "a" "MESSAGE" "First.")
    (todo-write-test-open "One")
    (todo-write-test-press "n")
    (should (looking-at-p ".*First\\."))
    (todo-write-test-press "n")
    (should (looking-at-p ".*Two"))
    (todo-write-test-press "p")
    (should (looking-at-p ".*First\\."))))

(ert-deftest todo-write-story-lists-the-files-that-changed-most-and-the-others-on-demand ()
  (todo-write-story-tests--with-task
    (dotimes (n 12)
      (todo-write-observe "a" "TOOL_EXECUTION" '(:name "Edit") :outcome 'ok
                          :files `(( :path ,(format "/home/user/shop/f%d" n)
                                     :added ,n :removed ,(- 1 (min n 1))))))
    (todo-write-test-open "One")
    (should (string-match-p "     f11  \\+11\n     f10  \\+10\n     f9   \\+9\n" (todo-write-test-text)))
    (should-not (string-search "     f0 " (todo-write-test-text)))
    (goto-char (point-min))
    (search-forward "2 files mo")
    (todo-write-test-press "RET")
    (should (string-match-p "     f2   \\+2\n     f0   −1\n     f1   \\+1\n" (todo-write-test-text)))))

(ert-deftest todo-write-story-says-how-many-tasks-share-work ()
  (todo-write-story-tests--with-task
    (todo-write-test-write "a" '("One" "in_progress") '("Two" "in_progress"))
    (todo-write-observe "a" "TOOL_EXECUTION" '(:name "Edit") :outcome 'ok
                        :files '((:path "/home/user/shop/f" :added 3 :removed 0)))
    (todo-write-test-open "One")
    (should (string-match-p "● .*shared with 1  \\+3 −0" (todo-write-test-text)))
    (should (string-search "shared with 1 other task" (todo-write-test-text)))))

(ert-deftest todo-write-story-keeps-point-on-its-entry-while-others-come ()
  (todo-write-story-tests--with-task
    (dotimes (n 45)
      (todo-write-observe "a" "MESSAGE" (format "message %d." n)))
    (todo-write-test-open "One")
    (search-forward "message 20.")
    (dotimes (n 5)
      (todo-write-observe "a" "MESSAGE" (format "later %d." n)))
    (todo-write-test-wait (lambda () (string-match-p "later 4" (todo-write-test-text))))
    (should (looking-back "message 20\\." (line-beginning-position)))))

(ert-deftest todo-write-story-keeps-the-entries-that-are-read-however-many-come ()
  ;; In the row, and in the turn that runs.
  (dolist (heading '(" ● Doing: One" " ▾ “Go”"))
    (todo-write-test-with-view
      (todo-write-test-write "a" '("One" "in_progress"))
      (todo-write-observe "a" "INTENT" "Go")
      (todo-write-set-activity "a" 'working)
      (todo-write-observe "a" "MESSAGE" "The first.")
      (todo-write-test-open "One")
      (todo-write-view-refresh)
      (goto-char (point-min))
      (search-forward heading)
      (search-forward "  “The first")
      (set-window-start nil (line-beginning-position))
      (let ((part (get-text-property (point) 'todo-write-part)))
        (dotimes (n (* 5 todo-write-story-limit))
          (todo-write-observe "a" "MESSAGE" (format "Number %d." n)))
        (todo-write-observe "a" "MESSAGE" "Behind.")
        (todo-write-test-wait (lambda () (string-search "  “Behind" (todo-write-test-text))))
        (should (looking-back "  “The first" (line-beginning-position)))
        (should (equal part (get-text-property (point) 'todo-write-part))))
      (should (= (window-start) (line-beginning-position)))
      ;; What nobody reads any more is counted.
      (goto-char (point-min))
      (set-window-start nil (point-min))
      (revert-buffer)
      (should-not (string-search "  “The first" (todo-write-test-text))))))

(ert-deftest todo-write-visit-opens-the-file-at-the-changed-line ()
  (let ((folder (file-name-as-directory (make-temp-file "todo-write" t))))
    (unwind-protect
        (todo-write-test-with-view
          (todo-write-begin "a" :project folder)
          (todo-write-test-write "a" '("One" "in_progress"))
          (let* ((file (concat folder "shelf.txt"))
                 (old (mapconcat #'number-to-string (number-sequence 1 20) "\n"))
                 (new (string-replace "\n15\n" "\nfifteen\n" old)))
            (with-temp-file file (insert new))
            (todo-write-story-tests--call
             "c" "Edit" (list :file_path file) "done" :outcome 'ok
             :files (list (list :path file :oldText old :newText new)))
            (todo-write-test-open "One")
            (search-forward "✎")
            (todo-write-test-press "RET")
            (should (equal buffer-file-name file))
            (should (looking-at-p "fifteen"))
            (kill-buffer)))
      (delete-directory folder t))))

(ert-deftest todo-write-visit-opens-no-file-that-is-gone-remote-or-not-regular ()
  (let ((pipe (make-temp-name (expand-file-name "todo-write" temporary-file-directory))))
    (skip-unless (eql 0 (call-process "mkfifo" nil nil nil pipe)))
    (unwind-protect
        (todo-write-story-tests--with-task
          (dolist (file (list pipe "/nowhere/at/all" "/ssh:host:/etc/hosts"))
            (should-error (todo-write-visit-open-file "a" file) :type 'user-error)))
      (delete-file pipe))))

(ert-deftest todo-write-visit-shows-the-whole-output ()
  (todo-write-story-tests--with-task
    (todo-write-story-tests--call "c" "Bash" '(:command "make") "a.c:3:1: error: no\nlast line"
                                  :outcome 'failed)
    (todo-write-test-open "One")
    (search-forward "✗ make")
    (todo-write-test-press "RET")
    (with-current-buffer "*todo-write-output*"
      (should (string-match-p "make\n\na\\.c:3:1: error: no\nlast line" (buffer-string))))))

(ert-deftest todo-write-diff-shows-a-task-and-an-entry-in-diff-mode ()
  (todo-write-story-tests--with-task
    (dolist (name '("a" "b"))
      (todo-write-story-tests--call
       name "Edit" '(:file_path "/x") "done" :outcome 'ok
       :files (list (list :path (concat "/home/user/shop/" name) :oldText "1\n" :newText "2\n"))))
    (todo-write-test-open "One")
    (search-forward "✎ a")
    (todo-write-test-press "=")
    (with-current-buffer "*todo-write-diff*"
      (should (derived-mode-p 'diff-mode))
      (should (string-match-p "^\\+\\+\\+ b/a$" (buffer-string)))
      (should-not (string-match-p "^\\+\\+\\+ b/b$" (buffer-string))))
    (todo-write-show-diff "a" "t1")
    (with-current-buffer "*todo-write-diff*"
      (should (string-match-p "^\\+\\+\\+ b/b$" (buffer-string))))))

(ert-deftest todo-write-diff-in-a-chat-is-that-of-its-plan ()
  (todo-write-with-store
    (todo-write-test-write "chat" "One")
    (todo-write-test-write "other" "Two")
    (with-temp-buffer
      (setq todo-write-view-thread "chat")
      (cl-letf (((symbol-function 'todo-write-dyn--patches)
                 (lambda (thread &rest _) (user-error "%s" thread))))
        (should (equal '(user-error "chat")
                       (should-error (call-interactively #'todo-write-show-diff))))))))

(ert-deftest todo-write-diff-says-that-nothing-is-recorded ()
  (todo-write-story-tests--with-task
    (should-error (todo-write-show-diff "a") :type 'user-error)))

;;; Widths

(ert-deftest todo-write-story-uses-the-width-where-nothing-stands-to-the-right ()
  (todo-write-story-tests--with-task
    (let ((long (concat "grep " (make-string 70 ?x))))
      (todo-write-story-tests--call "c1" "Bash" `(:command ,long) "fine" :outcome 'ok)
      (todo-write-story-tests--call "c2" "Bash" `(:command ,long) "fine" :outcome 'ok
                                    :durationMs 36000)
      (todo-write-story-tests--call "c3" "Bash" `(:command ,long) "error: no such file"
                                    :outcome 'failed)
      (pcase-let ((`(,bare ,timed ,failed) (last (todo-write-story-tests--lines 80) 3)))
        (should (string-suffix-p "x…" bare))
        (should (= 80 (string-width bare)))
        (should (string-match-p "x…  36 s\\'" timed))
        (should (string-suffix-p "error: no such file" failed))
        (should (<= (string-width failed) 80))))))

(ert-deftest todo-write-story-says-when-a-task-without-work-was-added-and-completed ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One" "Two")
    (todo-write-test-write "a" '("One" "completed") "Two")
    (should (string-match-p "added [0-9:]+, completed [0-9:]+\\'"
                            (car (todo-write-story-tests--lines 80))))))

(ert-deftest todo-write-story-does-not-repeat-a-title-that-the-row-shows ()
  (todo-write-story-tests--with-task
    (let ((todo-write-view-max-width 30)
          (title "A title of twenty-six chars"))
      (todo-write-test-write "a" (list title "pending"))
      (todo-write-view-refresh)
      (todo-write-test-open title)
      (should (= 1 (how-many (regexp-quote title) (point-min) (point-max))))
      (todo-write-test-write "a" (list (concat title " more") "pending"))
      (should (= 2 (1- (length (split-string (todo-write-test-text)
                                             "A title of twenty-six"))))))))

(ert-deftest todo-write-story-says-on-which-day-a-paused-task-began ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("One" "in_progress"))
    (todo-write-observe "a" "MESSAGE" "Said.")
    (todo-write-pause "a")
    (todo-write-view-refresh)
    (let ((day (format-time-string "%F")))
      ;; Looked at ten days later.
      (cl-letf* ((format (symbol-function 'format-time-string))
                 ((symbol-function 'format-time-string)
                  (lambda (form &optional time &rest zone)
                    (apply format form (or time (time-add nil 864000)) zone))))
        (todo-write-test-open "One")
        (should (string-match-p
                 (concat "^     since " day " [0-9]+:[0-9]+\n     [0-9]+:[0-9]+  “Said")
                 (todo-write-test-text)))))))

(ert-deftest todo-write-row-clock-has-a-date-only-where-it-changes ()
  (let ((from 1779450000000) (minute 60000) (day 86400000))
    (should (string-match-p "\\`2026-05-22 [0-9][0-9]:[0-9][0-9]\\'" (todo-write-text-clock from)))
    (should (string-match-p "\\`[0-9][0-9]:[0-9][0-9]\\'"
                            (todo-write-text-clock (truncate (* 1000 (float-time))))))
    (pcase-dolist (`(,to . ,end) `((,(+ from minute) . "[0-9:]\\{5\\}")
                                   (,(+ from day) . "2026-05-23 [0-9:]\\{5\\}")))
      (should (string-match-p (format "\\`2026-05-22 [0-9:]\\{5\\}–%s\\'" end)
                              (todo-write-detail-clock-span from to))))))

(provide 'todo-write-story-tests)
;;; todo-write-story-tests.el ends here
