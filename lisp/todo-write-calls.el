;;; todo-write-calls.el --- Tool calls that run in this Emacs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Hosts whose tools run in Emacs, such as gptel, report here when a call begins and
;; ends.  Any tool may change files, so the file that a call names is read before and
;; after it, whatever the tool is called.

;;; Code:

(require 'todo-write-events)

(defconst todo-write-calls--longest-file (* 1024 1024)
  "Size in bytes up to which a file is compared.")

(defvar todo-write-calls--open (make-hash-table :test #'equal)
  "The calls of threads that have not ended, by the keys of the threads.
They are alists of their ids and the files that they name, which are conses
of a path and its last known text, nil for a file that does not exist.  Calls
that name the same file share its cons.")

(defun todo-write-calls-begin (thread id name input)
  "Record that a call of the tool NAME with INPUT begins in THREAD.
ID is a string that no other call of THREAD has.  INPUT is decoded JSON.
Calls that only change the plan are ignored."
  (unless (todo-write-core-call todo-write-dyn--plan-tool-p name)
    (todo-write-calls-watch thread id input)
    (todo-write-calls-observe-begin thread id name (todo-write-json-plist input))))

(defun todo-write-calls-end (thread id name result outcome &optional exit-code)
  "Record that the call ID of the tool NAME in THREAD ended with RESULT, a string.
OUTCOME and EXIT-CODE are as for `todo-write-observe'."
  (unless (todo-write-core-call todo-write-dyn--plan-tool-p name)
    (todo-write-calls-observe-end thread id name result outcome
                                  :exit-code exit-code
                                  :files (todo-write-calls-changes thread id))))

(defun todo-write-calls-observe-begin (thread id name input)
  "Observe in THREAD that the call ID of the tool NAME begins.
INPUT is JSON with plists."
  (todo-write-observe thread "TOOL_CALL"
                      (list :id id :name name :input (todo-write-calls--clip input))
                      :title name :call-id id))

(defun todo-write-calls-observe-end (thread id name result outcome &rest more)
  "Observe in THREAD that the call ID of the tool NAME ended.
RESULT is its text.  OUTCOME and MORE, keywords and values, are for
`todo-write-observe'."
  (apply #'todo-write-observe thread "TOOL_EXECUTION"
         (list :id id :name name :content (todo-write-calls--clip result)
               :isError (if (memq outcome '(failed refused)) t :false))
         :title name :call-id id :outcome outcome more))

(defun todo-write-calls-drop (thread)
  "Forget the open calls of THREAD; return their ids."
  (prog1 (mapcar #'car (gethash thread todo-write-calls--open))
    (remhash thread todo-write-calls--open)))

(defun todo-write-calls-usage (tokens model)
  "Return the content of a USAGE for TOKENS of a response of MODEL.
TOKENS is a plist as gptel has it: what was written to the cache is part
of its input."
  (let ((written (or (plist-get tokens :cache) 0)))
    (append (list :input (max 0 (- (or (plist-get tokens :input) 0) written))
                  :output (or (plist-get tokens :output) 0)
                  :cacheRead (or (plist-get tokens :cached) 0)
                  :cacheWrite written)
            (and model (list :model (format "%s" model))))))

(defun todo-write-calls--clip (value &optional depth)
  "Return VALUE, JSON with plists, with long strings shortened in their middle.
Strings lose their properties, and bytes that are no text.  VALUE is
within DEPTH other values; what lies deeper than 32 is left as it is, and
refused by `todo-write-observe'."
  (let* ((depth (1+ (or depth 0)))
         (clip (lambda (value) (todo-write-calls--clip value depth))))
    (cond ((stringp value) (todo-write-calls-clip value 2000))
          ((> depth 33) value)
          ((vectorp value) (vconcat (mapcar clip value)))
          ((consp value) (mapcar clip value))
          (t value))))

(defun todo-write-calls-clip (string limit)
  "Return STRING as text, without its middle if it exceeds LIMIT characters.
Bytes that are no text become U+FFFD, since no model takes them."
  (let* ((text (todo-write-core-plain (substring-no-properties string)))
         (length (length text))
         (half (/ limit 2)))
    (if (<= length limit)
        text
      (concat (substring text 0 half)
              (format "\n[… %d characters left out …]\n" (- length (* 2 half)))
              (substring text (- length half))))))

;;; Files

(defun todo-write-calls-watch (thread id input)
  "Note the texts of the files that the call ID of THREAD names in INPUT.
INPUT is decoded JSON or JSON text.  File names in it are relative to
`default-directory'."
  (let ((open (gethash thread todo-write-calls--open)))
    (puthash thread
             (cons (cons id (mapcar (lambda (path)
                                      ;; What another open call changed is counted once.
                                      (or (seq-some (lambda (call) (assoc path (cdr call))) open)
                                          (cons path (todo-write-calls--text path))))
                                    (todo-write-calls--paths (todo-write-json-parsed input))))
                   open)
             todo-write-calls--open)))

(defun todo-write-calls-refresh (thread)
  "Note the present texts of the files that the open calls of THREAD name.
Call this if the user may have changed them since the calls began."
  (pcase-dolist (`(,_ . ,files) (gethash thread todo-write-calls--open))
    (dolist (file files)
      (setcdr file (todo-write-calls--text (car file))))))

(defun todo-write-calls-changes (thread id)
  "Return the files that the call ID of THREAD changed, and forget the call.
The value is a list for `:files' of `todo-write-observe'."
  (let* ((calls (gethash thread todo-write-calls--open))
         (call (assoc id calls))
         (others (delq call calls)))
    (if others
        (puthash thread others todo-write-calls--open)
      (remhash thread todo-write-calls--open))
    (cl-loop for file in (cdr call)
             for (path . old) = file
             for new = (todo-write-calls--text path)
             do (setcdr file new)
             unless (equal old new)
             collect (append (list :path path)
                             (unless (memq 'long (list old new))
                               (append (and old (list :oldText old))
                                       (and new (list :newText new))))))))

(defun todo-write-calls--paths (input)
  "Return the absolute names of the files that INPUT, decoded JSON, names.
Files on other machines, and what is too long or no regular file, are left out."
  (unless (file-remote-p default-directory)
    (let* ((file-name-handler-alist nil)
           (names (delq nil (mapcar (lambda (field) (todo-write-calls--name input field))
                                    '("file_path" "filePath" "notebook_path" "path" "file"))))
           (name (todo-write-calls--name input "filename"))
           (paths (mapcar #'expand-file-name names)))
      (when name
        (push (expand-file-name name (car paths)) paths))
      (seq-filter (lambda (path)
                    (let ((attributes (file-attributes path)))
                      (or (null attributes)
                          (and (file-regular-p path)
                               (<= (file-attribute-size attributes)
                                   todo-write-calls--longest-file)))))
                  (seq-uniq paths)))))

(defun todo-write-calls--name (input field)
  "Return the value of FIELD of INPUT if it may name a file, else nil."
  (let ((value (todo-write-json-get input field)))
    (and (stringp value)
         (< 0 (length value) 1000)
         (not (string-search "\0" value))
         (substring-no-properties value))))

(defun todo-write-calls--text (path)
  "Return the present text of the file PATH, nil without one, or `long'."
  (when-let* ((bytes (todo-write-core-file-bytes path (1+ todo-write-calls--longest-file))))
    (if (> (length bytes) todo-write-calls--longest-file)
        'long
      (todo-write-core-plain (decode-coding-string bytes 'utf-8-unix t)))))

(provide 'todo-write-calls)
;;; todo-write-calls.el ends here
