#!/usr/bin/env bash
# Checks that the dialogs of the genuine Claude Code can be answered in Emacs, and that it is never
# worse off with the hook than without it, against a scripted model on this machine; lib.sh says how:
#
#   test/hosts/answer.sh
#
# `make build', `make mcp' and `bin/setup test' come first.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[[ -e lisp/todo-write-mcp ]] || die "not built; run make mcp"
# The Emacs of the checks is in batch, where writing to a hook that has left would kill it.
trap '' PIPE
# The other checks that it loads have scripts of their own.
export MATCH=${MATCH:-answer-checks}
run_checks test/hosts/answer-checks.el
