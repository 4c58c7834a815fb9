#!/usr/bin/env bash
# Checks that Emacs reports which agent needs the user, with the genuine Claude Code and Codex at
# once in its terminal buffers, against scripted models on this machine; lib.sh says how:
#
#   test/hosts/attention.sh
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# The other checks that it loads have scripts of their own.
export MATCH=${MATCH:-attention-checks}
run_checks test/hosts/attention-checks.el
