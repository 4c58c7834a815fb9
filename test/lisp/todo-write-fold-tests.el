;;; todo-write-fold-tests.el --- Tests of long lists  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Folds in low windows, and windows that follow the task in progress.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-view-test-helper)

(defun todo-write-fold-tests--write (completed total)
  "Write TOTAL tasks to \"a\": COMPLETED completed ones, then one in progress."
  (apply #'todo-write-test-write "a"
         (mapcar (lambda (n)
                   (list (format "Task %d" n)
                         (cond ((<= n completed) "completed")
                               ((= n (1+ completed)) "in_progress")
                               (t "pending"))
                         (format "At %d" n)))
                 (number-sequence 1 total))))

(ert-deftest todo-write-view-folds-completed-tasks-in-a-low-window ()
  (todo-write-test-with-view
    (let ((total (+ 10 (window-body-height))))
      (todo-write-fold-tests--write 8 total)
      (should (equal (seq-take (todo-write-test-seen) 4)
                     '(" ✓ +7 done" " ✓ Task 8" " ● At 9" " ○ Task 10")))
      (todo-write-fold-tests--write 9 total)
      (should (equal (seq-take (todo-write-test-seen) 3)
                     '(" ✓ +8 done" " ✓ Task 9" " ● At 10"))))))

(ert-deftest todo-write-view-folds-nothing-in-a-high-window ()
  (todo-write-test-with-view
    (todo-write-fold-tests--write 3 4)
    (should-not (todo-write-test-folded-p))
    (let ((todo-write-view-fold-completed t))
      (todo-write-view-refresh)
      (should (equal (car (todo-write-test-seen)) " ✓ +2 done")))))

(ert-deftest todo-write-view-never-folds-if-the-option-is-nil ()
  (todo-write-test-with-view
    (let ((todo-write-view-fold-completed nil))
      (todo-write-fold-tests--write 20 50)
      (should-not (todo-write-test-folded-p)))))

(ert-deftest todo-write-view-a-fold-is-one-row-that-ret-and-mouse-1-open ()
  (todo-write-test-with-view
    (todo-write-fold-tests--write 20 50)
    (goto-char (point-min))
    (todo-write-test-press "n")
    (should (looking-at-p " ✓ \\+19 done"))
    (todo-write-test-press "n")
    (should (looking-at-p " ✓ Task 20"))
    (todo-write-test-press "p")
    (should (looking-at-p " ✓ \\+19 done"))
    (todo-write-test-press "RET")
    (should (equal (car (todo-write-test-seen)) " ✓ Task 1"))
    (todo-write-test-press "? d")
    (should (equal (car (todo-write-test-seen)) " ✓ +19 done"))
    (goto-char (point-min))
    (todo-write-test-press "n")
    (let ((command (lookup-key todo-write-view-mode-map [mouse-1])))
      (funcall command `(mouse-1 (,(selected-window) ,(point) (0 . 0) 0)))
      (should-not (todo-write-test-folded-p)))))

(ert-deftest todo-write-view-keeps-open-rows-out-of-folds ()
  (todo-write-test-with-view
    (todo-write-fold-tests--write 20 50)
    (todo-write-test-press "? d")
    (todo-write-test-open "Task 10")
    (todo-write-test-press "? d")
    (should (equal (seq-take (todo-write-test-seen) 3)
                   '(" ✓ +8 done" " ✓ Task 9" " ✓ Task 10")))
    (should (string-match-p "^     added [0-9:]+, completed" (string-join (todo-write-test-seen) "\n")))))

(ert-deftest todo-write-view-keeps-dropped-tasks-out-of-folds ()
  (todo-write-test-with-view
    (let ((todo-write-view-fold-completed t)
          (done (mapcar (lambda (n) (list (format "Done %d" n) "completed"))
                        (number-sequence 1 10))))
      (apply #'todo-write-test-write "a" (append (seq-take done 5) '("Drop") (nthcdr 5 done)))
      (apply #'todo-write-test-write "a" done)
      (should (member " ✗ Drop" (todo-write-test-seen)))
      (should (= 5 (length (todo-write-test-seen)))))))

(ert-deftest todo-write-view-folds-are-right-after-any-change ()
  (random "fold")
  (todo-write-test-with-view
    (let ((todo-write-view-fold-completed t))
      (todo-write-fold-tests--write 10 30)
      (dotimes (_ 200)
        (let* ((items (todo-write-items "a"))
               (item (aref items (random (length items)))))
          (pcase (random 4)
            (0 (todo-write-edit "a" 'move (plist-get item :id) (random (length items))))
            (1 (todo-write-edit "a" 'add (format "New %d" (random 10000))
                                (random (length items))))
            (_ (todo-write-edit "a" 'status (plist-get item :id)
                                (if (equal (plist-get item :status) "completed")
                                    "pending" "completed")))))
        (let ((seen (todo-write-test-seen)))
          (todo-write-view-refresh)
          (should (equal seen (todo-write-test-seen))))))))

(ert-deftest todo-write-view-shows-a-thousand-rows ()
  (todo-write-test-with-view
    (let ((done 900))
      (todo-write-fold-tests--write done 1000)
      (should (equal (seq-take (todo-write-test-seen) 3)
                     (list (format " ✓ +%d done" (1- done)) (format " ✓ Task %d" done)
                           (format " ● At %d" (1+ done)))))
      (let ((drawn 0)
            (line (symbol-function 'todo-write-text-of-item)))
        (cl-letf (((symbol-function 'todo-write-text-of-item)
                   (lambda (&rest args) (cl-incf drawn) (apply line args))))
          (todo-write-edit "a" 'status
                           (todo-write-test-id "a" (format "Task %d" (+ done 50)))
                           "completed"))
        ;; That row, and the one in progress, whose work may have changed.
        (should (= drawn 2))))))

;;; Following

(defun todo-write-fold-tests--shown-p (text &optional window)
  "Return non-nil if the row of TEXT lies within WINDOW."
  (save-excursion
    (goto-char (point-min))
    (search-forward text)
    (todo-write-view-draw--visible-p (or window (selected-window)) (line-beginning-position))))

(ert-deftest todo-write-view-windows-follow-the-task-in-progress ()
  (todo-write-test-with-view
    (let ((todo-write-view-fold-completed nil)
          (other (split-window-below)))
      (set-window-buffer other (current-buffer))
      (todo-write-fold-tests--write 0 100)
      (todo-write-view--to-first-row)
      (dolist (completed '(30 60 95 2))
        (todo-write-fold-tests--write completed 100)
        (dolist (window (list (selected-window) other))
          (should (todo-write-fold-tests--shown-p (format "At %d" (1+ completed)) window)))))))

(ert-deftest todo-write-view-does-not-scroll-a-window-in-which-the-user-moved ()
  (todo-write-test-with-view
    (let ((todo-write-view-fold-completed nil))
      (todo-write-fold-tests--write 0 100)
      (todo-write-view--to-first-row)
      (todo-write-test-press "n")
      (let ((start (window-start)))
        (todo-write-fold-tests--write 60 100)
        (should (looking-at-p " ✓ Task 2"))
        (should (= start (window-start))))
      (todo-write-test-press "? .")
      (should (looking-at-p " ● At 61"))
      (todo-write-fold-tests--write 90 100)
      (should (todo-write-fold-tests--shown-p "At 91")))))

(ert-deftest todo-write-view-does-not-scroll-a-window-that-the-wheel-scrolled ()
  (todo-write-test-with-view
    (let ((todo-write-view-fold-completed nil)
          (other (split-window-below)))
      (set-window-buffer other (current-buffer))
      (todo-write-fold-tests--write 0 100)
      (todo-write-view--to-first-row)
      (todo-write-fold-tests--write 1 100)
      (let ((there (save-excursion (goto-char (point-min)) (forward-line 70) (point))))
        (set-window-start other there)
        (set-window-point other there)
        ;; In this one, point stays where it was.
        (set-window-start nil there)
        (todo-write-fold-tests--write 20 100)
        (dolist (window (list nil other))
          (should (= 71 (line-number-at-pos (window-start window)))))))))

(ert-deftest todo-write-view-moves-point-of-the-selected-window-only-to-scroll ()
  (todo-write-test-with-view
    (todo-write-fold-tests--write 0 5)
    (todo-write-view--to-first-row)
    (todo-write-fold-tests--write 2 5)
    (should (looking-at-p " ✓ Task 1"))))

(ert-deftest todo-write-view-does-not-follow-if-the-option-is-nil ()
  (todo-write-test-with-view
    (let ((todo-write-view-follow nil) (todo-write-view-fold-completed nil))
      (todo-write-fold-tests--write 0 100)
      (todo-write-view--to-first-row)
      (todo-write-fold-tests--write 60 100)
      (should-not (todo-write-fold-tests--shown-p "At 61")))))

(ert-deftest todo-write-view-going-to-a-task-unfolds-it ()
  (let ((todo-write-view-fold-completed t))
    (todo-write-test-with-view
      (todo-write-test-write "a" '("Ash" "completed") '("Beech" "completed") '("Cedar" "completed")
                             '("Date" "completed") "Elm")
      (dolist (task '("Ash" "Cedar"))
        (should (equal '(" ✓ +3 done" " ✓ Date" " ○ Elm") (todo-write-test-seen)))
        (todo-write-view-goto (todo-write-test-id "a" task))
        (should (looking-at-p (concat " ✓ " task)))
        (should (member (concat " ✓ " task) (todo-write-test-seen)))
        (todo-write-test-press "? d")))))

(provide 'todo-write-fold-tests)
;;; todo-write-fold-tests.el ends here
