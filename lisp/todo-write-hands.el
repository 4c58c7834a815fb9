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
(require 'todo-write-row)
(require 'todo-write-text)

(defvar todo-write-hands--seen (make-hash-table :test #'equal)
  "The times of the newest changes that were looked at, by threads.")

(defvar todo-write-hands--clashes nil
  "What was said and may hold still, an alist of threads and (PATH . BUFFER).")

(defvar todo-write-hands--changed nil
  "The threads whose agents may have changed files since the last look.")

(defvar todo-write-hands--users nil
  "Which parts of this package want to know, a list of symbols.")

(defun todo-write-hands-watch (user on)
  "Watch agents for USER, a symbol, if ON is non-nil; else no longer."
  (setq todo-write-hands--users (if on (cons user (remq user todo-write-hands--users))
                                  (remq user todo-write-hands--users)))
  (pcase-dolist (`(,hook . ,function)
                 '((todo-write-events-functions . todo-write-hands--on-event)
                   (after-save-hook . todo-write-hands--on-save)
                   (after-revert-hook . todo-write-hands--on-save)))
    (funcall (if todo-write-hands--users #'add-hook #'remove-hook) hook function)))

(defun todo-write-hands--buffer (thread path)
  "Return the buffer with unsaved edits that visits PATH of THREAD's agent, or nil."
  (let ((name (concat (todo-write-machines-prefix (todo-write-machines-of-thread thread)) path))
        file-name-handler-alist)
    (seq-find (lambda (buffer)
                (and (buffer-modified-p buffer)
                     (when-let* ((file (buffer-file-name buffer)))
                       (or (equal file name)
                           ;; The true name, as it was when the file was visited.
                           (when-let* ((true (buffer-local-value 'buffer-file-truename buffer)))
                             (equal name (expand-file-name true)))))))
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

(defun todo-write-hands--look ()
  "Look at what agents changed since the last time."
  (let ((loaded (and todo-write-hands--users (todo-write-threads-loaded))))
    (todo-write-events-apply-each
     (lambda (thread)
       (when (and (member thread loaded) (not (todo-write-activity-reading thread)))
         (todo-write-hands--look-at thread)))
     (cl-shiftf todo-write-hands--changed nil))))

(defun todo-write-hands--look-at (thread)
  "Say which files that you edit the agent of THREAD changed since the last time."
  (let* (;; What is older is no news, as while an old session is read.
         (seen (gethash thread todo-write-hands--seen (- (todo-write-core-now) 60000)))
         (new-p (lambda (call) (> (plist-get call :timestamp) seen)))
         (newest (lambda (count)
                   (todo-write-observations thread :type "TOOL_EXECUTION" :limit count))))
    ;; Most changes do not come from a call.
    (seq-doseq (call (and (seq-some new-p (funcall newest 1)) (funcall newest 20)))
      (when (funcall new-p call)
        (puthash thread (plist-get call :timestamp) todo-write-hands--seen)
        (seq-doseq (file (plist-get (plist-get call :metadata) :files))
          (when-let* ((path (plist-get file :path))
                      (buffer (todo-write-hands--buffer thread path))
                      (clash (cons path buffer))
                      ((not (equal clash (cdr (assoc thread todo-write-hands--clashes))))))
            (setf (alist-get thread todo-write-hands--clashes nil nil #'equal) clash)
            (let ((title (plist-get (todo-write-summary thread) :title))
                  (agent (plist-get (todo-write-about thread) :agent)))
              (message "%s%s %s"
                       (if agent
                           (todo-write-text-line (todo-write-agent-program-label agent) 20)
                         "The agent")
                       (if title (format " (%s)" (todo-write-text-line title 30)) "")
                       (todo-write-hands-note thread)))
            (todo-write-hands--tell thread)))))))

(defun todo-write-hands--tell (thread)
  "Tell that the note of THREAD changed."
  (let ((inhibit-quit t))
    (todo-write-events-dispatch thread 'change)))

(defun todo-write-hands--on-save ()
  "Forget what agents did to the file of the current buffer, which was saved."
  (pcase-dolist (`(,thread ,_ . ,buffer) todo-write-hands--clashes)
    (when (eq buffer (current-buffer))
      (setq todo-write-hands--clashes (assoc-delete-all thread todo-write-hands--clashes))
      (todo-write-hands--tell thread))))

(defun todo-write-hands-note (thread)
  "Return which file THREAD's agent changed while you are editing it, or nil."
  (pcase-let ((`(,path . ,buffer) (cdr (assoc thread todo-write-hands--clashes))))
    (when (and path (buffer-live-p buffer) (buffer-modified-p buffer))
      (format "changed %s, which you are editing"
              ;; The agent chose the name, so no file name handler may see it.
              (todo-write-text-line (let (file-name-handler-alist) (file-name-nondirectory path))
                                    40)))))

(provide 'todo-write-hands)
;;; todo-write-hands.el ends here
