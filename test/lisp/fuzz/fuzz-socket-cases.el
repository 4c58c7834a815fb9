;;; fuzz-socket-cases.el --- Valid but large messages  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A process that connects to the socket of an Emacs as programs do, and sends what the
;; protocol allows: lists, questions and reports whose counts, sizes and repetitions are
;; random.  A line "KIND SEED" on its input runs the case of that kind, which the seed
;; determines; it answers with "done N", N messages, when Emacs has handled all of them.
;;
;;     $EMACS --batch -l fuzz-socket-cases -f fuzz-socket-cases-run SOCKET FOLDER

;;; Code:

(require 'cl-lib)
(require 'seq)

(defvar fuzz-socket-cases--socket nil "The socket of the Emacs.")

(defvar fuzz-socket-cases--folder nil "The folder of the agents' project.")

(defvar fuzz-socket-cases--open nil "The connections of the running case.")

(defvar fuzz-socket-cases--sent 0 "Number of messages of the running case.")

(defconst fuzz-socket-cases--line-limit (ash 1 20)
  "Maximum size of a line in bytes; a longer one is not valid.")

;;; Random values

(defun fuzz-socket-cases--count (most)
  "Return a random number up to MOST; each order of magnitude is as likely."
  (min most (floor (expt (1+ most) (/ (random 1001) 1000.0)))))

(defun fuzz-socket-cases--one-of (&rest values)
  "Return one of VALUES."
  (nth (random (length values)) values))

(defun fuzz-socket-cases--text (most)
  "Return a random text of up to MOST characters."
  (let ((size (fuzz-socket-cases--count most)))
    (pcase (random 5)
      (0 (make-string size ?a))
      (1 (apply #'concat (make-list (/ size 8) "word \n\t- ")))
      (2 (apply #'concat (make-list (/ size 4) "ä中\u202e\u200b")))
      (3 (apply #'concat (make-list (/ size 6) "%s\\\"`${")))
      (_ (mapconcat (lambda (_) (format "%x " (random 1000000))) (number-sequence 1 (/ size 6)) "")))))

(defun fuzz-socket-cases--list (most function)
  "Return a vector of up to MOST values of FUNCTION, called with a number."
  (vconcat (mapcar function (number-sequence 1 (fuzz-socket-cases--count most)))))

(defun fuzz-socket-cases--object (most size)
  "Return an object with up to MOST fields of up to SIZE characters."
  (let ((object (make-hash-table :test #'equal)))
    (dotimes (n (fuzz-socket-cases--count most))
      (puthash (if (= 0 (random 20)) (fuzz-socket-cases--text 200) (format "field-%d" n))
               (pcase (random 6)
                 (0 n) (1 t) (2 (fuzz-socket-cases--list 20 #'identity))
                 (_ (fuzz-socket-cases--text size)))
               object))
    object))

(defun fuzz-socket-cases--deep (depth)
  "Return a value that is nested DEPTH times."
  (let ((value "x"))
    (dotimes (n depth)
      (setq value (if (cl-oddp n) (vector value) (list :in value))))
    value))

;;; Connections

(defun fuzz-socket-cases--connect ()
  "Return a new connection, of which the answers are counted."
  (let ((process (make-network-process
                  :name "case" :family 'local :service fuzz-socket-cases--socket
                  :coding 'binary :noquery t :sentinel #'ignore
                  :filter (lambda (process text)
                            (process-put process 'answers
                                         (+ (or (process-get process 'answers) 0)
                                            (seq-count (lambda (char) (eq char ?\n)) text)))))))
    (push process fuzz-socket-cases--open)
    process))

(defun fuzz-socket-cases--send (process message)
  "Send MESSAGE, a plist, by PROCESS if it fits into a line.
An Emacs that closed the connection is no error."
  (let ((line (concat (encode-coding-string (json-serialize message) 'utf-8) "\n")))
    (when (and (<= (length line) fuzz-socket-cases--line-limit) (process-live-p process))
      (cl-incf fuzz-socket-cases--sent)
      (ignore-errors (process-send-string process line)))))

(defun fuzz-socket-cases--hello (role &rest fields)
  "Connect as ROLE with FIELDS in the hello; return the connection."
  (let ((process (fuzz-socket-cases--connect)))
    (fuzz-socket-cases--send
     process (append fields
                     (list :type "hello" :protocol 2 :roles (vector role) :version "0"
                           :id (format "%x" (random most-positive-fixnum))
                           :client (fuzz-socket-cases--one-of "claude-code" "codex-mcp-client" "x")
                           :project fuzz-socket-cases--folder :process (emacs-pid) :started 1)))
    process))

(defun fuzz-socket-cases--call (process session arguments &rest fields)
  "Send a call of SESSION with ARGUMENTS and FIELDS by PROCESS."
  (fuzz-socket-cases--send
   process (append fields (list :type "call" :call (1+ fuzz-socket-cases--sent)
                                :session session :arguments arguments))))

(defun fuzz-socket-cases--settle ()
  "Wait until Emacs answers a new connection, after what it read before."
  (let ((process (fuzz-socket-cases--connect)) (end (+ (float-time) 60)))
    ;; The question of a hook would not reach Emacs.
    (fuzz-socket-cases--send process '(:type "hello" :protocol 2 :roles ["plan" "note"] :id "settle"))
    (fuzz-socket-cases--send process '(:type "call" :call 1 :role "note" :session "settle"))
    (while (and (< (or (process-get process 'answers) 0) 2)
                (process-live-p process) (< (float-time) end))
      (accept-process-output nil 0.02))))

;;; Cases

(defun fuzz-socket-cases--todos (count size)
  "Return the arguments of a call with COUNT tasks of up to SIZE characters."
  (let* ((same (fuzz-socket-cases--text size))
         (alike (random 3))
         (todos (vconcat
                 (mapcar (lambda (n)
                           (list :content (pcase alike
                                            (0 (format "%d %s" n same))
                                            (1 (format "%s %d" same n))
                                            (_ (concat (format "%d " n)
                                                       (fuzz-socket-cases--text size))))
                                 :status (fuzz-socket-cases--one-of "pending" "completed" "in_progress")
                                 :activeForm (fuzz-socket-cases--text (min size 200))))
                         (number-sequence 1 count)))))
    (list :todos (if (= 0 (random 8))
                     ;; JSON in a string, which Emacs 30 returns as bytes.
                     (decode-coding-string (encode-coding-string (json-serialize todos) 'utf-8)
                                           'utf-8)
                   todos))))

(defun fuzz-socket-cases-lists ()
  "Write lists, each over the one before it."
  (let ((process (fuzz-socket-cases--hello "tool"))
        (count (fuzz-socket-cases--count 2000)) (size (fuzz-socket-cases--count 2500)))
    (dotimes (_ (1+ (fuzz-socket-cases--count 20)))
      (fuzz-socket-cases--call process "lists" (fuzz-socket-cases--todos count size)))))

(defun fuzz-socket-cases-junk ()
  "Call with arguments that are no list."
  (let ((process (fuzz-socket-cases--hello "tool")))
    (dotimes (_ (1+ (fuzz-socket-cases--count 50)))
      (fuzz-socket-cases--call process "junk"
                               (pcase (random 4)
                                 (0 (fuzz-socket-cases--deep (fuzz-socket-cases--count 5000)))
                                 (1 (list :todos (fuzz-socket-cases--text 900000)))
                                 (2 (fuzz-socket-cases--list 100000 #'identity))
                                 (_ (fuzz-socket-cases--object 20000 100)))))))

(defun fuzz-socket-cases-activity ()
  "Report what agents do, of sessions with and without a plan."
  (let ((process (fuzz-socket-cases--hello "tool"))
        (sessions (1+ (fuzz-socket-cases--count 500))))
    (dotimes (_ (fuzz-socket-cases--count 5000))
      (fuzz-socket-cases--send
       process (list :type "activity" :session (format "s%d" (random sessions))
                     :activity (fuzz-socket-cases--one-of "working" "waiting" "idle"
                                                          "suspended" "unknown")
                     :reason (fuzz-socket-cases--text 300))))))

(defun fuzz-socket-cases-sessions ()
  "Begin many sessions and subagents, and end them all, with a bye or without."
  (let ((process (fuzz-socket-cases--hello "tool"))
        (source (fuzz-socket-cases--one-of "process" "call"))
        (todos (fuzz-socket-cases--todos 3 20)))
    (dotimes (n (fuzz-socket-cases--count 600))
      (apply #'fuzz-socket-cases--call process (format "s%d" (random 300)) todos :source source
             (and (= 0 (random 3))
                  (list :subagent (format "a%d" n) :task (fuzz-socket-cases--text 3000)))))
    (when (= 0 (random 2))
      (fuzz-socket-cases--send process '(:type "bye")))))

(defun fuzz-socket-cases--ask (tool input &rest fields)
  "Ask whether TOOL may run with INPUT, with FIELDS of the hook."
  (fuzz-socket-cases--call
   (fuzz-socket-cases--hello "permission") (format "s%d" (random 50))
   (append fields (list :hook_event_name "PermissionRequest" :tool_name tool :tool_input input))
   :source (fuzz-socket-cases--one-of "process" "environment")))

(defun fuzz-socket-cases-questions ()
  "Ask questions with many options."
  (fuzz-socket-cases--ask
   "AskUserQuestion"
   (let ((options (fuzz-socket-cases--count 5000)) (questions (fuzz-socket-cases--count 20000)))
     (list :questions
           (fuzz-socket-cases--list
            questions
            (lambda (n)
              (list :question (format "%d %s" n (fuzz-socket-cases--text 50))
                    :header (fuzz-socket-cases--text 20) :multiSelect t
                    :options (fuzz-socket-cases--list
                              (/ options (max 1 (/ questions 10)))
                              (lambda (n) (list :label (format "%d" n)
                                                :description (fuzz-socket-cases--text 20)))))))))))

(defun fuzz-socket-cases-fields ()
  "Ask for a call with many or long fields, and many suggestions."
  (fuzz-socket-cases--ask
   (fuzz-socket-cases--one-of "Bash" "WebFetch" (fuzz-socket-cases--text 3000))
   (if (= 0 (random 4)) (fuzz-socket-cases--deep (fuzz-socket-cases--count 5000))
     (let ((object (fuzz-socket-cases--object 30000 (fuzz-socket-cases--count 1000))))
       (puthash "command" (fuzz-socket-cases--text 500000) object)
       object))
   :permission_suggestions
   (fuzz-socket-cases--list
    7000 (lambda (n) (list :type "addRules" :behavior "allow" :destination "session"
                           :rules (vector (list :toolName "Bash" :ruleContent (format "x %d" n))))))))

(defun fuzz-socket-cases-edits ()
  "Ask for changes of a file, which may replace much."
  (let* ((file (expand-file-name "file.txt" fuzz-socket-cases--folder))
         (old (fuzz-socket-cases--one-of "a" "line\n" (fuzz-socket-cases--text 2000)))
         (edit (lambda (&rest _)
                 (list :old_string old :new_string (fuzz-socket-cases--text 2000)
                       :replace_all (fuzz-socket-cases--one-of t :false)))))
    (write-region (if (= 0 (random 2)) (make-string (fuzz-socket-cases--count 1000000) ?a)
                    (apply #'concat (make-list (fuzz-socket-cases--count 100000) "a line\n")))
                  nil file nil 'silent)
    (pcase (random 3)
      (0 (fuzz-socket-cases--ask "Edit" (append (list :file_path file) (funcall edit))))
      (1 (fuzz-socket-cases--ask "MultiEdit" (list :file_path file
                                                   :edits (fuzz-socket-cases--list 400 edit))))
      (_ (fuzz-socket-cases--ask "Write" (list :file_path file
                                               :content (fuzz-socket-cases--text 1000000)))))))

(defun fuzz-socket-cases-requests ()
  "Ask much at once, and leave."
  (let ((size (fuzz-socket-cases--count 900000)))
    (dotimes (_ (fuzz-socket-cases--count 200))
      (if (= 0 (random 2))
          (fuzz-socket-cases--ask "ExitPlanMode" (list :plan (fuzz-socket-cases--text size)))
        (fuzz-socket-cases--ask "Bash" (list :command (make-string size ?x)))))))

(defun fuzz-socket-cases-repeats ()
  "Repeat calls and other messages on one connection of any role."
  (let* ((role (fuzz-socket-cases--one-of "tool" "plan" "permission" "note"))
         (process (fuzz-socket-cases--hello role))
         (arguments (list :event (fuzz-socket-cases--one-of "PostToolUse" "Stop")
                          :tool_name "Bash"
                          :tool_input (list :command (fuzz-socket-cases--text 10000)))))
    (dotimes (n (fuzz-socket-cases--count 2000))
      (pcase (random 6)
        (0 (fuzz-socket-cases--send process (list :type "cancel" :call n)))
        (1 (fuzz-socket-cases--send process (list :type (fuzz-socket-cases--text 100))))
        (_ (fuzz-socket-cases--call process (format "s%d" (random 30)) arguments))))))

;;; Mutated messages

(defun fuzz-socket-cases--messages ()
  "Return the lines of a hello and of a message that may follow it, as bytes."
  (let ((role (fuzz-socket-cases--one-of "tool" "plan" "permission" "note")))
    (mapcar
     (lambda (message) (encode-coding-string (json-serialize message) 'utf-8))
     (list
      (list :type "hello" :protocol 2 :roles (vector role) :id "mutated" :version "0"
            :client "claude-code" :project fuzz-socket-cases--folder :process (emacs-pid)
            :started 1 :now 1)
      (pcase (random 4)
        (0 (list :type "activity" :session "mutated" :subagent "a1" :activity "waiting"
                 :reason "for the rain"))
        (1 (list :type (fuzz-socket-cases--one-of "cancel" "bye") :call 1 :killed t))
        (_ (list :type "call" :call 1 :role role :until 4000000000000 :session "mutated"
                 :source "process" :id "toolu_1" :subagent "a1" :task "Dig"
                 :arguments
                 (if (equal role "tool") (fuzz-socket-cases--todos 3 20)
                   (list :hook_event_name "PermissionRequest" :event "Stop" :tool_name "Edit"
                         :tool_input (list :file_path "/x" :old_string "a" :new_string "b")
                         :permission_suggestions
                         [(:type "addRules" :behavior "allow" :rules [(:toolName "Edit")])])))))))))

(defun fuzz-socket-cases--mutate (line)
  "Return LINE, unibyte, with a few random changes."
  (dotimes (_ (1+ (random 3)))
    (let* ((length (length line))
           (start (random (1+ length)))
           (end (min length (+ start (fuzz-socket-cases--count 40))))
           (before (substring line 0 start))
           (part (substring line start end))
           (after (substring line end)))
      (setq line
            (pcase (random 7)
              (0 (concat before after))
              (1 (concat before part part after))
              (2 (concat before (fuzz-socket-cases--one-of "{" "}" "[" "]" "\"" "," ":" "\\" "\\u")
                         part after))
              (3 (concat before (unibyte-string (random 256)) after))
              (4 before)
              (5 (concat before (make-string (fuzz-socket-cases--count 3000) ?\[) after))
              ;; Another value in place of one.
              (_ (if (string-match "\"[^\"]*\"\\|[0-9]+" line start)
                     (replace-match
                      (fuzz-socket-cases--one-of
                       "null" "-1" "1e999" "18446744073709551616" "true" "[]" "{}" "\"\""
                       "\"\\ud800\"" "[[[[]]]]" "\"../../x\"" "0.5" "\"claude:x/y\"")
                      t t line)
                   line)))))
    line)
  line)

(defun fuzz-socket-cases-mutated ()
  "Send a thousand messages that are changed at random, or follow such a hello."
  (dotimes (_ 20)
    (dotimes (_ 50)
      (pcase-let ((`(,hello ,message) (fuzz-socket-cases--messages))
                  (process (fuzz-socket-cases--connect)))
        (if (= 0 (random 4))
            (setq hello (fuzz-socket-cases--mutate hello))
          (setq message (fuzz-socket-cases--mutate message)))
        (cl-incf fuzz-socket-cases--sent)
        (ignore-errors
          (process-send-string process (concat hello "\n" message "\n")))))
    ;; The next ones find room.
    (fuzz-socket-cases--settle)
    (mapc #'delete-process fuzz-socket-cases--open)
    (setq fuzz-socket-cases--open nil)))

;;; Running

(defun fuzz-socket-cases--run (kind seed)
  "Run the case of KIND, a string, with SEED."
  (random (format "%s %s" kind seed))
  (setq fuzz-socket-cases--sent 0)
  (unwind-protect
      (with-timeout (30)
        (condition-case err
            (funcall (intern (concat "fuzz-socket-cases-" kind)))
          ;; Emacs refuses connections if its queue is full, and JSON is nested only so deep.
          (error (message "%s %s: %s" kind seed (error-message-string err))))
        (fuzz-socket-cases--settle))
    (mapc #'delete-process fuzz-socket-cases--open)
    (setq fuzz-socket-cases--open nil))
  (fuzz-socket-cases--settle)
  (mapc #'delete-process fuzz-socket-cases--open)
  (setq fuzz-socket-cases--open nil))

(defun fuzz-socket-cases-run ()
  "Run the cases that the input names."
  (setq fuzz-socket-cases--socket (pop command-line-args-left)
        fuzz-socket-cases--folder (file-name-as-directory (pop command-line-args-left)))
  (let (line)
    (while (setq line (ignore-errors (read-from-minibuffer "")))
      (apply #'fuzz-socket-cases--run (split-string line))
      (princ (format "done %d\n" fuzz-socket-cases--sent)))))

(provide 'fuzz-socket-cases)
;;; fuzz-socket-cases.el ends here
