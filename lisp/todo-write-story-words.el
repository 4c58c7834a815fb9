;;; todo-write-story-words.el --- What a call did, and why it failed  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What a call and its result tell beside the output, in words: what was
;; done in Git, what is not known of the files that changed, who refused it, and why it
;; failed.

;;; Code:

(require 'todo-write-json)
(require 'todo-write-plan)
(require 'todo-write-row)
(require 'todo-write-text)

;;; Files

(defun todo-write-story-words-remarks (result)
  "Return what there is to say of the files that a call with RESULT changed.
RESULT is an observation or nil, the value a list of strings."
  (let ((metadata (plist-get result :metadata)))
    (append (and (seq-some (lambda (file) (plist-get file :byCommand)) (plist-get metadata :files))
                 '("files changed by command"))
            (and (plist-get metadata :moreFiles) (list todo-write-row-more-files))
            (and (plist-get metadata :othersWrote) '("others wrote files at that time")))))

;;; Git

(defun todo-write-story-words-git (observation)
  "Return what the call with the result OBSERVATION did in Git.
The value is a list of (TEXT . URL); TEXT is one line, and URL is a string
or nil."
  (cl-loop
   with git = (plist-get (plist-get observation :metadata) :git)
   for one in (seq-filter #'consp (and (seqp git) git))
   for (id title branch action url) = (mapcar (lambda (key)
                                                (todo-write-json-filled (plist-get one key)))
                                              '(:id :title :branch :action :url))
   for number = (plist-get one :number)
   for words = (pcase (plist-get one :kind)
                 ("commit" (list (pcase action
                                   ("amended" "amended commit")
                                   ('nil "committed")
                                   (other other))
                                 id title))
                 ("push" (list "pushed to" (or branch "a branch")))
                 ("merge" (list "merged" (or branch "a branch")))
                 ("rebase" (list "rebased onto" (or branch "a branch")))
                 ("pullRequest" (list "pull request" (and (natnump number) (format "#%d" number))
                                      (or action "created"))))
   when words
   collect (cons (todo-write-text-line (string-join (delq nil words) " ") 400)
                 (and url
                      (string-match-p "\\`https?://[[:ascii:]]+\\'" url)
                      (string-match-p "\\`https?://[A-Za-z0-9.-]+/[A-Za-z0-9._~/-]+\\'" url)
                      url))))

;;; Comments

(defun todo-write-story-words-told (observation)
  "Return how far the agent was told of OBSERVATION, in parentheses.
Return nil if that is no comment of the user."
  (when (plist-get (plist-get observation :metadata) :comment)
    (let ((comment (seq-find (lambda (comment)
                               (equal (plist-get observation :id) (plist-get comment :id)))
                             (todo-write-plan-comments (plist-get observation :threadId)))))
      (cond ((plist-get comment :told) " (told)")
            ((plist-get comment :copied) " (copied)")
            (t " (not told yet)")))))

;;; Refusals

(defun todo-write-story-words-refusal (result)
  "Return who refused the call with RESULT and why, as one line, or nil.
RESULT is an observation or nil."
  (let* ((refusal (plist-get (plist-get result :metadata) :refusal))
         (reason (and (consp refusal) (plist-get refusal :reason)))
         (words (pcase (and (consp refusal) (plist-get refusal :by))
                  ("user" "you refused it")
                  ("rule" "a rule refused it")
                  ("auto" "auto mode refused it")
                  ("noAnswer" "auto mode could not check it"))))
    (when words
      (todo-write-text-line (if (stringp reason) (concat words ": " reason) words) 200))))

;;; Failures

;; A failed command prints many lines, and one of them says what is wrong, in the way of its
;; compiler or test runner.

(defconst todo-write-story-words--failures
  `(;; Tools of Claude Code.
    "\\`<tool_use_error>\\(.+?\\)\\(?:</tool_use_error>\\|$\\)"
    ;; Summaries of tests that name both the test and its reason: pytest.
    "^\\(FAILED [^ \n]+ - .+\\)"
    ;; The reason of a failed test or a crash: Rust, pytest, Go.
    "^ *thread '.*' \\(?:([0-9]+) \\)?panicked at .*:\n *\\(.+\\)"
    "^E   ?\\([^ \n].*\\)"
    "^[ \t]*\\(panic: .+\\)"
    ;; Errors of compilers, linkers and linters.
    ,(concat "^\\([^ \n]*[^ \n:]\\(?::[0-9]+\\)\\{1,2\\}:? \\(?:fatal \\)?[Ee]rror: .+"
             "\\|[^ \n]+([0-9]+,[0-9]+): error .+"
             "\\|error\\(?:\\[[A-Z0-9]+\\]\\)?: .+\\)")
    "^ *\\([0-9]+:[0-9]+ +error  .+\\)"
    "^\\(.*undefined reference to .+\\)"
    ;; Exceptions.  Python prints the one that matters last.
    (last ,(concat "^ *\\(\\(?:[[:alnum:]_]+[.]\\)*[[:alpha:]][[:alnum:]_]*"
                   "\\(?:Error\\|Exception\\|Exit\\|Interrupt\\)"
                   "\\(?: \\[[A-Z_]+\\]\\)?: .+\\)"))
    "^\\(Debugger entered--Lisp error: .+\\)"
    ;; A place in a file with a message: Go, ruff.
    "^ *\\(?:vet: \\)?\\([^ \n:]+:[0-9]+\\(?::[0-9]+\\)?: .+\\)"
    "^\\([A-Z]+[0-9]+ .+\\)\n +--> "
    ;; Programs that give a reason of their own.
    "^\\(fatal: .+\\|CONFLICT .+\\|npm \\(?:error\\|ERR!\\) .+\\|Error: .+\\)"
    "^\\([^ \n]+: \\*\\*\\* .+\\)"
    ;; Names of failed tests: Go, TAP, Jest, Vitest, unittest, ERT, prove.
    "^ *\\(--- FAIL: .+\\|not ok [0-9]+ .+\\|[●✕×✗] .+\\|#   Failed test .+\\)"
    "^ *\\(FAIL\\(?:ED\\)?:? +[^ \n].*\\|Diff in .+\\)"
    ;; Anything that mentions an error.
    "^[ \t]*\\(.*\\(?:^\\|[^[:alpha:]]\\)[Ee]rror\\(?:[^[:alpha:]].*\\)?\\)$"
    "^[ \t^-]*\\(.*(warning): .+\\)")
  "Regexps whose first group is the telling line, the most telling first.
An element (last REGEXP) takes the last match instead of the first.")

(defun todo-write-story-words-failure (output)
  "Return the line of OUTPUT that says why a command failed, or nil.
OUTPUT is what the command printed, a string; its end is searched if it is
long.  If no pattern matches, return the last line that is not blank.  A
text that ends in a colon is followed by the next line that is not blank."
  (with-temp-buffer
    (insert (substring output (max 0 (- (length output) 65536))))
    (pcase-dolist (`(,noise . ,rest)
                   '(("\e\\[[0-9;?]*[ -/]*[@-~]\\|\e[()][A-Z0-9]\\|\r" . "")
                     ("\\`Exit code [0-9]+\n?" . "")
                     ("[ \t]\\{9,\\}" . "        ")))
      (goto-char (point-min))
      (while (re-search-forward noise nil t)
        (replace-match rest t t)))
    (goto-char (point-min))
    (while (not (eobp))
      (let ((end (line-end-position)))
        ;; For some patterns, the time is the square of a line's length.
        (delete-region (min end (+ (point) 400)) end))
      (forward-line 1))
    (let* ((case-fold-search nil)
           (line (when (seq-some (lambda (pattern)
                                   (goto-char (if (consp pattern) (point-max) (point-min)))
                                   (if (consp pattern)
                                       (re-search-backward (cadr pattern) nil t)
                                     (re-search-forward pattern nil t)))
                                 `(,@todo-write-story-words--failures
                                   (last "^[ \t]*\\([^ \t\n].*\\)")))
                   (goto-char (match-end 1))
                   (string-trim (match-string 1)))))
      (if (and line (string-suffix-p ":" line) (re-search-forward "[ \t\n]*\\(.+\\)" nil t))
          (concat line " " (string-trim (match-string 1)))
        line))))

(provide 'todo-write-story-words)
;;; todo-write-story-words.el ends here
