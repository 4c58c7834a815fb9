;;; todo-write-hands.el --- Agents in files that you are editing  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; When an agent changes a file that a buffer of yours visits with unsaved edits, this
;; is said once.  Only Emacs can know it.  Buffers are found by their names: nothing
;; touches the disk.

;;; Code:

(require 'todo-write)
(require 'todo-write-agent)
(require 'todo-write-events)
(require 'todo-write-machines)
(require 'todo-write-text)

(defvar todo-write-hands--seen (make-hash-table :test #'equal)
  "The times of the newest changes that were looked at, by threads.")

(defvar todo-write-hands--clashes nil
  "What was said and may still hold, a list of (THREAD PATH . BUFFER).
The newest is first.")

(defvar todo-write-hands--changed nil
  "The threads whose agents may have changed files since the last look.")

(defun todo-write-hands--unsaved-p (buffer)
  "Return non-nil if BUFFER visits a file and has unsaved edits."
  (and (buffer-live-p buffer) (buffer-file-name buffer) (buffer-modified-p buffer)))

(defun todo-write-hands--buffer (thread path)
  "Return the buffer with unsaved edits that visits PATH of THREAD's agent, or nil."
  (let ((name (concat (todo-write-machines-prefix (todo-write-machines-of-thread thread)) path))
        file-name-handler-alist)
    (seq-find (lambda (buffer)
                (and (todo-write-hands--unsaved-p buffer)
                     (or (equal name (buffer-file-name buffer))
                         ;; The true name, as it was when the file was visited.
                         (when-let* ((true (buffer-local-value 'buffer-file-truename buffer)))
                           (equal name (expand-file-name true))))))
              (buffer-list))))

(defun todo-write-hands-unsaved (thread paths)
  "Return those of PATHS of THREAD's agent that buffers visit with unsaved edits."
  (seq-filter (lambda (path) (todo-write-hands--buffer thread path)) paths))

;;; Noticing

(defun todo-write-hands--on-event (thread what _data)
  "Look soon at what the agent of THREAD changed, after the event WHAT.
For `todo-write-events-functions'."
  (pcase what
    ('change
     (cl-pushnew thread todo-write-hands--changed :test #'equal)
     (todo-write-later #'todo-write-hands--look))
    ('forgotten
     (remhash thread todo-write-hands--seen)
     (setq todo-write-hands--clashes (assoc-delete-all thread todo-write-hands--clashes)))))

(add-hook 'todo-write-events-functions #'todo-write-hands--on-event)

(defun todo-write-hands--look ()
  "Look at what agents changed since the last time, if the user edits any file."
  (setq todo-write-hands--clashes
        (seq-filter (lambda (clash) (todo-write-hands--unsaved-p (cddr clash)))
                    todo-write-hands--clashes))
  (let ((edits (seq-some #'todo-write-hands--unsaved-p (buffer-list)))
        (loaded (todo-write-threads-loaded)))
    (todo-write-events-apply-each
     (lambda (thread)
       (cond ((not edits) (puthash thread (todo-write-core-now) todo-write-hands--seen))
             ((and (member thread loaded) (not (todo-write-activity-reading thread)))
              (todo-write-hands--look-at thread))))
     (cl-shiftf todo-write-hands--changed nil))))

(defun todo-write-hands--look-at (thread)
  "Say which files that you edit the agent of THREAD changed since the last time."
  (let* (;; What is older is no news, as while an old session is read.
         (seen (gethash thread todo-write-hands--seen (- (todo-write-core-now) 60000)))
         (new-p (lambda (call) (> (plist-get call :timestamp) seen)))
         (count 1)
         calls)
    ;; Most changes do not come from a call, and few from several.
    (while (progn
             (setq calls (todo-write-observations thread :type "TOOL_EXECUTION" :limit count))
             (and (= count (length calls)) (funcall new-p (aref calls 0)) (< count 20)))
      (setq count (* 2 count)))
    (seq-doseq (call (seq-filter new-p calls))
      (puthash thread (plist-get call :timestamp) todo-write-hands--seen)
      (seq-doseq (file (plist-get (plist-get call :metadata) :files))
        (when-let* ((path (plist-get file :path))
                    (buffer (todo-write-hands--buffer thread path)))
          (todo-write-hands--say thread path buffer))))))

(defun todo-write-hands--say (thread path buffer)
  "Say that the agent of THREAD changed PATH, which BUFFER visits, unless it was said.
That holds until its edits are saved or given up."
  (unless (member `(,thread ,path . ,buffer) todo-write-hands--clashes)
    (push `(,thread ,path . ,buffer) todo-write-hands--clashes)
    (with-current-buffer buffer
      (dolist (hook '(after-save-hook after-revert-hook))
        (add-hook hook #'todo-write-hands--tell nil t)))
    (let ((title (plist-get (todo-write-summary thread) :title))
          (agent (plist-get (todo-write-about thread) :agent)))
      (message "%s%s %s"
               (if agent
                   (todo-write-text-line (todo-write-agent-program-label agent) 20)
                 "The agent")
               (if title (format " (%s)" (todo-write-text-line title 30)) "")
               (todo-write-hands-note thread)))
    (todo-write-hands--tell)))

(defun todo-write-hands--tell ()
  "Tell that the notes of all threads with clashes may have changed."
  (let ((inhibit-quit t))
    (dolist (thread (seq-uniq (mapcar #'car todo-write-hands--clashes)))
      (todo-write-events-dispatch thread 'change))))

(defun todo-write-hands-note (thread)
  "Return which file THREAD's agent changed while you are editing it, or nil."
  (pcase (seq-find (pcase-lambda (`(,key ,_ . ,buffer))
                     (and (equal thread key) (todo-write-hands--unsaved-p buffer)))
                   todo-write-hands--clashes)
    (`(,_ ,path . ,_)
     (format "changed %s, which you are editing"
             ;; The agent chose the name, so no file name handler may see it.
             (todo-write-text-line (let (file-name-handler-alist) (file-name-nondirectory path))
                                   40)))))

(provide 'todo-write-hands)
;;; todo-write-hands.el ends here
