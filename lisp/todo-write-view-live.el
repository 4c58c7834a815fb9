;;; todo-write-view-live.el --- Keeping a plan's buffer up to date  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; When the buffers of `todo-write-view-mode' are redrawn: after writes, edits
;; and pauses of their thread and of subagents' threads, when a title or an
;; event of an open row is recorded, when a thread is forgotten, and as time
;; and window widths go on.  What is redrawn then is in todo-write-view-draw.el.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'todo-write)
(require 'todo-write-view-draw)

(declare-function todo-write-dyn--parent "ext:todo-write-dyn")

(defvar todo-write-view--timer nil
  "The clock: a timer that keeps times going and ends flashes, or nil.")

(defvar todo-write-view--event-timer nil
  "Timer that is going to redraw open rows, or nil.")

(defun todo-write-view--start-following ()
  "Follow the store with the current buffer."
  (cl-pushnew (current-buffer) todo-write-view--buffers)
  (todo-write-listen #'todo-write-view--heard))

(defun todo-write-view--stop-following ()
  "Stop following the store with the current buffer."
  (setq todo-write-view--buffers (delq (current-buffer) todo-write-view--buffers))
  (unless (todo-write-view--live-buffers)
    (todo-write-listen #'todo-write-view--heard 'stop)
    (when todo-write-view--event-timer
      (cancel-timer todo-write-view--event-timer)
      (setq todo-write-view--event-timer nil)))
  (todo-write-view--set-timer))

;;; What happened

(defun todo-write-view--heard (thread what data)
  "Redraw what is concerned by WHAT happened to THREAD, with DATA."
  (pcase what
    ('change (todo-write-view--on-change thread data))
    ('state (todo-write-view--on-state thread))
    ('observed (todo-write-view--on-observe thread data))
    ('forgotten (todo-write-view--on-forget thread))))

(defmacro todo-write-view--in-buffers (condition &rest body)
  "Run BODY in each buffer in which CONDITION, a form, returns non-nil."
  (declare (indent 1) (debug t))
  (let ((buffer (make-symbol "buffer")))
    `(dolist (,buffer (todo-write-view--live-buffers))
       (with-current-buffer ,buffer
         (when ,condition
           ,@body)))))

(defun todo-write-view--for-p (thread)
  "Return non-nil if the current buffer is there for THREAD.
A buffer that has shown nothing so far shows THREAD from now on."
  (equal thread (or todo-write-view-thread
                    (unless (todo-write-dyn--parent thread)
                      (setq todo-write-view-thread thread)))))

(defun todo-write-view--on-change (thread outcome)
  "Redraw what OUTCOME of THREAD changed, if a buffer is for it."
  (todo-write-view--redraw-for-child thread)
  (todo-write-view--in-buffers (todo-write-view--for-p thread)
    (let* ((drawn (or todo-write-view--drawn 0))
           (told (plist-get outcome :revision))
           (summary (todo-write-summary thread))
           (current (plist-get summary :revision)))
      (cond ((and todo-write-view--ewoc (= told current (1+ drawn)))
             (todo-write-view--update (plist-get (plist-get outcome :changes) :changes)
                                      summary))
            ;; Another subscriber wrote meanwhile, and was drawn already.
            ((and (< told current) (= drawn current)))
            ;; Revisions were missed, or the thread was forgotten and begun anew.
            (t (todo-write-view--draw)))
      ;; The clock stops by itself when nobody sees a time run.
      (unless (and todo-write-view--timer (todo-write-view--running-p))
        (todo-write-view--set-timer)))))

(defun todo-write-view--on-state (thread)
  "Redraw what a pause of THREAD, or its end, concerns."
  (todo-write-view--redraw-for-child thread)
  (todo-write-view--in-buffers (todo-write-view--for-p thread)
    (todo-write-view--keeping-places nil
      (setq todo-write-view--summary (todo-write-summary thread))
      (todo-write-view--redraw-running)
      (todo-write-view--redraw-header)
      (todo-write-view--redraw-footer))
    (todo-write-view--set-timer)))

(defun todo-write-view--on-forget (thread)
  "Show that THREAD was forgotten."
  (todo-write-view--in-buffers (or (equal todo-write-view-thread thread)
                                   (seq-some (lambda (entry) (member thread (cdr entry)))
                                             todo-write-view--children))
    (todo-write-view--draw)
    (todo-write-view--set-timer)))

(defun todo-write-view--on-observe (thread type)
  "Show an event of TYPE of THREAD: a title at once, others in open rows soon."
  (pcase type
    ("TITLE"
     (todo-write-view--redraw-for-child thread)
     (todo-write-view--in-buffers (equal todo-write-view-thread thread)
       (todo-write-view--keeping-places nil
         (setq todo-write-view--summary (todo-write-summary thread))
         (todo-write-view--redraw-header))))
    ((guard (and (member type todo-write-detail-events)
                 (not todo-write-view--event-timer)
                 (seq-some #'todo-write-view--some-open-p
                           (todo-write-view--live-buffers))))
     ;; An agent may record a hundred events a second; nobody reads as fast.
     (setq todo-write-view--event-timer
           (run-at-time 0.1 nil #'todo-write-view--redraw-open)))))

(defun todo-write-view--some-open-p (buffer)
  "Return non-nil if a row of BUFFER shows its detail."
  (< 0 (hash-table-count (buffer-local-value 'todo-write-view--open buffer))))

(defun todo-write-view--redraw-open ()
  "Redraw the rows that show their detail."
  (setq todo-write-view--event-timer nil)
  (todo-write-view--in-buffers (todo-write-view--some-open-p (current-buffer))
    (todo-write-view--keeping-places nil
      (mapc #'todo-write-view--redraw-row (hash-table-keys todo-write-view--open)))))

;;; Subagents

(defun todo-write-view--redraw-for-child (thread)
  "Redraw the rows that show THREAD because it works for them."
  (todo-write-view--in-buffers (and todo-write-view--ewoc todo-write-view-thread
                                    (not (equal todo-write-view-thread thread)))
    (when-let* ((ancestor (assoc todo-write-view-thread
                                 (todo-write-children-ancestors thread))))
      (todo-write-view--keeping-places nil
        (setq todo-write-view--children (todo-write-children-by-item todo-write-view-thread))
        (if (gethash (cdr ancestor) todo-write-view--nodes)
            (todo-write-view--redraw-row (cdr ancestor))
          (todo-write-view--redraw-footer))))))

;;; Time and width

(defun todo-write-view--running-p ()
  "Return non-nil while a time runs in the current buffer."
  (and (> (hash-table-count todo-write-view--running) 0)
       (not (todo-write-view--paused-p))))

(defun todo-write-view--ticking-p (buffer)
  "Return non-nil while rows flash in BUFFER, or somebody can see a time run."
  (with-current-buffer buffer
    (or todo-write-view--flashing
        (and (todo-write-view--running-p)
             (get-buffer-window nil 0)))))

(defun todo-write-view--set-timer ()
  "Keep the clock going as long as a buffer needs it."
  (if (cl-some #'todo-write-view--ticking-p (todo-write-view--live-buffers))
      (unless todo-write-view--timer
        (setq todo-write-view--timer (run-at-time 1 1 #'todo-write-view--tick)))
    (when todo-write-view--timer
      (cancel-timer todo-write-view--timer)
      (setq todo-write-view--timer nil))))

(defun todo-write-view--tick ()
  "Redraw the rows whose time somebody can see run, and end what flashed enough."
  (todo-write-view--in-buffers (todo-write-view--ticking-p (current-buffer))
    (let ((flashed (and todo-write-view--flashing
                        (= 0 (cl-decf todo-write-view--flash-ticks))
                        (todo-write-view--flashed))))
      (todo-write-view--keeping-places (todo-write-view--in-line-p [])
        (mapc #'todo-write-view--redraw-row
              (cl-union flashed (hash-table-keys todo-write-view--running)
                        :test #'equal)))))
  (todo-write-view--set-timer))

(defun todo-write-view--fit (window)
  "Draw the buffer of WINDOW anew if it does not fit, and keep times going.
Called when a window begins to show the buffer or changes its size, with
any buffer current."
  (with-current-buffer (window-buffer window)
    (if (eql todo-write-view--width (todo-write-view--fitting-width))
        ;; It may be higher or lower than before.
        (todo-write-view--keeping-places nil)
      (todo-write-view--draw))
    (todo-write-view--set-timer)))

(defun todo-write-view--widen ()
  "Draw the current buffer anew where its narrowest window shows it no longer."
  (when (and todo-write-view--ewoc
             (not (eql todo-write-view--width (todo-write-view--fitting-width))))
    (todo-write-view--draw)))

(provide 'todo-write-view-live)
;;; todo-write-view-live.el ends here
