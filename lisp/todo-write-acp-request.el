;;; todo-write-acp-request.el --- What ACP agents ask  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Two requests of the Agent Client Protocol need the user: `session/request_permission',
;; whose tool call becomes the text of a request, and `elicitation/create', whose form
;; becomes questions.  An agent sends forms only to a client that offers to answer them in
;; `initialize'.  Without that, the adapter of Claude Code takes AskUserQuestion away.
;;
;; A form has fields: texts, numbers, yes or no, a choice, or several of it.  What is
;; answered is sent as values of these types.  Forms with a field of another type, with
;; too many of them, or at an address of the web are refused, so that the agent goes on.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'todo-write-acp-work)
(require 'todo-write-core)
(require 'todo-write-json)
(require 'todo-write-request)
(require 'todo-write-row)

;;; Permissions

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

;;; Forms

(defvar todo-write-acp-request--offering (make-hash-table :test #'eq :weakness 'key)
  "Clients that have offered to answer forms, with the value t.")

;;;###autoload
(defun todo-write-acp-offer-forms (client request)
  "Return REQUEST, the `initialize' of CLIENT, with the offer to answer forms.
CLIENT is an acp.el client, whose own handler must not answer
`elicitation/create' then: connect it by `todo-write-acp-connect', and the
forms of its agent become requests.  It also offers to show plans that
are texts, unless REQUEST says something about plans.  A REQUEST that
offers to answer forms already is returned as it is: the client shows them
itself."
  (let* ((params (todo-write-acp-request--field request "params"))
         (offers (todo-write-acp-request--field (cdr params) "clientCapabilities")))
    (if (or (null params) (assoc "elicitation" (todo-write-json-fields (cdr offers))))
        request
      (puthash client t todo-write-acp-request--offering)
      (let ((more (append `((elicitation . ((form . ,(make-hash-table)))))
                          (unless (assoc "plan" (todo-write-json-fields (cdr offers)))
                            `((plan . ,(make-hash-table))))
                          (cdr offers))))
        (todo-write-acp-request--with
         request params (todo-write-acp-request--with
                         (cdr params) (or offers '(clientCapabilities)) more))))))

(defun todo-write-acp-request--field (object name)
  "Return the pair of the field NAME in OBJECT, an alist, or nil."
  (seq-find (lambda (field) (and (consp field)
                                 (equal name (string-remove-prefix
                                              ":" (format "%s" (car field))))))
            object))

(defun todo-write-acp-request--with (object field value)
  "Return OBJECT, an alist, with VALUE in place of that of its pair FIELD."
  (cons (cons (car field) value) (remq field object)))

(defun todo-write-acp-request-offered-p (client)
  "Return non-nil if CLIENT has offered to answer forms by this package."
  (gethash client todo-write-acp-request--offering))

(defconst todo-write-acp-request--skip "Leave this out"
  "Label of the answer that leaves out a field that is not required.")

(defun todo-write-acp-request-form (params)
  "Return the fields of the form in PARAMS of an `elicitation/create'.
They are plists, questions as for `todo-write-request', with :key, the field's
name, :type, :values, an alist of labels and values, and :other, the name
of the field that takes a typed answer, or nil.  Return a string, why the
form cannot be shown, if it is not such a form."
  (let* ((schema (todo-write-json-get params "requestedSchema"))
         (properties (todo-write-json-fields (todo-write-json-get schema "properties")))
         (required (append (todo-write-json-get schema "required") nil))
         (names (mapcar #'car properties)))
    (cond
     ((not (equal "form" (or (todo-write-json-get params "mode") "form")))
      "Only forms can be answered here")
     ((null properties) "The form has no field")
     ((todo-write-request-excess (length properties) 'fields) "The form has too many fields")
     (t
      (catch 'refused
        (let ((fields (cl-loop for (name . field) in properties
                               unless (todo-write-acp-request--companion-p name properties)
                               collect (todo-write-acp-request--question
                                        name field (and (member name required) t)
                                        (car (member (concat name "_custom") names))))))
          (if (todo-write-request-excess (length fields) 'questions)
              "The form has too many fields"
            (todo-write-acp-request--name fields (todo-write-json-get params "message")))))))))

(defun todo-write-acp-request--choices (field)
  "Return the choices of FIELD of a form, a list of objects or values."
  (append (seq-find (lambda (choices) (and (vectorp choices) (> (length choices) 0)))
                    (list (todo-write-json-get field "oneOf")
                          (todo-write-json-get field "enum")
                          (todo-write-json-get field "items" "anyOf")
                          (todo-write-json-get field "items" "enum")))
          nil))

(defun todo-write-acp-request--companion-p (name properties)
  "Return non-nil if the field NAME of PROPERTIES takes what is typed for a choice.
Claude's adapter sends such a field beside each question."
  (when-let* ((of (and (string-suffix-p "_custom" name)
                       (assoc (string-remove-suffix "_custom" name) properties))))
    (and (todo-write-acp-request--choices (cdr of))
         (equal "string" (todo-write-json-get (cdr (assoc name properties)) "type"))
         (not (todo-write-acp-request--choices (cdr (assoc name properties)))))))

(defun todo-write-acp-request--question (name field required other)
  "Return the question for FIELD, of NAME, of a form.
REQUIRED and OTHER, the name of the field for a typed answer, are as in
`todo-write-acp-request-form'."
  (let* ((type (todo-write-json-get field "type"))
         (choices (todo-write-acp-request--choices field))
         (default (todo-write-json-get field "default"))
         (values (cond ((equal type "boolean") '(("Yes" . t) ("No" . :false)))
                       (choices (todo-write-acp-request--values choices))
                       ;; A text that was suggested can be chosen.
                       ((or (todo-write-json-filled default) (numberp default))
                        (list (cons (format "%s" default) default))))))
    (unless (or (member type '("boolean" "number" "integer"))
                (equal type "string")
                (and (equal type "array") choices))
      (throw 'refused (format "The field %s is of an unknown type" (todo-write-text-line name 100))))
    ;; One more leaves the field out.
    (when (todo-write-request-excess (1+ (length choices)) 'options)
      (throw 'refused "A field of the form has too many choices"))
    (list :key name :type type :values values :other (and choices other)
          :required required
          :header (todo-write-json-string field "title")
          :question (todo-write-json-string field "description")
          :multiple (equal type "array")
          :check (todo-write-acp-request--check type field (and choices t) (and choices other))
          :options
          (append
           (cl-loop for (label . value) in values
                    for choice in (or choices '(nil nil))
                    collect (list :label label
                                  :description
                                  (concat (todo-write-json-string choice "description")
                                          (and default
                                               (member value (append (if (vectorp default) default
                                                                       (list default))
                                                                     nil))
                                               " (suggested)"))))
           (unless required
             (list (list :label todo-write-acp-request--skip)))))))

(defun todo-write-acp-request--values (choices)
  "Return an alist of the labels of CHOICES, which differ, and their values."
  (let (values)
    (dolist (choice choices)
      (let* ((value (if (stringp choice) choice (todo-write-json-get choice "const")))
             (title (todo-write-json-get choice "title"))
             (label (if (stringp title) title value)))
        (unless (stringp value)
          (throw 'refused "A choice of the form has no value"))
        (when (or (assoc label values) (equal label todo-write-acp-request--skip))
          (setq label (format "%s (%s)" label value)))
        (push (cons label value) values)))
    (nreverse values)))

(defun todo-write-acp-request--check (type field choices other)
  "Return a function that says what is wrong with a typed answer, or nil.
FIELD is of TYPE.  CHOICES is non-nil if it has some, and OTHER if a typed
answer is allowed beside them."
  (cl-flet ((limit (name) (let ((value (todo-write-json-get field name)))
                            (and (numberp value) value))))
    (let ((least (or (limit "minimum") (limit "minLength")))
          (most (or (limit "maximum") (limit "maxLength"))))
      (cond
       ((and (or choices (equal type "boolean")) (not other))
        (lambda (_) "Choose one of the answers"))
       ((member type '("number" "integer"))
        (lambda (text)
          (let ((value (todo-write-acp-request--number text type)))
            (cond ((null value) (format "This takes a number%s"
                                        (if (equal type "integer") " without a fraction" "")))
                  ((and least (< value least)) (format "At least %s" least))
                  ((and most (> value most)) (format "At most %s" most))))))
       (t
        (lambda (text)
          (cond ((and least (< (length text) least)) (format "At least %s characters" least))
                ((and most (> (length text) most)) (format "At most %s characters" most)))))))))

(defun todo-write-acp-request--number (text type)
  "Return the number that TEXT is, of TYPE, or nil."
  (and (string-match-p (if (equal type "integer") "\\`[-+]?[0-9]\\{1,15\\}\\'"
                         "\\`[-+]?[0-9]\\{1,15\\}\\(?:\\.[0-9]\\{1,15\\}\\)?\\'")
                       text)
       (string-to-number text)))

(defun todo-write-acp-request--name (fields message)
  "Return FIELDS with texts as questions that differ, of a form with MESSAGE."
  (let (seen)
    (mapcar
     (lambda (field)
       (let* ((text (seq-find #'todo-write-json-filled
                              (list (plist-get field :question)
                                    (and (null (cdr fields)) message)
                                    (plist-get field :header)
                                    (plist-get field :key))))
              (text (if (member text seen) (format "%s (%s)" text (plist-get field :key)) text)))
         (when (member text seen)
           (throw 'refused "The fields of the form cannot be told apart"))
         (push text seen)
         (plist-put field :question text)))
     fields)))

(defun todo-write-acp-request-content (fields answers)
  "Return the content of a form with FIELDS that the user's ANSWERS mean.
It is a hash table.  ANSWERS is an alist as for `todo-write-request'."
  (let ((content (make-hash-table :test #'equal)))
    (dolist (field fields content)
      (let* ((values (plist-get field :values))
             (given (ensure-list (cdr (assoc (plist-get field :question) answers))))
             (chosen (seq-filter (lambda (answer) (assoc answer values)) given))
             (typed (seq-find (lambda (answer)
                                (not (or (member answer chosen)
                                         (equal answer todo-write-acp-request--skip))))
                              given)))
        (cond ((and (plist-get field :multiple) chosen)
               (puthash (plist-get field :key)
                        (vconcat (mapcar (lambda (label) (cdr (assoc label values))) chosen))
                        content))
              (chosen
               (puthash (plist-get field :key) (cdr (assoc (car chosen) values)) content)))
        (when typed
          (puthash (or (plist-get field :other) (plist-get field :key))
                   (or (and (member (plist-get field :type) '("number" "integer"))
                            (todo-write-acp-request--number typed (plist-get field :type)))
                       (todo-write-core-plain typed))
                   content))))))

(provide 'todo-write-acp-request)
;;; todo-write-acp-request.el ends here
