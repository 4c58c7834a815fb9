;;; todo-write-terminal.el --- The terminal in which a process runs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Finds the buffer, the tmux pane or the terminal in which a process of this machine
;; runs, and begins one in a terminal of this Emacs.

;;; Code:

(require 'todo-write-json)

(defun todo-write-terminal--processes (pid)
  "Return the process PID and its ancestors as a list of (PID . ATTRIBUTES)."
  ;; In a remote folder `process-attributes' would ask the remote host.
  (let ((default-directory (expand-file-name "/")))
    (cl-loop repeat 64
             for attributes = (and pid (> pid 1) (process-attributes pid))
             while attributes
             collect (cons pid attributes)
             do (setq pid (alist-get 'ppid attributes)))))

(defun todo-write-terminal-buffer (pid)
  "Return the terminal buffer of this Emacs in which process PID runs, or nil.
It is that of an ancestor, or of a process with the same terminal."
  (let* ((chain (todo-write-terminal--processes pid))
         (tty (todo-write-terminal--normalize (alist-get 'ttname (cdar chain)))))
    (seq-some (lambda (process)
                (and (or (assq (process-id process) chain)
                         (and tty (equal tty (todo-write-terminal--normalize
                                              (process-tty-name process)))))
                     (process-buffer process)))
              (process-list))))

(defun todo-write-terminal--normalize (name)
  "Normalize the terminal NAME: /dev/pts0 and /dev/pts/0 are the same."
  (and (todo-write-json-filled name) (string-replace "pts/" "pts" name)))

(defun todo-write-terminal-name (pid)
  "Return the name of the terminal of process PID, or nil."
  (todo-write-json-filled (alist-get 'ttname (cdar (todo-write-terminal--processes pid)))))

;;; Panes of tmux

(defun todo-write-terminal--tmux (&rest arguments)
  "Return the lines that tmux prints with ARGUMENTS.
If there is no tmux, or no server of it, return nil."
  (let ((default-directory (expand-file-name "/")))
    (ignore-errors (apply #'process-lines "tmux" arguments))))

(defun todo-write-terminal-tmux-pane (pid)
  "Return the name of the tmux pane in which the process PID runs, or nil."
  (when-let* ((chain (todo-write-terminal--processes pid)))
    (seq-some (lambda (line)
                (when (string-match "\\`\\([0-9]+\\) \\(.+\\)\\'" line)
                  (let ((name (match-string 2 line)))
                    (and (assq (string-to-number (match-string 1 line)) chain) name))))
              (todo-write-terminal--tmux
               "list-panes" "-a" "-F"
               "#{pane_pid} #{session_name}:#{window_index}.#{pane_index}"))))

(defun todo-write-terminal-select-pane (pid)
  "Show the tmux pane of the process PID in the terminal of tmux used last.
Return its name, or nil if there is no such pane, or no terminal shows
any session of tmux."
  (when-let* ((pane (todo-write-terminal-tmux-pane pid))
              ;; That which was used last.  The times have equally many digits.
              (client (car (last (sort (todo-write-terminal--tmux
                                        "list-clients" "-F" "#{client_activity} #{client_name}")
                                       #'string<))))
              (client (substring client (1+ (string-search " " client))))
              ;; A session that is named by a part of another one's name is not meant.
              (target (concat "=" pane)))
    (todo-write-terminal--tmux "select-window" "-t" target)
    (todo-write-terminal--tmux "select-pane" "-t" target)
    (todo-write-terminal--tmux "switch-client" "-c" client "-t" target)
    pane))

;;; Terminals of this Emacs

(defcustom todo-write-terminal-function #'todo-write-terminal-run
  "Function that runs a program in a terminal of this Emacs.
It is called in the folder of the program with a name for the buffer, the
program and its arguments, a list of strings, and displays the buffer."
  :type 'function
  :group 'todo-write
  :package-version '(todo-write . "0.3.0"))

(declare-function term-char-mode "term" ())
(declare-function term-exec "term" (buffer name command startfile switches))
(declare-function term-mode "term" ())

(defun todo-write-terminal-run (name program arguments)
  "Run PROGRAM with ARGUMENTS in a buffer of term with NAME, and display it."
  (require 'term)
  ;; The program is told the size of the window in which it begins.
  (pop-to-buffer (generate-new-buffer (format "*%s*" name)))
  (term-mode)
  (term-exec (current-buffer) name program nil arguments)
  (term-char-mode))

(provide 'todo-write-terminal)
;;; todo-write-terminal.el ends here
