#!/usr/bin/env bash
# Checks that each session and subagent of the genuine Claude Code has its own plan by todo_write,
# with its state, where sessions begin and end; lib.sh says how:
#
#   test/hosts/mcp-seams.sh
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[[ -e lisp/todo-write-mcp ]] || die "not built; run make mcp"
# The other checks that it loads have scripts of their own.
export MATCH=${MATCH:-mcp-seams-checks}
run_checks test/hosts/mcp-seams-checks.el
