;;; soak-work.el --- The random operations of the soak  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Operations of agents, users and hosts.  Each is a function without arguments
;; that invents its input, with a weight.  soak-checks.el has the invariants.

;;; Code:

(require 'cl-lib)
(require 'json)
(require 'seq)
(require 'todo-write)
(require 'todo-write-view)
(require 'todo-write-mode-line)

(defvar soak-operations nil
  "List of (NAME WEIGHT FUNCTION).")

(defvar soak-pool 8
  "The number of threads that agents write at the same time.")

(defmacro soak-define (name weight docstring &rest body)
  "Define the operation NAME with BODY and DOCSTRING.
It runs in proportion to WEIGHT."
  (declare (indent 2) (doc-string 3))
  (let ((function (intern (format "soak--%s" name))))
    `(progn (defun ,function () ,docstring ,@body)
            (setq soak-operations
                  (append soak-operations (list (list ',name ,weight #',function)))))))

;;; Invented input

(defconst soak--words
  ["the" "login" "parser" "tests" "漢字テスト" "naïve" "🙂 emoji" "\u202eturned" "100%" "%s" "`quoted'"
   "convert" "callbacks" "module" "שלום" "cache" "\u200bhidden" "refactor" "a-very-long-word-without-end"
   "Ångström" "server" "\e[31mred" "config" "release" "👩‍👩‍👧" "x"]
  "Words of tasks, some of them hostile to a display.")

(defun soak-one-of (sequence)
  "Return a random element of SEQUENCE."
  (seq-elt sequence (random (length sequence))))

(defun soak-chance (percent)
  "Return non-nil in PERCENT of all cases."
  (< (random 100) percent))

(defun soak-text ()
  "Return the text of a task."
  (mapconcat (lambda (_) (soak-one-of soak--words))
             (make-list (1+ (random (if (soak-chance 3) 60 6))) nil) " "))

(defun soak--task ()
  "Return a new task as a list of content, status and active form."
  (list (soak-text) (soak-one-of ["pending" "pending" "in_progress" "completed"]) (soak-text)))

(defun soak--rows (thread)
  "Return the list of THREAD as lists of content, status and active form."
  (mapcar (lambda (item)
            (list (plist-get item :content) (plist-get item :status) (plist-get item :activeForm)))
          (todo-write-items thread)))

(defun soak--next-rows (thread)
  "Return a plausible next list of THREAD."
  (let ((rows (soak--rows thread)))
    (if (or (null rows) (soak-chance 5))
        (mapcar (lambda (_) (soak--task)) (make-list (random (if (soak-chance 5) 150 12)) nil))
      (dotimes (_ (1+ (random 3)))
        (let ((row (and rows (soak-one-of rows))))
          (pcase (random 6)
            ((guard (null row)) (push (soak--task) rows))
            (0 (setf (nth (random (length rows)) rows) (cons (soak-text) (cdr row))))
            (1 (setq rows (append rows (list (soak--task)))))
            (2 (setq rows (remq row rows)))
            (3 (setq rows (cons row (remq row rows))))
            (_ (setf (nth (cl-position row rows) rows)
                     (list (car row) (soak-one-of ["in_progress" "completed"]) (nth 2 row)))))))
      rows)))

(defun soak--input (rows)
  "Return ROWS as the input of a tool call, as a random host passes it."
  (let ((plist (list :todos (vconcat (mapcar (lambda (row)
                                               (list :content (car row) :status (nth 1 row)
                                                     :activeForm (nth 2 row)))
                                             rows)))))
    (pcase (random 4)
      (0 plist)
      (1 (json-serialize plist))
      (2 (json-parse-string (json-serialize plist)))
      (_ (json-parse-string (json-serialize plist) :object-type 'alist)))))

(defconst soak--rubbish
  `("" "{" "null" "{\"todos\": 7}" "{\"todos\": [{\"content\": 1}]}" nil t 7 [] [1 2]
    (:todos [(:content "x" :status "blocked" :activeForm "y")]) (:todos "nothing") "\xff\0"
    (:todos [(:content " " :status "pending" :activeForm "y")])
    (:todos [,(make-string 3000 ?x)]) ,(make-marker))
  "Inputs that are refused.")

(defun soak--thread ()
  "Return the key of a random thread that agents write."
  (format "soak %d" (random soak-pool)))

(defun soak--written-thread ()
  "Return the key of a random thread that has tasks."
  (let ((thread (soak--thread)))
    (when (zerop (length (todo-write-items thread)))
      (todo-write thread (soak--input (list (soak--task) (soak--task)))))
    thread))

(defun soak--any-id (thread)
  "Return the id of a random task of THREAD."
  (let ((items (todo-write-items thread)))
    (if (zerop (length items)) "t1" (plist-get (soak-one-of items) :id))))

;;; Agents

(soak-define write 30
  "An agent writes its list."
  (let* ((thread (soak--thread))
         (outcome (todo-write thread (soak--input (soak--next-rows thread)) "soak")))
    (unless (plist-get outcome :ok)
      (error "Refused: %s" (plist-get outcome :result)))))

(soak-define refused 4
  "An agent writes input that is refused."
  (let* ((thread (soak--written-thread))
         (before (todo-write-items thread))
         (outcome (todo-write thread (soak-one-of soak--rubbish) "soak")))
    (unless (or (plist-get outcome :ok) (equal before (todo-write-items thread)))
      (error "A refused write changed the list"))))

(soak-define observe 10
  "A host records an observation."
  (todo-write-observe (soak--thread)
                      (soak-one-of ["INTENT" "THOUGHTS" "TOOL_CALL" "TOOL_EXECUTION" "ERROR" "TITLE"])
                      (if (soak-chance 50) (soak-text) (list :name (soak-text) :count (random 9)))
                      :title (soak-text) :note (soak-text)))

(soak-define stream 6
  "A model answers token by token."
  (let ((thread (soak--written-thread)))
    (dotimes (_ (random 60))
      (todo-write-stream thread :type "TOKEN" :data (soak-text) :thinking (soak-chance 70)
                         :call-context "EXECUTION_THOUGHTS" :trace-id "trace"))
    (todo-write-stream thread :type (soak-one-of ["END" "ERROR"]) :data nil)))

(defun soak--thread-below ()
  "Return the key of a random thread of a subagent."
  (format "soak below %d" (random 3)))

(soak-define subagent 2
  "An agent starts a subagent."
  (let* ((parent (soak--written-thread))
         (thread (soak--thread-below)))
    (todo-write-begin thread :parent parent :parent-item (soak--any-id parent))
    (todo-write thread (soak--input (list (soak--task) (soak--task))))))

(soak-define pause 4
  "A host pauses or resumes a thread."
  (let ((thread (soak--written-thread)))
    (if (eq (todo-write-state thread) 'paused)
        (todo-write-resume thread)
      (todo-write-pause thread (soak-text)))))

(soak-define forget 2
  "A thread is forgotten; otherwise its history would make the memory grow."
  (todo-write-forget (if (soak-chance 70) (soak--thread) (soak--thread-below))))

;;; Users

(soak-define edit 20
  "The user edits a list."
  (let* ((thread (soak--written-thread))
         (id (soak--any-id thread)))
    (pcase (random 5)
      (0 (todo-write-edit thread 'add (soak-text) (and (soak-chance 50) (random 3))))
      ((guard (zerop (length (todo-write-items thread)))))
      (1 (todo-write-edit thread 'rename id (soak-text)))
      (2 (todo-write-edit thread 'status id (soak-one-of ["pending" "in_progress" "completed"])))
      (3 (todo-write-edit thread 'move id (random (length (todo-write-items thread)))))
      (_ (todo-write-edit thread 'delete id)))))

(soak-define undo 6
  "The user undoes a change."
  (condition-case err
      (todo-write-undo (soak--thread))
    (todo-write-error
     (unless (string-search "nothing to undo" (error-message-string err))
       (signal (car err) (cdr err))))))

(defun soak--call (command)
  "Call COMMAND interactively, ignoring a `user-error'; answer at random.
A button may ask for more, or need the program for agents, which is not here."
  (condition-case err
      (cl-letf (((symbol-function 'y-or-n-p) (lambda (_) (soak-chance 50)))
                (inhibit-interaction t))
        (call-interactively command))
    ((user-error inhibited-interaction beginning-of-buffer end-of-buffer) nil)
    (todo-write-error
     (unless (string-search "todo-write-mcp is missing" (error-message-string err))
       (signal (car err) (cdr err))))))

(soak-define look 6
  "The user looks at another plan."
  (pop-to-buffer (todo-write-show (soak--written-thread))))

(soak-define keys 15
  "The user presses keys in the plan."
  (pop-to-buffer (todo-write-show))
  (dotimes (_ 3)
    (soak--call (soak-one-of [todo-write-buffer-next
                              todo-write-buffer-previous todo-write-view-to-current
                              todo-write-buffer-visit todo-write-view-toggle-fold
                              revert-buffer scroll-up scroll-down beginning-of-buffer
                              end-of-buffer todo-write-edit-cycle-status
                              todo-write-edit-move-up todo-write-edit-move-down
                              todo-write-edit-delete todo-write-edit-undo]))
    (redisplay t)))

(soak-define windows 4
  "The user opens and closes windows."
  (pcase (random 3)
    (0 (delete-other-windows))
    (1 (ignore-errors (split-window (selected-window) nil (soak-one-of [below right]))))
    (_ (other-window 1)))
  (redisplay t))

(soak-define views 4
  "The user opens the other views of a plan."
  (let ((thread (soak--written-thread)))
    (pcase (random 4)
      (0 (todo-write-history thread)
         (dotimes (_ (random 5)) (soak--call #'todo-write-buffer-next)))
      (1 (todo-write-timeline thread))
      (2 (todo-write-log thread))
      (_ (todo-write-list)))
    (redisplay t)))

(soak-define kill 4
  "The user kills a view."
  (when-let* ((buffers (soak-views)))
    (kill-buffer (soak-one-of buffers))))

(defun soak-views ()
  "Return the buffers that show plans."
  (seq-filter (lambda (buffer)
                (string-prefix-p "todo-write-"
                                 (symbol-name (buffer-local-value 'major-mode buffer))))
              (buffer-list)))

(soak-define mode-line 1
  "The user switches the mode line off and on."
  (todo-write-mode-line-mode -1)
  (todo-write-mode-line-mode 1))

;;; The user's own code

(defvar soak--subscriptions nil
  "Handles of the current subscriptions.")

(soak-define subscribe 4
  "The user's code subscribes or ends a subscription."
  (if (or (null soak--subscriptions) (and (soak-chance 50) (< (length soak--subscriptions) 6)))
      (push (todo-write-subscribe (lambda (event) (plist-get event :type))
                                  :kind (soak-one-of [nil stream observation])
                                  :thread (soak--thread))
            soak--subscriptions)
    (todo-write-unsubscribe (pop soak--subscriptions))))

(soak-define hostile 2
  "A subscriber and a hook fail, throw and edit the list while it changes."
  (let* ((thread (soak--written-thread))
         (depth 0)
         (again (lambda (&rest _)
                  (when (< (cl-incf depth) 3)
                    (todo-write-edit thread 'add (soak-text)))))
         (handles (list (todo-write-subscribe (lambda (_) (error "Failed on purpose")))
                        (todo-write-subscribe (lambda (_) (throw 'soak t)))
                        (todo-write-subscribe again :type "PLAN_UPDATE"))))
    (add-hook 'todo-write-change-functions again)
    (unwind-protect
        (catch 'soak
          (todo-write thread (soak--input (soak--next-rows thread))))
      (remove-hook 'todo-write-change-functions again)
      (mapc #'todo-write-unsubscribe handles))))

(soak-define collect 1
  "Emacs collects garbage during a write."
  (let ((gc-cons-threshold 1) (gc-cons-percentage 0.0))
    (soak--write)))

(soak-define prune 1
  "Old journals are deleted."
  (let ((todo-write-journal-days 30) (todo-write-journal-count 200))
    (todo-write-prune)))

(provide 'soak-work)
;;; soak-work.el ends here
