# Sourced by bin/test: agents and a socket that no test may see.
# shellcheck shell=bash
#
# Two processes look like running agents: their environments name folders with a session each,
# that of Claude Code waits for its user.  An Emacs listens in the usual places of the socket, unless
# one does already, and writes a line to the log for each connection.  For machines without agents
# of their own: those would connect to it.

decoy_folder='' decoy_pids=()

begin_decoys() { # LOG
  local session=d0000000-0000-4000-8000-00000000dec0 name=-tmp-decoy
  decoy_folder=$(mktemp -d)
  mkdir -p "$decoy_folder"/claude/{sessions,projects/$name} "$decoy_folder/codex/sessions/2026/01/01"
  printf '%s\n' '{"type":"user","uuid":"d1","sessionId":"'$session'","cwd":"/tmp/decoy","isSidechain":false,"message":{"role":"user","content":"A decoy"}}' \
    >"$decoy_folder/claude/projects/$name/$session.jsonl"
  printf '%s\n' '{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"'$session'","cwd":"/tmp/decoy","cli_version":"0.169.0","originator":"codex-tui"}}' \
    >"$decoy_folder/codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-$session.jsonl"
  env -u TODO_WRITE_SANDBOX CLAUDE_CONFIG_DIR="$decoy_folder/claude" sleep 100000 &
  decoy_pids+=($!)
  printf '{"pid":%d,"sessionId":"%s","cwd":"/tmp/decoy","startedAt":1,"status":"waiting","waitingFor":"permission prompt","entrypoint":"cli"}\n' \
    $! $session >"$decoy_folder/claude/sessions/$!.json"
  env -u TODO_WRITE_SANDBOX CODEX_HOME="$decoy_folder/codex" sleep 100000 &
  decoy_pids+=($!)
  env -u TODO_WRITE_SANDBOX DECOY_LOG="$1" "$emacs" -Q --batch -l test/decoy-socket.el &
  decoy_pids+=($!)
  for _ in {1..100}; do
    if [[ -e $1 ]]; then return; fi
    sleep 0.1
  done
  die "the decoy socket does not open"
}

end_decoys() {
  if ((${#decoy_pids[@]})); then kill "${decoy_pids[@]}" 2>/dev/null || true; fi
  if [[ -n $decoy_folder ]]; then rm -rf "$decoy_folder"; fi
}
