;;; bench-follow.el --- Following sessions of agents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Polling a session without new lines, polling while 50 other sessions and the files of
;; 50 dead processes exist, and opening sessions of 3, 30 and 200 MB, until all is recorded.
;; A block is the time between two looks at input, whatever ran meanwhile, without
;; collections.

;;; Code:

(require 'bench)
(require 'bench-ways)
(require 'todo-write-agents)

(defconst bench-follow-sizes
  '((3 0.3 "Emacs takes what a thread reads for some milliseconds at a time")
    (30 2 "Emacs takes what a thread reads for some milliseconds at a time")
    (200 2 "Emacs takes what a thread reads for some milliseconds at a time"))
  "Sessions to open: (MEGABYTES SECONDS WHY).
SECONDS is the limit, WHY says where the longest block comes from.")

(defun bench-follow--edit (n)
  "Return the input of an edit, the Nth call, which changes one of eight lines."
  (let ((lines (mapcar (lambda (line) (format "(plant-bed %d %d)" n line)) (number-sequence 1 8))))
    (list :file_path (format "/garden/bed-%d.el" (% n 50))
          :old_string (string-join lines "\n")
          :new_string (string-join (cons (format "(water-bed %d)" n) (cdr lines)) "\n"))))

(defun bench-follow--input (call list todos)
  "Return (NAME . INPUT) of CALL, a number: of a list of TODOS if LIST is non-nil.
Of the other calls, one of five changes a file and one runs a command."
  (cond (list (cons "TodoWrite" (list :todos todos)))
        ((= 1 (% call 5)) (cons "Edit" (bench-follow--edit call)))
        ((= 2 (% call 5)) (cons "Bash" (list :command (format "make bed-%d" call))))
        (t (cons "Read" '(:file_path "/garden/beds.txt")))))

(defun bench-follow--line (n)
  "Return line N of a session, as Claude Code writes it.
There is a call of TodoWrite or its result in every 20th pair of lines."
  (let* ((list (= 0 (% (/ n 2) 20)))
         (todos (vector (list :content (format "Part %d" n) :status "in_progress"
                              :activeForm "Working")))
         (call (bench-follow--input (/ n 2) list todos))
         (message
          (if (cl-oddp n)
              (list :id (format "m%d" n) :role "assistant" :model "claude-opus-5-5"
                    :usage (list :input_tokens 4 :output_tokens n :cache_read_input_tokens 90000
                                 :cache_creation_input_tokens 800)
                    :content (vector (list :type "tool_use" :id (format "call%d" (/ n 2))
                                           :name (car call) :input (cdr call))))
            (list :role "user"
                  :content (if (= n 0) "Look after the garden"
                             (vector (list :type "tool_result"
                                           :tool_use_id (format "call%d" (/ (1- n) 2))
                                           :content (make-string 2000 ?x))))))))
    (concat
     (json-serialize
      (list :parentUuid (format "u%d" (1- n)) :isSidechain :false :cwd "/garden" :sessionId "s"
            :entrypoint "cli" :version "2.1.330" :type (if (cl-oddp n) "assistant" "user")
            :message message :uuid (format "u%d" n)
            :timestamp (format-time-string "%FT%T.000Z" (+ 1760000000 n) t)))
     "\n")))

(defun bench-follow--write (file bytes)
  "Write a session of at least BYTES bytes to FILE."
  (make-directory (file-name-directory file) t)
  (let ((coding-system-for-write 'utf-8-unix) (n 0) (size 0))
    (write-region "" nil file nil 'silent)
    (while (< size bytes)
      (with-temp-buffer
        (while (< (buffer-size) (min 4000000 bytes))
          (insert (bench-follow--line n))
          (setq n (1+ n)))
        (setq size (+ size (buffer-size)))
        (write-region nil nil file t 'silent)))))

(defvar bench-follow--home nil "Folder of Claude Code's files.")

(defun bench-follow--file (name)
  "Return the transcript of the session NAME."
  (expand-file-name (format "projects/-garden/%s.jsonl" name) bench-follow--home))

(defun bench-follow--begin (bytes sessions)
  "Make the home of Claude Code with a session of BYTES and SESSIONS old ones."
  (setq todo-write-directory bench-folder
        bench-follow--home (make-temp-file "bench" t)
        todo-write-socket (expand-file-name "socket" bench-follow--home)
        todo-write-follow-agents (list (cons 'claude bench-follow--home)))
  (bench-follow--write (bench-follow--file "s") bytes)
  (make-directory (expand-file-name "sessions" bench-follow--home))
  (dotimes (n sessions)
    (let ((file (bench-follow--file (format "old%d" n))))
      (bench-follow--write file 100000)
      (set-file-times file (- (float-time) 100000))
      ;; No process has an id as large as these.
      (write-region (format "{\"sessionId\":\"old%d\",\"status\":\"idle\",\"procStart\":\"1\"}" n)
                    nil (expand-file-name (format "sessions/%d.json" (+ 99999900 n))
                                          bench-follow--home)
                    nil 'silent))))

(defun bench-follow--end ()
  "Stop following and delete all files."
  (todo-write-follow-stop)
  (mapc #'todo-write-forget (todo-write-threads))
  (delete-directory bench-follow--home t))

(defun bench-follow--way (bytes sessions call)
  "Return a way that does CALL with a session of BYTES and SESSIONS old ones."
  (make-bench-way
   :begin (lambda ()
            (bench-follow--begin bytes sessions)
            (todo-write-agents-mode)
            (todo-write-follow (bench-follow--file "s")))
   :call call
   :end #'bench-follow--end))

(let ((samples (bench-compare
                `((look . ,(bench-follow--way
                            100000 50 (lambda (_) (todo-write-follow (bench-follow--file "s"))))))
                [nil] 100 (max 3 (/ bench-rounds 3)))))
  (bench-row "a session that is followed is checked" (alist-get 'look samples) "5 ms" 5e-3
             :budget 1 :felt t :why "a thread reads it and all processes, and says so"))

(defvar bench-follow--longest 0 "Seconds of the longest block of this opening.")

(defvar bench-follow--looked 0
  "When input was looked at last; see `bench-follow--clock'.")

(defun bench-follow--clock ()
  "Return the seconds on the wall clock, without those of collections.
Slices end by that clock: where other programs share the processor, its
own time would hide them."
  (- (float-time) gc-elapsed))

(defun bench-follow--look (&optional function &rest arguments)
  "End a block, apply FUNCTION, which looks at input, and begin a block.
ARGUMENTS are those of FUNCTION."
  (setq bench-follow--longest (max bench-follow--longest
                                   (- (bench-follow--clock) bench-follow--looked)))
  (prog1 (and function (apply function arguments))
    (setq bench-follow--looked (bench-follow--clock))))

(defun bench-follow--take (function &rest arguments)
  "Apply FUNCTION, which takes what threads have read, to ARGUMENTS; note the block."
  (setq bench-follow--looked (bench-follow--clock))
  (prog1 (apply function arguments)
    (bench-follow--look)))

(defun bench-follow--forget ()
  "Forget the session, so that the next opening records all of it again."
  (todo-write-follow-stop)
  (mapc #'todo-write-forget (todo-write-threads))
  (setq todo-write-directory (make-temp-file "journals" t)))

(defvar bench-follow--blocks nil "Seconds of the longest block of each opening.")

(defun bench-follow--open ()
  "Open the large session until all of it is recorded, and note its longest block."
  (setq bench-follow--longest 0
        bench-follow--looked (bench-follow--clock))
  (advice-add 'accept-process-output :around #'bench-follow--look)
  (advice-add 'todo-write-hub--filter :around #'bench-follow--take)
  (unwind-protect (todo-write-follow (bench-follow--file "s"))
    (advice-remove 'todo-write-hub--filter #'bench-follow--take)
    (advice-remove 'accept-process-output #'bench-follow--look))
  (bench-follow--look)
  (unless (todo-write-observations "claude:s" :type "TOOL_CALL" :limit 1)
    (error "Nothing is recorded"))
  (push bench-follow--longest bench-follow--blocks))

(pcase-dolist (`(,megabytes ,seconds ,why) bench-follow-sizes)
  (setq bench-follow--blocks nil)
  (let ((samples (bench-compare
                  `((open . ,(make-bench-way
                              :begin (lambda () (bench-follow--begin (* megabytes 1000000) 0))
                              :call (lambda (_) (bench-follow--open))
                              :settle #'bench-follow--forget
                              :end #'bench-follow--end)))
                  [nil] 2 (max 2 (/ bench-rounds 7))))
        (work (format "a session of %d MB opened" megabytes)))
    (bench-row work (alist-get 'open samples) (format "%s s" seconds) seconds :budget 1 :felt t)
    (bench-row (concat work ", longest block") bench-follow--blocks "16 ms" 0.016
               :measure #'identity :budget 1 :felt t :why why)))

(provide 'bench-follow)
;;; bench-follow.el ends here
