;;; todo-write-panic-e2e-tests.el --- Panics in the module  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A panic in the module becomes the Lisp error `todo-write-panic' and damages
;; nothing.  Cargo builds a module that panics on request, at each
;; `may_panic_here' of the sources.  Other Emacs processes load it and run
;; todo-write-panic-helper.el.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-get)
(require 'todo-write-panic-helper)
(require 'todo-write-test-helper)

(defconst todo-write-panic-tests--root (getenv "TODO_WRITE_ROOT")
  "The repository.")

(defun todo-write-panic-tests--build (folder)
  "Put a module that can panic into FOLDER; skip the test without cargo."
  (let ((default-directory (file-name-as-directory todo-write-panic-tests--root))
        (cargo (todo-write-get--cargo))
        (process-environment (cons "CARGO_PROFILE_DEV_DEBUG=0" process-environment)))
    (unless cargo (ert-skip "no cargo"))
    (with-temp-buffer
      ;; In another target folder, so that `make' never installs this module.
      (unless (eql 0 (call-process cargo nil t nil "build" "--quiet" "--locked" "--lib"
                                   "--features" "panic-injection"
                                   "--target-dir" "target/panic"))
        (ert-fail (buffer-string))))
    (copy-file (car (directory-files "target/panic/debug" t
                                     "\\`\\(lib\\)?todo_write\\.\\(so\\|dylib\\|dll\\)\\'"))
               (expand-file-name (concat "todo-write-dyn" module-file-suffix) folder))))

(defun todo-write-panic-tests--emacs (folder assertions &rest forms)
  "Return the object that FORMS print in an Emacs with the module in FOLDER.
If ASSERTIONS is non-nil, it runs with module assertions.  Fail if it
prints anything else to standard output or standard error."
  (with-temp-buffer
    (pcase-let* ((`(,emacs . ,arguments)
                  (apply #'todo-write-test-emacs
                         `(setq todo-write-module-directory ,folder)
                         `(push ,(expand-file-name "test/lisp" todo-write-panic-tests--root)
                                load-path)
                         '(require 'todo-write-panic-helper)
                         forms))
                 (status (apply #'call-process emacs nil t nil
                                (append (and assertions '("--module-assertions"))
                                        arguments))))
      (unless (eql status 0)
        (ert-fail (format "Emacs ended with %s: %s" status (buffer-string))))
      (goto-char (point-min))
      (prog1 (read (current-buffer))
        (should (looking-at "[ \n]*\\'"))))))

(defun todo-write-panic-tests--places ()
  "Return the places where the sources may panic, as sorted FILE:LINE."
  (let ((default-directory (file-name-as-directory todo-write-panic-tests--root))
        places)
    (dolist (file (directory-files-recursively "src" "\\.rs\\'"))
      (with-temp-buffer
        (insert-file-contents file)
        (while (re-search-forward "^ *may_panic_here();$" nil t)
          (push (format "%s:%d" file (line-number-at-pos)) places))))
    (sort places #'string<)))

(defun todo-write-panic-tests--place (condition)
  "Return the place in CONDITION, a signalled error."
  (pcase condition
    (`(todo-write-panic ,(and text (pred stringp)))
     (should (string-match "\\`internal error of todo-write: an injected panic at \\([^ ]+\\)\\. "
                           text))
     (match-string 1 text))
    (_ (ert-fail (format "%S is no panic's error" condition)))))

(defun todo-write-panic-tests--check (conditions)
  "Fail unless CONDITIONS are panics at all places."
  (should (equal (sort (delete-dups (mapcar #'todo-write-panic-tests--place conditions))
                       #'string<)
                 (todo-write-panic-tests--places)))
  (message "%d panics of the module in Emacs %s, at %d places: no list harmed"
           (length conditions) emacs-version (length (todo-write-panic-tests--places))))

(ert-deftest todo-write-a-panic-is-an-error-and-harms-no-list ()
  (let ((folder (file-name-as-directory (make-temp-file "todo-write-panic" t))))
    (unwind-protect
        (progn
          (todo-write-panic-tests--build folder)
          (dolist (assertions '(nil t))
            (todo-write-with-store
              (pcase-let ((`(,conditions ,history)
                           (todo-write-panic-tests--emacs
                            folder assertions
                            '(prin1 (list (todo-write-panic-everywhere)
                                          (todo-write-panic-history))))))
                (todo-write-panic-tests--check conditions)
                (ert-info ("The journals have the same lists and no damage")
                  (let (replayed)
                    (should-not (todo-write-test-warnings
                                  (setq replayed (todo-write-panic-history))))
                    (should (equal replayed history)))))))
          (ert-info ("Without journals")
            (let ((todo-write-directory nil))
              (should (todo-write-panic-tests--emacs
                       folder nil '(prin1 (todo-write-panic-everywhere)))))))
      (todo-write-test-delete folder))))

(ert-deftest todo-write-a-panic-ends-following-one-session-at-most ()
  :tags '(:thorough)
  (let ((folder (file-name-as-directory (make-temp-file "todo-write-panic" t))))
    (unwind-protect
        (todo-write-with-store
          (todo-write-panic-tests--build folder)
          (let ((ended (todo-write-panic-tests--emacs
                        folder nil '(prin1 (todo-write-panic-follow)))))
            (message "%d panics while sessions were followed" (length ended))
            (should (equal '(0 1) (sort (delete-dups ended) #'<)))))
      (todo-write-test-delete folder))))

(ert-deftest todo-write-the-shipped-module-cannot-be-told-to-panic ()
  (should (featurep 'todo-write-dyn))
  (should-not (fboundp 'todo-write-dyn--panic-at)))

(provide 'todo-write-panic-e2e-tests)
;;; todo-write-panic-e2e-tests.el ends here
