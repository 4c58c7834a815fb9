;;; bench-agents.el --- Many agents at work  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A home of Claude Code with sessions that live, and what writes them.  Their processes
;; end with the Emacs that began them, also if it is killed.  Another Emacs appends lines to
;; the transcripts and changes what the process files say, as agents do:
;;
;;     $EMACS --batch -l bench-agents -f bench-agents-write HOME AGENTS LINES SECONDS

;;; Code:

(require 'cl-lib)
(require 'seq)

(defun bench-agents-line (agent n)
  "Return line N of the session of AGENT, both numbers, as Claude Code writes it.
There is a call of TodoWrite or its result in every 20th pair of lines."
  (let* ((pair (/ n 2))
         (list (= 0 (% pair 20)))
         (done (% (/ pair 20) 12))
         (todos (vconcat (cl-loop for part below 12
                                  collect (list :content (format "Part %d of the garden" part)
                                                :status (cond ((< part done) "completed")
                                                              ((= part done) "in_progress")
                                                              (t "pending"))
                                                :activeForm "Working"))))
         (message
          (if (cl-oddp n)
              (list :id (format "m%d" n) :role "assistant"
                    :content (vector (list :type "tool_use" :id (format "call%d" pair)
                                           :name (if list "TodoWrite" "Read")
                                           :input (if list (list :todos todos)
                                                    (list :file_path (format "/garden/bed-%d.txt"
                                                                             (% n 50)))))))
            (list :role "user"
                  :content (if (= n 0) (format "Look after garden %d" agent)
                             (vector (list :type "tool_result"
                                           :tool_use_id (format "call%d" (/ (1- n) 2))
                                           :content (make-string 2000 ?x))))))))
    (concat
     (json-serialize
      (list :parentUuid (format "u%d" (1- n)) :isSidechain :false
            :cwd (format "/garden/%d" agent) :sessionId (format "agent%d" agent)
            :entrypoint "cli" :version "2.1.330" :type (if (cl-oddp n) "assistant" "user")
            :message message :uuid (format "u%d" n)
            :timestamp (format-time-string "%FT%T.%3NZ" nil t)))
     "\n")))

(defun bench-agents-file (home agent)
  "Return the transcript of AGENT, a number, in HOME."
  (expand-file-name (format "projects/-garden-%d/agent%d.jsonl" agent agent) home))

(defun bench-agents--append (text file &optional replace)
  "Append TEXT to FILE, or let it REPLACE what is there."
  (let ((coding-system-for-write 'utf-8-unix) (write-region-inhibit-fsync t) create-lockfiles)
    (write-region text nil file (not replace) 'silent)))

(defun bench-agents--say (home process agent status)
  "Let the file of PROCESS in HOME say that AGENT has STATUS."
  (bench-agents--append
   (json-serialize
    `( :pid ,(process-id process) :sessionId ,(format "agent%d" agent) :status ,status
       :cwd ,(format "/garden/%d" agent)
       :procStart ,(bench-agents--start (process-id process))
       :startedAt ,(truncate (* 1000 (float-time)))
       ,@(and (equal status "waiting") '(:waitingFor "permission to dig"))))
   (expand-file-name (format "sessions/%d.json" (process-id process)) home) t))

(defun bench-agents--start (pid)
  "Return field 22 of the stat of the process PID."
  (with-temp-buffer
    (insert-file-contents-literally (format "/proc/%d/stat" pid))
    (goto-char (point-max))
    (search-backward ")")
    (nth 20 (split-string (buffer-substring (point) (point-max))))))

(defun bench-agents-begin (home agents)
  "Begin the sessions of AGENTS agents in HOME; return their processes."
  (make-directory (expand-file-name "sessions" home) t)
  (cl-loop for agent below agents
           for process = (make-process :name "agent" :command '("cat") :noquery t
                                       :connection-type 'pipe)
           do (make-directory (file-name-directory (bench-agents-file home agent)) t)
           (bench-agents--append (bench-agents-line agent 0) (bench-agents-file home agent))
           (bench-agents--say home process agent "busy")
           collect process))

(defun bench-agents-write ()
  "Write sessions as the command line says, then end their processes and exit.
Its arguments are HOME, the number of agents, that of lines a second of
each, and the number of seconds.  Each agent waits once a minute for two
seconds."
  (pcase-let* ((`(,home . ,numbers) command-line-args-left)
               (`(,agents ,rate ,seconds) (mapcar #'string-to-number numbers))
               (processes (bench-agents-begin home agents))
               (start (float-time))
               (counts (make-vector agents 1))
               (said (make-vector agents "busy"))
               (parent (cdr (assq 'ppid (process-attributes (emacs-pid))))))
    (setq command-line-args-left nil)
    (princ "begun\n" #'external-debugging-output)
    (while (and (< (- (float-time) start) seconds)
                ;; The parent may be killed.
                (equal parent (cdr (assq 'ppid (process-attributes (emacs-pid))))))
      (let ((now (- (float-time) start)))
        (dotimes (agent agents)
          ;; The agents do not write at the same moment.
          (let* ((own (+ now (/ agent (float agents) (max rate 1))))
                 (due (truncate (* own rate)))
                 (phase (mod (+ now (* 60 (/ agent (float agents)))) 60))
                 (status (if (< phase 2) "waiting" "busy"))
                 lines)
            (while (<= (aref counts agent) due)
              (push (bench-agents-line agent (aref counts agent)) lines)
              (cl-incf (aref counts agent)))
            ;; Each line is a write of its own, as agents do.
            (dolist (line (nreverse lines))
              (bench-agents--append line (bench-agents-file home agent)))
            (unless (equal status (aref said agent))
              (aset said agent status)
              (bench-agents--say home (nth agent processes) agent status)))))
      (sleep-for (/ 0.5 (* agents (max rate 1)))))
    (mapc #'delete-process processes)
    (kill-emacs 0)))

(provide 'bench-agents)
;;; bench-agents.el ends here
