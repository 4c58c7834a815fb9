;;; todo-write-mcp-setup-tests.el --- Tests of giving agents the tool  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests check the page of `todo-write-setup', with the genuine program, and
;; what the doctor reports of it.  agents/test/setup.rs checks what the program does for
;; each agent; test/hosts/mcp.sh sets genuine agents up.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-get)
(require 'todo-write-doctor)
(require 'todo-write-mcp-setup)
(require 'todo-write-setup-helper)
(require 'tramp)

(ert-deftest todo-write-mcp-setup-shows-which-agents-are-here-and-what-each-would-get ()
  (todo-write-with-setup
    (todo-write-setup-test-write "bin/claude" todo-write-setup-test-claude #o755)
    (let ((text (todo-write-setup-test-run)))
      (should (string-match-p "^Claude Code\nthe plugin: .*\n\n  write .*\n  claude plugin marketplace add "
                              text))
      (should (string-search (concat "  claude mcp add --scope user todo-write -- " todo-write-mcp-program
                                     " --socket " todo-write-socket "\n")
                             text))
      (should (string-match-p "^Codex: not installed here$" text))
      (should (string-search "text for its settings" text)))
    (should (equal '("Set it up" "Set it up" "Show the text") (todo-write-setup-test-buttons)))
    (todo-write-test-wait (lambda () (eq (todo-write-socket-state) 'open)))
    (with-current-buffer "*todo-write MCP*"
      (should (bobp))
      (should (eq 'forward-button (key-binding (kbd "TAB"))))
      (forward-button 1)
      (should (eq 'push-button (key-binding (kbd "RET")))))
    ;; Nothing was done.
    (should (equal "" (todo-write-setup-test-read "log")))
    (should (equal '("bin") (directory-files home nil "\\`[^.]")))))

(ert-deftest todo-write-mcp-setup-does-not-say-that-it-works-if-the-program-cannot-run ()
  (todo-write-with-setup
    (todo-write-setup-test-run)
    (with-current-buffer "*todo-write MCP*"
      (cl-letf (((symbol-function 'make-process) (lambda (&rest _) (error "No pipe"))))
        (should-error (todo-write-mcp-setup--run "other")))
      (should-not mode-line-process))))

(ert-deftest todo-write-mcp-setup-sets-an-agent-up-and-takes-it-back-if-its-buttons-are-pressed ()
  (todo-write-with-setup
    (todo-write-setup-test-write "bin/claude" todo-write-setup-test-claude #o755)
    (todo-write-setup-test-run)
    (should-not (todo-write-mcp-setup-plugin-p))
    (let ((text (todo-write-setup-test-press "Claude Code" "Set it up")))
      (should (string-match-p "^the plugin: .*\n\nIt has this\\.$" text))
      (should (string-search "$ claude plugin install todo-write@todo-write\nDone it.\n" text))
      (should (string-search "mcp__plugin_todo-write_todo-write__todo_write" text)))
    (should (todo-write-mcp-setup-plugin-p))
    (should (equal '("Set it up again" "Take it away" "Set it up" "Show the text")
                   (todo-write-setup-test-buttons)))
    (let ((text (todo-write-setup-test-press "Claude Code" "Take it away")))
      (should-not (string-search "It has this." text))
      (should (string-search "Claude Code no longer has it." text)))
    (should-not (todo-write-mcp-setup-plugin-p))
    (should-not (file-exists-p (concat home ".local/share/todo-write/claude")))))

(ert-deftest todo-write-mcp-setup-says-what-a-command-that-fails-says ()
  (todo-write-with-setup
    (todo-write-setup-test-write "bin/codex" "#!/bin/sh\necho No such thing.\nexit 3\n" #o755)
    (todo-write-setup-test-run)
    (let ((text (todo-write-setup-test-press "Codex" "Set it up")))
      (should (string-search "\nNo such thing.\n" text))
      (should (string-match-p "`codex mcp add .*' failed: exit status: 3" text)))))

(ert-deftest todo-write-mcp-setup-names-a-program-that-is-older ()
  (todo-write-with-setup
    (todo-write-setup-test-write "old" "#!/bin/sh\necho what\n" #o755)
    (let ((todo-write-mcp-program "~/old"))
      (should (string-search "old is older than this package" (todo-write-setup-test-run))))))

(ert-deftest todo-write-mcp-setup-shows-no-control-characters-of-a-program ()
  (todo-write-with-setup
    (todo-write-setup-test-write
     "evil" "#!/bin/sh
echo '[{\"id\": \"x\", \"agent\": \"a\\u202eb\", \"here\": true, \"installed\": null,
  \"gives\": \"c\\u001bd\", \"by\": [\"e\\u0007f\"]}]'\n" #o755)
    (let* ((todo-write-mcp-program "~/evil")
           (text (todo-write-setup-test-run)))
      (dolist (part '("a\\u202eb" "c\\u001bd" "e\\u0007f"))
        (should (string-search part text))))))

;;; Another machine

(ert-deftest todo-write-mcp-setup-each-method-of-a-machine-has-its-command ()
  (todo-write-with-setup
    (let ((tramp-methods (append '(("docker") ("dockercp") ("podman")) tramp-methods)))
      (pcase-dolist (`(,prefix ,command) '(("/ssh:me@build#2222:" "ssh -l me -p 2222 -- build '")
                                           ("/dockercp:root@dev:" "docker exec -i -u root dev sh -c '")
                                           ("/podman:dev:" "podman exec -i dev sh -c '")
                                           ("/rsync:dev:" "ssh -- dev '")))
        (should (string-match-p (concat "^  " (regexp-quote command) ".*' <"
                                        (regexp-quote todo-write-mcp-program) "$")
                                (todo-write-mcp-setup-missing prefix)))
        (let ((todo-write-mcp-program "~/nothing"))
          (should-not (string-search command (todo-write-mcp-setup-missing prefix))))))))

(ert-deftest todo-write-mcp-setup-does-one-thing-at-a-time ()
  (todo-write-with-setup
    (todo-write-setup-test-write
     "bin/codex" "#!/bin/sh\nwhile test ! -e ~/go; do sleep 0.05; done\n" #o755)
    (todo-write-setup-test-run)
    (with-current-buffer "*todo-write MCP*"
      (goto-char (point-min))
      (search-forward "[Set it up]")
      (push-button (match-beginning 0))
      (should-error (push-button (match-beginning 0)) :type 'user-error))
    (should-error (todo-write-setup) :type 'user-error)
    (todo-write-setup-test-write "go" "")
    (todo-write-setup-test-page)))

(ert-deftest todo-write-mcp-setup-copies-the-program-to-a-folder-that-stays ()
  (todo-write-with-setup
    (let* ((genuine todo-write-mcp-program)
           (todo-write-mcp-program nil)
           (todo-write-module-directory (concat home "package-1.0"))
           (stable (concat user-emacs-directory "todo-write-bin/todo-write-mcp")))
      (make-directory todo-write-module-directory)
      (copy-file genuine (concat home "package-1.0/todo-write-mcp"))
      (todo-write-setup-test-write "bin/codex" "#!/bin/sh\necho \"$@\" >>~/log\n" #o755)
      (todo-write-setup-test-run)
      ;; The second time, as after an upgrade.
      (dolist (present '(nil "an older program"))
        (when present (write-region present nil stable nil 'silent))
        (todo-write-setup-test-press "Codex" "Set it up")
        (should (file-executable-p stable))
        (should (string-search (concat "-- " stable) (todo-write-setup-test-read "log")))
        (should (equal todo-write-version (todo-write-module-file-version stable))))
      (delete-file stable)
      (should (string-search (concat "\"command\": \"" stable)
                             (todo-write-setup-test-press "Any other agent" "Show the text")))
      (should (equal '("todo-write-mcp")
                     (directory-files (file-name-directory stable) nil "[^.]"))))))

(ert-deftest todo-write-mcp-setup-asks-before-it-gets-the-program ()
  (let ((todo-write-mcp-program nil) (exec-path nil) (todo-write-module-directory "/nowhere/")
        (todo-write-module-lisp "/nowhere/") asked)
    (cl-letf (((symbol-function 'todo-write-get--can-ask-p) #'always)
              ((symbol-function 'y-or-n-p) (lambda (question) (push question asked) nil))
              ((symbol-function 'todo-write-get--ways)
               (lambda (_name) '((build . "Build it now, with cargo")))))
      (should-error (todo-write-setup) :type 'todo-write-error)
      (should (equal asked '("The program todo-write-mcp is missing.  Build it now, with cargo? "))))))

(ert-deftest todo-write-mcp-setup-names-a-program-that-cannot-be-run ()
  (let ((todo-write-mcp-program "/nowhere/todo-write-mcp"))
    (should-error (todo-write-setup) :type 'todo-write-error)))

(ert-deftest todo-write-mcp-setup-the-doctor-names-what-is-missing ()
  (let ((todo-write-mcp-program "/nowhere/todo-write-mcp"))
    (should (string-match-p "\\* The program todo-write-mcp\n.*Missing.*\n.*todo-write-setup"
                            (todo-write-doctor--text))))
  (let ((todo-write-mcp-program (executable-find "true")))
    (should (string-match-p "Off, so .*\n.*todo-write-agents-mode" (todo-write-doctor--text)))))

(ert-deftest todo-write-mcp-setup-the-doctor-says-which-installed-agents-have-the-tool ()
  (todo-write-with-setup
    (dolist (command '("claude" "codex" "gemini" "copilot"))
      (todo-write-setup-test-write (concat "bin/" command) todo-write-setup-test-claude #o755))
    (todo-write-setup-test-run)
    (todo-write-setup-test-press "Claude Code" "Set it up")
    (todo-write-setup-test-write ".codex/config.toml" "[mcp_servers.todo-write]\n")
    (todo-write-setup-test-write "old" "todo-write-mcp version 0.0.9;")
    (todo-write-setup-test-write
     ".copilot/mcp-config.json"
     (format "{\"mcpServers\": {\"todo-write\": {\"command\": \"%sold\"}}}" home))
    (let ((findings (todo-write-mcp-setup-findings)))
      (should (equal '((ok "Claude Code: is set up")
                       (problem "Codex: its todo-write-mcp is missing" "M-x todo-write-setup")
                       (note "Gemini CLI: not set up" "M-x todo-write-setup")
                       (problem "Copilot CLI: its todo-write-mcp is version 0.0.9"
                                "M-x todo-write-setup"))
                     findings)))))

(ert-deftest todo-write-mcp-setup-the-doctor-says-that-a-program-must-be-set-up-again ()
  (todo-write-with-setup
    (let ((todo-write-socket-outdated-programs '("is not of the same version as todo-write")))
      (should (string-match-p "same version as todo-write\n.*todo-write-setup"
                              (todo-write-doctor--text))))))

(ert-deftest todo-write-mcp-setup-ends-where-the-socket-is-refused ()
  (todo-write-with-setup
    (todo-write-agents-mode -1)
    (set-file-modes (file-name-directory todo-write-socket) #o755)
    (let ((warnings (todo-write-test-warnings
                      (should (string-match-p
                               "no agent could reach this Emacs"
                               (cadr (should-error (todo-write-setup)
                                                   :type 'user-error)))))))
      (should (string-match-p "must be yours alone" (car warnings))))
    (should-not (get-buffer "*todo-write MCP*"))))

;;; Later sessions

(defmacro todo-write-mcp-setup-tests--with-init-file (&rest body)
  "Evaluate BODY with an empty init file, FILE, where customizations are saved, too."
  (declare (indent 0) (debug t))
  `(let* ((home (file-name-as-directory (make-temp-file "todo-write-home" t)))
          (process-environment (cons (concat "HOME=" home) process-environment))
          (file (concat home "init.el"))
          (user-init-file file) (custom-file file)
          ;; What the init file does, no command does.
          (this-command nil)
          (saved (get 'todo-write-agents-mode 'saved-value)))
     (put 'todo-write-agents-mode 'saved-value nil)
     (write-region "" nil file nil 'silent)
     (unwind-protect (progn ,@body)
       (put 'todo-write-agents-mode 'saved-value saved)
         (delete-directory home t))))

(defun todo-write-mcp-setup-tests--on-later-p (file)
  "Return non-nil if the mode is on in a new Emacs with the init file FILE."
  (with-temp-buffer
    (call-process (expand-file-name invocation-name invocation-directory) nil t nil
                  "-Q" "--batch" "-L" todo-write-module-lisp "-l" "todo-write-mcp"
                  "--eval" (format "(setq todo-write-socket %S)" (todo-write-socket-test-file))
                  "-l" file "--eval"
                  "(progn (when todo-write-agents-mode
                            (while (not (todo-write-socket-state)) (accept-process-output nil 0.01)))
                          (princ (todo-write-socket-state)))")
    (string-suffix-p "open" (buffer-string))))

(ert-deftest todo-write-mcp-setup-a-mode-that-an-earlier-version-saved-is-on-later ()
  (todo-write-with-setup
    (todo-write-mcp-setup-tests--with-init-file
      (write-region "(custom-set-variables '(todo-write-mcp-mode t nil (todo-write-mcp)))\n"
                    nil file nil 'silent)
      (should (todo-write-mcp-setup-tests--on-later-p file))
      (write-region "(todo-write-mcp-mode)\n" nil file nil 'silent)
      (should (todo-write-mcp-setup-tests--on-later-p file)))))

(provide 'todo-write-mcp-setup-tests)
;;; todo-write-mcp-setup-tests.el ends here
