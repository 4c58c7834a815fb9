;;; fuzz-machine.el --- A machine that says too much  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; fuzz-socket.el runs these cases, too: the Emacs in which it types is connected to
;; two machines.  On the machine good, the genuine `todo-write-mcp serve' follows a session.
;; On the machine bad, a shell prints whatever a case says: floods, names of what is not
;; its own, thousands of sessions, large calls, lines without an end.  After each case, the
;; plans of the machine good and of this one must be as before.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)

(defvar todo-write-connect-first-pause)
(defvar todo-write-connect-longest-pause)
(defvar todo-write-machines)
(defvar todo-write-machines-reconnect)
(declare-function todo-write-connect "todo-write-connect")
(declare-function todo-write-machines-link-to "todo-write-machines")
(declare-function todo-write-machines-link-since "todo-write-machines")
(declare-function todo-write-machines-link-state "todo-write-machines")
(declare-function todo-write-items "todo-write")
(declare-function todo-write-threads-loaded "todo-write")

(defconst fuzz-machine-kinds
  '("machine-floods" "machine-forges" "machine-sessions" "machine-calls" "machine-plans"
    "machine-lines")
  "The kinds of cases of a machine.")

(defconst fuzz-machine--script "\
cd \"$1\" || exit
printf '\\ntodo-write-serve 1\\n{\"Welcome\":{\"version\":\"0\",\"note\":null}}\\n'
: >waiting
while ! [ -e case ]; do sleep 0.05; echo '\"Pulse\"'; done
rm -f case waiting
exec 3<&0
# For each session that is followed.
(while read -r line; do
   case $line in *'\"Follow\":['*)
     id=${line#*'\"Follow\":['}; id=${id%%,*}; sed \"s/FOLLOWED/$id/g\" events;;
   esac
 done) <&3 &
sh print
: >served
while ! [ -e over ]; do sleep 0.05; done
kill $! 2>/dev/null
"
  "What the machine bad runs in its folder.
`print' prints what a case says at first, and `events' what it says of a
session that is followed, whose number FOLLOWED stands for.")

;;; In the Emacs that is typed into

(defun fuzz-machine-connect (folder program)
  "Connect this Emacs to the machines in FOLDER; PROGRAM is todo-write-mcp."
  (require 'todo-write-connect)
  (setq todo-write-machines
        `(("bad" :prefix "/ssh:bad:"
           :command ("sh" "-c" ,fuzz-machine--script "sh" ,(concat folder "bad")))
          ("good" :prefix "/ssh:good:"
           :command ("env" ,(concat "HOME=" folder "good")
                     ,(concat "TODO_WRITE_SANDBOX=" folder "good/run") ,program "serve")))
        todo-write-machines-reconnect t
        todo-write-connect-first-pause 0.1
        todo-write-connect-longest-pause 0.1
        ;; Collections are no blocks of ours.  There is one after each case.
        gc-cons-threshold most-positive-fixnum)
  (todo-write-connect "good")
  (todo-write-connect "bad")
  (define-key special-event-map [sigusr1]
    (lambda ()
      (interactive)
      (garbage-collect)
      (write-region (prin1-to-string (fuzz-machine--state)) nil (concat folder "state~") nil 'silent)
      (rename-file (concat folder "state~") (concat folder "state") t))))

(defun fuzz-machine--state ()
  "Return what no case of the machine bad may change, and the number of plans.
That is a list (GOOD OTHERS COUNT): since when the machine good is
connected and its plans, the other plans that are not of the machine bad."
  (let* ((link (todo-write-machines-link-to "good"))
         (threads (todo-write-threads-loaded))
         (own (sort (seq-remove (lambda (thread) (string-prefix-p "bad/" thread)) threads)
                    #'string<))
         (plans (mapcar (lambda (thread)
                          (cons thread (mapcar (lambda (item) (plist-get item :content))
                                               (todo-write-items thread))))
                        own)))
    (list (cons (and (eq 'connected (todo-write-machines-link-state link))
                     (todo-write-machines-link-since link))
                (seq-filter (lambda (plan) (string-prefix-p "good/" (car plan))) plans))
          (seq-remove (lambda (plan) (string-prefix-p "good/" (car plan))) plans)
          (length threads))))

;;; The machine good

(defun fuzz-machine-write (folder task)
  "Let the agent on the machine good below FOLDER write a list of TASK."
  (let ((file (concat folder "good/.claude/projects/-garden/s.jsonl"))
        (base '(:sessionId "s" :cwd "/garden" :isSidechain :false)))
    (make-directory (file-name-directory file) t)
    (write-region
     (mapconcat
      (lambda (line) (concat (json-serialize line) "\n"))
      (list
       `( ,@base :type "assistant" :uuid ,task
          :message ( :id ,task :content
                     [( :type "tool_use" :id ,task :name "TodoWrite"
                        :input (:todos [(:content ,task :status "pending" :activeForm ,task)]))]))
       `( ,@base :type "user" :uuid ,(concat task "r")
          :message (:content [(:type "tool_result" :tool_use_id ,task :content "ok")])))
      "")
     nil file t 'silent)))

;;; Cases

(defvar fuzz-machine--folder nil "The folder of the machine bad.")

(defun fuzz-machine--lines (file lines)
  "Write LINES, values as for `json-serialize' or strings, to FILE there."
  (let ((coding-system-for-write 'utf-8-unix))
    (with-temp-file (concat fuzz-machine--folder file)
      (dolist (line lines)
        (insert (if (stringp line) line (json-serialize line)) "\n")))))

(defun fuzz-machine--prints (command &rest lines)
  "Let the machine run COMMAND, a line for a shell, in which \"lines\" has LINES."
  (fuzz-machine--lines "lines" lines)
  (fuzz-machine--lines "print" (list command)))

(defun fuzz-machine--said (program message)
  "Return the report that PROGRAM, a number, said MESSAGE at the socket there."
  `(:Hub (:Door (:Message [,program ,message]))))

(defun fuzz-machine--hello (program)
  "Return the report of the hello of PROGRAM, a number."
  (fuzz-machine--said program `( :type "hello" :protocol 2 :roles ["tool" "permission"]
                                 :id ,(format "%d" program) :client "claude-code"
                                 :project "/ssh:good:/garden" :process 1)))

(defun fuzz-machine--call (program number role session arguments)
  "Return the report that PROGRAM makes call NUMBER as ROLE for SESSION.
ARGUMENTS are those of the call."
  (fuzz-machine--said program `( :type "call" :call ,number :role ,role :session ,session
                                 :source "call" :arguments ,arguments)))

(defun fuzz-machine--event (session kind)
  "Return the event KIND of SESSION."
  `( :source ( :agent "claude" :session ,session :subagent :null :folder "/garden"
               :is_unattended :false :call :null)
     :uuid "u" :time ,(truncate (* 1000 (float-time))) :place :null :kind ,kind))

(defun fuzz-machine--events (key last &rest events)
  "Return the report of EVENTS of the followed session of KEY.
LAST non-nil means that its file has no more."
  `(:Hub (:Events ["FOLLOWED"
                   ( :events ,(vconcat events) :is_last ,(if last t :false) :is_restart :false
                     :bytes 1 :skipped 0 :thread ,key :project "/garden" :warning :null :grew :null)])))

(defun fuzz-machine--session-lines (lines)
  "Write LINES, what is said of a session that is followed."
  (fuzz-machine--lines "events" lines)
  ;; A number is not a string.
  (with-temp-file (concat fuzz-machine--folder "events")
    (insert-file-contents (concat fuzz-machine--folder "events"))
    (goto-char (point-min))
    (while (search-forward "\"FOLLOWED\"" nil t)
      (replace-match "FOLLOWED" t t))))

(defun fuzz-machine--found (from to)
  "Return the report of sessions FROM to TO, numbers, without the last."
  (let ((now (truncate (float-time))))
    `(:Hub (:Found [,(vconcat
                      (cl-loop for n from from below to
                               collect `( :modified (:secs_since_epoch ,now :nanos_since_epoch 0)
                                          :path ,(format "/home/.claude/projects/-garden/s%d.jsonl" n)
                                          :begun :null)))
                    []]))))

(defun fuzz-machine--processes (home count)
  "Return the report of COUNT live processes in HOME."
  `(:Hub (:Processes
          ( :home ,home :machine :null :killed []
            :live ,(vconcat
                    (cl-loop for n below count
                             collect `( :pid ,n :machine :null :is_suspended :false
                                        :file ,(format "%s/sessions/%d.json" home n)
                                        :started_at 1 :session ,(format "s%d" n) :status "busy"
                                        :waiting_for :null :folder "/garden"
                                        :start :null)))))))

(defun fuzz-machine-floods ()
  "Report small things again and again."
  (apply #'fuzz-machine--prints
         "n=0; while [ $n -lt 300 ]; do cat lines; n=$((n+1)); done"
         (fuzz-machine--hello 1)
         (append
          (cl-loop repeat 50 collect
                   (fuzz-machine--said 1 `(:type "activity" :session "s1" :activity "working")))
          (cl-loop for n below 50 collect
                   (fuzz-machine--processes (format "/home/%d/.claude" (% n 40)) 20))
          (list (fuzz-machine--found 0 100) "\"Pulse\"" (fuzz-machine--said 1 '(:type "cancel" :call 9))
                '(:Hub (:Silent 7)) '(:Hub (:Ready (:session 7 :has_processes t))))))
  (fuzz-machine--session-lines
   (append (cl-loop repeat 300 collect '(:Hub (:Ready (:session "FOLLOWED" :has_processes t))))
           (cl-loop repeat 300 collect (fuzz-machine--events "claude:s1" t)))))

(defun fuzz-machine-forges ()
  "Name what is not of this machine."
  (let ((names '("good/claude:s" "../good/claude:s" "claude:lists" "s" "lists" "../../x" "")))
    (apply #'fuzz-machine--prints
           "cat lines"
           (append
            (list (fuzz-machine--hello 1) (fuzz-machine--found 0 1)
                  '(:Hub (:Connection ["good" (:Lost (:reason "forged" :is_missing :false))]))
                  '(:Hub (:Homes [["CODEX_HOME" "/etc"]]))
                  '(:Hub (:DoorThere ["good" (:Closed 1)]))
                  '(:Hub (:Processes (:home "/ssh:good:/x" :machine "good" :live [] :killed [["s" 1]]))))
            (cl-loop for id below 100
                     collect `(:Hub (:Failed ,id))
                     collect `(:Hub (:Unreadable [,id "forged"]))
                     collect `(:Hub (:Moved [,id "/ssh:good:/etc/passwd"])))
            (cl-loop for name in names for n from 2
                     collect (fuzz-machine--hello n)
                     collect (fuzz-machine--call
                              n 1 "tool" name
                              '(:todos [(:content "Forged" :status "pending" :activeForm "x")]))
                     collect (fuzz-machine--said n `( :type "activity" :session ,name
                                                      :activity "idle"))
                     collect (fuzz-machine--said n '(:type "bye" :killed t)))))
    (fuzz-machine--session-lines
     (cl-loop for name in names
              collect (fuzz-machine--events name t (fuzz-machine--event name '(:Title "Forged"))
                                            (fuzz-machine--event name "TurnBegun"))))))

(defun fuzz-machine-sessions ()
  "Report ten thousand sessions."
  (fuzz-machine--lines "lines" (cons (fuzz-machine--found 0 10000)
                                     (cl-loop for n below 10000 by 500
                                              collect (fuzz-machine--found n (+ n 500)))))
  (fuzz-machine--lines "print" '("cat lines"))
  (fuzz-machine--session-lines
   (list (fuzz-machine--events "claude:sFOLLOWED" nil (fuzz-machine--event "sFOLLOWED" '(:Title "Dig"))
                               (fuzz-machine--event "sFOLLOWED" "TurnBegun"))
         (fuzz-machine--events "claude:sFOLLOWED" t (fuzz-machine--event "sFOLLOWED" '(:Message "Dug")))
         '(:Hub (:Ready (:session "FOLLOWED" :has_processes :false))))))

(defun fuzz-machine-calls ()
  "Make calls of almost a mebibyte."
  (let ((text (make-string 1900 ?x)))
    (apply #'fuzz-machine--prints
           "cat lines"
           (append
            (cl-loop for n below 200 collect (fuzz-machine--hello n))
            (cl-loop for n below 20
                     collect (fuzz-machine--call
                              n 1 "permission" (format "s%d" n)
                              `( :hook_event_name "PermissionRequest" :tool_name "Bash"
                                 :tool_input (:command ,(make-string 900000 ?x)))))
            (cl-loop for n from 20 below 60
                     collect (fuzz-machine--call
                              n 1 "tool" (format "s%d" n)
                              `(:todos ,(vconcat
                                         (cl-loop for k below 400
                                                  collect `( :content ,(format "%d %d %s" n k text)
                                                             :status "pending"
                                                             :activeForm "x"))))))))
    (fuzz-machine--session-lines nil)))

(defun fuzz-machine-plans ()
  "Write large plans, more than a machine may."
  (fuzz-machine--prints "cat lines" (fuzz-machine--found 0 10))
  (fuzz-machine--session-lines
   (cl-loop for n below 5500
            collect (fuzz-machine--events
                     (format "claude:p%d" n) (= 0 (% n 7))
                     (fuzz-machine--event (format "p%d" n) '(:Title "Dig"))
                     (fuzz-machine--event (format "p%d" n) `(:Prompt ,(make-string 500 ?x)))
                     (fuzz-machine--event (format "p%d" n) "TurnBegun")))))

(defun fuzz-machine-lines ()
  "Print lines without an end, or that are no report."
  (fuzz-machine--prints
   (pcase (random 4)
     (0 "tr '\\0' x </dev/zero")
     (1 "yes '\"Pulse\"' | head -c 5000000")
     (2 "tr '\\0' x </dev/zero | fold >&2 & head -c 20000000 /dev/zero >&2; yes '\"Pulse\"' | head -c 2000000; kill $!")
     (_ "cat lines"))
   (concat "{\"Hub\":" (make-string 200000 ?\[))
   (concat "{\"" (make-string 7000000 ?x) "\":1}"))
  (fuzz-machine--session-lines nil))

(defun fuzz-machine-begin (folder kind seed)
  "Begin the case of KIND with SEED on the machine bad below FOLDER."
  (random (format "%s %d" kind seed))
  (setq fuzz-machine--folder (concat folder "bad/"))
  (dolist (file '("over" "served"))
    (delete-file (concat fuzz-machine--folder file)))
  (funcall (intern (concat "fuzz-" kind)))
  (write-region "" nil (concat fuzz-machine--folder "case") nil 'silent))

(defun fuzz-machine-printed-p (folder)
  "Return non-nil if the machine bad below FOLDER printed all, or was cut off."
  (and (not (file-exists-p (concat folder "bad/case")))
       (or (file-exists-p (concat folder "bad/served"))
           (file-exists-p (concat folder "bad/waiting")))))

(defun fuzz-machine-end (folder)
  "End the case of the machine bad below FOLDER."
  (write-region "" nil (concat folder "bad/over") nil 'silent))

(provide 'fuzz-machine)
;;; fuzz-machine.el ends here
