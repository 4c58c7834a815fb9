;;; efrit-do-tests.el --- Tests of the tools of efrit-do -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests check the result of each tool, and which calls need the user's
;; consent.  They all use `efrit-do-execute-tool'.

;;; Code:

(require 'ert)
(require 'todo-write-test-helper)
(require 'efrit-do)

(defmacro efrit-do-tests--with-tools (&rest body)
  "Run BODY with an empty store, a folder to work in, and no questions asked."
  (declare (indent 0) (debug t))
  `(todo-write-with-store
     (let* ((default-directory (file-name-as-directory
                                (make-temp-file "efrit-do" t)))
            (efrit-do-tools efrit-do-tools)
            (efrit-do-context (efrit-do-make-context :thread "a"))
            (efrit-do-confirm nil))
       (unwind-protect (progn ,@body)
         (delete-directory default-directory t)))))

(defun efrit-do-tests--ok (name input)
  "Return the content of the tool NAME for INPUT; fail if it is an error."
  (let ((outcome (efrit-do-execute-tool name input)))
    (when (plist-get outcome :is-error)
      (ert-fail (plist-get outcome :content)))
    (plist-get outcome :content)))

(defun efrit-do-tests--error (name input)
  "Return the content of the tool NAME for INPUT; fail unless it is an error."
  (let ((outcome (efrit-do-execute-tool name input)))
    (should (plist-get outcome :is-error))
    (plist-get outcome :content)))

(defun efrit-do-tests--file (name content)
  "Write CONTENT to the file NAME, and return NAME."
  (let ((coding-system-for-write 'no-conversion))
    (write-region content nil name nil 'silent))
  name)

;;; The registry

(ert-deftest efrit-do-names-its-tools-when-one-is-unknown ()
  (efrit-do-tests--with-tools
    (let ((text (efrit-do-tests--error "fly" '(:to "moon"))))
      (dolist (name (cons "fly" (efrit-do-tool-names)))
        (should (string-search name text))))))

(ert-deftest efrit-do-offers-a-tool-of-the-user ()
  (efrit-do-tests--with-tools
    (efrit-do-register-tool
     :name "add" :description "Add."
     :args '((:name "a" :type "number") (:name "b" :type "number" :optional t))
     :function (lambda (a b) (+ a (or b 1))))
    (should (equal (car (last (efrit-do-tool-names))) "add"))
    (should (equal (efrit-do-tests--ok "add" '(:a 2 :b 3)) "5"))
    (should (equal (efrit-do-tests--ok "add" '(:a 2)) "3"))))

(ert-deftest efrit-do-replaces-a-tool-of-the-same-name ()
  (efrit-do-tests--with-tools
    (let ((names (efrit-do-tool-names)))
      (efrit-do-register-tool :name "read_file" :function (lambda () "mine"))
      (should (equal (sort (efrit-do-tool-names) #'string<) (sort names #'string<)))
      (should (equal (efrit-do-tests--ok "read_file" nil) "mine")))))

;;; Calls

(ert-deftest efrit-do-tools-do-what-they-are-called-with ()
  (efrit-do-tests--with-tools
    (efrit-do-tests--file "f" "one\ntwo\nthree\n")
    (efrit-do-register-tool
     :name "later" :async t
     :function (lambda (answer) (run-at-time 0.01 nil answer "at last")))
    (pcase-dolist (`(,name ,input ,content)
                   '(("eval_sexp" (:expr "(list 1 \"a\")") "(1 \"a\")")
                     ("eval_sexp" (:expr "(progn (princ \"hi\") 2)") "2\nPrinted:\nhi")
                     ("eval_sexp" (:expr "3 ; a comment\n") "3")
                     ("shell_exec" (:command "ls") "f\n")
                     ("shell_exec" (:command "cat") "(no output)")
                     ("read_file" (:path "f") "one\ntwo\nthree\n")
                     ("read_file" (:path "f" :first_line 2 :last_line 2) "two\n")
                     ("read_file" (:path "f" :first_line 3) "three\n")
                     ("later" nil "at last")))
      (should (equal content (efrit-do-tests--ok name input))))))

(ert-deftest efrit-do-tools-say-why-a-call-failed ()
  (efrit-do-tests--with-tools
    (make-directory "folder")
    (efrit-do-tests--file "binary" "a\0b")
    (efrit-do-tests--file "large" (make-string 200 ?x))
    (let ((efrit-do-tools--longest-file 100))
      (pcase-dolist (`(,name ,input . ,words)
                     '(("buffer_create" (:optional t) "`name' (string), `content' (string)")
                       ("buffer_create" (:name "x" :content 3) "stringp, 3")
                       ("read_file" "{\"path\": " "arguments") ("read_file" "[1]" "arguments")
                       ("read_file" "nonsense" "arguments") ("read_file" 7 "arguments")
                       ("read_file" (1 2) "arguments")
                       ("read_file" (:path "absent") "does not exist")
                       ("read_file" (:path "folder") "directory")
                       ("read_file" (:path "binary") "binary")
                       ("read_file" (:path "large") "more than 100 bytes")
                       ("read_file" (:path "/dev/null") "not a regular file")
                       ("todo_write" "{\"todos\": [" "column")
                       ("eval_sexp" (:expr "(1") "End of file")
                       ("eval_sexp" (:expr ")") "Invalid read syntax")
                       ("eval_sexp" (:expr "#.(error \"run\")")) ("eval_sexp" (:expr "#<buffer x>"))
                       ("eval_sexp" (:expr "(error \"no %%s way\")") "no %s way")
                       ("shell_exec" (:command "echo out; echo err >&2; exit 3")
                        "out\nerr\n[exit code 3]")))
        (let ((text (efrit-do-tests--error name input)))
          (should-not (string-search "run: " text))
          (dolist (word words)
            (should (string-search word text))))))))

(ert-deftest efrit-do-reads-input-in-every-form-that-hosts-pass ()
  (efrit-do-tests--with-tools
    (efrit-do-tests--file "f" "text")
    (dolist (input (list "{\"path\": \"f\"}" '(:path "f") '((path . "f"))
                         '(("path" . "f"))
                         (let ((table (make-hash-table :test #'equal)))
                           (puthash "path" "f" table)
                           table)))
      (should (equal (efrit-do-tests--ok "read_file" input) "text")))))

;;; todo_write and session_complete

(ert-deftest efrit-do-writes-the-list-of-the-session ()
  (efrit-do-tests--with-tools
    (should (string-search "0/2" (efrit-do-tests--ok
                                  "todo_write"
                                  (todo-write-test-todos "Sweep" "Dust"))))
    (should (equal (todo-write-test-contents "a") '("Sweep" "Dust")))))

(ert-deftest efrit-do-returns-a-refusal-as-an-error-and-keeps-the-list ()
  (efrit-do-tests--with-tools
    (efrit-do-tests--ok "todo_write" (todo-write-test-todos "Sweep"))
    (should (string-search
             "blocked" (efrit-do-tests--error
                        "todo_write"
                        (todo-write-test-todos '("Sweep" "blocked")))))
    (should (equal (todo-write-test-contents "a") '("Sweep")))))

(ert-deftest efrit-do-writes-a-list-of-the-project-outside-a-session ()
  (efrit-do-tests--with-tools
    (let ((efrit-do-context nil))
      (efrit-do-tests--ok "todo_write" (todo-write-test-todos "Sweep"))
      (should (string-prefix-p (expand-file-name default-directory)
                               (todo-write-current-thread))))))

(ert-deftest efrit-do-evaluates-one-expression-and-nothing-after-it ()
  (efrit-do-tests--with-tools
    (let ((text (format "1 (write-region \"\" nil %S)"
                        (expand-file-name "evil"))))
      (should (string-search "More text"
                             (efrit-do-tests--error "eval_sexp"
                                                    (list :expr text))))
      (should-not (file-exists-p "evil")))))

(ert-deftest efrit-do-cuts-long-results-in-the-middle-and-says-how-much ()
  (efrit-do-tests--with-tools
    (let ((efrit-do-output-limit 20))
      (should (equal (efrit-do-tests--ok
                      "eval_sexp" '(:expr "(make-string 100 ?x)"))
                     (concat "\"xxxxxxxxx\n[… 82 characters left out …]\n"
                             "xxxxxxxxx\""))))))

(ert-deftest efrit-do-stops-a-command-at-the-time-limit-and-keeps-its-output ()
  (efrit-do-tests--with-tools
    (let* ((efrit-do-time-limit 30) (now 0)
           (pass (lambda (&rest _)
                   (unless (= 0 (buffer-size)) (setq now 31)))))
      (advice-add 'accept-process-output :after pass)
      (unwind-protect
          ;; The time passes when the command has printed something.
          (cl-letf (((symbol-function 'float-time) (lambda (&rest _) now)))
            (should (equal (efrit-do-tests--error
                            "shell_exec" '(:command "echo begun; sleep 1000000"))
                           "begun\n[stopped after 30 seconds]")))
        (advice-remove 'accept-process-output pass)))))

(ert-deftest efrit-do-keeps-the-ends-of-an-endless-output ()
  (efrit-do-tests--with-tools
    (let ((efrit-do-output-limit 40))
      (let ((text (efrit-do-tests--ok "shell_exec"
                                      '(:command "seq 1 100000"))))
        (should (string-prefix-p "1\n2\n3\n" text))
        (should (string-suffix-p "99999\n100000\n" text))
        (should (string-search "588855 characters left out" text))))))

(ert-deftest efrit-do-does-not-change-an-existing-buffer-of-that-name ()
  (efrit-do-tests--with-tools
    (with-current-buffer (get-buffer-create "efrit-do-test")
      (insert "mine")
      (let ((text (efrit-do-tests--ok "buffer_create"
                                      '(:name "efrit-do-test" :content "x"))))
        (should (string-search "efrit-do-test<2>" text))
        (should (equal (buffer-string) "mine"))
        (should (equal "x" (with-current-buffer "efrit-do-test<2>" (buffer-string)))))
      (kill-buffer "efrit-do-test<2>")
      (kill-buffer))))

(ert-deftest efrit-do-does-not-obey-local-variables-in-the-text-of-a-buffer ()
  (efrit-do-tests--with-tools
    (efrit-do-tests--ok "buffer_create"
                        '(:name "efrit-do-test" :content "-*- fill-column: 7 -*-\n"))
    (with-current-buffer "efrit-do-test"
      (should-not (= fill-column 7))
      (kill-buffer))))

;;; Consent

(ert-deftest efrit-do-refuses-in-batch-what-needs-consent ()
  (efrit-do-tests--with-tools
    (let ((efrit-do-confirm 'tool))
      (dolist (call '(("eval_sexp" :expr "(write-region \"\" nil \"evil\")")
                      ("shell_exec" :command "touch evil")))
        (should (string-search "consent"
                               (efrit-do-tests--error (car call) (cdr call)))))
      (should-not (file-exists-p "evil"))
      (efrit-do-tests--file "f" "text")
      (should (equal (efrit-do-tests--ok "read_file" '(:path "f")) "text")))))

(defun efrit-do-tests--asked (answer name input &optional text)
  "Call the tool NAME with INPUT for a user who answers with ANSWER and TEXT.
Return what was asked, or nil, and the content of the outcome, a cons."
  (let ((noninteractive nil)
        (inhibit-message t)
        outcome)
    (efrit-do-call-tool name input (lambda (value) (setq outcome value)))
    (let ((request (car (todo-write-requests))))
      (when request
        (todo-write-answer-request (plist-get request :thread) (plist-get request :id)
                                   answer text)
        (todo-write-test-wait (lambda () outcome)))
      (cons (plist-get request :detail) (plist-get outcome :content)))))

(ert-deftest efrit-do-waits-while-it-asks ()
  (efrit-do-tests--with-tools
    (let ((efrit-do-confirm 'tool)
          (noninteractive nil)
          (inhibit-message t))
      (efrit-do-call-tool "eval_sexp" '(:expr "1") #'ignore)
      (should (equal (todo-write-activity "a") '(waiting . "eval_sexp: 1")))
      (todo-write-withdraw "a" (plist-get (car (todo-write-requests)) :id))
      (should (equal (todo-write-activity "a") '(working))))))

(ert-deftest efrit-do-asks-once-for-a-tool-that-is-always-allowed ()
  (efrit-do-tests--with-tools
    (let ((efrit-do-confirm 'tool))
      (should (equal '("(+ 1 2)" . "3")
                     (efrit-do-tests--asked 'always "eval_sexp" '(:expr "(+ 1 2)"))))
      (should (equal '(nil . "2") (efrit-do-tests--asked 'always "eval_sexp" '(:expr "2")))))))

(ert-deftest efrit-do-tells-the-model-the-message-of-a-no ()
  (efrit-do-tests--with-tools
    (let ((efrit-do-confirm 'tool))
      (should (equal "Error: the user did not allow this call of shell_exec: Use make check"
                     (cdr (efrit-do-tests--asked 'no "shell_exec" '(:command "touch evil")
                                                 "Use make check"))))
      (should-not (file-exists-p "evil")))))

(ert-deftest efrit-do-asks-for-what-the-option-says ()
  (efrit-do-tests--with-tools
    (efrit-do-tests--file "f" "text")
    (pcase-dolist (`(,confirm . ,times)
                   '((nil . 0) (tool . 1) (t . 2) (("read_file") . 1)))
      (let ((efrit-do-confirm confirm))
        (should (= times
                   (seq-count #'car
                              (list (efrit-do-tests--asked 'yes "eval_sexp" '(:expr "1"))
                                    (efrit-do-tests--asked 'yes "read_file" '(:path "f"))))))))))

;;; Beside upstream Efrit

(ert-deftest efrit-do-does-not-load-over-another-efrit-do ()
  (dolist (taken '((provide 'efrit-do)
                   (defun efrit-do (command) command)))
    (should
     (equal (todo-write-test-child
             taken
             '(prin1 (list (condition-case problem
                               (progn (load "efrit-do" nil t) 'loaded)
                             (todo-write-error
                              (and (string-search "todo-write-efrit-mode" (cadr problem))
                                   'refused)))
                           (and (fboundp 'efrit-do) (efrit-do "x"))
                           (fboundp 'efrit-do-run))))
            (list 'refused (and (eq (car taken) 'defun) "x") t)))))

(defun efrit-do-tests--beside-efrit (&rest forms)
  "Return the value of the last of FORMS, where a small Efrit can be found.
Evaluate them in another Emacs; `autoloads' has the name of our autoloads."
  (let ((ours (make-temp-file "efrit-do" t))
        (theirs (make-temp-file "efrit" t))
        (lisp (make-temp-file "lisp" t))
        (tool (file-name-directory (locate-library "todo-write"))))
    (unwind-protect
        (cl-flet ((file (name &rest contents)
                    (with-temp-file (expand-file-name name theirs)
                      (dolist (form contents) (prin1 form (current-buffer))))))
          (dolist (file (directory-files (file-name-directory (locate-library "efrit-do-run"))
                                         t "\\`efrit-do.*\\.el\\'"))
            (copy-file file (file-name-as-directory ours)))
          ;; The folder of the tool may be that of efrit-do, too.
          (dolist (file (directory-files tool nil "\\`todo-write.*\\.\\(?:elc?\\|so\\)\\'"))
            (make-symbolic-link (expand-file-name file tool) (expand-file-name file lisp)))
          ;; Some package managers install links.
          (let ((demo (expand-file-name "demo" (file-name-directory
                                                (locate-library "efrit-do-run")))))
            (dolist (from (directory-files-recursively demo ""))
              (let ((link (expand-file-name (concat "demo/" (file-relative-name from demo)) ours)))
                (make-directory (file-name-directory link) t)
                (make-symbolic-link (file-truename from) link))))
          (file "efrit.el" '(autoload 'efrit-do "efrit-do" nil t) '(provide 'efrit))
          (file "efrit-do-dispatch.el" '(provide 'efrit-do-dispatch))
          (file "efrit-do.el" '(defun efrit-do (command) (interactive "s") (list 'theirs command))
                '(provide 'efrit-do))
          (todo-write-test-child
           '(require 'package)
           `(package-generate-autoloads "efrit-do" ,ours)
           `(setq load-path (cl-list* ,theirs ,lisp
                                      (seq-remove (lambda (folder)
                                                    (file-exists-p
                                                     (expand-file-name "efrit-do.el" folder)))
                                                  load-path)))
           `(setq autoloads ,(expand-file-name "efrit-do-autoloads" ours))
           `(prin1 (progn ,@forms))))
      (delete-directory ours t)
      (delete-directory lisp t)
      (delete-directory theirs t))))

(ert-deftest efrit-do-leaves-its-name-to-efrit-where-that-can-be-found ()
  (should (equal '(theirs "x")
                 (efrit-do-tests--beside-efrit
                  '(require 'efrit) '(load autoloads nil t) '(efrit-do "x"))))
  (should (equal '(nil t t)
                 (efrit-do-tests--beside-efrit
                  '(load autoloads nil t)
                  '(mapcar #'fboundp '(efrit-do efrit-do-demo efrit-do-run))))))

(ert-deftest efrit-do-run-and-the-demonstration-work-beside-efrit ()
  (should
   (equal '(done running (theirs "x"))
          (efrit-do-tests--beside-efrit
           '(require 'efrit) '(load autoloads nil t) '(efrit-do "x")
           '(list (plist-get (efrit-do-run "Tidy up" :backend 'replay :speed 0) :status)
                  (let ((session (efrit-do-demo)))
                    (prog1 (efrit-do-session-status session)
                      (efrit-do-cancel session)))
                  (efrit-do "x"))))))

(ert-deftest efrit-do-loads-twice-and-over-its-own-autoload ()
  (should (equal (todo-write-test-child
                  '(autoload 'efrit-do "efrit-do" nil t)
                  '(load "efrit-do" nil t)
                  '(load "efrit-do-tools" nil t)
                  '(load "efrit-do" nil t)
                  '(prin1 (featurep 'efrit-do)))
                 t)))

;;; The demonstration

(ert-deftest efrit-do-says-before-it-asks-that-only-the-demonstration-is-there ()
  (let (prompts)
    (cl-letf (((symbol-function 'read-string)
               (lambda (prompt &rest _) (push prompt prompts) (signal 'quit nil))))
      (dolist (backend '(replay gptel))
        (let ((efrit-do-backend backend))
          (condition-case nil (call-interactively #'efrit-do) (quit nil)))))
    (should (equal "Do: " (car prompts)))
    (should (string-search "only the demonstration" (cadr prompts)))))

(provide 'efrit-do-tests)
;;; efrit-do-tests.el ends here
