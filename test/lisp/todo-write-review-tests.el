;;; todo-write-review-tests.el --- What is new  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An agent edits files and tells its edits.  The review's patch is taken back
;; by git from the files as they are, which gives them as they were reviewed.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-test-helper)

(defvar todo-write-review-tests--project nil "The folder with the files.")

(defmacro todo-write-review-tests--with (&rest body)
  "Evaluate BODY with the thread \"a\" of a new project."
  (declare (indent 0) (debug t))
  `(todo-write-with-store
     (let ((todo-write-review-tests--project
            (file-name-as-directory (file-truename (make-temp-file "review" t)))))
       (unwind-protect
           (progn (todo-write-begin "a" :project todo-write-review-tests--project)
                  ,@body)
         (delete-directory todo-write-review-tests--project t)))))

(defun todo-write-review-tests--path (name)
  "Return the absolute name of the file NAME."
  (expand-file-name name todo-write-review-tests--project))

(defun todo-write-review-tests--read (name)
  "Return the text of the file NAME, or nil."
  (let ((file (todo-write-review-tests--path name)))
    (when (file-exists-p file)
      (with-temp-buffer
        (let ((coding-system-for-read 'utf-8-unix)) (insert-file-contents file))
        (buffer-string)))))

(defun todo-write-review-tests--put (name text)
  "Make TEXT the text of the file NAME; delete that if TEXT is nil."
  (let ((file (todo-write-review-tests--path name))
        (coding-system-for-write 'utf-8-unix))
    (if text (write-region text nil file nil 'silent) (delete-file file))))

(defun todo-write-review-tests--edit (name text)
  "Have the agent make TEXT the text of the file NAME, and tell that."
  (let ((old (todo-write-review-tests--read name)))
    (todo-write-review-tests--put name text)
    (todo-write-observe "a" "TOOL_EXECUTION" '(:name "Edit")
                        :outcome 'ok
                        :files `((:path ,(todo-write-review-tests--path name)
                                  :oldText ,old :newText ,text)))))

(defun todo-write-review-tests--take-back (patch)
  "Take PATCH back from the files by git."
  (unless (string-empty-p patch)
    (with-temp-buffer
      (insert patch)
      (let ((default-directory todo-write-review-tests--project)
            (coding-system-for-write 'utf-8-unix))
        (unless (eql 0 (call-process-region nil nil "git" t t nil "apply" "-R" "--whitespace=nowarn"
                                            "-"))
          (ert-fail (list patch (buffer-string))))))))

(defun todo-write-review-tests--new (&rest arguments)
  "Return the names of the new files and the lines of all; ARGUMENTS follow the thread."
  (when-let* ((new (apply #'todo-write-new "a" arguments)))
    (list (mapcar (lambda (file) (file-name-nondirectory (plist-get file :path)))
                  (plist-get new :files))
          (plist-get new :added) (plist-get new :removed) (plist-get new :edits))))

(ert-deftest todo-write-review-a-change-is-new-until-it-is-marked ()
  (todo-write-review-tests--with
    (should-not (todo-write-new "a"))
    (should (equal "" (todo-write-review-patch "a")))
    (should (= 0 (todo-write-mark-reviewed "a")))
    (todo-write-test-write "a" '("One" "in_progress") "Two")
    (todo-write-review-tests--edit "f" "x\n")
    (todo-write-test-write "a" '("One" "completed") '("Two" "in_progress"))
    (todo-write-review-tests--edit "f" "x\ny\n")
    (todo-write-review-tests--edit "g" "z\n")
    (should (equal '(("f" "g") 3 0 3) (todo-write-review-tests--new)))
    (should (equal '(("f") 1 0 1) (todo-write-review-tests--new "t1")))
    (should (equal '(("g") 1 0 1)
                   (todo-write-review-tests--new nil (todo-write-review-tests--path "g"))))
    (should-not (todo-write-review-tests--new 'outside))
    (should (= 1 (todo-write-mark-reviewed "a" "t1")))
    (should (= 0 (todo-write-mark-reviewed "a" "t1")))
    (should (equal '(("f" "g") 2 0 2) (todo-write-review-tests--new)))
    (should (= 2 (todo-write-mark-reviewed "a")))
    (should-not (todo-write-new "a"))
    (todo-write-review-tests--edit "g" nil)
    (should (equal '(("g") 0 1 1) (todo-write-review-tests--new)))
    (should (= 1 (todo-write-mark-new "a" "t1")))
    (should (equal '(("f" "g") 1 1 2) (todo-write-review-tests--new)))
    (ert-info ("The journal has the marks")
      (should (equal (todo-write-new "a")
                     (todo-write-test-child '(prin1 (todo-write-new "a"))))))
    (should (= 2 (todo-write-mark-new "a")))
    (should (equal '(("f" "g") 3 1 4) (todo-write-review-tests--new)))))

(ert-deftest todo-write-review-git-takes-the-patch-back ()
  (skip-unless (executable-find "git"))
  (todo-write-review-tests--with
    (dolist (name '("edited" "created" "deleted" "windows" "open" "there and back"))
      (todo-write-review-tests--put name (and (not (equal name "created")) "one\ntwo\nthree\n")))
    (todo-write-review-tests--put "windows" "one\r\ntwo\r\nthree\r\n")
    (todo-write-review-tests--put "open" "one\ntwo")
    (let* ((names '("created" "deleted" "edited" "open" "there and back" "windows"))
           (read (lambda () (mapcar #'todo-write-review-tests--read names)))
           (before (funcall read)))
      (todo-write-review-tests--edit "edited" "one\n2\nthree\n")
      (todo-write-review-tests--edit "edited" "zero\none\n2\nthree\n")
      (todo-write-review-tests--edit "created" "new\nand open")
      (todo-write-review-tests--edit "deleted" nil)
      (todo-write-review-tests--edit "windows" "one\r\n2\r\nthree\r\n")
      (todo-write-review-tests--edit "open" "one\ntwo\nthree")
      (todo-write-review-tests--edit "there and back" "other\n")
      (todo-write-review-tests--edit "there and back" "one\ntwo\nthree\n")
      (let ((patch (todo-write-review-patch "a")))
        (should (= 5 (cl-count-if (lambda (line) (string-prefix-p "diff --git" line))
                                  (split-string patch "\n"))))
        (should-not (string-search "Not composed" patch))
        (todo-write-review-tests--take-back patch)
        (should (equal before (funcall read)))))))

(ert-deftest todo-write-review-what-others-changed-stays-or-the-reason-is-said ()
  (todo-write-review-tests--with
    (todo-write-review-tests--put "f" "one\ntwo\nthree\nfour\nfive\nsix\nseven\n")
    (todo-write-review-tests--edit "f" "one\ntwo\nthree\nfour\nfive\n6\nseven\n")
    (todo-write-review-tests--put "f" "mine\none\ntwo\nthree\nfour\nfive\n6\nseven\n")
    (let ((patch (todo-write-review-patch "a")))
      (should (string-search "-six\n+6\n" patch))
      (should-not (string-search "mine" (replace-regexp-in-string "^ .*" "" patch))))
    (todo-write-review-tests--put "f" "one\ntwo\nthree\nfour\nfive\nVI\nseven\n")
    (should (string-prefix-p "# Not composed: another hand changed the same lines\ndiff --git a/f b/f"
                             (todo-write-review-patch "a")))
    (todo-write-review-tests--put "f" "one\0\n")
    (should (string-prefix-p "# Not composed: the file is binary or not UTF-8\n"
                             (todo-write-review-patch "a")))
    (let ((todo-write-record-patches nil))
      (todo-write-review-tests--edit "g" "x\n"))
    (should (string-search "# Not composed: of a change only numbers are recorded\n"
                           (todo-write-review-patch "a" nil (todo-write-review-tests--path "g"))))))

(provide 'todo-write-review-tests)
;;; todo-write-review-tests.el ends here
