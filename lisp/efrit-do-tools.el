;;; efrit-do-tools.el --- Registry of the tools an agent may call -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The registry of tools and the one way in which a tool runs: read the
;; arguments, ask the user if the tool needs consent, call, cut long output.
;; The question shows the whole call, in which nothing can hide.

;;; Code:

(require 'map)
(require 'todo-write)
(require 'todo-write-row)

;; Upstream Efrit owns a command and a feature of the same name.  This runs
;; before anything below could redefine one of its functions.
(when (and (or (featurep 'efrit-do)
               (and (fboundp 'efrit-do)
                    (not (autoloadp (symbol-function 'efrit-do)))))
           (not (fboundp 'efrit-do-execute-tool)))
  (signal 'todo-write-error
          (list (format "The command `efrit-do' belongs to another package already%s; \
to give that agent this list, turn on `todo-write-efrit-mode' instead"
                        (let ((file (symbol-file 'efrit-do)))
                          (if file (format " (%s)" file) ""))))))

(defgroup efrit-do nil
  "An agent that works in Emacs and shows its plan."
  :group 'todo-write
  :prefix "efrit-do-")

(defcustom efrit-do-time-limit 60
  "Seconds after which a shell command or an asynchronous tool is stopped.
Everything else that runs too long is stopped with \\[keyboard-quit]."
  :type '(number :tag "Seconds"))

(defcustom efrit-do-output-limit 20000
  "Longest result of a tool, in characters.
Of a longer one the head and the tail are kept, and the number of characters
left out is said between them."
  :type 'natnum)

(cl-defstruct (efrit-do-tool (:constructor efrit-do-tool-create) (:copier nil))
  "A tool that the agent may call."
  (name nil :documentation "A string in snake_case.")
  (description nil :documentation "What it does, for the model; a line or two.")
  (args nil :documentation "List of plists `:name' `:description' `:type'
\(a JSON type) `:optional' and, for arrays, `:items', in the order in which
FUNCTION takes them; or a function that returns such a list.")
  (function nil :documentation "Called with the arguments.  It returns the
result: a string or another value, which is printed, both cut when they are
long; or a plist (:content STRING :is-error BOOL), taken as it is.  An error
that it signals becomes a result too.")
  (confirm nil :documentation "Non-nil to ask the user first; a function is
called with the arguments.")
  (async nil :documentation "Non-nil if FUNCTION takes a callback before its
arguments and calls that with the result.")
  (raw nil :documentation "Non-nil if FUNCTION takes the whole input as one
argument, unread and unchecked."))

(defvar efrit-do-tools nil
  "The tools, a list of `efrit-do-tool', in the order they are offered.
Change it with `efrit-do-register-tool'.")

(defvar efrit-do-thread nil
  "Key of the thread that `todo_write' writes to, or nil for the project's.
A session binds it while one of its tools runs.")

(defun efrit-do-register-tool (&rest slots)
  "Offer a tool to agents, and return it.
SLOTS are the keywords and values of `efrit-do-tool'; `:name' and `:function'
are required.  A tool of the same name is replaced, in its place.  Signals
`todo-write-error' if one of the two is missing."
  (let* ((tool (apply #'efrit-do-tool-create slots))
         (name (efrit-do-tool-name tool))
         (old (and (stringp name) (efrit-do-get-tool name))))
    (unless (and (stringp name) (functionp (efrit-do-tool-function tool)))
      (signal 'todo-write-error
              (list "A tool needs a `:name' (string) and a `:function'")))
    (setq efrit-do-tools (if old
                             (cl-substitute tool old efrit-do-tools)
                           (append efrit-do-tools (list tool))))
    tool))

(defun efrit-do-get-tool (name)
  "Return the tool called NAME, or nil."
  (seq-find (lambda (tool) (equal (efrit-do-tool-name tool) name)) efrit-do-tools))

(defun efrit-do-tool-names ()
  "Return the names of the tools that an agent may call."
  (mapcar #'efrit-do-tool-name efrit-do-tools))

(defun efrit-do-tool-arguments (tool)
  "Return the argument specifications of TOOL, a list of plists."
  (let ((args (efrit-do-tool-args tool)))
    (if (functionp args) (funcall args) args)))

;;; Input

(defun efrit-do--keyword (key)
  "Return KEY, a string or symbol, as a keyword."
  (let ((name (if (symbolp key) (symbol-name key) (format "%s" key))))
    (intern (if (string-prefix-p ":" name) name (concat ":" name)))))

(defun efrit-do-input-plist (input)
  "Return INPUT, a JSON text, hash table, plist or alist, as a plist.
Nested values stay as they are.  Signals `todo-write-input-error' where INPUT
is none of these."
  (pcase input
    ((or 'nil :null) nil)
    ((pred stringp)
     (condition-case problem
         (let ((value (json-parse-string input)))
           (if (hash-table-p value)
               (efrit-do-input-plist value)
             (signal 'error '("not an object"))))
       (error (signal 'todo-write-input-error
                      (list (format "The arguments are no JSON object: %s"
                                    (efrit-do-error-text problem)))))))
    ((and `(,(pred keywordp) . ,_) (guard (proper-list-p input))) input)
    ((or (pred hash-table-p)
         (and (pred proper-list-p) (guard (seq-every-p #'consp input))))
     (cl-loop for (key . value) in (map-pairs input)
              append (list (efrit-do--keyword key) value)))
    (_ (signal 'todo-write-input-error
               (list "The arguments are neither a JSON object nor a table")))))

(defun efrit-do--fits-p (value type)
  "Return non-nil if VALUE is of the JSON TYPE."
  (pcase (format "%s" type)
    ("string" (stringp value))
    ("integer" (or (integerp value)
                   (and (floatp value) (= value (ftruncate value)))))
    ("number" (numberp value))
    ("boolean" (memq value '(t nil :false :json-false)))
    ("array" (or (vectorp value) (listp value)))
    (_ t)))

(defun efrit-do--read-arguments (tool input)
  "Return the argument values of TOOL from INPUT, in order.
Signals `todo-write-input-error' naming every argument that is missing or of
another type."
  (if (efrit-do-tool-raw tool)
      (list input)
    (let ((plist (efrit-do-input-plist input)) problems values)
      (dolist (spec (efrit-do-tool-arguments tool))
        (let* ((name (plist-get spec :name))
               (type (plist-get spec :type))
               (value (plist-get plist (efrit-do--keyword name))))
          (when (eq value :null) (setq value nil))
          (cond ((and (null value) (plist-get spec :optional)))
                ((and (null value) (not (equal (format "%s" type) "boolean")))
                 (push (format "`%s' (%s) is missing" name type) problems))
                ((not (efrit-do--fits-p value type))
                 (push (format "`%s' is not of type %s" name type) problems)))
          (push value values)))
      (when problems
        (signal 'todo-write-input-error (list (string-join (nreverse problems) "; "))))
      (nreverse values))))

;;; Text

(defun efrit-do-input-text (input)
  "Return INPUT, as a tool takes it, as JSON, or printed if it is no JSON."
  (if (stringp input)
      (substring-no-properties input)
    (condition-case nil
        (json-serialize (efrit-do--json input))
      (error (let ((print-circle t)) (prin1-to-string input))))))

(defun efrit-do--json (value)
  "Return VALUE, decoded JSON of any form, as `json-serialize' takes it."
  (pcase value
    (:json-false :false)
    ((pred vectorp) (vconcat (mapcar #'efrit-do--json value)))
    ((or (pred hash-table-p) `(,(pred keywordp) . ,_)
         `((,(and key (pred atom) (pred (not keywordp)) (guard key)) . ,_) . ,_))
     (cl-loop for (key item) on (efrit-do-input-plist value) by #'cddr
              append (list key (efrit-do--json item))))
    ((and (pred consp) (pred proper-list-p))
     (vconcat (mapcar #'efrit-do--json value)))
    (_ value)))

;;; Consent

(defcustom efrit-do-confirm 'tool
  "Which tool calls wait for the user's consent.
With `tool', each tool decides: of the built-in ones `eval_sexp' and
`shell_exec' ask.  Nil runs everything unasked, t asks every time.  A list
names the tools that ask.  A function is called with the name of the tool and
its input, and asks when it returns non-nil."
  :type '(choice (const :tag "Each tool decides" tool)
                 (const :tag "Never ask" nil)
                 (const :tag "Always ask" t)
                 (repeat :tag "Only these tools" string)
                 function))

(defcustom efrit-do-confirm-function #'efrit-do-ask
  "Function that asks the user whether a tool call may run.
It is called with the name of the tool and the text of the call.  It returns
`yes', `no', `always' (yes, and do not ask for this tool again in this
session) or `quit' (stop the session); any other value means `no'."
  :type 'function)

(defvar efrit-do-allowed-tools nil
  "Names of the tools that the user allowed for the rest of a session.")

(define-error 'efrit-do-refused "The user refused" 'todo-write-error)

(defun efrit-do--call-text (values)
  "Return the argument VALUES of a call as text for a person to judge."
  (todo-write-row-plain-lines
   (mapconcat (lambda (value) (if (stringp value) value (format "%S" value)))
              (delq nil (copy-sequence values)) "\n")))

(defun efrit-do-ask (name text)
  "Ask whether the tool NAME may run with TEXT; see `efrit-do-confirm-function'.
Signals `efrit-do-refused' in a batch Emacs, which cannot ask."
  (when noninteractive
    (signal 'efrit-do-refused
            (list (format "%s needs the user's consent, and nobody is there \
to ask (see `efrit-do-confirm')" name))))
  (let ((buffer (get-buffer-create "*efrit-do call*")))
    (with-current-buffer buffer
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert text)
        (goto-char (point-min)))
      (special-mode))
    (save-window-excursion
      (display-buffer buffer '(display-buffer-at-bottom
                               (window-height . fit-window-to-buffer)))
      (unwind-protect
          (pcase (car (read-multiple-choice
                       ;; The window may be too small to show all lines.
                       (format "Let the agent run this %s (%d lines)?" name
                               (with-current-buffer buffer
                                 (count-lines (point-min) (point-max))))
                       '((?y "yes") (?n "no")
                         (?! "always" "Yes, and this tool need not ask again \
in this session")
                         (?q "quit" "Stop the session"))))
            (?y 'yes) (?! 'always) (?q 'quit) (_ 'no))
        (kill-buffer buffer)))))

(defun efrit-do--ask (name text)
  "Ask whether the tool NAME may run with TEXT; the agent waits meanwhile.
See `efrit-do-confirm-function' for the value."
  (unwind-protect
      (progn
        (when efrit-do-thread
          (todo-write-set-activity efrit-do-thread 'waiting (concat "permission: " name)))
        (funcall efrit-do-confirm-function name text))
    (when efrit-do-thread
      (todo-write-set-activity efrit-do-thread 'working))))

(defun efrit-do--require-consent (tool input values)
  "Ask the user, if need be, whether TOOL may run.
INPUT is what the model sent, VALUES are the arguments read from it.  Signals
`efrit-do-refused' if the answer is no, and quits if the user wants to stop."
  (let ((name (efrit-do-tool-name tool))
        (confirm (efrit-do-tool-confirm tool)))
    (when (and (not (member name efrit-do-allowed-tools))
               (pcase efrit-do-confirm
                 ('nil nil)
                 ('t t)
                 ('tool (if (functionp confirm) (apply confirm values) confirm))
                 ((pred functionp) (funcall efrit-do-confirm name input))
                 ((pred listp) (member name efrit-do-confirm))))
      (pcase (efrit-do--ask name (efrit-do--call-text values))
        ('yes)
        ('always (cl-pushnew name efrit-do-allowed-tools :test #'equal))
        ('quit (signal 'quit nil))
        (_ (signal 'efrit-do-refused
                   (list (format "the user did not allow this call of %s" name))))))))

;;; Running

(defun efrit-do-error-text (problem)
  "Return a sentence for PROBLEM, the value caught by `condition-case'."
  (if (and (stringp (cadr problem))
           (or (eq (car problem) 'error)
               (memq 'todo-write-error (get (car problem) 'error-conditions))))
      (cadr problem)
    (error-message-string problem)))

(defun efrit-do-clip (text &optional cut)
  "Return TEXT, its middle left out if over `efrit-do-output-limit'.
CUT is the number of characters that its middle lost before."
  (let* ((half (/ efrit-do-output-limit 2))
         (length (length text))
         (over (+ (- length (* 2 half)) (or cut 0))))
    (if (and (<= length efrit-do-output-limit) (not cut))
        text
      (concat (substring text 0 half)
              (format "\n[… %d characters left out …]\n" over)
              (substring text (- length half))))))

(defun efrit-do--outcome (value)
  "Return VALUE, which a tool returned, as a plist `:content' `:is-error' ….
Such a plist is returned as it is."
  (if (and (consp value) (eq (car value) :content))
      value
    (list :content (efrit-do-clip
                    (if (stringp value)
                        (substring-no-properties value)
                      (let ((print-circle t)) (prin1-to-string value))))
          :is-error nil)))

(defun efrit-do--failure (text)
  "Return the outcome of a call that failed for the reason TEXT."
  (list :content (efrit-do-clip (concat "Error: " text)) :is-error t))

(defun efrit-do--call-async (tool values then)
  "Call TOOL, an asynchronous one, with VALUES and THEN with the outcome.
THEN is called once, at the answer or at the time limit."
  (let* (timer done
         (answer (lambda (outcome)
                   (unless done
                     (setq done t)
                     (when timer (cancel-timer timer))
                     (funcall then outcome)))))
    (setq timer (run-at-time
                 efrit-do-time-limit nil
                 (lambda ()
                   (funcall answer
                            (efrit-do--failure
                             (format "no answer within %s seconds"
                                     efrit-do-time-limit))))))
    (apply (efrit-do-tool-function tool)
           (lambda (value) (funcall answer (efrit-do--outcome value)))
           values)))

(defun efrit-do-call-tool (name input then)
  "Run the tool NAME with INPUT; call THEN with the outcome.
See `efrit-do-execute-tool' for INPUT and the outcome.  THEN is called before
this returns unless the tool is an asynchronous one.  A quit passes through."
  (let ((outcome
         (condition-case problem
             (let* ((tool (or (efrit-do-get-tool name)
                              (signal 'todo-write-error
                                      (list (format "There is no tool `%s'; there is: %s"
                                                    name (string-join (efrit-do-tool-names)
                                                                      ", "))))))
                    (values (efrit-do--read-arguments tool input)))
               (efrit-do--require-consent tool input values)
               (if (efrit-do-tool-async tool)
                   (progn (efrit-do--call-async tool values then) nil)
                 (efrit-do--outcome (apply (efrit-do-tool-function tool) values))))
           (error (efrit-do--failure (efrit-do-error-text problem))))))
    (when outcome (funcall then outcome))))

(defun efrit-do-execute-tool (name input)
  "Run the tool NAME with INPUT and return its outcome.
INPUT is a JSON text, hash table, plist or alist.  The outcome is a plist:
`:content', the text for the model, and `:is-error', non-nil if the call
failed.  An unknown tool, wrong arguments, a refusal and every error of the
tool are such failures; only a quit leaves this function."
  (let (outcome)
    (efrit-do-call-tool name input (lambda (value) (setq outcome value)))
    (while (not outcome)
      (accept-process-output nil 0.05))
    outcome))

(provide 'efrit-do-tools)
;;; efrit-do-tools.el ends here
