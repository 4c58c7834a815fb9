;;; todo-write-count-tests.el --- Work against an independent count  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; test/work/count.py counts what each task of a transcript did, from the same rules
;; but without the code under test.  All figures must agree, for transcripts of
;; the folder TODO_WRITE_CORPUS and for those in test/fixtures.

;;; Code:

(require 'ert)
(require 'seq)
(require 'todo-write-follow)
(require 'todo-write-test-helper)

(defconst todo-write-count-tests--program
  (expand-file-name "../work/count.py" (file-name-directory (or load-file-name buffer-file-name)))
  "The independent count.")

(defun todo-write-count-tests--count (file)
  "Return the independent count of FILE."
  (with-temp-buffer
    (should (eq 0 (call-process "python3" nil '(t nil) nil todo-write-count-tests--program file)))
    (goto-char (point-min))
    (json-parse-buffer :object-type 'alist :array-type 'list :false-object nil)))

(defun todo-write-count-tests--figures (work)
  "Return the value of `todo-write-work' WORK in the form of the count."
  (let ((commands (plist-get work :commands))
        (tokens (plist-get work :tokens)))
    (cl-flet ((number (plist key) (or (plist-get plist key) 0)))
      (list :files (sort (mapcar (lambda (file)
                                   (list (plist-get file :path) (plist-get file :added)
                                         (plist-get file :removed) (plist-get file :edits)))
                                 (plist-get work :files))
                         (lambda (a b) (string< (car a) (car b))))
            :added (number work :added) :removed (number work :removed)
            :edits (number work :edits)
            :commands (mapcar (lambda (key) (number commands key))
                              '(:run :failed :refused :background :unknown))
            :responses (number work :responses)
            :tokens (mapcar (lambda (key) (number tokens key))
                            '(:input :output :cacheRead :cacheWrite))
            :at-least (and (plist-get tokens :atLeast) t)))))

(defun todo-write-count-tests--expected (figures)
  "Return FIGURES of the independent count in the same form."
  (let-alist figures
    (list :files (sort (mapcar (pcase-lambda (`(,path . ,numbers))
                                 (cons (symbol-name path) numbers))
                               .files)
                       (lambda (a b) (string< (car a) (car b))))
          :added .added :removed .removed :edits .edits
          :commands (list .commands.run .commands.failed .commands.refused
                          .commands.background .commands.unknown)
          :responses .responses
          :tokens (list .tokens.input .tokens.output .tokens.cacheRead .tokens.cacheWrite)
          :at-least (and .atLeast t))))

(defun todo-write-count-tests--ids (thread names)
  "Return the ids of all items of THREAD that once had a content among NAMES."
  (let (ids)
    (dotimes (revision (plist-get (todo-write-summary thread) :revision))
      (seq-doseq (item (todo-write-items thread (1+ revision)))
        (when (member (plist-get item :content) names)
          (cl-pushnew (plist-get item :id) ids :test #'equal))))
    ids))

(defun todo-write-count-tests--check (file)
  "Check all figures of the transcript FILE."
  (todo-write-with-store
    (let* ((thread (unwind-protect (todo-write-follow file) (todo-write-follow-stop)))
           (count (todo-write-count-tests--count file))
           (differences nil))
      (when thread
        (cl-flet ((compare (what figures work)
                    (let ((expected (todo-write-count-tests--expected figures))
                          (actual (todo-write-count-tests--figures work)))
                      (cl-loop for (key value) on expected by #'cddr
                               unless (equal value (plist-get actual key))
                               do (push (list what key value (plist-get actual key))
                                        differences)))))
          (let-alist count
            (compare 'whole .whole (todo-write-work thread))
            (compare 'outside .outside (todo-write-work thread 'outside))
            (dolist (task .tasks)
              (let-alist task
                (let ((ids (seq-filter (lambda (id) (todo-write-work thread id))
                                       (todo-write-count-tests--ids thread .names))))
                  (compare (car .names) .figures
                           (and (not (cdr ids)) ids (todo-write-work thread (car ids))))))))))
      (cons thread (nreverse differences)))))

(ert-deftest todo-write-work-equals-an-independent-count ()
  (skip-unless (executable-find "python3"))
  (let* ((corpus (getenv "TODO_WRITE_CORPUS"))
         (folders (and corpus (list (expand-file-name "transcripts" corpus)))))
    (skip-unless corpus)
    (let (wrong)
      (dolist (file (mapcan (lambda (folder)
                              (directory-files-recursively folder "\\.jsonl\\'"))
                            folders))
        (unless (string-match-p "/\\(copilot\\|gemini\\|opencode\\|subagents\\)/\\|/agent-" file)
          (when-let* ((differences (cdr (todo-write-count-tests--check file))))
            (push (cons (file-name-nondirectory file) differences) wrong))))
      (should-not wrong))))

(ert-deftest todo-write-every-recorded-patch-applies-to-its-original ()
  (skip-unless (and (executable-find "python3") (executable-find "git")))
  (let ((corpus (getenv "TODO_WRITE_CORPUS")))
    (skip-unless corpus)
    (dolist (file (directory-files-recursively
                   (expand-file-name "transcripts/claude" corpus) "\\.jsonl\\'"))
      (todo-write-with-store
        (unwind-protect (todo-write-follow file) (todo-write-follow-stop))
        (with-temp-buffer
          (dolist (journal (directory-files todo-write-directory t "\\.jsonl\\'"))
            (ert-info (file :prefix "Transcript: ")
              (unless (eq 0 (call-process "python3" nil t nil
                                          (expand-file-name
                                           "patches.py"
                                           (file-name-directory
                                            todo-write-count-tests--program))
                                          file journal))
                (ert-fail (buffer-string))))))))))

(provide 'todo-write-count-tests)
;;; todo-write-count-tests.el ends here
