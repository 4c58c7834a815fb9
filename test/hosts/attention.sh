#!/usr/bin/env bash
# Checks which agent is said to need the user, with the genuine Claude Code and Codex at once in
# terminal buffers of an Emacs, against scripted models on this machine; lib.sh says how:
#
#   test/hosts/attention.sh
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# The other checks that it loads have scripts of their own.
export MATCH=${MATCH:-attention-checks}
run_checks test/hosts/attention-checks.el
