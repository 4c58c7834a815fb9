;;; todo-write-edit-tests.el --- Tests of the editing keys  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Each test presses keys in the live buffer and checks the list and point.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-view-test-helper)
(require 'todo-write-edit)

(defmacro todo-write-edit-tests--with (entries &rest body)
  "Run BODY in a live buffer of the thread \"a\", whose list is ENTRIES."
  (declare (indent 1) (debug t))
  `(todo-write-test-with-view
     (todo-write "a" (apply #'todo-write-test-todos ,entries))
     ,@body))

(defun todo-write-edit-tests--press (keys &optional text)
  "Run the command bound to KEYS, with TEXT as its minibuffer input."
  (cl-letf (((symbol-function 'read-string) (lambda (&rest _) text)))
    (let ((command (key-binding (kbd keys)))
          (inhibit-message t))
      (should (commandp command))
      (call-interactively command))))

(defun todo-write-edit-tests--to (content)
  "Move point into the row of CONTENT."
  (goto-char (point-min))
  (search-forward content)
  (backward-char))

(defun todo-write-edit-tests--at ()
  "Return the content of the item at point."
  (plist-get (todo-write-item "a" (todo-write-view--id-at-point)) :content))

(defun todo-write-edit-tests--status (content)
  "Return the status of the item with CONTENT."
  (plist-get (seq-find (lambda (item) (equal (plist-get item :content) content))
                       (todo-write-items "a"))
             :status))

(ert-deftest todo-write-edit-e-changes-the-text-and-offers-the-old-one ()
  (todo-write-edit-tests--with '("One" "Two")
    (todo-write-edit-tests--to "Two")
    (let (offered)
      (cl-letf (((symbol-function 'read-string)
                 (lambda (_prompt initial &rest _) (setq offered initial) "  Second ")))
        (call-interactively (key-binding "e")))
      (should (equal offered "Two")))
    (should (equal (todo-write-test-contents "a") '("One" "Second")))
    (should (equal (todo-write-edit-tests--at) "Second"))))

(ert-deftest todo-write-edit-e-without-a-change-makes-no-revision ()
  (todo-write-edit-tests--with '("One")
    (todo-write-edit-tests--to "One")
    (todo-write-edit-tests--press "e" "One")
    (should (= 1 (length (todo-write-revisions "a"))))))

(ert-deftest todo-write-edit-plus-adds-below-point-and-goes-there ()
  (pcase-dolist (`(,tasks ,place . ,contents)
                 '((("One" "Two") (todo-write-edit-tests--to "One") "One" "New" "Two")
                   (("One") (goto-char (point-min)) "New" "One")
                   (("One") (goto-char (point-max)) "One" "New")
                   (() (goto-char (point-max)) "New")))
    (ert-info ((format "%S %S" tasks place))
      (todo-write-edit-tests--with '("One")
        (todo-write "a" (apply #'todo-write-test-todos tasks))
        (eval place t)
        (todo-write-edit-tests--press "+" "New")
        (should (equal (todo-write-test-contents "a") contents))
        (should (equal (todo-write-edit-tests--at) "New"))))))

(ert-deftest todo-write-edit-k-deletes-and-undo-brings-back ()
  (todo-write-edit-tests--with '("One" "Two" "Three")
    (todo-write-edit-tests--to "Two")
    (todo-write-edit-tests--press "k")
    (should (equal (todo-write-test-contents "a") '("One" "Three")))
    (should-error (todo-write-edit-tests--press "k") :type 'user-error)
    (todo-write-edit-tests--press "C-/")
    (should (equal (todo-write-test-contents "a") '("One" "Two" "Three")))
    (should (equal (todo-write-edit-tests--at) "Two"))))

(ert-deftest todo-write-edit-undo-is-on-all-usual-keys ()
  (dolist (keys '("C-/" "C-_" "C-x u" "u"))
    (todo-write-edit-tests--with '("One")
      (todo-write-edit-tests--to "One")
      (todo-write-edit-tests--press "e" "Other")
      (todo-write-edit-tests--press keys)
      (should (equal (todo-write-test-contents "a") '("One"))))))

(ert-deftest todo-write-edit-t-cycles-the-status ()
  (todo-write-edit-tests--with '("One" "Two")
    (todo-write-edit-tests--to "Two")
    (dolist (status '("in_progress" "completed" "pending"))
      (todo-write-edit-tests--press "t")
      (should (equal (todo-write-edit-tests--status "Two") status))
      (should (equal (todo-write-edit-tests--at) "Two")))))

(ert-deftest todo-write-edit-t-with-a-prefix-asks-for-the-status ()
  (todo-write-edit-tests--with '("One" "Two")
    (todo-write-edit-tests--to "Two")
    (cl-letf (((symbol-function 'completing-read) (lambda (&rest _) "completed"))
              (current-prefix-arg '(4)))
      (todo-write-edit-tests--press "t"))
    (should (equal (todo-write-edit-tests--status "Two") "completed"))))

(ert-deftest todo-write-edit-says-what-changed-and-how-to-undo-it ()
  (todo-write-edit-tests--with '("One" "Two")
    (pcase-dolist (`(,keys ,words) '(("t" "Now in progress") ("e" "Renamed") ("+" "Added")
                                     ("M-<up>" "Moved to 1") ("k" "Deleted “Two again”")))
      (todo-write-edit-tests--to "Two")
      (should (equal (concat words "; u undoes")
                     (todo-write-edit-tests--said
                      (lambda () (todo-write-edit-tests--press keys "Two again"))))))))

(defun todo-write-edit-tests--said (function)
  "Call FUNCTION; return the last message."
  (let (said)
    (cl-letf (((symbol-function 'message)
               (lambda (format &rest args) (setq said (apply #'format format args)))))
      (funcall function))
    said))

(ert-deftest todo-write-edit-first-and-last-and-all ()
  (todo-write-edit-tests--with '("One" "Two" "Three")
    (todo-write-edit-tests--press ">")
    (should (equal (todo-write-edit-tests--at) "Three"))
    (todo-write-edit-tests--press "<")
    (should (equal (todo-write-edit-tests--at) "One"))
    (todo-write-edit-tests--press "<backtab>")
    (should (= 3 (length todo-write-view--open)))
    (todo-write-edit-tests--press "<backtab>")
    (should-not todo-write-view--open)))

(ert-deftest todo-write-edit-m-up-and-m-down-move-the-task-and-point-with-it ()
  (todo-write-edit-tests--with '("One" "Two" "Three")
    (todo-write-edit-tests--to "Three")
    (pcase-dolist (`(,keys . ,contents) '(("M-<up>" "One" "Three" "Two")
                                          ("M-<up>" "Three" "One" "Two")
                                          ("M-<up>")
                                          ("M-<down>" "One" "Three" "Two")
                                          ("M-<down>" "One" "Two" "Three")
                                          ("M-<down>")))
      (if (null contents)
          (should-error (todo-write-edit-tests--press keys) :type 'user-error)
        (todo-write-edit-tests--press keys)
        (should (equal (todo-write-test-contents "a") contents)))
      (should (equal (todo-write-edit-tests--at) "Three")))))

(ert-deftest todo-write-edit-refuses-an-empty-text-and-keeps-the-list ()
  (todo-write-edit-tests--with '("One")
    (todo-write-edit-tests--to "One")
    (should-error (todo-write-edit-tests--press "e" "  ") :type 'user-error)
    (should-error (todo-write-edit-tests--press "+" "") :type 'user-error)
    (should-error (todo-write-edit-tests--press "e" (make-string 5000 ?x)) :type 'user-error)
    (should (equal (todo-write-test-contents "a") '("One")))))

(ert-deftest todo-write-edit-keys-outside-the-rows-say-so ()
  (todo-write-edit-tests--with '("One")
    (goto-char (point-min))
    (dolist (keys '("e" "k" "t" "R" "M-<up>" "M-<down>" "RET"))
      (should-error (todo-write-edit-tests--press keys "x") :type 'user-error))
    (should (equal (todo-write-test-contents "a") '("One")))))

(ert-deftest todo-write-edit-keys-on-a-dropped-task-say-so ()
  (todo-write-edit-tests--with '("One" "Two")
    (todo-write "a" (todo-write-test-todos "One"))
    (todo-write-edit-tests--to "Two")
    (dolist (keys '("e" "k" "t"))
      (should (string-match-p
               "dropped"
               (cadr (should-error (todo-write-edit-tests--press keys "x")
                                   :type 'user-error)))))))

(ert-deftest todo-write-edit-keys-change-no-folded-task ()
  (let ((todo-write-view-fold-completed t))
    (todo-write-edit-tests--with '(("One" "completed") ("Two" "completed")
                                   ("Three" "completed") ("Four" "completed") "Five")
      (todo-write-view-first)
      (dolist (keys '("e" "k" "t" "M-<up>" "M-<down>"))
        (should (string-match-p
                 "RET unfolds"
                 (cadr (should-error (todo-write-edit-tests--press keys "x")
                                     :type 'user-error)))))
      (should (= 1 (length (todo-write-revisions "a"))))
      (todo-write-edit-tests--press "RET")
      (todo-write-edit-tests--press "k")
      (should (equal (todo-write-test-contents "a") '("Two" "Three" "Four" "Five"))))))

(ert-deftest todo-write-edit-keys-in-a-subagents-list-change-no-task-of-the-parent ()
  (todo-write-edit-tests--with '("One" "Two")
    (todo-write-begin "sub" :parent "a" :parent-item (todo-write-test-id "a" "One"))
    (todo-write-test-write "sub" "Grep")
    (dolist (place '("Grep" "sub"))
      (todo-write-edit-tests--to place)
      (dolist (keys '("e" "k" "t" "M-<up>" "M-<down>"))
        (should (string-match-p
                 "subagent"
                 (cadr (should-error (todo-write-edit-tests--press keys "x")
                                     :type 'user-error))))))
    (should (= 1 (length (todo-write-revisions "a"))))
    (todo-write-edit-tests--to "Grep")
    (todo-write-edit-tests--press "RET")
    (should (member (todo-write-test-id "a" "One") todo-write-view--open))))

(ert-deftest todo-write-edit-keys-below-a-row-change-no-task ()
  (todo-write-edit-tests--with '(("One" "in_progress") "Two")
    (todo-write-observe "a" "TOOL_CALL" '(:id "1" :name "Bash" :input "make test") :call-id "1")
    (todo-write-test-open "One")
    (dolist (place '("make test" "added ●"))
      (todo-write-edit-tests--to place)
      (dolist (keys '("e" "k" "t" "M-<up>" "M-<down>"))
        (should (string-match-p "is part of “One”"
                                (cadr (should-error (todo-write-edit-tests--press keys "x")
                                                    :type 'user-error))))))
    (should (= 1 (length (todo-write-revisions "a"))))
    ;; An addition changes no task.
    (todo-write-edit-tests--press "+" "New")
    (should (equal (todo-write-test-contents "a") '("One" "New" "Two")))))

(defmacro todo-write-edit-tests--with-region (from to &rest body)
  "Run BODY while the region is active from the row of FROM into that of TO."
  (declare (indent 2) (debug t))
  `(let ((transient-mark-mode t))
     (todo-write-edit-tests--to ,from)
     (push-mark (point) t t)
     (todo-write-edit-tests--to ,to)
     ,@body))

(ert-deftest todo-write-edit-keys-act-on-all-rows-of-the-region ()
  (todo-write-edit-tests--with '("One" "Two" "Three" "Four" "Five")
    (todo-write-edit-tests--with-region "Two" "Four"
      (todo-write-edit-tests--press "M-<up>")
      (should (equal (todo-write-test-contents "a") '("Two" "Three" "Four" "One" "Five")))
      (should (use-region-p))
      (todo-write-edit-tests--press "M-<down>")
      (todo-write-edit-tests--press "M-<down>")
      (should (equal (todo-write-test-contents "a") '("One" "Five" "Two" "Three" "Four")))
      (should-error (todo-write-edit-tests--press "M-<down>") :type 'user-error)
      (should-error (todo-write-edit-tests--press "e" "Text") :type 'user-error)
      (should (equal "3 tasks are now in progress; u undoes them one by one"
                     (todo-write-edit-tests--said
                      (lambda () (todo-write-edit-tests--press "t")))))
      (should-not (use-region-p)))
    (dolist (content '("Two" "Three" "Four"))
      (should (equal "in_progress" (todo-write-edit-tests--status content))))
    (todo-write-edit-tests--with-region "Three" "Four"
      (should (equal "Deleted 2 tasks; u undoes them one by one"
                     (todo-write-edit-tests--said
                      (lambda () (todo-write-edit-tests--press "k"))))))
    (should (equal (todo-write-test-contents "a") '("One" "Five" "Two")))
    (todo-write-edit-tests--press "u")
    (todo-write-edit-tests--press "u")
    (should (equal (todo-write-test-contents "a") '("One" "Five" "Two" "Three" "Four")))
    ;; A region that ends before a row leaves that alone.
    (todo-write-edit-tests--with-region "Five" "Five"
      (forward-line)
      (todo-write-edit-tests--press "k"))
    (should (equal (todo-write-test-contents "a") '("One" "Two" "Three" "Four")))))

(ert-deftest todo-write-edit-keys-act-on-no-entry-or-fold-of-the-region ()
  (todo-write-edit-tests--with '(("One" "in_progress") "Two")
    (todo-write-observe "a" "TOOL_CALL" '(:id "1" :name "Bash" :input "make test") :call-id "1")
    (todo-write-observe "a" "TOOL_CALL" '(:id "2" :name "Bash" :input "make lint") :call-id "2")
    (todo-write-test-open "One")
    (todo-write-edit-tests--with-region "make test" "make lint"
      (dolist (keys '("k" "t" "M-<down>"))
        (should (string-match-p "No task in the region"
                                (cadr (should-error (todo-write-edit-tests--press keys)
                                                    :type 'user-error))))))
    (should (= 1 (length (todo-write-revisions "a")))))
  (let ((todo-write-view-fold-completed t))
    (todo-write-edit-tests--with '(("One" "completed") ("Two" "completed")
                                   ("Three" "completed") ("Four" "completed") "Five")
      (todo-write-edit-tests--with-region "One" "Five"
        (should-error (todo-write-edit-tests--press "k") :type 'user-error))
      (should (= 1 (length (todo-write-revisions "a")))))))

(ert-deftest todo-write-R-restores-all-dropped-tasks-of-the-region ()
  (todo-write-edit-tests--with '("One" "Two" "Three" "Four")
    (todo-write-test-write "a" "One" "Four")
    (todo-write-edit-tests--with-region "One" "Three"
      (todo-write-edit-tests--press "R"))
    (should (equal (todo-write-test-contents "a") '("One" "Two" "Three" "Four")))))

(ert-deftest todo-write-edit-undo-with-nothing-to-undo-says-so ()
  (todo-write-edit-tests--with '("One")
    (cl-letf (((symbol-function 'y-or-n-p) #'always))
      (ignore-errors (dotimes (_ 5) (todo-write-edit-tests--press "u")))
      (should-error (todo-write-edit-tests--press "u") :type 'user-error))))

(ert-deftest todo-write-edit-survives-a-write-while-the-user-types ()
  (todo-write-edit-tests--with '("One" "Two")
    (todo-write-edit-tests--to "Two")
    (cl-letf (((symbol-function 'read-string)
               (lambda (&rest _)
                 (todo-write "a" (todo-write-test-todos "Zero" "One" "Two"))
                 "After two")))
      (call-interactively (key-binding "+")))
    (should (equal (todo-write-test-contents "a") '("Zero" "One" "Two" "After two")))))

(ert-deftest todo-write-edit-changes-the-plan-that-was-shown-when-the-user-began ()
  (todo-write-edit-tests--with '("One" "Two")
    (todo-write "b" (todo-write-test-todos "Uno" "Due"))
    (cl-flet ((answering (text)
                (lambda (&rest _)
                  (todo-write-view--show-thread "b")
                  text)))
      (cl-letf (((symbol-function 'read-string) (answering "Second"))
                ((symbol-function 'completing-read) (answering "completed")))
        (todo-write-edit-tests--to "Two")
        (call-interactively #'todo-write-edit-text)
        (todo-write-view--show-thread "a")
        (todo-write-edit-tests--to "One")
        (call-interactively #'todo-write-edit-add)
        (todo-write-view--show-thread "a")
        (todo-write-edit-tests--to "One")
        (let ((current-prefix-arg '(4)))
          (call-interactively #'todo-write-edit-cycle-status))))
    (should (equal (todo-write-test-contents "a") '("One" "Second" "Second")))
    (should (equal (todo-write-edit-tests--status "One") "completed"))
    (should (equal (mapcar (lambda (item) (plist-get item :status)) (todo-write-items "b"))
                   '("pending" "pending")))
    (should (equal (todo-write-test-contents "b") '("Uno" "Due")))))

(ert-deftest todo-write-edit-undo-undoes-only-what-it-asked-about ()
  (todo-write-edit-tests--with '("One")
    (cl-letf (((symbol-function 'y-or-n-p)
               (lambda (_) (todo-write "a" (todo-write-test-todos "One" "Two")))))
      (should-error (todo-write-edit-tests--press "u") :type 'user-error))
    (should (equal (todo-write-test-contents "a") '("One" "Two")))))

(ert-deftest todo-write-edit-merges-with-the-agents-next-write ()
  (todo-write-edit-tests--with '("One" "Two")
    (todo-write-edit-tests--to "Two")
    (todo-write-edit-tests--press "+" "Mine")
    (let ((outcome (todo-write "a" (todo-write-test-todos '("One" "completed") "Two"))))
      (should (equal (todo-write-test-contents "a") '("One" "Two" "Mine")))
      (should (string-match-p "Mine" (plist-get outcome :result))))
    (should (string-match-p "✓ One\\|x One" (buffer-string)))
    (should (equal (todo-write-edit-tests--at) "Mine"))))

;;; The user's own tasks

(defmacro todo-write-edit-tests--answering (answer &rest body)
  "Run BODY; `y-or-n-p' returns ANSWER.  Return the questions asked."
  (declare (indent 1))
  `(let (asked)
     (cl-letf (((symbol-function 'y-or-n-p)
                (lambda (prompt) (push prompt asked) ,answer)))
       ,@body)
     (nreverse asked)))

(ert-deftest todo-write-a-task-of-the-user-stays-and-its-row-says-yours ()
  (todo-write-edit-tests--with '("One" "Two")
    (todo-write-edit-tests--to "One")
    (todo-write-edit-tests--press "+" "Mine")
    (todo-write "a" (todo-write-test-todos '("One" "completed") "Two"))
    (should (equal (todo-write-test-contents "a") '("One" "Mine" "Two")))
    (should (string-match-p "^ [○o] Mine +yours$" (todo-write-test-text)))))

(ert-deftest todo-write-a-row-says-that-its-agent-cannot-be-told ()
  (todo-write-edit-tests--with '("One" "Two")
    (todo-write "a" (todo-write-test-todos "One" "Two") nil t)
    (todo-write-edit-tests--to "Two")
    (todo-write-edit-tests--press "+" "Mine")
    (todo-write "a" (todo-write-test-todos '("One" "completed") '("Two" "completed")) nil t)
    (should (eq (todo-write-state "a") 'done))
    (let ((text (todo-write-test-text)))
      (should (string-match-p "Mine +yours, not told$" text))
      (should (string-search "2/2 + 1 yours" text)))
    (todo-write "a" (todo-write-test-todos '("One" "completed") '("Two" "completed")))
    (should (string-match-p "Mine +yours$" (todo-write-test-text)))))

(ert-deftest todo-write-items-say-who-added-them-and-whether-the-agent-was-told ()
  (todo-write-with-store
    (todo-write-test-write "a" "One")
    (let* ((outcome (todo-write-edit "a" 'add "Mine"))
           (says (lambda (item) (list (plist-get item :addedBy) (plist-get item :untold)))))
      (should (equal (seq-map says (todo-write-items "a")) '((nil nil) ("user" t))))
      (let* ((json (json-parse-string (todo-write-to-json outcome) :false-object 'no))
             (item (gethash "item" (aref (gethash "changes" (gethash "changes" json)) 0))))
        (should (equal (gethash "addedBy" item) "user"))
        (should (eq (gethash "untold" item) t)))
      (todo-write-test-write "a" "One")
      (should (equal (seq-map says (todo-write-items "a")) '((nil nil) ("user" nil)))))))

(ert-deftest todo-write-the-limit-of-tasks-counts-those-of-the-agent-only ()
  (todo-write-with-store
    (let ((todo-write-max-items 2))
      (todo-write-test-write "a" "One" "Two")
      (dolist (text '("Mine" "Mine, too"))
        (should (plist-get (todo-write-edit "a" 'add text) :ok)))
      (should (plist-get (todo-write-test-write "a" "One" "Two") :ok))
      (should (= (length (todo-write-items "a")) 4)))))

(ert-deftest todo-write-R-restores-the-dropped-task-at-point-alone ()
  (todo-write-edit-tests--with '("One" "Two" "Three")
    (todo-write "a" (todo-write-test-todos '("One" "completed")))
    (todo-write-edit-tests--to "Two")
    (todo-write-edit-tests--press "R")
    (should (equal (todo-write-test-contents "a") '("One" "Two")))))

(ert-deftest todo-write-R-on-the-count-of-dropped-tasks-says-how-to-restore-one ()
  (todo-write-edit-tests--with '("One" "Two" "Three")
    (todo-write "a" (todo-write-test-todos "One"))
    (todo-write "a" (todo-write-test-todos '("One" "in_progress")))
    (goto-char (point-max))
    (search-backward "dropped")
    (should (string-prefix-p "RET shows"
                             (cadr (should-error (todo-write-edit-tests--press "R")
                                                 :type 'user-error))))))

(ert-deftest todo-write-dropped-tasks-are-counted-in-a-line-that-RET-opens ()
  (todo-write-edit-tests--with '("One" "Two" "Three")
    (todo-write "a" (todo-write-test-todos "One"))
    (should-not (string-search "dropped" (buffer-string)))
    (todo-write "a" (todo-write-test-todos '("One" "in_progress")))
    (should (string-match-p "^ 2 dropped$" (buffer-string)))
    (goto-char (point-min))
    (todo-write-edit-tests--press "n")
    (todo-write-edit-tests--press "n")
    (todo-write-edit-tests--press "RET")
    (should (string-match-p "^ 2 dropped\n +. Two\n +. Three$" (buffer-string)))
    (search-forward "Three")
    (todo-write-edit-tests--press "R")
    (should (equal (todo-write-test-contents "a") '("One" "Three")))
    (should (string-match-p "^ 1 dropped$" (buffer-string)))
    (ert-info ("Until the list is replaced")
      (todo-write-edit "a" 'delete (todo-write-test-id "a" "Three"))
      (todo-write "a" (todo-write-test-todos "Bake bread" "Sing aloud"))
      (todo-write "a" (todo-write-test-todos "Bake bread" '("Sing aloud" "in_progress")))
      (should-not (string-search "dropped" (buffer-string))))))

(ert-deftest todo-write-undo-of-an-undo-says-of-what ()
  (todo-write-edit-tests--with '("One" "Two")
    (todo-write-edit-tests--to "Two")
    (todo-write-edit-tests--press "k")
    (todo-write-edit-tests--press "u")
    (todo-write-edit-tests--to "One")
    (todo-write-edit-tests--press "e" "Uno")
    (todo-write-edit-tests--press "u")
    (should (equal "Undid: the undo of deleting “Two”"
                   (todo-write-edit-tests--said
                    (lambda () (todo-write-edit-tests--press "u")))))
    (should (equal (todo-write-test-contents "a") '("One")))))

(ert-deftest todo-write-undo-says-what-it-undid-and-asks-once-before-a-write ()
  (todo-write-edit-tests--with '("One" "Two")
    (todo-write "a" (todo-write-test-todos '("One" "completed") "Two"))
    (todo-write-edit-tests--to "Two")
    (todo-write-edit-tests--press "k")
    (let (said)
      (cl-letf (((symbol-function 'message)
                 (lambda (format &rest args) (setq said (apply #'format format args)))))
        (should-not (todo-write-edit-tests--answering t
                      (todo-write-edit-tests--press "u")))
        (should (equal said "Undid: deleting “Two”"))
        (should (= 1 (length (todo-write-edit-tests--answering nil
                               (todo-write-edit-tests--press "u")))))
        (should (equal said "Undid: deleting “Two”"))
        (should (= 1 (length (todo-write-edit-tests--answering t
                               (todo-write-edit-tests--press "u")))))
        (should (string-match-p "\\`Undid: the agent's write" said))))
    (should (equal (plist-get (aref (todo-write-items "a") 0) :status) "pending"))))

(provide 'todo-write-edit-tests)
;;; todo-write-edit-tests.el ends here
