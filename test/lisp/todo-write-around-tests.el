;;; todo-write-around-tests.el --- Tests of menus, bookmarks, tab bar and auto-show  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Menus, bookmarks, desktops, header line, tab bar, spinner, and plans
;; that appear by themselves.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'bookmark)
(require 'desktop)
(require 'todo-write-view-test-helper)
(require 'todo-write-visit)
(require 'todo-write-mode-line)
(require 'todo-write-doctor)
(require 'todo-write-history)
(require 'todo-write-list)
(require 'todo-write-buffer)
(require 'todo-write-review)
(require 'todo-write-visit)

;;; Menus and keys

(defun todo-write-around-tests--buffer-commands ()
  "Return the commands that belong to a buffer of todo-write, but not to a click."
  (let (commands)
    (mapatoms (lambda (symbol)
                (when (and (commandp symbol) (command-modes symbol)
                           (string-match-p "\\`todo-write-" (symbol-name symbol))
                           (not (string-match-p "-mouse-" (symbol-name symbol))))
                  (push symbol commands))))
    (sort commands #'string<)))

(ert-deftest todo-write-commands-of-a-buffer-change-no-other-one ()
  (mapc #'require '(todo-write-edit todo-write-search todo-write-answer
                    todo-write-visit todo-write-tell))
  (should (memq 'todo-write-buffer-visit (todo-write-around-tests--buffer-commands)))
  (todo-write-test-with-view
    (todo-write-test-write "a" "Oak")
    (let ((plan (current-buffer)))
      (dolist (command (todo-write-around-tests--buffer-commands))
        (ert-info ((symbol-name command))
          (with-temp-buffer
            (insert "My own text")
            ;; One asks for the agent, and the user takes none.
            (cl-letf (((symbol-function 'completing-read) (lambda (&rest _) (user-error "None"))))
              (should-error (call-interactively command) :type 'user-error))
            (should (equal (buffer-string) "My own text")))
          (unless (memq 'todo-write-view-mode (command-modes command))
            (with-current-buffer plan
              (should-error (call-interactively command) :type 'user-error)
              (should (string-search "○ Oak" (buffer-string))))))))))

(ert-deftest todo-write-menu-comes-up-after-a-quit-while-it-was-loaded ()
  (should (equal '(quit t)
                 (todo-write-test-child
                  '(require 'todo-write-view)
                  '(setq todo-write-directory nil)
                  ;; The user quits in the middle of the file.
                  '(require 'eieio)
                  '(advice-add 'eieio-defclass-internal :after
                               (lambda (name &rest _)
                                 (when (eq name 'transient-prefix)
                                   (setq quit-flag t))))
                  '(with-current-buffer (get-buffer-create "plan")
                     (todo-write-view-mode)
                     (let ((first (condition-case nil
                                      (progn (todo-write-buffer--transient major-mode) nil)
                                    (quit 'quit))))
                       (prin1 (list first
                                    (and (commandp (todo-write-buffer--transient major-mode))
                                         (get 'todo-write-view-mode-transient 'transient--prefix)
                                         t)))))))))

(ert-deftest todo-write-menu-shows-the-keys-of-every-buffer ()
  (dolist (mode '(todo-write-view-mode todo-write-history-mode todo-write-timeline-mode
                  todo-write-list-mode todo-write-log-mode))
    (with-temp-buffer
      (funcall mode)
      (should (eq (key-binding "?") 'todo-write-menu))
      (should (command-completion-default-include-p 'todo-write-menu (current-buffer)))
      (pcase-dolist (`(,key ,_ ,command . ,menu)
                     (mapcan (lambda (group) (copy-sequence (cdr group)))
                             (get mode 'todo-write-menu)))
        ;; Some are behind the menu.
        (if menu
            (should (memq (key-binding (kbd key)) '(nil undefined)))
          (should (eq (key-binding (kbd key)) command)))
        (should (eq (todo-write-test-menu-command mode key) command)))))
  (with-temp-buffer
    (should-error (todo-write-menu) :type 'user-error)))

(defconst todo-write-menu-tests--modes
  '(todo-write-view-mode todo-write-history-mode todo-write-timeline-mode
    todo-write-list-mode todo-write-log-mode)
  "The modes of our buffers.")

;; Transient wraps what is too wide, and cuts off what is too high, without a sign.
(ert-deftest todo-write-menu-fits-a-terminal-of-80-columns-and-24-lines ()
  (dolist (mode todo-write-menu-tests--modes)
    (ert-info ((symbol-name mode))
      (let* ((groups (get mode 'todo-write-menu))
             (common (append (seq-intersection groups todo-write-menu-common)
                             '(("Menu" ("a" "Answer an agent") ("q" "Close")))))
             (rows (list (seq-difference groups common) common)))
        (dolist (row rows)
          ;; Three columns are between two groups.
          (should (< (apply #'+ -3
                            (mapcar (lambda (group)
                                      (+ 3 (apply #'max (mapcar (pcase-lambda (`(,key ,label . ,_))
                                                                  (+ 2 (length key) (length label)))
                                                                (cdr group)))))
                                    row))
                     80)))
        ;; The menu bar, the least window above, the echo area, and a line between the rows.
        (should (<= (apply #'+ 1 (mapcar (lambda (row) (apply #'max (mapcar #'length row))) rows))
                    (- 24 6)))))))

(ert-deftest todo-write-keys-that-scroll-or-quit-do-so-in-every-buffer ()
  (dolist (mode `(,@todo-write-menu-tests--modes
                  todo-write-review-mode todo-write-visit-diff-mode
                  todo-write-visit-output-mode))
    (ert-info ((symbol-name mode))
      (with-temp-buffer
        (funcall mode)
        (should (equal '(scroll-up-command scroll-down-command keyboard-quit quit-window
                         revert-buffer)
                       (mapcar (lambda (key) (key-binding (kbd key)))
                               '("SPC" "DEL" "C-g" "q" "g"))))
        (unless (memq mode '(todo-write-visit-diff-mode todo-write-visit-output-mode))
          (should (eq 'todo-write-menu (key-binding "?"))))))))

(ert-deftest todo-write-keys-mean-one-thing-in-every-buffer ()
  (dolist (mode todo-write-menu-tests--modes)
    (with-temp-buffer
      (funcall mode)
      (pcase-dolist (`(,key . ,commands)
                     '(("t" todo-write-edit-cycle-status)
                       ("e" todo-write-edit-text)
                       ("+" todo-write-edit-add)
                       ("k" todo-write-edit-delete todo-write-forget)
                       ("R" todo-write-edit-restore)
                       ("u" todo-write-edit-undo)
                       ("w" todo-write-copy)
                       ("X")
                       ("s" todo-write-switch)
                       ("L")
                       ("^") (".") ("H") ("T") ("F") ("l") ("<") (">")
                       ("i" todo-write-view-information)
                       ("O" todo-write-resume-session)
                       ("o" todo-write-view-visit-agent)
                       ("P")
                       ("d" todo-write-list-dismiss)
                       ("m" todo-write-list-toggle-seen)
                       ("N" todo-write-next-waiting)
                       ("x")))
        (let ((command (key-binding (kbd key))))
          (ert-info ((format "%s in %s" key mode))
            (when (string-match-p "\\`\\(?:todo-write\\|efrit-do\\)" (format "%s" command))
              (should (memq command commands)))))))))

(defun todo-write-around-tests--commands (map)
  "Return the commands of the keys in MAP itself, without mouse events."
  (let (found)
    (map-keymap-internal
     (lambda (event binding)
       (cond ((memq event '(menu-bar remap mouse-1 mouse-2 follow-link)))
             ((keymapp binding)
              (setq found (append (todo-write-around-tests--commands binding) found)))
             ((commandp binding) (push binding found))))
     map)
    found))

(ert-deftest todo-write-menu-bars-offer-the-commands-of-the-keys ()
  (dolist (map (list todo-write-view-mode-map todo-write-list-mode-map
                     todo-write-history-mode-map todo-write-timeline-mode-map
                     todo-write-log-mode-map))
    (let (offered (commands (todo-write-around-tests--commands map)))
      (map-keymap (lambda (_ menu)
                    (map-keymap (lambda (_ item)
                                  (when (eq 'menu-item (car-safe item))
                                    (push (nth 2 item) offered)))
                                (if (eq 'menu-item (car-safe menu)) (nth 2 menu) menu)))
                  (lookup-key map [menu-bar]))
      (should commands)
      ;; They do the same as a click.
      (should-not (seq-difference commands
                                  (append '(next-line previous-line todo-write-buffer-next
                                                      todo-write-buffer-previous)
                                          offered))))))

(ert-deftest todo-write-row-faces-inherit-and-shapes-differ ()
  (dolist (face (face-list))
    (when (string-prefix-p "todo-write-" (symbol-name face))
      (ert-info ((symbol-name face))
        (pcase-dolist (`(,_ . ,attributes) (face-default-spec face))
          (let ((attributes (if (keywordp (car attributes)) attributes (car attributes))))
            ;; One color of its own cannot be read on every background.
            (should (or (plist-get attributes :inherit) (plist-get attributes :inverse-video)
                        (and (plist-get attributes :foreground)
                             (plist-get attributes :background)))))))))
  (let ((shapes (mapcar (lambda (kind) (alist-get kind todo-write-text--shapes))
                        '(completed in_progress pending paused removed))))
    (dolist (shape (list #'car #'cadr))
      (should (= 5 (length (seq-uniq (mapcar shape shapes))))))))

(defun todo-write-around-tests--left-behind (show)
  "Return how many conses remain after SHOW, a form, has opened a hundred views.
Each view is killed.  Count the conses in a new Emacs: after an `add-hook'
with a depth, Emacs 28 keeps every function ever added to that hook."
  (todo-write-test-child
   '(progn (require 'todo-write-doctor)
           (require 'todo-write-history)
           (require 'todo-write-list))
   `(let ((todo-write-directory nil)
          (come-and-go (lambda (times)
                         (dotimes (_ times)
                           (kill-buffer ,show))
                         (garbage-collect)
                         (nth 2 (assq 'conses (garbage-collect))))))
      (todo-write "a" ',(todo-write-test-todos "One" "Two"))
      (funcall come-and-go 3)
      (let ((before (funcall come-and-go 3)))
        (prin1 (- (funcall come-and-go 100) before))))))

(ert-deftest todo-write-opening-and-killing-views-leaks-no-memory ()
  (dolist (show '((todo-write-show "a") (todo-write-history "a") (todo-write-timeline "a")
                  (todo-write-log "a") (todo-write-list)))
    (ert-info ((format "%S" show))
      (should (< (todo-write-around-tests--left-behind show) 100)))))

(ert-deftest todo-write-view-never-looks-modified ()
  (todo-write-test-with-view
    (dolist (step (list (lambda () (todo-write-test-write "a" "One" '("Two" "in_progress")))
                        (lambda () (todo-write-test-write "a" "One"))
                        (lambda () (todo-write-test-open "One"))
                        (lambda () (todo-write-pause "a"))
                        (lambda () (todo-write-observe "a" "TITLE" "T"))
                        #'todo-write-view-draw-all
                        #'todo-write-view-refresh))
      (funcall step)
      (should-not (buffer-modified-p)))))

;;; Index, bookmarks, desktops

(ert-deftest todo-write-view-can-be-bookmarked-with-its-task ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One" "Two")
    (todo-write-view-goto (todo-write-test-id "a" "Two"))
    (let ((bookmark (bookmark-make-record)))
      (kill-buffer)
      (todo-write-bookmark-jump bookmark)
      (should (equal todo-write-view-thread "a"))
      (should (looking-at-p " ○ Two")))
    (todo-write-forget "a")
    (should-error (todo-write-bookmark-jump '("x" (thread . "a"))) :type 'user-error)))

(ert-deftest todo-write-view-bookmarks-and-parents-lead-to-tasks-that-left-the-list ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One" "Two")
    (let ((id (todo-write-test-id "a" "Two")))
      (todo-write-begin "sub" :parent "a" :parent-item id)
      (todo-write-test-write "sub" "Three")
      (todo-write-view-goto id)
      (let ((bookmark (bookmark-make-record)))
        (todo-write-test-write "a" "One")
        (todo-write-test-write "a" "One" "Four")
        (goto-char (point-min))
        (todo-write-bookmark-jump bookmark)
        (should (looking-at-p " +✗ Two"))
        (todo-write-show "sub")
        (todo-write-view-to-parent)
        (should (looking-at-p " +✗ Two"))))))

(ert-deftest todo-write-view-a-bookmark-opens-no-second-window ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One" "Two")
    (todo-write-view-goto (todo-write-test-id "a" "Two"))
    (let ((bookmark (bookmark-make-record)))
      (switch-to-buffer "*scratch*")
      (bookmark-jump bookmark)
      (should (one-window-p))
      (should (equal todo-write-view-thread "a"))
      (should (looking-at-p " ○ Two")))))

(ert-deftest todo-write-view-comes-back-with-a-desktop ()
  (todo-write-test-with-view
    (todo-write-test-write "a" "One")
    (let ((misc (funcall desktop-save-buffer "/tmp/")))
      (should (desktop-save-buffer-p nil (buffer-name) 'todo-write-view-mode))
      (kill-buffer)
      (let ((buffer (todo-write-bookmark-restore nil "x" misc)))
        (should (bufferp buffer))
        (should (equal "a" (buffer-local-value 'todo-write-view-thread buffer)))))
    (should-not (todo-write-bookmark-restore nil "x" nil))))

;;; Spinner, header line, tab bar

(defun todo-write-around-tests--spins-p ()
  "Return non-nil if the mode line is to be updated."
  (assq #'todo-write-mode-line--update todo-write-events--marked))

(ert-deftest todo-write-mode-line-turns-a-spinner-only-while-an-agent-works ()
  (todo-write-test-with-shapes
    (todo-write-test-write "a" '("One" "in_progress" "Going"))
    (unwind-protect
        (progn
          (todo-write-mode-line-mode 1)
          (should (string-prefix-p "[0/1 Going]" todo-write-mode-line-string))
          (todo-write-set-activity "a" 'working)
          (let ((first todo-write-mode-line-string))
            (should (string-match-p "\\`\\[[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] 0/1 Going\\]" first))
            (todo-write-test-wait
             (lambda () (not (equal first todo-write-mode-line-string)))))
          (todo-write-set-activity "a" nil)
          (todo-write-test-wait (lambda () (not (todo-write-around-tests--spins-p))))
          (should (string-prefix-p "[0/1 Going]" todo-write-mode-line-string)))
      (todo-write-set-activity "a" nil)
      (todo-write-mode-line-mode -1))))

(ert-deftest todo-write-activity-has-no-timer-where-nothing-shows-a-spinner ()
  (todo-write-with-store
    (unwind-protect
        (progn
          (todo-write-test-write "a" '("One" "in_progress" "Going"))
          (todo-write-set-activity "a" 'working)
          (should-not (todo-write-around-tests--spins-p))
          (todo-write-mode-line-mode 1)
          (should (todo-write-around-tests--spins-p))
          (todo-write-mode-line-mode -1)
          (todo-write-test-wait (lambda () (not (todo-write-around-tests--spins-p)))))
      (todo-write-set-activity "a" nil)
      (todo-write-mode-line-mode -1))))

(ert-deftest todo-write-activity-turns-the-spinner-until-the-last-agent-is-done ()
  (todo-write-with-store
    (unwind-protect
        (progn
          (todo-write-mode-line-mode 1)
          (todo-write-test-write "a" '("One" "in_progress" "Going"))
          (todo-write-test-write "b" '("Two" "in_progress" "Coming"))
          (todo-write-set-activity "a" 'working)
          (todo-write-set-activity "a" 'working)
          (todo-write-set-activity "b" 'working)
          (todo-write-set-activity "a" nil)
          (should (string-match-p "\\`\\[[^0] 0/1 Coming" todo-write-mode-line-string))
          (should (todo-write-around-tests--spins-p))
          (todo-write-set-activity "b" nil)
          (todo-write-test-wait (lambda () (not (todo-write-around-tests--spins-p)))))
      (todo-write-mode-line-mode -1))))

(ert-deftest todo-write-mode-line-forgets-a-thread ()
  (todo-write-test-with-shapes
    (unwind-protect
        (progn (todo-write-mode-line-mode 1)
               (todo-write-test-write "a" "One")
               (should todo-write-mode-line-string)
               (todo-write-forget "a")
               (should-not todo-write-mode-line-string))
      (todo-write-mode-line-mode -1))))

;;; Plans that appear by themselves

(defmacro todo-write-around-tests--with-auto-show (&rest body)
  "Run BODY with `todo-write-auto-show-mode' on, in a frame with one window."
  (declare (indent 0) (debug t))
  `(todo-write-test-with-shapes
     (switch-to-buffer "*scratch*")
     (delete-other-windows)
     (unwind-protect (progn (todo-write-auto-show-mode 1) ,@body)
       (todo-write-auto-show-mode -1)
       (mapc (lambda (window)
               (unless (eq window (selected-window)) (delete-window window)))
             (window-list)))))

(defun todo-write-around-tests--window ()
  "Return the window of the plan, or nil."
  (get-buffer-window todo-write-view-buffer-name))

(ert-deftest todo-write-auto-show-lets-its-window-become-the-only-one ()
  (todo-write-around-tests--with-auto-show
    (todo-write-test-write "a" "One")
    (let ((buffer (get-buffer todo-write-view-buffer-name)))
      (select-window (get-buffer-window buffer))
      (call-interactively #'delete-other-windows)
      (should (one-window-p))
      (should (eq buffer (window-buffer))))))

(ert-deftest todo-write-auto-show-shows-a-plan-without-selecting-it ()
  (todo-write-around-tests--with-auto-show
    (let ((selected (selected-window)))
      (todo-write-test-write "a" "One")
      (should (todo-write-around-tests--window))
      (should (eq selected (selected-window))))))

(ert-deftest todo-write-auto-show-takes-the-window-that-shows-the-buffer ()
  (todo-write-around-tests--with-auto-show
    (let ((selected (selected-window)))
      (switch-to-buffer (todo-write-show "a"))
      (delete-other-windows)
      (todo-write-test-write "b" "One")
      (should (equal (list selected) (window-list)))
      (should (equal "b" todo-write-view-thread)))))

(ert-deftest todo-write-auto-show-stays-closed-once-the-user-closed-it ()
  (todo-write-around-tests--with-auto-show
    (todo-write-test-write "a" "One")
    (quit-window nil (todo-write-around-tests--window))
    (should-not (todo-write-around-tests--window))
    (todo-write-test-write "a" "One" "Two")
    (should-not (todo-write-around-tests--window))
    (todo-write-test-write "b" "Other")
    (should (todo-write-around-tests--window))))

(ert-deftest todo-write-auto-show-keeps-the-plan-of-a-working-agent ()
  (todo-write-around-tests--with-auto-show
    (todo-write-test-write "a" "One")
    (todo-write-test-write "b" "Other")
    (let ((shown (lambda () (buffer-local-value
                             'todo-write-view-thread
                             (window-buffer (todo-write-around-tests--window))))))
      (should (equal "a" (funcall shown)))
      (todo-write-test-write "a" '("One" "completed"))
      (should (equal "a" (funcall shown)))
      (todo-write-test-write "b" "Other" "More")
      (should (equal "b" (funcall shown))))))

(ert-deftest todo-write-auto-show-obeys-the-rules-of-display-buffer ()
  (todo-write-around-tests--with-auto-show
    (let ((display-buffer-alist '(("\\*efrit-todos\\*" (display-buffer-no-window)
                                   (allow-no-window . t)))))
      (todo-write-test-write "a" "One")
      (should-not (todo-write-around-tests--window)))))

(ert-deftest todo-write-auto-show-shows-no-plans-of-subagents ()
  (todo-write-around-tests--with-auto-show
    (todo-write-begin "b" :parent "a")
    (todo-write-test-write "b" "Two")
    (should-not (todo-write-around-tests--window))
    (todo-write-test-write "c" "Three")
    (should (todo-write-around-tests--window))))

(provide 'todo-write-around-tests)
;;; todo-write-around-tests.el ends here
