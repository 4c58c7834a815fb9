;;; todo-write-work-tests.el --- What each task did  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The work of threads, as hosts report it by `todo-write-observe'.

;;; Code:

(require 'ert)
(require 'todo-write-visit)
(require 'todo-write-test-helper)

(defun todo-write-work-tests--get (work &rest keys)
  "Return the value at the path KEYS in the plist WORK."
  (dolist (key keys work)
    (setq work (plist-get work key))))

(defun todo-write-work-tests--edit (thread path old new)
  "Report that the agent of THREAD changed PATH from OLD to NEW."
  (todo-write-observe thread "TOOL_EXECUTION" '(:name "Edit")
                      :outcome 'ok :files `((:path ,path :oldText ,old :newText ,new))))

(ert-deftest todo-write-work-counts-for-the-task-in-progress ()
  (todo-write-with-store
    (should-not (todo-write-work "a"))
    (todo-write-begin "a" :project "/p/")
    (todo-write-work-tests--edit "a" "/p/before" nil "x\n")
    (todo-write-test-write "a" '("One" "in_progress") '("Two" "pending"))
    (todo-write-work-tests--edit "a" "/p/f" "one\ntwo\n" "one\n2\nthree\n")
    (todo-write-observe "a" "TOOL_EXECUTION" '(:name "Bash") :outcome 'failed :exit-code 2)
    (todo-write-observe "a" "TOOL_EXECUTION" '(:name "Bash") :outcome 'refused)
    (todo-write-test-write "a" '("One" "completed") '("Two" "in_progress"))
    (todo-write-observe "a" "USAGE" '(:input 3 :output 5 :cacheRead 7 :cacheWrite 11
                                      :model "m" :atLeast t))
    (let ((one (todo-write-work "a" "t1"))
          (two (todo-write-work "a" "t2")))
      (should (equal (plist-get one :files)
                     '((:path "/p/f" :added 2 :removed 1 :edits 1 :created nil :deleted nil))))
      (should (equal (plist-get one :commands)
                     '(:run 1 :failed 1 :refused 1 :background 0 :unknown 0)))
      (should (equal (plist-get two :tokens)
                     '(:input 3 :output 5 :cacheRead 7 :cacheWrite 11 :atLeast t)))
      (should (equal (plist-get two :models) '("m")))
      (should (equal (todo-write-work-tests--get (todo-write-work "a" 'outside) :files)
                     '((:path "/p/before" :added 1 :removed 0 :edits 1
                        :created t :deleted nil))))
      (should (equal (plist-get (todo-write-work "a") :edits) 2))
      (should-not (todo-write-work "a" "t9")))))

(ert-deftest todo-write-work-counts-what-a-host-tells-beside-fields-that-are-nil ()
  (todo-write-with-store
    (todo-write-begin "a" :project "/p/")
    (todo-write-observe "a" "USAGE" '(:input 3 :output nil :model 5 :atLeast nil))
    (todo-write-observe "a" "TOOL_EXECUTION" '(:name "Edit") :outcome 'ok
                        :files '((:path "/p/f" :added 2 :removed nil :created nil)))
    (let ((work (todo-write-work "a")))
      (should (equal 3 (todo-write-work-tests--get work :tokens :input)))
      (should (equal 2 (plist-get work :added)))
      (should (equal 1 (plist-get work :edits))))))

;;; Turns

(ert-deftest todo-write-turns-have-their-tasks-work-and-commits ()
  (todo-write-with-store
    (should-not (todo-write-turns "a"))
    (todo-write-begin "a" :project "/p/")
    (todo-write-work-tests--edit "a" "/p/f" nil "x\n")
    (todo-write-observe "a" "INTENT" "Mend it")
    (todo-write-test-write "a" '("One" "in_progress") '("Two" "pending"))
    (todo-write-work-tests--edit "a" "/p/f" "x\n" "y\nz\n")
    (todo-write-test-write "a" '("One" "completed") '("Two" "pending"))
    (todo-write-work-tests--edit "a" "/p/g" nil "x\n")
    (todo-write-observe "a" "TOOL_EXECUTION" '(:name "Bash") :outcome 'ok
                        :git [(:kind "push") (:kind "commit" :id "699336a" :title "Mend")])
    (todo-write-end-turn "a")
    (todo-write-observe "a" "INTENT" "Go on")
    (let ((turns (todo-write-turns "a")))
      (should (equal (mapcar (lambda (turn) (mapcar (lambda (key) (plist-get turn key))
                                                    '(:prompt :ending :items :commits)))
                             turns)
                     '((nil nil nil nil)
                       ("Mend it" end-of-turn ("t1") ((:id "699336a" :title "Mend")))
                       ("Go on" nil nil nil))))
      (should (<= (plist-get (nth 1 turns) :began) (plist-get (nth 1 turns) :ended)))
      (should (equal (mapcar (lambda (turn) (plist-get (plist-get turn :work) :edits)) turns)
                     '(1 2 nil)))
      (should (equal (plist-get (nth 1 turns) :work) (todo-write-work "a" '(turn . 2)))))
    (pcase-dolist (`(,id ,added ,patched)
                   '(((turn . 1) 1 "+x\n") ((turn . 2) 3 "+x\n") (("t1" . 2) 2 "+z\n")
                     ((outside . 2) 1 "+x\n") ((turn . 3) nil "") (("t1" . 1) nil "")
                     ((turn . 9) nil "")))
      (should (equal (plist-get (todo-write-work "a" id) :added) added))
      (should (string-suffix-p patched (todo-write-patch "a" id)))
      (should (eq (null added) (string-empty-p (todo-write-patch "a" id)))))
    (dolist (id '((turn . 0) (turn . "1") (other . 1) turn))
      (should-error (todo-write-work "a" id) :type 'todo-write-input-error))))

(ert-deftest todo-write-work-of-two-tasks-is-shared ()
  (todo-write-with-store
    (let ((todo-write-several-in-progress 'allow))
      (todo-write-test-write "a" '("One" "in_progress") '("Two" "in_progress"))
      (todo-write-work-tests--edit "a" "/p/f" "" "x")
      (should (equal (mapcar (lambda (id)
                               (let ((work (todo-write-work "a" id)))
                                 (list (plist-get work :added) (plist-get work :shared))))
                             '("t1" "t2" nil))
                     '((1 t) (1 t) (1 nil)))))))

(ert-deftest todo-write-a-patch-is-one-unified-diff ()
  (todo-write-with-store
    (todo-write-begin "a" :project "/p/")
    (todo-write-work-tests--edit "a" "/p/new" nil "\tone\n")
    (todo-write-work-tests--edit "a" "/p/d/f" "one" "two")
    (todo-write-work-tests--edit "a" "/other" "one\n" nil)
    (should (equal (todo-write-patch "a") "\
diff --git a/new b/new
new file mode 100644
--- /dev/null
+++ b/new
@@ -0,0 +1 @@
+\tone
diff --git a/d/f b/d/f
--- a/d/f
+++ b/d/f
@@ -1 +1 @@
-one
\\ No newline at end of file
+two
\\ No newline at end of file
diff --git a/other b/other
deleted file mode 100644
--- a/other
+++ /dev/null
@@ -1 +0,0 @@
-one
"))
    (should (string-prefix-p "diff --git a/d/f" (todo-write-patch "a" 'outside "/p/d/f")))
    (should (equal (todo-write-patch "a" "t1") ""))))

(ert-deftest todo-write-a-patch-is-read-from-the-journal-if-memory-dropped-it ()
  (todo-write-with-store
    (let ((todo-write-history-limit 3))
      (todo-write-test-write "a" '("One" "in_progress"))
      (dotimes (n 10)
        (todo-write-work-tests--edit "a" "/p/f" "" (format "line %d" n)))
      (let ((patch (todo-write-patch "a" "t1")))
        (dotimes (n 10)
          (should (string-search (format "+line %d\n" n) patch)))))))

(ert-deftest todo-write-work-of-old-turns-is-read-from-the-journal ()
  (todo-write-with-store
    (let ((todo-write-history-limit 3)
          (names (lambda (work)
                   (mapcar (lambda (file) (plist-get file :path)) (plist-get work :files)))))
      (todo-write-test-write "a" '("One" "in_progress"))
      (cl-loop for n from 1 to 150
               do (todo-write-observe "a" "INTENT" (format "Prompt %d" n))
               do (todo-write-work-tests--edit "a" (format "/p/%d" n) "" "line\n"))
      (let ((turns (todo-write-turns "a")))
        (should (equal (mapcar (lambda (turn) (funcall names (plist-get turn :work))) turns)
                       (cons nil (cl-loop for n from 1 to 150 collect (list (format "/p/%d" n))))))
        (should (equal (todo-write-work "a" '("t1" . 21)) (plist-get (nth 20 turns) :work)))
        (should-not (todo-write-work "a" '(outside . 21)))
        (should (equal (funcall names (todo-write-work "a" '(turn . 21))) '("/p/20")))
        (should (equal (mapcar (lambda (heading) (plist-get heading :added))
                               (cdr (todo-write-story-headings "a" 150)))
                       (make-list 150 1)))))))

(ert-deftest todo-write-a-long-patch-is-cut-between-hunks ()
  (todo-write-with-store
    (let* ((lines (cl-loop for n below 9000 collect (format "line %d of the file" n)))
           (old (string-join lines "\n"))
           (new (string-join (cl-loop for line in lines for n from 0
                                      collect (if (zerop (% n 10)) (concat line "!") line))
                             "\n")))
      (todo-write-work-tests--edit "a" "/p/f" old new)
      (let ((patch (todo-write-patch "a")))
        (should (< 60000 (length patch) 66000))
        (should (string-match-p "^# Cut: [0-9]+ more hunks\\.$" patch))
        (should (equal (plist-get (todo-write-work "a") :added) 900))))))

(ert-deftest todo-write-excluded-contents-are-not-recorded ()
  (todo-write-with-store
    (let ((todo-write-record-excluded '(".env" "/secret")))
      (todo-write-work-tests--edit "a" "/p/.env" "KEY=1\n" "KEY=2\n")
      (todo-write-observe "a" "TOOL_EXECUTION" '(:name "Read" :input (:file_path "/p/.env")
                                                 :content "KEY=2"))
      (todo-write-work-tests--edit "a" "/secret/f" "KEY=1\n" "KEY=2\n")
      (should (equal (todo-write-patch "a") ""))
      (should-not (string-search "KEY" (format "%S" (todo-write-observations "a"))))
      (should (equal (plist-get (todo-write-work "a") :added) 2)))))

(ert-deftest todo-write-without-patches-only-numbers-are-recorded ()
  (todo-write-with-store
    (let ((todo-write-record-patches nil))
      (todo-write-work-tests--edit "a" "/p/f" "one\n" "two\n")
      (should (equal (todo-write-patch "a") ""))
      (should (equal (plist-get (todo-write-work "a") :added) 1)))))

(ert-deftest todo-write-work-and-patches-have-a-wire-form ()
  (todo-write-with-store
    (todo-write-test-write "a" '("One" "in_progress"))
    (todo-write-work-tests--edit "a" "/p/f" "one\n" "two\n")
    (let ((wire (json-parse-string (todo-write-to-json (todo-write-work "a" "t1"))
                                   :object-type 'plist :false-object :false)))
      (should (equal (plist-get (aref (plist-get wire :files) 0) :created) :false))
      (should (equal (plist-get wire :models) []))
      (should (equal (plist-get wire :shared) :false))
      (should (equal (todo-write-work-tests--get wire :commands :run) 0)))
    (should (equal (json-parse-string (todo-write-to-json (todo-write-patch "a")))
                   (todo-write-patch "a")))))

(ert-deftest todo-write-wrong-work-is-refused ()
  (todo-write-with-store
    (dolist (metadata '((:outcome "great") (:exit-code "1") (:files 7) (:files ((:added 1)))))
      (should-error (apply #'todo-write-observe "a" "TOOL_EXECUTION" "x" metadata)
                    :type 'todo-write-input-error))
    (should-error (todo-write-work "a" 7) :type 'todo-write-input-error)
    (should-error (todo-write-patch "a" nil 7) :type 'todo-write-input-error)))

(ert-deftest todo-write-a-copy-has-the-files-and-lines-of-each-task ()
  (todo-write-with-store
    (todo-write-begin "a" :project "/p/")
    (todo-write-work-tests--edit "a" "/p/before" nil "one\n")
    (todo-write-test-write "a" '("One" "in_progress") "Two")
    (todo-write-work-tests--edit "a" "/p/f" "one\n" "two\nthree\n")
    (todo-write-observe "a" "TOOL_EXECUTION" '(:name "Bash") :outcome 'failed :exit-code 2)
    (todo-write-observe "a" "TOOL_EXECUTION" '(:name "Bash") :outcome 'ok :moreFiles t
                        :files '((:path "/p/g" :added 1 :removed 0 :byCommand t)))
    (todo-write-observe "a" "INTENT" "Rake\nthe path")
    (todo-write-work-tests--edit "a" "/p/f" "two\n" "three\n")
    (should (string-match-p
             (concat "\\`- \\[ \\] One\n  - `f` \\+3 −2\n  - `g` \\+1 −0, by command\n"
                     "  - and more files\n  - 1 of 2 commands failed\n"
                     "- \\[ \\] Two\n\\'")
             (todo-write-check-list "a")))))

(ert-deftest todo-write-observations-are-filtered-by-types-and-by-having-no-task ()
  (todo-write-with-store
    (todo-write-work-tests--edit "a" "/p/before" nil "one\n")
    (todo-write-observe "a" "MESSAGE" '(:text "Before"))
    (todo-write-test-write "a" '("One" "in_progress"))
    (todo-write-work-tests--edit "a" "/p/f" "one\n" "two\n")
    (todo-write-observe "a" "MESSAGE" '(:text "During"))
    (cl-flet ((types (&rest filter)
                (mapcar (lambda (one) (plist-get one :type))
                        (apply #'todo-write-observations "a" filter))))
      (should (equal (types :outside t :types '("MESSAGE" "TOOL_EXECUTION"))
                     '("TOOL_EXECUTION" "MESSAGE")))
      (should (equal (types :types '(MESSAGE)) '("MESSAGE" "MESSAGE")))
      (should (equal (types :types '(MESSAGE) :limit 1) '("MESSAGE"))))
    (should-error (todo-write-observations "a" :types '("NONE"))
                  :type 'todo-write-input-error)))

(provide 'todo-write-work-tests)
;;; todo-write-work-tests.el ends here
