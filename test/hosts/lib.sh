# Sourced by the scripts here that run genuine agents: fetches them, and runs checks offline.
# shellcheck shell=bash
#
# The agents come from npm, once, into .deps/hosts/agents.  They run with an environment of
# their own and a key that is none; in a network namespace that has only loopback where this
# machine allows that, else with a proxy that refuses.  MATCH is a regexp on the names of
# the checks, VERBOSE=1 names those that pass.  `make build' and `bin/setup test' come first.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/../../bin/lib/env.sh"
cd "$root"

agents=$deps/hosts/agents
packages=(@anthropic-ai/claude-code@2.1.330 @openai/codex@0.169.0 @google/gemini-cli@0.61.0
  opencode-ai@1.18.33 @github/copilot@1.0.102 node@22.23.3)

fetch_agents() {
  if [[ ! -r $agents/.pins || $(<"$agents/.pins") != "${packages[*]}" ]]; then
    say "fetching ${packages[*]} into .deps/hosts/agents"
    rm -rf "$agents"
    mkdir -p "$agents"
    npm install --prefix "$agents" --no-audit --no-fund --loglevel error "${packages[@]}" >&2
    echo "${packages[*]}" >"$agents/.pins"
  fi
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

# Runs the checks in FILE; ends with "N passed, N failed", and fails if one failed or was skipped.
run_checks() { # FILE
  local newest offline=() log p f s
  [[ -e $(echo lisp/todo-write-dyn.*) ]] || die "not built; run make build"
  fetch_agents
  if unshare --net --map-root-user true 2>/dev/null; then
    # shellcheck disable=SC2016
    offline=(unshare --net --map-root-user bash -c 'ip link set lo up && exec "$@"' offline)
  fi
  newest=$(newest_emacs)
  echo "Emacs $(emacs_version "$newest")"
  log=$(mktemp)
  AGENTS=$agents "${offline[@]}" "$newest" -Q --batch -L lisp -L test/hosts -l test/run.el \
    "$1" </dev/null 2>&1 | tee "$log" || true
  read -r p f s <<<"$(sed -n 's/^ERT: \([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$log")" || true
  rm -f "$log"
  # What was not checked is not known to work.
  printf '\n%d passed, %d failed\n' "${p:-0}" "$((${f:-1} + ${s:-0}))"
  ((${f:-1} + ${s:-0} == 0))
}
