;;; todo-write-wait-tests.el --- Waiting for files  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Files that agents name may be on a file system that hangs, and a search reads all
;; journals.  `C-g' ends both.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-follow)
(require 'todo-write-permission)
(require 'todo-write-search)
(require 'todo-write-stuck-helper)
(require 'todo-write-test-helper)
(require 'todo-write-user-helper)

;;; Files that agents name

(defmacro todo-write-wait-tests--with-stuck-session (&rest body)
  "Evaluate BODY with a session in `file' below `mount', which can be stopped.
Its only line is `text'."
  (declare (indent 0) (debug t))
  `(todo-write-stuck-call
    (lambda (mount)
      (let ((text (json-serialize '( :type "user" :uuid "u1" :sessionId "s" :cwd "/garden"
                                     :message (:role "user" :content "Dig"))))
            (file (expand-file-name "projects/-garden/s.jsonl" mount)))
        (make-directory (file-name-directory file) t)
        (write-region text nil file nil 'silent)
        ,@body))))

(ert-deftest todo-write-wait-a-file-that-an-agent-names-can-be-given-up ()
  (todo-write-wait-tests--with-stuck-session
    (let* ((todo-write-follow-agents (list (cons 'claude mount)))
           (read (list (lambda () (todo-write-permission--file-text file mount))
                       (lambda () (plist-get (todo-write-transcript-describe file) :title))
                       (lambda () (todo-write-follow-sessions-began-in "s")))))
      (todo-write-stuck-stop)
      (dolist (one read)
        (should (eq 'ended (with-timeout (0.05 'ended) (funcall one)))))
      (todo-write-stuck-continue)
      (should (equal (list text "Dig" "/garden") (mapcar #'funcall read))))))

(ert-deftest todo-write-wait-C-g-ends-the-wait-for-a-file-that-is-said ()
  (todo-write-wait-tests--with-stuck-session
    (ignore text)
    (todo-write-user-call
     24 80
     (lambda ()
       (todo-write-user-eval
        '(require 'todo-write)
        '(todo-write-core-configure)
        '(defvar test-end nil)
        '(defvar test-ended #'ignore)
        `(defun test-look ()
           (interactive)
           (unwind-protect
               (setq test-end (plist-get (todo-write-transcript-describe ,file) :title))
             (setq test-end (or test-end 'quit))
             (funcall test-ended)))
        '(global-set-key "\C-co" #'test-look)
        '(progn (switch-to-buffer "*scratch*") t))
       (todo-write-stuck-stop)
       (process-send-string todo-write-user-process "\C-co")
       ;; Emacs answers other programs while it waits.
       (todo-write-test-wait
        (lambda () (equal "Reading a file..." (todo-write-user-eval '(current-message)))))
       ;; A quit must hit the wait, not what this Emacs asks; a timer inhibits it.
       (let ((waits (make-temp-name (expand-file-name "waits" temporary-file-directory)))
             (ended (make-temp-name (expand-file-name "ended" temporary-file-directory))))
         (unwind-protect
             (progn
               (should-not
                (todo-write-user-eval
                 `(setq test-ended (lambda () (write-region "" nil ,ended nil 'silent)))
                 `(ignore (run-at-time 0.1 nil (lambda () (write-region "" nil ,waits nil 'silent))))
                 'test-end))
               (todo-write-test-wait (lambda () (file-exists-p waits)))
               (process-send-string todo-write-user-process "\C-g")
               (todo-write-test-wait (lambda () (file-exists-p ended))))
           (delete-file waits)
           (delete-file ended)))
       (should (eq 'quit (todo-write-user-eval '(progn (setq test-ended #'ignore) test-end))))
       (todo-write-stuck-continue)
       (todo-write-user-eval '(setq test-end nil))
       (process-send-string todo-write-user-process "\C-co")
       (todo-write-test-wait (lambda () (equal "Dig" (todo-write-user-eval 'test-end))))))))

;;; A search of all plans

(defun todo-write-wait-tests--say-during-search (function)
  "Search all plans; call FUNCTION before what is said, with its arguments."
  (advice-add 'todo-write-core-say-wait :before function)
  (unwind-protect (todo-write-search--find "glass")
    (advice-remove 'todo-write-core-say-wait function)))

(ert-deftest todo-write-wait-a-search-says-how-much-is-done-and-C-g-ends-it ()
  (todo-write-with-store
    (todo-write-test-child
     `(progn (dolist (key '("a" "b" "c"))
               (todo-write key ',(todo-write-test-todos "Polish the glass")))
             (prin1 t)))
    (let (told)
      (should (= 3 (length (todo-write-wait-tests--say-during-search
                            (lambda (_seconds percent) (push percent told))))))
      (should (apply #'>= told)))
    (should (eq 'quit (condition-case nil
                          (todo-write-wait-tests--say-during-search
                           (lambda (&rest _) (setq quit-flag t)))
                        (quit 'quit))))))

(provide 'todo-write-wait-tests)
;;; todo-write-wait-tests.el ends here
