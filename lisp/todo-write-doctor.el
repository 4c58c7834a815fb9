;;; todo-write-doctor.el --- Report problems and their remedies  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `M-x todo-write-doctor' checks what the package needs: first what stops everything,
;; then the agents and the machines.  It changes nothing and shows no agent text, so its
;; report is safe in a bug report.

;;; Code:

(require 'todo-write-connect)
;; The hosts, so that all are known.
(require 'todo-write-acp)
(require 'todo-write-agent-shell)
(require 'todo-write-eca)
(require 'todo-write-efrit)
(require 'todo-write-agents)
(require 'todo-write-gptel)

(defun todo-write-doctor--file (file)
  "Return FILE, a file name, without the user's home directory."
  (abbreviate-file-name (directory-file-name file)))

;;; Checks

;; A check returns findings as `todo-write-doctor--findings' describes them.

(defun todo-write-doctor--emacs ()
  "Return findings about this Emacs."
  (list
   (if module-file-suffix
       (list 'ok (format "Emacs %s, %s%s" emacs-version system-configuration
                         (cond (noninteractive ", in batch")
                               ((daemonp) ", a daemon")
                               (t ""))))
     (list 'problem (format "Emacs %s is built without support for modules." emacs-version)
           "Install an Emacs that was configured with --with-modules."))
   (list 'ok (format "todo-write %s in %s" todo-write-version
                     (todo-write-doctor--file todo-write-module-lisp)))))

(defun todo-write-doctor--module ()
  "Return findings about the module."
  (let* ((file (todo-write-module-find))
         (version (and file (todo-write-module-file-version file)))
         (loaded (and (featurep 'todo-write-dyn)
                      (or todo-write-module--loaded-version "unknown")))
         (remedy (concat (todo-write-get-remedy "todo-write-dyn") ".")))
    (append
     (cond
      ((not file) `((problem "The module is missing." ,remedy)))
      ((not (equal version todo-write-version))
       `((problem ,(format "The module %s is version %s."
                           (todo-write-doctor--file file) (or version "unknown"))
                  ,remedy)))
      (t `((ok ,(format "Module %s in %s, %s" version (todo-write-doctor--file file)
                        (if loaded "loaded" "not needed so far"))))))
     (unless (member loaded (list nil todo-write-version))
       `((problem ,(format "The loaded module is version %s." loaded)
                  "Restart Emacs: it cannot unload a module."))))))

(defun todo-write-doctor--agents ()
  "Return findings about the hosts and the agents."
  (append (todo-write-doctor--failures)
          (seq-mapcat
           (pcase-lambda ((cl-struct todo-write-host name mode state installed findings))
             (append (cond ((null installed) nil)
                           (state `((ok ,(format "%s: on" name))))
                           ((funcall installed)
                            `((note ,(format "%s: installed, but off" name)
                                    ,(format "M-x %s" mode)))))
                     (and findings (funcall findings))))
           todo-write-host-all)))

(defun todo-write-doctor--failures ()
  "Return findings about hosts in whose calls our functions failed."
  (mapcar (pcase-lambda (`(,host ,count . ,error))
            (list 'problem
                  (format "%s: %d of its calls failed here, the last one with %s"
                          host count error)
                  "A later version of it may have changed; report it with its version."))
          todo-write-core-host-failures))

(defun todo-write-doctor--findings ()
  "Return what is found, an alist of (TITLE . FINDINGS), the most urgent first.
A finding is a list (STATE TEXT REMEDY).  STATE is `ok', `note' for what is
merely off, or `problem'.  REMEDY is a sentence, nil or left out."
  (seq-filter
   #'cdr
   `(("Emacs and the module" ,@(todo-write-doctor--emacs)
      ,@(and module-file-suffix (todo-write-doctor--module)))
     ("The program todo-write-mcp" ,(todo-write-mcp-setup-finding))
     ("Agents" ,@(todo-write-doctor--agents))
     ("Machines" ,@(todo-write-connect-findings)))))

;;; Showing

(defun todo-write-doctor--text ()
  "Return the report, an Org list."
  (let* ((findings (todo-write-doctor--findings))
         (problems (seq-count (lambda (finding) (eq (car finding) 'problem))
                              (seq-mapcat #'cdr findings))))
    (concat
     (if (= problems 0) "todo-write is in order.\n"
       (format "todo-write has %s.\n" (todo-write-text-count problems "problem")))
     (mapconcat
      (pcase-lambda (`(,title . ,group))
        (concat "\n* " title "\n"
                (mapconcat
                 (pcase-lambda (`(,state ,text ,remedy))
                   (concat (pcase state
                             ('ok "- [X] ") ('note "- [-] ") ('problem "- [ ] PROBLEM: "))
                           text "\n"
                           (and remedy (concat "      → " remedy "\n"))))
                 group "")))
      findings ""))))

;;;###autoload
(defun todo-write-doctor ()
  "Check what todo-write needs, and show each problem with its remedy.
This changes nothing, and the report can be put into a bug report.  In
the buffer, \\<special-mode-map>\\[revert-buffer] checks again."
  (interactive)
  (todo-write-buffer-pop-to "*todo-write doctor*" 'special-mode nil)
  (setq-local revert-buffer-function (lambda (&rest _) (todo-write-doctor))
              truncate-lines nil word-wrap t)
  (todo-write-buffer-with-new-text
    (insert (todo-write-doctor--text))))

(provide 'todo-write-doctor)
;;; todo-write-doctor.el ends here
