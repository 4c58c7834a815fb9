;;; todo-write-corpus-tests.el --- Recorded calls in Lisp  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Recorded calls as Lisp objects have the outcomes of their JSON text.  What the
;; text means is tested in test/rust/corpus.rs.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-test-helper)

(defun todo-write-corpus-tests--sessions (object-type)
  "Return the sessions, each a list of inputs with objects of OBJECT-TYPE."
  (with-temp-buffer
    (let ((coding-system-for-read 'utf-8))
      (dolist (file (cons (todo-write-test-file "test/fixtures/corpus/sessions.jsonl")
                          (todo-write-test-corpus "corpus/sequences.jsonl")))
        (goto-char (point-max))
        (insert-file-contents file))
      (goto-char (point-min)))
    (cl-loop until (eobp)
             collect (let ((session (json-parse-buffer :object-type object-type)))
                       (mapcar (lambda (call)
                                 (if (hash-table-p call) (gethash "input" call)
                                   (plist-get call :input)))
                               (if (hash-table-p session) (gethash "calls" session)
                                 (plist-get session :calls))))
             do (skip-chars-forward " \t\r\n"))))

(ert-deftest todo-write-recorded-calls-have-the-outcomes-of-their-text ()
  (let ((tables (todo-write-corpus-tests--sessions 'hash-table))
        (accepted 0) (refused 0) (number 0))
    (todo-write-with-store
      (cl-loop
       for session in tables
       for plists in (todo-write-corpus-tests--sessions 'plist)
       for name = (format "session %d" (cl-incf number))
       do (cl-loop
           for table in session
           for forms = (list (decode-coding-string (json-serialize table) 'utf-8)
                             table (pop plists))
           for call from 1
           for before = (todo-write-items (format "%s, 0" name))
           for outcomes = (cl-loop for form in forms for n from 0
                                   collect (todo-write (format "%s, %d" name n) form))
           for (outcome . others) = (cl-loop for outcome in outcomes
                                             collect (cl-loop for key in '(:ok :result :errors :notices)
                                                              collect (plist-get outcome key)))
           do (ert-info ((format "%s, call %d" name call))
                (should (equal (car others) outcome))
                ;; As a plist, an empty object is nil.
                (unless (string-search "{}" (car forms))
                  (should (equal (cadr others) outcome)))
                (if (car outcome) (cl-incf accepted) (cl-incf refused))
                (dolist (n '(1 2))
                  (should (equal (todo-write-test-rows (format "%s, %d" name n))
                                 (todo-write-test-rows (format "%s, 0" name)))))
                (should (equal (append (todo-write-apply-changes
                                        before (plist-get (car outcomes) :changes))
                                       nil)
                               (append (todo-write-items (format "%s, 0" name)) nil)))))))
    (message "%d sessions: %d lists accepted, %d refused" (length tables) accepted refused)
    (should (> accepted 200))))

(provide 'todo-write-corpus-tests)
;;; todo-write-corpus-tests.el ends here
