;;; todo-write-hub-e2e-tests.el --- What the hub holds and leaves  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Emacs processes that follow many sessions: what they hold after these are gone, what
;; their subprocesses inherit, that killing all buffers ends nothing, and how they exit.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'todo-write-mcp-helper)
(require 'todo-write-stuck-helper)
(require 'todo-write-test-helper)

(defconst todo-write-hub-tests--functions
  '((require 'todo-write-follow)
    (setq todo-write-follow-agents nil
          create-lockfiles nil)
    (defun write-session (file lines)
      "Write a session with a list and LINES further lines to FILE."
      (let ((base (list :sessionId (file-name-base file) :cwd "/garden" :isSidechain :false)))
        (write-region
         (concat
          (json-serialize
           (append base
                   '( :type "assistant" :uuid "u0"
                      :message ( :id "m0" :content
                                 [( :type "tool_use" :id "c0" :name "TodoWrite"
                                    :input (:todos [( :content "Dig" :status "pending"
                                                      :activeForm "Digging")]))]))))
          "\n"
          (json-serialize
           (append base '( :type "user" :uuid "r0"
                           :message (:content [( :type "tool_result" :tool_use_id "c0"
                                                 :content "ok")]))))
          "\n"
          (mapconcat (lambda (n)
                       (json-serialize
                        (append base `( :type "assistant" :uuid ,(format "t%d" n)
                                        :message ( :id ,(format "x%d" n) :content
                                                   [(:type "text" :text ,(make-string 1500 ?x))])))))
                     (number-sequence 1 lines) "\n")
          "\n")
         nil file nil 'silent)))
    (defun wait-for (condition)
      "Wait until CONDITION, a function, returns non-nil, for at most a minute."
      (with-timeout (60 (error "Still waiting"))
        (while (not (funcall condition))
          (accept-process-output nil 0.02))))
    (defun all-ready-p ()
      "Return non-nil if all that sessions have is read."
      (cl-every (lambda (session) (eq 'ready (todo-write-follow--session-state session)))
                todo-write-follow--followed))
    (defun count-in (folder)
      "Return the number of files in FOLDER, one of /proc/self."
      (length (directory-files folder nil "[0-9]" t))))
  "Functions for the other Emacs.")

(defun todo-write-hub-tests--child (&rest forms)
  "Return the object that FORMS print in another Emacs.
The variable `folder' has the name of a folder there."
  (let ((folder (file-name-as-directory (make-temp-file "sessions" t))))
    (unwind-protect
        (apply #'todo-write-test-child
               `(setq folder ,folder) (append todo-write-hub-tests--functions forms))
      (todo-write-test-delete folder))))

(ert-deftest todo-write-hub-holds-nothing-of-a-thousand-sessions-that-went ()
  :tags '(:thorough)
  (skip-unless (file-directory-p "/proc/self/fd"))
  (pcase-let ((`(,first ,second)
               (todo-write-with-store
                 (todo-write-hub-tests--child
                  '(defun round (n)
                     "Let 500 sessions come and go, the Nth time; return what is held."
                     (let ((files (cl-loop for k below 500
                                           collect (expand-file-name (format "s%d-%d.jsonl" n k)
                                                                     folder))))
                       (dolist (file files) (write-session file 2))
                       (mapc #'todo-write-follow--begin files)
                       (wait-for #'all-ready-p)
                       (todo-write-follow-stop)
                       (mapc #'delete-file files)
                       (mapc #'todo-write-forget (todo-write-threads-loaded)))
                     ;; The hub ends what it holds of a session after it was told.
                     (let ((file (expand-file-name "last.jsonl" folder)))
                       (write-session file 1)
                       (todo-write-follow file)
                       (todo-write-follow-stop))
                     (garbage-collect)
                     (list :threads (count-in "/proc/self/task") :files (count-in "/proc/self/fd")
                           :memory (alist-get 'rss (process-attributes (emacs-pid)))
                           :left (length todo-write-follow--followed)))
                  '(prin1 (list (round 1) (round 2)))))))
    (message "500 sessions came and went, and 500 again: %S, %S" first second)
    ;; At most 16 threads read, in as many folders.
    (should (<= (plist-get second :threads) 20))
    (should (<= (plist-get second :files) 50))
    (should (= 0 (plist-get second :left)))
    ;; KiB; each session had four times that much alone.
    (should (< (- (plist-get second :memory) (plist-get first :memory)) 20000))))

(ert-deftest todo-write-hub-subprocesses-inherit-no-file-of-it ()
  (skip-unless (file-directory-p "/proc/self/fd"))
  (pcase-let ((`(,before ,after)
               (todo-write-with-store
                 (todo-write-hub-tests--child
                  '(let* ((file (expand-file-name "s.jsonl" folder))
                          (inherited (lambda ()
                                       (with-temp-buffer
                                         (call-process "sh" nil t nil "-c" "cd /proc/$$/fd; echo *")
                                         (buffer-string))))
                          (before (funcall inherited)))
                     (write-session file 2000)
                     (todo-write-follow--begin file)
                     (wait-for (lambda ()
                                 (let ((session (todo-write-follow--find file)))
                                   (or (todo-write-follow--session-thread session)
                                       (eq 'ready (todo-write-follow--session-state session))))))
                     (prin1 (list before (funcall inherited))))))))
    (should (equal before after))))

(ert-deftest todo-write-hub-goes-on-after-all-buffers-were-killed ()
  (should
   (equal '("Dig" t)
          (todo-write-with-store
            (todo-write-hub-tests--child
             '(let ((file (expand-file-name "s.jsonl" folder))
                    (other (expand-file-name "t.jsonl" folder)))
                (write-session file 2000)
                (write-session other 1)
                (todo-write-follow--begin file)
                (mapc #'kill-buffer (buffer-list))
                (wait-for #'all-ready-p)
                (mapc #'kill-buffer (buffer-list))
                (prin1 (list (plist-get (elt (todo-write-items (todo-write-follow other)) 0)
                                        :content)
                             (and (todo-write-hub-live-p) t)))))))))

(ert-deftest todo-write-hub-lets-emacs-exit-while-a-file-is-read ()
  (todo-write-stuck-call
   (lambda (folder)
     (todo-write-with-store
       (let* ((begun (make-temp-name (expand-file-name "begun" temporary-file-directory)))
              (process (apply #'todo-write-test-start
                              `(setq folder ,folder)
                              (append todo-write-hub-tests--functions
                                      `((let ((file (expand-file-name "s.jsonl" folder)))
                                          (write-session file 3)
                                          (todo-write-threads)
                                          (write-region "" nil ,begun nil 'silent)
                                          (wait-for (lambda () (not (file-exists-p ,begun))))
                                          (todo-write-follow--begin file)
                                          (with-timeout (0.1) (todo-write-follow file))
                                          (princ (todo-write-follow--session-state
                                                  (todo-write-follow--find file)))
                                          (kill-emacs)))))))
         (todo-write-test-wait (lambda () (file-exists-p begun)))
         (todo-write-stuck-stop)
         (delete-file begun)
         (let ((output (todo-write-test-end process)))
           (should-not (string-search "ready" output))
           (should (eq 0 (process-exit-status process)))))))))

(provide 'todo-write-hub-e2e-tests)
;;; todo-write-hub-e2e-tests.el ends here
