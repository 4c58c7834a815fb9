#!/usr/bin/env bash
# Checks the plans of ACP agents with the genuine ones, as agents of agent-shell: the
# adapters for Claude Code and Codex, opencode, Gemini CLI and Copilot CLI, each in an empty
# home against a scripted model on this machine:
#
#   test/hosts/acp.sh [FOLDER]
#
# FOLDER has compatible checkouts of agent-shell, acp.el and shell-maker; without it,
# they are fetched.  RECORD is as in agent-shell.sh.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

folder=${1:-$deps/hosts/agent-shell-0.74.3}
if { (($#)) || fetch_agent_shell 0.74.3; } && fetch_agents && fetch_acp; then
  RECORD_OF="agent-shell $(version "$folder/agent-shell/agent-shell.el"), claude-agent-acp \
0.101.0, codex-acp 2.6.0, opencode 1.18.33, Gemini CLI 0.61.0, Copilot CLI 1.0.102"
  echo "$RECORD_OF"
  export RECORD_OF AGENTS=$deps/hosts/acp:$deps/hosts/agents
  check test/hosts/acp-checks.el \
    -L "$folder/acp.el" -L "$folder/shell-maker" -L "$folder/agent-shell"
else
  not_fetched "ACP agents"
fi
finish
