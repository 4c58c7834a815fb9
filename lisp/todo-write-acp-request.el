;;; todo-write-acp-request.el --- What ACP agents ask  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The tool call of a `session/request_permission' of the Agent Client Protocol becomes the
;; text of a request.

;;; Code:

(require 'todo-write-acp-work)
(require 'todo-write-core)
(require 'todo-write-json)
(require 'todo-write-request)
(require 'todo-write-row)

(defun todo-write-acp-request-options (options draft)
  "Return OPTIONS of a permission request as those of a request.
Non-nil DRAFT means that a message with a no can be the next prompt."
  (cl-loop for option in (todo-write-request-first options 'options)
           for label = (todo-write-json-get option "name")
           for value = (todo-write-json-get option "optionId")
           when (and (stringp label) (stringp value))
           collect (list :label label :value value
                         :kind (pcase (todo-write-json-get option "kind")
                                 ("allow_once" 'allow)
                                 ("allow_always" 'always)
                                 ("reject_once" 'deny)
                                 (_ 'other))
                         :text (and draft
                                    (equal "reject_once" (todo-write-json-get option "kind"))))))

(defun todo-write-acp-request-permission (call)
  "Return what a request about CALL, a tool call, is about, a plist.
It has the kind, the format and the detail, as for `todo-write-request'."
  (let* ((input (todo-write-json-get call "rawInput"))
         (fields (todo-write-json-fields input))
         (content (todo-write-request-first (todo-write-json-get call "content") 'fields))
         (diffs (seq-filter (lambda (part) (equal "diff" (todo-write-json-get part "type")))
                            content))
         ;; Diffs show all else, too; a plan may come with the input of any tool.
         (format (cond (diffs 'diff)
                       ((stringp (cdr (assoc "plan" fields))) 'markdown)
                       ((stringp (cdr (assoc "command" fields))) 'shell)
                       (t 'text))))
    `( ,@(todo-write-request-excess (max (length fields) (length content)) 'fields)
       :kind ,(if (eq format 'markdown) 'plan 'permission)
       :format ,format
       :detail ,(lambda () (todo-write-acp-request--text format input content diffs)))))

(defun todo-write-acp-request--text (format input content diffs)
  "Return what a tool call with INPUT and CONTENT is about, as FORMAT.
DIFFS are those parts of CONTENT that are diffs."
  (let* (;; Some agents repeat a field of the input as text.
         (texts (seq-difference (delq nil (mapcar #'todo-write-acp-work-text content))
                                (mapcar #'cdr (todo-write-json-fields input))))
         (others (and texts `(("text" . ,(string-join texts "\n"))))))
    (cl-flet ((with-fields (name before)
                (concat (todo-write-json-get input name)
                        (todo-write-request-fields input before name)
                        (todo-write-request-fields others before))))
      (pcase format
        ('markdown (with-fields "plan" "\n"))
        ('shell (with-fields "command" "\n# "))
        ('diff (concat (todo-write-acp-request--diffs diffs input)
                       (todo-write-request-fields others "\n")))
        (_ (string-trim-left
            (string-join (cons (todo-write-request-fields input "\n") texts) "\n")))))))

(defun todo-write-acp-request--diffs (parts input)
  "Return PARTS of a tool call's content, diffs, and the other fields of its INPUT."
  (let ((texts (mapcar (lambda (part)
                         (mapcar (lambda (name)
                                   (let ((text (todo-write-json-get part name)))
                                     (if (stringp text) (todo-write-core-plain text) "")))
                                 '("path" "oldText" "newText")))
                       parts)))
    (concat (todo-write-request-diff texts)
            (apply #'todo-write-request-fields input "\n"
                   (cl-loop for (name . value) in (todo-write-json-fields input)
                            ;; Agents name the file and the texts of an edit in their own ways.
                            when (member value (apply #'append texts))
                            collect name)))))

(provide 'todo-write-acp-request)
;;; todo-write-acp-request.el ends here
