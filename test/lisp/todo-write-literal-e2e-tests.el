;;; todo-write-literal-e2e-tests.el --- Agent text in mode lines and the like  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Hostile text in mode lines, header lines, tab bars and the titles of frames, as a
;; real Emacs in a terminal formats them: Emacs in batch formats none.

;;; Code:

(require 'ert)
(require 'todo-write-user-helper)
(require 'todo-write-literal-helper)

(defconst todo-write-literal-e2e-tests--lines
  '(("The mode line of any buffer"
     (progn (switch-to-buffer "*scratch*")
            (format-mode-line '("" mode-line-misc-info)))
     t)
    ("The mode line about an agent that waits"
     (progn (switch-to-buffer "*scratch*")
            (todo-write-set-activity test-key 'waiting todo-write-literal-text)
            (prog1 (format-mode-line '("" mode-line-misc-info))
              (todo-write-set-activity test-key 'working)))
     t)
    ("The mode line of the plan"
     (progn (switch-to-buffer (todo-write-show test-key)) (format-mode-line mode-line-format)))
    ("The mode line of the log"
     (progn (switch-to-buffer (todo-write-log test-key)) (format-mode-line mode-line-format)))
    ("The header line of a diff"
     (progn (cl-letf (((symbol-function 'todo-write-dyn--patches)
                       (lambda (&rest _) '(("/b" . "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n"))))
                      ((symbol-function 'todo-write-visit-what)
                       (lambda (&rest _) (todo-write-text-line todo-write-literal-text))))
              (todo-write-show-diff test-key))
            (with-current-buffer "*todo-write-diff*" (format-mode-line header-line-format)))
     t)
    ("The header line of a request"
     (progn (todo-write-literal-ask test-key)
            (todo-write-answer test-key)
            (prog1 (with-current-buffer "*todo-write-request*"
                     (format-mode-line header-line-format))
              (todo-write-withdraw test-key "1"))))
    ("The tab bar"
     (mapconcat (lambda (item) (if (eq 'global (car-safe item)) (nth 2 item) ""))
                (tab-bar-make-keymap-1) "")
     t)
    ("The title of a frame that shows a buffer of an agent"
     (progn (switch-to-buffer
             (plist-get (efrit-do-execute-tool
                         "buffer_create" (list :name todo-write-literal-text :content ""))
                        :buffer))
            (format-mode-line frame-title-format))
     t)
    ("The title of a frame with the text of the mode line"
     (let ((frame-title-format '("%b " mode-line-misc-info)))
       (switch-to-buffer "*scratch*")
       (format-mode-line frame-title-format))
     t)
    ("The echo area"
     (progn (switch-to-buffer (todo-write-show test-key))
            (todo-write-edit test-key 'status "t2" "pending")
            (todo-write-edit-undo)
            (current-message))
     t))
  "A list of lines that Emacs displays, each (NAME FORM SHOWS).
FORM returns it in an Emacs in which the plan `test-key' is hostile.
Non-nil SHOWS means that the hostile text is in it.")

(ert-deftest todo-write-literal-lines-around-windows-show-agent-text-literally ()
  (todo-write-user-call
   24 300
   (lambda ()
     (todo-write-user-eval
      `(push ,(expand-file-name "test/lisp" (getenv "TODO_WRITE_ROOT")) load-path)
      '(mapc #'require '(tab-bar todo-write-literal-helper todo-write-mode-line efrit-do
                         todo-write-visit todo-write-history todo-write-answer todo-write-edit))
      '(setq todo-write-mode-line-width 200
             frame-title-format '(multiple-frames "%b" ("" "%b - GNU Emacs at " system-name)))
      '(defvar test-key (todo-write-literal-make "one"))
      '(todo-write-mode-line-mode)
      '(tab-bar-mode)
      '(add-to-list 'tab-bar-format 'tab-bar-format-global t)
      '(todo-write-set-activity test-key 'working)
      t)
     (pcase-dolist (`(,name ,form ,shows) todo-write-literal-e2e-tests--lines)
       (ert-info (name :prefix "Line: ")
         (let ((line (todo-write-user-eval form)))
           (should (stringp line))
           (should-not (string-empty-p line))
           (should-not (todo-write-literal-problem line))
           (when shows
             (should (string-search todo-write-literal-shown line)))))))))

;; The keys go through the terminal, since only there the minibuffer displays.
(ert-deftest todo-write-edit-shows-invisible-characters-as-escapes-and-keeps-them ()
  (todo-write-user-call
   24 80
   (lambda ()
     (todo-write-user-eval
      '(require 'todo-write-view)
      '(todo-write "a" '(:todos [(:content "x\u202ey\u200b\u200bz" :status "pending")]))
      '(switch-to-buffer (todo-write-show "a"))
      '(goto-char (todo-write-view-draw-row "t1"))
      t)
     (todo-write-user-type "e")
     (todo-write-test-wait (lambda () (todo-write-user-eval '(and (active-minibuffer-window) t))))
     (should (equal '("x" "\\u202e" "y" "\\u200b" "\\u200b" "z")
                    (todo-write-user-eval
                     '(with-current-buffer (window-buffer (active-minibuffer-window))
                        (let ((position (minibuffer-prompt-end)) shown)
                          (while (< position (point-max))
                            (push (or (get-char-property position 'display)
                                      (string (char-after position)))
                                  shown)
                            (setq position (next-single-char-property-change
                                            position 'display nil (1+ position))))
                          (nreverse shown))))))
     (todo-write-user-type "!\r")
     (should (equal "x\u202ey\u200b\u200bz!"
                    (todo-write-test-wait
                     (lambda ()
                       (todo-write-user-eval
                        '(and (not (active-minibuffer-window))
                              (plist-get (todo-write-item "a" "t1") :content))))))))))

(provide 'todo-write-literal-e2e-tests)
;;; todo-write-literal-e2e-tests.el ends here
