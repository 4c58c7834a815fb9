;;; todo-write-view-rows.el --- What stands in the buffer of a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The state of a plan's buffer, and the text of its parts: the header, a row with what is
;; below it, and what is below the rows.

;;; Code:

(require 'ewoc)
(require 'todo-write)
(require 'todo-write-children)
(require 'todo-write-detail)
(require 'todo-write-footer)
(require 'todo-write-hands)
(require 'todo-write-json)
(require 'todo-write-page)
(require 'todo-write-place)
(require 'todo-write-machines)
(require 'todo-write-row)
(require 'todo-write-story)
(require 'todo-write-text)
(require 'todo-write-turns)
(require 'todo-write-welcome)

;;; State

(defvar-local todo-write-view-rows-running nil
  "Ids of the tasks in progress.")

(defvar-local todo-write-view-rows-open nil
  "Ids of the rows that show their detail, and what is open below the rows.
See `todo-write-footer'.")

(defvar-local todo-write-view-rows-whole nil
  "Keys of the entries that are shown in full.")

(defvar-local todo-write-view-rows-earlier nil
  "Ids of the rows that show their earlier entries, too.")

(defvar-local todo-write-view-rows-ran nil
  "The number of the turn that was drawn last as running, or nil.")

(defvar todo-write-view-rows-in-use nil
  "While a plan is drawn, non-nil if the user reads the turn that ran.")

(defvar-local todo-write-view-rows-ghosts nil
  "Ids of dropped tasks, whose rows the next change removes.")

(defvar-local todo-write-view-rows-dropped nil
  "The tasks that the agent dropped; see `todo-write-items-dropped'.")

(defvar-local todo-write-view-rows-cleared nil
  "The completed tasks that left the list; see `todo-write-plan-items-cleared'.")

(defvar-local todo-write-view-rows-lists nil
  "The earlier lists; see `todo-write-plan-earlier-lists'.")

(defvar-local todo-write-view-rows-turns nil
  "The turns that the plan shows; see `todo-write-footer-headings'.")

(defvar-local todo-write-view-rows--work nil
  "What the header shows of the work; see `todo-write-plan-header-work'.")

(defvar-local todo-write-view-rows-unseen nil
  "What was not reviewed; see `todo-write-plan-unseen'.")

(defvar-local todo-write-view-rows--row-work nil
  "What the rows show of the work of their tasks.
It is a list like that of `todo-write-plan-row-work', and then of (ID) for
what was not reviewed.")

(defvar-local todo-write-view-rows--message nil
  "The newest thing that the agent said, a string, or nil.")

(defvar-local todo-write-view-rows-header nil
  "What the header shows, or nil before it is drawn.
A list (SUMMARY WIDTH WORK AGENT TITLE).")

(defvar-local todo-write-view-rows-host nil
  "Text that names the machine of the agent, or nil for this one.")

(defvar-local todo-write-view-rows-flashing nil
  "The changes whose rows flash, a vector, or nil.")

(defvar-local todo-write-view-rows-flashes nil
  "The overlays on rows that flash, and deleted ones for later use.")

(defvar-local todo-write-view-rows-flash-ticks nil
  "Number of ticks of the timer until the flash ends.")

(defvar-local todo-write-view-rows-blocked nil
  "Ids of the rows of tasks that wait for other tasks.")

(defvar-local todo-write-view-rows-children nil
  "Alist of item ids and the keys of their subagents' threads.
The id nil has the threads without a row in this buffer.")

(defvar-local todo-write-view-rows-summary nil
  "The `todo-write-summary' of the thread when the buffer was last drawn.")

(defvar-local todo-write-view-rows-drawn nil
  "Number of the revision that the rows show, or nil while they are drawn.")

(cl-defstruct (todo-write-view-rows-row
               (:constructor todo-write-view-rows-row
                             (item &optional ghost
                                   &aux (id (plist-get item :id))
                                   (category (todo-write-view-rows--category id))))
               (:copier nil))
  "A row of the buffer: a task, or the ghost of one that was dropped.
CATEGORY is a symbol with the text properties of its line."
  id item ghost category)

(defun todo-write-view-rows--category (id)
  "Return a new symbol with the text properties of the line of the task ID."
  (let ((category (make-symbol "todo-write-row")))
    (setplist category
              ;; Emacs highlights adjacent lines together if they share the list.
              `( todo-write-id ,id face nil button ,(list t) mouse-face ,(list 'highlight)
                 help-echo todo-write-view-rows--help
                 . ,(symbol-plist (get 'todo-write-task 'button-category-symbol))))
    category))

(defun todo-write-view-rows--help (_window buffer position)
  "Return the full text of the row at POSITION of BUFFER."
  (with-current-buffer buffer
    (when-let* ((node (todo-write-view-rows-node-at position))
                (item (todo-write-view-rows-row-item (ewoc-data node))))
      (todo-write-text-help (todo-write-row-text item (todo-write-row-kind item))))))

(defun todo-write-view-rows-paused-p ()
  "Return non-nil if the thread was paused when last drawn."
  (eq (plist-get todo-write-view-rows-summary :state) 'paused))

(defun todo-write-view-rows-current-id ()
  "Return the id of the task that was in progress when last drawn, or nil."
  (plist-get (plist-get todo-write-view-rows-summary :current) :id))

(defun todo-write-view-rows-node-at (position)
  "Return the ewoc node of the row at POSITION, or nil."
  (gethash (get-text-property position 'todo-write-id) todo-write-place-nodes))

(defun todo-write-view-rows-set-scale ()
  "Set `todo-write-row-scale' for the font of the buffer."
  (let ((window (and face-remapping-alist (get-buffer-window nil t))))
    (setq-local todo-write-row-scale
                (if (and window (display-graphic-p (window-frame window)))
                    (/ (float (window-font-width window))
                       (frame-char-width (window-frame window)))
                  1))))

;;; Text

(defun todo-write-view-rows-print (row)
  "Insert ROW; the printer of the ewoc."
  (let* ((id (todo-write-view-rows-row-id row))
         (item (todo-write-view-rows-row-item row))
         (ghost (todo-write-view-rows-row-ghost row))
         (start (point))
         (kind (if ghost 'removed (todo-write-row-kind item (todo-write-view-rows-paused-p)))))
    (todo-write-row-insert item kind
                           (unless ghost (todo-write-plan-spent todo-write-view-thread id))
                           todo-write-page-width nil
                           (unless ghost (todo-write-view-rows--note id item))
                           (unless ghost (cdr (assoc id todo-write-view-rows--row-work)))
                           (todo-write-view-rows-row-category row))
    (when (member (list id) todo-write-view-rows--row-work)
      (todo-write-row-mark-new start))
    (todo-write-view-rows--insert-below id item)
    (if (memq kind '(in_progress paused))
        (cl-pushnew id todo-write-view-rows-running :test #'equal)
      (setq todo-write-view-rows-running (delete id todo-write-view-rows-running)))))

(defun todo-write-view-rows--note (id item)
  "Return the note of the row of ITEM, whose id is ID, or nil."
  (let ((blocked (plist-get item :blockedBy)))
    (if blocked
        (cl-pushnew id todo-write-view-rows-blocked :test #'equal)
      (setq todo-write-view-rows-blocked (delete id todo-write-view-rows-blocked)))
    (or (and (equal id (todo-write-view-rows-current-id))
             (todo-write-hands-note todo-write-view-thread))
        (todo-write-row-note
         item (and blocked
                   (mapcar #'todo-write-view-rows-row-item
                           (ewoc-collect todo-write-place-ewoc
                                         (lambda (row) (not (todo-write-view-rows-row-ghost row))))))
         todo-write-view-rows-summary))))

(defun todo-write-view-rows--insert-below (id item)
  "Insert the lines below the row of ITEM, whose id is ID."
  (let ((open (member id todo-write-view-rows-open))
        (children (cdr (assoc id todo-write-view-rows-children)))
        (start (point)))
    (when open
      (insert (todo-write-detail-string todo-write-view-thread item
                                        todo-write-page-width))
      (todo-write-story-insert todo-write-view-thread id todo-write-page-width
                               todo-write-view-rows-whole (member id todo-write-view-rows-earlier)))
    (todo-write-children-insert children todo-write-page-width open)
    (put-text-property start (point) 'todo-write-id id)))

(defun todo-write-view-rows-draw-header ()
  "Draw the header if it changed, and show the count in the mode line."
  (let* ((summary todo-write-view-rows-summary)
         (width todo-write-page-width)
         (work todo-write-view-rows--work)
         (agent (and todo-write-view-thread (todo-write-view-rows--agent-line)))
         ;; For a session without a title.
         (title (and todo-write-view-thread (null (plist-get summary :title))
                     (todo-write-plan-title todo-write-view-thread)))
         (apart (equal "*todo-write*" (buffer-name)))
         (shown (list summary width work agent title)))
    (unless (and (not apart) (equal shown todo-write-view-rows-header))
      ;; The newline after it stays, since the rows begin there.
      (goto-char (point-min))
      (delete-region (point) (+ (point) todo-write-place-header-length))
      (when apart
        (insert (todo-write-welcome-efrit) "\n"))
      (todo-write-row-insert-header summary width nil work title)
      (when-let* ((goal (plist-get summary :goal)))
        (insert "\n" (todo-write-text-truncate
                      (propertize (concat " " (todo-write-row-goal goal)) 'face 'todo-write-detail)
                      width)))
      (when agent
        (insert "\n" (todo-write-text-truncate (concat " " agent) width)))
      (when-let* ((refused (plist-get summary :refused)))
        (insert "\n" (todo-write-text-truncate
                      (propertize (concat " the last list was refused: "
                                          (todo-write-text-line refused))
                                  'face 'todo-write-paused)
                      width)))
      (setq todo-write-view-rows-header shown
            todo-write-place-header-length (- (point) (point-min))))
    (cond ((memq (plist-get summary :state) '(nil empty))
           (setq mode-line-process nil))
          (mode-line-process
           (setcar (cdr mode-line-process) (todo-write-row-count summary)))
          (t (setq mode-line-process (list " " (todo-write-row-count summary)))))))

(defun todo-write-view-rows--agent-line ()
  "Return what the agent does, since when, and what it said last, or nil."
  (let ((activity (todo-write-view-rows--activity))
        (context (todo-write-row-context todo-write-view-rows-summary))
        (new (when todo-write-view-rows-unseen
               (propertize (concat (todo-write-text-count
                                    (plist-get todo-write-view-rows-unseen :files) "file")
                                   " new")
                           'face 'todo-write-lines-new))))
    ;; Each write asks, and most plans have no such line.
    (when (or todo-write-view-rows-host activity new context todo-write-view-rows--message)
      (string-join (delq nil (list todo-write-view-rows-host activity new
                                   (and context (propertize context 'face 'todo-write-detail))
                                   (when-let* ((text todo-write-view-rows--message))
                                     (propertize (concat (todo-write-text-shape 'quote) text
                                                         (todo-write-text-shape 'unquote))
                                                 'face 'todo-write-said
                                                 'help-echo (todo-write-text-help text)))))
                   (propertize (format " %s " (todo-write-text-shape 'dot))
                               'face 'todo-write-detail)))))

(defun todo-write-view-rows--activity ()
  "Return the activity of the agent, since when and why, or nil if idle.
For a plan that is paused, return the reason.  While its session is being
read, return how much of it is."
  (pcase-let* ((percent (todo-write-activity-reading todo-write-view-thread))
               (`(,activity . ,reason) (todo-write-activity todo-write-view-thread))
               (since (todo-write-activity-since todo-write-view-thread))
               (age (and since (todo-write-text-age (/ since 1000))))
               (age (if (member age '(nil "now")) "" (concat " " age)))
               (reason (and reason (concat ": " (todo-write-text-line reason)))))
    (pcase activity
      ((guard percent) (propertize (format "reading, %d %%" percent) 'face 'todo-write-detail))
      ('working (propertize (concat "working" age) 'face 'todo-write-detail))
      ('waiting (propertize (concat "waits for you" age reason
                                    (and (todo-write-requests todo-write-view-thread)
                                         "; a answers"))
                            'face 'todo-write-paused))
      ('failed (propertize (concat "failed" age reason) 'face 'todo-write-failed))
      (_ (when-let* ((reason (plist-get todo-write-view-rows-summary :reason)))
           (propertize (todo-write-text-line reason) 'face 'todo-write-detail))))))

(defun todo-write-view-rows-read-work ()
  "Read what the agent said and did, and what of it was not reviewed.
Return the ids of the tasks whose rows differ by that."
  (let* ((thread todo-write-view-thread)
         (before todo-write-view-rows--row-work)
         (said (and thread (todo-write-observations
                            thread :types '("MESSAGE" "FINAL_RESPONSE") :limit 1)))
         (content (plist-get (car (append said nil)) :content))
         (text (if (consp content) (plist-get content :text) content)))
    (setq todo-write-view-rows-unseen (and thread (todo-write-plan-unseen thread))
          todo-write-view-rows--message
          (and (todo-write-json-filled text)
               (todo-write-text-unmark (todo-write-text-line text 400)))
          todo-write-view-rows-host
          (when-let* ((host (and thread (todo-write-machines-host
                                         thread (plist-get (todo-write-about thread) :project)))))
            (let ((lost (todo-write-machines-lost-since host)))
              (concat (propertize (concat "on " (todo-write-text-line host))
                                  'face 'todo-write-detail)
                      (and lost (propertize
                                 (format-time-string " (not connected since %H:%M)" lost)
                                 'face 'todo-write-paused)))))
          todo-write-view-rows--work (and thread (todo-write-plan-header-work thread))
          todo-write-view-rows--row-work
          (append (and thread (todo-write-plan-row-work thread))
                  (mapcar #'list (plist-get todo-write-view-rows-unseen :items))))
    (unless (equal before todo-write-view-rows--row-work)
      (mapcar #'car (cl-set-exclusive-or before todo-write-view-rows--row-work :test #'equal)))))

(defun todo-write-view-rows-read-turns ()
  "Read the turns that the plan shows."
  (setq todo-write-view-rows-turns
        (and todo-write-view-thread
             (todo-write-footer-headings todo-write-view-thread todo-write-view-rows-open))))

(defun todo-write-view-rows-read-lists ()
  "Read the tasks that left the list, the earlier lists, and the turns."
  (let ((thread todo-write-view-thread))
    (todo-write-view-rows-read-turns)
    (setq todo-write-view-rows-dropped (and thread (todo-write-items-dropped thread))
          todo-write-view-rows-cleared (and thread (todo-write-plan-items-cleared thread))
          todo-write-view-rows-lists (and thread (todo-write-plan-earlier-lists thread)))))

(defun todo-write-view-rows--end-turn ()
  "If another turn runs now, or none, settle what the one that ran shows.
It stays open if the user reads it, or opened something in it."
  (let ((running (and todo-write-view-rows-turns
                      (memq (car (todo-write-activity todo-write-view-thread)) '(working waiting))
                      ;; The headings may be read later.
                      (car (todo-write-turns-headings todo-write-view-thread 0))))
        (id (cons 'turn todo-write-view-rows-ran))
        (shut (cons 'shut todo-write-view-rows-ran)))
    (unless (eql running todo-write-view-rows-ran)
      (cond ((member shut todo-write-view-rows-open)
             (setq todo-write-view-rows-open
                   (remove id (remove shut todo-write-view-rows-open))))
            (todo-write-view-rows-in-use
             (cl-pushnew id todo-write-view-rows-open :test #'equal)))
      (setq todo-write-view-rows-ran running))))

(defun todo-write-view-rows-footer ()
  "Return the text below the rows.
It has a note if there are no tasks, the lists of subagents that belong
to no row, and what the rows do not show; see `todo-write-footer'."
  (todo-write-view-rows--end-turn)
  (concat
   (pcase (and (< 0 (or (plist-get todo-write-view-rows-summary :revision) 0))
               (plist-get todo-write-view-rows-summary :state))
     ('nil (if todo-write-view-rows-turns
               (let ((agent (or (plist-get (todo-write-about todo-write-view-thread) :agent)
                                ;; The key of a session that is followed begins with its program.
                                (todo-write-machines-bare-key todo-write-view-thread)))
                     (models (nthcdr 2 todo-write-view-rows--work))
                     (width todo-write-page-width))
                 (todo-write-row-string (todo-write-welcome-insert-planless agent models width)))
             (todo-write-welcome-string)))
     ('empty (propertize " The list is empty.\n" 'face 'todo-write-detail)))
   (when-let* ((children (cdr (assoc nil todo-write-view-rows-children)))
               (width todo-write-page-width))
     (todo-write-row-string (todo-write-children-insert children width)))
   (let ((dropped (todo-write-view-rows-dropped-before)))
     (when (or dropped todo-write-view-rows-cleared todo-write-view-rows-turns)
       (let ((footer (todo-write-footer-make
                      :dropped dropped
                      :cleared todo-write-view-rows-cleared
                      :turns todo-write-view-rows-turns
                      :running todo-write-view-rows-ran
                      :new (plist-get todo-write-view-rows-unseen :turns)
                      :open todo-write-view-rows-open
                      :whole todo-write-view-rows-whole
                      :earlier todo-write-view-rows-earlier))
             (thread todo-write-view-thread)
             (width todo-write-page-width))
         (todo-write-row-string (todo-write-footer-insert footer thread width)))))))

(defun todo-write-view-rows-dropped-before ()
  "Return the dropped tasks that have no row any more."
  (and todo-write-view-rows-dropped
       (seq-remove (lambda (item) (member (plist-get item :id) todo-write-view-rows-ghosts))
                   todo-write-view-rows-dropped)))

(provide 'todo-write-view-rows)
;;; todo-write-view-rows.el ends here
