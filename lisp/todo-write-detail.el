;;; todo-write-detail.el --- What an open row shows  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The properties of a task below its open row, its changes, and in sums what was done for
;; it: when, how many files, commands and tokens, and the files, those that changed most
;; first.  Here are also the words for a call: what it did in Git, what is not known of its
;; files, who refused it, and why it failed.  The entries are in todo-write-story.el.

;;; Code:

(require 'todo-write-row)

(defface todo-write-moved '((t :inherit font-lock-function-name-face))
  "Face of the mark of tasks that moved or changed their status."
  :group 'todo-write-faces)

;;; Names of files

(defun todo-write-detail-relative (path project)
  "Return PATH relative to PROJECT if it is below that.
The agent chose the name, so no file name handler may see it."
  (string-remove-prefix (file-name-as-directory (todo-write-machines-local-name (or project "/")))
                        path))

(defun todo-write-detail-place (path line project)
  "Return PATH relative to PROJECT, and LINE, a number or nil, after it."
  (concat (todo-write-detail-relative path project) (and line (format ":%d" line))))

;;; Paragraphs

(defun todo-write-detail-string (thread item width)
  "Return the lines below the open row of ITEM of THREAD, filled to WIDTH.
These are its text, unless the row shows it, its priority, its owner and
its blockers."
  (let ((text (todo-write-text-of-item item (todo-write-row-kind item)))
        (content (todo-write-text-plain (plist-get item :content)))
        (priority (plist-get item :priority))
        (owner (plist-get item :owner))
        (blockers (todo-write-detail--blockers thread item)))
    (todo-write-row-string
      (dolist (paragraph
               (list (unless (and (equal content text)
                                  ;; The shape takes three columns; all else gives way to the text.
                                  (<= (todo-write-text-width text) (- width 3)))
                       (propertize content 'face 'default))
                     (and priority (format "Priority: %s" (todo-write-text-plain priority)))
                     (and owner (concat "Owner: " (todo-write-text-plain owner)))
                     (and blockers (concat "After: " blockers))))
        (when paragraph
          (todo-write-detail-insert-filled paragraph (max 15 width) 5)))
      ;; Appended faces do not override existing ones.
      (add-face-text-property (point-min) (point-max) 'todo-write-detail t))))

(defun todo-write-detail-insert-filled (line width column &optional as-it-is)
  "Insert LINE at COLUMN, broken into lines of WIDTH columns, and a newline.
Non-nil AS-IT-IS breaks it at any character, as is best for code."
  (let ((start (point))
        (fill-column width)
        (adaptive-fill-mode nil)
        (sentence-end-double-space nil)
        ;; Without room after it, lines would be broken forever.
        (fill-prefix (make-string (max 0 (min column (- width 10))) ?\s)))
    (insert (make-string column ?\s) line "\n")
    (when (> (string-width line) (- width column))
      (save-restriction
        (narrow-to-region start (point))
        (unless as-it-is
          (fill-region-as-paragraph start (point) nil t))
        (goto-char start)
        (while (not (eobp))
          (if (<= (move-to-column width) width)
              (unless (eolp) (insert "\n" fill-prefix))
            (backward-char)
            (insert "\n" fill-prefix))
          (when (eolp) (forward-line)))))))

(defun todo-write-detail--blockers (thread item)
  "Return the contents of the items of THREAD that ITEM waits for, or nil."
  (when-let* ((blockers (delq nil (mapcar (lambda (id) (todo-write-item thread id))
                                          (plist-get item :blockedBy)))))
    (mapconcat (lambda (blocker) (todo-write-text-plain (plist-get blocker :content)))
               blockers "; ")))

;;; Its history

(defun todo-write-detail-changes (thread id)
  "Return the changes of the item ID of THREAD as a list of (TIME . TEXT).
That the agent added, began and completed it is left out, since the sums of
its work say when, but not that it took a completed one up again."
  (cl-loop
   for (revision . changes) in (todo-write-item-changes thread id)
   for who = (cond ((equal (plist-get revision :operation) "undo") ", undone")
                   ((equal (plist-get revision :author) "user") ", by you"))
   append (cl-loop
           for change in changes
           when (or who (not (member (plist-get change :type) '("added" "status_changed")))
                    (equal "completed" (plist-get (plist-get change :previousItem) :status)))
           append (mapcar (lambda (text) (cons (plist-get revision :timestamp) (concat text who)))
                          (todo-write-detail-change thread change revision)))))

(defun todo-write-detail--removal (change revision)
  "Return how CHANGE of REVISION removed its item from the list, a participle.
Only what the agent left out unfinished, while its list went on, was
dropped."
  (cond ((equal (plist-get revision :operation) "undo") "removed")
        ((equal (plist-get revision :author) "user") "deleted")
        ((plist-get change :cancelled) "cancelled")
        ((plist-get revision :replaces) "replaced")
        ((equal (plist-get (plist-get change :previousItem) :status) "completed") "cleared")
        (t "dropped")))

(defun todo-write-detail-departure (thread id)
  "Return how ID left the list of THREAD; see `todo-write-detail--removal'."
  (pcase-let ((`(,revision . ,changes) (car (last (todo-write-item-changes thread id)))))
    (todo-write-detail--removal (car (last changes)) revision)))

(defun todo-write-detail-change (thread change revision)
  "Return strings that describe CHANGE, a plist, of an item of THREAD.
REVISION, a plist, made it.  Most renames change the active form together
with the content, so its change is shown only if the content is unchanged."
  (let* ((type (plist-get change :type))
         (mark (concat (todo-write-detail-mark type) " "))
         (modified (concat (todo-write-detail-mark "modified") " "))
         (arrow (format " %s " (todo-write-text-shape 'arrow)))
         (item (plist-get change :item))
         (previous (plist-get change :previousItem)))
    (pcase type
      ("added" (list (concat mark "added " (todo-write-detail-shape item t))))
      ("removed"
       (let ((how (todo-write-detail--removal change revision)))
         (list (concat (if (equal how "dropped") mark
                         (concat (todo-write-text-shape 'minus) " "))
                       how))))
      ("reordered" (list (format "%smoved from %d to %d" mark
                                 (1+ (plist-get change :previousPosition))
                                 (1+ (plist-get change :position)))))
      (_ (cl-loop
          with changed = (seq-remove (lambda (key)
                                       (equal (plist-get previous key) (plist-get item key)))
                                     '(:content :activeForm :priority :owner :blockedBy :status))
          for key in (if (memq :content changed) (remq :activeForm changed) changed)
          for new = (plist-get item key)
          for renamed = (concat
                         (propertize (todo-write-text-plain (format "%s" (plist-get previous key)))
                                     'face 'todo-write-removed)
                         arrow (todo-write-text-plain (format "%s" new)))
          collect
          (pcase key
            (:status (concat (todo-write-detail-shape previous) arrow
                             (todo-write-detail-shape item t)))
            (:blockedBy
             (concat modified "after: " (or (todo-write-detail--blockers thread item) "none")))
            (:content (concat modified renamed))
            (:activeForm (concat modified "active form: " renamed))
            (_ (format "%s%s %s" modified (substring (symbol-name key) 1)
                       (todo-write-text-plain (or new "none"))))))))))

(defun todo-write-detail-changes-line (thread changes)
  "Return CHANGES of THREAD, a vector of change plists, in a line.
Many new tasks are counted; other changes show the task."
  (let* ((added (seq-count (lambda (change) (equal (plist-get change :type) "added")) changes))
         (many (and (> added 3) (concat (todo-write-detail-mark "added") " "
                                        (todo-write-text-count added "task")))))
    (string-join
     (append
      (and many (list many))
      (cl-loop for change across changes
               for type = (plist-get change :type)
               for item = (or (plist-get change :item) (plist-get change :previousItem)
                              (todo-write-item thread (plist-get change :itemId)))
               unless (and many (equal type "added"))
               collect (concat (if (equal type "status_changed")
                                   (todo-write-detail-shape item)
                                 (todo-write-detail-mark type))
                               " " (todo-write-text-plain (or (plist-get item :content) "")))))
     "  ")))

(defun todo-write-detail-mark (type)
  "Return the mark of a change of TYPE, a string with a shape."
  (pcase-let ((`(,shape ,face)
               (pcase type
                 ("added" '(added todo-write-lines-added))
                 ("modified" '(modified warning))
                 ("status_changed" '(arrow todo-write-moved))
                 ("reordered" '(moved todo-write-moved))
                 ("removed" '(minus todo-write-failed)))))
    (propertize (todo-write-text-shape shape) 'face face)))

(defun todo-write-detail-shape (item &optional status)
  "Return the shape of ITEM, with its status in words if STATUS is non-nil."
  (let ((kind (todo-write-row-kind item)))
    (concat (propertize (todo-write-text-shape kind) 'face (todo-write-row-face kind t))
            (and status (concat " " (string-replace "_" " " (plist-get item :status)))))))

;;; Sums

(defconst todo-write-detail--most-files 10
  "Number of files that an open row shows.")

(defun todo-write-detail--span (times)
  "Return when a task with TIMES was in progress, or nil."
  (pcase-let ((`(,started ,completed ,created)
               (mapcar (lambda (key) (plist-get times key)) '(:started :completed :created))))
    (cond ((and started completed)
           (todo-write-detail-clock-span started completed))
          ((and created completed)
           (format "added %s, completed %s" (todo-write-text-clock created)
                   (todo-write-text-clock completed created)))
          (completed (concat "completed " (todo-write-text-clock completed)))
          (started (concat "since " (todo-write-text-clock started)))
          (created (concat "added " (todo-write-text-clock created))))))

(defun todo-write-detail-clock-span (from to &optional before)
  "Return the time from FROM to TO, milliseconds, with the date where it is needed.
The date of FROM is not needed if it is that of BEFORE, by default today,
that of TO not within a day.  Within a minute, return one time."
  (let* ((start (todo-write-text-clock from before))
         (end (if (< (- to from) 86400000) (format-time-string "%R" (/ to 1000))
                (todo-write-text-clock to from))))
    (if (and (< (- to from) 60000) (string-suffix-p end start))
        start
      (concat start "–" end))))

(defun todo-write-detail--work (work)
  "Return WORK, as from `todo-write-work', as a list of strings."
  (let* ((commands (plist-get work :commands))
         (run (or (plist-get commands :run) 0))
         (failed (or (plist-get commands :failed) 0))
         (refused (or (plist-get work :refused) 0))
         (files (length (plist-get work :files)))
         (responses (or (plist-get work :responses) 0))
         (tokens (plist-get work :tokens))
         (shown (todo-write-detail-tokens tokens)))
    (delq nil
          (list (when (> files 0) (todo-write-text-count files "file"))
                (cond ((> failed 0) (format "%d of %s failed" failed
                                            (todo-write-text-count run "command")))
                      ((> run 0) (todo-write-text-count run "command")))
                (when (> refused 0) (format "%d refused" refused))
                (when (> responses 0) (todo-write-text-count responses "response"))
                (when shown
                  (todo-write-text-helped
                   shown
                   (concat "Tokens: new ones that the model read, those that it wrote"
                           (if (plist-get tokens :atLeast) " at least" "")
                           ", and those that it read again from its cache")))
                (when (plist-get work :models)
                  (mapconcat (lambda (model)
                               ;; All such names have these parts.
                               (replace-regexp-in-string "\\`claude-\\|-20[0-9]\\{6\\}\\'" ""
                                                         (todo-write-text-line model 40)))
                             (plist-get work :models) ", "))
                (when-let* ((others (plist-get work :sharedWith)))
                  (todo-write-text-helped
                   (concat "shared with " (todo-write-text-count others "other task"))
                   "These were in progress, too, so that they have the same work"))))))

(defun todo-write-detail-tokens (tokens)
  "Return TOKENS, a plist as in `todo-write-work', as a string, or nil if none."
  (when (seq-some (lambda (key) (< 0 (or (plist-get tokens key) 0)))
                  '(:input :output :cacheRead :cacheWrite))
    (format "new %s, out %s%s, re-read %s"
            (todo-write-text-number (+ (plist-get tokens :input)
                                       (plist-get tokens :cacheWrite)))
            (if (plist-get tokens :atLeast) (todo-write-text-shape 'at-least) "")
            (todo-write-text-number (plist-get tokens :output))
            (todo-write-text-number (plist-get tokens :cacheRead)))))

(defun todo-write-detail-insert-sums (thread id width)
  "Insert what was done for item ID of THREAD in sums, filled to WIDTH.
Return the date that this shows, or nil if it shows no time."
  (let ((work (todo-write-work thread id))
        (times (and (stringp id) (todo-write-times thread id)))
        (project (plist-get (todo-write-about thread) :project)))
    (cl-flet ((insert-line (text)
                (todo-write-detail-insert-filled
                 (propertize text 'face 'todo-write-detail) width 5)))
      (when-let* ((sums (append (ensure-list (todo-write-detail--span times))
                                (todo-write-detail--work work))))
        (insert-line (apply #'todo-write-text-dotted sums)))
      (todo-write-detail--insert-files (plist-get work :files) project (cons 'files id) width)
      (when (plist-get work :moreFiles)
        (insert-line todo-write-row-more-files)))
    (when-let* ((time (seq-some (lambda (key) (plist-get times key))
                                '(:started :created :completed))))
      (format-time-string "%F" (/ time 1000)))))

(defun todo-write-detail--insert-files (files project key width)
  "Insert FILES of PROJECT in lines of WIDTH columns; KEY opens all of them."
  (let* ((sorted (seq-sort-by (lambda (file) (+ (plist-get file :added) (plist-get file :removed)))
                              #'> files))
         (rest (and (not (member key todo-write-row-open))
                    ;; A line would take as much room as the last file.
                    (nthcdr (1+ todo-write-detail--most-files) sorted)
                    (nthcdr todo-write-detail--most-files sorted)))
         (shown (if rest (seq-take sorted todo-write-detail--most-files) sorted))
         (rows (todo-write-text-columns
                (mapcar (lambda (file)
                          (list (todo-write-text-truncate
                                 (todo-write-text-line
                                  (todo-write-detail-relative (plist-get file :path) project))
                                 ;; Beside it are numbers of lines, and how they were changed.
                                 (max 10 (- width 30)) t)
                                (or (todo-write-row-lines (plist-get file :added)
                                                          (plist-get file :removed) t)
                                    "")
                                (if (plist-get file :byCommand)
                                    (propertize "by command" 'face 'todo-write-detail)
                                  "")))
                        shown))))
    (cl-loop for file in shown
             for row in rows
             do (insert (todo-write-row-button
                         (string-trim-right (concat "     " (string-join row "  ")) " +")
                         "RET, mouse-1: visit the file; =: show its changes"
                         'todo-write-file (plist-get file :path)
                         'todo-write-key (cons (cdr key) (plist-get file :path)))
                        "\n"))
    (when rest
      (insert (todo-write-row-button
               (propertize (format "     %s more" (todo-write-text-count (length rest) "file"))
                           'face 'todo-write-detail)
               "RET, mouse-1: show them" 'todo-write-toggle key)
              "\n"))))

;;; Calls

(defun todo-write-detail-remarks (entry)
  "Return what there is to say of the files that ENTRY changed, a list of strings.
ENTRY is as from `todo-write-story-entries'."
  (append (and (seq-some (lambda (file) (plist-get file :byCommand)) (plist-get entry :files))
               '("files changed by command"))
          (and (plist-get entry :moreFiles) (list todo-write-row-more-files))
          (and (plist-get entry :othersWrote) '("others wrote files at that time"))))

(defun todo-write-detail-git (operation)
  "Return in words what was done in Git, OPERATION, a plist."
  (pcase-let ((`(,action ,branch ,number)
               (mapcar (lambda (key) (plist-get operation key)) '(:action :branch :number))))
    (string-join
     (delq nil
           (pcase (plist-get operation :kind)
             ("commit" (list (pcase action
                               ("amended" "amended commit")
                               ('nil "committed")
                               (other other))
                             (plist-get operation :id) (plist-get operation :title)))
             ("push" (list "pushed to" (or branch "a branch")))
             ("merge" (list "merged" (or branch "a branch")))
             ("rebase" (list "rebased onto" (or branch "a branch")))
             (_ (list "pull request" (and number (format "#%d" number)) (or action "created")))))
     " ")))

(defun todo-write-detail-refusal (refusal)
  "Return who made REFUSAL and why, as one line, or nil.
REFUSAL is a plist :by and :reason, as an observation has it, or nil."
  (let ((reason (plist-get refusal :reason))
        (words (pcase (plist-get refusal :by)
                 ("user" "you refused it")
                 ("rule" "a rule refused it")
                 ("auto" "auto mode refused it")
                 ("noAnswer" "auto mode could not check it"))))
    (when words
      (todo-write-text-line (if (stringp reason) (concat words ": " reason) words) 200))))

;;; Failures

;; A failed command prints many lines, and one of them says what is wrong, in the way of its
;; compiler or test runner.

(defconst todo-write-detail--failures
  `(;; Tools of Claude Code.
    "\\`<tool_use_error>\\(.+?\\)\\(?:</tool_use_error>\\|$\\)"
    ;; Summaries of tests that name both the test and its reason: pytest.
    "^\\(FAILED [^ \n]+ - .+\\)"
    ;; The reason of a failed test or a crash: Rust, pytest, Go.
    "^ *thread '.*' \\(?:([0-9]+) \\)?panicked at .*:\n *\\(.+\\)"
    "^E   ?\\([^ \n].*\\)"
    "^[ \t]*\\(panic: .+\\)"
    ;; Errors of compilers, linkers and linters.
    ,(concat "^\\([^ \n]*[^ \n:]\\(?::[0-9]+\\)\\{1,2\\}:? \\(?:fatal \\)?[Ee]rror: .+"
             "\\|[^ \n]+([0-9]+,[0-9]+): error .+"
             "\\|error\\(?:\\[[A-Z0-9]+\\]\\)?: .+\\)")
    "^ *\\([0-9]+:[0-9]+ +error  .+\\)"
    "^\\(.*undefined reference to .+\\)"
    ;; Exceptions.  Python prints the one that matters last.
    (last ,(concat "^ *\\(\\(?:[[:alnum:]_]+[.]\\)*[[:alpha:]][[:alnum:]_]*"
                   "\\(?:Error\\|Exception\\|Exit\\|Interrupt\\)"
                   "\\(?: \\[[A-Z_]+\\]\\)?: .+\\)"))
    "^\\(Debugger entered--Lisp error: .+\\)"
    ;; A place in a file with a message: Go, ruff.
    "^ *\\(?:vet: \\)?\\([^ \n:]+:[0-9]+\\(?::[0-9]+\\)?: .+\\)"
    "^\\([A-Z]+[0-9]+ .+\\)\n +--> "
    ;; Programs that give a reason of their own.
    "^\\(fatal: .+\\|CONFLICT .+\\|npm \\(?:error\\|ERR!\\) .+\\|Error: .+\\)"
    "^\\([^ \n]+: \\*\\*\\* .+\\)"
    ;; Names of failed tests: Go, TAP, Jest, Vitest, unittest, ERT, prove.
    "^ *\\(--- FAIL: .+\\|not ok [0-9]+ .+\\|[●✕×✗] .+\\|#   Failed test .+\\)"
    "^ *\\(FAIL\\(?:ED\\)?:? +[^ \n].*\\|Diff in .+\\)"
    ;; Anything that mentions an error.
    "^[ \t]*\\(.*\\(?:^\\|[^[:alpha:]]\\)[Ee]rror\\(?:[^[:alpha:]].*\\)?\\)$"
    "^[ \t^-]*\\(.*(warning): .+\\)")
  "Regexps whose first group is the telling line, the most telling first.
An element (last REGEXP) takes the last match instead of the first.")

(defun todo-write-detail-failure (output)
  "Return the line of OUTPUT that says why a command failed, or nil.
OUTPUT is what the command printed, a string; its end is searched if it is
long.  If no pattern matches, return the last line that is not blank.  A
text that ends in a colon is followed by the next line that is not blank."
  (with-temp-buffer
    (insert (substring output (max 0 (- (length output) 65536))))
    (pcase-dolist (`(,noise . ,rest)
                   '(("\e\\[[0-9;?]*[ -/]*[@-~]\\|\e[()][A-Z0-9]\\|\r" . "")
                     ("\\`Exit code [0-9]+\n?" . "")
                     ("[ \t]\\{9,\\}" . "        ")
                     ;; For some patterns, the time is the square of a line's length.
                     ("^\\(.\\{400\\}\\).+" . "\\1")))
      (goto-char (point-min))
      (while (re-search-forward noise nil t)
        (replace-match rest t)))
    (let* ((case-fold-search nil)
           (line (when (seq-some (lambda (pattern)
                                   (goto-char (if (consp pattern) (point-max) (point-min)))
                                   (if (consp pattern)
                                       (re-search-backward (cadr pattern) nil t)
                                     (re-search-forward pattern nil t)))
                                 `(,@todo-write-detail--failures
                                   (last "^[ \t]*\\([^ \t\n].*\\)")))
                   (goto-char (match-end 1))
                   (string-trim (match-string 1)))))
      (if (and line (string-suffix-p ":" line) (re-search-forward "[ \t\n]*\\(.+\\)" nil t))
          (concat line " " (string-trim (match-string 1)))
        line))))

(provide 'todo-write-detail)
;;; todo-write-detail.el ends here
