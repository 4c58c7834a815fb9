;;; todo-write-follow-link.el --- The state of another machine  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Which sessions on another machine are wanted, which pieces of their files must be
;; fetched, and the copies of these.  todo-write-follow-remote.el talks to the machine.
;;
;; All that a machine says is hostile: a path has one of a few known forms, or it is
;; ignored; what is copied is bounded.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'todo-write-follow)

(defconst todo-write-follow-link--most-bytes (* 1024 1024 1024)
  "Maximum number of bytes that are copied from a machine.")

(defconst todo-write-follow-link--most-files 10000
  "Maximum number of a machine's files that are known.")

(defconst todo-write-follow-link--chunk (* 256 1024)
  "Maximum number of bytes that one request asks for.")

(defconst todo-write-follow-link--whole (* 32 1024 1024)
  "Maximum number of bytes of a transcript that is copied whole.
It is WHOLE in src/follower.rs, up to which a session is read whole.")

(cl-defstruct (todo-write-follow-link--link
               (:constructor todo-write-follow-link--make) (:copier nil))
  "The connection to a machine.
NAME is the machine's, PREFIX that of its files.  PROCESS is nil if the
connection is lost or ended.  HOMES are the copies of its agents' folders,
as lists (COPY GIVEN FOLDER): GIVEN is how the user names the original,
FOLDER its absolute name, once it is known.  FILES are the known files by
\(N . PATH), N the place in HOMES.  ALIVE are the live processes by
\(N . PID), lists (STATE START CONTENT); WRITTEN are those that have files
here.  EXPECTED are the pieces asked for, as (PIECE . EXCERPT): PIECE is a
list (N OFFSET LENGTH PATH), EXCERPT non-nil if it is for the excerpt.
ASKED is t while an answer is under way, `answered' once it has come,
until it is handled, else nil; SILENT-SINCE is when something was asked or
came last.  SKEW is what to add to the machine's
times.  PICKED are the transcripts that the user picked, as (FILE . SHOW).
ALL is non-nil if all live sessions are followed.  LISTED is t once the
files were listed, `asked' before, `script' once the script was sent, else
nil.  FULL is non-nil if all files are to be listed, `asked' while they
are.  WANTED are the lines about sessions and processes that were sent
last, BYTES the number of bytes copied, ERRORS what the process wrote to
its standard error.  CHANGED are the copies of transcripts that changed in
this answer, PROCESSES is non-nil if processes did."
  name prefix process timer homes (files (make-hash-table :test #'equal))
  (alive (make-hash-table :test #'equal)) (written (make-hash-table :test #'equal))
  expected asked (silent-since 0) (skew 0)
  picked all listed wanted (bytes 0) (errors "") changed processes full)

(cl-defstruct (todo-write-follow-link--file
               (:constructor todo-write-follow-link--make-file) (:copier nil))
  "A file on another machine: PATH in home N, with its INODE, SIZE and TIME.
KIND is that of `todo-write-follow-link--kind'.  OFFSET is that of the
next byte to fetch, COPY the name of the copy, PART non-nil until the
first copy is complete.  SKIP is t until the first line feed after a gap,
then `done'.  EXCERPT is non-nil once it was asked for.
DOUBT is when to fetch the file again, since it may have changed within
the second of TIME after it was fetched; `unseen' if the machine must list
it again."
  n path kind inode size time (offset 0) copy part skip excerpt doubt)

;;; Wanted sessions

(defun todo-write-follow-link--mode-p (link)
  "Return non-nil if `todo-write-follow-mode' needs LINK."
  (and todo-write-follow-mode
       (or todo-write-follow-all
           (equal (todo-write-follow-link--link-prefix link)
                  (file-remote-p todo-write-follow--project)))))

(defun todo-write-follow-link--wanted (link)
  "Return the lines that name the wanted sessions and known processes of LINK."
  (let (lines)
    (dolist (file (append (mapcar #'car (todo-write-follow-link--link-picked link))
                          (mapcar #'todo-write-follow--session-file todo-write-follow--sessions)
                          (seq-filter (lambda (file)
                                        (todo-write-follow-link--chosen-p link file))
                                      (todo-write-follow-sessions--begun 0))))
      (cl-loop for (copy . _) in (todo-write-follow-link--link-homes link) for n from 0
               for folder = (todo-write-follow-sessions--copy-folder copy)
               when (string-prefix-p folder file)
               do (let ((path (substring file (length folder))))
                    (when (eq 'transcript (todo-write-follow-link--kind
                                           (todo-write-follow-sessions--copy-agent copy) path))
                      (cl-pushnew (format "w %d %s\n" n (file-name-sans-extension path)) lines
                                  :test #'equal)))))
    (concat (mapconcat #'identity (seq-take (sort lines #'string<) 200) "")
            (format "k  %s \n" (mapconcat (lambda (key) (format "%d:%d" (car key) (cdr key)))
                                          (hash-table-keys
                                           (todo-write-follow-link--link-written link))
                                          " ")))))

(defun todo-write-follow-link--chosen-p (link file)
  "Return non-nil if the session in FILE is to be followed if it lives.
FILE is a copy by LINK."
  (and (not (member file todo-write-follow--stopped))
       (or (todo-write-follow-link--link-all link)
           (and (todo-write-follow-link--mode-p link)
                (or todo-write-follow-all
                    (string-match-p "/sessions/[0-9]+/[0-9]+/[0-9]+/[^/]*\\'" file)
                    (todo-write-follow-link--of-project-p file))))))

(defun todo-write-follow-link--of-project-p (file)
  "Return non-nil if the name of the folder of FILE is one of the mode's project."
  (let ((name (todo-write-follow-sessions--escape todo-write-follow--project))
        (folder (file-name-nondirectory (directory-file-name (file-name-directory file)))))
    (or (equal name folder) (string-prefix-p (concat name "-") folder))))

(defun todo-write-follow-link--fetched-p (link file live newest)
  "Return non-nil if the whole of FILE is to be fetched by LINK.
LIVE are the transcripts of live processes, NEWEST the newest of the
mode's project."
  (let ((copy (todo-write-follow-link--file-copy file)))
    (or (not (eq 'transcript (todo-write-follow-link--file-kind file)))
        (assoc copy (todo-write-follow-link--link-picked link))
        (todo-write-follow--find copy)
        (equal copy newest)
        (and (todo-write-follow-link--chosen-p link copy)
             (or (member copy live)
                 (< (- (float-time) (todo-write-follow-link--local-time link file))
                    (or todo-write-follow-quiet 600)))))))

(defun todo-write-follow-link--newest (link)
  "Return the newest session of the mode's project on LINK, or nil.
That is the name of its copy."
  (when (todo-write-follow-link--mode-p link)
    (let ((time 0) newest)
      (maphash (lambda (_key file)
                 (let ((copy (todo-write-follow-link--file-copy file)))
                   (when (and (> (todo-write-follow-link--file-time file) time)
                              (eq 'transcript (todo-write-follow-link--file-kind file))
                              (todo-write-follow-link--of-project-p copy))
                     (setq newest copy
                           time (todo-write-follow-link--file-time file)))))
               (todo-write-follow-link--link-files link))
      newest)))

;;; Files of the machine

(defun todo-write-follow-link--kind (agent path)
  "Return the kind of AGENT's file PATH, or nil if there is no such file.
It is `transcript', `subagent' or `side'.  PATH comes from another machine."
  (let ((case-fold-search nil) (name "[A-Za-z0-9_-]+"))
    (cond ((> (length path) 600) nil)
          ((eq agent 'codex)
           (and (string-match-p
                 "\\`sessions/[0-9]+/[0-9]+/[0-9]+/rollout-[A-Za-z0-9_-]+\\.jsonl\\'" path)
                'transcript))
          ((string-match-p (format "\\`projects/%s/%s\\.jsonl\\'" name name) path) 'transcript)
          ((string-match-p (format "\\`projects/%s/%s/subagents/agent-%s\\.jsonl\\'"
                                   name name name)
                           path)
           'subagent)
          ((string-match-p
            (format "\\`\\(?:projects/%s/%s/\\(?:subagents/agent-%s\\.meta\\|custom-title\\)\\.json\\|tasks/%s/\\(?:[0-9]+\\.json\\|\\.highwatermark\\)\\)\\'"
                    name name name name)
            path)
           'side))))

(defun todo-write-follow-link--home-folder (link n)
  "Return the folder with the copies of home N of LINK, with a slash at its end."
  (todo-write-follow-sessions--copy-folder (car (nth n (todo-write-follow-link--link-homes link)))))

(defun todo-write-follow-link--local-time (link file)
  "Return the modification time of FILE of LINK by this machine's clock."
  (min (float-time)
       (+ (todo-write-follow-link--file-time file) (todo-write-follow-link--link-skew link))))

(defun todo-write-follow-link--stat (link kind n path stat)
  "Note STAT, a list (INODE SIZE TIME), of the file PATH of KIND in home N of LINK."
  (pcase-let* ((`(,inode ,size ,time) stat)
               (files (todo-write-follow-link--link-files link))
               (key (cons n path))
               (file (gethash key files)))
    (unless (or file (>= (hash-table-count files) todo-write-follow-link--most-files))
      (setq file (puthash key (todo-write-follow-link--make-file
                               :n n :path path :kind kind
                               :inode inode :size size :time time :part t
                               :copy (concat (todo-write-follow-link--home-folder link n)
                                             path))
                          files)))
    (when file
      (cond ((eq kind 'side)
             (unless (and (equal inode (todo-write-follow-link--file-inode file))
                          (= size (todo-write-follow-link--file-size file))
                          (= time (todo-write-follow-link--file-time file)))
               (setf (todo-write-follow-link--file-part file) t)))
            ((or (< size (todo-write-follow-link--file-offset file))
                 (not (equal inode (todo-write-follow-link--file-inode file))))
             (todo-write-follow-link--restart link file)))
      (setf (todo-write-follow-link--file-inode file) inode
            (todo-write-follow-link--file-size file) size
            (todo-write-follow-link--file-time file) time)
      (when (eq 'unseen (todo-write-follow-link--file-doubt file))
        (setf (todo-write-follow-link--file-doubt file) nil)))))

(defun todo-write-follow-link--restart (link file)
  "Fetch FILE of LINK from its beginning, since it was truncated or replaced."
  (let ((copy (todo-write-follow-link--file-copy file)))
    (setf (todo-write-follow-link--file-offset file) 0
          (todo-write-follow-link--file-skip file) nil
          (todo-write-follow-link--file-excerpt file) nil
          (todo-write-follow-link--file-part file) t)
    (when (file-exists-p copy)
      (todo-write-follow-link--note link file))))

(defun todo-write-follow-link--gone (link kind n path stat)
  "Note that the file PATH of KIND in home N of LINK no longer has STAT.
A file beside a transcript is deleted here, too."
  (when-let* (((eq kind 'side))
              (file (gethash (cons n path) (todo-write-follow-link--link-files link)))
              ((equal stat (list (todo-write-follow-link--file-inode file)
                                 (todo-write-follow-link--file-size file)
                                 (todo-write-follow-link--file-time file)))))
    (todo-write-follow-link--delete link file)))

(defun todo-write-follow-link--delete (link file)
  "Delete the copy of FILE of LINK, which no longer exists."
  (remhash (cons (todo-write-follow-link--file-n file)
                 (todo-write-follow-link--file-path file))
           (todo-write-follow-link--link-files link))
  (ignore-errors (delete-file (todo-write-follow-link--file-copy file)))
  (todo-write-follow-link--note link file))

(defun todo-write-follow-link--note (link file)
  "Note that the copy of FILE of LINK changed, for its transcript's sake."
  (let ((folder (todo-write-follow-link--home-folder
                 link (todo-write-follow-link--file-n file)))
        (path (todo-write-follow-link--file-path file)))
    (if (string-match "\\`tasks/\\([^/]+\\)/" path)
        (let ((end (concat "/" (match-string 1 path) ".jsonl")))
          (dolist (session todo-write-follow--sessions)
            (let ((name (todo-write-follow--session-file session)))
              (when (and (string-prefix-p folder name) (string-suffix-p end name))
                (cl-pushnew name (todo-write-follow-link--link-changed link) :test #'equal)))))
      (cl-pushnew (concat folder (if (string-match "\\`\\(projects/[^/]+/[^/]+\\)/" path)
                                     (concat (match-string 1 path) ".jsonl")
                                   path))
                  (todo-write-follow-link--link-changed link) :test #'equal))))

;;; Copies

(defun todo-write-follow-link--pieces (link)
  "Return what LINK must fetch next, a list of (PIECE . EXCERPT)."
  (let ((live (todo-write-follow-sessions--begun 0))
        (newest (todo-write-follow-link--newest link))
        (excerpts 0) (left (* 4 todo-write-follow-link--chunk)) pieces)
    (dolist (file (sort (hash-table-values (todo-write-follow-link--link-files link))
                        (lambda (a b) (> (todo-write-follow-link--file-time a)
                                         (todo-write-follow-link--file-time b)))))
      (when (and (> left 0) (< (length pieces) 64))
        (let ((piece
               (cond ((todo-write-follow-link--fetched-p link file live newest)
                      (todo-write-follow-link--piece file))
                     ((< (cl-incf excerpts) 40)
                      (todo-write-follow-link--excerpt-piece file)))))
          (when piece
            (cl-decf left (nth 2 (car piece)))
            (push piece pieces)))))
    (nreverse pieces)))

(defun todo-write-follow-link--piece (file)
  "Return (PIECE) for the next of FILE that must be fetched, nil if all is here."
  (pcase-let (((cl-struct todo-write-follow-link--file n path kind size offset part doubt)
               file))
    (if (eq 'side kind)
        (and (or part (and (numberp doubt) (> (float-time) doubt)))
             (<= 1 size 65536) (list (list n 0 size path)))
      ;; The middle of a large transcript is left out.
      (let ((head (* 256 1024)) (end (* 8 1024 1024)))
        (when (and (= offset head) (> size todo-write-follow-link--whole) part
                   (not (todo-write-follow-link--file-skip file)))
          (setf (todo-write-follow-link--file-skip file) t
                (todo-write-follow-link--file-offset file) (- size end))
          (setq offset (- size end))))
      (and (> size offset)
           (list (list n offset (min todo-write-follow-link--chunk (- size offset)) path))))))

(defun todo-write-follow-link--excerpt-piece (file)
  "Return (PIECE . t) for the beginning of FILE, or nil if it was asked for."
  (pcase-let (((cl-struct todo-write-follow-link--file n path size excerpt) file))
    (and (not excerpt) (> size 0)
         (setf (todo-write-follow-link--file-excerpt file) t)
         (cons (list n 0 (min size 32768) path) t))))

(defun todo-write-follow-link--take (link expected bytes)
  "Write BYTES, which came for EXPECTED, into a copy of LINK."
  (pcase-let* ((`((,n ,offset ,_ ,path) . ,excerpt) expected)
               (file (gethash (cons n path) (todo-write-follow-link--link-files link))))
    (when (> (cl-incf (todo-write-follow-link--link-bytes link) (length bytes))
             todo-write-follow-link--most-bytes)
      (error "It sent more than %d bytes" todo-write-follow-link--most-bytes))
    (cond ((null file))
          (excerpt
           (let ((name (todo-write-follow-link--excerpt-name link file)))
             (todo-write-follow-link--replace name bytes)
             (set-file-times name (todo-write-follow-link--local-time link file))))
          ((eq 'side (todo-write-follow-link--file-kind file))
           (todo-write-follow-link--replace (todo-write-follow-link--file-copy file) bytes)
           (setf (todo-write-follow-link--file-part file) nil
                 (todo-write-follow-link--file-doubt file)
                 (and (< (- (float-time) (todo-write-follow-link--local-time link file)) 2)
                      (+ (float-time) 2)))
           (todo-write-follow-link--note link file))
          ((= offset (todo-write-follow-link--file-offset file))
           (todo-write-follow-link--append link file bytes)))))

(defun todo-write-follow-link--append (link file bytes)
  "Append BYTES to the copy of FILE, a transcript on the machine of LINK.
The first copy gets its name when it is complete."
  (let* ((copy (todo-write-follow-link--file-copy file))
         (part (todo-write-follow-link--file-part file))
         (name (if part (concat copy ".part") copy))
         (offset (todo-write-follow-link--file-offset file))
         (size (todo-write-follow-link--file-size file)))
    (setf (todo-write-follow-link--file-offset file) (+ offset (length bytes)))
    ;; Before and after a gap, lines must be whole.
    (cond ((eq t (todo-write-follow-link--file-skip file))
           (let ((start (string-search "\n" bytes)))
             (setq bytes (if start (substring bytes (1+ start)) ""))
             (when start (setf (todo-write-follow-link--file-skip file) 'done))))
          ((and part (= offset 0) (> size todo-write-follow-link--whole))
           (setq bytes (substring bytes 0 (let ((end (cl-position ?\n bytes :from-end t)))
                                            (if end (1+ end) 0))))))
    (todo-write-follow-link--write name bytes (> offset 0))
    (when (>= (todo-write-follow-link--file-offset file) size)
      (when part
        (rename-file name copy t)
        (ignore-errors (delete-file (todo-write-follow-link--excerpt-name link file)))
        (setf (todo-write-follow-link--file-part file) nil))
      (set-file-times copy (todo-write-follow-link--local-time link file))
      (todo-write-follow-link--note link file))))

(defun todo-write-follow-link--excerpt-name (link file)
  "Return the name of the excerpt of FILE of LINK."
  (concat (todo-write-follow-link--home-folder link (todo-write-follow-link--file-n file))
          "excerpts/" (todo-write-follow-link--file-path file)))

(defun todo-write-follow-link--write (file bytes append)
  "Write BYTES to the local FILE, at its end if APPEND is non-nil."
  (let ((coding-system-for-write 'binary) (write-region-inhibit-fsync t)
        file-name-handler-alist)
    (make-directory (file-name-directory file) t)
    (write-region bytes nil file append 'silent)))

(defun todo-write-follow-link--replace (file bytes)
  "Make BYTES the content of the local FILE at once."
  (todo-write-follow-link--write (concat file ".new") bytes nil)
  (rename-file (concat file ".new") file t))

(defun todo-write-follow-link--write-processes (link)
  "Write the process files of LINK, and which processes live."
  (let ((alive (todo-write-follow-link--link-alive link))
        (written (todo-write-follow-link--link-written link)))
    (cl-loop
     for (copy . _) in (todo-write-follow-link--link-homes link) for n from 0
     for folder = (concat (todo-write-follow-sessions--copy-folder copy) "sessions/")
     for lines = nil
     do (when (eq 'claude (todo-write-follow-sessions--copy-agent copy))
          (make-directory folder t)
          (maphash (pcase-lambda (`(,home . ,pid) `(,state ,start ,content))
                     (when (= home n)
                       (unless (equal content (gethash (cons n pid) written))
                         (todo-write-follow-link--replace (format "%s%d.json" folder pid)
                                                            content)
                         (puthash (cons n pid) content written))
                       (unless (equal state "X")
                         (push (format "%d %s %s\n" pid state start) lines))))
                   alive)
          (dolist (key (hash-table-keys written))
            (when (and (= n (car key)) (not (gethash key alive)))
              (remhash key written)
              (ignore-errors (delete-file (format "%s%d.json" folder (cdr key)))))))
     (setf (todo-write-follow-sessions--copy-live copy) (apply #'concat (sort lines #'string<))))))

(provide 'todo-write-follow-link)
;;; todo-write-follow-link.el ends here
