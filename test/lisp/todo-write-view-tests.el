;;; todo-write-view-tests.el --- Tests of the live buffer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The buffer of `todo-write-show': its text and properties, and the positions of
;; point and windows.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-test-helper)
(require 'todo-write-view-test-helper)

(defun todo-write-view-tests--rows ()
  "Return the rows of the current buffer without times, as a list of strings."
  (mapcar (lambda (line) (replace-regexp-in-string " +[0-9:]+\\'" "" line))
          (cdr (split-string (todo-write-test-text) "\n" t))))

(defun todo-write-view-tests--line (position)
  "Return the line at POSITION."
  (save-excursion
    (goto-char position)
    (buffer-substring-no-properties (line-beginning-position) (line-end-position))))

(defun todo-write-view-tests--redisplay ()
  "Run the hook that redisplay runs for the selected window.
Another buffer is current then, which must not change."
  (let ((window (selected-window))
        (functions (remq t window-size-change-functions)))
    (should functions)
    (with-temp-buffer
      (insert "text of the user")
      (dolist (function functions)
        (funcall function window))
      (should (equal (buffer-string) "text of the user")))))

(defun todo-write-view-tests--header ()
  "Return the header of the current buffer."
  (todo-write-view-tests--line (point-min)))

;;; Appearance of rows

(defun todo-write-view-tests--look (&optional without-times)
  "Return each character of the current buffer with its face, display and item.
Leave out times if WITHOUT-TIMES is non-nil."
  (cl-loop for position from (point-min) below (point-max)
           for face = (get-text-property position 'face)
           unless (and without-times (eq face 'todo-write-time))
           collect (list (char-after position) face
                         (get-text-property position 'display)
                         (get-text-property position 'todo-write-id))))

(ert-deftest todo-write-view-says-when-all-is-done ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("One" "completed"))
    (should (string-match-p "✓ done 1/1" (todo-write-view-tests--header)))))

(ert-deftest todo-write-view-shows-a-pause-by-shape-and-reason ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("Wait" "in_progress" "Waiting"))
    (todo-write-pause "a" "interrupted")
    (should (equal (todo-write-view-tests--rows) '(" interrupted" " ‖ Waiting")))
    (should (string-match-p "‖ paused 0/1" (todo-write-view-tests--header)))
    (todo-write-resume "a")
    (should (equal (todo-write-view-tests--rows) '(" ● Waiting")))
    (should-not (string-match-p "paused" (todo-write-view-tests--header)))))

(ert-deftest todo-write-view-says-why-the-last-list-was-refused-until-one-is-accepted ()
  (todo-write-test-with-view
    (let ((line "^ the last list was refused: status \"blocked\"$")
          (blocked (todo-write-test-todos '("Build" "blocked"))))
      (todo-write-test-write "a" '("Build" "in_progress"))
      (todo-write "a" blocked)
      (should (string-match-p line (todo-write-test-text)))
      ;; The same again is no news.
      (todo-write "a" blocked)
      (should (= 1 (length (todo-write-observations "a" :type "STATE_UPDATE"))))
      ;; Neither an edit, nor the end of the turn, another plan or Emacs makes it good.
      (todo-write-edit "a" 'add "Test")
      (todo-write-end-turn "a")
      (todo-write-test-write "b" "Other")
      (todo-write-show "b")
      (should-not (string-match-p line (todo-write-test-text)))
      (kill-buffer)
      (switch-to-buffer (todo-write-show "a"))
      (should (string-match-p line (todo-write-test-text)))
      (should (equal "status \"blocked\""
                     (todo-write-test-child '(prin1 (plist-get (todo-write-summary "a") :refused)))))
      ;; This changes nothing, but is accepted.
      (todo-write-test-write "a" '("Build" "in_progress") "Test")
      (should-not (string-match-p "refused" (todo-write-test-text)))
      (should-not (todo-write-test-child '(prin1 (plist-get (todo-write-summary "a") :refused))))
      (todo-write "a" blocked)
      (should (string-match-p line (todo-write-test-text)))
      (todo-write-test-write "a" '("Build" "completed"))
      (should-not (string-match-p "refused" (todo-write-test-text))))))

(ert-deftest todo-write-view-counts-the-other-problems-of-a-refused-list ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One")
    (todo-write "a" (todo-write-test-todos '("One" "blocked") '("" "failed")))
    (should (string-match-p "refused: status \"blocked\", and 2 more problems$"
                            (todo-write-test-text)))
    (todo-write "a" "{\"plans\": 1}")
    (should (string-match-p "refused: todos " (todo-write-test-text)))))

(ert-deftest todo-write-view-says-how-an-agent-ended-that-waited-after-a-turn ()
  (pcase-dolist (`(,reason ,ending) '(("killed" killed) ("agent exited" session-ended)
                                      ("permission denied" denied) ("overloaded" error)))
    (todo-write-test-with-view
      (todo-write-test-write "a" '("Build" "in_progress"))
      (todo-write-end-turn "a")
      (should (string-match-p "^ end of turn$" (todo-write-test-text)))
      (todo-write-set-activity "a" 'waiting "permission to run make")
      (should-not (string-match-p "end of turn\\|paused" (todo-write-test-text)))
      (todo-write-end-turn "a" reason nil ending)
      (should (string-match-p (format "^ %s$" reason) (todo-write-test-text)))
      (should (eq ending (plist-get (todo-write-summary "a") :ending))))))

(ert-deftest todo-write-view-says-below-the-header-what-runs ()
  (todo-write-test-with-view
    (todo-write-observe "a" "INTENT" "Read [the *page*](https://example.org/x) about **roofs**, please")
    (todo-write-set-activity "a" 'working)
    (todo-write-observe "a" "MESSAGE" "Now the roof.")
    (todo-write-observe "a" "TOOL_CALL" '(:id "c" :name "Bash" :input (:command "make roof"))
                        :call-id "c")
    (should (string-match-p "\\` Read the \\*page\\* about roofs, please +no tasks\n"
                            (todo-write-test-text)))
    (should (string-match-p "^ working · ▸ make roof · “Now the roof\\.”$" (todo-write-test-text)))
    (todo-write-observe "a" "TOOL_EXECUTION" '(:id "c" :name "Bash" :content "fine")
                        :call-id "c" :outcome 'ok)
    (should (string-match-p "^ working · “Now the roof\\.”$" (todo-write-test-text)))))

(ert-deftest todo-write-view-says-in-words-that-there-is-no-plan ()
  (todo-write-test-with-view
    (should (string-match-p "No plan yet" (buffer-string)))
    (todo-write-test-write "a" "One")
    (should-not (string-match-p "No plan yet" (buffer-string)))
    (todo-write-test-write "a")
    (should (string-match-p "The list is empty" (buffer-string)))))

(ert-deftest todo-write-view-uses-ascii-where-shapes-cannot-be-displayed ()
  (todo-write-test-with-view
    (cl-letf (((symbol-function 'char-displayable-p) #'ignore))
      (todo-write-view-refresh)
      (todo-write-test-write "a"
                             '("One" "completed")
                             '("Two" "in_progress")
                             (make-string 200 ?a))
      (should-not (string-match-p "[^[:ascii:]]" (buffer-string))))))

(ert-deftest todo-write-row-plain-escapes-invisible-characters ()
  (pcase-dolist (`(,given ,shown)
                 '(("plain 日本語 é" "plain 日本語 é")
                   ("100 % \\[undo] \\1" "100 % \\[undo] \\1")
                   ("a\u0000b\tc\u007f\u0085" "a\\u0000b\\u0009c\\u007f\\u0085")
                   ("\u2066x\u2069" "\\u2066x\\u2069")
                   ("\ufeff\u2028" "\\ufeff\\u2028")
                   ("a\u00a0b\u2800c\ufe0fd\u2003e\u202f"
                    "a\\u00a0b\\u2800c\\ufe0fd\\u2003e\\u202f")
                   ("\U000e0041" "\\U000e0041")))
    (should (equal (todo-write-text-plain given) shown)))
  (should-not (text-properties-at 0 (todo-write-text-plain (propertize "a" 'display "b")))))

(ert-deftest todo-write-view-cuts-long-and-wide-rows-to-the-window ()
  (todo-write-test-with-view
    (let ((wide (apply #'concat (make-list 15 "長い")))
          (todo-write-view-max-width 40))
      (todo-write-test-write "a" (list wide "in_progress" wide) (make-string 90 ?x))
      (todo-write-view-refresh)
      (goto-char (point-min))
      (while (not (eobp))
        (should (<= (string-width (buffer-substring-no-properties (point) (line-end-position)))
                    40))
        (forward-line))
      (should (string-match-p "…" (nth 0 (todo-write-view-tests--rows))))
      (goto-char (point-min))
      (forward-line 1)
      (let ((help (get-text-property (point) 'help-echo)))
        (should (equal help wide))
        (should (get-text-property 0 'help-echo-inhibit-substitution help))))))

(ert-deftest todo-write-view-times-end-in-one-column ()
  (should (equal (mapcar #'todo-write-text-time '(0 999 42000 70000 3599999 3600000 36061000))
                 '("0:00" "0:00" "0:42" "1:10" "59:59" "1:00:00" "10:01:01")))
  (dolist (text '("short" "日本語の仕事" "a rather long text that is cut in the end"))
    (let ((line (todo-write-row-line "" text "1:10" 30)))
      (should (= (string-width line) 30))
      (should (string-suffix-p "1:10" line)))))

(ert-deftest todo-write-view-refits-rows-when-the-width-changes ()
  (todo-write-test-with-view
    (todo-write-test-write "a" (make-string 70 ?x))
    (should-not (string-match-p "…" (todo-write-test-text)))
    (let ((tick (buffer-chars-modified-tick)))
      (todo-write-view-tests--redisplay)
      (should (= tick (buffer-chars-modified-tick))))
    (split-window-right)
    (todo-write-view-tests--redisplay)
    (should (string-match-p "…" (todo-write-test-text)))))

;;; Redrawing

(ert-deftest todo-write-view-redraws-only-the-rows-that-changed ()
  (todo-write-test-with-view
    (apply #'todo-write-test-write "a" (mapcar #'number-to-string (number-sequence 1 100)))
    (let* ((drawn nil)
           (line (symbol-function 'todo-write-text-of-item)))
      (cl-letf (((symbol-function 'todo-write-text-of-item)
                 (lambda (item &rest rest)
                   (push (plist-get item :content) drawn)
                   (apply line item rest))))
        (todo-write-edit "a" 'status (todo-write-test-id "a" "50") "completed")
        (should (equal drawn '("50")))
        (setq drawn nil)
        (todo-write-edit "a" 'add "new" 10)
        (should (equal drawn '("new")))
        (setq drawn nil)
        (todo-write-edit "a" 'move (todo-write-test-id "a" "90") 0)
        (should-not drawn)))))

(defun todo-write-view-tests--random-list (contents)
  "Return a random list of items of some of CONTENTS, some of them new."
  (let* ((some (seq-filter (lambda (_) (> (random 5) 0)) contents))
         (new (cl-loop repeat (random 3) collect (format "Task number %d" (random 100000))))
         (all (append some new)))
    (mapcar (lambda (content)
              (list content (nth (random 3) '("pending" "in_progress" "completed"))))
            (if (= 0 (random 3)) (sort all (lambda (_ _) (= 0 (random 2)))) all))))

(defun todo-write-view-tests--random-step ()
  "Change the thread \"a\" at random, without the view."
  (let* ((items (todo-write-items "a"))
         (contents (mapcar (lambda (item) (plist-get item :content)) items))
         (id (and (> (length items) 0)
                  (plist-get (aref items (random (length items))) :id))))
    (pcase (random 10)
      ((or 0 1 2) (apply #'todo-write-test-write "a"
                         (todo-write-view-tests--random-list contents)))
      (3 (todo-write-edit "a" 'add (format "Own %d" (random 100000))
                          (random (1+ (length items)))))
      (4 (ignore-error todo-write-error (todo-write-undo "a")))
      (5 (todo-write-pause "a"))
      (6 (todo-write-resume "a"))
      ((guard (null id)))
      (7 (todo-write-edit "a" 'delete id))
      (8 (todo-write-edit "a" 'move id (random (length items))))
      (9 (todo-write-edit "a" 'rename id (format "Renamed %d" (random 100000)))))))

(ert-deftest todo-write-view-always-equals-a-full-redraw ()
  (random "todo-write")
  (todo-write-test-with-view
    (dotimes (step 300)
      (todo-write-view-tests--random-step)
      (let ((fresh (save-window-excursion
                     (switch-to-buffer "*fresh plan*")
                     (todo-write-view-mode)
                     (setq todo-write-view-thread "a")
                     (todo-write-view-draw-all)
                     (prog1 (cons (todo-write-view-tests--rows)
                                  (todo-write-view-tests--look 'without-times))
                       (kill-buffer)))))
        (should (equal (cons step (todo-write-view-tests--rows)) (cons step (car fresh))))
        (should (equal (todo-write-view-tests--look 'without-times) (cdr fresh)))))))

(ert-deftest todo-write-view-shows-a-thread-that-was-forgotten-and-restarted ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One" "Two")
    (todo-write-forget "a")
    (todo-write-test-write "a" "New")
    (should (equal (todo-write-view-tests--rows) '(" ○ New")))))

(ert-deftest todo-write-view-is-right-when-another-subscriber-writes-meanwhile ()
  (todo-write-test-with-view
    (let* ((todo-write-change-functions (copy-sequence todo-write-change-functions))
           (writer (lambda (_thread outcome)
                     (when (= 1 (plist-get outcome :revision))
                       (todo-write-edit "a" 'add "Theirs")))))
      (add-hook 'todo-write-change-functions writer)
      (todo-write-test-write "a" "One")
      (should (equal (mapcar (lambda (row) (string-trim-right row " +yours"))
                             (todo-write-view-tests--rows))
                     '(" ○ One" " ○ Theirs"))))))

(ert-deftest todo-write-view-strikes-dropped-tasks-until-the-next-revision ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("Done" "completed") "Keep" "Drop" "Last")
    (todo-write-test-write "a" "Keep" "Last")
    (should (equal (todo-write-view-tests--rows)
                   '(" ○ Keep" " ✗ Drop" " ○ Last" " 1 cleared")))
    (goto-char (point-min))
    (search-forward "Drop")
    (should (eq (get-text-property (1- (point)) 'face) 'todo-write-removed))
    (should (eq (get-text-property (point) 'face) 'todo-write-pending))
    (todo-write-test-write "a" '("Keep" "completed") "Last")
    (should (equal (todo-write-view-tests--rows) '(" ✓ Keep" " ○ Last" " 1 dropped · 1 cleared")))))

(ert-deftest todo-write-view-shows-no-trace-of-a-cancelled-task ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "Keep" "Cancel" "Drop" "Last")
    (todo-write-test-write "a" "Keep" '("Cancel" "cancelled") "Last")
    (let ((rows '(" ○ Keep" " ✗ Drop" " ○ Last")))
      (should (equal (todo-write-view-tests--rows) rows))
      (todo-write-view-draw-all)
      (should (equal (todo-write-view-tests--rows) rows)))))

(defun todo-write-view-tests--highlighted ()
  "Return a list of the highlighted text and its other faces."
  (let (text faces)
    (save-excursion
      (goto-char (point-min))
      (while (not (eobp))
        (when (eq (get-char-property (point) 'face) 'todo-write-flash)
          (push (char-after) text)
          (cl-pushnew (get-text-property (point) 'face) faces))
        (forward-char)))
    (list (concat (nreverse text)) faces)))

(defun todo-write-view-tests--end-flash ()
  "Wait until no row is highlighted any more."
  (should-not (equal (todo-write-view-tests--highlighted) '("" nil)))
  (todo-write-test-wait
   (lambda () (equal (todo-write-view-tests--highlighted) '("" nil)))))

(ert-deftest todo-write-view-highlights-changed-rows-for-a-moment ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One" "Two" "Three")
    (let ((todo-write-flash-seconds 0.1)
          (before (todo-write-view-tests--look)))
      (todo-write-edit "a" 'status (todo-write-test-id "a" "Two") "completed")
      (should (equal (todo-write-view-tests--highlighted)
                     '(" ✓ Two\n" (todo-write-completed todo-write-completed-shape))))
      (should (todo-write-view-tests--ticks-p))
      (todo-write-edit "a" 'status (todo-write-test-id "a" "Two") "pending")
      (todo-write-edit "a" 'status (todo-write-test-id "a" "Three") "completed")
      (should (equal (car (todo-write-view-tests--highlighted)) " ✓ Three\n"))
      (todo-write-edit "a" 'status (todo-write-test-id "a" "Three") "pending")
      (should-not (buffer-modified-p))
      (todo-write-view-tests--end-flash)
      (should-not (todo-write-view-tests--ticks-p))
      (should-not (buffer-modified-p))
      (should (equal (todo-write-view-tests--look) before)))))

(ert-deftest todo-write-view-highlights-dropped-moved-and-redrawn-rows ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One" "Two" "Three")
    (let ((todo-write-flash-seconds 0.1))
      (todo-write-test-write "a" "Three" "One")
      (should (equal (car (todo-write-view-tests--highlighted)) " ○ Three\n ✗ Two\n"))
      (todo-write-view-refresh)
      (todo-write-edit "a" 'delete (todo-write-test-id "a" "One"))
      (todo-write-view-tests--end-flash))))

;;; Positions

(ert-deftest todo-write-view-keeps-point-and-scroll-with-their-tasks ()
  (todo-write-test-with-view
    (let ((contents (mapcar (lambda (n) (format "Task %d" n)) (number-sequence 1 60)))
          (other (split-window-below)))
      (set-window-buffer other (current-buffer))
      (apply #'todo-write-test-write "a" contents)
      (let ((place (lambda (content)
                     (save-excursion (goto-char (point-min))
                                     (search-forward (concat content "\n"))
                                     (match-beginning 0)))))
        (goto-char (funcall place "Task 20"))
        (set-window-point other (funcall place "Task 45"))
        (set-window-start other (save-excursion (goto-char (funcall place "Task 40"))
                                                (line-beginning-position)))
        (apply #'todo-write-test-write "a"
               (append '("New 1" "New 2") (seq-subseq contents 0 19)
                       (list '("Task 20" "completed"))
                       (seq-subseq contents 20 39)
                       '("New before the top")
                       (seq-subseq contents 39 44)
                       '(("Task 45" "completed"))
                       (seq-subseq contents 45)))
        (should (equal (todo-write-view-tests--line (point)) " ✓ Task 20"))
        (should (equal (todo-write-view-tests--line (window-point other)) " ✓ Task 45"))
        (should (= 3 (save-excursion (goto-char (window-point other)) (current-column))))
        (should (equal (todo-write-view-tests--line (window-start other))
                       " ○ Task 40"))))))

(ert-deftest todo-write-view-draws-what-changed-unseen-once-a-window-shows-it ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One" "Two" "Three")
    (search-forward "Thr")
    (let ((buffer (current-buffer))
          (before (buffer-string)))
      (switch-to-buffer "*scratch*")
      (todo-write-test-write "a" "Three" "One" "Two")
      (todo-write-redraw)
      (with-current-buffer buffer
        (should (equal before (buffer-string))))
      (switch-to-buffer buffer)
      (todo-write-view-tests--redisplay)
      (should (looking-at-p "ee$"))
      (should (= 2 (line-number-at-pos))))))

(ert-deftest todo-write-view-keeps-point-on-a-row-that-becomes-shorter ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One task with many words" "Two")
    (search-forward "words")
    (todo-write-edit "a" 'rename (todo-write-test-id "a" "One task with many words") "One")
    (should (equal " ○ One" (todo-write-view-tests--line (point))))))

(ert-deftest todo-write-view-says-where-the-agent-runs-with-its-first-plan ()
  (todo-write-test-with-shapes
    (switch-to-buffer (todo-write-show))
    (let ((todo-write-machines '(("far"))))
      (todo-write-begin "a" :project "/ssh:far:/srv/garden/")
      (todo-write-test-write "a" "One")
      (should (string-match-p "^ on far$" (todo-write-test-text))))))

(ert-deftest todo-write-view-keeps-point-below-the-tasks ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One" "Two" "Three")
    (todo-write-test-write "a" "One")
    (todo-write-test-write "a" "One" "Four")
    (dolist (end (list (point-max) (1- (point-max))))
      (goto-char end)
      (revert-buffer)
      (should (= (point) end)))
    (goto-char (point-max))
    (todo-write-test-write "a" "One" '("Four" "in_progress") "Five")
    (should (eobp))))

(ert-deftest todo-write-view-shows-what-is-added-at-the-top ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One" "Two")
    (set-window-start (selected-window) (point-min))
    (todo-write-test-write "a" "Zero" "One" "Two")
    (should (= (window-start) (point-min)))))

(ert-deftest todo-write-view-keeps-the-mark-when-times-update ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("One" "in_progress") "Two")
    (goto-char (point-min))
    (search-forward "One")
    (push-mark (point) t t)
    (search-forward "Two")
    (let ((marked (mark)))
      (todo-write-view-draw-all)
      (should (= marked (mark))))))

(ert-deftest todo-write-show-as-a-command-selects-the-window ()
  (todo-write-test-with-view
    (let ((buffer (current-buffer)))
      (switch-to-buffer "*scratch*")
      (call-interactively #'todo-write-show)
      (should (eq (window-buffer (selected-window)) buffer)))))

;;; Times

(ert-deftest todo-write-view-updates-the-time-of-the-running-row ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("Run" "in_progress") "Wait")
    (cl-flet ((shown ()
                (should (string-match "Doing: Run +\\([0-9:]+\\)$" (buffer-string)))
                (match-string 1 (buffer-string))))
      (let ((before (shown)))
        (todo-write-test-wait (lambda () (not (equal before (shown)))))))))

(defun todo-write-view-tests--ticks-p ()
  "Return non-nil if the current buffer will be drawn again although nothing changes."
  (and todo-write-events--timer (assq (current-buffer) todo-write-events--marked)))

(ert-deftest todo-write-view-has-a-timer-only-while-a-visible-task-runs ()
  (todo-write-test-with-view
    (should-not (todo-write-view-tests--ticks-p))
    (todo-write-test-write "a" '("Run" "in_progress"))
    (should (todo-write-view-tests--ticks-p))
    (todo-write-pause "a")
    (should-not (todo-write-view-tests--ticks-p))
    (todo-write-resume "a")
    (should (todo-write-view-tests--ticks-p))
    (let ((buffer (current-buffer)))
      (switch-to-buffer "*scratch*")
      (todo-write-test-wait (lambda () (not todo-write-events--timer)))
      (switch-to-buffer buffer)
      (todo-write-view-tests--redisplay)
      (should (todo-write-view-tests--ticks-p)))
    (todo-write-test-write "a" '("Run" "completed"))
    (should-not (todo-write-view-tests--ticks-p))))

(ert-deftest todo-write-view-leaves-nothing-behind-when-killed ()
  (todo-write-test-with-view
    (remove-hook 'todo-write-events-functions #'todo-write-test-draw)
    (todo-write-test-write "a" '("Run" "in_progress"))
    (todo-write-redraw)
    (todo-write-test-open "Run")
    (todo-write-observe "a" "TOOL_CALL" "ls")
    (let ((buffer (current-buffer)))
      (should (todo-write-events-marked-p buffer))
      (kill-buffer)
      (todo-write-redraw)
      (should-not (assq buffer todo-write-events--marked)))
    (should-not (memq #'todo-write-view--on-event todo-write-events-functions))))

;;; Keys

(ert-deftest todo-write-view-n-and-p-move-between-tasks ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One" "Two")
    (goto-char (point-min))
    (todo-write-test-press "n")
    (should (looking-at-p " ○ One"))
    (todo-write-test-press "n")
    (should (looking-at-p " ○ Two"))
    (should-error (todo-write-test-press "n") :type 'user-error)
    (should (looking-at-p " ○ Two"))
    (todo-write-test-press "p")
    (should (looking-at-p " ○ One"))
    (should-error (todo-write-test-press "p") :type 'user-error)))

(ert-deftest todo-write-view-ret-opens-and-closes-a-row-and-updates-keep-it-open ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("Write the text" "in_progress" "Writing") "Two")
    (todo-write-view-goto (todo-write-test-id "a" "Write the text"))
    (todo-write-test-press "RET")
    (should (string-match-p "^     Write the text\n" (buffer-string)))
    (should (string-match-p "^     since [0-9:]+$" (buffer-string)))
    (should (looking-at-p " ● Writing"))
    (todo-write-test-write "a" "Zero" "Two" '("Write the text" "completed" "Writing"))
    (should (string-match-p "^ ✓ Write the text.*\n     [0-9:]+\\(?:–[0-9:]+\\)?$" (buffer-string)))
    (todo-write-test-press "TAB")
    (should-not (string-match-p "^     [0-9:]+–" (buffer-string)))))

(ert-deftest todo-write-view-mouse-1-opens-the-row-clicked-on ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One" "Two")
    (search-forward "Two")
    (let ((event `(mouse-1 (,(selected-window) ,(point) (0 . 0) 0))))
      (goto-char (point-min))
      (funcall (key-binding [mouse-1]) event)
      (should (string-match-p "○ Two\n     added [0-9:]+$" (buffer-string))))))

(ert-deftest todo-write-view-n-stops-at-a-subagents-title-and-ret-shows-its-plan ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("One" "in_progress") "Two")
    (todo-write-begin "a/sub" :parent "a" :parent-item (todo-write-test-id "a" "One"))
    (todo-write-test-write "a/sub" "Of the subagent")
    (todo-write-redraw)
    (todo-write-view-goto (todo-write-test-id "a" "One"))
    (todo-write-test-press "n")
    (should (looking-at-p " +↳ a/sub"))
    (save-excursion
      (todo-write-test-press "n")
      (should (looking-at-p " ○ Two")))
    (todo-write-test-press "RET")
    (should (equal "a/sub" todo-write-view-thread))))

(ert-deftest todo-write-view-is-read-only-and-keeps-no-undo ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One")
    (should buffer-read-only)
    (should-not (buffer-modified-p))
    (should (eq buffer-undo-list t))
    (should-error (insert "x") :type 'buffer-read-only)))

(ert-deftest todo-write-view-survives-a-buffer-killed-without-hooks ()
  (todo-write-test-with-view
    (with-temp-buffer (todo-write-view-mode))
    (todo-write-test-write "a" "One")
    (should (string-search "One" (buffer-string)))))

(ert-deftest todo-write-view-that-is-narrowed-is-drawn-whole ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("One" "in_progress") "Two" "Three" "Four")
    (narrow-to-region (todo-write-view-draw-row (todo-write-test-id "a" "Three"))
                      (todo-write-view-draw-row (todo-write-test-id "a" "Four")))
    (todo-write-test-write "a" '("One" "completed") "Two" '("Three" "completed") "Half" "Four")
    (should (equal (todo-write-view-tests--rows)
                   '(" ✓ One" " ○ Two" " ✓ Three" " ○ Half" " ○ Four")))))

(ert-deftest todo-write-view-goes-to-the-task-in-progress-outside-a-narrowed-region ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("One" "in_progress") "Two")
    (narrow-to-region (todo-write-view-draw-row (todo-write-test-id "a" "Two")) (point-max))
    (todo-write-view-to-current)
    (should (looking-at-p " ● Doing: One"))
    (should-not (buffer-narrowed-p))))

(defun todo-write-view-tests--second-line ()
  "Return the second line of the current buffer without text properties."
  (nth 1 (split-string (todo-write-test-text) "\n")))

(ert-deftest todo-write-view-says-below-the-header-what-the-agent-does-and-why ()
  (todo-write-test-with-view
    (todo-write-observe "a" "TITLE" "Login")
    (todo-write-test-write "a" '("One" "in_progress"))
    (should (string-match-p "\\` ● Doing: One" (todo-write-view-tests--second-line)))
    (goto-char (point-min))
    (todo-write-test-press "n")
    (pcase-dolist (`(,activity ,why ,shown)
                   '((working nil " working")
                     (waiting "permission to run \u202e"
                              " waits for you: permission to run \\u202e")
                     (failed "overloaded" " failed: overloaded")))
      (todo-write-set-activity "a" activity why)
      (should (equal shown (todo-write-view-tests--second-line)))
      (should (looking-at-p " ● Doing: One")))
    (todo-write-end-turn "a" "interrupted")
    (should (equal " interrupted" (todo-write-view-tests--second-line)))
    (todo-write-set-activity "a" nil)
    (todo-write-resume "a")
    (should (string-match-p "\\` ● Doing: One" (todo-write-view-tests--second-line)))))

(ert-deftest todo-write-view-says-since-when-the-agent-works ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One")
    (todo-write-set-activity "a" 'working)
    (cl-letf* ((now (float-time))
               ((symbol-function 'float-time) (lambda (&rest _) (+ now 250))))
      (todo-write-view-draw-all)
      (should (equal " working 4 min" (todo-write-view-tests--second-line))))))

(ert-deftest todo-write-view-quotes-below-the-header-what-the-agent-said-last ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One" "Two")
    (search-forward "Two")
    (todo-write-observe "a" "MESSAGE" "All tests pass.\nNow \u202e the lint.")
    (todo-write-test-wait (lambda () (string-search "All tests" (todo-write-test-text))))
    (should (equal " “All tests pass. Now \\u202e the lint.”"
                   (todo-write-view-tests--second-line)))
    (should (looking-back "○ Two" (line-beginning-position)))
    (todo-write-set-activity "a" 'working)
    (todo-write-observe "a" "MESSAGE" (make-string 300 ?x))
    (todo-write-test-wait (lambda () (string-search "xxx" (todo-write-test-text))))
    (let ((line (todo-write-view-tests--second-line)))
      (should (string-match-p "\\` working · “xxx.*…\\'" line))
      (should (<= (string-width line) (window-body-width))))))

(ert-deftest todo-write-view-keeps-scrolled-rows-in-place-when-the-agent-speaks ()
  (todo-write-test-with-view
    (apply #'todo-write-test-write "a" (mapcar #'number-to-string (number-sequence 1 90)))
    (goto-char (todo-write-view-draw-row (todo-write-test-id "a" "50")))
    (set-window-start nil (todo-write-view-draw-row (todo-write-test-id "a" "45")))
    (todo-write-observe "a" "MESSAGE" "Hello.")
    (todo-write-test-wait (lambda () (string-search "Hello" (todo-write-test-text))))
    (should (= (window-start) (todo-write-view-draw-row (todo-write-test-id "a" "45"))))
    (should (= (point) (todo-write-view-draw-row (todo-write-test-id "a" "50"))))))

(ert-deftest todo-write-view-header-drops-numbers-and-bar-before-it-cuts-the-title ()
  (pcase-dolist
      (`(,width ,unsaved ,shown)
       '((78 nil " Refactor the login function +2/6  ━+─+   \\+128 −109\\'")
         (56 nil " Refactor the login function +2/6  ━+─+\\'")
         (42 nil " Refactor the login function +2/6\\'")
         (30 nil " Refactor the login func…  2/6\\'")
         (12 nil " Refac…  2/6\\'")
         (70 t " Refactor the login function +not saved  2/6  ━+─+\\'")
         (40 t " Refactor the login fun…  not saved  2/6\\'")))
    (let ((line (todo-write-row-string
                  (todo-write-row-insert-header
                   `( :state active :total 6 :completed 2 :count "2/6" :unsaved ,unsaved
                      :title "Refactor the login function")
                   width '(128 109)))))
      (should (string-match-p (concat "\\`" shown) line))
      (should (<= (string-width line) width)))))

(defun todo-write-view-tests--faces ()
  "Return the header line with its faces, character by character."
  (mapcar (lambda (position) (cons (char-after position) (get-text-property position 'face)))
          (number-sequence (point-min) (save-excursion (goto-char (point-min))
                                                       (1- (line-end-position))))))

(ert-deftest todo-write-view-header-changes-in-place-as-it-would-be-drawn ()
  (todo-write-with-store
    (todo-write-observe "a" "TITLE" "From 1/12 to 2/12")
    (todo-write-test-write "a" "First")
    (todo-write-test-with-view
      (dolist (done '(0 1 2 5 4 9 10 12 11))
        (apply #'todo-write-test-write "a"
               (mapcar (lambda (n) (list (format "Task %d" n)
                                         (if (<= n done) "completed" "pending")))
                       (number-sequence 1 12)))
        (let ((in-place (todo-write-view-tests--faces)))
          (should (string-search (format " %d/12  " done) (todo-write-test-text)))
          (revert-buffer)
          (should (equal in-place (todo-write-view-tests--faces))))))))

;;; What a task did, in its row

(defun todo-write-view-tests--row (width &rest args)
  "Return the row of a task of WIDTH columns with the note, work and time ARGS."
  (pcase-let ((`(,note ,work ,spent) args))
    (string-trim-right
     (todo-write-row-string
       (todo-write-row-insert '(:content "Read the login function" :status "completed")
                              'completed spent width nil note work)))))

(ert-deftest todo-write-row-has-note-lines-failures-and-time-in-columns ()
  (todo-write-test-with-shapes
    (let ((rows (list (todo-write-view-tests--row 80 nil '(48 0 0) 96000)
                      (todo-write-view-tests--row 80 "yours" '(80 109 1) 3670000)
                      (todo-write-view-tests--row 80 nil '(0 0 12) 42000)
                      (todo-write-view-tests--row 80 "yours" nil nil))))
      (should (string-match-p "function +\\+48 −0 +1:36\\'" (nth 0 rows)))
      (should (string-match-p "function +yours  \\+80 −109   ✗1   1:01:10\\'" (nth 1 rows)))
      (should (string-match-p "function +✗12 +0:42\\'" (nth 2 rows)))
      (should (string-match-p "function +yours\\'" (nth 3 rows)))
      (dolist (row rows)
        (should (= 80 (string-width row))))
      (should (= (string-search "+48" (nth 0 rows)) (string-search "+80" (nth 1 rows))))
      (should (= (string-search "✗1" (nth 1 rows)) (string-search "✗12" (nth 2 rows))))
      (should (equal '(todo-write-lines-added todo-write-lines-removed todo-write-failed
                                              todo-write-time)
                     (mapcar (lambda (text)
                               (get-text-property (string-search text (nth 1 rows))
                                                  'face (nth 1 rows)))
                             '("+80" "−109" "✗1" "1:01")))))))

(ert-deftest todo-write-row-drops-note-lines-failures-and-time-before-it-cuts-the-title ()
  (todo-write-test-with-shapes
    (pcase-dolist (`(,width ,shown)
                   '((60 "function +yours  \\+80 −109   ✗1 +1:36\\'")
                     (53 "function  yours  \\+80 −109  ✗1  1:36\\'")
                     (46 "function +\\+80 −109  ✗1  1:36\\'")
                     (36 "function +✗1  1:36\\'")
                     (32 "function  1:36\\'")
                     (26 "function\\'")
                     (25 "functi…\\'")))
      (let ((row (todo-write-view-tests--row width "yours" '(80 109 1) 96000)))
        (should (string-match-p shown row))
        (should (<= (string-width row) width))))))

(ert-deftest todo-write-view-rows-show-the-work-of-their-tasks-live ()
  (todo-write-test-with-view
    (todo-write-begin "a" :project "/p/")
    (todo-write-test-write "a" '("One" "in_progress") "Two")
    (todo-write-observe "a" "TOOL_EXECUTION" '(:name "Edit") :outcome 'ok
                        :files '((:path "/p/f" :oldText "a\n" :newText "b\nc\n")))
    (todo-write-observe "a" "TOOL_EXECUTION" '(:name "Bash") :outcome 'failed :exit-code 1)
    (todo-write-test-wait (lambda () (string-match-p "One +\\+2 −1 +✗1 " (todo-write-test-text))))
    (should (string-match-p "\\` Plan .*   \\+2 −1$" (todo-write-test-text)))
    (let ((text (todo-write-test-text)))
      (todo-write-view-refresh)
      (should (equal text (todo-write-test-text))))))

(ert-deftest todo-write-view-draws-nothing-for-the-events-of-other-threads ()
  (todo-write-test-with-view
    (remove-hook 'todo-write-events-functions #'todo-write-test-draw)
    (todo-write-test-write "a" '("One" "in_progress"))
    (todo-write-test-write "b" '("Other" "in_progress"))
    (todo-write-redraw)
    (todo-write-observe "b" "MESSAGE" "Hello.")
    (todo-write-test-write "b" '("Other" "completed"))
    (should-not (todo-write-events-marked-p (current-buffer)))
    (todo-write-observe "a" "MESSAGE" "Hello.")
    (should (todo-write-events-marked-p (current-buffer)))))

(ert-deftest todo-write-view-two-plans-stand-side-by-side-as-wide-as-their-windows ()
  (todo-write-test-with-view
    (todo-write-test-write "a" '("One" "in_progress"))
    (todo-write-test-write "b" '("Two" "in_progress"))
    (rename-buffer "a plan" t)
    (let ((left (selected-window))
          (right (split-window-right 24)))
      (set-window-buffer right (get-buffer-create "*scratch*"))
      (todo-write-redraw)
      (run-hook-with-args 'window-size-change-functions left)
      (select-window right)
      (switch-to-buffer (todo-write-show "b" nil '(display-buffer-same-window)))
      (should-not (eq (window-buffer left) (window-buffer right)))
      (pcase-dolist (`(,window ,text) `((,left "One") (,right "Two")))
        (with-current-buffer (window-buffer window)
          (should (string-search text (todo-write-test-text)))
          (should (= todo-write-buffer-width (1- (window-body-width window))))))
      ;; Its buffer stays that of the first plan.
      (should (eq (window-buffer left) (todo-write-show "a"))))))

(ert-deftest todo-write-view-without-a-plan-offers-what-fills-it ()
  (todo-write-with-store
    (let ((buffer (todo-write-show)) called)
      (unwind-protect
          (with-current-buffer buffer
            (should (string-search "No plan yet" (buffer-string)))
            (cl-letf (((symbol-function 'todo-write-setup)
                       (lambda () (interactive) (setq called t))))
              (goto-char (point-min))
              (search-forward "Give an agent the tool")
              (call-interactively (key-binding (kbd "RET"))))
            (should called)
            (should (re-search-forward "Follow a .*session" nil t)))
        (kill-buffer buffer)))))


(ert-deftest todo-write-view-flashes-what-changed-but-not-another-plan ()
  (todo-write-test-with-view
    (let ((todo-write-flash-seconds 3600))
      (cl-flet ((flashes () (seq-filter (lambda (overlay) (overlay-get overlay 'todo-write-flash))
                                        (overlays-in (point-min) (point-max)))))
        (todo-write-test-write "a" "One" "Two")
        (todo-write-redraw)
        (todo-write-test-write "a" '("One" "completed") "Two")
        (todo-write-redraw)
        (should (flashes))
        (dolist (status '("pending" "in_progress" "completed"))
          (todo-write-test-write "b" (list "Three" status)))
        (should (eq (current-buffer) (todo-write-show "b")))
        (should (string-search "Three" (buffer-string)))
        (should-not (flashes))))))

(ert-deftest todo-write-view-without-a-plan-adopts-one-only-when-a-list-changes ()
  (todo-write-test-with-shapes
    (switch-to-buffer (todo-write-show))
    (should-not todo-write-view-thread)
    (todo-write-set-activity "a" 'working)
    (todo-write-observe "a" "MESSAGE" "I begin")
    (should-not todo-write-view-thread)
    (todo-write-test-write "a" "One")
    (should (equal "a" todo-write-view-thread))
    (todo-write-test-write "b" "Two")
    (should (equal "a" todo-write-view-thread))))

(provide 'todo-write-view-tests)
;;; todo-write-view-tests.el ends here
