;;; bench.el --- Compare ways of doing the same work  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A way is one implementation of the measured work.  Each round measures a block
;; of calls of each way, so that other load on the machine affects all ways.  A
;; ratio compares two blocks of the same round.
;;
;; Emacs decides when it collects garbage.  A block has enough calls for its
;; collections to be in proportion to what the calls allocate.

;;; Code:

(require 'cl-lib)
(require 'seq)

(defvar bench-output (getenv "BENCH_OUTPUT")
  "File to which rows are appended.")

(defvar bench-rounds (string-to-number (or (getenv "ROUNDS") "15"))
  "Rounds of each comparison of short calls; long ones get fewer.")

(cl-defstruct bench-way
  "One way of doing the work.
BEGIN prepares a block, CALL does the work with one input, SETTLE does
after each call what Emacs would do when idle, END cleans up.  Only CALL
is measured."
  begin call (settle #'ignore) (end #'ignore))

(cl-defstruct bench-sample
  "The cost of a call, on average over a block.
SECONDS include the time of COLLECTING garbage."
  seconds collecting bytes counts)

;;; Allocation

(defconst bench--kinds
  '((conses . 16) (floats . 8) (slots . 8) (symbols . 48) (characters . 1)
    (intervals . 56) (strings . 32))
  "The kinds of `memory-use-counts', in its order, with their sizes in bytes.
Slots are those of vectors and vector-like objects.")

(defun bench--bytes (counts)
  "Return the bytes of COUNTS, a list as from `memory-use-counts'."
  (apply #'+ (cl-mapcar (lambda (count kind) (* count (cdr kind))) counts bench--kinds)))

(defun bench-objects (sample)
  "Return the number of Lisp objects that a call of SAMPLE makes.
Vectors count by their slots, since Emacs does not count them."
  (- (apply #'+ (bench-sample-counts sample)) (nth 4 (bench-sample-counts sample))))

(defun bench-kinds-string (sample)
  "Return a description of what a call of SAMPLE allocates."
  (mapconcat (lambda (pair) (format "%.0f %s" (car pair) (cdr pair)))
             (seq-filter (lambda (pair) (>= (car pair) 0.5))
                         (cl-mapcar (lambda (count kind) (cons count (car kind)))
                                    (bench-sample-counts sample) bench--kinds))
             ", "))

(defun bench-without-collections (sample)
  "Return the seconds of a call of SAMPLE without garbage collection."
  (- (bench-sample-seconds sample) (bench-sample-collecting sample)))

;;; Blocks and rounds

(defun bench--measure (function)
  "Call FUNCTION and return its cost.
The value is a list: the seconds, the seconds of garbage collection, and
the counts of `memory-use-counts'."
  (let* ((before (memory-use-counts))
         (collecting gc-elapsed)
         (start (current-time)))
    (funcall function)
    (let ((end (current-time)))
      (cons (float-time (time-subtract end start))
            (cons (- gc-elapsed collecting)
                  (cl-mapcar #'- (memory-use-counts) before))))))

(defvar bench--nothing
  (progn (bench--measure #'ignore) (bench--measure #'ignore))
  "The cost of measuring itself.")

(defun bench--input (inputs n)
  "Return the Nth of INPUTS, going up and down in that vector endlessly."
  (let* ((last (1- (length inputs)))
         (place (if (> last 0) (% n (* 2 last)) 0)))
    (aref inputs (if (<= place last) place (- (* 2 last) place)))))

(defun bench--block (way inputs calls)
  "Return a sample of WAY over CALLS calls with INPUTS in turn.
BEGIN has already used the first input."
  (funcall (bench-way-begin way))
  (garbage-collect)
  (let ((call (bench-way-call way))
        (seconds 0)
        (collecting 0)
        (counts (make-list (length bench--kinds) 0)))
    ;; The first call warms up.
    (dotimes (n (1+ calls))
      (let* ((input (bench--input inputs (1+ n)))
             (measured (bench--measure (lambda () (funcall call input)))))
        (when (> n 0)
          (cl-incf seconds (- (car measured) (car bench--nothing)))
          (cl-incf collecting (cadr measured))
          (setq counts (cl-mapcar #'+ counts
                                  (cl-mapcar #'- (cddr measured) (cddr bench--nothing))))))
      (funcall (bench-way-settle way))
      ;; All calls of a way allocate the same; without this, all collections of a
      ;; block could fall into the measured part of a call, or none.
      (ignore (make-list (random 512) nil)))
    (funcall (bench-way-end way))
    ;; The killed buffer leaves glyphs whose strings are no longer marked; see
    ;; `bench--show'.
    (redisplay t)
    (make-bench-sample :seconds (/ seconds (float calls))
                       :collecting (/ collecting (float calls))
                       :bytes (/ (bench--bytes counts) (float calls))
                       :counts (mapcar (lambda (count) (/ count (float calls))) counts))))

(defun bench-compare (ways inputs calls rounds)
  "Measure WAYS, an alist of names and ways, in turn, on INPUTS.
Each of ROUNDS rounds has a block of CALLS calls for each way.  Return an
alist of names and lists of samples."
  (let ((samples (mapcar (lambda (way) (list (car way))) ways)))
    (dotimes (_ rounds)
      (dolist (way ways)
        (push (bench--block (cdr way) inputs calls) (cdr (assq (car way) samples)))))
    samples))

;;; Rows

(defun bench-quantile (values at)
  "Return the quantile AT, from 0 to 1, of VALUES, a list of numbers."
  (let ((sorted (sort (copy-sequence values) #'<)))
    (nth (round (* at (1- (length sorted)))) sorted)))

(defun bench-write-line (&rest fields)
  "Append FIELDS to the output."
  (let ((line (concat (mapconcat (lambda (field) (if field (format "%s" field) "")) fields "\t")
                      "\n"))
        (coding-system-for-write 'utf-8))
    (write-region line nil bench-output t 'silent)))

(cl-defun bench-row (work ours yardstick theirs &key (unit "s") (measure #'bench-sample-seconds)
                          budget felt why)
  "Write the row of WORK.
OURS is a list of samples.  THEIRS is a list of the same length, or a
number; YARDSTICK describes it.  MEASURE returns the compared value of a
sample, in UNIT.  BUDGET is the largest allowed ratio, or nil.  FELT
non-nil says that a user feels it.  WHY says why the budget is missed,
if it is; by default, how much of the time collections took."
  (let* ((why (or why (and (equal unit "s") (bench-sample-p (car ours))
                           (format "%.0f %% of the time are collections"
                                   ;; The two clocks differ a little.
                                   (min 100 (* 100 (/ (apply #'+ (mapcar #'bench-sample-collecting ours))
                                                      (apply #'+ (mapcar #'bench-sample-seconds ours)))))))))
         (ours (mapcar measure ours))
         (theirs (if (numberp theirs)
                     (make-list (length ours) theirs)
                   (mapcar measure theirs)))
         (ratios (cl-mapcar (lambda (a b) (/ a (float b))) ours theirs)))
    (bench-write-line work (format "Emacs %s" emacs-version) unit
                      (bench-quantile ours 0.5) yardstick (bench-quantile theirs 0.5)
                      (bench-quantile ratios 0.5) (bench-quantile ratios 0.25)
                      (bench-quantile ratios 0.75) budget (and felt "felt") why)))

(defun bench-note (format &rest arguments)
  "Write a line about the run, from FORMAT and ARGUMENTS."
  (bench-write-line (format "Emacs %s: %s" emacs-version (apply #'format format arguments))))

;;; Running

(dolist (variable '(native-comp-jit-compilation native-comp-deferred-compilation
                    native-comp-enable-subr-trampolines comp-enable-subr-trampolines))
  ;; Native compilation in the background would be measured too.
  (when (boundp variable)
    (set variable nil)))

(defun bench-run ()
  "Load the libraries named on the command line, which measure, and exit.
Write an error to the output."
  (set-terminal-coding-system 'utf-8)
  (setq inhibit-message t
        make-backup-files nil
        ring-bell-function #'ignore)
  (condition-case err
      (progn
        (while command-line-args-left
          (load (pop command-line-args-left) nil t))
        (kill-emacs 0))
    (error (bench-note "failed: %S" err)
           (kill-emacs 1))))

(provide 'bench)
;;; bench.el ends here
