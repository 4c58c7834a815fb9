;;; todo-write-full-disk-e2e-tests.el --- A full disk and a user who leaves  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The journals of a real Emacs in a terminal are on a disk of 64 KiB that fills up.
;; The disk is a tmpfs that only this Emacs sees, which needs no rights on most
;; systems with Linux; elsewhere these tests are skipped.

;;; Code:

(require 'ert)
(require 'todo-write-user-helper)

(defvar todo-write-full-disk-tests--copy nil
  "The folder to which the user's Emacs copies its journals when it ends.")

(defun todo-write-full-disk-tests--with-full-disk (function)
  "Call FUNCTION after the user's Emacs has written lists to a full disk."
  (let* ((disk (file-name-as-directory (make-temp-file "disk" t)))
         (fill (concat disk "fill"))
         (todo-write-full-disk-tests--copy (concat (make-temp-file "copy" t) "/journals"))
         (todo-write-user-prefix
          `("unshare" "-rm" "sh" "-c"
            "mount -t tmpfs -o size=64k none \"$0\" && exec \"$@\"" ,disk)))
    (unwind-protect
        (progn
          (unless (and (executable-find "unshare")
                       (eql 0 (apply #'call-process "unshare" nil nil nil
                                     (append (cdr todo-write-user-prefix) '("true")))))
            (ert-skip "No disk of its own can be made for an Emacs here"))
          (todo-write-user-call
           24 100
           (lambda ()
             (todo-write-user-eval
              '(require 'todo-write-view)
              `(setq todo-write-directory ,(concat disk "journals"))
              '(todo-write "a" '(:todos [(:content "First" :status "pending")]))
              `(ignore-error file-error
                 (write-region (make-string 70000 ?x) nil ,fill nil 'silent))
              ;; What the journal's last page has room for still succeeds.
              '(dotimes (n 40)
                 (todo-write "a" `(:todos [(:content ,(format "Task %d %s" n (make-string 200 ?x))
                                            :status "pending")])))
              `(add-hook 'kill-emacs-hook
                         (lambda () (copy-directory ,(concat disk "journals")
                                                    ,todo-write-full-disk-tests--copy))
                         90)
              '(switch-to-buffer (todo-write-show "a"))
              '(redisplay t)
              t)
             (funcall function fill))))
      (delete-directory disk t)
      (delete-directory (file-name-directory todo-write-full-disk-tests--copy) t))))

(defun todo-write-full-disk-tests--saved-p ()
  "Return non-nil if the journals that the user's Emacs left have the last task."
  (and (file-directory-p todo-write-full-disk-tests--copy)
       (with-temp-buffer
         (dolist (file (todo-write-test-segments todo-write-full-disk-tests--copy))
           (insert-file-contents file))
         (string-search "Task 39 " (buffer-string)))))

(defun todo-write-full-disk-tests--question ()
  "Return the question in the minibuffer of the user's Emacs, or nil."
  (todo-write-user-eval
   '(and (active-minibuffer-window)
         (with-current-buffer (window-buffer (active-minibuffer-window))
           (buffer-substring-no-properties (point-min) (minibuffer-prompt-end))))))

(ert-deftest todo-write-leaving-emacs-with-a-full-disk-asks-and-later-saves ()
  (todo-write-full-disk-tests--with-full-disk
   (lambda (fill)
     (ert-info ("One warning, and the plan says so")
       (should (todo-write-user-eval
                '(with-current-buffer "*Warnings*"
                   (and (= 1 (count-matches "No space left" (point-min) (point-max)))
                        (= 1 (count-matches "goes on in memory" (point-min) (point-max)))))))
       (should (todo-write-user-eval
                '(with-current-buffer todo-write-view-buffer-name
                   (string-search "not saved" (buffer-string))))))
     (ert-info ("Leaving asks, and no keeps Emacs")
       (todo-write-user-type "\C-x\C-c")
       (should (string-prefix-p "1 plan of an agent cannot be saved; exit anyway? "
                                (todo-write-test-wait #'todo-write-full-disk-tests--question)))
       (todo-write-user-type "no\r")
       (todo-write-test-wait (lambda () (not (todo-write-full-disk-tests--question))))
       (should-not (todo-write-full-disk-tests--saved-p)))
     (ert-info ("With room on the disk, leaving saves and asks nothing")
       (todo-write-user-eval `(delete-file ,fill) t)
       (process-send-string todo-write-user-process "\C-x\C-c")
       (todo-write-test-wait (lambda () (not (process-live-p todo-write-user-process))))
       (should (eql 0 (process-exit-status todo-write-user-process)))
       (should (todo-write-full-disk-tests--saved-p))))))

(ert-deftest todo-write-a-signal-that-ends-emacs-saves-what-can-be-saved-then ()
  (todo-write-full-disk-tests--with-full-disk
   (lambda (fill)
     (let ((pid (todo-write-user-eval '(emacs-pid))))
       (todo-write-user-eval `(delete-file ,fill) t)
       (signal-process pid 'SIGTERM)
       (todo-write-test-wait (lambda () (not (process-live-p todo-write-user-process))))
       (should (todo-write-full-disk-tests--saved-p))))))

(provide 'todo-write-full-disk-e2e-tests)
;;; todo-write-full-disk-e2e-tests.el ends here
