#!/usr/bin/env bash
# Checks that Emacs shows the plan and the activity of the genuine Codex, and answers its dialogs while
# they stand in its terminal, against a scripted model on this machine; lib.sh says how:
#
#   test/hosts/codex.sh
#
# `make all' and `bin/setup test' come first.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
run_checks codex codex-answer
