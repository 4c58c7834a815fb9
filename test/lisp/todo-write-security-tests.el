;;; todo-write-security-tests.el --- What agent text must not do  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Tests of the claims in doc/security.md that no other file tests.  They also
;; check that the tests named there exist.

;;; Code:

(require 'ert)
(require 'bookmark)
(require 'cl-lib)
(require 'desktop)
(require 'org)
(require 'todo-write-view-test-helper)
(require 'todo-write-history)
(require 'todo-write-notify)
(require 'todo-write-visit)
(require 'efrit-do)

(defvar todo-write-security-tests--ran nil
  "Non-nil once agent text has been evaluated.")

(defconst todo-write-security-tests--live
  '("[[elisp:(setq todo-write-security-tests--ran t)][Click]]"
    "elisp:ding" "<shell:true>"
    "<elisp:(setq todo-write-security-tests--ran t)>"
    "shell:true"
    "src_emacs-lisp{(setq todo-write-security-tests--ran t)}"
    "call_name()" "{{{modification-time(%Y)}}}" "@@html:<script>@@" "<<target>>" "x[fn:x]"
    "<%%(setq todo-write-security-tests--ran t)>" "<2026-01-01>" "\\input{/etc/passwd}"
    "\\(x\\)" "file:/etc/passwd" "(help:car)" "<help: car>" "[cite:@x]"
    "<<%%(setq todo-write-security-tests--ran t)>" "{{{{x}}}" "x[[fn:x]" "<<<x>>>")
  "Texts with active Org syntax.")

(defun todo-write-security-tests--org-types (text)
  "Return the types of the active objects in the Org text TEXT."
  (with-temp-buffer
    (let ((org-inhibit-startup t) (org-mode-hook nil))
      (insert text)
      (org-mode)
      (org-element-map (org-element-parse-buffer)
          '(link inline-src-block inline-babel-call macro export-snippet target radio-target
                 footnote-reference citation src-block property-drawer babel-call
                 timestamp latex-fragment)
        #'org-element-type))))

(ert-deftest todo-write-check-list-is-inert-in-org ()
  (todo-write-test-with-shapes
    (apply #'todo-write-test-write "a" todo-write-security-tests--live)
    (dolist (text todo-write-security-tests--live)
      (ert-info (text)
        (should (todo-write-security-tests--org-types text))))
    (should-not (todo-write-security-tests--org-types (todo-write-check-list "a" 'org)))
    (should-not todo-write-security-tests--ran)))

(ert-deftest todo-write-check-list-has-a-line-for-each-task-whatever-is-in-it ()
  (todo-write-test-with-shapes
    (todo-write-test-write "a" "x\n#+begin_src sh\ntrue\n#+end_src" "y\n* Heading\n:PROPERTIES:")
    (dolist (format '(org markdown))
      (should (= 2 (cl-count ?\n (todo-write-check-list "a" format)))))))

(ert-deftest todo-write-log-shows-invisible-characters-of-a-tool-call-as-escapes ()
  (todo-write-test-with-shapes
    (save-window-excursion
      (todo-write-observe "a" "TOOL_CALL" '(:name "one\u202e" :input "{\"x\":\"two\\u200b\"}"))
      (with-current-buffer (todo-write-log "a")
        (goto-char (point-min))
        (todo-write-buffer-visit)
        (kill-buffer))
      (with-current-buffer "*todo-write-observation*"
        (should (string-search "\"one\\u202e\"" (buffer-string)))
        (should (string-search "\"x\": \"two\\u200b\"" (buffer-string)))
        (kill-buffer)))))

;; Emacs reads bookmarks as Lisp data and evaluates desktop files.
(ert-deftest todo-write-bookmarks-and-desktops-hold-only-names ()
  (todo-write-test-with-shapes
    (let ((key "a\")) (setq todo-write-security-tests--ran t) ((\""))
      (todo-write-observe key "TITLE" "\u202e#.(setq todo-write-security-tests--ran t)")
      (todo-write-test-write key (propertize "One" 'keymap (make-sparse-keymap)))
      (with-current-buffer (todo-write-show key)
        (todo-write-view-goto (todo-write-test-id key "One"))
        (let ((bookmark (bookmark-make-record)))
          (should (equal bookmark (read (prin1-to-string bookmark))))
          (should (equal (cons "\\u202e#.(setq todo-write-security-tests--ran t)"
                               `((thread . ,key) (item . "t1")
                                 (handler . todo-write-bookmark-jump)))
                         (seq-take bookmark 4))))
        (should (equal key (eval (read (desktop-value-to-string
                                        (funcall desktop-save-buffer "/")))
                                 t)))))
    (should-not todo-write-security-tests--ran)))

(ert-deftest todo-write-bookmarks-and-desktops-from-others-open-nothing-but-plans ()
  (todo-write-test-with-shapes
    (dolist (key '("../../etc/passwd" "/ssh:host.invalid:/x" "(ding)"))
      (should-error (todo-write-bookmark-jump `("x" (thread . ,key) (item . "t1")))
                    :type 'user-error)
      (should-not (todo-write-bookmark-restore nil "x" key)))
    (dolist (key '(nil 7 (setq todo-write-security-tests--ran t) [1]))
      (should-error (todo-write-bookmark-jump `("x" (thread . ,key))))
      (ignore-error todo-write-error
        (should-not (todo-write-bookmark-restore nil "x" key))))
    (should-not (or todo-write-security-tests--ran (todo-write-threads)))))

(ert-deftest todo-write-notify-escapes-markup-for-desktops-that-take-it ()
  (require 'notifications)
  (skip-unless (featurep 'dbusbind))
  (let (sent)
    (cl-letf (((symbol-function 'notifications-get-capabilities)
               (lambda (&rest _) '(:body :body-markup)))
              ((symbol-function 'notifications-notify)
               (lambda (&rest note) (setq sent (plist-get note :body)) 1)))
      (should (functionp (todo-write-notify-default "a" "T" "<a href=\"x\">&</a>")))
      (should (equal sent "&lt;a href=&quot;x&quot;&gt;&amp;&lt;/a&gt;")))))

(ert-deftest efrit-do-reads-no-file-of-another-host-or-user ()
  (let ((asked nil))
    (cl-letf (((symbol-function 'tramp-file-name-handler)
               (lambda (&rest _) (setq asked t) nil)))
      (dolist (path '("/ssh:nobody@host.invalid:/etc/passwd" "/sudo::/etc/shadow"
                      "/ssh:host.invalid|sudo::/x"))
        (should (plist-get (efrit-do-execute-tool "read_file" (list :path path)) :is-error))))
    (should-not asked)))

(ert-deftest efrit-do-unpacks-and-decrypts-no-file ()
  (let ((file (let ((file-name-handler-alist nil)) ; or Emacs would encrypt it
                (make-temp-file "secret" nil ".gpg" "plain"))))
    (unwind-protect
        (cl-letf (((symbol-function 'epa-file-handler) (lambda (&rest _) (error "Decrypted"))))
          (should (equal "plain" (plist-get (efrit-do-execute-tool
                                             "read_file" (list :path file))
                                            :content))))
      (delete-file file))))

(ert-deftest efrit-do-makes-a-buffer-in-no-mode-that-could-obey-the-text ()
  (efrit-do-execute-tool "buffer_create" '(:name "x\u202ey.org" :content "#+SETUPFILE: /no/such\n"))
  (with-current-buffer "x\\u202ey.org"
    (should (eq major-mode 'fundamental-mode))
    (should (equal (buffer-string) "#+SETUPFILE: /no/such\n"))
    (kill-buffer)))

(ert-deftest efrit-do-runs-nothing-of-a-script-that-needs-consent-in-batch ()
  (todo-write-with-store
    (let* ((efrit-do-confirm 'tool)
           (outcome (efrit-do-run
                     "x" :backend 'replay :speed 0
                     :script '(:turns (((:tool "eval_sexp"
                                         :input (:expr "(setq todo-write-security-tests--ran t)"))
                                        (:tool "shell_exec" :input (:command "true"))))))))
      (should (equal '(t t) (mapcar (lambda (result) (and (plist-get result :is-error) t))
                                    (plist-get outcome :tool-results))))
      (should-not todo-write-security-tests--ran))))

(defun todo-write-security-tests--all ()
  "Return a hash table whose keys are the names of all tests."
  (let ((root (getenv "TODO_WRITE_ROOT")) (known (make-hash-table :test #'equal)))
    (dolist (file (append (directory-files (expand-file-name "test/lisp" root) t "\\.el\\'")
                          (directory-files (expand-file-name "test/hosts" root) t "\\.el\\'")
                          (directory-files-recursively (expand-file-name "src" root) "\\.rs\\'")
                          (directory-files-recursively (expand-file-name "agents/src" root) "\\.rs\\'")
                          (directory-files-recursively (expand-file-name "agents/test" root) "\\.rs\\'")
                          (directory-files-recursively (expand-file-name "test/rust" root) "\\.rs\\'")))
      (with-temp-buffer
        (insert-file-contents file)
        (while (re-search-forward
                (concat "^(ert-deftest \\([^ ]+\\)"
                        "\\|#\\[test\\b.*\n\\(?: *#\\[.*\n\\)*"
                        " *fn \\([a-z0-9_]+\\)")
                nil t)
          (puthash (or (match-string 1) (match-string 2)) t known))))
    known))

(ert-deftest todo-write-each-promise-names-tests-that-exist ()
  (let ((known (todo-write-security-tests--all)))
    (dolist (file '("doc/security.md" "doc/reliability.md"))
      (with-temp-buffer
        (insert-file-contents (expand-file-name file (getenv "TODO_WRITE_ROOT")))
        (let ((promises 0))
          (while (re-search-forward "^- .*?(tests?: \\([^)]+\\))$\\|^- " nil t)
            (cl-incf promises)
            (should (match-beginning 1))
            (dolist (name (split-string (match-string 1) "[`, ]+" t))
              (should (equal (list name t) (list name (gethash name known))))))
          (should (< 15 promises)))))))

(provide 'todo-write-security-tests)
;;; todo-write-security-tests.el ends here
