;;; todo-write-wire-tests.el --- Tests of JSON and of wrong arguments  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The JSON of results, and wrong arguments of all public functions.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'map)
(require 'seq)
(require 'todo-write-test-helper)
(require 'todo-write-torture-helper)

;;; Wire JSON

(defun todo-write-wire-tests--read (value)
  "Return the JSON of VALUE, decoded to alists."
  (json-parse-string (todo-write-to-json value) :object-type 'alist))

(defun todo-write-wire-tests--keys (object)
  "Return the keys of OBJECT, an alist, sorted, as strings."
  (sort (mapcar (lambda (pair) (symbol-name (car pair))) object) #'string<))

(ert-deftest todo-write-an-outcome-has-its-names-on-the-wire ()
  (todo-write-with-store
    (let ((wire (todo-write-wire-tests--read (todo-write-test-write "a" "One"))))
      (should (equal (todo-write-wire-tests--keys wire)
                     '("changes" "errors" "forced" "notices" "ok" "result"
                       "revision" "state" "summary" "warnings")))
      (should (eq (alist-get 'ok wire) t))
      (should (equal (alist-get 'notices wire) []))
      (should (equal (alist-get 'state wire) "active"))
      (should (equal (alist-get 'warnings wire) [])))
    (let ((wire (todo-write-wire-tests--read (todo-write "a" "[{}]"))))
      (should (eq (alist-get 'ok wire) :false))
      (should (equal (todo-write-wire-tests--keys (aref (alist-get 'errors wire) 0))
                     '("expected" "path" "received"))))))

(ert-deftest todo-write-an-observation-has-camel-case-names-on-the-wire ()
  (todo-write-with-store
    (todo-write-test-write "a" '("One" "in_progress"))
    (let ((plan (todo-write-wire-tests--read (aref (todo-write-observations "a") 0))))
      (should (equal (todo-write-wire-tests--keys plan)
                     '("content" "id" "metadata" "parentId" "threadId" "timestamp"
                       "title" "type")))
      (should (equal (todo-write-wire-tests--keys (alist-get 'content plan))
                     '("changes" "revision" "todoList")))
      (should (equal (todo-write-wire-tests--keys (alist-get 'metadata plan))
                     '("phase" "stepDescription" "stepId")))
      (should (equal (todo-write-wire-tests--keys
                      (aref (map-nested-elt plan '(content todoList)) 0))
                     '("activeForm" "content" "id" "status"))))
    (todo-write-test-write "a" '("One" "completed"))
    (should (equal (todo-write-wire-tests--keys
                    (alist-get 'content
                               (todo-write-wire-tests--read
                                (aref (todo-write-observations "a" :type "ITEM_STATUS_CHANGE") 0))))
                   '("item" "previousStatus" "status")))
    (let ((call (todo-write-wire-tests--read
                 (todo-write-observe "a" "TOOL_CALL" '(:name "ls" :all :false :args [])
                                     :trace-id "r1"))))
      (should (equal (alist-get 'traceId call) "r1"))
      (should (equal (alist-get 'content call)
                     '((name . "ls") (all . :false) (args . [])))))))

(ert-deftest todo-write-any-text-survives-the-wire ()
  (let ((text "quote \" slash \\ 漢字 \U0001F600 \x7f bell\a"))
    (should (equal (alist-get 'content
                              (todo-write-wire-tests--read (list :content text)))
                   text))))

(ert-deftest todo-write-outcomes-with-very-many-items-have-them-all ()
  (todo-write-with-store
    (let* ((todo-write-max-items 3000)
           (names (mapcar (lambda (n) (format "Task %d" n)) (number-sequence 1 2500)))
           (outcome (apply #'todo-write-test-write "a" names)))
      (should (equal (seq-map (lambda (change) (plist-get change :item))
                              (plist-get (plist-get outcome :changes) :changes))
                     (append (todo-write-items "a") nil))))))

;;; Wrong arguments

(defun todo-write-wire-tests--wrong ()
  "Return one object of each kind that no public function accepts."
  (list 7 -1 1.5 0.0e+NaN 'symbol [1] nil (nth 1 (todo-write-torture-circular)) '(1 . 2)
        "" "\377" (string-to-multibyte "\377") (make-marker) (current-buffer)
        (make-hash-table) (symbol-function 'car) (make-bool-vector 3 t)
        most-positive-fixnum (* 8 most-positive-fixnum)))

(defconst todo-write-wire-tests--thread-calls
  '((todo-write X "{\"todos\": []}")
    (todo-write-edit X add "A")
    (todo-write-undo X) (todo-write-pause X) (todo-write-resume X)
    (todo-write-state X) (todo-write-items X) (todo-write-item X "t1")
    (todo-write-times X "t1")
    (todo-write-summary X) (todo-write-about X) (todo-write-revisions X)
    (todo-write-changes-between X 0 0) (todo-write-forget X)
    (todo-write-observe X "INTENT" "Text") (todo-write-observations X))
  "Calls with a wrong thread, X.")

(defconst todo-write-wire-tests--other-calls
  '((todo-write "a" X) (todo-write "a" "{\"todos\": []}" X)
    (todo-write-edit "a" X "t1") (todo-write-edit "a" add X)
    (todo-write-edit "a" add "A" X) (todo-write-edit "a" rename X "A")
    (todo-write-edit "a" rename "t1" X) (todo-write-edit "a" status X "pending")
    (todo-write-edit "a" status "t1" X) (todo-write-edit "a" move X 0)
    (todo-write-edit "a" move "t1" X) (todo-write-edit "a" delete X)
    (todo-write-pause "a" X) (todo-write-items "a" X) (todo-write-item "a" X)
    (todo-write-times "a" X)
    (todo-write-changes-between "a" X 0) (todo-write-changes-between "a" 0 X)
    (todo-write-diff X nil) (todo-write-diff nil X) (todo-write-diff [X] [X])
    (todo-write-apply-changes X nil) (todo-write-apply-changes nil X)
    (todo-write-apply-changes nil (:changes X)) (todo-write-apply-changes nil [X])
    (todo-write-to-json X) (todo-write-restore X)
    (todo-write-observe "a" X "Text") (todo-write-observe "a" "INTENT" X)
    (todo-write-observe "a" "INTENT" "Text" :phase X)
    (todo-write-observe "a" "INTENT" "Text" :title X)
    (todo-write-observe "a" "INTENT" "Text" X 1) (todo-write-observe "a" "INTENT" "Text" X)
    (todo-write-observations "a" :type X) (todo-write-observations "a" :phase X)
    (todo-write-observations "a" :limit X) (todo-write-observations "a" :step X)
    (todo-write-observations "a" X 1) (todo-write-observations "a" X)
    (todo-write-subscribe X) (todo-write-subscribe ignore X 1)
    (todo-write-unsubscribe X))
  "Calls with another wrong argument, X.")

(defun todo-write-wire-tests--call (call wrong)
  "Make CALL with WRONG for X; return nil, or the error if it signals.
Fail if it is not an error of the package."
  (let ((args (mapcar (lambda (arg)
                        (cond ((eq arg 'X) wrong)
                              ((equal arg [X]) (vector wrong))
                              ((equal arg '(:changes X)) (list :changes wrong))
                              (t arg)))
                      (cdr call)))
        (print-circle t)
        (debug-on-error nil))
    (condition-case err
        (progn (apply (car call) args) nil)
      (todo-write-panic (ert-fail (format "%S with %S: %S" call wrong err)))
      (todo-write-error err)
      (error (ert-fail (format "%S with %S: %S" call wrong err))))))

(ert-deftest todo-write-a-wrong-thread-signals-in-every-function ()
  (todo-write-with-store
    (dolist (wrong (todo-write-wire-tests--wrong))
      (dolist (call todo-write-wire-tests--thread-calls)
        (unless (eq (car (todo-write-wire-tests--call call wrong)) 'todo-write-input-error)
          (ert-fail (format "%S takes %S for a thread" call wrong)))))
    (should-not (todo-write-threads))))

(ert-deftest todo-write-wrong-arguments-signal-only-errors-of-the-package ()
  (todo-write-with-store
    (dolist (wrong (todo-write-wire-tests--wrong))
      (todo-write-test-write "a" "One")
      (dolist (call todo-write-wire-tests--other-calls)
        (todo-write-wire-tests--call call wrong)))))

;; Each of these was once accepted without a word, or signaled another error.
(ert-deftest todo-write-what-cannot-be-kept-as-it-is-signals-an-error ()
  (todo-write-with-store
    (let ((deep "bottom"))
      (dotimes (_ 40) (setq deep (list :x deep)))
      (should-error (todo-write-observe "a" "STATE_UPDATE" deep) :type 'todo-write-input-error))
    (should-error (todo-write-observe "a" "USAGE" "9 tokens") :type 'todo-write-input-error)
    (should-error (todo-write-begin "a" 1) :type 'todo-write-input-error)
    (should-error (let ((todo-write-durability 'sometimes)) (todo-write-test-write "a" "One"))
                  :type 'todo-write-input-error)
    (should (seq-empty-p (todo-write-items "a")))))

(ert-deftest todo-write-a-wrong-argument-is-named-with-what-is-expected ()
  (todo-write-with-store
    (todo-write-test-write "a" "One")
    (pcase-dolist (`(,call . ,words)
                   '(((todo-write-items X) "thread" "a string")
                     ((todo-write-items "a" X) "revision" "whole number")
                     ((todo-write-diff X nil) "previous" "a list of items")
                     ((todo-write-diff nil X) "current" "a list of items")
                     ((todo-write-edit "a" status "t1" X) "status" "in_progress")
                     ((todo-write-edit "a" X) "operation" "rename")
                     ((todo-write-observe "a" X "Text") "type" "INTENT")
                     ((todo-write-observations "a" :limit X) "limit" "whole number")
                     ((todo-write-restore X) "thread" "a string")
                     ((todo-write-to-json X) "value" "outcome")
                     ((todo-write-subscribe X) "subscriber" "function")))
      (let ((text (error-message-string (todo-write-wire-tests--call call 'wrong))))
        (dolist (word words)
          (ert-info (text :prefix "Message: ")
            (should (string-search word text))))))))

(ert-deftest todo-write-a-part-without-a-json-form-is-named-and-nothing-is-kept ()
  (todo-write-with-store
    (todo-write-test-write "a" "One")
    (let ((deep (todo-write-torture-deep 40)))
      (pcase-dolist
          (`(,call . ,words)
           `(((todo-write-begin "a" 1) "properties" ":project")
             ((todo-write-begin "a" :foo "x") "properties" ":project")
             ((todo-write-begin "a" :agent) "properties" ":project")
             ((todo-write-observe "a" "INTENT" ,deep) "content[0][0]" "32 levels")
             ((todo-write-observe "a" "INTENT" ,(current-buffer)) "content" "buffer")
             ((todo-write-observe "a" "INTENT" (:x [1 "\377"])) "content.x[1]" "raw bytes")
             ((todo-write-observe "a" "INTENT" (:x ,(expt 2 70))) "content.x" "range")
             ((todo-write-observe "a" "INTENT" "A" :b (1 ,(point-marker)))
              "metadata.b[1]" "marker")
             ((todo-write-diff [(:content ,(current-buffer))] nil)
              "previous[0].content" "buffer")
             ((todo-write-diff nil [(:id "1") 2]) "current[1]" "an object")
             ((todo-write-apply-changes [(:id "1" :x ,deep)] nil) "list[0].x" "32 levels")
             ((todo-write-to-json (:ok t :x ,(current-buffer))) "value.x" "buffer")))
        (ert-info ((format "%S" (car call)))
          (let ((text (cadr (should-error (apply (car call) (cdr call))
                                          :type 'todo-write-input-error))))
            (dolist (word words)
              (should (string-search word text)))))))
    (should (= (length (todo-write-observations "a")) 1))))

(ert-deftest todo-write-changes-of-another-list-are-refused ()
  (let ((one [(:id "1" :content "One")]) (two [(:id "2" :content "Two")]))
    (dolist (changes (list (todo-write-diff two nil) (todo-write-diff nil one)
                           (todo-write-diff two [(:id "2" :content "2")])))
      (let ((err (should-error (todo-write-apply-changes one changes)
                               :type 'todo-write-input-error)))
        (should (string-search "changes[0].itemId" (cadr err)))))))

(ert-deftest todo-write-a-wrong-option-is-named-and-no-other-value-is-assumed ()
  (todo-write-with-store
    (todo-write-test-write "a" "One")
    (pcase-dolist (`(,option ,wrong ,expected)
                   '((todo-write-directory 42 "a string")
                     (todo-write-durability always "process or disk")
                     (todo-write-durability nil "process or disk")
                     (todo-write-history-limit -1 "whole number")
                     (todo-write-max-items "9" "whole number")
                     (todo-write-max-length 1.5 "whole number")
                     (todo-write-several-in-progress refused "nil, allow or refuse")))
      (ert-info ((format "%s %S" option wrong))
        (let* ((right (symbol-value option))
               (err (unwind-protect
                        (progn (set option wrong)
                               (should-error (todo-write-state "a")
                                             :type 'todo-write-input-error))
                      (set option right))))
          (should (string-search (symbol-name option) (cadr err)))
          (should (string-search expected (cadr err))))))
    (should (eq (todo-write-state "a") 'active))))

(ert-deftest todo-write-a-thread-begins-only-with-strings ()
  (todo-write-with-store
    (dolist (about '((:project 42) (:agent [a]) (:parent 1) (:parent-item (1))))
      (should-error (apply #'todo-write-begin "a" about) :type 'todo-write-input-error))
    (should-not (todo-write-threads))
    (todo-write-begin "a" :project "/tmp/\377/")
    (should (equal (plist-get (todo-write-about "a") :project) "/tmp/\ufffd/"))))

(ert-deftest todo-write-an-unknown-filter-key-signals ()
  (should-error (todo-write-subscribe #'ignore :color "red")
                :type 'todo-write-input-error)
  (should-error (todo-write-observations "a" :color "red")
                :type 'todo-write-input-error))

(provide 'todo-write-wire-tests)
;;; todo-write-wire-tests.el ends here
