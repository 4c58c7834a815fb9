#!/usr/bin/env bash
# Checks todo-write-eca-mode against the genuine eca-emacs, which gets messages of ECA's server
# that were written by hand according to its source:
#
#   test/hosts/eca.sh [FOLDER]
#
# FOLDER has eca-emacs, a clone of https://github.com/editor-code-assistant/eca-emacs, and beside
# it a folder for each package that it needs: dash, s, f, markdown-mode (compat is fetched by
# `bin/setup test').  Without it, they are fetched.  The server, a program of its own,
# does not run here.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_eca() {
  local commit=98ac99ad5949ed55982eb172c8b730ebae981ca1
  fetch_lisp eca/eca-emacs editor-code-assistant/eca-emacs $commit &&
    fetch_lisp eca/dash magnars/dash.el fcb5d831fc08a43f984242c7509870f30983c27c &&
    fetch_lisp eca/s magnars/s.el 4d7d83122850cf70dc60662a73124f0be41ad186 &&
    fetch_lisp eca/f rejeep/f.el 931b6d0667fe03e7bf1c6c282d6d8d7006143c52 &&
    fetch_lisp eca/markdown-mode jrblevin/markdown-mode f5d520b3ee7722dd2231ab586ba51d8eb166e49b
}

folder=${1:-$deps/hosts/eca}
if (($#)) || fetch_eca; then
  echo "eca-emacs $(version "$folder/eca-emacs/eca.el")"
  packages=(-L "$deps/elpa/compat")
  for package in "$folder"/*; do packages+=(-L "$package"); done
  check test/hosts/eca-checks.el "${packages[@]}"
else
  not_fetched ECA
fi
finish
