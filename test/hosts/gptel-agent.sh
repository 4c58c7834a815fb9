#!/usr/bin/env bash
# Checks that the plans of gptel-agent show here, with the real gptel-agent and gptel against a
# scripted model on this machine:
#
#   test/hosts/gptel-agent.sh [FOLDER]
#
# FOLDER is a clone of https://github.com/karthink/gptel-agent; without it,
# .deps/hosts/gptel-agent is taken.  gptel is the one that `bin/setup test' fetches.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

folder=${1:-$deps/hosts/gptel-agent}
if [[ -e $folder/gptel-agent.el ]]; then
  echo "gptel-agent $(version "$folder/gptel-agent.el"), gptel $(version "$deps/elpa/gptel/gptel.el")"
  packages=()
  for package in "$deps"/elpa/*; do packages+=(-L "$package"); done
  check test/hosts/gptel-agent-checks.el "${packages[@]}" -L "$folder"
else
  echo "skipped gptel-agent: no clone of it was given"
fi
finish
