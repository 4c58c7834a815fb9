;;; todo-write-quit-e2e-tests.el --- C-g at any moment  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An Emacs in a terminal writes and reads in a loop, and a user types C-g at
;; random moments.  Each time, listeners must have heard of every saved change,
;; and the next call must succeed.  C-g also stops an agent's expression.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-test-helper)

(defconst todo-write-quit-tests--quits 150
  "The number of times that C-g is typed.")

(defconst todo-write-quit-tests--child
  '(let ((inhibit-quit t) (n 0) (quits 0) (told 0) wrong)
     ;; A quit may end loading, and what inhibits quitting does not load.
     (let ((inhibit-quit nil)) (todo-write-threads))
     (add-hook 'todo-write-change-functions (lambda (&rest _) (cl-incf told)))
     (todo-write-subscribe (lambda (_) (cl-incf told)) :type "PLAN_UPDATE")
     (send-string-to-terminal "@@")
     (while (< quits wanted)
       (condition-case nil
           (let ((inhibit-quit nil))
             (while t
               (todo-write "a" (list :todos
                                     (vconcat (mapcar (lambda (k)
                                                        (list :content (format "Task %d" (+ n k))
                                                              :status "pending" :activeForm "Doing"))
                                                      (number-sequence 1 30)))))
               (setq n (1+ n))
               (todo-write-items "a")
               (todo-write-changes-between "a" 0 n)
               (todo-write-summary "a")))
         (quit
          (setq quits (1+ quits))
          (let ((revision (plist-get (todo-write-summary "a") :revision)))
            (unless (and (= told (* 2 revision)) (<= n revision (1+ n)))
              (push (list :written n :revision revision :told told) wrong))
            (setq n revision))
          (send-string-to-terminal "@@"))))
     (write-region (prin1-to-string (list :revisions n :wrong wrong)) nil result nil 'silent)
     (kill-emacs))
  "The form of the Emacs in which C-g is typed.")

(defun todo-write-quit-tests--start (form heard)
  "Start an Emacs in a terminal that evaluates FORM; call HEARD for each @ it shows."
  (let* ((process-environment (cons "TERM=xterm-256color" process-environment))
         (command (todo-write-test-emacs
                   '(require 'cl-lib)
                   form))
         (process (make-process :name "todo-write-quit" :noquery t :connection-type 'pty
                                :command (cl-substitute "-nw" "--batch" command :test #'equal)
                                :filter (lambda (_ text)
                                          (dotimes (_ (cl-count ?@ text)) (funcall heard))))))
    (set-process-window-size process 24 80)
    process))

(ert-deftest todo-write-c-g-at-any-moment-loses-no-change-and-no-notification ()
  :tags '(:thorough)
  (todo-write-with-store
    (let* ((folder (make-temp-file "todo-write-quit" t))
           (result (expand-file-name "result" folder))
           (marks 0)
           (process (todo-write-quit-tests--start
                     `(let ((wanted ,todo-write-quit-tests--quits) (result ,result))
                        ,todo-write-quit-tests--child)
                     (lambda () (cl-incf marks)))))
      (unwind-protect
          (progn
            (dotimes (k todo-write-quit-tests--quits)
              ;; A second C-g before Emacs has handled the first would offer to kill Emacs.
              (todo-write-test-wait (lambda () (or (>= marks (* 2 (1+ k)))
                                                   (not (process-live-p process)))))
              (let ((moment (+ (float-time) (/ (random 100) 10000.0))))
                (while (< (float-time) moment)
                  (accept-process-output process (max 0 (- moment (float-time))))))
              (process-send-string process "\C-g"))
            (todo-write-test-wait (lambda () (not (process-live-p process))))
            (let ((told (with-temp-buffer (insert-file-contents result) (read (current-buffer)))))
              (message "%d times C-g while %d lists were written" todo-write-quit-tests--quits
                       (plist-get told :revisions))
              (should-not (plist-get told :wrong))
              (should (> (plist-get told :revisions) 0))
              (should (= (plist-get told :revisions) (length (todo-write-revisions "a"))))
              (should (= 30 (length (todo-write-items "a"))))))
        (delete-process process)
        (todo-write-test-delete folder)))))

(ert-deftest efrit-do-c-g-stops-an-expression-that-never-ends ()
  (todo-write-with-store
    (let* ((folder (make-temp-file "todo-write-quit" t))
           (result (expand-file-name "result" folder))
           (script '((turns . [[((tool . "eval_sexp")
                                 (input (expr . "(progn (send-string-to-terminal \"@@\") (while t))")))]])))
           (begun nil)
           (process
            (todo-write-quit-tests--start
             `(progn
                (require 'efrit-do-replay)
                (require 'efrit-do)
                (setq efrit-do-confirm nil
                      efrit-do-end-functions
                      (list (lambda (session)
                              (write-region (symbol-name (efrit-do-session-status session))
                                            nil ,result nil 'silent)
                              (run-at-time 0 nil #'kill-emacs))))
                (efrit-do-session-start
                 (efrit-do-session-begin
                  "Loop" 'replay
                  (list :speed 0 :script (json-parse-string ,(json-serialize script))))))
             (lambda () (setq begun t)))))
      (unwind-protect
          (progn
            (todo-write-test-wait (lambda () begun))
            (process-send-string process "\C-g")
            (todo-write-test-wait (lambda () (not (process-live-p process))))
            (should (equal (with-temp-buffer (insert-file-contents result) (buffer-string))
                           "cancelled")))
        (delete-process process)
        (todo-write-test-delete folder)))))

(provide 'todo-write-quit-e2e-tests)
;;; todo-write-quit-e2e-tests.el ends here
