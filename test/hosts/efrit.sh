#!/usr/bin/env bash
# Checks todo-write-efrit-mode against Efrit, in every Emacs that bin/setup knows of:
#
#   test/hosts/efrit.sh [FOLDER]
#
# FOLDER is a clone of https://github.com/steveyegge/efrit, which is only read; without it, one
# is fetched.  The session needs the mock server that `bin/setup test' fetches.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

efrit=${1:-$deps/hosts/efrit}
if (($# == 0)) &&
  ! fetch_lisp efrit steveyegge/efrit a4d900147f4183135a4de7ca6d6d12e15d612011; then
  not_fetched Efrit
  finish
  exit
fi
[[ -f $efrit/lisp/efrit.el ]] || die "no Efrit in $efrit"
echo "Efrit $(version "$efrit/lisp/efrit.el")"

# As installed: Lisp, module and autoloads; and Efrit where it may write.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/site" "$work/home/.emacs.d"
cp -r "$efrit" "$work/efrit"
find "$work/efrit" -name '*.elc' -delete
find lisp efrit-do -maxdepth 1 -name '*.el' ! -name '*-autoloads.el' -exec cp {} "$work/site" \;
cp lisp/todo-write-dyn.* "$work/site"

emacsen=("$emacs")
for candidate in "$deps"/emacs-*[0-9]/emacs; do
  if have "$candidate" && [[ $(emacs_version "$candidate") != "$(emacs_version "$emacs")" ]]; then
    emacsen+=("$candidate")
  fi
done

"${emacsen[0]}" -Q --batch -l package --eval '(setq inhibit-message t)' \
  --eval "(package-generate-autoloads \"todo-write\" \"$work/site\")" 2>/dev/null

export HOME=$work/home EFRIT=$work/efrit PATH=$deps/mock/node_modules/.bin:$PATH
for candidate in "${emacsen[@]}"; do
  check_in "$candidate" "$work/site" test/hosts/efrit-checks.el
done
finish
