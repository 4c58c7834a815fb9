#!/usr/bin/env bash
# Checks todo-write-agent-shell-mode against agent-shell with Claude's real ACP adapter,
# whose model is a script on this machine, and in the newest agent-shell the plans of all ACP
# agents: the adapters for Claude Code and Codex, opencode, Gemini CLI and Copilot CLI:
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
acp_checks() { # FOLDER
  if fetch_agents; then
    RECORD_OF="agent-shell $(version "$1/agent-shell/agent-shell.el"), claude-agent-acp \
0.101.0, codex-acp 2.6.0, opencode 1.18.33, Gemini CLI 0.61.0, Copilot CLI 1.0.102"
    echo "$RECORD_OF"
    export RECORD_OF AGENTS=$deps/hosts/acp:$deps/hosts/agents
    check test/hosts/acp-checks.el -L "$1/acp.el" -L "$1/shell-maker" -L "$1/agent-shell"
  else
    not_fetched "ACP agents"
  fi
}

for folder in "$@"; do
  RECORD_OF="agent-shell $(version "$folder/agent-shell/agent-shell.el"), acp.el \
$(version "$folder/acp.el/acp.el"), claude-agent-acp 0.101.0"
  echo "$RECORD_OF"
  export RECORD_OF AGENTS=$deps/hosts/acp
  check test/hosts/agent-shell-checks.el \
    -L "$folder/acp.el" -L "$folder/shell-maker" -L "$folder/agent-shell"
done
if (($#)); then acp_checks "${!#}"; fi
finish
