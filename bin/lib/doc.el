;;; doc.el --- Export the manual  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Exports todo-write.org in the current folder.  See bin/doc.

;;; Code:

(require 'org)
(require 'ox-html)
(require 'ox-texinfo)

(defconst doc-indices
  "
* Functions and commands
:PROPERTIES:
:INDEX: fn
:END:

* Options and hooks
:PROPERTIES:
:INDEX: vr
:END:
"
  "Indices for Info, made from the entries of the manual's lists.")

(defconst doc-style
  "<style>
body { max-width: 52em; margin: 2em auto; padding: 0 1em; line-height: 1.5;
       font-family: system-ui, sans-serif; color: #222; background: #fff; }
img { max-width: 100%; border: 1px solid #ddd; }
pre, code { font-family: ui-monospace, monospace; font-size: 0.92em; background: #f4f4f4; }
pre { padding: 0.7em 1em; overflow-x: auto; }
table { border-collapse: collapse; margin: 1em 0; border: 1px solid #ddd; }
th, td { border: 1px solid #ddd; padding: 0.25em 0.6em; text-align: left; vertical-align: top; }
dt { font-weight: normal; margin-top: 0.6em; }
</style>"
  "Style of the HTML page.")

(defun doc-export-html ()
  "Export todo-write.org of the current folder to todo-write.html."
  (doc--export 'html "todo-write.html" ""))

(defun doc-export-texinfo ()
  "Export todo-write.org of the current folder to todo-write.texi.
Pictures are left out, since Info files are installed without them."
  (doc--export 'texinfo "todo-write.texi" doc-indices
               "^\\(?:#\\+attr_html: :alt .*\n\\)?\\[\\[file:images/.*\\]\\]\n"))

(defun doc--export (backend file end &optional omitted)
  "Export todo-write.org with END added by BACKEND to FILE.
What the regexp OMITTED matches is left out."
  (let ((org-confirm-babel-evaluate nil)
        (org-export-use-babel nil)
        (org-export-with-broken-links nil)
        (org-html-htmlize-output-type nil)
        (org-html-link-org-files-as-html nil)
        (org-html-head-include-default-style nil)
        (org-html-head doc-style)
        (org-html-postamble nil)
        (make-backup-files nil))
    (with-temp-buffer
      (insert-file-contents "todo-write.org")
      (when omitted
        (while (re-search-forward omitted nil t)
          (replace-match "")))
      (goto-char (point-max))
      (insert end)
      (org-mode)
      (org-export-to-file backend file))))

;;; doc.el ends here
