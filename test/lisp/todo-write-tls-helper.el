;;; todo-write-tls-helper.el --- An HTTPS server for tests  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The server of openssl, on loopback.

;;; Code:

(require 'ert)

(defun todo-write-tls-certificate (file subject &rest options)
  "Make a certificate of SUBJECT in FILE, with OPTIONS of openssl; return FILE."
  (should (eql 0 (apply #'call-process "openssl" nil nil nil "req" "-x509" "-nodes" "-days" "2"
                        "-newkey" "ec" "-pkeyopt" "ec_paramgen_curve:prime256v1"
                        "-subj" (concat "/CN=" subject) "-keyout" file "-out" file options)))
  file)

(defun todo-write-tls-serve (folder kind)
  "Serve the files of FOLDER; return a list (PROCESS PORT AUTHORITY).
KIND is an option of openssl: \"-HTTP\" serves files that are HTTP answers,
\"-WWW\" any files.  AUTHORITY is the file of the certificate to trust."
  (let* ((default-directory (file-name-as-directory folder))
         (authority (todo-write-tls-certificate (expand-file-name "authority.pem") "Authority"))
         ;; Emacs trusts no certificate that signed itself.
         (certificate (todo-write-tls-certificate
                       (expand-file-name "server.pem") "127.0.0.1" "-CA" authority "-CAkey" authority
                       "-addext" "subjectAltName=IP:127.0.0.1"
                       "-addext" "basicConstraints=CA:FALSE"))
         (server (make-process
                  :name "release" :noquery t :connection-type 'pipe
                  :buffer (generate-new-buffer " *release*")
                  :command (list "openssl" "s_server" kind "-accept" "127.0.0.1:0"
                                 "-cert" certificate "-key" certificate))))
    (with-current-buffer (process-buffer server)
      (with-timeout (60 (ert-fail (buffer-string)))
        (while (not (progn (goto-char (point-min))
                           (re-search-forward "^ACCEPT .*:\\([0-9]+\\)" nil t)))
          (accept-process-output server 0.1)))
      (list server (string-to-number (match-string 1)) authority))))

(provide 'todo-write-tls-helper)
;;; todo-write-tls-helper.el ends here
