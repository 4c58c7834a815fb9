;;; todo-write-detail.el --- What an open row shows  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The lines below an open row (RET opens it), from the functions in
;; `todo-write-detail-functions', and the lists of subagents.

;;; Code:

(require 'todo-write)
(require 'todo-write-row)

(defcustom todo-write-detail-functions '(todo-write-detail-item todo-write-detail-story)
  "Functions that return the lines below an open row, in this order.
Each is called with THREAD and ITEM (a plist) and returns a list of
strings, one for each paragraph, or nil.  The text property
`todo-write-hang' of a paragraph is the number of columns by which its
further lines are indented.  A paragraph with the property
`todo-write-cut' is truncated to one line."
  :type 'hook
  :group 'todo-write)

(defcustom todo-write-detail-limit 20
  "Maximum number of events that an open row shows, the newest."
  :type 'natnum
  :group 'todo-write)

(defcustom todo-write-detail-length 400
  "Maximum number of characters of a thought or tool result in an open row."
  :type 'natnum
  :group 'todo-write)

(defface todo-write-thought '((t :inherit (italic todo-write-detail)))
  "Face of the agent's thoughts."
  :group 'todo-write-faces)

(defface todo-write-tool '((t :inherit font-lock-function-name-face))
  "Face of the names of tools that the agent called."
  :group 'todo-write-faces)

(defface todo-write-failed '((t :inherit error))
  "Face of errors."
  :group 'todo-write-faces)

(defface todo-write-added '((t :inherit success))
  "Face of the mark of added tasks."
  :group 'todo-write-faces)

(defface todo-write-modified '((t :inherit warning))
  "Face of the mark of tasks whose text changed."
  :group 'todo-write-faces)

(defface todo-write-moved '((t :inherit font-lock-function-name-face))
  "Face of the mark of tasks that moved or changed their status."
  :group 'todo-write-faces)

(defconst todo-write-detail-events '("THOUGHTS" "TOOL_CALL" "TOOL_EXECUTION" "ERROR")
  "Types of the observations that an open row shows.")

;;; Paragraphs

(defvar todo-write-detail--shown nil
  "The text of the row above, or nil if the row may be truncated.")

(defun todo-write-detail-string (thread item width)
  "Return the lines below the open row of ITEM of THREAD, filled to WIDTH."
  (let* ((text (todo-write-row-text item (todo-write-row-kind item)))
         (todo-write-detail--shown
          ;; The shape and a time of some hours take 15 columns.
          (and (<= (todo-write-row-width text) (- width 15)) text)))
    (with-temp-buffer
      (dolist (function todo-write-detail-functions)
        (dolist (paragraph (condition-case-unless-debug err
                               (funcall function thread item)
                             (error (list (format-message "`%s' failed: %s" function
                                                          (error-message-string err))))))
          (todo-write-detail--insert paragraph (max 30 width))))
      ;; Appended faces do not override existing ones.
      (add-face-text-property (point-min) (point-max) 'todo-write-detail t)
      (buffer-string))))

(defun todo-write-detail--insert (paragraph width)
  "Insert PARAGRAPH, filled to WIDTH and indented."
  (let ((start (point))
        (fill-column width)
        (adaptive-fill-mode nil)
        (sentence-end-double-space nil)
        (fill-prefix (make-string
                      (+ 5 (or (get-text-property 0 'todo-write-hang paragraph) 0)) ?\s)))
    (when (text-property-any 0 (length paragraph) 'todo-write-cut t paragraph)
      (setq paragraph (todo-write-row-truncate paragraph (- width 5))))
    (insert "     " paragraph "\n")
    (when (> (string-width paragraph) (- width 5))
      (fill-region-as-paragraph start (point) nil t)
      (todo-write-detail--break-lines start width))))

(defun todo-write-detail--break-lines (start width)
  "Break lines after START that have no space and are wider than WIDTH."
  (goto-char start)
  (while (not (eobp))
    (if (<= (move-to-column width) width)
        (unless (eolp) (insert "\n" fill-prefix))
      (backward-char)
      (insert "\n" fill-prefix))
    (when (eolp) (forward-line))))

;;; The task

(defun todo-write-detail-item (thread item)
  "Return the properties of ITEM of THREAD, a list of strings.
These are its text and active form, unless the row shows them, its
priority, its owner, its blockers and its times."
  (let* ((times (todo-write-times thread (plist-get item :id)))
         (content (todo-write-row-plain (plist-get item :content)))
         (active (todo-write-row-plain (or (plist-get item :activeForm) "")))
         (priority (plist-get item :priority))
         (owner (plist-get item :owner))
         (blockers (todo-write-detail--blockers thread item))
         (spent (plist-get times :spent))
         (stretches (length (plist-get times :intervals)))
         (dates (cl-loop
                 for (key word) in '((:created "Added") (:started "begun") (:completed "done"))
                 for time = (plist-get times key)
                 when time collect (format "%s %s" word (todo-write-detail-clock time)))))
    (delq nil
          (list (unless (equal content todo-write-detail--shown)
                  (propertize content 'face 'default))
                (unless (member active (list "" content todo-write-detail--shown))
                  (concat "While at it: " active))
                (when priority (format "Priority: %s" (todo-write-row-plain priority)))
                (when owner (concat "Owner: " (todo-write-row-plain owner)))
                (when blockers (concat "After: " blockers))
                (when dates
                  (concat (string-join dates ", ")
                          (when (and spent (>= spent 1000))
                            (format ", %s in progress" (todo-write-row-time spent)))
                          (when (> stretches 1)
                            (format " in %d stretches" stretches))))))))

(defun todo-write-detail--blockers (thread item)
  "Return the contents of the items of THREAD that ITEM waits for, or nil."
  (when-let* ((blockers (delq nil (mapcar (lambda (id) (todo-write-item thread id))
                                          (plist-get item :blockedBy)))))
    (mapconcat (lambda (blocker) (todo-write-row-plain (plist-get blocker :content)))
               blockers "; ")))

(defun todo-write-detail-clock (milliseconds)
  "Return MILLISECONDS since the epoch as time of day, or with the date if old."
  (let ((time (/ milliseconds 1000)))
    (format-time-string (if (time-less-p (time-since time) 43200) "%T" "%F %R") time)))

;;; Its history

(defun todo-write-detail-story (thread item)
  "Return the history of ITEM of THREAD, a list of strings, oldest first.
It has the item's changes, and the thoughts and tool calls while it was
in progress, each with its time."
  (let* ((id (plist-get item :id))
         (changes (todo-write-detail--changes thread id))
         ;; The sort is stable.  Within a millisecond, the beginning of a task
         ;; comes before the events during it, and its end after them.
         (entries (sort (append (seq-take changes 1)
                                (todo-write-detail--events thread id)
                                (seq-drop changes 1))
                        (lambda (a b) (< (car a) (car b)))))
         (hidden (- (length entries) todo-write-detail-limit)))
    (append (when (> hidden 0)
              (list (format "%d earlier; todo-write-log lists all" hidden)))
            (mapcar (pcase-lambda (`(,time . ,text))
                      (propertize (concat (todo-write-detail-clock time) "  " text)
                                  'todo-write-hang 12))
                    (last entries todo-write-detail-limit)))))

(defun todo-write-detail--changes (thread id)
  "Return the changes of the item ID of THREAD as a list of (TIME . TEXT)."
  (cl-loop
   for (revision . changes) in (todo-write-item-changes thread id)
   for time = (plist-get revision :timestamp)
   for who = (cond ((equal (plist-get revision :operation) "undo") ", undone")
                   ((equal (plist-get revision :author) "user") ", by you"))
   append (mapcar (lambda (text) (cons time (concat text who)))
                  (seq-mapcat (lambda (change) (todo-write-detail--change thread change))
                              changes))))

(defun todo-write-detail--change (thread change)
  "Return strings that describe CHANGE, a plist, of an item of THREAD."
  (let* ((type (plist-get change :type))
         (mark (concat (todo-write-detail-mark type) " "))
         (item (plist-get change :item)))
    (pcase type
      ("added" (list (concat mark "added " (todo-write-detail-shape item t))))
      ("removed" (list (concat mark "dropped")))
      ("reordered" (list (format "%smoved from %d to %d" mark
                                 (1+ (plist-get change :previousPosition))
                                 (1+ (plist-get change :position)))))
      (_ (delq nil (mapcar (lambda (key)
                             (todo-write-detail--field-change
                              thread key (plist-get change :previousItem) item))
                           '(:content :activeForm :priority :owner :blockedBy :status)))))))

(defun todo-write-detail--field-change (thread key previous item)
  "Return how the field KEY changed from PREVIOUS to ITEM of THREAD, or nil.
Most renames change the active form together with the content, so its
change is shown only if the content is unchanged."
  (let ((old (plist-get previous key))
        (new (plist-get item key))
        (mark (concat (todo-write-detail-mark "modified") " ")))
    (unless (equal old new)
      (pcase key
        (:status (concat (todo-write-detail-shape previous) " " (todo-write-row-shape 'arrow)
                         " " (todo-write-detail-shape item t)))
        (:blockedBy (concat mark "after: "
                            (or (todo-write-detail--blockers thread item) "none")))
        (:content (concat mark (todo-write-detail--reworded old new)))
        (:activeForm (when (equal (plist-get previous :content) (plist-get item :content))
                       (concat mark "while at it: " (todo-write-detail--reworded old new))))
        (_ (format "%s%s %s" mark (substring (symbol-name key) 1)
                   (todo-write-row-plain (or new "none"))))))))

(defun todo-write-detail--reworded (old new)
  "Return the words of both OLD and NEW, texts of a task, with changes marked."
  (todo-write-words-string (todo-write-words-diff (todo-write-row-plain old)
                                                  (todo-write-row-plain new))
                           '(same removed added)))

(defun todo-write-detail-mark (type)
  "Return the mark of a change of TYPE, a string with a shape."
  (pcase-let ((`(,shape ,face)
               (pcase type
                 ("added" '(added todo-write-added))
                 ("modified" '(modified todo-write-modified))
                 ("status_changed" '(arrow todo-write-moved))
                 ("reordered" '(moved todo-write-moved))
                 ("removed" '(minus todo-write-removed-shape)))))
    (propertize (todo-write-row-shape shape) 'face face)))

(defun todo-write-detail-shape (item &optional status)
  "Return the shape of ITEM, with its status in words if STATUS is non-nil."
  (let ((kind (todo-write-row-kind item)))
    (concat (propertize (todo-write-row-shape kind) 'face (todo-write-row-shape-face kind))
            (and status (concat " " (string-replace "_" " " (plist-get item :status)))))))

;;; Thoughts and tools

(defun todo-write-detail--events (thread id)
  "Return the events while the item ID of THREAD was in progress.
The value is a list of (TIME . TEXT)."
  (cl-loop with project = (plist-get (todo-write-about thread) :project)
           for type in todo-write-detail-events
           append (seq-map (lambda (observation)
                             (cons (plist-get observation :timestamp)
                                   (todo-write-detail--event type observation project)))
                           (todo-write-observations thread :step id :type type
                                                    :limit todo-write-detail-limit))))

(defun todo-write-detail--event (type observation project)
  "Return OBSERVATION of TYPE as a string; file names are relative to PROJECT."
  (let* ((content (plist-get observation :content))
         (fields (and (consp content) content))
         (name (plist-get fields :name))
         (text (todo-write-detail--cut (todo-write-detail-text content project)))
         (duration (plist-get (plist-get observation :metadata) :durationMs))
         (failed (or (equal type "ERROR") (eq t (plist-get fields :isError)))))
    (string-join
     (delq nil
           (pcase type
             ("THOUGHTS" (list (todo-write-row-shape 'thought)
                               (propertize text 'face 'todo-write-thought)))
             ("TOOL_CALL" (list (propertize (todo-write-row-shape 'tool) 'todo-write-cut t)
                                (and (stringp name)
                                     (propertize (todo-write-row-plain name)
                                                 'face 'todo-write-tool))
                                (unless (string-empty-p text) text)))
             (_ (list (if failed
                          (propertize (todo-write-row-shape 'removed) 'face 'todo-write-failed)
                        (todo-write-row-shape 'result))
                      (and (equal type "TOOL_EXECUTION") (numberp duration) (>= duration 100)
                           (propertize (format "%.1fs" (/ duration 1000.0))
                                       'face 'todo-write-time))
                      (if failed (propertize text 'face 'todo-write-failed) text)))))
     " ")))

(defun todo-write-detail--cut (text)
  "Return TEXT as one line, cut to `todo-write-detail-length' characters."
  (if (<= (length text) todo-write-detail-length)
      (todo-write-row-line text)
    (concat (todo-write-row-line (substring text 0 todo-write-detail-length))
            (todo-write-row-shape 'ellipsis))))

(defun todo-write-detail-text (content project)
  "Return the text of CONTENT, of an observation in PROJECT.
For a tool call, that is its most telling argument."
  (cond ((stringp content) content)
        ((not (consp content)) (if content (format "%s" content) ""))
        ((seq-find #'stringp (mapcar (lambda (key) (plist-get content key))
                                     '(:text :content :message))))
        ((plist-get content :input)
         (todo-write-detail--argument (plist-get content :input) project))
        ((plist-get content :name) "")
        ((plist-member content :todoList)
         (format "%d tasks, %d changes" (length (plist-get content :todoList))
                 (length (plist-get (plist-get content :changes) :changes))))
        (t (todo-write-to-json content))))

(defun todo-write-detail-input (input)
  "Return INPUT, the arguments of a tool call, decoded if it is JSON text."
  (or (and (stringp input) (ignore-errors (json-parse-string input))) input))

(defun todo-write-detail--argument (input project)
  "Return the most telling part of INPUT, the arguments of a call in PROJECT.
That is the first of the usual arguments, else the first short string,
else all of INPUT."
  (let* ((decoded (todo-write-detail-input input))
         (fields (todo-write--json-fields decoded))
         (name (seq-find (lambda (name) (todo-write-detail--words (cdr (assoc name fields))))
                         '("command" "cmd" "file_path" "notebook_path" "path" "pattern"
                           "query" "url" "description" "prompt")))
         (text (todo-write-detail--words (cdr (assoc name fields)))))
    (cond ((member name '("file_path" "notebook_path" "path"))
           ;; The agent chose the name, so no file name handler may see it.
           (concat (string-remove-prefix (or project "/") text)
                   (todo-write-detail--range (cdr (assoc "offset" fields))
                                             (cdr (assoc "limit" fields)))))
          (text)
          ((seq-find (lambda (value) (and (stringp value) (< 0 (length value) 100)))
                     (mapcar #'cdr fields)))
          ((not (or fields (equal decoded input))) "")
          ((stringp input) input)
          (t (format "%S" input)))))

(defun todo-write-detail--words (value)
  "Return VALUE, an argument, if it is text or a vector of words, else nil."
  (cond ((stringp value) (unless (string-blank-p value) value))
        ((and (vectorp value) (seq-every-p #'stringp value))
         (unless (seq-empty-p value) (string-join value " ")))))

(defun todo-write-detail--range (offset limit)
  "Return the range of LIMIT lines from line OFFSET on, such as \":1-160\"."
  (let ((first (if (natnump offset) offset 1)))
    (cond ((natnump limit) (format ":%d-%d" first (+ first limit -1)))
          ((natnump offset) (format ":%d-" first))
          (t ""))))

;;; Lists of subagents

;; The list of a subagent appears below the task that it works on; see
;; `todo-write-begin'.  A completed list is reduced to one line unless the row is
;; open.

(defcustom todo-write-children-rows 10
  "Maximum number of a subagent's tasks shown below the task that it works on."
  :type 'natnum
  :group 'todo-write)

(defconst todo-write-children--deepest 3
  "Maximum depth of subagents of subagents.")

(defconst todo-write-children--indent 4
  "Columns by which a subagent's list is indented.")

(defun todo-write-children-by-item (thread)
  "Return the threads of THREAD's subagents, an alist of (ITEM-ID . KEYS).
ITEM-ID is nil for threads whose item is not in the list."
  (mapcar (pcase-lambda (`(,id . ,children)) (cons id (mapcar #'car children)))
          (seq-group-by (pcase-lambda (`(,_ . ,id)) (and id (todo-write-item thread id) id))
                        (todo-write-children thread))))

(defun todo-write-children-ancestors (thread)
  "Return the parents of THREAD, a list of (KEY . ITEM-ID), the nearest first."
  (cl-loop repeat todo-write-children--deepest
           for parent = (todo-write-parent thread)
           while parent
           collect parent
           do (setq thread (car parent))))

(defun todo-write-children-insert (keys width &optional open depth)
  "Insert the lists of the threads KEYS as lines of WIDTH columns.
Non-nil OPEN shows completed lists in full, too.  DEPTH is the level of
nesting, from 1."
  (dolist (key keys)
    (let* ((summary (todo-write-summary key))
           (state (plist-get summary :state))
           (depth (or depth 1)))
      (todo-write-children--insert-header key summary width depth)
      (when (or open (memq state '(active paused)))
        (todo-write-children--insert-rows key (eq state 'paused) width open depth)))))

(defun todo-write-children--insert-header (key summary width depth)
  "Insert the line above the list of the thread KEY, whose summary is SUMMARY.
WIDTH and DEPTH are as in `todo-write-children-insert'."
  (insert (propertize
           (todo-write-row-fit
            (concat (make-string (* depth todo-write-children--indent) ?\s)
                    (propertize (todo-write-row-shape 'child) 'face 'todo-write-detail)
                    " "
                    (propertize (todo-write-row-plain (or (plist-get summary :title) key))
                                'face 'todo-write-child))
            (propertize (todo-write-row-progress summary)
                        'face (todo-write-row-progress-face (plist-get summary :state)))
            width)
           'todo-write-child key 'mouse-face 'highlight
           'help-echo "RET, mouse-1: show this list")
          "\n"))

(defun todo-write-children--insert-rows (key paused width open depth)
  "Insert the lines of the items of the thread KEY, which may be PAUSED.
WIDTH, OPEN and DEPTH are as in `todo-write-children-insert'."
  (let* ((items (todo-write-items key))
         (shown (todo-write-row-excerpt items todo-write-children-rows))
         (hidden (- (length items) (length shown)))
         (indent (* depth todo-write-children--indent))
         (below (and (< depth todo-write-children--deepest)
                     (todo-write-children-by-item key))))
    (seq-doseq (item shown)
      (let ((id (plist-get item :id)))
        (todo-write-row-insert item (todo-write-row-kind item paused)
                               (todo-write--spent key id) width indent)
        (todo-write-children-insert (cdr (assoc id below)) width open (1+ depth))))
    (when (> hidden 0)
      (insert (propertize (format "%s%d more\n" (make-string (+ indent 3) ?\s) hidden)
                          'face 'todo-write-detail)))))

(provide 'todo-write-detail)
;;; todo-write-detail.el ends here
