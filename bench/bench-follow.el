;;; bench-follow.el --- Following sessions of agents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Polling a session without new lines, opening a session of 200 MB, and polling
;; while 50 other sessions and the files of 50 dead processes exist.

;;; Code:

(require 'bench)
(require 'bench-load)
(require 'bench-ways)
(require 'todo-write-follow)

(defconst bench-follow-bytes 200000000
  "Size of the large session.")

(defun bench-follow--line (n)
  "Return line N of a session, as Claude Code writes it.
There is a call of TodoWrite or its result in every 20th pair of lines."
  (let* ((list (= 0 (% (/ n 2) 20)))
         (todos (vector (list :content (format "Part %d" n) :status "in_progress"
                              :activeForm "Working")))
         (message
          (if (cl-oddp n)
              (list :id (format "m%d" n) :role "assistant"
                    :content (vector (list :type "tool_use" :id (format "call%d" (/ n 2))
                                           :name (if list "TodoWrite" "Read")
                                           :input (if list (list :todos todos)
                                                    '(:file_path "/garden/beds.txt")))))
            (list :role "user"
                  :content (if (= n 0) "Look after the garden"
                             (vector (list :type "tool_result"
                                           :tool_use_id (format "call%d" (/ (1- n) 2))
                                           :content (make-string 2000 ?x))))))))
    (concat
     (json-serialize
      (list :parentUuid (format "u%d" (1- n)) :isSidechain :false :cwd "/garden" :sessionId "s"
            :entrypoint "cli" :version "2.1.330" :type (if (cl-oddp n) "assistant" "user")
            :message message :uuid (format "u%d" n)
            :timestamp (format-time-string "%FT%T.000Z" (+ 1760000000 n) t)))
     "\n")))

(defun bench-follow--write (file bytes)
  "Write a session of at least BYTES bytes to FILE."
  (make-directory (file-name-directory file) t)
  (let ((coding-system-for-write 'utf-8-unix) (n 0) (size 0))
    (write-region "" nil file nil 'silent)
    (while (< size bytes)
      (with-temp-buffer
        (while (< (buffer-size) (min 4000000 bytes))
          (insert (bench-follow--line n))
          (setq n (1+ n)))
        (setq size (+ size (buffer-size)))
        (write-region nil nil file t 'silent)))))

(defvar bench-follow--home nil "Folder of Claude Code's files.")

(defun bench-follow--file (name)
  "Return the transcript of the session NAME."
  (expand-file-name (format "projects/-garden/%s.jsonl" name) bench-follow--home))

(defun bench-follow--begin (bytes sessions)
  "Make the home of Claude Code with a session of BYTES and SESSIONS old ones."
  (setq todo-write-directory bench-folder
        bench-follow--home (make-temp-file "bench" t)
        todo-write-follow-agents (list (cons 'claude bench-follow--home)))
  (bench-follow--write (bench-follow--file "s") bytes)
  (make-directory (expand-file-name "sessions" bench-follow--home))
  (dotimes (n sessions)
    (let ((file (bench-follow--file (format "old%d" n))))
      (bench-follow--write file 100000)
      (set-file-times file (- (float-time) 100000))
      ;; No process has an id as large as these.
      (write-region (format "{\"sessionId\":\"old%d\",\"status\":\"idle\",\"procStart\":\"1\"}" n)
                    nil (expand-file-name (format "sessions/%d.json" (+ 99999900 n))
                                          bench-follow--home)
                    nil 'silent))))

(defun bench-follow--end ()
  "Stop following and delete all files."
  (todo-write-follow-stop)
  (mapc #'todo-write-forget (todo-write-threads))
  (delete-directory bench-follow--home t))

(defun bench-follow--way (bytes sessions call)
  "Return a way that does CALL with a session of BYTES and SESSIONS old ones."
  (make-bench-way
   :begin (lambda ()
            (bench-follow--begin bytes sessions)
            (todo-write-follow-mode)
            (todo-write-follow (bench-follow--file "s")))
   :call call
   :end #'bench-follow--end))

(let ((samples (bench-compare
                `((look . ,(bench-follow--way
                            100000 0
                            (lambda (_) (todo-write-follow--poll
                                         (car todo-write-follow--sessions))))))
                [nil] 1000 (max 3 (/ bench-rounds 3)))))
  (bench-row "a look with nothing new" (alist-get 'look samples) "20 µs" 20e-6 :budget 1 :felt t))

(let ((samples (bench-compare
                `((poll . ,(bench-follow--way
                            100000 50 (lambda (_) (todo-write-follow--poll-all))))
                  (folders . ,(bench-follow--way
                               100000 50
                               (lambda (_)
                                 (dolist (folder
                                          (append (todo-write-follow-sessions--folders)
                                                  (todo-write-follow-sessions--process-folders)))
                                   (directory-files-and-attributes folder t))))))
                [nil] 100 (max 3 (/ bench-rounds 3)))))
  (bench-row "a poll, 50 sessions lying around" (alist-get 'poll samples)
             "listing their folders" (alist-get 'folders samples) :budget 2))

(defvar bench-follow--slices nil "Seconds of the longest slice of each opening.")

(defun bench-follow--open ()
  "Open the large session, and note its longest slice."
  (setq bench-load-longest 0)
  (todo-write-follow (bench-follow--file "s"))
  (push bench-load-longest bench-follow--slices))

(defun bench-follow--slice (function &rest arguments)
  "Apply FUNCTION, which reads a slice, to ARGUMENTS."
  (bench-load-block 'slice function arguments))

(advice-add 'todo-write-follow--read :around #'bench-follow--slice)
(let ((samples (bench-compare
                `((open . ,(make-bench-way
                            :begin (lambda () (bench-follow--begin bench-follow-bytes 0))
                            :call (lambda (_) (bench-follow--open))
                            :settle (lambda ()
                                      (todo-write-follow-stop)
                                      (mapc #'todo-write-forget (todo-write-threads)))
                            :end #'bench-follow--end)))
                [nil] 2 (max 2 (/ bench-rounds 7)))))
  (bench-row "a session of 200 MB opened" (alist-get 'open samples) "0.5 s" 0.5 :budget 1 :felt t)
  (bench-row "a session of 200 MB opened, its longest slice" bench-follow--slices "50 ms" 0.05
             ;; A slice ends with the first line after that.
             :measure #'identity :budget 1.1 :felt t))
(advice-remove 'todo-write-follow--read #'bench-follow--slice)

(provide 'bench-follow)
;;; bench-follow.el ends here
