#!/usr/bin/env bash
# Checks todo-write-agent-shell-mode against agent-shell with Claude's real ACP adapter,
# whose model is a script on this machine:
#
#   test/hosts/agent-shell.sh [FOLDER...]
#
# Each FOLDER has checkouts agent-shell, acp.el and shell-maker that fit together; without
# one, those in .deps/hosts/agent-shell-* are taken.  The adapter comes from npm, once, into
# .deps/hosts/acp.  MATCH is a regexp on the names of the checks, VERBOSE=1 names those that
# pass; RECORD=FILE writes what passed between the programs, for test/fixtures/hosts.
# `make build' and `bin/setup test' come first.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if (($# == 0)); then
  shopt -s nullglob
  set -- "$deps"/hosts/agent-shell-*
fi
if (($# == 0)); then
  echo "skipped agent-shell: no folder with agent-shell, acp.el and shell-maker was given"
fi
(($# == 0)) || fetch_acp
for folder in "$@"; do
  RECORD_OF="agent-shell $(version "$folder/agent-shell/agent-shell.el"), acp.el \
$(version "$folder/acp.el/acp.el"), claude-agent-acp 0.100.0"
  echo "$RECORD_OF"
  export RECORD_OF AGENTS=$deps/hosts/acp
  check test/hosts/agent-shell-checks.el \
    -L "$folder/acp.el" -L "$folder/shell-maker" -L "$folder/agent-shell"
done
finish
