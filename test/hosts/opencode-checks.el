;;; opencode-checks.el --- The plugin for the genuine opencode  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; opencode runs in a terminal with the plugin that `todo-write-mcp setup opencode'
;; installs, and its model keeps todos and calls tools that need a
;; permission.  The user answers in this Emacs or in the terminal; Emacs and opencode
;; come and go.  Nothing may run that the user did not allow, and whenever Emacs does
;; not answer, the terminal must.  opencode.sh runs this.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'hosts-helper)
(require 'machine-helper)
(require 'todo-write-agent)
(require 'todo-write-mcp-helper)
(require 'todo-write-mock-helper)
(require 'todo-write-tell)
(require 'todo-write-permission)
(require 'todo-write-socket-helper)

(defvar opencode-checks--home nil
  "The home of opencode, the same for all checks: the first start takes long.")
(defvar opencode-checks--folder nil "The project in which it runs.")
(defvar opencode-checks--process nil "The process of its terminal.")
(defvar opencode-checks--environment nil "The environment of opencode.")
(defvar opencode-checks--port nil "The port of the model.")
(defvar opencode-checks--asked nil "Titles of all requests of the check, newest first.")

;;; The model

(defun hosts-answers (steps &rest match)
  "Return STEPS as answers of aimock to the requests that MATCH, a plist.
A step is a text, a list of calls (NAME . ARGUMENTS), or (error TEXT) for a
request that fails."
  (seq-map-indexed
   (lambda (step turn)
     (list :match `(:turnIndex ,turn ,@match)
           :response
           (pcase step
             ((pred stringp) (list :content step))
             (`(error ,text)
              `(:status 400 :error (:type "invalid_request_error" :message ,text)))
             (_ (list :toolCalls (vconcat (mapcar (lambda (call)
                                                    (list :name (car call) :arguments (cdr call)))
                                                  step)))))))
   steps))

(defun opencode-checks--command (command)
  "Return a call that runs COMMAND."
  `("bash" :command ,command :description "Work"))

(defun opencode-checks--todos (&rest entries)
  "Return a call of opencode's own plan tool with ENTRIES, (CONTENT STATUS)."
  `("todowrite" :todos ,(vconcat (mapcar (pcase-lambda (`(,content ,status))
                                           (list :content content :status status
                                                 :priority "medium"))
                                         entries))))

;;; opencode

(defun opencode-checks--setup ()
  "Run the program's setup for opencode."
  (let ((process-environment (hosts-environment opencode-checks--home)))
    (with-temp-buffer
      (unless (eql 0 (call-process (todo-write-mcp-helper-program) nil t nil
                                   "setup" "opencode" "--socket"
                                   (if machine-helper-name (machine-helper-socket)
                                     todo-write-socket)))
        (ert-fail (buffer-string))))))

(defun opencode-checks--start (&rest arguments)
  "Start opencode with ARGUMENTS in a terminal, in place of an earlier one."
  (opencode-checks--stop)
  (let ((default-directory opencode-checks--folder)
        (process-environment opencode-checks--environment))
    (setq opencode-checks--process
          (make-process :name "opencode" :buffer (generate-new-buffer "*opencode*") :noquery t
                        :connection-type 'pty :coding 'utf-8
                        :command `("sh" "-c" "stty rows 40 columns 110; exec \"$@\"" "sh"
                                   "opencode" ,@arguments)))))

(defun opencode-checks--stop ()
  "Kill opencode and its terminal, if there is one."
  (when opencode-checks--process
    (delete-process opencode-checks--process)
    (kill-buffer (process-buffer opencode-checks--process))
    (setq opencode-checks--process nil)))

(defun opencode-checks--note (_thread what id)
  "Note the title of the request ID if WHAT says that it is new."
  (when (eq what 'request)
    (dolist (request (todo-write-requests))
      (when (equal id (plist-get request :id))
        (push (plist-get request :title) opencode-checks--asked)))))

(defvar opencode-checks--subagent nil "Steps of subagents whose prompts have the word SUBAGENT.")

(cl-defmacro opencode-checks-with (steps (&key (emacs t) subagent) &rest body)
  "Evaluate BODY while opencode works by STEPS, with the plugin.
EMACS is nil if this Emacs has no socket.
SUBAGENT is as `opencode-checks--subagent'."
  (declare (indent 2) (debug t))
  `(let ((opencode-checks--subagent ,subagent))
     (opencode-checks--call ,steps (lambda () ,@body) ,emacs)))

(defun opencode-checks--call (steps function emacs)
  "Call FUNCTION while opencode works by STEPS.
EMACS is as in `opencode-checks-with'."
  (unless opencode-checks--home
    (setq opencode-checks--home (make-temp-file "home" t)))
  (if (null machine-helper-name)
      (opencode-checks--work steps function emacs)
    (machine-helper-call
     opencode-checks--home
     (lambda () (opencode-checks--work steps function emacs)))))

(defun opencode-checks--work (steps function emacs)
  "Call FUNCTION while opencode works by STEPS, perhaps on the machine.
EMACS is as in `opencode-checks-with'."
  (let* ((todo-write-socket (todo-write-socket-test-file))
         (todo-write-permission--calls nil)
         (todo-write-socket-programs nil)
         (opencode-checks--asked nil)
         (opencode-checks--folder
          (file-name-as-directory (file-truename (make-temp-file "garden" t)))))
    (call-process "git" nil nil nil "init" "--quiet" opencode-checks--folder)
    (write-region "{\"permission\": {\"bash\": \"ask\", \"edit\": \"ask\"}}" nil
                  (expand-file-name "opencode.json" opencode-checks--folder) nil 'silent)
    (opencode-checks--setup)
    (add-hook 'todo-write-events-functions #'opencode-checks--note)
    (todo-write-with-store
      (todo-write-with-mock port
          (todo-write-mock-script
           (cons '(:match (:systemMessage "title generator") :response (:content "Garden"))
                 (append (hosts-answers opencode-checks--subagent :userMessage "SUBAGENT")
                         (hosts-answers steps))))
        (let ((opencode-checks--port port)
              (opencode-checks--environment
               (append (hosts-opencode-environment (format "http://127.0.0.1:%d" port))
                       (if machine-helper-name
                           (machine-helper-environment opencode-checks--home)
                         (hosts-environment opencode-checks--home)))))
          (unwind-protect
              (progn (when emacs (todo-write-agents-mode))
                     (when machine-helper-name (machine-helper-connect))
                     (opencode-checks--start "--prompt" "Go on")
                     (funcall function))
            (remove-hook 'todo-write-events-functions #'opencode-checks--note)
            (opencode-checks--stop)
            (todo-write-agents-mode -1)))))))

;;; What is seen

(defun opencode-checks--written ()
  "Return the words that opencode wrote to its terminal.
Spaces replace the escape sequences between words."
  (with-current-buffer (process-buffer opencode-checks--process)
    (replace-regexp-in-string "\\(?:\e\\[[?>=]?[0-9;]*[a-zA-Z]\\|\e.\\|[[:space:]]\\)+" " "
                              (buffer-string))))

(defun opencode-checks--thread ()
  "Return the thread of the session, or nil."
  (seq-find (lambda (thread) (string-match-p (if machine-helper-name
                                         "\\`build/mcp:opencode:ses_[^/]+\\'"
                                       "\\`mcp:opencode:ses_[^/]+\\'")
                                     thread))
            (todo-write-threads-loaded)))

(defun opencode-checks--wait (what condition)
  "Wait until CONDITION, a function, returns non-nil; WHAT describes it."
  (todo-write-test-wait
   condition
   (lambda ()
     (format "%s; %S %S; asked %S\n%s" what (todo-write-threads-loaded)
             (and (opencode-checks--thread) (todo-write-activity (opencode-checks--thread)))
             opencode-checks--asked
             (let ((text (opencode-checks--written)))
               (substring text (max 0 (- (length text) 3000))))))))

(defun opencode-checks--request (title)
  "Wait until opencode asks for TITLE, a regexp, and return the request.
The first start of a home takes a minute."
  (let (request)
    (opencode-checks--wait
     (format "the request %s" title)
     (lambda ()
       (setq request (seq-find (lambda (request) (string-match-p title (plist-get request :title)))
                               (todo-write-requests)))))
    request))

(defun opencode-checks--file (name)
  "Return the name of the file NAME in the project."
  (expand-file-name name opencode-checks--folder))

(defun opencode-checks--exists (name)
  "Wait until the file NAME of the project exists."
  (opencode-checks--wait name (lambda () (file-exists-p (opencode-checks--file name)))))

(defun opencode-checks--strings (value)
  "Return all strings in VALUE, decoded JSON, one after the other."
  (cond ((stringp value) (concat value "\n"))
        ((or (consp value) (vectorp value)) (mapconcat #'opencode-checks--strings value ""))
        (t "")))

(defun opencode-checks--model-got (text)
  "Wait until the model got TEXT."
  (opencode-checks--wait
   (format "%s for the model" text)
   (lambda ()
     (string-search text (opencode-checks--strings
                          (todo-write-mock-requests opencode-checks--port))))))

(defun opencode-checks--is (activity)
  "Wait until the agent's ACTIVITY is shown, a symbol or nil."
  (opencode-checks--wait
   (format "the activity %s" activity)
   (lambda () (and (opencode-checks--thread)
                   (eq activity (car (todo-write-activity (opencode-checks--thread))))))))

(defun opencode-checks--rows ()
  "Return the displayed list as a list of (CONTENT STATUS)."
  (when (opencode-checks--thread)
    (mapcar (lambda (item) (list (plist-get item :content) (plist-get item :status)))
            (todo-write-items (opencode-checks--thread)))))

;;; Answers

(machine-helper-here-and-there opencode-checks-allow
  (opencode-checks-with (list (list (opencode-checks--command "touch raked"))
                              "All raked.")
      ()
    (let ((request (opencode-checks--request "\\`bash: touch raked")))
      (should (eq 'waiting (car (todo-write-activity (plist-get request :thread)))))
      (should (equal "touch raked\n# description: \"Work\"" (todo-write-request-detail request)))
      (should-not (file-exists-p (opencode-checks--file "raked")))
      (hosts-answer request 'allow))
    (opencode-checks--exists "raked")
    (opencode-checks--is nil)))

(ert-deftest opencode-checks-always-lasts-until-opencode-ends ()
  (opencode-checks-with (list (list (opencode-checks--command "touch one"))
                              (list (opencode-checks--command "touch two"))
                              "All raked.")
      ()
    (let ((request (opencode-checks--request "\\`bash: touch one")))
      (should (member "Always allow bash, until opencode ends: `touch *'"
                      (mapcar (lambda (option)
                                (substring-no-properties
                                 (string-replace "‘" "`" (string-replace "’" "'" (plist-get option :label)))))
                              (plist-get request :options))))
      (hosts-answer request 'always))
    (opencode-checks--exists "two")
    (opencode-checks--is nil)
    (should (equal '("bash: touch one") opencode-checks--asked))))

(ert-deftest opencode-checks-no-ends-the-turn ()
  (opencode-checks-with (list (list (opencode-checks--command "touch raked"))
                              "Never said.")
      ()
    (hosts-answer (opencode-checks--request "\\`bash: touch raked") 'deny)
    (opencode-checks--is nil)
    (should-not (file-exists-p (opencode-checks--file "raked")))
    (should-not (string-search "Never said." (opencode-checks--written)))))

(ert-deftest opencode-checks-no-with-a-message ()
  (opencode-checks-with (list (list (opencode-checks--command "touch raked"))
                              (list (opencode-checks--command "touch swept"))
                              "All swept.")
      ()
    (hosts-answer (opencode-checks--request "\\`bash: touch raked") 'deny "Sweep instead")
    (opencode-checks--model-got "Sweep instead")
    (hosts-answer (opencode-checks--request "\\`bash: touch swept") 'allow)
    (opencode-checks--exists "swept")
    (opencode-checks--is nil)
    (should-not (file-exists-p (opencode-checks--file "raked")))))

(ert-deftest opencode-checks-an-edit-shows-its-diff ()
  (opencode-checks-with (list (list `("apply_patch" :patchText "*** Begin Patch
*** Add File: garden.txt
+one
+two
*** End Patch"))
                              "Written.")
      ()
    (let ((request (opencode-checks--request "\\`edit: ")))
      (should (eq 'diff (plist-get request :format)))
      (should (string-search "+one\n+two" (todo-write-request-detail request)))
      (should-not (file-exists-p (opencode-checks--file "garden.txt")))
      (hosts-answer request 'allow))
    (opencode-checks--exists "garden.txt")
    (opencode-checks--is nil)))

(defconst opencode-checks--question
  '("question" :questions [(:question "Which can?" :header "Can"
                            :options [(:label "Red" :description "warm")
                                      (:label "Blue" :description "cold")])])
  "A call that asks the user.")

(machine-helper-here-and-there opencode-checks-a-question-answered
  (opencode-checks-with (list (list opencode-checks--question) "Thanks.")
      ()
    (let ((request (opencode-checks--request "\\`Which can")))
      (should (eq 'question (plist-get request :kind)))
      (should (todo-write-answer-request (plist-get request :thread) (plist-get request :id)
                                         '(("Which can?" . "Blue")))))
    (opencode-checks--model-got "\"Which can?\"=\"Blue\"")
    (opencode-checks--is nil)))

(ert-deftest opencode-checks-a-question-refused ()
  (opencode-checks-with (list (list opencode-checks--question) "Never said.")
      ()
    (hosts-answer (opencode-checks--request "\\`Which can") 'deny)
    (opencode-checks--is nil)))

(ert-deftest opencode-checks-two-requests-at-once ()
  (opencode-checks-with (list (list (opencode-checks--command "touch one")
                                    (opencode-checks--command "mkdir two"))
                              "Done.")
      ()
    (let ((one (opencode-checks--request "touch one"))
          (two (opencode-checks--request "mkdir two")))
      (hosts-answer two 'allow)
      (opencode-checks--exists "two")
      (should-not (file-exists-p (opencode-checks--file "one")))
      (should (todo-write-request-open-p one))
      (opencode-checks--is 'waiting)
      (hosts-answer one 'allow))
    (opencode-checks--exists "one")
    (opencode-checks--is nil)))

;;; How long it takes

(machine-helper-here-and-there opencode-checks-soon
  (let ((names '("one" "two" "three" "four" "five")) (from 0))
    (opencode-checks-with (append (mapcar (lambda (name)
                                            (list (opencode-checks--command (concat "touch " name))))
                                          names)
                                  (list "All raked."))
        ()
      (hosts-print-latency
       (if machine-helper-name "opencode on another machine" "opencode") names
       (lambda (_name)
         (with-current-buffer (process-buffer opencode-checks--process)
           (string-search "Permission" (buffer-substring (1+ from) (point-max)))))
       (lambda (name)
         (when (file-exists-p (opencode-checks--file name))
           (setq from (with-current-buffer (process-buffer opencode-checks--process)
                        (1- (point-max))))
           t))))))

;;; Subagents

(ert-deftest opencode-checks-a-subagent-asks-in-the-plan-of-its-session ()
  (opencode-checks-with (list (list `("task" :description "Count books" :subagent_type "general"
                                      :prompt "SUBAGENT: count the books"))
                              "It came back.")
      (:subagent (list (list (opencode-checks--command "touch counted")) "Three books."))
    (let ((request (opencode-checks--request "touch counted")))
      (should (equal (opencode-checks--thread) (plist-get request :thread)))
      (should (string-prefix-p "subagent" (plist-get request :title)))
      (opencode-checks--is 'waiting)
      (hosts-answer request 'allow))
    (opencode-checks--exists "counted")
    (opencode-checks--is nil)
    (opencode-checks--wait "the end" (lambda ()
                                       (string-search "came back" (opencode-checks--written))))))

;;; The terminal first

(defun opencode-checks--press (key until)
  "Press KEY each second until UNTIL, a function, returns non-nil."
  (let ((next 0))
    (opencode-checks--wait (format "the effect of %S" key)
                           (lambda ()
                             (when (> (float-time) next)
                               (when (process-live-p opencode-checks--process)
                                 (process-send-string opencode-checks--process key))
                               (setq next (+ 1 (float-time))))
                             (funcall until)))))

(ert-deftest opencode-checks-answered-in-the-terminal ()
  (opencode-checks-with (list (list (opencode-checks--command "touch raked"))
                              "All raked.")
      ()
    (let ((request (opencode-checks--request "\\`bash: touch raked")))
      (opencode-checks--press "\r" (lambda () (not (todo-write-request-open-p request))))
      (opencode-checks--exists "raked")
      (opencode-checks--is nil)
      ;; It is too late.
      (should-not (todo-write-answer-request (plist-get request :thread) (plist-get request :id)
                                             '(:behavior "deny"))))))

(ert-deftest opencode-checks-without-emacs ()
  (opencode-checks-with (list (list (opencode-checks--todos '("Rake" "in_progress")))
                              (list (opencode-checks--command "touch raked"))
                              "All raked.")
      (:emacs nil)
    (opencode-checks--wait "the dialog" (lambda ()
                                          (string-search "Permission" (opencode-checks--written))))
    (opencode-checks--press "\r" (lambda () (file-exists-p (opencode-checks--file "raked"))))
    (opencode-checks--wait "the end" (lambda ()
                                       (string-search "raked." (opencode-checks--written))))))

;;; Emacs and opencode come and go

(ert-deftest opencode-checks-emacs-ends-and-is-back ()
  (opencode-checks-with (list (list (opencode-checks--todos '("Rake" "in_progress")))
                              (list (opencode-checks--command "touch raked"))
                              "All raked.")
      ()
    (opencode-checks--request "\\`bash: touch raked")
    (todo-write-agents-mode -1)
    (opencode-checks--wait "its end" (lambda () (null (todo-write-requests))))
    (todo-write-agents-mode)
    (hosts-answer (opencode-checks--request "\\`bash: touch raked") 'allow)
    (opencode-checks--exists "raked")
    (opencode-checks--is nil)
    (should (equal '(("Rake" "in_progress")) (opencode-checks--rows)))))

(ert-deftest opencode-checks-emacs-starts-after-opencode-asks ()
  (opencode-checks-with (list (list (opencode-checks--todos '("Rake" "in_progress")))
                              (list (opencode-checks--command "touch raked"))
                              "All raked.")
      (:emacs nil)
    (opencode-checks--wait "the dialog" (lambda ()
                                          (string-search "Permission" (opencode-checks--written))))
    (todo-write-agents-mode)
    (hosts-answer (opencode-checks--request "\\`bash: touch raked") 'allow)
    (opencode-checks--exists "raked")
    (opencode-checks--is nil)
    (should (equal '(("Rake" "in_progress")) (opencode-checks--rows)))))

(ert-deftest opencode-checks-the-hub-there-is-killed-and-comes-back ()
  (let ((machine-helper-name "build"))
    (opencode-checks-with (list (list (opencode-checks--command "touch raked"))
                                (list (opencode-checks--command "touch swept"))
                                "All swept.")
        ()
      (opencode-checks--request "\\`bash: touch raked")
      (machine-helper-kill)
      (opencode-checks--wait "its end" (lambda () (null (todo-write-requests))))
      ;; The terminal answers meanwhile.
      (opencode-checks--press "\r" (lambda () (file-exists-p (opencode-checks--file "raked"))))
      (machine-helper-connect)
      (hosts-answer (opencode-checks--request "\\`bash: touch swept") 'allow)
      (opencode-checks--exists "swept")
      (opencode-checks--is nil))))

(ert-deftest opencode-checks-opencode-is-killed ()
  (opencode-checks-with (list (list (opencode-checks--todos '("Rake" "in_progress")))
                              (list (opencode-checks--command "touch raked"))
                              "All raked.")
      ()
    (let ((request (opencode-checks--request "\\`bash: touch raked")))
      (signal-process (plist-get request :process) 'KILL)
      (opencode-checks--wait "its end" (lambda () (null (todo-write-requests))))
      (opencode-checks--wait
       "the end of its session"
       (lambda () (eq 'killed (plist-get (todo-write-summary (plist-get request :thread)) :ending)))))))

(ert-deftest opencode-checks-opencode-says-goodbye ()
  (opencode-checks-with (list (list (opencode-checks--todos '("Rake" "in_progress"))) "All raked.")
      ()
    (opencode-checks--is nil)
    (opencode-checks--wait "the end" (lambda ()
                                       (string-search "raked." (opencode-checks--written))))
    (let* ((broken nil)
           (note (lambda (&rest _) (setq broken t))))
      (advice-add 'todo-write-agents--break :before note)
      (unwind-protect
          (progn
            (opencode-checks--press
             "\C-c" (lambda () (not (process-live-p opencode-checks--process))))
            (opencode-checks--wait "the goodbye"
                                   (lambda () (null (seq-mapcat #'todo-write-socket-program-sessions todo-write-socket-programs))))
            (should-not broken))
        (advice-remove 'todo-write-agents--break note)))))

;;; Plans

(ert-deftest opencode-checks-a-failure-is-told-with-its-reason ()
  (opencode-checks-with (list (list (opencode-checks--todos '("Rake" "in_progress")))
                              '(error "No credit"))
      ()
    (opencode-checks--is 'failed)
    (should (string-search "No credit" (cdr (todo-write-activity (opencode-checks--thread)))))
    (should (equal '(("Rake" "in_progress")) (opencode-checks--rows)))))

(machine-helper-here-and-there opencode-checks-its-own-todos-are-the-plan
  (opencode-checks-with
      (list (list (opencode-checks--todos '("Rake" "in_progress") '("Water" "pending")))
            (list (opencode-checks--command "touch raked"))
            (list (opencode-checks--todos '("Rake" "completed") '("Water" "in_progress")))
            (list (opencode-checks--command "touch watered"))
            "All raked.")
      ()
    (let* ((request (opencode-checks--request "\\`bash: touch raked"))
           (thread (plist-get request :thread)))
      (should (equal '(("Rake" "in_progress") ("Water" "pending")) (opencode-checks--rows)))
      (todo-write-edit thread 'add "Weed")
      (should (plist-get (seq-find (lambda (item) (plist-get item :addedBy))
                                   (todo-write-items thread))
                         :untold))
      (opencode-checks--model-told "Weed" request)
      ;; The user says something while the agent works.
      (setq request (opencode-checks--request "\\`bash: touch watered"))
      (should (equal '(("Rake" "completed") ("Water" "in_progress") ("Weed" "pending"))
                     (opencode-checks--rows)))
      (should-not (seq-find (lambda (item) (plist-get item :untold)) (todo-write-items thread)))
      (todo-write-tell thread "Mind the bees")
      (opencode-checks--model-told "The user says: Mind the bees" request))
    (opencode-checks--is nil)
    (should-not (string-search "bees" (opencode-checks--written)))
    (opencode-checks--wait "its title" (lambda ()
                                         (equal "Garden" (plist-get (todo-write-summary
                                                                     (opencode-checks--thread))
                                                                    :title))))))

(defun opencode-checks--model-told (text request)
  "Wait until opencode has taken TEXT, allow REQUEST, and wait until the model got TEXT."
  (opencode-checks--wait
   "what is told"
   (lambda ()
     (let ((thread (plist-get request :thread)))
       (not (or (todo-write-core-call todo-write-dyn--untold-edits thread)
                (todo-write-tell--untold thread))))))
  (hosts-answer request 'allow)
  (opencode-checks--model-got text))

(provide 'opencode-checks)
;;; opencode-checks.el ends here
