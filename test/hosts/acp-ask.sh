#!/usr/bin/env bash
# Checks that questions and plans of Claude's real ACP adapter can be answered in Emacs, by a
# client of the real acp.el that offers to answer forms, against a scripted model:
#
#   test/hosts/acp-ask.sh
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if fetch_agents && fetch_acp && fetch_acp_el; then
  export AGENTS=$deps/hosts/acp:$deps/hosts/agents
  check test/hosts/acp-ask-checks.el -L "$deps/hosts/agent-shell-0.74.3/acp.el"
else
  not_fetched "questions of ACP agents"
fi
finish
