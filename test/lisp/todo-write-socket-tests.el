;;; todo-write-socket-tests.el --- Tests of the socket  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests connect to the socket as programs do, and as no program should.  Floods,
;; slow readers and other Emacsen are in test/rust/door.rs.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-socket-helper)

(defvar todo-write-socket-tests--owned nil
  "Non-nil once text of a connection has been evaluated.")

;;; Where it lies

(ert-deftest todo-write-socket-only-the-user-can-open-it ()
  (let ((todo-write-socket (expand-file-name "new/socket" (make-temp-file "socket" t)))
        (modes (default-file-modes)))
    (unwind-protect
        (progn
          (set-default-file-modes #o777)
          (todo-write-socket-open)
          (should (equal #o700 (file-modes (file-name-directory todo-write-socket))))
          (should (equal "srwx------" (file-attribute-modes (file-attributes todo-write-socket))))
          (todo-write-socket-close)
          (should-not (file-exists-p todo-write-socket)))
      (set-default-file-modes modes)
      (todo-write-socket-close))))

(ert-deftest todo-write-socket-lies-in-the-users-own-folder ()
  (let ((todo-write-socket nil)
        (process-environment (cons "TODO_WRITE_SANDBOX" process-environment)))
    (should (member (todo-write-socket-file)
                    (list (format "/run/user/%d/todo-write/socket" (user-uid))
                          (format "/tmp/todo-write-%d/socket" (user-uid)))))))

(ert-deftest todo-write-socket-refuses-a-folder-that-others-can-use ()
  (let* ((folder (make-temp-file "socket" t))
         (link (concat folder "-link")))
    (make-symbolic-link folder link)
    (pcase-dolist (`(,name ,modes) `((,folder #o755) (,folder #o770) (,folder #o701)
                                     (,link #o700)))
      (set-file-modes folder modes)
      (let ((todo-write-socket (expand-file-name "socket" name)))
        (should-error (todo-write-socket-open) :type 'todo-write-error)
        (should-not (todo-write-socket-state))
        (should-not (file-exists-p todo-write-socket))))))

(ert-deftest todo-write-socket-refuses-the-folder-or-socket-of-another-user ()
  (unless (eql 0 (user-uid))
    (ert-skip "Only root can give a file away"))
  (let ((todo-write-socket (todo-write-socket-test-file)))
    (make-network-process :name "test-program" :server t :family 'local
                          :service todo-write-socket :noquery t)
    (set-file-modes todo-write-socket #o700)
    (unwind-protect
        (dolist (file (list todo-write-socket
                            (directory-file-name (file-name-directory todo-write-socket))))
          (should (eql 0 (call-process "chown" nil nil nil "12345" file)))
          (should-error (todo-write-socket-open) :type 'todo-write-error)
          (should-not (todo-write-socket-state))
          (should (file-attributes todo-write-socket)))
      (todo-write-socket-test-close-all))))

(ert-deftest todo-write-socket-replaces-a-stale-one-and-no-other-file ()
  (let* ((todo-write-socket (todo-write-socket-test-file))
         (stale (make-network-process :name "stale" :server t :family 'local
                                      :service todo-write-socket :noquery t)))
    (set-file-modes todo-write-socket #o700)
    (delete-process stale)
    (unwind-protect
        (progn (todo-write-socket-open)
               (should (eq 'open (todo-write-socket-state)))
               (should (equal '("socket") (directory-files (file-name-directory todo-write-socket)
                                                           nil "socket"))))
      (todo-write-socket-close))
    (write-region "mine" nil todo-write-socket nil 'silent)
    (set-file-modes todo-write-socket #o600)
    (should-error (todo-write-socket-open) :type 'todo-write-error)
    (should (file-exists-p todo-write-socket))))

(ert-deftest todo-write-socket-deletes-only-its-own-files-beside-it ()
  (todo-write-with-socket
    (let ((told (expand-file-name "told/" (file-name-directory todo-write-socket))))
      (write-region "" nil (concat told "s1") nil 'silent)
      (todo-write-mcp-mode -1)
      (should-not (file-exists-p told))
      ;; The user chose a folder that has a folder of that name.
      (make-directory (concat told "fairies") t)
      (write-region "Once upon a time\n" nil (concat told "tale") nil 'silent)
      (todo-write-mcp-mode)
      (write-region "" nil (concat told "s1") nil 'silent)
      (todo-write-mcp-mode -1)
      (should (equal '("fairies" "tale") (directory-files told nil "\\`[^.]"))))))

(ert-deftest todo-write-socket-refuses-a-name-of-a-hundred-bytes-in-words ()
  (let ((todo-write-socket (concat (make-temp-file "socket" t) "/" (make-string 100 ?x))))
    (should (string-match-p "100 bytes or longer"
                            (cadr (should-error (todo-write-socket-open)
                                                :type 'todo-write-error))))))

(ert-deftest todo-write-socket-that-cannot-be-opened-leaves-the-mode-off ()
  (let ((todo-write-socket "/proc/nowhere/socket") (warning-minimum-log-level :emergency))
    (todo-write-mcp-mode)
    (should-not todo-write-mcp-mode)))

;;; Lines

(ert-deftest todo-write-socket-lines-may-come-in-pieces-and-together ()
  (todo-write-with-socket
    (let ((process (todo-write-socket-test-hello))
          (other (todo-write-socket-test-hello :id "program-2"))
          (line (encode-coding-string
                 (concat "{\"type\":\"call\",\"call\":1,\"session\":\"a\",\"arguments\":{\"todos\":"
                         "[{\"content\":\"Wässern\",\"status\":\"pending\",\"activeForm\":\"W\"}]}}\n")
                 'utf-8)))
      (dolist (piece (seq-partition line 5))
        (process-send-string process piece)
        ;; The answer to a later line says that the piece was read.
        (todo-write-socket-test-call other '(:arguments :null)))
      (process-send-string process (concat line line))
      (dotimes (_ 3)
        (should (plist-get (todo-write-socket-test-read process) :ok)))
      (should (equal '("Wässern") (todo-write-test-contents "claude:a"))))))

(ert-deftest todo-write-socket-passes-the-agents-input-on-as-it-is ()
  (todo-write-with-socket
    (let ((input "{ \"todos\" :[],\"a\":1.50,\"a\":1e400, \"é\":\"\\u00e9\" }") got)
      (cl-letf (((alist-get "tool" todo-write-socket--roles nil nil #'equal)
                 (lambda (connection message)
                   (when (eq (plist-get message :type) 'call)
                     (setq got (plist-get message :arguments))
                     (todo-write-socket-answer connection message t "")))))
        (let ((process (todo-write-socket-test-hello)))
          (todo-write-socket-test-send
           process (encode-coding-string
                    (format "{\"type\":\"call\",\"call\":7,\"arguments\":%s}" input) 'utf-8))
          (should (equal 7 (plist-get (todo-write-socket-test-read process) :call)))
          (should (equal got input)))))))

(ert-deftest todo-write-socket-ends-a-connection-with-an-invalid-line-in-words ()
  (todo-write-with-socket
    (let ((todo-write-socket-tests--owned nil))
      (dolist (line (list "" "garbage" "null" "[]" "{}" "{\"type\":7}" "{\"type\":\"call\"}"
                          "(setq todo-write-socket-tests--owned t)"
                          "{\"type\":\"call\",\"call\":\"1\"}"
                          "{\"type\":\"call\",\"call\":1,\"session\":{}}"
                          "{\"type\":\"call\",\"call\":-1}"
                          "{\"type\":\"call\",\"call\":1,\"arguments\":[}"
                          "{\"type\":\"call\",\"call\":1,\"session\":\"\303\"}"
                          "{\"type\":\"call\",\"call\":1,\"session\":\"\377\376\"}"
                          (make-string 100000 ?\[)
                          (concat "{\"type\":" (make-string 100000 ?\[))))
        (ert-info ((truncate-string-to-width line 60) :prefix "Line: ")
          (let ((process (todo-write-socket-test-hello)))
            (todo-write-socket-test-send process line)
            (let ((answer (todo-write-socket-test-read process)))
              (should (equal "refused" (plist-get answer :type)))
              (should (< 10 (length (plist-get answer :text)) 400)))
            (should-not (todo-write-socket-test-read process)))))
      (should-not todo-write-socket-tests--owned)
      (todo-write-test-wait (lambda () (null todo-write-socket--connections))))))

(ert-deftest todo-write-socket-deep-input-is-refused-and-the-connection-stays ()
  (todo-write-with-socket
    (let ((process (todo-write-socket-test-hello)))
      (todo-write-socket-test-send
       process (concat "{\"type\":\"call\",\"call\":1,\"session\":\"a\",\"arguments\":{\"todos\":"
                       (make-string 200000 ?\[) (make-string 200000 ?\]) "}}"))
      (should-not (plist-get (todo-write-socket-test-read process) :ok))
      (should (car (todo-write-socket-test-write process "a" "One"))))))

(ert-deftest todo-write-socket-ignores-unknown-types-and-fields ()
  (todo-write-with-socket
    (let ((process (todo-write-socket-test-hello :later '(:x 1))))
      (todo-write-socket-test-send process '(:type "kill-emacs"))
      (todo-write-socket-test-send process '(:type "later" :form "(kill-emacs)"))
      (should (car (todo-write-socket-test-call
                    process (list :session "a" :later [1] :arguments
                                  (todo-write-test-todos "One"))))))))

(ert-deftest todo-write-socket-needs-a-hello-first-and-a-role-that-it-knows ()
  (todo-write-with-socket
    (dolist (line '((:type "call" :call 1) (:type "bye")
                    (:type "hello" :protocol 2 :roles ["eval"] :id "x")
                    (:type "hello" :protocol 2 :id "x")))
      (let ((process (todo-write-socket-test-connect)))
        (todo-write-socket-test-send process line)
        (should (equal "refused" (plist-get (todo-write-socket-test-read process) :type)))
        (should-not (todo-write-socket-test-read process))))))

(ert-deftest todo-write-socket-interns-nothing-of-a-message ()
  (todo-write-with-socket
    (let ((process (todo-write-socket-test-hello :role "tool" :todo-write-hostile-key 1)))
      (todo-write-socket-test-send process "{\"type\":\"todo-write-hostile-type\"}")
      (todo-write-socket-test-send process "{\"type\":\"bye\",\"todo-write-hostile-field\":1}")
      (todo-write-test-wait (lambda () (hash-table-empty-p todo-write-program-all)))
      (should-not (intern-soft (concat "todo-write-hostile-" "type")))
      (should-not (intern-soft (concat ":todo-write-hostile-" "field"))))))

;; A function of the user's may wait for input while a list is written.
(ert-deftest todo-write-socket-handles-lines-whole-and-in-order-while-one-waits ()
  (todo-write-with-socket
    (let* ((program (todo-write-socket-test-hello))
           (other (todo-write-socket-test-hello :id "program-2"))
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
                                                           (funcall line 4)))
                      ;; Another program is served meanwhile.
                      (todo-write-socket-test-write other "b" "Other"))))))
      (process-send-string program (concat (funcall line 1) (funcall line 2)
                                           (substring (funcall line 3) 0 5)))
      (should (equal '(1 2 3 4)
                     (cl-loop repeat 4 collect
                              (plist-get (todo-write-socket-test-read program) :call))))
      (should (equal '("List 1" "Other" "List 2" "List 3" "List 4") (nreverse handled))))))

;;; Versions

(ert-deftest todo-write-socket-says-on-both-sides-that-versions-differ ()
  (todo-write-with-socket
    (let ((process (todo-write-socket-test-connect)))
      (todo-write-socket-test-send process '(:type "hello" :protocol 3 :roles ["tool"] :id "x"))
      (should (string-search "M-x todo-write-mcp-setup"
                             (plist-get (todo-write-socket-test-read process) :text)))
      (todo-write-test-wait (lambda () (= 1 (length todo-write-socket--shown)))))
    (let ((process (todo-write-socket-test-hello :version "0.0.1")))
      (should (car (todo-write-socket-test-write process "a" "One"))))
    (should (equal '("is not of the same version as todo-write")
                   todo-write-socket-outdated-programs))))

(provide 'todo-write-socket-tests)
;;; todo-write-socket-tests.el ends here
