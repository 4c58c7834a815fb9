#!/usr/bin/env bash
# Checks todo-write-agent-shell-mode against agent-shell with Claude's real ACP adapter,
# whose model is a script on this machine:
#
#   test/hosts/agent-shell.sh [FOLDER...]
#
# Each FOLDER has compatible checkouts of agent-shell, acp.el and shell-maker; without
# one, a new version and one from early 2026 are fetched.  RECORD=FILE writes the messages
# between the programs, for test/fixtures/hosts.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if (($# == 0)); then
  for release in 0.48.1 0.74.3; do
    if fetch_agent_shell $release; then
      set -- "$@" "$deps/hosts/agent-shell-$release"
    else
      not_fetched "agent-shell $release"
    fi
  done
fi
if (($#)) && ! fetch_acp; then
  not_fetched agent-shell
  set --
fi
for folder in "$@"; do
  RECORD_OF="agent-shell $(version "$folder/agent-shell/agent-shell.el"), acp.el \
$(version "$folder/acp.el/acp.el"), claude-agent-acp 0.101.0"
  echo "$RECORD_OF"
  export RECORD_OF AGENTS=$deps/hosts/acp
  check test/hosts/agent-shell-checks.el \
    -L "$folder/acp.el" -L "$folder/shell-maker" -L "$folder/agent-shell"
done
finish
