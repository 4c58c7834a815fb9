;;; todo-write-wait-tests.el --- Waiting for journals  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Threads of the hub open and read journals.  Emacs waits for them, and stays in
;; control.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-search)
(require 'todo-write-stuck-helper)
(require 'todo-write-test-helper)

(defmacro todo-write-wait-tests--with-stuck-store (&rest body)
  "Evaluate BODY with a store that has the plans \"kept\" and \"held\" on disk.
Its journals are on a file system that can be stopped."
  (declare (indent 0) (debug t))
  `(todo-write-stuck-call
    (lambda (mount)
      (let ((todo-write-directory (expand-file-name "journals/" mount)))
        (todo-write-test-child
         `(progn (dolist (key '("kept" "other"))
                   (todo-write key ',(todo-write-test-todos "Polish the glass")))
                 (prin1 t)))
        (unwind-protect (progn ,@body)
          (todo-write-stuck-continue)
          (todo-write-test-close))))))

(defmacro todo-write-wait-tests--ended-p (form)
  "Return non-nil if FORM waits until a timer ends it."
  `(eq 'ended (with-timeout (0.15 'ended) ,form)))

(ert-deftest todo-write-every-call-that-needs-a-journal-can-be-ended-if-its-folder-hangs ()
  (todo-write-wait-tests--with-stuck-store
    (todo-write "mine" (todo-write-test-todos "Dig"))
    (todo-write-stuck-stop)
    (should (equal '("Dig") (todo-write-test-contents "mine")))
    (should (equal '("mine") (todo-write-threads-loaded)))
    (cl-macrolet ((check (&rest forms)
                    `(progn ,@(mapcar (lambda (form)
                                        `(progn (should (todo-write-wait-tests--ended-p ,form))
                                                (should-not (todo-write-wait-tests--ended-p
                                                             (todo-write-items "mine")))))
                                      forms))))
      (check (todo-write-items "kept")
             (todo-write-item "kept" "t1")
             (todo-write-summary "kept")
             (todo-write-state "kept")
             (todo-write-about "kept")
             (todo-write-parent "kept")
             (todo-write-times "kept")
             (todo-write-revisions "kept")
             (todo-write-changes-between "kept" 0 1)
             (todo-write-item-changes "kept" "t1")
             (todo-write-items-dropped "kept")
             (todo-write-items-removed "kept")
             (todo-write-observations "kept")
             (todo-write-work "kept")
             (todo-write-patch "kept")
             (todo-write-matches "kept" "glass" 10)
             (todo-write-search "glass")
             (todo-write-threads)
             (todo-write-threads-kept)
             (todo-write-prune)
             (todo-write-restore "kept")
             (todo-write-begin "kept")
             (todo-write "kept" (todo-write-test-todos "Polish the lens"))
             (todo-write-edit "kept" 'add "Rest")
             (todo-write-undo "kept")
             (todo-write-resume "kept")
             (todo-write-set-activity "kept" 'working)
             (todo-write-observe "kept" "MESSAGE" "Hello")
             (todo-write-stream "kept" :type 'token :data "Hello")
             (todo-write-forget "kept")
             (todo-write-forget "mine")))
    (todo-write-stuck-continue)
    ;; Nothing that was ended has changed anything.
    (should (equal '("Polish the glass") (todo-write-test-contents "kept")))
    (should (= 1 (length (todo-write-revisions "kept"))))
    (should (equal '("Dig") (todo-write-test-contents "mine")))
    (should-not (cdr (file-expand-wildcards (expand-file-name "kept*.jsonl" todo-write-directory))))
    (todo-write-test-write "kept" "Polish the lens")
    (should (equal '("Polish the lens") (todo-write-test-contents "kept")))))

(ert-deftest todo-write-a-folder-of-journals-that-hangs-is-an-error-after-ten-seconds ()
  (todo-write-wait-tests--with-stuck-store
    (todo-write-stuck-stop)
    (let ((start (float-time)))
      (should (string-search "has not answered for 10 s"
                             (cadr (should-error (todo-write-items "kept")
                                                 :type 'todo-write-journal-error))))
      (should (<= 10 (- (float-time) start))))
    ;; It is known from then on.
    (should-not (todo-write-wait-tests--ended-p
                 (should-error (todo-write-items "other") :type 'todo-write-journal-error)))
    (todo-write-stuck-continue)
    (should (equal '("Polish the glass")
                   (todo-write-test-wait
                    (lambda () (ignore-error todo-write-journal-error
                                 (todo-write-test-contents "kept"))))))))

(provide 'todo-write-wait-tests)
;;; todo-write-wait-tests.el ends here
