;;; review-helper.el --- A review of a genuine agent's work  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The user reviews what an agent changed, comments on it, and restarts Emacs after
;; each of these steps.  The agent has made the file a.txt of the lines "one" and "two",
;; and waits at a gate.  It gets the comment, makes these lines "1" and "2", and waits at
;; another gate.

;;; Code:

(require 'cl-lib)
(require 'hosts-helper)
(require 'todo-write-mcp-helper)

(defvar review-helper--emacs nil "The user's Emacs.")

(defun review-helper--restart ()
  "Kill the user's Emacs, if there is one, and start it again."
  (when review-helper--emacs
    (todo-write-mcp-emacs-stop review-helper--emacs))
  (setq review-helper--emacs (todo-write-mcp-emacs-start todo-write-socket))
  (review-helper--eval
   '(require 'todo-write-follow) '(require 'todo-write-review)
   `(setq todo-write-follow-agents ',todo-write-follow-agents)
   '(todo-write-agents-mode) t))

(defun review-helper--eval (&rest forms)
  "Return the value of FORMS in the user's Emacs."
  (todo-write-mcp-emacs-eval review-helper--emacs `(progn ,@forms)))

(defun review-helper--wait (what form)
  "Wait until FORM has a value in the user's Emacs; WHAT describes it."
  (todo-write-test-wait
   (lambda () (review-helper--eval form))
   (lambda () (format "%s\n%s" what (todo-write-mcp-emacs-messages review-helper--emacs)))))

(defun review-helper--told (thread)
  "Return whether the agent of THREAD was told, for each comment."
  (review-helper--eval `(mapcar (lambda (comment) (plist-get comment :told))
                                (todo-write-plan-comments ,thread))))

(cl-defun review-helper-check (agent &key ready open gets)
  "Check that AGENT, \"claude\" or \"codex\", gets a comment once; return its thread.
READY waits until the agent of a thread, which has a comment, can hear of
it.  OPEN opens a gate, \"one\" or \"two\".  GETS waits until the model got
a text that matches a regexp."
  (let ((case-fold-search nil) review-helper--emacs thread)
    (unwind-protect
        (progn
          (review-helper--restart)
          (todo-write-test-wait (lambda () (setq thread (hosts-thread agent))))
          (review-helper--wait "what is new" `(todo-write-new ,thread))
          (review-helper--restart)
          (review-helper--wait "a way to the agent" `(todo-write-tell--channel ,thread))
          (review-helper--eval
           `(todo-write-review ,thread)
           '(goto-char (point-min))
           '(search-forward "+two")
           '(todo-write-comment)
           '(insert "Keep it")
           '(todo-write-compose-send))
          (should (string-search "\nThe agent gets the message"
                                 (todo-write-mcp-emacs-messages review-helper--emacs)))
          (review-helper--restart)
          (should (equal '(nil) (review-helper--told thread)))
          ;; It may have come before the user's Emacs followed the session.
          (should (review-helper--eval `(todo-write-new ,thread)))
          (review-helper--eval `(todo-write-review ,thread) '(todo-write-review-mark))
          (review-helper--restart)
          (should-not (review-helper--eval `(todo-write-new ,thread)))
          (review-helper--wait "a way to the agent" `(todo-write-tell--channel ,thread))
          (funcall ready thread)
          (funcall open "one")
          (funcall gets "The user comments on a\\.txt:2:\\\\n> \\+two\\\\nKeep it")
          (review-helper--wait "the comment told"
                               `(plist-get (car (todo-write-plan-comments ,thread)) :told))
          (review-helper--restart)
          (review-helper--wait
           "the further edits, without those that were reviewed"
           `(string-search "\n-one\n-two\n+1\n+2\n" (todo-write-review-patch ,thread)))
          ;; The command of the gate may count as the one that made the gate's file.
          (should (review-helper--eval `(todo-write-new ,thread)))
          (should (equal '(t) (review-helper--told thread)))
          ;; The agent had one prompt.
          (dolist (range '((4) (16)))
            (should (string-search
                     "@@ -0,0 +1,2 @@\n+1\n+2\n"
                     (review-helper--eval `(todo-write-review ,thread nil nil ',range)
                                          '(substring-no-properties (buffer-string))))))
          (funcall open "two"))
      (when review-helper--emacs
        (todo-write-mcp-emacs-stop review-helper--emacs)))
    thread))

(provide 'review-helper)
;;; review-helper.el ends here
