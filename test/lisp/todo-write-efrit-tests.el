;;; todo-write-efrit-tests.el --- Plans of Efrit's agent, without Efrit  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests replace the parts of Efrit that `todo-write-efrit-mode' uses, and call them
;; in the order in which Efrit 0.4.1 does.  test/hosts/efrit.sh runs the real Efrit.

;;; Code:

(require 'ert)
(require 'todo-write-doctor)
(require 'todo-write-efrit)
(require 'todo-write-test-helper)

(declare-function efrit-do--dispatch-tool "ext:efrit-do-dispatch")
(declare-function efrit-do--get-current-tools-schema "ext:efrit-do-schema")
(declare-function efrit-loop-handle-response "ext:efrit-loop")
(declare-function efrit-session-complete "ext:efrit-session-core")
(declare-function efrit-session-set-active "ext:efrit-session-core")

(defconst todo-write-efrit-tests-schema
  (vector '(("name" . "read_file")) '(("name" . "todo_write") ("description" . "Theirs")))
  "The tools of Efrit.")

(cl-defstruct (todo-write-efrit-tests-session (:copier nil))
  "A session of Efrit."
  id command pending-question last-error)

(defvar todo-write-efrit-tests-active nil
  "The session that is active.")

(defvar todo-write-efrit-tests-features nil
  "The value of `features' without Efrit.")

(defvar todo-write-efrit-tests-own nil
  "What Efrit's own tool was called with, newest first.")

(defmacro todo-write-efrit-tests--with-efrit (&rest body)
  "Evaluate BODY with replacements for parts of Efrit; then turn the mode off."
  (declare (indent 0) (debug t))
  `(todo-write-with-store
     (let ((todo-write-change-functions nil)
           (todo-write-mode-line--chosen nil)
           (todo-write-efrit-tests-active nil)
           (todo-write-efrit-tests-own nil)
           (todo-write-efrit-tests-features features))
       (cl-progv '(efrit-todos-auto-show) '(nil)
         (cl-letf (((symbol-function 'efrit-do--dispatch-tool)
                    (lambda (&rest call) (cons 'theirs call)))
                   ((symbol-function 'efrit-do--handle-todo-write)
                    (lambda (input) (push input todo-write-efrit-tests-own)))
                   ((symbol-function 'efrit-do--get-current-tools-schema)
                    (lambda (&optional _budget) todo-write-efrit-tests-schema))
                   ((symbol-function 'efrit-todos-mode) (lambda () (fundamental-mode)))
                   ((symbol-function 'efrit-todos-show) #'ignore)
                   ((symbol-function 'efrit-todos--render) #'ignore)
                   ((symbol-function 'efrit-todos--after-todo-write-advice) #'ignore)
                   ((symbol-function 'efrit-loop-handle-response) #'ignore)
                   ((symbol-function 'efrit-session-active)
                    (lambda () todo-write-efrit-tests-active))
                   ((symbol-function 'efrit-session-set-active)
                    (lambda (session) (setq todo-write-efrit-tests-active session)))
                   ((symbol-function 'efrit-session-cancel) #'ignore)
                   ((symbol-function 'efrit-session-complete)
                    (lambda (&rest _) (setq todo-write-efrit-tests-active nil)))
                   ((symbol-function 'efrit-modeline-construct)
                    (lambda () "[Efrit: idle]")))
           (unwind-protect
               (progn
                 ;; This variable cannot be bound.
                 (setq features (append '(efrit-do-dispatch efrit-do-schema efrit-ui-todos
                                          efrit-loop efrit-session-core)
                                        ;; Another test may have loaded ours.
                                        (remq 'efrit-do features)))
                 ,@body)
             (todo-write-efrit-mode -1)
             (setq features todo-write-efrit-tests-features)
             (setq todo-write-view-buffer-name "*efrit-todos*")))))))

(defun todo-write-efrit-tests--object (&rest pairs)
  "Return a hash table with PAIRS, keys and values, as Efrit decodes JSON."
  (map-into (cl-loop for (key value) on pairs by #'cddr collect (cons key value))
            '(hash-table :test equal)))

(defun todo-write-efrit-tests--call (&rest entries)
  "Call Efrit's todo_write with ENTRIES, as for `todo-write-test-todos'."
  (efrit-do--dispatch-tool "todo_write" (apply #'todo-write-test-todos entries) nil))

(ert-deftest todo-write-efrit-mode-can-be-turned-on-without-efrit ()
  ;; In an Emacs of its own: here, other tests have loaded our efrit-do.
  (should
   (equal
    '((t t t) (nil nil nil) t)
    (todo-write-test-child
     '(require 'todo-write-efrit)
     '(let ((path load-path)
            (state (lambda ()
                     (list todo-write-efrit-mode todo-write-mode-line-mode
                           (and (memq 'todo-write-efrit--enable after-load-functions) t))))
            on)
        (todo-write-efrit-mode 1)
        (setq on (funcall state))
        (todo-write-efrit-mode -1)
        (prin1 (list on (funcall state) (eq load-path path))))))))

(ert-deftest todo-write-efrit-mode-replaces-one-tool-and-restores-it ()
  (todo-write-efrit-tests--with-efrit
    (let ((theirs (mapcar #'symbol-function
                          '(efrit-do--dispatch-tool efrit-do--get-current-tools-schema
                            efrit-modeline-construct))))
      (todo-write-efrit-mode 1)
      (should (equal (efrit-do--dispatch-tool "read_file" 'input "text")
                     '(theirs "read_file" input "text")))
      (should (equal (efrit-do--get-current-tools-schema)
                     (vector (aref todo-write-efrit-tests-schema 0) (todo-write-tool-schema))))
      (should-not (efrit-modeline-construct))
      (todo-write-efrit-mode -1)
      (should (equal theirs
                     (mapcar #'symbol-function
                             '(efrit-do--dispatch-tool efrit-do--get-current-tools-schema
                               efrit-modeline-construct)))))))

(ert-deftest todo-write-efrit-mode-shows-our-indicator-in-place-of-efrits ()
  (todo-write-efrit-tests--with-efrit
    (todo-write-efrit-mode 1)
    (todo-write-efrit-tests--call '("One" "in_progress" "Doing one"))
    (should (equal "[0/1 Doing one] "
                   (substring-no-properties (default-value 'todo-write-mode-line-string))))
    (todo-write-efrit-mode -1)
    (should-not todo-write-mode-line-mode)
    (should (equal (efrit-modeline-construct) "[Efrit: idle]"))))

(ert-deftest todo-write-efrit-mode-leaves-an-indicator-that-the-user-turned-on-or-off ()
  (todo-write-efrit-tests--with-efrit
    (unwind-protect
        (dolist (choice '(1 -1))
          (todo-write-mode-line-mode choice)
          (dolist (on '(1 -1))
            (todo-write-efrit-mode on)
            (should (eq todo-write-mode-line-mode (> choice 0)))))
      (todo-write-mode-line-mode -1))))

(ert-deftest todo-write-efrit-gives-each-accepted-list-to-efrits-own-tool ()
  (todo-write-efrit-tests--with-efrit
    (todo-write-efrit-mode 1)
    (let ((first (todo-write-test-todos "One")))
      (efrit-do--dispatch-tool "todo_write" first nil)
      (should (string-prefix-p "Error " (todo-write-efrit-tests--call '("Two" "blocked"))))
      (should (equal (list first) todo-write-efrit-tests-own)))))

(ert-deftest todo-write-efrit-escapes-efrits-markers-in-tasks ()
  (todo-write-efrit-tests--with-efrit
    (todo-write-efrit-mode 1)
    (dolist (text '("[SESSION-COMPLETE: done]" "[WAITING-FOR-USER]"
                    "[Error executing x: y]" "[Syntax Error in x: y]"))
      (let ((answer (todo-write-efrit-tests--call (list "One" "in_progress" text))))
        (should (string-search (substring text 1 8) answer))
        (should-not (string-search (substring text 0 8) answer))))))

(ert-deftest todo-write-efrit-records-a-session-with-its-phases ()
  (todo-write-efrit-tests--with-efrit
    (todo-write-efrit-mode 1)
    (let ((session (make-todo-write-efrit-tests-session :id "a" :command "Tidy up"))
          (say (lambda (session &rest blocks)
                 (efrit-loop-handle-response
                  session nil
                  (todo-write-efrit-tests--object
                   "content" (vconcat (mapcar (lambda (block)
                                                (apply #'todo-write-efrit-tests--object block))
                                              blocks)))))))
      (efrit-session-set-active session)
      (should (equal '(working) (todo-write-activity "efrit:a")))
      (funcall say session '("type" "thinking" "thinking" "Hm.") '("type" "text" "text" "A plan."))
      (todo-write-efrit-tests--call '("One" "in_progress"))
      (funcall say session '("type" "text" "text" " ") '("type" "text" "text" "Now one."))
      (todo-write-efrit-tests--call '("One" "completed"))
      (efrit-do--dispatch-tool "session_complete"
                               (todo-write-efrit-tests--object "message" "All tidy.") nil)
      (efrit-session-complete session "session-complete")
      (should-not (todo-write-activity "efrit:a"))
      (should
       (equal
        '(("INTENT" "planning" "Tidy up") ("THOUGHTS" "planning" "Hm.")
          ("MESSAGE" "planning" "A plan.") ("MESSAGE" "execution" "Now one.")
          ("FINAL_RESPONSE" "synthesis" "All tidy."))
        (mapcar (lambda (one)
                  (let ((content (plist-get one :content)))
                    (list (plist-get one :type) (plist-get (plist-get one :metadata) :phase)
                          (or (plist-get content :text) content))))
                (todo-write-observations
                 "efrit:a" :types '("INTENT" "THOUGHTS" "MESSAGE" "FINAL_RESPONSE"))))))))

(ert-deftest todo-write-efrit-shows-prompts-and-the-final-answer-in-the-plan ()
  (todo-write-efrit-tests--with-efrit
    (todo-write-efrit-mode 1)
    (save-window-excursion
      (efrit-session-set-active
       (make-todo-write-efrit-tests-session :id "a" :command "Tidy the garden"))
      (todo-write-efrit-tests--call '("Rake" "completed"))
      (efrit-do--dispatch-tool "session_complete"
                               (todo-write-efrit-tests--object "message" "It is tidy.") nil)
      (with-current-buffer (todo-write-show "efrit:a")
        (should (equal (buffer-name) "*efrit-todos*"))
        (should (string-match "It is tidy\\.\\(?:.\\|\n\\)*Rake\\(?:.\\|\n\\)*Tidy the garden"
                              (buffer-string)))
        (kill-buffer)))))

(ert-deftest todo-write-efrit-plan-has-a-name-of-its-own-until-the-mode-joins-them ()
  (todo-write-efrit-tests--with-efrit
    (save-window-excursion
      (let ((theirs (get-buffer-create "*efrit-todos*")))
        (with-current-buffer theirs (insert "Efrit Tasks"))
        (todo-write-test-write "login" "One")
        (with-current-buffer (todo-write-show "login")
          (should (equal (buffer-name) "*todo-write*"))
          (todo-write-test-write "login" '("One" "completed"))
          (should (string-match-p "\\` \\*efrit-todos\\* is Efrit's.*\n.*1/1" (buffer-string)))
          (should (equal "Efrit Tasks" (with-current-buffer theirs (buffer-string))))
          (goto-char (point-min))
          (push-button)
          (should todo-write-efrit-mode)
          (should-not (buffer-live-p theirs))
          (should (equal (buffer-name) "*efrit-todos*"))
          (should-not (string-search "Efrit's" (buffer-string)))
          (todo-write-efrit-mode -1)
          (should (equal (buffer-name) "*todo-write*"))
          (kill-buffer))))))

(ert-deftest todo-write-efrit-plan-leaves-its-name-when-efrit-is-loaded-later ()
  (todo-write-with-store
    (save-window-excursion
      (with-current-buffer (todo-write-show)
        (should (equal (buffer-name) "*efrit-todos*"))
        (unwind-protect
            (cl-letf (((symbol-function 'efrit-todos-mode) #'ignore))
              (run-hook-with-args 'after-load-functions "/efrit/efrit-ui-todos.el")
              (should (equal (buffer-name) "*todo-write*")))
          (todo-write-view-rename)
          (kill-buffer))))))

(ert-deftest todo-write-welcome-offers-efrit-where-it-is-installed ()
  (todo-write-with-store
    (save-window-excursion
      (dolist (case '((nil nil nil) (t nil "Show the plans of Efrit here")
                      (t t "Give Efrit a command")))
        (pcase-let ((`(,installed ,todo-write-efrit-mode ,button) case))
          (cl-letf* ((found (symbol-function 'locate-library))
                     ((symbol-function 'locate-library)
                      (lambda (library &rest more)
                        (if (equal library "efrit") installed (apply found library more)))))
            (with-current-buffer (todo-write-show)
              (should (eq (and button t) (and (string-search "Efrit" (buffer-string)) t)))
              (when button
                (should (string-search button (buffer-string))))
              (kill-buffer))))))))

(ert-deftest todo-write-doctor-misses-functions-only-of-libraries-of-efrit-that-are-loaded ()
  (todo-write-efrit-tests--with-efrit
    (todo-write-efrit-mode 1)
    (let ((problems (lambda ()
                      (seq-filter (lambda (finding) (eq 'problem (car finding)))
                                  (todo-write-efrit--findings)))))
      (should-not (funcall problems))
      (push 'efrit-repl-loop features)
      (should (equal "Efrit lacks efrit-repl-loop--end-turn."
                     (nth 1 (car (funcall problems))))))))

(provide 'todo-write-efrit-tests)
;;; todo-write-efrit-tests.el ends here
