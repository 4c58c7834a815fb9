# Sourced by the scripts here that run genuine agents: fetches them, and runs checks offline.
# shellcheck shell=bash
#
# The agents come from npm, once, into .deps/hosts.  They run with an environment of
# their own and a key that is none; in a network namespace that has only loopback where this
# machine allows that, else with a proxy that refuses.  MATCH is a regexp on the names of
# the checks, VERBOSE=1 names those that pass.  `make build' and `bin/setup test' come first.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/../../bin/lib/env.sh"
cd "$root"

agents=$deps/hosts/agents
passed=0 failed=0

fetch() { # FOLDER PACKAGE...
  local folder=$1
  shift
  if [[ ! -r $folder/.pins || $(<"$folder/.pins") != "$*" ]]; then
    say "fetching $* into $folder"
    rm -rf "$folder"
    mkdir -p "$folder"
    npm install --prefix "$folder" --no-audit --no-fund --loglevel error "$@" >&2
    echo "$*" >"$folder/.pins"
  fi
}

fetch_agents() {
  fetch "$agents" @anthropic-ai/claude-code@2.1.330 @openai/codex@0.169.0 \
    @google/gemini-cli@0.61.0 opencode-ai@1.18.33 @github/copilot@1.0.102 node@22.23.3
}

# What makes Claude Code and Codex agents of the Agent Client Protocol, from a folder of its own.
fetch_acp() {
  fetch "$deps/hosts/acp" @agentclientprotocol/claude-agent-acp@0.100.0 \
    @agentclientprotocol/codex-acp@2.6.0
}

# The version that the package of a Lisp FILE says it has.
version() { # FILE
  sed -n '/^;; Version: */{s///p;q}' "$1"
}

newest_emacs() {
  local newest=$emacs candidate
  for candidate in "$deps"/emacs-*[0-9]/emacs; do
    if have "$candidate" && [[ $(emacs_version "$candidate") > $(emacs_version "$newest") ]]; then
      newest=$candidate
    fi
  done
  echo "$newest"
}

# Runs the checks in FILE with further arguments for Emacs, and counts them.
check() { # FILE [ARGUMENT...]
  local newest offline=() file=$1 log p f s
  shift
  [[ -e $(echo lisp/todo-write-dyn.*) ]] || die "not built; run make build"
  if unshare --net --map-root-user true 2>/dev/null; then
    # shellcheck disable=SC2016
    offline=(unshare --net --map-root-user bash -c 'ip link set lo up && exec "$@"' offline)
  fi
  newest=$(newest_emacs)
  echo "Emacs $(emacs_version "$newest")"
  log=$(mktemp)
  AGENTS=${AGENTS:-$agents} "${offline[@]}" "$newest" -Q --batch -L lisp -L test/hosts "$@" \
    -l test/run.el "$file" </dev/null 2>&1 | tee "$log" || true
  read -r p f s <<<"$(sed -n 's/^ERT: \([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$log")" || true
  rm -f "$log"
  # What was not checked is not known to work.
  passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1} + ${s:-0}))
}

# Ends with "N passed, N failed", and fails if one failed or was skipped.
finish() {
  printf '\n%d passed, %d failed\n' "$passed" "$failed"
  ((failed == 0))
}

# Runs the checks in FILE with the agents, and nothing else.
run_checks() { # FILE
  fetch_agents
  check "$1"
  finish
}
