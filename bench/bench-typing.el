;;; bench-typing.el --- Type while agents work  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Runs an Emacs in a hidden terminal, types into it, and measures the time from
;; each key to its echo, while 20 agents work that it follows or serves by MCP.  That
;; Emacs measures itself with bench-load.el.  Yardsticks are an idle `emacs -Q', and two
;; ways to watch the same transcripts without a package: `auto-revert-tail-mode', and
;; `tail -f' in a terminal buffer.
;;
;;     $EMACS --batch -L bench -l bench-typing -f bench-typing-run EMACS ARGUMENT...

;;; Code:

(require 'bench)
(require 'bench-agents)
(require 'todo-write-probe-helper)

(defconst bench-typing-agents 20 "Number of agents.")

(defconst bench-typing-seconds
  (string-to-number (or (getenv "BENCH_SECONDS") "15"))
  "Seconds of each measurement.")

(defvar bench-typing--command nil "The command that starts the Emacs.")

(defvar bench-typing--work nil "A folder for the files of a run.")

(defvar bench-typing--times nil "Seconds from key to echo.")

(defun bench-typing--file (name)
  "Return the name of the file NAME of this run."
  (expand-file-name name bench-typing--work))

(defun bench-typing--start (kind)
  "Start the Emacs for the load of KIND; return its process."
  (let* ((process-environment
          (append (list "TERM=xterm-256color" (format "BENCH_LOAD=%s" kind)
                        (concat "BENCH_WORK=" bench-typing--work)
                        (format "BENCH_SECONDS=%d" bench-typing-seconds))
                  process-environment))
         (process (make-process :name "emacs" :connection-type 'pty :noquery t
                                :coding 'no-conversion :filter #'ignore
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

;;; MCP

(defvar bench-typing--calls nil "Seconds that calls took.")

(defun bench-typing--start-clients ()
  "Start a program for each agent; return their processes."
  (cl-loop for n below bench-typing-agents
           for client = (make-process
                         :name "mcp" :connection-type 'pipe :coding 'binary :noquery t
                         :command (list (locate-file "todo-write-mcp" load-path)
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
KIND is `idle', `tail', `term', (mcp . CALLS), the calls a second of each
agent, or the number of lines a second that each agent writes."
  (let* ((bench-typing--work (make-temp-file "typing" t))
         (process-environment process-environment)
         (home (bench-typing--file "agents"))
         (rate (cond ((numberp kind) kind) ((memq kind '(tail term)) 5)))
         bench-typing--times bench-typing--calls writer clients emacs)
    (make-directory home)
    (unwind-protect
        (progn
          (when rate
            (setq writer (bench-typing--start-writer home rate))
            (sleep-for 1))
          (setq emacs (bench-typing--start (or (car-safe kind) kind)))
          (bench-typing--await "shown")
          (when (consp kind)
            (setq clients (bench-typing--start-clients)))
          (bench-typing--await "ready")
          (bench-typing--work-on emacs clients (cdr-safe kind))
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

(defun bench-typing--start-writer (home rate)
  "Start what writes RATE lines a second for each agent of HOME."
  (make-process :name "writer" :noquery t :connection-type 'pipe :filter #'ignore
                :command (list (car bench-typing--command) "-Q" "--batch"
                               "-L" (file-name-directory (locate-library "bench"))
                               "-l" "bench-agents" "-f" "bench-agents-write" home
                               (format "%d" bench-typing-agents) (format "%d" rate)
                               (format "%d" (+ 60 bench-typing-seconds)))))

(defun bench-typing--await (name)
  "Wait for the file NAME of this run."
  (unless (bench-typing--wait (lambda () (file-exists-p (bench-typing--file name))) 60)
    (error "The measured Emacs does not get as far as %s" name)))

(defun bench-typing--work-on (emacs clients calls)
  "Type into EMACS, and let each of CLIENTS call CALLS times a second."
  (let* ((start (float-time)) (end (+ start bench-typing-seconds -1))
         (step (and clients (/ 1.0 calls (length clients))))
         (probe (todo-write-probe emacs "þðø"))
         (call start) (key start) (called 0) (now start))
    (while (and (process-live-p emacs) (< now end))
      ;; Calls are spread over the second, and keys come at any moment between them.
      (while (and clients (>= now call))
        (bench-typing--call (nth (% called (length clients)) clients) (/ called (length clients)))
        (cl-incf called)
        (cl-incf call step))
      (when (>= now key)
        (push (or (car (todo-write-probe-type (list probe) 2)) 2.0) bench-typing--times)
        (setq key (+ (float-time) 0.06 (/ (random 60) 1000.0))))
      (setq now (float-time))
      (accept-process-output nil (max 0.001 (- (if clients (min key call) key) now)))
      (setq now (float-time)))))

;;; Rows

(defun bench-typing--row (work unit ours yardstick theirs &optional budget why)
  "Write the row of WORK: OURS and THEIRS, the figure of YARDSTICK, in UNIT.
BUDGET is the largest allowed ratio, or nil, and WHY why it is missed if
it is."
  (let ((ratio (/ ours (float (max theirs 1e-9)))))
    (bench-write-line work (format "Emacs %s" emacs-version) unit ours yardstick theirs
                      ratio ratio ratio budget "felt" why)))

(defun bench-typing--echo-rows (name stats idle)
  "Write the rows of typing with the load NAME: STATS against those of IDLE."
  (pcase-dolist (`(,at . ,words) '((0.5 . "median") (0.99 . "99 %")))
    (bench-typing--row (format "key to echo, %s, %s" name words) "s"
                       (bench-quantile (plist-get stats :times) at)
                       "an idle emacs -Q" (bench-quantile (plist-get idle :times) at))))

(defun bench-typing--block-row (name stats longest)
  "Write the row of the longest block of the load NAME from STATS.
LONGEST is the longest allowed one in milliseconds."
  (bench-typing--row (concat "longest block, " name) "s" (plist-get stats :longest)
                     (format "%d ms" longest) (/ longest 1000.0) 1)
  (bench-note "%s: of %.1f %% of a core, Emacs takes %.1f %%, the program the rest"
              name (plist-get stats :share) (plist-get stats :emacs))
  (bench-note "%s: %d collections, the longest %.1f ms, took %.1f %%; %d KiB allocated a second"
              name (plist-get stats :collections) (* 1000 (plist-get stats :longest-collection))
              (plist-get stats :collecting) (plist-get stats :allocated)))

(defun bench-typing--share-row (name stats yardstick theirs &optional budget)
  "Write the row of the processor's use with the load NAME from STATS.
YARDSTICK uses THEIRS percent of a core; BUDGET is the allowed ratio."
  (bench-typing--row (concat "share of a core, " name) "%" (plist-get stats :share)
                     yardstick theirs budget
                     (format "collections took %.1f %% of the time" (plist-get stats :collecting))))

(defun bench-typing--follow-rows (idle)
  "Measure following, and write the rows.  IDLE is an idle Emacs."
  (let* ((tail (bench-typing--measure 'tail))
         (term (bench-typing--measure 'term))
         (five (bench-typing--measure 5))
         (fifty (bench-typing--measure 50))
         (at-five "20 agents followed, 5 lines a second each")
         (at-fifty "20 agents followed, 50 lines a second each"))
    (bench-typing--echo-rows at-five five idle)
    (bench-typing--echo-rows at-fifty fifty idle)
    (bench-typing--echo-rows "their transcripts in auto-revert-tail-mode" tail idle)
    (bench-typing--echo-rows "their transcripts by tail -f in a terminal buffer" term idle)
    (bench-typing--block-row at-five five 16)
    (bench-typing--block-row at-fifty fifty 50)
    (bench-typing--share-row at-five five "3 %" 3 1)
    (bench-typing--share-row at-five five "auto-revert-tail-mode" (plist-get tail :share))
    (bench-typing--share-row at-five five "tail -f in a terminal buffer" (plist-get term :share))
    (bench-typing--share-row at-fifty fifty "5 lines a second each" (plist-get five :share))))

(defun bench-typing--mcp-rows (idle)
  "Measure serving by MCP, and write the rows.  IDLE is an idle Emacs."
  (let ((one (bench-typing--measure '(mcp . 1)))
        (four (bench-typing--measure '(mcp . 4)))
        (at-one "20 agents by MCP, a call a second each")
        (at-four "20 agents by MCP, 4 calls a second each"))
    (bench-typing--echo-rows at-one one idle)
    (bench-typing--block-row at-one one 16)
    (bench-typing--share-row at-one one "3 %" 3 1)
    (bench-typing--share-row at-four four "a call a second each" (plist-get one :share))
    (pcase-dolist (`(,at ,words ,milliseconds) '((0.5 "median" 1) (0.99 "99 %" 20)))
      (bench-typing--row (format "a call by MCP as the agent sees it, %s" words) "s"
                         (bench-quantile (plist-get one :calls) at)
                         (format "%d ms" milliseconds) (/ milliseconds 1000.0) 1
                         (format "some calls wait for a collection, of at most %.0f ms"
                                 (* 1000 (plist-get one :longest-collection)))))))

(defun bench-typing-run ()
  "Measure the Emacs that the command line starts, and write the rows."
  (setq bench-typing--command command-line-args-left
        command-line-args-left nil)
  (let ((idle (bench-typing--measure 'idle)))
    (bench-typing--follow-rows idle)
    (bench-typing--mcp-rows idle))
  (kill-emacs 0))

(provide 'bench-typing)
;;; bench-typing.el ends here
