;;; todo-write-test-helper.el --- What the tests share  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A store of its own for each test, waiting without sleeping, and the
;; place of the real data.

;;; Code:

(require 'ert)
(require 'todo-write)

(defmacro todo-write-with-store (&rest body)
  "Evaluate BODY with an empty store whose journals are in a fresh folder."
  (declare (indent 0) (debug t))
  `(let* ((todo-write-directory (make-temp-file "todo-write-test" t))
          (todo-write--subscribers nil))
     (unwind-protect (progn ,@body)
       (delete-directory todo-write-directory t))))

(defun todo-write-test-todos (&rest entries)
  "Return a tool input whose tasks are ENTRIES.
Each is CONTENT, for a pending task, or (CONTENT STATUS [ACTIVE-FORM])."
  (list :todos
        (vconcat
         (mapcar (lambda (entry)
                   (pcase-let ((`(,content ,status ,active-form)
                                (ensure-list entry)))
                     (list :content content
                           :status (or status "pending")
                           :activeForm (or active-form
                                           (concat "Doing: " content)))))
                 entries))))

(defun todo-write-test-contents (thread &optional revision)
  "Return the contents of THREAD's items, at REVISION, as a list."
  (mapcar (lambda (item) (plist-get item :content))
          (todo-write-items thread revision)))

(defun todo-write-test-wait (condition &optional seconds)
  "Wait until CONDITION, a function, returns non-nil, and return that.
Fail after SECONDS, 10 by default."
  (let ((deadline (+ (float-time) (or seconds 10))) value)
    (while (not (setq value (funcall condition)))
      (when (> (float-time) deadline)
        (ert-fail (format "Still waiting after %s seconds" (or seconds 10))))
      (accept-process-output nil 0.02))
    value))

(defun todo-write-test-shared (file)
  "Return the path of FILE in the shared data, or skip the test without it."
  (let* ((root (or (getenv "TODO_WRITE_ROOT")
                   (locate-dominating-file
                    (or load-file-name default-directory) "Cargo.toml")))
         (path (expand-file-name (concat "../shared/" file) root)))
    (unless (file-exists-p path)
      (message "No %s: the real data is not here" path)
      (ert-skip (format "no %s" file)))
    path))

(provide 'todo-write-test-helper)
;;; todo-write-test-helper.el ends here
