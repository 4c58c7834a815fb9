;;; todo-write-literal-tests.el --- Agent text in prompts and tooltips  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Hostile text is shown literally wherever Emacs gives text a meaning: in prompts,
;; completions, buffers, their tooltips and their names.  The mode line and its kin are
;; tested in a terminal; see todo-write-literal-e2e-tests.el.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'todo-write-view-test-helper)
(require 'todo-write-literal-helper)
(require 'todo-write-answer)
(require 'todo-write-edit)
(require 'todo-write-follow)
(require 'todo-write-history)
(require 'todo-write-list)
(require 'todo-write-mode-line)
(require 'todo-write-visit)
(require 'todo-write-visit)
(require 'efrit-do)

(defvar todo-write-literal-tests--shown nil
  "What prompts and completions have shown, the newest first.")

(defun todo-write-literal-tests--complete (prompt table &rest _)
  "Note PROMPT and all that TABLE shows, and return its first candidate."
  (let* ((metadata (completion-metadata "" table nil))
         (names (all-completions "" table))
         (annotate (completion-metadata-get metadata 'annotation-function))
         (affix (completion-metadata-get metadata 'affixation-function))
         (group (completion-metadata-get metadata 'group-function)))
    (setq todo-write-literal-tests--shown
          (append (list prompt) names
                  (and annotate (delq nil (mapcar annotate names)))
                  (and affix (apply #'append (funcall affix names)))
                  (and group (mapcar (lambda (name) (funcall group name nil)) names))
                  todo-write-literal-tests--shown))
    (or (seq-find (lambda (name) (string-search "undo" name)) names) (car names) "x")))

(defun todo-write-literal-tests--ask (prompt &rest _)
  "Note PROMPT, and return nil."
  (ignore (push prompt todo-write-literal-tests--shown)))

(defun todo-write-literal-tests--read (prompt &optional initial &rest _)
  "Note PROMPT and how INITIAL is displayed, and return INITIAL."
  (push prompt todo-write-literal-tests--shown)
  (push (mapconcat (lambda (position)
                     (or (get-text-property position 'display initial)
                         (substring-no-properties initial position (1+ position))))
                   (number-sequence 0 (1- (length initial))) "")
        todo-write-literal-tests--shown)
  (substring-no-properties (or initial "")))

(defmacro todo-write-literal-tests--with (&rest body)
  "Evaluate BODY with two hostile plans of the keys ONE and TWO, of which ONE asks."
  (declare (indent 0) (debug t))
  `(todo-write-test-with-shapes
     (let ((one (todo-write-literal-make "one")) (two (todo-write-literal-make "two"))
           (inhibit-message t) (buffers (buffer-list)))
       (todo-write-set-activity two 'waiting todo-write-literal-text)
       ;; A task that waits in the millisecond of its start is not in the timeline.
       (todo-write-test-wait
        (lambda () (cl-plusp (plist-get (car (todo-write-history--rows one)) :spent))))
       (todo-write-literal-ask one)
       (unwind-protect (progn (ignore two) ,@body)
         (todo-write-withdraw one "1")
         ;; The overview tracks agents until it is killed.
         (mapc #'kill-buffer (seq-difference (buffer-list) buffers))))))

(ert-deftest todo-write-literal-prompts-and-completions-show-agent-text-literally ()
  (todo-write-literal-tests--with
    (cl-letf (((symbol-function 'completing-read) #'todo-write-literal-tests--complete)
              ((symbol-function 'read-string) #'todo-write-literal-tests--read)
              ((symbol-function 'y-or-n-p) #'todo-write-literal-tests--ask)
              ((symbol-function 'yes-or-no-p) #'todo-write-literal-tests--ask))
      (pcase-dolist
          (`(,name ,buffer ,command ,shows)
           `(("another plan" ,(lambda () (current-buffer)) todo-write-switch t)
             ("an agent" ,(lambda () (current-buffer))
              ,(lambda () (interactive) (todo-write-read-thread "Go to: ")) t)
             ("to forget" todo-write-list todo-write-forget t)
             ("to undo a rename"
              ,(lambda ()
                 (todo-write one '(:todos [(:content "2" :status "pending")]))
                 (todo-write-show one))
              todo-write-edit-undo)
             ("to edit" ,(lambda () (todo-write-undo one) (todo-write-show one))
              todo-write-edit-text t)))
        (ert-info ((format "Asking for %s" name))
          (let ((todo-write-literal-tests--shown nil))
            (with-current-buffer (funcall buffer)
              (goto-char (point-min))
              (when (derived-mode-p 'todo-write-view-mode)
                (todo-write-view-goto "t1"))
              (ignore-error user-error (call-interactively command)))
            (should todo-write-literal-tests--shown)
            (when shows
              (should (seq-some (lambda (text) (string-search todo-write-literal-shown text))
                                todo-write-literal-tests--shown)))
            (dolist (text todo-write-literal-tests--shown)
              (should-not (todo-write-literal-problem text)))))))))

(defun todo-write-literal-tests--helps ()
  "Return the tooltips of the current buffer."
  (let ((position (point-min)) helps)
    (while (< position (point-max))
      (pcase (get-char-property position 'help-echo)
        ('nil)
        ((and (pred functionp) function)
         (when-let* ((help (funcall function nil (current-buffer) position)))
           (cl-pushnew help helps)))
        (help (cl-pushnew help helps)))
      (setq position (next-char-property-change position)))
    helps))

(defun todo-write-literal-tests--tooltip (help)
  "Return HELP as Emacs displays it."
  (if (get-text-property 0 'help-echo-inhibit-substitution help) help
    (substitute-command-keys help)))

(ert-deftest todo-write-literal-buffers-and-tooltips-show-agent-text-literally ()
  (todo-write-literal-tests--with
    (pcase-dolist
        (`(,name ,buffer ,shows)
         `(("plan" ,(lambda () (todo-write-show one)) t)
           ("opened row" ,(lambda ()
                            (with-current-buffer (todo-write-show one)
                              (todo-write-view-goto "t2")
                              (todo-write-test-press "RET")
                              (current-buffer)))
            t)
           ("history" ,(lambda () (todo-write-history one)))
           ("revision" ,(lambda ()
                          (with-current-buffer (todo-write-history one)
                            (todo-write-buffer-visit)
                            (current-buffer))))
           ("timeline" ,(lambda () (todo-write-timeline one)) t)
           ("log" ,(lambda () (todo-write-log one)) t)
           ("observation" ,(lambda ()
                             (with-current-buffer (todo-write-log one)
                               (goto-char (point-min))
                               (search-forward "THOUGHTS")
                               (todo-write-buffer-visit))
                             (get-buffer "*todo-write-observation*")))
           ("overview" todo-write-list t)
           ("request" ,(lambda () (todo-write-answer one) (get-buffer "*todo-write-request*")))))
      (ert-info ((format "In the %s" name))
        (with-current-buffer (funcall buffer)
          ;; All that Emacs would display of the text, folded or not.
          ;; The timeline cuts it, and shows all of it in the tooltip.
          (unless (equal name "timeline")
            (should (string-search todo-write-literal-shown (buffer-string))))
          (should-not (todo-write-literal-problem (buffer-string) t))
          (let ((helps (todo-write-literal-tests--helps)))
            (when shows
              (should (seq-some (lambda (help) (string-search todo-write-literal-shown help))
                                helps)))
            (dolist (help helps)
              (should (equal help (todo-write-literal-tests--tooltip help)))
              (should-not (todo-write-literal-problem help t)))))))
    (let ((todo-write-mode-line--thread two))
      (should-not (todo-write-literal-problem
                   (todo-write-literal-tests--tooltip (todo-write-mode-line--help)) t)))))

(ert-deftest todo-write-literal-names-of-buffers-show-agent-text-literally ()
  (todo-write-literal-tests--with
    (let ((before (buffer-list)))
      (todo-write-show one)
      (todo-write-history one)
      (todo-write-timeline one)
      (todo-write-log one)
      (todo-write-list)
      (efrit-do-execute-tool "buffer_create" (list :name todo-write-literal-text :content "x"))
      (let ((names (mapcar #'buffer-name (seq-difference (buffer-list) before #'eq))))
        (should (seq-some (lambda (name) (string-search todo-write-literal-shown name)) names))
        (dolist (name names)
          (should-not (todo-write-literal-problem name)))))))

(provide 'todo-write-literal-tests)
;;; todo-write-literal-tests.el ends here
