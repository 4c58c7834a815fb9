#!/usr/bin/env bash
# Checks what the genuine Claude Code and Codex of today tell of commands: the files that they
# change, what they do in Git, and what is refused; of goals, work in the background, auto mode
# and subagents; lib.sh says how:
#
#   test/hosts/today.sh
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# The other checks that it loads have scripts of their own.
export MATCH=${MATCH:-today-checks}
run_checks test/hosts/today-checks.el
