#!/usr/bin/env bash
# Checks that the plans of gptel-agent show here, with the genuine gptel-agent and gptel against
# a scripted model on this machine:
#
#   test/hosts/gptel-agent.sh [FOLDER]
#
# FOLDER is a clone of https://github.com/karthink/gptel-agent; without it, one is fetched.
# gptel is the one that `bin/setup test' fetches.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

folder=${1:-$deps/hosts/gptel-agent}
if [[ ! -e $deps/elpa/gptel/gptel.el ]]; then
  lack gptel-agent "gptel is missing; bin/setup test fetches it on Debian"
elif (($#)) ||
  fetch_lisp gptel-agent karthink/gptel-agent 2e6ba04c393ad95973a48483147046683454af86; then
  echo "gptel-agent $(version "$folder/gptel-agent.el"), gptel $(version "$deps/elpa/gptel/gptel.el")"
  packages=()
  for package in "$deps"/elpa/*; do packages+=(-L "$package"); done
  check test/hosts/gptel-agent-checks.el "${packages[@]}" -L "$folder"
else
  not_fetched gptel-agent
fi
finish
