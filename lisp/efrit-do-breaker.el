;;; efrit-do-breaker.el --- Stop an agent that goes in circles -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The circuit breaker of a session is a counter with limits.  It is asked
;; before each request and each tool call, and told each outcome; its answer
;; is nil, or the reason why the session ends here.  It ends nothing itself.

;;; Code:

(require 'efrit-do-tools)

(defcustom efrit-do-max-calls 200
  "Number of tool calls that one session may make.
The next one is not run and ends the session.  Nil means no limit."
  :type '(choice natnum (const :tag "No limit" nil))
  :group 'efrit-do)

(defcustom efrit-do-max-requests 100
  "Number of requests that one session may send to the model.
The next one is not sent and ends the session.  Nil means no limit."
  :type '(choice natnum (const :tag "No limit" nil))
  :group 'efrit-do)

(defcustom efrit-do-max-identical-calls 3
  "Number of identical tool calls in a row that are run.
Identical means the same tool with the same input.  The next one is not run
and ends the session.  Nil means no limit."
  :type '(choice natnum (const :tag "No limit" nil))
  :group 'efrit-do)

(defcustom efrit-do-max-same-errors 3
  "Number of times in a row that the same error may come back.
The last of them ends the session; the model is not asked again.  Successes of
other tools in between do not count.  Nil means no limit."
  :type '(choice natnum (const :tag "No limit" nil))
  :group 'efrit-do)

(cl-defstruct (efrit-do-breaker (:constructor efrit-do-breaker-create)
                                (:copier nil))
  "What the circuit breaker of a session has counted."
  (requests 0 :documentation "Requests sent.")
  (calls 0 :documentation "Tool calls run.")
  (last-call nil :documentation "The last call in its normal form.")
  (identical 0 :documentation "How often it came in a row.")
  (last-error nil :documentation "The last error, a cons (TOOL . TEXT).")
  (errors 0 :documentation "How often it came in a row."))

(defun efrit-do--normal (value)
  "Return VALUE, decoded JSON, in a form in which equal objects are `equal'."
  (cond ((hash-table-p value)
         (efrit-do--normal-object (efrit-do-input-plist value)))
        ((stringp value) (substring-no-properties value))
        ((vectorp value) (cons 'array (mapcar #'efrit-do--normal value)))
        ((and (consp value) (keywordp (car value)))
         (efrit-do--normal-object value))
        ((and (consp value) (consp (car value)) (atom (caar value)))
         (efrit-do--normal-object (efrit-do-input-plist value)))
        ((proper-list-p value) (cons 'array (mapcar #'efrit-do--normal value)))
        (t value)))

(defun efrit-do--normal-object (plist)
  "Return PLIST as an alist sorted by key, its values in normal form."
  (sort (cl-loop for (key value) on plist by #'cddr
                 collect (cons key (efrit-do--normal value)))
        (lambda (a b) (string< (car a) (car b)))))

(defun efrit-do--normal-call (name input)
  "Return the call of NAME with INPUT in its normal form."
  (cons name (or (ignore-errors (efrit-do--normal (efrit-do-input-plist input)))
                 input)))

(defun efrit-do-breaker-request (breaker)
  "Count a request in BREAKER; return the reason if it may not be sent."
  (if (and efrit-do-max-requests
           (>= (efrit-do-breaker-requests breaker) efrit-do-max-requests))
      (format "the agent sent %d requests, the limit of a session \
(`efrit-do-max-requests')" efrit-do-max-requests)
    (cl-incf (efrit-do-breaker-requests breaker))
    nil))

(defun efrit-do-breaker-call (breaker name input)
  "Count a call of NAME with INPUT in BREAKER; return why it may not run."
  (let* ((call (efrit-do--normal-call name input))
         (identical (if (equal call (efrit-do-breaker-last-call breaker))
                        (1+ (efrit-do-breaker-identical breaker))
                      1)))
    (cond
     ((and efrit-do-max-calls
           (>= (efrit-do-breaker-calls breaker) efrit-do-max-calls))
      (format "the agent made %d tool calls, the limit of a session \
(`efrit-do-max-calls')" efrit-do-max-calls))
     ((and efrit-do-max-identical-calls
           (> identical efrit-do-max-identical-calls))
      (format "the agent called %s %d times in a row with the same input \
(`efrit-do-max-identical-calls')" name efrit-do-max-identical-calls))
     (t (cl-incf (efrit-do-breaker-calls breaker))
        (setf (efrit-do-breaker-last-call breaker) call
              (efrit-do-breaker-identical breaker) identical)
        nil))))

(defun efrit-do-breaker-outcome (breaker name outcome)
  "Tell BREAKER the OUTCOME of a call of NAME; return the reason to stop now."
  (let ((last (efrit-do-breaker-last-error breaker))
        ;; The same object prints another address each time.
        (text (replace-regexp-in-string "0x[[:xdigit:]]+" "0x"
                                        (plist-get outcome :content))))
    (cond
     ((not (plist-get outcome :is-error))
      (when (equal name (car last))
        (setf (efrit-do-breaker-last-error breaker) nil))
      nil)
     ((not (equal last (cons name text)))
      (setf (efrit-do-breaker-last-error breaker) (cons name text)
            (efrit-do-breaker-errors breaker) 1)
      (efrit-do--same-error breaker name text))
     (t (cl-incf (efrit-do-breaker-errors breaker))
        (efrit-do--same-error breaker name text)))))

(defun efrit-do--same-error (breaker name text)
  "Return the reason to stop if BREAKER counted the error TEXT of NAME too often."
  (when (and efrit-do-max-same-errors
             (>= (efrit-do-breaker-errors breaker) efrit-do-max-same-errors))
    (format "%s failed %d times in a row with the same error: %s \
(`efrit-do-max-same-errors')" name (efrit-do-breaker-errors breaker)
            (truncate-string-to-width
             (replace-regexp-in-string "[[:space:]]+" " " text)
             200 nil nil "…"))))

(provide 'efrit-do-breaker)
;;; efrit-do-breaker.el ends here
