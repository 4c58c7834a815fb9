;;; todo-write-follow-remote.el --- Follow sessions on other machines  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Follows agents on another machine: one process there, a shell script, reports which
;; transcripts and process files there are, and what was appended to them.
;;
;;     M-x todo-write-follow-remote     follow all live sessions of a machine, or
;;                                      reconnect to it
;;
;; `todo-write-follow' and `todo-write-follow-mode' in a remote folder begin the same
;; process.  It is reached by ssh, docker or podman outside TRAMP if the method of the
;; folder is one of those.  Only commands begin it.  Afterwards Emacs asks once a
;; second, and never has more than one request under way, so that a machine that
;; hangs cannot block Emacs.
;;
;; What comes is copied into a private folder, and read like the files of this
;; machine.  All of it is hostile: a path is one of a few known forms, or ignored.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'todo-write)
(require 'todo-write-follow)
(require 'todo-write-follow-link)
(require 'todo-write-follow-loop)
(require 'todo-write-remote)
(require 'todo-write-row)

(declare-function tramp-dissect-file-name "tramp")
(declare-function tramp-file-name-method "tramp")
(declare-function tramp-file-name-user "tramp")
(declare-function tramp-file-name-host "tramp")
(declare-function tramp-file-name-port "tramp")
(declare-function tramp-file-name-hop "tramp")

(defconst todo-write-follow-remote--timeout 20
  "Seconds without an answer after which a connection counts as lost.")

(defvar todo-write-follow-remote--links nil
  "The connections to machines, also those that were lost.")

(defvar todo-write-follow-remote--folder nil
  "The private folder of the copies, or nil.")

;;; Machines

(defun todo-write-follow-remote--name (prefix)
  "Return the name of the machine whose files have PREFIX.
That is the one in `todo-write-remotes', else made of the host's name.
Signal a `user-error' if another machine has that name."
  (or (todo-write-remote--of prefix)
      (let* ((parts (delq nil (list (file-remote-p prefix 'user) (file-remote-p prefix 'host))))
             (method (file-remote-p prefix 'method))
             (name (replace-regexp-in-string
                    "[^A-Za-z0-9._]+" "-"
                    (string-join (if (todo-write-remote--ssh-p method) parts
                                   (cons method parts))
                                 "-")))
             (link (todo-write-follow-remote--link name)))
        (when (or (not (todo-write-remote--name-p name)) (assoc name todo-write-remotes)
                  (and link (not (equal prefix (todo-write-follow-link--link-prefix link)))))
          (user-error "Give the machine of %s a name in `todo-write-remotes'" prefix))
        name)))

(defun todo-write-follow-remote--link (name)
  "Return the connection to the machine NAME, or nil."
  (seq-find (lambda (link) (equal name (todo-write-follow-link--link-name link)))
            todo-write-follow-remote--links))

(defun todo-write-follow-remote--link-of (file)
  "Return the connection by which FILE, a copy, is fetched, or nil."
  (todo-write-follow-remote--link (or (todo-write-follow-sessions--machine-of file) "")))

(defun todo-write-follow-remote--program (prefix)
  "Return the program and arguments that run a command where PREFIX leads.
Return nil if only TRAMP can."
  (require 'tramp)
  (let* ((name (tramp-dissect-file-name prefix))
         (method (tramp-file-name-method name))
         (user (tramp-file-name-user name))
         (host (tramp-file-name-host name))
         (port (tramp-file-name-port name))
         (container (todo-write-remote--container-program method)))
    (cond ((tramp-file-name-hop name) nil)
          ((todo-write-remote--ssh-p method)
           `("ssh" "-T" "-o" "BatchMode=yes" "-o" "ConnectTimeout=15"
             ,@(and user (list "-l" user)) ,@(and port (list "-p" (format "%s" port)))
             "--" ,host))
          (container
           `(,container "exec" "-i" ,@(and user (list "-u" user)) ,host)))))

;;; Commands

;;;###autoload
(defun todo-write-follow-remote (prefix)
  "Follow all live sessions of Claude Code and Codex on another machine.
PREFIX is that of its files, as in \"/ssh:build:\".  If the connection was
lost, take it up again.  `todo-write-follow-stop' ends it.  Interactively,
use the machine of the current folder; else read one of
`todo-write-remotes' or of the connections before."
  (interactive (list (todo-write-follow-remote--read)))
  (let ((link (todo-write-follow-remote--begin prefix)))
    (setf (todo-write-follow-link--link-all link) t)
    (todo-write-follow--connect)
    (todo-write-follow--send-homes)
    link))

(defun todo-write-follow-remote--read ()
  "Return the prefix of the current folder's machine, or read one."
  (or (file-remote-p default-directory)
      (let* ((known (append (cl-loop for (name . plist) in todo-write-remotes
                                     when (plist-get plist :prefix)
                                     collect (cons name (plist-get plist :prefix)))
                            (mapcar (lambda (link)
                                      (cons (todo-write-follow-link--link-name link)
                                            (todo-write-follow-link--link-prefix link)))
                                    todo-write-follow-remote--links)))
             (name (completing-read "Follow the agents of (name, or prefix as in /ssh:HOST:): "
                                    known nil nil nil nil (caar known)))
             (prefix (or (cdr (assoc name known)) (file-remote-p name))))
        (or prefix (user-error "%s is neither a machine nor the prefix of one" name)))))

(defun todo-write-follow-remote--begin (file)
  "Connect or reconnect to the machine of FILE; return the connection."
  (let* ((prefix (file-remote-p file))
         (name (todo-write-follow-remote--name prefix))
         (link (or (todo-write-follow-remote--link name)
                   (todo-write-follow-remote--new name prefix))))
    (unless (todo-write-follow-link--link-process link)
      (todo-write-module--prepare)
      (todo-write-follow-remote--start link)
      (cl-pushnew link todo-write-follow-remote--links)
      (setq todo-write-follow-sessions--copies
            (seq-union todo-write-follow-sessions--copies
                       (mapcar #'car (todo-write-follow-link--link-homes link)) #'eq))
      (message "Connecting to %s..." name))
    link))

(defun todo-write-follow-remote--new (name prefix)
  "Return a new connection to the machine NAME, whose files have PREFIX."
  (let ((link (todo-write-follow-link--make :name name :prefix prefix))
        (given (seq-filter (lambda (home) (equal prefix (file-remote-p (cdr home))))
                           todo-write-follow-agents)))
    (pcase-dolist (`(,agent . ,folder)
                   (or (mapcar (lambda (home) (cons (car home) (file-local-name (cdr home))))
                               given)
                       '((claude . "~/.claude") (codex . "~/.codex"))))
      (todo-write-follow-remote--add-home link agent folder))
    link))

(defun todo-write-follow-remote--add-home (link agent given)
  "Add AGENT's folder GIVEN, named as on its machine, to LINK; return its number."
  (let* ((n (length (todo-write-follow-link--link-homes link)))
         (folder (file-name-as-directory
                  (expand-file-name (format "%s/%d" (todo-write-follow-link--link-name link) n)
                                    (todo-write-follow-remote--root)))))
    (when (string-match-p "\n" given)
      (user-error "The name of a folder of %s has a line feed"
                  (todo-write-follow-link--link-name link)))
    (make-directory folder t)
    (setf (todo-write-follow-link--link-homes link)
          (append (todo-write-follow-link--link-homes link)
                  (list (list (todo-write-follow-sessions--make-copy
                               :folder folder :agent agent
                               :machine (todo-write-follow-link--link-name link)
                               :prefix (todo-write-follow-link--link-prefix link))
                              (string-remove-suffix
                               "/" (if (string-match-p "\\`[/~]" given) given
                                     (concat "~/" given)))
                              nil))))
    n))

(defun todo-write-follow-remote--root ()
  "Return the private folder of the copies, which Emacs deletes when it exits."
  (unless (and todo-write-follow-remote--folder
               (file-directory-p todo-write-follow-remote--folder))
    (setq todo-write-follow-remote--folder (make-temp-file "todo-write-follow-" t))
    (add-hook 'kill-emacs-hook #'todo-write-follow-remote--clean))
  todo-write-follow-remote--folder)

(defun todo-write-follow-remote--clean ()
  "End all connections and delete the copies."
  (mapc #'todo-write-follow-remote--end todo-write-follow-remote--links)
  (setq todo-write-follow-remote--links nil
        todo-write-follow-sessions--copies nil)
  (when todo-write-follow-remote--folder
    (ignore-errors (delete-directory todo-write-follow-remote--folder t))
    (setq todo-write-follow-remote--folder nil)))

(defun todo-write-follow-remote--pick (file show)
  "Follow the session in FILE, a transcript on another machine or its copy.
Return its thread if it was copied, else nil: it is followed once it is.
SHOW is as for `todo-write-follow'."
  (let* ((link (if (file-remote-p file) (todo-write-follow-remote--begin file)
                 (todo-write-follow-remote--link-of file)))
         (copy (todo-write-follow-remote--copy-name link file)))
    (setq todo-write-follow--stopped (delete copy todo-write-follow--stopped))
    (if (and (file-exists-p copy) (not (file-remote-p file)))
        (todo-write-follow--now copy show)
      (unless (todo-write-follow-link--link-process link)
        (user-error "The connection to %s was lost; M-x todo-write-follow-remote takes it up again"
                    (todo-write-follow-link--link-name link)))
      (push (cons copy show) (todo-write-follow-link--link-picked link))
      (message "Fetching the session from %s..." (todo-write-follow-link--link-name link))
      nil)))

(defun todo-write-follow-remote--copy-name (link file)
  "Return the name of the copy by LINK of the transcript FILE.
FILE is its remote name, or that of its excerpt or copy."
  (if (not (file-remote-p file))
      (string-replace "/excerpts/" "/" file)
    (let ((local (file-local-name file)))
      (unless (string-match "\\`\\(.*\\)/\\(\\(projects\\|sessions\\)/.*\\)\\'" local)
        (user-error "%s is no transcript of Claude Code or Codex" file))
      (let* ((folder (match-string 1 local)) (path (match-string 2 local))
             (agent (if (equal "projects" (match-string 3 local)) 'claude 'codex))
             (homes (todo-write-follow-link--link-homes link))
             (n (seq-position homes folder #'todo-write-follow-remote--home-p)))
        (unless (todo-write-follow-link--kind agent path)
          (user-error "%s is no transcript of Claude Code or Codex" file))
        (unless n
          (setq n (todo-write-follow-remote--add-home link agent folder))
          (todo-write-follow-remote--announce link n))
        (concat (todo-write-follow-link--home-folder link n) path)))))

(defun todo-write-follow-remote--home-p (home folder)
  "Return non-nil if FOLDER, an absolute name, is that of HOME.
Until the machine has reported what ~ is there, only the end is compared."
  (pcase-let ((`(,_ ,given ,known) home))
    (cond (known (equal folder known))
          ((string-prefix-p "~" given) (string-suffix-p (substring given 1) folder))
          (t (equal folder given)))))

(defun todo-write-follow-remote--begin-mode ()
  "Begin the connections that `todo-write-follow-mode' needs.
Say if one cannot be begun; the mode follows the others."
  (dolist (prefix (seq-uniq
                   (delq nil (mapcar #'file-remote-p
                                     (cons todo-write-follow--project
                                           (and todo-write-follow-all
                                                (mapcar #'cdr todo-write-follow-agents)))))))
    (condition-case err
        (todo-write-follow-remote--ask-root (todo-write-follow-remote--begin prefix))
      (error (message "todo-write does not follow on %s: %s" prefix
                      (error-message-string err))))))

(defun todo-write-follow-remote--ask-root (link)
  "Ask the process of LINK for the root of the mode's project."
  (let ((folder (file-local-name todo-write-follow--project)))
    (when (and (todo-write-follow-link--link-listed link)
               (equal (todo-write-follow-link--link-prefix link)
                      (file-remote-p todo-write-follow--project))
               (not (string-search "\n" folder)))
      (todo-write-follow-remote--send
       link (encode-coding-string (format "r %s\n" folder) 'utf-8)))))

(defun todo-write-follow-remote--await (folder)
  "Begin the connection to the machine of FOLDER, and wait for its sessions.
Any key ends the wait."
  (let* ((link (todo-write-follow-remote--begin folder))
         (name (todo-write-follow-link--link-name link)))
    (setf (todo-write-follow-link--link-full link) t)
    (while (and (todo-write-follow-link--link-process link)
                (or (not (eq t (todo-write-follow-link--link-listed link)))
                    (todo-write-follow-link--link-full link)
                    (todo-write-follow-link--link-expected link))
                (not (input-pending-p)))
      (accept-process-output nil 0.05))
    (unless (eq t (todo-write-follow-link--link-listed link))
      (user-error "%s has not answered yet; try again when it has" name))))

;;; The process

(defun todo-write-follow-remote--start (link)
  "Start the process of LINK."
  (let* ((name (todo-write-follow-link--link-name link))
         (prefix (todo-write-follow-link--link-prefix link))
         (program (todo-write-follow-remote--program prefix))
         ;; The login shell there may be any, so the words must mean the same in all.
         (boot (format "echo todo-write; eval \"$(dd bs=1 count=%d 2>/dev/null)\""
                       (length todo-write-follow-loop--script)))
         (buffer (generate-new-buffer " *todo-write-follow-remote*" t))
         (default-directory (if program (expand-file-name "~/")
                              (concat prefix "/"))))
    (with-current-buffer buffer (set-buffer-multibyte nil))
    (unless program
      (message "Following on %s by TRAMP, which may ask for a password and wait" name))
    (setf (todo-write-follow-link--link-errors link) ""
          (todo-write-follow-link--link-silent-since link) (float-time)
          (todo-write-follow-link--link-listed link) nil
          (todo-write-follow-link--link-full link) t
          (todo-write-follow-link--link-expected link) nil
          (todo-write-follow-link--link-wanted link) nil
          (todo-write-follow-link--link-asked link) t)
    (clrhash (todo-write-follow-link--link-alive link))
    (maphash (lambda (_key file) (setf (todo-write-follow-link--file-doubt file) 'unseen))
             (todo-write-follow-link--link-files link))
    (setf (todo-write-follow-link--link-process link)
          (todo-write-follow-remote--run
           link buffer
           (cond ((null program) (list "sh" "-c" boot))
                 ((equal "ssh" (car program))
                  (append program (list (format "sh -c '%s'" boot))))
                 (t (append program (list "sh" "-c" boot))))
           (null program))
          (todo-write-follow-link--link-timer link)
          (run-with-timer 1 1 #'todo-write-follow-remote--tick link))))

(defun todo-write-follow-remote--greet (link)
  "Send the script to the process of LINK, which reads it now.
A shell that runs that process may swallow what comes earlier."
  (setf (todo-write-follow-link--link-listed link) 'script)
  (todo-write-follow-remote--send link todo-write-follow-loop--script)
  (dotimes (n (length (todo-write-follow-link--link-homes link)))
    (todo-write-follow-remote--announce link n))
  (when todo-write-follow-mode
    (todo-write-follow-remote--ask-root link))
  (todo-write-follow-remote--send link ".\n"))

(defun todo-write-follow-remote--run (link buffer command by-tramp)
  "Run COMMAND, a list, as the process of LINK in BUFFER, and return it.
BY-TRAMP non-nil runs it on the machine of `default-directory'."
  (let ((errors (unless by-tramp
                  (make-pipe-process
                   :name "todo-write-follow-errors" :noquery t :buffer nil
                   :coding 'utf-8 :sentinel #'ignore
                   :filter (lambda (_process text)
                             (let ((all (concat (todo-write-follow-link--link-errors link)
                                                text)))
                               (setf (todo-write-follow-link--link-errors link)
                                     (substring all (max 0 (- (length all) 500))))))))))
    (condition-case err
        (make-process
         :name "todo-write-follow" :buffer buffer :noquery t :file-handler by-tramp
         :connection-type 'pipe :coding 'binary :command command :stderr errors
         :filter (lambda (process bytes) (todo-write-follow-remote--filter link process bytes))
         :sentinel (lambda (process event)
                     (unless (process-live-p process)
                       (when (process-live-p errors)
                         (accept-process-output errors 0)
                         (delete-process errors))
                       (kill-buffer buffer)
                       (when (eq process (todo-write-follow-link--link-process link))
                         (todo-write-follow-remote--lost link (string-trim event))))))
      ((error quit)
       (when errors (delete-process errors))
       (kill-buffer buffer)
       (signal (car err) (cdr err))))))

(defun todo-write-follow-remote--send (link text)
  "Send TEXT to the process of LINK.
There is never so much under way that this waits.  If the process has
ended, its sentinel says so."
  (when-let* ((process (todo-write-follow-link--link-process link)))
    (ignore-errors (process-send-string process text))))

(defun todo-write-follow-remote--announce (link n)
  "Tell the process of LINK of the home N."
  (pcase-let ((`(,copy ,given ,_) (nth n (todo-write-follow-link--link-homes link))))
    (cl-pushnew copy todo-write-follow-sessions--copies)
    (when (todo-write-follow-link--link-listed link)
      (todo-write-follow-remote--send
       link (encode-coding-string
             (format "h %s %s\n" (todo-write-follow-sessions--copy-agent copy) given)
             'utf-8)))))

(defun todo-write-follow-remote--end (link)
  "End the process of LINK."
  (when-let* ((process (todo-write-follow-link--link-process link)))
    (setf (todo-write-follow-link--link-process link) nil)
    (cancel-timer (todo-write-follow-link--link-timer link))
    (delete-process process)
    (dolist (home (todo-write-follow-link--link-homes link))
      (setf (todo-write-follow-sessions--copy-live (car home)) nil))
    (todo-write-follow--send-homes)))

(defun todo-write-follow-remote--lost (link reason)
  "Warn that LINK was lost for REASON, and how to reconnect."
  (when (todo-write-follow-link--link-process link)
    (let ((listed (eq t (todo-write-follow-link--link-listed link)))
          (errors (car (last (split-string (todo-write-follow-link--link-errors link)
                                           "\n" t "[ \r]+")))))
      (todo-write-follow-remote--end link)
      (display-warning
       'todo-write
       (format (if listed
                   "The connection to %s was lost (%s); M-x todo-write-follow-remote takes it up again"
                 "%s cannot be reached (%s); M-x todo-write-follow-remote tries again")
               (todo-write-follow-link--link-name link)
               (todo-write-row-line (or errors reason) 200))))))

(defun todo-write-follow-remote--end-unused (&optional all)
  "End the connections of which nothing is followed.
ALL non-nil ends those of which all sessions are followed, too."
  (dolist (link todo-write-follow-remote--links)
    (when all
      (setf (todo-write-follow-link--link-all link) nil
            (todo-write-follow-link--link-picked link) nil))
    (unless (or (todo-write-follow-link--link-all link)
                (todo-write-follow-link--link-picked link)
                (todo-write-follow-link--mode-p link)
                (seq-some (lambda (session)
                            (eq link (todo-write-follow-remote--link-of
                                      (todo-write-follow--session-file session))))
                          todo-write-follow--sessions))
      (todo-write-follow-remote--end link))))

(defun todo-write-follow-remote--tick (link)
  "Ask what changed on the machine of LINK, unless an answer is under way."
  (cond ((not (todo-write-follow-link--link-asked link))
         (todo-write-follow-remote--ask link "p\n"))
        ((> (- (float-time) (todo-write-follow-link--link-silent-since link))
            todo-write-follow-remote--timeout)
         (todo-write-follow-remote--lost
          link (format "no answer for %d seconds" todo-write-follow-remote--timeout)))))

(defun todo-write-follow-remote--ask (link lines)
  "Send LINES to the process of LINK with what it must know before."
  (let ((wanted (todo-write-follow-link--wanted link)))
    (unless (equal wanted (todo-write-follow-link--link-wanted link))
      (setf (todo-write-follow-link--link-wanted link) wanted)
      (setq lines (concat "W\n" wanted lines)))
    (when (todo-write-follow-link--link-full link)
      (setq lines (concat "P\n" lines))
      (setf (todo-write-follow-link--link-full link) 'asked))
    (setf (todo-write-follow-link--link-asked link) t
          (todo-write-follow-link--link-silent-since link) (float-time))
    (todo-write-follow-remote--send link (concat lines ".\n"))))

;;; Answers

(defun todo-write-follow-remote--filter (link process bytes)
  "Read BYTES, which PROCESS of LINK printed."
  (when (and (eq process (todo-write-follow-link--link-process link))
             (buffer-live-p (process-buffer process)))
    (setf (todo-write-follow-link--link-silent-since link) (float-time))
    (condition-case err
        (with-current-buffer (process-buffer process)
          (goto-char (point-max))
          (insert bytes)
          (todo-write-follow-remote--parse link))
      (error (todo-write-follow-remote--lost link (error-message-string err))))))

(defun todo-write-follow-remote--parse (link)
  "Read all that is complete in the current buffer, that of LINK, and delete it."
  (goto-char (point-min))
  (while (and (todo-write-follow-link--link-process link)
              (search-forward "\n" nil t)
              (let ((line (buffer-substring (point-min) (1- (point)))))
                (if (string-prefix-p "d " line)
                    (todo-write-follow-remote--data link line)
                  (delete-region (point-min) (point))
                  (todo-write-follow-remote--line link line)
                  t)))
    (goto-char (point-min)))
  (when (> (buffer-size) (* 2 todo-write-follow-link--chunk))
    (error "It sent too long a line")))

(defun todo-write-follow-remote--data (link line)
  "Take the bytes after point that LINE of LINK announces.
Return nil if some are yet to come."
  (let* ((piece (and (string-match "\\`d \\([0-9]+\\) \\([0-9]+\\) \\([0-9]+\\) \\(.+\\)\\'" line)
                     (list (string-to-number (match-string 1 line))
                           (string-to-number (match-string 2 line))
                           (string-to-number (match-string 3 line))
                           (match-string 4 line))))
         (expected (assoc piece (todo-write-follow-link--link-expected link)))
         (end (+ (point) (or (nth 2 piece) 0))))
    (unless expected
      (error "It sent what was not asked for"))
    (when (<= end (point-max))
      (let ((bytes (buffer-substring (point) end)))
        (delete-region (point-min) end)
        (setf (todo-write-follow-link--link-expected link)
              (delq expected (todo-write-follow-link--link-expected link)))
        (todo-write-follow-link--take link expected bytes))
      t)))

(defconst todo-write-follow-remote--file-regexp
  "\\`\\([+=-]\\)f \\([0-9]\\{1,15\\}\\) \\([0-9]\\{1,20\\}\\) \\([0-9]\\{1,15\\}\\) \\([0-9]\\{1,15\\}\\) \\(.+\\)\\'"
  "Regexp of a line about a file: sign, home, inode, size, time and path.")

(defconst todo-write-follow-remote--process-regexp
  "\\`\\([+-]\\)a \\([0-9]\\{1,15\\}\\) \\([0-9]\\{1,9\\}\\) \\([A-Za-z]\\) \\([0-9]+\\|-\\) \\(.*\\)\\'"
  "Regexp of a line about a process: sign, home, id, state, start and content.")

(defun todo-write-follow-remote--line (link line)
  "Read LINE, which the process of LINK printed."
  (let ((case-fold-search nil))
    (cond
     ((null (todo-write-follow-link--link-listed link))
      (when (equal line "todo-write")
        (todo-write-follow-remote--greet link)))
     ((equal line ".")
      ;; A machine may say so any number of times.
      (when (eq t (todo-write-follow-link--link-asked link))
        (setf (todo-write-follow-link--link-asked link) 'answered)
        ;; What follows may wait for input, and read this process meanwhile.
        (run-with-timer 0 nil #'todo-write-follow-remote--answered
                        link (todo-write-follow-link--link-process link))))
     ((string-match todo-write-follow-remote--file-regexp line)
      (todo-write-follow-remote--note-file link line))
     ((string-match todo-write-follow-remote--process-regexp line)
      (todo-write-follow-remote--note-process link line))
     ((string-match "\\`todo-write 1 \\([0-9]\\{1,15\\}\\)\\'" line)
      (setf (todo-write-follow-link--link-skew link)
            (- (float-time) (string-to-number (match-string 1 line)))))
     ((string-match "\\`h \\(/.*\\)?\\'" line)
      ;; They come in the order of the homes.
      (when-let* ((home (seq-find (lambda (home) (null (nth 2 home)))
                                  (todo-write-follow-link--link-homes link))))
        (setf (nth 2 home) (decode-coding-string (or (match-string 1 line) "") 'utf-8))))
     ((string-match "\\`r \\(/.*\\)\\'" line)
      (todo-write-follow-remote--note-root
       link (decode-coding-string (match-string 1 line) 'utf-8))))))

(defun todo-write-follow-remote--note-file (link line)
  "Note what LINE, which matched the regexp of files, says of one of LINK."
  (let ((n (string-to-number (match-string 2 line)))
        (stat (list (match-string 3 line) (string-to-number (match-string 4 line))
                    (string-to-number (match-string 5 line))))
        (path (match-string 6 line))
        (note (if (equal "-" (match-string 1 line)) #'todo-write-follow-link--gone
                #'todo-write-follow-link--stat)))
    (when-let* ((home (nth n (todo-write-follow-link--link-homes link)))
                (kind (todo-write-follow-link--kind
                       (todo-write-follow-sessions--copy-agent (car home)) path)))
      (funcall note link kind n path stat))))

(defun todo-write-follow-remote--note-process (link line)
  "Note what LINE, which matched the regexp of processes, says of one of LINK."
  (let ((key (cons (string-to-number (match-string 2 line))
                   (string-to-number (match-string 3 line))))
        (content (match-string 6 line))
        (alive (todo-write-follow-link--link-alive link)))
    (when (nth (car key) (todo-write-follow-link--link-homes link))
      (setf (todo-write-follow-link--link-processes link) t)
      (if (or (equal "-" (match-string 1 line))
              ;; The script sends no more of a file.
              (> (length content) 16384)
              (> (hash-table-count alive) 1000))
          (remhash key alive)
        (puthash key (list (match-string 4 line) (match-string 5 line) content) alive)))))

(defun todo-write-follow-remote--note-root (link root)
  "Note that ROOT is that of the mode's project, if that is on the machine of LINK."
  (when (and todo-write-follow-mode
             (equal (todo-write-follow-link--link-prefix link)
                    (file-remote-p todo-write-follow--project)))
    (setq todo-write-follow--project (concat (todo-write-follow-link--link-prefix link)
                                             (file-name-as-directory root))
          todo-write-follow--searched nil)
    (todo-write-follow--send-homes)))

(defun todo-write-follow-remote--answered (link process)
  "Handle the end of an answer of PROCESS, that of LINK."
  (when (eq process (todo-write-follow-link--link-process link))
    (when (eq 'asked (todo-write-follow-link--link-full link))
      (setf (todo-write-follow-link--link-full link) nil))
    (if (eq 'script (todo-write-follow-link--link-listed link))
        (progn (setf (todo-write-follow-link--link-listed link) 'asked)
               (todo-write-follow-remote--ask link "p\n"))
      (todo-write-follow-remote--digest link)
      (when (eq process (todo-write-follow-link--link-process link))
        ;; What was not there is asked for again a second later.
        (let ((pieces (and (null (todo-write-follow-link--link-expected link))
                           (todo-write-follow-link--pieces link))))
          (setf (todo-write-follow-link--link-expected link) pieces
                (todo-write-follow-link--link-asked link) nil)
          (cond (pieces
                 (todo-write-follow-remote--ask
                  link (mapconcat (pcase-lambda (`(,piece . ,_))
                                    (apply #'format "g %d %d %d %s\n" piece))
                                  pieces "")))
                ;; A session that just began may have files beside its transcript.
                ((not (equal (todo-write-follow-link--wanted link)
                             (todo-write-follow-link--link-wanted link)))
                 (todo-write-follow-remote--ask link "p\n"))))))))

(defun todo-write-follow-remote--digest (link)
  "Have the readers read what the answer of LINK changed."
  (let* ((first (not (eq t (todo-write-follow-link--link-listed link))))
         (processes (or first (todo-write-follow-link--link-processes link))))
    (setf (todo-write-follow-link--link-listed link) t)
    (when first
      (message "Connected to %s" (todo-write-follow-link--link-name link))
      (dolist (file (hash-table-values (todo-write-follow-link--link-files link)))
        (when (and (eq 'unseen (todo-write-follow-link--file-doubt file))
                   (eq 'side (todo-write-follow-link--file-kind file)))
          (todo-write-follow-link--delete link file))))
    (when processes
      (setf (todo-write-follow-link--link-processes link) nil)
      (todo-write-follow-link--write-processes link))
    (let ((changed (todo-write-follow-link--link-changed link)))
      (setf (todo-write-follow-link--link-changed link) nil)
      (todo-write-follow--read-copies (todo-write-follow-link--link-name link)
                                      changed processes first))
    (todo-write-follow-remote--begin-picked link)))

(defun todo-write-follow-remote--begin-picked (link)
  "Follow the sessions of LINK that the user picked and that were fetched."
  (dolist (picked (todo-write-follow-link--link-picked link))
    (when (file-exists-p (car picked))
      (setf (todo-write-follow-link--link-picked link)
            (delq picked (todo-write-follow-link--link-picked link)))
      (condition-case-unless-debug err
          ;; A timer must not wait for it.
          (let ((session (todo-write-follow--begin (car picked))))
            (setf (todo-write-follow--session-automatic session) nil
                  (todo-write-follow--session-show session) (cdr picked)))
        (error (todo-write-follow-sessions--skip (car picked) (error-message-string err)))))))

(defun todo-write-follow-remote--all-p (machine)
  "Return non-nil if all live sessions of MACHINE, a name, are followed."
  (when-let* ((link (todo-write-follow-remote--link machine)))
    (todo-write-follow-link--link-all link)))

(provide 'todo-write-follow-remote)
;;; todo-write-follow-remote.el ends here
