;;; todo-write-json.el --- Decoded JSON of hosts  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Hosts decode JSON objects as hash tables, plists or alists, with strings, symbols
;; or keywords as keys.  These functions read all of them.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)

(defun todo-write-json-fields (object)
  "Return the fields of OBJECT, decoded JSON, as an alist (NAME . VALUE).
Names are strings, values are unchanged.  Other values have no fields,
and a key that is neither a string nor a symbol is no name."
  (cl-flet ((field (key value)
              (cond ((stringp key) (list (cons key value)))
                    ((symbolp key)
                     (list (cons (string-remove-prefix ":" (symbol-name key)) value))))))
    (cond ((hash-table-p object)
           (cl-loop for key being the hash-keys of object using (hash-values value)
                    append (field key value)))
          ((not (proper-list-p object)) nil)
          ((consp (car object))
           (cl-loop for (key . value) in (seq-filter #'consp object)
                    append (field key value)))
          (t (cl-loop for (key value) on object by #'cddr append (field key value))))))

(defun todo-write-json-get (object &rest names)
  "Return the value at the path NAMES in OBJECT, decoded JSON, or nil."
  (dolist (name names object)
    (setq object (cdr (assoc name (todo-write-json-fields object))))))

(defun todo-write-json-string (object &rest names)
  "Return the string at the path NAMES in OBJECT, decoded JSON, or an empty one."
  (let ((value (apply #'todo-write-json-get object names)))
    (if (stringp value) value "")))

(defun todo-write-json-filled (object &rest names)
  "Return the string at the path NAMES in OBJECT, decoded JSON.
Return nil if it is missing or blank."
  (let ((value (apply #'todo-write-json-get object names)))
    (and (stringp value) (not (string-blank-p value)) value)))

(defun todo-write-json-parsed (input)
  "Return INPUT, the arguments of a tool call, decoded if it is JSON text."
  ;; Arguments may be plain text, or JSON that is still coming in.
  (or (and (stringp input) (ignore-errors (json-parse-string input))) input))

(defun todo-write-json-plist (value &optional depth)
  "Return a deep copy of VALUE, decoded JSON, with plists as objects.
Arrays must be vectors.  VALUE is within DEPTH other values; what lies
deeper than 32, as in a circular value, is left as it is."
  (let ((depth (1+ (or depth 0))))
    (cond ((> depth 33) value)
          ((vectorp value)
           (vconcat (mapcar (lambda (value) (todo-write-json-plist value depth)) value)))
          ((or (consp value) (hash-table-p value))
           (cl-loop for (name . field) in (todo-write-json-fields value)
                    append (list (intern (concat ":" name))
                                 (todo-write-json-plist field depth))))
          (t value))))

(provide 'todo-write-json)
;;; todo-write-json.el ends here
