;;; efrit-do-view.el --- Show a session as it runs -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The buffer *efrit-do* shows what an agent thinks, says and does while it
;; works on a command.  `efrit-do' opens it.  It only listens to the thread of
;; its session: nothing in a session depends on it.
;;
;; Thoughts and the results of tools are folded (efrit-do-parts.el); TAB or RET
;; opens one, as does isearch.  `k' (or C-c C-k, or C-g) stops the agent, `c'
;; lets it go on, `t' shows its plan, `l' everything that was recorded.

;;; Code:

(require 'efrit-do)
(require 'efrit-do-parts)

(autoload 'todo-write-show "todo-write-view" nil t)
(autoload 'todo-write-log "todo-write-log" nil t)

(defcustom efrit-do-show-todos t
  "Whether the first plan of a session pops up the buffer *efrit-todos*."
  :type 'boolean
  :group 'efrit-do)

(defcustom efrit-do-view-limit 4000
  "Longest result of a tool shown in *efrit-do*, in characters."
  :type 'natnum
  :group 'efrit-do)

(defface efrit-do-command '((t :inherit (bold font-lock-function-name-face)))
  "The user's command."
  :group 'efrit-do)

(defface efrit-do-heading '((t :inherit font-lock-keyword-face))
  "The line of a tool call."
  :group 'efrit-do)

(defface efrit-do-thought '((t :inherit (italic shadow)))
  "What the agent thinks."
  :group 'efrit-do)

(defface efrit-do-failed '((t :inherit error))
  "A tool call or a session that failed."
  :group 'efrit-do)

(defvar efrit-do-view-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "TAB") #'efrit-do-view-toggle)
    (define-key map (kbd "RET") #'efrit-do-view-toggle)
    (define-key map [mouse-1] #'efrit-do-view-mouse-toggle)
    (define-key map (kbd "<backtab>") #'efrit-do-view-toggle-all)
    (define-key map "n" #'efrit-do-view-next)
    (define-key map "p" #'efrit-do-view-previous)
    (define-key map "k" #'efrit-do-cancel)
    (define-key map (kbd "C-c C-k") #'efrit-do-cancel)
    (define-key map [remap keyboard-quit] #'efrit-do-view-quit)
    (define-key map "c" #'efrit-do-continue)
    (define-key map "t" #'efrit-do-view-todos)
    (define-key map "l" #'efrit-do-view-log)
    map)
  "Keys in *efrit-do*.")

(define-derived-mode efrit-do-view-mode special-mode "Efrit-Do"
  "Mode of the buffer that shows a session of an agent.
\\{efrit-do-view-mode-map}"
  :interactive nil
  (setq-local truncate-lines nil
              word-wrap t
              ;; Point is at the end mostly: show what leads up to it.
              scroll-conservatively 101)
  (buffer-disable-undo)
  (add-hook 'kill-buffer-hook #'efrit-do-view--forget nil t))

(defvar-local efrit-do-view--handles nil
  "What this buffer gets from `todo-write-subscribe'.")

(defvar-local efrit-do-view--open nil
  "Overlay of the part that is being written to, or nil.")

(defvar-local efrit-do-view--calls nil
  "Alist of call ids and the overlays of their parts.")

(defvar-local efrit-do-view--planned nil
  "Non-nil once the session has a plan.")

;;; Events

(defun efrit-do-view--token (event)
  "Show EVENT, a stream event with a token."
  (let ((text (plist-get event :data)))
    (cond
     ((string-suffix-p "_THINKING" (or (plist-get event :tokenType) ""))
      (efrit-do-view--appending
        (unless efrit-do-view--open
          (setq efrit-do-view--open
                (efrit-do-view--part "Thinking…" 'efrit-do-thought)))
        (efrit-do-view--add efrit-do-view--open text 'efrit-do-thought)))
     (t
      (efrit-do-view--close-thought)
      (efrit-do-view--appending (efrit-do-view--insert text))))))

(defun efrit-do-view--close-thought ()
  "End the thought that is being written, if any."
  (when efrit-do-view--open
    (let* ((body efrit-do-view--open)
           (text (buffer-substring-no-properties (overlay-start body)
                                                 (overlay-end body))))
      (setq efrit-do-view--open nil)
      (with-silent-modifications
        (efrit-do-view--retitle
         body "▸" (format "Thought: %s" (efrit-do-view--one-line text "Thought: "))
         'efrit-do-thought)))))

(defun efrit-do-view--call (content)
  "Show the beginning of a tool call, CONTENT of the observation."
  (efrit-do-view--appending
    (let ((body (efrit-do-view--part
                 (format "%s %s" (plist-get content :name)
                         (efrit-do-view--one-line
                          (or (plist-get content :input) "")
                          (plist-get content :name)))
                 'efrit-do-heading)))
      (efrit-do-view--add body (concat (plist-get content :input) "\n") 'shadow)
      (push (cons (plist-get content :id) body) efrit-do-view--calls))))

(defun efrit-do-view--result (content)
  "Show the end of a tool call, CONTENT of the observation."
  (let* ((body (cdr (assoc (plist-get content :id) efrit-do-view--calls)))
         (failed (eq t (plist-get content :isError)))
         (text (or (plist-get content :content) ""))
         (face (if failed 'efrit-do-failed 'efrit-do-heading)))
    (when body
      (efrit-do-view--appending
        (efrit-do-view--add
         body (let ((efrit-do-output-limit efrit-do-view-limit))
                (efrit-do-clip text))
         nil)
        (efrit-do-view--retitle
         body (if failed "✗" "✓")
         (format "%s: %s" (plist-get content :name)
                 (efrit-do-view--one-line text (plist-get content :name)))
         face)
        (goto-char (point-max))
        (efrit-do-view--fresh-line)))))

(defun efrit-do-view--ended (mark text face)
  "Show that the session ended: MARK and TEXT in FACE."
  (efrit-do-view--close-thought)
  (efrit-do-view--appending
    (efrit-do-view--fresh-line)
    (efrit-do-view--insert (format "%s %s\n" (efrit-do-view--mark mark) text)
                           face)))

(defun efrit-do-view--observed (observation)
  "Show OBSERVATION in the current buffer."
  (let ((content (plist-get observation :content)))
    (pcase (plist-get observation :type)
      ("TOOL_CALL" (efrit-do-view--close-thought) (efrit-do-view--call content))
      ("TOOL_EXECUTION" (efrit-do-view--result content))
      ("PLAN_UPDATE" (efrit-do-view--plan))
      ("LLM_STREAM_END"
       (efrit-do-view--close-thought)
       (efrit-do-view--appending (efrit-do-view--fresh-line)))
      ("AGENT_SUSPENDED"
       (efrit-do-view--ended "■" (format "Stopped: %s.  c goes on" content)
                             'efrit-do-failed))
      ("AGENT_RESUMED" (efrit-do-view--ended "▶" "Goes on" 'efrit-do-heading))
      ("FINAL_RESPONSE"
       (efrit-do-view--ended
        "■" (or (efrit-do-session-message efrit-do-buffer-session) "Done")
        'success)))
    (efrit-do-view--update-header)))

(defun efrit-do-view--plan ()
  "Show the plan above this buffer when there is a first one.
What the user set for `display-buffer' goes first."
  (let ((window (get-buffer-window nil t)))
    (when (and efrit-do-show-todos window (not efrit-do-view--planned))
      (setq efrit-do-view--planned t)
      (let ((thread (efrit-do-session-thread efrit-do-buffer-session))
            (display-buffer-base-action
             (if (equal display-buffer-base-action '(nil))
                 `((display-buffer-reuse-window display-buffer-in-direction)
                   (direction . above) (window . ,window)
                   (window-height . ,(/ (window-total-height window) 2)))
               display-buffer-base-action)))
        (save-selected-window
          (todo-write-show thread))))))

(defun efrit-do-view--update-header ()
  "Say in the header line how the session stands.
Only words of this package go there: a header line is a construct."
  (let* ((session efrit-do-buffer-session)
         (breaker (efrit-do-session-breaker session)))
    (setq header-line-format
          (format " %s · %d requests · %d tool calls   %s"
                  (efrit-do-session-status session)
                  (efrit-do-breaker-requests breaker)
                  (length (efrit-do-session-results session))
                  (cond ((efrit-do-session-running-p session)
                         "k stop  t plan  TAB open")
                        ((efrit-do--resumable-p session)
                         "c continue  t plan  l log  TAB open")
                        (t "t plan  l log  TAB open"))))
    (force-mode-line-update)))

(defun efrit-do-view--listen (buffer thread kind function)
  "Let BUFFER call FUNCTION with each event of KIND of THREAD; return a handle."
  (todo-write-subscribe
   (lambda (event)
     (when (buffer-live-p buffer)
       (with-current-buffer buffer
         (funcall function event))))
   :thread thread :kind kind))

(defun efrit-do-view--streamed (event)
  "Show EVENT, a stream event."
  (when (equal (plist-get event :type) "TOKEN")
    (efrit-do-view--token event)))

(defun efrit-do-view--forget ()
  "Stop listening."
  (mapc #'todo-write-unsubscribe efrit-do-view--handles)
  (setq efrit-do-view--handles nil))

;;; Opening

(defun efrit-do-view--buffer ()
  "Return the buffer to show a session in: one in which nothing is running."
  (let ((buffer (get-buffer-create "*efrit-do*")))
    (with-current-buffer buffer
      (if (and efrit-do-buffer-session
               (efrit-do-session-running-p efrit-do-buffer-session))
          (generate-new-buffer "*efrit-do*")
        buffer))))

(defun efrit-do-view-open (session)
  "Return a buffer that shows SESSION from now on."
  (let ((buffer (efrit-do-view--buffer))
        (thread (efrit-do-session-thread session)))
    (with-current-buffer buffer
      (efrit-do-view--forget)
      (efrit-do-view-mode)
      (setq efrit-do-buffer-session session
            default-directory (efrit-do-session-directory session)
            efrit-do-view--handles
            (list (efrit-do-view--listen buffer thread 'stream
                                         #'efrit-do-view--streamed)
                  (efrit-do-view--listen buffer thread 'observation
                                         #'efrit-do-view--observed)))
      (add-to-invisibility-spec 'efrit-do)
      (with-silent-modifications
        (erase-buffer)
        (remove-overlays)
        (efrit-do-view--insert (efrit-do-session-command session)
                               'efrit-do-command)
        (insert "\n\n"))
      (efrit-do-view--update-header))
    buffer))

(defun efrit-do-view-show (session)
  "Show SESSION in a window."
  (let ((window (display-buffer (efrit-do-view-open session))))
    (when window
      (with-current-buffer (window-buffer window)
        (set-window-point window (point-max))))))

;;; Commands

(defun efrit-do-view-quit ()
  "Deactivate the mark; else stop the agent, if it is running; else quit."
  (interactive)
  (if (and (not (region-active-p))
           (efrit-do-session-running-p efrit-do-buffer-session))
      (call-interactively #'efrit-do-cancel)
    (keyboard-quit)))

(defun efrit-do-view-todos ()
  "Show the plan of this buffer's session."
  (interactive)
  (todo-write-show (efrit-do-session-thread efrit-do-buffer-session)))

(defun efrit-do-view-log ()
  "Show all that was recorded of this buffer's session."
  (interactive)
  (todo-write-log (efrit-do-session-thread efrit-do-buffer-session)))

(provide 'efrit-do-view)
;;; efrit-do-view.el ends here
