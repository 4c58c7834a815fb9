;;; todo-write-follow-load-tests.el --- Many sessions, counted work  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What many agents cost is counted, never timed: how often something is looked at,
;; watched or drawn.

;;; Code:

(require 'ert)
(require 'todo-write-follow)
(require 'todo-write-list)
(require 'todo-write-mode-line)
(require 'todo-write-test-helper)

(defmacro todo-write-follow-load-tests--with (&rest body)
  "Evaluate BODY with an empty store and an empty home of Claude Code.
`folder' is a folder of transcripts, `sessions' that of process files."
  (declare (indent 0) (debug t))
  `(todo-write-with-store
     (let* ((home (make-temp-file "home" t))
            (folder (expand-file-name "projects/-garden/" home))
            (sessions (expand-file-name "sessions/" home))
            (todo-write-follow-agents (list (cons 'claude home)))
            (todo-write-follow-all t)
            (todo-write-follow-interval 1000)
            (todo-write-follow-quiet 600)
            (todo-write-follow-sessions--found nil))
       (make-directory folder t)
       (make-directory sessions t)
       (unwind-protect (progn ,@body)
         (todo-write-follow-stop)
         (todo-write-follow-mode -1)
         (delete-directory home t)))))

(defun todo-write-follow-load-tests--append (file n)
  "Append the Nth list that the agent of a session writes to FILE; 0 begins it."
  (let ((session (file-name-base file)) create-lockfiles)
    (write-region
     (mapconcat
      (lambda (line)
        (concat (json-serialize `(:sessionId ,session :cwd "/garden" :isSidechain :false ,@line))
                "\n"))
      (if (= n 0)
          `((:type "user" :uuid "u0" :message (:role "user" :content "Dig")))
        `(( :type "assistant" :uuid ,(format "u%d" n)
            :message ( :id ,(format "m%d" n) :content
                       [(:type "tool_use" :id ,(format "c%d" n) :name "TodoWrite"
                         :input ,(todo-write-test-todos (format "Bed %d" n)))]))
          ( :type "user" :uuid ,(format "r%d" n)
            :message (:content [( :type "tool_result" :tool_use_id ,(format "c%d" n)
                                  :content "ok")]))))
      "")
     nil file t 'silent)))

(defun todo-write-follow-load-tests--begin (folder count)
  "Write COUNT sessions into FOLDER; return their files."
  (cl-loop for n below count
           for file = (expand-file-name (format "s%d.jsonl" n) folder)
           do (todo-write-follow-load-tests--append file 0)
           (todo-write-follow-load-tests--append file 1)
           collect file))

(defmacro todo-write-follow-load-tests--counting (functions &rest body)
  "Evaluate BODY; return the number of calls of each of FUNCTIONS, an alist."
  (declare (indent 1) (debug t))
  `(let* ((counts (mapcar (lambda (function) (cons function 0)) ,functions))
          (advice (mapcar (lambda (count) (lambda (&rest _) (cl-incf (cdr count)))) counts)))
     (cl-mapc (lambda (count function) (advice-add (car count) :before function)) counts advice)
     (unwind-protect (progn ,@body)
       (cl-mapc (lambda (count function) (advice-remove (car count) function)) counts advice))
     counts))

(ert-deftest todo-write-follow-watches-each-file-once-after-all-sessions-began ()
  (todo-write-follow-load-tests--with
    (let* ((files (todo-write-follow-load-tests--begin folder 40))
           (counts (todo-write-follow-load-tests--counting
                       '(todo-write-follow-watch--add todo-write-follow-watch--set)
                     (todo-write-follow-mode)
                     (todo-write-test-wait
                      (lambda () (and (cl-every #'todo-write-follow--find files)
                                      (null todo-write-follow--queue)))))))
      ;; The transcripts, their folder, its parent and that of process files.  What a slow
      ;; machine looks at meanwhile is watched again, but never all of it.
      (should (<= 41 (alist-get 'todo-write-follow-watch--add counts) 80))
      ;; Not once for each session.
      (should (< (alist-get 'todo-write-follow-watch--set counts) 8)))))

(ert-deftest todo-write-follow-watches-what-a-slice-leaves-in-later-ones ()
  (todo-write-follow-load-tests--with
    (let ((files (todo-write-follow-load-tests--begin folder 40))
          (todo-write-follow--slice 0.0001))
      (todo-write-follow-mode)
      (todo-write-test-wait
       (lambda ()
         (and (not todo-write-follow--watch-due)
              (cl-every (lambda (file) (gethash file todo-write-follow-watch--table)) files)))))))

(ert-deftest todo-write-follow-does-not-ask-a-system-that-watches-no-more-again ()
  (let ((wanted (make-hash-table :test #'equal))
        (todo-write-follow-watch--table (make-hash-table :test #'equal)))
    (dotimes (n 3)
      (puthash (format "/missing/%d" n) 'file wanted))
    (should-not (car (todo-write-follow-watch--set wanted #'ignore (float-time))))
    (should (equal '(nil) (todo-write-follow-watch--set wanted #'ignore (+ 100 (float-time)))))))

(ert-deftest todo-write-follow-a-file-that-grows-is-looked-at-instead-of-watched ()
  (skip-unless (fboundp 'inotify-add-watch))
  (todo-write-follow-load-tests--with
    (let* ((file (car (todo-write-follow-load-tests--begin folder 1)))
           (thread (todo-write-follow file))
           counts)
      (todo-write-follow-mode)
      (todo-write-test-wait (lambda () (and (gethash file todo-write-follow-watch--table)
                                            (not todo-write-follow--watch-due))))
      (setq counts
            (todo-write-follow-load-tests--counting
                '(todo-write-follow--changed todo-write-follow-watch--add)
              (dotimes (n 20)
                (todo-write-follow-load-tests--append file (+ n 2))
                (todo-write-test-wait
                 (lambda ()
                   (read-event nil nil 0.01)
                   (equal (todo-write-test-contents thread) (list (format "Bed %d" (+ n 2)))))))
              (should (todo-write-follow--session-hot (todo-write-follow--find file)))
              (should-not (gethash file todo-write-follow-watch--table))))
      ;; One notification, not one for each line.
      (should (<= (alist-get 'todo-write-follow--changed counts) 2))
      (should (= 0 (alist-get 'todo-write-follow-watch--add counts)))
      ;; After a while of silence, it is watched again.
      (todo-write-test-wait (lambda () (gethash file todo-write-follow-watch--table)))
      (should-not (todo-write-follow--session-hot (todo-write-follow--find file)))
      (todo-write-follow-load-tests--append file 30)
      (todo-write-test-wait (lambda ()
                              (read-event nil nil 0.01)
                              (equal (todo-write-test-contents thread) '("Bed 30")))))))

(ert-deftest todo-write-follow-draws-the-events-of-a-tick-once ()
  (todo-write-follow-load-tests--with
    (let ((files (todo-write-follow-load-tests--begin folder 12)))
      (unwind-protect
          (progn
            (todo-write-mode-line-mode 1)
            (save-window-excursion
              (todo-write-list)
              (todo-write-follow-mode)
              (todo-write-test-wait (lambda () (cl-every #'todo-write-follow--find files)))
              (dolist (file files)
                (todo-write-follow-load-tests--append file 2)
                (setf (todo-write-follow--session-hot (todo-write-follow--find file)) 0.0))
              (let* ((todo-write-follow--slice 60)
                     (counts (todo-write-follow-load-tests--counting
                                 '(todo-write-mode-line--update todo-write-list--draw
                                   todo-write-list--update-row)
                               (todo-write-follow--tick))))
                (should (= 1 (alist-get 'todo-write-mode-line--update counts)))
                (should (= 1 (alist-get 'todo-write-list--draw counts)))
                ;; Each write is two events of its agent.
                (should (<= (alist-get 'todo-write-list--update-row counts) 12)))
              (with-current-buffer "*todo-write-list*"
                (let ((drawn (buffer-string)))
                  (todo-write-list--print)
                  (should (equal drawn (buffer-string)))))))
        (todo-write-mode-line-mode -1)
        (kill-buffer "*todo-write-list*")))))

(ert-deftest todo-write-follow-a-poll-with-nothing-new-applies-no-activity ()
  (todo-write-follow-load-tests--with
    (let ((files (todo-write-follow-load-tests--begin folder 12)))
      (todo-write-follow-mode)
      (todo-write-test-wait (lambda () (cl-every #'todo-write-follow--find files)))
      (todo-write-follow--poll-all)
      (let ((counts (todo-write-follow-load-tests--counting
                        '(todo-write-follow--apply-known-activity todo-write-follow-watch--set)
                      (todo-write-follow--poll-all))))
        (should (equal '(0 0) (mapcar #'cdr counts))))
      (write-region "{\"sessionId\":\"s3\",\"status\":\"waiting\",\"cwd\":\"/garden\"}" nil
                    (expand-file-name (format "%d.json" (emacs-pid)) sessions) nil 'silent)
      (todo-write-follow--poll-all)
      (should (eq 'waiting (car (todo-write-activity "claude:s3")))))))

(ert-deftest todo-write-follow-a-slice-that-is-over-leaves-the-rest-visible-first ()
  (todo-write-follow-load-tests--with
    (let ((files (todo-write-follow-load-tests--begin folder 6)) order)
      (todo-write-follow-mode)
      (todo-write-test-wait (lambda () (cl-every #'todo-write-follow--find files)))
      (dolist (file files)
        (setf (todo-write-follow--session-hot (todo-write-follow--find file)) (float-time)))
      (save-window-excursion
        (todo-write-show "claude:s0" t)
        ;; No time is left, so all of them are.
        (should (todo-write-follow--poll-hot 0))
        (setq order (mapcar #'todo-write-follow--session-thread todo-write-follow--hot-left)))
      (should (equal (car order) "claude:s0"))
      (should (= 6 (length order)))
      (should-not (todo-write-follow--poll-hot (+ 60 (float-time)))))))

(provide 'todo-write-follow-load-tests)
;;; todo-write-follow-load-tests.el ends here
