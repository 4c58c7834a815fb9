;;; soak-report.el --- Samples and table of the soak  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Writes into the folder SOAK_OUTPUT: soak.tsv, a line for each sample; soak.txt,
;; errors and a table.

;;; Code:

(require 'cl-lib)
(require 'seq)

(defconst soak-report--columns
  '(seconds operations rss used lisp files buffers overlays timers journals)
  "Columns of a sample.  Memory and journals are in KiB.")

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

(defun soak-report--overlays ()
  "Return the number of overlays in all buffers."
  (apply #'+ (mapcar (lambda (buffer)
                       (with-current-buffer buffer
                         (let ((lists (overlay-lists)))
                           (+ (length (car lists)) (length (cdr lists))))))
                     (buffer-list))))

(defun soak-report--journals ()
  "Return the size of all journals in KiB."
  (/ (apply #'+ (mapcar (lambda (file) (or (file-attribute-size (file-attributes file)) 0))
                        (and (file-directory-p todo-write-directory)
                             (directory-files-recursively todo-write-directory "jsonl\\'"))))
     1024))

(defun soak-report-sample (seconds operations)
  "Take and write a sample after SECONDS and OPERATIONS."
  (let* ((lisp (soak-report--lisp))
         (sample (list seconds operations (soak-report--rss) (soak-report--used (cdr lisp))
                       (car lisp) (soak-report--files) (length (buffer-list)) (soak-report--overlays)
                       (length (append timer-list timer-idle-list)) (soak-report--journals)))
         (line (lambda (values) (concat (mapconcat (lambda (value) (format "%s" value)) values "\t")
                                        "\n"))))
    (write-region (concat (unless soak-report--samples (funcall line soak-report--columns))
                          (funcall line sample))
                  nil (soak-report--file "soak.tsv") t 'silent)
    (push sample soak-report--samples)))

(defun soak-report--column (name &optional from to)
  "Return the column NAME of the samples between FROM and TO, oldest first.
FROM and TO are fractions of all samples, 0.0 and 1.0 by default."
  (let* ((samples (reverse soak-report--samples))
         (count (length samples))
         (place (cl-position name soak-report--columns)))
    (mapcar (lambda (sample) (nth place sample))
            (seq-subseq samples (floor (* (or from 0.0) count)) (floor (* (or to 1.0) count))))))

(defun soak-report--median (numbers)
  "Return the median of NUMBERS, or 0 for none."
  (or (nth (/ (length numbers) 2) (sort (copy-sequence numbers) #'<)) 0))

(defun soak-report--slope (name)
  "Return the growth of the column NAME in an hour, by least squares.
Ignore the first quarter, in which caches fill."
  (let* ((x (soak-report--column 'seconds 0.25))
         (y (soak-report--column name 0.25))
         (count (max 1 (length x)))
         (mean-x (/ (apply #'+ x) (float count)))
         (mean-y (/ (apply #'+ y) (float count)))
         (spread (apply #'+ (mapcar (lambda (x) (expt (- x mean-x) 2)) x))))
    (if (zerop spread) 0.0
      (* 3600 (/ (apply #'+ (cl-mapcar (lambda (x y) (* (- x mean-x) (- y mean-y))) x y))
                 spread)))))

(defun soak-report--flat-p ()
  "Return non-nil unless memory grew from the second quarter to the last.
A twentieth is the noise of an allocator.  Short runs count as flat."
  (or (< (length soak-report--samples) 12)
      (cl-loop for name in '(rss used lisp files)
               always (<= (soak-report--median (soak-report--column name 0.75))
                          (* 1.05 (soak-report--median (soak-report--column name 0.25 0.5)))))))

;;; Table

(defun soak-report (operations counts errors)
  "Write the table; return non-nil if all went well.
OPERATIONS are as in `soak-operations'.  COUNTS and ERRORS are hash
tables from their names to numbers."
  (let ((failed (apply #'+ (hash-table-values errors)))
        (flat (soak-report--flat-p)))
    (soak-report-line "%-14s %9s %7s" "operation" "times" "errors")
    (pcase-dolist (`(,name . ,_) operations)
      (soak-report-line "%-14s %9d %7d" name (gethash name counts 0) (gethash name errors 0)))
    (soak-report-line "%-14s %9d %7d" "all" (apply #'+ (hash-table-values counts)) failed)
    (soak-report-line "\n%-14s %9s %9s %9s %9s %12s" "" "first" "median" "last" "most" "an hour")
    (pcase-dolist (`(,name ,title ,unit)
                   '((rss "memory, MiB" 1024.0) (used "in use, MiB" 1024.0)
                     (lisp "Lisp, MiB" 1024.0)
                     (journals "journals, MiB" 1024.0) (files "open files" 1)
                     (buffers "buffers" 1) (overlays "overlays" 1) (timers "timers" 1)))
      (let ((column (mapcar (lambda (value) (/ value (float unit))) (soak-report--column name))))
        (soak-report-line "%-14s %9.1f %9.1f %9.1f %9.1f %+12.2f" title (car column)
                          (soak-report--median column) (car (last column))
                          (apply #'max column) (/ (soak-report--slope name) unit))))
    (soak-report-line "\nEmacs %s, seed %s, %.1f minutes: %s, memory %s" emacs-version (getenv "SEED")
                      (/ (apply #'max (soak-report--column 'seconds)) 60.0)
                      (if (zerop failed) "no error" (format "%d ERRORS" failed))
                      (if flat "flat" "GREW"))
    (and (zerop failed) flat)))

(provide 'soak-report)
;;; soak-report.el ends here
