;;; efrit-do-parts.el --- Text that grows, in parts that fold -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The buffer of a session, efrit-do-view.el, only grows at its end.  This is
;; how text gets there, whatever is in it, and how a part under a heading is
;; folded to that one line: an overlay covers its body.

;;; Code:

(require 'seq)
(require 'subr-x)
(require 'todo-write-row)

;;; Writing at the end

(defmacro efrit-do-view--appending (&rest body)
  "Run BODY with point at the end; windows that were there stay there."
  (declare (indent 0) (debug t))
  `(let ((following (seq-filter (lambda (window)
                                  (= (window-point window) (point-max)))
                                (get-buffer-window-list nil nil t)))
         (at-end (= (point) (point-max))))
     (save-excursion
       (goto-char (point-max))
       (with-silent-modifications ,@body))
     (when at-end (goto-char (point-max)))
     (dolist (window following)
       (set-window-point window (point-max)))))

(defun efrit-do-view--mark (mark)
  "Return MARK, a string of one character, or a stand-in where it cannot show."
  (if (char-displayable-p (aref mark 0)) mark
    (pcase mark ("✓" "+") ("✗" "x") ("■" "#") (_ ">"))))

(defun efrit-do-view--insert (text &optional face)
  "Insert TEXT, which is plain text whatever is in it, in FACE."
  (insert (propertize (todo-write-row-plain-lines text)
                      'font-lock-face face 'face face)))

(defun efrit-do-view--fresh-line ()
  "Begin a new line if point is not at the beginning of one."
  (unless (bolp) (insert "\n")))

(defun efrit-do-view--part (heading face)
  "Begin a foldable part under HEADING in FACE and return its overlay.
The overlay covers the part's body, which is empty so far."
  (efrit-do-view--fresh-line)
  (let ((start (point)))
    (efrit-do-view--insert (concat (efrit-do-view--mark "▸") " " heading "\n")
                           face)
    (let ((body (make-overlay (1- (point)) (1- (point)) nil nil t)))
      (overlay-put body 'invisible 'efrit-do)
      (overlay-put body 'isearch-open-invisible #'efrit-do-view--show-part)
      (put-text-property start (point) 'efrit-do-part body)
      (put-text-property start (point) 'mouse-face 'highlight)
      body)))

(defun efrit-do-view--add (body text face)
  "Add TEXT in FACE to the part with overlay BODY."
  (let ((start (overlay-start body)))
    (goto-char (overlay-end body))
    ;; The body begins before the newline of its heading, so that a folded
    ;; part is one line.
    (when (= start (overlay-end body))
      (insert "\n"))
    (efrit-do-view--insert text face)
    (move-overlay body start (point))))

(defun efrit-do-view--retitle (body mark heading face)
  "Give the part with overlay BODY the MARK and HEADING in FACE."
  (save-excursion
    (goto-char (overlay-start body))
    (let ((end (overlay-start body))
          (beginning (line-beginning-position)))
      (goto-char end)
      (insert (propertize (concat (efrit-do-view--mark mark) " " heading)
                          'face face 'efrit-do-part body
                          'mouse-face 'highlight))
      (move-overlay body (point) (max (point) (overlay-end body)))
      (delete-region beginning end))))

(defun efrit-do-view--one-line (text before)
  "Return TEXT as one line that fits the window behind BEFORE, a string."
  (let ((window (get-buffer-window nil t)))
    (todo-write-row-line
     text (max 20 (- (if window (window-max-chars-per-line window) 79)
                     (string-width before) 5)))))

;;; Commands

(defun efrit-do-view--part-at (position)
  "Return the overlay of the part at POSITION, or nil."
  (or (get-text-property position 'efrit-do-part)
      (seq-find (lambda (overlay)
                  (overlay-get overlay 'isearch-open-invisible))
                (overlays-at position))))

(defun efrit-do-view--show-part (body)
  "Open the part with overlay BODY."
  (overlay-put body 'invisible nil))

(defun efrit-do-view-toggle ()
  "Open or fold the part at point.  Signals `user-error' if there is none."
  (interactive)
  (let ((body (efrit-do-view--part-at (point))))
    (unless body
      (user-error "Nothing to open here"))
    (goto-char (overlay-start body))
    (beginning-of-line)
    (overlay-put body 'invisible
                 (unless (overlay-get body 'invisible) 'efrit-do))))

(defun efrit-do-view-mouse-toggle (event)
  "Open or fold the part that EVENT, a click, is on."
  (interactive "e")
  (mouse-set-point event)
  (when (efrit-do-view--part-at (point))
    (efrit-do-view-toggle)))

(defun efrit-do-view-toggle-all ()
  "Open all parts, or fold them if none is folded."
  (interactive)
  (let* ((parts (seq-filter (lambda (overlay)
                              (overlay-get overlay 'isearch-open-invisible))
                            (overlays-in (point-min) (point-max))))
         (fold (not (seq-some (lambda (part) (overlay-get part 'invisible))
                              parts))))
    (dolist (part parts)
      (overlay-put part 'invisible (and fold 'efrit-do)))))

(defun efrit-do-view-next (&optional backward)
  "Go to the next part, or to the previous one if BACKWARD."
  (interactive)
  (let ((start (point)) found)
    (while (and (not found)
                (zerop (forward-line (if backward -1 1)))
                (not (eobp)))
      (setq found (and (not (invisible-p (point)))
                       (get-text-property (point) 'efrit-do-part))))
    (unless found
      (goto-char start))))

(defun efrit-do-view-previous ()
  "Go to the previous part."
  (interactive)
  (efrit-do-view-next t))

(provide 'efrit-do-parts)
;;; efrit-do-parts.el ends here
