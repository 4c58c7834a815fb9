#!/usr/bin/env bash
# Checks that Emacs hears when the genuine Copilot CLI asks for a permission in its terminal, against a
# scripted model on this machine; lib.sh says how:
#
#   test/hosts/copilot.sh
#
# `make build', `make mcp' and `bin/setup test' come first.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[[ -e lisp/todo-write-mcp ]] || die "not built; run make mcp"
run_checks test/hosts/copilot-checks.el
