#!/usr/bin/env bash
# Checks todo-write-eca-mode against the real eca-emacs, which is given what ECA's server sends:
#
#   test/hosts/eca.sh [FOLDER]
#
# FOLDER has eca-emacs, a clone of https://github.com/editor-code-assistant/eca-emacs, and beside
# it a folder for each package that it needs: dash, s, f, markdown-mode (compat is fetched by
# `bin/setup test').  Without it, .deps/hosts/eca is taken.  The server is a program of its own,
# and no part of this.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

folder=${1:-$deps/hosts/eca}
if [[ -e $folder/eca-emacs/eca.el ]]; then
  echo "eca-emacs $(version "$folder/eca-emacs/eca.el")"
  packages=(-L "$deps/elpa/compat")
  for package in "$folder"/*; do packages+=(-L "$package"); done
  check test/hosts/eca-checks.el "${packages[@]}"
else
  echo "skipped ECA: no folder with eca-emacs was given"
fi
finish
