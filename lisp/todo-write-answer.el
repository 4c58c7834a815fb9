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

(require 'todo-write-answer-keys)
(require 'todo-write-answer-text)
(require 'todo-write-attention)
(require 'todo-write-compose)
(require 'todo-write-request)
(require 'todo-write-row)

(defface todo-write-answer-key '((t :inherit help-key-binding))
  "Face of the keys that answer a request."
  :group 'todo-write-faces)

(defconst todo-write-answer-buffer "*todo-write-request*"
  "Name of the buffer that shows a request.")

(cl-defstruct (todo-write-answer-reply (:copier nil))
  "What the user has said to a request, and its agent does not know yet.
COMMENTS are those on the detail, newest first, a list of (QUOTE . TEXT).
EDITED is the detail as the user edited it, a string, or nil.  ANSWERS are
those to its questions, newest first, an alist of questions and strings or
lists, and CHOSEN the labels so far for a question with several."
  comments edited answers chosen)

(defvar todo-write-answer--replies (make-hash-table :test #'eq :weakness 'key)
  "The replies to the open requests that were shown, by request.")

(defvar-local todo-write-answer--request nil
  "The request shown in this buffer, or nil.")

(defvar-local todo-write-answer--reply nil
  "The user's `todo-write-answer-reply' to the request in this buffer.")

(defvar-local todo-write-answer--detail nil
  "What the request is about, as it is shown, or nil.")

(defvar-local todo-write-answer--confirming nil
  "The option that the user may allow always, to be confirmed, or nil.")

(defvar-local todo-write-answer--end-seen nil
  "Non-nil if the end of the request was on the screen.")

(defvar-local todo-write-answer--given nil
  "Non-nil once the user has answered the request here.")

;;; Which keys answer

(defun todo-write-answer--option (kind)
  "Return the first option of KIND of this buffer's request, or nil."
  (seq-find (lambda (option) (eq kind (plist-get option :kind)))
            (plist-get todo-write-answer--request :options)))

(defun todo-write-answer--question ()
  "Return the question of this buffer's request that is to be answered next."
  (seq-find (lambda (question)
              (not (assoc (plist-get question :question)
                          (todo-write-answer-reply-answers todo-write-answer--reply))))
            (plist-get todo-write-answer--request :questions)))

(defun todo-write-answer--choices ()
  "Return what may be answered in this step, a list.
Its elements are (KEY FUNCTION LABEL NOTE OPTION).  The steps are reading a
request, each of its questions, and confirming what would be allowed always.
KEY is a string, or the number of an answer: after the ninth, no key chooses
it.  NOTE is a string or nil, and OPTION, if any, that of the request or its
question with which FUNCTION is called."
  (let* ((request todo-write-answer--request)
         (reply todo-write-answer--reply)
         (question (todo-write-answer--question))
         (multiple (plist-get question :multiple))
         (chosen (todo-write-answer-reply-chosen reply))
         (allow (todo-write-answer--option 'allow))
         (always (todo-write-answer--option 'always))
         (deny (todo-write-answer--option 'deny))
         (numbered
          (cl-loop for option in (if question (plist-get question :options)
                                   (seq-difference (plist-get request :options)
                                                   (list allow always deny) #'eq))
                   for number from 1
                   for label = (plist-get option :label)
                   for box = (and multiple (if (member label chosen) "[x] " "[ ] "))
                   collect (list number #'todo-write-answer--pick (concat box label)
                                 (plist-get option :description) option))))
    (cl-flet ((choice (key function option &optional note)
                (and option `((,key ,function ,(plist-get option :label) ,note ,option)))))
      (cond
       ((null (plist-get request :answer))
        '(("o" nil "goes there, or shows where it runs")))
       (todo-write-answer--confirming
        `(("A" todo-write-answer--approve "yes, always" nil ,todo-write-answer--confirming)
          ("n" nil "back")))
       (t
        `(,@(if question
                `(,@numbered
                  ("t" ,(lambda (_)
                          (let ((text (todo-write-answer--read "Answer: ")))
                            (todo-write-answer--answer question (if multiple (list text) text))))
                   "type an answer")
                  ,@(and multiple
                         `(("RET" ,(lambda (_)
                                     (todo-write-answer--answer
                                      question (or chosen (user-error "Nothing is chosen"))))
                            "give the chosen answers"))))
              (append (choice "y" #'todo-write-answer--approve allow
                              ;; A plan is approved once in any case.
                              (unless (eq 'plan (plist-get request :kind)) "(once)"))
                      (choice "A" #'todo-write-answer--confirm-always always "(asks again)")))
          ,@(choice "n" #'todo-write-answer--refuse deny)
          ,@(choice "N" (lambda (deny)
                          (todo-write-answer--refuse
                           deny (todo-write-answer--read "No, because: ")))
                    (and (plist-get deny :text) deny) "(with a message)")
          ,@(unless question numbered)
          ,@(cond ((todo-write-answer-reply-answers reply)
                   '(("u" nil "change the last answer")))
                  ((todo-write-answer-reply-comments reply)
                   '(("u" nil "take the last comment back"))))))))))

(defun todo-write-answer--take (key)
  "Return the choice of KEY in this step.
Signal a `user-error' unless the key of this command may answer that now."
  (todo-write-answer--shown)
  (unless todo-write-answer-keys-counts
    (user-error "Wait: a key counts half a second after the last one"))
  ;; What allows nothing may answer what was not read to its end.
  (unless (or todo-write-answer--end-seen (member key '("n" "N")))
    (user-error "Read to the end first: SPC scrolls"))
  (let ((choices (todo-write-answer--choices)))
    (or (assoc key choices)
        (user-error (cond (todo-write-answer--confirming "A allows it always; n goes back")
                          ((numberp key) "No answer has this number")
                          ((and (equal key "N") (assoc "n" choices))
                           "This agent takes no message with a no")
                          (t "This is no answer to this request"))))))

(defun todo-write-answer--note-end ()
  "Note whether the end of the request was on the screen."
  (unless todo-write-answer--end-seen
    (setq todo-write-answer--end-seen
          (seq-some (lambda (window) (pos-visible-in-window-p (point-max) window))
                    (get-buffer-window-list nil nil 'visible)))))

(defun todo-write-answer--shown ()
  "Return the request in this buffer; signal a `user-error' if it is not open."
  (if (and todo-write-answer--request
           (todo-write-request-open-p todo-write-answer--request))
      todo-write-answer--request
    (user-error "This is no longer asked")))

;;; The buffer

(define-derived-mode todo-write-answer-mode special-mode "Request"
  "Major mode of the buffer that shows what an agent asks.

\\{todo-write-answer-mode-map}"
  :interactive nil
  (todo-write-menu-begin-mode)
  (buffer-disable-undo)
  (setq-local revert-buffer-function #'todo-write-answer--redraw)
  (add-hook 'todo-write-events-functions #'todo-write-answer--on-event)
  (add-hook 'kill-buffer-hook
            (lambda ()
              (remove-hook 'todo-write-events-functions #'todo-write-answer--on-event)
              (todo-write-answer-keys-end))
            nil t))

(dotimes (digit 9)
  (define-key todo-write-answer-mode-map (number-to-string (1+ digit)) #'todo-write-answer-choose))
(define-key todo-write-answer-mode-map [remap keyboard-quit] #'todo-write-answer-choose)

(todo-write-menu-define 'todo-write-answer-mode todo-write-answer-mode-map "Request"
  '(("Answer"
     ("y" "Yes, once" todo-write-answer-choose)
     ("A" "Always…" todo-write-answer-choose)
     ("n" "No" todo-write-answer-choose)
     ("N" "No, because…" todo-write-answer-choose)
     ("t" "Type an answer…" todo-write-answer-choose)
     ("RET" "Give the chosen answers" todo-write-answer-choose)
     ("u" "Change the last answer" todo-write-answer-choose)
     ("c" "Comment on the lines…" todo-write-answer-comment)
     ("e" "Edit the plan" todo-write-answer-edit))
    ("Look"
     ("SPC" "Scroll" scroll-up-command)
     ("DEL" "Scroll back" scroll-down-command)
     ("o" "Its buffer, or where it runs" todo-write-answer-choose)
     ("q" "Leave it open" todo-write-answer-choose))))

;; Another request would take the place of this one by a slip for `A'.
(define-key todo-write-answer-mode-map "a" nil)

;; Killing a clone would stop what runs for the original.
(put 'todo-write-answer-mode 'no-clone t)
(put 'todo-write-answer-mode 'no-clone-indirect t)

(defun todo-write-answer--show (request)
  "Show REQUEST in the selected window or another one, and select that.
\\[keyboard-quit] while its text is made leaves it open, and everything as it is."
  (let* ((reply (or (gethash request todo-write-answer--replies) (make-todo-write-answer-reply)))
         (detail (or (todo-write-answer-reply-edited reply) (todo-write-request-detail request)))
         (text (and detail (todo-write-answer-text detail (plist-get request :format)))))
    (puthash request reply todo-write-answer--replies)
    ;; A new window below all others: none of them loses its buffer.
    (pop-to-buffer todo-write-answer-buffer
                   '((display-buffer-reuse-window display-buffer-in-direction)
                     (direction . below) (window . root)))
    (unless (derived-mode-p 'todo-write-answer-mode)
      (todo-write-answer-mode))
    (setq todo-write-answer--request request
          todo-write-answer--reply reply
          todo-write-answer--detail text
          todo-write-answer--given nil)
    (todo-write-answer--ask)))

(defun todo-write-answer--ask (&optional seen)
  "Show the request in the selected window from its beginning.
SEEN is non-nil if its end was on the screen before."
  (setq todo-write-answer--confirming nil
        todo-write-answer--end-seen seen)
  (todo-write-answer--draw)
  (let ((most (max 10 (/ (* 2 (frame-height)) 3))))
    (save-restriction
      ;; Emacs would lay out all lines of a long text.
      (goto-char (point-min))
      (forward-line most)
      (narrow-to-region (point-min) (point))
      (fit-window-to-buffer nil most)))
  (goto-char (point-min))
  (set-window-start nil (point-min))
  (set-window-hscroll nil 0)
  (todo-write-answer-keys-begin #'todo-write-answer--note-end))

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
              header-line-format " SPC scroll  q later  ? menu")
  (let ((inhibit-read-only t)
        (request todo-write-answer--request)
        (reply todo-write-answer--reply))
    (erase-buffer)
    (todo-write-answer--insert-who request)
    (insert " " (todo-write-answer-text (plist-get request :title)
                                        (todo-write-answer--prose request) 'todo-write-title)
            "\n\n")
    (when todo-write-answer--detail
      (insert (propertize todo-write-answer--detail 'todo-write-answer-detail t) "\n\n"))
    (when (todo-write-answer-reply-edited reply)
      (insert " " (propertize "You edited this; a yes approves it as it stands here."
                              'face 'todo-write-attention)
              "\n\n"))
    (when-let* ((comments (todo-write-answer-reply-comments reply)))
      (pcase-dolist (`(,quote . ,text) (reverse comments))
        (insert " > " (todo-write-text-line quote 200) "\n   "
                (todo-write-answer-text text 'prose) "\n"))
      (insert " Your comments go along with a no.\n\n"))
    (cond ((null (plist-get request :answer))
           (insert " Emacs cannot answer this; answer it there:\n"))
          (todo-write-answer--confirming
           (insert " " (propertize "Always: " 'face 'todo-write-attention)
                   (todo-write-answer-text (plist-get todo-write-answer--confirming :label) 'text)
                   "\n From now on, nothing of this is asked.\n"))
          (t (todo-write-answer--insert-questions)))
    (mapc #'todo-write-answer--insert-choice (todo-write-answer--choices))
    ;; The end of the text is on the screen with its last line.
    (delete-char -1)
    (set-buffer-modified-p nil)))

(defun todo-write-answer--prose (request)
  "Return the format of the title and the labels of REQUEST."
  (if (eq 'permission (plist-get request :kind)) 'text 'prose))

(defun todo-write-answer--redraw (&rest _)
  "Draw the request again, at the same place."
  (todo-write-buffer-keep (lambda (position &optional _start) position)
                        (lambda (position) (min position (point-max)))
                        #'todo-write-answer--draw))

(defun todo-write-answer--insert-who (request)
  "Insert a line that says who asks REQUEST, since when, and for which task."
  (let* ((thread (plist-get request :thread))
         (about (todo-write-about thread))
         (agent (todo-write-attention-agent-of thread))
         (task (plist-get (todo-write-summary thread) :current)))
    (insert " "
            (propertize
             (todo-write-text-dotted
              (todo-write-text-line (or (plist-get about :agent) "an agent") 30)
              (and (plist-get about :project) (todo-write-agent-folder agent))
              (let ((age (todo-write-text-age (/ (plist-get request :since) 1000.0))))
                (if (equal age "now") "asks now" (concat "asked " age " ago")))
              (and task (todo-write-text-truncate
                         (todo-write-text-of-item task 'in_progress) 60)))
             'face 'todo-write-time)
            "\n")))

(defun todo-write-answer--insert-choice (choice)
  "Insert a line with the key of CHOICE, its label and its note, both whole.
CHOICE is one of `todo-write-answer--choices'."
  (pcase-let ((`(,key ,_ ,label ,note) choice)
              (format (todo-write-answer--prose todo-write-answer--request)))
    (insert "   ")
    (insert-text-button (cond ((stringp key) key)
                              ((< key 10) (number-to-string key))
                              (t (todo-write-text-shape 'dot)))
                        'face 'todo-write-answer-key
                        'follow-link t
                        'action (lambda (_) (todo-write-answer-choose key)))
    (insert "  " (todo-write-answer-text label format))
    (when (and note (not (string-empty-p note)))
      ;; For Emacs, a space separates texts of which one is written from right to left.
      (insert (propertize "  " 'display '(space :width 2))
              (todo-write-answer-text note format 'todo-write-detail)))
    (insert "\n")))

(defun todo-write-answer--insert-questions ()
  "Insert the questions answered so far, and the next one."
  (pcase-dolist (`(,question . ,answer)
                 (reverse (todo-write-answer-reply-answers todo-write-answer--reply)))
    (insert " " (todo-write-text-shape 'completed) " "
            (propertize (concat (todo-write-text-line question 200) "  "
                                (todo-write-text-line (string-join (ensure-list answer) ", ") 200))
                        'face 'todo-write-completed)
            "\n"))
  (when-let* ((question (todo-write-answer--question)))
    (insert (todo-write-answer-text (plist-get question :question) 'prose 'todo-write-title)
            "\n")))

;;; Answering

(defun todo-write-answer--give (value &optional text)
  "Answer this buffer's request with VALUE and TEXT, and show what follows."
  ;; What follows may be shown before this returns.
  (setq todo-write-answer--given t)
  (unless (todo-write-answer-request (plist-get todo-write-answer--request :thread)
                                     (plist-get todo-write-answer--request :id) value text)
    (message "This was answered elsewhere")))

(defun todo-write-answer--approve (option)
  "Give OPTION, with the detail as the user edited it, if that may go along."
  (let ((edited (todo-write-answer-reply-edited todo-write-answer--reply))
        (may-go-along (eq 'edited (plist-get option :text))))
    (when (todo-write-answer-reply-comments todo-write-answer--reply)
      (user-error "Your comments go along with a no; u takes them back"))
    (when (and edited (not may-go-along))
      (user-error "This answer takes no edited text"))
    (todo-write-answer--give (plist-get option :value) (and may-go-along edited))))

(defun todo-write-answer--confirm-always (option)
  "Say what OPTION allows always, and let A confirm it after a pause."
  (setq todo-write-answer--confirming option)
  (todo-write-answer--draw)
  (goto-char (point-max))
  (todo-write-answer-keys-begin #'todo-write-answer--note-end))

(defun todo-write-answer--refuse (option &optional text)
  "Give OPTION, a no, with TEXT and what the user wrote, if that may go along."
  (let* ((reply todo-write-answer--reply)
         (edited (todo-write-answer-reply-edited reply))
         (parts (append
                 (mapcar (pcase-lambda (`(,quote . ,comment))
                           (concat (replace-regexp-in-string "^" "> " quote) "\n" comment))
                         (reverse (todo-write-answer-reply-comments reply)))
                 (and text (list text))
                 (and edited (list (concat "The plan as the user edited it:\n" edited))))))
    (todo-write-answer--give (plist-get option :value)
                             (and parts (plist-get option :text) (string-join parts "\n\n")))))

(defun todo-write-answer-choose (key)
  "Do what KEY does in a request: its text says what that is.
KEY is a string, or the number of an answer; interactively, it is the key
that called this command, or that of an entry of the menu."
  (interactive (list (todo-write-answer--key last-command-event)) todo-write-answer-mode)
  (todo-write-buffer-require 'todo-write-answer-mode)
  (let ((button (and (equal key "RET")
                     (not (plist-get (todo-write-answer--question) :multiple))
                     (button-at (point)))))
    ;; What answers nothing needs no pause.
    (cond ((equal key "o")
           (pcase-let (((map :visit :thread) (todo-write-answer--shown)))
             (if visit (funcall visit) (todo-write-attention-visit-agent-of thread))))
          ((equal key "u") (todo-write-answer--change))
          (button (push-button button))
          ((and todo-write-answer--confirming (member key '("n" "q" "C-g")))
           (todo-write-answer--ask t))
          ((member key '("q" "C-g"))
           (quit-window)
           (message "Left open; M-x todo-write-answer shows it again"))
          (t (pcase-let ((`(,_ ,function ,_ ,_ ,option) (todo-write-answer--take key)))
               (funcall function option))))))

(defun todo-write-answer--key (event)
  "Return the key that EVENT is or, from the menu bar, stands for."
  (cond ((eq this-original-command 'keyboard-quit) "C-g")
        ((and (characterp event) (<= ?1 event ?9)) (- event ?0))
        ((car (seq-find (lambda (entry) (equal (cadr entry) (format "%s" event)))
                        (seq-mapcat #'cdr (get 'todo-write-answer-mode 'todo-write-menu)))))
        (t (single-key-description (or (car-safe event) event)))))

(defun todo-write-answer--read (prompt)
  "Read a text with PROMPT for the request in this buffer, and return it.
Signal a `user-error' for an empty one, and if the request is no longer
shown: it may have been answered elsewhere meanwhile."
  (let ((buffer (current-buffer))
        (request (todo-write-answer--shown))
        (text (string-trim (read-string prompt))))
    (unless (and (buffer-live-p buffer)
                 (eq request (buffer-local-value 'todo-write-answer--request buffer))
                 (todo-write-request-open-p request))
      (user-error "This was answered elsewhere"))
    (when (string-empty-p text)
      (user-error "Nothing was written"))
    (set-buffer buffer)
    text))

(defun todo-write-answer--pick (option)
  "Choose OPTION, which has a number."
  (let ((label (plist-get option :label))
        (question (todo-write-answer--question)))
    (cond ((plist-get question :multiple)
           (let ((chosen (todo-write-answer-reply-chosen todo-write-answer--reply)))
             (setf (todo-write-answer-reply-chosen todo-write-answer--reply)
                   (if (member label chosen) (remove label chosen)
                     (append chosen (list label)))))
           (todo-write-answer--redraw))
          (question (todo-write-answer--answer question label))
          ((eq (plist-get option :kind) 'always)
           (todo-write-answer--confirm-always option))
          (t (todo-write-answer--approve option)))))

(defun todo-write-answer--answer (question answer)
  "Note ANSWER to QUESTION; after the last question, give all answers."
  (let ((reply todo-write-answer--reply))
    (push (cons (plist-get question :question) answer) (todo-write-answer-reply-answers reply))
    (setf (todo-write-answer-reply-chosen reply) nil)
    (if (todo-write-answer--question)
        (todo-write-answer--ask)
      (todo-write-answer--give (reverse (todo-write-answer-reply-answers reply))))))

(defun todo-write-answer--change ()
  "Ask the last question again whose answer was not given yet.
For a plan, take back the last comment."
  (todo-write-answer--shown)
  (let ((reply todo-write-answer--reply))
    (cond ((pop (todo-write-answer-reply-answers reply))
           (setf (todo-write-answer-reply-chosen reply) nil)
           (todo-write-answer--ask))
          ((pop (todo-write-answer-reply-comments reply))
           (todo-write-answer--redraw))
          (t (user-error "Nothing is answered yet")))))

;;; Comments on a plan, and its text

;; Comments go along with "keep planning", and an edited plan is approved as edited.
;; Neither answers anything.

(defun todo-write-answer-comment ()
  "Comment on the line of the plan at point, or on those of the region.
The comment goes along with \"keep planning\", with the lines it is about."
  (interactive nil todo-write-answer-mode)
  (let ((request (todo-write-answer--shown)))
    (unless (and (eq 'plan (plist-get request :kind))
                 (plist-get request :answer)
                 (plist-get (todo-write-answer--option 'deny) :text))
      (user-error "No comment can go along with an answer to this")))
  (pcase-let* ((`(,start . ,next) (todo-write-compose-lines))
               (end (1- next))
               (quote (and (get-text-property start 'todo-write-answer-detail)
                           (not (text-property-not-all start end 'todo-write-answer-detail t))
                           (buffer-substring-no-properties start (min end (+ start 4000))))))
    (when (string-blank-p (or quote ""))
      (user-error "Go to a line of the plan first"))
    (let ((text (todo-write-answer--read "Comment: ")))
      (deactivate-mark)
      (push (cons quote text) (todo-write-answer-reply-comments todo-write-answer--reply))
      (todo-write-answer--redraw))))

(defun todo-write-answer-edit ()
  "Edit the text of the plan.
It is approved as edited, after it was shown once more: this answers
nothing."
  (interactive nil todo-write-answer-mode)
  (let* ((request (todo-write-answer--shown))
         (text (or (todo-write-answer-reply-edited todo-write-answer--reply)
                   (todo-write-request-detail request))))
    (unless (and (plist-get request :answer)
                 (seq-some (lambda (option) (eq 'edited (plist-get option :text)))
                           (plist-get request :options)))
      (user-error "This cannot be edited here"))
    ;; Emacs displays longer lines slowly, and the request shows them broken.
    (when (seq-some (lambda (line) (length> line 10000)) (split-string text "\n"))
      (user-error "A line of this is too long to be edited"))
    (todo-write-compose "*todo-write-plan*" request "A yes then approves this text"
                        (apply-partially #'todo-write-answer--edit-to request)
                        (substring-no-properties text))))

(defun todo-write-answer--edit-to (request text)
  "Return a function that lets a yes to REQUEST carry TEXT in place of its detail.
It is shown as a request is that was not read yet.  Signal a `user-error'
if it cannot be approved."
  (let ((buffer (get-buffer todo-write-answer-buffer)))
    (when (string-blank-p text)
      (user-error "The plan is empty"))
    ;; It must fit into a message.
    (when (> (string-bytes text) 500000)
      (user-error "The plan is larger than 500000 bytes"))
    (unless (and buffer (eq request (with-current-buffer buffer (todo-write-answer--shown))))
      (user-error "This plan is not shown now; M-x todo-write-answer shows what is asked"))
    (lambda ()
      (pop-to-buffer buffer)
      (setf (todo-write-answer-reply-edited todo-write-answer--reply)
            (and (not (equal text (todo-write-request-detail request))) text))
      (setq todo-write-answer--detail (todo-write-answer-text text (plist-get request :format)))
      (todo-write-answer--ask))))

;;; Showing

;;;###autoload
(defun todo-write-answer (&optional thread)
  "Show what an agent asks, to answer it.
THREAD is the key of the agent's thread; by default, that of the row at
point in the overview, else that of this buffer's plan, else the agent
that has waited longest.  After an answer, the next request is shown."
  (interactive)
  (let* ((thread (or thread (todo-write-buffer-thread-here)))
         (requests (todo-write-requests))
         (own (seq-find (lambda (request)
                          (let ((key (plist-get request :thread)))
                            ;; A subagent of it asks for it.
                            (member thread (list key (car (todo-write-parent key))))))
                        (and thread requests))))
    (if-let* ((request (or own
                           (unless (and thread (eq 'waiting (car (todo-write-activity thread))))
                             (car requests)))))
        (todo-write-answer--show request)
      ;; An agent may wait in its terminal without a request in this Emacs.
      (let* ((agents (seq-filter (lambda (agent) (eq 'waiting (todo-write-agent-state agent)))
                                 (todo-write-agents)))
             (own (seq-find (lambda (agent) (equal thread (plist-get agent :thread))) agents))
             (waiting (or own (car agents)))
             (place (and waiting (todo-write-attention-place waiting))))
        (user-error "%s" (if waiting
                             (concat (todo-write-attention-line waiting) "; answer it there"
                                     (and place (concat ", in " place)))
                           "No agent asks anything"))))))

;;; What follows

(defun todo-write-answer--on-event (_thread what _id)
  "Show what follows the request that is shown, if WHAT closed it.
For `todo-write-events-functions'.  Only the window of that request changes,
and only if the user is in it and has answered does the next request come
there: others may come and go faster than the user can leave them."
  (when-let* (((eq what 'request))
              (buffer (get-buffer todo-write-answer-buffer))
              (request (buffer-local-value 'todo-write-answer--request buffer))
              ((not (todo-write-request-open-p request))))
    ;; Return from the answer first: the next question may be asked by then.
    (run-at-time 0 nil #'todo-write-answer--end buffer request
                 (buffer-local-value 'todo-write-answer--given buffer))))

(defun todo-write-answer--end (buffer request given)
  "Show what follows REQUEST, which was closed, if BUFFER still shows it.
GIVEN is non-nil if the user has answered it there."
  (when (and (buffer-live-p buffer)
             (eq request (buffer-local-value 'todo-write-answer--request buffer)))
    (let ((next (and given
                     (eq buffer (window-buffer (selected-window)))
                     (car (todo-write-requests)))))
      ;; A timer calls this, in which a quit would wait.
      (unless (and next (with-local-quit (todo-write-answer--show next) t))
        (quit-windows-on buffer t)
        (when (buffer-live-p buffer)
          (kill-buffer buffer))))))

(provide 'todo-write-answer)
;;; todo-write-answer.el ends here
