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

(defconst todo-write-story-events
  '("MESSAGE" "THOUGHTS" "TOOL_CALL" "TOOL_EXECUTION" "ERROR" "STATE_UPDATE")
  "Types of the observations that become entries.")

(defconst todo-write-story--plan-tools
  (concat "\\`\\(?:mcp__.*__\\)?" (regexp-opt todo-write-calls-plan-tools) "\\'")
  "Regexp of the names of tools that only change the plan.")

(defconst todo-write-story--edit-tools
  '("Edit" "MultiEdit" "Write" "NotebookEdit" "apply_patch" "edit" "write" "replace" "write_file")
  "Names of tools that change files.")

(cl-defstruct (todo-write-story-entry (:constructor todo-write-story--make-entry) (:copier nil))
  "An entry of a story.
KEY is a string that names it as long as the thread lives.  KIND is
`asked', `said', `thought', `command', `edit', `call', `error', `wait',
`git', `change' or `task'.  TIME is in milliseconds.  TEXT is a line, or a
function that returns it; see `todo-write-story-line'.  CALL and RESULT
are the observations of the call and of its result, or nil.  URL is the
address of the page that the entry is about, or nil.  What happened to a
task in a turn has SHAPE, that of a row; PART, an id as in
`todo-write-work'; and END, a function that returns the end of its line."
  key kind time text call result url shape part end)

(defun todo-write-story-line (entry)
  "Return the text of ENTRY, a line.
It is made when it is needed: of hundreds of entries, few are shown."
  (let ((text (todo-write-story-entry-text entry)))
    (if (stringp text) text
      (setf (todo-write-story-entry-text entry) (funcall text)))))

;;; Entries

(defun todo-write-story-entries (thread id &optional newest)
  "Return the entries of ID of THREAD, oldest first.
ID is that of an item, (turn . N), or nil for all that was said and done.
NEWEST non-nil means only those of the newest so many observations."
  (let* ((project (plist-get (todo-write-about thread) :project))
         (entries (todo-write-story--entries-of
                   (append (apply #'todo-write-observations thread :limit newest
                                  :types todo-write-story-events
                                  (cond ((stringp id) (list :step id))
                                        (id (list :turn (cdr id)))))
                           nil)
                   project)))
    ;; The sort is stable.  Within a millisecond, the beginning of a task comes
    ;; before the events during it, and its end after them.
    (let ((changes (cond ((stringp id)
                          ;; That it was added, begun and completed in order stands in the sums.
                          (cl-loop for (time . text) in (todo-write-detail-changes thread id)
                                   for number from 1
                                   collect (todo-write-story--make-entry
                                            :key (format "%s/%d" id number)
                                            :kind 'change :time time :text text)))
                         (id (todo-write-story-tasks thread (cdr id) newest)))))
      (sort (append (seq-take changes 1) entries (seq-drop changes 1))
            (lambda (a b) (< (todo-write-story-entry-time a)
                             (todo-write-story-entry-time b)))))))

(defun todo-write-story--entries-of (observations project)
  "Return the entries of OBSERVATIONS of an agent in PROJECT."
  (let ((calls (make-hash-table :test #'equal))
        entries)
    (dolist (observation observations)
      (let ((entry (todo-write-story--read observation calls project)))
        (when entry
          (push entry entries)))
      (cl-loop for (text . url) in (todo-write-detail-git observation)
               for number from 1
               for call = (gethash (plist-get (plist-get observation :metadata) :callId) calls)
               do (push (todo-write-story--make-entry
                         :key (format "%s/git%d" (plist-get observation :id) number)
                         :kind 'git :time (plist-get observation :timestamp) :text text :url url
                         :call (and call (todo-write-story-entry-call call)) :result observation)
                        entries)))
    (todo-write-story--merge (nreverse entries))))

(defun todo-write-story--merge (entries)
  "Return ENTRIES with one in place of successive thoughts that continue it.
Codex repeats what it thought before each further thought."
  (let (merged)
    (dolist (entry entries (nreverse merged))
      (let ((last (car merged)))
        (if (and last
                 (eq 'thought (todo-write-story-entry-kind last))
                 (eq 'thought (todo-write-story-entry-kind entry))
                 (string-prefix-p (todo-write-story-line last) (todo-write-story-line entry)))
            (setf (todo-write-story-entry-text last) (todo-write-story-line entry)
                  (todo-write-story-entry-call last) (todo-write-story-entry-call entry))
          (push entry merged))))))

(defun todo-write-story--read (observation calls project)
  "Return OBSERVATION of an agent in PROJECT as a new entry, or nil.
CALLS is a hash table from the ids of calls to their entries; the result
of a call becomes part of the entry of the call."
  (let* ((type (plist-get observation :type))
         (content (plist-get observation :content))
         (fields (and (consp content) content))
         (metadata (plist-get observation :metadata))
         (call-id (or (plist-get metadata :callId) (plist-get fields :id)))
         (entry (and call-id (gethash call-id calls))))
    (cond
     ((and (member type '("TOOL_CALL" "TOOL_EXECUTION"))
           (string-match-p todo-write-story--plan-tools
                           (todo-write-json-string (plist-get fields :name))))
      nil)
     ((equal type "STATE_UPDATE")
      (if-let* ((request (plist-get fields :request))
                ;; Hosts may have requests of other kinds.
                ((and (consp request) (numberp (plist-get request :since)))))
          (todo-write-story--wait observation request)
        (when (stringp (plist-get fields :text))
          (todo-write-story--make-entry
           :key (plist-get observation :id) :kind 'change
           :time (plist-get observation :timestamp)
           :text (todo-write-text-line
                  (concat (plist-get fields :text) (todo-write-detail-told observation))
                  400)))))
     ((and entry (equal type "TOOL_EXECUTION"))
      (setf (todo-write-story-entry-result entry) observation)
      (when-let* (((memq (todo-write-story-entry-kind entry) '(call edit)))
                  (files (todo-write-story-files entry)))
        (setf (todo-write-story-entry-kind entry) 'edit
              (todo-write-story-entry-text entry) (todo-write-story--files-text files project)))
      nil)
     ;; Of a subagent's calls, the sums count here; its own story has them.
     ((and (equal type "TOOL_EXECUTION") (plist-get metadata :agent)
           (null (plist-get metadata :files)))
      nil)
     (t
      (setq entry (todo-write-story--make observation type fields project))
      (when call-id (puthash call-id entry calls))
      entry))))

(defun todo-write-story--make (observation type fields project)
  "Return an entry of OBSERVATION of TYPE, whose content has FIELDS.
File names are relative to PROJECT."
  (let* ((name (todo-write-json-string (plist-get fields :name)))
         (files (append (plist-get (plist-get observation :metadata) :files) nil))
         (kind (pcase type
                 ("INTENT" 'asked)
                 ("MESSAGE" 'said)
                 ("THOUGHTS" 'thought)
                 ("ERROR" 'error)
                 ((guard (or files (member name todo-write-story--edit-tools))) 'edit)
                 ((guard (todo-write-core-call todo-write-dyn--runs-commands-p name)) 'command)
                 (_ 'call))))
    (todo-write-story--make-entry
     :key (plist-get observation :id)
     :kind kind
     :time (plist-get observation :timestamp)
     :text (lambda ()
             (let ((text (if files (todo-write-story--files-text files project)
                           (todo-write-story-text (plist-get observation :content) project)))
                   (excluded (todo-write-story-excluded observation " (" ")")))
               (pcase kind
                 ((and 'call (guard (not (equal name ""))))
                  (todo-write-text-line (concat name " " text excluded) 400))
                 ('command (todo-write-text-command (concat text excluded) 400))
                 ((or 'said 'thought)
                  (todo-write-text-unmark (todo-write-text-line (concat text excluded) 400)))
                 (_ (todo-write-text-line (concat text excluded) 400)))))
     :call (unless (equal type "TOOL_EXECUTION") observation)
     :result (when (equal type "TOOL_EXECUTION") observation))))

(defun todo-write-story-excluded (observation &optional before after)
  "Return that not all of OBSERVATION is recorded, between BEFORE and AFTER.
Return nil if it is."
  (let ((metadata (plist-get observation :metadata)))
    (when (plist-get metadata :hidden)
      (concat before "not recorded"
              (when-let* ((name (plist-get metadata :excluded))) (concat ": names " name))
              after))))

(defun todo-write-story--wait (observation request)
  "Return an entry for the wait for REQUEST, the content of OBSERVATION."
  (let ((since (truncate (plist-get request :since)))
        (text (plist-get request :text)))
    (todo-write-story--make-entry
     :key (plist-get observation :id)
     :kind 'wait
     :time since
     :text (todo-write-text-line
            (format "waited %s, %s%s: %s"
                    (todo-write-text-duration
                     (max 0 (truncate (- (plist-get observation :timestamp) since))))
                    (pcase (plist-get request :outcome)
                      ("allowed" "you allowed it")
                      ("always" "you always allow it")
                      ("denied" "you denied it")
                      ("answered" "you answered")
                      (_ "answered elsewhere or withdrawn"))
                    (if (todo-write-json-filled text) (format " (%s)" text) "")
                    (todo-write-json-string (plist-get request :title)))
            400)
     :call observation)))

(defun todo-write-story--files-text (files project)
  "Return the names of FILES, a list of plists, relative to PROJECT, as a line."
  (let ((path (todo-write-text-line
               (todo-write-detail-relative (plist-get (car files) :path) project))))
    (if (cdr files) (format "%s and %d more" path (length (cdr files))) path)))

(defun todo-write-story-files (entry)
  "Return the files that the call of ENTRY changed, a list of plists."
  (unless (eq 'git (todo-write-story-entry-kind entry))
    (append (plist-get (plist-get (todo-write-story-entry-result entry) :metadata) :files) nil)))

(defun todo-write-story-outcome (entry)
  "Return the outcome of the call of ENTRY, a symbol, or nil if it has none."
  (let* ((result (todo-write-story-entry-result entry))
         (outcome (plist-get (plist-get result :metadata) :outcome)))
    (cond ((eq (todo-write-story-entry-kind entry) 'error) 'failed)
          (outcome (intern-soft outcome))
          ((null result) nil)
          ((eq t (plist-get (plist-get result :content) :isError)) 'failed)
          (t 'ok))))

(defun todo-write-story-output (entry)
  "Return what the call of ENTRY returned, a string, or nil."
  (let* ((result (todo-write-story-entry-result entry))
         (content (plist-get result :content))
         (output (if (consp content)
                     (or (plist-get content :content) (plist-get content :text)
                         (plist-get content :result))
                   content)))
    (if (stringp output) output (todo-write-story-excluded result))))

;;; Texts

(defun todo-write-story-text (content project)
  "Return the text of CONTENT, of an observation in PROJECT.
For a tool call, that is its most telling argument."
  (cond ((stringp content) content)
        ((not (consp content)) (if content (format "%s" content) ""))
        ((seq-find #'stringp (mapcar (lambda (key) (plist-get content key))
                                     '(:text :content :message :title))))
        ((and (plist-get content :input) (not (numberp (plist-get content :input))))
         (todo-write-story--argument (plist-get content :input) project))
        ((plist-get content :name) "")
        (t (string-join
            (cl-loop for (key value) on content by #'cddr
                     for text = (cond ((stringp value) value)
                                      ((numberp value) (number-to-string value))
                                      ((eq value t) "yes")
                                      ((vectorp value) (format "%d" (length value)))
                                      ;; A task, or a request.
                                      ((consp value)
                                       (seq-find #'stringp (list (plist-get value :content)
                                                                 (plist-get value :title)))))
                     when text collect (concat (substring (symbol-name key) 1) ": " text))
            ", "))))

(defun todo-write-story--argument (input project)
  "Return the most telling part of INPUT, the arguments of a call in PROJECT.
That is the first of the usual arguments, else the first short string,
else all of INPUT."
  (let* ((decoded (todo-write-json-parsed input))
         (fields (todo-write-json-fields decoded))
         (name (seq-find (lambda (name) (todo-write-story--words (cdr (assoc name fields))))
                         '("command" "cmd" "file_path" "notebook_path" "path" "pattern"
                           "query" "url" "description" "prompt" "input" "code" "chars")))
         (text (todo-write-story--words (cdr (assoc name fields)))))
    (cond ((member name '("file_path" "notebook_path" "path"))
           (concat (todo-write-detail-relative text project)
                   (let* ((offset (cdr (assoc "offset" fields)))
                          (limit (cdr (assoc "limit" fields)))
                          (first (if (natnump offset) offset 1)))
                     (cond ((natnump limit) (format ":%d-%d" first (+ first limit -1)))
                           ((natnump offset) (format ":%d-" first))))))
          (text)
          ((seq-find (lambda (value) (and (stringp value) (< 0 (length value) 100)))
                     (mapcar #'cdr fields)))
          ((not (or fields (equal decoded input))) "")
          ((let ((parts (cl-loop for (name . value) in fields
                                 when (or (numberp value) (todo-write-json-filled value))
                                 collect (format "%s: %s" name value))))
             (and parts (string-join parts ", "))))
          ((stringp input) input)
          (t (format "%S" input)))))

(defun todo-write-story--words (value)
  "Return VALUE, an argument, if it is text or a vector of words, else nil."
  (cond ((stringp value) (todo-write-json-filled value))
        ((and (vectorp value) (seq-every-p #'stringp value))
         (unless (seq-empty-p value) (string-join value " ")))))

;;; Lines

(defconst todo-write-story--head 14
  "Columns before the text of an entry: indentation, time and shape.")

(defconst todo-write-story--end 11
  "Columns of the duration or the lines of an entry.")

(defun todo-write-story-insert (thread id width &optional cut)
  "Insert the story of item ID of THREAD as lines of WIDTH columns.
Unless the earlier entries are open, only the last `todo-write-story-limit'
are shown, and those from the first of `todo-write-story-read' on.
CUT non-nil means that the heading of a turn shows its line in part."
  (let* ((earlier (member (cons 'earlier id) todo-write-row-open))
         ;; The turn that runs is drawn with each event, and may have a thousand.
         (newest (and (consp id) (not earlier) (* 4 todo-write-story-limit)))
         (entries (todo-write-story-entries thread id newest))
         (prompt (and (consp id) (todo-write-story-prompt thread (cdr id))))
         (read (cl-loop for (part . key) in todo-write-story-read
                        when (and (equal part id)
                                  ;; It is no entry of the list.
                                  (not (and prompt
                                            (equal key (todo-write-story-entry-key prompt)))))
                        collect key))
         (is-read (lambda (entry) (member (todo-write-story-entry-key entry) read)))
         (entries (if (and read newest (not (seq-some is-read entries)))
                      (todo-write-story-entries thread id)
                    entries))
         (hidden (if earlier 0
                   (min (max 0 (- (length entries) todo-write-story-limit))
                        (or (and read (cl-position-if is-read entries)) most-positive-fixnum))))
         (shown (nthcdr hidden entries))
         (room (- width todo-write-story--head todo-write-story--end))
         ;; The reasons of failures need some room to the right.
         (room (max 10 (if (and (> room 40) (seq-some #'todo-write-story--reason shown))
                           (max (round (* room 0.55)) (- room 64))
                         room)))
         day)
    (when-let* ((content (and prompt
                              (plist-get (todo-write-story-entry-call prompt) :content)))
                ;; The heading shows one line.
                ((or cut (string-search
                          "\n" (todo-write-text-trim (todo-write-story-text content nil))))))
      (todo-write-story--insert-entries thread (list prompt) width width
                                        (todo-write-story--date prompt)))
    (setq day (todo-write-detail-insert-sums thread id width))
    (when (> hidden 0)
      (insert (todo-write-row-button (propertize (if newest "     Earlier"
                                                   (format "     %d earlier" hidden))
                                                 'face 'todo-write-detail)
                                     'todo-write-part "RET, mouse-1: show them"
                                     'todo-write-toggle (cons 'earlier id))
              "\n"))
    (todo-write-story--insert-entries
     thread shown width room
     ;; The heading of a turn has the date.
     (if (consp id) (and entries (todo-write-story--date (car entries))) day))))

(defun todo-write-story-running (thread)
  "Return the text of the newest call of THREAD's agent without a result, or nil.
Nothing was said after it."
  (cl-loop with ended = nil
           for observation across (reverse (todo-write-observations
                                            thread :limit 20
                                            :types '("TOOL_CALL" "TOOL_EXECUTION" "MESSAGE")))
           for id = (plist-get (plist-get observation :metadata) :callId)
           for type = (plist-get observation :type)
           until (equal type "MESSAGE")
           if (equal type "TOOL_EXECUTION") do (push id ended)
           else unless (and id (member id ended))
           return (when-let* ((entry (car (todo-write-story--entries-of
                                           (list observation)
                                           (plist-get (todo-write-about thread) :project)))))
                    (todo-write-story-line entry))))

(defun todo-write-story-prompt (thread number)
  "Return the prompt of the turn NUMBER of THREAD as an entry, or nil."
  (let ((prompts (todo-write-observations thread :types '("INTENT") :turn number :limit 1)))
    (car (todo-write-story--entries-of (append prompts nil) nil))))

(defun todo-write-story--date (entry)
  "Return the date of ENTRY."
  (format-time-string "%F" (/ (todo-write-story-entry-time entry) 1000)))

(defun todo-write-story--insert-entries (thread entries width room day)
  "Insert ENTRIES of THREAD as lines of WIDTH columns, with ROOM for their texts.
DAY is the date that is above them, nil for today."
  (dolist (entry entries)
    (let ((date (todo-write-story--date entry))
          (start (point)))
      (unless (equal date (or day (format-time-string "%F")))
        (insert (propertize (concat "     " date "\n") 'face 'todo-write-time))
        (setq start (point)))
      (setq day date)
      (todo-write-story--insert-entry entry width room)
      (when (member (todo-write-story-entry-key entry) todo-write-row-open)
        (if-let* ((part (todo-write-story-entry-part entry)))
            (todo-write-detail-insert-sums thread part width)
          (todo-write-story--insert-whole entry width (get-text-property start 'button)))))))

(defun todo-write-story--reason (entry)
  "Return the line that says why the call of ENTRY failed, or nil."
  (or (todo-write-detail-refusal (todo-write-story-entry-result entry))
      (when-let* ((output (and (memq (todo-write-story-outcome entry) '(failed refused))
                               (todo-write-story-output entry)))
                  (line (todo-write-detail-failure output)))
        (todo-write-text-line line 200))))

(defun todo-write-story--mark (entry)
  "Return the shape and the face of ENTRY, and its outcome in words, a list."
  (pcase (cons (todo-write-story-entry-kind entry) (todo-write-story-outcome entry))
    (`(asked . ,_) '(nil nil "what you asked"))
    (`(said . ,_) '(nil nil "said"))
    (`(thought . ,_) '(thought todo-write-thought "thought"))
    (`(wait . ,_) '(paused todo-write-paused "waited for you"))
    (`(change . ,_) '(nil nil "the plan changed"))
    (`(git . ,_) '(git todo-write-moved "in Git"))
    (`(task . ,_) (let ((shape (todo-write-story-entry-shape entry)))
                    (list shape (todo-write-row-shape-face shape)
                          (pcase shape
                            ('completed "completed") ('removed "left the list") (_ "began")))))
    (`(,_ . refused) '(refused todo-write-failed "refused, so it never ran"))
    (`(,_ . failed) '(removed todo-write-failed "failed"))
    (`(edit . ,_) '(edit todo-write-moved "changed"))
    (`(,_ . ok) '(completed todo-write-completed-shape "succeeded"))
    (`(,_ . background) '(tool todo-write-time "runs in the background"))
    (_ '(tool todo-write-time "outcome unknown"))))

(defun todo-write-story--insert-entry (entry width room)
  "Insert ENTRY as a line of WIDTH columns, with ROOM for its text."
  (pcase-let* ((`(,shape ,face ,words) (todo-write-story--mark entry))
               (whole (memq (todo-write-story-entry-kind entry)
                            '(asked said thought change wait git)))
               (least (+ todo-write-story--head todo-write-story--end 10))
               (right (if (or whole (< width least)) ""
                        (todo-write-story--right entry)))
               ;; In a wide window, figures stand near a text that leaves them room.
               (near (- (todo-write-row-near-width width)
                        todo-write-story--head todo-write-story--end))
               (line (todo-write-story-line entry))
               (room (if (and (< near room) (length< line near)
                              (< (todo-write-text-width line) (- near 15)))
                         near
                       room))
               (end (+ todo-write-story--head room todo-write-story--end))
               (reason (unless whole (todo-write-story--reason entry)))
               (beside (and reason (> (- width end 3) 8)))
               (text (todo-write-story--shown-text
                      entry (cond (whole (- width todo-write-story--head (if shape 0 -2)))
                                  (beside room)
                                  ;; Nothing else stands in this line.
                                  ((string-empty-p right) (- width todo-write-story--head))
                                  (t (- end todo-write-story--head
                                        (todo-write-text-width right) 2)))))
               (result (todo-write-story-entry-result entry))
               (code (plist-get (plist-get result :metadata) :exitCode))
               (start (point)))
    (insert (apply #'todo-write-row-align
                   (propertize (format-time-string "     %R  "
                                                   (/ (todo-write-story-entry-time entry) 1000))
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
    (todo-write-row-make-button start (point) 'todo-write-entry
                                (todo-write-text-help
                                 (concat line "\n" words
                                         (and code (not (eql code 0))
                                              (format ", exit code %s" code))
                                         (mapconcat (lambda (remark) (concat ", " remark))
                                                    (todo-write-detail-remarks result) "")
                                         (and reason (concat ": " reason))))
                                'todo-write-entry entry
                                'todo-write-key (todo-write-story-entry-key entry)
                                'todo-write-toggle (todo-write-story-entry-key entry))))

(defun todo-write-story--shown-text (entry width)
  "Return the text of ENTRY in its face, cut to WIDTH columns."
  (let ((text (todo-write-story-line entry))
        (kind (todo-write-story-entry-kind entry)))
    (pcase kind
      ((or 'asked 'said)
       (propertize (concat (todo-write-text-shape 'quote)
                           (todo-write-text-truncate text (- width 2))
                           (todo-write-text-shape 'unquote))
                   'face (if (eq kind 'said) 'default 'todo-write-prompt)))
      ('thought (propertize (todo-write-text-truncate text width) 'face 'todo-write-thought))
      ('edit (todo-write-text-truncate-start text width))
      (_ (todo-write-text-truncate text width)))))

(defun todo-write-story--right (entry)
  "Return the end of the line of ENTRY: lines changed, or how long it took."
  (let* ((files (todo-write-story-files entry))
         (call (or (todo-write-story-entry-result entry) (todo-write-story-entry-call entry)))
         (duration (plist-get (plist-get call :metadata) :durationMs)))
    (or (cond ((todo-write-story-entry-end entry) (funcall (todo-write-story-entry-end entry)))
              (files
               (cl-flet ((sum (key)
                           (apply #'+ (mapcar (lambda (file) (plist-get file key)) files))))
                 (todo-write-row-lines (sum :added) (sum :removed) t)))
              ((and (numberp duration) (>= duration 1000))
               (propertize (todo-write-text-duration (truncate duration)) 'face 'todo-write-time)))
        "")))

(defun todo-write-story--insert-whole (entry width button)
  "Insert all of ENTRY, its call, patches and output, in lines of WIDTH columns.
It belongs to BUTTON, the value of that property in the line of ENTRY."
  (let* ((start (point))
         (is-code (eq (todo-write-story-entry-kind entry) 'edit))
         (call (todo-write-story-entry-call entry))
         (content (if (eq (todo-write-story-entry-kind entry) 'wait)
                      (todo-write-story-line entry)
                    (plist-get call :content)))
         (texts (delq nil (append
                           (list (and call (todo-write-story-text content nil)))
                           (mapcar (lambda (file) (plist-get file :patch))
                                   (todo-write-story-files entry))
                           (when-let* ((remarks (todo-write-detail-remarks
                                                 (todo-write-story-entry-result entry))))
                             (list (string-join remarks ", ")))
                           ;; What an edit returns repeats what it changed.
                           (when (or (null (todo-write-story-files entry))
                                     (eq (todo-write-story-entry-kind entry) 'command))
                             (list (todo-write-story-output entry)))))))
    (dolist (text texts)
      (dolist (line (split-string (todo-write-text-trim-end (todo-write-text-plain-lines text))
                                  "\n"))
        (todo-write-detail-insert-filled line width todo-write-story--head is-code)))
    (todo-write-row-make-button start (point) 'todo-write-entry nil
                                'todo-write-entry entry
                                'todo-write-key (todo-write-story-entry-key entry)
                                'todo-write-toggle (todo-write-story-entry-key entry)
                                'face 'todo-write-detail)
    ;; Pressing it is pressing the line; moving stops only there.
    (put-text-property start (point) 'button button)))

;;; Turns

(defun todo-write-story-headings (thread most)
  "Return the newest MOST turns of THREAD, as (COUNT . HEADINGS).
COUNT is the number of all turns, and HEADINGS a list of plists, newest
first; see `todo-write-dyn--turn-headings'."
  (todo-write-core-call todo-write-dyn--turn-headings thread most))

(defun todo-write-story-all-headings (thread)
  "Return the headings of all turns of THREAD, oldest first."
  (reverse (cdr (todo-write-story-headings thread most-positive-fixnum))))

(defun todo-write-story-heading-at (headings time)
  "Return that of HEADINGS whose turn was at TIME, in milliseconds.
HEADINGS is as from `todo-write-story-all-headings'.  Before the first
turn, that is the first one.  Return nil if there are no headings."
  (or (car (last (seq-take-while (lambda (heading) (<= (plist-get heading :began) time))
                                 headings)))
      (car headings)))

(defun todo-write-story-heading-name (heading &optional width)
  "Return the prompt of HEADING in quotes, a line, or nil if it has none.
It has at most WIDTH columns, by default 60."
  (when-let* ((prompt (plist-get heading :prompt)))
    (concat (todo-write-text-shape 'quote) (todo-write-text-line prompt (or width 60))
            (todo-write-text-shape 'unquote))))

(defun todo-write-story-tasks (thread number &optional newest)
  "Return entries of the tasks of THREAD in its turn NUMBER, oldest first.
A task began, was completed, or left the list unfinished, perhaps before
it began.  NEWEST non-nil means only those of the newest so many tasks and
lists."
  (let* ((count (car (todo-write-story-headings thread 0)))
         ;; That turn comes last, after the one that followed it.
         (headings (reverse (cdr (todo-write-story-headings thread (max 0 (- count number -1))))))
         (turn (car headings))
         (next (cadr headings))
         (ids (plist-get turn :items))
         events)
    (cl-flet ((within-p (revision)
                (let ((time (plist-get revision :timestamp)))
                  (and (or (= number 1) (<= (plist-get turn :began) time))
                       (or (null next) (< time (plist-get next :began))))))
              (add (&rest event) (push event events)))
      (dolist (id (if newest (last ids newest) ids))
        (pcase-dolist (`(,revision . ,changes) (todo-write-item-changes thread id))
          (when (within-p revision)
            (seq-doseq (change changes)
              (let* ((item (plist-get change :item))
                     (previous (plist-get change :previousItem))
                     (status (plist-get item :status)))
                (cond ((and previous (null item)
                            (not (equal (plist-get previous :status) "completed")))
                       (add previous 'removed revision))
                      ((and item (not (equal status (plist-get previous :status)))
                            (not (equal status "pending")))
                       (add item (intern status) revision))))))))
      ;; Unfinished tasks without an event of their own, whose list another one replaced.
      (let* ((lists (todo-write-core-call todo-write-dyn--earlier-lists thread))
             (revisions (and lists (todo-write-revisions thread)))
             (replaced
              (cl-loop for revision in revisions
                       for list = (and (within-p revision)
                                       (rassq (1- (plist-get revision :revision)) lists))
                       when list collect (cons revision list))))
        (pcase-dolist (`(,revision . ,list) (if newest (last replaced newest) replaced))
          (dolist (item (append (todo-write-core-call todo-write-dyn--earlier-items
                                  thread (car list) (cdr list))
                                nil))
            (unless (or (equal (plist-get item :status) "completed")
                        (member (plist-get item :id) ids))
              (add item 'removed revision))))))
    (mapcar
     (pcase-lambda (`(,item ,kind ,revision))
       (let ((time (plist-get revision :timestamp))
             (part (cons (plist-get item :id) number)))
         (todo-write-story--make-entry
          :key (format "%d/%s/%s/%d" number (car part) kind time)
          :kind 'task :time time :shape kind :part part
          :text (todo-write-text-line (plist-get item :content) 400)
          :end (lambda ()
                 (if (eq kind 'removed)
                     (propertize (todo-write-detail-departure thread (car part))
                                 'face 'todo-write-time)
                   (when-let* ((work (and (eq kind 'completed) (todo-write-work thread part))))
                     (todo-write-row-lines (plist-get work :added) (plist-get work :removed)
                                           t)))))))
     ;; A millisecond may have several lists.
     (seq-sort-by (lambda (event) (plist-get (nth 2 event) :revision)) #'< (nreverse events)))))

(provide 'todo-write-story)
;;; todo-write-story.el ends here
