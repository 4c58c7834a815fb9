;;; todo-write-download-tests.el --- Tests of the download of a release's files  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests download the module and the program todo-write-mcp from an HTTPS
;; server on loopback, that of openssl.  A package lists their addresses and SHA-256.

;;; Code:

(require 'ert)
(require 'todo-write)
(require 'todo-write-get)
(require 'todo-write-copy-helper)
(require 'todo-write-tls-helper)

(defvar gnutls-trustfiles)
(defvar todo-write-download-tests--folder)

(defun todo-write-download-tests--serve (folder)
  "Serve the files of FOLDER, which are HTTP answers; return (PROCESS . PORT).
The server uses TLS, and this Emacs trusts it."
  (pcase-let ((`(,server ,port ,authority) (todo-write-tls-serve folder "-HTTP")))
    (require 'gnutls)
    (setq gnutls-trustfiles (list authority))
    (cons server port)))

(defun todo-write-download-tests--answer (bytes)
  "Return an HTTP answer with BYTES."
  (concat (format "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                  (length bytes))
          bytes))

(defun todo-write-download-tests--name (name)
  "Return the name of the release's file of NAME for this machine."
  (format "%s-%s%s" name (todo-write-get--machine)
          (or (nth 2 (assoc name todo-write-get--products)) "")))

(defun todo-write-download-tests--list (folder port sums)
  "Write the list of a release's files into FOLDER, served from PORT.
SUMS is an alist of names and bytes."
  (with-temp-file (expand-file-name "todo-write-modules.sha256" folder)
    (pcase-dolist (`(,name . ,bytes) sums)
      (insert (format "%s  %s/%s\n" (secure-hash 'sha256 bytes)
                      (format "https://127.0.0.1:%d" port)
                      (todo-write-download-tests--name name))))))

(defun todo-write-download-tests--put (folder name bytes)
  "Write BYTES to the file NAME in FOLDER."
  (let ((coding-system-for-write 'no-conversion))
    (write-region bytes nil (expand-file-name name folder) nil 'silent)))

(defmacro todo-write-download-tests--with (name listed answer &rest body)
  "Evaluate BODY with a package that lists the bytes LISTED for NAME.
The server gives ANSWER; nil stands for no server."
  (declare (indent 3) (debug t))
  `(let* ((todo-write-download-tests--folder
           (file-name-as-directory (file-truename (make-temp-file "todo-write-download" t))))
          (todo-write-module-lisp (concat todo-write-download-tests--folder "lisp/"))
          (todo-write-module-directory (concat todo-write-download-tests--folder "module/"))
          (inhibit-message t)
          (server (todo-write-download-tests--serve todo-write-download-tests--folder))
          (port (cdr server)))
     (make-directory todo-write-module-lisp)
     (todo-write-download-tests--put todo-write-download-tests--folder
                                     (todo-write-download-tests--name ,name) (or ,answer ""))
     (todo-write-download-tests--list todo-write-module-lisp port (list (cons ,name ,listed)))
     (unless ,answer (delete-process (car server)))
     (unwind-protect (progn ,@body)
       (kill-buffer (process-buffer (car server)))
       (delete-directory todo-write-download-tests--folder t))))

(defun todo-write-download-tests--file (name)
  "Return bytes for the file NAME, some of which are no text."
  (concat "#!/bin/sh\n: '\0\r\n\377\303\244'\necho " name "\n"))

(ert-deftest todo-write-download-installs-the-listed-file ()
  (dolist (name '("todo-write-dyn" "todo-write-mcp"))
    (let ((bytes (todo-write-download-tests--file name)))
      (todo-write-download-tests--with name bytes (todo-write-download-tests--answer bytes)
        (let ((todo-write-module-source 'download))
          (todo-write-get-file name "It is missing."))
        (let ((file (todo-write-get--installed name)))
          (should (equal (directory-files todo-write-module-directory nil "[^.]")
                         (list (file-name-nondirectory file))))
          (should (file-executable-p file))
          (should (equal bytes (with-temp-buffer
                                 (set-buffer-multibyte nil)
                                 (insert-file-contents-literally file)
                                 (buffer-string)))))))))

(ert-deftest todo-write-download-installs-nothing-that-differs-from-the-list ()
  (let* ((name "todo-write-mcp")
         (good (todo-write-download-tests--file name)))
    (pcase-dolist (`(,answer ,words)
                   `((,(todo-write-download-tests--answer (concat good "x")) "its SHA-256 is wrong")
                     ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
                      "cannot be downloaded: .*Not found")
                     (nil "cannot be downloaded")))
      (ert-info (words)
        (todo-write-download-tests--with name good answer
          (let* ((todo-write-module-source 'download)
                 (err (should-error (todo-write-get-file name "It is missing.")
                                    :type 'todo-write-error)))
            (should (string-match-p words (error-message-string err)))
            (should-not (file-exists-p todo-write-module-directory))))))))

(ert-deftest todo-write-download-reports-a-folder-that-cannot-be-created ()
  (let ((bytes (todo-write-download-tests--file "todo-write-dyn")) (todo-write-module-source 'download))
    (todo-write-download-tests--with "todo-write-dyn" bytes (todo-write-download-tests--answer bytes)
      (write-region "" nil (concat todo-write-download-tests--folder "file") nil 'silent)
      (let ((todo-write-module-directory (concat todo-write-download-tests--folder "file/module/")))
        (should (string-match-p
                 "cannot be installed: .*; set todo-write-module-directory"
                 (error-message-string (should-error (todo-write-get-file "todo-write-dyn" "It is missing.")
                                                     :type 'todo-write-error))))))))

(ert-deftest todo-write-download-reports-a-missing-list ()
  (todo-write-download-tests--with "todo-write-dyn-for-another-machine" "" ""
    (should (string-match-p
             (concat "no todo-write-dyn to download for " (todo-write-get--machine))
             (error-message-string (should-error (todo-write-get--download "todo-write-dyn")
                                                 :type 'todo-write-error))))))

(ert-deftest todo-write-download-starts-only-after-a-yes ()
  (let ((bytes (todo-write-download-tests--file "todo-write-mcp")) (asked nil) (says nil)
        (todo-write-module-declined nil) (todo-write-module-source 'ask))
    (cl-letf (((symbol-function 'todo-write-get--can-ask-p) #'always)
              ((symbol-function 'y-or-n-p) (lambda (question) (push question asked) says)))
      (todo-write-download-tests--with "todo-write-mcp" bytes (todo-write-download-tests--answer bytes)
        (dotimes (_ 2)
          (should-error (todo-write-get-file "todo-write-mcp" "It is missing.")
                        :type 'todo-write-error))
        (should (equal asked (list (format "It is missing.  Download it from 127.0.0.1:%d? " port))))
        (should-not (file-exists-p (todo-write-get--installed "todo-write-mcp")))
        (setq says t todo-write-module-declined nil)
        (todo-write-get-file "todo-write-mcp" "It is missing.")
        (should (file-exists-p (todo-write-get--installed "todo-write-mcp")))))))

(ert-deftest todo-write-download-is-the-remedy-if-no-question-can-be-asked ()
  (todo-write-download-tests--with "todo-write-dyn" "" ""
    (let ((todo-write-module-source 'ask))
      (should (string-match-p
               "It is missing.  Download it with M-x todo-write-setup"
               (error-message-string (should-error (todo-write-get-file
                                                    "todo-write-dyn" "It is missing."))))))
    (should-not (file-exists-p todo-write-module-directory))))

(defun todo-write-download-tests--first-use (answer)
  "Return the message of the first use in an Emacs that can download ANSWER.
ANSWER is a form.  The package lists the module under test."
  (todo-write-copy-with
    (todo-write-copy-emacs
     `(push ,(file-name-directory (locate-library "todo-write-download-tests")) load-path)
     '(require 'todo-write-download-tests)
     `(let* ((bytes (with-temp-buffer
                      (set-buffer-multibyte nil)
                      (insert-file-contents-literally ,(todo-write-copy-module))
                      (buffer-string)))
             (server (todo-write-download-tests--serve ,todo-write-copy-folder))
             (todo-write-module-source 'download))
        (todo-write-download-tests--put ,todo-write-copy-folder
                                        (todo-write-download-tests--name "todo-write-dyn") ,answer)
        (todo-write-download-tests--list ,todo-write-copy-folder (cdr server)
                                         (list (cons "todo-write-dyn" bytes)))
        (list (condition-case err (todo-write-state "a")
                (error (error-message-string err)))
              (featurep 'todo-write-dyn))))))

(ert-deftest todo-write-download-happens-at-the-first-use ()
  (should (equal (todo-write-download-tests--first-use '(todo-write-download-tests--answer bytes))
                 '(empty t))))

(ert-deftest todo-write-download-does-not-load-a-rejected-file ()
  (pcase-let ((`(,text ,loaded)
               (todo-write-download-tests--first-use
                '(todo-write-download-tests--answer (substring bytes 0 -1)))))
    (should (string-match-p "its SHA-256 is wrong" text))
    (should-not loaded)))

(provide 'todo-write-download-tests)
;;; todo-write-download-tests.el ends here
