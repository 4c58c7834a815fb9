#!/usr/bin/env bash
# Checks todo_write by MCP with the genuine Claude Code, Codex, Gemini CLI, opencode and
# Copilot CLI, each in an empty home against a scripted model on this machine; lib.sh says how:
#
#   test/hosts/mcp.sh
#
# `make all' and `bin/setup test' come first.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
run_checks mcp
