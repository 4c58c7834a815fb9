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
    fetch_lisp eca/dash magnars/dash.el fb443e7a6e660ba849cafcd01021d9aac3ac6764 &&
    fetch_lisp eca/s magnars/s.el 7393fa6fa305403e628058c0ec78c35d610fab05 &&
    fetch_lisp eca/f rejeep/f.el 931b6d0667fe03e7bf1c6c282d6d8d7006143c52 &&
    fetch_lisp eca/markdown-mode jrblevin/markdown-mode 1f72cefa6a4b759f90e335e4908725a721b17ad9
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
