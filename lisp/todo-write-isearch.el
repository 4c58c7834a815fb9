;;; todo-write-isearch.el --- Isearch and Occur in a plan  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; While Isearch searches a plan, the buffer also has the text that is closed or cut:
;; stories of closed rows, earlier entries, what calls returned, the tasks of earlier
;; lists.  Overlays hide it, and Isearch opens those of its matches.  When the search
;; ends, the row or entry with the match is opened, and the other hidden text deleted.

;;; Code:

(require 'cl-lib)
(require 'isearch)
(require 'seq)
(require 'todo-write-view)

(defun todo-write-isearch--begin ()
  "Draw what is closed or cut, too, and hide it.  For `isearch-mode-hook'."
  (setq todo-write-view--searching t)
  (add-hook 'isearch-update-post-hook #'todo-write-isearch--show-match nil t)
  (add-hook 'isearch-mode-end-hook #'todo-write-isearch--end nil t)
  (let ((at-end (eobp)))
    (todo-write-view--draw)
    (when at-end
      (goto-char (point-max))))
  (setq isearch-opoint (point)
        isearch-barrier (point)))

(defun todo-write-isearch--hide ()
  "Hide the text with the property `todo-write-hidden' under overlays."
  (let ((position (point-min)))
    ;; Before Emacs 29, overlays after the center are faster to make.
    (overlay-recenter (point-max))
    (while (setq position (text-property-not-all position (point-max) 'todo-write-hidden nil))
      (let ((end (next-single-property-change position 'todo-write-hidden nil (point-max))))
        (unless (todo-write-isearch--overlay position)
          (let ((overlay (make-overlay position end nil t)))
            (overlay-put overlay 'todo-write-hidden t)
            (overlay-put overlay 'evaporate t)
            (overlay-put overlay 'invisible t)
            (overlay-put overlay 'isearch-open-invisible #'ignore)))
        (setq position end))))
  (when isearch-mode
    ;; A row that is drawn again has lost its overlays.
    (setq isearch-opened-overlays (seq-filter #'overlay-buffer isearch-opened-overlays))
    (unless (bobp)
      (isearch-range-invisible (1- (point)) (point)))))

(defun todo-write-isearch--show-match ()
  "Show all of the match, also if it begins in visible text.
For `isearch-update-post-hook'."
  (let ((end (max (point) (or isearch-other-end (point)))))
    (when-let* ((start (todo-write-isearch--hidden-in-match)))
      (isearch-range-invisible start (min end (next-overlay-change start))))))

(defun todo-write-isearch--hidden-in-match ()
  "Return the first position of the match in text that is or was hidden, or nil."
  (let ((other (or isearch-other-end (point))))
    (text-property-not-all (min (point) other) (max (point) other) 'todo-write-hidden nil)))

(defun todo-write-isearch--overlay (position)
  "Return the overlay that hides the text at POSITION, or nil."
  (seq-find (lambda (overlay) (overlay-get overlay 'todo-write-hidden))
            (overlays-at position)))

(defun todo-write-isearch--end ()
  "Open the row or entry with the match, and delete what is still hidden.
For `isearch-mode-end-hook'."
  (remove-hook 'isearch-update-post-hook #'todo-write-isearch--show-match t)
  (remove-hook 'isearch-mode-end-hook #'todo-write-isearch--end t)
  (setq todo-write-view--searching nil)
  (let* ((other (or isearch-other-end (point)))
         (forward (> (point) other))
         (found (buffer-substring-no-properties (min (point) other) (max (point) other)))
         (at (unless isearch-mode-end-hook-quit
               (todo-write-isearch--hidden-in-match)))
         (origin (copy-marker isearch-opoint)))
    (setq isearch-opened-overlays nil)
    (when at
      (todo-write-isearch--open at))
    (todo-write-isearch--delete-hidden)
    (let ((place (todo-write-place--at origin)))
      (when at
        (todo-write-isearch--redraw-found found forward))
      (setq isearch-opoint (or (todo-write-place--position place) (marker-position origin))))
    (set-marker origin nil)))

(defun todo-write-isearch--open (position)
  "Open what hides the text at POSITION, and show it."
  (let ((opened (mapcar (lambda (what)
                          (if (equal what '(cut)) (todo-write-isearch--uncut position) what))
                        (get-text-property position 'todo-write-hidden)))
        (inhibit-read-only t))
    (pcase-dolist (`(,kind . ,element) opened)
      (pcase kind
        ('open (cl-pushnew element todo-write-view--open :test #'equal))
        ('whole (cl-pushnew element todo-write-view--whole :test #'equal))
        ('earlier (cl-pushnew element todo-write-view--earlier :test #'equal))))
    (dolist (overlay (overlays-in (point-min) (point-max)))
      (when (overlay-get overlay 'todo-write-hidden)
        (let ((start (overlay-start overlay)))
          (when (or (<= start position (1- (overlay-end overlay)))
                    (seq-every-p (lambda (what) (member what opened))
                                 (get-text-property start 'todo-write-hidden)))
            (with-silent-modifications
              (remove-text-properties start (overlay-end overlay) '(todo-write-hidden nil)))
            (delete-overlay overlay)))))))

(defun todo-write-isearch--uncut (position)
  "Return what to open, (KIND . ELEMENT), to see the text at POSITION in full."
  (let ((entry (get-text-property position 'todo-write-entry)))
    (cond (entry (cons 'whole (todo-write-story--entry-key entry)))
          ((get-text-property position 'todo-write-id)
           (cons 'open (get-text-property position 'todo-write-id)))
          (t (cons 'open (get-text-property position 'todo-write-toggle))))))

(defun todo-write-isearch--delete-hidden ()
  "Delete the text that is still hidden."
  (let ((inhibit-read-only t)
        (inhibit-modification-hooks t)
        (position (point-max)))
    (with-silent-modifications
      (while (> position (point-min))
        (let ((start (previous-single-property-change position 'todo-write-hidden
                                                      nil (point-min))))
          (when (get-text-property start 'todo-write-hidden)
            (delete-region start position))
          (setq position start))))))

(defun todo-write-isearch--redraw-found (found forward)
  "Draw what was opened at point as it looks now, with point at the text FOUND.
FORWARD non-nil means at its end."
  (let ((id (get-text-property (point) 'todo-write-id))
        (place (todo-write-place--at (point))))
    (todo-write-view--redraw (and id (list id)) (not id))
    (unless (if forward
                (equal found (buffer-substring-no-properties
                              (max (point-min) (- (point) (length found))) (point)))
              (looking-at-p (regexp-quote found)))
      ;; The text has moved from the row, where it was cut, to the lines below.
      (when-let* ((start (todo-write-place--position
                          (list (car place) 0 (nth 2 place) 0)))
                  (end (save-excursion (goto-char start)
                                       (search-forward found nil t))))
        (goto-char (if forward end (- end (length found))))))))

(defun todo-write-isearch-occur ()
  "Run `occur' in this plan, closed and cut text included.
That text stays hidden in the buffer, since Occur's lines lead there."
  (interactive nil todo-write-view-mode)
  (todo-write-menu--require 'todo-write-view-mode)
  (let ((todo-write-view--searching t))
    (todo-write-view--draw))
  (call-interactively #'occur))

(defun todo-write-isearch--show-occurrence ()
  "Show the occurrence at point.  For `occur-mode-find-occurrence-hook'."
  (todo-write-view--unfold-here)
  (when (todo-write-isearch--overlay (point))
    (todo-write-isearch--open (point))))

(provide 'todo-write-isearch)
;;; todo-write-isearch.el ends here
