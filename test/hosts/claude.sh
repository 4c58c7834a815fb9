#!/usr/bin/env bash
# Checks all that Emacs does with the genuine Claude Code, and with Codex beside it, against a scripted
# model on this machine; lib.sh says how:
#
#   test/hosts/claude.sh
#
# `make all' and `bin/setup test' come first.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
run_checks claude answer today work seams attention mcp-seams projects
