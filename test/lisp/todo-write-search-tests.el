;;; todo-write-search-tests.el --- Tests of the search of all plans  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-search)
(require 'todo-write-view-test-helper)

(defmacro todo-write-search-tests--in (buffer &rest body)
  "Run BODY in BUFFER; kill the buffers of places and plans afterwards."
  (declare (indent 1) (debug t))
  `(save-window-excursion
     (unwind-protect
         (with-current-buffer ,buffer ,@body)
       (dolist (name (list "*todo-write-search*" todo-write-view-buffer-name))
         (when (get-buffer name) (kill-buffer name))))))

(defmacro todo-write-search-tests--with (text &rest body)
  "Run BODY in the list of places with TEXT, among three plans."
  (declare (indent 1) (debug t))
  `(todo-write-with-store
     (todo-write "parser" (todo-write-test-todos "Write the parser" "Ship it"))
     (todo-write-test-observe "parser" "MESSAGE" "The PARSER needs\na second pass")
     (todo-write "printer" (todo-write-test-todos "Write the printer"))
     (todo-write-test-observe "printer" "TOOL_CALL"
                              '(:id "c1" :name "Bash" :input "{\"command\": \"run parser tests\"}"))
     (todo-write "other" (todo-write-test-todos "Rest"))
     (todo-write-search-tests--in (todo-write-search ,text)
       ,@body)))

(defun todo-write-search-tests--lines ()
  "Return the places shown, a list of strings without ages."
  (mapcar (lambda (line) (string-trim (substring line 8)))
          (split-string (string-trim-right (buffer-string)) "\n")))

(ert-deftest todo-write-search-finds-tasks-and-what-agents-said-and-ran-newest-first ()
  (todo-write-search-tests--with "parser"
    (let ((lines (todo-write-search-tests--lines)))
      (should (= 3 (length lines)))
      (should (string-match-p "ran +run parser tests" (nth 0 lines)))
      (should (string-match-p "said +The PARSER needs\\'" (nth 1 lines)))
      (should (string-match-p "task +Write the parser" (nth 2 lines))))))

(ert-deftest todo-write-search-wants-all-words-of-the-text ()
  (todo-write-search-tests--with "tests PARSER"
    (should (equal 1 (length (todo-write-search-tests--lines))))))

(ert-deftest todo-write-search-goes-to-a-place-in-its-plan-beside ()
  (todo-write-search-tests--with "parser"
    (goto-char (point-max))
    (forward-line -1)
    (todo-write-buffer-visit)
    (should (equal "parser" todo-write-view-thread))
    (should (equal "t1" (get-text-property (point) 'todo-write-id)))))

(ert-deftest todo-write-search-of-one-plan-goes-to-what-is-closed-in-it ()
  (todo-write-with-store
    (todo-write "a" (todo-write-test-todos '("Bake" "in_progress") "Wash up"))
    (cl-flet ((run (id output)
                (todo-write-observe "a" "TOOL_CALL"
                                    (list :id id :name "Bash" :input (list :command id))
                                    :call-id id)
                (todo-write-test-observe
                 "a" "TOOL_EXECUTION" (list :id id :name "Bash" :content output)
                 :call-id id :outcome 'ok)))
      (run "c1" "one\na mango\nlast\n")
      (dotimes (n 50)
        (run (format "n%d" n) "nothing"))
      (todo-write "a" (todo-write-test-todos '("Bake" "completed") '("Wash up" "completed")))
      (run "c2" "a second mango\n")
      (todo-write "other" (todo-write-test-todos "Peel a mango")))
    (todo-write-search-tests--in (todo-write-show "a")
      (should-not (string-search "mango" (buffer-string)))
      (cl-letf (((symbol-function 'read-string) (lambda (&rest _) "mango")))
        (todo-write-test-press "? F"))
      (with-current-buffer "*todo-write-search*"
        (should (= 2 (count-lines (point-min) (point-max))))
        (dolist (text '("a second mango" "a mango"))
          (goto-char (point-min))
          (search-forward text)
          (save-window-excursion
            (todo-write-buffer-visit)
            (should (derived-mode-p 'todo-write-view-mode))
            (should (get-text-property (point) 'todo-write-entry))
            (should (string-search text (buffer-string)))))))))

(ert-deftest todo-write-search-goes-to-a-prompt-and-to-a-message ()
  (todo-write-with-store
    (todo-write "a" (todo-write-test-todos '("Bake" "in_progress") "Wash up"))
    (let ((long (string-join (make-list 40 "flour") " ")))
      (todo-write-test-observe "a" "INTENT" "Bake a cake.\nUse a mango.")
      (todo-write-test-observe "a" "MESSAGE" (concat "First.\n" long " and a mango too."))
      (todo-write-test-observe "a" "INTENT" "Another mango"))
    (todo-write-search-tests--in (todo-write-search "mango")
      (pcase-dolist (`(,text ,line) '(("Use a mango" " +[0-9:]+ +“Bake a cake")
                                      ("and a mango too" " +[0-9:]+ +“First")
                                      ("Another mango" " [▸▾] “Another mango”")))
        (goto-char (point-min))
        (search-forward text)
        (save-window-excursion
          (todo-write-buffer-visit)
          (should (derived-mode-p 'todo-write-view-mode))
          (should (looking-at-p line)))))))

(ert-deftest todo-write-search-shows-the-revision-that-removed-a-task ()
  (todo-write-with-store
    (todo-write "parser" (todo-write-test-todos "Plough" "Sow"))
    (todo-write "parser" (todo-write-test-todos "Sow"))
    ;; Another list follows.
    (todo-write "parser" (todo-write-test-todos '("Sow" "completed")))
    (todo-write "parser" (todo-write-test-todos "Write a poem"))
    (save-window-excursion
      (unwind-protect
          (with-current-buffer (todo-write-search "plough")
            (todo-write-buffer-visit)
            (with-current-buffer (window-buffer)
              (should (derived-mode-p 'todo-write-history-mode))
              (should (string-search "Plough" (buffer-string)))))
        (dolist (buffer (buffer-list))
          (when (string-match-p "\\`\\*\\(?:todo-write\\|efrit-todos\\)" (buffer-name buffer))
            (kill-buffer buffer)))))))

(ert-deftest todo-write-search-finds-words-in-journals-without-loading-them ()
  (todo-write-with-store
    (todo-write-test-child `(progn
                              (todo-write "kept" ',(todo-write-test-todos "Polish the glass"))
                              (prin1 t)))
    (should (equal '("Polish the glass")
                   (mapcar (lambda (place) (plist-get place :line))
                           (todo-write-matches "kept" "glass" 10))))
    (should-not (todo-write-threads-loaded))))

(ert-deftest todo-write-search-says-that-nothing-was-found ()
  (todo-write-with-store
    (todo-write "a" (todo-write-test-todos "One"))
    (should-error (todo-write-search "absent") :type 'user-error)
    (dolist (blank (list " " "\f"))
      (should-error (todo-write-search blank) :type 'user-error))
    (should-error (todo-write-matches "a" " " 10) :type 'todo-write-input-error)))

(provide 'todo-write-search-tests)
;;; todo-write-search-tests.el ends here
