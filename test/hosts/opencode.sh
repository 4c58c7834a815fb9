#!/usr/bin/env bash
# Checks that the plugin for the genuine opencode shows what its sessions do, lets its dialogs be
# answered in Emacs, and never makes it worse off than without it, against a scripted model on this
# machine; lib.sh says how:
#
#   test/hosts/opencode.sh
#
# `make all' and `bin/setup test' come first.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
run_checks opencode
