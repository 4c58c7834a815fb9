;;; ccusage-checks.el --- Tokens as ccusage counts them  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Each transcript of Claude Code and Codex below TODO_WRITE_CORPUS and test/fixtures
;; is copied into a home of its own.  The tokens of its work must be those that the program ccusage
;; counts there.  ccusage.sh runs this.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'hosts-helper)
(require 'todo-write-follow)

(defun ccusage-checks--copy (file home)
  "Copy the transcript FILE into HOME; return the name of the copy, or nil.
Transcripts of other agents have none."
  (let* ((head (todo-write-transcript-describe file))
         (copy (pcase (plist-get head :host)
                 ((guard (plist-get head :agent)) nil)
                 ("codex" (concat home "/.codex/sessions/2026/01/01/rollout-"
                                  (file-name-nondirectory file)))
                 ("claude" (concat home "/.claude/projects/p/" (file-name-nondirectory file))))))
    (when copy
      ;; ccusage fails without both.
      (make-directory (concat home "/.claude/projects") t)
      (make-directory (concat home "/.codex/sessions") t)
      (make-directory (file-name-directory copy) t)
      (copy-file file copy)
      copy)))

(defun ccusage-checks--counted (home)
  "Return the tokens that ccusage counts in HOME: input, output, read, written."
  (with-temp-buffer
    (let ((process-environment (append (list (concat "CLAUDE_CONFIG_DIR=" home "/.claude")
                                             (concat "CODEX_HOME=" home "/.codex"))
                                       (hosts-environment home))))
      (should (eq 0 (call-process (expand-file-name "ccusage" hosts-bin) nil '(t nil) nil
                                  "session" "--json" "--offline" "--no-cost"))))
    (goto-char (point-min))
    (let ((sessions (plist-get (json-parse-buffer :object-type 'plist :array-type 'list)
                               :session)))
      (mapcar (lambda (key)
                (apply #'+ (mapcar (lambda (session) (or (plist-get session key) 0)) sessions)))
              '(:inputTokens :outputTokens :cacheReadTokens :cacheCreationTokens)))))

(defun ccusage-checks--recorded (file)
  "Return the tokens of the work in the transcript FILE, in the same order."
  (todo-write-with-store
    (let* ((thread (unwind-protect (todo-write-follow file) (todo-write-follow-stop)))
           (tokens (plist-get (todo-write-work thread) :tokens)))
      (mapcar (lambda (key) (or (plist-get tokens key) 0))
              '(:input :output :cacheRead :cacheWrite)))))

(ert-deftest ccusage-checks-tokens-are-those-of-ccusage ()
  (let ((compared 0) (total 0) differences)
    (dolist (file (mapcan (lambda (folder) (directory-files-recursively folder "\\.jsonl\\'"))
                          (delq nil (list (expand-file-name "test/fixtures"
                                                            (getenv "TODO_WRITE_ROOT"))
                                          (getenv "TODO_WRITE_CORPUS")))))
      (let* ((home (make-temp-file "home" t))
             (copy (ccusage-checks--copy file home)))
        (when copy
          (setq compared (1+ compared))
          (let ((counted (ccusage-checks--counted home))
                (recorded (ccusage-checks--recorded copy)))
            (cl-incf total (apply #'+ counted))
            (unless (equal counted recorded)
              (push (list (file-name-nondirectory file) :ccusage counted :recorded recorded)
                    differences))))
        (delete-directory home t)))
    (message "%d tokens of %d transcripts were compared" total compared)
    (should (> total 0))
    (should-not differences)))

(provide 'ccusage-checks)
;;; ccusage-checks.el ends here
