;;; bench-attention.el --- One of many agents changes  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; One agent writes its list, waits for the user or fails, while the overview of
;; 200 agents, half of them working, and the mode line are visible.

;;; Code:

(require 'bench)
(require 'bench-ways)
(require 'todo-write-list)

(defun bench-attention--key (n)
  "Return the key of agent N."
  (format "claude:%d" n))

(defun bench-attention--begin ()
  "Show 200 agents, each with a list of 12 tasks."
  (setq todo-write-directory bench-folder)
  (dotimes (n 200)
    (let ((key (bench-attention--key n)))
      (todo-write-begin key :project (format "/srv/project-%d/" (% n 20)))
      (todo-write-observe key "TITLE" (format "Work on part %d" n))
      (todo-write key (aref (bench-inputs 12) 0))
      (todo-write-set-activity key (and (cl-evenp n) 'working))))
  (todo-write-mode-line-mode 1)
  (todo-write-list)
  (switch-to-buffer-other-window "*scratch*"))

(defun bench-attention--end ()
  "Forget the agents."
  (kill-buffer "*todo-write-list*")
  (todo-write-mode-line-mode -1)
  (dotimes (n 200)
    (todo-write-forget (bench-attention--key n))))

(defun bench-attention--way (call)
  "Return the way that calls CALL with an agent's key and an input."
  (let ((n 0))
    (make-bench-way
     :begin #'bench-attention--begin
     :call (lambda (input)
             (funcall call (bench-attention--key (setq n (% (+ n 77) 200))) input))
     :settle #'redisplay
     :end #'bench-attention--end)))

(let ((samples (bench-compare
                `((write . ,(bench-attention--way #'todo-write)))
                (bench-inputs 12) 40 (max 3 (/ bench-rounds 3)))))
  (bench-row "a write, 200 agents listed" (alist-get 'write samples)
             "2 ms" 0.002 :budget 1 :felt t))

(let ((samples (bench-compare
                `((activity . ,(bench-attention--way #'todo-write-set-activity)))
                [waiting failed] 40 (max 3 (/ bench-rounds 3)))))
  (bench-row "a transition, 200 agents listed" (alist-get 'activity samples)
             "2 ms" 0.002 :budget 1 :felt t))

(provide 'bench-attention)
;;; bench-attention.el ends here
