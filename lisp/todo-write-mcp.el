;;; todo-write-mcp.el --- Former names that init files may have  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The names of 0.3 that are other ones in 0.4; CHANGELOG.org has them all.  Init files that
;; Custom saved require the name of this file.  The version after 0.4 deletes it.

;;; Code:

(require 'todo-write-agents)

;;;###autoload
(define-obsolete-variable-alias 'todo-write-follow-mode 'todo-write-agents-mode "0.4.0")
;;;###autoload
(define-obsolete-function-alias 'todo-write-follow-mode 'todo-write-agents-mode "0.4.0")
;;;###autoload
(define-obsolete-variable-alias 'todo-write-mcp-mode 'todo-write-agents-mode "0.4.0")
;;;###autoload
(define-obsolete-function-alias 'todo-write-mcp-mode 'todo-write-agents-mode "0.4.0")
;;;###autoload
(define-obsolete-function-alias 'todo-write-mcp-setup 'todo-write-setup "0.4.0")
;;;###autoload
(dolist (name '("next" "previous" "toggle" "visit"))
  (let ((old (intern (concat "todo-write-view-" name))))
    (define-obsolete-function-alias old (intern (concat "todo-write-buffer-" name)) "0.4.0")
    ;; They are for keys.
    (put old 'completion-predicate #'ignore)))

(provide 'todo-write-mcp)
;;; todo-write-mcp.el ends here
