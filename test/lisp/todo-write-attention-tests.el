;;; todo-write-attention-tests.el --- Tests of which agent needs you  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; States and their order, seen and unseen, dismissal, going there, and what
;; mode line, tab bar and notifications say of agents.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-view-test-helper)
(require 'todo-write-agent)
(require 'todo-write-attention)
(require 'todo-write-terminal)
(require 'todo-write-follow)
(require 'todo-write-list)
(require 'todo-write-mode-line)
(require 'todo-write-notify)

(defconst todo-write-attention-tests--name-operations
  '(abbreviate-file-name directory-file-name expand-file-name file-local-name
    file-name-as-directory file-name-directory file-name-nondirectory file-remote-p
    substitute-in-file-name unhandled-file-name-directory)
  "Operations on names of remote files that access no file.")

(defvar todo-write-attention-tests--focused t
  "Whether the frame of the tests has the focus.")

(defmacro todo-write-attention-tests--with (&rest body)
  "Run BODY with an empty store while a function hears of agents.
The frame has the focus and shows no agent; `heard' has the last
transitions, (KEY . STATE), newest first."
  (declare (indent 0) (debug t))
  `(todo-write-test-with-shapes
     (let* (heard
            (todo-write-attention-tests--focused t)
            (listener (lambda (thread old new)
                        (when (and new (todo-write-agent-transition-p old new))
                          (push (cons thread (todo-write-agent-state new)) heard)))))
       (ignore heard)
       (cl-letf (((symbol-function 'frame-focus-state)
                  (lambda (&optional _) todo-write-attention-tests--focused)))
         (switch-to-buffer "*scratch*")
         (delete-other-windows)
         (add-hook 'todo-write-agent-functions listener)
         (unwind-protect (progn ,@body)
           (remove-hook 'todo-write-agent-functions listener))))))

(defun todo-write-attention-tests--state (key)
  "Return the state of the agent of the thread KEY."
  (todo-write-agent-state (todo-write-agent key)))

(defun todo-write-attention-tests--order ()
  "Return the keys of all agents in order."
  (mapcar (lambda (agent) (plist-get agent :thread)) (todo-write-agents)))

(defun todo-write-attention-tests--attention (key)
  "Return the attention of the agent of the thread KEY."
  (plist-get (todo-write-agent key) :attention))

(defmacro todo-write-attention-tests--messages (&rest body)
  "Run BODY and return the messages that it shows, newest first."
  (declare (indent 0) (debug t))
  `(let (messages)
     (cl-letf (((symbol-function 'message)
                (lambda (format &rest args)
                  (when format (push (apply #'format format args) messages)))))
       ,@body)
     messages))

;;; States

(ert-deftest todo-write-attention-says-what-hosts-say-and-guesses-nothing ()
  (pcase-dolist (`(,said ,plan ,activity)
                 '(((waiting) nil waiting)
                   ((failed) nil failed)
                   ((working) "pending" working)
                   ((nil) nil nil)
                   (nil "pending" unknown)
                   ;; There is no agent.
                   (nil nil nil)
                   (nil "completed" nil)
                   ((working nil t) nil working)
                   ((waiting nil t) nil unknown)
                   ((failed nil t) nil unknown)
                   ((nil nil t) nil unknown)))
    (todo-write-with-store
      (when plan
        (todo-write-test-write "a" (list "One" plan)))
      (when said
        (apply #'todo-write-set-activity "a" said))
      (should (eq activity (plist-get (todo-write-agent "a") :activity))))))

(ert-deftest todo-write-agent-orders-states-and-within-them-times ()
  (todo-write-attention-tests--with
    (pcase-dolist (`(,key . ,activities) '(("waits longest" working waiting)
                                           ("failed" working failed)
                                           ("waits less" working waiting)
                                           ("done" working nil)
                                           ("working old" working)
                                           ("working new" working)
                                           ("idle old" nil)
                                           ("idle new" nil)))
      (dolist (activity activities)
        (todo-write-set-activity key activity))
      (todo-write-test-tick))
    (todo-write-agent-see "idle old")
    (todo-write-agent-see "idle new")
    (todo-write-test-write "unknown" "One")
    (should (equal (todo-write-attention-tests--order)
                   '("waits longest" "failed" "waits less" "done" "working new"
                     "working old" "idle new" "idle old" "unknown")))))

(ert-deftest todo-write-agent-derives-states-from-activity-ending-and-attention ()
  (pcase-dolist (`(,activity ,ending ,plan ,attention ,state)
                 '((waiting nil active needs-you waiting)
                   (failed error active needs-you failed)
                   (nil end-of-turn active unseen done)
                   (nil killed active unseen stopped)
                   (nil killed active idle stopped)
                   (nil killed done idle idle)
                   (nil session-ended empty idle idle)
                   (nil session-ended paused idle stopped)
                   (nil nil active idle idle)
                   (working nil active working working)
                   (suspended nil active idle suspended)
                   (unknown nil active unknown unknown)))
    (should (eq state (todo-write-agent-state
                       (list :activity activity :ending ending :attention attention
                             :plan (list :state plan)))))))

(ert-deftest todo-write-agent-tells-what-an-agent-was-and-is ()
  (todo-write-attention-tests--with
    (let* (told (listener (lambda (&rest args) (push args told)))
           (keys '(:thread :agent :project :title :activity :reason :attention :ending :requests
                   :background)))
      (add-hook 'todo-write-agent-functions listener)
      (unwind-protect
          (cl-flet ((now () (prog1 (mapcar (pcase-lambda (`(,thread ,old ,new))
                                             (list thread
                                                   (mapcar (lambda (key) (plist-get old key)) keys)
                                                   (mapcar (lambda (key) (plist-get new key)) keys)))
                                           (reverse told))
                              (setq told nil))))
            (todo-write-begin "a" :project "/srv/login/" :agent "claude")
            (todo-write-set-activity "a" 'waiting)
            (should (equal '(nil needs-you) (list (nth 1 (car told))
                                                  (plist-get (nth 2 (car told)) :attention))))
            (setq told nil)
            (todo-write-set-activity "a" 'working)
            (should (equal (now) '(("a"
                                    ("a" "claude" "/srv/login/" nil waiting nil needs-you nil 0 0)
                                    ("a" "claude" "/srv/login/" nil working nil working nil 0 0)))))
            (todo-write-request "a" :id "1" :kind 'permission :title "npm test")
            (should (equal (nth 2 (car (last (now))))
                           '("a" "claude" "/srv/login/" nil waiting "npm test" needs-you nil 1 0)))
            (todo-write-withdraw "a" "1")
            (todo-write-end-turn "a" nil nil 'end-of-turn)
            (should (equal (nth 2 (car (last (now))))
                           '("a" "claude" "/srv/login/" nil nil nil unseen end-of-turn 0 0)))
            ;; What changes nothing is not told.
            (todo-write-end-turn "a" nil nil 'end-of-turn)
            (should-not (now))
            (todo-write-test-write "a" "One")
            (should (equal '((1 0)) (mapcar (pcase-lambda (`(,_ ,old ,new))
                                              (list (plist-get (plist-get new :plan) :total)
                                                    (plist-get (plist-get old :plan) :total)))
                                            told)))
            (setq told nil)
            (todo-write-forget "a")
            (should (equal '(("a" t nil))
                           (mapcar (pcase-lambda (`(,thread ,old ,new)) (list thread (consp old) new))
                                   told))))
        (remove-hook 'todo-write-agent-functions listener)))))

(ert-deftest todo-write-agent-calls-the-other-functions-if-one-signals ()
  (todo-write-attention-tests--with
    (let ((bad (lambda (&rest _) (error "Bad")))
          (debug-on-error nil)
          shown)
      (add-hook 'todo-write-agent-functions bad)
      (unwind-protect
          (cl-letf (((symbol-function 'display-warning) (lambda (_ text &rest _) (push text shown))))
            (todo-write-set-activity "a" 'waiting)
            (should (equal heard '(("a" . waiting))))
            (should (string-search "Bad" (car shown))))
        (remove-hook 'todo-write-agent-functions bad)))))

(ert-deftest todo-write-agent-a-value-that-hides-the-functions-stops-no-tracking ()
  (todo-write-attention-tests--with
    (todo-write-set-activity "a" 'working)
    (let (todo-write-agent-functions)
      (todo-write-end-turn "a")
      (add-hook 'todo-write-agent-functions #'ignore)
      (remove-hook 'todo-write-agent-functions #'ignore))
    ;; What stopped while nothing is tracked would count as seen.
    (should (eq 'unseen (plist-get (todo-write-agent "a") :attention)))
    (with-temp-buffer
      (setq-local todo-write-agent-functions nil)
      (todo-write-set-activity "a" 'waiting)
      (kill-local-variable 'todo-write-agent-functions))
    (todo-write-set-activity "a" 'working)
    (should (equal '("a" . working) (car heard)))))

(ert-deftest todo-write-agent-a-function-in-a-let-is-told ()
  (todo-write-with-store
    (let* (told
           (todo-write-agent-functions (list (lambda (thread &rest _) (push thread told)))))
      (todo-write-set-activity "a" 'waiting)
      (should (equal '("a") (seq-uniq told))))
    (should-not (memq #'todo-write-agent--on-event todo-write-events-functions))))

(ert-deftest todo-write-agent-are-tracked-only-while-a-function-is-told ()
  (todo-write-with-store
    (should-not (memq #'todo-write-agent--on-event todo-write-events-functions))
    (add-hook 'todo-write-agent-functions #'ignore)
    (unwind-protect
        (should (memq #'todo-write-agent--on-event todo-write-events-functions))
      (remove-hook 'todo-write-agent-functions #'ignore))
    (should-not (memq #'todo-write-agent--on-event todo-write-events-functions))
    (todo-write-set-activity "a" 'waiting "permission")
    (should (equal '(needs-you) (mapcar (lambda (agent) (plist-get agent :attention))
                                        (todo-write-agents))))))

(ert-deftest todo-write-attention-sorts-stopped-agents-after-unseen-ones ()
  (todo-write-attention-tests--with
    (todo-write-test-write "finished" '("One" "completed"))
    (todo-write-end-turn "finished")
    (todo-write-test-write "works" '("One" "in_progress"))
    (todo-write-set-activity "works" 'working)
    (dolist (ending '(killed denied session-ended))
      (let ((key (symbol-name ending)))
        (todo-write-test-write key '("One" "in_progress"))
        (todo-write-set-activity key 'working)
        (todo-write-end-turn key nil nil ending)
        (should (eq 'stopped (todo-write-attention-tests--state key)))))
    (should (equal "finished" (car (todo-write-attention-tests--order))))
    (should (equal "works" (car (last (todo-write-attention-tests--order)))))
    ;; Stopped agents are not counted.
    (let ((todo-write-mode-line-mode t))
      (should (string-search " +1 ✓1" (format "%s" (todo-write-mode-line--text "killed")))))))

(ert-deftest todo-write-attention-follows-turns ()
  (todo-write-attention-tests--with
    (todo-write-set-activity "a" 'working)
    (todo-write-set-activity "a" 'waiting "permission")
    (todo-write-set-activity "a" 'working)
    (todo-write-end-turn "a")
    (todo-write-set-activity "a" 'working)
    (todo-write-end-turn "a" "overloaded" t)
    (should (equal (reverse heard)
                   '(("a" . working) ("a" . waiting) ("a" . working) ("a" . done)
                     ("a" . working) ("a" . failed))))))

(ert-deftest todo-write-attention-ignores-subagents ()
  (todo-write-attention-tests--with
    (todo-write-test-write "a" "One")
    (todo-write-begin "sub" :parent "a")
    (todo-write-set-activity "sub" 'waiting "permission")
    (should (equal (todo-write-attention-tests--order) '("a")))))

;;; Seen, dismissed

(ert-deftest todo-write-attention-counts-a-done-plan-of-a-silent-host-as-unseen ()
  (todo-write-attention-tests--with
    (todo-write-test-write "a" '("One" "in_progress"))
    (should (eq 'unknown (todo-write-attention-tests--state "a")))
    (todo-write-test-write "a" '("One" "completed"))
    (should (eq 'done (todo-write-attention-tests--state "a")))))

(ert-deftest todo-write-attention-sees-only-what-a-focused-frame-shows ()
  (todo-write-attention-tests--with
    (todo-write-test-write "a" '("One" "in_progress"))
    (todo-write-set-activity "a" 'working)
    (switch-to-buffer (todo-write-show "a"))
    (let ((todo-write-attention-tests--focused nil))
      (todo-write-end-turn "a")
      (todo-write-agent--look)
      (should (eq 'done (todo-write-attention-tests--state "a"))))
    (todo-write-agent--look)
    (should (eq 'idle (todo-write-attention-tests--state "a")))
    (todo-write-set-activity "a" 'working)
    (todo-write-end-turn "a")
    (should (eq 'idle (todo-write-attention-tests--state "a")))))

(ert-deftest todo-write-attention-is-not-ended-by-looking ()
  (todo-write-attention-tests--with
    (todo-write-set-activity "a" 'waiting "permission")
    (switch-to-buffer (todo-write-show "a"))
    (todo-write-agent--look)
    (todo-write-agent-see "a")
    (should (eq 'needs-you (todo-write-attention-tests--attention "a")))))

(ert-deftest todo-write-attention-dismissal-lasts-until-something-new ()
  (todo-write-attention-tests--with
    (todo-write-set-activity "a" 'waiting "permission to read")
    (todo-write-set-activity "b" nil)
    (todo-write-agent-dismiss "a" t)
    (should (eq 'idle (todo-write-attention-tests--attention "a")))
    (should (plist-get (todo-write-agent "a") :dismissed))
    (todo-write-test-write "a" "One")
    (should (eq 'idle (todo-write-attention-tests--attention "a")))
    (todo-write-set-activity "a" 'waiting "permission to write")
    (should (eq 'needs-you (todo-write-attention-tests--attention "a")))))

(ert-deftest todo-write-attention-counts-earlier-turns-as-seen ()
  (todo-write-with-store
    (todo-write-set-activity "a" 'working)
    (todo-write-end-turn "a")
    (let ((todo-write-agent--entries (make-hash-table :test #'equal)))
      (should (equal '(idle) (mapcar #'todo-write-agent-state (todo-write-agents)))))))

;;; Going there

(defmacro todo-write-attention-tests--with-chats (names &rest body)
  "Run BODY with a buffer for each of NAMES, about the thread of that name."
  (declare (indent 1) (debug t))
  `(todo-write-attention-tests--with
     (let ((buffers (mapcar (lambda (name)
                              (with-current-buffer (get-buffer-create (concat "chat " name))
                                (setq-local todo-write-view-thread name)
                                (current-buffer)))
                            ,names)))
       (unwind-protect (progn ,@body)
         (mapc #'kill-buffer buffers)))))

(ert-deftest todo-write-next-waiting-visits-each-in-turn ()
  (todo-write-attention-tests--with-chats '("a" "b" "c")
    (dolist (key '("b" "a"))
      (todo-write-set-activity key 'waiting)
      (todo-write-test-tick))
    (todo-write-set-activity "c" 'working)
    (dolist (name '("chat b" "chat a" "chat b"))
      (todo-write-next-waiting)
      (should (equal name (buffer-name (window-buffer)))))
    ;; Once answered, an agent is not visited again.
    (todo-write-set-activity "b" 'working)
    (dotimes (_ 2)
      (todo-write-next-waiting)
      (should (equal "chat a" (buffer-name (window-buffer)))))
    (ert-info ("One whose buffer is elsewhere is passed, too")
      (switch-to-buffer "*scratch*")
      (todo-write-set-activity "b" 'waiting)
      (let (visited)
        (cl-letf (((symbol-function 'todo-write-attention-attend)
                   (lambda (agent) (push (plist-get agent :thread) visited))))
          (dolist (last-command '(nil todo-write-next-waiting))
            (todo-write-next-waiting)))
        (should (equal '("b" "a") (sort visited #'string>)))))))

(ert-deftest todo-write-next-waiting-says-that-none-waits ()
  (todo-write-attention-tests--with
    (todo-write-set-activity "a" 'working)
    (should (equal '("No agent needs you")
                   (todo-write-attention-tests--messages (todo-write-next-waiting))))
    (should (equal "*scratch*" (buffer-name (window-buffer))))))

(ert-deftest todo-write-attention-finds-the-terminal-buffer-of-a-process ()
  (skip-unless (file-directory-p "/proc/self"))
  (with-temp-buffer
    (let* ((default-directory "/")
           (process (make-process :name "terminal" :buffer (current-buffer)
                                  :command '("sh" "-c" "sh -c 'echo $$; cat; :'; :")))
           (pid (todo-write-test-wait
                 (lambda () (accept-process-output process 0.02)
                   (and (string-match "^[0-9]+" (buffer-string))
                        (string-to-number (match-string 0 (buffer-string))))))))
      (set-process-query-on-exit-flag process nil)
      (should-not (eql pid (process-id process)))
      (let ((default-directory "/ssh:nowhere.invalid:/"))
        (should (eq (current-buffer) (todo-write-terminal-buffer pid))))
      ;; A daemon's child is not a descendant, but uses the process's terminal.
      (cl-letf (((symbol-function 'todo-write-terminal--processes)
                 (lambda (pid) `((,pid (ttname . ,(replace-regexp-in-string
                                                   "pts/" "pts"
                                                   (process-tty-name process))))))))
        (should (eq (current-buffer) (todo-write-terminal-buffer pid))))
      (should-not (todo-write-terminal-buffer (emacs-pid)))
      (delete-process process))))

(ert-deftest todo-write-attention-sees-the-agent-in-a-terminal-that-is-shown ()
  (skip-unless (file-directory-p "/proc/self"))
  (todo-write-attention-tests--with
    (let* ((buffer (generate-new-buffer "terminal"))
           (process (make-process :name "terminal" :buffer buffer :noquery t
                                  :command '("cat"))))
      (unwind-protect
          (cl-letf (((symbol-function 'todo-write-agent-pid)
                     (lambda (_) (process-id process))))
            (todo-write-set-activity "a" 'working)
            (todo-write-end-turn "a")
            (should (eq 'done (todo-write-attention-tests--state "a")))
            (switch-to-buffer buffer)
            (todo-write-agent--look)
            (should (eq 'idle (todo-write-attention-tests--state "a")))
            (todo-write-set-activity "a" 'working)
            (todo-write-end-turn "a")
            (should (eq 'idle (todo-write-attention-tests--state "a"))))
        (delete-process process)
        (kill-buffer buffer)))))

(ert-deftest todo-write-attention-accesses-no-remote-folder ()
  (todo-write-attention-tests--with
    (let ((file-name-handler-alist
           (list (cons "\\`/elsewhere:" (lambda (operation &rest _)
                                         (ert-fail (format "%s" operation)))))))
      (let ((agent (list :thread "a" :project "/elsewhere:/srv/login/")))
        (should (equal "login" (todo-write-agent-name agent)))
        (should (equal "/elsewhere:/srv/login/" (todo-write-agent-path agent)))))))

(ert-deftest todo-write-attention-timers-access-no-remote-folder ()
  (let* (accessed
         (local (make-temp-file "home" t))
         (projects (expand-file-name ".claude/projects/-srv-login" local))
         (todo-write-follow-agents (list (cons 'claude (expand-file-name ".claude" local))
                                         '(claude . "/elsewhere:/root/.claude")
                                         '(codex . "/elsewhere:/root/.codex")))
         (todo-write-follow-interval 0.02)
         (file-name-handler-alist
          (cons (cons "\\`/elsewhere:"
                      (lambda (operation &rest args)
                        (unless (memq operation todo-write-attention-tests--name-operations)
                          (push operation accessed))
                        (if (eq operation 'file-remote-p)
                            "/elsewhere:"
                          (let (file-name-handler-alist)
                            (apply operation args)))))
                file-name-handler-alist)))
    (make-directory projects t)
    (todo-write-attention-tests--with
      (unwind-protect
          (with-temp-buffer
            (setq default-directory "/elsewhere:/srv/login/")
            (switch-to-buffer (current-buffer))
            (todo-write-begin "a" :project default-directory)
            (todo-write-test-write "a" '("One" "in_progress"))
            (todo-write-set-activity "a" 'working)
            (todo-write-mode-line-mode 1)
            (todo-write-list)
            (todo-write-agents-mode 1)
            (setq accessed nil)
            ;; A hostile transcript names a remote folder, too.
            (write-region
             (concat (json-serialize '(:type "user" :sessionId "s" :uuid "u" :cwd "/elsewhere:/srv"
                                       :message (:role "user" :content "Hello")))
                     "\n")
             nil (expand-file-name "s.jsonl" projects) nil 'silent)
            (todo-write-test-wait
             (lambda () (todo-write-core-call todo-write-dyn--hub-follows-p "claude:s")))
            (progn (todo-write-list--on-change) (todo-write-redraw))
            (todo-write-show "a")
            (with-current-buffer todo-write-view-buffer-name (todo-write-view-draw-all))
            (todo-write-set-activity "a" 'waiting "Allow?")
            (redisplay t)
            (should-not accessed))
        (todo-write-agents-mode -1)
        (todo-write-mode-line-mode -1)
        (kill-buffer "*todo-write-list*")
        (delete-directory local t)))))

(ert-deftest todo-write-attention-without-a-buffer-shows-the-plan-and-says-where ()
  (todo-write-attention-tests--with
    (todo-write-begin "a" :project "/srv/login/")
    (todo-write-test-write "a" "One")
    (todo-write-set-activity "a" 'waiting)
    (should (equal (car (todo-write-attention-tests--messages
                         (todo-write-attention-visit-agent-of "a")))
                   "login has no buffer in this Emacs; its folder is /srv/login/"))
    (cl-letf (((symbol-function 'todo-write-agent-pid) (lambda (_) 4194303))
              ((symbol-function 'todo-write-terminal-tmux-pane) (lambda (_) "main:1.0")))
      (should (equal (car (todo-write-attention-tests--messages (todo-write-next-waiting)))
                     (concat "login has no buffer in this Emacs; it runs in process 4194303, "
                             "tmux pane main:1.0; its folder is /srv/login/")))
      (should (equal "a" todo-write-view-thread)))))

(ert-deftest todo-write-attention-shows-the-tmux-pane-of-an-agent ()
  (todo-write-attention-tests--with
    (let ((pid (emacs-pid)) asked)
      (todo-write-begin "a" :project "/srv/login/")
      (todo-write-set-activity "a" 'waiting)
      (cl-letf (((symbol-function 'todo-write-agent-pid) (lambda (_) pid))
                ((symbol-function 'todo-write-agent-buffer) #'ignore)
                ((symbol-function 'todo-write-terminal--tmux)
                 (lambda (command &rest arguments)
                   (pcase command
                     ("list-panes" (list "1 other:0.0" (format "%d my work:1.0" pid)))
                     ("list-clients" '("5 /dev/pts/1" "7 /dev/pts/2"))
                     (_ (push (cons command arguments) asked) nil)))))
        (should (equal (car (todo-write-attention-tests--messages
                              (todo-write-attention-visit-agent-of "a")))
                       "login is in the tmux pane my work:1.0, which its terminal shows now"))
        (should (equal (reverse asked)
                       '(("select-window" "-t" "=my work:1.0") ("select-pane" "-t" "=my work:1.0")
                         ("switch-client" "-c" "/dev/pts/2" "-t" "=my work:1.0"))))))))

;;; Mode line and tab bar

(defmacro todo-write-attention-tests--with-mode-line (&rest body)
  "Run BODY with the mode line on."
  (declare (indent 0) (debug t))
  `(todo-write-attention-tests--with
     (unwind-protect
         (progn (todo-write-mode-line-mode 1) ,@body)
       (todo-write-mode-line-mode -1))))

(defun todo-write-attention-tests--mode-line ()
  "Return what the mode line shows, without the spinner."
  (todo-write-redraw)
  (and todo-write-mode-line-string
       (replace-regexp-in-string "[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] " ""
                                 (string-trim (substring-no-properties
                                               todo-write-mode-line-string)))))

(ert-deftest todo-write-mode-line-says-who-needs-you-in-place-of-the-plan ()
  (todo-write-attention-tests--with-mode-line
    (todo-write-begin "a" :project "/srv/login/")
    (todo-write-test-write "a" '("One" "in_progress" "Going"))
    (todo-write-set-activity "a" 'working)
    (should (equal "[0/1 Going]" (todo-write-attention-tests--mode-line)))
    (todo-write-set-activity "a" 'waiting "permission to run npm test")
    (should (equal "[! login: permission to run npm test]"
                   (todo-write-attention-tests--mode-line)))
    (should (eq 'todo-write-attention
                (get-text-property 0 'face todo-write-mode-line-string)))
    (todo-write-set-activity "b" 'waiting)
    (should (string-prefix-p "[!2 login: " (todo-write-attention-tests--mode-line)))
    (todo-write-set-activity "a" 'working)
    (todo-write-set-activity "b" 'working)
    (should (equal "[0/1 Going +1]" (todo-write-attention-tests--mode-line)))))

(defun todo-write-attention-tests--select (folder)
  "Show a buffer of FOLDER in the selected window."
  (switch-to-buffer (get-buffer-create "file"))
  (setq default-directory folder)
  (run-hook-with-args 'window-buffer-change-functions (selected-frame)))

(ert-deftest todo-write-mode-line-shows-the-plan-of-the-selected-project ()
  (todo-write-attention-tests--with-mode-line
    (unwind-protect
        (progn
          (pcase-dolist (`(,key ,project) '(("a" "/srv/login/") ("b" "/srv/login/") ("c" "/srv/")
                                            ("d" "/elsewhere:/srv/mail") ("e" "/srv/log/")))
            (todo-write-begin key :project project)
            (todo-write-test-write key `("One" "in_progress" ,(concat "Doing " key)))
            (todo-write-set-activity key 'working))
          (todo-write-begin "sub" :parent "a" :project "/srv/login/")
          (todo-write-test-write "sub" '("One" "in_progress" "Doing less"))
          (pcase-dolist (`(,folder ,shown)
                         '(("/srv/login/" "b") ("/srv/login/src/" "b") ("/srv/shop/" "c")
                           ("/elsewhere:/srv/mail/" "d") ("/srv/log/" "e")))
            (todo-write-attention-tests--select folder)
            (should (equal (format "[0/1 Doing %s +4]" shown)
                           (todo-write-attention-tests--mode-line))))
          ;; A write elsewhere leaves it as it is.
          (todo-write-test-write "a" '("Two" "in_progress" "Doing more"))
          (should (equal "[0/1 Doing e +4]" (todo-write-attention-tests--mode-line)))
          (todo-write-attention-tests--select "/srv/log/")
          (should (equal "[0/1 Doing e +4]" (todo-write-attention-tests--mode-line)))
          (todo-write-attention-tests--select "/srv/login/")
          (should (equal "[0/1 Doing more +4]" (todo-write-attention-tests--mode-line))))
      (kill-buffer "file"))))

(ert-deftest todo-write-mode-line-counts-done-and-unseen-agents ()
  (todo-write-attention-tests--with-mode-line
    (should-not todo-write-mode-line-string)
    (todo-write-set-activity "b" 'working)
    (should-not todo-write-mode-line-string)
    (todo-write-end-turn "b")
    (should (equal "[✓1]" (todo-write-attention-tests--mode-line)))
    (should (equal "mouse-1: show the plan" (todo-write-mode-line--help)))
    (todo-write-test-write "a" '("One" "in_progress" "Going"))
    (should (equal "[0/1 Going ✓1]" (todo-write-attention-tests--mode-line)))
    (todo-write-agent-see "b")
    (should (equal "[0/1 Going]" (todo-write-attention-tests--mode-line)))))

(ert-deftest todo-write-mode-line-help-lists-all-agents-that-need-you ()
  (todo-write-attention-tests--with-mode-line
    (todo-write-set-activity "a" 'waiting "permission")
    (todo-write-test-tick)
    (todo-write-set-activity "b" 'failed "overloaded")
    (should (equal "a: permission\nb: failed: overloaded\nmouse-1: show what it asks, or where it runs"
                   (funcall (get-text-property 0 'help-echo todo-write-mode-line-string)
                            nil nil nil)))))

(ert-deftest todo-write-attention-each-way-to-an-agent-leads-to-its-open-request ()
  (dolist (go (list #'todo-write-next-waiting
                    (lambda ()
                      (todo-write-mode-line-show
                       `(mouse-1 (,(selected-window) mode-line (0 . 0) 0))))
                    (lambda () (todo-write-notify--visit "a"))))
    (todo-write-attention-tests--with-chats '("a")
      (unwind-protect
          (progn
            (todo-write-request "a" :id "1" :kind 'permission :title "npm test"
                                :options '((:label "Yes" :value yes :kind allow))
                                :answer #'ignore)
            (funcall go)
            (should (equal "*todo-write-request*" (buffer-name (window-buffer))))
            (with-current-buffer "*todo-write-request*"
              (should (string-search "npm test" (buffer-string)))))
        (todo-write-withdraw "a" "1")
        (when (get-buffer "*todo-write-request*") (kill-buffer "*todo-write-request*"))))))

;;; Notifications

(defmacro todo-write-attention-tests--with-notes (&rest body)
  "Run BODY with `notes' bound to the notifications made so far, newest first.
Withdrawn ones are in `withdrawn'."
  (declare (indent 0) (debug t))
  `(todo-write-attention-tests--with
     (let* (notes withdrawn
            (todo-write-notify-seconds 0)
            (todo-write-notify-function
             (lambda (&rest note)
               (push note notes)
               (lambda () (push note withdrawn)))))
       (ignore withdrawn)
       (unwind-protect (progn (todo-write-notify-mode 1) ,@body)
         (todo-write-notify-mode -1)))))

(defun todo-write-attention-tests--settle ()
  "Wait until no notification is due."
  (todo-write-test-wait (lambda () (not todo-write-notify--due))))

(ert-deftest todo-write-notify-is-off-by-default ()
  (should-not (default-value 'todo-write-notify-mode)))

(ert-deftest todo-write-notify-says-once-that-an-agent-needs-you ()
  (todo-write-attention-tests--with-notes
    (todo-write-set-activity "a" 'working)
    (todo-write-set-activity "a" 'waiting "permission")
    (should-not notes)
    (todo-write-attention-tests--settle)
    (should (equal notes '(("a" "a needs you" "permission"))))
    (todo-write-test-write "a" "One")
    (todo-write-attention-tests--settle)
    (should (= 1 (length notes)))))

(ert-deftest todo-write-notify-is-silent-about-requests-answered-soon ()
  (todo-write-attention-tests--with-notes
    (todo-write-set-activity "a" 'waiting "permission")
    (todo-write-set-activity "a" 'working)
    (should-not todo-write-notify--due)))

(ert-deftest todo-write-notify-off-leaves-no-note-on-the-desktop ()
  (todo-write-attention-tests--with-notes
    (dolist (key '("a" "b"))
      (todo-write-set-activity key 'waiting "permission"))
    (todo-write-attention-tests--settle)
    (todo-write-notify-mode -1)
    (should (= 1 (length withdrawn)))
    (should-not todo-write-notify--open)))

(ert-deftest todo-write-notify-tells-of-several-agents-at-once ()
  (todo-write-attention-tests--with-notes
    (dolist (key '("a" "b" "c"))
      (todo-write-set-activity key 'waiting "permission"))
    (todo-write-attention-tests--settle)
    (should (equal (mapcar #'cadr notes) '("3 agents need you")))
    (todo-write-set-activity "a" 'working)
    (should-not withdrawn)
    (todo-write-set-activity "b" 'working)
    (todo-write-set-activity "c" 'working)
    (should (equal withdrawn notes))))

(ert-deftest todo-write-notify-is-silent-about-agents-that-a-focused-frame-shows ()
  (todo-write-attention-tests--with-notes
    (todo-write-test-write "a" "One")
    (switch-to-buffer (todo-write-show "a"))
    (todo-write-set-activity "a" 'waiting "permission")
    (todo-write-attention-tests--settle)
    (should-not notes)))

(ert-deftest todo-write-notify-is-silent-about-agents-that-waited-before ()
  (todo-write-attention-tests--with
    (todo-write-set-activity "a" 'waiting "permission")
    (unwind-protect
        (progn (todo-write-notify-mode 1)
               (should-not todo-write-notify--due))
      (todo-write-notify-mode -1))))

(ert-deftest todo-write-notify-tells-of-done-agents-only-if-wanted ()
  (todo-write-attention-tests--with-notes
    (dolist (todo-write-notify-done '(nil t))
      ;; It ends later than before, by the clock.
      (todo-write-test-tick)
      (todo-write-set-activity "a" 'working)
      (todo-write-end-turn "a")
      (todo-write-attention-tests--settle)
      (should (equal (mapcar #'cadr notes) (and todo-write-notify-done '("a is done")))))))

(ert-deftest todo-write-notify-without-a-desktop-uses-the-echo-area ()
  (require 'notifications nil t)
  (should (equal '("T: x <b>")
                 (todo-write-attention-tests--messages
                   (should-not (todo-write-notify-default "a" "T" "x <b>"))))))

(defconst todo-write-attention-tests--desktop
  '((require 'dbus)
    (require 'notifications)
    (require 'todo-write-notify)
    (defvar calls nil)
    (defvar capabilities '("body" "body-markup"))
    (dbus-register-service :session notifications-service)
    (pcase-dolist (`(,method . ,handler)
                   `(("Notify" . ,(lambda (&rest arguments)
                                    (push (list (nth 3 arguments) (nth 4 arguments)) calls)
                                    '(:uint32 7)))
                     ("GetCapabilities" . ,(lambda () (list (cons :array capabilities))))
                     ("CloseNotification" . ,(lambda (id) (push (list 'closed id) calls)
                                               :ignore))))
      (dbus-register-method :session notifications-service notifications-path
                            notifications-interface method handler))
    (add-hook 'todo-write-agent-functions #'ignore)
    (todo-write-set-activity "a" 'waiting)
    (with-current-buffer (get-buffer-create "chat a")
      (setq-local todo-write-view-thread "a"))
    (let ((withdraw (todo-write-notify-default "a" "T & U" "x <b> & y")))
      (dbus-send-signal :session notifications-service notifications-path
                        notifications-interface "ActionInvoked" :uint32 7 "default")
      (with-timeout (60 (error "Still waiting"))
        (while (not (equal "chat a" (buffer-name (window-buffer))))
          (read-event nil nil 0.02)))
      (funcall withdraw))
    (setq capabilities '("body"))
    (todo-write-notify-default "a" "T" "x <b>")
    (prin1 (list (buffer-name (window-buffer)) (reverse calls))))
  "Forms that notify by D-Bus, with a desktop that answers as dunst 1.9 does.")

(ert-deftest todo-write-notify-tells-the-desktop-and-goes-where-it-is-clicked ()
  (skip-unless (and (executable-find "dbus-run-session") (featurep 'dbusbind)))
  (should (equal '("chat a" (("T & U" "x &lt;b&gt; &amp; y") (closed 7) ("T" "x <b>")))
                 (with-temp-buffer
                   (let ((command (let ((todo-write-directory nil))
                                    (apply #'todo-write-test-emacs
                                           todo-write-attention-tests--desktop))))
                     (apply #'call-process "dbus-run-session" nil '(t nil) nil "--" command))
                   (goto-char (point-min))
                   (read (current-buffer))))))

(defun todo-write-attention-tests--contrast (one other)
  "Return the contrast of the colors ONE and OTHER, as #rrggbb, by WCAG 2."
  (let ((lights (mapcar
                 (lambda (color)
                   (+ 0.05
                      (apply #'+ (cl-mapcar
                                  (lambda (weight start)
                                    (let ((value (/ (string-to-number
                                                     (substring color start (+ 2 start)) 16)
                                                    255.0)))
                                      (* weight (if (<= value 0.03928) (/ value 12.92)
                                                  (expt (/ (+ value 0.055) 1.055) 2.4)))))
                                  '(0.2126 0.7152 0.0722) '(1 3 5)))))
                 (list one other))))
    (/ (apply #'max lights) (apply #'min lights))))

(ert-deftest todo-write-attention-can-be-read-on-any-mode-line ()
  (let ((spec (face-default-spec 'todo-write-attention))
        (names '(("white" . "#e5e5e5") ("red" . "#cd0000"))))
    (dolist (attributes (mapcar #'cdr spec))
      (let ((foreground (plist-get attributes :foreground))
            (background (plist-get attributes :background)))
        (if (plist-get attributes :inverse-video)
            (should-not (or foreground background))
          (should (>= (todo-write-attention-tests--contrast
                       (alist-get foreground names foreground nil #'equal)
                       (alist-get background names background nil #'equal))
                      4.5)))))))

(provide 'todo-write-attention-tests)
;;; todo-write-attention-tests.el ends here
