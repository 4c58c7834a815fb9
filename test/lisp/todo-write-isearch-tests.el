;;; todo-write-isearch-tests.el --- Tests of Isearch and Occur in a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'ert)
(require 'imenu)
(require 'todo-write-isearch)
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

(ert-deftest todo-write-isearch-opens-the-row-and-the-entry-that-has-the-match ()
  (todo-write-isearch-tests--with-plan
    (should-not (string-match-p "mango" (todo-write-test-text)))
    (todo-write-isearch-tests--type "C-s mango RET")
    (should (looking-back "a mango" (line-beginning-position)))
    (should (todo-write-isearch-tests--visible-p "a mango"))
    (should (equal "t3" (get-text-property (point) 'todo-write-id)))
    (should (member "t3" todo-write-view--open))
    (should-not (string-match-p "fig\\|Apricot" (todo-write-test-text)))
    (let ((seen (todo-write-test-seen)))
      (todo-write-view-refresh)
      (should (equal seen (todo-write-test-seen))))))

(ert-deftest todo-write-isearch-backward-leaves-point-before-the-match ()
  (todo-write-isearch-tests--with-plan
    (goto-char (point-max))
    (todo-write-isearch-tests--type "C-r lychee RET")
    (should (looking-at "lychee\\."))
    (should (todo-write-isearch-tests--visible-p "lychee"))))

(ert-deftest todo-write-isearch-finds-the-cut-end-of-a-title ()
  (todo-write-isearch-tests--with-plan
    (let ((todo-write-view-max-width 42))
      (todo-write-view-refresh)
      (goto-char (point-min))
      (should-not (string-match-p "quince" (todo-write-test-text)))
      (todo-write-isearch-tests--type "C-s quince RET")
      (should (looking-back "quince" (line-beginning-position)))
      (should (todo-write-isearch-tests--visible-p "quince")))))

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
  (todo-write-isearch-tests--with-plan
    (let ((todo-write-view-max-width 42))
      (todo-write-view-refresh)
      (goto-char (point-min))
      (todo-write-isearch-tests--type "C-s Convert C-w C-w RET")
      (should (todo-write-isearch-tests--visible-p "quince")))))

(ert-deftest todo-write-isearch-opens-earlier-lists-and-the-stories-in-them ()
  (todo-write-isearch-tests--with-plan
    (todo-write-isearch-tests--type "C-s apricot RET")
    (should (looking-back "Apricot" (line-beginning-position)))
    (should (todo-write-isearch-tests--visible-p "Apricot"))
    (should-not (string-match-p "fig" (todo-write-test-text)))
    (goto-char (point-min))
    (todo-write-isearch-tests--type "C-s fig RET")
    (should (looking-back "ancient fig" (line-beginning-position)))
    (should (todo-write-isearch-tests--visible-p "ancient fig"))))

(ert-deftest todo-write-isearch-opens-earlier-entries ()
  (todo-write-isearch-tests--with-plan
    (dotimes (n 5)
      (todo-write-isearch-tests--run (format "step %d" n) "fine"))
    (todo-write-isearch-tests--run "last" "fine")
    (let ((todo-write-story-limit 2))
      (todo-write-test-open "Second")
      (should-not (string-match-p "step 1" (todo-write-test-text)))
      (todo-write-isearch-tests--type "C-s step SPC 1 RET")
      (should (looking-back "step 1" (line-beginning-position)))
      (should (todo-write-isearch-tests--visible-p "step 1"))
      (should (todo-write-isearch-tests--visible-p "step 4")))))

(ert-deftest todo-write-isearch-that-is-quit-leaves-the-buffer-as-it-was ()
  (todo-write-isearch-tests--with-plan
    (search-forward " ✓ First")
    (goto-char (line-beginning-position))
    (let ((text (todo-write-test-text)) (point (point)))
      (condition-case nil
          (todo-write-isearch-tests--type "C-s mango C-g")
        (quit nil))
      (should (equal text (todo-write-test-text)))
      (should (= point (point)))
      (should-not (overlays-in (point-min) (point-max)))
      (should-not todo-write-view--open))))

(ert-deftest todo-write-isearch-that-finds-visible-text-opens-nothing ()
  (todo-write-isearch-tests--with-plan
    (let ((text (todo-write-test-text)))
      (todo-write-isearch-tests--type "C-s Second RET")
      (should (looking-back " ● Doing: Second" (line-beginning-position)))
      (should (equal text (todo-write-test-text)))
      (should-not todo-write-view--open))))

(ert-deftest todo-write-isearch-goes-on-while-the-agent-writes ()
  (todo-write-isearch-tests--with-plan
    (isearch-forward nil t)
    (isearch-process-search-string "mango" "mango")
    (should (todo-write-isearch-tests--visible-p "mango"))
    (todo-write-test-write "a" '("First" "pending") '("Second" "completed")
                           todo-write-isearch-tests--long)
    (should (todo-write-isearch-tests--visible-p "mango"))
    (isearch-exit)
    (should (todo-write-isearch-tests--visible-p "mango"))
    (should-not (string-match-p "fig" (todo-write-test-text)))))

(ert-deftest todo-write-isearch-hidden-text-takes-no-lines ()
  (todo-write-isearch-tests--with-plan
    (let ((todo-write-view-max-width 42))
      (todo-write-view-refresh)
      (let ((seen (todo-write-test-text)))
        (isearch-forward nil t)
        (unwind-protect
            (should (equal seen
                           (mapconcat (lambda (position)
                                        (if (invisible-p position) ""
                                          (char-to-string (char-after position))))
                                      (number-sequence (point-min) (1- (point-max))) "")))
          (isearch-done))))))

(ert-deftest todo-write-isearch-occur-lists-closed-text-and-shows-it ()
  (todo-write-isearch-tests--with-plan
    (unwind-protect
        (progn
          (todo-write-isearch-tests--type "M-s o m[a]ngo RET")
          (with-current-buffer "*Occur*"
            (goto-char (point-min))
            (should (re-search-forward "a mango" nil t))
            (occur-mode-goto-occurrence))
          (should (derived-mode-p 'todo-write-view-mode))
          (should (looking-at "mango"))
          (should (todo-write-isearch-tests--visible-p "mango"))
          (goto-char (point-min))
          (todo-write-test-press "n")
          (todo-write-test-press "n")
          (should-not (invisible-p (point))))
      (kill-buffer "*Occur*"))))

(ert-deftest todo-write-isearch-occur-leaves-nothing-that-is-copied-or-scrolls ()
  (todo-write-isearch-tests--with-plan
    (dotimes (n 30)
      (todo-write-isearch-tests--run (format "make-%d" n) "one\na mango\nlast\n"))
    (todo-write-test-write "a" '("First" "completed") '("Second" "completed")
                           (list todo-write-isearch-tests--long "in_progress" "Third"))
    (todo-write-view-to-current)
    (let ((window (selected-window))
          (shown (todo-write-test-text)))
      (unwind-protect
          (progn
            (todo-write-isearch-tests--type "M-s o m[a]ngo RET")
            (select-window window)
            (should (string-match-p "mango" (todo-write-test-text)))
            (kill-ring-save (point-min) (point-max))
            (should (equal shown (substring-no-properties (current-kill 0))))
            (todo-write-edit "a" 'add "Fourth")
            (should (= (point-min) (window-start window)))
            (todo-write-test-write "a" (list todo-write-isearch-tests--long "in_progress" "Third"))
            (should (= (point-min) (window-start window))))
        (kill-buffer "*Occur*")))))

(ert-deftest todo-write-imenu-finds-nothing-without-a-plan ()
  (todo-write-test-with-shapes
    (with-current-buffer (todo-write-show)
      (should-not (funcall imenu-create-index-function)))))

(ert-deftest todo-write-imenu-reaches-the-tasks-of-earlier-lists ()
  (todo-write-isearch-tests--with-plan
    (imenu (assoc "Apricot" (assoc "Earlier lists" (funcall imenu-create-index-function))))
    (should (looking-at-p " +✓ Apricot"))))

(provide 'todo-write-isearch-tests)
;;; todo-write-isearch-tests.el ends here
