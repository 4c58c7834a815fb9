#!/usr/bin/env bash
# Checks that the states of agents are those of their processes where sessions begin and end, with
# the genuine Claude Code against a scripted model on this machine; lib.sh says how:
#
#   test/hosts/seams.sh
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# The other checks that it loads have scripts of their own.
export MATCH=${MATCH:-seams-checks}
run_checks test/hosts/seams-checks.el
