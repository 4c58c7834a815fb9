;;; todo-write-machines-tests.el --- Agents on other machines  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'ert)
(require 'todo-write-machines)

(defmacro todo-write-machines-tests--with (&rest body)
  "Evaluate BODY with two machines."
  (declare (indent 0) (debug t))
  `(let ((todo-write-machines '(("build" :prefix "/ssh:build:")
                               ("dev.box" :prefix "/ssh:me@dev|sudo:dev:")
                               ("../x" :prefix "/ssh:evil:")
                               ("none"))))
     ,@body))

(ert-deftest todo-write-machines-a-file-belongs-to-the-machine-with-its-prefix ()
  (todo-write-machines-tests--with
    (should (equal "build" (todo-write-machines-of "/ssh:build:/home/me/x")))
    (should (equal "dev.box" (todo-write-machines-of "/ssh:me@dev|sudo:dev:/x")))
    ;; The usual prefix.
    (should (equal "none" (todo-write-machines-of "/ssh:none:/x")))
    (dolist (file '("/ssh:build2:/x" "/ssh:evil:/x" "/home/me" "/ssh:me@build:/x" "" "x"))
      (should-not (todo-write-machines-of file)))))

(ert-deftest todo-write-machines-a-key-says-whose-thread-it-is ()
  (pcase-dolist (`(,key . ,says)
                 '(("build/claude:5e55/a1" "build" "claude" "5e55" "a1")
                   ("claude:5e55" nil "claude" "5e55" nil)
                   ("claude:5e55/a1" nil "claude" "5e55" "a1")
                   ("mcp:opencode:ses_1" nil "opencode" "ses_1" nil)
                   ("b-1/mcp:x:y" "b-1" "x" "y" nil)
                   ("gptel:a/b:c" nil "gptel" "a" "b:c")
                   ("-b/claude:x" nil "-b/claude" "x" nil)
                   ("a/b" nil nil nil nil)
                   ("x" nil nil nil nil)))
    (let ((identity (todo-write-core-call todo-write-dyn--identity key)))
      (should (equal (cons key says)
                     (cons key (mapcar (lambda (name) (plist-get identity name))
                                       '(:machine :program :session :subagent)))))
      (should (equal (car says) (todo-write-machines-of-thread key))))))

;;; What is shown

(ert-deftest todo-write-machines-the-host-is-shown-without-a-connection ()
  (todo-write-machines-tests--with
    (pcase-dolist (`(,thread ,project ,host)
                   '(("build/claude:a" nil "build") ("build/claude:a" "/ssh:dev:/x" "build")
                     ("claude:a" "/ssh:build:/x" "build") ("claude:a" "/home/me/" nil)
                     ("claude:a" nil nil) ("claude:a" "/home/a:b/" nil)))
      (should (equal host (todo-write-machines-host thread project)))))
  (let ((todo-write-machines '(("build" :prefix "/ssh:build:"))))
    (should (equal "/home/me/x/" (todo-write-machines-local-name "/ssh:build:/home/me/x/")))
    (should (equal "/ssh:x:/y" (todo-write-machines-local-name
                                "/ssh:build:/:/ssh:x:/y")))
    (should (equal "/home/me/" (todo-write-machines-local-name "/home/me/")))))

(provide 'todo-write-machines-tests)
;;; todo-write-machines-tests.el ends here
