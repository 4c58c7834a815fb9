;;; todo-write-request-tests.el --- Tests of the open requests  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What hosts and the user's Lisp do with requests.

;;; Code:

(require 'todo-write-test-helper)

(defvar todo-write-request-tests--answers nil
  "What `:answer' functions were called with, newest first.")

(defmacro todo-write-request-tests--with (&rest body)
  "Run BODY with an empty store and no open request."
  (declare (indent 0) (debug t))
  `(todo-write-with-store
     (let ((todo-write-request-tests--answers nil))
       (unwind-protect (progn ,@body)
         (dolist (request (todo-write-requests))
           (todo-write-withdraw (plist-get request :thread) (plist-get request :id)))))))

(defun todo-write-request-tests--ask (thread id &rest request)
  "Let the agent of THREAD ask ID; REQUEST replaces fields of the question."
  (apply #'todo-write-request thread
         (append request
                 (list :id id :kind 'permission :title "npm test" :detail "npm test"
                       :options '((:label "Yes" :value yes :kind allow)
                                  (:label "All tests" :value ever :kind always)
                                  (:label "No" :value no :kind deny :text t))
                       :answer (lambda (value text)
                                 (push (list id value text)
                                       todo-write-request-tests--answers))))))

(defun todo-write-request-tests--recorded (thread)
  "Return what was recorded about requests of THREAD, a list of plists."
  (seq-map (lambda (observation) (plist-get (plist-get observation :content) :request))
           (todo-write-observations thread :type "STATE_UPDATE")))

(ert-deftest todo-write-request-is-open-until-it-is-answered ()
  (todo-write-request-tests--with
    (let ((before (todo-write-core-now)))
      (should (equal "1" (todo-write-request-tests--ask "a" "1")))
      (should (<= before (plist-get (car (todo-write-requests "a")) :since)
                  (todo-write-core-now))))
    (todo-write-request-tests--ask "b" "1")
    (should (equal '("a" "b") (mapcar (lambda (request) (plist-get request :thread))
                                      (todo-write-requests))))
    (should (equal "npm test" (plist-get (car (todo-write-requests "a")) :title)))
    (should (eq t (todo-write-answer-request "a" "1" 'no "Use make check")))
    (should (equal todo-write-request-tests--answers '(("1" no "Use make check"))))
    (should-not (todo-write-requests "a"))
    (should (todo-write-requests "b"))))

(ert-deftest todo-write-request-is-answered-once ()
  (todo-write-request-tests--with
    (todo-write-request-tests--ask "a" "1")
    (should (todo-write-answer-request "a" "1" 'yes))
    (should-not (todo-write-answer-request "a" "1" 'no))
    (should-not (todo-write-answer-request "a" "2" 'no))
    (should (= 1 (length todo-write-request-tests--answers)))))

(ert-deftest todo-write-request-that-is-withdrawn-gets-no-answer ()
  (todo-write-request-tests--with
    (todo-write-request-tests--ask "a" "1")
    (todo-write-withdraw "a" "1")
    (todo-write-withdraw "a" "1")
    (should-not (todo-write-answer-request "a" "1" 'yes))
    (should-not todo-write-request-tests--answers)
    (should (equal "withdrawn" (plist-get (car (todo-write-request-tests--recorded "a"))
                                          :outcome)))))

(ert-deftest todo-write-request-tells-its-host-once-that-it-was-withdrawn ()
  (dolist (end (list (lambda () (todo-write-withdraw "a" "1"))
                     (lambda () (todo-write-end-turn "a"))
                     (lambda () (todo-write-forget "a"))
                     (lambda () (todo-write-request-tests--ask "a" "1"))))
    (todo-write-request-tests--with
      (let ((told 0) debug-on-error)
        (todo-write-test-write "a" "Test")
        (todo-write-request-tests--ask "a" "1" :withdrawn (lambda () (cl-incf told) (error "Gone")))
        (funcall end)
        (should (= 1 told))
        (todo-write-request-tests--ask "a" "2" :withdrawn (lambda () (cl-incf told)))
        (todo-write-answer-request "a" "2" 'yes)
        (should (= 1 told))))))

(ert-deftest todo-write-request-takes-only-its-own-answers ()
  (todo-write-request-tests--with
    (todo-write-request-tests--ask "a" "1")
    (dolist (wrong '((maybe) (nil) (yes "A message") (no 3)))
      (should-error (apply #'todo-write-answer-request "a" "1" wrong)
                    :type 'todo-write-input-error))
    (todo-write-request-tests--ask
     "a" "2" :kind 'question :options nil
     :questions '((:question "Colour?" :options ((:label "Red"))) (:question "Files?" :multiple t)))
    (dolist (wrong '((("Colour?" . "Red")) (("Colour?" "Red" "Blue") ("Files?" "x")) yes
                     (("Colour?" . "Red") ("Files?" "x") ("More?" . "y"))))
      (should-error (todo-write-answer-request "a" "2" wrong) :type 'todo-write-input-error))
    (should (todo-write-answer-request "a" "2" '(("Colour?" . "Red") ("Files?" "x" "y"))))
    (should (= 1 (length (todo-write-requests))))))

(ert-deftest todo-write-request-is-checked ()
  (todo-write-request-tests--with
    (dolist (wrong '((:id 3) (:kind maybe) (:title nil) (:detail 3) (:format html)
                     (:options (1)) (:options ((:label "x" :kind perhaps)))
                     (:questions ((:header "x"))) (:answer 3) (:visit 3)))
      (should-error (apply #'todo-write-request-tests--ask "a" "1" wrong)
                    :type 'todo-write-input-error))
    (should-error (todo-write-request-tests--ask 3 "1") :type 'todo-write-input-error)
    (should-error (todo-write-request-tests--ask "a" "1" :visit) :type 'todo-write-input-error)
    (should-not (todo-write-requests))))

(ert-deftest todo-write-request-lets-its-agent-wait ()
  (todo-write-request-tests--with
    (todo-write-set-activity "a" 'working)
    (todo-write-request-tests--ask "a" "1")
    (todo-write-request-tests--ask "a" "2" :title "Second")
    (should (equal '(waiting . "npm test") (todo-write-activity "a")))
    ;; What the host says meanwhile holds afterwards.
    (todo-write-set-activity "a" 'working "thinking")
    (should (equal '(waiting . "npm test") (todo-write-activity "a")))
    (todo-write-answer-request "a" "1" 'yes)
    (should (equal '(waiting . "Second") (todo-write-activity "a")))
    (todo-write-withdraw "a" "2")
    (should (equal '(working . "thinking") (todo-write-activity "a")))))

(ert-deftest todo-write-request-ends-with-the-turn-of-its-agent ()
  (dolist (end (list (lambda () (todo-write-end-turn "a" "interrupted"))
                     (lambda () (todo-write-set-activity "a" nil))
                     (lambda () (todo-write-set-activity "a" 'failed "exited"))
                     (lambda () (todo-write-forget "a"))))
    (todo-write-request-tests--with
      (todo-write-test-write "a" "Test")
      (todo-write-set-activity "a" 'working)
      (todo-write-request-tests--ask "a" "1")
      (todo-write-request-tests--ask "a" "2")
      (todo-write-request-tests--ask "b" "1")
      (funcall end)
      (should-not (todo-write-requests "a"))
      (should (= (if (member "a" (todo-write-threads)) 2 0)
                 (length (todo-write-observations "a" :type "STATE_UPDATE"))))
      (should (todo-write-requests "b"))
      (should-not (eq 'waiting (car (todo-write-activity "a"))))
      ;; Nothing is left that would change the next turn.
      (todo-write-set-activity "a" 'working)
      (should (equal '(working) (todo-write-activity "a"))))))

(ert-deftest todo-write-request-is-not-withdrawn-by-a-guess ()
  (todo-write-request-tests--with
    (todo-write-request-tests--ask "a" "1")
    (todo-write-set-activity "a" nil nil 'inferred)
    (should (todo-write-requests "a"))))

(ert-deftest todo-write-request-is-recorded-with-its-answer ()
  (todo-write-request-tests--with
    (todo-write-test-write "a" '("Test" "in_progress"))
    (pcase-dolist (`(,value ,text ,outcome ,answer)
                   '((yes nil "allowed" "Yes") (ever nil "always" "All tests")
                     (no "Use make" "denied" "No")))
      (todo-write-request-tests--ask "a" "1")
      (todo-write-answer-request "a" "1" value text)
      (let ((recorded (car (last (todo-write-request-tests--recorded "a")))))
        (should (equal (list "1" "permission" "npm test" outcome "user" answer text)
                       (mapcar (lambda (key) (plist-get recorded key))
                               '(:id :kind :title :outcome :by :answer :text))))
        (should (numberp (plist-get recorded :since)))))
    (should (equal '("t1" "t1" "t1")
                   (seq-map (lambda (observation) (plist-get observation :parentId))
                            (todo-write-observations "a" :type "STATE_UPDATE"))))))

(ert-deftest todo-write-request-whose-answer-fails-is-withdrawn ()
  (todo-write-request-tests--with
    (todo-write-request-tests--ask "a" "1" :answer (lambda (&rest _) (error "Gone")))
    (should (equal "Gone" (cadr (should-error (todo-write-answer-request "a" "1" 'yes)))))
    (should-not (todo-write-requests))
    (should (equal "withdrawn" (plist-get (car (todo-write-request-tests--recorded "a"))
                                          :outcome)))))

(ert-deftest todo-write-request-without-a-way-to-answer-is-answered-there ()
  (todo-write-request-tests--with
    (todo-write-request-tests--ask "a" "1" :answer nil)
    (should-error (todo-write-answer-request "a" "1" 'yes) :type 'todo-write-error)
    (should (todo-write-requests))))

(ert-deftest todo-write-request-that-is-too-large-to-read-is-answered-there ()
  (todo-write-request-tests--with
    (cl-flet ((many (count &rest object) (make-list count object)))
      (pcase-dolist (`(,answerable . ,fields)
                     `((t :questions ,(many 20 :question "?"))
                       (nil :questions ,(many 21 :question "?"))
                       (t :questions ((:question "?" :options ,(many 50 :label "a"))))
                       (nil :questions ((:question "?" :options ,(many 51 :label "a"))))
                       (t :options ,(many 50 :label "a" :kind 'always))
                       (nil :options ,(many 51 :label "a" :kind 'other))))
        (apply #'todo-write-request-tests--ask "a" "1" fields)
        (let ((request (car (todo-write-requests))))
          (should (eq answerable (and (plist-get request :answer) t)))
          (unless answerable
            (should (string-search "too many to be shown" (todo-write-request-detail request)))
            (should-not (plist-get request :questions))
            (should-error (todo-write-answer-request "a" "1" 'yes) :type 'todo-write-error)))))))

(ert-deftest todo-write-request-makes-its-detail-when-the-user-looks ()
  (todo-write-request-tests--with
    (let ((made 0))
      (todo-write-request-tests--ask "a" "1" :detail (lambda () (format "%d" (cl-incf made))))
      (should (= 0 made))
      (should (equal "1" (todo-write-request-detail (car (todo-write-requests))))))))

(ert-deftest todo-write-request-with-the-same-id-replaces-the-first ()
  (todo-write-request-tests--with
    (todo-write-request-tests--ask "a" "1")
    (let ((first (car (todo-write-requests))))
      (todo-write-request-tests--ask "a" "1" :title "rm -rf ~")
      (should (= 1 (length (todo-write-requests))))
      ;; Who shows the first one can tell.
      (should-not (todo-write-request-open-p first)))))

(ert-deftest todo-write-request-tells-listeners ()
  (todo-write-request-tests--with
    (let (heard)
      (todo-write-test-listening (lambda (thread what data)
                                   (when (eq what 'request)
                                     (push (list thread data (length (todo-write-requests)))
                                           heard)))
        (todo-write-request-tests--ask "a" "1")
        (todo-write-answer-request "a" "1" 'yes))
      (should (equal (reverse heard) '(("a" "1" 1) ("a" "1" 0)))))))

(ert-deftest todo-write-request-may-be-followed-by-another-from-its-answer ()
  (todo-write-request-tests--with
    (todo-write-request-tests--ask
     "a" "1" :answer (lambda (&rest _) (todo-write-request-tests--ask "a" "2" :title "Next")))
    (todo-write-answer-request "a" "1" 'yes)
    (should (equal '(waiting . "Next") (todo-write-activity "a")))
    (todo-write-answer-request "a" "2" 'yes)
    (should (equal '(working) (todo-write-activity "a")))))

(ert-deftest todo-write-request-a-huge-title-is-not-what-the-agent-waits-for ()
  ;; That is drawn in the mode line, the overview and the plan.
  (todo-write-request-tests--with
    (todo-write-request-tests--ask "a" "1" :title (make-string 100000 ?\n))
    (should (> 2000 (length (cdr (todo-write-activity "a")))))
    (todo-write-withdraw "a" "1")
    (should (> 2000 (length (plist-get (car (todo-write-request-tests--recorded "a")) :title))))))

(provide 'todo-write-request-tests)
;;; todo-write-request-tests.el ends here
