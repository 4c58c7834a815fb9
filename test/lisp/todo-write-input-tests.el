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

(defun todo-write-input-tests--json-el (text)
  "Return a list of (NAME . INPUT): TEXT as the functions of json.el read it."
  (cl-loop for (object key) in '((alist nil) (alist string) (alist keyword)
                                 (plist nil) (plist keyword)
                                 (hash-table nil) (hash-table symbol)
                                 (hash-table keyword))
           nconc (cl-loop for array in '(vector list)
                          collect (let ((json-object-type object)
                                        (json-key-type key)
                                        (json-array-type array))
                                    (cons (list 'json-read object key array)
                                          (json-read-from-string text))))))

(defun todo-write-input-tests--has (words strings)
  "Return non-nil if each string of STRINGS contains the one of WORDS."
  (and (= (length words) (length strings))
       (cl-every #'string-search words strings)))

(defun todo-write-input-tests--accepts (forms rows notices)
  "Fail unless each of FORMS is accepted as ROWS, with NOTICES.
Each string of NOTICES is part of the respective notice."
  (pcase-dolist (`(,form . ,input) forms)
    (ert-info ((format "As %S" form))
      (todo-write-with-store
        (let ((outcome (todo-write "a" input)))
          (should-not (plist-get outcome :errors))
          (should (equal (todo-write-test-rows "a") rows))
          (should (todo-write-input-tests--has notices (plist-get outcome :notices)))
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

(defun todo-write-input-tests--with (more)
  "Return a text with one valid task that also has MORE."
  (format "{\"todos\": [{%s, %s}]}" todo-write-input-tests--task more))

(defconst todo-write-input-tests--accepted
  `(("{\"todos\": [{%s}]}" ("C" "pending" "F"))
    ("{\"todos\": [{%s}, {\"content\": \"D\", \"status\": \"in_progress\", \"activeForm\": \"G\"}]}"
     ("C" "pending" "F") ("D" "in_progress" "G"))
    ("{\"todos\": [{%s}, {%1$s}]}" ("C" "pending" "F") ("C" "pending" "F"))
    ("{\"todos\": [{%s, \"id\": \"1\", \"priority\": \"low\"}]}" ("C" "pending" "F"))
    ("{\"todos\": [{%s, \"id\": 1}, {%1$s, \"id\": 1}]}" ("C" "pending" "F") ("C" "pending" "F"))
    ("{\"todos\": [{%s, \"priority\": \"urgent\"}]}" ("C" "pending" "F") "\"urgent\"")
    ("{\"todos\": [{%s, \"owner\": \"me\", \"due\": 3}], \"why\": {}}" ("C" "pending" "F") "owner, due")
    ("[{%s}]" ("C" "pending" "F") "bare array")
    ("{\"todos\": \"[{\\\"content\\\": \\\"C\\\", \\\"status\\\": \\\"pending\\\", \\\"activeForm\\\": \\\"F\\\"}]\"}"
     ("C" "pending" "F") "a string holding the array")
    ("{\"todos\": \"[{\\\"content\\\": \\\"C\\\", \\\"status\\\": \\\"pending\\\", \\\"activeForm\\\": \\\"F\\\"}]</x>\"}"
     ("C" "pending" "F") "\"</x>\" after it was ignored")
    ("{\"todos\": [{\"content\": \"C\", \"status\": \"pending\", \"active_form\": \"F\"}]}"
     ("C" "pending" "F") "active_form")
    ("{\"todos\": [{\"description\": \"C\", \"status\": \"pending\", \"activeForm\": \"F\"}]}"
     ("C" "pending" "F") "\"description\"")
    ("{\"todos\": [{\"title\": \"C\", \"status\": \"pending\", \"activeForm\": \"F\"}]}"
     ("C" "pending" "F") "\"title\"")
    ("{\"todos\": [{\"step\": \"C\", \"status\": \"pending\", \"activeForm\": \"F\"}]}"
     ("C" "pending" "F") "\"step\"")
    ("{\"todos\": [{\"subject\": \"C\", \"description\": \"D\", \"status\": \"pending\", \"activeForm\": \"F\"}]}"
     ("C" "pending" "F") "\"subject\"" "description")
    ("{\"todos\": [{\"text\": \"C\", \"status\": \"pending\", \"activeForm\": \"F\"}]}"
     ("C" "pending" "F") "\"text\"")
    ("{\"plan\": [{%s}]}" ("C" "pending" "F") "\"plan\" was read as \"todos\"")
    ("{\"todos\": [{%s}, {\"content\": \"D\", \"status\": \"Cancelled\", \"activeForm\": \"G\"}]}"
     ("C" "pending" "F") "cancelled tasks were left out")
    ("{\"todos\": [{\"content\": \"C\", \"status\": \"pending\"}]}" ("C" "pending" "C") "activeForm")
    ("{\"todos\": [{\"content\": \"C\", \"status\": \"pending\", \"activeForm\": \" \"}]}"
     ("C" "pending" "C") "activeForm")
    ("{\"todos\": [{\"content\": \" one\\n  two\\t \", \"status\": \"pending\", \"activeForm\": \"F\"}]}"
     ("one two" "pending" "F"))
    ("{\"todos\": [{\"content\": \"a\\u0007b\\u001bc\", \"status\": \"pending\", \"activeForm\": \"F\"}]}"
     ("abc" "pending" "F") "control characters")
    ("{\"todos\": [{\"content\": \"第一步 🚀\", \"status\": \"pending\", \"activeForm\": \"F\"}]}"
     ("第一步 🚀" "pending" "F"))
    ("{\"todos\": [{\"content\": \"A\", \"status\": \"in_progress\", \"activeForm\": \"A\"}, {\"content\": \"B\", \"status\": \"in_progress\", \"activeForm\": \"B\"}]}"
     ("A" "in_progress" "A") ("B" "in_progress" "B") "2 tasks in progress"))
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
     (todo-write-input-tests--json-el text) '(("C" "completed" "F")) nil)))

(ert-deftest todo-write-every-synonym-of-a-status-is-read-with-a-notice ()
  (pcase-dolist (`(,status . ,synonyms)
                 '(("completed" "done" "complete" "finished" "DONE" "Completed")
                   ("in_progress" "in-progress" "inProgress" "in progress" "doing"
                    "active" "IN_PROGRESS")
                   ("pending" "todo" "not_started" "not started" "open" "Pending")))
    (dolist (synonym synonyms)
      (todo-write-input-tests--accepts
       (todo-write-input-tests--forms
        (format "{\"todos\": [{\"content\": \"C\", \"status\": %S, \"activeForm\": \"F\"}]}"
                synonym))
       `(("C" ,status "F"))
       (list (format "%S was read as %S" synonym status))))))

(ert-deftest todo-write-a-known-priority-is-kept ()
  (todo-write-with-store
    (dolist (priority '("high" "medium" "low"))
      (todo-write "a" (todo-write-input-tests--with (format "\"priority\": %S" priority)))
      (should (equal (plist-get (todo-write-item "a" "t1") :priority) priority)))))

(ert-deftest todo-write-an-empty-array-clears-and-names-what-was-unfinished ()
  (pcase-dolist (`(,form . ,input) (todo-write-input-tests--forms "{\"todos\": []}"))
    (ert-info ((format "As %S" form))
      (todo-write-with-store
        (todo-write-test-write "a" "Was open" '("Was done" "completed"))
        (let ((outcome (todo-write "a" input)))
          (should (plist-get outcome :ok))
          (should (equal (todo-write-items "a") []))
          (should (string-search "Was open" (plist-get outcome :result)))
          (should-not (string-search "Was done" (plist-get outcome :result)))
          (should (= (length (todo-write-items "a" 1)) 2)))))))

(ert-deftest todo-write-an-array-encoded-twice-is-read-with-a-notice ()
  (let ((array (format "[{%s}]" todo-write-input-tests--task)))
    (todo-write-input-tests--accepts
     (todo-write-input-tests--forms
      (json-serialize `((todos . ,(json-serialize array)))))
     '(("C" "pending" "F")) '("a string holding the array"))))

(ert-deftest todo-write-a-cancelled-task-is-not-reported-as-vanished ()
  (todo-write-with-store
    (todo-write-test-write "a" "Stays" "Goes")
    (let* ((todos [(:content "Stays" :status "pending" :activeForm "Staying")
                   (:content "Goes" :status "cancelled" :activeForm "Going")])
           (outcome (todo-write "a" (list :todos todos)))
           (removed (plist-get (plist-get outcome :changes) :removed)))
      (should (equal (todo-write-test-contents "a") '("Stays")))
      (should (equal (plist-get (aref removed 0) :cancelled) t))
      (should-not (string-search "unfinished" (plist-get outcome :result))))))

;;; Refused

(defconst todo-write-input-tests--refused
  `(("{\"todos\": [{\"content\": \"C\", \"status\": %s, \"activeForm\": \"F\"}]}"
     ("\"blocked\"" "\"failed\"" "\"high\"" "\"\"" "null" "7" "{}" "[1]" "true")
     "todos[0].status")
    ("{\"todos\": [{\"content\": %s, \"status\": \"pending\", \"activeForm\": \"F\"}]}"
     ("\"\"" "\" \\n\"" "\"\\u200b\"" "null" "7" "{}" "[1]" "true") "todos[0].content")
    ("{\"todos\": [{\"content\": \"C\", \"status\": \"pending\", \"activeForm\": %s}]}"
     ("7" "{\"a\": 1}" "[1]" "true") "todos[0].activeForm")
    ("{\"todos\": %s}" ("null" "{}" "{\"content\": \"C\"}" "7" "true" "\"\"" "\"none\"" "\"{}\"")
     "todos")
    ("{%s}" ("" "\"items\": [1]" "\"file_path\": \"x\"") "todos")
    ("{\"todos\": [%s]}" ("7" "\"C\"" "[1]" "true") "todos[0]")
    ("{\"todos\": [1, %s]}" ("null" "false") "todos[0]" "todos[1]")
    ("{\"todos\": [%s]}" ("{}" "{\"note\": \"C\"}") "todos[0].content" "todos[0].status")
    ("{\"todos\": [%s]}"
     ("{\"content\": \"C\", \"status\": \"pending\", \"activeForm\": \"F\", \"id\": \"auth\"},
       {\"content\": \"D\", \"status\": \"pending\", \"activeForm\": \"G\", \"id\": \"auth\"}")
     "todos[1].id"))
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

(ert-deftest todo-write-text-that-is-not-json-is-refused-with-line-and-column ()
  (pcase-dolist (`(,text ,line ,column)
                 '(("{\"todos\": [{]}" 1 13) ("{\"todos\":\n [,]}" 2 3)
                   ("{\"todos\": []" 1 12) ("{'todos': []}" 1 2) ("nope" 1 2)
                   ("{\"todos\": []} and more" 1 15)))
    (todo-write-input-tests--refuses
     (list (cons 'text text)) '("input")
     (list (format "line %d, column %d" line column))))
  (dolist (text '("" " " "{" "\"" "[1" "{\"todos\": NaN}" "\ufeff{}" "null" "3" "\"x\""))
    (todo-write-input-tests--refuses (list (cons text text))
                                     '("input"))))

(ert-deftest todo-write-a-refusal-lists-every-problem-and-stays-short ()
  (todo-write-with-store
    (let* ((todos (make-vector 50 '(:content "" :status "nope" :activeForm "F")))
           (outcome (todo-write "a" (list :todos todos)))
           (result (plist-get outcome :result)))
      (should (= (length (plist-get outcome :errors)) 100))
      (should (string-search "todos[4].status" result))
      (should-not (string-search "todos[5]" result))
      (should (string-search "90 more" result))
      (should (< (length result) 2000)))))

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
  "Return objects that contain themselves."
  (let ((list (list 1 2 3)) (car (list 1 2)) (vector (make-vector 3 nil))
        (table (make-hash-table :test #'equal)))
    (setcdr (last list) list)
    (setcar car car)
    (setcar (cdr car) car)
    (fillarray vector vector)
    (puthash "todos" table table)
    (puthash "content" table table)
    (list list car vector table '(1 . 2) '(:todos . [1]))))

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
          (should-not (plist-get (todo-write "a" input) :ok)))))
    (dolist (text (list (concat (make-string 10000 ?\[) (make-string 10000 ?\]))
                        (make-string 10000 ?\[)
                        (string-join (make-list 10000 "{\"todos\":"))))
      (should-not (plist-get (todo-write "a" text) :ok)))))

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

(ert-deftest todo-write-a-nul-is-dropped-with-a-notice ()
  (todo-write-with-store
    (dolist (input (list (todo-write-input-tests--task :content "a\0b")
                         "{\"todos\": [{\"content\": \"a\\u0000b\", \"status\": \"pending\",
                           \"activeForm\": \"F\"}]}"))
      (should (todo-write-input-tests--has '("control characters")
                                           (plist-get (todo-write "a" input) :notices)))
      (should (equal (todo-write-test-contents "a") '("ab"))))
    (should-not (plist-get (todo-write "a" "{\"todos\": []}\0") :ok))))

(ert-deftest todo-write-text-properties-are-not-kept ()
  (todo-write-with-store
    (todo-write "a" (todo-write-input-tests--task
                     :content (propertize "Plain" 'face 'bold 'display "Evil")))
    (let ((content (car (todo-write-test-contents "a"))))
      (should (equal-including-properties content "Plain")))))

(ert-deftest todo-write-ten-megabytes-are-refused-in-few-words ()
  (todo-write-with-store
    (let* ((text (make-string (* 10 1024 1024) ?x))
           (key (concat ":" text))
           (inputs (list text (todo-write-input-tests--task :content text)
                         (todo-write-input-tests--task :status text)
                         (list :todos text) (list (intern key (obarray-make)) 1)
                         (format "{\"todos\": [{\"content\": \"%s\"}]}" text)
                         (format "{\"%s\": 1}" text))))
      (dolist (input inputs)
        (let ((outcome (todo-write "a" input)))
          (should-not (plist-get outcome :ok))
          (should (< (length (plist-get outcome :result)) 1000)))))))

;;; Options

(ert-deftest todo-write-max-items-and-max-length-are-the-users-limits ()
  (todo-write-with-store
    (let ((todo-write-max-items 2) (todo-write-max-length 3))
      (should (plist-get (todo-write "a" (todo-write-test-todos
                                          '("abc" nil "def") '("漢字圖" nil "x")))
                         :ok))
      (should-not (plist-get (todo-write "a" (todo-write-test-todos
                                              '("abcd" nil "x")))
                             :ok))
      (should-not (plist-get (todo-write "a" (todo-write-test-todos
                                              '("a" nil "abcd")))
                             :ok))
      (let ((outcome (todo-write "a" (todo-write-test-todos
                                      '("a" nil "x") '("b" nil "x") '("c" nil "x")))))
        (should (string-search "at most 2" (plist-get outcome :result)))))))

(ert-deftest todo-write-strict-turns-every-repair-into-a-refusal ()
  (let ((todo-write-strict t))
    (pcase-dolist (`(,text . ,expected) todo-write-input-tests--accepted)
      (ert-info (text :prefix "Input: ")
        (todo-write-with-store
          (should (eq (plist-get (todo-write "a" (format text todo-write-input-tests--task))
                                 :ok)
                      (not (cl-some #'stringp expected)))))))))

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

(ert-deftest todo-write-keep-completed-forces-and-marks-reopened-items ()
  (todo-write-with-store
    (todo-write-test-write "a" '("A" "completed") "B")
    (let* ((todo-write-keep-completed t)
           (outcome (todo-write-test-write "a" '("A" "pending") '("B" "in_progress"))))
      (should (equal (plist-get outcome :forced) '("t1")))
      (should (equal (todo-write-test-types (plist-get outcome :changes))
                     '("status_changed")))
      (should (equal (mapcar #'cadr (todo-write-test-rows "a"))
                     '("completed" "in_progress"))))
    (should (equal (todo-write-test-types
                    (plist-get (todo-write-test-write "a" '("A" "pending")
                                                      '("B" "in_progress"))
                               :changes))
                   '("status_changed")))))

(ert-deftest todo-write-refuses-a-task-of-characters-that-rows-show-as-escapes ()
  (todo-write-with-store
    (let ((accepted nil))
      (dolist (range '((0 . #x3000) (#x3001 . #xd7ff) (#xe000 . #x1f000) (#xe0000 . #xe0fff)))
        (cl-loop for char from (car range) to (cdr range)
                 when (and (string-match-p todo-write-row--unseen (string char))
                           (plist-get (todo-write "a" (todo-write-test-todos (string char))) :ok))
                 do (push char accepted)))
      (should-not accepted))))

(provide 'todo-write-input-tests)
;;; todo-write-input-tests.el ends here
