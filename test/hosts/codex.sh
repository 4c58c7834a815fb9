#!/usr/bin/env bash
# Checks that todo-write-follow shows the plan and the activity of the genuine Codex, against a
# scripted model on this machine; lib.sh says how:
#
#   test/hosts/codex.sh
#
# `make build', `make mcp' and `bin/setup test' come first.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[[ -e lisp/todo-write-mcp ]] || die "not built; run make mcp"
run_checks test/hosts/codex-checks.el
