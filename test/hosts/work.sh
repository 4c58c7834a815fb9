#!/usr/bin/env bash
# Checks that the work of each task of the genuine Claude Code and Codex is counted as their
# scripted model knows it; lib.sh says how:
#
#   test/hosts/work.sh
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# The other checks that it loads have scripts of their own.
export MATCH=${MATCH:-work-checks}
run_checks test/hosts/work-checks.el
