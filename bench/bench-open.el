;;; bench-open.el --- Opening what an agent did  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The time from the key to the redrawn terminal when a task's row is opened that has
;; 300 entries, when the diff of its 200 edits is shown, when 300 edits of 30 files are
;; reviewed, and when a plan with 300 turns is drawn again.

;;; Code:

(require 'bench)
(require 'bench-ways)
(require 'todo-write-follow)
(require 'todo-write-review)
(require 'todo-write-visit)

(defconst bench-open--edits 200 "Number of edits, of a hunk each.")

(defconst bench-open--reads 100 "Number of other calls.")

(defun bench-open--line (n type &rest content)
  "Return line N of a session, whose message of TYPE has the part CONTENT."
  (concat
   (json-serialize
    (list :parentUuid (format "u%d" (1- n)) :uuid (format "u%d" n) :isSidechain :false
          :cwd "/garden" :sessionId "open" :entrypoint "cli" :version "2.1.330" :type type
          :timestamp (format-time-string "%FT%T.000Z" (+ 1760000000 n) t)
          :message (if (equal type "assistant")
                       (list :id (format "m%d" n) :role type :content (vector content))
                     (list :role type :content (if (plist-get content :text)
                                                   (plist-get content :text)
                                                 (vector content))))))
   "\n"))

(defun bench-open--call (n name input)
  "Return the lines of call N, of the tool NAME with INPUT, and of its result."
  (let ((id (format "call%d" n)))
    (concat (bench-open--line (* 2 n) "assistant" :type "tool_use" :id id :name name :input input)
            (bench-open--line (1+ (* 2 n)) "user" :type "tool_result" :tool_use_id id
                              :content "done"))))

(defun bench-open--edit (n)
  "Return the input of edit N."
  (let ((text (mapconcat (lambda (line) (format "(plant '%s %d)" (aref bench-verbs (% line 8)) n))
                         (number-sequence 0 7) "\n")))
    (list :file_path (format "/garden/bed-%d.el" (% n 5))
          :old_string text
          :new_string (string-replace "(plant 'Send" "(plant 'Water" text))))

(defun bench-open--write (file)
  "Write a session to FILE whose only task has all calls."
  (make-directory (file-name-directory file) t)
  (with-temp-file file
    (set-buffer-file-coding-system 'utf-8-unix)
    (insert (bench-open--line 0 "user" :text "Look after the garden")
            (bench-open--call
             1 "TodoWrite" '(:todos [( :content "Plant all beds" :status "in_progress"
                                       :activeForm "Planting all beds")])))
    (dotimes (n (+ bench-open--edits bench-open--reads))
      (insert (if (= 2 (% n 3))
                  (bench-open--call (+ n 2) "Read" (list :file_path (format "/garden/%d.txt" n)))
                (bench-open--call (+ n 2) "Edit" (bench-open--edit n)))))))

(defvar bench-open--thread nil "The key of the plan.")

(defvar bench-open--id nil "The id of its task.")

(defun bench-open--begin ()
  "Show the plan of the session, and go to its task."
  (let ((file (expand-file-name "open/projects/-garden/open.jsonl" (getenv "HOME"))))
    (unless (file-exists-p file)
      (bench-open--write file))
    (setq todo-write-directory bench-folder
          todo-write-follow-agents (list (cons 'claude (expand-file-name "open" (getenv "HOME"))))
          bench-open--thread (todo-write-follow file)
          bench-open--id (plist-get (aref (todo-write-items bench-open--thread) 0) :id))
    (bench--show (todo-write-show bench-open--thread))
    (todo-write-view-goto bench-open--id)))

(defun bench-open--end ()
  "Forget the plan."
  (mapc #'kill-buffer (todo-write-view-draw-live-buffers))
  (todo-write-follow-stop)
  (todo-write-forget bench-open--thread))

(defun bench-open--press (key)
  "Do what KEY does at point, and redraw the terminal."
  (call-interactively (key-binding (kbd key)))
  (redisplay t))

(defun bench-open--close (buffer)
  "Kill BUFFER, and show the plan."
  (kill-buffer buffer)
  (bench--show (car (todo-write-view-draw-live-buffers))))

(defun bench-open--toggle (&rest _)
  "Open or close the row at point."
  (bench-open--press "TAB"))

(defun bench-open--diff (&rest _)
  "Show the diff of the task at point."
  (bench-open--press "="))

(defun bench-open--close-diff ()
  "Kill the diff, and show the plan."
  (bench-open--close "*todo-write-diff*"))

(defconst bench-open--files 30 "Number of files that are reviewed.")

(defconst bench-open--file-edits 10 "Number of edits of each of them, of a hunk each.")

(defun bench-open--begin-review ()
  "Show a plan whose agent edited files of its project."
  (let ((folder (expand-file-name "review/" (getenv "HOME"))))
    (make-directory folder t)
    (setq todo-write-directory bench-folder
          bench-open--thread "review")
    (todo-write-begin bench-open--thread :project folder)
    (todo-write bench-open--thread '(:todos ((:content "Water the beds" :status "in_progress"
                                              :activeForm "Watering the beds"))))
    (dotimes (n bench-open--files)
      (let ((name (expand-file-name (format "bed-%d.el" n) folder))
            (text (mapconcat (lambda (line) (format "(plant '%s %d)\n" (aref bench-verbs (% line 8)) line))
                             (number-sequence 0 (1- (* 20 bench-open--file-edits))) "")))
        (dotimes (edit bench-open--file-edits)
          (let ((new (string-replace (format " %d)\n" (* 20 edit)) " 'more)\n" text)))
            (todo-write-observe bench-open--thread "TOOL_EXECUTION" '(:name "Edit") :outcome 'ok
                                :files `((:path ,name :oldText ,text :newText ,new)))
            (setq text new)))
        (write-region text nil name nil 'silent)))
    (bench--show (todo-write-show bench-open--thread))
    (goto-char (point-min))))

(defun bench-open--review (&rest _)
  "Review the plan."
  (bench-open--press "v"))

(defun bench-open--close-review ()
  "Kill the review, and show the plan."
  (bench-open--close "*todo-write-review*"))

(defconst bench-open--turns 300 "Number of turns of a session.")

(defun bench-open--begin-turns ()
  "Show a plan whose agent edited a file in each turn."
  (setq todo-write-directory bench-folder
        bench-open--thread "turns")
  (todo-write-begin bench-open--thread :project (getenv "HOME"))
  (dotimes (n bench-open--turns)
    (todo-write-observe bench-open--thread "INTENT"
                        (format "Look after bed %d, and say what you found" n))
    (todo-write bench-open--thread
                `(:todos ((:content ,(format "Water bed %d" n) :status "completed"
                           :activeForm ,(format "Watering bed %d" n)))))
    (todo-write-observe bench-open--thread "TOOL_EXECUTION" '(:name "Edit") :outcome 'ok
                        :files `((:path ,(format "bed-%d.el" n) :oldText "dry\n" :newText "wet\n"))))
  (bench--show (todo-write-show bench-open--thread))
  (goto-char (point-min)))

(defun bench-open--draw (&rest _)
  "Draw the plan again."
  (bench-open--press "g"))

(defun bench-open--check-turns ()
  "Signal an error unless the plan has all turns."
  (bench-open--begin-turns)
  (unless (= bench-open--turns (length (todo-write-turns bench-open--thread)))
    (error "Not all turns"))
  (bench-open--draw)
  (unless (save-excursion (search-forward (format "bed %d" (1- bench-open--turns)) nil t))
    (error "The last turn is not shown: %s" (buffer-string)))
  (bench-open--forget))

(defun bench-open--forget ()
  "Forget the plan that was shown."
  (mapc #'kill-buffer (todo-write-view-draw-live-buffers))
  (todo-write-forget bench-open--thread))

(defun bench-open--check-review ()
  "Signal an error unless the review has all hunks of all files."
  (bench-open--begin-review)
  (bench-open--review)
  (with-current-buffer "*todo-write-review*"
    (unless (and (= (how-many "^@@" (point-min)) (* bench-open--files bench-open--file-edits))
                 (= (how-many "^diff " (point-min)) bench-open--files))
      (error "Not all hunks: %s" (buffer-string))))
  (bench-open--close-review)
  (bench-open--forget))

(defun bench-open--check ()
  "Signal an error unless the row has all entries, and the diff all hunks."
  (bench-open--begin)
  (bench-open--toggle)
  (let ((hidden (- (+ bench-open--edits bench-open--reads) todo-write-story-limit)))
    (unless (save-excursion (search-forward-regexp "^ +\\([0-9]+\\) earlier" nil t)
                            (<= hidden (string-to-number (match-string 1)) (+ hidden 2)))
      (error "Not all entries: %s" (buffer-string))))
  (bench-open--diff)
  (let ((hunks (with-current-buffer "*todo-write-diff*" (how-many "^@@" (point-min)))))
    (unless (= hunks bench-open--edits)
      (error "%d hunks" hunks)))
  (bench-open--close-diff)
  (bench-open--end))

(bench-open--check)
(bench-open--check-review)
(bench-open--check-turns)
(let ((samples (bench-compare
                `((row . ,(make-bench-way :begin #'bench-open--begin :call #'bench-open--toggle
                                          :settle #'bench-open--toggle :end #'bench-open--end))
                  (diff . ,(make-bench-way :begin #'bench-open--begin :call #'bench-open--diff
                                           :settle #'bench-open--close-diff
                                           :end #'bench-open--end))
                  (review . ,(make-bench-way :begin #'bench-open--begin-review
                                             :call #'bench-open--review
                                             :settle #'bench-open--close-review
                                             :end #'bench-open--forget))
                  (turns . ,(make-bench-way :begin #'bench-open--begin-turns
                                            :call #'bench-open--draw
                                            :end #'bench-open--forget)))
                [nil] 10 (max 3 (/ bench-rounds 3)))))
  (bench-row "from the key to a task's row opened, 300 entries, 40 of them shown"
             (alist-get 'row samples) "30 ms" 0.03 :budget 1 :felt t)
  (bench-row "from the key to a diff of 200 hunks" (alist-get 'diff samples)
             "100 ms" 0.1 :budget 1 :felt t)
  (bench-row "from the key to a review of 30 files, 300 hunks" (alist-get 'review samples)
             "100 ms" 0.1 :budget 1 :felt t)
  (bench-row "a plan with 300 turns drawn" (alist-get 'turns samples)
             "30 ms" 0.03 :budget 1 :felt t))

(provide 'bench-open)
;;; bench-open.el ends here
