;;; todo-write-test-helper.el --- Shared functions of the tests  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A new store for each test, waiting for conditions, and other Emacs processes
;; on the same store.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write)

;; Some tests call functions of the module directly.
(todo-write-module-load)

(defvar todo-write-mode-line--chosen)

(defmacro todo-write-with-store (&rest body)
  "Evaluate BODY with an empty store whose journals are in a new folder.
What changes is drawn at once, as if a moment passed after each event."
  (declare (indent 0) (debug t))
  `(let* ((todo-write-directory (make-temp-file "todo-write-test" t))
          ;; As if the user had: a command that shows it would show it in later tests, too.
          (todo-write-mode-line--chosen t)
          (todo-write-events--subscribers nil))
     (add-hook 'todo-write-events-functions #'todo-write-test-draw 90)
     (unwind-protect (progn ,@body)
       (remove-hook 'todo-write-events-functions #'todo-write-test-draw)
       (todo-write-test-close)
       (delete-directory todo-write-directory t))))

(defun todo-write-test-draw (&rest _)
  "Draw what changed; for `todo-write-events-functions'."
  (todo-write-redraw))

(defun todo-write-test-close ()
  "Forget the threads of this store, and kill our buffers.
In another test, a timer would read that store for them."
  (todo-write-core-configure)
  (dolist (thread (todo-write-dyn--loaded))
    (ignore-errors (todo-write-forget thread)))
  (dolist (buffer (buffer-list))
    (when (string-match-p "\\`\\*\\(?:todo-write\\|efrit-todos\\)" (buffer-name buffer))
      (kill-buffer buffer))))

(defun todo-write-test-todos (&rest entries)
  "Return a tool input whose tasks are ENTRIES.
Each is CONTENT, for a pending task, or (CONTENT STATUS [ACTIVE-FORM])."
  (list :todos
        (vconcat
         (mapcar (lambda (entry)
                   (pcase-let ((`(,content ,status ,active-form)
                                (ensure-list entry)))
                     (list :content content
                           :status (or status "pending")
                           :activeForm (or active-form
                                           (concat "Doing: " content)))))
                 entries))))

(defun todo-write-test-contents (thread &optional revision)
  "Return the contents of THREAD's items, at REVISION, as a list."
  (mapcar (lambda (item) (plist-get item :content))
          (todo-write-items thread revision)))

(defvar todo-write-test-deadline 60
  "Seconds after which what a test waits for is taken to hang.")

(defun todo-write-test-wait (condition &optional describe)
  "Wait until CONDITION, a function, returns non-nil, and return its value.
If it hangs, fail with what the function DESCRIBE returns."
  (let ((deadline (+ (float-time) todo-write-test-deadline)) value)
    (while (not (setq value (funcall condition)))
      (when (> (float-time) deadline)
        (ert-fail (concat "Still waiting"
                          (if describe (concat ": " (funcall describe)) ""))))
      (accept-process-output nil 0.02))
    value))

(defun todo-write-test-run-timers ()
  "Let the timers that are due run, and then those that they set for at once."
  (dotimes (_ 10)
    (let (ran)
      (run-at-time 0 nil (lambda () (setq ran t)))
      (todo-write-test-wait (lambda () ran)))))

(defun todo-write-test-delete (folder)
  "Delete FOLDER, into which programs that are ending may still write."
  (todo-write-test-wait
   (lambda ()
     (ignore-errors (delete-directory folder t))
     (not (file-exists-p folder)))
   (lambda () folder)))

;;; Calls and their results

(defun todo-write-test-tick ()
  "Wait until the clock has gone on, so that times differ; they are in milliseconds."
  (let ((now (todo-write-core-now)))
    (while (= now (todo-write-core-now)))))

(defun todo-write-test-write (thread &rest entries)
  "Write ENTRIES, as for `todo-write-test-todos', to THREAD; return the outcome.
That is later than what was done before.  Fail if they are refused."
  (todo-write-test-tick)
  (let ((outcome (todo-write thread (apply #'todo-write-test-todos entries))))
    (unless (plist-get outcome :ok)
      (ert-fail (plist-get outcome :result)))
    outcome))

(defun todo-write-test-observe (&rest arguments)
  "Call `todo-write-observe' with ARGUMENTS, later than what was done before."
  (todo-write-test-tick)
  (apply #'todo-write-observe arguments))

(defun todo-write-test-id (thread content)
  "Return the id of THREAD's item with CONTENT, or nil."
  (plist-get (seq-find (lambda (item) (equal (plist-get item :content) content))
                       (todo-write-items thread))
             :id))

(defun todo-write-test-rows (thread &optional revision)
  "Return THREAD's list at REVISION as a list of (CONTENT STATUS ACTIVE-FORM)."
  (mapcar (lambda (item)
            (list (plist-get item :content) (plist-get item :status)
                  (plist-get item :activeForm)))
          (todo-write-items thread revision)))

(defun todo-write-test-types (changes)
  "Return the types in CHANGES, a changes plist, as a list in order."
  (mapcar (lambda (change) (plist-get change :type))
          (plist-get changes :changes)))

(defmacro todo-write-test-warnings (&rest body)
  "Evaluate BODY and return the warnings that it displays, as strings.
Errors that BODY handles do not enter the debugger."
  (declare (indent 0) (debug t))
  `(let ((debug-on-error nil) (warnings nil))
     (cl-letf (((symbol-function 'display-warning)
                (lambda (_type message &rest _) (push message warnings))))
       ,@body)
     (nreverse warnings)))

(defmacro todo-write-test-listening (function &rest body)
  "Evaluate BODY while FUNCTION is called with each event of a thread.
See `todo-write-events-functions'."
  (declare (indent 1) (debug t))
  (let ((listener (make-symbol "listener")))
    `(let ((,listener ,function))
       (add-hook 'todo-write-events-functions ,listener)
       (unwind-protect (progn ,@body)
         (remove-hook 'todo-write-events-functions ,listener)))))

;;; Files

(defun todo-write-test-file (name)
  "Return the name of the file NAME in the repository."
  (expand-file-name name (getenv "TODO_WRITE_ROOT")))

;;; Journals

(defun todo-write-test-segments (&optional folder)
  "Return the names of the segments of all journals in FOLDER.
It is by default `todo-write-directory'."
  (directory-files-recursively (or folder todo-write-directory) "\\`[0-9]+\\.jsonl\\'"))

;;; Other Emacs processes

(defun todo-write-test-module-assertions-p ()
  "Return non-nil if this Emacs runs with module assertions, which are slow.
Emacs removes the option from `command-line-args'."
  (string-search "--module-assertions"
                 (or (cdr (assq 'args (process-attributes (emacs-pid)))) "")))

(defun todo-write-test-load-path ()
  "Return options that add the folders of both packages to an Emacs's `load-path'."
  (mapcan (lambda (library)
            (when-let ((file (locate-library library)))
              (list "-L" (file-name-directory file))))
          (list "todo-write" "efrit-do")))

(defun todo-write-test-emacs (&rest forms)
  "Return the command, a list, of an Emacs that evaluates FORMS in batch.
It uses the same module, and the current value of `todo-write-directory'
as its journal folder."
  (let ((print-length nil) (print-level nil))
    `(,(expand-file-name invocation-name invocation-directory) "-Q" "--batch"
      ,@(and (todo-write-test-module-assertions-p) '("--module-assertions"))
      "--eval" "(setq native-comp-jit-compilation nil)"
      "--eval" "(setq native-comp-deferred-compilation nil)"
      ,@(todo-write-test-load-path)
      "-l" "todo-write"
      "--eval" ,(prin1-to-string
                 `(progn (setq todo-write-directory ,todo-write-directory
                               todo-write-durability ',todo-write-durability)
                         ,@forms)))))

(defun todo-write-test-child (&rest forms)
  "Evaluate FORMS in another Emacs; return the object that they print.
They must print one Lisp object with `prin1'.  Ignore standard error."
  (with-temp-buffer
    (let* ((command (apply #'todo-write-test-emacs forms))
           (status (apply #'call-process (car command) nil '(t nil) nil
                          (cdr command))))
      (unless (eq status 0)
        (ert-fail (format "Emacs ended with %s: %s" status (buffer-string))))
      (goto-char (point-min))
      (read (current-buffer)))))

(defun todo-write-test-start (&rest forms)
  "Start another Emacs that evaluates FORMS and may print to its buffer."
  (make-process :name "emacs" :buffer (generate-new-buffer " *emacs*" t)
                :connection-type 'pipe :noquery t :sentinel #'ignore
                :command (apply #'todo-write-test-emacs '(require 'cl-lib) forms)))

(defun todo-write-test-end (process)
  "Wait until PROCESS of `todo-write-test-start' ends; return its output."
  ;; It may have much to do.
  (let ((todo-write-test-deadline (* 10 todo-write-test-deadline)))
    (todo-write-test-wait (lambda () (not (process-live-p process)))))
  (while (accept-process-output process 0.01))
  (with-current-buffer (process-buffer process)
    (prog1 (buffer-string)
      (delete-process process)
      (kill-buffer))))

(defun todo-write-test-transcript-folder (directory)
  "Return the name that Claude Code gives the folder of transcripts of DIRECTORY."
  (replace-regexp-in-string "[^a-zA-Z0-9]" "-"
                            (directory-file-name (file-local-name directory))))

;; The id of a line has that of its session, since a fork has lines of another one.
(defun todo-write-test-transcript (file folder &rest lines)
  "Append LINES, plists, to the transcript FILE of an agent in FOLDER.
Each gets the fields that it has not and each line has; the session has
the name of FILE."
  (let ((session (file-name-base file)) (coding-system-for-write 'utf-8-unix) create-lockfiles)
    (make-directory (file-name-directory file) t)
    (write-region
     (mapconcat (lambda (line)
                  (concat (json-serialize
                           `(:uuid ,(concat session (plist-get line :uuid)) ,@line
                             :sessionId ,session :cwd ,folder :isSidechain :false))
                          "\n"))
                lines "")
     nil file t 'silent)))

(defun todo-write-test-transcript-call (id name input)
  "Return lines of a transcript: a call ID of the tool NAME with INPUT, and its result."
  `((:type "assistant" :uuid ,(concat "u" id)
     :message (:id ,(concat "m" id)
               :content [(:type "tool_use" :id ,id :name ,name :input ,input)]))
    (:type "user" :uuid ,(concat "r" id)
     :message (:content [(:type "tool_result" :tool_use_id ,id :content "ok")]))))

(defun todo-write-test-transcript-list (id &rest contents)
  "Return lines of a transcript: a list of CONTENTS, written by the call ID."
  (todo-write-test-transcript-call id "TodoWrite" (apply #'todo-write-test-todos contents)))

(provide 'todo-write-test-helper)
;;; todo-write-test-helper.el ends here
