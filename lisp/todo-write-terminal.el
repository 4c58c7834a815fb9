;;; todo-write-terminal.el --- The terminal in which a process runs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Finds the buffer, the tmux pane or the terminal in which a process of this machine
;; runs.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)

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
  (and (stringp name) (not (string-empty-p name)) (string-replace "pts/" "pts" name)))

(defun todo-write-terminal-name (pid)
  "Return the name of the terminal of process PID, or nil."
  (let ((name (alist-get 'ttname (cdar (todo-write-terminal--processes pid)))))
    (and (stringp name) (not (string-empty-p name)) name)))

(defun todo-write-terminal-tmux-pane (pid)
  "Return the name of the tmux pane in which the process PID runs, or nil."
  (let ((default-directory (expand-file-name "/"))
        (chain (todo-write-terminal--processes pid)))
    (seq-some (lambda (line)
                (pcase (split-string line " ")
                  (`(,pane ,name) (and (assq (string-to-number pane) chain) name))))
              ;; There is no tmux, or no server of it.
              (ignore-errors
                (process-lines "tmux" "list-panes" "-a" "-F"
                               "#{pane_pid} #{session_name}:#{window_index}.#{pane_index}")))))

(provide 'todo-write-terminal)
;;; todo-write-terminal.el ends here
