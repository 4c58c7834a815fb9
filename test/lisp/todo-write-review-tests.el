;;; todo-write-review-tests.el --- What is new  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An agent edits files and tells its edits.  The review's patch is taken back
;; by git from the files as they are, which gives them as they were reviewed.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-agent)
(require 'todo-write-list)
(require 'todo-write-tell)
(require 'todo-write-review)
(require 'todo-write-view-test-helper)

(defvar todo-write-review-tests--project nil "The folder with the files.")

(defmacro todo-write-review-tests--with (&rest body)
  "Evaluate BODY with the thread \"a\" of a new project."
  (declare (indent 0) (debug t))
  `(todo-write-with-store
     (let ((todo-write-review-tests--project
            (file-name-as-directory (file-truename (make-temp-file "review" t)))))
       (unwind-protect
           (progn (todo-write-begin "a" :project todo-write-review-tests--project)
                  ,@body)
         (delete-directory todo-write-review-tests--project t)))))

(defun todo-write-review-tests--path (name)
  "Return the absolute name of the file NAME."
  (expand-file-name name todo-write-review-tests--project))

(defun todo-write-review-tests--read (name)
  "Return the text of the file NAME, or nil."
  (let ((file (todo-write-review-tests--path name)))
    (when (file-exists-p file)
      (with-temp-buffer
        (let ((coding-system-for-read 'utf-8-unix)) (insert-file-contents file))
        (buffer-string)))))

(defun todo-write-review-tests--put (name text)
  "Make TEXT the text of the file NAME; delete that if TEXT is nil."
  (let ((file (todo-write-review-tests--path name))
        (coding-system-for-write 'utf-8-unix))
    (if text (write-region text nil file nil 'silent) (delete-file file))))

(defun todo-write-review-tests--edit (name text)
  "Have the agent make TEXT the text of the file NAME, and tell that."
  (let ((old (todo-write-review-tests--read name)))
    (todo-write-review-tests--put name text)
    (todo-write-review-tests--tell "a" name text old)))

(defun todo-write-review-tests--tell (thread name text &optional old)
  "Tell that the agent of THREAD made TEXT the text of the file NAME, before OLD."
  (todo-write-observe thread "TOOL_EXECUTION" '(:name "Edit")
                      :outcome 'ok
                      :files `((:path ,(todo-write-review-tests--path name)
                                :oldText ,old :newText ,text))))

(defun todo-write-review-tests--take-back (patch)
  "Take PATCH back from the files by git."
  (unless (string-empty-p patch)
    (with-temp-buffer
      (insert patch)
      (let ((default-directory todo-write-review-tests--project)
            (coding-system-for-write 'utf-8-unix))
        (unless (eql 0 (call-process-region nil nil "git" t t nil "apply" "-R" "--whitespace=nowarn"
                                            "-"))
          (ert-fail (list patch (buffer-string))))))))

(defun todo-write-review-tests--new (&rest arguments)
  "Return the names of the new files and the lines of all; ARGUMENTS follow the thread."
  (when-let* ((new (apply #'todo-write-new "a" arguments)))
    (list (mapcar (lambda (file) (file-name-nondirectory (plist-get file :path)))
                  (plist-get new :files))
          (plist-get new :added) (plist-get new :removed) (plist-get new :edits))))

(ert-deftest todo-write-review-a-change-is-new-until-it-is-marked ()
  (todo-write-review-tests--with
    (should-not (todo-write-new "a"))
    (should (equal "" (todo-write-review-patch "a")))
    (should (= 0 (todo-write-mark-reviewed "a")))
    (todo-write-test-write "a" '("One" "in_progress") "Two")
    (todo-write-review-tests--edit "f" "x\n")
    (todo-write-test-write "a" '("One" "completed") '("Two" "in_progress"))
    (todo-write-review-tests--edit "f" "x\ny\n")
    (todo-write-review-tests--edit "g" "z\n")
    (should (equal '(("f" "g") 3 0 3) (todo-write-review-tests--new)))
    (should (equal '(("f") 1 0 1) (todo-write-review-tests--new "t1")))
    (should (equal '(("g") 1 0 1)
                   (todo-write-review-tests--new nil (todo-write-review-tests--path "g"))))
    (should-not (todo-write-review-tests--new 'outside))
    (should (= 1 (todo-write-mark-reviewed "a" "t1")))
    (should (= 0 (todo-write-mark-reviewed "a" "t1")))
    (should (equal '(("f" "g") 2 0 2) (todo-write-review-tests--new)))
    (should (= 2 (todo-write-mark-reviewed "a")))
    (should-not (todo-write-new "a"))
    (todo-write-review-tests--edit "g" nil)
    (should (equal '(("g") 0 1 1) (todo-write-review-tests--new)))
    (should (= 1 (todo-write-mark-new "a" "t1")))
    (ert-info ("What followed in the file is new again, too")
      (should (equal '(("f" "g") 2 1 3) (todo-write-review-tests--new))))
    (ert-info ("The journal has the marks")
      (should (equal (list (todo-write-new "a") 2)
                     (todo-write-test-child
                      '(prin1 (list (todo-write-new "a")
                                    (plist-get (todo-write-core-call todo-write-dyn--header "a") :files)))))))
    (should (= 1 (todo-write-mark-new "a")))
    (should (equal '(("f" "g") 3 1 4) (todo-write-review-tests--new)))))

(defconst todo-write-review-tests--known
  '(list (mapcar (lambda (file) (plist-get file :path)) (plist-get (todo-write-new "a") :files))
         (or (plist-get (todo-write-core-call todo-write-dyn--header "a") :files) 0)
         (mapcar (lambda (comment)
                   (list (plist-get comment :text) (plist-get comment :told)
                         (plist-get comment :copied)))
                 (todo-write-plan-comments "a")))
  "A form for the new files, the number of unseen ones, and the comments.")

(ert-deftest todo-write-review-goes-on-where-an-earlier-emacs-ended ()
  (todo-write-with-store
    (cl-flet ((in-another-emacs (&rest forms)
                (apply #'todo-write-test-child
                       (append forms `((prin1 ,todo-write-review-tests--known)))))
              (edit (path old new)
                `(todo-write-observe "a" "TOOL_EXECUTION" '(:name "Edit") :outcome 'ok
                                     :files '((:path ,path :oldText ,old :newText ,new)))))
      (should (equal '(("/f" "/g") 2 (("Why?" nil nil) ("Keep it" nil nil)))
                     (in-another-emacs
                      '(todo-write-begin "a" :project "/")
                      (edit "/f" "1" "2") (edit "/g" "1" "2") (edit "/h" "1" "2")
                      '(todo-write-mark-reviewed "a" nil "/h")
                      '(todo-write-plan-comment "a" "Why?" nil :path "/f")
                      '(todo-write-plan-comment "a" "Keep it"))))
      (let ((known '(("/g" "/h") 2 (("Why?" t nil) ("Keep it" nil t)))))
        (should (equal known
                       (in-another-emacs
                        '(let ((comments (todo-write-plan-comments "a")))
                           (todo-write-plan-note-told "a" (list (car comments)))
                           (todo-write-plan-note-told "a" (cdr comments) t))
                        '(todo-write-mark-reviewed "a" nil "/f")
                        (edit "/h" "2" "3"))))
        (should (equal known (eval todo-write-review-tests--known t)))))))

(ert-deftest todo-write-review-git-takes-the-patch-back ()
  (skip-unless (executable-find "git"))
  (todo-write-review-tests--with
    (dolist (name '("edited" "created" "deleted" "windows" "open" "there and back"))
      (todo-write-review-tests--put name (and (not (equal name "created")) "one\ntwo\nthree\n")))
    (todo-write-review-tests--put "windows" "one\r\ntwo\r\nthree\r\n")
    (todo-write-review-tests--put "open" "one\ntwo")
    (let* ((names '("created" "deleted" "edited" "open" "there and back" "windows"))
           (read (lambda () (mapcar #'todo-write-review-tests--read names)))
           (before (funcall read)))
      (todo-write-review-tests--edit "edited" "one\n2\nthree\n")
      (todo-write-review-tests--edit "edited" "zero\none\n2\nthree\n")
      (todo-write-review-tests--edit "created" "new\nand open")
      (todo-write-review-tests--edit "deleted" nil)
      (todo-write-review-tests--edit "windows" "one\r\n2\r\nthree\r\n")
      (todo-write-review-tests--edit "open" "one\ntwo\nthree")
      (todo-write-review-tests--edit "there and back" "other\n")
      (todo-write-review-tests--edit "there and back" "one\ntwo\nthree\n")
      (let ((patch (todo-write-review-patch "a")))
        (should (= 5 (cl-count-if (lambda (line) (string-prefix-p "diff --git" line))
                                  (split-string patch "\n"))))
        (should-not (string-search "Not composed" patch))
        (todo-write-review-tests--take-back patch)
        (should (equal before (funcall read)))))))

(ert-deftest todo-write-review-what-others-changed-stays-or-the-reason-is-said ()
  (todo-write-review-tests--with
    (todo-write-review-tests--put "f" "one\ntwo\nthree\nfour\nfive\nsix\nseven\n")
    (todo-write-review-tests--edit "f" "one\ntwo\nthree\nfour\nfive\n6\nseven\n")
    (todo-write-review-tests--put "f" "mine\none\ntwo\nthree\nfour\nfive\n6\nseven\n")
    (let ((patch (todo-write-review-patch "a")))
      (should (string-search "-six\n+6\n" patch))
      (should-not (string-search "mine" (replace-regexp-in-string "^ .*" "" patch))))
    (todo-write-review-tests--put "f" "one\ntwo\nthree\nfour\nfive\nVI\nseven\n")
    (should (string-prefix-p "# Not composed: another change touches the same lines\ndiff --git a/f b/f"
                             (todo-write-review-patch "a")))
    (todo-write-review-tests--put "f" "one\0\n")
    (should (string-prefix-p "# Not composed: the file is binary or not UTF-8\n"
                             (todo-write-review-patch "a")))
    (let ((todo-write-record-patches nil))
      (todo-write-review-tests--edit "g" "x\n"))
    (should (string-search "# Not composed: of a change only numbers are recorded\n"
                           (todo-write-review-patch "a" nil (todo-write-review-tests--path "g"))))))

(ert-deftest todo-write-review-shows-a-created-empty-file-as-a-new-one ()
  (todo-write-review-tests--with
    (todo-write-review-tests--edit "f" "")
    (should (equal "diff --git a/f b/f\nnew file mode 100644\n" (todo-write-review-patch "a")))
    (should (equal '(("f") 0 0 1) (todo-write-review-tests--new)))
    (let ((todo-write-record-patches nil))
      (todo-write-review-tests--edit "g" ""))
    (should (equal "diff --git a/g b/g\nnew file mode 100644\n"
                   (todo-write-review-patch "a" nil (todo-write-review-tests--path "g"))))))

;;; By keys

(defmacro todo-write-review-tests--with-plan (&rest body)
  "Evaluate BODY in the buffer of the plan \"a\" of a new project.
Its task One changed the file f, and Two, which is in progress, g and h."
  (declare (indent 0) (debug t))
  `(todo-write-review-tests--with
     (todo-write-review-tests--put "f" "one\ntwo\n")
     (todo-write-test-write "a" '("One" "in_progress") "Two")
     (todo-write-review-tests--edit "f" "one\n2\n")
     (todo-write-test-write "a" '("One" "completed") '("Two" "in_progress"))
     (todo-write-review-tests--edit "g" "new\n")
     (todo-write-review-tests--edit "h" "new\n")
     (save-window-excursion
       (unwind-protect
           (with-current-buffer (todo-write-show "a")
             (set-window-buffer nil (current-buffer))
             ,@body)
         (mapc #'kill-buffer (todo-write-view-draw-live-buffers))
         (when (get-buffer "*todo-write-review*") (kill-buffer "*todo-write-review*"))))))

(defun todo-write-review-tests--shown ()
  "Return the names of the files that the review shows, those marked in parentheses."
  (with-current-buffer "*todo-write-review*"
    (mapcar (lambda (file)
              (let ((name (file-name-nondirectory (overlay-get file 'todo-write-path))))
                (if (overlay-get file 'before-string)
                    (format "(%s)" name) name)))
            todo-write-review--files)))

(defun todo-write-review-tests--review (keys)
  "Type KEYS, the last of which is v, here; return the files that are shown."
  (todo-write-review-tests--type keys)
  (prog1 (todo-write-review-tests--shown)
    (set-buffer "*todo-write-review*")))

(defun todo-write-review-tests--type (keys)
  "Execute KEYS as a user types them, in this buffer."
  (save-window-excursion
    (set-window-buffer nil (current-buffer))
    (execute-kbd-macro (kbd keys))))

(ert-deftest todo-write-review-v-shows-what-is-new-at-point ()
  (todo-write-review-tests--with-plan
    (goto-char (point-min))
    (should (equal '("f" "g" "h") (todo-write-review-tests--review "v")))
    (should (string-search "New changes of this plan: 3 files" header-line-format))
    (with-current-buffer todo-write-view-buffer-name
      (todo-write-view-goto (todo-write-test-id "a" "One"))
      (should (equal '("f") (todo-write-review-tests--review "v"))))
    (with-current-buffer todo-write-view-buffer-name
      (todo-write-test-open "Two")
      (search-forward "✎ h")
      (forward-line 0)
      (should (equal '("h") (todo-write-review-tests--review "v"))))
    (todo-write-mark-reviewed "a")
    (with-current-buffer todo-write-view-buffer-name
      (goto-char (point-min))
      (should-error (todo-write-review-tests--type "v") :type 'user-error)
      (should (equal '("(f)" "(g)" "(h)") (todo-write-review-tests--review "C-u C-u v"))))
    (todo-write-observe "a" "INTENT" "go on")
    (todo-write-review-tests--edit "h" "newer\n")
    (todo-write-mark-reviewed "a")
    (with-current-buffer todo-write-view-buffer-name
      (goto-char (point-min))
      (should (equal '("(h)") (todo-write-review-tests--review "C-u v"))))
    (todo-write-review-tests--edit "g" "newer\n")
    (with-current-buffer todo-write-view-buffer-name
      (should (equal '("(h)" "g") (todo-write-review-tests--review "C-u v"))))))

(ert-deftest todo-write-review-r-marks-what-is-shown-and-u-takes-it-back ()
  (todo-write-review-tests--with-plan
    (goto-char (point-min))
    (todo-write-review-tests--review "v")
    (todo-write-review-tests--type "r")
    (should (equal '("(f)" "g" "h") (todo-write-review-tests--shown)))
    (should (looking-at "diff --git a/g"))
    (todo-write-review-tests--edit "g" "newer\n")
    (todo-write-review-tests--type "r")
    (ert-info ("What came since is not marked")
      (should (equal '(("h" "g") 2 1 2) (todo-write-review-tests--new))))
    (todo-write-review-tests--type "u")
    (should (equal '("(f)" "g" "h") (todo-write-review-tests--shown)))
    (todo-write-review-tests--type "C-u r")
    (should (equal '("(f)" "(g)" "(h)") (todo-write-review-tests--shown)))
    (todo-write-review-tests--type "g")
    (should (equal '("g") (todo-write-review-tests--shown)))
    (should (string-search "-new\n+newer\n" (buffer-string)))
    (todo-write-review-tests--type "u")
    (should (equal '("g" "h") (todo-write-review-tests--shown)))
    (todo-write-review-tests--type "u")
    (should (equal '(("f" "g" "h") 4 2 4) (todo-write-review-tests--new)))))

(ert-deftest todo-write-review-of-a-task-has-all-that-is-new-of-its-files-up-to-its-end ()
  (todo-write-review-tests--with-plan
    (todo-write-review-tests--edit "f" "one\n2\nthree\n")
    (todo-write-test-write "a" '("One" "completed") '("Two" "completed"))
    (todo-write-review-tests--edit "f" "one\n2\nthree\nfour\n")
    (todo-write-view-goto (todo-write-test-id "a" "Two"))
    (should (equal '("f" "g" "h") (todo-write-review-tests--review "v")))
    (should (string-search "-two\n+2\n+three\n four\n" (buffer-string)))
    (todo-write-review-tests--type "r")
    (should-not (todo-write-new "a" "t1"))
    (should (equal '(("f") 1 0 1) (todo-write-review-tests--new 'outside)))
    (todo-write-review-tests--type "u")
    (should (equal '(("f") 1 1 1) (todo-write-review-tests--new "t1")))))

(ert-deftest todo-write-review-has-the-keys-of-a-diff ()
  (todo-write-review-tests--with-plan
    (goto-char (point-min))
    (todo-write-review-tests--review "v")
    (todo-write-review-tests--type "n RET")
    (let ((buffer (get-file-buffer (todo-write-review-tests--path "f"))))
      (unwind-protect
          (progn
            (should buffer)
            (todo-write-review-tests--type "C-u C-c C-a")
            (ert-info ("The changes are those of the files on disk")
              (todo-write-review-tests--type "g")
              (should (search-forward "@@" nil t)))
            (should (equal "one\ntwo\n" (with-current-buffer buffer
                                          (prog1 (buffer-string)
                                            (let ((inhibit-message t)) (save-buffer)))))))
        (with-current-buffer buffer (set-buffer-modified-p nil))
        (kill-buffer buffer)))
    (todo-write-review-tests--type "g")
    (should-not (string-search "not saved" header-line-format))
    (ert-info ("A hunk that was taken back marks nothing")
      (should (string-search "# f: changed and changed back" (buffer-string)))
      (should (equal '(("f") 1 1 1) (todo-write-review-tests--new "t1"))))))

(ert-deftest todo-write-review-rows-the-header-and-agents-say-what-is-new ()
  (todo-write-review-tests--with-plan
    (cl-flet ((new-p (content)
                (todo-write-view-goto (todo-write-test-id "a" content))
                (cl-loop for position from (point) below (line-end-position)
                         thereis (equal '(todo-write-lines-new todo-write-lines-added)
                                        (get-text-property position 'face))))
              (new () (plist-get (car (todo-write-agents)) :new)))
      (revert-buffer)
      (should (string-search "3 files new" (buffer-string)))
      (should (new-p "One"))
      (should (= 3 (new)))
      (todo-write-mark-reviewed "a" "t1")
      (todo-write-redraw)
      (should (string-search "2 files new" (buffer-string)))
      (should-not (new-p "One"))
      (should (equal "2 files to review · Doing: Two"
                     (todo-write-list--now (car (todo-write-agents)))))
      (todo-write-mark-reviewed "a")
      (todo-write-redraw)
      (should-not (string-search "files new" (buffer-string)))
      (should-not (new)))))

(ert-deftest todo-write-review-c-comments-on-the-line-the-hunk-or-the-region ()
  (todo-write-review-tests--with-plan
    (goto-char (point-min))
    (todo-write-review-tests--review "v")
    (let (told)
      (cl-letf (((symbol-function 'todo-write-tell) (lambda (&rest args) (push args told))))
        (search-forward "+2")
        (todo-write-review-tests--type "c Why? RET No. C-c C-c")
        (goto-char (point-min))
        (search-forward "@@ ")
        (todo-write-review-tests--type "c Hm C-c C-c")
        (todo-write-review-tests--type "c Hm C-c C-k")
        (goto-char (point-min))
        (todo-write-review-tests--type "c Split C-c C-c")
        ;; After the last line, the last line is meant.
        (dolist (back '(1 0))
          (goto-char (- (point-max) back))
          (todo-write-review-tests--type "c End C-c C-c"))
        (should (equal (pop told) (pop told))))
      (should (equal `(("a" "Split" (:path ,(todo-write-review-tests--path "f") :line nil
                                     :quote nil :items ("t1")))
                       ("a" "Hm" (:path ,(todo-write-review-tests--path "f") :line 1
                                  :quote " one\n-two\n+2" :items ("t1")))
                       ("a" "Why?\nNo." (:path ,(todo-write-review-tests--path "f") :line 2
                                         :quote "+2" :items ("t1"))))
                     told)))
    (todo-write-plan-comment "a" "Why?" "you on f:2: Why?" :items '("t1"))
    (with-current-buffer todo-write-view-buffer-name
      (todo-write-test-open "One")
      (should (string-search "you on f:2: Why? (not told yet)" (buffer-string)))
      (todo-write-plan-note-told "a" (todo-write-plan-comments "a"))
      (revert-buffer)
      (should (string-search "you on f:2: Why? (told)" (buffer-string))))))

(ert-deftest todo-write-review-a-comment-stays-at-its-place ()
  (todo-write-review-tests--with-plan
    (goto-char (point-min))
    (todo-write-review-tests--review "v")
    (let (told)
      (cl-letf (((symbol-function 'todo-write-tell)
                 (lambda (_ text about) (push (list text (plist-get about :line)) told))))
        (search-forward "+2")
        (unwind-protect
            (progn
              (todo-write-review-tests--type "c begun")
              (goto-char (point-min))
              ;; The hunk before it is that of another file.
              (search-forward "diff --git a/g")
              (todo-write-review-tests--type "c All? C-c C-c")
              (should (equal told '(("All?" nil))))
              (with-current-buffer "*todo-write-comment*"
                (todo-write-compose-send))
              (should (equal (car told) '("begun" 2))))
          (when (get-buffer "*todo-write-comment*")
            (kill-buffer "*todo-write-comment*")))))))

(ert-deftest todo-write-review-what-an-agent-is-told-has-no-escape-sequence ()
  (let ((words (todo-write-tell--words '(:text "No" :path "/p/a\e[201~\r1" :quote "+x\e[201~\r1\r")
                                       "/p/")))
    (should (string-suffix-p "\n> +x [201~ 1 \nNo" words))
    (should-not (string-match-p "[\0-\x9\xb-\x1f\x7f]" words))))

(ert-deftest todo-write-review-v-without-anything-new-keeps-the-review-of-another-plan ()
  (todo-write-review-tests--with-plan
    (goto-char (point-min))
    (todo-write-review-tests--review "v")
    (todo-write-review-tests--type "r")
    (todo-write-test-write "b" "One")
    (should-error (todo-write-review "b") :type 'user-error)
    (should (equal '("(f)" "g" "h") (todo-write-review-tests--shown)))
    (todo-write-review-tests--type "C-u r u")
    (should (equal '("(f)" "g" "h") (todo-write-review-tests--shown)))))

(ert-deftest todo-write-review-of-another-machine-reads-no-file-of-this-one ()
  (todo-write-review-tests--with
    (todo-write-review-tests--put "f" "here\n")
    (todo-write-begin "build/claude:s"
                      :project (concat "/ssh:build:" todo-write-review-tests--project))
    (todo-write-review-tests--tell "build/claude:s" "f" "new\n" "old\n")
    (let ((patch (todo-write-review-patch "build/claude:s")))
      (should (string-search "# Not composed" patch))
      (should-not (string-search "here" patch)))))

(ert-deftest todo-write-review-w-copies-it-as-markdown ()
  (todo-write-review-tests--with-plan
    (todo-write-observe "a" "INTENT" "go on")
    (dolist (outcome '(failed ok failed))
      (let ((id (symbol-name (gensym))))
        (todo-write-observe "a" "TOOL_CALL" `(:id ,id :name "Bash" :input (:command "make `test`"))
                            :call-id id)
        (todo-write-observe "a" "TOOL_EXECUTION"
                            `(:id ,id :name "Bash") :call-id id :outcome outcome
                            :git (and (eq outcome 'ok) [(:kind "commit" :id "699336a"
                                                         :title "Second")]))))
    (todo-write-plan-comment "a" "Why *not*?\nNo." nil
                             :path (todo-write-review-tests--path "f") :line 2)
    (goto-char (point-min))
    (todo-write-review-tests--review "v")
    (todo-write-review-tests--type "r w")
    (should (equal "# Review

## Files
- `f` +1 −1, reviewed
- `g` +1 −0
- `h` +1 −0

## Plan
- [x] One
  - `f` +1 −1
- [ ] Two
  - `g` +1 −0
  - `h` +1 −0
  - 2 of 3 commands failed

## Comments
- `f:2`: Why \\*not\\*? No.
"
                   (current-kill 0)))))

(ert-deftest todo-write-review-a-change-of-a-file-that-you-are-editing-is-said-once ()
  (todo-write-review-tests--with-plan
    (let ((buffers (mapcar (lambda (name)
                             (find-file-noselect (todo-write-review-tests--path name)))
                           '("f" "g")))
          (save (lambda (buffer)
                  (with-current-buffer buffer
                    (set-buffer-modified-p nil)
                    (run-hooks 'after-save-hook))))
          (said nil))
      (unwind-protect
          (cl-letf (((symbol-function 'message)
                     (lambda (format &rest args)
                       (when format (push (apply #'format-message format args) said)))))
            (dolist (buffer buffers)
              (with-current-buffer buffer (insert "mine")))
            (dolist (name '("f" "g" "f" "g"))
              (todo-write-review-tests--tell "a" name (format "%d\n" (random)))
              (todo-write-agent--look-for-clashes))
            (dolist (name '("f" "g"))
              (should (= 1 (seq-count
                            (lambda (text)
                              (string-search (format "changed %s, which you are editing" name) text))
                            said))))
            (revert-buffer)
            (should (string-search "changed g, which you are editing" (buffer-string)))
            (funcall save (cadr buffers))
            (should (string-search "changed f" (todo-write-agent-unsaved-note "a")))
            (todo-write-redraw)
            (should (string-search "changed f, which you are editing" (buffer-string)))
            (funcall save (car buffers))
            (should-not (todo-write-agent-unsaved-note "a")))
        (dolist (buffer buffers)
          (with-current-buffer buffer (set-buffer-modified-p nil))
          (kill-buffer buffer))))))

(provide 'todo-write-review-tests)
;;; todo-write-review-tests.el ends here
