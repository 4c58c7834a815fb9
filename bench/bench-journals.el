;;; bench-journals.el --- Journals that take long  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The longest block of Emacs while a plan with a journal of 64 MiB is read for the
;; first time, and while 500 journals are searched.

;;; Code:

(require 'bench)
(require 'todo-write-search)

(defconst bench-journals--many 500 "Number of journals that are searched.")

(defun bench-journals--write (folder)
  "Write the journals to FOLDER, by another Emacs."
  (let ((form `(progn (require 'todo-write)
                      (setq todo-write-directory ,folder todo-write-journal-count nil)
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

(defun bench-journals--block (function)
  "Call FUNCTION; return the longest time in seconds in which no timer could run.
Collections do not count."
  (garbage-collect)
  (let* ((clock (lambda () (- (float-time) gc-elapsed)))
         (last (funcall clock))
         (longest 0)
         (look (lambda ()
                 (let ((now (funcall clock)))
                   (setq longest (max longest (- now last))
                         last now))))
         (timer (run-at-time 0.001 0.001 look)))
    (unwind-protect (funcall function)
      (cancel-timer timer))
    (funcall look)
    longest))

(let ((folder (expand-file-name "journals/" (getenv "HOME"))))
  (bench-journals--write folder)
  ;; The first call prunes.
  (setq todo-write-journal-count nil)
  (cl-flet ((blocks (function)
              (cl-loop repeat bench-rounds
                       ;; Another name of the folder is another store, in which nothing was read.
                       for n from 0
                       for name = (expand-file-name (format "journals-%d" n) (getenv "HOME"))
                       do (make-symbolic-link folder name t)
                          (setq todo-write-directory name)
                       collect (bench-journals--block function)
                       do (delete-file name))))
    (bench-row "a plan of 64 MiB is read, longest block"
               (blocks (lambda ()
                         (unless (= 1 (length (todo-write-items "long")))
                           (error "The plan is not there"))))
               "16 ms" 0.016 :measure #'identity :budget 1 :felt t)
    (bench-row (format "a search of %d journals, longest block" bench-journals--many)
               (blocks (lambda () (todo-write-search--find "bed")))
               "16 ms" 0.016 :measure #'identity :budget 1 :felt t))
  (setq todo-write-directory nil))

(provide 'bench-journals)
;;; bench-journals.el ends here
