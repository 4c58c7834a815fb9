;;; bench-events.el --- An edit, a token, a mode line  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Events that are more frequent than writes, and changes of a long list.

;;; Code:

(require 'bench)
(require 'bench-ways)

;;; A status change in a long buffer

(defun bench-events--status-ways (first place)
  "Return ways to change the status of the task at PLACE in FIRST, a call."
  (let ((ours (bench-ours bench-folder first))
        (redrawn (bench-ours nil first))
        (plain (bench-plain first))
        id)
    (let ((begin (bench-way-begin ours)))
      (setf (bench-way-begin ours)
            (lambda ()
              (funcall begin)
              (setq id (plist-get (aref (todo-write-items bench-thread) place) :id)))
            (bench-way-call ours)
            (lambda (status) (todo-write-edit bench-thread 'status id status))))
    (setf (bench-way-call redrawn)
          (lambda (_status) (todo-write-view-draw-all)))
    (setf (bench-way-call plain)
          (lambda (status)
            (setf (bench-plain-item-status (nth place bench-plain-items))
                  (if (equal status "pending") 'pending 'completed))
            (bench-plain-show-changes)))
    `((ours . ,ours) (redrawn . ,redrawn) (plain . ,plain))))

(let* ((size 10000)
       (ways (bench-events--status-ways (aref (bench-inputs size) 0) (- size 100)))
       (samples (bench-compare ways ["pending" "completed"] 4 (max 3 (/ bench-rounds 2)))))
  (bench-row "a status change in 10000 rows" (alist-get 'ours samples)
             "plain Lisp, erase and redraw" (alist-get 'plain samples) :budget (/ 1.0 60))
  ;; Our redraw delays garbage collection, so its share is unknown.
  (bench-row "the same, without collections" (alist-get 'ours samples)
             "our own full redraw" (alist-get 'redrawn samples)
             :measure #'bench-without-collections))

;;; Tokens

(defconst bench-events--tokens 1000
  "Number of tokens in a call.")

(let* ((count 0)
       (listen (lambda (_event) (cl-incf count)))
       (handle nil)
       (first (aref (bench-inputs 12) 0))
       (store (make-bench-way
               :begin (lambda ()
                        (bench--ours-begin bench-folder first)
                        (setq handle (todo-write-subscribe listen :kind 'stream)))
               :call (lambda (_)
                       ;; As in the manual's example of a host.
                       (dotimes (_ bench-events--tokens)
                         (todo-write-stream
                          bench-thread :type "TOKEN" :data "token " :thinking t
                          :call-context "EXECUTION_THOUGHTS" :trace-id "request"
                          :session-id "session")))
               :end (lambda ()
                      (todo-write-unsubscribe handle)
                      (bench-ours-end))))
       (bare (make-bench-way
              :begin #'ignore
              :call (lambda (_)
                      (dotimes (_ bench-events--tokens)
                        (funcall listen (list :data "token " :timestamp 0 :type "TOKEN"
                                              :tokenType "EXECUTION_LLM_THINKING"
                                              :threadId bench-thread :traceId "request"
                                              :sessionId "session"))))))
       (samples (bench-compare `((store . ,store) (bare . ,bare)) [nil] 10 bench-rounds))
       (of-one (lambda (sample) (/ (bench-sample-seconds sample) bench-events--tokens))))
  (bench-row "a token through store and subscriber" (alist-get 'store samples)
             "100,000 a second" (/ 1.0 100000) :measure of-one :budget 1)
  (bench-row "a token through store and subscriber" (alist-get 'store samples)
             "a host that makes the event itself" (alist-get 'bare samples) :measure of-one)
  (cl-assert (= count (* 2 bench-rounds 11 bench-events--tokens))))

;;; Mode line

(defvar bench-events--string nil
  "A string with the same properties as the mode line's.")
(put 'bench-events--string 'risky-local-variable t)

(let* ((first (aref (bench-inputs 12) 0))
       (format-of (lambda (construct)
                    (make-bench-way
                     :begin (lambda ()
                              (bench--ours-begin nil first)
                              (setq bench-events--string todo-write-mode-line-string))
                     :call (lambda (_) (format-mode-line construct))
                     :end #'bench-ours-end)))
       (samples (bench-compare
                 `((ours . ,(funcall format-of 'todo-write-mode-line-string))
                   (string . ,(funcall format-of 'bench-events--string)))
                 [nil] 20 3)))
  (bench-row "mode line redisplayed, objects made" (alist-get 'ours samples)
             "an equal string" (alist-get 'string samples)
             :unit "objects" :measure #'bench-objects :budget 1))

(provide 'bench-events)
;;; bench-events.el ends here
