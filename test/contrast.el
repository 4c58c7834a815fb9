;;; contrast.el --- Measure the contrast of what asks for the user  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; bin/contrast runs this in terminals with different numbers of colors.

;;; Code:

(require 'cl-lib)
(require 'todo-write-attention)

(defun contrast-luminance (color)
  "Return the relative luminance of COLOR, as this terminal shows it, by WCAG 2."
  (apply #'+ (cl-mapcar (lambda (weight value)
                          (let ((value (/ value 65535.0)))
                            (* weight (if (<= value 0.03928) (/ value 12.92)
                                        (expt (/ (+ value 0.055) 1.055) 2.4)))))
                        '(0.2126 0.7152 0.0722)
                        (cddr (or (tty-color-desc color) (error "No color %s" color))))))

(defun contrast-attribute (attribute faces)
  "Return the value of ATTRIBUTE, a color, of the first of FACES that has one."
  (cl-loop for face in faces
           for value = (face-attribute face attribute nil t)
           unless (member value '(unspecified "unspecified-fg" "unspecified-bg"))
           return value))

(defun contrast-of (face under)
  "Return the contrast of FACE on UNDER, a face."
  (let ((lights (mapcar (lambda (attribute)
                          (+ 0.05 (contrast-luminance
                                   (contrast-attribute attribute (list face under 'default)))))
                        '(:foreground :background))))
    (/ (apply #'max lights) (apply #'min lights))))

(defun contrast-run ()
  "Write a line for each theme and mode line to the file named on the command line."
  (let ((file (pop command-line-args-left)))
    (unwind-protect
        (dolist (theme '(nil modus-operandi modus-vivendi))
          (mapc #'disable-theme custom-enabled-themes)
          (when theme
            (load-theme theme t))
          (dolist (under '(mode-line mode-line-inactive))
            (let ((contrast (contrast-of 'todo-write-attention under)))
              (write-region (format "%3d colors  %-15s %-19s %5.2f%s\n" (display-color-cells)
                                    (or theme "default") under contrast
                                    (if (< contrast 4.5) "  LOW" ""))
                            nil file t 'quiet))))
      (kill-emacs))))

;;; contrast.el ends here
