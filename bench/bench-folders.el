;;; bench-folders.el --- Following in large folders  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Years of transcripts, files that processes left behind, and more live sessions than
;; anyone has: what a search, a poll and the beginning cost while
;; `todo-write-agents-mode' is on.  All files are in memory if /dev/shm is there: after
;; many were deleted, as here after each sample, ext4 looks for a free inode for long.

;;; Code:

(require 'bench)
(require 'bench-agents)
(require 'bench-load)
(require 'bench-ways)
(require 'todo-write-agents)

(defvar bench-folders--home nil "Folder of Claude Code's files.")

(defvar bench-folders--written 0 "Number of the old transcripts.")

(defun bench-folders--file (name)
  "Return the file NAME in the home."
  (expand-file-name name bench-folders--home))

(defun bench-folders--write (text name)
  "Write TEXT to the file NAME in the home."
  (let ((file (bench-folders--file name)))
    (unless (file-directory-p (file-name-directory file))
      (make-directory (file-name-directory file) t))
    (bench-agents--append text file)
    file))

(defun bench-folders--write-old ()
  "Write a transcript of a session that ended a day ago."
  (cl-incf bench-folders--written)
  (set-file-times
   (bench-folders--write (format "{\"type\":\"user\",\"uuid\":\"u\",\"sessionId\":\"old%d\",\
\"cwd\":\"/garden\",\"isSidechain\":false,\"message\":{\"role\":\"user\",\"content\":\"Dig\"}}\n"
                                 bench-folders--written)
                         (format "projects/-garden/old%d.jsonl" bench-folders--written))
   (- (float-time) 86400)))

(defun bench-folders--write-dead (n)
  "Write the files of N processes that died.  No process has such an id."
  (dotimes (place n)
    (bench-folders--write "{\"sessionId\":\"old1\",\"status\":\"idle\",\"procStart\":\"1\"}"
                          (format "sessions/%d.json" (+ 90000000 place)))))

(defconst bench-folders--place
  (let ((memory "/dev/shm/"))
    (if (file-writable-p memory) memory temporary-file-directory))
  "The folder of all files.")

(defun bench-folders--begin ()
  "Make an empty home."
  (setq bench-folders--home (make-temp-file (expand-file-name "bench" bench-folders--place) t)
        todo-write-directory (expand-file-name "journal/" bench-folders--home)
        bench-folders--written 0
        todo-write-socket (expand-file-name "socket" bench-folders--home)
        todo-write-follow-agents (list (cons 'claude bench-folders--home))))

(defun bench-folders--end ()
  "Stop following, and delete all files."
  (todo-write-agents-mode -1)
  (todo-write-follow-stop)
  (mapc #'todo-write-forget (todo-write-threads))
  (delete-directory bench-folders--home t))

;;; Many live sessions

(defun bench-folders--start-processes (count)
  "Start COUNT processes that sleep; return that of their shell and their ids."
  (let* ((said "")
         (shell (make-process
                 :name "agents" :connection-type 'pipe :noquery t
                 :command
                 (list "sh" "-c" (format "n=0; while [ $n -lt %d ]; do sleep 1000 & echo $!; \
n=$((n + 1)); done; echo end; wait" count))
                 :filter (lambda (_ text) (setq said (concat said text))))))
    (with-timeout (60 (error "The processes do not start"))
      (while (not (string-suffix-p "end\n" said))
        (accept-process-output shell 1)))
    (cons shell (mapcar #'string-to-number (butlast (split-string said "\n" t))))))

(defun bench-folders--write-live (pids)
  "Write the sessions of the processes PIDS, each with 20 lines."
  (seq-do-indexed
   (lambda (pid agent)
     (bench-folders--write
      (mapconcat (lambda (n) (bench-agents-line agent n)) (number-sequence 0 19) "")
      (format "projects/-garden-%d/agent%d.jsonl" agent agent))
     (bench-folders--write
      (json-serialize `( :pid ,pid :sessionId ,(format "agent%d" agent) :status "busy"
                         :cwd ,(format "/garden/%d" agent)
                         :procStart ,(bench-agents--start pid)
                         :startedAt ,(truncate (* 1000 (float-time)))))
      (format "sessions/%d.json" pid)))
   pids))

(defun bench-folders--measure-live (count)
  "Return how long COUNT live sessions take, a plist.
It has the seconds until all are read, and those of the longest block
until then."
  (pcase-let ((`(,shell . ,pids) (bench-folders--start-processes count)))
    (unwind-protect
        (progn
          (bench-folders--begin)
          (bench-folders--write-live pids)
          (garbage-collect)
          (setq bench-load-longest 0)
          (let ((start (float-time)) (collecting gc-elapsed) seconds)
            (bench-load-block 'todo-write-agents-mode #'todo-write-agents-mode '(1))
            (while (< (seq-count (lambda (session)
                                   (eq 'ready (todo-write-follow--session-state session)))
                                 todo-write-follow--followed)
                      count)
              (accept-process-output nil 0.001))
            (setq seconds (- (float-time) start)
                  collecting (- gc-elapsed collecting))
            (unless (= count (length todo-write-follow--followed))
              (error "%d sessions began" (length todo-write-follow--followed)))
            (list :begin seconds :collecting collecting :longest bench-load-longest)))
      (signal-process (- (process-id shell)) 'TERM)
      (bench-folders--end))))

(defun bench-folders--live-rows (count times &optional fewer)
  "Measure COUNT live sessions, TIMES times; return the samples.
FEWER are those of 300 sessions, or nil for a comparison with the limits."
  (let ((samples (cl-loop repeat times collect (bench-folders--measure-live count))))
    (pcase-dolist (`(,what ,key ,words ,limit ,why)
                   '(("%d live sessions begin" :begin "0.3 s" 0.3
                      "each begins a journal, and all 20 lines of its transcript are recorded")
                     ("%d live sessions begin, longest block" :longest "16 ms" 0.016
                      "all that is found is compared with what is followed")))
      (let ((value (lambda (sample) (plist-get sample key))))
        (bench-row (format what count) samples (if fewer "300 of them" words)
                   (if fewer (bench-quantile (mapcar value fewer) 0.5) limit)
                   :budget (unless fewer 1) :felt t :why why :measure value)))
    (bench-note "%d live sessions begin: %.0f ms of it are collections" count
                (* 1000 (bench-quantile (mapcar (lambda (sample) (plist-get sample :collecting))
                                                samples)
                                        0.5)))
    samples))

(bench-load-watch)
;; First: a file system is slow to make files after many were deleted.
(bench-folders--live-rows 1000 1 (bench-folders--live-rows 300 5))

;;; Searches

(defun bench-folders--search ()
  "Search for new sessions, and wait for what is found."
  (let* (found
         (note (lambda (message) (when (eq 'found (car message)) (setq found t)))))
    (add-hook 'todo-write-hub-functions note)
    (todo-write-hub-tell nil '(search))
    (while (not found)
      (accept-process-output nil 0.001))
    (remove-hook 'todo-write-hub-functions note)))

(defun bench-folders--search-row (transcripts &optional fewer)
  "Measure a search among TRANSCRIPTS after a new one; return the samples.
FEWER are those of 5,000 transcripts, or nil for a comparison with the limit."
  (let ((samples (alist-get
                  'search
                  (bench-compare
                   `((search . ,(make-bench-way
                                 :begin (lambda ()
                                          (bench-folders--begin)
                                          (dotimes (_ transcripts) (bench-folders--write-old))
                                          (todo-write-agents-mode))
                                 :call (lambda (_) (bench-folders--search))
                                 :settle #'bench-folders--write-old
                                 :end #'bench-folders--end)))
                   [nil] 20 1))))
    (bench-row (format "a search for new sessions, %d transcripts" transcripts) samples
               (if fewer "5000 of them" "50 ms") (or fewer 0.05)
               :budget (unless fewer 1) :felt t)
    samples))

(bench-folders--search-row 20000 (bench-folders--search-row 5000))

(provide 'bench-folders)
;;; bench-folders.el ends here
