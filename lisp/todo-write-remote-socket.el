;;; todo-write-remote-socket.el --- A listener for each machine  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Each other machine has a listener of its own, by which its programs reach this Emacs
;; and are known to be on it: a socket that SSH forwards or a container mounts, or a TCP
;; port on this machine's loopback interface.  Each socket is alone in its
;; folder, so that a container can mount that folder and find the socket again after
;; a restart of Emacs.
;;
;; Other users of both machines reach a TCP port.  So each side proves that it has
;; the token, a secret in a file, without sending it.

;;; Code:

(require 'cl-lib)
(require 'hex-util)
(require 'hmac-def)
(require 'seq)
(require 'subr-x)
(require 'todo-write-remote)
(require 'todo-write-socket)

(defvar todo-write-remote-socket--listeners nil
  "The processes that accept connections from other machines.
Their property `todo-write-remote' is the name of the machine, and
`todo-write-token' the token of a TCP port.")

;;; Where

(defun todo-write-remote-socket--file (name)
  "Return the name of the socket for the machine NAME, or nil if that has a port."
  (unless (todo-write-remote--get name :port)
    (let (file-name-handler-alist)
      (expand-file-name (or (todo-write-remote--get name :socket)
                            (format "remote/%s/socket" name))
                        (file-name-directory (todo-write-socket--file))))))

(defun todo-write-remote-socket--token-file (name)
  "Return the name of the file with the token of the machine NAME."
  (let (file-name-handler-alist)
    (expand-file-name (or (todo-write-remote--get name :token)
                          (locate-user-emacs-file (format "todo-write-%s.token" name))))))

(defun todo-write-remote-socket--token (name)
  "Return the token of the machine NAME, 64 hexadecimal digits.
Make its file if it is missing.  Signal `todo-write-error' if others can
read the file."
  (let ((file (todo-write-remote-socket--token-file name))
        (file-name-handler-alist nil))
    (unless (file-attributes file)
      (with-file-modes #o600
        (write-region (concat (todo-write-remote-socket--random) "\n")
                      nil file nil 'silent nil 'excl)))
    (let ((attributes (file-attributes file 'integer)))
      (unless (and (null (file-attribute-type attributes))
                   (eql (file-attribute-user-id attributes) (user-uid))
                   (or (eq system-type 'windows-nt)
                       (zerop (logand (file-modes file 'nofollow) #o077))))
        (todo-write-module--error "%s must be a file of yours alone, with mode 0600" file)))
    (let ((text (todo-write--file-bytes file 100)))
      (if (and text (string-match "\\`\\([0-9a-f]\\{64\\}\\)[\r\n]*\\'" text))
          (match-string 1 text)
        (todo-write-module--error "%s does not hold 64 hexadecimal digits" file)))))

(defun todo-write-remote-socket--random ()
  "Return 64 random hexadecimal digits, from the system's source of secrets."
  (let ((default-directory (expand-file-name "/"))
        (coding-system-for-read 'binary))
    (with-temp-buffer
      (set-buffer-multibyte nil)
      (unless (and (file-exists-p "/dev/urandom")
                   (eql 0 (call-process "head" nil t nil "-c" "32" "/dev/urandom"))
                   (= 32 (buffer-size)))
        (todo-write-module--error
         "This system has no /dev/urandom: put 64 random hexadecimal digits into the token file"))
      (encode-hex-string (buffer-string)))))

;;; Opening and closing

(defun todo-write-remote-socket--open ()
  "Accept connections from the machines in `todo-write-remotes'.
Warn of a machine whose listener cannot be opened safely."
  (add-hook 'kill-emacs-hook #'todo-write-socket--close)
  (pcase-dolist (`(,name . ,_) todo-write-remotes)
    (condition-case err
        (let ((listener (todo-write-remote-socket--listen name)))
          (process-put listener 'todo-write-remote name)
          (push listener todo-write-remote-socket--listeners))
      ((todo-write-error file-error)
       (display-warning 'todo-write
                        (format "Agents on %s do not reach this Emacs: %s" name
                                (if (eq (car err) 'todo-write-error) (cadr err)
                                  (error-message-string err))))))))

(defun todo-write-remote-socket--listen (name)
  "Return a process that accepts connections from the machine NAME."
  (unless (todo-write-remote--name-p name)
    (todo-write-module--error "%S cannot name a machine in todo-write-remotes" name))
  (when (seq-some (lambda (listener) (equal name (process-get listener 'todo-write-remote)))
                  todo-write-remote-socket--listeners)
    (todo-write-module--error "Two machines in todo-write-remotes are named %s" name))
  (todo-write-remote--file name "/")
  ;; A call of an agent should not wait for this.
  (require 'tramp)
  (if-let* ((port (todo-write-remote--get name :port)))
      (let* ((token (todo-write-remote-socket--token name))
             (listener (todo-write-socket--listen port :family 'ipv4 :host "127.0.0.1")))
        (process-put listener 'todo-write-token token)
        listener)
    (let ((file (todo-write-remote-socket--file name))
          (file-name-handler-alist nil))
      (todo-write-socket--prepare file)
      (todo-write-socket--delete-stale file)
      (when (file-attributes file)
        (todo-write-module--error "Another program listens to %s" file))
      (todo-write-socket--listen file))))

(defun todo-write-remote-socket--close ()
  "Accept no more connections from other machines."
  (mapc #'todo-write-socket--end-listener todo-write-remote-socket--listeners)
  (setq todo-write-remote-socket--listeners nil))

(defun todo-write-remote-socket--open-p (name)
  "Return non-nil if programs on the machine NAME can reach this Emacs."
  (seq-some (lambda (listener)
              (and (equal name (process-get listener 'todo-write-remote))
                   (process-live-p listener)))
            todo-write-remote-socket--listeners))

;;; Proofs

(defun todo-write-remote-socket--hash (bytes)
  "Return the SHA-256 of BYTES, as bytes."
  (secure-hash 'sha256 bytes nil nil t))

(define-hmac-function todo-write-remote-socket--hmac todo-write-remote-socket--hash 64 32)

(defun todo-write-remote-socket--mac (token side nonce)
  "Return the proof that SIDE, `program' or `emacs', has TOKEN, in answer to NONCE."
  (encode-hex-string
   (todo-write-remote-socket--hmac
    (encode-coding-string (format "%s:%s" side nonce) 'utf-8) token)))

(defvar todo-write-remote-socket--count 0
  "Number of the challenges.")

(defun todo-write-remote-socket--challenge (connection)
  "Ask the program of CONNECTION, which came by a TCP port, to prove itself."
  (let ((nonce (todo-write-remote-socket--mac
                (process-get (todo-write-socket--connection-process connection)
                             'todo-write-token)
                "nonce" (format "%d %d %s" (cl-incf todo-write-remote-socket--count)
                                (emacs-pid) (format-time-string "%s.%N")))))
    (setf (todo-write-socket--connection-nonce connection) nonce)
    (todo-write-socket--send connection (list :type "challenge" :nonce nonce))))

(defun todo-write-remote-socket--proof (connection hello)
  "Return this side's proof for HELLO if that proves itself on CONNECTION, or nil."
  (let ((token (process-get (todo-write-socket--connection-process connection)
                            'todo-write-token))
        (nonce (plist-get hello :nonce)))
    (and (stringp nonce)
         (equal (plist-get hello :proof)
                (todo-write-remote-socket--mac
                 token "program" (todo-write-socket--connection-nonce connection)))
         (todo-write-remote-socket--mac token "emacs" nonce))))

(provide 'todo-write-remote-socket)
;;; todo-write-remote-socket.el ends here
