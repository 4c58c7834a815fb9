;;; efrit-do-view-tests.el --- Tests of the buffer of a session -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What a user sees in *efrit-do* while a script plays.

;;; Code:

(require 'ert)
(require 'todo-write-test-helper)
(require 'efrit-do)
(require 'efrit-do-view)
(require 'efrit-do-replay)

(defmacro efrit-do-view-tests--with-session (turns &rest body)
  "Run BODY in the buffer of a session that plays TURNS, bound to `session'."
  (declare (indent 1) (debug t))
  `(todo-write-with-store
     (let* ((inhibit-message t)
            (efrit-do-sessions nil)
            (efrit-do-confirm nil)
            (coding (terminal-coding-system))
            (session (efrit-do-session-begin
                      "Tidy up" 'replay
                      (list :script
                            (json-parse-string
                             (json-serialize
                              (list :speed 0
                                    :turns (vconcat (mapcar #'vconcat
                                                            ,turns)))))))))
       (set-terminal-coding-system 'utf-8)
       (todo-write-text-forget-shapes)
       (unwind-protect
           (save-window-excursion
             (with-current-buffer (efrit-do-view-open session)
               (switch-to-buffer (current-buffer))
               (delete-other-windows)
               (efrit-do-session-start session)
               (todo-write-test-wait
                (lambda () (not (efrit-do-session-running-p session))))
               ,@body))
         (set-terminal-coding-system coding)
         (todo-write-text-forget-shapes)
         (mapc #'kill-buffer
               (seq-filter (lambda (buffer)
                             (string-prefix-p "*efrit-do" (buffer-name buffer)))
                           (buffer-list)))))))

(defun efrit-do-view-tests--visible ()
  "Return the visible text of the current buffer as a list of lines."
  (let ((position (point-min)) (text ""))
    (while (< position (point-max))
      (unless (invisible-p position)
        (setq text (concat text (buffer-substring-no-properties
                                 position (1+ position)))))
      (setq position (1+ position)))
    (split-string text "\n" t)))

(defconst efrit-do-view-tests--turns
  '(((:thinking "Two rooms, two steps.") (:text "I begin.")
     (:tool "eval_sexp" :input (:expr "(* 6 7)")))
    ((:tool "read_file" :input (:path "/no/such/file")))
    ((:text "The end.")
     (:tool "session_complete" :input (:message "All tidy."))))
  "A session with a thought, a result, an error and an end.")

(ert-deftest efrit-do-view-shows-command-words-and-folded-parts ()
  (efrit-do-view-tests--with-session efrit-do-view-tests--turns
    (should (equal (efrit-do-view-tests--visible)
                   '("Tidy up"
                     "▸ Thought: Two rooms, two steps."
                     "I begin."
                     "✓ eval_sexp: 42"
                     "✗ read_file: Error: /no/such/file does not exist"
                     "The end."
                     "✓ session_complete: The session ends here."
                     "■ All tidy.")))))

(ert-deftest efrit-do-view-opens-and-folds-the-part-at-point ()
  (efrit-do-view-tests--with-session efrit-do-view-tests--turns
    (goto-char (point-min))
    (search-forward "eval_sexp")
    (efrit-do-view-toggle)
    (should (member "{\"expr\":\"(* 6 7)\"}" (efrit-do-view-tests--visible)))
    ;; From within the opened part, too.
    (forward-line 1)
    (efrit-do-view-toggle)
    (should-not (member "{\"expr\":\"(* 6 7)\"}"
                        (efrit-do-view-tests--visible)))
    (should (looking-at "✓ eval_sexp"))))

(ert-deftest efrit-do-view-opens-all-parts-and-folds-them-again ()
  (efrit-do-view-tests--with-session efrit-do-view-tests--turns
    (let ((folded (efrit-do-view-tests--visible)))
      (efrit-do-view-toggle 'all)
      (should (member "Two rooms, two steps." (efrit-do-view-tests--visible)))
      (efrit-do-view-toggle 'all)
      (should (equal (efrit-do-view-tests--visible) folded)))))

(ert-deftest efrit-do-view-moves-from-part-to-part ()
  (efrit-do-view-tests--with-session efrit-do-view-tests--turns
    (goto-char (point-min))
    (efrit-do-view-next)
    (should (looking-at "▸ Thought"))
    (efrit-do-view-next)
    (should (looking-at "✓ eval_sexp"))
    (efrit-do-view-previous)
    (should (looking-at "▸ Thought"))
    (should-error (efrit-do-view-previous) :type 'user-error)
    (should (looking-at "▸ Thought"))
    (let ((current-prefix-arg 2))
      (goto-char (point-min))
      (call-interactively #'efrit-do-view-next)
      (should (looking-at "✓ eval_sexp"))
      (goto-char (point-max))
      (call-interactively #'efrit-do-view-previous)
      (let ((position (point)))
        (efrit-do-view-next)
        (should (> (point) position))
        (should-error (efrit-do-view-next) :type 'user-error)
        (efrit-do-view-previous)
        (should (= (point) position))))))

(ert-deftest efrit-do-view-says-why-a-session-stopped-and-how-to-continue ()
  (let ((efrit-do-limits '(:calls 1)))
    (efrit-do-view-tests--with-session efrit-do-view-tests--turns
      (let ((last (car (last (efrit-do-view-tests--visible)))))
        (should (string-prefix-p "■ Stopped: the agent made 1 tool call," last))
        (should (string-suffix-p "c continues" last)))
      (should (string-search "stopped" header-line-format))
      (should (string-search "c continue" header-line-format)))))

(ert-deftest efrit-do-view-continues-in-the-same-buffer ()
  (let ((efrit-do-limits '(:calls 1)))
    (efrit-do-view-tests--with-session
        '(((:tool "eval_sexp" :input (:expr "1")))
          ((:tool "eval_sexp" :input (:expr "2")) )
          ((:text "At last.")))
      (efrit-do-continue)
      (todo-write-test-wait
       (lambda () (not (efrit-do-session-running-p session))))
      (let ((lines (efrit-do-view-tests--visible)))
        (should (member "▶ Goes on" (mapcar (lambda (line)
                                               (replace-regexp-in-string
                                                "^>" "▶" line))
                                             lines)))
        (should (member "At last." lines))
        (should (member "■ Done" lines))))))

(ert-deftest efrit-do-view-stays-at-the-end-only-where-it-was ()
  (efrit-do-view-tests--with-session efrit-do-view-tests--turns
    (should (eobp))
    (goto-char (point-min))
    (todo-write-stream (efrit-do-session-thread session)
                       :type "TOKEN" :data "More.")
    (should (bobp))
    (should (string-suffix-p "More." (buffer-string)))))

(ert-deftest efrit-do-view-writes-at-the-end-while-another-window-shows-the-beginning ()
  (efrit-do-view-tests--with-session efrit-do-view-tests--turns
    (let ((window (split-window)) (thread (efrit-do-session-thread session)))
      (set-window-point window (point-min))
      (switch-to-buffer "*scratch*")
      (todo-write-stream thread :type "TOKEN" :data "More.")
      (todo-write-observe thread "TOOL_CALL" '(:id "late" :name "read_file" :input "{}"))
      (with-current-buffer (window-buffer window)
        (should (equal (last (efrit-do-view-tests--visible) 2) '("More." "▸ read_file {}"))))
      (should (= (window-point window) 1)))))

(ert-deftest efrit-do-view-stays-at-the-end-after-the-minibuffer-was-read ()
  (efrit-do-view-tests--with-session efrit-do-view-tests--turns
    (let ((window (split-window)))
      (set-window-point window (point-max))
      (switch-to-buffer "*scratch*")
      ;; As leaving the minibuffer does.
      (save-window-excursion
        (todo-write-stream (efrit-do-session-thread session) :type "TOKEN" :data "More."))
      (should (= (window-point window)
                 (with-current-buffer (window-buffer window) (point-max)))))))

(ert-deftest efrit-do-view-shows-agent-text-as-plain-text ()
  (efrit-do-view-tests--with-session '(((:text "100%s %-3")))
    (todo-write-stream (efrit-do-session-thread session) :type "TOKEN"
                       :data (propertize "trap" 'display "x" 'keymap 'y))
    (goto-char (point-max))
    (search-backward "trap")
    (should-not (get-text-property (point) 'display))
    (should-not (get-text-property (point) 'keymap))
    (should (member "100%s %-3" (efrit-do-view-tests--visible)))))

(ert-deftest efrit-do-view-cuts-long-results ()
  (let ((efrit-do-view-limit 40))
    (efrit-do-view-tests--with-session
        '(((:tool "eval_sexp" :input (:expr "(make-string 500 ?x)"))))
      (should (string-search "462 characters left out" (buffer-string))))))

(ert-deftest efrit-do-view-does-not-reuse-the-buffer-of-a-running-session ()
  (efrit-do-view-tests--with-session '(((:text "Done.")))
    (let ((other (efrit-do-session-begin "Other" 'replay '(:script nil)))
          (third (efrit-do-session-begin "Third" 'replay '(:script nil))))
      (should (equal (buffer-name (efrit-do-view-open other)) "*efrit-do*"))
      (should (equal (buffer-name (efrit-do-view-open third)) "*efrit-do*<2>"))
      (should (eq (buffer-local-value 'efrit-do-buffer-session
                                      (get-buffer "*efrit-do*"))
                  other)))))

(ert-deftest efrit-do-view-writes-at-the-end-of-a-narrowed-buffer ()
  (efrit-do-view-tests--with-session efrit-do-view-tests--turns
    (goto-char (point-min))
    (narrow-to-region (point) (line-end-position))
    (todo-write-stream (efrit-do-session-thread session) :type "TOKEN" :data "More.")
    (should (equal (buffer-string) "Tidy up"))
    (widen)
    (should (string-suffix-p "More." (buffer-string)))))

(ert-deftest efrit-do-view-cannot-be-cloned ()
  (efrit-do-view-tests--with-session '(((:text "Done.")))
    (should-error (clone-buffer))
    (should-error (clone-indirect-buffer nil nil))))

(ert-deftest efrit-do-view-stops-listening-with-its-buffer ()
  (efrit-do-view-tests--with-session '(((:text "Done.")))
    (should todo-write-events--subscribers)
    (kill-buffer)
    (should-not todo-write-events--subscribers)))

(ert-deftest efrit-do-view-stops-listening-in-another-mode ()
  (efrit-do-view-tests--with-session '(((:text "Done.")))
    (text-mode)
    (should-not todo-write-events--subscribers)))

(ert-deftest efrit-do-view-says-that-it-is-a-demonstration-to-the-end ()
  (todo-write-with-store
    (let ((inhibit-message t)
          (efrit-do-sessions nil))
      (save-window-excursion
        (let ((session (efrit-do-demo)))
          (with-current-buffer "*efrit-do*"
            (efrit-do-cancel session)
            (should (string-match-p "Demonstration" header-line-format))
            (kill-buffer)))))))

(ert-deftest efrit-do-view-has-the-shapes-of-the-plan-on-any-terminal ()
  (efrit-do-view-tests--with-session
      '(((:tool "todo_write" :input (:todos [(:content "One" :status "completed")])))
        ((:tool "read_file" :input (:path "/no/such/file"))))
    (set-terminal-coding-system 'us-ascii)
    (todo-write-text-forget-shapes)
    (let ((again (efrit-do-session-begin "Again" 'replay (efrit-do-session-options session))))
      (with-current-buffer (efrit-do-view-open again)
        (efrit-do-session-start again)
        (todo-write-test-wait (lambda () (not (efrit-do-session-running-p again))))
        (should (string-match-p "^x todo_write: " (buffer-string)))
        (should (string-match-p "^- read_file: " (buffer-string)))))))

(ert-deftest efrit-do-view-keys-stop-the-session-of-the-buffer ()
  (efrit-do-view-tests--with-session '(((:text "Done.")))
    (should (eq (key-binding (kbd "C-c C-k")) 'efrit-do-cancel))
    (should (eq (key-binding "c") 'efrit-do-continue))
    (should (eq (key-binding "?") 'todo-write-menu))
    (setf (efrit-do-session-status session) 'running)
    (let ((inhibit-message t))
      (call-interactively (key-binding (kbd "C-c C-k"))))
    (should (eq (efrit-do-session-status session) 'cancelled))))

(ert-deftest efrit-do-view-and-its-plan-lead-to-each-other ()
  (efrit-do-view-tests--with-session
      '(((:tool "todo_write" :input (:todos [(:content "One" :status "in_progress")]))))
    (let ((own (current-buffer)))
      (dolist (there '("s" "H" "T" "C-u s"))
        (ert-info (there)
          (switch-to-buffer own)
          (delete-other-windows)
          (cl-letf (((symbol-function 'completing-read)
                     (lambda (_ table &rest _) (car (all-completions "" table)))))
            (let ((current-prefix-arg (when (string-prefix-p "C-u" there) '(4))))
              (call-interactively (key-binding (kbd (string-remove-prefix "C-u " there))))))
          ;; The plan is shown, not selected.
          (select-window (or (get-buffer-window todo-write-view-buffer-name)
                             (selected-window)))
          (with-current-buffer (window-buffer)
            (should-not (eq own (current-buffer)))
            (unless (equal there "C-u s")
              (should (equal todo-write-view-thread (efrit-do-session-thread session))))
            (when (member there '("s" "C-u s"))
              (goto-char (point-min))
              (call-interactively (key-binding (kbd "o")))
              (should (eq own (window-buffer)))))))
      ;; It tracks agents until then.
      (kill-buffer "*todo-write-list*")
      (switch-to-buffer own)
      (call-interactively (key-binding (kbd "w")))
      (should (string-search "One" (current-kill 0)))
      (call-interactively (key-binding (kbd "g"))))))

(ert-deftest efrit-do-opens-the-buffer-and-plays-the-demo-out-of-the-box ()
  (todo-write-with-store
    (let ((inhibit-message t)
          (efrit-do-sessions nil))
      (save-window-excursion
        (let ((session (efrit-do "Do something")))
          (should (get-buffer-window "*efrit-do*"))
          (with-current-buffer "*efrit-do*"
            (goto-char (point-min))
            (should (looking-at "Demonstration: .* set `efrit-do-backend'"))
            (should (string-prefix-p " Demonstration: " header-line-format)))
          (should (efrit-do-session-running-p session))
          (efrit-do-cancel session)))
      (kill-buffer "*efrit-do*"))))

(ert-deftest efrit-do-shows-the-indicator-unless-the-user-has-turned-it-off ()
  (todo-write-with-store
    (let ((inhibit-message t)
          (efrit-do-sessions nil))
      (unwind-protect
          (dolist (choice '(nil t))
            (let ((todo-write-mode-line--chosen choice))
              (save-window-excursion
                (efrit-do-cancel (efrit-do "Do something")))
              (should (eq todo-write-mode-line-mode (not choice)))
              (todo-write-mode-line-mode -1)))
        (kill-buffer "*efrit-do*")))))

(ert-deftest efrit-do-gives-the-plan-two-fifths-of-the-frame-and-shares-the-rest ()
  (todo-write-with-store
    (pcase-let ((`(,frame ,others ,height ,start)
                 (todo-write-test-child
                  '(require 'efrit-do-view)
                  '(require 'efrit-do-replay)
                  `(setq todo-write-directory ,todo-write-directory)
                  '(let* ((tasks (vconcat (mapcar (lambda (n)
                                                    (list :content (format "Task %d" n)
                                                          :status (if (= n 8) "in_progress" "completed")
                                                          :activeForm "Doing it"))
                                                  (number-sequence 1 8))))
                          (turns (vector (vector (list :tool "todo_write"
                                                       :input (list :todos tasks)))))
                          (session (efrit-do-session-begin
                                    "Do it" 'replay
                                    (list :script (json-parse-string
                                                   (json-serialize (list :speed 0 :turns turns)))))))
                     (efrit-do-view-show session)
                     (efrit-do-session-start session)
                     (while (efrit-do-session-running-p session)
                       (accept-process-output nil 0.01))
                     (let ((plan (get-buffer-window "*efrit-todos*")))
                       (prin1 (list (window-total-height (frame-root-window))
                                    (mapcar #'window-total-height (remq plan (window-list)))
                                    (window-total-height plan)
                                    (window-start plan))))))))
      (should (= 1 start))
      (should (<= (abs (- height (* 0.4 frame))) 1))
      (should (= 2 (length others)))
      (should (<= (abs (apply #'- others)) 1)))))

(provide 'efrit-do-view-tests)
;;; efrit-do-view-tests.el ends here
