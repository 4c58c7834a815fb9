;;; count.el --- Count commands, options, keys, and Lisp that is loaded  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `bin/count' calls these functions in a batch Emacs, each in its own.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)

;; The compiled files may be older than the sources.
(setq load-prefer-newer t)

(defvar todo-write-mode-line-string)
(declare-function todo-write "todo-write")

(defun count--print (name figure)
  "Print FIGURE by NAME."
  (princ (format "%s %d\n" name figure)))

(defun count--anonymous (map)
  "Return the interactive functions without a name in the keymap MAP, with submaps."
  (let (found)
    (map-keymap-internal
     (lambda (_ binding)
       (pcase binding
         (`(menu-item ,_ ,command . ,_) (setq binding command))
         (`(,(pred stringp) . ,command) (setq binding command)))
       (cond ((and (keymapp binding) (not (symbolp binding)))
              (setq found (append (count--anonymous binding) found)))
             ((and (not (symbolp binding)) (commandp binding t)) (push binding found))))
     map)
    found))

(defun count-interface ()
  "Print the numbers of commands, options, and keys of a plan."
  (dolist (folder '("lisp" "efrit-do"))
    (dolist (file (directory-files folder t "\\.el\\'"))
      (unless (string-suffix-p "-autoloads.el" file)
        (require (intern (file-name-base file))))))
  (let ((commands nil) (options 0) (plain 0))
    (mapatoms
     (lambda (symbol)
       (when (string-match-p "\\`\\(?:todo-write\\|efrit-do\\)" (symbol-name symbol))
         (let ((map (and (boundp symbol) (keymapp (symbol-value symbol)) (symbol-value symbol))))
           (cond (map (setq commands (append (count--anonymous map) commands)))
                 ((and (commandp symbol) (not (get symbol 'byte-obsolete-info)))
                  (push symbol commands))))
         (when (and (custom-variable-p symbol) (get symbol 'custom-package-version))
           (cl-incf options)))))
    (count--print "commands" (length (seq-uniq commands)))
    (count--print "commands-in-M-x"
                  (seq-count (lambda (command)
                               (and (symbolp command)
                                    (command-completion-default-include-p
                                     command (current-buffer))))
                             commands))
    (count--print "options" options)
    (map-keymap-internal
     (lambda (event binding)
       (unless (or (null binding) (keymapp binding)
                   (memq event '(?g ?q ?? ?\s ?\d))
                   (memq 'click (and (symbolp event) (event-modifiers event))))
         (cl-incf plain)))
     (symbol-value 'todo-write-view-mode-map))
    (count--print "plan-keys" plain)))

(defun count-loaded ()
  "Print the number of lines of our files when the mode line has shown a plan."
  (setq-default todo-write-directory nil)
  (require 'todo-write-mode-line)
  (todo-write-mode-line-mode)
  (todo-write "plan" "{\"todos\": [{\"content\": \"Count\", \"status\": \"in_progress\",
                                    \"activeForm\": \"Counting\"}]}")
  (todo-write-redraw)
  (unless (string-search "Counting" (format "%s" todo-write-mode-line-string))
    (error "The mode line does not show the plan"))
  (count--print "loaded-lines"
                (cl-loop for (file) in load-history
                         when (and file (string-suffix-p ".el" (string-remove-suffix "c" file))
                                   (file-in-directory-p file "lisp"))
                         sum (with-temp-buffer
                               (insert-file-contents (string-remove-suffix "c" file))
                               (count-lines (point-min) (point-max))))))

;;; count.el ends here
