;;; efrit-do-replay.el --- A scripted agent -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The backend `replay' plays an agent from a file, without key and network:
;;
;;   (efrit-do-run "Refactor the login function"
;;                 :backend 'replay :script "demo/refactor-login.json" :speed 0)
;;
;; A script is a JSON object:
;;
;;   {"title":   "Refactor the login function",    shown above the list
;;    "command": "Refactor login.js, please",      what the user would type
;;    "speed":   1,                 2 plays twice as fast, 0 without pauses
;;    "directory": "login",         tools work in a copy of it; from the script's folder
;;    "takesUp": false,             true works on tasks that the user adds, and on comments on
;;                                  changed lines, before the last turn
;;    "turns": [                    one per request to the model
;;      [{"thinking": "Three places call it …"},
;;       {"pause": 1.5},                           in seconds at speed 1
;;       {"text": "Here is my plan."},
;;       {"tool": "todo_write", "input": {"todos": […]}},
;;       {"error": "overloaded"}]]}                the request fails here
;;
;; The tools of a turn run after its text.  The next turn begins when all of them
;; have answered.  In a copy of a folder, the tool `edit_file' replaces text in a file:
;; {"path": "login.js", "old": "…", "new": "…"}.

;;; Code:

(require 'efrit-do-session)
(require 'todo-write-detail)

(define-error 'efrit-do-script-error "The script cannot be played"
  'todo-write-error)

(cl-defstruct (efrit-do-replay--state (:constructor efrit-do-replay--make) (:copier nil))
  "A script that is played.
TURNS are the next turns, lists of events (KIND . VALUE).  EVENTS are the
remaining events of this turn, and TOOLS its tool events in reverse order.
FOLLOWED are the ids of the comments that were followed."
  title command directory (speed 1) takes-up turns events tools timer followed)

;;; Reading

(defun efrit-do-replay--error (format &rest args)
  "Signal `efrit-do-script-error' with FORMAT and ARGS."
  (signal 'efrit-do-script-error (list (apply #'format format args))))

(defun efrit-do-replay--event (event where)
  "Return EVENT, a JSON object at WHERE in the script, as (KIND . VALUE)."
  (let* ((keys (and (hash-table-p event) (remove "input" (hash-table-keys event))))
         (value (and keys (gethash (car keys) event))))
    (pcase (and (null (cdr keys)) (car keys))
      ((and (or "thinking" "text" "error") kind (guard (stringp value)))
       (cons (intern kind) value))
      ((and "pause" (guard (numberp value))) (cons 'pause value))
      ((and "tool" (guard (stringp value))) `(tool ,value . ,(gethash "input" event)))
      (_ (efrit-do-replay--error "%s is no object with one of the texts thinking, text and \
error, the number pause, or tool with input" where)))))

(defun efrit-do-replay-read (script)
  "Return SCRIPT, a file name or a decoded JSON object, as a script to play.
Signal `efrit-do-script-error' with the place of the first problem."
  (let ((folder (and (stringp script)
                     (file-name-directory (expand-file-name script))))
        (object (if (not (stringp script)) script
                  (condition-case problem
                      (with-temp-buffer
                        (insert-file-contents script)
                        (json-parse-buffer))
                    (error (efrit-do-replay--error "Cannot read %s: %s" script
                                                   (error-message-string problem)))))))
    (unless (hash-table-p object)
      (efrit-do-replay--error "The script is not a JSON object"))
    (let ((directory (gethash "directory" object))
          (turns (gethash "turns" object)))
      (unless (and (vectorp turns) (seq-every-p #'vectorp turns))
        (efrit-do-replay--error "The `turns' are not an array of arrays"))
      (efrit-do-replay--make
       :title (gethash "title" object) :command (gethash "command" object)
       :directory (and directory (file-name-as-directory (expand-file-name directory folder)))
       :speed (gethash "speed" object 1) :takes-up (eq t (gethash "takesUp" object))
       :turns (cl-loop for turn across turns
                       for i from 1
                       collect (cl-loop for event across turn
                                        for j from 1
                                        for where = (format "Turn %d, event %d" i j)
                                        collect (efrit-do-replay--event event where)))))))

(defun efrit-do-replay-demo ()
  "Return the file name of the demo, in the folder demo/ beside this file."
  (or (locate-file "demo/refactor-login.json"
                   (list (file-name-directory (locate-library "efrit-do-replay"))))
      (efrit-do-replay--error "There is no script to play: set \
`efrit-do-backend' to use a model")))

;;; Its folder

(defun efrit-do-replay-folder (&optional from)
  "Return a new folder that Emacs deletes on exit, a copy of FROM if not nil."
  (let* ((folder (make-temp-file "efrit-do-" t))
         (copy (expand-file-name (if from (file-name-nondirectory (directory-file-name from)) "")
                                 folder)))
    (add-hook 'kill-emacs-hook (lambda () (ignore-errors (delete-directory folder t))) t)
    (when from
      (dolist (file (directory-files-recursively from ""))
        (let ((to (expand-file-name (file-relative-name file from) copy)))
          (make-directory (file-name-directory to) t)
          ;; Those of an installed package may be links, or read-only.
          (copy-file file to)
          (set-file-modes to #o700))))
    (file-name-as-directory copy)))

(defun efrit-do-replay-edit-file (path old new)
  "Replace the text OLD in the file PATH of this folder by NEW."
  (unless (file-in-directory-p path default-directory)
    (signal 'todo-write-error (list (format "%s is not in %s" path default-directory))))
  (with-temp-buffer
    (insert-file-contents path)
    (let ((case-fold-search nil))
      (search-forward old))
    (replace-match new t t)
    (write-region nil nil path nil 'quiet))
  (format "Changed %s" path))

;;; Playing

(cl-defmethod efrit-do-backend-prepare ((_backend (eql 'replay)) session)
  "Read the script of SESSION, and say if it is the demonstration."
  (let* ((options (efrit-do-session-options session))
         (given (plist-get options :script))
         (script (if (efrit-do-replay--state-p given) given
                   (efrit-do-replay-read (or given (efrit-do-replay-demo))))))
    (when-let* ((title (efrit-do-replay--state-title script)))
      (setf (efrit-do-session-title session) title))
    (when (plist-get options :speed)
      (setf (efrit-do-replay--state-speed script) (plist-get options :speed)))
    (when-let* ((folder (efrit-do-replay--state-directory script)))
      (setf (efrit-do-session-directory session) (efrit-do-replay-folder folder)
            (efrit-do-session-tools session)
            (list (efrit-do-make-tool
                   :name "edit_file" :function #'efrit-do-replay-edit-file
                   :args (mapcar (lambda (name) (list :name name :type "string"))
                                 '("path" "old" "new"))))))
    (unless given
      (cl-callf2 concat "Demonstration: " (efrit-do-session-title session))
      (setf (efrit-do-session-notice session)
            "Demonstration: a scripted agent; set `efrit-do-backend' to give your \
command to a model.  It takes up tasks that you add (+), and comments on changes (v, c)"))
    (setf (efrit-do-session-state session) script)))

(cl-defmethod efrit-do-backend-start ((_backend (eql 'replay)) session)
  "Play the script of SESSION, from where it was."
  (efrit-do-replay--schedule session 0))

(cl-defmethod efrit-do-backend-abort ((_backend (eql 'replay)) session)
  "Stop the script of SESSION."
  (let ((script (efrit-do-session-state session)))
    (when (and script (efrit-do-replay--state-timer script))
      (cancel-timer (efrit-do-replay--state-timer script)))))

(defun efrit-do-replay--schedule (session seconds)
  "Continue the script of SESSION in SECONDS."
  (setf (efrit-do-replay--state-timer (efrit-do-session-state session))
        (run-at-time seconds nil #'efrit-do-replay--play session)))

(defun efrit-do-replay--play (session)
  "Play events of SESSION until one of them requires waiting."
  (let ((script (efrit-do-session-state session)) (wait nil))
    (condition-case problem
        (while (and (not wait) (efrit-do-session-running-p session))
          (setq wait (if (efrit-do-replay--state-events script)
                         (efrit-do-replay--play-event session script)
                       (efrit-do-replay--next session script))))
      (error (efrit-do-session-end session 'failed (todo-write-core-error-text problem))))
    (when (and (numberp wait) (efrit-do-session-running-p session))
      (efrit-do-replay--schedule session wait))))

(defun efrit-do-replay--seconds (script seconds)
  "Return SECONDS divided by the speed of SCRIPT, or nil for no pause."
  (let ((speed (efrit-do-replay--state-speed script)))
    (and (> speed 0) (> seconds 0) (/ seconds (float speed)))))

(defun efrit-do-replay--play-event (session script)
  "Play the next event of SCRIPT in SESSION.
Return the seconds to wait, or nil to go on."
  (pcase (pop (efrit-do-replay--state-events script))
    (`(pause . ,seconds) (efrit-do-replay--seconds script seconds))
    (`(error . ,text) (efrit-do-session-end session 'failed text))
    (`(tool . ,call) (push call (efrit-do-replay--state-tools script)) nil)
    (`(,kind . ,text)
     (let ((end (string-match "[^[:space:]][[:space:]]+[^[:space:]]" text)))
       (when end
         (setq end (1- (match-end 0)))
         (push (cons kind (substring text end)) (efrit-do-replay--state-events script)))
       (efrit-do-session-token session (substring text 0 end) (eq kind 'thinking))
       ;; Between two words.
       (efrit-do-replay--seconds script 0.04)))))

(defun efrit-do-replay--next (session script)
  "End a turn of SCRIPT in SESSION, and begin the next one.
Return `answers' to wait for these, or nil to go on."
  (if-let* ((calls (nreverse (cl-shiftf (efrit-do-replay--state-tools script) nil)))
            (open (length calls)))
      (progn
        (efrit-do-session-answered session)
        (pcase-dolist (`(,name . ,input) calls)
          (efrit-do-session-call session name input
                                 (lambda (_outcome)
                                   (when (zerop (cl-decf open))
                                     (efrit-do-replay--schedule session 0)))))
        'answers)
    (when-let* (((efrit-do-replay--state-takes-up script))
                ((length< (efrit-do-replay--state-turns script) 2))
                ((not (efrit-do-session-message session)))
                (yours (efrit-do-replay--yours session script)))
      (push yours (efrit-do-replay--state-turns script)))
    (if (efrit-do-replay--state-turns script)
        (progn
          (setf (efrit-do-replay--state-events script)
                (pop (efrit-do-replay--state-turns script)))
          (efrit-do-session-request session))
      (efrit-do-session-answered session)
      (efrit-do-session-end session 'done))
    nil))

(defun efrit-do-replay--yours (session script)
  "Return the events of a turn in which SESSION does what the user said, or nil.
SCRIPT cannot do what it does not know, and says so."
  (let* ((thread (efrit-do-session-thread session))
         (followed (efrit-do-replay--state-followed script))
         (comment (seq-find (lambda (comment)
                              (and (plist-get comment :told) (plist-get comment :path)
                                   (not (member (plist-get comment :id) followed))))
                            (todo-write-plan-comments thread)))
         (item (seq-find (lambda (item)
                           (and (equal (plist-get item :addedBy) "user")
                                (not (equal (plist-get item :status) "completed"))))
                         (todo-write-items thread))))
    (cond (comment (push (plist-get comment :id) (efrit-do-replay--state-followed script))
                   (efrit-do-replay--follow session comment))
          (item (efrit-do-replay--take-up session item)))))

(defun efrit-do-replay--write (session item status)
  "Return the event that sends the list of SESSION with ITEM, maybe new, in STATUS."
  (let* ((id (plist-get item :id))
         (items (append (todo-write-items (efrit-do-session-thread session))
                        (unless id (list item)))))
    `(tool "todo_write"
           . ,(list :todos
                    (vconcat
                     (mapcar (lambda (one)
                               (list :content (plist-get one :content)
                                     :activeForm (plist-get one :activeForm)
                                     :status (if (equal (plist-get one :id) id) status
                                               (plist-get one :status))))
                             items))))))

(defun efrit-do-replay--take-up (session item)
  "Return the events of a turn in which the agent of SESSION works on ITEM."
  (let ((begun (equal (plist-get item :status) "in_progress")))
    `((pause . 0.8)
      (text . ,(if begun
                   "A model would do this task now.  I am only a script, so I call it done.  "
                 (format "You added “%s”.  I take it up.  " (plist-get item :content))))
      (pause . 1.2)
      ,(efrit-do-replay--write session item (if begun "completed" "in_progress")))))

(defun efrit-do-replay--follow (session comment)
  "Return the events of a turn in which the agent of SESSION follows COMMENT."
  (pcase-let* (((map :path :line :quote :text) comment)
               (place (todo-write-detail-place path line (efrit-do-session-directory session)))
               (item (list :content (concat "Follow your comment on " place)
                           :activeForm (concat "Following your comment on " place))))
    (with-temp-buffer
      (ignore-errors (insert-file-contents path))
      (forward-line (1- (or line 1)))
      ;; The agent may have added lines above it.
      (when (and (string-match "\\`[-+ ]\\(.*[^ \n].*\\)" (or quote ""))
                 (search-forward (match-string 1 quote) nil t))
        (forward-line 0))
      (let ((old (buffer-substring (point) (point-max)))
            (margin (concat (make-string (current-indentation) ?\s) "// ")))
        `((pause . 0.8)
          (text . ,(format "You say about %s: “%s”  A model would change the code now.  I am \
only a script, so I write it above that line.  " place text))
          (pause . 1.2)
          ,(efrit-do-replay--write session item "in_progress")
          (tool "edit_file"
                . ,(list :path path :old old
                         :new (concat (replace-regexp-in-string "^" margin text) "\n" old)))
          ,(efrit-do-replay--write session item "completed"))))))

(provide 'efrit-do-replay)
;;; efrit-do-replay.el ends here
