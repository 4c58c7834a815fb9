#!/usr/bin/env bash
# Checks that todo-write-follow shows the list and the activity of the genuine Claude Code, in
# print mode and in a terminal, against a scripted model on this machine; lib.sh says how:
#
#   test/hosts/claude.sh
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
run_checks test/hosts/claude-checks.el
