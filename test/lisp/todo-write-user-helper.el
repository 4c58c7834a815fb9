;;; todo-write-user-helper.el --- A real Emacs in a terminal  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Starts the Emacs of a user in a terminal.  Tests send it keys through the
;; terminal, query it through its server, and see that keys are echoed meanwhile.

;;; Code:

(require 'ert)
(require 'server)
(require 'todo-write-probe-helper)
(require 'todo-write-test-helper)

(defvar todo-write-user-process nil
  "The process of the user's Emacs, which receives the keys.")

(defvar todo-write-user-prefix nil
  "Command, a list, that runs the user's Emacs with the rest of its arguments.")

(defun todo-write-user-eval (&rest forms)
  "Return the value of FORMS in the user's Emacs."
  (pcase (server-eval-at "user" `(condition-case problem (list 'value (progn ,@forms))
                                   (error (cons 'failed problem))))
    (`(value ,value) value)
    (problem (ert-fail problem))))

(defun todo-write-user-type (keys)
  "Type KEYS, a string, and wait until Emacs has read them."
  (let ((before (todo-write-user-eval 'num-nonmacro-input-events)))
    (process-send-string todo-write-user-process keys)
    (todo-write-test-wait
     (lambda ()
       (<= (+ before (length keys))
           (todo-write-user-eval 'num-nonmacro-input-events))))))

(defun todo-write-user-terminal (lines columns &rest command)
  "Return a process that runs COMMAND in a terminal of LINES and COLUMNS."
  (let* ((process-environment (cons "TERM=xterm-256color" process-environment))
         (process (make-process :name "terminal" :command command :noquery t
                                :connection-type 'pty :filter #'ignore)))
    (set-process-window-size process lines columns)
    process))

(defun todo-write-user-call (lines columns function)
  "Call FUNCTION while the user's Emacs runs in a terminal of LINES and COLUMNS."
  (let* ((folder (make-temp-file "todo-write-user" t))
         (server-use-tcp nil)
         (server-socket-dir folder)
         (todo-write-user-process
          (apply #'todo-write-user-terminal
                 lines columns
                 `(,@todo-write-user-prefix
                   ,(expand-file-name invocation-name invocation-directory) "-Q" "-nw"
                   ,@(todo-write-test-load-path)
                   "--eval" ,(prin1-to-string
                              `(progn (require 'server)
                                      (setq native-comp-jit-compilation nil
                                            native-comp-deferred-compilation nil
                                            load-prefer-newer t
                                            server-use-tcp nil
                                            server-name "user"
                                            server-socket-dir ,folder)
                                      (server-start)))))))
    (unwind-protect
        (progn
          (todo-write-test-wait
           (lambda () (ignore-errors (eq 'ready (todo-write-user-eval ''ready)))))
          (todo-write-user-eval '(setq todo-write-directory nil todo-write-flash-seconds 0))
          (funcall function))
      (delete-process todo-write-user-process)
      (todo-write-test-delete folder))))

;;; Keys while Emacs does something else

(defun todo-write-user-type-until (done)
  "Type into the user's Emacs until the function DONE returns non-nil.
Each key must be echoed.  The user must be in a buffer for text."
  (let ((probe (todo-write-probe todo-write-user-process "~^|")) ended)
    (todo-write-test-wait
     (lambda ()
       (unless (car (todo-write-probe-type (list probe) todo-write-test-deadline
                                           (lambda () (setq ended (funcall done)))))
         (ert-fail "A key is not echoed"))
       (and ended (<= 10 (todo-write-probe-typed probe)))))
    (set-process-filter todo-write-user-process #'ignore)))

(provide 'todo-write-user-helper)
;;; todo-write-user-helper.el ends here
