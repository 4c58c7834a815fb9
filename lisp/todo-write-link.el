;;; todo-write-link.el --- Org links to plans  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Links such as [[todo-write:THREAD][the plan]] that open the plan of a thread,
;; or [[todo-write:THREAD::t3]] with point at a task.  `org-store-link' in a plan
;; makes one.  To teach Org, once it is loaded:
;;
;;     (with-eval-after-load 'ol (todo-write-link-setup))

;;; Code:

(require 'todo-write)
(require 'todo-write-org)
(require 'todo-write-row)
(require 'url-util)

(declare-function org-link-set-parameters "ol" (type &rest parameters))
(declare-function org-link-store-props "ol" (&rest plist))
(declare-function todo-write-show "todo-write-view" (&optional thread select))
(declare-function todo-write-view-goto "todo-write-view" (id))
(declare-function todo-write-list-read "todo-write-list" (prompt))
(autoload 'todo-write-show "todo-write-view" nil t)
(autoload 'todo-write-list-read "todo-write-list")
(defvar todo-write-view-thread)

;;;###autoload
(defun todo-write-link-setup ()
  "Teach Org the links of type \"todo-write\"."
  (require 'ol)
  (org-link-set-parameters "todo-write"
                           :follow #'todo-write-link-open
                           :store #'todo-write-link-store
                           :complete #'todo-write-link-complete
                           :export #'todo-write-link-export))

(defun todo-write-link--split (path)
  "Return the thread and the item that PATH names, as (KEY . ID)."
  (let* ((end (string-match "::t[0-9]+\\'" path))
         (id (and end (substring path (+ 2 end)))))
    (cons (todo-write-link--decode (substring path 0 end)) id)))

(defun todo-write-link--decode (text)
  "Return the key that TEXT, as from `todo-write-link--path', stands for."
  (decode-coding-string (url-unhex-string text) 'utf-8))

;;;###autoload
(defun todo-write-link-open (path &optional _)
  "Show the plan of the thread that PATH, the rest of a link, names."
  (pcase-let ((`(,key . ,id) (todo-write-link--split path)))
    (unless (todo-write-restore key)
      (user-error "There is no plan of %s any more" (todo-write-row-plain key)))
    (with-current-buffer (todo-write-show key t)
      (when id (todo-write-view-goto id)))))

(defun todo-write-link--path (key &optional id)
  "Return the rest of a link to the item ID of the thread KEY.
Brackets and blanks of a key would end the link early."
  (concat (url-hexify-string key) (and id (concat "::" id))))

(defun todo-write-link-store (&optional _interactive)
  "Store a link to the plan of this buffer, and its task at point."
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

(defun todo-write-link-complete (&optional _)
  "Read a thread and return a link to its plan."
  (concat "todo-write:" (todo-write-link--path (todo-write-list-read "Link to the plan of: "))))

(defun todo-write-link-export (path description _backend &optional _info)
  "Return DESCRIPTION, or the key in PATH: a plan is no page to link to."
  (or description (car (todo-write-link--split path))))

(provide 'todo-write-link)
;;; todo-write-link.el ends here
