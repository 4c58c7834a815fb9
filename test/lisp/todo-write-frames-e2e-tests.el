;;; todo-write-frames-e2e-tests.el --- A user at work in several frames  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The user types, scrolls and opens rows in an Emacs with frames on two
;; terminals while an agent writes.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-user-helper)

(defun todo-write-frames--call (function)
  "Call FUNCTION while the user's Emacs runs, with a plan of 100 tasks.
Its argument is the name of a second terminal."
  (let ((second (todo-write-user-terminal 24 80 "sleep" "1000000")))
    (unwind-protect
        (todo-write-user-call
         24 80
         (lambda ()
           (todo-write-user-eval
            '(require 'todo-write-view)
            '(defun test-write (current)
               (todo-write "a" (list :todos
                                     (vconcat (cl-loop for n from 1 to 100 collect
                                                       (list :content (format "Task %d" n)
                                                             :activeForm (format "Doing %d" n)
                                                             :status (cond ((< n current) "completed")
                                                                           ((= n current) "in_progress")
                                                                           (t "pending"))))))))
            '(test-write 1)
            t)
           (funcall function (process-tty-name second))))
      (delete-process second))))

(defmacro todo-write-frames--with-user (tty &rest body)
  "Run BODY while the user's Emacs runs; bind TTY to a second terminal's name."
  (declare (indent 1) (debug t))
  `(todo-write-frames--call (lambda (,tty) ,@body)))

;;; Frames

(defun todo-write-frames--show-in-both (tty)
  "Show the plan in two frames, the second one on TTY, at different places.
The row of t30 is open."
  (todo-write-user-eval
   `(progn
      (setq todo-write-view-fold-completed nil
            test-windows
            (mapcar (lambda (frame)
                      (with-selected-frame frame
                        (switch-to-buffer (todo-write-show "a"))
                        (delete-other-windows)
                        (selected-window)))
                    (list (selected-frame) (make-frame '((window-system) (tty . ,tty)
                                                      (tty-type . "xterm-256color"))))))
      (with-current-buffer todo-write-view-buffer-name
        (todo-write-view--toggle (todo-write-view-draw-row "t30"))
        (cl-loop for window in test-windows
                 for (start point) in '(("t20" "t25") ("t60" "t70"))
                 do (set-window-point window (todo-write-view-draw-row point))
                 (set-window-start window (todo-write-view-draw-row start) t)))
      (redisplay t)
      t)))

(defun todo-write-frames--places ()
  "Return the tasks at the top and at point of both windows."
  (todo-write-user-eval
   '(todo-write-redraw)
   '(redisplay t)
   '(mapcar (lambda (window)
              (mapcar (lambda (position)
                        (get-text-property position 'todo-write-id (window-buffer window)))
                      (list (window-start window) (window-point window))))
            test-windows)))

(ert-deftest todo-write-view-keeps-point-scroll-and-open-rows-in-two-frames ()
  (todo-write-frames--with-user tty
    (todo-write-frames--show-in-both tty)
    (should (= 2 (todo-write-user-eval
                  '(length (delete-dups (mapcar #'window-frame test-windows))))))
    (let ((places '(("t20" "t25") ("t60" "t70"))))
      (should (equal (todo-write-frames--places) places))
      ;; Complete other tasks, drop one above both windows, add one at the top,
      ;; and let time pass.
      (todo-write-user-eval '(test-write 40) '(todo-write-edit "a" 'delete "t3")
                               '(todo-write-edit "a" 'add "First" 0)
                               '(todo-write-redraw) t)
      (should (equal (todo-write-frames--places) places))
      (should (todo-write-user-eval
               `(with-current-buffer todo-write-view-buffer-name
                  (string-match-p "Task 30\n     added " (buffer-string))))))))

(ert-deftest todo-write-view-selects-no-other-frame ()
  (todo-write-frames--with-user tty
    (todo-write-frames--show-in-both tty)
    (should (todo-write-user-eval
             '(let ((frame (window-frame (car test-windows))))
                (select-frame frame)
                (test-write 50)
                (todo-write-pause "a")
                (todo-write-show "a")
                (and (eq frame (selected-frame))
                     (eq (car test-windows) (selected-window))))))))

(defun todo-write-frames--lines-that-do-not-fit ()
  "Return the lines of the plan that need a second line in any window."
  (todo-write-user-eval
   '(todo-write-redraw)
   '(redisplay t)
   '(with-current-buffer todo-write-view-buffer-name
      (save-excursion
        (let ((truncate-lines nil) (truncate-partial-width-windows nil))
          (cl-loop for window in (get-buffer-window-list nil nil t)
                   append
                   (with-selected-window window
                     (goto-char (point-min))
                     (cl-loop until (eobp)
                              unless (= 1 (count-screen-lines (point) (line-beginning-position 2)
                                                              nil window))
                              collect (buffer-substring-no-properties
                                       (point) (line-end-position))
                              do (forward-line)))))))))

(ert-deftest todo-write-view-rows-fit-beside-line-numbers-and-in-windows-of-any-width ()
  (todo-write-frames--with-user tty
    (todo-write-frames--show-in-both tty)
    (todo-write-user-eval
     `(todo-write-observe "a" "MESSAGE" ,(make-string 200 ?m))
     `(todo-write-edit "a" 'rename "t2" ,(concat (make-string 120 ?t) "漢字 wide"))
     `(progn (todo-write-observe "a" "TOOL_CALL" '(:id "c" :name "Bash" :input (:command ,(make-string 150 ?c)))
                                 :call-id "c")
             (todo-write-observe "a" "TOOL_EXECUTION" '(:id "c" :name "Bash" :content "error: no")
                                 :call-id "c" :outcome 'failed :durationMs 36000))
     '(with-current-buffer todo-write-view-buffer-name
        (todo-write-view--toggle (todo-write-view-draw-row "t1"))
        (todo-write-view-refresh))
     t)
    (should-not (todo-write-frames--lines-that-do-not-fit))
    (todo-write-user-eval '(global-display-line-numbers-mode) t)
    (should-not (todo-write-frames--lines-that-do-not-fit))
    (todo-write-user-eval '(with-selected-window (car test-windows)
                             (split-window-right 50)
                             t))
    (should-not (todo-write-frames--lines-that-do-not-fit))
    (let ((beside (todo-write-user-eval
                   '(with-current-buffer todo-write-view-buffer-name todo-write-buffer-width))))
      (should (< beside 50))
      (todo-write-user-eval '(global-display-line-numbers-mode -1) t)
      (should-not (todo-write-frames--lines-that-do-not-fit))
      (should (< beside (todo-write-user-eval '(with-current-buffer todo-write-view-buffer-name
                                                 todo-write-buffer-width)))))))

;;; Reading

(defun todo-write-frames--show-story (tty)
  "Show a plan of 12 tasks in three windows, two of them in a frame on TTY.
The third task is in progress and open; its story is longer than a window."
  (todo-write-user-eval
   '(require 'mwheel)
   `(progn
      (defun test-begin-step (current)
        (todo-write "b" (list :todos
                              (vconcat (cl-loop for n from 1 to 12 collect
                                                (list :content (format "Step %d" n)
                                                      :activeForm (format "Doing step %d" n)
                                                      :status (cond ((< n current) "completed")
                                                                    ((= n current) "in_progress")
                                                                    (t "pending"))))))))
      (defun test-place (window position)
        "Return what the line at POSITION is about, and the column there."
        (with-current-buffer (window-buffer window)
          (save-excursion
            (goto-char position)
            (let ((column (current-column)) (case-fold-search t))
              (forward-line 0)
              (list (and (re-search-forward "step [0-9]+\\|said [0-9]+" (line-end-position) t)
                         (downcase (match-string-no-properties 0)))
                    column)))))
      (test-begin-step 3)
      (dotimes (n 60)
        (todo-write-observe "b" "MESSAGE" (format "Said %d." n)))
      (setq todo-write-view-fold-completed nil
            test-frame (selected-frame)
            test-windows (list (progn (switch-to-buffer (todo-write-show "b"))
                                      (delete-other-windows)
                                      (selected-window))))
      (with-selected-frame (make-frame '((window-system) (tty . ,tty)
                                         (tty-type . "xterm-256color")))
        (switch-to-buffer todo-write-view-buffer-name)
        (delete-other-windows)
        (setq test-windows (append test-windows
                                   (list (split-window-below) (selected-window)))))
      (select-frame test-frame)
      (with-current-buffer todo-write-view-buffer-name
        (push-button (todo-write-view-draw-row (todo-write-view-rows-current-id))))
      t)))

(defun todo-write-frames--reading-places ()
  "Return what is at the start and at point of each window."
  (todo-write-user-eval
   '(todo-write-redraw)
   '(redisplay t)
   '(mapcar (lambda (window)
              (list (test-place window (window-start window))
                    (test-place window (window-point window))))
            test-windows)))

(defun todo-write-frames--follow (n)
  "Let the agent begin the third task, and all windows follow it.
N is the number of the one that is selected then."
  (todo-write-user-eval
   '(test-begin-step 3)
   '(todo-write-redraw)
   `(progn (dolist (window test-windows)
             (with-selected-window window (todo-write-view-to-current)))
           (select-window (nth ,n test-windows))
           (redisplay t)
           t)))

(defun todo-write-frames--go-on (marker)
  "Let the agent say MARKER and begin the last task; wait until both are drawn."
  (todo-write-user-eval `(todo-write-observe "b" "MESSAGE" ,marker) '(test-begin-step 12) t)
  (todo-write-test-wait
   (lambda ()
     (todo-write-user-eval
      '(redisplay t)
      `(with-current-buffer todo-write-view-buffer-name
         (and (string-search ,(format "“%s”" marker) (buffer-string))
              (string-search "Doing step 12" (buffer-string))))))))

(ert-deftest todo-write-view-stays-where-the-user-moved-or-scrolled-in-any-window ()
  (todo-write-frames--with-user tty
    (todo-write-frames--show-story tty)
    (cl-loop
     for (window . act) in
     `((0 . ,(lambda () (todo-write-user-type (make-string 30 ?\C-n))))
       (0 . ,(lambda () (todo-write-user-type "\C-v")))
       (0 . ,(lambda () (todo-write-user-type " ")))
       ;; To the next row and back.
       (0 . ,(lambda () (todo-write-user-type "n") (todo-write-user-type "p")))
       ,@(mapcar (lambda (n)
                   (cons n (lambda ()
                             ;; Point stays on the title of the task.
                             (dotimes (_ 2)
                               (todo-write-user-eval
                                `(mwheel-scroll (list mouse-wheel-up-event
                                                      (list (nth ,n test-windows) 1 '(0 . 0) 0)))
                                '(redisplay t) t)))))
                 '(0 1 2)))
     for round from 1
     do (todo-write-frames--follow window)
     (funcall act)
     (let ((before (nth window (todo-write-frames--reading-places))))
       (todo-write-frames--go-on (format "Behind %d." round))
       (cl-loop for places in (todo-write-frames--reading-places)
                for n from 0
                do (if (= n window)
                       (should (equal (list round before) (list round places)))
                     ;; The others show that there was something to follow.
                     (should (equal (cadr places) '("step 12" 0)))))))))

(ert-deftest todo-write-view-follows-on-in-a-window-that-became-lower ()
  (todo-write-frames--with-user tty
    (todo-write-frames--show-story tty)
    (todo-write-frames--follow 0)
    (todo-write-user-eval '(with-selected-window (car test-windows)
                             (set-window-buffer (split-window-below -18) "*scratch*"))
                          '(redisplay t) t)
    (todo-write-frames--go-on "Behind.")
    (should (equal '("step 12" 0) (cadr (car (todo-write-frames--reading-places)))))))

;;; Typing

(ert-deftest todo-write-view-disturbs-no-input-in-the-minibuffer ()
  (todo-write-frames--with-user _tty
    (todo-write-user-eval '(switch-to-buffer "notes") '(todo-write-show "a") t)
    (todo-write-user-type "\e:")
    (todo-write-user-type "(setq test-")
    (todo-write-user-eval '(test-write 20) '(todo-write-pause "a" "a moment")
                             '(todo-write-resume "a") '(todo-write-redraw) t)
    (should (equal '("(setq test-" nil)
                   (todo-write-user-eval
                    '(with-selected-window (active-minibuffer-window)
                       (list (minibuffer-contents-no-properties) (current-message))))))
    (todo-write-user-type "typed 42)\r")
    (should (equal 42 (todo-write-user-eval 'test-typed)))))

(provide 'todo-write-frames-e2e-tests)
;;; todo-write-frames-e2e-tests.el ends here
