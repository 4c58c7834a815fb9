;;; todo-write-journal-tests.el --- Tests of journals  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Another Emacs restores the lists, two of them change one plan, lists of plans open no
;; journal, and a failing disk loses no list.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'seq)
(require 'todo-write-list)
(require 'todo-write-row)
(require 'todo-write-view)
(require 'todo-write-test-helper)

;;; Another Emacs

;; Opening a journal would pause the plan in it, and cut off the unfinished line.
(ert-deftest todo-write-looking-at-a-plan-on-disk-changes-nothing ()
  (todo-write-with-store
    (todo-write-test-child
     '(todo-write "a" '(:todos [(:content "One" :status "in_progress" :activeForm "F")]))
     '(prin1 t))
    (let* ((file (car (todo-write-test-segments)))
           (read (lambda () (with-temp-buffer (insert-file-contents-literally file)
                                              (buffer-string)))))
      (write-region "unfinished" nil file t 'silent)
      (let ((before (funcall read)))
        (should (equal (todo-write-test-contents "a") '("One")))
        (should (eq (todo-write-state "a") 'paused))
        (should (= 1 (length (todo-write-revisions "a"))))
        (todo-write-observations "a")
        (todo-write-work "a")
        (todo-write-about "a")
        (should (equal before (funcall read)))
        (should-not (todo-write-threads-loaded))
        (todo-write-resume "a")
        (should (equal (todo-write-threads-loaded) '("a")))
        (should (eq (todo-write-state "a") 'active))))))

;; File systems of Unix take any bytes; those of macOS and Windows take text.
(ert-deftest todo-write-takes-a-list-in-a-folder-whose-name-is-not-text ()
  (skip-unless (eq system-type 'gnu/linux))
  (todo-write-with-store
    (let* ((root (make-temp-file "todo-write-project" t))
           (default-directory (concat root "/caf\351/")))
      (unwind-protect
          (progn
            (make-directory default-directory)
            (todo-write-test-write "a" "One")
            (should (equal (concat root "/caf\N{REPLACEMENT CHARACTER}/")
                           (plist-get (todo-write-about "a") :project)))
            (should (equal "a" (todo-write-restore))))
        (delete-directory default-directory)
        (delete-directory root)))))

(ert-deftest todo-write-restore-asks-no-other-machine-for-the-project ()
  (todo-write-with-store
    (todo-write-test-child '(progn (todo-write "old" '(:todos [(:content "In" :status "pending")]))
                                   (prin1 t)))
    (let* (asked
           (default-directory "/elsewhere:/a/")
           (file-name-handler-alist
            (cons (cons "\\`/elsewhere:"
                        (lambda (operation &rest args)
                          (pcase operation
                            ('file-remote-p "/elsewhere:")
                            ('expand-file-name
                             (let (file-name-handler-alist) (apply operation args)))
                            (_ (push operation asked) nil))))
                  file-name-handler-alist)))
      (should (equal "old" (todo-write-restore "old")))
      (should (todo-write-items "old"))
      (should-not asked))))

(ert-deftest todo-write-restore-loads-the-newest-thread-of-the-project ()
  (todo-write-with-store
    (let* ((root (file-name-as-directory (make-temp-file "todo-write-project" t)))
           (one (file-name-as-directory (expand-file-name "one" root)))
           (two (file-name-as-directory (expand-file-name "two" root)))
           (write (lambda (key folder)
                    (make-directory folder t)
                    `(let ((default-directory ,folder))
                       (todo-write ,key '(:todos [(:content "In" :status "pending"
                                                   :activeForm "F")]))))))
      (unwind-protect
          (progn
            (todo-write-test-child (funcall write "old" one) (funcall write "new" one)
                                   (funcall write "other" two) '(prin1 t))
            (let ((default-directory one)) (should (equal (todo-write-restore) "new")))
            (let ((default-directory two)) (should (equal (todo-write-restore) "other")))
            (let ((default-directory root)) (should-not (todo-write-restore)))
            (should (equal (todo-write-restore "old") "old"))
            (should-not (todo-write-restore "never was"))
            (should (equal (sort (todo-write-threads) #'string<) '("new" "old" "other")))
            (should (equal (plist-get (todo-write-about "new") :project) one)))
        (delete-directory root t)))))

;;; Two processes

(ert-deftest todo-write-two-emacsen-change-one-plan ()
  (todo-write-with-store
    (todo-write-test-write "a" "Mine")
    (let ((child '(progn (fset 'display-warning (lambda (&rest told) (error "Told %S" told)))
                         (todo-write-edit "a" 'add "Theirs")
                         (prin1 (todo-write-state "a")))))
      ;; This Emacs lives, so its plan is not paused.
      (should (eq 'active (todo-write-test-child child)))
      (with-current-buffer (todo-write-show "a")
        (should-not (string-search "Theirs" (buffer-string)))
        (revert-buffer)
        (should (string-search "Theirs" (buffer-string))))
      (todo-write-test-child child)
      (ert-info ("A change takes what others changed")
        (todo-write-edit "a" 'rename (todo-write-test-id "a" "Mine") "Ours")
        (should (equal '("Ours" "Theirs" "Theirs") (todo-write-test-contents "a"))))
      (should (= 1 (length (todo-write-test-segments)))))))

(ert-deftest todo-write-a-plan-is-paused-once-its-emacs-has-ended ()
  (todo-write-with-store
    (let ((other (todo-write-test-start
                  `(todo-write "a" ',(todo-write-test-todos '("One" "in_progress")))
                  '(message "wrote")
                  '(while t (accept-process-output nil 1)))))
      (unwind-protect
          (progn
            (todo-write-test-wait
             (lambda () (with-current-buffer (process-buffer other)
                          (string-search "wrote" (buffer-string)))))
            (should (eq 'active (todo-write-state "a")))
            (signal-process other 'SIGKILL)
            (todo-write-test-end other))
        (delete-process other))
      (should (eq 'paused (plist-get (plist-get (car (todo-write-threads-kept)) :plan) :state)))
      (with-current-buffer (todo-write-show "a")
        (revert-buffer))
      (should (eq 'paused (todo-write-state "a"))))))

(ert-deftest todo-write-the-name-of-an-emacs-tells-whether-it-lives ()
  (todo-write-core-configure)
  (pcase-let ((`(,pid ,start ,space) (split-string todo-write-core-emacs " ")))
    (cl-flet ((name (&rest parts) (string-join parts " "))
              (later (seconds) (number-to-string (+ seconds (string-to-number start)))))
      (dolist (name (list todo-write-core-emacs (name pid start) (name pid (later 1) space)
                          ;; This cannot be known.
                          (name "1" "1" "pid:[1]")))
        (should (eq t (todo-write--emacs-lives-p name))))
      (dolist (name (list (name pid (later 60) space) (name "2147483647" start space)
                          "" "x" "1" "99999999999999999999999 1" (name "" "" space)))
        (should-not (todo-write--emacs-lives-p name)))
      (let ((todo-write-core-emacs (name pid "0" space)))
        (should (eq t (todo-write--emacs-lives-p (name "2147483647" "0" space))))))))

(ert-deftest todo-write-prune-deletes-old-journals ()
  (todo-write-with-store
    (todo-write-test-child
     '(dolist (key '("a" "b" "c" "d"))
        (todo-write key '(:todos [(:content "One" :status "pending" :activeForm "F")])))
     '(prin1 t))
    (set-file-times (car (todo-write-test-segments)) 1000000000)
    (should (= (let ((todo-write-journal-days nil)) (todo-write-prune)) 0))
    (should (= (todo-write-prune) 1))
    (should (= (length (todo-write-threads)) 3))))

;;; Lists of plans

(ert-deftest todo-write-lists-of-plans-open-no-journal ()
  (todo-write-with-store
    (todo-write-test-child
     `(let ((default-directory "/"))
        (todo-write "titled" ',(todo-write-test-todos "Mill" '("Bake" "in_progress")))
        (todo-write-observe "titled" "TITLE" "Bread")
        (todo-write "claude:asked" ',(todo-write-test-todos "Dig"))
        (todo-write-observe "claude:asked" "INTENT" "Make a garden\nsoon"))
     '(prin1 t))
    ;; They say nothing any more, but are as long as before.
    (dolist (segment (todo-write-test-segments))
      (write-region (make-string (file-attribute-size (file-attributes segment)) ?x)
                    nil segment nil 'silent))
    (let ((kept (todo-write-threads-kept)))
      (should (equal '("claude:asked" "titled")
                     (mapcar (lambda (one) (plist-get one :key)) kept)))
      (should (equal '("Make a garden" nil)
                     (mapcar (lambda (one) (plist-get (plist-get one :plan) :prompt)) kept)))
      (should (equal '("0/1" "0/2")
                     (mapcar (lambda (one) (plist-get (plist-get one :plan) :count)) kept))))
    (with-current-buffer (todo-write-list)
      (dolist (words '("Make a garden" "Bread" "0/2" "Baking\\|Bake"))
        (should (string-match-p words (buffer-string)))))
    (let (offered)
      (cl-letf (((symbol-function 'completing-read)
                 (lambda (_prompt table &rest _)
                   (let ((titles (all-completions "" table)))
                     (push titles offered)
                     (funcall (cdr (assq 'affixation-function
                                         (cdr (funcall table "" nil 'metadata))))
                              titles)
                     (car titles)))))
        (should (member (todo-write-read-thread "Plan: ") '("claude:asked" "titled"))))
      (should (equal '("Bread" "Make a garden") (sort (car offered) #'string<))))
    (should-not (todo-write-threads-loaded))))

(ert-deftest todo-write-journals-that-lists-must-read-are-read-a-few-at-a-time ()
  (todo-write-with-store
    (todo-write-test-child
     `(dotimes (n 12)
        (todo-write (format "plan %d" n) ',(todo-write-test-todos "Dig")))
     '(todo-write-dyn--summarize)
     '(prin1 t))
    (dolist (file (directory-files-recursively todo-write-directory "\\`summary\\.json\\'"))
      (delete-file file))
    (with-current-buffer (todo-write-list)
      (should (= 5 (count-lines (point-min) (point-max))))
      (while (timerp todo-write-plan--kept-timer)
        (timer-event-handler todo-write-plan--kept-timer))
      (progn (todo-write-list--on-change) (todo-write-redraw))
      (should (= 12 (count-lines (point-min) (point-max)))))
    (should-not todo-write-plan--kept-timer)))

(ert-deftest todo-write-what-was-not-seen-and-the-order-survive-a-restart ()
  (todo-write-with-store
    (let* ((list '(progn
                    (require 'todo-write-list)
                    (mapcar (lambda (agent)
                              (list (plist-get agent :thread) (plist-get agent :attention)
                                    (plist-get agent :refused) (plist-get agent :new)
                                    (symbol-name (todo-write-agent-state agent))))
                            (todo-write-list--known-agents (todo-write-list--earlier)))))
           (before
            (todo-write-test-child
             '(require 'todo-write-agent)
             '(add-hook 'todo-write-agent-functions #'ignore)
             `(cl-flet ((work (key &optional refused path)
                          (todo-write-set-activity key 'working)
                          (todo-write key ',(todo-write-test-todos '("Dig" "in_progress")))
                          (when refused
                            (todo-write-observe key "TOOL_EXECUTION" "no"
                                                :outcome 'refused :command t))
                          (when path
                            (todo-write-observe
                             key "TOOL_EXECUTION" "ok" :outcome 'ok
                             :files (list (list :path path :added 1 :removed 0))))
                          (sleep-for 0.002)
                          (todo-write-end-turn key)))
                (work "seen")
                (todo-write-agent-see "seen")
                (work "unseen")
                (work "refused" t)
                (work "changed" nil "/garden/bed"))
             `(prin1 ,list)))
           (after (eval list t)))
      (should (equal '(("changed" unseen 0 1 "done") ("refused" unseen 1 nil "done")
                       ("unseen" unseen 0 nil "done") ("seen" idle 0 nil "idle"))
                     before))
      (should (equal before after))
      (ert-info ("What is looked at then is seen")
        (todo-write-switch "refused")
        (should (equal '("changed" "unseen" "refused" "seen") (mapcar #'car (eval list t))))
        (should (equal (mapcar #'cdr (eval list t))
                       (mapcar #'cdr (todo-write-test-child `(prin1 ,list)))))))))

;;; A failing disk

(ert-deftest todo-write-without-a-folder-there-is-no-file-and-no-warning ()
  (todo-write-with-store
    (let ((todo-write-directory nil))
      (unwind-protect
          (should-not (todo-write-test-warnings (todo-write-test-write "memory" "One")))
        (todo-write-forget "memory")))
    (should-not (directory-files todo-write-directory nil "\\`[^.]"))))

(ert-deftest todo-write-a-folder-full-of-rubbish-stops-nothing ()
  (todo-write-with-store
    (dolist (name '("empty.jsonl" "words.jsonl" "bytes.jsonl"))
      (write-region (cdr (assoc name '(("empty.jsonl" . "") ("words.jsonl" . "hello\n")
                                       ("bytes.jsonl" . "\0\1\2\n\n"))))
                    nil (expand-file-name name todo-write-directory) nil 'silent))
    (dolist (name '("folder.jsonl" "empty" "words-0" "1.jsonl/2.jsonl"))
      (make-directory (expand-file-name name todo-write-directory) t))
    (write-region "hello\n" nil (expand-file-name "words-0/1.jsonl" todo-write-directory)
                  nil 'silent)
    (should-not (todo-write-threads))
    (should-not (todo-write-test-warnings (todo-write-test-write "a" "One")))
    (should (equal (todo-write-threads) '("a")))))

;;; Files

(ert-deftest todo-write-a-plan-that-cannot-be-saved-says-so-until-it-is-saved ()
  (todo-write-with-store
    (let* ((folder (expand-file-name "not-a-folder" (file-name-directory
                                                     (directory-file-name todo-write-directory))))
           (todo-write-directory folder)
           (kill-emacs-query-functions nil)
           (warnings nil)
           (asked 0))
      (write-region "" nil folder nil 'silent)
      (cl-letf (((symbol-function 'display-warning)
                 (lambda (_type message &rest _) (push message warnings)))
                ((symbol-function 'yes-or-no-p) (lambda (_) (cl-incf asked) nil)))
        (unwind-protect
            (progn
              (todo-write-test-write "full" "One")
              (should (= (length warnings) 1))
              (should (plist-get (todo-write-summary "full") :unsaved))
              (should (string-search "not saved"
                                     (todo-write-row-string
                                       (todo-write-row-insert-header
                                        (todo-write-summary "full") 80))))
              (ert-info ("Ten minutes later, the user is warned again")
                (timer-event-handler todo-write-events--save-timer)
                (should (= (length warnings) 2)))
              (ert-info ("Emacs asks before it exits")
                (should-not (run-hook-with-args-until-failure 'kill-emacs-query-functions))
                (should (= asked 1)))
              (ert-info ("The next good write saves everything")
                (delete-file folder)
                (todo-write-test-write "full" "One" "Two")
                (should-not (plist-get (todo-write-summary "full") :unsaved))
                (should (run-hook-with-args-until-failure 'kill-emacs-query-functions))
                (should (= asked 1))
                (should-not todo-write-events--save-timer)
                (should (todo-write-test-segments folder))))
          (ignore-errors (delete-directory folder t)))))))

(provide 'todo-write-journal-tests)
;;; todo-write-journal-tests.el ends here
