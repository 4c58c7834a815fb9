;;; todo-write-seeds-tests.el --- What the design documents ask for  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Each test is of requirements of the documents that the package was made from.
;; Its docstring names document and sections: 000 is about change tracking, 001 about
;; phases, streams and thoughts, 003 about the tool `todo_write' in Efrit.
;; All tests use public functions only.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'seq)
(require 'efrit-do)
(require 'todo-write-mode-line)
(require 'todo-write-test-helper)
(require 'todo-write-view-test-helper)

;;; 000: changes

(defun todo-write-seeds-tests--item (id description &rest more)
  "Return the pending item ID with DESCRIPTION and MORE, which takes precedence."
  (append more (list :id id :description description :status "pending")))

(defun todo-write-seeds-tests--list (&rest ids)
  "Return a list of the items IDS, each with a description of its own."
  (vconcat (mapcar (lambda (id) (todo-write-seeds-tests--item id (concat "Task " id))) ids)))

(defun todo-write-seeds-tests--ids (changes key)
  "Return the ids of the items under KEY, an accessor of CHANGES."
  (seq-map (lambda (change) (plist-get change :itemId)) (plist-get changes key)))

(defun todo-write-seeds-tests--kinds (previous current)
  "Return the ids of added, modified, removed, status changed, reordered items.
The lists are PREVIOUS and CURRENT."
  (let ((changes (todo-write-diff previous current)))
    (mapcar (lambda (key) (todo-write-seeds-tests--ids changes key))
            '(:added :modified :removed :statusChanged :reordered))))

(defun todo-write-seeds-tests--values (plist &rest keys)
  "Return the values of KEYS in PLIST."
  (mapcar (lambda (key) (plist-get plist key)) keys))

(defun todo-write-seeds-tests--keys (object)
  "Return the sorted keys of OBJECT, an alist, as symbols."
  (sort (mapcar #'car object) #'string<))

(ert-deftest todo-write-seeds-an-undefined-list-is-an-empty-one ()
  "Seed 000, 1.1 and 9.1: added and removed items, and 5: undefined states."
  (let ((list (todo-write-seeds-tests--list "1" "2")))
    (dolist (empty '(nil []))
      (should (equal (todo-write-seeds-tests--kinds empty nil) '(nil nil nil nil nil)))
      (should (equal (todo-write-seeds-tests--kinds empty list) '(("1" "2") nil nil nil nil)))
      (should (equal (todo-write-seeds-tests--kinds list empty) '(nil nil ("1" "2") nil nil))))))

(ert-deftest todo-write-seeds-a-change-has-exactly-the-keys-of-its-type ()
  "Seed 000, 3.1 and 10.2, in the names of the wire: of any lists and of a plan."
  (todo-write-with-store
    (todo-write-test-write "a" "Read the code" "Build the tool" "Test it all" "Paint a fence")
    (todo-write-edit "a" 'rename "t1" "Other")
    (todo-write-test-write "a" "Test it all" "Other" '("Build the tool" "completed") "Feed cats")
    (dolist (changes (list (todo-write-changes-between "a" 1 3)
                           (todo-write-diff (todo-write-items "a" 1) (todo-write-items "a" 3))))
      (let ((wire (json-parse-string (todo-write-to-json changes) :object-type 'alist)))
        (should (equal (todo-write-seeds-tests--keys wire)
                       '(added changes modified removed reordered statusChanged timestamp)))
        (should (equal (seq-map (lambda (change)
                                  (cons (alist-get 'type change)
                                        (todo-write-seeds-tests--keys change)))
                                (alist-get 'changes wire))
                       '(("reordered" itemId position previousPosition timestamp type)
                         ("modified" fields item itemId position previousItem timestamp type)
                         ("status_changed" item itemId position previousItem timestamp type)
                         ("added" item itemId position timestamp type)
                         ("removed" itemId previousItem previousPosition timestamp type))))))))

(ert-deftest todo-write-seeds-the-accessors-have-the-changes-themselves-and-one-time ()
  "Seed 000, 3.1 and 6.1: the flat array is the single source of truth."
  (let* ((changes (todo-write-diff (todo-write-seeds-tests--list "1")
                                   (todo-write-seeds-tests--list "2")))
         (all (append (plist-get changes :changes) nil)))
    (should (eq (aref (plist-get changes :added) 0) (nth 0 all)))
    (should (eq (aref (plist-get changes :removed) 0) (nth 1 all)))
    (should (> (plist-get changes :timestamp) 1600000000000))
    (dolist (change all)
      (should (= (plist-get change :timestamp) (plist-get changes :timestamp))))))

(ert-deftest todo-write-seeds-every-field-but-the-status-makes-an-item-modified ()
  "Seed 000, 3.2: the fields to compare; 10.1: granular changes of fields."
  (dolist (field '(:description :dependencies :stepType :requiredTools :expectedOutcome
                   :toolValidationMode :result :thoughts :toolCalls :actualToolCalls
                   :toolResults :validationStatus))
    (let* ((current (todo-write-seeds-tests--item "1" "Task 1" field "new"))
           (change (aref (plist-get (todo-write-diff (todo-write-seeds-tests--list "1")
                                                     (vector current))
                                    :changes)
                         0)))
      (should (equal (plist-get change :type) "modified"))
      (should (equal (append (plist-get change :fields) nil)
                     (list (substring (symbol-name field) 1)))))))

(ert-deftest todo-write-seeds-fields-are-compared-deeply ()
  "Seed 000, 3.2: the deep equality of values, arrays and objects.
The time of creation is compared, that of an update is not."
  (pcase-dolist (`(,equal ,old ,new)
                 '((t (:result (:a 1 :b [2 (:c "x")])) (:result (:b [2 (:c "x")] :a 1)))
                   (nil (:result (:a 1 :b [2 (:c "x")])) (:result (:a 1 :b [2 (:c "y")])))
                   (nil (:result (:a 1)) (:result (:a 1 :b 2))) (nil (:result "1") (:result 1))
                   (nil (:result [1 2]) (:result [2 1])) (nil (:result [1]) (:result [1 1]))
                   (t (:updatedTimestamp 1) (:updatedTimestamp 2))
                   (nil (:createdTimestamp 1) (:createdTimestamp 2))
                   (t (:thoughts :null) nil) (nil (:thoughts "x") nil) (nil nil (:toolCalls []))))
    (ert-info ((format "%S %S" old new))
      (should (eq equal
                  (equal (todo-write-seeds-tests--kinds
                          (vector (apply #'todo-write-seeds-tests--item "1" "A" old))
                          (vector (apply #'todo-write-seeds-tests--item "1" "A" new)))
                         '(nil nil nil nil nil)))))))

(ert-deftest todo-write-seeds-a-dependency-on-a-removed-item-is-a-warning ()
  "Seed 000, 5: validate and warn, do not fail."
  (let* ((depends (todo-write-seeds-tests--item "2" "B" :dependencies ["1"]))
         (changes (todo-write-diff (vector (todo-write-seeds-tests--item "1" "A") depends)
                                   (vector depends))))
    (should (equal (todo-write-seeds-tests--ids changes :removed) '("1")))
    (should (equal (length (plist-get changes :warnings)) 1))
    (should (string-match-p "\"2\".*\"1\"" (car (plist-get changes :warnings))))))

(ert-deftest todo-write-seeds-a-repeated-id-signals-before-anything-is-compared ()
  "Seed 000, 5: duplicate ids."
  (let ((twice (todo-write-seeds-tests--list "x" "y" "x")))
    (dolist (lists `((,twice nil) (nil ,twice)))
      (should (string-search "id \"x\" comes twice"
                             (cadr (should-error (apply #'todo-write-diff lists)
                                                 :type 'todo-write-input-error)))))))

(ert-deftest todo-write-seeds-a-diff-changes-neither-list ()
  "Seed 000, 6.3 and 7.3: no state is corrupted."
  (let* ((lists (list (todo-write-seeds-tests--list "1" "2")
                      (vector (todo-write-seeds-tests--item "2" "B"))))
         (copies (copy-tree lists t)))
    (todo-write-apply-changes (car lists) (apply #'todo-write-diff lists))
    (should (equal lists copies))))

(ert-deftest todo-write-seeds-changes-of-any-span-fold-into-one-set ()
  "Seed 000, 10.1: aggregation, and 5: rapid successive updates."
  (todo-write-with-store
    (todo-write-test-write "a" "One" "Two")
    (todo-write-test-write "a" '("One" "in_progress") "Two")
    (todo-write-test-write "a" '("One" "completed") "Two" "Three")
    (pcase-dolist (`(,from ,to . ,types)
                   '((1 3 "status_changed" "added") (0 3 "added" "added" "added")
                     (3 1 "status_changed" "removed") (2 2)))
      (should (equal (todo-write-test-types (todo-write-changes-between "a" from to)) types)))
    (should-error (todo-write-changes-between "a" 0 4) :type 'todo-write-input-error)))

(ert-deftest todo-write-seeds-every-earlier-list-and-who-changed-it-can-be-read ()
  "Seed 000, 10.1: the history of all changes."
  (todo-write-with-store
    (todo-write "a" (todo-write-test-todos "One") "host")
    (todo-write-edit "a" 'add "Two")
    (todo-write-undo "a")
    (should (equal (mapcar (lambda (revision)
                             (should (natnump (plist-get revision :timestamp)))
                             (todo-write-seeds-tests--values
                              revision :revision :author :source :operation :restores))
                           (todo-write-revisions "a"))
                   '((1 "agent" "host" "write" nil)
                     (2 "user" nil "add" nil)
                     (3 "user" nil "undo" 1))))
    (should (equal (todo-write-test-contents "a" 2) '("One" "Two")))
    (should-error (todo-write-items "a" 4) :type 'todo-write-input-error)))

;;; 000: plan updates

(defun todo-write-seeds-tests--heard (function &rest filter)
  "Call FUNCTION; return what a subscriber with FILTER heard meanwhile, in order."
  (let* (heard (handle (apply #'todo-write-subscribe (lambda (event) (push event heard)) filter)))
    (unwind-protect (funcall function)
      (todo-write-unsubscribe handle))
    (nreverse heard)))

(ert-deftest todo-write-seeds-a-list-is-saved-before-it-is-told ()
  "Seed 000, 5 and 6.3: save, then emit."
  (todo-write-with-store
    (let (saved)
      (todo-write-subscribe
       (lambda (_)
         (with-temp-buffer
           (insert-file-contents (car (todo-write-test-segments)))
           (push (and (search-forward "Only here" nil t) t) saved))))
      (todo-write-test-write "a" "Only here")
      (should (equal saved '(t))))))

(ert-deftest todo-write-seeds-completed-items-can-be-kept-completed ()
  "Seed 000, 2.1: what an agent sends is sanitized."
  (todo-write-with-store
    (todo-write-test-write "a" '("A" "completed") "B")
    (let ((todo-write-keep-completed t))
      (should (equal (plist-get (todo-write-test-write "a" "A" '("B" "in_progress")) :forced)
                     '("t1"))))
    (should (equal (mapcar #'cadr (todo-write-test-rows "a")) '("completed" "in_progress")))
    (should-not (plist-get (todo-write-test-write "a" "A" "B") :forced))))

;;; 001: phases, streams and thoughts

(defun todo-write-seeds-tests--think (text &rest event)
  "Stream TEXT as a thought of the thread \"a\", with EVENT; return what is told."
  (apply #'todo-write-stream "a" :type "TOKEN" :data text :thinking t event))

(ert-deftest todo-write-seeds-the-token-type-follows-from-context-and-thinking ()
  "Seed 001, 1, 2 and 6: all contexts, the two old ones and none at all."
  (todo-write-with-store
    (pcase-dolist (`(,context ,phase ,thinking ,response)
                   '(("PLANNING_THOUGHTS" planning "PLANNING_LLM_THINKING" "PLANNING_LLM_RESPONSE")
                     ("EXECUTION_THOUGHTS" execution "EXECUTION_LLM_THINKING"
                      "EXECUTION_LLM_RESPONSE")
                     ("SYNTHESIS_THOUGHTS" synthesis "SYNTHESIS_LLM_THINKING"
                      "SYNTHESIS_LLM_RESPONSE")
                     ("AGENT_THOUGHT" nil "LLM_THINKING" "LLM_RESPONSE")
                     ("FINAL_SYNTHESIS" nil "LLM_THINKING" "LLM_RESPONSE")
                     ("other" nil "LLM_THINKING" "LLM_RESPONSE")
                     (nil nil "LLM_THINKING" "LLM_RESPONSE")))
      (pcase-dolist (`(,thinks ,type) `((t ,thinking) (nil ,response)))
        (ert-info ((format "%s %s" context thinks))
          (should (equal (todo-write-seeds-tests--values
                          (todo-write-token-context context thinks) :phase :token-type)
                         (list phase type)))
          ;; The second token takes a shorter way.
          (dotimes (_ 2)
            (should (equal (todo-write-seeds-tests--values
                            (todo-write-stream "a" :type "TOKEN" :data "x" :thinking thinks
                                               :call-context context)
                            :tokenType :phase)
                           (list type (cond (phase (symbol-name phase))
                                            ;; Without a context, that of the list.
                                            ((not context) "planning")))))))))))

(ert-deftest todo-write-seeds-a-token-has-all-known-context ()
  "Seed 001, 1 and 4: the fields of a stream event."
  (todo-write-with-store
    (todo-write-test-write "a" '("Read" "completed") '("Ship" "in_progress"))
    (let ((event (todo-write-seeds-tests--think "Hm" :call-context 'EXECUTION_THOUGHTS
                                                :trace-id "request" :session-id 'session)))
      (should (natnump (plist-get event :timestamp)))
      (should (equal (cl-loop for (key) on event by #'cddr collect key)
                     '(:data :timestamp :type :tokenType :phase :stepId :stepDescription
                       :threadId :traceId :sessionId)))
      (should (equal (todo-write-seeds-tests--values
                      event :type :data :tokenType :phase :stepId :stepDescription :threadId
                      :traceId :sessionId)
                     '("TOKEN" "Hm" "EXECUTION_LLM_THINKING" "execution" "t2" "Ship" "a"
                       "request" "session"))))))

(ert-deftest todo-write-seeds-every-event-has-the-phase ()
  "Seed 001, 1: METADATA, ERROR and END too; other types are refused."
  (todo-write-with-store
    (todo-write-test-write "a" '("Read" "in_progress"))
    (pcase-dolist (`(,type ,data) '(("METADATA" (:tokens 3)) ("ERROR" "Broken") ("END" nil)))
      (should (equal (todo-write-seeds-tests--values
                      (todo-write-stream "a" :type type :data data)
                      :type :data :tokenType :phase :stepId)
                     (list type data nil "execution" "t1"))))
    (should-error (todo-write-stream "a" :type "TOKENS" :data "x") :type 'todo-write-input-error)))

(ert-deftest todo-write-seeds-a-host-names-the-step-of-execution-only ()
  "Seed 001, 2 and 4: the step of the call, else the item in progress."
  (todo-write-with-store
    (todo-write-test-write "a" '("Read" "in_progress") "Ship")
    (pcase-dolist (`(,event ,id ,description)
                   '((nil "t1" "Read")
                     ((:step-id "t2") "t2" "Ship")
                     ((:step-id "7" :step-description "Pack") "7" "Pack")
                     ((:step-id "7") "7" nil)
                     ((:step-description "Read all") "t1" "Read all")
                     ((:step-id "t2" :call-context "PLANNING_THOUGHTS") nil nil)))
      (ert-info ((format "%S" event))
        (dotimes (_ 2)
          (should (equal (todo-write-seeds-tests--values
                          (apply #'todo-write-seeds-tests--think "x" event)
                          :stepId :stepDescription)
                         (list id description))))))))

(ert-deftest todo-write-seeds-a-thought-is-recorded-with-phase-and-step ()
  "Seed 001, 5.1: the structure of a THOUGHTS observation."
  (todo-write-with-store
    (todo-write-test-write "a" '("Read" "in_progress") "Ship")
    (dolist (text '("How " "to ship?"))
      (todo-write-seeds-tests--think text :call-context "EXECUTION_THOUGHTS" :step-id "t2"
                                     :trace-id "r1"))
    (todo-write-stream "a" :type "END")
    (let ((thought (aref (todo-write-observations "a" :type "THOUGHTS") 0)))
      (should (equal (todo-write-seeds-tests--values
                      thought :type :threadId :traceId :parentId :content)
                     '("THOUGHTS" "a" "r1" "t2" (:text "How to ship?"))))
      (should (natnump (plist-get thought :timestamp)))
      (should (equal (todo-write-seeds-tests--values
                      (plist-get thought :metadata)
                      :phase :tokenType :stepId :stepDescription)
                     '("execution" "EXECUTION_LLM_THINKING" "t2" "Ship"))))))

(ert-deftest todo-write-seeds-a-stream-is-filtered-by-phase-token-type-and-step ()
  "Seed 001, 5.3 and 8."
  (todo-write-with-store
    (todo-write-test-write "a" '("Read" "in_progress"))
    (pcase-dolist (`(,filter . ,data) '((nil "plan" "do" "say" nil) ((:phase planning) "plan")
                                        ((:token-type "EXECUTION_LLM_THINKING") "do")
                                        ((:step "t1") "do") ((:phase "synthesis") "say" nil)
                                        ((:phase synthesis :type TOKEN) "say")))
      (ert-info ((format "%S" filter))
        (should (equal data
                       (mapcar (lambda (event) (plist-get event :data))
                               (apply #'todo-write-seeds-tests--heard
                                      #'todo-write-seeds-tests--talk :kind 'stream filter))))))))

(defun todo-write-seeds-tests--talk ()
  "Stream one token of each phase of the thread \"a\", and the end."
  (pcase-dolist (`(,type ,context . ,event)
                 '(("TOKEN" "PLANNING" :data "plan") ("TOKEN" "EXECUTION" :data "do" :thinking t)
                   ("TOKEN" "SYNTHESIS" :data "say") ("END" "SYNTHESIS")))
    (apply #'todo-write-stream "a" :type type :call-context (concat context "_THOUGHTS") event)))

(ert-deftest todo-write-seeds-a-session-records-thoughts-in-all-three-phases ()
  "Seed 001, 3 and 8, with a session of efrit-do."
  (let* ((plan (lambda (status) (todo-write-seeds-tests--call (list "Sweep" status))))
         (played (todo-write-seeds-tests--play
                  (list '(:thinking "One thing.") (funcall plan "in_progress"))
                  (list '(:thinking "The broom.") (funcall plan "completed"))
                  (list '(:thinking "All done.")))))
    (should (equal (mapcar (lambda (thought)
                             (cons (plist-get thought :parentId)
                                   (todo-write-seeds-tests--values
                                    (plist-get thought :metadata)
                                    :phase :tokenType :stepDescription)))
                           (todo-write-seeds-tests--of-type "THOUGHTS" (cdr played)))
                   '((nil "planning" "PLANNING_LLM_THINKING" nil)
                     ("t1" "execution" "EXECUTION_LLM_THINKING" "Sweep")
                     (nil "synthesis" "SYNTHESIS_LLM_THINKING" nil))))))

(ert-deftest todo-write-seeds-a-session-streams-thoughts-and-answer-word-by-word ()
  "Seed 001, 3: each token is told as it comes."
  (should (equal (mapcar (lambda (event) (todo-write-seeds-tests--values event :tokenType :data))
                         (todo-write-seeds-tests--of-type
                          "TOKEN" (cdr (todo-write-seeds-tests--play
                                        '((:thinking "One two.") (:text "Three four."))))))
                 '(("PLANNING_LLM_THINKING" "One ") ("PLANNING_LLM_THINKING" "two.")
                   ("PLANNING_LLM_RESPONSE" "Three ") ("PLANNING_LLM_RESPONSE" "four.")))))

;;; 003: the tool

(defconst todo-write-seeds-tests--schema
  "{\"name\": \"todo_write\",
    \"description\": \"Update the task list. ALWAYS pass the COMPLETE todo list.\\n\\n\
Use this when:\\n- Breaking down a complex task into steps\\n\
- Starting work on a task (mark as in_progress)\\n- Completing a task (mark as completed)\\n\
- Adding new discovered work\\n\\nDO NOT use for simple single-step tasks like opening files.\",
    \"input_schema\": {
      \"type\": \"object\",
      \"properties\": {\"todos\": {
        \"type\": \"array\",
        \"items\": {
          \"type\": \"object\",
          \"properties\": {
            \"content\": {\"type\": \"string\",
                        \"description\": \"Task in imperative form (e.g., 'Run tests')\"},
            \"status\": {\"type\": \"string\",
                       \"enum\": [\"pending\", \"in_progress\", \"completed\"],
                       \"description\": \"Current status\"},
            \"activeForm\": {\"type\": \"string\", \"description\":
              \"Task in present continuous (e.g., 'Running tests')\"}},
          \"required\": [\"content\", \"status\", \"activeForm\"]}}},
      \"required\": [\"todos\"]}}"
  "The tool of Option A as JSON.")

(ert-deftest todo-write-seeds-the-tool-is-that-of-option-a-to-the-letter ()
  "Seed 003, Option A."
  (should (equal (json-parse-string (json-serialize (todo-write-tool-schema)) :object-type 'alist)
                 (json-parse-string todo-write-seeds-tests--schema :object-type 'alist))))

(ert-deftest todo-write-seeds-one-tool-stands-in-place-of-eight ()
  "Seed 003, Option A, implementation 1 and 2, and phase 3."
  (should (equal (efrit-do-tool-names)
                 '("todo_write" "session_complete" "eval_sexp" "shell_exec" "buffer_create"
                   "read_file")))
  (todo-write-with-store
    (dolist (name '("todo_add" "todo_update" "todo_show" "todo_analyze" "todo_status" "todo_next"
                    "todo_execute_next" "todo_complete_check"))
      (let ((outcome (efrit-do-execute-tool name nil)))
        (should (plist-get outcome :is-error))
        (should (string-search "todo_write" (plist-get outcome :content)))))))

;;; 003: the four bugs

(defun todo-write-seeds-tests--call (&rest entries)
  "Return a call of todo_write for ENTRIES, as for `todo-write-test-todos'."
  (list :tool "todo_write" :input (apply #'todo-write-test-todos entries)))

(defun todo-write-seeds-tests--play (&rest turns)
  "Let a scripted session of efrit-do play TURNS, lists of events.
Return the outcome with the state of the list, and after it what
subscribers heard.  The tool \"count\" returns how often it ran."
  (todo-write-with-store
    (let* ((inhibit-message t) (efrit-do-sessions nil) (efrit-do-confirm nil)
           (efrit-do-tools efrit-do-tools) (ran 0))
      (efrit-do-register-tool :name "count" :function (lambda () (format "run %d" (cl-incf ran))))
      (let* (outcome
             (heard (todo-write-seeds-tests--heard
                     (lambda ()
                       (setq outcome (efrit-do-run
                                      "Tidy up" :backend 'replay :thread "a" :speed 0
                                      :script (list :turns turns)))))))
        (cons (append outcome (list :state (todo-write-state "a"))) heard)))))

(defun todo-write-seeds-tests--of-type (type events)
  "Return those of EVENTS that are of TYPE."
  (seq-filter (lambda (event) (equal (plist-get event :type) type)) events))

(ert-deftest todo-write-seeds-the-result-has-what-each-tool-did ()
  "Seed 003, ef-t7f."
  (let* ((outcome (car (todo-write-seeds-tests--play
                        '((:tool "count") (:tool "read_file" :input (:path "/no/file"))))))
         (result (plist-get outcome :result)))
    (should (string-search "[count] run 1" result))
    (should (string-match-p "\\[read_file, failed\\] Error: .*/no/file" result))
    (should-not (string-search "successfully" result))
    (should (equal (mapcar (lambda (each) (and (plist-get each :is-error) t))
                           (plist-get outcome :tool-results))
                   '(nil t))))
  (should (equal (plist-get (car (todo-write-seeds-tests--play)) :result)
                 "The agent said nothing and ran no tool.")))

(ert-deftest todo-write-seeds-the-model-is-told-when-to-plan ()
  "Seed 003, ef-utf, and design principle 5."
  (should (string-match-p "Plan with todo_write .*three or more" efrit-do-system-prompt))
  (should (string-search "Do not plan a single action" efrit-do-system-prompt))
  (should (<= (length (split-string efrit-do-system-prompt "\n")) 8)))

(ert-deftest todo-write-seeds-the-completion-message-stands-beside-the-results ()
  "Seed 003, ef-a46."
  (let ((outcome (car (todo-write-seeds-tests--play
                       '((:text "I counted.") (:tool "count"))
                       '((:text "Once.")
                         (:tool "session_complete" :input (:message "Counting is over.")))))))
    (dolist (part '("Once." "Counting is over." "[count] run 1"))
      (should (string-search part (plist-get outcome :result))))
    (should (equal (todo-write-seeds-tests--values outcome :status :message :reason)
                   '(done "Counting is over." nil)))
    (should (equal (mapcar (lambda (result) (plist-get result :name))
                           (plist-get outcome :tool-results))
                   '("count" "session_complete")))))

(ert-deftest todo-write-seeds-a-session-is-recorded-from-command-to-answer ()
  "Seed 003, positive findings: the log of a session; seed 001, 8: its data flow."
  (should (equal (cl-loop for event in (cdr (todo-write-seeds-tests--play
                                             '((:thinking "Hm.") (:text "Now.") (:tool "count"))
                                             '((:text "Done."))))
                          ;; Events of the stream have none.
                          when (plist-get event :id) collect (plist-get event :type))
                 '("INTENT" "TITLE" "LLM_STREAM_START" "THOUGHTS" "MESSAGE" "LLM_STREAM_END"
                   "TOOL_CALL" "TOOL_EXECUTION" "LLM_STREAM_START" "MESSAGE" "LLM_STREAM_END"
                   "SYNTHESIS" "FINAL_RESPONSE"))))

;;; 003: open questions

(ert-deftest todo-write-seeds-the-list-of-a-subagent-has-its-parent-and-tasks-are-flat ()
  "Seed 003, open question 2."
  (todo-write-with-store
    (todo-write-begin "child" :parent "a" :parent-item "t1")
    (should (equal (plist-get (todo-write-about "child") :parent) "a"))
    (let ((outcome (todo-write "a" '(:todos [(:content "One" :status "pending" :activeForm "F"
                                              :children [(:content "Within")])]))))
      (should (equal (todo-write-test-contents "a") '("One")))
      (should (string-search "children" (car (plist-get outcome :notices)))))))

(provide 'todo-write-seeds-tests)
;;; todo-write-seeds-tests.el ends here
