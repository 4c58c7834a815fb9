;;; todo-write-many-e2e-tests.el --- Many threads, and several Emacsen  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A thousand threads in one Emacs, and Emacs processes that share a folder, write at
;; the same time and close journals.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-test-helper)

;;; A thousand threads

(defconst todo-write-many-tests--child
  '(let* ((memory (lambda () (alist-get 'rss (process-attributes (emacs-pid)))))
          (open-files (lambda () (length (directory-files "/proc/self/fd" nil "[0-9]"))))
          (before (funcall memory)) (files (funcall open-files)) (most 0)
          (start (float-time)))
     (dotimes (n writes)
       (dotimes (k threads)
         (unless (plist-get (todo-write (format "thread %d" k) (make-list-of k n)) :ok)
           (error "Refused"))
         (when (zerop (% k 50))
           (setq most (max most (- (funcall open-files) files))))))
     (let ((seconds (- (float-time) start)))
       (garbage-collect)
       (prin1 (list :seconds seconds :memory (- (funcall memory) before) :files most
                    :wrong (wrong-lists)))))
  "The form of an Emacs that repeatedly writes to all threads in turn.")

(defconst todo-write-many-tests--functions
  '((defun make-list-of (k n)
      "Return list N of thread K: five tasks, of which one goes on with each list."
      (list :todos
            (vconcat
             (mapcar (lambda (task)
                       (list :content (format "Task %d of thread %d" task k)
                             :activeForm (format "Doing task %d" task)
                             :status (cond ((< task n) "completed") ((= task n) "in_progress")
                                           (t "pending"))))
                     (number-sequence (* 5 (/ n 5)) (+ 4 (* 5 (/ n 5))))))))
    (defun wrong-lists ()
      "Return the threads that lack their last list, or a revision."
      (cl-loop for k below threads
               for key = (format "thread %d" k)
               for wanted = (plist-get (make-list-of k (1- writes)) :todos)
               for items = (todo-write-items key)
               unless (and (= writes (plist-get (todo-write-summary key) :revision))
                           (= (length items) (length wanted))
                           (cl-every (lambda (item todo)
                                       (and (equal (plist-get item :content) (plist-get todo :content))
                                            (equal (plist-get item :status) (plist-get todo :status))))
                                     items wanted))
               collect key)))
  "Functions for both Emacs processes.")

(ert-deftest todo-write-a-thousand-threads-with-a-hundred-writes-each-live-in-one-emacs ()
  :tags '(:thorough)
  (skip-unless (file-directory-p "/proc/self/fd"))
  (todo-write-with-store
    (let* ((threads 1000) (writes 100)
           (set-up `((require 'cl-lib)
                     (defvar threads ,threads) (defvar writes ,writes)
                     ,@todo-write-many-tests--functions))
           (told (apply #'todo-write-test-child
                        (append set-up (list todo-write-many-tests--child))))
           (restored (apply #'todo-write-test-child
                            (append set-up '((prin1 (list :wrong (wrong-lists))))))))
      (message "%d threads with %d writes each in one Emacs: %.1f s, %.1f MiB, at most %d files open"
               threads writes (plist-get told :seconds) (/ (plist-get told :memory) 1024.0)
               (plist-get told :files))
      (should-not (plist-get told :wrong))
      (should-not (plist-get restored :wrong))
      (should (<= (plist-get told :files) 100)))))

;;; Several Emacsen

(defun todo-write-many-tests--writer (name go)
  "Return the form of an Emacs called NAME that writes when the file GO exists.
It writes a thread of its own and one that others write too."
  `(progn
     (while (not (file-exists-p ,go)) (accept-process-output nil 0.002))
     (dotimes (n 150)
       (dolist (key '("shared" ,name))
         (let ((contents (list (format "%s writes %s %d." ,name key n) "Second")))
           (todo-write key (list :todos (vconcat (mapcar (lambda (content)
                                                           (list :content content :status "pending"
                                                                 :activeForm content))
                                                         contents))))
           (unless (equal contents (mapcar (lambda (item) (plist-get item :content))
                                           (todo-write-items key)))
             (error "Lost %S" contents)))))))

(defun todo-write-many-tests--journals ()
  "Return the text of all journals."
  (with-temp-buffer
    (dolist (file (todo-write-test-segments))
      (insert-file-contents file))
    (buffer-string)))

(ert-deftest todo-write-emacsen-that-write-at-once-lose-no-acknowledged-list ()
  :tags '(:thorough)
  (todo-write-with-store
    (let* ((names '("one" "two" "three"))
           (go (expand-file-name "go" (make-temp-file "todo-write-go" t)))
           (writers (mapcar (lambda (name)
                              (todo-write-test-start (todo-write-many-tests--writer name go)))
                            names)))
      (unwind-protect
          (progn
            (write-region "" nil go nil 'silent)
            (dolist (writer writers)
              (let ((output (todo-write-test-end writer)))
                (ert-info (output)
                  (should (zerop (process-exit-status writer)))))))
        (mapc #'delete-process writers)
        (todo-write-test-delete (file-name-directory go)))
      (let ((journals (todo-write-many-tests--journals)))
        (dolist (name names)
          (should (equal (list (format "%s writes %s 149." name name) "Second")
                         (todo-write-test-contents name)))
          (should (= 150 (length (todo-write-revisions name))))
          (dotimes (n 150)
            (should (string-search (format "\"%s writes shared %d.\"" name n) journals))))
        (should-not (todo-write-test-warnings (todo-write-items "shared")))
        (should (string-match-p "149\\.\\'" (car (todo-write-test-contents "shared"))))))))

(provide 'todo-write-many-e2e-tests)
;;; todo-write-many-e2e-tests.el ends here
