;;; bench-table.el --- The table of a benchmark run  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Prints rows as a Markdown table and puts those with a budget between the
;; markers of doc/performance.md.  A row is a line of fields separated by tabs:
;; work, place, unit, ours, yardstick, theirs, ratio, lower and upper quartile of
;; the ratio, budget.  A line with one field is a note below the table.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)

(defun bench-table--figure (number unit)
  "Return NUMBER of UNIT with three significant digits."
  (pcase-let* ((scales (pcase unit
                         ("s" '((1 "s") (1e-3 "ms") (1e-6 "µs") (1e-9 "ns")))
                         ("B" '((1048576 "MiB") (1024 "KiB") (1 "B")))
                         (_ `((1 ,unit)))))
               (`(,scale ,name) (or (seq-find (lambda (scale) (>= number (car scale))) scales)
                                    (car (last scales))))
               (value (/ number (float scale))))
    (concat (cond ((= value (ffloor value)) (format "%.0f" value))
                  ((< value 10) (format "%.2f" value))
                  ((< value 100) (format "%.1f" value))
                  (t (format "%.0f" value)))
            " " name)))

(defun bench-table--ratio (ratio)
  "Return RATIO as text such as 1/12 or 1.20."
  (if (< ratio 0.8)
      (format (if (> ratio 0.1) "1/%.1f" "1/%.0f") (/ 1 ratio))
    (format "%.2f" ratio)))

(defun bench-table--cells (fields)
  "Return the cells of the row FIELDS."
  (pcase-let ((`(,work ,place ,unit ,ours ,yardstick . ,more) fields))
    (pcase-let* ((`(,theirs ,ratio ,low ,high ,budget) (mapcar #'string-to-number more))
                 (budget (and (not (equal (nth 4 more) "")) budget))
                 (ends (sort (list low high) #'>)))
      (list work place
            (bench-table--figure (string-to-number ours) unit)
            yardstick
            (bench-table--figure theirs unit)
            (bench-table--ratio ratio)
            (if (= low high) "" (mapconcat #'bench-table--ratio ends " … "))
            (if budget (concat "≤ " (bench-table--ratio budget)) "")
            (cond ((null budget) "")
                  ((<= ratio budget) "yes")
                  (t "NO"))))))

(defconst bench-table--head
  '("work" "where" "ours" "compared to" "theirs" "ratio" "quartiles" "budget" "met")
  "The column heads.")

(defun bench-table--text (rows)
  "Return ROWS, lists of cells, as a table in Markdown."
  (let* ((rows (cons bench-table--head rows))
         (widths (apply #'cl-mapcar (lambda (&rest cells) (apply #'max (mapcar #'string-width cells)))
                        rows))
         (line (lambda (row)
                 (concat "| " (string-join (cl-mapcar #'string-pad row widths) " | ") " |\n")))
         (rule (concat "|" (mapconcat (lambda (width) (make-string (+ 2 width) ?-)) widths "|")
                       "|\n")))
    (concat (funcall line (car rows)) rule (mapconcat line (cdr rows) ""))))

(defun bench-table--insert (text file)
  "Put TEXT between the markers in FILE."
  (with-temp-buffer
    (insert-file-contents file)
    (let ((start (re-search-forward "^<!-- table -->\n")))
      (re-search-forward "^<!-- /table -->$")
      (delete-region start (line-beginning-position))
      (goto-char start)
      (insert text))
    (write-region nil nil file nil 'silent)))

(defun bench-table--budget-p (fields)
  "Return non-nil if the row FIELDS has a budget and the journal is on."
  (not (or (equal (nth 9 fields) "") (string-suffix-p "journal off" (car fields)))))

(defun bench-table ()
  "Print the rows of the file on the command line as a table.
If a folder follows the file, also put the rows with a budget into its
doc/performance.md."
  (set-language-environment "UTF-8")
  (let* ((lines (with-temp-buffer
                  (insert-file-contents (pop command-line-args-left))
                  (split-string (buffer-string) "\n" t)))
         (fields (mapcar (lambda (line) (split-string line "\t")) lines))
         (rows (seq-filter #'cdr fields))
         (table (lambda (rows)
                  (concat "\n" (bench-table--text (mapcar #'bench-table--cells rows)) "\n")))
         (notes (mapconcat (lambda (note) (concat "- " (car note) "\n"))
                           (seq-remove #'cdr fields) "")))
    (princ (concat (funcall table rows) notes))
    (when command-line-args-left
      (let ((default-directory (file-name-as-directory (pop command-line-args-left))))
        (bench-table--insert (funcall table (seq-filter #'bench-table--budget-p rows))
                             "doc/performance.md")))))

(provide 'bench-table)
;;; bench-table.el ends here
