;;; todo-write-review.el --- Review what an agent changed  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `v' in a plan shows what the agent changed since you last looked, as one net diff of
;; each file.  `r' marks a file as reviewed and goes on, `u' takes that back, `g' shows what
;; came since.  `c', also in a diff, asks for a comment on the line, the hunk or the region.  It is
;; recorded in the plan, and kept until the agent was told; see todo-write-tell.el.

;;; Code:

(require 'diff-mode)
(require 'todo-write-compose)
(require 'todo-write-agent)
(require 'todo-write-visit)

;;; State

(defvar-local todo-write-review--scope nil
  "What this buffer shows, (WHAT ID PATH ENTRY ALL); WHAT names it in words.")

(defvar-local todo-write-review--files nil
  "The files of this buffer, overlays on their texts.
Their properties are `todo-write-path', the absolute name; `todo-write-until',
the number of the last observation with a new change, or nil; and
`todo-write-marked', non-nil if it was marked as reviewed up to that.")

(defvar-local todo-write-review--undo nil
  "What `u' takes back, newest first: (PATHS . FILES), for `todo-write-plan-mark'.")

;;; The mode

(define-derived-mode todo-write-review-mode todo-write-visit-diff-mode "Review"
  "Major mode of what an agent changed since you last looked.
The keys of `diff-mode' act on the files; a hunk that you take back marks
nothing.

\\{todo-write-review-mode-map}"
  :interactive nil
  (todo-write-menu-begin-mode)
  ;; The keys of a read-only diff would hide these.
  (setq-local minor-mode-overriding-map-alist
              (cons (cons 'buffer-read-only todo-write-review-mode-map)
                    minor-mode-overriding-map-alist)
              revert-buffer-function #'todo-write-review--draw-again
              todo-write-visit-markdown #'todo-write-review--markdown)
  (buffer-disable-undo))

(todo-write-menu-define 'todo-write-review-mode todo-write-review-mode-map "Review"
  `(("Review"
     ("n" "Next hunk" diff-hunk-next)
     ("p" "Previous hunk" diff-hunk-prev)
     ("RET" "Go to the source" diff-goto-source)
     ("r" "Mark the file as reviewed" todo-write-review-mark)
     ("u" "Undo that" todo-write-review-unmark)
     ("c" "Comment…" todo-write-comment)
     ("g" "Show what is new now" revert-buffer)
     ("S" "Tell the agent…" todo-write-tell))
    . ,todo-write-menu-common))

(define-key todo-write-review-mode-map "q" #'quit-window)

;;; Drawing

(defun todo-write-review--draw (&optional found)
  "Draw what is new now, FOUND if the caller has it; point stays on its line."
  (todo-write-buffer-require 'todo-write-review-mode)
  (let* ((thread todo-write-view-thread)
         (found (or found (apply #'todo-write-plan-review-files
                                 thread (cdr todo-write-review--scope))))
         (project (plist-get (todo-write-about thread) :project)))
    ;; Also those of an earlier review.
    (delete-all-overlays)
    (todo-write-buffer-with-new-text
      (setq todo-write-review--files
            (mapcar (lambda (file) (todo-write-review--insert thread file project)) found))
      (unless found
        (insert (propertize "Nothing is new here.\n" 'face 'todo-write-detail))))
    (setq header-line-format
          (string-replace
           "%" "%%" (format " %s of %s: %s"
                            (if (nth 4 todo-write-review--scope) "Changes" "New changes")
                            (car todo-write-review--scope)
                            (todo-write-text-count (length found) "file"))))))

(defun todo-write-review--draw-again (&rest _)
  "Draw what is new now; begin with its first file if all others are reviewed."
  (let ((done (and (not (nth 4 todo-write-review--scope))
                   (seq-every-p #'todo-write-review--marked-p todo-write-review--files))))
    (todo-write-review--draw)
    (when (and done todo-write-review--files)
      (todo-write-review--goto (car todo-write-review--files)))))

(defun todo-write-review--insert (thread file project)
  "Insert the changes of FILE of THREAD in PROJECT, and return their overlay."
  (let* ((start (point))
         (path (plist-get file :path))
         (patch (plist-get file :patch)))
    (insert (if (equal patch "")
                (format "# %s: changed and changed back\n"
                        (todo-write-text-line (todo-write-detail-relative path project)))
              patch))
    (add-text-properties start (point) `( todo-write-visit-file (,thread ,path)
                                          todo-write-comment-items ,(plist-get file :items)))
    (let ((overlay (make-overlay start (point))))
      (overlay-put overlay 'todo-write-path path)
      (overlay-put overlay 'todo-write-until (plist-get file :until))
      (unless (plist-get file :until)
        (todo-write-review--show-mark overlay t))
      overlay)))

(defun todo-write-review--show-mark (file marked)
  "Show that FILE is reviewed if MARKED is non-nil, else that it is not."
  (overlay-put file 'todo-write-marked marked)
  (overlay-put file 'face (and marked 'todo-write-completed))
  (overlay-put file 'before-string
               (and marked (propertize (format "%s reviewed\n" (todo-write-text-shape 'completed))
                                       'face 'todo-write-done))))

(defun todo-write-review--marked-p (file)
  "Return non-nil if FILE is marked as reviewed."
  (overlay-get file 'todo-write-marked))

;;; Marking

(defun todo-write-review-mark (&optional all)
  "Mark the changes of the file at point as reviewed, and go to the next file.
With a prefix argument ALL, mark those of all files.  What the agent has
changed after what this buffer shows stays new."
  (interactive "P" todo-write-review-mode)
  (todo-write-buffer-require 'todo-write-review-mode)
  (let* ((here (cdr (get-char-property-and-overlay (point) 'todo-write-path)))
         (files (cond (all todo-write-review--files)
                      (here (list here))
                      ;; At the end of the buffer.
                      ((last todo-write-review--files))
                      (t (user-error "No file here"))))
         (former (todo-write-plan-mark
                  todo-write-view-thread
                  (cl-loop for file in files
                           for until = (overlay-get file 'todo-write-until)
                           when until collect (cons (overlay-get file 'todo-write-path) until))
                  t))
         (paths (mapcar (lambda (file) (overlay-get file 'todo-write-path))
                        (or (seq-remove #'todo-write-review--marked-p files) files))))
    (when former
      (push (cons paths former) todo-write-review--undo))
    (dolist (file files)
      (todo-write-review--show-mark file t))
    (let ((next (seq-find (lambda (file) (not (todo-write-review--marked-p file)))
                          (append (memq (car (last files)) todo-write-review--files)
                                  todo-write-review--files))))
      (when next
        (todo-write-review--goto next))
      (message (if next "Reviewed %s; u undoes"
                 "Reviewed %s, and with that all; u undoes, g shows what came since")
               (todo-write-review--names paths)))))

(defun todo-write-review--names (paths)
  "Return the name of the file in PATHS, a list, or how many they are."
  (if (cdr paths) (todo-write-text-count (length paths) "file")
    (todo-write-text-line
     (todo-write-detail-relative
      (car paths) (plist-get (todo-write-about todo-write-view-thread) :project)))))

(defun todo-write-review--goto (file)
  "Go to the beginning of FILE, at the top of the window."
  (goto-char (overlay-start file))
  (when (eq (current-buffer) (window-buffer))
    (recenter 0)))

(defun todo-write-review-unmark ()
  "Undo the last `todo-write-review-mark': what it marked is new again."
  (interactive nil todo-write-review-mode)
  (todo-write-buffer-require 'todo-write-review-mode)
  (pcase-let ((`(,paths . ,former) (or (pop todo-write-review--undo)
                                        (user-error "Nothing was marked here"))))
    (todo-write-plan-mark todo-write-view-thread former nil)
    (cl-flet ((files () (seq-filter (lambda (file)
                                      (member (overlay-get file 'todo-write-path) paths))
                                    todo-write-review--files)))
      (if (length= (files) (length paths))
          (dolist (file (files))
            (todo-write-review--show-mark file nil))
        ;; They were drawn again without them.
        (todo-write-review--draw))
      (when-let* ((first (car (files))))
        (todo-write-review--goto first)))
    (message "New again: %s" (todo-write-review--names paths))))

;;; Comments

(defun todo-write-review--comment-range ()
  "Return the lines at point that a comment is about, as (START . END)."
  (cond ((use-region-p)
         (todo-write-compose-lines))
        ((save-excursion (forward-line 0) (looking-at "@@"))
         (save-excursion
           (forward-line 1)
           (cons (point) (progn (while (looking-at "[-+ \\]") (forward-line 1)) (point)))))
        ((and (eobp) (bolp))
         (cons (line-beginning-position 0) (point)))
        (t (todo-write-compose-lines))))

(defun todo-write-review--comment-line (position)
  "Return the number of the line at POSITION in the new file, or nil."
  (save-excursion
    (goto-char position)
    (forward-line 0)
    (let ((end (point)))
      (end-of-line)
      ;; Before the first hunk of a file, that of the file before is not meant.
      (when (and (re-search-backward "^\\(?:@@ -[0-9,]+ \\+\\([0-9]+\\)\\|diff \\|# \\)" nil t)
                 (match-beginning 1))
        (let ((line (string-to-number (match-string 1))))
          (forward-line 1)
          (while (< (point) end)
            (unless (memq (char-after) '(?- ?\\)) (setq line (1+ line)))
            (forward-line 1))
          (max 1 line))))))

(defun todo-write-review--comment-about ()
  "Return what a comment here is about, a list for `todo-write-tell'."
  (pcase-let* ((`(,start . ,end) (todo-write-review--comment-range))
               (`(,thread ,path) (or (get-text-property (min start (max 1 (1- (point-max))))
                                                        'todo-write-visit-file)
                                     (user-error "No changed line here")))
               (line (todo-write-review--comment-line start))
               (text (buffer-substring-no-properties start (min end (point-max) (+ start 20000)))))
    (list thread
          (list :path path
                :line line
                ;; The header of a file says no more than its name.
                :quote (and (or line (use-region-p))
                            ;; A line may be as long as a file.
                            (mapconcat (lambda (line) (substring line 0 (min (length line) 200)))
                                       (seq-take (split-string text "\n" t) 40)
                                       "\n"))
                :items (get-text-property start 'todo-write-comment-items)))))

(defun todo-write-comment ()
  "Write a comment for the agent on the changed lines at point.
Those are the lines of the region, on the header of a hunk all of it, else
the line.  This works in a review and in the diff of a plan.  The agent
gets the name of the file, the number of the line, and the lines, too; see
`todo-write-tell'."
  (interactive nil todo-write-visit-diff-mode)
  (todo-write-buffer-require 'todo-write-visit-diff-mode)
  (pcase-let ((`(,thread ,about) (todo-write-review--comment-about)))
    (deactivate-mark)
    (todo-write-compose
     "*todo-write-comment*" (list thread about)
     (concat "Comment on "
             (todo-write-text-line
              (todo-write-detail-place (plist-get about :path) (plist-get about :line)
                                           (plist-get (todo-write-about thread) :project))))
     (lambda (text)
       ;; It signals for an empty text.
       (todo-write-tell thread text about)
       nil))))

;;; As Markdown

(defun todo-write-review--code (text)
  "Return TEXT as one line of code in Markdown."
  (todo-write-text-markdown-code (todo-write-text-line text)))

(defun todo-write-review--line (text)
  "Return TEXT as one line of Markdown."
  (todo-write-text-markdown (todo-write-text-line text)))

(defun todo-write-review--patch-lines (patch)
  "Return the numbers of lines that PATCH adds and removes, a cons."
  (let* ((patch (replace-regexp-in-string
                 "^diff --git .*\n\\(?:[a-z].*\n\\)*\\(?:--- .*\n\\+\\+\\+ .*\n\\)?" "" patch))
         (added 0) (removed 0) (start (string-match "^@@" patch)))
    (while (and start (string-match "^[-+]" patch start))
      (if (eq ?+ (aref patch (match-beginning 0))) (cl-incf added) (cl-incf removed))
      (setq start (match-end 0)))
    (cons added removed)))

(defun todo-write-review--markdown ()
  "Return this review as Markdown."
  (let* ((thread todo-write-view-thread)
         (project (plist-get (todo-write-about thread) :project)))
    (cl-flet ((section (heading lines)
                (and lines (concat "\n## " heading "\n" (string-join lines "\n") "\n"))))
      (concat
       "# " (todo-write-review--line (or (plist-get (todo-write-summary thread) :title) "Review"))
       "\n"
       (section
        "Files"
        (cl-loop
         for file in todo-write-review--files
         for (added . removed) = (todo-write-review--patch-lines
                                  (buffer-substring-no-properties (overlay-start file)
                                                                  (overlay-end file)))
         collect (format "- %s +%d −%d%s"
                         (todo-write-review--code
                          (todo-write-detail-relative (overlay-get file 'todo-write-path) project))
                         added removed
                         (if (todo-write-review--marked-p file) ", reviewed" ""))))
       (section "Plan" (split-string (todo-write-check-list thread) "\n" t))
       (section "Comments"
                (cl-loop for comment in (todo-write-plan-comments thread)
                         for path = (plist-get comment :path)
                         for place = (and path (concat (todo-write-review--code
                                                        (todo-write-detail-place
                                                         path (plist-get comment :line) project))
                                                       ": "))
                         collect (concat "- " place
                                         (todo-write-review--line (plist-get comment :text)))))))))

;;; Showing

;;;###autoload
(defun todo-write-review (thread &optional id path range)
  "Review what the agent of THREAD changed since you last looked.
ID and PATH are as in `todo-write-new', except that PATH may be an entry.
Each file has one net diff, from what you reviewed last to what is on disk.

RANGE is nil for what is new; (4), one prefix argument, for all since your
last prompt; or (16), two of them, for all that was ever changed.

Interactively, show the changes of what is at point in a plan: an entry, a
file, a task or a prompt, in the overview those of the agent at point.
Elsewhere, show those of the whole plan."
  (interactive (let ((place (todo-write-visit-at-point)))
                 (list (car place) (nth 1 place) (nth 2 place) current-prefix-arg)))
  (let* ((scope (todo-write-review--scope-of thread id path range))
         ;; Before the buffer that may show another review is changed: C-g may end it.
         (found (apply #'todo-write-plan-review-files thread (cdr scope)))
         (buffer (if found (get-buffer-create "*todo-write-review*")
                   (user-error "%s" (todo-write-review--nothing thread scope)))))
    (with-current-buffer buffer
      (setq default-directory (todo-write-visit-folder thread))
      (todo-write-review-mode)
      (setq todo-write-view-thread thread
            todo-write-review--scope scope)
      (todo-write-review--draw found)
      (goto-char (point-min)))
    (pop-to-buffer buffer)
    (when (called-interactively-p 'interactive)
      (message "%s" (substitute-command-keys "\\[todo-write-review-mark] marks a file as reviewed, \
\\[todo-write-comment] comments on a line, \\[todo-write-menu] shows all keys")))))

(defun todo-write-review--scope-of (thread id path range)
  "Return the scope of ID, PATH and RANGE in THREAD; see `todo-write-review'."
  (let* ((entry (and (consp path) (plist-get path :result)))
         (path (and (stringp path) path))
         (last (if (equal range '(4)) (car (todo-write-story-headings thread 0)) 0))
         (turn (and last (> last 0) last)))
    (list (concat (if entry "this entry" (todo-write-visit-what thread id path))
                  (and turn " since your last prompt"))
          (cond ((not turn) id)
                ((or (stringp id) (eq id 'outside)) (cons id turn))
                (t (cons 'turn turn)))
          path entry (and range t))))

(defun todo-write-review--nothing (thread scope)
  "Return that nothing is new in SCOPE of THREAD, and what there is elsewhere."
  (pcase-let ((`(,what ,id ,path ,entry ,all) scope)
              (files (length (plist-get (todo-write-new thread) :files))))
    (cond (all (format "No changes of %s are recorded" what))
          ((and (> files 0) (or id path entry))
           (format "Nothing is new in %s; v on the header shows %s of the plan"
                   what (todo-write-text-count files "new file")))
          (t (format "Nothing is new in %s; C-u C-u v shows all that was changed" what)))))

(provide 'todo-write-review)
;;; todo-write-review.el ends here
