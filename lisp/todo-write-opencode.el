;;; todo-write-opencode.el --- Answer opencode's dialogs in Emacs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The plugin for opencode, which `todo-write-mcp setup opencode' installs, passes the
;; permissions and questions for which a dialog stands in opencode to this Emacs; see
;; todo-write-permission.el.  This file makes requests of them.
;;
;; opencode has three answers to a permission: once, always, which it forgets when it
;; ends, and no, with or without a message.

;;; Code:

(require 'todo-write-json)
(require 'todo-write-permission)
(require 'todo-write-request)
(require 'todo-write-text)

(defun todo-write-opencode--strings (object name)
  "Return the strings NAME of OBJECT, decoded JSON.
There is at most one more than can be shown."
  (seq-filter #'stringp (todo-write-request-first (todo-write-json-get object name) 'options)))

(defconst todo-write-opencode--known
  '("id" "sessionID" "permission" "patterns" "always" "metadata" "tool" "input" "hook_event_name"
    "agent_id" "agent_type")
  "The fields of the event `permission.asked', and those that the plugin adds.")

(defun todo-write-opencode--permission (input)
  "Return the request for INPUT, the event `permission.asked'.
See `todo-write-permission-readers'."
  (let* ((permission (or (todo-write-json-filled input "permission") "a permission"))
         (excess (if (todo-write-json-get input "isTooLarge")
                     '(:detail "This is too large to be shown here." :format text)
                   (todo-write-opencode--excess input))))
    (pcase-let ((`(,what ,format ,detail) (unless excess (todo-write-opencode--detail input))))
      `( ,@excess :answerable ,(null excess)
         ,@(todo-write-permission-to-use
            permission
            (list what format
                  (and detail
                       (lambda ()
                         ;; A later version may ask for more.
                         (concat (funcall detail)
                                 (apply #'todo-write-request-fields input
                                        (if (eq format 'shell) "\n# " "\n")
                                        todo-write-opencode--known)))))
            (when-let* ((patterns (todo-write-opencode--strings input "always")))
              (list (list :label (format "Always allow %s, until opencode ends: %s" permission
                                         (mapconcat (lambda (pattern)
                                                      (format-message "`%s'" pattern))
                                                    patterns ", "))
                          :value '(:behavior "allow" :suggestion 0)
                          :kind 'always))))))))

(defun todo-write-opencode--excess (input)
  "Return fields for a request of INPUT if that cannot be shown whole, else nil.
It has another shape, too many parts, or parts that are no texts."
  (let ((patterns (todo-write-json-get input "patterns"))
        (always (todo-write-json-get input "always"))
        (metadata (todo-write-json-get input "metadata")))
    (or (seq-some (lambda (name)
                    (let ((object (todo-write-json-get input name)))
                      (todo-write-request-excess
                       (if (hash-table-p object) (hash-table-count object) 0) 'fields)))
                  '("input" "metadata"))
        (todo-write-request-excess (hash-table-count input) 'fields)
        (seq-some (lambda (strings)
                    (if (and (vectorp strings) (seq-every-p #'stringp strings))
                        (todo-write-request-excess (length strings) 'options)
                      (and strings
                           '(:detail "This has parts that are no texts, and is not shown here."
                             :format text))))
                  (list patterns always))
        (unless (and (todo-write-json-filled input "permission")
                     (vectorp patterns) (< 0 (length patterns))
                     (or (null metadata) (hash-table-p metadata)))
          '(:detail "opencode asks for this in a form that is not known here." :format text)))))

(defun todo-write-opencode--detail (input)
  "Return (WHAT FORMAT DETAIL) of the permission that INPUT asks for.
WHAT is a string or nil, and DETAIL a function that returns a string: of a
large call, that takes a while.  The plugin adds what the tool is called
with; of the metadata, a diff is the change itself.  For an edit, it says
all that the call does."
  (let* ((call (todo-write-json-get input "input"))
         (metadata (todo-write-json-get input "metadata"))
         (patterns (todo-write-opencode--strings input "patterns"))
         (command (or (todo-write-json-filled call "command")
                      (todo-write-json-filled metadata "command")))
         (diff (todo-write-json-filled metadata "diff"))
         (file (or (todo-write-json-filled metadata "filepath")
                   (todo-write-json-filled call "filePath")))
         (permission (todo-write-json-filled input "permission"))
         (shown (string-join patterns ", ")))
    (cond ((and command (equal "bash" permission))
           (todo-write-permission-of-command command call))
          (diff
           (list (or file shown) 'diff
                 (lambda ()
                   (concat (todo-write-text-trim-end diff '(?\n))
                           (todo-write-request-fields metadata "\n" "diff" "filediff")
                           (unless (equal "edit" permission)
                             (todo-write-request-fields call "\n"))))))
          (t (list (if (string-empty-p shown) (or command file) shown) 'text
                   (lambda ()
                     (string-trim-left
                      (concat (mapconcat (lambda (pattern)
                                           (concat "\n" (todo-write-request-json pattern)))
                                         patterns "")
                              (todo-write-request-fields metadata "\n")
                              (todo-write-request-fields call "\n"))
                      "\n")))))))

(setf (alist-get "permission.asked" todo-write-permission-readers nil nil #'equal)
      '(todo-write-opencode--permission t)
      (alist-get "question.asked" todo-write-permission-readers nil nil #'equal)
      (list (lambda (input)
              (if (todo-write-json-get input "isTooLarge")
                  '(:kind question :title "A question"
                    :detail "This is too large to be shown here." :format text)
                (plist-put (todo-write-permission-question input "multiple")
                           :options '((:label "No answer" :value (:behavior "deny") :kind deny)))))
            t))

(provide 'todo-write-opencode)
;;; todo-write-opencode.el ends here
