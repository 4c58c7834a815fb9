;;; todo-write-list-tests.el --- Tests of the overview and of switching  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; All plans in a list, completion of threads, and which plan is shown first.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-view-test-helper)
(require 'todo-write-list)
(require 'todo-write-history)
(require 'todo-write-tell)
(require 'todo-write-request)
(require 'todo-write-visit)

(defun todo-write-list-tests--draw ()
  "Draw the overview as after a change."
  (todo-write-list--on-change)
  (todo-write-redraw))

(defmacro todo-write-list-tests--with (&rest body)
  "Run BODY with an empty store and no overview."
  (declare (indent 0) (debug t))
  `(todo-write-test-with-shapes
     (unwind-protect (progn ,@body)
       (when (get-buffer "*todo-write-list*")
         (kill-buffer "*todo-write-list*")))))

(defun todo-write-list-tests--rows ()
  "Return the rows of the overview as lists (STATE PLAN DONE NOW) of strings."
  (with-current-buffer (todo-write-list)
    (mapcar (pcase-lambda (`(,_ [,state ,_ ,_ ,_ ,plan ,done ,now]))
              (mapcar #'substring-no-properties (list state plan done now)))
            tabulated-list-entries)))

(ert-deftest todo-write-list-shows-progress-state-and-current-task-of-all-threads ()
  (todo-write-list-tests--with
    (todo-write-observe "a" "TITLE" "Login")
    (todo-write-test-write "a" '("One" "completed") '("Two" "in_progress" "Doing two"))
    (todo-write-test-write "b" '("One" "completed"))
    (todo-write-test-write "c" '("One" "in_progress" "Doing one"))
    (todo-write-pause "c")
    (todo-write-set-activity "a" 'waiting "permission to run it")
    (let ((rows (todo-write-list-tests--rows)))
      (should (equal (car rows) '("! waiting" "Login" "1/2" "permission to run it")))
      (should (equal (sort (cdr rows) (lambda (a b) (string< (cadr a) (cadr b))))
                     '(("○ idle" "b" "1/1" "") ("○ idle" "c" "0/1" "Doing one")))))
    (todo-write-set-activity "a" 'working)
    (with-current-buffer (todo-write-list)
      (should (derived-mode-p 'tabulated-list-mode))
      (goto-char (point-min))
      (should (search-forward "Doing two")))))

(ert-deftest todo-write-list-begins-at-the-first-agent ()
  (todo-write-list-tests--with
    (dolist (key '("a" "b"))
      (todo-write-test-write key "One"))
    (when (get-buffer "*todo-write-list*") (kill-buffer "*todo-write-list*"))
    (with-current-buffer (todo-write-list)
      (should (tabulated-list-get-id))
      (should (bobp))
      (forward-line)
      (let ((second (tabulated-list-get-id)))
        (todo-write-list)
        (should (equal second (tabulated-list-get-id)))))))

(ert-deftest todo-write-list-keys-act-on-all-agents-in-the-region ()
  (todo-write-list-tests--with
    (dolist (key '("a" "b" "c"))
      (todo-write-test-write key "One"))
    (with-current-buffer (todo-write-list)
      (let ((transient-mark-mode t) question)
        (goto-char (point-min))
        (push-mark (point) t t)
        (forward-line 2)
        (cl-letf (((symbol-function 'yes-or-no-p)
                   (lambda (prompt) (setq question prompt))))
          (todo-write-test-press "k"))
        (should (string-search "plans of 2 agents" question))
        (should (= 1 (length (todo-write-threads))))
        (deactivate-mark)
        (goto-char (point-min))
        (todo-write-test-press "i")))))

(ert-deftest todo-write-list-tells-finished-agents-from-stopped-ones ()
  (todo-write-list-tests--with
    (pcase-dolist (`(,key ,status ,ending)
                   '(("finished" "completed" end-of-turn) ("over" "in_progress" end-of-turn)
                     ("exited" "in_progress" session-ended) ("killed" "in_progress" killed)
                     ("denied" "in_progress" denied) ("closed" "completed" session-ended)))
      (todo-write-test-write key (list "One" status "Doing one"))
      (todo-write-set-activity key 'working)
      (todo-write-end-turn key nil nil ending))
    (should (equal (sort (todo-write-list-tests--rows)
                         (lambda (a b) (string< (cadr a) (cadr b))))
                   '(("○ idle" "closed" "1/1" "")
                     ("✗ stopped" "denied" "0/1" "(permission denied)")
                     ("✗ stopped" "exited" "0/1" "Doing one")
                     ("○ idle" "finished" "1/1" "")
                     ("✗ stopped" "killed" "0/1" "(killed)")
                     ("○ idle" "over" "0/1" "Doing one"))))))

(ert-deftest todo-write-show-begins-with-the-project-at-hand ()
  (todo-write-list-tests--with
    (let ((ours (make-temp-file "ours" t)) (theirs (make-temp-file "theirs" t)))
      (unwind-protect
          (progn
            (todo-write-begin "x" :project (todo-write-list-tests--root ours))
            (todo-write-test-write "x" "One")
            (todo-write-begin "y" :project (todo-write-list-tests--root theirs))
            (todo-write-test-write "y" "One")
            (let ((default-directory (file-name-as-directory ours)))
              (should (equal "x" (todo-write-buffer-default-thread))))
            (let ((default-directory (file-name-as-directory theirs)))
              (should (equal "y" (todo-write-buffer-default-thread)))))
        (delete-directory ours t)
        (delete-directory theirs t)))))

(ert-deftest todo-write-commands-outside-a-plan-are-about-the-one-shown-first ()
  (todo-write-list-tests--with
    (let ((ours (make-temp-file "ours" t))
          asked)
      (unwind-protect
          (cl-letf (((symbol-function 'read-file-name) (lambda (&rest _) "x.svg"))
                    ((symbol-function 'read-string) (lambda (&rest _) "Hello"))
                    ((symbol-function 'todo-write-tell--check) #'ignore)
                    ((symbol-function 'completing-read)
                     (lambda (_prompt table &rest _)
                       (setq asked t)
                       (car (all-completions "" table)))))
            (todo-write-begin "ours" :project (todo-write-list-tests--root ours))
            (todo-write-test-write "ours" '("One" "in_progress"))
            (todo-write-begin "theirs" :project "/elsewhere/")
            (todo-write-test-write "theirs" "One")
            (with-temp-buffer
              (setq default-directory (file-name-as-directory ours))
              (dolist (command '(todo-write-copy todo-write-show-diff))
                (should (equal (list command "ours")
                               (list command
                                     (car (eval (cadr (interactive-form command)) t))))))
              (dolist (command '(todo-write-history todo-write-timeline todo-write-log))
                (should (equal (list command "ours")
                               (list command
                                     (buffer-local-value 'todo-write-view-thread
                                                         (save-window-excursion
                                                           (call-interactively command)))))))
              (should-not asked)))
        (dolist (name '("*todo-write-history*" "*todo-write-timeline*" "*todo-write-log*"))
          (when (get-buffer name)
            (kill-buffer name)))
        (delete-directory ours t)))))

(ert-deftest todo-write-list-forgets-nothing-without-a-question ()
  (todo-write-with-store
    (todo-write-test-write "a" "One")
    (let (asked)
      (cl-letf (((symbol-function 'yes-or-no-p) (lambda (_) (setq asked t) nil))
                ((symbol-function 'completing-read)
                 (lambda (_prompt table &rest _) (car (all-completions "" table)))))
        (dolist (buffer (list (get-buffer-create "*scratch*")
                              (save-window-excursion (todo-write-list))))
          (with-current-buffer buffer
            (should-error (call-interactively #'todo-write-forget) :type 'user-error)))
        (should asked)))
    (should (equal '("a") (todo-write-threads)))))

(defun todo-write-list-tests--root (folder)
  "Return the project of FOLDER as the store keeps it."
  (let ((default-directory (file-name-as-directory folder)))
    (todo-write--project)))

(ert-deftest todo-write-list-only-looks-at-threads-of-earlier-sessions ()
  (todo-write-list-tests--with
    (should (equal 2 (todo-write-test-child
                      '(todo-write "old" '(:todos [(:content "One" :status "completed"
                                                    :activeForm "x")
                                                   (:content "Two" :status "pending"
                                                    :activeForm "x")]))
                      '(prin1 (length (todo-write-items "old"))))))
    (should (equal (todo-write-list-tests--rows) '(("○ idle" "old" "1/2" ""))))
    (should-not (todo-write-threads-loaded))
    (todo-write-switch "old")
    (should (equal (todo-write-threads-loaded) '("old")))
    (should (string-match-p "✓ One" (with-current-buffer todo-write-view-buffer-name
                                      (todo-write-test-text))))))

(ert-deftest todo-write-list-is-live-and-keeps-point-with-its-thread ()
  (todo-write-list-tests--with
    (todo-write-test-write "a" "One")
    (todo-write-list)
    (goto-char (todo-write-buffer-find 'tabulated-list-id "a"))
    (todo-write-test-write "b" "One" "Two")
    (todo-write-test-wait
     (lambda () (string-match-p "0/2" (todo-write-test-text))))
    (should (equal "a" (tabulated-list-get-id)))))

(ert-deftest todo-write-list-replaces-only-the-rows-that-differ ()
  (todo-write-list-tests--with
    (dolist (key '("a" "b" "c"))
      (todo-write-test-write key "One" "Two"))
    (todo-write-list)
    (let* ((row (lambda (key) (1+ (todo-write-buffer-find 'tabulated-list-id key))))
           (places (mapcar (lambda (key) (cons key (copy-marker (funcall row key))))
                           '("a" "b" "c"))))
      (todo-write-test-write "b" '("One" "completed") "Two")
      (todo-write-list-tests--draw)
      (should (equal '("a" "c")
                     (cl-loop for (key . place) in places
                              when (= place (funcall row key)) collect key))))
    (let ((text (todo-write-test-text)))
      (should (string-match-p "1/2" text))
      (setq tabulated-list-format nil)
      (todo-write-list-tests--draw)
      (should (equal text (todo-write-test-text))))))

(ert-deftest todo-write-list-does-not-scroll-when-it-is-refreshed ()
  (todo-write-list-tests--with
    (dotimes (n 60)
      (todo-write-test-write (number-to-string n) "One"))
    (todo-write-list)
    (goto-char (point-min))
    (forward-line 30)
    (set-window-start nil (line-beginning-position -5))
    (let ((start (window-start)) (key (tabulated-list-get-id)))
      (todo-write-test-press "g")
      (should (= start (window-start)))
      (should (equal key (tabulated-list-get-id))))))

(ert-deftest todo-write-list-ret-shows-and-k-forgets-the-plan-at-point ()
  (todo-write-list-tests--with
    (todo-write-test-write "a" "One")
    (todo-write-test-write "b" "Two")
    (todo-write-list)
    (goto-char (todo-write-buffer-find 'tabulated-list-id "a"))
    (save-window-excursion
      (todo-write-test-press "RET")
      (should (equal "a" (buffer-local-value 'todo-write-view-thread (window-buffer)))))
    (goto-char (todo-write-buffer-find 'tabulated-list-id "b"))
    (cl-letf (((symbol-function 'yes-or-no-p) #'always))
      (todo-write-test-press "k"))
    (should (equal (todo-write-threads) '("a")))
    (should-not (todo-write-buffer-find 'tabulated-list-id "b"))))

(ert-deftest todo-write-list-a-click-on-a-title-shows-the-plan-of-its-row ()
  (todo-write-list-tests--with
    (todo-write-test-write "a" "One")
    (todo-write-test-write "b" "Two")
    (todo-write-list)
    (goto-char (todo-write-buffer-find 'tabulated-list-id "a"))
    (save-window-excursion
      (todo-write-buffer-visit `(mouse-1 (,(selected-window)
                                          ,(todo-write-buffer-find 'tabulated-list-id "b")
                                          (0 . 0) 0)))
      (should (equal "b" (buffer-local-value 'todo-write-view-thread (window-buffer)))))))

(defun todo-write-list-tests--states ()
  "Return the keys and states in the overview's buffer, in order."
  (todo-write-list-tests--draw)
  (with-current-buffer "*todo-write-list*"
    (save-excursion
      (goto-char (point-min))
      (cl-loop while (tabulated-list-get-id)
               collect (cons (tabulated-list-get-id)
                             (cadr (split-string (aref (tabulated-list-get-entry) 0))))
               do (forward-line)))))

(ert-deftest todo-write-list-moves-rows-at-transitions-but-not-while-it-is-selected ()
  (todo-write-list-tests--with
    (dolist (key '("a" "b" "c"))
      (todo-write-set-activity key 'working))
    (todo-write-list)
    (let ((order (mapcar #'car (todo-write-list-tests--states))))
      (todo-write-set-activity (nth 2 order) 'waiting)
      (should (equal (todo-write-list-tests--states)
                     `((,(nth 0 order) . "working") (,(nth 1 order) . "working")
                       (,(nth 2 order) . "waiting"))))
      (todo-write-test-press "g")
      (should (equal (car (todo-write-list-tests--states)) `(,(nth 2 order) . "waiting")))
      (goto-char (todo-write-buffer-find 'tabulated-list-id (nth 2 order)))
      (save-window-excursion
        (select-window (split-window))
        (switch-to-buffer "*scratch*")
        (todo-write-set-activity (nth 2 order) nil)
        (todo-write-set-activity (nth 1 order) 'failed)
        (should (equal (car (todo-write-list-tests--states)) `(,(nth 1 order) . "failed")))
        (should (= 3 (length (todo-write-list-tests--states)))))
      (should (equal (nth 2 order) (tabulated-list-get-id))))))

(ert-deftest todo-write-list-folds-old-agents-but-none-that-needs-you ()
  (todo-write-list-tests--with
    ;; All that are idle are old then.
    (let ((todo-write-list-hours -1))
      (dolist (key '("old" "needed"))
        (todo-write-test-write key '("One" "completed"))
        (todo-write-set-activity key nil))
      (todo-write-set-activity "needed" 'waiting)
      (todo-write-list)
      (should (equal (mapcar #'car (todo-write-list-tests--states)) '("needed")))
      (todo-write-observe "old" "TITLE" "It had none")
      (should (equal (mapcar #'car (todo-write-list-tests--states)) '("needed")))
      (goto-char (point-min))
      (search-forward "1 older")
      (todo-write-test-press "RET")
      (should (equal (mapcar #'car (todo-write-list-tests--states)) '("needed" "old"))))))

(ert-deftest todo-write-list-counts-older-agents-again-when-one-goes-on-or-is-gone ()
  (todo-write-list-tests--with
    ;; All that are idle are old then.
    (let ((todo-write-list-hours -1))
      (dolist (key '("a" "b" "c"))
        (todo-write-test-write key '("One" "completed"))
        (todo-write-set-activity key nil))
      (cl-flet ((rest () (todo-write-list-tests--draw)
                  (save-excursion
                    (goto-char (point-max))
                    (forward-line -1)
                    (buffer-substring-no-properties (point) (point-max)))))
        (todo-write-list)
        (should (equal (rest) " 3 older; RET shows them\n"))
        (todo-write-set-activity "a" 'working)
        (should (equal (todo-write-list-tests--states) '(("a" . "working"))))
        (should (equal (rest) " 2 older; RET shows them\n"))
        (todo-write-forget "b")
        (should (equal (rest) " 1 older; RET shows it\n"))
        (todo-write-set-activity "c" 'working)
        ;; Their order is that of their times, which may be the same.
        (should (equal (sort (mapcar #'car (todo-write-list-tests--states)) #'string<) '("a" "c")))
        (should-not (string-match-p "older" (todo-write-test-text)))))))

(defun todo-write-list-tests--displayed (begin end)
  "Return the text from BEGIN to END as it is displayed.
`tabulated-list-mode' displays the cut end of a cell as an ellipsis."
  (let ((text ""))
    (while (< begin end)
      (let ((next (next-single-property-change begin 'display nil end))
            (display (get-text-property begin 'display)))
        (setq text (pcase display
                     ((pred stringp) (concat text display))
                     (`(space :align-to ,column) (string-pad text column))
                     (_ (concat text (buffer-substring-no-properties begin next))))
              begin next)))
    text))

(ert-deftest todo-write-list-fits-its-window-and-says-why-in-a-narrow-one ()
  (todo-write-list-tests--with
    (todo-write-begin "a" :project (concat "/" (make-string 30 ?p) "/"))
    (todo-write-set-activity "a" 'waiting (make-string 80 ?x))
    (todo-write-observe "a" "TITLE" (make-string 90 ?t))
    (dolist (width '(40 60 80 100 160))
      (cl-letf (((symbol-function 'window-body-width) (lambda (&rest _) width)))
        (with-current-buffer (todo-write-list)
          (goto-char (point-min))
          (let ((row (todo-write-list-tests--displayed (point) (line-end-position))))
            (ert-info (row)
              (should (<= (string-width row) width))))
          (should (>= (how-many "x" (point) (line-end-position))
                      (max 17 (min 59 (/ (- width 50) 2))))))))))

;; Rows that are too long for the narrower window would be cut there.
(ert-deftest todo-write-list-fits-the-narrower-of-two-windows ()
  (todo-write-list-tests--with
    (todo-write-set-activity "a" 'waiting (make-string 200 ?x))
    (set-window-buffer (selected-window) (todo-write-list))
    (set-window-buffer (split-window) "*todo-write-list*")
    (cl-letf (((symbol-function 'window-body-width)
               (lambda (&optional window &rest _) (if (eq window (selected-window)) 120 60))))
      (with-current-buffer "*todo-write-list*"
        (todo-write-list-tests--draw)
        (goto-char (point-min))
        (should (<= (string-width (todo-write-list-tests--displayed (point) (line-end-position)))
                    60))))))

(ert-deftest todo-write-list-updates-ages-only-while-it-is-shown ()
  (todo-write-list-tests--with
    (todo-write-set-activity "a" 'working)
    (let ((buffer (todo-write-list)) (now (symbol-function 'float-time)))
      (should-not (string-search "5 min" (todo-write-test-text)))
      (cl-letf (((symbol-function 'float-time)
                 (lambda (&optional time) (+ 300 (funcall now time)))))
        (todo-write-list-tests--draw))
      (should (string-search "5 min" (todo-write-test-text)))
      (should (assq buffer todo-write-events--marked))
      (kill-buffer buffer)
      (todo-write-redraw)
      (should-not (assq buffer todo-write-events--marked)))))

(ert-deftest todo-write-list-is-drawn-when-a-window-shows-it-again ()
  (todo-write-list-tests--with
    (todo-write-list)
    (let ((buffer (current-buffer)))
      (switch-to-buffer "*scratch*")
      (todo-write-test-write "a" "One")
      (todo-write-list-tests--draw)
      (switch-to-buffer buffer)
      (should-not (todo-write-buffer-find 'tabulated-list-id "a"))
      ;; As redisplay does.
      (run-hook-with-args 'window-buffer-change-functions (selected-window))
      (should (todo-write-buffer-find 'tabulated-list-id "a")))))

(ert-deftest todo-write-list-names-the-program-as-its-host-does ()
  (todo-write-list-tests--with
    (pcase-dolist (`(,key ,agent) '(("claude:1" nil) ("mcp:opencode:7" nil) ("acp:5" "gemini")
                                    ("acp:6" "claude") ("draft" nil)))
      (todo-write-begin key :agent agent)
      (todo-write-set-activity key 'working))
    (with-current-buffer (todo-write-list)
      (should (equal (sort (mapcar (lambda (row) (aref (cadr row) 2)) tabulated-list-entries)
                           #'string<)
                     '("" "Claude" "Claude" "Gemini" "opencode"))))))

(ert-deftest todo-write-list-keys-see-and-dismiss ()
  (todo-write-list-tests--with
    (todo-write-test-write "a" '("One" "in_progress"))
    (todo-write-list)
    (todo-write-set-activity "a" 'waiting)
    (goto-char (todo-write-buffer-find 'tabulated-list-id "a"))
    (cl-flet ((state () (todo-write-agent-state (todo-write-agent "a"))))
      (todo-write-test-press "d")
      (should (eq 'idle (plist-get (todo-write-agent "a") :attention)))
      (should-error (todo-write-test-press "m") :type 'user-error)
      (todo-write-set-activity "a" nil)
      (should (eq 'done (state)))
      (todo-write-test-press "m")
      (should (eq 'idle (state)))
      (todo-write-test-press "m")
      (should (eq 'done (state))))))

(ert-deftest todo-write-list-keys-go-to-the-agent-at-point-and-to-the-next-that-waits ()
  (todo-write-list-tests--with
    (let ((chats (mapcar (lambda (key)
                           (with-current-buffer (get-buffer-create (concat "chat " key))
                             (setq-local todo-write-view-thread key)
                             (current-buffer)))
                         '("a" "b"))))
      (unwind-protect
          (save-window-excursion
            (todo-write-list)
            (todo-write-set-activity "a" 'working)
            (todo-write-set-activity "b" 'waiting)
            (todo-write-end-turn "a")
            (should (eq 'done (todo-write-agent-state (todo-write-agent "a"))))
            (todo-write-list-tests--draw)
            (goto-char (todo-write-buffer-find 'tabulated-list-id "a"))
            (todo-write-test-press "o")
            (should (equal "chat a" (buffer-name (window-buffer))))
            (should (eq 'idle (todo-write-agent-state (todo-write-agent "a"))))
            (pop-to-buffer "*todo-write-list*")
            (todo-write-test-press "N")
            (should (equal "chat b" (buffer-name (window-buffer))))
            (should (eq 'waiting (todo-write-agent-state (todo-write-agent "b")))))
        (mapc #'kill-buffer chats)))))

(ert-deftest todo-write-switch-completes-with-progress-and-title ()
  (todo-write-list-tests--with
    (todo-write-observe "key-1" "TITLE" "Login")
    (todo-write-test-write "key-1" '("One" "completed") "Two")
    (let (annotation)
      (cl-letf (((symbol-function 'completing-read)
                 (lambda (_prompt collection &rest _)
                   (setq annotation
                         (nth 2 (car (funcall (completion-metadata-get
                                               (completion-metadata "" collection nil)
                                               'affixation-function)
                                              '("Login")))))
                   (car (all-completions "" collection)))))
        (call-interactively #'todo-write-switch))
      (should (string-match-p "\\`  1/2  \\? unknown +now" annotation))
      (should (equal "key-1" (buffer-local-value 'todo-write-view-thread
                                                 (get-buffer todo-write-view-buffer-name)))))))

(ert-deftest todo-write-completion-has-columns-a-category-and-keys ()
  (todo-write-list-tests--with
    (pcase-dolist (`(,key . ,title) '(("k1" . "Login") ("k2" . "Refactor 長い names of it all")))
      (todo-write-observe key "TITLE" title)
      (todo-write-test-write key '("One" "completed") "Two"))
    (let (metadata titles)
      (cl-letf (((symbol-function 'completing-read)
                 (lambda (_prompt table &rest _)
                   (setq metadata (completion-metadata "" table nil)
                         titles (all-completions "" table))
                   (car titles))))
        (todo-write-read-thread "Plan: "))
      (should (eq 'todo-write-plan (completion-metadata-get metadata 'category)))
      (should (equal '("k1" "k2")
                     (sort (mapcar (lambda (title) (get-text-property 0 'todo-write-key title))
                                   titles)
                           #'string<)))
      (let ((rows (funcall (completion-metadata-get metadata 'affixation-function) titles)))
        (should (apply #'=
                       (mapcar (pcase-lambda (`(,title ,_ ,suffix))
                                 (string-width (concat title (substring suffix 0
                                                                        (string-search "1/2" suffix)))))
                               rows))))
      (cl-letf (((symbol-function 'frame-width) (lambda (&rest _) 44)))
        (pcase-dolist (`(,title ,_ ,suffix)
                       (funcall (completion-metadata-get metadata 'affixation-function) titles))
          (should (< (string-width (concat title suffix)) 44)))))))

(ert-deftest todo-write-show-begins-with-the-parent-of-a-subagent ()
  (todo-write-list-tests--with
    (todo-write-test-write "main" "One")
    (todo-write-begin "sub" :parent "main" :parent-item "t1")
    (todo-write-test-write "sub" "Two")
    (should (equal "main" (todo-write-buffer-default-thread)))))

(ert-deftest todo-write-view-shows-the-next-plan-after-its-own-was-forgotten ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One")
    (todo-write-test-write "b" "Other")
    (todo-write-forget "b")
    (should (string-search "One" (todo-write-test-text)))
    (todo-write-test-open "One")
    (todo-write-forget "a")
    (should (string-search "No plan yet" (todo-write-test-text)))
    (should-error (todo-write-test-press "+") :type 'user-error)
    (should-not (todo-write-threads))
    (todo-write-test-write "c" "Two")
    (should (equal "c" todo-write-view-thread))
    (should (equal '(" ○ Two") (todo-write-test-seen)))))

(ert-deftest todo-write-view-shows-a-title-that-comes-late-at-once ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One" "Two")
    (let ((drawn 0)
          (line (symbol-function 'todo-write-text-of-item)))
      (cl-letf (((symbol-function 'todo-write-text-of-item)
                 (lambda (&rest args) (cl-incf drawn) (apply line args))))
        (todo-write-observe "a" "TITLE" "Late title"))
      (should (string-prefix-p " Late title" (todo-write-test-text)))
      (should (= drawn 0)))))

(defun todo-write-list-tests--now (thread)
  "Return the cell of the overview that says what the agent of THREAD does now."
  (let ((agent (todo-write-agent thread)))
    (substring-no-properties (todo-write-list--now agent))))

(ert-deftest todo-write-list-says-which-call-a-dialog-is-about ()
  (todo-write-list-tests--with
    (todo-write-test-write "a" '("One" "in_progress"))
    (dolist (id '("1" "2"))
      (todo-write-observe "a" "TOOL_CALL" `(:name "Bash" :input (:command ,(concat "make " id)))
                          :call-id id))
    (todo-write-observe "a" "TOOL_EXECUTION" '(:name "Bash") :call-id "2" :outcome 'ok)
    (todo-write-set-activity "a" 'waiting "permission prompt")
    (should (equal "permission prompt: make 1" (todo-write-list-tests--now "a")))
    ;; A request says it better.
    (todo-write-request "a" :id "r" :kind 'permission :title "May I?" :detail "make"
                        :options '((:label "Yes" :value "y" :kind allow)) :answer #'ignore)
    (should (equal "May I?" (todo-write-list-tests--now "a")))
    (todo-write-withdraw "a" "r")
    (todo-write-observe "a" "TOOL_EXECUTION" '(:name "Bash") :call-id "1" :outcome 'ok)
    (todo-write-set-activity "a" 'waiting "permission prompt")
    (should (equal "permission prompt" (todo-write-list-tests--now "a")))))

(ert-deftest todo-write-list-counts-refusals-until-the-plan-was-seen ()
  (todo-write-list-tests--with
    (cl-flet ((refuse ()
                (todo-write-test-tick)
                (todo-write-observe "a" "TOOL_EXECUTION" '(:name "Bash") :outcome 'refused)))
      (todo-write-test-write "a" '("One" "in_progress"))
      (refuse)
      (todo-write-list)
      (switch-to-buffer "*scratch*")
      (delete-other-windows)
      ;; What there was before is not new.
      (should (equal "Doing: One" (todo-write-list-tests--now "a")))
      (refuse)
      (refuse)
      (should (equal "⊘2 refused · Doing: One" (todo-write-list-tests--now "a")))
      (should (= 2 (plist-get (todo-write-agent "a") :refused)))
      (todo-write-set-activity "a" 'working)
      (should (= 2 (plist-get (todo-write-agent "a") :refused)))
      (cl-letf (((symbol-function 'todo-write-agent-visible-p) (lambda (&rest _) t)))
        (todo-write-agent--look)
        (should (equal "Doing: One" (todo-write-list-tests--now "a")))
        ;; Seen at once.
        (refuse))
      (should (equal "Doing: One" (todo-write-list-tests--now "a")))
      (refuse)
      (should (equal "⊘1 refused · Doing: One" (todo-write-list-tests--now "a"))))))

(provide 'todo-write-list-tests)
;;; todo-write-list-tests.el ends here
