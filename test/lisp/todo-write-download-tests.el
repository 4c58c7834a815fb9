;;; todo-write-download-tests.el --- Tests of the download of a release's files  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests download the module and the program todo-write-mcp from an HTTPS
;; server on loopback, that of openssl.  A package lists their addresses and SHA-256.

;;; Code:

(require 'ert)
(require 'todo-write)
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

(defun todo-write-download-tests--answer (bytes &optional length)
  "Return an HTTP answer with BYTES whose header gives the length LENGTH."
  (concat (format "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                  (or length (length bytes)))
          bytes))

(defun todo-write-download-tests--redirect (address)
  "Return an HTTP answer that redirects to ADDRESS."
  (format "HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" address))

(defun todo-write-download-tests--name (name)
  "Return the name of the release's file of NAME for this machine."
  (format "%s-%s%s" name (todo-write-module--machine)
          (or (nth 2 (assoc name todo-write-module--products)) "")))

(defun todo-write-download-tests--list (folder port sums &optional address)
  "Write the list of a release's files into FOLDER, served from PORT.
SUMS is an alist of names and bytes.  ADDRESS replaces the address."
  (with-temp-file (expand-file-name "todo-write-modules.sha256" folder)
    (pcase-dolist (`(,name . ,bytes) sums)
      (insert (format "%s  %s/%s\n" (secure-hash 'sha256 bytes)
                      (or address (format "https://127.0.0.1:%d" port))
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
          (todo-write-module-seconds 20)
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

(defun todo-write-download-tests--file (name &optional version)
  "Return the bytes of a file with the version mark of NAME, VERSION."
  (format "#!/bin/sh\n: '\0%s version %s;'\necho here\n" name (or version todo-write-version)))

(ert-deftest todo-write-download-installs-the-listed-file ()
  (dolist (name '("todo-write-dyn" "todo-write-mcp"))
    (let ((bytes (todo-write-download-tests--file name)))
      (todo-write-download-tests--with name bytes (todo-write-download-tests--answer bytes)
        (let ((todo-write-module-source 'download))
          (todo-write-module-get name "It is missing."))
        (let ((file (todo-write-module--installed name)))
          (should (equal (directory-files todo-write-module-directory nil "[^.]")
                         (list (file-name-nondirectory file))))
          (should (file-executable-p file))
          (should (equal bytes (with-temp-buffer
                                 (set-buffer-multibyte nil)
                                 (insert-file-contents-literally file)
                                 (buffer-string)))))))))

(ert-deftest todo-write-download-rejects-and-deletes-a-file-that-differs-from-the-list ()
  (dolist (name '("todo-write-dyn" "todo-write-mcp"))
    (let* ((good (todo-write-download-tests--file name))
           (old (todo-write-download-tests--file name "0.0.9")))
      (pcase-dolist (`(,listed ,answer ,words)
                     `((,good ,(todo-write-download-tests--answer (concat good "x"))
                              "its SHA-256 is wrong")
                       (,good ,(todo-write-download-tests--answer (substring good 0 20) (length good))
                              "ended after 20 of [0-9]+ bytes")
                       (,old ,(todo-write-download-tests--answer old)
                             "is version 0.0.9, the Lisp files are")
                       (,good "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
                              "the server answered 404")
                       (,good "" "no answer; is there a network")
                       (,good ,(todo-write-download-tests--redirect "http://127.0.0.1:1/a")
                              "http://127.0.0.1:1/a is not an address of https")
                       (,good ,(todo-write-download-tests--redirect "file:///etc/passwd")
                              "file:.*is not an address of https")
                       (,good ,(todo-write-download-tests--redirect
                                (todo-write-download-tests--name name))
                              "it redirects too often")
                       (,good nil "cannot be downloaded")))
        (ert-info ((format "%s: %s" name words))
          (todo-write-download-tests--with name listed answer
            (let* ((todo-write-module-source 'download)
                   (err (should-error (todo-write-module-get name "It is missing.")
                                      :type 'todo-write-error)))
              (should (string-match-p words (error-message-string err)))
              (should-not (and (file-exists-p todo-write-module-directory)
                               (directory-files todo-write-module-directory nil "[^.]"))))))))))

(defun todo-write-download-tests--refusal (answer)
  "Return the error of a download that gets ANSWER, and what was asked or begun.
The value is (TEXT . CALLS), where CALLS are the functions that would ask
the user or write a mail."
  (let ((good (todo-write-download-tests--file "todo-write-mcp"))
        (todo-write-module-source 'download) (calls nil))
    (todo-write-download-tests--with "todo-write-mcp" good answer
      (require 'url-auth)
      (cl-letf (((symbol-function 'read-string) (lambda (&rest _) (push 'read-string calls) "x"))
                ((symbol-function 'read-passwd) (lambda (&rest _) (push 'read-passwd calls) "x"))
                ((symbol-function 'url-mailto) (lambda (&rest _) (push 'url-mailto calls) nil))
                ((symbol-function 'compose-mail) (lambda (&rest _) (push 'compose-mail calls) nil)))
        (let ((err (should-error (todo-write-module-get "todo-write-mcp" "It is missing.")
                                 :type 'todo-write-error)))
          (should-not (file-exists-p (todo-write-module--installed "todo-write-mcp")))
          (cons (error-message-string err) calls))))))

(ert-deftest todo-write-download-asks-for-no-user-name-for-a-server ()
  (pcase-let ((`(,text . ,calls)
               (todo-write-download-tests--refusal
                (concat "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n"
                        "WWW-Authenticate: Basic realm=\"Who are you\"\r\n\r\n"))))
    (should (string-match-p "the server answered 401" text))
    (should-not calls)))

(ert-deftest todo-write-download-asks-for-no-user-name-for-a-proxy ()
  (pcase-let ((`(,text . ,calls)
               (todo-write-download-tests--refusal
                (concat "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n"
                        "Proxy-Authenticate: Basic realm=\"Who are you\"\r\n\r\n"))))
    (should (string-match-p "the server answered 407" text))
    (should-not calls)))

(ert-deftest todo-write-download-begins-no-mail-for-a-redirect-to-mailto ()
  (pcase-let ((`(,text . ,calls)
               (todo-write-download-tests--refusal
                (todo-write-download-tests--redirect "mailto:a@example.org"))))
    (should (string-match-p "mailto:a@example.org is not an address of https" text))
    (should-not calls)))

(ert-deftest todo-write-download-refuses-an-unknown-authority-without-a-question ()
  (let ((bytes (todo-write-download-tests--file "todo-write-mcp")) (todo-write-module-source 'download))
    (todo-write-download-tests--with "todo-write-mcp" bytes (todo-write-download-tests--answer bytes)
      (setq gnutls-trustfiles nil)
      (let ((asked nil) (noninteractive nil))
        (cl-letf (((symbol-function 'nsm-query-user) (lambda (&rest _) (setq asked t) 'session)))
          (should-error (todo-write-module-get "todo-write-mcp" "It is missing.")
                        :type 'todo-write-error))
        (should-not asked)))))

(ert-deftest todo-write-download-follows-a-redirect-to-https ()
  (let ((bytes (todo-write-download-tests--file "todo-write-mcp")) (todo-write-module-source 'download))
    (todo-write-download-tests--with "todo-write-mcp" bytes
        (todo-write-download-tests--redirect "/elsewhere")
      (todo-write-download-tests--put todo-write-download-tests--folder "elsewhere"
                                      (todo-write-download-tests--answer bytes))
      (todo-write-module-get "todo-write-mcp" "It is missing.")
      (should (file-exists-p (todo-write-module--installed "todo-write-mcp"))))))

(ert-deftest todo-write-download-never-leaves-https ()
  (dolist (address '("http://127.0.0.1:1" "httpx://127.0.0.1:1" "http+unix://a"))
    (todo-write-download-tests--with "todo-write-mcp" "a" ""
      (todo-write-download-tests--list todo-write-module-lisp port '(("todo-write-mcp" . "a")) address)
      (let ((todo-write-module-source 'download))
        (should (string-match-p
                 "is not an address of https"
                 (error-message-string
                  (should-error (todo-write-module-get "todo-write-mcp" "It is missing.")
                                :type 'todo-write-error))))))))

(ert-deftest todo-write-download-stops-after-64-mebibytes ()
  (let ((good (todo-write-download-tests--file "todo-write-dyn")) (todo-write-module-source 'download))
    (dolist (answer (list (todo-write-download-tests--answer good (* 65 1024 1024))
                          (concat "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
                                  (make-string (* 65 1024 1024) ?a))))
      (todo-write-download-tests--with "todo-write-dyn" good answer
        (should (string-match-p
                 "it is larger than 64 MiB"
                 (error-message-string
                  (should-error (todo-write-module-get "todo-write-dyn" "It is missing.")
                                :type 'todo-write-error))))
        (should-not (file-exists-p (todo-write-module--installed "todo-write-dyn")))))))

;; The server waits for the other end of a pipe, and so does its client for the server.
(ert-deftest todo-write-download-stops-when-it-takes-too-long ()
  (skip-unless (executable-find "mkfifo"))
  (let ((good (todo-write-download-tests--file "todo-write-mcp"))
        (todo-write-module-source 'download))
    (todo-write-download-tests--with "todo-write-mcp" good ""
      (let ((file (expand-file-name (todo-write-download-tests--name "todo-write-mcp")
                                    todo-write-download-tests--folder))
            (todo-write-module-seconds 1))
        (delete-file file)
        (call-process "mkfifo" nil nil nil file)
        (should (string-match-p
                 "it took too long"
                 (error-message-string
                  (should-error (todo-write-module-get "todo-write-mcp" "It is missing.")
                                :type 'todo-write-error))))))))

(ert-deftest todo-write-download-rejects-a-server-without-a-valid-certificate ()
  (let ((bytes (todo-write-download-tests--file "todo-write-mcp")) (todo-write-module-source 'download))
    (todo-write-download-tests--with "todo-write-mcp" bytes (todo-write-download-tests--answer bytes)
      (let ((gnutls-trustfiles nil))
        (should-error (todo-write-module-get "todo-write-mcp" "It is missing.")
                      :type 'todo-write-error)
        (should-not (file-exists-p (todo-write-module--installed "todo-write-mcp")))))))

(ert-deftest todo-write-download-reports-a-folder-that-cannot-be-created ()
  (let ((bytes (todo-write-download-tests--file "todo-write-dyn")) (todo-write-module-source 'download))
    (todo-write-download-tests--with "todo-write-dyn" bytes (todo-write-download-tests--answer bytes)
      (write-region "" nil (concat todo-write-download-tests--folder "file") nil 'silent)
      (let ((todo-write-module-directory (concat todo-write-download-tests--folder "file/module/")))
        (should (string-match-p
                 "cannot be installed: .*; set todo-write-module-directory"
                 (error-message-string (should-error (todo-write-module-get "todo-write-dyn" "It is missing.")
                                                     :type 'todo-write-error))))))))

(ert-deftest todo-write-download-reports-a-missing-list ()
  (todo-write-download-tests--with "todo-write-dyn-for-another-machine" "" ""
    (should (string-match-p
             (concat "no todo-write-dyn to download for " (todo-write-module--machine))
             (error-message-string (should-error (todo-write-module--download "todo-write-dyn")
                                                 :type 'todo-write-error))))))

(ert-deftest todo-write-download-starts-only-after-a-yes ()
  (let ((bytes (todo-write-download-tests--file "todo-write-mcp")) (asked nil) (says nil)
        (todo-write-module-declined nil) (todo-write-module-source 'ask))
    (cl-letf (((symbol-function 'todo-write-module--can-ask-p) #'always)
              ((symbol-function 'y-or-n-p) (lambda (question) (push question asked) says)))
      (todo-write-download-tests--with "todo-write-mcp" bytes (todo-write-download-tests--answer bytes)
        (dotimes (_ 2)
          (should-error (todo-write-module-get "todo-write-mcp" "It is missing.")
                        :type 'todo-write-error))
        (should (equal asked (list (format "It is missing.  Download it from 127.0.0.1:%d? " port))))
        (should-not (file-exists-p (todo-write-module--installed "todo-write-mcp")))
        (setq says t todo-write-module-declined nil)
        (todo-write-module-get "todo-write-mcp" "It is missing.")
        (should (file-exists-p (todo-write-module--installed "todo-write-mcp")))))))

(ert-deftest todo-write-download-is-the-remedy-if-no-question-can-be-asked ()
  (todo-write-download-tests--with "todo-write-dyn" "" ""
    (let ((todo-write-module-source 'ask))
      (should (string-match-p
               "It is missing.  Download it with M-x todo-write-module-load"
               (error-message-string (should-error (todo-write-module-get
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
