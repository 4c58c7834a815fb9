# Sourced by the scripts here: fetches genuine agents and Lisp packages, and runs checks offline.
# shellcheck shell=bash
#
# Agents come from npm, Lisp packages from their public repositories, each at a fixed version,
# once, into .deps/hosts.  If a package cannot be fetched, a message names it, and its checks are
# skipped; with STRICT=1 or in CI they fail.
#
# Agents run with their own environment and an invalid key, in a network namespace that has only
# loopback if this machine allows that, otherwise with a proxy that refuses requests.  MATCH is a
# regexp on the names of the checks, VERBOSE=1 names those that pass.  `make build' and
# `bin/setup test' come first.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/../../bin/lib/env.sh"
cd "$root"

agents=$deps/hosts/agents
# The command that runs another one without a network.
namespace=(unshare --net --map-root-user)
passed=0 failed=0 skipped=0

# Installs npm packages into .deps/hosts/FOLDER.
fetch_npm() { # FOLDER PACKAGE...
  local folder=$deps/hosts/$1
  shift
  if [[ -r $folder/.pins && $(<"$folder/.pins") == "$*" ]]; then return; fi
  if ! have npm; then
    say "npm is missing, which fetches $*"
    return 1
  fi
  say "fetching $* into $folder"
  rm -rf "$folder"
  mkdir -p "$folder"
  npm install --prefix "$folder" --no-audit --no-fund --loglevel error "$@" >&2 &&
    echo "$*" >"$folder/.pins"
}

# Puts a repository's files at COMMIT into .deps/hosts/FOLDER.
fetch_lisp() { # FOLDER REPOSITORY COMMIT
  local folder=$deps/hosts/$1 url=https://github.com/$2 commit=$3 part=$deps/hosts/$1.part
  if [[ -r $folder/.pins && $(<"$folder/.pins") == "$commit" ]]; then return; fi
  say "fetching $url at ${commit:0:7} into $folder"
  rm -rf "$part"
  mkdir -p "$part"
  if git -C "$part" init --quiet && git -C "$part" fetch --quiet --depth 1 "$url" "$commit" &&
    git -C "$part" -c advice.detachedHead=false checkout --quiet FETCH_HEAD; then
    echo "$commit" >"$part/.pins"
    rm -rf "$folder" "$part/.git"
    mv "$part" "$folder"
  else
    rm -rf "$part"
    return 1
  fi
}

# Fetches agent-shell VERSION with acp.el and shell-maker of the same time.
fetch_agent_shell() { # VERSION
  local folder=agent-shell-$1 commits
  case $1 in
    0.74.3) commits=(0baa3537be2fa17f7b60fe67a994dc6486ae2ec9
      4d7d58dc39870e9390e94617e13d7ada175d7945 ab4f8ebaf4ef7a7db4762c5d5075baea580044ba) ;;
    0.48.1) commits=(117d287ba217fb3315cf0115490d983d18df0308
      9737a9678a658a3289229d7d37459c84db1eef24 86fbe695085fd59c7b65799da84a3e917ebf4528) ;;
  esac
  fetch_lisp "$folder/agent-shell" xenodium/agent-shell "${commits[0]}" &&
    fetch_lisp "$folder/acp.el" xenodium/acp.el "${commits[1]}" &&
    fetch_lisp "$folder/shell-maker" xenodium/shell-maker "${commits[2]}"
}

fetch_agents() {
  fetch_npm agents @anthropic-ai/claude-code@2.1.332 @openai/codex@0.171.0 \
    @google/gemini-cli@0.61.0 opencode-ai@1.18.33 @github/copilot@1.0.102 node@22.23.3
}

# Fetches the adapters by which Claude Code and Codex support the Agent Client Protocol.
fetch_acp() {
  fetch_npm acp @agentclientprotocol/claude-agent-acp@0.101.0 \
    @agentclientprotocol/codex-acp@2.6.0
}

lack() { # CHECKS WHY
  if strict || in_ci; then
    failed=$((failed + 1))
    echo "FAILED the checks of $1: $2"
  else
    skipped=$((skipped + 1))
    echo "skipped the checks of $1: $2"
  fi
}

not_fetched() { # CHECKS
  lack "$1" "a program or package for them could not be fetched"
}

# Prints the version in the header of the Lisp FILE.
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
  check_in "$(newest_emacs)" lisp "$@"
}

# Like check, in EMACS with the Lisp in FOLDER.
check_in() { # EMACS FOLDER FILE [ARGUMENT...]
  local candidate=$1 lisp=$2 file=$3 offline=() log p f s
  shift 3
  [[ -e $(echo lisp/todo-write-dyn.*) ]] || die "not built; run make build"
  if "${namespace[@]}" true 2>/dev/null; then
    # shellcheck disable=SC2016
    offline=("${namespace[@]}" bash -c 'ip link set lo up && exec "$@"' offline)
  fi
  echo "Emacs $(emacs_version "$candidate")"
  log=$(mktemp)
  EMACS=$candidate AGENTS=${AGENTS:-$agents} "${offline[@]}" "$candidate" -Q --batch \
    -L "$lisp" -L test/hosts "$@" -l test/lisp/run.el "$file" </dev/null 2>&1 | tee "$log" || true
  read -r p f s <<<"$(sed -n 's/^ERT: \([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$log")" || true
  rm -f "$log"
  # A skipped check counts as failed: its behavior is unknown.
  passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1} + ${s:-0}))
}

# Prints "N passed, N failed", and fails if one failed.
finish() {
  printf '\n%d passed, %d failed' "$passed" "$failed"
  if ((skipped > 0)); then printf ', %d skipped' "$skipped"; fi
  printf '\n'
  ((failed == 0))
}

# Runs the checks in NAME-checks.el, which need only the agents, each in an Emacs of its own.
run_checks() { # NAME...
  local name
  [[ -e lisp/todo-write-mcp ]] || die "not built; run make agents"
  # Emacs is in batch, where writing to a program that has left would kill it.
  trap '' PIPE
  if fetch_agents; then
    for name; do
      # A file loads others, whose checks are not repeated.
      MATCH="^$name-.*${MATCH:-}" check "test/hosts/$name-checks.el"
    done
  else
    not_fetched "genuine agents"
  fi
  finish
}
