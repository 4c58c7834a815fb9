;;; todo-write-machines-setup.el --- Give agents on other machines the tool  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; M-x todo-write-mcp-setup in a folder of another machine shows the lines for that
;; machine: how to get the program there, and the agent's command.  It runs nothing there
;; but `uname' and `id', and the program's own setup.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'tramp)
(require 'todo-write-mcp-setup)
(require 'todo-write-machines)
(require 'todo-write-text)

(cl-defstruct (todo-write-machines-setup--there (:constructor todo-write-machines-setup--make-there)
                                              (:copier nil))
  "A machine as its own programs describe it.
NAME is that in `todo-write-machines'.  CONTAINER is the program that runs
commands in it, or nil for a host reached by ssh.  USER, HOST and PORT are
those of TRAMP.  SYSTEM is what `uname -sm' prints, and HOME the home
folder."
  name container user host port system home)

;;; The machine

(defun todo-write-machines-setup--look (name folder)
  "Return the machine NAME, on which FOLDER is, by asking it."
  (let* ((default-directory (concat (file-remote-p folder) "/"))
         (run (lambda (&rest command)
                (with-temp-buffer
                  (unless (eql 0 (apply #'process-file (car command) nil '(t nil) nil
                                        (cdr command)))
                    (user-error "%s does not run %s" name (car command)))
                  (string-trim (buffer-string))))))
    (todo-write-machines-setup--there name folder
                                    (funcall run "uname" "-sm")
                                    (funcall run "sh" "-c" "cd && pwd"))))

(defun todo-write-machines-setup--there (name folder system home)
  "Return the machine NAME of FOLDER, which reported SYSTEM and HOME.
Signal a `user-error' if no line for a shell can be made from these."
  (pcase-let (((cl-struct tramp-file-name method user host port hop)
               (tramp-dissect-file-name folder)))
    (let ((container (todo-write-machines-container-program method)))
      (when hop
        (user-error "%s is reached by way of another machine; run the setup in an Emacs there" name))
      (unless (or container (todo-write-machines-ssh-p method))
        (user-error "%s is reached by %s; lines are known for ssh, Docker and Podman only"
                    name method))
      ;; It becomes a part of lines that the user gives to a shell.
      (unless (let (case-fold-search)
                (string-match-p "\\`/[A-Za-z0-9/._@+-]*\\'" home))
        (user-error "The home folder on %s is named %s, which no line can hold safely"
                    name (todo-write-row-line home 60)))
      (todo-write-machines-setup--make-there
       :name name :container container :user user :host host :port port :home home
       :system (todo-write-row-line system 60)))))

(defun todo-write-machines-setup--name (folder)
  "Return the name of the machine of FOLDER, and add it to the option if it is new."
  (or (car (assoc (todo-write-machines-of folder) todo-write-machines))
      (let* ((prefix (file-remote-p folder))
             (host (replace-regexp-in-string "[^A-Za-z0-9._-]" "-"
                                             (file-remote-p folder 'host)))
             (name (read-string (format-prompt "Name of this machine in Emacs" host)
                                nil nil host)))
        (unless (todo-write-machines-name-p name)
          (user-error "A name has ASCII letters, digits, `.', `_' and `-'"))
        (when (assoc name todo-write-machines)
          (user-error "%s is the name of another machine" name))
        (let ((machines (append todo-write-machines (list (list name :prefix prefix)))))
          (if (and user-init-file
                   (y-or-n-p (format "Keep %s in `todo-write-machines' for later sessions? " name)))
              (customize-save-variable 'todo-write-machines machines)
            (setq todo-write-machines machines)))
        name)))

;;; The lines

(defun todo-write-machines-setup--folder (there)
  "Return the folder on the machine THERE for the program."
  (concat (string-remove-suffix "/" (todo-write-machines-setup--there-home there)) "/.todo-write"))

(defun todo-write-machines-setup--server (there)
  "Return the command of the MCP server on the machine THERE, a list."
  (list (concat (todo-write-machines-setup--folder there) "/bin/todo-write-mcp")))

(defun todo-write-machines-setup--ssh (there)
  "Return the beginning of a command line that runs a command on THERE."
  (pcase-let (((cl-struct todo-write-machines-setup--there container user host port) there))
    (mapconcat #'shell-quote-argument
               (append (if container (list container "exec" "-i") (list "ssh"))
                       (and port (list "-p" (format "%s" port)))
                       (and user (list (if container "-u" "-l") user))
                       (list host)
                       (and container '("sh" "-c")))
               " ")))

(defun todo-write-machines-setup--system ()
  "Return what `uname -sm' prints on this machine, or nil."
  ;; Not every system has that program.
  (ignore-errors (car (process-lines "uname" "-sm"))))

(defun todo-write-machines-setup--program-lines (there)
  "Return the lines that bring the program to the machine THERE."
  (let* ((ssh (todo-write-machines-setup--ssh there))
         (folder (todo-write-machines-setup--folder there))
         (program (todo-write-mcp-setup-program))
         (sources (or (todo-write-module-sources) "."))
         (same (equal (todo-write-machines-setup--there-system there)
                      (todo-write-machines-setup--system))))
    (concat
     (format "%s 'umask 077; mkdir -p %s/bin; chmod 700 %s'\n" ssh folder folder)
     (if (and same program)
         (format "%s 'cat >%s/bin/todo-write-mcp && chmod 700 %s/bin/todo-write-mcp' <%s\n"
                 ssh folder folder (shell-quote-argument program))
       (format "tar -C %s -cf - Cargo.toml Cargo.lock src mcp | %s 'mkdir -p %s/todo-write && tar -C %s/todo-write -xf -'
%s 'cargo install --path %s/todo-write/mcp --root %s'\n"
               (shell-quote-argument (directory-file-name (expand-file-name sources))) ssh
               folder folder ssh folder folder)))))

(defun todo-write-machines-setup-copy-line (name)
  "Return the line for a shell that copies the program to the machine NAME.
That must be of this kind.  Return nil if there is no program here."
  (when-let* ((program (todo-write-mcp-setup-program)))
    (format "%s 'umask 077; mkdir -p ~/.todo-write/bin && cat >~/.todo-write/bin/todo-write-mcp && chmod 700 ~/.todo-write/bin/todo-write-mcp' <%s"
            (todo-write-machines-setup--ssh
             (todo-write-machines-setup--there name (concat (todo-write-machines-prefix name) "/")
                                               "" "/"))
            (shell-quote-argument program))))

(defun todo-write-machines-setup--program-note (there)
  "Return what to say of the program on the machine THERE."
  (format "It is a machine of the kind %s, this one %s. %s"
          (todo-write-machines-setup--there-system there)
          (or (todo-write-machines-setup--system) "unknown")
          "Where cargo is missing there, take the file
todo-write-mcp for its kind from the release, and put it to the same place."))

;;; The command

(defun todo-write-machines-setup-run (agent &optional remove)
  "Show how AGENT gets the tool on the machine of the current folder.
AGENT and REMOVE are as in `todo-write-mcp-setup', which calls this."
  (let* ((folder default-directory)
         (name (todo-write-machines-setup--name folder)))
    (let* ((there (todo-write-machines-setup--look name folder))
           (server (todo-write-machines-setup--server there)))
      (todo-write-mcp-setup-show
       (and (file-executable-p (concat (file-remote-p folder) (car server)))
            `(,(car server) "setup" ,agent ,@(and remove '("--remove")) ,@(cdr server)))
       (unless remove (todo-write-machines-setup--sections there))))))

(defun todo-write-machines-setup--sections (there)
  "Return what to show about the way from THERE to this Emacs, lists (TITLE TEXT)."
  (let ((name (todo-write-machines-setup--there-name there)))
    `((,(format "Agents on %s" name)
       ,(format "Their calls reach this Emacs while it is connected: M-x todo-write-connect, or in your
init file\n\n  (todo-write-connect %S)" name))
      ("The program: run these here, in a shell, then M-x todo-write-mcp-setup again"
       ,(concat (todo-write-machines-setup--program-lines there) "\n"
                (todo-write-machines-setup--program-note there))))))

(provide 'todo-write-machines-setup)
;;; todo-write-machines-setup.el ends here
