;;; todo-write-socket-helper.el --- Programs that connect to the socket  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Connections to the socket of this Emacs, as programs make them: they send lines
;; and read answers.

;;; Code:

(require 'ert)
(require 'todo-write-agents)
(require 'todo-write-socket)
(require 'todo-write-test-helper)

(defun todo-write-socket-test-file ()
  "Return the name of a socket in a new private folder."
  (expand-file-name "socket" (make-temp-file "socket" t)))

(defun todo-write-socket-test-open ()
  "Open the socket; return `open', or the words why that is impossible."
  (todo-write-socket-open)
  (let ((door (todo-write-test-wait #'todo-write-socket-door)))
    (if (eq 'failed (car-safe door)) (cadr door) (todo-write-socket-state))))

(defmacro todo-write-with-socket (&rest body)
  "Evaluate BODY with an empty store while `todo-write-agents-mode' is on."
  (declare (indent 0) (debug t))
  `(let ((todo-write-socket (todo-write-socket-test-file))
         (todo-write-socket--shown nil)
         (todo-write-socket-outdated-programs nil)
         (todo-write-socket-programs nil))
     (todo-write-with-store
       (unwind-protect
           (progn (todo-write-agents-mode)
                  (todo-write-test-wait (lambda () (eq 'open (todo-write-socket-state))))
                  ,@body)
         (todo-write-agents-mode -1)
         (todo-write-socket-test-close-all)))))

(defun todo-write-socket-test-live ()
  "Return the programs that are connected."
  (seq-filter #'todo-write-socket-live-p todo-write-socket-programs))

(defun todo-write-socket-test-close-all ()
  "Close all connections of this file."
  (dolist (process (process-list))
    (when (string-prefix-p "test-program" (process-name process))
      (delete-process process))))

(defvar todo-write-socket-test-at nil
  "The socket to which tests connect, nil for the one for programs of this machine.")

(defun todo-write-socket-test-connect (&optional file)
  "Return a connection to the socket FILE, by default `todo-write-socket-test-at'.
It tries again until a program listens there."
  (let ((buffer (generate-new-buffer " *test program*" t)) process)
    (todo-write-test-wait
     (lambda ()
       (ignore-error file-error
         (setq process (make-network-process
                        :name "test-program" :family 'local :coding 'binary :noquery t
                        :service (or file todo-write-socket-test-at todo-write-socket
                                     (concat (getenv "TODO_WRITE_SANDBOX") "/socket"))
                        :buffer buffer :sentinel #'ignore)))))
    process))

(defun todo-write-socket-test-send (process line)
  "Send LINE, bytes or a plist, to PROCESS."
  (process-send-string process
                       (concat (if (stringp line) line (json-serialize line)) "\n")))

(defun todo-write-socket-test-read (process)
  "Return the next line of PROCESS as a plist, or nil once it is closed."
  (with-current-buffer (process-buffer process)
    (todo-write-test-wait (lambda ()
                            (goto-char (point-min))
                            (or (search-forward "\n" nil t)
                                (not (process-live-p process)))))
    (when (> (point) (point-min))
      (prog1 (json-parse-string
              (decode-coding-string (buffer-substring (point-min) (point)) 'utf-8)
              :object-type 'plist :false-object nil :null-object nil)
        (delete-region (point-min) (point))))))

(defun todo-write-socket-test-hello (&rest fields)
  "Connect as a program whose hello has FIELDS, a plist; return the connection.
Its :role is by default \"tool\".  The answer must be a welcome, and Emacs
has handled the hello when this returns."
  (let ((process (todo-write-socket-test-connect))
        (before todo-write-socket-programs))
    (todo-write-socket-test-send
     process (append '(:type "hello") fields
                     (list :protocol 2 :roles (vector (or (plist-get fields :role) "tool"))
                           :id "program-1" :version todo-write-version
                           :client "claude-code" :process (emacs-pid) :started 17
                           :project temporary-file-directory)))
    (should (equal "welcome" (plist-get (todo-write-socket-test-read process) :type)))
    ;; Another Emacs may have the socket.
    (when (bound-and-true-p todo-write-agents-mode)
      (todo-write-test-wait (lambda () (not (eq before todo-write-socket-programs)))))
    process))

(defun todo-write-socket-test-call (process call)
  "Send CALL, a plist, to PROCESS; return (OK . TEXT), the answer."
  (todo-write-socket-test-send process (append '(:type "call") call '(:call 1)))
  (let ((answer (todo-write-socket-test-read process)))
    ;; It may be told meanwhile that there is something to ask for.
    (while (equal "tell" (plist-get answer :type))
      (setq answer (todo-write-socket-test-read process)))
    (should (equal "answer" (plist-get answer :type)))
    (cons (plist-get answer :ok) (plist-get answer :text))))

(defun todo-write-socket-test-write (process session &rest entries)
  "Write ENTRIES for SESSION by PROCESS; return (OK . TEXT), the answer."
  (todo-write-socket-test-call
   process (list :session (or session :null)
                 :arguments (apply #'todo-write-test-todos entries))))

(provide 'todo-write-socket-helper)
;;; todo-write-socket-helper.el ends here
