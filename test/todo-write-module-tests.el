;;; todo-write-module-tests.el --- Tests of loading the module  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; When the module is loaded, and what is said where it cannot be.  Each test
;; has an Emacs of its own, with a copy of the Lisp files that it may spoil.
;; Building is tested in todo-write-install-e2e-tests.el.

;;; Code:

(require 'ert)
(require 'todo-write-test-helper)

(defconst todo-write-module-tests--lisp
  (file-name-directory (locate-library "todo-write"))
  "Folder of the Lisp files and of the module under test.")

(defvar todo-write-module-tests--copy nil
  "Folder of the copy of the Lisp files.")

(defmacro todo-write-module-tests--with-copy (&rest body)
  "Evaluate BODY with a copy of the Lisp files, without the module."
  (declare (indent 0) (debug t))
  `(let ((todo-write-module-tests--copy
          (file-name-as-directory (make-temp-file "todo-write-copy" t))))
     (unwind-protect
         (progn
           (dolist (file (directory-files todo-write-module-tests--lisp t "\\.elc?\\'"))
             (copy-file file todo-write-module-tests--copy t t))
           ,@body)
       (delete-directory todo-write-module-tests--copy t))))

(defun todo-write-module-tests--home (tool)
  "Return the folder where TOOL, cargo or rustup, keeps the user's things."
  (or (getenv (concat (upcase tool) "_HOME"))
      (expand-file-name (concat "~/." tool))))

(defun todo-write-module-tests--emacs (&rest forms)
  "Evaluate FORMS in an Emacs that has the copy; return what the last one does.
An error is returned as its message."
  (let ((environment (append (list (concat "HOME=" todo-write-module-tests--copy)
                                   (concat "CARGO_HOME=" (todo-write-module-tests--home "cargo"))
                                   (concat "RUSTUP_HOME=" (todo-write-module-tests--home "rustup")))
                             process-environment)))
    (with-temp-buffer
      (let ((process-environment environment))
        (should
         (eql 0 (call-process
                 (expand-file-name invocation-name invocation-directory)
                 nil '(t nil) nil "-Q" "--batch" "-L" todo-write-module-tests--copy
                 "--eval" "(setq native-comp-jit-compilation nil debug-on-error nil)"
                 "--eval" (prin1-to-string
                           `(prin1 (condition-case err
                                       (progn (require 'todo-write) ,@forms)
                                     (error (error-message-string err)))))))))
      (goto-char (point-min))
      (read (current-buffer)))))

(defun todo-write-module-tests--file ()
  "Return the file name of the module under test."
  (locate-file "todo-write-dyn" (list todo-write-module-tests--lisp)
               (list module-file-suffix)))

(defun todo-write-module-tests--put (folder &optional version)
  "Put the module into FOLDER, marked as one of VERSION; return its name there."
  (let ((file (expand-file-name (concat "todo-write-dyn" module-file-suffix) folder))
        (coding-system-for-write 'binary))
    (make-directory folder t)
    (with-temp-buffer
      (set-buffer-multibyte nil)
      (insert-file-contents-literally (todo-write-module-tests--file))
      (when version
        (search-forward "todo-write-dyn version ")
        (should (looking-at "[^;]+;"))
        (should (= (length version) (- (match-end 0) (match-beginning 0) 1)))
        (replace-match (concat version ";") t t))
      (write-region nil nil file nil 'silent))
    file))

(ert-deftest todo-write-module-is-loaded-by-the-first-call ()
  (should (equal (todo-write-test-child
                  '(prin1 (list (featurep 'todo-write-dyn)
                                (progn (require 'todo-write-mode-line)
                                       (todo-write-mode-line-mode)
                                       (todo-write-current-thread)
                                       (featurep 'todo-write-dyn))
                                (todo-write-state "a")
                                (featurep 'todo-write-dyn))))
                 '(nil nil empty t))))

(ert-deftest todo-write-module-every-first-call-loads-it ()
  (dolist (call '((todo-write "a" "{\"todos\":[]}") (todo-write-items "a")
                  (todo-write-diff nil nil) (todo-write-apply-changes nil nil)
                  (todo-write-token-context nil nil) (todo-write-threads)
                  (todo-write-to-json (list :ok t)) (todo-write-undo "a")
                  (todo-write-observations "a") (todo-write-prune)
                  (todo-write-stream "a" :type "TOKEN" :data "b")))
    (should (equal (todo-write-test-child
                    `(let ((todo-write-directory nil))
                       (condition-case err ,call
                         (todo-write-input-error nil)
                         (todo-write-error
                          (unless (string-search "undo" (error-message-string err))
                            (signal (car err) (cdr err)))))
                       (prin1 (featurep 'todo-write-dyn))))
                   t))))

(ert-deftest todo-write-module-missing-says-how-to-build-it ()
  (todo-write-module-tests--with-copy
    (should (string-match-p
             "not built yet.*its Rust sources are not beside the Lisp files.*prebuilt"
             (todo-write-module-tests--emacs '(todo-write-state "a"))))
    (todo-write-module-tests--sources)
    (should (string-match-p
             "not built yet.  Build it by .M-x todo-write-module-build"
             (todo-write-module-tests--emacs '(todo-write-state "a"))))))

(defun todo-write-module-tests--sources ()
  "Put the sources of the module beside the copy of the Lisp files."
  (dolist (name '("Cargo.toml" "Cargo.lock"))
    (copy-file (expand-file-name name (getenv "TODO_WRITE_ROOT"))
               todo-write-module-tests--copy))
  (copy-directory (expand-file-name "src" (getenv "TODO_WRITE_ROOT"))
                  (concat todo-write-module-tests--copy "src")))

(ert-deftest todo-write-module-without-cargo-says-what-to-get ()
  (todo-write-module-tests--with-copy
    (todo-write-module-tests--sources)
    (should (string-match-p
             "cargo is missing; get Rust from https://rustup.rs"
             (todo-write-module-tests--emacs
              '(setenv "CARGO_HOME" "/nowhere")
              '(setq exec-path nil)
              '(todo-write-state "a"))))))

(ert-deftest todo-write-module-with-a-broken-cargo-says-what-it-says ()
  (todo-write-module-tests--with-copy
    (todo-write-module-tests--sources)
    (let ((cargo (concat todo-write-module-tests--copy "cargo")))
      (with-temp-file cargo
        (insert "#!/bin/sh\necho 'error: no toolchain' >&2\nexit 1\n"))
      (set-file-modes cargo #o700))
    (should (string-match-p
             "cargo says .*error: no toolchain"
             (todo-write-module-tests--emacs
              `(push ,todo-write-module-tests--copy exec-path)
              '(todo-write-state "a"))))))

(ert-deftest todo-write-module-with-old-rust-says-which-is-needed ()
  (todo-write-module-tests--with-copy
    (todo-write-module-tests--sources)
    (let ((toml (concat todo-write-module-tests--copy "Cargo.toml")))
      (with-temp-file toml
        (insert-file-contents toml)
        (re-search-forward "^rust-version = \"\\([^\"]+\\)\"")
        (replace-match "999.0" t t nil 1)))
    (should (string-match-p
             "Rust is [0-9.]+ and must be 999.0 or later"
             (todo-write-module-tests--emacs '(todo-write-state "a"))))))

(ert-deftest todo-write-module-of-another-version-is-not-loaded ()
  (todo-write-module-tests--with-copy
    (let ((file (todo-write-module-tests--put todo-write-module-tests--copy "9.9.9")))
      ;; It came before the Lisp files, as with an upgrade.
      (set-file-times file 0)
      (should (equal (todo-write-module-file-version file) "9.9.9"))
      (pcase-let ((`(,text ,loaded)
                   (todo-write-module-tests--emacs
                    '(list (condition-case err (todo-write-state "a")
                             (error (error-message-string err)))
                           (featurep 'todo-write-dyn)))))
        (should (string-match-p "is version 9.9.9, the Lisp files are" text))
        (should-not loaded)))))

(ert-deftest todo-write-module-loaded-before-an-upgrade-needs-a-restart ()
  (todo-write-module-tests--with-copy
    (todo-write-module-tests--put todo-write-module-tests--copy)
    (delete-file (concat todo-write-module-tests--copy "todo-write-module.elc"))
    (let ((lisp (concat todo-write-module-tests--copy "todo-write-module.el")))
      (pcase-let ((`(,before ,after)
                   (todo-write-module-tests--emacs
                    '(list (todo-write-state "a")
                           (progn
                             (with-temp-file (locate-library "todo-write-module.el")
                               (insert-file-contents (locate-library "todo-write-module.el"))
                               (re-search-forward "defconst todo-write-version \"\\([^\"]+\\)")
                               (replace-match "9.9.9" t t nil 1))
                             (load "todo-write-module" nil t)
                             (load "todo-write-core" nil t)
                             (condition-case err (todo-write-state "a")
                               (error (error-message-string err))))))))
        (should (eq before 'empty))
        (should (file-exists-p lisp))
        (should (string-match-p "the Lisp files are 9.9.9; .*restart Emacs" after))))))

(ert-deftest todo-write-module-directory-may-hold-a-prebuilt-one ()
  (todo-write-module-tests--with-copy
    (todo-write-module-tests--put (concat todo-write-module-tests--copy "prebuilt"))
    (should (eq 'empty
                (todo-write-module-tests--emacs
                 `(setq todo-write-module-directory
                        ,(concat todo-write-module-tests--copy "prebuilt"))
                 '(todo-write-state "a"))))))

(ert-deftest todo-write-module-sources-are-found-through-links ()
  (todo-write-module-tests--with-copy
    (todo-write-module-tests--sources)
    (let ((links (make-temp-file "todo-write-links" t)))
      (unwind-protect
          (progn
            (dolist (file (directory-files todo-write-module-tests--copy t "\\.el\\'"))
              (make-symbolic-link
               file (expand-file-name (file-name-nondirectory file) links)))
            (should (equal (todo-write-module-tests--emacs
                            `(push ,links load-path)
                            '(load "todo-write-module" nil t)
                            '(list (todo-write-module-sources)
                                   (todo-write-module-folder)
                                   todo-write-module--lisp))
                           (list (file-truename todo-write-module-tests--copy)
                                 (file-truename todo-write-module-tests--copy)
                                 (file-name-as-directory links)))))
        (delete-directory links t)))))

(ert-deftest todo-write-module-and-all-files-have-one-version ()
  (let ((root (getenv "TODO_WRITE_ROOT")))
    (pcase-dolist (`(,file ,regexp)
                   '(("Cargo.toml" "^version = \"\\([^\"]+\\)\"")
                     ("Cargo.lock" "^name = \"todo-write\"\nversion = \"\\([^\"]+\\)\"")
                     ("lisp/todo-write.el" "^;; Version: \\(.+\\)$")
                     ("CHANGELOG.org" "^\\* \\([0-9.]+\\)")))
      (with-temp-buffer
        (insert-file-contents (expand-file-name file root))
        (should (re-search-forward regexp nil t))
        (should (equal (cons file (match-string 1))
                       (cons file todo-write-version))))))
  (should (equal (todo-write-module-file-version (todo-write-module-tests--file))
                 todo-write-version))
  (should (equal todo-write-dyn--version todo-write-version)))

(provide 'todo-write-module-tests)
;;; todo-write-module-tests.el ends here
