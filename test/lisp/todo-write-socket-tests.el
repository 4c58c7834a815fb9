;;; todo-write-socket-tests.el --- Tests of the socket  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests connect to the socket as programs do, and as no program should.  Where it
;; may lie, which lines are valid, limits, floods, slow readers and other Emacsen are in
;; agents/test/rust/door.rs.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-socket-helper)

;;; Where it lies

(ert-deftest todo-write-socket-only-the-user-can-open-it ()
  (let ((todo-write-socket (expand-file-name "new/socket" (make-temp-file "socket" t)))
        (modes (default-file-modes)))
    (unwind-protect
        (progn
          (set-default-file-modes #o777)
          (should (eq 'open (todo-write-socket-test-open)))
          (should (equal #o700 (file-modes (file-name-directory todo-write-socket))))
          (should (equal "srwx------" (file-attribute-modes (file-attributes todo-write-socket))))
          (todo-write-socket-close)
          (todo-write-test-wait (lambda () (not (file-exists-p todo-write-socket)))))
      (set-default-file-modes modes)
      (todo-write-socket-close))))

(ert-deftest todo-write-socket-refuses-a-name-of-a-hundred-bytes-in-words ()
  (let ((todo-write-socket (concat (make-temp-file "socket" t) "/" (make-string 100 ?x))))
    (should (string-match-p "100 bytes or longer" (todo-write-socket-test-open)))
    (todo-write-socket-close)))

(ert-deftest todo-write-socket-that-cannot-be-opened-is-said ()
  (let ((todo-write-socket "/proc/nowhere/socket") said)
    (cl-letf (((symbol-function 'display-warning) (lambda (_type text &rest _) (push text said))))
      (todo-write-agents-mode)
      (todo-write-test-wait (lambda () said))
      (should (string-search "/proc/nowhere" (car said)))
      (todo-write-agents-mode -1))))

;;; Lines

(ert-deftest todo-write-socket-deep-input-is-refused-and-the-connection-stays ()
  (todo-write-with-socket
    (let ((process (todo-write-socket-test-hello)))
      (todo-write-socket-test-send
       process (concat "{\"type\":\"call\",\"call\":1,\"session\":\"a\",\"arguments\":{\"todos\":"
                       (make-string 200000 ?\[) (make-string 200000 ?\]) "}}"))
      (should-not (plist-get (todo-write-socket-test-read process) :ok))
      (should (car (todo-write-socket-test-write process "a" "One"))))))

(ert-deftest todo-write-socket-opens-again-after-an-opening-that-was-taken-back-at-once ()
  (todo-write-with-socket
    (dotimes (_ 3)
      (todo-write-agents-mode -1)
      (todo-write-agents-mode)
      (todo-write-agents-mode -1)
      ;; The program tells of the first opening before it answers this.
      (todo-write-follow--offered default-directory nil)
      (setq todo-write-socket (todo-write-socket-test-file))
      (todo-write-agents-mode)
      (todo-write-socket-test-hello))))

(ert-deftest todo-write-socket-interns-nothing-of-a-message ()
  (todo-write-with-socket
    (let ((process (todo-write-socket-test-hello :role "tool" :todo-write-hostile-key 1)))
      (todo-write-socket-test-send process "{\"type\":\"todo-write-hostile-type\"}")
      (todo-write-socket-test-send process "{\"type\":\"bye\",\"todo-write-hostile-field\":1}")
      (todo-write-test-wait
       (lambda () (seq-some #'todo-write-socket-program-ended todo-write-socket-programs)))
      (should-not (intern-soft (concat "todo-write-hostile-" "type")))
      (should-not (intern-soft (concat ":todo-write-hostile-" "field"))))))

;; A function of the user's may wait for input while a list is written.
(ert-deftest todo-write-socket-handles-lines-whole-and-in-order ()
  (todo-write-with-socket
    (let* ((program (todo-write-socket-test-hello))
           (line (lambda (number)
                   (concat (json-serialize
                            `(:type "call" :call ,number :session "a"
                              :arguments ,(todo-write-test-todos (format "List %d" number))))
                           "\n")))
           (handled nil)
           (todo-write-change-functions
            (list (lambda (thread _)
                    (push (car (todo-write-test-contents thread)) handled)
                    (when (equal handled '("List 1"))
                      (process-send-string program (concat (substring (funcall line 3) 5)
                                                           (funcall line 4))))))))
      (process-send-string program (concat (funcall line 1) (funcall line 2)
                                           (substring (funcall line 3) 0 5)))
      (should (equal '(1 2 3 4)
                     (cl-loop repeat 4 collect
                              (plist-get (todo-write-socket-test-read program) :call))))
      (should (equal '("List 1" "List 2" "List 3" "List 4") (nreverse handled))))))

;;; Versions

(ert-deftest todo-write-socket-says-on-both-sides-that-versions-differ ()
  (todo-write-with-socket
    (let ((process (todo-write-socket-test-connect)))
      (todo-write-socket-test-send process '(:type "hello" :protocol 3 :roles ["tool"] :id "x"))
      (should (string-search "M-x todo-write-setup"
                             (plist-get (todo-write-socket-test-read process) :text)))
      (todo-write-test-wait (lambda () (= 1 (length todo-write-socket--shown)))))
    (let ((process (todo-write-socket-test-hello :version "0.0.1")))
      (should (car (todo-write-socket-test-write process "a" "One"))))
    (should (equal '("is not of the same version as todo-write")
                   todo-write-socket-outdated-programs))))

(provide 'todo-write-socket-tests)
;;; todo-write-socket-tests.el ends here
