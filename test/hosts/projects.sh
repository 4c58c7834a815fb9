#!/usr/bin/env bash
# Checks which project, folder and title the sessions of the genuine Claude Code and Codex have,
# by their transcripts and by todo_write; lib.sh says how:
#
#   test/hosts/projects.sh
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[[ -e lisp/todo-write-mcp ]] || die "not built; run make mcp"
# The other checks that it loads have scripts of their own.
export MATCH=${MATCH:-projects-checks}
run_checks test/hosts/projects-checks.el
