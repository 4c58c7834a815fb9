;;; todo-write-follow-sessions.el --- Transcripts to choose from  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Where Claude Code keeps the transcripts of a project, and how to pick one
;; in the minibuffer.  To follow one, see todo-write-follow.el.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'todo-write)

(defcustom todo-write-follow-directory
  (expand-file-name "projects/" (or (getenv "CLAUDE_CONFIG_DIR") "~/.claude"))
  "Folder in which Claude Code keeps its transcripts.
It has a folder for each project, with a file for each session.  It may
be on another machine; see the manual on remote files."
  :type 'directory
  :group 'todo-write)

;;; Sessions of a project

(defun todo-write-follow-sessions--escape (directory)
  "Return the name that Claude Code gives the folder of DIRECTORY."
  (replace-regexp-in-string "[^a-zA-Z0-9]" "-"
                            (directory-file-name (file-local-name directory))))

(defun todo-write-follow-sessions-folders (&optional project)
  "Return the folders of transcripts, those of PROJECT if that is given.
Claude Code may have been started in a folder below the project's root."
  (let ((names (and project
                    (delete-dups
                     (mapcar #'todo-write-follow-sessions--escape
                             (list project (file-truename project)))))))
    (seq-filter
     (lambda (folder)
       (and (or (null project)
                (let ((name (file-name-nondirectory folder)))
                  (seq-some (lambda (escaped)
                              (or (equal name escaped)
                                  (string-prefix-p (concat escaped "-") name)))
                            names)))
            (file-directory-p folder)))
     (and (file-directory-p todo-write-follow-directory)
          (directory-files todo-write-follow-directory t "\\`[^.]" t)))))

(defun todo-write-follow-sessions-files (folders)
  "Return the transcripts in FOLDERS as a list of (TIME . FILE), newest first."
  (sort (cl-loop
         for folder in folders
         append (cl-loop
                 for (file . attributes)
                 in (directory-files-and-attributes folder t "\\.jsonl\\'" t)
                 unless (string-prefix-p "agent-" (file-name-nondirectory file))
                 collect (cons (float-time
                                (file-attribute-modification-time attributes))
                               file)))
        (lambda (a b) (> (car a) (car b)))))

(defun todo-write-follow-sessions-of-project-p (file project)
  "Return non-nil if the session in FILE is one of PROJECT.
Another project may have a name that begins the same."
  (or (member (file-name-nondirectory (directory-file-name (file-name-directory file)))
              (list (todo-write-follow-sessions--escape project)
                    (todo-write-follow-sessions--escape (file-truename project))))
      (let ((folder (plist-get (todo-write-follow-sessions--head file) :folder)))
        (and folder (file-in-directory-p folder project)))))

(defun todo-write-follow-sessions-modified (file)
  "Return when FILE was last modified, as a float, or now if it is not there."
  (float-time (file-attribute-modification-time (file-attributes file))))

;;; Reading a session in the minibuffer

(defconst todo-write-follow-sessions--most 300
  "Sessions to choose from, at most; the newest ones.")

(defun todo-write-follow-sessions--head (file)
  "Return what the transcript FILE says of itself, a plist, or nil.
See `todo-write-transcript-describe'."
  (if (file-remote-p file)
      (let ((copy (make-temp-file "todo-write-follow")))
        (unwind-protect
            (with-temp-buffer
              (set-buffer-multibyte nil)
              (insert-file-contents-literally file nil 0 65536)
              (let ((coding-system-for-write 'binary))
                (write-region nil nil copy nil 'silent))
              (todo-write-transcript-describe copy))
          (delete-file copy)))
    (todo-write-transcript-describe file)))

(defun todo-write-follow-sessions-describe (file &optional time)
  "Return a choice for the transcript FILE, or nil if it is no session.
It is a list (TITLE FILE TIME FOLDER).  TIME is when it was modified."
  (when-let* ((head (todo-write-follow-sessions--head file)))
    (unless (plist-get head :agent)
      (list (or (plist-get head :title) "(nothing asked yet)")
            file
            (or time (todo-write-follow-sessions-modified file))
            (plist-get head :folder)))))

(defun todo-write-follow-sessions-read ()
  "Read a session in the minibuffer and return its transcript."
  (let* ((project (todo-write--project))
         (files (seq-take (todo-write-follow-sessions-files (todo-write-follow-sessions-folders))
                          todo-write-follow-sessions--most))
         (here (seq-filter (pcase-lambda (`(,_ . ,file))
                             (todo-write-follow-sessions-of-project-p file project))
                           files))
         (choices (delq nil
                        (mapcar (pcase-lambda (`(,time . ,file))
                                  (todo-write-follow-sessions-describe file time))
                                (append here (seq-difference files here #'eq))))))
    (unless choices
      (user-error "No session of Claude Code in %s"
                  (abbreviate-file-name todo-write-follow-directory)))
    (todo-write-follow-sessions-complete "Follow session: " choices)))

(defun todo-write-follow-sessions-complete (prompt choices)
  "Read one of CHOICES in the minibuffer with PROMPT; return its file.
CHOICES are as from `todo-write-follow-sessions-describe', the best first."
  (let ((table (make-hash-table :test #'equal)) titles)
    (pcase-dolist ((and choice `(,title ,file . ,_)) (delq nil choices))
      (when (gethash title table)
        (setq title (format "%s <%s>" title (file-name-base file))))
      (puthash title choice table)
      (push title titles))
    (setq titles (nreverse titles))
    (nth 1 (gethash (completing-read
                     prompt (todo-write-follow-sessions--completion titles table)
                     nil t nil nil (car titles))
                    table))))

(defun todo-write-follow-sessions--completion (titles table)
  "Return a completion table of TITLES, which TABLE maps to choices."
  (lambda (string predicate action)
    (if (eq action 'metadata)
        `(metadata
          (category . todo-write-session)
          (display-sort-function . identity)
          (cycle-sort-function . identity)
          (affixation-function
           . ,(lambda (shown)
                (mapcar (lambda (title)
                          (todo-write-follow-sessions--affix title (gethash title table)))
                        shown))))
      (complete-with-action action titles string predicate))))

(defun todo-write-follow-sessions--affix (title choice)
  "Return TITLE with the age and the folder of CHOICE around it."
  (pcase-let ((`(,_ ,_ ,time ,folder) choice))
    (list title
          (propertize (format "%8s  " (todo-write-row-age time))
                      'face 'completions-annotations)
          (propertize (if folder (concat "  " (abbreviate-file-name folder)) "")
                      'face 'completions-annotations))))

(provide 'todo-write-follow-sessions)
;;; todo-write-follow-sessions.el ends here
