;;; todo-write-follow-loop.el --- What runs on another machine  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The todo-write authors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The shell script that reports to Emacs which transcripts a machine has and what is
;; in them; todo-write-follow-remote.el runs it.  It needs a POSIX shell with find, stat,
;; sort, head, tail, dd, tr and sed, writes no file, and keeps nothing but the last
;; answer.  It works only when it is asked, and ends when its input or output ends.
;;
;; Each request is one line.  N is the number of a home, an agent's folder, from 0.
;; PATH is relative to that; BASE is a transcript's PATH without ".jsonl".
;;
;;   h AGENT FOLDER      adds a home; the answer is "h FOLDER", its absolute name
;;   W                   forgets the wanted sessions
;;   w N BASE            a wanted session: its transcript and the files beside it
;;   k N:PID...          processes of which Emacs has the files
;;   p                   the answer is what changed since the last p, as lines that begin
;;                       with + or -
;;   P                   the answer is the newest 300 transcripts of each home, as lines
;;                       that begin with =
;;   g N OFFSET LENGTH PATH   the answer is that line with d for g, then LENGTH bytes; NUL
;;                       bytes stand for what the file no longer has; nothing if it is gone
;;   r FOLDER            the answer is "r ROOT", the root of the project of FOLDER
;;   .                   the answer is "."
;;
;; After +, - and =:
;;
;;   f N INODE SIZE TIME PATH        a regular file
;;   a N PID STATE START CONTENT     a process file; STATE is X if the process is dead
;;
;; The first line of all is "todo-write 1 NOW", NOW in seconds since the epoch.

;;; Code:

(defconst todo-write-follow-loop--script "\
LC_ALL=C; export LC_ALL; set -f; exec 2>/dev/null
nl='
'
IFS=$nl last=$nl homes= wanted= known=' '
if stat -c %s / >/dev/null; then o=-c m='%i %s %Y %n'; else o=-f m='%i %z %m %N'; fi
files() {
  find -H \"$@\" -exec stat \"$o\" \"f $n $m\" {} +
}
state() {
  state=S start=-
  if read -r s <\"/proc/$1/stat\"; then
    IFS=' '; set -- ${s##*) }; IFS=$nl
    state=$1 start=${20}
    case $state in [ZX]) return 1; esac
  fi
}
processes() {
  set +f; set -- sessions/*.json; set -f
  for f do
    i=${f#sessions/} i=${i%.json}
    case $i in ''|*[!0-9]*|??????????*) continue; esac
    if kill -0 \"$i\" && state \"$i\"; then :
    else case $known in *\" $n:$i \"*) state=X start=-;; *) continue; esac; fi
    [ -f \"$f\" ] && [ ! -L \"$f\" ] || continue
    c=$(head -c 16384 \"$f\")
    case $c in *\"$nl\"*) c=$(printf %s \"$c\" | tr '\\n' ' '); esac
    printf '%s\\n' \"a $n $i $state $start $c\"
  done
}
newest() { sort -t ' ' -k 5,5rn | head -n \"$1\"; }
transcripts() {
  case $a in
    claude) files projects -path 'projects/*/*' -prune -type f -name '*.jsonl' ! -name 'agent-*' \"$@\";;
    codex) files sessions -type f -name 'rollout-*.jsonl' \"$@\";;
  esac
}
each() {
  n=-1
  for h in $homes; do
    n=$((n+1)) a=${h%% *}
    (cd \"${h#* }\" && \"$@\")
  done
}
look() {
  case $a in claude) processes; esac
  transcripts -mtime -1 | newest 100
  set --
  for w in $wanted; do
    case $w in \"$n \"*) w=${w#* }; set -- \"$@\" \"$w.jsonl\" \"$w\" \"tasks/${w##*/}\"; esac
  done
  case $# in 0) ;; *)
    files \"$@\" -type f \\( -path '*.jsonl' -o -path '*/subagents/agent-*' -o -name custom-title.json -o -path 'tasks/*' \\) | head -n 2000
  esac
}
all() { transcripts | newest 300 | sed 's/^/=/'; }
get() {
  case $n in \"$1\") ;; *) return; esac
  if [ -f \"$4\" ] && [ ! -L \"$4\" ]; then
    printf '%s\\n' \"d $1 $2 $3 $4\"
    { dd if=\"$4\" bs=4096 skip=$(($2/4096)) count=$(($3/4096+2)) | tail -c \"+$(($2%4096+1))\"; cat /dev/zero; } | head -c \"$3\"
  fi
}
changes() {
  now=$nl$(each look)$nl
  case $now in \"$last\") return; esac
  for l in $last; do case $now in *\"$nl$l$nl\"*) ;; *) printf '%s\\n' \"-$l\"; esac; done
  for l in $now; do case $last in *\"$nl$l$nl\"*) ;; *) printf '%s\\n' \"+$l\"; esac; done
  last=$now
}
root() {
  case $1 in '~'*) d=$HOME${1#?};; *) d=$1; esac
  d=$(cd \"$d\" && pwd) || return
  r=$d
  while :; do
    for i in .git .jj .hg .sl .svn .bzr _darcs .pijul .fslckout; do
      if [ -e \"$r/$i\" ]; then d=$r r=; break; fi
    done
    case $r in '') break; esac
    r=${r%/*}
  done
  printf '%s\\n' \"r $d\"
}
printf '%s\\n' \"todo-write 1 $(date +%s)\"
while IFS= read -r l; do
  case $l in
    'h '*) h=${l#h } a=${h%% *} h=${h#* }
      case $h in '~'*) h=$HOME${h#?}; esac
      homes=$homes$a\\ $h$nl; printf '%s\\n' \"h $(cd \"$h\" && pwd)\";;
    W) wanted=;;
    'w '*) wanted=$wanted${l#w }$nl;;
    'k '*) known=${l#k };;
    p) changes;;
    P) each all;;
    'g '*) IFS=' '; set -- ${l#g }; IFS=$nl; each get \"$@\";;
    'r '*) root \"${l#r }\";;
    .) printf '.\\n' || exit;;
  esac
done
"
  "The script, for `sh -c'.  Nothing of the user's is in it.")

(provide 'todo-write-follow-loop)
;;; todo-write-follow-loop.el ends here
