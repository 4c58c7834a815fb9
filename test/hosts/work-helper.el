;;; work-helper.el --- What genuine agents' tasks changed and ran  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'ert)
(require 'todo-write)

(defconst work-helper-before "Beds:\n\troses\n\t\tred\nEnd\n" "The file before the edit.")
(defconst work-helper-after "Beds:\n\troses\n\t\tred\n\t\twhite\nEnd\n" "The file after it.")

(defun work-helper-figures (thread id)
  "Return the figures of the work of the item ID of THREAD."
  (let* ((work (todo-write-work thread id))
         (commands (plist-get work :commands))
         (tokens (plist-get work :tokens)))
    (list :added (plist-get work :added) :removed (plist-get work :removed)
          :edits (plist-get work :edits)
          :files (mapcar (lambda (file) (file-name-nondirectory (plist-get file :path)))
                         (plist-get work :files))
          :run (plist-get commands :run) :failed (plist-get commands :failed)
          :refused (plist-get commands :refused)
          :responses (plist-get work :responses)
          :tokens (list (plist-get tokens :input) (plist-get tokens :output)))))

(defun work-helper-expected (responses &rest figures)
  "Return FIGURES of work with a number of RESPONSES; those left out are 0."
  (let ((expected (list :added 0 :removed 0 :edits 0 :files nil :run 0 :failed 0 :refused 0
                        :responses responses
                        :tokens (if (zerop responses) '(nil nil)
                                  (list (* 10 responses) (* 5 responses))))))
    (while figures
      (setq expected (plist-put expected (pop figures) (pop figures))))
    expected))

(defun work-helper-patches (thread id file)
  "Check that the patch of item ID of THREAD makes FILE of what it was before."
  (let ((patch (todo-write-patch thread id))
        (default-directory (file-name-as-directory (make-temp-file "before" t))))
    (should (equal work-helper-after (work-helper-contents file)))
    (write-region work-helper-before nil "garden.txt" nil 'silent)
    ;; The patch names the file by its place in the project, or by its absolute name.
    (setq patch (replace-regexp-in-string
                 "^\\(--- a\\|\\+\\+\\+ b\\)/.*garden\\.txt$" "\\1/garden.txt" patch))
    (with-temp-buffer
      (insert patch)
      (should (equal '(0 "")
                     (list (call-process-region nil nil "git" t t nil "apply" "-")
                           (buffer-string)))))
    (should (equal work-helper-after (work-helper-contents "garden.txt")))))

(defun work-helper-contents (file)
  "Return the text of FILE."
  (with-temp-buffer
    (insert-file-contents file)
    (buffer-string)))

(provide 'work-helper)
;;; work-helper.el ends here
