;;; screenshot.el --- Scenes for bin/screenshot  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Each scene is a function that sets up a graphical frame as large as the
;; screen.  `screenshot' plays a scene and saves an image of the screen.
;; `screenshot-film' plays the demo while bin/screenshot takes pictures of it.

;;; Code:

(require 'todo-write-module)
;; There is no user to answer a question.
(setq todo-write-module-source nil)
(require 'todo-write)
(require 'todo-write-view)
(require 'todo-write-attention)
(require 'todo-write-history)
(require 'todo-write-list)
(require 'todo-write-mode-line)
(require 'todo-write-calls)
(require 'todo-write-review)
(require 'efrit-do-replay)

(defconst screenshot-folder (file-name-directory (or load-file-name buffer-file-name))
  "The folder of this file.")

(defun screenshot-write (&rest entries)
  "Write ENTRIES, lists (CONTENT ACTIVE-FORM STATUS), for the scenes' thread."
  (todo-write "login"
              (list :todos
                    (vconcat (mapcar (pcase-lambda (`(,content ,active ,status))
                                       (list :content content :activeForm active
                                             :status (symbol-name status)))
                                     entries)))))

(defvar screenshot-now (floor (* 1000 (float-time)))
  "The reference for stretching other times, in milliseconds since the epoch.")

(defun screenshot-wait (seconds)
  "Wait for SECONDS; the scenes show a hundred times as many."
  (sleep-for seconds)
  (setq screenshot-now (floor (* 1000 (float-time)))))

(defun screenshot-stretch (time)
  "Return TIME, in milliseconds, a hundred times as long ago."
  (and time (- screenshot-now (* 100 (- screenshot-now time)))))

(defun screenshot-stretch-times (times)
  "Return TIMES, as from `todo-write-times' with or without an id, stretched."
  (if (consp (car times))
      (dolist (item times times)
        (screenshot-stretch-times (cdr item)))
    (screenshot-stretch-plist times)))

(defun screenshot-stretch-plist (times)
  "Return TIMES, the plist of one item, stretched."
  (dolist (key '(:created :started :completed))
    (plist-put times key (screenshot-stretch (plist-get times key))))
  (plist-put times :intervals
             (mapcar (pcase-lambda (`(,from . ,to))
                       (cons (screenshot-stretch from) (screenshot-stretch to)))
                     (plist-get times :intervals)))
  (plist-put times :spent (* 100 (or (plist-get times :spent) 0))))

(defun screenshot-stretch-turns (turns)
  "Return TURNS, as from `todo-write-story-headings', with stretched times."
  (dolist (heading (cdr turns) turns)
    (dolist (key '(:began :ended))
      (plist-put heading key (screenshot-stretch (plist-get heading key))))))

(defun screenshot-stretch-stamps (things)
  "Return THINGS, plists or conses of one, with their timestamps stretched."
  (seq-do (lambda (thing)
            (let ((plist (if (keywordp (car thing)) thing (car thing))))
              (plist-put plist :timestamp (screenshot-stretch (plist-get plist :timestamp)))))
          things)
  things)

(defun screenshot-think (text)
  "Let the agent think TEXT."
  (todo-write-stream "login" :type "TOKEN" :data text :thinking t)
  (todo-write-stream "login" :type "END"))

(defun screenshot-tool (name input result &optional failed)
  "Let the agent call the tool NAME with INPUT.
RESULT is the tool's output, an error if FAILED is non-nil."
  (todo-write-observe "login" "TOOL_CALL" (list :id name :name name :input input))
  (screenshot-wait 0.08)
  (todo-write-observe "login" "TOOL_EXECUTION"
                      (list :id name :name name :content result
                            :isError (if failed t :false))
                      :durationMs 1200))

(defun screenshot-begin (title)
  "Let an agent begin to work on TITLE in a copy of a small project."
  (setq default-directory (efrit-do-replay-folder
                           (expand-file-name "../../efrit-do/demo/login" screenshot-folder)))
  (todo-write-begin "login" :project default-directory :agent "claude")
  (todo-write-observe "login" "TITLE" title))

(defun screenshot-ask (prompt)
  "Let the user ask the agent PROMPT."
  (todo-write-observe "login" "INTENT" prompt)
  (todo-write-set-activity "login" 'working))

(defun screenshot-change (path old new)
  "Let the agent replace the text OLD in the file PATH by NEW."
  (let ((id (format "%d" (random)))
        (input (list :file_path (expand-file-name path))))
    (todo-write-calls-begin "login" id "Edit" input)
    (todo-write-calls-end "login" id "Edit" (efrit-do-replay-edit-file path old new) 'ok)))

(defun screenshot-play ()
  "Let an agent plan and work on a login function."
  (todo-write-observe "login" "TITLE" "Refactor the login function")
  (screenshot-write '("Read the login function and its callers"
                      "Reading the login function and its callers" in_progress)
                    '("Convert callbacks to async/await"
                      "Converting callbacks to async/await" pending)
                    '("Run the test suite" "Running the test suite" pending)
                    '("Update the changelog" "Updating the changelog" pending))
  (screenshot-wait 0.42)
  (screenshot-write '("Read the login function and its callers"
                      "Reading the login function and its callers" completed)
                    '("Write a test for a wrong password"
                      "Writing a test for a wrong password" in_progress)
                    '("Convert callbacks to async/await"
                      "Converting callbacks to async/await" pending)
                    '("Run the test suite" "Running the test suite" pending)
                    '("Update the changelog" "Updating the changelog" pending))
  (screenshot-wait 0.96)
  (screenshot-write '("Read the login function and its callers"
                      "Reading the login function and its callers" completed)
                    '("Write a test for a wrong password"
                      "Writing a test for a wrong password" completed)
                    '("Convert callbacks to async/await"
                      "Converting callbacks to async/await" in_progress)
                    '("Handle errors in one place"
                      "Handling errors in one place" pending)
                    '("Run the test suite" "Running the test suite" pending)
                    '("Update the changelog" "Updating the changelog" pending))
  (screenshot-wait 0.30)
  (screenshot-think "The callers still pass a callback, so both forms must work until \
the last of them is changed.")
  (screenshot-wait 0.12)
  (screenshot-tool "shell_exec" "npm test -- login" "2 of 14 tests failed: wrong password" t)
  (screenshot-wait 0.10)
  (screenshot-tool "read_file" "src/sessions.js" "export async function open(user) { …")
  (screenshot-wait 0.10))

(defun screenshot-code ()
  "Show the code that the agent works on."
  (switch-to-buffer (get-buffer-create "login.js"))
  (insert "// Checks a user's password and opens a session.\n"
          "function login(name, password, done) {\n"
          "  users.find(name, (error, user) => {\n"
          "    if (error || !user) return done(new LoginError(name));\n"
          "    user.check(password, (error, ok) =>\n"
          "      ok ? sessions.open(user, done) : done(new LoginError(name)));\n"
          "  });\n"
          "}\n")
  (js-mode)
  (font-lock-ensure)
  (set-buffer-modified-p nil)
  (goto-char (point-min)))

(defun screenshot-scene-plan ()
  "The plan below the code, the mode line on."
  (todo-write-mode-line-mode)
  (screenshot-play)
  (screenshot-code)
  (split-window-below 10)
  (set-window-buffer (next-window) (get-buffer-create todo-write-view-buffer-name))
  (todo-write-show "login"))

(defun screenshot-scene-row ()
  "An open row, with a subagent at work and a dropped task."
  (screenshot-play)
  (todo-write-edit "login" 'rename (plist-get (screenshot-current) :id)
                   "Convert all callbacks to async/await")
  (screenshot-wait 0.15)
  (screenshot-write '("Read the login function and its callers"
                      "Reading the login function and its callers" completed)
                    '("Write a test for a wrong password"
                      "Writing a test for a wrong password" completed)
                    '("Convert all callbacks to async/await"
                      "Converting callbacks to async/await" in_progress)
                    '("Handle errors in one place"
                      "Handling errors in one place" pending)
                    '("Run the test suite" "Running the test suite" pending))
  (todo-write-begin "search" :parent "login" :parent-item (plist-get (screenshot-current) :id))
  (todo-write-observe "search" "TITLE" "Find what still takes a callback")
  (todo-write "search" '(:todos [(:content "Search src/" :status "completed" :activeForm "x")
                                 (:content "Search test/" :status "in_progress"
                                  :activeForm "Searching test/")
                                 (:content "Report" :status "pending" :activeForm "x")]))
  (screenshot-wait 0.06)
  (switch-to-buffer (todo-write-show "login"))
  (delete-other-windows)
  (todo-write-view-goto (plist-get (screenshot-current) :id))
  (todo-write-buffer-visit))

(defun screenshot-current ()
  "Return the task in progress."
  (plist-get (todo-write-summary "login") :current))

(defun screenshot-scene-timeline ()
  "The intervals of all tasks, including a dropped one."
  (screenshot-play)
  (screenshot-write '("Read the login function and its callers"
                      "Reading the login function and its callers" completed)
                    '("Convert callbacks to async/await"
                      "Converting callbacks to async/await" completed)
                    '("Keep the old login function too"
                      "Keeping the old login function" in_progress)
                    '("Write a test for a wrong password"
                      "Writing a test for a wrong password" pending))
  (screenshot-wait 0.25)
  (screenshot-write '("Read the login function and its callers"
                      "Reading the login function and its callers" completed)
                    '("Write a test for a wrong password"
                      "Writing a test for a wrong password" in_progress)
                    '("Convert callbacks to async/await"
                      "Converting callbacks to async/await" completed)
                    '("Handle errors in one place"
                      "Handling errors in one place" pending)
                    '("Run the test suite" "Running the test suite" pending))
  (screenshot-wait 0.35)
  (screenshot-write '("Read the login function and its callers"
                      "Reading the login function and its callers" completed)
                    '("Write a test for a wrong password"
                      "Writing a test for a wrong password" completed)
                    '("Convert callbacks to async/await"
                      "Converting callbacks to async/await" completed)
                    '("Handle errors in one place"
                      "Handling errors in one place" in_progress)
                    '("Run the test suite" "Running the test suite" pending))
  (screenshot-wait 0.5)
  (todo-write-timeline "login")
  (delete-other-windows))

(defun screenshot-agent (key project title count done activity &optional why minutes)
  "Begin the agent KEY, which has completed DONE of COUNT tasks in PROJECT.
TITLE is its title.  ACTIVITY began MINUTES ago for the reason WHY; it is
`ended' after a turn, and `silent' if the host reports nothing."
  (todo-write-begin key :project (concat "~/" project "/")
                    :agent (and (string-prefix-p "acp:" key) "gemini"))
  (todo-write-observe key "TITLE" title)
  (unless (eq activity 'silent)
    (todo-write-set-activity key 'working))
  (todo-write key (list :todos
                        (vconcat (cl-loop for n below count
                                          collect (list :content (format "Step %d" n)
                                                        :status (cond ((< n done) "completed")
                                                                      ((= n done) "in_progress")
                                                                      (t "pending"))
                                                        :activeForm "Comparing the two drafts")))))
  (let ((since (- (truncate (* 1000 (float-time))) (* 60000 (or minutes 0)))))
    (pcase activity
      ('silent)
      ('ended (todo-write-set-activity key 'working)
              (todo-write-end-turn key))
      (_ (todo-write-events-publish-activity
          (todo-write-core-call todo-write-dyn--set-activity key activity why nil since))))))

(defun screenshot-agents ()
  "Begin eight agents that cover all states."
  (add-hook 'todo-write-agent-functions #'ignore)
  (pcase-dolist (`(,key . ,what)
                 '(("claude:6f2b" "manual" "Rewrite the chapter on hosts" 5 5 ended nil 190)
                   ("gptel:draft" "site" "翻訳を見直す" 3 1 silent nil 40)
                   ("codex:0199" "parser" "Read numbers without copies" 6 2 working nil 7)
                   ("claude:81cc" "login" "Refactor the login function" 6 2 working nil 2)
                   ("mcp:opencode:12" "release" "Release 1.4" 3 3 ended nil 11)
                   ("acp:5" "mail" "Thread replies by subject" 4 1 failed "API error 529: overloaded" 4)
                   ("claude:90ab" "login" "Test a wrong password" 4 1 waiting
                    "permission to run npm test" 6)
                   ("efrit:3" "notes" "Sort the notes by project" 2 0 waiting
                    "question: keep the old tags?" 1)))
    (apply #'screenshot-agent key what))
  (todo-write-agent-see "claude:6f2b"))

(defun screenshot-scene-overview ()
  "Eight agents that cover all states."
  (screenshot-agents)
  (todo-write-list)
  (delete-other-windows))

(defun screenshot-scene-waiting ()
  "The mode line while an agent waits."
  (todo-write-mode-line-mode)
  (screenshot-agents)
  (todo-write-set-activity "efrit:3" 'working)
  (todo-write-set-activity "acp:5" 'working)
  (screenshot-code)
  (setq mode-line-modes nil))

(defun screenshot-scene-history ()
  "The revisions and what each changed."
  (screenshot-play)
  (screenshot-write '("Read the login function and its callers"
                      "Reading the login function and its callers" completed)
                    '("Write a test for a wrong password"
                      "Writing a test for a wrong password" completed)
                    '("Convert callbacks to async/await"
                      "Converting callbacks to async/await" completed)
                    '("Run the test suite" "Running the test suite" pending)
                    '("Handle errors of the session store in one place too"
                      "Handling errors in one place" in_progress)
                    '("Check the login page by hand" "Checking the login page" pending))
  (todo-write-history "login")
  (delete-other-windows))

(defun screenshot-scene-long ()
  "A long list in a low window."
  (let ((list (lambda (done)
                (apply #'screenshot-write
                       (cl-loop for n from 1 to 40
                                collect (list (format "Move module %d to the new API" n)
                                              (format "Moving module %d to the new API" n)
                                              (cond ((<= n done) 'completed)
                                                    ((= n (1+ done)) 'in_progress)
                                                    (t 'pending))))))))
    (todo-write-observe "login" "TITLE" "Move to the new API")
    (dolist (done '(0 5 16 17))
      (funcall list done)
      (screenshot-wait 0.2)))
  (switch-to-buffer (todo-write-show "login"))
  (delete-other-windows))

(defun screenshot-scene-wide ()
  "A narrow window with wide characters."
  (todo-write-observe "login" "TITLE" "ログイン機能の整理")
  (screenshot-write '("現在のログイン関数を読む" "現在のログイン関数を読んでいます" in_progress)
                    '("コールバックを非同期関数に書き換える" "書き換えています" pending)
                    '("パスワードが誤っている場合のテストを書く" "テストを書いています" pending))
  (screenshot-wait 0.3)
  (screenshot-write '("現在のログイン関数を読む" "現在のログイン関数を読んでいます" completed)
                    '("コールバックを非同期関数に書き換える"
                      "コールバックを非同期関数に書き換えています" in_progress)
                    '("パスワードが誤っている場合のテストを書く" "テストを書いています" pending))
  (screenshot-wait 0.12)
  (switch-to-buffer (todo-write-show "login"))
  (delete-other-windows))

(defun screenshot-work ()
  "Let an agent do what two prompts ask, and begin with a third."
  (screenshot-begin "Refactor the login function")
  (screenshot-ask "Refactor the login function to use async/await")
  (screenshot-write '("Read the login function and its tests" "Reading the login function" in_progress)
                    '("Convert callbacks to async/await" "Converting callbacks" pending)
                    '("Run the tests" "Running the tests" pending))
  (screenshot-wait 0.2)
  (screenshot-write '("Read the login function and its tests" "Reading the login function" completed)
                    '("Convert callbacks to async/await" "Converting callbacks" in_progress)
                    '("Run the tests" "Running the tests" pending))
  (screenshot-wait 0.3)
  (screenshot-change "login.js" "function login(name, password, done) {
  users.find(name).then(user => {
    if (!user) return done(new Error('No such user'));
    return users.check(user, password).then(ok => {
      if (!ok) return done(new Error('Wrong password'));
      return users.open(user).then(session => done(null, session));
    });
  }).catch(done);
" "async function login(name, password) {
  const user = await users.find(name);
  if (!user) throw new Error('No such user');
  const ok = await users.check(user, password);
  if (!ok) throw new Error('Wrong password');
  return users.open(user);
")
  (screenshot-wait 0.2)
  (screenshot-write '("Read the login function and its tests" "Reading the login function" completed)
                    '("Convert callbacks to async/await" "Converting callbacks" completed)
                    '("Run the tests" "Running the tests" in_progress))
  (screenshot-wait 0.1)
  (screenshot-tool "Bash" '(:command "node test.js") "Missing expected rejection: LoginError" t)
  (screenshot-wait 0.1)
  (screenshot-write '("Read the login function and its tests" "Reading the login function" completed)
                    '("Convert callbacks to async/await" "Converting callbacks" completed)
                    '("Run the tests" "Running the tests" completed))
  (todo-write-end-turn "login")
  (screenshot-wait 0.3)
  (screenshot-ask "The test fails: throw a LoginError")
  (screenshot-wait 0.2)
  (screenshot-change "login.js" "async function login"
                     "class LoginError extends Error {
  name = 'LoginError';
}

async function login")
  (screenshot-change "login.js" "new Error('No such" "new LoginError('No such")
  (screenshot-change "login.js" "new Error('Wrong" "new LoginError('Wrong")
  (screenshot-tool "Bash" '(:command "node test.js") "3 tests passed")
  (todo-write-end-turn "login")
  (screenshot-wait 0.2)
  (screenshot-ask "Describe both in the changelog")
  (screenshot-wait 0.1)
  (screenshot-write '("Describe the promise and its error" "Describing the promise and its error" in_progress)
                    '("Check the links of the changelog" "Checking the links" pending))
  (screenshot-wait 0.1)
  (screenshot-change "CHANGES.md" "# Changes\n"
                     "# Changes\n- login returns a promise, and fails with a LoginError.\n")
  (screenshot-wait 0.1))

(defun screenshot-scene-turns ()
  "A session as its prompts, one of them open."
  (screenshot-work)
  (switch-to-buffer (todo-write-show "login"))
  (delete-other-windows)
  (goto-char (point-min))
  (search-forward "throw a LoginError")
  (todo-write-buffer-toggle))

(defun screenshot-scene-review ()
  "The review of what is new, and a comment on a line."
  (screenshot-work)
  (todo-write-review "login")
  (delete-other-windows)
  (search-forward "+  if (!user)")
  (todo-write-comment)
  (insert "Do not tell who has an account: one message for both."))

(defun screenshot (scene file theme width height)
  "Save a screenshot of SCENE, a name, with THEME as FILE, and exit Emacs.
The image has the size of the frame, WIDTH times HEIGHT pixels.  A
palette of 128 colors makes the file a third as big."
  (setq inhibit-message t
        ring-bell-function #'ignore
        todo-write-flash-seconds 0
        todo-write-directory nil)
  (screenshot-stretch-all)
  (load-theme (intern theme) t)
  (blink-cursor-mode -1)
  (delete-other-windows)
  (funcall (intern (concat "screenshot-scene-" scene)))
  (message nil)
  (redisplay t)
  (sleep-for 0.3)
  (redisplay t)
  (kill-emacs (call-process "import" nil nil nil "-window" "root"
                            "-crop" (format "%dx%d+0+0" width height) "+repage" "-strip"
                            "+dither" "-colors" "128" "-define" "png:compression-level=9" (concat "png8:" file))))

(defun screenshot-stretch-all ()
  "Show all times a hundred times as long."
  (todo-write-module-load)
  (advice-add 'todo-write-dyn--spent :filter-return
              (lambda (spent) (and spent (* 100 spent))))
  (advice-add 'todo-write-times :filter-return #'screenshot-stretch-times)
  (advice-add 'todo-write-story-headings :filter-return #'screenshot-stretch-turns)
  (advice-add 'todo-write-item-changes :filter-return #'screenshot-stretch-stamps)
  (advice-add 'todo-write-observations :filter-return #'screenshot-stretch-stamps))

(defun screenshot-frame (width height function &rest args)
  "Make the frame WIDTH times HEIGHT pixels, then call FUNCTION with ARGS.
The frame gets its size only when Emacs waits for input."
  ;; It is not loaded in a timer.
  (todo-write-module-load)
  (menu-bar-mode -1)
  (tool-bar-mode -1)
  (scroll-bar-mode -1)
  (let ((fringes (- (frame-pixel-width) (frame-text-width))))
    (set-frame-size nil (- width fringes) height t))
  (set-frame-position nil 0 0)
  (apply #'run-with-timer 0.5 nil function args))

(defun screenshot-soon (scene file theme width height)
  "Make the frame WIDTH times HEIGHT pixels, then call `screenshot'.
SCENE, FILE and THEME are the arguments of `screenshot'."
  (screenshot-frame width height #'screenshot scene file theme width height))

;;; The animation

(declare-function efrit-do-demo-live "ext:demo")

(defconst screenshot-film-keys
  '(("Check the callers" 2 "n" "n" "+" "Update the changelog" "RET")
    ("waits for you" 1 "M-<" "v" 2 "C-s" "+  if" "RET" "c" 1 "Do not tell who has an account" 1
     "C-c C-c" 1 "C-u" "r" 1 "q" "a" 2 "y")
    ("done 7/7" 1 "M-<" "v"))
  "What the user of the film does, a list of (TEXT STEP...).
When TEXT stands in a window, the STEPs begin: seconds to wait, keys, and
text to type.")

(defun screenshot-film-type (keys steps)
  "Type KEYS, a list of events, at the speed of a person, then do STEPS."
  (let ((step (unless keys (pop steps))))
    (cond (keys
           (setq unread-command-events (append unread-command-events (list (car keys))))
           (run-at-time 0.07 nil #'screenshot-film-type (cdr keys) steps))
          ((numberp step) (run-at-time step nil #'screenshot-film-type nil steps))
          (step (screenshot-film-type
                 (listify-key-sequence
                  (if (string-match-p "\\`\\(?:[CM]-.*\\|RET\\)\\'" step) (kbd step) step))
                 steps))
          (t (screenshot-film-watch)))))

(defun screenshot-film-watch ()
  "Begin with the first of the rest of `screenshot-film-keys' when it is time."
  (let ((next (car screenshot-film-keys)))
    (cond ((null next))
          ((seq-some (lambda (window)
                       (with-current-buffer (window-buffer window)
                         (save-excursion (goto-char (point-min)) (search-forward (car next) nil t))))
                     (window-list))
           (setq screenshot-film-keys (cdr screenshot-film-keys))
           (screenshot-film-type nil (cdr next)))
          (t (run-at-time 0.2 nil #'screenshot-film-watch)))))

(defun screenshot-film (theme ready)
  "Play the demo with THEME and `screenshot-film-keys', and exit Emacs.
The file READY exists while the demo plays."
  (setq ring-bell-function #'ignore)
  (load-theme (intern theme) t)
  (blink-cursor-mode -1)
  (efrit-do-demo-live)
  (message nil)
  (setq efrit-do-end-functions
        (list (lambda (_session)
                (run-at-time 5 nil (lambda () (delete-file ready) (sleep-for 1) (kill-emacs))))))
  (run-at-time 0.5 nil #'write-region "" nil ready nil 'quiet)
  (screenshot-film-watch))

(defun screenshot-film-soon (theme ready width height)
  "Make the frame WIDTH times HEIGHT pixels, then call `screenshot-film'.
THEME and READY are the arguments of `screenshot-film'."
  (screenshot-frame width height #'screenshot-film theme ready))

(provide 'screenshot)
;;; screenshot.el ends here
