;;; efrit-checks.el --- Checks against a checkout of Efrit  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These checks run `todo-write-efrit-mode' with the real Efrit.  efrit.sh runs them
;; and names Efrit's folder in the environment variable EFRIT.  Each check has its
;; own Emacs, because Efrit cannot be unloaded.

;;; Code:

(require 'ert)
(require 'todo-write-mock-helper)

(defconst efrit-checks-efrit (or (getenv "EFRIT") "")
  "The checkout of Efrit.")

(defconst efrit-checks-tools
  '((defun object (&rest pairs)
      (let ((table (make-hash-table :test #'equal)))
        (while pairs (puthash (pop pairs) (pop pairs) table))
        table))
    (defun call (&rest pairs)
      (efrit-do--execute-tool (object "name" "todo_write"
                                      "input" (apply #'object pairs))))
    (defun todos (&rest rows)
      (vconcat (mapcar (lambda (row)
                         (object "content" (car row) "status" (cadr row)
                                 "activeForm" (concat "Doing: " (car row))))
                       rows)))
    (defun contents (thread)
      (mapcar (lambda (item) (plist-get item :content)) (todo-write-items thread)))
    (defun wait (condition)
      (let ((end (+ (float-time) 30)))
        (while (not (funcall condition))
          (when (> (float-time) end) (error "Still waiting"))
          (accept-process-output nil 0.02))))
    (setq efrit-do-show-tool-execution nil))
  "Functions for the forms of the checks.")

(defconst efrit-checks-load
  `((add-to-list 'load-path ,(expand-file-name "lisp" efrit-checks-efrit))
    (require 'efrit)
    (require 'efrit-do))
  "Forms that load Efrit.")

(defconst efrit-checks-mode
  '((require 'todo-write-efrit)
    (todo-write-efrit-mode 1))
  "Forms that turn the mode on.")

(defun efrit-checks-run (&rest parts)
  "Evaluate PARTS, lists of forms, in another Emacs; return the last value."
  (let ((forms (apply #'append efrit-checks-tools parts)))
    (todo-write-with-store
      (apply #'todo-write-test-child
             (append (butlast forms)
                     (list `(let (print-length print-level)
                              (prin1 ,(car (last forms))))))))))

(defun efrit-checks-with-mode (&rest parts)
  "Evaluate PARTS like `efrit-checks-run', with Efrit and the mode."
  (apply #'efrit-checks-run efrit-checks-load efrit-checks-mode parts))

(defun efrit-checks-with-model (&rest parts)
  "Evaluate PARTS like `efrit-checks-with-mode', with a scripted model."
  (todo-write-with-mock port "hosts/efrit.json"
    (apply #'efrit-checks-with-mode
           `((setq efrit-api-base-url ,(format "http://127.0.0.1:%d" port)
                   efrit-api-key (concat "sk-ant-" (make-string 40 ?0))))
           parts)))

;;; Load orders

(defconst efrit-checks-write
  '((let ((answer (call "todos" (todos '("One" "in_progress") '("Two" "pending")))))
      (list answer (contents (todo-write-current-thread)))))
  "Forms that write a list and return the answer and the contents.")

(defconst efrit-checks-written
  '("0/2 tasks completed. Current: Doing: One." ("One" "Two"))
  "What `efrit-checks-write' returns.")

(ert-deftest efrit-can-be-loaded-before-or-after-the-mode-is-turned-on-and-again ()
  (dolist (parts `((,efrit-checks-load ,efrit-checks-mode)
                   (,efrit-checks-mode ,efrit-checks-load)
                   (,efrit-checks-load
                    ,efrit-checks-mode
                    ((dolist (file '("efrit-do-schema" "efrit-do-dispatch"
                                     "efrit-do-handlers" "efrit-ui-todos"))
                       (load file))))))
    (should (equal (apply #'efrit-checks-run (append parts (list efrit-checks-write)))
                   efrit-checks-written))))

(ert-deftest efrit-loads-its-own-efrit-do-wherever-todo-write-is-installed ()
  (should
   (equal
    (efrit-checks-run
     (butlast efrit-checks-load)
     '((let* ((folder (file-name-directory (locate-library "todo-write")))
              (path (cons folder (remove folder load-path))))
         (setq load-path (copy-sequence path))
         (require 'todo-write-efrit)
         (todo-write-efrit-mode 1)
         (require 'efrit-do)
         (todo-write-efrit-mode -1)
         (list (file-in-directory-p (symbol-file 'efrit-do 'defun) (getenv "EFRIT"))
               (equal load-path path)))))
    '(t t))))

(ert-deftest the-mode-refuses-to-share-emacs-with-the-efrit-do-of-todo-write ()
  (should (string-search
           "restart Emacs"
           (efrit-checks-run
            '((require 'efrit-do)
              (require 'todo-write-efrit)
              (condition-case err (todo-write-efrit-mode 1)
                (user-error (unless todo-write-efrit-mode
                              (error-message-string err)))))))))

(ert-deftest two-lines-of-an-init-file-are-enough ()
  (let* ((site (file-name-directory (locate-library "todo-write")))
         (init (make-temp-file "init" nil ".el"))
         (todo-write-directory (make-temp-file "todo-write" t)))
    (unwind-protect
        (progn
          (with-temp-file init
            (insert (format "(add-to-list 'load-path %S)\n(require 'efrit)\n"
                            (expand-file-name "lisp" efrit-checks-efrit))
                    (format "(load %S nil t)\n(todo-write-efrit-mode 1)\n"
                            (concat site "todo-write-autoloads"))))
          (with-temp-buffer
            (call-process
             (expand-file-name invocation-name invocation-directory) nil
             '(t nil) nil "-Q" "--batch" "-l" init "--eval"
             (prin1-to-string
              `(progn ,@efrit-checks-tools
                      (setq todo-write-directory ,todo-write-directory)
                      (autoload-do-load (symbol-function 'efrit-do) 'efrit-do)
                      (prin1 ,@efrit-checks-write))))
            (goto-char (point-min))
            (should (equal (read (current-buffer)) efrit-checks-written))))
      (delete-file init)
      (delete-directory todo-write-directory t))))

;;; The store behind Efrit

(ert-deftest efrits-own-list-holds-what-its-agent-sent ()
  (should
   (equal
    (efrit-checks-with-mode
     '((call "todos" (todos '("One" "completed") '("Two" "in_progress") '("Three" "pending")))
       (mapcar (lambda (item) (list (efrit-do-todo-item-content item)
                                    (efrit-do-todo-item-status item)))
               efrit-do--current-todos)))
    '(("One" completed) ("Two" in-progress) ("Three" todo)))))

(ert-deftest each-session-has-a-thread-of-its-own ()
  (should
   (equal
    (efrit-checks-with-mode
     '((dolist (id '("a" "b"))
         (efrit-session-set-active (efrit-session-create id (concat "Session " id)))
         (call "todos" (todos (list (concat "Of " id) "pending"))))
       (mapcar (lambda (thread)
                 (list thread (todo-write-plan-name thread nil)
                       (contents thread)))
               '("efrit:a" "efrit:b"))))
    '(("efrit:a" "Session a" ("Of a")) ("efrit:b" "Session b" ("Of b"))))))

(ert-deftest the-schema-that-efrit-sends-is-ours ()
  (should
   (efrit-checks-with-mode
    '((let ((sent (json-parse-string
                   (json-encode (efrit-do--get-current-tools-schema)))))
        (equal (json-serialize
                (seq-find (lambda (tool) (equal (gethash "name" tool) "todo_write"))
                          sent))
               (json-serialize (todo-write-tool-schema))))))))

(ert-deftest refusals-reach-every-loop-of-efrit-as-errors-and-change-nothing ()
  (pcase-let ((`(,loop ,executor ,contents)
               (efrit-checks-with-mode
                '((require 'efrit-executor)
                  (call "todos" (todos '("One" "pending")))
                  (let ((wrong (object "name" "todo_write" "id" "x"
                                       "input" (object "todos" (todos '("Two" "blocked"))))))
                    (list (efrit-do--execute-tool wrong)
                          (let ((result (efrit-executor--process-tool-use wrong nil)))
                            (list (plist-get result :is-error)
                                  (plist-get result :result)))
                          (contents (todo-write-current-thread))))))))
    ;; efrit-loop recognizes errors by this.
    (should (string-match-p "^Error " loop))
    (should (string-search "expected one of pending, in_progress, completed" loop))
    (should (eq (car executor) t))
    (should (string-search "received \"blocked\"" (cadr executor)))
    (should (equal contents '("One")))))

(ert-deftest repeated-equal-refusals-trip-efrits-breaker ()
  (should
   (efrit-checks-with-mode
    '((efrit-do--circuit-breaker-reset)
      (dotimes (n 6)
        (call "todos" (todos '("Two" "blocked")) "n" n))
      (string-search "Error loop" efrit-do--circuit-breaker-tripped)))))

(ert-deftest the-mode-replaces-efrits-displays-and-its-indicator ()
  (should
   (equal
    (efrit-checks-with-mode
     '((require 'efrit-ui-todos)
       (call "todos" (todos '("One" "in_progress")))
       (efrit-todos-refresh)
       (efrit-todos-show)
       (let ((on (list (buffer-local-value 'major-mode (get-buffer "*efrit-todos*"))
                       (efrit-modeline-construct)
                       todo-write-mode-line-mode
                       (substring-no-properties
                        (default-value 'todo-write-mode-line-string)))))
         (todo-write-efrit-mode -1)
         (list on todo-write-mode-line-mode
               (substring-no-properties (efrit-modeline-construct))))))
    '((todo-write-view-mode nil t "[0/1 Doing: One] ") nil "[Efrit: One]"))))

(ert-deftest the-doctor-finds-no-problem-before-and-after-all-of-efrit-is-loaded ()
  (should
   (equal
    (efrit-checks-run
     (butlast efrit-checks-load) efrit-checks-mode
     '((defun problems ()
         (seq-filter (lambda (finding) (eq 'problem (car finding)))
                     (todo-write-efrit--findings)))
       (let ((before (problems)))
         (mapc #'require '(efrit-do efrit-executor efrit-ui-todos efrit-repl-loop
                           efrit-tool-confirm-action))
         (list before (problems)
               (seq-remove #'featurep (mapcar #'car todo-write-efrit--advice))))))
    '(nil nil nil))))

(ert-deftest without-the-mode-each-package-has-a-buffer-of-its-own ()
  (should
   (equal
    (efrit-checks-run
     efrit-checks-load
     '((require 'todo-write-view)
       (require 'efrit-ui-todos)
       (defun first-line (name)
         (with-current-buffer name
           (goto-char (point-min))
           (list major-mode (buffer-substring-no-properties (point) (line-end-position)))))
       (todo-write "login" '(:todos [(:content "Ours" :status "in_progress" :activeForm "Ours")]))
       (call "todos" (todos '("Theirs" "pending")))
       (efrit-todos-show)
       (todo-write-show "login")
       (todo-write "login" '(:todos [(:content "Ours" :status "completed" :activeForm "Ours")]))
       (call "todos" (todos '("Theirs" "completed")))
       (let ((apart (list (first-line "*efrit-todos*") (first-line "*todo-write*"))))
         (with-current-buffer "*todo-write*"
           (goto-char (point-min))
           (push-button))
         (list apart todo-write-efrit-mode (get-buffer "*todo-write*")
               (car (first-line "*efrit-todos*"))))))
    '(((efrit-todos-mode "Efrit Tasks")
       (todo-write-view-mode " *efrit-todos* is Efrit's; show its plans here, too"))
      t nil todo-write-view-mode))))

(ert-deftest efrits-tools-tell-the-work-of-the-task ()
  (should
   (equal
    (efrit-checks-with-mode
     '((let ((default-directory (file-name-as-directory (make-temp-file "efrit" t))))
         (cl-flet ((tool (name &rest pairs)
                     (efrit-do--execute-tool
                      (object "name" name "input" (apply #'object pairs)))))
           (tool "eval_sexp" "expr" "(+ 1 2)")
           (call "todos" (todos '("One" "in_progress")))
           (tool "create_file" "path" (expand-file-name "f") "content" "one\ntwo\n")
           (tool "edit_file" "path" (expand-file-name "f") "old_str" "two" "new_str" "2")
           (tool "shell_exec" "command" "echo one")
           (tool "shell_exec" "command" "mkfs /dev/null")
           (tool "eval_sexp" "expr" "(")
           (let* ((thread (todo-write-current-thread))
                  (work (todo-write-work thread "t1")))
             (list (mapcar (lambda (file) (list (file-name-nondirectory (plist-get file :path))
                                                (plist-get file :added) (plist-get file :removed)))
                           (plist-get work :files))
                   (plist-get work :commands)
                   (mapcar (lambda (one) (plist-get (plist-get one :metadata) :outcome))
                           (todo-write-observations thread :type "TOOL_EXECUTION"))))))))
    '((("f" 3 1))
      (:run 1 :failed 0 :refused 1 :background 0 :unknown 1)
      ("ok" "ok" "ok" "unknown" "refused" "failed")))))

;;; Efrit's own tests

(defun efrit-checks-own (file mode)
  "Run Efrit's test FILE, with the mode on if MODE; return the names that passed."
  (efrit-checks-run
   efrit-checks-load (and mode efrit-checks-mode)
   `((require 'ert)
     (setq default-directory (file-name-as-directory (getenv "EFRIT")))
     (load (expand-file-name ,(concat "test/" file)) nil t)
     (let (passed)
       (ert-run-tests t (lambda (event &rest args)
                          (when (and (eq event 'test-ended)
                                     (ert-test-passed-p (nth 2 args)))
                            (push (ert-test-name (nth 1 args)) passed))))
       (sort passed #'string<)))))

(ert-deftest efrits-own-tests-pass-as-without-the-mode ()
  (dolist (file '("test-do-handlers.el" "test-circuit-breaker.el" "test-efrit-agent.el"))
    (let ((without (efrit-checks-own file nil))
          (with (efrit-checks-own file t)))
      (message "%s: %d passed without the mode, %d with it"
               file (length without) (length with))
      (should without)
      (should (equal with without)))))

;;; Whole sessions

(defun efrit-checks-session (command &rest forms)
  "Let Efrit work on COMMAND, then return the value of the last of FORMS.
In them, `errors' has whether each tool's result was an error, and `ended' why
the session ended."
  (efrit-checks-with-model
   `((defvar errors nil)
     (defvar ended nil)
     (advice-add 'efrit-api-build-tool-result :before
                 (lambda (_id _result &optional error)
                   (setq errors (append errors (list (and error t))))))
     (advice-add 'efrit-do-async--stop-loop :after
                 (lambda (_session reason &rest _) (setq ended reason)))
     (efrit-do--start-async-session ,command)
     (wait (lambda () ended)))
   forms))

(defconst efrit-checks-seen
  '((let ((thread (todo-write-current-thread)))
      (list ended errors
            (todo-write-state thread)
            (length (todo-write-revisions thread))
            (with-current-buffer "*efrit-todos*"
              (list major-mode (substring-no-properties (buffer-string))))
            (with-current-buffer efrit-agent-buffer-name
              (length (seq-filter (lambda (todo) (eq (plist-get todo :status) 'completed))
                                  efrit-agent--todos))))))
  "Forms that return the state of the buffers after a session.")

(ert-deftest a-whole-session-drives-our-buffer-and-efrits-agent-buffer ()
  (pcase-let ((`(,ended ,errors ,state ,revisions (,mode ,text) ,completed)
               (apply #'efrit-checks-session "Tidy the garden" efrit-checks-seen)))
    (should (equal ended "session-complete"))
    (should (equal errors '(t nil nil nil nil nil)))
    (should (eq state 'done))
    (should (= revisions 3))
    (should (eq mode 'todo-write-view-mode))
    (should (string-match-p "Tidy the garden.*2/2" text))
    (should (string-match-p "Rake the leaves" text))
    (should (string-match-p "Water 100% of the beds" text))
    (should (= completed 2))))

(ert-deftest a-whole-session-is-recorded-with-its-phases ()
  (should
   (equal
    (apply #'efrit-checks-session "Tidy the garden"
           '((mapcar (lambda (one)
                       (let ((content (plist-get one :content)))
                         (list (plist-get one :type)
                               (plist-get (plist-get one :metadata) :phase)
                               (or (plist-get content :text) content))))
                     (todo-write-observations
                      (todo-write-current-thread)
                      :types '("INTENT" "THOUGHTS" "MESSAGE" "FINAL_RESPONSE")))))
    '(("INTENT" "planning" "Tidy the garden")
      ("THOUGHTS" "planning" "Leaves come first.")
      ("MESSAGE" "planning" "First a plan.")
      ("MESSAGE" "execution" "Now the beds.")
      ("FINAL_RESPONSE" "synthesis" "The garden is tidy.")))))

(ert-deftest a-foreground-session-is-recorded-too ()
  (should
   (equal
    (efrit-checks-with-model
     '((efrit-do-sync "Say hello")
       (mapcar (lambda (one) (list (plist-get one :type)
                               (plist-get (plist-get one :metadata) :phase)))
               (todo-write-observations (car (todo-write-threads))))))
    '(("INTENT" "planning") ("MESSAGE" "planning")))))

(ert-deftest a-quit-pauses-the-plan ()
  (pcase-let ((`(,ended ,errors ,state ,_ (,_ ,text) ,_)
               (apply #'efrit-checks-session "Dig a hole" efrit-checks-seen)))
    (should (equal ended "interrupted"))
    (should (equal errors '(nil t)))
    (should (eq state 'paused))
    (should (string-match-p "Digging a hole" text))))

(ert-deftest a-quit-in-a-synchronous-session-pauses-the-plan ()
  (should
   (equal
    (efrit-checks-with-model
     '((list (condition-case nil (efrit-do-sync "Dig a hole") (quit 'quit))
             (todo-write-state (todo-write-current-thread)))))
    '(quit paused))))

(ert-deftest a-conversation-of-several-turns-has-one-thread-and-a-quit-pauses-it ()
  (should
   (equal
    (efrit-checks-with-model
     '((require 'efrit-repl-loop)
       (let ((session (efrit-repl-session-create)) seen)
         (dolist (command '("Tidy the garden" "Dig a hole"))
           (let (ended)
             (efrit-repl-continue session command
                                  (lambda (_session reason) (setq ended reason)))
             (wait (lambda () ended))
             (push (list ended (todo-write-state (todo-write-current-thread))) seen)))
         (list (nreverse seen)
               (equal (todo-write-threads)
                      (list (concat "efrit:" (efrit-repl-session-id session))))))))
    '((("session-complete" done) ("interrupted" paused)) t))))

;;; Activity

(defun efrit-checks-doing (&rest forms)
  "Evaluate FORMS with Efrit and a scripted model; return its agent's activities."
  (efrit-checks-with-model
   '((defvar ended nil)
     (defvar doing nil)
     (add-hook 'todo-write-events-functions
               (lambda (thread what _data)
                 (when (eq what 'activity)
                   (push (todo-write-activity thread) doing)))))
   forms
   '((nreverse doing))))

(ert-deftest a-command-works-until-it-is-interrupted ()
  (should (equal (efrit-checks-doing
                  '(advice-add 'efrit-do-async--stop-loop :after
                               (lambda (&rest _) (setq ended t)))
                  '(efrit-do--start-async-session "Dig a hole")
                  '(wait (lambda () ended)))
                 '((working) nil))))

(ert-deftest a-command-whose-model-cannot-be-reached-fails ()
  (should (equal (efrit-checks-doing
                  '(advice-add 'efrit-do-async--stop-loop :after
                               (lambda (&rest _) (setq ended t)))
                  '(setq efrit-api-base-url "http://127.0.0.1:9")
                  '(efrit-do--start-async-session "Dig a hole")
                  '(wait (lambda () ended)))
                 '((working) (failed . "api error")))))

(ert-deftest a-conversation-waits-for-the-answer-to-a-question ()
  (should (equal (efrit-checks-doing
                  '(require 'efrit-repl-loop)
                  '(let ((session (efrit-repl-session-create))
                         (end (lambda (_session reason) (setq ended reason))))
                     (efrit-repl-continue session "Plant a tree" end)
                     (wait (lambda () (equal ended "waiting-for-user")))
                     (efrit-repl-continue session "Tidy the garden" end)
                     (wait (lambda () (equal ended "session-complete")))))
                 '((working) (waiting . "question: Which tree?") (working) nil))))

(ert-deftest a-command-waits-for-a-confirmation ()
  (should (equal (efrit-checks-doing
                  '(advice-add 'efrit-do-async--stop-loop :after
                               (lambda (&rest _) (setq ended t)))
                  '(require 'efrit-tool-confirm-action)
                  '(cl-letf (((symbol-function 'y-or-n-p) #'always))
                     (efrit-do--start-async-session "Fell the tree")
                     (wait (lambda () ended))))
                 '((working) (waiting . "permission: Fell it") (working) nil))))

;;; Turning the mode off

(defconst efrit-checks-snapshot
  '((defun snapshot ()
      (let (all)
        (mapatoms
         (lambda (symbol)
           (when (string-prefix-p "efrit" (symbol-name symbol))
             (push (list symbol (symbol-function symbol)
                         (if (boundp symbol) (list (symbol-value symbol)) 'void)
                         (let (advice)
                           (advice-mapc (lambda (function properties)
                                          (push (cons function properties) advice))
                                        symbol)
                           advice))
                   all))))
        (list all load-path
              (mapcar (lambda (hook) (list hook (symbol-value hook)))
                      '(after-load-functions todo-write-change-functions
                        todo-write-events-functions)))))
    (defun same (a b)
      (or (eq a b)
          (and (consp a) (consp b)
               (same (car a) (car b)) (same (cdr a) (cdr b)))
          (and (stringp a) (equal a b))))
    (defun differing (before after)
      (append
       (delq nil (cl-mapcar (lambda (a b)
                              (unless (and (equal (nth 1 a) (nth 1 b))
                                           (same (nthcdr 2 a) (nthcdr 2 b)))
                                (car a)))
                            (car before) (car after)))
       (unless (same (cdr before) (cdr after)) (list 'rest)))))
  "Forms that define functions to compare everything of Efrit.")

(ert-deftest turning-the-mode-off-restores-everything ()
  (should
   (equal
    (efrit-checks-run
     efrit-checks-load efrit-checks-snapshot
     '((require 'efrit-executor)
       (require 'efrit-ui-todos)
       (require 'efrit-agent)
       (require 'todo-write-efrit)
       (let* ((before (snapshot))
              (on (progn (todo-write-efrit-mode 1) (snapshot)))
              (off (progn (todo-write-efrit-mode -1) (snapshot))))
         (list (and (memq 'efrit-do--dispatch-tool (differing before on)) t)
               (differing before off)))))
    '(t nil))))

(ert-deftest turning-the-mode-off-after-a-session-leaves-only-efrits-records-changed ()
  (should
   (equal
    (efrit-checks-run
     efrit-checks-load efrit-checks-snapshot
     '((require 'efrit-ui-todos)
       (require 'todo-write-efrit)
       (let ((before (snapshot)))
         (todo-write-efrit-mode 1)
         (call "todos" (todos '("One" "pending")))
         (todo-write-efrit-mode -1)
         (let ((changed (differing before (snapshot))))
           (list (seq-filter (lambda (symbol)
                               (not (equal (symbol-function symbol)
                                           (nth 1 (assq symbol (car before))))))
                             (seq-filter #'fboundp changed))
                 (call "todos" (todos '("Two" "done")))
                 (mapcar #'efrit-do-todo-item-content efrit-do--current-todos))))))
    '(nil
      "\n[TODO list updated: 1 total (1 pending, 0 in-progress, 0 completed)]"
      ("Two")))))

(provide 'efrit-checks)
;;; efrit-checks.el ends here
