;;; todo-write-hang-e2e-tests.el --- A file system that hangs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The home of some agents and their project are on a file system whose program is
;; stopped, as that of a server that is gone.  Whoever asks it waits for ever.  The
;; Emacs of a user goes on, with all agents that are elsewhere.
;;
;; The program is bindfs, which needs FUSE.  This Emacs never asks the file system while
;; it hangs, and asks the user's Emacs nothing: that one writes what it sees to a file.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-socket-helper)
(require 'todo-write-test-helper)
(require 'todo-write-user-helper)

(defvar todo-write-hang-tests--program nil "The process of bindfs.")

(defun todo-write-hang-tests--append (home session n)
  "Append the Nth list of SESSION to its transcript in HOME; 1 begins it.
Its agent runs in the folder project of HOME."
  (let ((file (expand-file-name (format "projects/-garden/%s.jsonl" session) home))
        create-lockfiles)
    (write-region
     (mapconcat
      (lambda (line)
        (concat (json-serialize
                 `( :sessionId ,session :isSidechain :false
                    :cwd ,(replace-regexp-in-string "/real/" "/mount/"
                                                    (expand-file-name "project" home))
                    ,@line))
                "\n"))
      `(,@(and (= n 1)
               `((:type "user" :uuid "u0" :message (:role "user" :content "Dig"))))
        ( :type "assistant" :uuid ,(format "u%d" n)
          :message ( :id ,(format "m%d" n) :content
                     [(:type "tool_use" :id ,(format "c%d" n) :name "TodoWrite"
                       :input ,(todo-write-test-todos (format "Bed %d" n)))]))
        ( :type "user" :uuid ,(format "r%d" n)
          :message (:content [( :type "tool_result" :tool_use_id ,(format "c%d" n)
                                :content "ok")])))
      "")
     nil file t 'silent)))

(defun todo-write-hang-tests--make-home (home sessions)
  "Make HOME, with the first lists of SESSIONS and a process file of this Emacs."
  (dolist (folder '("projects/-garden" "sessions" "project/.git"))
    (make-directory (expand-file-name folder home) t))
  (write-region (format "{\"sessionId\":%S,\"status\":\"busy\",\"cwd\":\"/garden\"}" (car sessions))
                nil (expand-file-name (format "sessions/%d.json" (emacs-pid)) home) nil 'silent)
  (dolist (session sessions)
    (todo-write-hang-tests--append home session 1)))

(defun todo-write-hang-tests--mount (real mount)
  "Show the folder REAL at MOUNT by bindfs; skip the test if that cannot be."
  (unless (executable-find "bindfs")
    (ert-skip "no bindfs"))
  (setq todo-write-hang-tests--program
        (make-process :name "bindfs" :noquery t :connection-type 'pipe
                      :command (list "bindfs" "-f" real mount)))
  (unless (ignore-errors
            (todo-write-test-wait
             (lambda ()
               (or (not (process-live-p todo-write-hang-tests--program))
                   (file-exists-p (expand-file-name "home" mount))))))
    (ert-skip "bindfs does not answer"))
  (unless (process-live-p todo-write-hang-tests--program)
    (ert-skip "bindfs cannot mount")))

(defun todo-write-hang-tests--unmount (mount)
  "Let the file system at MOUNT answer, and take it away."
  (when (process-live-p todo-write-hang-tests--program)
    (signal-process todo-write-hang-tests--program 'SIGCONT)
    (call-process (or (executable-find "fusermount3") "fusermount") nil nil nil "-u" "-z" mount)
    (delete-process todo-write-hang-tests--program)))

(defun todo-write-hang-tests--begin (homes state)
  "Let the user's Emacs follow what HOMES have, and write what it sees to STATE.
That is a list of the number of sessions by the last task of their lists,
and of what was said of a folder that does not answer."
  (todo-write-user-eval
   `(progn
      (require 'todo-write-follow)
      (require 'todo-write-list)
      (require 'todo-write-mode-line)
      (require 'todo-write-notify)
      (setq todo-write-follow-agents ',(mapcar (lambda (home) (cons 'claude home)) homes)
            todo-write-follow-all t
            todo-write-follow-interval 0.1
            create-lockfiles nil)
      (todo-write-mode-line-mode)
      (todo-write-notify-mode)
      (save-selected-window (todo-write-list))
      (switch-to-buffer "*scratch*")
      (fundamental-mode)
      (setq default-directory "/")
      (todo-write-follow-mode)
      (run-with-timer
       0 0.1
       (lambda ()
         (write-region
          (prin1-to-string
           (list
            (seq-group-by
             #'identity
             (mapcar (lambda (thread)
                       (cons (substring thread 0 8)
                             (plist-get (elt (todo-write-items thread) 0) :content)))
                     (todo-write-threads-loaded)))
            (with-current-buffer (messages-buffer)
              (save-excursion
                (list (progn (goto-char (point-min))
                             (search-forward "does not answer" nil t))
                      (search-forward "answers again" nil t))))))
          nil ,(concat state ".new") nil 'silent)
         (rename-file ,(concat state ".new") ,state t)))
      nil)))

(defun todo-write-hang-tests--state (file)
  "Return what the user's Emacs wrote to FILE last."
  (when (file-exists-p file)
    (with-temp-buffer
      (insert-file-contents file)
      (read (current-buffer)))))

(defun todo-write-hang-tests--count (state name task)
  "Return how many sessions have TASK as their last one.
STATE is as in `todo-write-hang-tests--begin'; only sessions count whose
names begin with NAME."
  (length (cdr (assoc (cons (concat "claude:" name) task) (car state)))))

(ert-deftest todo-write-follow-goes-on-while-a-file-system-hangs ()
  (let* ((folder (make-temp-file "todo-write-hang" t))
         (real (expand-file-name "real/home" folder))
         (mount (expand-file-name "mount" folder))
         (other (expand-file-name "other" folder))
         (file (expand-file-name "state" folder))
         (stuck (mapcar (lambda (n) (format "s%d" n)) (number-sequence 1 20)))
         (others (mapcar (lambda (n) (format "o%d" n)) (number-sequence 1 5)))
         (counts (lambda (task)
                   (let ((state (todo-write-hang-tests--state file)))
                     (list (todo-write-hang-tests--count state "s" task)
                           (todo-write-hang-tests--count state "o" task))))))
    (make-directory mount)
    (todo-write-hang-tests--make-home real stuck)
    (todo-write-hang-tests--make-home other others)
    (unwind-protect
        (progn
          (todo-write-hang-tests--mount (expand-file-name "real" folder) mount)
          (todo-write-user-call
           30 100
           (lambda ()
             (todo-write-hang-tests--begin (list (expand-file-name "home" mount) other) file)
             (todo-write-test-wait (lambda () (equal '(20 5) (funcall counts "Bed 1"))))
             (signal-process todo-write-hang-tests--program 'SIGSTOP)
             (dolist (session stuck) (todo-write-hang-tests--append real session 2))
             (dolist (session others) (todo-write-hang-tests--append other session 2))
             (todo-write-user-type-until
              (lambda ()
                (and (equal '(0 5) (funcall counts "Bed 2"))
                     (car (cadr (todo-write-hang-tests--state file))))))
             (signal-process todo-write-hang-tests--program 'SIGCONT)
             (todo-write-test-wait
              (lambda () (and (equal '(20 5) (funcall counts "Bed 2"))
                              (cadr (cadr (todo-write-hang-tests--state file)))))))))
      (todo-write-hang-tests--unmount mount)
      (todo-write-test-delete folder))))

;;; Programs and the overview

(defun todo-write-hang-tests--serve (socket state)
  "Let the user's Emacs serve programs at SOCKET, and write what it sees to STATE.
It also draws the overview again and again.  What it sees is a list of
the projects of the plans by their keys, and the overview's text."
  (todo-write-user-eval
   `(progn
      (require 'todo-write-mcp)
      (require 'todo-write-list)
      (setq todo-write-socket ,socket
            create-lockfiles nil)
      (todo-write-mcp-mode)
      (run-with-timer
       0 0.1
       (lambda ()
         (let (text)
           (with-current-buffer (get-buffer todo-write-list--buffer)
             (todo-write-list--print)
             (setq text (buffer-substring-no-properties (point-min) (point-max))))
           (write-region
            (prin1-to-string
             (list (mapcar (lambda (thread)
                             (list thread (plist-get (todo-write-about thread) :project)))
                           (todo-write-threads-loaded))
                   text))
            nil ,(concat state ".new") nil 'silent)
           (rename-file ,(concat state ".new") ,state t))))
      nil)))

(defun todo-write-hang-tests--call (socket session project)
  "Let a program at SOCKET write a list of SESSION, which works in PROJECT.
Return the connection."
  (let* ((todo-write-socket-test-at socket)
         (program (todo-write-socket-test-hello :id session :project project)))
    (todo-write-socket-test-send
     program (list :type "call" :call 1 :session session
                   :arguments (todo-write-test-todos "Dig")))
    program))

(ert-deftest todo-write-mcp-serves-agents-whose-file-system-hangs ()
  (let* ((folder (make-temp-file "todo-write-hang" t))
         (real (expand-file-name "real/home" folder))
         (mount (expand-file-name "mount" folder))
         (other (expand-file-name "other" folder))
         (file (expand-file-name "state" folder))
         (socket (todo-write-socket-test-file))
         (sees (lambda (thread project)
                 (equal project (cadr (assoc (concat "claude:" thread)
                                             (car (todo-write-hang-tests--state file)))))))
         programs)
    (make-directory mount)
    (todo-write-hang-tests--make-home real '("s1" "s2"))
    (todo-write-hang-tests--make-home other '("o1" "o2"))
    (unwind-protect
        (progn
          (todo-write-hang-tests--mount (expand-file-name "real" folder) mount)
          (let ((here (expand-file-name "home/project/" mount))
                (there (expand-file-name "project/" other)))
            (todo-write-user-call
             30 100
             (lambda ()
               (todo-write-hang-tests--begin (list (expand-file-name "home" mount) other)
                                             (concat file "-of-sessions"))
               (todo-write-user-eval '(progn (todo-write-follow-mode -1)
                                             (todo-write-follow-stop)
                                             (mapc #'todo-write-forget (todo-write-threads-loaded))))
               (todo-write-hang-tests--serve socket file)
               (push (todo-write-hang-tests--call socket "s1" here) programs)
               (push (todo-write-hang-tests--call socket "o1" there) programs)
               (todo-write-test-wait
                (lambda ()
                  (and (funcall sees "s1" here) (funcall sees "o1" there)
                       (string-search "Claude Code in project"
                                      (cadr (todo-write-hang-tests--state file))))))
               (signal-process todo-write-hang-tests--program 'SIGSTOP)
               ;; The first call of a session, whose project is there.
               (push (todo-write-hang-tests--call socket "s2" here) programs)
               (push (todo-write-hang-tests--call socket "o2" there) programs)
               (todo-write-user-type-until
                (lambda () (and (funcall sees "s2" here) (funcall sees "o2" there))))
               (signal-process todo-write-hang-tests--program 'SIGCONT)))))
      (mapc #'delete-process programs)
      (todo-write-hang-tests--unmount mount)
      (todo-write-test-delete (file-name-directory socket))
      (todo-write-test-delete folder))))

(provide 'todo-write-hang-e2e-tests)
;;; todo-write-hang-e2e-tests.el ends here
