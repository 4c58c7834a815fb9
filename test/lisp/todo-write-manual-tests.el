;;; todo-write-manual-tests.el --- Tests of the manual -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests compare the manual, doc/todo-write.org, with the definitions of the
;; package in both directions: names, defaults, keys, arguments and links.  They
;; also run its examples.

;;; Code:

(require 'help-fns)
(require 'org)
(require 'todo-write-test-helper)

(defvar my-waiting)
(defvar tab-bar-format)

(defconst todo-write-manual-file
  (expand-file-name "doc/todo-write.org" (getenv "TODO_WRITE_ROOT"))
  "The manual.")

(defconst todo-write-manual-others '("efrit-do-clear-todos")
  "Names in the manual that look like ours and belong to other packages.")

(defmacro todo-write-manual-with (&rest body)
  "Evaluate BODY in a buffer with the manual, with point at its beginning."
  (declare (indent 0) (debug t))
  `(with-temp-buffer
     (insert-file-contents todo-write-manual-file)
     (goto-char (point-min))
     ,@body))

(defun todo-write-manual-matches (regexp &optional group)
  "Return all matches of GROUP of REGEXP in the current buffer, a list."
  (save-excursion
    (goto-char (point-min))
    (let ((case-fold-search nil))
      (cl-loop while (re-search-forward regexp nil t)
               collect (match-string-no-properties (or group 0))))))

(defun todo-write-manual-marked (text)
  "Return the parts of TEXT between = or ~, a list of strings."
  (with-temp-buffer
    (insert text)
    (goto-char (point-min))
    (cl-loop while (re-search-forward "\\([=~]\\)\\(\\S-.*?\\)\\1\\(?:,? \\|$\\)" nil t)
             collect (match-string 2))))

;;; Definitions of the package

(defconst todo-write-manual-libraries
  (cl-loop for folder in (seq-uniq (mapcar (lambda (library)
                                             (file-name-directory (locate-library library)))
                                           '("todo-write" "efrit-do")))
           nconc (cl-loop for file in (directory-files folder nil "\\.el\\'")
                          unless (string-suffix-p "-autoloads.el" file)
                          collect (file-name-sans-extension file)))
  "The names of the packages' Lisp files, without folder and extension.")

(mapc (lambda (library) (require (intern library))) todo-write-manual-libraries)

(defun todo-write-manual-symbols (predicate &optional type)
  "Return the names of our public symbols for which PREDICATE returns non-nil.
TYPE is as for `symbol-file'."
  (let (names)
    (mapatoms (lambda (symbol)
                (let ((name (symbol-name symbol)))
                  ;; Searching the load history is slow, so it comes last.
                  (when (and (string-match-p "\\`\\(?:todo-write\\|efrit-do\\)" name)
                             (not (string-match-p "--" name))
                             (not (get symbol 'byte-obsolete-info))
                             (funcall predicate symbol)
                             (member (file-name-base (or (symbol-file symbol type) ""))
                                     todo-write-manual-libraries))
                    (push name names)))))
    (sort names #'string<)))

(defun todo-write-manual-missing (names)
  "Return those of NAMES that the manual does not mention."
  (todo-write-manual-with
    (seq-remove (lambda (name)
                  (goto-char (point-min))
                  (re-search-forward (format "\\(?:[^a-z-]\\|^\\)%s\\(?:[^a-z-]\\|$\\)"
                                             (regexp-quote name))
                                     nil t))
                names)))

(ert-deftest todo-write-every-option-says-its-version-and-has-a-group ()
  (should-not
   (seq-remove (lambda (name)
                 (let ((option (intern name)))
                   (and (get option 'custom-package-version)
                        (seq-some (lambda (group) (assq option (get group 'custom-group)))
                                  '(todo-write efrit-do)))))
               (todo-write-manual-symbols
                (lambda (symbol)
                  ;; Modes and their hooks are options of their own kind.
                  (and (get symbol 'standard-value) (custom-variable-p symbol)
                       (not (string-match-p "-mode\\(?:-hook\\)?\\'" (symbol-name symbol)))))
                'defvar))))

(ert-deftest todo-write-customize-shows-all-options-of-a-group-before-their-files-are-loaded ()
  ;; All of them are loaded here.
  (dolist (group '(todo-write todo-write-faces efrit-do))
    (ert-info ((symbol-name group))
      (should-not
       (seq-difference
        (mapcar #'car (get group 'custom-group))
        (todo-write-test-child
         '(require 'cus-edit)
         ;; The autoloads have this.
         '(require 'efrit-do-tools)
         `(progn
            ;; Displaying a group does this.
            (custom-load-symbol ',group)
            (prin1 (mapcar #'car (get ',group 'custom-group))))))))))

(defun todo-write-manual-accessors ()
  "Return the names of what `cl-defstruct' defined for structures without two dashes."
  (cl-loop for structure being the symbols
           when (and (cl-find-class structure)
                     (string-match-p "\\`\\(?:todo-write\\|efrit-do\\)" (symbol-name structure)))
           nconc (cl-loop for (slot) in (cons '(p) (cl-struct-slot-info structure))
                          collect (format "%s-%s" structure slot))))

(defun todo-write-manual-inner-p (name &optional type)
  "Return non-nil if the function NAME is for files of the package only.
Those have the name of their file before their own, and no autoload.
TYPE is `defun' by default, or `defvar'."
  (let* ((file (symbol-file (intern name) (or type 'defun)))
         (library (file-name-base (or file ""))))
    (and (not (member library '("todo-write" "efrit-do")))
         (string-prefix-p (concat library "-") name)
         (not (get (intern name) 'todo-write-manual-autoload)))))

(defun todo-write-manual-mark-autoloads ()
  "Give the functions that have an autoload a property."
  (dolist (library todo-write-manual-libraries)
    (with-temp-buffer
      (insert-file-contents (locate-library (concat library ".el")))
      (while (re-search-forward "^;;;###autoload\n(\\S-+ '?\\(\\S-+\\)" nil t)
        (put (intern (match-string 1)) 'todo-write-manual-autoload t)))))

(ert-deftest todo-write-manual-has-every-public-name ()
  (todo-write-manual-mark-autoloads)
  (let ((accessors (todo-write-manual-accessors)))
    (pcase-dolist
        (`(,what ,type ,example ,predicate)
         `(("commands" defun "todo-write-show"
            ,(lambda (symbol)
               (and (commandp symbol)
                    (not (and (boundp symbol) (keymapp (symbol-value symbol)))))))
           ("options" defvar "todo-write-directory"
            ,(lambda (symbol) (get symbol 'custom-type)))
           ("hooks" nil "todo-write-change-functions"
            ,(lambda (symbol)
               (and (boundp symbol)
                    (string-match-p "-\\(?:hook\\|functions?\\)\\'" (symbol-name symbol))
                    ;; Hooks of modes are for users.
                    (or (string-suffix-p "-mode-hook" (symbol-name symbol))
                        (not (todo-write-manual-inner-p (symbol-name symbol) 'defvar))))))
           ("faces" defface "todo-write-title" ,#'facep)
           ("functions" defun "todo-write-agents"
            ,(lambda (symbol)
               (and (functionp symbol)
                    (not (member (symbol-name symbol) accessors))
                    (not (todo-write-manual-inner-p (symbol-name symbol))))))))
      (ert-info (what)
        (let ((names (todo-write-manual-symbols predicate type)))
          (should (member example names))
          (should-not (todo-write-manual-missing names))))))
  (should-not (todo-write-manual-missing
               (cl-loop for symbol being the symbols
                        when (and (get symbol 'error-conditions)
                                  (string-match-p "\\`\\(?:todo-write\\|efrit-do\\)-[^-]"
                                                  (symbol-name symbol)))
                        collect (symbol-name symbol)))))

;;; Names in the manual

(defun todo-write-manual-known-p (name)
  "Return non-nil if NAME exists."
  (let ((symbol (intern name)))
    (or (fboundp symbol) (boundp symbol) (facep symbol) (featurep symbol)
        (get symbol 'error-conditions)
        (member name todo-write-manual-libraries)
        (member name todo-write-manual-others)
        ;; The hook of a mode is unbound until the mode runs.
        (and (string-suffix-p "-hook" name) (fboundp (intern (string-remove-suffix "-hook" name))))
        ;; The build makes this file.
        (equal name "todo-write-autoloads"))))

(ert-deftest todo-write-manual-names-only-what-exists ()
  (todo-write-manual-with
    (let ((names (todo-write-manual-matches
                  "\\_<\\(?:todo-write\\|efrit-do\\)-[a-z0-9-]*[a-z0-9]\\_>")))
      (should (> (length names) 200))
      (should-not (seq-remove #'todo-write-manual-known-p (delete-dups names))))))

(ert-deftest todo-write-manual-has-the-right-defaults-of-options ()
  (let ((told 0))
    (todo-write-manual-with
      (while (re-search-forward "^- ~\\([^~]+\\)~ :: =\\([^=\n]+\\)=\\. " nil t)
        (let ((symbol (intern (match-string 1))) (default (match-string 2)))
          (cl-incf told)
          (when (get symbol 'standard-value)
            (should (equal (list symbol default)
                           (list symbol
                                 (prin1-to-string
                                  (eval (car (get symbol 'standard-value)) t)))))))))
    (should (> told 20))))

(ert-deftest todo-write-manual-has-the-right-arguments-of-functions ()
  (let ((told 0))
    (todo-write-manual-with
      (dolist (call (todo-write-manual-matches "~(\\(\\(?:todo-write\\|efrit-do\\)[^)]*\\))~" 1))
        (let* ((name (car (split-string call)))
               (function (intern name)))
          ;; A call with a quote or a string is an example.
          (when (let ((case-fold-search nil))
                  (string-match-p "\\`[^ ]+\\(?: &?[A-Za-z-]+\\)*\\'" call))
            (cl-incf told)
            (should (fboundp function))
            (unless (or (= (length (split-string call)) 1) (string-suffix-p "-mode" name))
              (should (equal (format "(%s)" call) (todo-write-manual-usage function))))))))
    (should (> told 30))))

(defun todo-write-manual-usage (function)
  "Return the usage of FUNCTION, as in (todo-write-items THREAD &optional REVISION)."
  (let ((usage (car (help-split-fundoc (documentation function t) function)))
        (case-fold-search nil))
    (replace-regexp-in-string
     "[ (]fn\\b" (lambda (match) (concat (substring match 0 1) (symbol-name function)))
     (or usage (prin1-to-string
                (help--make-usage function (help-function-arglist function t)))))))

;;; Keys

(defun todo-write-manual-rows (heading)
  "Return the rows below HEADING in the table of keys, as conses (KEY . COMMAND)."
  (todo-write-manual-with
    (re-search-forward (format "^| \\*.*%s.*\n" (regexp-quote heading)))
    (let (rows)
      (while (looking-at "| \\([=~].*?\\) | \\(.*?\\) | ")
        (let* ((cells (list (match-string 1) (match-string 2)))
               (keys (todo-write-manual-marked (nth 0 cells)))
               (commands (todo-write-manual-marked (nth 1 cells))))
          (when (= (length commands) 1)
            (setq commands (make-list (length keys) (car commands))))
          (should (= (length keys) (length commands)))
          (setq rows (append rows (cl-mapcar #'cons keys commands))))
        (forward-line))
      rows)))

(defun todo-write-manual-bindings (map)
  "Return the bindings of MAP itself, as a list of conses (KEY . COMMAND)."
  (let (bindings)
    (cl-labels ((walk (map prefix)
                  (map-keymap-internal
                   (lambda (event definition)
                     (let ((keys (vconcat prefix (vector event))))
                       (cond ((memq event '(menu-bar remap follow-link)))
                             ((keymapp definition) (walk definition keys))
                             ((and definition (symbolp definition))
                              (push (cons (key-description keys) (symbol-name definition))
                                    bindings)))))
                   map)))
      (walk map []))
    (mapcar (lambda (binding)
              (cons (replace-regexp-in-string
                     "\\`ESC " "M-" (car binding))
                    (cdr binding)))
            bindings)))

(ert-deftest todo-write-manual-has-the-right-keys-of-each-buffer ()
  (let ((modes (mapcan #'todo-write-manual-marked
                       (todo-write-manual-with
                         (todo-write-manual-matches "^| \\*.*\\* | \\(.*\\) | |$" 1)))))
    (should (equal (sort (mapcar (lambda (mode) (concat mode "-map")) modes) #'string<)
                   (todo-write-manual-symbols
                    (lambda (symbol)
                      (and (boundp symbol) (keymapp (symbol-value symbol))
                           (string-suffix-p "-mode-map" (symbol-name symbol)))))))
    (dolist (name modes)
      (let* ((own (todo-write-manual-rows (format "~%s~" name)))
             (everywhere (todo-write-manual-rows "All buffers"))
             (common (seq-remove (lambda (row) (assoc (car row) own)) everywhere))
             (menu (todo-write-manual--menu (intern name)))
             (bindings (todo-write-manual-bindings (symbol-value (intern (concat name "-map"))))))
        (should-not (seq-difference (append menu bindings) (append own common)))
        (should-not (seq-intersection own everywhere))
        (with-temp-buffer
          (funcall (intern name))
          (pcase-dolist (`(,key . ,command) (append own (if (rassoc "todo-write-switch" menu) common)))
            (should (equal (list name key command)
                           (list name key (if (string-prefix-p "? " key)
                                              (cdr (assoc key menu))
                                            (symbol-name (key-binding (kbd key)))))))))))))

(defun todo-write-manual--menu (mode)
  "Return the menu of MODE as conses (KEY . COMMAND), as in the table."
  (mapcar (pcase-lambda (`(,key ,_ ,command . ,menu))
            (cons (concat (when menu "? ") key) (symbol-name command)))
          (mapcan (lambda (group) (copy-sequence (cdr group))) (get mode 'todo-write-menu))))

(defun todo-write-manual--offered ()
  "Return the commands that `M-x' offers outside our buffers, all files loaded."
  (with-temp-buffer
    (cl-loop with here = (current-buffer)
             for name in (all-completions "todo-write-" obarray #'commandp)
             when (command-completion-default-include-p (intern name) here)
             ;; Tests and the transients of the menu have commands, too.
             unless (string-match-p "--\\|-tests?-\\|-transient\\'" name)
             collect name)))

(ert-deftest todo-write-commands-offered-everywhere-are-about-twenty ()
  (let ((offered (todo-write-manual--offered)))
    (should (member "todo-write-show" offered))
    (should (<= (length offered) 21))
    ;; Before their files are loaded, no others are offered.
    (todo-write-manual-mark-autoloads)
    (should-not
     (cl-loop for name in (all-completions "todo-write-" obarray #'commandp)
              when (get (intern name) 'todo-write-manual-autoload)
              unless (member name offered)
              collect name))
    (should-not
     (seq-difference
      (todo-write-test-child
       '(require 'todo-write)
       '(prin1 (seq-filter (lambda (name)
                             (command-completion-default-include-p (intern name)
                                                                   (current-buffer)))
                           (all-completions "todo-write-" obarray #'commandp))))
      offered))))

;;; Links

(ert-deftest todo-write-manual-links-of-the-front-page-lead-somewhere ()
  (let* ((root (getenv "TODO_WRITE_ROOT"))
         (ids (todo-write-manual-with
                (todo-write-manual-matches "^:CUSTOM_ID: \\(.*\\)$" 1)))
         (links (with-temp-buffer
                  (insert-file-contents (expand-file-name "README.org" root))
                  (todo-write-manual-matches "\\[\\[file:\\([^]]+\\)\\]" 1))))
    (should links)
    (dolist (link links)
      (pcase-let ((`(,file ,id) (split-string link "::#")))
        (should (file-exists-p (expand-file-name file root)))
        (when id
          (should (member id ids)))))))

(ert-deftest todo-write-manual-links-lead-somewhere ()
  (todo-write-manual-with
    (let ((files (todo-write-manual-matches "\\[\\[file:\\([^]]+\\)\\]" 1))
          (places (todo-write-manual-matches "\\[\\[#\\([^]]+\\)\\]" 1))
          (ids (todo-write-manual-matches "^:CUSTOM_ID: \\(.*\\)$" 1))
          (titles (todo-write-manual-matches
                   "^\\*+ \\(.*\\)\n:PROPERTIES:\n:CUSTOM_ID:" 1)))
      (should files)
      (dolist (file files)
        (should (file-exists-p
                 (expand-file-name file (file-name-directory todo-write-manual-file)))))
      (should places)
      (should-not (seq-difference places ids))
      ;; Web sites derive the anchors from the headings.
      (should (equal ids (mapcar (lambda (title)
                                   (string-replace
                                    " " "-" (replace-regexp-in-string
                                             "[^a-z0-9 -]" "" (downcase title))))
                                 titles))))))

;;; Examples

(defun todo-write-manual-block (name)
  "Return the text of the manual's source block NAME."
  (todo-write-manual-with
    (re-search-forward (format "^#\\+name: %s\n#\\+begin_src .*\n" (regexp-quote name)))
    (buffer-substring-no-properties
     (point) (progn (re-search-forward "^#\\+end_src") (match-beginning 0)))))

(defun todo-write-manual-evaluate (text)
  "Evaluate the Lisp in TEXT; return the value of the last form but one.
The example ends by showing a buffer."
  (let ((forms (read (format "(%s)" text))))
    (mapcar (lambda (form) (eval form t)) forms)))

(ert-deftest todo-write-manual-example-of-a-host-works ()
  (todo-write-with-store
    (todo-write-manual-evaluate (todo-write-manual-block "host"))
    (should (equal (alist-get 'name (aref (alist-get 'tools (my-host-request "chat-1")) 0))
                   "todo_write"))
    (let* ((text (todo-write-manual-block "host-played"))
           (values (todo-write-manual-evaluate text)))
      (should (string-match ";; => \\(\".*\"\\)" text))
      (should (equal (nth 1 values) (read (match-string 1 text))))
      (should (equal (todo-write-test-contents "chat-1") '("Run the tests" "Fix what fails")))
      (should (eq (todo-write-state "chat-1") 'paused))
      (should-not (todo-write-activity "chat-1"))
      (my-host-stop "chat-1" "overloaded" t)
      (should (equal (todo-write-activity "chat-1") '(failed . "overloaded")))
      (should (with-current-buffer (nth 3 values)
                (string-search "Running the tests" (buffer-string))))
      (should (string-search "text" (my-host-call "chat-1" "todo_write" "{\"text\": 1}")))
      (should (equal (my-host-call "chat-1" "grep" "{}") "There is no tool grep"))
      (kill-buffer (nth 3 values)))))

(defun todo-write-manual-timeless (value)
  "Return VALUE, decoded JSON, with all times 0."
  (pcase value
    ((pred vectorp) (vconcat (mapcar #'todo-write-manual-timeless value)))
    (`((,_ . ,_) . ,_)
     (sort (mapcar (lambda (pair)
                     (cons (car pair)
                           (if (eq (car pair) 'timestamp) 0
                             (todo-write-manual-timeless (cdr pair)))))
                   value)
           (lambda (a b) (string< (car a) (car b)))))
    (_ value)))

(ert-deftest todo-write-manual-shows-an-observation-as-it-comes ()
  (todo-write-with-store
    (todo-write-manual-evaluate (todo-write-manual-block "host"))
    (kill-buffer (car (last (todo-write-manual-evaluate
                             (todo-write-manual-block "host-played")))))
    (let* ((shown (json-parse-string (todo-write-manual-block "plan-update")
                                     :object-type 'alist))
           (changes (alist-get 'changes (alist-get 'content shown)))
           heard)
      ;; The block has "the same change" in place of a copy.
      (should (equal (alist-get 'statusChanged changes) ["the same change"]))
      (setf (alist-get 'statusChanged changes) (alist-get 'changes changes))
      (todo-write-subscribe (lambda (event) (setq heard event)) :type "PLAN_UPDATE")
      (my-host-call "chat-1" "todo_write"
                    (json-serialize
                     `((todos . ,(alist-get 'todoList (alist-get 'content shown))))))
      (should (equal (todo-write-manual-timeless shown)
                     (todo-write-manual-timeless
                      (json-parse-string (todo-write-to-json heard)
                                         :object-type 'alist)))))))

(ert-deftest todo-write-manual-lists-every-type-of-observation ()
  (todo-write-with-store
    (let ((types (todo-write-manual-with
                   (re-search-forward "^\\*\\* Types\n")
                   (narrow-to-region (point) (re-search-forward "\n\n"))
                   (todo-write-manual-matches "=\\([A-Z_]+\\)=" 1))))
      (should (= (length types) 20))
      (dolist (type types)
        (unless (member type '("PLAN_UPDATE" "ITEM_STATUS_CHANGE"))
          (should (equal (plist-get (todo-write-observe "types" type (list :text "x")) :type) type)))))))

(ert-deftest todo-write-manual-tells-how-to-hear-of-agents ()
  (let (forms rung tab-bar-format my-waiting)
    (todo-write-manual-with
      (re-search-forward "^(defun my-hear-agent ")
      (re-search-backward "^#\\+begin_src emacs-lisp\n")
      (let ((start (match-end 0)))
        (re-search-forward "^#\\+end_src")
        (setq forms (read (format "(%s)" (buffer-substring start (match-beginning 0)))))))
    (todo-write-with-store
      (cl-letf (((symbol-function 'ding) (lambda (&rest _) (push t rung))))
        (unwind-protect
            (cl-flet ((shown () (string-trim (nth 2 (car (funcall 'my-tab-bar))))))
              (mapc (lambda (form) (eval form t)) forms)
              (should (memq 'my-tab-bar tab-bar-format))
              (todo-write-set-activity "a" 'working)
              (should-not rung)
              (todo-write-set-activity "a" 'waiting "permission to run npm test")
              (should (= 1 (length rung)))
              (should (equal (shown) "1 waiting"))
              (todo-write-set-activity "a" 'waiting "permission to read")
              (todo-write-set-activity "b" 'waiting)
              (should (= 2 (length rung)))
              (should (equal (shown) "2 waiting"))
              (todo-write-set-activity "a" 'working)
              (todo-write-forget "b")
              (should (= 2 (length rung)))
              (should (equal (shown) "")))
          (remove-hook 'todo-write-agent-functions 'my-hear-agent))))))

(ert-deftest todo-write-manual-example-of-the-front-page-works ()
  (todo-write-with-store
    (with-temp-buffer
      (insert-file-contents (expand-file-name "README.org" (getenv "TODO_WRITE_ROOT")))
      (re-search-forward "^\\* From Lisp\n#\\+begin_src emacs-lisp\n")
      (let ((text (buffer-substring (point) (progn (re-search-forward "^#\\+end_src")
                                                   (match-beginning 0))))
            heard)
        (cl-letf (((symbol-function 'my-show-changes) (lambda (event) (push event heard)))
                  ((symbol-function 'my-show-thought) (lambda (event) (push event heard))))
          (let ((value (car (last (todo-write-manual-evaluate text)))))
            (should (string-match "; => \\(.*\\)" text))
            (should (equal value (read (match-string 1 text)))))
          (todo-write-stream "chat" :type "TOKEN" :data "Which ones?" :thinking t)
          (todo-write-stream "chat" :type "END"))
        (should (equal (mapcar (lambda (event) (plist-get event :type)) heard)
                       '("THOUGHTS" "PLAN_UPDATE")))))))

(ert-deftest todo-write-manual-examples-evaluate ()
  (let ((blocks 0))
    (todo-write-manual-with
      (while (re-search-forward "^#\\+begin_src emacs-lisp\\(.*\\)\n" nil t)
        (let ((start (point)))
          (re-search-forward "^#\\+end_src")
          (cl-incf blocks)
          ;; Parentheses are balanced, and our functions exist.
          (dolist (form (read (format "(%s)" (buffer-substring start (match-beginning 0)))))
            (should (consp form))
            (when (string-match-p "\\`\\(?:todo-write\\|efrit-do\\)"
                                  (symbol-name (car form)))
              (should (fboundp (car form))))))))
    (should (> blocks 9))))

(provide 'todo-write-manual-tests)
;;; todo-write-manual-tests.el ends here
