;;; efrit-do-view.el --- Show a session as it runs -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The buffer *efrit-do* shows the thoughts, texts and tool calls of an agent.
;; Thoughts and tool calls are parts, which are folded to their heading at first.

;;; Code:

(require 'efrit-do-run)
(require 'todo-write-detail)
(require 'todo-write-menu)
(require 'todo-write-mode-line)
(require 'todo-write-page)
(require 'todo-write-row)

(autoload 'todo-write-show "todo-write-view" nil t)

(defconst efrit-do-view-limit 4000
  "Maximum length of a tool's result in *efrit-do*, in characters.")

(defface efrit-do-command '((t :inherit (bold font-lock-function-name-face)))
  "The user's command."
  :group 'efrit-do)

(defface efrit-do-heading '((t :inherit font-lock-keyword-face))
  "The line of a tool call."
  :group 'efrit-do)

(define-derived-mode efrit-do-view-mode special-mode "Efrit-Do"
  "Mode of the buffer that shows a session of an agent."
  :interactive nil
  (todo-write-menu-begin-mode)
  (setq-local truncate-lines nil
              word-wrap t
              ;; Windows at the end stay there, even after the minibuffer has
              ;; restored them.
              window-point-insertion-type t
              ;; Point is mostly at the end: keep the text before it visible.
              scroll-conservatively 101
              ;; The text grows as the session runs.
              revert-buffer-function #'efrit-do-view--update-header)
  (buffer-disable-undo)
  (add-hook 'kill-buffer-hook #'efrit-do-view--forget nil t)
  (add-hook 'change-major-mode-hook #'efrit-do-view--forget nil t))

;; A clone would have the subscription of this buffer, not its own.
(put 'efrit-do-view-mode 'no-clone t)
(put 'efrit-do-view-mode 'no-clone-indirect t)

(todo-write-menu-define 'efrit-do-view-mode efrit-do-view-mode-map "Efrit-Do"
  `(("Agent"
     ("C-c C-k" "Stop" efrit-do-cancel)
     ("c" "Continue" efrit-do-continue))
    ("Parts"
     ("TAB" "Open or fold" efrit-do-view-toggle)
     ("n" "Next" efrit-do-view-next)
     ("p" "Previous" efrit-do-view-previous)
     ("g" "Refresh" revert-buffer))
    . ,todo-write-menu-common))

(let ((map efrit-do-view-mode-map))
  (define-key map (kbd "RET") #'efrit-do-view-toggle)
  (define-key map [mouse-1] #'todo-write-page-click))

(defvar-local efrit-do-view--handle nil
  "Subscription of this buffer to its session's thread, or nil.")

(defvar-local efrit-do-view--open nil
  "Overlay of the unfinished part, or nil.")

(defvar-local efrit-do-view--calls nil
  "Alist of call ids and the overlays of their parts.")

(defvar-local efrit-do-view--planned nil
  "Non-nil once the session has a plan.")

;;; Writing at the end

(defmacro efrit-do-view--appending (&rest body)
  "Run BODY at the end of the buffer; point stays at the end if it is there.
Because of `window-point-insertion-type', so do the points of windows."
  (declare (indent 0) (debug t))
  `(let ((at-end (eobp)))
     (save-excursion
       (goto-char (point-max))
       (with-silent-modifications ,@body))
     (when at-end (goto-char (point-max)))))

(defun efrit-do-view--insert (text &optional face)
  "Insert TEXT in FACE, without its properties and control characters."
  (insert (propertize (todo-write-text-plain-lines text) 'face face)))

(defun efrit-do-view--fresh-line ()
  "Begin a new line if point is not at the beginning of one."
  (unless (bolp) (insert "\n")))

(defun efrit-do-view--heading (body shape label text face)
  "Return the heading of the part with overlay BODY, a line in FACE.
It has SHAPE, as for `todo-write-text-shape', LABEL and as much of TEXT
as fits."
  (todo-write-row-button (propertize (format "%s %s %s" (todo-write-text-shape shape)
                                             (todo-write-text-line label)
                                             (efrit-do-view--one-line text label))
                                     'face face)
                         'efrit-do-part "RET, mouse-1: open or fold this part"
                         'efrit-do-part body))

(defun efrit-do-view--part (label text face)
  "Begin a foldable part under a heading of LABEL and TEXT in FACE.
Return its overlay, which covers the part's body; that is empty so far."
  (efrit-do-view--fresh-line)
  (let ((body (make-overlay (point) (point) nil nil t)))
    (overlay-put body 'invisible 'efrit-do)
    (overlay-put body 'isearch-open-invisible
                 (lambda (body) (overlay-put body 'invisible nil)))
    (insert (efrit-do-view--heading body 'tool label text face) "\n")
    (move-overlay body (1- (point)) (1- (point)))
    body))

(defun efrit-do-view--add (body text face)
  "Add TEXT in FACE to the part with overlay BODY."
  (let ((start (overlay-start body)))
    (goto-char (overlay-end body))
    ;; The body includes the newline of its heading, so that a folded part is
    ;; one line.
    (when (= start (overlay-end body))
      (insert "\n"))
    (efrit-do-view--insert text face)
    (move-overlay body start (point))))

(defun efrit-do-view--retitle (body shape label text face)
  "Give the part with overlay BODY a new heading of SHAPE, LABEL and TEXT in FACE."
  (save-excursion
    (goto-char (overlay-start body))
    (let ((end (point))
          (beginning (line-beginning-position)))
      (insert (efrit-do-view--heading body shape label text face))
      (move-overlay body (point) (max (point) (overlay-end body)))
      (delete-region beginning end))))

(defun efrit-do-view--one-line (text before)
  "Return TEXT as one line that fits into the window after the string BEFORE."
  (let* ((window (get-buffer-window nil t))
         ;; `window-max-chars-per-line' moves point.
         (width (if window (save-excursion (window-max-chars-per-line window)) 79)))
    (todo-write-text-line text (max 20 (- width (string-width before) 5)))))

;;; Events

(defun efrit-do-view--close-thought ()
  "End the unfinished thought, if any."
  (when efrit-do-view--open
    (let* ((body efrit-do-view--open)
           (text (buffer-substring-no-properties (overlay-start body)
                                                 (overlay-end body))))
      (setq efrit-do-view--open nil)
      (with-silent-modifications
        (efrit-do-view--retitle body 'tool "Thought:" text 'todo-write-thought)))))

(defun efrit-do-view--result (content)
  "Show the result of a tool call; CONTENT is that of its observation."
  (let ((body (cdr (assoc (plist-get content :id) efrit-do-view--calls)))
        (text (or (plist-get content :content) ""))
        (failed (eq t (plist-get content :isError))))
    (when body
      (efrit-do-view--appending
        (let ((efrit-do-output-limit efrit-do-view-limit))
          (efrit-do-view--add body (efrit-do-clip text) nil))
        (efrit-do-view--retitle
         body (if failed 'removed 'completed) (concat (plist-get content :name) ":") text
         (if failed 'todo-write-failed 'efrit-do-heading))
        (goto-char (point-max))
        (efrit-do-view--fresh-line)
        (when-let* ((name (plist-get content :buffer)))
          (insert "  ")
          (insert-text-button (concat "Show " (todo-write-text-line name))
                              'follow-link t
                              'help-echo "mouse-2, RET: show what the agent made"
                              'action (lambda (_) (efrit-do-view-show-buffer name)))
          (insert "\n"))))))

(defun efrit-do-view-show-buffer (name)
  "Show the buffer called NAME, beside its session and the plan.
Signal a `user-error' if it was killed."
  (let ((buffer (or (get-buffer name) (user-error "That buffer was killed")))
        (elsewhere (lambda (buffer _alist)
                     (when-let* ((window (get-window-with-predicate
                                          (lambda (window)
                                            (not (or (window-dedicated-p window)
                                                     (with-current-buffer (window-buffer window)
                                                       (derived-mode-p 'todo-write-view-mode
                                                                       'efrit-do-view-mode))))))))
                       (display-buffer-record-window 'reuse window buffer)
                       (set-window-buffer window buffer)
                       window))))
    (select-window
     (or (get-buffer-window buffer)
         (display-buffer buffer `((,elsewhere
                                   display-buffer-pop-up-window
                                   display-buffer-use-some-window)
                                  (inhibit-same-window . t)))))))

(defun efrit-do-view--note (shape text face)
  "Show that the session ended or was resumed, as SHAPE and TEXT in FACE."
  (efrit-do-view--close-thought)
  (efrit-do-view--appending
    (efrit-do-view--fresh-line)
    (efrit-do-view--insert (format "%s %s\n" (todo-write-text-shape shape) text) face)))

(defun efrit-do-view--show (event)
  "Show EVENT, an observation or a stream event, in the current buffer."
  (let ((content (plist-get event :content)))
    (pcase (plist-get event :type)
      ("TOKEN" (let ((text (plist-get event :data)))
                 (if (string-suffix-p "_THINKING" (or (plist-get event :tokenType) ""))
                     (efrit-do-view--appending
                       (unless efrit-do-view--open
                         (setq efrit-do-view--open
                               (efrit-do-view--part "Thinking…" "" 'todo-write-thought)))
                       (efrit-do-view--add efrit-do-view--open text 'todo-write-thought))
                   (efrit-do-view--close-thought)
                   (efrit-do-view--appending (efrit-do-view--insert text)))))
      ("TOOL_CALL" (efrit-do-view--close-thought)
       (efrit-do-view--appending
         (let* ((input (or (plist-get content :input) ""))
                (body (efrit-do-view--part (plist-get content :name) input
                                           'efrit-do-heading)))
           (efrit-do-view--add body (concat input "\n") 'shadow)
           (push (cons (plist-get content :id) body) efrit-do-view--calls))))
      ("TOOL_EXECUTION" (efrit-do-view--result content))
      ("PLAN_UPDATE"
       (let ((window (get-buffer-window nil t)))
         (when (and window (not efrit-do-view--planned))
           (setq efrit-do-view--planned t)
           ;; All windows beside it give room to the plan, not only this one.
           (let ((window-combination-resize t)
                 (window-combination-limit nil))
             (todo-write-show (efrit-do-session-thread efrit-do-buffer-session) nil
                              `((display-buffer-reuse-window display-buffer-in-direction)
                                (direction . above) (window . ,window)
                                (window-height . 0.4)))))))
      ("LLM_STREAM_END"
       (efrit-do-view--close-thought)
       (efrit-do-view--appending (efrit-do-view--fresh-line)))
      ("AGENT_SUSPENDED"
       (efrit-do-view--note 'ended (format "Stopped: %s.  c continues" content)
                            'todo-write-failed))
      ("AGENT_RESUMED" (efrit-do-view--note 'resumed "Goes on" 'efrit-do-heading))
      ("FINAL_RESPONSE"
       (efrit-do-view--note
        'ended (or (efrit-do-session-message efrit-do-buffer-session) "Done")
        'success)))
    (unless (plist-member event :data)
      (efrit-do-view--update-header))))

(defun efrit-do-view--update-header (&rest _)
  "Show the status of the session in the header line.
The text has no words of agents, because a header line is a construct."
  (let* ((session efrit-do-buffer-session)
         (notice (efrit-do-session-notice session))
         (requests (efrit-do-session-requests session))
         (calls (length (efrit-do-session-results session))))
    (setq header-line-format
          (format " %s%s · %s · %s   %s"
                  (if notice (concat (car (split-string notice ";")) " · ") "")
                  (efrit-do-session-status session)
                  (todo-write-text-count requests "request")
                  (todo-write-text-count calls "tool call")
                  (cond ((eq 'waiting (car (todo-write-activity
                                            (efrit-do-session-thread session))))
                         "It waits for you: a answer  C-c C-k stop  ? menu")
                        ((efrit-do-session-running-p session)
                         "C-c C-k stop  ? menu")
                        ((efrit-do-session-resumable-p session)
                         "c continue  ? menu")
                        (t "H history  ? menu"))))
    (force-mode-line-update)))

(defun efrit-do-view--on-event (thread what _data)
  "Show in the headers of THREAD if WHAT is that its agent asks, or was answered.
For `todo-write-events-functions'."
  (when (eq what 'request)
    (let ((views (seq-filter (lambda (buffer)
                               (eq 'efrit-do-view-mode (buffer-local-value 'major-mode buffer)))
                             (buffer-list))))
      (unless views
        (remove-hook 'todo-write-events-functions #'efrit-do-view--on-event))
      (dolist (buffer views)
        (when (equal thread (buffer-local-value 'todo-write-view-thread buffer))
          (with-current-buffer buffer
            (efrit-do-view--update-header)))))))

(defun efrit-do-view--forget ()
  "End the subscription of this buffer."
  (todo-write-unsubscribe efrit-do-view--handle))

;;; Opening

(defun efrit-do-view-open (session)
  "Return a buffer that shows SESSION.
That is a new one if another session is running in *efrit-do*."
  (let ((buffer (get-buffer-create "*efrit-do*")))
    (with-current-buffer buffer
      (when (and efrit-do-buffer-session
                 (efrit-do-session-running-p efrit-do-buffer-session))
        (setq buffer (generate-new-buffer "*efrit-do*"))))
    (with-current-buffer buffer
      (efrit-do-view-mode)
      (setq efrit-do-buffer-session session
            todo-write-view-thread (efrit-do-session-thread session)
            default-directory (efrit-do-session-directory session)
            efrit-do-view--handle
            (todo-write-subscribe
             (lambda (event)
               (when (buffer-live-p buffer)
                 (with-current-buffer buffer
                   (save-restriction
                     (widen)
                     (efrit-do-view--show event)))))
             :thread (efrit-do-session-thread session)))
      (add-hook 'todo-write-events-functions #'efrit-do-view--on-event)
      (add-to-invisibility-spec 'efrit-do)
      (with-silent-modifications
        (erase-buffer)
        (remove-overlays)
        (when-let* ((notice (efrit-do-session-notice session)))
          (efrit-do-view--insert (concat notice "\n\n") 'warning))
        (efrit-do-view--insert (efrit-do-session-command session) 'efrit-do-command)
        (insert "\n\n"))
      (efrit-do-view--update-header))
    buffer))

(defun efrit-do-view-show (session)
  "Show SESSION in a window, and its plan in mode lines."
  (todo-write-mode-line-by-default t)
  (when-let* ((window (display-buffer (efrit-do-view-open session))))
    (with-current-buffer (window-buffer window)
      (set-window-point window (point-max)))))

;;; Commands

(defun efrit-do-view--parts (overlays)
  "Return those of OVERLAYS that are the body of a part."
  (seq-filter (lambda (overlay) (overlay-get overlay 'isearch-open-invisible)) overlays))

(define-button-type 'efrit-do-part :supertype 'todo-write-button
  'action (lambda (button) (efrit-do-view--toggle (button-get button 'efrit-do-part))))

(defun efrit-do-view-toggle (&optional all)
  "Open or fold the part at point, or press the button there.
Signal a `user-error' if there is neither.  With a prefix argument ALL,
open all parts, or fold them if none is folded."
  (interactive "P" efrit-do-view-mode)
  (if all
      (let* ((parts (efrit-do-view--parts (overlays-in (point-min) (point-max))))
             (fold (not (seq-some (lambda (part) (overlay-get part 'invisible)) parts))))
        (dolist (part parts)
          (overlay-put part 'invisible (and fold 'efrit-do))))
    (unless (push-button)
      (efrit-do-view--toggle (or (car (efrit-do-view--parts (overlays-at (point))))
                                 (user-error "Nothing to open here"))))))

(defun efrit-do-view--toggle (body)
  "Open or fold the part with the overlay BODY, and move to its heading."
  (goto-char (overlay-start body))
  (beginning-of-line)
  (overlay-put body 'invisible
               (unless (overlay-get body 'invisible) 'efrit-do)))

(defun efrit-do-view-next (&optional count)
  "Go to the next part; with COUNT, that many forward."
  (interactive "p" efrit-do-view-mode)
  (unless (todo-write-page-move (or count 1))
    (user-error (if (> (or count 1) 0) "No further part" "No part before this one"))))

(defun efrit-do-view-previous (&optional count)
  "Go to the previous part; with COUNT, that many back."
  (interactive "p" efrit-do-view-mode)
  (efrit-do-view-next (- (or count 1))))

(provide 'efrit-do-view)
;;; efrit-do-view.el ends here
