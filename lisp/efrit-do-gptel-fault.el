;;; efrit-do-gptel-fault.el --- What to do when a request fails -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Part of the backend `gptel': telling a fault from the end of an answer,
;; waiting as long as the provider asks for, sending the request again, and
;; noticing that nothing comes any more.
;;
;; gptel has no words for some of this.  Where this file looks at its
;; internals it is to read; the one that it uses is the state machine, which
;; gptel documents as the means to run a request again.

;;; Code:

(require 'efrit-do-session)

(defvar gptel--request-alist)
(declare-function gptel--fsm-transition "ext:gptel-request")
(declare-function gptel-fsm-info "ext:gptel-request")
(declare-function efrit-do-gptel--sent "efrit-do-gptel")

(defcustom efrit-do-gptel-retries 2
  "How often a request that failed is sent again.
That is done where it may help: too many requests, an overloaded or broken
server, a connection that was cut."
  :type 'natnum
  :group 'efrit-do)

(defcustom efrit-do-gptel-longest-wait 60
  "Longest time, in seconds, to wait before a request is sent again.
A provider that asks for a longer one ends the session."
  :type 'number
  :group 'efrit-do)

(defcustom efrit-do-gptel-stall-limit 300
  "Seconds without anything from the provider after which the session ends."
  :type 'number
  :group 'efrit-do)

(cl-defstruct (efrit-do-gptel-state (:constructor efrit-do-gptel-state-create)
                                    (:copier nil))
  "What the backend `gptel' keeps of a session."
  (buffer nil :documentation "Buffer of its requests.")
  (fsm nil :documentation "The state machine of gptel.")
  (data nil :documentation "The last request's data, as it was sent.")
  (flying nil :documentation "Non-nil while a request is under way.")
  (open nil :documentation "Non-nil until this turn's answer is complete.")
  (thought nil :documentation "Non-nil once this turn's reasoning came.")
  (error nil :documentation "What went wrong in this turn, a string.")
  (tries 0 :documentation "How often this request was sent again.")
  (heard 0 :documentation "When something came last, in seconds.")
  (size 0 :documentation "How much had come at that time.")
  (timer nil :documentation "Of the watch, or until the next try."))

;;; Reading what gptel holds

(defun efrit-do-gptel--process (state)
  "Return the process, or the buffer, of the request of STATE, or nil."
  (efrit-do-gptel--process-for (efrit-do-gptel-state-buffer state)))

(defun efrit-do-gptel--process-for (buffer)
  "Return the process, or the buffer, of the request made in BUFFER, or nil."
  (car (seq-find (lambda (entry)
                   (eq (plist-get (gptel-fsm-info (cadr entry)) :buffer)
                       buffer))
                 (bound-and-true-p gptel--request-alist))))

(defun efrit-do-gptel--guard (session)
  "Let an error of gptel in this buffer's request of SESSION do little harm.
Its parser for Gemini fails where a piece of the stream has no JSON in it, such
as one that ends within the headers, and parses on with the next piece.  Where
it fails at the end of a stream, such as one that brought nothing, the request
is taken for failed; in batch, the error would end Emacs."
  (let ((process (efrit-do-gptel--process-for (current-buffer))))
    (when (processp process)
      (let ((filter (process-filter process))
            (sentinel (process-sentinel process)))
        (set-process-filter
         process
         (lambda (process output)
           (condition-case problem
               (funcall filter process output)
             (error (message "gptel: %s" (error-message-string problem))))))
        (set-process-sentinel
         process
         (lambda (process event)
           (condition-case problem
               (funcall sentinel process event)
             (error (efrit-do-gptel--note-broken session process problem)))))))))

(defun efrit-do-gptel--note-broken (session process problem)
  "Note that gptel signalled PROBLEM when PROCESS, a request of SESSION, ended."
  ;; It did not come to doing this itself.
  (setq gptel--request-alist (assq-delete-all process gptel--request-alist))
  (let ((buffer (process-buffer process)))
    (when (buffer-live-p buffer) (kill-buffer buffer)))
  (when (efrit-do-session-running-p session)
    (let ((info (gptel-fsm-info (efrit-do-gptel-state-fsm
                                 (efrit-do-session-state session)))))
      (unless (plist-get info :error)
        (plist-put info :error (format "The answer broke off (gptel: %s)"
                                       (error-message-string problem))))
      (efrit-do-gptel--note-fault session info))))

(defun efrit-do-gptel--process-buffer (process)
  "Return the buffer to which PROCESS, a process or buffer, writes, if live."
  (let ((buffer (if (processp process) (process-buffer process) process)))
    (and (buffer-live-p buffer) buffer)))

(defun efrit-do-gptel--failed-process-p (state)
  "Return non-nil if the process of STATE has just failed.
gptel tells of that only after it ran the tools of half an answer."
  (let ((process (efrit-do-gptel--process state)))
    (and (processp process)
         (eq (process-status process) 'exit)
         (not (zerop (process-exit-status process))))))

(defun efrit-do-gptel--search (state regexp)
  "Return the first group of REGEXP in what came for STATE, or nil."
  (let ((buffer (efrit-do-gptel--process-buffer (efrit-do-gptel--process state))))
    (when buffer
      (with-current-buffer buffer
        (save-excursion
          (goto-char (point-min))
          (let ((case-fold-search t))
            (and (re-search-forward regexp nil t)
                 (match-string-no-properties 1))))))))

(defun efrit-do-gptel--complete-p (state info)
  "Return nil if the stream of STATE with INFO lacks the model's reason to stop.
Providers say why the model stopped; an answer without that broke off.  Of
other formats than these three nothing is known."
  (or (not (memq (type-of (plist-get info :backend))
                 '(gptel-anthropic gptel-openai gptel-gemini)))
      (not (efrit-do-gptel--process state))
      (efrit-do-gptel--search
       state "\"\\(?:finish_?reason\\|stop_reason\\)\" *: *\\(\"\\)")))

;;; Faults

(defconst efrit-do-gptel--curl-codes
  '(("6" . "The provider's address is not known")
    ("7" . "The provider cannot be reached")
    ("18" . "The connection was cut") ("52" . "The connection was cut")
    ("56" . "The connection was cut") ("28" . "The provider is too slow")
    ("35" . "No secure connection to the provider")
    ("60" . "The provider's certificate is not trusted"))
  "What curl means by its exit codes.")

(defun efrit-do-gptel--cause (info)
  "Return a sentence for what went wrong according to INFO."
  (let* ((problem (plist-get info :error))
         (text (cond ((stringp problem) problem)
                     ((plist-get problem :message))
                     ((and problem (format "%S" problem)))
                     (t "No answer")))
         (status (plist-get info :status)))
    (cond ((string-match "Curl failed with exit code \\([0-9]+\\)" text)
           (let ((code (match-string 1 text)))
             (format "%s (curl exit code %s)"
                     (alist-get code efrit-do-gptel--curl-codes
                                "The request failed" nil #'equal)
                     code)))
          ((and (stringp status) (string-match "HTTP/[0-9.]+ +\\([1-9].*\\)" status)
                (not (string-search " 200" status)))
           (format "%s (%s)" text (match-string 1 status)))
          (t text))))

(defun efrit-do-gptel--passing-p (info)
  "Return non-nil if the fault in INFO may be gone with the next try."
  (let ((status (plist-get info :http-status)))
    (or (member status '("408" "429" "500" "502" "503" "504" "529"))
        ;; Cut in the middle, or never reached.
        (member status '(nil "200" "100")))))

(defun efrit-do-gptel--note-fault (session info)
  "Note the fault in INFO in a request of SESSION and deal with it.
This runs in the middle of gptel's own work, which must end first."
  (let ((state (efrit-do-session-state session)))
    (unless (efrit-do-gptel-state-error state)
      (let ((cause (efrit-do-gptel--cause info))
            (wait (efrit-do-gptel--search state "^retry-after: *\\([0-9]+\\)")))
        (setf (efrit-do-gptel-state-error state) cause
              (efrit-do-gptel-state-flying state) nil
              ;; Calls of half an answer.
              (efrit-do-session-calls session) nil)
        (run-at-time 0 nil #'efrit-do-gptel--after-fault session cause
                     (efrit-do-gptel--passing-p info)
                     (and wait (string-to-number wait)))))))

(defun efrit-do-gptel--after-fault (session cause passing wait)
  "Try again in SESSION or end it, because of CAUSE.
PASSING is non-nil if a new try may help, after WAIT seconds if that is set."
  (let* ((state (efrit-do-session-state session))
         (tries (efrit-do-gptel-state-tries state))
         (wait (or wait (expt 2 tries))))
    (efrit-do-gptel--unwatch state)
    (cond
     ((not (efrit-do-session-running-p session)))
     ((or (not passing) (>= tries efrit-do-gptel-retries))
      (efrit-do-session-fail session cause))
     ((> wait efrit-do-gptel-longest-wait)
      (efrit-do-session-fail
       session (format "%s; the provider asks to wait %s seconds" cause wait)))
     (t (setf (efrit-do-gptel-state-tries state) (1+ tries)
              (efrit-do-gptel-state-timer state)
              (run-at-time wait nil #'efrit-do-gptel--retry session))
        (efrit-do-session-retry session cause wait)))))

(defun efrit-do-gptel--retry (session)
  "Send the last request of SESSION again, if it may."
  (when (efrit-do-session-request session)
    (efrit-do-gptel--send-last session)))

(defun efrit-do-gptel--send-last (session)
  "Send the last request of SESSION again, just as it was."
  (let* ((state (efrit-do-session-state session))
         (fsm (efrit-do-gptel-state-fsm state))
         (info (gptel-fsm-info fsm)))
    (plist-put info :data (efrit-do-gptel-state-data state))
    (dolist (key '(:error :tool-use :tool-result :http-status :status
                          :partial_json :partial_text :partial_reasoning
                          :reasoning :reasoning-chunks))
      (when (plist-member info key)
        (plist-put info key nil)))
    (efrit-do-gptel--sent session)
    (gptel--fsm-transition fsm 'WAIT)))

;;; Silence

(defun efrit-do-gptel--watch (session)
  "End SESSION if nothing comes for `efrit-do-gptel-stall-limit' seconds."
  (let ((state (efrit-do-session-state session)))
    (efrit-do-gptel--unwatch state)
    (setf (efrit-do-gptel-state-heard state) (float-time)
          (efrit-do-gptel-state-size state) 0
          (efrit-do-gptel-state-timer state)
          (let ((step (min 5 (/ efrit-do-gptel-stall-limit 4.0))))
            (run-at-time step step #'efrit-do-gptel--look session)))))

(defun efrit-do-gptel--unwatch (state)
  "Stop the timer of STATE, if any."
  (when (efrit-do-gptel-state-timer state)
    (cancel-timer (efrit-do-gptel-state-timer state))
    (setf (efrit-do-gptel-state-timer state) nil)))

(defun efrit-do-gptel--look (session)
  "Look whether anything came for SESSION since the last look."
  (let* ((state (efrit-do-session-state session))
         (buffer (efrit-do-gptel--process-buffer
                  (efrit-do-gptel--process state)))
         (size (if buffer (buffer-size buffer) 0)))
    (cond
     ((not (efrit-do-gptel-state-flying state))
      (efrit-do-gptel--unwatch state))
     ((/= size (efrit-do-gptel-state-size state))
      (setf (efrit-do-gptel-state-size state) size
            (efrit-do-gptel-state-heard state) (float-time)))
     ((> (- (float-time) (efrit-do-gptel-state-heard state))
         efrit-do-gptel-stall-limit)
      (efrit-do-session-fail
       session (format "nothing came from the provider for %s seconds"
                       efrit-do-gptel-stall-limit))))))

(provide 'efrit-do-gptel-fault)
;;; efrit-do-gptel-fault.el ends here
