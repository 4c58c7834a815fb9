;;; remote-follow-checks.el --- Following agents on another machine  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The genuine Claude Code works on a host that is reached by a genuine sshd, without
;; the tool.  What it does shows here within two seconds, files open by TRAMP, and a
;; connection that is cut, killed or stopped neither loses anything nor blocks Emacs.
;; The figures are printed.  remote.sh runs this.

;;; Code:

(require 'claude-checks)
(require 'remote-helper)
(require 'todo-write-attention)
(require 'todo-write-follow-remote)
(require 'todo-write-visit)

;;; Blocks of Emacs

(defconst remote-follow-checks--idle
  "(let ((last (float-time)) (longest 0))
     (run-with-timer 0 0.005
                     (lambda ()
                       (let ((now (float-time)))
                         (when (> (- now last) longest)
                           (message \"%d\" (* 1000 (setq longest (- now last)))))
                         (setq last now))))
     (while t (accept-process-output nil 1)))"
  "What an Emacs does that measures how long this machine stops it.")

(defmacro remote-follow-checks--unblocked (what &rest body)
  "Evaluate BODY, print how long Emacs was blocked at most, and fail if it hung.
WHAT says in words what happens in it.  Collections of garbage are
subtracted; an idle Emacs beside it shows what is due to the load of this
machine."
  (declare (indent 1) (debug t))
  `(let* ((idle (make-process :name "idle" :buffer (generate-new-buffer " *idle*") :noquery t
                              :connection-type 'pipe
                              :command (list (getenv "EMACS") "-Q" "--batch" "--eval"
                                             remote-follow-checks--idle)))
          (longest 0) (last (float-time)) (collected gc-elapsed)
          (timer (run-with-timer 0 0.005
                                 (lambda ()
                                   (let ((now (float-time)))
                                     (setq longest (max longest (- now last
                                                                   (- gc-elapsed collected)))
                                           last now
                                           collected gc-elapsed))))))
     (unwind-protect
         (prog1 (progn ,@body)
           (message "%s: Emacs was blocked for at most %.0f ms, an idle Emacs beside it %s ms"
                    ,what (* 1000 longest)
                    (with-current-buffer (process-buffer idle)
                      (or (car (last (split-string (buffer-string)))) "?")))
           (should (< longest 0.5)))
       (cancel-timer timer)
       (delete-process idle)
       (kill-buffer (process-buffer idle)))))

(defun remote-follow-checks--wait (what condition)
  "Wait until CONDITION, a function, returns non-nil; WHAT describes it."
  (todo-write-test-wait
   condition 90
   (lambda ()
     (format "%s; shown %S %S; its own status %S\n%s" what
             (mapcar (lambda (thread) (cons thread (claude-checks-rows thread)))
                     (todo-write-threads))
             (and (remote-follow-checks--key)
                  (todo-write-activity (remote-follow-checks--key)))
             (claude-checks-own :status) (claude-checks-written)))))

(defun remote-follow-checks--lag (what there here)
  "Wait until THERE and then HERE return non-nil; print the time between.
WHAT says in words what both tell."
  (remote-follow-checks--wait (concat what " there") there)
  (let ((start (float-time)))
    (remote-follow-checks--wait (concat what " here") here)
    (message "%s: seen here after %.1f s" what (- (float-time) start))))

;;; The host

(defun remote-follow-checks--gate (name)
  "Return a call that ends when the gate NAME is open on the host."
  `("Bash" :command ,(hosts-gate-command (remote-file name))
    :description ,(concat "Wait for " name)))

(defun remote-follow-checks--open (name)
  "Open the gate NAME on the host."
  (write-region "" nil (remote-file (concat name ".gate")) nil 'silent))

(defun remote-follow-checks--with-claude (steps subagent function)
  "Call FUNCTION while Claude Code works by STEPS on the host, in a terminal.
SUBAGENT is a list of the steps of a subagent."
  (remote-with-host
    (let ((claude-checks-home remote-home)
          (claude-checks-folder (file-name-as-directory (remote-file "garden")))
          (todo-write-follow-agents nil)
          claude-checks-process)
      (claude-checks-seed nil)
      (remote-own)
      (todo-write-with-mock port (claude-checks-script steps subagent)
        (unwind-protect
            (progn
              (remote-follow-checks--start port "'Go on'")
              (funcall function))
          (todo-write-follow-stop)
          (todo-write-follow-remote--clean)
          (claude-checks-stop))))))

(defun remote-follow-checks--start (port arguments)
  "Start Claude Code on the host with ARGUMENTS; its model is at PORT."
  (setq claude-checks-process
        (remote-start-claude port arguments "CLAUDE_CODE_ENABLE_TASKS=0")))

(defun remote-follow-checks--key ()
  "Return the key of the session here, or nil."
  (and (claude-checks-own :sessionId) (concat "build/claude:" (claude-checks-own :sessionId))))

(defun remote-follow-checks--rows (&optional thread)
  "Return the list of THREAD, by default the session's, as (CONTENT . STATUS)."
  (claude-checks-rows (or thread (remote-follow-checks--key))))

(defun remote-follow-checks--steps (last)
  "Return the steps of an agent that writes a file and waits; LAST follow."
  (append
   (list (list (claude-checks-todo '("Rake" "in_progress") "Weed"))
         (list (remote-follow-checks--gate "one"))
         (list '("Bash" :command "echo leaves > heap; echo done" :description "Pile up"))
         (list (claude-checks-todo '("Rake" "completed") '("Weed" "in_progress")))
         (list (remote-follow-checks--gate "two")))
   last))

;;; What is seen

(ert-deftest remote-follow-checks-all-of-a-session-there-is-seen-here ()
  (let ((claude-checks-allowed ["Bash" "TodoWrite" "Agent" "Write"]))
    (remote-follow-checks--with-claude
     (list (list (claude-checks-todo '("Rake" "in_progress") "Weed"))
           (list '("Agent" :description "Water" :prompt "Water the beds"
                   :subagent_type "general-purpose"))
           (list (cons "Write" (list :file_path (remote-file "garden/heap") :content "leaves\n")))
           (list (claude-checks-todo '("Rake" "completed") '("Weed" "in_progress")))
           (list '("WebFetch" :url "http://127.0.0.1:9/" :prompt "Is it there?"))
           "Done.")
     (list (list (claude-checks-todo '("Find the can" "in_progress")))
           (list (remote-follow-checks--gate "can"))
           "Watered.")
     (lambda ()
       (remote-follow-checks--unblocked "A session by ssh"
         (todo-write-follow-remote "/ssh:build:")
         (remote-follow-checks--lag
          "Working" (lambda () (equal "busy" (claude-checks-own :status)))
          (lambda () (equal '(working) (todo-write-activity (remote-follow-checks--key)))))
         (remote-follow-checks--wait "the list"
                             (lambda () (equal '(("Rake" . "in_progress") ("Weed" . "pending"))
                                               (remote-follow-checks--rows))))
         (let ((key (remote-follow-checks--key)) children)
           (should (equal (format "/ssh:build:%s/garden/" remote-home)
                          (plist-get (todo-write-about key) :project)))
           (remote-follow-checks--wait
            "the subagent's list"
            (lambda () (and (setq children (todo-write-children key))
                            (equal '(("Find the can" . "in_progress"))
                                   (remote-follow-checks--rows (caar children))))))
           (should (string-prefix-p (concat key "/") (caar children)))
           (remote-follow-checks--open "can")
           (remote-follow-checks--wait "the question"
                               (lambda () (equal "waiting" (claude-checks-own :status))))
           (remote-follow-checks--lag
            "Waiting" (lambda () t)
            (lambda () (equal 'waiting (car (todo-write-activity key)))))
           (remote-follow-checks--wait "the list of then"
                               (lambda () (equal '(("Rake" . "completed")
                                                   ("Weed" . "in_progress"))
                                                 (remote-follow-checks--rows))))
           (should (plist-get (todo-write-summary key) :title))
           (should-not (todo-write-attention--pid (todo-write-agent--make :key key)))))
       ;; The file that it wrote opens by TRAMP.
       (let* ((key (remote-follow-checks--key))
              (file (plist-get (car (plist-get (todo-write-work key) :files)) :path)))
         (should (equal (remote-file "garden/heap") file))
         (save-window-excursion
           (todo-write-visit--open-file key file)
           (should (equal (concat "/ssh:build:" (remote-file "garden/heap")) buffer-file-name))
           (should (equal "leaves\n" (buffer-string)))
           (set-buffer-modified-p nil)
           (kill-buffer)))
       ;; Killed there, it is known to be killed.
       (let ((key (remote-follow-checks--key))
             (pid (claude-checks-own :pid)))
         (signal-process pid 'STOP)
         (remote-follow-checks--lag "Suspended" (lambda () t)
                                    (lambda () (todo-write-activity--suspended-p key)))
         (signal-process pid 'KILL)
         (remote-follow-checks--lag
          "Killed" (lambda () t)
          (lambda () (eq 'killed (plist-get (todo-write-summary key) :ending)))))))))

;;; Lost connections

(defun remote-follow-checks--lost-by (what cut)
  "Check that a connection that CUT breaks is said, and taken up again.
WHAT says in words what CUT, a function, does.  It is called with the
connection and the process of its server."
  (let ((claude-checks-allowed ["Bash" "TodoWrite"]) warnings)
    (remote-follow-checks--with-claude
     (remote-follow-checks--steps (list "Done.")) nil
     (lambda ()
       (cl-letf* (((symbol-function 'display-warning)
                   (lambda (_type message &rest _) (push message warnings)))
                  (link (todo-write-follow-remote "/ssh:build:")))
         (remote-follow-checks--wait "the list"
                             (lambda () (equal '(("Rake" . "in_progress") ("Weed" . "pending"))
                                               (remote-follow-checks--rows))))
         (let* ((key (remote-follow-checks--key))
                (revisions (length (todo-write-revisions key)))
                (server (remote-follow-checks--server)))
           (remote-follow-checks--unblocked what
             (funcall cut link server)
             (remote-follow-checks--wait "the warning" (lambda () warnings)))
           (should (string-match-p "The connection to build was lost" (car warnings)))
           (should-not (todo-write-activity key))
           (remote-follow-checks--open "one")
           ;; An sshd that was killed took Claude Code with it.
           (when (process-live-p claude-checks-process)
             (remote-follow-checks--wait "the file" (lambda () (file-exists-p (remote-file "garden/heap"))))
             (remote-follow-checks--unblocked "Taking it up again"
               (todo-write-follow-remote "/ssh:build:")
               (remote-follow-checks--wait
                "the list of meanwhile"
                (lambda () (equal '(("Rake" . "completed") ("Weed" . "in_progress"))
                                  (remote-follow-checks--rows)))))
             (should (= (1+ revisions) (length (todo-write-revisions key))))
             (remote-follow-checks--wait "its activity"
                                 (lambda () (equal '(working) (todo-write-activity key)))))))))))

(ert-deftest remote-follow-checks-a-connection-that-is-cut-is-taken-up-again ()
  (remote-follow-checks--lost-by
   "The connection is cut"
   (lambda (link _server) (signal-process (todo-write-follow-link--link-process link) 'KILL))))

(ert-deftest remote-follow-checks-the-server-of-the-connection-is-killed ()
  (remote-follow-checks--lost-by
   "The connection's sshd is killed"
   (lambda (_link server) (signal-process server 'KILL))))

(ert-deftest remote-follow-checks-a-server-that-hangs-does-not-block-emacs ()
  (let (server)
    (remote-follow-checks--lost-by
     "The connection's sshd is stopped"
     (lambda (_link process)
       (setq server process)
       (signal-process server 'STOP)))
    (signal-process server 'KILL)))

(ert-deftest remote-follow-checks-the-whole-sshd-is-killed ()
  (remote-follow-checks--lost-by
   "All of sshd is killed"
   (lambda (_link _server)
     (remote-stop-sshd)
     (todo-write-test-wait (lambda () (not (process-live-p claude-checks-process)))))))

(defun remote-follow-checks--server ()
  "Return the process of sshd that serves the connection that follows."
  (let ((loop (seq-find (lambda (pid)
                          (string-match-p "dd.*bs=1" (or (alist-get 'args (process-attributes pid))
                                                         "")))
                        (seq-filter (lambda (pid)
                                      (equal remote-account
                                             (alist-get 'user (process-attributes pid))))
                                    (list-system-processes)))))
    (should loop)
    ;; The parents of the loop are shells of the account, then its sshd.
    (let ((pid loop))
      (while (not (string-match-p "\\`sshd" (alist-get 'comm (process-attributes pid))))
        (setq pid (alist-get 'ppid (process-attributes pid))))
      pid)))

(ert-deftest remote-follow-checks-the-process-there-ends-with-emacs ()
  (remote-with-host
    (let ((todo-write-follow-agents nil) link)
      (unwind-protect
          (progn
            (setq link (todo-write-follow-remote "/ssh:build:"))
            (todo-write-test-wait (lambda () (eq t (todo-write-follow-link--link-listed link))) 30)
            (let ((server (remote-follow-checks--server)))
              (signal-process (todo-write-follow-link--link-process link) 'KILL)
              (todo-write-test-wait (lambda () (not (process-attributes server))) 30)
              (should-error (remote-follow-checks--server))))
        (todo-write-follow-stop)
        (todo-write-follow-remote--clean)))))

(provide 'remote-follow-checks)
;;; remote-follow-checks.el ends here
