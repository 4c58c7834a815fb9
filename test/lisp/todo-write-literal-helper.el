;;; todo-write-literal-helper.el --- Text that must be shown literally  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Plans of an agent that puts hostile text wherever it can: in its key, title,
;; tasks, name, project, activity, tool calls and requests.

;;; Code:

(require 'cl-lib)
(require 'todo-write)
(require 'todo-write-request)
(require 'todo-write-row)

(defconst todo-write-literal-text
  (propertize "\u202e%b%-%[\\[undo]\\{text-mode-map}\n\e[31m\u200b"
              'display "hidden" 'invisible t 'keymap (make-sparse-keymap)
              'help-echo "hidden" 'hostile t)
  "A text that would run, expand, reverse, hide or color something.")

(defconst todo-write-literal-shown "\\u202e%b%-%[\\[undo]\\{text-mode-map}"
  "The beginning of how that text is shown in one line.")

(defun todo-write-literal-make (key)
  "Make a plan whose key is KEY, a short string, and hostile text.  Return the key."
  (let ((key (concat "mcp:" key (substring-no-properties todo-write-literal-text))))
    (todo-write-begin key :agent (substring-no-properties todo-write-literal-text)
                      :project (concat "/tmp/" (substring-no-properties todo-write-literal-text)
                                       "/"))
    (todo-write-observe key "TITLE" todo-write-literal-text)
    (todo-write key `(:todos [(:content ,todo-write-literal-text :status "completed"
                               :activeForm ,todo-write-literal-text)
                              (:content ,(concat "2" todo-write-literal-text)
                               :status "in_progress" :activeForm ,todo-write-literal-text)]))
    (todo-write-observe key "THOUGHTS" todo-write-literal-text)
    (todo-write-observe key "MESSAGE" todo-write-literal-text)
    (todo-write-observe key "TOOL_CALL" (list :id "c" :name todo-write-literal-text
                                              :callId "c" :input todo-write-literal-text))
    (todo-write-observe key "TOOL_EXECUTION"
                        (list :id "c" :callId "c" :name todo-write-literal-text :outcome "failed"
                              :content todo-write-literal-text :isError t))
    key))

(defun todo-write-literal-ask (key)
  "Let the agent of KEY ask whether it may do something, with hostile text."
  (todo-write-request key :id "1" :kind 'permission :title todo-write-literal-text
                      :detail todo-write-literal-text :format 'shell
                      :options `((:label ,todo-write-literal-text :value yes :kind allow)
                                 (:label ,todo-write-literal-text :value no :kind deny :text t))
                      :answer #'ignore))

(defun todo-write-literal-problem (text &optional lines)
  "Return what is wrong with TEXT, which may have the hostile text in it, or nil.
Non-nil LINES allows newlines."
  (let ((line (if lines (string-replace "\n" "" text) text)))
    (cond ((string-match todo-write-text-unseen line)
           (format "%S in %s" (match-string 0 line) (substring-no-properties line)))
          ((text-property-not-all 0 (length text) 'hostile nil text)
           (format "properties of the agent in %s" (substring-no-properties text)))
          ((string-search "hidden" text)
           (format "a property of the agent was used in %s"
                     (substring-no-properties text))))))

(provide 'todo-write-literal-helper)
;;; todo-write-literal-helper.el ends here
