#!/usr/bin/env bash
# Compares the tokens of each transcript in test/fixtures, and below TODO_WRITE_CORPUS if that is
# set, with those that ccusage counts offline; lib.sh says how:
#
#   [TODO_WRITE_CORPUS=FOLDER] test/hosts/ccusage.sh
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if fetch_npm ccusage ccusage@20.0.24; then
  AGENTS=$deps/hosts/ccusage check test/hosts/ccusage-checks.el
else
  not_fetched "tokens"
fi
finish
