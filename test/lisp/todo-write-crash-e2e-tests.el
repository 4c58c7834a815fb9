;;; todo-write-crash-e2e-tests.el --- Kill Emacs while it writes  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Emacs processes write list after list and acknowledge each one after the call
;; returns.  They are killed at random moments, mostly while they write, some
;; while they read their journal.  Each process first checks the journals of the
;; earlier ones: they must have every acknowledged list and at most one more, which
;; must be complete.
;;
;; Programs, that of Emacs too, what serves a machine, what stands for ssh, and Emacs are
;; killed while 20 agents here and on that machine write lists by them.  In the end, each list
;; is there whose call was answered.
;;
;; TODO_WRITE_KILLS in the environment is the number of kills, 50 by default;
;; TODO_WRITE_SEED, 1 by default, chooses the moments at which programs are killed.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-mcp-helper)
(require 'todo-write-test-helper)

(defconst todo-write-crash-tests--threads 8
  "The number of threads, and so of journals, that take turns.")

(defconst todo-write-crash-tests--child
  '(let* ((write-number
           ;; List N differs from list N-1 in many places, and is sometimes long.
           (lambda (n)
             (list :todos
                   (vconcat
                    (list (list :content (format "This is list %d" n)
                                :status "in_progress" :activeForm (format "Writing %d" n)))
                    (mapcar (lambda (k)
                              (list :content (format "Task %d" (+ k (/ n 4)))
                                    :status (if (< (% (+ k n) 3) 1) "completed" "pending")
                                    :activeForm (format "Doing %d in %d" k (/ n 3))))
                            (number-sequence 1 (if (zerop (% n 19)) 120 (+ 3 (% n 7)))))))))
          (rows (lambda (todos)
                  (mapcar (lambda (item)
                            (list (plist-get item :content) (plist-get item :status)
                                  (plist-get item :activeForm)))
                          todos)))
          (wholep (lambda (n)
                    (equal (funcall rows (todo-write-items thread n))
                           (if (zerop n) nil
                             (funcall rows (plist-get (funcall write-number n) :todos))))))
          (n (plist-get (todo-write-summary thread) :revision))
          (broken (cl-remove-if wholep
                                (if every
                                    (number-sequence 0 n)
                                  (append (number-sequence (max 0 (- n 3)) n)
                                          (list (random (1+ n)) (random (1+ n))))))))
     (message "found %d %s" n (if broken (format "broken: %S" broken) "whole"))
     (while (not every)
       (setq n (1+ n))
       (unless (plist-get (todo-write thread (funcall write-number n)) :ok)
         (error "Refused"))
       (message "ack %d" n)))
  "The form of a process, which writes `thread'.
It first checks the last lists and a few others; if `every' is non-nil,
it checks all lists and writes none.")

(defun todo-write-crash-tests--start (thread every)
  "Start a process that works on THREAD; see the child's form for EVERY."
  (todo-write-test-start `(let ((thread ,thread) (every ,every))
                            ,todo-write-crash-tests--child)))

(defun todo-write-crash-tests--kill (process)
  "Kill PROCESS at a random moment; return its output.
In one of six cases that is any moment, otherwise a moment after it has
acknowledged a list or a few."
  (unless (zerop (random 6))
    (let ((lists (random 4)))
      (todo-write-test-wait
       (lambda ()
         (or (not (process-live-p process))
             (with-current-buffer (process-buffer process)
               (and (< 0 (how-many "^found" (point-min)))
                    (<= lists (how-many "^ack" (point-min))))))))))
  (let ((moment (+ (float-time) (/ (random 30) 1000.0))))
    (while (and (< (float-time) moment)
                (progn (accept-process-output process (- moment (float-time))) t))))
  (signal-process process 'SIGKILL)
  (prog1 (todo-write-test-end process)
    (should (eq (process-status process) 'signal))
    (should (= (process-exit-status process) 9))))

(defun todo-write-crash-tests--numbers (regexp text)
  "Return the numbers that REGEXP's first group matches in TEXT."
  (let ((start 0) numbers)
    (while (string-match regexp text start)
      (push (string-to-number (match-string 1 text)) numbers)
      (setq start (match-end 0)))
    (nreverse numbers)))

(defun todo-write-crash-tests--check (thread text acknowledged)
  "Fail if TEXT, the output of a process, shows a loss in THREAD.
ACKNOWLEDGED is the number of the last acknowledged list before the
process.  Return the number of the last one after it."
  (when (string-match "^\\(found.*broken.*\\|.*[Ee]rror.*\\|Refused\\)$" text)
    (ert-fail (format "%s: %s" thread (match-string 0 text))))
  (let ((found (car (todo-write-crash-tests--numbers "^found \\([0-9]+\\) whole\n" text))))
    (when (and found (not (<= acknowledged found (1+ acknowledged))))
      (ert-fail (format "%s: list %d was acknowledged, %d is there; %s"
                        thread acknowledged found text)))
    (or (car (last (todo-write-crash-tests--numbers "^ack \\([0-9]+\\)\n" text)))
        found acknowledged)))

(ert-deftest todo-write-no-acknowledged-write-is-lost-when-emacs-is-killed ()
  :tags '(:thorough)
  (todo-write-with-store
    (let* ((kills (string-to-number (or (getenv "TODO_WRITE_KILLS") "50")))
           (start (float-time))
           (acknowledged (make-vector todo-write-crash-tests--threads 0))
           (name (lambda (k) (format "crash %d" k)))
           (in-flight 0) (cut-off 0) (while-reading 0))
      (dotimes (n kills)
        (let* ((k (% n todo-write-crash-tests--threads))
               (process (todo-write-crash-tests--start (funcall name k) nil))
               (text (todo-write-crash-tests--kill process))
               (before (aref acknowledged k)))
          (unless (string-match-p "^found" text) (cl-incf while-reading))
          (when (string-match-p (format "^found %d whole" (1+ before)) text)
            (cl-incf in-flight))
          (when (string-match-p "was truncated" text) (cl-incf cut-off))
          (aset acknowledged k (todo-write-crash-tests--check (funcall name k) text before))))
      (dotimes (k (min kills todo-write-crash-tests--threads))
        (let ((text (todo-write-test-end
                     (todo-write-crash-tests--start (funcall name k) t))))
          (should (string-match-p "^found [0-9]+ whole" text))
          (todo-write-crash-tests--check (funcall name k) text (aref acknowledged k))))
      (message "%d kills of Emacs in %.0f s: %d lists acknowledged, none lost; \
%d kills found one more list, %d a record cut off, %d hit an Emacs that had not written yet"
               kills (- (float-time) start) (cl-reduce #'+ acknowledged)
               in-flight cut-off while-reading)
      (should (todo-write-test-segments)))))

;;; Agents that write by programs

(cl-defstruct (todo-write-crash-tests--agent
               (:constructor todo-write-crash-tests--make-agent) (:copier nil))
  "An agent with the thread KEY, whose program is started by COMMAND.
PROCESS is that program, SENT the number of the last list that was sent,
and ACKNOWLEDGED the numbers of the lists whose calls were answered, the
last first.  TEXT is the beginning of a line."
  key command process (sent 0) acknowledged (text ""))

(defvar todo-write-crash-tests--writes nil "Non-nil while agents write.")

(defun todo-write-crash-tests--send (agent message)
  "Send MESSAGE, a plist, to the program of AGENT, unless that is dead."
  (ignore-errors
    (process-send-string (todo-write-crash-tests--agent-process agent)
                         (concat (json-serialize message) "\n"))))

(defun todo-write-crash-tests--write (agent)
  "Let AGENT write its next list."
  (when todo-write-crash-tests--writes
    (let ((n (cl-incf (todo-write-crash-tests--agent-sent agent))))
      (todo-write-crash-tests--send
       agent `(:jsonrpc "2.0" :id ,n :method "tools/call"
               :params (:name "todo_write"
                        :arguments ,(todo-write-test-todos
                                     (list (format "List %d" n) "in_progress")
                                     (format "Task %d" (/ n 3)))))))))

(defun todo-write-crash-tests--begin-agent (agent)
  "Start the program of AGENT, and let it write."
  (setf (todo-write-crash-tests--agent-text agent) ""
        (todo-write-crash-tests--agent-process agent)
        (make-process :name "agent" :connection-type 'pipe :coding 'utf-8 :noquery t
                      :sentinel #'ignore :stderr (get-buffer-create " *agents*")
                      :filter (lambda (process text)
                                (todo-write-crash-tests--hear agent process text))
                      :command (todo-write-crash-tests--agent-command agent)))
  (todo-write-crash-tests--send
   agent `(:jsonrpc "2.0" :id "hello" :method "initialize"
           :params ( :protocolVersion "2025-06-18" :capabilities ,(make-hash-table)
                     :clientInfo (:name "claude-code" :version "2"))))
  (todo-write-crash-tests--send agent '(:jsonrpc "2.0" :method "notifications/initialized"))
  (todo-write-crash-tests--write agent))

(defun todo-write-crash-tests--hear (agent process text)
  "Handle TEXT from PROCESS, the program of AGENT, which may be killed since."
  (when (eq process (todo-write-crash-tests--agent-process agent))
    (let ((lines (split-string (concat (todo-write-crash-tests--agent-text agent) text) "\n")))
      (setf (todo-write-crash-tests--agent-text agent) (car (last lines)))
      (dolist (line (butlast lines))
        (let ((answer (json-parse-string line :object-type 'plist :false-object nil)))
          (when (eql (plist-get answer :id) (todo-write-crash-tests--agent-sent agent))
            (if (and (plist-get answer :result)
                     (not (plist-get (plist-get answer :result) :isError)))
                (progn (push (plist-get answer :id)
                             (todo-write-crash-tests--agent-acknowledged agent))
                       (todo-write-crash-tests--write agent))
              ;; There is no Emacs now.
              (run-with-timer 0.1 nil #'todo-write-crash-tests--write agent))))))))

(defun todo-write-crash-tests--agents (folder program)
  "Return 20 agents that use PROGRAM, every other one on the machine in FOLDER."
  (cl-loop for n below 20
           for there = (= 0 (% n 2))
           for session = (format "s%d" n)
           collect (todo-write-crash-tests--make-agent
                    :key (concat (if there "one/" "") "claude:" session)
                    :command `("env" ,(concat "HOME=" folder)
                               ,(format "TODO_WRITE_SANDBOX=%s%s" folder (if there "there" "here"))
                               ,(concat "CLAUDE_CODE_SESSION_ID=" session) ,program))))

(defun todo-write-crash-tests--serving-emacs (folder program)
  "Start an Emacs that serves agents, and is connected to a machine in FOLDER.
PROGRAM is there, too.  Two processes stand for ssh."
  (todo-write-test-start
   '(require 'todo-write-agents)
   '(require 'todo-write-connect)
   `(setq todo-write-directory ,todo-write-directory
          todo-write-history-limit 100000
          todo-write-socket ,(concat folder "here/socket")
          todo-write-follow-agents nil
          todo-write-machines-reconnect t
          todo-write-connect-first-pause 0.05
          todo-write-connect-longest-pause 0.05
          todo-write-machines
          '(("one" :command
             ("sh" "-c" ,(format "echo $$ >%sgroup; cat | env HOME=%sthere TODO_WRITE_SANDBOX=%sthere %s serve | cat"
                                 folder folder folder program)))))
   '(todo-write-agents-mode)
   '(todo-write-connect "one")
   ;; The program for Emacs would not be started a third time in a minute.
   '(while t (setq todo-write-hub--deaths nil) (accept-process-output nil 0.1))))

(defun todo-write-crash-tests--group (folder)
  "Return the processes of the connection to the machine in FOLDER."
  (let* ((file (concat folder "group"))
         (group (and (file-exists-p file)
                     (with-temp-buffer
                       (insert-file-contents file)
                       (string-to-number (buffer-string))))))
    (and group (< 0 group)
         (seq-filter (lambda (pid) (eql group (alist-get 'pgrp (process-attributes pid))))
                     (list-system-processes)))))

(defun todo-write-crash-tests--count (agents)
  "Return the number of lists of AGENTS that were acknowledged."
  (cl-loop for agent in agents
           sum (length (todo-write-crash-tests--agent-acknowledged agent))))

(defun todo-write-crash-tests--state (emacs agents)
  "Return text for a failure: what is known of EMACS and the programs of AGENTS."
  (format "Emacs %s %d: %s\nAgents: %S"
          (process-status emacs) (process-exit-status emacs)
          (with-current-buffer (process-buffer emacs) (buffer-string))
          (mapcar (lambda (agent)
                    (list (process-status (todo-write-crash-tests--agent-process agent))
                          (todo-write-crash-tests--agent-sent agent)
                          (car (todo-write-crash-tests--agent-acknowledged agent))
                          (todo-write-crash-tests--agent-text agent)))
                  agents)))

(defun todo-write-crash-tests--stop (process)
  "Kill PROCESS, and wait for its end."
  (signal-process process 'SIGKILL)
  (todo-write-test-wait (lambda () (not (process-live-p process)))))

(defun todo-write-crash-tests--written (keys)
  "Return the numbers of the lists in the journals of the threads KEYS, a list each."
  (todo-write-test-child
   `(setq todo-write-directory ,todo-write-directory)
   '(require 'todo-write)
   `(prin1
     (mapcar
      (lambda (key)
        (and (todo-write-restore key)
             (mapcar (lambda (revision)
                       (string-to-number
                        (substring (plist-get (elt (todo-write-items key (1+ revision)) 0) :content)
                                   (length "List "))))
                     (number-sequence 0 (1- (plist-get (todo-write-summary key) :revision))))))
      ',keys))))

(ert-deftest todo-write-no-acknowledged-list-is-lost-when-programs-are-killed ()
  :tags '(:thorough)
  (todo-write-with-store
    (let* ((kills (string-to-number (or (getenv "TODO_WRITE_PROGRAM_KILLS") "40")))
           (start (float-time))
           (program (todo-write-mcp-helper-program))
           (folder (file-name-as-directory (make-temp-file "agents" t)))
           (agents (todo-write-crash-tests--agents folder program))
           (todo-write-crash-tests--writes t)
           (killed (list 0 0 0 0))
           emacs)
      (random (or (getenv "TODO_WRITE_SEED") "1"))
      (dolist (name '("here" "there"))
        (make-directory (concat folder name))
        (set-file-modes (concat folder name) #o700))
      (unwind-protect
          (progn
            (setq emacs (todo-write-crash-tests--serving-emacs folder program))
            (mapc #'todo-write-crash-tests--begin-agent agents)
            (dotimes (_ kills)
              (let ((count (todo-write-crash-tests--count agents))
                    (moment (/ (random 30) 1000.0)))
                (todo-write-test-wait
                 (lambda () (< count (todo-write-crash-tests--count agents)))
                 (lambda () (todo-write-crash-tests--state emacs agents)))
                (accept-process-output nil moment)
                (pcase (random 10)
                  (0 (cl-incf (nth 0 killed))
                     (todo-write-crash-tests--stop emacs)
                     (delete-file (concat folder "group"))
                     (setq emacs (todo-write-crash-tests--serving-emacs folder program)))
                  ((or 1 2 3 4)
                   ;; Emacs takes up only a connection that was made once.
                   (when-let* (((with-current-buffer (process-buffer emacs)
                                  (string-search "Connected to one" (buffer-string))))
                               (group (todo-write-crash-tests--group folder)))
                     (cl-incf (nth 1 killed))
                     (signal-process (nth (random (length group)) group) 'KILL)))
                  (5 (dolist (pid (list-system-processes))
                       (when (eql (process-id emacs) (alist-get 'ppid (process-attributes pid)))
                         (cl-incf (nth 3 killed))
                         (signal-process pid 'KILL))))
                  (_ (let ((agent (nth (random (length agents)) agents)))
                       (cl-incf (nth 2 killed))
                       (todo-write-crash-tests--stop (todo-write-crash-tests--agent-process agent))
                       (todo-write-crash-tests--begin-agent agent))))))
            ;; All of them get through again.
            (let ((counts (mapcar (lambda (agent)
                                    (length (todo-write-crash-tests--agent-acknowledged agent)))
                                  agents)))
              (todo-write-test-wait
               (lambda ()
                 (cl-every (lambda (agent count)
                             (< count (length (todo-write-crash-tests--agent-acknowledged agent))))
                           agents counts))
               (lambda ()
                 (format "%S before; %s" counts
                         (todo-write-crash-tests--state emacs agents)))))
            (setq todo-write-crash-tests--writes nil)
            (todo-write-crash-tests--stop emacs)
            (let ((written (todo-write-crash-tests--written
                            (mapcar #'todo-write-crash-tests--agent-key agents))))
              (cl-loop for agent in agents
                       for numbers in written
                       for lost = (seq-difference
                                   (todo-write-crash-tests--agent-acknowledged agent) numbers)
                       do (should-not lost)
                       ;; No list is there twice, and none before an earlier one.
                       do (should (apply #'< 0 numbers))))
            (message "%d kills of Emacs, %d of its program, %d of a connection to a machine, %d of \
agents' programs in %.0f s under %d agents: %d lists acknowledged, none lost"
                     (nth 0 killed) (nth 3 killed) (nth 1 killed) (nth 2 killed)
                     (- (float-time) start)
                     (length agents) (todo-write-crash-tests--count agents)))
        (setq todo-write-crash-tests--writes nil)
        (dolist (process (delq nil (cons emacs (mapcar #'todo-write-crash-tests--agent-process
                                                       agents))))
          (delete-process process))
        (todo-write-test-delete folder)))))

(provide 'todo-write-crash-e2e-tests)
;;; todo-write-crash-e2e-tests.el ends here
