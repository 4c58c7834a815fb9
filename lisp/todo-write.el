;;; todo-write.el --- The todo_write tool of coding agents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; Author: The todo-write authors
;; Assisted-by: Claude
;; Version: 0.3.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, convenience
;; URL: https://example.org/todo-write
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Coding agents plan with one tool, `todo_write': on every call they pass
;; their whole task list.  This library validates each call, recognizes which
;; task is which, reports what changed, keeps every list, and merges your own
;; edits.  The Rust module `todo-write-dyn' does the work.
;;
;; To see a plan:              M-x todo-write-show
;; To see it in the mode line: M-x todo-write-mode-line-mode
;; To let agents write one:    see the hosts in the manual

;;; Code:

(require 'todo-write-machines)
(require 'todo-write-plan)

;; Requests need nothing else of this package, and most sessions have none.
(autoload 'todo-write-request "todo-write-request")
(autoload 'todo-write-requests "todo-write-request")
(autoload 'todo-write-withdraw "todo-write-request")
(autoload 'todo-write-answer-request "todo-write-request")

;; Hosts set it in an agent's buffer, whether or not the view is loaded.
(defvar-local todo-write-view-thread nil
  "Key of the thread that this buffer shows, or nil.")

;;; Writing and editing

(defun todo-write (thread input &optional source unanswered)
  "Replace the list of THREAD by INPUT, an agent's whole list.
THREAD is a string, the key of the agent's conversation.  INPUT is the
argument of the tool `todo_write': JSON text, or a hash table, plist or
alist with the key \"todos\".  SOURCE names the host.  UNANSWERED non-nil
means that the host cannot give the result to the agent: then the agent
is not told of your edits.

The value is an outcome, a plist:
  :ok        t if accepted, nil if refused
  :revision  number of the newest revision
  :result    text for the model, one or a few lines
  :changes   what changed, a plist :timestamp :changes as from
             `todo-write-diff', or nil
  :notices   list of strings: what was repaired
  :errors    list of plists :path :received :expected, if refused
  :forced    ids that `todo-write-keep-completed' kept completed
  :state     the new state of THREAD, see `todo-write-state'
  :warnings  list of strings: warnings for the user, for example that
             the journal cannot be written
  :summary   the new summary of THREAD, see `todo-write-summary'

Do not modify the outcome: its tasks are those of earlier outcomes.
A refused write leaves the list as it is and does not signal.  Signal
`todo-write-input-error' if THREAD is not a string, and
`todo-write-panic' for a bug in the module."
  (todo-write-plan-write thread input source unanswered nil))

(cl-defun todo-write-begin (thread &rest properties
                                   &key project agent parent parent-item
                                   &allow-other-keys)
  "Begin THREAD, or load it, and return its key.
The first write does so, too; PROPERTIES set what it cannot know:
PROJECT, the root of the project, by default the current one; AGENT, the
name of the program, by default the beginning of the key; for a subagent
PARENT, the key of the thread that it works for, and PARENT-ITEM, the id
of the item that it works on.  Its list is shown under that item.
All are strings; signal `todo-write-input-error' for anything else.  Of a
thread that exists, none is set.

\(fn THREAD &key PROJECT AGENT PARENT PARENT-ITEM)"
  (cl-loop for (key . value) on properties by #'cddr
           unless (and value (memq key '(:project :agent :parent :parent-item)))
           do (todo-write-core-wrong
               "properties" key ":project, :agent, :parent or :parent-item and a string"))
  (when (stringp project)
    (setq project (todo-write-core-plain
                   ;; Expanding could open a connection.
                   (if (todo-write-machines-of project) project (expand-file-name project))))
    (unless (string-suffix-p "/" project)
      (setq project (concat project "/"))))
  (todo-write-events-open thread
                          (append (and project (list :project project))
                                  (and agent (list :agent agent))
                                  (and parent (list :parent parent))
                                  (and parent-item (list :parentItem parent-item))))
  thread)

(defun todo-write-edit (thread operation &rest args)
  "Make one change to the list of THREAD for the user.
OPERATION and ARGS are one of (positions count from 0):
  `add' CONTENT &optional POSITION
  `rename' ID CONTENT
  `status' ID STATUS
  `move' ID POSITION
  `delete' ID
  `restore' ID, which brings back a task that left the list
A task that you add or restore is yours: it stays until you delete it, or
the agent completes or cancels it.  The change is merged with the agent's
next write, whose result names it.  The value is an outcome; see
`todo-write'.  Signal `todo-write-input-error' for a wrong argument and an
unknown ID."
  (todo-write-core-configure)
  (let ((inhibit-quit t))
    (todo-write-plan-publish
     thread (todo-write-core-call todo-write-dyn--edit thread (cons operation args)))))

(defun todo-write-undo (thread)
  "Undo the last change of THREAD's list, by the agent or the user.
Further calls go back further.  The restored list is a new revision, and
counts as an edit by the user.  The value is an outcome; see
`todo-write'.  Signal `todo-write-error' if there is nothing to undo."
  (todo-write-core-configure)
  (let ((inhibit-quit t))
    (todo-write-plan-publish thread (todo-write-core-call todo-write-dyn--undo thread))))

(defun todo-write-pause (thread &optional reason)
  "Pause THREAD for REASON, a string; return its state.
Its item in progress shows as paused, and its time stops.  The agent's
next write resumes it."
  (todo-write--set-paused thread (or reason "paused")))

(defun todo-write-resume (thread)
  "Resume THREAD; return its state."
  (todo-write--set-paused thread nil))

(defun todo-write--set-paused (thread reason)
  "Pause THREAD for REASON, or resume it if that is nil."
  (todo-write-core-configure)
  (let ((inhibit-quit t))
    (todo-write-events-publish-activity
     (todo-write-core-call todo-write-dyn--pause thread reason))
    (todo-write-state thread)))

;;; Activity

;;;###autoload
(defun todo-write-set-activity (thread activity &optional reason inferred)
  "Set the activity of the agent of THREAD to ACTIVITY.
THREAD is a key; it need not have a list.  ACTIVITY is one of:
  `working'  a turn runs; a paused THREAD resumes
  `waiting'  the agent waits for the user, REASON says for what
  `failed'   its turn ended with an error, which REASON names
  nil        it is idle
REASON is a string of one line, or nil.  Time in progress runs only while
the agent works; if a host never calls this, it runs until THREAD is
paused.

Non-nil INFERRED means that the host guesses or, if ACTIVITY is nil, that
it cannot tell.  A guess is shown, but it neither stops nor starts time.

While a request of THREAD is open, see `todo-write-request', the agent
waits for that: `working' and `waiting' take effect afterwards, and the
others withdraw the request.  If the agent's process says what it does,
as it does where its session is followed, that counts first.

Callers must report the end of a turn even after an error; see
`todo-write-end-turn'.
Signal `todo-write-input-error' for another ACTIVITY or REASON."
  (unless (memq activity '(working waiting failed nil))
    (todo-write-core-wrong "activity" activity "working, waiting, failed or nil"))
  (todo-write-core-configure)
  (let ((inhibit-quit t))
    (todo-write-events-publish-activity
     (todo-write-core-call todo-write-dyn--set-activity
       thread activity reason inferred))))

;;;###autoload
(defun todo-write-end-turn (thread &optional reason failed ending)
  "End the turn of THREAD's agent.
If tasks are open, THREAD is paused for REASON, a string, by
default \"end of turn\"; the next turn or write resumes it.  The agent is
idle then or, if FAILED is non-nil, failed because of it.

ENDING says how it ended, as in `todo-write-summary'; the default is
`error' if FAILED is non-nil, else `end-of-turn'.  The first ending of a
turn counts, but that the agent was killed always does."
  (todo-write-core-configure)
  (let ((inhibit-quit t))
    (todo-write-events-publish-activity
     (todo-write-core-call todo-write-dyn--end-turn thread reason failed ending))))

;;; Reading

(defun todo-write-items (thread &optional revision)
  "Return the list of THREAD as a vector of plists.
Each has :id :content :status :activeForm, all strings; :priority, a
string, if the agent sent one; :addedBy, \"user\", if you added or
restored it; and :untold, t if the agent was not told of it.  Some hosts
add :owner, a string, and :blockedBy, a list of the ids of the tasks that
must be completed first.  With REVISION, a number, return the list at
that revision; signal `todo-write-input-error' if there is no such
revision.  An unknown thread has an empty list."
  (todo-write-core-call todo-write-dyn--items thread revision))

(defun todo-write-item (thread id)
  "Return the item ID of THREAD as in `todo-write-items', or nil."
  (todo-write-core-call todo-write-dyn--item thread id))

(defun todo-write-times (thread &optional id)
  "Return the times of item ID of THREAD as a plist, or nil.
Its keys are:
  :created :started :completed  milliseconds since the epoch, or nil
  :spent      milliseconds in progress until now
  :running    since when it is in progress and THREAD not paused, milliseconds
              since the epoch, or nil
  :intervals  list of the newest 500 finished intervals (FROM . TO),
              milliseconds
Without ID, return those of all items of the list, in list order, as an
alist of (ID . TIMES)."
  (let ((times (todo-write-core-call todo-write-dyn--times thread id)))
    (if id (cdar times) times)))

(defun todo-write-items-removed (thread)
  "Return the items of THREAD that were started and then removed from the list.
The value is a list of plists as in `todo-write-items', as of their
removal, oldest removal first."
  (todo-write-core-call todo-write-dyn--items-removed thread))

(defun todo-write-items-dropped (thread)
  "Return the unfinished items that the agent of THREAD dropped.
The value is a list of plists as in `todo-write-items', as of their
removal, oldest removal first.  Items that are back are not in it.  A list
without any item of the one before begins a new count."
  (todo-write-core-call todo-write-dyn--items-dropped thread))

(defun todo-write-state (thread)
  "Return the state of THREAD, a symbol.
`active' if a task is open, `done' if all are completed, `paused' if the
agent was interrupted, `empty' if there is no list."
  (todo-write-core-call todo-write-dyn--state thread))

(defun todo-write-summary (thread)
  "Return a summary of THREAD without its list, as a plist.
The keys are:
  :state      as from `todo-write-state'
  :total :completed  numbers of items
  :yours      number of your open tasks that the agent cannot be told of,
              which :total does not count
  :count      text with these numbers, as in 2/4 or 5/5 + 1 yours
  :current    the item in progress, as in `todo-write-items', or nil
  :title      what the agent works on, a string or nil
  :prompt     the first line of the first prompt, or nil
  :revision   number of the newest revision
  :unsaved    t if its journal cannot be written, as on a full disk
  :reason     why it is paused, a string or nil
  :refused    what was wrong with the agent's last list, a string; nil
              if that was accepted
  :ending     how its agent ended, if its host knows: `end-of-turn';
              `session-ended', its process exited; `killed'; `denied',
              the user denied a permission; `error'
  :goal       as from `todo-write-goal'
  :context    how full its agent's context is, in percent, or nil
  :contextTokens  the number of tokens in it, or nil
  :cost       what its agent says that the session cost, a string such as
              0.35 USD, or nil"
  (todo-write-core-call todo-write-dyn--summary thread))

(defun todo-write-goal (thread)
  "Return the goal that the user gave the agent of THREAD, a plist, or nil.
An agent with a goal goes on by itself until it is met.  The keys are:
  :text    the goal
  :state   `active', `met', `failed' (the agent gave it up) or `paused'
  :reason  why it is in that state, or not met yet, a string or nil
  :tries   how often the agent wanted to end; 0 if that is not known"
  (plist-get (todo-write-summary thread) :goal))

(defun todo-write-current-thread (&optional folder)
  "Return the key of the thread written last, or nil.
If the absolute name FOLDER is in a project that has threads in memory,
consider only those.  Threads whose agent has ended come last, and those
of subagents are ignored."
  ;; Modes call this when they are enabled, which must not load the module.
  (when (featurep 'todo-write-dyn)
    (todo-write-core-call todo-write-dyn--current
      (if (stringp folder) (todo-write-core-plain folder) folder))))

(defun todo-write-threads ()
  "Return the keys of all threads, also of earlier sessions, newest first."
  (let ((kept (mapcar (lambda (kept) (plist-get kept :key))
                      (todo-write-threads-kept))))
    (append (seq-difference (sort (todo-write-threads-loaded) #'string<) kept)
            kept)))

(defun todo-write-threads-loaded ()
  "Return the keys of the threads in memory, in no order."
  (when (featurep 'todo-write-dyn)
    (todo-write-core-call todo-write-dyn--loaded)))

(defun todo-write-parent (thread)
  "Return the thread that the subagent of THREAD works for, or nil.
The value is a cons (KEY . ITEM-ID), where ITEM-ID may be nil; see
`todo-write-begin'."
  (todo-write-core-call todo-write-dyn--parent thread))

(defun todo-write-children (thread)
  "Return the threads of subagents that work for THREAD.
The value is a list of (KEY . ITEM-ID), where ITEM-ID may be nil; see
`todo-write-begin'."
  (todo-write-core-call todo-write-dyn--children thread))

(defun todo-write-about (thread)
  "Return what THREAD was begun with, as a plist; see `todo-write-begin'.
Its keys are :project, :agent and, for a subagent, :parent and :parentItem;
:unattended, t for a session that no user sees; :unseen, t if you have not
seen its result, and :refused, the number of its refused calls that you
have not seen; and what its key says, :machine, :program, :session and
:subagent, each absent if it is not known."
  (todo-write-core-call todo-write-dyn--about thread))

(defun todo-write-revisions (thread)
  "Return the revisions of THREAD, oldest first, as a list of plists.
Their keys are:
  :revision   its number, from 1
  :timestamp  milliseconds since the epoch
  :author     \"agent\" or \"user\"
  :source     name of the host, or nil
  :operation  \"write\", \"add\", \"rename\", \"status\", \"move\",
              \"delete\", \"restore\" or \"undo\"
  :restores   after undo, the revision whose list this one has
  :replaces   t if it begins a list without any task of the agent's
              list before, else absent"
  (todo-write-core-call todo-write-dyn--revisions thread))

;;; Work

(defun todo-write-work (thread &optional id)
  "Return what the agent of THREAD did while item ID was in progress.
ID is the id of an item, `outside' for all that was done while no item
was in progress, or nil for the whole THREAD; or (turn . N) for the N-th
of `todo-write-turns', from 1 on, and (ID . N) for a part of that turn.
The value is nil if nothing is known, else a plist:
  :files      list of plists :path :added :removed :edits :created
              :deleted :byCommand (t if a command made some of its
              changes), in order of the first change
  :moreFiles  t if more files were changed, of which nothing else is
              known
  :added :removed  numbers of lines
  :edits      number of edits
  :commands   plist :run :failed :refused :background :unknown, numbers;
              :run counts all but the refused ones
  :refused    number of calls that were refused, commands or not; absent
              if none
  :responses  number of responses of the model
  :tokens     plist :input :output :cacheRead :cacheWrite, numbers, and
              :atLeast, t if the output is a lower bound; nil if the host
              does not tell tokens
  :models     list of the names of models
  :shared     t if other tasks were in progress, too, which have the
              same work: never add such figures up
  :sharedWith the most of them at a time, a number; absent if none"
  (todo-write-core-call todo-write-dyn--work thread id))

(defun todo-write-turns (thread)
  "Return the turns of THREAD, oldest first, a list of plists.
A turn is the agent's work from one prompt of the user to the next:
  :prompt   the text of the prompt, perhaps only its beginning; nil for
            what lies before the first one
  :said     the beginning of what the agent said first, if the prompt is
            short, such as \"go on\"; else nil
  :began :ended  the times of the prompt and of the newest event, in
            milliseconds since the epoch
  :ending   how it ended: `end-of-turn', `denied', `error', `killed' or
            `session-ended'; nil while it runs, or if that is not known
  :items    ids of the items that were in progress or completed in it, of
            whichever list
  :commits  the commits made in it, a list of plists :id :title
  :work     what was done in it, as from `todo-write-work', or nil
The work of a subagent belongs to the turn that sent it out."
  (todo-write-core-call todo-write-dyn--turns thread))

(defun todo-write-matches (thread text limit)
  "Return the newest LIMIT places of THREAD that have all words of TEXT.
They are tasks, and what the agent or its user said and ran; case does
not count.  The value is a list of plists, newest first:
  :timestamp  milliseconds since the epoch
  :type       that of the observation, such as \"MESSAGE\"; nil for a task
  :line       the line with most of the words, a string
  :item       the id of its task, or nil
Signal `todo-write-input-error' if TEXT is blank, and
`todo-write-journal-error' if a part of the journal cannot be read.  The
thread is read from its journal and not loaded."
  (pcase-let ((`(,found . ,unreadable)
               (todo-write-core-call todo-write-dyn--search (or thread "") text limit)))
    (when unreadable
      (signal 'todo-write-journal-error (list (string-join unreadable "\n"))))
    found))

(defun todo-write-patch (thread &optional id path)
  "Return the recorded changes of THREAD as one unified diff, a string.
Successive edits follow one another, oldest first.  ID is as in
`todo-write-work'; PATH limits the value to one file, by its absolute
name.  See `todo-write-record-patches'."
  (mapconcat #'cdr (todo-write-core-call todo-write-dyn--patches thread id path) ""))

(defun todo-write-new (thread &optional id path)
  "Return what the agent of THREAD changed that was not reviewed yet.
ID is as in `todo-write-work', and PATH limits the value to one file, by
its absolute name.  The value is a plist as from `todo-write-work', of
which only :files, :added, :removed and :edits count, or nil if nothing
is new.  A change, one file in one event, is new until its file is
reviewed up to that event or a later one."
  (todo-write-core-call todo-write-dyn--new-work thread id path))

(defun todo-write-review-patch (thread &optional id path)
  "Return the new changes of THREAD as one net unified diff, a string.
ID and PATH are as in `todo-write-new'.  Each file has one diff: its new
changes are taken back from the file as it is on disk now, and the
result is compared with the file.  Where they cannot be taken back
exactly, the patches of the file stand one after the other, after a line
that begins with \"# Not composed\" and says why.  The value is \"\" if
nothing is new, or if all of it cancels out.  Signal
`todo-write-journal-error' if the journal cannot be read."
  (mapconcat (lambda (file) (plist-get file :patch))
             (todo-write-plan-review-files thread id path) ""))

(defun todo-write-mark-reviewed (thread &optional id path)
  "Mark the files of the new changes of THREAD as reviewed.
ID and PATH are as in `todo-write-new'.  Each file is reviewed up to the
last change that is meant.  Return the number of the new changes."
  (todo-write--mark thread id path t))

(defun todo-write-mark-new (thread &optional id path)
  "Mark the reviewed changes of THREAD as new again; return their number.
ID and PATH are as in `todo-write-new'.  Later changes of their files are
new again, too."
  (todo-write--mark thread id path nil))

(defun todo-write--mark (thread id path reviewed)
  "Mark what ID and PATH mean in THREAD as REVIEWED or new; count the others."
  (todo-write-core-configure)
  (let* ((inhibit-quit t)
         (count (todo-write-core-call todo-write-dyn--mark-changes thread id path reviewed)))
    (when (> count 0)
      (todo-write-events-dispatch thread 'change))
    count))

(defun todo-write-item-changes (thread id)
  "Return the changes of item ID of THREAD, oldest first.
The value is a list of (REVISION . CHANGES), one for each revision that
changed the item: a plist as from `todo-write-revisions', and a list of
change plists as from `todo-write-diff'."
  (todo-write-core-call todo-write-dyn--item-changes thread id))

(defun todo-write-changes-between (thread a b)
  "Return what changed in THREAD from revision A to revision B.
The value is a single set of changes, as from `todo-write-diff'.
Revision 0 is the empty list.  Signal `todo-write-input-error' if there
is no such revision."
  (todo-write-core-call todo-write-dyn--changes-between thread a b))

;;; Lists as data

(defun todo-write-diff (previous current)
  "Return what changed from the list PREVIOUS to the list CURRENT.
Both are vectors or lists of items, or nil for an empty list.  Items
are plists, alists or hash tables.  They may have any fields, which are
compared deeply, except `updatedTimestamp'.  If every item of both lists has an
id, items are matched by id, otherwise by text.

The value is a plist:
  :timestamp  milliseconds since the epoch
  :changes    vector of all changes, in the order of CURRENT, removals last
  :added :modified :removed :statusChanged :reordered
              vectors of the changes of that type
  :warnings   a string for each item whose `dependencies' name an item
              of PREVIOUS that is gone
A change is a plist: :type (\"added\", \"modified\", \"removed\",
\"status_changed\" or \"reordered\"), :itemId, :timestamp, and where they
apply :item, :previousItem, :fields (names of the fields that differ),
:position and :previousPosition (from 0), and :cancelled (t if an agent
removed the task by cancelling it).

Signal `todo-write-input-error' if PREVIOUS or CURRENT is not a list of
items, or has the same id twice."
  (todo-write-core-call todo-write-dyn--diff previous current))

(defun todo-write-apply-changes (list changes)
  "Return LIST with CHANGES applied, as a vector of plists.
CHANGES is the value of `todo-write-diff' for LIST and another list, which
the value equals.  Signal `todo-write-input-error' if CHANGES has another
form, changes an item that is not in LIST, or adds one that is."
  (todo-write-core-call todo-write-dyn--apply-changes list changes))

(defun todo-write-to-json (value)
  "Return VALUE as JSON text in the wire form, with camelCase keys.
VALUE is an outcome, a changes plist, an observation, a stream event, or
the value of `todo-write-work' or `todo-write-patch'."
  (todo-write-core-call todo-write-dyn--to-json value))

(defun todo-write-tool-schema ()
  "Return the definition of the tool `todo_write' for a model.
It is an alist with name, description and input_schema that
`json-serialize' takes."
  (let ((tool (json-parse-string (todo-write-core-call todo-write-dyn--tool)
                                 :object-type 'alist)))
    `(,(assq 'name tool) ,(assq 'description tool)
      (input_schema . ,(alist-get 'inputSchema tool)))))

(defun todo-write-tool-arguments ()
  "Return the arguments of the tool `todo_write' as `gptel-make-tool' takes them."
  (cl-loop for (name . property)
           in (alist-get 'properties (alist-get 'input_schema (todo-write-tool-schema)))
           collect `(:name ,(symbol-name name) ,@(todo-write-json-plist property))))

;;; Keeping and forgetting

(defun todo-write-forget (thread)
  "Forget THREAD: its list, its history and its journal.
THREAD may be a list of threads.  Signal `todo-write-journal-error' if a
journal cannot be deleted.  As a command of the overview, forget that at
point or all in the active region, after a question."
  (interactive (list (todo-write-list-to-forget)) todo-write-list-mode)
  (if (and (consp thread) (proper-list-p thread) (seq-every-p #'stringp thread))
      (mapc #'todo-write-forget thread)
    (todo-write-core-configure)
    (let ((inhibit-quit t))
      (remhash thread todo-write-core-token-runs)
      (todo-write-core-call todo-write-dyn--forget thread)
      (todo-write-events-dispatch thread 'forgotten))))

(defun todo-write-prune ()
  "Delete journals older than `todo-write-journal-days'; return their number.
This is also done once per session, at the first use of the package."
  (todo-write-core-call todo-write-dyn--prune todo-write-journal-days))

(defun todo-write-restore (&optional thread)
  "Load THREAD from its journal; return its key, or nil if it has none.
THREAD defaults to the newest thread of the current project."
  (let ((key (or thread (todo-write-plan-newest-of-project))))
    (unless (or (null key) (stringp key))
      (todo-write-core-wrong "thread" key "a string"))
    (when (and key (todo-write-core-call todo-write-dyn--exists key))
      ;; The journal has the project; no remote folder is asked for the current one.
      (let ((default-directory "~/"))
        (todo-write-events-open key))
      key)))

;;; Agents

;; They are tracked while the hook has functions.
(add-variable-watcher 'todo-write-agent-functions #'todo-write-agent-watch)

(provide 'todo-write)

;; An init file may have added one before.
(when todo-write-agent-functions
  (todo-write-agent-watch 'todo-write-agent-functions todo-write-agent-functions))
;;; todo-write.el ends here
