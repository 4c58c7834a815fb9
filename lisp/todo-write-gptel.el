;;; todo-write-gptel.el --- Plans in gptel chats  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The tool `todo_write' for gptel (https://github.com/karthink/gptel):
;;
;;     (todo-write-gptel-register)
;;
;; It does not matter whether gptel is loaded yet.  From then on each chat can
;; keep a plan.  The chat's header line shows how far it has come; the whole of
;; it is in `M-x todo-write-show' and, if you like, in the chat:
;;
;;     (setq todo-write-gptel-in-chat 'folded)
;;
;; gptel-agent has a tool of its own, TodoWrite.  Its lists are shown here, too.
;; For its agents to hear of your edits, let ours stand in for it:
;;
;;     (todo-write-gptel-replace-agent-tool)

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'todo-write)
(require 'todo-write-mode-line)
(require 'todo-write-row)
(require 'todo-write-view)

(defvar gptel--fsm-last)
(defvar gptel-mode)
(defvar gptel-tools)
(defvar gptel-use-header-line)
(declare-function gptel-fsm-info "ext:gptel-request")
(declare-function gptel-fsm-state "ext:gptel-request")
(declare-function gptel-get-tool "ext:gptel-request")
(declare-function gptel-make-tool "ext:gptel-request")
(declare-function gptel-tool-name "ext:gptel-request")

(defcustom todo-write-gptel-header-line t
  "Non-nil shows the progress of a chat's plan in its header line."
  :type 'boolean
  :group 'todo-write)

(defcustom todo-write-gptel-header-width 48
  "Columns that the plan takes in the header line of a chat at most."
  :type 'natnum
  :group 'todo-write)

(defcustom todo-write-gptel-in-chat nil
  "Whether a chat shows its plan where the agent last wrote it.
What is shown there is no part of the chat: it is neither sent to the
model nor saved.  A click on it or `todo-write-gptel-toggle' folds and
unfolds it."
  :type '(choice (const :tag "No" nil)
                 (const :tag "Folded to a line" folded)
                 (const :tag "Unfolded" open))
  :group 'todo-write)

(defcustom todo-write-gptel-agent t
  "Non-nil shows the lists that gptel-agent's tool TodoWrite writes, too.
It is looked at by `todo-write-gptel-register'."
  :type 'boolean
  :group 'todo-write)

;;; The tool

;;;###autoload
(defun todo-write-gptel-register (&optional only-known)
  "Let gptel's models call todo_write; return the tool, or nil for later.
If gptel is not loaded yet, this is done when it is.  The tool joins the
default value of `gptel-tools', so that it is there in all chats.
ONLY-KNOWN non-nil, interactively with a prefix argument, leaves that
out: then the tool is there for presets, by its name \"todo_write\", and
in gptel's menu."
  (interactive "P")
  (if todo-write-gptel-agent
      (advice-add 'gptel-agent--write-todo :before #'todo-write-gptel--agent-wrote)
    (advice-remove 'gptel-agent--write-todo #'todo-write-gptel--agent-wrote))
  (todo-write-gptel--when-loaded
   'gptel (lambda () (todo-write-gptel--register only-known))))

(defvar todo-write-gptel--waiting nil
  "What waits to be loaded, as a list of (FEATURE . FUNCTION).")

(defun todo-write-gptel--when-loaded (feature function)
  "Call FUNCTION if FEATURE is there, and return its value, or when it is."
  (if (featurep feature)
      (funcall function)
    (push (cons feature function) todo-write-gptel--waiting)
    (add-hook 'after-load-functions #'todo-write-gptel--loaded)
    nil))

(defun todo-write-gptel--loaded (&rest _)
  "Call the functions that have waited for what is loaded now."
  (pcase-dolist ((and entry `(,feature . ,function))
                 (reverse todo-write-gptel--waiting))
    (when (featurep feature)
      (setq todo-write-gptel--waiting (delq entry todo-write-gptel--waiting))
      (funcall function)))
  (unless todo-write-gptel--waiting
    (remove-hook 'after-load-functions #'todo-write-gptel--loaded)))

(defun todo-write-gptel--register (only-known)
  "Make the tool, add it to `gptel-tools' unless ONLY-KNOWN; return it."
  (todo-write-gptel--watch)
  (let ((tool (todo-write-gptel--make-tool "todo_write" "todo-write")))
    (unless only-known
      (set-default 'gptel-tools
                   (append (seq-remove (lambda (other)
                                         (equal (gptel-tool-name other) "todo_write"))
                                       (default-value 'gptel-tools))
                           (list tool))))
    tool))

(defun todo-write-gptel--make-tool (name category)
  "Return a gptel tool NAME of CATEGORY that writes the plan of a chat."
  (let ((schema (todo-write-tool-schema)))
    (gptel-make-tool
     :name name
     :category category
     :description (alist-get 'description schema)
     :args (todo-write-gptel--arguments (alist-get 'input_schema schema))
     :function #'todo-write-gptel--call)))

(defun todo-write-gptel--arguments (schema)
  "Return the properties of SCHEMA, an alist, as the arguments of a gptel tool."
  (cl-loop for (name . property) in (alist-get 'properties schema)
           collect (append (list :name (symbol-name name))
                           (todo-write--json-plist property)
                           (unless (seq-contains-p (alist-get 'required schema)
                                                   (symbol-name name))
                             (list :optional t)))))

(defun todo-write-gptel--call (todos)
  "Write TODOS, as the model of this chat sent them; return the answer as text.
What is wrong with them, the model is told so, too."
  (let* ((thread (todo-write-gptel--attach))
         (outcome (todo-write thread (list :todos todos) "gptel")))
    (when (plist-get outcome :ok)
      (todo-write-gptel--place)
      (todo-write-gptel--update thread))
    (plist-get outcome :result)))

;;; The thread of a chat

(defvar-local todo-write-gptel-thread nil
  "Key of the thread of this chat, once its model has called todo_write.")

(defvar todo-write-gptel--chats (make-hash-table :test #'equal)
  "The buffers of chats with a plan, by the key of their thread.")

(defun todo-write-gptel--attach ()
  "Return the key of the thread of this buffer, which is a chat from now on.
A chat that visits a file has the same key again in later sessions."
  (unless todo-write-gptel-thread
    (setq todo-write-gptel-thread
          (concat "gptel:"
                  (if buffer-file-name
                      (abbreviate-file-name (file-truename buffer-file-name))
                    (format "%s %s" (buffer-name)
                            (format-time-string "%Y-%m-%d %H:%M:%S.%3N")))))
    ;; `todo-write-show' shows the plan of the buffer it is called in.
    (setq-local todo-write-view-thread todo-write-gptel-thread)
    (add-hook 'kill-buffer-hook #'todo-write-gptel--killed nil t))
  (puthash todo-write-gptel-thread (current-buffer) todo-write-gptel--chats)
  (todo-write-listen #'todo-write-gptel--heard)
  todo-write-gptel-thread)

(defun todo-write-gptel--heard (thread what _data)
  "Show the plan of THREAD in its chat if WHAT happened to it shows there."
  (when (memq what '(change state))
    (todo-write-gptel--update thread)))

(defun todo-write-gptel--update (thread)
  "Show the plan of THREAD as it is now in its chat, if it has one."
  (let ((buffer (gethash thread todo-write-gptel--chats)))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (todo-write-gptel--show-header)
        (todo-write-gptel--draw)))))

(defconst todo-write-gptel--advice
  '((gptel-abort :after todo-write-gptel--aborted)
    (gptel--fsm-transition :after todo-write-gptel--went-on)
    (gptel--display-tool-calls :before todo-write-gptel--asking)
    (gptel--accept-tool-calls :before todo-write-gptel--accepted)
    (gptel--reject-tool-calls :after todo-write-gptel--rejected))
  "What tells of gptel's requests, as (FUNCTION HOW ADVICE).")

(defun todo-write-gptel--watch ()
  "Listen to gptel's requests."
  (pcase-dolist (`(,function ,how ,advice) todo-write-gptel--advice)
    (advice-add function how advice)))

(defun todo-write-gptel--thread-of (buffer)
  "Return the key of the thread of the chat BUFFER, or nil.
There is none before its model has called the tool."
  (and (buffer-live-p buffer)
       (buffer-local-value 'todo-write-gptel-thread buffer)))

(defun todo-write-gptel--went-on (request &rest _)
  "Say what the agent of the chat of REQUEST, as gptel keeps it, does now."
  (let* ((info (gptel-fsm-info request))
         (state (gptel-fsm-state request))
         (thread (todo-write-gptel--thread-of (plist-get info :buffer))))
    ;; Handlers of a state go on to the next one: that was told already.
    (when (and thread (not (eq state (plist-get info :todo-write-told))))
      (plist-put info :todo-write-told state)
      (pcase state
        ('DONE (todo-write-end-turn thread))
        ('ERRS (todo-write-end-turn thread (todo-write-gptel--error info) t))
        ('ABRT (todo-write-end-turn thread "aborted"))
        ;; gptel may be asking for a permission in this state.
        ('TOOL)
        (_ (todo-write-set-activity thread 'working))))))

(defun todo-write-gptel--error (info)
  "Return what went wrong with the request that has INFO, as a short line."
  (let ((problem (plist-get info :error)))
    (todo-write-row-line
     (format "%s" (or (and (stringp problem) problem)
                      (plist-get (and (proper-list-p problem) problem) :message)
                      (plist-get info :status)
                      "error"))
     60)))

(defun todo-write-gptel--asking (calls info &rest _)
  "Say that the agent of the chat in INFO waits for a permission for CALLS."
  (when-let* ((thread (todo-write-gptel--thread-of (plist-get info :buffer))))
    (todo-write-set-activity
     thread 'waiting
     (todo-write-row-line
      (concat "permission: " (mapconcat (lambda (call) (gptel-tool-name (car call)))
                                        calls ", "))
      60))))

(defun todo-write-gptel--chat (overlay)
  "Return the chat that shows OVERLAY, if that is one, else the current buffer."
  (or (and (overlayp overlay) (overlay-buffer overlay))
      (current-buffer)))

(defun todo-write-gptel--accepted (&optional _calls overlay)
  "Say that the agent whose chat shows OVERLAY works again."
  (when-let* ((thread (todo-write-gptel--thread-of (todo-write-gptel--chat overlay))))
    (todo-write-set-activity thread 'working)))

(defun todo-write-gptel--rejected (&optional _calls overlay)
  "Pause the plan of the chat that shows OVERLAY, as its calls were cancelled."
  (when-let* ((thread (todo-write-gptel--thread-of (todo-write-gptel--chat overlay))))
    (todo-write-end-turn thread "tool calls cancelled")))

(defun todo-write-gptel--aborted (&optional buffer)
  "Pause the plan of BUFFER, a chat whose request was aborted."
  (when-let* ((thread (todo-write-gptel--thread-of (or buffer (current-buffer)))))
    (todo-write-end-turn thread "aborted")))

(defun todo-write-gptel--killed ()
  "Pause the plan of the current buffer, which is about to go."
  (remhash todo-write-gptel-thread todo-write-gptel--chats)
  (todo-write-end-turn todo-write-gptel-thread "the chat was closed"))

(defun todo-write-gptel--show-plan ()
  "Show the plan of this chat in a window of its own."
  (interactive nil gptel-mode)
  (todo-write-show todo-write-gptel-thread))

;;; The header line

(defvar-local todo-write-gptel--header nil
  "What the header line of this chat shows of its plan, a string or nil.
A header line shows the value of a variable literally, so a % in a task
is inert.")
;; Without this mark the header line would drop the mouse and help properties.
(put 'todo-write-gptel--header 'risky-local-variable t)

(defvar todo-write-gptel-header-map
  (let ((map (make-sparse-keymap)))
    (define-key map [header-line mouse-1] #'todo-write-gptel-mouse-show)
    map)
  "Keymap of the plan in the header line of a chat.")

(defun todo-write-gptel-mouse-show (event)
  "Show the plan of the chat in whose header line EVENT clicked."
  (interactive "e" gptel-mode)
  (with-selected-window (posn-window (event-start event))
    (todo-write-gptel--show-plan)))

(defun todo-write-gptel--show-header ()
  "Show the plan of this chat in its header line, if that is wanted."
  (setq todo-write-gptel--header
        (and todo-write-gptel-header-line
             (todo-write-gptel--header-string todo-write-gptel-thread)))
  (when (and todo-write-gptel--header
             (not (memq 'todo-write-gptel--header (flatten-tree header-line-format))))
    (setq header-line-format (todo-write-gptel--with-header header-line-format)))
  (force-mode-line-update))

(defun todo-write-gptel--with-header (format)
  "Return the header line FORMAT with the plan in it.
gptel's has three parts, of which it sets the second by its position and
aligns the third to the right: the plan stands between them."
  (pcase format
    ((and `(,backend ,status ,info . ,rest)
          (guard (and (bound-and-true-p gptel-mode)
                      (bound-and-true-p gptel-use-header-line))))
     `(,backend ,status ("" todo-write-gptel--header ,info) . ,rest))
    ('nil '("" todo-write-gptel--header))
    (_ `("" todo-write-gptel--header " " ,format))))

(defun todo-write-gptel--header-string (thread)
  "Return what the header line shows of THREAD, or nil for no plan."
  (let ((words (todo-write-mode-line-words thread todo-write-gptel-header-width 'still)))
    (when words
      (concat
       " "
       (propertize
        words 'face (todo-write-row-progress-face (todo-write-state thread))
        'mouse-face 'highlight
        'help-echo "mouse-1: show the plan"
        'local-map todo-write-gptel-header-map)))))

;;; In the chat

(defvar-local todo-write-gptel--overlay nil
  "The overlay that shows the plan in this chat, or nil.")

(defvar-local todo-write-gptel--unfolded nil
  "Non-nil if the plan in this chat is unfolded.")

(defvar todo-write-gptel-plan-map
  (let ((map (make-sparse-keymap)))
    (define-key map [mouse-1] #'todo-write-gptel-mouse-toggle)
    map)
  "Keymap of the plan in a chat.")

(defun todo-write-gptel--place ()
  "Put the plan in this chat where the model's answer has come to."
  (when todo-write-gptel-in-chat
    (let* ((info (and (bound-and-true-p gptel--fsm-last)
                      (gptel-fsm-info gptel--fsm-last)))
           (position (or (plist-get info :tracking-marker)
                         (plist-get info :position)
                         (point-max))))
      (if (overlayp todo-write-gptel--overlay)
          (move-overlay todo-write-gptel--overlay position position (current-buffer))
        (setq todo-write-gptel--unfolded (eq todo-write-gptel-in-chat 'open)
              todo-write-gptel--overlay (make-overlay position position))))))

(defun todo-write-gptel--draw ()
  "Draw the plan in this chat anew, if it is shown there."
  (when (overlayp todo-write-gptel--overlay)
    (overlay-put
     todo-write-gptel--overlay 'before-string
     (propertize (todo-write-gptel--string
                  (save-excursion
                    (goto-char (overlay-start todo-write-gptel--overlay))
                    (bolp)))
                 'mouse-face 'highlight
                 'keymap todo-write-gptel-plan-map))))

(defun todo-write-gptel--string (bol)
  "Return the plan of this chat as lines; BOL says that it begins a line."
  (let* ((summary (todo-write-summary todo-write-gptel-thread))
         (paused (eq (plist-get summary :state) 'paused))
         (width 72)
         (items (and todo-write-gptel--unfolded
                     (todo-write-items todo-write-gptel-thread))))
    (todo-write-row-string
      (unless bol (insert "\n"))
      (todo-write-row-insert-header summary width)
      (insert "\n")
      (seq-doseq (item items)
        (todo-write-row-insert item (todo-write-row-kind item paused) nil width)))))

(defun todo-write-gptel-toggle ()
  "Fold or unfold the plan in this chat.
Signals a `user-error' if none is shown there."
  (interactive nil gptel-mode)
  (unless (overlayp todo-write-gptel--overlay)
    (user-error "There is no plan in this chat; see `todo-write-gptel-in-chat'"))
  (setq todo-write-gptel--unfolded (not todo-write-gptel--unfolded))
  (todo-write-gptel--draw))

(defun todo-write-gptel-mouse-toggle (event)
  "Fold or unfold the plan that EVENT clicked on."
  (interactive "e" gptel-mode)
  (with-current-buffer (window-buffer (posn-window (event-start event)))
    (todo-write-gptel-toggle)))

;;; gptel-agent

(defun todo-write-gptel--agent-wrote (todos)
  "Write TODOS, the list that gptel-agent's own tool got in this chat.
The tool answers its model itself."
  (with-demoted-errors "The plan of gptel-agent: %S"
    (todo-write-gptel--call todos)
    (todo-write-set-activity todo-write-gptel-thread 'working)))

(defvar todo-write-gptel--agent-tool nil
  "The tool TodoWrite of gptel-agent while ours stands in for it, or nil.")

;;;###autoload
(defun todo-write-gptel-replace-agent-tool (&optional restore)
  "Let gptel-agent's tool TodoWrite write plans here.
Its agents go on calling it by that name.  If gptel-agent is not loaded
yet, this is done when it is.  RESTORE non-nil, interactively with a
prefix argument, puts its own tool back.  Signals `user-error' if it has
none of that name."
  (interactive "P")
  (todo-write-gptel--when-loaded
   'gptel-agent-tools
   (if restore #'todo-write-gptel--restore-agent-tool
     #'todo-write-gptel--replace-agent-tool)))

(defun todo-write-gptel--replace-agent-tool ()
  "Put our tool in place of gptel-agent's, and return it."
  (let ((old (ignore-errors (gptel-get-tool '("gptel-agent" "TodoWrite")))))
    (unless old
      (user-error "This gptel-agent has no tool TodoWrite"))
    (unless todo-write-gptel--agent-tool
      (todo-write-gptel--watch)
      (setq todo-write-gptel--agent-tool old)
      (todo-write-gptel--swap
       old (todo-write-gptel--make-tool "TodoWrite" "gptel-agent")))))

(defun todo-write-gptel--restore-agent-tool ()
  "Put gptel-agent's own tool back, and return it."
  (when todo-write-gptel--agent-tool
    (let ((ours (gptel-get-tool '("gptel-agent" "TodoWrite")))
          (known (cdr (assoc "gptel-agent" (symbol-value 'gptel--known-tools)))))
      (setf (alist-get "TodoWrite" known nil nil #'equal)
            todo-write-gptel--agent-tool)
      (prog1 (todo-write-gptel--swap ours todo-write-gptel--agent-tool)
        (setq todo-write-gptel--agent-tool nil)))))

(defun todo-write-gptel--swap (old new)
  "Use the tool NEW instead of OLD wherever it is switched on; return NEW."
  (let ((swapped (lambda (tools) (seq-map (lambda (tool) (if (eq tool old) new tool))
                                          tools))))
    (set-default 'gptel-tools (funcall swapped (default-value 'gptel-tools)))
    (dolist (buffer (buffer-list))
      (when (local-variable-p 'gptel-tools buffer)
        (with-current-buffer buffer
          (setq gptel-tools (funcall swapped gptel-tools)))))
    new))

(provide 'todo-write-gptel)
;;; todo-write-gptel.el ends here
