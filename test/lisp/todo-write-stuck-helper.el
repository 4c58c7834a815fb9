;;; todo-write-stuck-helper.el --- File systems that do not answer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A folder on a file system whose program can be stopped.  Each access to it then
;; waits, as on a network drive whose server is gone.

;;; Code:

(require 'ert)
(require 'todo-write-test-helper)

(defvar todo-write-stuck--process nil "The program of the file system.")

(defun todo-write-stuck-call (function)
  "Call FUNCTION with a folder on a file system that can be stopped.
The folder \"files\" beside it has the same files and always answers.
Skip the test if no such file system can be mounted."
  (unless (and (executable-find "bindfs") (file-writable-p "/dev/fuse"))
    (ert-skip "No bindfs, or no right to mount"))
  (let* ((folder (make-temp-file "todo-write-stuck" t))
         (files (expand-file-name "files" folder))
         (mount (file-name-as-directory (expand-file-name "mount" folder)))
         todo-write-stuck--process)
    (make-directory files)
    (make-directory mount)
    (unwind-protect
        (progn
          (setq todo-write-stuck--process
                (make-process :name "bindfs" :noquery t :connection-type 'pipe
                              ;; The system must ask the program each time.
                              :command (list "bindfs" "-f" "-o"
                                             "attr_timeout=0,entry_timeout=0,negative_timeout=0"
                                             files mount)))
          (unless (ignore-errors
                    (todo-write-test-wait
                     (lambda () (or (not (process-live-p todo-write-stuck--process))
                                    (todo-write-stuck--mounted-p mount)))))
            (ert-skip "bindfs does not answer"))
          (unless (process-live-p todo-write-stuck--process)
            (ert-skip "bindfs cannot mount"))
          (funcall function mount))
      (todo-write-stuck-continue)
      (call-process (or (executable-find "fusermount3") "fusermount") nil nil nil "-u" "-z" mount)
      (delete-process todo-write-stuck--process)
      (delete-directory folder t))))

(defun todo-write-stuck--mounted-p (mount)
  "Return non-nil if a file system is mounted at MOUNT."
  (with-temp-buffer
    (insert-file-contents-literally "/proc/self/mounts")
    (search-forward (concat " " (directory-file-name mount) " ") nil t)))

(defun todo-write-stuck-stop ()
  "Stop the program of the file system."
  (signal-process todo-write-stuck--process 'SIGSTOP)
  (todo-write-test-wait
   (lambda () (equal "T" (alist-get 'state (process-attributes
                                            (process-id todo-write-stuck--process)))))))

(defun todo-write-stuck-continue ()
  "Let the program of the file system go on."
  (when (process-live-p todo-write-stuck--process)
    (signal-process todo-write-stuck--process 'SIGCONT)))

(provide 'todo-write-stuck-helper)
;;; todo-write-stuck-helper.el ends here
