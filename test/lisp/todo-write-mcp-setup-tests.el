;;; todo-write-mcp-setup-tests.el --- Tests of giving agents the tool  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests check the dialogue of `todo-write-mcp-setup', with the genuine program,
;; and what the doctor reports of it.  mcp/tests/setup.rs checks what the program does
;; with each agent's settings; test/hosts/mcp.sh uses them with genuine agents.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-doctor)
(require 'todo-write-mcp-setup)
(require 'todo-write-setup-helper)
(require 'tramp)

(ert-deftest todo-write-mcp-setup-shows-and-copies-the-instructions ()
  (todo-write-with-setup
    (let ((agents (todo-write-mcp-setup--agents)))
      (should (member "Claude Code" agents))
      (dolist (agent agents)
        (setq kill-ring nil)
        (let ((text (todo-write-setup-test-run agent)))
          (should (string-search (car (split-string (car kill-ring) "\n")) text))
          (should (string-search todo-write-socket (car kill-ring)))
          (should (eq (todo-write-socket-state) 'open))
          (should (string-match-p "plan tool" text))
          (should (string-search "Plan work of three or more steps" text)))))
    ;; Nothing was written.
    (should-not (directory-files home nil "\\`[^.]"))))

(ert-deftest todo-write-mcp-setup-stays-at-the-top-and-asks-below-what-it-is-about ()
  (todo-write-with-setup
    (todo-write-setup-test-write "bin/claude" todo-write-setup-test-claude #o755)
    (let ((text (todo-write-setup-test-run "Claude Code")))
      (with-current-buffer "*todo-write MCP*"
        (should (bobp))
        (should (= (point-min) (window-start (get-buffer-window)))))
      (should (equal '("Run `claude mcp add'" "Write ~/.claude/settings.json"
                       "Switch it on in ~/.claude/settings.json" "Do not offer it again")
                     (todo-write-setup-test-buttons)))
      (should (< (string-search "  claude mcp add" text) (string-search "[Run" text)
                 (string-search "+  \"permissions\"" text) (string-search "[Write" text)
                 (string-search "Not done yet" text))))
    (with-current-buffer "*todo-write MCP*"
      (should (eq 'forward-button (key-binding (kbd "TAB"))))
      (goto-char (point-min))
      (forward-button 1)
      (should (eq 'push-button (key-binding (kbd "RET")))))))

(ert-deftest todo-write-mcp-setup-runs-the-agents-own-command-if-its-button-is-pressed ()
  (todo-write-with-setup
    (todo-write-setup-test-write "bin/claude" todo-write-setup-test-claude #o755)
    (todo-write-setup-test-run "Claude Code")
    (should (equal "" (todo-write-setup-test-read "log")))
    (let ((text (todo-write-setup-test-press "Run"))
          (copied kill-ring))
      (should (equal (format "claude mcp add --scope user todo-write -- %s --socket %s\n"
                             todo-write-mcp-program todo-write-socket)
                     (todo-write-setup-test-read "log")))
      (should (string-search "It has the tool.\n\nDone it." text))
      ;; Point stays where it was pressed, and nothing is copied again.
      (with-current-buffer "*todo-write MCP*"
        (should (looking-at "Give Claude Code the tool")))
      (should (eq copied kill-ring))
      (should (string-search "Not done yet\n\n- write the settings into ~/.claude/settings.json" text)))
    (should (string-search "Done\n\nNothing is left to do." (todo-write-setup-test-press "Write")))
    ;; What the user may decline is not left to do.
    (should (equal '("Switch it on in ~/.claude/settings.json" "Do not offer it again")
                   (todo-write-setup-test-buttons)))))

(ert-deftest todo-write-mcp-setup-remembers-that-changes-of-commands-are-not-wanted ()
  (todo-write-with-setup
    (should (string-search "bashEditDiffEnabled" (todo-write-setup-test-run "Claude Code")))
    (should (string-search "You did not want it." (todo-write-setup-test-press "Do not")))
    (should (equal "" (todo-write-setup-test-read ".claude/settings.json")))
    (should (string-search "You did not want it." (todo-write-setup-test-run "Claude Code")))
    (should-not (member "Do not offer it again" (todo-write-setup-test-buttons)))
    (should (string-search "It is on." (todo-write-setup-test-press "Switch it on")))
    (should (string-search "\"bashEditDiffEnabled\": true"
                           (todo-write-setup-test-read ".claude/settings.json")))))

(ert-deftest todo-write-mcp-setup-takes-the-tool-away-if-the-button-is-pressed ()
  (todo-write-with-setup
    (todo-write-setup-test-write "bin/claude" todo-write-setup-test-claude #o755)
    (todo-write-setup-test-run "Claude Code")
    (todo-write-setup-test-press "Run")
    (todo-write-mcp-mode -1)
    (todo-write-setup-test-run "Claude Code" t)
    (should-not todo-write-mcp-mode)
    (should (equal "claude mcp remove --scope user todo-write" (car kill-ring)))
    (should (string-search "Done\n\nClaude Code has nothing of this."
                           (todo-write-setup-test-press "Run")))
    (should (string-suffix-p "\nclaude mcp remove --scope user todo-write\n"
                             (todo-write-setup-test-read "log")))))

(ert-deftest todo-write-mcp-setup-writes-settings-if-told-and-keeps-a-backup ()
  (todo-write-with-setup
    (let ((file ".claude/settings.json"))
      (todo-write-setup-test-write file "{\"a\": 1}")
      (todo-write-setup-test-run "Claude Code")
      (should (equal "{\"a\": 1}" (todo-write-setup-test-read file)))
      (let ((text (todo-write-setup-test-press "Write")))
        (should (string-search "~/.claude/settings.json is written. The old file is ~/.claude/settings.json~."
                               text))
        (should (string-search "Not done yet\n\n- run `claude mcp add'" text)))
      (should (string-search "mcp__todo-write__todo_write" (todo-write-setup-test-read file)))
      (should (equal "{\"a\": 1}" (todo-write-setup-test-read (concat file "~")))))))

(ert-deftest todo-write-mcp-setup-says-what-a-program-that-fails-says ()
  (todo-write-with-setup
    (should (string-search "nothing-like-it is not an agent"
                           (todo-write-setup-test-run "nothing-like-it")))
    (todo-write-setup-test-write ".cursor/mcp.json" "{} // mine")
    (should (string-search "is not plain JSON at line 1" (todo-write-setup-test-run "Cursor")))
    (todo-write-setup-test-write "bin/codex" "#!/bin/sh\necho No such thing.\nexit 3\n" #o755)
    (todo-write-setup-test-run "Codex")
    (should (string-search "No such thing.\ncodex mcp add" (todo-write-setup-test-press "Run")))))

(ert-deftest todo-write-mcp-setup-names-a-program-that-is-older ()
  (todo-write-with-setup
    ;; It ignores what it does not know, and waits for calls.
    (todo-write-setup-test-write "old" "#!/bin/sh\ncat >/dev/null\n" #o755)
    (let ((todo-write-mcp-program "~/old"))
      (should (string-search "It may be older than this package" (todo-write-setup-test-run "Codex")))
      (should (string-match-p "older than this package"
                              (cadr (should-error (todo-write-mcp-setup--agents)
                                                  :type 'user-error)))))))

(ert-deftest todo-write-mcp-setup-only-a-line-that-switches-the-mode-on-keeps-it-on ()
  (let* ((file (make-temp-file "init" nil ".el"))
         (user-init-file file))
    (unwind-protect
        (pcase-dolist (`(,kept . ,text)
                       '((t . "(todo-write-mcp-mode)") (t . "(todo-write-mcp-mode 1)")
                         (t . ";; Agents\n(when t ; here\n  (todo-write-mcp-mode +1))")
                         (t . ";; (todo-write-mcp-mode)\n(todo-write-mcp-mode\n t)")
                         (nil . ";; (todo-write-mcp-mode)") (nil . "(foo) ; (todo-write-mcp-mode 1)")
                         (nil . "(setq a \"(todo-write-mcp-mode)\")")
                         (nil . "(todo-write-mcp-mode -1)") (nil . "(todo-write-mcp-mode 0)")
                         (nil . "(todo-write-mcp-mode-hook)")))
          (write-region text nil file nil 'silent)
          (ert-info (text)
            (should (eq kept (and (todo-write-mcp-setup-kept-p) t)))))
      (delete-file file))))

(ert-deftest todo-write-mcp-setup-shows-no-control-characters-of-a-program ()
  (todo-write-with-setup
    (todo-write-setup-test-write
     "evil" "#!/bin/sh
echo '{\"copy\": \"x\", \"open\": [], \"closing\": \"a\\u202eb\", \"sections\": [
  {\"title\": \"c\\u001bd\", \"text\": \"e\\u0007f\", \"option\": \"--evil\", \"label\": \"g\"}]}' | tr -d '\\n'\n" #o755)
    (let* ((todo-write-mcp-program "~/evil")
           (text (todo-write-setup-test-run "Codex")))
      (dolist (part '("a\\u202eb" "c\\u001bd" "e\\u0007f"))
        (should (string-search part text)))
      (should-not (todo-write-setup-test-buttons)))))

;;; Another machine

(defmacro todo-write-mcp-setup-tests--on (prefix &rest body)
  "Evaluate BODY with the genuine program, where PREFIX leads to a machine.
Emacs 28 gets the methods of containers from packages."
  (declare (indent 1) (debug t))
  `(todo-write-with-setup
     (let ((todo-write-machines '(("build" :prefix ,prefix)))
           (tramp-methods (append '(("docker") ("dockercp") ("podman")) tramp-methods)))
       ,@body)))

(defun todo-write-mcp-setup-tests--there (prefix)
  "Return what the setup shows about the machine where PREFIX leads, a string.
This machine stands for it."
  (let ((exec-path (append '("/usr/bin" "/bin") exec-path))) ; For `uname'.
    (mapconcat (lambda (section) (string-join section "\n"))
               (todo-write-mcp-setup--sections-there prefix) "\n")))

(ert-deftest todo-write-mcp-setup-a-machine-of-this-kind-gets-this-program ()
  (todo-write-mcp-setup-tests--on "/ssh:me@build#2222:"
    (let ((text (todo-write-mcp-setup-tests--there "/ssh:me@build#2222:")))
      (should (string-search "(todo-write-connect \"build\")" text))
      (should (string-match-p "^ssh -l me -p 2222 -- build 'umask " text))
      (should (string-search (concat "<" todo-write-mcp-program) text))
      (should-not (string-search "cargo" text)))
    ;; One without a name is named by its prefix.
    (should (string-search "(todo-write-connect \"/ssh:other:\")"
                           (todo-write-mcp-setup-tests--there "/ssh:other:")))))

(ert-deftest todo-write-mcp-setup-a-machine-of-another-kind-builds-the-program ()
  (todo-write-mcp-setup-tests--on "/dockercp:root@dev:"
    (let* (;; Compiled files may have no sources beside them.
           (todo-write-module-lisp (expand-file-name "lisp/" (getenv "TODO_WRITE_ROOT")))
           (lines (apply #'todo-write-mcp-setup-ask
                         (todo-write-mcp-setup--lines "/dockercp:root@dev:"
                                                      "Plan9 mips\n\nrm -rf ~\u202e"))))
      (should (string-match-p "^docker exec -i -u root dev sh -c 'cargo install --path "
                              (plist-get lines :lines)))
      (should (string-match-p "^tar -C .* -cf - Cargo.toml Cargo.lock src mcp | docker exec"
                              (plist-get lines :lines)))
      (should (string-search "of the kind Plan9 mips" (plist-get lines :note)))
      ;; The machine puts nothing into the lines for the shell.
      (should-not (string-match-p "rm -rf" (plist-get lines :lines)))
      (should-not (string-match-p "^rm" (plist-get lines :note))))))

(ert-deftest todo-write-mcp-setup-each-method-of-a-machine-has-its-command ()
  (pcase-dolist (`(,prefix ,command) '(("/podman:dev:" "podman exec -i dev sh -c ")
                                       ("/rsync:dev:" "ssh -- dev ")))
    (todo-write-mcp-setup-tests--on "/ssh:build:"
      (let (lines)
        (todo-write-mcp-setup-copy-line prefix (lambda (line) (push line lines)))
        (should-not lines)
        (todo-write-test-wait (lambda () lines))
        (should (string-prefix-p command (car lines)))
        (let ((todo-write-mcp-program "~/nothing"))
          (todo-write-mcp-setup-copy-line prefix (lambda (line) (push line lines)))
          (should (equal '(nil t) (mapcar #'stringp lines))))))))

(ert-deftest todo-write-mcp-setup-does-one-thing-at-a-time ()
  (todo-write-with-setup
    (todo-write-setup-test-write "slow" "#!/bin/sh\nwhile test ! -e ~/go; do sleep 0.05; done\n" #o755)
    (let ((todo-write-mcp-program "~/slow"))
      (todo-write-mcp-setup "Codex")
      (should-error (todo-write-mcp-setup "Codex") :type 'user-error)
      (with-current-buffer "*todo-write MCP*"
        (should-error (revert-buffer) :type 'user-error))
      (todo-write-setup-test-write "go" "")
      (todo-write-setup-test-page))))

(ert-deftest todo-write-mcp-setup-copies-the-program-to-a-folder-that-stays ()
  (todo-write-with-setup
    (let* ((genuine todo-write-mcp-program)
           (todo-write-mcp-program nil)
           (todo-write-module-directory (concat home "package-1.0"))
           (program (concat home "package-1.0/todo-write-mcp")))
      (make-directory todo-write-module-directory)
      (copy-file genuine program)
      (todo-write-setup-test-run "Codex")
      (let ((stable (car (todo-write-mcp-setup-server))))
        (should (equal stable (concat user-emacs-directory "todo-write-bin/todo-write-mcp")))
        (should (file-executable-p stable))
        (should (string-search stable (car kill-ring)))
        ;; An upgrade replaces it.
        (write-region "an older program" nil stable nil 'silent)
        (todo-write-setup-test-run "Codex")
        (should (equal todo-write-version (todo-write-module-file-version stable)))
        (should (equal '("todo-write-mcp")
                       (directory-files (file-name-directory stable) nil "[^.]")))))))

(ert-deftest todo-write-mcp-setup-asks-before-it-gets-the-program ()
  (let ((todo-write-mcp-program nil) (exec-path nil) (todo-write-module-directory "/nowhere/")
        (todo-write-module-lisp "/nowhere/") asked)
    (cl-letf (((symbol-function 'todo-write-module--can-ask-p) #'always)
              ((symbol-function 'y-or-n-p) (lambda (question) (push question asked) nil))
              ((symbol-function 'todo-write-module--ways)
               (lambda (_name) '((build . "Build it now, with cargo")))))
      (should-error (todo-write-mcp-setup "Codex") :type 'todo-write-error)
      (should (equal asked '("The program todo-write-mcp is missing.  Build it now, with cargo? "))))))

(ert-deftest todo-write-mcp-setup-names-a-program-that-cannot-be-run ()
  (let ((todo-write-mcp-program "/nowhere/todo-write-mcp"))
    (should-error (todo-write-mcp-setup "Codex") :type 'user-error)))

(ert-deftest todo-write-mcp-setup-the-doctor-names-what-is-missing ()
  (let ((todo-write-mcp-program "/nowhere/todo-write-mcp"))
    (should (string-match-p "todo-write-mcp is missing\n.*todo-write-mcp-setup"
                            (todo-write-doctor--text))))
  (let ((todo-write-mcp-program (executable-find "true")))
    (should (string-match-p "MCP: off.*\n.*todo-write-mcp-mode" (todo-write-doctor--text)))))

(ert-deftest todo-write-mcp-setup-the-doctor-says-which-installed-agents-have-the-tool ()
  (todo-write-with-setup
    (let* ((home (file-name-as-directory (make-temp-file "todo-write-home" t)))
           (exec-path (list home))
           (process-environment (append (list (concat "HOME=" home) "CODEX_HOME" "CLAUDE_CONFIG_DIR")
                                        process-environment)))
      (unwind-protect
          (progn
            (dolist (command '("codex" "goose" "gemini"))
              (copy-file "/bin/true" (concat home command)))
            (make-directory (concat home ".codex"))
            (write-region "[mcp_servers.todo-write]\n" nil (concat home ".codex/config.toml") nil 'silent)
            (should (equal '((ok "Codex: has the tool todo_write")
                             (note "Gemini CLI: installed, but without the tool todo_write"
                                   "M-x todo-write-mcp-setup RET Gemini CLI")
                             (note "Goose: installed; look whether it has the tool todo_write"
                                   "M-x todo-write-mcp-setup RET Goose"))
                           (todo-write-mcp-setup-agent-findings))))
        (delete-directory home t)))))

(ert-deftest todo-write-mcp-setup-names-the-socket-only-if-the-user-changed-it ()
  (todo-write-with-setup
    (should (equal (todo-write-mcp-setup-server)
                   (list todo-write-mcp-program "--socket" todo-write-socket)))
    (let ((todo-write-socket nil))
      (should (equal (todo-write-mcp-setup-server) (list todo-write-mcp-program))))))

(ert-deftest todo-write-mcp-setup-the-doctor-says-that-a-program-must-be-set-up-again ()
  (todo-write-with-setup
    (let ((todo-write-socket-outdated-programs '("was set up by an earlier version")))
      (should (string-match-p "set up by an earlier version\n.*todo-write-mcp-setup"
                              (todo-write-doctor--text))))))

(ert-deftest todo-write-mcp-setup-ends-where-the-socket-is-refused ()
  (todo-write-with-setup
    (todo-write-mcp-mode -1)
    (set-file-modes (file-name-directory todo-write-socket) #o755)
    (let ((warnings (todo-write-test-warnings
                      (should (string-match-p
                               "no agent could reach this Emacs"
                               (cadr (should-error (todo-write-mcp-setup "Claude Code")
                                                   :type 'user-error)))))))
      (should (string-match-p "must be yours alone" (car warnings))))
    (should-not todo-write-mcp-mode)
    (should-not kill-ring)
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
                  "-Q" "--batch" "-L" todo-write-module-lisp "-l" "todo-write-mcp"
                  "--eval" (format "(setq todo-write-socket %S)" (todo-write-socket-test-file))
                  "-l" file "--eval" "(princ (todo-write-socket-state))")
    (string-suffix-p "open" (buffer-string))))

(ert-deftest todo-write-mcp-setup-keeps-the-mode-on-if-the-button-is-pressed ()
  (todo-write-with-setup
    (todo-write-mcp-setup-tests--with-init-file
      (should-not (todo-write-mcp-setup-tests--on-later-p file))
      (let ((text (todo-write-setup-test-run "Claude Code")))
        (should (string-search "\n\n  (todo-write-mcp-mode)\n" text))
        (should (string-search "- keep `todo-write-mcp-mode' on in later sessions" text)))
      (should (equal "Keep it on in later sessions" (car (last (todo-write-setup-test-buttons)))))
      (let ((text (todo-write-setup-test-press "Keep it on")))
        (should (string-search "is on, as in later sessions" text))
        (should-not (string-search "[Keep" text)))
      (should (todo-write-mcp-setup-tests--on-later-p file)))))

(ert-deftest todo-write-mcp-setup-does-not-ask-if-the-init-file-has-the-mode ()
  (todo-write-with-setup
    (todo-write-mcp-setup-tests--with-init-file
      (write-region "(todo-write-mcp-mode)\n" nil file nil 'silent)
      (todo-write-setup-test-run "Codex")
      (should-not (todo-write-setup-test-buttons)))))

(ert-deftest todo-write-mcp-setup-the-doctor-says-that-the-mode-is-on-for-this-session-only ()
  (todo-write-with-setup
    (todo-write-mcp-setup-tests--with-init-file
      (cl-letf (((symbol-function 'todo-write-mcp-setup--check)
                 (lambda (_server) (format "todo-write, process %d, answered" (emacs-pid))))
                (noninteractive nil))
        (let ((text "on for this session only\n.*(todo-write-mcp-mode)"))
          (should (string-match-p text (todo-write-doctor--text)))
          (write-region "(todo-write-mcp-mode)\n" nil file nil 'silent)
          (should-not (string-match-p text (todo-write-doctor--text))))))))

(provide 'todo-write-mcp-setup-tests)
;;; todo-write-mcp-setup-tests.el ends here
