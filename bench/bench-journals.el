;;; bench-journals.el --- Journals that take long  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The time in which a plan with a journal of 64 MiB is read for the first time, and in
;; which 500 plans are listed.

;;; Code:

(require 'bench)
(require 'todo-write)

(defconst bench-journals--many 500 "Number of plans that are listed.")

(defun bench-journals--write (folder)
  "Write the journals to FOLDER, by another Emacs."
  (let ((form `(progn (require 'todo-write)
                      (setq todo-write-directory ,folder)
                      (cl-flet ((write (key count length)
                                  (todo-write key (list :todos [( :content "Dig the bed"
                                                                  :status "pending"
                                                                  :activeForm "Digging")]))
                                  (dotimes (n count)
                                    (todo-write-observe key "MESSAGE"
                                                        (format "%d %s" n (make-string length ?x))))))
                        (write "long" 4200 15900)
                        (dotimes (n ,bench-journals--many)
                          (write (format "plan-%d" n) 60 2000))))))
    (unless (eql 0 (call-process (expand-file-name invocation-name invocation-directory) nil nil nil
                                 "-Q" "--batch" "-L"
                                 (file-name-directory (locate-library "todo-write"))
                                 "--eval" (prin1-to-string form)))
      (error "The journals cannot be written"))))

(defun bench-journals--time (function)
  "Call FUNCTION; return its time in seconds.  Collections do not count."
  (garbage-collect)
  (let ((begun (- (float-time) gc-elapsed)))
    (funcall function)
    (- (float-time) gc-elapsed begun)))

(let ((folder (expand-file-name "journals/" (getenv "HOME"))))
  (bench-journals--write folder)
  (cl-flet ((times (function)
              (cl-loop repeat bench-rounds
                       ;; Another name of the folder is another store, in which nothing was read.
                       for n from 0
                       for name = (expand-file-name (format "journals-%d" n) (getenv "HOME"))
                       do (make-symbolic-link folder name t)
                          (setq todo-write-directory name)
                       collect (bench-journals--time function)
                       do (delete-file name))))
    (bench-row "a plan of 64 MiB is read"
               (times (lambda ()
                        (unless (= 1 (length (todo-write-items "long")))
                          (error "The plan is not there"))))
               "20 ms" 0.02 :measure #'identity :budget 1 :felt t)
    (bench-row (format "%d plans are listed" bench-journals--many)
               (times (lambda ()
                        (unless (< bench-journals--many (length (todo-write-threads-kept)))
                          (error "Plans are missing"))))
               "50 ms" 0.05 :measure #'identity :budget 1 :felt t))
  (setq todo-write-directory nil))

(provide 'bench-journals)
;;; bench-journals.el ends here
