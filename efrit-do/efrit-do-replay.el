;;; efrit-do-replay.el --- A scripted agent -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The backend `replay' plays an agent from a script, without key and network:
;;
;;   (efrit-do-run "Refactor the login function" :backend 'replay :speed 0 :script SCRIPT)
;;
;; With `:speed' 2 it plays twice as fast, with 0 without pauses.  A script is JSON with
;; plists as objects, by default that of the demonstration:
;;
;;   {"directory": "login",         tools work in a copy of it; from the folder demo
;;    "turns": [                    one per request to the model
;;      [{"thinking": "Three places call it …"},
;;       {"pause": 1.5},                           in seconds
;;       {"text": "Here is my plan."},
;;       {"tool": "todo_write", "input": {"todos": […]}},
;;       {"error": "overloaded"}]]}                the request fails here
;;
;; The tools of a turn run after its text.  The next turn begins when all of them
;; have answered.  In a copy of a folder, the tool `edit_file' replaces text in a file:
;; {"path": "login.js", "old": "…", "new": "…"}.
;;
;; The demonstration works on tasks that the user adds, and on comments on changed lines,
;; before its last turn.

;;; Code:

(require 'efrit-do-session)
(require 'generator)
(require 'todo-write-detail)

(cl-defstruct (efrit-do-replay--state (:constructor efrit-do-replay--make) (:copier nil))
  "A script that is played.
TURNS are the next turns, sequences of events, and STEPS an iterator over what
the agent does.  FOLLOWED are the ids of the comments that were followed."
  speed turns steps timer followed)

(defun efrit-do-replay-demo ()
  "Return the file name of the demo, in the folder demo/ beside this file."
  (expand-file-name "demo/refactor-login.json"
                    (file-name-directory (locate-library "efrit-do-replay"))))

;;; Its folder

(defun efrit-do-replay-folder (&optional from)
  "Return a new folder that Emacs deletes on exit, a copy of FROM if not nil."
  (let* ((folder (file-name-as-directory (make-temp-file "efrit-do-" t)))
         (copy (if from (expand-file-name (concat (file-name-nondirectory from) "/") folder) folder)))
    (add-hook 'kill-emacs-hook (lambda () (ignore-errors (delete-directory folder t))) t)
    (when from
      (make-directory copy)
      (dolist (file (directory-files from t directory-files-no-dot-files-regexp))
        (let ((to (expand-file-name (file-name-nondirectory file) copy)))
          (copy-file file to)
          ;; That of an installed package may be read-only.
          (set-file-modes to #o600))))
    copy))

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

(cl-defmethod efrit-do-session-backend-prepare ((_backend (eql 'replay)) session)
  "Take the script of SESSION, and say if it is the demonstration."
  (pcase-let* (((map :script :speed) (efrit-do-session-options session))
               ((map :directory :turns)
                (or script
                    (with-temp-buffer
                      (insert-file-contents (efrit-do-replay-demo))
                      (json-parse-buffer :object-type 'plist))))
               (state (efrit-do-replay--make :speed (or speed 1) :turns (append turns nil))))
    (when directory
      (setf (efrit-do-session-directory session)
            (efrit-do-replay-folder (expand-file-name directory (file-name-directory
                                                                 (efrit-do-replay-demo))))
            (efrit-do-session-tools session)
            (list (efrit-do-make-tool
                   :name "edit_file" :function #'efrit-do-replay-edit-file
                   :args (mapcar (lambda (name) (list :name name :type "string"))
                                 '("path" "old" "new"))))))
    (unless script
      (setf (efrit-do-session-title session) "Demonstration: Refactor the login function"
            (efrit-do-session-notice session)
            "Demonstration: a scripted agent; set `efrit-do-backend' to give your \
command to a model.  It takes up tasks that you add (+), and comments on changes (v, c)"))
    (setf (efrit-do-replay--state-steps state) (efrit-do-replay--steps session state)
          (efrit-do-session-state session) state)))

(cl-defmethod efrit-do-session-backend-start ((_backend (eql 'replay)) session)
  "Play the script of SESSION, from where it was."
  (efrit-do-replay--schedule session 0))

(cl-defmethod efrit-do-session-backend-abort ((_backend (eql 'replay)) session)
  "Stop the script of SESSION."
  (when-let* ((script (efrit-do-session-state session))
              (timer (efrit-do-replay--state-timer script)))
    (cancel-timer timer)))

(defun efrit-do-replay--schedule (session seconds)
  "Continue the script of SESSION in SECONDS."
  (setf (efrit-do-replay--state-timer (efrit-do-session-state session))
        (run-at-time seconds nil #'efrit-do-replay--play session)))

(iter-defun efrit-do-replay--steps (session script)
  "Do what the agent of SESSION does by SCRIPT.
Yield seconds to wait for, or calls of tools whose answers to wait for."
  (let (turn calls)
    (while (and (setq turn (or (efrit-do-replay--yours session script)
                               (pop (efrit-do-replay--state-turns script))))
                (efrit-do-session-request session))
      (setq calls nil)
      (dolist (event (append turn nil))
        (pcase event
          (`(:pause ,seconds) (iter-yield seconds))
          (`(:error ,text)
           (efrit-do-session-end session 'failed text)
           (iter-yield 0))
          (`(:tool ,name . ,(map :input)) (push (cons name input) calls))
          (`(,(and (or :text :thinking) kind) ,text)
           (let ((start 0))
             (while (string-match "[[:space:]]*[^[:space:]]+[[:space:]]*" text start)
               (setq start (match-end 0))
               (efrit-do-session-token session (match-string 0 text) (eq kind :thinking))
               (iter-yield 0.04))))
          (_ (error "The script has no such event: %S" event))))
      (efrit-do-session-answered session)
      (when calls (iter-yield (nreverse calls))))
    (efrit-do-session-end session 'done)))

(defun efrit-do-replay--play (session)
  "Let the agent of SESSION go on until it has to wait."
  (let* ((script (efrit-do-session-state session))
         (speed (efrit-do-replay--state-speed script))
         (wait 0))
    (condition-case problem
        (while (and (efrit-do-session-running-p session) (numberp wait)
                    (or (zerop speed) (zerop wait)))
          (setq wait (iter-next (efrit-do-replay--state-steps script))))
      (iter-end-of-sequence (efrit-do-session-end session 'done))
      (error (efrit-do-session-end session 'failed (todo-write-core-error-text problem))))
    (cond ((not (efrit-do-session-running-p session)))
          ((numberp wait) (efrit-do-replay--schedule session (/ wait (float speed))))
          (t (let ((open (length wait)))
               (pcase-dolist (`(,name . ,input) wait)
                 (efrit-do-session-call session name input
                                        (lambda (_outcome)
                                          (when (zerop (cl-decf open))
                                            (efrit-do-replay--schedule session 0))))))))))

(defun efrit-do-replay--yours (session script)
  "Return the events of a turn in which SESSION does what the user said, or nil.
SCRIPT cannot do what it does not know, and says so."
  (when (and (efrit-do-session-notice session)
             (length< (efrit-do-replay--state-turns script) 2)
             (not (efrit-do-session-message session)))
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
            (item (efrit-do-replay--take-up session item))))))

(defun efrit-do-replay--write (session item status)
  "Return the event that sends the list of SESSION with ITEM, maybe new, in STATUS."
  (let* ((id (plist-get item :id))
         (items (append (todo-write-items (efrit-do-session-thread session))
                        (unless id (list item)))))
    (list :tool "todo_write"
          :input (list :todos
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
    `((:pause 0.8)
      (:text ,(if begun
                  "A model would do this task now.  I am only a script, so I call it done.  "
                (format "You added “%s”.  I take it up.  " (plist-get item :content))))
      (:pause 1.2)
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
        `((:pause 0.8)
          (:text ,(format "You say about %s: “%s”  A model would change the code now.  I am \
only a script, so I write it above that line.  " place text))
          (:pause 1.2)
          ,(efrit-do-replay--write session item "in_progress")
          (:tool "edit_file"
           :input ,(list :path path :old old
                         :new (concat (replace-regexp-in-string "^" margin text) "\n" old)))
          ,(efrit-do-replay--write session item "completed"))))))

(provide 'efrit-do-replay)
;;; efrit-do-replay.el ends here
