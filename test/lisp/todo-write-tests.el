;;; todo-write-tests.el --- Tests of the Lisp API  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The public functions of todo-write.el: values, errors, and calls of listeners.
;; Input, diff, observations, journals and merging have files of their own.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-test-helper)

;;; Writing

(ert-deftest todo-write-an-accepted-write-returns-a-whole-outcome ()
  (todo-write-with-store
    (let ((outcome (todo-write "a" (todo-write-test-todos
                                    '("Build" "in_progress" "Building") "Ship")
                               "host")))
      (should (equal (cl-loop for (key) on outcome by #'cddr collect key)
                     ;; What is nil is left out.
                     '(:ok :revision :result :changes :state :summary)))
      (should (eq (plist-get outcome :ok) t))
      (should (equal (plist-get outcome :revision) 1))
      (should (equal (plist-get outcome :summary) (todo-write-summary "a")))
      (should (equal (plist-get outcome :result)
                     "0/2 tasks completed. Current: Building."))
      (should (equal (todo-write-test-types (plist-get outcome :changes))
                     '("added" "added")))
      (should-not (plist-get outcome :notices))
      (should-not (plist-get outcome :errors)))))

(ert-deftest todo-write-an-item-is-a-plist-of-strings ()
  (todo-write-with-store
    (todo-write "a" "{\"todos\": [{\"content\": \"One\", \"status\": \"in_progress\",
                      \"activeForm\": \"Doing one\", \"priority\": \"high\"}]}")
    (should (equal (todo-write-items "a")
                   [(:status "in_progress" :id "t1" :content "One"
                     :activeForm "Doing one" :priority "high")]))
    (should (equal (todo-write-item "a" "t1") (aref (todo-write-items "a") 0)))))

;;; Objects that outcomes share

(defun todo-write-tests--last-change (outcome)
  "Return the last change of OUTCOME."
  (let ((changes (plist-get (plist-get outcome :changes) :changes)))
    (aref changes (1- (length changes)))))

(ert-deftest todo-write-modifying-what-was-read-affects-no-outcome ()
  (todo-write-with-store
    (todo-write-test-write "a" '("One" "in_progress" "Doing one"))
    (let ((item (aref (todo-write-items "a") 0))
          (summary (todo-write-summary "a")))
      (dolist (key '(:id :content :activeForm))
        (fillarray (plist-get item key) ?x))
      (plist-put item :status "x")
      (plist-put summary :total 9))
    (should (equal (plist-get (todo-write-tests--last-change
                               (todo-write-test-write "a" '("One" "completed" "Doing one")))
                              :previousItem)
                   '(:status "in_progress" :id "t1" :content "One"
                     :activeForm "Doing one")))
    (should (equal (plist-get (todo-write-summary "a") :total) 1))))

(ert-deftest todo-write-outcomes-of-items-with-equal-ids-never-mix ()
  (todo-write-with-store
    ;; The threads have equal ids, and distant items of the long list change.
    (let ((long (mapcar (lambda (n) (format "Task %d of many" n)) (number-sequence 1 200))))
      (apply #'todo-write-test-write "long" long)
      (todo-write-test-write "short" "One" "Two")
      (dolist (status '("in_progress" "completed" "pending"))
        (dolist (n '(0 64 128))
          (setf (nth n long) (list (format "Task %d of many" (1+ n)) status "At it"))
          (should (equal (plist-get (todo-write-tests--last-change
                                     (apply #'todo-write-test-write "long" long))
                                    :item)
                         (aref (todo-write-items "long") n))))
        (should (equal (plist-get (todo-write-tests--last-change
                                   (todo-write-test-write "short" (list "One" status "At one") "Two"))
                                  :item)
                       (aref (todo-write-items "short") 0)))))))

;;; Editing

(ert-deftest todo-write-edit-takes-each-operation-as-a-symbol-or-a-string ()
  (todo-write-with-store
    (todo-write-test-write "a" "One" "Two")
    (pcase-dolist (`(,edit ,type . ,rows)
                   '(((add "Last") "added" ("One" "pending") ("Two" "pending") ("Last" "pending"))
                     ((add "First" 0) "added" ("First" "pending") ("One" "pending")
                      ("Two" "pending") ("Last" "pending"))
                     ((rename "t1" "Uno") "modified" ("First" "pending") ("Uno" "pending")
                      ("Two" "pending") ("Last" "pending"))
                     (("status" "t2" in_progress) "status_changed" ("First" "pending")
                      ("Uno" "pending") ("Two" "in_progress") ("Last" "pending"))
                     ((move "t3" 0) "reordered" ("Last" "pending") ("First" "pending")
                      ("Uno" "pending") ("Two" "in_progress"))
                     ((delete "t4") "removed" ("Last" "pending") ("Uno" "pending")
                      ("Two" "in_progress"))
                     ((add "Far" 99) "added" ("Last" "pending") ("Uno" "pending")
                      ("Two" "in_progress") ("Far" "pending"))))
      (ert-info ((format "%S" edit))
        (let ((outcome (apply #'todo-write-edit "a" edit)))
          (should (plist-get outcome :ok))
          (should (equal (todo-write-test-types (plist-get outcome :changes)) (list type))))
        (should (equal (mapcar #'butlast (todo-write-test-rows "a")) rows))))
    (should (equal (plist-get (todo-write-item "a" "t1") :activeForm) "Uno"))))

(ert-deftest todo-write-edit-signals-an-impossible-operation-and-changes-nothing ()
  (todo-write-with-store
    (todo-write-test-write "a" "One")
    (dolist (call '((add) (add "") (add " \n") (add "A" -1) (add "A" 0 0)
                    (rename "t1" "") (rename "t9" "A") (rename "t1")
                    (status "t1" "blocked") (status "t9" "pending")
                    (move "t1" -1) (move "t1" nil) (move "t9" 0)
                    (delete "t9") (delete) (delete "t1" "t1")
                    (explode "t1") (nil)))
      (ert-info ((format "%S" call))
        (should-error (apply #'todo-write-edit "a" call)
                      :type 'todo-write-input-error)))
    (should-error (todo-write-edit "a" 'add (make-string 2001 ?x))
                  :type 'todo-write-input-error)
    (should (equal (todo-write-test-contents "a") '("One")))
    (should (= (length (todo-write-revisions "a")) 1))))

(ert-deftest todo-write-undo-restores-a-list-and-signals-when-there-is-none ()
  (todo-write-with-store
    (todo-write-test-write "a" "One")
    (should (plist-get (todo-write-undo "a") :ok))
    (should (equal (todo-write-items "a") []))
    (should-error (todo-write-undo "a") :type 'todo-write-error)))

;;; State

(ert-deftest todo-write-listeners-hear-of-a-state-only-when-it-changes ()
  (todo-write-with-store
    (let ((heard nil))
      (todo-write-test-write "a" "One")
      (todo-write-test-listening (lambda (&rest news) (push news heard))
        (todo-write-pause "unknown")
        (todo-write-pause "a")
        (todo-write-pause "a" "again")
        (todo-write-resume "a")
        (todo-write-resume "a"))
      (should (equal heard '(("a" change nil) ("a" change nil)))))))

(ert-deftest todo-write-a-listener-hears-all-that-happens-until-it-stops ()
  (todo-write-with-store
    (let* ((heard nil)
           (outcome nil)
           (listener (lambda (thread what data)
                       (should (equal thread "a"))
                       (push (cons what data) heard))))
      (todo-write-test-listening listener
        (setq outcome (todo-write-test-write "a" "One"))
        (todo-write-test-write "a" "One")
        (todo-write-observe "a" "TITLE" "Bake")
        (todo-write-pause "a")
        (todo-write-forget "a"))
      (todo-write-test-write "a" "Two")
      (should (equal (nreverse heard)
                     ;; The same list again, a title and a pause.
                     `((change . ,outcome) (change) (change) (change) (forgotten)))))))

;;; Reading

(ert-deftest todo-write-an-unknown-thread-reads-as-an-empty-list ()
  (todo-write-with-store
    (should (equal (todo-write-items "nobody") []))
    (should (equal (todo-write-items "nobody" 0) []))
    (should-not (todo-write-item "nobody" "t1"))
    (should-not (todo-write-times "nobody" "t1"))
    (should-not (todo-write-revisions "nobody"))
    (should (equal (todo-write-observations "nobody") []))
    (should (eq (todo-write-resume "nobody") 'empty))
    (should (= (plist-get (todo-write-summary "nobody") :total) 0))
    (should-not (todo-write-threads))
    (should-not (todo-write-test-segments))))

(ert-deftest todo-write-times-tell-created-started-completed-and-intervals ()
  (todo-write-with-store
    (todo-write-test-write "a" '("One" "in_progress"))
    (should (plist-get (todo-write-times "a" "t1") :running))
    (todo-write-test-wait (lambda () (> (plist-get (todo-write-times "a" "t1") :spent) 0)))
    (todo-write-test-write "a" '("One" "completed"))
    (let* ((times (todo-write-times "a" "t1"))
           (interval (car (plist-get times :intervals))))
      (should-not (plist-get times :running))
      (should (equal (plist-get times :created) (car interval)))
      (should (equal (plist-get times :started) (car interval)))
      (should (equal (plist-get times :completed) (cdr interval)))
      (should (equal (plist-get times :spent) (- (cdr interval) (car interval)))))))

(ert-deftest todo-write-times-without-an-id-are-those-of-all-items-in-list-order ()
  (todo-write-with-store
    (should-not (todo-write-times "a"))
    (todo-write-test-write "a" "One" '("Two" "completed"))
    (todo-write-edit "a" 'move "t2" 0)
    (todo-write-edit "a" 'add "Three" 1)
    (should (equal (todo-write-times "a")
                   (mapcar (lambda (id) (cons id (todo-write-times "a" id)))
                           '("t2" "t3" "t1"))))))

(ert-deftest todo-write-items-removed-returns-started-items-oldest-first ()
  (todo-write-with-store
    (todo-write-test-write "a" '("One" "in_progress") "Two" '("Three" "in_progress"))
    (dolist (id '("t3" "t2" "t1"))
      (todo-write-edit "a" 'delete id))
    (should (equal (mapcar (lambda (item) (plist-get item :id))
                           (todo-write-items-removed "a"))
                   '("t3" "t1")))))

(ert-deftest todo-write-the-summary-counts-and-names-the-current-item ()
  (todo-write-with-store
    (todo-write-test-write "a" '("One" "completed") '("Two" "in_progress") "Three")
    (todo-write-observe "a" "TITLE" "Count to three")
    (should (equal (todo-write-summary "a")
                   (list :revision 1 :completed 1 :total 3 :yours 0
                         :state 'active :title "Count to three" :count "1/3"
                         :current (aref (todo-write-items "a") 1))))))

(ert-deftest todo-write-an-outcome-has-the-state ()
  (todo-write-with-store
    (should (eq (plist-get (todo-write-test-write "a" "One") :state) 'active))
    (todo-write-pause "a")
    (let ((refused (todo-write "a" "{}")))
      (should (eq (plist-get refused :state) 'paused)))
    (should (eq (plist-get (todo-write-edit "a" 'add "Two") :state) 'paused))
    (should (eq (plist-get (todo-write-test-write "a" "One") :state) 'active))
    (let ((done (todo-write-test-write "a" '("One" "completed") '("Two" "completed"))))
      (should (eq (plist-get done :state) 'done)))
    (should (eq (plist-get (todo-write-undo "a") :state) 'active))))

(ert-deftest todo-write-options-may-be-set-or-bound-at-any-time ()
  (todo-write-with-store
    (let ((accepted (lambda ()
                      (plist-get (todo-write "a" (todo-write-test-todos "Much too long")) :ok)))
          (limit todo-write-max-length))
      (should (funcall accepted))
      (let ((todo-write-max-length 3))
        (should-not (funcall accepted)))
      (should (funcall accepted))
      (unwind-protect
          (progn (setq todo-write-max-length 3)
                 (should-not (funcall accepted)))
        (setq todo-write-max-length limit))
      (with-temp-buffer
        (setq-local todo-write-max-length 3)
        (should (funcall accepted))))))

(ert-deftest todo-write-threads-are-separate-and-the-one-written-last-is-current ()
  (todo-write-with-store
    (todo-write-test-write "b" "In b")
    (todo-write-test-write "a" "In a")
    (should (equal (sort (todo-write-threads) #'string<) '("a" "b")))
    (should (equal (todo-write-current-thread) "a"))
    (should (equal (todo-write-test-contents "b") '("In b")))))

(ert-deftest todo-write-forget-leaves-neither-list-nor-history-nor-file ()
  (todo-write-with-store
    (todo-write-test-write "a" "One")
    (todo-write-forget "a")
    (should-not (todo-write-threads))
    (should-not (todo-write-current-thread))
    (should (equal (todo-write-items "a") []))
    (should-not (todo-write-revisions "a"))
    (should-not (todo-write-test-segments))))

;;; The hook

(ert-deftest todo-write-change-functions-get-thread-and-outcome ()
  (todo-write-with-store
    (let* ((heard nil)
           (todo-write-change-functions (list (lambda (&rest args) (push args heard))))
           (outcome (todo-write-test-write "a" "One")))
      (should (equal heard (list (list "a" outcome))))
      (todo-write-edit "a" 'status "t1" "completed")
      (todo-write-undo "a")
      (should (= (length heard) 3))
      (ert-info ("Neither a refused write nor one that changes nothing")
        (todo-write "a" "{")
        (todo-write-test-write "a" "One")
        (should (= (length heard) 3))))))

(provide 'todo-write-tests)
;;; todo-write-tests.el ends here
