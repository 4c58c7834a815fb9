;;; bench-typing.el --- Type while agents work  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Runs an Emacs in a hidden terminal, types into it, and measures the time from
;; each key to its echo, while 20 agents work that it follows or serves by MCP.  That
;; Emacs measures itself with bench-load.el.  Yardsticks are an idle `emacs -Q', and
;; `auto-revert-tail-mode' in the same transcripts:
;;
;;     $EMACS --batch -L bench -l bench-typing -f bench-typing-run EMACS ARGUMENT...

;;; Code:

(require 'bench)
(require 'bench-agents)

(defconst bench-typing-agents 20 "Number of agents.")

(defconst bench-typing-seconds
  (string-to-number (or (getenv "BENCH_SECONDS") "15"))
  "Seconds of each measurement.")

(defvar bench-typing--command nil "The command that starts the Emacs.")

(defvar bench-typing--work nil "A folder for the files of a run.")

(defvar bench-typing--expected nil "The bytes that are to be echoed, or nil.")

(defvar bench-typing--sent 0 "When they were typed.")

(defvar bench-typing--times nil "Seconds from key to echo.")

(defun bench-typing--file (name)
  "Return the name of the file NAME of this run."
  (expand-file-name name bench-typing--work))

(defun bench-typing--hear (_process output)
  "Note the time if OUTPUT echoes what was typed."
  (when (and bench-typing--expected (string-search bench-typing--expected output))
    (push (- (float-time) bench-typing--sent) bench-typing--times)
    (setq bench-typing--expected nil)))

(defun bench-typing--start (kind)
  "Start the Emacs for the load of KIND; return its process."
  (let* ((process-environment
          (append (list "TERM=xterm-256color" (format "BENCH_LOAD=%s" kind)
                        (concat "BENCH_WORK=" bench-typing--work)
                        (format "BENCH_SECONDS=%d" bench-typing-seconds))
                  process-environment))
         (process (make-process :name "emacs" :connection-type 'pty :noquery t
                                :coding 'no-conversion :filter #'bench-typing--hear
                                :command (append bench-typing--command
                                                 '("-l" "bench-load" "-f" "bench-load-terminal")))))
    (set-process-window-size process 40 100)
    process))

(defun bench-typing--wait (condition seconds)
  "Wait until CONDITION, a function, returns non-nil, for at most SECONDS."
  (let ((end (+ (float-time) seconds)))
    (while (not (or (funcall condition) (> (float-time) end)))
      (accept-process-output nil 0.05))
    (funcall condition)))

(defun bench-typing--type (process n)
  "Type key N into PROCESS and wait for its echo, for at most two seconds."
  (let ((key (encode-coding-string (string (aref "þðøæ" (% n 4))) 'utf-8)))
    (setq bench-typing--sent (float-time)
          bench-typing--expected key)
    (process-send-string process key)
    (unless (bench-typing--wait-for-echo 2)
      (push 2.0 bench-typing--times)
      (setq bench-typing--expected nil))
    ;; A long line would be drawn again.
    (when (= 0 (% (1+ n) 40))
      (process-send-string process "\C-a\C-k"))))

(defun bench-typing--wait-for-echo (seconds)
  "Wait for the echo for at most SECONDS; return non-nil if it came."
  (let ((end (+ (float-time) seconds)))
    (while (and bench-typing--expected (< (float-time) end))
      (accept-process-output nil 0.05))
    (null bench-typing--expected)))

;;; MCP

(defvar bench-typing--calls nil "Seconds that calls took.")

(defun bench-typing--start-clients ()
  "Start a program for each agent; return their processes."
  (cl-loop for n below bench-typing-agents
           for client = (make-process
                         :name "mcp" :connection-type 'pipe :coding 'binary :noquery t
                         :command (list (getenv "BENCH_MCP")
                                        "--socket" (bench-typing--file "socket"))
                         :stderr (get-buffer-create " *errors*")
                         :filter #'bench-typing--hear-client)
           do (bench-typing--send client
                                  `(:jsonrpc "2.0" :id "hello" :method "initialize"
                                    :params ( :protocolVersion "2025-06-18" :capabilities ,(make-hash-table)
                                              :clientInfo (:name "bench" :version ,(format "%d" n)))))
           (bench-typing--send client '(:jsonrpc "2.0" :method "notifications/initialized"))
           collect client))

(defun bench-typing--send (client message)
  "Send MESSAGE, a plist, to CLIENT."
  (process-send-string client (concat (json-serialize message) "\n")))

(defun bench-typing--hear-client (client output)
  "Note the time if CLIENT's OUTPUT ends the answer of its call."
  (let ((text (concat (process-get client 'text) output)))
    (while (string-match "\n" text)
      (let ((line (substring text 0 (match-beginning 0))))
        (setq text (substring text (match-end 0)))
        (when (and (process-get client 'sent) (string-match-p "\"id\":[0-9]" line))
          (unless (string-search "\"isError\":true" line)
            (push (- (float-time) (process-get client 'sent)) bench-typing--calls))
          (process-put client 'sent nil))))
    (process-put client 'text text)))

(defun bench-typing--call (client n)
  "Let CLIENT write its list for the Nth time."
  (process-put client 'sent (float-time))
  (bench-typing--send
   client
   `(:jsonrpc "2.0" :id ,n :method "tools/call"
     :params (:name "todo_write"
              :arguments (:todos ,(vconcat
                                   (cl-loop for part below 12
                                            collect `(:content ,(format "Part %d of the garden" part)
                                                      :status ,(cond ((< part (% n 12)) "completed")
                                                                     ((= part (% n 12)) "in_progress")
                                                                     (t "pending"))
                                                      :activeForm "Working"))))))))

;;; A run

(defun bench-typing--measure (kind)
  "Return what a run with the load of KIND shows, a plist.
KIND is `idle', `tail', `mcp', or the number of lines a second that each
agent writes."
  (let* ((bench-typing--work (make-temp-file "typing" t))
         (process-environment process-environment)
         (home (bench-typing--file "agents"))
         (rate (cond ((numberp kind) kind) ((eq kind 'tail) 5)))
         bench-typing--times bench-typing--calls writer clients emacs)
    (make-directory home)
    (unwind-protect
        (progn
          (when rate
            (setq writer
                  (make-process :name "writer" :noquery t :connection-type 'pipe
                                :command (list (car bench-typing--command) "-Q" "--batch"
                                               "-L" (file-name-directory (locate-library "bench"))
                                               "-l" "bench-agents" "-f" "bench-agents-write" home
                                               (format "%d" bench-typing-agents) (format "%d" rate)
                                               (format "%d" (+ 60 bench-typing-seconds)))
                                :filter #'ignore))
            (sleep-for 1))
          (setq emacs (bench-typing--start kind))
          (unless (bench-typing--wait
                   (lambda () (file-exists-p (bench-typing--file "shown"))) 60)
            (error "The Emacs for %s does not start" kind))
          (when (eq kind 'mcp)
            (setq clients (bench-typing--start-clients)))
          (unless (bench-typing--wait
                   (lambda () (file-exists-p (bench-typing--file "ready"))) 60)
            (error "The Emacs for %s is not ready" kind))
          (bench-typing--work-on emacs clients)
          (unless (bench-typing--wait (lambda () (not (process-live-p emacs))) 60)
            (error "The Emacs for %s does not end" kind))
          (append (list :times bench-typing--times :calls bench-typing--calls)
                  (with-temp-buffer
                    (insert-file-contents (bench-typing--file "stats"))
                    (read (current-buffer)))))
      (dolist (process (append (delq nil (list writer emacs)) clients))
        (when (process-live-p process)
          (delete-process process)))
      (delete-directory bench-typing--work t))))

(defun bench-typing--work-on (emacs clients)
  "Type into EMACS, and let CLIENTS call, for as long as it measures."
  (let* ((start (float-time)) (n 0) (calls 0) (next start))
    (while (and (process-live-p emacs) (< (- (float-time) start) (- bench-typing-seconds 1)))
      ;; Calls of the agents are spread over the second.
      (while (and clients (< (/ calls (float bench-typing-agents)) (- (float-time) start)))
        (bench-typing--call (nth (% calls bench-typing-agents) clients)
                            (/ calls bench-typing-agents))
        (cl-incf calls))
      (when (>= (float-time) next)
        (bench-typing--type emacs n)
        (cl-incf n)
        (setq next (+ (float-time) 0.06 (/ (random 60) 1000.0))))
      (accept-process-output nil 0.01))))

;;; Rows

(defun bench-typing--row (work unit ours yardstick theirs budget)
  "Write the row of WORK: OURS and THEIRS, the figure of YARDSTICK, in UNIT.
BUDGET is the largest allowed ratio, or nil."
  (let ((ratio (/ ours (float (max theirs 1e-9)))))
    (bench-write-line work (format "Emacs %s" emacs-version) unit ours yardstick theirs
                      ratio ratio ratio budget)))

(defun bench-typing--echo-rows (name stats idle)
  "Write the rows of typing with the load NAME: STATS against those of IDLE."
  (pcase-dolist (`(,at . ,words) '((0.5 . "median") (0.99 . "99 %")))
    (bench-typing--row (format "key to echo, %s, %s" name words) "s"
                       (bench-quantile (plist-get stats :times) at)
                       "an idle emacs -Q" (bench-quantile (plist-get idle :times) at) nil)))

(defun bench-typing--load-rows (name stats longest share)
  "Write the rows of the load NAME from STATS.
LONGEST is the budget of a block in seconds, SHARE that of the processor
in percent, or nil."
  (bench-typing--row (format "longest block, %s" name) "s" (plist-get stats :longest)
                     (format "%d ms" (round (* 1000 longest))) longest 1)
  (bench-typing--row (format "share of a core, %s" name) "%" (plist-get stats :share)
                     (if share (format "%d %%" share) "an idle Emacs") (or share 1) (and share 1))
  (bench-note "%s: %d collections, the longest %.1f ms, took %.1f %%; %d KiB were allocated a line"
              name (plist-get stats :collections) (* 1000 (plist-get stats :longest-collection))
              (plist-get stats :collecting) (plist-get stats :line)))

(defun bench-typing-run ()
  "Measure the Emacs that the command line starts, and write the rows."
  (setq bench-typing--command command-line-args-left
        command-line-args-left nil)
  (let* ((idle (bench-typing--measure 'idle))
         (tail (bench-typing--measure 'tail))
         (five (bench-typing--measure 5))
         (fifty (bench-typing--measure 50)))
    (bench-typing--echo-rows "20 agents followed" five idle)
    (bench-typing--echo-rows "20 agents, auto-revert-tail-mode" tail idle)
    (bench-typing--load-rows "20 agents, 5 lines a second" five 0.016 3)
    (bench-typing--load-rows "20 agents, 50 lines a second" fifty 0.05 nil)
    (bench-typing--row "share of a core, 20 agents, 5 lines a second" "%" (plist-get five :share)
                       "auto-revert-tail-mode" (plist-get tail :share) nil)
    (when (getenv "BENCH_MCP")
      (let ((mcp (bench-typing--measure 'mcp)))
        (bench-typing--echo-rows "20 agents by MCP" mcp idle)
        (bench-typing--load-rows "20 agents by MCP, a call a second" mcp 0.016 nil)
        (pcase-dolist (`(,at ,words ,budget ,seconds)
                       '((0.5 "median" "5 ms" 0.005) (0.99 "99 %" "50 ms" 0.05)))
          (bench-typing--row (concat "a call by MCP as the agent sees it, " words) "s"
                             (bench-quantile (plist-get mcp :calls) at) budget seconds 1)))))
  (kill-emacs 0))

(provide 'bench-typing)
;;; bench-typing.el ends here
