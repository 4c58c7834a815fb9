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
         ;; Emacs 28 gets the methods of containers from packages.
         (tramp-methods (append '(("docker") ("dockercp") ("podman") ("kubernetes"))
                                tramp-methods))
         (todo-write-mcp-program (executable-find "true"))
         (user-emacs-directory (file-name-as-directory (make-temp-file "emacs d" t))))
     (todo-write-with-socket
       ,@body)))

(defun todo-write-remote-setup-tests--text (name &rest fields)
  "Return what the setup shows about the way from the machine NAME to this Emacs.
FIELDS may have the :system and :home that the machine tells."
  (mapconcat (lambda (section) (string-join section "\n"))
             (todo-write-remote-setup--sections
              (todo-write-remote-setup--there name (concat (todo-write-remote--prefix name) "/")
                                              (or (plist-get fields :system) "Plan9 mips")
                                              (or (plist-get fields :home) "/home/me")))
             "\n"))

(ert-deftest todo-write-remote-setup-a-machine-of-another-kind-builds-the-program ()
  (todo-write-remote-setup-tests--with '(("build" :prefix "/ssh:me@build#2222:"))
    (let ((text (todo-write-remote-setup-tests--text "build")))
      (should (string-search "cargo install --path /home/me/.todo-write/todo-write/mcp --root /home/me/.todo-write"
                             text))
      (should (string-match-p "^ssh -p 2222 -l me build " text))
      (should (string-search "do not reach this Emacs yet" text)))))

(ert-deftest todo-write-remote-setup-a-machine-of-this-kind-gets-this-program ()
  (todo-write-remote-setup-tests--with '(("build" :prefix "/ssh:build:"))
    (let ((text (todo-write-remote-setup-tests--text
                 "build" :system (car (process-lines "uname" "-sm")))))
      (should (string-search (concat "<" todo-write-mcp-program) text))
      (should-not (string-search "cargo install" text)))))

(ert-deftest todo-write-remote-setup-the-doctor-opens-no-connection ()
  (todo-write-remote-setup-tests--with '(("build" :prefix "/ssh:build.invalid:") ("bad" :prefix "x"))
    (should (equal '(note note) (mapcar #'car (todo-write-remote-setup--findings))))
    (should (assoc "Machines" (todo-write-doctor--findings)))))

(ert-deftest todo-write-remote-setup-each-method-has-its-program ()
  (todo-write-remote-setup-tests--with '(("docker" :prefix "/dockercp:root@dev:")
                                         ("podman" :prefix "/podman:dev:")
                                         ("rsync" :prefix "/rsync:dev:"))
    (pcase-dolist (`(,name ,exec)
                   '(("docker" "docker exec -i -u root dev ")
                     ("podman" "podman exec -i dev ")
                     ("rsync" "ssh dev ")))
      (should (string-search (concat "\n" exec) (todo-write-remote-setup-tests--text name))))))

(ert-deftest todo-write-remote-setup-other-methods-are-refused ()
  (todo-write-remote-setup-tests--with '(("pod" :prefix "/kubernetes:pod:"))
    (should-error (todo-write-remote-setup-tests--text "pod") :type 'user-error)))

(ert-deftest todo-write-remote-setup-gives-no-lines-for-a-machine-behind-another ()
  ;; They would lead to the machine of that name that is reached from here.
  (dolist (prefix '("/ssh:gate|ssh:build:" "/ssh:gate|docker:dev:"))
    (todo-write-remote-setup-tests--with `(("behind" :prefix ,prefix))
      (should-error (todo-write-remote-setup-tests--text "behind") :type 'user-error))))

(ert-deftest todo-write-remote-setup-a-machine-puts-nothing-into-the-lines-for-the-shell ()
  (todo-write-remote-setup-tests--with '(("build" :prefix "/ssh:build:"))
    (dolist (home '("/home/me'; touch /tmp/evil; '" "/home/$(id)" "/home/me\n  ProxyCommand id"
                    "/home/me ~/.ssh" "home/me" "" "/home/m\u202ee"))
      (should-error (todo-write-remote-setup-tests--text "build" :home home)
                    :type 'user-error))
    (let ((text (todo-write-remote-setup-tests--text
                 "build" :system "Linux\n\nrm -rf ~\u202e")))
      (should-not (string-match-p "^rm" text))
      (should-not (string-search "\u202e" text)))))

(provide 'todo-write-remote-setup-tests)
;;; todo-write-remote-setup-tests.el ends here
