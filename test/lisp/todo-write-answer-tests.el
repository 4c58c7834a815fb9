;;; todo-write-answer-tests.el --- Tests of showing requests  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; How the text of a request is shown, and what `todo-write-answer' finds.  The keys
;; are tested in a real Emacs, see todo-write-answer-e2e-tests.el.

;;; Code:

(require 'todo-write-terminal)
(require 'todo-write-test-helper)
(require 'todo-write-answer)

(defun todo-write-answer-tests--shown (text &optional format)
  "Return TEXT as it is shown, without properties."
  (substring-no-properties (todo-write-answer-text text (or format 'shell))))

;;; Hidden text

(defconst todo-write-answer-tests--payloads
  (let ((end "; rm -rf ~"))
    (append
     (mapcar (lambda (middle) (concat "git status" middle end))
             (list (make-string 400 ?\s)
                   (make-string 4000 ?\s)
                   (make-string 100000 ?\s)
                   (make-string 4000 ?\t)
                   (make-string 4000 #xa0)
                   (make-string 4000 #x2800)
                   (make-string 4000 #x3000)
                   (make-string 4000 #x200b)
                   (make-string 5000 ?\n)
                   (mapconcat #'identity (make-list 5000 "  \t\n") "")
                   (mapconcat #'identity (make-list 5000 "\r\n") "")
                   (mapconcat #'identity (make-list 5000 "echo fine\n") "")
                   (make-string 100000 ?x)
                   (mapconcat #'identity (make-list 30000 "a\u202e") "")
                   "\u202e \u2066 \u2067 \u2068 \u200f"
                   "\e[8m\e[2K\e[1A\b\b\b\r"
                   "\u00ad\u034f\u061c\u115f\u1160\u17b4\u180e\ufe0f\ufeff\uffa0\u3164"
                   "\U000e0001\U000e0072\U000e006d\U000e0100"
                   "\u2000\u2001\u2007\u202f\u205f\u1680\u2028\u2029\u0085\v\f"
                   "\U0001d159\U00016fe4\U0001bca0\U00013430"
                   "\0"))
     (list (concat "git status" (propertize (concat end " ") 'invisible t 'display ""
                                            'face '(:height 0.01) 'composition '((1)))))))
  "Texts that hide their end, which is a second command.")

(ert-deftest todo-write-answer-shows-or-marks-all-of-the-worst-texts ()
  (should (>= (length todo-write-answer-tests--payloads) 20))
  (dolist (payload todo-write-answer-tests--payloads)
    (dolist (format '(shell lisp text diff markdown))
      (let ((shown (todo-write-answer-text payload format)) (case-fold-search nil))
        (should (string-match-p "\\`git status" (string-remove-prefix
                                                 "[printed as a Lisp string]\n\"" shown)))
        (should (string-match-p "; rm -rf ~" shown))
        ;; All that is left of what cannot be seen are the ends of lines.
        (should-not (string-match-p todo-write-text-unseen
                                    (replace-regexp-in-string "[\n\t]" "" shown t t)))
        (should-not (string-match-p "[ \t\u3000]\\{41\\}\\|\\(?:^[ \t]*\n\\)\\{4\\}" shown))
        (should (seq-every-p (lambda (line) (<= (length line) 2100))
                             (split-string shown "\n")))
        (dolist (property '(invisible display composition intangible))
          (should-not (text-property-not-all 0 (length shown) property nil shown)))))))

(ert-deftest todo-write-answer-counts-blanks-and-empty-lines ()
  (should (equal (todo-write-answer-tests--shown (concat "ls" (make-string 4000 ?\s) "; rm"))
                 "ls[4000 blanks]; rm"))
  (should (equal (todo-write-answer-tests--shown (concat "ls" (make-string 400 #xa0) "; rm"))
                 "ls[400 × \\u00a0]; rm"))
  (should (equal (todo-write-answer-tests--shown (concat "ls" (make-string 10 ?\n) "rm"))
                 "ls\n[9 empty lines]\nrm")))

(defun todo-write-answer-tests--diff (changes)
  "Return CHANGES, a list of (FILE OLD NEW), as the detail of a request."
  (todo-write-core-call todo-write-dyn--request-detail
    `((content . ,(vconcat (mapcar (pcase-lambda (`(,file ,old ,new))
                                     `((type . "diff") (path . ,file)
                                       (oldText . ,old) (newText . ,new)))
                                   changes))))
    nil))

(ert-deftest todo-write-answer-no-line-of-a-change-looks-like-the-header-of-a-file ()
  (let* ((lines (mapcar #'number-to-string (number-sequence 1 30)))
         (old (string-join (append '("-- b.txt") lines '("end") nil) "\n"))
         (new (string-join (append '("++ b.txt") lines
                                   (list (concat (make-string 1999 ?x) "--- b.txt"))
                                   nil)
                           "\n"))
         (diffs (list (todo-write-answer-tests--diff `(("a.txt" ,old ,new) ("c.txt" "" "c\n")))
                      ;; Empty lines are counted.
                      (todo-write-answer-tests--diff
                       `(("a.txt" ,(concat "\n\n\n\n\n" old) ,(concat "\n\n\n\n\n" new))))
                      ;; Too many to be compared.
                      (todo-write-answer-tests--diff
                       `(("a.txt" ,old ,new) ("c.txt" "" "c\n")
                         ,@(make-list 50 '("d.txt" "" "d\n")))))))
    (dolist (diff diffs)
      (let ((shown (todo-write-answer-text diff 'diff)) (start 0) headers)
        (while (string-match "^\\(?:---\\|\\+\\+\\+\\|@@\\).*" shown start)
          (setq start (match-end 0))
          (when (memq (get-text-property (match-beginning 0) 'face shown)
                      '(diff-header diff-hunk-header))
            (push (match-string 0 shown) headers)))
        (should-not (seq-some (lambda (line) (string-search "b.txt" line)) headers))
        (should (member "--- a.txt" headers))
        (should (member "+++ a.txt" headers))
        (when (string-search "c.txt" diff)
          (should (member "+++ c.txt" headers)))
        (should (seq-some (lambda (line) (string-prefix-p "@@" line)) headers))
        (should (eq 'diff-removed (get-text-property (string-match "^--- b.txt" shown) 'face
                                                     shown)))))))

(ert-deftest todo-write-answer-no-run-takes-the-square-of-the-time ()
  ;; Each call would take more than an hour.
  (dolist (run (list (make-string 1000000 ?\n) (make-string 100000 ?\s)))
    (let ((text (concat "a" run "b\n\n")))
      (dolist (format '(shell lisp text diff markdown))
        (should (string-suffix-p "b" (todo-write-answer-text text format))))
      (should (string-suffix-p "b\n+" (todo-write-answer-tests--diff (list (list "f" "" text)))))
      (should (equal (concat "a" run "b") (todo-write-text-trim text)))))
  (should (equal "a ⏎ b c" (todo-write-text-command "  a \t\n \n\r b \t c\n")))
  (should (equal "a b" (todo-write-text-command (concat "a" (make-string 100000 ?\s) "b")))))

(ert-deftest todo-write-answer-shows-ordinary-text-unchanged ()
  (dolist (text '("(defun f (x)\n\t(list x))\n\n\n(f 1)" "grüße 東京" "if x:\n        y\n"))
    (should (equal (todo-write-answer-tests--shown text 'lisp) (string-trim-right text)))))

(ert-deftest todo-write-answer-marks-look-like-no-text-of-an-agent ()
  (cl-flet ((face (text) (get-text-property 1 'face (todo-write-answer-text text 'text))))
    (should (eq 'todo-write-answer-mark (face "\u202e")))
    (should-not (face "\\u202e"))
    (should-not (face (propertize "\\u202e" 'face 'todo-write-answer-mark)))))

(ert-deftest todo-write-answer-colors-text-only-by-faces ()
  (pcase-dolist (`(,text ,format ,face)
                 '(("+new" diff diff-added)
                   ("-old" diff diff-removed)
                   ("# Plan" markdown bold)
                   ("# make" shell nil)))
    (should (eq face (get-text-property 0 'face (todo-write-answer-text text format))))))

;;; Right to left

(defun todo-write-answer-tests--displayed (text format)
  "Return the strings that are displayed in place of parts of TEXT in FORMAT."
  (let ((shown (todo-write-answer-text text format)) (position 0) found)
    (while (< position (length shown))
      (let ((end (next-single-property-change position 'display shown (length shown)))
            (display (get-text-property position 'display shown)))
        (when display
          ;; It is what stands there.
          (should (equal display (substring-no-properties shown position end)))
          (push display found))
        (setq position end)))
    (nreverse found)))

(ert-deftest todo-write-answer-keeps-the-order-of-a-command-with-words-from-right-to-left ()
  (dolist (format '(shell lisp diff text))
    (should (equal (todo-write-answer-tests--displayed "rm שלום/עולם; echo ١٢ ٣٤ > می‌خواهم" format)
                   '("שלום" "עולם" "١٢" "٣٤" "می‌خواهم"))))
  (dolist (format '(prose markdown))
    (should-not (todo-write-answer-tests--displayed "שלום עולם" format)))
  (should-not (todo-write-answer-tests--displayed "rm -r 東京 grüße" 'shell)))

;;; Shown whole

(defmacro todo-write-answer-tests--drawn (request &rest body)
  "Run BODY in the buffer that shows REQUEST, fields of one."
  (declare (indent 1) (debug t))
  `(todo-write-with-store
     (apply #'todo-write-request "a"
            (append ,request (list :id "1" :kind 'permission :title "Run it?" :answer #'ignore)))
     (unwind-protect
         (save-window-excursion
           (todo-write-answer)
           (with-current-buffer todo-write-answer-buffer ,@body))
       (when (get-buffer todo-write-answer-buffer) (kill-buffer todo-write-answer-buffer))
       (todo-write-withdraw "a" "1"))))

(ert-deftest todo-write-answer-leaves-the-display-of-bidirectional-text-to-emacs ()
  (todo-write-answer-tests--drawn (list :title "שלום" :detail "rm שלום" :format 'shell)
    (should bidi-display-reordering)
    (should (eq 'left-to-right bidi-paragraph-direction))
    ;; Nor is the end of a line hidden, whatever the user's default.
    (should (equal '(truncate-lines) (assq 'truncate-lines (buffer-local-variables))))))

(ert-deftest todo-write-answer-shows-labels-descriptions-and-names-whole ()
  (let ((long (lambda (end) (concat (mapconcat #'number-to-string (number-sequence 1 400) " ")
                                    "; " end))))
    (todo-write-answer-tests--drawn
        (list :title (funcall long "name")
              :options (list (list :label (funcall long "yes") :kind 'allow)
                             (list :label (funcall long "always") :kind 'always)
                             (list :label (funcall long "other") :kind 'other)))
      (dolist (end '("name" "yes" "always" "other"))
        (should (string-search (concat "399 400; " end) (buffer-string))))
      (todo-write-answer--confirm-always (todo-write-answer--option 'always))
      (should (string-search "Always:" (buffer-string)))
      (should (string-search "399 400; always" (buffer-string))))
    (todo-write-answer-tests--drawn
        (list :kind 'question
              :questions `((:question ,(funcall long "question")
                            :options ((:label ,(funcall long "label")
                                       :description ,(funcall long "description"))))))
      (dolist (end '("question" "label" "description"))
        (should (string-search (concat "399 400; " end) (buffer-string)))))))

(ert-deftest todo-write-answer-marks-look-like-no-text-of-an-agent-in-any-place ()
  (let ((text "\u202e\\u202e"))
    (todo-write-answer-tests--drawn
        `( :kind question :title ,text
           :questions ((:question ,text :options ((:label ,text :description ,text)))))
      (let ((places 0) (case-fold-search nil))
        (goto-char (point-min))
        (while (search-forward "\\u202e\\u202e" nil t)
          (cl-incf places)
          (should (eq 'todo-write-answer-mark (get-text-property (match-beginning 0) 'face)))
          (should-not (eq 'todo-write-answer-mark (get-text-property (1- (point)) 'face))))
        (should (= 4 places))))))

(ert-deftest todo-write-answer-a-description-does-not-change-places-with-its-label ()
  (todo-write-answer-tests--drawn
      '(:kind question :questions ((:question "?" :options ((:label "אדום" :description "חם")))))
    (goto-char (point-min))
    (search-forward "אדום")
    ;; Emacs takes a space that is displayed so for the end of a paragraph.
    (should (eq 'space (car-safe (get-text-property (point) 'display))))))

(ert-deftest todo-write-answer-offers-more-than-nine-answers ()
  (let (given)
    (todo-write-answer-tests--drawn
        (list :kind 'question :answer (lambda (value _) (setq given value))
              :questions `((:question "Which?"
                            :options ,(cl-loop for i from 1 to 12
                                               collect (list :label (format "Answer %d." i))))))
      (setq todo-write-answer--end-seen t)
      (goto-char (point-min))
      (search-forward "9  Answer 9.\n")
      ;; The key 1 would choose the first.
      (should-not (search-forward "10  " nil t))
      (search-forward "Answer 12.")
      (goto-char (line-beginning-position))
      (forward-button 1)
      (let ((todo-write-answer-keys-counts t))
        (push-button)))
    (should (equal given '(("Which?" . "Answer 12."))))))

;;; The list of invisible characters

(ert-deftest todo-write-row-unseen-has-all-characters-without-a-form ()
  (let ((case-fold-search nil) missing)
    (cl-loop
     for char from 0 to #x10ffff
     for category = (get-char-code-property char 'general-category)
     unless (or (memq char '(?\s #x3000))
                ;; These are drawn: signs before or around a number or a text.
                (memq char '(#x600 #x601 #x602 #x603 #x604 #x605 #x6dd #x70f #x890 #x891 #x8e2
                                   #x110bd #x110cd)))
     when (and (or (memq category '(Cc Cf Zs Zl Zp))
                   (<= #xfdd0 char #xfdef)
                   (= #xfffe (logand #xfffe char)))
               (not (string-match-p todo-write-text-unseen (string char))))
     do (push char missing))
    (should-not missing)))

(ert-deftest todo-write-row-unseen-has-all-characters-whose-name-says-so ()
  (let ((case-fold-search nil) missing)
    (dolist (range '((0 . #x33ff) (#xa000 . #xabff) (#xf900 . #x18fff) (#x1b000 . #x1ffff)
                     (#xe0000 . #xe0fff)))
      (cl-loop
       for char from (car range) to (cdr range)
       for name = (get-char-code-property char 'name)
       when (and name
                 (string-match-p
                  (concat "\\b\\(?:BLANK\\|FILLER\\|JOINER\\|INVISIBLE\\|ZERO WIDTH\\|"
                          "VARIATION SELECTOR.*\\|NULL NOTEHEAD\\)\\b")
                  name)
                 ;; These are drawn.
                 (not (string-match-p "\\b\\(?:GAP\\|LINE\\|SPACE\\) FILLER\\|BLANK SYMBOL" name))
                 (not (string-match-p todo-write-text-unseen (string char))))
       do (push (cons char name) missing)))
    (should-not missing))
  ;; Unicode 15 has these, which the tables of older Emacsen lack.
  (dolist (char '(#x13441 #x13442))
    (should (string-match-p todo-write-text-unseen (string char)))))

(ert-deftest todo-write-row-plain-keeps-joiners-where-they-belong ()
  (dolist (text '("می\u200cخواهم" "ශ්\u200dරී" "👩🏽\u200d🚀" "👨\u200d👩\u200d👧" "❤\ufe0f\u200d🔥" "⚠\ufe0f"))
    (should (equal text (todo-write-text-plain text)))
    (should (equal text (todo-write-answer-tests--shown text 'text)))
    (should (equal text (substring-no-properties (todo-write-text-editable text))))
    (should-not (text-property-not-all 0 (length text) 'display nil
                                       (todo-write-text-editable text))))
  (pcase-dolist (`(,text . ,shown) '(("rm\u200c -r" . "rm\\u200c -r") ("a\u200db" . "a\\u200db")
                                     ("می\u200c" . "می\\u200c") ("\u200d🚀" . "\\u200d🚀")
                                     ("ا\u200c\u200cا" . "ا\\u200c\\u200cا")
                                     ("a\ufe0f" . "a\\ufe0f")))
    (should (equal shown (todo-write-text-plain text)))
    (should (equal shown (todo-write-answer-tests--shown text 'text)))))

(ert-deftest todo-write-row-plain-leaves-emoji-alone ()
  (dolist (text '("⚠\ufe0f Fix" "1\ufe0f\u20e3 First" "東京\u3000タワー"))
    (should (equal (todo-write-text-plain text) text))))

;;; Which request

(ert-deftest todo-write-answer-stays-where-it-is-when-it-is-drawn-again ()
  (todo-write-answer-tests--drawn
      (list :detail (mapconcat #'number-to-string (number-sequence 1 90) "\n")
            :options '((:label "Yes" :value t :kind allow)))
    (revert-buffer)
    (goto-char (point-min))
    (search-forward "50")
    (set-window-start nil (line-beginning-position))
    (let ((start (window-start)) (point (point)))
      (revert-buffer)
      (should (= start (window-start)))
      (should (= point (point))))
    (should-error (clone-buffer))))

(ert-deftest todo-write-answer-chooses-nothing-by-a-key-without-a-number ()
  (let ((given 'nothing))
    (todo-write-answer-tests--drawn
        (list :options '((:label "Here" :value here :kind other)
                         (:label "There" :value there :kind other))
              :answer (lambda (value _) (setq given value)))
      (setq todo-write-answer--end-seen t)
      (let ((todo-write-answer-keys-counts t))
        (dolist (event '(?\r ?0 ?9 (mouse-1 nil)))
          (let ((last-command-event event))
            (should-error (call-interactively #'todo-write-answer-choose) :type 'user-error)))
        (should (eq given 'nothing))
        (let ((last-command-event ?2))
          (call-interactively #'todo-write-answer-choose))
        (should (eq given 'there))))))

(ert-deftest todo-write-answer-changes-an-answer-before-all-are-given ()
  (let (given)
    (todo-write-answer-tests--drawn
        (list :kind 'question
              :questions '((:question "Which?" :options ((:label "Oak") (:label "Ash")))
                           (:question "When?" :options ((:label "Now"))))
              :answer (lambda (value _) (setq given value)))
      (cl-flet ((press (key)
                  (setq todo-write-answer--end-seen t)
                  (let ((todo-write-answer-keys-counts t) (last-command-event key))
                    (call-interactively (key-binding (string key))))))
        (should-error (press ?u) :type 'user-error)
        (press ?1)
        (should (string-search "Which?  Oak" (buffer-string)))
        (press ?u)
        (should-not (string-search "Which?  Oak" (buffer-string)))
        (press ?2)
        (press ?1)
        (should (equal given '(("Which?" . "Ash") ("When?" . "Now"))))))))

(ert-deftest todo-write-answer-a-question-is-refused-with-a-reason-if-its-agent-takes-one ()
  (dolist (text '(nil t))
    (let ((given 'nothing))
      (todo-write-answer-tests--drawn
          `( :kind question :questions ((:question "Which?" :options ((:label "Oak"))))
             :options ((:label "No answer" :value no :kind deny :text ,text))
             :answer ,(lambda (value text) (setq given (list value text))))
        (setq todo-write-answer-keys-counts t)
        (should (eq text (and (assoc "N" (todo-write-answer--choices)) t)))
        (cl-letf (((symbol-function 'read-string) (lambda (&rest _) "Neither grows here")))
          (if text
              (todo-write-answer-choose "N")
            (should (string-search "takes no message"
                                   (cadr (should-error (todo-write-answer-choose "N")
                                                       :type 'user-error)))))))
      (should (equal given (if text '(no "Neither grows here") 'nothing))))))

(ert-deftest todo-write-answer-a-slip-for-always-shows-no-other-request ()
  (with-temp-buffer
    (todo-write-answer-mode)
    (should (eq 'todo-write-answer-choose (key-binding "A")))
    (should (eq 'undefined (key-binding "a")))))

(defmacro todo-write-answer-tests--with-pauses (&rest body)
  "Run BODY in a buffer where (pass) ends a pause.
The lengths of the pauses, in seconds, are in `pauses', newest first."
  (declare (indent 0) (debug t))
  `(let (pauses passed)
     (cl-letf (((symbol-function 'run-at-time)
                (lambda (seconds _repeat function &rest args)
                  (push seconds pauses)
                  (setq passed (apply-partially #'apply function args))
                  (timer-create))))
       (with-temp-buffer
         (unwind-protect
             (cl-flet ((pass () (funcall passed) (run-hooks 'pre-command-hook)))
               ,@body)
           (todo-write-answer-keys-end))))))

(ert-deftest todo-write-answer-the-first-key-waits-longer-than-a-later-one ()
  (todo-write-answer-tests--with-pauses
    (todo-write-answer-keys-begin #'ignore)
    (run-hooks 'pre-command-hook)
    (pass)
    (should (equal '(0.7 0.7 0.5) (reverse pauses)))))

(ert-deftest todo-write-answer-keys-count-again-after-the-request-signalled-once ()
  (let ((fails t))
    (todo-write-answer-tests--with-pauses
      (todo-write-answer-keys-begin (lambda () (when fails (error "Once"))))
      (pass)
      (should-not todo-write-answer-keys-counts)
      (setq fails nil)
      (pass)
      (should todo-write-answer-keys-counts))))

(ert-deftest todo-write-answer-showing-a-request-does-not-end-the-definition-of-a-macro ()
  (with-temp-buffer
    (start-kbd-macro nil)
    (unwind-protect
        (progn (todo-write-answer-keys-begin #'ignore)
               (should defining-kbd-macro))
      (todo-write-answer-keys-end)
      (when defining-kbd-macro
        (end-kbd-macro)))))

(ert-deftest todo-write-answer-says-that-nothing-is-asked ()
  (todo-write-with-store
    (should (string-search "No agent asks"
                           (cadr (should-error (todo-write-answer) :type 'user-error))))))

(defun todo-write-answer-tests--refers (&optional thread)
  "Return what `todo-write-answer' says of THREAD when it has no request."
  (cadr (should-error (todo-write-answer thread) :type 'user-error)))

(ert-deftest todo-write-answer-says-where-an-agent-waits-that-asks-nothing-here ()
  (todo-write-with-store
    (todo-write-begin "gemini-x" :project "/garden/")
    (todo-write-set-activity "gemini-x" 'waiting "permission prompt")
    (cl-letf (((symbol-function 'todo-write-agent-pid) (lambda (_) 17))
              ((symbol-function 'todo-write-terminal-tmux-pane) (lambda (_) "work:1.0")))
      (dolist (thread '(nil "gemini-x"))
        (should (string-prefix-p
                 "garden: permission prompt; answer it there, in process 17, tmux pane work:1.0"
                 (todo-write-answer-tests--refers thread))))
      ;; Another agent's request is not an answer to this one's question.
      (todo-write-request "b" :id "1" :kind 'permission :title "ls" :answer #'ignore)
      (should (string-prefix-p "garden: permission prompt; answer it there"
                               (todo-write-answer-tests--refers "gemini-x")))
      (todo-write-withdraw "b" "1"))))

(ert-deftest todo-write-answer-promises-to-go-only-to-a-buffer-of-this-emacs ()
  (todo-write-with-store
    (todo-write-begin "x" :project "/shop/")
    (todo-write-set-activity "x" 'waiting "permission prompt")
    (cl-letf (((symbol-function 'todo-write-agent-pid) (lambda (_) 17))
              ((symbol-function 'todo-write-terminal-tmux-pane) (lambda (_) "p3:0.0")))
      (should (equal "shop: permission prompt; answer it there, in process 17, tmux pane p3:0.0"
                     (todo-write-answer-tests--refers "x")))
      (let ((header (lambda (&rest request)
                      (apply #'todo-write-request "x" :id "1" :kind 'permission :title "ls" request)
                      (save-window-excursion
                        (todo-write-answer "x")
                        (prog1 (concat header-line-format (buffer-string))
                          (kill-buffer)
                          (todo-write-withdraw "x" "1"))))))
        (should (string-search "o  goes there, or shows where it runs" (funcall header)))
        (with-temp-buffer
          (setq-local todo-write-view-thread "x")
          (should (string-suffix-p (concat "answer it there, in the buffer " (buffer-name))
                                   (todo-write-answer-tests--refers "x"))))))))

;;; Plans

(defmacro todo-write-answer-tests--with-plan (&rest body)
  "Run BODY in the buffer that asks for the approval of a plan.
`given' is the list of the answer's value and text."
  (declare (debug t))
  `(let (given)
     (todo-write-answer-tests--drawn
         (list :kind 'plan :title "Approve the plan?" :detail "# Plan\n\n1. Rake\n2. Water"
               :format 'markdown :answer (lambda (value text) (setq given (list value text)))
               :options '((:label "Approve, and ask" :value ask :kind allow :text edited)
                          (:label "Approve, and accept" :value accept :kind always :text edited)
                          (:label "Approve, and auto" :value auto :kind always :text edited)
                          (:label "Keep planning" :value no :kind deny :text t)))
       (setq todo-write-answer--end-seen t)
       (let ((todo-write-answer-keys-counts t)) ,@body))))

(defun todo-write-answer-tests--edit (text)
  "Edit the plan that is shown to TEXT."
  (funcall (todo-write-answer--edit-to todo-write-answer--request text)))

(defun todo-write-answer-tests--comment (line text &optional lines)
  "Comment TEXT on LINE of the plan, or on LINES lines from there."
  (goto-char (point-min))
  (search-forward line)
  (when lines
    (set-mark (line-beginning-position))
    (forward-line (1- lines))
    (end-of-line)
    (activate-mark))
  (let ((transient-mark-mode t))
    (cl-letf (((symbol-function 'read-string) (lambda (&rest _) text)))
      (call-interactively #'todo-write-answer-comment))))

(ert-deftest todo-write-answer-comments-on-a-plan-go-along-with-a-no ()
  (todo-write-answer-tests--with-plan
   (todo-write-answer-tests--comment "1. Rake" "Both at once" 2)
   (todo-write-answer-tests--comment "# Plan" "Not mine")
   (should (string-search "Not mine" (buffer-string)))
   (todo-write-answer-choose "u")
   (should-not (string-search "Not mine" (buffer-string)))
   ;; An approval would lose them.
   (should-error (todo-write-answer-choose "y") :type 'user-error)
   (should-not given)
   (todo-write-answer-choose "n")
   (should (equal given '(no "> 1. Rake\n> 2. Water\nBoth at once")))))

(ert-deftest todo-write-answer-comments-only-on-lines-of-the-plan ()
  (todo-write-answer-tests--with-plan
   (dolist (line '("Approve the plan?" "Keep planning"))
     (should-error (todo-write-answer-tests--comment line "Why?") :type 'user-error))
   (should-error (todo-write-answer-tests--comment "2. Water" "Why?" 4) :type 'user-error)
   (should-not (todo-write-answer-reply-comments todo-write-answer--reply))))

(ert-deftest todo-write-answer-a-plan-is-approved-as-edited-after-it-was-shown ()
  (todo-write-answer-tests--with-plan
   (todo-write-answer-edit)
   (should (equal "# Plan\n\n1. Rake\n2. Water" (buffer-string)))
   (goto-char (point-max))
   (insert "\n3. Sweep\u202e")
   (todo-write-compose-send)
   (should-not given)
   (should (eq major-mode 'todo-write-answer-mode))
   (should (string-search "3. Sweep\\u202e" (buffer-string)))
   ;; It must be read again, and what follows at once does not count.
   (should-not todo-write-answer-keys-counts)
   (setq todo-write-answer-keys-counts t)
   (should-error (todo-write-answer-choose "y") :type 'user-error)
   (setq todo-write-answer--end-seen t)
   (todo-write-answer-choose "y")
   (should (equal given '(ask "# Plan\n\n1. Rake\n2. Water\n3. Sweep\u202e")))))

(ert-deftest todo-write-answer-an-edited-plan-goes-along-with-keep-planning ()
  (todo-write-answer-tests--with-plan
   (todo-write-answer-tests--edit "# Mine")
   (setq todo-write-answer-keys-counts t)
   (todo-write-answer-choose "n")
   (should (equal given '(no "The plan as the user edited it:\n# Mine")))))

(ert-deftest todo-write-answer-a-plan-with-a-huge-line-is-not-edited ()
  (dolist (length '(10000 10001))
    (todo-write-answer-tests--drawn
        (list :kind 'plan :detail (concat "# Plan\n" (make-string length ?a))
              :options '((:label "Yes" :value t :kind allow :text edited)))
      (if (= length 10001)
          (should-error (todo-write-answer-edit) :type 'user-error)
        (todo-write-answer-edit)
        (kill-buffer)))))

(ert-deftest todo-write-answer-an-unchanged-edit-is-not-sent ()
  (todo-write-answer-tests--with-plan
   (todo-write-answer-edit)
   (todo-write-compose-send)
   (setq todo-write-answer--end-seen t todo-write-answer-keys-counts t)
   (todo-write-answer-choose "y")
   (should (equal given '(ask nil)))))

(ert-deftest todo-write-answer-what-was-written-is-there-when-the-plan-is-shown-again ()
  (todo-write-answer-tests--with-plan
   (todo-write-answer-tests--comment "1. Rake" "Both at once")
   (todo-write-answer-tests--edit "# Mine\n\n1. Rake")
   (let ((request todo-write-answer--request))
     (dolist (kill '(nil t))
       (if kill (kill-buffer) (todo-write-answer-choose "q"))
       (todo-write-answer)
       (should (eq request todo-write-answer--request))
       (should (string-search "# Mine" (buffer-string)))
       (should (equal (todo-write-answer-reply-comments todo-write-answer--reply)
                      '(("1. Rake" . "Both at once"))))))))

(ert-deftest todo-write-answer-a-request-that-is-withdrawn-leaves-nothing ()
  (dolist (leave '(nil another kill fail))
    (todo-write-answer-tests--with-plan
     (let ((id (plist-get todo-write-answer--request :id)))
       (todo-write-answer-tests--comment "1. Rake" "Both at once")
       (todo-write-request "b" :id "other" :kind 'permission :title "ls"
                           :options '((:label "Yes" :value t :kind allow)) :answer #'ignore)
       (pcase leave
         ('another (todo-write-answer "b"))
         ('kill (kill-buffer))
         ('fail (setf (plist-get todo-write-answer--request :answer) #'error)
                (should-error (todo-write-answer-choose "n"))))
       (todo-write-withdraw "a" id)
       (todo-write-withdraw "b" "other")
       (todo-write-test-wait (lambda () (not (get-buffer todo-write-answer-buffer))))
       (should-not (memq #'todo-write-answer--on-event todo-write-events-functions))))))

(ert-deftest todo-write-answer-an-edited-plan-keeps-its-buffer-when-another-is-edited ()
  (todo-write-answer-tests--with-plan
   (todo-write-answer-edit)
   (insert "Mine: ")
   (let ((mine (current-buffer)))
     (setq todo-write-compose--about '(:id "another"))
     (set-buffer todo-write-answer-buffer)
     (todo-write-answer-edit)
     (should (string-prefix-p "# Plan" (buffer-string)))
     (kill-buffer)
     (with-current-buffer mine
       (should (string-prefix-p "Mine: # Plan" (buffer-string)))
       (kill-buffer)))))

(ert-deftest todo-write-answer-nothing-but-a-plan-takes-comments-and-edits ()
  (todo-write-answer-tests--drawn
      (list :detail "ls" :format 'shell
            :options '((:label "Yes" :value t :kind allow)
                       (:label "No" :value nil :kind deny :text t)))
    (should-error (todo-write-answer-tests--comment "ls" "Why?") :type 'user-error)
    (should-error (todo-write-answer-edit) :type 'user-error)))

(provide 'todo-write-answer-tests)
;;; todo-write-answer-tests.el ends here
