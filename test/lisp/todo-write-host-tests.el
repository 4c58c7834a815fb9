;;; todo-write-host-tests.el --- Tests of the registry of hosts  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; How a host is switched on and off, and how hosts are asked.

;;; Code:

(require 'ert)
(require 'todo-write-test-helper)
(require 'todo-write-host)

(defmacro todo-write-host-tests--with (calls &rest body)
  "Evaluate BODY with CALLS, a list, and no hosts but those that it defines."
  (declare (indent 1) (debug t))
  `(let ((todo-write-host-all nil) (after-load-functions nil) (,calls nil))
     ,@body))

(ert-deftest todo-write-host-waits-for-its-feature ()
  (todo-write-host-tests--with calls
    (todo-write-host-define "Garden" :feature 'todo-write-host-tests-garden
      :switch-on (lambda () (push 'on calls) 'tool) :switch-off (lambda () (push 'off calls)))
    (should-not (todo-write-host-switch "Garden" t))
    (should-not calls)
    (should after-load-functions)
    ;; It is off before the feature comes, so there is nothing to take away.
    (todo-write-host-switch "Garden" nil)
    (should-not after-load-functions)
    (todo-write-host-switch "Garden" t)
    (unwind-protect
        (progn
          (provide 'todo-write-host-tests-garden)
          (run-hook-with-args 'after-load-functions "garden.el")
          (should (equal calls '(on)))
          (should-not after-load-functions)
          (should (eq 'tool (todo-write-host-switch "Garden" t)))
          (todo-write-host-switch "Garden" nil)
          (todo-write-host-switch "Garden" nil)
          (should (equal calls '(off on on))))
      (setq features (delq 'todo-write-host-tests-garden features)))))

(defvar todo-write-host-tests-garden-mode nil "A mode that switches a host on.")

;; The file of the other package is being loaded then.
(ert-deftest todo-write-host-that-cannot-be-switched-on-keeps-no-other-from-it ()
  (todo-write-host-tests--with calls
    (todo-write-host-define "Garden" :feature 'todo-write-host-tests-garden
      :mode 'todo-write-host-tests-garden-mode
      :switch-on (lambda () (error "No such function"))
      :switch-off (lambda () (push 'off calls)))
    (todo-write-host-define "Orchard" :feature 'todo-write-host-tests-garden
      :switch-on (lambda () (push 'on calls)))
    (setq todo-write-host-tests-garden-mode t)
    (todo-write-host-switch "Garden" t)
    (todo-write-host-switch "Orchard" t)
    (unwind-protect
        (cl-letf (((symbol-function 'display-warning)
                   (lambda (_type text &rest _) (push text calls)))
                  (debug-on-error nil))
          (provide 'todo-write-host-tests-garden)
          (run-hook-with-args 'after-load-functions "garden.el")
          (should (equal calls '(on "Garden cannot be switched on: No such function")))
          (ert-info ("It is off, and has nothing to take away")
            (should-not todo-write-host-tests-garden-mode)
            (should-not (todo-write-host-state (todo-write-host-named "Garden")))
            (todo-write-host-switch "Garden" nil)
            (should-not (memq 'off calls))))
      (setq features (delq 'todo-write-host-tests-garden features)))))

(ert-deftest todo-write-host-stays-on-when-its-file-is-loaded-again ()
  (todo-write-host-tests--with calls
    (dotimes (_ 2)
      (todo-write-host-define "Garden" :switch-on (lambda () (push 'on calls))
                              :switch-off (lambda () (push 'off calls)))
      (unless calls
        (todo-write-host-switch "Garden" t)))
    (should (= 1 (length todo-write-host-all)))
    (todo-write-host-switch "Garden" nil)
    (should (equal calls '(off on)))))

(ert-deftest todo-write-host-that-knows-an-agent-answers-for-it ()
  (todo-write-host-tests--with calls
    (todo-write-host-define "A")
    (todo-write-host-define "B"
      :visit (lambda (thread) (and (equal thread "b:1") (current-buffer)))
      :answer (lambda (buffer id option)
                (when (eq buffer (current-buffer))
                  (push (list id option) calls))))
    (should (eq (current-buffer) (todo-write-host-ask #'todo-write-host-visit "b:1")))
    (should-not (todo-write-host-ask #'todo-write-host-visit "a:1"))
    (should (todo-write-host-ask #'todo-write-host-answer (current-buffer) 7 "yes"))
    (should (equal calls '((7 "yes"))))
    (should-not (todo-write-host-ask #'todo-write-host-answer (get-buffer-create " *other*") 8 "no"))))

(ert-deftest todo-write-host-list-has-all-hosts-for-the-doctor ()
  (require 'todo-write-doctor)
  (should (equal '("ACP" "agent-shell" "Claude Code and Codex" "ECA" "Efrit" "gptel")
                 (mapcar #'todo-write-host-name todo-write-host-all)))
  (dolist (host todo-write-host-all)
    (when (todo-write-host-mode host)
      (should (commandp (todo-write-host-mode host))))))

(provide 'todo-write-host-tests)
;;; todo-write-host-tests.el ends here
