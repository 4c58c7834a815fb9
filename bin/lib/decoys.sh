# Sourced by bin/test: a socket that no test may see.
# shellcheck shell=bash
#
# An Emacs listens in the usual places of the socket, unless one does already, and writes a line to
# the log for each connection.  For machines without agents of their own: those would connect to it.

decoy_pid=''

begin_decoys() { # LOG
  env -u TODO_WRITE_SANDBOX DECOY_LOG="$1" "$emacs" -Q --batch -l test/decoy-socket.el &
  decoy_pid=$!
  for _ in {1..100}; do
    if [[ -e $1 ]]; then return; fi
    sleep 0.1
  done
  die "the decoy socket does not open"
}

end_decoys() {
  if [[ -n $decoy_pid ]]; then kill "$decoy_pid" 2>/dev/null || true; fi
}
