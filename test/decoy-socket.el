;;; decoy-socket.el --- A socket that no test may connect to  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Listens in the usual places of the socket until it is killed, and appends a line to
;; the file DECOY_LOG for each connection; bin/lib/decoys.sh runs it.  The file exists
;; once it listens.  A socket that is there already stays.

;;; Code:

(defvar decoy-files nil "The sockets.")

(defun decoy-listen (run)
  "Listen in the folder todo-write of RUN, or in RUN itself if that is in /tmp."
  (let ((file (expand-file-name "socket" run)))
    (unless (file-exists-p file)
      (with-file-modes #o700
        (make-directory run t)
        (make-network-process
         :name "decoy" :server t :family 'local :service file :noquery t
         :log (lambda (&rest _)
                (write-region (format "A test connected to %s\n" file) nil
                              (getenv "DECOY_LOG") t 'silent))))
      (push file decoy-files))))

(when (file-directory-p (format "/run/user/%d" (user-uid)))
  (decoy-listen (format "/run/user/%d/todo-write" (user-uid))))
(decoy-listen (format "/tmp/todo-write-%d" (user-uid)))
(write-region "" nil (getenv "DECOY_LOG") nil 'silent)
(add-hook 'kill-emacs-hook (lambda () (mapc #'delete-file decoy-files)))
(while t (accept-process-output nil 60))

;;; decoy-socket.el ends here
