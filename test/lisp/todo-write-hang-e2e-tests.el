;;; todo-write-hang-e2e-tests.el --- A file system that hangs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The home of some agents and their project are on a file system whose program is
;; stopped, as that of a server that is gone.  Whoever asks it waits for ever.  The
;; Emacs of a user goes on, with all agents that are elsewhere.
;;
;; This Emacs never asks the file system while it hangs, and asks the user's Emacs
;; nothing: that one writes what it sees to a file.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-socket-helper)
(require 'todo-write-stuck-helper)
(require 'todo-write-test-helper)
(require 'todo-write-user-helper)

(defun todo-write-hang-tests--append (home session n)
  "Append the Nth list that the agent of SESSION writes to its transcript in HOME.
Its agent runs in the folder project of HOME."
  (apply #'todo-write-test-transcript
         (expand-file-name (format "projects/-garden/%s.jsonl" session) home)
         (replace-regexp-in-string "/files/" "/mount/" (expand-file-name "project" home))
         (append (and (= n 1) '((:type "user" :uuid "u0" :message (:role "user" :content "Dig"))))
                 (todo-write-test-transcript-list (format "c%d" n) (format "Bed %d" n)))))

(defun todo-write-hang-tests--make-home (home sessions)
  "Make HOME, with the first lists of SESSIONS and a process file of this Emacs."
  (dolist (folder '("projects/-garden" "sessions" "project/.git"))
    (make-directory (expand-file-name folder home) t))
  (write-region (format "{\"sessionId\":%S,\"status\":\"busy\",\"cwd\":\"/garden\"}" (car sessions))
                nil (expand-file-name (format "sessions/%d.json" (emacs-pid)) home) nil 'silent)
  (dolist (session sessions)
    (todo-write-hang-tests--append home session 1)))

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
            todo-write-follow-interval 0.1
            create-lockfiles nil)
      (todo-write-mode-line-mode)
      (todo-write-notify-mode)
      (save-selected-window (todo-write-list))
      (switch-to-buffer "*scratch*")
      (fundamental-mode)
      (setq default-directory "/")
      (todo-write-agents-mode)
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

(defun todo-write-hang-tests--call-with-homes (sessions others function)
  "Call FUNCTION with two homes, one of SESSIONS that hangs, and another of OTHERS.
Its arguments are the name of that which hangs, the name under which it
always answers, that of the other one, and a file for what Emacs sees."
  (todo-write-stuck-call
   (lambda (mount)
     (let* ((folder (file-name-directory (directory-file-name mount)))
            (real (expand-file-name "files/home" folder))
            (other (expand-file-name "other" folder)))
       (todo-write-hang-tests--make-home real sessions)
       (todo-write-hang-tests--make-home other others)
       (funcall function (expand-file-name "home" mount) real other
                (expand-file-name "state" folder))))))

(ert-deftest todo-write-follow-goes-on-while-a-file-system-hangs ()
  (let ((stuck (mapcar (lambda (n) (format "s%d" n)) (number-sequence 1 20)))
        (others (mapcar (lambda (n) (format "o%d" n)) (number-sequence 1 5))))
    (todo-write-hang-tests--call-with-homes
     stuck others
     (lambda (home real other file)
       (cl-flet ((counts (task)
                   (let ((state (todo-write-hang-tests--state file)))
                     (list (todo-write-hang-tests--count state "s" task)
                           (todo-write-hang-tests--count state "o" task)))))
         (todo-write-user-call
          30 100
          (lambda ()
            (todo-write-hang-tests--begin (list home other) file)
            (todo-write-test-wait (lambda () (equal '(20 5) (counts "Bed 1"))))
            (todo-write-stuck-stop)
            (dolist (session stuck) (todo-write-hang-tests--append real session 2))
            (dolist (session others) (todo-write-hang-tests--append other session 2))
            (todo-write-user-type-until
             (lambda ()
               (and (equal '(0 5) (counts "Bed 2"))
                    (car (cadr (todo-write-hang-tests--state file))))))
            (todo-write-stuck-continue)
            (todo-write-test-wait
             (lambda () (and (equal '(20 5) (counts "Bed 2"))
                             (cadr (cadr (todo-write-hang-tests--state file)))))))))))))

;;; Programs and the overview

(defun todo-write-hang-tests--serve (socket state)
  "Let the user's Emacs serve programs at SOCKET, and write what it sees to STATE.
It also draws the overview again and again.  What it sees is a list of
the projects of the plans by their keys, and the overview's text."
  (todo-write-user-eval
   `(progn
      (require 'todo-write-agents)
      (require 'todo-write-list)
      (setq todo-write-socket ,socket
            todo-write-follow-agents nil
            create-lockfiles nil)
      (todo-write-agents-mode)
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
  (todo-write-hang-tests--call-with-homes
   '("s1" "s2") '("o1" "o2")
   (lambda (home _real other file)
     (let ((socket (todo-write-socket-test-file))
           (here (expand-file-name "project/" home))
           (there (expand-file-name "project/" other))
           programs)
       (cl-flet ((call (session project)
                   (push (todo-write-hang-tests--call socket session project) programs))
                 (sees (thread project)
                   (equal project (cadr (assoc (concat "claude:" thread)
                                               (car (todo-write-hang-tests--state file)))))))
         (unwind-protect
             (todo-write-user-call
              30 100
              (lambda ()
                (todo-write-hang-tests--begin (list home other) (concat file "-of-sessions"))
                (todo-write-user-eval '(todo-write-follow-stop)
                                      '(mapc #'todo-write-forget (todo-write-threads-loaded)))
                (todo-write-hang-tests--serve socket file)
                (call "s1" here)
                (call "o1" there)
                (todo-write-test-wait
                 (lambda ()
                   (and (sees "s1" here) (sees "o1" there)
                        (string-search "project"
                                       (cadr (todo-write-hang-tests--state file))))))
                (todo-write-stuck-stop)
                ;; The first call of a session, whose project is there.
                (call "s2" here)
                (call "o2" there)
                (todo-write-user-type-until
                 (lambda () (and (sees "s2" here) (sees "o2" there))))
                (todo-write-stuck-continue)))
           (mapc #'delete-process programs)
           (todo-write-test-delete (file-name-directory socket))))))))

(provide 'todo-write-hang-e2e-tests)
;;; todo-write-hang-e2e-tests.el ends here
