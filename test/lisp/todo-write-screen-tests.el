;;; todo-write-screen-tests.el --- What a followed agent does is shown  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Appends the lines of a session one by one and types nothing.  After each line, its
;; plan, the overview and the mode line must show it.  All responses have the same usage.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-list)
(require 'todo-write-mode-line)
(require 'todo-write-screen-helper)
(require 'todo-write-view-test-helper)

(defmacro todo-write-screen-tests--with (&rest body)
  "Evaluate BODY with an empty store while the session of `file' is followed."
  (declare (indent 0) (debug t))
  `(todo-write-test-with-shapes
     (let* ((file (make-temp-file "session" nil ".jsonl"))
            (todo-write-follow-interval 0.05)
            (todo-write-follow-quiet nil))
       (todo-write-screen-append file 'prompt 'list 'listed)
       (unwind-protect
           (progn (switch-to-buffer (todo-write-show (todo-write-follow file)))
                  (delete-other-windows)
                  ,@body)
         (todo-write-follow-stop)
         (when (get-buffer todo-write-list--buffer)
           (kill-buffer todo-write-list--buffer))
         (delete-file file)))))

(defun todo-write-screen-tests--wait (regexp &optional buffer)
  "Wait until the text of BUFFER, by default the current one, has REGEXP.
Nothing but what Emacs does by itself may draw it."
  (todo-write-test-wait
   (lambda ()
     (with-current-buffer (or buffer (current-buffer))
       (string-match-p regexp (buffer-string))))
   (lambda () (format "%s is not in\n%s" regexp
                      (with-current-buffer (or buffer (current-buffer)) (buffer-string))))))

(ert-deftest todo-write-screen-each-line-of-a-followed-session-is-shown-by-itself ()
  (todo-write-screen-tests--with
    (pcase-dolist (`(,line . ,shown) todo-write-screen-lines)
      (ert-info ((symbol-name line))
        (todo-write-screen-append file line)
        (dolist (regexp shown)
          (todo-write-screen-tests--wait regexp))))))

(defun todo-write-screen-tests--sums ()
  "Return the lines changed that the header, the row and the prompt show."
  (mapcar (lambda (line)
            (save-excursion
              (goto-char (point-min))
              (re-search-forward line)
              (and (re-search-forward "\\+[0-9]+ −[0-9]+" (line-end-position) t)
                   (match-string-no-properties 0))))
          '("[01]/2" "[●✓] Mix" "▾ “Bake bread”")))

(ert-deftest todo-write-screen-sums-of-header-row-and-prompt-are-of-the-same-moment ()
  (todo-write-screen-tests--with
    (pcase-dolist (`(,lines . ,shown) '(((edit edited) . "● Mixing.*\\+2 −1")
                                        ((relist relisted) . "✓ Mix.*\\+2 −1")))
      (apply #'todo-write-screen-append file lines)
      (todo-write-test-wait
       (lambda ()
         (let ((sums (todo-write-screen-tests--sums)))
           (should (equal (list (car sums)) (seq-uniq sums))))
         (string-match-p shown (buffer-string)))))))

(ert-deftest todo-write-screen-what-is-new-of-a-followed-session-is-counted-everywhere ()
  (todo-write-screen-tests--with
    (let ((agent (lambda () (car (todo-write-agents)))))
      (todo-write-list)
      (todo-write-screen-append file 'edit 'edited)
      (todo-write-test-wait (lambda () (eql 1 (plist-get (funcall agent) :new))))
      (todo-write-screen-append file 'end)
      (todo-write-screen-tests--wait "1 file to review" todo-write-list--buffer)
      (todo-write-test-wait (lambda () (null (plist-get (funcall agent) :activity))))
      (should (eql 1 (plist-get (funcall agent) :new))))))

(ert-deftest todo-write-screen-an-edit-of-a-file-with-unsaved-edits-is-said ()
  (todo-write-screen-tests--with
    (let ((buffer (generate-new-buffer "dough")))
      (unwind-protect
          (progn
            (with-current-buffer buffer
              (setq buffer-file-name todo-write-screen-edited)
              (insert "mine"))
            (todo-write-screen-append file 'edit 'edited)
            (todo-write-screen-tests--wait "changed .*dough.txt, which you are editing"))
        (with-current-buffer buffer (set-buffer-modified-p nil))
        (kill-buffer buffer)))))

;;; What no window shows

(ert-deftest todo-write-screen-a-plan-that-no-window-shows-is-drawn-when-one-does ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("One" "in_progress"))
    (let* ((plan (current-buffer))
           (before (buffer-string))
           marker)
      (switch-to-buffer "*scratch*")
      (todo-write-observe "a" "MESSAGE" "Hello.")
      ;; It comes after the drawing, had that been planned.
      (run-at-time 0.5 nil (lambda () (setq marker t)))
      (todo-write-test-wait (lambda () marker))
      (should (equal before (with-current-buffer plan (buffer-string))))
      (switch-to-buffer plan)
      ;; As redisplay does.
      (run-hook-with-args 'window-size-change-functions (selected-window))
      (should (string-search "Hello." (buffer-string))))))

(provide 'todo-write-screen-tests)
;;; todo-write-screen-tests.el ends here
