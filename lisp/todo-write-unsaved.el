;;; todo-write-unsaved.el --- Agents in files that you are editing  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; When an agent changes a file that a buffer of yours visits with unsaved edits, this
;; is said once.  Only Emacs can know it.  Buffers are found by their names: nothing
;; touches the disk.

;;; Code:

(require 'todo-write-agent)

(defvar todo-write-unsaved--seen (make-hash-table :test #'equal)
  "The times of the newest changes that were looked at, by threads.")

(defvar todo-write-unsaved--clashes nil
  "What was said and may still hold, a list of (THREAD PATH . BUFFER).
The newest is first.")

(defvar todo-write-unsaved--changed nil
  "The threads whose agents may have changed files since the last look.")

(defun todo-write-unsaved--edited-p (buffer)
  "Return non-nil if BUFFER visits a file and has unsaved edits."
  (and (buffer-live-p buffer) (buffer-file-name buffer) (buffer-modified-p buffer)))

(defun todo-write-unsaved--buffer (thread path)
  "Return the buffer with unsaved edits that visits PATH of THREAD's agent, or nil."
  (let ((name (concat (todo-write-machines-prefix (todo-write-machines-of-thread thread)) path))
        file-name-handler-alist)
    (seq-find (lambda (buffer)
                (and (todo-write-unsaved--edited-p buffer)
                     (or (equal name (buffer-file-name buffer))
                         ;; The true name, as it was when the file was visited.
                         (when-let* ((true (buffer-local-value 'buffer-file-truename buffer)))
                           (equal name (expand-file-name true))))))
              (buffer-list))))

(defun todo-write-unsaved-paths (thread paths)
  "Return those of PATHS of THREAD's agent that buffers visit with unsaved edits."
  (seq-filter (lambda (path) (todo-write-unsaved--buffer thread path)) paths))

;;; Noticing

(defun todo-write-unsaved--on-event (thread what _data)
  "Look soon at what the agent of THREAD changed, after the event WHAT.
For `todo-write-events-functions'."
  (pcase what
    ('change
     (cl-pushnew thread todo-write-unsaved--changed :test #'equal)
     (todo-write-later #'todo-write-unsaved--look))
    ('forgotten
     (remhash thread todo-write-unsaved--seen)
     (setq todo-write-unsaved--clashes (assoc-delete-all thread todo-write-unsaved--clashes)))))

(add-hook 'todo-write-events-functions #'todo-write-unsaved--on-event)

(defun todo-write-unsaved--look ()
  "Look at what agents changed since the last time, if the user edits any file."
  (setq todo-write-unsaved--clashes
        (seq-filter (lambda (clash) (todo-write-unsaved--edited-p (cddr clash)))
                    todo-write-unsaved--clashes))
  (let ((edits (seq-some #'todo-write-unsaved--edited-p (buffer-list)))
        (loaded (todo-write-threads-loaded)))
    (todo-write-events-apply-each
     (lambda (thread)
       (cond ((not edits)
              ;; The clock of another machine may be behind.
              (unless (todo-write-machines-of-thread thread)
                (puthash thread (todo-write-core-now) todo-write-unsaved--seen)))
             ((and (member thread loaded) (not (todo-write-activity-reading thread)))
              (todo-write-unsaved--look-at thread))))
     (cl-shiftf todo-write-unsaved--changed nil))))

(defun todo-write-unsaved--look-at (thread)
  "Say which files that you edit the agent of THREAD changed since the last time."
  (let* (;; What is older is no news, as while an old session is read.
         (seen (gethash thread todo-write-unsaved--seen (- (todo-write-core-now) 60000)))
         (new-p (lambda (call) (> (plist-get call :timestamp) seen)))
         ;; Most changes do not come from a call, and few from several.
         (calls (cl-loop for count in '(1 4 32)
                         for calls = (todo-write-observations thread :type "TOOL_EXECUTION"
                                                              :limit count)
                         while (and (= count (length calls)) (funcall new-p (aref calls 0)))
                         finally return calls)))
    (seq-doseq (call (seq-filter new-p calls))
      (puthash thread (plist-get call :timestamp) todo-write-unsaved--seen)
      (seq-doseq (file (plist-get (plist-get call :metadata) :files))
        (when-let* ((path (plist-get file :path))
                    (buffer (todo-write-unsaved--buffer thread path)))
          (todo-write-unsaved--say thread path buffer))))))

(defun todo-write-unsaved--say (thread path buffer)
  "Say that the agent of THREAD changed PATH, which BUFFER visits.
This is said once until the edits there are saved or given up."
  (unless (member `(,thread ,path . ,buffer) todo-write-unsaved--clashes)
    (push `(,thread ,path . ,buffer) todo-write-unsaved--clashes)
    (with-current-buffer buffer
      (dolist (hook '(after-save-hook after-revert-hook))
        (add-hook hook #'todo-write-unsaved--tell nil t)))
    (let ((title (plist-get (todo-write-summary thread) :title))
          (agent (plist-get (todo-write-about thread) :agent)))
      (message "%s%s %s"
               (if agent
                   (todo-write-text-line (todo-write-agent-program-label agent) 20)
                 "The agent")
               (if title (format " (%s)" (todo-write-text-line title 30)) "")
               (todo-write-unsaved-note thread)))
    (todo-write-unsaved--tell)))

(defun todo-write-unsaved--tell ()
  "Tell that the notes of all threads with clashes may have changed."
  (let ((inhibit-quit t))
    (dolist (thread (seq-uniq (mapcar #'car todo-write-unsaved--clashes)))
      (todo-write-events-dispatch thread 'change))))

(defun todo-write-unsaved-note (thread)
  "Return which file THREAD's agent changed while you are editing it, or nil."
  (pcase (seq-find (pcase-lambda (`(,key ,_ . ,buffer))
                     (and (equal thread key) (todo-write-unsaved--edited-p buffer)))
                   todo-write-unsaved--clashes)
    (`(,_ ,path . ,_)
     (format "changed %s, which you are editing"
             ;; The agent chose the name, so no file name handler may see it.
             (todo-write-text-line (let (file-name-handler-alist) (file-name-nondirectory path))
                                   40)))))

(provide 'todo-write-unsaved)
;;; todo-write-unsaved.el ends here
