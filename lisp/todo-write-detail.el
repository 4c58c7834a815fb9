;;; todo-write-detail.el --- What an open row shows  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The lines below a row that RET has opened.  They come from the functions in
;; `todo-write-detail-functions'; the lists of subagents follow them.

;;; Code:

(require 'todo-write)
(require 'todo-write-row)

(defcustom todo-write-detail-functions '(todo-write-detail-item todo-write-detail-story)
  "Functions that give the lines below an open row, in this order.
Each is called with THREAD and ITEM (a plist) and returns a list of
strings, one a paragraph, or nil.  The lines of a paragraph after its
first are indented by the columns that its text property
`todo-write-hang' says; one with the property `todo-write-cut' is cut
to a line."
  :type 'hook
  :group 'todo-write)

(defcustom todo-write-detail-limit 20
  "Events that an open row shows at most, the newest."
  :type 'natnum
  :group 'todo-write)

(defcustom todo-write-detail-length 400
  "Characters of a thought or of a tool's result that an open row shows at most."
  :type 'natnum
  :group 'todo-write)

(defface todo-write-thought '((t :inherit (italic todo-write-detail)))
  "Face of what the agent thought."
  :group 'todo-write-faces)

(defface todo-write-tool '((t :inherit font-lock-function-name-face))
  "Face of the names of tools that the agent called."
  :group 'todo-write-faces)

(defface todo-write-failed '((t :inherit error))
  "Face of what went wrong."
  :group 'todo-write-faces)

(defconst todo-write-detail-events '("THOUGHTS" "TOOL_CALL" "TOOL_EXECUTION" "ERROR")
  "Types of the observations that an open row shows.")

;;; Paragraphs

(defvar todo-write-detail--shown nil
  "The text of the row above, or nil if the row may be cut.")

(defun todo-write-detail-string (thread item width)
  "Return the lines below the open row of ITEM of THREAD, filled to WIDTH."
  (with-temp-buffer
    (let ((text (todo-write-row-text item (todo-write-row-kind item))))
      (setq-local todo-write-detail--shown
                  ;; The shape and a time of some hours take 15 columns.
                  (and (<= (todo-write-row-width text) (- width 15)) text)))
    (dolist (function todo-write-detail-functions)
      (dolist (paragraph (condition-case-unless-debug err
                             (funcall function thread item)
                           (error (list (format-message "`%s' failed: %s" function
                                                        (error-message-string err))))))
        (todo-write-detail--insert paragraph (max 30 width))))
    ;; Appended, so that faces already there have precedence.
    (add-face-text-property (point-min) (point-max) 'todo-write-detail t)
    (buffer-string)))

(defun todo-write-detail--insert (paragraph width)
  "Insert PARAGRAPH, filled to WIDTH, below the text of its row."
  (let ((start (point))
        (fill-column width)
        (adaptive-fill-mode nil)
        (sentence-end-double-space nil)
        (fill-prefix (make-string
                      (+ 5 (or (and (< 0 (length paragraph))
                                    (get-text-property 0 'todo-write-hang paragraph))
                               0))
                      ?\s)))
    (when (text-property-any 0 (length paragraph) 'todo-write-cut t paragraph)
      (setq paragraph (todo-write-row-truncate paragraph (- width 5))))
    (insert "     " paragraph "\n")
    (when (> (string-width paragraph) (- width 5))
      (fill-region-as-paragraph start (point) nil t)
      (todo-write-detail--break-lines start width))))

(defun todo-write-detail--break-lines (start width)
  "Break lines from START that are wider than WIDTH and have no space."
  (let ((end (point-marker)))
    (goto-char start)
    (while (< (point) end)
      (if (<= (move-to-column width) width)
          (unless (eolp) (insert "\n" fill-prefix))
        (backward-char)
        (insert "\n" fill-prefix))
      (when (eolp) (forward-line)))
    (goto-char end)
    (set-marker end nil)))

;;; The task

(defun todo-write-detail-item (thread item)
  "Return the facts about ITEM of THREAD, a list of strings.
These are its full text and active form, if the row does not show them,
its priority, its owner, what it waits for and its times."
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
  "Return the time of day of MILLISECONDS since the epoch; the date if it is old."
  (let ((time (/ milliseconds 1000)))
    (format-time-string (if (time-less-p (time-since time) 43200) "%T" "%F %R") time)))

;;; Its story

(defun todo-write-detail-story (thread item)
  "Return what happened to ITEM of THREAD and during it, a list of strings.
Its changes, and the thoughts and tool calls while it was in progress,
each with its time, the oldest first."
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
                    (if (> hidden 0) (nthcdr hidden entries) entries)))))

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
  "Return what CHANGE, a plist, did to an item of THREAD, as a list of strings."
  (let* ((item (plist-get change :item))
         (previous (plist-get change :previousItem)))
    (pcase (plist-get change :type)
      ("added" (list (concat (todo-write-detail--mark 'added 'todo-write-completed-shape)
                             "added " (todo-write-detail-shape item t))))
      ("removed" (list (concat (todo-write-detail--mark 'minus 'todo-write-removed-shape)
                               "dropped")))
      ("reordered" (list (format "%smoved from %d to %d"
                                 (todo-write-detail--mark 'moved 'todo-write-time)
                                 (1+ (plist-get change :previousPosition))
                                 (1+ (plist-get change :position)))))
      (_ (delq nil
               (append (mapcar (lambda (key)
                                 (todo-write-detail--text-change key previous item))
                               '(:content :activeForm :priority :owner))
                       (unless (equal (plist-get item :blockedBy)
                                      (plist-get previous :blockedBy))
                         (list (concat (todo-write-detail--mark 'modified 'todo-write-paused)
                                       "after: "
                                       (or (todo-write-detail--blockers thread item) "none"))))
                       (unless (equal (plist-get item :status) (plist-get previous :status))
                         (list (concat (todo-write-detail-shape previous) " "
                                       (todo-write-row-shape 'arrow) " "
                                       (todo-write-detail-shape item t))))))))))

(defun todo-write-detail--mark (kind face)
  "Return the shape of KIND in FACE and a space."
  (concat (propertize (todo-write-row-shape kind) 'face face) " "))

(defun todo-write-detail-shape (item &optional status)
  "Return the shape of ITEM, with its status in words if STATUS is non-nil."
  (let ((kind (todo-write-row-kind item)))
    (concat (propertize (todo-write-row-shape kind) 'face (todo-write-row-shape-face kind))
            (and status (concat " " (string-replace "_" " " (plist-get item :status)))))))

(defun todo-write-detail--text-change (key previous item)
  "Return how the field KEY changed from PREVIOUS to ITEM, or nil.
Most renames change the active form along with the content, so a change
of it is shown only if the content stayed."
  (let ((old (todo-write-row-plain (or (plist-get previous key) "")))
        (new (todo-write-row-plain (or (plist-get item key) "")))
        (mark (todo-write-detail--mark 'modified 'todo-write-paused)))
    (unless (or (equal old new)
                (and (eq key :activeForm)
                     (not (equal (plist-get previous :content) (plist-get item :content)))))
      (if (memq key '(:priority :owner))
          (format "%s%s %s" mark (substring (symbol-name key) 1)
                  (if (string-empty-p new) "none" new))
        (concat mark (and (eq key :activeForm) "while at it: ")
                (todo-write-words-string (todo-write-words-diff old new)
                                         '(same removed added)))))))

;;; Thoughts and tools

(defun todo-write-detail--events (thread id)
  "Return what was recorded while the item ID of THREAD was in progress.
A list of (TIME . TEXT)."
  (cl-loop with project = (plist-get (todo-write-about thread) :project)
           for type in todo-write-detail-events
           append (seq-map (lambda (observation)
                             (cons (plist-get observation :timestamp)
                                   (todo-write-detail--event type observation project)))
                           (todo-write-observations thread :step id :type type
                                                    :limit todo-write-detail-limit))))

(defun todo-write-detail--event (type observation project)
  "Return OBSERVATION, which is of TYPE and from PROJECT, as a string."
  (let* ((content (plist-get observation :content))
         (name (and (consp content) (plist-get content :name)))
         (text (todo-write-detail-text content project))
         (long (> (length text) todo-write-detail-length))
         (text (concat (todo-write-row-line
                        (if long (substring text 0 todo-write-detail-length) text))
                       (and long (todo-write-row-shape 'ellipsis))))
         (duration (plist-get (plist-get observation :metadata) :durationMs))
         (failed (or (equal type "ERROR")
                     (and (consp content) (eq t (plist-get content :isError))))))
    (pcase type
      ("THOUGHTS" (concat (todo-write-row-shape 'thought) " "
                          (propertize text 'face 'todo-write-thought)))
      ("TOOL_CALL"
       (propertize
        (string-join (delq nil (list (todo-write-row-shape 'tool)
                                     (and (stringp name)
                                          (propertize (todo-write-row-plain name)
                                                      'face 'todo-write-tool))
                                     (unless (string-empty-p text) text)))
                     " ")
        'todo-write-cut t))
      (_ (concat (if failed
                     (propertize (todo-write-row-shape 'removed) 'face 'todo-write-failed)
                   (todo-write-row-shape 'result))
                 " "
                 (when (and (equal type "TOOL_EXECUTION")
                            (numberp duration) (>= duration 100))
                   (propertize (format "%.1fs " (/ duration 1000.0)) 'face 'todo-write-time))
                 (if failed (propertize text 'face 'todo-write-failed) text))))))

(defun todo-write-detail-text (content project)
  "Return the text of CONTENT, of an observation in PROJECT.
Of a tool call that is the argument that matters most."
  (cond ((stringp content) content)
        ((not (consp content)) (if content (format "%s" content) ""))
        ((seq-find #'stringp (mapcar (lambda (key) (plist-get content key))
                                     '(:text :content :message))))
        ((plist-get content :input)
         (todo-write-detail--argument (plist-get content :input) project))
        ((plist-get content :name) "")
        (t (todo-write-to-json content))))

(defun todo-write-detail-input (input)
  "Return INPUT, the arguments of a tool call, decoded if it is JSON text."
  (or (and (stringp input)
           (ignore-errors (json-parse-string input :null-object nil :false-object nil)))
      input))

(defun todo-write-detail--argument (input project)
  "Return what matters most of INPUT, the arguments of a tool call in PROJECT.
That is the first of the usual arguments that it has, else its first
short string, else all of it."
  (let* ((decoded (todo-write-detail-input input))
         (fields (todo-write--json-fields decoded))
         (name (seq-find (lambda (name) (todo-write-detail--words (cdr (assoc name fields))))
                         '("command" "cmd" "file_path" "notebook_path" "path" "pattern"
                           "query" "url" "description" "prompt")))
         (text (todo-write-detail--words (cdr (assoc name fields)))))
    (cond ((member name '("file_path" "notebook_path" "path"))
           ;; The name is the agent's: no handler of remote files gets it.
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
  "Return VALUE, an argument, if it is text, or words to be joined; else nil."
  (cond ((stringp value) (unless (string-blank-p value) value))
        ((and (vectorp value) (seq-every-p #'stringp value))
         (unless (seq-empty-p value) (string-join value " ")))))

(defun todo-write-detail--range (offset limit)
  "Return which lines of a file are LIMIT lines from line OFFSET on."
  (let ((first (if (natnump offset) offset 1)))
    (cond ((natnump limit) (format ":%d-%d" first (+ first limit -1)))
          ((natnump offset) (format ":%d-" first))
          (t ""))))

;;; Lists of subagents

;; The list of a subagent shows below the task it works on; see
;; `todo-write-begin'.  Once it is completed, one line remains unless the row is
;; open.

(defcustom todo-write-children-rows 10
  "Tasks of a subagent shown at most below the task that it works on."
  :type 'natnum
  :group 'todo-write)

(defconst todo-write-children--deepest 3
  "Subagents of subagents are shown to this depth.")

(defconst todo-write-children--indent 4
  "Columns by which a list stands to the right of its task.")

(defun todo-write-children-by-item (thread)
  "Return the threads that work for THREAD, as an alist by item.
Each element is (ITEM-ID . KEYS).  Threads whose item is not in the list
stand under nil."
  (let (by-item)
    (pcase-dolist (`(,key . ,id) (todo-write-children thread))
      (push key (alist-get (and id (todo-write-item thread id) id) by-item
                           nil nil #'equal)))
    (dolist (entry by-item by-item)
      (setcdr entry (nreverse (cdr entry))))))

(defun todo-write-children-ancestors (thread)
  "Return whom THREAD works for: a list of (KEY . ITEM-ID), the nearest first."
  (cl-loop repeat todo-write-children--deepest
           for parent = (todo-write-parent thread)
           while parent
           collect parent
           do (setq thread (car parent))))

(defun todo-write-children-insert (keys width &optional open depth)
  "Insert the lists of the threads KEYS as lines of WIDTH columns.
OPEN non-nil shows all of those that are done, too.  DEPTH is how far
down the lists stand, from 1."
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
  (let ((start (point)))
    (insert (todo-write-row-fit
             (concat (make-string (* depth todo-write-children--indent) ?\s)
                     (propertize (todo-write-row-shape 'child) 'face 'todo-write-detail)
                     " "
                     (propertize (todo-write-row-plain (or (plist-get summary :title) key))
                                 'face 'todo-write-child))
             (propertize (todo-write-row-progress summary)
                         'face (todo-write-row-progress-face (plist-get summary :state)))
             width))
    (add-text-properties start (point)
                         '(mouse-face highlight help-echo "RET, mouse-1: show this list"))
    (put-text-property start (point) 'todo-write-child key)
    (insert "\n")))

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
                               (todo-write-spent key id) width indent)
        (todo-write-children-insert (cdr (assoc id below)) width open (1+ depth))))
    (when (> hidden 0)
      (insert (propertize (format "%s%d more\n" (make-string (+ indent 3) ?\s) hidden)
                          'face 'todo-write-detail)))))

(provide 'todo-write-detail)
;;; todo-write-detail.el ends here
