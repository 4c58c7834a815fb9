;;; bench-table.el --- The table of a benchmark run  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Prints rows as a Markdown table and puts some between the markers of
;; doc/performance.md: those that a user feels into one table, and those with a
;; budget into another, with a column for each Emacs.  A row is a line of fields
;; separated by tabs: work, place, unit, ours, yardstick, theirs, ratio, lower and
;; upper quartile of the ratio, budget, "felt" or nothing, and why the budget is
;; missed if it is.  A line with one field is a note below the table.

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
    (pcase-let* ((`(,theirs ,ratio ,low ,high . ,_) (mapcar #'string-to-number more))
                 (budget (bench-table--budget fields))
                 (ends (sort (list low high) #'>)))
      (list work place
            (bench-table--figure (string-to-number ours) unit)
            yardstick
            (bench-table--figure theirs unit)
            (bench-table--ratio ratio)
            (if (= low high) "" (mapconcat #'bench-table--ratio ends " … "))
            (if budget (concat "≤ " (bench-table--ratio budget)) "")
            (bench-table--met (list fields))))))

(defun bench-table--budget (fields)
  "Return the budget of the row FIELDS, or nil."
  (let ((budget (nth 9 fields)))
    (unless (member budget '(nil ""))
      (string-to-number budget))))

(defun bench-table--missed-p (fields)
  "Return non-nil if the row FIELDS is over its budget."
  (when-let* ((budget (bench-table--budget fields)))
    (> (string-to-number (nth 6 fields)) budget)))

(defun bench-table--met (rows)
  "Return whether ROWS, lists of fields, keep their budgets, in words.
Those that do not have their reason."
  (cond ((not (seq-some #'bench-table--budget rows)) "")
        ((seq-find #'bench-table--missed-p rows)
         (let ((why (seq-find (lambda (why) (not (member why '(nil ""))))
                              (mapcar (lambda (row) (nth 11 row))
                                      (seq-filter #'bench-table--missed-p rows)))))
           (concat "NO" (and why (concat ": " why)))))
        (t "yes")))

(defconst bench-table--head
  '("work" "where" "ours" "compared to" "theirs" "ratio" "quartiles" "budget" "met")
  "The column heads of the printed table.")

(defun bench-table--text (rows)
  "Return ROWS, lists of cells that begin with the heads, as a table in Markdown."
  (let* ((widths (apply #'cl-mapcar (lambda (&rest cells) (apply #'max (mapcar #'string-width cells)))
                        rows))
         (line (lambda (row)
                 (concat "| " (string-join (cl-mapcar #'string-pad row widths) " | ") " |\n")))
         (rule (concat "|" (mapconcat (lambda (width) (make-string (+ 2 width) ?-)) widths "|")
                       "|\n")))
    (concat (funcall line (car rows)) rule (mapconcat line (cdr rows) ""))))

;;; The page

(defun bench-table--felt-p (fields)
  "Return non-nil if the row FIELDS is of something that a user feels."
  (equal (nth 10 fields) "felt"))

(defun bench-table--ratio-p (fields)
  "Return non-nil if the row FIELDS belongs to the table of ratios."
  (and (bench-table--budget fields)
       (not (bench-table--felt-p fields))
       (not (string-suffix-p "journal off" (car fields)))))

(defun bench-table--limit-p (fields)
  "Return non-nil if the row FIELDS compares with its budget."
  (equal (bench-table--budget fields) 1))

(defun bench-table--felt-cell (fields)
  "Return the cell of the row FIELDS for what a user feels."
  (pcase-let* ((`(,_ ,_ ,unit ,ours ,_ ,theirs . ,_) fields)
               (figure (lambda (text) (bench-table--figure (string-to-number text) unit))))
    (concat (funcall figure ours)
            (unless (bench-table--limit-p fields)
              (format " (%s)" (funcall figure theirs))))))

(defun bench-table--ratio-cell (fields)
  "Return the cell of the row FIELDS in the table of ratios."
  (format "%s (%s)" (bench-table--ratio (string-to-number (nth 6 fields)))
          (bench-table--figure (string-to-number (nth 3 fields)) (nth 2 fields))))

(defun bench-table--yardstick (fields)
  "Return what the row FIELDS compares with, and how much is allowed."
  (let ((budget (bench-table--budget fields)) (yardstick (nth 4 fields)))
    (cond ((null budget) yardstick)
          ((and (bench-table--felt-p fields) (bench-table--limit-p fields))
           (concat "≤ " yardstick))
          (t (format "%s, ≤ %s" yardstick (bench-table--ratio budget))))))

(defun bench-table--wide (rows cell)
  "Return ROWS as a table with a column for each of their places.
CELL is a function that returns the text of a row's figures."
  (let ((places (seq-uniq (mapcar #'cadr rows)))
        (works (seq-group-by (lambda (fields) (list (car fields) (nth 4 fields))) rows)))
    (bench-table--text
     (cons `("work" "compared to" ,@places "met")
           (mapcar (pcase-lambda (`((,work ,_) . ,same))
                     `(,work ,(bench-table--yardstick (car same))
                       ,@(mapcar (lambda (place)
                                   (if-let* ((fields (seq-find (lambda (fields)
                                                                 (equal place (cadr fields)))
                                                               same)))
                                       (funcall cell fields)
                                     ""))
                                 places)
                       ,(bench-table--met same)))
                   works)))))

(defun bench-table--insert (name text)
  "Put TEXT between the markers called NAME in the current buffer."
  (goto-char (point-min))
  (let ((start (re-search-forward (format "^<!-- %s -->\n" name))))
    (re-search-forward (format "^<!-- /%s -->$" name))
    (delete-region start (line-beginning-position))
    (goto-char start)
    (insert "\n" text "\n")))

(defun bench-table-put (file name rows)
  "Put ROWS, lists of cells, as a table between the markers called NAME in FILE."
  (with-temp-buffer
    (insert-file-contents file)
    (bench-table--insert name (bench-table--text rows))
    (write-region nil nil file nil 'silent)))

(defun bench-table--write-page (rows file)
  "Put the tables of ROWS between the markers in FILE."
  (with-temp-buffer
    (insert-file-contents file)
    (let ((felt (seq-filter #'bench-table--felt-p rows))
          (ratios (seq-group-by (lambda (fields) (equal (cadr fields) "Rust"))
                                (seq-filter #'bench-table--ratio-p rows))))
      (pcase-dolist (`(,name ,rows ,cell)
                     `(("felt" ,felt bench-table--felt-cell)
                       ("emacs" ,(alist-get nil ratios) bench-table--ratio-cell)
                       ("rust" ,(alist-get t ratios) bench-table--ratio-cell)))
        ;; A group that was not measured keeps its table.
        (when rows
          (bench-table--insert name (bench-table--wide rows cell)))))
    (write-region nil nil file nil 'silent)))

(defun bench-table ()
  "Print the rows of the file on the command line as a table.
If a folder follows the file, also put them into its doc/performance.md."
  (set-language-environment "UTF-8")
  (let* ((lines (with-temp-buffer
                  (insert-file-contents (pop command-line-args-left))
                  (split-string (buffer-string) "\n" t)))
         (fields (mapcar (lambda (line) (split-string line "\t")) lines))
         (rows (seq-filter #'cdr fields))
         (unexplained (seq-filter (lambda (row)
                                    (and (bench-table--missed-p row)
                                         (member (nth 11 row) '(nil ""))))
                                  rows)))
    (princ (concat "\n"
                   (bench-table--text (cons bench-table--head (mapcar #'bench-table--cells rows)))
                   "\n"
                   (mapconcat (lambda (note) (concat "- " (car note) "\n"))
                              (seq-remove #'cdr fields) "")
                   (mapconcat (lambda (row)
                                (format "- missed without a reason: %s, %s\n" (car row) (cadr row)))
                              unexplained "")))
    (when command-line-args-left
      (let ((default-directory (file-name-as-directory (pop command-line-args-left))))
        (bench-table--write-page rows "doc/performance.md")))))

(provide 'bench-table)
;;; bench-table.el ends here
