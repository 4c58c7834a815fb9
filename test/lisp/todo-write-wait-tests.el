;;; todo-write-wait-tests.el --- Waiting for journals  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Threads of the hub open and read journals.  Emacs waits for them, and stays in
;; control.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-follow)
(require 'todo-write-permission)
(require 'todo-write-search)
(require 'todo-write-socket-helper)
(require 'todo-write-stuck-helper)
(require 'todo-write-test-helper)
(require 'todo-write-user-helper)

(defmacro todo-write-wait-tests--with-stuck-store (&rest body)
  "Evaluate BODY with a store that has the plans \"kept\" and \"held\" on disk.
Its journals are on a file system that can be stopped."
  (declare (indent 0) (debug t))
  `(todo-write-stuck-call
    (lambda (mount)
      (let ((todo-write-directory (expand-file-name "journals/" mount)))
        (todo-write-test-child
         `(progn (dolist (key '("kept" "other"))
                   (todo-write key ',(todo-write-test-todos "Polish the glass")))
                 (prin1 t)))
        (unwind-protect (progn ,@body)
          (todo-write-stuck-continue)
          (todo-write-test-close))))))

(defmacro todo-write-wait-tests--ended-p (form)
  "Return non-nil if FORM waits until a timer ends it.
After ten seconds, the folder is known to hang, and it does not wait."
  `(eq 'ended (condition-case nil (with-timeout (0.05 'ended) ,form)
                (todo-write-journal-error 'ended))))

(ert-deftest todo-write-every-call-that-needs-a-journal-can-be-ended-if-its-folder-hangs ()
  (todo-write-wait-tests--with-stuck-store
    (todo-write "mine" (todo-write-test-todos "Dig"))
    (todo-write-stuck-stop)
    (should (equal '("Dig") (todo-write-test-contents "mine")))
    (should (equal '("mine") (todo-write-threads-loaded)))
    (cl-macrolet ((check (&rest forms)
                    `(progn ,@(mapcar (lambda (form)
                                        `(progn (should (todo-write-wait-tests--ended-p ,form))
                                                (should (equal '("Dig")
                                                               (todo-write-test-contents "mine")))))
                                      forms))))
      (check (todo-write-items "kept")
             (todo-write-item "kept" "t1")
             (todo-write-summary "kept")
             (todo-write-state "kept")
             (todo-write-about "kept")
             (todo-write-parent "kept")
             (todo-write-times "kept")
             (todo-write-revisions "kept")
             (todo-write-changes-between "kept" 0 1)
             (todo-write-item-changes "kept" "t1")
             (todo-write-items-dropped "kept")
             (todo-write-items-removed "kept")
             (todo-write-observations "kept")
             (todo-write-work "kept")
             (todo-write-patch "kept")
             (todo-write-matches "kept" "glass" 10)
             (todo-write-search "glass")
             (todo-write-threads)
             (todo-write-threads-kept)
             (todo-write-prune)
             (todo-write-restore "kept")
             (todo-write-begin "kept")
             (todo-write "kept" (todo-write-test-todos "Polish the lens"))
             (todo-write-edit "kept" 'add "Rest")
             (todo-write-undo "kept")
             (todo-write-resume "kept")
             (todo-write-set-activity "kept" 'working)
             (todo-write-observe "kept" "MESSAGE" "Hello")
             (todo-write-stream "kept" :type 'token :data "Hello")
             (todo-write-forget "kept")
             (todo-write-forget "mine")))
    (todo-write-stuck-continue)
    ;; Nothing that was ended has changed anything.
    (should (equal '("Polish the glass") (todo-write-test-contents "kept")))
    (should (= 1 (length (todo-write-revisions "kept"))))
    (should (equal '("Dig") (todo-write-test-contents "mine")))
    (should-not (cdr (file-expand-wildcards (expand-file-name "kept*.jsonl" todo-write-directory))))
    (todo-write-test-write "kept" "Polish the lens")
    (should (equal '("Polish the lens") (todo-write-test-contents "kept")))))

(ert-deftest todo-write-a-folder-of-journals-that-hangs-is-an-error-after-ten-seconds ()
  (todo-write-wait-tests--with-stuck-store
    (todo-write-stuck-stop)
    (let ((start (float-time)))
      (should (string-search "has not answered for 10 s"
                             (cadr (should-error (todo-write-items "kept")
                                                 :type 'todo-write-journal-error))))
      (should (<= 10 (- (float-time) start))))
    ;; It is known from then on.
    (should-error (todo-write-items "other") :type 'todo-write-journal-error)
    (todo-write-stuck-continue)
    (should (equal '("Polish the glass")
                   (todo-write-test-wait
                    (lambda () (ignore-error todo-write-journal-error
                                 (todo-write-test-contents "kept"))))))))

;;; Long journals

(ert-deftest todo-write-says-how-much-of-a-long-journal-is-read ()
  (todo-write-with-store
    (todo-write-test-child
     `(progn (todo-write "long" ',(todo-write-test-todos "Dig"))
             (dotimes (n 1500)
               (todo-write-observe "long" "MESSAGE" (format "%d %s" n (make-string 12000 ?x))))
             (prin1 t)))
    (let (told)
      (cl-letf (((symbol-function 'todo-write-core-say-wait)
                 (lambda (_seconds percent) (push percent told))))
        (should (equal '("Dig") (todo-write-test-contents "long"))))
      ;; Once anything is read.
      (setq told (nreverse (delq nil told)))
      (should told)
      (should (<= 1 (car told) (car (last told)) 99))
      (should (apply #'<= told)))))

(ert-deftest todo-write-timers-run-while-a-journal-is-read-opened-and-searched ()
  (todo-write-wait-tests--with-stuck-store
    (dolist (function (list (lambda () (todo-write-items "kept"))
                            (lambda () (todo-write-matches "kept" "glass" 10))
                            (lambda () (car (todo-write-search--find "glass")))
                            (lambda () (todo-write-restore "kept"))))
      (todo-write-test-close)
      (todo-write-stuck-stop)
      ;; Without this timer, nothing would be read.
      (run-at-time 0 nil #'todo-write-stuck-continue)
      (should (funcall function)))))

;;; A user's Emacs

(ert-deftest todo-write-wait-C-g-ends-the-wait-for-a-journal-that-is-said ()
  (todo-write-wait-tests--with-stuck-store
    (todo-write-user-call
     24 80
     (lambda ()
       (todo-write-user-eval
        '(require 'todo-write)
        `(setq todo-write-directory ,todo-write-directory)
        '(todo-write-core-call todo-write-dyn--loaded)
        '(defvar test-end nil)
        '(defvar test-ended #'ignore)
        '(defun test-look ()
           (interactive)
           (unwind-protect (setq test-end (length (todo-write-items "kept")))
             (setq test-end (or test-end 'quit))
             (funcall test-ended)))
        '(global-set-key "\C-co" #'test-look)
        '(progn (switch-to-buffer "*scratch*") t))
       (todo-write-stuck-stop)
       (process-send-string todo-write-user-process "\C-co")
       ;; Emacs answers other programs while it waits.
       (todo-write-test-wait
        (lambda () (equal "Reading the plan..." (todo-write-user-eval '(current-message)))))
       ;; A quit must hit the wait, not what this Emacs asks; a timer inhibits it.
       (let ((waits (make-temp-name (expand-file-name "waits" temporary-file-directory)))
             (ended (make-temp-name (expand-file-name "ended" temporary-file-directory))))
         (unwind-protect
             (progn
               (should-not
                (todo-write-user-eval
                 `(setq test-ended (lambda () (write-region "" nil ,ended nil 'silent)))
                 `(ignore (run-at-time 0.1 nil (lambda () (write-region "" nil ,waits nil 'silent))))
                 'test-end))
               (todo-write-test-wait (lambda () (file-exists-p waits)))
               (process-send-string todo-write-user-process "\C-g")
               (todo-write-test-wait (lambda () (file-exists-p ended))))
           (delete-file waits)
           (delete-file ended)))
       (should (eq 'quit (todo-write-user-eval '(progn (setq test-ended #'ignore) test-end))))
       (process-send-string todo-write-user-process "typed")
       (todo-write-test-wait
        (lambda () (todo-write-user-eval
                    '(with-current-buffer "*scratch*" (save-excursion
                                                        (goto-char (point-min))
                                                        (search-forward "typed" nil t))))))
       (todo-write-stuck-continue)
       (todo-write-user-eval '(setq test-end nil))
       (process-send-string todo-write-user-process "\C-co")
       (todo-write-test-wait (lambda () (eql 1 (todo-write-user-eval 'test-end))))))))

(ert-deftest todo-write-wait-lines-of-a-session-wait-for-its-journal-and-none-is-lost ()
  (todo-write-wait-tests--with-stuck-store
    (let* ((home (make-temp-file "todo-write-home" t))
           (file (expand-file-name "projects/-garden/s.jsonl" home))
           (number 0)
           (say (lambda (&rest tasks)
                  (write-region
                   (concat
                    (json-serialize
                     `( :type "assistant" :uuid ,(format "u%d" (cl-incf number)) :sessionId "s"
                        :cwd "/garden" :isSidechain :false :timestamp "2026-01-01T10:00:00.000Z"
                        :message (:role "assistant" :id ,(format "m%d" number)
                                  :content [( :type "tool_use" :id ,(format "c%d" number)
                                              :name "TodoWrite"
                                              :input ,(apply #'todo-write-test-todos tasks))])))
                    "\n"
                    (json-serialize
                     `( :type "user" :uuid ,(format "r%d" number) :sessionId "s"
                        :cwd "/garden" :isSidechain :false :timestamp "2026-01-01T10:00:00.000Z"
                        :message (:role "user"
                                  :content [( :type "tool_result" :content "ok"
                                              :tool_use_id ,(format "c%d" number))])))
                    "\n")
                   nil file t 'silent))))
      (make-directory (file-name-directory file) t)
      (unwind-protect
          (progn
            (funcall say "Dig")
            (todo-write-stuck-stop)
            (should (todo-write-wait-tests--ended-p (todo-write-follow file)))
            (funcall say "Dig" "Sow")
            ;; Emacs goes on: its timers run.
            (let (ran)
              (run-at-time 0 nil (lambda () (setq ran t)))
              (todo-write-test-wait (lambda () ran)))
            (funcall say "Sow" "Reap")
            (todo-write-stuck-continue)
            (todo-write-test-wait
             (lambda () (equal '("Sow" "Reap")
                               (ignore-errors (todo-write-test-contents "claude:s")))))
            (should (equal '(("Dig") ("Dig" "Sow") ("Sow" "Reap"))
                           (mapcar (lambda (revision) (todo-write-test-contents "claude:s" revision))
                                   '(1 2 3)))))
        (todo-write-follow-stop)
        (delete-directory home t)))))

;;; The end of a process

(ert-deftest todo-write-wait-the-end-of-a-process-counts-for-lines-that-wait-for-a-journal ()
  (todo-write-wait-tests--with-stuck-store
    (let* ((home (make-temp-file "todo-write-home" t))
           (todo-write-follow-agents (list (cons 'claude home)))
           (todo-write-follow-interval 0.05)
           (file (expand-file-name "projects/-garden/s.jsonl" home))
           (own (expand-file-name (format "sessions/%d.json" (emacs-pid)) home))
           (say (lambda (&rest line)
                  (write-region (concat (json-serialize `(:sessionId "s" :entrypoint "cli" ,@line))
                                        "\n")
                                nil file t 'silent))))
      (dolist (name (list file own))
        (make-directory (file-name-directory name) t))
      (unwind-protect
          (progn
            (write-region "{\"sessionId\":\"s\",\"status\":\"idle\"}" nil own nil 'silent)
            (funcall say :type "mode" :cwd "/garden")
            (todo-write-follow file)
            (todo-write-test-wait (lambda () (todo-write-follow-sessions-process-in file)))
            (todo-write-stuck-stop)
            (funcall say :type "user" :uuid "u1" :message '(:role "user" :content "Dig"))
            (delete-file own)
            (todo-write-test-wait
             (lambda () (not (todo-write-follow-sessions-process-in file))))
            (todo-write-stuck-continue)
            (todo-write-test-wait (lambda () (todo-write-core-call todo-write-dyn--loaded-p "claude:s")))
            (todo-write-test-wait (lambda () (null (todo-write-activity "claude:s")))))
        (todo-write-follow-stop)
        (delete-directory home t)))))

;;; Files that agents name

(ert-deftest todo-write-wait-a-file-that-an-agent-names-can-be-given-up ()
  (todo-write-stuck-call
   (lambda (mount)
     (let* ((todo-write-follow-agents (list (cons 'claude mount)))
            (text (json-serialize '( :type "user" :uuid "u1" :sessionId "s" :cwd "/garden"
                                     :message (:role "user" :content "Dig"))))
            (file (expand-file-name "projects/-garden/s.jsonl" mount))
            (read (list (lambda () (todo-write-permission--file-text file mount))
                        (lambda () (plist-get (todo-write-transcript-describe file) :title))
                        (lambda () (todo-write-follow-sessions-began-in "s")))))
       (make-directory (file-name-directory file) t)
       (write-region text nil file nil 'silent)
       (todo-write-stuck-stop)
       (dolist (one read)
         (should (todo-write-wait-tests--ended-p (funcall one))))
       (todo-write-stuck-continue)
       (should (equal (list text "Dig" "/garden") (mapcar #'funcall read)))))))

;;; Programs

(defmacro todo-write-wait-tests--with-stuck-socket (&rest body)
  "Evaluate BODY with a socket and the plan \"claude:kept\" on disk.
Its journal is on a file system that can be stopped."
  (declare (indent 0) (debug t))
  `(todo-write-stuck-call
    (lambda (mount)
      (todo-write-with-socket
        (let ((todo-write-directory (expand-file-name "journals/" mount)))
          (todo-write-test-child
           `(progn (todo-write "claude:kept" ',(todo-write-test-todos "Polish the glass"))
                   (prin1 t)))
          (unwind-protect (progn ,@body)
            (todo-write-stuck-continue)
            (todo-write-test-close)))))))

(defun todo-write-wait-tests--call (program session &rest more)
  "Send by PROGRAM a call with a list for SESSION and the fields MORE."
  (todo-write-socket-test-send
   program `( :type "call" :call 1 :session ,session ,@more
              :arguments ,(todo-write-test-todos "Polish the lens"))))

(ert-deftest todo-write-wait-a-call-of-a-program-is-parked-until-its-journal-is-open ()
  (todo-write-wait-tests--with-stuck-socket
    (let ((program (todo-write-socket-test-hello))
          (other (todo-write-socket-test-hello :id "program-2" :role "check")))
      (todo-write-stuck-stop)
      (todo-write-wait-tests--call program "kept")
      (todo-write-test-wait (lambda () todo-write-socket--parked))
      ;; The filter has returned, and others are answered at once.
      (should (car (todo-write-socket-test-call other '(:arguments :null))))
      (should todo-write-socket--parked)
      (todo-write-stuck-continue)
      (should (plist-get (todo-write-socket-test-read program) :ok))
      (should-not todo-write-socket--parked)
      (should (equal '("Polish the lens") (todo-write-test-contents "claude:kept")))
      (should (= 2 (length (todo-write-revisions "claude:kept")))))))

(ert-deftest todo-write-wait-a-cancelled-question-is-not-asked-after-its-journal-is-open ()
  (todo-write-wait-tests--with-stuck-socket
    (let ((plugin (todo-write-socket-test-hello :id "plugin" :role "permission"))
          (tool (todo-write-socket-test-hello)))
      (todo-write-stuck-stop)
      (todo-write-wait-tests--call tool "kept")
      (todo-write-test-wait (lambda () todo-write-socket--parked))
      ;; Its questions wait behind something else, and so much that the limit is reached.
      (let ((connection (seq-find (lambda (connection)
                                    (equal "plugin" (plist-get (todo-write-socket-connection-hello
                                                                connection)
                                                               :id)))
                                  todo-write-socket--connections)))
        (setq todo-write-socket--parked
              (append todo-write-socket--parked
                      (mapcar (lambda (_) `(,connection (:type activity) "claude:kept"))
                              (make-list todo-write-socket--park-limit nil)))))
      (todo-write-socket-test-send
       plugin '(:type "call" :call 5 :session "kept"
                :arguments (:hook_event_name "PermissionRequest" :tool_name "Bash"
                            :tool_input (:command "ls"))))
      (cl-flet ((parked-p () (seq-find (lambda (parked) (eql 5 (plist-get (cadr parked) :call)))
                                       todo-write-socket--parked)))
        (todo-write-test-wait #'parked-p)
        (todo-write-socket-test-send plugin '(:type "cancel" :call 5))
        (todo-write-test-wait (lambda () (not (parked-p)))))
      (todo-write-stuck-continue)
      (todo-write-test-wait (lambda () (null todo-write-socket--parked)))
      (should-not (todo-write-requests)))))

(ert-deftest todo-write-wait-a-parked-call-is-dropped-when-its-program-no-longer-waits ()
  (todo-write-wait-tests--with-stuck-socket
    (let ((program (todo-write-socket-test-hello))
          (left (todo-write-socket-test-hello :id "program-2")))
      (todo-write-stuck-stop)
      (todo-write-wait-tests--call program "kept" :until (truncate (* 1000 (+ 600 (float-time)))))
      (todo-write-wait-tests--call left "kept")
      (todo-write-test-wait (lambda () (cdr todo-write-socket--parked)))
      ;; Ten minutes later.
      (dolist (parked todo-write-socket--parked)
        (when (plist-get (cadr parked) :until)
          (plist-put (cadr parked) :until 1)))
      (should-not (plist-get (todo-write-socket-test-read program) :ok))
      (let ((connection (caar todo-write-socket--parked)))
        (delete-process left)
        ;; The hub reads the end in its own time.
        (todo-write-test-wait (lambda () (not (todo-write-socket-live-p connection)))))
      (todo-write-stuck-continue)
      (todo-write-test-wait (lambda () (null todo-write-socket--parked)))
      (should (equal '("Polish the glass") (todo-write-test-contents "claude:kept")))
      (should (= 1 (length (todo-write-revisions "claude:kept"))))
      ;; What the program sends next is heard.
      (should (car (todo-write-socket-test-write program "kept" "Polish the lens"))))))

(ert-deftest todo-write-wait-keys-are-read-while-a-call-waits-for-its-journal ()
  (todo-write-wait-tests--with-stuck-store
    (todo-write-test-child
     `(progn (todo-write "claude:kept" ',(todo-write-test-todos "Polish the glass"))
             (prin1 t)))
    (todo-write-user-call
     24 80
     (lambda ()
       (let ((socket (todo-write-socket-test-file)))
         (todo-write-user-eval
          '(require 'todo-write-mcp)
          `(setq todo-write-directory ,todo-write-directory
                 todo-write-socket ,socket)
          '(todo-write-mcp-mode)
          '(progn (switch-to-buffer "*scratch*") t))
         (let* ((todo-write-socket-test-at socket)
                (program (todo-write-socket-test-hello)))
           (todo-write-stuck-stop)
           (todo-write-wait-tests--call program "kept")
           (todo-write-test-wait (lambda () (todo-write-user-eval '(and todo-write-socket--parked t))))
           (process-send-string todo-write-user-process "typed")
           (todo-write-test-wait
            (lambda () (todo-write-user-eval
                        '(with-current-buffer "*scratch*"
                           (save-excursion (goto-char (point-min))
                                           (search-forward "typed" nil t))))))
           (todo-write-stuck-continue)
           (should (plist-get (todo-write-socket-test-read program) :ok))))))))

(provide 'todo-write-wait-tests)
;;; todo-write-wait-tests.el ends here
