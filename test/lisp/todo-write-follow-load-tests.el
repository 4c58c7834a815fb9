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
            (todo-write-follow-interval 1000)
            (todo-write-follow-quiet 600))
       (make-directory folder t)
       (make-directory sessions t)
       (unwind-protect (progn ,@body)
         (todo-write-follow-stop)
         (todo-write-agents-mode -1)
         (delete-directory home t)))))

(defun todo-write-follow-load-tests--append (file n)
  "Append the Nth list that the agent of a session writes to FILE; 0 begins it."
  (apply #'todo-write-test-transcript file "/garden"
         (if (= n 0)
             '((:type "user" :uuid "u0" :message (:role "user" :content "Dig")))
           (todo-write-test-transcript-list (format "c%d" n) (format "Bed %d" n)))))

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

(defun todo-write-follow-load-tests--ready-p (files)
  "Return non-nil if all that FILES, those of sessions, have is read."
  (cl-every (lambda (file)
              (when-let* ((session (todo-write-follow--find file)))
                (eq 'ready (todo-write-follow--session-state session))))
            files))

(ert-deftest todo-write-follow-draws-the-events-of-all-agents-once ()
  (todo-write-follow-load-tests--with
    (let ((files (todo-write-follow-load-tests--begin folder 12)))
      (unwind-protect
          (progn
            (todo-write-mode-line-mode 1)
            (save-window-excursion
              (todo-write-list)
              (todo-write-agents-mode)
              (todo-write-test-wait
               (lambda () (todo-write-follow-load-tests--ready-p files)))
              ;; Rows that began to work kept their places, since the overview is selected.
              (with-current-buffer "*todo-write-list*" (todo-write-list--print))
              (todo-write-redraw)
              (when todo-write-events--timer
                (cancel-timer todo-write-events--timer)
                (setq todo-write-events--timer nil))
              (remove-hook 'todo-write-events-functions #'todo-write-test-draw)
              (dolist (file files)
                (todo-write-follow-load-tests--append file 2))
              (let ((counts (todo-write-follow-load-tests--counting
                                '(todo-write-mode-line--update)
                              ;; Time draws, too.
                              (cl-letf (((symbol-function 'todo-write-events--wake) #'ignore))
                                (todo-write-test-wait
                                 (lambda ()
                                   (cl-loop for n below 12
                                            always (equal '("Bed 2")
                                                          (todo-write-test-contents
                                                           (format "claude:s%d" n)))))))
                              (todo-write-redraw))))
                (should (equal 1 (cdar counts))))
              (with-current-buffer "*todo-write-list*"
                (let ((drawn (buffer-string)))
                  (todo-write-list--print)
                  (should (equal drawn (buffer-string)))))))
        (todo-write-mode-line-mode -1)
        (kill-buffer "*todo-write-list*")))))

(ert-deftest todo-write-follow-looks-that-find-nothing-do-not-wake-emacs ()
  (todo-write-follow-load-tests--with
    (let ((files (todo-write-follow-load-tests--begin folder 12))
          (todo-write-follow-interval 0.02))
      (write-region "{\"sessionId\":\"s3\",\"status\":\"waiting\",\"cwd\":\"/garden\"}" nil
                    (expand-file-name (format "%d.json" (emacs-pid)) sessions) nil 'silent)
      (todo-write-agents-mode)
      (todo-write-test-wait (lambda () (todo-write-follow-load-tests--ready-p files)))
      (should (eq 'waiting (car (todo-write-activity "claude:s3"))))
      (let* (read
             (note (pcase-lambda (`(,what :session ,id . ,_))
                     (when (eq what 'read)
                       (push id read)))))
        (unwind-protect
            (progn
              (advice-add 'todo-write-follow--receive :before note)
              ;; Those that wrote nothing were looked at meanwhile.
              (cl-loop for n from 2 to 20
                       do (todo-write-follow-load-tests--append (car files) n)
                       (todo-write-test-wait
                        (lambda ()
                          (equal (list (format "Bed %d" n))
                                 (todo-write-test-contents "claude:s0"))))))
          (advice-remove 'todo-write-follow--receive note))
        (should (equal (list (todo-write-follow--session-id
                              (todo-write-follow--find (car files))))
                       (seq-uniq read)))))))

(provide 'todo-write-follow-load-tests)
;;; todo-write-follow-load-tests.el ends here
