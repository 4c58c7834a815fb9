;;; todo-write-remote-setup-tests.el --- What other machines need  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests check the lines that the setup shows for a machine.  test/hosts/remote.sh
;; runs them on a genuine one.

;;; Code:

(require 'ert)
(require 'todo-write-doctor)
(require 'todo-write-remote-setup)
(require 'todo-write-socket-helper)

(defmacro todo-write-remote-setup-tests--with (remotes &rest body)
  "Evaluate BODY with the machines REMOTES and the program /bin/true."
  (declare (indent 1) (debug t))
  `(let ((todo-write-remotes ,remotes)
         (todo-write-mcp-program (executable-find "true"))
         (user-emacs-directory (file-name-as-directory (make-temp-file "emacs d" t)))
         (kill-ring nil) (interprogram-cut-function nil))
     (todo-write-with-socket
       (unwind-protect (progn ,@body)
         (when (get-buffer "*todo-write MCP*") (kill-buffer "*todo-write MCP*"))))))

(defun todo-write-remote-setup-tests--text (agent name &rest fields)
  "Return what the setup shows for AGENT on the machine NAME with FIELDS."
  (todo-write-remote-setup--show
   agent (apply #'todo-write-remote-setup--make-there
                :name name (append fields '(:method "ssh" :target "me@build" :home "/home/me"
                                            :system "Plan9 mips"))))
  (with-current-buffer "*todo-write MCP*" (buffer-string)))

(ert-deftest todo-write-remote-setup-a-host-by-ssh-gets-a-tunnel-of-another-name-each-time ()
  (todo-write-remote-setup-tests--with '(("build" :prefix "/ssh:me@build#2222:"))
    (let ((text (todo-write-remote-setup-tests--text "Claude Code" "build" :port 2222)))
      (should (string-match-p
               (concat "^ssh -p 2222 me@build -R /home/me/\\.todo-write/[A-Za-z0-9._-]+-\\$(date \\+%s)\\.socket:"
                       (regexp-quote (todo-write-remote-socket--file "build")) "$")
               text))
      (should (string-search "StreamLocalBindUnlink yes" text))
      ;; It is of another kind than this one.
      (should (string-search "cargo install --path /home/me/.todo-write/mcp --root /home/me/.todo-write"
                             text))
      (should (equal "claude mcp add --scope user todo-write -- /home/me/.todo-write/bin/todo-write-mcp"
                     (car kill-ring)))
      (should (string-search "/home/me/.todo-write/bin/todo-write-mcp permission" text)))))

(ert-deftest todo-write-remote-setup-a-machine-of-this-kind-gets-this-program ()
  (todo-write-remote-setup-tests--with '(("build" :prefix "/ssh:build:"))
    (let ((text (todo-write-remote-setup-tests--text
                 "opencode" "build" :system (car (process-lines "uname" "-sm")))))
      (should (string-search (concat "<" todo-write-mcp-program) text))
      (should-not (string-search "cargo install" text))
      (should (string-search "/home/me/.todo-write/bin/todo-write-mcp" (car kill-ring))))))

(ert-deftest todo-write-remote-setup-a-container-mounts-the-folder-of-its-socket ()
  (todo-write-remote-setup-tests--with '(("dev" :prefix "/docker:dev:"))
    (let ((text (todo-write-remote-setup-tests--text "Codex" "dev" :method "docker" :target "dev"))
          (folder (directory-file-name (file-name-directory (todo-write-remote-socket--file "dev")))))
      (should (string-search (format "docker run --user %d -v %s:/run/todo-write" (user-uid) folder)
                             text))
      (should (string-search (format "source=%s,target=/run/todo-write,type=bind" folder) text))
      (should (string-suffix-p "todo-write-mcp --socket /run/todo-write/socket" (car kill-ring))))))

(ert-deftest todo-write-remote-setup-a-port-needs-the-token-there ()
  (todo-write-remote-setup-tests--with
      (let ((process (make-network-process :name "free" :server t :service t :noquery t
                                           :family 'ipv4 :host "127.0.0.1")))
        (prog1 `(("old" :prefix "/ssh:old:" :port ,(process-contact process :service)))
          (delete-process process)))
    (let* ((port (todo-write-remote--get "old" :port))
           (text (todo-write-remote-setup-tests--text "Codex" "old")))
      (should (string-search (format "RemoteForward 127.0.0.1:%d 127.0.0.1:%d" port port) text))
      (should (string-search (format "cat >/home/me/.todo-write/%d.token" port) text))
      ;; The token itself is not shown.
      (should-not (string-search (todo-write-remote-socket--token "old") text)))))

(ert-deftest todo-write-remote-setup-the-doctor-opens-no-connection ()
  (todo-write-remote-setup-tests--with '(("build" :prefix "/ssh:build.invalid:") ("bad" :prefix "x"))
    (should (equal '(note problem)
                   (mapcar #'car (todo-write-remote-setup--findings))))
    (should (assoc "Machines" (todo-write-doctor--findings)))
    (todo-write-mcp-mode -1)
    (should (equal '(note note) (mapcar #'car (todo-write-remote-setup--findings))))))

(provide 'todo-write-remote-setup-tests)
;;; todo-write-remote-setup-tests.el ends here
