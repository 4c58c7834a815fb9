#!/usr/bin/env bash
# Checks that the dialogs of the genuine Codex can be answered in Emacs while they stand in its
# terminal, against a scripted model on this machine; lib.sh says how:
#
#   test/hosts/codex-answer.sh
#
# `make build', `make mcp' and `bin/setup test' come first.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[[ -e lisp/todo-write-mcp ]] || die "not built; run make mcp"
# The other checks that it loads have scripts of their own.
export MATCH=${MATCH:-codex-answer}
run_checks test/hosts/codex-answer-checks.el
