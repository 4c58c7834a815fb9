;;; todo-write-timeline-export.el --- Timelines as SVG and Org  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `x' in a plan or its timeline asks for a file: one that ends in .svg gets a
;; picture, one that ends in .org a table of all stretches.

;;; Code:

(require 'cl-lib)
(require 'dom)
(require 'seq)
(require 'svg)
(require 'todo-write)
(require 'todo-write-org)
(require 'todo-write-timeline)

(defconst todo-write-timeline-export--colours
  '(:text "#222222" :faint "#888888" :line "#dddddd"
    :completed "#2e7d32" :open "#1565c0")
  "Colours of an exported picture, which has a white ground.")

;;; In a buffer

(defun todo-write-timeline-svg-bar (row span columns)
  "Return the bars of ROW as an image COLUMNS wide; SPAN is the whole time."
  (let* ((width (* columns (frame-char-width)))
         (height (frame-char-height))
         (svg (svg-create width height))
         (colour (face-foreground (todo-write-timeline-face row) nil t)))
    (svg-line svg 0 (/ height 2) width (/ height 2)
              :stroke (face-foreground 'todo-write-bar-rest nil t) :stroke-opacity 0.4)
    (todo-write-timeline-export--bars svg row span 0 (round (* 0.2 height))
                                      width (round (* 0.6 height)) colour)
    (svg-image svg :ascent 'center :scale 1)))

(defun todo-write-timeline-export--bars (svg row span x y width height colour)
  "Draw the stretches of ROW into SVG, in COLOUR.
The whole time, SPAN, takes WIDTH pixels from X; the bars begin at Y and
are HEIGHT high."
  (let ((scale (/ (float width) (- (cdr span) (car span)))))
    (pcase-dolist (`(,from . ,to) (plist-get row :intervals))
      (svg-rectangle svg (+ x (* scale (- from (car span)))) y
                     ;; The shortest stretch is still to be seen.
                     (max 2 (* scale (- to from))) height
                     :rx 2 :fill colour))))

;;; As a file

(defun todo-write-timeline-svg (thread)
  "Return the timeline of THREAD as SVG text.
Signal a `user-error' if no task was begun."
  (let* ((rows (todo-write-timeline-export--rows thread))
         (span (todo-write-timeline-span rows))
         (svg (svg-create 900 (+ 60 (* 24 (length rows))) :font-family "sans-serif"))
         (colour (lambda (key) (plist-get todo-write-timeline-export--colours key)))
         (y 50))
    (svg-rectangle svg 0 0 "100%" "100%" :fill "white")
    (todo-write-timeline-export--text
     svg (todo-write-row-plain (or (plist-get (todo-write-summary thread) :title) "Plan"))
     10 22 (funcall colour :text) :font-weight "bold" :font-size 15)
    (todo-write-timeline-export--text
     svg (todo-write-timeline-clock (car span)) 300 40 (funcall colour :faint))
    (todo-write-timeline-export--text
     svg (todo-write-timeline-clock (cdr span)) 830 40 (funcall colour :faint)
     :text-anchor "end")
    (dolist (row rows)
      (todo-write-timeline-export--svg-row svg row span y colour)
      (setq y (+ y 24)))
    (with-temp-buffer
      (svg-print svg)
      (buffer-string))))

(defun todo-write-timeline-export--svg-row (svg row span y colour)
  "Draw ROW into SVG at the height Y; SPAN is the whole time.
COLOUR is a function from the keys of the colours to their values."
  (let ((item (plist-get row :item)))
    (svg-line svg 300 (+ y 9) 830 (+ y 9) :stroke (funcall colour :line))
    (todo-write-timeline-export--text
     svg (todo-write-row-truncate (todo-write-row-plain (plist-get item :content)) 40)
     10 (+ y 13) (funcall colour :text))
    (todo-write-timeline-export--bars
     svg row span 300 (+ y 2) 530 14
     (funcall colour (if (equal (plist-get item :status) "completed") :completed :open)))
    (todo-write-timeline-export--text
     svg (todo-write-row-time (plist-get row :spent)) 890 (+ y 13) (funcall colour :faint)
     :text-anchor "end")))

(defun todo-write-timeline-export--text (svg text x y colour &rest args)
  "Write TEXT into SVG at X and Y in COLOUR; ARGS are further attributes."
  (apply #'svg-text svg text :x x :y y :fill colour
         (append args (unless (plist-get args :font-size) '(:font-size 13)))))

(defun todo-write-timeline-org (thread)
  "Return the timeline of THREAD as an Org table, a line for each stretch.
Signal a `user-error' if no task was begun."
  (concat
   (format "#+title: %s\n\n"
           (todo-write-org-plain
            (or (plist-get (todo-write-summary thread) :title) "Plan")))
   "| Task | Status | From | To | In progress |\n|-\n"
   (mapconcat
    (lambda (row)
      (let ((item (plist-get row :item)))
        (mapconcat (pcase-lambda (`(,from . ,to))
                     (format "| %s | %s | %s | %s | %s |\n"
                             ;; A bar in a text would end its cell.
                             (string-replace "|" "\\vert{}"
                                             (todo-write-org-plain
                                              (plist-get item :content)))
                             (if (eq (todo-write-timeline-kind row) 'removed) "dropped"
                               (plist-get item :status))
                             (todo-write-timeline-export--stamp from)
                             (todo-write-timeline-export--stamp to)
                             (todo-write-row-time (- to from))))
                   (plist-get row :intervals) "")))
    (todo-write-timeline-export--rows thread) "")))

(defun todo-write-timeline-export--stamp (milliseconds)
  "Return MILLISECONDS since the epoch as date and time."
  (format-time-string "%F %T" (/ milliseconds 1000)))

(defun todo-write-timeline-export--rows (thread)
  "Return the rows of THREAD's timeline, or signal a `user-error'."
  (or (todo-write-timeline-rows thread) (user-error "No task was begun yet")))

;;;###autoload
(defun todo-write-export-timeline (thread file)
  "Save the timeline of THREAD as FILE.
Its name ends in .svg for a picture or in .org for a table; signal a
`user-error' for any other."
  (interactive
   (list (or todo-write-view-thread (user-error "There is no plan here"))
         (read-file-name "Save timeline as (.svg or .org): " nil nil nil "timeline.svg")))
  (let ((text (pcase (file-name-extension file)
                ("svg" (todo-write-timeline-svg thread))
                ("org" (todo-write-timeline-org thread))
                (_ (user-error "The name must end in .svg or .org")))))
    (when (or (not (called-interactively-p 'any)) (not (file-exists-p file))
              (yes-or-no-p (format "%s exists; overwrite it? " file)))
      (let ((coding-system-for-write 'utf-8))
        (write-region text nil file nil 'quiet))
      (message "Saved %s" (abbreviate-file-name file)))))

(provide 'todo-write-timeline-export)
;;; todo-write-timeline-export.el ends here
