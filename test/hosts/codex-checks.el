;;; codex-checks.el --- Following the genuine Codex  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Codex works against a scripted model.  A gate is a command that waits for a
;; file.  At each gate, the plan in this Emacs must be that of Codex, and the
;; activity must be that of Codex at that moment.  codex.sh runs this.

;;; Code:

(require 'ert)
(require 'hosts-helper)
(require 'review-helper)
(require 'todo-write-follow)
(require 'todo-write-socket-helper)

(defvar codex-checks-folder nil "The project in which Codex runs.")
(defvar codex-checks-process nil "The process of Codex.")

(defun codex-checks-call (name &rest arguments)
  "Return a step in which the model calls NAME with ARGUMENTS."
  (list :name name :arguments arguments))

(defun codex-checks-update (&rest entries)
  "Return a step with a plan of ENTRIES, each (STEP . STATUS)."
  (codex-checks-call "update_plan"
                     :plan (vconcat (mapcar (lambda (entry)
                                              (list :step (car entry) :status (cdr entry)))
                                            entries))))

(defun codex-checks-gate (name)
  "Return a step that ends when the gate NAME is open."
  (codex-checks-call "exec_command" :cmd (hosts-gate-command name) :yield_time_ms 30000))

(defvar codex-checks-arguments nil "Arguments of Codex with the address of its model.")
(defvar codex-checks-home nil "Home of Codex.")
(defvar codex-checks-environment nil "Further environment variables of Codex.")
(defvar codex-checks-asks nil "Non-nil if Codex may not run all commands.")
(defvar codex-checks-settings nil "Further arguments of Codex.")
(defvar codex-checks-follows t "Non-nil if this Emacs follows Codex.")

(defun codex-checks-start (&rest arguments)
  "Start Codex with ARGUMENTS after `exec', in place of an earlier one."
  (codex-checks-stop)
  (let ((process-environment (append codex-checks-environment '("MOCK_KEY=test-key")
                                     (hosts-environment codex-checks-home))))
    (setq codex-checks-process
          (make-process
           :name "codex" :buffer (generate-new-buffer "*codex*") :noquery t
           :connection-type 'pipe
           :command `(,(expand-file-name "codex" hosts-bin) "exec" ,@codex-checks-arguments
                      ,@arguments)))
    (process-send-eof codex-checks-process)))

(defun codex-checks-stop ()
  "Kill Codex, if it was started."
  (when codex-checks-process
    (delete-process codex-checks-process)
    (kill-buffer (process-buffer codex-checks-process))))

(defun codex-checks-run (model steps function)
  "Run Codex by STEPS of MODEL, and call FUNCTION meanwhile."
  (let* ((codex-checks-home (make-temp-file "home" t))
         (codex-checks-folder (file-name-as-directory
                               (file-truename (make-temp-file "garden" t))))
         (default-directory codex-checks-folder)
         (todo-write-follow-agents
          `((codex . ,(expand-file-name ".codex" codex-checks-home)))))
    (todo-write-with-store
      (hosts-with-responses
       steps
       (lambda (url)
         (let ((codex-checks-arguments
                (append (hosts-codex-arguments url model)
                        codex-checks-settings
                        '("-c" "tools.update_plan.enabled=true")
                        (unless codex-checks-asks
                          '("--dangerously-bypass-approvals-and-sandbox"))))
               codex-checks-process)
           (unwind-protect
               (progn (codex-checks-start "Plan the garden")
                      (when codex-checks-follows (todo-write-agents-mode))
                      (funcall function))
             (todo-write-agents-mode -1)
             (codex-checks-stop))))))))

;;; Displayed plans

(defun codex-checks-shown ()
  "Return the display of the session: (STATE ACTIVITY (STEP . STATUS)...)."
  (when-let* ((thread (hosts-thread "codex")))
    `(,(todo-write-state thread) ,(car (todo-write-activity thread))
      ,@(mapcar (lambda (item) (cons (plist-get item :content) (plist-get item :status)))
                (todo-write-items thread)))))

(defun codex-checks-shows (what &rest shown)
  "Wait until the session is displayed as SHOWN; WHAT names the moment."
  (todo-write-test-wait
   (lambda () (equal (codex-checks-shown) shown))
   (lambda ()
     (format "%s: %S, not %S\n%s" what (codex-checks-shown) shown
             (with-current-buffer (process-buffer codex-checks-process) (buffer-string))))))

(defun codex-checks-pass (gate &rest shown)
  "Wait until the session is displayed as SHOWN, and open GATE."
  (apply #'codex-checks-shows gate shown)
  (write-region "" nil (expand-file-name (concat gate ".gate") codex-checks-folder) nil 'silent))

;;; Checks

(ert-deftest codex-checks-plans-by-functions ()
  (codex-checks-run
   "gpt-5.5"
   (list (codex-checks-update '("Rake" . "in_progress") '("Water" . "pending"))
         (codex-checks-gate "one")
         ;; This one is refused.
         (codex-checks-update '("Rake" . "blocked") '("Water" . "pending"))
         (codex-checks-update '("Rake" . "completed") '("Water" . "in_progress"))
         (codex-checks-gate "two")
         (list :text "The garden is planned."))
   (lambda ()
     (codex-checks-pass "one" 'active 'working '("Rake" . "in_progress") '("Water" . "pending"))
     (codex-checks-pass "two" 'active 'working '("Rake" . "completed") '("Water" . "in_progress"))
     (codex-checks-shows "the end" 'paused nil
                         '("Rake" . "completed") '("Water" . "in_progress")))))

(ert-deftest codex-checks-a-plan-in-a-script-is-not-read-and-that-is-said ()
  (codex-checks-run
   "gpt-6.1-sol"
   (list (list :name "exec" :input "await tools.update_plan({plan: [{step: 'Rake', status: 'completed'}]});")
         (list :text "The garden is planned."))
   (lambda ()
     (todo-write-test-wait
      (lambda ()
        (when-let* ((thread (hosts-thread "codex")))
          (< 0 (length (todo-write-observations thread :type "ERROR"))))))
     (should (seq-empty-p (todo-write-items (hosts-thread "codex")))))))

(ert-deftest codex-checks-a-session-resumed-and-forked ()
  (let (hosts-earlier-threads)
    (codex-checks-run
     "gpt-5.5"
     (list (codex-checks-update '("Rake" . "in_progress") '("Water" . "pending"))
           (list :text "The garden is planned.")
           (codex-checks-update '("Rake" . "completed") '("Water" . "pending"))
           (list :text "The leaves are raked.")
           (codex-checks-update '("Sweep" . "in_progress"))
           (list :text "The path is next."))
     (lambda ()
       (codex-checks-shows "the first end" 'paused nil
                           '("Rake" . "in_progress") '("Water" . "pending"))
       (let* ((thread (hosts-thread "codex"))
              (session (string-remove-prefix "codex:" thread)))
         (codex-checks-start "resume" session "Rake the leaves")
         (codex-checks-shows "the second end" 'paused nil
                             '("Rake" . "completed") '("Water" . "pending"))
         (should (equal (hosts-thread "codex") thread))
         (push thread hosts-earlier-threads)
         (codex-checks-start "fork" session "Sweep the path")
         (codex-checks-shows "the end" 'paused nil '("Sweep" . "in_progress"))
         (should (equal (todo-write-test-contents thread) '("Rake" "Water"))))))))

(ert-deftest codex-checks-an-abort ()
  (codex-checks-run
   "gpt-5.5"
   (list (codex-checks-update '("Rake" . "in_progress"))
         (codex-checks-gate "never")
         (list :text "Never said."))
   (lambda ()
     (codex-checks-shows "the gate" 'active 'working '("Rake" . "in_progress"))
     (signal-process codex-checks-process 'int)
     (codex-checks-shows "the abort" 'paused nil '("Rake" . "in_progress")))))

(ert-deftest codex-checks-a-command-that-is-denied ()
  (let ((codex-checks-asks t))
    (codex-checks-run
     "gpt-5.5"
     (list (codex-checks-update '("Rake" . "in_progress"))
           (codex-checks-call "exec_command" :cmd "touch raked.txt" :justification "To rake"
                              :sandbox_permissions "require_escalated")
           (list :text "I may not rake."))
     (lambda ()
       (codex-checks-shows "the denial" 'paused nil '("Rake" . "in_progress"))
       (should (equal '(denied "permission denied")
                      (let ((summary (todo-write-summary (hosts-thread "codex"))))
                        (list (plist-get summary :ending) (plist-get summary :reason)))))))))

;;; A review

(defun codex-checks-patch (&rest lines)
  "Return a step that patches files by LINES."
  (list :name "apply_patch"
        :input (string-join `("*** Begin Patch" ,@lines "*** End Patch\n") "\n")))

(defun codex-checks-todo-write (&rest entries)
  "Return a step that calls todo_write with ENTRIES."
  (list :name "todo_write" :namespace "mcp__todo_write"
        :arguments (apply #'todo-write-test-todos entries)))

(defun codex-checks-says (regexp)
  "Wait until a transcript of Codex matches REGEXP."
  (let ((folder (expand-file-name ".codex/sessions" codex-checks-home)))
    (todo-write-test-wait
     (lambda ()
       (seq-some (lambda (file)
                   (with-temp-buffer
                     (insert-file-contents file)
                     (re-search-forward regexp nil t)))
                 (directory-files-recursively folder "\\.jsonl\\'")))
     (lambda () (with-current-buffer (process-buffer codex-checks-process) (buffer-string))))))

(ert-deftest codex-checks-a-comment-in-a-review-reaches-the-agent-over-restarts-of-emacs ()
  (let* ((todo-write-socket (todo-write-socket-test-file))
         (codex-checks-follows nil)
         (codex-checks-settings
          (list "-c" (format "mcp_servers.todo_write={command=%S,args=[\"--socket\",%S]}"
                             (todo-write-mcp-helper-program) todo-write-socket))))
    (codex-checks-run
     "gpt-5.5"
     (list (codex-checks-todo-write '("Rake" "in_progress"))
           (codex-checks-patch "*** Add File: a.txt" "+one" "+two")
           (codex-checks-gate "one")
           (codex-checks-todo-write '("Rake" "in_progress"))
           ;; The model goes on only if it got the comment.
           `(:needs "Keep it" ,@(codex-checks-patch "*** Update File: a.txt" "@@" "-one" "-two"
                                                    "+1" "+2"))
           (codex-checks-gate "two")
           (list :text "Done."))
     (lambda ()
       (review-helper-check
        "codex"
        :ready #'ignore
        :open (lambda (gate)
                (write-region "" nil (expand-file-name (concat gate ".gate") codex-checks-folder)
                              nil 'silent))
        :gets #'codex-checks-says)
       (codex-checks-says "Done\\.")))))

(provide 'codex-checks)
;;; codex-checks.el ends here
