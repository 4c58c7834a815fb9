;;; bench-write.el --- A call from input to redrawn rows  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An agent's call with two changed tasks, until the rows of a displayed buffer
;; are redrawn and the mode line's text is set.

;;; Code:

(require 'bench)
(require 'bench-ways)

(defun bench-write--budget (size)
  "Return the largest allowed ratio for a write of SIZE tasks."
  (cond ((<= size 5) (/ 1.0 2))
        ((<= size 12) (/ 1.0 2.8))
        ((= size 1000) (/ 1.0 12))
        (t (/ 1.0 10))))

(defun bench-write--ways (first)
  "Return all ways; FIRST is the call before the measured ones."
  (append `((memory . ,(bench-ours nil first))
            (journal . ,(bench-ours bench-folder first))
            (plain . ,(bench-plain first)))
          (and bench-efrit-p `((efrit . ,(bench-efrit first))))))

(defun bench-write--rows (work size samples)
  "Write the rows of SAMPLES for WORK on SIZE tasks."
  (pcase-dolist (`(,yardstick ,words ,budget)
                 `((efrit "Efrit" ,(bench-write--budget size)) (plain "plain Lisp" nil)))
    (when-let* ((theirs (alist-get yardstick samples)))
      (pcase-dolist (`(,name ,journal) '((journal "journal on") (memory "journal off")))
        (when-let* ((ours (alist-get name samples)))
          (bench-row (format "write, %d items, %s, %s" size work journal) ours words theirs
                     :budget (and (equal journal "journal on") budget)
                     :why (and (equal work "terminal redrawn")
                               "redisplay dominates, which lays out all mode lines")))))))

(defun bench-write--rows-of-parts (size samples &optional closed)
  "Write the rows of allocation and time of a call of SIZE tasks in SAMPLES.
CLOSED says that no buffer shows the plan."
  (pcase-dolist (`(,what ,unit ,measure)
                 `(("without collections" "s" ,#'bench-without-collections)
                   ("bytes of Lisp allocated" "B" ,#'bench-sample-bytes)
                   ("Lisp objects made" "objects" ,#'bench-objects)))
    (pcase-dolist (`(,yardstick . ,words) '((efrit . "Efrit") (plain . "plain Lisp")))
      (when-let* ((theirs (alist-get yardstick samples)))
        (bench-row (format "one call, %d items, %s, %s" size
                           (if closed "buffer closed" "buffer open") what)
                   (alist-get 'journal samples) words theirs :unit unit :measure measure)))))

(defconst bench-write--bytes 3300
  "The most bytes of Lisp that a write of 12 tasks with two changes may allocate.
That is for the outcome, two rows, the header and the mode line.")

(defun bench-write--notes (size samples)
  "Write notes on the cost of a call of SIZE tasks in SAMPLES."
  (pcase-dolist (`(,name . ,all) samples)
    (let ((seconds (bench-quantile (mapcar #'bench-sample-seconds all) 0.5))
          (bare (bench-quantile (mapcar #'bench-without-collections all) 0.5)))
      (bench-note "%d items, %s: %.0f µs, of which %.0f µs collections; %.0f objects: %s"
                  size name (* 1e6 seconds) (* 1e6 (- seconds bare))
                  (bench-objects (car all)) (bench-kinds-string (car all))))))

(defun bench-write--without-memory (ways)
  "Return WAYS without the one that has no journal."
  (assq-delete-all 'memory ways))

(defun bench-write--closed (ways)
  "Return WAYS with no buffer that shows the plan."
  (mapcar (lambda (way) (cons (car way) (bench-closed (cdr way))))
          (bench-write--without-memory ways)))

(pcase-dolist (`(,size ,calls ,part) '((5 1200 1.0) (12 1200 1.0) (100 400 0.7) (1000 16 0.7) (10000 4 0.4)))
  (let* ((inputs (bench-inputs size))
         (ways (bench-write--ways (aref inputs 0)))
         (rounds (max 3 (round (* part bench-rounds))))
         (samples (progn
                    (when (= size 12)
                      (pcase-dolist (`(,_ . ,way) ways)
                        (bench-check-drawn way inputs))
                      (bench-check-same-text (alist-get 'memory ways) (alist-get 'plain ways)))
                    (bench-compare ways inputs calls rounds))))
    (bench-write--rows "decoded" size samples)
    (when (<= size 12)
      (bench-write--notes size samples)
      (bench-write--rows-of-parts size samples)
      (when (= size 12)
        (bench-row "one call, 12 items, buffer open, bytes of Lisp allocated"
                   (alist-get 'journal samples) (format "%d B" bench-write--bytes)
                   bench-write--bytes :unit "B" :measure #'bench-sample-bytes :budget 1.0))
      (bench-write--rows-of-parts
       size (bench-compare (bench-write--closed ways) inputs calls rounds) t))
    (when (memq size '(12 1000))
      (let* ((texts (bench-texts inputs))
             (ways (bench-write--without-memory (bench-write--ways (aref texts 0)))))
        (bench-write--rows "JSON text" size (bench-compare ways texts calls rounds))))))

(defun bench-write--displayed (way)
  "Return WAY with a redisplay after each call and after its SETTLE."
  (let ((displayed (copy-bench-way way)))
    (setf (bench-way-call displayed)
          (lambda (input) (funcall (bench-way-call way) input) (redisplay t))
          (bench-way-settle displayed)
          (lambda () (funcall (bench-way-settle way)) (redisplay t)))
    displayed))

(if noninteractive
    (bench-note "skipped: no terminal, so no redisplay to measure")
  (let* ((inputs (bench-inputs 12))
         (ways (mapcar (lambda (way) (cons (car way) (bench-write--displayed (cdr way))))
                       (bench-write--without-memory (bench-write--ways (aref inputs 0)))))
         (samples (bench-compare ways inputs 300 (max 3 (/ bench-rounds 2)))))
    (bench-write--rows "terminal redrawn" 12 samples)))

(provide 'bench-write)
;;; bench-write.el ends here
