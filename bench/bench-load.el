;;; bench-load.el --- What an Emacs feels of many agents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Measures this Emacs while it follows agents, with overview, mode line and
;; notifications on.  A block is a call of a timer, of a handler of file
;; notifications, or of a process filter or sentinel: what keeps Emacs from reading
;; a key.  Its time is that of the processor, so that other programs do not count,
;; without collections, which are counted beside.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'svg)

(defvar auto-revert-verbose)
(defvar todo-write-directory)
(defvar todo-write-follow-agents)
(defvar todo-write-socket)
(declare-function todo-write-agents-mode "todo-write-agents")
(declare-function todo-write-list "todo-write-list")
(declare-function todo-write-mode-line-mode "todo-write-mode-line")
(declare-function todo-write-notify-mode "todo-write-notify")

(defvar bench-load-blocks (make-hash-table :test #'equal)
  "Lists (TIMES SECONDS LONGEST) by the name of what ran.")

(defvar bench-load-longest 0 "Seconds of the longest block without collections.")

(defvar bench-load--inside nil "Non-nil in a block.")

(defun bench-load-block (name function arguments)
  "Apply FUNCTION to ARGUMENTS and note how long that takes, by NAME."
  (if (or bench-load--inside (string-prefix-p "bench-load" (symbol-name name)))
      (apply function arguments)
    (let ((bench-load--inside t) (collected gc-elapsed)
          (start (float-time (get-internal-run-time))) (began (float-time)))
      (unwind-protect (apply function arguments)
        ;; The time of collections is not that of the processor.
        (let* ((seconds (min (- (float-time (get-internal-run-time)) start)
                             (- (float-time) began (- gc-elapsed collected))))
               (entry (or (gethash name bench-load-blocks)
                          (puthash name (list 0 0 0) bench-load-blocks))))
          (cl-incf (nth 0 entry))
          (cl-incf (nth 1 entry) seconds)
          (setf (nth 2 entry) (max seconds (nth 2 entry))
                bench-load-longest (max seconds bench-load-longest)))))))

(defun bench-load-watch ()
  "Note each block from now on."
  (advice-add 'timer-event-handler :around
              (lambda (function timer)
                (bench-load-block (let ((name (timer--function timer)))
                                   (if (symbolp name) name 'a-timer))
                                 function (list timer))))
  (advice-add 'file-notify-handle-event :around
              (lambda (function &rest arguments)
                (bench-load-block 'file-notification function arguments)))
  (advice-add 'todo-write-hub--filter :around
              (lambda (function &rest arguments)
                (bench-load-block 'hub function arguments)))
  (advice-add 'make-network-process :filter-return #'bench-load--watch-process)
  (advice-add 'set-process-filter :filter-args
              (lambda (arguments)
                (list (car arguments) (bench-load--watched (cadr arguments))))))

(defun bench-load--watched (function)
  "Return FUNCTION, a filter or sentinel, so that each call is noted."
  (if (memq function '(t nil)) function
    (lambda (&rest arguments) (bench-load-block 'process function arguments))))

(defun bench-load--watch-process (process)
  "Note each call of the filter and of the sentinel of PROCESS; return it."
  (set-process-filter process (process-filter process))
  (set-process-sentinel process (bench-load--watched (process-sentinel process)))
  process)

(defvar todo-write-hub-process)

(defun bench-load-emacs-cpu (&optional process)
  "Return the seconds of the processor that PROCESS, by default this Emacs, used.
PROCESS is a number."
  (let ((attributes (process-attributes (or process (emacs-pid)))))
    (+ (float-time (alist-get 'utime attributes 0)) (float-time (alist-get 'stime attributes 0)))))

(defun bench-load-cpu ()
  "Return the seconds of the processor that this Emacs and its program used."
  (+ (bench-load-emacs-cpu)
     (if (process-live-p (bound-and-true-p todo-write-hub-process))
         (bench-load-emacs-cpu (process-id todo-write-hub-process))
       0)))

(defun bench-load-rss ()
  "Return the memory of this Emacs in KiB."
  (alist-get 'rss (process-attributes (emacs-pid)) 0))

(defun bench-load--count (what)
  "Return the number of threads of this Emacs, or of its open files.
WHAT is \"task\" or \"fd\"."
  (let ((folder (format "/proc/self/%s" what)))
    (if (file-directory-p folder) (length (directory-files folder nil "[0-9]" t)) 0)))

(defun bench-load-lisp ()
  "Return the memory of live Lisp objects in KiB."
  (/ (cl-loop for (_ size live) in (garbage-collect) sum (* size live)) 1024))

(defun bench-load-show (home)
  "Follow all agents of HOME, with all that a user switches on."
  (require 'todo-write-agents)
  (require 'todo-write-list)
  (require 'todo-write-mode-line)
  (require 'todo-write-notify)
  (setq todo-write-follow-agents (list (cons 'claude home)))
  (todo-write-mode-line-mode 1)
  (todo-write-notify-mode 1)
  (todo-write-list)
  (switch-to-buffer-other-window "*scratch*")
  (todo-write-agents-mode 1))

;;; A measurement: bench-typing.el

(defvar bench-load--longest-collection 0 "Seconds of the longest collection.")

(defun bench-load--note-collections ()
  "Note how long each collection takes."
  (let ((last gc-elapsed))
    (add-hook 'post-gc-hook
              (lambda ()
                (setq bench-load--longest-collection
                      (max bench-load--longest-collection (- gc-elapsed last))
                      last gc-elapsed)))))

(defun bench-load--bytes ()
  "Return the bytes that were allocated so far."
  (apply #'+ (cl-mapcar #'* (memory-use-counts) '(16 8 8 48 1 56 32))))

(defun bench-load--file (name)
  "Return the file NAME of the folder in which the typing Emacs looks."
  (expand-file-name name (getenv "BENCH_WORK")))

(defun bench-load--say (name &optional text)
  "Write TEXT into the file NAME."
  (let ((new (bench-load--file (concat name ".new"))))
    (write-region (or text "") nil new nil 'silent)
    (rename-file new (bench-load--file name))))

(defun bench-load--show-tails (home)
  "Visit all transcripts in HOME with `auto-revert-tail-mode'."
  (require 'autorevert)
  (setq auto-revert-verbose nil)
  (dolist (file (file-expand-wildcards (expand-file-name "projects/*/*.jsonl" home)))
    (with-current-buffer (find-file-noselect file)
      (auto-revert-tail-mode 1)
      (goto-char (point-max))))
  (display-buffer (current-buffer)))

(declare-function term-mode "term")
(declare-function term-exec "term")
(declare-function term-char-mode "term")

(defun bench-load--show-terminal (home)
  "Show all transcripts in HOME by `tail -f' in a buffer of a terminal."
  (require 'term)
  (let ((files (file-expand-wildcards (expand-file-name "projects/*/*.jsonl" home))))
    (with-current-buffer (get-buffer-create "*tail*")
      (term-mode)
      (term-exec (current-buffer) "tail" "tail" nil `("-n" "0" "-f" ,@files))
      (term-char-mode)
      (display-buffer (current-buffer)))))

(defun bench-load-terminal ()
  "Be the Emacs that bench-typing.el measures; BENCH_LOAD says with what load."
  (let* ((load (getenv "BENCH_LOAD")) (home (bench-load--file "agents"))
         (seconds (string-to-number (getenv "BENCH_SECONDS"))))
    (set-terminal-coding-system 'utf-8)
    (set-keyboard-coding-system 'utf-8)
    (setq make-backup-files nil ring-bell-function #'ignore inhibit-message t)
    (bench-load-watch)
    (bench-load--note-collections)
    (pcase load
      ("idle")
      ("tail" (bench-load--show-tails home))
      ("term" (bench-load--show-terminal home))
      (_ (setq todo-write-directory (bench-load--file "journals/"))
         (setq todo-write-socket (bench-load--file "socket"))
         (bench-load-show home)))
    (switch-to-buffer "typing")
    (setq buffer-undo-list t)
    (bench-load--say "shown")
    (run-with-timer 4 nil #'bench-load--begin seconds)))

(defun bench-load--begin (seconds)
  "Measure for SECONDS from now."
  (garbage-collect)
  (clrhash bench-load-blocks)
  (setq bench-load-longest 0 bench-load--longest-collection 0)
  (run-with-timer seconds nil #'bench-load--finish
                  (list (float-time) (bench-load-cpu) (bench-load-emacs-cpu) gc-elapsed gcs-done (bench-load--bytes)))
  (bench-load--say "ready"))

(defun bench-load--finish (before)
  "Write what happened since BEFORE, and exit."
  (pcase-let* ((`(,start ,cpu ,emacs ,collecting ,collections ,bytes) before)
               (span (- (float-time) start)))
    (bench-load--say
     "stats"
     (format "%S" (list :share (* 100 (/ (- (bench-load-cpu) cpu) span))
                        :emacs (* 100 (/ (- (bench-load-emacs-cpu) emacs) span))
                        :longest bench-load-longest
                        :collecting (* 100 (/ (- gc-elapsed collecting) span))
                        :collections (- gcs-done collections)
                        :longest-collection bench-load--longest-collection
                        :allocated (/ (- (bench-load--bytes) bytes) 1024 span)
                        :blocks (bench-load--blocks-text))))
    (kill-emacs 0)))

;;; The soak: bin/soak with AGENTS

(defvar bench-load--samples nil
  "Samples, newest first, plists of what `bench-load--sample' measures.")

(defvar bench-load--began 0 "When the soak began, as a float.")

(defun bench-load--sample ()
  "Note the memory after a collection, and what was used so far."
  (let* ((lisp (bench-load-lisp))
         (sample (list :seconds (round (- (float-time) bench-load--began))
                       :rss (progn (when (fboundp 'malloc-trim) (malloc-trim))
                                   (bench-load-rss))
                       :lisp lisp
                       :threads (bench-load--count "task") :files (bench-load--count "fd")
                       :cpu (bench-load-cpu)
                       :collected gc-elapsed :collections gcs-done
                       :longest bench-load-longest)))
    (push sample bench-load--samples)
    (setq bench-load-longest 0)
    (write-region (format "%S\n" sample) nil (expand-file-name "agents.el" (getenv "SOAK_OUTPUT"))
                  t 'silent)))

(defun bench-load--blocks-text ()
  "Return the blocks by name, the longest first, as lines."
  (let (rows)
    (maphash (lambda (name entry) (push (cons name entry) rows)) bench-load-blocks)
    (mapconcat (pcase-lambda (`(,name ,times ,seconds ,longest))
                 (format "%-42s %8d times %8.2f s, longest %6.1f ms"
                         name times seconds (* 1000 longest)))
               (sort rows (lambda (a b) (> (nth 3 a) (nth 3 b))))
               "\n")))

(defun bench-load--at (minute samples)
  "Return the one of SAMPLES, the oldest first, that was taken at MINUTE, or nil."
  (seq-find (lambda (sample) (>= (plist-get sample :seconds) (* 60 minute))) samples))

(defun bench-load--figures (samples)
  "Return what SAMPLES, the oldest first, show.
The value is a list of (NAME FIGURE LIMIT MET), texts that may be empty."
  (let* ((first (car samples)) (last (car (last samples))) (tenth (bench-load--at 10 samples))
         (span (float (max 1 (- (plist-get last :seconds) (plist-get first :seconds)))))
         (share (lambda (key) (* 100 (/ (- (plist-get last key) (plist-get first key)) span))))
         (blocks (sort (mapcar (lambda (sample) (* 1000 (plist-get sample :longest))) (cdr samples))
                       #'<)))
    `(,@(cl-loop for minute in '(1 10 30 60)
                 for sample = (bench-load--at minute samples)
                 when sample
                 collect (list (format "memory at minute %d, of it Lisp" minute)
                               (format "%.1f MiB, %.1f MiB" (/ (plist-get sample :rss) 1024.0)
                                       (/ (plist-get sample :lisp) 1024.0))
                               "" ""))
      ,@(and tenth
             (list (bench-load--figure
                    "memory from minute 10 to the end" "%+.1f %%" 2
                    (* 100 (- (/ (plist-get last :rss) (float (plist-get tenth :rss))) 1))
                    (concat "tables of known lines double until they have 65,536 places a session, "
                            "and each list adds to the history of its plan"))))
      ,(bench-load--figure "share of a core" "%.1f %%" 3 (funcall share :cpu)
                           (format "collections take %.1f %%" (funcall share :collected)))
      ,@(cl-loop for (name key) in '(("threads" :threads) ("open files" :files))
                 collect (list (concat name " at the first minute and at the end")
                               (format "%d, %d" (plist-get first key) (plist-get last key)) "" ""))
      ("collections a minute" ,(format "%.0f" (* 0.6 (funcall share :collections))) "" "")
      ,(bench-load--figure "longest block" "%.1f ms" 16 (car (last blocks))
                           (format "half of the minutes have none over %.1f ms, others share the cores"
                                   (nth (/ (length blocks) 2) blocks))))))

(defun bench-load--figure (name format limit value &optional why)
  "Return the figure NAME with VALUE, shown by FORMAT, and its LIMIT.
WHY is why the limit is missed if it is."
  (list name (format format value) (format format limit)
        (cond ((<= value limit) "yes")
              (why (concat "NO: " why))
              (t "NO"))))

(defun bench-load--title (samples)
  "Return what made SAMPLES, the oldest first."
  (format "Emacs %s, %s agents, %s lines a second each, %.0f minutes%s" emacs-version
          (getenv "AGENTS") (getenv "LINES") (/ (plist-get (car (last samples)) :seconds) 60)
          (if (getenv "NOTE") (concat ", " (getenv "NOTE")) "")))

(defun bench-load--report ()
  "Return what the soak showed, as lines of text."
  (let ((samples (reverse bench-load--samples)))
    (concat (bench-load--title samples) "\n"
            (mapconcat (pcase-lambda (`(,name ,figure ,limit ,met))
                         (format "%-34s %22s %s\n" name figure
                                 (if (equal limit "") "" (format "of at most %s: %s" limit met))))
                       (bench-load--figures samples) "")
            (bench-load--blocks-text) "\n")))

(defun bench-load--end ()
  "Write the report and exit."
  (bench-load--sample)
  (write-region (bench-load--report) nil
                (expand-file-name "agents.txt" (getenv "SOAK_OUTPUT")) nil 'silent)
  (kill-emacs 0))

(defun bench-load-soak ()
  "Follow the agents of SOAK_WORK for MINUTES, and report into SOAK_OUTPUT."
  (setq todo-write-directory (expand-file-name "journals" (getenv "SOAK_WORK"))
        make-backup-files nil
        ring-bell-function #'ignore
        bench-load--began (float-time))
  (bench-load-watch)
  (bench-load-show (expand-file-name "agents" (getenv "SOAK_WORK")))
  (run-with-timer 20 nil #'bench-load--sample)
  (run-with-timer 60 60 #'bench-load--sample)
  (run-with-timer (+ 2 (* 60 (string-to-number (getenv "MINUTES")))) nil #'bench-load--end))

;;; Its picture and table: bin/soak with WRITE

(declare-function bench-table-put "bench-table")

(defun bench-load--step (most)
  "Return a round number that divides MOST into at most eight parts."
  (let ((power (expt 10 (floor (log (max 1 most) 10)))))
    (seq-find (lambda (step) (<= (/ most (float step)) 8))
              (mapcar (lambda (factor) (* factor power)) '(0.1 0.2 0.5 1 2 5)))))

(defun bench-load--graph (samples)
  "Draw the memory of SAMPLES over time into soak.svg in SOAK_OUTPUT."
  (let* ((width 720) (height 300) (left 50) (top 30) (bottom 250) (right 700)
         (svg (svg-create width height :font-family "sans-serif" :font-size 12 :fill "#777"))
         (column (lambda (key) (mapcar (lambda (sample) (plist-get sample key)) samples)))
         (minutes (mapcar (lambda (seconds) (/ seconds 60.0)) (funcall column :seconds)))
         (last (max 0.1 (apply #'max minutes)))
         (most (* 1.1 (/ (apply #'max (funcall column :rss)) 1024.0)))
         (x (lambda (minute) (+ left (* (- right left) (/ minute last)))))
         (y (lambda (mib) (- bottom (* (- bottom top) (/ mib most))))))
    (cl-loop for mib from 0 to most by (bench-load--step most)
             do (svg-line svg left (funcall y mib) right (funcall y mib) :stroke "#777"
                          :stroke-opacity 0.3)
             (svg-text svg (format "%g" mib) :x (- left 6) :y (+ 4 (funcall y mib))
                       :text-anchor "end"))
    (cl-loop for minute from 0 to last by (bench-load--step last)
             do (svg-text svg (format "%g" minute) :x (funcall x minute) :y (+ bottom 18)
                          :text-anchor "middle"))
    (svg-text svg "MiB" :x (- left 6) :y (- top 12) :text-anchor "end")
    (svg-text svg "minutes" :x right :y (+ bottom 38) :text-anchor "end")
    (cl-loop for (name color title) in '((:rss "#3b7dd8" "memory of Emacs")
                                         (:lisp "#d9822b" "Lisp objects"))
             for place from 0
             do (svg-polyline svg (cl-mapcar (lambda (minute kib)
                                               (cons (funcall x minute) (funcall y (/ kib 1024.0))))
                                             minutes (funcall column name))
                              :stroke color :stroke-width 1.5 :fill "none")
             (svg-text svg title :x (+ left (* 160 place)) :y (+ bottom 38) :fill color))
    (with-temp-file (expand-file-name "soak.svg" (getenv "SOAK_OUTPUT"))
      (svg-print svg)
      (insert "\n"))))

(defun bench-load-draw ()
  "Draw the samples in SOAK_OUTPUT into soak.svg there, and exit.
With a file on the command line, put their table between its markers."
  (require 'bench-table)
  (let* ((samples (with-temp-buffer
                    (insert-file-contents (expand-file-name "agents.el" (getenv "SOAK_OUTPUT")))
                    (cl-loop while (progn (skip-chars-forward "\n") (not (eobp)))
                             collect (read (current-buffer))))))
    (bench-load--graph samples)
    (when command-line-args-left
      (bench-table-put (pop command-line-args-left) "soak"
                       (cons (list (bench-load--title samples) "" "at most" "met")
                             (bench-load--figures samples))))
    (kill-emacs 0)))

(provide 'bench-load)
;;; bench-load.el ends here
