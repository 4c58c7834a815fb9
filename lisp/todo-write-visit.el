;;; todo-write-visit.el --- Go from a plan to files, outputs and diffs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; From an entry of an open row to the file that the agent changed, to what its
;; command printed, and to the diff of an entry, a file, a task or the whole plan:
;;
;;     RET   visit        =   diff
;;
;; The diff is in `diff-mode': its keys go to the source and take a hunk back.

;;; Code:

(require 'compile)
(require 'diff-mode)
(require 'seq)
(require 'subr-x)
(require 'todo-write)
(require 'todo-write-list)
(require 'todo-write-menu)
(require 'todo-write-row)
(require 'todo-write-story)
(require 'todo-write-view)

;;; Files

(defun todo-write-visit--open-file (thread path &optional line)
  "Visit the file PATH, which the agent of THREAD named, at LINE.
For an agent on another machine, visit it there.  Signal a `user-error'
if there is no such file any more."
  (let ((file (todo-write-visit--file thread path)))
    (unless (file-regular-p file)
      (user-error (if (file-exists-p file) "%s is not a regular file"
                    "%s does not exist any more")
                  (todo-write-row-line path)))
    (find-file-other-window file)
    (when line
      (widen)
      (goto-char (point-min))
      (forward-line (1- line)))))

(defun todo-write-visit--file (thread path)
  "Return the name by which this Emacs opens PATH of THREAD's agent.
PATH is never read as the name of a remote file."
  (concat (todo-write-visit--prefix thread)
          (cond ((not (string-prefix-p "/" path))
                 (user-error "%s is not an absolute name" (todo-write-row-line path)))
                ((file-remote-p path) (file-name-quote path t))
                (t path))))

(defun todo-write-visit--prefix (thread)
  "Return the prefix of the files of THREAD's machine, or nil for this one."
  (or (todo-write-remote--prefix (todo-write-remote--of-thread thread))
      (file-remote-p (or (plist-get (todo-write-about thread) :project) ""))))

(defun todo-write-visit--line (patch)
  "Return the first changed line of the new file in PATCH, or nil."
  (when (and patch (string-match "^@@ -[0-9,]+ \\+\\([0-9]+\\).*\n\\(\\(?: .*\n\\)*\\)" patch))
    (+ (string-to-number (match-string 1 patch))
       (seq-count (lambda (char) (eq char ?\n)) (match-string 2 patch)))))

(defun todo-write-visit--entry (thread entry)
  "Visit what ENTRY of THREAD is about: the file it changed, or its output."
  (if-let* ((file (car (todo-write-story--files entry))))
      (todo-write-visit--open-file thread (plist-get file :path)
                             (todo-write-visit--line (plist-get file :patch)))
    (todo-write-visit--output thread entry)))

;;; Outputs

(defvar todo-write-visit-output-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'compile-goto-error)
    (define-key map "n" #'compilation-next-error)
    (define-key map "p" #'compilation-previous-error)
    map)
  "Keymap of `todo-write-visit-output-mode'.")

(define-derived-mode todo-write-visit-output-mode special-mode "Output"
  "Major mode of what a command of an agent printed.
Error messages are links, as in `compilation-mode'."
  :interactive nil
  (todo-write-menu-begin-mode)
  (compilation-setup t)
  (setq-local compilation-parse-errors-filename-function #'todo-write-visit--printed-file
              ;; The syntax of remote names has a colon or a bracket.
              compilation-directory-matcher
              '("\\(?:Entering\\|Leavin\\(g\\)\\) directory [`']\\([^][:\n]+\\)'$" (2 . 1))
              bidi-display-reordering nil))

(defun todo-write-visit--printed-file (name)
  "Return the file NAME, printed by a command, so that it is never remote.
NAME may have the prefix of the machine of this buffer, which stays."
  (let ((remote (todo-write-visit--remote-part
                 (concat "/" (string-remove-prefix comint-file-name-prefix name)))))
    (if remote
        (concat comint-file-name-prefix (file-name-quote remote t))
      name)))

(defun todo-write-visit--remote-part (name)
  "Return the last part of NAME, from a slash on, that is a remote name, or nil.
With \"..\" before it, NAME can expand to that."
  (let (part)
    (dotimes (start (length name))
      (when (and (eq ?/ (aref name start))
                 (file-remote-p (substring name start)))
        (setq part (substring name start))))
    part))

(defun todo-write-visit--output (thread entry)
  "Show the whole call of ENTRY of THREAD and what it returned."
  (let ((output (todo-write-story--output entry))
        (call (plist-get (todo-write-story--entry-call entry) :content))
        (folder (todo-write-visit--folder thread)))
    (unless (or output call)
      (user-error "Nothing more is recorded of this"))
    (with-current-buffer (get-buffer-create "*todo-write-output*")
      ;; The mode takes the prefix of absolute names from it.
      (setq default-directory folder)
      (let ((inhibit-read-only t))
        (erase-buffer)
        (todo-write-visit-output-mode)
        (when call
          (insert (propertize (todo-write-row-plain-lines (todo-write-story--text call nil))
                              'face 'bold)
                  "\n\n"))
        (insert (todo-write-row-plain-lines
                 (ansi-color-filter-apply (or output "Nothing is recorded of its output.")))
                "\n"))
      (goto-char (point-min))
      (pop-to-buffer (current-buffer)))))

(defun todo-write-visit--folder (thread)
  "Return the folder of the project of THREAD, or the home folder if it is gone."
  (let ((project (plist-get (todo-write-about thread) :project)))
    (if (and project (or (file-remote-p project) (file-directory-p project)))
        (file-name-as-directory project)
      (expand-file-name "~/"))))

;;; Diffs

(defun todo-write-visit--diff (thread patch what)
  "Show PATCH, recorded changes of THREAD, in `diff-mode'.
WHAT says in words whose changes they are.  Signal a `user-error' if
nothing is recorded."
  (when (or (null patch) (string-empty-p patch))
    (user-error "No changes of %s are recorded" what))
  (let ((folder (todo-write-visit--folder thread)))
    (with-current-buffer (get-buffer-create "*todo-write-diff*")
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert patch))
      ;; Below the root, the rest of a name could be that of a remote file.
      (setq default-directory (if (equal folder "/") (file-name-quote folder) folder))
      (diff-mode)
      (setq buffer-read-only t
            header-line-format (concat " Changes of " (string-replace "%" "%%" what)))
      ;; Highlighting the syntax would open the files that the agent named.
      (setq-local diff-font-lock-syntax nil
                  bidi-display-reordering nil
                  revert-buffer-function #'ignore)
      (goto-char (point-min))
      (pop-to-buffer (current-buffer)))))

;;;###autoload
(defun todo-write-show-diff (thread &optional id path)
  "Show the recorded changes of item ID of THREAD as a diff.
ID is as in `todo-write-work': nil shows all changes of the plan.  PATH,
an absolute file name, limits them to one file.  The buffer is in
`diff-mode', whose \\<diff-mode-map>\\[diff-goto-source] goes to the source; with a prefix argument,
\\[diff-apply-hunk] takes a change back.  Interactively, show the changes of what
is at point in a plan: an entry, a file or a task.  Elsewhere, show those
of the whole plan at point or of this buffer, by default of that of
`todo-write-show'."
  (interactive (todo-write-visit--diff-at-point))
  (if (todo-write-story--entry-p path)
      (todo-write-visit--diff thread (mapconcat (lambda (file) (or (plist-get file :patch) ""))
                                               (todo-write-story--files path) "")
                             "this entry")
    (todo-write-visit--diff thread (todo-write-patch thread id path)
                           (cond (path (todo-write-row-line path))
                                 ((stringp id)
                                  (todo-write-row-line
                                   ;; The task of an earlier list is no longer an item.
                                   (or (plist-get (todo-write-item thread id) :content)
                                       "this task")))
                                 (id "the work outside any task")
                                 (t "this plan")))))

(defun todo-write-visit--diff-at-point ()
  "Return the arguments of `todo-write-show-diff' for what is at point."
  (let ((entry (get-text-property (point) 'todo-write-entry))
        (id (or (get-text-property (point) 'todo-write-part)
                (get-text-property (point) 'todo-write-id))))
    (cond ((not (derived-mode-p 'todo-write-view-mode))
           (list (todo-write-list--thread)))
          ((and entry (todo-write-story--files entry))
           (list todo-write-view-thread id entry))
          (t (list todo-write-view-thread id
                   (get-text-property (point) 'todo-write-file))))))

(provide 'todo-write-visit)
;;; todo-write-visit.el ends here
