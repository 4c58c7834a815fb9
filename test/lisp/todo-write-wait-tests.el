;;; todo-write-wait-tests.el --- Waiting for journals  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A search reads all journals.  `C-g' ends it.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-search)
(require 'todo-write-test-helper)

(defun todo-write-wait-tests--say-during-search (function)
  "Search all plans; call FUNCTION before what is said, with its arguments."
  (advice-add 'todo-write-core-say-wait :before function)
  (unwind-protect (todo-write-search--find "glass")
    (advice-remove 'todo-write-core-say-wait function)))

(ert-deftest todo-write-wait-a-search-says-how-much-is-done-and-C-g-ends-it ()
  (todo-write-with-store
    (todo-write-test-child
     `(progn (dolist (key '("a" "b" "c"))
               (todo-write key ',(todo-write-test-todos "Polish the glass")))
             (prin1 t)))
    (let (told)
      (should (= 3 (length (todo-write-wait-tests--say-during-search
                            (lambda (_seconds percent) (push percent told))))))
      (should (apply #'>= told)))
    (should (eq 'quit (condition-case nil
                          (todo-write-wait-tests--say-during-search
                           (lambda (&rest _) (setq quit-flag t)))
                        (quit 'quit))))))

(provide 'todo-write-wait-tests)
;;; todo-write-wait-tests.el ends here
