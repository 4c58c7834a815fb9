;;; todo-write-acp-request-tests.el --- Tests of what ACP agents ask  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Forms of ACP agents become questions, and answers become values of their fields.

;;; Code:

(require 'todo-write-test-helper)
(require 'todo-write-acp)
(require 'todo-write-acp-request)

(defun todo-write-acp-request-tests--form (properties &rest more)
  "Return params of a form with PROPERTIES, as acp.el decodes them, and MORE."
  `((mode . "form") (sessionId . "s") (message . "Which colour?")
    (requestedSchema (type . "object") (properties . ,properties) ,@more)))

(defconst todo-write-acp-request-tests--claude
  '((question_0 (type . "string") (title . "Colour")
                (oneOf . [((const . "Red") (title . "Red") (description . "warm"))
                          ((const . "Blue") (title . "Blue"))]))
    (question_0_custom (type . "string") (title . "Other") (description . "Type your own")))
  "The fields of a question of Claude's adapter.")

(defun todo-write-acp-request-tests--content (properties answers)
  "Return what ANSWERS to the questions of PROPERTIES send, as a sorted alist."
  (let (fields)
    (maphash (lambda (name value) (push (cons name value) fields))
             (todo-write-acp-request-content
              (todo-write-acp-request-form (todo-write-acp-request-tests--form properties))
              answers))
    (sort fields (lambda (one other) (string< (car one) (car other))))))

(ert-deftest todo-write-acp-request-claudes-question-has-one-field-for-both-kinds-of-answers ()
  (let ((fields (todo-write-acp-request-form
                 (todo-write-acp-request-tests--form todo-write-acp-request-tests--claude))))
    (should (equal '(("Which colour?" "Colour" ("Red" "Blue" "Leave this out")))
                   (mapcar (lambda (field)
                             (list (plist-get field :question) (plist-get field :header)
                                   (mapcar (lambda (option) (plist-get option :label))
                                           (plist-get field :options))))
                           fields)))
    (pcase-dolist (`(,answer ,sent) '(("Blue" (("question_0" . "Blue")))
                                      ("Green" (("question_0_custom" . "Green")))
                                      ("Leave this out" nil)))
      (should (equal sent (todo-write-acp-request-tests--content
                           todo-write-acp-request-tests--claude
                           (list (cons "Which colour?" answer))))))))

(defconst todo-write-acp-request-tests--all
  '((text (type . "string") (description . "Say it") (minLength . 2) (default . "so"))
    (pick (type . "string") (description . "Pick") (enum . ["a" "b"]))
    (some (type . "array") (description . "Some")
          (items (anyOf . [((const . "x") (title . "Ex")) ((const . "y") (title . "Why"))])))
    (plain (type . "array") (description . "Plain") (items (enum . ["u" "v"])))
    (count (type . "integer") (description . "Count") (minimum . 1) (maximum . 9))
    (size (type . "number") (description . "Size"))
    (sure (type . "boolean") (description . "Sure")))
  "One field of each type.")

(ert-deftest todo-write-acp-request-answers-are-values-of-the-types-of-their-fields ()
  (should (equal '(("count" . 3) ("pick" . "b") ("plain" . ["v"]) ("size" . 2.5)
                   ("some" . ["x" "y"]) ("sure" . :false) ("text" . "hello"))
                 (todo-write-acp-request-tests--content
                  todo-write-acp-request-tests--all
                  '(("Say it" . "hello") ("Pick" . "b") ("Some" "Ex" "Why") ("Plain" "v")
                    ("Count" . "3") ("Size" . "2.5") ("Sure" . "No")))))
  (should (equal '(("count" . 9) ("text" . "so"))
                 (todo-write-acp-request-tests--content
                  todo-write-acp-request-tests--all
                  `(("Say it" . "so") ("Count" . "9")
                    ,@(mapcar (lambda (question) (cons question "Leave this out"))
                              '("Pick" "Size" "Sure"))
                    ("Some" "Leave this out") ("Plain" "Leave this out"))))))

(ert-deftest todo-write-acp-request-what-is-typed-is-checked ()
  (let ((fields (todo-write-acp-request-form
                 (todo-write-acp-request-tests--form todo-write-acp-request-tests--all))))
    (pcase-dolist (`(,question ,answer ,problem)
                   '(("Say it" "x" "At least 2 characters") ("Say it" "xy" nil)
                     ("Pick" "c" "Choose one of the answers") ("Pick" "a" nil)
                     ("Some" "Ez" "Choose one of the answers")
                     ("Count" "2.5" "This takes a number without a fraction")
                     ("Count" "0" "At least 1") ("Count" "10" "At most 9")
                     ("Count" "1e9" "This takes a number without a fraction")
                     ("Size" "much" "This takes a number") ("Size" "-1.5" nil)
                     ("Sure" "maybe" "Choose one of the answers")))
      (should (equal problem
                     (todo-write-request-problem
                      (seq-find (lambda (field) (equal question (plist-get field :question))) fields)
                      answer))))))

(ert-deftest todo-write-acp-request-required-fields-cannot-be-left-out ()
  (let ((fields (todo-write-acp-request-form
                 (todo-write-acp-request-tests--form '((name (type . "string")))
                                                     '(required . ["name"])))))
    (should-not (plist-get (car fields) :options))))

(ert-deftest todo-write-acp-request-choices-with-one-title-are-told-apart ()
  (should (equal '(("pick" . "2"))
                 (todo-write-acp-request-tests--content
                  '((pick (type . "string")
                          (oneOf . [((const . "1") (title . "Same")) ((const . "2") (title . "Same"))])))
                  '(("Which colour?" . "Same (2)"))))))

(ert-deftest todo-write-acp-request-what-cannot-be-shown-is-refused ()
  (dolist (params (list '((mode . "url") (url . "http://x"))
                        '((mode . "form"))
                        (todo-write-acp-request-tests--form '((a (type . "object"))))
                        (todo-write-acp-request-tests--form '((a (type . "array") (items (type . "string")))))
                        (todo-write-acp-request-tests--form '((a (type . "string") (oneOf . [1]))))
                        (todo-write-acp-request-tests--form
                         (cl-loop for i below 21 collect `(,(intern (format "f%d" i)) (type . "string"))))
                        (todo-write-acp-request-tests--form
                         (cl-loop for i below 10000
                                  collect `(,(intern (format "f%d" i)) (type . "string"))))
                        (todo-write-acp-request-tests--form
                         `((a (type . "string")
                              (enum . ,(vconcat (mapcar #'number-to-string (number-sequence 1 50)))))))))
    (should (stringp (todo-write-acp-request-form params)))))

(ert-deftest todo-write-acp-request-a-client-offers-forms-once ()
  (let* ((client (list (cons :command "x")))
         (request '((:method . "initialize")
                    (:params (protocolVersion . 1)
                             (clientCapabilities (fs (readTextFile . t))))))
         (offered (todo-write-acp-offer-forms client request)))
    (should (todo-write-acp-request-offered-p client))
    (should (equal (json-parse-string
                    "{\"elicitation\":{\"form\":{}},\"plan\":{},\"fs\":{\"readTextFile\":true}}"
                    :object-type 'plist)
                   (json-parse-string
                    (json-serialize (alist-get 'clientCapabilities (alist-get :params offered)))
                    :object-type 'plist)))
    (should (equal 1 (alist-get 'protocolVersion (alist-get :params offered))))
    ;; The one of the client itself is not changed.
    (should-not (assq 'elicitation (alist-get 'clientCapabilities (alist-get :params request))))
    (let ((other (list (cons :command "y"))))
      (should (eq offered (todo-write-acp-offer-forms other offered)))
      (should-not (todo-write-acp-request-offered-p other)))))

(provide 'todo-write-acp-request-tests)
;;; todo-write-acp-request-tests.el ends here
