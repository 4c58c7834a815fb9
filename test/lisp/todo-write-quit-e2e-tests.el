;;; todo-write-quit-e2e-tests.el --- C-g in a terminal  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; C-g stops an agent's expression.  That it loses no change and no notification at any
;; moment of a write is tested in todo-write-torture-moments-tests.el.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-test-helper)

(ert-deftest efrit-do-c-g-stops-an-expression-that-never-ends ()
  (todo-write-with-store
    (let* ((folder (make-temp-file "todo-write-quit" t))
           (result (expand-file-name "result" folder))
           (script '(:turns (((:tool "eval_sexp"
                               :input (:expr "(progn (send-string-to-terminal \"@@\") (while t))"))))))
           (command
            (todo-write-test-emacs
             `(progn
                (require 'efrit-do-replay)
                (require 'efrit-do)
                (setq efrit-do-confirm nil
                      efrit-do-end-functions
                      (list (lambda (session)
                              (write-region (symbol-name (efrit-do-session-status session))
                                            nil ,result nil 'silent)
                              (run-at-time 0 nil #'kill-emacs))))
                (efrit-do-session-start
                 (efrit-do-session-begin
                  "Loop" '(:backend replay :speed 0 :script ,script))))))
           (begun nil)
           (process-environment (cons "TERM=xterm-256color" process-environment))
           (process (make-process :name "todo-write-quit" :noquery t :connection-type 'pty
                                  :command (cl-substitute "-nw" "--batch" command :test #'equal)
                                  :filter (lambda (_ text)
                                            (when (string-search "@" text) (setq begun t))))))
      (set-process-window-size process 24 80)
      (unwind-protect
          (progn
            (todo-write-test-wait (lambda () begun))
            (process-send-string process "\C-g")
            (todo-write-test-wait (lambda () (not (process-live-p process))))
            (should (equal (with-temp-buffer (insert-file-contents result) (buffer-string))
                           "cancelled")))
        (delete-process process)
        (todo-write-test-delete folder)))))

(provide 'todo-write-quit-e2e-tests)
;;; todo-write-quit-e2e-tests.el ends here
