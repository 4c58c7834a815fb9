;;; todo-write-install-e2e-tests.el --- Install it in an empty home  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Tries the ways of installation in todo-write-install-helper.el that need only
;; cargo and git.

;;; Code:

(require 'ert)
(require 'lisp-mnt)
(require 'todo-write-install-helper)
(require 'todo-write-module)

(defun todo-write-install-tests--try (name)
  "Try the way NAME; fail unless it builds a module that answers a call."
  (let ((way (todo-write-install-way-named name)))
    (dolist (program '("git" "make" "cargo"))
      (unless (executable-find program)
        (ert-skip (format "no %s" program))))
    (let* ((tried (todo-write-install-try way))
           (home (plist-get tried :home)))
      (dolist (session (list (plist-get tried :first) (plist-get tried :second)))
        (should-not (plist-get session :error))
        (should (equal (plist-get session :result)
                       "1/2 tasks completed. Current: Changing it."))
        (should (string-search "● Changing it" (plist-get session :plan)))
        ;; With autoloads, the init file can call other commands too.
        (should (= (length (plist-get session :commands))
                   (pcase name
                     ("A checkout, without make" 0)
                     ("use-package :vc" 1)
                     (_ 2))))
        (should (string-prefix-p home (plist-get session :module))))
      (should (eq (not (todo-write-install-way-built way))
                  (and (todo-write-install-question (plist-get tried :first)) t)))
      (should-not (todo-write-install-question (plist-get tried :second)))
      tried)))

(ert-deftest todo-write-installs-from-a-checkout-without-make ()
  (let ((tried (todo-write-install-tests--try "A checkout, without make")))
    (should (string-match-p "Compiling todo-write v.*\n +Finished"
                            (plist-get (plist-get tried :first) :cargo)))))

(ert-deftest todo-write-installs-from-a-package-file ()
  (todo-write-install-tests--try "package-install-file"))

(ert-deftest todo-write-installs-without-rust-from-a-package-with-the-module ()
  (todo-write-install-tests--try "A package with the module"))

(ert-deftest todo-write-says-that-a-checkout-needs-rust ()
  (dolist (name '("A checkout" "A checkout, without make"))
    (should (string-search "rustup.rs" (todo-write-install-without-rust
                                        (todo-write-install-way-named name))))))

;;; Contents of the packages

(defvar todo-write-install-tests--home nil
  "A home with the tar files, and todo-write installed from its own, or nil.
It is deleted with all temporary files.")

(defun todo-write-install-tests--evaluate (agent form)
  "Return the value of FORM in a batch Emacs with the package of todo-write.
AGENT non-nil installs efrit-do too, in another folder.  The packages
are made with the built module."
  (let* ((home todo-write-install-tests--home)
         (run (lambda (form)
                (todo-write-install--shell
                 home (format "%s -Q --batch --eval %s" todo-write-install-emacs
                              (shell-quote-argument (prin1-to-string form))))))
         (install (lambda (name)
                    `(package-install-file
                      ,(car (file-expand-wildcards (format "%s/%s-[0-9]*.tar" home name)))))))
    (unless home
      (setq home (file-truename (make-temp-file "todo-write-home" t)))
      (todo-write-install--shell
       home (concat "DIST=~ MODULE=1 "
                    (expand-file-name "bin/package" todo-write-install-root)))
      (funcall run `(progn (package-initialize) ,(funcall install "todo-write")))
      (setq todo-write-install-tests--home home))
    (read (funcall run `(let ((inhibit-message t))
                          ,@(when agent
                              '((require 'package)
                                (push package-user-dir package-directory-list)
                                (setq package-user-dir (expand-file-name "~/agent"))))
                          (package-initialize)
                          ,@(when agent (list (funcall install "efrit-do")))
                          (prin1 ,form))))))

(ert-deftest todo-write-package-of-a-release-lists-the-files-of-the-release ()
  (let* ((home (file-truename (make-temp-file "todo-write-home" t)))
         (todo-write-module-lisp (expand-file-name "todo-write-0.3.0/" home))
         (name (format "todo-write-dyn-%s%s" (todo-write-get--machine) module-file-suffix)))
    (unwind-protect
        (progn
          (todo-write-install--repository home)
          (make-directory (expand-file-name "release" home))
          (write-region "bytes" nil (expand-file-name (concat "release/" name) home) nil 'silent)
          (todo-write-install--shell
           home "git clone --quiet https://example.org/todo-write src && cd src &&
git remote set-url origin git@example.com:someone/plans.git &&
RELEASE=~/release DIST=~ bin/package && cd && tar xf todo-write-0.3.0.tar")
          (should (equal (todo-write-get--listed "todo-write-dyn")
                         (cons (concat "https://example.com/someone/plans/releases/download/v0.3.0/"
                                       name)
                               (secure-hash 'sha256 "bytes"))))
          (with-temp-buffer
            (insert-file-contents (expand-file-name "todo-write.el" todo-write-module-lisp))
            (should (equal (lm-header "url") "https://example.com/someone/plans"))))
      (delete-directory home t))))

(ert-deftest todo-write-alone-loads-shows-and-follows-plans ()
  (let ((value
         (todo-write-install-tests--evaluate
          nil
          `(progn
             (dolist (file (directory-files (file-name-directory (locate-library "todo-write"))
                                            nil "\\`todo-write.*\\.el\\'"))
               (unless (string-match-p "-\\(?:pkg\\|autoloads\\)\\.el\\'" file)
                 (require (intern (file-name-sans-extension file)))))
             ,todo-write-install--call
             (let ((thread (todo-write-follow
                            ,(expand-file-name "test/fixtures/transcripts/todo-write.jsonl"
                                               todo-write-install-root))))
               (list :plan (with-current-buffer "*efrit-todos*"
                             (buffer-substring-no-properties (point-min) (point-max)))
                     :followed (length (todo-write-items thread))
                     :agent (or (fboundp 'efrit-do) (locate-library "efrit-do"))))))))
    (should (string-search "Changing it" (plist-get value :plan)))
    (should (> (plist-get value :followed) 0))
    (should-not (plist-get value :agent))))

(ert-deftest efrit-do-runs-its-demonstration-from-its-own-package ()
  (should (equal (todo-write-install-tests--evaluate
                  t
                  '(let ((outcome (efrit-do-run "Do something" :speed 0)))
                     (list (plist-get outcome :status)
                           (todo-write-state (plist-get outcome :thread)))))
                 '(done done))))

;; bin/info makes the manual if it can.
(ert-deftest todo-write-package-has-the-info-manual ()
  (should (equal (and (executable-find "makeinfo") t)
                 (todo-write-install-tests--evaluate
                  nil
                  '(progn
                     (require 'info)
                     (info-initialize)
                     (and (Info-find-file "todo-write" t) t))))))

;; Older versions do not have some of these ways, or need other packages for them; the others differ
;; only in who runs make, which takes minutes.
(unless (version< emacs-version "30.1")
  (ert-deftest todo-write-installs-from-a-checkout ()
    (todo-write-install-tests--try "A checkout"))

  (ert-deftest todo-write-installs-by-make ()
    (todo-write-install-tests--try "make install"))

  (ert-deftest todo-write-installs-without-rust-from-the-package-of-a-release ()
    (let ((tried (todo-write-install-tests--try "The package of a release")))
      (should (string-search "Download it from 127.0.0.1"
                             (todo-write-install-question (plist-get tried :first))))
      (should-not (plist-get (plist-get tried :first) :cargo))))

  (ert-deftest todo-write-installs-by-package-vc ()
    (todo-write-install-tests--try "package-vc-install"))

  (ert-deftest todo-write-installs-by-use-package ()
    (todo-write-install-tests--try "use-package :vc")))

(provide 'todo-write-install-e2e-tests)
;;; todo-write-install-e2e-tests.el ends here
