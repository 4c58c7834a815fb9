#!/usr/bin/env bash
# Checks our buffers with the genuine Evil, in each Emacs and in both orders of loading:
#
#   test/hosts/evil.sh [FOLDER]
#
# FOLDER has Evil, a clone of https://github.com/emacs-evil/evil.  Without it, it is fetched.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

folder=${1:-$deps/hosts/evil}
if (($#)) || fetch_lisp evil emacs-evil/evil 3b678a221ee99cc6a95b01d7a3129ce5efc4c3da; then
  echo "evil $(version "$folder/evil.el")"
  for candidate in "$emacs" "$(newest_emacs)"; do
    check_in "$candidate" lisp test/hosts/evil-checks.el -L efrit-do -L "$folder"
  done
else
  not_fetched Evil
fi
finish
