;;; todo-write-journal-tests.el --- Tests of journals  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Another Emacs restores the lists, two processes do not damage each other's
;; journals, and a failing disk loses no list.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'seq)
(require 'todo-write-row)
(require 'todo-write-test-helper)

(defun todo-write-journal-tests--files (&optional pattern)
  "Return the names of the journals, or of the files that match PATTERN."
  (directory-files todo-write-directory nil (or pattern "\\.jsonl\\'")))

;;; Another Emacs

;; Opening a journal would pause the plan in it, and cut off the unfinished line.
(ert-deftest todo-write-looking-at-a-plan-on-disk-changes-nothing ()
  (todo-write-with-store
    (todo-write-test-child
     '(todo-write "a" '(:todos [(:content "One" :status "in_progress" :activeForm "F")]))
     '(prin1 t))
    (let* ((file (expand-file-name (car (todo-write-journal-tests--files "a"))
                                   todo-write-directory))
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
            (dolist (file (todo-write-journal-tests--files "old"))
              (set-file-times (expand-file-name file todo-write-directory) 1000000000))
            (let ((default-directory one)) (should (equal (todo-write-restore) "new")))
            (let ((default-directory two)) (should (equal (todo-write-restore) "other")))
            (let ((default-directory root)) (should-not (todo-write-restore)))
            (should (equal (todo-write-restore "old") "old"))
            (should-not (todo-write-restore "never was"))
            (should (equal (sort (todo-write-threads) #'string<) '("new" "old" "other")))
            (should (equal (plist-get (todo-write-about "new") :project) one)))
        (delete-directory root t)))))

;;; Two processes

(ert-deftest todo-write-a-second-emacs-warns-and-writes-a-file-of-its-own ()
  (todo-write-with-store
    (todo-write-test-write "a" "Mine")
    (let ((said (todo-write-test-child
                 '(let (said)
                    (fset 'display-warning (lambda (_ text &rest _) (push text said)))
                    (todo-write "a" '(:todos [(:content "Theirs" :status "pending"
                                               :activeForm "F")]))
                    (prin1 said)))))
      (should (= (length said) 1))
      (should (string-search "another Emacs" (car said)))
      (should (= (length (todo-write-journal-tests--files)) 2))
      (should (equal (todo-write-test-contents "a") '("Mine"))))))

(ert-deftest todo-write-prune-deletes-old-and-surplus-journals ()
  (todo-write-with-store
    (todo-write-test-child
     '(dolist (key '("a" "b" "c" "d"))
        (todo-write key '(:todos [(:content "One" :status "pending" :activeForm "F")])))
     '(prin1 t))
    (set-file-times (expand-file-name (car (todo-write-journal-tests--files))
                                      todo-write-directory)
                    1000000000)
    (should (= (let ((todo-write-journal-count nil)) (todo-write-prune)) 1))
    (should (= (let ((todo-write-journal-count 1)) (todo-write-prune)) 2))
    (should (= (length (todo-write-threads)) 1))))

;;; A failing disk

(ert-deftest todo-write-without-a-folder-there-is-no-file-and-no-warning ()
  (todo-write-with-store
    (let ((todo-write-directory nil))
      (unwind-protect
          (should-not (todo-write-test-warnings (todo-write-test-write "memory" "One")))
        (todo-write-forget "memory")))
    (should-not (todo-write-journal-tests--files "\\`[^.]"))))

(ert-deftest todo-write-a-folder-full-of-rubbish-stops-nothing ()
  (todo-write-with-store
    (dolist (name '("empty.jsonl" "words.jsonl" "bytes.jsonl"))
      (write-region (cdr (assoc name '(("empty.jsonl" . "") ("words.jsonl" . "hello\n")
                                       ("bytes.jsonl" . "\0\1\2\n\n"))))
                    nil (expand-file-name name todo-write-directory) nil 'silent))
    (make-directory (expand-file-name "folder.jsonl" todo-write-directory))
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
                (should (directory-files folder nil "\\.jsonl\\'"))))
          (ignore-errors (delete-directory folder t)))))))

(provide 'todo-write-journal-tests)
;;; todo-write-journal-tests.el ends here
