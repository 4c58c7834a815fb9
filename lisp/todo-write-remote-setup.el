;;; todo-write-remote-setup.el --- Give agents on other machines the tool  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; M-x todo-write-mcp-setup in a folder of another machine shows the lines for that
;; machine: how to get the program there, the tunnel or the mount by which it reaches
;; this Emacs, and the agent's command.  It runs nothing there but `uname' and `id'.
;;
;; OpenSSH's server keeps the socket that it forwarded when a connection ends, even at
;; its ordinary end, and then cannot bind the same name, unless its own settings have
;; StreamLocalBindUnlink.  So the tunnel has another name in each connection; the
;; program takes the newest one, and deletes those that are dead.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'tramp)
(require 'todo-write-mcp)
(require 'todo-write-mcp-setup)
(require 'todo-write-remote)
(require 'todo-write-remote-socket)
(require 'todo-write-row)
(require 'todo-write-socket)

(cl-defstruct (todo-write-remote-setup--there (:constructor todo-write-remote-setup--make-there)
                                              (:copier nil))
  "A machine as its own programs describe it.
NAME is that in `todo-write-remotes'.  CONTAINER is the program that runs
commands in it, or nil for a host reached by ssh.  USER, HOST and PORT are
those of TRAMP.  SYSTEM is what `uname -sm' prints, and HOME the home
folder."
  name container user host port system home)

;;; The machine

(defun todo-write-remote-setup--look (name folder)
  "Return the machine NAME, on which FOLDER is, by asking it."
  (let* ((default-directory (concat (file-remote-p folder) "/"))
         (run (lambda (&rest command)
                (with-temp-buffer
                  (unless (eql 0 (apply #'process-file (car command) nil '(t nil) nil
                                        (cdr command)))
                    (user-error "%s does not run %s" name (car command)))
                  (string-trim (buffer-string))))))
    (todo-write-remote-setup--there name folder
                                    (funcall run "uname" "-sm")
                                    (funcall run "sh" "-c" "cd && pwd"))))

(defun todo-write-remote-setup--there (name folder system home)
  "Return the machine NAME of FOLDER, which reported SYSTEM and HOME.
Signal a `user-error' if no line for a shell can be made from these."
  (pcase-let (((cl-struct tramp-file-name method user host port hop)
               (tramp-dissect-file-name folder)))
    (let ((container (todo-write-remote--container-program method)))
      (when hop
        (user-error "%s is reached by way of another machine; run the setup in an Emacs there" name))
      (unless (or container (todo-write-remote--ssh-p method))
        (user-error "%s is reached by %s; lines are known for ssh, Docker and Podman only"
                    name method))
      ;; It becomes a part of lines that the user gives to a shell.
      (unless (let (case-fold-search)
                (string-match-p "\\`/[A-Za-z0-9/._@+-]*\\'" home))
        (user-error "The home folder on %s is named %s, which no line can hold safely"
                    name (todo-write-row-line home 60)))
      (todo-write-remote-setup--make-there
       :name name :container container :user user :host host :port port :home home
       :system (todo-write-row-line system 60)))))

(defun todo-write-remote-setup--name (folder)
  "Return the name of the machine of FOLDER, and add it to the option if it is new."
  (or (todo-write-remote--of folder)
      (let* ((prefix (file-remote-p folder))
             (host (replace-regexp-in-string "[^A-Za-z0-9._-]" "-"
                                             (file-remote-p folder 'host)))
             (name (read-string (format-prompt "Name of this machine in Emacs" host)
                                nil nil host)))
        (unless (todo-write-remote--name-p name)
          (user-error "A name has ASCII letters, digits, `.', `_' and `-'"))
        (when (assoc name todo-write-remotes)
          (user-error "%s is the name of another machine" name))
        (let ((remotes (append todo-write-remotes (list (list name :prefix prefix)))))
          (if (and user-init-file
                   (y-or-n-p (format "Keep %s in `todo-write-remotes' for later sessions? " name)))
              (customize-save-variable 'todo-write-remotes remotes)
            (setq todo-write-remotes remotes)))
        name)))

(defun todo-write-remote-setup--listen (name)
  "Let this Emacs accept connections from the machine NAME."
  (unless (eq 'open (todo-write-socket--state))
    (todo-write-mcp-mode))
  (when (eq 'client (todo-write-socket--state))
    (user-error "Agents reach another Emacs; set it up there"))
  (unless (todo-write-remote-socket--open-p name)
    (todo-write-mcp-mode -1)
    (todo-write-mcp-mode))
  (unless (todo-write-remote-socket--open-p name)
    (user-error "This Emacs does not listen to %s; see the warning" name)))

;;; The lines

(defun todo-write-remote-setup--folder (there)
  "Return the folder on the machine THERE for the program and the tunnels."
  (concat (string-remove-suffix "/" (todo-write-remote-setup--there-home there)) "/.todo-write"))

(defun todo-write-remote-setup--server (there)
  "Return the command of the MCP server on the machine THERE, a list.
It needs no options, but in a container."
  (cons (concat (todo-write-remote-setup--folder there) "/bin/todo-write-mcp")
        (and (todo-write-remote-setup--there-container there)
             '("--socket" "/run/todo-write/socket"))))

(defun todo-write-remote-setup--ssh (there)
  "Return the beginning of a command line that runs a command on THERE."
  (pcase-let (((cl-struct todo-write-remote-setup--there container user host port) there))
    (mapconcat #'shell-quote-argument
               (append (if container (list container "exec" "-i") (list "ssh"))
                       (and port (list "-p" (format "%s" port)))
                       (and user (list (if container "-u" "-l") user))
                       (list host))
               " ")))

(defun todo-write-remote-setup--program-lines (there)
  "Return the lines that bring the program to the machine THERE."
  (let* ((ssh (todo-write-remote-setup--ssh there))
         (folder (todo-write-remote-setup--folder there))
         (program (todo-write-mcp-setup--program))
         (sources (or (todo-write-module--sources) "."))
         (same (equal (todo-write-remote-setup--there-system there)
                      (ignore-errors (car (process-lines "uname" "-sm"))))))
    (concat
     (format "%s 'umask 077; mkdir -p %s/bin; chmod 700 %s'\n" ssh folder folder)
     (if (and same program)
         (format "%s 'cat >%s/bin/todo-write-mcp && chmod 700 %s/bin/todo-write-mcp' <%s\n"
                 ssh folder folder (shell-quote-argument program))
       (format "tar -C %s -cf - Cargo.toml Cargo.lock src mcp | %s 'mkdir -p %s/todo-write && tar -C %s/todo-write -xf -'
%s 'cargo install --path %s/todo-write/mcp --root %s'\n"
               (shell-quote-argument (directory-file-name (expand-file-name sources))) ssh
               folder folder ssh folder folder)))))

(defun todo-write-remote-setup--program-note (there)
  "Return what to say of the program on the machine THERE."
  (format "It is a machine of the kind %s, this one %s. %s"
          (todo-write-remote-setup--there-system there)
          (or (ignore-errors (car (process-lines "uname" "-sm"))) "unknown")
          "Where cargo is missing there, take the file
todo-write-mcp for its kind from the release, and put it to the same place."))

(defun todo-write-remote-setup--local-name ()
  "Return a name of this machine for its socket on another."
  (replace-regexp-in-string "[^A-Za-z0-9._-]" "-" (car (split-string (system-name) "\\."))))

(defun todo-write-remote-setup--tunnel-lines (there)
  "Return the lines of the tunnel from the machine THERE, each a part (TITLE TEXT)."
  (let* ((name (todo-write-remote-setup--there-name there))
         (socket (todo-write-remote-socket--file name))
         (port (todo-write-remote--get name :port))
         (folder (todo-write-remote-setup--folder there))
         (here (todo-write-remote-setup--local-name))
         (container (todo-write-remote-setup--there-container there))
         (ssh (todo-write-remote-setup--ssh there)))
    (cond
     ((and container (not socket))
      (user-error "A container reaches a socket, not a port"))
     (container
      (let ((mount (directory-file-name (file-name-directory socket))))
        `(("Mount the folder of its socket, as the user of this Emacs"
           ,(format "%s run --user %d -v %s:/run/todo-write …" container (user-uid)
                    (shell-quote-argument mount)))
          ("In a devcontainer.json"
           ,(format "\"mounts\": [\"source=%s,target=/run/todo-write,type=bind\"]" mount)))))
     (port
      `(("The token, once"
         ,(format "%s 'umask 077; cat >%s/%d.token' <%s" ssh folder port
                  (shell-quote-argument (todo-write-remote-socket--token-file name))))
        ("The tunnel, in ~/.ssh/config here"
         ,(format "Host %s\n  RemoteForward 127.0.0.1:%d 127.0.0.1:%d"
                  (todo-write-remote-setup--there-host there) port port))))
     (t
      `(("The tunnel, with another name in each connection"
         ,(format "%s -R %s/%s-$(date +%%s).socket:%s"
                  ssh folder here (shell-quote-argument socket)))
        ("Or, if the server's sshd_config has StreamLocalBindUnlink yes, in ~/.ssh/config here"
         ,(format "Host %s\n  RemoteForward %s/%s.socket %s"
                  (todo-write-remote-setup--there-host there) folder here socket)))))))

;;; The command

(defun todo-write-remote-setup--run (agent &optional remove)
  "Show how AGENT gets the tool on the machine of the current folder.
AGENT and REMOVE are as in `todo-write-mcp-setup', which calls this."
  (let* ((folder default-directory)
         (name (todo-write-remote-setup--name folder)))
    (todo-write-remote-setup--listen name)
    (let* ((there (todo-write-remote-setup--look name folder))
           (server (todo-write-remote-setup--server there)))
      (todo-write-mcp-setup--show
       (and (file-executable-p (concat (file-remote-p folder) (car server)))
            `(,(car server) "setup" ,agent ,@(and remove '("--remove")) ,@(cdr server)))
       (unless remove (todo-write-remote-setup--sections there))))))

(defun todo-write-remote-setup--sections (there)
  "Return what to show about the way from THERE to this Emacs, lists (TITLE TEXT)."
  (let ((name (todo-write-remote-setup--there-name there)))
    `((,(format "Agents on %s" name)
       ,(format "They reach this Emacs by %s.
M-x todo-write-doctor checks the way while a folder there is open.  A program that finds this way
can write and end plans and ask questions in the name of agents there, and nothing else."
                (or (todo-write-remote-socket--file name)
                    (format "port %d of 127.0.0.1" (todo-write-remote--get name :port)))))
      ("The program: run these here, in a shell, then M-x todo-write-mcp-setup again"
       ,(concat (todo-write-remote-setup--program-lines there) "\n"
                (todo-write-remote-setup--program-note there)))
      ,@(todo-write-remote-setup--tunnel-lines there))))

;;; For the doctor

(defun todo-write-remote-setup--findings ()
  "Return the doctor's findings about the machines in `todo-write-remotes'."
  (mapcar (lambda (remote) (todo-write-remote-setup--finding (car remote))) todo-write-remotes))

(defun todo-write-remote-setup--finding (name)
  "Return the doctor's finding about the machine NAME.
A machine without a connection is not asked."
  (let ((prefix (todo-write-remote--prefix name)))
    (cond
     ((not (eq 'open (todo-write-socket--state)))
      (list 'note (format "%s: off, so that no agent there reaches this Emacs" name)
            "M-x todo-write-mcp-mode"))
     ((not (todo-write-remote-socket--open-p name))
      (list 'problem (format "%s: this Emacs does not listen to it" name)
            "Correct todo-write-remotes, then switch todo-write-mcp-mode off and on"))
     ((not (file-remote-p prefix nil t))
      (list 'note (format "%s: not checked, since no folder there is open" name)
            (format "Visit %s, and check again" prefix)))
     (t (todo-write-remote-setup--finding-of-call name)))))

(defun todo-write-remote-setup--finding-of-call (name)
  "Return the doctor's finding about a call from the machine NAME."
  (let* ((folder (concat (todo-write-remote--prefix name) "/"))
         (answer (condition-case err
                     (todo-write-mcp-setup--check
                      (todo-write-remote-setup--server
                       (todo-write-remote-setup--look name folder))
                      folder)
                   (error (error-message-string err)))))
    (if (string-match-p (format ", process %d," (emacs-pid)) answer)
        (list 'ok (format "%s: a call from there reached this Emacs" name))
      (list 'problem (format "%s: a call from there did not reach this Emacs: %s" name
                             (todo-write-row-line answer 200))
            (format "M-x todo-write-mcp-setup in a folder of %s" name)))))

(provide 'todo-write-remote-setup)
;;; todo-write-remote-setup.el ends here
