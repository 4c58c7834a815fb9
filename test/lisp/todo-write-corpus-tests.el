;;; todo-write-corpus-tests.el --- Sessions of agents through the store  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Invented sessions in the forms that agents send, and recorded sessions if they
;; are available, as hash tables and as plists.  The expected rows follow from
;; the rules in the manual, implemented here without the code under test.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'seq)
(require 'subr-x)
(require 'todo-write-test-helper)

(defconst todo-write-corpus-tests--synonyms
  '(("done" . "completed") ("complete" . "completed") ("finished" . "completed")
    ("in-progress" . "in_progress") ("inprogress" . "in_progress")
    ("in progress" . "in_progress") ("doing" . "in_progress") ("active" . "in_progress")
    ("todo" . "pending") ("not_started" . "pending") ("not started" . "pending")
    ("open" . "pending"))
  "Alist of the synonyms of statuses.")

(defun todo-write-corpus-tests--status (status)
  "Return the status that STATUS, any object, stands for, or nil."
  (when (stringp status)
    (let ((name (downcase (string-trim status))))
      (or (cdr (assoc name todo-write-corpus-tests--synonyms))
          (car (member name '("pending" "in_progress" "completed")))))))

(defun todo-write-corpus-tests--text (text)
  "Return TEXT, any object, as one line, or nil if it is blank or no string."
  (when (stringp text)
    (let ((line (string-trim (replace-regexp-in-string "[ \t]*[\n\r\t]+[ \t]*" " " text))))
      (unless (string-empty-p line) line))))

(defun todo-write-corpus-tests--row (task)
  "Return the row that TASK, a hash table, should become, or nil."
  (when (hash-table-p task)
    (let* ((content (cl-some (lambda (key) (todo-write-corpus-tests--text (gethash key task)))
                             '("content" "description" "title" "step")))
           (status (todo-write-corpus-tests--status (gethash "status" task)))
           (active-form (cl-some (lambda (key)
                                   (todo-write-corpus-tests--text (gethash key task)))
                                 '("activeForm" "active_form"))))
      (and content status (list content status (or active-form content))))))

(defun todo-write-corpus-tests--expected (input)
  "Return the rows that INPUT should become, or `refused'."
  (let ((todos (if (hash-table-p input) (gethash "todos" input) input)))
    (when (stringp todos)
      (setq todos (with-temp-buffer
                    (insert todos)
                    (goto-char (point-min))
                    (ignore-errors (json-parse-buffer)))))
    (let ((rows (and (vectorp todos) (mapcar #'todo-write-corpus-tests--row todos))))
      (if (and (vectorp todos) (not (memq nil rows))) rows 'refused))))

(defun todo-write-corpus-tests--sessions (object-type)
  "Return the sessions, each a list of inputs with objects of OBJECT-TYPE."
  (with-temp-buffer
    (let ((coding-system-for-read 'utf-8))
      (dolist (file (cons (todo-write-test-file "test/fixtures/corpus/sessions.jsonl")
                          (todo-write-test-corpus "corpus/sequences.jsonl")))
        (goto-char (point-max))
        (insert-file-contents file))
      (goto-char (point-min)))
    (let (sessions)
      (while (not (eobp))
        (let* ((session (json-parse-buffer :object-type object-type))
               (calls (if (hash-table-p session)
                          (gethash "calls" session)
                        (plist-get session :calls))))
          (push (mapcar (lambda (call)
                          (if (hash-table-p call)
                              (gethash "input" call)
                            (plist-get call :input)))
                        calls)
                sessions))
        (skip-chars-forward " \t\r\n"))
      (nreverse sessions))))

(defun todo-write-corpus-tests--check (inputs sessions)
  "Write SESSIONS, and compare them with the rows that INPUTS should become.
Both are lists of sessions, with the same inputs in two forms.  Return a
list of counts: calls accepted, with a notice, refused, and changes."
  (let ((number 0) (accepted 0) (noticed 0) (refused 0) (changes 0))
    (cl-loop
     for session in sessions for tables in inputs
     for thread = (format "session %d" (cl-incf number))
     do (cl-loop
         for input in session for table in tables for call from 1
         for expected = (todo-write-corpus-tests--expected table)
         for before = (todo-write-items thread)
         for outcome = (todo-write thread input)
         do (ert-info ((format "%s, call %d" thread call))
              (should (eq (plist-get outcome :ok) (not (eq expected 'refused))))
              (cond
               ((plist-get outcome :ok)
                (cl-incf accepted)
                (when (plist-get outcome :notices) (cl-incf noticed))
                (cl-incf changes (length (plist-get (plist-get outcome :changes) :changes)))
                (should (equal (todo-write-test-rows thread) expected))
                (should (equal (append (todo-write-apply-changes
                                        before (plist-get outcome :changes))
                                       nil)
                               (append (todo-write-items thread) nil))))
               (t
                (cl-incf refused)
                (should (equal (todo-write-items thread) before))
                (should (cl-every (lambda (problem)
                                    (string-match-p "\\`\\(input\\|todos\\)"
                                                    (plist-get problem :path)))
                                  (plist-get outcome :errors))))))))
    (list accepted noticed refused changes)))

(ert-deftest todo-write-sessions-are-stored-as-they-were-sent ()
  (let ((tables (todo-write-corpus-tests--sessions 'hash-table)))
    (dolist (type '(hash-table plist))
      (todo-write-with-store
        (let ((counts (todo-write-corpus-tests--check
                       tables (if (eq type 'plist)
                                  (todo-write-corpus-tests--sessions 'plist)
                                tables))))
          (message "%d sessions as %s: %d lists accepted (%d with a notice), \
%d refused, %d changes"
                   (length tables) type (nth 0 counts) (nth 1 counts)
                   (nth 2 counts) (nth 3 counts))
          (should (> (nth 0 counts) 200)))))))

(ert-deftest todo-write-a-truncated-list-is-refused-with-its-place ()
  (todo-write-with-store
    (let ((count 0))
      (dolist (session (todo-write-corpus-tests--sessions 'hash-table))
        (let* ((text (decode-coding-string (json-serialize (car session)) 'utf-8))
               (outcome (todo-write "a" (substring text 0 (random (length text)))))
               (problem (car (plist-get outcome :errors))))
          (cl-incf count)
          (should-not (plist-get outcome :ok))
          (should (equal (plist-get problem :path) "input"))
          (should (string-match-p "line [0-9]+, column [0-9]+"
                                  (plist-get problem :received)))))
      (message "%d lists cut short, all refused with line and column" count)
      (should (equal (todo-write-items "a") [])))))

(ert-deftest todo-write-sessions-come-back-from-their-journals ()
  (let ((sessions (seq-take (todo-write-corpus-tests--sessions 'plist) 80))
        (number 0))
    (todo-write-with-store
      (dolist (session sessions)
        (cl-incf number)
        (dolist (input session)
          (todo-write (number-to-string number) input)))
      (let ((there (mapcar (lambda (n)
                             (mapcar (lambda (revision)
                                       (append (todo-write-items
                                                n (plist-get revision :revision))
                                               nil))
                                     (todo-write-revisions n)))
                           (mapcar #'number-to-string (number-sequence 1 number)))))
        (let ((files (directory-files todo-write-directory t "\\.jsonl\\'")))
          (todo-write-with-store
            (dolist (file files)
              (copy-file file (file-name-as-directory todo-write-directory)))
            (cl-loop for n from 1 to number for lists in there
                     do (cl-loop for list in lists for revision from 1
                                 do (should (equal (append (todo-write-items
                                                            (number-to-string n) revision)
                                                           nil)
                                                   list))))))))))

(provide 'todo-write-corpus-tests)
;;; todo-write-corpus-tests.el ends here
