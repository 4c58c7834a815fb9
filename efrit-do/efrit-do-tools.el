;;; efrit-do-tools.el --- The tools an agent may call -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The registry of tools, the function that runs one, and the tools of this package.  It
;; reads the arguments, asks the user if the tool needs consent, calls the tool when the
;; user has answered, and shortens long output.

;;; Code:

(require 'todo-write)
(require 'todo-write-calls)
(require 'todo-write-request)

(defgroup efrit-do nil
  "An agent that works in Emacs and shows its plan."
  :group 'todo-write
  :prefix "efrit-do-")

;; Customize loads these files before it shows a group.
;;;###autoload
(progn
  (custom-add-load 'todo-write 'efrit-do-tools)
  (put 'efrit-do 'custom-loads
       '(efrit-do-gptel efrit-do-replay efrit-do-run efrit-do-session efrit-do-tools)))

(defvar efrit-do-time-limit 60
  "Seconds after which a shell command is stopped.")

(defvar efrit-do-output-limit 20000
  "Maximum length of a tool's result, in characters.
The middle of a longer result is replaced by the number of characters left out.")

(cl-defstruct (efrit-do-tool (:constructor efrit-do-make-tool) (:copier nil))
  "A tool that the agent may call."
  (name nil :documentation "A string in snake_case.")
  (description nil :documentation "What it does, for the model, in a line or two.")
  (args nil :documentation "List of plists `:name' `:description' `:type'
\(a JSON type) `:optional' and, for arrays, `:items', in the order in which
FUNCTION takes them; or a function that returns such a list, as FUNCTION then
takes the unchecked input as its only argument.")
  (function nil :documentation "Function of the arguments.  It returns a string,
another value, which is printed, or a plist (:content STRING :is-error BOOL
:buffer NAME :exit-code NUMBER), which is used unchanged; the user is offered
the buffer called NAME.  Strings and printed values are shortened.  An error
becomes a result.")
  (confirm nil :documentation "Non-nil to ask the user first, or a function of
the arguments that returns non-nil to ask.")
  (async nil :documentation "Non-nil if FUNCTION has a callback for the result as
its first argument.")
  (format nil :documentation "What its arguments are when they are shown to the
user, as for `todo-write-request': `shell', `lisp' or nil for text."))

(defvar efrit-do-tools nil
  "The tools, a list of `efrit-do-tool', in the order they are offered.
Change it with `efrit-do-register-tool'.")

(cl-defstruct (efrit-do-context (:constructor efrit-do-make-context) (:copier nil))
  "For whom tools run."
  (thread (concat (todo-write--project) "#efrit-do") :documentation "Key of the thread
that `todo_write' writes to, by default the project's.")
  (directory default-directory :documentation "Where they run.")
  (origin (current-buffer) :documentation "The buffer in which they run if it lives.")
  (allowed nil :documentation "Names of tools that need no further consent.")
  (tools nil :documentation "Tools that only this one may call, a list.")
  (unattended nil :documentation "Non-nil while Lisp waits for the calls, so
that the user cannot answer a question."))

(defvar efrit-do-context nil
  "For whom the tool that runs does so, such as a session, or nil if none runs.")

(defun efrit-do-register-tool (&rest slots)
  "Register a tool for agents, and return it.
SLOTS are keywords and values for `efrit-do-tool'.  It replaces a tool of the
same `:name'."
  (let ((tool (apply #'efrit-do-make-tool slots)))
    (setq efrit-do-tools (append (remq (efrit-do-get-tool (efrit-do-tool-name tool))
                                       efrit-do-tools)
                                 (list tool)))
    tool))

(defun efrit-do-get-tool (name)
  "Return the tool called NAME, or nil."
  (seq-find (lambda (tool) (equal (efrit-do-tool-name tool) name))
            (append (and efrit-do-context (efrit-do-context-tools efrit-do-context))
                    efrit-do-tools)))

(defun efrit-do-tool-names ()
  "Return the names of the tools that an agent may call."
  (mapcar #'efrit-do-tool-name efrit-do-tools))

(defun efrit-do-tools--read-arguments (tool input)
  "Return the argument values of TOOL from INPUT, in order.
INPUT is a JSON text, hash table, plist or alist; any other one has no
arguments.  Signal `todo-write-input-error' if some are missing."
  (if (functionp (efrit-do-tool-args tool))
      (list input)
    (let* ((fields (todo-write-json-fields (todo-write-json-parsed input)))
           (missing nil)
           (values (mapcar
                    (pcase-lambda ((map :name :type :optional))
                      (let ((value (cdr (assoc name fields))))
                        (cond ((not (memq value '(nil :null))) value)
                              ((or optional (equal (format "%s" type) "boolean")) nil)
                              (t (push (format "`%s' (%s)" name type) missing) nil))))
                    (efrit-do-tool-args tool))))
      (when missing
        (signal 'todo-write-input-error
                (list (concat "Missing arguments: " (string-join (nreverse missing) ", ")))))
      values)))

;;; Consent

(defcustom efrit-do-confirm 'tool
  "Which tool calls need the user's consent.
`tool' means that each tool decides: of the built-in ones, `eval_sexp' and
`shell_exec' ask.  Nil means none, and t all.  A list has the names of tools
that ask."
  :type '(choice (const :tag "Each tool decides" tool)
                 (const :tag "Never ask" nil)
                 (const :tag "Always ask" t)
                 (repeat :tag "Only these tools" string))
  :package-version '(efrit-do . "0.2.0"))

(defun efrit-do-tools--confirm-p (tool values)
  "Return non-nil if the user must be asked before TOOL runs with VALUES."
  (let ((name (efrit-do-tool-name tool))
        (confirm (efrit-do-tool-confirm tool)))
    (and (not (member name (efrit-do-context-allowed efrit-do-context)))
         (pcase efrit-do-confirm
           ('t t)
           ('tool (if (functionp confirm) (apply confirm values) confirm))
           (names (member name names))))))

(defun efrit-do-tools--ask (tool values then)
  "Ask whether TOOL may run with VALUES; call THEN later with the outcome.
It has :quit if the user stops the session.  The question is a request of
the agent, which \\[todo-write-answer] shows.  Where the user cannot answer it, in a
batch Emacs and while Lisp waits for the call, the tool does not run."
  (let* ((name (efrit-do-tool-name tool))
         (text (mapconcat (lambda (value) (if (stringp value) value (format "%S" value)))
                          (delq nil (copy-sequence values)) "\n"))
         (context efrit-do-context)
         (thread (efrit-do-context-thread context))
         (answered
          ;; ANSWER is nil if the question was withdrawn.
          (lambda (&optional answer message)
            (let ((efrit-do-context context))
              ;; The user may have changed files meanwhile.
              (todo-write-calls-refresh thread)
              (when (eq answer 'always)
                (push name (efrit-do-context-allowed context)))
              (if (memq answer '(yes always))
                  (efrit-do-tools--run tool values then)
                (funcall then (efrit-do-tools--failure
                               (format "the user did not allow this call of %s%s" name
                                       (if message (concat ": " message) ""))
                               :refused t :quit (eq answer 'quit))))))))
    (if (or noninteractive (efrit-do-context-unattended context))
        (funcall then (efrit-do-tools--failure
                       (format "%s needs the user's consent, and %s (see `efrit-do-confirm')" name
                               (if noninteractive "Emacs runs in batch mode"
                                 "Emacs waits for this call"))
                       :refused t))
      (todo-write-request
       thread
       :id (symbol-name (gensym "efrit-do-"))
       :kind 'permission
       :title (concat name ": " (todo-write-text-line text 100))
       :detail text
       :format (efrit-do-tool-format tool)
       :options
       `((:kind allow :value yes :label ,(format "Run this %s" name))
         (:kind always :value always
          :label ,(format "Run this and every later %s of this session" name))
         (:kind deny :value no :text t :label "Do not run it; the agent goes on")
         (:kind other :value quit :label "Stop the session"))
       ;; The tool runs when the user's key has done its work.
       :answer (lambda (value message) (run-at-time 0 nil answered value message))
       :withdrawn answered)
      (message "%s waits for your consent; M-x todo-write-answer shows it"
               (todo-write-text-line name)))))

;;; Running

(defun efrit-do-tools--clip (text)
  "Return TEXT without its middle if it exceeds `efrit-do-output-limit'."
  (todo-write-calls-clip text efrit-do-output-limit))

(defun efrit-do-tools--outcome (value)
  "Return VALUE of a tool as an outcome, a plist of `:content' and `:is-error'."
  (if (eq (car-safe value) :content)
      value
    (list :content (efrit-do-tools--clip (if (stringp value) value
                                           (let ((print-circle t)) (prin1-to-string value))))
          :is-error nil)))

(defun efrit-do-tools--failure (text &rest more)
  "Return the outcome of a call that failed for the reason TEXT, with MORE."
  `(:content ,(efrit-do-tools--clip (concat "Error: " text)) :is-error t . ,more))

(defun efrit-do-tools--run (tool values then)
  "Call TOOL with VALUES, and THEN once with the outcome.
It has :quit if the user interrupts TOOL."
  (let* ((origin (efrit-do-context-origin efrit-do-context))
         (directory (efrit-do-context-directory efrit-do-context))
         (answer (lambda (value)
                   (when then
                     (funcall (cl-shiftf then nil) (efrit-do-tools--outcome value)))))
         (outcome
          (condition-case problem
              (with-current-buffer (if (buffer-live-p origin) origin (current-buffer))
                (let ((default-directory directory)
                      (inhibit-quit nil))
                  (if (efrit-do-tool-async tool)
                      (ignore (apply (efrit-do-tool-function tool) answer values))
                    (efrit-do-tools--outcome (apply (efrit-do-tool-function tool) values)))))
            (error (efrit-do-tools--failure (todo-write-core-error-text problem)))
            (quit (efrit-do-tools--failure "interrupted by the user" :quit t)))))
    (when outcome (funcall answer outcome))))

(defun efrit-do-call-tool (name input then)
  "Run the tool NAME with INPUT; call THEN with the outcome.
See `efrit-do-execute-tool' for INPUT and the outcome.  Unless the tool is
asynchronous or waits for the user's consent, THEN is called before this
returns."
  (let ((efrit-do-context (or efrit-do-context (efrit-do-make-context))))
    (funcall
     (condition-case problem
         (let* ((tool (or (efrit-do-get-tool name)
                          (signal 'todo-write-error
                                  (list (format "There is no tool `%s'; there is: %s" name
                                                (string-join (efrit-do-tool-names) ", "))))))
                (values (efrit-do-tools--read-arguments tool input)))
           (apply-partially (if (efrit-do-tools--confirm-p tool values)
                                #'efrit-do-tools--ask
                              #'efrit-do-tools--run)
                            tool values then))
       (error (apply-partially
               then (efrit-do-tools--failure (todo-write-core-error-text problem))))))))

(defun efrit-do-execute-tool (name input)
  "Run the tool NAME with INPUT and return its outcome.
INPUT is a JSON text, hash table, plist or alist.  The outcome is a plist:
`:content', the text for the model, and `:is-error', non-nil if the call
failed.  Unknown tools, wrong arguments, refusals, errors of the tool and a
quit in it are failures, and so is a call that needs the user's consent, for
which this cannot wait; see `efrit-do-call-tool'."
  (let ((efrit-do-context (copy-sequence (or efrit-do-context (efrit-do-make-context))))
        outcome)
    (setf (efrit-do-context-unattended efrit-do-context) t)
    (efrit-do-call-tool name input (lambda (value) (setq outcome value)))
    (while (not outcome)
      (accept-process-output nil 0.05))
    outcome))

;;; The tools that come with this package

;; The arguments of a call come from a model.  Only `eval_sexp' and `shell_exec'
;; execute them, and both ask first.  The other tools treat them as data.

(defconst efrit-do-tools--longest-file (* 2 1024 1024)
  "Maximum size of a file that `read_file' reads, in bytes.")

(defconst efrit-do-tools--longest-output (* 50 1024 1024)
  "Characters after which a command is stopped, or they might fill the memory.")

(defun efrit-do-tools--shell-exec (command)
  "Run the shell COMMAND in the session's directory and return its output."
  (with-temp-buffer
    (let* ((process-environment (append '("TERM=dumb" "PAGER=cat" "GIT_PAGER=cat")
                                        process-environment))
           (process (make-process
                     :name "efrit-do-shell" :buffer (current-buffer)
                     :command (list shell-file-name shell-command-switch command)
                     :connection-type 'pipe :noquery t :file-handler t :sentinel #'ignore))
           (end (+ (float-time) efrit-do-time-limit)))
      (unwind-protect
          (progn
            ;; The process may have exited already.
            (ignore-errors (process-send-eof process))
            (while (and (or (process-live-p process)
                            (accept-process-output process 0))
                        (< (float-time) end)
                        (< (buffer-size) efrit-do-tools--longest-output))
              (accept-process-output process 0.1))
            (let* ((code (process-exit-status process))
                   (exited (eq (process-status process) 'exit))
                   (note (cond ((and (process-live-p process) (< (float-time) end))
                                "[stopped after too much output]")
                               ((process-live-p process)
                                (format "[stopped after %s seconds]" efrit-do-time-limit))
                               ((not exited) (format "[killed by signal %d]" code))
                               ((/= code 0) (format "[exit code %d]" code)))))
              (goto-char (point-max))
              (when note
                (insert (if (bolp) "" "\n") note))
              (list :content (if (bobp) "(no output)" (efrit-do-tools--clip (buffer-string)))
                    :is-error (and note t)
                    :exit-code (and exited code))))
        (delete-process process)))))

(defun efrit-do-tools--read-file (path &optional first last)
  "Return the text of the file PATH, or its lines FIRST to LAST.
PATH comes from a model.  It is that of a local file: no file name handler
fetches it from another host, decrypts or decompresses it."
  (let* ((file-name-handler-alist nil)
         (file (expand-file-name path))
         ;; Nil for what is no regular file, also if a pipe has taken its place.
         (bytes (todo-write-core-file-bytes file (1+ efrit-do-tools--longest-file)))
         (first (max 1 (or first 1))))
    (when-let* ((problem (cond ((file-directory-p file) "is a directory")
                               ((not (file-exists-p file)) "does not exist on this machine")
                               ((not bytes) "is not a regular file that you may read")
                               ((length> bytes efrit-do-tools--longest-file)
                                (format "has more than %d bytes, the limit; read a part of it \
another way" efrit-do-tools--longest-file))
                               ((string-search "\0" (seq-take bytes 8192)) "is a binary file"))))
      (signal 'todo-write-error (list (format "%s %s" file problem))))
    (with-temp-buffer
      (insert (decode-coding-string bytes 'undecided))
      (goto-char (point-min))
      (forward-line (1- first))
      (let ((start (point)))
        (forward-line (if last (max 0 (- (1+ last) first)) (buffer-size)))
        (if (= start (point)) "(no text there)"
          (buffer-substring-no-properties start (point)))))))

;;; Their registration

(efrit-do-register-tool
 :name "todo_write"
 :description "Show the user your plan: pass the complete task list each time."
 ;; It reads, repairs and refuses its input itself.
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
 :function
 (lambda (expr)
   (pcase-let ((`(,form . ,end) (read-from-string expr)))
     (unless (string-match-p "\\`\\(?:[ \t\n\r\f]\\|;.*$\\)*\\'" (substring expr end))
       (signal 'todo-write-input-error
               '("More text follows the expression; wrap several in progn")))
     (let* ((print-circle t)
            (value nil)
            (printed (with-output-to-string (setq value (eval form t)))))
       (concat (prin1-to-string value)
               (unless (string-empty-p printed)
                 (concat "\nPrinted:\n" printed)))))))

(efrit-do-register-tool
 :name "shell_exec" :confirm t :format 'shell
 :description "Run a shell command in the project and return its output."
 :args '((:name "command" :type "string" :description "The command."))
 :function #'efrit-do-tools--shell-exec)

(efrit-do-register-tool
 :name "buffer_create"
 :description "Make a new buffer that the user can show."
 :args '((:name "name" :type "string" :description "Its name.")
         (:name "content" :type "string" :description "Its text."))
 :function
 (lambda (name content)
   ;; If there is one of that name, it gets another one.
   (with-current-buffer (generate-new-buffer (todo-write-text-plain name))
     (insert (substring-no-properties content))
     (goto-char (point-min))
     ;; RET on the call in the plan shows it: the user's windows are the user's.
     (list :content (format "Made buffer %s (%d characters)" (buffer-name) (buffer-size))
           :is-error nil :buffer (buffer-name)))))

(efrit-do-register-tool
 :name "read_file"
 :description "Return the text of a file, or some of its lines."
 :args '((:name "path" :type "string"
          :description "The file, relative to the project.")
         (:name "first_line" :type "integer" :optional t
          :description "First line to return, from 1.")
         (:name "last_line" :type "integer" :optional t
          :description "Last line to return."))
 :function #'efrit-do-tools--read-file)

(provide 'efrit-do-tools)
;;; efrit-do-tools.el ends here
