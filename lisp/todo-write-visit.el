;;; todo-write-visit.el --- The ways out of a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; From an entry of an open row to the file that the agent changed, to what its
;; command printed, and to the diff of an entry, a file, a task or the whole plan:
;;
;;     RET   visit        =   diff
;;
;; The diff is in `diff-mode': its keys go to the source and take a hunk back.  A plan can be
;; copied, too, as text for Markdown and Org.

;;; Code:

(require 'ansi-color)
(require 'diff-mode)
(require 'todo-write-buffer)
(require 'todo-write-story)

;;; Files

(defun todo-write-visit-open-file (thread path &optional line)
  "Visit the file PATH, which the agent of THREAD named, at LINE.
For an agent on another machine, visit it there.  Signal a `user-error'
if there is no such file any more."
  (find-file-other-window (todo-write-visit--existing-file thread path))
  (when line
    (push-mark nil t)
    (widen)
    (goto-char (point-min))
    (forward-line (1- line))))

(defun todo-write-visit--existing-file (thread path)
  "Return the name by which this Emacs opens PATH of THREAD's agent.
PATH is never read as the name of a file on another machine.  Signal a
`user-error' if it is not absolute, or not that of a regular file."
  (unless (and (string-prefix-p "/" path)
               (<= (length path) todo-write-machines-longest-name)
               (not (string-match-p "\0\\|/\\.\\.\\(?:/\\|\\'\\)" path)))
    (user-error "%s is not the absolute name of a file" (todo-write-text-line path)))
  (let ((file (concat (or (todo-write-machines-prefix (todo-write-machines-of-thread thread))
                          (file-remote-p (or (plist-get (todo-write-about thread) :project) "")))
                      (if (todo-write-machines-remote-part path) (file-name-quote path t) path))))
    (unless (file-regular-p file)
      (user-error (if (file-exists-p file) "%s is not a regular file"
                    "%s does not exist any more")
                  (todo-write-text-line path)))
    file))

(defun todo-write-visit-entry (thread entry)
  "Visit what ENTRY of THREAD is about: a page, a file, a buffer, or its output."
  (let ((url (plist-get (plist-get entry :git) :url))
        (buffer (plist-get entry :buffer))
        (file (and (eq 'edit (plist-get entry :kind)) (car (plist-get entry :files)))))
    (cond (url (browse-url url))
          (buffer (pop-to-buffer (or (get-buffer buffer) (user-error "That buffer was killed"))))
          (file (todo-write-visit-open-file thread (plist-get file :path) (plist-get file :line)))
          (t (todo-write-visit--output thread entry)))))

;;; Outputs

(define-derived-mode todo-write-visit-output-mode special-mode "Output"
  "Major mode of what a command of an agent printed."
  :interactive nil
  (todo-write-menu-begin-mode)
  (setq-local bidi-display-reordering nil))

(defun todo-write-visit--output (thread entry)
  "Show the whole call of ENTRY of THREAD and what it returned."
  (let* ((whole (todo-write-story-whole thread entry))
         (output (todo-write-story-output entry whole))
         (call (plist-get whole :text))
         (folder (todo-write-visit-folder thread)))
    (unless (or output call)
      (user-error "Nothing more is recorded of this"))
    (with-current-buffer (get-buffer-create "*todo-write-output*")
      (setq default-directory folder)
      (todo-write-visit-output-mode)
      (let ((inhibit-read-only t))
        (erase-buffer)
        (when call
          (insert (propertize (todo-write-text-plain-lines call) 'face 'bold) "\n\n"))
        (insert (todo-write-text-plain-lines
                 (ansi-color-filter-apply (or output "Nothing is recorded of its output.")))
                "\n"))
      (goto-char (point-min))
      (pop-to-buffer (current-buffer)))))

(defun todo-write-visit-folder (thread)
  "Return the folder of the project of THREAD, or the home folder if it is gone."
  (let ((project (plist-get (todo-write-about thread) :project)))
    (cond ((not (and project (or (file-remote-p project)
                                 (and (not (todo-write-machines-remote-part project))
                                      (file-directory-p project)))))
           (expand-file-name "~/"))
          ;; Below the root, the rest of a name could be that of a remote file.
          ((equal "/" project) (file-name-quote project))
          (t (file-name-as-directory project)))))

;;; Diffs

(defvar diff-mode-read-only)

(define-derived-mode todo-write-visit-diff-mode diff-mode "Diff"
  "Major mode of recorded changes, in which `diff-mode' finds only recorded files.
Text that looks like the header of another file leads nowhere."
  :interactive nil
  (setq buffer-read-only t)
  ;; Later versions of `diff-mode' have looked before whether SPC scrolls and q quits.
  (setq-local diff-mode-read-only t)
  ;; Highlighting the syntax would open the files that the agent named.
  (setq-local diff-font-lock-syntax nil
              bidi-display-reordering nil
              revert-buffer-function #'ignore)
  ;; A program compares the words of each hunk; C-c C-b does it for one.
  (setq-local diff-refine nil)
  ;; `diff-mode' has no variable for this.
  (advice-add 'diff-find-file-name :around #'todo-write-visit--find-diff-file)
  (dolist (hook '(kill-buffer-hook change-major-mode-hook))
    (add-hook hook #'todo-write-visit--end-diff nil t)))

;; Ediff would open the files that the text names.
(define-key todo-write-visit-diff-mode-map [remap diff-ediff-patch] #'undefined)
(define-key todo-write-visit-diff-mode-map "c" #'todo-write-comment)

(defun todo-write-visit--end-diff ()
  "Let `diff-mode' alone if this is the last buffer of recorded changes."
  (unless (seq-some (lambda (buffer)
                      (and (not (eq buffer (current-buffer)))
                           (provided-mode-derived-p (buffer-local-value 'major-mode buffer)
                                                    'todo-write-visit-diff-mode)))
                    (buffer-list))
    (advice-remove 'diff-find-file-name #'todo-write-visit--find-diff-file)))

(defun todo-write-visit--find-diff-file (find &optional old noprompt &rest rest)
  "Return the recorded file at point, else call FIND with OLD, NOPROMPT and REST."
  (if (not (derived-mode-p 'todo-write-visit-diff-mode))
      (apply find old noprompt rest)
    (condition-case error
        (apply #'todo-write-visit--existing-file
               (or (get-text-property (point) 'todo-write-visit-file)
                   ;; Commands of `diff-mode' insert lines without it.
                   (let ((end (previous-single-property-change (point) 'todo-write-visit-file)))
                     (and end (> end (point-min))
                          (get-text-property (1- end) 'todo-write-visit-file)))
                   (user-error "No file here")))
      (user-error (unless noprompt (signal (car error) (cdr error)))))))

;;;###autoload (autoload 'todo-write-show-diff "todo-write-visit")
(defun todo-write-show-diff (thread &optional id path)
  "Show the recorded changes of item ID of THREAD as a diff.
ID is as in `todo-write-work': nil shows all changes of the plan.  PATH,
an absolute file name, limits them to one file.  The buffer is in
`diff-mode', whose \\<diff-mode-map>\\[diff-goto-source] goes to the source; with a prefix argument,
\\[diff-apply-hunk] takes a change back.  Interactively, show the changes of what
is at point in a plan: an entry, a file or a task.  Elsewhere, show those
of the whole plan at point or of this buffer, by default of that of
`todo-write-show'.  Signal a `user-error' if no changes are recorded."
  (interactive (todo-write-visit-at-point))
  (let* ((is-entry (consp path))
         (what (if is-entry "this entry" (todo-write-visit-what thread id path)))
         (patches (if is-entry
                      (plist-get (todo-write-story-whole thread path) :patches)
                    (todo-write-core-call todo-write-dyn--patches thread id path)))
         (folder (todo-write-visit-folder thread)))
    (unless (seq-some #'cdr patches)
      (user-error "No changes of %s are recorded" what))
    (with-current-buffer (get-buffer-create "*todo-write-diff*")
      (let ((inhibit-read-only t))
        (erase-buffer)
        (pcase-dolist (`(,file . ,patch) patches)
          (insert (propertize (or patch "") 'todo-write-visit-file (list thread file)))))
      (setq default-directory folder)
      (todo-write-visit-diff-mode)
      (setq header-line-format (concat " Changes of " (string-replace "%" "%%" what)))
      (goto-char (point-min))
      (pop-to-buffer (current-buffer)))))

(defun todo-write-visit-what (thread id path)
  "Return in words what the changes of ID and PATH in THREAD are changes of.
They are as for `todo-write-show-diff'."
  (cond (path (todo-write-text-line path))
        ((stringp id)
         (todo-write-text-line
          ;; The task of an earlier list is no longer an item.
          (or (plist-get (todo-write-item thread id) :content) "this task")))
        ((eq 'turn (car-safe id)) "this prompt")
        (id "this task")
        (t "this plan")))

(defun todo-write-visit-at-point ()
  "Return what is at point as a list (THREAD ID PATH).
They are as for `todo-write-show-diff', of which PATH may be an entry."
  (let* ((entry (get-text-property (point) 'todo-write-entry))
         (part (get-text-property (point) 'todo-write-part))
         (id (cond ((and entry (plist-get entry :part)))
                   ((or (stringp part) (eq 'turn (car-safe part))) part))))
    (if (derived-mode-p 'todo-write-view-mode)
        (list todo-write-view-thread id
              (if (and entry (plist-get entry :files)) entry
                (get-text-property (point) 'todo-write-file)))
      (list (todo-write-buffer-thread)))))

;;; Copies

;; `w' in a plan copies it as a check list in Markdown, `C-u w' in Org.

(declare-function org-link-types "ol" ())

(defun todo-write-visit--org (text)
  "Return TEXT, an agent's, without active Org syntax.
That is links other than to the web, code, macros, snippets, LaTeX, notes,
targets, and dates: an agenda evaluates <%%(FORM)>.
A zero-width space, Org's escape character, breaks such syntax.  TEXT
cannot contain one: `todo-write-text-plain' shows it as an escape."
  (require 'ol)
  (let ((active (concat "\\[\\[\\|<[<0-9%]\\|{{{\\|@@\\|\\[fn:\\|\\[cite\\|\\\\[[:alpha:]([]"
                        "\\|\\<\\(?:src\\|call\\)_\\|\\<"
                        (regexp-opt (seq-difference (org-link-types) '("http" "https"))) ":")))
    (with-temp-buffer
      (insert (todo-write-text-plain text))
      (goto-char (point-min))
      (while (re-search-forward active nil t)
        ;; Another match may begin after the first character.
        (goto-char (1+ (match-beginning 0)))
        (insert "\u200b"))
      (buffer-string))))

(defun todo-write-check-list (thread &optional format)
  "Return the list of THREAD as a check list, a string.
FORMAT is `org', or `markdown', the default: with the files and lines that
each task changed.  The tasks that a task waits for and its owner stand at
its end, in parentheses."
  (let* ((org (eq format 'org))
         (plain (if org
                    #'todo-write-visit--org
                  (lambda (text) (todo-write-text-markdown (todo-write-text-plain text)))))
         (items (todo-write-items thread)))
    (mapconcat (lambda (item)
                 (let ((note (todo-write-row-note item items)))
                   (format "- [%s] %s%s\n%s"
                           (pcase (plist-get item :status)
                             ("completed" (if org "X" "x"))
                             ("in_progress" (if org "-" " "))
                             (_ " "))
                           (funcall plain (plist-get item :content))
                           (if note (format " (%s)" (funcall plain note)) "")
                           (if org ""
                             (todo-write-visit--work
                              thread (todo-write-work thread (plist-get item :id)))))))
               items "")))

(defun todo-write-visit--work (thread work)
  "Return WORK of THREAD, as from `todo-write-work', as Markdown list items."
  (let* ((project (plist-get (todo-write-about thread) :project))
         (commands (plist-get work :commands))
         (failed (or (plist-get commands :failed) 0)))
    (concat
     (mapconcat (lambda (file)
                  (format "  - %s +%d −%d%s\n"
                          (todo-write-text-markdown-code
                           (todo-write-text-plain
                            (todo-write-detail-relative (plist-get file :path) project)))
                          (plist-get file :added) (plist-get file :removed)
                          (if (plist-get file :byCommand) ", by command" "")))
                (plist-get work :files) "")
     (if (plist-get work :moreFiles) "  - and more files\n" "")
     (if (> failed 0)
         (format "  - %d of %d commands failed\n" failed (plist-get commands :run))
       ""))))

(defvar-local todo-write-visit-markdown nil
  "Function that returns the review in this buffer as Markdown.")

(defun todo-write-copy (thread &optional format)
  "Copy the plan of THREAD as a check list.
FORMAT is as in `todo-write-check-list': Markdown with files and lines, or
interactively with a prefix argument, Org.  In a review, copy
that as for a pull request: its files, the plan, and your comments."
  (interactive (list (todo-write-buffer-thread)
                     (and current-prefix-arg 'org)))
  (let* ((review todo-write-visit-markdown)
         (format (unless review format))
         (text (if review (funcall review) (todo-write-check-list thread format))))
    (when (string-empty-p text)
      (user-error "The list is empty"))
    (kill-new text)
    (message "Copied %s as %s"
             (if review "the review"
               (todo-write-text-count (length (todo-write-items thread)) "task"))
             (if (eq format 'org) "Org" "Markdown"))))

(provide 'todo-write-visit)
;;; todo-write-visit.el ends here
