;;; soak-report.el --- Samples and table of the soak  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Writes into the folder SOAK_OUTPUT: soak.tsv, a line for each sample; soak.txt,
;; errors and whether memory grew.

;;; Code:

(require 'cl-lib)
(require 'seq)

(defconst soak-report--columns
  '(seconds operations rss used lisp files buffers timers)
  "Columns of a sample.  Memory is in KiB.")

(defvar soak-report--samples nil
  "All samples, newest first.")

(defun soak-report--file (name)
  "Return the file name of NAME in the output folder."
  (expand-file-name name (getenv "SOAK_OUTPUT")))

(defun soak-report-line (&rest words)
  "Add a line to soak.txt, with WORDS, arguments of `format'."
  (write-region (concat (apply #'format words) "\n") nil (soak-report--file "soak.txt") t 'silent))

;;; Samples

(defun soak-report--used (free)
  "Return the memory that the process has allocated and not freed, in KiB.
Emacs writes the report of the C library to standard error, which
bin/soak redirects to a file.  FREE is the KiB that Emacs keeps for new
Lisp objects, which do not count.  Without a report, return 0."
  (let ((file (soak-report--file "malloc.xml")))
    (write-region "" nil file nil 'silent)
    (malloc-info)
    (with-temp-buffer
      (insert-file-contents file)
      (cl-flet ((bytes (of)
                  (goto-char (point-max))
                  (if (re-search-backward (format "type=\"%s\".* size=\"\\([0-9]+\\)\"" of) nil t)
                      (string-to-number (match-string 1))
                    0)))
        (max 0 (- (/ (+ (bytes "current") (bytes "mmap") (- (bytes "fast")) (- (bytes "rest"))) 1024)
                  free))))))

(defun soak-report--rss ()
  "Return the memory of the process in KiB.
Since Emacs 29, first return the free memory of the C library to the
system, so that a short peak does not look like a leak."
  (when (fboundp 'malloc-trim)
    (malloc-trim))
  (alist-get 'rss (process-attributes (emacs-pid)) 0))

(defun soak-report--lisp ()
  "Return the memory of Lisp objects after a collection, in KiB.
The value is a cons of live objects and of free space for new ones."
  (cl-loop for (_ size live free) in (garbage-collect)
           sum (* size live) into lived
           sum (* size (or free 0)) into freed
           finally return (cons (/ lived 1024) (/ freed 1024))))

(defun soak-report--files ()
  "Return the number of open files of Emacs, or 0 if it is unknown."
  (if (file-directory-p "/proc/self/fd") (length (directory-files "/proc/self/fd")) 0))

(defun soak-report-sample (seconds operations)
  "Take and write a sample after SECONDS and OPERATIONS."
  (let* ((lisp (soak-report--lisp))
         (sample (list seconds operations (soak-report--rss) (soak-report--used (cdr lisp))
                       (car lisp) (soak-report--files) (length (buffer-list))
                       (length (append timer-list timer-idle-list))))
         (line (lambda (values) (concat (mapconcat (lambda (value) (format "%s" value)) values "\t")
                                        "\n"))))
    (write-region (concat (unless soak-report--samples (funcall line soak-report--columns))
                          (funcall line sample))
                  nil (soak-report--file "soak.tsv") t 'silent)
    (push sample soak-report--samples)))

(defun soak-report--median (name from to)
  "Return the median of the column NAME of the samples between FROM and TO.
FROM and TO are fractions of all samples."
  (let* ((samples (reverse soak-report--samples))
         (count (length samples))
         (place (cl-position name soak-report--columns))
         (numbers (sort (mapcar (lambda (sample) (nth place sample))
                                (seq-subseq samples (floor (* from count)) (floor (* to count))))
                        #'<)))
    (nth (/ (length numbers) 2) numbers)))

(defun soak-report--grew ()
  "Return the columns that grew from the second quarter to the last.
A twentieth is the noise of an allocator.  In short runs, caches still fill."
  (unless (< (length soak-report--samples) 12)
    (seq-filter (lambda (name) (> (soak-report--median name 0.75 1.0)
                                  (* 1.05 (soak-report--median name 0.25 0.5))))
                '(rss used lisp files))))

(defun soak-report (operations counts errors)
  "Write what was done; return non-nil if all went well.
OPERATIONS are as in `soak-operations'.  COUNTS and ERRORS are hash
tables from their names to numbers."
  (let ((failed (apply #'+ (hash-table-values errors)))
        (grew (soak-report--grew)))
    (soak-report-line "%-14s %9s %7s" "operation" "times" "errors")
    (pcase-dolist (`(,name . ,_) operations)
      (soak-report-line "%-14s %9d %7d" name (gethash name counts 0) (gethash name errors 0)))
    (soak-report-line "\nEmacs %s, seed %s, %d seconds: %s, %s" emacs-version (getenv "SEED")
                      (caar soak-report--samples)
                      (if (zerop failed) "no error" (format "%d ERRORS" failed))
                      (if grew (format "%s GREW" grew) "memory flat"))
    (and (zerop failed) (null grew))))

(provide 'soak-report)
;;; soak-report.el ends here
