;;; todo-write-unload.el --- Take todo-write out of Emacs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; (unload-feature 'todo-write t) takes away all that this package has put into Emacs:
;; modes, buffers, processes, timers, advice, hooks and variable watchers, whoever put
;; them there.  What is ours is told by its name, so that no list of it can be incomplete.
;; Emacs cannot unload the module; it stays, and serves a package that is loaded again.

;;; Code:

(require 'cl-lib)
(require 'seq)

(declare-function file-dependents "loadhist")
(declare-function feature-file "loadhist")
(declare-function org-link-get-parameter "ol" (type key))
(declare-function todo-write-hub-end "todo-write-hub")
(defvar org-link-parameters)
(defvar embark-keymap-alist)
(defvar todo-write-agent-functions)
(defvar todo-write-module--loaded-version)

(defun todo-write-unload--ours-p (symbol)
  "Return non-nil if SYMBOL is a name of this package."
  (and (symbolp symbol)
       (string-match-p "\\`todo-write\\(-\\|\\'\\)" (symbol-name symbol))))

(defun todo-write-unload--features ()
  "Return the loaded features of this package, the last loaded first."
  (seq-filter (lambda (feature)
                (and (todo-write-unload--ours-p feature)
                     (not (memq feature '(todo-write todo-write-dyn todo-write-unload)))))
              features))

;;;###autoload
(defun todo-write-unload-function ()
  "Take away all that this package has put into Emacs.
`unload-feature' calls this for the feature `todo-write'.  Signal a
`user-error' if another package needs this one."
  (require 'loadhist)
  (todo-write-unload--check)
  (todo-write-unload--switch-off)
  (todo-write-unload--kill)
  (mapatoms #'todo-write-unload--clear)
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer
      (pcase-dolist (`(,symbol . ,_) (seq-filter #'consp (buffer-local-variables)))
        (if (todo-write-unload--ours-p symbol) (kill-local-variable symbol)
          (todo-write-unload--clear-hook symbol t)))))
  (when (boundp 'org-link-parameters)
    (setq org-link-parameters (assoc-delete-all "todo-write" org-link-parameters)))
  (when (boundp 'embark-keymap-alist)
    (setq embark-keymap-alist (assq-delete-all 'todo-write-plan embark-keymap-alist)))
  (let ((version todo-write-module--loaded-version))
    (dolist (feature (todo-write-unload--features))
      (unload-feature feature t))
    ;; The module sets it only once.
    (when version
      (setq todo-write-module--loaded-version version)))
  (unload-feature 'todo-write-unload t)
  ;; `unload-feature' goes on with `todo-write' itself.
  nil)

(defun todo-write-unload--check ()
  "Signal a `user-error' if a loaded file of another package needs this one."
  (let* ((ours (mapcar #'feature-file (cons 'todo-write (todo-write-unload--features))))
         (others (seq-difference (seq-uniq (seq-mapcat #'file-dependents ours)) ours)))
    (setq others (seq-remove (lambda (file) (equal (file-name-base file) "todo-write-unload"))
                             others))
    (when others
      (user-error "Unload these first: %s"
                  (mapconcat #'file-name-base others ", ")))))

(defun todo-write-unload--switch-off ()
  "Switch all modes of this package off."
  (dolist (mode (seq-filter #'todo-write-unload--ours-p minor-mode-list))
    (dolist (buffer (buffer-list))
      (with-current-buffer buffer
        (when (and (boundp mode) (symbol-value mode))
          (funcall mode -1)))))
  ;; Hosts of the user's own may have connected these.
  (when (and (fboundp 'todo-write-acp-clients) (fboundp 'todo-write-acp-disconnect))
    (mapc #'todo-write-acp-disconnect (todo-write-acp-clients)))
  ;; Those of the user would keep agents tracked.
  (setq todo-write-agent-functions nil))

(defun todo-write-unload--kill ()
  "Kill the buffers, processes and timers of this package."
  (when (fboundp 'todo-write-hub-end)
    (todo-write-hub-end))
  (dolist (buffer (buffer-list))
    (when (or (todo-write-unload--ours-p (buffer-local-value 'major-mode buffer))
              (string-match-p "\\` ?\\*todo-write" (buffer-name buffer)))
      (kill-buffer buffer)))
  (dolist (process (process-list))
    (when (string-prefix-p "todo-write" (process-name process))
      (delete-process process)))
  (dolist (timer (append timer-list timer-idle-list))
    (when (todo-write-unload--ours-p (timer--function timer))
      (cancel-timer timer))))

(defun todo-write-unload--clear (symbol)
  "Take away what this package has put into SYMBOL, which is not its own."
  (unless (todo-write-unload--ours-p symbol)
    (when (fboundp symbol)
      (advice-mapc (lambda (advice _)
                     (when (todo-write-unload--ours-p advice)
                       (advice-remove symbol advice)))
                   symbol))
    (todo-write-unload--clear-hook symbol nil))
  (dolist (watcher (get-variable-watchers symbol))
    (when (todo-write-unload--ours-p watcher)
      (remove-variable-watcher symbol watcher))))

(defun todo-write-unload--clear-hook (symbol local)
  "Remove our functions from SYMBOL if it is a hook; LOCAL is as in `remove-hook'."
  (when (and (string-match-p "-\\(hooks?\\|functions?\\)\\'" (symbol-name symbol))
             (if local (boundp symbol) (default-boundp symbol)))
    (let ((value (if local (symbol-value symbol) (default-value symbol))))
      (when (and (consp value) (proper-list-p value))
        (dolist (function (seq-filter #'todo-write-unload--ours-p value))
          (remove-hook symbol function local))))))

(provide 'todo-write-unload)
;;; todo-write-unload.el ends here
