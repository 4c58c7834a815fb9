;;; todo-write-story.el --- What an agent did for a task  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The story of a task, shown below its open row: a summary of the work, the files
;; that changed, and a line for each thing that the agent said, ran or changed.  A
;; call and its result are one entry.  todo-write-visit.el acts on the entries.  Here is also
;; what the headings of turns say, and which tasks began and ended in a turn.

;;; Code:

(require 'todo-write-calls)
(require 'todo-write-detail)

(defconst todo-write-story-limit 40
  "Number of entries that an open row shows, the newest.
A line above them opens the earlier ones.")

(defvar todo-write-story-read nil
  "The entries that the user reads, as (ID . KEY); what comes after them is shown.")

(defface todo-write-prompt '((t :inherit font-lock-keyword-face))
  "Face of what the user asked, the heading of what came of it."
  :group 'todo-write-faces)

;;; Entries

(defun todo-write-story-entries (thread id &optional newest)
  "Return the entries of ID of THREAD, oldest first.
ID is that of an item, (turn . N), or nil for all that was said and done.
NEWEST non-nil means only those of the newest so many observations.

An entry is a plist:
  :key      a string that names it as long as the thread lives
  :kind     `asked', `said', `thought', `command', `edit', `call', `error',
            `wait', `git', `change' or `task'
  :time     in milliseconds; :ended, if it has a result or is a wait
  :text     what it is about; see `todo-write-story-line'.  Non-nil :isFile
            means that this is the name of a file
  :tool, :outcome, :exitCode, :duration, :refusal  of a call; :output,
            what one that failed returned
  :files    what a call changed, a list of plists :path, :added, :removed,
            :byCommand and :line, the first that changed; :moreFiles and
            :othersWrote, as for `todo-write-observe'
  :hidden   t if not all is recorded, and :excluded, the name that is why
  :git      the operation; :buffer, that which a call made
  :answer, :note  what the user answered after a wait
  :telling  how far the agent was told of a comment
  :shape    that of a row, and :part, an id as in `todo-write-work', of a task
  :call, :result  the ids of its observations"
  (let ((entries (todo-write-core-call todo-write-dyn--story
                   thread (append (and newest (list :limit newest))
                                  (cond ((stringp id) (list :step id))
                                        (id (list :turn (cdr id)))))))
        ;; The sort is stable.  Within a millisecond, the beginning of a task comes
        ;; before the events during it, and its end after them.
        (changes (cond ((stringp id)
                        ;; That it was added, begun and completed in order stands in the sums.
                        (cl-loop for (time . text) in (todo-write-detail-changes thread id)
                                 for number from 1
                                 collect (list :key (format "%s/%d" id number)
                                               :kind 'change :time time :line text)))
                       (id (todo-write-story-tasks thread (cdr id) newest)))))
    (sort (append (seq-take changes 1) entries (seq-drop changes 1))
          (lambda (a b) (< (plist-get a :time) (plist-get b :time))))))

(defun todo-write-story-tasks (thread number &optional newest)
  "Return entries of the tasks of THREAD in its turn NUMBER, oldest first.
See `todo-write-dyn--story-tasks', also for NEWEST."
  (todo-write-core-call todo-write-dyn--story-tasks thread number newest))

(defun todo-write-story-whole (thread entry)
  "Return all of ENTRY of THREAD; see `todo-write-dyn--story-whole'."
  (todo-write-core-call todo-write-dyn--story-whole
    thread (plist-get entry :call) (plist-get entry :result)))

(defun todo-write-story-prompt (thread number)
  "Return the prompt of the turn NUMBER of THREAD as an entry, or nil."
  (car (todo-write-core-call todo-write-dyn--story
         thread (list :types '("INTENT") :turn number :limit 1))))

(defun todo-write-story-running (thread)
  "Return the text of the newest call of THREAD's agent without a result, or nil.
Nothing was said after it."
  (cl-loop for entry in (reverse
                         (todo-write-core-call todo-write-dyn--story
                           thread
                           '(:types ("TOOL_CALL" "TOOL_EXECUTION" "MESSAGE") :limit 20)))
           until (eq 'said (plist-get entry :kind))
           unless (plist-get entry :result)
           return (todo-write-story-line entry (plist-get (todo-write-about thread) :project))))

;;; Texts

(defun todo-write-story-line (entry project)
  "Return the text of ENTRY as a line; file names are relative to PROJECT."
  (let* ((kind (plist-get entry :kind))
         (files (and (eq kind 'edit) (plist-get entry :files)))
         (text (plist-get entry :text))
         (text (concat (if (plist-get entry :isFile) (todo-write-detail-relative text project) text)
                       (todo-write-story-excluded entry " (" ")"))))
    (cond ((plist-get entry :line))
          ((cdr files) (format "%s and %d more" (todo-write-story--file (car files) project)
                               (1- (length files))))
          (files (todo-write-story--file (car files) project))
          (t (pcase kind
               ('command (todo-write-text-command text 400))
               ((or 'said 'thought) (todo-write-text-unmark (todo-write-text-line text 400)))
               (_ (todo-write-text-line
                   (pcase kind
                     ('call (string-join (delq nil (list (plist-get entry :tool) text)) " "))
                     ('wait (todo-write-story--wait entry))
                     ('git (todo-write-detail-git (plist-get entry :git)))
                     ('change (concat text (pcase (plist-get entry :telling)
                                             ("told" " (told)")
                                             ("copied" " (copied)")
                                             ("untold" " (not told yet)"))))
                     (_ text))
                   400)))))))

(defun todo-write-story--file (file project)
  "Return the name of FILE, one of an entry's :files, relative to PROJECT."
  (todo-write-text-line (todo-write-detail-relative (plist-get file :path) project)))

(defun todo-write-story--wait (entry)
  "Return how long the agent waited for the user, and for what, as ENTRY says."
  (format "waited %s, %s%s: %s"
          (todo-write-text-duration (- (plist-get entry :ended) (plist-get entry :time)))
          (pcase (plist-get entry :answer)
            ("allowed" "you allowed it")
            ("always" "you always allow it")
            ("denied" "you denied it")
            ("answered" "you answered")
            (_ "answered elsewhere or withdrawn"))
          (if-let* ((note (plist-get entry :note))) (format " (%s)" note) "")
          (plist-get entry :text)))

(defun todo-write-story-excluded (entry &optional before after)
  "Return that not all of ENTRY is recorded, between BEFORE and AFTER.
Return nil if it is.  ENTRY may be the metadata of an observation."
  (when (plist-get entry :hidden)
    (concat before "not recorded"
            (when-let* ((name (plist-get entry :excluded))) (concat ": names " name))
            after)))

;;; Lines

(defconst todo-write-story--head 14
  "Columns before the text of an entry: indentation, time and shape.")

(defun todo-write-story-insert (thread id width)
  "Insert the story of item ID of THREAD as lines of WIDTH columns.
Unless the earlier entries are open, only the last `todo-write-story-limit'
are shown, and those from the first of `todo-write-story-read' on."
  (let* ((earlier (member (cons 'earlier id) todo-write-row-open))
         ;; The turn that runs is drawn with each event, and may have a thousand.
         (newest (and (consp id) (not earlier) (* 4 todo-write-story-limit)))
         (entries (todo-write-story-entries thread id newest))
         (prompt (and (consp id) (todo-write-story-prompt thread (cdr id))))
         (read (cl-loop for (part . key) in todo-write-story-read
                        when (and (equal part id)
                                  ;; It is no entry of the list.
                                  (not (and prompt
                                            (equal key (plist-get prompt :key)))))
                        collect key))
         (is-read (lambda (entry) (member (plist-get entry :key) read)))
         (entries (if (and read newest (not (seq-some is-read entries)))
                      (todo-write-story-entries thread id)
                    entries))
         (hidden (if earlier 0
                   (min (max 0 (- (length entries) todo-write-story-limit))
                        (or (and read (cl-position-if is-read entries)) most-positive-fixnum))))
         (shown (nthcdr hidden entries))
         ;; The reasons of failures need some room to the right.
         (end (and (> width 65) (seq-some #'todo-write-story--reason shown)
                   (max (round (* width 0.6)) (- width 64))))
         day)
    ;; The heading shows one line, and its figures may cut that.
    (when (and prompt
               (or (string-search "\n" (todo-write-text-trim (plist-get prompt :text)))
                   ;; Its figures leave a heading this many columns at least.
                   (> (todo-write-text-width (plist-get prompt :text)) (min 28 (/ width 2)))))
      (todo-write-story--insert-entries thread (list prompt) width nil
                                        (todo-write-story--date prompt)))
    (setq day (todo-write-detail-insert-sums thread id width))
    (when (> hidden 0)
      (insert (todo-write-row-button (propertize (if newest "     Earlier"
                                                   (format "     %d earlier" hidden))
                                                 'face 'todo-write-detail)
                                     "RET, mouse-1: show them"
                                     'todo-write-toggle (cons 'earlier id))
              "\n"))
    (todo-write-story--insert-entries
     thread shown width end
     ;; The heading of a turn has the date.
     (if (consp id) (and entries (todo-write-story--date (car entries))) day))))

(defun todo-write-story--date (entry)
  "Return the date of ENTRY."
  (format-time-string "%F" (/ (plist-get entry :time) 1000)))

(defun todo-write-story--insert-entries (thread entries width end day)
  "Insert ENTRIES of THREAD as lines of WIDTH columns below the date DAY, or today.
END is the column at which their figures end, nil for that of rows."
  (cl-loop
   with project = (plist-get (todo-write-about thread) :project)
   for entry in entries
   for date = (todo-write-story--date entry)
   for start = (point)
   do (unless (equal date (or day (format-time-string "%F")))
        (insert (propertize (concat "     " date "\n") 'face 'todo-write-time))
        (setq start (point)))
   do (setq day date)
   do (todo-write-story--insert-entry
       thread entry (todo-write-story-line entry project) width end)
   when (member (plist-get entry :key) todo-write-row-open)
   do (if-let* ((part (plist-get entry :part)))
          (todo-write-detail-insert-sums thread part width)
        (todo-write-story--insert-whole thread entry width (get-text-property start 'button)))))

(defun todo-write-story--reason (entry)
  "Return the line that says why the call of ENTRY failed, or nil."
  (or (todo-write-detail-refusal (plist-get entry :refusal))
      (when-let* ((output (or (plist-get entry :output)
                              (and (member (plist-get entry :outcome) '("failed" "refused"))
                                   (plist-get entry :result)
                                   (todo-write-story-excluded entry))))
                  (line (todo-write-detail-failure output)))
        (todo-write-text-line line 200))))

(defun todo-write-story--mark (entry)
  "Return the shape and the face of ENTRY, and its outcome in words, a list."
  (pcase (cons (plist-get entry :kind) (plist-get entry :outcome))
    (`(asked . ,_) '(nil nil "what you asked"))
    (`(said . ,_) '(nil nil "said"))
    (`(thought . ,_) '(thought todo-write-aside "thought"))
    (`(wait . ,_) '(paused todo-write-paused "waited for you"))
    (`(change . ,_) '(nil nil "the plan changed"))
    (`(git . ,_) '(git todo-write-moved "in Git"))
    (`(task . ,_) (let ((shape (intern (plist-get entry :shape))))
                    (list shape (todo-write-row-face shape t)
                          (pcase shape
                            ('completed "completed") ('removed "left the list") (_ "began")))))
    (`(,_ . "refused") '(refused todo-write-failed "refused, so it never ran"))
    (`(,_ . "failed") '(removed todo-write-failed "failed"))
    (`(edit . ,_) '(edit todo-write-moved "changed"))
    (`(,_ . "ok") '(completed todo-write-completed-shape "succeeded"))
    (`(,_ . "background") '(tool todo-write-time "runs in the background"))
    (_ '(tool todo-write-time "outcome unknown"))))

(defun todo-write-story--insert-entry (thread entry line width end)
  "Insert ENTRY of THREAD with the text LINE, WIDTH columns; figures end at END."
  (pcase-let* ((`(,shape ,face ,words) (todo-write-story--mark entry))
               (whole (memq (plist-get entry :kind)
                            '(asked said thought change wait git)))
               (right (if (or whole (< width 35)) "" (todo-write-story--right thread entry)))
               (end (or end (todo-write-row-near-width
                             width (+ todo-write-story--head (todo-write-text-width line)))))
               (reason (unless whole (todo-write-story--reason entry)))
               (beside (and reason (> (- width end 3) 8)))
               (text (todo-write-story--shown-text
                      (plist-get entry :kind) line
                      (- (cond (whole (+ width (if shape 0 2)))
                               ;; Nothing else stands in this line.
                               ((and (string-empty-p right) (not beside)) width)
                               (t (- end 2 (todo-write-text-width right))))
                         todo-write-story--head)))
               (code (plist-get entry :exitCode))
               (start (point)))
    (insert (apply #'todo-write-row-align
                   (propertize (format-time-string "     %R  "
                                                   (/ (plist-get entry :time) 1000))
                               'face 'todo-write-time)
                   (if shape (concat (propertize (todo-write-text-shape shape) 'face face) " ") "")
                   text
                   (append (unless (string-empty-p right)
                             (list (- end (todo-write-text-width right)) right))
                           (when beside
                             (list (+ end 3)
                                   (propertize (todo-write-text-truncate reason (- width end 3))
                                               'face 'todo-write-failed)))))
            "\n")
    (todo-write-row-make-button start (point)
                                (todo-write-text-help
                                 (concat line "\n" words
                                         (and code (not (eql code 0))
                                              (format ", exit code %s" code))
                                         (mapconcat (lambda (remark) (concat ", " remark))
                                                    (todo-write-detail-remarks entry) "")
                                         (and reason (concat ": " reason))))
                                'todo-write-entry entry
                                'todo-write-key (plist-get entry :key)
                                'todo-write-toggle (plist-get entry :key))))

(defun todo-write-story--shown-text (kind text width)
  "Return TEXT, that of an entry of KIND, in its face, cut to WIDTH columns."
  (pcase kind
    ((or 'asked 'said)
     (propertize (concat (todo-write-text-shape 'quote)
                         (todo-write-text-truncate text (- width 2))
                         (todo-write-text-shape 'unquote))
                 'face (if (eq kind 'said) 'default 'todo-write-prompt)))
    ('thought (propertize (todo-write-text-truncate text width) 'face 'todo-write-aside))
    ('edit (todo-write-text-truncate text width t))
    (_ (todo-write-text-truncate text width))))

(defun todo-write-story--right (thread entry)
  "Return the end of the line of ENTRY of THREAD: lines changed, or its duration."
  (pcase-let* ((part (plist-get entry :part))
               (files (plist-get entry :files))
               (duration (plist-get entry :duration))
               (work (and (equal (plist-get entry :shape) "completed")
                          (todo-write-work thread part)))
               (sums (and (or work files)
                          (mapcar (lambda (key)
                                    (apply #'+ (mapcar (lambda (one) (plist-get one key))
                                                       (if work (list work) files))))
                                  '(:added :removed)))))
    (or (cond ((equal (plist-get entry :shape) "removed")
               (propertize (todo-write-detail-departure thread (car part)) 'face 'todo-write-time))
              (sums (todo-write-row-lines (car sums) (cadr sums) t))
              ((and duration (>= duration 1000))
               (propertize (todo-write-text-duration duration) 'face 'todo-write-time)))
        "")))

(defun todo-write-story--insert-whole (thread entry width button)
  "Insert all of ENTRY of THREAD in lines of WIDTH columns that belong to BUTTON."
  (let* ((start (point))
         (kind (plist-get entry :kind))
         (whole (todo-write-story-whole thread entry))
         (remarks (todo-write-detail-remarks entry))
         (texts (delq nil (append
                           (list (if (eq kind 'wait) (todo-write-story-line entry nil)
                                   (plist-get whole :text)))
                           (mapcar #'cdr (plist-get whole :patches))
                           (and remarks (list (string-join remarks ", ")))
                           ;; What an edit returns repeats what it changed.
                           (when (or (null (plist-get entry :files)) (eq kind 'command))
                             (list (todo-write-story-output entry whole)))))))
    (dolist (text texts)
      (dolist (line (split-string (todo-write-text-trim-end (todo-write-text-plain-lines text))
                                  "\n"))
        (todo-write-detail-insert-filled line width todo-write-story--head (eq kind 'edit))))
    (todo-write-row-make-button start (point) nil
                                'todo-write-entry entry
                                'todo-write-key (plist-get entry :key)
                                'todo-write-toggle (plist-get entry :key)
                                'face 'todo-write-detail)
    ;; Pressing it is pressing the line; moving stops only there.
    (put-text-property start (point) 'button button)))

(defun todo-write-story-output (entry whole)
  "Return what the call of ENTRY returned, a string, or nil.
WHOLE is as from `todo-write-story-whole'."
  (or (plist-get whole :output)
      (and (plist-get entry :result) (todo-write-story-excluded entry))))

;;; Turns

(defun todo-write-story-headings (thread most)
  "Return the newest MOST turns of THREAD, as (COUNT . HEADINGS).
COUNT is the number of all turns, and HEADINGS a list of plists, newest
first; see `todo-write-dyn--turn-headings'."
  (todo-write-core-call todo-write-dyn--turn-headings thread most))

(defun todo-write-story-turn-at (thread time)
  "Return the number of the turn of THREAD at TIME, in milliseconds, or nil.
Before the first turn, that is the first one."
  (let ((headings (cdr (todo-write-story-headings thread most-positive-fixnum))))
    (plist-get (or (seq-find (lambda (heading) (<= (plist-get heading :began) time)) headings)
                   (car (last headings)))
               :turn)))

(defun todo-write-story-heading-name (heading &optional width)
  "Return the prompt of HEADING in quotes, a line, or nil if it has none.
It has at most WIDTH columns, by default 60."
  (when-let* ((prompt (plist-get heading :prompt)))
    (concat (todo-write-text-shape 'quote) (todo-write-text-line prompt (or width 60))
            (todo-write-text-shape 'unquote))))

(provide 'todo-write-story)
;;; todo-write-story.el ends here
