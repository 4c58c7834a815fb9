;;; todo-write-remote.el --- Agents on other machines  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The machines on which agents run beside this one: hosts reached by SSH, and
;; containers.  A machine's name and the prefix of its files are set in Emacs; no
;; program there can choose them.  Nothing in this file opens a connection.
;;
;; The key of a thread on a machine is "NAME/KEY", where KEY is what it would be here.

;;; Code:

(require 'seq)
(require 'subr-x)
(require 'todo-write-core)

(defcustom todo-write-remotes nil
  "Machines whose agents reach this Emacs, or are followed by TRAMP.
A list of (NAME . PLIST).  NAME is what users read: ASCII letters, digits,
`.', `_' and `-'.  The keys of PLIST:
  :prefix  of the machine's files in Emacs, such as \"/ssh:build:\"
Others, of earlier versions, are ignored."
  :group 'todo-write-hosts
  :type '(alist :key-type (string :tag "Name")
                :value-type (plist :options ((:prefix string))))
  :package-version '(todo-write . "0.2.0"))

(defconst todo-write-remote--name-regexp "[A-Za-z0-9][A-Za-z0-9._-]*"
  "Regexp that matches the name of a machine.")

(defun todo-write-remote--get (name key)
  "Return the value of KEY for the machine NAME in `todo-write-remotes', or nil."
  (plist-get (cdr (assoc name todo-write-remotes)) key))

(defun todo-write-remote--name-p (name)
  "Return non-nil if NAME can name a machine."
  (and (stringp name) (< (length name) 60)
       (let (case-fold-search)
         (string-match-p (concat "\\`" todo-write-remote--name-regexp "\\'") name))))

;;; Files

(defun todo-write-remote--prefix-p (prefix)
  "Return non-nil if PREFIX is that of remote files, such as \"/ssh:build:\"."
  (and (stringp prefix) (string-match-p "\\`/[^/:|]+:[^/]+:\\'" prefix)))

(defun todo-write-remote--prefix (name)
  "Return the prefix of the files of the machine NAME, or nil."
  (todo-write-remote--get name :prefix))

(defun todo-write-remote--of (file)
  "Return the name of the machine whose prefix FILE has, or nil."
  (car (seq-find (pcase-lambda (`(,name . ,plist))
                   (let ((prefix (plist-get plist :prefix)))
                     (and (todo-write-remote--name-p name)
                          (todo-write-remote--prefix-p prefix)
                          (string-prefix-p prefix file))))
                 todo-write-remotes)))

(defun todo-write-remote--file (name path)
  "Return the name by which Emacs opens PATH on the machine NAME.
PATH comes from that machine, so it is never read as the name of a file
of another one.  What is not an absolute name there is taken for its root.
No file is looked up."
  (let ((prefix (todo-write-remote--prefix name)))
    (if (not (todo-write-remote--prefix-p prefix))
        (todo-write-module--error "The machine %s has no prefix in todo-write-remotes" name)
      (concat prefix (cond ((not (and (string-prefix-p "/" path)
                                      (not (string-match-p "[[:cntrl:]]" path))))
                            "/")
                           ;; Emacs would read "/ssh:host:" or expand "//" and "/~".
                           ((string-match-p "\\`/[^/]*:\\|//\\|/~" path) (concat "/:" path))
                           (t path))))))

;;; How TRAMP reaches a machine

(defun todo-write-remote--ssh-p (method)
  "Return non-nil if TRAMP's METHOD reaches its host by ssh."
  (member method '("ssh" "sshx" "scp" "scpx" "rsync")))

(defun todo-write-remote--container-program (method)
  "Return the program that TRAMP's METHOD runs in a container by, or nil."
  (cdr (assoc method '(("docker" . "docker") ("dockercp" . "docker")
                       ("podman" . "podman") ("podmancp" . "podman")))))

;;; Threads

(defun todo-write-remote--key (name key)
  "Return the key of the thread that is KEY on the machine NAME.
NAME is nil for this machine."
  (if name (concat name "/" key) key))

(defun todo-write-remote--of-thread (thread)
  "Return the name of the machine of THREAD, or nil for this one."
  (and (string-match (concat "\\`\\(" todo-write-remote--name-regexp "\\)/[a-z]+:") thread)
       (match-string 1 thread)))

(defun todo-write-remote--bare-key (thread)
  "Return the key that THREAD would have if its agent ran on this machine."
  (if-let* ((name (todo-write-remote--of-thread thread)))
      (substring thread (1+ (length name)))
    thread))

(defconst todo-write-remote--host-regexp
  (rx bos "/" (? (* (not "/")) "|")     ; hops
      (+ (not (any "/:|"))) ":" (? (* (not (any "/:|@"))) "@")
      (group (or (+ (not (any "/:|@#%["))) (seq "[" (+ (any "0-9a-fA-F:")) "]")))
      (? (any "#%") (* (not (any "/:|")))) ":")
  "Regexp that matches the beginning of a remote file's name; group 1 is the host.")

(defun todo-write-remote--host (thread project)
  "Return the name of the machine of THREAD's agent, or nil for this one.
PROJECT is the thread's.  If its machine has no name, return the host in
PROJECT.  No connection is opened."
  (or (todo-write-remote--of-thread thread)
      (and (stringp project)
           (or (todo-write-remote--of project)
               (and (string-match todo-write-remote--host-regexp project)
                    (match-string 1 project))))))

(defun todo-write-remote--local-name (file)
  "Return FILE without the prefix of its machine in `todo-write-remotes'."
  (if-let* ((name (todo-write-remote--of file)))
      (string-remove-prefix "/:" (string-remove-prefix (todo-write-remote--prefix name) file))
    file))

(provide 'todo-write-remote)
;;; todo-write-remote.el ends here
