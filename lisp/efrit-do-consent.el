;;; efrit-do-consent.el --- Asking before a tool runs -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Which calls of tools wait for the user, and the question that is asked: it
;; shows the whole call, in which nothing can hide.  Where nobody is there to
;; answer, in a batch Emacs, the answer is no.

;;; Code:

(require 'cl-lib)
(require 'todo-write)
(require 'todo-write-row)

(defcustom efrit-do-confirm 'tool
  "Which tool calls wait for the user's consent.
With `tool', each tool decides: of the built-in ones `eval_sexp' and
`shell_exec' ask.  Nil runs everything unasked, t asks every time.  A list
names the tools that ask.  A function is called with the name of the tool and
its input, and asks when it returns non-nil."
  :type '(choice (const :tag "Each tool decides" tool)
                 (const :tag "Never ask" nil)
                 (const :tag "Always ask" t)
                 (repeat :tag "Only these tools" string)
                 function)
  :group 'efrit-do)

(defcustom efrit-do-confirm-function #'efrit-do-ask
  "Function that asks the user whether a tool call may run.
It is called with the name of the tool and the text of the call.  It returns
`yes', `no', `always' (yes, and do not ask for this tool again in this
session) or `quit' (stop the session); any other value means `no'."
  :type 'function
  :group 'efrit-do)

(defvar efrit-do-allowed-tools nil
  "Names of the tools that the user allowed for the rest of a session.")

(define-error 'efrit-do-refused "The user refused" 'todo-write-error)

(defun efrit-do-consent-needed-p (name own input values)
  "Return non-nil if the tool NAME must ask before it runs.
INPUT is what the model sent, VALUES are the arguments read from it, and
OWN is what the tool itself says: nil, t or a function of the arguments."
  (and (not (member name efrit-do-allowed-tools))
       (pcase efrit-do-confirm
         ('nil nil)
         ('t t)
         ('tool (if (functionp own) (apply own values) own))
         ((pred functionp) (funcall efrit-do-confirm name input))
         ((pred listp) (member name efrit-do-confirm)))))

(defun efrit-do--call-text (values)
  "Return the argument VALUES of a call as text for a person to judge."
  (todo-write-row-plain-lines
   (mapconcat (lambda (value) (if (stringp value) value (format "%S" value)))
              (delq nil (copy-sequence values)) "\n")))

(defun efrit-do-ask (name text)
  "Ask whether the tool NAME may run with TEXT; see `efrit-do-confirm-function'.
Signals `efrit-do-refused' in a batch Emacs, where nobody can answer."
  (when noninteractive
    (signal 'efrit-do-refused
            (list (format "%s needs the user's consent, and nobody is there \
to ask (see `efrit-do-confirm')" name))))
  (let ((buffer (get-buffer-create "*efrit-do call*")))
    (with-current-buffer buffer
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert text)
        (goto-char (point-min)))
      (special-mode))
    (save-window-excursion
      (display-buffer buffer '(display-buffer-at-bottom
                               (window-height . fit-window-to-buffer)))
      (unwind-protect
          (pcase (car (read-multiple-choice
                       ;; What is below the window's end is said at least.
                       (format "Let the agent run this %s (%d lines)?" name
                               (with-current-buffer buffer
                                 (count-lines (point-min) (point-max))))
                       '((?y "yes") (?n "no")
                         (?! "always" "Yes, and this tool need not ask again \
in this session")
                         (?q "quit" "Stop the session"))))
            (?y 'yes) (?! 'always) (?q 'quit) (_ 'no))
        (kill-buffer buffer)))))

(defun efrit-do-consent-require (name values)
  "Ask whether the tool NAME may run with VALUES.
Signals `efrit-do-refused' if not, and quits if the user wants to stop."
  (pcase (funcall efrit-do-confirm-function name
                  (efrit-do--call-text values))
    ('yes)
    ('always (cl-pushnew name efrit-do-allowed-tools :test #'equal))
    ('quit (signal 'quit nil))
    (_ (signal 'efrit-do-refused
               (list (format "the user did not allow this call of %s" name))))))

(provide 'efrit-do-consent)
;;; efrit-do-consent.el ends here
