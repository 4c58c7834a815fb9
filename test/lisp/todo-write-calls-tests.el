;;; todo-write-calls-tests.el --- Tool calls that run in this Emacs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'ert)
(require 'todo-write-calls)
(require 'todo-write-test-helper)

(defmacro todo-write-calls-tests--with-folder (&rest body)
  "Evaluate BODY in a new folder, with a task of the thread \"a\" in progress."
  (declare (indent 0) (debug t))
  `(todo-write-with-store
     (let ((default-directory (file-name-as-directory (make-temp-file "calls" t))))
       (unwind-protect
           (progn
             (todo-write-begin "a" :project default-directory)
             (todo-write-test-write "a" '("One" "in_progress"))
             ,@body)
         (delete-directory default-directory t)
         (should-not (todo-write-calls-drop "a"))))))

(defun todo-write-calls-tests--write (file text)
  "Write TEXT to FILE."
  (let ((coding-system-for-write 'utf-8-unix))
    (write-region text nil file nil 'silent)))

(defun todo-write-calls-tests--files ()
  "Return (NAME ADDED REMOVED EDITS CREATED) for each file of the task."
  (mapcar (lambda (file)
            (list (file-name-nondirectory (plist-get file :path)) (plist-get file :added)
                  (plist-get file :removed) (plist-get file :edits) (plist-get file :created)))
          (plist-get (todo-write-work "a" "t1") :files)))

(ert-deftest todo-write-calls-count-what-any-tool-changed-in-the-file-it-names ()
  (todo-write-calls-tests--with-folder
    (todo-write-calls-begin "a" "1" "my_own_tool" '(:path "f"))
    (todo-write-calls-tests--write "f" "ä\ntwo\n")
    (todo-write-calls-end "a" "1" "my_own_tool" "done" 'ok)
    (todo-write-calls-begin "a" "2" "Read" '(:file_path "f"))
    (todo-write-calls-end "a" "2" "Read" "ä" 'ok)
    (todo-write-calls-begin "a" "3" "Write" '(:path "." :filename "f" :content "x"))
    (todo-write-calls-tests--write "f" "ä\n")
    (todo-write-calls-end "a" "3" "Write" "done" 'ok)
    (should (equal (todo-write-calls-tests--files) '(("f" 2 1 2 t))))
    (should (string-search "+ä\n" (todo-write-patch "a" "t1")))))

(ert-deftest todo-write-calls-that-overlap-share-no-line ()
  (todo-write-calls-tests--with-folder
    (todo-write-calls-tests--write "f" "one\n")
    (todo-write-calls-begin "a" "1" "Edit" '(:path "f"))
    (todo-write-calls-begin "a" "2" "Edit" '(:path "f"))
    (todo-write-calls-tests--write "f" "one\ntwo\n")
    (todo-write-calls-end "a" "1" "Edit" "" 'ok)
    (todo-write-calls-tests--write "f" "one\ntwo\nthree\n")
    (todo-write-calls-end "a" "2" "Edit" "" 'ok)
    (should (equal (todo-write-calls-tests--files) '(("f" 2 0 2 nil))))))

(ert-deftest todo-write-calls-do-not-count-what-the-user-changed-before-consenting ()
  (todo-write-calls-tests--with-folder
    (todo-write-calls-begin "a" "1" "Edit" '(:path "f"))
    (todo-write-calls-tests--write "f" "mine\n")
    (todo-write-calls-refresh "a")
    (todo-write-calls-end "a" "1" "Edit" "" 'refused)
    (should-not (todo-write-calls-tests--files))))

(ert-deftest todo-write-calls-read-neither-pipes-nor-other-hosts-nor-long-files ()
  (todo-write-calls-tests--with-folder
    (call-process "mkfifo" nil nil nil "pipe")
    (with-temp-file "long" (insert (make-string (* 2 1024 1024) ?x)))
    (dolist (path '("pipe" "long" "." "/ssh:nowhere.invalid:/f" "a\0b" 7))
      (todo-write-calls-begin "a" "1" "Read" (list :path path))
      (todo-write-calls-end "a" "1" "Read" "" 'ok))
    (should-not (todo-write-calls-tests--files))))

(ert-deftest todo-write-calls-are-recorded-without-the-middle-of-long-texts ()
  (todo-write-calls-tests--with-folder
    (todo-write-calls-begin "a" "1" "Write" (list :content (make-string 50000 ?x)))
    (todo-write-calls-end "a" "1" "Write" (concat "b" (make-string 50000 ?y) "\377e") 'ok)
    (let ((content (plist-get (aref (todo-write-observations "a" :type "TOOL_EXECUTION") 0)
                              :content)))
      (should (< (length (format "%S" (todo-write-observations "a"))) 30000))
      (should (string-match-p "\\`by+\n\\[… 48003 characters left out …\\]\ny+\ufffde\\'"
                              (plist-get content :content))))))

(ert-deftest todo-write-calls-of-the-plan-tool-are-no-work ()
  (todo-write-calls-tests--with-folder
    (todo-write-calls-begin "a" "1" "TodoWrite" '(:todos []))
    (todo-write-calls-end "a" "1" "TodoWrite" "" 'ok)
    (should (equal (todo-write-observations "a" :type "TOOL_CALL") []))))

(provide 'todo-write-calls-tests)
;;; todo-write-calls-tests.el ends here
