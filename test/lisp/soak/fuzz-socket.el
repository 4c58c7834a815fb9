;;; fuzz-socket.el --- Type while programs send large messages  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; After `make build mcp', this searches for a minute:
;;
;;     LISP=$PWD/lisp emacs -Q --batch -L test/lisp -L test/lisp/soak -l fuzz-socket -f fuzz-socket-run
;;
;; An Emacs in a hidden terminal has the socket open and shows
;; a plan.  This process types into it and waits for the echo of each key, while another
;; one sends the messages of fuzz-socket-cases.el.  A filter or a timer cannot hide a block
;; from that.  Each key is typed into an idle `emacs -Q', too: what that takes is the
;; machine's, and does not count.  Nor does other load on the machine: the times are
;; divided by how many times longer than at its fastest a computation takes.
;;
;; A case in which a key takes longer than the limit is run again; if it never stays below,
;; it is a finding.  So is the death of the Emacs.  The environment variables: SECONDS, the
;; duration; SEED, a number; KINDS, the names of cases, by default all; LIMIT, milliseconds.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'todo-write-probe-helper)

;; The Emacs that is typed into loads the package.
(defvar todo-write-directory)
(defvar todo-write-socket)
(declare-function todo-write "todo-write")
(declare-function todo-write-agents-mode "todo-write-mcp")
(declare-function todo-write-mode-line-mode "todo-write-mode-line")
(declare-function todo-write-module-load "todo-write-module")
(declare-function todo-write-show "todo-write-view")

(defconst fuzz-socket-kinds
  '("lists" "junk" "activity" "sessions" "hellos" "questions" "fields" "edits" "requests"
    "repeats" "unread" "pieces" "mutated")
  "The kinds of cases at the socket.")

(defun fuzz-socket--limit ()
  "Return how many milliseconds a key may take longer than without us."
  (string-to-number (or (getenv "LIMIT") "200")))

(defconst fuzz-socket--attempts 3 "How often a case is run before it is a finding.")

(defvar fuzz-socket--work nil "The folder of this run.")

(defvar fuzz-socket--command nil "The beginning of the command of each Emacs, a list.")

(defun fuzz-socket--file (name)
  "Return the name of the file NAME of this run."
  (expand-file-name name fuzz-socket--work))

;;; The Emacsen

(defun fuzz-socket--start (&rest arguments)
  "Start an Emacs with ARGUMENTS in a hidden terminal; return what types into it."
  (let* ((process-environment (append '("TERM=xterm-256color" "LC_ALL=C.UTF-8") process-environment))
         (process (make-process
                   :name "emacs" :connection-type 'pty :noquery t :coding 'no-conversion
                   :command (append fuzz-socket--command '("-nw" "-Q" "--no-splash") arguments))))
    (set-process-window-size process 40 100)
    (todo-write-probe process "þðø")))

(defun fuzz-socket-load ()
  "Open the socket in this Emacs, as a user's does, and show a plan."
  (let ((folder (file-name-as-directory (pop command-line-args-left))))
    (require 'todo-write-agents)
    (require 'todo-write-mode-line)
    (setq todo-write-directory (concat folder "journals")
          todo-write-socket (concat folder "socket"))
    (todo-write-module-load)
    (todo-write-agents-mode)
    (todo-write-mode-line-mode)
    (todo-write "claude:lists" '(:todos [(:content "Rake" :status "in_progress")]))
    (save-selected-window
      (todo-write-show "claude:lists"))
    (switch-to-buffer "*scratch*")
    (fundamental-mode)
    (write-region "" nil (concat folder "ready") nil 'silent)))

(defun fuzz-socket--wait (condition seconds)
  "Wait until CONDITION, a function, returns non-nil; return that.
Return nil after SECONDS."
  (let ((end (+ (float-time) seconds)) value)
    (while (not (or (setq value (funcall condition)) (> (float-time) end)))
      (accept-process-output nil 0.01))
    value))

;;; Typing

(defun fuzz-socket--type (terminals)
  "Type a key into each of TERMINALS; return the milliseconds that each took.
A list in the same order; an Emacs that does not answer took a minute."
  (mapcar (lambda (seconds) (* 1000 (or seconds 60)))
          (todo-write-probe-type terminals 60)))

;;; The machine

(defvar fuzz-socket--fastest nil "The fewest seconds that the computation took.")

(defun fuzz-socket--slowness ()
  "Return how many times longer than at its fastest a computation takes now."
  (let ((start (float-time)) (sum 0))
    (dotimes (n 300000)
      (setq sum (logand (+ sum n) 65535)))
    (let ((time (- (float-time) start)))
      (setq fuzz-socket--fastest (min time (or fuzz-socket--fastest time)))
      (/ time fuzz-socket--fastest))))

;;; Cases

(defvar fuzz-socket--output nil "What the sender has written.")

(defun fuzz-socket--start-sender (socket)
  "Start the process that sends the cases to SOCKET."
  (make-process
   :name "sender" :connection-type 'pipe :noquery t
   :filter (lambda (_ text) (setq fuzz-socket--output (concat fuzz-socket--output text)))
   ;; A batch Emacs would be killed by a connection that is closed.
   :command `("sh" "-c" "trap '' PIPE; exec \"$0\" \"$@\"" ,@fuzz-socket--command
              "-Q" "--batch" "-L" ,(file-name-directory (locate-library "fuzz-socket"))
              "-l" "fuzz-socket-cases" "-f" "fuzz-socket-cases-run" ,socket
              ,(fuzz-socket--file "project"))))

(defun fuzz-socket--case (sender target idle kind seed)
  "Let SENDER run the case of KIND with SEED while keys are typed.
TARGET is the Emacs, and IDLE the other one.  Return (MILLISECONDS . MESSAGES),
how much longer the slowest key took in TARGET."
  (let ((longest 0) (quiet 0) (end (+ (float-time) 120)) (slowness (fuzz-socket--slowness)))
    (setq fuzz-socket--output "")
    (process-send-string sender (format "%s %d\n" kind seed))
    ;; Some keys more, since what is left to timers blocks, too.
    (while (and (< quiet 10) (< (float-time) end)
                (process-live-p (todo-write-probe-process target)))
      (pcase-let ((`(,ours ,its) (fuzz-socket--type (list target idle))))
        (setq longest (max longest (- ours its))))
      (when (string-search "done" fuzz-socket--output)
        (cl-incf quiet))
      (accept-process-output nil 0.005))
    (setq slowness (/ (+ slowness (fuzz-socket--slowness)) 2))
    (cons (/ longest slowness)
          (and (string-match "done \\([0-9]+\\)" fuzz-socket--output)
               (string-to-number (match-string 1 fuzz-socket--output))))))

(defun fuzz-socket--best (sender target idle kind seed)
  "Run the case of KIND with SEED until it stays below the limit.
Return the result of the best attempt as in `fuzz-socket--case', whose
arguments SENDER, TARGET and IDLE are."
  (let (best (tries 0))
    (while (and (< tries fuzz-socket--attempts)
                (process-live-p (todo-write-probe-process target))
                (not (and best (< (car best) (fuzz-socket--limit)))))
      (let ((result (fuzz-socket--case sender target idle kind seed)))
        (when (or (null best) (< (car result) (car best)))
          (setq best result))
        (cl-incf tries)
        (when (getenv "VERBOSE")
          (message "%s %s %d: %.0f ms, %s messages" (format-time-string "%T") kind seed (car result)
                   (cdr result)))))
    best))

(defun fuzz-socket--memory (terminal)
  "Return the resident memory of TERMINAL's Emacs in MiB, or nil if it died."
  (when-let* ((size (alist-get 'rss (process-attributes
                                     (process-id (todo-write-probe-process terminal))))))
    (/ size 1024)))

(defun fuzz-socket--report (table findings memory keys)
  "Print TABLE of results by kind, FINDINGS, the largest MEMORY, number of KEYS."
  ;; First, since a failed test shows the beginning.
  (dolist (finding (reverse findings))
    (princ (format "FINDING: %s\n" finding)))
  (princ (format "%-12s %8s %10s %12s %12s\n" "case" "runs" "messages" "median ms" "longest ms"))
  (maphash (lambda (kind results)
             (let ((times (sort (mapcar #'car results) #'<)))
               (princ (format "%-12s %8d %10d %12.0f %12.0f\n" kind (length times)
                              (apply #'+ (mapcar (lambda (result) (or (cdr result) 0)) results))
                              (nth (/ (length times) 2) times) (car (last times))))))
           table)
  (princ (format "%d keys were typed; the Emacs took up to %d MiB.\n" keys memory)))

(defun fuzz-socket-run ()
  "Run cases until the time is over; exit with status 0 if there is no finding."
  (let* ((fuzz-socket--work (file-name-as-directory (make-temp-file "fuzz-socket" t)))
         (fuzz-socket--command (list (expand-file-name invocation-name invocation-directory)))
         (seed (string-to-number (or (getenv "SEED") "1")))
         (kinds (or (split-string (or (getenv "KINDS") "")) fuzz-socket-kinds))
         (table (make-hash-table :test #'equal))
         (memory 0) findings idle target sender end)
    (make-directory (fuzz-socket--file "project/.git") t)
    (unwind-protect
        (progn
          (setq idle (fuzz-socket--start "--eval" "(fundamental-mode)" "--eval"
                                         (format "(write-region \"\" nil %S)"
                                                 (fuzz-socket--file "idle")))
                target (fuzz-socket--start "-L" (getenv "LISP")
                                           "-L" (file-name-directory (locate-library "fuzz-socket"))
                                           "-L" (file-name-directory
                                                 (locate-library "todo-write-probe-helper"))
                                           "-l" "fuzz-socket" "-f" "fuzz-socket-load"
                                           fuzz-socket--work))
          (dotimes (_ 20) (fuzz-socket--slowness))
          (unless (fuzz-socket--wait (lambda ()
                                       (and (file-exists-p (fuzz-socket--file "idle"))
                                            (file-exists-p (fuzz-socket--file "ready"))))
                                     60)
            (error "The Emacs does not start"))
          (setq sender (fuzz-socket--start-sender (fuzz-socket--file "socket"))
                end (+ (float-time) (string-to-number (or (getenv "SECONDS") "60"))))
          (while (and (< (float-time) end) (length< findings 20)
                      (process-live-p (todo-write-probe-process target)))
            (dolist (kind kinds)
              (when (process-live-p (todo-write-probe-process target))
                (let ((best (fuzz-socket--best sender target idle kind seed)))
                  (push best (gethash kind table))
                  (setq memory (max memory (or (fuzz-socket--memory target) 0)))
                  (unless (< (car best) (fuzz-socket--limit))
                    (push (format "a key took %.0f ms longer: KINDS=%s SEED=%d" (car best) kind seed)
                          findings))
                  (unless (and (cdr best) (process-live-p (todo-write-probe-process target)))
                    (push (format "the Emacs did not answer: KINDS=%s SEED=%d" kind seed)
                          findings)))))
            (cl-incf seed))
          (fuzz-socket--report table findings memory (todo-write-probe-typed target)))
      (dolist (process (delq nil (list sender (and idle (todo-write-probe-process idle))
                                       (and target (todo-write-probe-process target)))))
        (delete-process process))
      ;; Programs that are ending may still write into it.
      (fuzz-socket--wait (lambda ()
                           (ignore-errors (delete-directory fuzz-socket--work t))
                           (not (file-exists-p fuzz-socket--work)))
                         20))
    (kill-emacs (if findings 1 0))))

(provide 'fuzz-socket)
;;; fuzz-socket.el ends here
