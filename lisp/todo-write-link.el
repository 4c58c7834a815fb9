;;; todo-write-link.el --- Org links to plans and tasks  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; For links such as [[todo-write:THREAD::t3]]:
;;
;;     (with-eval-after-load 'ol (todo-write-link-setup))

;;; Code:

(require 'todo-write)
(require 'todo-write-bookmark)
(require 'todo-write-commands)
(require 'todo-write-list-read)
(require 'todo-write-org)
(require 'todo-write-view-move)
(require 'url-util)

(declare-function org-link-set-parameters "ol" (type &rest parameters))
(declare-function org-link-store-props "ol" (&rest plist))

;;;###autoload
(defun todo-write-link-setup ()
  "Register the link type \"todo-write\" with Org."
  (require 'ol)
  (org-link-set-parameters "todo-write"
                           :follow #'todo-write-link--open
                           :store #'todo-write-link--store
                           :complete #'todo-write-link--complete
                           :export #'todo-write-link--export))

(defun todo-write-link--split (path)
  "Return the thread and the item in PATH, as (KEY . ID)."
  (let ((end (string-match "::t[0-9]+\\'" path)))
    (cons (decode-coding-string (url-unhex-string (substring path 0 end)) 'utf-8)
          (and end (substring path (+ 2 end))))))

(defun todo-write-link--open (path &optional _)
  "Show the plan of the thread in PATH, a link without its type.
Signal `todo-write-input-error' if PATH is not a string."
  (unless (stringp path)
    (todo-write-core-wrong "link" path "a string"))
  (pcase-let ((`(,key . ,id) (todo-write-link--split path)))
    (todo-write-bookmark-find key)
    (with-current-buffer (todo-write-show key t)
      (when id (todo-write-view-move-goto-any id)))))

(defun todo-write-link--path (key &optional id)
  "Return the path of a link to the item ID of the thread KEY.
KEY is encoded because brackets and blanks would end the link."
  (concat (url-hexify-string key) (and id (concat "::" id))))

(defun todo-write-link--store (&optional _interactive)
  "Store a link to this buffer's plan and the task at point."
  (when (derived-mode-p 'todo-write-view-mode)
    (let* ((key todo-write-view-thread)
           (id (get-text-property (point) 'todo-write-id))
           (item (and key id (todo-write-item key id))))
      (when key
        (org-link-store-props
         :type "todo-write"
         :link (concat "todo-write:" (todo-write-link--path key (and item id)))
         :description (todo-write-org-plain
                       (or (plist-get item :content)
                           (plist-get (todo-write-summary key) :title) key)))))))

(defun todo-write-link--complete (&optional _)
  "Read a thread and return a link to its plan."
  (concat "todo-write:" (todo-write-link--path (todo-write-read-thread "Link to the plan of: "))))

(defun todo-write-link--export (path description _backend &optional _info)
  "Return DESCRIPTION, or else the key in PATH.
A plan has no address to which an exported link could lead."
  (or description (car (todo-write-link--split path))))

(provide 'todo-write-link)
;;; todo-write-link.el ends here
