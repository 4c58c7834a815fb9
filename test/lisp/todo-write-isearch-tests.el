;;; todo-write-isearch-tests.el --- Tests of Isearch and Imenu in a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'ert)
(require 'todo-write-view-test-helper)

(defconst todo-write-isearch-tests--long
  (concat "Convert " (make-string 100 ?x) " quince at the end"))

(defun todo-write-isearch-tests--run (id output &optional command)
  "Record that the agent ran COMMAND, by default one named ID, with OUTPUT."
  (todo-write-observe "a" "TOOL_CALL"
                      (list :id id :name "Bash" :input (list :command (or command id)))
                      :call-id id)
  (todo-write-observe "a" "TOOL_EXECUTION" (list :id id :name "Bash" :content output)
                      :call-id id :outcome 'ok))

(defmacro todo-write-isearch-tests--with-plan (&rest body)
  "Run BODY with point at the start of a plan with much that is closed or cut."
  (declare (indent 0) (debug t))
  `(todo-write-test-with-view
     (todo-write-begin "a" :project "/p/")
     (todo-write-test-write "a" '("Former" "in_progress") "Apricot")
     (todo-write-isearch-tests--run "make old" "an ancient fig\n")
     (todo-write-test-write "a" '("Former" "completed") '("Apricot" "completed"))
     (todo-write-test-write "a" '("First" "in_progress") "Second"
                            todo-write-isearch-tests--long)
     (todo-write-observe "a" "MESSAGE" "Now for the lychee.")
     (todo-write-isearch-tests--run "make" "one\na mango\nlast\n")
     (todo-write-test-write "a" '("First" "completed") '("Second" "in_progress")
                            todo-write-isearch-tests--long)
     (todo-write-view-refresh)
     (goto-char (point-min))
     ,@body))

(defmacro todo-write-isearch-tests--with-narrow-plan (&rest body)
  "Run BODY as `todo-write-isearch-tests--with-plan' does, in 42 columns."
  (declare (indent 0) (debug t))
  `(let ((todo-write-view-max-width 42))
     (todo-write-isearch-tests--with-plan ,@body)))

(defun todo-write-isearch-tests--type (keys)
  "Type KEYS, as for `kbd', in this buffer, as a user does."
  (set-window-buffer nil (current-buffer))
  (set-window-point nil (point))
  (execute-kbd-macro (kbd keys)))

(defun todo-write-isearch-tests--visible-p (text)
  "Return non-nil if TEXT is in this buffer and can be seen."
  (save-excursion
    (goto-char (point-min))
    (and (search-forward text nil t)
         (not (invisible-p (match-beginning 0)))
         (not (invisible-p (1- (point)))))))

(ert-deftest todo-write-isearch-finds-the-cut-end-of-a-title ()
  (todo-write-isearch-tests--with-narrow-plan
    (should-not (string-match-p "quince" (todo-write-test-text)))
    (todo-write-isearch-tests--type "C-s quince RET")
    (should (looking-back "quince" (line-beginning-position)))
    (should (todo-write-isearch-tests--visible-p "quince"))))

(ert-deftest todo-write-isearch-finds-the-cut-beginning-of-a-files-name ()
  (todo-write-isearch-tests--with-plan
    (let ((todo-write-view-max-width 42)
          (name (concat "/p/papaya/" (make-string 60 ?x) "/end.go")))
      (todo-write-observe "a" "TOOL_CALL" `(:id "e" :name "Edit" :input (:file_path ,name))
                          :call-id "e")
      (todo-write-observe "a" "TOOL_EXECUTION" '(:id "e" :name "Edit" :content "done")
                          :call-id "e" :outcome 'ok
                          :files `((:path ,name :added 5 :removed 1)))
      (todo-write-test-open "Second")
      (should-not (string-match-p "papaya" (todo-write-test-text)))
      (goto-char (point-min))
      (todo-write-isearch-tests--type "C-s papaya RET")
      (should (looking-back "papaya" (line-beginning-position)))
      (should (todo-write-isearch-tests--visible-p "papaya")))))

(ert-deftest todo-write-isearch-finds-a-match-across-the-cut ()
  (todo-write-isearch-tests--with-narrow-plan
    (todo-write-isearch-tests--type "C-s Convert C-w C-w RET")
    (should (todo-write-isearch-tests--visible-p "quince"))))

(ert-deftest todo-write-isearch-that-is-quit-leaves-the-buffer-as-it-was ()
  (todo-write-isearch-tests--with-narrow-plan
    (search-forward " ✓ First")
    (goto-char (line-beginning-position))
    (let ((text (todo-write-test-text)) (point (point)))
      (condition-case nil
          (todo-write-isearch-tests--type "C-s quince C-g")
        (quit nil))
      (should (equal text (todo-write-test-text)))
      (should (= point (point)))
      (should-not todo-write-view-rows-open))))

(ert-deftest todo-write-isearch-shows-the-row-and-the-entry-of-cut-text-in-full ()
  (todo-write-isearch-tests--with-plan
    (let ((todo-write-view-max-width 42))
      (todo-write-isearch-tests--run "grep" "fine" (concat "grep " (make-string 60 ?x) " papaya"))
      (todo-write-view-refresh)
      (todo-write-test-open "Second")
      (goto-char (point-min))
      (todo-write-isearch-tests--type "C-s quince RET")
      (should (string-match-p "quince at the end" (todo-write-test-text)))
      (goto-char (point-min))
      (todo-write-isearch-tests--type "C-s papaya RET")
      (should (string-match-p "papaya" (todo-write-test-text))))))

(ert-deftest todo-write-view-copies-the-whole-text-of-rows-that-are-cut ()
  (todo-write-isearch-tests--with-narrow-plan
    (kill-ring-save (point-min) (point-max))
    (let ((copy (current-kill 0)))
      (should (string-search "quince at the end" copy))
      (should-not (text-property-not-all 0 (length copy) 'display nil copy)))))

(ert-deftest todo-write-isearch-that-finds-visible-text-opens-nothing ()
  (todo-write-isearch-tests--with-plan
    (let ((text (todo-write-test-text)))
      (todo-write-isearch-tests--type "C-s Second RET")
      (should (looking-back " ● Doing: Second" (line-beginning-position)))
      (should (equal text (todo-write-test-text)))
      (should-not todo-write-view-rows-open))))

(provide 'todo-write-isearch-tests)
;;; todo-write-isearch-tests.el ends here
