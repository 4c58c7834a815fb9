;;; todo-write-visit-tests.el --- Where a plan's diffs and files lead  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An agent chooses the names of files and the text of patches.  Neither leads to
;; another machine, nor to a file that is not recorded.

;;; Code:

(require 'ert)
(require 'tramp-sh)
(require 'todo-write-review)
(require 'todo-write-visit)
(require 'todo-write-view-test-helper)

(defmacro todo-write-visit-tests--hosts (&rest body)
  "Run BODY; return the hosts to which it would connect.
Its errors are ignored, except for failed tests."
  (declare (indent 0) (debug t))
  `(let (hosts)
     (cl-letf (((symbol-function 'tramp-maybe-open-connection)
                (lambda (vec)
                  (cl-pushnew (tramp-file-name-host vec) hosts :test #'equal)
                  (error "No connection here")))
               ((symbol-function 'read-file-name)
                (lambda (&rest _) (user-error "Not found"))))
       (condition-case error
           (progn ,@body)
         (ert-test-failed (signal (car error) (cdr error)))
         (error nil)))
     hosts))

(defun todo-write-visit-tests--edit (files &optional result)
  "Record that a task of the plan \"a\" changed FILES, a list of plists.
RESULT is the call's text."
  (todo-write-observe "a" "TOOL_CALL" '(:id "c" :name "Edit" :input "{}") :call-id "c")
  (todo-write-observe "a" "TOOL_EXECUTION"
                      (list :id "c" :name "Edit" :content (or result "done"))
                      :call-id "c" :outcome 'ok :files files))

(defmacro todo-write-visit-tests--with-plan (project &rest body)
  "Run BODY with a view of the plan \"a\" of PROJECT, whose task is in progress."
  (declare (indent 1) (debug t))
  `(todo-write-test-with-view
     (todo-write-begin "a" :project ,project)
     (todo-write-test-write "a" '("One" "in_progress"))
     ,@body))

(defmacro todo-write-visit-tests--with-folder (folder &rest body)
  "Run BODY with FOLDER bound to the name of a new folder."
  (declare (indent 1) (debug t))
  `(let ((,folder (file-name-as-directory (make-temp-file "todo-write" t))))
     (unwind-protect (progn ,@body) (delete-directory ,folder t))))

(defun todo-write-visit-tests--in-diff (text function)
  "Show the diff of the plan \"a\", and call FUNCTION on the line with TEXT."
  (todo-write-show-diff "a")
  (with-current-buffer "*todo-write-diff*"
    (font-lock-ensure)
    (goto-char (point-min))
    (search-forward text)
    (save-window-excursion (funcall function))))

(defconst todo-write-visit-tests--names
  '("/ssh:evil.example:/x" "/./ssh:evil.example:/x" "//ssh:evil.example:/x"
    "/proj/../../../ssh:evil.example:/x" "/proj/..//ssh:evil.example:/x"
    "../../../ssh:evil.example:/x" "../ssh:evil.example:/../ssh:evil.example:/x"
    "/ssh:evil.example:/../ssh:evil.example:/x" "/ssh:evil.example:~/x")
  "Names that Emacs would expand to those of files on another machine.")

(ert-deftest todo-write-visit-no-name-of-a-file-leads-to-another-machine ()
  (dolist (name todo-write-visit-tests--names)
    (todo-write-visit-tests--with-plan "/proj/"
      (todo-write-visit-tests--edit `((:path ,name :oldText "1\n" :newText "2\n")))
      (let ((path (plist-get (car (plist-get (todo-write-work "a") :files)) :path)))
        (should-not (string-match-p "/\\.\\.?/\\|//" path)))
      (todo-write-test-open "One")
      (dolist (line '("✎ " "  +1"))
        (goto-char (point-min))
        (search-forward line)
        (should (equal (list name line nil)
                       (list name line (todo-write-visit-tests--hosts
                                         (todo-write-test-press "RET"))))))
      (should-not (todo-write-visit-tests--hosts
                    (todo-write-visit-tests--in-diff "+2" #'diff-goto-source))))))

(ert-deftest todo-write-review-opens-no-file-of-another-machine-unasked ()
  (dolist (project '("/proj/" "/ssh:evil.example:/proj/"))
    (dolist (name '("/proj/x" "/ssh:evil.example:/x" "/proj/../../../ssh:evil.example:/x"))
      (todo-write-visit-tests--with-plan project
        (todo-write-visit-tests--edit `((:path ,name :oldText "1\n" :newText "2\n")))
        (should-not (todo-write-visit-tests--hosts
                      (todo-write-review "a")
                      (font-lock-ensure)
                      (diff-hunk-next)
                      (should (search-forward "+2" nil t))
                      (todo-write-comment)
                      (todo-write-compose-cancel)
                      (with-current-buffer "*todo-write-review*"
                        (call-interactively #'todo-write-copy)
                        (todo-write-review-mark)
                        (revert-buffer)
                        (todo-write-review-unmark))))
        (kill-buffer "*todo-write-review*")))))

(ert-deftest todo-write-visit-a-recorded-name-that-climbs-leads-nowhere ()
  ;; Earlier versions recorded names as agents wrote them.
  (todo-write-visit-tests--with-plan "/proj/"
    (dolist (name todo-write-visit-tests--names)
      (should-not (todo-write-visit-tests--hosts (todo-write-visit-open-file "a" name))))
    (dolist (name (list "/a/../b" "/.." "/etc/\0hosts" (concat "/" (make-string 5000 ?x))))
      (should-error (todo-write-visit-open-file "a" name) :type 'user-error))))

(ert-deftest todo-write-visit-a-name-that-still-climbs-has-no-patch ()
  (todo-write-with-store
    (todo-write-visit-tests--edit '((:path "~/../x" :oldText "1\n" :newText "2\n")
                                    (:path "/a\0b" :oldText "1\n" :newText "2\n")))
    (should (equal "" (todo-write-patch "a")))
    (should (= 2 (plist-get (todo-write-work "a") :added)))))

(ert-deftest todo-write-visit-a-file-whose-name-has-a-nul-is-not-there ()
  (todo-write-visit-tests--with-plan "/proj/"
    (todo-write-visit-tests--edit '((:path "/proj/a\0b" :oldText "1\n" :newText "2\n")))
    (todo-write-test-open "One")
    (search-forward "✎ ")
    (should (eq 'user-error (car (should-error (todo-write-test-press "RET")))))))

(defconst todo-write-visit-tests--forged
  "--- a/shelf.txt\n+++ /ssh:evil.example:/x\n@@ -1 +1 @@\n-1\n+two\n"
  "The header of another file, with a hunk.")

(ert-deftest todo-write-visit-a-forged-header-is-not-recorded ()
  (todo-write-with-store
    (let ((good "@@ -1 +1 @@\n-one\n+1\n"))
      (todo-write-visit-tests--edit
       `((:path "/proj/f" :patch ,(concat good "@@ -9 +9 @@\n-nine\n+9\n"
                                          todo-write-visit-tests--forged))))
      (should (equal (todo-write-patch "a")
                     (concat "diff --git a/proj/f b/proj/f\n--- a/proj/f\n+++ b/proj/f\n" good
                             "@@ -1 +1 @@\n-1\n+two\n# Left out: 1 malformed hunk.\n"))))))

(ert-deftest todo-write-visit-a-diff-leads-to-the-recorded-file-whatever-its-lines-say ()
  (todo-write-visit-tests--with-folder folder
    (let ((file (concat folder "shelf.txt")) (other (concat folder "other.txt")))
      (dolist (name (list file other))
        (with-temp-file name (insert "-- a/x\ntwo\n")))
      (dolist (header (list "+ /ssh:evil.example:/x" (concat "+ " other)))
        (todo-write-visit-tests--with-plan folder
          ;; These lines are part of the hunk, and look like the header of a file.
          (todo-write-visit-tests--edit
           `((:path ,file :patch ,(concat "@@ -1,2 +1,2 @@\n--- a/x\n++" header "\n two\n"
                                        "@@ -9 +9 @@\n-nine\n+9\n"))))
          (dolist (text '("-1,2" "--- a/x\n++" "two" "nine"))
            (should-not (todo-write-visit-tests--hosts
                          (todo-write-visit-tests--in-diff
                           text (lambda ()
                                  (should (equal file (diff-find-file-name)))
                                  (diff-goto-source)
                                  (should (equal file buffer-file-name))
                                  (kill-buffer)))))))))))

(ert-deftest todo-write-visit-a-change-is-taken-back-in-the-recorded-file-alone ()
  (todo-write-visit-tests--with-folder folder
    (let ((file (concat folder "d/shelf.txt")) (same (concat folder "shelf.txt")))
      (make-directory (concat folder "d"))
      (dolist (name (list file same))
        (with-temp-file name (insert "one\ntwo\n")))
      (todo-write-visit-tests--with-plan (concat folder "elsewhere/")
        (todo-write-visit-tests--edit
         `((:path ,file :oldText "one\n2\n" :newText "one\ntwo\n")
           (:path ,same :oldText "1\ntwo\n" :newText "one\ntwo\n")))
        (pcase-dolist (`(,text . ,changed) `(("+two" . ,file) ("+one" . ,same)))
          (todo-write-visit-tests--in-diff text (lambda () (diff-apply-hunk t)))
          (should (equal (list changed) (mapcar #'buffer-file-name
                                                (seq-filter #'buffer-modified-p
                                                            (seq-filter #'buffer-file-name
                                                                        (buffer-list))))))
          (with-current-buffer (get-file-buffer changed)
            (set-buffer-modified-p nil)
            (kill-buffer)))))))

(ert-deftest todo-write-visit-a-diff-of-another-machine-leads-to-files-there ()
  (todo-write-visit-tests--with-folder folder
    (let ((file (concat folder "shelf.txt")))
      (with-temp-file file (insert "one\ntwo\n"))
      (todo-write-visit-tests--with-plan "/ssh:build.example:/proj/"
        (todo-write-visit-tests--edit
         `((:path ,file :oldText "one\n2\n" :newText "one\ntwo\n")
           (:path "/ssh:evil.example:/x" :oldText "1\n" :newText "2\n")
           ;; These lines look like the header of a file here.
           (:path "/proj/f" :patch ,(format (concat "@@ -1,2 +1,2 @@\n--- a/x\n+++ %s\n three\n"
                                             "@@ -9 +9 @@\n-nine\n+9\n")
                                     file))))
        (dolist (step (list #'diff-goto-source (lambda () (diff-apply-hunk t))))
          (dolist (text '("+two" "+2" "three" "nine"))
            (should (equal '("build.example")
                           (todo-write-visit-tests--hosts
                             (todo-write-visit-tests--in-diff text step))))))
        (should-not (get-file-buffer file))
        (todo-write-test-open "One")
        (search-forward "shelf.txt")
        (should (equal '("build.example")
                       (todo-write-visit-tests--hosts (todo-write-test-press "RET"))))))))

(ert-deftest todo-write-visit-diff-mode-is-left-alone-when-the-last-diff-is-closed ()
  (todo-write-visit-tests--with-plan "/proj/"
    (todo-write-visit-tests--edit '((:path "/proj/f" :oldText "1\n" :newText "2\n")))
    (todo-write-show-diff "a")
    (with-current-buffer "*todo-write-diff*"
      (should (advice-member-p 'todo-write-visit--find-diff-file 'diff-find-file-name))
      (rename-buffer "*another*"))
    (todo-write-show-diff "a")
    (kill-buffer "*another*")
    (should (advice-member-p 'todo-write-visit--find-diff-file 'diff-find-file-name))
    (kill-buffer "*todo-write-diff*")
    (should-not (advice-member-p 'todo-write-visit--find-diff-file 'diff-find-file-name))))

(provide 'todo-write-visit-tests)
;;; todo-write-visit-tests.el ends here
