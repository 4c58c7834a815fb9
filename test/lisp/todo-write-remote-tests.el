;;; todo-write-remote-tests.el --- Agents on other machines  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'ert)
(require 'todo-write-remote)

(defmacro todo-write-remote-tests--with (&rest body)
  "Evaluate BODY with two machines."
  (declare (indent 0) (debug t))
  `(let ((todo-write-remotes '(("build" :prefix "/ssh:build:")
                               ("dev.box" :prefix "/ssh:me@dev|sudo:dev:")
                               ("../x" :prefix "/ssh:evil:")
                               ("none"))))
     ,@body))

(ert-deftest todo-write-remote-a-file-belongs-to-the-machine-with-its-prefix ()
  (todo-write-remote-tests--with
    (should (equal "build" (todo-write-remote--of "/ssh:build:/home/me/x")))
    (should (equal "dev.box" (todo-write-remote--of "/ssh:me@dev|sudo:dev:/x")))
    (dolist (file '("/ssh:build2:/x" "/ssh:evil:/x" "/home/me" "/ssh:me@build:/x" "" "x"))
      (should-not (todo-write-remote--of file)))))

(ert-deftest todo-write-remote-no-path-names-a-file-of-another-machine ()
  (todo-write-remote-tests--with
    (pcase-dolist (`(,path . ,local)
                   '(("/home/me/x" . "/home/me/x") ("/" . "/") ("/a b/$HOME" . "/a b/$HOME")
                     ("/ssh:other:/etc" . "/ssh:other:/etc") ("/ssh:a|ssh:b:/x" . "/ssh:a|ssh:b:/x")
                     ("/sudo::/etc" . "/sudo::/etc") ("/:/x" . "/:/x")
                     ("/a//ssh:x:/b" . "/a//ssh:x:/b") ("/x/~root" . "/x/~root")
                     ("relative" . "/") ("~/x" . "/") ("C:\\x" . "/") ("" . "/") ("/a\nb" . "/")))
      (let ((file (todo-write-remote--file "build" path)))
        (should (equal "/ssh:build:" (file-remote-p file)))
        (should (equal local (file-local-name (file-name-unquote file))))
        (should (string-prefix-p "/ssh:build:" (expand-file-name file)))))
    (should-error (todo-write-remote--file "none" "/x") :type 'todo-write-error)))

(ert-deftest todo-write-remote-a-key-has-the-machine-and-the-key-there ()
  (should (equal "build/claude:5e55" (todo-write-remote--key "build" "claude:5e55")))
  (should (equal "claude:5e55" (todo-write-remote--key nil "claude:5e55")))
  (should (equal "build" (todo-write-remote--of-thread "build/claude:5e55/a1")))
  (should (equal "claude:5e55/a1" (todo-write-remote--bare-key "build/claude:5e55/a1")))
  (dolist (key '("claude:5e55" "claude:5e55/a1" "mcp:x:y" "gptel:a/b:c" "a/b" "x"))
    (should-not (todo-write-remote--of-thread key))
    (should (equal key (todo-write-remote--bare-key key)))))

;;; What is shown

(ert-deftest todo-write-remote-the-host-is-shown-without-a-connection ()
  (todo-write-remote-tests--with
    (pcase-dolist (`(,thread ,project ,host)
                   '(("build/claude:a" nil "build") ("build/claude:a" "/ssh:dev:/x" "build")
                     ("claude:a" "/ssh:build:/x" "build") ("claude:a" "/home/me/" nil)
                     ("claude:a" nil nil) ("claude:a" "/ssh:me@far.example#22:/x/" "far.example")
                     ("claude:a" "/ssh:hop|sudo:root@deep:/x/" "deep")
                     ("claude:a" "/home/a:b/" nil)))
      (should (equal host (todo-write-remote--host thread project)))))
  (let ((todo-write-remotes '(("build" :prefix "/ssh:build:"))))
    (should (equal "/home/me/x/" (todo-write-remote--local-name "/ssh:build:/home/me/x/")))
    (should (equal "/ssh:x:/y" (todo-write-remote--local-name
                                (todo-write-remote--file "build" "/ssh:x:/y"))))
    (should (equal "/home/me/" (todo-write-remote--local-name "/home/me/")))))

(provide 'todo-write-remote-tests)
;;; todo-write-remote-tests.el ends here
