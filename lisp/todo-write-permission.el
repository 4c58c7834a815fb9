;;; todo-write-permission.el --- Answer dialogs of agents by the socket  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; While a dialog of Claude Code stands in its terminal, its hook `todo-write-mcp
;; permission' passes the question to this Emacs through the socket; see
;; todo-write-socket.el.  This file makes a request of it, which
;; `M-x todo-write-answer' shows, and passes the user's answer back.
;;
;; The first answer counts.  The hook closes its connection when the terminal has
;; answered or the session has ended, and the request is withdrawn.  A request that is
;; withdrawn here ends the hook without an answer, and the dialog stays.
;;
;; Codex needs no hook: a thread of the hub passes on what its daemon asks, in the same
;; form; see `todo-write-socket-codex-folders'.  Other programs, such as the plugin for
;; opencode, have readers of their own; see `todo-write-permission-readers'.

;;; Code:

(require 'todo-write)
(require 'todo-write-json)
(require 'todo-write-note)
(require 'todo-write-request)
(require 'todo-write-socket)
(require 'todo-write-text)

(cl-defstruct (todo-write-permission--call (:constructor todo-write-permission--make-call)
                                           (:copier nil))
  "A hook that waits for an answer.
PROGRAM is that, MESSAGE its call.  THREAD and ID are those of
the request.  SUBAGENT is the id of the subagent that asks, or nil.  INPUT is
\(TOOL . INPUT) if the hook cannot detect an answer in the terminal, else nil."
  program message thread id subagent input)

(defvar todo-write-permission--calls nil
  "The hooks that wait for an answer.")

(defvar todo-write-permission-readers
  '(("CodexRequest" todo-write-permission--codex))
  "Functions for the questions of other agents than Claude Code.
The value is a list of (EVENT FUNCTION).  EVENT is the name of an event,
and FUNCTION returns the request of the event's input, decoded JSON, or
nil if the user is not to be asked.  It is as for `todo-write-request',
with `:answerable'; see `todo-write-permission--request'.  Several such
questions of an agent may be open at once, and its program cancels those
that were answered there.")

;;; Messages

(defun todo-write-permission--receive (program message)
  "Handle MESSAGE of PROGRAM, a hook.
See `todo-write-socket--roles'."
  (pcase (plist-get message :type)
    ('call (let* ((input (json-parse-string (or (plist-get message :arguments) "null")
                                            :null-object nil :false-object nil))
                  (thread (todo-write-socket-thread program message))
                  (event (if (hash-table-p input) (todo-write-json-get input "hook_event_name")
                           (error "The question is not an object"))))
             (if (or (equal event "PermissionRequest") (assoc event todo-write-permission-readers))
                 (todo-write-permission--ask program message thread input)
               (todo-write-permission--ask-nothing program message))))
    ((or 'closed 'bye 'cancel)
     (dolist (call todo-write-permission--calls)
       (when (and (eq program (todo-write-permission--call-program call))
                  (or (not (eq 'cancel (plist-get message :type)))
                      (eql (plist-get message :call)
                           (plist-get (todo-write-permission--call-message call) :call))))
         (todo-write-permission--forget call)
         (todo-write-withdraw (todo-write-permission--call-thread call)
                              (todo-write-permission--call-id call)))))))

(defun todo-write-permission--ask-nothing (program message)
  "Answer MESSAGE of PROGRAM: the user does not want to be asked that."
  (todo-write-socket-answer program message nil "The user is not asked."))

(defun todo-write-permission--ask (program message thread input)
  "Make a request of MESSAGE of PROGRAM.
INPUT is its decoded input, of the agent of THREAD."
  (let* ((reader (cadr (assoc (todo-write-json-get input "hook_event_name")
                              todo-write-permission-readers)))
         (request (if reader (funcall reader input)
                    (todo-write-permission--request
                     input (todo-write-socket-project program)
                     (null (todo-write-socket-program-remote program)))))
         (call (todo-write-permission--make-call
                ;; The question itself is in the request.
                :program program :message (list :call (plist-get message :call))
                :thread thread
                ;; A hook may call again on the same connection.
                :id (symbol-name (gensym "permission-"))
                :subagent (plist-get message :subagent))))
    (if (null request)
        (todo-write-permission--ask-nothing program message)
      (unless (plist-get (todo-write-about thread) :project)
        (todo-write-begin thread :project (todo-write-socket-project program)))
      (todo-write-socket-set-title thread nil)
      ;; Dialogs of an agent come one after the other: the terminal has answered others.
      (unless (or reader (todo-write-permission--call-subagent call))
        (dolist (other todo-write-permission--calls)
          (when (and (equal thread (todo-write-permission--call-thread other))
                     (not (todo-write-permission--call-subagent other)))
            (todo-write-withdraw thread (todo-write-permission--call-id other)))))
      (push call todo-write-permission--calls)
      (add-hook 'todo-write-events-functions #'todo-write-permission--on-event)
      (unless (or reader (equal "process" (plist-get message :source)))
        ;; Only the hook `note' can tell that the terminal has answered.
        (setf (todo-write-permission--call-input call)
              (cons (todo-write-json-get input "tool_name")
                    (todo-write-json-get input "tool_input")))
        (todo-write-permission--watch thread))
      (todo-write-request-add
       thread
       `( :id ,(todo-write-permission--call-id call)
          :process ,(todo-write-socket-pid program)
          :answer ,(and (plist-get request :answerable)
                        (lambda (value text)
                          (todo-write-permission--answer call value text)))
          :title ,(concat (and (todo-write-json-get input "agent_id")
                               (format "subagent %s: " (todo-write-json-string input "agent_type")))
                          (plist-get request :title))
          ,@request)
       ;; Nothing may say when the turn ends.
       nil))))

(defun todo-write-permission--on-event (thread what id)
  "End the hook whose request ID of THREAD was withdrawn.
WHAT is as in `todo-write-events-functions'."
  (when (eq what 'request)
    (dolist (call todo-write-permission--calls)
      (when (and (equal id (todo-write-permission--call-id call))
                 (equal thread (todo-write-permission--call-thread call))
                 (not (todo-write-request-get thread id)))
        (todo-write-permission--forget call)
        (todo-write-socket-answer (todo-write-permission--call-program call)
                                  (todo-write-permission--call-message call)
                                  nil "Withdrawn.")))))

(defun todo-write-permission--forget (call)
  "Let CALL no longer wait."
  (setq todo-write-permission--calls (delq call todo-write-permission--calls))
  (when (todo-write-permission--call-input call)
    (todo-write-permission--watch (todo-write-permission--call-thread call)))
  (unless todo-write-permission--calls
    (remove-hook 'todo-write-events-functions #'todo-write-permission--on-event)))

(defun todo-write-permission--watch (thread)
  "Have the hooks of THREAD's agent report its calls as long as that is needed."
  ;; Another subagent of the same thread may still wait.
  (setq todo-write-note-waiting
        (mapcar #'todo-write-permission--call-thread
                (seq-filter #'todo-write-permission--call-input todo-write-permission--calls)))
  (funcall (if todo-write-note-waiting #'add-hook #'remove-hook)
           'todo-write-note-said-functions #'todo-write-permission--withdraw-answered)
  (todo-write-note-update thread))

(defun todo-write-permission--withdraw-answered (thread event)
  "Withdraw the requests of THREAD that its agent no longer waits for.
EVENT is from the hook `note'.  The end of a turn answers all requests,
a tool call its own."
  (dolist (call todo-write-permission--calls)
    (when (and (equal thread (todo-write-permission--call-thread call))
               (or (equal "Stop" (todo-write-json-get event "event"))
                   (pcase (todo-write-permission--call-input call)
                     (`(,tool . ,input)
                      (and (equal tool (todo-write-json-get event "tool_name"))
                           (equal (todo-write-request-json input)
                                  (todo-write-request-json
                                   (todo-write-json-get event "tool_input"))))))))
      (todo-write-withdraw thread (todo-write-permission--call-id call)))))

(defun todo-write-permission--answer (call value text)
  "Answer CALL by VALUE, a plist for the hook or an alist of answers, and TEXT.
TEXT is a message with a no, or the edited plan that a yes approves."
  (let ((program (todo-write-permission--call-program call)))
    (todo-write-permission--forget call)
    (unless (todo-write-socket-live-p program)
      (signal 'todo-write-error '("The agent no longer waits for this")))
    (todo-write-socket-answer
     program (todo-write-permission--call-message call) t "Answered."
     (cond ((consp (car value))
            (list :behavior "allow"
                  :answers (todo-write-permission--answers
                            value (lambda (answers) (string-join answers ", ")))
                  :choices (todo-write-permission--answers value #'vconcat)))
           ((and text (equal "allow" (plist-get value :behavior)))
            (append value (list :plan (todo-write-socket-unicode text))))
           (text (append value (list :message (todo-write-socket-unicode text))))
           (t value)))))

(defun todo-write-permission--answers (value join)
  "Return VALUE, an alist of questions and answers, as an object for the hook.
JOIN makes one value of a list of answers."
  (let ((object (make-hash-table :test #'equal)))
    (pcase-dolist (`(,question . ,answer) value)
      (puthash question (funcall join (mapcar #'todo-write-socket-unicode (ensure-list answer)))
               object))
    object))

;;; What is asked

(defun todo-write-permission--request (input project local)
  "Return the request that the hook's INPUT asks, a plist.
It is as for `todo-write-request', with `:answerable', which is nil if
only the terminal can answer.  PROJECT is the root of the project; unless
LOCAL is nil, files in it can be read."
  (let ((tool (todo-write-json-string input "tool_name"))
        (given (todo-write-json-get input "tool_input")))
    (pcase tool
      ("AskUserQuestion" (todo-write-permission-question given "multiSelect"))
      ("ExitPlanMode" (todo-write-permission--plan given))
      (_ (todo-write-permission--permission
          tool given (todo-write-json-get input "permission_suggestions") project local)))))

(defun todo-write-permission-question (given multiple)
  "Return the request for GIVEN, the input of AskUserQuestion.
MULTIPLE is the name of the field of a question with several answers."
  (let ((questions
         (cl-loop for question in (todo-write-request-first
                                   (todo-write-json-get given "questions") 'questions)
                  collect (list :question (todo-write-json-string question "question")
                                :header (todo-write-json-string question "header")
                                :multiple (and (todo-write-json-get question multiple) t)
                                :options
                                (cl-loop
                                 for option in (todo-write-request-first
                                                (todo-write-json-get question "options") 'options)
                                 for label = (todo-write-json-string option "label")
                                 unless (string-empty-p label)
                                 collect (list :label label
                                               :description (todo-write-json-string
                                                             option "description")))))))
    (list :kind 'question
          :title (if questions (plist-get (car questions) :question) "A question")
          :questions questions
          :options '((:label "No answer" :value (:behavior "deny") :kind deny :text t))
          ;; The questions are the keys of the answers.
          :answerable (let ((texts (mapcar (lambda (question) (plist-get question :question))
                                           questions)))
                        (and texts (not (member "" texts))
                             (equal texts (seq-uniq texts)))))))

(defun todo-write-permission--plan (given)
  "Return the request for GIVEN, the input of ExitPlanMode.
A plan without its text can be approved only in the terminal."
  (let ((plan (todo-write-json-filled given "plan")))
    (list :kind 'plan :title "Approve the plan?"
          :detail (or plan "The plan is only in the terminal.")
          :format 'markdown
          ;; Without a mode, the one before the plan comes back, which may be auto.
          :options '((:label "Approve the plan, and ask before each edit"
                      :value (:behavior "allow" :mode "default") :kind allow :text edited)
                     (:label "Approve the plan, and accept all edits in this session"
                      :value (:behavior "allow" :mode "acceptEdits") :kind always :text edited)
                     (:label "Approve the plan, and go on in auto mode, which asks seldom"
                      :value (:behavior "allow" :mode "auto") :kind always :text edited)
                     (:label "Keep planning" :value (:behavior "deny") :kind deny :text t))
          :answerable plan)))

(defun todo-write-permission-to-use (tool call always &rest refusals)
  "Return the request to use TOOL, with the options ALWAYS and REFUSALS.
Without REFUSALS, it is a no, with which a message may go along.
CALL is (WHAT FORMAT DETAIL): what it is used for, a string or nil, and
what a request has of it."
  (pcase-let ((`(,what ,format ,detail) call))
    `( :kind permission
       :title ,(concat tool (and what ": ")
                       (cond ((null what) nil)
                             ((eq format 'shell) (todo-write-text-command what 200))
                             (t (todo-write-text-line what 200))))
       :detail ,detail :format ,format
       :options ((:label "Yes" :value (:behavior "allow") :kind allow)
                 ,@always
                 ,@(or refusals
                       '((:label "No" :value (:behavior "deny") :kind deny :text t))))
       :answerable t)))

(defun todo-write-permission--permission (tool given suggestions project local)
  "Return the request to use TOOL with the input GIVEN.
SUGGESTIONS are Claude Code's for what to allow always.  PROJECT and LOCAL
are as in `todo-write-permission--request'."
  (let ((excess (or (and (hash-table-p given)
                         (todo-write-request-excess (hash-table-count given) 'fields))
                    (todo-write-request-excess
                     (length (todo-write-request-first (todo-write-json-get given "edits")
                                                       'fields))
                     'fields))))
    `( ,@excess :answerable ,(not (or excess (string-empty-p tool)))
       ,@(todo-write-permission-to-use
          tool (unless excess (todo-write-permission--detail tool given project local))
          (todo-write-permission--always suggestions)))))

;;; Codex

(defun todo-write-permission--codex (input)
  "Return the request for INPUT, a question of Codex.
Return nil if Codex is left to its terminal."
  (let ((tool (todo-write-json-string input "tool_name"))
        (given (todo-write-json-get input "tool_input")))
    (cond
     ((null todo-write-socket-codex-folders) nil)
     ((todo-write-json-get input "elsewhere")
      (let ((words (todo-write-json-string given "question")))
        (list :kind 'permission :title (todo-write-text-line words 200) :detail words)))
     ;; A question of Codex can be answered, but not refused.
     ((equal tool "AskUserQuestion")
      `(:options nil ,@(todo-write-permission-question given "multiSelect")))
     (t
      (todo-write-permission-to-use
       tool
       (if (equal tool "Command")
           (todo-write-permission-of-command (todo-write-json-string given "command") given)
         (list (todo-write-json-string given "file_path") 'diff
               (lambda ()
                 (concat (todo-write-json-string given "diff")
                         (todo-write-request-fields given "\n" "diff" "file_path")))))
       (todo-write-permission--always (todo-write-json-get input "permission_suggestions"))
       ;; The daemon takes no message with a no.
       '(:label "No" :value (:behavior "deny") :kind deny)
       '(:label "No, and stop the turn" :value (:behavior "deny" :interrupt t) :kind other))))))

(defun todo-write-permission--codex-words (suggestion)
  "Return what SUGGESTION of Codex allows always, in words, or nil if unknown."
  (cl-flet ((strings (name)
              (let ((all (todo-write-request-first (todo-write-json-get suggestion name)
                                                   'options)))
                (and all (seq-every-p #'stringp all)
                     (not (todo-write-request-excess (length all) 'options))
                     all))))
    (pcase (todo-write-json-string suggestion "type")
      ("codexSession" "Do not ask again for this command in this session")
      ("codexPrefix"
       (when-let* ((words (strings "words")))
         (format-message "Always allow commands that begin with `%s' in all projects"
                         (combine-and-quote-strings words))))
      ("codexFiles"
       (when-let* ((files (strings "files")))
         (format "Allow all changes of %s in this session" (string-join files ", ")))))))

;;; What is allowed always

(defun todo-write-permission--always (suggestions)
  "Return options that allow always what SUGGESTIONS, a vector, say.
A suggestion that has no words here is left out."
  (cl-loop for suggestion in (todo-write-request-first suggestions 'options)
           for number from 0
           for words = (or (todo-write-permission--words suggestion)
                           (todo-write-permission--codex-words suggestion))
           when words
           collect (list :label words :kind 'always
                         :value (list :behavior "allow" :suggestion number))))

(defun todo-write-permission--words (suggestion)
  "Return what SUGGESTION allows always, in words, or nil if that is unknown.
That of too many parts to be read has no words, either."
  (cl-flet ((parts (name) (todo-write-request-first (todo-write-json-get suggestion name)
                                                    'options)))
    (let* ((place (pcase (todo-write-json-string suggestion "destination")
                    ("session" "in this session")
                    ("localSettings" "in this project")
                    ("projectSettings" "in this project, for all who work on it")
                    ("userSettings" "in all projects")))
           (parts (pcase (todo-write-json-string suggestion "type")
                    ("addRules"
                     (and (equal "allow" (todo-write-json-string suggestion "behavior"))
                          (cons "Always allow"
                                (mapcar (lambda (rule)
                                          (let ((tool (todo-write-json-string rule "toolName"))
                                                (content (todo-write-json-get rule "ruleContent")))
                                            (cond ((string-empty-p tool) nil)
                                                  ((null content) (format "each call of %s" tool))
                                                  ((not (stringp content)) nil)
                                                  ((equal tool "Bash")
                                                   (format-message "`%s'" content))
                                                  (t (format "%s(%s)" tool content)))))
                                        (parts "rules")))))
                    ("addDirectories"
                     (cons "Always let it work in"
                           (mapcar (lambda (folder) (and (stringp folder) folder))
                                   (parts "directories"))))
                    ("setMode"
                     (pcase (todo-write-json-string suggestion "mode")
                       ("acceptEdits" '("Accept" "all edits of files in the project"))
                       ("bypassPermissions" '("Allow" "everything, without any question")))))))
      (and place (cdr parts) (not (memq nil parts))
           (not (todo-write-request-excess (length (cdr parts)) 'options))
           (format "%s %s %s" (car parts) (string-join (cdr parts) ", ") place)))))

;;; What it is about

(defun todo-write-permission--detail (tool given project local)
  "Return (WHAT FORMAT DETAIL) of a call of TOOL with the input GIVEN.
WHAT is a string or nil, DETAIL is as for `todo-write-request', and
PROJECT and LOCAL are as in `todo-write-permission--request'.  A large
text takes a while, for which nothing but its reader may wait."
  (let ((command (todo-write-json-get given "command"))
        (file (or (todo-write-json-get given "file_path")
                  (todo-write-json-get given "notebook_path"))))
    (cond ((and (stringp command) (member tool '("Bash" "PowerShell")))
           (todo-write-permission-of-command command given))
          ((and (stringp file) (todo-write-permission--change-p tool given))
           (list file 'diff
                 (lambda () (todo-write-permission--change tool given file project local))))
          (t (list (seq-find #'stringp (mapcar #'cdr (todo-write-json-fields given)))
                   'text
                   (lambda ()
                     (string-trim-left (todo-write-request-fields given "\n"))))))))

(defun todo-write-permission-of-command (command given)
  "Return (COMMAND FORMAT DETAIL) of a call that runs COMMAND with the input GIVEN."
  (list command 'shell
        (lambda () (concat command (todo-write-request-fields given "\n# " "command")))))

;;; Changes of files

(defconst todo-write-permission--changed
  `(("Write" ("content" . stringp))
    ("Edit" ("old_string" . stringp) ("new_string" . stringp))
    ("MultiEdit" ("edits" . ,(lambda (edits)
                               (and (vectorp edits)
                                    (seq-every-p
                                     (lambda (edit)
                                       (and (stringp (todo-write-json-get edit "old_string"))
                                            (stringp (todo-write-json-get edit "new_string"))))
                                     edits))))))
  "Tools that change files, with the fields and types that a diff shows.")

(defun todo-write-permission--change-p (tool given)
  "Return non-nil if a diff shows all that TOOL changes with the input GIVEN."
  (when-let* ((fields (cdr (assoc tool todo-write-permission--changed))))
    (cl-loop for (name . type) in fields
             always (funcall type (todo-write-json-get given name)))))

(defun todo-write-permission--change (tool given file project local)
  "Return the diff of GIVEN, with which TOOL changes FILE.
PROJECT and LOCAL are as in `todo-write-permission--request'."
  (let* ((used (mapcar #'car (cdr (assoc tool todo-write-permission--changed))))
         (content (and (member "content" used) (todo-write-json-get given "content")))
         (edits (cond (content nil)
                      ((member "edits" used) (append (todo-write-json-get given "edits") nil))
                      (t (list given))))
         (known (and local (todo-write-permission--file-text file project)))
         (old (if (eq known 'new) "" known))
         (all (lambda (name)
                (mapcar (lambda (edit) (todo-write-json-string edit name)) edits)))
         ;; It is nil if an edit does not apply, and `too-large' if the edits or their result are.
         (new (or content
                  (and old (todo-write-core-call todo-write-dyn--text-edited
                             old (funcall all "old_string") (funcall all "new_string")
                             (mapcar (lambda (edit) (todo-write-json-get edit "replace_all"))
                                     edits))))))
    (concat
     (cond
      ((and old (stringp new))
       (concat (todo-write-request-diff `((,file ,old ,new)))
               (if (eq known 'new) "\nThe file is new."
                 (and (equal old new) "\nNothing changes."))))
      (content (concat (todo-write-request-diff `((,file "" ,content)))
                       "\nThe whole new text; what it replaces is not shown."))
      (t (concat
          (todo-write-request-diff
           (mapcar (lambda (edit)
                     (list file (todo-write-json-string edit "old_string")
                           (todo-write-json-string edit "new_string")))
                   edits))
          (if (eq new 'too-large)
              "\nThe old and the new text; the result is too large to be compared with the file."
            "\nThe old and the new text; the file was not compared."))))
     (apply #'todo-write-request-fields given "\n" "file_path" used))))

(defun todo-write-permission--file-text (file project)
  "Return the text of FILE, which is in PROJECT, `new' if there is no file, or nil.
Links out of PROJECT are not followed, nothing but a regular file is
opened, and Emacs does not wait for a file system that does not answer."
  (and (file-name-absolute-p file)
       (not (string-prefix-p "~" file))
       (ignore-error (todo-write-input-error todo-write-journal-error)
         ;; A larger file is not compared.
         (todo-write-core-call todo-write-dyn--project-file file (expand-file-name project)
                               (ash 1 20)))))

(todo-write-socket-define-role "permission" #'todo-write-permission--receive)

(provide 'todo-write-permission)
;;; todo-write-permission.el ends here
