;;; todo-write-screen-helper.el --- A session that grows line by line  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The lines of a session of Claude Code, and what a plan shows after each.

;;; Code:

(require 'todo-write-follow)
(require 'todo-write-test-helper)

(defconst todo-write-screen-edited "/srv/bakery/dough.txt"
  "The file that the agent edits.")

(defconst todo-write-screen-lines
  '((think "∴ Flour first")
    (say "“Mixing flour and water.”")
    (call "▸ .*make dough")
    (called "✗ .*make dough.*no water" "Mixing.*✗1")
    (edit "✎ dough.txt$")
    (edited "1 file new" "0/2.*\\+2 −1" "Mixing.*\\+2 −1" "Bake bread.*\\+2 −1"
            "✎ .*dough.txt.*\\+2 −1")
    (end "“The dough is ready.”")
    (next "“And now with rye”"))
  "The lines after the list, as (NAME . REGEXPS).
REGEXPS match what the plan then shows.")

(defun todo-write-screen--line (name)
  "Return the line NAME of the session, an object."
  (cl-flet ((user (&rest fields)
              `(:type "user" :sessionId "s" :cwd "/srv/bakery" :isSidechain :false . ,fields))
            (agent (response content &optional stop)
              `(:type "assistant" :sessionId "s" :cwd "/srv/bakery" :isSidechain :false
                :message (:role "assistant" :id ,response :model "claude-opus-4-6"
                          :content [,content] :stop_reason ,(or stop :null)
                          :usage (:input_tokens 10 :output_tokens 5)))))
    (append
     (list :uuid (symbol-name name)
           :timestamp (format-time-string "%FT%T.%3NZ" nil t))
     (pcase name
       ('prompt (user :message '(:role "user" :content "Bake bread")))
       ('list (agent "r1" `(:type "tool_use" :id "c1" :name "TodoWrite"
                            :input ,(todo-write-test-todos '("Mix" "in_progress" "Mixing")
                                                           "Knead"))))
       ('listed (user :message '(:content [(:type "tool_result" :tool_use_id "c1" :content "ok")])))
       ('think (agent "r2" '(:type "thinking" :thinking "Flour first" :signature "")))
       ('say (agent "r2" '(:type "text" :text "Mixing flour and water.")))
       ('call (agent "r2" '(:type "tool_use" :id "c2" :name "Bash"
                            :input (:command "make dough"))))
       ('called (user :message '(:content [(:type "tool_result" :tool_use_id "c2" :is_error t
                                            :content "Exit code 1\nno water")])))
       ('edit (agent "r3" `(:type "tool_use" :id "c3" :name "Edit"
                            :input (:file_path ,todo-write-screen-edited
                                    :old_string "a" :new_string "b\nc"))))
       ('edited (user :message '(:content [(:type "tool_result" :tool_use_id "c3" :content "ok")])
                      :toolUseResult
                      `(:filePath ,todo-write-screen-edited
                        :structuredPatch [(:oldStart 1 :oldLines 1 :newStart 1 :newLines 2
                                           :lines ["-a" "+b" "+c"])])))
       ('relist (agent "r4" `(:type "tool_use" :id "c4" :name "TodoWrite"
                              :input ,(todo-write-test-todos '("Mix" "completed" "Mixing")
                                                             '("Knead" "in_progress")))))
       ('relisted (user :message '(:content [(:type "tool_result" :tool_use_id "c4"
                                              :content "ok")])))
       ('end (agent "r5" '(:type "text" :text "The dough is ready.") "end_turn"))
       ('next (user :message '(:role "user" :content "And now with rye")))))))

(defun todo-write-screen-append (file &rest names)
  "Append the lines of the session with NAMES to FILE."
  (let ((coding-system-for-write 'utf-8-unix))
    (write-region (mapconcat (lambda (name)
                               (concat (json-serialize (todo-write-screen--line name)) "\n"))
                             names "")
                  nil file t 'silent)))

(provide 'todo-write-screen-helper)
;;; todo-write-screen-helper.el ends here
