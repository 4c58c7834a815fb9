;;; todo-write-copy-helper.el --- A copy of the package for a test  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Copies of the Lisp files, the module and its sources in a new home, which a
;; test may damage, and Emacs processes that use them.

;;; Code:

(require 'ert)

(defconst todo-write-copy--lisp
  (file-name-directory (locate-library "todo-write"))
  "Folder of the Lisp files and of the module under test.")

(defvar todo-write-copy-folder nil
  "Folder of the copy of the Lisp files.")

(defmacro todo-write-copy-with (&rest body)
  "Evaluate BODY with a copy of the Lisp files, without the module."
  (declare (indent 0) (debug t))
  `(let ((todo-write-copy-folder
          (file-name-as-directory (make-temp-file "todo-write-copy" t))))
     (unwind-protect
         (progn
           (dolist (file (directory-files todo-write-copy--lisp t "\\.elc?\\'"))
             (copy-file file todo-write-copy-folder t t))
           ,@body)
       (delete-directory todo-write-copy-folder t))))

(defun todo-write-copy--home (tool)
  "Return the user's folder of TOOL, cargo or rustup."
  (or (getenv (concat (upcase tool) "_HOME"))
      (expand-file-name (concat "~/." tool))))

(defun todo-write-copy-emacs (&rest forms)
  "Evaluate FORMS in an Emacs with the copy; return the value of the last one.
Return an error as its message."
  (let ((environment (append (list (concat "HOME=" todo-write-copy-folder)
                                   (concat "CARGO_HOME=" (todo-write-copy--home "cargo"))
                                   (concat "RUSTUP_HOME=" (todo-write-copy--home "rustup")))
                             process-environment)))
    (with-temp-buffer
      (let ((process-environment environment))
        (should
         (eql 0 (call-process
                 (expand-file-name invocation-name invocation-directory)
                 nil '(t nil) nil "-Q" "--batch" "-L" todo-write-copy-folder
                 "--eval" "(setq native-comp-jit-compilation nil debug-on-error nil)"
                 "--eval" "(setq native-comp-deferred-compilation nil)"
                 "--eval" (prin1-to-string
                           `(prin1 (condition-case err
                                       (progn (require 'todo-write) ,@forms)
                                     (error (error-message-string err)))))))))
      (goto-char (point-min))
      (read (current-buffer)))))

(defun todo-write-copy-module ()
  "Return the file name of the module under test."
  (locate-file "todo-write-dyn" (list todo-write-copy--lisp)
               (list module-file-suffix)))

(defun todo-write-copy-put-module (folder &optional version)
  "Put the module into FOLDER, marked as one of VERSION; return its name there."
  (let ((file (expand-file-name (concat "todo-write-dyn" module-file-suffix) folder))
        (coding-system-for-write 'binary))
    (make-directory folder t)
    (with-temp-buffer
      (set-buffer-multibyte nil)
      (insert-file-contents-literally (todo-write-copy-module))
      (when version
        (search-forward "todo-write-dyn version ")
        (should (looking-at "[^;]+;"))
        (should (= (length version) (- (match-end 0) (match-beginning 0) 1)))
        (replace-match (concat version ";") t t))
      (write-region nil nil file nil 'silent))
    (let ((program (expand-file-name "todo-write-mcp" todo-write-module-lisp)))
      (when (file-exists-p program)
        (copy-file program (expand-file-name "todo-write-mcp" folder) t)))
    file))

(defun todo-write-copy-put-sources ()
  "Put the sources of the module beside the copy of the Lisp files."
  (dolist (name '("Cargo.toml" "Cargo.lock"))
    (copy-file (expand-file-name name (getenv "TODO_WRITE_ROOT"))
               todo-write-copy-folder))
  (copy-directory (expand-file-name "src" (getenv "TODO_WRITE_ROOT"))
                  (concat todo-write-copy-folder "src")))

(provide 'todo-write-copy-helper)
;;; todo-write-copy-helper.el ends here
