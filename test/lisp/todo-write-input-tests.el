;;; todo-write-input-tests.el --- Tests of what agents send  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Each case is passed as JSON text and in the forms of all JSON parsers of
;; Emacs.  Other tests pass what no parser returns: raw bytes, circles, depth.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'json)
(require 'todo-write-row)
(require 'todo-write-test-helper)
(require 'todo-write-torture-helper)

;;; Forms of an input

(defun todo-write-input-tests--forms (text)
  "Return a list of (NAME . INPUT): TEXT in the forms of all hosts."
  (let ((forms (list (cons 'text text))))
    (dolist (type '(hash-table alist plist))
      (push (cons type (json-parse-string text :object-type type)) forms)
      ;; Without `:array-type', an empty array would be nil, like a missing one.
      (unless (string-match-p "\\[\\]" text)
        (push (cons (list type 'list)
                    (json-parse-string text :object-type type :array-type 'list))
              forms)))
    (nreverse forms)))

(defun todo-write-input-tests--accepts (forms rows notices)
  "Fail unless each of FORMS is accepted as ROWS, with NOTICES.
Each string of NOTICES is part of the respective notice."
  (pcase-dolist (`(,form . ,input) forms)
    (ert-info ((format "As %S" form))
      (todo-write-with-store
        (let ((outcome (todo-write "a" input)))
          (should-not (plist-get outcome :errors))
          (should (equal (todo-write-test-rows "a") rows))
          (should (= (length notices) (length (plist-get outcome :notices))))
          (should (cl-every #'string-search notices (plist-get outcome :notices)))
          (dolist (notice (plist-get outcome :notices))
            (should (string-search notice (plist-get outcome :result)))))))))

(defun todo-write-input-tests--refuses (forms paths &optional words)
  "Fail unless each of FORMS is refused at PATHS, with WORDS in the result."
  (todo-write-with-store
    (todo-write-test-write "a" "Kept")
    (pcase-dolist (`(,form . ,input) forms)
      (ert-info ((format "As %S" form))
        (let ((outcome (todo-write "a" input)))
          (should-not (plist-get outcome :ok))
          (should (equal (mapcar (lambda (problem) (plist-get problem :path))
                                 (plist-get outcome :errors))
                         paths))
          (dolist (word words)
            (should (string-search word (plist-get outcome :result))))
          (should (equal (plist-get outcome :revision) 1))
          (should (equal (todo-write-test-contents "a") '("Kept"))))))))

;;; Accepted, repaired

(defconst todo-write-input-tests--task
  "\"content\": \"C\", \"status\": \"pending\", \"activeForm\": \"F\""
  "The fields of a valid task.")

(defconst todo-write-input-tests--accepted
  `(("{\"todos\": []}")
    ("{\"todos\": [{%s}, {%1$s}]}" ("C" "pending" "F") ("C" "pending" "F"))
    ("{\"todos\": [{%s, \"owner\": \"me\", \"due\": 3}], \"why\": {}}" ("C" "pending" "F") "owner, due")
    ("[{%s}]" ("C" "pending" "F") "bare array")
    ("{\"todos\": \"[{\\\"content\\\": \\\"C\\\", \\\"status\\\": \\\"pending\\\", \\\"activeForm\\\": \\\"F\\\"}]\"}"
     ("C" "pending" "F") "a string holding the array")
    ("{\"plan\": [{\"step\": \"C\", \"status\": \"done\", \"active_form\": \"F\"}]}" ("C" "completed" "F")
     "\"plan\" was read as \"todos\"" "\"step\"" "\"done\" was read as \"completed\"" "active_form")
    ("{\"todos\": [{%s}, {\"content\": \"D\", \"status\": \"Cancelled\", \"activeForm\": \"G\"}]}"
     ("C" "pending" "F") "cancelled tasks were left out")
    ("{\"todos\": [{\"content\": \"a\\u0007\\u001b[1mb\\u001b[mc\", \"status\": \"pending\", \"activeForm\": \"F\"}]}"
     ("abc" "pending" "F") "control characters")
    ("{\"todos\": [{\"content\": \"第一步 🚀\", \"status\": \"pending\", \"activeForm\": \"F\"}]}"
     ("第一步 🚀" "pending" "F")))
  "List of (TEXT ROW-OR-NOTICE...); a %s in TEXT stands for a whole task.")

(ert-deftest todo-write-input-is-accepted-or-repaired-in-every-form ()
  (pcase-dolist (`(,text . ,expected) todo-write-input-tests--accepted)
    (let ((text (format text todo-write-input-tests--task)))
      (ert-info (text :prefix "Input: ")
        (todo-write-input-tests--accepts
         (todo-write-input-tests--forms text)
         (cl-remove-if #'stringp expected) (cl-remove-if-not #'stringp expected))))))

(ert-deftest todo-write-input-may-come-from-json-el ()
  (let ((text "{\"todos\": [{\"content\": \"C\", \"status\": \"completed\", \"activeForm\": \"F\"}]}"))
    (todo-write-input-tests--accepts
     (cl-loop for (object key) in '((alist nil) (alist string) (alist keyword)
                                    (plist nil) (plist keyword)
                                    (hash-table nil) (hash-table symbol)
                                    (hash-table keyword))
              nconc (cl-loop for array in '(vector list)
                             collect (let ((json-object-type object)
                                           (json-key-type key)
                                           (json-array-type array))
                                       (cons (list 'json-read object key array)
                                             (json-read-from-string text)))))
     '(("C" "completed" "F")) nil)))

(ert-deftest todo-write-a-cancelled-task-is-marked-in-the-changes ()
  (todo-write-with-store
    (todo-write-test-write "a" "Stays" "Goes")
    (let ((outcome (todo-write-test-write "a" "Stays" '("Goes" "cancelled"))))
      (should (equal '("removed") (todo-write-test-types (plist-get outcome :changes))))
      (should (eq t (plist-get (aref (plist-get (plist-get outcome :changes) :changes) 0)
                               :cancelled))))))

;;; Refused

(defconst todo-write-input-tests--refused
  `(("{\"todos\": [{\"content\": \"C\", \"status\": %s, \"activeForm\": \"F\"}]}"
     ("\"blocked\"" "null" "7" "{}" "[1]" "true") "todos[0].status")
    ("{\"todos\": [{\"content\": %s, \"status\": \"pending\", \"activeForm\": \"F\"}]}"
     ("\"\\u200b\"" "null" "7" "{}" "[1]" "true") "todos[0].content")
    ("{\"todos\": %s}" ("null" "{}" "7" "true" "\"\"") "todos")
    ("{%s}" ("" "\"items\": [1]") "todos")
    ("{\"todos\": [1, %s]}" ("null" "false" "\"C\"" "[1]") "todos[0]" "todos[1]")
    ("{\"todos\": [{%s}]}" ("\"note\": \"C\"") "todos[0].content" "todos[0].status"))
  "List of (TEXT VALUES PATH...): TEXT with each of VALUES is refused at PATHs.")

(ert-deftest todo-write-input-is-refused-with-its-place-in-every-form ()
  (pcase-dolist (`(,text ,values . ,paths) todo-write-input-tests--refused)
    (dolist (value values)
      (let ((text (format text value)))
        (ert-info (text :prefix "Input: ")
          ;; In Lisp an empty plist or alist is nil.
          (todo-write-input-tests--refuses
           (if (string-search "{}" text)
               (list (cons 'text text) (cons 'hash-table (json-parse-string text)))
             (todo-write-input-tests--forms text))
           paths))))))

(ert-deftest todo-write-nil-as-the-list-is-refused-like-a-missing-key ()
  (todo-write-input-tests--refuses
   (list '(plist :todos nil) '(alist (todos))
         (cons 'list (json-parse-string "{\"todos\": []}" :object-type 'plist
                                        :array-type 'list)))
   '("todos") '("send it as JSON text"))
  (todo-write-with-store
    (should-not (plist-get (todo-write "a" nil) :ok))))

;;; Objects that no parser returns

(defun todo-write-input-tests--task (&rest fields)
  "Return an input with one task in which FIELDS, a plist, take precedence."
  (list :todos (vector (append fields '(:content "C" :status "pending" :activeForm "F")))))

(defun todo-write-input-tests--deep (levels make)
  "Return LEVELS of nesting; MAKE makes each from the next inner one."
  (let (value)
    (dotimes (_ levels) (setq value (funcall make value)))
    value))

(defun todo-write-input-tests--circles ()
  "Return objects that contain themselves, and dotted lists."
  (append (todo-write-torture-circular) (list '(1 . 2) '(:todos . [1]))))

(ert-deftest todo-write-a-circle-or-a-dotted-list-is-refused-anywhere ()
  (todo-write-with-store
    (dolist (circle (todo-write-input-tests--circles))
      (dolist (input (list circle (list :todos circle) (list :todos (vector circle))
                           (todo-write-input-tests--task :content circle)
                           (todo-write-input-tests--task :status circle)
                           (todo-write-input-tests--task :activeForm circle)))
        (should-not (plist-get (todo-write "a" input) :ok))))))

(ert-deftest todo-write-a-circle-under-a-key-that-is-ignored-is-ignored ()
  (todo-write-with-store
    (dolist (circle (todo-write-input-tests--circles))
      (should (plist-get (todo-write "a" (todo-write-input-tests--task :more circle)) :ok))
      (should (equal (todo-write-test-contents "a") '("C"))))))

(ert-deftest todo-write-ten-thousand-levels-are-refused-without-a-crash ()
  (todo-write-with-store
    (dolist (make (list #'vector #'list (lambda (inner) (list :todos inner))
                        (lambda (inner) (list (cons "todos" inner)))
                        (lambda (inner) (let ((table (make-hash-table :test #'equal)))
                                          (puthash "todos" inner table)
                                          table))))
      (let ((deep (todo-write-input-tests--deep 10000 make)))
        (dolist (input (list deep (list :todos deep)
                             (todo-write-input-tests--task :content deep)))
          (should-not (plist-get (todo-write "a" input) :ok)))))))

(ert-deftest todo-write-objects-other-than-data-are-refused-by-name ()
  (todo-write-with-store
    (dolist (value (list (point-marker) (current-buffer) #'car (make-bool-vector 3 t)
                         (selected-window) (make-symbol "x") 'pending (obarray-make)
                         (make-char-table 'x) (record 'x 1) (lambda () 1)))
      (dolist (key '(:content :status))
        (let* ((outcome (todo-write "a" (todo-write-input-tests--task key value)))
               (problem (car (plist-get outcome :errors))))
          (should-not (plist-get outcome :ok))
          (should (equal (plist-get problem :path)
                         (format "todos[0].%s" (substring (symbol-name key) 1))))
          (should (< (length (plist-get problem :received)) 100))))
      (should-not (plist-get (todo-write "a" value) :ok)))))

(ert-deftest todo-write-raw-bytes-are-refused ()
  (todo-write-with-store
    (dolist (bytes (list "\377" "caf\351" (string-to-multibyte "ok \377")
                         (concat "漢" (string #x3fffff))))
      (should-not (plist-get (todo-write "a" bytes) :ok))
      (should-not (plist-get (todo-write "a" (concat "[\"" bytes "\"]")) :ok))
      (dolist (key '(:content :status :activeForm))
        (should-not (plist-get (todo-write "a" (todo-write-input-tests--task key bytes))
                               :ok))))))

(ert-deftest todo-write-text-that-came-as-utf-8-bytes-is-read ()
  (todo-write-with-store
    (let ((outcome (todo-write "a" (encode-coding-string
                                    (json-encode (todo-write-test-todos "漢字"))
                                    'utf-8))))
      (should (plist-get outcome :ok))
      (should (equal (todo-write-test-contents "a") '("漢字"))))))

(ert-deftest todo-write-text-properties-are-not-kept ()
  (todo-write-with-store
    (todo-write "a" (todo-write-input-tests--task
                     :content (propertize "Pl\0ain" 'face 'bold 'display "Evil")))
    (let ((content (car (todo-write-test-contents "a"))))
      (should (equal-including-properties content "Plain")))))

;;; Options

(ert-deftest todo-write-strict-turns-a-repair-into-a-refusal ()
  (todo-write-with-store
    (dolist (todo-write-strict '(nil t))
      (should (eq (not todo-write-strict)
                  (plist-get (todo-write "a" (todo-write-test-todos '("A" "done"))) :ok))))))

(ert-deftest todo-write-several-in-progress-are-noticed-allowed-or-refused ()
  (let ((input (todo-write-test-todos '("A" "in_progress") '("B" "in_progress"))))
    (todo-write-with-store
      (should (plist-get (todo-write "a" input) :notices))
      (let ((todo-write-several-in-progress 'allow))
        (should-not (plist-get (todo-write "a" input) :notices)))
      (let ((todo-write-several-in-progress 'refuse))
        (should-not (plist-get (todo-write "a" input) :ok))
        (ert-info ("No task in progress is not reported")
          (should-not (plist-get (todo-write-test-write "a" "A") :notices)))))))

(ert-deftest todo-write-refuses-a-task-of-characters-that-rows-show-as-escapes ()
  (todo-write-with-store
    (let ((accepted nil))
      (dolist (range '((0 . #x3000) (#x3001 . #xd7ff) (#xe000 . #x1f000) (#xe0000 . #xe0fff)))
        (cl-loop for char from (car range) to (cdr range)
                 when (and (string-match-p todo-write-text-unseen (string char))
                           (plist-get (todo-write "a" (todo-write-test-todos (string char))) :ok))
                 do (push char accepted)))
      (should-not accepted))))

(provide 'todo-write-input-tests)
;;; todo-write-input-tests.el ends here
