;;; todo-write-doctor-tests.el --- Tests of the doctor  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The reports of the doctor on a healthy setup and on broken ones, each in a new
;; home and a new Emacs.

;;; Code:

(require 'ert)
(require 'todo-write-copy-helper)

(declare-function todo-write-doctor "todo-write-doctor")
(declare-function todo-write-doctor--text "todo-write-doctor")
(declare-function todo-write-doctor--failures "todo-write-doctor")

(defun todo-write-doctor-tests--says (&rest forms)
  "Evaluate FORMS in an Emacs with the copy; return the doctor's report."
  (apply #'todo-write-copy-emacs
         (append forms '((require 'todo-write-doctor) (todo-write-doctor--text)))))

(defconst todo-write-doctor-tests-set-ups
  '(("Healthy"
     (todo-write-copy-put-sources)
     (todo-write-copy-put-module todo-write-copy-folder)
     (todo-write-doctor-tests--says
      '(todo-write "a" "{\"todos\": []}")))
    ("No module, and no cargo to build it"
     (todo-write-copy-put-sources)
     (todo-write-doctor-tests--says '(setenv "CARGO_HOME" "/nowhere") '(setq exec-path nil)))
    ("A module of another version"
     (todo-write-copy-put-module todo-write-copy-folder "0.0.1")
     (todo-write-doctor-tests--says))
    ("A host that is installed, but off"
     (todo-write-copy-put-module todo-write-copy-folder)
     (make-directory (concat todo-write-copy-folder ".claude/projects") t)
     (todo-write-doctor-tests--says '(setenv "CLAUDE_CONFIG_DIR" nil)))
    ("An Emacs without modules, as if built so"
     (todo-write-doctor-tests--says '(setq module-file-suffix nil))))
  "Setups: lists of a title and forms, the last of which returns a report.
They are evaluated with a copy of the package.")

(defvar todo-write-doctor-tests--reports nil
  "The reports so far, an alist by titles: each takes an Emacs of its own.")

(defun todo-write-doctor-tests--set-up (title)
  "Return the doctor's report on the setup TITLE."
  (or (cdr (assoc title todo-write-doctor-tests--reports))
      (let ((report (todo-write-copy-with
                      (eval `(progn ,@(cdr (assoc title todo-write-doctor-tests-set-ups))) t))))
        (push (cons title report) todo-write-doctor-tests--reports)
        report)))

(ert-deftest todo-write-doctor-finds-no-problem-in-a-healthy-setup ()
  (let ((text (todo-write-doctor-tests--set-up "Healthy")))
    (should (string-prefix-p "todo-write is in order." text))
    (should (string-match-p "Module .*, loaded$" text))
    (should-not (string-match-p "PROBLEM" text))))

(ert-deftest todo-write-doctor-says-first-what-stops-everything ()
  (pcase-dolist (`(,title . ,places)
                 '(("No module, and no cargo to build it"
                    "^\\* Emacs and the module" "PROBLEM: The module"
                    "^\\* The program todo-write-mcp")
                   ("A host that is installed, but off"
                    "^\\* The program todo-write-mcp" "^\\* Agents")))
    (let ((text (todo-write-doctor-tests--set-up title)) (at 0))
      (dolist (place places)
        (should (setq at (string-match place text at)))))))

(ert-deftest todo-write-doctor-says-what-to-do-about-each-line-that-is-not-checked ()
  (dolist (set-up todo-write-doctor-tests-set-ups)
    (let ((text (todo-write-doctor-tests--set-up (car set-up))))
      (should (string-match-p "^- \\[-\\]" text))
      (should-not (string-match-p "^- \\[[- ]\\] .*\n[^ ]" text)))))

(ert-deftest todo-write-doctor-opens-no-connection-to-another-machine ()
  (todo-write-copy-with
    (todo-write-copy-put-module todo-write-copy-folder)
    (should-not
     (string-match-p
      "Claude Code and Codex"
      (todo-write-doctor-tests--says
       '(require 'tramp)
       '(advice-add 'tramp-maybe-open-connection :override
                    (lambda (&rest _) (error "A connection was opened")))
       '(setq todo-write-follow-agents '((claude . "/ssh:build:~/.claude"))))))))

(ert-deftest todo-write-doctor-names-each-problem-and-its-remedy ()
  (pcase-dolist (`(,title ,problem ,remedy)
                 '(("No module, and no cargo to build it"
                    "PROBLEM: The module is missing"
                    "cannot be built here: cargo is missing.*prebuilt .* into ~")
                   ("A module of another version"
                    "PROBLEM: The module ~/todo-write-dyn.* is version 0.0.1"
                    "There is no download .* prebuilt")
                   ("A host that is installed, but off"
                    "\\[-\\] Claude Code and Codex: installed, but off"
                    "M-x todo-write-agents-mode")
                   ("An Emacs without modules, as if built so"
                    "PROBLEM: Emacs .* is built without support for modules" "--with-modules")))
    (should (string-match-p (concat problem ".*\n +→ .*" remedy)
                            (todo-write-doctor-tests--set-up title)))))

(ert-deftest todo-write-doctor-makes-no-file-and-loads-no-module ()
  (todo-write-copy-with
    (todo-write-copy-put-module todo-write-copy-folder)
    (let ((before (directory-files-recursively todo-write-copy-folder "")))
      (should-not (todo-write-copy-emacs '(require 'todo-write-doctor)
                                         '(todo-write-doctor)
                                         '(featurep 'todo-write-dyn)))
      (should (equal (directory-files-recursively todo-write-copy-folder "") before)))))

(ert-deftest todo-write-doctor-counts-what-fails-in-the-calls-of-other-packages ()
  (require 'todo-write-doctor)
  (let ((todo-write-core-host-failures nil)
        (debug-on-error nil)
        (warning-minimum-log-level :error))
    (should-not (todo-write-doctor--failures))
    (should (equal '(nil nil 3)
                   (list (todo-write-core-for-host "Efrit" (car 1))
                         (todo-write-core-for-host "Efrit" (error "An agent's words"))
                         (todo-write-core-for-host "Efrit" (+ 1 2)))))
    (let ((finding (car (todo-write-doctor--failures))))
      (should (eq 'problem (car finding)))
      (should (equal "Efrit: 2 of its calls failed here, the last one with error"
                     (nth 1 finding))))))

(provide 'todo-write-doctor-tests)
;;; todo-write-doctor-tests.el ends here
