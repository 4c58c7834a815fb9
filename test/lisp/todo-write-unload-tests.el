;;; todo-write-unload-tests.el --- Nothing is left behind  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An Emacs loads all files of the package, uses them, and unloads the package.  What it
;; finds of the package then is compared with what an Emacs has that never loaded it.

;;; Code:

(require 'ert)
(require 'todo-write-test-helper)

(defconst todo-write-unload-tests--traces
  '(let (traces (ours (lambda (object)
                        (and (symbolp object)
                             (string-prefix-p "todo-write" (symbol-name object))
                             (not (string-prefix-p "todo-write-dyn" (symbol-name object)))))))
     (cl-flet ((note (what where) (push (format "%s in %s" what where) traces)))
       (mapatoms
        (lambda (symbol)
          (when (and (funcall ours symbol) (fboundp symbol)
                     (not (autoloadp (symbol-function symbol))))
            (note symbol "functions"))
          (when (fboundp symbol)
            (advice-mapc (lambda (advice _) (when (funcall ours advice) (note advice symbol)))
                         symbol))
          (dolist (watcher (get-variable-watchers symbol))
            (when (funcall ours watcher) (note watcher symbol)))
          (when (and (default-boundp symbol) (not (funcall ours symbol))
                     (proper-list-p (default-value symbol))
                     ;; Emacs keeps the types of structures.
                     (not (string-prefix-p "cl-struct-" (symbol-name symbol)))
                     (not (memq symbol '(features obarray load-history abbrev-table-name-list minor-mode-list
                                                  global-minor-modes))))
            (dolist (element (default-value symbol))
              (when (funcall ours (if (consp element) (car element) element))
                (note element symbol))))))
       (dolist (buffer (buffer-list))
         (when (string-match-p "todo-write\\|efrit-todos" (buffer-name buffer)) (note buffer "buffers"))
         (pcase-dolist (`(,symbol . ,value) (seq-filter #'consp (buffer-local-variables buffer)))
           (when (or (funcall ours symbol)
                     (and (proper-list-p value) (seq-some ours value)))
             (note symbol buffer))))
       (dolist (process (process-list))
         (when (string-match-p "todo-write" (process-name process)) (note process "processes")))
       (dolist (timer (append timer-list timer-idle-list))
         (when (string-match-p "todo-write" (format "%S" timer)) (note timer "timers")))
       (dolist (feature features)
         (when (funcall ours feature) (note feature "features"))))
     (sort traces #'string<))
  "Form whose value lists what Emacs has of the package, strings.")

(defconst todo-write-unload-tests--use
  '(let ((plan "{\"todos\": [{\"content\": \"Rake\", \"status\": \"in_progress\", \"activeForm\": \"Raking\"}]}"))
     (dolist (mode '(todo-write-mode-line-mode todo-write-tab-bar-mode todo-write-notify-mode
                     todo-write-auto-show-mode todo-write-follow-mode todo-write-mcp-mode
                     todo-write-agent-shell-mode todo-write-eca-mode todo-write-efrit-mode
                     todo-write-gptel-mode))
       (funcall mode 1))
     (todo-write "a" plan)
     (todo-write-request "a" :id "r" :kind 'permission :title "Ask" :detail "ls"
                         :options '((:label "Yes" :value yes :kind allow)) :answer #'ignore)
     (todo-write-show "a")
     (todo-write-list)
     (todo-write-answer)
     (todo-write-history "a")
     (todo-write-timeline "a")
     (todo-write-log "a")
     (todo-write-doctor)
     (require 'org)
     (accept-process-output nil 0.3))
  "Form that uses the package.")

(defconst todo-write-unload-tests--load
  '(dolist (file (directory-files lisp t "\\`todo-write.*\\.el\\'"))
     (unless (string-match-p "autoloads\\|acp" file)
       (require (intern (file-name-base file)))))
  "Form that loads the files of the package.")

(ert-deftest todo-write-unload-takes-everything-away-and-the-package-can-be-loaded-again ()
  (pcase-let ((`(,used ,after ,again)
               (todo-write-test-child
                '(require 'cl-lib)
                `(let ((lisp (file-name-directory (locate-library "todo-write")))
                       (directory todo-write-directory) used after)
                   (cl-flet ((traces () ,todo-write-unload-tests--traces)
                             (load-all () ,todo-write-unload-tests--load))
                     (load-all)
                     (setq todo-write-directory directory)
                     ,todo-write-unload-tests--use
                     (setq used (length (traces)))
                     (unload-feature 'todo-write t)
                     (setq after (traces))
                     (load-all)
                     (setq todo-write-directory directory)
                     (prin1 (list used after
                                  (plist-get (todo-write "b" "{\"todos\": []}") :ok))))))))
    (should (< 1000 used))
    (should-not after)
    (should again)))

(ert-deftest todo-write-unload-names-the-packages-that-need-it ()
  (should (equal '("Unload these first: garden" t)
                 (todo-write-test-child
                  '(let ((file (make-temp-file "garden" t)))
                     (setq file (expand-file-name "garden.el" file))
                     (write-region "(require 'todo-write)\n(provide 'garden)\n" nil file nil 'silent)
                     (load file nil t)
                     (prin1 (list (condition-case err (unload-feature 'todo-write t)
                                    (user-error (cadr err)))
                                  (featurep 'todo-write))))))))

(provide 'todo-write-unload-tests)
;;; todo-write-unload-tests.el ends here
