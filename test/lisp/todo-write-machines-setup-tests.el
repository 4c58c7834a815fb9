;;; todo-write-machines-setup-tests.el --- What other machines need  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests check the lines that the setup shows for a machine.  test/hosts/remote.sh
;; runs them on a genuine one.

;;; Code:

(require 'ert)
(require 'todo-write-doctor)
(require 'todo-write-machines-setup)
(require 'todo-write-socket-helper)

(defmacro todo-write-machines-setup-tests--with (remotes &rest body)
  "Evaluate BODY with the machines REMOTES and the program /bin/true."
  (declare (indent 1) (debug t))
  `(let ((todo-write-machines ,remotes)
         ;; Emacs 28 gets the methods of containers from packages.
         (tramp-methods (append '(("docker") ("dockercp") ("podman") ("kubernetes"))
                                tramp-methods))
         (todo-write-mcp-program (executable-find "true"))
         (user-emacs-directory (file-name-as-directory (make-temp-file "emacs d" t))))
     (todo-write-with-socket
       ,@body)))

(defun todo-write-machines-setup-tests--text (name &rest fields)
  "Return what the setup shows about the way from the machine NAME to this Emacs.
FIELDS may have the :system and :home that the machine tells."
  (mapconcat (lambda (section) (string-join section "\n"))
             (todo-write-machines-setup--sections
              (todo-write-machines-setup--there name (concat (todo-write-machines-prefix name) "/")
                                              (or (plist-get fields :system) "Plan9 mips")
                                              (or (plist-get fields :home) "/home/me")))
             "\n"))

(ert-deftest todo-write-machines-setup-a-machine-of-another-kind-builds-the-program ()
  (todo-write-machines-setup-tests--with '(("build" :prefix "/ssh:me@build#2222:"))
    (let ((text (todo-write-machines-setup-tests--text "build")))
      (should (string-search "cargo install --path /home/me/.todo-write/todo-write/mcp --root /home/me/.todo-write"
                             text))
      (should (string-match-p "^ssh -p 2222 -l me build " text))
      (should (string-search "(todo-write-connect \"build\")" text)))))

(ert-deftest todo-write-machines-setup-a-machine-of-this-kind-gets-this-program ()
  (todo-write-machines-setup-tests--with '(("build" :prefix "/ssh:build:"))
    (let ((text (todo-write-machines-setup-tests--text
                 "build" :system (car (process-lines "uname" "-sm")))))
      (should (string-search (concat "<" todo-write-mcp-program) text))
      (should-not (string-search "cargo install" text)))))

(ert-deftest todo-write-machines-setup-each-method-has-its-program ()
  (todo-write-machines-setup-tests--with '(("docker" :prefix "/dockercp:root@dev:")
                                         ("podman" :prefix "/podman:dev:")
                                         ("rsync" :prefix "/rsync:dev:"))
    (pcase-dolist (`(,name ,exec)
                   '(("docker" "docker exec -i -u root dev sh -c ")
                     ("podman" "podman exec -i dev sh -c ")
                     ("rsync" "ssh dev ")))
      (should (string-search (concat "\n" exec) (todo-write-machines-setup-tests--text name))))))

(ert-deftest todo-write-machines-setup-other-methods-are-refused ()
  (todo-write-machines-setup-tests--with '(("pod" :prefix "/kubernetes:pod:"))
    (should-error (todo-write-machines-setup-tests--text "pod") :type 'user-error)))

(ert-deftest todo-write-machines-setup-gives-no-lines-for-a-machine-behind-another ()
  ;; They would lead to the machine of that name that is reached from here.
  (dolist (prefix '("/ssh:gate|ssh:build:" "/ssh:gate|docker:dev:"))
    (todo-write-machines-setup-tests--with `(("behind" :prefix ,prefix))
      (should-error (todo-write-machines-setup-tests--text "behind") :type 'user-error))))

(ert-deftest todo-write-machines-setup-a-machine-puts-nothing-into-the-lines-for-the-shell ()
  (todo-write-machines-setup-tests--with '(("build" :prefix "/ssh:build:"))
    (dolist (home '("/home/me'; touch /tmp/evil; '" "/home/$(id)" "/home/me\n  ProxyCommand id"
                    "/home/me ~/.ssh" "home/me" "" "/home/m\u202ee"))
      (should-error (todo-write-machines-setup-tests--text "build" :home home)
                    :type 'user-error))
    (let ((text (todo-write-machines-setup-tests--text
                 "build" :system "Linux\n\nrm -rf ~\u202e")))
      (should-not (string-match-p "^rm" text))
      (should-not (string-search "\u202e" text)))))

(provide 'todo-write-machines-setup-tests)
;;; todo-write-machines-setup-tests.el ends here
