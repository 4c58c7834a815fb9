;;; todo-write-remote-socket-tests.el --- Programs on other machines  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tests connect to the listeners of other machines as programs do there, and as
;; no program should.  No machine is reached: nothing here may open a connection.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'tramp)
(require 'todo-write-attention)
(require 'todo-write-list)
(require 'todo-write-permission)
(require 'todo-write-remote-socket)
(require 'todo-write-socket-helper)
(require 'todo-write-view)

(defmacro todo-write-remote-socket-tests--with (remotes &rest body)
  "Evaluate BODY with the socket and the machines REMOTES; nil means two.
Fail if anything opens a connection to a machine."
  (declare (indent 1) (debug t))
  `(let ((todo-write-remotes (or ,remotes '(("build" :prefix "/ssh:build:")
                                            ("dev" :prefix "/docker:dev:"))))
         (todo-write-permission--calls nil)
         (todo-write-note--hook-machines nil)
         (user-emacs-directory (file-name-as-directory (make-temp-file "emacs d" t))))
     (cl-letf (((symbol-function 'tramp-maybe-open-connection)
                (lambda (&rest _) (error "A connection was opened"))))
       (todo-write-with-socket ,@body))))

(defmacro todo-write-remote-socket-tests--on (name &rest body)
  "Evaluate BODY, whose programs are on the machine NAME."
  (declare (indent 1) (debug t))
  `(let ((todo-write-socket-test-at (and ,name (todo-write-remote-socket--file ,name))))
     ,@body))

(defun todo-write-remote-socket-tests--write (name session content &rest fields)
  "Write the task CONTENT for SESSION by a program on the machine NAME.
FIELDS are those of its hello.  Return the program."
  (todo-write-remote-socket-tests--on name
    (let ((program (apply #'todo-write-socket-test-hello fields)))
      (should (car (todo-write-socket-test-write program session (list content "in_progress"))))
      program)))

(defun todo-write-remote-socket-tests--contents (thread)
  "Return the contents of the tasks of THREAD, a list."
  (mapcar (lambda (item) (plist-get item :content)) (todo-write-items thread)))

;;; The sockets

(ert-deftest todo-write-remote-socket-each-machine-has-one-that-only-the-user-can-open ()
  (todo-write-remote-socket-tests--with nil
    (let ((files (mapcar #'todo-write-remote-socket--file '("build" "dev"))))
      (dolist (file files)
        (should (equal "srwx------" (file-attribute-modes (file-attributes file))))
        (should (equal #o700 (file-modes (file-name-directory file))))
        (should-not (equal file (todo-write-socket--file))))
      (should-not (equal (file-name-directory (car files)) (file-name-directory (cadr files))))
      (todo-write-mcp-mode -1)
      (should-not (seq-some #'file-exists-p files)))))

(ert-deftest todo-write-remote-socket-one-that-is-unsafe-is-not-opened-and-the-others-are ()
  (let* ((folder (make-temp-file "open" t))
         (warnings nil))
    (set-file-modes folder #o755)
    (cl-letf (((symbol-function 'display-warning)
               (lambda (_type text &rest _) (push text warnings))))
      (todo-write-remote-socket-tests--with
          `(("open" :prefix "/ssh:open:" :socket ,(expand-file-name "socket" folder))
            ("../x" :prefix "/ssh:x:") ("none") ("local" :prefix "/home")
            ("twice" :prefix "/ssh:a:") ("twice" :prefix "/ssh:b:")
            ("build" :prefix "/ssh:build:"))
        (should (equal '("build" "twice")
                       (sort (mapcar (lambda (listener) (process-get listener 'todo-write-remote))
                                     todo-write-remote-socket--listeners)
                             #'string<)))
        (should (= 5 (length warnings)))
        (should (seq-some (lambda (text) (string-search "must be yours alone" text)) warnings))
        (todo-write-remote-socket-tests--write "build" "a" "One")))))

(ert-deftest todo-write-remote-socket-replaces-a-stale-one-and-no-live-one ()
  (let* ((folder (make-temp-file "machine" t))
         (file (expand-file-name "socket" folder))
         (remotes `(("build" :prefix "/ssh:build:" :socket ,file)))
         (live (let ((process (make-network-process :name "live" :server t :family 'local
                                                    :service file :noquery t)))
                 (set-file-modes file #o700)
                 process)))
    (cl-letf (((symbol-function 'display-warning) #'ignore))
      (todo-write-remote-socket-tests--with remotes
        (should-not (todo-write-remote-socket--open-p "build")))
      (should (process-live-p live)))
    (delete-process live)
    (should (file-exists-p file))
    (todo-write-remote-socket-tests--with remotes
      (should (todo-write-remote-socket--open-p "build"))
      (todo-write-remote-socket-tests--write "build" "a" "One"))))

(ert-deftest todo-write-remote-socket-a-machine-uses-up-only-its-own-connections ()
  (todo-write-remote-socket-tests--with nil
    (let ((todo-write-socket--connection-limit 2))
      (todo-write-remote-socket-tests--on "build"
        (todo-write-socket-test-hello)
        (todo-write-socket-test-hello)
        (should (equal "refused" (plist-get (todo-write-socket-test-read
                                             (todo-write-socket-test-connect))
                                            :type))))
      (todo-write-remote-socket-tests--on "dev" (todo-write-socket-test-hello))
      (todo-write-socket-test-hello))))

;;; What a machine can name

(ert-deftest todo-write-remote-socket-the-same-session-of-two-machines-is-two-plans ()
  (todo-write-remote-socket-tests--with nil
    (todo-write-remote-socket-tests--write "build" "s1" "Build" :project "/home/me/garden")
    (todo-write-remote-socket-tests--write "dev" "s1" "Develop" :project "/home/me/garden")
    (todo-write-remote-socket-tests--write nil "s1" "Local")
    (pcase-dolist (`(,thread ,content ,project)
                   '(("build/claude:s1" "Build" "/ssh:build:/home/me/garden/")
                     ("dev/claude:s1" "Develop" "/docker:dev:/home/me/garden/")))
      (should (equal (list content) (todo-write-remote-socket-tests--contents thread)))
      (should (equal project (plist-get (todo-write-about thread) :project))))
    (should (equal '("Local") (todo-write-remote-socket-tests--contents "claude:s1")))
    (should (= 3 (length (todo-write-threads))))))

(ert-deftest todo-write-remote-socket-a-hostile-machine-names-nothing-of-another ()
  (todo-write-remote-socket-tests--with nil
    (todo-write-remote-socket-tests--write nil "s1" "Local" :id "id-1")
    (todo-write-remote-socket-tests--write "dev" "s1" "Develop" :id "id-1")
    (todo-write-remote-socket-tests--on "build"
      (dolist (client '("claude-code" "dev/claude" "codex-mcp-client" "x:y/z" ""))
        (let ((program (todo-write-socket-test-hello :id "id-1" :client client)))
          (dolist (session '("s1" "../claude:s1" "dev/claude:s1" "/claude:s1" "s1/a1" "" "\0"))
            (dolist (subagent '(:null "../../claude:s1" "dev/claude:s1"))
              (todo-write-socket-test-call
               program (list :session session :subagent subagent :task "Local"
                             :arguments (todo-write-test-todos '("Evil" "in_progress"))))
              (todo-write-socket-test-send
               program (list :type "activity" :session session :subagent subagent
                             :activity "waiting"))))
          (todo-write-socket-test-send program '(:type "bye" :killed t)))))
    (todo-write-test-wait
     (lambda () (equal 'paused (todo-write-state "build/claude:s1"))))
    (dolist (thread (todo-write-threads))
      (unless (member thread '("claude:s1" "dev/claude:s1"))
        (should (string-prefix-p "build/" thread))))
    (dolist (thread '("claude:s1" "dev/claude:s1"))
      (should (equal '(working) (todo-write-activity thread)))
      (should (eq 'active (todo-write-state thread)))
      (should-not (member "Evil" (todo-write-remote-socket-tests--contents thread))))))

(ert-deftest todo-write-remote-socket-a-claimed-folder-is-one-of-that-machine ()
  (todo-write-remote-socket-tests--with nil
    (let ((number 0))
      (dolist (folder '("/home/me/x" "/ssh:dev:/etc" "/docker:dev:/x" "/sudo::/etc" "relative"
                        "~/x" "~root" "" "/a\nb" "/../../x" "C:\\x" "//dev/x" "/ssh:a|ssh:dev:/x"))
        (let ((session (format "s%d" (cl-incf number))))
          (todo-write-remote-socket-tests--write "build" session "One" :project folder
                                                 :id (format "id-%d" number))
          (let ((project (plist-get (todo-write-about (concat "build/claude:" session))
                                    :project)))
            (should (equal "/ssh:build:" (file-remote-p project)))
            (should (string-suffix-p "/" project))
            (should-not (file-remote-p (file-name-unquote (file-local-name project))
                                       'method t))))))))

(ert-deftest todo-write-remote-socket-its-process-ids-are-never-looked-up-here ()
  (todo-write-remote-socket-tests--with nil
    (let ((program (todo-write-remote-socket-tests--write "build" "a" "One"
                                                          :process (emacs-pid))))
      (should-not (todo-write-mcp--pid "build/claude:a"))
      (todo-write-remote-socket-tests--on "build"
        (let ((hook (todo-write-socket-test-hello :role "permission" :id "hook"
                                                  :process (emacs-pid))))
          (todo-write-socket-test-send
           hook '(:type "call" :call 1 :session "a" :source "process"
                  :arguments (:tool_name "Bash" :tool_input (:command "make"))))
          (todo-write-test-wait #'todo-write-requests)
          (should-not (todo-write-permission--pid "build/claude:a"))
          (delete-process hook)
          (todo-write-test-wait (lambda () (not (todo-write-requests))))))
      (delete-process program))
    ;; A number that no process has here says nothing of a process there.
    (delete-process (todo-write-remote-socket-tests--write "build" "b" "One" :id "id-2"
                                                           :process 4194305))
    (todo-write-test-wait (lambda () (null (todo-write-activity "build/claude:b"))))
    (todo-write-mcp--check-programs)
    (should (eq 'active (todo-write-state "build/claude:b")))))

(ert-deftest todo-write-remote-socket-no-file-is-opened-for-it-here ()
  (todo-write-remote-socket-tests--with nil
    (let* ((folder (file-name-as-directory (make-temp-file "garden" t)))
           (file (expand-file-name "secret" folder)))
      (write-region "hidden\n" nil file nil 'silent)
      (dolist (name '("build" nil))
        (todo-write-remote-socket-tests--on name
          (let ((hook (todo-write-socket-test-hello :role "permission" :project folder)))
            (todo-write-socket-test-send
             hook (list :type "call" :call 1 :session "a" :source "process"
                        :arguments (list :tool_name "Write"
                                         :tool_input (list :file_path file
                                                           :content "new\n"))))
            (todo-write-test-wait #'todo-write-requests)
            (let ((detail (todo-write-request-detail (car (todo-write-requests)))))
              (should (eq (null name) (and (string-search "hidden" detail) t)))
              (should (eq (and name t)
                          (and (string-search "what it replaces is not shown" detail) t))))
            (delete-process hook)
            (todo-write-test-wait (lambda () (not (todo-write-requests)))))))
      ;; Nor are its folders of settings looked at.
      (let ((todo-write-follow-mode t) (todo-write-follow-sessions--found nil))
        (todo-write-remote-socket-tests--write "build" "a" "One" :id "id-2" :claudeFolder folder)
        (should-not todo-write-follow-sessions--found)))))

(ert-deftest todo-write-remote-socket-its-questions-get-only-their-own-answers ()
  (todo-write-remote-socket-tests--with nil
    (let ((hooks (mapcar
                  (lambda (name)
                    (todo-write-remote-socket-tests--on name
                      (let ((hook (todo-write-socket-test-hello :role "permission" :id "hook-1")))
                        (todo-write-socket-test-send
                         hook `(:type "call" :call 1 :session "s1" :source "process"
                                :arguments (:tool_name "Bash"
                                            :tool_input (:command ,(format "echo %s" name)))))
                        hook)))
                  '("build" "dev" nil))))
      (todo-write-test-wait (lambda () (= 3 (length (todo-write-requests)))))
      (should (equal '("build/claude:s1" "claude:s1" "dev/claude:s1")
                     (sort (mapcar (lambda (request) (plist-get request :thread))
                                   (todo-write-requests))
                           #'string<)))
      (should (todo-write-answer-request
               "dev/claude:s1" (plist-get (car (todo-write-requests "dev/claude:s1")) :id)
               '(:behavior "allow")))
      (should (plist-get (todo-write-socket-test-read (nth 1 hooks)) :decision))
      ;; The end of one machine's hook withdraws only its question.
      (delete-process (car hooks))
      (todo-write-test-wait (lambda () (= 1 (length (todo-write-requests)))))
      (should (equal "claude:s1" (plist-get (car (todo-write-requests)) :thread)))
      (delete-process (nth 2 hooks))
      (todo-write-test-wait (lambda () (not (todo-write-requests)))))))

;;; The ends

(ert-deftest todo-write-remote-socket-the-end-of-a-tunnel-is-not-that-of-the-agent ()
  (todo-write-remote-socket-tests--with nil
    (let ((program (todo-write-remote-socket-tests--write "build" "a" "One"))
          (key "build/claude:a"))
      (delete-process program)
      (todo-write-test-wait (lambda () (null (todo-write-activity key))))
      (should-not (plist-get (todo-write-times key "t1") :running))
      (should (eq 'active (todo-write-state key)))
      (setq program (todo-write-remote-socket-tests--write "build" "a" "One"))
      (should (plist-get (todo-write-times key "t1") :running))
      ;; It does not come back for a while, and then does.
      (delete-process program)
      (let ((todo-write-mcp--silence 0))
        (todo-write-test-wait (lambda () (eq 'paused (todo-write-state key)))))
      (should (equal "no connection to build" (plist-get (todo-write-summary key) :reason)))
      (should-not (plist-get (todo-write-summary key) :ending))
      (setq program (todo-write-remote-socket-tests--write "build" "a" "One"))
      (should (eq 'active (todo-write-state key)))
      (should (equal '(working) (todo-write-activity key)))
      (should (= 1 (length (todo-write-items key))))
      (todo-write-socket-test-send program '(:type "bye"))
      (todo-write-test-wait (lambda () (eq 'paused (todo-write-state key))))
      (should (equal "session ended" (plist-get (todo-write-summary key) :reason))))))

;;; The hook that tells edits

(defun todo-write-remote-socket-tests--edit (session)
  "Edit the plan of SESSION on the machine build, which is followed; return its key."
  (let ((key (concat "build/claude:" session)))
    (todo-write key '(:todos [(:content "Rake" :status "pending")]) "claude" t)
    (todo-write-edit key 'add "Weed")
    key))

(ert-deftest todo-write-remote-socket-the-hook-of-a-machine-asks-each-time ()
  (todo-write-remote-socket-tests--with nil
    (let ((key (todo-write-remote-socket-tests--edit "s1")))
      (should-not (todo-write-note--channel key))
      ;; Another machine with that session hears nothing.
      (dolist (name '("dev" nil "build"))
        (todo-write-remote-socket-tests--on name
          (should (eq (equal name "build")
                      (and (string-search "Weed"
                                          (cdr (todo-write-socket-test-call
                                                (todo-write-socket-test-hello :role "note" :id "hook")
                                                '(:session "s1" :arguments (:event "Stop")))))
                           t)))))
      (should (eq 'hook (todo-write-note--channel key))))))

(ert-deftest todo-write-remote-socket-emacs-changes-no-file-of-a-machine ()
  (todo-write-remote-socket-tests--with nil
    (let* ((machine (file-name-directory (todo-write-remote-socket--file "build")))
           (told (expand-file-name "told" machine))
           (mine (make-temp-file "mine" t))
           (list (lambda () (directory-files-recursively machine "" t))))
      ;; There is no folder for hooks, so they ask.
      (should-not (file-exists-p told))
      (make-directory told)
      (write-region "" nil (expand-file-name "s2" told) nil 'silent)
      (write-region "" nil (expand-file-name "s1" mine) nil 'silent)
      (make-symbolic-link (expand-file-name "s1" mine) (expand-file-name "s1" told))
      (let ((before (funcall list)))
        (dolist (session '("s1" "s2" "s3"))
          (todo-write-remote-socket-tests--edit session))
        (todo-write-note--look)
        (should (equal before (funcall list)))
        (todo-write-mcp-mode -1)
        (should (equal (delete (expand-file-name "socket" machine) before) (funcall list))))
      (should (file-exists-p (expand-file-name "s1" mine))))))

;;; What the user sees

(ert-deftest todo-write-remote-socket-rows-and-headers-name-the-machine ()
  (todo-write-remote-socket-tests--with nil
    (todo-write-remote-socket-tests--write "build" "rows" "One" :project "/home/me/garden")
    (let ((key "build/claude:rows") said)
      (unwind-protect
          (progn
            (with-current-buffer (todo-write-show key)
              (should (string-match-p "^ on build . working" (buffer-string))))
            (todo-write-list)
            (with-current-buffer "*todo-write-list*"
              (should (string-search "build:garden" (buffer-string))))
            (cl-letf (((symbol-function 'message)
                       (lambda (format &rest args) (setq said (apply #'format format args)))))
              (todo-write-attention--visit-agent-of key))
            (should (string-search "it is on build in /ssh:build:/home/me/garden" said)))
        (dolist (buffer (buffer-list))
          (when (string-match-p "\\`\\*\\(efrit-todos\\|todo-write\\)" (buffer-name buffer))
            (kill-buffer buffer)))))))

;;; Ports

(defun todo-write-remote-socket-tests--free-port ()
  "Return a port to which nothing listens."
  (let ((process (make-network-process :name "test-program" :server t :service t :noquery t
                                       :family 'ipv4 :host "127.0.0.1")))
    (prog1 (process-contact process :service)
      (delete-process process))))

(defun todo-write-remote-socket-tests--call-port (port)
  "Return a connection to PORT and its challenge."
  (let ((process (make-network-process :name "test-program" :coding 'binary :noquery t
                                       :family 'ipv4 :host "127.0.0.1" :service port
                                       :buffer (generate-new-buffer " *test program*" t)
                                       :sentinel #'ignore)))
    (cons process (todo-write-socket-test-read process))))

(ert-deftest todo-write-remote-socket-a-port-takes-only-programs-with-the-token ()
  (let ((port (todo-write-remote-socket-tests--free-port)))
    (todo-write-remote-socket-tests--with `(("old" :prefix "/ssh:old:" :port ,port))
      (let* ((file (todo-write-remote-socket--token-file "old"))
             (token (string-trim (with-temp-buffer (insert-file-contents file) (buffer-string))))
             (hello (list :type "hello" :protocol 1 :role "tool" :id "p" :client "claude-code"
                          :version todo-write-version :project "/home/me"))
             (mac #'todo-write-remote-socket--mac))
        (should (= #o600 (file-modes file)))
        (should (string-match-p "\\`[0-9a-f]\\{64\\}\\'" token))
        (let (nonces)
          (dolist (proof (list nil token "" (funcall mac token "emacs" "n")
                               (funcall mac (make-string 64 ?0) "program" "n")))
            (pcase-let ((`(,process . ,challenge)
                         (todo-write-remote-socket-tests--call-port port)))
              (should (equal "challenge" (plist-get challenge :type)))
              (push (plist-get challenge :nonce) nonces)
              (todo-write-socket-test-send
               process (append hello '(:nonce "n") (and proof (list :proof proof))))
              (should (equal "refused" (plist-get (todo-write-socket-test-read process) :type)))
              (should-not (todo-write-socket-test-read process))))
          ;; An old proof is of no use.
          (pcase-let ((`(,process . ,_) (todo-write-remote-socket-tests--call-port port)))
            (todo-write-socket-test-send
             process (append hello (list :nonce "n" :proof (funcall mac token "program"
                                                                    (car nonces)))))
            (should (equal "refused" (plist-get (todo-write-socket-test-read process) :type))))
          (should (= (length nonces) (length (delete-dups nonces)))))
        (pcase-let ((`(,process . ,challenge) (todo-write-remote-socket-tests--call-port port)))
          (todo-write-socket-test-send
           process (append hello (list :nonce "n1" :proof (funcall mac token "program"
                                                                   (plist-get challenge :nonce)))))
          (let ((welcome (todo-write-socket-test-read process)))
            (should (equal "welcome" (plist-get welcome :type)))
            (should (equal (funcall mac token "emacs" "n1") (plist-get welcome :proof)))
            (should-not (string-search token (format "%S" (list challenge welcome)))))
          (should (car (todo-write-socket-test-write process "s1" "One")))
          (should (equal '("One") (todo-write-remote-socket-tests--contents "old/claude:s1"))))
        ;; Only this machine reaches it.
        (should (equal [127 0 0 1] (seq-take (process-contact
                                              (car todo-write-remote-socket--listeners) :local)
                                             4)))))))

(defun todo-write-remote-socket-tests--prove (port role)
  "Connect to PORT with the token of the machine old as ROLE.
Return the connection and what it is told."
  (pcase-let* ((`(,process . ,challenge) (todo-write-remote-socket-tests--call-port port))
               (token (todo-write-remote-socket--token "old")))
    (todo-write-socket-test-send
     process (list :type "hello" :protocol 1 :role role :id role :client "claude-code"
                   :version todo-write-version :nonce "n"
                   :proof (todo-write-remote-socket--mac token "program"
                                                         (plist-get challenge :nonce))))
    (cons process (todo-write-socket-test-read process))))

(ert-deftest todo-write-remote-socket-no-question-is-answered-through-a-port ()
  (let ((port (todo-write-remote-socket-tests--free-port)))
    (todo-write-remote-socket-tests--with `(("old" :prefix "/ssh:old:" :port ,port))
      (pcase-let ((`(,process . ,said) (todo-write-remote-socket-tests--prove port "permission")))
        (should (equal "refused" (plist-get said :type)))
        (should-not (todo-write-socket-test-read process)))
      (should-not (todo-write-requests))
      (dolist (role '("tool" "note" "check"))
        (should (equal "welcome" (plist-get (cdr (todo-write-remote-socket-tests--prove port role))
                                            :type)))))))

(ert-deftest todo-write-remote-socket-others-use-up-no-connection-of-a-port ()
  (let ((port (todo-write-remote-socket-tests--free-port))
        (todo-write-socket--connection-limit 2))
    (todo-write-remote-socket-tests--with `(("old" :prefix "/ssh:old:" :port ,port))
      (let ((others (cl-loop repeat 50 collect
                             (car (todo-write-remote-socket-tests--call-port port)))))
        (dotimes (_ 2)
          (should (equal "welcome"
                         (plist-get (cdr (todo-write-remote-socket-tests--prove port "check"))
                                    :type))))
        ;; The oldest of the others are closed, and those with the token are counted, too.
        (should (< (seq-count #'process-live-p others) 25))
        (should (equal "refused"
                       (plist-get (cdr (todo-write-remote-socket-tests--prove port "check"))
                                  :type)))))))

(ert-deftest todo-write-remote-socket-a-system-without-sockets-has-ports ()
  (let ((port (todo-write-remote-socket-tests--free-port))
        (subfeatures (get 'make-network-process 'subfeatures)))
    (unwind-protect
        (progn
          (put 'make-network-process 'subfeatures
               (seq-remove (lambda (feature) (equal feature '(:family local))) subfeatures))
          (cl-letf (((symbol-function 'display-warning) #'ignore))
            (todo-write-remote-socket-tests--with
                `(("old" :prefix "/ssh:old:" :port ,port) ("build" :prefix "/ssh:build:"))
              (should (todo-write-remote-socket--open-p "old"))
              (should-not (todo-write-remote-socket--open-p "build"))
              (should (equal "challenge"
                             (plist-get (cdr (todo-write-remote-socket-tests--call-port port))
                                        :type)))
              (todo-write-mcp-mode -1)
              (should-not (todo-write-socket--state)))))
      (put 'make-network-process 'subfeatures subfeatures))))

(ert-deftest todo-write-remote-socket-a-port-whose-token-others-can-read-stays-closed ()
  (let ((port (todo-write-remote-socket-tests--free-port))
        (file (make-temp-file "token" nil nil (concat (make-string 64 ?a) "\n")))
        warned)
    (pcase-dolist (`(,modes ,text) `((#o640 ,(make-string 64 ?a)) (#o604 ,(make-string 64 ?a))
                                     (#o600 "short") (#o600 "")))
      (write-region text nil file nil 'silent)
      (set-file-modes file modes)
      (setq warned nil)
      (cl-letf (((symbol-function 'display-warning) (lambda (&rest _) (setq warned t))))
        (todo-write-remote-socket-tests--with
            `(("old" :prefix "/ssh:old:" :port ,port :token ,file))
          (should warned)
          (should-not (todo-write-remote-socket--open-p "old")))))))

(provide 'todo-write-remote-socket-tests)
;;; todo-write-remote-socket-tests.el ends here
