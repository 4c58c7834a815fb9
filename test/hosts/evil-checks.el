;;; evil-checks.el --- Checks with Evil  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These checks show our buffers with the genuine Evil switched on.  evil.sh runs
;; them.

;;; Code:

(require 'ert)
(require 'todo-write-test-helper)

(defconst evil-checks-modes
  '(todo-write-view-mode todo-write-history-mode todo-write-timeline-mode
    todo-write-list-mode todo-write-log-mode)
  "The modes of our buffers.")

(defun evil-checks-states (before after &rest forms)
  "Return the Evil state and the commands of n and k in each of our modes.
An Emacs evaluates BEFORE, AFTER and FORMS, and then begins the modes."
  (let ((path load-path))
    (todo-write-test-child
     `(setq load-path ',path)
     before after
     `(progn ,@forms
             (prin1 (mapcar (lambda (mode)
                              (with-current-buffer (generate-new-buffer "ours")
                                (funcall mode)
                                (list mode evil-state (key-binding "n") (key-binding "k"))))
                            ',evil-checks-modes))))))

(defconst evil-checks-ours
  '(progn (require 'todo-write-history)           (require 'todo-write-list) (require 'todo-write-history)
          (require 'todo-write-doctor))
  "The form that loads the package.")

(defconst evil-checks-evil '(progn (require 'evil) (evil-mode 1))
  "The form that switches Evil on.")

(ert-deftest evil-leaves-our-keys-to-us-in-both-orders-of-loading ()
  (pcase-dolist (`(,before ,after) `((,evil-checks-ours ,evil-checks-evil)
                                     (,evil-checks-evil ,evil-checks-ours)))
    (let ((states (evil-checks-states before after)))
      (should (= (length states) (length evil-checks-modes)))
      (pcase-dolist (`(,mode ,state ,n ,k) states)
        (ert-info ((symbol-name mode))
          (should (eq state 'emacs))
          (should-not (string-prefix-p "evil-" (symbol-name n)))
          (should-not (string-prefix-p "evil-" (symbol-name k)))))
      (should (equal '(emacs todo-write-buffer-next todo-write-edit-delete)
                     (cdr (assq 'todo-write-view-mode states)))))))

(ert-deftest evil-keeps-the-state-that-the-user-has-set ()
  (should (eq 'motion
              (nth 1 (assq 'todo-write-view-mode
                           (evil-checks-states
                            evil-checks-evil evil-checks-ours
                            '(evil-set-initial-state 'todo-write-view-mode 'motion)))))))

(provide 'evil-checks)
;;; evil-checks.el ends here
