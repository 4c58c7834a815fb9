;;; todo-write-mcp-setup-tests.el --- Tests of giving agents the tool  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests check what `todo-write-mcp-setup' shows, copies and runs for each
;; agent, and what the doctor reports of it.  test/hosts/mcp.sh uses the commands
;; and settings with genuine agents.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-mcp-setup)
(require 'todo-write-doctor)
(require 'todo-write-socket-helper)

(defconst todo-write-mcp-setup-tests--server
  '("/opt/to do/todo-write-mcp" "--socket" "/run/\"s\""))

(defmacro todo-write-mcp-setup-tests--with (answers &rest body)
  "Evaluate BODY with the program /bin/true and a user who gives ANSWERS.
All agents seem to be installed, but their commands are not run."
  (declare (indent 1) (debug t))
  `(let* ((todo-write-mcp-program (executable-find "true"))
          (todo-write-socket (todo-write-socket-test-file))
          (kill-ring nil) (interprogram-cut-function nil)
          (answers ,answers) (asked nil) (ran nil)
          (call (symbol-function 'call-process)))
     (ignore asked ran)
     (cl-letf (((symbol-function 'executable-find) (lambda (name &rest _) name))
               ((symbol-function 'y-or-n-p) (lambda (question) (push question asked) (pop answers)))
               ((symbol-function 'call-process)
                (lambda (program &rest arguments)
                  (push (cons program (cdddr arguments)) ran)
                  (funcall call "echo" nil t nil "Added."))))
       (unwind-protect (progn ,@body)
         (todo-write-mcp-mode -1)
         (when (get-buffer "*todo-write MCP*") (kill-buffer "*todo-write MCP*"))))))

(ert-deftest todo-write-mcp-setup-each-agent-has-a-command-or-settings ()
  (dolist (agent (mapcar #'car todo-write-mcp-setup--agents))
    (let ((command (todo-write-mcp-setup--command agent todo-write-mcp-setup-tests--server))
          (settings (todo-write-mcp-setup--settings agent todo-write-mcp-setup-tests--server)))
      (should (xor command settings))
      (if command
          (should (equal (last command 3) todo-write-mcp-setup-tests--server))
        (should (string-search "/opt/to do/todo-write-mcp" settings))
        (should (string-search "/run/\\\"s\\\"" settings))
        (unless (equal agent "Goose")
          (should (json-parse-string settings)))))))

(ert-deftest todo-write-mcp-setup-shows-and-copies-the-instructions ()
  (dolist (agent (mapcar #'car todo-write-mcp-setup--agents))
    (todo-write-mcp-setup-tests--with nil
      (todo-write-mcp-setup agent)
      (let ((text (with-current-buffer "*todo-write MCP*" (buffer-string))))
        (should (string-search (car kill-ring) text))
        (should (string-search todo-write-socket (car kill-ring)))
        (should (eq (todo-write-socket--state) 'open))
        (should (string-match-p "plan tool" text))
        (should (string-search todo-write-mcp-setup--instructions text)))
      (should-not ran))))

(ert-deftest todo-write-mcp-setup-runs-the-agents-own-command-after-a-yes ()
  (todo-write-mcp-setup-tests--with '(t)
    (todo-write-mcp-setup "Codex")
    (should (equal ran `(("codex" "mcp" "add" "todo-write" "--" ,todo-write-mcp-program
                          "--socket" ,todo-write-socket)
                         ("codex" "mcp" "remove" "todo-write"))))
    (with-current-buffer "*todo-write MCP*"
      (should (string-match-p "Added\\.\n\nDone" (buffer-string))))))

(ert-deftest todo-write-mcp-setup-merges-settings-and-repeats-without-change ()
  (let* ((new (cdr (todo-write-mcp-setup--get "Claude Code" :merge)))
         (old "{\"model\": \"opus\", \"permissions\": {\"allow\": [\"Bash(ls)\"], \"ask\": [null, false, {}]}}")
         (merged (todo-write-mcp-setup--merged old new)))
    (should (equal '(:model "opus"
                     :permissions (:allow ["Bash(ls)" "mcp__todo-write__todo_write"]
                                   :ask [:null :false nil]
                                   :deny ["TodoWrite" "TaskCreate" "TaskUpdate" "TaskGet" "TaskList"]))
                   (json-parse-string merged :object-type 'plist :null-object :null
                                      :false-object :false)))
    (should (equal merged (todo-write-mcp-setup--merged merged new)))
    (should (json-parse-string (todo-write-mcp-setup--merged "" new)))
    (should-error (todo-write-mcp-setup--merged "{} // mine" new))))

(ert-deftest todo-write-mcp-setup-writes-settings-after-a-yes-and-keeps-a-backup ()
  (let* ((home (file-name-as-directory (make-temp-file "todo-write-home" t)))
         (process-environment `(,(concat "HOME=" home) "CLAUDE_CONFIG_DIR" ,@process-environment))
         (file (concat home ".claude/settings.json")))
    (unwind-protect
        (pcase-dolist (`(,answers ,written ,says) '(((nil nil) nil "^\\+.*mcp__todo-write__todo_write")
                                                    ((nil t) t "^Written")
                                                    ((nil nil) t "The file has these already")))
          (make-directory (file-name-directory file) t)
          (unless (file-exists-p file) (write-region "{\"a\": 1}" nil file nil 'silent))
          (todo-write-mcp-setup-tests--with answers
            (todo-write-mcp-setup "Claude Code")
            (with-current-buffer "*todo-write MCP*"
              (goto-char (point-min))
              (should (re-search-forward says nil t))))
          (should (eq written (file-exists-p (concat file "~"))))
          (with-temp-buffer
            (insert-file-contents file)
            (should (= 1 (gethash "a" (json-parse-string (buffer-string)))))
            (should (eq written (and (search-forward "mcp__todo-write" nil t) t)))))
      (delete-directory home t))))

(defmacro todo-write-mcp-setup-tests--with-settings (&rest body)
  "Evaluate BODY with FILE, the user's settings with the text \"{}\" in FOLDER."
  (declare (indent 0) (debug t))
  `(let* ((folder (file-name-as-directory (make-temp-file "todo-write-settings" t)))
          (file (concat folder "settings.json")))
     (unwind-protect
         (with-temp-buffer
           (write-region "{}" nil file nil 'silent)
           ,@body)
       (delete-directory folder t))))

(defun todo-write-mcp-setup-tests--text (file)
  "Return the text of FILE."
  (with-temp-buffer
    (insert-file-contents file)
    (buffer-string)))

(ert-deftest todo-write-mcp-setup-leaves-settings-alone-that-it-cannot-write ()
  (todo-write-mcp-setup-tests--with-settings
    (let ((write (symbol-function 'write-region)))
      (cl-letf (((symbol-function 'write-region)
                 (lambda (_text _ file &rest _)
                   (funcall write "{\"" nil file nil 'silent)
                   (signal 'file-error '("Write error" "No space left on device")))))
        (should-error (todo-write-mcp-setup--write file "{\"a\": 1}") :type 'file-error)))
    (should (equal "{}" (todo-write-mcp-setup-tests--text file)))
    (should (equal '("settings.json") (directory-files folder nil "[^.]")))))

(ert-deftest todo-write-mcp-setup-backs-up-the-settings-before-each-change ()
  (todo-write-mcp-setup-tests--with-settings
    (pcase-dolist (`(,before ,after) '(("{}" "{\"a\": 1}") ("{\"a\": 1}" "{\"a\": 2}")))
      (todo-write-mcp-setup--write file after)
      (should (equal after (todo-write-mcp-setup-tests--text file)))
      (should (equal before (todo-write-mcp-setup-tests--text (concat file "~")))))))

(ert-deftest todo-write-mcp-setup-keeps-the-mode-and-the-link-of-settings ()
  (todo-write-mcp-setup-tests--with-settings
    (let ((link (concat folder "link.json")))
      (set-file-modes file #o640)
      (make-symbolic-link "settings.json" link)
      (todo-write-mcp-setup--write link "{\"a\": 1}")
      (should (equal "settings.json" (file-symlink-p link)))
      (should (equal "{\"a\": 1}" (todo-write-mcp-setup-tests--text file)))
      (should (= #o640 (file-modes file))))))

(ert-deftest todo-write-mcp-setup-names-the-folder-that-the-agent-reads ()
  (pcase-dolist (`(,agent ,variable ,file)
                 '(("Claude Code" "CLAUDE_CONFIG_DIR" "/settings.json")
                   ("Codex" "CODEX_HOME" "/config.toml")))
    (pcase-dolist (`(,folder ,shown) `(("/nowhere/mine" "/nowhere/mine")
                                       ("" ,(if (equal agent "Codex") "~/.codex" "~/.claude"))))
      (let ((process-environment (cons (concat variable "=" folder) process-environment)))
        (todo-write-mcp-setup-tests--with nil
          (todo-write-mcp-setup agent)
          (with-current-buffer "*todo-write MCP*"
            (should (string-search (concat shown file) (buffer-string)))
            (should-not (string-search "%h" (buffer-string)))
            (unless (equal folder "")
              (should-not (string-search "~/.c" (buffer-string))))))))))

(ert-deftest todo-write-mcp-setup-copies-the-program-to-a-folder-that-stays ()
  (let* ((folder (file-name-as-directory (make-temp-file "todo-write-bin" t)))
         (user-emacs-directory folder)
         (program (concat folder "todo-write-mcp")))
    (unwind-protect
        (dolist (version '("0.1.0" "0.2.0"))
          (write-region (format "#!/bin/sh\n: 'todo-write-mcp version %s;'\n" version) nil program nil 'silent)
          (set-file-modes program #o755)
          (todo-write-mcp-setup-tests--with nil
            (let ((todo-write-mcp-program nil) (todo-write-module-directory folder))
              (todo-write-mcp-setup "Codex")
              (let ((stable (car (todo-write-mcp-setup--server))))
                (should (equal stable (concat folder "todo-write-bin/todo-write-mcp")))
                (should (file-executable-p stable))
                (should (equal version (todo-write-module--file-version stable)))
                (should (string-search stable (car kill-ring)))
                (should (equal (directory-files (concat folder "todo-write-bin") nil "[^.]")
                               '("todo-write-mcp")))))))
      (delete-directory folder t))))

(ert-deftest todo-write-mcp-setup-asks-before-it-gets-the-program ()
  (todo-write-mcp-setup-tests--with '(nil)
    (let ((todo-write-mcp-program nil) (exec-path nil) (todo-write-module-directory "/nowhere/")
          (todo-write-module--lisp "/nowhere/"))
      (cl-letf (((symbol-function 'todo-write-module--can-ask-p) #'always)
                ((symbol-function 'todo-write-module--ways)
                 (lambda (_name) '((build . "Build it now, with cargo")))))
        (should-error (todo-write-mcp-setup "Codex") :type 'todo-write-error)
        (should (equal asked '("The program todo-write-mcp is missing.  Build it now, with cargo? ")))))))

(ert-deftest todo-write-mcp-setup-names-a-program-that-cannot-be-run ()
  (let ((todo-write-mcp-program "/nowhere/todo-write-mcp"))
    (should-error (todo-write-mcp-setup "Codex") :type 'user-error)))

(ert-deftest todo-write-mcp-setup-the-doctor-names-what-is-missing ()
  (let ((todo-write-mcp-program "/nowhere/todo-write-mcp"))
    (should (string-match-p "todo-write-mcp is missing\n.*todo-write-mcp-setup"
                            (todo-write-doctor--text))))
  (let ((todo-write-mcp-program (executable-find "true")))
    (should (string-match-p "MCP: off.*\n.*todo-write-mcp-mode" (todo-write-doctor--text)))))

(ert-deftest todo-write-mcp-setup-names-the-socket-only-if-the-user-changed-it ()
  (todo-write-mcp-setup-tests--with nil
    (should (equal (todo-write-mcp-setup--server)
                   (list todo-write-mcp-program "--socket" todo-write-socket)))
    (let ((todo-write-socket nil))
      (should (equal (todo-write-mcp-setup--server) (list todo-write-mcp-program))))))

(ert-deftest todo-write-mcp-setup-the-doctor-says-that-a-program-must-be-set-up-again ()
  (todo-write-mcp-setup-tests--with nil
    (let ((todo-write-socket--outdated-programs '("was set up by an earlier version")))
      (todo-write-mcp-mode)
      (should (string-match-p "set up by an earlier version\n.*todo-write-mcp-setup"
                              (todo-write-doctor--text))))))

(ert-deftest todo-write-mcp-setup-ends-where-the-socket-is-refused ()
  (todo-write-mcp-setup-tests--with (list t t t)
    (set-file-modes (file-name-directory todo-write-socket) #o755)
    (let ((warnings (todo-write-test-warnings
                      (should (string-match-p
                               "no agent could reach this Emacs"
                               (cadr (should-error (todo-write-mcp-setup "Claude Code")
                                                   :type 'user-error)))))))
      (should (string-match-p "must be yours alone" (car warnings))))
    (should-not todo-write-mcp-mode)
    (should-not asked)
    (should-not ran)
    (should-not (get-buffer "*todo-write MCP*"))))

;;; Later sessions

(defmacro todo-write-mcp-setup-tests--with-init-file (&rest body)
  "Evaluate BODY with an empty init file, FILE, where customizations are saved, too."
  (declare (indent 0) (debug t))
  `(let* ((home (file-name-as-directory (make-temp-file "todo-write-home" t)))
          (process-environment (cons (concat "HOME=" home) process-environment))
          (file (concat home "init.el"))
          (user-init-file file) (custom-file file)
          (saved (get 'todo-write-mcp-mode 'saved-value)))
     (put 'todo-write-mcp-mode 'saved-value nil)
     (write-region "" nil file nil 'silent)
     (unwind-protect (progn ,@body)
       (put 'todo-write-mcp-mode 'saved-value saved)
       (delete-directory home t))))

(defun todo-write-mcp-setup-tests--on-later-p (file)
  "Return non-nil if the mode is on in a new Emacs with the init file FILE."
  (with-temp-buffer
    (call-process (expand-file-name invocation-name invocation-directory) nil t nil
                  "-Q" "--batch" "-L" todo-write-module--lisp "-l" "todo-write-mcp"
                  "--eval" (format "(setq todo-write-socket %S)" (todo-write-socket-test-file))
                  "-l" file "--eval" "(princ (todo-write-socket--state))")
    (string-suffix-p "open" (buffer-string))))

(ert-deftest todo-write-mcp-setup-keeps-the-mode-on-after-a-yes ()
  (todo-write-mcp-setup-tests--with-init-file
    (should-not (todo-write-mcp-setup-tests--on-later-p file))
    (pcase-dolist (`(,answer ,is-asked) '((nil t) (t t) (nil nil)))
      (todo-write-mcp-setup-tests--with (list nil nil answer)
        (todo-write-mcp-setup "Claude Code")
        (should (eq is-asked (and (seq-find (apply-partially #'string-search "later sessions")
                                            asked)
                                  t))))
      (should (eq (or answer (not is-asked)) (todo-write-mcp-setup-tests--on-later-p file))))))

(ert-deftest todo-write-mcp-setup-does-not-ask-if-the-init-file-has-the-mode ()
  (todo-write-mcp-setup-tests--with-init-file
    (write-region "(todo-write-mcp-mode)\n" nil file nil 'silent)
    (todo-write-mcp-setup-tests--with nil
      (todo-write-mcp-setup "Codex")
      (should-not (seq-find (apply-partially #'string-search "later sessions") asked)))))

(ert-deftest todo-write-mcp-setup-the-doctor-says-that-the-mode-is-on-for-this-session-only ()
  (todo-write-mcp-setup-tests--with-init-file
    (todo-write-mcp-setup-tests--with nil
      (cl-letf (((symbol-function 'todo-write-mcp-setup--check)
                 (lambda (_server) (format "todo-write, process %d, answered" (emacs-pid))))
                (noninteractive nil))
        (todo-write-mcp-mode)
        (let ((text "on for this session only\n.*(todo-write-mcp-mode)"))
          (should (string-match-p text (todo-write-doctor--text)))
          (write-region "(todo-write-mcp-mode)\n" nil file nil 'silent)
          (should-not (string-match-p text (todo-write-doctor--text))))))))

(provide 'todo-write-mcp-setup-tests)
;;; todo-write-mcp-setup-tests.el ends here
