;;; todo-write-probe-helper.el --- How long keys wait  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Types into Emacs processes in hidden terminals, and measures the time from each key to
;; its echo.  This Emacs types and measures, so that nothing in the other one can hide a
;; block.  Tests and benchmarks use it.

;;; Code:

(require 'cl-lib)

(cl-defstruct (todo-write-probe
               (:constructor todo-write-probe--make (process keys))
               (:copier nil))
  "What types KEYS into the Emacs of PROCESS, a terminal.
TYPED is the number of typed keys, EXPECTED the bytes of the key that is
not echoed yet, or nil, SENT when it was typed, and WAITED how long the
last one took in seconds."
  process keys (typed 0) expected sent waited)

(defconst todo-write-probe--line 40
  "Number of keys after which a line is emptied, since a long one is drawn slowly.")

(defun todo-write-probe (process keys)
  "Return a probe that types KEYS, three characters, into the Emacs of PROCESS.
Nothing else on its screen may have one of them.  Its current buffer must
be one for text.  The process has its filter from now on."
  ;; A terminal is sent only what differs, so no line may begin like the one before.
  (cl-assert (= 3 (length keys)))
  (let ((probe (todo-write-probe--make process keys)))
    (set-process-filter
     process
     (lambda (_process output)
       (when (and (todo-write-probe-expected probe)
                  (string-search (todo-write-probe-expected probe) output))
         (setf (todo-write-probe-waited probe) (- (float-time) (todo-write-probe-sent probe))
               (todo-write-probe-expected probe) nil))))
    probe))

(defun todo-write-probe--send (probe)
  "Type the next key of PROBE."
  (let* ((typed (todo-write-probe-typed probe))
         (keys (todo-write-probe-keys probe))
         (key (encode-coding-string (string (aref keys (% typed (length keys)))) 'utf-8)))
    (setf (todo-write-probe-expected probe) key
          (todo-write-probe-waited probe) nil
          (todo-write-probe-sent probe) (float-time))
    (process-send-string (todo-write-probe-process probe)
                         (if (and (< 0 typed) (= 0 (% typed todo-write-probe--line)))
                             (concat "\C-a\C-k" key)
                           key))
    (cl-incf (todo-write-probe-typed probe))))

(defun todo-write-probe-type (probes seconds &optional meanwhile)
  "Type a key into the Emacs of each of PROBES; return how long each waited.
That is a list of seconds in the same order, with nil for an Emacs that
gave no echo within SECONDS, or died.  Call the function MEANWHILE, if it
is non-nil, before waiting: it may ask an Emacs, and wait as long as the
key."
  (mapc #'todo-write-probe--send probes)
  (when meanwhile
    (funcall meanwhile))
  (let ((end (+ (float-time) seconds)))
    (while (and (< (float-time) end)
                (cl-some (lambda (probe)
                           (and (todo-write-probe-expected probe)
                                (process-live-p (todo-write-probe-process probe))))
                         probes))
      (accept-process-output nil 0.05)))
  (dolist (probe probes)
    (setf (todo-write-probe-expected probe) nil))
  (mapcar #'todo-write-probe-waited probes))

(provide 'todo-write-probe-helper)
;;; todo-write-probe-helper.el ends here
