#!/usr/bin/env bash
# Checks agents on another machine: a second account of this one with its own home, reached by a
# genuine sshd on the loopback interface, and a container-like namespace:
#
#   test/hosts/remote.sh
#
# It needs root, since it adds the account and removes it afterwards, and the OpenSSH server of the
# distribution.  lib.sh says how agents run.  `make all' and `bin/setup test' come first.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[[ -e lisp/todo-write-mcp ]] || die "not built; run make agents"
# The other checks that they load have scripts of their own.
export MATCH=${MATCH:-^remote-}

account=todo-write-check

remove_account() {
  pkill -KILL -u "$account" 2>/dev/null || true
  userdel --remove "$account" 2>/dev/null || true
}

check_remote() {
  if ((EUID != 0)); then
    lack "agents on other machines" "they need root, for a second account"
  elif ! have sshd && ! [[ -x /usr/sbin/sshd ]]; then
    lack "agents on other machines" "sshd is missing; install openssh-server"
  elif ! unshare --net --mount true 2>/dev/null; then
    lack "agents on other machines" "this machine does not allow a network namespace"
  elif ! fetch_agents; then
    not_fetched "agents on other machines"
  else
    remove_account
    trap remove_account EXIT
    # `*' is no password; `!' would lock the account, also for keys.
    useradd --create-home --shell /bin/bash --password '*' "$account"
    mkdir -p /run/sshd
    if ! setpriv --reuid="$account" --regid="$account" --clear-groups \
      test -x "$agents/node_modules/.bin/claude" -a -x lisp/todo-write-mcp; then
      lack "agents on other machines" "another account cannot read this folder"
      return
    fi
    # The account's processes need its id, which a namespace of root alone does not have.
    namespace=(unshare --net)
    export REMOTE_ACCOUNT=$account
    # The files load the checks of Claude Code, which claude.sh runs.
    export MATCH=${MATCH:-^remote-}
    # TRAMP differs between versions of Emacs.
    local candidate newest
    newest=$(newest_emacs)
    for candidate in "$emacs" "$newest"; do
      check_in "$candidate" lisp test/hosts/remote-checks.el
      if [[ $candidate == "$newest" ]]; then break; fi
    done
  fi
}

check_remote
finish
