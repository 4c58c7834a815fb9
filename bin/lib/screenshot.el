;;; screenshot.el --- Scenes for bin/screenshot  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Each scene is a function that sets up a graphical frame which fills the
;; screen; `screenshot' plays one and saves what the X server shows.

;;; Code:

(require 'todo-write)
(require 'todo-write-view)
(require 'todo-write-edit)
(require 'todo-write-history)
(require 'todo-write-mode-line)

(defun screenshot-write (&rest entries)
  "Write ENTRIES, lists (CONTENT ACTIVE-FORM STATUS), for the scenes' thread."
  (todo-write "login"
              (list :todos
                    (vconcat (mapcar (pcase-lambda (`(,content ,active ,status))
                                       (list :content content :activeForm active
                                             :status (symbol-name status)))
                                     entries)))))

(defun screenshot-wait (seconds)
  "Let SECONDS pass; the scenes show a hundred times as many."
  (sleep-for seconds))

(defun screenshot-stretch-times (times)
  "Return TIMES, as from `todo-write-times', with a hundred times the time spent."
  (plist-put times :spent (* 100 (or (plist-get times :spent) 0))))

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
  (screenshot-wait 0.70))

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
  "A row that is open, and a task that was dropped."
  (screenshot-play)
  (screenshot-write '("Read the login function and its callers"
                      "Reading the login function and its callers" completed)
                    '("Write a test for a wrong password"
                      "Writing a test for a wrong password" completed)
                    '("Convert callbacks to async/await"
                      "Converting callbacks to async/await" in_progress)
                    '("Handle errors in one place"
                      "Handling errors in one place" pending)
                    '("Run the test suite" "Running the test suite" pending))
  (switch-to-buffer (todo-write-show "login"))
  (delete-other-windows)
  (todo-write-view-goto (plist-get (plist-get (todo-write-summary "login") :current) :id))
  (todo-write-view-toggle-detail))

(defun screenshot-scene-history ()
  "A revision and what it changed."
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

(defun screenshot (scene file theme width height)
  "Save what SCENE, a name, looks like with THEME as FILE, and leave Emacs.
The picture is WIDTH times HEIGHT pixels, as is the frame."
  (setq inhibit-message t
        ring-bell-function #'ignore
        todo-write-flash-seconds 0
        todo-write-directory nil)
  (advice-add 'todo-write-times :filter-return #'screenshot-stretch-times)
  (load-theme (intern theme) t)
  (blink-cursor-mode -1)
  (delete-other-windows)
  (funcall (intern (concat "screenshot-scene-" scene)))
  (message nil)
  (redisplay t)
  (sleep-for 0.3)
  (redisplay t)
  (kill-emacs (call-process "import" nil nil nil "-window" "root"
                            "-crop" (format "%dx%d+0+0" width height) "+repage" file)))

(defun screenshot-soon (scene file theme width height)
  "Make the frame WIDTH times HEIGHT pixels, then call `screenshot'.
SCENE, FILE and THEME are handed on.  The frame has its size only when
Emacs has begun to wait for input."
  (menu-bar-mode -1)
  (tool-bar-mode -1)
  (scroll-bar-mode -1)
  (let ((fringes (- (frame-pixel-width) (frame-text-width))))
    (set-frame-size nil (- width fringes) height t))
  (set-frame-position nil 0 0)
  (run-with-timer 0.5 nil #'screenshot scene file theme width height))

(provide 'screenshot)
;;; screenshot.el ends here
