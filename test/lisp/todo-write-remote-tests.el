;;; todo-write-remote-tests.el --- Tests in folders of other hosts  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A buffer of TRAMP is current while the user and agents work.  Its host may take half a
;; minute to answer, or never do.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'efrit-do)
(require 'tramp)
(require 'todo-write-test-helper)

(defconst todo-write-remote-tests--folder "/madeup:host:/srv/app/src/"
  "A folder on a host that does not answer.")

(defconst todo-write-remote-tests--pure
  '(directory-file-name expand-file-name file-name-as-directory file-name-directory
    file-name-nondirectory file-remote-p substitute-in-file-name unhandled-file-name-directory)
  "The operations on the names of files for which TRAMP needs no connection.")

(defvar todo-write-remote-tests--asked nil
  "The operations that asked the host, lists (OPERATION . ARGUMENTS), newest first.")

(defun todo-write-remote-tests--handle (operation &rest args)
  "Do OPERATION with ARGS, and note it if it asks the host.
A handler of file names."
  (cond ((eq operation 'file-remote-p)
         (when (string-match "\\`/madeup:host:" (car args))
           (pcase (nth 1 args)
             ('method "madeup")
             ('host "host")
             ('localname (substring (car args) (match-end 0)))
             ((or 'user 'hop) nil)
             (_ (match-string 0 (car args))))))
        ((and (memq operation todo-write-remote-tests--pure)
              ;; The home of a user is known over there only.
              (not (string-match-p "\\`/madeup:host:~" (car args))))
         (pcase operation
           ('unhandled-file-name-directory "/")
           (_ (let (file-name-handler-alist)
                (apply operation args)))))
        (t (push (cons operation args) todo-write-remote-tests--asked)
           nil)))

(defmacro todo-write-remote-tests--with (&rest body)
  "Evaluate BODY with an empty store, in a folder of the host."
  (declare (indent 0) (debug t))
  `(let ((todo-write-remote-tests--asked nil)
         (file-name-handler-alist (cons '("\\`/madeup:" . todo-write-remote-tests--handle)
                                        file-name-handler-alist)))
     (todo-write-with-store
       (save-window-excursion
         (with-temp-buffer
           (setq default-directory todo-write-remote-tests--folder
                 buffer-file-name (concat default-directory "a.el"))
           (switch-to-buffer (current-buffer))
           (unwind-protect (progn ,@body)
             (set-buffer-modified-p nil)
             (setq buffer-file-name nil)))))))

(defun todo-write-remote-tests--commands ()
  "Return all commands of both packages, after their files are loaded."
  (dolist (folder '("lisp" "efrit-do"))
    (dolist (file (directory-files (todo-write-test-file folder) nil "\\`[a-z-]+\\.el\\'"))
      (unless (string-match-p "-\\(autoloads\\|pkg\\)\\.el\\'" file)
        (require (intern (file-name-base file)) nil t))))
  (let (commands)
    (mapatoms (lambda (symbol)
                (when (and (commandp symbol)
                           (string-match-p "\\`\\(todo-write\\|efrit-do\\)" (symbol-name symbol)))
                  (push symbol commands))))
    (sort commands #'string<)))

(defconst todo-write-remote-tests--asking
  '(;; They are about the programs of the folder's host.
    todo-write-connect todo-write-follow todo-write-setup todo-write-mcp-setup
    ;; It visits a file there.
    todo-write-buffer-visit todo-write-view-visit)
  "The commands that may ask the host of the current folder.")

(defconst todo-write-remote-tests--buffers
  '((nil)
    ("*efrit-todos*" todo-write-view-mode todo-write-show "a")
    ("*todo-write-list*" todo-write-list-mode todo-write-list)
    ("*todo-write-history*" todo-write-history-index-mode todo-write-history "a")
    ("*todo-write-timeline*" todo-write-timeline-mode todo-write-timeline "a")
    ("*todo-write-log*" todo-write-log-mode todo-write-log "a")
    ("*todo-write-review*" todo-write-review-mode todo-write-review "a")
    ("*todo-write-request*" todo-write-answer-mode todo-write-answer))
  "The buffers in which commands are called: that of the user, and ours.
Lists of a name, a mode, and the command that shows it, with its
arguments.")

(defun todo-write-remote-tests--works-in-p (command buffer)
  "Return non-nil if COMMAND can do anything in BUFFER, a list as above."
  (if (command-modes command)
      (and (nth 1 buffer)
           (apply #'provided-mode-derived-p (nth 1 buffer) (command-modes command)))
    (member (car buffer) '(nil "*efrit-todos*"))))

(defun todo-write-remote-tests--begin ()
  "Let an agent work in the current folder."
  (todo-write "a" (todo-write-test-todos '("One" "in_progress") "Two"))
  (todo-write-observe "a" "INTENT" "Go on")
  (todo-write-observe "a" "TOOL_EXECUTION" '(:name "Edit" :content "ok") :outcome 'ok
                      :files `((:path ,(concat default-directory "a.el")
                                :oldText "x\n" :newText "y\n")))
  (todo-write-begin "b" :project default-directory :parent "a")
  (todo-write-test-write "b" "Three")
  (todo-write-stream "a" :type "TOKEN" :data "Hm" :thinking t)
  (todo-write-set-activity "a" 'working)
  (todo-write-request "a" :id "1" :kind 'permission :title "npm test" :detail "npm test"
                      :options '((:label "Yes" :value yes :kind allow)
                                 (:label "No" :value no :kind deny))
                      :answer #'ignore))

(defun todo-write-remote-tests--call (command prefix)
  "Call COMMAND with PREFIX as a user who accepts what it offers.
Return what asked the host."
  (setq todo-write-remote-tests--asked nil)
  (cl-letf (((symbol-function 'completing-read)
             (lambda (_prompt collection &rest _) (or (car (all-completions "" collection)) "")))
            ((symbol-function 'read-string) (lambda (&rest _) "x"))
            ((symbol-function 'y-or-n-p) #'always)
            ((symbol-function 'yes-or-no-p) #'always))
    (let ((current-prefix-arg prefix))
      ;; Many have nothing to do here, and say so.
      (ignore-errors
        (call-interactively command))))
  ;; An open menu takes the keys of later tests.
  (when (fboundp 'transient--emergency-exit)
    (transient--emergency-exit))
  (when (string-suffix-p "-mode" (symbol-name command))
    (funcall command -1))
  (ignore-errors (efrit-do-cancel))
  todo-write-remote-tests--asked)

(ert-deftest todo-write-remote-no-command-asks-the-host-of-the-current-folder ()
  (dolist (command (seq-difference (todo-write-remote-tests--commands)
                                   todo-write-remote-tests--asking))
    (dolist (buffer (seq-filter (apply-partially #'todo-write-remote-tests--works-in-p command)
                                todo-write-remote-tests--buffers))
      (dolist (prefix '(nil (4)))
        (todo-write-remote-tests--with
          (todo-write-remote-tests--begin)
          (when (car buffer)
            (apply (nth 2 buffer) (nthcdr 3 buffer))
            (set-buffer (car buffer))
            (should (eq major-mode (nth 1 buffer))))
          (should (equal todo-write-remote-tests--folder default-directory))
          (ert-info ((format "%s %s in %s" prefix command (car buffer)))
            (should-not (todo-write-remote-tests--call command prefix))))))))

(ert-deftest todo-write-remote-no-write-of-an-agent-asks-the-host-of-the-current-folder ()
  (mapc #'require '(todo-write-list todo-write-mode-line todo-write-notify todo-write-view))
  (let ((modes '(todo-write-auto-show-mode todo-write-mode-line-mode
                 todo-write-notify-mode)))
    (todo-write-remote-tests--with
      (unwind-protect
          (progn
            (dolist (mode modes) (funcall mode 1))
            (todo-write-list)
            (todo-write-remote-tests--begin)
            (todo-write-edit "a" 'add "Four")
            (todo-write-test-write "a" '("One" "completed") "Two")
            (todo-write-end-turn "a" nil nil 'end-of-turn)
            (todo-write-restore "a")
            (should (get-buffer-window "*efrit-todos*"))
            (should (equal todo-write-remote-tests--folder
                           (plist-get (todo-write-about "a") :project)))
            (redisplay t)
            (should-not todo-write-remote-tests--asked))
        (dolist (mode modes) (funcall mode -1))))))

(provide 'todo-write-remote-tests)
;;; todo-write-remote-tests.el ends here
