;;; efrit-do-builtin.el --- The tools that come with efrit-do -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The arguments of a call come from a model.  Only `eval_sexp' and `shell_exec'
;; execute them, and both ask first.  The other tools treat them as data.

;;; Code:

(require 'efrit-do-tools)
(require 'todo-write-text)

(defconst efrit-do-read-limit (* 2 1024 1024)
  "Maximum size of a file that `read_file' reads, in bytes.")

;;; eval_sexp

(defun efrit-do-builtin--eval-sexp (expr)
  "Evaluate the single expression in EXPR where the command was given.
Return its value and its output as text."
  (pcase-let ((`(,form . ,end)
               (condition-case problem
                   (read-from-string expr)
                 (end-of-file (signal 'todo-write-input-error
                                      '("The expression is not complete")))
                 (error
                  (signal 'todo-write-input-error
                          (list (format "The expression does not read: %s"
                                        (error-message-string problem)))))))
              (directory default-directory))
    (unless (string-match-p "\\`\\(?:[ \t\n\r\f]\\|;.*$\\)*\\'" (substring expr end))
      (signal 'todo-write-input-error
              '("More text follows the expression; wrap several in progn")))
    (with-temp-buffer
      (let* ((standard-output (current-buffer))
             (print-circle t)
             (origin (efrit-do-context-origin efrit-do-context))
             (value (with-current-buffer (if (buffer-live-p origin) origin (current-buffer))
                      (let ((default-directory directory))
                        (eval form t))))
             (printed (buffer-string)))
        (concat (prin1-to-string value)
                (unless (string-empty-p printed)
                  (concat "\nPrinted:\n" printed)))))))

;;; shell_exec

(defun efrit-do-builtin--keep-ends (process text)
  "Insert TEXT, output of PROCESS, and delete the middle of long output.
So a command that prints forever does not exhaust the memory."
  (when (buffer-live-p (process-buffer process))
    (with-current-buffer (process-buffer process)
      (goto-char (point-max))
      (insert text)
      (let ((half (max 1 (/ efrit-do-output-limit 2))))
        (when (> (buffer-size) (* 8 half))
          (let ((from (+ (point-min) half))
                (to (- (point-max) half)))
            (process-put process 'cut (+ (or (process-get process 'cut) 0) (- to from)))
            (delete-region from to)))))))

(defun efrit-do-builtin--shell-exec (command)
  "Run the shell COMMAND in the session's directory and return its output."
  (with-temp-buffer
    (let* ((process-environment (append '("TERM=dumb" "PAGER=cat" "GIT_PAGER=cat")
                                        process-environment))
           (process (make-process
                     :name "efrit-do-shell" :buffer (current-buffer)
                     :command (list shell-file-name shell-command-switch command)
                     :connection-type 'pipe :noquery t :file-handler t
                     :filter #'efrit-do-builtin--keep-ends :sentinel #'ignore))
           (end (+ (float-time) efrit-do-time-limit)))
      (unwind-protect
          (let ((inhibit-quit nil))
            ;; The process may have exited already.
            (ignore-errors (process-send-eof process))
            (while (and (or (process-live-p process)
                            (accept-process-output process 0))
                        (< (float-time) end))
              (accept-process-output process 0.1))
            (let* ((output (efrit-do-clip (buffer-string) (process-get process 'cut)))
                   (code (process-exit-status process))
                   (note (cond ((process-live-p process)
                                (format "[stopped after %s seconds]" efrit-do-time-limit))
                               ((eq (process-status process) 'signal)
                                (format "[killed by signal %d]" code))
                               ((/= code 0) (format "[exit code %d]" code)))))
              (list :content (cond ((not note) (if (string-empty-p output) "(no output)" output))
                                   ((string-match-p "[^\n]\\'" output) (concat output "\n" note))
                                   (t (concat output note)))
                    :is-error (and note t))))
        (when (process-live-p process)
          (delete-process process))))))

;;; buffer_create, read_file

(defun efrit-do-builtin--buffer-create (name content)
  "Make a buffer called NAME with CONTENT and offer it to the user.
If there is one of that name, the new one gets another name."
  (let ((directory default-directory))
    (with-current-buffer (generate-new-buffer (todo-write-text-plain name))
      (setq default-directory directory)
      (insert (substring-no-properties content))
      (goto-char (point-min))
      ;; RET on the call in the plan shows it: the user's windows are the user's.
      (list :content (format "Made buffer %s (%d characters)" (buffer-name) (buffer-size))
            :is-error nil :buffer (buffer-name)))))

(defun efrit-do-builtin--check-readable (file)
  "Signal `todo-write-error' with the reason if FILE cannot be read as text."
  (let ((problem
         (cond ((file-directory-p file) "is a directory")
               ((not (file-exists-p file)) "does not exist")
               ((not (file-regular-p file)) "is not a regular file")
               ((not (file-readable-p file)) "may not be read")
               ((> (file-attribute-size (file-attributes file)) efrit-do-read-limit)
                (format "has %d bytes, and %d is the limit; read a part of \
it another way"
                        (file-attribute-size (file-attributes file))
                        efrit-do-read-limit)))))
    (when problem
      (signal 'todo-write-error (list (format "%s %s" file problem))))))

(defun efrit-do-builtin--read-file (path &optional first last)
  "Return the text of the file PATH, or its lines FIRST to LAST.
PATH comes from a model.  Unless the session's directory is remote, it is
treated as a local file: no file name handler fetches it from another host,
decrypts or decompresses it."
  (let* ((host (file-remote-p default-directory))
         (file-name-handler-alist (and host file-name-handler-alist))
         (file (expand-file-name path)))
    (unless (member (file-remote-p file) (list nil host))
      (signal 'todo-write-error (list (format "%s is on another host" file))))
    (efrit-do-builtin--check-readable file)
    (with-temp-buffer
      ;; The module reads a local one: a pipe may have taken its place.
      (if (file-remote-p file)
          (let ((format-alist nil)
                (after-insert-file-functions nil))
            (insert-file-contents file))
        (insert (or (todo-write-core-file-bytes file efrit-do-read-limit)
                    (signal 'todo-write-error (list (format "%s cannot be read" file)))))
        (decode-coding-region (point-min) (point-max) 'undecided))
      (goto-char (point-min))
      (when (search-forward "\0" (min (point-max) 8192) t)
        (signal 'todo-write-error (list (format "%s is a binary file" file))))
      (goto-char (point-min))
      (forward-line (1- (max 1 (or first 1))))
      (let ((start (point)))
        (if last
            (forward-line (max 0 (- (1+ last) (max 1 (or first 1)))))
          (goto-char (point-max)))
        (if (= start (point)) "(no text there)"
          (buffer-substring-no-properties start (point)))))))

;;; Registration

(efrit-do-register-tool
 :name "todo_write" :raw t
 :description "Show the user your plan: pass the complete task list each time."
 :args #'todo-write-tool-arguments
 :function (lambda (input)
             (let ((outcome (todo-write (efrit-do-context-thread efrit-do-context) input
                                        "efrit-do")))
               (list :content (plist-get outcome :result)
                     :is-error (not (plist-get outcome :ok))))))

(efrit-do-register-tool
 :name "session_complete"
 :description "End the session when everything asked for is done."
 :args '((:name "message" :type "string"
          :description "What was done, for the user."))
 ;; It ends after the other tools of this turn.
 :function (lambda (message)
             (list :content "The session ends here." :is-error nil
                   :complete (substring-no-properties message))))

(efrit-do-register-tool
 :name "eval_sexp" :confirm t :format 'lisp
 :description "Evaluate one Emacs Lisp expression and return its value."
 :args '((:name "expr" :type "string" :description "The expression."))
 :function #'efrit-do-builtin--eval-sexp)

(efrit-do-register-tool
 :name "shell_exec" :confirm t :format 'shell
 :description "Run a shell command in the project and return its output."
 :args '((:name "command" :type "string" :description "The command."))
 :function #'efrit-do-builtin--shell-exec)

(efrit-do-register-tool
 :name "buffer_create"
 :description "Make a new buffer that the user can show."
 :args '((:name "name" :type "string" :description "Its name.")
         (:name "content" :type "string" :description "Its text."))
 :function #'efrit-do-builtin--buffer-create)

(efrit-do-register-tool
 :name "read_file"
 :description "Return the text of a file, or some of its lines."
 :args '((:name "path" :type "string"
          :description "The file, relative to the project.")
         (:name "first_line" :type "integer" :optional t
          :description "First line to return, from 1.")
         (:name "last_line" :type "integer" :optional t
          :description "Last line to return."))
 :function #'efrit-do-builtin--read-file)

(provide 'efrit-do-builtin)
;;; efrit-do-builtin.el ends here
