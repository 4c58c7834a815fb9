;;; todo-write-request.el --- Questions of agents to the user  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A request is a question of an agent that only the user can answer: a permission,
;; a choice, the approval of a plan.  A host that knows what its agent asks calls
;; `todo-write-request' with a function that brings the answer back.  This file keeps
;; the open requests, in memory only.  Nothing here shows them or answers by itself:
;; todo-write-answer.el reads the user's answer.
;;
;; While a request is open, its agent waits.  Every answered or withdrawn request is
;; recorded in its thread as a STATE_UPDATE.

;;; Code:

(require 'todo-write-events)

(defvar todo-write-request--open nil
  "The open requests, oldest first, a list of plists.
See `todo-write-requests'.")

;;; Asking

(defconst todo-write-request--fields
  '((:id string "a string")
    (:kind (member permission question plan) "permission, question or plan")
    (:title string "a string")
    (:detail (or null string function) "a string, a function or nil")
    (:format (member nil text shell lisp diff markdown)
             "text, shell, lisp, diff or markdown")
    (:options (satisfies todo-write-request--options-p)
              "a list of options with :label and :kind")
    (:questions (satisfies todo-write-request--questions-p) "a list of questions with :question")
    (:answer (or null function) "a function or nil")
    (:visit (or null function) "a function or nil")
    (:withdrawn (or null function) "a function or nil")
    (:process (or null integer) "a process id or nil"))
  "The fields of a request, a list of (KEY TYPE EXPECTED).")

(defun todo-write-request--labelled-p (value)
  "Return non-nil if VALUE is a list of plists with :label."
  (and (proper-list-p value)
       (seq-every-p (lambda (one) (and (consp one) (stringp (plist-get one :label)))) value)))

(defun todo-write-request--options-p (value)
  "Return non-nil if VALUE is a list of options."
  (and (todo-write-request--labelled-p value)
       (seq-every-p (lambda (option) (memq (plist-get option :kind) '(allow always deny other)))
                    value)))

(defun todo-write-request--questions-p (value)
  "Return non-nil if VALUE is a list of questions."
  (and (proper-list-p value)
       (seq-every-p (lambda (question)
                      (and (consp question)
                           (stringp (plist-get question :question))
                           (todo-write-request--labelled-p (plist-get question :options))))
                    value)))

;;;###autoload
(defun todo-write-request (thread &rest request)
  "Let the user answer REQUEST of the agent of THREAD; return its id.
REQUEST is a plist; the first three keys are required:
  :id       a string, unique in THREAD; an open request with this id is
            withdrawn
  :kind     `permission', `question' or `plan'
  :title    what is asked, a line
  :detail   all that the answer is about: the command, the diff, the
            plan's text; or a function without arguments that returns it,
            which is called when the user looks, and may be quit
  :format   what that is: `text' (the default), `shell', `lisp', `diff'
            or `markdown'
  :options  the answers, a list of plists: :label, a string; :value, any
            object; :kind, which is `allow', `always', `deny' or `other';
            and :text, non-nil if a message may go along, or `edited' if
            that is the detail, a string, as the user edited it.  The
            label of an `always' says what it will allow
  :questions  for the kind `question', a list of plists: :question, a
            string; :header, a word or nil; :options, a list of plists
            :label and :description, or nil if the answer is a text;
            :multiple, non-nil if several can be chosen
  :answer   function of VALUE and TEXT that answers the agent, or nil if
            the user must answer elsewhere.  TEXT is the user's message
            or nil.  VALUE is that of the chosen option or, for questions,
            an alist (QUESTION . ANSWER), where ANSWER is a string or, for
            several, a list of strings.  An error that it signals withdraws
            the request
  :visit    function without arguments that goes to the agent's own
            question, or nil to go to the agent
  :withdrawn  function without arguments, called when the request is closed
            without an answer, or nil
  :process  the id of the process on this machine that asks, or nil.  With
            this key, nothing reports the end of the agent's turn

A request with more than 20 questions, or 50 options of one question or
of its own beside those of the kinds `allow' and `deny', is shown as what
it is, and the user must answer it elsewhere.

The agent is `waiting' for the request's title until it is answered or
withdrawn.  The end of its turn withdraws its requests; for other reasons
use `todo-write-withdraw'.  Signal `todo-write-input-error' if REQUEST is
not such a plist."
  (unless (stringp thread)
    (todo-write-core-wrong "thread" thread "a string"))
  (let ((inhibit-quit t)
        (id (plist-get request :id))
        (open (list :thread thread :since (todo-write-core-now))))
    (pcase-dolist (`(,key ,type ,expected) todo-write-request--fields)
      (let ((value (plist-get request key)))
        (unless (cl-typep value type)
          (todo-write-core-wrong (symbol-name key) value expected))
        (setq open (plist-put open key value))))
    (when-let* ((excess (todo-write-request--excess open)))
      (cl-loop for (key value) on `( :detail ,excess :format text
                                     :questions nil :options nil :answer nil)
               by #'cddr do (setq open (plist-put open key value))))
    (todo-write-withdraw thread id)
    (setq todo-write-request--open (append todo-write-request--open (list open)))
    (todo-write-request--report thread (not (plist-member request :process)))
    (todo-write-events-dispatch thread 'request id)
    id))

(defun todo-write-request--excess (request)
  "Return a sentence if REQUEST has more parts than can be read, or nil.
Then only the agent's own dialog can answer it."
  (let* ((questions (plist-get request :questions))
         (options (apply #'max
                         (seq-count (lambda (option)
                                      (not (memq (plist-get option :kind) '(allow deny))))
                                    (plist-get request :options))
                         (mapcar (lambda (question) (length (plist-get question :options)))
                                 questions))))
    (pcase-let ((`(,most ,what) (cond ((length> questions 20) '(20 "questions"))
                                      ((> options 50) '(50 "options")))))
      (and most (format "This has more than %d %s, too many to be shown here." most what)))))

;;; Reading

;;;###autoload
(defun todo-write-requests (&optional thread)
  "Return the open requests, of THREAD if that is non-nil, oldest first.
They are plists as for `todo-write-request', with :thread, a key, and
:since, the time of asking in milliseconds since the epoch.  Do not
modify them."
  (if thread
      (cl-loop for request in todo-write-request--open
               when (equal thread (plist-get request :thread)) collect request)
    (copy-sequence todo-write-request--open)))

(defun todo-write-request-get (thread id)
  "Return the open request ID of THREAD, or nil."
  (seq-find (lambda (request)
              (and (equal id (plist-get request :id))
                   (equal thread (plist-get request :thread))))
            todo-write-request--open))

(defun todo-write-request-open-p (request)
  "Return non-nil if REQUEST, a value of `todo-write-requests', is still open."
  (memq request todo-write-request--open))

;;;###autoload
(defun todo-write-request-detail (request)
  "Return all that REQUEST is about, a string or nil.
REQUEST is one of `todo-write-requests'.  The difference of large texts
takes a while, which \\[keyboard-quit] ends."
  (let ((detail (plist-get request :detail)))
    (if (functionp detail) (funcall detail) detail)))

;;; Closing

;;;###autoload
(defun todo-write-withdraw (thread id)
  "Close the request ID of THREAD without an answer, if it is open.
Hosts call this when it was answered elsewhere, or its agent no longer
waits for it."
  (when-let* ((request (todo-write-request-get thread id)))
    (let ((inhibit-quit t))
      (todo-write-request--close request "withdrawn"))
    nil))

;;;###autoload
(defun todo-write-answer-request (thread id value &optional text)
  "Answer the request ID of THREAD with VALUE, and TEXT, a message or nil.
See `todo-write-request' for VALUE.  Return t if it was still open,
otherwise nil, and then do nothing.  Signal `todo-write-input-error' for
a VALUE or TEXT that is no answer to it, and `todo-write-error' if it can
only be answered elsewhere.  If its `:answer' signals, it is withdrawn,
and the error is passed on."
  (when-let* ((request (todo-write-request-get thread id)))
    (let ((inhibit-quit t)
          (meaning (todo-write-request--meaning request value text))
          (end '("withdrawn")))
      (unless (plist-get request :answer)
        (signal 'todo-write-error (list "Only the agent's own dialog answers this")))
      ;; Before calling it: it may ask the next question, or answer this one again.
      (setq todo-write-request--open (remq request todo-write-request--open))
      (unwind-protect
          (progn (funcall (plist-get request :answer) value text)
                 (setq end meaning)
                 t)
        (apply #'todo-write-request--close request end)))))

(defun todo-write-request--meaning (request value text)
  "Return (OUTCOME ANSWER MESSAGE), what VALUE with TEXT means for REQUEST.
OUTCOME is a word for the record, ANSWER the chosen label or, for
questions, a vector of plists.  MESSAGE is TEXT unless that is an edited
plan, which the agent keeps.  Signal `todo-write-input-error' if VALUE or
TEXT is no answer."
  (let* ((questions (plist-get request :questions))
         (option (seq-find (lambda (option) (equal value (plist-get option :value)))
                           (plist-get request :options))))
    (unless (or (null text) (and (stringp text) (plist-get option :text)))
      (todo-write-core-wrong "text" text (if option "no message with this option" "no message")))
    (cond (option
           (let ((edited (eq 'edited (plist-get option :text))))
             (list (pcase (plist-get option :kind)
                     ('allow "allowed") ('always "always") ('deny "denied") (_ "answered"))
                   (concat (plist-get option :label) (and text edited " (edited)"))
                   (unless edited text))))
          ((and questions (todo-write-request--answers-p value questions))
           (list "answered"
                 (vconcat (mapcar (pcase-lambda (`(,question . ,answer))
                                    (list :question question
                                          :answer (if (listp answer) (vconcat answer) answer)))
                                  value))))
          (t (todo-write-core-wrong "value" value "the value of an option, or answers")))))

(defun todo-write-request--answers-p (value questions)
  "Return non-nil if VALUE is an alist with an answer to each of QUESTIONS."
  (and (proper-list-p value)
       (seq-every-p
        (lambda (question)
          (pcase (assoc (plist-get question :question) (seq-filter #'consp value))
            (`(,_ . ,(pred stringp)) t)
            (`(,_ . ,(and answer (pred consp)))
             (and (plist-get question :multiple) (seq-every-p #'stringp answer)))))
        questions)
       (= (length value) (length questions))))

(defun todo-write-request--close (request outcome &optional answer text)
  "Close REQUEST with OUTCOME, and record and dispatch that.
If OUTCOME is nil, record nothing.  ANSWER and TEXT are the user's; see
`todo-write-request--meaning'."
  (let ((thread (plist-get request :thread)))
    (setq todo-write-request--open (remq request todo-write-request--open))
    (unwind-protect
        (todo-write-request--report thread)
      (unwind-protect
          ;; A full disk must not keep the next question from being shown.
          (with-demoted-errors "Recording an answer: %S"
            (when outcome
              (todo-write-request--record request outcome answer text)))
        (todo-write-events-dispatch thread 'request (plist-get request :id))
        (when (and (member outcome '(nil "withdrawn")) (plist-get request :withdrawn))
          (with-demoted-errors "todo-write: %S"
            (funcall (plist-get request :withdrawn))))))))

(defun todo-write-request--record (request outcome answer text)
  "Record that REQUEST ended by OUTCOME with ANSWER and TEXT."
  (cl-flet ((plain (string) (todo-write-core-plain (substring-no-properties string))))
    (todo-write-observe
     (plist-get request :thread) "STATE_UPDATE"
     (list :request
           `( :id ,(plain (plist-get request :id))
              :kind ,(symbol-name (plist-get request :kind))
              :title ,(plain (truncate-string-to-width
                             (seq-take (plist-get request :title) 1000) 200))
              :since ,(plist-get request :since)
              :outcome ,outcome
              ,@(unless (equal outcome "withdrawn") '(:by "user"))
              ,@(and answer (list :answer (if (stringp answer) (plain answer) answer)))
              ,@(and text (list :text (plain text))))))))

;;; Activity

(defun todo-write-request--report (thread &optional turn)
  "Report that the agent of THREAD waits for its oldest open request, if any.
TURN is non-nil if its host says when its turn ends."
  (todo-write-core-configure)
  (let ((oldest (car (todo-write-requests thread))))
    (todo-write-events-publish-activity
     (todo-write-core-call todo-write-dyn--report-request
       ;; What waits is drawn in many places.
       thread (seq-take (plist-get oldest :title) 1000) turn
       (plist-get oldest :process)))))

(defun todo-write-request--on-event (thread what data)
  "Withdraw the requests of THREAD if WHAT with DATA ended its turn.
For `todo-write-events-functions'."
  (when (or (eq what 'forgotten)
            (and (eq what 'activity)
                 (not (eq (car data) 'waiting))))
    (when-let* ((requests (todo-write-requests thread)))
      (setq todo-write-request--open (seq-difference todo-write-request--open requests #'eq))
      (dolist (request requests)
        (todo-write-request--close request (unless (eq what 'forgotten) "withdrawn"))))))

(add-hook 'todo-write-events-functions #'todo-write-request--on-event)

(provide 'todo-write-request)
;;; todo-write-request.el ends here
