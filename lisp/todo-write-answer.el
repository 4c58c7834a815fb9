;;; todo-write-answer.el --- Answer what agents ask  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `M-x todo-write-answer' shows in *todo-write-request* what an agent asks, see
;; todo-write-request.el: all of it, see todo-write-answer-text.el.
;;
;; Nothing is answered by accident.  A key counts only if it follows a pause, see
;; todo-write-answer-keys.el.  Nothing but "no" is taken before the end of the text was on
;; the screen, and what would be allowed always is asked a second time.  There is no default.

;;; Code:

(require 'map)
(require 'todo-write)
(require 'todo-write-agent)
(require 'todo-write-answer-keys)
(require 'todo-write-answer-text)
(require 'todo-write-attention)
(require 'todo-write-here)
(require 'todo-write-menu)
(require 'todo-write-page)
(require 'todo-write-request)
(require 'todo-write-row)
(require 'todo-write-text)

(defface todo-write-answer-key '((t :inherit help-key-binding))
  "Face of the keys that answer a request."
  :group 'todo-write-faces)

(defconst todo-write-answer-buffer "*todo-write-request*"
  "Name of the buffer that shows a request.")

(defvar-local todo-write-answer--request nil
  "The request shown in this buffer, or nil.")

(defvar-local todo-write-answer--detail nil
  "What the request is about, as it is shown, or nil.")

(defvar-local todo-write-answer--answered nil
  "Non-nil if the user has answered the request here.")

(defvar-local todo-write-answer--always nil
  "The option that the user may allow always, to be confirmed, or nil.")

(defvar-local todo-write-answer--answers nil
  "The user's answers so far, an alist of questions and strings or lists.")

(defvar-local todo-write-answer--chosen nil
  "The labels chosen so far for a question with several answers.")

(defvar-local todo-write-answer-comments nil
  "The user's comments on the detail, newest first, a list of (QUOTE . TEXT).
They go along with a no; see todo-write-answer-plan.el.")

(defvar-local todo-write-answer--edited nil
  "The detail as the user edited it, a string, or nil.")

(defvar todo-write-answer--drafts (make-hash-table :test #'eq :weakness 'key)
  "What the user wrote for open requests that are not shown, by request.
The values are lists (COMMENTS EDITED ANSWERS).")

(defvar-local todo-write-answer--end-seen nil
  "Non-nil if the end of the request was on the screen.")

;;; Which keys count

(defun todo-write-answer--note-end ()
  "Note whether the end of the request was on the screen."
  (unless todo-write-answer--end-seen
    (setq todo-write-answer--end-seen
          (seq-some (lambda (window) (pos-visible-in-window-p (point-max) window))
                    (get-buffer-window-list nil nil 'visible)))))

(defconst todo-write-answer--steps
  '((reading todo-write-answer-yes todo-write-answer-always todo-write-answer-no
             todo-write-answer-no-because todo-write-answer-choose)
    (question todo-write-answer-choose todo-write-answer-type todo-write-answer-done
              todo-write-answer-no todo-write-answer-no-because)
    ;; Of what would be allowed always.
    (confirming todo-write-answer-always))
  "The steps of a request, and the commands that answer in each.")

(defconst todo-write-answer--refusals '(todo-write-answer-no todo-write-answer-no-because)
  "The commands that allow nothing, which may answer what was not read to its end.")

(defun todo-write-answer--check (command)
  "Signal a `user-error' unless the key of COMMAND may answer in this step."
  (let* ((request (todo-write-answer-shown))
         (step (cond (todo-write-answer--always 'confirming)
                     ((plist-get request :questions) 'question)
                     (t 'reading))))
    (unless todo-write-answer-keys-counts
      (user-error "Wait: a key counts half a second after the last one"))
    (unless (memq command (alist-get step todo-write-answer--steps))
      (user-error (if (eq step 'confirming) "A allows it always; n goes back"
                    "This is no answer to this request")))
    (unless (or todo-write-answer--end-seen (memq command todo-write-answer--refusals))
      (user-error "Read to the end first: SPC scrolls"))))

(defun todo-write-answer-shown ()
  "Return the request in this buffer; signal a `user-error' if it is not open."
  (if (and todo-write-answer--request
           (todo-write-request-open-p todo-write-answer--request))
      todo-write-answer--request
    (user-error "This is no longer asked")))

;;; The buffer

(defvar todo-write-answer-mode-map
  (let ((map (make-sparse-keymap)))
    (dotimes (digit 9)
      (define-key map (number-to-string (1+ digit)) #'todo-write-answer-choose))
    (define-key map [remap keyboard-quit] #'todo-write-answer-leave)
    map)
  "Keymap of `todo-write-answer-mode'.")

(todo-write-menu-define 'todo-write-answer-mode todo-write-answer-mode-map "Request"
  '(("Answer"
     ("y" "Yes, once" todo-write-answer-yes)
     ("A" "Always…" todo-write-answer-always)
     ("n" "No" todo-write-answer-no)
     ("N" "No, because…" todo-write-answer-no-because)
     ("t" "Type an answer…" todo-write-answer-type)
     ("RET" "Give the chosen answers" todo-write-answer-done)
     ("u" "Change the last answer" todo-write-answer-change)
     ("c" "Comment on the lines…" todo-write-answer-comment)
     ("e" "Edit the plan" todo-write-answer-edit))
    ("Look"
     ("SPC" "Scroll" scroll-up-command)
     ("DEL" "Scroll back" scroll-down-command)
     ("o" "Its buffer, or where it runs" todo-write-answer-visit)
     ("q" "Leave it open" todo-write-answer-leave))))

(define-derived-mode todo-write-answer-mode special-mode "Request"
  "Major mode of the buffer that shows what an agent asks.

\\{todo-write-answer-mode-map}"
  :interactive nil
  (todo-write-menu-begin-mode)
  (buffer-disable-undo)
  (setq-local revert-buffer-function #'todo-write-answer-redraw)
  (add-hook 'kill-buffer-hook #'todo-write-answer--killed nil t))

;; Killing a clone would stop what runs for the original.
(put 'todo-write-answer-mode 'no-clone t)
(put 'todo-write-answer-mode 'no-clone-indirect t)

(defun todo-write-answer--keep-draft ()
  "Keep what the user wrote for the request in this buffer until it is shown again."
  (when (and (todo-write-request-open-p todo-write-answer--request)
             (seq-some #'identity (todo-write-answer--draft)))
    (puthash todo-write-answer--request (todo-write-answer--draft) todo-write-answer--drafts)))

(defun todo-write-answer--draft ()
  "Return what the user wrote in this buffer, as in `todo-write-answer--drafts'."
  (list todo-write-answer-comments todo-write-answer--edited todo-write-answer--answers))

(defun todo-write-answer--killed ()
  "Stop what runs only while this buffer exists."
  (todo-write-answer--keep-draft)
  ;; What was written for a request is copied when that is closed.
  (when (= 0 (hash-table-count todo-write-answer--drafts))
    (remove-hook 'todo-write-events-functions #'todo-write-answer--on-event))
  (todo-write-answer-keys-end))

(defun todo-write-answer--show (request)
  "Show REQUEST in the selected window or another one, and select that.
\\[keyboard-quit] while its text is made leaves it open, and everything as it is."
  (pcase-let* ((buffer (get-buffer-create todo-write-answer-buffer))
               (`(,comments ,edited ,answers)
                (progn (with-current-buffer buffer
                         (todo-write-answer--keep-draft))
                       (gethash request todo-write-answer--drafts)))
               (detail (or edited (todo-write-request-detail request)))
               (text (and detail (todo-write-answer-text detail (plist-get request :format)))))
    (with-current-buffer buffer
      (unless (derived-mode-p 'todo-write-answer-mode)
        (todo-write-answer-mode))
      (remhash request todo-write-answer--drafts)
      (setq todo-write-answer--request request
            todo-write-answer--detail text
            todo-write-answer--answered nil
            todo-write-answer--always nil
            todo-write-answer--answers answers
            todo-write-answer--chosen nil
            todo-write-answer-comments comments
            todo-write-answer--edited edited
            todo-write-answer--end-seen nil)
      (todo-write-answer--draw))
    (add-hook 'todo-write-events-functions #'todo-write-answer--on-event)
    ;; A new window below all others: none of them loses its buffer.
    (pop-to-buffer buffer '((display-buffer-reuse-window display-buffer-in-direction)
                            (direction . below) (window . root)
                            (window-height . todo-write-answer--fit)))
    (todo-write-answer--reset-window)
    (todo-write-answer-keys-begin #'todo-write-answer--note-end)))

(defun todo-write-answer--fit (window)
  "Fit WINDOW to its buffer, up to two thirds of its frame."
  (let ((most (max 10 (/ (* 2 (frame-height)) 3))))
    (with-current-buffer (window-buffer window)
      (save-excursion
        (save-restriction
          ;; Emacs would lay out all lines of a long text.
          (goto-char (point-min))
          (forward-line most)
          (narrow-to-region (point-min) (point))
          (fit-window-to-buffer window most))))))

(defun todo-write-answer--reset-window ()
  "Let the selected window show the beginning of its buffer, all of each line."
  (goto-char (point-min))
  (set-window-start nil (point-min))
  (set-window-hscroll nil 0))

(defun todo-write-answer--draw ()
  "Draw the request of the current buffer."
  ;; None of the user's options may cut or hide a part.
  (setq-local truncate-lines nil
              truncate-partial-width-windows nil
              word-wrap nil
              line-spacing nil
              tab-width 8
              selective-display nil
              buffer-invisibility-spec nil
              buffer-display-table nil
              bidi-paragraph-direction 'left-to-right
              header-line-format (todo-write-answer--header))
  (let ((inhibit-read-only t)
        (request todo-write-answer--request))
    (erase-buffer)
    (if (not (and request (todo-write-request-open-p request)))
        (insert "\n This is no longer asked.\n")
      (todo-write-answer--insert-who request)
      (insert " " (todo-write-answer-text (plist-get request :title)
                                          (todo-write-answer--prose request) 'todo-write-title)
              "\n\n")
      (when todo-write-answer--detail
        (insert (propertize todo-write-answer--detail 'todo-write-answer-detail t) "\n\n"))
      (when todo-write-answer--edited
        (insert " " (propertize "You edited this; a yes approves it as it stands here."
                                'face 'todo-write-attention)
                "\n\n"))
      (when todo-write-answer-comments
        (pcase-dolist (`(,quote . ,text) (reverse todo-write-answer-comments))
          (insert " > " (todo-write-text-line quote 200) "\n   "
                  (todo-write-answer-text text 'prose) "\n"))
        (insert " Your comments go along with a no.\n")
        (todo-write-answer--insert-choice "u" "take the last comment back"
                                          #'todo-write-answer-change)
        (insert "\n"))
      (todo-write-answer--insert-choices request))
    ;; The end of the text is on the screen with its last line.
    (delete-char -1)
    (set-buffer-modified-p nil)))

(defun todo-write-answer-edit-to (text)
  "Let a yes to the request in this buffer carry TEXT in place of its detail.
It is shown as a request is that was not read yet."
  (let ((request (todo-write-answer-shown)))
    (setq todo-write-answer--edited (and (not (equal text (todo-write-request-detail request)))
                                         text)
          todo-write-answer--detail (todo-write-answer-text text (plist-get request :format))
          todo-write-answer--always nil)
    (todo-write-answer--ask)))

(defun todo-write-answer--prose (request)
  "Return the format of the title and the labels of REQUEST."
  (if (eq 'permission (plist-get request :kind)) 'text 'prose))

(defun todo-write-answer-redraw (&rest _)
  "Draw the request again, at the same place."
  (todo-write-page-keep (lambda (position &optional _start) position)
                        (lambda (position) (min position (point-max)))
                        #'todo-write-answer--draw))

(defun todo-write-answer--header ()
  "Return the header line, which has no words of agents."
  (let ((request todo-write-answer--request))
    (concat " "
            (string-join
             (delq nil
                   (list (and (todo-write-answer--option 'allow) "y once")
                         (and (todo-write-answer--option 'always) "A always")
                         (and (todo-write-answer--option 'deny) "n no")
                         (and (plist-get (todo-write-answer--option 'deny) :text)
                              "N because…")
                         (and (todo-write-answer-comment-p) "c comment")
                         (and (todo-write-answer-editable) "e edit")
                         (and (or (plist-get request :questions)
                                  (todo-write-answer--numbered))
                              (plist-get request :answer)
                              "1–9 choose")
                         "SPC scroll"
                         (concat "o " (todo-write-answer--way request))
                         "q later" "? menu"))
             "  "))))

(defun todo-write-answer--way (request)
  "Return what `todo-write-answer-visit' does for REQUEST, in words."
  (if (or (plist-get request :visit)
          (and request (todo-write-attention-reachable-p (plist-get request :thread))))
      "goes there"
    "shows where it runs"))

(defun todo-write-answer--insert-who (request)
  "Insert a line that says who asks REQUEST, since when, and for which task."
  (let* ((thread (plist-get request :thread))
         (about (todo-write-about thread))
         (agent (todo-write-attention-agent-of thread))
         (task (plist-get (todo-write-summary thread) :current)))
    (insert " "
            (propertize
             (string-join
              (delq nil
                    (list (todo-write-text-line
                           (or (plist-get about :agent) "an agent") 30)
                          (and (plist-get about :project) (todo-write-agent-folder agent))
                          (let ((age (todo-write-text-age
                                      (/ (plist-get request :since) 1000.0))))
                            (if (equal age "now") "asks now" (concat "asked " age " ago")))
                          (and task (todo-write-text-truncate
                                     (todo-write-row-text task 'in_progress) 60))))
              (concat " " (todo-write-text-shape 'dot) " "))
             'face 'todo-write-time)
            "\n")))

;;; Choices

(defun todo-write-answer--option (kind)
  "Return the first option of KIND of this buffer's request, or nil."
  (and (plist-get todo-write-answer--request :answer)
       (seq-find (lambda (option) (eq kind (plist-get option :kind)))
                 (plist-get todo-write-answer--request :options))))

(defun todo-write-answer-comment-p ()
  "Return non-nil if comments on the detail may go along with a no."
  (and (eq 'plan (plist-get todo-write-answer--request :kind))
       (plist-get (todo-write-answer--option 'deny) :text)))

(defun todo-write-answer-editable ()
  "Return the text that the user may edit before a yes to this request, or nil."
  (let ((detail (plist-get todo-write-answer--request :detail)))
    (and (stringp detail)
         (plist-get todo-write-answer--request :answer)
         (seq-some (lambda (option) (eq 'edited (plist-get option :text)))
                   (plist-get todo-write-answer--request :options))
         (or todo-write-answer--edited detail))))

(defun todo-write-answer--numbered ()
  "Return the options of this buffer's request that digits choose."
  (let ((lettered (mapcar #'todo-write-answer--option '(allow always deny))))
    (seq-remove (lambda (option) (memq option lettered))
                (plist-get todo-write-answer--request :options))))

(defun todo-write-answer--question ()
  "Return the question of this buffer's request that is to be answered next."
  (seq-find (lambda (question)
              (not (assoc (plist-get question :question) todo-write-answer--answers)))
            (plist-get todo-write-answer--request :questions)))

(defun todo-write-answer--insert-choices (request)
  "Insert the possible answers to REQUEST and their keys."
  (cond ((null (plist-get request :answer))
         (insert " Emacs cannot answer this; answer it there:\n")
         (todo-write-answer--insert-choice "o" (todo-write-answer--way request)
                                           #'todo-write-answer-visit))
        (todo-write-answer--always
         (insert " " (propertize "Always: " 'face 'todo-write-attention)
                 (todo-write-answer-text (plist-get todo-write-answer--always :label) 'text)
                 "\n From now on, nothing of this is asked.\n")
         (todo-write-answer--insert-choice "A" "yes, always" #'todo-write-answer-always)
         (todo-write-answer--insert-choice "n" "back" #'todo-write-answer-no))
        ((plist-get request :questions)
         (todo-write-answer--insert-question))
        (t (todo-write-answer--insert-options))))

(defun todo-write-answer--insert-choice (key label command &optional note)
  "Insert a line with KEY, which runs COMMAND, LABEL and NOTE, a string or nil.
KEY may be the number of an answer: after the ninth, no key chooses it.
Both texts are shown whole."
  (let ((format (todo-write-answer--prose todo-write-answer--request)))
    (insert "   ")
    (insert-text-button (cond ((stringp key) key)
                              ((< key 10) (number-to-string key))
                              (t (todo-write-text-shape 'dot)))
                        'face 'todo-write-answer-key
                        'follow-link t
                        'action (lambda (_)
                                  (if (stringp key) (call-interactively command)
                                    (funcall command key))))
    (insert "  " (todo-write-answer-text label format))
    (when (and note (not (string-empty-p note)))
      ;; For Emacs, a space separates texts of which one is written from right to left.
      (insert (propertize "  " 'display '(space :width 2))
              (todo-write-answer-text note format 'todo-write-detail)))
    (insert "\n")))

(defun todo-write-answer--insert-options ()
  "Insert the options of a permission or a plan."
  (pcase-dolist (`(,kind ,key ,command ,note)
                 '((allow "y" todo-write-answer-yes "(once)")
                   (always "A" todo-write-answer-always "(asks again)")
                   (deny "n" todo-write-answer-no nil)))
    (when-let* ((option (todo-write-answer--option kind)))
      (todo-write-answer--insert-choice
       key (plist-get option :label) command
       ;; A plan is approved once in any case.
       (unless (and (eq kind 'allow) (eq 'plan (plist-get todo-write-answer--request :kind)))
         note))
      (when (and (eq kind 'deny) (plist-get option :text))
        (todo-write-answer--insert-choice "N" (plist-get option :label)
                                          #'todo-write-answer-no-because
                                          "(with a message)"))))
  (cl-loop for option in (todo-write-answer--numbered)
           for number from 1
           do (todo-write-answer--insert-choice number (plist-get option :label)
                                                #'todo-write-answer-choose)))

(defun todo-write-answer--insert-question ()
  "Insert the questions answered so far, the next one, and its choices."
  (pcase-dolist (`(,question . ,answer) (reverse todo-write-answer--answers))
    (insert " " (todo-write-text-shape 'completed) " "
            (propertize (concat (todo-write-text-line question 200) "  "
                                (todo-write-text-line (string-join (ensure-list answer) ", ") 200))
                        'face 'todo-write-completed)
            "\n"))
  (when todo-write-answer--answers
    (todo-write-answer--insert-choice "u" "change the last answer" #'todo-write-answer-change))
  (when-let* ((question (todo-write-answer--question)))
    (insert (todo-write-answer-text (plist-get question :question) 'prose 'todo-write-title)
            "\n")
    (cl-loop for option in (plist-get question :options)
             for number from 1
             for label = (plist-get option :label)
             do (todo-write-answer--insert-choice
                 number
                 (if (plist-get question :multiple)
                     (concat (if (member label todo-write-answer--chosen) "[x] " "[ ] ") label)
                   label)
                 #'todo-write-answer-choose (plist-get option :description)))
    (todo-write-answer--insert-choice "t" "type an answer" #'todo-write-answer-type)
    (when (plist-get question :multiple)
      (todo-write-answer--insert-choice "RET" "give the chosen answers"
                                        #'todo-write-answer-done)))
  (when-let* ((option (todo-write-answer--option 'deny)))
    (todo-write-answer--insert-choice "n" (plist-get option :label) #'todo-write-answer-no)))

;;; Answering

(defun todo-write-answer--give (value &optional text)
  "Answer this buffer's request with VALUE and TEXT, and show what follows."
  (setq todo-write-answer--answered t)
  (let* ((request todo-write-answer--request)
         (given (todo-write-answer-request (plist-get request :thread)
                                           (plist-get request :id) value text)))
    (unless given
      (message "This was answered elsewhere"))))

(defun todo-write-answer--approve (option)
  "Give OPTION, with the detail as the user edited it, if that may go along."
  (when todo-write-answer-comments
    (user-error "Your comments go along with a no; u takes them back"))
  (let ((may-go-along (eq 'edited (plist-get option :text))))
    (when (and todo-write-answer--edited (not may-go-along))
      (user-error "This answer takes no edited text"))
    (todo-write-answer--give (plist-get option :value)
                             (and may-go-along todo-write-answer--edited))))

(defun todo-write-answer--words (comments edited texts)
  "Return COMMENTS, TEXTS and the EDITED plan as one text, or nil without any."
  (when (or comments edited texts)
    (string-join
     (append (mapcar (pcase-lambda (`(,quote . ,comment))
                       (concat (replace-regexp-in-string "^" "> " quote) "\n" comment))
                     (reverse comments))
             texts
             (and edited (list (concat "The plan as the user edited it:\n" edited))))
     "\n\n")))

(defun todo-write-answer--take (kind)
  "Return the option of KIND, or signal a `user-error' if it has no such option."
  (or (todo-write-answer--option kind)
      (user-error "This is no answer to this request")))

(defun todo-write-answer-yes ()
  "Allow once what the agent asks for."
  (interactive nil todo-write-answer-mode)
  (todo-write-answer--check #'todo-write-answer-yes)
  (todo-write-answer--approve (todo-write-answer--take 'allow)))

(defun todo-write-answer-always ()
  "Allow always what the agent asks for, after saying what that is."
  (interactive nil todo-write-answer-mode)
  (todo-write-answer--check #'todo-write-answer-always)
  (if todo-write-answer--always
      (todo-write-answer--approve todo-write-answer--always)
    (todo-write-answer--confirm-always (todo-write-answer--take 'always))))

(defun todo-write-answer--confirm-always (option)
  "Say what OPTION allows always, and let A confirm it after a pause."
  (setq todo-write-answer--always option)
  (todo-write-answer--draw)
  (goto-char (point-max))
  (todo-write-answer-keys-begin #'todo-write-answer--note-end))

(defun todo-write-answer-no ()
  "Refuse what the agent asks for, or take back an \"always\" that is not confirmed."
  (interactive nil todo-write-answer-mode)
  (if todo-write-answer--always
      (todo-write-answer--take-back)
    (todo-write-answer--check #'todo-write-answer-no)
    (let ((option (todo-write-answer--take 'deny)))
      (todo-write-answer--give (plist-get option :value)
                               (and (plist-get option :text)
                                    (todo-write-answer--words todo-write-answer-comments
                                                              todo-write-answer--edited nil))))))

(defun todo-write-answer--take-back ()
  "Show the request again in place of the confirmation of \"always\"."
  (setq todo-write-answer--always nil)
  (todo-write-answer--draw)
  (todo-write-answer--reset-window))

(defun todo-write-answer-no-because ()
  "Refuse what the agent asks for, with a message to it."
  (interactive nil todo-write-answer-mode)
  (todo-write-answer--check #'todo-write-answer-no-because)
  (let ((option (todo-write-answer--take 'deny))
        (buffer (current-buffer))
        (request todo-write-answer--request))
    (unless (plist-get option :text)
      (user-error "This agent takes no message with a no"))
    (let ((text (string-trim (read-string "No, because: "))))
      (when (string-empty-p text)
        (user-error "Nothing was answered"))
      (todo-write-answer-return buffer request)
      (todo-write-answer--give (plist-get option :value)
                               (todo-write-answer--words todo-write-answer-comments
                                                         todo-write-answer--edited (list text))))))

(defun todo-write-answer-return (buffer request)
  "Go back to BUFFER, or signal a `user-error' if REQUEST is no longer shown.
It may have been answered elsewhere while the user typed."
  (unless (and (buffer-live-p buffer)
               (eq request (buffer-local-value 'todo-write-answer--request buffer))
               (todo-write-request-open-p request))
    (user-error "This was answered elsewhere"))
  (set-buffer buffer))

(defun todo-write-answer-choose (&optional number)
  "Choose the answer with NUMBER, by default that of the key."
  (interactive nil todo-write-answer-mode)
  (todo-write-answer--check #'todo-write-answer-choose)
  (let* ((question (todo-write-answer--question))
         (place (if number (1- number) (seq-position "123456789" last-command-event)))
         (option (or (and place (nth place (if question (plist-get question :options)
                                             (todo-write-answer--numbered))))
                     (user-error "No answer has this number")))
         (label (plist-get option :label)))
    (cond ((plist-get question :multiple)
           (setq todo-write-answer--chosen
                 (if (member label todo-write-answer--chosen)
                     (delete label todo-write-answer--chosen)
                   (append todo-write-answer--chosen (list label))))
           (todo-write-answer-redraw))
          (question (todo-write-answer--answer question label))
          ((eq (plist-get option :kind) 'always)
           (todo-write-answer--confirm-always option))
          (t (todo-write-answer--approve option)))))

(defun todo-write-answer-done ()
  "Give the answers chosen to a question that takes several."
  (interactive nil todo-write-answer-mode)
  (if-let* ((button (and (not (plist-get (todo-write-answer--question) :multiple))
                         (button-at (point)))))
      (push-button button)
    (todo-write-answer--check #'todo-write-answer-done)
    (unless todo-write-answer--chosen
      (user-error "Nothing is chosen"))
    (todo-write-answer--answer (todo-write-answer--question) todo-write-answer--chosen)))

(defun todo-write-answer-type ()
  "Type an answer to the question."
  (interactive nil todo-write-answer-mode)
  (todo-write-answer--check #'todo-write-answer-type)
  (let ((question (or (todo-write-answer--question)
                      (user-error "This is no answer to this request")))
        (buffer (current-buffer))
        (request todo-write-answer--request)
        (text (string-trim (read-string "Answer: "))))
    (when (string-empty-p text)
      (user-error "Nothing was answered"))
    (todo-write-answer-return buffer request)
    (todo-write-answer--answer question (if (plist-get question :multiple) (list text) text))))

(defun todo-write-answer--answer (question answer)
  "Note ANSWER to QUESTION; after the last question, give all answers."
  (push (cons (plist-get question :question) answer) todo-write-answer--answers)
  (setq todo-write-answer--chosen nil)
  (if (todo-write-answer--question)
      (todo-write-answer--ask)
    (todo-write-answer--give (reverse todo-write-answer--answers))))

(defun todo-write-answer--ask ()
  "Show the next question."
  (setq todo-write-answer--end-seen nil)
  (todo-write-answer--draw)
  (todo-write-answer--fit (selected-window))
  (todo-write-answer--reset-window)
  (todo-write-answer-keys-begin #'todo-write-answer--note-end))

(defun todo-write-answer-change ()
  "Ask the last question again whose answer was not given yet.
For a plan, take back the last comment."
  (interactive nil todo-write-answer-mode)
  (todo-write-menu-require 'todo-write-answer-mode)
  (cond (todo-write-answer--answers
         (pop todo-write-answer--answers)
         (setq todo-write-answer--chosen nil)
         (todo-write-answer--ask))
        (todo-write-answer-comments
         (pop todo-write-answer-comments)
         (todo-write-answer-redraw))
        (t (user-error "Nothing is answered yet"))))

;;; Going elsewhere

(defun todo-write-answer-visit ()
  "Go to the buffer of the agent that asks; if it has none, say where it runs."
  (interactive nil todo-write-answer-mode)
  (let ((request (or todo-write-answer--request (user-error "This is no longer asked"))))
    (if (plist-get request :visit)
        (funcall (plist-get request :visit))
      (todo-write-attention-visit-agent-of (plist-get request :thread)))))

(defun todo-write-answer-leave ()
  "Leave the request open, or take back an \"always\" that is not confirmed."
  (interactive nil todo-write-answer-mode)
  (todo-write-menu-require 'todo-write-answer-mode)
  (if (not todo-write-answer--always)
      (progn (quit-window)
             (message "Left open; M-x todo-write-answer shows it again"))
    (todo-write-answer--take-back)))

;;;###autoload
(defun todo-write-answer (&optional thread)
  "Show what an agent asks, to answer it.
THREAD is the key of the agent's thread; by default, that of the row at
point in the overview, else that of this buffer's plan, else the agent
that has waited longest.  After an answer, the next request is shown."
  (interactive)
  (let* ((thread (or thread (todo-write-here-thread-here)))
         (requests (todo-write-requests))
         (own (and thread
                   (seq-find (lambda (request)
                               (let ((key (plist-get request :thread)))
                                 (or (equal key thread)
                                     ;; A subagent of it.
                                     (equal thread (car (todo-write-parent key))))))
                             requests))))
    (if-let* ((request (or own (and (not (todo-write-answer--waits-p thread))
                                    (car requests)))))
        (todo-write-answer--show request)
      (todo-write-answer--refer-to thread))))

;; An agent may wait in its terminal without a request in this Emacs.

(defun todo-write-answer--waits-p (thread)
  "Return non-nil if the agent of THREAD is known to wait for the user."
  (and thread (eq 'waiting (car (todo-write-activity thread)))))

(defun todo-write-answer--refer-to (thread)
  "Say that the agent of THREAD, or any other, asks nothing here.
If one waits elsewhere, say where.  THREAD may be nil."
  (let* ((agents (todo-write-agents))
         (own (seq-find (lambda (agent) (equal thread (plist-get agent :thread))) agents))
         (agent (if (or (todo-write-answer--waits-p thread)
                        (not (eq 'waiting (and agents (todo-write-agent-state (car agents))))))
                    own
                  (car agents)))
         ;; These may not tell of their questions.  The plugin for opencode knows the
         ;; sessions, whose ids are no numbers.
         (silent (when thread
                   (pcase-let (((map :program :session)
                                (todo-write-core-call todo-write-dyn--identity thread)))
                     (and (or (member program '("codex" "gemini"))
                              (and (equal program "opencode") (string-match-p "\\`[0-9]" session)))
                          program)))))
    (user-error
     "%s"
     (cond ((and agent (eq 'waiting (todo-write-agent-state agent)))
            (concat (todo-write-attention-line agent) "; answer it there"
                    (todo-write-answer--place agent)))
           ((and silent own)
            (concat (todo-write-agent-program-label silent) " has told of no question; look there"
                    (todo-write-answer--place own)))
           (t "No agent asks anything")))))

(defun todo-write-answer--place (agent)
  "Return where AGENT can be answered, in words.
If that is a buffer of this Emacs, name the key that goes there, too."
  (concat
   (if-let* ((place (todo-write-attention-place agent))) (concat ", in " place) "")
   (substitute-command-keys
    (cond ((not (todo-write-attention-reachable-p (plist-get agent :thread))) "")
          ((derived-mode-p 'todo-write-list-mode 'todo-write-view-mode)
           "; \\<todo-write-view-mode-map>\\[todo-write-view-visit-agent] goes there")
          ((eq 'waiting (todo-write-agent-state agent))
           "; \\[todo-write-next-waiting] goes there")
          (t "")))))

;;; What follows

(defun todo-write-answer--on-event (thread what id)
  "Show what follows when the request ID of THREAD was closed.
WHAT is as in `todo-write-events-functions'."
  (when (eq what 'request)
    (maphash (lambda (request draft)
               (unless (todo-write-request-open-p request)
                 (remhash request todo-write-answer--drafts)
                 (run-at-time 0 nil #'todo-write-answer--save-draft draft)))
             todo-write-answer--drafts)
    (when-let* ((buffer (get-buffer todo-write-answer-buffer))
                (request (buffer-local-value 'todo-write-answer--request buffer))
                ((equal id (plist-get request :id)))
                ((equal thread (plist-get request :thread)))
                ((not (todo-write-request-open-p request))))
      (with-current-buffer buffer
        (unless todo-write-answer--answered
          (run-at-time 0 nil #'todo-write-answer--save-draft (todo-write-answer--draft))))
      ;; Return from the answer first: the next question may be asked by then.
      (run-at-time 0 nil #'todo-write-answer--follow request))
    (unless (or (get-buffer todo-write-answer-buffer)
                (< 0 (hash-table-count todo-write-answer--drafts)))
      (remove-hook 'todo-write-events-functions #'todo-write-answer--on-event))))

(defun todo-write-answer--follow (request)
  "Show the request after REQUEST, which was closed, or nothing.
Only the window of REQUEST changes, and only if the user is in it and has
answered does the next request come there: others may come and go faster
than anyone can leave them."
  (when-let* ((buffer (get-buffer todo-write-answer-buffer))
              ((eq request (buffer-local-value 'todo-write-answer--request buffer))))
    (let ((next (and (eq buffer (window-buffer (selected-window)))
                     (buffer-local-value 'todo-write-answer--answered buffer)
                     (car (todo-write-requests)))))
      ;; A timer calls this, in which a quit would wait.
      (unless (and next (with-local-quit (todo-write-answer--show next) t))
        (quit-windows-on buffer t)
        (when (buffer-live-p buffer)
          (kill-buffer buffer))))))

(defun todo-write-answer--save-draft (draft)
  "Copy DRAFT, as in `todo-write-answer--drafts', of a request that was closed."
  (when-let* ((text (todo-write-answer--words
                     (nth 0 draft) (nth 1 draft)
                     (mapcar (pcase-lambda (`(,question . ,answer))
                               (concat question "\n" (string-join (ensure-list answer) ", ")))
                             (reverse (nth 2 draft))))))
    (kill-new text)
    (message "This is no longer asked; what you wrote for it is in the kill ring")))

(provide 'todo-write-answer)
;;; todo-write-answer.el ends here
